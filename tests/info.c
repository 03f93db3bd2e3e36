static char help[] = "What setups have made and chosen, by functions: right numbers, the same as the views print, and errors before there is a setup.\n\n";

#include "auxamg_problem.h"
#include "rrb_problem.h"
#include <stdio.h>

static char view[40000], message[4096];

static PetscErrorCode Keep(MPI_Comm comm, int line, const char *fun, const char *file, PetscErrorCode n, PetscErrorType p, const char *mess, void *ctx)
{
  (void)comm, (void)line, (void)fun, (void)file, (void)ctx;
  if (p == PETSC_ERROR_INITIAL && mess) (void)PetscStrncpy(message, mess, sizeof(message));
  return n;
}

/* Is it an error of this code, whose message has this text in it? */
#define CHECK_ERROR(what, code, has, call) \
  do { \
    PetscErrorCode error; \
    message[0] = 0; \
    PetscCall(PetscPushErrorHandler(Keep, NULL)); \
    error = call; \
    PetscCall(PetscPopErrorHandler()); \
    PetscCall(CheckTrue(what, (PetscBool)(error == (code) && strstr(message, has)))); \
  } while (0)

/* What the view prints, on the first process. */
static PetscErrorCode Look(PetscObject object)
{
  PetscViewer viewer;
  char       *text = NULL;
  size_t      length;
  FILE       *f = open_memstream(&text, &length);

  PetscFunctionBeginUser;
  PetscCall(PetscViewerASCIIOpenWithFILE(PetscObjectComm(object), f, &viewer));
  PetscCall(PetscObjectView(object, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  fclose(f);
  PetscCall(PetscStrncpy(view, text, sizeof(view)));
  free(text);
  PetscFunctionReturn(0);
}

/* Has the view these words? Numbers as %g; only the first process has a view. */
static PetscErrorCode Says(const char what[], const char format[], ...)
{
  va_list     list;
  char        text[512];
  size_t      length;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  va_start(list, format);
  PetscCall(PetscVSNPrintf(text, sizeof(text), format, &length, list));
  va_end(list);
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(CheckTrue(what, (PetscBool)(rank || strstr(view, text))));
  if (!rank && !strstr(view, text)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  not \"%s\" but\n%s", text, view));
  PetscFunctionReturn(0);
}

/* Is the number the same on all processes, and positive? */
static PetscErrorCode CheckAlike(const char what[], PetscReal value)
{
  PetscReal least, most;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Allreduce(&value, &least, 1, MPIU_REAL, MPIU_MIN, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(&value, &most, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCall(CheckTrue(what, (PetscBool)(least > 0 && least == most)));
  PetscFunctionReturn(0);
}

static PetscBool Near(PetscReal a, PetscReal b)
{
  return (PetscBool)(PetscAbsReal(a - b) <= 1e-12 * PetscAbsReal(b));
}

static PetscErrorCode MakeKSP(DM da, Mat A, const char ksp_type[], const char pc_type[], KSP *ksp, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, ksp_type));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscCall(PCSetType(*pc, pc_type));
  if (da) PetscCall(PCSetDM(*pc, da));
  PetscFunctionReturn(0);
}

/* A solve whose setup fails ends with that, and the text stands in the view and in the error of who asks for grids. */
static PetscErrorCode CheckFailed(KSP ksp, PC pc, Mat A, const char has[], PetscErrorCode (*get)(PC, const char *[]))
{
  KSPConvergedReason reason;
  const char        *failure;
  Vec                x, b;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(get(pc, &failure));
  PetscCall(CheckTrue("  failed, and why", (PetscBool)(reason == KSP_DIVERGED_PC_FAILED && failure && strstr(failure, has))));
  PetscCall(Look((PetscObject)pc));
  PetscCall(Says("  the view says so", "  failed: %s\n", failure));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(0);
}

/* The numbers of the grids against each other, and against the view. */
static PetscErrorCode CheckGrids(PC pc, const Model *m)
{
  TesseraGridsInfo info;
  PCRRBChoice      c;
  PCRRBGridInfo    g;
  PetscInt         grids;
  const PetscInt  *nx, *ny;
  PetscReal        nodes = 0;
  PetscBool        halved = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(PCRRBGetInfo(pc, &info));
  PetscCall(PCRRBGetChoice(pc, &c));
  PetscCall(PCRRBGetGridSizes(pc, &grids, &nx, &ny));
  for (PetscInt k = 0; k < grids; ++k) {
    PetscCall(PCRRBGetGridInfo(pc, k, &g));
    if (g.nx != nx[k] || g.ny != ny[k] || g.exact != (k + 1 == grids)) halved = PETSC_FALSE;
    if (!c.algebraic && (nx[k] != m->nx >> k || ny[k] != m->ny >> k)) halved = PETSC_FALSE;
    nodes += (PetscReal)nx[k] * ny[k];
  }
  PetscCall(CheckTrue("  grids of every second node", (PetscBool)(halved && grids > 2 && grids == info.grids)));
  PetscCall(CheckTrue("  unknowns, grid complexity", (PetscBool)(info.unknowns == (PetscReal)m->nx * m->ny && Near(info.grid_complexity, nodes / info.unknowns))));
  if (!c.algebraic) PetscCall(CheckTrue("  operator complexity", Near(info.operator_complexity, (9 * nodes - (m->nine ? 0 : 4 * info.unknowns)) / ((m->nine ? 9 : 5) * info.unknowns))));
  else PetscCall(CheckTrue("  operator complexity", (PetscBool)(info.operator_complexity > 1 && info.operator_complexity < 3)));
  PetscCall(CheckAlike("  bytes", info.bytes));
  PetscCall(Look((PetscObject)pc));
  if (c.algebraic) PetscCall(Says("  view: levels", ", %" PetscInt_FMT " algebraic levels below", grids - 1));
  else PetscCall(Says("  view: levels", "  %" PetscInt_FMT " x %" PetscInt_FMT " nodes, %" PetscInt_FMT " levels on %" PetscInt_FMT " grids, the last %" PetscInt_FMT " nodes solved exactly\n", nx[0], ny[0], c.levels, grids, info.exact));
  PetscCall(Says("  view: cycle, precision", "  cycle %s", PCRRBCycles[c.cycle]));
  PetscCall(Says("  view: precision", "  factors in %s precision%s, %" PetscInt_FMT " grids stored by quarters\n", TesseraPrecisions[info.precision], info.backend == TESSERA_BACKEND_CUDA ? " on the CUDA device" : "", c.quarters));
  PetscCall(Says("  view: memory and complexity", "  memory %.4g MB, %.4g bytes per unknown; operator complexity %.4g, grid complexity %.4g; an application moves %.4g bytes per unknown\n", (double)info.bytes * 1e-6, (double)(info.bytes / info.unknowns), (double)info.operator_complexity, (double)info.grid_complexity, (double)c.moved));
  if (c.usual > 0) PetscCall(Says("  view: trial", "  trial: %.3g iterations expected with the usual choice; measures for rough coefficients: %s", (double)c.usual, c.measures));
  CHECK_ERROR("  no grid of that number", PETSC_ERR_ARG_OUTOFRANGE, "given", PCRRBGetGridInfo(pc, grids, &g));
  PetscFunctionReturn(0);
}

/* Inside bjacobi: the blocks' own. */
static PetscErrorCode CheckBlocks(DM da, Mat A)
{
  KSP              ksp, *sub;
  PC               pc, inner;
  PetscReal        mine, all;
  PetscInt         n, N;
  TesseraGridsInfo info;

  PetscFunctionBeginUser;
  PetscCall(MakeKSP(da, A, KSPPREONLY, PCBJACOBI, &ksp, &pc));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCBJacobiGetSubKSP(pc, NULL, NULL, &sub));
  PetscCall(KSPGetPC(sub[0], &inner));
  PetscCall(PCSetType(inner, PCRRB));
  CHECK_ERROR("  of another type", PETSC_ERR_SUP, "PCRRBGetInfo_C", PCRRBGetInfo(pc, &info));
  PetscCall(PCSetUpOnBlocks(pc));
  PetscCall(PCRRBGetInfo(inner, &info));
  mine = info.unknowns;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  PetscCall(CheckTrue("  unknowns of the blocks", (PetscBool)(mine == n && all == N)));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(0);
}

