/* Random meshes of any quality: Delaunay's triangles or tetrahedra of random points, with holes, slits, flat elements and maps that stretch. */
#pragma once
#include "auxamg_problem.h"

typedef struct {
  unsigned long long state;
} Stream;

static inline PetscReal Next(Stream *s) /* in [0, 1) */
{
  unsigned long long h = s->state += 0x9E3779B97F4A7C15ull;
  h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9ull;
  h = (h ^ (h >> 27)) * 0x94D049BB133111EBull;
  return (PetscReal)((h ^ (h >> 31)) >> 11) / 9007199254740992.;
}
static inline PetscInt  Below(Stream *s, PetscInt n) { return (PetscInt)(Next(s) * (PetscReal)n); }
static inline PetscReal Between(Stream *s, PetscReal a, PetscReal b) { return a + (b - a) * Next(s); }

typedef enum { POINTS_ANY, POINTS_GRID, POINTS_POWERS, POINTS_CLUSTERS } PointsKind;
typedef enum { MAP_NONE, MAP_LAYER, MAP_FLAT, MAP_RING } MapKind;
static const char *const PointsKinds[] = {"scattered", "jittered", "graded", "clustered"}, *const MapKinds[] = {"", " layer", " flat", " ring"};

typedef struct {
  PointsKind points;
  MapKind    map;
  PetscInt   holes, slits;
  PetscReal  flat; /* the share of nodes that are moved nearly into an opposite side */
} Shape;

/* Points in the unit square or cube */
static inline void AddPoints(Mesh *m, PointsKind kind, Stream *s)
{
  const PetscInt  side = (PetscInt)PetscPowReal((PetscReal)m->n, 1 / (PetscReal)m->dim);
  const PetscReal jitter = Between(s, 0.1, 0.48), power = Between(s, 1.3, m->dim == 2 ? 4 : 2.5);
  PetscReal       blob[8][4];

  for (PetscInt k = 0; k < 8; ++k) {
    for (PetscInt q = 0; q < 3; ++q) blob[k][q] = Between(s, 0.1, 0.9);
    blob[k][3] = PetscPowReal(10, -Between(s, 0.5, 3));
  }
  if (kind == POINTS_GRID) m->n = m->dim == 2 ? side * side : side * side * side;
  for (PetscInt p = 0; p < m->n; ++p) {
    PetscReal *const x = m->x + m->dim * p;
    const PetscInt   i[3] = {p % side, p / side % side, p / side / side}, k = Below(s, 16);
    for (PetscInt q = 0; q < m->dim; ++q) {
      x[q] = Next(s);
      if (kind == POINTS_GRID) x[q] = ((PetscReal)i[q] + jitter * (2 * x[q] - 1) + 0.5) / (PetscReal)side;
      if (kind == POINTS_POWERS) x[q] = PetscPowReal(x[q], power);
      if (kind == POINTS_CLUSTERS && k < 8) x[q] = blob[k][q] + blob[k][3] * (x[q] + Next(s) + Next(s) - 1.5);
    }
  }
}

typedef struct {
  PetscInt  v[4];
  PetscReal centre[3], square; /* of the circumscribed sphere */
} Simplex;

static inline void Circumscribe(const Mesh *m, Simplex *t)
{
  PetscReal d[3][3] = {{0}}, r[3] = {0}, c[3] = {0}, det = 0;
  const PetscReal *o = m->x + m->dim * t->v[0];
  for (PetscInt k = 0; k < m->dim; ++k)
    for (PetscInt q = 0; q < m->dim; ++q) {
      d[k][q] = m->x[m->dim * t->v[k + 1] + q] - o[q];
      r[k] += 0.5 * d[k][q] * d[k][q];
    }
  if (m->dim == 2) d[2][2] = 1;
  for (PetscInt k = 0; k < 3; ++k) {
    const PetscReal *a = d[(k + 1) % 3], *b = d[(k + 2) % 3];
    for (PetscInt q = 0; q < 3; ++q) {
      const PetscReal cross = a[(q + 1) % 3] * b[(q + 2) % 3] - a[(q + 2) % 3] * b[(q + 1) % 3];
      c[q] += r[k] * cross;
      if (k == 0) det += d[0][q] * cross;
    }
  }
  t->square = 0;
  for (PetscInt q = 0; q < m->dim; ++q) {
    c[q] /= det;
    t->centre[q] = o[q] + c[q];
    t->square += c[q] * c[q];
  }
}

static inline PetscInt SideCompare(const PetscInt *a, const PetscInt *b, PetscInt dim)
{
  for (PetscInt q = 0; q < dim; ++q)
    if (a[q] != b[q]) return a[q] < b[q] ? -1 : 1;
  return 0;
}

