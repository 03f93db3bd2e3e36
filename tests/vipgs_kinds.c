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
/* A stack of boxes, four contacts a face, the uppermost one pushed; every second one has the mass `ratio`. */
static PetscErrorCode Stack(PetscInt boxes, PetscReal ratio, PetscReal kick, PetscInt *n)
{
  PetscFunctionBegin;
  memset(&pack, 0, sizeof(pack));
  for (PetscInt i = 0; i < boxes; ++i) {
    for (int k = 0; k < 4; ++k) AddContact(i, i - 1, (PetscReal[]){k / 2 - 0.5, k % 2 - 0.5, -0.5}, (PetscReal[]){k / 2 - 0.5, k % 2 - 0.5, 0.5}, (PetscReal[]){0, 0, 1});
    pack.mass[i]    = i % 2 ? ratio : 1;
    pack.inertia[i] = pack.mass[i] / 6;
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

static PetscBool sparse = PETSC_FALSE, factored = PETSC_FALSE; /* the matrix is a MATAIJ; that of a packing is H M^-1 H' */

/* W of the packing as a matrix that can multiply, and has its factors composed with it. */
typedef struct {
  Mat H, M;
  Vec inverse, v;
} Factors;
static PetscErrorCode MultiplyFactors(Mat W, Vec x, Vec y)
{
  Factors *f;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(W, &f));
  PetscCall(MatMultTranspose(f->H, x, f->v));
  PetscCall(VecPointwiseMult(f->v, f->v, f->inverse));
  PetscCall(MatMult(f->H, f->v, y));
  PetscFunctionReturn(0);
}
static PetscErrorCode DestroyFactors(Mat W)
{
  Factors *f;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(W, &f));
  PetscCall(MatDestroy(&f->H));
  PetscCall(MatDestroy(&f->M));
  PetscCall(VecDestroy(&f->inverse));
  PetscCall(VecDestroy(&f->v));
  PetscCall(PetscFree(f));
  PetscFunctionReturn(0);
}
static PetscErrorCode CreateFactored(PetscInt n, Mat *W)
{
  Factors *f;
  PetscInt bodies = 0, rows, columns, first, last;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < n / 3; ++c) bodies = PetscMax(bodies, PetscMax(pack.body[c][0], pack.body[c][1]) + 1);
  PetscCall(PetscNew(&f));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, 6 * bodies, 12, NULL, 12, NULL, &f->H));
  PetscCall(MatGetOwnershipRange(f->H, &first, &last));
  for (PetscInt i = first; i < last; ++i)
    for (int side = 0; side < 2; ++side)
      for (PetscInt l = 0; l < 6 && pack.body[i / 3][side] >= 0; ++l) PetscCall(MatSetValue(f->H, i, 6 * pack.body[i / 3][side] + l, pack.H[i][side][l], INSERT_VALUES));
  PetscCall(MatAssemblyBegin(f->H, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(f->H, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(f->H, &f->v, NULL));
  PetscCall(VecDuplicate(f->v, &f->inverse));
  PetscCall(VecGetOwnershipRange(f->v, &first, &last));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, last - first, last - first, 6 * bodies, 6 * bodies, 1, NULL, 0, NULL, &f->M));
  for (PetscInt i = first; i < last; ++i) {
    const PetscReal m = i % 6 < 3 ? pack.mass[i / 6] : pack.inertia[i / 6];
    PetscCall(MatSetValue(f->M, i, i, m, INSERT_VALUES));
    PetscCall(VecSetValue(f->inverse, i, 1 / m, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(f->M, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(f->M, MAT_FINAL_ASSEMBLY));
  PetscCall(VecAssemblyBegin(f->inverse));
  PetscCall(VecAssemblyEnd(f->inverse));
  PetscCall(MatGetLocalSize(f->H, &rows, &columns));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, rows, rows, n, n, f, W));
  PetscCall(MatShellSetOperation(*W, MATOP_MULT, (void (*)(void))MultiplyFactors));
  PetscCall(MatShellSetOperation(*W, MATOP_DESTROY, (void (*)(void))DestroyFactors));
  PetscCall(PetscObjectCompose((PetscObject)*W, "SNESVIPGS_H", (PetscObject)f->H));
  PetscCall(PetscObjectCompose((PetscObject)*W, "SNESVIPGS_M", (PetscObject)f->M));
  PetscFunctionReturn(0);
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
  if (factored) PetscCall(CreateFactored(n, &A));
  else PetscCall(Fill(n, Table, &A));
  PetscCall(FillVec(A, Right, &q));
  if (sparse) PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
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
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s%s%s", name, newton ? "" : ", sweeps alone", sparse ? ", sparse" : factored ? ", factors" : ""));
  PetscCall(Check(text, c.reason == SNES_VIPGS_CONVERGED && c.natural <= tol * size && c.factorizations <= 40 ? 0 : c.natural / size, 0));
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
  PetscCall(Stack(7, 1, 0.2, &n));
  PetscCall(TestPack("a stack of seven boxes", n, 0.5, 1e-8, PETSC_FALSE, TESSERA_GS_SYMMETRIC, NULL));
  PetscCall(End());
  PetscFunctionReturn(0);
}

