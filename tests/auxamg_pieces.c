static char help[] = "CG with auxamg on a mesh in many pieces that nothing fixes: -n nodes along each side, -m along a side of a piece.\n\n";

#include "compat.h"
#include <petscksp.h>

/* A Laplacian by five points, without couplings between squares of m x m nodes; rows go by lines. */
static PetscErrorCode Assemble(Mat A, PetscInt n, PetscInt m)
{
  PetscInt first, end;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt row = first; row < end; row++) {
    const PetscInt i = row % n, j = row / n, column[] = {row - 1, row + 1, row - n, row + n};
    const PetscInt there[] = {i % m > 0, i % m < m - 1 && i < n - 1, j % m > 0, j % m < m - 1 && j < n - 1};
    PetscScalar    sum = 0;
    for (PetscInt k = 0; k < 4; k++) {
      const PetscScalar v = -1 - 0.1 * ((row + column[k]) % 7); /* the same from both ends */
      if (!there[k]) continue;
      PetscCall(MatSetValue(A, row, column[k], v, INSERT_VALUES));
      sum -= v;
    }
    PetscCall(MatSetValue(A, row, row, sum, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode Points(PC pc, Mat A, PetscInt n)
{
  PetscInt   first, end;
  PetscReal *x;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  PetscCall(PetscMalloc1(2 * (end - first), &x));
  for (PetscInt row = first; row < end; row++) {
    x[2 * (row - first)]     = row % n;
    x[2 * (row - first) + 1] = row / n;
  }
  PetscCall(PCSetCoordinates(pc, 2, end - first, x));
  PetscCall(PetscFree(x));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscInt           n = 120, m = 8, iterations;
  Mat                A;
  Vec                b, x;
  KSP                ksp;
  PC                 pc;
  PetscReal          norm, residual;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-m", &m, NULL));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n, 5, NULL, 5, NULL, &A));
  PetscCall(Assemble(A, n, m));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, b)); /* so there is a solution */
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-6, PETSC_DEFAULT, PETSC_DEFAULT, 100));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, "auxamg"));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Points(pc, A, n));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(VecScale(b, -1));
  PetscCall(MatMultAdd(A, x, b, b));
  PetscCall(VecNorm(b, NORM_2, &residual));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s, residual %s\n", KSPConvergedReasons[reason], iterations <= 7 ? "at most 7 iterations" : "many iterations", residual <= 1.01e-6 * norm ? "as asked for" : "too large"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset: # a coarse function is the constant of a whole piece, of which rounding alone is left in the operator
    output_file: output/auxamg_pieces.out
    nsize: {{1 3}}
    test:
      suffix: squares
      args: -n 120 -m {{8 9 11}}

TEST*/
