static char help[] = "KSP rrb in three dimensions with singular matrices: the null space attached or not, right-hand sides that have a part of it,\n\
one or more parts that nothing ties together, periodic directions, jumps. What residuals have left is that part alone.\n\
  -n <nx,ny,nz> : nodes\n\n";

#include "rrb_three_problem.h"

typedef struct {
  PetscBool periodic, attached;
  PetscInt  parts;
  PetscReal decades, share; /* of the null space in the right-hand side */
} Problem;
static const Problem problems[] = {
  {PETSC_FALSE, PETSC_FALSE, 1, 0, 0   },
  {PETSC_FALSE, PETSC_FALSE, 1, 0, 1e-3},
  {PETSC_FALSE, PETSC_TRUE,  1, 0, 1   },
  {PETSC_FALSE, PETSC_FALSE, 1, 4, 1   },
  {PETSC_FALSE, PETSC_TRUE,  1, 4, 1e-3},
  {PETSC_TRUE,  PETSC_FALSE, 1, 4, 1   },
  {PETSC_TRUE,  PETSC_TRUE,  1, 8, 1e-3},
  {PETSC_FALSE, PETSC_FALSE, 3, 4, 0   },
  {PETSC_FALSE, PETSC_TRUE,  3, 4, 1e-3},
  {PETSC_TRUE,  PETSC_TRUE,  3, 8, 1   },
};

static PetscInt Part(const Problem *p, PetscInt i, const PetscInt n[3])
{
  return i * p->parts / n[0];
}

/* The coupling of node a with the next one along d is one of a's. */
static PetscErrorCode Fill(const Problem *p, DM da, const PetscInt n[3], Mat A)
{
  PetscInt lo[3], m[3];

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(da, lo, lo + 1, lo + 2, m, m + 1, m + 2));
  for (PetscInt k = lo[2]; k < lo[2] + m[2]; ++k)
    for (PetscInt j = lo[1]; j < lo[1] + m[1]; ++j)
      for (PetscInt i = lo[0]; i < lo[0] + m[0]; ++i) {
        MatStencil  row = {0}, column[7];
        PetscScalar value[7] = {0};
        PetscInt    count = 1;

        row.i = i, row.j = j, row.k = k;
        column[0] = row;
        for (int c = 0; c < 6; ++c) {
          const int d = c / 2, ahead = c % 2;
          PetscInt  q[3] = {i, j, k}, in[3];
          PetscReal v;

          q[d] += ahead ? 1 : -1;
          if ((!p->periodic || d == 0) && (q[d] < 0 || q[d] >= n[d])) continue;
          for (int e = 0; e < 3; ++e) in[e] = (q[e] + n[e]) % n[e];
          if (Part(p, in[0], n) != Part(p, i, n)) continue;
          v = PetscPowReal(10, p->decades * ((ahead ? Random(i, j, k, 3 + d) : Random(in[0], in[1], in[2], 3 + d)) - 0.5));
          column[count].i = q[0], column[count].j = q[1], column[count].k = q[2], column[count].c = 0;
          value[count++] = -v;
          value[0] += v;
        }
        PetscCall(MatSetValuesStencil(A, 1, &row, count, column, value, INSERT_VALUES));
      }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* 1 at the nodes of a part; normalized */
static PetscErrorCode Constant(const Problem *p, DM da, const PetscInt n[3], PetscInt part, Vec *c)
{
  PetscInt       lo[3], m[3];
  PetscScalar ***v;

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(da, c));
  PetscCall(DMDAGetCorners(da, lo, lo + 1, lo + 2, m, m + 1, m + 2));
  PetscCall(DMDAVecGetArray(da, *c, &v));
  for (PetscInt k = lo[2]; k < lo[2] + m[2]; ++k)
    for (PetscInt j = lo[1]; j < lo[1] + m[1]; ++j)
      for (PetscInt i = lo[0]; i < lo[0] + m[0]; ++i) v[k][j][i] = Part(p, i, n) == part;
  PetscCall(DMDAVecRestoreArray(da, *c, &v));
  PetscCall(VecNormalize(*c, NULL));
  PetscFunctionReturn(0);
}

static PetscErrorCode Try(const Problem *p, const PetscInt n[3])
{
  const DMBoundaryType side = p->periodic ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  DM                   da;
  Mat                  A;
  Vec                  b, x, r, all[3];
  MatNullSpace         space;
  KSP                  ksp;
  KSPConvergedReason   reason;
  PetscReal            norm, left, whole = 0;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, side, side, DMDA_STENCIL_STAR, n[0], n[1], n[2], PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Fill(p, da, n, A));
  for (PetscInt c = 0; c < p->parts; ++c) PetscCall(Constant(p, da, n, c, &all[c]));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, p->parts, all, &space));
  PetscCall(RightHandSide(da, A, PETSC_FALSE, &b));
  PetscCall(MatNullSpaceRemove(space, b));
  PetscCall(VecNorm(b, NORM_2, &norm));
  for (PetscInt c = 0; c < p->parts; ++c) PetscCall(VecAXPY(b, p->share * norm, all[c]));
  if (p->attached) PetscCall(MatSetNullSpace(A, space));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MakeKSP(da, "rrb", &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, 1e-8, 1e-50, PETSC_DEFAULT, 100));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(MatNullSpaceRemove(space, r)); /* of least squares nothing else is left */
  PetscCall(VecNorm(r, NORM_2, &left));
  PetscCall(VecNorm(b, NORM_2, &norm));
  if (p->share == 0) PetscCall(Residual(A, x, b, &whole));
  if (reason <= 0 || !(left < 2e-8 * norm) || !(whole < 2e-8))
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s, %" PetscInt_FMT " parts, %g decades, share %g: %s, residual %.1e\n", p->periodic ? "periodic" : "closed", p->attached ? "attached" : "not attached", p->parts, (double)p->decades, (double)p->share, KSPConvergedReasons[reason], (double)(left / norm)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatNullSpaceDestroy(&space));
  for (PetscInt c = 0; c < p->parts; ++c) PetscCall(VecDestroy(&all[c]));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscInt n[3] = {17, 14, 12}, three = 3;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_type", "rrb"));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", n, &three, NULL));
  for (size_t k = 0; k < sizeof(problems) / sizeof(problems[0]); ++k) PetscCall(Try(&problems[k], n));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "done\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/rrb_three.out
    nsize: {{1 3}}
    test:
      suffix: 1
    test: # an odd number of nodes around: the whole system
      suffix: whole
      args: -n 17,15,12

TEST*/
