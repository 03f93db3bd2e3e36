static char help[] = "SNES vipmg on a mesh with free pieces, which nothing ties to the rest and nothing holds: coarse functions that are constant in one have no energy but rounding.\n\n  -n nodes along each side, -w nodes along the side of a piece, -lower bound\n\n";

#include <petscsnes.h>

static PetscErrorCode Residual(SNES snes, Vec x, Vec f, void *b)
{
  Mat A;

  PetscFunctionBeginUser;
  PetscCall(SNESGetJacobian(snes, &A, NULL, NULL, NULL));
  PetscCall(MatMult(A, x, f));
  PetscCall(VecAXPY(f, -1, (Vec)b));
  PetscFunctionReturn(0);
}

static PetscErrorCode Jacobian(SNES snes, Vec x, Mat A, Mat P, void *b)
{
  (void)snes, (void)x, (void)A, (void)P, (void)b; /* the problem is linear */
  return 0;
}

/* The piece of a node; 0: it is in none */
static PetscInt PieceOf(PetscInt p, PetscInt n, PetscInt w)
{
  const PetscInt i = p % n / w, j = p / n / w;

  return i % 3 == 1 && j % 3 == 1 ? 1 + i * n + j : 0;
}

int main(int argc, char **argv)
{
  PetscInt            n = 120, w = 7, first, last;
  PetscReal           lower = -0.05, *x;
  SNES                snes;
  KSP                 ksp;
  PC                  pc;
  Mat                 A;
  Vec                 b, u, f, bounds[2];
  SNESConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-w", &w, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-lower", &lower, NULL));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n, 5, NULL, 4, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatCreateVecs(A, &u, &b));
  PetscCall(VecDuplicate(u, &f));
  PetscCall(PetscMalloc1(2 * (last - first), &x));
  for (PetscInt p = first; p < last; ++p) {
    const PetscInt  q[] = {p % n ? p - 1 : -1, (p + 1) % n ? p + 1 : -1, p - n, p + n};
    const PetscReal at[] = {(PetscReal)(p % n) / n, (PetscReal)(p / n) / n};
    PetscReal       sum = 0;
    for (int k = 0; k < 4; ++k) {
      const PetscBool outside = q[k] < 0 || q[k] >= n * n ? PETSC_TRUE : PETSC_FALSE;
      const PetscReal c       = outside ? 1 : 1 + 0.3 * PetscSinReal(1.7 * (PetscReal)(p + q[k]));
      if (!outside && PieceOf(p, n, w) != PieceOf(q[k], n, w)) continue;
      if (!outside) PetscCall(MatSetValue(A, p, q[k], -c, INSERT_VALUES));
      sum += c;
    }
    PetscCall(MatSetValue(A, p, p, sum, INSERT_VALUES));
    PetscCall(VecSetValue(u, p, PetscSinReal(5 * at[0]) * PetscSinReal(7 * at[1]), INSERT_VALUES));
    x[2 * (p - first)]     = at[0];
    x[2 * (p - first) + 1] = at[1];
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(VecAssemblyBegin(u));
  PetscCall(VecAssemblyEnd(u));
  PetscCall(MatMult(A, u, b));
  for (int k = 0; k < 2; ++k) {
    PetscCall(VecDuplicate(u, &bounds[k]));
    PetscCall(VecSet(bounds[k], k ? 1000 : lower));
  }
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetType(snes, "vipmg"));
  PetscCall(SNESSetFunction(snes, f, Residual, b));
  PetscCall(SNESSetJacobian(snes, A, A, Jacobian, NULL));
  PetscCall(SNESVISetVariableBounds(snes, bounds[0], bounds[1]));
  PetscCall(SNESSetTolerances(snes, PETSC_DEFAULT, 1e-9, PETSC_DEFAULT, 20, PETSC_DEFAULT));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, "auxamg"));
  PetscCall(PCSetCoordinates(pc, 2, last - first, x));
  PetscCall(VecSet(u, 0));
  PetscCall(SNESSolve(snes, NULL, u));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", SNESConvergedReasons[reason]));
  PetscCall(PetscFree(x));
  PetscCall(SNESDestroy(&snes));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&f));
  for (int k = 0; k < 2; ++k) PetscCall(VecDestroy(&bounds[k]));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3}}
    args: -w 7

  test:
    suffix: small
    output_file: output/vipmg_pieces.out
    nsize: 2
    args: -n 200 -w 5 -lower {{-0.05 -10}}

TEST*/
