static char help[] = "Matrices in every state: not given, without values, not assembled, changed without assembly, matrix-free, of other types.\n\
Each type must answer as PETSc's own: the same error on all processes, a solution once the matrix is mended.\n\n";

#include "compat.h"
#include "tessera.h"
#include <petsc/private/petscimpl.h>
#include <petscdmda.h>
#include <petscsnes.h>
#include <petsctao.h>

static char           message[4096];
static PetscErrorCode Keep(MPI_Comm comm, int line, const char *fun, const char *file, PetscErrorCode n, PetscErrorType p, const char *text, void *ctx)
{
  (void)comm, (void)line, (void)fun, (void)file, (void)ctx;
  if (p == PETSC_ERROR_INITIAL && text) (void)PetscStrncpy(message, text, sizeof(message));
  return n;
}

/* `what: ok` where every process has this error code and the text is in the message of each. */
static PetscErrorCode Expect(const char *what, PetscErrorCode ierr, PetscErrorCode code, const char *text)
{
  PetscMPIInt here = ierr == code && (!text || strstr(message, text)), all;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s: ", what));
  if (all) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error %d, expected %d: %s\n", (int)ierr, (int)code, message));
  message[0] = 0;
  PetscFunctionReturn(0);
}

typedef enum { UNSET, NEVER, LATER, ONE } State;
typedef struct {
  DM        da;
  State     state;
  PetscInt  products; /* of the matrix-free one */
  PetscBool broken;   /* the callback of this solve leaves the matrix as the state says */
  Mat       entries;
} Problem;

/* The 5-point Laplacian, shifted. `assemble`: none, or as usual. */
static PetscErrorCode Values(DM da, Mat A, PetscReal shift, PetscBool assemble)
{
  PetscInt xs, ys, xm, ym, nx, ny;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetInfo(da, NULL, &nx, &ny, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i) {
      const PetscInt dx[5] = {0, -1, 1, 0, 0}, dy[5] = {0, 0, 0, -1, 1};
      MatStencil     row = {0, j, i, 0};
      for (PetscInt k = 0; k < 5; ++k) {
        MatStencil        col = {0, j + dy[k], i + dx[k], 0};
        const PetscScalar v   = k ? -1 : 4 + shift;
        if (col.i >= 0 && col.i < nx && col.j >= 0 && col.j < ny) PetscCall(MatSetValuesStencil(A, 1, &row, 1, &col, &v, INSERT_VALUES));
      }
    }
  if (assemble) {
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode NewMatrix(DM da, MatType type, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(DMSetMatType(da, type));
  PetscCall(DMCreateMatrix(da, A));
  if (!strcmp(type, MATSBAIJ)) PetscCall(MatSetOption(*A, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
  PetscFunctionReturn(0);
}

/* A matrix that nobody has assembled; MatSetUp() alone leaves none of PETSc's types assembled. */
static PetscErrorCode Unassembled(DM da, MatType type, Mat *A)
{
  Mat                    like;
  PetscInt               m, M;
  ISLocalToGlobalMapping map;

  PetscFunctionBeginUser;
  PetscCall(NewMatrix(da, type, &like));
  PetscCall(MatGetLocalSize(like, &m, NULL));
  PetscCall(MatGetSize(like, &M, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, m, m, M, M));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSeqAIJSetPreallocation(*A, 5, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 5, NULL, 5, NULL));
  PetscCall(MatSetUp(*A));
  PetscCall(DMGetLocalToGlobalMapping(da, &map));
  PetscCall(MatSetLocalToGlobalMapping(*A, map, map));
  {
    PetscInt       dim, start[3], width[3];
    DMBoundaryType b;
    PetscCall(DMDAGetInfo(da, &dim, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &b, NULL, NULL, NULL));
    PetscCall(DMDAGetGhostCorners(da, &start[0], &start[1], &start[2], &width[0], &width[1], &width[2]));
    PetscCall(MatSetStencil(*A, dim, width, start, 1));
  }
  PetscCall(MatSetDM(*A, da));
  PetscCall(MatDestroy(&like));
  PetscFunctionReturn(0);
}

static PetscErrorCode Product(Mat S, Vec x, Vec y)
{
  Problem *p;

  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(S, &p));
  ++p->products;
  PetscCall(MatMult(p->entries, x, y));
  PetscFunctionReturn(0);
}

static PetscErrorCode Shell(Problem *p, Mat *S)
{
  PetscInt m;

  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(p->entries, &m, NULL));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, m, m, PETSC_DETERMINE, PETSC_DETERMINE, p, S));
  PetscCall(MatShellSetOperation(*S, MATOP_MULT, (void (*)(void))Product));
  p->products = 0;
  PetscFunctionReturn(0);
}

