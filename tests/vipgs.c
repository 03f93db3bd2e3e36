static char help[] = "SNES vipgs: complementarity problems with known answers, friction, reasons, wrong input.\n\n";

#include "vipgs_problem.h"

/* Murty's matrices need 2^n pivots of some methods; Fathi's is positive definite, with a terrible condition. */
static PetscReal MurtyLower(PetscInt i, PetscInt j, PetscInt n) { return i == j ? 1 : i > j ? 2 : 0; }
static PetscReal MurtyUpper(PetscInt i, PetscInt j, PetscInt n) { return i == j ? 1 : i < j ? 2 : 0; }
static PetscReal Fathi(PetscInt i, PetscInt j, PetscInt n) { return i == j ? 4. * i + 1 : 4. * PetscMin(i, j) + 2; }
static PetscReal Cyclic(PetscInt i, PetscInt j, PetscInt n) { return i == j ? 1 : j == (i + 1) % 3 ? 2 : 0; }
static PetscReal Ones(PetscInt i, PetscInt j, PetscInt n) { return 1; }
static PetscReal Opposed(PetscInt i, PetscInt j, PetscInt n) { return i / 2 == j / 2 ? (i == j ? 1 : -1) : 0; }
static PetscReal Fixed(PetscInt i, PetscInt j, PetscInt n) { return i == j ? (i == 0 ? 1e12 : 2) : PetscAbsInt(i - j) == 1 ? -1 : 0; } /* a string, one end fixed by a penalty */
static PetscReal String(PetscInt i, PetscInt n) { return 0.5 * i * (n - i); }
static PetscReal MinusOne(PetscInt i, PetscInt n) { return -1; }
static PetscReal First(PetscInt i, PetscInt n) { return i == 0; }
static PetscReal Last(PetscInt i, PetscInt n) { return i == n - 1; }
static PetscReal Third(PetscInt i, PetscInt n) { return 1. / 3; }

/* B'B with B of n - 20 rows: singular; symmetric positive semidefinite. */
static PetscReal Gram(PetscInt i, PetscInt j, PetscInt n)
{
  PetscReal s = 0;
  for (PetscInt k = 0; k < n - 20; ++k) s += PetscSinReal(1.3 * k * k + 0.7 * i * k + 0.1 * i) * PetscSinReal(1.3 * k * k + 0.7 * j * k + 0.1 * j);
  return s;
}
/* A solution z* and w* of a problem that is made for them: q = w* - A z*. */
static PetscReal ZStar(PetscInt i, PetscInt n) { return i % 3 == 0 ? 0.5 + PetscAbsReal(PetscSinReal(i)) : 0; }
static PetscReal WStar(PetscInt i, PetscInt n) { return i % 3 == 0 ? 0 : 0.1 + PetscAbsReal(PetscCosReal(i)); }

static PetscErrorCode Solve(Mat A, Vec q, Vec lower, Vec upper, Vec x, SNESVIPGSCertificate *c, SNESConvergedReason *reason, const char *options)
{
  SNES snes;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(SNESVIPGSCreateLCP(A, q, lower, upper, &snes));
  PetscCall(SNESSetTolerances(snes, 1e-12, 1e-11, 1e-50, 20000, -1));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(SNESGetConvergedReason(snes, reason));
  PetscCall(SNESVIPGSGetCertificate(snes, c));
  PetscCall(SNESDestroy(&snes));
  PetscCall(PetscOptionsClearValue(NULL, "-snes_vipgs_newton"));
  PetscCall(PetscOptionsClearValue(NULL, "-snes_vipgs_strategy"));
  PetscCall(PetscOptionsClearValue(NULL, "-snes_vipgs_order"));
  PetscCall(PetscOptionsClearValue(NULL, "-snes_vipgs_acceleration"));
  PetscCall(PetscOptionsClearValue(NULL, "-snes_vipgs_precision"));
  PetscCall(PetscOptionsClearValue(NULL, "-snes_vipgs_sweeps"));
  PetscFunctionReturn(0);
}

