static char help[] =
  "SNES vipmg on nonlinear and rough problems beside PETSc's vinewtonrsls with a direct solver: both converge to the "
  "same\n"
  "solution.\n\n  -problem surface|power|ice   -n nodes per direction   -dim d   -most its   -cycles c   -count c -seed s\n"
  "  -random: of all kinds but ice, drawn by their seeds; -scale s: on grids s times as fine\n\n";
/*
  surface  minimal surface over an obstacle: a disc of radius 1/2 under the paraboloid -steep (r^2 - 1/16)
  power    -div (k (e^2 + |grad u|^2)^((p - 2)/2) grad u) + w . grad u = f with a given solution: k is -jump in blocks
           of -block nodes, chosen at random; a ball is in contact, or with -spots a share -density of the nodes, chosen
           at random, with the multiplier zero, or random up to -multiplier m
  ice      steady shallow ice of Glen's exponent 3 over a bed of sinusoids, or with -years t an implicit step of time:
           thickness >= 0 (Mahaffy's differences, upwind in what the bed drives)
  -fixed: the upper bound is the lower one
*/
#include "tessera.h"
#include <petscdmda.h>
#include <petscsnes.h>
#include <petsctime.h>

typedef enum {
  SURFACE,
  POWER,
  ICE
} Kind;
static const char *const kinds[] = {"surface", "power", "ice", "Kind", "", NULL};
typedef struct {
  Kind      kind;
  PetscInt  dim, n[3], block;
  PetscBool spots, fixed;
  PetscReal share; /* of the tolerance */
  PetscReal h[3], steep, p, soft, jump, wind, multiplier, relief, years, density;
  PetscInt  seed, scale; /* of the random grids */
  PetscInt  most, all; /* at most so many iterations, and cycles; 0: any number */
  Vec       f, lower, upper, first;
} Problem;

static PetscReal Hash(PetscInt seed, PetscInt a, PetscInt b)
{
  unsigned long long h = (unsigned long long)seed * 0x9E3779B97F4A7C15ull ^
                         ((unsigned long long)a + 1) * 0xBF58476D1CE4E5B9ull ^
                         ((unsigned long long)b + 7) * 0x94D049BB133111EBull;
  for (int k = 0; k < 3; ++k) h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9ull + 0x2545F4914F6CDD1Dull;
  return (PetscReal)(h >> 11) / 9007199254740992.;
}
static PetscInt Number(const Problem *p, const PetscInt *i)
{
  return i[0] + p->n[0] * (i[1] + p->n[1] * i[2]);
}
static PetscBool Edge(const Problem *p, const PetscInt *i)
{
  for (PetscInt d = 0; d < p->dim; ++d)
    if (i[d] == 0 || i[d] == p->n[d] - 1) return PETSC_TRUE;
  return PETSC_FALSE;
}
#define EACH_NODE(p, i) \
  PetscInt i[3]; \
  for (i[2] = 0; i[2] < (p)->n[2]; ++i[2]) \
    for (i[1] = 0; i[1] < (p)->n[1]; ++i[1]) \
      for (i[0] = 0; i[0] < (p)->n[0]; ++i[0])

/* a(g) of the flux a(|grad u|^2) grad u, and its derivative */
static PetscReal Diffusion(const Problem *p, PetscReal g, PetscReal *slope)
{
  if (p->kind == SURFACE) {
    *slope = -0.5 * PetscPowReal(1 + g, -1.5);
    return 1 / PetscSqrtReal(1 + g);
  }
  const PetscReal s = p->soft * p->soft + g;
  *slope            = 0.5 * (p->p - 2) * PetscPowReal(s, 0.5 * (p->p - 4));
  return PetscPowReal(s, 0.5 * (p->p - 2));
}
static PetscReal Coefficient(const Problem *p, const PetscInt *i, const PetscInt *side)
{
  PetscInt at = 0;
  for (PetscInt d = p->dim - 1; d >= 0; --d) at = at * 1000 + (i[d] - (side[d] < 0)) / p->block;
  return Hash(p->seed, at, 3) < 0.5 ? 1 : p->jump;
}
/* u at a node, which is zero at the edge */
static PetscReal Value(const Problem *p, const PetscScalar *u, const PetscInt *i)
{
  return Edge(p, i) ? 0 : u[Number(p, i)];
}

