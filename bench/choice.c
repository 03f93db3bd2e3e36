static char help[] = "Checkerboards of random blocks, offsets, contrasts and sizes: what the automatic choice of PC rrb takes beside its other settings.\n\
  -cases <k>, -start <k>, -seed <s>  how many, from which one, of which series (default 10, 0, 1)\n\
  -n_min, -n_max <n>                 unknowns in each direction (default 100, 400)\n\
  -n <n>, -blocks <b>, -contrast <c> one board instead: b x b blocks, means at edges from the values at nodes\n\
  -drift                             the board's values after those of a contrast of 30: the choice was made for these\n\
  -worst <k>                         cases that are printed (default 10)\n\
  -settings <k>                      the first k settings alone (1: the automatic choice)\n\
Options with the prefix of each setting's number, -s0_ the automatic choice's, go to the solvers. Ends with an error where the automatic\n\
choice takes more than one and a half times the best setting's iterations, and two.\n";

#include "../tests/compat.h"
#include <petscdmda.h>

typedef struct {
  PetscInt  nx, ny;
  PetscReal bx, by, ox, oy, contrast; /* blocks and their offset, in steps of the grid */
  PetscBool edges;                    /* the coefficient at an edge's middle, else the harmonic mean of those at its nodes */
} Board;

/* every setting that may be best for a board; the first one is the automatic choice */
static const char *const Settings[] = {"", "-pc_rrb_trial 0", "-pc_rrb_sweeps 3", "-pc_rrb_smoother line_alt", "-pc_rrb_cycle amli", "-pc_rrb_cycle amli -pc_rrb_sweeps 3", "-pc_rrb_cycle amli -pc_rrb_smoother line_alt", "-pc_rrb_cycle k",
                                       "-pc_rrb_cycle amli -pc_rrb_interpolation least_squares", "-pc_rrb_cycle amli -pc_rrb_interpolation least_squares -pc_rrb_smoother line_alt", "-pc_rrb_cycle amli -pc_rrb_interpolation least_squares -pc_rrb_sweeps 3"};

enum { SETTINGS = sizeof(Settings) / sizeof(Settings[0]) };

typedef struct {
  PetscReal excess; /* iterations of the automatic choice over the bound */
  PetscInt  its[SETTINGS];
  Board     board;
  PetscInt  number;
} Result;

static PetscReal Hash(PetscInt i, PetscInt j, PetscInt stream) /* [0, 1) */
{
  unsigned long long z = 0x9E3779B97F4A7C15ull * (unsigned long long)(i + 1) + 0xD1B54A32D192ED03ull * (unsigned long long)(j + 1) + 0x8CB92BA72F3D8DD7ull * (unsigned long long)(stream + 1);

  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  return (PetscReal)(z >> 11) / 9007199254740992.0;
}

static PetscReal Coefficient(const Board *b, PetscReal x, PetscReal y)
{
  return ((PetscInt)PetscFloorReal((x + b->ox) / b->bx) + (PetscInt)PetscFloorReal((y + b->oy) / b->by)) & 1 ? b->contrast : 1;
}

/* Nodes are numbered from 1, those beside them are the Dirichlet boundary. */
static PetscReal Edge(const Board *b, PetscInt i, PetscInt j, PetscInt di, PetscInt dj)
{
  if (b->edges) return Coefficient(b, i + 0.5 * di, j + 0.5 * dj);
  const PetscReal u = Coefficient(b, i, j), v = Coefficient(b, i + di, j + dj);
  return 2 * u * v / (u + v);
}

