static char help[] = "SNES vipgs: rigid packings with friction and complementarity problems of many kinds, made at random.\n\n";

#include "vipgs_problem.h"

/* The matrix of a problem, by columns, the same on all processes. */
static PetscReal *table;
static PetscReal  Table(PetscInt i, PetscInt j, PetscInt n) { return table[i + j * n]; }
static PetscReal *right;
static PetscReal  Right(PetscInt i, PetscInt n) { return right[i]; }

static unsigned  seed;
static PetscReal Uniform(void) /* (-1, 1) */
{
  seed = seed * 1664525u + 1013904223u;
  return 2 * ((seed >> 8) + 0.5) / 16777216. - 1;
}

static PetscErrorCode Begin(PetscInt n)
{
  PetscFunctionBegin;
  PetscCall(PetscCalloc1(n * n, &table));
  PetscCall(PetscCalloc1(n, &right));
  PetscFunctionReturn(0);
}
static PetscErrorCode End(void)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(table));
  PetscCall(PetscFree(right));
  PetscFunctionReturn(0);
}

/* Bodies with masses, moments of inertia and velocities in contact: W = H M^-1 H', q = H v. Row of H: six columns for each of two bodies. */
typedef struct {
  PetscInt  contacts;
  PetscInt  body[400][2]; /* the second may be the ground, -1 */
  PetscReal H[1200][2][6];
  PetscReal mass[40], inertia[40], v[40][6];
} Pack;
static Pack pack;

static void Cross(const PetscReal a[3], const PetscReal b[3], PetscReal c[3])
{
  for (int k = 0; k < 3; ++k) c[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}
/* Points relative to the centres of the bodies a and b, the normal from b to a. */
static void AddContact(PetscInt a, PetscInt b, const PetscReal ra[3], const PetscReal rb[3], const PetscReal normal[3])
{
  PetscReal R[3][3], e[3] = {PetscAbsReal(normal[0]) < 0.6, PetscAbsReal(normal[0]) >= 0.6, 0}, length = 0;
  Cross(normal, e, R[1]);
  for (int k = 0; k < 3; ++k) R[0][k] = normal[k], length += R[1][k] * R[1][k];
  for (int k = 0; k < 3; ++k) R[1][k] /= PetscSqrtReal(length);
  Cross(R[0], R[1], R[2]);
  pack.body[pack.contacts][0] = a;
  pack.body[pack.contacts][1] = b;
  for (int k = 0; k < 3; ++k)
    for (int side = 0; side < 2; ++side) {
      PetscReal *row = pack.H[3 * pack.contacts + k][side], sign = side ? -1 : 1;
      Cross(side ? rb : ra, R[k], row + 3);
      for (int l = 0; l < 3; ++l) row[l] = sign * R[k][l], row[3 + l] *= sign;
    }
  ++pack.contacts;
}
static PetscErrorCode Assemble(PetscInt *n)
{
  PetscFunctionBegin;
  *n = 3 * pack.contacts;
  PetscCall(Begin(*n));
  for (PetscInt i = 0; i < *n; ++i)
    for (int side = 0; side < 2; ++side) {
      const PetscInt a = pack.body[i / 3][side];
      if (a < 0) continue;
      for (int l = 0; l < 6; ++l) right[i] += pack.H[i][side][l] * pack.v[a][l];
      for (PetscInt j = 0; j < *n; ++j)
        for (int other = 0; other < 2; ++other)
          if (pack.body[j / 3][other] == a)
            for (int l = 0; l < 6; ++l) table[i + j * *n] += pack.H[i][side][l] * pack.H[j][other][l] / (l < 3 ? pack.mass[a] : pack.inertia[a]);
    }
  PetscFunctionReturn(0);
}
/* A stack of boxes, four contacts a face, the uppermost one pushed. */
static PetscErrorCode Stack(PetscInt boxes, PetscReal kick, PetscInt *n)
{
  PetscFunctionBegin;
  memset(&pack, 0, sizeof(pack));
  for (PetscInt i = 0; i < boxes; ++i) {
    for (int k = 0; k < 4; ++k) AddContact(i, i - 1, (PetscReal[]){k / 2 - 0.5, k % 2 - 0.5, -0.5}, (PetscReal[]){k / 2 - 0.5, k % 2 - 0.5, 0.5}, (PetscReal[]){0, 0, 1});
    pack.mass[i]    = 1;
    pack.inertia[i] = 1. / 6;
    pack.v[i][2]    = -0.0981;
  }
  pack.v[boxes - 1][0] = pack.v[boxes - 1][1] = pack.v[boxes - 1][5] = kick;
  PetscCall(Assemble(n));
  PetscFunctionReturn(0);
}
/* Spheres on the ground and on each other, at random; blocks of the matrix on its diagonal with a skew part of the relative size `skew`. */
static PetscErrorCode Heap(PetscInt spheres, PetscReal skew, PetscInt *n)
{
  PetscFunctionBegin;
  memset(&pack, 0, sizeof(pack));
  for (PetscInt i = 0; i < spheres; ++i) {
    for (PetscInt b = i - 2; b < i; ++b) {
      PetscReal normal[3] = {Uniform(), Uniform(), 1 + Uniform()}, ra[3], rb[3], length = 0;
      for (int k = 0; k < 3; ++k) length += normal[k] * normal[k];
      for (int k = 0; k < 3; ++k) normal[k] /= PetscSqrtReal(length), ra[k] = -normal[k], rb[k] = normal[k];
      AddContact(i, b < 0 ? -1 : b, ra, rb, normal);
    }
    pack.mass[i]    = 1.5 + Uniform();
    pack.inertia[i] = 0.4 * pack.mass[i];
    for (int k = 0; k < 6; ++k) pack.v[i][k] = 0.02 * Uniform() - (k == 2 ? 0.0981 : 0);
  }
  PetscCall(Assemble(n));
  for (PetscInt c = 0; c < *n; c += 3)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < i; ++j) {
        const PetscReal e = skew * Uniform() * table[c + c * *n];
        table[c + i + (c + j) * *n] += e;
        table[c + j + (c + i) * *n] -= e;
      }
  PetscFunctionReturn(0);
}