/* Energy is a sum over the corners of cells, in each of which the gradient is that of the edges that meet there: f,
   its derivatives; J, if there is one, those of f. */
static PetscErrorCode Corner(const Problem *p, const PetscScalar *u, const PetscInt *i, const PetscInt *side,
                             PetscScalar *f, Mat J)
{
  PetscInt    node[4][3], at[4];
  PetscReal   g[3], square = 0, slope, weight = 1;
  PetscScalar v[16];

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k <= p->dim; ++k) {
    for (PetscInt d = 0; d < 3; ++d) node[k][d] = i[d];
    if (k) node[k][k - 1] += side[k - 1];
    at[k] = Edge(p, node[k]) ? -1 : Number(p, node[k]);
  }
  for (PetscInt d = 0; d < p->dim; ++d) {
    g[d] = (Value(p, u, node[d + 1]) - Value(p, u, i)) / (side[d] * p->h[d]);
    square += g[d] * g[d];
    weight *= 0.5 * p->h[d];
  }
  weight *= Coefficient(p, i, side);
  const PetscReal a = Diffusion(p, square, &slope);
  if (f)
    for (PetscInt d = 0; d < p->dim; ++d) {
      const PetscReal q = weight * a * g[d] / (side[d] * p->h[d]);
      if (at[d + 1] >= 0) f[at[d + 1]] += q;
      if (at[0] >= 0) f[at[0]] -= q;
    }
  if (J) {
    const PetscInt m = p->dim + 1;
    PetscCall(PetscArrayzero(v, 16));
    for (PetscInt d = 0; d < p->dim; ++d)
      for (PetscInt e = 0; e < p->dim; ++e) {
        const PetscReal c =
          weight * ((d == e ? a : 0) + 2 * slope * g[d] * g[e]) / (side[d] * p->h[d] * side[e] * p->h[e]);
        v[(d + 1) * m + e + 1] += c;
        v[(d + 1) * m] -= c;
        v[e + 1] -= c;
        v[0] += c;
      }
    PetscCall(MatSetValues(J, m, at, m, at, v, ADD_VALUES));
  }
  PetscFunctionReturn(0);
}

