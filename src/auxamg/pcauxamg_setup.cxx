// Setup of PC auxamg: from the matrix, the coordinates and the options to the hierarchy.
#include "auxamg/pcauxamg.hpp"
#include "petsc/krylov.hpp"
#include "petsc/nodes.hpp"
#include "petsc/shell.hpp"

using tessera::PC_AuxAMG;
using tessera::WithHierarchy;
using tessera::tree::Cycle;
using tessera::tree::Failure;
using tessera::tree::Filter;

// The setup stopped, here or on another process: KSP ends with KSP_DIVERGED_PC_FAILED, an error is raised only where
// the user asked for one.
static PetscErrorCode Fail(PC pc, const Failure &failure, Failure::Kind any)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;
  char       mine[256] = "";
  PetscInt   first;
  int        who;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(pc->pmat, &first, nullptr));
  const PetscInt row = failure.row >= 0 ? first + (PetscInt)failure.row : -1;
  switch (failure.kind) {
  case Failure::not_finite:
    if (row >= 0)
      PetscCall(PetscSNPrintf(mine, sizeof(mine),
                              "row %" PetscInt_FMT " of the matrix has an entry that is not a finite number", row));
    else
      PetscCall(PetscSNPrintf(mine, sizeof(mine),
                              "the operator of a coarse grid has an entry that is not a finite number: the matrix "
                              "spans more than %s precision holds",
                              a->in_single ? "single" : "double"));
    break;
  case Failure::diagonal:
    PetscCall(PetscSNPrintf(
      mine, sizeof(mine), "the matrix is not positive definite: diagonal entry %.4g in row %" PetscInt_FMT "%s",
      failure.value, row,
      failure.value == 0 ? "; unknowns that take no part need a 1 there"
                         : "; a system that is negative definite must be multiplied by -1"));
    break;
  case Failure::indefinite:
    PetscCall(PetscSNPrintf(
      mine, sizeof(mine),
      "the matrix is not positive definite, or not symmetric: a coarse grid's operator has the negative pivot %.6g; "
      "indefinite systems need another PC, such as lu",
      failure.value));
    break;
  default:
    break;
  }
  PetscCall(tessera::FirstText(PetscObjectComm((PetscObject)pc), mine, a->failure, &who));
  a->failed = PETSC_TRUE;
  PetscCall(tessera::FailSetUp(pc, "PC auxamg", a->failure,
                               any == Failure::not_finite ? PC_FACTOR_OTHER : PC_FACTOR_NUMERIC_ZEROPIVOT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RefuseDense(PC pc, const Failure &failure)
{
  char     mine[256] = "", text[256] = "the rows of one cell of nodes are";
  PetscInt first;
  int      who;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(pc->pmat, &first, nullptr));
  if (failure.kind == Failure::too_long && failure.row >= 0)
    PetscCall(
      PetscSNPrintf(mine, sizeof(mine), "row %" PetscInt_FMT " of the matrix is", first + (PetscInt)failure.row));
  PetscCall(tessera::FirstText(PetscObjectComm((PetscObject)pc), mine, text, &who));
  SETERRQ(PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
          "PC auxamg: %s coupled with more than 65000 others. Dense rows (multipliers, averages) must be separated: "
          "use -pc_type fieldsplit",
          text);
}

static PetscErrorCode Parameters(PC pc, PetscInt dim)
{
  PC_AuxAMG                    *a    = (PC_AuxAMG *)pc->data;
  const tessera::AuxAMGOptions &o    = a->options;
  MPI_Comm                      comm = PetscObjectComm((PetscObject)pc);
  tessera::tree::Params         p = tessera::tree::params_for((int)dim, (int)a->bs);

  PetscFunctionBegin;
  p.aggregation = o.variant == PC_AUXAMG_AGGREGATION;
  PetscCheck(
    !p.aggregation || o.interpolation == PC_AUXAMG_INTERPOLATION_AUTO, comm, PETSC_ERR_SUP,
    "PC auxamg: -pc_auxamg_interpolation %s is for the adaptive tree: -pc_auxamg_variant aggregation has piecewise "
    "constants. Leave one of the two out",
    PCAuxAMGInterpolations[o.interpolation]);
  PetscCheck(
    !p.aggregation || o.filter != PC_AUXAMG_FILTER_ON, comm, PETSC_ERR_SUP,
    "PC auxamg: -pc_auxamg_filter on is for the adaptive tree: piecewise constants (-pc_auxamg_variant aggregation) "
    "cannot be smoothed in their pattern. Leave one of the two out");
  PetscCheck(
    p.aggregation || o.smoother != PC_AUXAMG_SMOOTHER_BLOCK_GS, comm, PETSC_ERR_SUP,
    "PC auxamg: -pc_auxamg_smoother block_gs solves aggregates, which only -pc_auxamg_variant aggregation has. Use "
    "-pc_auxamg_smoother gs on the adaptive tree");
  if (o.cell_size || p.aggregation) p.cell_size = o.cell_size ? (int)o.cell_size : 1;
  if (o.interpolation != PC_AUXAMG_INTERPOLATION_AUTO)
    p.kuhn = dim > 1 && o.interpolation == PC_AUXAMG_INTERPOLATION_KUHN;
  // the same order, after auto
  p.smoother        = o.smoother == PC_AUXAMG_SMOOTHER_AUTO
                      ? (p.aggregation ? tessera::tree::Smoother::block_gs : tessera::tree::Smoother::chebyshev)
                      : (tessera::tree::Smoother)(o.smoother - 1);
  const bool sweeps = p.smoother == tessera::tree::Smoother::gs || p.smoother == tessera::tree::Smoother::block_gs;
  if (o.degree || sweeps) p.degree = o.degree ? (int)PetscMin(o.degree, 100) : 1;
  p.difficult_degree = o.degree ? p.degree : 3;
  p.jump_degree      = o.degree ? 0 : 4;
  p.rough_degree     = o.degree || sweeps || dim < 3 || a->bs > 1 ? 0 : 3;
  p.filter          = p.aggregation ? Filter::off : (Filter)o.filter; // the same order
  p.cycle           = o.cycle == PC_AUXAMG_CYCLE_V                  ? Cycle::v
                    : o.cycle == PC_AUXAMG_CYCLE_W                  ? Cycle::w
                    : o.cycle == PC_AUXAMG_CYCLE_AMLI               ? Cycle::amli
                    : o.cycle == PC_AUXAMG_CYCLE_K || p.aggregation ? Cycle::k
                                                                    : Cycle::automatic;
  p.all_take_part = true;
  p.inner  = (int)o.cycle_inner;
  p.grids  = o.levels ? (int)PetscMin(o.levels, 100) - 1 : 40;
  p.coarse = (int)o.coarse_size;
  a->params = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The products P'AP: entries with the weights of their columns' nodes, what that gives with the weights of the rows'
// nodes.
static PetscErrorCode LogProducts(PC_AuxAMG *a)
{
  double multiplications = 0;

  PetscFunctionBegin;
  WithHierarchy(a, [&](auto &h) {
    for (const auto &l : h.levels())
      if (l.transfer.cells)
        multiplications += (double)l.transfer.corners * (double)(a->bs * a->bs) *
                           ((double)l.j.size() + (double)l.points * (double)l.product.parts / l.transfer.cells);
  });
  PetscCall(tessera::LogFlops(a->exec.space, 2 * multiplications));
  PetscFunctionReturn(PETSC_SUCCESS);
}

using tessera::GhostNodes;
using tessera::MatrixRows;

// Other values in the same pattern. unchanged: Dirichlet rows and bodies are the same, else it does not work.
static PetscErrorCode Refresh(PC pc, const MatrixRows &rows, Failure *failure, bool *unchanged)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(tessera::event_auxamg_numeric, pc, 0, 0, 0));
  TesseraCallCXX(WithHierarchy(a, [&](auto &h) { *unchanged = h.refresh(rows, *failure); }));
  if (*unchanged) PetscCall(LogProducts(a));
  PetscCall(PetscLogEventEnd(tessera::event_auxamg_numeric, pc, 0, 0, 0));
  if (!*unchanged)
    PetscCall(PetscInfo(pc, "Other rows are Dirichlet rows, or other nodes stiff, than before: the grids are made "
                            "anew\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// All processes see the same coordinates, and set up anew where one has got others.
static PetscErrorCode AgreeOnCoordinates(PC pc)
{
  PC_AuxAMG                  *a = (PC_AuxAMG *)pc->data;
  tessera::Coordinates        empty;
  const tessera::Coordinates *agreed;
  uint64_t                    number;
  int                         who, rank, size;

  PetscFunctionBegin;
  PetscCall(tessera::AgreeOnCoordinates({(PetscObject)pc, "PC auxamg", pc->pmat}, &a->given, &empty, &agreed, &number));
  if (agreed == &empty) a->given = std::move(empty);
  PetscCall(tessera::FirstProcess(PetscObjectComm((PetscObject)pc), !a->current, &who, &rank, &size));
  if (who < size) a->current = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// auto: Gauss-Seidel, blocks that are solved exactly and small meshes in the plane stay in double precision on a host.
static PetscErrorCode GainsBySingle(PC pc, bool *gains)
{
  const PC_AuxAMG *a = (PC_AuxAMG *)pc->data;
  PetscInt         unknowns;

  PetscFunctionBegin;
  PetscCall(MatGetSize(pc->pmat, &unknowns, nullptr));
  const bool small     = a->params.dim == 2 && a->bs == 1 && unknowns < a->options.single_size;
  const bool chebyshev = a->params.smoother == tessera::tree::Smoother::chebyshev ||
                         a->params.smoother == tessera::tree::Smoother::jacobi;
  *gains = !a->linear && (a->exec.space == tessera::Space::cuda || (chebyshev && !small));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The grids and all else from coordinates. failure: also how an attempt before this one has ended.
static PetscErrorCode MakeHierarchy(PC pc, const MatrixRows &rows, const GhostNodes &ghosts, Failure *failure)
{
  PC_AuxAMG                  *a = (PC_AuxAMG *)pc->data;
  const char                 *prefix;
  tessera::Coordinates        found;
  const tessera::Coordinates *use;

  PetscFunctionBegin;
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  const std::string option = std::string(prefix ? prefix : "") + "pc_auxamg_coordinates";
  tessera::NodesOf nodes{(PetscObject)pc, "PC auxamg", pc->pmat};
  nodes.bs = a->bs;
  PetscCall(PCGetDM(pc, &nodes.dm));
  PetscCall(tessera::FindCoordinates(nodes, a->given, a->options.file.c_str(), option.c_str(), &found, &use));
  PetscCall(Parameters(pc, use->dim));
  a->from                 = use->from;
  a->params.judges_places = !use->guessed;
  if (!a->asked) PetscCall(tessera::LookAtKSPType(pc, &a->linear));
  bool single = a->options.precision == TESSERA_PRECISION_SINGLE;
  if (a->options.precision == TESSERA_PRECISION_AUTO) PetscCall(GainsBySingle(pc, &single));
  PetscCall(PetscLogEventBegin(tessera::event_auxamg_grids, pc, 0, 0, 0));
  const auto labels     = std::make_shared<tessera::Buffer<double>>(); // of parts
  a->params.part_labels = labels;
  for (;;) { // at most twice
    if (failure->kind == Failure::rounded) {
      PetscCall(
        PetscInfo(pc, "Rounding to single precision changes sums of rows too much, or makes the last operator "
                      "singular, a coarse one indefinite or the cycle unsound, or entries are beyond it on a "
                      "device: the hierarchy is in double precision\n"));
      single = false;
    }
    a->params.falls_back = single && a->options.precision == TESSERA_PRECISION_AUTO;
    a->in_double.reset();
    a->in_single.reset();
    if (single) TesseraCallCXX(a->in_single.reset(new tessera::tree::Hierarchy<float>(a->exec, a->comm, a->params)));
    else TesseraCallCXX(a->in_double.reset(new tessera::tree::Hierarchy<double>(a->exec, a->comm, a->params)));
    TesseraCallCXX(WithHierarchy(a, [&](auto &h) {
      *failure =
        h.setup(rows, use->x.data(), ghosts.owner, ghosts.index, a->options.stretch == PETSC_TRUE, use->x.space());
    }));
    if (failure->kind != Failure::rounded) break;
  }
  PetscCall(LogProducts(a));
  PetscCall(PetscLogEventEnd(tessera::event_auxamg_grids, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Errors of all processes, and failures of the method.
static PetscErrorCode ReportFailure(PC pc, const Failure &failure)
{
  PC_AuxAMG *a    = (PC_AuxAMG *)pc->data;
  MPI_Comm   comm = PetscObjectComm((PetscObject)pc);
  int        kind = (int)failure.kind, any;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&kind, &any, 1, MPI_INT, MPI_MAX, comm));
  PetscCheck(any != Failure::uncoloured, comm, PETSC_ERR_SUP,
             "PC auxamg: Gauss-Seidel (-pc_auxamg_smoother %s) finds no colors: the nonzero pattern of the matrix is "
             "not symmetric, or has dense blocks of more than 128 nodes. Use -pc_auxamg_smoother chebyshev",
             a->params.smoother == tessera::tree::Smoother::gs ? "gs" : "block_gs");
  if (any == Failure::too_long) PetscCall(RefuseDense(pc, failure));
  PetscCheck(any != Failure::far, comm, PETSC_ERR_ARG_INCOMP,
             "PC auxamg: the matrix couples nodes that lie far apart, so that a coarse operator would have more than 6 "
             "times its entries: are the coordinates (%s, for %" PetscInt_FMT " unknown%s per node) those of the "
             "matrix' nodes, in the order of its rows?",
             a->from.c_str(), a->bs, a->bs == 1 ? "" : "s");
  PetscCheck(any != Failure::too_coarse, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "PC auxamg: with %" PetscInt_FMT " grid%s (-pc_auxamg_levels) more than 2000 unknowns remain to be solved "
             "exactly. Use more grids, or 0 for as many as it takes",
             a->options.levels, a->options.levels == 1 ? "" : "s");
  // the end that all processes have in common raises the error
  if (any == Failure::lost) PetscFunctionReturn(PETSC_SUCCESS);
  if (any) PetscCall(Fail(pc, failure, (Failure::Kind)any));
  a->ready = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUp(PC pc)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;
  Failure    failure;
  GhostNodes     ghosts;
  MatrixRows rows;
  bool       unchanged = true;

  PetscFunctionBegin;
  pc->setupcalled = PETSC_FALSE; // PETSc sets it again on success: after an error the next solve starts from here
  PetscCall(AgreeOnCoordinates(pc));
  const bool again_all = !a->current || pc->flag != SAME_NONZERO_PATTERN;
  a->current = a->ready = a->failed = PETSC_FALSE;
  pc->failedreason = PC_NOERROR;
  PetscCall(tessera::CheckMatrix((PetscObject)pc, "PC auxamg", pc->pmat));
  PetscCall(tessera::CommOf((PetscObject)pc, &a->comm));
  if (again_all) {
    PetscCall(tessera::ChooseSpace((PetscObject)pc, "pc_auxamg_backend", a->options.backend,
                                   [&](bool *device) { return tessera::LocalRows::OnDevice(pc->pmat, device); },
                                   &a->exec.space));
    PetscCall(tessera::FindBlockSize((PetscObject)pc, "PC auxamg", pc->pmat,
                                     a->options.file.empty() ? &a->given : nullptr,
                                     ". Use it on the fields through -pc_type fieldsplit", &a->bs));
    a->exec.threads = tessera::HostThreads();
  }
  PetscCall(tessera::UseCurrentStream(a->exec.space));
  PetscCall(tessera::ReadRows(a->comm, "PC auxamg", pc->pmat, a->bs, a->exec.space, &a->rows, &ghosts, &rows));
  if (!again_all) PetscCall(Refresh(pc, rows, &failure, &unchanged));
  if (again_all || !unchanged || failure.kind == Failure::rounded) PetscCall(MakeHierarchy(pc, rows, ghosts, &failure));
  PetscCall(a->rows.Restore());
  PetscCall(ReportFailure(pc, failure));
  if (!a->ready || a->failed) PetscFunctionReturn(PETSC_SUCCESS);
  a->current = PETSC_TRUE;
  int                      grids = 0;
  double                   nodes = 0;
  bool                     symmetric = true;
  std::vector<std::string> doubts;
  WithHierarchy(a, [&](auto &h) {
    grids     = (int)h.levels().size();
    nodes     = h.levels()[0].nodes;
    symmetric = h.symmetric();
    doubts    = tessera::Doubts(a, h);
  });
  PetscCall(PetscInfo(pc, "%d grid%s, %.0f nodes on the mesh, coordinates of %s\n", grids, grids > 1 ? "s" : "", nodes,
                      a->from.c_str()));
  if (!symmetric)
    PetscCall(PetscInfo(pc, "The matrix is not symmetric: gmres and bcgs solve such systems, cg does not\n"));
  for (const std::string &doubt : doubts) PetscCall(PetscInfo(pc, "%s\n", doubt.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::SetUpAuxAMG(PC pc)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;
  bool       nothing;

  PetscFunctionBegin;
  PetscCall(tessera::CiteAuxAMG());
  PetscCall(a->null.Reset());
  PetscCall(tessera::NothingToSolve(pc, &nothing));
  if (nothing) {
    a->current = a->ready = a->failed = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(tessera::RunCollectively<SetUp>(pc, a->exec.space, [&] {
    (void)a->rows.Restore();
    a->in_double.reset();
    a->in_single.reset();
    a->current = a->ready = PETSC_FALSE;
  }));
  if (a->ready && !a->failed) a->null.Expect();
  PetscFunctionReturn(PETSC_SUCCESS);
}
