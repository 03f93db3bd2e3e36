static char help[] = "PC rrb as a PETSc preconditioner: Dirichlet rows, transpose, several vectors, reuse, refresh, matrices without a DMDA.\n\n";

#include "rrb_problem.h"

static const Model models[] = {
  {37, 29, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0.1, 0, 0, 1},
  {26, 31, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0.1, 0, 0, 1},
  {24, 20, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE, 1, 0.1, 0, 0, 1},
  {24, 20, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE, 1, 0.1, 0, 0, 1},
  {33, 27, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0.1, 0.2, 0, 1},
  {33, 28, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0.1, 0, 1, 1},
  {22, 31, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0.1, 0, 1, 1},
  {25, 25, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, 1, 0, 0, 0, 1},
};
static const char *const names[] = {"5-point", "9-point", "periodic in x", "9-point, periodic in both", "mask", "one-sided Dirichlet rows", "9-point, one-sided Dirichlet rows", "Neumann"};

static PetscErrorCode NewPC(Mat A, DM da, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(PCCreate(PetscObjectComm((PetscObject)A), pc));
  PetscCall(PCSetType(*pc, PCRRB));
  PetscCall(PCSetOperators(*pc, A, A));
  if (da) PetscCall(PCSetDM(*pc, da));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCSetUp(*pc));
  PetscFunctionReturn(0);
}

/* y = M^-1 x by a new preconditioner. */
static PetscErrorCode ApplyNew(Mat A, DM da, Vec x, Vec y)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(NewPC(A, da, &pc));
  PetscCall(PCApply(pc, x, y));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(0);
}

/* y'(M^-1 x) = x'(M^-T y), of several vectors at once, and symmetry where there are no one-sided rows. */
static PetscErrorCode TestApply(const Model *m, const char name[])
{
  DM             da;
  Mat            A, X, Y;
  PC             pc;
  Vec            x, y, z, t, v;
  PetscScalar    a, b;
  PetscReal      norm, error, worst = 0;
  PetscInt       n;
  const PetscInt columns = 3;

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", name));
  PetscCall(ModelCreate(PETSC_COMM_WORLD, m, PETSC_FALSE, &da, &A));
  PetscCall(NewPC(A, NULL, &pc)); /* the matrix knows the DMDA */
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(VecDuplicate(x, &t));
  PetscCall(ModelVector(da, 3, x));
  PetscCall(ModelVector(da, 4, y));
  PetscCall(VecSet(z, PETSC_INFINITY)); /* everything is to be written */
  PetscCall(VecSet(t, PETSC_INFINITY));
  PetscCall(PCApply(pc, x, z));
  PetscCall(PCApplyTranspose(pc, y, t));
  PetscCall(VecDot(z, y, &a));
  PetscCall(VecDot(t, x, &b));
  PetscCall(VecNorm(z, NORM_2, &norm));
  PetscCall(Check("  y'(M^-1 x) = x'(M^-T y)", PetscAbsScalar(a - b) / norm, 1e-12));
  if (m->dirichlet_rows != 1) {
    PetscCall(PCApply(pc, y, z));
    PetscCall(Difference(t, z, &error));
    PetscCall(Check("  symmetric", error, 1e-14));
  } else {
    PetscCall(PCApply(pc, y, z));
    PetscCall(Difference(t, z, &error));
    PetscCall(CheckTrue("  not symmetric", (PetscBool)(error > 1e-3)));
  }
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, PETSC_DECIDE, columns, NULL, &X));
  PetscCall(MatDuplicate(X, MAT_DO_NOT_COPY_VALUES, &Y));
  for (PetscInt c = 0; c < columns; ++c) {
    PetscCall(MatDenseGetColumnVecWrite(X, c, &v));
    PetscCall(ModelVector(da, 5 + c, x));
    PetscCall(VecCopy(x, v));
    PetscCall(MatDenseRestoreColumnVecWrite(X, c, &v));
  }
  PetscCall(PCMatApply(pc, X, Y));
  for (PetscInt c = 0; c < columns; ++c) {
    PetscCall(ModelVector(da, 5 + c, x));
    PetscCall(PCApply(pc, x, z));
    PetscCall(MatDenseGetColumnVecRead(Y, c, &v));
    PetscCall(VecCopy(v, t));
    PetscCall(MatDenseRestoreColumnVecRead(Y, c, &v));
    PetscCall(Difference(t, z, &error));
    worst = PetscMax(worst, error);
  }
  PetscCall(Check("  several vectors at once", worst, 1e-14));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&t));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