/* Redundant contacts: sweeps are slow or go nowhere, the interior-point method ends. */
static PetscErrorCode TestStacks(void)
{
  PetscInt n;
  char     name[50];

  PetscFunctionBegin;
  for (PetscInt boxes = 10; boxes <= 30; boxes += 20) {
    PetscCall(Stack(boxes, 1, boxes == 10 ? 0.2 : 0.5, &n));
    PetscCall(PetscSNPrintf(name, sizeof(name), "a stack of %" PetscInt_FMT " boxes", boxes));
    PetscCall(TestPack(name, n, boxes == 10 ? 0.5 : 0.3, 1e-8, PETSC_TRUE, TESSERA_GS_SYMMETRIC, NULL));
    PetscCall(End());
  }
  for (PetscInt boxes = 5; boxes <= 40; boxes *= 2) { /* forces of 1e6 times |q| where there are 40 */
    PetscCall(Stack(boxes, 1e4, 0.2, &n));
    PetscCall(PetscSNPrintf(name, sizeof(name), "%" PetscInt_FMT " boxes, masses 1 and 10000", boxes));
    PetscCall(TestPack(name, n, 0.5, 1e-8, PETSC_TRUE, TESSERA_GS_SYMMETRIC, NULL));
    PetscCall(End());
  }
  PetscCall(Stack(30, 1e4, 0.5, &n));
  PetscCall(TestPack("30 boxes, masses 1 and 10000, smoother", n, 0.3, 1e-8, PETSC_TRUE, TESSERA_GS_SYMMETRIC, NULL));
  PetscCall(End());
  PetscCall(Stack(10, 1e4, 0.2, &n));
  PetscCall(TestPack("10 boxes, masses 1 and 10000, no friction", n, 0, 1e-8, PETSC_TRUE, TESSERA_GS_SYMMETRIC, NULL));
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

/* Problems with a positive semidefinite matrix, symmetric or not, zeros on the diagonal included, others that have one answer, and some that have none. */
typedef enum { POSITIVE, SINGULAR, SKEW, BOX, MARKET, LINEAR, GAME, MURTY, FATHI, SCALES, PMATRIX, IMPOSSIBLE, KINDS } Kind;
static const char *const kinds[] = {"positive definite", "singular", "nearly skew", "nearly skew, boxes", "market", "linear program", "matrix game", "Murty", "Fathi", "forces of all scales", "principal minors positive", "impossible"};

static PetscReal Low(PetscInt i, PetscInt n) { return i % 5 ? -1 : PETSC_NINFINITY; }
static PetscReal High(PetscInt i, PetscInt n) { return i % 2 ? 1 : i % 7 ? PETSC_INFINITY : i % 3 ? 0.5 : -1; }
/* += scale B B', B of n rows and m columns at random */
static PetscErrorCode AddGram(PetscInt n, PetscInt size, PetscInt m, PetscReal scale)
{
  PetscReal *B;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(size * m, &B));
  for (PetscInt k = 0; k < size * m; ++k) B[k] = Uniform();
  for (PetscInt j = 0; j < size; ++j)
    for (PetscInt k = 0; k < m; ++k)
      for (PetscInt i = 0; i < size; ++i) table[i + j * n] += scale * B[i + k * size] * B[j + k * size];
  PetscCall(PetscFree(B));
  PetscFunctionReturn(0);
}
/* += B B' with y'B = 0 for a positive y, and q'y < 0: y (A x + q) < 0 for all x */
static PetscErrorCode AddNothing(PetscInt n)
{
  const PetscInt m = n / 2;
  PetscReal     *B, *y, length = 0, product = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n * m, &B, n, &y));
  for (PetscInt i = 0; i < n; ++i) y[i] = 1.5 + Uniform(), length += y[i] * y[i];
  for (PetscInt k = 0; k < m; ++k) {
    PetscReal sum = 0;
    for (PetscInt i = 0; i < n; ++i) B[i + k * n] = Uniform(), sum += B[i + k * n] * y[i];
    for (PetscInt i = 0; i < n; ++i) B[i + k * n] -= sum / length * y[i];
  }
  for (PetscInt j = 0; j < n; ++j)
    for (PetscInt k = 0; k < m; ++k)
      for (PetscInt i = 0; i < n; ++i) table[i + j * n] += B[i + k * n] * B[j + k * n] / n;
  for (PetscInt i = 0; i < n; ++i) product += y[i] * right[i];
  for (PetscInt i = 0; i < n; ++i) right[i] -= (product / length + 0.2) * y[i];
  PetscCall(PetscFree2(B, y));
  PetscFunctionReturn(0);
}
static PetscErrorCode Make(Kind kind, PetscInt n)
{
  const PetscInt half = n / 2;

  PetscFunctionBegin;
  PetscCall(Begin(n));
  for (PetscInt i = 0; i < n; ++i) right[i] = kind == MURTY || kind == FATHI ? -1 : Uniform() * (kind == SCALES ? PetscPowReal(10, 3 * Uniform()) : 1);
  for (PetscInt i = 0; i < n; ++i)
    for (PetscInt j = 0; j <= i; ++j) {
      const PetscReal e = Uniform(), skew = kind == SCALES ? e : e / PetscSqrtReal(n);
      if (kind == SKEW || kind == BOX || kind == SCALES) table[i + j * n] = i == j ? 1e-3 : skew, table[j + i * n] = i == j ? 1e-3 : -skew;
      if (kind == MURTY) table[i + j * n] = i == j ? 1 : 2;
      if (kind == FATHI) table[i + j * n] = table[j + i * n] = i == j ? 4 * i + 1 : 4 * j + 2;
      if (kind >= MARKET && kind <= GAME && i >= half && j < half) { /* constraints C x >= b and prices */
        const PetscReal c = kind == GAME ? 1.5 + 0.5 * e : PetscAbsReal(e) < 0.3 ? e * e : 0;
        table[i + j * n] = c;
        table[j + i * n] = -c;
      }
    }
  for (PetscInt i = 0; i < n && kind == PMATRIX; ++i) { /* rows of all scales, each with a dominating diagonal: not monotone */
    const PetscReal scale = PetscPowReal(10, 2 * Uniform());
    PetscReal       sum   = 0;
    for (PetscInt j = 0; j < n; ++j)
      if (j != i) sum += PetscAbsReal(table[i + j * n] = scale * Uniform());
    table[i + i * n] = 1.2 * sum;
    right[i] *= sum;
  }
  if (kind == POSITIVE) PetscCall(AddGram(n, n, n, 1. / n));
  if (kind == IMPOSSIBLE) PetscCall(AddNothing(n));
  if (kind == SCALES) PetscCall(AddGram(n, n, n, 0.1 / n));
  if (kind == MARKET) PetscCall(AddGram(n, half, half / 3 + 1, 1));
  if (kind == SINGULAR) { /* q = w - A x with an answer x, w */
    PetscCall(AddGram(n, n, half, 1));
    for (PetscInt i = 0; i < n; ++i) right[i] = i % 3 ? right[i] + 1 : 0;
    for (PetscInt j = 0; j < n; j += 3)
      for (PetscInt i = 0; i < n; ++i) right[i] -= table[i + j * n] * (1 + 0.5 * PetscSinReal(j));
  }
  for (PetscInt i = 0; i < n && kind >= MARKET && kind <= GAME; ++i) right[i] = i < half ? 1.5 + right[i] : kind == GAME ? -1 : 0.1 * right[i] + 0.1;
  for (PetscInt j = 0; j < half && (kind == MARKET || kind == LINEAR); ++j) /* C x >= b has an answer */
    for (PetscInt i = half; i < n; ++i) right[i] -= 0.9 * table[i + j * n];
  PetscFunctionReturn(0);
}