/* A: or NULL, then none is set */
static PetscErrorCode NewKSP(Problem *p, const char *type, const char *pctype, Mat A, KSP *ksp)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPDestroy(ksp));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetDM(*ksp, p->da));
  PetscCall(SetDMActive(*ksp, PETSC_FALSE));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(KSPSetTolerances(*ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
  PetscCall(KSPSetFromOptions(*ksp));
  if (A) PetscCall(KSPSetOperators(*ksp, A, A));
  PetscFunctionReturn(0);
}

/* Solves; the solution is one of A. */
static PetscErrorCode Solved(const char *what, KSP ksp, Mat A, Vec b, Vec x)
{
  Vec                r;
  PetscReal          norm, rhs;
  KSPConvergedReason reason;
  PetscErrorCode     ierr;

  PetscFunctionBeginUser;
  PetscCall(PetscPushErrorHandler(Keep, NULL));
  ierr = KSPSolve(ksp, b, x);
  PetscCall(PetscPopErrorHandler());
  if (ierr) {
    PetscCall(Expect(what, ierr, (PetscErrorCode)0, NULL));
    PetscFunctionReturn(0);
  }
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &norm));
  PetscCall(VecNorm(b, NORM_2, &rhs));
  PetscCall(VecDestroy(&r));
  if (reason > 0 && norm <= 1e-8 * rhs) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s: ok\n", what));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s: %s, residual %g\n", what, KSPConvergedReasons[reason], (double)(norm / rhs)));
  PetscFunctionReturn(0);
}

static PetscErrorCode Caught(KSP ksp, Vec b, Vec x, PetscErrorCode *ierr)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPushErrorHandler(Keep, NULL));
  *ierr = KSPSolve(ksp, b, x);
  PetscCall(PetscPopErrorHandler());
  PetscFunctionReturn(0);
}

