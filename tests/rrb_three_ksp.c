static char help[] = "KSP rrb in three dimensions, which iterates on half of the unknowns: in every iteration the norm that it reports is that of the solution that it builds.\n\n";

#include "rrb_three_problem.h"

typedef struct {
  const char *name;
  PetscBool   rows, singular, periodic;
} Problem;
static const Problem problems[] = {
  {"Dirichlet", PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
  {"rows",      PETSC_TRUE,  PETSC_FALSE, PETSC_FALSE}, /* Dirichlet rows that others couple with */
  {"Neumann",   PETSC_FALSE, PETSC_TRUE,  PETSC_FALSE},
  {"periodic",  PETSC_FALSE, PETSC_TRUE,  PETSC_TRUE },
};

/* 7 points with coefficients at random. */
static PetscErrorCode Fill(const Problem *p, DM da, const PetscInt n[3], Mat A)
{
  PetscInt lo[3], m[3];

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(da, lo, lo + 1, lo + 2, m, m + 1, m + 2));
  for (PetscInt k = lo[2]; k < lo[2] + m[2]; ++k)
    for (PetscInt j = lo[1]; j < lo[1] + m[1]; ++j)
      for (PetscInt i = lo[0]; i < lo[0] + m[0]; ++i) {
        const PetscInt at[3] = {i, j, k};
        MatStencil     row = {k, j, i, 0}, column[7];
        PetscScalar    value[7], diagonal = 0;
        PetscInt       count = 0;

        if (p->rows && (i == 0 || j == n[1] - 1 || (i + j + k) % 17 == 3)) {
          value[0] = 2 + Random(i, j, k, 3);
          PetscCall(MatSetValuesStencil(A, 1, &row, 1, &row, value, INSERT_VALUES));
          continue;
        }
        for (int d = 0; d < 3; ++d)
          for (int s = -1; s < 2; s += 2) {
            PetscInt        q[3] = {i, j, k}, low[3] = {i, j, k};
            PetscScalar     coupling;
            const PetscBool out = at[d] + s < 0 || at[d] + s >= n[d] ? PETSC_TRUE : PETSC_FALSE;

            q[d] += s;
            if (s < 0) low[d] = (low[d] + n[d] - 1) % n[d];
            coupling = 1 + 5 * Random(low[0], low[1], low[2], d);
            if (out && p->singular && !p->periodic) continue;
            diagonal += coupling;
            if (out && !p->periodic) continue;
            column[count].i = q[0], column[count].j = q[1], column[count].k = q[2], column[count].c = 0;
            value[count++] = -coupling;
          }
        column[count]  = row;
        value[count++] = diagonal;
        PetscCall(MatSetValuesStencil(A, 1, &row, count, column, value, INSERT_VALUES));
      }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* Products with the whole matrix, those of Watch() aside. */
static PetscErrorCode (*product)(Mat, Vec, Vec);
static PetscInt  products;
static PetscBool watching;
static PetscErrorCode Count(Mat A, Vec x, Vec y)
{
  PetscFunctionBeginUser;
  if (!watching) ++products;
  PetscCall((*product)(A, x, y));
  PetscFunctionReturn(0);
}

/* The norm of the solution built here, against the reported one. */
static PetscErrorCode Watch(KSP ksp, PetscInt it, PetscReal norm, void *context)
{
  PetscReal   *worst = (PetscReal *)context, found = 0;
  Vec          x, b, r, z;
  Mat          A;
  PC           pc;
  KSPNormType  type;
  PetscScalar  rz;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPGetRhs(ksp, &b));
  PetscCall(KSPGetNormType(ksp, &type));
  PetscCall(KSPBuildSolution(ksp, NULL, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecDuplicate(b, &z));
  watching = PETSC_TRUE;
  PetscCall(MatMult(A, x, r));
  watching = PETSC_FALSE;
  PetscCall(VecAYPX(r, -1, b));
  if (type == KSP_NORM_UNPRECONDITIONED) PetscCall(VecNorm(r, NORM_2, &found));
  else {
    PetscCall(PCApply(pc, r, z));
    PetscCall(VecNorm(z, NORM_2, &found));
    PetscCall(VecDot(r, z, &rz));
    if (type == KSP_NORM_NATURAL) found = PetscSqrtReal(PetscAbsScalar(rz));
  }
  *worst = PetscMax(*worst, PetscAbsReal(found - norm) / norm);
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&z));
  (void)it;
  PetscFunctionReturn(0);
}

static PetscErrorCode Solve(const Problem *p, const PetscInt size[3], KSPNormType norm, PetscBool guess)
{
  const DMBoundaryType sides = p->periodic ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  DM                   da;
  Mat                  A;
  Vec                  b, x;
  KSP                  ksp;
  KSPConvergedReason   reason;
  PetscReal            residual, worst = 0;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, sides, sides, sides, DMDA_STENCIL_STAR, size[0], size[1], size[2], PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Fill(p, da, size, A));
  PetscCall(RightHandSide(da, A, p->singular, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(MakeKSP(da, "rrb", &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetNormType(ksp, norm));
  PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
  PetscCall(KSPMonitorSet(ksp, Watch, &worst, NULL));
  if (guess) PetscCall(VecCopy(b, x));
  PetscCall(MatGetOperation(A, MATOP_MULT, (void (**)(void))(void *)&product));
  PetscCall(MatSetOperation(A, MATOP_MULT, (void (*)(void))Count));
  products = 0;
  PetscCall(KSPSolve(ksp, b, x));
  if (products != (guess ? 1 : 0) + (p->singular ? 1 : 0)) /* one sees that the null space is one */
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " products with the whole matrix\n", p->name, products));
  PetscCall(MatSetOperation(A, MATOP_MULT, (void (*)(void))product));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(Residual(A, x, b, &residual));
  if (reason <= 0 || !(residual < (norm == KSP_NORM_UNPRECONDITIONED && !guess ? 1.05e-6 : 1e-4))) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, norm %s%s: %s, residual %g\n", p->name, KSPNormTypes[norm], guess ? ", from a guess" : "", KSPConvergedReasons[reason], (double)residual));
  if (!(worst < 1e-4)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, norm %s%s: a reported norm differs from the solution's by %g\n", p->name, KSPNormTypes[norm], guess ? ", from a guess" : "", (double)worst));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  const KSPNormType norms[] = {KSP_NORM_UNPRECONDITIONED, KSP_NORM_PRECONDITIONED, KSP_NORM_NATURAL};
  PetscInt          n[3] = {18, 12, 14}, number = 3;
  PetscBool         set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", n, &number, &set));
  for (size_t k = 0; k < sizeof(problems) / sizeof(*problems); ++k)
    for (int t = 0; t < 3; ++t)
      for (int guess = 0; guess < 2; ++guess)
        if (!t || !problems[k].singular) PetscCall(Solve(&problems[k], n, norms[t], guess ? PETSC_TRUE : PETSC_FALSE));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "done\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/rrb_three.out
    test:
      suffix: 1
      nsize: {{1 2 3 4}}
    test:
      suffix: double
      args: -pc_rrb_precision double -n 8,22,16
    test: # the program asks for traps of floating point
      suffix: traps
      args: -fp_trap

TEST*/