/* A whirl, by upwind differences */
static PetscErrorCode Wind(const Problem *p, const PetscScalar *u, PetscScalar *f, Mat J)
{
  PetscFunctionBeginUser;
  EACH_NODE(p, i)
  {
    if (Edge(p, i)) continue;
    for (PetscInt d = 0; d < 2; ++d) {
      const PetscReal w    = p->wind * (d ? i[0] * p->h[0] - 0.5 : 0.5 - i[1] * p->h[1]);
      PetscReal       c    = PetscAbsReal(w);
      PetscInt        j[3] = {i[0], i[1], i[2]}, at[2];
      for (PetscInt e = 0; e < p->dim; ++e)
        if (e != d) c *= p->h[e];
      j[d] += w > 0 ? -1 : 1;
      at[0] = Number(p, i), at[1] = Edge(p, j) ? -1 : Number(p, j);
      const PetscScalar v[2] = {c, -c};
      if (f) f[at[0]] += c * (u[at[0]] - Value(p, u, j));
      if (J) PetscCall(MatSetValues(J, 1, at, 2, at, v, ADD_VALUES));
    }
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode Elliptic(const Problem *p, Vec X, Vec F, Mat J)
{
  const PetscScalar *u;
  PetscScalar       *f = NULL;

  PetscFunctionBeginUser;
  if (F) {
    PetscCall(VecZeroEntries(F));
    PetscCall(VecGetArray(F, &f));
  }
  if (J) PetscCall(MatZeroEntries(J));
  PetscCall(VecGetArrayRead(X, &u));
  EACH_NODE(p, i)
  {
    const PetscInt me = Number(p, i);
    if (Edge(p, i)) {
      if (f) f[me] = u[me];
      if (J) PetscCall(MatSetValue(J, me, me, 1, ADD_VALUES));
    }
    for (PetscInt c = 0; c < 1 << p->dim; ++c) {
      PetscInt  side[3];
      PetscBool out = PETSC_FALSE;
      for (PetscInt d = 0; d < 3; ++d) {
        side[d] = c >> d & 1 ? 1 : -1;
        if (d < p->dim && (i[d] + side[d] < 0 || i[d] + side[d] >= p->n[d])) out = PETSC_TRUE;
      }
      if (!out) PetscCall(Corner(p, u, i, side, f, J));
    }
  }
  if (p->wind > 0) PetscCall(Wind(p, u, f, J));
  PetscCall(VecRestoreArrayRead(X, &u));
  if (f) PetscCall(VecRestoreArray(F, &f));
  if (J) {
    PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(0);
}

/* Ice: metres and years on a square of 1800 km */
static PetscReal Bed(const Problem *p, const PetscInt *i)
{
  const PetscReal x = i[0] * p->h[0] / 1.8e6, y = i[1] * p->h[1] / 1.8e6;
  return p->relief * (PetscSinReal(2 * PETSC_PI * 3 * x) * PetscSinReal(2 * PETSC_PI * 2 * y) +
                      0.5 * PetscCosReal(2 * PETSC_PI * 7 * x + 1) * PetscSinReal(2 * PETSC_PI * 9 * y) +
                      0.2 * PetscSinReal(2 * PETSC_PI * 17 * x) * PetscCosReal(2 * PETSC_PI * 15 * y + 2));
}
static PetscReal Snow(const Problem *p, const PetscInt *i)
{
  const PetscReal x = i[0] * p->h[0] - 9e5, y = i[1] * p->h[1] - 9e5;
  return PetscMin(0.5, 1e-5 * (4.5e5 - PetscSqrtReal(x * x + y * y)));
}
/* The flux from node i to the next along d, times the length of the side */
static PetscReal Flux(const Problem *p, const PetscScalar *H, const PetscInt *i, PetscInt d)
{
  const PetscInt o    = 1 - d;
  PetscInt       j[3] = {i[0], i[1], 0}, a[3], b[3], c[3], e[3];
  j[d] += 1;
  for (PetscInt k = 0; k < 3; ++k) a[k] = b[k] = i[k], c[k] = e[k] = j[k];
  a[o] -= 1, b[o] += 1, c[o] -= 1, e[o] += 1;
#define SURFACE_AT(q) (H[Number(p, q)] + Bed(p, q))
  const PetscReal along  = (SURFACE_AT(j) - SURFACE_AT(i)) / p->h[d],
                  across = (SURFACE_AT(b) + SURFACE_AT(e) - SURFACE_AT(a) - SURFACE_AT(c)) / (4 * p->h[o]);
  const PetscReal slope = (Bed(p, j) - Bed(p, i)) / p->h[d], rise = (H[Number(p, j)] - H[Number(p, i)]) / p->h[d];
  const PetscReal mean = 0.5 * (H[Number(p, i)] + H[Number(p, j)]), upwind = H[Number(p, slope < 0 ? i : j)];
  return -2.8456e-5 * (along * along + across * across + 1e-10) *
         (PetscPowReal(mean, 5) * rise + PetscPowReal(upwind, 5) * slope) * p->h[o];
}
static PetscErrorCode Ice(const Problem *p, Vec X, Vec F)
{
  const PetscScalar *H, *before;
  PetscScalar       *f;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayRead(X, &H));
  PetscCall(VecGetArrayRead(p->first, &before));
  PetscCall(VecGetArray(F, &f));
  EACH_NODE(p, i)
  {
    const PetscInt me  = Number(p, i);
    PetscReal      sum = -Snow(p, i) * p->h[0] * p->h[1];
    if (Edge(p, i)) {
      f[me] = H[me];
      continue;
    }
    for (PetscInt d = 0; d < 2; ++d) {
      PetscInt j[3] = {i[0], i[1], 0};
      j[d] -= 1;
      sum += Flux(p, H, i, d) - Flux(p, H, j, d);
    }
    f[me] = sum / (p->h[0] * p->h[1]) + (p->years > 0 ? (H[me] - before[me]) / p->years : 0);
  }
  PetscCall(VecRestoreArrayRead(X, &H));
  PetscCall(VecRestoreArrayRead(p->first, &before));
  PetscCall(VecRestoreArray(F, &f));
  PetscFunctionReturn(0);
}

static PetscErrorCode Function(SNES snes, Vec X, Vec F, void *ctx)
{
  Problem *p = (Problem *)ctx;

  PetscFunctionBeginUser;
  (void)snes;
  if (p->kind == ICE) PetscCall(Ice(p, X, F));
  else {
    PetscCall(Elliptic(p, X, F, NULL));
    PetscCall(VecAXPY(F, -1, p->f));
  }
  PetscFunctionReturn(0);
}
static PetscErrorCode Jacobian(SNES snes, Vec X, Mat A, Mat B, void *ctx)
{
  PetscFunctionBeginUser;
  (void)snes;
  (void)A;
  PetscCall(Elliptic((Problem *)ctx, X, NULL, B));
  PetscFunctionReturn(0);
}

/* Right-hand side, bounds, start */
static PetscErrorCode Data(Problem *p)
{
  PetscScalar *f, *l, *x;
  Vec          solution;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(p->f, &solution));
  PetscCall(VecZeroEntries(p->f));
  PetscCall(VecSet(p->upper, PETSC_INFINITY));
  PetscCall(VecZeroEntries(p->first));
  PetscCall(VecGetArray(solution, &x));
  PetscCall(VecGetArray(p->lower, &l));
  for (PetscInt pass = 0; pass < 2; ++pass) { /* the second: what presses, and the start */
    if (pass) {
      PetscCall(VecRestoreArray(solution, &x));
      if (p->kind == POWER) PetscCall(Elliptic(p, solution, p->f, NULL));
      PetscCall(VecGetArray(p->f, &f));
      PetscCall(VecGetArray(p->first, &x));
    }
    EACH_NODE(p, i)
    {
      const PetscInt me = Number(p, i);
      PetscReal      r = 0, bump = 1, volume = 1;
      for (PetscInt d = 0; d < p->dim; ++d) {
        const PetscReal at = i[d] / (p->n[d] - 1.) - 0.5;
        r += at * at;
        bump *= PetscCosReal(PETSC_PI * at);
        volume *= p->h[d];
      }
      if (p->kind == SURFACE && !pass) l[me] = Edge(p, i) || r > 0.25 ? PETSC_NINFINITY : p->steep * (0.0625 - r);
      if (p->kind == POWER) {
        const PetscBool contact = Edge(p, i) ? PETSC_FALSE
                                : p->spots   ? (PetscBool)(Hash(p->seed, me, 4) < p->density)
                                             : (PetscBool)(r < 0.08);
        if (!pass) {
          x[me] = Edge(p, i) ? 0 : bump * (1 + 0.3 * PetscSinReal(9 * i[0] * p->h[0]));
          l[me] = contact ? x[me] : x[me] - 0.1 - (p->p > 3 ? p->h[0] : 1) * Hash(p->seed, me, 1);
        } else if (contact) f[me] -= p->multiplier * volume * Hash(p->seed, me, 2);
      }
      if (p->kind == ICE && !pass) l[me] = 0;
      if (p->kind == ICE && pass)
        x[me] = Edge(p, i) ? 0 : 3500 * PetscPowReal(PetscMax(0, 1 - PetscPowReal(r / 0.2, 2. / 3)), 0.375);
    }
  }
  PetscCall(VecRestoreArray(p->f, &f));
  PetscCall(VecRestoreArray(p->first, &x));
  PetscCall(VecRestoreArray(p->lower, &l));
  PetscCall(VecDestroy(&solution));
  PetscFunctionReturn(0);
}

static PetscErrorCode Solve(Problem *p, DM da, const char *type, Vec X, PetscInt *its, PetscInt *linear,
                            SNESConvergedReason *reason)
{
  SNES snes;
  KSP  ksp;
  PC   pc;
  Mat  J;
  PetscReal norm = 0;

  PetscFunctionBeginUser;
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, da));
  PetscCall(SNESSetFunction(snes, NULL, Function, p));
  PetscCall(DMCreateMatrix(da, &J));
  if (p->kind != ICE) PetscCall(SNESSetJacobian(snes, J, J, Jacobian, p)); /* else by differences in colours */
  PetscCall(SNESSetType(snes, type));
  PetscCall(SNESVISetVariableBounds(snes, p->lower, p->upper));
  /* The first norm says little: a start of steep gradients has norms of 1e7 and more. With p = 10 the least
     conductivities are 1e-8 of the largest. */
  if (p->kind == POWER) PetscCall(VecNorm(p->f, NORM_2, &norm));
  PetscCall(SNESSetTolerances(snes, PetscMax(p->share * (p->p > 9 ? 1e-12 : 1e-10) * norm, 1e-50), norm > 0 ? 0 : p->kind == ICE ? 1e-8 : 1e-10, 0, 200,
                              1000000));
  PetscCall(SNESSetOptionsPrefix(snes, type[2] == 'p' ? NULL : "rs_"));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(PCSetType(pc, PCLU));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(VecCopy(p->first, X));
  PetscCall(SNESSolve(snes, NULL, X));
  PetscCall(SNESGetIterationNumber(snes, its));
  PetscCall(SNESGetLinearSolveIterations(snes, linear));
  PetscCall(SNESGetConvergedReason(snes, reason));
  PetscCall(MatDestroy(&J));
  PetscCall(SNESDestroy(&snes));
  PetscFunctionReturn(0);
}

