static const char help[] = "Many solvers alive on one communicator: they make none of their own, share no tag, and small ones are small.\n\n";

#include "rrb_problem.h"
#include <malloc.h>
#include <petscsnes.h>

/* What the program and its libraries ask of MPI. */
static PetscInt communicators, messages, tags[8];
static void     Tag(int tag)
{
  PetscInt i = 0;
  while (i < 8 && tags[i] && tags[i] != tag + 1) ++i;
  if (i < 8) tags[i] = tag + 1; /* 0: none */
  ++messages;
}
int (MPI_Comm_dup)(MPI_Comm comm, MPI_Comm *out) { return ++communicators, PMPI_Comm_dup(comm, out); }
int (MPI_Comm_split)(MPI_Comm comm, int color, int key, MPI_Comm *out) { return ++communicators, PMPI_Comm_split(comm, color, key, out); }
int (MPI_Comm_create)(MPI_Comm comm, MPI_Group group, MPI_Comm *out) { return ++communicators, PMPI_Comm_create(comm, group, out); }
int (MPI_Isend)(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) { return Tag(tag), PMPI_Isend(buffer, count, type, to, tag, comm, request); }
int (MPI_Send)(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) { return Tag(tag), PMPI_Send(buffer, count, type, to, tag, comm); }

static PetscErrorCode Function(SNES snes, Vec x, Vec f, void *A)
{
  (void)snes;
  PetscFunctionBeginUser;
  PetscCall(MatMult((Mat)A, x, f));
  PetscCall(VecShift(f, 0.1));
  PetscFunctionReturn(0);
}

static PetscErrorCode Jacobian(SNES snes, Vec x, Mat J, Mat P, void *ctx)
{
  (void)snes, (void)x, (void)J, (void)P, (void)ctx;
  PetscFunctionBeginUser;
  PetscFunctionReturn(0);
}

typedef struct {
  const char *name, *type, *ksp; /* ksp: NULL for a SNES */
  PetscBool   dense;
} Kind;
static const Kind kinds[] = {{"PC rrb", "rrb", KSPCG, PETSC_FALSE}, {"KSP rrb", "rrb", "rrb", PETSC_FALSE}, {"PC auxamg", "auxamg", KSPCG, PETSC_FALSE}, {"PC densegs", "densegs", KSPCG, PETSC_TRUE}, {"SNES vipmg", "vipmg", NULL, PETSC_FALSE}, {"SNES vipgs", "vipgs", NULL, PETSC_TRUE}};

/* A solver that has solved once. */
static PetscErrorCode Create(const Kind *kind, Mat A, Vec b, Vec x, PetscObject *solver)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  KSP            ksp;
  SNES           snes;
  PC             pc;
  Vec            f, low, high;

  PetscFunctionBeginUser;
  if (kind->ksp) {
    PetscCall(KSPCreate(comm, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, "many_"));
    PetscCall(KSPSetType(ksp, kind->ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, kind->type));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, b, x));
    *solver = (PetscObject)ksp;
    PetscFunctionReturn(0);
  }
  PetscCall(VecDuplicate(b, &f));
  PetscCall(VecDuplicate(b, &low));
  PetscCall(VecDuplicate(b, &high));
  PetscCall(VecSet(low, -0.01));
  PetscCall(VecSet(high, 1));
  PetscCall(VecSet(x, 0));
  PetscCall(SNESCreate(comm, &snes));
  PetscCall(SNESSetOptionsPrefix(snes, "many_"));
  PetscCall(SNESSetType(snes, kind->type));
  PetscCall(SNESSetFunction(snes, f, Function, A));
  PetscCall(SNESSetJacobian(snes, A, A, Jacobian, NULL));
  PetscCall(SNESVISetVariableBounds(snes, low, high));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&low));
  PetscCall(VecDestroy(&high));
  *solver = (PetscObject)snes;
  PetscFunctionReturn(0);
}

/* Communicators: PETSC_COMM_SELF and PETSC_COMM_WORLD. */
static PetscErrorCode TestCommunicators(MPI_Comm comm, const char where[], const Model *m)
{
  enum { live = 12 };
  PetscObject solvers[live];
  DM          da;
  Mat         A, dense;
  Vec         b, x;

  PetscFunctionBeginUser;
  PetscCall(ModelCreate(comm, m, PETSC_FALSE, &da, &A));
  PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &dense));
  PetscCall(MatSetDM(dense, da));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(ModelVector(da, 1, b));
  for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); ++k) {
    PetscInt before = 0, shared, none = 0;
    for (int i = 0; i < live; ++i) {
      if (i == 1) before = communicators; /* the first one may make what all share */
      PetscCall(Create(&kinds[k], kinds[k].dense ? dense : A, b, x, &solvers[i]));
    }
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &communicators, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s, ", where, kinds[k].name));
    PetscCall(CheckTrue("no communicators of its own", (PetscBool)(communicators == before)));
    /* The messages of an application: one tag a solver, another one for the next solver. */
    shared = 0;
    if (kinds[k].ksp && strcmp(kinds[k].ksp, "rrb")) {
      PetscInt used[2] = {0, 0};
      for (int i = 0; i < 2; ++i) {
        PC pc;
        PetscCall(KSPGetPC((KSP)solvers[i], &pc));
        PetscCall(PetscArrayzero(tags, 8));
        PetscCall(PCApply(pc, b, x));
        used[i] = tags[0];
        if (tags[1] || tags[0] == 1) ++shared; /* two tags, or the number zero, which is nobody's */
      }
      if (used[0] && used[0] == used[1]) ++shared;
    }
    PetscCallMPI(MPI_Allreduce(&shared, &none, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s, ", where, kinds[k].name));
    PetscCall(CheckTrue("a tag of its own", (PetscBool)!none));
    for (int i = 0; i < live; ++i) PetscCall(PetscObjectDestroy(&solvers[i]));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&dense));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

/* Memory of a solver of 4 x 4 unknowns, on the host. */
static PetscErrorCode TestMemory(void)
{
  enum { live = 200 };
  const Model  m = {4, 4, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0, 0, 0, 1};
  PetscObject *solvers;
  DM           da;
  Mat          A;
  Vec          b, x;

  PetscFunctionBeginUser;
  PetscCall(ModelCreate(PETSC_COMM_SELF, &m, PETSC_FALSE, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(ModelVector(da, 1, b));
  PetscCall(PetscMalloc1(live, &solvers));
  for (int k = 0; k < 3; ++k) {
    struct mallinfo2 before = {0}, after;
    for (int i = 0; i < live; ++i) {
      if (i == 1) before = mallinfo2();
      PetscCall(Create(&kinds[k], A, b, x, &solvers[i]));
    }
    after = mallinfo2();
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, ", kinds[k].name));
    PetscCall(Check("kB of a solver of 16 unknowns", (PetscReal)(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd) / (live - 1) / 1000, 40));
    for (int i = 0; i < live; ++i) PetscCall(PetscObjectDestroy(&solvers[i]));
  }
  PetscCall(PetscFree(solvers));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  const Model small = {5, 4, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0.1, 0, 0, 1}, grid = {24, 21, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0.1, 0, 0, 1};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TesseraInitializePackage());
  PetscCall(TestCommunicators(PETSC_COMM_SELF, "a process", &small));
  PetscCall(TestCommunicators(PETSC_COMM_WORLD, "all processes", &grid));
  PetscCall(TestMemory());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 4}}
    args: -many_pc_rrb_smoother line_alt
    output_file: output/many.out

TEST*/
