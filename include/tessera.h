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

#define PCRRB  "rrb"
#define KSPRRB "rrb"

/*E
  PCRRBCoarsening - what happens to the couplings that repeated red-black ordering does not keep

  Values:
+ `PC_RRB_LUMP`    - they are added to the diagonal of both ends (de Jong et al., ETNA 48, 2018, section 2.2)
- `PC_RRB_RHOMBUS` - they are moved to the four couplings around them, which is exact for linear functions

  Level: intermediate

.seealso: `PCRRB`, `PCRRBSetCoarsening()`
E*/
typedef enum {
  PC_RRB_LUMP,
  PC_RRB_RHOMBUS
} PCRRBCoarsening;
PETSC_EXTERN const char *const PCRRBCoarsenings[];

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
- `PC_RRB_CYCLE_AUTO` - AMLI where the measured spectrum promises a gain, else V

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
  PCRRBPrecision - storage of the factors; vectors stay in double precision

  Level: intermediate

.seealso: `PCRRB`, `PCRRBSetPrecision()`
E*/
typedef enum {
  PC_RRB_DOUBLE,
  PC_RRB_SINGLE
} PCRRBPrecision;
PETSC_EXTERN const char *const PCRRBPrecisions[];

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
