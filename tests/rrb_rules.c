static char help[] = "KSP rrb by PETSc's rules: nearly symmetric matrices, preconditioners that the program has chosen, the transpose, eigenvalues; and\n\
hooks of the program's beside those of the types.\n\n";

#include "compat.h"
#include "rrb_problem.h"
#include <petscsnes.h>

enum { FIVE, NINE, ONE_SIDED, TWO_SIDED, PERIODIC };
static const Model models[] = {
  {33, 28, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0.1, 0, 0, 1},
  {30, 31, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0.1, 0, 0, 1},
  {28, 27, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0.1, 0, 1, 1},
  {28, 27, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0.1, 0, 2, 1},
  {32, 26, PETSC_FALSE, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE, 1, 0.1, 0, 0, 1},
};
static const char *const names[] = {"5-point", "9-point", "one-sided Dirichlet rows", "Dirichlet rows", "periodic"};

static char           message[4096];
static PetscErrorCode Keep(MPI_Comm comm, int line, const char *fun, const char *file, PetscErrorCode n, PetscErrorType p, const char *text, void *ctx)
{
  (void)comm, (void)line, (void)fun, (void)file, (void)ctx;
  if (p == PETSC_ERROR_INITIAL && text) (void)PetscStrncpy(message, text, sizeof(message));
  return n;
}

typedef struct {
  DM  da;
  Mat A;
  Vec b, x;
  KSP ksp;
} Problem;

/* pctype: or NULL for none */
static PetscErrorCode NewKSP(Problem *p, const char *type, const char *pctype)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPDestroy(&p->ksp));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &p->ksp));
  PetscCall(KSPSetDM(p->ksp, p->da));
  PetscCall(SetDMActive(p->ksp, PETSC_FALSE));
  PetscCall(KSPSetOperators(p->ksp, p->A, p->A));
  PetscCall(KSPSetTolerances(p->ksp, 1e-11, 1e-50, PETSC_DEFAULT, 100));
  PetscCall(KSPSetNormType(p->ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetType(p->ksp, type));
  PetscCall(KSPGetPC(p->ksp, &pc));
  if (pctype) PetscCall(PCSetType(pc, pctype));
  PetscFunctionReturn(0);
}

static PetscErrorCode Create(const Model *m, Problem *p)
{
  PetscFunctionBeginUser;
  p->ksp = NULL;
  PetscCall(ModelCreate(PETSC_COMM_WORLD, m, PETSC_FALSE, &p->da, &p->A));
  PetscCall(DMCreateGlobalVector(p->da, &p->b));
  PetscCall(VecDuplicate(p->b, &p->x));
  PetscCall(ModelVector(p->da, 3, p->b));
  PetscFunctionReturn(0);
}

static PetscErrorCode Destroy(Problem *p)
{
  PetscFunctionBeginUser;
  PetscCall(KSPDestroy(&p->ksp));
  PetscCall(VecDestroy(&p->b));
  PetscCall(VecDestroy(&p->x));
  PetscCall(MatDestroy(&p->A));
  PetscCall(DMDestroy(&p->da));
  PetscFunctionReturn(0);
}

/* |b - A x| / |b| in the largest norm, or infinite where the solver says that it has failed */
static PetscErrorCode Residual(Problem *p, PetscBool transpose, PetscReal *norm)
{
  Vec                r;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(KSPGetConvergedReason(p->ksp, &reason));
  PetscCall(VecDuplicate(p->b, &r));
  if (transpose) PetscCall(MatMultTranspose(p->A, p->x, r));
  else PetscCall(MatMult(p->A, p->x, r));
  PetscCall(Difference(r, p->b, norm));
  if (reason <= 0) *norm = PETSC_INFINITY;
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(0);
}

static PetscErrorCode Solve(Problem *p, PetscBool transpose, PetscErrorCode *ierr)
{
  PetscFunctionBeginUser;
  PetscCall(VecSet(p->x, 0));
  PetscCall(PetscPushErrorHandler(Keep, NULL));
  *ierr = transpose ? KSPSolveTranspose(p->ksp, p->b, p->x) : KSPSolve(p->ksp, p->b, p->x);
  PetscCall(PetscPopErrorHandler());
  PetscFunctionReturn(0);
}

