static char help[] = "Segmentation of a picture by a level set with a constraint: Klement, Oberhuber and Sevcovic, arXiv:1105.1429.\n\n"
                     "  u_t <= Q div(g grad u / Q),  u <= v,  Q = sqrt(eps^2 + |grad u|^2),  g = 1 / (1 + K |grad I|^2)\n\n"
                     "The zero level of u moves to the edges of the picture I and stays around the part that is marked as inside, where v < 0.\n"
                     "Every step is a linear complementarity problem with a symmetric M-matrix and an upper bound.\n\n"
                     "  -image f            n x n intensities in [0, 1]: HDF5 (dataset image) or a PETSc vector; ./image makes both of a PNG\n"
                     "  -circle x,y,r       the first contour, in units of the picture        -inside x,y,r  a disc that is inside\n"
                     "  -steps s  -time T   -K k  -eps e   -unit w   lengths of |grad I| are 1/w of the picture   -blur s  pixels\n"
                     "  -progress p         a line every p steps                              -most c  fail above c cycles per step\n"
                     "  -output f           f.h5: picture, bound and u, for ParaView f.xmf; else the last u as a PETSc vector\n"
                     "  -frames p           HDF5: u every p steps\n"
                     "  -dm_vec_type cuda -dm_mat_type aijcusparse    on a device, where PETSc has CUDA\n\n";
#include "assemble.h"
#include <petscdmda.h>
#include <petscsnes.h>
#include <time.h>
#if defined(PETSC_HAVE_HDF5)
  #include <petscviewerhdf5.h>
#endif

typedef struct {
  PetscInt     n;
  PetscReal    eps, K, unit, tau;
  DM           da;
  Mat          A;
  Vec          b, g;      /* g at pixels */
  Vec          local_g;   /* with ghosts */
  PetscScalar *values;    /* of the matrix, on the host */
  PetscScalar *device;    /* or on the device */
  PetscBool    on_device; /* u is, and there is a kernel for it */
} Segment;

typedef struct {
  PetscViewer viewer; /* HDF5 */
  char        name[PETSC_MAX_PATH_LEN];
  PetscInt    frames;
  PetscReal  *time;
} Output;

static PetscErrorCode Function(SNES snes, Vec u, Vec f, void *ctx)
{
  Segment *s = (Segment *)ctx;

  PetscFunctionBeginUser;
  (void)snes;
  PetscCall(MatMult(s->A, u, f));
  PetscCall(VecAXPY(f, -1, s->b));
  PetscFunctionReturn(0);
}

static PetscErrorCode Jacobian(SNES snes, Vec u, Mat A, Mat B, void *ctx)
{
  PetscFunctionBeginUser; /* the step has assembled it */
  (void)snes;
  (void)u;
  (void)A;
  (void)B;
  (void)ctx;
  PetscFunctionReturn(0);
}

#define AT(a, i, j) (a)[PetscMax(0, PetscMin(n - 1, j))][PetscMax(0, PetscMin(n - 1, i))] /* mirrored at the edges: Neumann */

/* Passes of the weights 1/4, 1/2, 1/4 along both directions have the variance 1/2 each. */
static PetscErrorCode Blur(Segment *s, Vec picture, PetscInt passes)
{
  const PetscInt n = s->n;
  PetscInt       xs, ys, xm, ym;
  PetscScalar  **a, **o;
  Vec            L;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(s->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMGetLocalVector(s->da, &L));
  for (PetscInt k = 0; k < passes; ++k) {
    PetscCall(DMGlobalToLocal(s->da, picture, INSERT_VALUES, L));
    PetscCall(DMDAVecGetArrayRead(s->da, L, &a));
    PetscCall(DMDAVecGetArray(s->da, picture, &o));
    for (PetscInt j = ys; j < ys + ym; ++j)
      for (PetscInt i = xs; i < xs + xm; ++i) {
        PetscScalar sum = 0;
        for (PetscInt q = -1; q <= 1; ++q)
          for (PetscInt p = -1; p <= 1; ++p) sum += (p ? 0.25 : 0.5) * (q ? 0.25 : 0.5) * AT(a, i + p, j + q);
        o[j][i] = sum;
      }
    PetscCall(DMDAVecRestoreArray(s->da, picture, &o));
    PetscCall(DMDAVecRestoreArrayRead(s->da, L, &a));
  }
  PetscCall(DMRestoreLocalVector(s->da, &L));
  PetscFunctionReturn(0);
}

