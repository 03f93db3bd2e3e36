// PC auxamg: PETSc's face of the multigrid on auxiliary grids.
#include "auxamg/pcauxamg.hpp"
#include "petsc/krylov.hpp"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#ifdef _OPENMP
  #include <omp.h>
#endif

using tessera::PC_AuxAMG;
using tessera::WithHierarchy;
using tessera::auxamg::Failure;

const char *const PCAuxAMGVariants[]       = {"tree", "paper", "PCAuxAMGVariant", "PC_AUXAMG_", nullptr};
const char *const PCAuxAMGInterpolations[] = {"auto", "linear", "kuhn", "PCAuxAMGInterpolation", "PC_AUXAMG_", nullptr};
const char *const PCAuxAMGCycles[]         = {"auto", "v", "w", "k", "PCAuxAMGCycle", "PC_AUXAMG_CYCLE_", nullptr};
const char *const PCAuxAMGSmoothers[]      = {"auto", "chebyshev", "jacobi", "gs", "block_gs", "PCAuxAMGSmoother", "PC_AUXAMG_", nullptr};
const char *const PCAuxAMGFilters[]        = {"off", "on", "auto", "PCAuxAMGFilter", "PC_AUXAMG_FILTER_", nullptr};
const char *const PCAuxAMGPrecisions[]     = {"auto", "double", "single", "PCAuxAMGPrecision", "PC_AUXAMG_", nullptr};

static PetscErrorCode PCReset_AuxAMG(PC pc)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;

  PetscFunctionBegin;
  PetscCall(tessera::UseCurrentStream(tessera::Space::host)); // memory is given back in its order
  PetscCall(a->rows.Restore());
  PetscCall(a->rows.Reset());
  a->in_double.reset();
  a->in_single.reset();
  a->read    = tessera::VectorRead();
  a->write   = tessera::VectorWrite();
  a->columns = tessera::Columns();
  a->current = a->ready = a->failed = PETSC_FALSE;
  a->linear = a->asked = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Threads on the host: only those that the user asked for, as MPI programs fill the cores with processes.
static int HostThreads()
{
#ifdef _OPENMP
  if (getenv("OMP_NUM_THREADS")) return omp_get_max_threads();
#endif
  return 1;
}

// Where the values of the matrix are, unless the user says otherwise.
static PetscErrorCode ChooseSpace(PC pc, tessera::Space *space)
{
  PC_AuxAMG *a      = (PC_AuxAMG *)pc->data;
  bool       device = a->backend == TESSERA_BACKEND_CUDA;

  PetscFunctionBegin;
  PetscCall(tessera::CheckBackend((PetscObject)pc, "pc_auxamg_backend", a->backend));
  if (a->backend == TESSERA_BACKEND_AUTO) {
    PetscCall(tessera::LocalRows::OnDevice(pc->pmat, &device));
    int here = device && !tessera::device::unusable(), all; // asked last: it wakes the device
    PetscCallMPI(MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)pc)));
    device = all;
  }
  *space = device ? tessera::Space::cuda : tessera::Space::host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The unknowns of a node: the block size of the matrix, or what PCSetCoordinates() says by its number of points.