static PetscErrorCode Compare(Problem *p, PetscBool verbose, PetscBool *same)
{
  DM                  da;
  Vec                 X, Y;
  PetscInt            its[2], linear[2];
  PetscReal           error, scale;
  PetscLogDouble      time[3];
  SNESConvergedReason reason[2];

  PetscFunctionBeginUser;
  if (p->dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, p->n[0], p->n[1], 1,
                           1, 1, 1, NULL, NULL, &da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX,
                           p->n[0], p->n[1], p->n[2], 1, 1, 1, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &X));
  PetscCall(VecDuplicate(X, &p->f));
  PetscCall(VecDuplicate(X, &p->lower));
  PetscCall(VecDuplicate(X, &p->upper));
  PetscCall(VecDuplicate(X, &p->first));
  PetscCall(VecDuplicate(X, &Y));
  PetscCall(Data(p));
  if (p->fixed) PetscCall(VecCopy(p->lower, p->upper));
  for (p->share = 1; p->share > 1e-4; p->share *= 1e-3) { /* points that differ may both be within a tolerance */
    PetscCall(PetscTime(&time[0]));
    PetscCall(Solve(p, da, SNESVIPMG, X, &its[0], &linear[0], &reason[0]));
    PetscCall(PetscTime(&time[1]));
    PetscCall(Solve(p, da, SNESVINEWTONRSLS, Y, &its[1], &linear[1], &reason[1]));
    PetscCall(PetscTime(&time[2]));
    PetscCall(VecNorm(Y, NORM_INFINITY, &scale));
    PetscCall(VecAXPY(Y, -1, X));
    PetscCall(VecNorm(Y, NORM_INFINITY, &error));
    if (reason[0] < 0 || reason[1] < 0 || error <= 1e-5 * scale) break;
  }
  *same = reason[0] > 0 && (reason[1] < 0 || error <= 1e-5 * scale) && (!p->most || its[0] <= p->most) &&
              (!p->all || linear[0] <= p->all)
            ? PETSC_TRUE
            : PETSC_FALSE;
  if (verbose || !*same)
    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "%s %" PetscInt_FMT "^%" PetscInt_FMT " seed %" PetscInt_FMT ": vipmg %s, %" PetscInt_FMT
                          " iterations, %" PetscInt_FMT " cycles, %.2f s; vinewtonrsls %s, %" PetscInt_FMT
                          " iterations, %.2f s; difference %.1e\n",
                          kinds[p->kind], p->n[0], p->dim, p->seed, SNESConvergedReasons[reason[0]], its[0], linear[0],
                          time[1] - time[0], SNESConvergedReasons[reason[1]], its[1], time[2] - time[1],
                          (double)(error / scale)));
  PetscCall(VecDestroy(&p->f));
  PetscCall(VecDestroy(&p->lower));
  PetscCall(VecDestroy(&p->upper));
  PetscCall(VecDestroy(&p->first));
  PetscCall(VecDestroy(&X));
  PetscCall(VecDestroy(&Y));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

