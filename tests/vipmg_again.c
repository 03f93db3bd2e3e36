static char help[] = "SNES vipmg again and again with one SNES: other grids, couplings that turn, other bounds.\n\n"
                     "  -case grids|turned|layers|lines|short|bounds\n\n";
#include "tessera.h"
#include <petscdmda.h>
#include <petscsnes.h>

/* -(a u_x)_x - (b u_y)_y = f between bounds, u = 0 outside of the grid; a and b by node differences, the other way round from column `turn` on */
typedef struct {
  PetscReal a, b;
  PetscInt  turn;
  PetscInt  columns; /* not 0: as many, and no flow through the first one's and the last one's outer side */
} Context;

static PetscReal AlongX(const Context *c, PetscInt i) /* between columns i and i + 1 */
{
  return c->columns && (i < 0 || i == c->columns - 1) ? 0 : i < c->turn ? c->a : c->b;
}
static PetscReal AlongY(const Context *c, PetscInt i) { return i < c->turn ? c->b : c->a; } /* in column i */

static PetscReal Source(PetscInt i, PetscInt j) { return 0.01 * PetscSinReal(0.31 * i) * PetscCosReal(0.17 * j); }

static PetscErrorCode Function(SNES snes, Vec X, Vec F, void *context)
{
  const Context      *c = (const Context *)context;
  DM                  da;
  Vec                 local;
  const PetscScalar **x;
  PetscScalar       **f;
  DMDALocalInfo       info;

  PetscFunctionBeginUser;
  PetscCall(SNESGetDM(snes, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMGetLocalVector(da, &local));
  PetscCall(VecSet(local, 0));
  PetscCall(DMGlobalToLocal(da, X, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayRead(da, local, &x));
  PetscCall(DMDAVecGetArray(da, F, &f));
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j)
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
      const PetscReal w = i ? x[j][i - 1] : 0, e = i < info.mx - 1 ? x[j][i + 1] : 0, s = j ? x[j - 1][i] : 0, n = j < info.my - 1 ? x[j + 1][i] : 0;
      f[j][i] = AlongX(c, i - 1) * (x[j][i] - w) + AlongX(c, i) * (x[j][i] - e) + AlongY(c, i) * (2 * x[j][i] - s - n) - Source(i, j);
    }
  PetscCall(DMDAVecRestoreArrayRead(da, local, &x));
  PetscCall(DMDAVecRestoreArray(da, F, &f));
  PetscCall(DMRestoreLocalVector(da, &local));
  PetscFunctionReturn(0);
}

