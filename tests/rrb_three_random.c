static char help[] = "PC and KSP rrb in three dimensions on problems drawn at random: sizes, sides, coefficients and masks. No solve fails, and\n\
none takes more than twice the iterations that such coefficients take on grids of usual shape; boundary layers take no more than these.\n\
  -cases <n>, -seed <s> : so many, from this one on\n\
  -most <n>             : nodes in a direction at most\n\
  -show                 : every case\n\n";

#include "rrb_three_problem.h"

typedef enum { SMOOTH, WEAK, STRETCHED, BOUNDARY, CHECKER, CELLS, EDGES, LAYERS, CHANNELS, ROTATED, KINDS } Kind;
static const char *const names[]    = {"smooth", "weak directions", "stretched", "boundary layers", "checkerboard", "random cells", "random edges", "layers", "channels", "rotated"};
static const PetscInt    usual[]    = {6, 6, 8, 8, 16, 16, 16, 16, 16, 15};

typedef struct {
  PetscInt  seed, n[3], block, draws;
  Kind      kind;
  PetscBool periodic[3], neumann[3], rows, mask, coast, singular; /* rows: sides are Dirichlet rows that others couple with; coast: no flow into land */
  PetscReal along[3], ratio, jump, decades, stencil[27];
} Problem;

static PetscReal Draw(Problem *p)
{
  return Random(p->seed, p->draws++, 3, 17);
}
static PetscBool Chance(Problem *p, PetscReal share)
{
  return Draw(p) < share ? PETSC_TRUE : PETSC_FALSE;
}

/* Trilinear elements for -div(K grad u), K turned about (1,1,1). */
static void FillStencil(Problem *p, PetscReal angle)
{
  const PetscReal c = PetscCosReal(angle), s = PetscSinReal(angle) / PetscSqrtReal(3.), t = (1 - c) / 3;
  const PetscReal R[3][3] = {
    {c + t, t - s, t + s},
    {t + s, c + t, t - s},
    {t - s, t + s, c + t}
  };

  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b) {
      PetscReal sum = 0;

      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
          PetscReal v = 0;

          for (int k = 0; k < 3; ++k) v += R[i][k] * p->along[k] * R[j][k];
          for (int d = 0; d < 3; ++d) {
            const PetscReal x = a >> d & 1 ? 1 : -1, y = b >> d & 1 ? 1 : -1;
            v *= d == i && d == j ? x * y : d == i ? x / 2 : d == j ? y / 2 : x == y ? 1. / 3 : 1. / 6;
          }
          sum += v;
        }
      p->stencil[9 * (1 + (b >> 2) - (a >> 2)) + 3 * (1 + (b >> 1 & 1) - (a >> 1 & 1)) + 1 + (b & 1) - (a & 1)] += sum;
    }
}

static void DrawProblem(Problem *p, PetscInt seed, PetscInt most)
{
  const PetscReal sides = (PetscMemzero(p, sizeof(*p)), p->seed = seed, Draw(p));

  p->kind = (Kind)(KINDS * Draw(p));
  for (int d = 0; d < 3; ++d) {
    const PetscReal u = Draw(p);

    p->n[d]        = 1 + (PetscInt)((PetscReal)most * (Chance(p, 0.3) ? u * u : u));
    p->periodic[d] = Chance(p, 0.2) && p->n[d] > 2 ? PETSC_TRUE : PETSC_FALSE;
    p->along[d]    = 1;
    p->neumann[d]  = sides < 0.3 || Chance(p, 0.3) ? PETSC_TRUE : PETSC_FALSE;
  }
  if (Chance(p, 0.1)) p->n[(int)(3 * Draw(p))] *= 8; /* long ones */
  if (p->n[0] * p->n[1] * p->n[2] > 40000) p->n[2] = PetscMax(1, 40000 / (p->n[0] * p->n[1]));
  for (int d = 0; d < 3; ++d) {
    if (p->kind >= CHECKER) p->n[d] = PetscMax(2, p->n[d]); /* else it is the plane */
    if (p->n[d] < 3) p->periodic[d] = PETSC_FALSE;
  }
  p->rows    = p->kind < CHECKER ? Chance(p, 0.3) : PETSC_FALSE;
  p->mask    = p->kind != ROTATED && p->kind != WEAK && p->kind < CHECKER ? Chance(p, 0.15) : PETSC_FALSE;
  p->coast   = Chance(p, 0.6);
  p->block   = 2 + (PetscInt)(7 * Draw(p));
  p->jump    = PetscPowReal(10, 2 + 4 * Draw(p));
  p->decades = 1 + 3 * Draw(p);
  p->ratio   = p->kind == STRETCHED ? 1 + 0.05 * Draw(p) : PetscPowReal(10, 1 + Draw(p));
  if (p->kind == WEAK || p->kind == ROTATED) {
    const int first = (int)(3 * Draw(p)), second = (first + 1 + (int)(2 * Draw(p))) % 3;
    const PetscReal least = p->kind == WEAK ? 1e-4 : 0.01;

    p->along[first] = Chance(p, 0.5) ? 0.01 : least;
    if (Chance(p, 0.5)) p->along[second] = Chance(p, 0.5) ? 0.01 : p->kind == WEAK ? least : 0.1;
  } else if (p->kind == STRETCHED || p->kind == BOUNDARY) {
    for (int d = 0; d < 3; ++d) p->along[d] = Chance(p, 0.6) ? 2 : 1; /* 2: along this one */
  }
  if (p->kind == ROTATED) {
    for (int d = 0; d < 3; ++d) p->neumann[d] = PETSC_FALSE;
    FillStencil(p, PETSC_PI / 180 * 45 * Draw(p));
  }
  p->singular = PETSC_TRUE;
  for (int d = 0; d < 3; ++d)
    if (!p->periodic[d] && (p->rows || !p->neumann[d])) p->singular = PETSC_FALSE;
  if (p->mask) p->singular = PETSC_FALSE; /* a small reaction term instead: parts of it may have no way out */
}

