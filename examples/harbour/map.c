/* Reads the map from HDF5 or from its binary twin into a DMDA, and refines it */
#include "harbour.h"

typedef enum {
  FORMAT_HDF5,
  FORMAT_BINARY
} Format;

/* The first bytes tell, on every rank alike; the file's name does not matter */
static PetscErrorCode FindFormat(const char path[], Format *format)
{
  unsigned char head[8] = {0};
  const unsigned char hdf5[4] = {0x89, 'H', 'D', 'F'}, vec[4] = {0x00, 0x12, 0x7b, 0x4e}; /* VEC_FILE_CLASSID */
  int           found = 0;
  PetscMPIInt   rank;
  PetscBool     isHdf5, isVec;
  PetscInt      at = sizeof(PetscInt) == 8 ? 4 : 0; /* a PETSc with 64-bit indices writes 64-bit integers */

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (!rank) {
    FILE *file = fopen(path, "rb");
    if (file) {
      found = 1;
      (void)!fread(head, 1, sizeof(head), file); /* a short file is caught by its missing signature */
      fclose(file);
    }
  }
  PetscCallMPI(MPI_Bcast(&found, 1, MPI_INT, 0, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Bcast(head, sizeof(head), MPI_UNSIGNED_CHAR, 0, PETSC_COMM_WORLD));
  PetscCheck(found, PETSC_COMM_WORLD, PETSC_ERR_FILE_OPEN, "Cannot open the depth file %s", path);
  PetscCall(PetscMemcmp(head, hdf5, sizeof(hdf5), &isHdf5));
  PetscCall(PetscMemcmp(head + at, vec, sizeof(vec), &isVec));
#if !defined(PETSC_HAVE_HDF5)
  PetscCheck(!isHdf5, PETSC_COMM_WORLD, PETSC_ERR_SUP, "%s is HDF5 and this PETSc has none: use the binary twin (raster2petsc input depth.bin)", path);
#endif
  PetscCheck(isHdf5 || isVec, PETSC_COMM_WORLD, PETSC_ERR_FILE_UNEXPECTED, "%s is neither HDF5 nor a PETSc binary Vec with %d-bit integers (raster2petsc writes both, see its --indices)", path, (int)(8 * sizeof(PetscInt)));
  *format = isHdf5 ? FORMAT_HDF5 : FORMAT_BINARY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Opening and loading can fail for damaged files; then the caller says so in one sentence */
#define TRY(ierr, call) \
  do { \
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL)); \
    ierr = call; \
    PetscCall(PetscPopErrorHandler()); \
  } while (0)

