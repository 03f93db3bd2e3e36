static char help[] = "Elasticity without coordinates: the rigid body modes of MatSetNearNullSpace() tell where the nodes are, up to a motion and a scale. Iterations with\n"
                     "coordinates, with the modes, with modes that are mixed, with the couplings alone, and with vectors that are no such modes.\n\n  -mesh, -n\n\n";

#include "auxamg_problem.h"

static PetscErrorCode Solve(const char *name, Mat A, Vec b, PetscInt dim, PetscInt nodes, PetscReal *x)
{
  KSP                ksp;
  PC                 pc;
  Vec                u;
  PetscInt           its;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-6, 1e-50, 1e50, 300));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, "auxamg"));
  if (x) PetscCall(PCSetCoordinates(pc, dim, nodes, x));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecDuplicate(b, &u));
  PetscCall(KSPSolve(ksp, b, u));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %d iterations, %s\n", name, (int)its, KSPConvergedReasons[reason]));
  PetscCall(VecDestroy(&u));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors that span the same space, not orthogonal ones; spoilt: one of them is random. */
static PetscErrorCode Mix(MatNullSpace space, PetscBool spoilt, MatNullSpace *mixed)
{
  PetscBool  constant;
  PetscInt   n;
  const Vec *v;
  Vec        w[6];

  PetscFunctionBeginUser;
  PetscCall(MatNullSpaceGetVecs(space, &constant, &n, &v));
  for (PetscInt k = 0; k < n; ++k) {
    PetscCall(VecDuplicate(v[k], &w[k]));
    PetscCall(VecCopy(v[k], w[k]));
  }
  for (PetscInt k = 0; k + 1 < n; ++k) PetscCall(VecAXPY(w[k], 0.5 + 0.3 * (PetscReal)k, w[k + 1]));
  if (spoilt) PetscCall(VecSetRandom(w[0], NULL));
  PetscCall(VecScale(w[n - 1], 30));
  for (PetscInt k = 0; k < n; ++k) { /* what is asked of the vectors of a null space */
    for (PetscInt l = 0; l < k; ++l) {
      PetscScalar dot;
      PetscCall(VecDot(w[k], w[l], &dot));
      PetscCall(VecAXPY(w[k], -dot, w[l]));
    }
    PetscCall(VecNormalize(w[k], NULL));
  }
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, n, w, mixed));
  for (PetscInt k = 0; k < n; ++k) PetscCall(VecDestroy(&w[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mesh           mesh;
  ProblemOptions o = {1, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 1, 0, 0, 0, 0, 0, 0, 0};
  MeshType       type = MESH_CUBE;
  PetscInt       n = 8, nodes = 0;
  PetscReal     *x = NULL;
  PetscScalar   *v;
  Mat            A;
  Vec            b, points;
  MatNullSpace   modes, mixed, spoilt;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-mesh", MeshTypes, (PetscEnum *)&type, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(MeshMake(type, n, &mesh));
  o.bs = mesh.dim;
  PetscCall(ProblemMake(PETSC_COMM_WORLD, &mesh, &o, &A, &nodes, &x));
  PetscCall(MatCreateVecs(A, NULL, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(VecDuplicate(b, &points));
  PetscCall(VecSetBlockSize(points, o.bs));
  PetscCall(VecGetArray(points, &v));
  for (PetscInt p = 0; p < nodes * mesh.dim; ++p) v[p] = x[p];
  PetscCall(VecRestoreArray(points, &v));
  PetscCall(MatNullSpaceCreateRigidBody(points, &modes));
  PetscCall(Mix(modes, PETSC_FALSE, &mixed));
  PetscCall(Mix(modes, PETSC_TRUE, &spoilt));
  PetscCall(Solve("coordinates", A, b, mesh.dim, nodes, x));
  PetscCall(Solve("couplings", A, b, 0, 0, NULL));
  PetscCall(MatSetNearNullSpace(A, modes));
  PetscCall(Solve("modes", A, b, 0, 0, NULL));
  PetscCall(MatSetNearNullSpace(A, mixed));
  PetscCall(Solve("mixed modes", A, b, 0, 0, NULL));
  PetscCall(MatSetNearNullSpace(A, spoilt));
  PetscCall(Solve("no modes", A, b, 0, 0, NULL));
  PetscCall(MatNullSpaceDestroy(&modes));
  PetscCall(MatNullSpaceDestroy(&mixed));
  PetscCall(MatNullSpaceDestroy(&spoilt));
  PetscCall(VecDestroy(&points));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(x));
  PetscCall(MeshDestroy(&mesh));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: cube
    nsize: {{1 3}}
    args: -mesh cube -n 12

  test:
    suffix: disk
    nsize: {{1 3}}
    args: -mesh disk -n 24

  test:
    suffix: comb
    args: -mesh comb -n 60
    filter: sed -e "s/ 11[67] iterations/ 116 or 117 iterations/"

TEST*/