/* A problem of its seed: jumps to 1e6, exponents from 1.2 to 10, wind, steep obstacles, degenerate contact */
static void Draw(Problem *p)
{
  const PetscReal wanted[] = {1.2, 1.5, 2, 2, 3, 4, 10};
  const PetscInt  exponent = (PetscInt)(7 * Hash(p->seed, 1, 50));
  p->kind       = Hash(p->seed, 0, 50) < 0.2 ? SURFACE : POWER;
  p->dim        = Hash(p->seed, 2, 50) < 0.6 ? 2 : 3;
  p->p          = wanted[exponent];
  p->soft       = exponent < 6 ? 0.1 : 0.3; /* beyond, rounding decides where conductivity is least */
  p->jump       = exponent > 3 || p->kind == SURFACE ? 1 : PetscPowReal(10, (PetscInt)(7 * Hash(p->seed, 3, 50)));
  p->block      = 1 << (PetscInt)(5 * Hash(p->seed, 4, 50));
  p->spots      = Hash(p->seed, 5, 50) < 0.5 ? PETSC_TRUE : PETSC_FALSE;
  p->wind       = p->kind == POWER && Hash(p->seed, 6, 50) < 0.3 ? PetscPowReal(10, 4 * Hash(p->seed, 7, 50)) : 0;
  p->multiplier = Hash(p->seed, 8, 50) < 0.5 ? 0 : 100;
  p->steep      = 1 + 29 * Hash(p->seed, 9, 50);
  for (PetscInt d = 0; d < 3; ++d) {
    p->n[d] = d >= p->dim ? 1 : p->scale * ((p->dim == 2 ? 17 : 7) + (PetscInt)((p->dim == 2 ? 24 : 5) * Hash(p->seed, 10 + d, 50)));
    p->h[d] = d < p->dim ? 1. / (p->n[d] - 1) : 1;
  }
}

