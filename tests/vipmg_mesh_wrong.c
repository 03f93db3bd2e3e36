static char help[] = "What SNES vipmg says to wrong input on meshes, and that right input of the same kind is solved.\n\n";
/*
  A square of n x n nodes, two triangles in each cell, bs unknowns per node: -Laplace of each, and between those of a node a coupling that
  makes the directions unequal. Nodes on the left and right are rows of the identity, unless the body is free.
*/
#include "tessera.h"
#include <petscsnes.h>
#if defined(PETSC_HAVE_HDF5)
  #include <petscviewerhdf5.h>
#endif

static char message[512];
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

typedef enum { FINE, PAIR, NOWHERE, FEWER, NANPLACE, CROSSED, NANBOUND, HELD, PUSHED, INDEFINITE, NANENTRY, SEVEN, OTHERSIZE, OTHERPLACES, FARPLACES, SAMEPLACE, ROUNDED, HUGE_BESIDE, INFINITE, VARIANT, NORMALS, AXIS, ZERO, NANNORMAL, BESIDE, DIRICHLET, SCALAR, FILED, NOFILE, SHORTFILE, MATFILE, TWICE, CASES, HDF5FILE = CASES, HDF5SHORT, HDF5SET, HDF5CASES } Case;
static const char *const names[] = {"one unknown", "two unknowns, bounds on one", "no coordinates", "coordinates of fewer nodes", "a coordinate is not a number", "lower above upper", "a bound is not a number", "free body held by bounds", "free body pushed away", "indefinite", "matrix not a number", "seven unknowns per node", "bounds of another size", "coordinates of other nodes", "coordinates of other nodes of a larger mesh", "all nodes at one place", "bounds that have crossed by rounding", "lower above upper beside bounds of 1e20", "a lower bound that is infinite", "a variant for grids", "bounds along normals", "normals along an axis", "normal of length zero", "normal not a number", "bounds beside a normal", "normal at a Dirichlet row", "normals of one unknown per node", "normals of a file", "no file of normals", "a file of fewer normals", "a file that is no Vec", "normals of a file and of a Vec", "normals of a file in HDF5", "fewer normals in HDF5", "no such normals in HDF5"};

typedef struct {
  Case     kind;
  PetscInt n, bs;
  Mat      A;
  Vec      b;
} Problem;

static PetscErrorCode Function(SNES snes, Vec x, Vec f, void *ctx)
{
  Problem *p = (Problem *)ctx;

  PetscFunctionBeginUser;
  (void)snes;
  PetscCall(MatMult(p->A, x, f));
  PetscCall(VecAXPY(f, -1, p->b));
  PetscFunctionReturn(0);
}
static PetscErrorCode Jacobian(SNES snes, Vec x, Mat J, Mat P, void *ctx)
{
  PetscFunctionBeginUser;
  (void)snes;
  (void)x;
  (void)J;
  (void)P;
  (void)ctx;
  PetscFunctionReturn(0);
}

