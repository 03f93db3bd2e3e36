static char help[] = "SNES and Tao vipgs: functions that are not linear, Tao's gradients and constraints, the user's test of convergence.\n\n";

#include "vipgs_problem.h"
#include <petsc/private/petscimpl.h>

/* F(x) = A x + x^3 + q is not linear: 0 <= x, F >= 0. */
static PetscErrorCode Cubic(SNES snes, Vec x, Vec f, void *ctx)
{
  Mat                A = (Mat)ctx;
  PetscScalar       *v;
  const PetscScalar *u;
  PetscInt           first, last;

  PetscFunctionBegin;
  PetscCall(MatMult(A, x, f));
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  PetscCall(VecGetArrayRead(x, &u));
  PetscCall(VecGetArray(f, &v));
  for (PetscInt i = 0; i < last - first; ++i) v[i] += u[i] * u[i] * u[i] + BoxQ(first + i, 0);
  PetscCall(VecRestoreArray(f, &v));
  PetscCall(VecRestoreArrayRead(x, &u));
  PetscFunctionReturn(0);
}
static PetscErrorCode CubicJacobian(SNES snes, Vec x, Mat J, Mat B, void *ctx)
{
  Vec d;

  PetscFunctionBegin;
  PetscCall(MatCopy((Mat)ctx, B, SAME_NONZERO_PATTERN));
  PetscCall(VecDuplicate(x, &d));
  PetscCall(VecPointwiseMult(d, x, x));
  PetscCall(VecScale(d, 3));
  PetscCall(MatDiagonalSet(B, d, ADD_VALUES));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(0);
}
static PetscErrorCode Bounds(SNES snes, Vec lower, Vec upper)
{
  PetscFunctionBegin;
  PetscCall(VecSet(lower, 0));
  PetscCall(VecSet(upper, PETSC_INFINITY));
  PetscFunctionReturn(0);
}

static PetscErrorCode TestNonlinear(void)
{
  Mat                 A, J;
  Vec                 x, f, w;
  SNES                snes;
  PetscReal           error;
  SNESConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(Fill(90, BoxEntry, &A));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &J));
  PetscCall(MatCreateVecs(A, &x, &f));
  PetscCall(VecDuplicate(x, &w));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetFunction(snes, f, Cubic, A));
  PetscCall(SNESSetJacobian(snes, J, J, CubicJacobian, A));
  PetscCall(SNESVISetComputeVariableBounds(snes, Bounds));
  PetscCall(SNESSetType(snes, SNESVIPGS));
  PetscCall(SNESSetTolerances(snes, 1e-9, 1e-50, 1e-50, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(VecSet(x, 1));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(SNESComputeFunction(snes, x, w));
  PetscCall(VecPointwiseMin(w, w, x));
  PetscCall(VecNorm(w, NORM_2, &error));
  PetscCall(Check("not linear", reason > 0 ? error : 1, 1e-8));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&w));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&J));
  PetscFunctionReturn(0);
}

/* Tao: a quadratic problem by gradient and Hessian, and the same by constraints and their Jacobian. */
static PetscErrorCode Objective(Tao tao, Vec x, PetscReal *f, Vec g, void *ctx)
{
  PetscReal a, b;
  Vec       q;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)ctx, "q", (PetscObject *)&q));
  PetscCall(MatMult((Mat)ctx, x, g));
  PetscCall(VecDot(x, g, &a));
  PetscCall(VecDot(x, q, &b));
  PetscCall(VecAXPY(g, 1, q));
  *f = 0.5 * a + b;
  PetscFunctionReturn(0);
}
static PetscErrorCode Constraints(Tao tao, Vec x, Vec c, void *ctx)
{
  PetscReal f;
  return Objective(tao, x, &f, c, ctx);
}
static PetscErrorCode Same(Tao tao, Vec x, Mat H, Mat B, void *ctx) { return 0; }

