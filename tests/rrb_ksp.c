static char help[] = "KSP rrb as a PETSc solver: norms, reasons, monitors, initial guesses, reuse; and the same iterations on any number of processes.\n\
  -ranks : only the last, which compares with one process\n\n";

#include "rrb_problem.h"

static const Model models[] = {
  {63, 47, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0.1, 0, 0, 1},
  {40, 51, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0.1, 0, 0, 1},
  {48, 37, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0.1, 0, 1, 1},
  {48, 36, PETSC_FALSE, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE, 1, 0.1, 0, 0, 1},
  {45, 36, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0.1, 0.2, 0, 1},
};
static const char *const names[] = {"5-point", "9-point", "Dirichlet rows", "periodic", "mask"};
static const KSPNormType norms[] = {KSP_NORM_NATURAL, KSP_NORM_UNPRECONDITIONED, KSP_NORM_PRECONDITIONED};

typedef struct {
  DM  da;
  Mat A;
  Vec x, b, r, z;
  KSP ksp;
} Problem;

static PetscErrorCode NewKSP(Problem *p, const char type[])
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPDestroy(&p->ksp));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)p->A), &p->ksp));
  PetscCall(KSPSetType(p->ksp, type));
  PetscCall(KSPSetOperators(p->ksp, p->A, p->A));
  PetscCall(KSPGetPC(p->ksp, &pc));
  PetscCall(PCSetType(pc, PCRRB));
  PetscCall(KSPSetFromOptions(p->ksp));
  PetscFunctionReturn(0);
}

static PetscErrorCode Create(MPI_Comm comm, const Model *m, const char type[], Problem *p)
{
  PetscFunctionBeginUser;
  p->ksp = NULL;
  PetscCall(ModelCreate(comm, m, PETSC_FALSE, &p->da, &p->A));
  PetscCall(DMCreateGlobalVector(p->da, &p->x));
  PetscCall(VecDuplicate(p->x, &p->b));
  PetscCall(VecDuplicate(p->x, &p->r));
  PetscCall(VecDuplicate(p->x, &p->z));
  PetscCall(ModelVector(p->da, 3, p->b));
  PetscCall(NewKSP(p, type));
  PetscFunctionReturn(0);
}

static PetscErrorCode Destroy(Problem *p)
{
  PetscFunctionBeginUser;
  PetscCall(KSPDestroy(&p->ksp));
  PetscCall(VecDestroy(&p->x));
  PetscCall(VecDestroy(&p->b));
  PetscCall(VecDestroy(&p->r));
  PetscCall(VecDestroy(&p->z));
  PetscCall(MatDestroy(&p->A));
  PetscCall(DMDestroy(&p->da));
  PetscFunctionReturn(0);
}

/* The norm of the residual of p->x. */
static PetscErrorCode TrueNorm(Problem *p, KSPNormType type, PetscReal *norm)
{
  PC          pc;
  PetscScalar d;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(p->ksp, &pc));
  PetscCall(MatMult(p->A, p->x, p->r));
  PetscCall(VecAYPX(p->r, -1.0, p->b));
  PetscCall(PCApply(pc, p->r, p->z));
  if (type == KSP_NORM_NATURAL) {
    PetscCall(VecDot(p->r, p->z, &d));
    *norm = PetscSqrtReal(PetscAbsScalar(d));
  } else PetscCall(VecNorm(type == KSP_NORM_PRECONDITIONED ? p->z : p->r, NORM_2, norm));
  PetscFunctionReturn(0);
}

/* Every norm that is reported is that of the solution at that iteration, computed with the whole system. */
static PetscErrorCode TestNorms(const Model *m, const char name[])
{
  Problem p;

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "norms, %s\n", name));
  PetscCall(Create(PETSC_COMM_WORLD, m, KSPRRB, &p));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(norms); ++t) {
    PetscReal worst = 0, first = 0, last = 0;

    PetscCall(KSPSetNormType(p.ksp, norms[t]));
    for (int guess = 0; guess < 2; ++guess) {
      PetscCall(KSPSetInitialGuessNonzero(p.ksp, (PetscBool)guess));
      for (PetscInt k = 0; k <= 12; k = k < 4 ? k + 1 : k + 4) {
        PetscReal          reported, truth;
        KSPConvergedReason reason;
        PetscInt           its;

        PetscCall(KSPSetTolerances(p.ksp, 1e-30, 1e-50, PETSC_DEFAULT, k));
        if (guess) PetscCall(ModelVector(p.da, 8, p.x));
        else PetscCall(VecSet(p.x, PETSC_INFINITY));
        PetscCall(KSPSolve(p.ksp, p.b, p.x));
        PetscCall(KSPGetConvergedReason(p.ksp, &reason));
        PetscCall(KSPGetIterationNumber(p.ksp, &its));
        PetscCall(KSPGetResidualNorm(p.ksp, &reported));
        PetscCall(TrueNorm(&p, norms[t], &truth));
        if (k == 0) first = truth;
        last = truth;
        if (its != k || reason != KSP_DIVERGED_ITS) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %" PetscInt_FMT " iterations instead of %" PetscInt_FMT ", %s\n", its, k, KSPConvergedReasons[reason]));
        worst = PetscMax(worst, PetscAbsReal(reported - truth) / first);
      }
    }
    PetscCall(Check(t == 0 ? "  natural" : t == 1 ? "  unpreconditioned" : "  preconditioned", worst, 1e-12));
    PetscCall(CheckTrue("  and it falls", (PetscBool)(last < 1e-2 * first)));
  }
  PetscCall(Destroy(&p));
  PetscFunctionReturn(0);
}

