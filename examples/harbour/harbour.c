static char help[] = "The waves of a ship over real bathymetry, as a ship simulator computes them.\n\
Every time step solves one variable-depth elliptic problem; the tide moves its coefficients.\n\n\
  ./harbour -depth depth.h5 -steps 200 -pc_type gamg -output waves\n\
  ./harbour -depth depth.h5 -refine 8 -compare rrb,gamg,hypre\n\
  ./harbour -selftest [-depth depth.h5]\n\n";

/*
  Linear dispersive waves on water of depth h(x,y,t): the variational Boussinesq model with a parabolic
  vertical profile (Klopman, van Groesen, Dingemans, "A variational approach to Boussinesq modelling of
  fully non-linear water waves", J. Fluid Mech. 657, 2010; linearised as in the ship simulator of
  De Jong, van der Ploeg, Ditzel, Vuik, ETNA 2018).

  The velocity potential is Phi(x,y,z,t) = phi + f(z) psi with f = z + z^2/(2h): phi [m^2/s] is its value at
  the surface, psi [m/s] scales the vertical structure, and f' is 1 at the surface z = 0, 0 at the bottom
  z = -h. Integrating |grad Phi|^2 over the depth (mild slope: grad f neglected) gives the energy

    H = 1/2 int g zeta^2 + h |grad phi|^2 - 2 D grad phi . grad psi + N |grad psi|^2 + M psi^2,
        D = -int f = h^2/3,   N = int f^2 = 2 h^3/15,   M = int f'^2 = h/3   (h N > D^2: H is positive)

  with the surface elevation zeta [m], and Hamilton's equations are the model:

    d zeta/dt =  dH/dphi  = -div(h grad phi) + div(D grad psi)
    d phi/dt  = -dH/dzeta = -g zeta - p/rho                          p: the ship, a pressure patch
        0     =  dH/dpsi  = -div(N grad psi) + M psi + div(D grad phi)

  The last line is the linear system of every step. Waves of number k on constant depth travel with
  c^2 = g h (1 + q/15)/(1 + 2q/5), q = (kh)^2: the (2,2) Pade approximation of g tanh(kh)/k.

  Space: cell centres of a DMDA, finite volumes. A face between two water cells has the mean of their
  depths; a face towards land has coefficient zero, so the coast reflects. A land cell is an identity row
  that nothing couples to; its zeros are stored, hence the nonzero pattern is the full five points and never
  changes. Land is what would be shallower than -min_depth at low tide.

  Time: phi lives at the half steps (leapfrog). This is symplectic: with tide, ship and sponge off
  mass is kept to rounding and the energy H(zeta^n zeta^{n+1}, phi^{n+1/2}) to the solver's tolerance
  (-selftest). StableStep() gives the largest stable step; -cfl is the part of it that is used.
*/
#include <petscdmda.h>
#include <petscksp.h>
#include <petscpc.h>
#include <petsctime.h>
#include <petscviewerhdf5.h>

#if defined(PETSC_USE_COMPLEX)
  #error "harbour needs a real PETSc"
#endif

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif
#if PETSC_VERSION_LT(3, 22, 0)
  #define PETSC_INT_MAX PETSC_MAX_INT
#endif

#define GRAVITY 9.81

/* The raster: nx x ny cells of dx x dy metres, lower left corner at (x0,y0) */
typedef struct {
  PetscInt  nx, ny;
  PetscReal dx, dy, x0, y0;
} Map;

typedef struct {
  PetscReal x, y;             /* where it starts, metres */
  PetscReal cosine, sine;     /* its course */
  PetscReal speed, length, beam, draft;
} Ship;

typedef struct {
  DM        da;
  Map       map;
  Vec       depth;            /* local, below mean sea level; zero marks land */
  Vec       zeta, phi, psi;   /* the waves */
  Vec       rate, rhs, damping;
  Vec       phiLocal, psiLocal;
  Mat       A;
  PetscReal tide, tidePeriod; /* amplitude and period */
  PetscReal level;            /* of the tide, now */
  PetscReal deepest;
  PetscInt  deepestCell[2];
  PetscInt  water;            /* number of water cells */
  PetscReal dt;
  Ship      ship;
} Harbour;

#define MAX_SOLVERS 8

/* One preconditioner on the series of systems, and what it took */
typedef struct {
  char       name[64];
  KSP        ksp;
  Vec        x;
  PetscReal *setup, *solve;   /* milliseconds, for each step */
  PetscInt   solves, iterations, maxIterations;
  PetscReal  residual;        /* largest true relative residual */
  PetscReal  difference;      /* largest relative difference to the first solver's solution */
  KSPConvergedReason failure; /* the first one, or 0 */
} Solver;

/* ------------------------------------------------ reading the map ------------------------------------------------ */

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
static PetscErrorCode CreateGrid(PetscInt nx, PetscInt ny, DMDAStencilType type, PetscInt m, PetscInt n, const PetscInt lx[], const PetscInt ly[], DM *da)
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

static PetscErrorCode ReadMap(const char path[], PetscInt refine, Map *map, DM *da, Vec *depth)
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

/* ---------------------------------------------- water, land, sponge ---------------------------------------------- */

