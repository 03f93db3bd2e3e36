static char help[] = "A right-hand side that is not finite leaves nothing behind: the next solve gives the bits that a new solver gives.\n\
  -kind grid|dense : a matrix of five points on a DMDA, or a dense one\n\
  -snes            : with bounds, by a SNES\n\
  -split           : even and odd processes solve problems of their own\n\n";

#include "compat.h"
#include "five_points.h"
#include "tessera.h"
#include <petscdmda.h>
#include <petscksp.h>
#include <petscsnes.h>

typedef struct {
  MPI_Comm comm;
  DM       da; /* of the grid */
  Mat      A;
  Vec      b;
} Case;

static PetscReal Flux(PetscInt i, PetscInt j, PetscInt seed) { return 1.5 + PetscSinReal(1.3 * i + 0.7 * j * j + seed); }

static PetscReal GridCoupling(const void *ctx, PetscInt i, PetscInt j, int k, PetscBool inside, PetscReal *add)
{
  (void)ctx, (void)inside, (void)add;
  return Flux(PetscMin(i, i + five_points_di[k]), PetscMin(j, j + five_points_dj[k]), k / 2);
}

static PetscErrorCode Grid(Case *c, PetscInt nx, PetscInt ny)
{
  const FivePoints operator = {GridCoupling, NULL, NULL};

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(c->comm, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, nx, ny, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &c->da));
  PetscCall(DMSetUp(c->da));
  PetscCall(DMDASetUniformCoordinates(c->da, 0, 1, 0, 1, 0, 1));
  PetscCall(DMCreateMatrix(c->da, &c->A));
  PetscCall(FivePointsFill(operator, c->da, c->A));
  PetscCall(DMCreateGlobalVector(c->da, &c->b));
  PetscFunctionReturn(0);
}

