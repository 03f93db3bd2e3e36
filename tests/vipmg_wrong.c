static char help[] = "What SNES vipmg says to wrong input: messages, reasons, and no crash.\n\n";
#include "tessera.h"
#include <petscdmda.h>
#include <petscsnes.h>
#include <string.h>

static char message[4096];
static PetscErrorCode Keep(MPI_Comm comm, int line, const char *fun, const char *file, PetscErrorCode n, PetscErrorType p, const char *mess, void *ctx)
{
  (void)comm;
  (void)line;
  (void)fun;
  (void)file;
  (void)ctx;
  if (p == PETSC_ERROR_INITIAL && mess) (void)PetscStrncpy(message, mess, sizeof(message));
  return n;
}

typedef enum { FINE, CROSSED, NOTANUMBER, UNBOUNDED, TWO, NODA, SKEW, EDGE, INDEFINITE, NEGATIVE, ALL, OUTSIDE, USERTEST, FAILING, DOMAIN, FAR, SHELL, NANFUNCTION, NANMATRIX, SIZE, DENSE, SBAIJ, CHANGED, HALF, NOROOM, PLACES, BOXES, FALLING, TURNED } Case;
static const char *const names[] = {"nothing wrong", "lower above upper", "a bound is not a number", "no bounds", "two unknowns per node", "no DMDA", "asymmetric", "data on the edge outside the bounds", "indefinite", "negative diagonal",
                                    "every node active", "start outside the bounds", "user's convergence test", "Jacobian callback raises an error", "function domain", "coupling beyond the neighbors", "shell matrix", "function not a number", "matrix not a number", "bounds of another size", "dense matrix", "sbaij", "another problem of the same size", "one bound infinite", "both bounds plus infinity", "coordinates of a file", "coordinates of a file for box levels", "free to fall", "a Jacobian of another function"};
typedef struct {
  Case     kind;
  PetscInt n, calls;
} Problem;

static PetscErrorCode Function(SNES snes, Vec X, Vec F, void *ctx)
{
  Problem           *p = (Problem *)ctx;
  DM                 da;
  Vec                L;
  const PetscScalar *u;
  PetscScalar       *f;
  PetscInt           xs, ys, xm, ym, gx, gy, gm, n = p->n, N, at = 0;
  PetscReal          shift = p->kind == INDEFINITE ? 0.9 : 0;

  PetscFunctionBeginUser;
  ++p->calls;
  PetscCall(VecGetDM(X, &da));
  (void)snes;
  PetscCall(DMGetLocalVector(da, &L));
  PetscCall(DMGlobalToLocal(da, X, INSERT_VALUES, L));
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAGetGhostCorners(da, &gx, &gy, NULL, &gm, NULL, NULL));
  PetscCall(VecGetSize(X, &N));
  PetscCall(VecGetArrayRead(L, &u));
  PetscCall(VecGetArray(F, &f));
  if (N > n * n) PetscCall(VecSet(F, 0)); /* two unknowns per node: the Jacobian has no entries */
  else
    for (PetscInt j = ys; j < ys + ym; ++j)
      for (PetscInt i = xs; i < xs + xm; ++i, ++at) {
        const PetscInt e = i - gx + gm * (j - gy);
        if (p->kind == FALLING) f[at] = (i > 0 ? u[e] - u[e - 1] : 0) + (i < n - 1 ? u[e] - u[e + 1] : 0) + (j > 0 ? u[e] - u[e - gm] : 0) + (j < n - 1 ? u[e] - u[e + gm] : 0) + 0.02;
        else if (i == 0 || j == 0 || i == n - 1 || j == n - 1) f[at] = u[e] - (p->kind == EDGE ? -3 : 0);
        else {
          const PetscReal w = i > 1 ? u[e - 1] : p->kind == EDGE ? -2 : 0, o = i < n - 2 ? u[e + 1] : p->kind == EDGE ? -2 : 0, s = j > 1 ? u[e - gm] : p->kind == EDGE ? -2 : 0, t = j < n - 2 ? u[e + gm] : p->kind == EDGE ? -2 : 0;
          f[at] = (4 - shift) * u[e] - w - o - s - t - 0.02 * (p->kind == CHANGED && p->calls > 4 ? 3 : 1);
          if (p->kind == SKEW) f[at] += 0.1 * (o - w);
          if (p->kind == ALL) f[at] += 10;
          if (p->kind == NANFUNCTION) f[at] = NAN;
          if (p->kind == NEGATIVE || p->kind == TURNED) f[at] = -f[at];
          if (p->kind == DOMAIN && u[e] > 0.5) PetscCall(SNESSetFunctionDomainError(snes));
        }
      }
  PetscCall(VecRestoreArrayRead(L, &u));
  PetscCall(VecRestoreArray(F, &f));
  PetscCall(DMRestoreLocalVector(da, &L));
  PetscFunctionReturn(0);
}