/* The error's code and a text of its message. */
static PetscErrorCode Refused(const char *what, PetscErrorCode ierr, PetscErrorCode code, const char *text)
{
  PetscFunctionBeginUser;
  PetscCall(CheckTrue(what, (PetscBool)(ierr == code && strstr(message, text))));
  if (ierr != code || !strstr(message, text)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  error %d: %s\n", (int)ierr, message));
  message[0] = 0;
  PetscFunctionReturn(0);
}

/* Every coefficient is wrong by a random number up to the share of the largest diagonal entry, as those of differences are. */
static PetscErrorCode Perturb(Problem *p, PetscReal share)
{
  Mat       B;
  Vec       d;
  PetscInt  first, last;
  PetscReal largest;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(p->b, &d));
  PetscCall(MatGetDiagonal(p->A, d));
  PetscCall(VecNorm(d, NORM_INFINITY, &largest));
  PetscCall(VecDestroy(&d));
  PetscCall(MatDuplicate(p->A, MAT_COPY_VALUES, &B));
  PetscCall(MatGetOwnershipRange(B, &first, &last));
  for (PetscInt i = first; i < last; ++i) {
    const PetscInt    *j;
    const PetscScalar *v;
    PetscInt           n;
    PetscCall(MatGetRow(B, i, &n, &j, &v));
    for (PetscInt k = 0; k < n; ++k)
      if (v[k] != 0) PetscCall(MatSetValue(p->A, i, j[k], v[k] + share * largest * (Hash(i, j[k], 5) - 0.5), INSERT_VALUES));
    PetscCall(MatRestoreRow(B, i, &n, &j, &v));
  }
  PetscCall(MatAssemblyBegin(p->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(p->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(0);
}

static PetscErrorCode TestNearlySymmetric(void)
{
  const PetscReal shares[] = {4e-10, 9e-7};

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "nearly symmetric\n"));
  for (int m = FIVE; m <= PERIODIC; ++m)
    for (int s = 0; s < 3; ++s) {
      Problem        p;
      PetscReal      norm;
      PetscErrorCode ierr;
      PetscCall(Create(&models[m], &p));
      PetscCall(Perturb(&p, s < 2 ? shares[s] : 1e-5));
      PetscCall(NewKSP(&p, KSPRRB, NULL));
      PetscCall(Solve(&p, PETSC_FALSE, &ierr));
      if (s == 2) {
        PetscCall(CheckTrue("  cg is named beside gmres", (PetscBool)(strstr(message, "-ksp_type cg -pc_type rrb") != NULL)));
        PetscCall(Refused("  by 1e-5: refused", ierr, PETSC_ERR_ARG_INCOMP, "-ksp_type gmres -pc_type rrb"));
        PetscCall(NewKSP(&p, KSPGMRES, PCRRB)); /* as the message says */
        PetscCall(Solve(&p, PETSC_FALSE, &ierr));
      }
      PetscCall(Residual(&p, PETSC_FALSE, &norm));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s, ", names[m]));
      PetscCall(Check(s == 2 ? "by 1e-5, gmres" : s ? "by 9e-7" : "by 4e-10", norm, 1e-10)); /* of the matrix itself, not of its mean with the transpose */
      PetscCall(Destroy(&p));
    }
  PetscFunctionReturn(0);
}

/* A x + exp(x) - b */
static PetscErrorCode Function(SNES snes, Vec x, Vec f, void *ctx)
{
  Problem *p = (Problem *)ctx;
  Vec      e;

  PetscFunctionBeginUser;
  (void)snes;
  PetscCall(MatMult(p->A, x, f));
  PetscCall(VecDuplicate(x, &e));
  PetscCall(VecCopy(x, e));
  PetscCall(VecExp(e));
  PetscCall(VecAXPY(f, 1, e));
  PetscCall(VecAXPY(f, -1, p->b));
  PetscCall(VecDestroy(&e));
  PetscFunctionReturn(0);
}

static PetscErrorCode TestDifferences(void)
{
  Problem             p;
  SNES                snes;
  KSP                 ksp;
  Vec                 f;
  PetscReal           norm;
  SNESConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(Create(&models[FIVE], &p));
  PetscCall(VecDuplicate(p.x, &f));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, p.da));
  PetscCall(SNESSetFunction(snes, f, Function, &p)); /* without a Jacobian it is made by differences with colouring */
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetType(ksp, KSPRRB));
  PetscCall(SNESSetTolerances(snes, 1e-12, 1e-11, 0, 20, PETSC_DEFAULT));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(VecSet(p.x, 0));
  PetscCall(SNESSolve(snes, NULL, p.x));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(Function(snes, p.x, f, &p));
  PetscCall(VecNorm(f, NORM_2, &norm));
  PetscCall(Check("Jacobian by differences", reason > 0 ? norm : PETSC_INFINITY, 1e-8));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&f));
  PetscCall(Destroy(&p));
  PetscFunctionReturn(0);
}

