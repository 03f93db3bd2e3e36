static char help[] = "Dirichlet rows in three dimensions, which other rows are coupled with or not: later solves begin at zero again, with a preconditioner\n\
of another matrix too; transposes are right or refused.\n\n";

#include "rrb_three_problem.h"

/* 7 or 27 points; the sides in x are Dirichlet rows, in whose columns other rows have entries where `coupled`. */
static PetscErrorCode Make(PetscBool full, PetscBool coupled, DM *da, Mat *A)
{
  const PetscInt n = 12;
  PetscInt       lo[3], m[3];

  PetscFunctionBeginUser;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, full ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, n, n, n, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetUp(*da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(DMDAGetCorners(*da, lo, lo + 1, lo + 2, m, m + 1, m + 2));
  for (PetscInt k = lo[2]; k < lo[2] + m[2]; ++k)
    for (PetscInt j = lo[1]; j < lo[1] + m[1]; ++j)
      for (PetscInt i = lo[0]; i < lo[0] + m[0]; ++i) {
        MatStencil  row = {0}, column[27];
        PetscScalar value[27] = {i == 0 || i == n - 1 ? 2 : 0.01};
        PetscInt    count = 1;

        row.i = i, row.j = j, row.k = k;
        column[0] = row;
        for (int c = 0; c < 27 && i > 0 && i < n - 1; ++c) {
          const PetscInt to[3] = {i + c % 3 - 1, j + c / 3 % 3 - 1, k + c / 9 - 1};
          const int      off   = (c % 3 != 1) + (c / 3 % 3 != 1) + (c / 9 != 1);

          if (!off || (!full && off > 1) || to[1] < 0 || to[1] >= n || to[2] < 0 || to[2] >= n) continue;
          value[0] += 1. / off;
          if (!coupled && (to[0] == 0 || to[0] == n - 1)) continue;
          column[count].i = to[0], column[count].j = to[1], column[count].k = to[2], column[count].c = 0;
          value[count++] = -1. / off;
        }
        PetscCall(MatSetValuesStencil(*A, 1, &row, count, column, value, INSERT_VALUES));
      }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* Solves four times: the third time with the second one's preconditioner and a matrix that is a million times larger, the
   fourth time, which KSP rrb refuses, with one that is made from another matrix. */
static PetscErrorCode Repeat(PetscBool full, PetscBool coupled, const char *type)
{
  DM        da;
  Mat       A;
  Vec       b, x;
  KSP       ksp;
  Mat       B;
  PetscInt  its[4];
  PetscReal residual;
  PetscBool guess, cg;

  PetscFunctionBeginUser;
  PetscCall(Make(full, coupled, &da, &A));
  PetscCall(RightHandSide(da, A, PETSC_FALSE, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(MakeKSP(da, type, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(PetscStrcmp(type, "cg", &cg));
  its[3] = 0;
  for (int k = 0; k < (cg ? 4 : 3); ++k) {
    PetscCall(KSPSetReusePreconditioner(ksp, k == 2 ? PETSC_TRUE : PETSC_FALSE));
    if (k == 2) PetscCall(MatScale(A, 1e6));
    if (k == 3) PetscCall(KSPSetOperators(ksp, A, B));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
    PetscCall(Residual(A, x, b, &residual));
    PetscCall(KSPGetInitialGuessNonzero(ksp, &guess));
    if (!(residual < 1.05e-6)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d points, %s: residual %g of solve %d\n", full ? 27 : 7, type, (double)residual, k));
    if (guess) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d points, %s: solve %d leaves a nonzero guess\n", full ? 27 : 7, type, k));
  }
  if (its[0] < 2 || its[1] != its[0] || its[2] > its[0] + 3 || its[3] > its[0] + 3) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d points, %s: %" PetscInt_FMT ", %" PetscInt_FMT ", %" PetscInt_FMT " and %" PetscInt_FMT " iterations\n", full ? 27 : 7, type, its[0], its[1], its[2], its[3]));
  PetscCall(MatDestroy(&B));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

static PetscErrorCode Transpose(PetscBool full, PetscBool coupled)
{
  DM             da;
  Mat            A;
  Vec            b, c, x;
  KSP            ksp;
  PC             pc;
  PetscErrorCode solve, apply;
  PetscScalar    one = 0, other = 0;
  PetscReal      residual = 0;

  PetscFunctionBeginUser;
  PetscCall(Make(full, coupled, &da, &A));
  PetscCall(RightHandSide(da, A, PETSC_FALSE, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &c));
  PetscCall(VecSetRandom(c, NULL));
  PetscCall(MakeKSP(da, "rrb", &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  solve = KSPSolveTranspose(ksp, b, x);
  if (!solve) PetscCall(Residual(A, x, b, &residual)); /* A is symmetric then */
  apply = PCApplyTranspose(pc, c, x);
  PetscCall(PetscPopErrorHandler());
  if (!apply) {
    PetscCall(VecDot(x, b, &one));
    PetscCall(PCApply(pc, b, x));
    PetscCall(VecDot(x, c, &other));
  }
  if (solve != (coupled ? PETSC_ERR_SUP : 0) || apply != solve || !(residual < 1.05e-6) || !(PetscAbsScalar(one - other) <= 1e-5 * PetscAbsScalar(one))) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d points%s: transposes return %d and %d, residual %g, products %g and %g\n", full ? 27 : 7, coupled ? ", coupled" : "", (int)solve, (int)apply, (double)residual, (double)PetscRealPart(one), (double)PetscRealPart(other)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&c));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_type", "rrb"));
  for (int full = 0; full < 2; ++full)
    for (int coupled = 0; coupled < 2; ++coupled) {
      PetscCall(Repeat((PetscBool)full, (PetscBool)coupled, "cg"));
      PetscCall(Repeat((PetscBool)full, (PetscBool)coupled, "rrb"));
      PetscCall(Transpose((PetscBool)full, (PetscBool)coupled));
    }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "done\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    output_file: output/rrb_three.out
    nsize: {{1 3}}

TEST*/
