static char help[] = "Each type once in a new process, whose first contact with a device it is: -type pcrrb, ksprrb, auxamg, vipmg, densegs or vipgs.\n\
  The answer is a norm of the solution, which does not depend on where the type runs, and the norm of its residual.\n\
  -dm_mat_type and -dm_vec_type say where matrix and vectors are.\n\n";

#include <petscdmda.h>
#include <petscsnes.h>
#include <string.h>

/* 5-point -Laplace with a Dirichlet boundary, each node of it a row. */
static PetscErrorCode Laplace(DM da, Mat A)
{
  PetscInt nx, ny, xs, ys, xm, ym;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetInfo(da, NULL, &nx, &ny, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  for (PetscInt j = ys; j < ys + ym; j++)
    for (PetscInt i = xs; i < xs + xm; i++) {
      const MatStencil row = {0, j, i, 0};
      MatStencil       col[5];
      PetscScalar      v[5];
      PetscInt         n = 0;
      col[n] = row, v[n++] = 4.0;
      for (int k = 0; k < 4; k++) {
        const PetscInt p = i + (k == 0) - (k == 1), q = j + (k == 2) - (k == 3);
        if (p < 0 || q < 0 || p >= nx || q >= ny) continue;
        col[n].k = col[n].c = 0, col[n].i = p, col[n].j = q;
        v[n++] = -1.0;
      }
      PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* Coordinates of the own nodes, before the program has used a device. */
static PetscErrorCode SetCoordinates(DM da, PC pc)
{
  PetscInt   xs, ys, xm, ym, n = 0;
  PetscReal *x;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(PetscMalloc1(2 * xm * ym, &x));
  for (PetscInt j = ys; j < ys + ym; j++)
    for (PetscInt i = xs; i < xs + xm; i++) x[n++] = (PetscReal)i, x[n++] = (PetscReal)j;
  PetscCall(PCSetCoordinates(pc, 2, xm * ym, x));
  PetscCall(PetscFree(x));
  PetscFunctionReturn(0);
}

static PetscErrorCode Linear(DM da, Mat A, Vec b, Vec x, const char *type)
{
  KSP ksp;
  PC  pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, strcmp(type, "ksprrb") ? strcmp(type, "densegs") ? KSPCG : KSPGMRES : "rrb"));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, !strcmp(type, "auxamg") || !strcmp(type, "densegs") ? type : "rrb"));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 200));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PCSetFromOptions(pc));
  if (!strcmp(type, "auxamg")) PetscCall(SetCoordinates(da, pc));
  else PetscCall(PCSetDM(pc, da));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(0);
}

typedef struct {
  Mat A;
  Vec b;
} Problem;

static PetscErrorCode Residual(SNES snes, Vec x, Vec f, void *ctx)
{
  Problem *p = (Problem *)ctx;

  PetscFunctionBeginUser;
  (void)snes;
  PetscCall(MatMult(p->A, x, f));
  PetscCall(VecAXPY(f, -1.0, p->b));
  PetscFunctionReturn(0);
}

static PetscErrorCode Jacobian(SNES snes, Vec x, Mat J, Mat P, void *ctx)
{
  PetscFunctionBeginUser;
  (void)snes, (void)x, (void)J, (void)P, (void)ctx;
  PetscFunctionReturn(0);
}

static PetscErrorCode Bounded(DM da, Mat A, Vec b, Vec x, const char *type)
{
  SNES    snes;
  Vec     lower, upper, f;
  Problem p = {A, b};

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &lower));
  PetscCall(VecDuplicate(x, &upper));
  PetscCall(VecDuplicate(x, &f));
  PetscCall(VecSet(lower, PETSC_NINFINITY));
  PetscCall(VecSet(upper, 20.0));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetType(snes, type));
  if (!strcmp(type, "vipmg")) PetscCall(SNESSetDM(snes, da));
  PetscCall(SNESSetFunction(snes, f, Residual, &p));
  PetscCall(SNESSetJacobian(snes, A, A, Jacobian, &p));
  PetscCall(SNESVISetVariableBounds(snes, lower, upper));
  PetscCall(SNESSetTolerances(snes, 1e-10, 1e-10, PETSC_DEFAULT, 100, PETSC_DEFAULT));
  PetscCall(SNESSetErrorIfNotConverged(snes, PETSC_TRUE));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&lower));
  PetscCall(VecDestroy(&upper));
  PetscCall(VecDestroy(&f));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  DM        da;
  Mat       A, dense = NULL;
  Vec       b, x;
  char      type[32] = "pcrrb";
  PetscReal norm;
  PetscBool is_dense;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, sizeof(type), NULL));
  is_dense = (PetscBool)(!strcmp(type, "densegs") || !strcmp(type, "vipgs"));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, is_dense ? 14 : 61, is_dense ? 9 : 58, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(Laplace(da, A));
  PetscCall(VecSet(b, is_dense ? 5.0 : 0.3));
  if (is_dense) PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &dense));
  if (!strcmp(type, "vipmg") || !strcmp(type, "vipgs")) PetscCall(Bounded(da, dense ? dense : A, b, x, type));
  else PetscCall(Linear(da, dense ? dense : A, b, x, type));
  PetscCall(VecNorm(x, NORM_2, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "norm %.8e\n", (double)norm));
  PetscCall(MatDestroy(&dense));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}
