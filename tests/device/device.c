static char help[] = "What the device is asked beyond solving.\n\
  -case apply  : the preconditioner alone; -dm_mat_type and -dm_vec_type say where matrix and vectors are\n\
  -case memory : a device with too little memory for the grid of -n nodes each way, again and again; then the host, and a smaller grid\n\
  -case error  : the emulated device of process -rank fails: by its memory of -bytes, or at kernel -kernel of the setup or, with -solve,\n\
                 of the second solve; then the host solves. Or, with -rows, PETSc refuses that process its rows,\n\
                 on the device or, with -first host, on the host\n\
  -case full   : a GPU that vectors fill but for -room MB; then the same solver on the host, and on the device when they are gone.\n\
                 It takes the whole GPU, so it is no part of the automatic tests\n\n";

#include "../compat.h"
#include <petscdmda.h>
#include <petscksp.h>
#include <stdlib.h>

static char message[1024];

static PetscErrorCode Catch(MPI_Comm comm, int line, const char *fun, const char *file, PetscErrorCode n, PetscErrorType p, const char *text, void *ctx)
{
  if (text && *text && !message[0]) snprintf(message, sizeof(message), "%s", text);
  return n;
}

/* -Laplace with a Dirichlet boundary of identity rows to which their neighbours are coupled; with -slits a comb, whose
   teeth are two nodes wide. */
static PetscErrorCode Create(PetscInt n, DM *da, Mat *A, Vec *b, Vec *x)
{
  PetscInt  xs, ys, xm, ym;
  PetscBool slits = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-slits", &slits, NULL));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscCall(DMSetMatrixPreallocateOnly(*da, slits)); /* couplings that are not set are not there */
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(DMCreateGlobalVector(*da, b));
  PetscCall(VecDuplicate(*b, x));
  PetscCall(DMDAGetCorners(*da, &xs, &ys, NULL, &xm, &ym, NULL));
  for (PetscInt j = ys; j < ys + ym; j++)
    for (PetscInt i = xs; i < xs + xm; i++) {
      const PetscBool   edge = (PetscBool)(!i || !j || i == n - 1 || j == n - 1);
      const PetscInt    tied = j % 2 ? j - 1 : j + 1; /* the row of nodes in the same tooth */
      const PetscBool   cut = (PetscBool)(slits && i > 3);
      const MatStencil  row = {0, j, i, 0}, col[5] = {{0, j, i, 0}, {0, j, i - 1, 0}, {0, j, i + 1, 0}, {0, tied, i, 0}, {0, 2 * j - tied, i, 0}};
      const PetscScalar v[5] = {edge ? 2.0 : cut ? 3.0 : 4.0, -1.0, -1.0, -1.0, -1.0};
      PetscCall(MatSetValuesStencil(*A, 1, &row, edge ? 1 : cut ? 4 : 5, col, v, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(VecSet(*b, 1.0));
  PetscFunctionReturn(0);
}

static PetscErrorCode Destroy(DM *da, Mat *A, Vec *b, Vec *x)
{
  PetscFunctionBeginUser;
  PetscCall(VecDestroy(x));
  PetscCall(VecDestroy(b));
  PetscCall(MatDestroy(A));
  PetscCall(DMDestroy(da));
  PetscFunctionReturn(0);
}

static PetscErrorCode Apply(PetscInt n)
{
  DM        da;
  Mat       A;
  Vec       b, x;
  PC        pc;
  PetscReal norm, transposed;

  PetscFunctionBeginUser;
  PetscCall(Create(n, &da, &A, &b, &x));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, "rrb"));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCApply(pc, b, x));
  PetscCall(VecNorm(x, NORM_2, &norm));
  PetscCall(PCApplyTranspose(pc, b, x));
  PetscCall(VecNorm(x, NORM_2, &transposed));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "norms %.10e %.10e\n", (double)norm, (double)transposed));
  PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(PCDestroy(&pc));
  PetscCall(Destroy(&da, &A, &b, &x));
  PetscFunctionReturn(0);
}

/* Does every process end with the same error? */
static PetscErrorCode Solve(const char *what, KSP ksp, Vec b, Vec x)
{
  KSPConvergedReason reason;
  PetscErrorCode     ierr;
  PetscInt           its;
  int                code, most, least;

  PetscFunctionBeginUser;
  message[0] = 0;
  PetscCall(PetscPushErrorHandler(Catch, NULL));
  ierr = KSPSetFromOptions(ksp);
  if (!ierr) ierr = KSPSolve(ksp, b, x);
  PetscCall(PetscPopErrorHandler());
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  code = (int)ierr;
  PetscCallMPI(MPI_Allreduce(&code, &most, 1, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(&code, &least, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  if (most != least) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: errors from %d to %d\n", what, least, most));
  else if (ierr) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: error %d, %s\n", what, (int)ierr, message));
  else if (reason < 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", what, KSPConvergedReasons[reason]));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %d iterations\n", what, (int)its));
  PetscFunctionReturn(0);
}

static PetscErrorCode NewKSP(DM da, Mat A, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetType(*ksp, "rrb"));
  PetscCall(KSPSetDM(*ksp, da));
  PetscCall(SetDMActive(*ksp, PETSC_FALSE));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscFunctionReturn(0);
}

static PetscErrorCode Memory(PetscInt n)
{
  DM  da[2];
  Mat A[2];
  Vec b[2], x[2];
  KSP ksp[2];

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(k ? n / 3 : n, &da[k], &A[k], &b[k], &x[k]));
    PetscCall(NewKSP(da[k], A[k], &ksp[k]));
  }
  for (int i = 0; i < 5; i++) {
    PetscCall(PetscOptionsSetValue(NULL, "-pc_rrb_backend", "cuda"));
    PetscCall(Solve("device", ksp[0], b[0], x[0]));
    PetscCall(PetscOptionsSetValue(NULL, "-pc_rrb_backend", "host"));
    PetscCall(Solve("host", ksp[0], b[0], x[0]));
    PetscCall(PetscOptionsSetValue(NULL, "-pc_rrb_backend", "cuda"));
    PetscCall(Solve("a smaller grid", ksp[1], b[1], x[1]));
    PetscCall(KSPReset(ksp[1]));
    PetscCall(KSPSetOperators(ksp[1], A[1], A[1]));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPDestroy(&ksp[k]));
    PetscCall(Destroy(&da[k], &A[k], &b[k], &x[k]));
  }
  PetscFunctionReturn(0);
}

