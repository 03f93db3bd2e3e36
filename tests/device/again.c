static char help[] = "KSP rrb solves again and again, with everything exchanged between solves that a kept graph could have kept the old one of:\n\
limits, vectors, null spaces, values, choices, the operator, and another solver in between. Each solution is compared with that of a new solver.\n\n";

#include "../compat.h"
#include "../five_points.h"
#include <petscdmda.h>
#include <petscksp.h>

/* Couplings over edges: smooth, over decades, closed lakes of two kinds, nearly closed ones, strong in one direction. */
typedef enum {
  SMOOTH, DECADES, LAKES, MORE_LAKES, WEAK_LAKES, ANISOTROPIC, KINDS
} Kind;

typedef enum {
  DIRICHLET, /* beyond the grid */
  ONE_SIDED, /* identity rows along the boundary; their neighbours keep the coupling */
  NEUMANN
} Boundary;

static PetscInt number = 0, failures = 0;

static PetscReal Hash(PetscInt a, PetscInt b, PetscInt c) /* [0, 1) */
{
  unsigned long long h = (unsigned long long)a * 0x9e3779b97f4a7c15ull + (unsigned long long)b * 0xc2b2ae3d27d4eb4full + (unsigned long long)c * 0x165667b19e3779f9ull + 12345;

  for (int i = 0; i < 3; ++i) h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9ull;
  return (PetscReal)((h ^ (h >> 32)) >> 11) / 9007199254740992.0;
}

static PetscReal Flux(Kind kind, PetscInt seed, PetscInt i, PetscInt j, PetscInt direction) /* to the east, 0, or north, 1 */
{
  const PetscReal noise = 1 + Hash(i, j, 10 * seed + direction);
  const PetscInt  lake  = kind == MORE_LAKES ? 11 : 23;
  const PetscBool dam   = (PetscBool)((direction ? j : i) % lake == lake - 1);

  switch (kind) {
  case DECADES: return PetscPowReal(10, 3 * Hash(i, j, 10 * seed + direction));
  case LAKES:
  case MORE_LAKES: return dam ? 0 : noise;
  case WEAK_LAKES: return dam ? 1e-6 * noise : noise;
  case ANISOTROPIC: return direction ? 1e-3 * noise : noise;
  default: return noise;
  }
}

typedef struct {
  Kind     kind;
  Boundary boundary;
  PetscInt seed, nx, ny;
} Problem;

static PetscBool IsAlone(const Problem *p, PetscInt i, PetscInt j) /* a row whose couplings are zero, while its neighbors keep theirs */
{
  return (PetscBool)(p->boundary == ONE_SIDED && (!i || !j || i == p->nx - 1 || j == p->ny - 1));
}

static PetscReal Edge(const void *ctx, PetscInt i, PetscInt j, int k, PetscBool inside, PetscReal *add)
{
  const Problem *const p = (const Problem *)ctx;
  const PetscReal      f = Flux(p->kind, p->seed, PetscMin(i, i + five_points_di[k]), PetscMin(j, j + five_points_dj[k]), k / 2);

  *add = inside ? f : p->boundary == DIRICHLET ? 1 : 0;
  return IsAlone(p, i, j) ? 0 : f;
}

static PetscReal Diagonal(const void *ctx, PetscInt i, PetscInt j, PetscReal sum)
{
  const Problem *const p = (const Problem *)ctx;

  return IsAlone(p, i, j) ? 1 + Hash(i, j, p->seed) : sum > 0 ? sum : 1;
}

