static char help[] = "Oxygen in tissue between vessels: an obstacle problem in three dimensions, after Crank and Gupta, IMA J. Appl. Math. 10 (1972).\n\n"
                     "  -Laplace c + m >= 0,  c >= 0,  one of both an equality,  c = 1 in the vessels,  no flux through the sides of the cube\n\n"
                     "Tissue consumes oxygen at the rate m while there is any. Where vessels are too far away there is none: the contact set.\n\n"
                     "  -n nodes per direction   -consumption m   -vessels k   -radius r   -slab: one vessel, the side x = 0\n"
                     "  -output f              f.h5: the concentration, for ParaView f.xmf; else a PETSc vector\n"
                     "  -most c                fail above c cycles\n"
                     "  -dm_vec_type cuda -dm_mat_type aijcusparse    on a device, where PETSc has CUDA\n\n";
/*
  Vessels are tubes along broken lines that cross the cube; their nodes are Dirichlet rows. Seven points:

    sum_neighbours (c_i - c_j) + m h^2 = F_i,   F_i >= 0, c_i >= 0, complementary

  With one vessel that fills the side x = 0 the solution is c = m/2 (s - x)^2 up to s = sqrt(2 / m), and 0 behind.
*/
#include <petscdmda.h>
#include <petscsnes.h>
#include <stdint.h>
#if defined(PETSC_HAVE_HDF5)
  #include <petscviewerhdf5.h>
#endif

#define MOST_VESSELS 64
#define JOINTS 5
typedef struct {
  PetscInt  n, vessels;
  PetscReal m, radius, joint[MOST_VESSELS][JOINTS][3];
  PetscBool slab;
  Vec       in; /* vessels' nodes, a local vector: 1, others 0 */
} Tissue;

static PetscReal Random(uint64_t *state) /* the same everywhere: called once in an expression, and never in a macro's arguments */
{
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (PetscReal)(*state >> 33) / 2147483648.;
}

/* Broken lines from one side to the opposite one. */
static void Grow(Tissue *t)
{
  uint64_t state = 20121;
  for (PetscInt k = 0; k < t->vessels; ++k) {
    const PetscInt along = k % 3;
    PetscReal      x[3];
    for (PetscInt d = 0; d < 3; ++d) x[d] = Random(&state);
    for (PetscInt q = 0; q < JOINTS; ++q)
      for (PetscInt d = 0; d < 3; ++d) {
        const PetscReal moved = d == along ? 0 : x[d] + 0.3 * (Random(&state) - 0.5);
        x[d] = d == along ? -0.1 + 1.2 * q / (JOINTS - 1) : PetscMin(0.98, PetscMax(0.02, moved));
        t->joint[k][q][d] = x[d];
      }
  }
}

static PetscBool InVessel(const Tissue *t, PetscInt i, PetscInt j, PetscInt k)
{
  const PetscReal h = 1. / (t->n - 1), x[3] = {i * h, j * h, k * h};

  if (t->slab) return i == 0 ? PETSC_TRUE : PETSC_FALSE;
  for (PetscInt v = 0; v < t->vessels; ++v)
    for (PetscInt q = 0; q + 1 < JOINTS; ++q) {
      const PetscReal *a = t->joint[v][q], *b = t->joint[v][q + 1];
      PetscReal        dot = 0, length = 0, distance = 0;
      for (int d = 0; d < 3; ++d) dot += (x[d] - a[d]) * (b[d] - a[d]), length += PetscSqr(b[d] - a[d]);
      const PetscReal s = PetscMax(0, PetscMin(1, dot / length));
      for (int d = 0; d < 3; ++d) distance += PetscSqr(x[d] - a[d] - s * (b[d] - a[d]));
      if (distance < PetscSqr(t->radius)) return PETSC_TRUE;
    }
  return PETSC_FALSE;
}