static PetscErrorCode TestRRB(void)
{
  const Model models[] = {{.nx = 130, .ny = 97, .spread = 0.5}, {.nx = 64, .ny = 64, .nine = PETSC_TRUE}, {.nx = 255, .ny = 255, .spread = 1e3}, {.nx = 130, .ny = 97}, {.nx = 130, .ny = 97}};
  const char *const name[] = {"5 points", "9 points", "rough", "lump", "single"};

  PetscFunctionBeginUser;
  for (int k = 0; k < 5; ++k) {
    DM               da;
    Mat              A;
    KSP              ksp;
    PC               pc;
    KSPRRBInfo       info;
    TesseraGridsInfo grids;
    PCRRBChoice      c;
    const char      *failure;

    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "rrb, %s\n", name[k]));
    PetscCall(ModelCreate(PETSC_COMM_WORLD, &models[k], PETSC_FALSE, &da, &A));
    PetscCall(MakeKSP(da, A, KSPRRB, PCRRB, &ksp, &pc));
    if (k == 3) PetscCall(PCRRBSetCoarsening(pc, PC_RRB_COARSENING_LUMP));
    if (k == 4) PetscCall(PCRRBSetPrecision(pc, TESSERA_PRECISION_SINGLE));
    CHECK_ERROR("  before the setup", PETSC_ERR_ORDER, "PCSetUp()", PCRRBGetInfo(pc, &grids));
    CHECK_ERROR("  before the setup, ksp", PETSC_ERR_ORDER, "KSPSetUp()", KSPRRBGetInfo(ksp, &info));
    PetscCall(KSPSetUp(ksp));
    PetscCall(CheckGrids(pc, &models[k]));
    PetscCall(PCRRBGetFailure(pc, &failure));
    PetscCall(PCRRBGetInfo(pc, &grids));
    PetscCall(PCRRBGetChoice(pc, &c));
    PetscCall(CheckTrue("  no failure", (PetscBool)!failure));
    PetscCall(CheckTrue("  what was asked for", (PetscBool)((c.coarsening == PC_RRB_COARSENING_LUMP) == (k == 3) && (grids.precision == TESSERA_PRECISION_SINGLE) == (k == 4))));
    if (k == 2) PetscCall(CheckTrue("  a trial", (PetscBool)(c.usual > 1 && c.expected > 1)));
    PetscCall(KSPRRBGetInfo(ksp, &info));
    PetscCall(CheckTrue("  ksp", (PetscBool)(info.schur == !models[k].nine && (info.moved > 72) == !models[k].nine)));
    PetscCall(Look((PetscObject)ksp));
    PetscCall(Says("  view: ksp", "  plain CG on the %s", info.schur ? "Schur complement" : "whole system"));
    PetscCall(PCRRBSetCycle(pc, PC_RRB_CYCLE_K));
    CHECK_ERROR("  other options", PETSC_ERR_ORDER, "options have changed", PCRRBGetChoice(pc, &c));
    if (!k) {
      PetscCall(CheckBlocks(da, A));
      PetscCall(MatScale(A, -1));
      PetscCall(CheckFailed(ksp, pc, A, "not positive definite", PCRRBGetFailure));
      CHECK_ERROR("  no grids", PETSC_ERR_ORDER, "not positive definite", PCRRBGetGridSizes(pc, NULL, NULL, NULL));
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode TestAuxAMG(void)
{
  Mesh             mesh;
  ProblemOptions   o = {2, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 1, 0, 0, 0, 0, 0, 0, 0};
  Mat              A, *operators;
  KSP              ksp;
  PC               pc;
  PetscInt         nodes = 0, grids, levels, N;
  PetscReal       *coordinates = NULL, sum = 0, entries = 0;
  const PetscInt  *sizes;
  const char      *failure;
  TesseraGridsInfo info;
  PCAuxAMGChoice   c;
  PCAuxAMGGridInfo g;
  PetscBool        same = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "auxamg\n"));
  PetscCall(MeshMake(MESH_DISK, 24, &mesh));
  PetscCall(ProblemMake(PETSC_COMM_WORLD, &mesh, &o, &A, &nodes, &coordinates));
  PetscCall(MakeKSP(NULL, A, KSPCG, PCAUXAMG, &ksp, &pc));
  PetscCall(PCSetCoordinates(pc, mesh.dim, nodes, coordinates));
  CHECK_ERROR("  before the setup", PETSC_ERR_ORDER, "PCSetUp()", PCAuxAMGGetInfo(pc, &info));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCAuxAMGGetFailure(pc, &failure));
  PetscCall(PCAuxAMGGetInfo(pc, &info));
  PetscCall(PCAuxAMGGetChoice(pc, &c));
  PetscCall(PCAuxAMGGetGridSizes(pc, &grids, &sizes));
  PetscCall(PCGetCoarseOperators(pc, &levels, &operators));
  for (PetscInt k = 0; k < grids; ++k) {
    Mat     M = k ? operators[grids - 1 - k] : A;
    MatInfo matrix;
    PetscCall(MatGetSize(M, &N, NULL));
    PetscCall(MatGetInfo(M, MAT_GLOBAL_SUM, &matrix));
    PetscCall(PCAuxAMGGetGridInfo(pc, k, &g));
    if (!k) N -= info.dirichlet, matrix.nz_used -= 2 * (PetscReal)info.dirichlet; /* their blocks are diagonal ones of two rows */
    if (N != 2 * sizes[k] || g.nodes != sizes[k] || !Near(g.row * N * 2, matrix.nz_used)) same = PETSC_FALSE;
    sum += sizes[k];
    entries += matrix.nz_used;
    if (!k) info.operator_complexity *= matrix.nz_used;
    if (k) PetscCall(MatDestroy(&M));
  }
  PetscCall(PetscFree(operators));
  PetscCall(CheckTrue("  no failure", (PetscBool)!failure));
  PetscCall(CheckTrue("  grids as PCGetCoarseOperators() gives them", (PetscBool)(same && grids > 2 && grids == info.grids && grids == levels && info.exact == N)));
  PetscCall(CheckTrue("  complexity", (PetscBool)(Near(info.grid_complexity, sum / sizes[0]) && Near(info.operator_complexity, entries))));
  PetscCall(CheckTrue("  choice", (PetscBool)(c.block == 2 && c.dimension == 2 && c.cycle == PC_AUXAMG_CYCLE_V && c.smoother == PC_AUXAMG_SMOOTHER_CHEBYSHEV && c.interpolation == PC_AUXAMG_INTERPOLATION_LINEAR && c.degree == 3 && !strcmp(c.coordinates, "PCSetCoordinates()"))));
  PetscCall(CheckAlike("  bytes", info.bytes));
  PetscCall(PCAuxAMGGetInfo(pc, &info));
  PetscCall(PCAuxAMGGetGridInfo(pc, 1, &g));
  PetscCall(Look((PetscObject)pc));
  PetscCall(Says("  view: complexity and memory", "  %" PetscInt_FMT " grids, operator complexity %.3f, grid complexity %.3f; memory %.4g MB, %.4g bytes per unknown\n", grids, (double)info.operator_complexity, (double)info.grid_complexity, (double)info.bytes * 1e-6, (double)(info.bytes / info.unknowns)));
  PetscCall(Says("  view: grid", "    grid 1: %" PetscInt_FMT " nodes in %" PetscInt_FMT " cells of levels %" PetscInt_FMT " to %" PetscInt_FMT ", %" PetscInt_FMT " hanging vertices, %.1f nodes per row, largest eigenvalue %.3f\n", g.nodes, g.cells, g.coarsest, g.finest, g.hanging, (double)g.row, (double)g.eigenvalue));
  CHECK_ERROR("  no grid of that number", PETSC_ERR_ARG_OUTOFRANGE, "given", PCAuxAMGGetGridInfo(pc, -1, &g));
  PetscCall(MatScale(A, -1));
  PetscCall(CheckFailed(ksp, pc, A, "not positive definite", PCAuxAMGGetFailure));
  CHECK_ERROR("  no grids", PETSC_ERR_ORDER, "not positive definite", PCAuxAMGGetChoice(pc, &c));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(coordinates));
  PetscCall(MeshDestroy(&mesh));
  PetscFunctionReturn(0);
}

