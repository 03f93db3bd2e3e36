static char help[] = "What a program may have a say in, with SNES vipmg and vipgs as with PETSc's vinewtonrsls on the same problem: updates, tests, errors of\n\
the domain, checks of steps, a Jacobian without entries. And updates of the Tao types.\n\n";

#include "tessera.h"
#include <petscdmda.h>
#include <petscsnes.h>
#include <petsctao.h>

typedef enum { PLAIN, UPDATE, STOP, FUNCTION_ONCE, FUNCTION_START, FUNCTION_ALWAYS, JACOBIAN, PRE, POST, OPERATOR, CHANGE, CASES } Case;
static const char *const names[] = {"plain", "update", "a test that stops", "outside of the domain once", "outside at the start", "outside everywhere else", "Jacobian's domain", "check before", "check after", "Amat without entries", "an update that changes the problem"};

typedef struct {
  Case      kind;
  PetscInt  evaluations, updates, checks;
  PetscBool quiet, wrong, other; /* evaluations do not count; what was seen is not as it should be; Amat is not Pmat */
  PetscReal load, cubic;
  Vec       before; /* the last point */
} Context;

static PetscErrorCode Function(SNES snes, Vec X, Vec F, void *ctx)
{
  Context           *c = (Context *)ctx;
  DM                 da;
  Vec                local;
  const PetscScalar *x;
  PetscScalar       *f;
  DMDALocalInfo      info;

  PetscFunctionBegin;
  PetscCall(SNESGetDM(snes, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMGetLocalVector(da, &local));
  PetscCall(DMGlobalToLocal(da, X, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayRead(da, local, &x));
  PetscCall(DMDAVecGetArray(da, F, &f));
  for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) f[i] = 2 * x[i] - 0.9 * (i ? x[i - 1] : 0) - 0.9 * (i < info.mx - 1 ? x[i + 1] : 0) + c->cubic * x[i] * x[i] * x[i] - (i % 3 - c->load);
  PetscCall(DMDAVecRestoreArrayRead(da, local, &x));
  PetscCall(DMDAVecRestoreArray(da, F, &f));
  PetscCall(DMRestoreLocalVector(da, &local));
  if (c->quiet) PetscFunctionReturn(0);
  ++c->evaluations;
  if ((c->kind == FUNCTION_ONCE && c->evaluations == 2) || (c->kind == FUNCTION_START && c->evaluations == 1) || (c->kind == FUNCTION_ALWAYS && c->evaluations > 1)) PetscCall(SNESSetFunctionDomainError(snes));
  PetscFunctionReturn(0);
}

static PetscErrorCode Jacobian(SNES snes, Vec X, Mat J, Mat P, void *ctx)
{
  Context           *c = (Context *)ctx;
  const PetscScalar *x;
  PetscInt           from, to, n;

  PetscFunctionBegin;
  c->other = (PetscBool)(J != P);
  PetscCall(VecGetSize(X, &n));
  PetscCall(VecGetOwnershipRange(X, &from, &to));
  PetscCall(VecGetArrayRead(X, &x));
  for (PetscInt i = from; i < to; ++i) {
    PetscCall(MatSetValue(P, i, i, 2 + 3 * c->cubic * x[i - from] * x[i - from], INSERT_VALUES));
    if (i) PetscCall(MatSetValue(P, i, i - 1, -0.9, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(P, i, i + 1, -0.9, INSERT_VALUES));
  }
  PetscCall(VecRestoreArrayRead(X, &x));
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  if (J != P) {
    PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
  }
  if (c->kind == JACOBIAN) PetscCall(SNESSetJacobianDomainError(snes));
  PetscFunctionReturn(0);
}

static PetscErrorCode Update(SNES snes, PetscInt it)
{
  Context *c;

  PetscFunctionBegin;
  PetscCall(SNESGetApplicationContext(snes, &c));
  if (it != c->updates++) c->wrong = PETSC_TRUE; /* 0, 1, 2, ... */
  if (c->kind == CHANGE && it == 2) c->load = 0.4;
  PetscFunctionReturn(0);
}

/* The norms that the test gets are those of the point and of the step to it, which SNESGetSolutionUpdate() has. */
static PetscErrorCode Test(SNES snes, PetscInt it, PetscReal xnorm, PetscReal snorm, PetscReal norm, SNESConvergedReason *reason, void *ctx)
{
  Context  *c = (Context *)ctx;
  Vec       x, u, d;
  PetscReal size, moved, left;

  PetscFunctionBegin;
  PetscCall(SNESGetSolution(snes, &x));
  PetscCall(VecDuplicate(x, &d));
  PetscCall(VecWAXPY(d, -1, x, c->before));
  PetscCall(VecNorm(x, NORM_2, &size));
  PetscCall(VecNorm(d, NORM_2, &moved));
  if (it && (PetscAbsReal(xnorm - size) > 1e-12 * size || PetscAbsReal(snorm - moved) > 1e-10 * size || !(moved > 0))) c->wrong = PETSC_TRUE;
  PetscCall(SNESGetSolutionUpdate(snes, &u));
  PetscCall(VecAXPY(d, -1, u));
  PetscCall(VecNorm(d, NORM_2, &left));
  if (it && left > 1e-12 * size) c->wrong = PETSC_TRUE;
  PetscCall(VecCopy(x, c->before));
  PetscCall(VecDestroy(&d));
  if (c->kind == STOP) *reason = it == 2 ? SNES_CONVERGED_FNORM_ABS : SNES_CONVERGED_ITERATING;
  else PetscCall(SNESConvergedDefault(snes, it, xnorm, snorm, norm, reason, NULL));
  PetscFunctionReturn(0);
}

static PetscErrorCode Halve(SNESLineSearch search, Vec X, Vec Y, PetscBool *changed, void *ctx)
{
  PetscFunctionBegin;
  (void)search, (void)X;
  ++((Context *)ctx)->checks;
  PetscCall(VecScale(Y, 0.5));
  *changed = PETSC_TRUE;
  PetscFunctionReturn(0);
}

static PetscErrorCode Cut(SNESLineSearch search, Vec X, Vec Y, Vec W, PetscBool *changed_step, PetscBool *changed_x, void *ctx)
{
  PetscScalar *w;
  PetscInt     n;

  PetscFunctionBegin;
  (void)search, (void)X, (void)Y;
  *changed_step = PETSC_FALSE;
  *changed_x    = (PetscBool)(((Context *)ctx)->checks++ == 0);
  if (!*changed_x) PetscFunctionReturn(0);
  PetscCall(VecGetLocalSize(W, &n));
  PetscCall(VecGetArray(W, &w));
  for (PetscInt i = 0; i < n; ++i) w[i] = PetscMin(w[i], 0.4);
  PetscCall(VecRestoreArray(W, &w));
  PetscFunctionReturn(0);
}

/* |x - P(x - F(x))| */
static PetscErrorCode Natural(SNES snes, Context *c, Vec x, Vec lower, Vec upper, PetscReal *norm)
{
  Vec f;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &f));
  c->quiet = PETSC_TRUE;
  PetscCall(SNESComputeFunction(snes, x, f));
  c->quiet = PETSC_FALSE;
  PetscCall(VecAYPX(f, -1, x));
  PetscCall(VecMedian(lower, f, upper, f));
  PetscCall(VecAXPY(f, -1, x));
  PetscCall(VecNorm(f, NORM_2, norm));
  PetscCall(VecDestroy(&f));
  PetscFunctionReturn(0);
}