/* z_D = r_D / d and z_I = M^-1 (r_I - A_ID z_D), with the M of the matrix without these couplings; CG then converges as there. */
static PetscErrorCode TestDirichlet(PetscBool nine)
{
  Model         one = {41, 36, nine, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 1, 0, 0, 1, 1}, none = one;
  DM            da;
  Mat           A, B, C;
  Vec           r, z, s, t;
  PetscScalar **zd, **rd;
  PetscInt      xs, ys, xm, ym, its, two_sided;
  PetscReal     error;
  KSP           ksp;
  PC            pc;

  PetscFunctionBeginUser;
  none.dirichlet_rows = 2;
  PetscCall(ModelCreate(PETSC_COMM_WORLD, &one, PETSC_FALSE, &da, &A));
  PetscCall(DMCreateMatrix(da, &B));
  PetscCall(ModelFill(&none, da, B));
  PetscCall(DMCreateGlobalVector(da, &r));
  PetscCall(VecDuplicate(r, &z));
  PetscCall(VecDuplicate(r, &s));
  PetscCall(VecDuplicate(r, &t));
  PetscCall(ModelVector(da, 3, r));
  PetscCall(ApplyNew(A, da, r, z));
  /* t = z_D at the Dirichlet rows, zero elsewhere; A - B holds the couplings A_ID */
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArray(da, t, &zd));
  PetscCall(DMDAVecGetArray(da, r, &rd));
  for (PetscInt j = ys; j < ys + ym; ++j) {
    for (PetscInt i = xs; i < xs + xm; ++i) {
      PetscReal row[9];

      ModelRow(&one, i, j, row);
      zd[j][i] = ModelDirichlet(&one, i, j) ? rd[j][i] / row[4] : 0;
    }
  }
  PetscCall(DMDAVecRestoreArray(da, t, &zd));
  PetscCall(DMDAVecRestoreArray(da, r, &rd));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(MatAXPY(C, -1, B, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatMult(C, t, s));
  PetscCall(VecAYPX(s, -1, r));
  PetscCall(ApplyNew(B, da, s, t));
  PetscCall(Difference(z, t, &error));
  PetscCall(Check(nine ? "9-point Dirichlet rows" : "5-point Dirichlet rows", error, 1e-13));
  for (int k = 0; k < 2; ++k) {
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetOperators(ksp, k ? B : A, k ? B : A));
    PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 200));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCRRB));
    PetscCall(PCSetDM(pc, da));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, r, z));
    PetscCall(KSPGetIterationNumber(ksp, k ? &two_sided : &its));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatMult(k ? B : A, z, t));
    PetscCall(Difference(t, r, &error));
    PetscCall(Check("  solved", error, 1e-6));
  }
  PetscCall(Check("  CG needs as many iterations as without the couplings", (PetscReal)PetscAbsInt(its - two_sided), 3));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&s));
  PetscCall(VecDestroy(&t));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

