/* The harbour's parts: harbour.c is the wave model and the time loop; the other files can be read in any order */
#pragma once

#include <petscdmda.h>
#include <petscksp.h>
#include <petscpc.h>
#include <petsctime.h>
#include <petscviewerhdf5.h>

#if defined(PETSC_USE_COMPLEX)
  #error "harbour needs a real PETSc"
#endif

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif
#if PETSC_VERSION_LT(3, 22, 0)
  #define PETSC_INT_MAX PETSC_MAX_INT
#endif

#define GRAVITY 9.81

/* The raster: nx x ny cells of dx x dy metres, lower left corner at (x0,y0) */
typedef struct {
  PetscInt  nx, ny;
  PetscReal dx, dy, x0, y0;
} Map;

typedef struct {
  PetscReal x, y;             /* where it starts, metres */
  PetscReal cosine, sine;     /* its course */
  PetscReal speed, length, beam, draft;
} Ship;

typedef struct {
  DM        da;
  Map       map;
  Vec       depth;            /* local, below mean sea level; zero marks land */
  Vec       zeta, phi, psi;   /* the waves */
  Vec       rate, rhs, damping;
  Vec       phiLocal, psiLocal;
  Mat       A;
  PetscReal tide, tidePeriod; /* amplitude and period */
  PetscReal level;            /* of the tide, now */
  PetscReal deepest;
  PetscInt  deepestCell[2];
  PetscInt  water;            /* number of water cells */
  PetscReal dt;
  Ship      ship;
} Harbour;

#define MAX_SOLVERS 8

/* One preconditioner on the series of systems, and what it took */
typedef struct {
  char       name[64];
  KSP        ksp;
  Vec        x;
  PetscReal *setup, *solve;   /* milliseconds, for each step */
  PetscInt   solves, iterations, maxIterations;
  PetscReal  residual;        /* largest true relative residual */
  PetscReal  difference;      /* largest relative difference to the first solver's solution */
  KSPConvergedReason failure; /* the first one, or 0 */
} Solver;

typedef struct {
  PetscBool   on, hdf5;
  char        prefix[PETSC_MAX_PATH_LEN - 64]; /* room for the ending */
  PetscViewer viewer;
  PetscInt    frames, every;
  PetscReal  *time;
} Output;

/* map.c */
PetscErrorCode CreateGrid(PetscInt, PetscInt, DMDAStencilType, PetscInt, PetscInt, const PetscInt[], const PetscInt[], DM *);
PetscErrorCode ReadMap(const char[], PetscInt, Map *, DM *, Vec *);

/* harbour.c */
void ShipAt(const Harbour *, PetscReal, PetscReal *, PetscReal *);

/* solvers.c */
PetscErrorCode SolverCreate(Harbour *, const char[], PetscBool, PetscReal, PetscInt, Solver *);
PetscErrorCode SolversCreate(Harbour *, PetscInt, char *[], PetscReal, PetscInt, PetscInt *, Solver[]);
PetscErrorCode SolverDestroy(Solver *);
PetscErrorCode SolverRun(Harbour *, Solver *, Vec);
PetscErrorCode PrintTable(const Harbour *, PetscInt, Solver[], PetscReal, PetscBool *);

/* output.c */
PetscErrorCode OutputOpen(Harbour *, PetscInt, Vec, Output *);
PetscErrorCode OutputFrame(Harbour *, PetscReal, Output *);
PetscErrorCode OutputClose(Harbour *, Output *);

/* selftest.c */
PetscErrorCode SelftestBasin(Map *, DM *, Vec *);
PetscErrorCode SelftestStart(Harbour *, int, Vec);
PetscErrorCode SelftestCheck(Harbour *, int, PetscInt, Vec, PetscReal, PetscReal, PetscBool *);

/* The model's coefficients for water of depth h, see harbour.c */
static inline PetscReal CoefD(PetscReal h)
{
  return h * h / 3;
}
static inline PetscReal CoefN(PetscReal h)
{
  return 2 * h * h * h / 15;
}
static inline PetscReal CoefM(PetscReal h)
{
  return h / 3;
}
