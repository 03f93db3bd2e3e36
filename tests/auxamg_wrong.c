static char help[] = "Input that PC auxamg must refuse with a message, and unusual input that it must solve.\n\n";

#include <petscksp.h>
#include <stdlib.h>
#include <string.h>

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif

static char message[512] = ""; /* of the last error, the innermost text */

static PetscErrorCode Catch(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode n, PetscErrorType p, const char *text, void *ctx)
{
  (void)comm, (void)line, (void)function, (void)file, (void)p, (void)ctx;
  if (text && *text && !message[0]) snprintf(message, sizeof(message), "%s", text);
  return n;
}

/* 5-point Laplacian on nx x ny nodes by rows of nodes, changed as the case wants */
static PetscErrorCode Build(const char *name, PetscInt nx, PetscInt ny, PetscInt bs, Mat *A, Vec *x, Vec *b)
{
  PetscInt    N = nx * ny, first, last, local = PETSC_DECIDE;
  PetscMPIInt rank, size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (!strcmp(name, "norows")) local = rank ? 0 : N * bs; /* but the first process */
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, local, local, N * bs, N * bs + (strcmp(name, "nonsquare") ? 0 : size)));
  if (strcmp(name, "nonsquare")) PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetType(*A, MATAIJ));
  if (!strcmp(name, "dense")) { /* row 7 is coupled with all */
    PetscInt n = PETSC_DECIDE, *own, *other;
    PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &n, &N));
    PetscCall(PetscMalloc2(n, &own, n, &other));
    for (PetscInt p = 0; p < n; ++p) {
      own[p]   = !rank && p == 7 ? n : 5;
      other[p] = !rank && p == 7 ? N - n : 2;
    }
    PetscCall(MatSeqAIJSetPreallocation(*A, 0, own));
    PetscCall(MatMPIAIJSetPreallocation(*A, 0, own, 0, other));
    PetscCall(PetscFree2(own, other));
  }
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt row = first; row < last; ++row) {
    const PetscInt p = row / bs, k = row % bs, i = p % nx, j = p / nx, to[4] = {i ? p - 1 : -1, i < nx - 1 ? p + 1 : -1, j ? p - nx : -1, j < ny - 1 ? p + nx : -1};
    PetscScalar    d = N > 1 ? 4.01 : 1;
    if (!strcmp(name, "zerorow") && p == 7) d = 0;
    if (!strcmp(name, "negative") && p == 7) d = -4;
    if (!strcmp(name, "nanentry") && p == N - 7) d = NAN; /* on the last process */
    if (!strcmp(name, "indefinite")) d = 2;
    if (!strcmp(name, "penalty") && (i == 0 || i == nx - 1)) d = 1e30; /* Dirichlet conditions as many finite element codes give them */
    if (!strcmp(name, "one penalty") && p == 100) d = 1e18;
    if (!strcmp(name, "cut") && i == nx / 2) d = 1; /* Dirichlet rows cut the mesh in two */
    for (PetscInt q = 0; q < N && p == 7 && !strcmp(name, "dense"); ++q) PetscCall(MatSetValue(*A, row, q, -1e-6, INSERT_VALUES));
    PetscCall(MatSetValue(*A, row, row, d, INSERT_VALUES));
    for (PetscInt q = 0; q < 4; ++q) {
      PetscScalar v = -1;
      if (to[q] < 0 || !strcmp(name, "identity")) continue;
      if (!strcmp(name, "positive")) v = (p + to[q]) % 2 ? 1 : -1; /* the other sign of every second row and column */
      if (!strcmp(name, "cut") && (i == nx / 2 || to[q] % nx == nx / 2)) continue;
      if (!strcmp(name, "zerorow") && (p == 7 || to[q] == 7)) continue;
      if (!strcmp(name, "oneway") && p > to[q] && p % 5 == 2) continue; /* rows that do not see those that see them */
      if (!strncmp(name, "oneway ", 7) && p == atoi(name + 7) && to[q] == p + 1) continue; /* one such coupling */
      PetscCall(MatSetValue(*A, row, to[q] * bs + k, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(*A, x, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Try(const char *name, PetscInt nx, PetscInt ny, PetscInt bs, const char *options)
{
  PetscOptions       set;
  Mat                A;
  Vec                x, b;
  KSP                ksp;
  PC                 pc;
  PetscInt           first, last, dim = 2, n, its = 0;
  PetscReal         *points;
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  PetscErrorCode     ierr = PETSC_SUCCESS;
  PetscBool          give = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsCreate(&set));
  PetscCall(PetscOptionsInsertString(set, options));
  PetscCall(Build(name, nx, ny, bs, &A, &x, &b));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  n = (last - first) / bs;
  if (strstr(name, "file")) give = PETSC_FALSE;
  if (!strcmp(name, "plane") || !strcmp(name, "flat")) dim = 3;
  PetscCall(PetscMalloc1(PetscMax(dim * (n + 1), 1), &points));
  for (PetscInt p = 0; p < n; ++p) {
    const PetscInt  k = first / bs + p;
    PetscReal       i = (PetscReal)(k % nx), j = (PetscReal)(k / nx);
    if (!strcmp(name, "equal")) i = j = 3;
    if (!strcmp(name, "foreign")) i = fmod(1e4 * PetscSinReal((PetscReal)k + 1), 1), j = fmod(1e4 * PetscSinReal((PetscReal)k + 0.5), 1); /* of other nodes */
    if (!strcmp(name, "line")) i = j = (PetscReal)(k % nx) + 0.3 * (PetscReal)(k / nx);
    if (!strcmp(name, "duplicates")) i = PetscFloorReal(i / 2);
    if (!strcmp(name, "spread") && k % nx >= nx / 2) i = 1e12 + i, j = 1e12 + j; /* two clusters that are points to each other */
    if (!strcmp(name, "aspect")) j *= 1e-4;
    points[dim * p]     = i;
    points[dim * p + 1] = !strcmp(name, "nan") && k == 11 ? NAN : j;
    if (dim == 3) points[dim * p + 2] = strcmp(name, "flat") ? i - 2 * j : 0.1; /* all equal: not there */
  }
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-6, PETSC_DEFAULT, PETSC_DEFAULT, 100));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, "auxamg"));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecSet(b, 1));
  message[0] = 0;
  PetscCall(PetscPushErrorHandler(Catch, NULL));
  if (!strcmp(name, "nofile")) ierr = PetscOptionsSetValue(NULL, "-pc_auxamg_coordinates", "/nowhere/points");
  if (!strcmp(name, "noh5file")) ierr = PetscOptionsSetValue(NULL, "-pc_auxamg_coordinates", "/nowhere/points.h5:/x");
  if (options && !ierr) ierr = PetscOptionsPush(set);
  if ((options || strstr(name, "file")) && !ierr) ierr = KSPSetFromOptions(ksp);
  if (!strcmp(name, "number") && n) --n;
  if (!strcmp(name, "half the points")) n /= 2;
  if (give && !ierr) ierr = PCSetCoordinates(pc, dim, n, strcmp(name, "null") ? points : NULL);
  if (!ierr) ierr = KSPSolve(ksp, b, x);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscOptionsClearValue(NULL, "-pc_auxamg_coordinates"));
  if (options) PetscCall(PetscOptionsPop());
  if (ierr) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: error: %s\n", name, message));
  else {
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    if (reason > 0) { /* the answer itself */
      Vec       y;
      PetscReal norm, all;
      PetscCall(VecDuplicate(b, &y));
      PetscCall(MatMult(A, x, y));
      PetscCall(VecAXPY(y, -1, b));
      PetscCall(VecNorm(y, NORM_2, &norm));
      PetscCall(VecNorm(b, NORM_2, &all));
      PetscCall(VecDestroy(&y));
      if (!(norm <= 1e-5 * all)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: error: true residual %g\n", name, (double)(norm / all)));
    }
    if (reason > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s, %d iterations\n", name, KSPConvergedReasons[reason], (int)its));
    else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", name, KSPConvergedReasons[reason]));
    if (reason == KSP_DIVERGED_PC_FAILED) PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
  }
  PetscCall(PetscOptionsDestroy(&set));
  PetscCall(PetscFree(points));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *const cases[] = {"good", "number", "null", "nan", "equal", "line", "plane", "flat", "duplicates", "spread", "aspect", "cut", "positive", "zerorow", "negative", "nanentry", "indefinite", "penalty", "one penalty", "norows", "nonsquare", "nofile", "noh5file"};
  static const char *const together[] = {"-pc_auxamg_variant aggregation -pc_auxamg_interpolation kuhn", "-pc_auxamg_variant aggregation -pc_auxamg_filter on", "-pc_auxamg_variant tree -pc_auxamg_smoother block_gs", "-pc_auxamg_cycle_inner 0", "-pc_auxamg_smoother_degree 101", "-ksp_type gmres -pc_auxamg_cycle k", "-ksp_type fgmres -pc_auxamg_cycle k"};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) PetscCall(Try(cases[c], 24, 17, 1, NULL));
  PetscCall(Try("foreign", 100, 100, 1, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "one unknown, then seven unknowns per node:\n"));
  PetscCall(Try("good", 1, 1, 1, NULL));
  PetscCall(Try("good", 24, 17, 7, NULL));
  PetscCall(Try("half the points", 24, 18, 2, NULL));
  PetscCall(Try("identity", 300, 300, 1, NULL));
  PetscCall(Try("dense", 300, 300, 1, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "choices that do not go together:\n"));
  for (size_t c = 0; c < sizeof(together) / sizeof(together[0]); ++c) PetscCall(Try("good", 24, 17, 1, together[c]));
  PetscCall(Try("oneway", 24, 17, 1, "-pc_auxamg_smoother gs"));
  PetscCall(Try("oneway", 24, 17, 1, "-pc_auxamg_variant aggregation"));
  PetscCall(Try("oneway 151", 24, 17, 1, "-pc_auxamg_smoother gs")); /* the same on any number of processes */
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "fields, to which PETSc hands on that there are coordinates, and none of them:\n"));
  PetscCall(Try("good", 24, 17, 2, "-pc_type fieldsplit -pc_fieldsplit_type additive -fieldsplit_0_pc_type auxamg -fieldsplit_1_pc_type auxamg"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  # an error in PETSc's block of options leaves the block's title behind: every process would say so, amid the lines of the first
  testset:
    args: -pc_auxamg_coarse_size 20 -malloc_dump 0
    filter: grep -E "iterations|DIVERGED|error|failed|:$" | sed -e "s|gave [0-9]* points|gave other points|" -e "s|and [0-9]* columns|and other columns|" -e "s|, which is also used to construct the preconditioner| = precond matrix|"
    test:
      nsize: {{1 2 3}}
    test:
      suffix: paper
      nsize: {{1 3}}
      args: -pc_auxamg_variant aggregation

TEST*/