/* Solves with bounds from l to u, NULL as SNESVIPGSCreateLCP() takes them, to 1e-9 of |q|; most: factorisations; w = A x + q. */
static PetscErrorCode Solve(Mat A, Vec q, Vec l, Vec u, PetscInt most, Vec x, Vec w, SNES *snes, PetscReal *size, SNESConvergedReason *reason, SNESVIPGSCertificate *c)
{
  PetscFunctionBegin;
  PetscCall(VecNorm(q, NORM_2, size));
  PetscCall(SNESVIPGSCreateLCP(A, q, l, u, snes));
  PetscCall(SNESVIPGSSetMaxFactorizations(*snes, most));
  PetscCall(SNESSetTolerances(*snes, 1e-9 * *size, 1e-50, 1e-50, 20000, -1));
  PetscCall(SNESSetFromOptions(*snes));
  PetscCall(SNESSolve(*snes, NULL, x));
  PetscCall(SNESGetConvergedReason(*snes, reason));
  PetscCall(SNESVIPGSGetCertificate(*snes, c));
  PetscCall(MatMult(A, x, w));
  PetscCall(VecAXPY(w, 1, q));
  PetscFunctionReturn(0);
}

/* The residual of the answer from its definition, and its bounds, which hold at every end; most: factorisations. */
static PetscErrorCode TestKind(Kind kind, PetscInt n, PetscInt which, PetscInt most)
{
  Mat                  A;
  Vec                  q, x, w, lower, upper;
  SNES                 snes;
  SNESConvergedReason  reason;
  SNESVIPGSCertificate c;
  PetscInt             first, last;
  PetscReal            size, mine[2] = {0, 0}, all[2];
  const PetscScalar   *v, *f, *l, *u;
  char                 text[200];

  PetscFunctionBegin;
  seed = (unsigned)(n + 1000 * which);
  PetscCall(Make(kind, n));
  PetscCall(Fill(n, Table, &A));
  PetscCall(FillVec(A, Right, &q));
  if (sparse) PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
  PetscCall(VecDuplicate(q, &x));
  PetscCall(VecDuplicate(q, &w));
  PetscCall(VecDuplicate(q, &upper));
  PetscCall(VecSet(upper, PETSC_INFINITY));
  PetscCall(VecDuplicate(q, &lower));
  if (kind == BOX) {
    PetscCall(VecDestroy(&lower));
    PetscCall(VecDestroy(&upper));
    PetscCall(FillVec(A, Low, &lower));
    PetscCall(FillVec(A, High, &upper));
  }
  PetscCall(Solve(A, q, lower, upper, most, x, w, &snes, &size, &reason, &c));
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  PetscCall(VecGetArrayRead(x, &v));
  PetscCall(VecGetArrayRead(w, &f));
  PetscCall(VecGetArrayRead(lower, &l));
  PetscCall(VecGetArrayRead(upper, &u));
  for (PetscInt i = 0; i < last - first; ++i) {
    const PetscReal e = PetscMin(PetscMax(f[i], v[i] - u[i]), v[i] - l[i]); /* v - P(v - f) */
    mine[0] += e * e;
    mine[1] += !(v[i] >= l[i] && v[i] <= u[i]);
  }
  PetscCall(VecRestoreArrayRead(x, &v));
  PetscCall(VecRestoreArrayRead(w, &f));
  PetscCall(VecRestoreArrayRead(lower, &l));
  PetscCall(VecRestoreArrayRead(upper, &u));
  PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s, n = %" PetscInt_FMT ", problem %" PetscInt_FMT "%s%s", kinds[kind], n, which, most < 10 ? ", few factorisations" : "", sparse ? ", sparse" : ""));
  if (most < 10) PetscCall(Check(text, reason < 0 && all[1] == 0 && all[0] > 0 ? 0 : 1 + all[1], 0));
  else if (kind == IMPOSSIBLE) PetscCall(Check(text, c.reason == SNES_VIPGS_INFEASIBLE && all[1] == 0 ? 0 : 1 + all[1], 0));
  else PetscCall(Check(text, reason > 0 && all[1] == 0 && c.factorizations <= 60 ? PetscSqrtReal(all[0]) / size : 1, 1e-8));
  PetscCall(PetscInfo(snes, "%s: %" PetscInt_FMT " sweeps, %" PetscInt_FMT " factorisations\n", text, c.sweeps, c.factorizations));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&q));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&w));
  PetscCall(VecDestroy(&lower));
  PetscCall(VecDestroy(&upper));
  PetscCall(MatDestroy(&A));
  PetscCall(End());
  PetscFunctionReturn(0);
}

