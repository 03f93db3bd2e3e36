static char help[] = "SNES vipmg on published obstacle problems: cycles, energies and active sets against the reference values.\n\n"
                     "  -problem ball|spiral|torsion|sides|dam|ball3|sides3|wind|gyres|whirls   -n nodes per direction   -most cycles   -energy e -active a -tolerance t   -seed s\n\n";
/*
  ball    obstacle problem of a hemisphere on (-2,2)^2 with its exact solution (PETSc's snes/tutorials/ex9.c)
  spiral  Graeser and Kornhuber, J. Comput. Math. 27 (2009), section 7.1.1
  torsion elastic-plastic torsion of a square bar, C = 2.5: -Laplace u = 5, u <= distance to the boundary
  sides   -Laplace u = 40 sin(3 pi x) sin(2 pi y), |u| <= distance to the boundary
  dam     seepage through a dam with vertical sides: Baiocchi's variable, Brandt and Cryer, SIAM J. Sci. Stat. Comput. 4 (1983); a = 16, y1 = 24, y2 = 4
  ball3, sides3   the same in three dimensions
  wind    -Laplace u + Pe w . grad u = Pe (2 + 10 sin 6x cos 5y), w a whirl around the middle, |u - 1/4| <= 1/4: upwind differences
  gyres   the same with w of two whirls side by side, 0 <= u <= 100
  whirls  the same with whirls, sources and bounds that the seed says; those divisible by five have no bounds
*/
#include "tessera.h"
#include <petscdmda.h>
#include <petscsnes.h>

typedef enum { BALL, SPIRAL, TORSION, SIDES, DAM, BALL3, SIDES3, WIND, GYRES, WHIRLS } Kind;
static const char *const kinds[] = {"ball", "spiral", "torsion", "sides", "dam", "ball3", "sides3", "wind", "gyres", "whirls", "Kind", "", NULL};
typedef struct {
  Kind      kind;
  PetscInt  dim, n[3];
  PetscReal lo[3], h[3], peclet, layers; /* couplings along y in the first half, along x in the second, are weaker by this factor */
  PetscReal random[17];                  /* of the whirls, in [0, 1]; the last says whether there are bounds */
} Problem;