static PetscErrorCode Linear(const char *type, const char *pctype, MatType mattype)
{
  Problem        p = {NULL, UNSET, 0, PETSC_FALSE, NULL};
  KSP            ksp = NULL;
  Mat            A, S;
  Vec            b, x;
  PetscErrorCode ierr;
  PetscMPIInt    rank, size;
  PetscInt       row;
  const PetscBool rrb = !strcmp(type, KSPRRB);

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "KSP %s, PC %s\n", type, pctype));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 13, 9, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &p.da));
  PetscCall(DMSetUp(p.da));
  PetscCall(DMCreateGlobalVector(p.da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecSet(b, 1));
  PetscCall(NewKSP(&p, type, pctype, NULL, &ksp));
  PetscCall(Caught(ksp, b, x, &ierr));
  PetscCall(Expect("no matrix", ierr, PETSC_ERR_ARG_WRONGSTATE, "no matrix"));

  PetscCall(Unassembled(p.da, mattype, &A));
  if (strcmp(mattype, MATDENSE)) { /* which PETSc takes for assembled from the start */
    PetscCall(NewKSP(&p, type, pctype, A, &ksp));
    PetscCall(Caught(ksp, b, x, &ierr));
    PetscCall(Expect("never assembled", ierr, PETSC_ERR_ARG_WRONGSTATE, "not assembled"));
  }
  PetscCall(Values(p.da, A, 0, PETSC_FALSE));
  PetscCall(NewKSP(&p, type, pctype, A, &ksp));
  PetscCall(Caught(ksp, b, x, &ierr));
  PetscCall(Expect("values, but not assembled", ierr, PETSC_ERR_ARG_WRONGSTATE, "not assembled"));
  PetscCall(Values(p.da, A, 0, PETSC_TRUE));
  PetscCall(Solved("assembled at last", ksp, A, b, x));
  /* An entry after the first solve. KSP rrb needs no product with A, so it looks itself; others notice by MatMult(), each process for itself,
     and PETSc allows no solve after two such errors. */
  PetscCall(MatGetOwnershipRange(A, &row, NULL));
  if (rank == size - 1 || !rrb) PetscCall(MatSetValue(A, row, row, 9.0, INSERT_VALUES));
  PetscCall(Caught(ksp, b, x, &ierr));
  PetscCall(Expect("an entry changed and not assembled", ierr, PETSC_ERR_ARG_WRONGSTATE, rrb ? "not assembled" : NULL));
  if (rrb) {
    PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
    PetscCall(Caught(ksp, b, x, &ierr));
    PetscCall(Expect("the same with a kept preconditioner", ierr, PETSC_ERR_ARG_WRONGSTATE, "not assembled"));
    PetscCall(KSPSetReusePreconditioner(ksp, PETSC_FALSE));
  } else PetscCall(NewKSP(&p, type, pctype, A, &ksp));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(Solved("assembled again", ksp, A, b, x));
  PetscCall(KSPReset(ksp));
  PetscCall(Caught(ksp, b, x, &ierr));
  PetscCall(Expect("after KSPReset()", ierr, PETSC_ERR_ARG_WRONGSTATE, "no matrix"));

  p.entries = A;
  PetscCall(Shell(&p, &S));
  PetscCall(NewKSP(&p, type, pctype, S, &ksp));
  PetscCall(Caught(ksp, b, x, &ierr));
  PetscCall(Expect("matrix-free", ierr, PETSC_ERR_SUP, "shell"));
  if (p.products) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %" PetscInt_FMT " products with it\n", p.products));
  if (!rrb) { /* as Amat it may be */
    PetscCall(NewKSP(&p, type, pctype, NULL, &ksp));
    PetscCall(KSPSetOperators(ksp, S, A));
    PetscCall(Solved("matrix-free Amat", ksp, A, b, x));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(DMDestroy(&p.da));
  PetscFunctionReturn(0);
}

/* Assembled types are read by converting, MATSELL with a layout that MatConvert() has not finished. What is read stays
   as it is, and so does its state: by that PCSetUp() knows that nothing has changed. */
static PetscErrorCode Types(const char *type, const char *pctype)
{
  const MatType types[] = {MATSELL, MATBAIJ, MATSBAIJ, MATDENSE};
  Problem       p = {NULL, UNSET, 0, PETSC_FALSE, NULL};
  KSP           ksp = NULL;
  Mat           A;
  Vec           b, x;
  PetscObjectState before, after;

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "KSP %s, PC %s\n", type, pctype));
  for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); ++t) {
    const PetscBool sell = t == 0;
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, 13, 9, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &p.da));
    PetscCall(DMSetUp(p.da));
    PetscCall(NewMatrix(p.da, sell ? MATAIJ : types[t], &A));
    PetscCall(Values(p.da, A, 0, PETSC_TRUE));
    if (sell) {
      Mat B;
      PetscCall(MatConvert(A, MATSELL, MAT_INITIAL_MATRIX, &B));
      PetscCall(MatDestroy(&A));
      A = B;
    }
    PetscCall(DMCreateGlobalVector(p.da, &b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(VecSet(b, 1));
    PetscCall(NewKSP(&p, type, pctype, A, &ksp));
    PetscCall(PetscObjectStateGet((PetscObject)A, &before));
    PetscCall(Solved(types[t], ksp, A, b, x));
    PetscCall(PetscObjectStateGet((PetscObject)A, &after));
    PetscCheck(after == before, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "A solve has changed the state of a matrix of type %s", types[t]);
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(DMDestroy(&p.da));
  }
  PetscFunctionReturn(0);
}

/* F = A x - 1 */
static PetscErrorCode Residual(Problem *p, Vec x, Vec f)
{
  PetscFunctionBeginUser;
  PetscCall(MatMult(p->entries, x, f));
  PetscCall(VecShift(f, -1));
  PetscFunctionReturn(0);
}