static PetscErrorCode Fill(const Board *b, DM da, Mat A)
{
  PetscInt xs, ys, xm, ym;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  for (PetscInt j = ys; j < ys + ym; ++j) {
    for (PetscInt i = xs; i < xs + xm; ++i) {
      const PetscInt di[4] = {0, -1, 1, 0}, dj[4] = {-1, 0, 0, 1};
      MatStencil     row = {.i = i, .j = j}, col[5];
      PetscScalar    v[5], d = 0;
      PetscInt       n = 0;

      for (int k = 0; k < 4; ++k) {
        const PetscReal w = Edge(b, i + 1, j + 1, di[k], dj[k]);

        d += w;
        if (i + di[k] < 0 || j + dj[k] < 0 || i + di[k] >= b->nx || j + dj[k] >= b->ny) continue;
        col[n].i = i + di[k], col[n].j = j + dj[k], col[n].k = 0, col[n].c = 0;
        v[n++] = -w;
      }
      col[n] = row, v[n++] = d;
      PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static Board Draw(PetscInt k, PetscInt seed, PetscReal n_min, PetscReal n_max)
{
  Board           b;
  const PetscReal size[2] = {n_min * PetscPowReal(n_max / n_min, Hash(k, 0, seed)), n_min * PetscPowReal(n_max / n_min, Hash(k, 1, seed))};
  const PetscBool whole = (PetscBool)(Hash(k, 2, seed) < 0.5), aligned = (PetscBool)(Hash(k, 3, seed) < 0.5);

  b.nx = (PetscInt)size[0];
  b.ny = Hash(k, 4, seed) < 0.5 ? b.nx : (PetscInt)size[1];
  b.bx = (b.nx + 1) / (2 * PetscPowReal(PetscMin(b.nx, b.ny) / 6.0, Hash(k, 5, seed)));
  b.by = Hash(k, 6, seed) < 0.6 ? b.bx : b.bx * PetscPowReal(4, Hash(k, 7, seed) - 0.5);
  if (whole) b.bx = PetscMax(1, PetscFloorReal(b.bx)), b.by = PetscMax(1, PetscFloorReal(b.by));
  b.ox       = aligned ? 0 : b.bx * Hash(k, 8, seed);
  b.oy       = aligned ? 0 : b.by * Hash(k, 9, seed);
  b.contrast = PetscPowReal(10, 1 + 5 * Hash(k, 10, seed));
  b.edges    = (PetscBool)(Hash(k, 11, seed) < 0.5);
  return b;
}

/* 10000 where the solver has failed, or its solution is none */
static PetscErrorCode Iterations(KSP ksp, Vec b, Vec x, PetscInt *its)
{
  KSPConvergedReason reason;
  Mat                A;
  Vec                r;
  PetscReal          norm, scale;

  PetscFunctionBeginUser;
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &norm));
  PetscCall(VecNorm(b, NORM_2, &scale));
  PetscCall(VecDestroy(&r));
  if (reason <= 0 || !(norm <= 1.1e-6 * scale)) *its = 10000;
  PetscFunctionReturn(0);
}

static PetscErrorCode Solver(DM da, Mat A, PetscInt setting, KSP *ksp)
{
  char prefix[16];
  PC   pc;

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "s%" PetscInt_FMT "_", setting));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetDM(*ksp, da));
  PetscCall(SetDMActive(*ksp, PETSC_FALSE));
  PetscCall(KSPSetType(*ksp, "rrb"));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetTolerances(*ksp, 1e-6, PETSC_DEFAULT, PETSC_DEFAULT, 300));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, "rrb"));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(0);
}

static PetscErrorCode Prepare(const Board *board, DM *da, Mat *A, Vec *b, Vec *x)
{
  PetscScalar **f;
  PetscInt      xs, ys, xm, ym;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, board->nx, board->ny, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(Fill(board, *da, *A));
  PetscCall(DMCreateGlobalVector(*da, b));
  PetscCall(VecDuplicate(*b, x));
  PetscCall(DMDAGetCorners(*da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArray(*da, *b, &f));
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i) f[j][i] = Hash(i, j, 99) - 0.5;
  PetscCall(DMDAVecRestoreArray(*da, *b, &f));
  PetscFunctionReturn(0);
}