/* The sides of a simplex, by increasing numbers */
static inline void Side(const PetscInt *v, PetscInt dim, PetscInt without, PetscInt *side)
{
  PetscInt n = 0;
  for (PetscInt k = 0; k <= dim; ++k)
    if (k != without) {
      PetscInt at = n++;
      for (; at > 0 && side[at - 1] > v[k]; --at) side[at] = side[at - 1];
      side[at] = v[k];
    }
}

/* Points one after the other (Bowyer, Watson) take the place of the simplices whose spheres they are in. m->x has room for dim + 1 more. */
static inline PetscErrorCode Delaunay(Mesh *m)
{
  const PetscInt dim = m->dim, room = 60 * m->n + 1000;
  PetscInt       n = 1, sides, *side;
  Simplex       *t;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(room, &t, 4 * 4 * room, &side));
  for (PetscInt k = 0; k <= dim; ++k) {
    for (PetscInt q = 0; q < dim; ++q) m->x[dim * (m->n + k) + q] = k == q + 1 ? 300 : -100;
    t[0].v[k] = m->n + k;
  }
  Circumscribe(m, &t[0]);
  for (PetscInt p = 0; p < m->n; ++p) {
    const PetscReal *x = m->x + dim * p;
    sides = 0;
    for (PetscInt k = 0; k < n;) {
      PetscReal square = 0;
      for (PetscInt q = 0; q < dim; ++q) square += PetscSqr(x[q] - t[k].centre[q]);
      if (!(square < t[k].square)) {
        ++k;
        continue;
      }
      for (PetscInt s = 0; s <= dim; ++s) {
        PetscInt found = 0, *const mine = side + 3 * sides;
        Side(t[k].v, dim, s, mine);
        while (found < sides && SideCompare(side + 3 * found, mine, dim)) ++found;
        if (found == sides) ++sides;
        else { /* between two of them */
          --sides;
          for (PetscInt q = 0; q < dim; ++q) side[3 * found + q] = side[3 * sides + q];
        }
      }
      t[k] = t[--n];
    }
    PetscCheck(n + sides <= room, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Too many simplices");
    for (PetscInt k = 0; k < sides; ++k) {
      for (PetscInt q = 0; q < dim; ++q) t[n].v[q] = side[3 * k + q];
      t[n].v[dim] = p;
      Circumscribe(m, &t[n++]);
    }
  }
  m->elements = 0;
  for (PetscInt k = 0; k < n; ++k) {
    PetscInt largest = 0;
    for (PetscInt q = 0; q <= dim; ++q) largest = PetscMax(largest, t[k].v[q]);
    if (largest < m->n) AddElement(m, t[k].v[0], t[k].v[1], t[k].v[2], t[k].v[3]);
  }
  PetscCall(PetscFree2(t, side));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline void Middle(const Mesh *m, PetscInt element, PetscReal *mean)
{
  const PetscInt *e = m->e + (m->dim + 1) * element;
  for (PetscInt q = 0; q < m->dim; ++q) {
    mean[q] = 0;
    for (PetscInt a = 0; a <= m->dim; ++a) mean[q] += m->x[m->dim * e[a] + q] / (PetscReal)(m->dim + 1);
  }
}

/* The elements that are kept */
static inline void Keep(Mesh *m, const PetscBool *kept)
{
  PetscInt at = 0, k1 = m->dim + 1;
  for (PetscInt t = 0; t < m->elements; ++t)
    if (kept[t]) {
      for (PetscInt a = 0; a < k1; ++a) m->e[k1 * at + a] = m->e[k1 * t + a];
      ++at;
    }
  m->elements = at;
}

static inline PetscErrorCode CutHoles(Mesh *m, PetscInt holes, Stream *s)
{
  PetscBool *kept;
  PetscReal  mean[3], g[4][3], volume = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(m->elements, &kept));
  for (PetscInt t = 0; t < m->elements; ++t) volume += Gradients(m, t, g) / (PetscReal)m->elements;
  for (PetscInt t = 0; t < m->elements; ++t) kept[t] = Gradients(m, t, g) > 1e-7 * volume ? PETSC_TRUE : PETSC_FALSE;
  for (PetscInt h = 0; h < holes; ++h) {
    const PetscReal centre[3] = {Next(s), Next(s), Next(s)}, radius = Between(s, 0.03, 0.25), thin = Below(s, 2) ? 1 : 0.1;
    for (PetscInt t = 0; t < m->elements; ++t) {
      PetscReal square = 0;
      Middle(m, t, mean);
      for (PetscInt q = 0; q < m->dim; ++q) square += PetscSqr((mean[q] - centre[q]) / (q ? radius : thin * radius));
      if (square < 1) kept[t] = PETSC_FALSE;
    }
  }
  Keep(m, kept);
  PetscCall(PetscFree(kept));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of width zero, along the sides of elements near a plane, from the top down to a random height. m->x has room for all nodes once more. */
static inline PetscErrorCode CutSlit(Mesh *m, PetscInt most, Stream *s)
{
  const PetscInt  k1 = m->dim + 1;
  const PetscReal at = Between(s, 0.1, 0.9), tip = Between(s, 0.05, 0.6);
  PetscInt       *copy, n = m->n;
  PetscReal       mean[3];

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(n, &copy));
  for (PetscInt t = 0; t < m->elements; ++t) {
    Middle(m, t, mean);
    for (PetscInt a = 0; a < k1; ++a) copy[m->e[k1 * t + a]] |= mean[0] > at ? 2 : 1;
  }
  for (PetscInt p = 0; p < n; ++p) {
    const PetscBool split = copy[p] == 3 && m->x[m->dim * p + m->dim - 1] > tip && m->n < most ? PETSC_TRUE : PETSC_FALSE;
    copy[p] = split ? m->n : p;
    if (!split) continue;
    for (PetscInt q = 0; q < m->dim; ++q) m->x[m->dim * m->n + q] = m->x[m->dim * p + q];
    ++m->n;
  }
  for (PetscInt t = 0; t < m->elements; ++t) {
    Middle(m, t, mean);
    if (mean[0] > at)
      for (PetscInt a = 0; a < k1; ++a) m->e[k1 * t + a] = copy[m->e[k1 * t + a]];
  }
  PetscCall(PetscFree(copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscReal Signed(const Mesh *m, PetscInt element)
{
  const PetscInt *e = m->e + (m->dim + 1) * element;
  PetscReal       d[3][3] = {{0}};
  for (PetscInt k = 0; k < m->dim; ++k)
    for (PetscInt q = 0; q < m->dim; ++q) d[k][q] = m->x[m->dim * e[k + 1] + q] - m->x[m->dim * e[0] + q];
  if (m->dim == 2) return d[0][0] * d[1][1] - d[0][1] * d[1][0];
  return d[0][0] * (d[1][1] * d[2][2] - d[1][2] * d[2][1]) - d[0][1] * (d[1][0] * d[2][2] - d[1][2] * d[2][0]) + d[0][2] * (d[1][0] * d[2][1] - d[1][1] * d[2][0]);
}

/* Nodes go nearly into the opposite side of an element, where that turns none of their elements over. */
static inline PetscErrorCode Flatten(Mesh *m, PetscReal share, Stream *s)
{
  const PetscInt dim = m->dim, k1 = dim + 1;
  PetscInt      *start, *list;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(m->n + 2, &start));
  PetscCall(PetscMalloc1(k1 * m->elements, &list));
  for (PetscInt k = 0; k < k1 * m->elements; ++k) ++start[m->e[k] + 2];
  for (PetscInt p = 0; p < m->n; ++p) start[p + 2] += start[p + 1];
  for (PetscInt k = 0; k < k1 * m->elements; ++k) list[start[m->e[k] + 1]++] = k / k1;
  for (PetscInt k = 0; k < m->elements; ++k) {
    const PetscInt  a = Below(s, k1), p = m->e[k1 * k + a];
    const PetscReal left = PetscPowReal(10, -Between(s, 1, 4));
    PetscReal      *x = m->x + dim * p, old[3] = {0}, mean[3] = {0};
    PetscReal       sign[200];
    PetscBool       good = PETSC_TRUE;
    const PetscInt  around = PetscMin(start[p + 1] - start[p], 200);
    if (Next(s) > share / 4) continue;
    for (PetscInt t = 0; t < around; ++t) sign[t] = Signed(m, list[start[p] + t]);
    Middle(m, k, mean);
    for (PetscInt q = 0; q < dim; ++q) {
      old[q] = x[q];
      mean[q] = (mean[q] * (PetscReal)k1 - x[q]) / (PetscReal)dim;
      x[q] = mean[q] + left * (x[q] - mean[q]);
    }
    for (PetscInt t = 0; t < around; ++t)
      if (!(sign[t] * Signed(m, list[start[p] + t]) > 1e-8 * sign[t] * sign[t])) good = PETSC_FALSE;
    for (PetscInt q = 0; q < dim && !good; ++q) x[q] = old[q];
  }
  PetscCall(PetscFree(start));
  PetscCall(PetscFree(list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline int CompareSides(const void *a, const void *b) { return (int)SideCompare((const PetscInt *)a, (const PetscInt *)b, 3); }

/* What is left is the largest piece whose elements hang together by their sides: no hinges, which elasticity would not hold. */
static inline PetscErrorCode LargestPiece(Mesh *m)
{
  const PetscInt k1 = m->dim + 1, n = k1 * m->elements;
  PetscInt      *side, *root, *count, best = 0, at = 0;
  PetscBool     *kept, again = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(4 * n, &side));
  PetscCall(PetscMalloc1(PetscMax(m->n, m->elements), &root));
  PetscCall(PetscCalloc1(PetscMax(m->n, m->elements), &count));
  PetscCall(PetscMalloc1(m->elements, &kept));
  for (PetscInt t = 0; t < n; ++t) {
    Side(m->e + k1 * (t / k1), m->dim, t % k1, side + 4 * t);
    side[4 * t + 3] = t / k1;
  }
  qsort(side, (size_t)n, 4 * sizeof(PetscInt), CompareSides);
  for (PetscInt t = 0; t < m->elements; ++t) root[t] = t;
  while (again) {
    again = PETSC_FALSE;
    for (PetscInt t = 1; t < n; ++t) {
      PetscInt *const a = &root[side[4 * t + 3]], *const b = &root[side[4 * t - 1]], least = PetscMin(root[*a], root[*b]);
      if (CompareSides(side + 4 * t, side + 4 * t - 4) || (*a == least && *b == least)) continue;
      root[*a] = root[*b] = least;
      *a = *b = least;
      again = PETSC_TRUE;
    }
  }
  for (PetscInt t = 0; t < m->elements; ++t) ++count[root[t]];
  for (PetscInt t = 0; t < m->elements; ++t)
    if (count[t] > count[best]) best = t;
  for (PetscInt t = 0; t < m->elements; ++t) kept[t] = root[t] == best ? PETSC_TRUE : PETSC_FALSE;
  Keep(m, kept);
  for (PetscInt p = 0; p < m->n; ++p) count[p] = 0;
  for (PetscInt t = 0; t < k1 * m->elements; ++t) count[m->e[t]] = 1;
  for (PetscInt p = 0; p < m->n; ++p)
    if (count[p]) {
      for (PetscInt q = 0; q < m->dim; ++q) m->x[m->dim * at + q] = m->x[m->dim * p + q];
      root[p] = at++;
    }
  for (PetscInt t = 0; t < k1 * m->elements; ++t) m->e[t] = root[m->e[t]];
  m->n = at;
  PetscCall(PetscFree(side));
  PetscCall(PetscFree(root));
  PetscCall(PetscFree(count));
  PetscCall(PetscFree(kept));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nodes of sides that one element alone has */
static inline PetscErrorCode FindBorder(Mesh *m)
{
  const PetscInt k1 = m->dim + 1, n = k1 * m->elements;
  PetscInt      *side;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(3 * n, &side));
  for (PetscInt t = 0; t < n; ++t) Side(m->e + k1 * (t / k1), m->dim, t % k1, side + 3 * t);
  qsort(side, (size_t)n, 3 * sizeof(PetscInt), CompareSides);
  for (PetscInt p = 0; p < m->n; ++p) m->border[p] = PETSC_FALSE;
  for (PetscInt t = 0; t < n; ++t) {
    const PetscBool before = t && !CompareSides(side + 3 * t, side + 3 * t - 3), after = t + 1 < n && !CompareSides(side + 3 * t, side + 3 * t + 3);
    for (PetscInt q = 0; q < m->dim && !before && !after; ++q) m->border[side[3 * t + q]] = PETSC_TRUE;
  }
  PetscCall(PetscFree(side));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline void MapPoints(Mesh *m, MapKind map, Stream *s)
{
  const PetscReal a = Between(s, 1, 6), exponent = Between(s, 0.5, 2), thin = PetscPowReal(10, map == MAP_RING ? -exponent / 2 : -exponent);
  for (PetscInt p = 0; p < m->n; ++p) {
    PetscReal *const x = m->x + m->dim * p;
    if (map == MAP_LAYER) x[m->dim - 1] = (PetscExpReal(a * x[m->dim - 1]) - 1) / (PetscExpReal(a) - 1);
    if (map == MAP_FLAT) x[0] *= thin;
    if (map == MAP_RING) {
      const PetscReal r = 1 + 3 * thin * x[0], angle = 5 * x[1];
      x[0] = r * PetscCosReal(angle);
      x[1] = r * PetscSinReal(angle);
    }
  }
}

static inline PetscErrorCode MeshRandom(PetscInt dim, PetscInt n, Shape shape, Stream *s, Mesh *m)
{
  PetscFunctionBeginUser;
  PetscCall(MeshCreate(dim, 2 * n + dim + 1, 10 * n * dim, m));
  m->n = n;
  AddPoints(m, shape.points, s);
  PetscCall(Delaunay(m));
  PetscCall(CutHoles(m, shape.holes, s));
  for (PetscInt k = 0; k < shape.slits; ++k) PetscCall(CutSlit(m, 2 * n, s));
  if (shape.flat > 0) PetscCall(Flatten(m, shape.flat, s));
  PetscCall(LargestPiece(m));
  PetscCall(FindBorder(m));
  MapPoints(m, shape.map, s);
  PetscFunctionReturn(PETSC_SUCCESS);
}
