static char help[] = "PC and KSP rrb in three dimensions: iterations of problems of many kinds against what is promised, on sizes and processes that do not matter.\n\n";

#include "rrb_three_problem.h"
#include "tessera.h"

/* A coefficient for each edge, and what the sides are. */
typedef struct {
  const char *name;
  PetscInt    kind;
  PetscReal   along[3]; /* factors of the directions */
  PetscBool   rows, neumann, periodic, full; /* sides: Dirichlet rows that others couple with; 27 points */
  PetscInt    most; /* iterations */
} Problem;
enum {
  SMOOTH,
  CHECKER,
  BLOCKS, /* a checkerboard of cells of three nodes, which are loose parts that are all alike */
  CELLS,
  LAYERS,
  MASK,
  CAVES, /* rock that nothing flows into */
  PORES, /* the same, of another shape: one part with many holes */
  BASIN, /* the same: columns of different depth */
  STRETCHED,
  WALLS,    /* random cells; large couplings with the sides */
  PLANES,   /* y is weak in one half, x in the other */
  ELEMENTS, /* trilinear: couplings through faces are zero but for rounding */
  TURNING,  /* y is weak everywhere, and of the others x in eight blocks, z in the rest */
  CANCELLED /* nodes whose couplings in a plane cancel each other but for rounding */
};
static const Problem problems[] = {
  {"Poisson",                  SMOOTH,    {1, 1, 1},       PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 6 },
  {"Poisson, Dirichlet rows",  SMOOTH,    {1, 1, 1},       PETSC_TRUE,  PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 6 },
  {"Neumann",                  SMOOTH,    {1, 1, 1},       PETSC_FALSE, PETSC_TRUE,  PETSC_FALSE, PETSC_FALSE, 6 },
  {"periodic",                 SMOOTH,    {1, 1, 1},       PETSC_FALSE, PETSC_FALSE, PETSC_TRUE,  PETSC_FALSE, 6 },
  {"27 points",                SMOOTH,    {1, 1, 1},       PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE,  8 },
  {"27 points, rows, cells",   CELLS,     {1, 1, 1},       PETSC_TRUE,  PETSC_FALSE, PETSC_FALSE, PETSC_TRUE,  15},
  {"elements",                 ELEMENTS,  {1, 1, 1},       PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE,  6 },
  {"cancelled couplings",      CANCELLED, {1, 1, 1},       PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE,  6 },
  {"weak z",                   SMOOTH,    {1, 1, 0.01},    PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 6 },
  {"weak x",                   SMOOTH,    {0.01, 1, 1},    PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 6 },
  {"weak y and z",             SMOOTH,    {1, 0.01, 1e-4}, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 7 },
  {"weak x and y, Neumann",    SMOOTH,    {1e-4, 0.01, 1}, PETSC_FALSE, PETSC_TRUE,  PETSC_FALSE, PETSC_FALSE, 7 },
  {"stretched",                STRETCHED, {1, 1, 1},       PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 8 },
  {"layers",                   LAYERS,    {1, 1, 1},       PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 16},
  {"cells over four decades",  CELLS,     {1, 1, 1},       PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 16},
  {"cells, Neumann",           CELLS,     {1, 1, 1},       PETSC_FALSE, PETSC_TRUE,  PETSC_FALSE, PETSC_FALSE, 16},
  {"checkerboard 1e4",         CHECKER,   {1, 1, 1},       PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 16},
  {"of cells of three nodes",  BLOCKS,    {1, 1, 1},       PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 9 },
  {"closed caves",             CAVES,     {1, 1, 1},       PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 16},
  {"pores",                    PORES,     {1, 1, 1},       PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 16},
  {"basin",                    BASIN,     {1, 1, 1e3},     PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 16},
  {"rows of large couplings",  WALLS,     {1, 1, 1},       PETSC_TRUE,  PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 16},
  {"the same, 27 points",      WALLS,     {1, 1, 1},       PETSC_TRUE,  PETSC_FALSE, PETSC_FALSE, PETSC_TRUE,  16},
  {"strong planes that turn",  PLANES,    {1, 1, 1},       PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 8 },
  {"the same, z weak, rows",   PLANES,    {1, 1, 1e-3},    PETSC_TRUE,  PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 8 },
  {"strong lines that turn",   TURNING,   {1, 1e-3, 1},    PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 8 },
  {"the same, periodic",       TURNING,   {1, 1e-3, 1},    PETSC_FALSE, PETSC_FALSE, PETSC_TRUE,  PETSC_FALSE, 8 },
  {"pairs that turn, Neumann", TURNING,   {1, 1, 0.1},     PETSC_FALSE, PETSC_TRUE,  PETSC_FALSE, PETSC_FALSE, 10},
  {"land with Dirichlet rows", MASK,      {1, 1, 1},       PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 8 },
};

