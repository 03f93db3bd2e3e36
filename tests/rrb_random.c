static char help[] = "PC rrb on random problems: finite, symmetric, positive definite; and solvers with it give right answers.\n\
  -start <k> -count <n> : problems k, ..., k + n - 1 (default 0, 10000)\n\
  -only <k>             : one of them, with all its numbers\n\
  -reports <n>          : describe so many failing problems (default 10)\n\
  -max <n>              : nodes in a direction at most (default 70)\n\
  -verbose              : statistics; with -only also the view of the solver\n\n";

/*
  A problem is a function of its number and of -max, whatever the number of processes: its grid, sides, coefficients, mask, right-hand
  side and the solver's settings. Every second problem is solved with the default settings.
*/
#include "rrb_problem.h"

enum { DEFAULTS_SLOW = 100, SLOW = 200, MOST = 1000 }; /* iterations */

typedef enum {
  CONSTANT, PER_EDGE, SMOOTH, ANISOTROPIC, LAYERS_X, LAYERS_Y, PER_CELL, BLOCKS, SWAPPING, VEINS, GAPS, KINDS
} Kind;
static const char *const kinds[] = {"constant", "per edge", "smooth", "anisotropic", "layers in x", "layers in y", "per cell", "blocks", "swapping anisotropy", "veins", "gaps"};

typedef enum {
  NO_MASK, PIXELS, BLOBS, FRAME, ALL, MASKS
} Mask;
static const char *const masks[] = {"no mask", "pixels", "blobs", "frame", "all masked"};

typedef enum {
  COAST_DIRICHLET, COAST_NEUMANN, COAST_ONE_SIDED, COASTS
} Coast;
static const char *const coasts[] = {"Dirichlet coast", "Neumann coast", "one-sided coast"};

typedef enum {
  FIVE, EIGHT_EDGES, ELEMENTS, POINTS
} Points;
static const char *const points[] = {"5-point", "9-point, edges", "9-point, elements"};

typedef struct {
  PetscInt           number, nx, ny, draws, block;
  PetscBool          periodic[2], dirichlet[4], box; /* sides: west, east, south, north */
  Kind               kind;
  Mask               mask;
  Coast              coast;
  Points             points;
  PetscReal          decades, share, alpha, scale, tilt, identity;
  PetscBool          defaults, manufactured;
  PCRRBSmoother      smoother;
  PCRRBInterpolation interpolation;
  PCRRBCycle         cycle;
  TesseraPrecision     precision;
  PetscBool          device; /* its exact remainder is a product with an inverse: of a nearly singular one the rounding is that of a large number */
  PetscBool          trial;
  PetscInt           smooth, levels, grids, every, inner;
  const char        *ksp;
  KSPNormType        norm;
  /* the operator, on every process */
  PetscReal *v;      /* v[9 node + k] in direction k */
  PetscInt  *parent; /* sets of nodes that are coupled */
  PetscBool *tied;   /* by reaction or a Dirichlet node, at the root of the set; or an identity row */
  PetscInt   null;   /* dimension of the null space */
  PetscReal  contrast; /* the largest diagonal entry and the smallest coupling: rounding errors grow with it */
  PetscBool  failed;
} Problem;

typedef struct {
  PetscInt  problems, failures, hopeless, reports, slow[2], most[2], diverged, singular;
  PetscReal asymmetry[2], residual;
} Statistics;

static PetscReal Draw(Problem *p)
{
  return Hash(p->number, p->draws++, 4711);
}

static PetscInt Pick(Problem *p, PetscInt n) /* 0 .. n - 1 */
{
  return PetscMin((PetscInt)(n * Draw(p)), n - 1);
}

static PetscBool Chance(Problem *p, PetscReal probability)
{
  return (PetscBool)(Draw(p) < probability);
}

static PetscReal At(const Problem *p, PetscInt i, PetscInt j, PetscInt stream)
{
  return Hash(i, j, 64 * p->number + stream);
}

static PetscReal Power(const Problem *p, PetscReal u) /* over the problem's decades, around 1 */
{
  return PetscPowReal(10, p->decades * (u - 0.5));
}

