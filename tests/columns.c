static char help[] = "Several vectors at a time, PCMatApply() and KSPMatSolve(), against one after the other.\n\
-grid nx,ny: a DMDA's random operator (-nine, -periodic, -one_sided); else a mesh of tests/auxamg_problem.h (-mesh, -n, -bs, -elastic, -one_sided, -jump, -cells, -leak).\n\
-columns k: of these, of magnitudes over -decades 60; -lda d: rows between the columns' ends and the next ones; -limit e: of the differences; -repeat n: times instead.\n\n";

#include "auxamg_problem.h"
#include "compat.h"
#include "rrb_problem.h"
#include <petsctime.h>

typedef struct {
  DM  da;
  Mat A;
  PC  pc;
  KSP ksp;
} Case;

static PetscErrorCode CaseCreate(Case *c)
{
  Mesh           mesh;
  MeshType       type = MESH_SQUARE;
  ProblemOptions o = {1, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 1, 0, 0, 0, 0, 0, 0, 0};
  Model          m = {0, 0, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0.01, 0, 0, 1};
  PetscInt       n = 20, nodes, two = 2, size[2] = {0, 0};
  PetscReal     *coordinates;
  PetscBool      grid, one_sided = PETSC_FALSE;

  PetscFunctionBeginUser;
  c->da = NULL;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-grid", size, &two, &grid));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-one_sided", &one_sided, NULL));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &c->ksp));
  PetscCall(KSPGetPC(c->ksp, &c->pc));
  if (grid) {
    m.nx             = size[0];
    m.ny             = size[1];
    m.dirichlet_rows = one_sided ? 1 : 0;
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-nine", &m.nine, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-periodic", &m.periodic_x, NULL));
    PetscCall(ModelCreate(PETSC_COMM_WORLD, &m, PETSC_FALSE, &c->da, &c->A));
    PetscCall(KSPSetDM(c->ksp, c->da));
    PetscCall(SetDMActive(c->ksp, PETSC_FALSE));
    PetscCall(PCSetType(c->pc, "rrb"));
  } else {
    o.eliminate = one_sided;
    PetscCall(PetscOptionsGetEnum(NULL, NULL, "-mesh", MeshTypes, (PetscEnum *)&type, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-bs", &o.bs, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-elastic", &o.elastic, NULL));
    PetscCall(PetscOptionsGetReal(NULL, NULL, "-jump", &o.jump, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-cells", &o.cells, NULL));
    PetscCall(PetscOptionsGetReal(NULL, NULL, "-leak", &o.leak, NULL));
    PetscCall(MeshMake(type, n, &mesh));
    PetscCall(ProblemMake(PETSC_COMM_WORLD, &mesh, &o, &c->A, &nodes, &coordinates));
    PetscCall(PCSetType(c->pc, "auxamg"));
    PetscCall(PCSetCoordinates(c->pc, mesh.dim, nodes, coordinates));
    PetscCall(PetscFree(coordinates));
    PetscCall(MeshDestroy(&mesh));
  }
  PetscCall(KSPSetOperators(c->ksp, c->A, c->A));
  PetscCall(KSPSetFromOptions(c->ksp));
  PetscCall(KSPSetUp(c->ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Random columns of magnitudes over -decades (60), d rows more in memory than they have; -mat_dense_type is that of the matrix' vectors. */
static PetscErrorCode Block(Mat A, PetscInt k, PetscInt d, PetscBool fill, Mat *X)
{
  PetscInt     m, M, first;
  PetscReal    decades = 60;
  PetscScalar *v;
  PetscBool    there;
  VecType      type;

  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatGetSize(A, &M, NULL));
  PetscCall(MatGetOwnershipRange(A, &first, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-decades", &decades, NULL));
  PetscCall(MatGetVecType(A, &type));
  PetscCall(PetscStrbeginswith(type, "cuda", &there));
  if (!there) PetscCall(PetscStrbeginswith(type, "seqcuda", &there));
  PetscCall(MatCreate(PETSC_COMM_WORLD, X));
  PetscCall(MatSetSizes(*X, m, PETSC_DECIDE, M, k));
  PetscCall(MatSetType(*X, there ? "densecuda" : MATDENSE));
  PetscCall(MatDenseSetLDA(*X, m + d));
  PetscCall(MatSetUp(*X));
  PetscCall(MatDenseGetArrayWrite(*X, &v));
  for (PetscInt c = 0; c < k; ++c)
    for (PetscInt p = 0; p < m; ++p) v[c * (m + d) + p] = fill ? PetscPowReal(10, decades * (Hash(c, 1, 2) - 0.5)) * (Hash(first + p, c, 3) - 0.5) : 0;
  PetscCall(MatDenseRestoreArrayWrite(*X, &v));
  PetscCall(MatAssemblyBegin(*X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*X, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest difference of the columns of X and Y, as Difference() measures it; column `leave` of X holds no number. */
static PetscErrorCode Differences(Mat X, Mat Y, PetscInt leave, PetscReal *worst)
{
  Vec       x, y;
  PetscInt  k;
  PetscReal one;

  PetscFunctionBeginUser;
  *worst = 0;
  PetscCall(MatGetSize(X, NULL, &k));
  for (PetscInt c = 0; c < k; ++c) {
    PetscCall(MatDenseGetColumnVecRead(X, c, &x));
    PetscCall(MatDenseGetColumnVecRead(Y, c, &y));
    PetscCall(Difference(x, y, &one));
    if (c == leave) one = one == PETSC_INFINITY ? 0 : PETSC_INFINITY;
    *worst = PetscMax(*worst, one);
    PetscCall(MatDenseRestoreColumnVecRead(Y, c, &y));
    PetscCall(MatDenseRestoreColumnVecRead(X, c, &x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One after the other: applications, or solves with ksp */
static PetscErrorCode EachColumn(const Case *c, PetscBool solve, Mat X, Mat Y)
{
  Vec      x, y;
  PetscInt k;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(X, NULL, &k));
  for (PetscInt i = 0; i < k; ++i) {
    PetscCall(MatDenseGetColumnVecRead(X, i, &x));
    PetscCall(MatDenseGetColumnVecWrite(Y, i, &y));
    if (solve) PetscCall(KSPSolve(c->ksp, x, y));
    else PetscCall(PCApply(c->pc, x, y));
    PetscCall(MatDenseRestoreColumnVecWrite(Y, i, &y));
    PetscCall(MatDenseRestoreColumnVecRead(X, i, &x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How often PCApply() has been called; a preconditioner without several vectors of its own has it called for each */
static PetscErrorCode Applications(int *count)
{
  PetscEventPerfInfo info;
  PetscLogEvent      event;

  PetscFunctionBeginUser;
  PetscCall(PetscLogEventGetId("PCApply", &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *count = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const Case *c, PetscInt k, PetscInt d, PetscReal limit)
{
  Mat         X, Y, Z;
  PetscInt    first, last, m;
  PetscReal   worst;
  PetscScalar *v;
  char        text[64];
  int         before, after;

  PetscFunctionBeginUser;
  PetscCall(Block(c->A, k, d, PETSC_TRUE, &X));
  PetscCall(Block(c->A, k, d, PETSC_FALSE, &Y));
  PetscCall(Block(c->A, k, 0, PETSC_FALSE, &Z));
  PetscCall(PetscSNPrintf(text, sizeof(text), "%d columns applied", (int)k));
  PetscCall(EachColumn(c, PETSC_FALSE, X, Y));
  PetscCall(Applications(&before));
  PetscCall(PCMatApply(c->pc, X, Z));
  PetscCall(Applications(&after));
  if (after > before) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d columns applied one after the other\n", (int)k));
  PetscCall(Differences(Z, Y, -1, &worst));
  PetscCall(Check(text, worst, limit));
  PetscCall(PetscSNPrintf(text, sizeof(text), "%d columns solved", (int)k));
  PetscCall(EachColumn(c, PETSC_TRUE, X, Y));
  PetscCall(KSPMatSolve(c->ksp, X, Z));
  PetscCall(Differences(Z, Y, -1, &worst));
  PetscCall(Check(text, worst, 100 * limit));
  /* no number in column k / 2 alone */
  PetscCall(PetscSNPrintf(text, sizeof(text), "%d columns, one without numbers", (int)k));
  PetscCall(PCMatApply(c->pc, X, Y));
  PetscCall(MatGetOwnershipRange(c->A, &first, &last));
  PetscCall(MatGetSize(c->A, &m, NULL));
  PetscCall(MatDenseGetArray(X, &v));
  if (m / 2 >= first && m / 2 < last) v[k / 2 * (last - first + d) + m / 2 - first] = NAN;
  PetscCall(MatDenseRestoreArray(X, &v));
  PetscCall(PCMatApply(c->pc, X, Z));
  PetscCall(Differences(Z, Y, k / 2, &worst));
  PetscCall(Check(text, worst, 0));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscCall(MatDestroy(&Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Seconds(const Case *c, PetscBool together, PetscBool solve, Mat X, Mat Y, double *best)
{
  PetscLogDouble start, end;
  PetscScalar    sum;
  Vec            y;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&start));
  if (!together) PetscCall(EachColumn(c, solve, X, Y));
  else if (solve) PetscCall(KSPMatSolve(c->ksp, X, Y));
  else PetscCall(PCMatApply(c->pc, X, Y));
  PetscCall(MatDenseGetColumnVecRead(Y, 0, &y)); /* a device has finished */
  PetscCall(VecSum(y, &sum));
  PetscCall(MatDenseRestoreColumnVecRead(Y, 0, &y));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&end));
  *best = PetscMin(*best, end - start);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Times(const Case *c, PetscInt k, PetscInt repeat)
{
  Mat       X, Y;
  PetscInt  M;
  PetscBool solve = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-solve", &solve, NULL));
  PetscCall(Block(c->A, k, 0, PETSC_TRUE, &X));
  PetscCall(Block(c->A, k, 0, PETSC_FALSE, &Y));
  double one = 1e30, all = 1e30;
  for (PetscInt i = 0; i < repeat; ++i) {
    PetscCall(Seconds(c, PETSC_FALSE, solve, X, Y, &one));
    PetscCall(Seconds(c, PETSC_TRUE, solve, X, Y, &all));
  }
  PetscCall(MatGetSize(c->A, &M, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d unknowns, %d columns: %.3f ms one after the other, %.3f ms together, ratio %.2f\n", (int)M, (int)k, one * 1e3, all * 1e3, all / one));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Case      c;
  PetscInt  columns[10] = {1, 3, 5, 8, 17}, kinds = 10, d = 0, repeat = 0;
  PetscReal limit = 1e-13, parts = 0;
  PetscBool given, of_parts;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-columns", columns, &kinds, &given));
  if (!given) kinds = 5;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-lda", &d, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-limit", &limit, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-parts", &parts, &of_parts));
  if (!repeat) PetscCall(PetscLogDefaultBegin());
  PetscCall(CaseCreate(&c));
  for (PetscInt i = 0; i < kinds; ++i)
    if (repeat) PetscCall(Times(&c, columns[i], repeat));
    else PetscCall(Test(&c, columns[i], d, limit));
  if (of_parts) {
    PCAuxAMGChoice choice;
    PetscCall(PCAuxAMGGetChoice(c.pc, &choice));
    if (choice.parts != parts)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "The smoother has functions of %g parts, of %g expected\n",
                            (double)choice.parts, (double)parts));
  }
  PetscCall(KSPDestroy(&c.ksp));
  PetscCall(MatDestroy(&c.A));
  PetscCall(DMDestroy(&c.da));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 2 3 4}}
    args: -ksp_type preonly -lda {{0 3}}
    output_file: output/columns.out
    test:
      suffix: triangles
    test:
      suffix: single
      args: -one_sided -pc_auxamg_precision single -limit 1e-6
    test:
      suffix: jump
      args: -jump 1000
    test: # parts between barriers, which several processes share
      suffix: parts
      args: -n 40 -cells 3 -jump 1e-4 -leak 0.02 -parts 7
    test:
      suffix: parts_single
      args: -n 40 -cells 3 -jump 1e-4 -leak 0.02 -parts 7 -pc_auxamg_precision single -limit 1e-4
    test: # on coarse grids, too
      suffix: parts_coarse
      args: -mesh comb -n 60 -jump 1e4 -parts 34 -limit 1e-9 -ksp_view
      filter: grep -E "columns|expected|on coarse" | uniq
      output_file: output/columns_parts_coarse.out
    test:
      suffix: parts_cube
      args: -mesh cube -n 12 -cells 2 -jump 1e-4 -leak 0.02 -parts 8
    test:
      suffix: intervals
      args: -mesh line -n {{2 300}}

  testset:
    nsize: {{1 3}}
    args: -ksp_type preonly -mesh disk -n 12
    output_file: output/columns.out
    test:
      suffix: blocks
      args: -bs {{2 3 6}}
    test:
      suffix: elastic
      args: -bs 2 -elastic -one_sided
    test:
      suffix: smoother
      args: -pc_auxamg_smoother {{jacobi gs}} -pc_auxamg_smoother_degree {{1 4}}
    test:
      suffix: cycle
      args: -pc_auxamg_cycle {{w k}}
    test: # grids that an AMLI-cycle solves twice
      suffix: amli
      args: -mesh comb -n 60 -bs {{1 2}} -pc_auxamg_cycle amli
    test:
      suffix: paper
      args: -pc_auxamg_variant aggregation -pc_auxamg_cycle {{v k}}

  testset:
    nsize: {{1 2 3 4}}
    args: -ksp_type preonly -lda {{0 3}} -pc_rrb_precision double
    output_file: output/columns.out
    test:
      suffix: grid
      args: -grid 63,37
    test:
      suffix: grid_nine
      args: -grid 40,61 -nine
    test:
      suffix: grid_one_sided
      args: -grid 30,40 -one_sided

  testset:
    nsize: {{1 3}}
    args: -ksp_type preonly
    output_file: output/columns.out
    test:
      suffix: grid_single
      args: -grid 47,60 -nine {{0 1}} -pc_rrb_precision single -limit 1e-6 -decades 8
    test:
      suffix: grid_periodic
      args: -grid 40,33 -periodic -nine {{0 1}} -pc_rrb_precision double
    test:
      suffix: grid_sweeps
      args: -grid 33,40 -pc_rrb_smoother {{point line_i line_alt}} -pc_rrb_sweeps 2 -pc_rrb_precision double
    test:
      suffix: grid_cycle
      args: -grid 60,40 -pc_rrb_cycle {{v amli k}} -pc_rrb_precision double
    test:
      suffix: grid_lump
      args: -grid 60,40 -pc_rrb_coarsening lump
    test:
      suffix: grid_tiny
      args: -grid 3,2

TEST*/
