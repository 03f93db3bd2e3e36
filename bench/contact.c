static char help[] = "Packings of rigid bodies with Coulomb friction, W = H M^-1 H' as a sparse matrix: SNES vipgs beside a textbook's Gauss-Seidel.\n\
  contact -dll_append libtessera.so -kind stack|wall|spheres [-n 10] [-m 3] [-ratio 1] [-mu 0.4] [-tol 1e-8] [-seconds 60]\n\
  -kind     stack: n boxes, m x m contacts a face; wall: n rows of m boxes; spheres: n in a box\n\
  -ratio    every second body is heavier by it\n\
  -seconds  the textbook's Gauss-Seidel ends after them\n\n";

#include <petscsnes.h>
#include <petsctime.h>

/* A contact's rows of H: normal and two tangential directions, by six velocities of each of two bodies (-1: the ground). */
typedef struct {
  PetscInt  body[2];
  PetscReal H[3][2][6];
} Contact;
typedef struct {
  PetscInt   bodies, contacts, room;
  PetscReal *mass, *inertia, (*v)[6];
  Contact   *contact;
} Packing;

static void Cross(const PetscReal *a, const PetscReal *b, PetscReal *c)
{
  for (int k = 0; k < 3; ++k) c[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}
static PetscErrorCode Create(PetscInt bodies, PetscInt room, Packing *p)
{
  PetscFunctionBeginUser;
  p->bodies   = bodies;
  p->contacts = 0;
  p->room     = room;
  PetscCall(PetscCalloc4(bodies, &p->mass, bodies, &p->inertia, bodies, &p->v, room, &p->contact));
  for (PetscInt i = 0; i < bodies; ++i) p->v[i][2] = -0.0981; /* a step's gravity */
  PetscFunctionReturn(0);
}
/* The normal points from b to a; ra and rb: the point relative to their centres. */
static void Touch(Packing *p, PetscInt a, PetscInt b, const PetscReal ra[3], const PetscReal rb[3], const PetscReal n[3])
{
  Contact  *c = &p->contact[p->contacts++];
  PetscReal R[3][3], e[3] = {PetscAbsReal(n[0]) < 0.6, PetscAbsReal(n[0]) >= 0.6, 0}, length = 0;
  Cross(n, e, R[1]);
  for (int k = 0; k < 3; ++k) R[0][k] = n[k], length += R[1][k] * R[1][k];
  for (int k = 0; k < 3; ++k) R[1][k] /= PetscSqrtReal(length);
  Cross(R[0], R[1], R[2]);
  c->body[0] = a;
  c->body[1] = b;
  for (int k = 0; k < 3; ++k)
    for (int s = 0; s < 2; ++s) {
      Cross(s ? rb : ra, R[k], c->H[k][s] + 3);
      for (int l = 0; l < 3; ++l) c->H[k][s][l] = (s ? -1 : 1) * R[k][l], c->H[k][s][3 + l] *= s ? -1 : 1;
    }
}
static PetscErrorCode Stack(PetscInt n, PetscInt m, PetscReal ratio, Packing *p)
{
  PetscFunctionBeginUser;
  PetscCall(Create(n, n * m * m, p));
  for (PetscInt i = 0; i < n; ++i) {
    for (PetscInt k = 0; k < m * m; ++k) {
      const PetscReal x = m > 1 ? (k / m) / (m - 1.) - 0.5 : 0, y = m > 1 ? (k % m) / (m - 1.) - 0.5 : 0;
      Touch(p, i, i - 1, (PetscReal[]){x, y, -0.5}, (PetscReal[]){x, y, 0.5}, (PetscReal[]){0, 0, 1});
    }
    p->mass[i]    = i % 2 ? ratio : 1;
    p->inertia[i] = p->mass[i] / 6;
  }
  p->v[n - 1][0] = p->v[n - 1][1] = p->v[n - 1][5] = 0.2;
  PetscFunctionReturn(0);
}
/* Bricks 2 long and 1 high, half a brick aside in every second row, one of them pushed out of the wall. */
static PetscErrorCode Wall(PetscInt n, PetscInt m, PetscReal ratio, Packing *p)
{
  PetscFunctionBeginUser;
  PetscCall(Create(n * m, 12 * n * m, p));
  for (PetscInt r = 0; r < n; ++r)
    for (PetscInt c = 0; c < m; ++c) {
      const PetscInt  a = r * m + c;
      const PetscReal x = 2 * c + r % 2;
      for (PetscInt o = c - 1; o <= c + 1; ++o) {
        const PetscReal at = r ? 2 * o + (r - 1) % 2 : x, low = PetscMax(x, at) - 0.9, high = PetscMin(x, at) + 0.9;
        if (r ? o < 0 || o >= m || high <= low : o != c) continue;
        for (int k = 0; k < 4; ++k) {
          const PetscReal px = k / 2 ? low : high, y = k % 2 ? 0.4 : -0.4;
          Touch(p, a, r ? a - c - m + o : -1, (PetscReal[]){px - x, y, -0.5}, (PetscReal[]){px - at, y, 0.5}, (PetscReal[]){0, 0, 1});
        }
      }
      for (int k = 0; k < 4 && c; ++k) {
        const PetscReal y = k % 2 ? 0.4 : -0.4, z = k / 2 ? 0.4 : -0.4;
        Touch(p, a, a - 1, (PetscReal[]){-1, y, z}, (PetscReal[]){1, y, z}, (PetscReal[]){1, 0, 0});
      }
      p->mass[a]    = a % 2 ? ratio : 1;
      p->inertia[a] = 0.3 * p->mass[a];
    }
  p->v[n / 2 * m + m / 2][1] = 0.5;
  PetscFunctionReturn(0);
}
/* Spheres at random, pushed apart and down until they lie on each other between four walls. */
static PetscErrorCode Spheres(PetscInt n, PetscReal ratio, Packing *p)
{
  const PetscReal L = 1.25 * PetscPowReal(n, 1. / 3);
  PetscReal      *r, (*x)[3], (*push)[3], value;
  PetscRandom     random;

  PetscFunctionBeginUser;
  PetscCall(Create(n, 16 * n, p));
  PetscCall(PetscMalloc3(n, &r, n, &x, n, &push));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  for (PetscInt i = 0; i < n; ++i) {
    PetscCall(PetscRandomGetValueReal(random, &value));
    r[i] = 0.5 + 0.5 * value;
    for (int k = 0; k < 3; ++k) {
      PetscCall(PetscRandomGetValueReal(random, &value));
      x[i][k] = L * value;
      PetscCall(PetscRandomGetValueReal(random, &value));
      p->v[i][k] += 0.02 * value - 0.01;
    }
  }
  for (int step = 0; step <= 400; ++step) {
    PetscCall(PetscMemzero(push, n * sizeof(*push)));
    for (PetscInt i = 0; i < n; ++i)
      for (PetscInt j = 0; j < i; ++j) {
        PetscReal d[3], l = 0, m[3], ri[3], rj[3];
        for (int k = 0; k < 3; ++k) d[k] = x[i][k] - x[j][k], l += d[k] * d[k];
        if (l >= PetscSqr(1.01 * (r[i] + r[j]))) continue;
        l = PetscSqrtReal(l);
        for (int k = 0; k < 3; ++k) m[k] = d[k] / l, ri[k] = -r[i] * m[k], rj[k] = r[j] * m[k];
        if (step == 400 && p->contacts < p->room) Touch(p, i, j, ri, rj, m);
        for (int k = 0; k < 3; ++k) push[i][k] += 0.3 * PetscMax(r[i] + r[j] - l, 0) * m[k], push[j][k] -= 0.3 * PetscMax(r[i] + r[j] - l, 0) * m[k];
      }
    for (PetscInt i = 0; i < n; ++i)
      for (int k = 0; k < 3; ++k) {
        for (int side = 0; side < (k == 2 ? 1 : 2) && step == 400; ++side) {
          PetscReal m[3] = {0, 0, 0}, ri[3], zero[3] = {0, 0, 0};
          m[k] = side ? -1 : 1;
          for (int l = 0; l < 3; ++l) ri[l] = -r[i] * m[l];
          if ((side ? L - x[i][k] : x[i][k]) < 1.01 * r[i] && p->contacts < p->room) Touch(p, i, -1, ri, zero, m);
        }
        if (step == 400) continue;
        x[i][k] = PetscMax(x[i][k] + push[i][k] - (k == 2 ? 0.01 : 0), r[i]);
        if (k < 2) x[i][k] = PetscMin(x[i][k], L - r[i]);
      }
  }
  for (PetscInt i = 0; i < n; ++i) {
    p->mass[i]    = r[i] * r[i] * r[i] * (i % 2 ? ratio : 1);
    p->inertia[i] = 0.4 * p->mass[i] * r[i] * r[i];
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PetscFree3(r, x, push));
  PetscFunctionReturn(0);
}
/* H and W = H M^-1 H', q = H v. */
static PetscErrorCode Assemble(const Packing *p, Mat *W, Vec *q)
{
  const PetscInt rows = 3 * p->contacts, columns = 6 * p->bodies;
  Mat            H, T;
  Vec            v, m;

  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, rows, columns, 12, NULL, &H));
  PetscCall(MatCreateVecs(H, &v, q));
  PetscCall(VecDuplicate(v, &m));
  for (PetscInt i = 0; i < rows; ++i)
    for (int s = 0; s < 2; ++s)
      for (int l = 0; l < 6 && p->contact[i / 3].body[s] >= 0; ++l) PetscCall(MatSetValue(H, i, 6 * p->contact[i / 3].body[s] + l, p->contact[i / 3].H[i % 3][s][l], INSERT_VALUES));
  for (PetscInt j = 0; j < columns; ++j) {
    PetscCall(VecSetValue(v, j, p->v[j / 6][j % 6], INSERT_VALUES));
    PetscCall(VecSetValue(m, j, 1 / PetscSqrtReal(j % 6 < 3 ? p->mass[j / 6] : p->inertia[j / 6]), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(H, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(H, MAT_FINAL_ASSEMBLY));
  PetscCall(MatMult(H, v, *q));
  PetscCall(MatDiagonalScale(H, NULL, m));
  PetscCall(MatTranspose(H, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatMatMult(H, T, MAT_INITIAL_MATRIX, PETSC_DEFAULT, W));
  PetscCall(MatDestroy(&T));
  PetscCall(MatDestroy(&H));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&m));
  PetscFunctionReturn(0);
}

/* The projection onto the cone |z_t| <= mu z_n */
static void Project(PetscReal mu, PetscReal z[3])
{
  const PetscReal t = PetscSqrtReal(z[1] * z[1] + z[2] * z[2]), a = (z[0] + mu * t) / (1 + mu * mu);
  if (t <= mu * z[0]) return;
  if (mu * t <= -z[0]) z[0] = z[1] = z[2] = 0;
  else z[0] = a, z[1] *= mu * a / t, z[2] *= mu * a / t;
}
/* z := P(x - step (w + mu |w_t| n)); returns |x - z|^2. */
static PetscReal Towards(PetscReal mu, PetscReal step, const PetscReal *x, const PetscReal *w, PetscReal z[3])
{
  PetscReal e = 0;
  for (int k = 0; k < 3; ++k) z[k] = x[k] - step * w[k];
  z[0] -= step * mu * PetscSqrtReal(w[1] * w[1] + w[2] * w[2]);
  Project(mu, z);
  for (int k = 0; k < 3; ++k) e += PetscSqr(x[k] - z[k]);
  return e;
}
/* Contacts one after the other, each by a fixed point of its own. */
static PetscErrorCode Textbook(Mat W, Vec q, PetscReal mu, PetscReal tol, PetscReal seconds)
{
  const PetscScalar *b;
  PetscReal         *x, residual = 1, size;
  PetscInt           n, sweeps = 0;
  PetscLogDouble     start, now;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(q, NORM_2, &size));
  PetscCall(VecGetSize(q, &n));
  PetscCall(VecGetArrayRead(q, &b));
  PetscCall(PetscCalloc1(n, &x));
  PetscCall(PetscTime(&start));
  for (now = start; residual > tol * size && now - start < seconds; ++sweeps) {
    residual = 0;
    for (PetscInt c = 0; c < n; c += 3) {
      PetscReal w[3], D[3][3] = {{0}}, z[3], rho = 0;
      for (int i = 0; i < 3; ++i) {
        const PetscInt    *column;
        const PetscScalar *value;
        PetscInt           entries;
        PetscReal          sum = 0;
        PetscCall(MatGetRow(W, c + i, &entries, &column, &value));
        w[i] = b[c + i];
        for (PetscInt e = 0; e < entries; ++e) {
          w[i] += value[e] * x[column[e]];
          if (column[e] / 3 == c / 3) D[i][column[e] % 3] = value[e], sum += PetscAbsReal(value[e]);
        }
        PetscCall(MatRestoreRow(W, c + i, &entries, &column, &value));
        rho = PetscMax(rho, sum);
      }
      residual += Towards(mu, 1, x + c, w, z);
      for (int it = 0; it < 100; ++it) {
        PetscReal d[3];
        if (Towards(mu, 1 / rho, x + c, w, z) <= 1e-28 * (z[0] * z[0] + z[1] * z[1] + z[2] * z[2])) break;
        for (int i = 0; i < 3; ++i) d[i] = z[i] - x[c + i], x[c + i] = z[i];
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j) w[i] += D[i][j] * d[j];
      }
    }
    residual = PetscSqrtReal(residual); /* of the contacts before their steps */
    PetscCall(PetscTime(&now));
  }
  PetscCall(PetscFree(x));
  PetscCall(VecRestoreArrayRead(q, &b));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "textbook: %" PetscInt_FMT " sweeps, %.3g s, residual %.2g of |q|\n", sweeps, now - start, (double)(residual / size)));
  PetscFunctionReturn(0);
}
static PetscErrorCode Velocity(SNES snes, Vec r, Vec w, void *q)
{
  Mat W;

  PetscFunctionBeginUser;
  PetscCall(SNESGetJacobian(snes, &W, NULL, NULL, NULL));
  PetscCall(MatMultAdd(W, r, (Vec)q, w));
  PetscFunctionReturn(0);
}
static PetscErrorCode Constant(SNES snes, Vec r, Mat A, Mat B, void *ctx)
{
  (void)snes, (void)r, (void)A, (void)B, (void)ctx;
  return 0;
}