static PetscErrorCode TestTao(void)
{
  Mat                A;
  Vec                q, lower, upper, x, y, c;
  Tao                tao;
  PetscReal          error;
  TaoConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(Fill(100, BoxEntry, &A));
  PetscCall(FillVec(A, BoxQ, &q));
  PetscCall(FillVec(A, BoxLower, &lower));
  PetscCall(FillVec(A, BoxUpper, &upper));
  PetscCall(PetscObjectCompose((PetscObject)A, "q", (PetscObject)q));
  PetscCall(VecDuplicate(q, &x));
  PetscCall(VecDuplicate(q, &y));
  PetscCall(VecDuplicate(q, &c));
  for (int k = 0; k < 3; ++k) { /* 2: rounding of the gradient is large beside the bounds */
    if (k == 2) {
      PetscCall(VecCopy(x, c));
      PetscCall(MatScale(A, 1e20));
      PetscCall(VecScale(q, 1e20));
    }
    PetscCall(VecSet(x, 0));
    PetscCall(TaoCreate(PETSC_COMM_WORLD, &tao));
    PetscCall(TaoSetType(tao, TAOVIPGS));
    PetscCall(TaoSetSolution(tao, x));
    PetscCall(TaoSetVariableBounds(tao, lower, upper));
    if (k != 1) {
      PetscCall(TaoSetObjectiveAndGradient(tao, NULL, Objective, A));
      PetscCall(TaoSetHessian(tao, A, A, Same, A));
    } else {
      PetscCall(TaoSetConstraintsRoutine(tao, c, Constraints, A));
      PetscCall(TaoSetJacobianRoutine(tao, A, A, Same, A));
    }
    PetscCall(TaoSetTolerances(tao, 1e-11, 0, 0));
    PetscCall(TaoSetFromOptions(tao));
    PetscCall(TaoSolve(tao));
    PetscCall(TaoGetConvergedReason(tao, &reason));
    if (k == 2) {
      PetscCall(VecAXPY(c, -1, x));
      PetscCall(VecNorm(c, NORM_2, &error));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Tao, times 1e20: %s, the same solution %s\n", TaoConvergedReasons[reason], error < 1e-9 ? "yes" : "no"));
      PetscCall(TaoDestroy(&tao));
      break;
    }
    PetscCall(MatMultAdd(A, x, q, y)); /* x - P(x - F) */
    PetscCall(VecAYPX(y, -1, x));
    PetscCall(VecMedian(lower, y, upper, y));
    PetscCall(VecAXPY(y, -1, x));
    PetscCall(VecNorm(y, NORM_2, &error));
    PetscCall(Check(k ? "Tao, constraints and Jacobian" : "Tao, gradient and Hessian", reason > 0 ? error : 1, 2e-11));
    PetscCall(TaoDestroy(&tao));
  }
  PetscCall(VecDestroy(&q));
  PetscCall(VecDestroy(&lower));
  PetscCall(VecDestroy(&upper));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&c));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* f(x) = sum of x log|x| - x: from x = 3 the first quadratic model, solved, leads to where the gradient log x is no number; half of that step
   does not. */
static PetscErrorCode Logarithm(Tao tao, Vec x, PetscReal *f, Vec g, void *ctx)
{
  PetscScalar *u;

  PetscFunctionBegin;
  PetscCall(VecCopy(x, g));
  PetscCall(VecAbs(g));
  PetscCall(VecLog(g));
  PetscCall(VecShift(g, -1));
  PetscCall(VecDot(g, x, f));
  PetscCall(VecCopy(x, g));
  PetscCall(VecGetArray(g, &u));
  PetscInt n;
  PetscCall(VecGetLocalSize(g, &n));
  for (PetscInt i = 0; i < n; ++i) u[i] = u[i] > 0 ? PetscLogReal(u[i]) : NAN;
  PetscCall(VecRestoreArray(g, &u));
  PetscFunctionReturn(0);
}