static void Describe(Problem *p, PetscInt number, PetscInt max)
{
  PetscMemzero(p, sizeof(*p));
  p->number = number;
  p->nx     = 1 + Pick(p, Chance(p, 0.2) ? 6 : max);
  p->ny     = 1 + Pick(p, Chance(p, 0.2) ? 6 : max);
  if (Chance(p, 0.2)) p->nx += p->nx % 2, p->periodic[0] = PETSC_TRUE;
  if (Chance(p, 0.2)) p->ny += p->ny % 2, p->periodic[1] = PETSC_TRUE;
  for (int s = 0; s < 4; ++s) p->dirichlet[s] = Chance(p, 0.4);
  if (Chance(p, 0.15))
    for (int s = 0; s < 4; ++s) p->dirichlet[s] = PETSC_FALSE;
  p->points   = Chance(p, 0.6) ? FIVE : 1 + Pick(p, 2);
  p->box      = (PetscBool)(p->points != FIVE || Chance(p, 0.1)); /* room for nine points, zeros stored or not */
  p->kind     = (Kind)Pick(p, KINDS);
  p->decades  = Chance(p, 0.3) ? 8 * Draw(p) : 4 * Draw(p);
  p->block    = 1 + Pick(p, Chance(p, 0.5) ? 4 : 20);
  p->mask     = Chance(p, 0.5) ? NO_MASK : Chance(p, 0.05) ? ALL : 1 + (Mask)Pick(p, ALL - 1);
  p->coast    = (Coast)Pick(p, COASTS);
  p->share    = Chance(p, 0.5) ? 0.6 * Draw(p) : PetscPowReal(10, -1 - 2 * Draw(p));
  p->identity = Chance(p, 0.7) ? 1 : PetscPowReal(10, 8 * Draw(p) - 4);
  p->alpha    = Chance(p, 0.5) ? 0 : PetscPowReal(10, p->decades / 2 - 8 * Draw(p));
  p->scale    = Chance(p, 0.7) ? 1 : PetscPowReal(10, 20 * Draw(p) - 10);
  p->tilt     = PETSC_PI * Draw(p);

  p->manufactured = Chance(p, 0.5);
  p->ksp          = Chance(p, 0.5) ? KSPCG : KSPRRB;
  p->norm         = Chance(p, 0.5) ? KSP_NORM_NATURAL : KSP_NORM_UNPRECONDITIONED;
  p->defaults     = Chance(p, 0.5);
  p->trial        = PETSC_TRUE;
  p->grids        = -1;
  p->every        = 2;
  p->inner        = 2;
  p->cycle        = PC_RRB_CYCLE_AUTO;
  if (p->defaults) return;
  p->smoother      = (PCRRBSmoother)(Chance(p, 0.3) ? 0 : Pick(p, 5));
  p->interpolation = (PCRRBInterpolation)(Chance(p, 0.3) ? 0 : Pick(p, 3));
  p->cycle         = Chance(p, 0.3) ? PC_RRB_CYCLE_AUTO : Chance(p, 0.5) ? PC_RRB_CYCLE_V : PC_RRB_CYCLE_AMLI;
  if (Chance(p, 0.1)) p->cycle = PC_RRB_CYCLE_K;
  p->smooth        = Chance(p, 0.5) ? 0 : Pick(p, 5);
  p->precision     = Pick(p, 2) ? TESSERA_PRECISION_SINGLE : TESSERA_PRECISION_DOUBLE;
  p->trial         = Chance(p, 0.5);
  p->levels        = Chance(p, 0.5) ? 0 : Chance(p, 0.3) ? 100 : 1 + Pick(p, 10);
  p->grids         = Chance(p, 0.5) ? -1 : Pick(p, 4);
  p->every         = 1 + Pick(p, 3);
  p->inner         = 1 + Pick(p, 3);
}

static PetscErrorCode Print(const Problem *p)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %" PetscInt_FMT " x %" PetscInt_FMT "%s%s, sides %d%d%d%d, %s%s, %s over %.2g decades (blocks %" PetscInt_FMT "), %s %.2g, %s, identity %.2g, alpha %.2g, scale %.2g, null space %" PetscInt_FMT "\n", p->nx, p->ny, p->periodic[0] ? ", periodic in x" : "", p->periodic[1] ? ", periodic in y" : "", p->dirichlet[0], p->dirichlet[1], p->dirichlet[2], p->dirichlet[3], points[p->points], p->box ? " (box)" : "", kinds[p->kind], (double)p->decades, p->block, masks[p->mask], (double)p->share, coasts[p->coast], (double)p->identity, (double)p->alpha, (double)p->scale, p->null));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  -ksp_type %s -ksp_norm_type %s%s", p->ksp, KSPNormTypes[p->norm], p->manufactured ? ", b = A u" : ", b random"));
  if (!p->defaults) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " -pc_rrb_smoother %s -pc_rrb_interpolation %s -pc_rrb_cycle %s -pc_rrb_sweeps %" PetscInt_FMT " -pc_rrb_precision %s -pc_rrb_trial %d -pc_rrb_levels %" PetscInt_FMT " -pc_rrb_quarters %" PetscInt_FMT " -pc_rrb_cycle_every %" PetscInt_FMT " -pc_rrb_cycle_inner %" PetscInt_FMT, PCRRBSmoothers[p->smoother], PCRRBInterpolations[p->interpolation], PCRRBCycles[p->cycle], p->smooth, TesseraPrecisions[p->precision], (int)p->trial, p->levels, p->grids, p->every, p->inner));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscFunctionReturn(0);
}

