static char help[] = "SNES vipmg: elastic bodies on a rigid obstacle (Signorini), beside vinewtonrsls.\n\n"
                     "  -n size -nu Poisson's ratio -jump j -surface ball|flat|waves -push d -normals -most cycles -compare -quiet\n\n";
/*
  A cube of tetrahedra, held at its upper side, is pushed down by -push onto an obstacle below it: displacements at the
  lower side are at least the obstacle along the third axis, or with -normals along the obstacle's normal at each node.
    ball   a paraboloid below the middle
    flat   a plane, which all nodes touch
    waves  two waves in each direction
  Young's modulus is 1, and -jump in every other of 4 x 4 x 4 blocks.
*/
#include "auxamg_problem.h"
#include "tessera.h"
#include <petscsnes.h>

typedef enum {
  BALL,
  FLAT,
  WAVES
} Surface;
static const char *const surfaces[] = {"ball", "flat", "waves", "Surface", "", NULL};
typedef struct {
  Mesh      mesh;
  Surface   surface;
  PetscReal nu, jump, push;
  PetscBool normals;
  Mat       A;
  Vec       lower, upper, normal;
} Body;

/* The obstacle's height and its slope below a point */
static PetscReal Height(const Body *b, const PetscReal *x, PetscReal *slope)
{
  const PetscReal k = 4 * PETSC_PI, u = x[0] - 0.5, v = x[1] - 0.5;
  slope[0] = slope[1] = 0;
  if (b->surface == FLAT) return 0;
  if (b->surface == BALL) {
    slope[0] = -u;
    slope[1] = -v;
    return -0.5 * (u * u + v * v);
  }
  slope[0] = -0.01 * k * PetscSinReal(k * u) * PetscCosReal(k * v);
  slope[1] = -0.01 * k * PetscCosReal(k * u) * PetscSinReal(k * v);
  return 0.01 * PetscCosReal(k * u) * PetscCosReal(k * v) - 0.01;
}

