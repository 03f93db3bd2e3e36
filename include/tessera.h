/*
  Tessera: fine-grain parallel solvers for PETSc.

  A program needs this header only when it links the library or calls the setters; every type is also reached by

    ./app -dll_append /path/libtessera.so -pc_type rrb
*/
#pragma once
#include <petsctao.h>

#define TESSERA_VERSION_MAJOR    0
#define TESSERA_VERSION_MINOR    1
#define TESSERA_VERSION_SUBMINOR 0

#define PCRRB     "rrb"
#define KSPRRB    "rrb"
#define PCAUXAMG  "auxamg"
#define PCDENSEGS "densegs"
#define SNESVIPMG "vipmg"
#define SNESVIPGS "vipgs"
#define TAOVIPMG  "vipmg"
#define TAOVIPGS  "vipgs"

/*E
  PCRRBCoarsening - how the operator of the next grid is made

  Values:
+ `PC_RRB_COARSENING_GALERKIN` - as P'AP with operator-dependent interpolation, and sweeps of Gauss-Seidel on each
   grid: few iterations on any grid
. `PC_RRB_COARSENING_LUMP`     - the papers' factorization: couplings that the ordering does not keep are added to the
   diagonal of both ends (de Jong et al., ETNA 48, 2018, section 2.2)
- `PC_RRB_COARSENING_RHOMBUS`  - the same, but they are moved to the four couplings around them, which is exact for
   linear functions

  Level: intermediate

.seealso: `PCRRB`, `PCRRBSetCoarsening()`
E*/
typedef enum {
  PC_RRB_COARSENING_GALERKIN,
  PC_RRB_COARSENING_LUMP,
  PC_RRB_COARSENING_RHOMBUS
} PCRRBCoarsening;
PETSC_EXTERN const char *const PCRRBCoarsenings[];

/*E
  PCRRBSmoother - what the sweeps of the Galerkin form solve for together

  Values:
+ `PC_RRB_SMOOTHER_AUTO`     - chosen for each grid by the share of its nodes whose couplings are weak in one direction
. `PC_RRB_SMOOTHER_POINT`    - the nodes of one color after the other
. `PC_RRB_SMOOTHER_LINE_I`   - every second line along the first index of the `DMDA`, then the others
. `PC_RRB_SMOOTHER_LINE_J`   - the same along the second index
- `PC_RRB_SMOOTHER_LINE_ALT` - both

  Level: intermediate

.seealso: `PCRRB`, `PCRRBSetSmoother()`
E*/
typedef enum {
  PC_RRB_SMOOTHER_AUTO,
  PC_RRB_SMOOTHER_POINT,
  PC_RRB_SMOOTHER_LINE_I,
  PC_RRB_SMOOTHER_LINE_J,
  PC_RRB_SMOOTHER_LINE_ALT
} PCRRBSmoother;
PETSC_EXTERN const char *const PCRRBSmoothers[];

/*E
  PCRRBInterpolation - the weights of the Galerkin form's interpolation

  Values:
+ `PC_RRB_INTERPOLATION_AUTO`          - collapse, or least_squares where the setup trial finds that it is needed
. `PC_RRB_INTERPOLATION_COLLAPSE`      - from the stencil, collapsed across the line between two coarse nodes
- `PC_RRB_INTERPOLATION_LEAST_SQUARES` - corrected so that they reproduce vectors that the smoother does not reduce

  Level: advanced

.seealso: `PCRRB`, `PCRRBSetInterpolation()`
E*/
typedef enum {
  PC_RRB_INTERPOLATION_AUTO,
  PC_RRB_INTERPOLATION_COLLAPSE,
  PC_RRB_INTERPOLATION_LEAST_SQUARES
} PCRRBInterpolation;
PETSC_EXTERN const char *const PCRRBInterpolations[];

/*E
  PCRRBLump - the nodes whose dropped couplings are lumped (report 16-06, section 2.4, table 1)

  Values:
+ `PC_RRB_LUMP_RED` - the nodes that are eliminated next (M1u, M1m)
- `PC_RRB_LUMP_ALL` - also the nodes that are kept (M2u, M2m)

  Level: advanced

.seealso: `PCRRB`, `PCRRBSetLump()`
E*/
typedef enum {
  PC_RRB_LUMP_RED,
  PC_RRB_LUMP_ALL
} PCRRBLump;
PETSC_EXTERN const char *const PCRRBLumps[];

/*E
  PCRRBCycle - how the coarse grids are visited

  Values:
+ `PC_RRB_CYCLE_AUTO` - Galerkin form: V, or AMLI where coefficients jump or the strong direction is oblique; else
   AMLI where the measured spectrum promises a gain, else V
. `PC_RRB_CYCLE_V`    - each grid once, the papers' method
. `PC_RRB_CYCLE_K`    - some steps of flexible CG on every m-th grid; not linear: use it under `KSPFCG` or `KSPRRB`
. `PC_RRB_CYCLE_AMLI` - a Chebyshev polynomial on every m-th grid: linear and symmetric
- `PC_RRB_CYCLE_W`    - in three dimensions: small grids twice; automatic where couplings jump

  Level: intermediate

.seealso: `PCRRB`, `PCRRBSetCycle()`
E*/
typedef enum {
  PC_RRB_CYCLE_AUTO,
  PC_RRB_CYCLE_V,
  PC_RRB_CYCLE_K,
  PC_RRB_CYCLE_AMLI,
  PC_RRB_CYCLE_W
} PCRRBCycle;
PETSC_EXTERN const char *const PCRRBCycles[];

