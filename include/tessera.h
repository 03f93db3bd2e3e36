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

#define PCRRB  "rrb"
#define KSPRRB "rrb"
#define SNESVIPMG "vipmg"
#define TAOVIPMG  "vipmg"

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
  SNESVIPMGVariant - what a cycle of multigrid with bounds does

  Values:
+ `SNES_VIPMG_HYBRID`   - monotone multigrid while the active set moves, and truncated Newton multigrid
. `SNES_VIPMG_TNNMG`    - truncated Newton multigrid alone
. `SNES_VIPMG_MONOTONE` - monotone multigrid alone
- `SNES_VIPMG_PAPER`    - Algorithm 1 of Klement and Oberhuber, for comparison

  Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIPMGSetVariant()`
E*/
typedef enum {
  SNES_VIPMG_HYBRID,
  SNES_VIPMG_TNNMG,
  SNES_VIPMG_MONOTONE,
  SNES_VIPMG_PAPER
} SNESVIPMGVariant;
PETSC_EXTERN const char *const SNESVIPMGVariants[];

/*E
  SNESVIPMGCycle - how often the coarse grids are visited

  Values:
+ `SNES_VIPMG_CYCLE_V` - once
. `SNES_VIPMG_CYCLE_W` - twice on every grid
. `SNES_VIPMG_CYCLE_F` - twice on every grid on the way down
- `SNES_VIPMG_CYCLE_AUTO` - F on the host, V on a device

  Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIPMGSetCycle()`
E*/
typedef enum {
  SNES_VIPMG_CYCLE_V,
  SNES_VIPMG_CYCLE_W,
  SNES_VIPMG_CYCLE_F,
  SNES_VIPMG_CYCLE_AUTO
} SNESVIPMGCycle;
PETSC_EXTERN const char *const SNESVIPMGCycles[];

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
PETSC_EXTERN PetscErrorCode SNESVIPMGSetVariant(SNES, SNESVIPMGVariant);
PETSC_EXTERN PetscErrorCode SNESVIPMGSetCycle(SNES, SNESVIPMGCycle);
PETSC_EXTERN PetscErrorCode SNESVIPMGSetFMG(SNES, PetscBool);
PETSC_EXTERN PetscErrorCode SNESVIPMGSetSmooth(SNES, PetscInt, PetscInt);
PETSC_EXTERN PetscErrorCode SNESVIPMGSetOmega(SNES, PetscReal);
PETSC_EXTERN PetscErrorCode SNESVIPMGSetLevels(SNES, PetscInt);
PETSC_EXTERN PetscErrorCode SNESVIPMGSetBackend(SNES, TesseraBackend);
PETSC_EXTERN PetscErrorCode SNESVIPMGSetMonitor(SNES, PetscBool);
PETSC_EXTERN PetscErrorCode SNESVIPMGGetNorms(SNES, PetscReal[5]);
