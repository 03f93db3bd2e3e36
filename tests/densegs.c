static char help[] = "PC densegs as a PETSc preconditioner: the iterates of its definition on any number of processes, transpose, refresh, what is kept, wrong input.\n\n";

#include <petscksp.h>
#include <tessera.h>

static PetscErrorCode Check(const char *name, PetscReal error, PetscReal tol)
{
  PetscFunctionBegin;
  if (error <= tol) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: ok\n", name));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: error %g\n", name, (double)error));
  PetscFunctionReturn(0);
}

static PetscReal Entry(PetscInt i, PetscInt j, PetscInt n, PetscBool symmetric)
{
  const PetscInt a = symmetric && i < j ? j : i, b = symmetric && i < j ? i : j;
  return (i == j ? (symmetric ? 0.8 : 0.3) * n + 1 : 0) + PetscSinReal(1.7 * a + 0.9 * b * b);
}

static PetscErrorCode Matrix(PetscInt n, PetscBool symmetric, Mat *A)
{
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, NULL, A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = first; i < last; ++i)
    for (PetscInt j = 0; j < n; ++j) PetscCall(MatSetValue(*A, i, j, Entry(i, j, n, symmetric), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* The iterate after so many sweeps from x for A x = b, from the definition, on every process. */
static void Reference(PetscInt n, PetscBool symmetric, PetscInt order, PetscReal omega, PetscInt sweeps, PetscReal x[])
{
  for (PetscInt k = 0; k < sweeps * (order == TESSERA_GS_SYMMETRIC ? 2 : 1); ++k)
    for (PetscInt s = 0; s < n; ++s) {
      const PetscInt i = order == TESSERA_GS_BACKWARD || (order == TESSERA_GS_SYMMETRIC && k % 2) ? n - 1 - s : s;
      PetscReal      r = PetscCosReal(3.0 * i);
      for (PetscInt j = 0; j < n; ++j) r -= Entry(i, j, n, symmetric) * x[j];
      x[i] += omega * r / Entry(i, i, n, symmetric);
    }
}

static PetscErrorCode Vectors(Mat A, Vec *b, Vec *x)
{
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, x, b));
  PetscCall(VecGetOwnershipRange(*b, &first, &last));
  for (PetscInt i = first; i < last; ++i) PetscCall(VecSetValue(*b, i, PetscCosReal(3.0 * i), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(*b));
  PetscCall(VecAssemblyEnd(*b));
  PetscFunctionReturn(0);
}

static PetscErrorCode Compare(Vec x, const PetscReal expected[], PetscReal *error)
{
  const PetscScalar *v;
  PetscInt           first, last;
  PetscReal          mine[2] = {0, 0}, all[2];

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  PetscCall(VecGetArrayRead(x, &v));
  for (PetscInt i = first; i < last; ++i) {
    const PetscReal e = PetscAbsReal(v[i - first] - expected[i]);
    mine[0] = e <= mine[0] ? mine[0] : e == e ? e : 1e300;
    mine[1] = PetscMax(mine[1], PetscAbsReal(expected[i]));
  }
  PetscCall(VecRestoreArrayRead(x, &v));
  PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  *error = all[1] > 0 ? all[0] / all[1] : all[0];
  PetscFunctionReturn(0);
}

static PetscErrorCode TestIterates(void)
{
  const PetscInt sizes[] = {1, 5, 64, 150};

  PetscFunctionBegin;
  for (int c = 0; c < 4; ++c)
    for (int order = 0; order < 3; ++order) {
      const PetscInt n = sizes[c];
      PetscReal      worst = 0, warm = 0, error, omega = order == 1 ? 1.2 : 1;
      PetscReal     *expected, *guessed;
      Mat            A;
      Vec            b, x;
      char           name[100];

      PetscCall(Matrix(n, PETSC_FALSE, &A));
      PetscCall(Vectors(A, &b, &x));
      PetscCall(PetscCalloc2(n, &expected, n, &guessed));
      Reference(n, PETSC_FALSE, order, omega, 2, expected);
      for (PetscInt i = 0; i < n; ++i) guessed[i] = PetscCosReal(3.0 * i);
      Reference(n, PETSC_FALSE, order, omega, 3, guessed);
      for (int strategy = 0; strategy < TESSERA_GS_RELAXED; ++strategy) {
        KSP ksp;
        PC  pc;

        PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
        PetscCall(KSPSetOperators(ksp, A, A));
        PetscCall(KSPSetType(ksp, KSPRICHARDSON));
        PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
        PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 3));
        PetscCall(KSPGetPC(ksp, &pc));
        PetscCall(PCSetType(pc, PCDENSEGS));
        PetscCall(PCDenseGSSetStrategy(pc, (TesseraGSStrategy)strategy));
        PetscCall(PCDenseGSSetOrder(pc, (TesseraGSOrder)order));
        PetscCall(PCDenseGSSetOmega(pc, omega));
        PetscCall(PCDenseGSSetSweeps(pc, 2));
        PetscCall(KSPSetFromOptions(ksp));
        PetscCall(PCSetUp(pc));
        PetscCall(VecSet(x, 77)); /* what is there must not matter */
        PetscCall(PCApply(pc, b, x));
        PetscCall(Compare(x, expected, &error));
        worst = PetscMax(worst, error);
        PetscCall(PCDenseGSSetSweeps(pc, 1)); /* from a guess, three sweeps in one call */
        PetscCall(VecCopy(b, x));
        PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(Compare(x, guessed, &error));
        warm = PetscMax(warm, error);
        PetscCall(KSPDestroy(&ksp));
      }
      PetscCall(PetscSNPrintf(name, sizeof(name), "n = %" PetscInt_FMT ", %s: iterates", n, TesseraGSOrders[order]));
      PetscCall(Check(name, worst, 1e-13));
      PetscCall(Check("  Richardson from a guess", warm, 1e-13));
      PetscCall(PetscFree2(expected, guessed));
      PetscCall(VecDestroy(&b));
      PetscCall(VecDestroy(&x));
      PetscCall(MatDestroy(&A));
    }
  PetscFunctionReturn(0);
}