typedef struct {
  SNESConvergedReason reason;
  PetscInt            its;
  PetscReal           natural;
} Result;

static PetscErrorCode Solve(SNESType type, Case kind, PetscReal cubic, PetscInt most, PetscBool again, Vec x, Context *c, Result *r)
{
  DM             da;
  SNES           snes;
  SNESLineSearch search;
  Vec            lower, upper;
  PetscBool      dense;
  KSP            ksp;
  PetscInt       linear, total;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, SNESVIPGS, &dense));
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, 23, 1, 1, NULL, &da));
  if (dense) PetscCall(DMSetMatType(da, MATDENSE));
  PetscCall(DMSetUp(da));
  PetscCall(PetscMemzero(c, sizeof(*c)));
  c->kind  = kind;
  c->load  = 0.7;
  c->cubic = cubic;
  PetscCall(VecDuplicate(x, &lower));
  PetscCall(VecDuplicate(x, &upper));
  PetscCall(VecDuplicate(x, &c->before));
  PetscCall(VecSet(lower, -0.2));
  PetscCall(VecSet(upper, PETSC_INFINITY));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, da));
  PetscCall(SNESSetType(snes, type));
  PetscCall(SNESSetFunction(snes, NULL, Function, c));
  PetscCall(DMSNESSetJacobian(da, Jacobian, c));
  PetscCall(SNESSetApplicationContext(snes, c));
  PetscCall(SNESVISetVariableBounds(snes, lower, upper));
  PetscCall(SNESSetTolerances(snes, 1e-50, 1e-8, 0, most, PETSC_DEFAULT));
  if (kind == OPERATOR) PetscCall(SNESSetUseMatrixFree(snes, PETSC_TRUE, PETSC_FALSE));
  PetscCall(SNESSetFromOptions(snes));
  if (kind == UPDATE || kind == CHANGE || kind == FUNCTION_ONCE) PetscCall(SNESSetUpdate(snes, Update));
  if (kind != PLAIN) PetscCall(SNESSetConvergenceTest(snes, Test, c, NULL));
  if (kind == JACOBIAN) PetscCall(SNESSetCheckJacobianDomainError(snes, PETSC_TRUE));
  if (kind == PRE || kind == POST) {
    PetscCall(SNESGetLineSearch(snes, &search));
    if (kind == PRE) PetscCall(SNESLineSearchSetPreCheck(search, Halve, c));
    else PetscCall(SNESLineSearchSetPostCheck(search, Cut, c));
  }
  PetscCall(VecSet(x, 1));
  PetscCall(VecCopy(x, c->before));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(SNESGetLinearSolveIterations(snes, &linear));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPGetTotalIterations(ksp, &total));
  if (linear != total) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " linear iterations, the KSP counts %" PetscInt_FMT "\n", type, linear, total));
  if (again) { /* the next solve is as any other */
    c->kind = PLAIN;
    PetscCall(VecSet(x, 1));
    PetscCall(VecCopy(x, c->before));
    PetscCall(SNESSolve(snes, NULL, x));
  }
  PetscCall(SNESGetConvergedReason(snes, &r->reason));
  PetscCall(SNESGetIterationNumber(snes, &r->its));
  PetscCall(Natural(snes, c, x, lower, upper, &r->natural));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&lower));
  PetscCall(VecDestroy(&upper));
  PetscCall(VecDestroy(&c->before));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