static PetscErrorCode EdgeDetector(Segment *s, Vec picture)
{
  const PetscInt  n = s->n;
  const PetscReal scale = 0.5 * n / s->unit;
  PetscInt        xs, ys, xm, ym;
  PetscScalar   **a, **g;
  Vec             L;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(s->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMGetLocalVector(s->da, &L));
  PetscCall(DMGlobalToLocal(s->da, picture, INSERT_VALUES, L));
  PetscCall(DMDAVecGetArrayRead(s->da, L, &a));
  PetscCall(DMDAVecGetArray(s->da, s->g, &g));
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i) {
      const PetscReal dx = scale * (AT(a, i + 1, j) - AT(a, i - 1, j)), dy = scale * (AT(a, i, j + 1) - AT(a, i, j - 1));
      g[j][i] = 1 / (1 + s->K * (dx * dx + dy * dy));
    }
  PetscCall(DMDAVecRestoreArray(s->da, s->g, &g));
  PetscCall(DMDAVecRestoreArrayRead(s->da, L, &a));
  PetscCall(DMRestoreLocalVector(s->da, &L));
  PetscFunctionReturn(0);
}

/* The pattern, once: five entries a pixel in the order of PixelRow(), in the numbering of local vectors. */
static PetscErrorCode Pattern(Segment *s, Vec u)
{
  PetscInt   xs, ys, xm, ym, gxs, gys, gxm, gym, mx, my, at = 0, *row, *col;
  const PetscInt *lx, *ly;
  DM         star; /* the matrix has five points */
  MatType    type;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetInfo(s->da, NULL, NULL, NULL, NULL, &mx, &my, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetOwnershipRanges(s->da, &lx, &ly, NULL));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, s->n, s->n, mx, my, 1, 1, lx, ly, &star));
  PetscCall(DMGetMatType(s->da, &type));
  PetscCall(DMSetMatType(star, type));
  PetscCall(DMSetUp(star));
  PetscCall(DMCreateMatrix(star, &s->A));
  PetscCall(DMDAGetCorners(star, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAGetGhostCorners(star, &gxs, &gys, NULL, &gxm, &gym, NULL));
  PetscCall(PetscMalloc2(5 * xm * ym, &row, 5 * xm * ym, &col));
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i)
      for (PetscInt k = 0; k < 5; ++k, ++at) {
        const PetscInt i2 = i + (k == 1) - (k == 2), j2 = j + (k == 3) - (k == 4);
        row[at] = i - gxs + gxm * (j - gys);
        col[at] = i2 < 0 || j2 < 0 || i2 >= s->n || j2 >= s->n ? -1 : i2 - gxs + gxm * (j2 - gys);
      }
  PetscCall(MatSetPreallocationCOOLocal(s->A, at, row, col));
  PetscCall(PetscFree2(row, col));
  PetscCall(DMDestroy(&star));
  PetscCall(DMCreateLocalVector(s->da, &s->local_g));
  PetscCall(DMGlobalToLocal(s->da, s->g, INSERT_VALUES, s->local_g));
#if defined(SEGMENT_CUDA)
  PetscCall(PetscObjectTypeCompareAny((PetscObject)u, &s->on_device, VECSEQCUDA, VECMPICUDA, ""));
#else
  (void)u;
#endif
  if (!s->on_device) PetscCall(PetscMalloc1(5 * xm * ym, &s->values));
  PetscFunctionReturn(0);
}

