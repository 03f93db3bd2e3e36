// PC rrb: PETSc's face of the repeated red-black factorisation.
#include "rrb/pcrrb.hpp"
#include "exec/expected.hpp"
#include "box/tuning.hpp"
#include "petsc/aij.hpp"
#include "petsc/krylov.hpp"
#include "petsc/options.hpp"
#include "rrb/multigrid/choice.hpp"
#include <algorithm>
#include <cmath>
#include <new>
#ifdef _OPENMP
  #include <omp.h>
#endif

using tessera::PC_RRB;
using tessera::OperatorReport;

const char *const PCRRBCoarsenings[] = {"galerkin", "lump", "rhombus", "PCRRBCoarsening", "PC_RRB_", nullptr};
const char *const PCRRBSmoothers[]   = {"auto", "point", "line_i", "line_j", "line_alt", "PCRRBSmoother", "PC_RRB_SMOOTHER_", nullptr};
const char *const PCRRBInterpolations[] = {"auto", "collapse", "least_squares", "PCRRBInterpolation", "PC_RRB_INTERPOLATION_", nullptr};
const char *const PCRRBLumps[]       = {"red", "all", "PCRRBLump", "PC_RRB_LUMP_", nullptr};
const char *const PCRRBCycles[]      = {"v", "k", "amli", "auto", "PCRRBCycle", "PC_RRB_CYCLE_", nullptr};
const char *const PCRRBPrecisions[]  = {"auto", "double", "single", "PCRRBPrecision", "PC_RRB_", nullptr};
const char *const TesseraBackends[]  = {"auto", "host", "cuda", "TesseraBackend", "TESSERA_BACKEND_", nullptr};