static PetscReal Cell(const Problem *p, PetscInt i, PetscInt j, PetscInt k, const PetscInt n[3])
{
  const PetscReal x = (PetscReal)(i + 1) / (PetscReal)(n[0] + 1), y = (PetscReal)(j + 1) / (PetscReal)(n[1] + 1), z = (PetscReal)(k + 1) / (PetscReal)(n[2] + 1);

  if (p->kind == CHECKER) return ((int)(4 * x) + (int)(4 * y) + (int)(4 * z)) % 2 ? 1e4 : 1;
  if (p->kind == BLOCKS) return (i / 3 + j / 3 + k / 3) % 2 ? 1e4 : 1;
  if (p->kind == CANCELLED) return 1 + 2 * Random(i + 1, j + 1, k + 1, 5);
  if (p->kind == CELLS || p->kind == WALLS) return PetscPowReal(10., 4 * Random(i + 1, j + 1, k + 1, 5) - 2);
  if (p->kind == LAYERS) return (int)(7 * z + 0.3 * x) % 2 ? 1e4 : 1;
  return 1;
}
static PetscBool Cancels(const Problem *p, const PetscInt q[3])
{
  return p->kind == CANCELLED && q[0] % 4 == 2 && q[1] % 4 == 2 && q[2] % 4 == 1 ? PETSC_TRUE : PETSC_FALSE;
}
static PetscReal change = 0;              /* of the coefficients, at random */
static PetscBool needed = PETSC_FALSE;     /* are lines, where strong directions turn? */

/* The coefficient between a node and another one beside it. */
static PetscReal Edge(const Problem *p, const PetscInt a[3], const PetscInt b[3], const PetscInt n[3])
{
  const PetscReal u = Cell(p, a[0], a[1], a[2], n), v = Cell(p, b[0], b[1], b[2], n);
  PetscReal       factor = 1 + change * Random((a[0] + b[0] + 2 * n[0]) % (2 * n[0]), (a[1] + b[1] + 2 * n[1]) % (2 * n[1]), (a[2] + b[2] + 2 * n[2]) % (2 * n[2]), 7);

  for (int d = 0; d < 3; ++d)
    if (a[d] != b[d]) factor *= p->along[d];
  if (Cancels(p, a) || Cancels(p, b)) {
    if (a[2] != b[2]) return a[0] != b[0] || a[1] != b[1] ? 0 : 2;
    return a[0] != b[0] && a[1] != b[1] ? -2 * (1 - 1e-7) : 1;
  }
  if (p->kind == CANCELLED) factor *= 30;
  if (p->kind == ELEMENTS) return (a[0] != b[0]) + (a[1] != b[1]) + (a[2] != b[2]) == 1 ? 1e-15 * u : 1;
  if (p->kind == PLANES && a[0] != b[0] && 2 * PetscMin(a[0], b[0]) >= n[0]) factor *= 1e-3;
  if (p->kind == PLANES && a[1] != b[1] && 2 * a[0] < n[0]) factor *= 1e-3;
  if (p->kind == TURNING && a[1] == b[1]) {
    PetscInt block = 0;
    for (int d = 0; d < 3; ++d) block += 2 * (p->periodic ? (PetscMin(a[d], b[d]) + n[d]) % n[d] : PetscMin(a[d], b[d])) / n[d];
    if ((a[0] != b[0]) == (block % 2 == 0)) factor *= 1e-2;
  }
  if (p->kind == STRETCHED)
    for (int d = 0; d < 3; ++d) {
      const PetscReal h = PetscPowReal(1.05, 0.5 * PetscMin(a[d] + b[d], 2 * n[d] - a[d] - b[d]));
      factor *= a[d] != b[d] ? 1 / h : h;
    }
  return factor * 2 * u * v / (u + v);
}
static PetscBool Land(const Problem *p, const PetscInt q[3], const PetscInt n[3])
{
  const PetscReal x = 9. * (PetscReal)q[0] / (PetscReal)n[0], y = 8. * (PetscReal)q[1] / (PetscReal)n[1], z = 7. * (PetscReal)q[2] / (PetscReal)n[2];

  if (p->kind == PORES) return PetscSinReal(1.1 * q[0] + 0.4 * q[2]) + PetscSinReal(0.9 * q[1] + 0.7 * q[0]) + PetscSinReal(1.3 * q[2] + 0.8 * q[1]) > 0.5 ? PETSC_TRUE : PETSC_FALSE;
  if (p->kind == BASIN) return (PetscReal)q[2] / (PetscReal)n[2] > 0.5 + 0.3 * PetscSinReal(x + 0.3 * y) + 0.3 * PetscSinReal(2 * y - x) ? PETSC_TRUE : PETSC_FALSE;
  if (p->kind == CAVES) return q[0] % 6 == 5 || q[1] % 5 == 4 || q[2] % 7 == 6 || Random(q[0], q[1], q[2], 9) < 0.1 ? PETSC_TRUE : PETSC_FALSE;
  return p->kind == MASK && PetscSinReal(x) + PetscSinReal(y + x) + PetscSinReal(z + 2 * y) > 1.2 ? PETSC_TRUE : PETSC_FALSE;
}
static PetscBool Side(const PetscInt q[3], const PetscInt n[3])
{
  for (int d = 0; d < 3; ++d)
    if (q[d] == 0 || q[d] == n[d] - 1) return PETSC_TRUE;
  return PETSC_FALSE;
}