static PetscErrorCode LogarithmHessian(Tao tao, Vec x, Mat H, Mat B, void *ctx)
{
  Vec d;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &d));
  PetscCall(VecCopy(x, d));
  PetscCall(VecReciprocal(d));
  PetscCall(MatZeroEntries(H));
  PetscCall(MatDiagonalSet(H, d, INSERT_VALUES));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(0);
}
static PetscErrorCode NoHessian(Tao tao, Vec x, Mat H, Mat B, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(MatZeroEntries(H));
  PetscCall(MatShift(H, NAN));
  PetscFunctionReturn(0);
}
static PetscErrorCode TestTaoNotANumber(void)
{
  Mat                A;
  Vec                x;
  Tao                tao;
  TaoConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(Fill(12, Identity, &A));
  PetscCall(MatCreateVecs(A, &x, NULL));
  for (int k = 0; k < 3; ++k) {
    char           text[400] = "";
    PetscErrorCode ierr;
    PetscCall(VecSet(x, k ? 2 : 3));
    PetscCall(TaoCreate(PETSC_COMM_WORLD, &tao));
    PetscCall(TaoSetType(tao, TAOVIPGS));
    PetscCall(TaoSetSolution(tao, x));
    PetscCall(TaoSetObjectiveAndGradient(tao, NULL, Logarithm, NULL));
    PetscCall(TaoSetHessian(tao, A, A, k == 2 ? NoHessian : LogarithmHessian, NULL));
    PetscCall(TaoSetTolerances(tao, 1e-9, 0, 0));
    PetscCall(PetscPushErrorHandler(Caught, text));
    ierr = TaoSolve(tao);
    PetscCall(PetscPopErrorHandler());
    PetscCall(TaoGetConvergedReason(tao, &reason));
    if (k == 2) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Tao, a Hessian of no numbers: %s\n", ierr ? text : "no error"));
    else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Tao, a gradient that %s: %s\n", k ? "stays a number" : "becomes no number", TaoConvergedReasons[reason]));
    PetscCall(TaoDestroy(&tao));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* A user's test is asked by every process, sees the solution, and ends the solve. */
static PetscErrorCode EndAtTwo(SNES snes, PetscInt it, PetscReal xnorm, PetscReal gnorm, PetscReal norm, SNESConvergedReason *reason, void *ctx)
{
  Vec       x;
  PetscReal size;

  PetscFunctionBegin;
  PetscCall(SNESGetSolution(snes, &x));
  PetscCall(VecNorm(x, NORM_2, &size)); /* collective: hangs if some do not ask */
  if (it) ((PetscReal *)ctx)[0] = size;
  ++((PetscReal *)ctx)[1];
  *reason = it == 2 ? SNES_CONVERGED_ITS : SNES_CONVERGED_ITERATING;
  PetscFunctionReturn(0);
}
static PetscErrorCode EndTaoAtTwo(Tao tao, void *ctx)
{
  PetscInt it;

  PetscFunctionBegin;
  PetscCall(TaoGetIterationNumber(tao, &it));
  ++*(PetscInt *)ctx;
  PetscCall(TaoSetConvergedReason(tao, it == 2 ? TAO_CONVERGED_USER : TAO_CONTINUE_ITERATING));
  PetscFunctionReturn(0);
}
static PetscErrorCode SolveToTwo(const char *name, SNES snes, Vec x)
{
  PetscReal           seen[2] = {0, 0};
  PetscInt            its;
  SNESConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(SNESVIPGSSetCheck(snes, 1));
  PetscCall(SNESSetConvergenceTest(snes, EndAtTwo, seen, NULL));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(SNESGetIterationNumber(snes, &its));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a test of the user's%s: %s after %" PetscInt_FMT ", asked %g times, x %s\n", name, SNESConvergedReasons[reason], its, (double)seen[1], seen[0] > 0 ? "seen" : "not seen"));
  PetscCall(SNESDestroy(&snes));
  PetscFunctionReturn(0);
}
static PetscErrorCode SolveTaoToTwo(const char *name, PetscErrorCode (*objective)(Tao, Vec, PetscReal *, Vec, void *), PetscErrorCode (*hessian)(Tao, Vec, Mat, Mat, void *), Mat A, Vec x)
{
  Tao                tao;
  PetscInt           its, calls = 0;
  TaoConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(TaoCreate(PETSC_COMM_WORLD, &tao));
  PetscCall(TaoSetType(tao, TAOVIPGS));
  PetscCall(TaoSetSolution(tao, x));
  PetscCall(TaoSetObjectiveAndGradient(tao, NULL, objective, A));
  PetscCall(TaoSetHessian(tao, A, A, hessian, A));
  PetscCall(TaoSetConvergenceTest(tao, EndTaoAtTwo, &calls));
  PetscCall(TaoSolve(tao));
  PetscCall(TaoGetConvergedReason(tao, &reason));
  PetscCall(TaoGetIterationNumber(tao, &its));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a test of the user's%s, Tao: %s after %" PetscInt_FMT ", asked %" PetscInt_FMT " times\n", name, TaoConvergedReasons[reason], its, calls));
  PetscCall(TaoDestroy(&tao));
  PetscFunctionReturn(0);
}

/* Its verdict stands also where F is not linear, so that another linearisation would follow. */
static PetscErrorCode TestUsersTest(void)
{
  Mat  A, J;
  Vec  q, x, f;
  SNES snes;

  PetscFunctionBegin;
  PetscCall(Fill(120, Decaying, &A));
  PetscCall(FillVec(A, Wave, &q));
  PetscCall(VecDuplicate(q, &x));
  PetscCall(SNESVIPGSCreateLCP(A, q, NULL, NULL, &snes));
  PetscCall(SolveToTwo("", snes, x));
  PetscCall(PetscObjectCompose((PetscObject)A, "q", (PetscObject)q));
  PetscCall(VecSet(x, 0));
  PetscCall(SolveTaoToTwo("", Objective, Same, A, x));
  PetscCall(VecDestroy(&q));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));

  PetscCall(Fill(90, BoxEntry, &A));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &J));
  PetscCall(MatCreateVecs(A, &x, &f));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetFunction(snes, f, Cubic, A));
  PetscCall(SNESSetJacobian(snes, J, J, CubicJacobian, A));
  PetscCall(SNESVISetComputeVariableBounds(snes, Bounds));
  PetscCall(SNESSetType(snes, SNESVIPGS));
  PetscCall(VecSet(x, 1));
  PetscCall(SolveToTwo(", not linear", snes, x));
  PetscCall(VecSet(x, 1.2));
  PetscCall(SolveTaoToTwo(", not linear", Logarithm, LogarithmHessian, J, x));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&f));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&J));
  PetscFunctionReturn(0);
}

