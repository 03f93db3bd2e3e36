/*
  Tessera: fine-grain parallel solvers for PETSc.

  A program needs this header only when it links the library or calls the setters; every type is also reached by

    ./app -dll_append /path/libtessera.so -pc_type rrb
*/
#pragma once
#include <petscksp.h>

#define TESSERA_VERSION_MAJOR    0
#define TESSERA_VERSION_MINOR    1
#define TESSERA_VERSION_SUBMINOR 0

#define PCRRB    "rrb"
#define KSPRRB   "rrb"
#define PCAUXAMG "auxamg"

/*E
  PCRRBCoarsening - how the operator of the next grid is made

  Values:
+ `PC_RRB_GALERKIN` - as P'AP with operator-dependent interpolation, and sweeps of Gauss-Seidel on each grid: few iterations on any grid
. `PC_RRB_LUMP`     - the papers' factorisation: couplings that the ordering does not keep are added to the diagonal of both ends (de Jong et al., ETNA 48, 2018, section 2.2)
- `PC_RRB_RHOMBUS`  - the same, but they are moved to the four couplings around them, which is exact for linear functions

  Level: intermediate

.seealso: `PCRRB`, `PCRRBSetCoarsening()`
E*/
typedef enum {
  PC_RRB_GALERKIN,
  PC_RRB_LUMP,
  PC_RRB_RHOMBUS
} PCRRBCoarsening;
PETSC_EXTERN const char *const PCRRBCoarsenings[];

/*E
  PCRRBSmoother - what the sweeps of the Galerkin form solve for together

  Values:
+ `PC_RRB_SMOOTHER_AUTO`     - chosen for each grid by the share of its nodes whose couplings are weak in one direction
. `PC_RRB_SMOOTHER_POINT`    - the nodes of one colour after the other
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
+ `PC_RRB_CYCLE_V`    - each grid once, the papers' method
. `PC_RRB_CYCLE_K`    - some steps of flexible CG on every m-th grid; not linear: use it under `KSPFCG` or `KSPRRB`
. `PC_RRB_CYCLE_AMLI` - a Chebyshev polynomial on every m-th grid: linear and symmetric
- `PC_RRB_CYCLE_AUTO` - Galerkin form: V, or AMLI where coefficients jump or the strong direction is oblique; else AMLI where the measured spectrum promises a gain, else V

  Level: intermediate

.seealso: `PCRRB`, `PCRRBSetCycle()`
E*/
typedef enum {
  PC_RRB_CYCLE_V,
  PC_RRB_CYCLE_K,
  PC_RRB_CYCLE_AMLI,
  PC_RRB_CYCLE_AUTO
} PCRRBCycle;
PETSC_EXTERN const char *const PCRRBCycles[];

/*E
  PCRRBPrecision - storage of the factors, in the Galerkin form also of the coarse grids' vectors; the iteration stays in double precision

  Values:
+ `PC_RRB_AUTO`   - single for the Galerkin form on a device, else double
. `PC_RRB_DOUBLE` - double
- `PC_RRB_SINGLE` - single

  Level: intermediate

.seealso: `PCRRB`, `PCRRBSetPrecision()`
E*/
typedef enum {
  PC_RRB_AUTO,
  PC_RRB_DOUBLE,
  PC_RRB_SINGLE
} PCRRBPrecision;
PETSC_EXTERN const char *const PCRRBPrecisions[];

/*E
  PCAuxAMGInterpolation - the functions on the cells of the auxiliary grids

  Values:
+ `PC_AUXAMG_AUTO`   - linear in one and two dimensions, Kuhn in three
. `PC_AUXAMG_LINEAR` - bilinear, in three dimensions trilinear
- `PC_AUXAMG_KUHN`   - linear on the triangles or tetrahedra that share a diagonal of the cell

  Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetInterpolation()`
E*/
typedef enum {
  PC_AUXAMG_AUTO,
  PC_AUXAMG_LINEAR,
  PC_AUXAMG_KUHN
} PCAuxAMGInterpolation;
PETSC_EXTERN const char *const PCAuxAMGInterpolations[];

/*E
  PCAuxAMGCycle - how the coarse grids are visited

  Values:
+ `PC_AUXAMG_CYCLE_AUTO` - V, or W where the interpolation is smoothed because coefficients jump
. `PC_AUXAMG_CYCLE_V`    - each grid once
- `PC_AUXAMG_CYCLE_W`    - each grid twice in a visit of the one before

  Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetCycle()`
E*/
typedef enum {
  PC_AUXAMG_CYCLE_AUTO,
  PC_AUXAMG_CYCLE_V,
  PC_AUXAMG_CYCLE_W
} PCAuxAMGCycle;
PETSC_EXTERN const char *const PCAuxAMGCycles[];

/*E
  PCAuxAMGSmoother - the smoother on all grids

  Values:
+ `PC_AUXAMG_CHEBYSHEV` - Chebyshev polynomial of the fourth kind with optimal weights
- `PC_AUXAMG_JACOBI`    - damped Jacobi

  Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetSmoother()`
E*/
typedef enum {
  PC_AUXAMG_CHEBYSHEV,
  PC_AUXAMG_JACOBI
} PCAuxAMGSmoother;
PETSC_EXTERN const char *const PCAuxAMGSmoothers[];