static PetscErrorCode OpenMap(const char path[], Format format, PetscViewer *viewer)
{
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
#if defined(PETSC_HAVE_HDF5)
  if (format == FORMAT_HDF5) TRY(ierr, PetscViewerHDF5Open(PETSC_COMM_WORLD, path, FILE_MODE_READ, viewer));
  else
#endif
    TRY(ierr, PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_READ, viewer));
  PetscCheck(!ierr, PETSC_COMM_WORLD, PETSC_ERR_FILE_READ, "%s is damaged: it cannot be opened as %s", path, format == FORMAT_HDF5 ? "HDF5" : "PETSc binary");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadGeometry(const char path[], Format format, PetscViewer viewer, Map *map)
{
  PetscFunctionBeginUser;
  if (format == FORMAT_BINARY) { /* the first Vec of the file; read by hand because every rank wants all of it */
    PetscInt       head[2];
    PetscReal      value[6];
    PetscErrorCode ierr;

    PetscCall(PetscViewerBinaryRead(viewer, head, 2, NULL, PETSC_INT));
    PetscCheck(head[1] == 6, PETSC_COMM_WORLD, PETSC_ERR_FILE_UNEXPECTED, "%s does not begin with the six numbers nx, ny, dx, dy, x0, y0 that raster2petsc writes", path);
    TRY(ierr, PetscViewerBinaryRead(viewer, value, 6, NULL, PETSC_REAL));
    PetscCheck(!ierr, PETSC_COMM_WORLD, PETSC_ERR_FILE_READ, "%s is damaged: it ends within its header", path);
    map->nx = (PetscInt)value[0];
    map->ny = (PetscInt)value[1];
    map->dx = value[2];
    map->dy = value[3];
    map->x0 = value[4];
    map->y0 = value[5];
  }
#if defined(PETSC_HAVE_HDF5)
  else {
    const char *name[] = {"nx", "ny", "dx", "dy", "x0", "y0"};
    PetscInt    size[2];
    PetscBool   has;
    /* attributes in the file are double whatever PetscReal is */
    double value[6];

    PetscCall(PetscViewerHDF5HasDataset(viewer, "depth", &has));
    PetscCheck(has, PETSC_COMM_WORLD, PETSC_ERR_FILE_UNEXPECTED, "%s has no dataset 'depth'", path);
    for (PetscInt a = 0; a < 6; a++) {
      PetscCall(PetscViewerHDF5HasAttribute(viewer, "depth", name[a], &has));
      PetscCheck(has, PETSC_COMM_WORLD, PETSC_ERR_FILE_UNEXPECTED, "%s: the dataset 'depth' has no attribute '%s' (raster2petsc writes nx, ny, dx, dy, x0, y0)", path, name[a]);
      if (a < 2) PetscCall(PetscViewerHDF5ReadAttribute(viewer, "depth", name[a], PETSC_INT, NULL, &size[a]));
      else PetscCall(PetscViewerHDF5ReadAttribute(viewer, "depth", name[a], PETSC_DOUBLE, NULL, &value[a]));
    }
    map->nx = size[0];
    map->ny = size[1];
    map->dx = value[2];
    map->dy = value[3];
    map->x0 = value[4];
    map->y0 = value[5];
  }
#endif
  PetscCheck(map->nx > 0 && map->ny > 0 && map->dx > 0 && map->dy > 0, PETSC_COMM_WORLD, PETSC_ERR_FILE_UNEXPECTED, "%s: a map of %" PetscInt_FMT " x %" PetscInt_FMT " cells of %g x %g m makes no sense", path, map->nx, map->ny, (double)map->dx, (double)map->dy);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckFinite(const char path[], DM da, Vec depth)
{
  PetscScalar **h;
  PetscInt      xs, ys, xm, ym, nx, bad[2] = {PETSC_INT_MAX, PETSC_INT_MAX}, first[2];

  PetscFunctionBeginUser;
  PetscCall(DMDAGetInfo(da, NULL, &nx, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArrayRead(da, depth, &h));
  for (PetscInt j = ys; j < ys + ym; j++)
    for (PetscInt i = xs; i < xs + xm; i++)
      if (PetscIsInfOrNanScalar(h[j][i])) bad[0] = PetscMin(bad[0], j * nx + i);
  PetscCall(DMDAVecRestoreArrayRead(da, depth, &h));
  PetscCallMPI(MPI_Allreduce(bad, first, 2, MPIU_INT, MPI_MIN, PETSC_COMM_WORLD));
  PetscCheck(first[0] == PETSC_INT_MAX, PETSC_COMM_WORLD, PETSC_ERR_FILE_UNEXPECTED, "%s: the depth in column %" PetscInt_FMT ", row %" PetscInt_FMT " is NaN or infinite", path, first[0] % nx, first[0] / nx);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A DMDA over the map; lx, ly prescribe what each rank owns, or are NULL */
PetscErrorCode CreateGrid(PetscInt nx, PetscInt ny, DMDAStencilType type, PetscInt m, PetscInt n, const PetscInt lx[], const PetscInt ly[], DM *da)
{
  PetscInt gotX, gotY;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, type, nx, ny, m, n, 1, 1, lx, ly, da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscCall(DMDAGetInfo(*da, NULL, &gotX, &gotY, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCheck(gotX == nx && gotY == ny, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "The map gives the grid's size: use -refine, not -da_refine");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bilinear refinement: k x k cells for each one. Every rank keeps the part of the map that it read, so a
   ghost layer of one coarse cell is all that interpolation needs */
static PetscErrorCode RefineMap(PetscInt k, DM coarse, Vec coarseDepth, Map *map, DM *fine, Vec *fineDepth)
{
  const PetscInt *lx, *ly;
  PetscInt       *lxFine, *lyFine, m, n, xs, ys, xm, ym;
  PetscScalar   **c, **f;
  Vec             local;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetInfo(coarse, NULL, NULL, NULL, NULL, &m, &n, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetOwnershipRanges(coarse, &lx, &ly, NULL));
  PetscCall(PetscMalloc2(m, &lxFine, n, &lyFine));
  for (PetscInt r = 0; r < m; r++) lxFine[r] = k * lx[r];
  for (PetscInt r = 0; r < n; r++) lyFine[r] = k * ly[r];
  PetscCall(CreateGrid(k * map->nx, k * map->ny, DMDA_STENCIL_STAR, m, n, lxFine, lyFine, fine));
  PetscCall(PetscFree2(lxFine, lyFine));
  PetscCall(DMCreateGlobalVector(*fine, fineDepth));

  PetscCall(DMGetLocalVector(coarse, &local));
  PetscCall(DMGlobalToLocal(coarse, coarseDepth, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayRead(coarse, local, &c));
  PetscCall(DMDAVecGetArray(*fine, *fineDepth, &f));
  PetscCall(DMDAGetCorners(*fine, &xs, &ys, NULL, &xm, &ym, NULL));
  for (PetscInt j = ys; j < ys + ym; j++) {
    for (PetscInt i = xs; i < xs + xm; i++) {
      /* the cell's centre in units of coarse cells, constant beyond the outermost coarse centres */
      const PetscReal x = PetscClipInterval((i + 0.5) / k - 0.5, 0, map->nx - 1), y = PetscClipInterval((j + 0.5) / k - 0.5, 0, map->ny - 1);
      const PetscInt  i0 = (PetscInt)x, j0 = (PetscInt)y, i1 = PetscMin(i0 + 1, map->nx - 1), j1 = PetscMin(j0 + 1, map->ny - 1);
      const PetscReal s = x - i0, t = y - j0;
      f[j][i] = (1 - t) * ((1 - s) * c[j0][i0] + s * c[j0][i1]) + t * ((1 - s) * c[j1][i0] + s * c[j1][i1]);
    }
  }
  PetscCall(DMDAVecRestoreArray(*fine, *fineDepth, &f));
  PetscCall(DMDAVecRestoreArrayRead(coarse, local, &c));
  PetscCall(DMRestoreLocalVector(coarse, &local));
  map->nx *= k;
  map->ny *= k;
  map->dx /= k;
  map->dy /= k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReadMap(const char path[], PetscInt refine, Map *map, DM *da, Vec *depth)
{
  Format         format;
  PetscViewer    viewer;
  PetscErrorCode ierr;
  DM             coarse;
  Vec            coarseDepth;

  PetscFunctionBeginUser;
  PetscCall(FindFormat(path, &format));
  PetscCall(OpenMap(path, format, &viewer));
  PetscCall(ReadGeometry(path, format, viewer, map));
  PetscCall(CreateGrid(map->nx, map->ny, DMDA_STENCIL_BOX, PETSC_DECIDE, PETSC_DECIDE, NULL, NULL, &coarse));
  PetscCall(DMCreateGlobalVector(coarse, &coarseDepth));
  PetscCall(PetscObjectSetName((PetscObject)coarseDepth, "depth"));
  TRY(ierr, VecLoad(coarseDepth, viewer));
  PetscCheck(!ierr, PETSC_COMM_WORLD, PETSC_ERR_FILE_READ, "%s is damaged: it does not hold the %" PetscInt_FMT " x %" PetscInt_FMT " depths that it promises", path, map->nx, map->ny);
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(CheckFinite(path, coarse, coarseDepth));
  PetscCall(RefineMap(refine, coarse, coarseDepth, map, da, depth));
  PetscCall(VecDestroy(&coarseDepth));
  PetscCall(DMDestroy(&coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}
