static char help[] = "Sets up and solves one 3D model problem on a DMDA with the solvers of the options database, and prints a line of measurements for each.\n\
  -problem <name>      poisson, neumann, periodic, anisotropy (-along a,b,c), stretched_z, stretched, layers_z, layers_xz, layers_all (cells 1:100\n\
                       towards the sides), checkerboard, random_cell, random_edge, layers, channels, lognormal, spe10, mask, mask_neumann,\n\
                       spheres, spheres_fine, caves, ocean, swapping (-along of a direction that turns), planes (strong ones, that turn\n\
                       half way, -weak the third direction), rotated (-angle, -along; 27 points)\n\
  -n <n>, -nx, -ny, -nz  unknowns in each direction (default 65)\n\
  -closed <0|1,0|1,0|1> directions whose sides nothing flows through (Neumann)\n\
  -rhs <random|smooth> (default random)\n\
  -repeat <k>          timed re-setup + solve pairs (default 3), each with other coefficients that vary smoothly\n\
  -steady              the coefficients of the pairs are those of the first setup\n\
  -solvers <k>         k solvers in turn, a line each; their options have the prefixes s0_, s1_, ... (-s1_pc_type pfmg -s1_dm_mat_type hyprestruct)\n\
  -plain               one process: the matrix in arrays that several threads (OpenMP) fill\n\
  -copy <n>            measure also the rate at which vectors of n numbers are copied where this problem's are\n";

#include <petscdmda.h>
#include <petscksp.h>
#if defined(PETSC_HAVE_CUDA)
  #include <petscdevice.h>
#endif
#include <petsctime.h>
#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif

typedef enum {
  POISSON, NEUMANN, PERIODIC, ANISOTROPY, STRETCHED_Z, STRETCHED, LAYERS_Z, LAYERS_XZ, LAYERS_ALL, CHECKERBOARD, RANDOM_CELL, RANDOM_EDGE, LAYERS, CHANNELS, LOGNORMAL, SPE10, MASK, MASK_NEUMANN, SPHERES, SPHERES_FINE, CAVES, OCEAN, SWAPPING, PLANES, ROTATED
} ProblemKind;
static const char *const ProblemNames[] = {"poisson", "neumann", "periodic", "anisotropy", "stretched_z", "stretched", "layers_z", "layers_xz", "layers_all", "checkerboard", "random_cell", "random_edge", "layers", "channels", "lognormal", "spe10", "mask", "mask_neumann", "spheres", "spheres_fine", "caves", "ocean", "swapping", "planes", "rotated"};

typedef struct {
  ProblemKind kind;
  PetscInt    n[3], lo[3], m[3]; /* nodes of the grid; own ones */
  PetscReal   along[3], alpha, tide, weak, h, stencil[27];
  PetscBool   neumann[3], coast_neumann, plain, singular, smooth, steady;
  PetscReal  *spacing[3]; /* between node i - 1 and i, from 0 */
  PetscReal  *cell;       /* coefficients of the nodes and of one layer around them, or NULL; on every process */
  char       *land;       /* or NULL; on every process */
  DM          da;
  PetscInt   *rows, *columns;
} Problem;

/* Uniform in [0,1), a function of its arguments alone: the same on every number of processes. */
static PetscReal Hash(PetscInt i, PetscInt j, PetscInt k, PetscInt stream)
{
  unsigned long long z = 0x9E3779B97F4A7C15ull * (unsigned long long)(i + 1) + 0xD1B54A32D192ED03ull * (unsigned long long)(j + 1) + 0x8CB92BA72F3D8DD7ull * (unsigned long long)(k + 1) + 0x27D4EB2F165667C5ull * (unsigned long long)(stream + 1);

  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  return (PetscReal)(z >> 11) / 9007199254740992.0;
}

static size_t CellAt(const Problem *p, PetscInt i, PetscInt j, PetscInt k)
{
  return ((size_t)(k + 1) * (size_t)(p->n[1] + 2) + (size_t)(j + 1)) * (size_t)(p->n[0] + 2) + (size_t)(i + 1);
}
static size_t NodeAt(const Problem *p, PetscInt i, PetscInt j, PetscInt k)
{
  return ((size_t)k * (size_t)p->n[1] + (size_t)j) * (size_t)p->n[0] + (size_t)i;
}
static PetscBool IsLand(const Problem *p, PetscInt i, PetscInt j, PetscInt k)
{
  if (!p->land || i < 0 || j < 0 || k < 0 || i >= p->n[0] || j >= p->n[1] || k >= p->n[2]) return PETSC_FALSE;
  return p->land[NodeAt(p, i, j, k)] ? PETSC_TRUE : PETSC_FALSE;
}