static PetscBool Land(const Problem *p, const PetscInt q[3])
{
  const PetscReal x = 9. * (PetscReal)q[0] / (PetscReal)(p->n[0] + 1), y = 8. * (PetscReal)q[1] / (PetscReal)(p->n[1] + 1), z = 7. * (PetscReal)q[2] / (PetscReal)(p->n[2] + 1);

  if (!p->mask) return PETSC_FALSE;
  if (p->block % 2) return Random(q[0] / p->block, q[1] / p->block, q[2] / p->block, p->seed) < 0.25 ? PETSC_TRUE : PETSC_FALSE;
  return PetscSinReal(x) + PetscSinReal(y + x) + PetscSinReal(z + 2 * y) > 0.9 ? PETSC_TRUE : PETSC_FALSE;
}
static PetscReal Cell(const Problem *p, const PetscInt q[3])
{
  if (p->kind == CHECKER) return (q[0] / p->block + q[1] / p->block + q[2] / p->block) % 2 ? p->jump : 1;
  if (p->kind == LAYERS) return (q[(int)p->block % 3] / p->block) % 2 ? p->jump : 1;
  if (p->kind == CHANNELS) { /* along each direction, some nodes wide */
    for (int d = 0; d < 3; ++d)
      if (q[(d + 1) % 3] % (2 * p->block) < 2 && (q[(d + 2) % 3] + d * p->block) % (2 * p->block) < 1 + p->block % 2) return p->jump;
    return 1;
  }
  return PetscPowReal(10, p->decades * (Random(q[0], q[1], q[2], p->seed) - 0.5));
}
/* The size of cell i along d. */
static PetscReal Size(const Problem *p, int d, PetscInt i)
{
  const PetscInt side = PetscMin(i, p->n[d] - 1 - i), m = PetscMax(p->n[d] / 4, 1);

  if (p->along[d] != 2) return 1;
  return p->kind == STRETCHED ? PetscPowReal(p->ratio, (PetscReal)PetscMax(side, 0)) : PetscPowReal(p->ratio, (PetscReal)PetscMin(PetscMax(side, 0), m) / (PetscReal)m - 1);
}
/* The coupling of node a with node b, the next one along d; one of them may lie outside. */
static PetscReal Edge(const Problem *p, int d, const PetscInt a[3], const PetscInt b[3])
{
  PetscReal v = 1, u, w;

  switch (p->kind) {
  case SMOOTH:
  case WEAK: return p->along[d];
  case STRETCHED:
  case BOUNDARY:
    for (int e = 0; e < 3; ++e)
      if (e != d) v *= Size(p, e, a[e]);
    return 2 * v / (Size(p, d, PetscMax(a[d], 0)) + Size(p, d, PetscMin(b[d], p->n[d] - 1)));
  case EDGES: return PetscPowReal(10, 4 * (Random(a[0], a[1], a[2], p->seed + d) - 0.5));
  default:
    u = Cell(p, a);
    w = Cell(p, b);
    return 2 * u * w / (u + w);
  }
}

