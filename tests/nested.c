static const char help[] = "rrb and auxamg on a part of a matrix: blocks of domain decompositions, and the reduced matrix of vinewtonrsls. By options alone.\n\n";

#include "rrb_problem.h"
#include <petscsnes.h>

/* A preconditioner with a solver inside, and the prefix of that. */
typedef struct {
  const char *name, *options, *prefix;
} Outer;
static const Outer outer[] = {{"bjacobi", "-pc_type bjacobi", "sub_"},
                              {"bjacobi, 3 blocks per process", "-pc_type bjacobi -pc_bjacobi_local_blocks 3", "sub_"},
                              {"asm", "-pc_type asm", "sub_"},
                              {"asm, overlap 2", "-pc_type asm -pc_asm_overlap 2 -pc_asm_type basic", "sub_"},
                              {"asm, blocks of the DMDA", "-pc_type asm -pc_asm_dm_subdomains", "sub_"},
                              {"gasm", "-pc_type gasm", "sub_"},
                              {"redundant", "-pc_type redundant", "redundant_"},
                              {"redistribute", "-pc_type redistribute", "redistribute_"}};

/* A direct solver, and iterations that reach its answer in few steps if the preconditioner is what it should be. */
static const char *const direct[] = {"ksp_type", "preonly", "pc_type", "redundant", "redundant_pc_type", "lu", NULL};
static const char *const inner[][11] = {{"ksp_type", "cg", "pc_type", "rrb", "ksp_rtol", "1e-11", "ksp_max_it", "25", NULL},
                                        {"ksp_type", "rrb", "pc_type", "rrb", "ksp_rtol", "1e-11", "ksp_max_it", "25", NULL},
                                        {"ksp_type", "cg", "pc_type", "auxamg", "ksp_rtol", "1e-11", "ksp_max_it", "40", NULL}};
static const char *const inner_name[] = {"pc rrb", "ksp rrb", "pc auxamg"};

static PetscErrorCode SetOptions(const char all[], const char prefix[], const char *const inside[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscOptionsClear(NULL));
  PetscCall(PetscOptionsInsertString(NULL, all));
  for (int i = 0; inside[i]; i += 2) {
    char name[64];
    PetscCall(PetscSNPrintf(name, sizeof(name), "-%s%s", prefix, inside[i]));
    PetscCall(PetscOptionsSetValue(NULL, name, inside[i + 1]));
  }
  PetscFunctionReturn(0);
}

/* One application of the outer preconditioner. */
static PetscErrorCode Apply(DM da, Mat A, Vec b, const Outer *o, const char *const inside[], Vec x)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(SetOptions(o->options, o->prefix, inside));
  PetscCall(PCCreate(PetscObjectComm((PetscObject)A), &pc));
  if (da) PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSetUpOnBlocks(pc));
  PetscCall(PCApply(pc, b, x));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(0);
}

