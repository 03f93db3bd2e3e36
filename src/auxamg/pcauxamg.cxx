// PC auxamg: PETSc's face of the multigrid on auxiliary grids.
#include "auxamg/pcauxamg.hpp"
#include "petsc/application.hpp"
#include "petsc/krylov.hpp"
#include <algorithm>

using tessera::PC_AuxAMG;
using tessera::WithHierarchy;

const char *const PCAuxAMGVariants[]       = {"tree", "aggregation", "PCAuxAMGVariant", "PC_AUXAMG_", nullptr};
const char *const PCAuxAMGInterpolations[] = {
  "auto", "linear", "kuhn", "PCAuxAMGInterpolation", "PC_AUXAMG_INTERPOLATION_", nullptr};
const char *const PCAuxAMGCycles[] = {"auto", "v", "w", "k", "amli", "PCAuxAMGCycle", "PC_AUXAMG_CYCLE_", nullptr};
const char *const PCAuxAMGSmoothers[]      = {
       "auto", "chebyshev", "jacobi", "gs", "block_gs", "PCAuxAMGSmoother", "PC_AUXAMG_SMOOTHER_", nullptr};
const char *const PCAuxAMGFilters[] = {"auto", "off", "on", "PCAuxAMGFilter", "PC_AUXAMG_FILTER_", nullptr};

