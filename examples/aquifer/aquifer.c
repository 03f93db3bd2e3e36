static char help[] = "Steady groundwater flow through the beds of a real terrain: conductivities jump by six decades.\n\n\
  ./aquifer -terrain terrain.bin -pc_type hypre -output heads.bin\n\
  ./aquifer -terrain terrain.bin -refine 2 -compare rrb,hypre,gamg\n\n";

/*
  Darcy's law and conservation of water, averaged over an aquifer of constant thickness b:

    -div(b K grad h) = q        h [m]: hydraulic head    K [m/s]: conductivity    q [m/s]: wells

  The terrain is real, its geology is invented but drawn by the terrain. Beds lie flat, -bed metres thick, so their
  outcrops follow the contour lines: clay, gravel, silt, sand, and clay again (Conductivity() has the numbers). Flat ground
  is covered with gravel; cliffs are fissured and conduct like sand. So clay closes ring after ring around the hills, a
  gully or a valley opens some of them, and water has to find its way: gravel and clay touch along most of their length.

  The head is fixed in the lake (all ground below its level) and along the western side; no water passes the other
  sides. Wells pump from, or feed, one cell of the raster.

  Space: a DMDA's cells, finite volumes, five points. The conductance of a face is b times the face's length over the
  distance of the centres, times the harmonic mean of the two K: exact for beds across the flow. -refine r cuts every cell
  of the raster into r x r cells of the same K. Cells of fixed head are identity rows (times their b K) that nothing couples to;
  what would couple to them is on the right-hand side. Their zeros are stored, so every row has its full five points.
  Heads are solved for above the lake's level. The tolerance is strict because gravel that clay encloses is tied to its
  surroundings by conductances a millionth of its own: with 1e-8 its head may still be wrong by half a metre, 1e-10 leaves a
  millimetre.

  Every rank holds the whole raster, which is small, and the part of the fine grid that the DMDA gives it.
*/
#include "../compare/compare.h"
#include <petscdmda.h>

#if defined(PETSC_USE_COMPLEX) || !defined(PETSC_USE_REAL_DOUBLE)
  #error "aquifer needs a PETSc with real scalars in double precision"
#endif

#define MAX_WELLS 32

typedef enum {
  FREE,
  LAKE,
  WEST
} Kind;

typedef struct {
  PetscInt   nx, ny; /* of the raster */
  PetscReal  dx, dy, x0, y0;
  PetscReal *z, *K, *well; /* elevation [m], conductivity [m/s], what wells add [m^3/s] */
  PetscInt   refine;
  PetscReal  bed, flat, steep, clay, gravel, thickness, level[3]; /* level: the fixed head of each kind */
  PetscReal  wells, added;                                        /* all wells together, and those that add [m^3/s] */
  DM         da;
  Mat        A;
  Vec        b;
} Aquifer;

/* ---- terrain and geology */