static PetscErrorCode PCReset_RRB(PC pc)
{
  PC_RRB *r = (PC_RRB *)pc->data;

  PetscFunctionBegin;
  PetscCall(tessera::UseCurrentStream(r->plan.exec.space)); // memory is given back in its order
  PetscCall(r->matrix.Reset());
  r->plan      = tessera::rrb::Plan();
  r->dirichlet = tessera::DirichletCouplings();
  r->report    = OperatorReport();
  r->current   = PETSC_FALSE;
  r->ready     = PETSC_FALSE;
  r->failed    = PETSC_FALSE;
  r->choose_again = PETSC_FALSE;
  r->needed       = 0;
  r->linear       = PETSC_FALSE;
  r->unfit        = PETSC_FALSE;
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

static PetscErrorCode Parameters(PC pc, tessera::rrb::Params *p)
{
  PC_RRB  *r    = (PC_RRB *)pc->data;
  MPI_Comm comm = PetscObjectComm((PetscObject)pc);

  PetscFunctionBegin;
  if (r->coarsening == PC_RRB_GALERKIN) {
    PetscCheck(r->omega == 1 && r->lump == PC_RRB_LUMP_RED, comm, PETSC_ERR_ARG_INCOMP, "PC rrb: -pc_rrb_omega and -pc_rrb_lump belong to the lumped forms, the coarsening is galerkin. Give -pc_rrb_coarsening lump as well");
  } else {
    PetscCheck(r->smoother == PC_RRB_SMOOTHER_AUTO && !r->smooth && r->interpolation == PC_RRB_INTERPOLATION_AUTO, comm, PETSC_ERR_ARG_INCOMP, "PC rrb: -pc_rrb_smoother, -pc_rrb_smooth and -pc_rrb_interpolation belong to -pc_rrb_coarsening galerkin, the coarsening is %s, which has no sweeps. Leave one of them out", PCRRBCoarsenings[r->coarsening]);
  }
  p->levels     = (int)PetscMin(r->levels, 1000);
  p->grids      = (int)PetscMin(r->grids, 1000);
  p->coarsening = (tessera::rrb::Coarsening)(int)r->coarsening; // the same order
  p->smoother   = (tessera::rrb::Smoother)(int)r->smoother;
  p->weights    = (tessera::rrb::Weights)(int)r->interpolation;
  p->smooth     = (int)r->smooth;
  p->trial      = r->trial == PETSC_TRUE;
  p->omega      = r->omega;
  p->lump_all   = r->lump == PC_RRB_LUMP_ALL;
  switch (r->cycle) {
  case PC_RRB_CYCLE_V:
    p->cycle = tessera::rrb::Cycle::v;
    break;
  case PC_RRB_CYCLE_K:
    p->cycle = tessera::rrb::Cycle::k;
    break;
  case PC_RRB_CYCLE_AMLI:
    p->cycle = tessera::rrb::Cycle::amli;
    break;
  default:
    p->cycle = tessera::rrb::Cycle::automatic;
  }
  p->every  = (int)PetscMin(r->every, 1000);
  p->inner  = (int)r->inner;
  p->redundant = (long)r->redundant;
  p->single = r->precision == PC_RRB_SINGLE || (r->precision == PC_RRB_AUTO && !r->linear && !r->unfit && r->coarsening == PC_RRB_GALERKIN && r->plan.exec.space == tessera::Space::cuda);
  p->schur  = r->schur;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The factorisation stopped: KSP ends with KSP_DIVERGED_PC_FAILED, an error is raised only where the user asked for one.
static PetscErrorCode Fail(PC pc, PCFailedReason reason)
{
  PC_RRB *r = (PC_RRB *)pc->data;

  PetscFunctionBegin;
  r->failed = PETSC_TRUE;
  PetscCheck(!pc->erroriffailure, PetscObjectComm((PetscObject)pc), PETSC_ERR_MAT_LU_ZRPVT, "PC rrb: %s", r->failure);
  PetscCall(PetscInfo(pc, "%s\n", r->failure));
  pc->failedreason = reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Where the values of the matrix are, unless PC or KSP say otherwise.
static PetscErrorCode ChooseSpace(PC pc, tessera::Space *space)
{
  PC_RRB              *r      = (PC_RRB *)pc->data;
  const TesseraBackend wanted = r->backend == TESSERA_BACKEND_AUTO ? r->solver : r->backend;
  bool                 device = wanted == TESSERA_BACKEND_CUDA;
  const char          *prefix;

  PetscFunctionBegin;
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCheck(r->backend == TESSERA_BACKEND_AUTO || r->solver == TESSERA_BACKEND_AUTO || r->backend == r->solver, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP, "KSP rrb runs where its preconditioner is: -%sksp_rrb_backend %s and -%spc_rrb_backend %s contradict each other. Leave one of them out", prefix ? prefix : "", TesseraBackends[r->solver], prefix ? prefix : "", TesseraBackends[r->backend]);
  PetscCall(tessera::CheckBackend((PetscObject)pc, "pc_rrb_backend", r->backend));
  if (wanted == TESSERA_BACKEND_AUTO) {
    PetscCall(tessera::LocalRows::OnDevice(pc->pmat, &device));
    int here = device && !tessera::device::unusable(), all; // asked last: it wakes the device
    PetscCallMPI(MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)pc)));
    device = all;
  }
  *space = device ? tessera::Space::cuda : tessera::Space::host;
  tessera::Peers::wanted = r->peers;
#if PetscDefined(HAVE_CUDA)
  tessera::Halo::gpu_aware = use_gpu_aware_mpi; // -use_gpu_aware_mpi 0: messages pass through the host
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckReport(PC pc)
{
  const OperatorReport &report = ((PC_RRB *)pc->data)->report;

  PetscFunctionBegin;
  PetscCheck(report.largest == 0 || (report.largest > 1e-140 && report.largest < 1e140), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC rrb: the largest diagonal entry is %g; squares of such numbers leave the range of double precision. Scale the matrix: MatScale()", (double)report.largest);
  if (report.asymmetry > tessera::tuning::symmetric) PetscCall(PetscInfo(pc, "The matrix is not symmetric (largest |a_ij - a_ji| is %g of the largest diagonal entry): the preconditioner is that of the mean of the matrix and its transpose; use it under gmres or bcgs\n", (double)report.asymmetry));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Reads the matrix and factorises it. What stops the factorisation is in `failure`, what the matrix is in r->report.
static PetscErrorCode ReadAndFactor(PC pc, bool raise, tessera::rrb::Failure *failure)
{
  PC_RRB              *r      = (PC_RRB *)pc->data;
  MPI_Comm             comm   = PetscObjectComm((PetscObject)pc);
  tessera::rrb::Level &finest = r->plan.levels[0];
  tessera::Stencil     s;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(tessera::event_rrb_read, pc, 0, 0, 0));
  const PetscInt dirichlet = r->report.dirichlet;
  TesseraCallCXX(s = tessera::rrb::finest_stencil(r->plan));
  PetscCall(r->matrix.Read(pc->pmat, r->plan.exec, finest.halo, finest.b.data.data(), raise, s, r->dirichlet, r->report));
  PetscCall(PetscLogEventEnd(tessera::event_rrb_read, pc, 0, 0, 0));
  const OperatorReport &report = r->report;
  if (report.dirichlet != dirichlet) r->plan.forget(); // another problem
  PetscCheck(report.kind != OperatorReport::outside, comm, PETSC_ERR_SUP, "PC rrb works on 5- and 9-point operators: row %" PetscInt_FMT " (node %" PetscInt_FMT ",%" PetscInt_FMT " of %d x %d) is coupled with column %" PetscInt_FMT ", which is none of its nine neighbours. If the unknowns are numbered otherwise give the right -pc_rrb_grid; else use gamg", report.row, report.x, report.y, finest.grid.nx, finest.grid.ny, report.column);
  if (report.kind == OperatorReport::not_finite) {
    PetscCall(PetscSNPrintf(r->failure, sizeof(r->failure), "row %" PetscInt_FMT ", column %" PetscInt_FMT " of the matrix (node %" PetscInt_FMT ",%" PetscInt_FMT ") is not a finite number", report.row, report.column, report.x, report.y));
    PetscCall(Fail(pc, PC_FACTOR_OTHER));
  } else if (report.kind == OperatorReport::diagonal) {
    PetscCall(PetscSNPrintf(r->failure, sizeof(r->failure), "the matrix is not positive definite: zero or negative pivot %g at level 1, node %" PetscInt_FMT ",%" PetscInt_FMT " (the diagonal entry of row %" PetscInt_FMT ")%s", (double)report.value, report.x, report.y, report.row, report.value == 0 ? ". Nodes that take no part need a 1 on the diagonal" : ""));
    PetscCall(Fail(pc, PC_FACTOR_NUMERIC_ZEROPIVOT));
  }
  if (r->failed) PetscFunctionReturn(PETSC_SUCCESS);
  if (!r->matrix.ahead()) PetscCall(CheckReport(pc));
  PetscCall(PetscLogEventBegin(tessera::event_rrb_factor, pc, 0, 0, 0));
  r->plan.params.schur = r->schur && !raise; // S1 of a changed diagonal would be another system's
  {
    const tessera::GpuTime time(r->plan.exec.space);
    TesseraCallCXX(*failure = tessera::rrb::factor(r->plan, s));
  }
  PetscCall(PetscLogEventEnd(tessera::event_rrb_factor, pc, 0, 0, 0));
  if (r->matrix.ahead()) {
    bool right;
    PetscCall(r->matrix.Confirm(r->report, &right));
    if (!right) {
      PetscCall(PetscInfo(pc, "The matrix has other kinds of rows than the last one: read and factorised once more\n"));
      PetscCall(ReadAndFactor(pc, raise, failure));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(CheckReport(pc));
  }
  if (failure->again) { // once: the plan knows now
    PetscCall(PetscInfo(pc, "A coarse grid has zeros on its diagonal, where there were none before, or algebraic levels cannot be made: read and factorised once more\n"));
    PetscCall(ReadAndFactor(pc, raise, failure));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Sets the other choices of the Galerkin form up, one after the other, until the trial is content.
static PetscErrorCode TryChoices(PC pc, bool again)
{
  PC_RRB               *r = (PC_RRB *)pc->data;
  tessera::rrb::Failure failure;

  PetscFunctionBegin;
  while (again) {
    PetscCall(PetscInfo(pc, "Next measures for rough coefficients: %s\n", tessera::NameOf(r->plan.rough)));
    PetscCall(ReadAndFactor(pc, r->raised, &failure));
    if (failure.failed) { // back to what could be factorised
      PetscCall(PetscInfo(pc, "A pivot is not positive then: the usual choice stays\n"));
      r->plan.rough  = tessera::rrb::Rough::no;
      r->plan.chosen = true;
      PetscCall(ReadAndFactor(pc, r->raised, &failure));
    }
    TesseraCallCXX(tessera::rrb::choose_cycle(r->plan));
    const int tried = (int)r->plan.rough;
    TesseraCallCXX(again = tessera::rrb::galerkin_trial(r->plan));
    if (r->plan.predicted[tried] > 0) PetscCall(PetscInfo(pc, "Trial: %g iterations expected with measures for rough coefficients: %s\n", r->plan.predicted[tried], tessera::NameOf((tessera::rrb::Rough)tried)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChooseAnother(PC pc)
{
  PC_RRB   *r = (PC_RRB *)pc->data;
  bool      again;

  PetscFunctionBegin;
  const int tried = (int)r->plan.rough;
  PetscCall(PetscInfo(pc, "%g iterations expected with measures for rough coefficients: %s, and %g needed\n", r->plan.predicted[tried], tessera::NameOf((tessera::rrb::Rough)tried), (double)r->needed));
  again     = tessera::rrb::galerkin_disproved(r->plan, r->needed);
  r->needed = 0;
  PetscCall(TryChoices(pc, again));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// After an error nothing is kept: where memory is short, the program may go on with another choice.
template <PetscErrorCode (*F)(PC)> static PetscErrorCode Whole(PC pc)
{
  PC_RRB *r = (PC_RRB *)pc->data;

  PetscFunctionBegin;
  tessera::Together together(PetscObjectComm((PetscObject)pc));
  PetscErrorCode    ierr = tessera::NoThrow<F, PC>(pc);
  ierr = together.End(ierr, r->plan.exec.space);
  if (ierr) {
    r->plan      = tessera::rrb::Plan();
    r->dirichlet = tessera::DirichletCouplings();
    r->current   = PETSC_FALSE;
    r->ready     = PETSC_FALSE;
    r->matrix.ForgetCopies();
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::CorrectChoiceRRB(PC pc, PetscReal needed, bool *another)
{
  PC_RRB          *r = (PC_RRB *)pc->data;
  PetscObjectId    id;
  PetscObjectState state;

  PetscFunctionBegin;
  *another = false;
  PetscCall(PetscObjectGetId((PetscObject)pc->pmat, &id));
  PetscCall(PetscObjectStateGet((PetscObject)pc->pmat, &state));
  if (id != r->matrix_id || state != r->matrix_state || rrb::galerkin_rival(r->plan) >= rrb::choice_never) PetscFunctionReturn(PETSC_SUCCESS);
  const rrb::Rough before = r->plan.rough;
  r->needed    = needed;
  r->first_its = 0;
  PetscCall(Whole<ChooseAnother>(pc));
  *another = r->plan.rough != before;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What a first setup of the Galerkin form in single precision takes on a device, for a node.
constexpr size_t setup_bytes = 128;

static PetscErrorCode SetUp(PC pc)
{
  PC_RRB               *r    = (PC_RRB *)pc->data;
  MPI_Comm              comm = PetscObjectComm((PetscObject)pc);
  tessera::rrb::Failure failure, second;
  tessera::device::Expected expected;

  PetscFunctionBegin;
  const bool again_all = !r->current || pc->flag != SAME_NONZERO_PATTERN;
  pc->setupcalled  = PETSC_FALSE; // PETSc sets it again on success: after an error the next solve starts from here,
  r->current       = PETSC_FALSE; // with everything made anew
  r->ready         = PETSC_FALSE;
  r->failed        = PETSC_FALSE;
  pc->failedreason = PC_NOERROR;
  PetscCall(tessera::CheckMatrix((PetscObject)pc, "PC rrb", pc->pmat));
  if (again_all) {
    tessera::rrb::Params params;
    PetscCall(ChooseSpace(pc, &r->plan.exec.space));
    PetscCall(tessera::UseCurrentStream(r->plan.exec.space)); // where memory is made and given back, too
    if (!r->linear) PetscCall(tessera::LookAtKSPType(pc, &r->linear));
    PetscCall(Parameters(pc, &params));
    r->raised    = PETSC_FALSE;
    PetscCall(r->matrix.SetGrid(pc, r->nx, r->ny));
    r->plan.exec.threads = HostThreads();
    const tessera::Grid &g = r->matrix.grid();
    if (r->plan.exec.space == tessera::Space::cuda && r->coarsening == PC_RRB_GALERKIN) {
      const tessera::Exec exec = r->plan.exec;
      r->plan      = tessera::rrb::Plan(); // its memory comes back first
      r->dirichlet = tessera::DirichletCouplings();
      r->plan.exec = exec;
      TesseraCallCXX(expected.bytes(setup_bytes * (size_t)g.owned().size()));
    }
    TesseraCallCXX(tessera::rrb::create(r->plan, g, params));
    const tessera::Grid &last    = r->plan.levels.back().grid;
    const double         entries = (double)last.size() * (PetscMin(last.nx, last.ny) + 2);
    PetscCheck(entries <= tessera::tuning::remainder_maximum, comm, PETSC_ERR_ARG_OUTOFRANGE, "PC rrb: after %d levels %d x %d nodes remain, whose exact factorisation would take %g GB on every process. Use more -pc_rrb_levels, or 0 for the automatic choice", r->plan.factor_levels(), last.nx, last.ny, entries * 8e-9);
  }
  else if (r->plan.peers) TesseraCallCXX(r->plan.peers->restore(comm));
  if (r->choose_again) r->plan.forget();
  r->choose_again = PETSC_FALSE;
  PetscCall(tessera::UseCurrentStream(r->plan.exec.space));
  PetscCall(ReadAndFactor(pc, r->raised, &failure));
  if (r->raised && !r->failed && (!(r->report.deficit > 0) || r->report.deficit > tessera::tuning::deficit)) { // other values, another case
    r->raised = PETSC_FALSE;
    PetscCall(ReadAndFactor(pc, false, &failure));
  }
  if (!r->failed && failure.failed && !r->raised) {
    // Lumping keeps row sums, and where they are negative (a reaction term of the wrong sign) a positive definite matrix loses
    // its definiteness on coarse grids. The factors of the matrix without the negative part precondition it still.
    PetscCall(ReadAndFactor(pc, true, &second));
    if (!second.failed && r->report.deficit > 0 && r->report.deficit <= tessera::tuning::deficit) {
      PetscCall(PetscInfo(pc, "Row sums are negative (down to %g of the diagonal): the factors are those of the matrix with these added to its diagonal\n", -(double)r->report.deficit));
      r->raised = PETSC_TRUE;
      failure   = second;
    }
  }
  if (!r->failed && failure.failed) {
    if (r->coarsening == PC_RRB_GALERKIN) PetscCall(PetscSNPrintf(r->failure, sizeof(r->failure), "the matrix is not positive definite: zero or negative pivot on grid %d, at node %d,%d of the finest grid", (failure.level - 1) / 2, failure.x, failure.y));
    else PetscCall(PetscSNPrintf(r->failure, sizeof(r->failure), "the matrix or its %s is not positive definite: zero or negative pivot at level %d, node %d,%d", r->coarsening == PC_RRB_RHOMBUS ? "rhombus-lumped form (-pc_rrb_coarsening lump is safer)" : "lumped form", failure.level, failure.x, failure.y));
    PetscCall(Fail(pc, PC_FACTOR_NUMERIC_ZEROPIVOT));
  }
  PetscCall(PetscObjectGetId((PetscObject)pc->pmat, &r->matrix_id));
  PetscCall(PetscObjectStateGet((PetscObject)pc->pmat, &r->matrix_state));
  r->ready = PETSC_TRUE;
  if (r->failed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(tessera::event_rrb_factor, pc, 0, 0, 0));
  bool      again = false;
  const int tried = (int)r->plan.rough;
  if (!r->plan.chosen) r->first_its = 0;
  r->needed = 0;
  TesseraCallCXX(tessera::rrb::choose_cycle(r->plan));
  TesseraCallCXX(again = tessera::rrb::galerkin_trial(r->plan));
  PetscCall(PetscLogEventEnd(tessera::event_rrb_factor, pc, 0, 0, 0));
  if (r->precision == PC_RRB_AUTO && tessera::rrb::galerkin_unfit(r->plan)) {
    PetscCall(PetscInfo(pc, "The coefficients vary by more than single precision holds: the preconditioner is made again in double precision\n"));
    r->unfit = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (again) PetscCall(PetscInfo(pc, "Trial: %g iterations expected with measures for rough coefficients: %s\n", r->plan.predicted[tried], tessera::NameOf((tessera::rrb::Rough)tried)));
  PetscCall(TryChoices(pc, again));
  if (r->cycle == PC_RRB_CYCLE_AMLI && r->plan.cycle == tessera::rrb::Cycle::v) PetscCall(PetscInfo(pc, "Cycle v instead of amli: the seam of a periodic direction is cut on a coarse grid, which moves eigenvalues out of its interval\n"));
  PetscCall(PetscInfo(pc, "PC rrb: %d x %d nodes, %d levels on %d grids, then %d nodes exactly; cycle %s\n", r->plan.levels[0].grid.nx, r->plan.levels[0].grid.ny, r->plan.factor_levels(), r->plan.levels.back().index + 1, (int)r->plan.band_x.size(), PCRRBCycles[(int)r->plan.cycle]));
  r->current = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_RRB(PC pc)
{
  const PC_RRB *r = (PC_RRB *)pc->data;

  PetscFunctionBegin;
  PetscCall(tessera::CiteRRB());
  PetscCall(Whole<SetUp>(pc));
  if (!r->current && r->unfit && !r->failed) PetscCall(Whole<SetUp>(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::SubtractDirichlet(PC_RRB *r)
{
  tessera::rrb::Level &finest = r->plan.levels[0];

  PetscFunctionBegin;
  if (!r->dirichlet.any) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->dirichlet.remote) finest.halo.exchange(finest.b.v, tessera::mask_all);
  dirichlet_subtract(r->plan.exec, finest.grid.owned(), r->dirichlet, finest.b.data.data(), finest.b.v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Refuse(PC pc, Vec y, PetscBool *refused)
{
  PC_RRB *r = (PC_RRB *)pc->data;

  PetscFunctionBegin;
  PetscCheck(r->ready, PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER, "PC rrb: the last setup ended with an error");
  *refused = r->failed; // no factors: what a failed LU gives too, so that no solver takes it for a solution
  if (r->failed) PetscCall(VecSet(y, PETSC_INFINITY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Apply(PC pc, Vec x, Vec y)
{
  PC_RRB       *r = (PC_RRB *)pc->data;
  const double *from;
  double       *to;
  PetscBool     refused;

  PetscFunctionBegin;
  PetscCall(Refuse(pc, y, &refused));
  if (refused) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(tessera::event_rrb_sweep, pc, x, y, 0));
  const tessera::Box   own   = r->matrix.grid().owned();
  const tessera::Space space = r->plan.exec.space;
  PetscCall(tessera::UseCurrentStream(space));
  const bool natural = !r->dirichlet.any && !r->matrix.moved() && tessera::rrb::takes_natural(r->plan);
  PetscCall(r->matrix.GetRead(x, space, &from));
  if (!natural) {
    {
      const tessera::GpuTime time(space);
      tessera::rrb::load(r->plan, from);
      PetscCall(tessera::SubtractDirichlet(r));
    }
    PetscCall(r->matrix.RestoreRead(x, &from));
  }
  PetscCall(r->matrix.GetWrite(y, space, &to));
  {
    const tessera::GpuTime time(space);
    if (natural) tessera::rrb::apply_natural(r->plan, from, to);
    else tessera::rrb::apply(r->plan, tessera::natural_view(to, own.x0, own.y0, own.x1 - own.x0));
  }
  PetscCall(r->matrix.RestoreWrite(y, &to));
  if (natural) PetscCall(r->matrix.RestoreRead(x, &from));
  PetscCall(tessera::LogFlops(space, 2. * r->plan.multiplications()));
  PetscCall(PetscLogEventEnd(tessera::event_rrb_sweep, pc, x, y, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The transpose differs where Dirichlet rows couple one way: z_I = M r_I, z_D = (r_D - A_ID' z_I) / d.
static PetscErrorCode ApplyTranspose(PC pc, Vec x, Vec y)
{
  PC_RRB              *r = (PC_RRB *)pc->data;
  tessera::rrb::Level &finest = r->plan.levels[0];
  const double        *from;
  double              *to;
  PetscBool            refused;

  PetscFunctionBegin;
  PetscCall(Refuse(pc, y, &refused));
  if (refused) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(r->plan.cycle != tessera::rrb::Cycle::k, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, "PC rrb: the K-cycle is not linear, so it has no transpose. Use -pc_rrb_cycle v or amli");
  PetscCall(PetscLogEventBegin(tessera::event_rrb_sweep, pc, x, y, 0));
  const tessera::Box own = r->matrix.grid().owned();
  PetscCall(tessera::UseCurrentStream(r->plan.exec.space));
  PetscCall(r->matrix.GetRead(x, r->plan.exec.space, &from));
  tessera::rrb::load(r->plan, from);
  PetscCall(r->matrix.RestoreRead(x, &from));
  PetscCall(r->matrix.GetWrite(y, r->plan.exec.space, &to));
  const tessera::View<double> z = tessera::natural_view(to, own.x0, own.y0, own.x1 - own.x0);
  {
    const tessera::GpuTime time(r->plan.exec.space);
    tessera::rrb::apply(r->plan, z);
  }
  if (r->dirichlet.any) {
    tessera::rrb::load(r->plan, to);
    dirichlet_transpose(r->plan.exec, own, r->dirichlet, finest.b.data, finest.b.v);
    finest.halo.fold(finest.b.v, tessera::mask_all); // sums for other processes' Dirichlet rows
    dirichlet_add(r->plan.exec, own, finest.b.v, z);
    finest.b.data.zero();
  }
  PetscCall(r->matrix.RestoreWrite(y, &to));
  PetscCall(tessera::LogFlops(r->plan.exec.space, 2. * r->plan.multiplications()));
  PetscCall(PetscLogEventEnd(tessera::event_rrb_sweep, pc, x, y, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Several at a time where the plan does so; else, and for what is left, one after the other.
static PetscErrorCode MatApply(PC pc, Mat X, Mat Y)
{
  PC_RRB  *r    = (PC_RRB *)pc->data;
  PetscInt done = 0, N;
  Vec      x, y;

  PetscFunctionBegin;
  PetscCheck(r->ready, PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER, "PC rrb: the last setup ended with an error");
  PetscCall(MatGetSize(X, nullptr, &N));
  if (!r->failed && !r->matrix.moved() && tessera::rrb::takes_several(r->plan)) {
    PetscCall(PetscLogEventBegin(tessera::event_rrb_sweep, pc, X, Y, 0));
    PetscCall(r->columns.Each(X, Y, r->plan.exec.space, [&](int number, const double *from, ptrdiff_t stride_from, double *to, ptrdiff_t stride_to) {
      done += tessera::rrb::apply_several(r->plan, r->dirichlet, number, from, stride_from, to, stride_to);
    }));
    PetscCall(PetscLogFlops(2. * r->plan.multiplications() * (double)done));
    PetscCall(PetscLogEventEnd(tessera::event_rrb_sweep, pc, X, Y, 0));
  }
  for (; done < N; ++done) {
    PetscCall(MatDenseGetColumnVecRead(X, done, &x));
    PetscCall(MatDenseGetColumnVecWrite(Y, done, &y));
    PetscCall(Apply(pc, x, y));
    PetscCall(MatDenseRestoreColumnVecWrite(Y, done, &y));
    PetscCall(MatDenseRestoreColumnVecRead(X, done, &x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// V: Vec or Mat
template <auto F, class V> static PetscErrorCode Applied(PC pc, V x, V y)
{
  PetscFunctionBegin;
  tessera::Together together(PetscObjectComm((PetscObject)pc));
  PetscCall((tessera::NoThrow<F, PC, V, V>(pc, x, y)));
  const bool failed = tessera::device::failed(), lost = ((PC_RRB *)pc->data)->plan.total && tessera::Peers::lost(); // another process has failed
  if (!failed && !lost) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(tessera::FailApplication(PetscObjectComm((PetscObject)pc), y, together.Within(), "PC rrb", &pc->failedreason)); // within KSP rrb
  if (failed && !together.Within()) ((PC_RRB *)pc->data)->matrix.ForgetCopies();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_RRB(PC pc, CompatOptionItems PetscOptionsObject)
{
  PC_RRB         *r = (PC_RRB *)pc->data;
  PetscInt        levels = r->levels, grids = r->grids, every = r->every, inner = r->inner, redundant = r->redundant, grid[2] = {r->nx, r->ny}, two = 2;
  PetscInt        smooth = r->smooth;
  PetscReal       omega = r->omega;
  PetscBool       trial = r->trial, peers = r->peers;
  PCRRBSmoother   smoother = r->smoother;
  PCRRBInterpolation interpolation = r->interpolation;
  PCRRBCoarsening coarsening = r->coarsening;
  PCRRBLump       lump       = r->lump;
  PCRRBCycle      cycle      = r->cycle;
  PCRRBPrecision  precision  = r->precision;
  TesseraBackend  backend    = r->backend;
  PetscBool       set;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "RRB options");
  PetscCall(PetscOptionsInt("-pc_rrb_levels", "Levels of the factorisation, two to a grid (0 for automatic)", "PCRRBSetLevels", levels, &levels, &set));
  if (set) PetscCall(PCRRBSetLevels(pc, levels));
  PetscCall(PetscOptionsInt("-pc_rrb_grids", "Grids stored by quarters, the others in natural order (-1 for all)", "PCRRBSetGrids", grids, &grids, &set));
  if (set) PetscCall(PCRRBSetGrids(pc, grids));
  PetscCall(PetscOptionsEnum("-pc_rrb_coarsening", "How the next operator is made", "PCRRBSetCoarsening", PCRRBCoarsenings, (PetscEnum)coarsening, (PetscEnum *)&coarsening, &set));
  if (set) PetscCall(PCRRBSetCoarsening(pc, coarsening));
  PetscCall(PetscOptionsEnum("-pc_rrb_smoother", "What the sweeps solve for together (Galerkin)", "PCRRBSetSmoother", PCRRBSmoothers, (PetscEnum)smoother, (PetscEnum *)&smoother, &set));
  if (set) PetscCall(PCRRBSetSmoother(pc, smoother));
  PetscCall(PetscOptionsInt("-pc_rrb_smooth", "Sweeps before and after the next grid (Galerkin; 0 for automatic)", "PCRRBSetSmooth", smooth, &smooth, &set));
  if (set) PetscCall(PCRRBSetSmooth(pc, smooth));
  PetscCall(PetscOptionsEnum("-pc_rrb_interpolation", "Weights of the interpolation (Galerkin)", "PCRRBSetInterpolation", PCRRBInterpolations, (PetscEnum)interpolation, (PetscEnum *)&interpolation, &set));
  if (set) PetscCall(PCRRBSetInterpolation(pc, interpolation));
  PetscCall(PetscOptionsBool("-pc_rrb_trial", "Try the choice where coefficients jump (Galerkin)", "PCRRBSetTrial", trial, &trial, &set));
  if (set) PetscCall(PCRRBSetTrial(pc, trial));
  PetscCall(PetscOptionsReal("-pc_rrb_omega", "Share of a dropped coupling that is lumped", "PCRRBSetOmega", omega, &omega, &set));
  if (set) PetscCall(PCRRBSetOmega(pc, omega));
  PetscCall(PetscOptionsEnum("-pc_rrb_lump", "Nodes at which couplings are lumped", "PCRRBSetLump", PCRRBLumps, (PetscEnum)lump, (PetscEnum *)&lump, &set));
  if (set) PetscCall(PCRRBSetLump(pc, lump));
  PetscCall(PetscOptionsEnum("-pc_rrb_cycle", "How coarse grids are visited", "PCRRBSetCycle", PCRRBCycles, (PetscEnum)cycle, (PetscEnum *)&cycle, &set));
  if (set) PetscCall(PCRRBSetCycle(pc, cycle));
  PetscCall(PetscOptionsInt("-pc_rrb_cycle_every", "The cycle accelerates on every m-th grid", "PCRRBSetCycleEvery", every, &every, &set));
  if (set) PetscCall(PCRRBSetCycleEvery(pc, every));
  PetscCall(PetscOptionsInt("-pc_rrb_cycle_inner", "Steps of the acceleration", "PCRRBSetCycleInner", inner, &inner, &set));
  if (set) PetscCall(PCRRBSetCycleInner(pc, inner));
  PetscCall(PetscOptionsInt("-pc_rrb_redundant", "Nodes of the grids that every process keeps whole (0 for automatic)", "PCRRBSetRedundant", redundant, &redundant, &set));
  if (set) PetscCall(PCRRBSetRedundant(pc, redundant));
  PetscCall(PetscOptionsBool("-pc_rrb_peers", "Processes of one host write into each other's device memory", "PCRRBSetPeers", peers, &peers, &set));
  if (set) PetscCall(PCRRBSetPeers(pc, peers));
  PetscCall(PetscOptionsEnum("-pc_rrb_precision", "Precision of the factors", "PCRRBSetPrecision", PCRRBPrecisions, (PetscEnum)precision, (PetscEnum *)&precision, &set));
  if (set) PetscCall(PCRRBSetPrecision(pc, precision));
  PetscCall(PetscOptionsIntArray("-pc_rrb_grid", "Grid size nx,ny of a matrix without a DMDA, row i + nx*j", "PCRRBSetGrid", grid, &two, &set));
  if (set) {
    PetscCall(tessera::CountNumbers(PetscOptionsObject, "-pc_rrb_grid", &two));
    PetscCheck(two == 2, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_SIZ, "-pc_rrb_grid takes two numbers, nx,ny: %" PetscInt_FMT " given", two);
    PetscCall(PCRRBSetGrid(pc, grid[0], grid[1]));
  }
  PetscCall(PetscOptionsEnum("-pc_rrb_backend", "Where the factorisation lives and runs", "PCRRBSetBackend", TesseraBackends, (PetscEnum)backend, (PetscEnum *)&backend, &set));
  if (set) PetscCall(PCRRBSetBackend(pc, backend));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_RRB(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCReset_RRB(pc));
  PetscCall(tessera::ComposeOptions(pc, PETSC_FALSE));
  delete (PC_RRB *)pc->data;
  pc->data = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   PCRRB - repeated red-black factorisation (RRB), a fine-grain parallel incomplete factorisation with multigrid-like
   convergence for 5- and 9-point operators on two-dimensional grids.

   Options Database Keys:
+  -pc_rrb_levels <l>                   - levels of the factorisation, two to a grid; 0 for automatic, see `PCRRBSetLevels()`
.  -pc_rrb_grids <g>                    - grids stored by quarters (r1/r2/b1/b2), the others in natural order; -1 for all, see `PCRRBSetGrids()`
.  -pc_rrb_coarsening <galerkin,lump,rhombus> - how the next operator is made, see `PCRRBSetCoarsening()`
.  -pc_rrb_smoother <auto,point,line_i,line_j,line_alt> - Galerkin: points or lines, see `PCRRBSetSmoother()`
.  -pc_rrb_smooth <nu>                  - Galerkin: sweeps before and after the next grid, see `PCRRBSetSmooth()`
.  -pc_rrb_interpolation <auto,collapse,least_squares> - Galerkin: weights, see `PCRRBSetInterpolation()`
.  -pc_rrb_trial <bool>                 - Galerkin: try the choice where coefficients jump, see `PCRRBSetTrial()`
.  -pc_rrb_omega <w>                    - share of a dropped coupling that is lumped, 0 to 1, see `PCRRBSetOmega()`
.  -pc_rrb_lump <red,all>               - lump at the eliminated nodes or at all, see `PCRRBSetLump()`
.  -pc_rrb_cycle <v,k,amli,auto>        - how coarse grids are visited, see `PCRRBSetCycle()`
.  -pc_rrb_cycle_every <m>              - K and AMLI accelerate on every m-th grid, see `PCRRBSetCycleEvery()`
.  -pc_rrb_cycle_inner <nu>             - with so many steps, see `PCRRBSetCycleInner()`
.  -pc_rrb_redundant <nodes>            - the first grid of at most so many nodes goes to every process, see `PCRRBSetRedundant()`
.  -pc_rrb_peers <bool>                 - processes of one host write into each other's device memory, see `PCRRBSetPeers()`
.  -pc_rrb_precision <auto,double,single> - storage of the factors, see `PCRRBSetPrecision()`
.  -pc_rrb_grid <nx,ny>                 - grid of a matrix without a `DMDA`, see `PCRRBSetGrid()`
-  -pc_rrb_backend <auto,host,cuda>     - where it runs, see `PCRRBSetBackend()`

   Level: intermediate

   Notes:
   The grid is the solver's or the matrix's `DMDA`, with one unknown a node, of any size; periodic directions need an even
   size. Without one it is found by the couplings of the rows, as for the blocks of `PCBJACOBI` and `PCASM`; on the matrices of
   `SNESVINEWTONRSLS` it is the `DMDA` with its inactive nodes. Couplings are read from the matrix, not from the `DMDA`'s stencil. The matrix should be symmetric positive definite, or
   semidefinite with the constant null space; of another matrix the mean with its transpose is factorised, for `KSPGMRES`.

   A row without off-diagonal entries is a Dirichlet row. It is eliminated although its neighbours may be coupled to it, so
   matrices with one-sided boundary couplings work under `KSPCG`.

   `PCMatApply()` of the Galerkin form on the host reads the coefficients once for 8 vectors, in double precision also for 4;
   the other forms, lines, and a device take one vector after the other.

   The cycle `k` is not linear: use it under `KSPFCG`, `KSPFGMRES` or `KSPRRB`.

   `PCGetInterpolations()` and `PCGetCoarseOperators()` give the grids of the Galerkin form, each operator being P'AP of the one before; the other
   forms have no such pair. Nodes of the finest grid without couplings, as Dirichlet rows, take no part in them.

   References:
+  * - M. de Jong, A. van der Ploeg, A. Ditzel, K. Vuik, Fine-grain parallel RRB-solver for 5-/9-point stencil problems suitable
         for GPU-type processors, Electronic Transactions on Numerical Analysis 48, 2018
-  * - M. de Jong, C. Vuik, GPU implementation of the RRB-solver, Report 16-06, Delft University of Technology, 2016

.seealso: `PCCreate()`, `PCSetType()`, `KSPRRB`, `PCRRBSetLevels()`, `PCRRBSetCycle()`
M*/
PetscErrorCode tessera::PCCreate_RRB(PC pc)
{
  PC_RRB *r = nullptr;

  PetscFunctionBegin;
  TesseraCallCXX(r = new PC_RRB());
  pc->data                = (void *)r;
  pc->ops->setup          = NoThrow<PCSetUp_RRB, PC>;
  pc->ops->reset          = PCReset_RRB;
  pc->ops->destroy        = PCDestroy_RRB;
  pc->ops->setfromoptions = PCSetFromOptions_RRB;
  pc->ops->view           = tessera::ViewRRB;
  pc->ops->presolve       = tessera::BeforeSolveRRB;
  pc->ops->postsolve      = tessera::AfterSolveRRB;
  pc->ops->apply          = Applied<Apply>;
  pc->ops->applytranspose = Applied<ApplyTranspose>;
  pc->ops->matapply       = Applied<MatApply>;
  PetscCall(ComposeOptions(pc, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
