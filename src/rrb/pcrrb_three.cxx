// PC rrb on grids of three dimensions: setup, application and view.
#include "rrb/pcrrb.hpp"
#include "box/cube.hpp"
#include "box/tuning.hpp"
#include "exec/idle.hpp"
#include "petsc/application.hpp"
#include "petsc/krylov.hpp"
#include <petscdmda.h>

namespace tessera {

static PetscErrorCode GridOf(PC pc, DM *da)
{
  DM        dm = nullptr, of_matrix = nullptr;
  PetscBool is;

  PetscFunctionBegin;
  *da = nullptr;
  PetscCall(PCGetDM(pc, &dm));
  if (pc->pmat) PetscCall(MatGetDM(pc->pmat, &of_matrix));
  for (DM d : {dm, of_matrix}) {
    if (!d || *da) continue;
    PetscCall(PetscObjectTypeCompare((PetscObject)d, DMDA, &is));
    if (is) *da = d;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LooksThree(PC pc, bool *three)
{
  const PC_RRB   *r     = (const PC_RRB *)pc->data;
  const PetscInt *given = r->options.grid;
  DM              da;
  PetscInt        dim = 0, dof, n[3];
  DMBoundaryType  sides[3];
  bool            flat = false, odd = false;

  PetscFunctionBegin;
  *three = given[0] > 1 && given[1] > 1 && given[2] > 1;
  if (given[0] > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GridOf(pc, &da));
  if (da) PetscCall(DMGetDimension(da, &dim));
  if (dim < 3) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMDAGetInfo(da, nullptr, n, n + 1, n + 2, nullptr, nullptr, nullptr, &dof, nullptr, sides, sides + 1,
                        sides + 2, nullptr));
  for (int d = 0; d < 3; ++d) {
    flat = flat || n[d] == 1;
    odd  = odd || (n[d] > 1 && n[d] % 16 && sides[d] == DM_BOUNDARY_PERIODIC); // the plane's seams would be cut
  }
  *three = !flat || odd;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckOptions(PC pc)
{
  const RRBOptions &o = ((const PC_RRB *)pc->data)->options;

  PetscFunctionBegin;
  PetscCheck(o.coarsening == PC_RRB_COARSENING_GALERKIN && o.smoother == PC_RRB_SMOOTHER_AUTO &&
               o.interpolation == PC_RRB_INTERPOLATION_AUTO && o.omega == 1 && o.lump == PC_RRB_LUMP_RED &&
               o.quarters < 0,
             PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "PC rrb: in three dimensions there is the Galerkin form with Chebyshev's smoother alone. Leave "
             "-pc_rrb_coarsening, -pc_rrb_smoother, -pc_rrb_interpolation, -pc_rrb_omega, -pc_rrb_lump and "
             "-pc_rrb_quarters out");
  PetscCheck(o.cycle != PC_RRB_CYCLE_K && o.cycle != PC_RRB_CYCLE_AMLI, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_SUP, "PC rrb: in three dimensions -pc_rrb_cycle is auto, v or w, not %s", PCRRBCycles[o.cycle]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The grid of the matrix: what the options say, or the DMDA's.
static PetscErrorCode FindGrid(PC pc, GridDescription &grid)
{
  const PetscInt *n    = ((const PC_RRB *)pc->data)->options.grid;
  MPI_Comm        comm = PetscObjectComm((PetscObject)pc);
  DM              da;
  PetscInt        dof;
  Vec             v;
  const char     *prefix;
  char            option[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  if (n[0] > 0) {
    PetscCall(PCGetOptionsPrefix(pc, &prefix));
    PetscCall(PetscSNPrintf(option, sizeof(option), "PC rrb: -%spc_rrb_grid", prefix ? prefix : ""));
    PetscCall(BoxMatrix::Natural((PetscObject)pc, option, pc->pmat, n, grid));
  } else {
    PetscCall(GridOf(pc, &da));
    PetscCall(DMDAGetInfo(da, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &dof, nullptr, nullptr,
                          nullptr, nullptr, nullptr));
    PetscCheck(dof == 1, comm, PETSC_ERR_SUP,
               "PC rrb works with one unknown per node: this DMDA has %" PetscInt_FMT
               " degrees of freedom per node. Use -pc_type auxamg, or rrb on each field through -pc_type fieldsplit",
               dof);
    PetscCall(MatCreateVecs(pc->pmat, &v, nullptr));
    const PetscErrorCode ierr = BoxMatrix::Describe((PetscObject)pc, "PC rrb", da, v, pc->pmat, grid);
    PetscCall(VecDestroy(&v));
    PetscCall(ierr);
  }
  PetscCheck((PetscReal)grid.n[0] * (PetscReal)grid.n[1] * (PetscReal)grid.n[2] < 2147483647., comm, PETSC_ERR_SUP,
             "PC rrb: %d x %d x %d nodes are more than 2^31", grid.n[0], grid.n[1], grid.n[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// An error of all processes where there is less memory than what a setup takes at least, of the own nodes.
static PetscErrorCode CheckMemory(PC pc)
{
  const RRBThree &t     = *((const PC_RRB *)pc->data)->three;
  const size_t    nodes = t.solver->finest().layout.size();
  // the matrix while it is read, 7 points, and the hierarchy
  const size_t bytes = nodes * (7 * sizeof(double) + 2 + rrb::three::least_numbers * (t.single ? 4 : 8));

  PetscFunctionBegin;
  PetscCall(CheckHostMemory((PetscObject)pc, "PC rrb", bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The grid, and an empty hierarchy on it.
static PetscErrorCode MakeThree(PC pc)
{
  PC_RRB         *r = (PC_RRB *)pc->data;
  RRBThree       &t = *r->three;
  GridDescription grid;

  PetscFunctionBegin;
  PetscCall(PlaceRRB(pc, &t.exec.space));
  PetscCall(UseCurrentStream(t.exec.space));
  PetscCall(CheckOptions(pc));
  t.exec.threads = HostThreads();
  if (!r->linear) PetscCall(LookAtKSPType(pc, &r->linear));
  t.single = r->options.precision == TESSERA_PRECISION_SINGLE ||
             (r->options.precision == TESSERA_PRECISION_AUTO && !r->linear && !r->unfit);
  r->plan.params.single = t.single; // CheckKSP() and GetInfo() ask
  PetscCall(FindGrid(pc, grid));
  PetscCall(t.matrix.SetGrid((PetscObject)pc, grid, pc->pmat));
  rrb::three::Params params;
  params.cycle     = r->options.cycle == PC_RRB_CYCLE_V ? rrb::three::Cycle::v
                   : r->options.cycle == PC_RRB_CYCLE_W ? rrb::three::Cycle::w
                                                        : rrb::three::Cycle::automatic;
  if (params.cycle == rrb::three::Cycle::automatic && rrb::strategy_of(t.exec.space).few_cycles)
    params.visits_once = tuning::visits_once;
  params.degree    = (int)r->options.sweeps;
  params.levels    = (int)PetscMin(r->options.levels, 1000);
  params.redundant = (long)r->options.redundant;
  params.reduced   = r->schur;
  params.trial     = r->options.trial == PETSC_TRUE;
  params.peers     = r->options.peers == PETSC_TRUE;
  params.strict    = r->options.precision == TESSERA_PRECISION_AUTO;
  TesseraCallCXX(t.solver = rrb::three::make_solver(t.single);
                 t.solver->create(t.exec, t.matrix.comm(), grid.n, grid.periodic, t.matrix.boxes(), params));
  if (BackendOf(t.exec.space) == TESSERA_BACKEND_HOST) PetscCall(CheckMemory(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What is wrong with the matrix.
static PetscErrorCode Complain(PC pc)
{
  PC_RRB             *r = (PC_RRB *)pc->data;
  const MatrixReport &report = r->three->report;
  const PetscInt     *p = report.node;
  const int          *n = r->three->matrix.size();

  PetscFunctionBegin;
  PetscCheck(report.kind != MatrixReport::outside, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "PC rrb works on 7- and 27-point operators: row %" PetscInt_FMT " (node %" PetscInt_FMT ",%" PetscInt_FMT
             ",%" PetscInt_FMT " of %d x %d x %d) is coupled with column %" PetscInt_FMT
             ", which is none of its 27 neighbors. If the unknowns are numbered otherwise give the right "
             "-pc_rrb_grid; else use gamg",
             report.row, p[0], p[1], p[2], n[0], n[1], n[2], report.column);
  if (report.kind == MatrixReport::not_finite) {
    PetscCall(PetscSNPrintf(r->failure, sizeof(r->failure),
                            "row %" PetscInt_FMT ", column %" PetscInt_FMT " of the matrix (node %" PetscInt_FMT
                            ",%" PetscInt_FMT ",%" PetscInt_FMT ") is not a finite number",
                            report.row, report.column, p[0], p[1], p[2]));
    PetscCall(FailRRB(pc, PC_FACTOR_OTHER));
  } else if (report.kind == MatrixReport::diagonal) {
    PetscCall(PetscSNPrintf(
      r->failure, sizeof(r->failure),
      "the matrix is not positive definite: zero or negative pivot %.6g on grid 0, node %" PetscInt_FMT
      ",%" PetscInt_FMT
      ",%" PetscInt_FMT " (the diagonal entry of row %" PetscInt_FMT ")%s",
      (double)report.value, p[0], p[1], p[2], report.row,
      report.value == 0 ? ". Nodes that take no part need a 1 on the diagonal" : ""));
    PetscCall(FailRRB(pc, PC_FACTOR_NUMERIC_ZEROPIVOT));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What the setup says of the matrix. *retry: it wants double precision.
static PetscErrorCode ReportFailure(PC pc, const rrb::three::Failure &failure, bool *retry)
{
  PC_RRB        *r    = (PC_RRB *)pc->data;
  const RRBThree &t   = *r->three;
  const bool     free = t.single && r->options.precision == TESSERA_PRECISION_AUTO;
  MPI_Comm       comm = PetscObjectComm((PetscObject)pc);

  PetscFunctionBegin;
  *retry = failure.failed && free && failure.exact == 0;
  PetscCheck(failure.exact == 0, comm, PETSC_ERR_SUP,
             "PC rrb: -pc_rrb_levels %" PetscInt_FMT
             " leaves %.0f nodes to be solved exactly, as a matrix of %.2f GB: at "
             "most %ld are. Take more levels, or leave the option out",
             r->options.levels, failure.exact, 8e-9 * failure.exact * failure.exact, tuning::dense_maximum);
  if (*retry) {
    if (failure.faint)
      PetscCall(PetscInfo(pc, "Couplings are too weak beside others for single precision: once more in double\n"));
    else if (failure.unfit)
      PetscCall(PetscInfo(pc, "The largest diagonal entry is %.6g, too far from 1 for single precision: once more in "
                              "double\n", failure.largest));
    else
      PetscCall(PetscInfo(pc, "A pivot of grid %d is not positive in single precision: once more in double\n",
                          failure.grid));
    r->unfit = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(!failure.unfit, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "PC rrb: the largest diagonal entry is %.6g; squares of such numbers leave the range of %s precision. "
             "Scale the matrix: MatScale()",
             failure.largest, t.single ? "single" : "double");
  if (!failure.failed) PetscFunctionReturn(PETSC_SUCCESS);
  if (failure.not_finite) {
    PetscCall(PetscSNPrintf(r->failure, sizeof(r->failure),
                            "the operator of the last grid (%d) has an entry that is not a finite number: scale the "
                            "matrix, MatScale()",
                            failure.grid));
    PetscCall(FailRRB(pc, PC_FACTOR_OTHER));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSNPrintf(r->failure, sizeof(r->failure),
                          "the matrix is not positive definite: zero or negative pivot on grid %d, at node %d,%d,%d "
                          "of the finest grid",
                          failure.grid, failure.node[0], failure.node[1], failure.node[2]));
  PetscCall(FailRRB(pc, PC_FACTOR_NUMERIC_ZEROPIVOT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUp(PC pc)
{
  PC_RRB             *r = (PC_RRB *)pc->data;
  rrb::three::Failure failure;
  bool                made = false;

  PetscFunctionBegin;
  const bool anew  = !r->current || pc->flag != SAME_NONZERO_PATTERN;
  pc->setupcalled  = PETSC_FALSE; // as in the plane
  r->current       = PETSC_FALSE;
  r->ready         = PETSC_FALSE;
  r->failed        = PETSC_FALSE;
  pc->failedreason = PC_NOERROR;
  PetscCall(CheckMatrix((PetscObject)pc, "PC rrb", pc->pmat));
  if (anew) PetscCall(MakeThree(pc));
  RRBThree &t = *r->three;
  if (!anew && t.solver->peers()) TesseraCallCXX(t.solver->peers()->restore(PetscObjectComm((PetscObject)pc)));
  if (anew) t.planes = Buffer<double>(); // what another grid has left
  PetscCall(UseCurrentStream(t.exec.space));
  PetscCall(PetscLogEventBegin(event_rrb_read, pc, 0, 0, 0));
  const auto memory = [&](bool make, bool box) {
    if (make) made = true, t.box = box;
    const Extent n{t.solver->finest().layout.size(), t.exec.space};
    const size_t planes = (size_t)box::points(3, t.box) * n.n;
    t.planes.fit(Extent{planes, t.exec.space});
    if (t.free.size() != n) t.free.resize(n);
    return box::Finest<double>{t.exec, 3, &t.solver->finest(), t.box, t.planes.data(), t.free.data()};
  };
  PetscCall(t.matrix.Read<double>(pc->pmat, "PC rrb", t.exec.space, !anew, memory, true, t.report));
  PetscCall(PetscLogEventEnd(event_rrb_read, pc, 0, 0, 0));
  PetscCall(Complain(pc));
  PetscCall(RecordMatrix(pc));
  r->ready = PETSC_TRUE;
  if (r->failed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(event_rrb_factor, pc, 0, 0, 0));
  TesseraCallCXX(
    failure = t.solver->setup({t.planes.data(), t.free.data(), t.box, t.report.dirichlet > 0}, !made));
  make_idle(t.planes);
  t.free = Buffer<uint8_t>();
  PetscCall(PetscLogEventEnd(event_rrb_factor, pc, 0, 0, 0));
  bool retry;
  PetscCall(ReportFailure(pc, failure, &retry));
  if (retry) PetscCall(SetUp(pc));
  if (retry || r->failed) PetscFunctionReturn(PETSC_SUCCESS);
  r->report           = OperatorReport();
  r->report.asymmetry = failure.asymmetry;
  r->report.dirichlet = t.report.dirichlet;
  t.one_sided         = failure.one_sided;
  if (failure.asymmetry > tuning::symmetric)
    PetscCall(
      PetscInfo(pc,
                "The matrix is not symmetric (largest |a_ij - a_ji| is %.6g of the largest diagonal entry): the "
                "preconditioner is that of the mean of the matrix and its transpose; use it under gmres or bcgs\n",
                failure.asymmetry));
  r->current = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SetUpThree(PC pc)
{
  PC_RRB *r = (PC_RRB *)pc->data;

  PetscFunctionBegin;
  PetscCall((RunCollectively<SetUp>(pc, r->three->exec.space, [&] {
    r->three->solver.reset();
    r->current = PETSC_FALSE;
    r->ready   = PETSC_FALSE;
  })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ApplyThree(PC pc, Vec x, Vec y)
{
  PC_RRB   *r = (PC_RRB *)pc->data;
  RRBThree &t = *r->three;
  bool      refused;

  PetscFunctionBegin;
  PetscCall(RefuseApplication(pc, "PC rrb", r->ready, r->failed, y, &refused));
  if (refused) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(event_rrb_sweep, pc, x, y, 0));
  Vec from = x, to = y;
  if (t.matrix.moved()) PetscCall(t.matrix.Bring(x, &from, &to));
  PetscCall(ApplyInSpace(t.exec.space, from, to, t.x, t.y, [&](const double *r, double *z) {
    t.solver->apply(r, z);
    return t.solver->flops();
  }));
  if (t.matrix.moved()) PetscCall(t.matrix.TakeBack(y));
  PetscCall(PetscLogEventEnd(event_rrb_sweep, pc, x, y, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ViewThree(PC pc, PetscViewer viewer)
{
  const PC_RRB   *r = (const PC_RRB *)pc->data;
  const RRBThree &t = *r->three;
  PetscReal       mine, bytes;

  PetscFunctionBegin;
  if (!r->current || r->failed) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  three dimensions, factors in %s precision\n",
                                     TesseraPrecisions[r->options.precision]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const std::vector<rrb::three::GridReport> grids = t.solver->report();
  const rrb::three::GridReport             &f     = grids[0];
  PetscReal                                 nodes = 0;
  mine                                            = (PetscReal)t.solver->bytes();
  PetscCallMPI(MPI_Allreduce(&mine, &bytes, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)pc)));
  const PetscReal unknowns = (PetscReal)f.n[0] * f.n[1] * f.n[2];
  for (const auto &g : grids) nodes += (PetscReal)g.n[0] * g.n[1] * g.n[2];
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %d x %d x %d nodes, %d grids, cycle %s\n", f.n[0], f.n[1], f.n[2],
                                   (int)grids.size(), t.solver->cycle() == rrb::three::Cycle::w ? "w" : "v"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  coarsening galerkin, smoother Chebyshev of the fourth kind%s\n",
                                   f.schur && f.degree == 2 ? ", on the Schur complement of the first" : ""));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  factors in %s precision%s\n",
                                   TesseraPrecisions[t.single ? TESSERA_PRECISION_SINGLE : TESSERA_PRECISION_DOUBLE],
                                   BackendOf(t.exec.space) == TESSERA_BACKEND_CUDA ? " on the CUDA device" : ""));
  PetscCall(ViewMessages((PetscObject)pc, viewer, BackendOf(t.exec.space), t.solver->peers()));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  memory %.4g MB, %.4g bytes per unknown; grid complexity %.4g\n",
                                   (double)bytes * 1e-6, (double)(bytes / unknowns), (double)(nodes / unknowns)));
  for (size_t k = 0; k < grids.size(); ++k) {
    const auto &g = grids[k];
    if (g.exact)
      PetscCall(
        PetscViewerASCIIPrintf(viewer, "    grid %d: %d x %d x %d, exact\n", (int)k, g.n[0], g.n[1], g.n[2]));
    else
      PetscCall(PetscViewerASCIIPrintf(viewer,
                                       "    grid %d: %d x %d x %d, %s, degree %d%s; coarsened in %s%s%s%s\n", (int)k,
                                       g.n[0], g.n[1], g.n[2],
                                       g.schur  ? "Schur complement"
                                       : g.star ? "7 points"
                                                : "27 points",
                                       g.degree, g.lines ? " with lines" : "",
                                       g.step[0] == 2 ? "x" : "", g.step[1] == 2 ? "y" : "", g.step[2] == 2 ? "z" : "",
                                       g.everywhere && f.everywhere != g.everywhere ? "; on every process" : ""));
  }
  if (t.solver->expected() > 0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  trial: %.3g iterations expected with the usual degree\n",
                                     t.solver->expected()));
  if (t.solver->trial_steps())
    PetscCall(PetscViewerASCIIPrintf(viewer, "  trial: %d steps in the last setup\n", t.solver->trial_steps()));
  if (t.solver->parts())
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %d loose parts corrected by constants\n", t.solver->parts()));
  if (t.report.dirichlet)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt_FMT " Dirichlet rows (no off-diagonal entries)\n",
                                     t.report.dirichlet));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
