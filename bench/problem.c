static char help[] = "Sets up and solves one 2D model problem on a DMDA with the solver of the options database, and prints one line of measurements.\n\
  -problem <name>      poisson, neumann, checkerboard, random_edge, random_cell, layers, channels, anisotropy, stretched, mask,\n\
                       lognormal, rotated, swapping, depth\n\
  -n <n>, -nx, -ny     unknowns in each direction (default 255)\n\
  -rhs <paper|random>  b = A u for the smooth u of the RRB paper, or hashed random numbers (default: paper for poisson, else random)\n\
  -epsilon, -angle     anisotropy and its angle in degrees (anisotropy, rotated, swapping)\n\
  -direction <x|y>     strong direction of anisotropy\n\
  -decades <d>, -ends  random_edge: over so many decades (default 4); only their two ends\n\
  -coast <dirichlet|neumann>  what a mask's edge is\n\
  -alpha <a>           added to the diagonal (default 0; 1e-5 for a neumann coast and for depth)\n\
  -depth_file <file>   raster of depths as examples/raster/raster2petsc writes it with the ending .bin (problem depth; <= 0 is land);\n\
                       without -n it is taken as it is, -refine <r> times finer\n\
  -repeat <k>          timed re-setup + solve pairs (default 3)\n\
  -solves <k>          solves with nothing left to set up after each of them, or after the first solve if there is none (default 1)\n\
  -solvers <k>         k solvers in turn, a line each; their options have the prefixes s0_, s1_, ... (-s0_ksp_type cg)\n\
  -copy <n>            measure also the rate at which vectors of n numbers are copied where this problem's are\n\
  -warmup_n <n>        size of the untimed first solve (default 255, 0: none)\n\
  -plain               one process: no DMDA, the matrix in arrays that several threads (OpenMP) fill; for sizes whose DMDA takes minutes\n\
  -memory              measure the growth of peak memory instead of times\n";

#include <petscdmda.h>
#include <petscksp.h>
#if defined(PETSC_HAVE_CUDA)
  #include <petscdevice.h>
#endif
#include <petsctime.h>
#if defined(__GLIBC__)
  #include <malloc.h>
#endif
#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif

typedef enum {
  POISSON, NEUMANN, CHECKERBOARD, RANDOM_EDGE, RANDOM_CELL, LAYERS, CHANNELS, ANISOTROPY, STRETCHED, MASK, LOGNORMAL, ROTATED, SWAPPING, DEPTH
} ProblemKind;
static const char *const ProblemNames[] = {"poisson", "neumann", "checkerboard", "random_edge", "random_cell", "layers", "channels", "anisotropy", "stretched", "mask", "lognormal", "rotated", "swapping", "depth"};

/* Nodes are numbered 1..nx and 1..ny, cells are square with h = 1/(nx+1). The nodes 0, nx+1 and ny+1 are the Dirichlet boundary. */
typedef struct {
  ProblemKind kind;
  PetscInt    nx, ny;
  PetscReal   epsilon, angle, alpha, decades;
  PetscBool   ends;           /* random edges: one end of the decades or the other */
  PetscBool   strong_x;       /* anisotropy: x is the strong direction */
  PetscBool   outer_neumann;  /* no flux through the outer boundary */
  PetscBool   coast_neumann;  /* no flux into land */
  PetscBool   singular;
  PetscBool   paper_rhs;
  DM          da;
  PetscBool   plain;          /* no DMDA */
  PetscInt    xs, ys, xm, ym; /* own nodes, counted from 0 */
  PetscInt   *rows, *columns; /* plain: the matrix's arrays */
  PetscScalar *values;
  PetscInt    wx, wy, ww, wh; /* window of nodes that this rank looks at: its own and one around them */
  PetscReal  *cell;           /* coefficient or land level on the window, NULL where the problem needs none */
  PetscReal  *tide_x, *tide_y;         /* smooth factors at half steps, for the value changes before each re-setup */
  PetscReal  *channel_y, *channel_x;   /* centre lines of the channels at half steps */
  PetscReal   tide;
  Vec         raster;         /* depths read from a file */
  PetscInt    raster_nx, raster_ny;
} Problem;

enum { CHANNELS_EACH_WAY = 10 };

/* Uniform in [0,1), a function of its arguments alone: the same on every number of ranks. */
static PetscReal Hash(PetscInt i, PetscInt j, PetscInt stream)
{
  unsigned long long z = 0x9E3779B97F4A7C15ull * (unsigned long long)(i + 1) + 0xD1B54A32D192ED03ull * (unsigned long long)(j + 1) + 0x8CB92BA72F3D8DD7ull * (unsigned long long)(stream + 1);

  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  return (PetscReal)(z >> 11) / 9007199254740992.0;
}

static PetscReal *CellAt(const Problem *p, PetscInt i, PetscInt j)
{
  return &p->cell[(j - p->wy) * p->ww + (i - p->wx)];
}

