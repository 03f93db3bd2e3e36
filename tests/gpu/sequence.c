static char help[] = "Solves one after the other with one KSP, of which each must give what it gives alone: another number of iterations allowed, null\n\
spaces that come and go, right-hand sides and matrices that fail. One line a solve: its reason, iterations, the norms of solution and\n\
residuals, and a hash of their bits.\n\
  -n <n>     nodes each way\n\
  -stretch   coefficients that differ by four decades\n\n";

#include <petscdmda.h>
#include <petscksp.h>
#if defined(PETSC_HAVE_CUDA)
  #include <petscdevice.h>
#endif
#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif

enum { MOST = 1000 };

typedef struct {
  PetscInt  n;
  PetscBool stretch;
  DM        da;
  Mat       A;
  Vec       b, x;
  KSP       ksp;
} System;

static PetscReal Number(PetscInt i, PetscInt j)
{
  unsigned long long z = 0x9E3779B97F4A7C15ull * (unsigned long long)(i + 1) + 0xD1B54A32D192ED03ull * (unsigned long long)(j + 1);

  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z ^= z >> 27;
  return (PetscReal)(z >> 11) / 9007199254740992.0;
}

static PetscReal Coupling(const System *s, PetscInt i, PetscInt j)
{
  return s->stretch ? PetscPowReal(10, 4 * Number(i, j)) : 1 + 0.1 * Number(i, j);
}