/* The matrix and right-hand side of the step from u. */
static PetscErrorCode Assemble(Segment *s, Vec u)
{
  Pixels             p = {0};
  const PetscScalar *U, *g;
  PetscScalar       *b;
  PetscInt           at = 0;
  Vec                L;

  PetscFunctionBeginUser;
  p.n   = s->n;
  p.eps = s->eps;
  p.tau = s->tau;
  PetscCall(DMDAGetCorners(s->da, &p.xs, &p.ys, NULL, &p.xm, &p.ym, NULL));
  PetscCall(DMDAGetGhostCorners(s->da, &p.gxs, &p.gys, NULL, &p.gxm, NULL, NULL));
  PetscCall(DMGetLocalVector(s->da, &L));
  PetscCall(DMGlobalToLocal(s->da, u, INSERT_VALUES, L));
#if defined(SEGMENT_CUDA)
  if (s->on_device) PetscCall(AssembleCUDA(&p, L, s->local_g, &s->device, s->b));
#endif
  if (!s->on_device) {
    PetscCall(VecGetArrayRead(L, &U));
    PetscCall(VecGetArrayRead(s->local_g, &g));
    PetscCall(VecGetArrayWrite(s->b, &b));
    for (PetscInt j = p.ys; j < p.ys + p.ym; ++j)
      for (PetscInt i = p.xs; i < p.xs + p.xm; ++i, ++at) b[at] = PixelRow(&p, U, g, i, j, s->values + 5 * at);
    PetscCall(VecRestoreArrayWrite(s->b, &b));
    PetscCall(VecRestoreArrayRead(s->local_g, &g));
    PetscCall(VecRestoreArrayRead(L, &U));
  }
  PetscCall(MatSetValuesCOO(s->A, s->on_device ? s->device : s->values, INSERT_VALUES));
  PetscCall(DMRestoreLocalVector(s->da, &L));
  PetscFunctionReturn(0);
}

/* A cone with slope 4, cut at +-1, whose zero level is the circle; for the constraint: 1 outside the disc. */
static PetscErrorCode Circle(Segment *s, const PetscReal c[3], PetscBool bound, Vec u)
{
  PetscInt      xs, ys, xm, ym;
  PetscScalar **a;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(s->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArray(s->da, u, &a));
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i) {
      const PetscReal r = PetscSqrtReal(PetscSqr((i + 0.5) / s->n - c[0]) + PetscSqr((j + 0.5) / s->n - c[1])) - c[2];
      a[j][i] = bound ? (r < 0 ? PetscMax(-1, 4 * r - 0.1) : 1) : PetscMax(-1, PetscMin(1, 4 * r));
    }
  PetscCall(DMDAVecRestoreArray(s->da, u, &a));
  PetscFunctionReturn(0);
}

static PetscErrorCode Count(Vec u, Vec v, PetscReal *inside, PetscReal *active)
{
  const PetscScalar *a, *b;
  PetscInt           m, N;
  PetscReal          mine[2] = {0, 0}, all[2];

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(u, &m));
  PetscCall(VecGetSize(u, &N));
  PetscCall(VecGetArrayRead(u, &a));
  PetscCall(VecGetArrayRead(v, &b));
  for (PetscInt i = 0; i < m; ++i) mine[0] += a[i] < 0, mine[1] += a[i] >= b[i];
  PetscCall(VecRestoreArrayRead(u, &a));
  PetscCall(VecRestoreArrayRead(v, &b));
  PetscCallMPI(MPI_Allreduce(mine, all, 2, MPIU_REAL, MPI_SUM, PETSC_COMM_WORLD));
  *inside = all[0] / N;
  *active = all[1] / N;
  PetscFunctionReturn(0);
}

