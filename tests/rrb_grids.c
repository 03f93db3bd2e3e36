static char help[] = "PCGetInterpolations() and PCGetCoarseOperators() of PC rrb: each operator is P'AP of the one before, and a PCMG of the interpolations converges.\n\n";

#include "rrb_problem.h"

static char message[4096];

static PetscErrorCode Keep(MPI_Comm comm, int line, const char *fun, const char *file, PetscErrorCode n, PetscErrorType p, const char *mess, void *ctx)
{
  (void)comm, (void)line, (void)fun, (void)file, (void)ctx;
  if (p == PETSC_ERROR_INITIAL && mess) (void)PetscStrncpy(message, mess, sizeof(message));
  return n;
}

/* Is it this error, with this text in its message? */
static PetscErrorCode CheckRefused(const char what[], PC pc, PetscErrorCode code, const char has[])
{
  PetscErrorCode error;
  PetscInt       levels;
  Mat           *P;

  PetscFunctionBeginUser;
  message[0] = 0;
  PetscCall(PetscPushErrorHandler(Keep, NULL));
  error = PCGetInterpolations(pc, &levels, &P);
  PetscCall(PetscPopErrorHandler());
  PetscCall(CheckTrue(what, (PetscBool)(error == code && strstr(message, has))));
  PetscFunctionReturn(0);
}

/* CG with multigrid of these interpolations and PETSc's smoothers. */
static PetscErrorCode Solve(Mat A, PetscInt levels, Mat *P)
{
  KSP                ksp;
  PC                 pc;
  Vec                x, b;
  PetscInt           its;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "other_"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PCMGSetLevels(pc, levels, NULL));
  PetscCall(PCMGSetGalerkin(pc, PC_MG_GALERKIN_BOTH));
  for (PetscInt l = 1; l < levels; ++l) PetscCall(PCMGSetInterpolation(pc, l, P[l - 1]));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(Check("  iterations of PCMG", reason > 0 ? its : 1000, 15));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(0);
}