/* The coefficient of a place in half steps, (2i, 2j) a node, dx and dy the direction. */
static PetscReal Coefficient(const Problem *p, PetscInt i2, PetscInt j2, PetscInt dx, PetscInt dy)
{
  const PetscInt  i = (i2 + 2 * p->nx) / 2 % p->nx, j = (j2 + 2 * p->ny) / 2 % p->ny; /* periodic, whatever the sides are */
  const PetscReal x = 2 * PETSC_PI * ((i2 + 2 * p->nx) % (2 * p->nx)) / (2 * p->nx), y = 2 * PETSC_PI * ((j2 + 2 * p->ny) % (2 * p->ny)) / (2 * p->ny);
  const PetscInt  bi = i / p->block, bj = j / p->block;

  switch (p->kind) {
  case PER_EDGE: return Power(p, At(p, i, j, 10 + 3 * dy + dx));
  case SMOOTH: return Power(p, 0.5 + 0.25 * (PetscSinReal(x + p->tilt) * PetscCosReal(2 * y) + PetscSinReal(y)));
  case ANISOTROPIC: return Power(p, dx && dy ? 0.5 : dx ? 1 : 0);
  case LAYERS_X: return Power(p, At(p, bi, 0, 2));
  case LAYERS_Y: return Power(p, At(p, 0, bj, 2));
  case BLOCKS: return Power(p, (bi + bj) % 2);
  case SWAPPING: return Power(p, dx && dy ? 0.5 : (bi + bj) % 2 ? (dx ? 1 : 0) : dx ? 0 : 1);
  case VEINS: return Power(p, At(p, i, j, 2) < p->share / 2 || i % 17 == 3 || j % 13 == 5 ? 1 : 0);
  case GAPS: return Power(p, (dx && i % p->block == 0) || (dy && j % p->block == 0) ? 0 : 1);
  case PER_CELL: return Power(p, At(p, i, j, 2));
  default: return 1;
  }
}

static PetscReal EdgeCoefficient(const Problem *p, PetscInt i, PetscInt j, PetscInt di, PetscInt dj)
{
  if (p->kind == PER_CELL) { /* harmonic mean of the ends */
    const PetscReal a = Coefficient(p, 2 * i, 2 * j, 0, 0), b = Coefficient(p, 2 * (i + di), 2 * (j + dj), 0, 0);
    return 2 * a * b / (a + b);
  }
  return (di && dj ? 0.5 : 1) * Coefficient(p, 2 * i + di, 2 * j + dj, di, dj);
}

static PetscBool Masked(const Problem *p, PetscInt i, PetscInt j)
{
  switch (p->mask) {
  case PIXELS: return (PetscBool)(At(p, i, j, 3) < p->share);
  case BLOBS: return (PetscBool)(0.7 * At(p, i / (p->block + 1), j / (p->block + 1), 3) + 0.3 * At(p, i / 3, j / 2, 4) < p->share);
  case FRAME: return (PetscBool)(i < p->block || j < p->block || i >= p->nx - p->block / 2 || j >= p->ny - 1);
  case ALL: return PETSC_TRUE;
  default: return PETSC_FALSE;
  }
}

typedef struct {
  PetscInt  node;              /* -1 outside */
  PetscBool inside, dirichlet; /* inside: an unknown of the problem; neither: no flux there */
} End;