static PetscErrorCode Function(SNES snes, Vec X, Vec F, void *ctx)
{
  Tissue       *t = (Tissue *)ctx;
  DM            da;
  Vec           L;
  PetscScalar ***x, ***f, ***in;
  PetscInt      xs, ys, zs, xm, ym, zm;

  PetscFunctionBeginUser;
  PetscCall(SNESGetDM(snes, &da));
  PetscCall(DMDAGetCorners(da, &xs, &ys, &zs, &xm, &ym, &zm));
  PetscCall(DMGetLocalVector(da, &L));
  PetscCall(DMGlobalToLocal(da, X, INSERT_VALUES, L));
  PetscCall(DMDAVecGetArrayRead(da, L, &x));
  PetscCall(DMDAVecGetArrayRead(da, t->in, &in));
  PetscCall(DMDAVecGetArray(da, F, &f));
  const PetscReal source = t->m * PetscSqr(1. / (t->n - 1));
  for (PetscInt k = zs; k < zs + zm; ++k)
    for (PetscInt j = ys; j < ys + ym; ++j)
      for (PetscInt i = xs; i < xs + xm; ++i) {
        PetscScalar s = source;
        if (in[k][j][i] > 0) {
          f[k][j][i] = x[k][j][i] - 1;
          continue;
        }
#define WITH(p, q, r) \
  if (p >= 0 && q >= 0 && r >= 0 && p < t->n && q < t->n && r < t->n) s += x[k][j][i] - (in[r][q][p] > 0 ? 1 : x[r][q][p])
        WITH(i - 1, j, k);
        WITH(i + 1, j, k);
        WITH(i, j - 1, k);
        WITH(i, j + 1, k);
        WITH(i, j, k - 1);
        WITH(i, j, k + 1);
#undef WITH
        f[k][j][i] = s;
      }
  PetscCall(DMDAVecRestoreArray(da, F, &f));
  PetscCall(DMDAVecRestoreArrayRead(da, t->in, &in));
  PetscCall(DMDAVecRestoreArrayRead(da, L, &x));
  PetscCall(DMRestoreLocalVector(da, &L));
  PetscFunctionReturn(0);
}