static PetscErrorCode Twice(PC pc, Vec x, Vec y)
{
  PetscFunctionBeginUser;
  (void)pc;
  PetscCall(VecAXPBY(y, 2, 0, x));
  PetscFunctionReturn(0);
}

/* The preconditioner after a solve: of this type, and the solve ended so. */
static PetscErrorCode Outcome(const char *what, Problem *p, const char *type, PetscBool solved)
{
  PC             pc;
  PetscBool      same;
  PetscReal      norm = PETSC_INFINITY;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(Solve(p, PETSC_FALSE, &ierr));
  if (!ierr) PetscCall(Residual(p, PETSC_FALSE, &norm));
  PetscCall(KSPGetPC(p->ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, type, &same));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s, ", what));
  PetscCall(CheckTrue(type, same));
  if (solved) PetscCall(Check("    solved", norm, 1e-10));
  else PetscCall(Refused("    refused", ierr, PETSC_ERR_ARG_INCOMP, "PCSetType(pc, PCRRB)"));
  PetscFunctionReturn(0);
}

static PetscErrorCode TestChosen(void)
{
  Problem p;
  PC      pc, mine;

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "preconditioners\n"));
  PetscCall(Create(&models[FIVE], &p));
  PetscCall(NewKSP(&p, KSPRRB, NULL));
  PetscCall(Outcome("no choice", &p, PCRRB, PETSC_TRUE));
  PetscCall(NewKSP(&p, KSPRRB, NULL));
  PetscCall(KSPSetFromOptions(p.ksp));
  PetscCall(Outcome("no choice, options", &p, PCRRB, PETSC_TRUE));
  PetscCall(NewKSP(&p, KSPCG, NULL)); /* as where -ksp_type rrb comes after PETSc's default */
  PetscCall(KSPSetFromOptions(p.ksp));
  PetscCall(KSPSetType(p.ksp, KSPRRB));
  PetscCall(Outcome("PETSc's default before", &p, PCRRB, PETSC_TRUE));
  PetscCall(KSPSetType(p.ksp, KSPCG));
  PetscCall(Outcome("cg after KSP rrb", &p, PCRRB, PETSC_TRUE));
  {
    const char *const types[] = {PCJACOBI, PCNONE, PCBJACOBI, PCAUXAMG};
    for (int t = 0; t < 4; ++t)
      for (int when = 0; when < 4; ++when) {
        PetscCall(NewKSP(&p, when == 1 ? KSPRRB : KSPCG, types[t]));
        if (when == 0) PetscCall(KSPSetType(p.ksp, KSPRRB));
        if (when >= 2) {
          if (!strcmp(types[t], PCBJACOBI)) continue; /* nothing tells it from PETSc's default on several processes */
          PetscCall(KSPSetFromOptions(p.ksp));
          PetscCall(KSPSetType(p.ksp, KSPRRB));
          if (when == 3) PetscCall(KSPSetFromOptions(p.ksp));
        }
        PetscCall(Outcome(when == 0 ? "before the type" : when == 1 ? "after the type" : when == 2 ? "before options and type" : "before options, type and options", &p, types[t], PETSC_FALSE));
      }
  }
  PetscCall(NewKSP(&p, KSPCG, PCSHELL));
  PetscCall(KSPGetPC(p.ksp, &pc));
  PetscCall(PCShellSetApply(pc, Twice));
  PetscCall(KSPSetType(p.ksp, KSPRRB));
  PetscCall(KSPSetFromOptions(p.ksp));
  PetscCall(Outcome("the program's own", &p, PCSHELL, PETSC_FALSE));
  PetscCall(KSPSetType(p.ksp, KSPCG)); /* it is as it was */
  PetscCall(KSPSetTolerances(p.ksp, 1e-11, 1e-50, PETSC_DEFAULT, 1000));
  PetscCall(Outcome("the same with cg", &p, PCSHELL, PETSC_TRUE));
  PetscCall(NewKSP(&p, KSPRRB, NULL));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &mine));
  PetscCall(PCSetType(mine, PCRRB));
  PetscCall(PCRRBSetSweeps(mine, 2));
  PetscCall(PCSetDM(mine, p.da));
  PetscCall(PCSetOperators(mine, p.A, p.A));
  PetscCall(KSPSetPC(p.ksp, mine));
  PetscCall(KSPSetFromOptions(p.ksp));
  PetscCall(Outcome("KSPSetPC() of rrb", &p, PCRRB, PETSC_TRUE));
  PetscCall(KSPGetPC(p.ksp, &pc));
  {
    PetscInt sweeps = 0;
    PetscCall(PCRRBGetSweeps(pc, &sweeps));
    PetscCall(CheckTrue("  it is used", (PetscBool)(pc == mine && sweeps == 2)));
  }
  PetscCall(PCDestroy(&mine));
  PetscCall(Destroy(&p));
  PetscFunctionReturn(0);
}