/* Symmetric matrices: (x, M^-1 y) = (M^-1 x, y) for symmetric sweeps, and M^-T for the others. CG converges. */
static PetscErrorCode TestSymmetry(void)
{
  const PetscInt     n = 150;
  Mat                A;
  Vec                b, x, y, z;
  KSP                ksp;
  PC                 pc;
  PetscScalar        s, t;
  PetscInt           its;
  PetscReal          r, nb;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(Matrix(n, PETSC_TRUE, &A));
  PetscCall(Vectors(A, &b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(VecDuplicate(b, &z));
  PetscCall(VecCopy(b, y));
  PetscCall(VecShift(y, 0.5));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, 100));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCDENSEGS));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCApply(pc, b, x));
  PetscCall(PCApply(pc, y, z));
  PetscCall(VecDot(x, y, &s));
  PetscCall(VecDot(z, b, &t));
  PetscCall(Check("symmetric sweeps are symmetric", PetscAbsScalar(s - t) / PetscAbsScalar(s), 1e-13));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(MatMult(A, x, z));
  PetscCall(VecAXPY(z, -1, b));
  PetscCall(VecNorm(z, NORM_2, &r));
  PetscCall(VecNorm(b, NORM_2, &nb));
  PetscCall(Check("CG", reason > 0 && its < 40 ? r / nb : 1, 1e-8));
  PetscCall(MatScale(A, 4)); /* new values */
  PetscCall(KSPSolve(ksp, b, y));
  PetscCall(VecAXPY(y, -0.25, x));
  PetscCall(VecNorm(y, NORM_INFINITY, &r));
  PetscCall(Check("new values", r, 1e-9));
  for (int order = 0; order < 2; ++order) {
    PetscCall(PCDenseGSSetOrder(pc, (TesseraGSOrder)order));
    PetscCall(PCDenseGSSetSweeps(pc, 3));
    PetscCall(VecCopy(b, y));
    PetscCall(VecShift(y, 0.5));
    PetscCall(PCSetUp(pc));
    PetscCall(PCApply(pc, b, x));
    PetscCall(PCApplyTranspose(pc, y, z));
    PetscCall(VecDot(x, y, &s));
    PetscCall(VecDot(z, b, &t));
    PetscCall(Check(order ? "transpose of backward sweeps" : "transpose of forward sweeps", PetscAbsScalar(s - t) / PetscAbsScalar(s), 1e-13));
  }
  PetscCall(PCDenseGSSetPrecision(pc, TESSERA_PRECISION_SINGLE));
  PetscCall(PCDenseGSSetOrder(pc, TESSERA_GS_SYMMETRIC));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(MatMult(A, x, z));
  PetscCall(VecAXPY(z, -1, b));
  PetscCall(VecNorm(z, NORM_2, &r));
  PetscCall(Check("CG, the preconditioner in single precision", reason > 0 ? r / nb : 1, 1e-8));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

