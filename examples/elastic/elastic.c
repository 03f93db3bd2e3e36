static char help[] = "An elastic cube falls onto another: time steps with contact, each a complementarity problem with a dense Delassus matrix.\n\
  -n 8          elements along an edge: 3 (n+1)^2 unknowns of contact with friction, (n+1)^2 without\n\
  -steps 20     time steps\n\
  -friction 1   Coulomb's law with mu = 0.3, otherwise normal forces alone (any SNES for bounds)\n\
  -fall 0.02    height, m\n\
  -push 0.5     sideways velocity of the upper cube at the beginning, m/s\n\
  -dt 1e-3      time step, s\n";

/*
   Two unit cubes of n^3 trilinear hexahedra, E = 7e10 Pa, nu = 0.2, rho = 2750 kg/m^3, lumped masses; the lower one's bottom is fixed. The
   theta method of contact dynamics (Jean, CMAME 177, 1999) has the matrix A = M + (theta dt)^2 K, which is factorised once, and

     v_free = v + A^-1 (dt f - dt K u - theta dt^2 K v),   v' = v_free + A^-1 H' r,   u' = u + dt (theta v' + (1 - theta) v)

   with impulses r between opposite nodes: w = H v' + gap / dt in the normal direction and w = H v' in the tangential ones, so that w = W r + q
   with the Delassus matrix W = H A^-1 H', dense as all nodes of a body feel each other. 0 <= w_n, 0 <= r_n, w_n r_n = 0, |r_t| <= mu r_n.
*/
#include <petscsnes.h>
#include <petsctime.h>

static const PetscReal E = 7e10, nu = 0.2, rho = 2750, theta = 0.505, mu = 0.3;

/* The stiffness of a cube of edge h: 24 x 24, nodes in the order x fastest. */
static void Hexahedron(PetscReal h, PetscReal K[24][24])
{
  const PetscReal g = 1 / PetscSqrtReal(3), lambda = E * nu / ((1 + nu) * (1 - 2 * nu)), G = E / (2 * (1 + nu));

  for (int a = 0; a < 24; ++a)
    for (int b = 0; b < 24; ++b) K[a][b] = 0;
  for (int p = 0; p < 8; ++p) {
    const PetscReal x[3] = {p & 1 ? g : -g, p & 2 ? g : -g, p & 4 ? g : -g};
    PetscReal       d[8][3];
    for (int a = 0; a < 8; ++a) {
      const PetscReal s[3] = {a & 1 ? 1 : -1, a & 2 ? 1 : -1, a & 4 ? 1 : -1};
      for (int k = 0; k < 3; ++k) d[a][k] = 0.125 * s[k] * (1 + s[(k + 1) % 3] * x[(k + 1) % 3]) * (1 + s[(k + 2) % 3] * x[(k + 2) % 3]) * 2 / h;
    }
    for (int a = 0; a < 8; ++a)
      for (int b = 0; b < 8; ++b) {
        const PetscReal dot = d[a][0] * d[b][0] + d[a][1] * d[b][1] + d[a][2] * d[b][2];
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j) K[3 * a + i][3 * b + j] += (lambda * d[a][i] * d[b][j] + G * d[a][j] * d[b][i] + (i == j ? G * dot : 0)) * h * h * h / 8;
      }
  }
}

static PetscErrorCode Velocity(SNES snes, Vec r, Vec w, void *ctx)
{
  Mat W;

  PetscFunctionBeginUser;
  PetscCall(SNESGetJacobian(snes, &W, NULL, NULL, NULL));
  PetscCall(MatMultAdd(W, r, (Vec)ctx, w));
  PetscFunctionReturn(0);
}

static PetscErrorCode Linear(SNES snes, Vec r, Mat A, Mat B, void *ctx)
{
  (void)snes, (void)r, (void)A, (void)B, (void)ctx;
  return 0; /* W stays */
}