static PetscBool Edge(const Problem *p, PetscInt node)
{
  const PetscInt i = node % p->n;
  return p->kind != HELD && p->kind != PUSHED && (i == 0 || i == p->n - 1) ? PETSC_TRUE : PETSC_FALSE;
}
static PetscBool Bounded(const Problem *p, PetscInt node) /* a band in the middle; with Dirichlet rows all of it */
{
  const PetscInt j = node / p->n;
  return j > p->n / 4 && j < 3 * p->n / 4 && (p->kind == DIRICHLET || !Edge(p, node)) ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode Assemble(Problem *p)
{
  const PetscInt n = p->n, bs = p->bs, dx[6] = {-1, 1, 0, 0, 1, -1}, dy[6] = {0, 0, -1, 1, 1, -1};
  PetscInt       first, last;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(p->A, &first, &last));
  for (PetscInt row = first; row < last; ++row) {
    const PetscInt node = row / bs, c = row % bs, i = node % n, j = node / n;
    PetscScalar    diagonal = 0;
    if (!Edge(p, node)) {
      for (PetscInt k = 0; k < 6; ++k) {
        const PetscInt  to = (j + dy[k]) * n + i + dx[k];
        const PetscReal v  = (k < 4 ? 1 : 0.25) * (1 + 0.5 * (PetscReal)c * (k < 2));
        if (i + dx[k] < 0 || i + dx[k] >= n || j + dy[k] < 0 || j + dy[k] >= n) continue;
        diagonal += v;
        if (!Edge(p, to)) PetscCall(MatSetValue(p->A, row, to * bs + c, -v, INSERT_VALUES));
        if (!Edge(p, to) && bs > 1) PetscCall(MatSetValue(p->A, row, to * bs + (c + 1) % bs, 0, INSERT_VALUES));
      }
      if (p->kind == INDEFINITE) diagonal -= 0.2;
      if (p->kind == NANENTRY && node == 3 * n + 5) diagonal = NAN;
    } else diagonal = 1;
    PetscCall(MatSetValue(p->A, row, row, diagonal, INSERT_VALUES));
    PetscCall(VecSetValue(p->b, row, Edge(p, node) ? 0 : p->kind == PUSHED ? 0.01 : -0.01, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(p->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(p->A, MAT_FINAL_ASSEMBLY));
  PetscCall(VecAssemblyBegin(p->b));
  PetscCall(VecAssemblyEnd(p->b));
  PetscFunctionReturn(0);
}

/* Bounds, and normals, of own nodes; component 0 of a node with a normal is the one along it */
static PetscErrorCode Data(const Problem *p, Vec lower, Vec upper, Vec normals)
{
  PetscInt     first, last, bs = p->bs;
  PetscScalar *l, *u, *v;

  PetscFunctionBeginUser;
  PetscCall(VecGetOwnershipRange(lower, &first, &last));
  PetscCall(VecSet(lower, PETSC_NINFINITY));
  PetscCall(VecSet(upper, PETSC_INFINITY));
  PetscCall(VecSet(normals, 0));
  PetscCall(VecGetArray(lower, &l));
  PetscCall(VecGetArray(upper, &u));
  PetscCall(VecGetArray(normals, &v));
  for (PetscInt q = 0; q < last - first; q += bs) {
    const PetscInt  node = (first + q) / bs;
    const PetscReal angle = p->kind == AXIS ? PETSC_PI / 2 : 0.1 * (PetscReal)(node % p->n);
    if (!Bounded(p, node)) continue;
    l[q] = -0.3;
    if (p->kind == CROSSED && node == 10 * p->n + 7) u[q] = -0.5;
    if (p->kind == ROUNDED && node % 3 == 0) u[q] = -0.1 - 0.2; /* -0.30000000000000004 */
    if (p->kind == HUGE_BESIDE) u[q] = node == 10 * p->n + 7 ? -0.5 : 1e20;
    if (p->kind == INFINITE && node == 10 * p->n + 7) l[q] = INFINITY;
    if (p->kind == NANBOUND && node == 10 * p->n + 7) l[q] = NAN;
    if (p->kind == BESIDE) u[q + 1] = 1;
    if (bs == 1) continue;
    v[q]     = 2 * PetscCosReal(angle);
    v[q + 1] = 2 * PetscSinReal(angle);
    if (p->kind == ZERO && node == 10 * p->n + 7) v[q] = v[q + 1] = 0;
    if (p->kind == NANNORMAL && node == 10 * p->n + 7) v[q] = NAN;
  }
  PetscCall(VecRestoreArray(lower, &l));
  PetscCall(VecRestoreArray(upper, &u));
  PetscCall(VecRestoreArray(normals, &v));
  PetscFunctionReturn(0);
}

/* How far the point is from a solution; *inside: is it between its bounds, up to rounding? */
static PetscErrorCode Judge(const Problem *p, SNES snes, Vec x, Vec lower, Vec upper, Vec normals, PetscReal *wrong, PetscBool *inside)
{
  const PetscScalar *y, *f, *l, *u, *v;
  PetscInt           n, bs = p->bs;
  Vec                F;
  PetscReal          worst[2] = {0, 0};

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &F));
  PetscCall(Function(snes, x, F, (void *)p));
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayRead(x, &y));
  PetscCall(VecGetArrayRead(F, &f));
  PetscCall(VecGetArrayRead(lower, &l));
  PetscCall(VecGetArrayRead(upper, &u));
  PetscCall(VecGetArrayRead(normals, &v));
  for (PetscInt q = 0; q < n; q += bs) {
    PetscReal a[2] = {y[q], bs > 1 ? y[q + 1] : 0}, g[2] = {f[q], bs > 1 ? f[q + 1] : 0};
    if (p->kind >= NORMALS && bs == 2 && v[q] * v[q] + v[q + 1] * v[q + 1] > 0) { /* along and across */
      const PetscReal length = PetscSqrtReal(v[q] * v[q] + v[q + 1] * v[q + 1]), c = v[q] / length, s = v[q + 1] / length;
      a[0] = c * y[q] + s * y[q + 1];
      g[0] = c * f[q] + s * f[q + 1];
      g[1] = c * f[q + 1] - s * f[q];
    }
    for (PetscInt k = 0; k < PetscMin(bs, 2); ++k) {
      const PetscReal natural = p->kind >= NORMALS && k ? g[1] : PetscMax(a[k] - u[q + k], PetscMin(a[k] - l[q + k], g[k]));
      worst[0] = PetscMax(worst[0], PetscAbsReal(natural));
      if (p->kind < NORMALS || !k) worst[1] = PetscMax(worst[1], PetscMax(l[q + k] - a[k], a[k] - u[q + k]));
    }
  }
  PetscCall(VecRestoreArrayRead(x, &y));
  PetscCall(VecRestoreArrayRead(F, &f));
  PetscCall(VecRestoreArrayRead(lower, &l));
  PetscCall(VecRestoreArrayRead(upper, &u));
  PetscCall(VecRestoreArrayRead(normals, &v));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, worst, 2, MPIU_REAL, MPI_MAX, PETSC_COMM_WORLD));
  *wrong  = worst[0];
  *inside = worst[1] <= 1e-14 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(VecDestroy(&F));
  PetscFunctionReturn(0);
}