static PetscErrorCode Try(Result *r, PetscInt settings)
{
  DM       da;
  Mat      A;
  Vec      b, x;
  PetscInt best = 10000;

  PetscFunctionBeginUser;
  PetscCall(Prepare(&r->board, &da, &A, &b, &x));
  for (PetscInt k = 0; k < settings; ++k) {
    KSP ksp;

    PetscCall(Solver(da, A, k, &ksp));
    PetscCall(Iterations(ksp, b, x, &r->its[k]));
    PetscCall(KSPDestroy(&ksp));
    best = PetscMin(best, r->its[k]);
  }
  r->excess = r->its[0] - (1.5 * best + 2);
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

/* Iterations of two solves with the board's values, after one with a contrast of 30. */
static PetscErrorCode Drift(Board board)
{
  DM              da;
  Mat             A;
  Vec             b, x;
  KSP             ksp;
  PetscInt        its[4];
  const PetscReal contrast = board.contrast;

  PetscFunctionBeginUser;
  board.contrast = 30;
  PetscCall(Prepare(&board, &da, &A, &b, &x));
  PetscCall(Solver(da, A, 0, &ksp));
  PetscCall(Iterations(ksp, b, x, &its[0]));
  board.contrast = contrast;
  PetscCall(Fill(&board, da, A));
  for (int k = 1; k < 3; ++k) PetscCall(Iterations(ksp, b, x, &its[k]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(Solver(da, A, 0, &ksp));
  PetscCall(Iterations(ksp, b, x, &its[3]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "drift: %" PetscInt_FMT ", then %" PetscInt_FMT " and %" PetscInt_FMT "; chosen for these values %" PetscInt_FMT "\n", its[0], its[1], its[2], its[3]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

static PetscErrorCode Print(const Result *r, PetscInt settings)
{
  const Board *b = &r->board;
  PetscInt     best = 0;

  PetscFunctionBeginUser;
  for (PetscInt k = 1; k < settings; ++k)
    if (r->its[k] < r->its[best]) best = k;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%5" PetscInt_FMT "  %4" PetscInt_FMT " x %-4" PetscInt_FMT " blocks %6.4g x %-6.4g offset %5.3g, %-5.3g contrast %-8.3g %s: %" PetscInt_FMT ", best %" PetscInt_FMT " (%s)\n", r->number, b->nx, b->ny, (double)b->bx, (double)b->by, (double)b->ox, (double)b->oy, (double)b->contrast, b->edges ? "at edges" : "means   ", r->its[0], r->its[best], best ? Settings[best] : "the choice itself"));
  PetscFunctionReturn(0);
}

static int Worse(const void *a, const void *b)
{
  const PetscReal x = ((const Result *)a)->excess, y = ((const Result *)b)->excess;

  return x < y ? 1 : x > y ? -1 : ((const Result *)a)->number < ((const Result *)b)->number ? -1 : 1;
}

int main(int argc, char **argv)
{
  PetscInt  cases = 10, start = 0, seed = 1, worst = 10, settings = SETTINGS, n = 0, above = 0;
  PetscReal n_min = 100, n_max = 400, blocks = 8;
  PetscBool drift = PETSC_FALSE, block;
  Board     one   = {.contrast = 1e4};
  Result   *results;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-start", &start, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-n_min", &n_min, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-n_max", &n_max, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-worst", &worst, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-settings", &settings, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-drift", &drift, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-blocks", &blocks, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-contrast", &one.contrast, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-edges", &one.edges, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-n", &block));
  settings = PetscMax(1, PetscMin(settings, SETTINGS));
  if (block) cases = 1;
  one.nx = one.ny = n;
  one.bx = one.by = (n + 1) / blocks;
  /* the options of a setting stand before those of the command line, which win */
  for (PetscInt k = 0; k < SETTINGS; ++k) {
    char options[256] = "", word[256];
    const char *s = Settings[k];

    for (char *to = options; *s; ++s) { /* -pc_ becomes -s1_pc_ */
      if (*s == '-') {
        PetscCall(PetscSNPrintf(word, sizeof(word), "-s%" PetscInt_FMT "_", k));
        for (const char *w = word; *w; ++w) *to++ = *w;
      } else *to++ = *s;
      *to = 0;
    }
    PetscCall(PetscOptionsInsertString(NULL, options));
    for (PetscInt i = 1; i < argc; ++i) { /* -pc_rrb_... and -ksp_type without a setting's number go to all */
      PetscBool ours;

      PetscCall(PetscStrbeginswith(argv[i], "-pc_rrb_", &ours));
      if (!ours) PetscCall(PetscStrcmp(argv[i], "-ksp_type", &ours));
      if (!ours || i + 1 == argc) continue;
      PetscCall(PetscSNPrintf(word, sizeof(word), "-s%" PetscInt_FMT "_%s %s", k, argv[i] + 1, argv[i + 1]));
      PetscCall(PetscOptionsInsertString(NULL, word));
    }
  }
  PetscCall(PetscCalloc1(cases, &results));
  for (PetscInt k = 0; k < cases; ++k) {
    results[k].number = start + k;
    results[k].board  = block ? one : Draw(start + k, seed, n_min, n_max);
    if (drift) {
      PetscCall(Drift(results[k].board));
      continue;
    }
    PetscCall(Try(&results[k], settings));
    above += results[k].excess > 0;
  }
  if (!drift) {
    qsort(results, (size_t)cases, sizeof(Result), Worse);
    for (PetscInt k = 0; k < PetscMin(worst, cases); ++k) PetscCall(Print(&results[k], settings));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "choice: %" PetscInt_FMT " boards, %" PetscInt_FMT " above 1.5 times the best setting's iterations plus 2\n", cases, above));
  }
  PetscCall(PetscFree(results));
  PetscCall(PetscFinalize());
  return above > 0;
}