/* How far from the other one's point, relative to it */
static PetscErrorCode Distance(Vec x, Vec y, PetscReal *d)
{
  PetscReal size;
  Vec       e;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &e));
  PetscCall(VecWAXPY(e, -1, x, y));
  PetscCall(VecNorm(e, NORM_2, d));
  PetscCall(VecNorm(y, NORM_2, &size));
  *d /= size;
  PetscCall(VecDestroy(&e));
  PetscFunctionReturn(0);
}

static PetscErrorCode TestCases(SNESType type, Vec x, Vec y)
{
  PetscBool dense;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, SNESVIPGS, &dense));
  for (int kind = 0; kind < CASES; ++kind) {
    const PetscBool ends = (PetscBool)(kind == FUNCTION_START || kind == FUNCTION_ALWAYS || kind == JACOBIAN);
    Context         c, native;
    Result          r, other;
    PetscReal       d = 0, first = 0;

    if (kind == CHANGE && !dense) continue; /* ends as vinewtonrsls does: F at the last point is of the problem before */
    PetscCall(Solve(type, (Case)kind, 1, 50, PETSC_FALSE, x, &c, &r));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s: %s", type, names[kind], SNESConvergedReasons[r.reason]));
    if (ends) {
      if (kind == FUNCTION_ALWAYS) { /* the start, which is a point of the domain */
        PetscCall(VecSet(y, 1));
        PetscCall(Distance(x, y, &d));
      }
      PetscCall(Solve(type, (Case)kind, 1, 50, PETSC_TRUE, y, &native, &other));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s; then %s%s\n", d > 0 ? ", elsewhere" : "", SNESConvergedReasons[other.reason], other.natural < 1e-7 ? "" : ", NOT SOLVED"));
      continue;
    }
    PetscCall(Solve(SNESVINEWTONRSLS, (Case)kind, 1, 50, PETSC_FALSE, y, &native, &other));
    PetscCall(Distance(x, y, &d));
    if (kind == PRE || kind == POST || kind == FUNCTION_ONCE) {
      Context   a, b;
      Result    s, t;
      PetscCall(Solve(type, (Case)kind, 1, 1, PETSC_FALSE, x, &a, &s));
      PetscCall(Solve(SNESVINEWTONRSLS, (Case)kind, 1, 1, PETSC_FALSE, y, &b, &t));
      PetscCall(Distance(x, y, &first));
    }
    if (kind == OPERATOR && !c.other) c.wrong = PETSC_TRUE;
    if (kind == UPDATE && c.updates != r.its) c.wrong = PETSC_TRUE;
    if ((kind == PRE || kind == POST) && c.checks != r.its) c.wrong = PETSC_TRUE;
    if (r.natural >= 1e-7 && kind != STOP) c.wrong = PETSC_TRUE;
    if (kind == CHANGE) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", c.wrong || c.load != 0.4 ? ", WRONG" : ", solved"));
      continue;
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s%s\n", PetscAbsInt(r.its - other.its) <= (kind == PRE) && d < 1e-6 && first < 1e-4 ? ", as vinewtonrsls" : ", other than vinewtonrsls", c.wrong ? ", WRONG" : ""));
    if (PetscAbsInt(r.its - other.its) > (kind == PRE) || d >= 1e-6 || first >= 1e-4) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %" PetscInt_FMT " iterations and %" PetscInt_FMT ", distances %g %g, natural %g\n", r.its, other.its, (double)d, (double)first, (double)r.natural));
  }
  PetscFunctionReturn(0);
}

