/* Several solvers on one linear system, and the table of what they took: for programs that solve once */
#pragma once

#include <petscksp.h>

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif
#if PETSC_VERSION_LT(3, 22, 0)
  #define PETSC_INT_MAX PETSC_MAX_INT
#endif

#define MAX_SOLVERS 8

typedef struct {
  char               name[64];
  Vec                x;
  PetscReal          setup, solve; /* seconds, the fastest of -repeat */
  PetscReal          norm;         /* of the true residual */
  PetscReal          residual;     /* the same, relative to that of b */
  PetscReal          balance;      /* water lost or made, relative to all that comes in: the program's Judge says it, */
  PetscBool          leaks;        /* and whether it is more than the residual explains */
  PetscReal          difference;   /* to the first solver, the largest one */
  PetscInt           iterations;
  KSPConvergedReason reason;
} Solver;

typedef PetscErrorCode (*Judge)(void *, Solver *);

typedef struct {
  PetscReal rtol; /* on the true residual */
  PetscInt  repeat, n, words;
  PetscBool on; /* -compare was given */
  char     *word[MAX_SOLVERS];
  Solver    solver[MAX_SOLVERS];
} Comparison;

PetscErrorCode ComparisonOptions(Comparison *);                      /* -rtol, -repeat, -compare; rtol may have a default */
PetscErrorCode ComparisonRun(Comparison *, Mat, Vec, Judge, void *); /* without -compare: what the other options say */
PetscErrorCode ComparisonTable(const Comparison *, const char unit[], PetscBool *good);
PetscErrorCode ComparisonDestroy(Comparison *);
