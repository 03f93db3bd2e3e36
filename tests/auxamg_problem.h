/* Meshes of triangles and tetrahedra that need no mesh generator, and P1 matrices on them. */
#pragma once
#include <petscksp.h>

#if PETSC_VERSION_LT(3, 19, 0) && !defined(PETSC_SUCCESS)
  #define PETSC_SUCCESS 0
#endif

typedef enum {
  MESH_SQUARE, /* a square, its nodes moved by up to a quarter of the mesh size */
  MESH_DISK,   /* rings of 6 i nodes */
  MESH_GRADED, /* rings of as many nodes each, their radii a geometric sequence: sizes fall towards the centre */
  MESH_EDGE,   /* a square whose rows of triangles become narrower and smaller, halved at hanging nodes' rows */
  MESH_CUBE,   /* six tetrahedra in each of the cells of a cube, nodes moved */
  MESH_BALLS,  /* two disks that do not touch, one of them a hundredth as large */
  MESH_LINE,   /* intervals */
  MESH_LAYER,  /* a rectangle of aspect 1e4 of isotropic triangles */
  MESH_WALL,   /* rings about a circle, whose triangles are 1:100 there and 1:1 far from it */
  MESH_FLAT,   /* the square, one of twenty nodes moved nearly onto an edge of its triangles, which become flat */
  MESH_COMB,   /* the square with slits of width zero, every six triangles one, from the top nearly to the bottom, where
                  alone there are Dirichlet values: nodes on both sides of a slit lie in the same places */
  MESH_SPOTS,  /* the cube, its nodes gathered about eight points: sizes fall with the cube of the distance from them */
  MESH_FINS    /* of the cube a foot with four fins, two cells thick; Dirichlet values below the foot */
} MeshType;
static const char *const MeshTypes[] = {"square", "disk", "graded", "edge", "cube", "balls", "line", "layer", "wall", "flat", "comb", "spots", "fins", "MeshType", "MESH_", NULL};

typedef struct {
  PetscInt   dim, n, elements;
  PetscReal *x;      /* dim for each node */
  PetscInt  *e;      /* dim + 1 nodes for each element */
  PetscBool *border; /* nodes on the boundary */
} Mesh;

static inline PetscReal Random(PetscInt a, PetscInt b) /* the same everywhere, in [-1, 1] */
{
  PetscReal s = PetscSinReal(12.9898 * (PetscReal)(a % 10007) + 78.233 * (PetscReal)(b % 10009)) * 43758.5453;
  return 2 * (s - PetscFloorReal(s)) - 1;
}

static inline void AddElement(Mesh *m, PetscInt a, PetscInt b, PetscInt c, PetscInt d)
{
  PetscInt *e = m->e + (m->dim + 1) * m->elements++;
  e[0] = a;
  e[1] = b;
  if (m->dim > 1) e[2] = c;
  if (m->dim > 2) e[3] = d;
}