static PetscErrorCode Coordinates(const Problem *p, PC pc)
{
  PetscInt   first, last, n, at = 0;
  PetscReal *x;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(p->A, &first, &last));
  n = (last - first) / p->bs;
  if (p->kind == FEWER && !first) n = n - 1;
  PetscCall(PetscMalloc1(2 * n + 1, &x));
  for (PetscInt node = first / p->bs; node < first / p->bs + n; ++node) {
    x[at++] = (PetscReal)(node % p->n);
    x[at++] = (PetscReal)(node / p->n);
  }
  if (p->kind == NANPLACE && n) x[0] = NAN;
  for (PetscInt k = 0; k < 2 * n; ++k) { /* of nodes far away; of none */
    if (p->kind == OTHERPLACES) x[k] = (k % 2 ? 7 : 11) * (first / p->bs + k / 2) % p->n;
    if (p->kind == FARPLACES) x[k] = fmod(1e4 * PetscSinReal((PetscReal)(2 * (first / p->bs) + k) + 1), 1); /* in no order */
    if (p->kind == SAMEPLACE) x[k] = 0.5;
  }
  if (p->kind == FINE && n) { /* refused; the coordinates may come then */
    PetscErrorCode ierr;
    PetscCall(PetscPushErrorHandler(Keep, NULL));
    ierr = PCSetCoordinates(pc, 2, n, NULL);
    PetscCall(PetscPopErrorHandler());
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "coordinates at a null pointer: error %d\n", (int)ierr));
  }
  if (p->kind != NOWHERE) PetscCall(PCSetCoordinates(pc, 2, n, x));
  PetscCall(PetscFree(x));
  PetscFunctionReturn(0);
}

/* The normals as a file, or what shall not be taken for it. */
static PetscErrorCode Write(Case kind, Mat A, Vec normals)
{
  PetscViewer viewer;
  Vec         some;
  PetscInt    n;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(VecGetLocalSize(normals, &n));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, rank ? n : n - 2, PETSC_DETERMINE, &some));
  PetscCall(VecSet(some, 1));
  if (kind >= HDF5FILE) {
#if defined(PETSC_HAVE_HDF5)
    const Vec what = kind == HDF5SHORT ? some : normals;
    PetscCall(PetscObjectSetName((PetscObject)what, "normals"));
    PetscCall(VecSetBlockSize(what, 2)); /* a row of the data set is a node */
    PetscCall(PetscViewerHDF5Open(PETSC_COMM_WORLD, "vipmg_normals.h5", FILE_MODE_WRITE, &viewer));
    PetscCall(PetscViewerHDF5PushGroup(viewer, "/contact"));
    PetscCall(VecView(what, viewer));
    PetscCall(PetscViewerHDF5PopGroup(viewer));
#else
    SETERRQ(PETSC_COMM_WORLD, PETSC_ERR_SUP, "this PETSc has no HDF5");
#endif
  } else {
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "vipmg_normals.dat", FILE_MODE_WRITE, &viewer));
    PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
    if (kind == MATFILE) PetscCall(MatView(A, viewer));
    else PetscCall(VecView(kind == SHORTFILE ? some : normals, viewer));
  }
  PetscCall(VecDestroy(&some));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(0);
}