static PetscErrorCode ChooseBlock(PC pc, PetscInt *bs)
{
  PC_AuxAMG *a    = (PC_AuxAMG *)pc->data;
  MPI_Comm   comm = PetscObjectComm((PetscObject)pc);
  PetscInt   m, M, N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(pc->pmat, &M, &N));
  PetscCheck(M == N, comm, PETSC_ERR_ARG_SIZ, "PC auxamg needs a square matrix: this one has %" PetscInt_FMT " rows and %" PetscInt_FMT " columns", M, N);
  PetscCall(MatGetBlockSize(pc->pmat, bs));
  if (a->given.dim && a->file.empty()) {
    PetscCall(MatGetLocalSize(pc->pmat, &m, nullptr));
    const PetscInt points = (PetscInt)a->given.x.size() / a->given.dim;
    PetscInt       mine[2] = {m, points}, all[2];
    PetscCallMPI(MPI_Allreduce(mine, all, 2, MPIU_INT, MPI_SUM, comm));
    const PetscInt k = all[1] ? all[0] / all[1] : 0;
    PetscInt       wrong = k < 1 || points * k != m, any;
    PetscCallMPI(MPI_Allreduce(&wrong, &any, 1, MPIU_INT, MPI_MAX, comm));
    PetscCheck(!any, comm, PETSC_ERR_ARG_SIZ, "PC auxamg: PCSetCoordinates() gave %" PetscInt_FMT " points, the matrix has %" PetscInt_FMT " rows with block size %" PetscInt_FMT ": each process must give a point for each of its nodes, which have the same number of rows", all[1], all[0], *bs);
    *bs = k;
  }
  PetscCheck(*bs >= 1 && *bs <= 6, comm, PETSC_ERR_SUP, "PC auxamg works with 1 to 6 unknowns a node: here are %" PetscInt_FMT " (the matrix' block size, or rows by points of PCSetCoordinates()). Use it on the fields through -pc_type fieldsplit", *bs);
  PetscCheck(M / *bs < 2000000000, comm, PETSC_ERR_SUP, "PC auxamg works with less than 2e9 nodes: here are %" PetscInt_FMT, M / *bs);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The setup stopped, here or on another process: KSP ends with KSP_DIVERGED_PC_FAILED, an error is raised only where the user asked for one.
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
    if (row >= 0) PetscCall(PetscSNPrintf(mine, sizeof(mine), "row %" PetscInt_FMT " of the matrix has an entry that is not a finite number", row));
    else PetscCall(PetscSNPrintf(mine, sizeof(mine), "the operator of a coarse grid has an entry that is not a finite number: the matrix spans more than %s precision holds", a->in_single ? "single" : "double"));
    break;
  case Failure::diagonal:
    PetscCall(PetscSNPrintf(mine, sizeof(mine), "the matrix is not positive definite: diagonal entry %.4g in row %" PetscInt_FMT "%s", failure.value, row, failure.value == 0 ? "; unknowns that take no part need a 1 there" : ""));
    break;
  case Failure::indefinite:
    PetscCall(PetscSNPrintf(mine, sizeof(mine), "the matrix is not positive definite, or not symmetric: a coarse grid's operator has the negative pivot %g", failure.value));
    break;
  default:
    break;
  }
  PetscCall(tessera::FirstText(PetscObjectComm((PetscObject)pc), mine, a->failure, &who));
  a->failed = PETSC_TRUE;
  PetscCheck(!pc->erroriffailure, PetscObjectComm((PetscObject)pc), PETSC_ERR_MAT_LU_ZRPVT, "PC auxamg: %s", a->failure);
  PetscCall(PetscInfo(pc, "%s\n", a->failure));
  pc->failedreason = any == Failure::not_finite ? PC_FACTOR_OTHER : PC_FACTOR_NUMERIC_ZEROPIVOT;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RefuseDense(PC pc, const Failure &failure)
{
  char     mine[256] = "", text[256] = "the rows of one cell of nodes are";
  PetscInt first;
  int      who;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(pc->pmat, &first, nullptr));
  if (failure.kind == Failure::too_long && failure.row >= 0) PetscCall(PetscSNPrintf(mine, sizeof(mine), "row %" PetscInt_FMT " of the matrix is", first + (PetscInt)failure.row));
  PetscCall(tessera::FirstText(PetscObjectComm((PetscObject)pc), mine, text, &who));
  SETERRQ(PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, "PC auxamg: %s coupled with more than 65000 others. Dense rows (multipliers, averages) must be separated: use -pc_type fieldsplit", text);
}

// The nodes of other processes that this one's rows need.
struct Ghosts {
  std::vector<int>     owner, index; // of each
  tessera::Buffer<int> column;       // unknown of a ghost node of each column of the other block; where the matrix is
};