int main(int argc, char **argv)
{
  PetscInt           n = 8, steps = 20, N, side, half, dofs, d, rows;
  PetscReal          dt = 1e-3, fall = 0.02, push = 0.5, Ke[24][24], size;
  PetscBool          friction = PETSC_TRUE;
  Mat                K, A, H, Ht, X, W;
  Vec                M, f, u, v, free, t, s, q, r, w, coefficients;
  KSP                ksp;
  PC                 pc;
  Mat                F;
  SNES               snes;
  PetscLogDouble     t0, t1, t2, t3, contact = 0, all = 0;
  PetscInt           failures = 0;
  PetscMPIInt        processes;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &processes));
  PetscCheck(processes == 1, PETSC_COMM_WORLD, PETSC_ERR_SUP, "elastic runs on one process, here are %d", processes);
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-dt", &dt, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-fall", &fall, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-push", &push, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-friction", &friction, NULL));
  PetscCheck(n >= 1 && steps >= 1 && dt > 0, PETSC_COMM_SELF, PETSC_ERR_USER, "-n, -steps and -dt are positive");
  N    = n + 1;
  side = N * N;
  half = 3 * side * N;             /* of a cube */
  dofs = 2 * half;                 /* the lower cube first */
  d    = friction ? 3 : 1;
  rows = d * side;

  /* stiffness, masses, weight; the bottom nodes get an identity row */
  PetscCall(PetscTime(&t0));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, dofs, dofs, 81, NULL, &K));
  PetscCall(MatCreateVecs(K, &M, &f));
  Hexahedron(1. / n, Ke);
  for (PetscInt c = 0; c < 2; ++c)
    for (PetscInt e = 0; e < n * n * n; ++e) {
      PetscInt    at[24];
      PetscScalar m[24], z[24] = {0};
      for (int a = 0; a < 8; ++a)
        for (int k = 0; k < 3; ++k) {
          const PetscInt node = e % n + (a & 1) + N * (e / n % n + (a >> 1 & 1)) + side * (e / (n * n) + (a >> 2));
          at[3 * a + k] = c * half + 3 * node + k;
          m[3 * a + k]  = rho / (8. * n * n * n);
          if (k == 2) z[3 * a + k] = -9.81 * rho / (8. * n * n * n);
        }
      PetscCall(MatSetValues(K, 24, at, 24, at, &Ke[0][0], ADD_VALUES));
      PetscCall(VecSetValues(M, 24, at, m, ADD_VALUES));
      PetscCall(VecSetValues(f, 24, at, z, ADD_VALUES));
    }
  PetscCall(MatAssemblyBegin(K, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(K, MAT_FINAL_ASSEMBLY));
  PetscCall(VecAssemblyBegin(M));
  PetscCall(VecAssemblyEnd(M));
  PetscCall(VecAssemblyBegin(f));
  PetscCall(VecAssemblyEnd(f));
  {
    IS fixed;
    PetscCall(ISCreateStride(PETSC_COMM_SELF, 3 * side, 0, 1, &fixed));
    PetscCall(MatZeroRowsColumnsIS(K, fixed, 0, NULL, NULL));
    PetscCall(VecISSet(f, fixed, 0));
    PetscCall(ISDestroy(&fixed));
  }
  PetscCall(MatDuplicate(K, MAT_COPY_VALUES, &A));
  PetscCall(MatScale(A, theta * theta * dt * dt));
  PetscCall(MatDiagonalSet(A, M, ADD_VALUES));

  /* H: the upper cube's bottom nodes against the lower one's top; normal (up) first */
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, rows, dofs, 2, NULL, &H));
  for (PetscInt c = 0; c < side; ++c)
    for (PetscInt k = 0; k < d; ++k) {
      const PetscInt axis = k ? k - 1 : 2;
      PetscCall(MatSetValue(H, d * c + k, half + 3 * c + axis, 1, INSERT_VALUES));
      PetscCall(MatSetValue(H, d * c + k, 3 * (c + side * n) + axis, -1, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(H, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(H, MAT_FINAL_ASSEMBLY));

  /* one factorisation; W = H A^-1 H', column blocks at once */
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCLU));
  PetscCall(KSPSetOptionsPrefix(ksp, "body_"));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCFactorGetMatrix(pc, &F));
  PetscCall(MatTranspose(H, MAT_INITIAL_MATRIX, &Ht));
  PetscCall(MatConvert(Ht, MATDENSE, MAT_INPLACE_MATRIX, &Ht));
  PetscCall(MatDuplicate(Ht, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(MatMatSolve(F, Ht, X));
  PetscCall(MatMatMult(H, X, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &W));
  PetscCall(PetscTime(&t1));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " unknowns of the bodies, %" PetscInt_FMT " of contact; assembly, factorisation and Delassus matrix %.3g s\n", dofs, rows, t1 - t0));

  PetscCall(MatCreateVecs(K, &u, &v));
  PetscCall(VecDuplicate(u, &free));
  PetscCall(VecDuplicate(u, &t));
  PetscCall(VecDuplicate(u, &s));
  PetscCall(MatCreateVecs(W, &q, &r));
  PetscCall(VecDuplicate(q, &w));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, side, &coefficients));
  PetscCall(VecSet(coefficients, mu));
  for (PetscInt i = half; i < dofs; i += 3) PetscCall(VecSetValue(v, i, push, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(v));
  PetscCall(VecAssemblyEnd(v));

  PetscCall(SNESCreate(PETSC_COMM_SELF, &snes));
  PetscCall(SNESSetFunction(snes, w, Velocity, q));
  PetscCall(SNESSetJacobian(snes, W, W, Linear, NULL));
  if (friction) PetscCall(PetscOptionsSetValue(NULL, "-snes_vipgs_block", "3"));
  else {
    Vec lower, upper;
    PetscCall(VecDuplicate(q, &lower));
    PetscCall(VecDuplicate(q, &upper));
    PetscCall(VecSet(upper, PETSC_INFINITY));
    PetscCall(SNESVISetVariableBounds(snes, lower, upper));
    PetscCall(VecDestroy(&lower));
    PetscCall(VecDestroy(&upper));
  }
  PetscCall(SNESSetFromOptions(snes));
  if (friction) {
    PetscErrorCode (*set_friction)(SNES, Vec);
    PetscCall(PetscObjectQueryFunction((PetscObject)snes, "SNESVIPGSSetFriction_C", &set_friction));
    PetscCheck(set_friction, PETSC_COMM_SELF, PETSC_ERR_USER, "-friction 1 needs -dll_append libtessera.so -snes_type vipgs");
    PetscCall((*set_friction)(snes, coefficients));
  }

  for (PetscInt step = 1; step <= steps; ++step) {
    PetscInt            its, touching = 0;
    PetscReal           impulse = 0, lowest = 0;
    const PetscScalar  *x, *y;
    PetscScalar        *z;
    SNESConvergedReason reason;

    PetscCall(PetscTime(&t0));
    /* v_free */
    PetscCall(VecCopy(v, s));
    PetscCall(VecAYPX(s, theta * dt, u)); /* u + theta dt v */
    PetscCall(MatMult(K, s, t));
    PetscCall(VecAYPX(t, -1, f));
    PetscCall(VecScale(t, dt));
    PetscCall(KSPSolve(ksp, t, free));
    PetscCall(VecAXPY(free, 1, v));
    /* q = H v_free, and gap / dt in the normal rows; the gap is that of the middle of the step's displacement */
    PetscCall(MatMult(H, free, q));
    PetscCall(VecCopy(u, s));
    PetscCall(VecAXPY(s, dt * (1 - theta), v));
    PetscCall(MatMult(H, s, w));
    PetscCall(VecGetArray(q, &z));
    PetscCall(VecGetArrayRead(w, &x));
    for (PetscInt c = 0; c < side; ++c) z[d * c] += (fall + x[d * c]) / (theta * dt);
    PetscCall(VecRestoreArrayRead(w, &x));
    PetscCall(VecRestoreArray(q, &z));
    PetscCall(VecNorm(q, NORM_2, &size));
    PetscCall(PetscTime(&t1));
    PetscCall(SNESSetTolerances(snes, 1e-8 * size, 1e-50, 1e-50, 20000, PETSC_DEFAULT));
    PetscCall(SNESSolve(snes, NULL, r)); /* from the impulses of the step before */
    PetscCall(PetscTime(&t2));
    PetscCall(SNESGetConvergedReason(snes, &reason));
    PetscCall(SNESGetIterationNumber(snes, &its));
    failures += reason <= 0;
    PetscCall(MatMult(X, r, t)); /* A^-1 H' r */
    PetscCall(VecAXPY(free, 1, t));
    PetscCall(VecAXPY(u, dt * (1 - theta), v));
    PetscCall(VecAXPY(u, dt * theta, free));
    PetscCall(VecCopy(free, v));
    PetscCall(MatMult(H, u, w));
    PetscCall(VecGetArrayRead(r, &x));
    PetscCall(VecGetArrayRead(w, &y));
    for (PetscInt c = 0; c < side; ++c) {
      touching += x[d * c] > 0;
      impulse += x[d * c];
      lowest = PetscMin(lowest, fall + y[d * c]);
    }
    PetscCall(VecRestoreArrayRead(r, &x));
    PetscCall(VecRestoreArrayRead(w, &y));
    PetscCall(PetscTime(&t3));
    contact += t2 - t1;
    all += t3 - t0;
    if (step == steps || step % PetscMax(steps / 10, 1) == 0)
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "step %3" PetscInt_FMT ": %4" PetscInt_FMT " nodes touch, force %.4g of the weight, deepest gap %.2g m, %s, %" PetscInt_FMT " iterations\n", step, touching, (double)(impulse / (dt * 9.81 * rho)), (double)lowest, SNESConvergedReasons[reason], its));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "frame %.4g ms, contact %.4g ms of it, %" PetscInt_FMT " steps without convergence\n", 1e3 * all / steps, 1e3 * contact / steps, failures));
  PetscCall(SNESDestroy(&snes));
  PetscCall(KSPDestroy(&ksp));
  for (Vec *x = (Vec[]){M, f, u, v, free, t, s, q, r, w, coefficients, NULL}; *x; ++x) {
    Vec y = *x;
    PetscCall(VecDestroy(&y));
  }
  for (Mat *x = (Mat[]){K, A, H, Ht, X, W, NULL}; *x; ++x) {
    Mat y = *x;
    PetscCall(MatDestroy(&y));
  }
  PetscCall(PetscFinalize());
  return failures != 0;
}