static PetscErrorCode Try(Case kind)
{
  Problem             p = {kind, kind == FARPLACES ? 100 : 24, kind == SEVEN ? 7 : kind == PAIR || (kind >= NORMALS && kind != SCALAR) ? 2 : 1, NULL, NULL};
  SNES                snes;
  KSP                 ksp;
  PC                  pc;
  Vec                 x, f, lower, upper, normals, other;
  PetscInt            m = PETSC_DECIDE, nodes = p.n * p.n;
  PetscErrorCode      ierr;
  SNESConvergedReason reason;
  PetscReal           wrong = 0;
  PetscBool           inside = PETSC_FALSE, same;
  const char         *file;

  PetscFunctionBeginUser;
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &m, &nodes));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, m * p.bs, m * p.bs, PETSC_DETERMINE, PETSC_DETERMINE, 7 * 2, NULL, 7 * 2, NULL, &p.A));
  PetscCall(MatSetBlockSize(p.A, p.bs));
  PetscCall(MatSetOption(p.A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatCreateVecs(p.A, &x, &p.b));
  for (Vec *v[] = {&f, &lower, &upper, &normals, NULL}, **to = v; *to; ++to) PetscCall(VecDuplicate(x, *to));
  PetscCall(Assemble(&p));
  PetscCall(Data(&p, lower, upper, normals));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetType(snes, "vipmg"));
  PetscCall(SNESSetFunction(snes, f, Function, &p));
  PetscCall(SNESSetJacobian(snes, p.A, p.A, Jacobian, &p));
  PetscCall(SNESSetTolerances(snes, 1e-12, 1e-10, 0, 50, 10000));
  PetscCall(SNESSetFromOptions(snes));
  if (kind == VARIANT) PetscCall(SNESVIPMGSetVariant(snes, SNES_VIPMG_MONOTONE));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(Coordinates(&p, pc));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, m * p.bs + 1, PETSC_DETERMINE, &other));
  PetscCall(VecSet(other, 1));
  if (kind >= FILED) {
    PetscCall(Write(kind, p.A, normals));
    const char *const name = kind == NOFILE ? "/nowhere/normals" : kind == HDF5SET ? "vipmg_normals.h5:/contact/directions" : kind >= HDF5FILE ? "vipmg_normals.h5:/contact/normals" : "vipmg_normals.dat";
    PetscCall(SNESVIPMGSetNormalsFile(snes, name));
    PetscCall(SNESVIPMGGetNormalsFile(snes, &file));
    PetscCall(PetscStrcmp(file, name, &same));
    PetscCheck(same, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "the file of normals is '%s'", file);
  }
  if (kind >= NORMALS && (kind < FILED || kind == TWICE)) PetscCall(PetscObjectCompose((PetscObject)snes, "SNESVIPMGNormals", (PetscObject)normals));
  message[0] = 0;
  PetscCall(PetscPushErrorHandler(Keep, NULL));
  ierr = SNESVISetVariableBounds(snes, lower, kind == OTHERSIZE ? other : upper);
  if (!ierr) ierr = SNESSolve(snes, NULL, x);
  if (!ierr && kind == FILED) { /* the file is kept until the solver is reset */
    PetscCall(VecSet(x, 0));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(Write(MATFILE, p.A, normals));
    ierr = SNESSolve(snes, NULL, x);
  }
  PetscCall(PetscPopErrorHandler());
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(Judge(&p, snes, x, lower, upper, normals, &wrong, &inside));
  if (ierr && kind == OTHERSIZE) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: error %d\n", names[kind], (int)ierr));
  else if (ierr) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: error %d: %s\n", names[kind], (int)ierr, message));
  else if (kind == INDEFINITE || kind == NANENTRY) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s, %s\n", names[kind], reason > 0 ? "converged" : "diverged", (reason <= 0) != (wrong <= 1e-8) && (inside || kind == NANENTRY) ? "as it should be" : "wrong"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s, %s, %s\n", names[kind], reason > 0 ? "converged" : SNESConvergedReasons[reason], wrong <= 1e-8 ? "solved" : "no solution", inside ? "between the bounds" : "outside the bounds"));
  if (!ierr && kind == NANENTRY) { /* that of the function at the start */
    PetscReal norm;
    PetscCall(SNESGetFunctionNorm(snes, &norm));
    if (norm == 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  the function's norm is zero\n"));
  }
  if (!ierr && reason > 0 && !(wrong <= 1e-8)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  natural residual %g\n", (double)wrong));
  PetscCall(SNESDestroy(&snes));
  PetscCall(MatDestroy(&p.A));
  for (Vec *v[] = {&x, &f, &lower, &upper, &normals, &other, &p.b, NULL}, **to = v; *to; ++to) PetscCall(VecDestroy(*to));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscBool hdf5 = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-hdf5", &hdf5, NULL));
  for (int k = hdf5 ? HDF5FILE : 0; k < (hdf5 ? HDF5CASES : CASES); ++k) PetscCall(Try((Case)k));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3}}
    output_file: output/vipmg_mesh_wrong.out

  test:
    suffix: hdf5
    nsize: {{1 3}}
    args: -hdf5
    requires: hdf5
    output_file: output/vipmg_mesh_wrong_hdf5.out

TEST*/