/*E
  SNESVIPMGVariant - what a cycle of multigrid with bounds does

  Values:
+ `SNES_VIPMG_HYBRID`   - monotone multigrid while the active set moves, and truncated Newton multigrid
. `SNES_VIPMG_TNNMG`    - truncated Newton multigrid alone
. `SNES_VIPMG_MONOTONE` - monotone multigrid alone
- `SNES_VIPMG_KLEMENT_OBERHUBER` - Algorithm 1 of Klement and Oberhuber (2015), for comparison

  Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIPMGSetVariant()`, `TAOVIPMG`, `TaoVIPMGSetVariant()`
E*/
typedef enum {
  SNES_VIPMG_HYBRID,
  SNES_VIPMG_TNNMG,
  SNES_VIPMG_MONOTONE,
  SNES_VIPMG_KLEMENT_OBERHUBER
} SNESVIPMGVariant;
PETSC_EXTERN const char *const SNESVIPMGVariants[];

/*E
  SNESVIPMGCycle - how often the coarse grids are visited

  Values:
+ `SNES_VIPMG_CYCLE_AUTO` - V; on the host, in the plane, without symmetry: F, or W where sweeps follow the wind
. `SNES_VIPMG_CYCLE_V`    - once
. `SNES_VIPMG_CYCLE_W`    - twice on every grid
- `SNES_VIPMG_CYCLE_F`    - twice on every grid on the way down

  Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIPMGSetCycle()`, `TAOVIPMG`, `TaoVIPMGSetCycle()`
E*/
typedef enum {
  SNES_VIPMG_CYCLE_AUTO,
  SNES_VIPMG_CYCLE_V,
  SNES_VIPMG_CYCLE_W,
  SNES_VIPMG_CYCLE_F
} SNESVIPMGCycle;
PETSC_EXTERN const char *const SNESVIPMGCycles[];

/*E
  SNESVIPMGLevelsType - what the coarse grids of multigrid with bounds are made from

  Values:
+ `SNES_VIPMG_LEVELS_AUTO` - the grid of a `DMDA` of one unknown per node where there is one, else a tree
. `SNES_VIPMG_LEVELS_BOX`  - the grid of a `DMDA`
- `SNES_VIPMG_LEVELS_TREE` - an adaptive tree over the coordinates of the nodes

  Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIPMGSetLevelsType()`, `TAOVIPMG`, `TaoVIPMGSetLevelsType()`
E*/
typedef enum {
  SNES_VIPMG_LEVELS_AUTO,
  SNES_VIPMG_LEVELS_BOX,
  SNES_VIPMG_LEVELS_TREE
} SNESVIPMGLevelsType;
PETSC_EXTERN const char *const SNESVIPMGLevelsTypes[];

/*S
  SNESVIPMGCertificate - what holds of an answer of `SNESVIPMG`; all of it is zero at the solution

  Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIPMGGetCertificate()`
S*/
typedef struct {
  PetscReal inactive;           /* |F|_2 without nodes that are pressed against a bound, which is what is tested */
  PetscReal natural;            /* |diag(J) (x - P(x - F/diag(J)))|_2, P the projection onto the bounds */
  PetscReal fischer_burmeister; /* residual */
  PetscReal gap;    /* complementarity: the sum of |F_i| times the distance from the finite bound it points to */
  PetscReal primal; /* the largest distance of an x_i from its bounds */
} SNESVIPMGCertificate;

/*E
  PCAuxAMGVariant - the auxiliary grids

  Values:
+ `PC_AUXAMG_TREE`  - the leaves of an adaptive tree, with d-linear functions
- `PC_AUXAMG_AGGREGATION` - those of Wang, Hu, Cohen and Xu (2013): uniform grids over the bounding box, with piecewise
   constants

  Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetVariant()`
E*/
typedef enum {
  PC_AUXAMG_TREE,
  PC_AUXAMG_AGGREGATION
} PCAuxAMGVariant;
PETSC_EXTERN const char *const PCAuxAMGVariants[];

/*E
  PCAuxAMGInterpolation - the functions on the cells of the auxiliary grids

  Values:
+ `PC_AUXAMG_INTERPOLATION_AUTO`   - linear in one and two dimensions, Kuhn in three
. `PC_AUXAMG_INTERPOLATION_LINEAR` - bilinear, in three dimensions trilinear
- `PC_AUXAMG_INTERPOLATION_KUHN`   - linear on the triangles or tetrahedra that share a diagonal of the cell

  Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetInterpolation()`
E*/
typedef enum {
  PC_AUXAMG_INTERPOLATION_AUTO,
  PC_AUXAMG_INTERPOLATION_LINEAR,
  PC_AUXAMG_INTERPOLATION_KUHN
} PCAuxAMGInterpolation;
PETSC_EXTERN const char *const PCAuxAMGInterpolations[];