static PetscErrorCode Fill(Problem *p, Mat B)
{
  PetscMPIInt rank, size;
  PetscInt    row;
  PetscBool   shell;

  PetscFunctionBeginUser;
  PetscCall(PetscObjectTypeCompare((PetscObject)B, MATSHELL, &shell));
  if (shell) PetscFunctionReturn(0);
  if (p->broken && p->state == NEVER) PetscCall(Values(p->da, B, 0, PETSC_FALSE));
  else PetscCall(Values(p->da, B, 0, PETSC_TRUE));
  if (p->broken && p->state == ONE) {
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    PetscCall(MatGetOwnershipRange(B, &row, NULL));
    if (rank == size - 1) PetscCall(MatSetValue(B, row, row, 4.5, INSERT_VALUES));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode Function(SNES snes, Vec x, Vec f, void *ctx)
{
  (void)snes;
  return Residual((Problem *)ctx, x, f);
}

static PetscErrorCode Jacobian(SNES snes, Vec x, Mat A, Mat B, void *ctx)
{
  (void)snes, (void)x, (void)A;
  return Fill((Problem *)ctx, B);
}

static PetscErrorCode Gradient(Tao tao, Vec x, PetscReal *f, Vec g, void *ctx)
{
  Problem    *p = (Problem *)ctx;
  PetscScalar xg, sum;

  PetscFunctionBeginUser;
  (void)tao;
  PetscCall(Residual(p, x, g));
  PetscCall(VecDot(x, g, &xg));
  PetscCall(VecSum(x, &sum));
  *f = 0.5 * (xg - sum);
  PetscFunctionReturn(0);
}

static PetscErrorCode Hessian(Tao tao, Vec x, Mat A, Mat B, void *ctx)
{
  (void)tao, (void)x, (void)A;
  return Fill((Problem *)ctx, B);
}

/* One solve of SNES or Tao with J from zero: its error, and how far the solution is from one with F = 0. */
static PetscErrorCode SolveOnce(PetscBool tao, const char *type, Problem *p, Mat J, PetscErrorCode *ierr, PetscReal *norm)
{
  Vec  x, f, xl, xu;
  SNES snes = NULL;
  Tao  t = NULL;

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(p->da, &x));
  PetscCall(VecDuplicate(x, &f));
  PetscCall(VecDuplicate(x, &xl));
  PetscCall(VecDuplicate(x, &xu));
  PetscCall(VecSet(x, 0));
  PetscCall(VecSet(xl, -100));
  PetscCall(VecSet(xu, 100));
  if (tao) {
    PetscCall(TaoCreate(PETSC_COMM_WORLD, &t));
    PetscCall(TaoSetType(t, type));
    PetscCall(TaoSetSolution(t, x));
    PetscCall(TaoSetObjectiveAndGradient(t, NULL, Gradient, p));
    PetscCall(TaoSetHessian(t, J, J, Hessian, p));
    PetscCall(TaoSetVariableBounds(t, xl, xu));
    PetscCall(TaoSetTolerances(t, 1e-9, 1e-12, 0));
  } else {
    PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
    PetscCall(SNESSetType(snes, type));
    PetscCall(SNESSetDM(snes, p->da));
    PetscCall(SNESSetFunction(snes, f, Function, p));
    PetscCall(SNESSetJacobian(snes, J, J, Jacobian, p));
    PetscCall(SNESVISetVariableBounds(snes, xl, xu));
    PetscCall(SNESSetTolerances(snes, 1e-9, 1e-12, 0, 50, PETSC_DEFAULT));
  }
  PetscCall(PetscPushErrorHandler(Keep, NULL));
  *ierr = tao ? TaoSolve(t) : SNESSolve(snes, NULL, x);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Residual(p, x, f));
  PetscCall(VecNorm(f, NORM_2, norm));
  PetscCall(SNESDestroy(&snes));
  PetscCall(TaoDestroy(&t));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&xl));
  PetscCall(VecDestroy(&xu));
  PetscFunctionReturn(0);
}

