/* What the tests of rrb in three dimensions share. */
#pragma once
#include "compat.h"
#include <petscdmda.h>

/* From 0 to 1 */
static PetscReal Random(PetscInt i, PetscInt j, PetscInt k, PetscInt seed)
{
  unsigned long long z = 1 + (unsigned long long)i + 1009ULL * (unsigned long long)j + 1000003ULL * (unsigned long long)k + 998244353ULL * (unsigned long long)seed;

  for (int r = 0; r < 3; ++r) z = (z ^ (z >> 31)) * 0x9E3779B97F4A7C15ULL;
  return (PetscReal)(z >> 12) / (PetscReal)(1ULL << 52);
}

/* A right-hand side at random; singular: of A with the constant null space, which A is told. */
static PetscErrorCode RightHandSide(DM da, Mat A, PetscBool singular, Vec *b)
{
  PetscInt       lo[3], m[3];
  PetscScalar ***v;
  MatNullSpace   constant;

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(da, b));
  PetscCall(DMDAGetCorners(da, lo, lo + 1, lo + 2, m, m + 1, m + 2));
  PetscCall(DMDAVecGetArray(da, *b, &v));
  for (PetscInt k = lo[2]; k < lo[2] + m[2]; ++k)
    for (PetscInt j = lo[1]; j < lo[1] + m[1]; ++j)
      for (PetscInt i = lo[0]; i < lo[0] + m[0]; ++i) v[k][j][i] = Random(i, j, k, 1) - 0.5;
  PetscCall(DMDAVecRestoreArray(da, *b, &v));
  if (singular) {
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constant));
    PetscCall(MatSetNullSpace(A, constant));
    PetscCall(MatNullSpaceRemove(constant, *b));
    PetscCall(MatNullSpaceDestroy(&constant));
  }
  PetscFunctionReturn(0);
}

/* The KSP that they solve with, to 1e-6 of the true residual. */
static PetscErrorCode MakeKSP(DM da, const char *type, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetDM(*ksp, da));
  PetscCall(SetDMActive(*ksp, PETSC_FALSE));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(*ksp, 1e-6, 1e-50, PETSC_DEFAULT, 100));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(0);
}

/* |b - A x| / |b|, 0 where b is 0 */
static PetscErrorCode Residual(Mat A, Vec x, Vec b, PetscReal *residual)
{
  Vec       r;
  PetscReal norm;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAXPY(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  *residual = norm > 0 ? *residual / norm : 0;
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(0);
}
