static char help[] = "PC rrb, Galerkin coarsening: new values keep all choices until iterations grow, the smallest grids with every option, lakes.\n  -parts: the loose parts alone\n\n";

#define _POSIX_C_SOURCE 200809L /* open_memstream() */
#include "five_points.h"
#include "rrb_problem.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- operators whose choices differ: flux over an edge between two nodes, Dirichlet boundary */
typedef enum {
  CONSTANT, ANISOTROPIC, EDGES, CHECKERBOARD, LAKES, WEAK_EDGE, WEAK_LAKES /* ties of 1e-6 */
} Kind;

enum { N = 127, LAKE = 17 };

static PetscBool Land(PetscInt i, PetscInt j)
{
  const PetscInt wall = LAKE - (i / LAKE + j / LAKE) % 5; /* lakes of several sizes, down to narrow ones */

  return (PetscBool)(i % LAKE == LAKE - 1 || j % LAKE == LAKE - 1 || i % LAKE > wall || (j % LAKE > 1 && (i / LAKE + 2 * (j / LAKE)) % 4 == 1));
}

static PetscReal Flux(Kind kind, PetscInt seed, PetscInt i, PetscInt j, PetscInt di, PetscInt dj) /* di, dj: 1, 0 or 0, 1 */
{
  const PetscReal noise = 1 + Hash(i, j, 10 * seed + di);

  switch (kind) {
  case ANISOTROPIC: return noise * (di ? 1 : 1e-4);
  case EDGES: return PetscPowReal(10, 4 * Hash(i, j, 10 * seed + di));
  case CHECKERBOARD: return noise * ((4 * (2 * i + di + 2) / (N + 1) + 4 * (2 * j + dj + 2) / (N + 1)) % 2 ? 1e4 : 1); /* at the middle of the edge */
  case LAKES: return i < 0 || j < 0 || i + di >= N || j + dj >= N || Land(i, j) || Land(i + di, j + dj) ? 0 : noise;
  case WEAK_EDGE: return i == 5 && j == 5 && di ? 1e-6 : noise;
  case WEAK_LAKES: return Land(i, j) || Land(i + di, j + dj) ? 1e-6 * noise : noise;
  default: return noise;
  }
}

typedef struct {
  Kind     kind;
  PetscInt seed;
} Fluxes;

static PetscReal Edge(const void *ctx, PetscInt i, PetscInt j, int k, PetscBool inside, PetscReal *add)
{
  const Fluxes *const f = (const Fluxes *)ctx;

  (void)inside, (void)add;
  return Flux(f->kind, f->seed, PetscMin(i, i + five_points_di[k]), PetscMin(j, j + five_points_dj[k]), k < 2, k > 1);
}

static PetscReal OneOnLand(const void *ctx, PetscInt i, PetscInt j, PetscReal sum)
{
  (void)ctx, (void)i, (void)j;
  return sum == 0 ? 1 : sum;
}

static PetscErrorCode Fill(DM da, Kind kind, PetscInt seed, Mat A)
{
  const Fluxes fluxes = {kind, seed};

  return FivePointsFill((FivePoints){Edge, OneOnLand, &fluxes}, da, A);
}

static PetscErrorCode Create(DM *da, Mat *A, Vec *x, Vec *y)
{
  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, N, N, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, da));
  PetscCall(DMSetUp(*da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(DMCreateGlobalVector(*da, x));
  PetscCall(VecDuplicate(*x, y));
  PetscCall(ModelVector(*da, 3, *x));
  PetscFunctionReturn(0);
}

/* ---- new values */

/* New values in the matrix, and y = M^-1 x. */
static PetscErrorCode Refresh(PC pc, DM da, Kind kind, PetscInt seed, Vec x, Vec y)
{
  Mat A;

  PetscFunctionBeginUser;
  PetscCall(PCGetOperators(pc, &A, NULL));
  PetscCall(Fill(da, kind, seed, A));
  PetscCall(PCSetUp(pc));
  PetscCall(PCApply(pc, x, y));
  PetscFunctionReturn(0);
}

static PetscErrorCode NewPC(Mat A, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetType(*pc, PCRRB));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(0);
}

