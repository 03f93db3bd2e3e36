// PC densegs: PETSc's face of parallel dense Gauss-Seidel.
#include "densegs/solvers.hpp"
#include "petsc/aij.hpp"
#include "petsc/krylov.hpp"

using tessera::PC_DenseGS;

const char *const TesseraGSStrategies[] = {
  "sequential", "row", "column", "block", "graph", "graph2", "relaxed", "TesseraGSStrategy", "TESSERA_GS_", nullptr};
const char *const TesseraGSOrders[] = {"forward",        "backward",    "symmetric", "random",
                                       "TesseraGSOrder", "TESSERA_GS_", nullptr};

static PetscErrorCode PCReset_DenseGS(PC pc)
{
  PC_DenseGS *p = (PC_DenseGS *)pc->data;

  PetscFunctionBegin;
  PetscCall(tessera::UseCurrentStream(p->plan.exec.space)); // memory is given back in its order
  p->plan        = tessera::densegs::Plan();
  p->distributed = tessera::densegs::Distributed();
  p->vector      = tessera::VectorView();
  p->current     = PETSC_FALSE;
  p->failed      = false;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Place(PC pc, tessera::Space *space)
{
  const TesseraBackend backend = ((PC_DenseGS *)pc->data)->options.backend;
  int                  size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  PetscCall(tessera::ChooseSpace(
    (PetscObject)pc, "pc_densegs_backend", backend,
    [&](bool *device) { return size > 1 ? PETSC_SUCCESS : tessera::DenseOnDevice(pc->pmat, device); }, space));
  PetscCheck(
    backend != TESSERA_BACKEND_CUDA || size == 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
    "PC densegs: on a device the sweeps run on one process, there are %d. Use -pc_densegs_backend host or one process",
    size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// mine: what in the matrix stops the sweeps, in words; empty where nothing does.
static PetscErrorCode Complain(const PC_DenseGS &p, const tessera::densegs::Check &check, PetscInt n, char mine[256])
{
  PetscFunctionBegin;
  mine[0] = 0;
  if (check.bad_row >= 0)
    PetscCall(PetscSNPrintf(mine, 256,
                            "row %" PetscInt_FMT ", column %" PetscInt_FMT " of the matrix is not a finite number",
                            (PetscInt)check.bad_row, (PetscInt)check.bad_column));
  else if (check.zero_diagonal >= 0)
    PetscCall(PetscSNPrintf(mine, 256,
                            "the diagonal entry of row %" PetscInt_FMT
                            " is zero: Gauss-Seidel divides by it. Reorder the unknowns, or use -pc_type lu",
                            (PetscInt)check.zero_diagonal));
  else if (n && p.plan.params.single && !(p.largest > 1e-30 && p.largest < 1e30))
    PetscCall(PetscSNPrintf(
      mine, 256,
      "the largest entry of the matrix is %.6g, and single precision has no such numbers, or not their products: use "
      "-pc_densegs_precision double",
      p.largest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUp(PC pc)
{
  PC_DenseGS                *p    = (PC_DenseGS *)pc->data;
  MPI_Comm                   comm = PetscObjectComm((PetscObject)pc);
  tessera::DenseView         view;
  tessera::densegs::Params   params;
  tessera::densegs::Check    check;
  PetscInt                   first, n;
  int                        size;

  PetscFunctionBegin;
  const bool again_all = !p->current || pc->flag != SAME_NONZERO_PATTERN;
  p->current       = PETSC_FALSE;
  p->failed        = false;
  pc->failedreason = PC_NOERROR;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(tessera::DenseCheckType((PetscObject)pc, "PC densegs", pc->pmat, false));
  PetscCall(MatGetOwnershipRange(pc->pmat, &first, nullptr));
  PetscCall(MatGetLocalSize(pc->pmat, &n, nullptr));
  if (again_all) PetscCall(Place(pc, &p->plan.exec.space));
  PetscCall(tessera::UseCurrentStream(p->plan.exec.space));
  PetscCall(tessera::DenseGet(pc->pmat, p->plan.exec.space, &view));
  if (again_all) {
    params.strategy      = (tessera::densegs::Strategy)(int)p->options.strategy; // the same order
    params.order         = (tessera::densegs::Order)(int)p->options.order;
    params.omega         = p->options.omega;
    params.single        = p->options.precision == TESSERA_PRECISION_SINGLE;
    p->plan.exec.threads = tessera::HostThreads();
    PetscCall(tessera::InDeviceMemory("PC densegs", "pc_densegs_backend", n,
                                      [&] { tessera::densegs::create(p->plan, (int)n, params); }));
    if (size > 1) PetscCall(tessera::CommOf((PetscObject)pc, &p->comm));
    if (size > 1) TesseraCallCXX(tessera::densegs::create(p->distributed, p->comm, (int)n));
  }
  // The process's square block
  const double *block = view.values + (size_t)first * (size_t)view.lda;
  {
    const tessera::GpuTime time(p->plan.exec.space);
    TesseraCallCXX(check = tessera::densegs::check(p->plan, block, view.lda, view.space));
    for (int *i : {&check.bad_row, &check.bad_column, &check.zero_diagonal}) *i += *i < 0 ? 0 : (int)first;
    p->largest    = check.largest;
    p->difference = check.asymmetry * check.largest;
    if (size > 1) {
      tessera::densegs::Check others;
      TesseraCallCXX(
        others = tessera::densegs::keep(p->distributed, view.values, view.lda, p->options.order == TESSERA_GS_RANDOM));
      if (check.bad_row < 0) check.bad_row = others.bad_row, check.bad_column = others.bad_column;
      p->largest = PetscMax(p->largest, others.largest);
    }
    PetscCall(tessera::InDeviceMemory("PC densegs", "pc_densegs_backend", n,
                                      [&] { tessera::densegs::fill(p->plan, block, view.lda, view.space); }));
  }
  PetscCall(tessera::DenseRestore(&view));
  char mine[256];
  int  zero = check.bad_row < 0 && check.zero_diagonal >= 0, who;
  PetscCall(Complain(*p, check, n, mine));
  PetscCall(tessera::FirstText(comm, mine, p->failure, &who));
  p->asymmetry = size == 1 ? check.asymmetry : -1;
  if (who < size) {
    PetscCallMPI(MPI_Bcast(&zero, 1, MPI_INT, who, comm));
    p->failed = true;
    PetscCall(tessera::FailSetUp(pc, "PC densegs", p->failure, zero ? PC_FACTOR_NUMERIC_ZEROPIVOT : PC_FACTOR_OTHER));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  p->current = PETSC_TRUE;
  PetscCall(PetscInfo(
    pc, "PC densegs: %" PetscInt_FMT " unknowns of this process in panels of %d rows, strategy %s, order %s\n", n,
    p->plan.panels.rows, TesseraGSStrategies[p->options.strategy], TesseraGSOrders[p->options.order]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_DenseGS(PC pc)
{
  PetscFunctionBegin;
  PetscCall(tessera::CiteDenseGS());
  PetscCall(PetscLogEventBegin(tessera::event_densegs_setup, pc, 0, 0, 0));
  PetscErrorCode ierr = tessera::NoThrow<SetUp, PC>(pc);
  if (ierr) (void)PCReset_DenseGS(pc);
  PetscCall(ierr);
  PetscCall(PetscLogEventEnd(tessera::event_densegs_setup, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Conjugate gradients and the like need a symmetric preconditioner: with another they stall.
static PetscErrorCode PCPreSolve_DenseGS(PC pc, KSP ksp, Vec, Vec)
{
  PC_DenseGS *p = (PC_DenseGS *)pc->data;
  PetscBool   symmetric;
  KSPType     type;

  PetscFunctionBegin;
  PetscCall(CompatUserPreSolve(pc, ksp));
  if (p->warned || p->options.order == TESSERA_GS_SYMMETRIC) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(tessera::NeedsSymmetry(ksp, &symmetric));
  if (!symmetric) PetscFunctionReturn(PETSC_SUCCESS);
  p->warned = true;
  PetscCall(KSPGetType(ksp, &type));
  PetscCall(PetscInfo(pc,
                      "Warning: KSP %s needs a symmetric preconditioner, and sweeps in %s order are none. Use "
                      "-pc_densegs_order symmetric, or -ksp_type gmres\n",
                      type, TesseraGSOrders[p->options.order]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The sweeps, for the right-hand side that plan.q has; `to` lies where they run.
static PetscErrorCode SweepArray(PC pc, PetscScalar *to, int passes, bool zero)
{
  PC_DenseGS             *p = (PC_DenseGS *)pc->data;
  tessera::densegs::Plan &plan = p->plan;
  const tessera::Space    space = plan.exec.space;
  const int               n = plan.panels.n;

  PetscFunctionBegin;
  if (p->distributed.size > 1) {
    tessera::densegs::Request r;
    r.q    = plan.q.data();
    r.sweeps = passes;
    r.zero = zero;
    if (!zero) tessera::densegs::gather(p->distributed, to);
    TesseraCallCXX(tessera::densegs::sweep(p->distributed, plan, r));
    const double *x = p->distributed.x.data() + p->distributed.first[(size_t)p->distributed.rank];
    std::copy(x, x + n, to);
  } else {
    const tessera::GpuTime    time(space);
    tessera::densegs::Request r;
    if (zero) TesseraCallCXX(plan.x.zero());
    else TesseraCallCXX(tessera::densegs::load(plan, to, 1, plan.x));
    r.q    = plan.q.data();
    r.x    = plan.x.data();
    r.sweeps = passes;
    r.zero = zero;
    TesseraCallCXX((void)tessera::densegs::sweep(plan, r));
    TesseraCallCXX(tessera::densegs::store(plan, to));
    // not every KSP looks at what it gets: preonly and -ksp_norm_type none do not
    TesseraCallCXX(tessera::densegs::await_end(plan, r.sweeps));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// y := the iterate after so many sweeps for A y = b, from y (zero: from zero).
static PetscErrorCode Sweep(PC pc, Vec b, Vec y, PetscInt sweeps, bool zero, tessera::densegs::Order order)
{
  PC_DenseGS               *p = (PC_DenseGS *)pc->data;
  tessera::densegs::Plan   &plan = p->plan;
  const tessera::Space      space = plan.exec.space;
  const int                 n = plan.panels.n;
  const int                 passes = (int)sweeps * (order == tessera::densegs::Order::symmetric ? 2 : 1);
  PetscInt                  unknowns;
  bool                      refused;

  PetscFunctionBegin;
  PetscCall(tessera::RefuseApplication(pc, "PC densegs", p->current || p->failed, p->failed, y, &refused));
  if (refused) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetSize(b, &unknowns));
  PetscCall(PetscLogEventBegin(tessera::event_densegs_apply, pc, b, y, 0));
  PetscCall(tessera::UseCurrentStream(space));
  PetscCall(p->vector.Read(b, space));
  TesseraCallCXX(tessera::densegs::load(plan, p->vector.data(), -1, plan.q));
  PetscCall(p->vector.Restore());
  PetscCall(p->vector.Write(y, space, !zero));
  plan.params.order         = order;
  const PetscErrorCode ierr = SweepArray(pc, p->vector.data(), passes, zero), restored = p->vector.Restore();
  // A symmetric sweep costs what one way costs, but for its first half from zero.
  PetscCall(tessera::LogFlops(space, 2. * n * (double)unknowns *
                                       (order == tessera::densegs::Order::symmetric ? passes / 2 : passes)));
  PetscCall(PetscLogEventEnd(tessera::event_densegs_apply, pc, b, y, 0));
  PetscCall(ierr);
  PetscCall(restored);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Apply(PC pc, Vec b, Vec y)
{
  PC_DenseGS *p = (PC_DenseGS *)pc->data;

  PetscFunctionBegin;
  PetscCall(Sweep(pc, b, y, p->options.sweeps, true, (tessera::densegs::Order)(int)p->options.order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Of a symmetric matrix: the sweeps in the other order.
static PetscErrorCode ApplyTranspose(PC pc, Vec b, Vec y)
{
  PC_DenseGS *p = (PC_DenseGS *)pc->data;

  PetscFunctionBegin;
  if (!p->failed && p->asymmetry < 0) { // several processes compare their rows at the first transpose
    double across = 0, mine[2], largest[2];
    TesseraCallCXX(across = tessera::densegs::difference_across(p->distributed));
    mine[0] = p->largest;
    mine[1] = PetscMax(p->difference, across);
    PetscCallMPI(MPI_Allreduce(mine, largest, 2, MPI_DOUBLE, MPI_MAX, PetscObjectComm((PetscObject)pc)));
    p->asymmetry = largest[0] > 0 ? largest[1] / largest[0] : 0;
  }
  PetscCheck(
    p->failed || p->asymmetry < 1e-12, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
    "PC densegs: the transpose is there for symmetric matrices; the largest |a_ij - a_ji| is %.6g of the largest entry",
    p->asymmetry);
  PetscCheck(p->options.order != TESSERA_GS_RANDOM && p->options.strategy != TESSERA_GS_RELAXED,
             PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "PC densegs: sweeps in random order and relaxed ones have no transpose");
  PetscCall(Sweep(pc, b, y, p->options.sweeps, true,
                  p->options.order == TESSERA_GS_FORWARD    ? tessera::densegs::Order::backward
                  : p->options.order == TESSERA_GS_BACKWARD ? tessera::densegs::Order::forward
                                                            : tessera::densegs::Order::symmetric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ApplyRichardson(PC pc, Vec b, Vec y, Vec, PetscReal, PetscReal, PetscReal, PetscInt its,
                                      PetscBool zero, PetscInt *outits, PCRichardsonConvergedReason *reason)
{
  PC_DenseGS *p = (PC_DenseGS *)pc->data;

  PetscFunctionBegin;
  PetscCall(tessera::CheckMatrix((PetscObject)pc, "PC densegs", pc->pmat)); // there is no product with it that would
  PetscCheck((PetscInt64)its * p->options.sweeps <= 1000000, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PC densegs: %" PetscInt_FMT " iterations of %" PetscInt_FMT
             " sweeps (-pc_densegs_sweeps) are more than 1000000",
             its, p->options.sweeps);
  PetscInt rows, ours, theirs; // which PCApplyRichardson() does not compare, as PCApply() does
  PetscCall(MatGetLocalSize(pc->pmat, &rows, NULL));
  PetscCall(VecGetLocalSize(b, &ours));
  PetscCall(VecGetLocalSize(y, &theirs));
  PetscCheck(rows == ours && rows == theirs, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "PC densegs: the matrix has %" PetscInt_FMT " rows on this process, the right-hand side %" PetscInt_FMT
             " and the solution %" PetscInt_FMT,
             rows, ours, theirs);
  PetscCall(Sweep(pc, b, y, its * p->options.sweeps, zero, (tessera::densegs::Order)(int)p->options.order));
  *outits = p->failed ? 0 : its;
  // KSPRICHARDSON takes it over, and looks at nothing else
  *reason = p->failed ? (PCRichardsonConvergedReason)KSP_DIVERGED_PC_FAILED : PCRICHARDSON_CONVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_DenseGS(PC pc, CompatOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Dense Gauss-Seidel options");
  PetscCall(tessera::ParseOptions<tessera::DenseGSOptions>(PetscOptionsObject, pc));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_DenseGS(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCReset_DenseGS(pc));
  PetscCall(tessera::ComposeDenseGS(pc, PETSC_FALSE));
  delete (PC_DenseGS *)pc->data;
  pc->data = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   PCDENSEGS - Gauss-Seidel, SOR and SSOR with a dense matrix, in parallel and exact in their order.

   Options Database Keys:
+  -pc_densegs_strategy <sequential,row,column,block,graph,graph2,relaxed> - what is done side by side, see
   `PCDenseGSSetStrategy()`
.  -pc_densegs_order <forward,backward,symmetric,random> - order of a sweep, see `PCDenseGSSetOrder()`
.  -pc_densegs_omega <w>                - relaxation factor, see `PCDenseGSSetOmega()`
.  -pc_densegs_sweeps <n>               - sweeps of an application, see `PCDenseGSSetSweeps()`
.  -pc_densegs_precision <auto,double,single> - storage of the matrix, see `PCDenseGSSetPrecision()`
-  -pc_densegs_backend <auto,host,cuda> - where it runs, see `PCDenseGSSetBackend()`

   Level: intermediate

   Notes:
   For `MATSEQDENSE`, `MATMPIDENSE` and `MATSEQDENSECUDA`; others are refused (`MatConvert()` to `MATDENSE`). The
   iterates do not depend on threads, processes or the device, but for rounding, the strategy relaxed and the order
   random on several processes.

   The matrix is copied into panels of rows at setup, so a preconditioner that is kept (`PCSetReusePreconditioner()`)
   is that of the matrix of its setup. On the host OpenMP threads are used where OMP_NUM_THREADS is set. Processes take
   their turns in a sweep: what they share is the multiplication.

   `PCApplyTranspose()` makes the sweeps in the opposite order, which is the transpose where the matrix is symmetric;
   another matrix, the order random and the strategy relaxed are refused.

   Sweeps in symmetric order, the default, are a symmetric preconditioner where the matrix is symmetric; `KSPCG` and the
   like stall with another order, and `-info` says so.

   With `KSPRICHARDSON` and `-ksp_norm_type none` all sweeps are one call, on a device one kernel.

   Reference:
.  * - H. Courtecuisse, J. Allard, Parallel dense Gauss-Seidel algorithm on many-core processors, HPCC 2009

.seealso: `PCCreate()`, `PCSetType()`, `PCSOR`, `SNESVIPGS`, `PCDenseGSSetStrategy()`
M*/
PetscErrorCode tessera::PCCreate_DenseGS(PC pc)
{
  PC_DenseGS *p = nullptr;

  PetscFunctionBegin;
  TesseraCallCXX(p = new PC_DenseGS());
  pc->data                 = (void *)p;
  pc->ops->setup           = PCSetUp_DenseGS;
  pc->ops->presolve        = PCPreSolve_DenseGS;
  pc->ops->reset           = PCReset_DenseGS;
  pc->ops->destroy         = PCDestroy_DenseGS;
  pc->ops->setfromoptions  = PCSetFromOptions_DenseGS;
  pc->ops->view            = ViewDenseGS;
  pc->ops->apply           = NoThrow<Apply, PC, Vec, Vec>;
  pc->ops->applytranspose  = NoThrow<ApplyTranspose, PC, Vec, Vec>;
  pc->ops->applyrichardson = NoThrow<ApplyRichardson, PC, Vec, Vec, Vec, PetscReal, PetscReal, PetscReal, PetscInt,
                                     PetscBool, PetscInt *, PCRichardsonConvergedReason *>;
  PetscCall(ComposeDenseGS(pc, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