/*E
  PCAuxAMGCycle - how the coarse grids are visited

  Values:
+ `PC_AUXAMG_CYCLE_AUTO` - V; W where the interpolation is smoothed because coefficients jump (with one unknown a node
   the mesh alone visits its coarse grid twice), or where convection dominates; on the host AMLI where V-cycles are
   slow; K for `PC_AUXAMG_AGGREGATION`
. `PC_AUXAMG_CYCLE_V`    - each grid once
. `PC_AUXAMG_CYCLE_W`    - each grid twice in a visit of the one before
. `PC_AUXAMG_CYCLE_K`    - flexible conjugate gradients on each coarse grid, with the grids below as preconditioner
   (nonlinear AMLI)
- `PC_AUXAMG_CYCLE_AMLI` - two cycles in a row from each coarse grid on which one is slow, weighted by the eigenvalues
   that the first setup finds there; linear

  Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetCycle()`
E*/
typedef enum {
  PC_AUXAMG_CYCLE_AUTO,
  PC_AUXAMG_CYCLE_V,
  PC_AUXAMG_CYCLE_W,
  PC_AUXAMG_CYCLE_K,
  PC_AUXAMG_CYCLE_AMLI
} PCAuxAMGCycle;
PETSC_EXTERN const char *const PCAuxAMGCycles[];

/*E
  PCAuxAMGSmoother - the smoother on all grids

  Values:
+ `PC_AUXAMG_SMOOTHER_AUTO`        - Chebyshev; block Gauss-Seidel for `PC_AUXAMG_AGGREGATION`
. `PC_AUXAMG_SMOOTHER_CHEBYSHEV`   - Chebyshev polynomial of the fourth kind with optimal weights
. `PC_AUXAMG_SMOOTHER_JACOBI`      - damped Jacobi
. `PC_AUXAMG_SMOOTHER_GS`          - Gauss-Seidel by colors, forward before and backward after the next grid
- `PC_AUXAMG_SMOOTHER_BLOCK_GS`    - the same on coarse grids; on the mesh the aggregates are solved exactly, by
   colors (for `PC_AUXAMG_AGGREGATION`)

  Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetSmoother()`
E*/
typedef enum {
  PC_AUXAMG_SMOOTHER_AUTO,
  PC_AUXAMG_SMOOTHER_CHEBYSHEV,
  PC_AUXAMG_SMOOTHER_JACOBI,
  PC_AUXAMG_SMOOTHER_GS,
  PC_AUXAMG_SMOOTHER_BLOCK_GS
} PCAuxAMGSmoother;
PETSC_EXTERN const char *const PCAuxAMGSmoothers[];

/*E
  PCAuxAMGFilter - whether the interpolation is smoothed by the matrix, for coefficients that jump

  Values:
+ `PC_AUXAMG_FILTER_AUTO` - in the plane (in space: for Gauss-Seidel smoothers) where the diagonal entries of neighbors
   differ by more than ten at a line of nodes across the mesh; with several unknowns a node where bodies are too many
   for functions of their own, and for Gauss-Seidel smoothers
. `PC_AUXAMG_FILTER_OFF`  - never
- `PC_AUXAMG_FILTER_ON`   - always

  Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetFilter()`
E*/
typedef enum {
  PC_AUXAMG_FILTER_AUTO,
  PC_AUXAMG_FILTER_OFF,
  PC_AUXAMG_FILTER_ON
} PCAuxAMGFilter;
PETSC_EXTERN const char *const PCAuxAMGFilters[];

/*E
  TesseraBackend - where a solver runs

  Values:
+ `TESSERA_BACKEND_AUTO` - where the operator's values are
. `TESSERA_BACKEND_HOST` - on the host
- `TESSERA_BACKEND_CUDA` - on a CUDA device

  Level: intermediate

.seealso: `PCRRBSetBackend()`, `PCAuxAMGSetBackend()`, `SNESVIPMGSetBackend()`, `SNESVIPGSSetBackend()`
E*/
typedef enum {
  TESSERA_BACKEND_AUTO,
  TESSERA_BACKEND_HOST,
  TESSERA_BACKEND_CUDA
} TesseraBackend;
PETSC_EXTERN const char *const TesseraBackends[];