/* Marks land with depth zero, counts water, and finds the deepest cell (the first one, for any number of ranks) */
static PetscErrorCode MarkLand(Harbour *sea, Vec map, PetscReal minDepth)
{
  Vec           depth;
  PetscScalar **h;
  PetscInt      xs, ys, xm, ym, water = 0, first = PETSC_INT_MAX, nx = sea->map.nx;
  PetscReal     deepest = 0;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(map, &depth));
  PetscCall(VecCopy(map, depth));
  PetscCall(DMDAGetCorners(sea->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArray(sea->da, depth, &h));
  for (PetscInt j = ys; j < ys + ym; j++) {
    for (PetscInt i = xs; i < xs + xm; i++) {
      if (h[j][i] - sea->tide < minDepth) h[j][i] = 0;
      else water++;
      deepest = PetscMax(deepest, h[j][i]);
    }
  }
  PetscCallMPI(MPI_Allreduce(&water, &sea->water, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(&deepest, &sea->deepest, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCheck(sea->water, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "The map has no water deeper than %g m at low tide; depths count downwards (raster2petsc --scale -1 turns elevation into depth)", (double)minDepth);
  for (PetscInt j = ys; j < ys + ym; j++)
    for (PetscInt i = xs; i < xs + xm; i++)
      if (h[j][i] == sea->deepest) first = PetscMin(first, j * nx + i);
  PetscCall(DMDAVecRestoreArray(sea->da, depth, &h));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPIU_INT, MPI_MIN, PETSC_COMM_WORLD));
  sea->deepestCell[0] = first % nx;
  sea->deepestCell[1] = first / nx;
  PetscCall(DMCreateLocalVector(sea->da, &sea->depth));
  PetscCall(DMGlobalToLocal(sea->da, depth, INSERT_VALUES, sea->depth));
  PetscCall(VecDestroy(&depth));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factor by which a step damps the waves: 1, but less along the open sides (a sponge of the given width) */
static PetscErrorCode FillSponge(Harbour *sea, PetscReal width)
{
  const Map      *map = &sea->map;
  const PetscReal strength = width > 0 ? 6 * PetscSqrtReal(GRAVITY * sea->deepest) / width : 0; /* e^-4 there and back */
  PetscScalar   **damping;
  PetscInt        xs, ys, xm, ym;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(sea->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArray(sea->da, sea->damping, &damping));
  for (PetscInt j = ys; j < ys + ym; j++) {
    for (PetscInt i = xs; i < xs + xm; i++) {
      const PetscReal x = (PetscMin(i, map->nx - 1 - i) + 0.5) * map->dx, y = (PetscMin(j, map->ny - 1 - j) + 0.5) * map->dy;
      const PetscReal s = width > 0 ? PetscMax(0, 1 - PetscMin(x, y) / width) : 0;
      damping[j][i] = PetscExpReal(-strength * s * s * sea->dt);
    }
  }
  PetscCall(DMDAVecRestoreArray(sea->da, sea->damping, &damping));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------- discretisation ------------------------------------------------- */

static const PetscInt step[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}}; /* west, east, south, north */

/* Depth on the four faces of cell (i,j) at the present tide, zero towards land and at the map's edge */
static inline void FaceDepths(const Harbour *sea, PetscScalar **h, PetscInt i, PetscInt j, PetscReal face[4])
{
  for (PetscInt f = 0; f < 4; f++) {
    const PetscInt  ni = i + step[f][0], nj = j + step[f][1];
    const PetscBool inside = (PetscBool)(ni >= 0 && ni < sea->map.nx && nj >= 0 && nj < sea->map.ny);
    face[f] = inside && h[j][i] > 0 && h[nj][ni] > 0 ? 0.5 * (h[j][i] + h[nj][ni]) + sea->level : 0;
  }
}

static inline PetscReal CoefD(PetscReal h)
{
  return h * h / 3;
}
static inline PetscReal CoefN(PetscReal h)
{
  return 2 * h * h * h / 15;
}
static inline PetscReal CoefM(PetscReal h)
{
  return h / 3;
}

/* A = -div(N grad .) + M at the present tide */
static PetscErrorCode Assemble(Harbour *sea)
{
  const PetscReal w[4] = {1 / PetscSqr(sea->map.dx), 1 / PetscSqr(sea->map.dx), 1 / PetscSqr(sea->map.dy), 1 / PetscSqr(sea->map.dy)};
  PetscScalar   **h;
  PetscInt        xs, ys, xm, ym;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(sea->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArrayRead(sea->da, sea->depth, &h));
  for (PetscInt j = ys; j < ys + ym; j++) {
    for (PetscInt i = xs; i < xs + xm; i++) {
      const MatStencil row = {.i = i, .j = j};
      MatStencil       col[5];
      PetscScalar      value[5];
      PetscReal        face[4];

      FaceDepths(sea, h, i, j, face);
      col[4]   = row;
      value[4] = h[j][i] > 0 ? CoefM(h[j][i] + sea->level) : 1;
      for (PetscInt f = 0; f < 4; f++) {
        const PetscInt ni = i + step[f][0], nj = j + step[f][1];
        const PetscBool inside = (PetscBool)(ni >= 0 && ni < sea->map.nx && nj >= 0 && nj < sea->map.ny);
        col[f]   = (MatStencil){.i = inside ? ni : -1, .j = inside ? nj : -1}; /* negative: ignored */
        value[f] = -w[f] * CoefN(face[f]);
        value[4] -= value[f];
      }
      PetscCall(MatSetValuesStencil(sea->A, 1, &row, 5, col, value, INSERT_VALUES));
    }
  }
  PetscCall(DMDAVecRestoreArrayRead(sea->da, sea->depth, &h));
  PetscCall(MatAssemblyBegin(sea->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(sea->A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Leapfrog is stable for dt < 2/sqrt(g lambda), lambda the largest eigenvalue of phi -> dH/dphi. As psi minimises
   H, any other psi bounds it from above; psi = b phi gives

     lambda <= 4 (1/dx^2 + 1/dy^2) max_h (h - 2 b D + b^2 N) + b^2 max_h M

   and the best b allows steps up to 2.3 times longer than b = 0, the bound for waves without dispersion */
static PetscReal StableStep(const Harbour *sea)
{
  const PetscReal laplacian = 4 / PetscSqr(sea->map.dx) + 4 / PetscSqr(sea->map.dy), deepest = sea->deepest + sea->tide;
  PetscReal       best      = PETSC_MAX_REAL;

  for (PetscReal bh = 0; bh <= 2.5; bh += 0.05) {
    const PetscReal b   = bh / deepest;
    PetscReal       max = 0;
    for (PetscReal h = 0; h <= deepest; h += deepest / 1024) max = PetscMax(max, h - 2 * b * CoefD(h) + b * b * CoefN(h));
    best = PetscMin(best, laplacian * max + b * b * CoefM(deepest));
  }
  return 2 / PetscSqrtReal(GRAVITY * best);
}

/* rhs = -div(D grad phi), or with psi given: rate = -div(h grad phi) + div(D grad psi) */
static PetscErrorCode Fluxes(Harbour *sea, PetscBool withPsi, Vec result)
{
  const PetscReal w[4] = {1 / PetscSqr(sea->map.dx), 1 / PetscSqr(sea->map.dx), 1 / PetscSqr(sea->map.dy), 1 / PetscSqr(sea->map.dy)};
  PetscScalar   **h, **phi, **psi = NULL, **r;
  PetscInt        xs, ys, xm, ym;

  PetscFunctionBeginUser;
  PetscCall(DMGlobalToLocal(sea->da, sea->phi, INSERT_VALUES, sea->phiLocal));
  if (withPsi) PetscCall(DMGlobalToLocal(sea->da, sea->psi, INSERT_VALUES, sea->psiLocal));
  PetscCall(DMDAGetCorners(sea->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArrayRead(sea->da, sea->depth, &h));
  PetscCall(DMDAVecGetArrayRead(sea->da, sea->phiLocal, &phi));
  if (withPsi) PetscCall(DMDAVecGetArrayRead(sea->da, sea->psiLocal, &psi));
  PetscCall(DMDAVecGetArray(sea->da, result, &r));
  for (PetscInt j = ys; j < ys + ym; j++) {
    for (PetscInt i = xs; i < xs + xm; i++) {
      PetscReal   face[4];
      PetscScalar sum = 0;

      FaceDepths(sea, h, i, j, face);
      for (PetscInt f = 0; f < 4; f++) {
        const PetscInt ni = i + step[f][0], nj = j + step[f][1];
        if (face[f] == 0) continue;
        if (withPsi) sum += w[f] * (face[f] * (phi[j][i] - phi[nj][ni]) - CoefD(face[f]) * (psi[j][i] - psi[nj][ni]));
        else sum += w[f] * CoefD(face[f]) * (phi[j][i] - phi[nj][ni]);
      }
      r[j][i] = sum;
    }
  }
  PetscCall(DMDAVecRestoreArray(sea->da, result, &r));
  if (withPsi) PetscCall(DMDAVecRestoreArrayRead(sea->da, sea->psiLocal, &psi));
  PetscCall(DMDAVecRestoreArrayRead(sea->da, sea->phiLocal, &phi));
  PetscCall(DMDAVecRestoreArrayRead(sea->da, sea->depth, &h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The tide's level and the ship's position at time t */
static PetscReal TideAt(const Harbour *sea, PetscReal t)
{
  return sea->tide * PetscSinReal(2 * PETSC_PI * t / sea->tidePeriod);
}
static void ShipAt(const Harbour *sea, PetscReal t, PetscReal *x, PetscReal *y)
{
  *x = sea->ship.x + sea->ship.cosine * sea->ship.speed * t;
  *y = sea->ship.y + sea->ship.sine * sea->ship.speed * t;
}

/* phi -= length (g zeta + p/rho): the hull presses the water down by its draft, in a smooth patch */
static PetscErrorCode AdvancePotential(Harbour *sea, PetscReal t, PetscReal length)
{
  const Ship     *ship = &sea->ship;
  const Map      *map  = &sea->map;
  const PetscReal launch = PetscMin(1, t * ship->speed / (2 * ship->length)); /* lowered gently, over two lengths */
  PetscReal       shipX, shipY;
  PetscScalar   **h, **zeta, **phi;
  PetscInt        xs, ys, xm, ym;

  PetscFunctionBeginUser;
  ShipAt(sea, t, &shipX, &shipY);
  PetscCall(DMDAGetCorners(sea->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArrayRead(sea->da, sea->depth, &h));
  PetscCall(DMDAVecGetArrayRead(sea->da, sea->zeta, &zeta));
  PetscCall(DMDAVecGetArray(sea->da, sea->phi, &phi));
  for (PetscInt j = ys; j < ys + ym; j++) {
    for (PetscInt i = xs; i < xs + xm; i++) {
      const PetscReal x = map->x0 + (i + 0.5) * map->dx - shipX, y = map->y0 + (j + 0.5) * map->dy - shipY;
      const PetscReal along = (x * ship->cosine + y * ship->sine) / ship->length, across = (y * ship->cosine - x * ship->sine) / ship->beam;
      PetscReal       head = zeta[j][i];

      if (h[j][i] == 0) continue;
      if (PetscAbsReal(along) < 0.5 && PetscAbsReal(across) < 0.5) head += launch * ship->draft * PetscSqr(PetscCosReal(PETSC_PI * along) * PetscCosReal(PETSC_PI * across));
      phi[j][i] -= length * GRAVITY * head;
    }
  }
  PetscCall(DMDAVecRestoreArray(sea->da, sea->phi, &phi));
  PetscCall(DMDAVecRestoreArrayRead(sea->da, sea->zeta, &zeta));
  PetscCall(DMDAVecRestoreArrayRead(sea->da, sea->depth, &h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The leapfrog's conserved energy per unit density [m^5/s^2], after zeta went from n to n+1 around phi^{n+1/2} */
static PetscErrorCode Energy(Harbour *sea, PetscReal *energy)
{
  PetscScalar zz, zr, pr;

  PetscFunctionBeginUser;
  PetscCall(VecDot(sea->zeta, sea->zeta, &zz));
  PetscCall(VecDot(sea->zeta, sea->rate, &zr)); /* zeta^n = zeta^{n+1} - dt rate */
  PetscCall(VecDot(sea->phi, sea->rate, &pr));
  *energy = 0.5 * sea->map.dx * sea->map.dy * (GRAVITY * (zz - sea->dt * zr) + pr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---------------------------------------------------- solvers ---------------------------------------------------- */

static PetscErrorCode SolverCreate(Harbour *sea, const char name[], PetscBool prefixed, PetscReal rtol, PetscInt steps, Solver *s)
{
  PC     pc;
  PCType type;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &s->ksp));
  PetscCall(KSPSetType(s->ksp, KSPCG));
  PetscCall(KSPSetNormType(s->ksp, KSP_NORM_UNPRECONDITIONED)); /* the same question to every preconditioner */
  PetscCall(KSPSetTolerances(s->ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetOperators(s->ksp, sea->A, sea->A));
  PetscCall(KSPGetPC(s->ksp, &pc));
  PetscCall(PCSetType(pc, name));
  if (prefixed) { /* -gamg_pc_gamg_threshold and so on */
    PetscCall(KSPSetOptionsPrefix(s->ksp, name));
    PetscCall(KSPAppendOptionsPrefix(s->ksp, "_"));
  }
  PetscCall(KSPSetFromOptions(s->ksp));
  PetscCall(PCGetType(pc, &type)); /* -pc_type may have changed it */
  PetscCall(PetscStrncpy(s->name, type, sizeof(s->name)));
  PetscCall(VecDuplicate(sea->psi, &s->x));
  PetscCall(PetscMalloc2(steps, &s->setup, steps, &s->solve));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Those of the named preconditioners that exist here; nothing named means rrb, gamg, hypre. Frees the names */
static PetscErrorCode CreateSolvers(Harbour *sea, PetscInt nTypes, char *types[], PetscReal rtol, PetscInt steps, PetscInt *n, Solver solvers[])
{
  const char *usual[] = {"rrb", "gamg", "hypre"};
  PC          pc;
  PetscErrorCode (*create)(PC);

  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc)); /* registers PETSc's types */
  PetscCall(PCDestroy(&pc));
  if (!nTypes)
    for (; nTypes < 3; nTypes++) PetscCall(PetscStrallocpy(usual[nTypes], &types[nTypes]));
  for (PetscInt k = 0; k < nTypes; k++) {
    PetscCall(PetscFunctionListFind(PCList, types[k], &create));
    if (create) PetscCall(SolverCreate(sea, types[k], PETSC_TRUE, rtol, steps, &solvers[(*n)++]));
    else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "skipped  %s: this PETSc has no such preconditioner (rrb comes with -dll_append libtessera.so)\n", types[k]));
    PetscCall(PetscFree(types[k]));
  }
  PetscCheck(*n, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-compare: this PETSc has none of the preconditioners");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolverDestroy(Solver *s)
{
  PetscFunctionBeginUser;
  PetscCall(KSPDestroy(&s->ksp));
  PetscCall(VecDestroy(&s->x));
  PetscCall(PetscFree2(s->setup, s->solve));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves the present system and books time, iterations and the true residual */
static PetscErrorCode SolverRun(Harbour *sea, Solver *s, Vec reference)
{
  PetscLogDouble     t0, t1, t2;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          rnorm, bnorm, dnorm, xnorm;
  Vec                r;

  PetscFunctionBeginUser;
  PetscCall(VecCopy(sea->psi, s->x)); /* used with -ksp_initial_guess_nonzero */
  PetscCall(KSPSetOperators(s->ksp, sea->A, sea->A));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&t0));
  PetscCall(KSPSetUp(s->ksp));
  PetscCall(KSPSetUpOnBlocks(s->ksp));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&t1));
  PetscCall(KSPSolve(s->ksp, sea->rhs, s->x));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&t2));

  PetscCall(KSPGetConvergedReason(s->ksp, &reason));
  PetscCall(KSPGetIterationNumber(s->ksp, &its));
  if (reason < 0 && !s->failure) s->failure = reason;
  s->setup[s->solves] = 1e3 * (t1 - t0);
  s->solve[s->solves] = 1e3 * (t2 - t1);
  s->solves++;
  s->iterations += its;
  s->maxIterations = PetscMax(s->maxIterations, its);

  PetscCall(DMGetGlobalVector(sea->da, &r));
  PetscCall(MatResidual(sea->A, sea->rhs, s->x, r));
  PetscCall(VecNorm(r, NORM_2, &rnorm));
  PetscCall(VecNorm(sea->rhs, NORM_2, &bnorm));
  if (bnorm > 0) s->residual = PetscMax(s->residual, rnorm / bnorm);
  if (reference != s->x) {
    PetscCall(VecWAXPY(r, -1, reference, s->x));
    PetscCall(VecNorm(r, NORM_2, &dnorm));
    PetscCall(VecNorm(reference, NORM_2, &xnorm));
    if (xnorm > 0) s->difference = PetscMax(s->difference, dnorm / xnorm);
  }
  PetscCall(DMRestoreGlobalVector(sea->da, &r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Sum(PetscInt n, const PetscReal a[])
{
  PetscReal sum = 0;
  for (PetscInt i = 0; i < n; i++) sum += a[i];
  return sum;
}

/* Sorts a */
static PetscErrorCode Median(PetscInt n, PetscReal a[], PetscReal *median)
{
  PetscFunctionBeginUser;
  PetscCall(PetscSortReal(n, a));
  *median = n ? 0.5 * (a[(n - 1) / 2] + a[n / 2]) : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintTable(const Harbour *sea, PetscInt n, Solver solvers[], PetscReal rtol, PetscBool *good)
{
  PetscMPIInt ranks;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n%" PetscInt_FMT " systems of %" PetscInt_FMT " unknowns on %d rank%s, CG to %g in the unpreconditioned norm\n", solvers[0].solves, sea->map.nx * sea->map.ny, ranks, ranks > 1 ? "s" : "", (double)rtol));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "                first  ------ median ------\n"));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "precondi-       setup  re-setup       solve   iterations      total   true residual   difference\n"));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "tioner           [ms]      [ms]        [ms]   mean   max        [s]   (largest)       to the first\n"));
  *good = PETSC_TRUE;
  for (PetscInt k = 0; k < n; k++) {
    Solver         *s     = &solvers[k];
    const PetscReal total = (Sum(s->solves, s->setup) + Sum(s->solves, s->solve)) / 1e3, first = s->setup[0];
    PetscReal       resetup, solve;

    PetscCall(Median(s->solves - 1, s->setup + 1, &resetup));
    PetscCall(Median(s->solves, s->solve, &solve));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-12s %8.1f  %8.1f  %10.1f  %5.1f %5" PetscInt_FMT " %10.2f      %.1e", s->name, (double)first, (double)resetup, (double)solve, (double)s->iterations / s->solves, s->maxIterations, (double)total, (double)s->residual));
    if (k) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "         %.1e", (double)s->difference));
    if (s->failure) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "   %s", KSPConvergedReasons[s->failure]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
    if (s->failure || s->residual > 1.5 * rtol) *good = PETSC_FALSE; /* CG's recursive residual may drift a little */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ----------------------------------------------------- output ----------------------------------------------------- */

typedef struct {
  PetscBool   on, hdf5;
  char        prefix[PETSC_MAX_PATH_LEN - 64]; /* room for the ending */
  PetscViewer viewer;
  PetscInt    frames, every;
  PetscReal  *time;
} Output;

/* One where waves can be, zero on land */
static PetscErrorCode WaterMask(Harbour *sea, Vec water)
{
  PetscScalar **h, **w;
  PetscInt      xs, ys, xm, ym;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(sea->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArrayRead(sea->da, sea->depth, &h));
  PetscCall(DMDAVecGetArray(sea->da, water, &w));
  for (PetscInt j = ys; j < ys + ym; j++)
    for (PetscInt i = xs; i < xs + xm; i++) w[j][i] = h[j][i] > 0;
  PetscCall(DMDAVecRestoreArray(sea->da, water, &w));
  PetscCall(DMDAVecRestoreArrayRead(sea->da, sea->depth, &h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OutputOpen(Harbour *sea, PetscInt steps, Vec depth, Output *out)
{
  const Map *map = &sea->map;
  char       path[PETSC_MAX_PATH_LEN];
  Vec        water;

  PetscFunctionBeginUser;
  if (!out->on) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(PETSC_HAVE_HDF5)
  out->hdf5 = PETSC_TRUE;
#endif
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-output_hdf5", &out->hdf5, NULL));
  PetscCall(PetscMalloc1(steps / out->every + 1, &out->time));
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s.%s", out->prefix, out->hdf5 ? "h5" : "bin"));
  PetscCall(PetscObjectSetName((PetscObject)depth, "depth"));
  if (out->hdf5) {
#if defined(PETSC_HAVE_HDF5)
    double value[4] = {map->dx, map->dy, map->x0, map->y0};
    PetscCall(PetscViewerHDF5Open(PETSC_COMM_WORLD, path, FILE_MODE_WRITE, &out->viewer));
    PetscCall(VecView(depth, out->viewer));
    PetscCall(PetscViewerHDF5WriteAttribute(out->viewer, "depth", "nx", PETSC_INT, &map->nx));
    PetscCall(PetscViewerHDF5WriteAttribute(out->viewer, "depth", "ny", PETSC_INT, &map->ny));
    PetscCall(PetscViewerHDF5WriteAttribute(out->viewer, "depth", "dx", PETSC_DOUBLE, &value[0]));
    PetscCall(PetscViewerHDF5WriteAttribute(out->viewer, "depth", "dy", PETSC_DOUBLE, &value[1]));
    PetscCall(PetscViewerHDF5WriteAttribute(out->viewer, "depth", "x0", PETSC_DOUBLE, &value[2]));
    PetscCall(PetscViewerHDF5WriteAttribute(out->viewer, "depth", "y0", PETSC_DOUBLE, &value[3]));
#else
    SETERRQ(PETSC_COMM_WORLD, PETSC_ERR_SUP, "This PETSc has no HDF5");
#endif
  } else { /* as the map's binary twin, and the water mask; each frame adds (time, ship's x, y) and zeta */
    const PetscInt  head[2]  = {VEC_FILE_CLASSID, 6};
    const PetscReal value[6] = {map->nx, map->ny, map->dx, map->dy, map->x0, map->y0};
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_WRITE, &out->viewer));
    PetscCall(PetscViewerBinarySetSkipInfo(out->viewer, PETSC_TRUE));
    PetscCall(PetscViewerBinaryWrite(out->viewer, head, 2, PETSC_INT));
    PetscCall(PetscViewerBinaryWrite(out->viewer, value, 6, PETSC_REAL));
    PetscCall(VecView(depth, out->viewer));
  }
  PetscCall(VecDuplicate(depth, &water));
  PetscCall(PetscObjectSetName((PetscObject)water, "water"));
  PetscCall(WaterMask(sea, water));
  PetscCall(VecView(water, out->viewer));
  PetscCall(VecDestroy(&water));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OutputFrame(Harbour *sea, PetscReal t, Output *out)
{
  char      name[32];
  PetscReal frame[3] = {t, 0, 0};

  PetscFunctionBeginUser;
  ShipAt(sea, t, &frame[1], &frame[2]);
  PetscCall(PetscSNPrintf(name, sizeof(name), "zeta_%04" PetscInt_FMT, out->frames));
  PetscCall(PetscObjectSetName((PetscObject)sea->zeta, name));
  if (out->hdf5) {
    PetscCall(VecView(sea->zeta, out->viewer));
#if defined(PETSC_HAVE_HDF5)
    double value[3] = {frame[0], frame[1], frame[2]};
    PetscCall(PetscViewerHDF5WriteAttribute(out->viewer, name, "time", PETSC_DOUBLE, &value[0]));
    PetscCall(PetscViewerHDF5WriteAttribute(out->viewer, name, "ship_x", PETSC_DOUBLE, &value[1]));
    PetscCall(PetscViewerHDF5WriteAttribute(out->viewer, name, "ship_y", PETSC_DOUBLE, &value[2]));
#endif
  } else {
    const PetscInt head[2] = {VEC_FILE_CLASSID, 3};
    PetscCall(PetscViewerBinaryWrite(out->viewer, head, 2, PETSC_INT));
    PetscCall(PetscViewerBinaryWrite(out->viewer, frame, 3, PETSC_REAL));
    PetscCall(VecView(sea->zeta, out->viewer));
  }
  out->time[out->frames++] = t;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Closes the file, and describes it in XDMF so that ParaView shows the time series */
static PetscErrorCode OutputClose(Harbour *sea, Output *out)
{
  const Map *map = &sea->map;
  char       path[PETSC_MAX_PATH_LEN], *base;
  FILE      *file;

  PetscFunctionBeginUser;
  if (!out->on) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerDestroy(&out->viewer));
  if (out->hdf5) {
    PetscCall(PetscStrrchr(out->prefix, '/', &base)); /* the two files lie side by side */
    PetscCall(PetscSNPrintf(path, sizeof(path), "%s.xmf", out->prefix));
    PetscCall(PetscFOpen(PETSC_COMM_WORLD, path, "w", &file));
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, file, "<?xml version=\"1.0\"?>\n<Xdmf Version=\"2.0\">\n <Domain>\n  <Grid Name=\"harbour\" GridType=\"Collection\" CollectionType=\"Temporal\">\n"));
    for (PetscInt f = 0; f < out->frames; f++) {
      PetscCall(PetscFPrintf(PETSC_COMM_WORLD, file, "   <Grid Name=\"%" PetscInt_FMT "\">\n    <Time Value=\"%g\"/>\n", f, (double)out->time[f]));
      PetscCall(PetscFPrintf(PETSC_COMM_WORLD, file, "    <Topology TopologyType=\"2DCoRectMesh\" Dimensions=\"%" PetscInt_FMT " %" PetscInt_FMT "\"/>\n", map->ny + 1, map->nx + 1));
      PetscCall(PetscFPrintf(PETSC_COMM_WORLD, file, "    <Geometry GeometryType=\"ORIGIN_DXDY\">\n     <DataItem Dimensions=\"2\">%.10g %.10g</DataItem>\n     <DataItem Dimensions=\"2\">%.10g %.10g</DataItem>\n    </Geometry>\n", (double)map->y0, (double)map->x0, (double)map->dy, (double)map->dx));
      for (PetscInt a = 0; a < 3; a++) {
        const char *label[] = {"depth", "water", "zeta"};
        char        name[32];
        PetscCall(a < 2 ? PetscStrncpy(name, label[a], sizeof(name)) : PetscSNPrintf(name, sizeof(name), "zeta_%04" PetscInt_FMT, f));
        PetscCall(PetscFPrintf(PETSC_COMM_WORLD, file, "    <Attribute Name=\"%s\" Center=\"Cell\">\n     <DataItem Format=\"HDF\" Precision=\"%d\" Dimensions=\"%" PetscInt_FMT " %" PetscInt_FMT "\">%s.h5:/%s</DataItem>\n    </Attribute>\n", label[a], (int)sizeof(PetscScalar), map->ny, map->nx, base, name));
      }
      PetscCall(PetscFPrintf(PETSC_COMM_WORLD, file, "   </Grid>\n"));
    }
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, file, "  </Grid>\n </Domain>\n</Xdmf>\n"));
    PetscCall(PetscFClose(PETSC_COMM_WORLD, file));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "wrote %" PetscInt_FMT " frames to %s.%s\n", out->frames, out->prefix, out->hdf5 ? "h5 and .xmf" : "bin"));
  PetscCall(PetscFree(out->time));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---------------------------------------------------- self-test ---------------------------------------------------- */

/* Without a map: a closed basin of constant depth and a standing wave, whose exact discrete solution is known */
#define BASIN_MODE_X 5
#define BASIN_MODE_Y 3

static PetscErrorCode BasinMap(Map *map, DM *da, Vec *depth)
{
  const Map basin = {.nx = 60, .ny = 44, .dx = 5, .dy = 7, .x0 = 0, .y0 = 0};

  PetscFunctionBeginUser;
  *map = basin;
  PetscCall(CreateGrid(map->nx, map->ny, DMDA_STENCIL_STAR, PETSC_DECIDE, PETSC_DECIDE, NULL, NULL, da));
  PetscCall(DMCreateGlobalVector(*da, depth));
  PetscCall(VecSet(*depth, 20));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The angle that the standing wave turns in a time step: sin(angle/2) = omega dt/2, from the discrete Laplacian */
static PetscReal BasinAngle(const Harbour *sea)
{
  const Map      *map = &sea->map;
  const PetscReal h = sea->deepest, sx = 2 / map->dx * PetscSinReal(PETSC_PI * BASIN_MODE_X / (2 * map->nx)), sy = 2 / map->dy * PetscSinReal(PETSC_PI * BASIN_MODE_Y / (2 * map->ny));
  const PetscReal k2 = sx * sx + sy * sy, omega2 = GRAVITY * k2 * (h - PetscSqr(CoefD(h)) * k2 / (CoefN(h) * k2 + CoefM(h)));

  return 2 * PetscAsinReal(PetscSqrtReal(omega2) * sea->dt / 2);
}

/* zeta = amplitude times the standing wave (basin) or a hump over the deepest water (map) */
static PetscErrorCode InitialWave(Harbour *sea, PetscBool basin, PetscReal amplitude, Vec zeta)
{
  PetscScalar **h, **z;
  PetscInt      xs, ys, xm, ym;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(sea->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArrayRead(sea->da, sea->depth, &h));
  PetscCall(DMDAVecGetArray(sea->da, zeta, &z));
  for (PetscInt j = ys; j < ys + ym; j++) {
    for (PetscInt i = xs; i < xs + xm; i++) {
      const PetscReal r2 = PetscSqr((PetscReal)(i - sea->deepestCell[0])) + PetscSqr((PetscReal)(j - sea->deepestCell[1]));
      if (basin) z[j][i] = amplitude * PetscCosReal(PETSC_PI * BASIN_MODE_X * (i + 0.5) / sea->map.nx) * PetscCosReal(PETSC_PI * BASIN_MODE_Y * (j + 0.5) / sea->map.ny);
      else z[j][i] = h[j][i] > 0 ? amplitude * PetscExpReal(-r2 / 18) : 0;
    }
  }
  PetscCall(DMDAVecRestoreArray(sea->da, zeta, &z));
  PetscCall(DMDAVecRestoreArrayRead(sea->da, sea->depth, &h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(const char what[], PetscReal value, PetscReal bound, PetscBool *good)
{
  PetscFunctionBeginUser;
  if (!(value <= bound)) *good = PETSC_FALSE; /* NaN fails */
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s %.1e (bound %.0e)\n", value <= bound ? "ok" : "FAILED", what, (double)value, (double)bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------------ main ------------------------------------------------------ */

/* A ship of 24 x 8 cells that leaves the deepest water, at the speed whose waves are as long as the ship, but at
   most 0.9 of what the depth lets waves travel */
static PetscErrorCode ShipFromOptions(Harbour *sea)
{
  const Map *map  = &sea->map;
  Ship      *ship = &sea->ship;
  PetscReal  from[2], course = 0;
  PetscInt   two = 2;
  PetscBool  set;

  PetscFunctionBeginUser;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Harbour's ship", NULL);
  ship->length = 24 * map->dx;
  PetscCall(PetscOptionsReal("-ship_length", "Length [m]", NULL, ship->length, &ship->length, NULL));
  ship->beam = ship->length / 3;
  PetscCall(PetscOptionsReal("-ship_beam", "Beam [m]", NULL, ship->beam, &ship->beam, NULL));
  ship->draft = 0.03 * ship->length;
  PetscCall(PetscOptionsReal("-ship_draft", "Draft [m], 0: no ship", NULL, ship->draft, &ship->draft, NULL));
  ship->speed = PetscMin(PetscSqrtReal(GRAVITY * ship->length / (2 * PETSC_PI)), 0.9 * PetscSqrtReal(GRAVITY * sea->deepest));
  PetscCall(PetscOptionsReal("-ship_speed", "Speed [m/s]", NULL, ship->speed, &ship->speed, NULL));
  from[0] = map->x0 + (sea->deepestCell[0] + 0.5) * map->dx;
  from[1] = map->y0 + (sea->deepestCell[1] + 0.5) * map->dy;
  PetscCall(PetscOptionsRealArray("-ship_from", "Start x,y [m]", NULL, from, &two, &set));
  PetscCheck(!set || two == 2, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-ship_from needs two numbers x,y");
  PetscCall(PetscOptionsReal("-ship_course", "Direction [degrees, 0 east, 90 north]", NULL, course, &course, NULL));
  PetscOptionsEnd();
  PetscCheck(ship->length > 0 && ship->beam > 0 && ship->speed > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "The ship's length, beam and speed must be positive");
  ship->x      = from[0];
  ship->y      = from[1];
  ship->cosine = PetscCosReal(course * PETSC_PI / 180);
  ship->sine   = PetscSinReal(course * PETSC_PI / 180);
  if (ship->draft > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ship     %.4g x %.4g m, draft %.3g m, %.3g m/s from (%.5g, %.5g) towards %.4g degrees\n", (double)ship->length, (double)ship->beam, (double)ship->draft, (double)ship->speed, (double)ship->x, (double)ship->y, (double)course));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HarbourCreate(Harbour *sea)
{
  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(sea->da, &sea->zeta));
  PetscCall(VecDuplicate(sea->zeta, &sea->phi));
  PetscCall(VecDuplicate(sea->zeta, &sea->psi));
  PetscCall(VecDuplicate(sea->zeta, &sea->rate));
  PetscCall(VecDuplicate(sea->zeta, &sea->rhs));
  PetscCall(VecDuplicate(sea->zeta, &sea->damping));
  PetscCall(VecDuplicate(sea->depth, &sea->phiLocal));
  PetscCall(VecDuplicate(sea->depth, &sea->psiLocal));
  PetscCall(DMCreateMatrix(sea->da, &sea->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HarbourDestroy(Harbour *sea)
{
  PetscFunctionBeginUser;
  PetscCall(VecDestroy(&sea->depth));
  PetscCall(VecDestroy(&sea->zeta));
  PetscCall(VecDestroy(&sea->phi));
  PetscCall(VecDestroy(&sea->psi));
  PetscCall(VecDestroy(&sea->rate));
  PetscCall(VecDestroy(&sea->rhs));
  PetscCall(VecDestroy(&sea->damping));
  PetscCall(VecDestroy(&sea->phiLocal));
  PetscCall(VecDestroy(&sea->psiLocal));
  PetscCall(MatDestroy(&sea->A));
  PetscCall(DMDestroy(&sea->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Harbour        sea;
  Output         out;
  Solver         solvers[MAX_SOLVERS];
  Vec            depth, start = NULL;
  char           path[PETSC_MAX_PATH_LEN] = "", *types[MAX_SOLVERS];
  PetscInt       steps = 100, refine = 1, nTypes = MAX_SOLVERS, n = 0;
  PetscReal      minDepth = 1, cfl = 0.8, rtol = 1e-6, sponge = PETSC_DECIDE;
  PetscReal      highest, norm, mass0, energy0 = 0, energy = 0, drift = 0;
  PetscBool      hasDepth, compare, set, selftest = PETSC_FALSE, good;
  PetscLogDouble begin, end;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscMemzero(&sea, sizeof(sea)));
  PetscCall(PetscMemzero(&out, sizeof(out)));
  sea.tide       = 0.5;
  sea.tidePeriod = 44714; /* 12 h 25 min 14 s, the moon's */
  out.every      = 10;

  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Harbour", NULL);
  PetscCall(PetscOptionsString("-depth", "Map: HDF5 or PETSc binary, from raster2petsc", NULL, path, path, sizeof(path), &hasDepth));
  PetscCall(PetscOptionsBoundedInt("-refine", "Refine the map k times in each direction (bilinear)", NULL, refine, &refine, NULL, 1));
  PetscCall(PetscOptionsBool("-selftest", "Check conservation (on the map) or the exact solution (in a basin)", NULL, selftest, &selftest, NULL));
  PetscCall(PetscOptionsBoundedInt("-steps", "Time steps", NULL, steps, &steps, NULL, 1));
  PetscCall(PetscOptionsReal("-cfl", "Time step as a part of the largest stable one", NULL, cfl, &cfl, NULL));
  PetscCall(PetscOptionsReal("-tide", "Amplitude of the tide [m]", NULL, sea.tide, &sea.tide, NULL));
  PetscCall(PetscOptionsReal("-tide_period", "Period of the tide [s]", NULL, sea.tidePeriod, &sea.tidePeriod, NULL));
  PetscCall(PetscOptionsReal("-min_depth", "Shallower cells at low tide are land [m]", NULL, minDepth, &minDepth, NULL));
  PetscCall(PetscOptionsReal("-sponge", "Width of the damping layer along the map's edges [m], 0: closed", NULL, sponge, &sponge, NULL));
  if (selftest) sea.tide = sponge = 0; /* nothing that adds or takes energy */
  if (selftest) rtol = 1e-12;
  PetscCall(PetscOptionsReal("-rtol", "Tolerance of the solves, on the true residual", NULL, rtol, &rtol, NULL));
  PetscCall(PetscOptionsStringArray("-compare", "Run several preconditioners on the same systems", NULL, types, &nTypes, &set));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-compare", &compare)); /* alone it means rrb,gamg,hypre */
  if (!set) nTypes = 0;
  PetscCall(PetscOptionsString("-output", "Write PREFIX.h5 and PREFIX.xmf (or PREFIX.bin)", NULL, out.prefix, out.prefix, sizeof(out.prefix), &out.on));
  PetscCall(PetscOptionsBoundedInt("-output_every", "Steps between frames", NULL, out.every, &out.every, NULL, 1));
  PetscOptionsEnd();
  PetscCheck(cfl > 0 && cfl < 1, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-cfl %g is not between 0 and 1, the limit of stability", (double)cfl);
  PetscCheck(sea.tide >= 0 && sea.tidePeriod > 0 && minDepth > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-tide must not be negative, -tide_period and -min_depth must be positive");
  PetscCheck(hasDepth || selftest, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "Give a map: -depth FILE (examples/raster/raster2petsc makes it from any raster)");

  if (hasDepth) PetscCall(ReadMap(path, refine, &sea.map, &sea.da, &depth));
  else PetscCall(BasinMap(&sea.map, &sea.da, &depth));
  PetscCall(MarkLand(&sea, depth, minDepth));
  PetscCall(HarbourCreate(&sea));
  sea.dt = cfl * StableStep(&sea);
  PetscCall(FillSponge(&sea, sponge < 0 ? 24 * sea.map.dx : sponge));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "map      %" PetscInt_FMT " x %" PetscInt_FMT " cells of %.4g x %.4g m, %.0f %% water, deepest %.4g m\n", sea.map.nx, sea.map.ny, (double)sea.map.dx, (double)sea.map.dy, 100.0 * sea.water / (sea.map.nx * sea.map.ny), (double)sea.deepest));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "time     %" PetscInt_FMT " steps of %.3g s, tide +-%.4g m in %.6g s, fastest wave %.3g m/s\n", steps, (double)sea.dt, (double)sea.tide, (double)sea.tidePeriod, (double)PetscSqrtReal(GRAVITY * sea.deepest)));
  if (!selftest) PetscCall(ShipFromOptions(&sea));

  if (compare) PetscCall(CreateSolvers(&sea, nTypes, types, rtol, steps, &n, solvers));
  else PetscCall(SolverCreate(&sea, "gamg", PETSC_FALSE, rtol, steps, &solvers[n++]));

  if (selftest) {
    PetscCall(VecDuplicate(sea.zeta, &start));
    PetscCall(InitialWave(&sea, (PetscBool)!hasDepth, 1, start));
    PetscCall(VecCopy(start, sea.zeta));
  }
  PetscCall(VecSum(sea.zeta, &mass0));
  PetscCall(OutputOpen(&sea, steps, depth, &out));
  PetscCall(AdvancePotential(&sea, 0, sea.dt / 2)); /* from rest; from now on phi is half a step ahead */

  PetscCall(PetscTime(&begin));
  for (PetscInt k = 0; k < steps; k++) {
    const PetscReal t = (k + 1) * sea.dt;

    sea.level = TideAt(&sea, t - sea.dt / 2);
    PetscCall(Assemble(&sea));
    PetscCall(Fluxes(&sea, PETSC_FALSE, sea.rhs));
    for (PetscInt s = 0; s < n; s++) PetscCall(SolverRun(&sea, &solvers[s], solvers[0].x));
    PetscCheck(compare || !solvers[0].failure, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "Step %" PetscInt_FMT ": the solver stopped with %s", k, KSPConvergedReasons[solvers[0].failure]);
    PetscCall(VecCopy(solvers[0].x, sea.psi));

    PetscCall(Fluxes(&sea, PETSC_TRUE, sea.rate));
    PetscCall(VecAXPY(sea.zeta, sea.dt, sea.rate));
    PetscCall(Energy(&sea, &energy));
    if (!k) energy0 = energy;
    drift = PetscMax(drift, PetscAbsReal(energy - energy0));
    PetscCall(VecPointwiseMult(sea.zeta, sea.zeta, sea.damping));
    if (out.on && (k + 1) % out.every == 0) PetscCall(OutputFrame(&sea, t, &out));

    PetscCall(AdvancePotential(&sea, t, sea.dt));
    PetscCall(VecPointwiseMult(sea.phi, sea.phi, sea.damping));
  }
  PetscCall(PetscTime(&end));

  PetscCall(VecMax(sea.zeta, NULL, &highest));
  PetscCall(VecNorm(sea.zeta, NORM_2, &norm));
  PetscCheck(!PetscIsInfOrNanReal(norm), PETSC_COMM_WORLD, PETSC_ERR_FP, "The waves grew without bound");
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "waves    after %.4g s: highest %.6g m, |zeta| %.12e, energy %.12e\n", (double)(steps * sea.dt), (double)highest, (double)norm, (double)energy));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "took     %.2f s for %" PetscInt_FMT " steps with %s\n", end - begin, steps, compare ? "all solvers" : solvers[0].name));
  PetscCall(OutputClose(&sea, &out));
  PetscCall(PrintTable(&sea, n, solvers, rtol, &good));

  if (selftest) {
    PetscReal mass;

    PetscCall(VecSum(sea.zeta, &mass));
    PetscCall(Check("mass drift", PetscAbsReal(mass - mass0) / sea.water, 1e-13, &good));
    PetscCall(Check("energy drift", drift / energy0, 1e3 * rtol, &good));
    if (!hasDepth) {
      PetscCall(VecScale(start, PetscCosReal(steps * BasinAngle(&sea))));
      PetscCall(VecAXPY(start, -1, sea.zeta));
      PetscCall(VecNorm(start, NORM_INFINITY, &norm));
      PetscCall(Check("error of the standing wave", norm, 1e3 * rtol, &good));
    }
  }
  if (!good) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "FAILED: see above\n"));

  for (PetscInt s = 0; s < n; s++) PetscCall(SolverDestroy(&solvers[s]));
  PetscCall(VecDestroy(&start));
  PetscCall(VecDestroy(&depth));
  PetscCall(HarbourDestroy(&sea));
  PetscCall(PetscFinalize());
  return good ? 0 : 1;
}