typedef struct {
  PetscInt  calls;
  PetscReal norm[200];
} Log;

static PetscErrorCode Monitor(KSP ksp, PetscInt it, PetscReal norm, void *ctx)
{
  Log *l = (Log *)ctx;

  (void)ksp;
  PetscFunctionBeginUser;
  if (it == l->calls && it < 200) l->norm[l->calls++] = norm;
  else l->calls = -1000;
  PetscFunctionReturn(0);
}

static PetscErrorCode StopAtFive(KSP ksp, PetscInt it, PetscReal norm, KSPConvergedReason *reason, void *ctx)
{
  (void)ksp;
  (void)norm;
  PetscFunctionBeginUser;
  ++*(PetscInt *)ctx;
  *reason = it == 5 ? KSP_CONVERGED_HAPPY_BREAKDOWN : KSP_CONVERGED_ITERATING;
  PetscFunctionReturn(0);
}

/* Why it stops, and what monitors and the residual history see. */
static PetscErrorCode TestReasons(const Model *m, const char name[])
{
  Problem            p;
  KSPConvergedReason reason;
  PetscInt           its, calls = 0, n;
  PetscReal          norm, history[200], first, error, worst = 0;
  const PetscReal   *h;
  Log                l = {0, {0}};

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "reasons, %s\n", name));
  PetscCall(Create(PETSC_COMM_WORLD, m, KSPRRB, &p));
  PetscCall(KSPSetNormType(p.ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(VecNorm(p.b, NORM_2, &first));

  PetscCall(KSPSetTolerances(p.ksp, 1e-7, PETSC_DEFAULT, PETSC_DEFAULT, 100));
  PetscCall(KSPMonitorSet(p.ksp, Monitor, &l, NULL));
  PetscCall(KSPSetResidualHistory(p.ksp, history, 200, PETSC_TRUE));
  PetscCall(KSPSolve(p.ksp, p.b, p.x));
  PetscCall(KSPMonitorCancel(p.ksp));
  PetscCall(KSPGetConvergedReason(p.ksp, &reason));
  PetscCall(KSPGetIterationNumber(p.ksp, &its));
  PetscCall(KSPGetResidualNorm(p.ksp, &norm));
  PetscCall(CheckTrue("  relative tolerance", (PetscBool)(reason == KSP_CONVERGED_RTOL && norm <= 1e-7 * first)));
  PetscCall(KSPGetResidualHistory(p.ksp, &h, &n));
  PetscCall(CheckTrue("  monitor and history have one value an iteration", (PetscBool)(n == its + 1 && l.calls == n)));
  for (PetscInt i = 0; i < PetscMin(n, l.calls); ++i) worst = PetscMax(worst, PetscAbsReal(l.norm[i] - h[i]));
  PetscCall(Check("  the same in both", worst, 0));
  PetscCall(Check("  the first is the right-hand side's", PetscAbsReal(h[0] - first) / first, 1e-14));
  PetscCall(CheckTrue("  the last but one is above the tolerance", (PetscBool)(h[n - 2] > 1e-7 * first)));
  PetscCall(KSPSetResidualHistory(p.ksp, NULL, 0, PETSC_FALSE));

  PetscCall(KSPSetTolerances(p.ksp, 1e-30, 1e-3 * first, PETSC_DEFAULT, 100));
  PetscCall(KSPSolve(p.ksp, p.b, p.x));
  PetscCall(KSPGetConvergedReason(p.ksp, &reason));
  PetscCall(KSPGetResidualNorm(p.ksp, &norm));
  PetscCall(CheckTrue("  absolute tolerance", (PetscBool)(reason == KSP_CONVERGED_ATOL && norm <= 1e-3 * first)));

  PetscCall(KSPSetTolerances(p.ksp, 1e-30, 1.01 * first, PETSC_DEFAULT, 100));
  PetscCall(KSPSolve(p.ksp, p.b, p.x));
  PetscCall(KSPGetConvergedReason(p.ksp, &reason));
  PetscCall(KSPGetIterationNumber(p.ksp, &its));
  PetscCall(VecNorm(p.x, NORM_INFINITY, &norm));
  PetscCall(CheckTrue("  x0 where that is good enough", (PetscBool)(reason == KSP_CONVERGED_ATOL && its == 0 && norm == 0)));

  PetscCall(KSPSetTolerances(p.ksp, 1e-30, 1e-50, PETSC_DEFAULT, 3));
  PetscCall(KSPSolve(p.ksp, p.b, p.x));
  PetscCall(KSPGetConvergedReason(p.ksp, &reason));
  PetscCall(KSPGetIterationNumber(p.ksp, &its));
  PetscCall(CheckTrue("  iterations", (PetscBool)(reason == KSP_DIVERGED_ITS && its == 3)));

  PetscCall(KSPSetTolerances(p.ksp, 1e-30, 1e-50, 1e-3, 100)); /* any residual is too large */
  PetscCall(KSPSolve(p.ksp, p.b, p.x));
  PetscCall(KSPGetConvergedReason(p.ksp, &reason));
  PetscCall(CheckTrue("  divergence tolerance", (PetscBool)(reason == KSP_DIVERGED_DTOL)));

  PetscCall(NewKSP(&p, KSPRRB));
  PetscCall(KSPSetConvergenceTest(p.ksp, StopAtFive, &calls, NULL));
  PetscCall(KSPSolve(p.ksp, p.b, p.x));
  PetscCall(KSPGetConvergedReason(p.ksp, &reason));
  PetscCall(KSPGetIterationNumber(p.ksp, &its));
  PetscCall(CheckTrue("  a convergence test of the user", (PetscBool)(reason == KSP_CONVERGED_HAPPY_BREAKDOWN && its == 5 && calls == 6)));

  PetscCall(NewKSP(&p, KSPRRB));
  PetscCall(KSPSetTolerances(p.ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 20)); /* not as many as leave nothing, where PETSc's own methods end */
  PetscCall(KSPSetNormType(p.ksp, KSP_NORM_NONE));
  PetscCall(KSPSolve(p.ksp, p.b, p.x));
  PetscCall(KSPGetConvergedReason(p.ksp, &reason));
  PetscCall(KSPGetIterationNumber(p.ksp, &its));
  PetscCall(CheckTrue("  no norm", (PetscBool)(reason == KSP_CONVERGED_ITS && its == 20)));
  PetscCall(TrueNorm(&p, KSP_NORM_UNPRECONDITIONED, &error));
  PetscCall(Check("  solution without a norm", error / first, 1e-6));

  /* the solution as initial guess, and nothing to solve */
  PetscCall(NewKSP(&p, KSPRRB));
  PetscCall(KSPSetTolerances(p.ksp, 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, 100));
  PetscCall(KSPSetNormType(p.ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSolve(p.ksp, p.b, p.x));
  PetscCall(KSPSetTolerances(p.ksp, 1e-10, 1e-10 * first, PETSC_DEFAULT, 100));
  PetscCall(KSPSetInitialGuessNonzero(p.ksp, PETSC_TRUE));
  PetscCall(KSPSolve(p.ksp, p.b, p.x));
  PetscCall(KSPGetIterationNumber(p.ksp, &its));
  PetscCall(Check("  iterations from the solution", (PetscReal)its, 0));
  PetscCall(KSPSetInitialGuessNonzero(p.ksp, PETSC_FALSE));
  PetscCall(VecSet(p.b, 0));
  PetscCall(KSPSolve(p.ksp, p.b, p.x));
  PetscCall(KSPGetConvergedReason(p.ksp, &reason));
  PetscCall(VecNorm(p.x, NORM_INFINITY, &norm));
  PetscCall(CheckTrue("  zero right-hand side", (PetscBool)(reason > 0 && norm == 0)));
  PetscCall(Destroy(&p));
  PetscFunctionReturn(0);
}

/* The extreme singular values against all eigenvalues of the preconditioned operator. */
static PetscErrorCode TestSingularValues(void)
{
  const Model m[2] = {{21, 19, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 0, 0, 0, 0, 1}, {19, 21, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0, 0, 0, 1}};

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; ++k) {
    Problem   p;
    PetscReal high, low, *re, *im, most = 0, least = PETSC_MAX_REAL;
    PetscInt  n = m[k].nx * m[k].ny;

    PetscCall(Create(PETSC_COMM_WORLD, &m[k], KSPRRB, &p));
    PetscCall(KSPSetComputeSingularValues(p.ksp, PETSC_TRUE));
    PetscCall(KSPSetTolerances(p.ksp, 1e-13, 1e-50, PETSC_DEFAULT, 60));
    PetscCall(KSPSolve(p.ksp, p.b, p.x));
    PetscCall(KSPComputeExtremeSingularValues(p.ksp, &high, &low));
    PetscCall(NewKSP(&p, KSPCG));
    PetscCall(KSPSetUp(p.ksp));
    PetscCall(PetscMalloc2(n, &re, n, &im));
    PetscCall(KSPComputeEigenvaluesExplicitly(p.ksp, n, re, im));
    for (PetscInt i = 0; i < n; ++i) {
      most  = PetscMax(most, re[i]);
      least = PetscMin(least, re[i]);
    }
    PetscCall(PetscFree2(re, im));
    PetscCall(Check(k ? "singular values, 9-point: largest" : "singular values: largest", PetscAbsReal(high - most) / most, 1e-2));
    PetscCall(Check("  smallest", PetscAbsReal(low - least) / least, 1e-2));
    PetscCall(CheckTrue("  they differ", (PetscBool)(most > 1.01 * least)));
    PetscCall(Destroy(&p));
  }
  PetscFunctionReturn(0);
}

/* New values, then another size after KSPReset(): the solution is right and the iterations are those of a new solver. */
static PetscErrorCode TestReuse(void)
{
  Problem            p, q;
  Model              m = models[0], other = models[2];
  KSPConvergedReason reason;
  PetscMPIInt        rank;
  PetscInt           its, fresh;
  PetscReal          norm, first;

  PetscFunctionBeginUser;
  PetscCall(Create(PETSC_COMM_WORLD, &m, KSPRRB, &p));
  PetscCall(KSPSetTolerances(p.ksp, 1e-9, 1e-50, PETSC_DEFAULT, 100));
  PetscCall(KSPSolve(p.ksp, p.b, p.x));
  m.seed = 7;
  PetscCall(ModelFill(&m, p.da, p.A));
  PetscCall(KSPSolve(p.ksp, p.b, p.x));
  PetscCall(KSPGetIterationNumber(p.ksp, &its));
  PetscCall(TrueNorm(&p, KSP_NORM_UNPRECONDITIONED, &norm));
  PetscCall(VecNorm(p.b, NORM_2, &first));
  PetscCall(Check("new values", norm / first, 1e-7));
  m.seed = 8; /* the old factors precondition the new matrix: never the old matrix's solution */
  PetscCall(KSPSetReusePreconditioner(p.ksp, PETSC_TRUE));
  PetscCall(ModelFill(&m, p.da, p.A));
  PetscCall(KSPSetTolerances(p.ksp, 1e-9, 1e-50, PETSC_DEFAULT, 1000));
  PetscCall(KSPSolve(p.ksp, p.b, p.x));
  PetscCall(TrueNorm(&p, KSP_NORM_UNPRECONDITIONED, &norm));
  PetscCall(Check("new values, preconditioner kept", norm / first, 1e-7));
  PetscCall(KSPSetReusePreconditioner(p.ksp, PETSC_FALSE));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (!rank) PetscCall(MatSetValue(p.A, 0, 1, -1, ADD_VALUES));
  PetscCall(MatAssemblyBegin(p.A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(p.A, MAT_FINAL_ASSEMBLY));
  PetscCall(KSPSolve(p.ksp, p.b, p.x));
  PetscCall(KSPGetConvergedReason(p.ksp, &reason));
  PetscCall(KSPGetIterationNumber(p.ksp, &its));
  PetscCall(CheckTrue("not symmetric any more: no iteration", (PetscBool)(reason == KSP_DIVERGED_NONSYMMETRIC && !its)));
  PetscCall(Create(PETSC_COMM_WORLD, &other, KSPRRB, &q));
  PetscCall(KSPSetTolerances(q.ksp, 1e-9, 1e-50, PETSC_DEFAULT, 100));
  PetscCall(KSPSolve(q.ksp, q.b, q.x));
  PetscCall(KSPGetIterationNumber(q.ksp, &fresh));
  PetscCall(KSPReset(p.ksp));
  PetscCall(KSPSetOperators(p.ksp, q.A, q.A));
  PetscCall(VecSet(q.x, 0));
  PetscCall(KSPSolve(p.ksp, q.b, q.x));
  PetscCall(KSPGetIterationNumber(p.ksp, &its));
  PetscCall(TrueNorm(&q, KSP_NORM_UNPRECONDITIONED, &norm));
  PetscCall(VecNorm(q.b, NORM_2, &first));
  PetscCall(Check("another size", norm / first, 1e-7));
  PetscCall(Check("  iterations", (PetscReal)PetscAbsInt(its - fresh), 0));
  PetscCall(Destroy(&p));
  PetscCall(Destroy(&q));
  PetscFunctionReturn(0);
}

/* The residual history of KSP type and norm on these processes and on one. */
static PetscErrorCode History(MPI_Comm comm, const Model *m, const char type[], KSPNormType norm, PetscReal *history, PetscInt *n)
{
  Problem          p;
  const PetscReal *h;

  PetscFunctionBeginUser;
  PetscCall(Create(comm, m, type, &p));
  PetscCall(KSPSetNormType(p.ksp, norm));
  PetscCall(KSPSetTolerances(p.ksp, 1e-9, 1e-50, PETSC_DEFAULT, 100));
  PetscCall(KSPSetResidualHistory(p.ksp, NULL, 200, PETSC_TRUE));
  PetscCall(KSPSolve(p.ksp, p.b, p.x));
  PetscCall(KSPGetResidualHistory(p.ksp, &h, n));
  for (PetscInt i = 0; i < *n; ++i) history[i] = h[i];
  PetscCall(Destroy(&p));
  PetscFunctionReturn(0);
}

static PetscErrorCode TestRanks(void)
{
  static const char *const types[] = {KSPCG, KSPRRB, KSPFCG};

  PetscFunctionBeginUser;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(models); ++k) {
    Model m = models[k];

    m.nx = 3 * m.nx + (m.periodic_x ? 0 : 1); /* large enough that two grids stay distributed */
    m.ny = 3 * m.ny;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "one process and many, %s\n", names[k]));
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); ++t) {
      char      text[64];
      PetscReal one[200], many[200], worst = 0;
      PetscInt  n1, n;

      PetscCall(History(PETSC_COMM_SELF, &m, types[t], norms[k % 2], one, &n1));
      PetscCall(History(PETSC_COMM_WORLD, &m, types[t], norms[k % 2], many, &n));
      for (PetscInt i = 0; i < PetscMin(n, n1); ++i) worst = PetscMax(worst, PetscAbsReal(one[i] - many[i]) / one[0]);
      PetscCall(PetscSNPrintf(text, sizeof(text), "  %s: history", types[t])); /* a line at once: other processes print warnings */
      PetscCall(Check(text, n == n1 && n > 5 ? worst : PETSC_INFINITY, 1e-10));
    }
  }
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscBool ranks = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-ranks", &ranks, NULL));
  if (!ranks) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(models); ++k) {
      PetscCall(TestNorms(&models[k], names[k]));
      PetscCall(TestReasons(&models[k], names[k]));
    }
    PetscCall(TestSingularValues());
    PetscCall(TestReuse());
  } else PetscCall(TestRanks());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/rrb_ksp.out
    nsize: {{1 3}}
    test:
      suffix: v
      args: -pc_rrb_cycle v -pc_rrb_levels 100
    test:
      suffix: default
      args:
    test:
      suffix: half
      args: -pc_rrb_coarsening lump -pc_rrb_levels 3 -pc_rrb_precision single -pc_rrb_cycle v
    test:
      suffix: single
      args: -pc_rrb_precision single
    test:
      suffix: natural_storage
      args: -pc_rrb_quarters 0 -pc_rrb_levels 4 -pc_rrb_cycle v

  testset:
    output_file: output/rrb_ksp_ranks.out
    args: -ranks
    test:
      suffix: ranks_2
      nsize: 2
      args: -da_processors_x {{1 2}} -pc_rrb_levels 100 -pc_rrb_cycle v
    test:
      suffix: ranks_3
      nsize: 3
      args: -da_processors_x {{1 3}} -pc_rrb_levels 100 -pc_rrb_cycle v
    test:
      suffix: ranks_4
      nsize: 4
      args: -da_processors_x {{1 2 4}} -pc_rrb_levels 100 -pc_rrb_cycle v
    test:
      suffix: ranks_default
      nsize: {{2 3 4}}
      args:
    test:
      suffix: ranks_k
      nsize: 4
      args: -pc_rrb_cycle k -pc_rrb_levels 100
    test:
      suffix: ranks_amli
      nsize: 3
      args: -pc_rrb_cycle amli -pc_rrb_cycle_every 1 -pc_rrb_levels 100

TEST*/