static PetscErrorCode CheckGrids(PC pc, PetscBool dropped, PetscBool solve)
{
  Mat              A, *P, *operators;
  PetscInt         levels, others, grids, M, N, n;
  const PetscInt  *nx, *ny;
  PetscReal        worst = 0, norm, difference;
  PetscBool        sizes = PETSC_TRUE;
  TesseraGridsInfo info;

  PetscFunctionBeginUser;
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(PCGetInterpolations(pc, &levels, &P));
  PetscCall(PCGetCoarseOperators(pc, &others, &operators));
  PetscCall(PCRRBGetGridSizes(pc, &grids, &nx, &ny));
  PetscCall(PCRRBGetInfo(pc, &info));
  for (PetscInt l = levels - 2; l >= 0; --l) {
    const PetscInt nodes = nx[levels - 1 - l] * ny[levels - 1 - l];
    Mat            product;
    PetscCall(MatGetSize(P[l], &M, &N));
    PetscCall(MatGetSize(operators[l], &n, NULL));
    if (n != N || (dropped ? n > nodes : n != nodes)) sizes = PETSC_FALSE;
    PetscCall(MatPtAP(l == levels - 2 ? A : operators[l + 1], P[l], MAT_INITIAL_MATRIX, PETSC_DEFAULT, &product));
    PetscCall(MatNorm(product, NORM_FROBENIUS, &norm));
    PetscCall(MatAXPY(product, -1, operators[l], DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatNorm(product, NORM_FROBENIUS, &difference));
    if (!(difference <= worst * norm)) worst = difference / norm;
    PetscCall(MatDestroy(&product));
  }
  PetscCall(CheckTrue("  sizes of the grids", (PetscBool)(sizes && levels > 2 && levels == others && levels == grids)));
  PetscCall(Check("  P'AP and the operators differ", worst, 1e-13));
  if (solve) PetscCall(Solve(A, levels, P));
  for (PetscInt l = 0; l + 1 < levels; ++l) {
    PetscCall(MatDestroy(&P[l]));
    PetscCall(MatDestroy(&operators[l]));
  }
  PetscCall(PetscFree(P));
  PetscCall(PetscFree(operators));
  PetscFunctionReturn(0);
}

/* Couplings of six decades without order. */
static PetscErrorCode Leap(const Model *m, DM da, Mat A)
{
  PetscInt xs, ys, xm, ym;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i) {
      MatStencil  row = {.i = i, .j = j}, col[5];
      PetscScalar v[5], d = 0;
      PetscInt    n = 0;
      for (int k = 0; k < 4; ++k) {
        const PetscInt x = i + (k == 0) - (k == 1), y = j + (k == 2) - (k == 3);
        const PetscReal c = PetscPowReal(10, 6 * Hash(PetscMin(i, x), PetscMin(j, y), k / 2));
        d += c;
        if (!ModelInside(m, x, y)) continue;
        col[n]   = (MatStencil){.i = x, .j = y};
        v[n++]   = -c;
      }
      col[n] = row;
      v[n++] = d;
      PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

typedef struct {
  const char *name, *option, *value;
  Model       m;
  PetscBool   dropped; /* nodes that are left out of the grids */
  PetscBool   solve, leaps;
} Case;
static const Case cases[] = {
  {"5 points", .m = {.nx = 130, .ny = 97, .spread = 5}, .solve = PETSC_TRUE},
  {"9 points, in natural order", "-pc_rrb_quarters", "0", .m = {.nx = 64, .ny = 91, .spread = 5, .nine = PETSC_TRUE}, .solve = PETSC_TRUE},
  {"least squares", "-pc_rrb_interpolation", "least_squares", .m = {.nx = 100, .ny = 97, .spread = 100}, .solve = PETSC_TRUE},
  {"single precision", "-pc_rrb_precision", "single", .m = {.nx = 130, .ny = 97, .spread = 5}, .solve = PETSC_TRUE},
  {"periodic", .m = {.nx = 128, .ny = 64, .periodic_x = PETSC_TRUE, .periodic_y = PETSC_TRUE, .alpha = 0.1}, .solve = PETSC_TRUE},
  {"Neumann", .m = {.nx = 130, .ny = 97, .neumann = PETSC_TRUE}},
  {"Dirichlet rows on one side", .m = {.nx = 130, .ny = 96, .dirichlet_rows = 1}, .dropped = PETSC_TRUE},
  {"Dirichlet rows without couplings", .m = {.nx = 130, .ny = 96, .dirichlet_rows = 2}, .dropped = PETSC_TRUE, .solve = PETSC_TRUE},
  {"nodes that take no part", .m = {.nx = 130, .ny = 96, .dead = 0.3, .alpha = 0.01}, .dropped = PETSC_TRUE},
  {"large grids on every process", "-pc_rrb_redundant", "100000", .m = {.nx = 130, .ny = 97, .spread = 5}, .solve = PETSC_TRUE},
  {"leaping coefficients", .m = {.nx = 130, .ny = 97}, .leaps = PETSC_TRUE},
  {"leaping coefficients, small grids on processes", "-pc_rrb_redundant", "200", .m = {.nx = 97, .ny = 111}, .leaps = PETSC_TRUE},
  {"leaping coefficients, all on every process", "-pc_rrb_redundant", "100000", .m = {.nx = 65, .ny = 64}, .leaps = PETSC_TRUE}};

static PetscErrorCode Example(const Case *c)
{
  DM          da;
  Mat         A;
  PC          pc;
  PCRRBChoice choice;

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", c->name));
  if (c->option) PetscCall(PetscOptionsSetValue(NULL, c->option, c->value));
  PetscCall(ModelCreate(PETSC_COMM_WORLD, &c->m, PETSC_FALSE, &da, &A));
  if (c->leaps) PetscCall(Leap(&c->m, da, A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCRRB));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(CheckRefused("  before the setup", pc, PETSC_ERR_ORDER, "PCSetUp()"));
  PetscCall(PCSetUp(pc));
  PetscCall(PCRRBGetChoice(pc, &choice));
  PetscCall(CheckTrue("  algebraic levels where there are leaps", (PetscBool)((choice.algebraic > 0) == c->leaps)));
  PetscCall(CheckGrids(pc, c->dropped || choice.algebraic, c->solve));
  PetscCall(MatScale(A, 2));
  PetscCall(CheckRefused("  with other values", pc, PETSC_ERR_ORDER, "has changed"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  if (c->option) PetscCall(PetscOptionsClearValue(NULL, c->option));
  PetscFunctionReturn(0);
}

/* The block of bjacobi, whose grid is found by the couplings; and a matrix whose rows do not end with lines. */
static PetscErrorCode Others(void)
{
  const Model m = {.nx = 61, .ny = 64, .spread = 5};
  DM          da;
  Mat         A, B;
  PC          pc, inner;
  KSP        *sub;
  PetscInt    M, n;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "rows by another distribution\n"));
  PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, m.nx, m.ny, 1, 1, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &B));
  PetscCall(ModelFill(&m, da, B));
  PetscCall(MatGetSize(B, &M, NULL));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, M, M, 5, NULL, 5, NULL, &A));
  for (PetscInt r = 0; rank == 0 && r < M; ++r) {
    const PetscInt    *j;
    const PetscScalar *v;
    PetscCall(MatGetRow(B, r, &n, &j, &v));
    PetscCall(MatSetValues(A, 1, &r, n, j, v, INSERT_VALUES));
    PetscCall(MatRestoreRow(B, r, &n, &j, &v));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCRRB));
  PetscCall(PCRRBSetGrid(pc, m.nx, m.ny));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetUp(pc));
  PetscCall(CheckGrids(pc, PETSC_FALSE, PETSC_TRUE));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a block\n"));
  PetscCall(PCSetType(pc, PCBJACOBI));
  PetscCall(PCSetUp(pc));
  PetscCall(PCBJacobiGetSubKSP(pc, NULL, NULL, &sub));
  PetscCall(KSPGetPC(sub[0], &inner));
  PetscCall(PCSetType(inner, PCRRB));
  PetscCall(PCSetUpOnBlocks(pc));
  if (!rank) PetscCall(CheckGrids(inner, PETSC_TRUE, PETSC_FALSE));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "what there is not\n"));
  PetscCall(PCDestroy(&pc));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCRRB));
  PetscCall(PCRRBSetGrid(pc, m.nx, m.ny));
  PetscCall(PCRRBSetCoarsening(pc, PC_RRB_COARSENING_LUMP));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetUp(pc));
  PetscCall(CheckRefused("  lump", pc, PETSC_ERR_SUP, "-pc_rrb_coarsening galerkin"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&da));
  {
    const Model cut = {.nx = 68, .ny = 68, .periodic_x = PETSC_TRUE, .periodic_y = PETSC_TRUE, .alpha = 0.1};
    PetscCall(ModelCreate(PETSC_COMM_WORLD, &cut, PETSC_FALSE, &da, &A));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetType(pc, PCRRB));
    PetscCall(PCSetDM(pc, da));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetUp(pc));
    PetscCall(CheckRefused("  a seam that is cut", pc, PETSC_ERR_SUP, "grid 2 (17 x 17)"));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscBool leaps = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TesseraInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-leaps", &leaps, NULL));
  for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c)
    if (cases[c].leaps == leaps) PetscCall(Example(&cases[c]));
  if (!leaps) PetscCall(Others());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 4}}
    output_file: output/rrb_grids.out

  test:
    suffix: leaps
    nsize: {{1 2 4}}
    output_file: output/rrb_grids_leaps.out
    args: -leaps -pc_rrb_backend host

TEST*/