static PetscErrorCode DenseMatrix(PetscInt n, PetscScalar diagonal, Mat *A)
{
  PetscInt first, last;

  PetscFunctionBeginUser;
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, NULL, A));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = first; i < last; ++i)
    for (PetscInt j = 0; j < n; ++j) PetscCall(MatSetValue(*A, i, j, i == j ? (i == 5 ? diagonal : n) : 0.5, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode TestDense(void)
{
  Mat                  A, B;
  KSP                  ksp;
  PC                   pc;
  SNES                 snes;
  Vec                  q, x;
  const char          *failure;
  PCDenseGSInfo        info;
  SNESVIPGSCertificate c;
  SNESConvergedReason  reason;

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "densegs\n"));
  PetscCall(DenseMatrix(100, 100, &A));
  PetscCall(DenseMatrix(100, 0, &B));
  PetscCall(MakeKSP(NULL, A, KSPCG, PCDENSEGS, &ksp, &pc));
  PetscCall(PCDenseGSSetPrecision(pc, TESSERA_PRECISION_SINGLE));
  CHECK_ERROR("  before the setup", PETSC_ERR_ORDER, "PCSetUp()", PCDenseGSGetInfo(pc, &info));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCDenseGSGetFailure(pc, &failure));
  PetscCall(PCDenseGSGetInfo(pc, &info));
  PetscCall(CheckTrue("  panels in single precision", (PetscBool)(!failure && info.panel > 0 && info.threads > 0 && info.precision == TESSERA_PRECISION_SINGLE && info.bytes >= 4. * 100 * 100)));
  PetscCall(CheckAlike("  bytes", info.bytes));
  PetscCall(Look((PetscObject)pc));
  PetscCall(Says("  view: panels", "  panels of %" PetscInt_FMT " rows in single precision%s, %" PetscInt_FMT " thread", info.panel, info.backend == TESSERA_BACKEND_CUDA ? " on the CUDA device" : "", info.threads));
  PetscCall(Says("  view: memory", "  memory %.4g MB\n", (double)info.bytes * 1e-6));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(CheckFailed(ksp, pc, B, "row 5 is zero", PCDenseGSGetFailure));
  CHECK_ERROR("  no panels", PETSC_ERR_ORDER, "row 5 is zero", PCDenseGSGetInfo(pc, &info));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "vipgs\n"));
  PetscCall(MatCreateVecs(A, &x, &q));
  PetscCall(VecSet(q, -1));
  for (int k = 0; k < 2; ++k) {
    PetscCall(SNESVIPGSCreateLCP(k ? B : A, q, NULL, NULL, &snes));
    PetscCall(SNESVIPGSSetNewton(snes, k ? PETSC_FALSE : PETSC_TRUE)); /* sweeps alone need a positive diagonal */
    PetscCall(VecSet(x, 0));
    PetscCall(SNESSolve(snes, NULL, x));
    PetscCall(SNESGetConvergedReason(snes, &reason));
    PetscCall(SNESVIPGSGetFailure(snes, &failure));
    PetscCall(SNESVIPGSGetCertificate(snes, &c));
    PetscCall(Look((PetscObject)snes));
    if (!k) PetscCall(CheckTrue("  no failure", (PetscBool)(reason > 0 && !failure)));
    else PetscCall(CheckTrue("  failed, and why", (PetscBool)(reason == SNES_DIVERGED_LINEAR_SOLVE && failure && strstr(failure, "row 5"))));
    if (k) PetscCall(Says("  the view says so", "  failed: %s\n", failure));
    else PetscCall(Says("  view: certificate", "  certificate: natural residual %.3g (%.3g of |F(0)|), complementarity %.3g", (double)c.natural, (double)c.relative, (double)c.gap));
    PetscCall(SNESDestroy(&snes));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&q));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(0);
}

