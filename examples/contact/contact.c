static char help[] = "Contact forces: reads a problem w = W r + q of rigid or elastic bodies in contact and finds forces r and relative velocities w, with or without friction.\n\
  contact FILE -dll_append libtessera.so -snes_type vipgs [-friction] [-sparse] [-tol 1e-10] [-output FILE]\n\
  FILE            a local problem of FCLIB (HDF5), or PETSc's binary: the matrix W, the vector q, the friction coefficients mu\n\
  -friction       Coulomb's law; otherwise normal forces alone: 0 <= r, 0 <= w, r w = 0\n\
  -tol 1e-10      natural residual over |q|\n\
  -sparse         W without its zeros, with friction (vipgs)\n\
  -output FILE    r and w, PETSc's binary\n\
Problems: https://github.com/FrictionalContactLibrary/fclib-library\n";

/*
   A contact has a normal velocity w_n and a force r_n, of which one is zero and none is negative, and with friction tangential ones with
   |r_t| <= mu r_n. Any SNES for bounds solves the problem without friction: -snes_type vinewtonrsls is PETSc's own, vipgs Tessera's, which
   knows friction too. The program does not know it: what vipgs alone takes is handed over by the names of its functions.
*/
#include "contact.h"
#include <petscsnes.h>
#include <petsctime.h>

static PetscErrorCode Velocity(SNES snes, Vec r, Vec w, void *ctx)
{
  Mat W;
  Vec q = (Vec)ctx;

  PetscFunctionBeginUser;
  PetscCall(SNESGetJacobian(snes, &W, NULL, NULL, NULL));
  PetscCall(MatMultAdd(W, r, q, w));
  PetscFunctionReturn(0);
}

static PetscErrorCode Linear(SNES snes, Vec r, Mat A, Mat B, void *ctx)
{
  (void)snes, (void)r, (void)A, (void)B, (void)ctx;
  return 0; /* W stays */
}