static PetscErrorCode Caught(MPI_Comm comm, int line, const char *fun, const char *file, PetscErrorCode n, PetscErrorType p, const char *mess, void *ctx)
{
  if (p == PETSC_ERROR_INITIAL && mess && !*(char *)ctx) (void)PetscStrncpy((char *)ctx, mess, 400);
  (void)comm, (void)line, (void)fun, (void)file;
  return n;
}

/* Column j of what the preconditioner is, or of its transpose, on every process. */
static PetscErrorCode Column(PC pc, PetscInt j, PetscBool transpose, Vec e, Vec y, PetscScalar column[])
{
  PetscInt           n, first, last;
  const PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(VecGetSize(e, &n));
  PetscCall(VecGetOwnershipRange(e, &first, &last));
  PetscCall(VecSet(e, 0));
  if (j >= first && j < last) PetscCall(VecSetValue(e, j, 1, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(e));
  PetscCall(VecAssemblyEnd(e));
  if (transpose) PetscCall(PCApplyTranspose(pc, e, y));
  else PetscCall(PCApply(pc, e, y));
  PetscCall(PetscArrayzero(column, n));
  PetscCall(VecGetArrayRead(y, &v));
  for (PetscInt i = first; i < last; ++i) column[i] = v[i - first];
  PetscCall(VecRestoreArrayRead(y, &v));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, column, (PetscMPIInt)n, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(0);
}

/* The transpose, entry by entry, of every order that has one, and after new values; what has none says so. */
static PetscErrorCode TestTranspose(void)
{
  const PetscInt n = 131;
  PetscScalar   *forth, *back;
  PetscInt       first, last;
  Mat            A;
  Vec            e, y;
  PC             pc;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n * n, &forth, n * n, &back));
  PetscCall(Matrix(n, PETSC_TRUE, &A));
  PetscCall(MatCreateVecs(A, &y, &e));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCDENSEGS));
  PetscCall(PCDenseGSSetOmega(pc, 1.3));
  for (int c = 0; c < 7; ++c) { /* three orders in two precisions, the last one with new values */
    const int order = PetscMin(c, 5) % 3;
    PetscReal worst = 0, largest = 0;
    char      name[100];

    if (c < 6) {
      PetscCall(PCDenseGSSetOrder(pc, (TesseraGSOrder)order));
      PetscCall(PCDenseGSSetSweeps(pc, order + 1));
      PetscCall(PCDenseGSSetPrecision(pc, c < 3 ? TESSERA_PRECISION_DOUBLE : TESSERA_PRECISION_SINGLE));
    } else {
      PetscCall(MatShift(A, 7));
      PetscCall(PCSetOperators(pc, A, A));
    }
    PetscCall(PCSetUp(pc));
    for (PetscInt j = 0; j < n; ++j) {
      PetscCall(Column(pc, j, PETSC_FALSE, e, y, forth + j * n));
      PetscCall(Column(pc, j, PETSC_TRUE, e, y, back + j * n));
    }
    for (PetscInt j = 0; j < n; ++j)
      for (PetscInt i = 0; i < n; ++i) {
        worst   = PetscMax(worst, PetscAbsScalar(forth[j * n + i] - back[i * n + j]));
        largest = PetscMax(largest, PetscAbsScalar(forth[j * n + i]));
      }
    PetscCall(PetscSNPrintf(name, sizeof(name), "transpose, %s, %s%s", TesseraGSOrders[order], c < 3 ? "double" : "single", c == 6 ? ", new values" : ""));
    PetscCall(Check(name, largest > 0 ? worst / largest : 1, 1e-14));
  }
  for (int c = 0; c < 2; ++c) {
    char           text[400] = "";
    PetscErrorCode ierr;

    PetscCall(MatGetOwnershipRange(A, &first, &last));
    if (c) PetscCall(PCDenseGSSetOrder(pc, TESSERA_GS_RANDOM)); /* no transpose at all */
    if (0 >= first && 0 < last) PetscCall(MatSetValue(A, 0, n - 1, c ? Entry(0, n - 1, n, PETSC_TRUE) : 11, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetUp(pc));
    PetscCall(PetscPushErrorHandler(Caught, text));
    ierr = PCApplyTranspose(pc, e, y);
    PetscCall(PetscPopErrorHandler());
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "transpose of %s: %s\n", c ? "random order" : "a matrix that is not symmetric", ierr ? text : "there is one"));
  }
  PetscCall(PetscFree2(forth, back));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&e));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* While a preconditioner is kept it is that of the matrix of its setup, to the last bit; then it is that of the present one. */