static PetscErrorCode Jacobian(SNES snes, Vec X, Mat J, Mat B, void *ctx)
{
  Tissue       *t = (Tissue *)ctx;
  DM            da;
  PetscScalar ***in;
  PetscInt      xs, ys, zs, xm, ym, zm;

  PetscFunctionBeginUser;
  (void)X;
  (void)J;
  PetscCall(SNESGetDM(snes, &da));
  PetscCall(DMDAGetCorners(da, &xs, &ys, &zs, &xm, &ym, &zm));
  PetscCall(DMDAVecGetArrayRead(da, t->in, &in));
  for (PetscInt k = zs; k < zs + zm; ++k)
    for (PetscInt j = ys; j < ys + ym; ++j)
      for (PetscInt i = xs; i < xs + xm; ++i) {
        MatStencil  row = {k, j, i, 0}, col[7];
        PetscScalar v[7] = {0};
        PetscInt    count = 1;
        col[0] = row;
        if (in[k][j][i] > 0) v[0] = 1;
        else
          for (PetscInt d = 0; d < 6; ++d) {
            const PetscInt p = i + (d == 0) - (d == 1), q = j + (d == 2) - (d == 3), r = k + (d == 4) - (d == 5);
            if (p < 0 || q < 0 || r < 0 || p >= t->n || q >= t->n || r >= t->n) continue;
            v[0] += 1;
            if (in[r][q][p] > 0) continue;
            col[count] = (MatStencil){r, q, p, 0};
            v[count++] = -1;
          }
        PetscCall(MatSetValuesStencil(B, 1, &row, count, col, v, INSERT_VALUES));
      }
  PetscCall(DMDAVecRestoreArrayRead(da, t->in, &in));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode PlaceVessels(Tissue *t, DM da)
{
  PetscInt      xs, ys, zs, xm, ym, zm;
  PetscScalar ***in;

  PetscFunctionBeginUser;
  PetscCall(DMCreateLocalVector(da, &t->in));
  PetscCall(DMDAGetGhostCorners(da, &xs, &ys, &zs, &xm, &ym, &zm));
  PetscCall(DMDAVecGetArray(da, t->in, &in));
  for (PetscInt k = zs; k < zs + zm; ++k)
    for (PetscInt j = ys; j < ys + ym; ++j)
      for (PetscInt i = xs; i < xs + xm; ++i) in[k][j][i] = InVessel(t, i, j, k) ? 1 : 0;
  PetscCall(DMDAVecRestoreArray(da, t->in, &in));
  PetscFunctionReturn(0);
}

/* Shares of the nodes in vessels and without oxygen, the mean, and the largest difference from the slab's solution */
static PetscErrorCode Look(const Tissue *t, DM da, Vec X, PetscReal all[3], PetscReal *error)
{
  const PetscReal s = PetscSqrtReal(2 / t->m), h = 1. / (t->n - 1);
  PetscReal       mine[3] = {0, 0, 0}, worst = 0;
  PetscInt        xs, ys, zs, xm, ym, zm;
  PetscScalar  ***x, ***in;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(da, &xs, &ys, &zs, &xm, &ym, &zm));
  PetscCall(DMDAVecGetArrayRead(da, X, &x));
  PetscCall(DMDAVecGetArrayRead(da, t->in, &in));
  for (PetscInt k = zs; k < zs + zm; ++k)
    for (PetscInt j = ys; j < ys + ym; ++j)
      for (PetscInt i = xs; i < xs + xm; ++i) {
        mine[0] += in[k][j][i];
        mine[1] += x[k][j][i] <= 0;
        mine[2] += x[k][j][i];
        worst = PetscMax(worst, PetscAbsReal(x[k][j][i] - (i * h < s ? 0.5 * t->m * PetscSqr(s - i * h) : 0)));
      }
  PetscCall(DMDAVecRestoreArrayRead(da, t->in, &in));
  PetscCall(DMDAVecRestoreArrayRead(da, X, &x));
  PetscCallMPI(MPI_Allreduce(mine, all, 3, MPIU_REAL, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(&worst, error, 1, MPIU_REAL, MPI_MAX, PETSC_COMM_WORLD));
  for (int k = 0; k < 3; ++k) all[k] /= (PetscReal)t->n * t->n * t->n;
  PetscFunctionReturn(0);
}

static PetscErrorCode Write(char *name, const Tissue *t, Vec X)
{
  PetscViewer viewer;
  PetscBool   hdf5;

  PetscFunctionBeginUser;
  PetscCall(PetscStrendswith(name, ".h5", &hdf5));
  PetscCall(PetscObjectSetName((PetscObject)X, "oxygen"));
  if (!hdf5) {
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, name, FILE_MODE_WRITE, &viewer));
    PetscCall(VecView(X, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    PetscFunctionReturn(0);
  }
#if defined(PETSC_HAVE_HDF5)
  const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
  FILE       *f;
  size_t      length;
  char        path[PETSC_MAX_PATH_LEN];
  PetscCall(PetscViewerHDF5Open(PETSC_COMM_WORLD, name, FILE_MODE_WRITE, &viewer));
  PetscCall(VecView(X, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PetscStrlen(name, &length));
  PetscCall(PetscSNPrintf(path, sizeof(path), "%.*s.xmf", (int)length - 3, name));
  PetscCall(PetscFOpen(PETSC_COMM_WORLD, path, "w", &f));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, f, "<?xml version=\"1.0\"?>\n<Xdmf Version=\"2.0\">\n <Domain>\n  <Grid Name=\"tissue\">\n   <Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"%" PetscInt_FMT " %" PetscInt_FMT " %" PetscInt_FMT "\"/>\n", t->n, t->n, t->n));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, f, "   <Geometry GeometryType=\"ORIGIN_DXDYDZ\">\n    <DataItem Dimensions=\"3\">0 0 0</DataItem>\n    <DataItem Dimensions=\"3\">%.10g %.10g %.10g</DataItem>\n   </Geometry>\n", 1. / (t->n - 1), 1. / (t->n - 1), 1. / (t->n - 1)));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, f, "   <Attribute Name=\"oxygen\">\n    <DataItem Format=\"HDF\" Precision=\"8\" Dimensions=\"%" PetscInt_FMT " %" PetscInt_FMT " %" PetscInt_FMT "\">%s:/oxygen</DataItem>\n   </Attribute>\n  </Grid>\n </Domain>\n</Xdmf>\n", t->n, t->n, t->n, base));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, f));
