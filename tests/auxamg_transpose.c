static char help[] = "PCApplyTranspose() of PC auxamg is the transpose of PCApply(): <y, M x> = <M' y, x> to rounding.\n\n";

#include "auxamg_problem.h"

static char message[256] = ""; /* of an error that is expected */

static PetscErrorCode Catch(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode n, PetscErrorType p, const char *text, void *ctx)
{
  (void)comm, (void)line, (void)function, (void)file, (void)p, (void)ctx;
  if (!message[0]) (void)PetscStrncpy(message, text, sizeof(message));
  return n;
}

/* A skew-symmetric matrix is added, and some entries left of the diagonal are dropped with their place in the pattern. */
static PetscErrorCode Disturb(Mat *A, PetscReal skew, PetscReal dropped)
{
  Mat                B;
  PetscInt           first, last, m, n, bs, entries;
  const PetscInt    *columns;
  const PetscScalar *values;

  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(*A, &m, &n));
  PetscCall(MatGetBlockSize(*A, &bs));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &B));
  PetscCall(MatSetSizes(B, m, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(B, bs));
  PetscCall(MatSetFromOptions(B));
  PetscCall(MatSeqAIJSetPreallocation(B, 40 * bs, NULL));
  PetscCall(MatMPIAIJSetPreallocation(B, 40 * bs, NULL, 40 * bs, NULL));
  for (PetscInt r = first; r < last; ++r) {
    PetscCall(MatGetRow(*A, r, &entries, &columns, &values));
    for (PetscInt e = 0; e < entries; ++e) {
      const PetscInt  c = columns[e];
      const PetscReal lot = c < r ? Random(r, c + 3) : -Random(c, r + 3);
      if (c < r && lot > 1 - 2 * dropped) continue;
      PetscCall(MatSetValue(B, r, c, values[e] * (c == r ? 1 : 1 + skew * lot), INSERT_VALUES));
    }
    PetscCall(MatRestoreRow(*A, r, &entries, &columns, &values));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDestroy(A));
  *A = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillRandom(Vec x, PetscInt seed)
{
  PetscInt     first, last;
  PetscScalar *v;

  PetscFunctionBeginUser;
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  PetscCall(VecGetArray(x, &v));
  for (PetscInt p = first; p < last; ++p) v[p - first] = Random(p, seed);
  PetscCall(VecRestoreArray(x, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The error of what has no transpose, the same on all processes */
static PetscErrorCode CheckRefused(PC pc, Mat A)
{
  Vec            x, y;
  PetscErrorCode ierr;
  int            code[2];

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(PCApply(pc, x, y));
  PetscCall(PetscPushErrorHandler(Catch, NULL));
  ierr = PCApplyTranspose(pc, x, y);
  PetscCall(PetscPopErrorHandler());
  code[0] = (int)ierr;
  code[1] = -(int)ierr;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, code, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", code[0] == PETSC_ERR_SUP && code[1] == -PETSC_ERR_SUP ? "refused" : "not refused", message));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(PC pc, Mat A, PetscReal tolerance, const char *text)
{
  Vec         x, y, Mx, My;
  PetscScalar yMx, xMy;
  PetscReal   worst = 0, ny, nMx;

  PetscFunctionBeginUser;
  PetscCall(PCSetUp(pc));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &My));
  PetscCall(VecDuplicate(y, &Mx));
  for (PetscInt k = 0; k < 3; ++k) {
    PetscCall(FillRandom(x, 31 + k));
    PetscCall(FillRandom(y, 57 + k));
    PetscCall(PCApply(pc, x, Mx));
    PetscCall(PCApplyTranspose(pc, y, My));
    PetscCall(VecDot(Mx, y, &yMx));
    PetscCall(VecDot(My, x, &xMy));
    PetscCall(VecNorm(y, NORM_2, &ny));
    PetscCall(VecNorm(Mx, NORM_2, &nMx));
    if (!(PetscAbsScalar(yMx - xMy) <= worst * ny * nMx)) worst = PetscAbsScalar(yMx - xMy) / (ny * nMx); /* NaN too */
  }
  if (worst <= tolerance) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: yes\n", text));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: no, they differ by %g\n", text, (double)worst));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&Mx));
  PetscCall(VecDestroy(&My));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A' x = b */