static End Look(const Problem *p, PetscInt i, PetscInt j)
{
  End e = {-1, PETSC_FALSE, PETSC_FALSE};

  if (p->periodic[0]) i = (i + p->nx) % p->nx;
  if (p->periodic[1]) j = (j + p->ny) % p->ny;
  if (i < 0 || j < 0 || i >= p->nx || j >= p->ny) {
    e.dirichlet = (PetscBool)((i >= 0 || p->dirichlet[0]) && (i < p->nx || p->dirichlet[1]) && (j >= 0 || p->dirichlet[2]) && (j < p->ny || p->dirichlet[3]));
    return e;
  }
  e.node      = i + j * p->nx;
  e.inside    = (PetscBool)!Masked(p, i, j);
  e.dirichlet = (PetscBool)(!e.inside && p->coast != COAST_NEUMANN);
  return e;
}

static PetscInt Root(Problem *p, PetscInt i)
{
  while (p->parent[i] != i) i = p->parent[i] = p->parent[p->parent[i]];
  return i;
}

static void Join(Problem *p, const End *a, const End *b)
{
  if (!a->inside && !b->inside) return;
  if (!a->inside) p->tied[Root(p, b->node)] = PETSC_TRUE;
  else if (!b->inside) p->tied[Root(p, a->node)] = PETSC_TRUE;
  else {
    const PetscInt r = Root(p, a->node), s = Root(p, b->node);

    if (p->tied[r]) p->tied[s] = PETSC_TRUE;
    p->parent[r] = s;
  }
}

/* value: what couples the row of `from` with the column of `to`, in direction k */
static void Couple(Problem *p, const End *from, const End *to, int k, PetscReal value)
{
  if (!from->inside) return;
  if (to->inside || (to->dirichlet && to->node >= 0 && p->coast == COAST_ONE_SIDED)) p->v[9 * from->node + k] += value;
}

static PetscErrorCode Build(Problem *p)
{
  const PetscInt n = p->nx * p->ny;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(9 * n, &p->v));
  PetscCall(PetscMalloc1(n, &p->parent));
  PetscCall(PetscCalloc1(n, &p->tied));
  for (PetscInt i = 0; i < n; ++i) p->parent[i] = i;
  for (PetscInt j = p->periodic[1] ? 0 : -1; j < p->ny; ++j) {
    for (PetscInt i = p->periodic[0] ? 0 : -1; i < p->nx + (p->periodic[0] || p->points != EIGHT_EDGES ? 0 : 1); ++i) {
      if (p->points != ELEMENTS) {
        static const int forward[4] = {5, 7, 8, 6};

        for (int f = 0; f < (p->points == FIVE ? 2 : 4); ++f) {
          const int       k = forward[f], di = k % 3 - 1, dj = k / 3 - 1;
          const End       a = Look(p, i, j), b = Look(p, i + di, j + dj);
          const PetscReal w = p->scale * EdgeCoefficient(p, i, j, di, dj);

          if ((!a.inside && !a.dirichlet) || (!b.inside && !b.dirichlet)) continue;
          Couple(p, &a, &a, 4, w);
          Couple(p, &b, &b, 4, w);
          Couple(p, &a, &b, k, -w);
          Couple(p, &b, &a, 8 - k, -w);
          Join(p, &a, &b);
        }
      } else { /* bilinear elements, a tensor with random axes on each */
        const PetscReal kx = Coefficient(p, 2 * i + 1, 2 * j + 1, 1, 0), ky = Coefficient(p, 2 * i + 1, 2 * j + 1, 0, 1);
        const PetscReal angle = p->kind == PER_EDGE ? PETSC_PI * At(p, i, j, 5) : p->tilt, c = PetscCosReal(angle), s = PetscSinReal(angle);
        const PetscReal xx = p->scale * (c * c * kx + s * s * ky), yy = p->scale * (s * s * kx + c * c * ky), xy = p->scale * c * s * (kx - ky);
        End             e[4];
        PetscBool       used = PETSC_TRUE;

        for (int a = 0; a < 4; ++a) {
          e[a] = Look(p, i + a % 2, j + a / 2);
          if (!e[a].inside && !e[a].dirichlet) used = PETSC_FALSE;
        }
        if (!used) continue;
        for (int a = 0; a < 4; ++a) {
          for (int b = 0; b < 4; ++b) {
            const int       dx = b % 2 - a % 2, dy = b / 2 - a / 2, sx = 2 * (a % 2) - 1, sy = 2 * (a / 2) - 1, tx = 2 * (b % 2) - 1, ty = 2 * (b / 2) - 1;
            const PetscReal w = xx * sx * tx * (dy ? 1 : 2) / 6 + yy * sy * ty * (dx ? 1 : 2) / 6 + xy * (sx * ty + sy * tx) / 4;

            Couple(p, &e[a], &e[b], 3 * (dy + 1) + dx + 1, w);
            Join(p, &e[a], &e[b]);
          }
        }
      }
    }
  }
  for (PetscInt i = 0; i < n; ++i) {
    if (p->v[9 * i + 4] == 0) {
      p->v[9 * i + 4] = p->identity * p->scale;
      p->tied[i]      = PETSC_TRUE;
    } else p->v[9 * i + 4] += p->alpha * p->scale;
    if (p->alpha > 0) p->tied[i] = PETSC_TRUE;
  }
  {
    PetscReal most = 0, least = p->alpha > 0 ? p->alpha * p->scale : PETSC_INFINITY;

    for (PetscInt i = 0; i < n; ++i) {
      if (p->tied[i] && p->v[9 * i + 4] == p->identity * p->scale) continue;
      for (int k = 0; k < 9; ++k) {
        const PetscReal a = PetscAbsReal(p->v[9 * i + k]);

        if (k == 4) most = PetscMax(most, a);
        else if (a > 0) least = PetscMin(least, a);
      }
    }
    p->contrast = most > 0 && least < PETSC_INFINITY ? PetscMax(most / least, 1) : 1;
  }
  for (PetscInt i = 0; i < n; ++i) p->null += Root(p, i) == i && !p->tied[i];
  PetscFunctionReturn(0);
}

