static char help[] = "Iteration tables of the RRB-solver: Poisson's equation, the right-hand side of its paper, tolerance 1e-6.\n\
  -from <n> -to <n> : sizes 63, 127, ... (n = 2^m - 1)\n\
  -fast : only the cases marked so, for the largest grids\n\n";

/*
  M. de Jong, A. van der Ploeg, A. Ditzel, K. Vuik, Fine-grain parallel RRB-solver for 5-/9-point stencil problems suitable for
  GPU-type processors, ETNA 48 (2018): b = A u, u = x (x - 1) y (y - 1) exp(x y), x0 = 0, ||r||_{M^-1} <= 1e-6 ||r0||_{M^-1}.
*/
#include "rrb_problem.h"

typedef struct {
  const char *name, *options;
  PetscBool   fast;
  PetscInt    slack;       /* of the number of iterations */
  PetscInt    expected[6]; /* n = 63, 127, ..., 2047; 0: none known */
  PetscInt    most;        /* or: never more than this */
} Case;

static const Case cases[] = {
  {"CG, natural norm, l = 12",            "-ksp_type cg -ksp_norm_type natural -pc_rrb_cycle v -pc_rrb_levels 12",               PETSC_TRUE,  0, {13, 16, 19, 20, 20, 19}, 0 },
  {"CG, natural norm, all levels",        "-ksp_type cg -ksp_norm_type natural -pc_rrb_cycle v -pc_rrb_levels 100",              PETSC_TRUE,  0, {13, 16, 19, 23, 27, 32}, 0 },
  {"KSP rrb, natural norm, l = 12",       "-ksp_type rrb -ksp_norm_type natural -pc_rrb_cycle v -pc_rrb_levels 12",              PETSC_TRUE,  1, {13, 16, 19, 20, 20, 19}, 0 },
  {"KSP rrb, natural norm, all levels",   "-ksp_type rrb -ksp_norm_type natural -pc_rrb_cycle v -pc_rrb_levels 100",             PETSC_TRUE,  1, {13, 16, 19, 23, 27, 32}, 0 },
  {"CG, residual norm, l = 12",           "-ksp_type cg -ksp_norm_type unpreconditioned -pc_rrb_cycle v -pc_rrb_levels 12",      PETSC_FALSE, 1, {0, 0, 25, 28, 29, 30},   0 },
  {"CG, residual norm, all levels",       "-ksp_type cg -ksp_norm_type unpreconditioned -pc_rrb_cycle v -pc_rrb_levels 100",     PETSC_FALSE, 1, {0, 0, 25, 31, 40, 50},   0 },
  {"KSP rrb, residual norm, all levels",  "-ksp_type rrb -ksp_norm_type unpreconditioned -pc_rrb_cycle v -pc_rrb_levels 100",    PETSC_FALSE, 1, {0, 0, 25, 31, 40, 50},   0 },
  {"CG, single precision",                "-ksp_type cg -ksp_norm_type unpreconditioned -pc_rrb_cycle v -pc_rrb_levels 100 -pc_rrb_precision single", PETSC_FALSE, 1, {0, 0, 25, 31, 40, 50}, 0},
  {"CG, natural storage",                 "-ksp_type cg -ksp_norm_type natural -pc_rrb_cycle v -pc_rrb_levels 100 -pc_rrb_quarters 0", PETSC_FALSE, 0, {13, 16, 19, 23, 27, 32}, 0},
  {"rhombus, l = 12",                     "-ksp_type cg -ksp_norm_type unpreconditioned -pc_rrb_cycle v -pc_rrb_levels 12 -pc_rrb_coarsening rhombus", PETSC_FALSE, 1, {0, 0, 18, 18, 18, 18}, 0},
  {"rhombus, all levels",                 "-ksp_type cg -ksp_norm_type unpreconditioned -pc_rrb_cycle v -pc_rrb_levels 100 -pc_rrb_coarsening rhombus", PETSC_TRUE, 1, {0, 0, 19, 22, 25, 29}, 0},
  {"FCG, K-cycle every second grid",      "-ksp_type fcg -ksp_norm_type unpreconditioned -pc_rrb_cycle k -pc_rrb_levels 100",    PETSC_TRUE,  0, {0, 0, 0, 0, 0, 0},       12},
  {"CG, AMLI every second grid",          "-ksp_type cg -ksp_norm_type unpreconditioned -pc_rrb_cycle amli -pc_rrb_levels 100",  PETSC_TRUE,  0, {0, 0, 0, 0, 0, 0}, 12},
  {"KSP rrb, K-cycle",                    "-ksp_type rrb -ksp_norm_type unpreconditioned -pc_rrb_cycle k -pc_rrb_levels 100",    PETSC_FALSE, 0, {0, 0, 0, 0, 0, 0},       13},
  {"KSP rrb, AMLI",                       "-ksp_type rrb -ksp_norm_type unpreconditioned -pc_rrb_cycle amli -pc_rrb_levels 100", PETSC_FALSE, 0, {0, 0, 0, 0, 0, 0}, 12},
  {"FCG, K-cycle on every grid",          "-ksp_type fcg -ksp_norm_type unpreconditioned -pc_rrb_cycle k -pc_rrb_cycle_every 1 -pc_rrb_levels 100", PETSC_FALSE, 1, {0, 0, 7, 7, 7, 7}, 0},
};