static PetscErrorCode Jacobian(SNES snes, Vec X, Mat J, Mat P, void *context)
{
  const Context *c = (const Context *)context;
  DM             da;
  DMDALocalInfo  info;

  PetscFunctionBeginUser;
  (void)X, (void)J;
  PetscCall(SNESGetDM(snes, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j)
    for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
      MatStencil  row = {0, j, i, 0}, col[5];
      PetscScalar v[5];
      PetscInt    n = 0;
      for (PetscInt k = 0; k < 5; ++k) {
        const PetscInt dx = (k == 1) - (k == 2), dy = (k == 3) - (k == 4);
        if (i + dx < 0 || j + dy < 0 || i + dx >= info.mx || j + dy >= info.my) continue;
        col[n].k = 0, col[n].j = j + dy, col[n].i = i + dx, col[n].c = 0;
        v[n++] = k == 0 ? AlongX(c, i - 1) + AlongX(c, i) + 2 * AlongY(c, i) : k == 1 ? -AlongX(c, i) : k == 2 ? -AlongX(c, i - 1) : -AlongY(c, i);
      }
      PetscCall(MatSetValuesStencil(P, 1, &row, n, col, v, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* The grid and all that belongs to it */
static PetscErrorCode Place(SNES snes, Context *c, PetscInt nx, PetscInt ny, DM *da, Vec *X, Vec *F, Mat *J, Vec bounds[2])
{
  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, nx, ny, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscCall(DMCreateGlobalVector(*da, X));
  PetscCall(VecDuplicate(*X, F));
  PetscCall(DMCreateMatrix(*da, J));
  for (PetscInt k = 0; k < 2; ++k) {
    PetscCall(VecDuplicate(*X, &bounds[k]));
    PetscCall(VecSet(bounds[k], k ? 0.05 : -0.02));
  }
  PetscCall(SNESSetDM(snes, *da));
  PetscCall(SNESSetFunction(snes, *F, Function, c));
  PetscCall(SNESSetJacobian(snes, *J, *J, Jacobian, c));
  PetscCall(SNESVISetVariableBounds(snes, bounds[0], bounds[1]));
  PetscFunctionReturn(0);
}

/* Are the conditions of the solution met? */
static PetscErrorCode Check(SNES snes, const char *what, const Context *c, Vec X, Vec bounds[2], PetscInt most)
{
  Vec                 F;
  const PetscScalar  *x, *f, *l, *u;
  PetscReal           mine = 0, worst;
  PetscInt            n, cycles, active[2] = {0, 0}, all[2];
  SNESConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(SNESGetLinearSolveIterations(snes, &cycles));
  PetscCall(VecDuplicate(X, &F));
  PetscCall(SNESComputeFunction(snes, X, F));
  PetscCall(VecGetLocalSize(X, &n));
  PetscCall(VecGetArrayRead(X, &x));
  PetscCall(VecGetArrayRead(F, &f));
  PetscCall(VecGetArrayRead(bounds[0], &l));
  PetscCall(VecGetArrayRead(bounds[1], &u));
  for (PetscInt k = 0; k < n; ++k) {
    const PetscReal y = PetscMin(PetscMax(x[k] - f[k] / (2 * (c->a + c->b)), l[k]), u[k]);
    mine              = PetscMax(mine, PetscAbsReal(x[k] - y));
    active[0] += x[k] == l[k];
    active[1] += x[k] == u[k];
  }
  PetscCall(VecRestoreArrayRead(X, &x));
  PetscCall(VecRestoreArrayRead(F, &f));
  PetscCall(VecRestoreArrayRead(bounds[0], &l));
  PetscCall(VecRestoreArrayRead(bounds[1], &u));
  PetscCallMPI(MPI_Allreduce(&mine, &worst, 1, MPIU_REAL, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(active, all, 2, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s, conditions %s, cycles %s, active at both bounds: %s\n", what, reason > 0 ? "converged" : SNESConvergedReasons[reason], worst <= 1e-9 ? "met" : "NOT MET", cycles <= most ? "few" : "MANY", all[0] && all[1] ? "yes" : "NO"));
  PetscCall(VecDestroy(&F));
  PetscFunctionReturn(0);
}

static PetscErrorCode Destroy(DM *da, Vec *X, Vec *F, Mat *J, Vec bounds[2])
{
  PetscFunctionBeginUser;
  PetscCall(VecDestroy(X));
  PetscCall(VecDestroy(F));
  PetscCall(MatDestroy(J));
  for (PetscInt k = 0; k < 2; ++k) PetscCall(VecDestroy(&bounds[k]));
  PetscCall(DMDestroy(da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  SNES      snes;
  DM        da;
  Vec       X, F, bounds[2];
  Mat       J;
  Context   c = {1, 1, PETSC_MAX_INT, 0};
  char      what[16] = "grids";
  PetscBool grids, turned, layers, lines, shorts;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-case", what, sizeof(what), NULL));
  PetscCall(PetscStrcmp(what, "grids", &grids));
  PetscCall(PetscStrcmp(what, "turned", &turned));
  PetscCall(PetscStrcmp(what, "layers", &layers));
  PetscCall(PetscStrcmp(what, "lines", &lines));
  PetscCall(PetscStrcmp(what, "short", &shorts));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetType(snes, SNESVIPMG));
  PetscCall(SNESSetTolerances(snes, 1e-50, 1e-10, 0, 50, 10000));
  PetscCall(SNESSetFromOptions(snes));
  if (grids) { /* 40 x 60, 60 x 40 and 30 x 80 nodes: the same numbers, in all and of each process; and others */
    const PetscInt n[5][2] = {{40, 60}, {60, 40}, {30, 80}, {61, 77}, {31, 40}};
    for (PetscInt k = 0; k < 5; ++k) {
      PetscCall(Place(snes, &c, n[k][0], n[k][1], &da, &X, &F, &J, bounds));
      PetscCall(SNESSolve(snes, NULL, X));
      PetscCall(Check(snes, k ? "another grid" : "grid", &c, X, bounds, 12));
      PetscCall(Destroy(&da, &X, &F, &J, bounds));
    }
  } else if (lines) { /* layers come and go while the grids stay: cycles with lines, without, with */
    c.turn = 60;
    PetscCall(Place(snes, &c, 130, 121, &da, &X, &F, &J, bounds));
    for (PetscInt k = 0; k < 5; ++k) {
      c.b = k % 2 ? 1e-3 : 1;
      PetscCall(VecSet(X, 0));
      PetscCall(SNESSolve(snes, NULL, X));
      PetscCall(Check(snes, k % 2 ? "layers" : "no layers", &c, X, bounds, 12));
    }
    PetscCall(Destroy(&da, &X, &F, &J, bounds));
  } else if (shorts) { /* lines of two nodes and of three, too short to be coarsened */
    c.a = 700, c.b = 0.7;
    for (c.columns = 2; c.columns <= 3; ++c.columns) {
      PetscCall(Place(snes, &c, c.columns, 257, &da, &X, &F, &J, bounds));
      PetscCall(SNESSolve(snes, NULL, X));
      PetscCall(Check(snes, c.columns == 2 ? "pairs" : "threes", &c, X, bounds, 15));
      PetscCall(Destroy(&da, &X, &F, &J, bounds));
    }
  } else if (layers) { /* neither direction is weak everywhere: lines along both */
    c.b    = 1e-3;
    c.turn = 60;
    PetscCall(Place(snes, &c, 130, 121, &da, &X, &F, &J, bounds));
    PetscCall(SNESSolve(snes, NULL, X));
    PetscCall(Check(snes, "layers", &c, X, bounds, 12));
    PetscCall(Destroy(&da, &X, &F, &J, bounds));
  } else {
    PetscCall(Place(snes, &c, 64, 57, &da, &X, &F, &J, bounds));
    if (turned)
      for (PetscInt k = 0; k < 3; ++k) {
        c.a = k == 1 ? 0.01 : 1;
        c.b = k == 1 ? 1 : 0.01;
        PetscCall(VecSet(X, 0));
        PetscCall(SNESSolve(snes, NULL, X));
        PetscCall(Check(snes, k == 1 ? "along y" : "along x", &c, X, bounds, 12));
      }
    else { /* bounds whose last process has one unknown less */
      PetscMPIInt    rank, size;
      PetscInt       n;
      PetscErrorCode ierr;
      PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
      PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
      PetscCall(SNESSolve(snes, NULL, X));
      PetscCall(Check(snes, "bounds", &c, X, bounds, 12));
      PetscCall(VecGetLocalSize(X, &n));
      for (PetscInt k = 0; k < 2; ++k) {
        PetscCall(VecDestroy(&bounds[k]));
        PetscCall(VecCreateMPI(PETSC_COMM_WORLD, n + (rank == 0) - (rank == size - 1), PETSC_DETERMINE, &bounds[k]));
        PetscCall(VecSet(bounds[k], k ? 0.05 : -0.02));
      }
      PetscCall(SNESVISetVariableBounds(snes, bounds[0], bounds[1]));
      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      ierr = SNESSolve(snes, NULL, X);
      PetscCall(PetscPopErrorHandler());
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "bounds of another distribution: %s\n", ierr == PETSC_ERR_ARG_SIZ ? "refused" : "TAKEN"));
    }
    PetscCall(Destroy(&da, &X, &F, &J, bounds));
  }
  PetscCall(SNESDestroy(&snes));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 2}}
    test:
      suffix: grids
      args: -case grids
    test:
      suffix: turned
      args: -case turned

  test:
    suffix: layers
    nsize: {{1 2 3 4}}
    args: -case layers -snes_view
    filter: grep -E "layers:|by lines"

  test:
    suffix: lines
    nsize: {{1 2}}
    args: -case lines -snes_view
    filter: grep -E "layers:|by lines"

  test:
    suffix: short
    args: -case short

  test:
    suffix: bounds
    nsize: 2
    args: -case bounds

TEST*/
