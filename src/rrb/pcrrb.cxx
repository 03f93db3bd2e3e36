// PC rrb: PETSc's face of the repeated red-black factorisation. Its setup is in pcrrb_setup.cxx.
#include "rrb/pcrrb.hpp"
#include "petsc/application.hpp"

using tessera::PC_RRB;
using tessera::OperatorReport;

const char *const PCRRBCoarsenings[]    = {"galerkin",           "lump", "rhombus", "PCRRBCoarsening",
                                           "PC_RRB_COARSENING_", nullptr};
const char *const PCRRBSmoothers[]      = {"auto",     "point",         "line_i",           "line_j",
                                           "line_alt", "PCRRBSmoother", "PC_RRB_SMOOTHER_", nullptr};
const char *const PCRRBInterpolations[] = {
  "auto", "collapse", "least_squares", "PCRRBInterpolation", "PC_RRB_INTERPOLATION_", nullptr};
const char *const PCRRBLumps[]       = {"red", "all", "PCRRBLump", "PC_RRB_LUMP_", nullptr};
const char *const PCRRBCycles[]       = {"auto", "v", "k", "amli", "w", "PCRRBCycle", "PC_RRB_CYCLE_", nullptr};
const char *const TesseraPrecisions[] = {"auto", "double", "single", "TesseraPrecision", "TESSERA_PRECISION_", nullptr};
const char *const TesseraBackends[]   = {"auto", "host", "cuda", "TesseraBackend", "TESSERA_BACKEND_", nullptr};