static PetscErrorCode Stiffness(Body *b, PetscInt first, PetscInt last)
{
  const Mesh     *m = &b->mesh;
  const PetscReal lambda = b->nu / ((1 + b->nu) * (1 - 2 * b->nu)), mu = 0.5 / (1 + b->nu);
  PetscReal       g[4][3];

  PetscFunctionBeginUser;
  for (PetscInt t = 0; t < m->elements; ++t) {
    const PetscInt *e      = m->e + 4 * t;
    const PetscReal volume = Gradients(m, t, g);
    PetscInt        block  = 0;
    for (PetscInt q = 0; q < 3; ++q) {
      PetscReal middle = 0;
      for (PetscInt a = 0; a < 4; ++a) middle += m->x[3 * e[a] + q];
      block += (PetscInt)PetscFloorReal(middle); /* four times the coordinate */
    }
    const PetscReal c = volume * (block % 2 ? b->jump : 1);
    for (PetscInt p = 0; p < 16; ++p) {
      const PetscInt r = p / 4, s = p % 4;
      PetscScalar    v[9] = {0};
      PetscReal      dot  = 0;
      if (e[r] < first || e[r] >= last) continue;
      for (PetscInt q = 0; q < 3; ++q) dot += g[r][q] * g[s][q];
      for (PetscInt k = 0; k < 3; ++k)
        for (PetscInt l = 0; l < 3; ++l) v[3 * k + l] = c * (lambda * g[r][k] * g[s][l] + mu * g[r][l] * g[s][k] + (k == l ? mu * dot : 0));
      if (m->border[e[r]] || m->border[e[s]]) {
        if (r != s) continue;
        for (PetscInt k = 0; k < 9; ++k) v[k] = k % 4 == 0;
      }
      PetscCall(MatSetValuesBlocked(b->A, 1, &e[r], 1, &e[s], v, ADD_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(b->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(b->A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BodyCreate(Body *b, PetscInt n, PetscInt *nodes)
{
  PetscInt     first, last;
  PetscScalar *lower, *normal;
  PetscMPIInt  size, rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MeshMake(MESH_CUBE, n, &b->mesh));
  for (PetscInt p = 0; p < b->mesh.n; ++p) b->mesh.border[p] = b->mesh.x[3 * p + 2] == 1 ? PETSC_TRUE : PETSC_FALSE;
  *nodes = b->mesh.n / size + (rank < b->mesh.n % size ? 1 : 0);
  PetscCall(MatCreate(PETSC_COMM_WORLD, &b->A));
  PetscCall(MatSetSizes(b->A, 3 * *nodes, 3 * *nodes, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(b->A, 3));
  PetscCall(MatSetFromOptions(b->A));
  PetscCall(MatSeqAIJSetPreallocation(b->A, 90, NULL));
  PetscCall(MatMPIAIJSetPreallocation(b->A, 90, NULL, 90, NULL));
  PetscCall(MatGetOwnershipRange(b->A, &first, NULL));
  first /= 3;
  last = first + *nodes;
  PetscCall(Stiffness(b, first, last));
  PetscCall(MatCreateVecs(b->A, &b->lower, &b->upper));
  PetscCall(VecDuplicate(b->lower, &b->normal));
  PetscCall(VecSet(b->lower, PETSC_NINFINITY));
  PetscCall(VecSet(b->upper, PETSC_INFINITY));
  PetscCall(VecSet(b->normal, 0));
  PetscCall(VecGetArray(b->lower, &lower));
  PetscCall(VecGetArray(b->normal, &normal));
  for (PetscInt p = 0; p < *nodes; ++p) {
    const PetscReal *x = b->mesh.x + 3 * (first + p);
    PetscReal        slope[2], height, length;
    if (x[2] != 0) continue;
    height = b->push + Height(b, x, slope);
    length = PetscSqrtReal(1 + slope[0] * slope[0] + slope[1] * slope[1]);
    normal[3 * p]     = -slope[0] / length;
    normal[3 * p + 1] = -slope[1] / length;
    normal[3 * p + 2] = 1 / length;
    if (b->normals) lower[3 * p] = height / length;
    else lower[3 * p + 2] = height;
  }
  PetscCall(VecRestoreArray(b->lower, &lower));
  PetscCall(VecRestoreArray(b->normal, &normal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reflections that take the first axis of each node onto its normal */
static PetscErrorCode Reflections(const Body *b, PetscInt nodes, Mat *Q)
{
  const PetscScalar *normal;
  PetscInt           first;

  PetscFunctionBeginUser;
  PetscCall(MatDuplicate(b->A, MAT_DO_NOT_COPY_VALUES, Q));
  PetscCall(MatGetOwnershipRange(b->A, &first, NULL));
  PetscCall(VecGetArrayRead(b->normal, &normal));
  for (PetscInt p = 0; p < nodes; ++p) {
    const PetscInt row = first / 3 + p;
    PetscScalar    v[3], q[9], square = 0;
    for (PetscInt k = 0; k < 3; ++k) v[k] = (k ? 0 : 1) - normal[3 * p + k];
    for (PetscInt k = 0; k < 3; ++k) square += v[k] * v[k];
    if (normal[3 * p] == 0 && normal[3 * p + 1] == 0 && normal[3 * p + 2] == 0) v[0] = 0; /* none */
    for (PetscInt k = 0; k < 9; ++k) q[k] = (k % 4 == 0) - 2 * v[k / 3] * v[k % 3] / square;
    PetscCall(MatSetValuesBlocked(*Q, 1, &row, 1, &row, q, INSERT_VALUES));
  }
  PetscCall(VecRestoreArrayRead(b->normal, &normal));
  PetscCall(MatAssemblyBegin(*Q, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*Q, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Function(SNES snes, Vec x, Vec f, void *A)
{
  PetscFunctionBeginUser;
  (void)snes;
  PetscCall(MatMult((Mat)A, x, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode Jacobian(SNES snes, Vec x, Mat J, Mat P, void *A)
{
  PetscFunctionBeginUser;
  (void)snes;
  (void)x;
  (void)J;
  (void)P;
  (void)A;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const Body *b, PetscBool reference, PetscInt nodes, Mat A, Vec x, PetscInt *iterations, PetscInt *cycles, SNESConvergedReason *reason)
{
  SNES snes;
  KSP  ksp;
  PC   pc;
  Vec  f;
  PetscInt first;
  double start = MPI_Wtime();

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &first, NULL));
  PetscCall(VecDuplicate(x, &f));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetOptionsPrefix(snes, reference ? "ref_" : NULL));
  PetscCall(SNESSetFunction(snes, f, Function, A));
  PetscCall(SNESSetJacobian(snes, A, A, Jacobian, A));
  PetscCall(SNESSetType(snes, reference ? SNESVINEWTONRSLS : "vipmg"));
  PetscCall(SNESVISetVariableBounds(snes, b->lower, b->upper));
  if (b->normals && !reference) PetscCall(PetscObjectCompose((PetscObject)snes, "SNESVIPMGNormals", (PetscObject)b->normal));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  if (!reference) PetscCall(PCSetCoordinates(pc, 3, nodes, b->mesh.x + first));
  PetscCall(VecSet(x, 0));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(SNESGetIterationNumber(snes, iterations));
  PetscCall(SNESGetLinearSolveIterations(snes, cycles));
  PetscCall(SNESGetConvergedReason(snes, reason));
  PetscCall(PetscInfo(snes, "%g seconds\n", MPI_Wtime() - start));
  PetscCall(VecDestroy(&f));
  PetscCall(SNESDestroy(&snes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x against the answer of vinewtonrsls, in the unknowns along the normals where there are some */
static PetscErrorCode Compare(const Body *b, PetscInt nodes, Vec x)
{
  Mat                 Q = NULL, A = b->A;
  Vec                 y, z;
  PetscInt            n, its, linear, others = 0;
  PetscReal           difference, norm;
  const PetscScalar  *v, *w, *lower;
  SNESConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(VecCopy(x, z));
  if (b->normals) {
    PetscCall(Reflections(b, nodes, &Q));
    PetscCall(MatPtAP(b->A, Q, MAT_INITIAL_MATRIX, 2, &A));
    PetscCall(MatMult(Q, x, z));
  }
  PetscCall(Solve(b, PETSC_TRUE, nodes, A, y, &its, &linear, &reason));
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayRead(z, &v));
  PetscCall(VecGetArrayRead(y, &w));
  PetscCall(VecGetArrayRead(b->lower, &lower));
  for (PetscInt k = 0; k < n; ++k) others += (v[k] <= lower[k] + 1e-12) != (w[k] <= lower[k] + 1e-12);
  PetscCall(VecRestoreArrayRead(z, &v));
  PetscCall(VecRestoreArrayRead(y, &w));
  PetscCall(VecRestoreArrayRead(b->lower, &lower));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &others, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(VecNorm(y, NORM_2, &norm));
  PetscCall(VecAXPY(y, -1, z));
  PetscCall(VecNorm(y, NORM_2, &difference));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "reference %s; answer: %s, active set: %s\n", reason > 0 ? "converged" : "diverged", difference <= 1e-9 * norm ? "yes" : "no", others ? "no" : "yes"));
  if (difference > 1e-9 * norm || others) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  they differ by %g of %g, at %d unknowns in the active set\n", (double)difference, (double)norm, (int)others));
  if (Q) PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&Q));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Body                b = {.surface = BALL, .nu = 0.3, .jump = 1, .push = 0.05, .normals = PETSC_FALSE};
  PetscInt            n = 8, nodes = 0, its, cycles, most = 0;
  PetscBool           compare = PETSC_FALSE, quiet = PETSC_FALSE;
  Vec                 x;
  SNESConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-surface", surfaces, (PetscEnum *)&b.surface, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-nu", &b.nu, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-jump", &b.jump, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-push", &b.push, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-normals", &b.normals, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-compare", &compare, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-quiet", &quiet, NULL));
  PetscCall(BodyCreate(&b, n, &nodes));
  PetscCall(VecDuplicate(b.lower, &x));
  PetscCall(Solve(&b, PETSC_FALSE, nodes, b.A, x, &its, &cycles, &reason));
  if (quiet) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, cycles: %s\n", reason > 0 ? "converged" : "diverged", cycles <= most ? "yes" : "no"));
  if (!quiet || cycles > most) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d unknowns: %s, %d iterations, %d cycles\n", (int)(3 * b.mesh.n), SNESConvergedReasons[reason], (int)its, (int)cycles));
  if (compare) PetscCall(Compare(&b, nodes, x));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b.lower));
  PetscCall(VecDestroy(&b.upper));
  PetscCall(VecDestroy(&b.normal));
  PetscCall(MatDestroy(&b.A));
  PetscCall(MeshDestroy(&b.mesh));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset: # the active set and the answer of vinewtonrsls, with the same cycles on any number of processes
    nsize: {{1 2 3 4}}
    args: -quiet -snes_rtol 1e-11 -compare -ref_snes_rtol 1e-12 -ref_snes_max_it 100 -ref_pc_type redundant
    output_file: output/vipmg_mesh.out
    test:
      suffix: ball
      args: -n 7 -most 8
    test: # blocks of strong couplings at nodes with normals
      suffix: normals
      args: -n 8 -surface waves -nu 0.45 -normals -jump 1e3 -most 9
    test:
      suffix: flat
      args: -n 8 -surface flat -nu 0.45 -normals -jump 1e-3 -most 8

  testset: # larger ones
    args: -quiet -snes_rtol 1e-8
    output_file: output/vipmg_mesh_large.out
    test:
      suffix: large
      args: -n 24 -nu 0.45 -most 8
    test:
      suffix: large_normals
      args: -n 24 -nu 0.45 -normals -jump 1e3 -most 10
    test: # functions whose nodes are all cut out along one axis
      suffix: large_waves
      args: -n 24 -surface waves -nu 0.45 -normals -most 8

TEST*/