/* A pure Neumann problem, singular: CG finds the solution without constant part. */
static PetscErrorCode TestNeumann(const char type[], PetscBool nine)
{
  Model              m = {64, 47, nine, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, 1, 0, 0, 0, 1};
  DM                 da;
  Mat                A;
  KSP                ksp;
  PC                 pc;
  Vec                x, b, u;
  PetscReal          error;
  PetscScalar        mean;
  PetscInt           its;
  MatNullSpace       constants;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(ModelCreate(PETSC_COMM_WORLD, &m, PETSC_FALSE, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecDuplicate(x, &u));
  PetscCall(ModelVector(da, 3, u));
  PetscCall(MatGetNullSpace(A, &constants));
  PetscCall(MatNullSpaceRemove(constants, u));
  PetscCall(MatMult(A, u, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, 200));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCRRB));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecSum(x, &mean));
  PetscCall(VecShift(x, -mean / (m.nx * m.ny)));
  PetscCall(Difference(x, u, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Neumann, %s%s\n", type, nine ? ", 9-point" : ""));
  PetscCall(CheckTrue("  converged", (PetscBool)(reason > 0)));
  PetscCall(Check("  iterations", (PetscReal)its, 60));
  PetscCall(Check("  solution", error, 1e-8));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

/* A preconditioner that was set up before gives the same numbers as a new one: new values in the same matrix, a 9-point operator
   in a matrix that held five points, another matrix, another size. */
static PetscErrorCode TestReuse(void)
{
  Model     m = models[0], n = models[1];
  DM        da, db;
  Mat       A, B;
  PC        pc;
  Vec       x, y, z, xb, yb, zb;
  PetscReal error;

  PetscFunctionBeginUser;
  PetscCall(ModelCreate(PETSC_COMM_WORLD, &m, PETSC_TRUE, &da, &A));
  PetscCall(ModelCreate(PETSC_COMM_WORLD, &n, PETSC_TRUE, &db, &B));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(DMCreateGlobalVector(db, &xb));
  PetscCall(VecDuplicate(xb, &yb));
  PetscCall(VecDuplicate(xb, &zb));
  PetscCall(ModelVector(da, 3, x));
  PetscCall(ModelVector(db, 3, xb));
  PetscCall(NewPC(A, NULL, &pc));
  PetscCall(PCApply(pc, x, y));
  for (int k = 0; k < 4; ++k) {
    const char *const what[] = {"new values", "nine points after five", "one-sided Dirichlet rows after none", "five points after nine"};

    m.seed           = 2 + k;
    m.nine           = (PetscBool)(k == 1);
    m.dirichlet_rows = k == 2;
    PetscCall(ModelFill(&m, da, A));
    PetscCall(PCSetUp(pc));
    PetscCall(PCApply(pc, x, y));
    PetscCall(ApplyNew(A, da, x, z));
    PetscCall(Difference(y, z, &error));
    PetscCall(Check(what[k], error, 0));
  }
  PetscCall(PCSetReusePreconditioner(pc, PETSC_TRUE));
  m.seed = 9;
  PetscCall(ModelFill(&m, da, A));
  PetscCall(PCSetUp(pc));
  PetscCall(PCApply(pc, x, y));
  PetscCall(Difference(y, z, &error));
  PetscCall(Check("reuse asked for", error, 0));
  PetscCall(PCSetReusePreconditioner(pc, PETSC_FALSE));
  PetscCall(PCRRBSetCoarsening(pc, PC_RRB_COARSENING_LUMP));
  PetscCall(PCRRBSetOmega(pc, 0.5));
  PetscCall(PCReset(pc));
  PetscCall(PCSetOperators(pc, B, B));
  PetscCall(PCSetUp(pc));
  PetscCall(PCApply(pc, xb, yb));
  PetscCall(PCRRBGetOmega(pc, &error));
  PetscCall(Check("options survive PCReset()", PetscAbsReal(error - 0.5), 0));
  PetscCall(PCRRBSetOmega(pc, 1)); /* a change takes effect without asking */
  PetscCall(PCSetUp(pc));
  PetscCall(PCApply(pc, xb, zb));
  PetscCall(Difference(yb, zb, &error));
  PetscCall(CheckTrue("another option, another preconditioner", (PetscBool)(error > 1e-3)));
  PetscCall(PCRRBSetCoarsening(pc, PC_RRB_COARSENING_GALERKIN));
  PetscCall(PCSetUp(pc));
  PetscCall(PCApply(pc, xb, zb));
  PetscCall(ApplyNew(B, db, xb, yb));
  PetscCall(Difference(zb, yb, &error));
  PetscCall(Check("another size", error, 0));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&xb));
  PetscCall(VecDestroy(&yb));
  PetscCall(VecDestroy(&zb));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&da));
  PetscCall(DMDestroy(&db));
  PetscFunctionReturn(0);
}