/* F(x) = x + 1 with x >= 0: another type finds the bounds that were given while the type was vipgs. */
static PetscErrorCode Shifted(SNES snes, Vec x, Vec f, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(VecCopy(x, f));
  PetscCall(VecShift(f, 1));
  PetscFunctionReturn(0);
}

static PetscErrorCode TestOtherType(void)
{
  const char *const types[] = {SNESVIPGS, SNESVIPMG};

  PetscFunctionBegin;
  for (int t = 0; t < 2; ++t) {
    Mat       A;
    Vec       x, f, lower, upper;
    SNES      snes;
    PetscReal norm;

    PetscCall(Fill(20, Identity, &A));
    PetscCall(MatCreateVecs(A, &x, &f));
    PetscCall(VecDuplicate(x, &lower));
    PetscCall(VecDuplicate(x, &upper));
    PetscCall(VecSet(lower, 0));
    PetscCall(VecSet(upper, PETSC_INFINITY));
    PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
    PetscCall(SNESSetFunction(snes, f, Shifted, NULL));
    PetscCall(SNESSetJacobian(snes, A, A, Constant, NULL));
    PetscCall(SNESSetType(snes, types[t]));
    PetscCall(SNESVISetVariableBounds(snes, lower, upper));
    PetscCall(SNESSetType(snes, t ? SNESVIPGS : SNESVINEWTONSSLS));
    PetscCall(VecSet(x, 1));
    PetscCall(SNESSolve(snes, NULL, x));
    PetscCall(VecNorm(x, NORM_2, &norm));
    PetscCall(Check(t ? "bounds stay when vipmg goes" : "bounds stay when vipgs goes", norm, 1e-6));
    PetscCall(SNESDestroy(&snes));
    PetscCall(VecDestroy(&lower));
    PetscCall(VecDestroy(&upper));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&f));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* Processes without rows, too, are told that the solution has changed: PETSc keeps norms with vectors. */
static PetscErrorCode TestNoRows(void)
{
  PetscMPIInt      rank, size;
  PetscInt         mine;
  PetscObjectState before, after;
  int              told;
  Mat              A;
  Vec              x, f, lower, upper;
  SNES             snes;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  mine = rank == size - 1 ? 20 : 0;
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, mine, mine, 20, 20, NULL, &A));
  PetscCall(MatShift(A, 1));
  PetscCall(MatCreateVecs(A, &x, &f));
  PetscCall(VecDuplicate(x, &lower));
  PetscCall(VecDuplicate(x, &upper));
  PetscCall(VecSet(lower, 0));
  PetscCall(VecSet(upper, PETSC_INFINITY));
  PetscCall(VecSet(x, -1));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetType(snes, SNESVIPGS));
  PetscCall(SNESSetFunction(snes, f, Shifted, NULL));
  PetscCall(SNESSetJacobian(snes, A, A, Constant, NULL));
  PetscCall(SNESVISetVariableBounds(snes, lower, upper));
  PetscCall(SNESSetTolerances(snes, 1e-9, 1e-50, 1e-50, 0, PETSC_DEFAULT));
  PetscCall(PetscObjectStateGet((PetscObject)x, &before));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(PetscObjectStateGet((PetscObject)x, &after));
  told = after > before;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &told, 1, MPI_INT, MPI_LAND, PETSC_COMM_WORLD));
  PetscCall(Check("processes without rows", told ? 0 : 1, 0));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&lower));
  PetscCall(VecDestroy(&upper));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TesseraInitializePackage());
  PetscCall(TestNonlinear());
  PetscCall(TestTao());
  PetscCall(TestTaoNotANumber());
  PetscCall(TestUsersTest());
  PetscCall(TestOtherType());
  PetscCall(TestNoRows());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3}}
    output_file: output/vipgs_functions.out

TEST*/
