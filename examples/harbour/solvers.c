/* Several preconditioners on one series of systems, and the table of what they took */
#include "harbour.h"

PetscErrorCode SolverCreate(Harbour *sea, const char name[], PetscBool prefixed, PetscReal rtol, PetscInt steps, Solver *s)
{
  PC     pc;
  PCType type;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &s->ksp));
  PetscCall(KSPSetType(s->ksp, KSPCG));
  PetscCall(KSPSetNormType(s->ksp, KSP_NORM_UNPRECONDITIONED)); /* the same question to every preconditioner */
  PetscCall(KSPSetTolerances(s->ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetOperators(s->ksp, sea->A, sea->A));
  PetscCall(KSPGetPC(s->ksp, &pc));
  PetscCall(PCSetType(pc, name));
  if (prefixed) { /* -gamg_pc_gamg_threshold and so on */
    PetscCall(KSPSetOptionsPrefix(s->ksp, name));
    PetscCall(KSPAppendOptionsPrefix(s->ksp, "_"));
  }
  PetscCall(KSPSetFromOptions(s->ksp));
  PetscCall(PCGetType(pc, &type)); /* -pc_type may have changed it */
  PetscCall(PetscStrncpy(s->name, type, sizeof(s->name)));
  PetscCall(VecDuplicate(sea->psi, &s->x));
  PetscCall(PetscMalloc2(steps, &s->setup, steps, &s->solve));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Those of the named preconditioners that exist here; nothing named means rrb, gamg, hypre. Frees the names */
PetscErrorCode SolversCreate(Harbour *sea, PetscInt nTypes, char *types[], PetscReal rtol, PetscInt steps, PetscInt *n, Solver solvers[])
{
  const char *usual[] = {"rrb", "gamg", "hypre"};
  PC          pc;
  PetscBool   isRrb;
  PetscErrorCode (*create)(PC);

  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc)); /* registers PETSc's types */
  PetscCall(PCDestroy(&pc));
  if (!nTypes)
    for (; nTypes < 3; nTypes++) PetscCall(PetscStrallocpy(usual[nTypes], &types[nTypes]));
  for (PetscInt k = 0; k < nTypes; k++) {
    PetscCall(PetscFunctionListFind(PCList, types[k], &create));
    if (create) PetscCall(SolverCreate(sea, types[k], PETSC_TRUE, rtol, steps, &solvers[(*n)++]));
    else {
      PetscCall(PetscStrcmp(types[k], "rrb", &isRrb));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "skipped  %s: this PETSc has no such preconditioner%s\n", types[k], isRrb ? " (-dll_append libtessera.so brings it)" : ""));
    }
    PetscCall(PetscFree(types[k]));
  }
  PetscCheck(*n, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-compare: this PETSc has none of the preconditioners");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SolverDestroy(Solver *s)
{
  PetscFunctionBeginUser;
  PetscCall(KSPDestroy(&s->ksp));
  PetscCall(VecDestroy(&s->x));
  PetscCall(PetscFree2(s->setup, s->solve));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves the present system and books time, iterations and the true residual */
PetscErrorCode SolverRun(Harbour *sea, Solver *s, Vec reference)
{
  PetscLogDouble     t0, t1, t2;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          rnorm, bnorm, dnorm, xnorm;
  Vec                r;

  PetscFunctionBeginUser;
  PetscCall(VecCopy(sea->psi, s->x)); /* used with -ksp_initial_guess_nonzero */
  PetscCall(KSPSetOperators(s->ksp, sea->A, sea->A));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&t0));
  PetscCall(KSPSetUp(s->ksp));
  PetscCall(KSPSetUpOnBlocks(s->ksp));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&t1));
  PetscCall(KSPSolve(s->ksp, sea->rhs, s->x));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&t2));

  PetscCall(KSPGetConvergedReason(s->ksp, &reason));
  PetscCall(KSPGetIterationNumber(s->ksp, &its));
  if (reason < 0 && !s->failure) s->failure = reason;
  s->setup[s->solves] = 1e3 * (t1 - t0);
  s->solve[s->solves] = 1e3 * (t2 - t1);
  s->solves++;
  s->iterations += its;
  s->maxIterations = PetscMax(s->maxIterations, its);

  PetscCall(DMGetGlobalVector(sea->da, &r));
  PetscCall(MatResidual(sea->A, sea->rhs, s->x, r));
  PetscCall(VecNorm(r, NORM_2, &rnorm));
  PetscCall(VecNorm(sea->rhs, NORM_2, &bnorm));
  if (bnorm > 0) s->residual = PetscMax(s->residual, rnorm / bnorm);
  if (reference != s->x) {
    PetscCall(VecWAXPY(r, -1, reference, s->x));
    PetscCall(VecNorm(r, NORM_2, &dnorm));
    PetscCall(VecNorm(reference, NORM_2, &xnorm));
    if (xnorm > 0) s->difference = PetscMax(s->difference, dnorm / xnorm);
  }
  PetscCall(DMRestoreGlobalVector(sea->da, &r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Sum(PetscInt n, const PetscReal a[])
{
  PetscReal sum = 0;
  for (PetscInt i = 0; i < n; i++) sum += a[i];
  return sum;
}

/* Sorts a */
static PetscErrorCode Median(PetscInt n, PetscReal a[], PetscReal *median)
{
  PetscFunctionBeginUser;
  PetscCall(PetscSortReal(n, a));
  *median = n ? 0.5 * (a[(n - 1) / 2] + a[n / 2]) : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PrintTable(const Harbour *sea, PetscInt n, Solver solvers[], PetscReal rtol, PetscBool *good)
{
  PetscMPIInt ranks;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n%" PetscInt_FMT " systems of %" PetscInt_FMT " unknowns on %d rank%s, CG to %g in the unpreconditioned norm\n", solvers[0].solves, sea->map.nx * sea->map.ny, ranks, ranks > 1 ? "s" : "", (double)rtol));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "                first  ------ median ------\n"));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "precondi-       setup  re-setup       solve   iterations      total   true residual   difference\n"));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "tioner           [ms]      [ms]        [ms]   mean   max        [s]   (largest)       to the first\n"));
  *good = PETSC_TRUE;
  for (PetscInt k = 0; k < n; k++) {
    Solver         *s     = &solvers[k];
    const PetscReal total = (Sum(s->solves, s->setup) + Sum(s->solves, s->solve)) / 1e3, first = s->setup[0];
    PetscReal       resetup, solve;

    PetscCall(Median(s->solves - 1, s->setup + 1, &resetup));
    PetscCall(Median(s->solves, s->solve, &solve));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-12s %8.1f  %8.1f  %10.1f  %5.1f %5" PetscInt_FMT " %10.2f      %.1e", s->name, (double)first, (double)resetup, (double)solve, (double)s->iterations / s->solves, s->maxIterations, (double)total, (double)s->residual));
    if (k) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "         %.1e", (double)s->difference));
    if (s->failure) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "   %s", KSPConvergedReasons[s->failure]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
    if (s->failure || s->residual > 1.5 * rtol) *good = PETSC_FALSE; /* CG's recursive residual may drift a little */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