static PetscErrorCode Jacobian(SNES snes, Vec X, Mat A, Mat B, void *ctx)
{
  Problem       *p = (Problem *)ctx;
  DM             da;
  PetscInt       xs, ys, xm, ym, n = p->n;
  const PetscInt dx[4] = {-1, 1, 0, 0}, dy[4] = {0, 0, -1, 1};

  PetscFunctionBeginUser;
  (void)snes;
  (void)A;
  PetscCheck(p->kind != FAILING, PETSC_COMM_WORLD, PETSC_ERR_USER, "the program's own error");
  PetscCall(VecGetDM(X, &da));
  if (p->kind == SHELL) PetscFunctionReturn(0);
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(MatZeroEntries(B));
  PetscCall(MatSetOption(B, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i) {
      MatStencil      row = {0, j, i, 0};
      const PetscBool edge = p->kind != FALLING && (i == 0 || j == 0 || i == n - 1 || j == n - 1) ? PETSC_TRUE : PETSC_FALSE;
      PetscScalar     v    = edge ? 1 : p->kind == NEGATIVE ? -4 : p->kind == INDEFINITE ? 3.1 : 4;
      if (p->kind == FALLING) v -= (i == 0) + (j == 0) + (i == n - 1) + (j == n - 1);
      if (p->kind == NANMATRIX && i == 7 && j == 5) v = NAN;
      PetscCall(MatSetValuesStencil(B, 1, &row, 1, &row, &v, INSERT_VALUES));
      for (PetscInt k = 0; k < 4 && !edge; ++k) {
        MatStencil col = {0, j + dy[k], i + dx[k], 0};
        v              = p->kind == NEGATIVE ? 1 : -1;
        if (p->kind == SKEW && dx[k]) v += 0.1 * dx[k];
        if (p->kind == FALLING ? col.i < 0 || col.j < 0 || col.i >= n || col.j >= n : col.i == 0 || col.j == 0 || col.i == n - 1 || col.j == n - 1) continue;
        if (p->kind == SBAIJ && (col.j < row.j || (col.j == row.j && col.i < row.i))) continue;
        PetscCall(MatSetValuesStencil(B, 1, &row, 1, &col, &v, INSERT_VALUES));
      }
      if (p->kind == FAR && i == 10 && j == 12) {
        MatStencil col = {0, 12, 12, 0};
        v              = -0.1;
        PetscCall(MatSetValuesStencil(B, 1, &row, 1, &col, &v, INSERT_VALUES));
      }
    }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode TestOfUser(SNES snes, PetscInt it, PetscReal xnorm, PetscReal step, PetscReal fnorm, SNESConvergedReason *reason, void *ctx)
{
  PetscFunctionBeginUser;
  (void)snes;
  (void)xnorm;
  (void)step;
  (void)ctx;
  *reason = it >= 1 && fnorm < 1 ? SNES_CONVERGED_ITS : SNES_CONVERGED_ITERATING;
  PetscFunctionReturn(0);
}

/* The nodes' coordinates in the order of the matrix' rows, which VecView() of a DMDA's vector would not keep */
static PetscErrorCode WritePlaces(DM da, const char file[])
{
  Vec                places, plain;
  const PetscScalar *x;
  PetscInt           n;
  PetscViewer        viewer;

  PetscFunctionBeginUser;
  PetscCall(DMDASetUniformCoordinates(da, 0, 1, 0, 1, 0, 1));
  PetscCall(DMGetCoordinates(da, &places));
  PetscCall(VecGetLocalSize(places, &n));
  PetscCall(VecGetArrayRead(places, &x));
  PetscCall(VecCreateMPIWithArray(PETSC_COMM_WORLD, 1, n, PETSC_DECIDE, x, &plain));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_WRITE, &viewer));
  PetscCall(VecView(plain, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(VecDestroy(&plain));
  PetscCall(VecRestoreArrayRead(places, &x));
  PetscFunctionReturn(0);
}

static PetscErrorCode Try(Case kind)
{
  Problem             p = {kind, 33, 0};
  DM                  da;
  SNES                snes;
  Vec                 X, F, xl, xu;
  Mat                 J;
  PetscErrorCode      ierr;
  SNESConvergedReason reason = SNES_CONVERGED_ITERATING;
  PetscInt            low, n = p.n, xs, ys, xm, ym, first, its = 0;
  PetscMPIInt         rank;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, PETSC_DECIDE, PETSC_DECIDE, kind == TWO ? 2 : 1, kind == FAR ? 2 : 1, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  if (kind == DENSE) PetscCall(DMSetMatType(da, MATDENSE));
  if (kind == SBAIJ) PetscCall(DMSetMatType(da, MATSBAIJ));
  PetscCall(DMCreateMatrix(da, &J));
  if (kind == SHELL) {
    PetscInt m;
    PetscCall(MatGetLocalSize(J, &m, NULL));
    PetscCall(MatDestroy(&J));
    PetscCall(MatCreateShell(PETSC_COMM_WORLD, m, m, PETSC_DETERMINE, PETSC_DETERMINE, NULL, &J));
  }
  if (kind == NODA) {
    PetscInt m;
    PetscCall(MatGetLocalSize(J, &m, NULL));
    PetscCall(MatDestroy(&J));
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, m, m, PETSC_DETERMINE, PETSC_DETERMINE, 5, NULL, 5, NULL, &J));
    PetscCall(MatCreateVecs(J, &X, NULL));
  } else PetscCall(DMCreateGlobalVector(da, &X));
  PetscCall(VecDuplicate(X, &F));
  PetscCall(VecDuplicate(X, &xl));
  PetscCall(VecDuplicate(X, &xu));
  PetscCall(VecSet(xl, kind == UNBOUNDED || kind == FALLING ? PETSC_NINFINITY : -0.3));
  PetscCall(VecSet(xu, kind == UNBOUNDED || kind == HALF ? PETSC_INFINITY : 0.6));
  if (kind == ALL) PetscCall(VecSet(xu, -0.3));
  if (kind == ALL) PetscCall(VecSet(xl, -0.3));
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(VecGetOwnershipRange(X, &first, NULL));
  if (kind == CROSSED || kind == NOTANUMBER || kind == NOROOM) /* at nodes 20,3 and 21,3, wherever they are; NaN after crossed bounds, which it does not say it of */
    for (PetscInt i = kind == NOTANUMBER ? 19 : 20; i < 22; ++i)
      if (i >= xs && i < xs + xm && 3 >= ys && 3 < ys + ym) {
        low = first + i - xs + xm * (3 - ys);
        PetscCall(VecSetValue(xl, low, kind == CROSSED || i == 19 ? 0.7 : kind == NOROOM ? PETSC_INFINITY : NAN, INSERT_VALUES));
        if (kind == NOROOM) PetscCall(VecSetValue(xu, low, PETSC_INFINITY, INSERT_VALUES));
      }
  PetscCall(VecAssemblyBegin(xl));
  PetscCall(VecAssemblyEnd(xl));
  PetscCall(VecAssemblyBegin(xu));
  PetscCall(VecAssemblyEnd(xu));
  if (kind == OUTSIDE) PetscCall(VecSet(X, 7));
  if (kind == INDEFINITE) PetscCall(VecSet(xu, PETSC_INFINITY));
  if (kind == INDEFINITE) PetscCall(VecSet(xl, PETSC_NINFINITY));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  if (kind != NODA && kind != SIZE && rank >= 0) PetscCall(SNESSetDM(snes, da));
  PetscCall(SNESSetFunction(snes, F, Function, &p));
  PetscCall(SNESSetJacobian(snes, J, J, Jacobian, &p));
  PetscCall(SNESSetType(snes, SNESVIPMG));
  PetscCall(SNESVISetVariableBounds(snes, xl, xu));
  PetscCall(SNESSetTolerances(snes, 1e-12, 1e-9, 0, 30, 1000));
  if (kind == USERTEST) PetscCall(SNESSetConvergenceTest(snes, TestOfUser, NULL, NULL));
  if (kind == PLACES || kind == BOXES) {
    PetscCall(WritePlaces(da, "vipmg_places.bin"));
    PetscCall(PetscOptionsSetValue(NULL, "-snes_vipmg_coordinates", "vipmg_places.bin"));
    if (kind == BOXES) PetscCall(PetscOptionsSetValue(NULL, "-snes_vipmg_levels_type", "box"));
  }
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(PetscOptionsClearValue(NULL, "-snes_vipmg_coordinates"));
  PetscCall(PetscOptionsClearValue(NULL, "-snes_vipmg_levels_type"));
  message[0] = 0;
  PetscCall(PetscPushErrorHandler(Keep, NULL));
  ierr = SNESSolve(snes, NULL, X);
  PetscCall(PetscPopErrorHandler());
  if (!ierr) {
    PetscCall(SNESGetConvergedReason(snes, &reason));
    PetscCall(SNESGetIterationNumber(snes, &its));
  }
  if (kind == CHANGED && !ierr) { /* the function is another one from now on */
    p.calls = 10;
    PetscCall(SNESSolve(snes, NULL, X));
    PetscCall(SNESGetConvergedReason(snes, &reason));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: ", names[kind]));
  if (ierr) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error %d: %s\n", (int)ierr, message));
  else {
    SNESVIPMGCertificate c;
    PetscReal            least, most;
    PetscCall(VecMin(X, NULL, &least));
    PetscCall(VecMax(X, NULL, &most));
    PetscCall(SNESVIPMGGetCertificate(snes, &c));
    if (kind == NANFUNCTION) {
      const char *failure;
      PetscCall(SNESVIPMGGetFailure(snes, &failure));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, ", failure && strstr(failure, "start is not finite in row") ? "row named" : "ROW NOT NAMED"));
    }
    if (kind == FALLING || kind == TURNED) {
      const char *failure;
      PetscCall(SNESVIPMGGetFailure(snes, &failure));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, ", failure && strstr(failure, kind == TURNED ? "is the Jacobian that of the function?" : "towards minus infinity, where none of them has a bound") ? "cause named" : "CAUSE NOT NAMED"));
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s\n", SNESConvergedReasons[reason], reason < 0 ? "as it should be" : c.natural < (kind == USERTEST ? 1 : 1e-7) && c.primal <= 0 ? "solved" : "NOT SOLVED"));
  }
  if (kind == PLACES || kind == FINE) {
    const PetscInt *sizes;
    PetscCall(SNESVIPMGGetGridSizes(snes, NULL, &sizes));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: levels of a %s\n", names[kind], sizes[1] == 1 ? "tree" : "box"));
  }
  PetscCall(VecDestroy(&X));
  PetscCall(VecDestroy(&F));
  PetscCall(VecDestroy(&xl));
  PetscCall(VecDestroy(&xu));
  PetscCall(MatDestroy(&J));
  PetscCall(SNESDestroy(&snes));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscInt only = -1;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, NULL));
  for (int k = FINE; k <= TURNED; ++k)
    if (k != SIZE && (only < 0 || only == k)) PetscCall(Try((Case)k)); /* PETSc itself refuses bounds of another size */
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 3}}
    filter: sed -E -e "s,(unknown|row|column) [0-9]+,a place,g" -e "s,the first is [0-9]+,the first is there,"

TEST*/