/* F(x) = A x + 0.3 in the middle of the grid, - 1 elsewhere; x >= 0 */
typedef struct {
  Mat A;
  Vec q;
} Obstacle;

static PetscErrorCode Function(SNES snes, Vec x, Vec f, void *ctx)
{
  const Obstacle *p = (const Obstacle *)ctx;

  PetscFunctionBeginUser;
  (void)snes;
  PetscCall(MatMultAdd(p->A, x, p->q, f));
  PetscFunctionReturn(0);
}

static PetscErrorCode Jacobian(SNES snes, Vec x, Mat A, Mat B, void *ctx)
{
  (void)snes, (void)x, (void)A, (void)B, (void)ctx;
  return 0;
}

static PetscErrorCode Objective(Tao tao, Vec x, PetscReal *value, Vec g, void *ctx)
{
  const Obstacle *p = (const Obstacle *)ctx;
  PetscReal       linear;

  PetscFunctionBeginUser;
  (void)tao;
  PetscCall(MatMult(p->A, x, g));
  PetscCall(VecDot(x, g, value));
  PetscCall(VecDot(x, p->q, &linear));
  *value = *value / 2 + linear;
  PetscCall(VecAXPY(g, 1, p->q));
  PetscFunctionReturn(0);
}

static PetscErrorCode Hessian(Tao tao, Vec x, Mat A, Mat B, void *ctx)
{
  (void)tao, (void)x, (void)A, (void)B, (void)ctx;
  return 0;
}