static PetscErrorCode TestTranspose(void)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "transpose\n"));
  for (int m = FIVE; m <= PERIODIC; ++m)
    for (int perturbed = 0; perturbed < 2; ++perturbed) {
      Problem        p;
      PetscReal      norm;
      PetscErrorCode ierr;
      PetscCall(Create(&models[m], &p));
      if (perturbed) PetscCall(Perturb(&p, 9e-7));
      PetscCall(NewKSP(&p, KSPRRB, NULL));
      PetscCall(Solve(&p, PETSC_TRUE, &ierr));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s%s", names[m], perturbed ? ", nearly symmetric" : ""));
      if (m == ONE_SIDED) PetscCall(Refused("", ierr, PETSC_ERR_SUP, "MatZeroRowsColumns()"));
      else {
        PetscCall(Residual(&p, PETSC_TRUE, &norm));
        PetscCall(Check("", ierr ? PETSC_INFINITY : norm, 1e-10));
      }
      PetscCall(Solve(&p, PETSC_FALSE, &ierr));
      PetscCall(Residual(&p, PETSC_FALSE, &norm));
      PetscCall(Check("    then the matrix itself", ierr ? PETSC_INFINITY : norm, 1e-10));
      PetscCall(Destroy(&p));
    }
  PetscFunctionReturn(0);
}

/* Those of the last Lanczos matrix lie among all eigenvalues of the preconditioned operator, which are those of its Schur complement and ones. */
static PetscErrorCode TestEigenvalues(void)
{
  const Model small[2] = {{13, 11, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 5, 0, 0, 0, 1}, {11, 13, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 5, 0, 0, 0, 1}};

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "eigenvalues\n"));
  for (int k = 0; k < 2; ++k) {
    Problem   p;
    PetscReal re[500], im[500], all[500], zero[500], high, low, ends = 0, between = 0, order = 0, parts = 0;
    PetscInt  its, n, N = small[k].nx * small[k].ny;

    PetscCall(Create(&small[k], &p));
    PetscCall(NewKSP(&p, KSPRRB, NULL));
    PetscCall(KSPSetComputeEigenvalues(p.ksp, PETSC_TRUE));
    PetscCall(VecSet(p.x, 0));
    PetscCall(KSPSetTolerances(p.ksp, 1e-13, 1e-50, PETSC_DEFAULT, 100));
    PetscCall(KSPSolve(p.ksp, p.b, p.x));
    PetscCall(KSPGetIterationNumber(p.ksp, &its));
    PetscCall(KSPComputeEigenvalues(p.ksp, 500, re, im, &n));
    PetscCall(KSPComputeExtremeSingularValues(p.ksp, &high, &low));
    PetscCall(NewKSP(&p, KSPCG, PCRRB));
    PetscCall(KSPSetUp(p.ksp));
    PetscCall(KSPComputeEigenvaluesExplicitly(p.ksp, N, all, zero));
    PetscCall(PetscSortReal(N, all));
    for (PetscInt i = 0; i < n; ++i) {
      between = PetscMax(between, PetscMax(all[0] - re[i], re[i] - all[N - 1]));
      parts   = PetscMax(parts, PetscAbsReal(im[i]));
      if (i) order = PetscMax(order, re[i - 1] - re[i]);
    }
    ends = PetscMax(PetscAbsReal(re[0] - low), PetscAbsReal(re[n - 1] - high));
    PetscCall(CheckTrue(k ? "  9-point: one an iteration" : "  5-point: one an iteration", (PetscBool)(n == its && n > 4)));
    PetscCall(Check("    real", parts, 0));
    PetscCall(Check("    in ascending order", order, 0));
    PetscCall(Check("    among all", between, 1e-10));
    PetscCall(Check("    the smallest one", PetscAbsReal(re[0] - all[0]) / all[0], 1e-2));
    PetscCall(Check("    the largest one", PetscAbsReal(re[n - 1] - all[N - 1]) / all[N - 1], 1e-2));
    PetscCall(Check("    the ends are the singular values", ends, 1e-12));
    PetscCall(NewKSP(&p, KSPRRB, NULL));
    PetscCall(KSPSetComputeEigenvalues(p.ksp, PETSC_TRUE));
    PetscCall(VecSet(p.b, 0));
    PetscCall(KSPSolve(p.ksp, p.b, p.x));
    PetscCall(KSPComputeEigenvalues(p.ksp, 500, re, im, &n));
    PetscCall(KSPComputeExtremeSingularValues(p.ksp, &high, &low));
    PetscCall(CheckTrue("    none without iterations", (PetscBool)(!n && high == 1 && low == 1)));
    PetscCall(Destroy(&p));
  }
  PetscFunctionReturn(0);
}