static PetscErrorCode NewKSP(Mat A, const char type[], PetscReal rtol, PetscInt iterations, KSP *ksp, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPSetTolerances(*ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, iterations));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscCall(PCSetType(*pc, PCRRB));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(0);
}

/* What PCView() says apart from the memory, on the first process; to be freed with free(). */
/* without the memory, and without the shares of strong directions, whose ties rounding decides */
static PetscErrorCode View(PC pc, char **text)
{
  FILE       *stream;
  size_t      size;
  PetscViewer viewer;

  PetscFunctionBeginUser;
  *text  = NULL;
  stream = open_memstream(text, &size);
  PetscCheck(stream, PETSC_COMM_SELF, PETSC_ERR_MEM, "open_memstream");
  PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_WORLD, stream, &viewer));
  PetscCall(PCView(pc, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  fclose(stream);
  if (*text) {
    char *const line = strstr(*text, "    memory ");

    if (line) memset(line, ' ', strcspn(line, ";"));
    for (char *at = *text; (at = strstr(at, "strong directions:"));) memmove(at, at + strcspn(at, ";"), strlen(at + strcspn(at, ";")) + 1);
  }
  PetscFunctionReturn(0);
}

/* Choices are made once: a preconditioner that is refreshed depends on them and on the new values, not on what was between. */
static PetscErrorCode TestRefresh(Kind kind, const char name[], const char *const says[])
{
  DM          da;
  Mat         A;
  PC          pc, other;
  Vec         x, y, first, second;
  PetscReal   error;
  char       *before, *after, *fresh;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "new values, %s\n", name));
  PetscCall(Create(&da, &A, &x, &y));
  PetscCall(VecDuplicate(x, &first));
  PetscCall(VecDuplicate(x, &second));
  PetscCall(NewPC(A, &pc));
  PetscCall(Refresh(pc, da, kind, 1, x, first));
  PetscCall(View(pc, &before));
  for (int k = 0; says[k] && !rank; ++k)
    if (!strstr(before, says[k])) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  the view does not say: %s\n%s", says[k], before));
  PetscCall(Refresh(pc, da, CONSTANT, 2, x, second));
  PetscCall(View(pc, &after));
  PetscCall(CheckTrue("  choices stay, no trial", (PetscBool)(rank || !strcmp(before, after))));
  if (!rank && strcmp(before, after)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s%s", before, after));
  PetscCall(Refresh(pc, da, kind == EDGES ? CHECKERBOARD : EDGES, 3, x, y));
  PetscCall(Refresh(pc, da, CONSTANT, 2, x, y));
  PetscCall(Difference(y, second, &error));
  PetscCall(Check("  the same after others", error, 0));

  PetscCall(NewPC(A, &other)); /* the same values, with choices of its own */
  PetscCall(PCSetUp(other));
  PetscCall(View(other, &fresh));
  PetscCall(CheckTrue(kind == CONSTANT ? "  a new one chooses likewise" : "  a new one chooses otherwise", (PetscBool)(rank || (kind == CONSTANT) == !strcmp(after, fresh))));
  PetscCall(PCDestroy(&other));
  if (kind == CONSTANT || kind == CHECKERBOARD) { /* choices that can be given, the same on all grids */
    PetscCall(NewPC(A, &other));
    if (kind == CONSTANT) PetscCall(PCRRBSetSmoother(other, PC_RRB_SMOOTHER_POINT)); /* else those of each grid */
    if (kind == CHECKERBOARD) {
      PetscCall(PCRRBSetInterpolation(other, PC_RRB_INTERPOLATION_LEAST_SQUARES));
      PetscCall(PCRRBSetCycle(other, PC_RRB_CYCLE_AMLI));
      PetscCall(Refresh(other, da, kind, 1, x, y)); /* the corrections come from these values and stay */
      PetscCall(Difference(y, first, &error));
      PetscCall(Check("  the same choices given", error, 0));
    }
    PetscCall(Refresh(other, da, CONSTANT, 2, x, y));
    PetscCall(Difference(y, second, &error));
    PetscCall(Check("  the same with the choices given", error, 0));
    if (kind == CHECKERBOARD) {
      PetscCall(PCReset(other));
      PetscCall(PCSetOperators(other, A, A));
      PetscCall(PCSetUp(other));
      PetscCall(PCApply(other, x, y));
      PetscCall(Difference(y, second, &error));
      PetscCall(CheckTrue("  other corrections where they are fitted to the new values", (PetscBool)(error > 1e-6)));
    }
    PetscCall(PCDestroy(&other));
  }
  PetscCall(Refresh(pc, da, kind, 1, x, y));
  PetscCall(Difference(y, first, &error));
  PetscCall(Check("  back to the first values", error, 0));
  free(before);
  free(after);
  free(fresh);
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&first));
  PetscCall(VecDestroy(&second));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