/* Of PC and KSP rrb and of the PC that the options name */
static PetscErrorCode Backend(const char *backend)
{
  char      pctype[32] = "rrb", option[64];

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-pc_type", pctype, sizeof(pctype), NULL));
  PetscCall(PetscSNPrintf(option, sizeof(option), "-pc_%s_backend", pctype));
  PetscCall(PetscOptionsSetValue(NULL, option, backend));
  PetscFunctionReturn(0);
}

static PetscErrorCode NoRows(Mat A, PetscInt shift, PetscBool symmetric, PetscBool compressed, PetscInt *n, const PetscInt *i[], const PetscInt *j[], PetscBool *done)
{
  *done = PETSC_FALSE;
  return 0;
}

static PetscErrorCode Error(PetscInt n)
{
  DM          da;
  Mat         A;
  Vec         b, x;
  KSP         ksp;
  PetscInt    who = 0;
  PetscMPIInt rank;
  PetscBool   fails, memory, unlocked, kernel, solve, rows;
  Mat         own = NULL;
  void      (*getrowij)(void);
  char        bytes[32] = "", number[32] = "", first[8] = "cuda";

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rank", &who, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-bytes", bytes, sizeof(bytes), &memory));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-unlocked", &unlocked));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-kernel", number, sizeof(number), &kernel));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-solve", &solve));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-rows", &rows));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-first", first, sizeof(first), NULL));
  fails = (PetscBool)(rank == who);
  PetscCall(Create(n, &da, &A, &b, &x));
  PetscCall(NewKSP(da, A, &ksp));
  PetscCall(Backend(first));
  if (solve) PetscCall(Solve("before", ksp, b, x));
  if (fails && memory) setenv("TESSERA_EMULATED_MEMORY", bytes, 1);
  if (fails && unlocked) setenv("TESSERA_EMULATED_UNLOCKED", "1", 1);
  if (fails && kernel) setenv("TESSERA_EMULATED_ERROR", number, 1);
  if (fails && rows) {
    PetscCall(MatMPIAIJGetSeqAIJ(A, &own, NULL, NULL));
    PetscCall(MatGetOperation(own, MATOP_GET_ROW_IJ, &getrowij));
    PetscCall(MatSetOperation(own, MATOP_GET_ROW_IJ, (void (*)(void))NoRows));
  }
  PetscCall(Solve("device", ksp, b, x));
  if (own) PetscCall(MatSetOperation(own, MATOP_GET_ROW_IJ, getrowij));
  if (fails) unsetenv("TESSERA_EMULATED_MEMORY"), unsetenv("TESSERA_EMULATED_UNLOCKED");
  if (memory || unlocked) PetscCall(Solve("more memory", ksp, b, x));
  PetscCall(Backend("host"));
  PetscCall(Solve("host", ksp, b, x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(Destroy(&da, &A, &b, &x));
  PetscFunctionReturn(0);
}

static PetscErrorCode Full(PetscInt n)
{
  DM        da;
  Mat       A;
  Vec       b, x, vectors[4096];
  KSP       ksp;
  PetscReal room  = 100;
  PetscInt  count = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-room", &room, NULL));
  PetscCall(Create(n, &da, &A, &b, &x));
  PetscCall(NewKSP(da, A, &ksp));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_rrb_backend", "cuda"));
  PetscCall(PetscPushErrorHandler(Catch, NULL));
  for (PetscReal size = 8192; size >= room; size /= 2) /* MB: as many as there is room for, the last one gives its room back */
    while (count < 4096) {
      PetscErrorCode ierr = VecCreate(PETSC_COMM_SELF, &vectors[count]);
      if (!ierr) ierr = VecSetSizes(vectors[count], (PetscInt)(size * 1e6 / sizeof(PetscScalar)), PETSC_DECIDE);
      if (!ierr) ierr = VecSetType(vectors[count], VECCUDA);
      if (!ierr) ierr = VecSet(vectors[count], 1.0);
      if (ierr) break;
      ++count;
    }
  PetscCall(PetscPopErrorHandler());
  if (count) PetscCall(VecDestroy(&vectors[--count]));
  PetscCall(Solve("full device", ksp, b, x));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_rrb_backend", "host"));
  PetscCall(Solve("host", ksp, b, x));
  while (count) PetscCall(VecDestroy(&vectors[--count]));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_rrb_backend", "cuda"));
  PetscCall(Solve("device", ksp, b, x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(Destroy(&da, &A, &b, &x));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscInt  n        = 100;
  char      name[16] = "apply";
  PetscBool apply, memory, full;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-case", name, sizeof(name), NULL));
  PetscCall(PetscStrcmp(name, "apply", &apply));
  PetscCall(PetscStrcmp(name, "memory", &memory));
  PetscCall(PetscStrcmp(name, "full", &full));
  PetscCall(apply ? Apply(n) : memory ? Memory(n) : full ? Full(n) : Error(n));
  PetscCall(PetscFinalize());
  return 0;
}