static PetscErrorCode Fill(const Problem *p, DM da, Mat A)
{
  PetscInt xs, ys, xm, ym, gxs, gys, gxm;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAGetGhostCorners(da, &gxs, &gys, NULL, &gxm, NULL, NULL));
  for (PetscInt j = ys; j < ys + ym; ++j) {
    for (PetscInt i = xs; i < xs + xm; ++i) {
      const PetscReal *v = p->v + 9 * (i + j * p->nx);
      PetscScalar      w[9];
      PetscInt         n = 0, col[9], row = (j - gys) * gxm + i - gxs;

      for (int k = 0; k < 9; ++k)
        if (v[k] != 0) col[n] = row + (k / 3 - 1) * gxm + k % 3 - 1, w[n++] = v[k];
      PetscCall(MatSetValuesLocal(A, 1, &row, n, col, w, ADD_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* One vector for each set of nodes that nothing ties. */
static PetscErrorCode AttachNullSpace(Problem *p, DM da, Mat A)
{
  const PetscInt n = p->nx * p->ny;
  MatNullSpace   space;
  Vec           *basis;
  PetscReal     *count;
  PetscInt      *number, found = 0, xs, ys, xm, ym;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(p->null, &basis));
  PetscCall(PetscCalloc1(n, &count));
  PetscCall(PetscMalloc1(n, &number));
  for (PetscInt i = 0; i < n; ++i) {
    ++count[Root(p, i)];
    number[i] = Root(p, i) == i && !p->tied[i] ? found++ : -1;
  }
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  for (PetscInt k = 0; k < found; ++k) PetscCall(DMCreateGlobalVector(da, &basis[k]));
  for (PetscInt k = 0; k < found; ++k) {
    PetscScalar **a;

    PetscCall(DMDAVecGetArray(da, basis[k], &a));
    for (PetscInt j = ys; j < ys + ym; ++j)
      for (PetscInt i = xs; i < xs + xm; ++i)
        if (number[Root(p, i + j * p->nx)] == k) a[j][i] = 1 / PetscSqrtReal(count[Root(p, i + j * p->nx)]);
    PetscCall(DMDAVecRestoreArray(da, basis[k], &a));
  }
  if (found == 1 && (PetscInt)count[Root(p, 0)] == n) PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)da), PETSC_TRUE, 0, NULL, &space));
  else PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)da), PETSC_FALSE, found, basis, &space));
  PetscCall(MatSetNullSpace(A, space));
  PetscCall(MatNullSpaceDestroy(&space));
  for (PetscInt k = 0; k < found; ++k) PetscCall(VecDestroy(&basis[k]));
  PetscCall(PetscFree(basis));
  PetscCall(PetscFree(count));
  PetscCall(PetscFree(number));
  PetscFunctionReturn(0);
}

