static char help[] = "Solves a Poisson problem on a 63 x 63 grid with whatever the options say, and judges the error.\n";

#include <petscdmda.h>
#include <petscksp.h>

int main(int argc, char **argv)
{
  DM                 da;
  KSP                ksp;
  Mat                A;
  Vec                x, b, u;
  PetscInt           i, j, xs, ys, xm, ym, n, its;
  PetscReal          error, norm;
  KSPType            kind;
  PC                 pc;
  PCType             type;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 63, 63, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMDAGetInfo(da, NULL, &n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMCreateMatrix(da, &A));
  for (j = ys; j < ys + ym; ++j) {
    for (i = xs; i < xs + xm; ++i) {
      MatStencil  row = {0}, col[5] = {{0}};
      PetscScalar v[5];
      PetscInt    k = 0, c, di[4] = {-1, 1, 0, 0}, dj[4] = {0, 0, -1, 1};

      row.i = i, row.j = j;
      col[k] = row, v[k++] = 4;
      for (c = 0; c < 4; ++c) {
        if (i + di[c] < 0 || i + di[c] >= n || j + dj[c] < 0 || j + dj[c] >= n) continue;
        col[k].i = i + di[c], col[k].j = j + dj[c], v[k++] = -1;
      }
      PetscCall(MatSetValuesStencil(A, 1, &row, k, col, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecDuplicate(x, &u));
  PetscCall(VecSetRandom(u, NULL));
  PetscCall(MatMult(A, u, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A)); /* A knows the DMDA */
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(VecNorm(u, NORM_2, &norm));
  PetscCall(VecAXPY(x, -1, u));
  PetscCall(VecNorm(x, NORM_2, &error));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetType(ksp, &kind));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetType(pc, &type));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ksp %s, pc %s: %d iterations, %s, relative error %.1e\n", kind, type, (int)its, KSPConvergedReasons[reason], (double)(error / norm)));
  PetscCheck(reason > 0 && error < 1e-5 * norm, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "The solution is wrong");
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}