int main(int argc, char **argv)
{
  Problem p = {
    SURFACE, 2, {0, 0, 1},
      16, PETSC_FALSE, PETSC_FALSE, 1, {1, 1, 1},
      10,   2,    1e-3, 1,
    0,       0, 500,       0,  0.5,  1,           1,           0,           0,         NULL, NULL, NULL, NULL
  };
  PetscInt  n = 65, count = 1, same = 0;
  PetscBool verbose = PETSC_FALSE, random = PETSC_FALSE, one = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-problem", kinds, (PetscEnum *)&p.kind, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &p.dim, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &p.most, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cycles", &p.all, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &p.seed, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-scale", &p.scale, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-fixed", &p.fixed, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-block", &p.block, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-spots", &p.spots, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-steep", &p.steep, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-p", &p.p, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-soft", &p.soft, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-jump", &p.jump, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-wind", &p.wind, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-multiplier", &p.multiplier, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-relief", &p.relief, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-years", &p.years, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-density", &p.density, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-random", &random, NULL));
  for (PetscInt d = 0; d < 3; ++d) {
    p.n[d] = d < p.dim ? n : 1;
    p.h[d] = d < p.dim ? (p.kind == ICE ? 1.8e6 : 1.) / (n - 1) : 1;
  }
  for (PetscInt k = 0; k < count; ++k, ++p.seed) {
    if (random) Draw(&p);
    PetscCall(Compare(&p, verbose, &one));
    same += one;
  }
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " of %" PetscInt_FMT " converge to the solution\n", same, count));
  PetscCall(PetscFinalize());
  return 0;
}
/*TEST

  testset: # the energy falls over all of a step whose end has the larger residual
    output_file: output/vipmg_nonlinear.out
    test:
      suffix: jump
      args: -problem power -jump 1e4 -spots -block 1 -n 65 -seed 3
    test:
      suffix: surface
      args: -problem surface -steep 20 -n 65 -most 10
    test: # rows without a positive diagonal entry, and empty ones
      suffix: ice_step
      args: -problem ice -n 33 -relief 300 -years {{100 1000}}
    test: # steps that raise the residual on the way
      suffix: ice
      args: -problem ice -n 49 -relief 0 -most 16
    test: # nonlinear with convection: F becomes orthogonal to the step where the residual is large
      suffix: convection
      args: -random -seed {{19 36 50 183 196 199 3341}}
    test: # exponents below two with convection: whole steps go to and fro
      suffix: turned
      args: -random -seed {{5175 5376 71014}} -most 12
    test: # small grids in space without symmetry
      suffix: small
      args: -random -seed {{5298 71005 71033}} -cycles 7
    test: # a linear problem, whose start from coarse grids is dropped: the Jacobian is kept
      suffix: kept
      args: -problem power -jump 1e6 -block 4 -spots -dim 3 -n 13 -multiplier 100 -seed 4500019 -most 2
    test: # a linear problem of so few nodes that a factorization takes as long as a cycle or two
      suffix: few
      args: -problem power -jump 100 -block 16 -spots -wind 1123 -n 33 -multiplier 100 -seed 4500053 -cycles 5
    test: # a variant without systems of the inactive nodes, to which no cycles are left
      suffix: few_monotone
      args: -problem power -jump 100 -block 16 -spots -wind 1123 -n 33 -multiplier 100 -seed 4500053 -cycles 12 -most 2
      args: -snes_vipmg_variant monotone
    test: # steps that leave much of the residual need no exact ones
      suffix: loose
      args: -random -seed 990002 -cycles 36
    test: # jumps with convection and contact in spots, on which cycles stand still: systems of the inactive nodes
      suffix: reduced
      args: -random -seed {{187 376 615 821 1313 1583 1584}}
    test: # points that differ and are within the tolerance
      suffix: close
      args: -random -seed 2374
    test: # finer grids
      suffix: finer
      args: -random -scale 2 -seed 40 -count 5
      output_file: output/vipmg_nonlinear_5.out
    test: # the same, too large for a factorization at once
      suffix: spots
      args: -problem power -jump 1e4 -spots -block 1 -n 129 -seed 3 -most 3 -cycles 20
    test: # blocks, with contact that presses and contact that does not
      suffix: blocks
      requires: hypre
      args: -problem power -jump 1e4 -spots -block 16 -n 257 -seed 3 -multiplier {{0 100}} -cycles 17
      args: -rs_ksp_type cg -rs_pc_type hypre
    test: # many spots beside others that do not press: coarse grids would take most of them away from their bounds
      suffix: blocks_pressed
      requires: hypre
      args: -problem power -jump {{1e3 1e5}} -spots -block 4 -n 257 -seed 25 -density 0.25 -multiplier 1e4 -cycles 20
      args: -rs_ksp_type cg -rs_pc_type hypre
    test:
      suffix: blocks_3d
      requires: hypre
      args: -problem power -jump 1e4 -spots -block 8 -n 33 -dim 3 -seed 3 -multiplier 100 -cycles 17
      args: -rs_ksp_type cg -rs_pc_type hypre
    test: # the same by the program's choice
      suffix: spots_ksp
      args: -problem power -jump 1e4 -spots -block 1 -n 129 -seed 3 -most 3 -cycles 20
      args: -snes_vipmg_ksp_type preonly -snes_vipmg_pc_type lu
    test: # a norm of zero with a tolerance of zero
      suffix: fixed
      args: -problem power -n 17 -fixed -snes_atol 0 -snes_max_it 0
  test: # what vinewtonrsls solves; thousands with -count
    suffix: property
    args: -random -count 150

TEST*/