static PetscReal Ball(PetscReal r)
{
  const PetscReal r0 = 0.9, p0 = PetscSqrtReal(1 - r0 * r0);
  return r <= r0 ? PetscSqrtReal(1 - r * r) : p0 - r0 / p0 * (r - r0);
}
static PetscReal Radius(const PetscReal *x, PetscInt dim) { return PetscSqrtReal(x[0] * x[0] + x[1] * x[1] + (dim > 2 ? x[2] * x[2] : 0)); }
/* Contact up to the radius where tangents of ball and harmonic function agree */
static PetscReal Exact(const Problem *p, const PetscReal *x)
{
  const PetscReal r = Radius(x, p->dim);
  if (p->kind == BALL) return r <= 0.697965148223374 ? Ball(r) : -0.680259411891719 * PetscLogReal(r) + 0.471519893402112;
  if (p->kind == BALL3) { /* A/r + B, with the value and the slope of the ball at radius a */
    const PetscReal a = 0.760189330894903, slope = -a / PetscSqrtReal(1 - a * a), A = -slope * a * a, B = PetscSqrtReal(1 - a * a) - A / a;
    return r <= a ? Ball(r) : A / r + B;
  }
  if (p->kind == DAM) {
    const PetscReal a = 16, y1 = 24, y2 = 4, e = 1e-9;
    if (x[0] < e) return 0.5 * (y1 - x[1]) * (y1 - x[1]);
    if (x[0] > a - e) return x[1] <= y2 ? 0.5 * (y2 - x[1]) * (y2 - x[1]) : 0;
    if (x[1] > y1 - e) return 0;
    return 0.5 * y1 * y1 - (y1 * y1 - y2 * y2) * x[0] / (2 * a);
  }
  return 0;
}
static PetscReal Distance(const PetscReal *x, PetscInt dim)
{
  PetscReal d = 1;
  for (PetscInt k = 0; k < dim; ++k) d = PetscMin(d, PetscMin(x[k], 1 - x[k]));
  return d;
}
static PetscReal Source(const Problem *p, const PetscReal *x)
{
  switch (p->kind) {
  case TORSION:
    return 5;
  case SIDES:
    return 40 * PetscSinReal(3 * PETSC_PI * x[0]) * PetscSinReal(2 * PETSC_PI * x[1]);
  case SIDES3:
    return 60 * PetscSinReal(3 * PETSC_PI * x[0]) * PetscSinReal(2 * PETSC_PI * x[1]) * PetscSinReal(PETSC_PI * x[2]);
  case DAM:
    return -1;
  case WHIRLS:
    return p->peclet * (10 * (p->random[9] - 0.5) + 10 * PetscSinReal(10 * (p->random[10] * x[0] + p->random[11])) * PetscCosReal(10 * (p->random[12] * x[1] + p->random[13])));
  case WIND:
  case GYRES:
    return p->peclet * (2 + 10 * PetscSinReal(6 * x[0]) * PetscCosReal(5 * x[1]));
  default:
    return 0;
  }
}
static void Bounds(const Problem *p, const PetscReal *x, PetscReal *l, PetscReal *u)
{
  const PetscReal r = Radius(x, p->dim);
  *l = PETSC_NINFINITY, *u = PETSC_INFINITY;
  switch (p->kind) {
  case BALL:
  case BALL3:
    *l = Ball(r);
    break;
  case SPIRAL: {
    const PetscReal t = PetscAtan2Real(x[1], x[0]);
    *l = r < 1e-12 ? 3.6 : PetscSinReal(2 * PETSC_PI / r + PETSC_PI / 2 - t) + r * (r + 1) / (r - 2) - 3 * r + 3.6;
    break;
  }
  case TORSION:
    *u = Distance(x, p->dim);
    break;
  case SIDES:
  case SIDES3:
    *u = Distance(x, p->dim);
    *l = -*u;
    break;
  case DAM:
    *l = 0;
    break;
  case WIND:
    *l = 0;
    *u = 0.5;
    break;
  case GYRES:
    *l = 0;
    *u = 100;
    break;
  case WHIRLS:
    if (p->random[16] > 0) *l = -10 * p->random[14], *u = PetscPowReal(10, -1 + 3 * p->random[15]);
    break;
  }
}
static PetscBool Edge(const Problem *p, const PetscInt *i)
{
  for (PetscInt d = 0; d < p->dim; ++d)
    if (i[d] == 0 || i[d] == p->n[d] - 1) return PETSC_TRUE;
  return PETSC_FALSE;
}
static void Place(const Problem *p, const PetscInt *i, PetscReal *x)
{
  for (PetscInt d = 0; d < 3; ++d) x[d] = p->lo[d] + i[d] * p->h[d];
}
/* -Laplace times the volume of a cell: the coupling along direction d */
static PetscReal Coupling(const Problem *p, PetscInt d)
{
  PetscReal c = 1 / p->h[d];
  for (PetscInt k = 0; k < p->dim; ++k)
    if (k != d) c *= p->h[k];
  return c;
}

static PetscReal Stream(const Problem *p, PetscReal x, PetscReal y)
{
  PetscReal sum = 0;
  if (p->kind == WHIRLS) {
    for (PetscInt k = 0; k < 9; ++k) sum += (p->random[k] - 0.5) / 3 * PetscSinReal((1 + k % 3) * PETSC_PI * x) * PetscSinReal((1 + k / 3) * PETSC_PI * y);
    return sum;
  }
  return PetscSinReal(2 * PETSC_PI * x) * PetscSinReal(PETSC_PI * y) / PETSC_PI;
}
/* The coupling of node i with the one beside it along direction d, on side s: upwind of the wind, if there is one. */
static PetscReal Beside(const Problem *p, const PetscInt *i, PetscInt d, PetscInt s)
{
  PetscReal c = Coupling(p, d);
  if (d < 2 && (d == 0) == (PetscMin(i[0], d ? i[0] : i[0] + s) >= p->n[0] / 2)) c *= p->layers;
  if (p->kind == WIND) {
    const PetscReal w = 4 * p->peclet * (d ? i[0] * p->h[0] - 0.5 : 0.5 - i[1] * p->h[1]);
    c += PetscMax(0, -s * w) * p->h[1 - d];
  }
  if (p->kind == GYRES || p->kind == WHIRLS) { /* what flows through the face, by the stream function at its ends */
    const PetscReal x = (i[0] + (d ? 0 : 0.5 * s)) * p->h[0], y = (i[1] + (d ? 0.5 * s : 0)) * p->h[1], a = d ? s * 0.5 * p->h[0] : 0, b = d ? 0 : s * 0.5 * p->h[1];
    c += p->peclet * PetscMax(0, Stream(p, x + a, y - b) - Stream(p, x - a, y + b));
  }
  return c;
}