static PetscErrorCode Fill(const Problem *p, DM da, const PetscInt n[3], Mat A)
{
  PetscInt lo[3], m[3];

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(da, lo, lo + 1, lo + 2, m, m + 1, m + 2));
  for (PetscInt k = lo[2]; k < lo[2] + m[2]; ++k)
    for (PetscInt j = lo[1]; j < lo[1] + m[1]; ++j)
      for (PetscInt i = lo[0]; i < lo[0] + m[0]; ++i) {
        const PetscInt q[3]  = {i, j, k};
        const PetscBool closed = p->kind == CAVES || p->kind == PORES || p->kind == BASIN ? PETSC_TRUE : PETSC_FALSE;
        const PetscBool fixed = Land(p, q, n) || (p->rows && Side(q, n)) ? PETSC_TRUE : PETSC_FALSE;
        MatStencil     row   = {0}, column[27];
        PetscScalar    value[27];
        PetscInt       count = 1;

        row.i = i, row.j = j, row.k = k;
        column[0] = row;
        value[0]  = fixed ? 3 : p->kind == BASIN ? 0.1 : closed ? 1e-4 : 0;
        for (int c = 0; c < 27 && !fixed; ++c) {
          const PetscInt to[3] = {i + c % 3 - 1, j + c / 3 % 3 - 1, k + c / 9 - 1}, off = (c % 3 != 1) + (c / 3 % 3 != 1) + (c / 9 != 1);
          PetscBool      out   = PETSC_FALSE;
          PetscReal      v;
          MatStencil     s = {0};

          if (!off || (!p->full && off > 1)) continue;
          for (int d = 0; d < 3; ++d) out = out || (!p->periodic && (to[d] < 0 || to[d] >= n[d])) ? PETSC_TRUE : PETSC_FALSE;
          v = Edge(p, q, to, n) / (PetscReal)off;
          if (p->kind == WALLS && (Side(q, n) || (!out && Side(to, n)))) v *= 1e5;
          if ((out && p->neumann) || (closed && (out || Land(p, to, n)))) continue;
          value[0] += v;
          if (out || (Land(p, to, n) && i % 2)) continue; /* some rows beside Dirichlet rows couple with them */
          s.i = to[0], s.j = to[1], s.k = to[2];
          column[count]  = s;
          value[count++] = -v;
        }
        PetscCall(MatSetValuesStencil(A, 1, &row, count, column, value, INSERT_VALUES));
      }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* The grids whose smoother solves lines */
static PetscErrorCode WithLines(PC pc, PetscInt *count)
{
  TesseraGridsInfo info;
  PCRRBGridInfo    grid;

  PetscFunctionBeginUser;
  PetscCall(PCRRBGetInfo(pc, &info));
  *count = 0;
  for (PetscInt g = 0; g < info.grids; ++g) {
    PetscCall(PCRRBGetGridInfo(pc, g, &grid));
    *count += grid.smoother == PC_RRB_SMOOTHER_LINE_ALT;
  }
  PetscFunctionReturn(0);
}

/* An application to a vector that is not finite leaves nothing behind. */
static PetscErrorCode Forgets(const Problem *p, PC pc, Vec b)
{
  Vec       x[2], nan;
  PetscBool same;

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; ++k) PetscCall(VecDuplicate(b, &x[k]));
  PetscCall(VecDuplicate(b, &nan));
  PetscCall(VecSet(nan, NAN));
  PetscCall(PCApply(pc, b, x[0]));
  PetscCall(PCApply(pc, nan, x[1]));
  PetscCall(PCApply(pc, b, x[1]));
  PetscCall(VecEqual(x[0], x[1], &same)); /* false where both have NaN */
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: another result after a vector that is not finite\n", p->name));
  for (int k = 0; k < 2; ++k) PetscCall(VecDestroy(&x[k]));
  PetscCall(VecDestroy(&nan));
  PetscFunctionReturn(0);
}