/* The projection onto the cone |x_t| <= mu x_n. */
static void Project(PetscReal mu, PetscReal z[3])
{
  const PetscReal t = PetscSqrtReal(z[1] * z[1] + z[2] * z[2]), a = (z[0] + mu * t) / (1 + mu * mu);
  if (t <= mu * z[0]) return;
  if (mu * t <= -z[0]) z[0] = z[1] = z[2] = 0;
  else z[0] = a, z[1] *= mu * a / t, z[2] *= mu * a / t;
}
/* Sweeps as textbooks have them: each contact by a fixed point of its own, with steps that are small enough. */
static void Textbook(PetscInt n, PetscReal mu, PetscInt sweeps, PetscReal *x)
{
  for (PetscInt sweep = 0; sweep < sweeps; ++sweep)
    for (PetscInt c = 0; c < n; c += 3) {
      PetscReal q[3], rho = 0;
      for (int i = 0; i < 3; ++i) {
        PetscReal sum = 0;
        q[i] = right[c + i];
        for (PetscInt j = 0; j < n; ++j)
          if (j < c || j >= c + 3) q[i] += table[c + i + j * n] * x[j];
        for (int j = 0; j < 3; ++j) sum += PetscAbsReal(table[c + i + (c + j) * n]);
        rho = PetscMax(rho, sum);
      }
      for (int it = 0; it < 2000; ++it) {
        PetscReal w[3], z[3], change = 0, size = 0;
        for (int i = 0; i < 3; ++i) {
          w[i] = q[i];
          for (int j = 0; j < 3; ++j) w[i] += table[c + i + (c + j) * n] * x[c + j];
        }
        for (int i = 0; i < 3; ++i) z[i] = x[c + i] - w[i] / rho;
        z[0] -= mu * PetscSqrtReal(w[1] * w[1] + w[2] * w[2]) / rho;
        Project(mu, z);
        for (int i = 0; i < 3; ++i) {
          change += PetscAbsReal(z[i] - x[c + i]);
          size += PetscAbsReal(z[i]);
          x[c + i] = z[i];
        }
        if (change <= 1e-16 * size) break;
      }
    }
}