/* Called before each solve, and before the type looks at the matrix: it doubles it. */
static int            hooks;
static PetscErrorCode Hook(PC pc, KSP ksp)
{
  Mat A;

  PetscFunctionBeginUser;
  (void)ksp;
  ++hooks;
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(MatScale(A, 2));
  PetscFunctionReturn(0);
}

static PetscErrorCode TestHooks(void)
{
  const char *const types[][2] = {{KSPCG, PCRRB}, {KSPRRB, PCRRB}, {KSPGMRES, PCRRB}, {KSPCG, PCAUXAMG}};

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "hooks\n"));
  for (int t = 0; t < 4; ++t) {
    Problem        p;
    PC             pc;
    PetscReal      norm;
    PetscErrorCode ierr;
    int            expected = 0;
    PetscCall(Create(&models[FIVE], &p));
    PetscCall(NewKSP(&p, types[t][0], types[t][1]));
    PetscCall(KSPGetPC(p.ksp, &pc));
#if PETSC_VERSION_LT(3, 24, 0) /* later ones have PCSetPostSetUp() instead */
    PetscCall(PCSetPreSolve(pc, Hook));
    expected = 2;
#endif
    hooks = 0;
    for (int solve = 0; solve < 2; ++solve) {
      PetscCall(Solve(&p, PETSC_FALSE, &ierr));
      PetscCall(Residual(&p, PETSC_FALSE, &norm));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s, %s", types[t][0], types[t][1]));
      PetscCall(Check("", ierr ? PETSC_INFINITY : norm, 1e-9));
    }
    PetscCall(CheckTrue("    called once a solve", (PetscBool)(hooks == expected)));
    PetscCall(Destroy(&p));
  }
  PetscFunctionReturn(0);
}

/* Options that came before a wrong one count, and the next setup is made with them */
static PetscErrorCode TestWrongOption(void)
{
  Problem        p;
  PC             pc;
  PetscErrorCode ierr;
  PetscInt       its[2];

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a wrong option after a right one\n"));
  PetscCall(Create(&models[NINE], &p));
  for (int k = 0; k < 2; ++k) {
    PetscCall(NewKSP(&p, KSPCG, "rrb"));
    PetscCall(KSPGetPC(p.ksp, &pc));
    if (k) PetscCall(PCRRBSetSweeps(pc, 3));
    else {
      PetscCall(Solve(&p, PETSC_FALSE, &ierr));
      PetscCall(PetscOptionsSetValue(NULL, "-pc_rrb_sweeps", "3"));
      PetscCall(PetscOptionsSetValue(NULL, "-pc_rrb_redundant", "-1"));
      PetscCall(PetscPushErrorHandler(Keep, NULL));
      ierr = PCSetFromOptions(pc);
      PetscCall(PetscPopErrorHandler());
      PetscCall(CheckTrue("  refused", (PetscBool)(ierr == PETSC_ERR_ARG_OUTOFRANGE)));
      PetscCall(PetscOptionsClearValue(NULL, "-pc_rrb_sweeps"));
      PetscCall(PetscOptionsClearValue(NULL, "-pc_rrb_redundant"));
    }
    PetscCall(Solve(&p, PETSC_FALSE, &ierr));
    PetscCall(KSPGetIterationNumber(p.ksp, &its[k]));
  }
  PetscCall(CheckTrue("  the right one is in use", (PetscBool)(its[0] == its[1])));
  PetscCall(Destroy(&p));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestNearlySymmetric());
  PetscCall(TestDifferences());
  PetscCall(TestChosen());
  PetscCall(TestTranspose());
  PetscCall(TestEigenvalues());
  PetscCall(TestHooks());
  PetscCall(TestWrongOption());
  (void)Hook;
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  # PETSc leaves a copy of a name behind where options are refused
  test:
    nsize: {{1 2 3}}
    args: -malloc_dump 0

TEST*/