/*E
  PCAuxAMGFilter - whether the interpolation is smoothed by the matrix, for coefficients that jump

  Values:
+ `PC_AUXAMG_FILTER_OFF`  - never
. `PC_AUXAMG_FILTER_ON`   - always
- `PC_AUXAMG_FILTER_AUTO` - where the diagonal entries of neighbours differ by more than ten at a line of nodes across the mesh

  Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetFilter()`
E*/
typedef enum {
  PC_AUXAMG_FILTER_OFF,
  PC_AUXAMG_FILTER_ON,
  PC_AUXAMG_FILTER_AUTO
} PCAuxAMGFilter;
PETSC_EXTERN const char *const PCAuxAMGFilters[];

/*E
  PCAuxAMGPrecision - storage and arithmetic of the hierarchy; the iteration around it stays in double precision

  Values:
+ `PC_AUXAMG_PRECISION_AUTO` - single on a device, else double
. `PC_AUXAMG_DOUBLE`         - double
- `PC_AUXAMG_SINGLE`         - single

  Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetPrecision()`
E*/
typedef enum {
  PC_AUXAMG_PRECISION_AUTO,
  PC_AUXAMG_DOUBLE,
  PC_AUXAMG_SINGLE
} PCAuxAMGPrecision;
PETSC_EXTERN const char *const PCAuxAMGPrecisions[];

/*E
  TesseraBackend - where a solver runs

  Values:
+ `TESSERA_BACKEND_AUTO` - where the operator's values are
. `TESSERA_BACKEND_HOST` - on the host
- `TESSERA_BACKEND_CUDA` - on a CUDA device

  Level: intermediate

.seealso: `PCRRB`, `PCRRBSetBackend()`
E*/
typedef enum {
  TESSERA_BACKEND_AUTO,
  TESSERA_BACKEND_HOST,
  TESSERA_BACKEND_CUDA
} TesseraBackend;
PETSC_EXTERN const char *const TesseraBackends[];

PETSC_EXTERN PetscErrorCode TesseraInitializePackage(void);
PETSC_EXTERN PetscErrorCode TesseraFinalizePackage(void);

PETSC_EXTERN PetscErrorCode PCRRBSetLevels(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCRRBGetLevels(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCRRBSetGrids(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCRRBGetGrids(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCRRBSetCoarsening(PC, PCRRBCoarsening);
PETSC_EXTERN PetscErrorCode PCRRBGetCoarsening(PC, PCRRBCoarsening *);
PETSC_EXTERN PetscErrorCode PCRRBSetSmoother(PC, PCRRBSmoother);
PETSC_EXTERN PetscErrorCode PCRRBGetSmoother(PC, PCRRBSmoother *);
PETSC_EXTERN PetscErrorCode PCRRBSetSmooth(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCRRBGetSmooth(PC, PetscInt *);
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
PETSC_EXTERN PetscErrorCode PCRRBSetPrecision(PC, PCRRBPrecision);
PETSC_EXTERN PetscErrorCode PCRRBGetPrecision(PC, PCRRBPrecision *);
PETSC_EXTERN PetscErrorCode PCRRBSetGrid(PC, PetscInt, PetscInt);
PETSC_EXTERN PetscErrorCode PCRRBGetGrid(PC, PetscInt *, PetscInt *);
PETSC_EXTERN PetscErrorCode PCRRBSetBackend(PC, TesseraBackend);
PETSC_EXTERN PetscErrorCode PCRRBGetBackend(PC, TesseraBackend *);
PETSC_EXTERN PetscErrorCode KSPRRBSetBackend(KSP, TesseraBackend);
PETSC_EXTERN PetscErrorCode KSPRRBGetBackend(KSP, TesseraBackend *);

PETSC_EXTERN PetscErrorCode PCAuxAMGSetLevels(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetLevels(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetCellSize(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetCellSize(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetInterpolation(PC, PCAuxAMGInterpolation);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetInterpolation(PC, PCAuxAMGInterpolation *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetCycle(PC, PCAuxAMGCycle);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetCycle(PC, PCAuxAMGCycle *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetSmoother(PC, PCAuxAMGSmoother);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetSmoother(PC, PCAuxAMGSmoother *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetSmooth(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetSmooth(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetFilter(PC, PCAuxAMGFilter);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetFilter(PC, PCAuxAMGFilter *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetStretch(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetStretch(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetCoarseSize(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetCoarseSize(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetPrecision(PC, PCAuxAMGPrecision);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetPrecision(PC, PCAuxAMGPrecision *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetBackend(PC, TesseraBackend);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetBackend(PC, TesseraBackend *);
PETSC_EXTERN PetscErrorCode PCAuxAMGSetCoordinatesFile(PC, const char[]);
PETSC_EXTERN PetscErrorCode PCAuxAMGGetCoordinatesFile(PC, const char *[]);
