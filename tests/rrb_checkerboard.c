static char help[] = "CG with PC rrb on random checkerboards of 3 x 3 to 60 x 60 nodes in blocks of 1 to 4, whose coefficients jump by 1e4 to 1e6, with Neumann or\n"
                     "Dirichlet sides: it always converges, within 15 iterations, whether the null space is attached to the matrix or not.\n\n"
                     "  -seed s -rounds c -show\n\n";

#include "compat.h"
#include "five_points.h"
#include "rrb_problem.h"

typedef enum { MEAN_HARMONIC, MEAN_ARITHMETIC, MEAN_GEOMETRIC, MEANS } Mean;

typedef struct {
  PetscInt  nx, ny, block;
  PetscReal jump;
  PetscBool neumann, attached;
  Mean      mean; /* of the coefficients of two nodes */
} Board;

static Board Draw(PetscInt seed)
{
  Board b;

  b.nx       = 3 + (PetscInt)(58 * Hash(seed, 1, 1));
  b.ny       = 3 + (PetscInt)((Hash(seed, 8, 1) < 0.5 ? 8 : 58) * Hash(seed, 2, 1));
  b.block    = 1 + (PetscInt)(4 * Hash(seed, 3, 1));
  b.jump     = PetscPowReal(10, 4 + 2 * Hash(seed, 4, 1));
  b.neumann  = (PetscBool)(Hash(seed, 5, 1) < 0.6);
  b.attached = (PetscBool)(b.neumann && Hash(seed, 6, 1) < 0.5);
  b.mean     = (Mean)(MEANS * Hash(seed, 7, 1));
  return b;
}

static PetscReal Coefficient(const Board *b, PetscInt i, PetscInt j)
{
  return (i / b->block + j / b->block) % 2 ? b->jump : 1;
}

static PetscReal Coupling(const Board *b, PetscReal p, PetscReal q)
{
  return b->mean == MEAN_HARMONIC ? 2 * p * q / (p + q) : b->mean == MEAN_ARITHMETIC ? (p + q) / 2 : PetscSqrtReal(p * q);
}

static PetscReal Edge(const void *ctx, PetscInt i, PetscInt j, int k, PetscBool inside, PetscReal *add)
{
  const Board *const b    = (const Board *)ctx;
  const PetscReal    mine = Coefficient(b, i, j);

  if (inside) return Coupling(b, mine, Coefficient(b, i + five_points_di[k], j + five_points_dj[k]));
  *add = b->neumann ? 0 : mine;
  return 0;
}

static PetscErrorCode Test(PetscInt seed, PetscBool show, PetscInt *bad)
{
  const Board        b = Draw(seed);
  DM                 da;
  Mat                A;
  Vec                u, f;
  KSP                ksp;
  PC                 pc;
  PetscInt           its;
  KSPConvergedReason reason;
  PetscReal          residual, norm;
  PetscBool          good;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, b.nx, b.ny, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(FivePointsFill((FivePoints){Edge, NULL, &b}, da, A));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &u));
  PetscCall(ModelVector(da, seed, f));
  if (b.neumann) {
    MatNullSpace constants;
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
    PetscCall(MatNullSpaceRemove(constants, f));
    if (b.attached) PetscCall(MatSetNullSpace(A, constants));
    PetscCall(MatNullSpaceDestroy(&constants));
  }
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(SetDMActive(ksp, PETSC_FALSE));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-6, 1e-50, 1e50, 300));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCRRB));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, f, u));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecNorm(f, NORM_2, &norm));
  PetscCall(VecScale(f, -1));
  PetscCall(MatMultAdd(A, u, f, f));
  PetscCall(VecNorm(f, NORM_2, &residual));
  good = (PetscBool)(reason > 0 && its <= 15 && residual <= 2e-6 * norm);
  if (show || !good) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "seed %d: %d x %d nodes in blocks of %d, jump %.2g, %s%s: %s, %d iterations, residual %.1e\n", (int)seed, (int)b.nx, (int)b.ny, (int)b.block, (double)b.jump, b.neumann ? "Neumann" : "Dirichlet", b.attached ? ", null space attached" : "", KSPConvergedReasons[reason], (int)its, (double)(residual / norm)));
  *bad += !good;
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&f));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscInt  seed = 1, rounds = 500, bad = 0;
  PetscBool show = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rounds", &rounds, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-show", &show, NULL));
  for (PetscInt k = seed; k < seed + rounds; ++k) PetscCall(Test(k, show, &bad));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, bad ? "%d problems, %d bad\n" : "%d problems, none bad\n", (int)rounds, (int)bad));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    args: -seed 401 -rounds 500 -ksp_type {{cg rrb}}
    output_file: output/rrb_checkerboard.out

  test:
    suffix: three
    nsize: 3
    args: -seed 1201 -rounds 200

TEST*/