/* |r - P(r - w)|_2 and the extremes, from r itself: bounds where d = 1, else cones with De Saxce's w_n + mu |w_t|. */
static PetscErrorCode Certificate(Vec r, Vec w, Vec mu, PetscInt d, PetscReal *natural, PetscReal *least, PetscReal *worst)
{
  const PetscScalar *x, *v, *m = NULL;
  PetscInt           n;
  PetscReal          sum = 0;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(r, &n));
  PetscCall(VecGetArrayRead(r, &x));
  PetscCall(VecGetArrayRead(w, &v));
  if (d > 1) PetscCall(VecGetArrayRead(mu, &m));
  *least = *worst = 0;
  for (PetscInt i = 0; i < n; i += d) {
    PetscReal slip = 0, t[2] = {0, 0}, length = 0, normal, part = 1;
    for (PetscInt k = 1; k < d; ++k) slip += v[i + k] * v[i + k];
    normal = x[i] - v[i] - (d > 1 ? m[i / d] * PetscSqrtReal(slip) : 0);
    for (PetscInt k = 1; k < d; ++k) t[k - 1] = x[i + k] - v[i + k], length += t[k - 1] * t[k - 1];
    length = PetscSqrtReal(length);
    if (d == 1) normal = PetscMax(normal, 0);
    else if (normal < 0 || length > m[i / d] * normal) {
      if (m[i / d] * length <= -normal) normal = part = 0;
      else {
        normal = (normal + m[i / d] * length) / (1 + m[i / d] * m[i / d]);
        part   = m[i / d] * normal / length;
      }
    }
    sum += (x[i] - normal) * (x[i] - normal);
    for (PetscInt k = 1; k < d; ++k) sum += (x[i + k] - part * t[k - 1]) * (x[i + k] - part * t[k - 1]);
    *least = PetscMin(*least, x[i]);
    *worst = PetscMin(*worst, v[i]);
  }
  if (d > 1) PetscCall(VecRestoreArrayRead(mu, &m));
  PetscCall(VecRestoreArrayRead(r, &x));
  PetscCall(VecRestoreArrayRead(w, &v));
  *natural = PetscSqrtReal(sum);
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  const char         *file = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
  char                output[PETSC_MAX_PATH_LEN];
  PetscViewer         viewer;
  Mat                 all, W;
  Vec                 q0, q, mu, r, w, lower, upper, f;
  SNES                snes;
  PetscInt            n, contacts, d, its;
  PetscReal           tol = 1e-10, size, natural, least, worst;
  PetscBool           friction = PETSC_FALSE, sparse = PETSC_FALSE, set;
  PetscLogDouble      t0, t1;
  SNESType            type;
  SNESConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  if (!file) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "Which problem? Its file is the first argument.\n%s", help));
    PetscCall(PetscFinalize());
    return 1;
  }
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-friction", &friction, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tol", &tol, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-sparse", &sparse, NULL));
  PetscCall(ReadProblem(file, &all, &q0, &mu));
  if (sparse) PetscCall(MatConvert(all, MATAIJ, MAT_INPLACE_MATRIX, &all));
  PetscCall(VecGetSize(q0, &n));
  PetscCall(VecGetSize(mu, &contacts));
  d = contacts ? n / contacts : 1;
  PetscCheck(!friction || d > 1, PETSC_COMM_SELF, PETSC_ERR_USER, "-friction: %s has no tangential unknowns", file);
  if (!friction && d > 1) { /* every d-th unknown is a normal one */
    IS normal;
    PetscCall(ISCreateStride(PETSC_COMM_SELF, contacts, 0, d, &normal));
    PetscCall(MatCreateSubMatrix(all, normal, normal, MAT_INITIAL_MATRIX, &W));
    PetscCall(VecGetSubVector(q0, normal, &f));
    PetscCall(VecDuplicate(f, &q));
    PetscCall(VecCopy(f, q));
    PetscCall(VecRestoreSubVector(q0, normal, &f));
    PetscCall(ISDestroy(&normal));
    d = 1;
  } else {
    PetscCall(PetscObjectReference((PetscObject)all));
    PetscCall(PetscObjectReference((PetscObject)q0));
    W = all;
    q = q0;
    if (!friction) d = 1;
  }
  PetscCall(VecDuplicate(q, &r));
  PetscCall(VecDuplicate(q, &w));
  PetscCall(VecDuplicate(q, &f));
  PetscCall(VecNorm(q, NORM_2, &size));

  PetscCall(SNESCreate(PETSC_COMM_SELF, &snes));
  PetscCall(SNESSetFunction(snes, f, Velocity, q));
  PetscCall(SNESSetJacobian(snes, W, W, Linear, NULL));
  PetscCall(SNESSetTolerances(snes, tol * size, 1e-50, 1e-50, PETSC_DEFAULT, PETSC_DEFAULT));
  if (friction) {
    char block[8];
    PetscCall(PetscSNPrintf(block, sizeof(block), "%" PetscInt_FMT, d));
    PetscCall(PetscOptionsSetValue(NULL, "-snes_vipgs_block", block));
  } else { /* SNESVISetVariableBounds() */
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
    PetscCheck(set_friction, PETSC_COMM_SELF, PETSC_ERR_USER, "-friction needs -dll_append libtessera.so -snes_type vipgs");
    PetscCall((*set_friction)(snes, mu));
  }
  PetscCall(PetscTime(&t0));
  PetscCall(SNESSolve(snes, NULL, r));
  PetscCall(PetscTime(&t1));
  PetscCall(SNESGetType(snes, &type));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(SNESGetIterationNumber(snes, &its));
  PetscCall(MatMultAdd(W, r, q, w));
  PetscCall(Certificate(r, w, mu, d, &natural, &least, &worst));
  PetscCall(VecGetSize(r, &n));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s %s: %" PetscInt_FMT " unknowns, %s after %" PetscInt_FMT " iterations, %.3g s\n", type, friction ? "with friction" : "normal forces", n, SNESConvergedReasons[reason], its, t1 - t0));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "certificate: natural residual %.3g of |q|, least normal force %.3g, least normal velocity %.3g\n", (double)(natural / (size > 0 ? size : 1)), (double)least, (double)worst));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-output", output, sizeof(output), &set));
  if (set) {
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, output, FILE_MODE_WRITE, &viewer));
    PetscCall(VecView(r, viewer));
    PetscCall(VecView(w, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
  }
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&q0));
  PetscCall(VecDestroy(&q));
  PetscCall(VecDestroy(&mu));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&w));
  PetscCall(VecDestroy(&f));
  PetscCall(MatDestroy(&all));
  PetscCall(MatDestroy(&W));
  PetscCall(PetscFinalize());
  return natural <= tol * size ? 0 : 1;
}