/* exp(2 g) for a Gaussian field g with these correlation lengths in nodes: white noise and Gaussian filters. */
static PetscErrorCode FillLognormal(Problem *p, const PetscReal length[3])
{
  const PetscInt m[3] = {p->n[0] + 2, p->n[1] + 2, p->n[2] + 2};
  const size_t   step[3] = {1, (size_t)m[0], (size_t)m[0] * (size_t)m[1]}, all = step[2] * (size_t)m[2];
  PetscReal     *from;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(all, &p->cell));
  PetscCall(PetscMalloc1(all, &from));
  for (PetscInt k = -1; k <= p->n[2]; k++)
    for (PetscInt j = -1; j <= p->n[1]; j++)
      for (PetscInt i = -1; i <= p->n[0]; i++) p->cell[CellAt(p, i, j, k)] = PetscSqrtReal(-2 * PetscLogReal(Hash(i, j, k, 7) + 1e-300)) * PetscCosReal(2 * PETSC_PI * Hash(i, j, k, 8));
  for (int d = 0; d < 3; d++) {
    const PetscInt half = (PetscInt)PetscCeilReal(2.5 * length[d]);
    PetscReal      w[128], sum = 0;

    for (PetscInt e = -half; e <= half; e++) w[e + half] = PetscExpReal(-2. * e * e / (length[d] * length[d])), sum += w[e + half] * w[e + half];
    PetscCall(PetscArraycpy(from, p->cell, all));
    for (size_t u = 0; u < all; u++) {
      const PetscInt q = (PetscInt)(u / step[d] % (size_t)m[d]);

      p->cell[u] = 0;
      for (PetscInt e = -half; e <= half; e++) p->cell[u] += w[e + half] / PetscSqrtReal(sum) * from[u - (size_t)q * step[d] + (size_t)(((q + e) % m[d] + m[d]) % m[d]) * step[d]];
    }
  }
  for (size_t u = 0; u < all; u++) p->cell[u] = PetscExpReal(2 * p->cell[u]);
  PetscCall(PetscFree(from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rock between the pores: many random spheres; pores that no end in z is connected with are rock. */
static PetscErrorCode FillSpheres(Problem *p, PetscReal radius)
{
  const PetscInt *n = p->n, count = (PetscInt)(0.9 / (4. / 3 * PETSC_PI * radius * radius * radius));
  const size_t    all = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
  size_t         *stack, top = 0;
  char           *seen;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(all, &p->land));
  PetscCall(PetscCalloc1(all, &seen));
  PetscCall(PetscMalloc1(all, &stack));
  for (PetscInt s = 0; s < count; s++) {
    PetscReal c[3];
    PetscInt  lo[3], hi[3];

    for (int d = 0; d < 3; d++) {
      c[d]  = Hash(s, d + 1, 0, 77);
      lo[d] = PetscMax(0, (PetscInt)((c[d] - radius) / p->h) - 1);
      hi[d] = PetscMin(n[d], (PetscInt)((c[d] + radius) / p->h) + 1);
    }
    for (PetscInt k = lo[2]; k < hi[2]; k++)
      for (PetscInt j = lo[1]; j < hi[1]; j++)
        for (PetscInt i = lo[0]; i < hi[0]; i++)
          if (PetscSqr((i + 1) * p->h - c[0]) + PetscSqr((j + 1) * p->h - c[1]) + PetscSqr((k + 1) * p->h - c[2]) < radius * radius) p->land[NodeAt(p, i, j, k)] = 1;
  }
  for (PetscInt e = 0; e < 2; e++)
    for (PetscInt u = 0; u < n[0] * n[1]; u++) {
      const size_t q = (size_t)u + (e ? all - (size_t)n[0] * (size_t)n[1] : 0);
      if (!p->land[q] && !seen[q]) seen[q] = 1, stack[top++] = q;
    }
  while (top) {
    const size_t   q = stack[--top], step[3] = {1, (size_t)n[0], (size_t)n[0] * (size_t)n[1]};
    const PetscInt at[3] = {(PetscInt)(q % step[1]), (PetscInt)(q / step[1] % (size_t)n[1]), (PetscInt)(q / step[2])};

    for (int d = 0; d < 3; d++) {
      if (at[d] > 0 && !p->land[q - step[d]] && !seen[q - step[d]]) seen[q - step[d]] = 1, stack[top++] = q - step[d];
      if (at[d] + 1 < n[d] && !p->land[q + step[d]] && !seen[q + step[d]]) seen[q + step[d]] = 1, stack[top++] = q + step[d];
    }
  }
  for (size_t q = 0; q < all; q++) p->land[q] = !seen[q];
  PetscCall(PetscFree(seen));
  PetscCall(PetscFree(stack));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool LandOf(const Problem *p, PetscInt i, PetscInt j, PetscInt k)
{
  const PetscReal x = (i + 1.) / (p->n[0] + 1), y = (j + 1.) / (p->n[1] + 1);
  PetscReal       f = 0;

  if (p->kind == OCEAN) return (k + 0.5) / p->n[2] > 0.55 + 0.35 * PetscSinReal(7 * x + 3 * y) + 0.3 * PetscSinReal(13 * y - 9 * x + 1) + 0.15 * PetscSinReal(40 * x) * PetscSinReal(35 * y);
  if (p->kind == CAVES) { /* closed cavities of about six nodes */
    const PetscReal u[3] = {(i % 6) / 6., (j % 6) / 6., (k % 6) / 6.};

    for (int m = 0; m < 8; m++) f += (m & 1 ? u[0] : 1 - u[0]) * (m & 2 ? u[1] : 1 - u[1]) * (m & 4 ? u[2] : 1 - u[2]) * Hash(i / 6 + (m & 1), j / 6 + (m >> 1 & 1), k / 6 + (m >> 2), 9);
    return f > 0.45;
  }
  for (PetscInt m = 0; m < 60; m++) f += PetscCosReal(32 * PETSC_PI * p->h * ((Hash(m, 1, 7, 0) - 0.5) * i + (Hash(m, 2, 7, 0) - 0.5) * j + (Hash(m, 5, 7, 0) - 0.5) * k) + 2 * PETSC_PI * Hash(m, 3, 7, 0));
  return f > 2.1;
}

static PetscErrorCode FillFields(Problem *p)
{
  const PetscReal flat[3] = {10, 10, 2}, round[3] = {5, 5, 5};

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) {
    const PetscInt  n = p->n[d], m = n / 4;
    const PetscBool stretched = p->kind == STRETCHED || (p->kind == STRETCHED_Z && d == 2), layer = p->kind == LAYERS_ALL || (p->kind == LAYERS_Z && d == 2) || (p->kind == LAYERS_XZ && d != 1);

    PetscCall(PetscMalloc1(n + 1, &p->spacing[d]));
    for (PetscInt i = 0; i <= n; i++) {
      const PetscInt side = PetscMin(i, n - i);

      p->spacing[d][i] = stretched ? PetscPowReal(1.05, PetscMin(side, 142)) : layer ? PetscPowReal(100, (PetscReal)PetscMin(side, m) / PetscMax(m, 1) - 1) : 1;
    }
  }
  switch (p->kind) {
  case LOGNORMAL: PetscCall(FillLognormal(p, round)); break;
  case SPE10: PetscCall(FillLognormal(p, flat)); break;
  case SPHERES: PetscCall(FillSpheres(p, 0.09)); break;
  case SPHERES_FINE: PetscCall(FillSpheres(p, 0.05)); break;
  case MASK:
  case MASK_NEUMANN:
  case CAVES:
  case OCEAN:
    PetscCall(PetscMalloc1((size_t)p->n[0] * (size_t)p->n[1] * (size_t)p->n[2], &p->land));
    for (PetscInt k = 0; k < p->n[2]; k++)
      for (PetscInt j = 0; j < p->n[1]; j++)
        for (PetscInt i = 0; i < p->n[0]; i++) p->land[NodeAt(p, i, j, k)] = LandOf(p, i, j, k);
    break;
  default: break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Channel(const PetscReal at[3])
{
  for (int m = 0; m < 16; m++)
    for (int d = 0; d < 3; d++) {
      const PetscReal s = at[d], u = at[(d + 1) % 3] - (m % 4 + 0.5) / 4 - 0.06 * PetscSinReal(2 * PETSC_PI * (1 + m % 3) * s + m), v = at[(d + 2) % 3] - (m / 4 + 0.5) / 4 - 0.06 * PetscCosReal(2 * PETSC_PI * (1 + m % 2) * s + 2 * m);

      if (u * u + v * v < 4e-4) return 1e4;
    }
  return 1;
}

static PetscReal Cell(const Problem *p, PetscInt i, PetscInt j, PetscInt k)
{
  return p->cell ? p->cell[CellAt(p, i, j, k)] : PetscPowReal(10, 4 * Hash(i, j, k, 5) - 2);
}

/* The coupling of node q, counted from -1, with the next one along d. */
static PetscReal Edge(const Problem *p, int d, const PetscInt q[3])
{
  PetscReal at[3], v = p->along[d];

  for (int e = 0; e < 3; e++) at[e] = ((p->kind == PERIODIC && q[e] < 0 ? q[e] + p->n[e] : q[e]) + 1 + 0.5 * (d == e)) * p->h;
  if (p->tide > 0) v *= 1 + p->tide * PetscCosReal(6 * at[0]) * PetscCosReal(5 * at[1] + at[2]);
  switch (p->kind) {
  case STRETCHED_Z:
  case STRETCHED:
  case LAYERS_Z:
  case LAYERS_XZ:
  case LAYERS_ALL:
    v /= p->spacing[d][q[d] + 1];
    for (int e = 0; e < 3; e++)
      if (e != d) v *= 0.5 * (p->spacing[e][q[e]] + p->spacing[e][q[e] + 1]);
    return v;
  case CHECKERBOARD: return ((int)(8 * at[0]) + (int)(8 * at[1]) + (int)(8 * at[2])) & 1 ? 1e4 * v : v;
  case RANDOM_EDGE: return v * PetscPowReal(10, 4 * (Hash(q[0], q[1], q[2], 21 + d) - 0.5));
  case LAYERS: return (int)(37.3 * at[2]) & 1 ? 1e4 * v : v;
  case CHANNELS: return v * Channel(at);
  case SWAPPING: return v * (d == ((int)(4 * at[0]) + (int)(4 * at[1]) + (int)(4 * at[2])) % 3 ? 1 : 1e-2);
  case PLANES: return v * (d == (at[0] < 0.5 ? 1 : 0) ? p->weak : 1);
  case RANDOM_CELL:
  case LOGNORMAL:
  case SPE10: {
    const PetscReal a = Cell(p, q[0], q[1], q[2]), b = Cell(p, q[0] + (d == 0), q[1] + (d == 1), q[2] + (d == 2));
    return v * 2 * a * b / (a + b);
  }
  default: return v;
  }
}

/* Trilinear elements for -div(K grad u), K = R diag(along) R', R a rotation about (1,1,1). */
static void FillStencil(Problem *p, PetscReal angle)
{
  const PetscReal c = PetscCosReal(angle), s = PetscSinReal(angle) / PetscSqrtReal(3.), t = (1 - c) / 3;
  const PetscReal R[3][3] = {{c + t, t - s, t + s}, {t + s, c + t, t - s}, {t - s, t + s, c + t}};

  for (int e = 0; e < 27; e++) p->stencil[e] = 0;
  for (int a = 0; a < 8; a++)
    for (int b = 0; b < 8; b++) {
      PetscReal sum = 0;

      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
          PetscReal v = 0;

          for (int k = 0; k < 3; k++) v += R[i][k] * p->along[k] * R[j][k];
          for (int d = 0; d < 3; d++) {
            const PetscReal sp = a >> d & 1 ? 1 : -1, sq = b >> d & 1 ? 1 : -1;
            v *= d == i && d == j ? sp * sq : d == i ? sp / 2 : d == j ? sq / 2 : sp == sq ? 1. / 3 : 1. / 6;
          }
          sum += v;
        }
      p->stencil[9 * (1 + (b >> 2) - (a >> 2)) + 3 * (1 + (b >> 1 & 1) - (a >> 1 & 1)) + 1 + (b & 1) - (a & 1)] += sum;
    }
}

/* The row of node q: values and offsets of columns, ascending; those outside the grid are left out. */
static PetscInt Row(const Problem *p, const PetscInt q[3], PetscScalar values[27], int to[27])
{
  static const int star[7] = {4, 10, 12, 13, 14, 16, 22};
  const PetscBool  full = p->kind == ROTATED ? PETSC_TRUE : PETSC_FALSE, land = IsLand(p, q[0], q[1], q[2]);
  const PetscInt  *n = p->n;
  PetscReal        sum = p->alpha;
  PetscInt         count = 0, centre = 0;

  for (int m = 0; m < (full ? 27 : 7); m++) {
    const int      e = full ? m : star[m];
    const PetscInt o[3] = {q[0] + e % 3 - 1, q[1] + e / 3 % 3 - 1, q[2] + e / 9 - 1};
    int            d = 0;

    while (d < 2 && o[d] == q[d]) d++;
    const PetscBool inside = o[0] >= 0 && o[1] >= 0 && o[2] >= 0 && o[0] < n[0] && o[1] < n[1] && o[2] < n[2] ? PETSC_TRUE : PETSC_FALSE;
    if (e == 13) centre = count;
    if (!inside && p->kind != PERIODIC && (full || land || p->neumann[d])) continue;
    if (full) values[count] = (1 + p->tide) * p->stencil[e];
    else if (e != 13) {
      const PetscReal w = land ? 0 : Edge(p, d, o[d] < q[d] ? o : q);

      values[count] = 0;
      if (IsLand(p, o[0], o[1], o[2])) sum += p->coast_neumann ? 0 : w;
      else sum += w, values[count] = -w;
      if (!inside && p->kind != PERIODIC) continue;
    }
    to[count++] = e;
  }
  if (!full) values[centre] = land || sum == 0 ? 1 : sum;
  return count;
}

/* The matrix without its values. */
static PetscErrorCode PlainMatrix(Problem *p, Mat *A)
{
  const PetscInt *n = p->n, all = n[0] * n[1] * n[2];
  char            type[32];
  PetscBool       set;
  PetscMPIInt     ranks;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCheck(ranks == 1, PETSC_COMM_WORLD, PETSC_ERR_SUP, "-plain is for one process: here are %d", (int)ranks);
  PetscCheck((p->kind == ROTATED ? 27. : 7.) * all < (double)PETSC_MAX_INT, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "The matrix has more entries than PetscInt counts: a PETSc --with-64-bit-indices is needed");
  PetscCheck(p->kind != PERIODIC, PETSC_COMM_SELF, PETSC_ERR_SUP, "-plain has no periodic directions");
  PetscCall(PetscMalloc1(all + 1, &p->rows));
  p->rows[0] = 0;
  for (PetscInt u = 0; u < all; u++) {
    const PetscInt q[3] = {u % n[0], u / n[0] % n[1], u / n[0] / n[1]};
    PetscInt       full = 1, star = 1;

    for (int d = 0; d < 3; d++) {
      const PetscInt beside = (q[d] > 0) + (q[d] + 1 < n[d]);
      full *= 1 + beside, star += beside;
    }
    p->rows[u + 1] = p->rows[u] + (p->kind == ROTATED ? full : star);
  }
  PetscCall(PetscMalloc1(p->rows[all], &p->columns));
  PetscScalar *values;
  PetscCall(PetscMalloc1(p->rows[all], &values));
#pragma omp parallel for schedule(static)
  for (PetscInt u = 0; u < all; u++) {
    const PetscInt q[3] = {u % n[0], u / n[0] % n[1], u / n[0] / n[1]};
    PetscScalar    row[27];
    int            to[27];
    const PetscInt count = Row(p, q, row, to);

    for (PetscInt e = 0; e < count; e++) {
      values[p->rows[u] + e]     = 0;
      p->columns[p->rows[u] + e] = u + to[e] % 3 - 1 + n[0] * (to[e] / 3 % 3 - 1 + n[1] * (to[e] / 9 - 1));
    }
  }
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, all, all, p->rows, p->columns, values, A));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dm_mat_type", type, sizeof(type), &set));
  if (set) PetscCall(MatConvert(*A, type, MAT_INPLACE_MATRIX, A));
  PetscCall(MatSetDM(*A, p->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of time step `step`; step 0 is the problem as defined, later steps differ by a few per cent. */
static PetscErrorCode FillMatrix(Problem *p, PetscInt step, Mat A)
{
  PetscInt glo[3], gm[3];

  PetscFunctionBeginUser;
  p->tide = step && !p->steady ? (step % 2 ? 0.01 : 0.02) : 0;
  if (p->plain) {
    PetscScalar *array;

    PetscCall(MatSeqAIJGetArray(A, &array));
#pragma omp parallel for schedule(static)
    for (PetscInt u = 0; u < p->n[0] * p->n[1] * p->n[2]; u++) {
      const PetscInt q[3] = {u % p->n[0], u / p->n[0] % p->n[1], u / p->n[0] / p->n[1]};
      int            to[27];
      PetscScalar    row[27];
      const PetscInt count = Row(p, q, row, to);

      for (PetscInt e = 0; e < count; e++) array[p->rows[u] + e] = row[e];
    }
    PetscCall(MatSeqAIJRestoreArray(A, &array));
  } else {
    PetscCall(DMDAGetGhostCorners(p->da, glo, glo + 1, glo + 2, gm, gm + 1, gm + 2));
    for (PetscInt k = p->lo[2]; k < p->lo[2] + p->m[2]; k++)
      for (PetscInt j = p->lo[1]; j < p->lo[1] + p->m[1]; j++)
        for (PetscInt i = p->lo[0]; i < p->lo[0] + p->m[0]; i++) {
          const PetscInt q[3] = {i, j, k}, row = i - glo[0] + gm[0] * (j - glo[1] + gm[1] * (k - glo[2]));
          PetscScalar    values[27];
          PetscInt       columns[27];
          int            to[27];
          const PetscInt count = Row(p, q, values, to);

          for (PetscInt e = 0; e < count; e++) columns[e] = row + to[e] % 3 - 1 + gm[0] * (to[e] / 3 % 3 - 1 + gm[1] * (to[e] / 9 - 1));
          PetscCall(MatSetValuesLocal(A, 1, &row, count, columns, values, INSERT_VALUES));
        }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillRightHandSide(const Problem *p, Vec b)
{
  PetscScalar *f;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayWrite(b, &f));
#pragma omp parallel for schedule(static)
  for (PetscInt k = 0; k < p->m[2]; k++)
    for (PetscInt j = 0; j < p->m[1]; j++)
      for (PetscInt i = 0; i < p->m[0]; i++) {
        const PetscInt  q[3] = {i + p->lo[0], j + p->lo[1], k + p->lo[2]};
        const PetscReal x = (q[0] + 1) * p->h, y = (q[1] + 1) * p->h, z = (q[2] + 1) * p->h;

        f[((size_t)k * (size_t)p->m[1] + (size_t)j) * (size_t)p->m[0] + (size_t)i] = IsLand(p, q[0], q[1], q[2]) ? 0 : p->smooth ? PetscExpReal(x * y * z) * (1 + x) : Hash(q[0], q[1], q[2], 99) - 0.5;
      }
  PetscCall(VecRestoreArrayWrite(b, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemCreate(Problem *p, PetscInt n)
{
  PetscInt  kind = POISSON, three = 3;
  PetscReal angle = 30;
  PetscInt  closed[3];
  PetscBool set;
  char      word[32] = "";

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-problem", ProblemNames, ROTATED + 1, &kind, NULL));
  p->kind = (ProblemKind)kind;
  p->n[0] = 65;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &p->n[0], NULL));
  if (n) p->n[0] = n;
  p->n[1] = p->n[2] = p->n[0];
  if (!n) {
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-nx", &p->n[0], NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-ny", &p->n[1], NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-nz", &p->n[2], NULL));
  }
  for (int d = 0; d < 3; d++) {
    p->along[d]   = 1;
    p->neumann[d] = p->kind == NEUMANN || p->kind == MASK_NEUMANN || p->kind == CAVES || p->kind == OCEAN || ((p->kind == SPHERES || p->kind == SPHERES_FINE) && d < 2) ? PETSC_TRUE : PETSC_FALSE;
  }
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-closed", closed, &three, &set));
  for (int d = 0; set && d < three; d++) p->neumann[d] = closed[d] ? PETSC_TRUE : PETSC_FALSE;
  three            = 3;
  p->coast_neumann = p->kind == MASK_NEUMANN || p->kind == CAVES || p->kind == OCEAN || p->kind == SPHERES || p->kind == SPHERES_FINE ? PETSC_TRUE : PETSC_FALSE;
  p->alpha         = p->kind == MASK_NEUMANN || p->kind == CAVES ? 1e-5 : p->kind == OCEAN ? 1e-3 : 0;
  p->singular      = p->alpha == 0 && ((p->neumann[0] && p->neumann[1] && p->neumann[2]) || p->kind == PERIODIC) ? PETSC_TRUE : PETSC_FALSE;
  if (p->kind == SPE10) p->along[0] = 1. / 400, p->along[1] = 1. / 100, p->along[2] = 0.1 / 4; /* cells 20 x 10 x 2, kv = 0.1 kh */
  if (p->kind == OCEAN) p->along[2] = 1e4;
  if (p->kind == ROTATED) p->along[1] = 0.1, p->along[2] = 1;
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-along", p->along, &three, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-angle", &angle, NULL));
  p->weak = 1e-3;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-weak", &p->weak, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-rhs", word, sizeof(word), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-plain", &p->plain, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-steady", &p->steady, NULL));
  p->smooth = word[0] == 's' ? PETSC_TRUE : PETSC_FALSE;
  p->h      = 1. / (PetscMax(p->n[0], PetscMax(p->n[1], p->n[2])) + 1);
  FillStencil(p, angle * PETSC_PI / 180);
  {
    const DMBoundaryType sides = p->kind == PERIODIC ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;

    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, sides, sides, sides, p->kind == ROTATED ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, p->n[0], p->n[1], p->n[2], PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &p->da));
    PetscCall(DMSetFromOptions(p->da));
    PetscCall(DMSetUp(p->da));
    PetscCall(DMDAGetCorners(p->da, p->lo, p->lo + 1, p->lo + 2, p->m, p->m + 1, p->m + 2));
  }
  PetscCall(FillFields(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(p->spacing[d]));
  PetscCall(PetscFree(p->cell));
  PetscCall(PetscFree(p->land));
  PetscCall(PetscFree(p->rows));
  PetscCall(PetscFree(p->columns));
  PetscCall(DMDestroy(&p->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of the solver with this prefix, whose type may be of its own. */
static PetscErrorCode MatrixCreate(Problem *p, const char *prefix, Mat *A, Vec *b)
{
  char      type[32];
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, prefix, "-dm_mat_type", type, sizeof(type), &set));
  if (p->plain) PetscCall(PlainMatrix(p, A));
  else {
    if (set) PetscCall(DMSetMatType(p->da, type));
    else if (prefix) PetscCall(DMSetMatType(p->da, MATAIJ));
    PetscCall(DMCreateMatrix(p->da, A));
  }
  PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(*A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscCall(FillMatrix(p, 0, *A));
  if (p->plain) PetscCall(MatCreateVecs(*A, b, NULL));
  else PetscCall(DMCreateGlobalVector(p->da, b));
  PetscCall(FillRightHandSide(p, *b));
  if (p->singular) {
    MatNullSpace constants;

    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
    PetscCall(MatSetNullSpace(*A, constants));
    PetscCall(MatNullSpaceRemove(constants, *b));
    PetscCall(MatNullSpaceDestroy(&constants));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolverCreate(Mat A, const char *prefix, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(*ksp, 1e-6, 1e-300, 1e10, 1000));
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
/* Seconds of a setup (b = NULL) or a solve, of the slowest process. */
static PetscErrorCode Timed(KSP ksp, Vec b, Vec x, PetscReal *seconds)
{
  PetscLogDouble start, end;
  double         mine, slowest;

  PetscFunctionBeginUser;
  if (b) PetscCall(VecSet(x, 0));
  PetscCall(Synchronize());
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&start));
  if (b) PetscCall(KSPSolve(ksp, b, x));
  else PetscCall(KSPSetUp(ksp));
  PetscCall(Synchronize());
  PetscCall(PetscTime(&end));
  mine = end - start;
  PetscCallMPI(MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  *seconds = slowest;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The relative residual, and whether the solve counts. */
static PetscErrorCode Check(KSP ksp, Mat A, Vec b, Vec x, PetscReal *residual, PetscBool *ok)
{
  Vec                r, y; /* of the matrix's kind */
  PetscReal          norm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecCopy(x, y));
  PetscCall(MatMult(A, y, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  *residual /= norm;
  if (reason <= 0 || !(*residual <= 1.05e-6)) *ok = PETSC_FALSE;
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GB/s, read and written, of copying vectors of n numbers of the type of `like`; the best of some. */
static PetscErrorCode CopyRate(Vec like, PetscInt n, double *rate)
{
  Vec     x, y;
  VecType type;

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
    PetscLogDouble start, end;

    PetscCall(Synchronize());
    PetscCall(PetscTime(&start));
    PetscCall(VecCopy(x, y));
    PetscCall(Synchronize());
    PetscCall(PetscTime(&end));
    *rate = PetscMax(*rate, 16e-9 * n / (end - start));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintList(const char *name, const PetscReal *values, PetscInt count)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %s=", name));
  for (PetscInt k = 0; k < count; k++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s%.6g", k ? "," : "", (double)values[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solver on the problem; print: its line. */
static PetscErrorCode Measure(Problem *p, const char *prefix, PetscInt repeat, PetscInt copy, PetscBool print)
{
  Mat         A;
  Vec         b, x, y;
  KSP         ksp;
  PC          pc;
  KSPType     ksp_type;
  PCType      pc_type;
  PetscMPIInt ranks;
  PetscInt    its;
  PetscBool   ok = PETSC_TRUE;
  PetscReal   setup, first, residual, worst, *again, *solve;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(PetscMalloc2(repeat, &again, 2 * repeat, &solve));
  PetscCall(MatrixCreate(p, prefix, &A, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(SolverCreate(A, prefix, &ksp));
  PetscCall(MatMult(A, b, y)); /* values are where products run */
  PetscCall(Timed(ksp, NULL, NULL, &setup));
  PetscCall(Timed(ksp, b, x, &first));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(Check(ksp, A, b, x, &residual, &ok));
  worst = residual;
  for (PetscInt k = 0; k < repeat; k++) {
    PetscCall(FillMatrix(p, k + 1, A));
    PetscCall(MatMult(A, b, y));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(Timed(ksp, NULL, NULL, &again[k]));
    PetscCall(Timed(ksp, b, x, &solve[2 * k]));
    PetscCall(Check(ksp, A, b, x, &residual, &ok));
    worst = PetscMax(worst, residual);
    PetscCall(Timed(ksp, b, x, &solve[2 * k + 1]));
  }
  if (print) {
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(KSPGetType(ksp, &ksp_type));
    PetscCall(PCGetType(pc, &pc_type));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "BENCH problem=%s n=%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT " ranks=%d ksp=%s pc=%s its=%" PetscInt_FMT " residual=%.4g ok=%d setup=%.6g first_solve=%.6g", ProblemNames[p->kind], p->n[0], p->n[1], p->n[2],
                          (int)ranks, ksp_type, pc_type, its, (double)worst, (int)ok, (double)setup, (double)first));
    PetscCall(PrintList("resetup", again, repeat));
    PetscCall(PrintList("solve", solve, 2 * repeat));
    if (copy > 0) {
      double rate = 0;

      PetscCall(CopyRate(b, copy, &rate));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, " copy_gbs=%.6g", rate));
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  }
  PetscCall(PetscFree2(again, solve));
  PetscCall(KSPDestroy(&ksp));
  if (p->plain) {
    PetscScalar *values;

    PetscCall(MatSeqAIJGetArray(A, &values));
    PetscCall(MatSeqAIJRestoreArray(A, &values));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFree(values));
    PetscCall(PetscFree(p->rows));
    PetscCall(PetscFree(p->columns));
  } else PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem  p;
  PetscInt repeat = 3, solvers = 0, copy = 0, warm = 33;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-solvers", &solvers, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-copy", &copy, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-warmup_n", &warm, NULL));
  PetscCheck(repeat >= 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-repeat %" PetscInt_FMT " must not be negative", repeat);
  for (int real = warm > 0 ? 0 : 1; real < 2; real++) {
    PetscCall(ProblemCreate(&p, real ? 0 : warm));
    for (PetscInt k = 0; k < PetscMax(solvers, 1); k++) {
      char prefix[16];

      (void)snprintf(prefix, sizeof(prefix), "s%d_", (int)k);
      PetscCall(Measure(&p, solvers ? prefix : NULL, real ? repeat : 0, k ? 0 : copy, real ? PETSC_TRUE : PETSC_FALSE));
    }
    PetscCall(ProblemDestroy(&p));
  }
  PetscCall(PetscFinalize());
  return 0;
}