static PetscErrorCode PCReset_AuxAMG(PC pc)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;

  PetscFunctionBegin;
  PetscCall(tessera::UseCurrentStream(tessera::Space::host)); // memory is given back in its order
  PetscCall(a->rows.Restore());
  PetscCall(a->rows.Reset());
  PetscCall(a->null.Reset());
  a->in_double.reset();
  a->in_single.reset();
  a->read    = tessera::VectorView();
  a->write   = tessera::VectorView();
  a->columns = tessera::Columns();
  a->current = a->ready = a->failed = PETSC_FALSE;
  a->linear = a->asked = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <bool transposed> static PetscErrorCode Apply(PC pc, Vec x, Vec y)
{
  PC_AuxAMG *a      = (PC_AuxAMG *)pc->data;
  bool       linear = true, refused;
  PetscBool  known = PETSC_FALSE, symmetric = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(tessera::RefuseApplication(pc, "PC auxamg", a->ready, a->failed, y, &refused));
  if (refused) PetscFunctionReturn(PETSC_SUCCESS);
  if (transposed) {
    WithHierarchy(a, [&](auto &h) { linear = h.linear(); });
    PetscCheck(linear, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
               "PC auxamg: the K-cycle is not linear, so it has no transpose. Use -pc_auxamg_cycle v or w");
    PetscCall(MatIsSymmetricKnown(pc->pmat, &known, &symmetric));
  }
  PetscCall(PetscLogEventBegin(tessera::event_auxamg_apply, pc, x, y, 0));
  PetscCall(tessera::ApplyInSpace(a->exec.space, x, y, a->read, a->write, [&](const double *from, double *to) {
    double work = 0;
    WithHierarchy(a, [&](auto &h) {
      h.apply(from, to, transposed && !(known && symmetric));
      work = h.work();
    });
    return 2 * work;
  }));
  PetscCall(PetscLogEventEnd(tessera::event_auxamg_apply, pc, x, y, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Has the device of this process failed, or of one that it exchanges messages with directly?
static bool DeviceFailed(PC_AuxAMG *a)
{
  bool joined = false;
  WithHierarchy(a, [&](auto &h) { joined = h.peers(); });
  return tessera::device::failed() || (joined && tessera::Peers::lost());
}

static PetscErrorCode RestorePeersOf(PC pc)
{
  PC_AuxAMG      *a     = (PC_AuxAMG *)pc->data;
  tessera::Peers *peers = nullptr;

  PetscFunctionBegin;
  if (a->current) WithHierarchy(a, [&](auto &h) { peers = h.peers(); });
  PetscCall(tessera::RestorePeers((PetscObject)pc, peers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What applies the preconditioner takes it for a linear map: from now on it is one.
static PetscErrorCode MakeLinear(PC pc, const char *who)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;

  PetscFunctionBegin;
  a->linear = PETSC_TRUE;
  if (a->options.precision != TESSERA_PRECISION_AUTO || !a->in_single || !a->current)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(tessera::RequestDouble(pc, who, "-pc_auxamg_precision", &a->current));
  PetscCall(PCSetUp(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The K-cycle of more than two grids is another operator in every application. Methods whose residuals take it for the
// same one say that they have converged where they have not.
static PetscErrorCode RefuseCycleK(PC pc, KSP ksp)
{
  PetscBool   symmetric, relies;
  size_t      grids = 0;
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  if (prefix && strstr(prefix, "esteig_")) PetscFunctionReturn(PETSC_SUCCESS); // of KSPCHEBYSHEV: an estimate will do
  WithHierarchy((PC_AuxAMG *)pc->data, [&](auto &h) { grids = h.levels().size(); });
  if (grids <= 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(tessera::NeedsSymmetry(ksp, &symmetric)); // but those that PCPreSolve_AuxAMG() has let pass
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &relies, KSPGMRES, KSPLGMRES, KSPPGMRES, KSPDGMRES, KSPBCGS,
                                      KSPBCGSL, KSPIBCGS, KSPPIPEBCGS, KSPCGS, KSPTFQMR, KSPTCQMR, ""));
  PetscCheck(!symmetric && !relies, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
             "-pc_auxamg_cycle k is not linear, and KSP %s needs a linear preconditioner. Use -ksp_type fgmres or fcg, "
             "or -pc_auxamg_cycle w or amli",
             ((PetscObject)ksp)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPreSolve_AuxAMG(PC pc, KSP ksp, Vec, Vec)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;
  KSPType    type;

  PetscFunctionBegin;
  PetscCall(CompatUserPreSolve(pc, ksp));
  PetscCall(RestorePeersOf(pc));
  a->asked = PETSC_TRUE;
  PetscCall(KSPGetType(ksp, &type));
  if (tessera::StandsRounding(type)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscErrorCode ierr = a->options.cycle == PC_AUXAMG_CYCLE_K ? RefuseCycleK(pc, ksp) : PETSC_SUCCESS;
  if (!ierr) ierr = MakeLinear(pc, type);
  if (ierr) --pc->presolvedone; // which PETSc has counted, and refuses at three
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// V: Vec or Mat
template <auto F, class V> static PetscErrorCode Applied(PC pc, V x, V y)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;

  PetscFunctionBegin;
  PetscCall((tessera::ApplyWithNullSpace<F>(
    pc, "PC auxamg", a->null, x, y, [&] { return DeviceFailed(a); },
    [&](bool) {
      a->read    = tessera::VectorView();
      a->write   = tessera::VectorView();
      a->columns = tessera::Columns();
    })));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <bool transposed> static PetscErrorCode PCApply_AuxAMG(PC pc, Vec x, Vec y)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;

  PetscFunctionBegin;
  if (!a->asked) PetscCall(MakeLinear(pc, "PCApply() without a KSP"));
  PetscCall((Applied<Apply<transposed>, Vec>(pc, x, y)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatApply(PC pc, Mat X, Mat Y)
{
  PC_AuxAMG *a    = (PC_AuxAMG *)pc->data;
  double     work = 0;

  PetscFunctionBegin;
  PetscCheck(a->ready, PetscObjectComm((PetscObject)pc), PETSC_ERR_ORDER,
             "PC auxamg: the last setup ended with an error");
  if (a->failed) {
    PetscCall(tessera::Columns::Set(Y, PETSC_INFINITY));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogEventBegin(tessera::event_auxamg_apply, pc, X, Y, 0));
  PetscCall(tessera::UseCurrentStream(a->exec.space));
  PetscCall(a->columns.Each(
    X, Y, a->exec.space, [&](int number, const double *from, ptrdiff_t stride_from, double *to, ptrdiff_t stride_to) {
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
  PetscCall(RestorePeersOf(pc)); // KSPMatSolve() makes no PCPreSolve()
  if (!a->asked) PetscCall(MakeLinear(pc, "PCMatApply() without a KSP"));
  PetscCall((Applied<MatApply, Mat>(pc, X, Y)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_AuxAMG(PC pc, CompatOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "AuxAMG options");
  PetscCall(tessera::ParseOptions<tessera::AuxAMGOptions>(PetscOptionsObject, pc));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Coordinates go to the device now if the setup will be there, as far as that is known: it has nothing to fetch from
// the host then.
static PetscErrorCode TakeCoordinates(PC pc, const PetscReal *x, size_t n)
{
  PC_AuxAMG *a         = (PC_AuxAMG *)pc->data;
  bool       device    = a->options.backend == TESSERA_BACKEND_CUDA;
  PetscBool  assembled = PETSC_FALSE;

  PetscFunctionBegin;
  if (a->options.backend == TESSERA_BACKEND_AUTO && pc->pmat) PetscCall(MatAssembled(pc->pmat, &assembled));
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
      a->given.finite = tessera::tree::find_ends(exec, (int)a->given.dim, (int)(n / (size_t)a->given.dim),
                                                   a->given.x.data(), nullptr, a->given.low, a->given.high);
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
  // PCFIELDSPLIT that was given coordinates before it knew its fields hands on none
  if (!dim && !n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(dim >= 1 && dim <= 3, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PC auxamg works in 1, 2 or 3 dimensions: PCSetCoordinates() gave %" PetscInt_FMT, dim);
  PetscCall(tessera::CheckPointer("PC auxamg", n, coordinates));
  a->given.dim = dim;
  PetscCall(TakeCoordinates(pc, coordinates, (size_t)(dim * n)));
  a->given.from   = "PCSetCoordinates()";
  ++a->given.number;
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
   PCAUXAMG - multigrid for unstructured meshes in one, two or three dimensions on auxiliary grids made from the
   coordinates of the nodes: d-linear interpolation on an adaptive quadtree or octree, Galerkin operators, Chebyshev
   smoothing

   Options Database Keys:
+  -pc_auxamg_variant <tree,aggregation>       - kind of the auxiliary grids, see `PCAuxAMGSetVariant()`
.  -pc_auxamg_levels <l>                 - grids at most, see `PCAuxAMGSetLevels()`
.  -pc_auxamg_cell_size <m>              - nodes in a cell of the first grid, see `PCAuxAMGSetCellSize()`
.  -pc_auxamg_interpolation <auto,linear,kuhn> - functions on the cells, see `PCAuxAMGSetInterpolation()`
.  -pc_auxamg_cycle <auto,v,w,k,amli>    - visits of coarse grids, see `PCAuxAMGSetCycle()`
.  -pc_auxamg_cycle_inner <n>            - steps of the K-cycle, see `PCAuxAMGSetCycleInner()`
.  -pc_auxamg_smoother <auto,chebyshev,jacobi,gs,block_gs> - see `PCAuxAMGSetSmoother()`
.  -pc_auxamg_smoother_degree <nu>                - its degree, see `PCAuxAMGSetSmootherDegree()`
.  -pc_auxamg_filter <auto,off,on>       - for coefficients that jump, see `PCAuxAMGSetFilter()`
.  -pc_auxamg_stretch <bool>             - undo anisotropy along the axes, see `PCAuxAMGSetStretch()`
.  -pc_auxamg_coarse_size <n>            - unknowns that are solved exactly, see `PCAuxAMGSetCoarseSize()`
.  -pc_auxamg_precision <auto,double,single> - of the hierarchy, see `PCAuxAMGSetPrecision()`
.  -pc_auxamg_single_size <n>            - nodes from which on it may be single, see `PCAuxAMGSetSingleSize()`
.  -pc_auxamg_coordinates <file>         - file of coordinates, see `PCAuxAMGSetCoordinatesFile()`
-  -pc_auxamg_backend <auto,host,cuda>   - where it runs, see `PCAuxAMGSetBackend()`

   Level: intermediate

   Notes:
   The coordinates come from a file, from `PCSetCoordinates()`, from the solver's or the matrix's `DMDA` or `DMPLEX`, or
   from the rigid body modes of `MatSetNearNullSpace()`, the first there is; without any, distances along the couplings
   of the matrix make points. A node is a block of the matrix, of 1 to 6 unknowns; no near-null space is needed, as
   linear functions and so the rotations of elasticity are in the coarse spaces.

   The matrix should be symmetric positive definite, or semidefinite with the constant null space. A row without
   off-diagonal entries is a Dirichlet row: it takes no part, and couplings with it are moved to the right-hand side,
   so matrices with one-sided boundary couplings work under `KSPCG`. A row whose off-diagonal entries sum up to at most
   1e-12 of the diagonal (a boundary condition by penalty) takes no part either.

   With the same nonzero pattern and coordinates a setup computes numbers only.

   `PCApplyTranspose()` and `KSPSolveTranspose()` work with all cycles but the K-cycle, which is not linear. The first
   one makes the transposes of the operators, which take as much memory as these, unless `MAT_SYMMETRIC` is set.

   `PCMatApply()` reads the operators once for 8, 4 or 2 vectors (4 where a node has several unknowns); Gauss-Seidel
   and the K-cycle take one after the other.

   `PCGetInterpolations()` and `PCGetCoarseOperators()` give copies of the hierarchy, in the precision that it is in. A
   last operator may be singular: `PCMG` needs a solver for that, for instance `-mg_coarse_pc_type svd`.

   `MATBAIJ`, `MATSBAIJ`, and `MATNEST`, `MATTRANSPOSEVIRTUAL` and `MATNORMAL` of `MATAIJ` are converted at each setup.

   References:
.  * - L. Wang, X. Hu, J. Cohen, J. Xu, A parallel auxiliary grid algebraic multigrid method for graphic processing
   units, SIAM Journal on Scientific Computing 35(3), 2013

.seealso: `PCCreate()`, `PCSetType()`, `PCGAMG`, `PCSetCoordinates()`
M*/
PetscErrorCode tessera::PCCreate_AuxAMG(PC pc)
{
  PC_AuxAMG *a = nullptr;

  PetscFunctionBegin;
  TesseraCallCXX(a = new PC_AuxAMG());
  pc->data                = (void *)a;
  pc->ops->setup          = NoThrow<SetUpAuxAMG, PC>;
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