static PetscErrorCode CheckBoxes(PetscObject solver, const Model *m, const TesseraGridsInfo *info, const SNESVIPMGChoice *c, PetscInt grids, const PetscInt sizes[])
{
  PetscReal sum = 0;
  PetscBool fewer = PETSC_TRUE;
  char      text[400] = "", one[40];

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < grids; ++k) {
    const PetscInt *n = sizes + 3 * k;
    sum += (PetscReal)n[0] * n[1] * n[2];
    if (n[2] != 1 || (k && (2 * n[0] < n[-3] || 2 * n[1] < n[-2] || n[0] * n[1] >= n[-3] * n[-2]))) fewer = PETSC_FALSE;
    PetscCall(PetscSNPrintf(one, sizeof(one), " %" PetscInt_FMT "x%" PetscInt_FMT, n[0], n[1]));
    PetscCall(PetscStrlcat(text, one, sizeof(text)));
  }
  PetscCall(CheckTrue("  grids", (PetscBool)(fewer && grids > 2 && grids == info->grids && sizes[0] == m->nx && sizes[1] == m->ny)));
  PetscCall(CheckTrue("  complexity", (PetscBool)(info->unknowns == (PetscReal)m->nx * m->ny && Near(info->grid_complexity, sum / info->unknowns) && info->operator_complexity > info->grid_complexity && info->operator_complexity < 9. / 5 * info->grid_complexity)));
  PetscCall(CheckTrue("  choice", (PetscBool)(c->symmetric && !c->box && c->dimension == 2 && c->cycle == SNES_VIPMG_CYCLE_V && c->fmg && c->pre > 0 && c->post > 0 && c->omega == 1 && !c->lines_x && !c->lines_y)));
  PetscCall(CheckAlike("  bytes", info->bytes));
  PetscCall(Look(solver));
  PetscCall(Says("  view: grids", "  grids:%s\n", text));
  PetscCall(Says("  view: choice", "  hybrid v-cycles with %" PetscInt_FMT " sweeps before and %" PetscInt_FMT " after", c->pre, c->post));
  PetscCall(Says("  view: complexity and memory", "operator complexity %.4g, grid complexity %.4g; %.3g MB on the", (double)info->operator_complexity, (double)info->grid_complexity, (double)info->bytes * 1e-6));
  PetscFunctionReturn(0);
}

