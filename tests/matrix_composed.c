static char help[] = "Matrices that are made of others: those with entries are read, those without are refused.\n\n";

#include <petscksp.h>

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif

static char message[512] = "";

static PetscErrorCode Catch(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode n, PetscErrorType p, const char *text, void *ctx)
{
  (void)comm, (void)line, (void)function, (void)file, (void)p, (void)ctx;
  if (text && *text && !message[0]) (void)PetscStrncpy(message, text, sizeof(message));
  return n;
}

enum { n = 14 }; /* nodes per direction */

/* diagonal times the identity and couplings with the neighbours */
static PetscErrorCode Grid(PetscScalar diagonal, PetscScalar east, PetscScalar others, Mat *A)
{
  PetscInt first, last;

  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n, 5, NULL, 4, NULL, A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt p = first; p < last; ++p) {
    const PetscInt i = p % n, j = p / n;
    PetscCall(MatSetValue(*A, p, p, diagonal, INSERT_VALUES));
    if (i + 1 < n && east != 0) PetscCall(MatSetValue(*A, p, p + 1, east, INSERT_VALUES));
    if (i && others != 0) PetscCall(MatSetValue(*A, p, p - 1, others, INSERT_VALUES));
    if (j + 1 < n && others != 0) PetscCall(MatSetValue(*A, p, p + n, others, INSERT_VALUES));
    if (j && others != 0) PetscCall(MatSetValue(*A, p, p - n, others, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultiplyShell(Mat A, Vec x, Vec y)
{
  Mat inner;

  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(A, &inner));
  PetscCall(MatMult(inner, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const char *type, const char *name, Mat A, PetscInt copies)
{
  KSP                ksp;
  PC                 pc;
  Vec                x, b, r;
  PetscInt           first, last, N;
  PetscReal         *coordinates, norm, residual;
  PetscErrorCode     ierr;
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  PetscInt           points;
  PetscMPIInt        size, rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(b, 1));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatGetLocalSize(A, &points, NULL));
  points /= copies; /* a process has its part of each copy of the grid */
  PetscCallMPI(MPI_Scan(&points, &last, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  first = last - points;
  PetscCall(PetscMalloc1(2 * copies * points + 1, &coordinates));
  for (PetscInt c = 0; c < copies; ++c)
    for (PetscInt p = 0; p < points; ++p) {
      coordinates[2 * (c * points + p)]     = (PetscReal)((first + p) % n);
      coordinates[2 * (c * points + p) + 1] = (PetscReal)((first + p) / n);
    }
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 60));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PCSetCoordinates(pc, 2, copies * points, coordinates));
  message[0] = 0;
  PetscCall(PetscPushErrorHandler(Catch, NULL));
  ierr = KSPSolve(ksp, b, x);
  PetscCall(PetscPopErrorHandler());
  if (ierr) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s: %.*s\n", type, name, (int)(strchr(message, '.') ? strchr(message, '.') - message : 0), message));
  else {
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &residual));
    PetscCall(VecNorm(b, NORM_2, &norm));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s: %s\n", type, name, reason > 0 && residual < 1e-6 * norm ? "solved" : "not solved"));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(PetscFree(coordinates));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat       A, B, small, square, transpose, normal, shell, dense, part[4], nest, of_nests[4], nested;
  PetscInt  m;
  PetscBool rrb = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-rrb", &rrb, NULL));
  const char *const type = rrb ? "rrb" : "auxamg";
  PetscCall(Grid(4.5, rrb ? -1 : -1.2, -1, &A));
  PetscCall(Grid(4.1, -1, -1, &B));
  PetscCall(Grid(0.05, 0, 0, &small));
  PetscCall(Grid(2, -1, 0, &square)); /* its product with itself couples along lines */
  PetscCall(MatCreateTranspose(A, &transpose));
  PetscCall(MatCreateNormal(square, &normal));
  PetscCall(MatConvert(B, MATDENSE, MAT_INITIAL_MATRIX, &dense));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, m, m, n * n, n * n, A, &shell));
  PetscCall(MatShellSetOperation(shell, MATOP_MULT, (void (*)(void))MultiplyShell));
  PetscCall(MatAssemblyBegin(shell, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(shell, MAT_FINAL_ASSEMBLY));
  PetscCall(Solve(type, "aij", A, 1));
  PetscCall(Solve(type, "transpose", transpose, 1));
  PetscCall(Solve(type, "normal", normal, 1));
  PetscCall(Solve(type, "dense", dense, 1));
  part[0] = A;
  PetscCall(MatCreateNest(PETSC_COMM_WORLD, 1, NULL, 1, NULL, part, &nest));
  PetscCall(Solve(type, "nest of one", nest, 1));
  PetscCall(MatDestroy(&nest));
  part[0] = shell;
  PetscCall(MatCreateNest(PETSC_COMM_WORLD, 1, NULL, 1, NULL, part, &nest));
  PetscCall(Solve(type, "nest with a shell", nest, 1));
  PetscCall(MatDestroy(&nest));
  PetscCall(Solve(type, "shell", shell, 1));
  if (!rrb) {
    part[0] = transpose;
    part[1] = part[2] = small;
    part[3] = dense;
    PetscCall(MatCreateNest(PETSC_COMM_WORLD, 2, NULL, 2, NULL, part, &nest));
    PetscCall(Solve(type, "nest of four", nest, 2));
    of_nests[0] = of_nests[3] = nest;
    of_nests[1] = of_nests[2] = NULL;
    PetscCall(MatCreateNest(PETSC_COMM_WORLD, 2, NULL, 2, NULL, of_nests, &nested));
    PetscCall(Solve(type, "nest of nests", nested, 4));
    PetscCall(MatDestroy(&nested));
    PetscCall(MatDestroy(&nest));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&small));
  PetscCall(MatDestroy(&square));
  PetscCall(MatDestroy(&transpose));
  PetscCall(MatDestroy(&normal));
  PetscCall(MatDestroy(&dense));
  PetscCall(MatDestroy(&shell));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 3}}
    test:
      suffix: auxamg
    test:
      suffix: rrb
      args: -rrb -pc_rrb_grid 14,14

TEST*/