/* What kind of file it is, and of how many pixels a side. */
static PetscErrorCode FindPicture(const char *file, PetscBool *hdf5, PetscInt *n)
{
  unsigned char  head[16] = {0};
  const unsigned char signature[4] = {0x89, 'H', 'D', 'F'}, png[4] = {0x89, 'P', 'N', 'G'};
  int            found = 0;
  PetscMPIInt    rank;
  PetscBool      is_png;
  PetscViewer    viewer;
  PetscInt       size[2] = {0, 0};

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (!rank) {
    FILE *f = fopen(file, "rb");
    if (f) {
      found = 1;
      (void)!fread(head, 1, sizeof(head), f);
      fclose(f);
    }
  }
  PetscCallMPI(MPI_Bcast(&found, 1, MPI_INT, 0, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Bcast(head, sizeof(head), MPI_UNSIGNED_CHAR, 0, PETSC_COMM_WORLD));
  PetscCheck(found, PETSC_COMM_WORLD, PETSC_ERR_FILE_OPEN, "-image %s: there is no such file", file);
  PetscCall(PetscMemcmp(head, signature, 4, hdf5));
  PetscCall(PetscMemcmp(head, png, 4, &is_png));
  PetscCheck(!is_png, PETSC_COMM_WORLD, PETSC_ERR_FILE_UNEXPECTED, "-image %s is a PNG: `image %s picture.bin n` makes a vector of n x n pixels of it", file, file);
  if (*hdf5) {
#if defined(PETSC_HAVE_HDF5)
    PetscBool has;
    PetscCall(PetscViewerHDF5Open(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
    PetscCall(PetscViewerHDF5HasAttribute(viewer, "image", "nx", &has));
    PetscCheck(has, PETSC_COMM_WORLD, PETSC_ERR_FILE_UNEXPECTED, "-image %s has no dataset 'image' with the attributes 'nx' and 'ny'", file);
    PetscCall(PetscViewerHDF5ReadAttribute(viewer, "image", "nx", PETSC_INT, NULL, &size[0]));
    PetscCall(PetscViewerHDF5ReadAttribute(viewer, "image", "ny", PETSC_INT, NULL, &size[1]));
    PetscCall(PetscViewerDestroy(&viewer));
    PetscCheck(size[0] == size[1] && size[0] > 2, PETSC_COMM_WORLD, PETSC_ERR_FILE_UNEXPECTED, "-image %s has %" PetscInt_FMT " x %" PetscInt_FMT " pixels; it takes squares", file, size[0], size[1]);
    *n = size[0];
#else
    SETERRQ(PETSC_COMM_WORLD, PETSC_ERR_SUP, "-image %s is HDF5 and this PETSc has none: use a PETSc vector (image picture out.bin n)", file);
#endif
  } else {
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
    PetscCall(PetscViewerBinaryRead(viewer, size, 2, NULL, PETSC_INT));
    PetscCall(PetscViewerDestroy(&viewer));
    *n = (PetscInt)(PetscSqrtReal((PetscReal)size[1]) + 0.5);
    PetscCheck(size[0] == VEC_FILE_CLASSID && *n > 2 && *n * *n == size[1], PETSC_COMM_WORLD, PETSC_ERR_FILE_UNEXPECTED, "-image %s is neither HDF5 nor a PETSc vector of n x n numbers with %d-bit integers", file, (int)(8 * sizeof(PetscInt)));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode LoadPicture(const char *file, PetscBool hdf5, Vec picture)
{
  PetscViewer viewer;

  PetscFunctionBeginUser;
  PetscCall(PetscObjectSetName((PetscObject)picture, "image"));
#if defined(PETSC_HAVE_HDF5)
  if (hdf5) PetscCall(PetscViewerHDF5Open(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
#endif
  if (!hdf5) PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
  PetscCall(VecLoad(picture, viewer)); /* in natural order, as DMDA vectors are in files */
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(0);
}

static PetscErrorCode OutputOpen(Output *out, PetscInt steps, Vec picture, Vec v)
{
  PetscBool hdf5;
  size_t    length;

  PetscFunctionBeginUser;
  PetscCall(PetscStrlen(out->name, &length));
  PetscCall(PetscStrendswith(out->name, ".h5", &hdf5));
  if (!hdf5) PetscFunctionReturn(0);
#if defined(PETSC_HAVE_HDF5)
  PetscCall(PetscMalloc1(steps + 1, &out->time));
  PetscCall(PetscViewerHDF5Open(PETSC_COMM_WORLD, out->name, FILE_MODE_WRITE, &out->viewer));
  PetscCall(VecView(picture, out->viewer));
  PetscCall(PetscObjectSetName((PetscObject)v, "bound"));
  PetscCall(VecView(v, out->viewer));
  out->name[length - 3] = 0;
#else
  (void)steps;
  (void)picture;
  (void)v;
  SETERRQ(PETSC_COMM_WORLD, PETSC_ERR_SUP, "-output %s: this PETSc has no HDF5; a name without .h5 makes a PETSc vector", out->name);
#endif
  PetscFunctionReturn(0);
}

static PetscErrorCode OutputFrame(Output *out, PetscReal time, Vec u)
{
  char name[32];

  PetscFunctionBeginUser;
  if (!out->viewer) PetscFunctionReturn(0);
  PetscCall(PetscSNPrintf(name, sizeof(name), "u_%04" PetscInt_FMT, out->frames));
  PetscCall(PetscObjectSetName((PetscObject)u, name));
  PetscCall(VecView(u, out->viewer));
  out->time[out->frames++] = time;
  PetscFunctionReturn(0);
}

/* Closes the file, and describes it in XDMF, so that ParaView shows the frames. Or writes the last u. */
static PetscErrorCode OutputClose(Output *out, PetscInt n, Vec u)
{
  const char *base, *slash;
  char        path[PETSC_MAX_PATH_LEN];
  FILE       *f;

  PetscFunctionBeginUser;
  if (!out->viewer) {
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, out->name, FILE_MODE_WRITE, &out->viewer));
    PetscCall(VecView(u, out->viewer));
    PetscCall(PetscViewerDestroy(&out->viewer));
    PetscFunctionReturn(0);
  }
  PetscCall(PetscViewerDestroy(&out->viewer));
  slash = strrchr(out->name, '/');
  base  = slash ? slash + 1 : out->name; /* the two files lie side by side */
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s.xmf", out->name));
  PetscCall(PetscFOpen(PETSC_COMM_WORLD, path, "w", &f));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, f, "<?xml version=\"1.0\"?>\n<Xdmf Version=\"2.0\">\n <Domain>\n  <Grid Name=\"segment\" GridType=\"Collection\" CollectionType=\"Temporal\">\n"));
  for (PetscInt k = 0; k < out->frames; ++k) {
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, f, "   <Grid Name=\"%" PetscInt_FMT "\">\n    <Time Value=\"%g\"/>\n    <Topology TopologyType=\"2DCoRectMesh\" Dimensions=\"%" PetscInt_FMT " %" PetscInt_FMT "\"/>\n", k, (double)out->time[k], n + 1, n + 1));
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, f, "    <Geometry GeometryType=\"ORIGIN_DXDY\">\n     <DataItem Dimensions=\"2\">0 0</DataItem>\n     <DataItem Dimensions=\"2\">%.10g %.10g</DataItem>\n    </Geometry>\n", 1. / n, 1. / n));
    for (int a = 0; a < 3; ++a) {
      const char *label[] = {"image", "bound", "u"};
      char        name[32];
      PetscCall(PetscSNPrintf(name, sizeof(name), a < 2 ? "%s" : "%s_%04" PetscInt_FMT, label[a], k));
      PetscCall(PetscFPrintf(PETSC_COMM_WORLD, f, "    <Attribute Name=\"%s\" Center=\"Cell\">\n     <DataItem Format=\"HDF\" Precision=\"8\" Dimensions=\"%" PetscInt_FMT " %" PetscInt_FMT "\">%s.h5:/%s</DataItem>\n    </Attribute>\n", label[a], n, n, base, name));
    }
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, f, "   </Grid>\n"));
  }
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, f, "  </Grid>\n </Domain>\n</Xdmf>\n"));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, f));
  PetscCall(PetscFree(out->time));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "wrote %" PetscInt_FMT " frames to %s.h5 and .xmf\n", out->frames, out->name));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Segment             s = {0};
  Output              out = {0};
  SNES                snes;
  Vec                 u, lower, v, picture, natural;
  PetscInt            steps = 100, k = 3, most = 0, cycles, worst = 0, all = 0, progress = 0, frames = 0;
  PetscReal           T = 0.02, circle[3] = {0.5, 0.5, 0.45}, inner[3] = {0.5, 0.5, 0.05}, blur = 1, inside = 0, active = 0;
  PetscLogDouble      begin, start, end, solving = 0;
  clock_t             processor;
  char                file[PETSC_MAX_PATH_LEN];
  PetscBool           set, output, hdf5;
  SNESConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  s.eps  = 1;
  s.K    = 10;
  s.unit = 16;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-progress", &progress, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-frames", &frames, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-output", out.name, sizeof(out.name), &output));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-time", &T, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-eps", &s.eps, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-K", &s.K, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-unit", &s.unit, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-blur", &blur, NULL));
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-circle", circle, &k, &set));
  PetscCheck(!set || k == 3, PETSC_COMM_WORLD, PETSC_ERR_USER, "-circle takes x,y,r");
  k = 3;
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-inside", inner, &k, &set));
  PetscCheck(!set || k == 3, PETSC_COMM_WORLD, PETSC_ERR_USER, "-inside takes x,y,r");
  PetscCheck(steps > 0 && T > 0, PETSC_COMM_WORLD, PETSC_ERR_USER, "-steps and -time are positive numbers");
  PetscCall(PetscOptionsGetString(NULL, NULL, "-image", file, sizeof(file), &set));
  PetscCheck(set, PETSC_COMM_WORLD, PETSC_ERR_USER, "-image names the picture: ./image makes one from a PNG or an MRI slice");
  s.tau    = T / steps;
  progress = progress > 0 ? progress : PetscMax(1, steps / 10);
  frames   = frames > 0 ? frames : steps;
  PetscCall(FindPicture(file, &hdf5, &s.n));

  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, s.n, s.n, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &s.da));
  PetscCall(DMSetFromOptions(s.da));
  PetscCall(DMSetUp(s.da));
  PetscCall(DMCreateGlobalVector(s.da, &u));
  for (Vec *w[] = {&lower, &v, &picture, &s.b, &s.g, NULL}, **p = w; *p; ++p) PetscCall(VecDuplicate(u, *p));
  PetscCall(LoadPicture(file, hdf5, picture));
  PetscCall(Circle(&s, inner, PETSC_TRUE, v));
  if (output) PetscCall(OutputOpen(&out, steps / frames + 2, picture, v));
  PetscCall(Blur(&s, picture, (PetscInt)(2 * blur * blur + 0.5)));
  PetscCall(EdgeDetector(&s, picture));
  PetscCall(Pattern(&s, u));
  PetscCall(Circle(&s, circle, PETSC_FALSE, u));
  PetscCall(VecSet(lower, PETSC_NINFINITY));

  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, s.da));
  PetscCall(VecDuplicate(u, &natural));
  PetscCall(SNESSetFunction(snes, natural, Function, &s));
  PetscCall(SNESSetJacobian(snes, s.A, s.A, Jacobian, &s));
  PetscCall(SNESSetTolerances(snes, 1e-12, 1e-4, 0, 50, 10000));
  PetscCall(SNESSetType(snes, SNESVINEWTONRSLS));
  PetscCall(SNESSetFromOptions(snes)); /* -snes_type vipmg */
  PetscCall(SNESVISetVariableBounds(snes, lower, v));
  if (output) PetscCall(OutputFrame(&out, 0, u));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&begin));
  processor = clock();
  for (PetscInt step = 1; step <= steps; ++step) {
    PetscCall(Assemble(&s, u));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&start));
    PetscCall(SNESSolve(snes, NULL, u));
    PetscCall(PetscTime(&end));
    solving += end - start;
    PetscCall(SNESGetConvergedReason(snes, &reason));
    PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "step %" PetscInt_FMT ": %s", step, SNESConvergedReasons[reason]);
    PetscCall(SNESGetLinearSolveIterations(snes, &cycles));
    worst = PetscMax(worst, cycles);
    all += cycles;
    if (step % progress == 0 || step == steps) {
      PetscCall(Count(u, v, &inside, &active));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "step %4" PetscInt_FMT "  time %.4f  linear iterations %2" PetscInt_FMT "  active %.3f %%  inside %.3f %%\n", step, (double)(step * s.tau), cycles, (double)(100 * active), (double)(100 * inside)));
    }
    if (output && (step % frames == 0 || step == steps)) PetscCall(OutputFrame(&out, step * s.tau, u));
  }
  PetscCall(PetscTime(&end));
  processor = clock() - processor;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT "^2 pixels, %" PetscInt_FMT " steps: solving took %.3f s of %.3f s (processor time %.3f s), %.2f linear iterations per step, at most %" PetscInt_FMT "\n", s.n, steps, solving, end - begin, (double)processor / CLOCKS_PER_SEC, (double)all / steps, worst));
  PetscCheck(!most || worst <= most, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "%" PetscInt_FMT " linear iterations in a step, more than -most %" PetscInt_FMT, worst, most);
  if (output) PetscCall(OutputClose(&out, s.n, u));
  for (Vec *w[] = {&u, &lower, &v, &picture, &s.b, &s.g, &s.local_g, &natural, NULL}, **p = w; *p; ++p) PetscCall(VecDestroy(*p));
  PetscCall(PetscFree(s.values));
#if defined(SEGMENT_CUDA)
  if (s.device) PetscCall(ReleaseCUDA(s.device));
#endif
  PetscCall(MatDestroy(&s.A));
  PetscCall(SNESDestroy(&snes));
  PetscCall(DMDestroy(&s.da));
  PetscCall(PetscFinalize());
  return 0;
}