/* Other matrix types with the same entries. */
static PetscErrorCode TestMatTypes(const Model *m)
{
  static const char *const types[] = {MATSBAIJ, MATBAIJ, MATDENSE};
  DM                       da;
  Mat                      A, B;
  Vec                      x, y, z;
  PetscReal                error;

  PetscFunctionBeginUser;
  PetscCall(ModelCreate(PETSC_COMM_WORLD, m, PETSC_FALSE, &da, &A));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(ModelVector(da, 3, x));
  PetscCall(ApplyNew(A, da, x, y));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); ++t) {
    PC pc;

    PetscCall(MatConvert(A, types[t], MAT_INITIAL_MATRIX, &B));
    PetscCall(NewPC(B, da, &pc));
    PetscCall(PCApply(pc, x, z));
    PetscCall(Difference(z, y, &error));
    PetscCall(Check(types[t], error, 1e-14));
    PetscCall(MatScale(B, 2.0)); /* and its refresh */
    PetscCall(PCSetUp(pc));
    PetscCall(PCApply(pc, x, z));
    PetscCall(VecScale(z, 2.0));
    PetscCall(Difference(z, y, &error));
    PetscCall(Check("  scaled", error, 1e-14));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

/* The same operator in natural numbering without a DMDA; process boundaries lie inside grid lines. */
static PetscErrorCode TestNatural(const Model *m, PetscInt shift, const char name[])
{
  DM           da;
  Mat          A, B;
  PC           pc;
  Vec          x, y, xn, yn, xb, yb, zb;
  PetscInt     first, last, n;
  PetscMPIInt  rank, size;
  PetscReal    error;
  PetscScalar  a, b;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ModelCreate(PETSC_COMM_WORLD, m, PETSC_FALSE, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(ModelVector(da, 3, x));
  PetscCall(ApplyNew(A, da, x, y));
  PetscCall(DMDACreateNaturalVector(da, &xn));
  PetscCall(VecDuplicate(xn, &yn));
  PetscCall(DMDAGlobalToNaturalBegin(da, y, INSERT_VALUES, yn));
  PetscCall(DMDAGlobalToNaturalEnd(da, y, INSERT_VALUES, yn));

  n = m->nx * m->ny / size + (rank < m->nx * m->ny % size ? 1 : 0);
  if (size > 1) n += rank == 0 ? shift : rank == 1 ? -shift : 0;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, n, n, m->nx * m->ny, m->nx * m->ny, 9, NULL, 9, NULL, &B));
  PetscCall(MatGetOwnershipRange(B, &first, &last));
  PetscCall(MatCreateVecs(B, &xb, &yb));
  PetscCall(VecDuplicate(xb, &zb));
  for (PetscInt r = first; r < last; ++r) {
    PetscReal v[9];

    ModelRow(m, r % m->nx, r / m->nx, v);
    for (int k = 0; k < 9; ++k)
      if (v[k] != 0) PetscCall(MatSetValue(B, r, r + (k / 3 - 1) * m->nx + k % 3 - 1, v[k], INSERT_VALUES));
    PetscCall(VecSetValue(xb, r, Hash(r % m->nx, r / m->nx, 3) - 0.5, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(VecAssemblyBegin(xb));
  PetscCall(VecAssemblyEnd(xb));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCRRB));
  PetscCall(PCRRBSetGrid(pc, m->nx, m->ny));
  PetscCall(PCSetOperators(pc, B, B));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  for (int twice = 0; twice < 2; ++twice) { /* the second time refreshed */
    VecScatter all;
    Vec        u, v;

    PetscCall(PCApply(pc, xb, yb));
    if (twice) PetscCall(VecScale(yb, 3.0));
    PetscCall(VecScatterCreateToAll(yb, &all, &u));
    PetscCall(VecScatterBegin(all, yb, u, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(all, yb, u, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterDestroy(&all));
    PetscCall(VecScatterCreateToAll(yn, &all, &v));
    PetscCall(VecScatterBegin(all, yn, v, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(all, yn, v, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterDestroy(&all));
    PetscCall(Difference(u, v, &error));
    PetscCall(VecDestroy(&u));
    PetscCall(VecDestroy(&v));
    PetscCall(Check(name, error, 1e-13));
    PetscCall(MatScale(B, 3.0));
    PetscCall(PCSetUp(pc));
  }
  PetscCall(PCApply(pc, xb, yb));
  PetscCall(PCApplyTranspose(pc, yb, zb)); /* (y, M^-1 x) with y = M^-1 x */
  PetscCall(VecDot(yb, yb, &a));
  PetscCall(VecDot(zb, xb, &b));
  PetscCall(Check("  transpose", PetscAbsScalar(a - b) / PetscAbsScalar(a), 1e-12));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&xn));
  PetscCall(VecDestroy(&yn));
  PetscCall(VecDestroy(&xb));
  PetscCall(VecDestroy(&yb));
  PetscCall(VecDestroy(&zb));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

static PetscErrorCode Catch(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode n, PetscErrorType p, const char *text, void *ctx)
{
  (void)comm, (void)line, (void)function, (void)file, (void)p, (void)text, (void)ctx;
  return n;
}

/* What is not linear has no transpose. */
static PetscErrorCode TestKCycle(void)
{
  DM             da;
  Mat            A;
  PC             pc;
  Vec            x, y;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "transpose of the K-cycle\n"));
  PetscCall(ModelCreate(PETSC_COMM_WORLD, &models[0], PETSC_FALSE, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(ModelVector(da, 3, x));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCRRB));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetOptionsPrefix(pc, "k_"));
  PetscCall(PetscOptionsSetValue(NULL, "-k_pc_rrb_cycle", "k"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCApply(pc, x, y));
  PetscCall(PetscPushErrorHandler(Catch, NULL));
  ierr = PCApplyTranspose(pc, x, y);
  PetscCall(PetscPopErrorHandler());
  PetscCall(CheckTrue("  refused", (PetscBool)(ierr == PETSC_ERR_SUP)));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(models); ++k) PetscCall(TestApply(&models[k], names[k]));
  PetscCall(TestDirichlet(PETSC_FALSE));
  PetscCall(TestDirichlet(PETSC_TRUE));
  PetscCall(TestNeumann(KSPCG, PETSC_FALSE));
  PetscCall(TestNeumann(KSPCG, PETSC_TRUE));
  PetscCall(TestNeumann(KSPRRB, PETSC_FALSE));
  PetscCall(TestNeumann(KSPRRB, PETSC_TRUE));
  PetscCall(TestKCycle());
  PetscCall(TestReuse());
  PetscCall(TestMatTypes(&models[0]));
  PetscCall(TestMatTypes(&models[1]));
  PetscCall(TestNatural(&models[0], 0, "natural numbering"));
  PetscCall(TestNatural(&models[0], 190, "natural numbering, uneven"));
  PetscCall(TestNatural(&models[1], 7, "natural numbering, 9-point"));
  PetscCall(TestNatural(&models[5], 5, "natural numbering, Dirichlet rows"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/rrb_pc.out
    nsize: {{1 2 3 4}}
    test:
      suffix: v
      args: -pc_rrb_cycle v -pc_rrb_levels 100
    test:
      suffix: default
      args:
    test:
      suffix: odd
      args: -pc_rrb_levels 3 -pc_rrb_cycle v -pc_rrb_quarters 1

  test:
    suffix: columns
    nsize: 4
    output_file: output/rrb_pc.out
    args: -da_processors_x 4 -da_processors_y 1 -pc_rrb_cycle v -pc_rrb_levels 100

TEST*/