static PetscErrorCode Fill(const Problem *p, DM da, Mat A)
{
  PetscInt lo[3], m[3];

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(da, lo, lo + 1, lo + 2, m, m + 1, m + 2));
  for (PetscInt k = lo[2]; k < lo[2] + m[2]; ++k)
    for (PetscInt j = lo[1]; j < lo[1] + m[1]; ++j)
      for (PetscInt i = lo[0]; i < lo[0] + m[0]; ++i) {
        const PetscInt q[3] = {i, j, k};
        PetscBool      fixed = Land(p, q);
        MatStencil     row = {0}, column[27];
        PetscScalar    value[27];
        PetscInt       count = 1;

        for (int d = 0; d < 3; ++d)
          if (p->rows && !p->periodic[d] && (q[d] == 0 || q[d] == p->n[d] - 1)) fixed = PETSC_TRUE;
        row.i = i, row.j = j, row.k = k;
        column[0] = row;
        value[0]  = fixed ? 3 : p->kind == ROTATED ? p->stencil[13] : p->mask && p->coast ? 1e-4 : 0;
        for (int c = 0; c < 27 && !fixed; ++c) {
          PetscInt   to[3] = {i + c % 3 - 1, j + c / 3 % 3 - 1, k + c / 9 - 1};
          const int  off = (c % 3 != 1) + (c / 3 % 3 != 1) + (c / 9 != 1), d = c % 3 != 1 ? 0 : c / 3 % 3 != 1 ? 1 : 2;
          PetscBool  out = PETSC_FALSE, land;
          MatStencil s = {0};
          PetscReal  v;
          PetscInt   in[3];

          if (!off || (p->kind != ROTATED && off > 1)) continue;
          for (int e = 0; e < 3; ++e) {
            out   = out || (!p->periodic[e] && (to[e] < 0 || to[e] >= p->n[e])) ? PETSC_TRUE : PETSC_FALSE;
            in[e] = (to[e] + p->n[e]) % p->n[e];
          }
          s.i = to[0], s.j = to[1], s.k = to[2];
          if (p->kind == ROTATED) {
            if (out) continue;
            column[count]  = s;
            value[count++] = p->stencil[c];
            continue;
          }
          land = !out && Land(p, in) ? PETSC_TRUE : PETSC_FALSE;
          if ((out && p->neumann[d]) || (land && p->coast)) continue;
          /* an edge is that of its first node, the one over a seam that of the last */
          v = to[d] < q[d] ? Edge(p, d, out ? to : in, q) : Edge(p, d, q, out ? to : in);
          value[0] += v;
          if (out || (land && i % 2)) continue; /* some rows beside Dirichlet rows couple with them */
          column[count]  = s;
          value[count++] = -v;
        }
        if (value[0] == 0) value[0] = 1;
        PetscCall(MatSetValuesStencil(A, 1, &row, count, column, value, p->kind == ROTATED ? ADD_VALUES : INSERT_VALUES));
      }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode Solve(DM da, Mat A, Vec b, const char *type, PetscInt *its, PetscReal *residual)
{
  Vec                x;
  KSP                ksp;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &x));
  PetscCall(MakeKSP(da, type, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  if (reason <= 0) *its = 100 - reason;
  PetscCall(Residual(A, x, b, residual));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(0);
}

static PetscErrorCode Try(const Problem *p, PetscBool show, PetscInt worst[KINDS])
{
  DMBoundaryType    sides[3];
  const char *const types[] = {"cg", "rrb"};
  const PetscInt    most    = (p->mask ? PetscMax(16, usual[p->kind]) : usual[p->kind]) * (p->kind == BOUNDARY ? 1 : 2);
  DM                da;
  Mat               A;
  Vec               b;

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; ++d) sides[d] = p->periodic[d] ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, sides[0], sides[1], sides[2], p->kind == ROTATED ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, p->n[0], p->n[1], p->n[2], PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Fill(p, da, A));
  PetscCall(RightHandSide(da, A, p->singular, &b));
  for (int t = 0; t < 2; ++t) {
    PetscInt  its;
    PetscReal residual;

    PetscCall(Solve(da, A, b, types[t], &its, &residual));
    worst[p->kind] = PetscMax(worst[p->kind], its);
    if (show || its > most || !(residual < 1.05e-6)) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "case %" PetscInt_FMT ": %s, %s, %" PetscInt_FMT "%s%s x %" PetscInt_FMT "%s%s x %" PetscInt_FMT "%s%s", p->seed, types[t], names[p->kind], p->n[0], p->periodic[0] ? "p" : "", p->neumann[0] ? "n" : "", p->n[1], p->periodic[1] ? "p" : "", p->neumann[1] ? "n" : "", p->n[2], p->periodic[2] ? "p" : "", p->neumann[2] ? "n" : ""));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s%s, along %g %g %g, block %" PetscInt_FMT ", jump %.1e, decades %.1f, ratio %g: %" PetscInt_FMT " iterations, residual %.1e\n", p->rows ? ", rows" : "", p->mask ? (p->coast ? ", mask with coasts" : ", mask") : "", (double)p->along[0], (double)p->along[1], (double)p->along[2], p->block, (double)p->jump, (double)p->decades, (double)p->ratio, its, (double)residual));
    }
  }
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscInt    cases = 60, seed = 0, most = 40, worst[KINDS] = {0};
  PetscBool   show = PETSC_FALSE;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_type", "rrb"));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-show", &show, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt k = 0; k < cases; ++k) {
    Problem  p;
    PetscInt longest;

    DrawProblem(&p, seed + k, most);
    longest = PetscMax(p.n[0], PetscMax(p.n[1], p.n[2]));
    if (longest < 2 * size || p.n[0] * p.n[1] * p.n[2] < 8 * size) continue; /* which DMDA cannot divide */
    PetscCall(Try(&p, show, worst));
  }
  if (show)
    for (int k = 0; k < KINDS; ++k) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-16s %" PetscInt_FMT "\n", names[k], worst[k]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "done\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    output_file: output/rrb_three.out
  test:
    suffix: ranks
    nsize: 3
    output_file: output/rrb_three.out
    args: -cases 30 -most 20

TEST*/