/* ---- the smallest grids */

/* Solves A x = b, b in the range of A; |b - A x| / |b|, infinite if that did not converge. */
static PetscErrorCode Residual(KSP ksp, Vec b, Vec x, Vec r, PetscReal *residual)
{
  Mat                A;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(MatMult(A, x, r));
  PetscCall(Difference(r, b, residual));
  if (reason <= 0) *residual = PETSC_INFINITY;
  PetscFunctionReturn(0);
}

typedef struct {
  PCRRBCoarsening    coarsening;
  PCRRBSmoother      smoother;
  PCRRBInterpolation interpolation;
  PCRRBCycle         cycle;
  TesseraPrecision     precision;
} Options;

static PetscErrorCode TestSize(const Model *m, PetscInt *problems, PetscInt *failures)
{
  DM        da;
  Mat       A;
  Vec       x, b, r;
  PetscReal residual;

  PetscFunctionBeginUser;
  PetscCall(ModelCreate(PETSC_COMM_WORLD, m, PETSC_FALSE, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecDuplicate(x, &r));
  PetscCall(ModelVector(da, 5, x));
  PetscCall(MatMult(A, x, b));
  for (int k = 0; k < 2 * 2 * 3 * (5 * 3 + 2); ++k) {
    const int     form = k / 12;
    const Options o    = {form < 15 ? PC_RRB_COARSENING_GALERKIN : form == 15 ? PC_RRB_COARSENING_LUMP : PC_RRB_COARSENING_RHOMBUS, form < 15 ? (PCRRBSmoother)(form % 5) : PC_RRB_SMOOTHER_AUTO,
                          form < 15 ? (PCRRBInterpolation)(form / 5) : PC_RRB_INTERPOLATION_AUTO, (PCRRBCycle)(PC_RRB_CYCLE_V + k / 4 % 3), (TesseraPrecision)(k / 2 % 2)};
    KSP           ksp;
    PC            pc;

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetType(ksp, k % 2 ? KSPRRB : o.cycle == PC_RRB_CYCLE_K ? KSPFCG : KSPCG));
    PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 40));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCRRB));
    PetscCall(PCRRBSetCoarsening(pc, o.coarsening));
    PetscCall(PCRRBSetSmoother(pc, o.smoother));
    PetscCall(PCRRBSetInterpolation(pc, o.interpolation));
    PetscCall(PCRRBSetCycle(pc, o.cycle));
    PetscCall(PCRRBSetCycleEvery(pc, 1));
    PetscCall(PCRRBSetPrecision(pc, o.precision));
    PetscCall(PCRRBSetLevels(pc, 100)); /* as far as it goes */
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(Residual(ksp, b, x, r, &residual));
    ++*problems;
    if (!(residual <= 1e-8) && !(*failures)++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " x %" PetscInt_FMT "%s%s -ksp_type %s -pc_rrb_coarsening %s -pc_rrb_smoother %s -pc_rrb_interpolation %s -pc_rrb_cycle %s -pc_rrb_precision %s: residual %g\n", m->nx, m->ny, m->nine ? ", 9-point" : "", m->neumann ? ", Neumann" : "", k % 2 ? "rrb" : "cg", PCRRBCoarsenings[o.coarsening], PCRRBSmoothers[o.smoother], PCRRBInterpolations[o.interpolation], PCRRBCycles[o.cycle], TesseraPrecisions[o.precision], (double)residual));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