static PetscErrorCode Fill(DM da, Kind kind, Boundary boundary, PetscInt seed, Mat A)
{
  Problem p = {kind, boundary, seed, 0, 0};

  PetscFunctionBeginUser;
  PetscCall(DMDAGetInfo(da, NULL, &p.nx, &p.ny, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(FivePointsFill((FivePoints){Edge, Diagonal, &p}, da, A));
  PetscFunctionReturn(0);
}

static PetscErrorCode Create(PetscInt nx, PetscInt ny, DM *da, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, nx, ny, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscFunctionReturn(0);
}

static PetscErrorCode NewKSP(DM da, Mat A, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetType(*ksp, "rrb"));
  PetscCall(KSPSetTolerances(*ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, 300));
  PetscCall(KSPSetDM(*ksp, da));
  PetscCall(SetDMActive(*ksp, PETSC_FALSE));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(0);
}

static PetscErrorCode Option(KSP ksp, const char name[], const char value[])
{
  PetscFunctionBeginUser;
  if (value) PetscCall(PetscOptionsSetValue(NULL, name, value));
  else PetscCall(PetscOptionsClearValue(NULL, name));
  PetscCall(KSPSetFromOptions(ksp));
  PetscFunctionReturn(0);
}

/* New vectors each time, the right-hand side in the range of A; residual, and iterations beside those of a new solver. Of what has a
   null space the residual alone says something: solutions differ by it. */
static PetscErrorCode Solve(const char what[], KSP ksp, DM da)
{
  Mat                A;
  Vec                b, x, u, y;
  KSP                other;
  PetscInt           its, fresh, xs, ys, xm, ym;
  PetscReal          norm, residual, beside;
  KSPConvergedReason reason;
  PetscScalar      **v;
  PetscBool          bad;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(DMCreateGlobalVector(da, &u));
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArray(da, u, &v));
  for (PetscInt j = ys; j < ys + ym; j++)
    for (PetscInt i = xs; i < xs + xm; i++) v[j][i] = Hash(i, j, number) - 0.5;
  PetscCall(DMDAVecRestoreArray(da, u, &v));
  PetscCall(VecDuplicate(u, &b));
  PetscCall(VecDuplicate(u, &x));
  PetscCall(VecDuplicate(u, &y));
  PetscCall(MatMult(A, u, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(NewKSP(da, A, &other));
  PetscCall(KSPSolve(other, b, y));
  PetscCall(KSPGetIterationNumber(other, &fresh));
  PetscCall(KSPDestroy(&other));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(MatMult(A, x, u));
  PetscCall(VecAXPY(u, -1.0, b));
  PetscCall(VecNorm(u, NORM_2, &residual));
  PetscCall(MatMult(A, y, u));
  PetscCall(VecAXPY(u, -1.0, b));
  PetscCall(VecNorm(u, NORM_2, &beside));
  bad = (PetscBool)!(reason > 0 && residual <= 1e-9 * norm + 2 * beside && its <= 3 * fresh + 8);
  failures += bad;
  if (bad) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "solve %d, %s: %s, %d iterations, a new solver %d; residuals %g and %g\n", (int)number, what, KSPConvergedReasons[reason], (int)its, (int)fresh, (double)(residual / norm), (double)(beside / norm)));
  ++number;
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(0);
}

/* Few iterations, then many: the history grows. */
static PetscErrorCode Limits(KSP ksp, DM da)
{
  static const PetscInt most[] = {2, 40, 1, 3000};
  Vec                   b, x;
  PetscInt              its;

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecSet(b, 1.0));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(most); ++k) {
    PetscCall(KSPSetTolerances(ksp, k % 2 ? 1e-10 : 0.0, 0.0, PETSC_DEFAULT, most[k]));
    if (k % 2) PetscCall(Solve("limits", ksp, da));
    else {
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetIterationNumber(ksp, &its));
      failures += its != most[k];
      if (its != most[k]) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d iterations of at most %d\n", (int)its, (int)most[k]));
    }
  }
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, 300));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(0);
}

/* With the constants, without, and as a vector that the program gives; after a right-hand side that single precision does not hold, which
   may fail but leaves nothing behind. */
static PetscErrorCode NullSpaces(KSP ksp, DM da, Mat A)
{
  MatNullSpace nullspace;
  Vec          v, b, x;

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(da, &v));
  PetscCall(VecDuplicate(v, &b));
  PetscCall(VecDuplicate(v, &x));
  PetscCall(VecSet(v, 1.0));
  PetscCall(VecNormalize(v, NULL));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(VecScale(b, 1e160));
  PetscCall(Fill(da, SMOOTH, NEUMANN, 3, A));
  for (int k = 0; k < 6; ++k) {
    const int given = k % 3;
    if (given) PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, given == 1 ? PETSC_TRUE : PETSC_FALSE, given - 1, &v, &nullspace));
    PetscCall(MatSetNullSpace(A, given ? nullspace : NULL));
    if (given) PetscCall(MatNullSpaceDestroy(&nullspace));
    if (k == 3) PetscCall(Fill(da, DECADES, NEUMANN, 4, A));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Solve(given ? "a null space" : "no null space", ksp, da));
  }
  PetscCall(MatSetNullSpace(A, NULL));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(0);
}

/* A setup for new values leaves what a first setup for them does, where nothing was chosen by the old ones: the same bits. Lakes have
   next operators with zeros on their diagonals, which there were none of before. */