/* Calls f at every own node. */
#define EACH_NODE(da, i) \
  PetscInt s_[3], m_[3], i[3]; \
  PetscCall(DMDAGetCorners(da, &s_[0], &s_[1], &s_[2], &m_[0], &m_[1], &m_[2])); \
  for (i[2] = s_[2]; i[2] < s_[2] + m_[2]; ++i[2]) \
    for (i[1] = s_[1]; i[1] < s_[1] + m_[1]; ++i[1]) \
      for (i[0] = s_[0]; i[0] < s_[0] + m_[0]; ++i[0])

static PetscErrorCode Sizes(Problem *p, DM da)
{
  PetscFunctionBeginUser;
  PetscCall(DMDAGetInfo(da, NULL, &p->n[0], &p->n[1], &p->n[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  for (PetscInt d = 0; d < 3; ++d) {
    p->lo[d] = p->kind == BALL || p->kind == BALL3 ? -2 : p->kind == SPIRAL ? -1 : 0;
    p->h[d]  = d < p->dim ? (p->kind == DAM ? (d ? 24. : 16.) : p->kind == BALL || p->kind == BALL3 ? 4. : p->kind == SPIRAL ? 2. : 1.) / (p->n[d] - 1) : 1;
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode Function(SNES snes, Vec X, Vec F, void *ctx)
{
  Problem           *p = (Problem *)ctx;
  DM                 da;
  Vec                L;
  const PetscScalar *u;
  PetscScalar       *f;
  PetscInt           gs[3], gm[3];
  PetscReal          x[3], y[3];

  PetscFunctionBeginUser;
  PetscCall(SNESGetDM(snes, &da));
  PetscCall(Sizes(p, da));
  PetscCall(DMGetLocalVector(da, &L));
  PetscCall(DMGlobalToLocal(da, X, INSERT_VALUES, L));
  PetscCall(DMDAGetGhostCorners(da, &gs[0], &gs[1], &gs[2], &gm[0], &gm[1], &gm[2]));
  PetscCall(VecGetArrayRead(L, &u));
  PetscCall(VecGetArray(F, &f));
  PetscReal volume = 1;
  for (PetscInt d = 0; d < p->dim; ++d) volume *= p->h[d];
  PetscInt at = 0;
  EACH_NODE(da, i)
  {
    const PetscInt step[3] = {1, gm[0], gm[0] * gm[1]}, e = i[0] - gs[0] + gm[0] * (i[1] - gs[1] + gm[1] * (i[2] - gs[2]));
    Place(p, i, x);
    if (Edge(p, i)) f[at++] = u[e] - Exact(p, x);
    else {
      PetscReal sum = -volume * Source(p, x);
      for (PetscInt d = 0; d < p->dim; ++d)
        for (PetscInt s = -1; s <= 1; s += 2) {
          PetscInt j[3] = {i[0], i[1], i[2]};
          j[d] += s;
          PetscReal v = u[e + s * step[d]];
          if (Edge(p, j)) {
            Place(p, j, y);
            v = Exact(p, y);
          }
          sum += Beside(p, i, d, s) * (u[e] - v);
        }
      f[at++] = sum;
    }
  }
  PetscCall(VecRestoreArrayRead(L, &u));
  PetscCall(VecRestoreArray(F, &f));
  PetscCall(DMRestoreLocalVector(da, &L));
  PetscFunctionReturn(0);
}

static PetscErrorCode Jacobian(SNES snes, Vec X, Mat A, Mat B, void *ctx)
{
  Problem *p = (Problem *)ctx;
  DM       da;

  PetscFunctionBeginUser;
  (void)X;
  (void)A;
  PetscCall(SNESGetDM(snes, &da));
  PetscCall(Sizes(p, da));
  EACH_NODE(da, i)
  {
    MatStencil  row = {i[2], i[1], i[0], 0}, col[7];
    PetscScalar v[7];
    PetscInt    n = 1;
    col[0] = row;
    v[0]   = Edge(p, i) ? 1 : 0;
    if (!Edge(p, i))
      for (PetscInt d = 0; d < p->dim; ++d)
        for (PetscInt s = -1; s <= 1; s += 2) {
          PetscInt j[3] = {i[0], i[1], i[2]};
          j[d] += s;
          v[0] += Beside(p, i, d, s);
          if (Edge(p, j)) continue;
          col[n] = (MatStencil){j[2], j[1], j[0], 0};
          v[n++] = -Beside(p, i, d, s);
        }
    PetscCall(MatSetValuesStencil(B, 1, &row, n, col, v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static Problem *problem; /* bounds callbacks have no context */
static PetscErrorCode VariableBounds(SNES snes, Vec XL, Vec XU)
{
  DM           da;
  PetscScalar *l, *u;
  PetscReal    x[3];
  PetscInt     at = 0;

  PetscFunctionBeginUser;
  PetscCall(SNESGetDM(snes, &da));
  PetscCall(Sizes(problem, da));
  PetscCall(VecGetArray(XL, &l));
  PetscCall(VecGetArray(XU, &u));
  EACH_NODE(da, i)
  {
    Place(problem, i, x);
    Bounds(problem, x, &l[at], &u[at]);
    if (problem->kind == BALL || problem->kind == BALL3 || problem->kind == SPIRAL) { /* on the edge the obstacle lies below the data */
      if (Edge(problem, i)) l[at] = PetscMin(l[at], Exact(problem, x));
    }
    ++at;
  }
  PetscCall(VecRestoreArray(XL, &l));
  PetscCall(VecRestoreArray(XU, &u));
  PetscFunctionReturn(0);
}

/* Error against the exact solution; 1/2 |grad u|^2 - f u; nodes at a bound; the seepage height of a dam */
static PetscErrorCode Look(Problem *p, DM da, Vec X, PetscReal *error, PetscReal *energy, PetscReal *height)
{
  Vec                L;
  const PetscScalar *u;
  PetscInt           gs[3], gm[3];
  PetscReal          x[3], mine[3] = {0, 0, 0}, volume = 1;

  PetscFunctionBeginUser;
  PetscCall(DMGetLocalVector(da, &L));
  PetscCall(DMGlobalToLocal(da, X, INSERT_VALUES, L));
  PetscCall(DMDAGetGhostCorners(da, &gs[0], &gs[1], &gs[2], &gm[0], &gm[1], &gm[2]));
  PetscCall(VecGetArrayRead(L, &u));
  for (PetscInt d = 0; d < p->dim; ++d) volume *= p->h[d];
  EACH_NODE(da, i)
  {
    const PetscInt step[3] = {1, gm[0], gm[0] * gm[1]}, e = i[0] - gs[0] + gm[0] * (i[1] - gs[1] + gm[1] * (i[2] - gs[2]));
    Place(p, i, x);
    mine[0] = PetscMax(mine[0], PetscAbsReal(u[e] - Exact(p, x)));
    mine[1] -= volume * Source(p, x) * u[e];
    for (PetscInt d = 0; d < p->dim; ++d)
      if (i[d] + 1 < p->n[d]) mine[1] += 0.5 * Coupling(p, d) * PetscSqr(u[e + step[d]] - u[e]);
    if (i[0] == p->n[0] - 2 && u[e] > 0) mine[2] = PetscMax(mine[2], x[1] - 4);
  }
  PetscCall(VecRestoreArrayRead(L, &u));
  PetscCall(DMRestoreLocalVector(da, &L));
  PetscCallMPI(MPI_Allreduce(&mine[0], error, 1, MPIU_REAL, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(&mine[1], energy, 1, MPIU_REAL, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(&mine[2], height, 1, MPIU_REAL, MPI_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Problem             p = {BALL, 2, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, 1000, 1, {0}};
  SNES                snes;
  DM                  da;
  Vec                 X, x0;
  PetscInt            n = 129, n2 = 0, cycles, its, most = 0, seed = 1;
  SNESVIPMGCertificate c = {0};
  PetscReal           error, energy, height, value = 0, tolerance = 1e-3, worst = 0;
  PetscBool           set, quiet = PETSC_FALSE;
  PetscLogDouble      flops[2];
  SNESConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  problem = &p;
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-problem", kinds, (PetscEnum *)&p.kind, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  n2 = p.kind == DAM ? (n - 1) * 3 / 2 + 1 : n;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n2", &n2, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tolerance", &tolerance, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-quiet", &quiet, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-peclet", &p.peclet, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-layers", &p.layers, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  unsigned state = 2654435761u * (unsigned)seed;
  for (int k = 0; k < 16; ++k) {
    state       = 1664525u * state + 1013904223u;
    p.random[k] = (state >> 8) / (PetscReal)(1 << 24);
  }
  p.random[16] = seed % 5;
  p.dim = p.kind == BALL3 || p.kind == SIDES3 ? 3 : 2;
  if (p.dim == 2) PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n2, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  else PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n2, n, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, da));
  PetscCall(SNESSetFunction(snes, NULL, Function, &p));
  PetscCall(SNESSetJacobian(snes, NULL, NULL, Jacobian, &p));
  PetscCall(SNESSetType(snes, SNESVIPMG));
  PetscCall(SNESVISetComputeVariableBounds(snes, VariableBounds));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(DMCreateGlobalVector(da, &x0));
  PetscCall(PetscGetFlops(&flops[0]));
  PetscCall(SNESSolve(snes, NULL, x0));
  PetscCall(PetscGetFlops(&flops[1]));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(SNESGetLinearSolveIterations(snes, &cycles));
  PetscCall(SNESGetIterationNumber(snes, &its));
  PetscCall(SNESGetSolution(snes, &X)); /* after grid sequencing on another grid */
  PetscCall(DMDestroy(&da));
  PetscCall(SNESGetDM(snes, &da));
  PetscCall(Sizes(&p, da));
  PetscCall(Look(&p, da, X, &error, &energy, &height));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %" PetscInt_FMT "x%" PetscInt_FMT ": %s", kinds[p.kind], p.n[0], p.n[1], SNESConvergedReasons[reason]));
  if (!quiet) PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", %" PetscInt_FMT " cycles in %" PetscInt_FMT " iterations", cycles, its));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  if (most && cycles > most) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " cycles, more than %" PetscInt_FMT "\n", cycles, most));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-energy", &value, &set));
  if (set && PetscAbsReal(energy - value) > tolerance * PetscAbsReal(value)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "energy %.10g, not %.10g\n", (double)energy, (double)value));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-error", &value, &set));
  if (set && PetscAbsReal(error - value) > 1e-2 * value) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error %.4e, not %.4e\n", (double)error, (double)value));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-error_most", &value, &set));
  if (set && !(error <= value)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error %.4e, more than %.4e\n", (double)error, (double)value));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-height", &value, &set));
  if (set && PetscAbsReal(height - value) > 1e-2 * value) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "seepage height %.6g, not %.6g\n", (double)height, (double)value));
  PetscBool vipmg;
  PetscCall(PetscObjectTypeCompare((PetscObject)snes, SNESVIPMG, &vipmg));
  if (vipmg) {
    PetscInt own;
    PetscCall(VecGetLocalSize(X, &own));
    if (flops[1] - flops[0] < 60. * cycles * own) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%g operations are logged\n", flops[1] - flops[0])); /* each cycle's two parts are several times that */
    PetscCall(SNESVIPMGGetCertificate(snes, &c));
    worst = c.inactive + c.natural + c.fischer_burmeister + c.primal; /* none is negative; a NaN stays */
    if (reason > 0 && !(worst < 1e-4)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "norms: inactive %g natural %g Fischer-Burmeister %g infeasible %g complementarity %g\n", (double)c.inactive, (double)c.natural, (double)c.fischer_burmeister, (double)c.primal, (double)c.gap));
  }
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-active", &value, &set));
  if (set) {
    Vec                xl, xu, F;
    const PetscScalar *a, *b, *x, *f;
    PetscInt           m, mine = 0, all, at = 0;
    PetscCall(SNESGetFunction(snes, &F, NULL, NULL));
    PetscCall(VecDuplicate(X, &xl));
    PetscCall(VecDuplicate(X, &xu));
    PetscCall(VariableBounds(snes, xl, xu));
    PetscCall(VecGetLocalSize(X, &m));
    PetscCall(VecGetArrayRead(xl, &a));
    PetscCall(VecGetArrayRead(xu, &b));
    PetscCall(VecGetArrayRead(X, &x));
    PetscCall(VecGetArrayRead(F, &f));
    EACH_NODE(da, i)
    {
      mine += !Edge(&p, i) && ((x[at] <= a[at] && f[at] > 0) || (x[at] >= b[at] && f[at] < 0));
      ++at;
    }
    PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    if (PetscAbsReal(all - value) > tolerance * value) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " active nodes, not %g\n", all, (double)value));
    PetscCall(VecRestoreArrayRead(xl, &a));
    PetscCall(VecRestoreArrayRead(xu, &b));
    PetscCall(VecRestoreArrayRead(X, &x));
    PetscCall(VecRestoreArrayRead(F, &f));
    PetscCall(VecDestroy(&xl));
    PetscCall(VecDestroy(&xu));
  }
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-show", NULL, &set));
  if (set) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error %.4e energy %.10g height %.6g norms %.2e %.2e %.2e %.2e %.2e\n", (double)error, (double)energy, (double)height, (double)c.inactive, (double)c.natural, (double)c.fischer_burmeister, (double)c.primal, (double)c.gap));
  PetscCall(VecDestroy(&x0));
  PetscCall(SNESDestroy(&snes));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset: # reference values: energies and active nodes of a second program, errors of the exact solution
    nsize: {{1 2 3 4}}
    output_file: output/vipmg_ball.out
    args: -snes_vipmg_cycle f -problem ball -n 129 -quiet -error 2.154e-4 -active 1609
    test:
      suffix: ball
      args: -most 4
    test:
      suffix: ball_cold
      args: -snes_vipmg_fmg 0 -most 8

  test:
    suffix: spiral
    nsize: {{1 2 3 4}}
    args: -snes_vipmg_cycle f -problem spiral -n 129 -most 8 -energy 34.177216 -active 517

  test:
    suffix: torsion
    nsize: {{1 2 3 4}}
    args: -snes_vipmg_cycle f -problem torsion -n 129 -most 4 -energy -0.4184302092 -active 4800

  test:
    suffix: sides
    nsize: {{1 2 3 4}}
    args: -snes_vipmg_cycle f -problem sides -n 129 -most 4

  test:
    suffix: sides_257
    args: -snes_vipmg_cycle f -problem sides -n 257 -most 4 -energy -1.2967535370 -active 15980

  test: # the choices made on the host without options: two sweeps in V-cycles, and no cycle for half of the tolerance
    suffix: automatic
    nsize: {{1 2}}
    output_file: output/vipmg_ball_513.out
    args: -problem ball -n 513 -quiet -most 2 -snes_vipmg_backend host

  testset: # full multigrid and one cycle reach the discretisation error: that of the converged solution, 2.154e-4 and 9.340e-5, up to a tenth
    args: -problem ball -quiet -snes_max_it 1 -most 1
    test:
      suffix: one_cycle_129
      args: -n 129 -error_most 2.37e-4
    test:
      suffix: one_cycle_257
      args: -n 257 -error_most 1.027e-4

  testset:
    args: -quiet
    test:
      suffix: cold_spiral
      output_file: output/vipmg_spiral_257.out
      args: -problem spiral -n 257 -snes_vipmg_fmg 0 -most 8 -energy 34.365377 -active 1300
    test:
      suffix: cold_torsion
      output_file: output/vipmg_torsion_257.out
      args: -problem torsion -n 257 -snes_vipmg_fmg 0 -most 12 -energy -.4184787222 -active 19304
    test:
      suffix: cold_sides
      output_file: output/vipmg_sides_257_quiet.out
      args: -problem sides -n 257 -snes_vipmg_fmg 0 -most 12 -energy -1.2967535370

  test: # seepage heights of Brandt and Cryer
    suffix: dam
    nsize: {{1 3}}
    args: -snes_vipmg_cycle f -problem dam -n 129 -most 4 -height 8.875

  test:
    suffix: ball3
    nsize: {{1 2 3 4}}
    args: -snes_vipmg_cycle f -problem ball3 -n 33 -most 6 -error 4.97e-3

  test:
    suffix: sides3
    nsize: {{1 4}}
    args: -snes_vipmg_cycle f -problem sides3 -n 40 -n2 33 -most 6

  test: # strong planes that turn: systems of the inactive nodes, whose preconditioner takes lines
    suffix: planes3
    nsize: {{1 3}}
    args: -problem sides3 -n 49 -layers 1e-3 -quiet -most 11

  test: # a weak direction, which is not coarsened
    suffix: flat3
    nsize: {{1 3}}
    args: -problem sides3 -n 65 -n2 9 -quiet -most 5

  testset: # the solution does not depend on the way
    output_file: output/vipmg_torsion_q.out
    args: -problem torsion -n 65 -quiet -energy -0.4182363250 -active 1192 -tolerance 1e-6
    test:
      suffix: tnnmg
      args: -snes_vipmg_variant tnnmg
    test:
      suffix: monotone
      args: -snes_vipmg_variant monotone -snes_max_it 30
    test:
      suffix: v22
      args: -snes_vipmg_cycle v -snes_vipmg_sweeps 2,2
    test:
      suffix: w
      args: -snes_vipmg_cycle w -snes_vipmg_sweeps 0,1
    test:
      suffix: omega
      args: -snes_vipmg_omega 1.2
    test:
      suffix: levels
      nsize: 2
      args: -snes_vipmg_levels 4

  test: # convection: the active set is that of vinewtonrsls
    suffix: wind
    nsize: {{1 2 3 4}}
    args: -problem wind -n 129 -snes_vipmg_cycle f -quiet -most 10 -active 9351 -tolerance 1e-9

  test: # two whirls on the levels of a tree: systems of the inactive nodes find the set layer by layer
    suffix: gyres
    nsize: {{1 2}}
    args: -problem gyres -n 129 -peclet 1e6 -snes_vipmg_levels_type tree -snes_rtol 1e-10 -snes_max_it 5
    args: -quiet -active 2123 -tolerance 1e-9

  testset: # and on a grid's, by sweeps that follow the wind
    output_file: output/vipmg_gyres.out
    args: -problem gyres -n 129 -quiet
    nsize: {{1 2 3 4}}
    test:
      suffix: gyres_box
      args: -peclet 1e4 -snes_rtol 1e-8 -most 8
    test:
      suffix: gyres_box_6
      args: -peclet 1e6 -snes_rtol 1e-10 -most 13 -active 2123 -tolerance 1e-9

  testset:
    output_file: output/vipmg_gyres_257.out
    args: -problem gyres -n 257 -quiet
    test:
      suffix: gyres_257
      args: -peclet 1e4 -snes_rtol 1e-8 -most 9
    test:
      suffix: gyres_257_6
      args: -peclet 1e6 -snes_rtol 1e-10 -most 12

  test: # whirls, sources and bounds at random
    suffix: whirls
    args: -problem whirls -n 129 -snes_rtol 1e-10 -quiet -most 15 -seed {{1 2 3 4 5 6 7 8 9 10}} -peclet {{1e3 1e4 1e6}}

  test: # a few sweeps, whatever the Peclet number
    suffix: wind_strong
    args: -problem wind -snes_rtol 1e-10 -n 257 -quiet -peclet {{1e4 1e6}} -most 4

  testset: # the same counts on even, uneven and tall grids
    nsize: {{1 2 3 4}}
    args: -snes_vipmg_cycle f -most 8
    test:
      suffix: sizes_even
      args: -problem sides -n 130 -n2 77
    test:
      suffix: sizes_spiral
      args: -problem spiral -n 97 -n2 161

  test: # stagnates beside the solution, and says so
    suffix: paper
    args: -problem ball -n 65 -quiet -snes_vipmg_variant klement_oberhuber
    filter: grep DIVERGED

  test:
    suffix: sequence
    nsize: {{1 2}}
    args: -snes_vipmg_cycle f -problem ball -n 17 -snes_grid_sequence 3 -error 2.154e-4

TEST*/