static PetscErrorCode TestSizes(void)
{
  static const PetscInt sizes[][2] = {{1, 1}, {1, 2}, {1, 13}, {12, 1}, {2, 2}, {3, 2}, {2, 3}, {3, 3}, {2, 9}, {11, 3}};
  PetscInt              problems = 0, failures = 0;
  PetscMPIInt           ranks;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); ++s) {
    for (int k = 0; k < 4; ++k) {
      const Model m = {sizes[s][0], sizes[s][1], (PetscBool)(k % 2), PETSC_FALSE, PETSC_FALSE, (PetscBool)(k / 2), 1, 0, 0, 0, 1};

      if (m.nx * m.ny < 2 * ranks || (m.neumann && m.nx * m.ny == 1)) continue; /* one node between no others is no equation */
      PetscCall(TestSize(&m, &problems, &failures));
    }
  }
  PetscCall(Check("the smallest grids, every option", problems ? (PetscReal)failures : PETSC_INFINITY, 0));
  PetscFunctionReturn(0);
}

/* ---- closed lakes: as many constants in the null space as there are lakes, and nobody says so */
/* What a view says of them. */
static const char *Parts(char text[])
{
  char *from = strstr(text, " loose parts"), *end = from ? strchr(from, ',') : NULL;

  if (!end) return "no loose parts";
  *end = 0;
  while (from > text && from[-1] >= '0' && from[-1] <= '9') --from;
  return from;
}

static PetscErrorCode TestLakes(const char type[])
{
  char     *text;
  DM        da;
  Mat       A;
  Vec       u, b, x, r;
  KSP       ksp;
  PC        pc;
  PetscReal residual;
  PetscInt  its;

  PetscFunctionBeginUser;
  PetscCall(Create(&da, &A, &u, &b));
  PetscCall(VecDuplicate(u, &x));
  PetscCall(VecDuplicate(u, &r));
  PetscCall(Fill(da, LAKES, 1, A));
  PetscCall(MatMult(A, u, b));
  PetscCall(NewKSP(A, type, 1e-10, 100, &ksp, &pc));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "closed lakes, %s\n", type));
  for (int k = 0; k < 2; ++k) { /* and with new values */
    if (k) {
      PetscCall(Fill(da, LAKES, 2, A));
      PetscCall(MatMult(A, u, b));
    }
    PetscCall(Residual(ksp, b, x, r, &residual));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(Check("  residual", residual, 1e-9));
    PetscCall(Check("  iterations", (PetscReal)its, 25));
  }
  PetscCall(View(pc, &text));
  if (text && *text) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s\n", Parts(text))); /* the first process has it */
  free(text);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