static PetscErrorCode SameBits(DM da, Mat A)
{
  static const Kind kinds[] = {SMOOTH, MORE_LAKES, SMOOTH, LAKES, DECADES, MORE_LAKES};
  KSP                ksp, fresh;
  Vec                b, x, y;
  PetscBool          same;
  KSPConvergedReason reason[2];

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_rrb_smoother", "point"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(kinds); ++k) {
    PetscCall(Fill(da, kinds[k], NEUMANN, 1, A));
    PetscCall(VecSetRandom(x, NULL));
    PetscCall(MatMult(A, x, b));
    if (!k) PetscCall(NewKSP(da, A, &ksp));
    PetscCall(NewKSP(da, A, &fresh));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPSolve(fresh, b, y));
    PetscCall(VecEqual(x, y, &same));
    PetscCall(KSPGetConvergedReason(ksp, &reason[0]));
    PetscCall(KSPGetConvergedReason(fresh, &reason[1]));
    same = (PetscBool)(same && reason[0] > 0 && reason[1] > 0);
    failures += !same;
    ++number;
    if (!same) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "new values %d: not what a first setup gives\n", (int)k));
    PetscCall(KSPDestroy(&fresh));
  }
  PetscCall(PetscOptionsClearValue(NULL, "-pc_rrb_smoother"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  static const char *const choices[][2] = {{"-pc_rrb_sweeps", "2"}, {"-pc_rrb_sweeps", "1"}, {"-pc_rrb_cycle", "k"}, {"-pc_rrb_cycle_inner", "3"}, {"-pc_rrb_cycle", "amli"}, {"-pc_rrb_cycle_inner", "2"}, {"-pc_rrb_cycle", "v"},
                                           {"-pc_rrb_smoother", "line_alt"}, {"-pc_rrb_smoother", "auto"}, {"-pc_rrb_precision", "double"}, {"-pc_rrb_levels", "4"}, {"-pc_rrb_levels", "6"}, {"-pc_rrb_precision", "single"},
                                           {"-pc_rrb_sweeps", "0"}, {"-pc_rrb_coarsening", "lump"}, {"-pc_rrb_cycle", "k"}, {"-pc_rrb_cycle", "amli"}, {"-pc_rrb_coarsening", "galerkin"}, {"-pc_rrb_cycle", "auto"}};
  DM  da, other_da;
  Mat A, other_A;
  KSP ksp, other;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(Create(101, 90, &da, &A));
  PetscCall(Create(64, 75, &other_da, &other_A));
  PetscCall(Fill(da, SMOOTH, DIRICHLET, 1, A));
  PetscCall(Fill(other_da, SMOOTH, DIRICHLET, 2, other_A));
  PetscCall(NewKSP(da, A, &ksp));
  PetscCall(NewKSP(other_da, other_A, &other));
  PetscCall(Solve("first", ksp, da));
  PetscCall(Solve("again", ksp, da));
  PetscCall(Limits(ksp, da));
  PetscCall(NullSpaces(ksp, da, A));
  for (int k = 0; k < 2 * KINDS; ++k) { /* new values, another solver in between */
    PetscCall(Fill(da, (Kind)(k % KINDS), (Boundary)(k % 3), k, A));
    PetscCall(Solve("new values", ksp, da));
    if (k % 3 == 1) PetscCall(Fill(other_da, (Kind)(k / 3 % 2), (Boundary)(k % 2), k, other_A));
    PetscCall(Solve("the other one", other, other_da));
    PetscCall(Solve("new values, again", ksp, da));
    if (k % 5 == 4) { /* gone, and made again where there is room */
      PetscCall(KSPDestroy(&other));
      PetscCall(NewKSP(other_da, other_A, &other));
    }
  }
  PetscCall(Fill(da, SMOOTH, ONE_SIDED, 5, A));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(choices); ++k) {
    PetscCall(Option(ksp, choices[k][0], choices[k][1]));
    PetscCall(Solve(choices[k][1], ksp, da));
    if (k % 4 == 2) PetscCall(Fill(da, k % 8 == 2 ? DECADES : SMOOTH, DIRICHLET, (PetscInt)k, A));
    PetscCall(Solve(choices[k][0], ksp, da));
  }
  PetscCall(KSPReset(ksp)); /* another operator, of another size */
  PetscCall(KSPSetDM(ksp, other_da));
  PetscCall(SetDMActive(ksp, PETSC_FALSE));
  PetscCall(KSPSetOperators(ksp, other_A, other_A));
  PetscCall(Solve("another size", ksp, other_da));
  PetscCall(Solve("the other one", other, other_da));
  PetscCall(SameBits(da, A));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d solves, %d wrong\n", (int)number, (int)failures));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPDestroy(&other));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&other_A));
  PetscCall(DMDestroy(&da));
  PetscCall(DMDestroy(&other_da));
  PetscCall(PetscFinalize());
  return 0;
}
