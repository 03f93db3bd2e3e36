#include "compare.h"
#include <petsctime.h>

PetscErrorCode ComparisonOptions(Comparison *c)
{
  const char *usual[] = {"rrb", "hypre", "gamg"}; /* -compare without a list */
  PetscBool   set;

  PetscFunctionBeginUser;
  c->words = MAX_SOLVERS;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Solvers", NULL);
  PetscCall(PetscOptionsReal("-rtol", "Tolerance of the solve, on the true residual", NULL, c->rtol, &c->rtol, NULL));
  PetscCall(PetscOptionsStringArray("-compare", "Solve with each of these: KSP types, or PC types for CG", NULL, c->word, &c->words, &set));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-compare", &c->on));
  c->repeat = 1;
  PetscCall(PetscOptionsBoundedInt("-repeat", "Solve k times and show the shortest times", NULL, c->repeat, &c->repeat, NULL, 1));
  PetscOptionsEnd();
  if (!set) c->words = 0;
  for (; c->on && !set && c->words < 3; c->words++) PetscCall(PetscStrallocpy(usual[c->words], &c->word[c->words]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A word is a KSP type, or else a PC type for CG; its options begin with the word */
static PetscErrorCode Exists(const char word[], PetscBool *ksp, PetscBool *pc)
{
  PetscErrorCode (*makeKsp)(KSP);
  PetscErrorCode (*makePc)(PC);

  PetscFunctionBeginUser;
  PetscCall(KSPInitializePackage()); /* they register PETSc's types */
  PetscCall(PCInitializePackage());
  PetscCall(PetscFunctionListFind(KSPList, word, &makeKsp));
  PetscCall(PetscFunctionListFind(PCList, word, &makePc));
  *ksp = makeKsp ? PETSC_TRUE : PETSC_FALSE;
  *pc  = makePc ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes a solver, sets it up and solves; word NULL: what the options say, CG and GAMG if nothing */
static PetscErrorCode Once(const Comparison *c, Mat A, Vec b, const char word[], PetscBool isKsp, Solver *s)
{
  KSP            ksp;
  PC             pc;
  KSPType        kspType;
  PCType         pcType;
  PetscLogDouble t0, t1, t2;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED)); /* the same question to every solver */
  PetscCall(KSPSetTolerances(ksp, c->rtol, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPGetPC(ksp, &pc));
  if (isKsp) PetscCall(KSPSetType(ksp, word));
  else {
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(PCSetType(pc, word ? word : PCGAMG));
  }
  if (word) {
    PetscCall(KSPSetOptionsPrefix(ksp, word));
    PetscCall(KSPAppendOptionsPrefix(ksp, "_"));
  }
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecZeroEntries(s->x));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&t0));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSetUpOnBlocks(ksp));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&t1));
  PetscCall(KSPSolve(ksp, b, s->x));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&t2));
  s->setup = PetscMin(s->setup, t1 - t0);
  s->solve = PetscMin(s->solve, t2 - t1);
  PetscCall(KSPGetConvergedReason(ksp, &s->reason));
  PetscCall(KSPGetIterationNumber(ksp, &s->iterations));
  PetscCall(KSPGetType(ksp, &kspType));
  PetscCall(PCGetType(pc, &pcType));
  if (isKsp) PetscCall(PetscSNPrintf(s->name, sizeof(s->name), "-ksp_type %s", kspType));
  else PetscCall(PetscSNPrintf(s->name, sizeof(s->name), "-ksp_type %s -pc_type %s", kspType, pcType));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Comparison *c, Mat A, Vec b, const char word[], PetscBool isKsp, Judge judge, void *ctx)
{
  Solver   *s = &c->solver[c->n];
  Vec       r;
  PetscReal bnorm;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  PetscCall(VecDuplicate(b, &s->x));
  s->setup = s->solve = PETSC_MAX_REAL;
  for (PetscInt k = 0; k < c->repeat; k++) PetscCall(Once(c, A, b, word, isKsp, s));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatResidual(A, b, s->x, r));
  PetscCall(VecNorm(r, NORM_2, &s->norm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  s->residual = bnorm > 0 ? s->norm / bnorm : s->norm;
  PetscCall((*judge)(ctx, s));
  if (c->n) {
    PetscCall(VecWAXPY(r, -1, c->solver[0].x, s->x));
    PetscCall(VecNorm(r, NORM_INFINITY, &s->difference));
  }
  PetscCall(VecDestroy(&r));
  c->n++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ComparisonRun(Comparison *c, Mat A, Vec b, Judge judge, void *ctx)
{
  PetscBool isKsp = PETSC_FALSE, isPc = PETSC_FALSE;

  PetscFunctionBeginUser;
  c->n = 0;
  if (!c->on) {
    PetscCall(Solve(c, A, b, NULL, PETSC_FALSE, judge, ctx));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt k = 0; k < c->words; k++) {
    PetscCall(Exists(c->word[k], &isKsp, &isPc));
    if (isKsp || isPc) PetscCall(Solve(c, A, b, c->word[k], isKsp, judge, ctx));
    else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "skipped  %s: this PETSc has no such solver%s\n", c->word[k], strcmp(c->word[k], "rrb") ? "" : " (-dll_append libtessera.so brings it)"));
  }
  PetscCheck(c->n, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-compare: this PETSc has none of these solvers");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ComparisonTable(const Comparison *c, const char unit[], PetscBool *good)
{
  PetscMPIInt ranks;
  PetscInt    unknowns;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(VecGetSize(c->solver[0].x, &unknowns));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n%" PetscInt_FMT " unknowns on %d rank%s, to %g in the unpreconditioned norm\n", unknowns, ranks, ranks > 1 ? "s" : "", (double)c->rtol));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "                                       setup    solve    total       true     mass  difference\n"));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "solver                     iterations    [s]      [s]      [s]   residual  balance  to the first%s%s\n", *unit ? " " : "", unit));
  *good = PETSC_TRUE;
  for (PetscInt k = 0; k < c->n; k++) {
    const Solver *s = &c->solver[k];

    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-27s %9" PetscInt_FMT " %6.2f   %6.2f   %6.2f    %.1e  %.1e", s->name, s->iterations, (double)s->setup, (double)s->solve, (double)(s->setup + s->solve), (double)s->residual, (double)s->balance));
    if (k) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %.1e", (double)s->difference));
    if (s->reason < 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s", KSPConvergedReasons[s->reason]));
    else if (s->residual > 1.5 * c->rtol) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  true residual above the tolerance"));
    if (s->leaks) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  water is lost"));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
    if (s->reason < 0 || s->residual > 1.5 * c->rtol || s->leaks) *good = PETSC_FALSE; /* CG's own residual may drift a little */
  }
  if (!*good) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "FAILED: see the ends of the lines above\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ComparisonDestroy(Comparison *c)
{
  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < c->n; k++) PetscCall(VecDestroy(&c->solver[k].x));
  for (PetscInt k = 0; k < c->words; k++) PetscCall(PetscFree(c->word[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