/* Rounding in place of zeros is no reason for double precision. */
static PetscErrorCode InSingle(const Problem *p, KSP ksp)
{
  PC               pc;
  TesseraPrecision precision;
  TesseraGridsInfo found, single;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCRRBGetPrecision(pc, &precision));
  if (precision != TESSERA_PRECISION_AUTO) PetscFunctionReturn(0);
  PetscCall(PCRRBGetInfo(pc, &found));
  PetscCall(PCRRBSetPrecision(pc, TESSERA_PRECISION_SINGLE));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCSetUp(pc));
  PetscCall(PCRRBGetInfo(pc, &single));
  if (!(found.bytes <= single.bytes)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %g bytes, %g in single precision\n", p->name, (double)found.bytes, (double)single.bytes));
  PetscFunctionReturn(0);
}

/* New values that differ little keep the lines. */
static PetscErrorCode Keeps(const Problem *p, DM da, const PetscInt n[3], Mat A, KSP ksp, PetscInt lines)
{
  PC       pc;
  PetscInt count;

  PetscFunctionBeginUser;
  PetscCall(KSPGetPC(ksp, &pc));
  change = 0.01;
  PetscCall(Fill(p, da, n, A));
  change = 0;
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetUp(ksp));
  PetscCall(WithLines(pc, &count));
  if (!lines != !count || (needed && !lines && !p->neumann)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " grids with lines, then %" PetscInt_FMT "\n", p->name, lines, count));
  PetscFunctionReturn(0);
}

/* Solves with the matrix twice, the second time with other values: the iterations, and the residual. */
static PetscErrorCode Solve(const Problem *p, const PetscInt size[3], const char *type, PetscInt its[2], PetscReal *residual, PetscInt *lines)
{
  const DMBoundaryType sides = p->periodic ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  PetscInt             n[3];
  DM                   da;
  Mat                  A;
  Vec                  b, x;
  KSP                  ksp;
  PC                   pc;
  KSPConvergedReason   reason;

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; ++d) n[d] = size[d];
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, sides, sides, sides, p->full ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, n[0], n[1], n[2], PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Fill(p, da, n, A));
  PetscCall(RightHandSide(da, A, p->neumann || p->periodic ? PETSC_TRUE : PETSC_FALSE, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(MakeKSP(da, type, &ksp));
  for (int k = 0; k < 2; ++k) {
    if (k) PetscCall(MatScale(A, 0.3));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    if (reason <= 0) its[k] = 100;
  }
  PetscCall(Residual(A, x, b, residual));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(WithLines(pc, lines));
  PetscCall(Forgets(p, pc, b));
  if (p->kind == PLANES || p->kind == TURNING) PetscCall(Keeps(p, da, n, A, ksp, *lines));
  if (p->kind == ELEMENTS) PetscCall(InSingle(p, ksp));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscInt  n[3] = {33, 33, 33}, number = 3;
  PetscBool set, counts = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_type", "rrb"));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", n, &number, &set));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-counts", &counts, NULL)); /* prints them */
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-lines", &needed, NULL));
  for (size_t k = 0; k < sizeof(problems) / sizeof(*problems); ++k)
    for (int t = 0; t < 2; ++t) {
      const Problem    *p     = &problems[k];
      const char *const types[] = {"cg", "rrb"};
      PetscInt          its[2], lines;
      PetscReal         residual;

      PetscCall(Solve(p, n, types[t], its, &residual, &lines));
      if (counts) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-26s %-4s %" PetscInt_FMT " %" PetscInt_FMT " iterations, %" PetscInt_FMT " grids with lines\n", p->name, types[t], its[0], its[1], lines));
      if (its[0] > p->most || PetscAbs(its[0] - its[1]) > 1) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s: %" PetscInt_FMT " and %" PetscInt_FMT " iterations, %" PetscInt_FMT " are promised\n", p->name, types[t], its[0], its[1], p->most));
      if (!(residual < 1.05e-6)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s: residual %g\n", p->name, types[t], (double)residual));
    }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "done\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/rrb_three.out
    test:
      suffix: 1
      args: -lines
    test:
      suffix: double
      args: -pc_rrb_precision double -n 20,17,9
    test:
      suffix: long
      args: -n 7,100,33
    test:
      suffix: thin
      args: -n 300,16,12
    test:
      suffix: ranks
      nsize: {{2 3 4}}
      args: -n 19,22,17

  testset:
    output_file: output/rrb_three_counts.out
    args: -counts -n 18,15,21 -pc_rrb_precision double
    test:
      suffix: counts
      nsize: {{1 2 3 4}}

  test: # lines that do not pay are left after four steps, of "pairs that turn"
    suffix: trial
    nsize: {{1 3}}
    args: -n 18,15,21 -pc_rrb_precision double -ksp_view
    filter: grep "steps in the last" | sort | uniq -c | sed -e "s|^ *||" -e "s|  *| |g"

TEST*/