/* With Coulomb's law, to tol |q|; other: forces that these shall be. */
static PetscErrorCode TestPack(const char *name, PetscInt n, PetscReal mu, PetscReal tol, PetscBool newton, TesseraGSOrder order, const PetscReal *other)
{
  Mat                  A;
  Vec                  q, x, none;
  SNES                 snes;
  PetscInt             first, last;
  PetscReal            size, e[2] = {0, 0}, all[2];
  const PetscScalar   *v;
  SNESVIPGSCertificate c;
  char                 text[200];

  PetscFunctionBegin;
  PetscCall(Fill(n, Table, &A));
  PetscCall(FillVec(A, Right, &q));
  PetscCall(VecDuplicate(q, &x));
  PetscCall(VecDuplicate(q, &none));
  PetscCall(VecSet(none, PETSC_NINFINITY));
  PetscCall(VecNorm(q, NORM_2, &size));
  PetscCall(SNESVIPGSCreateLCP(A, q, none, NULL, &snes));
  PetscCall(SNESVIPGSSetBlock(snes, 3));
  PetscCall(SNESVIPGSSetFrictionCoefficient(snes, mu));
  PetscCall(SNESVIPGSSetNewton(snes, newton));
  PetscCall(SNESVIPGSSetOrder(snes, order));
  PetscCall(SNESSetTolerances(snes, tol * size, 1e-50, 1e-50, 100000, -1));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(SNESVIPGSGetCertificate(snes, &c));
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  PetscCall(VecGetArrayRead(x, &v));
  for (PetscInt i = first; i < last && other; ++i) {
    e[0] = PetscMax(e[0], PetscAbsReal(v[i - first] - other[i]));
    e[1] = PetscMax(e[1], PetscAbsReal(other[i]));
  }
  PetscCall(VecRestoreArrayRead(x, &v));
  PetscCallMPI(MPI_Allreduce(e, all, 2, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s%s", name, newton ? "" : ", sweeps alone"));
  PetscCall(Check(text, c.reason == SNES_VIPGS_CONVERGED && c.natural <= tol * size ? 0 : c.natural / size, 0));
  if (other) PetscCall(Check("  the forces of a textbook", all[0], 1e-7 * all[1]));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&q));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&none));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* Sweeps whose residual falls slowly do not stall. */
static PetscErrorCode TestSlow(void)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(Stack(7, 0.2, &n));
  PetscCall(TestPack("a stack of seven boxes", n, 0.5, 1e-8, PETSC_FALSE, TESSERA_GS_SYMMETRIC, NULL));
  PetscCall(End());
  PetscFunctionReturn(0);
}

static PetscErrorCode TestSkew(void)
{
  const PetscReal skew[] = {0, 1e-4, 1e-3, 1e-2};

  PetscFunctionBegin;
  for (int k = 0; k < 4; ++k) {
    PetscInt   n;
    PetscReal *x;
    char       name[100];
    seed = 3;
    PetscCall(Heap(15, skew[k], &n));
    PetscCall(PetscCalloc1(n, &x));
    Textbook(n, 0.3, 400, x);
    PetscCall(PetscSNPrintf(name, sizeof(name), "a heap, blocks with a skew part of %g", (double)skew[k]));
    PetscCall(TestPack(name, n, 0.3, 1e-11, PETSC_FALSE, TESSERA_GS_FORWARD, x));
    PetscCall(PetscFree(x));
    PetscCall(End());
  }
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TesseraInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size == 1) PetscCall(TestSlow());
  PetscCall(TestSkew());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

  test:
    suffix: processes
    nsize: 2

TEST*/