static PetscErrorCode FindGhosts(PC pc, Ghosts *ghosts)
{
  PC_AuxAMG          *a = (PC_AuxAMG *)pc->data;
  const PetscInt     *ranges, bs = a->bs;
  std::vector<int>    column((size_t)a->rows.others);
  PetscInt            last = -1;
  PetscMPIInt         rank = 0;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRanges(pc->pmat, &ranges));
  for (PetscInt c = 0; c < a->rows.others; ++c) {
    const PetscInt k = a->rows.columns[c];
    while (k >= ranges[rank + 1]) ++rank; // columns ascend
    if (k / bs != last) {
      last = k / bs;
      ghosts->owner.push_back(rank);
      ghosts->index.push_back((int)(last - ranges[rank] / bs));
    }
    column[(size_t)c] = (int)((PetscInt)(ghosts->owner.size() - 1) * bs + k % bs);
  }
  tessera::Buffer<int> here;
  TesseraCallCXX(here.resize(column.size()));
  std::copy(column.begin(), column.end(), here.data());
  TesseraCallCXX(ghosts->column.resize(tessera::Extent{column.size(), a->exec.space}), copy(here, ghosts->column));
  if (a->exec.space == tessera::Space::cuda) TesseraCallCXX(tessera::device::synchronize());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Parameters(PC pc, PetscInt dim)
{
  PC_AuxAMG              *a = (PC_AuxAMG *)pc->data;
  MPI_Comm                comm = PetscObjectComm((PetscObject)pc);
  tessera::auxamg::Params p;

  PetscFunctionBegin;
  p.paper = a->variant == PC_AUXAMG_PAPER;
  PetscCheck(!p.paper || a->interpolation == PC_AUXAMG_AUTO, comm, PETSC_ERR_SUP, "PC auxamg: -pc_auxamg_interpolation %s is for the adaptive tree: -pc_auxamg_variant paper has piecewise constants. Leave one of the two out", PCAuxAMGInterpolations[a->interpolation]);
  PetscCheck(!p.paper || a->filter != PC_AUXAMG_FILTER_ON, comm, PETSC_ERR_SUP, "PC auxamg: -pc_auxamg_filter on is for the adaptive tree: piecewise constants (-pc_auxamg_variant paper) cannot be smoothed in their pattern. Leave one of the two out");
  PetscCheck(p.paper || a->smoother != PC_AUXAMG_BLOCK_GS, comm, PETSC_ERR_SUP, "PC auxamg: -pc_auxamg_smoother block_gs solves aggregates, which only -pc_auxamg_variant paper has. Use -pc_auxamg_smoother gs on the adaptive tree");
  p.dim    = (int)dim;
  p.bs     = (int)a->bs;
  p.most   = a->cell_size ? (int)a->cell_size : p.paper ? 1 : dim == 3 ? 24 : dim == 2 ? 12 : 3;
  p.kuhn   = dim > 1 && (a->interpolation == PC_AUXAMG_AUTO ? dim == 3 : a->interpolation == PC_AUXAMG_KUHN);
  // the same order, after auto
  p.smoother = a->smoother == PC_AUXAMG_SMOOTHER_AUTO ? (p.paper ? tessera::auxamg::Smoother::block_gs : tessera::auxamg::Smoother::chebyshev) : (tessera::auxamg::Smoother)(a->smoother - 1);
  const bool sweeps = p.smoother == tessera::auxamg::Smoother::gs || p.smoother == tessera::auxamg::Smoother::block_gs;
  p.degree = a->smooth ? (int)PetscMin(a->smooth, 100) : sweeps ? 1 : a->bs > 1 ? 3 : 2;
  p.rough  = a->smooth ? p.degree : 3;
  p.filter = p.paper ? 0 : (int)a->filter; // the same order
  p.cycle  = p.paper && a->cycle == PC_AUXAMG_CYCLE_AUTO ? (int)PC_AUXAMG_CYCLE_K : (int)a->cycle; // the same order
  p.inner  = (int)a->cycle_inner;
  p.grids  = a->levels ? (int)PetscMin(a->levels, 100) - 1 : 40;
  p.coarse = (int)a->coarse_size;
  a->params = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The products P'AP: entries with the weights of their columns' nodes, what that gives with the weights of the rows' nodes.
static PetscErrorCode LogProducts(PC_AuxAMG *a)
{
  double multiplications = 0;

  PetscFunctionBegin;
  WithHierarchy(a, [&](auto &h) {
    for (const auto &l : h.levels())
      if (l.cells) multiplications += (double)l.corners * (double)(a->bs * a->bs) * ((double)l.j.size() + (double)l.points * (double)l.parts / l.cells);
  });
  PetscCall(tessera::LogFlops(a->exec.space, 2 * multiplications));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUp(PC pc)
{
  PC_AuxAMG           *a    = (PC_AuxAMG *)pc->data;
  MPI_Comm             comm = PetscObjectComm((PetscObject)pc);
  Failure              failure;
  Ghosts               ghosts;
  bool                 again_all = !a->current || pc->flag != SAME_NONZERO_PATTERN, unchanged = true;
  const char          *prefix;

  PetscFunctionBegin;
  pc->setupcalled  = PETSC_FALSE; // PETSc sets it again on success: after an error the next solve starts from here
  a->current = a->ready = a->failed = PETSC_FALSE;
  pc->failedreason = PC_NOERROR;
  PetscCall(tessera::CheckMatrix((PetscObject)pc, "PC auxamg", pc->pmat));
  PetscCall(tessera::CommOf((PetscObject)pc, &a->comm));
  if (again_all) {
    PetscCall(ChooseSpace(pc, &a->exec.space));
    PetscCall(ChooseBlock(pc, &a->bs));
    a->exec.threads = HostThreads();
  }
  PetscCall(tessera::UseCurrentStream(a->exec.space));
  PetscCall(tessera::SameError(a->comm, a->rows.Get(pc->pmat, a->exec.space, "PC auxamg")));
  MatInfo   info;
  PetscBool counts; // a matrix that is made of others may not
  PetscCall(MatHasOperation(pc->pmat, MATOP_GETINFO, &counts));
  if (counts) PetscCall(MatGetInfo(pc->pmat, MAT_GLOBAL_MAX, &info));
  PetscCheck(!counts || info.nz_used < 2147483647., comm, PETSC_ERR_SUP, "PC auxamg works with less than 2^31 entries of the matrix on a process: here are %g. Use more processes", info.nz_used);
  PetscCall(FindGhosts(pc, &ghosts));
  tessera::auxamg::Rows<tessera::LocalRows::Index> rows;
  rows.n      = (int)(a->rows.n / a->bs);
  rows.ghosts = (int)ghosts.owner.size();
  rows.i      = a->rows.i;
  rows.j      = a->rows.j;
  rows.a      = a->rows.a;
  rows.oi     = a->rows.oi;
  rows.oj     = a->rows.oj;
  rows.o      = a->rows.o;
  rows.ghost  = ghosts.column.data();
  if (!again_all) {
    PetscCall(PetscLogEventBegin(tessera::event_auxamg_numbers, pc, 0, 0, 0));
    TesseraCallCXX(WithHierarchy(a, [&](auto &h) { unchanged = h.refresh(rows, failure); }));
    if (unchanged) PetscCall(LogProducts(a));
    PetscCall(PetscLogEventEnd(tessera::event_auxamg_numbers, pc, 0, 0, 0));
    if (!unchanged) PetscCall(PetscInfo(pc, "Other rows are Dirichlet rows than before: the grids are made anew\n"));
  }
  if (again_all || !unchanged || failure.kind == Failure::rounded) {
    tessera::Coordinates        found;
    const tessera::Coordinates *use;
    PetscCall(PCGetOptionsPrefix(pc, &prefix));
    const std::string option = std::string(prefix ? prefix : "") + "pc_auxamg_coordinates";
    PetscCall(tessera::FindCoordinates(pc, a->bs, a->given, a->file.c_str(), option.c_str(), &found, &use));
    PetscCall(Parameters(pc, use->dim));
    a->from           = use->from;
    if (!a->asked) PetscCall(tessera::LookAtKSPType(pc, &a->linear));
    // auto: Gauss-Seidel and blocks that are solved exactly stay in double precision on the host
    const bool chebyshev = a->params.smoother == tessera::auxamg::Smoother::chebyshev || a->params.smoother == tessera::auxamg::Smoother::jacobi;
    bool       single    = a->precision == PC_AUXAMG_SINGLE || (a->precision == PC_AUXAMG_PRECISION_AUTO && !a->linear && (a->exec.space == tessera::Space::cuda || chebyshev));
    PetscCall(PetscLogEventBegin(tessera::event_auxamg_grids, pc, 0, 0, 0));
    for (;;) { // at most twice
      if (failure.kind == Failure::rounded) {
        PetscCall(PetscInfo(pc, "Rounding to single precision changes sums of rows too much, or makes the last operator singular, or entries are beyond it on a device: the hierarchy is in double precision\n"));
        single = false;
      }
      a->params.falls_back = single && a->precision == PC_AUXAMG_PRECISION_AUTO;
      a->in_double.reset();
      a->in_single.reset();
      if (single) TesseraCallCXX(a->in_single.reset(new tessera::auxamg::Hierarchy<float>(a->exec, a->comm, a->params)));
      else TesseraCallCXX(a->in_double.reset(new tessera::auxamg::Hierarchy<double>(a->exec, a->comm, a->params)));
      TesseraCallCXX(WithHierarchy(a, [&](auto &h) { failure = h.setup(rows, use->x.data(), ghosts.owner, ghosts.index, a->stretch == PETSC_TRUE, use->x.space()); }));
      if (failure.kind != Failure::rounded) break;
    }
    PetscCall(LogProducts(a));
    PetscCall(PetscLogEventEnd(tessera::event_auxamg_grids, pc, 0, 0, 0));
  }
  PetscCall(a->rows.Restore());
  int kind = (int)failure.kind, any;
  PetscCallMPI(MPI_Allreduce(&kind, &any, 1, MPI_INT, MPI_MAX, comm));
  PetscCheck(any != Failure::uncoloured, comm, PETSC_ERR_SUP, "PC auxamg: Gauss-Seidel (-pc_auxamg_smoother %s) finds no colours: the nonzero pattern of the matrix is not symmetric, or has dense blocks of more than 128 nodes. Use -pc_auxamg_smoother chebyshev", a->params.smoother == tessera::auxamg::Smoother::gs ? "gs" : "block_gs");
  if (any == Failure::too_long) PetscCall(RefuseDense(pc, failure));
  PetscCheck(any != Failure::too_coarse, comm, PETSC_ERR_ARG_OUTOFRANGE, "PC auxamg: with %" PetscInt_FMT " grid%s (-pc_auxamg_levels) more than 2000 unknowns remain to be solved exactly. Use more grids, or 0 for as many as it takes", a->levels, a->levels == 1 ? "" : "s");
  if (any == Failure::lost) PetscFunctionReturn(PETSC_SUCCESS); // the end that all processes have in common raises the error
  if (any) PetscCall(Fail(pc, failure, (Failure::Kind)any));
  a->ready = PETSC_TRUE;
  if (a->failed) PetscFunctionReturn(PETSC_SUCCESS);
  a->current = PETSC_TRUE;
  WithHierarchy(a, [&](auto &h) {
    (void)PetscInfo(pc, "%d grid%s, %g nodes on the mesh, coordinates of %s\n", (int)h.levels().size(), h.levels().size() > 1 ? "s" : "", h.levels()[0].nodes, a->from.c_str());
    for (const std::string &doubt : tessera::Doubts(a, h)) (void)PetscInfo(pc, "%s\n", doubt.c_str());
  });
  PetscFunctionReturn(PETSC_SUCCESS);
}

// After an error nothing is kept.
static PetscErrorCode PCSetUp_AuxAMG(PC pc)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;

  PetscFunctionBegin;
  PetscCall(tessera::CiteAuxAMG());
  tessera::Together together(PetscObjectComm((PetscObject)pc));
  PetscErrorCode    ierr = tessera::NoThrow<SetUp, PC>(pc);
  ierr = together.End(ierr, a->exec.space);
  if (ierr) {
    (void)a->rows.Restore();
    a->in_double.reset();
    a->in_single.reset();
    a->current = a->ready = PETSC_FALSE;
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <bool transposed> static PetscErrorCode Apply(PC pc, Vec x, Vec y)
{
  PC_AuxAMG    *a = (PC_AuxAMG *)pc->data;
  const double *from;
  double       *to, work = 0;
  bool          linear = true;
  PetscBool     known = PETSC_FALSE, symmetric = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCheck(a->ready, PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER, "PC auxamg: the last setup ended with an error");
  if (a->failed) { // no hierarchy: what a failed LU gives too, so that no solver takes it for a solution
    PetscCall(VecSet(y, PETSC_INFINITY));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (transposed) {
    WithHierarchy(a, [&](auto &h) { linear = h.linear(); });
    PetscCheck(linear, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, "PC auxamg: the K-cycle is not linear, so it has no transpose. Use -pc_auxamg_cycle v or w");
    PetscCall(MatIsSymmetricKnown(pc->pmat, &known, &symmetric));
  }
  PetscCall(PetscLogEventBegin(tessera::event_auxamg_apply, pc, x, y, 0));
  PetscCall(tessera::UseCurrentStream(a->exec.space));
  PetscCall(a->read.Get(x, a->exec.space, &from));
  PetscCall(a->write.Get(y, a->exec.space, &to));
  {
    const tessera::GpuTime time(a->exec.space);
    WithHierarchy(a, [&](auto &h) {
      h.apply(from, to, transposed && !(known && symmetric));
      work = h.work();
    });
  }
  PetscCall(a->write.Restore(y));
  PetscCall(a->read.Restore(x));
  PetscCall(tessera::LogFlops(a->exec.space, 2 * work));
  PetscCall(PetscLogEventEnd(tessera::event_auxamg_apply, pc, x, y, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What applies the preconditioner takes it for a linear map: from now on it is one.
static PetscErrorCode MakeLinear(PC pc, const char *who)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;

  PetscFunctionBegin;
  a->linear = PETSC_TRUE;
  if (a->precision != PC_AUXAMG_PRECISION_AUTO || !a->in_single || !a->current) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(pc, "%s may rely on a preconditioner that is linear to the last digits: the hierarchy is made again in double precision (-pc_auxamg_precision double does so at once)\n", who));
  a->current      = PETSC_FALSE;
  pc->setupcalled = PETSC_FALSE;
  PetscCall(PCSetUp(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPreSolve_AuxAMG(PC pc, KSP ksp, Vec, Vec)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;
  KSPType    type;

  PetscFunctionBegin;
  PetscCall(CompatUserPreSolve(pc, ksp));
  a->asked = PETSC_TRUE;
  PetscCall(KSPGetType(ksp, &type));
  if (tessera::StandsRounding(type)) PetscFunctionReturn(PETSC_SUCCESS);
  const PetscErrorCode ierr = MakeLinear(pc, type);
  if (ierr) --pc->presolvedone; // which PETSc has counted, and refuses at three
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// One process whose device fails must not leave the others waiting for its messages.
template <bool transposed> static PetscErrorCode PCApply_AuxAMG(PC pc, Vec x, Vec y)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;

  PetscFunctionBegin;
  if (!a->asked) PetscCall(MakeLinear(pc, "PCApply() without a KSP"));
  tessera::Together together(PetscObjectComm((PetscObject)pc));
  PetscCall((tessera::NoThrow<Apply<transposed>, PC, Vec, Vec>(pc, x, y)));
  if (!tessera::device::failed()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(tessera::FailApplication(PetscObjectComm((PetscObject)pc), y, together.Within(), "PC auxamg", &pc->failedreason));
  a->read  = tessera::VectorRead(); // what was copied to the device is not there
  a->write = tessera::VectorWrite();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatApply(PC pc, Mat X, Mat Y)
{
  PC_AuxAMG *a    = (PC_AuxAMG *)pc->data;
  double     work = 0;

  PetscFunctionBegin;
  PetscCheck(a->ready, PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER, "PC auxamg: the last setup ended with an error");
  if (a->failed) {
    PetscCall(tessera::Columns::Set(Y, PETSC_INFINITY));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogEventBegin(tessera::event_auxamg_apply, pc, X, Y, 0));
  PetscCall(tessera::UseCurrentStream(a->exec.space));
  PetscCall(a->columns.Each(X, Y, a->exec.space, [&](int number, const double *from, ptrdiff_t stride_from, double *to, ptrdiff_t stride_to) {
    const tessera::GpuTime time(a->exec.space);
    WithHierarchy(a, [&](auto &h) {
      h.apply(number, from, stride_from, to, stride_to);
      work += number * h.work();
    });
  }));
  PetscCall(tessera::LogFlops(a->exec.space, 2 * work));
  PetscCall(PetscLogEventEnd(tessera::event_auxamg_apply, pc, X, Y, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCMatApply_AuxAMG(PC pc, Mat X, Mat Y)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;

  PetscFunctionBegin;
  if (!a->asked) PetscCall(MakeLinear(pc, "PCMatApply() without a KSP"));
  tessera::Together together(PetscObjectComm((PetscObject)pc));
  PetscCall((tessera::NoThrow<MatApply, PC, Mat, Mat>(pc, X, Y)));
  if (!tessera::device::failed()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(tessera::FailApplication(PetscObjectComm((PetscObject)pc), Y, together.Within(), "PC auxamg", &pc->failedreason));
  a->columns = tessera::Columns(); // what was copied to the device is not there
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_AuxAMG(PC pc, CompatOptionItems PetscOptionsObject)
{
  PC_AuxAMG            *a = (PC_AuxAMG *)pc->data;
  PetscInt              levels = a->levels, cell_size = a->cell_size, smooth = a->smooth, coarse_size = a->coarse_size, cycle_inner = a->cycle_inner;
  PCAuxAMGVariant       variant       = a->variant;
  PCAuxAMGInterpolation interpolation = a->interpolation;
  PCAuxAMGCycle         cycle         = a->cycle;
  PCAuxAMGSmoother      smoother      = a->smoother;
  PCAuxAMGFilter        filter        = a->filter;
  PCAuxAMGPrecision     precision     = a->precision;
  PetscBool             stretch = a->stretch, set;
  TesseraBackend        backend = a->backend;
  char                  file[PETSC_MAX_PATH_LEN];

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "AuxAMG options");
  PetscCall(PetscOptionsEnum("-pc_auxamg_variant", "Kind of the auxiliary grids", "PCAuxAMGSetVariant", PCAuxAMGVariants, (PetscEnum)variant, (PetscEnum *)&variant, &set));
  if (set) PetscCall(PCAuxAMGSetVariant(pc, variant));
  PetscCall(PetscOptionsInt("-pc_auxamg_levels", "Grids at most, the mesh among them (0 for as many as it takes)", "PCAuxAMGSetLevels", levels, &levels, &set));
  if (set) PetscCall(PCAuxAMGSetLevels(pc, levels));
  PetscCall(PetscOptionsInt("-pc_auxamg_cell_size", "Nodes in a cell of the first grid at most (0 for 3, 12, 24 in 1D, 2D, 3D); of the paper's grids in the mean at least", "PCAuxAMGSetCellSize", cell_size, &cell_size, &set));
  if (set) PetscCall(PCAuxAMGSetCellSize(pc, cell_size));
  PetscCall(PetscOptionsEnum("-pc_auxamg_interpolation", "Functions on the cells", "PCAuxAMGSetInterpolation", PCAuxAMGInterpolations, (PetscEnum)interpolation, (PetscEnum *)&interpolation, &set));
  if (set) PetscCall(PCAuxAMGSetInterpolation(pc, interpolation));
  PetscCall(PetscOptionsEnum("-pc_auxamg_cycle", "How coarse grids are visited", "PCAuxAMGSetCycle", PCAuxAMGCycles, (PetscEnum)cycle, (PetscEnum *)&cycle, &set));
  if (set) PetscCall(PCAuxAMGSetCycle(pc, cycle));
  PetscCall(PetscOptionsInt("-pc_auxamg_cycle_inner", "Steps of the K-cycle on each coarse grid", "PCAuxAMGSetCycleInner", cycle_inner, &cycle_inner, &set));
  if (set) PetscCall(PCAuxAMGSetCycleInner(pc, cycle_inner));
  PetscCall(PetscOptionsEnum("-pc_auxamg_smoother", "Smoother", "PCAuxAMGSetSmoother", PCAuxAMGSmoothers, (PetscEnum)smoother, (PetscEnum *)&smoother, &set));
  if (set) PetscCall(PCAuxAMGSetSmoother(pc, smoother));
  PetscCall(PetscOptionsInt("-pc_auxamg_smooth", "Degree of the smoother (0 for 2, or 3 with several unknowns a node, or 1 of Gauss-Seidel)", "PCAuxAMGSetSmooth", smooth, &smooth, &set));
  if (set) PetscCall(PCAuxAMGSetSmooth(pc, smooth));
  PetscCall(PetscOptionsEnum("-pc_auxamg_filter", "Smooth the interpolation for coefficients that jump", "PCAuxAMGSetFilter", PCAuxAMGFilters, (PetscEnum)filter, (PetscEnum *)&filter, &set));
  if (set) PetscCall(PCAuxAMGSetFilter(pc, filter));
  PetscCall(PetscOptionsBool("-pc_auxamg_stretch", "Stretch coordinates by the strength of couplings", "PCAuxAMGSetStretch", stretch, &stretch, &set));
  if (set) PetscCall(PCAuxAMGSetStretch(pc, stretch));
  PetscCall(PetscOptionsInt("-pc_auxamg_coarse_size", "Unknowns that are solved exactly", "PCAuxAMGSetCoarseSize", coarse_size, &coarse_size, &set));
  if (set) PetscCall(PCAuxAMGSetCoarseSize(pc, coarse_size));
  PetscCall(PetscOptionsEnum("-pc_auxamg_precision", "Precision of the hierarchy", "PCAuxAMGSetPrecision", PCAuxAMGPrecisions, (PetscEnum)precision, (PetscEnum *)&precision, &set));
  if (set) PetscCall(PCAuxAMGSetPrecision(pc, precision));
  PetscCall(PetscOptionsEnum("-pc_auxamg_backend", "Where the preconditioner runs", "PCAuxAMGSetBackend", TesseraBackends, (PetscEnum)backend, (PetscEnum *)&backend, &set));
  if (set) PetscCall(PCAuxAMGSetBackend(pc, backend));
  PetscCall(PetscOptionsString("-pc_auxamg_coordinates", "File of the nodes' coordinates: file.h5:/path, or a Vec in PETSc's binary format", "PCAuxAMGSetCoordinatesFile", a->file.c_str(), file, sizeof(file), &set));
  if (set) PetscCall(PCAuxAMGSetCoordinatesFile(pc, file));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Coordinates go to the device now if the setup will be there, as far as that is known: it has nothing to fetch from the host then.
static PetscErrorCode TakeCoordinates(PC pc, const PetscReal *x, size_t n)
{
  PC_AuxAMG *a         = (PC_AuxAMG *)pc->data;
  bool       device    = a->backend == TESSERA_BACKEND_CUDA;
  PetscBool  assembled = PETSC_FALSE;

  PetscFunctionBegin;
  if (a->backend == TESSERA_BACKEND_AUTO && pc->pmat) PetscCall(MatAssembled(pc->pmat, &assembled));
  if (assembled) PetscCall(tessera::LocalRows::OnDevice(pc->pmat, &device));
  if (device) PetscCall(tessera::ChooseDevice());
  if (device && n && !tessera::device::unusable()) {
    PetscCall(tessera::UseCurrentStream(tessera::Space::cuda));
    try {
      tessera::Exec exec;
      exec.space = tessera::Space::cuda;
      a->given.x.resize_unset(tessera::Extent{n, tessera::Space::cuda});
      tessera::device::copy_once_from_host(a->given.x.data(), x, n * sizeof(double));
      PetscCall(PetscLogCpuToGpu((PetscLogDouble)(n * sizeof(double))));
      a->given.finite = tessera::auxamg::find_ends(exec, (int)a->given.dim, (int)(n / (size_t)a->given.dim), a->given.x.data(), nullptr, a->given.low, a->given.high);
      if (a->given.finite) PetscFunctionReturn(PETSC_SUCCESS); // else the setup looks for the node
    } catch (const tessera::DeviceError &) { } // the setup will say so, on all processes
  }
  PetscCall(tessera::UseCurrentStream(tessera::Space::host)); // what was on a device goes back
  a->given.Inspect(x, n);
  TesseraCallCXX(a->given.x.resize(n));
  std::copy(x, x + n, a->given.x.data());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetCoordinates_AuxAMG(PC pc, PetscInt dim, PetscInt n, PetscReal *coordinates)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;

  PetscFunctionBegin;
  PetscCheck(dim >= 1 && dim <= 3, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC auxamg works in 1, 2 or 3 dimensions: PCSetCoordinates() gave %" PetscInt_FMT, dim);
  a->given.dim = dim;
  PetscCall(TakeCoordinates(pc, coordinates, (size_t)(dim * n)));
  a->given.from   = "PCSetCoordinates()";
  a->current      = PETSC_FALSE;
  pc->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_AuxAMG(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCReset_AuxAMG(pc));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSetCoordinates_C", nullptr));
  PetscCall(tessera::ComposeAuxAMG(pc, PETSC_FALSE));
  delete (PC_AuxAMG *)pc->data;
  pc->data = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   PCAUXAMG - multigrid for unstructured meshes in one, two or three dimensions on auxiliary grids made from the coordinates of the
   nodes: d-linear interpolation on an adaptive quadtree or octree, Galerkin operators, Chebyshev smoothing

   Options Database Keys:
+  -pc_auxamg_variant <tree,paper>       - kind of the auxiliary grids, see `PCAuxAMGSetVariant()`
.  -pc_auxamg_levels <l>                 - grids at most, see `PCAuxAMGSetLevels()`
.  -pc_auxamg_cell_size <m>              - nodes in a cell of the first grid, see `PCAuxAMGSetCellSize()`
.  -pc_auxamg_interpolation <auto,linear,kuhn> - functions on the cells, see `PCAuxAMGSetInterpolation()`
.  -pc_auxamg_cycle <auto,v,w,k>         - visits of coarse grids, see `PCAuxAMGSetCycle()`
.  -pc_auxamg_cycle_inner <n>            - steps of the K-cycle, see `PCAuxAMGSetCycleInner()`
.  -pc_auxamg_smoother <auto,chebyshev,jacobi,gs,block_gs> - see `PCAuxAMGSetSmoother()`
.  -pc_auxamg_smooth <nu>                - its degree, see `PCAuxAMGSetSmooth()`
.  -pc_auxamg_filter <off,on,auto>       - for coefficients that jump, see `PCAuxAMGSetFilter()`
.  -pc_auxamg_stretch <bool>             - undo anisotropy along the axes, see `PCAuxAMGSetStretch()`
.  -pc_auxamg_coarse_size <n>            - unknowns that are solved exactly, see `PCAuxAMGSetCoarseSize()`
.  -pc_auxamg_precision <auto,double,single> - of the hierarchy, see `PCAuxAMGSetPrecision()`
.  -pc_auxamg_coordinates <file>         - file of coordinates, see `PCAuxAMGSetCoordinatesFile()`
-  -pc_auxamg_backend <auto,host,cuda>   - where it runs, see `PCAuxAMGSetBackend()`

   Level: intermediate

   Notes:
   The coordinates come from a file, from `PCSetCoordinates()`, or from the solver's or the matrix' `DMDA` or `DMPLEX`, the first
   there is. A node is a block of the matrix, of 1 to 6 unknowns; no near-null space is needed, as linear functions and so the
   rotations of elasticity are in the coarse spaces.

   The matrix should be symmetric positive definite, or semidefinite with the constant null space. A row without off-diagonal
   entries is a Dirichlet row: it takes no part, and couplings with it are moved to the right-hand side, so matrices with one-sided
   boundary couplings work under `KSPCG`. A row whose off-diagonal entries sum up to at most 1e-12 of the diagonal (a boundary
   condition by penalty) takes no part either.

   With the same nonzero pattern and coordinates a setup computes numbers only.

   `PCApplyTranspose()` and `KSPSolveTranspose()` work with all cycles but the K-cycle, which is not linear. The first one makes the
   transposes of the operators, which take as much memory as these, unless `MAT_SYMMETRIC` is set.

   `PCMatApply()` reads the operators once for 8, 4 or 2 vectors (4 where a node has several unknowns); Gauss-Seidel and the K-cycle
   take one after the other.

   `PCGetInterpolations()` and `PCGetCoarseOperators()` give copies of the hierarchy, in the precision that it is in. A last operator may be
   singular: `PCMG` needs a solver for that, for instance `-mg_coarse_pc_type svd`.

   `MATNEST`, `MATTRANSPOSEVIRTUAL` and `MATNORMAL` of `MATAIJ` are converted at each setup.

   References:
.  * - L. Wang, X. Hu, J. Cohen, J. Xu, A parallel auxiliary grid algebraic multigrid method for graphic processing units, SIAM Journal on
         Scientific Computing 35(3), 2013

.seealso: `PCCreate()`, `PCSetType()`, `PCGAMG`, `PCSetCoordinates()`
M*/
PetscErrorCode tessera::PCCreate_AuxAMG(PC pc)
{
  PC_AuxAMG *a = nullptr;

  PetscFunctionBegin;
  TesseraCallCXX(a = new PC_AuxAMG());
  pc->data                = (void *)a;
  pc->ops->setup          = NoThrow<PCSetUp_AuxAMG, PC>;
  pc->ops->reset          = PCReset_AuxAMG;
  pc->ops->destroy        = PCDestroy_AuxAMG;
  pc->ops->setfromoptions = PCSetFromOptions_AuxAMG;
  pc->ops->view           = ViewAuxAMG;
  pc->ops->apply          = PCApply_AuxAMG<false>;
  pc->ops->applytranspose = PCApply_AuxAMG<true>;
  pc->ops->matapply       = PCMatApply_AuxAMG;
  pc->ops->presolve       = PCPreSolve_AuxAMG;
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSetCoordinates_C", PCSetCoordinates_AuxAMG));
  PetscCall(ComposeAuxAMG(pc, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
