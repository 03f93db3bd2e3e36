static char help[] = "Hertz' contact of a sphere and an elastic half-space by boundary elements, a dense linear complementarity problem: any SNES for bounds, or any Tao, solves it.\n\
  -m M: M x M squares     -tao: minimise with the Tao of -tao_type     -repeat K: the least time of K solves\n\
  -mat_type dense|densecuda, -vec_type\n\n";

#include <petsctao.h>
#include <petsctime.h>

/* Love's rectangles: w = A p - gap, p >= 0, w >= 0, with R = 1, E* = 1 and delta = 0.36, so that p = p0 sqrt(1 - r^2/0.36), p0 = 1.2/pi. */
static PetscReal Love(PetscReal x, PetscReal y, PetscReal h)
{
  const PetscReal b = 0.5 * h;
  PetscReal       s = 0;
  for (int k = 0; k < 2; ++k) {
    const PetscReal p = (k ? y : x) + b, m = (k ? y : x) - b, yp = (k ? x : y) + b, ym = (k ? x : y) - b;
    s += p * PetscLogReal((yp + PetscSqrtReal(yp * yp + p * p)) / (ym + PetscSqrtReal(ym * ym + p * p)));
    s += m * PetscLogReal((ym + PetscSqrtReal(ym * ym + m * m)) / (yp + PetscSqrtReal(yp * yp + m * m)));
  }
  return s / PETSC_PI;
}

typedef struct {
  Mat A;
  Vec q, w;
} Problem;

static PetscErrorCode Velocity(SNES snes, Vec x, Vec f, void *ctx)
{
  Problem *p = (Problem *)ctx;
  (void)snes;
  PetscFunctionBegin;
  PetscCall(MatMultAdd(p->A, x, p->q, f));
  PetscFunctionReturn(0);
}
static PetscErrorCode Constant(SNES snes, Vec x, Mat A, Mat B, void *ctx)
{
  (void)snes, (void)x, (void)A, (void)B, (void)ctx;
  return 0;
}
static PetscErrorCode Energy(Tao tao, Vec x, PetscReal *f, Vec g, void *ctx)
{
  Problem    *p = (Problem *)ctx;
  PetscScalar a, b;
  (void)tao;
  PetscFunctionBegin;
  PetscCall(MatMult(p->A, x, g));
  PetscCall(VecDot(g, x, &a));
  PetscCall(VecDot(p->q, x, &b));
  PetscCall(VecAXPY(g, 1, p->q));
  *f = 0.5 * a + b;
  PetscFunctionReturn(0);
}
static PetscErrorCode Hessian(Tao tao, Vec x, Mat A, Mat B, void *ctx)
{
  (void)tao, (void)x, (void)A, (void)B, (void)ctx;
  return 0;
}
static PetscErrorCode Constraints(Tao tao, Vec x, Vec f, void *ctx)
{
  (void)tao;
  return Velocity(NULL, x, f, ctx);
}