static PetscErrorCode TestBlocks(const Model *m, const char name[], size_t first, size_t last)
{
  DM        da;
  Mat       A;
  Vec       b, x, y;
  PetscReal difference;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsClear(NULL));
  PetscCall(ModelCreate(PETSC_COMM_WORLD, m, PETSC_FALSE, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(ModelVector(da, 1, b));
  for (size_t o = 0; o < sizeof(outer) / sizeof(outer[0]); ++o) {
    PetscCall(Apply(da, A, b, &outer[o], direct, y));
    for (size_t k = first; k < last; ++k) {
      char what[128];
      PetscCall(Apply(da, A, b, &outer[o], inner[k], x));
      PetscCall(Difference(x, y, &difference));
      PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s, %s", name, outer[o].name, inner_name[k]));
      PetscCall(Check(what, difference, 1e-7));
    }
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

/* All rows are on the first process: the blocks of the others have none. */
static PetscErrorCode TestEmptyBlocks(void)
{
  const PetscInt nx = 14, ny = 11, N = nx * ny;
  PetscInt       first, end;
  PetscMPIInt    rank;
  PetscReal      size, residual;
  Mat            A;
  Vec            b, x, r;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsClear(NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, rank ? 0 : N, rank ? 0 : N, N, N, 5, NULL, 0, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt p = first; p < end; ++p) {
    const PetscInt q[5] = {p - nx, p - 1, p, p + 1, p + nx};
    const PetscScalar v[5] = {-1, -1, 4, -1, -1};
    for (int k = 0; k < 5; ++k)
      if (q[k] >= 0 && q[k] < N && !(k == 1 && p % nx == 0) && !(k == 3 && p % nx == nx - 1)) PetscCall(MatSetValues(A, 1, &p, 1, &q[k], &v[k], INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(b, 1));
  PetscCall(VecNorm(b, NORM_2, &size));
  for (size_t o = 0; o < 3; o += 2) /* bjacobi, asm */
    for (size_t k = 0; k < sizeof(inner) / sizeof(inner[0]); ++k) {
      char what[128];
      PetscCall(Apply(NULL, A, b, &outer[o], inner[k], x));
      PetscCall(MatMult(A, x, r));
      PetscCall(VecAXPY(r, -1, b));
      PetscCall(VecNorm(r, NORM_2, &residual));
      PetscCall(PetscSNPrintf(what, sizeof(what), "blocks without rows, %s, %s", outer[o].name, inner_name[k]));
      PetscCall(Check(what, residual / size, 1e-7));
    }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

typedef struct {
  Mat A;
  Vec b;
} Linear;

static PetscErrorCode Function(SNES snes, Vec x, Vec f, void *ctx)
{
  Linear *l = (Linear *)ctx;

  (void)snes;
  PetscFunctionBeginUser;
  PetscCall(MatMult(l->A, x, f));
  PetscCall(VecAXPY(f, -1, l->b));
  PetscFunctionReturn(0);
}

static PetscErrorCode Jacobian(SNES snes, Vec x, Mat J, Mat P, void *ctx)
{
  (void)snes, (void)x, (void)J, (void)P, (void)ctx;
  PetscFunctionBeginUser;
  PetscFunctionReturn(0);
}

static PetscErrorCode Obstacle(DM da, Mat A, const char *const inside[], Vec x, PetscInt *its)
{
  Linear l = {A, NULL};
  SNES   snes;
  Vec    f, low, high;

  PetscFunctionBeginUser;
  PetscCall(SetOptions("-snes_type vinewtonrsls -snes_rtol 1e-11", "", inside));
  PetscCall(VecDuplicate(x, &f));
  PetscCall(VecDuplicate(x, &low));
  PetscCall(VecDuplicate(x, &high));
  PetscCall(VecDuplicate(x, &l.b));
  PetscCall(ModelVector(da, 3, l.b));
  PetscCall(VecShift(l.b, 0.05));
  PetscCall(VecSet(low, 0));
  PetscCall(VecSet(high, 0.12));
  PetscCall(VecSet(x, 0));
  PetscCall(SNESCreate(PetscObjectComm((PetscObject)da), &snes));
  PetscCall(SNESSetDM(snes, da));
  PetscCall(SNESSetFunction(snes, f, Function, &l));
  PetscCall(SNESSetJacobian(snes, A, A, Jacobian, NULL));
  PetscCall(SNESVISetVariableBounds(snes, low, high));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(SNESGetIterationNumber(snes, its));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&l.b));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&low));
  PetscCall(VecDestroy(&high));
  PetscFunctionReturn(0);
}

static PetscErrorCode TestReduced(const Model *m, const char name[])
{
  DM        da;
  Mat       A;
  Vec       x, y;
  PetscReal difference;
  PetscInt  its, expected;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsClear(NULL));
  PetscCall(ModelCreate(PETSC_COMM_WORLD, m, PETSC_FALSE, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(Obstacle(da, A, direct, y, &expected));
  for (size_t k = 0; k < sizeof(inner) / sizeof(inner[0]); ++k) {
    PetscCall(Obstacle(da, A, inner[k], x, &its));
    PetscCall(Difference(x, y, &difference));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, vinewtonrsls, %s, ", name, inner_name[k]));
    PetscCall(Check(its == expected && its > 2 ? "as many steps and the solution" : "other steps", difference, 1e-7));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  const Model five = {29, 26, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0.05, 0, 2, 1}, nine = {29, 26, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0.05, 0, 2, 1};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TesseraInitializePackage());
  PetscCall(TestBlocks(&five, "5 points", 0, 3));
  PetscCall(TestBlocks(&nine, "9 points", 0, 1)); /* KSP rrb is for 5 points */
  PetscCall(TestEmptyBlocks());
  PetscCall(TestReduced(&five, "5 points"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3 4}}
    output_file: output/nested.out

TEST*/