static PetscErrorCode Solver(const Problem *p, Mat A, KSP *ksp)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  PetscCall(KSPSetType(*ksp, p->cycle == PC_RRB_CYCLE_K && strcmp(p->ksp, KSPRRB) ? KSPFCG : p->ksp));
  PetscCall(KSPSetNormType(*ksp, p->norm));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, 0, 1e30, MOST));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCRRB));
  if (!p->defaults) {
    PetscCall(PCRRBSetSmoother(pc, p->smoother));
    PetscCall(PCRRBSetSweeps(pc, p->smooth));
    PetscCall(PCRRBSetInterpolation(pc, p->interpolation));
    PetscCall(PCRRBSetCycle(pc, p->cycle));
    PetscCall(PCRRBSetCycleEvery(pc, p->every));
    PetscCall(PCRRBSetCycleInner(pc, p->inner));
    PetscCall(PCRRBSetPrecision(pc, p->precision));
    PetscCall(PCRRBSetTrial(pc, p->trial));
    PetscCall(PCRRBSetLevels(pc, p->levels));
    PetscCall(PCRRBSetQuarters(pc, p->grids));
  }
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(0);
}

/* A random vector in the range of A; with zeros where the mask is if it is not symmetric there. */
static PetscErrorCode Random(const Problem *p, DM da, Mat A, PetscInt stream, PetscBool interior, Vec v)
{
  MatNullSpace  space;
  PetscInt      xs, ys, xm, ym;
  PetscScalar **a;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArray(da, v, &a));
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i) a[j][i] = interior && p->coast == COAST_ONE_SIDED && Masked(p, i, j) ? 0 : At(p, i, j, stream) - 0.5;
  PetscCall(DMDAVecRestoreArray(da, v, &a));
  PetscCall(MatGetNullSpace(A, &space));
  if (space) PetscCall(MatNullSpaceRemove(space, v));
  PetscFunctionReturn(0);
}

/* e = the rounding errors of a product with x, of random sign: 1e-16 |A| |x| */
static PetscErrorCode Rounding(const Problem *p, DM da, Vec x, Vec e)
{
  PetscInt            xs, ys, xm, ym;
  Vec                 local;
  const PetscScalar **a;
  PetscScalar       **b;

  PetscFunctionBeginUser;
  PetscCall(DMGetLocalVector(da, &local));
  PetscCall(DMGlobalToLocal(da, x, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayRead(da, local, &a));
  PetscCall(DMDAVecGetArray(da, e, &b));
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  for (PetscInt j = ys; j < ys + ym; ++j) {
    for (PetscInt i = xs; i < xs + xm; ++i) {
      const PetscReal *v = p->v + 9 * (i + j * p->nx);
      PetscReal        s = 0;

      for (int k = 0; k < 9; ++k)
        if (v[k] != 0) s += PetscAbsReal(v[k]) * PetscAbsScalar(a[j + k / 3 - 1][i + k % 3 - 1]);
      b[j][i] = 1e-16 * s * (At(p, i, j, 9) < 0.5 ? -1 : 1);
    }
  }
  PetscCall(DMDAVecRestoreArray(da, e, &b));
  PetscCall(DMDAVecRestoreArrayRead(da, local, &a));
  PetscCall(DMRestoreLocalVector(da, &local));
  PetscFunctionReturn(0);
}

static PetscErrorCode Norm(KSP ksp, KSPNormType type, Vec r, Vec work, PetscReal *norm)
{
  PC          pc;
  PetscScalar d;

  PetscFunctionBeginUser;
  if (type == KSP_NORM_UNPRECONDITIONED) PetscCall(VecNorm(r, NORM_2, norm));
  else {
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCApply(pc, r, work));
    PetscCall(VecDot(r, work, &d));
    *norm = PetscSqrtReal(PetscAbsScalar(d));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode Complain(Problem *p, Statistics *s, const char format[], ...)
{
  char    text[256];
  va_list arguments;

  PetscFunctionBeginUser;
  va_start(arguments, format);
  PetscCall(PetscVSNPrintf(text, sizeof(text), format, NULL, arguments));
  va_end(arguments);
  /* A singular operator over many decades, or in single precision: its smallest eigenvalues drown in rounding; as do those of any
     operator over as many decades as single precision has digits. Few of them may fail. */
  if ((p->null > 0 && (p->decades > 4.5 || p->precision == TESSERA_PRECISION_SINGLE)) || (p->precision == TESSERA_PRECISION_SINGLE && p->decades > 6)) {
    s->hopeless += !p->failed;
    p->failed = PETSC_TRUE;
    PetscFunctionReturn(0);
  }
  s->failures += !p->failed;
  if (p->failed || s->failures > s->reports) PetscFunctionReturn(0); /* what follows from the first */
  p->failed = PETSC_TRUE;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "rrb_random -only %" PetscInt_FMT ": %s\n", p->number, text));
  PetscCall(Print(p));
  PetscFunctionReturn(0);
}