static PetscErrorCode TestKept(void)
{
  PetscFunctionBegin;
  for (int order = 0; order < 4; ++order) {
    const PetscInt n = 150;
    PetscReal      change[3], norm;
    Mat            A;
    Vec            b, x, y, guess;
    PC             pc;
    KSP            ksp;

    PetscCall(Matrix(n, PETSC_FALSE, &A));
    PetscCall(Vectors(A, &b, &x));
    PetscCall(VecDuplicate(b, &y));
    PetscCall(VecDuplicate(b, &guess));
    PetscCall(VecCopy(b, guess));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPRICHARDSON));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
    PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 2));
    PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
    PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCDENSEGS));
    PetscCall(PCDenseGSSetOrder(pc, (TesseraGSOrder)order));
    PetscCall(KSPSetUp(ksp));
    for (int c = 0; c < 3; ++c) { /* an application; sweeps from a guess; an application after a new setup */
      for (int k = 0; k < 2; ++k) {
        PetscCall(VecCopy(guess, k ? y : x));
        if (c == 1) PetscCall(KSPSolve(ksp, b, k ? y : x));
        else PetscCall(PCApply(pc, b, k ? y : x));
        if (k) break;
        PetscCall(MatScale(A, 7));
        if (c == 2) PetscCall(KSPSetReusePreconditioner(ksp, PETSC_FALSE));
        PetscCall(KSPSetUp(ksp));
      }
      PetscCall(VecNorm(x, NORM_INFINITY, &norm));
      if (c == 2) PetscCall(VecScale(y, 343)); /* three times seven */
      PetscCall(VecAXPY(y, -1, x));
      PetscCall(VecNorm(y, NORM_INFINITY, &change[c]));
      if (!(norm > 0)) change[c] = 1;
      else change[c] /= norm;
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: ", TesseraGSOrders[order]));
    PetscCall(Check("kept in applications", change[0], 0));
    PetscCall(Check("  kept in Richardson's method", change[1], 0));
    PetscCall(Check("  new after a setup", change[2], 1e-12));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&guess));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* What a failing setup says; a failed factorisation ends the KSP. */
