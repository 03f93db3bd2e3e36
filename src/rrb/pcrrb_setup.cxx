// The setup of PC rrb: the options become a plan, the matrix is read and factorised, and the Galerkin form chooses its
// measures.
#include "rrb/pcrrb.hpp"
#include "exec/reservation.hpp"
#include "box/tuning.hpp"
#include "petsc/aij.hpp"
#include "petsc/krylov.hpp"
#include "petsc/shell.hpp"
#include "rrb/multigrid/choice.hpp"

using tessera::PC_RRB;
using tessera::OperatorReport;

static PetscErrorCode Parameters(PC pc, tessera::rrb::Params *p)
{
  PC_RRB  *r    = (PC_RRB *)pc->data;
  const tessera::RRBOptions &o    = r->options;
  MPI_Comm comm = PetscObjectComm((PetscObject)pc);

  PetscFunctionBegin;
  if (o.coarsening == PC_RRB_COARSENING_GALERKIN) {
    PetscCheck(o.omega == 1 && o.lump == PC_RRB_LUMP_RED, comm, PETSC_ERR_ARG_INCOMP,
               "PC rrb: -pc_rrb_omega and -pc_rrb_lump belong to the lumped forms, the coarsening is galerkin. Give "
               "-pc_rrb_coarsening lump as well");
  } else {
    PetscCheck(o.smoother == PC_RRB_SMOOTHER_AUTO && !o.sweeps && o.interpolation == PC_RRB_INTERPOLATION_AUTO, comm,
               PETSC_ERR_ARG_INCOMP,
               "PC rrb: -pc_rrb_smoother, -pc_rrb_sweeps and -pc_rrb_interpolation belong to -pc_rrb_coarsening "
               "galerkin, the coarsening is %s, which has no sweeps. Leave one of them out",
               PCRRBCoarsenings[o.coarsening]);
  }
  p->levels     = (int)PetscMin(o.levels, 1000);
  p->grids      = (int)PetscMin(o.quarters, 1000);
  p->coarsening = (tessera::rrb::Coarsening)(int)o.coarsening; // the same order
  p->smoother   = (tessera::rrb::Smoother)(int)o.smoother;
  p->weights    = (tessera::rrb::Weights)(int)o.interpolation;
  p->smooth     = (int)o.sweeps;
  p->peers      = o.peers == PETSC_TRUE;
  p->trial      = o.trial == PETSC_TRUE;
  p->omega      = o.omega;
  p->lump_all   = o.lump == PC_RRB_LUMP_ALL;
  PetscCheck(o.cycle != PC_RRB_CYCLE_W, comm, PETSC_ERR_SUP,
             "PC rrb: -pc_rrb_cycle w is for grids of three dimensions. Use v, k, amli or auto");
  switch (o.cycle) {
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
  p->every     = (int)PetscMin(o.every, 1000);
  p->inner     = (int)o.inner;
  p->redundant = (long)o.redundant;
  p->single    = o.precision == TESSERA_PRECISION_SINGLE ||
              (o.precision == TESSERA_PRECISION_AUTO && !r->linear && !r->unfit &&
               o.coarsening == PC_RRB_COARSENING_GALERKIN && tessera::rrb::strategy_of(r->plan.exec.space).single);
  p->schur  = r->schur;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::FailRRB(PC pc, PCFailedReason reason)
{
  PC_RRB *r = (PC_RRB *)pc->data;

  PetscFunctionBegin;
  r->failed = PETSC_TRUE;
  PetscCall(tessera::FailSetUp(pc, "PC rrb", r->failure, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::RecordMatrix(PC pc)
{
  PC_RRB *r = (PC_RRB *)pc->data;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)pc->pmat, &r->matrix_id));
  PetscCall(PetscObjectStateGet((PetscObject)pc->pmat, &r->matrix_state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::HasRecordedMatrix(PC pc, bool *same)
{
  const PC_RRB    *r = (const PC_RRB *)pc->data;
  PetscObjectId    id;
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)pc->pmat, &id));
  PetscCall(PetscObjectStateGet((PetscObject)pc->pmat, &state));
  *same = id == r->matrix_id && state == r->matrix_state;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Where the values of the matrix are, unless PC or KSP say otherwise.
PetscErrorCode tessera::PlaceRRB(PC pc, Space *space)
{
  PC_RRB              *r = (PC_RRB *)pc->data;
  const char          *prefix;

  PetscFunctionBegin;
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCheck(
    r->options.backend == TESSERA_BACKEND_AUTO || r->solver == TESSERA_BACKEND_AUTO || r->options.backend == r->solver,
    PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
    "KSP rrb runs where its preconditioner is: -%sksp_rrb_backend %s and -%spc_rrb_backend %s contradict each "
    "other. Leave one of them out",
    prefix ? prefix : "", TesseraBackends[r->solver], prefix ? prefix : "", TesseraBackends[r->options.backend]);
  PetscCall(tessera::ChooseSpace((PetscObject)pc, "pc_rrb_backend",
                                 r->options.backend == TESSERA_BACKEND_AUTO ? r->solver : r->options.backend,
                                 [&](bool *device) { return tessera::LocalRows::OnDevice(pc->pmat, device); }, space));
#if PetscDefined(HAVE_CUDA)
  tessera::Halo::gpu_aware = use_gpu_aware_mpi; // -use_gpu_aware_mpi 0: messages pass through the host
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckReport(PC pc)
{
  const OperatorReport &report = ((PC_RRB *)pc->data)->report;

  PetscFunctionBegin;
  PetscCheck(report.largest == 0 || (report.largest > 1e-140 && report.largest < 1e140),
             PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PC rrb: the largest diagonal entry is %.6g; squares of such numbers leave the range of double precision. "
             "Scale the matrix: MatScale()",
             (double)report.largest);
  if (report.asymmetry > tessera::tuning::symmetric)
    PetscCall(
      PetscInfo(pc,
                "The matrix is not symmetric (largest |a_ij - a_ji| is %.6g of the largest diagonal entry): the "
                "preconditioner is that of the mean of the matrix and its transpose; use it under gmres or bcgs\n",
                (double)report.asymmetry));
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
  PetscCall(
    r->matrix.Read(pc->pmat, r->plan.exec, finest.halo, finest.b.data.data(), raise, s, r->dirichlet, r->report));
  PetscCall(PetscLogEventEnd(tessera::event_rrb_read, pc, 0, 0, 0));
  const OperatorReport &report = r->report;
  if (report.dirichlet != dirichlet) r->plan.choice = tessera::rrb::Choice(); // another problem
  PetscCheck(report.kind != tessera::WrongRow::outside, comm, PETSC_ERR_SUP,
             "PC rrb works on 5- and 9-point operators: row %" PetscInt_FMT " (node %" PetscInt_FMT ",%" PetscInt_FMT
             " of %d x %d) is coupled with column %" PetscInt_FMT
             ", which is none of its nine neighbors. If the unknowns are numbered otherwise give the right "
             "-pc_rrb_grid; else use gamg",
             report.row, report.x, report.y, finest.grid.nx, finest.grid.ny, report.column);
  if (report.kind == tessera::WrongRow::not_finite) {
    PetscCall(PetscSNPrintf(r->failure, sizeof(r->failure),
                            "row %" PetscInt_FMT ", column %" PetscInt_FMT " of the matrix (node %" PetscInt_FMT
                            ",%" PetscInt_FMT ") is not a finite number",
                            report.row, report.column, report.x, report.y));
    PetscCall(tessera::FailRRB(pc, PC_FACTOR_OTHER));
  } else if (report.kind == tessera::WrongRow::diagonal) {
    PetscCall(
      PetscSNPrintf(r->failure, sizeof(r->failure),
                    "the matrix is not positive definite: zero or negative pivot %.6g at level 1, node %" PetscInt_FMT
                    ",%" PetscInt_FMT " (the diagonal entry of row %" PetscInt_FMT ")%s",
                    (double)report.value, report.x, report.y, report.row,
                    report.value == 0 ? ". Nodes that take no part need a 1 on the diagonal" : ""));
    PetscCall(tessera::FailRRB(pc, PC_FACTOR_NUMERIC_ZEROPIVOT));
  }
  if (r->failed) PetscFunctionReturn(PETSC_SUCCESS);
  if (!r->matrix.speculative()) PetscCall(CheckReport(pc));
  PetscCall(PetscLogEventBegin(tessera::event_rrb_factor, pc, 0, 0, 0));
  r->plan.params.schur = r->schur && !raise; // S1 of a changed diagonal would be another system's
  {
    const tessera::GpuTime time(r->plan.exec.space);
    TesseraCallCXX(*failure = tessera::rrb::factor(r->plan, s));
  }
  PetscCall(PetscLogEventEnd(tessera::event_rrb_factor, pc, 0, 0, 0));
  if (r->matrix.speculative()) {
    bool right;
    PetscCall(r->matrix.Confirm(r->report, &right));
    if (!right) {
      PetscCall(PetscInfo(pc, "The matrix has other kinds of rows than the last one: read and factorized once more\n"));
      PetscCall(ReadAndFactor(pc, raise, failure));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(CheckReport(pc));
  }
  if (failure->retry) { // once: the plan knows now
    PetscCall(PetscInfo(pc, "A coarse grid has zeros on its diagonal, where there were none before, or algebraic "
                            "levels cannot be made: read and factorized once more\n"));
    PetscCall(ReadAndFactor(pc, raise, failure));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Sets the other choices of the Galerkin form up, one after the other, until the trial is content.
static PetscErrorCode TryChoices(PC pc, bool retry)
{
  PC_RRB               *r = (PC_RRB *)pc->data;
  tessera::rrb::Failure failure;

  PetscFunctionBegin;
  while (retry) {
    PetscCall(PetscInfo(pc, "Next measures for rough coefficients: %s\n", tessera::NameOf(r->plan.choice.remedy)));
    PetscCall(ReadAndFactor(pc, r->raised, &failure));
    if (failure.failed) { // back to what could be factorised
      PetscCall(PetscInfo(pc, "A pivot is not positive then: the usual choice stays\n"));
      r->plan.choice.remedy  = tessera::rrb::Remedy::no;
      r->plan.choice.settled = true;
      PetscCall(ReadAndFactor(pc, r->raised, &failure));
    }
    TesseraCallCXX(tessera::rrb::choose_cycle(r->plan));
    const int tried = (int)r->plan.choice.remedy;
    TesseraCallCXX(retry = tessera::rrb::try_choice(r->plan));
    if (r->plan.choice.expected[tried] > 0)
      PetscCall(PetscInfo(pc, "Trial: %.6g iterations expected with measures for rough coefficients: %s\n",
                          r->plan.choice.expected[tried], tessera::NameOf((tessera::rrb::Remedy)tried)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChooseAnother(PC pc)
{
  PC_RRB   *r = (PC_RRB *)pc->data;
  bool      retry;

  PetscFunctionBegin;
  const int tried = (int)r->plan.choice.remedy;
  PetscCall(PetscInfo(pc, "%.6g iterations expected with measures for rough coefficients: %s, and %.6g needed\n",
                      r->plan.choice.expected[tried], tessera::NameOf((tessera::rrb::Remedy)tried),
                      (double)r->solves.needed));
  retry            = tessera::rrb::disprove_choice(r->plan, r->solves.needed);
  r->solves.needed = 0;
  PetscCall(TryChoices(pc, retry));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <PetscErrorCode (*F)(PC)> static PetscErrorCode RunCollectively(PC pc)
{
  PC_RRB *r = (PC_RRB *)pc->data;

  PetscFunctionBegin;
  PetscCall(tessera::RunCollectively<F>(pc, r->plan.exec.space, [&] {
    r->plan      = tessera::rrb::Plan();
    r->dirichlet = tessera::DirichletCouplings();
    r->current   = PETSC_FALSE;
    r->ready     = PETSC_FALSE;
    r->matrix.ForgetCopies();
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::CorrectChoiceRRB(PC pc, PetscReal needed, bool *another)
{
  PC_RRB          *r = (PC_RRB *)pc->data;
  bool             same;

  PetscFunctionBegin;
  *another = false;
  PetscCall(HasRecordedMatrix(pc, &same));
  if (!same || rrb::rival_iterations(r->plan) >= rrb::choice_never) PetscFunctionReturn(PETSC_SUCCESS);
  const rrb::Remedy before = r->plan.choice.remedy;
  r->solves.needed        = needed;
  r->solves.its           = 0;
  PetscCall(RunCollectively<ChooseAnother>(pc));
  *another = r->plan.choice.remedy != before;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What a first setup of the Galerkin form in single precision takes on a device, for a node.
constexpr size_t setup_bytes = 128;

// Everything that depends on the options and the nonzero pattern, not on the values.
static PetscErrorCode MakePlan(PC pc, tessera::device::Reservation *expected)
{
  PC_RRB              *r    = (PC_RRB *)pc->data;
  MPI_Comm             comm = PetscObjectComm((PetscObject)pc);
  tessera::rrb::Params params;

  PetscFunctionBegin;
  PetscCall(tessera::PlaceRRB(pc, &r->plan.exec.space));
  PetscCall(tessera::UseCurrentStream(r->plan.exec.space)); // where memory is made and given back, too
  if (!r->linear) PetscCall(tessera::LookAtKSPType(pc, &r->linear));
  PetscCall(Parameters(pc, &params));
  r->raised    = PETSC_FALSE;
  const PetscInt *const n = r->options.grid; // in space one direction has a single node
  if (n[2] > 1) PetscCall(r->matrix.SetGrid(pc, n[0] > 1 ? n[0] : n[1], n[2]));
  else PetscCall(r->matrix.SetGrid(pc, n[0], n[1]));
  r->plan.exec.threads   = tessera::HostThreads();
  const tessera::Grid &g = r->matrix.grid();
  if (tessera::rrb::strategy_of(r->plan.exec.space).keeps_work &&
      r->options.coarsening == PC_RRB_COARSENING_GALERKIN) {
    const tessera::Exec exec = r->plan.exec;
    r->plan      = tessera::rrb::Plan(); // its memory comes back first
    r->dirichlet = tessera::DirichletCouplings();
    r->plan.exec = exec;
    TesseraCallCXX(expected->bytes(setup_bytes * (size_t)g.owned().size()));
  }
  TesseraCallCXX(tessera::rrb::create(r->plan, g, params));
  const tessera::Grid &last    = r->plan.levels.back().grid;
  const double         entries = (double)last.size() * (PetscMin(last.nx, last.ny) + 2);
  PetscCheck(entries <= tessera::tuning::remainder_maximum, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "PC rrb: after %d levels %d x %d nodes remain, whose exact factorization would take %.6g GB on every "
             "process. Use more -pc_rrb_levels, or 0 for the automatic choice",
             r->plan.factor_levels(), last.nx, last.ny, entries * 8e-9);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The factors of the matrix, or, where it has none, of the matrix with its negative row sums added to its diagonal.
static PetscErrorCode FactorOrRaise(PC pc, tessera::rrb::Failure *failure)
{
  PC_RRB               *r = (PC_RRB *)pc->data;
  tessera::rrb::Failure second;

  PetscFunctionBegin;
  PetscCall(ReadAndFactor(pc, r->raised, failure));
  // other values, another case
  if (r->raised && !r->failed && (!(r->report.deficit > 0) || r->report.deficit > tessera::tuning::deficit)) {
    r->raised = PETSC_FALSE;
    PetscCall(ReadAndFactor(pc, false, failure));
  }
  if (!r->failed && failure->failed && !r->raised) {
    // Lumping keeps row sums, and where they are negative (a reaction term of the wrong sign) a positive definite
    // matrix loses its definiteness on coarse grids. The factors of the matrix without the negative part precondition
    // it still.
    PetscCall(ReadAndFactor(pc, true, &second));
    if (!second.failed && r->report.deficit > 0 && r->report.deficit <= tessera::tuning::deficit) {
      PetscCall(PetscInfo(pc,
                          "Row sums are negative (down to %.6g of the diagonal): the factors are those of the matrix "
                          "with these added to its diagonal\n",
                          -(double)r->report.deficit));
      r->raised = PETSC_TRUE;
      *failure  = second;
    }
  }
  if (r->failed || !failure->failed) PetscFunctionReturn(PETSC_SUCCESS);
  const char *const form = r->options.coarsening == PC_RRB_COARSENING_RHOMBUS
                           ? "rhombus-lumped form (-pc_rrb_coarsening lump is safer)"
                           : "lumped form";
  if (r->options.coarsening == PC_RRB_COARSENING_GALERKIN) {
    PetscCall(
      PetscSNPrintf(r->failure, sizeof(r->failure),
                    "the matrix is not positive definite: zero or negative pivot on grid %d, at node %d,%d of the "
                    "finest grid",
                    (failure->level - 1) / 2, failure->x, failure->y));
  } else {
    PetscCall(
      PetscSNPrintf(r->failure, sizeof(r->failure),
                    "the matrix or its %s is not positive definite: zero or negative pivot at level %d, node %d,%d",
                    form, failure->level, failure->x, failure->y));
  }
  PetscCall(tessera::FailRRB(pc, PC_FACTOR_NUMERIC_ZEROPIVOT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The cycle, and what the trial of the Galerkin form says. *unfit: the coefficients are not for single precision.
static PetscErrorCode Choose(PC pc, bool *unfit)
{
  PC_RRB   *r     = (PC_RRB *)pc->data;
  bool      retry = false;
  const int tried = (int)r->plan.choice.remedy;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(tessera::event_rrb_factor, pc, 0, 0, 0));
  if (!r->plan.choice.settled) r->solves.its = 0;
  r->solves.needed = 0;
  TesseraCallCXX(tessera::rrb::choose_cycle(r->plan));
  TesseraCallCXX(retry = tessera::rrb::try_choice(r->plan));
  PetscCall(PetscLogEventEnd(tessera::event_rrb_factor, pc, 0, 0, 0));
  *unfit = r->options.precision == TESSERA_PRECISION_AUTO && tessera::rrb::unfit_for_single(r->plan);
  if (*unfit) {
    PetscCall(PetscInfo(pc, "The coefficients vary by more than single precision holds: the preconditioner is made "
                            "again in double precision\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (retry)
    PetscCall(PetscInfo(pc, "Trial: %.6g iterations expected with measures for rough coefficients: %s\n",
                        r->plan.choice.expected[tried], tessera::NameOf((tessera::rrb::Remedy)tried)));
  PetscCall(TryChoices(pc, retry));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUp(PC pc)
{
  PC_RRB                   *r = (PC_RRB *)pc->data;
  tessera::rrb::Failure     failure;
  tessera::device::Reservation expected; // to the end of the setup
  bool                      unfit = false;

  PetscFunctionBegin;
  const bool again_all = !r->current || pc->flag != SAME_NONZERO_PATTERN;
  pc->setupcalled  = PETSC_FALSE; // PETSc sets it again on success: after an error the next solve starts from here,
  r->current       = PETSC_FALSE; // with everything made anew
  r->ready         = PETSC_FALSE;
  r->failed        = PETSC_FALSE;
  pc->failedreason = PC_NOERROR;
  PetscCall(tessera::CheckMatrix((PetscObject)pc, "PC rrb", pc->pmat));
  if (again_all) PetscCall(MakePlan(pc, &expected));
  else if (r->plan.peers) TesseraCallCXX(r->plan.peers->restore(PetscObjectComm((PetscObject)pc)));
  if (r->solves.rechoose) r->plan.choice = tessera::rrb::Choice();
  r->solves.rechoose = PETSC_FALSE;
  PetscCall(tessera::UseCurrentStream(r->plan.exec.space));
  PetscCall(FactorOrRaise(pc, &failure));
  PetscCall(tessera::RecordMatrix(pc));
  r->ready = PETSC_TRUE;
  if (r->failed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Choose(pc, &unfit));
  if (unfit) {
    r->unfit = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (r->options.cycle == PC_RRB_CYCLE_AMLI && r->plan.cycle == tessera::rrb::Cycle::v)
    PetscCall(PetscInfo(pc, "Cycle v instead of amli: the seam of a periodic direction is cut on a coarse grid, which "
                            "moves eigenvalues out of its interval\n"));
  PetscCall(PetscInfo(pc, "PC rrb: %d x %d nodes, %d levels on %d grids, the last %d nodes solved exactly; cycle %s\n",
                      r->plan.levels[0].grid.nx, r->plan.levels[0].grid.ny, r->plan.factor_levels(),
                      r->plan.levels.back().index + 1, (int)r->plan.remainder.x.size(),
                      PCRRBCycles[(int)r->plan.cycle]));
  r->current = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::SetUpRRB(PC pc)
{
  PC_RRB *r = (PC_RRB *)pc->data;
  bool    three, nothing;

  PetscFunctionBegin;
  PetscCall(tessera::CiteRRB());
  PetscCall(r->null.Reset());
  PetscCall(NothingToSolve(pc, &nothing));
  if (nothing) {
    r->current = r->ready = r->failed = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(tessera::LooksThree(pc, &three));
  if (three != (bool)r->three) {
    TesseraCallCXX(r->three.reset(three ? new RRBThree : nullptr));
    r->current = PETSC_FALSE;
  }
  if (three) PetscCall(SetUpThree(pc));
  else PetscCall(RunCollectively<SetUp>(pc));
  if (!three && !r->current && r->unfit && !r->failed) PetscCall(RunCollectively<SetUp>(pc));
  if (r->ready && !r->failed) r->null.Expect();
  PetscFunctionReturn(PETSC_SUCCESS);
}