static PetscErrorCode Dense(Case *c, PetscInt n)
{
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(MatCreateDense(c->comm, PETSC_DECIDE, PETSC_DECIDE, n, n, NULL, &c->A));
  PetscCall(MatGetOwnershipRange(c->A, &first, &last));
  for (PetscInt i = first; i < last; ++i)
    for (PetscInt j = 0; j < n; ++j) PetscCall(MatSetValue(c->A, i, j, (i == j ? 4 : 0) + 1. / (1 + PetscAbsInt(i - j)), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(c->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(c->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(c->A, &c->b, NULL));
  PetscFunctionReturn(0);
}

/* The right-hand side; at one place, or everywhere, what is wrong: 0 nothing, 1 NaN, 2 and 3 infinities, 4 what overflows in a product. */
static PetscErrorCode Side(Case *c, int wrong, int place)
{
  const PetscReal values[] = {0, NAN, INFINITY, -INFINITY, 1e300};
  PetscInt        first, last, n;
  PetscScalar    *b;

  PetscFunctionBegin;
  PetscCall(VecGetSize(c->b, &n));
  PetscCall(VecGetOwnershipRange(c->b, &first, &last));
  PetscCall(VecGetArray(c->b, &b));
  for (PetscInt i = first; i < last; ++i) {
    const PetscBool here = (PetscBool)(place == 2 || i == (place ? n - 1 : 0));
    b[i - first]         = wrong && here ? values[wrong] : PetscSinReal(0.37 * i) + 0.2;
  }
  PetscCall(VecRestoreArray(c->b, &b));
  PetscFunctionReturn(0);
}

/* What solves: a KSP, its PC alone, or a SNES. */
typedef struct {
  Case *c;
  KSP   ksp;
  PC    pc;
  SNES  snes;
} Solver;

static PetscErrorCode Function(SNES snes, Vec x, Vec f, void *ctx)
{
  Case *c = (Case *)ctx;

  PetscFunctionBegin;
  (void)snes;
  PetscCall(MatMult(c->A, x, f));
  PetscCall(VecAXPY(f, -1, c->b));
  PetscFunctionReturn(0);
}

static PetscErrorCode Jacobian(SNES snes, Vec x, Mat J, Mat P, void *ctx)
{
  (void)snes, (void)x, (void)J, (void)P, (void)ctx;
  return 0;
}

static PetscErrorCode Create(Case *c, PetscBool by_snes, PetscBool by_pc, Solver *s)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  s->c = c;
  if (by_snes) {
    Vec bounds[2], r;
    PetscCall(SNESCreate(c->comm, &s->snes));
    if (c->da) PetscCall(SNESSetDM(s->snes, c->da));
    PetscCall(VecDuplicate(c->b, &r));
    PetscCall(SNESSetFunction(s->snes, r, Function, c));
    PetscCall(SNESSetJacobian(s->snes, c->A, c->A, Jacobian, c));
    for (int k = 0; k < 2; ++k) {
      PetscCall(VecDuplicate(c->b, &bounds[k]));
      PetscCall(VecSet(bounds[k], k ? 0.15 : -0.05));
    }
    PetscCall(SNESVISetVariableBounds(s->snes, bounds[0], bounds[1]));
    PetscCall(SNESSetFromOptions(s->snes));
    for (int k = 0; k < 2; ++k) PetscCall(VecDestroy(&bounds[k]));
    PetscCall(VecDestroy(&r));
    PetscFunctionReturn(0);
  }
  PetscCall(KSPCreate(c->comm, &s->ksp));
  if (c->da) {
    PetscCall(KSPSetDM(s->ksp, c->da));
    PetscCall(SetDMActive(s->ksp, PETSC_FALSE));
  }
  PetscCall(KSPSetOperators(s->ksp, c->A, c->A));
  PetscCall(KSPSetFromOptions(s->ksp));
  PetscCall(KSPSetUp(s->ksp));
  if (by_pc) PetscCall(KSPGetPC(s->ksp, &s->pc));
  PetscFunctionReturn(0);
}

static PetscErrorCode Apply(Solver *s, Vec x)
{
  PetscFunctionBegin;
  PetscCall(VecSet(x, 0));
  if (s->snes) PetscCall(SNESSolve(s->snes, NULL, x));
  else if (s->pc) PetscCall(PCApply(s->pc, s->c->b, x));
  else PetscCall(KSPSolve(s->ksp, s->c->b, x));
  PetscFunctionReturn(0);
}

static PetscErrorCode Destroy(Solver *s)
{
  PetscFunctionBegin;
  PetscCall(KSPDestroy(&s->ksp));
  PetscCall(SNESDestroy(&s->snes));
  PetscFunctionReturn(0);
}

/* Do two vectors have the same bits, which are numbers? On all processes alike. */
static PetscErrorCode Same(Vec x, Vec y, PetscMPIInt *same)
{
  const PetscScalar *a, *b;
  PetscInt           n;
  PetscBool          equal;
  PetscReal          norm;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArrayRead(y, &b));
  PetscCall(PetscMemcmp(a, b, (size_t)n * sizeof(PetscScalar), &equal));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(VecRestoreArrayRead(y, &b));
  PetscCall(VecNorm(x, NORM_2, &norm));
  *same = equal && norm > 0 && !PetscIsInfOrNanReal(norm);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, same, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  const char *const names[] = {"", "NaN", "inf", "-inf", "1e300"};
  Case              c;
  Vec               x, y, second;
  PetscMPIInt       rank, same;
  PetscBool         by_snes = PETSC_FALSE, split = PETSC_FALSE, dense = PETSC_FALSE;
  char              kind[20] = "grid";
  PetscInt          number = 0, good = 0, nx = 21, ny = 18;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-kind", kind, sizeof(kind), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-snes", &by_snes, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-split", &split, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-nx", &nx, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-ny", &ny, NULL));
  PetscCall(PetscMemzero(&c, sizeof(c)));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, split ? rank % 2 : 0, 0, &c.comm));
  PetscCall(PetscStrcmp(kind, "dense", &dense));
  if (dense) PetscCall(Dense(&c, split ? 100 + 9 * (rank % 2) : 150));
  else PetscCall(Grid(&c, nx, ny + (split ? rank % 2 : 0)));
  PetscCall(VecDuplicate(c.b, &x));
  PetscCall(VecDuplicate(c.b, &y));
  PetscCall(VecDuplicate(c.b, &second));
  for (int by_pc = 0; by_pc < (by_snes ? 1 : 2); ++by_pc) {
    Solver s;
    PetscCall(Create(&c, by_snes, (PetscBool)by_pc, &s));
    PetscCall(Side(&c, 0, 0));
    PetscCall(Apply(&s, x));
    PetscCall(Apply(&s, second)); /* a second solve may begin with what the first one found */
    PetscCall(Destroy(&s));
    for (int wrong = 1; wrong < 5; ++wrong)
      for (int place = 0; place < 3; ++place)
        for (int before = 0; before < 2; ++before) {
          PetscCall(Create(&c, by_snes, (PetscBool)by_pc, &s));
          PetscCall(Side(&c, 0, 0));
          if (before) PetscCall(Apply(&s, y));
          PetscCall(Side(&c, wrong, place));
          PetscCall(Apply(&s, y));
          PetscCall(Side(&c, 0, 0));
          PetscCall(Apply(&s, y));
          PetscCall(Same(y, before ? second : x, &same));
          ++number;
          good += same;
          if (!same) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: not the bits of a new solver after %s at the %s%s\n", by_snes ? "SNES" : by_pc ? "PC" : "KSP", names[wrong], place == 2 ? "whole" : place ? "end" : "beginning", before ? ", the second solve" : ""));
          PetscCall(Destroy(&s));
        }
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, number == good ? "the bits of a new solver in all cases\n" : "%" PetscInt_FMT " of %" PetscInt_FMT " as a new solver\n", good, number));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&second));
  PetscCall(VecDestroy(&c.b));
  PetscCall(MatDestroy(&c.A));
  PetscCall(DMDestroy(&c.da));
  PetscCallMPI(MPI_Comm_free(&c.comm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 3}}
    output_file: output/nonfinite.out
    test:
      suffix: densegs
      args: -kind dense -ksp_type gmres -pc_type densegs -pc_densegs_order {{forward symmetric random}}
    test:
      suffix: densegs_strategies
      args: -kind dense -ksp_type richardson -ksp_norm_type none -ksp_max_it 3 -pc_type densegs -pc_densegs_strategy {{row column block relaxed}}
    test:
      suffix: vipgs
      args: -kind dense -snes -snes_type vipgs -snes_vipgs_newton {{0 1}} -snes_vipgs_precision {{double single}}
    test:
      suffix: vipmg
      args: -snes -snes_type vipmg -snes_vipmg_variant {{hybrid tnnmg monotone}}
    test:
      suffix: rrb
      args: -ksp_type {{cg rrb}} -pc_type rrb -pc_rrb_coarsening {{galerkin lump}}
    test:
      suffix: auxamg
      args: -ksp_type cg -pc_type auxamg -pc_auxamg_smoother {{jacobi chebyshev}}

  testset:
    nsize: 4
    args: -split
    output_file: output/nonfinite.out
    test:
      suffix: densegs_split
      args: -kind dense -pc_type densegs
    test:
      suffix: rrb_split
      args: -ksp_type rrb
    test:
      suffix: vipmg_split
      args: -snes -snes_type vipmg

TEST*/