/* No flux through the boundary: singular, but for `shift` on the diagonal; a shift of one node alone may be negative. */
static PetscErrorCode Fill(System *s, PetscReal scale, PetscReal shift, PetscReal first)
{
  const PetscInt n = s->n;

  PetscFunctionBeginUser;
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt i = 0; i < n; i++) {
      MatStencil  row = {0, j, i, 0}, col[5];
      PetscScalar v[5];
      PetscInt    k = 0;
      PetscReal   sum = shift + (i + j ? 0 : first);
      const PetscInt di[4] = {-1, 1, 0, 0}, dj[4] = {0, 0, -1, 1};

      for (int d = 0; d < 4; d++) {
        const PetscInt ii = i + di[d], jj = j + dj[d];
        PetscReal      w;

        if (ii < 0 || jj < 0 || ii >= n || jj >= n) continue;
        w        = Coupling(s, i + ii + (d > 1 ? 3 * n : 0), j + jj); /* the same from both sides */
        sum     += w;
        v[k]     = -scale * w;
        col[k].k = 0, col[k].j = jj, col[k].i = ii, col[k++].c = 0;
      }
      v[k]     = scale * sum;
      col[k++] = row;
      PetscCall(MatSetValuesStencil(s->A, 1, &row, k, col, v, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(s->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(s->A, MAT_FINAL_ASSEMBLY));
  PetscCall(KSPSetOperators(s->ksp, s->A, s->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A right-hand side without a constant part, or one that holds something else at a node. */
static PetscErrorCode RightHandSide(System *s, PetscReal at_node)
{
  PetscScalar **b;
  PetscScalar   sum;

  PetscFunctionBeginUser;
  PetscCall(DMDAVecGetArray(s->da, s->b, &b));
  for (PetscInt j = 0; j < s->n; j++)
    for (PetscInt i = 0; i < s->n; i++) b[j][i] = Number(i, j + 7 * s->n) - 0.5;
  PetscCall(DMDAVecRestoreArray(s->da, s->b, &b));
  PetscCall(VecSum(s->b, &sum));
  PetscCall(VecShift(s->b, -sum / (s->n * s->n)));
  if (at_node != 0) PetscCall(VecSetValue(s->b, s->n + 1, at_node, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(s->b));
  PetscCall(VecAssemblyEnd(s->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The null space of the constants, said to be so or given as a vector; 0: none. */
static PetscErrorCode NullSpace(System *s, int kind)
{
  MatNullSpace space = NULL;
  Vec          one;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(s->b, &one));
  PetscCall(VecSet(one, 1.0 / s->n));
  if (kind) PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, kind == 1 ? PETSC_TRUE : PETSC_FALSE, kind - 1, &one, &space));
  PetscCall(MatSetNullSpace(s->A, space));
  PetscCall(MatNullSpaceDestroy(&space));
  PetscCall(VecDestroy(&one));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static unsigned long long Hash(unsigned long long h, const void *values, size_t bytes)
{
  for (size_t i = 0; i < bytes; i++) h = (h ^ ((const unsigned char *)values)[i]) * 1099511628211ull;
  return h;
}

static PetscErrorCode Solve(System *s, const char *what, PetscReal rtol, PetscInt most)
{
  KSPConvergedReason reason;
  PetscInt           its, count;
  PetscReal          norm, residual = 0, history[MOST];
  const PetscScalar *x;
  unsigned long long hash = 14695981039346656037ull;

  PetscFunctionBeginUser;
  PetscCall(KSPSetTolerances(s->ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, most));
  PetscCall(KSPSetResidualHistory(s->ksp, history, MOST, PETSC_TRUE));
  PetscCall(VecSet(s->x, 0));
  PetscCall(KSPSolve(s->ksp, s->b, s->x));
  PetscCall(KSPGetConvergedReason(s->ksp, &reason));
  PetscCall(KSPGetIterationNumber(s->ksp, &its));
  PetscCall(KSPGetResidualHistory(s->ksp, NULL, &count));
  PetscCall(VecNorm(s->x, NORM_2, &norm));
  if (count) residual = history[count - 1];
  PetscCall(VecGetArrayRead(s->x, &x));
  hash = Hash(hash, x, (size_t)(s->n * s->n) * sizeof(*x));
  PetscCall(VecRestoreArrayRead(s->x, &x));
  hash = Hash(hash, history, (size_t)count * sizeof(*history));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s %" PetscInt_FMT " %.10e %.10e %llx\n", what, KSPConvergedReasons[reason], its, (double)norm, (double)residual, hash));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve in a stream that the program then destroys. */
static PetscErrorCode AnotherStream(System *s)
{
#if defined(PETSC_HAVE_CUDA) && PETSC_VERSION_GE(3, 24, 0)
  PetscDeviceContext before, own;
  PetscDeviceType    type;

  PetscFunctionBeginUser;
  PetscCall(PetscDeviceContextGetCurrentContext(&before));
  PetscCall(PetscDeviceContextGetDeviceType(before, &type));
  if (type == PETSC_DEVICE_CUDA) {
    PetscCall(PetscDeviceContextDuplicate(before, &own));
    PetscCall(PetscDeviceContextSetStreamType(own, PETSC_STREAM_NONBLOCKING));
    PetscCall(PetscDeviceContextSetUp(own));
    PetscCall(PetscDeviceContextSetCurrentContext(own));
    PetscCall(Solve(s, "in another stream", 1e-6, 200));
    PetscCall(PetscDeviceContextSynchronize(own));
    PetscCall(PetscDeviceContextSetCurrentContext(before));
    PetscCall(PetscDeviceContextDestroy(&own));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#else
  PetscFunctionBeginUser;
#endif
  PetscCall(Solve(s, "in another stream", 1e-6, 200));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  System    s;
  PetscReal shift = 1e-3;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  s.n       = 63;
  s.stretch = PETSC_FALSE;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &s.n, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-stretch", &s.stretch, NULL));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, s.n, s.n, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &s.da));
  PetscCall(DMSetFromOptions(s.da));
  PetscCall(DMSetUp(s.da));
  PetscCall(DMCreateMatrix(s.da, &s.A));
  PetscCall(DMCreateGlobalVector(s.da, &s.b));
  PetscCall(VecDuplicate(s.b, &s.x));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &s.ksp));
  PetscCall(KSPSetType(s.ksp, "rrb"));
  PetscCall(Fill(&s, 1, shift, 0));
  PetscCall(RightHandSide(&s, 0));
  PetscCall(KSPSetFromOptions(s.ksp));

  PetscCall(Solve(&s, "first", 1e-6, 200));
  PetscCall(Solve(&s, "again", 1e-6, 200));
  PetscCall(Solve(&s, "two iterations", 1e-6, 2));
  PetscCall(Solve(&s, "more allowed than ever", 1e-6, 100000));
  PetscCall(Solve(&s, "even more", 1e-6, 1000000));
  PetscCall(Solve(&s, "longer", 1e-11, 200));
  PetscCall(VecScale(s.b, 1e-24));
  PetscCall(Solve(&s, "a tiny right-hand side", 1e-6, 200));
  PetscCall(RightHandSide(&s, 0));
  PetscCall(VecScale(s.b, 1e24));
  PetscCall(Solve(&s, "a huge right-hand side", 1e-6, 200));
  PetscCall(RightHandSide(&s, 0));
  PetscCall(VecScale(s.b, 1e60));
  PetscCall(Solve(&s, "too large for single precision", 1e-6, 200));
  PetscCall(RightHandSide(&s, 0));
  PetscCall(VecScale(s.b, 1e-46));
  PetscCall(Solve(&s, "too small for single precision", 1e-6, 200));
  PetscCall(RightHandSide(&s, 0));
  PetscCall(Solve(&s, "after them", 1e-6, 200));
  PetscCall(RightHandSide(&s, 1e300));
  PetscCall(Solve(&s, "a right-hand side too large", 1e-6, 200));
  PetscCall(RightHandSide(&s, 0));
  PetscCall(Solve(&s, "after it", 1e-6, 200));
  PetscCall(RightHandSide(&s, NAN));
  PetscCall(Solve(&s, "a right-hand side that is no number", 1e-6, 200));
  PetscCall(RightHandSide(&s, 0));
  PetscCall(Solve(&s, "after that", 1e-6, 200));
  PetscCall(Fill(&s, 1, shift, s.stretch ? -3e4 : -3));
  PetscCall(Solve(&s, "indefinite", 1e-6, 200));
  PetscCall(Fill(&s, 2, shift, 0));
  PetscCall(Solve(&s, "twice the matrix", 1e-6, 200));
  PetscCall(Fill(&s, 1, shift, 0));
  PetscCall(Solve(&s, "the first matrix", 1e-6, 200));
  PetscCall(Fill(&s, 1, 0, 0));
  PetscCall(NullSpace(&s, 1));
  PetscCall(Solve(&s, "singular", 1e-6, 200));
  PetscCall(Solve(&s, "singular, more allowed", 1e-9, 950));
  PetscCall(NullSpace(&s, 2));
  PetscCall(Solve(&s, "the null space as a vector", 1e-6, 200));
  PetscCall(NullSpace(&s, 1));
  PetscCall(Solve(&s, "singular again", 1e-6, 200));
  PetscCall(NullSpace(&s, 0));
  PetscCall(Fill(&s, 1, shift, 0));
  PetscCall(Solve(&s, "back to the first", 1e-6, 200));
  PetscCall(AnotherStream(&s));
  PetscCall(Solve(&s, "after the end of another stream", 1e-6, 200));
  PetscCall(KSPReset(s.ksp));
  PetscCall(KSPSetOperators(s.ksp, s.A, s.A));
  PetscCall(Solve(&s, "after a reset", 1e-6, 200));

  PetscCall(KSPDestroy(&s.ksp));
  PetscCall(VecDestroy(&s.x));
  PetscCall(VecDestroy(&s.b));
  PetscCall(MatDestroy(&s.A));
  PetscCall(DMDestroy(&s.da));
  PetscCall(PetscFinalize());
  return 0;
}