/* Parts that come loose after the first setup. */
static PetscErrorCode TestLooseParts(void)
{
  DM        da;
  Mat       A;
  Vec       b, x, r;
  KSP       ksp;
  PC        pc;
  PetscReal residual;
  PetscInt  its[3];

  PetscFunctionBeginUser;
  PetscCall(Create(&da, &A, &b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(NewKSP(A, KSPCG, 1e-8, 1000, &ksp, &pc));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "parts that come loose\n"));
  for (int k = 0; k < 3; ++k) {
    PetscCall(Fill(da, k ? WEAK_LAKES : WEAK_EDGE, 1 + k, A));
    PetscCall(Residual(ksp, b, x, r, &residual));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
    PetscCall(Check(k ? "  many lakes: iterations" : "  one weak edge: iterations", residual < PETSC_INFINITY ? (PetscReal)its[k] : PETSC_INFINITY, k ? 30 : 10));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

/* The next setup chooses again when iterations grow by half; until then the preconditioner stays what it is. */
static PetscErrorCode TestChoosingAgain(void)
{
  DM          da;
  Mat         A;
  Vec         b, x, y, z;
  KSP         ksp;
  PC          pc;
  PetscReal   error;
  PetscInt    its[4];
  char       *before, *after;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(Create(&da, &A, &b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(VecDuplicate(b, &z));
  PetscCall(NewKSP(A, KSPCG, 1e-8, 1000, &ksp, &pc));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "choosing again\n"));
  PetscCall(Fill(da, EDGES, 1, A));
  PetscCall(VecSet(y, 0)); /* nothing to do: no reference for the iterations */
  PetscCall(KSPSolve(ksp, y, x));
  PetscCall(PCApply(pc, b, y));
  PetscCall(View(pc, &before));
  for (int k = 0; k < 2; ++k) {
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
  }
  PetscCall(Fill(da, EDGES, 1, A));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(View(pc, &after));
  PetscCall(PCApply(pc, b, z));
  PetscCall(Difference(z, y, &error));
  PetscCall(Check("  nothing changes after a trivial solve", error + PetscAbsInt(its[0] - its[1]), 0));
  PetscCall(CheckTrue("  nor do the choices", (PetscBool)(rank || !strcmp(before, after))));
  free(before);
  free(after);

  PetscCall(PCReset(pc));
  PetscCall(KSPSetOperators(ksp, A, A));
  for (int k = 0; k < 4; ++k) {
    if (k < 2) PetscCall(Fill(da, k ? EDGES : CONSTANT, 1, A));
    if (k == 2) { /* the same matrix: the preconditioner stays */
      PetscCall(PCApply(pc, b, y));
      PetscCall(View(pc, &before));
    }
    if (k == 3) {
      PetscCall(PCApply(pc, b, z));
      PetscCall(Difference(z, y, &error));
      PetscCall(Check("  the same until the next setup", error, 0));
      PetscCall(Fill(da, EDGES, 1, A));
    }
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
  }
  PetscCall(View(pc, &after));
  PetscCall(Check("  as many iterations with the same matrix", PetscAbsInt(its[1] - its[2]), 0));
  PetscCall(CheckTrue("  fewer after a new choice", (PetscBool)(2 * its[1] > 3 * its[0] + 4 && its[3] < its[2])));
  PetscCall(CheckTrue("  which the view shows", (PetscBool)(rank || (strcmp(before, after) && strstr(after, "trial: ")))));
  free(before);
  free(after);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  static const char *const constant[]     = {"interpolation collapse", "by point", NULL};
  static const char *const anisotropic[]  = {"by line_i", NULL};
  static const char *const edges[]        = {"more sweeps on the finest grid", "5 sweeps by point", NULL};
  PetscBool                parts          = PETSC_FALSE;
  static const char *const checkerboard[] = {": least squares, AMLI", "interpolation least_squares", "by point", "cycle amli (auto)", NULL};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-parts", &parts, NULL));
  if (parts) {
    PetscCall(TestLakes(KSPCG));
    PetscCall(TestLooseParts());
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(TestRefresh(CONSTANT, "smooth", constant));
  PetscCall(TestRefresh(ANISOTROPIC, "anisotropic", anisotropic));
  PetscCall(TestRefresh(EDGES, "random edges", edges));
  PetscCall(TestRefresh(CHECKERBOARD, "checkerboard", checkerboard));
  PetscCall(TestSizes());
  PetscCall(TestLakes(KSPCG));
  PetscCall(TestLakes(KSPRRB));
  PetscCall(TestLooseParts());
  PetscCall(TestChoosingAgain());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2}}
    args:
    output_file: output/rrb_galerkin.out

  test:
    suffix: parts
    nsize: 3
    args: -parts

TEST*/