static PetscErrorCode Nonlinear(PetscBool tao, const char *type, MatType mattype)
{
  Problem        p = {NULL, UNSET, 0, PETSC_FALSE, NULL};
  Mat            J, S;
  PetscErrorCode ierr;
  PetscReal      norm;

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %s\n", tao ? "Tao" : "SNES", type));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 13, 9, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &p.da));
  PetscCall(DMSetUp(p.da));
  PetscCall(NewMatrix(p.da, MATAIJ, &p.entries));
  PetscCall(Values(p.da, p.entries, 0, PETSC_TRUE));
  PetscCall(Unassembled(p.da, mattype, &J));
  p.broken = PETSC_TRUE;
  p.state  = NEVER;
  PetscCall(SolveOnce(tao, type, &p, J, &ierr, &norm));
  PetscCall(Expect("never assembled", ierr, PETSC_ERR_ARG_WRONGSTATE, "not assembled"));
  p.broken = PETSC_FALSE;
  PetscCall(SolveOnce(tao, type, &p, J, &ierr, &norm));
  PetscCall(Expect("assembled at last", ierr, (PetscErrorCode)0, NULL));
  if (!(norm < 1e-6)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  residual %g\n", (double)norm));
  p.broken = PETSC_TRUE;
  p.state  = ONE;
  PetscCall(SolveOnce(tao, type, &p, J, &ierr, &norm));
  PetscCall(Expect("one process has changed an entry", ierr, PETSC_ERR_ARG_WRONGSTATE, "not assembled"));
  PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
  PetscCall(Shell(&p, &S));
  PetscCall(SolveOnce(tao, type, &p, S, &ierr, &norm));
  PetscCall(Expect("matrix-free", ierr, PETSC_ERR_SUP, "shell"));
  if (p.products) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %" PetscInt_FMT " products with it\n", p.products));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&J));
  PetscCall(MatDestroy(&p.entries));
  PetscCall(DMDestroy(&p.da));
  PetscFunctionReturn(0);
}

static PetscErrorCode Image(SNES snes, Vec x, Vec f, void *A)
{
  (void)snes;
  return MatMult((Mat)A, x, f);
}
static PetscErrorCode Constant(SNES snes, Vec x, Mat J, Mat P, void *ctx)
{
  (void)snes, (void)x, (void)J, (void)P, (void)ctx;
  return 0;
}

/* Fewer equations than unknowns. */
static PetscErrorCode Rectangular(SNESType type, const char *text)
{
  Mat      A;
  Vec      x, f;
  SNES     snes;
  PetscInt first, last;

  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 40, 45, 1, NULL, 1, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; ++i) PetscCall(MatSetValue(A, i, i, 2, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &f));
  PetscCall(VecSet(x, 1));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetType(snes, type));
  PetscCall(SNESSetFunction(snes, f, Image, A));
  PetscCall(SNESSetJacobian(snes, A, A, Constant, NULL));
  PetscCall(PetscPushErrorHandler(Keep, NULL));
  const PetscErrorCode ierr = SNESSolve(snes, NULL, x);
  PetscCall(PetscPopErrorHandler());
  PetscCall(Expect("fewer equations than unknowns", ierr, PETSC_ERR_ARG_SIZ, text));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&f));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(Linear(KSPCG, PCRRB, MATAIJ));
  PetscCall(Linear(KSPRRB, PCRRB, MATAIJ));
  PetscCall(Linear(KSPCG, PCAUXAMG, MATAIJ));
  PetscCall(Linear(KSPRICHARDSON, PCDENSEGS, MATDENSE));
  PetscCall(Types(KSPCG, PCRRB));
  PetscCall(Types(KSPRRB, PCRRB));
  PetscCall(Types(KSPCG, PCAUXAMG));
  PetscCall(Nonlinear(PETSC_FALSE, SNESVIPMG, MATAIJ));
  PetscCall(Nonlinear(PETSC_FALSE, SNESVIPGS, MATDENSE));
  PetscCall(Nonlinear(PETSC_TRUE, TAOVIPMG, MATAIJ));
  PetscCall(Nonlinear(PETSC_TRUE, TAOVIPGS, MATDENSE));
  PetscCall(Rectangular(SNESVIPMG, "SNES vipmg needs as many equations as unknowns, on each process: here are 45 unknowns, a function of 40 entries"));
  PetscCall(Rectangular(SNESVIPGS, "SNES vipgs needs as many equations as unknowns, on each process: here are 45 unknowns, a function of 40 entries"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    nsize: {{1 2 3}}

TEST*/
