static char help[] = "Input that PC rrb and KSP rrb must refuse, and what must still work afterwards.\n\
  -case <name> : what is wrong with the problem\n\
  -size nx,ny[,nz] : the grid\n\
  -scale <s>   : a factor of the matrix\n\
  -more <MB>   : memory that the process may take from the solve on\n\
  -wksp <type> : KSP type (default cg; the PC is rrb unless -wpc is given)\n\
Errors are caught: every process reports its error code, and the program goes on to its end.\n\n";

#include "../compat.h"
#include <petscdmda.h>
#include <petscdmshell.h>
#ifdef __linux__
  #include <sys/resource.h>
  #include <unistd.h>
#endif

static char        message[8192]; /* texts of this process's last error, the innermost first */
static PetscMPIInt rank, size;

/* Collects the texts in place of printing them. */
static PetscErrorCode Catch(MPI_Comm comm, int line, const char *fun, const char *file, PetscErrorCode n, PetscErrorType p, const char *text, void *ctx)
{
  size_t used = strlen(message);
  if (text && *text && used < sizeof(message) - 2) snprintf(message + used, sizeof(message) - used, "%s\n", text);
  return n;
}

/* Every process must come here with an error, or every one without: otherwise they are reported, or the program hangs and is ended. */
static PetscErrorCode Report(const char *what, PetscErrorCode ierr)
{
  int mine = (int)ierr, *all, r;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(size, &all));
  PetscCallMPI(MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, 0, PETSC_COMM_WORLD));
  if (!rank) {
    printf("%s:", what);
    for (r = 0; r < size; r++) printf(" %d", all[r]);
    printf("\n");
  }
  for (r = 0; r < size; r++) {
    int len = (int)strlen(message) + 1;
    if (r) {
      if (rank == r) PetscCallMPI(MPI_Send(message, len, MPI_CHAR, 0, 7, PETSC_COMM_WORLD));
      if (!rank) PetscCallMPI(MPI_Recv(message, sizeof(message), MPI_CHAR, r, 7, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    if (!rank && message[0]) printf("message of rank %d: %s", r, message);
  }
  fflush(stdout);
  message[0] = 0;
  PetscCall(PetscFree(all));
  PetscFunctionReturn(0);
}

/* Operator of -Laplace + shift with 5 or 7 points, Dirichlet beyond the grid. */
static PetscErrorCode Fill(DM da, Mat A, PetscReal shift)
{
  PetscInt    dim, dof, n[3], lo[3], m[3];
  MatStencil  row, col[7];
  PetscScalar v[7];

  PetscFunctionBeginUser;
  memset(&row, 0, sizeof(row));
  PetscCall(DMDAGetInfo(da, &dim, n, n + 1, n + 2, NULL, NULL, NULL, &dof, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, lo, lo + 1, lo + 2, m, m + 1, m + 2));
  for (row.k = lo[2]; row.k < lo[2] + m[2]; row.k++)
    for (row.j = lo[1]; row.j < lo[1] + m[1]; row.j++)
      for (row.i = lo[0]; row.i < lo[0] + m[0]; row.i++)
        for (row.c = 0; row.c < dof; row.c++) {
          PetscInt count = 0;
          col[count] = row, v[count++] = 2 * dim + shift;
          for (PetscInt d = 0; d < dim; d++)
            for (PetscInt s = -1; s < 2; s += 2) {
              const PetscInt to = (d == 0 ? row.i : d == 1 ? row.j : row.k) + s;
              if (to < 0 || to >= n[d]) continue;
              col[count] = row;
              if (d == 0) col[count].i = to;
              else if (d == 1) col[count].j = to;
              else col[count].k = to;
              v[count++] = -1;
            }
          PetscCall(MatSetValuesStencil(A, 1, &row, count, col, v, INSERT_VALUES));
        }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* One entry at node (i, j), in space (i, j, nz/2), and its neighbour (i+di, j+dj), set by the process that owns the node. */
static PetscErrorCode Entry(DM da, Mat A, PetscInt i, PetscInt j, PetscInt di, PetscInt dj, PetscScalar v)
{
  PetscInt   dim, nz, lo[3], m[3];
  MatStencil row, col;

  PetscFunctionBeginUser;
  memset(&row, 0, sizeof(row));
  PetscCall(DMDAGetInfo(da, &dim, NULL, NULL, &nz, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  row.i = i, row.j = j, row.k = dim == 3 ? nz / 2 : 0;
  col   = row;
  col.i += di, col.j += dj;
  PetscCall(DMDAGetCorners(da, lo, lo + 1, lo + 2, m, m + 1, m + 2));
  if (i >= lo[0] && i < lo[0] + m[0] && j >= lo[1] && j < lo[1] + m[1] && row.k >= lo[2] && row.k < lo[2] + m[2]) PetscCall(MatSetValuesStencil(A, 1, &row, 1, &col, &v, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* n[2] = 0: in the plane */
static PetscErrorCode Grid(const PetscInt n[3], PetscInt dof, PetscInt width, DM *da)
{
  const DMBoundaryType no = DM_BOUNDARY_NONE;

  PetscFunctionBeginUser;
  if (n[2]) PetscCall(DMDACreate3d(PETSC_COMM_WORLD, no, no, no, DMDA_STENCIL_STAR, n[0], n[1], n[2], PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, dof, width, NULL, NULL, NULL, da));
  else PetscCall(DMDACreate2d(PETSC_COMM_WORLD, no, no, DMDA_STENCIL_STAR, n[0], n[1], PETSC_DECIDE, PETSC_DECIDE, dof, width, NULL, NULL, da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(0);
}

/* From here on the process gets so much memory, or, where it is negative, as much as there is. */
static PetscErrorCode Limit(PetscInt megabytes)
{
  PetscFunctionBeginUser;
#ifdef __linux__
  FILE         *f     = fopen("/proc/self/statm", "r");
  long          pages = 0;
  struct rlimit limit;

  PetscCheck(f && fscanf(f, "%ld", &pages) == 1, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "/proc/self/statm");
  fclose(f);
  PetscCheck(!getrlimit(RLIMIT_AS, &limit), PETSC_COMM_SELF, PETSC_ERR_SYS, "getrlimit");
  limit.rlim_cur = megabytes < 0 ? limit.rlim_max : (rlim_t)(pages * sysconf(_SC_PAGESIZE)) + ((rlim_t)megabytes << 20);
  PetscCheck(!setrlimit(RLIMIT_AS, &limit), PETSC_COMM_SELF, PETSC_ERR_SYS, "setrlimit");
#endif
  PetscFunctionReturn(0);
}

/* Solve; report the error codes, the reason, and what happened to b and x. */
static PetscErrorCode Solve(const char *what, KSP ksp, Mat A, Vec b, Vec x)
{
  Vec                b0, x0, r;
  PetscReal          nb, nx, nr;
  PetscErrorCode     ierr;
  KSPConvergedReason reason;
  PetscInt           its;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &b0));
  PetscCall(VecCopy(b, b0));
  PetscCall(VecDuplicate(x, &x0));
  PetscCall(VecCopy(x, x0));
  message[0] = 0;
  PetscCall(PetscPushErrorHandler(Catch, NULL));
  ierr = KSPSolve(ksp, b, x);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Report(what, ierr));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(VecAXPY(b0, -1.0, b));
  PetscCall(VecNorm(b0, NORM_INFINITY, &nb));
  PetscCall(VecAXPY(x0, -1.0, x));
  PetscCall(VecNorm(x0, NORM_INFINITY, &nx));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: reason %s iterations %d; b %s; x %s\n", what, ierr ? "ERROR" : KSPConvergedReasons[reason], (int)its, nb == 0 ? "unchanged" : "CHANGED",
                        nx == 0 ? "unchanged" : "changed"));
  if (!ierr && reason > 0) {
    PetscCall(VecDuplicate(b, &r));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1.0, b));
    PetscCall(VecNorm(r, NORM_2, &nr));
    PetscCall(VecNorm(b, NORM_2, &nb));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: true residual %s\n", what, nr <= 1e-4 * nb ? "small" : "LARGE"));
    PetscCall(VecDestroy(&r));
  }
  PetscCall(VecDestroy(&b0));
  PetscCall(VecDestroy(&x0));
  PetscFunctionReturn(0);
}

static PetscErrorCode Work(void)
{
  char      name[64] = "good", kind[64] = "cg", pctype[64] = "rrb";
  PetscInt  n[3] = {8, 7, 0}, sizes = 3, nodes, more = -1;
  PetscBool flg, set, fix = PETSC_FALSE;
  PetscRandom random;
  DM        da = NULL, other = NULL;
  Mat       A = NULL, P = NULL;
  Vec       b = NULL, x = NULL;
  KSP       ksp;
  PC        pc;
  PetscReal nan = PetscSqrtReal(-PetscAbsReal((PetscReal)rand() + 1)), zero = 0, scale;

  PetscFunctionBeginUser;
#define IS(s) (!strcmp(name, s))
  PetscCall(PetscOptionsGetString(NULL, NULL, "-case", name, sizeof(name), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-wksp", kind, sizeof(kind), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-wpc", pctype, sizeof(pctype), &set));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-size", n, &sizes, &flg));
  nodes = n[0] * n[1] * PetscMax(n[2], 1);
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-more", &more, NULL));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));

  if (IS("repeat")) { /* 100 times made and destroyed, used every tenth time, with or without setup */
    PetscCall(Grid(n, 1, 1, &da));
    PetscCall(DMCreateMatrix(da, &A));
    PetscCall(Fill(da, A, 0));
    PetscCall(DMCreateGlobalVector(da, &b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(VecSetRandom(b, random));
    for (int k = 0; k < 100; k++) {
      PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
      PetscCall(KSPSetType(ksp, k % 2 ? "rrb" : "cg"));
      PetscCall(KSPGetPC(ksp, &pc));
      PetscCall(PCSetType(pc, "rrb"));
      if (k % 3) PetscCall(KSPSetOperators(ksp, A, A));
      if (k % 3) PetscCall(KSPSetFromOptions(ksp));
      if (k % 3 == 2) PetscCall(KSPSetUp(ksp));
      if (k % 3 == 2 && k % 10 == 0) PetscCall(KSPSolve(ksp, b, x));
      if (k % 7 == 0) PetscCall(PCReset(pc));
      if (k % 5 == 0) PetscCall(PCSetType(pc, "jacobi"));
      PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "repeat: done\n"));
    goto end;
  }

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, kind));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPGetPC(ksp, &pc));
  if (strcmp(kind, "rrb") || set) PetscCall(PCSetType(pc, pctype));

  /* the problem */
  if (IS("dim1")) {
    PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, 20, 1, 1, NULL, &da));
    PetscCall(DMSetUp(da));
    PetscCall(DMCreateMatrix(da, &A));
    PetscCall(MatShift(A, 2.0));
  } else if (IS("rectangular")) {
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 56, 40, 1, NULL, 1, NULL, &A));
    PetscCall(MatSetUp(A));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  } else if (IS("empty")) {
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 0, 0, 1, NULL, 1, NULL, &A));
    PetscCall(MatSetUp(A));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  } else if (IS("shell")) {
    PetscCall(Grid(n, 1, 1, &da));
    PetscCall(DMCreateGlobalVector(da, &b));
    PetscInt m;
    PetscCall(VecGetLocalSize(b, &m));
    PetscCall(VecDestroy(&b));
    PetscCall(MatCreateShell(PETSC_COMM_WORLD, m, m, nodes, nodes, NULL, &A));
    PetscCall(MatSetUp(A));
  } else {
    PetscBool wide = (PetscBool)(IS("far") || IS("farzero"));
    PetscCall(Grid(n, IS("dof2") ? 2 : 1, wide ? 2 : 1, &da));
    if (IS("natural") || IS("skew")) { /* no DM anywhere, natural numbering, rows split anyhow */
      PetscInt lo, hi;
      PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, nodes, nodes, 7, NULL, 7, NULL, &A));
      PetscCall(MatGetOwnershipRange(A, &lo, &hi));
      for (PetscInt k = lo; k < hi; k++) {
        PetscInt    i = k % n[0], j = k / n[0] % n[1], plane = n[0] * n[1];
        PetscScalar c = n[2] ? 6 : 4, o = -1;
        PetscCall(MatSetValue(A, k, k, c, INSERT_VALUES));
        if (i > 0) PetscCall(MatSetValue(A, k, k - 1, o, INSERT_VALUES));
        if (i < n[0] - 1) PetscCall(MatSetValue(A, k, k + 1, o, INSERT_VALUES));
        if (j > 0) PetscCall(MatSetValue(A, k, k - n[0], o, INSERT_VALUES));
        if (j < n[1] - 1) PetscCall(MatSetValue(A, k, k + n[0], o, INSERT_VALUES));
        if (k >= plane) PetscCall(MatSetValue(A, k, k - plane, o, INSERT_VALUES));
        if (k + plane < nodes) PetscCall(MatSetValue(A, k, k + plane, o, INSERT_VALUES));
        /* from the end of a line to the start of the next: neighbours in memory, not on the grid */
        if (IS("skew") && k == n[0] - 1) PetscCall(MatSetValue(A, k, k + 1, -0.5, INSERT_VALUES));
      }
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    } else {
      PetscCall(DMCreateMatrix(da, &A));
      PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
      PetscCall(Fill(da, A, IS("indefinite") ? -1.7 : 0));
    }
  }
  if (IS("far")) PetscCall(Entry(da, A, 3, 2, 2, 0, -0.25));
  if (IS("zeropivot")) PetscCall(Entry(da, A, 4, 3, 0, 0, 0.0));
  if (IS("negative")) PetscCall(Entry(da, A, 4, 3, 0, 0, -4.0));
  if (IS("allnegative")) PetscCall(MatScale(A, -1.0));
  if (IS("allzero")) PetscCall(MatZeroEntries(A));
  if (IS("tiny")) PetscCall(MatScale(A, 1e-180));
  if (IS("large")) PetscCall(MatScale(A, 1e180));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-scale", &scale, &flg));
  if (flg) PetscCall(MatScale(A, scale));
  if (IS("zerorow")) {
    PetscCall(Entry(da, A, 4, 3, 0, 0, 0.0));
    PetscCall(Entry(da, A, 4, 3, 1, 0, 0.0));
    PetscCall(Entry(da, A, 4, 3, -1, 0, 0.0));
    PetscCall(Entry(da, A, 4, 3, 0, 1, 0.0));
    PetscCall(Entry(da, A, 4, 3, 0, -1, 0.0));
  }
  if (IS("nandiagonal")) PetscCall(Entry(da, A, 4, 3, 0, 0, nan));
  if (IS("nancoupling")) PetscCall(Entry(da, A, 4, 3, 1, 0, nan));
  if (IS("infdiagonal")) PetscCall(Entry(da, A, 4, 3, 0, 0, 1 / zero));
  if (IS("infcoupling")) PetscCall(Entry(da, A, 4, 3, 0, 1, -1 / zero));
  if (IS("asymmetric")) PetscCall(Entry(da, A, 4, 3, 1, 0, -0.5));
  P = A;
  PetscCall(PetscObjectReference((PetscObject)P));
  if (IS("twomats")) {
    PetscCall(MatDestroy(&P));
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &P));
    PetscCall(MatScale(P, 2.0));
  }
  if (IS("othersize")) { /* the KSP's DM is not the matrix's */
    const PetscInt more[3] = {n[0] + 1, n[1], n[2]};
    PetscCall(Grid(more, 1, 1, &other));
    PetscCall(KSPSetDM(ksp, other));
    PetscCall(SetDMActive(ksp, PETSC_FALSE));
    PetscCall(MatSetDM(A, NULL));
  }
  if (IS("dmshell")) {
    PetscCall(DMShellCreate(PETSC_COMM_WORLD, &other));
    PetscCall(KSPSetDM(ksp, other));
    PetscCall(SetDMActive(ksp, PETSC_FALSE));
    PetscCall(MatSetDM(A, NULL));
  }
  if (IS("shell")) {
    PetscCall(KSPSetDM(ksp, da));
    PetscCall(SetDMActive(ksp, PETSC_FALSE));
  }
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, random));
  PetscCall(VecSetRandom(x, random));
  if (IS("nanrhs")) PetscCall(VecSet(b, nan));

  message[0] = 0;
  PetscCall(PetscPushErrorHandler(Catch, NULL));
  {
    PetscErrorCode ierr = KSPSetOperators(ksp, A, P);
    if (!ierr) ierr = KSPSetFromOptions(ksp);
    PetscCall(PetscPopErrorHandler());
    PetscCall(Report("options", ierr));
    if (ierr) goto over;
  }
  if (more >= 0) PetscCall(Limit(more));
  PetscCall(Solve("first", ksp, A, b, x));
  if (more >= 0) PetscCall(Limit(-1));

  /* right again: the same objects after the matrix is mended, then after PCReset with operators of another size */
  if (IS("zeropivot") || IS("negative") || IS("nandiagonal") || IS("nancoupling") || IS("infdiagonal") || IS("infcoupling") || IS("asymmetric") || IS("allnegative") || IS("indefinite") || IS("zerorow") || IS("allzero")) {
    PetscCall(Fill(da, A, 0));
    /* PETSc 3.18's cg and gmres end once more with NANORINF after a failed PC, whatever the PC: the second solve counts */
    PetscCall(VecSet(x, 0));
    PetscCall(Solve("mending", ksp, A, b, x));
    PetscCall(VecSet(x, 0));
    PetscCall(Solve("mended", ksp, A, b, x));
  }
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-again", &fix, NULL));
  if (fix) {
    DM  da2;
    Mat A2;
    Vec b2, x2;
    PetscCall(KSPReset(ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCReset(pc));
    const PetscInt larger[3] = {19, 23, n[2] ? 11 : 0};
    PetscCall(Grid(larger, 1, 1, &da2));
    PetscCall(DMCreateMatrix(da2, &A2));
    PetscCall(Fill(da2, A2, 0));
    PetscCall(DMCreateGlobalVector(da2, &b2));
    PetscCall(VecDuplicate(b2, &x2));
    PetscCall(VecSetRandom(b2, random));
    PetscCall(KSPSetDM(ksp, da2));
    PetscCall(SetDMActive(ksp, PETSC_FALSE));
    PetscCall(KSPSetOperators(ksp, A2, A2));
    PetscCall(Solve("again", ksp, A2, b2, x2));
    PetscCall(VecDestroy(&b2));
    PetscCall(VecDestroy(&x2));
    PetscCall(MatDestroy(&A2));
    PetscCall(DMDestroy(&da2));
  }
over:
  PetscCall(KSPDestroy(&ksp));
end:
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&P));
  PetscCall(DMDestroy(&da));
  PetscCall(DMDestroy(&other));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  int       rounds = 1;
  PetscBool more;

  MPI_Init(&argc, &argv); /* so that PETSc can come and go twice */
  for (int k = 0; k < rounds; k++) {
    if (PetscInitialize(&argc, &argv, NULL, help)) return 1;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &size);
    PetscCall(PetscOptionsHasName(NULL, NULL, "-twice", &more));
    if (more) rounds = 2;
    PetscCall(Work());
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "round %d: end\n", k + 1));
    if (PetscFinalize()) return 2;
  }
  MPI_Finalize();
  return 0;
}