static inline PetscErrorCode MeshCreate(PetscInt dim, PetscInt n, PetscInt elements, Mesh *m)
{
  PetscFunctionBeginUser;
  m->dim      = dim;
  m->n        = n;
  m->elements = 0;
  PetscCall(PetscCalloc3(n * dim, &m->x, elements * (dim + 1), &m->e, n, &m->border));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rings of nodes about the origin, count(r) of radius(r); ring 0 is the centre. */
static inline void AddRings(Mesh *m, PetscInt first, PetscInt rings, PetscInt fixed, PetscReal r0, PetscReal growth, PetscReal size, PetscReal cx)
{
  PetscInt  at = first + 1, before = first, n_before = 1;
  PetscReal radius = 0;
  m->x[2 * first] = cx;
  for (PetscInt r = 1; r <= rings; ++r) {
    const PetscInt n = fixed ? fixed : 6 * r;
    radius = fixed ? r0 * PetscPowReal(growth, (PetscReal)(r - 1)) : size * (PetscReal)r / (PetscReal)rings;
    for (PetscInt k = 0; k < n; ++k) {
      const PetscReal t = 2 * PETSC_PI * ((PetscReal)k + (fixed ? 0.5 * (r % 2) : 0)) / (PetscReal)n;
      m->x[2 * (at + k)]     = cx + radius * PetscCosReal(t);
      m->x[2 * (at + k) + 1] = radius * PetscSinReal(t);
      m->border[at + k]      = r == rings ? PETSC_TRUE : PETSC_FALSE;
    }
    if (n_before == 1)
      for (PetscInt k = 0; k < n; ++k) AddElement(m, before, at + k, at + (k + 1) % n, 0);
    else { /* merge the two rings by angle */
      PetscInt i = 0, j = 0;
      while (i < n_before || j < n) {
        const PetscReal ti = ((PetscReal)i + 1 + (fixed ? 0.5 * ((r - 1) % 2) : 0)) / (PetscReal)n_before, tj = ((PetscReal)j + 1 + (fixed ? 0.5 * (r % 2) : 0)) / (PetscReal)n;
        if (j < n && (i == n_before || tj <= ti)) {
          AddElement(m, before + i % n_before, at + j % n, at + (j + 1) % n, 0);
          ++j;
        } else {
          AddElement(m, before + i % n_before, at + j % n, before + (i + 1) % n_before, 0);
          ++i;
        }
      }
    }
    before   = at;
    n_before = n;
    at += n;
  }
}

/* A point of the unit cube towards the middle of the eighth that it is in. */
static inline void Gather(PetscReal x[3])
{
  PetscReal middle[3], far = 0;
  for (PetscInt q = 0; q < 3; ++q) {
    middle[q] = x[q] < 0.5 ? 0.25 : 0.75;
    far       = PetscMax(far, 4 * PetscAbsReal(x[q] - middle[q]));
  }
  for (PetscInt q = 0; q < 3; ++q) x[q] = middle[q] + far * far * far * (x[q] - middle[q]);
}

static inline PetscErrorCode MeshMake(MeshType type, PetscInt n, Mesh *m)
{
  PetscFunctionBeginUser;
  if (type == MESH_SQUARE || type == MESH_LAYER || type == MESH_EDGE || type == MESH_FLAT) {
    const PetscInt nx = type == MESH_LAYER ? 40 * n : n, ny = type == MESH_LAYER ? 4 : n;
    PetscCall(MeshCreate(2, (nx + 1) * (ny + 1), 2 * nx * ny, m));
    for (PetscInt j = 0; j <= ny; ++j)
      for (PetscInt i = 0; i <= nx; ++i) {
        const PetscInt  k     = i + (nx + 1) * j;
        const PetscBool inner = i && j && i < nx && j < ny ? PETSC_TRUE : PETSC_FALSE;
        m->x[2 * k]     = ((PetscReal)i + (inner ? 0.25 * Random(i, j) : 0)) / (PetscReal)n;
        m->x[2 * k + 1] = ((PetscReal)j + (inner ? 0.25 * Random(j, i + 5000) : 0)) / (PetscReal)n;
        if (type == MESH_FLAT && inner && i % 4 == 2 && j % 5 == 2) m->x[2 * k] = m->x[2 * k - 2] + 1e-3 / (PetscReal)n;
        if (type == MESH_EDGE) m->x[2 * k + 1] = PetscPowReal(m->x[2 * k + 1], 1.5);
        m->border[k] = inner ? PETSC_FALSE : PETSC_TRUE;
        if (i == nx || j == ny) continue;
        if (Random(i + 77, j) > 0) {
          AddElement(m, k, k + 1, k + nx + 2, 0);
          AddElement(m, k, k + nx + 2, k + nx + 1, 0);
        } else {
          AddElement(m, k, k + 1, k + nx + 1, 0);
          AddElement(m, k + 1, k + nx + 2, k + nx + 1, 0);
        }
      }
  } else if (type == MESH_COMB) {
    const PetscInt slit = 6, tip = n / 10 + 1, base = (n + 1) * (n + 1), tall = n + 1 - tip, slits = (n - 1) / slit;
    PetscCall(MeshCreate(2, base + slits * tall, 2 * n * n, m));
    for (PetscInt j = 0; j <= n; ++j)
      for (PetscInt i = 0; i <= n; ++i) {
        const PetscInt  k     = i + (n + 1) * j;
        const PetscBool split = i % slit == 0 && i && i < n && j >= tip ? PETSC_TRUE : PETSC_FALSE;
        const PetscInt  right = split ? base + (i / slit - 1) * tall + j - tip : k; /* the node of elements to the right */
        const PetscInt  above = i % slit == 0 && i && i < n && j + 1 >= tip ? base + (i / slit - 1) * tall + j + 1 - tip : k + n + 1;
        const PetscReal move  = i && j && i < n && j < n && i % slit ? 0.25 : 0;
        m->x[2 * k] = m->x[2 * right] = ((PetscReal)i + move * Random(i, j)) / (PetscReal)n;
        m->x[2 * k + 1] = m->x[2 * right + 1] = ((PetscReal)j + move * Random(j, i + 5000)) / (PetscReal)n;
        m->border[k] = j == 0 ? PETSC_TRUE : PETSC_FALSE;
        if (split) m->border[right] = PETSC_FALSE;
        if (i == n || j == n) continue;
        AddElement(m, right, k + 1, k + n + 2, 0);
        AddElement(m, right, k + n + 2, above, 0);
      }
  } else if (type == MESH_WALL) { /* n nodes a ring */
    PetscReal radius = 1, width = 2 * PETSC_PI / (PetscReal)n, height = 0.01 * width;
    PetscInt  rings = 0;
    for (PetscReal r = 1, h = height; r < 4; ++rings, h = PetscMin(1.2 * h, r * width)) r += h;
    PetscCall(MeshCreate(2, n * (rings + 1), 2 * n * rings, m));
    for (PetscInt k = 0; k <= rings; ++k) {
      for (PetscInt i = 0; i < n; ++i) {
        const PetscInt p = n * k + i, next = n * k + (i + 1) % n;
        m->x[2 * p]     = radius * PetscCosReal(width * (PetscReal)i);
        m->x[2 * p + 1] = radius * PetscSinReal(width * (PetscReal)i);
        m->border[p]    = k == 0 || k == rings ? PETSC_TRUE : PETSC_FALSE;
        if (k == rings) continue;
        AddElement(m, p, next, next + n, 0);
        AddElement(m, p, next + n, p + n, 0);
      }
      radius += height;
      height = PetscMin(1.2 * height, radius * width);
    }
  } else if (type == MESH_DISK) {
    PetscCall(MeshCreate(2, 1 + 3 * n * (n + 1), 6 * n * n, m));
    AddRings(m, 0, n, 0, 0, 0, 1, 0);
  } else if (type == MESH_GRADED) { /* 24 nodes a ring: sizes are 0.26 of the radius */
    PetscCall(MeshCreate(2, 1 + 24 * n, 24 + 48 * (n - 1), m));
    AddRings(m, 0, n, 24, PetscPowReal(1.26, (PetscReal)(1 - n)), 1.26, 0, 0);
  } else if (type == MESH_BALLS) {
    const PetscInt one = 1 + 3 * n * (n + 1);
    PetscCall(MeshCreate(2, 2 * one, 12 * n * n, m));
    AddRings(m, 0, n, 0, 0, 0, 1, 0);
    AddRings(m, one, n, 0, 0, 0, 0.01, 2);
  } else if (type == MESH_LINE) {
    PetscCall(MeshCreate(1, n + 1, n, m));
    for (PetscInt i = 0; i <= n; ++i) {
      m->x[i]      = ((PetscReal)i + (i && i < n ? 0.25 * Random(i, 3) : 0)) / (PetscReal)n;
      m->border[i] = i == 0 || i == n ? PETSC_TRUE : PETSC_FALSE;
      if (i < n) AddElement(m, i, i + 1, 0, 0);
    }
  } else {
    const PetscInt  s = n + 1, foot = n / 5, pitch = PetscMax(n / 4, 1), thick = 2;
    static const int path[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const PetscInt  step[3] = {1, s, s * s};
    PetscInt       *number; /* of the nodes that there are */
    PetscCheck(type != MESH_FINS || (n % 4 == 0 && n >= 12), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-mesh fins needs -n 12, 16, 20, ...");
    PetscCall(PetscMalloc1(s * s * s, &number));
    PetscCall(MeshCreate(3, s * s * s, 6 * n * n * n, m));
    m->n = 0;
    for (PetscInt p = 0; p < s * s * s; ++p) {
      const PetscInt i = p % s, k = p / s / s;
      number[p] = type != MESH_FINS || k <= foot || (i < n && i % pitch <= thick) ? m->n++ : -1;
    }
    for (PetscInt k = 0; k < s; ++k)
      for (PetscInt j = 0; j < s; ++j)
        for (PetscInt i = 0; i < s; ++i) {
          const PetscInt  p     = i + s * (j + s * k), own = number[p];
          const PetscBool inner = i && j && k && i < n && j < n && k < n ? PETSC_TRUE : PETSC_FALSE;
          const PetscInt  c[3]  = {i, j, k};
          if (own < 0) continue;
          for (PetscInt q = 0; q < 3; ++q) m->x[3 * own + q] = ((PetscReal)c[q] + (inner ? 0.15 * Random(p, q + 1) : 0)) / (PetscReal)n;
          if (type == MESH_SPOTS) Gather(m->x + 3 * own);
          m->border[own] = type == MESH_FINS ? (PetscBool)(k == 0) : (PetscBool)!inner;
          if (i == n || j == n || k == n || (type == MESH_FINS && k >= foot && i % pitch >= thick)) continue;
          for (PetscInt t = 0; t < 6; ++t) {
            const PetscInt second = p + step[path[t][0]];
            AddElement(m, own, number[second], number[second + step[path[t][1]]], number[p + 1 + s + s * s]);
          }
        }
    PetscCall(PetscFree(number));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MeshDestroy(Mesh *m)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree3(m->x, m->e, m->border));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gradients of the barycentric coordinates, and the element's measure */
static inline PetscReal Gradients(const Mesh *m, PetscInt element, PetscReal g[4][3])
{
  const PetscInt *e = m->e + (m->dim + 1) * element;
  PetscReal       d[3][3] = {{0}}, det;
  for (PetscInt k = 0; k < m->dim; ++k)
    for (PetscInt q = 0; q < m->dim; ++q) d[k][q] = m->x[m->dim * e[k + 1] + q] - m->x[m->dim * e[0] + q];
  for (PetscInt k = 0; k < 4; ++k) g[k][0] = g[k][1] = g[k][2] = 0;
  if (m->dim == 1) {
    det     = d[0][0];
    g[1][0] = 1 / det;
  } else if (m->dim == 2) {
    det     = d[0][0] * d[1][1] - d[0][1] * d[1][0];
    g[1][0] = d[1][1] / det;
    g[1][1] = -d[1][0] / det;
    g[2][0] = -d[0][1] / det;
    g[2][1] = d[0][0] / det;
  } else {
    for (PetscInt k = 0; k < 3; ++k) {
      const PetscReal *a = d[(k + 1) % 3], *b = d[(k + 2) % 3];
      for (PetscInt q = 0; q < 3; ++q) g[k + 1][q] = a[(q + 1) % 3] * b[(q + 2) % 3] - a[(q + 2) % 3] * b[(q + 1) % 3];
    }
    det = d[0][0] * g[1][0] + d[0][1] * g[1][1] + d[0][2] * g[1][2];
    for (PetscInt k = 1; k < 4; ++k)
      for (PetscInt q = 0; q < 3; ++q) g[k][q] /= det;
  }
  for (PetscInt k = 1; k <= m->dim; ++k)
    for (PetscInt q = 0; q < m->dim; ++q) g[0][q] -= g[k][q];
  return PetscAbsReal(det) / (m->dim == 1 ? 1 : m->dim == 2 ? 2 : 6);
}

typedef struct {
  PetscInt  bs;         /* unknowns per node: copies of the Laplacian that are coupled, unless elastic */
  PetscBool elastic;    /* plane strain, or three dimensions */
  PetscBool neumann;    /* no Dirichlet rows */
  PetscBool eliminate;  /* Dirichlet rows are left coupled on one side */
  PetscBool shuffle;    /* nodes in random order */
  PetscReal anisotropy; /* of the coefficient along the second axis */
  PetscReal jump;       /* of the coefficient in squares that follow no grid; negative: -jump in thin barriers around 36 pockets, in space 27 */
  PetscReal shift;      /* times the mass of a node, on the diagonal */
  PetscReal wind;       /* the largest velocity of a whirl in the unit square, for the diffusion 1 */
  PetscReal poisson;    /* Poisson's ratio where elastic; 0: 0.3 */
  PetscInt  cells;      /* jump is that of barriers, one element thick, between so many parts along each axis; negative: along the first one, with open ends */
  PetscReal leak;       /* the share of the elements of barriers that are none */
  PetscReal disks;      /* jump is that of so many disks (balls) along each axis, which do not touch */
  PetscReal moved;      /* by which they are moved along the first axis, in spacings */
} ProblemOptions;

/* The matrix and the coordinates of own nodes (dim for each) */
static inline PetscErrorCode ProblemMake(MPI_Comm comm, const Mesh *m, const ProblemOptions *o, Mat *A, PetscInt *nodes, PetscReal **coordinates)
{
  const PetscInt  bs = o->bs, k1 = m->dim + 1;
  const PetscReal nu = o->poisson > 0 ? o->poisson : 0.3, mu = 0.5 / (1 + nu), lambda = 2 * nu / (1 - 2 * nu) * mu;
  PetscInt        first, last, *number;
  PetscReal       g[4][3];
  PetscMPIInt     size, rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscMalloc1(m->n, &number));
  for (PetscInt p = 0; p < m->n; ++p) number[p] = p;
  if (o->shuffle)
    for (PetscInt p = m->n - 1; p > 0; --p) {
      const PetscInt q = (PetscInt)((0.5 + 0.5 * Random(p, 17)) * (PetscReal)p), t = number[p];
      number[p] = number[q];
      number[q] = t;
    }
  first = rank * (m->n / size) + PetscMin(rank, m->n % size);
  last  = first + m->n / size + (rank < m->n % size ? 1 : 0);
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, (last - first) * bs, (last - first) * bs, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 40 * bs, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 40 * bs, NULL, 40 * bs, NULL));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt t = 0; t < m->elements; ++t) {
    const PetscInt *e = m->e + k1 * t;
    PetscReal       volume = Gradients(m, t, g), c = 1, mean[3] = {0, 0, 0};
    for (PetscInt a = 0; a < k1; ++a)
      for (PetscInt q = 0; q < m->dim; ++q) mean[q] += m->x[m->dim * e[a] + q] / (PetscReal)k1;
    const PetscReal u = 2 * mean[0] - 1, w = 2 * mean[1] - 1, wind[2] = {o->wind * w * (1 - u * u), -o->wind * u * (1 - w * w)};
    const PetscReal across = m->dim == 3 ? 3 : 6; /* pockets along an axis */
    PetscReal       beside = 0;
    for (PetscInt q = 0; q < m->dim; ++q) beside = PetscMax(beside, PetscAbsReal(across * mean[q] - PetscFloorReal(across * mean[q]) - 0.5));
    if (o->jump < 0 && beside > 0.15 && beside < 0.27) c = -o->jump;
    const PetscReal parts = (PetscReal)PetscAbsInt(o->cells);
    const PetscBool open = o->cells < 0 && PetscAbsReal(mean[1] - 0.5) > 0.3 ? PETSC_TRUE : PETSC_FALSE;
    for (PetscInt a = 1; a < k1 && o->cells && !open; ++a)
      for (PetscInt q = 0; q < (o->cells < 0 ? 1 : m->dim); ++q)
        if (PetscFloorReal(parts * m->x[m->dim * e[a] + q]) != PetscFloorReal(parts * m->x[m->dim * e[0] + q])) c = o->jump;
    if (o->leak > 0 && 0.5 + 0.5 * Random(t, 29) < o->leak) c = 1;
    PetscReal from_center = 0;
    for (PetscInt q = 0; q < m->dim; ++q) {
      const PetscReal at = o->disks * mean[q] - (q ? 0 : o->moved), away = at - PetscFloorReal(at) - 0.5;
      from_center += away * away;
    }
    if (o->disks > 0 && from_center < 0.3 * 0.3) c = o->jump;
    if (o->jump > 0 && !o->cells && o->disks == 0 && o->jump != 1 && ((PetscInt)PetscFloorReal(7.3 * mean[0]) + (PetscInt)PetscFloorReal(7.3 * mean[1])) % 2) c = o->jump;
    for (PetscInt a = 0; a < k1; ++a) {
      const PetscInt ra = number[e[a]];
      if (ra < first || ra >= last) continue;
      for (PetscInt b = 0; b < k1; ++b) {
        PetscScalar     v[36] = {0};
        PetscReal       dot = 0;
        const PetscBool fa = !o->neumann && m->border[e[a]] ? PETSC_TRUE : PETSC_FALSE, fb = !o->neumann && m->border[e[b]] ? PETSC_TRUE : PETSC_FALSE;
        for (PetscInt q = 0; q < m->dim; ++q) dot += g[a][q] * g[b][q] * (q == 1 ? o->anisotropy : 1);
        if (fa || (fb && !o->eliminate)) {
          if (a != b) continue;
          for (PetscInt k = 0; k < bs; ++k) v[bs * k + k] = 1;
        } else
          for (PetscInt k = 0; k < bs; ++k)
            for (PetscInt l = 0; l < bs; ++l) {
              if (o->elastic) { /* Young's modulus is 1 */
                v[bs * k + l] = c * volume * (lambda * g[a][k] * g[b][l] + mu * g[a][l] * g[b][k]);
                if (k == l)
                  for (PetscInt q = 0; q < m->dim; ++q) v[bs * k + l] += c * volume * mu * g[a][q] * g[b][q];
              } else v[bs * k + l] = c * volume * dot * (k == l ? 1 + 0.1 * (PetscReal)k : 0.2 / (PetscReal)(bs));
              if (a == b && k == l) v[bs * k + l] += o->shift * volume / (PetscReal)k1;
              if (k == l) v[bs * k + l] += volume / (PetscReal)k1 * (wind[0] * g[b][0] + wind[1] * g[b][1]);
            }
        PetscCall(MatSetValuesBlocked(*A, 1, &ra, 1, &number[e[b]], v, ADD_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  *nodes = last - first;
  PetscCall(PetscMalloc1(PetscMax((last - first) * m->dim, 1), coordinates));
  for (PetscInt p = 0; p < m->n; ++p)
    if (number[p] >= first && number[p] < last)
      for (PetscInt q = 0; q < m->dim; ++q) (*coordinates)[(number[p] - first) * m->dim + q] = m->x[m->dim * p + q];
  PetscCall(PetscFree(number));
  PetscFunctionReturn(PETSC_SUCCESS);
}