#else
  (void)t;
  SETERRQ(PETSC_COMM_WORLD, PETSC_ERR_SUP, "-output %s: this PETSc has no HDF5; a name without .h5 makes a PETSc vector", name);
#endif
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Tissue             *t;
  SNES                snes;
  DM                  da;
  Vec                 x, lower, upper;
  PetscInt            most = 0, cycles, its;
  PetscReal           share[3], error;
  PetscLogDouble      start, end;
  char                file[PETSC_MAX_PATH_LEN];
  PetscBool           set;
  SNESConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscNew(&t));
  t->n       = 65;
  t->m       = 60;
  t->vessels = 9;
  t->radius  = 0.03;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &t->n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-vessels", &t->vessels, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-consumption", &t->m, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-radius", &t->radius, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-slab", &t->slab, NULL));
  PetscCheck(t->n > 2 && t->m > 0, PETSC_COMM_WORLD, PETSC_ERR_USER, "-n is at least 3, -consumption positive");
  PetscCheck(t->vessels > 0 && t->vessels <= MOST_VESSELS, PETSC_COMM_WORLD, PETSC_ERR_USER, "-vessels is between 1 and %d", MOST_VESSELS);
  PetscCheck(t->slab || t->radius * (t->n - 1) >= 1, PETSC_COMM_WORLD, PETSC_ERR_USER, "-radius %g is less than a cell of %g: nodes would miss a vessel", (double)t->radius, 1. / (t->n - 1));
  Grow(t);

  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, t->n, t->n, t->n, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(PlaceVessels(t, da));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &lower));
  PetscCall(VecDuplicate(x, &upper));
  PetscCall(VecSet(x, 1)); /* everything is supplied */
  PetscCall(VecSet(lower, 0));
  PetscCall(VecSet(upper, PETSC_INFINITY));

  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, da));
  PetscCall(SNESSetFunction(snes, NULL, Function, t));
  PetscCall(SNESSetJacobian(snes, NULL, NULL, Jacobian, t));
  PetscCall(SNESSetType(snes, SNESVINEWTONRSLS));
  PetscCall(SNESSetFromOptions(snes)); /* -snes_type vipmg */
  PetscCall(SNESVISetVariableBounds(snes, lower, upper));
  PetscCall(PetscTime(&start));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(PetscTime(&end));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "%s", SNESConvergedReasons[reason]);
  PetscCall(SNESGetIterationNumber(snes, &its));
  PetscCall(SNESGetLinearSolveIterations(snes, &cycles));
  PetscCall(Look(t, da, x, share, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT "^3 nodes, vessels fill %.2f %%: without oxygen %.3f %%, mean concentration %.5f\n", t->n, (double)(100 * share[0]), (double)(100 * share[1]), (double)share[2]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "solving took %.3f s, %" PetscInt_FMT " iterations, %" PetscInt_FMT " linear ones\n", end - start, its, cycles));
  if (t->slab) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error %.3e\n", (double)error));
  PetscCheck(!most || cycles <= most, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "%" PetscInt_FMT " linear iterations, more than -most %" PetscInt_FMT, cycles, most);
  PetscCall(PetscOptionsGetString(NULL, NULL, "-output", file, sizeof(file), &set));
  if (set) PetscCall(Write(file, t, x));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&t->in));
  PetscCall(VecDestroy(&lower));
  PetscCall(VecDestroy(&upper));
  PetscCall(SNESDestroy(&snes));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFree(t));
  PetscCall(PetscFinalize());
  return 0;
}