/* Sparse matrices that no computer holds as dense ones: an obstacle under a membrane without and with a wind, and a chain of markets with zeros on the diagonal. */
static PetscErrorCode TestLarge(const char *name, PetscInt m, PetscReal wind, PetscBool markets)
{
  const PetscInt       n = m * m, half = n / 2, to[4] = {-1, 1, -m, m};
  Mat                  A;
  Vec                  q, x, w;
  SNES                 snes;
  SNESConvergedReason  reason;
  SNESVIPGSCertificate c;
  PetscInt             first, last;
  PetscReal            size, natural = 0;
  PetscScalar         *v;
  const PetscScalar   *f;

  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 7, NULL, 7, NULL, &A));
  PetscCall(MatCreateVecs(A, &x, &q));
  PetscCall(VecDuplicate(q, &w));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt i = first; i < last; ++i) {
    if (!markets) {
      for (int k = 0; k < 4; ++k) {
        const PetscBool inside = k < 2 ? (k ? i % m < m - 1 : i % m > 0) : (k == 2 ? i >= m : i < n - m);
        if (inside) PetscCall(MatSetValue(A, i, i + to[k], -1 - (k % 2 ? 0 : wind), INSERT_VALUES));
      }
      PetscCall(MatSetValue(A, i, i, 4 + 2 * wind, INSERT_VALUES));
      PetscCall(VecSetValue(q, i, 1e-3 * PetscSinReal(6. * (i % m) / m) * PetscCosReal(5. * (i / m) / m), INSERT_VALUES));
    } else
      for (PetscInt k = 0; k < 5; ++k) { /* good i from makers i, i + 1, ..., who have costs, and the goods' prices */
        const PetscInt other = i < half ? half + (i + half - k) % half : (i - half + k) % half;
        PetscCall(MatSetValue(A, i, other, (i < half ? -1 : 1) * (1 + 0.1 * PetscSinReal((i < half ? i : other) + 3 * k)), INSERT_VALUES));
        if (i < half && i % 3 == 0) PetscCall(MatSetValue(A, i, i, 0.1, INSERT_VALUES));
        if (!k) PetscCall(VecSetValue(q, i, i < half ? 1.5 + PetscSinReal(7. * i) : -1 - PetscCosReal(3. * i), INSERT_VALUES));
      }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(VecAssemblyBegin(q));
  PetscCall(VecAssemblyEnd(q));
  PetscCall(Solve(A, q, NULL, NULL, 200, x, w, &snes, &size, &reason, &c));
  PetscCall(VecGetArray(x, &v));
  PetscCall(VecGetArrayRead(w, &f));
  for (PetscInt i = 0; i < last - first; ++i) natural += v[i] >= 0 ? PetscSqr(PetscMin(v[i], f[i])) : size * size;
  PetscCall(VecRestoreArray(x, &v));
  PetscCall(VecRestoreArrayRead(w, &f));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &natural, 1, MPIU_REAL, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(Check(name, reason > 0 && c.factorizations <= 60 ? PetscSqrtReal(natural) / size : 1, 1e-8));
  PetscCall(PetscInfo(snes, "%s: %" PetscInt_FMT " sweeps, %" PetscInt_FMT " factorisations\n", name, c.sweeps, c.factorizations));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&q));
  PetscCall(VecDestroy(&w));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;
  PetscInt    sizes[] = {3, 20, 90, 300}, rounds = 1, few = 3;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TesseraInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-largest", &sizes[3], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rounds", &rounds, NULL)); /* with -info :snes: more problems, and their factorisations */
  if (size == 1) PetscCall(TestSlow());
  PetscCall(TestStacks());
  sparse = PETSC_TRUE;
  PetscCall(TestStacks());
  if (size == 1) PetscCall(TestSkew());
  sparse   = PETSC_FALSE;
  factored = PETSC_TRUE;
  PetscCall(TestStacks());
  factored = PETSC_FALSE;
  PetscCall(TestSkew());
  for (PetscInt round = 0; round < rounds; ++round)
    for (int k = 0; k < (size == 1 ? 4 : 3); ++k)
      for (int kind = 0; kind < KINDS; ++kind) PetscCall(TestKind((Kind)kind, sizes[k], round, 200));
  PetscCall(TestKind(SKEW, 90, 0, few));
  PetscCall(TestKind(BOX, 90, 0, few));
  sparse = PETSC_TRUE;
  for (PetscInt round = 0; round < rounds; ++round)
    for (int k = 0; k < 3; ++k)
      for (int kind = 0; kind < KINDS; ++kind) PetscCall(TestKind((Kind)kind, sizes[k], round, 200));
  PetscCall(TestKind(SKEW, 90, 0, few));
  for (int k = 0; k < 2; ++k) { /* x grows until x - F is x, or A x + q is A x */
    const PetscInt which[2][3] = {{2, 6, 17}, {10, 22, 29}};
    for (int l = 0; l < 3; ++l) PetscCall(TestKind(IMPOSSIBLE, sizes[k], which[k][l], 200));
  }
  PetscCall(TestKind(IMPOSSIBLE, 90, 22, 200));
  PetscCall(TestKind(IMPOSSIBLE, 47, 3045, 200)); /* products fall and fall, while the equations are not met */
  PetscCall(TestKind(LINEAR, 90, 51, 200)); /* factorisations without pivots, which fail near the end */
  PetscCall(TestKind(LINEAR, 89, 93, 200));
  PetscCall(TestLarge("40000 unknowns, obstacle", 200, 0, PETSC_FALSE));
  PetscCall(TestLarge("40000 unknowns, obstacle in the wind", 200, 3, PETSC_FALSE));
  PetscCall(TestLarge("40000 unknowns, markets", 200, 0, PETSC_TRUE));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

  test:
    suffix: processes
    nsize: 2

TEST*/