static PetscErrorCode PCReset_RRB(PC pc)
{
  PC_RRB *r = (PC_RRB *)pc->data;

  PetscFunctionBegin;
  PetscCall(tessera::UseCurrentStream(r->plan.exec.space)); // memory is given back in its order
  PetscCall(r->matrix.Reset());
  PetscCall(r->null.Reset());
  r->plan      = tessera::rrb::Plan();
  r->three.reset();
  r->dirichlet = tessera::DirichletCouplings();
  r->report    = OperatorReport();
  r->current   = PETSC_FALSE;
  r->ready     = PETSC_FALSE;
  r->failed    = PETSC_FALSE;
  r->solves.rechoose = PETSC_FALSE;
  r->solves.needed = 0;
  r->linear       = PETSC_FALSE;
  r->unfit        = PETSC_FALSE;
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

static PetscErrorCode Apply(PC pc, Vec x, Vec y)
{
  PC_RRB       *r = (PC_RRB *)pc->data;
  const double *from;
  double       *to;
  bool          refused;

  PetscFunctionBegin;
  if (r->three) {
    PetscCall(tessera::ApplyThree(pc, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(tessera::RefuseApplication(pc, "PC rrb", r->ready, r->failed, y, &refused));
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
    PetscCall(r->matrix.RestoreRead());
  }
  PetscCall(r->matrix.GetWrite(y, space, &to));
  {
    const tessera::GpuTime time(space);
    if (natural) tessera::rrb::apply_natural(r->plan, from, to);
    else tessera::rrb::apply(r->plan, tessera::natural_view(to, own.x0, own.y0, own.x1 - own.x0));
  }
  PetscCall(r->matrix.RestoreWrite(y));
  if (natural) PetscCall(r->matrix.RestoreRead());
  PetscCall(tessera::LogFlops(space, 2. * r->plan.multiplications()));
  PetscCall(PetscLogEventEnd(tessera::event_rrb_sweep, pc, x, y, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The transpose differs where Dirichlet rows couple one way: z_I = M r_I, z_D = (r_D - A_ID' z_I) / d.
static PetscErrorCode ApplyTranspose(PC pc, Vec x, Vec y)
{
  PC_RRB              *r = (PC_RRB *)pc->data;
  const double        *from;
  double              *to;
  bool                 refused;

  PetscFunctionBegin;
  if (r->three) {
    PetscCheck(!r->three->one_sided, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
               "PC rrb: in three dimensions there is no transpose where other rows are coupled with Dirichlet rows. "
               "MatZeroRowsColumns() empties these columns; KSP gmres and bcgs need no transpose");
    PetscCall(tessera::ApplyThree(pc, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(tessera::RefuseApplication(pc, "PC rrb", r->ready, r->failed, y, &refused));
  if (refused) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(r->plan.cycle != tessera::rrb::Cycle::k, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "PC rrb: the K-cycle is not linear, so it has no transpose. Use -pc_rrb_cycle v or amli");
  PetscCall(PetscLogEventBegin(tessera::event_rrb_sweep, pc, x, y, 0));
  const tessera::Box own = r->matrix.grid().owned();
  PetscCall(tessera::UseCurrentStream(r->plan.exec.space));
  PetscCall(r->matrix.GetRead(x, r->plan.exec.space, &from));
  tessera::rrb::load(r->plan, from);
  PetscCall(r->matrix.RestoreRead());
  PetscCall(r->matrix.GetWrite(y, r->plan.exec.space, &to));
  const tessera::View<double> z = tessera::natural_view(to, own.x0, own.y0, own.x1 - own.x0);
  {
    const tessera::GpuTime time(r->plan.exec.space);
    tessera::rrb::apply(r->plan, z);
  }
  if (r->dirichlet.any) {
    tessera::rrb::Level &finest = r->plan.levels[0];
    tessera::rrb::load(r->plan, to);
    dirichlet_transpose(r->plan.exec, own, r->dirichlet, finest.b.data, finest.b.v);
    finest.halo.fold(finest.b.v, tessera::mask_all); // sums for other processes' Dirichlet rows
    dirichlet_add(r->plan.exec, own, finest.b.v, z);
    finest.b.data.zero();
  }
  PetscCall(r->matrix.RestoreWrite(y));
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
  if (!r->failed && !r->three && !r->matrix.moved() && tessera::rrb::takes_several(r->plan)) {
    PetscCall(PetscLogEventBegin(tessera::event_rrb_sweep, pc, X, Y, 0));
    PetscCall(r->columns.Each(
      X, Y, r->plan.exec.space,
      [&](int number, const double *from, ptrdiff_t stride_from, double *to, ptrdiff_t stride_to) {
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
  PC_RRB *const r = (PC_RRB *)pc->data;

  PetscFunctionBegin;
  PetscCall((tessera::ApplyWithNullSpace<F>(
    pc, "PC rrb", r->null, x, y,
    [&] {
      const bool joined = r->three ? r->three->solver && r->three->solver->peers() : r->plan.total != nullptr;
      return tessera::device::failed() || (joined && tessera::Peers::lost());
    },
    [&](bool here) {
      if (here) r->matrix.ForgetCopies();
    })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_RRB(PC pc, CompatOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "RRB options");
  PetscCall(tessera::ParseOptions<tessera::RRBOptions>(PetscOptionsObject, pc));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_RRB(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCReset_RRB(pc));
  PetscCall(tessera::ComposeRRB(pc, PETSC_FALSE));
  delete (PC_RRB *)pc->data;
  pc->data = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   PCRRB - repeated red-black multigrid and factorization (RRB), a fine-grain parallel method with multigrid-like
   convergence for 5- and 9-point operators on two-dimensional grids, and 7- and 27-point operators on
   three-dimensional ones.

   Options Database Keys:
+  -pc_rrb_levels <l>                   - levels, two to a grid; 0 for automatic, see
   `PCRRBSetLevels()`
.  -pc_rrb_quarters <g>                 - grids stored by quarters (r1/r2/b1/b2), the others in natural order; -1 for
   all, see `PCRRBSetQuarters()`
.  -pc_rrb_coarsening <galerkin,lump,rhombus> - how the next operator is made, see `PCRRBSetCoarsening()`
.  -pc_rrb_smoother <auto,point,line_i,line_j,line_alt> - Galerkin: points or lines, see `PCRRBSetSmoother()`
.  -pc_rrb_sweeps <nu>                  - Galerkin: sweeps before and after the next grid, see `PCRRBSetSweeps()`
.  -pc_rrb_interpolation <auto,collapse,least_squares> - Galerkin: weights, see `PCRRBSetInterpolation()`
.  -pc_rrb_trial <bool>                 - Galerkin: try the choice where coefficients jump, see `PCRRBSetTrial()`
.  -pc_rrb_omega <w>                    - share of a dropped coupling that is lumped, 0 to 1, see `PCRRBSetOmega()`
.  -pc_rrb_lump <red,all>               - lump at the eliminated nodes or at all, see `PCRRBSetLump()`
.  -pc_rrb_cycle <auto,v,k,amli,w>      - how coarse grids are visited, see `PCRRBSetCycle()`
.  -pc_rrb_cycle_every <m>              - K and AMLI accelerate on every m-th grid, see `PCRRBSetCycleEvery()`
.  -pc_rrb_cycle_inner <nu>             - with so many steps, see `PCRRBSetCycleInner()`
.  -pc_rrb_redundant <nodes>            - the first grid of at most so many nodes goes to every process, see
   `PCRRBSetRedundant()`
.  -pc_rrb_peers <bool>                 - processes of one host write into each other's device memory, see
   `PCRRBSetPeers()`
.  -pc_rrb_precision <auto,double,single> - storage of the factors, see `PCRRBSetPrecision()`
.  -pc_rrb_grid <nx,ny[,nz]>            - grid of a matrix without a `DMDA`, see `PCRRBSetGrid()` and
   `PCRRBSetGrid3d()`
-  -pc_rrb_backend <auto,host,cuda>     - where it runs, see `PCRRBSetBackend()`

   Level: intermediate

   Notes:
   The grid is the solver's or the matrix's `DMDA`, with one unknown per node, of any size; periodic directions of the
   plane need an even size. Without one it is what `PCRRBSetGrid()` or `PCRRBSetGrid3d()` says, or in the plane it is
   found by the couplings of the rows, as for the blocks of `PCBJACOBI` and `PCASM`; on the matrices of
   `SNESVINEWTONRSLS` it is the `DMDA` with its inactive nodes. Couplings are read from the matrix, not from the
   `DMDA`'s stencil. The matrix should be symmetric positive definite, or semidefinite with the constant null space; of
   another matrix the mean with its transpose is factorized, for `KSPGMRES`.

   A row without off-diagonal entries is a Dirichlet row. It is eliminated although its neighbors may be coupled to
   it, so matrices with one-sided boundary couplings work under `KSPCG`.

   `PCMatApply()` of the Galerkin form on the host reads the coefficients once for 8 vectors, in double precision also
   for 4; the other forms, lines, and a device take one vector after the other.

   The cycle `k` is not linear: use it under `KSPFCG`, `KSPFGMRES` or `KSPRRB`.

   `PCGetInterpolations()` and `PCGetCoarseOperators()` give the grids of the Galerkin form, each operator being P'AP
   of the one before; the other forms have no such pair. Nodes of the finest grid without couplings, as Dirichlet rows,
   take no part in them.

   References:
+  * - M. de Jong, A. van der Ploeg, A. Ditzel, K. Vuik, Fine-grain parallel RRB-solver for 5-/9-point stencil
   problems suitable for GPU-type processors, Electronic Transactions on Numerical Analysis 48, 2018
-  * - M. de Jong, C. Vuik, GPU implementation of the RRB-solver, Report 16-06, Delft University of Technology, 2016

.seealso: `PCCreate()`, `PCSetType()`, `KSPRRB`, `PCRRBSetLevels()`, `PCRRBSetCycle()`
M*/
PetscErrorCode tessera::PCCreate_RRB(PC pc)
{
  PC_RRB *r = nullptr;

  PetscFunctionBegin;
  TesseraCallCXX(r = new PC_RRB());
  pc->data                = (void *)r;
  pc->ops->setup          = NoThrow<tessera::SetUpRRB, PC>;
  pc->ops->reset          = PCReset_RRB;
  pc->ops->destroy        = PCDestroy_RRB;
  pc->ops->setfromoptions = PCSetFromOptions_RRB;
  pc->ops->view           = tessera::ViewRRB;
  pc->ops->presolve       = tessera::BeforeSolveRRB;
  pc->ops->postsolve      = tessera::AfterSolveRRB;
  pc->ops->apply          = Applied<Apply>;
  pc->ops->applytranspose = Applied<ApplyTranspose>;
  pc->ops->matapply       = Applied<MatApply>;
  PetscCall(ComposeRRB(pc, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