/* What raster2petsc writes in PETSc's binary format: the six numbers of the geometry, then the raster */
static PetscErrorCode ReadTerrain(const char path[], Aquifer *a)
{
  const int   bits = (int)(8 * sizeof(PetscInt));
  PetscViewer viewer;
  PetscInt    head[2] = {0, 0}, count = 0, got = 0;
  PetscReal   value[6];
  PetscBool   found;

  PetscFunctionBeginUser;
  PetscCall(PetscTestFile(path, 'r', &found));
  PetscCheck(found, PETSC_COMM_WORLD, PETSC_ERR_FILE_OPEN, "Cannot open the terrain %s", path);
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_READ, &viewer));
  PetscCall(PetscViewerBinaryRead(viewer, head, 2, &count, PETSC_INT));
  if (count == 2 && head[0] == VEC_FILE_CLASSID && head[1] == 6) PetscCall(PetscViewerBinaryRead(viewer, value, 6, &got, PETSC_REAL));
  PetscCheck(got == 6, PETSC_COMM_WORLD, PETSC_ERR_FILE_UNEXPECTED, "%s is not what raster2petsc writes to a .bin file with --indices %d", path, bits);
  PetscCheck(value[0] >= 2 && value[1] >= 2 && value[0] * value[1] < 1e9 && value[2] > 0 && value[3] > 0, PETSC_COMM_WORLD, PETSC_ERR_FILE_UNEXPECTED, "%s: a raster of %g x %g cells of %g x %g m makes no sense", path, (double)value[0], (double)value[1], (double)value[2], (double)value[3]);
  a->nx = (PetscInt)value[0];
  a->ny = (PetscInt)value[1];
  a->dx = value[2];
  a->dy = value[3];
  a->x0 = value[4];
  a->y0 = value[5];
  PetscCall(PetscMalloc3(a->nx * a->ny, &a->z, a->nx * a->ny, &a->K, a->nx * a->ny, &a->well));
  PetscCall(PetscViewerBinaryRead(viewer, head, 2, &count, PETSC_INT));
  got = 0;
  if (count == 2 && head[1] == a->nx * a->ny) PetscCall(PetscViewerBinaryRead(viewer, a->z, a->nx * a->ny, &got, PETSC_REAL));
  PetscCheck(got == a->nx * a->ny, PETSC_COMM_WORLD, PETSC_ERR_FILE_READ, "%s is damaged: it does not hold the %" PetscInt_FMT " x %" PetscInt_FMT " elevations that it promises", path, a->nx, a->ny);
  for (PetscInt c = 0; c < got; c++) PetscCheck(!PetscIsInfOrNanReal(a->z[c]), PETSC_COMM_WORLD, PETSC_ERR_FILE_UNEXPECTED, "%s: the elevation in column %" PetscInt_FMT ", row %" PetscInt_FMT " is NaN or infinite", path, c % a->nx, c / a->nx);
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a raster cell. On the way from clay to gravel, in decades: clay 0, gravel 1, silt 1/3, sand 5/6 */
static PetscReal Conductivity(const Aquifer *a, PetscInt i, PetscInt j)
{
  const PetscReal decades[4] = {0, 1, 1. / 3, 5. / 6};
  const PetscInt  w = PetscMax(i - 1, 0), e = PetscMin(i + 1, a->nx - 1), s = PetscMax(j - 1, 0), n = PetscMin(j + 1, a->ny - 1);
  const PetscReal zx = (a->z[j * a->nx + e] - a->z[j * a->nx + w]) / ((e - w) * a->dx), zy = (a->z[n * a->nx + i] - a->z[s * a->nx + i]) / ((n - s) * a->dy);
  const PetscReal slope = PetscSqrtReal(zx * zx + zy * zy), bed = PetscFloorReal(a->z[j * a->nx + i] / a->bed);
  PetscInt        facies = (PetscInt)(bed - 4 * PetscFloorReal(bed / 4)); /* counts upwards below sea level too */

  if (slope < a->flat) facies = 1;
  else if (slope > a->steep) facies = 3;
  return a->clay * PetscPowReal(a->gravel / a->clay, decades[facies]);
}

/* ---- discretisation: (i,j) is a cell of the fine grid */

static const PetscInt step[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}}; /* west, east, south, north */

static inline PetscInt RasterCell(const Aquifer *a, PetscInt i, PetscInt j)
{
  return (j / a->refine) * a->nx + i / a->refine;
}

static inline PetscBool Inside(const Aquifer *a, PetscInt i, PetscInt j)
{
  return (PetscBool)(i >= 0 && i < a->nx * a->refine && j >= 0 && j < a->ny * a->refine);
}

static inline Kind KindOf(const Aquifer *a, PetscInt i, PetscInt j)
{
  const PetscInt c = RasterCell(a, i, j);
  return a->z[c] <= a->level[LAKE] ? LAKE : c % a->nx == 0 ? WEST : FREE;
}

/* Of face f of a cell [m^2/s], zero at the edge of the map */
static inline PetscReal Conductance(const Aquifer *a, PetscInt i, PetscInt j, PetscInt f)
{
  const PetscInt ni = i + step[f][0], nj = j + step[f][1];
  PetscReal      K1, K2;

  if (!Inside(a, ni, nj)) return 0;
  K1 = a->K[RasterCell(a, i, j)];
  K2 = a->K[RasterCell(a, ni, nj)];
  return a->thickness * (f < 2 ? a->dy / a->dx : a->dx / a->dy) * 2 * K1 * K2 / (K1 + K2);
}