static PetscBool IsLand(const Problem *p, PetscInt i, PetscInt j)
{
  if (p->kind != MASK && p->kind != DEPTH) return PETSC_FALSE;
  if (i < 1 || j < 1 || i > p->nx || j > p->ny) return PETSC_FALSE;
  return *CellAt(p, i, j) <= 0 ? PETSC_TRUE : PETSC_FALSE;
}

/* Sum of plane waves with random directions, as a product of tables so that a node costs no trigonometry. */
static PetscErrorCode AddWaves(Problem *p, PetscInt modes, PetscReal max_wave_number, PetscInt stream)
{
  const PetscReal h = 1.0 / (p->nx + 1);
  PetscReal      *cx, *sx;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(p->ww, &cx, p->ww, &sx));
  for (PetscInt m = 0; m < modes; m++) {
    const PetscReal kx = 2 * PETSC_PI * max_wave_number * (2 * Hash(m, 1, stream) - 1), ky = 2 * PETSC_PI * max_wave_number * (2 * Hash(m, 2, stream) - 1);
    const PetscReal phase = 2 * PETSC_PI * Hash(m, 3, stream);

    for (PetscInt i = 0; i < p->ww; i++) {
      cx[i] = PetscCosReal(kx * h * (p->wx + i) + phase);
      sx[i] = PetscSinReal(kx * h * (p->wx + i) + phase);
    }
    for (PetscInt j = 0; j < p->wh; j++) {
      const PetscReal c = PetscCosReal(ky * h * (p->wy + j)), s = PetscSinReal(ky * h * (p->wy + j));

      for (PetscInt i = 0; i < p->ww; i++) p->cell[j * p->ww + i] += cx[i] * c - sx[i] * s;
    }
  }
  PetscCall(PetscFree2(cx, sx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The raster of -depth_file: two Vecs, (nx, ny, ...) and nx*ny depths, row 0 in the south. Every rank reads all of it: it is small. */
static PetscErrorCode ReadDepth(Problem *p)
{
  char               file[PETSC_MAX_PATH_LEN];
  PetscBool          set;
  PetscViewer        viewer;
  Vec                header;
  const PetscScalar *h;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-depth_file", file, sizeof(file), &set));
  PetscCheck(set, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-problem depth needs -depth_file");
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, file, FILE_MODE_READ, &viewer));
  PetscCall(VecCreate(PETSC_COMM_SELF, &header));
  PetscCall(VecLoad(header, viewer));
  PetscCall(VecGetArrayRead(header, &h));
  p->raster_nx = (PetscInt)PetscRealPart(h[0]);
  p->raster_ny = (PetscInt)PetscRealPart(h[1]);
  PetscCall(VecRestoreArrayRead(header, &h));
  PetscCall(VecDestroy(&header));
  PetscCall(VecCreate(PETSC_COMM_SELF, &p->raster));
  PetscCall(VecLoad(p->raster, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Depth at every node of the window, between the raster's cell centres by bilinear interpolation. */
static PetscErrorCode SampleDepth(Problem *p)
{
  const PetscScalar *h;
  const PetscReal    cells_x = (PetscReal)p->raster_nx / p->nx, cells_y = (PetscReal)p->raster_ny / p->ny;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayRead(p->raster, &h));
  for (PetscInt j = 0; j < p->wh; j++) {
    const PetscReal y  = PetscClipInterval((p->wy + j - 0.5) * cells_y - 0.5, 0, p->raster_ny - 1);
    const PetscInt  j0 = PetscMin((PetscInt)y, PetscMax(p->raster_ny - 2, 0)), j1 = PetscMin(j0 + 1, p->raster_ny - 1);

    for (PetscInt i = 0; i < p->ww; i++) {
      const PetscReal x  = PetscClipInterval((p->wx + i - 0.5) * cells_x - 0.5, 0, p->raster_nx - 1);
      const PetscInt  i0 = PetscMin((PetscInt)x, PetscMax(p->raster_nx - 2, 0)), i1 = PetscMin(i0 + 1, p->raster_nx - 1);
      const PetscReal south = (1 - (x - i0)) * PetscRealPart(h[j0 * p->raster_nx + i0]) + (x - i0) * PetscRealPart(h[j0 * p->raster_nx + i1]);
      const PetscReal north = (1 - (x - i0)) * PetscRealPart(h[j1 * p->raster_nx + i0]) + (x - i0) * PetscRealPart(h[j1 * p->raster_nx + i1]);

      p->cell[j * p->ww + i] = (1 - (y - j0)) * south + (y - j0) * north;
    }
  }
  PetscCall(VecRestoreArrayRead(p->raster, &h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillCells(Problem *p)
{
  const PetscInt size = p->ww * p->wh;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(size, &p->cell));
  switch (p->kind) {
  case RANDOM_CELL: /* four decades, each cell of its own */
    for (PetscInt j = 0; j < p->wh; j++)
      for (PetscInt i = 0; i < p->ww; i++) p->cell[j * p->ww + i] = PetscPowReal(10, 4 * Hash(p->wx + i, p->wy + j, 5) - 2);
    break;
  case LOGNORMAL: /* exp of a Gaussian field of standard deviation 2, correlated over some 5 % of the domain */
    PetscCall(AddWaves(p, 30, 20, 3));
    for (PetscInt k = 0; k < size; k++) p->cell[k] = PetscExpReal(2 * PetscSqrtReal(2.0 / 30) * p->cell[k]);
    break;
  case MASK: /* blobs of land, about a third of the domain; land where the value is <= 0 */
    PetscCall(AddWaves(p, 40, 24, 7));
    for (PetscInt k = 0; k < size; k++) p->cell[k] = 1.7 - p->cell[k];
    break;
  case DEPTH: PetscCall(SampleDepth(p)); break;
  default: break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillTables(Problem *p)
{
  const PetscReal half = 0.5 / (p->nx + 1);
  const PetscInt  mx = 2 * p->nx + 3, my = 2 * p->ny + 3;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(mx, &p->tide_x, my, &p->tide_y));
  for (PetscInt i = 0; i < mx; i++) p->tide_x[i] = PetscCosReal(2 * PETSC_PI * i * half);
  for (PetscInt j = 0; j < my; j++) p->tide_y[j] = PetscCosReal(2 * PETSC_PI * j * half);
  if (p->kind == CHANNELS) { /* ten meandering channels each way */
    PetscCall(PetscMalloc2(mx * CHANNELS_EACH_WAY, &p->channel_y, my * CHANNELS_EACH_WAY, &p->channel_x));
    for (PetscInt m = 0; m < CHANNELS_EACH_WAY; m++) {
      for (PetscInt i = 0; i < mx; i++) p->channel_y[m * mx + i] = (m + 0.5) / CHANNELS_EACH_WAY + 0.04 * PetscSinReal(2 * PETSC_PI * (3 + m % 3) * i * half + m);
      for (PetscInt j = 0; j < my; j++) p->channel_x[m * my + j] = (m + 0.5) / CHANNELS_EACH_WAY + 0.04 * PetscSinReal(2 * PETSC_PI * (2 + m % 4) * j * half + 2 * m);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal ChannelCoefficient(const Problem *p, PetscInt i2, PetscInt j2)
{
  const PetscReal half = 0.5 / (p->nx + 1), half_width = 0.006;
  const PetscInt  mx = 2 * p->nx + 3, my = 2 * p->ny + 3;

  for (PetscInt m = 0; m < CHANNELS_EACH_WAY; m++)
    if (PetscAbsReal(j2 * half - p->channel_y[m * mx + i2]) < half_width || PetscAbsReal(i2 * half - p->channel_x[m * my + j2]) < half_width) return 1e4;
  return 1;
}

/* Spacing between nodes i and i+1 of 0..n+1: grows by 5 % a cell from both ends, up to a factor of 1000. */
static PetscReal Spacing(PetscInt i, PetscInt n)
{
  return PetscPowReal(1.05, PetscMin(PetscMin(i, n - i), 142));
}

/* Coupling between (i,j) and (i+dx,j+dy), (dx,dy) = (1,0) or (0,1), without the changes in time. */
static PetscReal EdgeWeight(const Problem *p, PetscInt i, PetscInt j, PetscInt dx, PetscInt dy)
{
  const PetscInt  i2 = 2 * i + dx, j2 = 2 * j + dy; /* the edge's middle, in half steps */
  const PetscReal x = 0.5 * i2 / (p->nx + 1), y = 0.5 * j2 / (p->nx + 1);

  switch (p->kind) {
  case CHECKERBOARD: return ((PetscInt)(8 * x) + (PetscInt)(8 * y)) & 1 ? 1e4 : 1;
  case RANDOM_EDGE: {
    const PetscReal u = Hash(i, j, 21 + dy);
    return PetscPowReal(10, p->decades * ((p->ends ? u > 0.5 : u) - 0.5));
  }
  case RANDOM_CELL:
  case LOGNORMAL: {
    const PetscReal a = *CellAt(p, i, j), b = *CellAt(p, i + dx, j + dy);
    return 2 * a * b / (a + b);
  }
  case LAYERS: return (PetscInt)(37.3 * y) & 1 ? 1e4 : 1;
  case CHANNELS: return ChannelCoefficient(p, i2, j2);
  case ANISOTROPY: return (dx == 1) == (p->strong_x == PETSC_TRUE) ? 1 : p->epsilon;
  case SWAPPING: return (dx == 1) == ((((PetscInt)(4 * x) + (PetscInt)(4 * y)) & 1) == 1) ? p->epsilon : 1;
  case STRETCHED: return dx ? 0.5 * (Spacing(j - 1, p->ny) + Spacing(j, p->ny)) / Spacing(i, p->nx) : 0.5 * (Spacing(i - 1, p->nx) + Spacing(i, p->nx)) / Spacing(j, p->ny);
  case DEPTH: return 0.5 * (*CellAt(p, i, j) + *CellAt(p, i + dx, j + dy)); /* faces towards land are not used */
  default: return 1;
  }
}

static PetscReal Edge(const Problem *p, PetscInt i, PetscInt j, PetscInt dx, PetscInt dy)
{
  return (1 + p->tide * p->tide_x[2 * i + dx] * p->tide_y[2 * j + dy]) * EdgeWeight(p, i, j, dx, dy);
}

/* Row of a 5-point problem; entries in the order south, west, centre, east, north. */
static void FivePointRow(const Problem *p, PetscInt i, PetscInt j, PetscReal row[5])
{
  const PetscInt  di[4] = {0, -1, 1, 0}, dj[4] = {-1, 0, 0, 1}, at[4] = {0, 1, 3, 4};
  const PetscReal w[4] = {Edge(p, i, j - 1, 0, 1), Edge(p, i - 1, j, 1, 0), Edge(p, i, j, 1, 0), Edge(p, i, j, 0, 1)};

  for (PetscInt k = 0; k < 5; k++) row[k] = 0;
  row[2] = p->alpha;
  if (!IsLand(p, i, j)) {
    for (PetscInt k = 0; k < 4; k++) {
      const PetscInt  ii = i + di[k], jj = j + dj[k];
      const PetscBool inside = (PetscBool)(ii >= 1 && ii <= p->nx && jj >= 1 && jj <= p->ny), land = IsLand(p, ii, jj);

      if ((!inside && p->outer_neumann) || (land && p->coast_neumann)) continue;
      row[2] += w[k];
      if (inside && !land) row[at[k]] = -w[k];
    }
  }
  if (IsLand(p, i, j) || row[2] == 0) row[2] = 1; /* identity row: land, or a lake of one node */
}

/* The nine entries of -div(K grad u) in finite differences, K = R diag(1, epsilon) R', row by row from the south-west. */
static void RotatedRow(const Problem *p, PetscReal row[9])
{
  const PetscReal c = PetscCosReal(p->angle), s = PetscSinReal(p->angle), scale = 1 + p->tide;
  const PetscReal a = c * c + p->epsilon * s * s, d = p->epsilon * c * c + s * s, b = (1 - p->epsilon) * c * s;
  const PetscReal stencil[9] = {-b / 2, -d, b / 2, -a, 2 * a + 2 * d, -a, b / 2, -d, -b / 2};

  for (PetscInt k = 0; k < 9; k++) row[k] = scale * stencil[k];
}

/* The row of node (i, j), counted from 0: values, and columns as differences of nodes, ascending; places outside the grid are left out. */
static PetscInt Row(const Problem *p, PetscInt i, PetscInt j, PetscScalar values[9], PetscInt di[9], PetscInt dj[9])
{
  const PetscInt di5[5] = {0, -1, 0, 1, 0}, dj5[5] = {-1, 0, 0, 0, 1};
  PetscReal      row[9];
  PetscInt       count = 0, points = p->kind == ROTATED ? 9 : 5;

  if (points == 9) RotatedRow(p, row);
  else FivePointRow(p, i + 1, j + 1, row);
  for (PetscInt k = 0; k < points; k++) {
    const PetscInt dx = points == 9 ? k % 3 - 1 : di5[k], dy = points == 9 ? k / 3 - 1 : dj5[k];

    if (i + dx < 0 || i + dx >= p->nx || j + dy < 0 || j + dy >= p->ny) continue;
    values[count] = row[k];
    di[count]     = dx;
    dj[count++]   = dy;
  }
  return count;
}

/* The matrix without its values. */
static PetscErrorCode PlainMatrix(Problem *p, Mat *A)
{
  const PetscInt  nx = p->nx, ny = p->ny, couplings = p->kind == ROTATED ? (3 * nx - 2) * (3 * ny - 2) : 5 * nx * ny - 2 * nx - 2 * ny;
  char            type[32];
  PetscBool       set;

  PetscFunctionBeginUser;
  PetscCheck((p->kind == ROTATED ? 9. : 5.) * nx * ny < (double)PETSC_MAX_INT, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "The matrix has more entries than PetscInt counts: a PETSc --with-64-bit-indices is needed");
  PetscCall(PetscMalloc1(nx * ny + 1, &p->rows));
  PetscCall(PetscMalloc1(couplings, &p->columns));
  PetscCall(PetscMalloc1(couplings, &p->values));
#pragma omp parallel for schedule(static)
  for (PetscInt j = 0; j < ny; j++) {
    const PetscInt before = p->kind == ROTATED ? (j ? (3 * j - 1) * (3 * nx - 2) : 0) : j * (5 * nx - 2) - (j ? nx : 0); /* the lines' before */
    PetscScalar    values[9];
    PetscInt       di[9], dj[9], next = before;

    for (PetscInt i = 0; i < nx; i++) {
      const PetscInt count = Row(p, i, j, values, di, dj);

      p->rows[j * nx + i] = next;
      for (PetscInt k = 0; k < count; k++) p->columns[next] = (j + dj[k]) * nx + i + di[k], p->values[next++] = 0;
    }
  }
  p->rows[nx * ny] = couplings;
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, nx * ny, nx * ny, p->rows, p->columns, p->values, A));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dm_mat_type", type, sizeof(type), &set));
  if (set) PetscCall(MatConvert(*A, type, MAT_INPLACE_MATRIX, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes the values of time step `step`; step 0 is the problem as defined, later steps differ by a few per cent. */
static PetscErrorCode FillMatrix(Problem *p, PetscInt step, Mat A)
{
  PetscInt  gxs, gys, gxm;
  PetscBool alone;

  PetscFunctionBeginUser;
  p->tide = step ? (step % 2 ? 0.01 : 0.02) : 0;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &alone));
  if (alone) { /* rows have all places inside the grid, columns ascending */
    const PetscInt *rows, *columns;
    PetscInt        n;
    PetscBool       done;
    PetscScalar    *array;

    PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &rows, &columns, &done));
    PetscCall(MatSeqAIJGetArray(A, &array));
#pragma omp parallel for schedule(static) if (p->plain)
    for (PetscInt j = 0; j < p->ny; j++) {
      PetscInt di[9], dj[9];

      for (PetscInt i = 0; i < p->nx; i++) (void)Row(p, i, j, array + rows[j * p->nx + i], di, dj);
    }
    PetscCall(MatSeqAIJRestoreArray(A, &array));
    PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &rows, &columns, &done));
  } else {
    PetscCall(DMDAGetGhostCorners(p->da, &gxs, &gys, NULL, &gxm, NULL, NULL));
    for (PetscInt j = p->ys; j < p->ys + p->ym; j++)
      for (PetscInt i = p->xs; i < p->xs + p->xm; i++) {
        const PetscInt center = (j - gys) * gxm + i - gxs;
        PetscScalar    values[9];
        PetscInt       di[9], dj[9];
        const PetscInt count = Row(p, i, j, values, di, dj);

        for (PetscInt k = 0; k < count; k++) di[k] += center + dj[k] * gxm;
        PetscCall(MatSetValuesLocal(A, 1, &center, count, di, values, INSERT_VALUES));
      }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix whose products run on a device has its values there before the clock starts: they are made on the host here, which a
   program that uses a device does not do. */
static PetscErrorCode ToDevice(Mat A)
{
  Vec x, y;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 0));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillRightHandSide(const Problem *p, Mat A, Vec b)
{
  const PetscReal h = 1.0 / (p->nx + 1);
  PetscScalar    *f;
  Vec             u;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &u));
  PetscCall(VecGetArrayWrite(u, &f));
#pragma omp parallel for schedule(static) if (p->plain)
  for (PetscInt j = p->ys; j < p->ys + p->ym; j++) {
    for (PetscInt i = p->xs; i < p->xs + p->xm; i++) {
      const PetscReal x = (i + 1) * h, y = (j + 1) * h;
      PetscScalar    *to = f + (j - p->ys) * p->xm + (i - p->xs);

      if (p->paper_rhs) *to = x * (x - 1) * y * (y - 1) * PetscExpReal(x * y);
      else *to = IsLand(p, i + 1, j + 1) ? 0 : Hash(i, j, 99) - 0.5;
    }
  }
  PetscCall(VecRestoreArrayWrite(u, &f));
  if (p->paper_rhs) PetscCall(MatMult(A, u, b));
  else PetscCall(VecCopy(u, b));
  PetscCall(VecDestroy(&u));
  if (p->singular) {
    MatNullSpace constants;

    PetscCall(MatGetNullSpace(A, &constants));
    PetscCall(MatNullSpaceRemove(constants, b));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads the problem's options and makes its grid, matrix and right-hand side. */
static PetscErrorCode ProblemCreate(Problem *p, PetscInt n, Mat *A, Vec *b)
{
  PetscInt  kind = POISSON;
  PetscReal degrees = 45;
  char      word[32];
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-problem", ProblemNames, PETSC_STATIC_ARRAY_LENGTH(ProblemNames), &kind, NULL));
  p->kind = (ProblemKind)kind;
  if (p->kind == DEPTH) PetscCall(ReadDepth(p));
  p->nx = p->ny = n;
  if (n <= 0) {
    PetscInt refine = 1;

    PetscCall(PetscOptionsGetInt(NULL, NULL, "-refine", &refine, NULL));
    p->nx = p->raster ? p->raster_nx * refine : 255;
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &p->nx, NULL));
    PetscCall(PetscOptionsHasName(NULL, NULL, "-n", &set));
    p->ny = p->raster && !set ? p->raster_ny * refine : p->nx;
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-nx", &p->nx, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-ny", &p->ny, NULL));
  }
  p->epsilon = 0.01;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-epsilon", &p->epsilon, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-angle", &degrees, NULL));
  p->angle = degrees * PETSC_PI / 180;
  p->decades = 4;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-decades", &p->decades, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-ends", &p->ends, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-direction", word, sizeof(word), &set));
  p->strong_x = (PetscBool)(!set || word[0] != 'y');
  p->paper_rhs = (PetscBool)(p->kind == POISSON);
  PetscCall(PetscOptionsGetString(NULL, NULL, "-rhs", word, sizeof(word), &set));
  if (set) p->paper_rhs = (PetscBool)(word[0] == 'p');
  PetscCall(PetscOptionsGetString(NULL, NULL, "-coast", word, sizeof(word), &set));
  p->coast_neumann = (PetscBool)(p->kind == DEPTH || (set && word[0] == 'n'));
  p->outer_neumann = (PetscBool)(p->kind == NEUMANN || p->kind == DEPTH || (p->kind == MASK && p->coast_neumann));
  if (p->coast_neumann) p->alpha = 1e-5;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-alpha", &p->alpha, NULL));
  p->singular = (PetscBool)(p->kind == NEUMANN && p->alpha == 0);

  PetscCall(PetscOptionsGetBool(NULL, NULL, "-plain", &p->plain, NULL));
  if (p->plain) {
    PetscMPIInt ranks;

    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    PetscCheck(ranks == 1, PETSC_COMM_WORLD, PETSC_ERR_SUP, "-plain is for one process");
    p->xm = p->nx, p->ym = p->ny;
  } else {
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, p->kind == ROTATED ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, p->nx, p->ny, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &p->da));
    PetscCall(DMSetFromOptions(p->da));
    PetscCall(DMSetUp(p->da));
    PetscCall(DMDAGetCorners(p->da, &p->xs, &p->ys, NULL, &p->xm, &p->ym, NULL));
  }
  p->wx = p->xs, p->wy = p->ys, p->ww = p->xm + 2, p->wh = p->ym + 2;
  PetscCall(FillTables(p));
  if (p->kind == RANDOM_CELL || p->kind == LOGNORMAL || p->kind == MASK || p->kind == DEPTH) PetscCall(FillCells(p));

  if (p->plain) PetscCall(PlainMatrix(p, A));
  else PetscCall(DMCreateMatrix(p->da, A));
  PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(*A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscCall(FillMatrix(p, 0, *A));
  if (p->singular) {
    MatNullSpace constants;

    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
    PetscCall(MatSetNullSpace(*A, constants));
    PetscCall(MatNullSpaceDestroy(&constants));
  }
  if (p->plain) PetscCall(MatCreateVecs(*A, b, NULL));
  else PetscCall(DMCreateGlobalVector(p->da, b));
  PetscCall(FillRightHandSide(p, *A, *b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemDestroy(Problem *p, Mat *A, Vec *b)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(p->cell));
  PetscCall(VecDestroy(&p->raster));
  PetscCall(PetscFree2(p->tide_x, p->tide_y));
  PetscCall(PetscFree2(p->channel_y, p->channel_x));
  PetscCall(MatDestroy(A));
  PetscCall(PetscFree(p->rows));
  PetscCall(PetscFree(p->columns));
  PetscCall(PetscFree(p->values));
  PetscCall(VecDestroy(b));
  PetscCall(DMDestroy(&p->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* CG with the rule of every comparison, ||b - Ax|| <= 1e-6 ||b||; the options database may change all of it. */
static PetscErrorCode SolverCreate(const Problem *p, Mat A, const char *prefix, KSP *ksp)
{
  char      type[32] = "";
  PetscBool multigrid;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(*ksp, 1e-6, 1e-300, 1e10, 10000));
  PetscCall(PetscOptionsGetString(NULL, prefix, "-pc_type", type, sizeof(type), NULL));
  PetscCall(PetscStrcmp(type, PCMG, &multigrid));
  if (multigrid) { /* which makes its grids from the finest one */
    DM da;
    PC pc;

    PetscCall(MatGetDM(A, &da));
    PetscCall(KSPGetPC(*ksp, &pc));
    PetscCall(PCSetDM(pc, da));
  }
  if (p->plain) { /* the grid */
    char name[64], size[64];

    (void)snprintf(name, sizeof(name), "-%spc_rrb_grid", prefix ? prefix : "");
    (void)snprintf(size, sizeof(size), "%d,%d", (int)p->nx, (int)p->ny);
    PetscCall(PetscOptionsSetValue(NULL, name, size));
  }
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Synchronize(void)
{
  PetscFunctionBeginUser;
#if defined(PETSC_HAVE_CUDA)
  PetscDeviceContext dctx;
  PetscCall(PetscDeviceContextGetCurrentContext(&dctx));
  PetscCall(PetscDeviceContextSynchronize(dctx));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StartTimer(PetscLogDouble *start)
{
  PetscFunctionBeginUser;
  PetscCall(Synchronize());
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(start));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds since `start` on the slowest rank. */
static PetscErrorCode StopTimer(PetscLogDouble start, PetscReal *seconds)
{
  PetscLogDouble end;
  double         mine, slowest;

  PetscFunctionBeginUser;
  PetscCall(Synchronize());
  PetscCall(PetscTime(&end));
  mine = end - start;
  PetscCallMPI(MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  *seconds = slowest;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TimedSetUp(KSP ksp, PetscReal *seconds)
{
  PetscLogDouble start;

  PetscFunctionBeginUser;
  PetscCall(StartTimer(&start));
  PetscCall(KSPSetUp(ksp));
  PetscCall(StopTimer(start, seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TimedSolve(KSP ksp, Vec b, Vec x, PetscReal *seconds)
{
  PetscLogDouble start;

  PetscFunctionBeginUser;
  PetscCall(VecSet(x, 0));
  PetscCall(StartTimer(&start));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(StopTimer(start, seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Peak resident memory of all ranks in MB, from Linux's /proc; 0 elsewhere. */
static PetscErrorCode PeakMemory(double *megabytes)
{
  FILE  *status = fopen("/proc/self/status", "r");
  char   line[256];
  double mine = 0;
  long   kb;

  PetscFunctionBeginUser;
  if (status) {
    while (fgets(line, sizeof(line), status))
      if (sscanf(line, "VmHWM: %ld kB", &kb) == 1) mine = kb / 1024.0;
    fclose(status);
  }
  PetscCallMPI(MPI_Allreduce(&mine, megabytes, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets the peak back to the memory in use now, after giving free heap pages back: they would hide what the solver needs. */
static PetscErrorCode ResetPeakMemory(void)
{
  FILE *clear;

  PetscFunctionBeginUser;
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
  clear = fopen("/proc/self/clear_refs", "w");
  if (clear) {
    fputs("5", clear);
    fclose(clear);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TrueResidual(Mat A, Vec b, Vec x, PetscReal *relative)
{
  Vec       r, y; /* of the matrix's kind, as PETSc multiplies no others right where the matrix is on a device */
  PetscReal bnorm;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &y, &r));
  PetscCall(VecCopy(x, y));
  PetscCall(MatMult(A, y, r));
  PetscCall(VecCopy(b, y));
  PetscCall(VecAYPX(r, -1, y));
  PetscCall(VecNorm(r, NORM_2, relative));
  PetscCall(VecNorm(y, NORM_2, &bnorm));
  if (bnorm > 0) *relative /= bnorm;
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve counts if KSP says so and, where the norm is that of the residual itself, the true residual agrees. */
static PetscErrorCode Check(KSP ksp, Mat A, Vec b, Vec x, PetscReal *residual, PetscBool *ok)
{
  KSPConvergedReason reason;
  KSPNormType        norm;
  PetscReal          rtol;

  PetscFunctionBeginUser;
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetNormType(ksp, &norm));
  PetscCall(KSPGetTolerances(ksp, &rtol, NULL, NULL, NULL));
  PetscCall(TrueResidual(A, b, x, residual));
  if (reason <= 0 || (norm == KSP_NORM_UNPRECONDITIONED && !(*residual <= 1.05 * rtol))) *ok = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintList(const char *name, const PetscReal *values, PetscInt count)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %s=", name));
  for (PetscInt k = 0; k < count; k++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s%.6g", k ? "," : "", (double)values[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options of solver k begin with this; with a single solver nothing is before them. */
static const char *Prefix(PetscInt solvers, PetscInt k)
{
  static char prefix[16];

  if (!solvers) return NULL;
  (void)snprintf(prefix, sizeof(prefix), "s%d_", (int)k);
  return prefix;
}

static PetscErrorCode WarmUp(PetscInt solvers)
{
  PetscInt  n = 255;
  PetscReal seconds;
  Problem   p;
  Mat       A;
  Vec       b, x;
  KSP       ksp;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-warmup_n", &n, NULL));
  if (n <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ProblemCreate(&p, n, &A, &b));
  PetscCall(VecDuplicate(b, &x));
  for (PetscInt k = 0; k < PetscMax(solvers, 1); k++) {
    PetscCall(SolverCreate(&p, A, Prefix(solvers, k), &ksp));
    PetscCall(TimedSolve(ksp, b, x, &seconds));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(ProblemDestroy(&p, &A, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GB/s, read and written, of copying vectors of n numbers of the type of `like`; the best of some. */
static PetscErrorCode CopyRate(Vec like, PetscInt n, double *rate)
{
  Vec       x, y;
  VecType   type;
  PetscReal seconds;

  PetscFunctionBeginUser;
  PetscCall(VecGetType(like, &type));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &x));
  PetscCall(VecSetSizes(x, PETSC_DECIDE, n));
  PetscCall(VecSetType(x, type));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(VecSet(y, 2));
  *rate = 0;
  for (int k = 0; k < 20; k++) {
    PetscLogDouble start;

    PetscCall(StartTimer(&start));
    PetscCall(VecCopy(x, y));
    PetscCall(StopTimer(start, &seconds));
    *rate = PetscMax(*rate, 16e-9 * n / seconds);
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solver on the problem, and its line. */
static PetscErrorCode Measure(Problem *p, Mat A, Vec b, const char *prefix, PetscInt repeat, PetscInt solves, PetscBool memory, PetscInt copy)
{
  Vec                x;
  KSP                ksp;
  PC                 pc;
  KSPType            ksp_type;
  PCType             pc_type;
  KSPConvergedReason reason;
  PetscMPIInt        ranks;
  PetscInt           its, warm = 0;
  PetscBool          ok = PETSC_TRUE;
  PetscReal          setup, first_solve, residual, worst, *resetup, *solve, *again;
  double             before = 0, after_setup = 0, after_solve = 0;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(PetscMalloc3(repeat, &resetup, repeat, &solve, PetscMax(repeat, 1) * solves, &again));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecSet(x, 0)); /* touch the pages: x is not the solver's memory */
  PetscCall(ToDevice(A));
  PetscCall(SolverCreate(p, A, prefix, &ksp));
  if (memory) {
    PetscCall(ResetPeakMemory());
    PetscCall(PeakMemory(&before));
    PetscCall(TimedSetUp(ksp, &setup));
    PetscCall(PeakMemory(&after_setup));
    PetscCall(TimedSolve(ksp, b, x, &first_solve));
    PetscCall(PeakMemory(&after_solve));
  } else {
    PetscCall(TimedSetUp(ksp, &setup));
    PetscCall(TimedSolve(ksp, b, x, &first_solve));
  }
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(Check(ksp, A, b, x, &residual, &ok));
  worst = residual;
  if (!repeat && !memory)
    for (PetscInt k = 0; k < solves; k++) PetscCall(TimedSolve(ksp, b, x, &again[warm++]));

  /* Each solve follows its re-setup, because some preconditioners postpone work to the first solve (PETSc's Chebyshev smoother its
     eigenvalue estimates); `again` are solves with nothing left to set up. */
  for (PetscInt k = 0; k < repeat; k++) {
    PetscCall(FillMatrix(p, k + 1, A));
    PetscCall(ToDevice(A));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(TimedSetUp(ksp, &resetup[k]));
    PetscCall(TimedSolve(ksp, b, x, &solve[k]));
    PetscCall(Check(ksp, A, b, x, &residual, &ok));
    worst = PetscMax(worst, residual);
    for (PetscInt i = 0; i < solves; i++) PetscCall(TimedSolve(ksp, b, x, &again[warm++]));
  }

  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPGetType(ksp, &ksp_type));
  PetscCall(PCGetType(pc, &pc_type));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "BENCH")); /* after what -ksp_view and monitors have printed */
  if (memory) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " before_mb=%.1f setup_mb=%.1f memory_mb=%.1f", before, after_setup - before, after_solve - before));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, " problem=%s nx=%" PetscInt_FMT " ny=%" PetscInt_FMT " ranks=%d ksp=%s pc=%s its=%" PetscInt_FMT " reason=%s residual=%.4g ok=%d setup=%.6g first_solve=%.6g", ProblemNames[p->kind], p->nx, p->ny, ranks, ksp_type, pc_type, its,
                        KSPConvergedReasons[reason], (double)worst, (int)ok, (double)setup, (double)first_solve));
  PetscCall(PrintList("resetup", resetup, repeat));
  PetscCall(PrintList("solve", solve, repeat));
  PetscCall(PrintList("again", again, warm));
  if (copy > 0) {
    double rate = 0;

    PetscCall(CopyRate(b, copy, &rate));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, " copy_gbs=%.6g", rate));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));

  PetscCall(PetscFree3(resetup, solve, again));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem   p;
  Mat       A;
  Vec       b;
  PetscInt  repeat = 3, solves = 1, solvers = 0, copy = 0;
  PetscBool memory = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-memory", &memory, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-solves", &solves, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-solvers", &solvers, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-copy", &copy, NULL));
  PetscCheck(repeat >= 0 && solves >= 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-repeat %" PetscInt_FMT " and -solves %" PetscInt_FMT " must not be negative", repeat, solves);
  if (!memory) PetscCall(WarmUp(solvers)); /* it would leave memory behind that hides what setup takes */
  if (memory) repeat = 0;

  PetscCall(ProblemCreate(&p, 0, &A, &b));
  for (PetscInt k = 0; k < PetscMax(solvers, 1); k++) {
    if (k && repeat) PetscCall(FillMatrix(&p, 0, A));
    PetscCall(Measure(&p, A, b, Prefix(solvers, k), repeat, solves, memory, k ? 0 : copy));
  }
  PetscCall(ProblemDestroy(&p, &A, &b));
  PetscCall(PetscFinalize());
  return 0;
}