int main(int argc, char **argv)
{
  Problem      p;
  Mat          host;
  Vec          x, lower, upper;
  SNES         snes = NULL;
  Tao          tao = NULL;
  PetscInt     m = 32, n, first, last, lda, its, repeat = 3;
  PetscBool    use_tao = PETSC_FALSE, constraints;
  PetscScalar *v;
  PetscReal    h, norm, size, least = PETSC_MAX_REAL, wrong = 0;
  const char  *type, *reason;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-m", &m, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-tao", &use_tao, NULL));
  n = m * m;
  h = 2. / m;
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, NULL, &host));
  PetscCall(MatGetOwnershipRange(host, &first, &last));
  PetscCall(MatDenseGetLDA(host, &lda));
  PetscCall(MatDenseGetArrayWrite(host, &v));
  PetscReal *table;
  PetscCall(PetscMalloc1(n, &table));
  for (PetscInt j = 0; j < m; ++j)
    for (PetscInt i = 0; i < m; ++i) table[j * m + i] = Love(i * h, j * h, h);
  for (PetscInt j = 0; j < n; ++j)
    for (PetscInt i = first; i < last; ++i) v[j * lda + i - first] = table[PetscAbsInt(i % m - j % m) + m * PetscAbsInt(i / m - j / m)];
  PetscCall(PetscFree(table));
  PetscCall(MatDenseRestoreArrayWrite(host, &v));
  PetscCall(MatAssemblyBegin(host, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(host, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(host, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(host, MAT_SPD, PETSC_TRUE));
  char      to[64];
  PetscBool set;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", to, sizeof(to), &set));
  if (set) PetscCall(MatConvert(host, to, MAT_INPLACE_MATRIX, &host));
  p.A = host;
  PetscCall(MatCreateVecs(p.A, &x, &p.q));
  PetscCall(VecDuplicate(x, &p.w));
  PetscCall(VecDuplicate(x, &lower));
  PetscCall(VecDuplicate(x, &upper));
  PetscCall(VecSet(lower, 0));
  PetscCall(VecSet(upper, PETSC_INFINITY));
  for (PetscInt i = first; i < last; ++i) {
    const PetscReal a = (i % m + 0.5) * h - 1, b = (i / m + 0.5) * h - 1;
    PetscCall(VecSetValue(p.q, i, 0.5 * (a * a + b * b) - 0.36, INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(p.q));
  PetscCall(VecAssemblyEnd(p.q));
  PetscCall(VecNorm(p.q, NORM_2, &size));
  if (use_tao) {
    PetscCall(TaoCreate(PETSC_COMM_WORLD, &tao));
    PetscCall(TaoSetSolution(tao, x));
    PetscCall(TaoSetVariableBounds(tao, lower, upper));
    PetscCall(TaoSetFromOptions(tao));
    PetscCall(TaoGetType(tao, &type));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)tao, &constraints, TAOSSILS, TAOSSFLS, TAOASILS, TAOASFLS, ""));
    if (constraints) {
      PetscCall(TaoSetConstraintsRoutine(tao, p.w, Constraints, &p));
      PetscCall(TaoSetJacobianRoutine(tao, p.A, p.A, Hessian, &p));
    } else {
      PetscCall(TaoSetObjectiveAndGradient(tao, NULL, Energy, &p));
      PetscCall(TaoSetHessian(tao, p.A, p.A, Hessian, &p));
    }
  } else {
    PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
    PetscCall(SNESSetFunction(snes, p.w, Velocity, &p));
    PetscCall(SNESSetJacobian(snes, p.A, p.A, Constant, NULL));
    PetscCall(SNESSetTolerances(snes, 1e-8 * size, 1e-50, 1e-50, 100000, 1000000));
    PetscCall(SNESVISetVariableBounds(snes, lower, upper));
    PetscCall(SNESSetFromOptions(snes));
    PetscCall(SNESGetType(snes, &type));
  }
  for (PetscInt k = 0; k < repeat; ++k) {
    PetscLogDouble before, after;
    PetscCall(VecSet(x, 0));
    PetscCall(PetscTime(&before));
    if (tao) PetscCall(TaoSolve(tao));
    else PetscCall(SNESSolve(snes, NULL, x));
    PetscCall(PetscTime(&after));
    least = PetscMin(least, after - before);
  }
  if (tao) {
    TaoConvergedReason r;
    PetscCall(TaoGetConvergedReason(tao, &r));
    PetscCall(TaoGetIterationNumber(tao, &its));
    reason = TaoConvergedReasons[r];
  } else {
    SNESConvergedReason r;
    PetscCall(SNESGetConvergedReason(snes, &r));
    PetscCall(SNESGetIterationNumber(snes, &its));
    reason = SNESConvergedReasons[r];
  }
  PetscCall(MatMultAdd(p.A, x, p.q, p.w)); /* |min(x, w)| */
  PetscCall(VecPointwiseMin(p.w, p.w, x));
  PetscCall(VecNorm(p.w, NORM_2, &norm));
  const PetscScalar *a;
  PetscCall(VecGetArrayRead(x, &a));
  for (PetscInt i = first; i < last; ++i) {
    const PetscReal r2 = PetscSqr((i % m + 0.5) * h - 1) + PetscSqr((i / m + 0.5) * h - 1), exact = r2 < 0.36 ? 1.2 / PETSC_PI * PetscSqrtReal(1 - r2 / 0.36) : 0;
    wrong += PetscSqr(a[i - first] - exact) * h * h;
  }
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPIU_REAL, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s n %" PetscInt_FMT " its %" PetscInt_FMT " seconds %.4g natural %.2e pressure %.2e %s\n", type, n, its, least, (double)(norm / size), (double)PetscSqrtReal(wrong), reason));
  PetscCall(SNESDestroy(&snes));
  PetscCall(TaoDestroy(&tao));
  PetscCall(MatDestroy(&p.A));
  PetscCall(VecDestroy(&p.q));
  PetscCall(VecDestroy(&p.w));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&lower));
  PetscCall(VecDestroy(&upper));
  PetscCall(PetscFinalize());
  return 0;
}