static PetscErrorCode TestWrong(void)
{
  PetscFunctionBegin;
  for (int c = 0; c < 10; ++c) {
    const char *const names[] = {"a sparse matrix", "a matrix that is not square", "a zero on the diagonal", "a NaN", "a relaxation factor of 2", "a NaN far from the diagonal", "too many sweeps", "a vector of another size", "1e-100 in single precision", "a zero on the diagonal, Richardson's method"};
    const PetscInt     n = 20;
    char               text[400] = "";
    Mat                A;
    Vec                b, x, longer;
    PetscInt           local;
    KSP                ksp;
    PC                 pc;
    PetscErrorCode     ierr = 0;
    KSPConvergedReason reason = KSP_CONVERGED_ITERATING;

    if (c == 0) {
      PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 1, NULL, 0, NULL, &A));
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatShift(A, 1));
    } else if (c == 1) {
      PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n + 1, NULL, &A));
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    } else {
      PetscInt first, last;
      PetscCall(Matrix(n, PETSC_TRUE, &A));
      PetscCall(MatGetOwnershipRange(A, &first, &last));
      if ((c == 2 || c == 9) && 17 >= first && 17 < last) PetscCall(MatSetValue(A, 17, 17, 0, INSERT_VALUES));
      if (c == 3 && 17 >= first && 17 < last) PetscCall(MatSetValue(A, 17, 17, NAN, INSERT_VALUES));
      if (c == 5 && 1 >= first && 1 < last) PetscCall(MatSetValue(A, 1, 18, NAN, INSERT_VALUES));
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    }
    if (c == 8) PetscCall(MatScale(A, 1e-100));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1));
    PetscCall(VecGetLocalSize(b, &local));
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, local + 1, PETSC_DETERMINE, &longer));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCDENSEGS));
    PetscCall(PetscPushErrorHandler(Caught, text));
    if (c == 4) ierr = PCDenseGSSetOmega(pc, 2);
    else if (c == 8) ierr = PCDenseGSSetPrecision(pc, TESSERA_PRECISION_SINGLE) || KSPSolve(ksp, b, x);
    else if (c == 6) ierr = PCDenseGSSetSweeps(pc, 1000001);
    else if (c == 7) ierr = KSPSetType(ksp, KSPRICHARDSON) || KSPSetNormType(ksp, KSP_NORM_NONE) || KSPSolve(ksp, longer, x);
    else if (c == 9) ierr = KSPSetType(ksp, KSPRICHARDSON) || KSPSolve(ksp, b, x);
    else if (c == 1) ierr = PCSetUp(pc);
    else ierr = KSPSolve(ksp, b, x);
    PetscCall(PetscPopErrorHandler());
    if (!ierr) PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(VecDestroy(&longer));
    if (!strncmp(text, "PC densegs: the matrix has ", 27)) text[26] = 0; /* so many rows on this process */
    if (!strncmp(text, "PC densegs works on dense matrices, this one is of type mpiaij", 62)) memcpy(text + 56, "seqaij", 6);
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", names[c], ierr ? text : KSPConvergedReasons[reason]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* No unknowns at all, and processes without any. */
static PetscErrorCode TestEmpty(void)
{
  PetscFunctionBegin;
  for (PetscInt n = 0; n < 2; ++n) {
    Mat A;
    Vec b, x;
    KSP ksp;
    PC  pc;

    PetscCall(Matrix(n, PETSC_TRUE, &A));
    PetscCall(Vectors(A, &b, &x));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCDENSEGS));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(MatMult(A, x, b));
    PetscReal sum = 0;
    PetscCall(VecNorm(b, NORM_1, &sum));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "n = %" PetscInt_FMT ": ", n));
    PetscCall(Check("solved", PetscAbsReal(sum - n), 1e-12));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* With -warn and -info: conjugate gradients with sweeps that are no symmetric preconditioner, twice, and GMRES. */
static PetscErrorCode TestWarning(void)
{
  Mat A;
  Vec b, x;

  PetscFunctionBegin;
  PetscCall(Matrix(20, PETSC_TRUE, &A));
  PetscCall(Vectors(A, &b, &x));
  for (int k = 0; k < 3; ++k) {
    KSP ksp;
    PC  pc;

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, k == 1 ? KSPGMRES : KSPCG));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCDENSEGS));
    if (k < 2) PetscCall(PCDenseGSSetOrder(pc, TESSERA_GS_RANDOM));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscBool warn = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TesseraInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-warn", &warn, NULL));
  if (warn) {
    PetscCall(TestWarning());
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(TestIterates());
  PetscCall(TestSymmetry());
  PetscCall(TestTranspose());
  PetscCall(TestKept());
  PetscCall(TestWrong());
  PetscCall(TestEmpty());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3 4}}
    output_file: output/densegs.out

  test:
    suffix: warning
    nsize: {{1 2}}
    args: -warn -info
    filter: grep -o "Warning: .*"
    output_file: output/densegs_warning.out

TEST*/