/* A Tao's update comes before each Hessian. */
static PetscErrorCode Objective(Tao tao, Vec x, PetscReal *f, Vec g, void *ctx)
{
  Vec       x3;
  PetscReal a, b;

  PetscFunctionBegin;
  (void)tao, (void)ctx;
  PetscCall(VecDuplicate(x, &x3));
  PetscCall(VecPointwiseMult(x3, x, x));
  PetscCall(VecPointwiseMult(x3, x3, x));
  PetscCall(VecDot(x3, x, &a));
  PetscCall(VecSum(x, &b));
  *f = a / 4 - 2 * b;
  PetscCall(VecCopy(x3, g));
  PetscCall(VecShift(g, -2));
  PetscCall(VecDestroy(&x3));
  PetscFunctionReturn(0);
}

static PetscErrorCode Hessian(Tao tao, Vec x, Mat H, Mat P, void *ctx)
{
  const PetscScalar *v;
  PetscInt           from, to;

  PetscFunctionBegin;
  (void)H, (void)tao;
  if (!*(PetscInt *)ctx) *(PetscInt *)ctx = -1000; /* no update before */
  PetscCall(VecGetOwnershipRange(x, &from, &to));
  PetscCall(VecGetArrayRead(x, &v));
  for (PetscInt i = from; i < to; ++i) PetscCall(MatSetValue(P, i, i, 3 * v[i - from] * v[i - from], INSERT_VALUES));
  PetscCall(VecRestoreArrayRead(x, &v));
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode UpdateTao(Tao tao, PetscInt it, void *ctx)
{
  PetscFunctionBegin;
  (void)tao;
  if (it != (*(PetscInt *)ctx)++) *(PetscInt *)ctx = -1000;
  PetscFunctionReturn(0);
}

static PetscErrorCode TestTao(TaoType type)
{
  DM                 da;
  Vec                x, lower, upper;
  Mat                H;
  Tao                tao;
  PetscInt           updates = 0, its;
  PetscReal          low, high;
  PetscBool          dense;
  TaoConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, TAOVIPGS, &dense));
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, 23, 1, 1, NULL, &da));
  if (dense) PetscCall(DMSetMatType(da, MATDENSE));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(DMCreateMatrix(da, &H));
  PetscCall(VecDuplicate(x, &lower));
  PetscCall(VecDuplicate(x, &upper));
  PetscCall(VecSet(lower, 0));
  PetscCall(VecSet(upper, PETSC_INFINITY));
  PetscCall(VecSet(x, 3));
  PetscCall(TaoCreate(PETSC_COMM_WORLD, &tao));
  PetscCall(TaoSetType(tao, type));
  PetscCall(TaoSetSolution(tao, x));
  PetscCall(TaoSetVariableBounds(tao, lower, upper));
  PetscCall(TaoSetObjectiveAndGradient(tao, NULL, Objective, NULL));
  PetscCall(TaoSetHessian(tao, H, H, Hessian, dense ? &updates : &its)); /* vipmg's first one comes before the first test */
  its = 1;
  PetscCall(TaoSetUpdate(tao, UpdateTao, &updates));
  PetscCall(TaoSetTolerances(tao, 1e-9, 0, 0));
  PetscCall(TaoSetFromOptions(tao));
  PetscCall(TaoSolve(tao));
  PetscCall(TaoGetConvergedReason(tao, &reason));
  PetscCall(TaoGetIterationNumber(tao, &its));
  PetscCall(VecMin(x, NULL, &low));
  PetscCall(VecMax(x, NULL, &high));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Tao %s: %s, %" PetscInt_FMT " updates for %" PetscInt_FMT " iterations, %s\n", type, reason > 0 ? "converged" : "not converged", updates, its, PetscMax(PetscAbsReal(low - PetscPowReal(2, 1. / 3)), PetscAbsReal(high - PetscPowReal(2, 1. / 3))) < 1e-9 ? "solved" : "NOT SOLVED"));
  PetscCall(TaoDestroy(&tao));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&lower));
  PetscCall(VecDestroy(&upper));
  PetscCall(MatDestroy(&H));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