/* A h = b: outflow through the faces = what wells add [m^3/s] */
static PetscErrorCode Assemble(Aquifer *a)
{
  PetscScalar **b;
  PetscInt      xs, ys, xm, ym;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(a->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArray(a->da, a->b, &b));
  for (PetscInt j = ys; j < ys + ym; j++) {
    for (PetscInt i = xs; i < xs + xm; i++) {
      const MatStencil row  = {.i = i, .j = j};
      const Kind       kind = KindOf(a, i, j);
      const PetscInt   cell = RasterCell(a, i, j);
      MatStencil       col[5];
      PetscScalar      value[5];

      col[4]   = row;
      value[4] = kind == FREE ? 0 : a->thickness * a->K[cell];
      b[j][i]  = kind == FREE ? a->well[cell] / PetscSqr(a->refine) : value[4] * (a->level[kind] - a->level[LAKE]);
      for (PetscInt f = 0; f < 4; f++) {
        const PetscInt  ni = i + step[f][0], nj = j + step[f][1];
        const PetscBool inside = Inside(a, ni, nj);
        const PetscReal g      = Conductance(a, i, j, f);
        const Kind      other  = inside ? KindOf(a, ni, nj) : FREE;

        col[f]   = (MatStencil){.i = inside ? ni : -1, .j = inside ? nj : -1}; /* negative: ignored */
        value[f] = kind == FREE && other == FREE ? -g : 0;
        if (kind == FREE) value[4] += g;
        if (kind == FREE && other != FREE) b[j][i] += g * (a->level[other] - a->level[LAKE]);
      }
      PetscCall(MatSetValuesStencil(a->A, 1, &row, 5, col, value, INSERT_VALUES));
    }
  }
  PetscCall(DMDAVecRestoreArray(a->da, a->b, &b));
  PetscCall(MatAssemblyBegin(a->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(a->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(a->A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Water that comes out of the cells of each fixed kind, face by face */
static PetscErrorCode Inflow(Aquifer *a, Vec head, PetscReal inflow[3])
{
  Vec           local;
  PetscScalar **h;
  PetscInt      xs, ys, xm, ym;
  PetscReal     mine[3] = {0, 0, 0};

  PetscFunctionBeginUser;
  PetscCall(DMGetLocalVector(a->da, &local));
  PetscCall(DMGlobalToLocal(a->da, head, INSERT_VALUES, local));
  PetscCall(DMDAGetCorners(a->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArrayRead(a->da, local, &h));
  for (PetscInt j = ys; j < ys + ym; j++) {
    for (PetscInt i = xs; i < xs + xm; i++) {
      const Kind kind = KindOf(a, i, j);

      if (kind == FREE) continue;
      for (PetscInt f = 0; f < 4; f++) {
        const PetscInt ni = i + step[f][0], nj = j + step[f][1];
        if (Inside(a, ni, nj) && KindOf(a, ni, nj) == FREE) mine[kind] += Conductance(a, i, j, f) * (a->level[kind] - a->level[LAKE] - h[nj][ni]);
      }
    }
  }
  PetscCall(DMDAVecRestoreArrayRead(a->da, local, &h));
  PetscCall(DMRestoreLocalVector(a->da, &local));
  PetscCallMPI(MPI_Allreduce(mine, inflow, 3, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Water that a solver has lost or made */
static PetscErrorCode Balance(void *ctx, Solver *s)
{
  Aquifer  *a = (Aquifer *)ctx;
  PetscReal inflow[3], all;
  PetscInt  cells;

  PetscFunctionBeginUser;
  PetscCall(Inflow(a, s->x, inflow));
  PetscCall(VecGetSize(s->x, &cells));
  s->balance = PetscAbsReal(inflow[LAKE] + inflow[WEST] + a->wells);
  all        = PetscMax(inflow[LAKE], 0) + PetscMax(inflow[WEST], 0) + a->added;
  s->leaks   = (PetscBool)(s->balance > 1.01 * s->norm * PetscSqrtReal(cells) + 1e-10 * all); /* the sum of n numbers, and rounding */
  if (all > 0) s->balance /= all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the program */

/* (x, y, rate) of each well; the rate is what it adds, negative where it pumps */
static PetscErrorCode DrillWells(Aquifer *a, PetscInt n, const PetscReal wells[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(a->well, a->nx * a->ny));
  for (PetscInt k = 0; k < n; k++) {
    const PetscReal *w = &wells[3 * k], x = (w[0] - a->x0) / a->dx, y = (w[1] - a->y0) / a->dy;
    PetscInt         cell;

    PetscCheck(x >= 0 && x < a->nx && y >= 0 && y < a->ny, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-wells: (%g, %g) is not on the map, which ends at (%g, %g)", (double)w[0], (double)w[1], (double)(a->x0 + a->nx * a->dx), (double)(a->y0 + a->ny * a->dy));
    cell = (PetscInt)y * a->nx + (PetscInt)x;
    PetscCheck(KindOf(a, (PetscInt)x * a->refine, (PetscInt)y * a->refine) == FREE, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-wells: (%g, %g) is in the lake or on the western side, where the head is fixed", (double)w[0], (double)w[1]);
    a->well[cell] += w[2];
    a->wells += w[2];
    a->added += PetscMax(w[2], 0);
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "well     (%.6g, %.6g): %+.3g m^3/s, ground %.4g m, conductivity %.1e m/s\n", (double)w[0], (double)w[1], (double)w[2], (double)a->z[cell], (double)a->K[cell]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vecs one after the other in PETSc's binary format: geometry of the raster, elevation, conductivity, wells, heads */
static PetscErrorCode Output(const char path[], Aquifer *a, Vec head)
{
  const PetscReal geometry[8] = {a->nx, a->ny, a->dx, a->dy, a->x0, a->y0, a->refine, a->level[LAKE]}, *field[4] = {geometry, a->z, a->K, a->well};
  PetscViewer     viewer;

  PetscFunctionBeginUser;
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_WRITE, &viewer));
  PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
  for (PetscInt k = 0; k < 4; k++) {
    const PetscInt start[2] = {VEC_FILE_CLASSID, k ? a->nx * a->ny : 8};
    PetscCall(PetscViewerBinaryWrite(viewer, start, 2, PETSC_INT));
    PetscCall(PetscViewerBinaryWrite(viewer, field[k], start[1], PETSC_REAL));
  }
  PetscCall(VecView(head, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Aquifer    a;
  Comparison c = {.rtol = 1e-10};
  char       path[PETSC_MAX_PATH_LEN] = "", output[PETSC_MAX_PATH_LEN] = "";
  PetscInt   nWells = 3 * MAX_WELLS, gotX, gotY;
  PetscReal  wells[3 * MAX_WELLS], inflow[3], lowest, highest, norm;
  PetscBool  hasTerrain, hasOutput, helps, set, good;
  Vec        head;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscMemzero(&a, sizeof(a)));
  a.refine      = 1;
  a.bed         = 60;
  a.flat        = 0.06;
  a.steep       = 0.45;
  a.clay        = 1e-9;
  a.gravel      = 1e-3;
  a.thickness   = 50;
  a.level[LAKE] = 311;
  a.level[WEST] = 450;

  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Aquifer", NULL);
  PetscCall(PetscOptionsString("-terrain", "Elevations [m]: PETSc binary, from raster2petsc", NULL, path, path, sizeof(path), &hasTerrain));
  PetscCall(PetscOptionsBoundedInt("-refine", "Cut each cell of the raster into k x k", NULL, a.refine, &a.refine, NULL, 1));
  PetscCall(PetscOptionsReal("-lake", "Level of the lake, which covers lower ground [m]", NULL, a.level[LAKE], &a.level[LAKE], NULL));
  PetscCall(PetscOptionsReal("-west", "Head on the western side [m]", NULL, a.level[WEST], &a.level[WEST], NULL));
  PetscCall(PetscOptionsRealArray("-wells", "x,y,rate of each well [m, m, m^3/s], negative where it pumps", NULL, wells, &nWells, &set));
  if (!set) nWells = 0;
  PetscCall(PetscOptionsReal("-bed", "Thickness of the beds [m]", NULL, a.bed, &a.bed, NULL));
  PetscCall(PetscOptionsReal("-flat", "Less steep ground is covered with gravel", NULL, a.flat, &a.flat, NULL));
  PetscCall(PetscOptionsReal("-steep", "Steeper ground is fissured", NULL, a.steep, &a.steep, NULL));
  PetscCall(PetscOptionsReal("-clay", "Conductivity of clay [m/s]", NULL, a.clay, &a.clay, NULL));
  PetscCall(PetscOptionsReal("-gravel", "Conductivity of gravel [m/s]", NULL, a.gravel, &a.gravel, NULL));
  PetscCall(PetscOptionsReal("-thickness", "Thickness of the aquifer [m]", NULL, a.thickness, &a.thickness, NULL));
  PetscCall(PetscOptionsString("-output", "Write terrain, conductivity and heads for plot", NULL, output, output, sizeof(output), &hasOutput));
  PetscOptionsEnd();
  PetscCall(ComparisonOptions(&c));
  PetscCall(PetscOptionsHasHelp(NULL, &helps));
  if (helps && !hasTerrain) {
    PetscCall(ComparisonDestroy(&c));
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCheck(hasTerrain, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "Give a terrain: -terrain FILE.bin (examples/raster/raster2petsc makes it from any raster)");
  PetscCheck(a.clay > 0 && a.gravel > 0 && a.bed > 0 && a.thickness > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-clay, -gravel, -bed and -thickness must be positive");
  PetscCheck(nWells % 3 == 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-wells needs three numbers x,y,rate for each well, it has %" PetscInt_FMT " in all", nWells);

  PetscCall(ReadTerrain(path, &a));
  for (PetscInt j = 0; j < a.ny; j++)
    for (PetscInt i = 0; i < a.nx; i++) a.K[j * a.nx + i] = Conductivity(&a, i, j);
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, a.nx * a.refine, a.ny * a.refine, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &a.da));
  PetscCall(DMSetFromOptions(a.da));
  PetscCall(DMSetUp(a.da));
  PetscCall(DMDAGetInfo(a.da, NULL, &gotX, &gotY, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCheck(gotX == a.nx * a.refine && gotY == a.ny * a.refine, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "The terrain gives the grid's size: use -refine, not -da_refine");
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "map      %" PetscInt_FMT " x %" PetscInt_FMT " cells of %.4g x %.4g m, conductivities from %.1e to %.1e m/s\n", gotX, gotY, (double)(a.dx / a.refine), (double)(a.dy / a.refine), (double)a.clay, (double)a.gravel));
  PetscCall(DrillWells(&a, nWells / 3, wells));
  PetscCall(DMCreateMatrix(a.da, &a.A));
  PetscCall(DMCreateGlobalVector(a.da, &a.b));
  PetscCall(Assemble(&a));

  PetscCall(ComparisonRun(&c, a.A, a.b, Balance, &a));
  head = c.solver[0].x;
  PetscCall(Inflow(&a, head, inflow));
  PetscCall(VecShift(head, a.level[LAKE]));
  PetscCall(VecMin(head, NULL, &lowest));
  PetscCall(VecMax(head, NULL, &highest));
  PetscCall(VecNorm(head, NORM_2, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "heads    %.6f to %.6f m, |h| %.12e\n", (double)lowest, (double)highest, (double)norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "water    west %+.8e, lake %+.8e, wells %+.8e, sum %+.1e m^3/s\n", (double)inflow[WEST], (double)inflow[LAKE], (double)a.wells, (double)(inflow[WEST] + inflow[LAKE] + a.wells)));
  if (hasOutput) PetscCall(Output(output, &a, head));
  PetscCall(ComparisonTable(&c, "[m]", &good));

  PetscCall(ComparisonDestroy(&c));
  PetscCall(PetscFree3(a.z, a.K, a.well));
  PetscCall(VecDestroy(&a.b));
  PetscCall(MatDestroy(&a.A));
  PetscCall(DMDestroy(&a.da));
  PetscCall(PetscFinalize());
  return good ? 0 : 1;
}