static PetscErrorCode Solve(const Case *c, PetscInt size, Mat A, Vec b, Vec x)
{
  KSP                ksp;
  PC                 pc;
  char               prefix[8];
  PetscInt           its, limit = c->most ? c->most : c->expected[size] + c->slack, least = c->most ? 1 : c->expected[size] - c->slack;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  if (!c->most && !c->expected[size]) PetscFunctionReturn(0);
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "c%d_", (int)(c - cases)));
  PetscCall(PetscOptionsPrefixPush(NULL, prefix));
  PetscCall(PetscOptionsInsertString(NULL, "-pc_rrb_coarsening lump"));
  PetscCall(PetscOptionsInsertString(NULL, c->options));
  PetscCall(PetscOptionsPrefixPop(NULL));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, 1e-6, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCRRB));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  if (reason != KSP_CONVERGED_RTOL) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s: %s after %" PetscInt_FMT " iterations\n", c->name, KSPConvergedReasons[reason], its));
  else if (its < least || its > limit) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s: %" PetscInt_FMT " iterations instead of %" PetscInt_FMT " to %" PetscInt_FMT "\n", c->name, its, least, limit));
  else if (c->slack || c->most) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s: %" PetscInt_FMT " to %" PetscInt_FMT "\n", c->name, least, limit));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s: %" PetscInt_FMT "\n", c->name, its));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscInt  from = 63, to = 1023, size = 0;
  PetscBool fast = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-from", &from, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-to", &to, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-fast", &fast, NULL));
  for (PetscInt n = 63; n <= to; n = 2 * n + 1, ++size) {
    Model         m = {n, n, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 0, 0, 0, 0, 1};
    DM            da;
    Mat           A;
    Vec           x, b, u;
    PetscInt      xs, ys, xm, ym;
    PetscScalar **a;

    if (n < from) continue;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "n = %" PetscInt_FMT "\n", n));
    PetscCall(ModelCreate(PETSC_COMM_WORLD, &m, PETSC_FALSE, &da, &A));
    PetscCall(DMCreateGlobalVector(da, &u));
    PetscCall(VecDuplicate(u, &b));
    PetscCall(VecDuplicate(u, &x));
    PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
    PetscCall(DMDAVecGetArray(da, u, &a));
    for (PetscInt j = ys; j < ys + ym; ++j) {
      for (PetscInt i = xs; i < xs + xm; ++i) {
        const PetscReal px = (PetscReal)(i + 1) / (n + 1), py = (PetscReal)(j + 1) / (n + 1);

        a[j][i] = px * (px - 1) * py * (py - 1) * PetscExpReal(px * py);
      }
    }
    PetscCall(DMDAVecRestoreArray(da, u, &a));
    PetscCall(MatMult(A, u, b));
    for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(cases); ++c)
      if (!fast || cases[c].fast) PetscCall(Solve(&cases[c], size, A, b, x));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&u));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: 1
    args: -to 511

  test:
    suffix: 1023
    args: -from 1023 -to 2047 -fast

  test:
    suffix: ranks
    nsize: {{2 3}}
    args: -to 511
    output_file: output/rrb_tables_1.out

TEST*/