/*E
  TesseraPrecision - the precision in which a method stores matrices, factors or its hierarchy of grids; the iteration
  around it is in double precision

  Values:
+ `TESSERA_PRECISION_AUTO`   - the method's own choice: `PCRRB` single for the Galerkin form on a device, `PCAUXAMG`
   single on a device or with a polynomial smoother, both double where the solver around them needs a linear map;
   `PCDENSEGS` and `SNESVIPGS` double
. `TESSERA_PRECISION_DOUBLE` - double
- `TESSERA_PRECISION_SINGLE` - single

  Level: intermediate

.seealso: `PCRRBSetPrecision()`, `PCAuxAMGSetPrecision()`, `PCDenseGSSetPrecision()`, `SNESVIPGSSetPrecision()`
E*/
typedef enum {
  TESSERA_PRECISION_AUTO,
  TESSERA_PRECISION_DOUBLE,
  TESSERA_PRECISION_SINGLE
} TesseraPrecision;
PETSC_EXTERN const char *const TesseraPrecisions[];

PETSC_EXTERN PetscErrorCode TesseraInitializePackage(void);
PETSC_EXTERN PetscErrorCode TesseraFinalizePackage(void);

PETSC_EXTERN PetscErrorCode PCRRBSetLevels(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCRRBGetLevels(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCRRBSetQuarters(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCRRBGetQuarters(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCRRBSetCoarsening(PC, PCRRBCoarsening);
PETSC_EXTERN PetscErrorCode PCRRBGetCoarsening(PC, PCRRBCoarsening *);
PETSC_EXTERN PetscErrorCode PCRRBSetSmoother(PC, PCRRBSmoother);
PETSC_EXTERN PetscErrorCode PCRRBGetSmoother(PC, PCRRBSmoother *);
PETSC_EXTERN PetscErrorCode PCRRBSetSweeps(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCRRBGetSweeps(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCRRBSetInterpolation(PC, PCRRBInterpolation);
PETSC_EXTERN PetscErrorCode PCRRBGetInterpolation(PC, PCRRBInterpolation *);
PETSC_EXTERN PetscErrorCode PCRRBSetTrial(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCRRBGetTrial(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCRRBSetOmega(PC, PetscReal);
PETSC_EXTERN PetscErrorCode PCRRBGetOmega(PC, PetscReal *);
PETSC_EXTERN PetscErrorCode PCRRBSetLump(PC, PCRRBLump);
PETSC_EXTERN PetscErrorCode PCRRBGetLump(PC, PCRRBLump *);
PETSC_EXTERN PetscErrorCode PCRRBSetCycle(PC, PCRRBCycle);
PETSC_EXTERN PetscErrorCode PCRRBGetCycle(PC, PCRRBCycle *);
PETSC_EXTERN PetscErrorCode PCRRBSetCycleEvery(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCRRBGetCycleEvery(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCRRBSetCycleInner(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCRRBGetCycleInner(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCRRBSetRedundant(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCRRBGetRedundant(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCRRBSetPeers(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCRRBGetPeers(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCRRBSetPrecision(PC, TesseraPrecision);
PETSC_EXTERN PetscErrorCode PCRRBGetPrecision(PC, TesseraPrecision *);
PETSC_EXTERN PetscErrorCode PCRRBSetGrid(PC, PetscInt, PetscInt);
PETSC_EXTERN PetscErrorCode PCRRBGetGrid(PC, PetscInt *, PetscInt *);
PETSC_EXTERN PetscErrorCode PCRRBSetGrid3d(PC, PetscInt, PetscInt, PetscInt);
PETSC_EXTERN PetscErrorCode PCRRBGetGrid3d(PC, PetscInt *, PetscInt *, PetscInt *);
PETSC_EXTERN PetscErrorCode PCRRBSetBackend(PC, TesseraBackend);
PETSC_EXTERN PetscErrorCode PCRRBGetBackend(PC, TesseraBackend *);
PETSC_EXTERN PetscErrorCode KSPRRBSetBackend(KSP, TesseraBackend);
PETSC_EXTERN PetscErrorCode KSPRRBGetBackend(KSP, TesseraBackend *);
PETSC_EXTERN PetscErrorCode SNESVIPMGSetVariant(SNES, SNESVIPMGVariant);
PETSC_EXTERN PetscErrorCode SNESVIPMGGetVariant(SNES, SNESVIPMGVariant *);
PETSC_EXTERN PetscErrorCode SNESVIPMGSetCycle(SNES, SNESVIPMGCycle);
PETSC_EXTERN PetscErrorCode SNESVIPMGGetCycle(SNES, SNESVIPMGCycle *);
PETSC_EXTERN PetscErrorCode SNESVIPMGSetFMG(SNES, PetscBool);
PETSC_EXTERN PetscErrorCode SNESVIPMGGetFMG(SNES, PetscBool *);
PETSC_EXTERN PetscErrorCode SNESVIPMGSetSweeps(SNES, PetscInt, PetscInt);
PETSC_EXTERN PetscErrorCode SNESVIPMGGetSweeps(SNES, PetscInt *, PetscInt *);
PETSC_EXTERN PetscErrorCode SNESVIPMGSetOmega(SNES, PetscReal);
PETSC_EXTERN PetscErrorCode SNESVIPMGGetOmega(SNES, PetscReal *);
PETSC_EXTERN PetscErrorCode SNESVIPMGSetLevels(SNES, PetscInt);
PETSC_EXTERN PetscErrorCode SNESVIPMGGetLevels(SNES, PetscInt *);
PETSC_EXTERN PetscErrorCode SNESVIPMGSetLevelsType(SNES, SNESVIPMGLevelsType);
PETSC_EXTERN PetscErrorCode SNESVIPMGGetLevelsType(SNES, SNESVIPMGLevelsType *);
PETSC_EXTERN PetscErrorCode SNESVIPMGSetCoordinatesFile(SNES, const char *);
PETSC_EXTERN PetscErrorCode SNESVIPMGGetCoordinatesFile(SNES, const char **);
PETSC_EXTERN PetscErrorCode SNESVIPMGSetNormalsFile(SNES, const char *);
PETSC_EXTERN PetscErrorCode SNESVIPMGGetNormalsFile(SNES, const char **);
PETSC_EXTERN PetscErrorCode SNESVIPMGSetBackend(SNES, TesseraBackend);
PETSC_EXTERN PetscErrorCode SNESVIPMGGetBackend(SNES, TesseraBackend *);
PETSC_EXTERN PetscErrorCode SNESVIPMGSetMonitor(SNES, PetscBool);
PETSC_EXTERN PetscErrorCode SNESVIPMGGetMonitor(SNES, PetscBool *);
PETSC_EXTERN PetscErrorCode SNESVIPMGGetCertificate(SNES, SNESVIPMGCertificate *);
PETSC_EXTERN PetscErrorCode TaoVIPMGSetVariant(Tao, SNESVIPMGVariant);
PETSC_EXTERN PetscErrorCode TaoVIPMGGetVariant(Tao, SNESVIPMGVariant *);
PETSC_EXTERN PetscErrorCode TaoVIPMGSetCycle(Tao, SNESVIPMGCycle);
PETSC_EXTERN PetscErrorCode TaoVIPMGGetCycle(Tao, SNESVIPMGCycle *);
PETSC_EXTERN PetscErrorCode TaoVIPMGSetFMG(Tao, PetscBool);
PETSC_EXTERN PetscErrorCode TaoVIPMGGetFMG(Tao, PetscBool *);
PETSC_EXTERN PetscErrorCode TaoVIPMGSetSweeps(Tao, PetscInt, PetscInt);
PETSC_EXTERN PetscErrorCode TaoVIPMGGetSweeps(Tao, PetscInt *, PetscInt *);
PETSC_EXTERN PetscErrorCode TaoVIPMGSetOmega(Tao, PetscReal);
PETSC_EXTERN PetscErrorCode TaoVIPMGGetOmega(Tao, PetscReal *);
PETSC_EXTERN PetscErrorCode TaoVIPMGSetLevels(Tao, PetscInt);
PETSC_EXTERN PetscErrorCode TaoVIPMGGetLevels(Tao, PetscInt *);
PETSC_EXTERN PetscErrorCode TaoVIPMGSetLevelsType(Tao, SNESVIPMGLevelsType);
PETSC_EXTERN PetscErrorCode TaoVIPMGGetLevelsType(Tao, SNESVIPMGLevelsType *);
PETSC_EXTERN PetscErrorCode TaoVIPMGSetCoordinatesFile(Tao, const char *);
PETSC_EXTERN PetscErrorCode TaoVIPMGGetCoordinatesFile(Tao, const char **);
PETSC_EXTERN PetscErrorCode TaoVIPMGSetBackend(Tao, TesseraBackend);
PETSC_EXTERN PetscErrorCode TaoVIPMGGetBackend(Tao, TesseraBackend *);
PETSC_EXTERN PetscErrorCode TaoVIPMGSetMonitor(Tao, PetscBool);
PETSC_EXTERN PetscErrorCode TaoVIPMGGetMonitor(Tao, PetscBool *);

/*E
  TesseraGSStrategy - what the sweeps of dense Gauss-Seidel do side by side (Courtecuisse and Allard, HPCC 2009,
  sections III and IV)

  Values:
+ `TESSERA_GS_SEQUENTIAL` - nothing
. `TESSERA_GS_ROW`        - the products of one row; a barrier for every row
. `TESSERA_GS_COLUMN`     - the products with one unknown; a barrier for every unknown
. `TESSERA_GS_BLOCK`      - the products with a panel of 64 unknowns; a barrier for every panel
. `TESSERA_GS_GRAPH`      - panels of rows, each as far as the unknowns it needs are there: an atomic counter, no
   barriers
. `TESSERA_GS_GRAPH2`     - the same; waiting is used for the next panel (on a device: for fetching the next tile)
- `TESSERA_GS_RELAXED`    - nobody waits: other iterates in every run, and no promise of convergence

  Level: intermediate

.seealso: `PCDENSEGS`, `SNESVIPGS`, `TAOVIPGS`
E*/
typedef enum {
  TESSERA_GS_SEQUENTIAL,
  TESSERA_GS_ROW,
  TESSERA_GS_COLUMN,
  TESSERA_GS_BLOCK,
  TESSERA_GS_GRAPH,
  TESSERA_GS_GRAPH2,
  TESSERA_GS_RELAXED
} TesseraGSStrategy;
PETSC_EXTERN const char *const TesseraGSStrategies[];

/*E
  TesseraGSOrder - the order in which a sweep takes the unknowns

  Values:
+ `TESSERA_GS_FORWARD`   - ascending
. `TESSERA_GS_BACKWARD`  - descending
. `TESSERA_GS_SYMMETRIC` - ascending, then descending; together they read the matrix once
- `TESSERA_GS_RANDOM`    - panels of 64, and the unknowns of a panel, in another order in every sweep; the same orders
   in every run

  Level: intermediate

.seealso: `PCDENSEGS`, `SNESVIPGS`, `TAOVIPGS`
E*/
typedef enum {
  TESSERA_GS_FORWARD,
  TESSERA_GS_BACKWARD,
  TESSERA_GS_SYMMETRIC,
  TESSERA_GS_RANDOM
} TesseraGSOrder;
PETSC_EXTERN const char *const TesseraGSOrders[];

/*E
  SNESVIPGSAcceleration - how the sweeps of `SNESVIPGS` are accelerated

  Values:
+ `SNES_VIPGS_ACCELERATION_AUTO`     - nesterov where the matrix and the order are symmetric, else none
. `SNES_VIPGS_ACCELERATION_NONE`     - not at all
. `SNES_VIPGS_ACCELERATION_NESTEROV` - momentum over whole sweeps, with restarts
. `SNES_VIPGS_ACCELERATION_NNCG`     - nonsmooth nonlinear conjugate gradients on the steps of the sweeps
- `SNES_VIPGS_ACCELERATION_MPRGP`    - no sweeps: conjugate gradients with projections, for symmetric positive
   semidefinite matrices

  Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetAcceleration()`, `TAOVIPGS`, `TaoVIPGSSetAcceleration()`
E*/
typedef enum {
  SNES_VIPGS_ACCELERATION_AUTO,
  SNES_VIPGS_ACCELERATION_NONE,
  SNES_VIPGS_ACCELERATION_NESTEROV,
  SNES_VIPGS_ACCELERATION_NNCG,
  SNES_VIPGS_ACCELERATION_MPRGP
} SNESVIPGSAcceleration;
PETSC_EXTERN const char *const SNESVIPGSAccelerations[];

/*E
  SNESVIPGSFriction - the law that bounds tangential forces

  Values:
+ `SNES_VIPGS_FRICTION_CONE`    - Coulomb's: the length of the tangential force is at most mu times the normal force
- `SNES_VIPGS_FRICTION_PYRAMID` - each tangential component is

  Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetFrictionLaw()`, `TAOVIPGS`, `TaoVIPGSSetFrictionLaw()`
E*/
typedef enum {
  SNES_VIPGS_FRICTION_CONE,
  SNES_VIPGS_FRICTION_PYRAMID
} SNESVIPGSFriction;
PETSC_EXTERN const char *const SNESVIPGSFrictions[];

/*E
  SNESVIPGSReason - how a solve with `SNESVIPGS` ended

  Values:
+ `SNES_VIPGS_CONVERGED`  - the convergence test of the `SNES` was met
. `SNES_VIPGS_MAXIMUM`    - iterations, sweeps or factorizations are used up
. `SNES_VIPGS_STALLED`    - the residual does not fall any more
. `SNES_VIPGS_CYCLING`    - the iterates come back
. `SNES_VIPGS_INFEASIBLE` - no x has x >= lower and F(x) >= 0, as a vector shows up to 1e-10 of the matrix
- `SNES_VIPGS_DIVERGED`   - the iterates grow without bound

  Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSGetCertificate()`, `TAOVIPGS`, `TaoVIPGSGetCertificate()`
E*/
typedef enum {
  SNES_VIPGS_CONVERGED,
  SNES_VIPGS_MAXIMUM,
  SNES_VIPGS_STALLED,
  SNES_VIPGS_CYCLING,
  SNES_VIPGS_INFEASIBLE,
  SNES_VIPGS_DIVERGED
} SNESVIPGSReason;
PETSC_EXTERN const char *const SNESVIPGSReasons[];

/*S
  SNESVIPGSCertificate - what holds of an answer of `SNESVIPGS`, computed from it with the matrix in double precision

  Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSGetCertificate()`, `TAOVIPGS`, `TaoVIPGSGetCertificate()`
S*/
typedef struct {
  PetscReal       natural;        /* |x - P(x - F(x))|_2, P the projection onto the bounds or cones */
  PetscReal       relative;       /* the same over |F(0)|_2 */
  PetscReal gap; /* complementarity: sum of distances from the bounds times |F_i| of the sign that belongs to them */
  PetscReal       primal;         /* the largest distance of an x_i from its bounds or its cone */
  PetscReal       dual;           /* the largest |F_i| of a sign that no bound of x_i allows */
  PetscInt        sweeps;         /* sweeps, or products of mprgp */
  PetscInt        factorizations; /* of the Newton method */
  PetscInt        proximal;       /* subproblems of the proximal loop */
  PetscBool       fell_back;      /* the relaxed strategy did not converge, and graph took its place */
  SNESVIPGSReason reason;
} SNESVIPGSCertificate;

PETSC_EXTERN PetscErrorCode PCDenseGSSetStrategy(PC, TesseraGSStrategy);
PETSC_EXTERN PetscErrorCode PCDenseGSGetStrategy(PC, TesseraGSStrategy *);
PETSC_EXTERN PetscErrorCode PCDenseGSSetOrder(PC, TesseraGSOrder);
PETSC_EXTERN PetscErrorCode PCDenseGSGetOrder(PC, TesseraGSOrder *);
PETSC_EXTERN PetscErrorCode PCDenseGSSetOmega(PC, PetscReal);
PETSC_EXTERN PetscErrorCode PCDenseGSGetOmega(PC, PetscReal *);
PETSC_EXTERN PetscErrorCode PCDenseGSSetSweeps(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCDenseGSGetSweeps(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCDenseGSSetPrecision(PC, TesseraPrecision);
PETSC_EXTERN PetscErrorCode PCDenseGSGetPrecision(PC, TesseraPrecision *);
PETSC_EXTERN PetscErrorCode PCDenseGSSetBackend(PC, TesseraBackend);
PETSC_EXTERN PetscErrorCode PCDenseGSGetBackend(PC, TesseraBackend *);
PETSC_EXTERN PetscErrorCode SNESVIPGSSetStrategy(SNES, TesseraGSStrategy);
PETSC_EXTERN PetscErrorCode SNESVIPGSGetStrategy(SNES, TesseraGSStrategy *);
PETSC_EXTERN PetscErrorCode SNESVIPGSSetOrder(SNES, TesseraGSOrder);
PETSC_EXTERN PetscErrorCode SNESVIPGSGetOrder(SNES, TesseraGSOrder *);
PETSC_EXTERN PetscErrorCode SNESVIPGSSetOmega(SNES, PetscReal);
PETSC_EXTERN PetscErrorCode SNESVIPGSGetOmega(SNES, PetscReal *);
PETSC_EXTERN PetscErrorCode SNESVIPGSSetPrecision(SNES, TesseraPrecision);
PETSC_EXTERN PetscErrorCode SNESVIPGSGetPrecision(SNES, TesseraPrecision *);
PETSC_EXTERN PetscErrorCode SNESVIPGSSetBackend(SNES, TesseraBackend);
PETSC_EXTERN PetscErrorCode SNESVIPGSGetBackend(SNES, TesseraBackend *);
PETSC_EXTERN PetscErrorCode SNESVIPGSSetAcceleration(SNES, SNESVIPGSAcceleration);
PETSC_EXTERN PetscErrorCode SNESVIPGSGetAcceleration(SNES, SNESVIPGSAcceleration *);
PETSC_EXTERN PetscErrorCode SNESVIPGSSetNewton(SNES, PetscBool);
PETSC_EXTERN PetscErrorCode SNESVIPGSGetNewton(SNES, PetscBool *);
PETSC_EXTERN PetscErrorCode SNESVIPGSSetSweeps(SNES, PetscInt);
PETSC_EXTERN PetscErrorCode SNESVIPGSGetSweeps(SNES, PetscInt *);
PETSC_EXTERN PetscErrorCode SNESVIPGSSetCheck(SNES, PetscInt);
PETSC_EXTERN PetscErrorCode SNESVIPGSGetCheck(SNES, PetscInt *);
PETSC_EXTERN PetscErrorCode SNESVIPGSSetMaxFactorizations(SNES, PetscInt);
PETSC_EXTERN PetscErrorCode SNESVIPGSGetMaxFactorizations(SNES, PetscInt *);
PETSC_EXTERN PetscErrorCode SNESVIPGSSetBlock(SNES, PetscInt);
PETSC_EXTERN PetscErrorCode SNESVIPGSGetBlock(SNES, PetscInt *);
PETSC_EXTERN PetscErrorCode SNESVIPGSSetFrictionCoefficient(SNES, PetscReal);
PETSC_EXTERN PetscErrorCode SNESVIPGSGetFrictionCoefficient(SNES, PetscReal *);
PETSC_EXTERN PetscErrorCode SNESVIPGSSetFrictionLaw(SNES, SNESVIPGSFriction);
PETSC_EXTERN PetscErrorCode SNESVIPGSGetFrictionLaw(SNES, SNESVIPGSFriction *);
PETSC_EXTERN PetscErrorCode SNESVIPGSSetFriction(SNES, Vec);
PETSC_EXTERN PetscErrorCode SNESVIPGSGetFriction(SNES, Vec *);
PETSC_EXTERN PetscErrorCode SNESVIPGSGetCertificate(SNES, SNESVIPGSCertificate *);
PETSC_EXTERN PetscErrorCode TaoVIPGSSetStrategy(Tao, TesseraGSStrategy);
PETSC_EXTERN PetscErrorCode TaoVIPGSGetStrategy(Tao, TesseraGSStrategy *);
PETSC_EXTERN PetscErrorCode TaoVIPGSSetOrder(Tao, TesseraGSOrder);
PETSC_EXTERN PetscErrorCode TaoVIPGSGetOrder(Tao, TesseraGSOrder *);
PETSC_EXTERN PetscErrorCode TaoVIPGSSetOmega(Tao, PetscReal);
PETSC_EXTERN PetscErrorCode TaoVIPGSGetOmega(Tao, PetscReal *);
PETSC_EXTERN PetscErrorCode TaoVIPGSSetPrecision(Tao, TesseraPrecision);
PETSC_EXTERN PetscErrorCode TaoVIPGSGetPrecision(Tao, TesseraPrecision *);
PETSC_EXTERN PetscErrorCode TaoVIPGSSetBackend(Tao, TesseraBackend);
PETSC_EXTERN PetscErrorCode TaoVIPGSGetBackend(Tao, TesseraBackend *);
PETSC_EXTERN PetscErrorCode TaoVIPGSSetAcceleration(Tao, SNESVIPGSAcceleration);
PETSC_EXTERN PetscErrorCode TaoVIPGSGetAcceleration(Tao, SNESVIPGSAcceleration *);
PETSC_EXTERN PetscErrorCode TaoVIPGSSetNewton(Tao, PetscBool);
PETSC_EXTERN PetscErrorCode TaoVIPGSGetNewton(Tao, PetscBool *);
PETSC_EXTERN PetscErrorCode TaoVIPGSSetSweeps(Tao, PetscInt);
PETSC_EXTERN PetscErrorCode TaoVIPGSGetSweeps(Tao, PetscInt *);
PETSC_EXTERN PetscErrorCode TaoVIPGSSetCheck(Tao, PetscInt);
PETSC_EXTERN PetscErrorCode TaoVIPGSGetCheck(Tao, PetscInt *);
PETSC_EXTERN PetscErrorCode TaoVIPGSSetMaxFactorizations(Tao, PetscInt);
PETSC_EXTERN PetscErrorCode TaoVIPGSGetMaxFactorizations(Tao, PetscInt *);
PETSC_EXTERN PetscErrorCode TaoVIPGSSetBlock(Tao, PetscInt);
PETSC_EXTERN PetscErrorCode TaoVIPGSGetBlock(Tao, PetscInt *);
PETSC_EXTERN PetscErrorCode TaoVIPGSSetFrictionCoefficient(Tao, PetscReal);
PETSC_EXTERN PetscErrorCode TaoVIPGSGetFrictionCoefficient(Tao, PetscReal *);
PETSC_EXTERN PetscErrorCode TaoVIPGSSetFrictionLaw(Tao, SNESVIPGSFriction);
PETSC_EXTERN PetscErrorCode TaoVIPGSGetFrictionLaw(Tao, SNESVIPGSFriction *);
PETSC_EXTERN PetscErrorCode TaoVIPGSSetFriction(Tao, Vec);
PETSC_EXTERN PetscErrorCode TaoVIPGSGetFriction(Tao, Vec *);
PETSC_EXTERN PetscErrorCode TaoVIPGSGetCertificate(Tao, SNESVIPGSCertificate *);
PETSC_EXTERN PetscErrorCode SNESVIPGSCreateLCP(Mat, Vec, Vec, Vec, SNES *);

PETSC_EXTERN PetscErrorCode PCAuxAMGSetVariant(PC, PCAuxAMGVariant);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetVariant(PC, PCAuxAMGVariant *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetLevels(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetLevels(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetCellSize(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetCellSize(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetInterpolation(PC, PCAuxAMGInterpolation);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetInterpolation(PC, PCAuxAMGInterpolation *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetCycle(PC, PCAuxAMGCycle);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetCycle(PC, PCAuxAMGCycle *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetCycleInner(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetCycleInner(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetSmoother(PC, PCAuxAMGSmoother);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetSmoother(PC, PCAuxAMGSmoother *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetSmootherDegree(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetSmootherDegree(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetFilter(PC, PCAuxAMGFilter);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetFilter(PC, PCAuxAMGFilter *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetStretch(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetStretch(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetCoarseSize(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetCoarseSize(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetPrecision(PC, TesseraPrecision);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetPrecision(PC, TesseraPrecision *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetSingleSize(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetSingleSize(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetBackend(PC, TesseraBackend);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetBackend(PC, TesseraBackend *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetCoordinatesFile(PC, const char[]);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetCoordinatesFile(PC, const char *[]);
PETSC_EXTERN PetscErrorCode TesseraLCPSolveBatch(PetscInt, PetscInt, const PetscReal[], const PetscReal[],
                                                 const PetscReal[], const PetscReal[], PetscMemType, TesseraBackend,
                                                 PetscReal, PetscInt, PetscReal[], PetscReal[], PetscInt *);
#include "tessera_info.h"