/* The one in use: options come last, and on a device the Galerkin form is in single precision unless they say otherwise. */
static PetscErrorCode Precision(Problem *p, KSP ksp)
{
  PC              pc;
  TesseraBackend  backend;
  PCRRBCoarsening coarsening;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCRRBGetPrecision(pc, &p->precision));
  PetscCall(PCRRBGetBackend(pc, &backend));
  PetscCall(PCRRBGetCoarsening(pc, &coarsening));
  p->device = (PetscBool)(backend == TESSERA_BACKEND_CUDA);
  if (p->precision == TESSERA_PRECISION_AUTO) p->precision = p->device && coarsening == PC_RRB_COARSENING_GALERKIN ? TESSERA_PRECISION_SINGLE : TESSERA_PRECISION_DOUBLE;
  PetscFunctionReturn(0);
}

static PetscErrorCode Try(Problem *p, Statistics *s, PetscBool one, PetscBool verbose)
{
  const PetscBool    linear = (PetscBool)(p->cycle != PC_RRB_CYCLE_K);
  PetscBool          single;
  DM                 da;
  Mat                A;
  KSP                ksp;
  PC                 pc;
  Vec                x, y, mx, my, b;
  PetscScalar        d[4];
  PetscReal          asymmetry = 0, bn, rn, en, residual;
  PetscInt           its;
  PetscBool          interior;
  KSPConvergedReason reason;
  PCFailedReason     failed;

  PetscFunctionBeginUser;
  ++s->problems;
  PetscCall(Build(p));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, p->periodic[0] ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE, p->periodic[1] ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE, p->box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, p->nx, p->ny, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Fill(p, da, A));
  if (p->null) PetscCall(AttachNullSpace(p, da, A));
  s->singular += p->null > 0;
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &mx));
  PetscCall(VecDuplicate(x, &my));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(Solver(p, A, &ksp));
  PetscCall(Precision(p, ksp));
  single = (PetscBool)(p->precision == TESSERA_PRECISION_SINGLE);
  if (one) PetscCall(Print(p));

  /* the preconditioner */
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCGetFailedReason(pc, &failed));
  if (failed) PetscCall(Complain(p, s, "the setup failed, reason %d", (int)failed));
  PetscCall(Random(p, da, A, 6, PETSC_TRUE, x));
  PetscCall(Random(p, da, A, 7, PETSC_TRUE, y));
  PetscCall(PCApply(pc, x, mx));
  PetscCall(PCApply(pc, y, my));
  PetscCall(VecDot(x, mx, &d[0]));
  PetscCall(VecDot(y, my, &d[1]));
  PetscCall(VecDot(x, my, &d[2]));
  PetscCall(VecDot(y, mx, &d[3]));
  for (int k = 0; k < 4; ++k)
    if (PetscIsInfOrNanScalar(d[k])) {
      PetscCall(Complain(p, s, "an application gives no number"));
      break;
    }
  PetscCall(VecNorm(x, NORM_INFINITY, &bn));
  PetscCall(VecNorm(y, NORM_INFINITY, &rn));
  if (bn > 1e-10 && rn > 1e-10) { /* not where the range is nothing */
    if (!(PetscRealPart(d[0]) > 0) || !(PetscRealPart(d[1]) > 0)) PetscCall(Complain(p, s, "not positive definite: x'Mx = %g and %g", (double)PetscRealPart(d[0]), (double)PetscRealPart(d[1])));
    else if (linear) {
      asymmetry = PetscAbsScalar(d[2] - d[3]) / PetscSqrtReal(PetscAbsScalar(d[0] * d[1]));
      /* of a singular A x and y are in the range but for rounding, of which M makes large numbers */
      if (!(asymmetry <= (single ? 1e-5 + 1e-7 * p->contrast : 1e-13 + 2e-16 * p->contrast) + (!p->null ? 0 : p->device ? 1e-7 : 1e-11))) PetscCall(Complain(p, s, "not symmetric: %g", (double)asymmetry));
      s->asymmetry[single] = PetscMax(s->asymmetry[single], asymmetry);
    }
  }

  /* the solver; CG takes a matrix that is symmetric but for Dirichlet rows if nothing is to do there, KSP rrb does them before */
  interior = (PetscBool)(strcmp(p->ksp, KSPRRB) || p->points != FIVE);
  if (p->manufactured) {
    PetscCall(Random(p, da, A, 8, interior, x));
    PetscCall(MatMult(A, x, b));
  } else PetscCall(Random(p, da, A, 8, interior, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecAYPX(y, -1, b));
  PetscCall(Norm(ksp, p->norm, b, mx, &bn));
  PetscCall(Norm(ksp, p->norm, y, mx, &rn));
  PetscCall(Rounding(p, da, x, my));
  PetscCall(Norm(ksp, p->norm, my, mx, &en));
  residual = bn > 0 ? rn / bn : rn;
  if (reason > 0) {
    if (!(rn <= 1.1e-8 * bn + 100 * en)) PetscCall(Complain(p, s, "%s after %" PetscInt_FMT " iterations, but the true residual is %g, rounding %g", KSPConvergedReasons[reason], its, (double)residual, (double)(en / bn)));
  } else {
    ++s->diverged;
    if (reason != KSP_DIVERGED_ITS || verbose) PetscCall(Complain(p, s, "%s after %" PetscInt_FMT " iterations, residual %g, rounding %g", KSPConvergedReasons[reason], its, (double)residual, (double)(en / bn)));
  }
  s->most[p->defaults] = PetscMax(s->most[p->defaults], its);
  if (its > (p->defaults ? DEFAULTS_SLOW : SLOW)) {
    ++s->slow[p->defaults];
    if (verbose) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "slow: rrb_random -only %" PetscInt_FMT ": %" PetscInt_FMT " iterations\n", p->number, its));
      PetscCall(Print(p));
    }
  }
  if (one) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s after %" PetscInt_FMT " iterations, true residual %g, rounding %g, asymmetry %g, x'Mx %g\n", KSPConvergedReasons[reason], its, (double)residual, (double)(en / bn), (double)asymmetry, (double)PetscRealPart(d[0])));
  if (one && verbose) PetscCall(KSPView(ksp, PETSC_VIEWER_STDOUT_WORLD));

  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&mx));
  PetscCall(VecDestroy(&my));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFree(p->v));
  PetscCall(PetscFree(p->parent));
  PetscCall(PetscFree(p->tied));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscInt    start = 0, count = 10000, only = -1, max = 70;
  PetscBool   verbose = PETSC_FALSE, one;
  PetscMPIInt size;
  Statistics  s;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-start", &start, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-max", &max, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, &one));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-verbose", &verbose));
  if (one) start = only, count = 1;
  PetscCall(PetscMemzero(&s, sizeof(s)));
  s.reports = 10;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reports", &s.reports, NULL));
  for (PetscInt k = start; k < start + count; ++k) {
    Problem p;

    Describe(&p, k, max);
    if (p.nx * p.ny < 16 * size && size > 1) continue; /* not enough for every process */
    PetscCall(Try(&p, &s, one, verbose));
  }
  if (verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " problems, %" PetscInt_FMT " singular, %" PetscInt_FMT " failures, %" PetscInt_FMT " drowned in rounding, %" PetscInt_FMT " did not converge; slow: %" PetscInt_FMT " with defaults, %" PetscInt_FMT " with other settings; most iterations %" PetscInt_FMT " and %" PetscInt_FMT "; asymmetry %g, single %g\n", s.problems, s.singular, s.failures, s.hopeless, s.diverged, s.slow[1], s.slow[0], s.most[1], s.most[0], (double)s.asymmetry[0], (double)s.asymmetry[1]));
  if (!one) {
    PetscCall(CheckTrue("finite, symmetric, positive definite, right answers", (PetscBool)!s.failures));
    PetscCall(Check("problems that drown in rounding", (PetscReal)s.hopeless, PetscMax(2, 0.004 * s.problems))); /* two of a few hundred may: which ones depends on the machine's arithmetic */
    PetscCall(Check("slow ones with defaults", (PetscReal)s.slow[1] / s.problems, 0.001));
    PetscCall(Check("slow ones with other settings", (PetscReal)s.slow[0] / s.problems, 0.01));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/rrb_random.out
    test:
      suffix: 1
      args: -start 0 -count 2500
    test:
      suffix: 2
      args: -start 2500 -count 2500
    test:
      suffix: 3
      args: -start 5000 -count 2500
    test:
      suffix: 4
      args: -start 7500 -count 2500
    test:
      suffix: ranks
      nsize: {{2 3}}
      args: -start 10000 -count 250 -max 160

TEST*/