static PetscErrorCode TestVIPMG(void)
{
  const Model         m = {.nx = 65, .ny = 49};
  DM                  da;
  Obstacle            p;
  SNES                snes;
  Tao                 tao;
  Vec                 x, lower, upper, f;
  TesseraGridsInfo    info;
  SNESVIPMGChoice     c;
  PetscInt            grids;
  const PetscInt     *sizes;
  const char         *failure;
  SNESConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "vipmg\n"));
  PetscCall(ModelCreate(PETSC_COMM_WORLD, &m, PETSC_FALSE, &da, &p.A));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &p.q));
  PetscCall(VecDuplicate(x, &f));
  PetscCall(VecDuplicate(x, &lower));
  PetscCall(VecDuplicate(x, &upper));
  PetscCall(VecSet(upper, PETSC_INFINITY));
  PetscCall(ModelVector(da, 3, p.q));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetType(snes, SNESVIPMG));
  PetscCall(SNESSetDM(snes, da));
  PetscCall(SNESSetFunction(snes, f, Function, &p));
  PetscCall(SNESSetJacobian(snes, p.A, p.A, Jacobian, NULL));
  PetscCall(SNESVISetVariableBounds(snes, lower, upper));
  CHECK_ERROR("  before the solve", PETSC_ERR_ORDER, "the first solve makes them", SNESVIPMGGetInfo(snes, &info));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(SNESVIPMGGetFailure(snes, &failure));
  PetscCall(CheckTrue("  solved, no failure", (PetscBool)(reason > 0 && !failure)));
  PetscCall(SNESVIPMGGetInfo(snes, &info));
  PetscCall(SNESVIPMGGetChoice(snes, &c));
  PetscCall(SNESVIPMGGetGridSizes(snes, &grids, &sizes));
  PetscCall(CheckBoxes((PetscObject)snes, &m, &info, &c, grids, sizes));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "vipmg, tao\n"));
  PetscCall(TaoCreate(PETSC_COMM_WORLD, &tao));
  PetscCall(TaoSetType(tao, TAOVIPMG));
  PetscCall(VecSet(x, 0));
  PetscCall(TaoSetSolution(tao, x));
  PetscCall(TaoSetVariableBounds(tao, lower, upper));
  PetscCall(TaoSetObjectiveAndGradient(tao, NULL, Objective, &p));
  PetscCall(TaoSetHessian(tao, p.A, p.A, Hessian, NULL));
  CHECK_ERROR("  before the solve", PETSC_ERR_ORDER, "the first solve makes them", TaoVIPMGGetInfo(tao, &info));
  PetscCall(TaoSolve(tao));
  PetscCall(TaoVIPMGGetInfo(tao, &info));
  PetscCall(TaoVIPMGGetChoice(tao, &c));
  PetscCall(TaoVIPMGGetGridSizes(tao, &grids, &sizes));
  PetscCall(CheckBoxes((PetscObject)tao, &m, &info, &c, grids, sizes));
  PetscCall(TaoSetType(tao, TAOVIPGS));
  CHECK_ERROR("  of another type", PETSC_ERR_SUP, "TaoVIPMGGetInfo_C", TaoVIPMGGetInfo(tao, &info));
  SNES inside;
  SNESType type;
  PetscCall(TaoVIPGSGetSNES(tao, &inside));
  PetscCall(SNESGetType(inside, &type));
  PetscCall(CheckTrue("  the solver of vipgs", (PetscBool)!strcmp(type, SNESVIPGS)));
  PetscCall(TaoDestroy(&tao));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "vipmg, a Jacobian of no use\n"));
  PetscCall(MatScale(p.A, -1));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(SNESVIPMGGetFailure(snes, &failure));
  PetscCall(CheckTrue("  failed, and why", (PetscBool)(reason == SNES_DIVERGED_LINEAR_SOLVE && failure && strstr(failure, "positive"))));
  PetscCall(Look((PetscObject)snes));
  PetscCall(Says("  the view says so", "  failed: %s\n", failure));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&p.q));
  PetscCall(VecDestroy(&lower));
  PetscCall(VecDestroy(&upper));
  PetscCall(MatDestroy(&p.A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TesseraInitializePackage());
  PetscCall(TestRRB());
  PetscCall(TestAuxAMG());
  PetscCall(TestDense());
  PetscCall(TestVIPMG());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2}}
    output_file: output/info.out

TEST*/