int main(int argc, char **argv)
{
  Packing             p;
  Mat                 W;
  Vec                 q, r, f;
  SNES                snes;
  SNESConvergedReason reason;
  PetscInt            n = 10, m = 3, size;
  PetscReal           ratio = 1, mu = 0.4, tol = 1e-8, seconds = 60, length;
  char                kind[20] = "stack", text[30];
  MatInfo             info;
  PetscLogDouble      t0, t1;
  PetscBool           stack, wall;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-kind", kind, sizeof(kind), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-m", &m, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-ratio", &ratio, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-mu", &mu, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tol", &tol, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-seconds", &seconds, NULL));
  PetscCall(PetscStrcmp(kind, "stack", &stack));
  PetscCall(PetscStrcmp(kind, "wall", &wall));
  if (stack) PetscCall(Stack(n, m, ratio, &p));
  else if (wall) PetscCall(Wall(n, m, ratio, &p));
  else PetscCall(Spheres(n, ratio, &p));
  PetscCall(Assemble(&p, &W, &q));
  PetscCall(PetscFree4(p.mass, p.inertia, p.v, p.contact));
  PetscCall(VecGetSize(q, &size));
  PetscCall(VecNorm(q, NORM_2, &length));
  PetscCall(MatGetInfo(W, MAT_LOCAL, &info));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %" PetscInt_FMT " unknowns, %.2g %% of W\n", kind, size, 100 * info.nz_used / size / size));
  PetscCall(VecDuplicate(q, &r));
  PetscCall(VecDuplicate(q, &f));
  PetscCall(SNESCreate(PETSC_COMM_SELF, &snes));
  PetscCall(SNESSetFunction(snes, f, Velocity, q));
  PetscCall(SNESSetJacobian(snes, W, W, Constant, NULL));
  PetscCall(SNESSetTolerances(snes, tol * length, 1e-50, 1e-50, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(PetscSNPrintf(text, sizeof(text), "%g", (double)mu));
  PetscCall(PetscOptionsSetValue(NULL, "-snes_type", "vipgs"));
  PetscCall(PetscOptionsSetValue(NULL, "-snes_vipgs_block", "3"));
  PetscCall(PetscOptionsSetValue(NULL, "-snes_vipgs_mu", text));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(PetscTime(&t0));
  PetscCall(SNESSolve(snes, NULL, r));
  PetscCall(PetscTime(&t1));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "vipgs: %s, %.3g s\n", SNESConvergedReasons[reason], t1 - t0));
  PetscCall(SNESView(snes, PETSC_VIEWER_STDOUT_SELF));
  if (seconds > 0) PetscCall(Textbook(W, q, mu, tol, seconds));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&q));
  PetscCall(MatDestroy(&W));
  PetscCall(PetscFinalize());
  return reason < 0;
}