static PetscErrorCode SolveTranspose(Mat A, PetscInt dim, PetscInt nodes, PetscReal *coordinates, const char *type)
{
  KSP       ksp;
  PC        pc;
  Vec       x, b, r;
  PetscReal norm, residual;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(FillRandom(b, 5));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 60));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, "auxamg"));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PCSetCoordinates(pc, dim, nodes, coordinates));
  PetscCall(KSPSolveTranspose(ksp, b, x));
  PetscCall(MatMultTranspose(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  if (residual < 1e-6 * norm) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "KSPSolveTranspose() by %s: yes\n", type));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "KSPSolveTranspose() by %s: no, residual %g\n", type, (double)(residual / norm)));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mesh           mesh;
  ProblemOptions o = {1, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 1, 0, 0, 0, 0, 0, 0, 0};
  MeshType       type = MESH_SQUARE;
  PetscInt       n = 30, nodes = 0;
  PetscReal     *coordinates = NULL, skew = 0, dropped = 0, tolerance = 1e-13;
  PetscBool      symmetric = PETSC_FALSE, solve = PETSC_TRUE, refused = PETSC_FALSE;
  Mat            A;
  PC             pc;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-mesh", MeshTypes, (PetscEnum *)&type, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bs", &o.bs, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-neumann", &o.neumann, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-one_sided", &o.eliminate, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-shuffle", &o.shuffle, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-jump", &o.jump, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-shift", &o.shift, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-skew", &skew, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-dropped", &dropped, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tolerance", &tolerance, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-symmetric", &symmetric, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-refused", &refused, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-solve", &solve, NULL));
  PetscCall(MeshMake(type, n, &mesh));
  PetscCall(ProblemMake(PETSC_COMM_WORLD, &mesh, &o, &A, &nodes, &coordinates));
  PetscCall(Disturb(&A, skew, dropped));
  if (symmetric) PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, "auxamg"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetCoordinates(pc, mesh.dim, nodes, coordinates));
  if (refused) PetscCall(CheckRefused(pc, A));
  else {
    PetscCall(Check(pc, A, tolerance, "transpose"));
    PetscCall(MatShift(A, 0.02)); /* the same pattern */
    PetscCall(Check(pc, A, tolerance, "of other values"));
  }
  if (solve && !refused) {
    PetscCall(SolveTranspose(A, mesh.dim, nodes, coordinates, KSPBICG));
    PetscCall(SolveTranspose(A, mesh.dim, nodes, coordinates, KSPGMRES));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(coordinates));
  PetscCall(MeshDestroy(&mesh));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 4}}
    output_file: output/auxamg_transpose.out
    test:
      suffix: symmetric
      nsize: 1
      args: -mesh disk -symmetric {{0 1}}
    test:
      suffix: divided
      nsize: 3
      args: -n 90 -skew 0.3 -dropped 0.1 -pc_auxamg_coarse_size 40 -pc_auxamg_smoother_degree 3
    test:
      suffix: skew
      args: -n 40 -shuffle -skew 0.3 -dropped 0.1 -pc_auxamg_cycle w
    test:
      suffix: amli
      args: -mesh comb -n 50 -skew 0.1 -dropped 0.1 -pc_auxamg_cycle amli
    test:
      suffix: blocks
      args: -mesh cube -n 8 -bs 3 -one_sided -skew 0.2 -dropped 0.05 -shuffle
    test:
      suffix: jump
      nsize: 2
      args: -jump 1e4 -skew 0.2 -n 50 -pc_auxamg_filter on
    test:
      suffix: gs
      args: -mesh disk -n 16 -bs 2 -skew 0.3 -pc_auxamg_smoother gs -pc_auxamg_smoother_degree 2
    test:
      suffix: paper
      args: -mesh disk -n 24 -bs 2 -skew 0.3 -pc_auxamg_variant aggregation -pc_auxamg_cycle v -shuffle
    test:
      suffix: one_grid
      nsize: 2
      args: -n 10 -one_sided -skew 0.3 -pc_auxamg_levels 1
    test:
      suffix: two_grids
      nsize: 1
      args: -n 14 -skew 0.3 -pc_auxamg_levels 2 -pc_auxamg_cycle k

  test:
    suffix: single
    nsize: {{1 3}}
    args: -mesh graded -n 60 -skew 0.2 -one_sided -pc_auxamg_precision single -tolerance 1e-6 -solve 0

  test:
    suffix: kcycle
    nsize: 2
    args: -pc_auxamg_cycle k -refused

TEST*/