/* Of a linear function: an iteration of vipgs is some sweeps, its norms are those of F, and a test's verdict stands there too. */
static PetscErrorCode TestLinear(Vec x, Vec y)
{
  Context c;
  Result  r;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-snes_vipgs_newton", "0"));
  PetscCall(PetscOptionsSetValue(NULL, "-snes_vipgs_check", "2"));
  PetscCall(Solve(SNESVIPGS, PLAIN, 0, 1000, PETSC_FALSE, x, &c, &r));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "vipgs, linear: %s, %s%s, %" PetscInt_FMT " evaluations\n", SNESConvergedReasons[r.reason], r.its > 5 ? "by sweeps" : "in few iterations", r.natural < 1e-7 ? "" : ", NOT SOLVED", c.evaluations));
  PetscCall(Solve(SNESVIPGS, STOP, 0, 1000, PETSC_FALSE, y, &c, &r));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "vipgs, linear, a test that stops: %s, %" PetscInt_FMT " iterations%s\n", SNESConvergedReasons[r.reason], r.its, c.wrong ? ", WRONG" : ""));
  PetscCall(Solve(SNESVIPGS, UPDATE, 0, 1000, PETSC_FALSE, y, &c, &r));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "vipgs, linear, update: %s, %" PetscInt_FMT " iterations%s\n", SNESConvergedReasons[r.reason], r.its, c.wrong || c.updates != r.its ? ", WRONG" : ""));
  PetscCall(PetscOptionsClearValue(NULL, "-snes_vipgs_newton"));
  PetscCall(PetscOptionsClearValue(NULL, "-snes_vipgs_check"));
  PetscFunctionReturn(0);
}