static PetscErrorCode TestKnown(const char *name, PetscInt n, EntryFn entry, PetscReal (*q)(PetscInt, PetscInt), PetscReal (*answer)(PetscInt, PetscInt), PetscReal tol, const char *options)
{
  Mat                  A;
  Vec                  b, x, z;
  PetscReal            error = 0, largest = 0;
  SNESVIPGSCertificate c;
  SNESConvergedReason  reason;
  char                 text[200];

  PetscFunctionBegin;
  PetscCall(Fill(n, entry, &A));
  PetscCall(FillVec(A, q, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(FillVec(A, answer, &z));
  PetscCall(Solve(A, b, NULL, NULL, x, &c, &reason, options));
  PetscCall(VecAXPY(x, -1, z));
  PetscCall(VecNorm(x, NORM_INFINITY, &error));
  PetscCall(VecNorm(z, NORM_INFINITY, &largest));
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s, n = %" PetscInt_FMT "%s%s", name, n, *options ? ", " : "", options));
  PetscCall(Check(text, reason > 0 && c.reason == SNES_VIPGS_CONVERGED && c.natural < 1e-10 ? error / PetscMax(largest, 1e-300) : 1, tol));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* What is said where there is no answer, or none that the method finds. */
static PetscErrorCode TestReason(const char *name, PetscInt n, EntryFn entry, const char *options)
{
  Mat                  A;
  Vec                  b, x;
  SNESVIPGSCertificate c;
  SNESConvergedReason  reason;

  PetscFunctionBegin;
  PetscCall(Fill(n, entry, &A));
  PetscCall(FillVec(A, MinusOne, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(Solve(A, b, NULL, NULL, x, &c, &reason, options));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s%s%s: %s, %s%s\n", name, *options ? ", " : "", options, SNESConvergedReasons[reason], SNESVIPGSReasons[c.reason], c.fell_back ? ", fell back" : ""));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* A singular matrix: w is unique, x is not. Every way to solve it. */
static PetscErrorCode TestSingular(const char *options)
{
  Mat                  A;
  Vec                  q, x, w, z;
  PetscReal            error, size;
  SNESVIPGSCertificate c;
  SNESConvergedReason  reason;
  char                 text[200];

  PetscFunctionBegin;
  PetscCall(Fill(120, Gram, &A));
  PetscCall(FillVec(A, ZStar, &z));
  PetscCall(FillVec(A, WStar, &w));
  PetscCall(VecDuplicate(z, &q));
  PetscCall(VecDuplicate(z, &x));
  PetscCall(MatMult(A, z, q));
  PetscCall(VecAYPX(q, -1, w));
  PetscCall(Solve(A, q, NULL, NULL, x, &c, &reason, options));
  PetscCall(MatMultAdd(A, x, q, z));
  PetscCall(VecAXPY(z, -1, w));
  PetscCall(VecNorm(z, NORM_INFINITY, &error));
  PetscCall(VecNorm(w, NORM_INFINITY, &size));
  PetscCall(PetscSNPrintf(text, sizeof(text), "a singular matrix%s%s", *options ? ", " : "", options));
  PetscCall(Check(text, reason > 0 ? error / size : 1, 1e-7));
  PetscCall(VecDestroy(&q));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&w));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* Hertz: a sphere of radius R pressed into an elastic half-space by delta. The half-space by Love's rectangles; p = p0 sqrt(1 - r^2/a^2),
   a^2 = R delta, p0 = 2 E* a / (pi R). */
static PetscInt  hertz_m;
static PetscReal hertz_h;
static PetscReal Love(PetscReal x, PetscReal y)
{
  const PetscReal b = 0.5 * hertz_h;
  PetscReal       s = 0;
  for (int k = 0; k < 2; ++k) {
    const PetscReal x1 = k ? y : x, y1 = k ? x : y; /* the four logarithms, two at a time */
    const PetscReal p = x1 + b, m = x1 - b, yp = y1 + b, ym = y1 - b;
    s += p * PetscLogReal((yp + PetscSqrtReal(yp * yp + p * p)) / (ym + PetscSqrtReal(ym * ym + p * p)));
    s += m * PetscLogReal((ym + PetscSqrtReal(ym * ym + m * m)) / (yp + PetscSqrtReal(yp * yp + m * m)));
  }
  return s / PETSC_PI; /* E* = 1 */
}
static PetscReal *hertz_table;
static PetscReal  Hertz(PetscInt i, PetscInt j, PetscInt n) { return hertz_table[PetscAbsInt(i % hertz_m - j % hertz_m) + hertz_m * PetscAbsInt(i / hertz_m - j / hertz_m)]; }
static PetscReal HertzX(PetscInt i) { return (i % hertz_m + 0.5) * hertz_h - 1; }
static PetscReal HertzY(PetscInt i) { return (i / hertz_m + 0.5) * hertz_h - 1; }
static PetscReal HertzGap(PetscInt i, PetscInt n) { return 0.5 * (HertzX(i) * HertzX(i) + HertzY(i) * HertzY(i)) - 0.36; } /* R = 1, delta = 0.36: a = 0.6 */

static PetscErrorCode TestHertz(PetscInt m, const char *options)
{
  Mat                  A;
  Vec                  q, x;
  const PetscScalar   *p;
  PetscInt             first, last;
  PetscReal            mine[3] = {0, 0, 0}, all[3], p0 = 2 * 0.6 / PETSC_PI;
  SNESVIPGSCertificate c;
  SNESConvergedReason  reason;
  char                 text[200];

  PetscFunctionBegin;
  hertz_m = m;
  hertz_h = 2. / m;
  PetscCall(PetscMalloc1(m * m, &hertz_table));
  for (PetscInt i = 0; i < m * m; ++i) hertz_table[i] = Love(i % m * hertz_h, i / m * hertz_h);
  PetscCall(Fill(m * m, Hertz, &A));
  PetscCall(PetscFree(hertz_table));
  PetscCall(FillVec(A, HertzGap, &q));
  PetscCall(VecDuplicate(q, &x));
  PetscCall(Solve(A, q, NULL, NULL, x, &c, &reason, options));
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  PetscCall(VecGetArrayRead(x, &p));
  for (PetscInt i = first; i < last; ++i) {
    const PetscReal r2 = (HertzX(i) * HertzX(i) + HertzY(i) * HertzY(i)) / 0.36, exact = r2 < 1 ? p0 * PetscSqrtReal(1 - r2) : 0;
    mine[0] += p[i - first] * hertz_h * hertz_h; /* the force: 4/3 E* sqrt(R) delta^(3/2) */
    mine[1] += (p[i - first] - exact) * (p[i - first] - exact) * hertz_h * hertz_h;
    mine[2] += exact * exact * hertz_h * hertz_h;
  }
  PetscCall(VecRestoreArrayRead(x, &p));
  PetscCallMPI(MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscSNPrintf(text, sizeof(text), "Hertz contact, %" PetscInt_FMT " x %" PetscInt_FMT "%s%s", m, m, *options ? ", " : "", options));
  PetscCall(Check(text, reason > 0 && c.natural < 1e-10 ? 0 : 1, 0));
  PetscCall(Check("  its pressure", PetscSqrtReal(all[1] / all[2]), 1.2 / m));
  PetscCall(Check("  its force", PetscAbsReal(all[0] / (4. / 3 * 0.216) - 1), 1.2 / m));
  PetscCall(VecDestroy(&q));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* Boxes, some open on one or both sides; every acceleration finds the same answer. */
static PetscErrorCode TestBoxes(void)
{
  const char *const    options[] = {"", "-snes_vipgs_newton 0", "-snes_vipgs_newton 0 -snes_vipgs_acceleration none -snes_vipgs_order forward", "-snes_vipgs_newton 0 -snes_vipgs_order random", "-snes_vipgs_newton 0 -snes_vipgs_order backward -snes_vipgs_strategy block", "-snes_vipgs_acceleration nncg -snes_vipgs_newton 0", "-snes_vipgs_acceleration mprgp", "-snes_vipgs_newton 0 -snes_vipgs_precision single", "-snes_vipgs_strategy row -snes_vipgs_sweeps 0"};
  Mat                  A;
  Vec                  q, x, first, lower, upper;
  PetscReal            error = 0, size;
  SNESVIPGSCertificate c;
  SNESConvergedReason  reason;
  char                 text[200];

  PetscFunctionBegin;
  PetscCall(Fill(170, BoxEntry, &A));
  PetscCall(FillVec(A, BoxQ, &q));
  PetscCall(FillVec(A, BoxLower, &lower));
  PetscCall(FillVec(A, BoxUpper, &upper));
  PetscCall(VecDuplicate(q, &x));
  PetscCall(VecDuplicate(q, &first));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(options); ++k) {
    PetscCall(VecSet(x, 0.25));
    PetscCall(Solve(A, q, lower, upper, x, &c, &reason, options[k]));
    if (!k) PetscCall(VecCopy(x, first));
    PetscCall(VecNorm(first, NORM_INFINITY, &size));
    PetscCall(VecAXPY(x, -1, first));
    PetscCall(VecNorm(x, NORM_INFINITY, &error));
    PetscCall(PetscSNPrintf(text, sizeof(text), "boxes%s%s", *options[k] ? ", " : "", options[k]));
    PetscCall(Check(text, reason > 0 && c.primal == 0 && c.natural < 2e-11 && c.gap < 1e-8 ? error / size : 1, 1e-9));
  }
  PetscCall(VecDestroy(&q));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&first));
  PetscCall(VecDestroy(&lower));
  PetscCall(VecDestroy(&upper));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* One contact with w = x + q: what Coulomb's law says can be read off. */
static PetscErrorCode TestContact(const char *name, PetscInt d, PetscReal mu, const PetscReal q[], const PetscReal answer[], SNESVIPGSFriction law)
{
  Mat                 A;
  Vec                 b, x, none;
  SNES                snes;
  PetscReal           error = 0, all;
  const PetscScalar  *v;
  PetscInt            first, last;
  SNESConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(Fill(2 * d, Identity, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &none));
  PetscCall(VecSet(none, PETSC_NINFINITY));
  PetscCall(VecGetOwnershipRange(b, &first, &last));
  for (PetscInt i = first; i < last; ++i) PetscCall(VecSetValue(b, i, i < d ? q[i] : i == d, INSERT_VALUES)); /* the second one is open */
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(SNESVIPGSCreateLCP(A, b, none, NULL, &snes));
  PetscCall(SNESVIPGSSetBlock(snes, d));
  PetscCall(SNESVIPGSSetFrictionCoefficient(snes, mu));
  PetscCall(SNESVIPGSSetFrictionLaw(snes, law));
  PetscCall(SNESSetTolerances(snes, 1e-13, 1e-50, 1e-50, 1000, -1));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(VecGetArrayRead(x, &v));
  for (PetscInt i = first; i < last; ++i) error = PetscMax(error, PetscAbsReal(v[i - first] - (i < d ? answer[i] : 0)));
  PetscCall(VecRestoreArrayRead(x, &v));
  PetscCallMPI(MPI_Allreduce(&error, &all, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(Check(name, reason > 0 ? all : 1, 1e-12));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&none));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* Random order is an order over all processes: the same iterates on any number of them whose rows are whole panels of 64. */
static PetscErrorCode TestRandom(void)
{
  Mat       A;
  Vec       q, x;
  SNES      snes;
  PetscReal history[8];
  PetscInt  count;

  PetscFunctionBegin;
  PetscCall(Fill(384, Decaying, &A));
  PetscCall(FillVec(A, Wave, &q));
  PetscCall(VecDuplicate(q, &x));
  PetscCall(SNESVIPGSCreateLCP(A, q, NULL, NULL, &snes));
  PetscCall(SNESVIPGSSetOrder(snes, TESSERA_GS_RANDOM));
  PetscCall(SNESVIPGSSetNewton(snes, PETSC_FALSE));
  PetscCall(SNESVIPGSSetCheck(snes, 1));
  PetscCall(SNESSetTolerances(snes, 1e-50, 1e-50, 1e-50, 6, -1));
  PetscCall(SNESSetConvergenceHistory(snes, history, NULL, 8, PETSC_TRUE));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(SNESGetConvergenceHistory(snes, NULL, NULL, &count));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "random order:"));
  for (PetscInt k = 0; k < count; ++k) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %.6g", (double)history[k]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&q));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* A plate on eight feet, as they begin to slide: W = H H' of rank 6, sweeps alone come to their end slowly. Contacts lie on two processes each where these have no multiple of three rows. */
static PetscReal Feet(PetscInt i, PetscInt j, PetscInt n)
{
  const PetscReal X[8] = {-1, 1, 1, -1, 0, 1, 0, -1}, Y[8] = {-1, -1, 1, 1, -1, 0, 1, 0};
  PetscReal       s = 0, h[2][6];
  for (int side = 0; side < 2; ++side) {
    const PetscInt  row = side ? j : i;
    const PetscReal x = X[row / 3], y = Y[row / 3], all[3][6] = {{0, 0, 1, y, -x, 0}, {1, 0, 0, 0, -1, -y}, {0, 1, 0, 1, 0, x}};
    for (int k = 0; k < 6; ++k) h[side][k] = all[row % 3][k];
  }
  for (int k = 0; k < 6; ++k) s += h[0][k] * h[1][k] * (k < 3 ? 1 : 0.6);
  return s;
}
static PetscReal Load(PetscInt i, PetscInt n)
{
  const PetscReal X[8] = {-1, 1, 1, -1, 0, 1, 0, -1}, Y[8] = {-1, -1, 1, 1, -1, 0, 1, 0}, v[6] = {0.399, 0.02, -1, 0.1, 0.1, 0.03};
  const PetscReal x = X[i / 3], y = Y[i / 3], all[3][6] = {{0, 0, 1, y, -x, 0}, {1, 0, 0, 0, -1, -y}, {0, 1, 0, 1, 0, x}};
  PetscReal       s = 0;
  for (int k = 0; k < 6; ++k) s += all[i % 3][k] * v[k];
  return s;
}
static PetscErrorCode TestFeet(PetscBool newton, TesseraGSOrder order, PetscInt most)
{
  Mat                  A;
  Vec                  q, x, lower;
  SNES                 snes;
  SNESVIPGSCertificate c;

  PetscFunctionBegin;
  PetscCall(Fill(24, Feet, &A));
  PetscCall(FillVec(A, Load, &q));
  PetscCall(VecDuplicate(q, &x));
  PetscCall(VecDuplicate(q, &lower));
  PetscCall(VecSet(lower, PETSC_NINFINITY));
  PetscCall(SNESVIPGSCreateLCP(A, q, lower, NULL, &snes));
  PetscCall(SNESVIPGSSetBlock(snes, 3));
  PetscCall(SNESVIPGSSetFrictionCoefficient(snes, 0.4));
  PetscCall(SNESVIPGSSetNewton(snes, newton));
  PetscCall(SNESVIPGSSetMaxFactorizations(snes, most));
  PetscCall(SNESVIPGSSetOrder(snes, order));
  PetscCall(SNESSetTolerances(snes, 1e-11, 1e-50, 1e-50, 600, -1));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(VecDestroy(&lower));
  PetscCall(SNESVIPGSGetCertificate(snes, &c));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a plate on eight feet, %s%s: %s%s\n", TesseraGSOrders[order], newton ? "" : ", sweeps alone", SNESVIPGSReasons[c.reason], c.reason == SNES_VIPGS_CONVERGED && !(c.natural <= 1e-11 && c.primal < 1e-11) ? ", but it is wrong" : ""));
  if (most < 12) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %" PetscInt_FMT " factorizations of %" PetscInt_FMT "\n", c.factorizations, most));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&q));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* A batch with an easy problem, one that sweeps alone do not solve, and one without a positive diagonal. */
static PetscErrorCode TestBatch(void)
{
  PetscReal A[27], q[9], x[9] = {0}, residual[3];
  PetscInt  unsolved;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 9; ++k) {
    A[k]      = Fathi(k % 3, k / 3, 3);
    A[9 + k]  = Cyclic(k % 3, k / 3, 3);
    A[18 + k] = k % 4 ? 1 : k ? 2 : 0;
    q[k]      = -1;
  }
  PetscCall(TesseraLCPSolveBatch(3, 3, A, q, NULL, NULL, PETSC_MEMTYPE_HOST, TESSERA_BACKEND_AUTO, 1e-12, 200, x, residual, &unsolved));
  PetscCall(Check("batch, Fathi", PetscAbsReal(x[0] - 1) + PetscAbsReal(x[1]) + PetscAbsReal(x[2]), 1e-11));
  PetscCall(Check("batch, cyclic", PetscAbsReal(x[3] - 1. / 3) + PetscAbsReal(x[4] - 1. / 3) + PetscAbsReal(x[5] - 1. / 3), 1e-10));
  PetscReal one[3] = {1, 1, 1}, nothing[3] = {1, 0, NAN}, at[3] = {0}, lower[3] = {0, 1, 0}, left[3];
  PetscInt  three;
  PetscCall(TesseraLCPSolveBatch(3, 1, one, one, lower, nothing, PETSC_MEMTYPE_HOST, TESSERA_BACKEND_AUTO, 1e-12, 20, at, left, &three));
  PetscCall(Check("batch, crossed bounds and bounds that are no numbers are not solved", three == 2 && left[0] <= 1e-12 && !(left[1] <= 1e-12) && !(left[2] <= 1e-12) ? 0 : 1, 0));
  PetscCall(Check("batch, a zero on the diagonal is not solved", unsolved == 1 && residual[0] <= 1e-12 && residual[1] <= 1e-12 && !(residual[2] <= 1e-12) ? 0 : 1, 0));
  PetscFunctionReturn(0);
}

static PetscReal One(PetscInt i, PetscInt n) { return 1; }

static PetscErrorCode TestWrong(void)
{
  const char *const names[] = {"crossed bounds", "a NaN bound", "a zero on the diagonal", "a negative diagonal entry", "a NaN in A", "mu < 0", "a block that does not divide", "friction and bounds", "mu without blocks", "momentum in forward order", "another number of mu", "a block that does not divide few unknowns", "a symmetric sparse Jacobian", "bounds at +infinity", "a NaN in the Jacobian", "a NaN in the Jacobian, no error asked for", "H without M", "M of another size", "a singular M", "a mu of 1e14"};

  PetscFunctionBegin;
  for (int c = 0; c < 20; ++c) {
    char           text[400] = "";
    Mat            A;
    Vec            q, x, lower, upper, mu = NULL;
    SNES           snes;
    PetscErrorCode ierr;
    PetscInt       first, last;

    PetscCall(Fill(c == 11 ? 5 : 20, BoxEntry, &A)); /* 5: the last of three processes has less than a block of 3 */
    PetscCall(FillVec(A, BoxQ, &q));
    PetscCall(VecDuplicate(q, &x));
    PetscCall(VecDuplicate(q, &lower));
    PetscCall(VecDuplicate(q, &upper));
    PetscCall(VecSet(lower, c >= 5 && c != 7 && c != 9 ? PETSC_NINFINITY : 0));
    PetscCall(VecSet(upper, PETSC_INFINITY));
    PetscCall(VecGetOwnershipRange(q, &first, &last));
    if (13 >= first && 13 < last) {
      if (c == 0) PetscCall(VecSetValue(upper, 13, -1, INSERT_VALUES));
      if (c == 1) PetscCall(VecSetValue(lower, 13, NAN, INSERT_VALUES));
      if (c == 13) PetscCall(VecSetValue(lower, 13, PETSC_INFINITY, INSERT_VALUES));
      if (c >= 2 && c <= 4) PetscCall(MatSetValue(A, 13, c == 4 ? 2 : 13, c == 2 ? 0. : c == 3 ? -1. : NAN, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(VecAssemblyBegin(upper));
    PetscCall(VecAssemblyEnd(upper));
    PetscCall(VecAssemblyBegin(lower));
    PetscCall(VecAssemblyEnd(lower));
    PetscCall(SNESVIPGSCreateLCP(A, q, lower, upper, &snes));
    if (c == 5 || c == 10) {
      PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, c == 5 ? 10 : 7, &mu));
      PetscCall(VecSet(mu, c == 5 ? -0.3 : 0.3));
      PetscCall(SNESVIPGSSetBlock(snes, 2));
      PetscCall(SNESVIPGSSetFriction(snes, mu));
    }
    if (c == 6 || c == 11) PetscCall(SNESVIPGSSetBlock(snes, 3));
    if (c == 7 || c == 19) PetscCall(SNESVIPGSSetBlock(snes, 2));
    if (c == 19) PetscCall(SNESVIPGSSetFrictionCoefficient(snes, 1e14));
    if (c == 8) PetscCall(SNESVIPGSSetFrictionCoefficient(snes, 0.5));
    if (c == 9) {
      PetscCall(SNESVIPGSSetOrder(snes, TESSERA_GS_FORWARD));
      PetscCall(SNESVIPGSSetAcceleration(snes, SNES_VIPGS_ACCELERATION_NESTEROV));
    }
    if (c == 12) {
      Mat sparse;
      PetscCall(MatCreate(PETSC_COMM_WORLD, &sparse));
      PetscCall(MatSetSizes(sparse, PETSC_DECIDE, PETSC_DECIDE, 20, 20));
      PetscCall(MatSetType(sparse, MATSBAIJ));
      PetscCall(MatSetUp(sparse));
      PetscCall(MatAssemblyBegin(sparse, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(sparse, MAT_FINAL_ASSEMBLY));
      PetscCall(SNESSetJacobian(snes, sparse, sparse, Constant, NULL));
      PetscCall(MatDestroy(&sparse));
    }
    if (c >= 16 && c <= 18) {
      Mat H, M;
      PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &H));
      PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, c == 17 ? 7 : 20, c == 17 ? 7 : 20, 1, NULL, 0, NULL, &M));
      PetscCall(MatGetOwnershipRange(M, &first, &last));
      for (PetscInt i = first; i < last; ++i) PetscCall(MatSetValue(M, i, i, i == 13 ? 0 : 1, INSERT_VALUES));
      PetscCall(MatAssemblyBegin(M, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(M, MAT_FINAL_ASSEMBLY));
      PetscCall(PetscObjectCompose((PetscObject)A, "SNESVIPGS_H", (PetscObject)H));
      if (c > 16) PetscCall(PetscObjectCompose((PetscObject)A, "SNESVIPGS_M", (PetscObject)M));
      PetscCall(MatDestroy(&H));
      PetscCall(MatDestroy(&M));
    }
    if (c == 14 || c == 15) {
      Mat bad;
      PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &bad));
      if (13 >= first && 13 < last) PetscCall(MatSetValue(bad, 13, 2, NAN, INSERT_VALUES));
      PetscCall(MatAssemblyBegin(bad, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(bad, MAT_FINAL_ASSEMBLY));
      PetscCall(SNESSetJacobian(snes, bad, bad, Constant, NULL));
      PetscCall(MatDestroy(&bad));
    }
    PetscCall(SNESSetErrorIfNotConverged(snes, c == 2 || c == 3 || c == 14 ? PETSC_TRUE : PETSC_FALSE));
    PetscCall(PetscPushErrorHandler(Caught, text));
    ierr = SNESSolve(snes, NULL, x);
    PetscCall(PetscPopErrorHandler());
    if (c == 12) {
      char *type;
      PetscCall(PetscStrstr(text, "mpisbaij", &type));
      if (type) memcpy(type, "seq", 3);
    }
    SNESConvergedReason reason;
    PetscCall(SNESGetConvergedReason(snes, &reason));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", names[c], ierr ? text : reason == -4 ? "DIVERGED, not a number" : SNESConvergedReasons[reason]));
    PetscCall(SNESDestroy(&snes));
    PetscCall(VecDestroy(&mu));
    PetscCall(VecDestroy(&q));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&lower));
    PetscCall(VecDestroy(&upper));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(0);
}

/* Bounds that are given to a solver in use are looked at again: another distribution is refused, and then the old one solves. */
static PetscErrorCode TestDistribution(void)
{
  Mat                  A;
  Vec                  q, x, bounds[3];
  SNES                 snes;
  SNESVIPGSCertificate c;
  PetscErrorCode       ierr[3];
  PetscMPIInt          rank, size;
  char                 text[400] = "";

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Fill(24, BoxEntry, &A));
  PetscCall(FillVec(A, BoxQ, &q));
  PetscCall(VecDuplicate(q, &x));
  PetscCall(VecDuplicate(q, &bounds[0]));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, rank ? 0 : 24, 24, &bounds[1])); /* all on the first process */
  PetscCall(VecDuplicate(q, &bounds[2]));
  PetscCall(VecSet(bounds[0], 0));
  PetscCall(VecSet(bounds[1], 0));
  PetscCall(VecSet(bounds[2], PETSC_INFINITY));
  PetscCall(SNESVIPGSCreateLCP(A, q, bounds[0], bounds[2], &snes));
  for (int k = 0; k < 3; ++k) {
    PetscCall(SNESVISetVariableBounds(snes, bounds[k % 2], bounds[2]));
    PetscCall(VecSet(x, 0));
    PetscCall(PetscPushErrorHandler(Caught, text));
    ierr[k] = SNESSolve(snes, NULL, x);
    PetscCall(PetscPopErrorHandler());
  }
  PetscCall(SNESVIPGSGetCertificate(snes, &c));
  PetscCall(Check("bounds of another distribution", !ierr[0] && (size == 1 || (ierr[1] && strstr(text, "not distributed as the solution"))) && !ierr[2] && c.reason == SNES_VIPGS_CONVERGED ? 0 : 1, 0));
  PetscCall(SNESDestroy(&snes));
  for (int k = 0; k < 3; ++k) PetscCall(VecDestroy(&bounds[k]));
  PetscCall(VecDestroy(&q));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscInt hertz = 16;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TesseraInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-hertz", &hertz, NULL));
  if (hertz > 16) {
    PetscCall(TestHertz(hertz, ""));
    PetscCall(PetscFinalize());
    return 0;
  }
  for (PetscInt n = 1; n <= 130; n += 43) {
    PetscCall(TestKnown("Murty", n, MurtyLower, MinusOne, First, 1e-12, ""));
    PetscCall(TestKnown("Murty, upper triangle", n, MurtyUpper, MinusOne, Last, 1e-12, ""));
    PetscCall(TestKnown("Fathi", n, Fathi, MinusOne, First, 1e-10, ""));
  }
  PetscCall(TestKnown("Murty", 100, MurtyLower, MinusOne, First, 1e-12, "-snes_vipgs_newton 0 -snes_vipgs_order forward"));
  PetscCall(TestKnown("cyclic P-matrix", 3, Cyclic, MinusOne, Third, 1e-10, ""));
  PetscCall(TestReason("cyclic P-matrix", 3, Cyclic, "-snes_vipgs_newton 0 -snes_vipgs_order forward"));
  PetscCall(TestReason("two equal rows", 2, Ones, "-snes_vipgs_newton 0 -snes_vipgs_strategy relaxed -snes_vipgs_order forward"));
  PetscCall(TestReason("equal rows", 200, Ones, ""));
  PetscCall(TestReason("no x is feasible", 2, Opposed, ""));
  PetscCall(TestReason("no x is feasible", 90, Opposed, ""));
  PetscCall(TestReason("no x is feasible", 2, Opposed, "-snes_vipgs_newton 0"));
  PetscCall(TestReason("no x is feasible", 2, Opposed, "-snes_vipgs_acceleration mprgp"));
  PetscCall(TestKnown("one large diagonal entry", 60, Fixed, MinusOne, String, 1e-7, ""));
  PetscCall(TestKnown("one large diagonal entry", 60, Fixed, MinusOne, String, 1e-7, "-snes_vipgs_newton 0 -snes_vipgs_acceleration none -snes_vipgs_sweeps 40000"));
  PetscCall(TestSingular(""));
  PetscCall(TestSingular("-snes_vipgs_acceleration mprgp"));
  PetscCall(TestHertz(hertz, ""));
  PetscCall(TestHertz(hertz, "-snes_vipgs_acceleration mprgp"));
  PetscCall(TestBoxes());
  PetscCall(TestContact("contact, open", 3, 0.3, (PetscReal[]){1, 2, 0}, (PetscReal[]){0, 0, 0}, SNES_VIPGS_FRICTION_CONE));
  PetscCall(TestContact("contact, sticking", 3, 1, (PetscReal[]){-1, 0.3, -0.4}, (PetscReal[]){1, -0.3, 0.4}, SNES_VIPGS_FRICTION_CONE));
  PetscCall(TestContact("contact, sliding", 3, 0.2, (PetscReal[]){-1, 0.3, -0.4}, (PetscReal[]){1, -0.12, 0.16}, SNES_VIPGS_FRICTION_CONE));
  PetscCall(TestContact("contact in two dimensions, sliding", 2, 0.2, (PetscReal[]){-2, 1}, (PetscReal[]){2, -0.4}, SNES_VIPGS_FRICTION_CONE));
  PetscCall(TestContact("contact, pyramid", 3, 0.2, (PetscReal[]){-1, 0.1, -0.4}, (PetscReal[]){1, -0.1, 0.2}, SNES_VIPGS_FRICTION_PYRAMID));
  PetscCall(TestContact("contact without friction", 3, 0, (PetscReal[]){-1, 0.1, -0.4}, (PetscReal[]){1, 0, 0}, SNES_VIPGS_FRICTION_CONE));
  PetscCall(TestRandom());
  PetscCall(TestFeet(PETSC_FALSE, TESSERA_GS_SYMMETRIC, 200));
  PetscCall(TestFeet(PETSC_TRUE, TESSERA_GS_SYMMETRIC, 200));
  PetscCall(TestFeet(PETSC_TRUE, TESSERA_GS_RANDOM, 200));
  PetscCall(TestFeet(PETSC_TRUE, TESSERA_GS_SYMMETRIC, 3));
  PetscCall(TestBatch());
  PetscCall(TestWrong());
  PetscCall(TestDistribution());
  PetscCall(TestKnown("no unknowns", 0, Fathi, MinusOne, First, 1e-10, ""));
  PetscCall(TestKnown("identity", 5, Identity, MinusOne, One, 1e-12, "-snes_vipgs_acceleration mprgp"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3}}
    output_file: output/vipgs.out

  test:
    suffix: hertz
    args: -hertz 64
    output_file: output/vipgs_hertz.out

TEST*/
