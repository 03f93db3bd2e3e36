/* Dense matrices and vectors of the tests of SNES vipgs. */
#pragma once
#pragma GCC diagnostic ignored "-Wunused-parameter" /* functions that are given to others */
#include <petsctao.h>
#include <string.h>
#include <tessera.h>

typedef PetscReal (*EntryFn)(PetscInt, PetscInt, PetscInt);

static inline PetscErrorCode Check(const char *name, PetscReal error, PetscReal tol)
{
  PetscFunctionBegin;
  if (error <= tol) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: ok\n", name));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: error %g\n", name, (double)error));
  PetscFunctionReturn(0);
}

static inline PetscErrorCode Fill(PetscInt n, EntryFn entry, Mat *A)
{
  PetscInt     first, last, lda;
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, NULL, A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  PetscCall(MatDenseGetLDA(*A, &lda));
  PetscCall(MatDenseGetArray(*A, &v));
  for (PetscInt j = 0; j < n; ++j)
    for (PetscInt i = first; i < last; ++i) v[j * lda + i - first] = entry(i, j, n);
  PetscCall(MatDenseRestoreArray(*A, &v));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static inline PetscErrorCode FillVec(Mat A, PetscReal (*f)(PetscInt, PetscInt), Vec *v)
{
  PetscInt first, last, n;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, v, NULL));
  PetscCall(VecGetSize(*v, &n));
  PetscCall(VecGetOwnershipRange(*v, &first, &last));
  for (PetscInt i = first; i < last; ++i) PetscCall(VecSetValue(*v, i, f(i, n), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(*v));
  PetscCall(VecAssemblyEnd(*v));
  PetscFunctionReturn(0);
}

static inline PetscReal Identity(PetscInt i, PetscInt j, PetscInt n) { return i == j; }
static inline PetscReal Decaying(PetscInt i, PetscInt j, PetscInt n) { return (i == j ? 2 : 0) + 1. / (1 + PetscAbsInt(i - j)); }
static inline PetscReal Wave(PetscInt i, PetscInt n) { return PetscSinReal(0.7 * i); }

/* Boxes, some open on one or both sides. */
static inline PetscReal BoxEntry(PetscInt i, PetscInt j, PetscInt n) { return 1. / (1 + PetscAbsInt(i - j)) + (i == j ? 0.2 : 0); }
static inline PetscReal BoxQ(PetscInt i, PetscInt n) { return 3 * PetscSinReal(2.1 * i); }
static inline PetscReal BoxLower(PetscInt i, PetscInt n) { return i % 5 == 0 ? PETSC_NINFINITY : -0.5 - 0.1 * (i % 3); }
static inline PetscReal BoxUpper(PetscInt i, PetscInt n) { return i % 4 == 0 ? PETSC_INFINITY : i % 7 == 1 ? -0.5 - 0.1 * (i % 3) : 0.6; }

static inline PetscErrorCode Constant(SNES snes, Vec x, Mat J, Mat B, void *ctx)
{
  return 0;
}

static inline PetscErrorCode Caught(MPI_Comm comm, int line, const char *fun, const char *file, PetscErrorCode n, PetscErrorType p, const char *mess, void *ctx)
{
  if (p == PETSC_ERROR_INITIAL && mess && !*(char *)ctx) (void)PetscStrncpy((char *)ctx, mess, 400);
  return n;
}