static PetscErrorCode Nothing(SNES snes, Vec X, Vec F, void *ctx)
{
  (void)snes, (void)ctx;
  return VecCopy(X, F);
}
static PetscErrorCode NoEntries(SNES snes, Vec X, Mat J, Mat P, void *ctx)
{
  (void)snes, (void)X, (void)J, (void)P, (void)ctx;
  return 0;
}

/* A problem without unknowns is solved. */
static PetscErrorCode TestEmpty(SNESType type)
{
  SNES                snes;
  Mat                 J;
  Vec                 x, f;
  SNESConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, 0, 0, 0, 0, 0, NULL, 0, NULL, &J));
  PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(J, &x, &f));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetFunction(snes, f, Nothing, NULL));
  PetscCall(SNESSetJacobian(snes, J, J, NoEntries, NULL));
  PetscCall(SNESSetType(snes, type));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, no unknowns: %s\n", type, SNESConvergedReasons[reason]));
  PetscCall(SNESDestroy(&snes));
  PetscCall(MatDestroy(&J));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&f));
  PetscFunctionReturn(0);
}

static PetscErrorCode Parabola(SNES snes, Vec X, Vec F, void *ctx)
{
  PetscFunctionBegin;
  (void)snes, (void)ctx;
  PetscCall(VecPointwiseMult(F, X, X));
  PetscCall(VecShift(F, 1));
  PetscFunctionReturn(0);
}
static PetscErrorCode Slopes(SNES snes, Vec X, Mat J, Mat P, void *ctx)
{
  Vec d;

  PetscFunctionBegin;
  (void)snes, (void)J, (void)ctx;
  PetscCall(VecDuplicate(X, &d));
  PetscCall(VecCopy(X, d));
  PetscCall(VecAbs(d));
  PetscCall(VecScale(d, 2));
  PetscCall(MatDiagonalSet(P, d, INSERT_VALUES));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(0);
}

/* F = 1 + x^2 has no zero: where no part of a step reduces it any more the solve ends at the best point and says so. */
static PetscErrorCode TestNoZero(void)
{
  SNES                snes;
  Mat                 J;
  Vec                 x, f;
  SNESConvergedReason reason;
  PetscReal           norm;
  PetscInt            from, to;
  const char         *failure;

  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 3, 3, 1, NULL, 0, NULL, &J));
  PetscCall(MatGetOwnershipRange(J, &from, &to));
  for (PetscInt i = from; i < to; ++i) PetscCall(MatSetValue(J, i, i, 1, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(J, &x, &f));
  PetscCall(VecSet(x, 0.3));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetFunction(snes, f, Parabola, NULL));
  PetscCall(SNESSetJacobian(snes, J, J, Slopes, NULL));
  PetscCall(SNESSetType(snes, SNESVIPGS));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(SNESGetFunctionNorm(snes, &norm));
  PetscCall(SNESVIPGSGetFailure(snes, &failure));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "vipgs, no zero: %s, norm at most 2 %s, %.29s\n", SNESConvergedReasons[reason], norm <= 2 ? "yes" : "no", failure ? failure : "and no word of why"));
  PetscCall(SNESDestroy(&snes));
  PetscCall(MatDestroy(&J));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&f));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  DM  da;
  Vec x, y;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TesseraInitializePackage());
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, 23, 1, 1, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(TestCases(SNESVIPMG, x, y));
  PetscCall(TestCases(SNESVIPGS, x, y));
  PetscCall(TestLinear(x, y));
  PetscCall(TestEmpty(SNESVIPMG));
  PetscCall(TestEmpty(SNESVIPGS));
  PetscCall(TestNoZero());
  PetscCall(TestTao(TAOVIPMG));
  PetscCall(TestTao(TAOVIPGS));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}
    output_file: output/vi_hooks.out

TEST*/
