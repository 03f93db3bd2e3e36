static char help[] = "PCGetInterpolations() and PCGetCoarseOperators() of PC auxamg: each operator is P'AP of the one before, and a PCMG of the interpolations converges.\n\n";

#include "auxamg_problem.h"

static PetscErrorCode Solve(Mat A, PetscInt levels, Mat *P)
{
  KSP                ksp;
  PC                 pc;
  Vec                x, b;
  PetscInt           its;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "other_"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PCMGSetLevels(pc, levels, NULL));
  PetscCall(PCMGSetGalerkin(pc, PC_MG_GALERKIN_BOTH));
  for (PetscInt l = 1; l < levels; ++l) PetscCall(PCMGSetInterpolation(pc, l, P[l - 1]));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "PCMG: %s\n", reason > 0 && its <= 20 ? "yes" : "no"));
  if (reason < 0 || its > 20) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %d iterations, %s\n", (int)its, KSPConvergedReasons[reason]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mesh           mesh;
  ProblemOptions o = {1, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 1, 0, 0, 0, 0, 0, 0, 0};
  MeshType       type = MESH_SQUARE;
  PetscInt       n = 40, nodes = 0, levels, others;
  PetscReal     *coordinates = NULL, tolerance = 1e-13, worst = 0, norm, difference;
  PetscBool      solve = PETSC_TRUE;
  Mat            A, *P, *operators;
  PC             pc;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-mesh", MeshTypes, (PetscEnum *)&type, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bs", &o.bs, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-one_sided", &o.eliminate, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-shuffle", &o.shuffle, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-jump", &o.jump, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tolerance", &tolerance, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-solve", &solve, NULL));
  PetscCall(MeshMake(type, n, &mesh));
  PetscCall(ProblemMake(PETSC_COMM_WORLD, &mesh, &o, &A, &nodes, &coordinates));
  PetscCall(MatScale(A, 1e-7)); /* units of its own */
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, "auxamg"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetCoordinates(pc, mesh.dim, nodes, coordinates));
  PetscCall(PCSetUp(pc));
  PetscCall(PCGetInterpolations(pc, &levels, &P));
  PetscCall(PCGetCoarseOperators(pc, &others, &operators));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "levels: %s\n", levels > 2 && levels == others ? "yes" : "no"));
  for (PetscInt l = levels - 2; l >= 0; --l) {
    Mat product;
    PetscCall(MatPtAP(l == levels - 2 ? A : operators[l + 1], P[l], MAT_INITIAL_MATRIX, PETSC_DEFAULT, &product));
    PetscCall(MatNorm(product, NORM_FROBENIUS, &norm));
    PetscCall(MatAXPY(product, -1, operators[l], DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatNorm(product, NORM_FROBENIUS, &difference));
    if (!(difference <= worst * norm)) worst = difference / norm;
    PetscCall(MatDestroy(&product));
  }
  if (worst <= tolerance) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "P'AP: yes\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "P'AP: no, they differ by %g\n", (double)worst));
  if (solve) PetscCall(Solve(A, levels, P));
  for (PetscInt l = 0; l + 1 < levels; ++l) {
    PetscCall(MatDestroy(&P[l]));
    PetscCall(MatDestroy(&operators[l]));
  }
  PetscCall(PetscFree(P));
  PetscCall(PetscFree(operators));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(coordinates));
  PetscCall(MeshDestroy(&mesh));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 3}}
    args: -pc_auxamg_precision double
    output_file: output/auxamg_levels.out
    test:
      suffix: disk
      args: -mesh disk
    test:
      suffix: divided
      args: -n 90 -shuffle -pc_auxamg_coarse_size 40
    test:
      suffix: blocks
      args: -mesh disk -n 24 -bs 2
    test:
      suffix: jump
      args: -jump 1e3 -pc_auxamg_filter on

  testset:
    nsize: {{1 3}}
    args: -solve 0
    output_file: output/auxamg_levels_product.out
    test:
      suffix: one_sided
      args: -one_sided -pc_auxamg_precision double
    test:
      suffix: single
      args: -mesh graded -pc_auxamg_coarse_size 20 -pc_auxamg_precision single -tolerance 3e-7
    test:
      suffix: paper
      args: -mesh disk -pc_auxamg_variant aggregation

TEST*/
