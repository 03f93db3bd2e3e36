static char help[] = "American puts: the right to sell at a price K at any time until T.\n\n"
                     "  V_t + L V >= 0,  V >= max(K - S, 0), complementary, t the time to expiry, L the operator of Black and Scholes in log S,\n"
                     "  or that of Heston in S and the variance v (-heston), whose mixed derivative makes a 9-point stencil\n\n"
                     "  -nx n  -nv n  -steps s   -at s1,s2,...  prices at which the value is printed   -expect v1,v2,...  -tolerance e\n"
                     "  -K -r -sigma -T   Black and Scholes     -kappa -theta -rho -v0   Heston, whose sigma is that of the variance\n"
                     "  -boundary f   writes t and the price below which one exercises, a line a step\n\n";
#include <petscdmda.h>
#include <petscsnes.h>

typedef struct {
  PetscBool heston;
  PetscInt  n[2];
  PetscReal K, r, sigma, T, kappa, theta, rho, v0, lo[2], h[2];
  DM        da;
  Mat       A, B; /* V is found from A V = B V_old */
  Vec       b;
} Option;

static PetscReal Price(const Option *o, PetscInt i) { return o->heston ? o->lo[0] + i * o->h[0] : PetscExpReal(o->lo[0] + i * o->h[0]); }

/* a[9]: coefficients of L at node i, j, with the neighbours at 3 (dj + 1) + di + 1. First derivatives are central where diffusion
   outweighs them, else taken from the side that they come from. */
static void Coefficients(const Option *o, PetscInt i, PetscInt j, PetscReal a[9])
{
  PetscReal d[2], c[2], mixed = 0;
  if (o->heston) {
    const PetscReal S = Price(o, i), v = o->lo[1] + j * o->h[1];
    d[0]  = 0.5 * v * S * S;
    d[1]  = 0.5 * o->sigma * o->sigma * v;
    c[0]  = o->r * S;
    c[1]  = o->kappa * (o->theta - v);
    mixed = o->rho * o->sigma * v * S / (4 * o->h[0] * o->h[1]);
  } else {
    d[0] = 0.5 * o->sigma * o->sigma;
    c[0] = o->r - d[0];
    d[1] = c[1] = 0;
  }
  for (int k = 0; k < 9; ++k) a[k] = 0;
  a[4] = o->r;
  for (int k = 0; k < (o->heston ? 2 : 1); ++k) {
    const int       step = k ? 3 : 1;
    const PetscReal D = d[k] / (o->h[k] * o->h[k]), C = c[k] / o->h[k];
    PetscReal       up = D, down = D;
    if (PetscAbsReal(C) <= 2 * D) up += C / 2, down -= C / 2;
    else if (C > 0) up += C;
    else down -= C;
    a[4 + step] -= up;
    a[4 - step] -= down;
    a[4] += up + down;
  }
  if (o->heston && j == o->n[1] - 1) { /* no flux through the largest variance */
    a[4] += a[7];
    a[7] = 0;
  } else if (o->heston && j > 0) {
    a[8] -= mixed, a[0] -= mixed;
    a[2] += mixed, a[6] += mixed;
  }
}

static PetscErrorCode Assemble(Option *o, PetscReal dt, PetscReal implicit)
{
  PetscInt xs, ys, xm, ym;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(o->da, &xs, &ys, NULL, &xm, &ym, NULL));
  if (!o->heston) ys = 0, ym = 1;
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i) {
      MatStencil  row = {0, j, i, 0}, col[9];
      PetscScalar a[9], b[9];
      PetscReal   l[9];
      PetscInt    n = 0;
      Coefficients(o, i, j, l);
      for (int k = 0; k < 9; ++k) {
        const PetscInt i2 = i + k % 3 - 1, j2 = j + k / 3 - 1;
        if (i2 < 0 || j2 < 0 || i2 >= o->n[0] || j2 >= o->n[1] || (l[k] == 0 && k != 4)) continue;
        if ((i == 0 || i == o->n[0] - 1) && k != 4) continue; /* the value at the ends is the payoff */
        col[n] = (MatStencil){0, j2, i2, 0};
        a[n]   = (k == 4 ? 1 / dt : 0) + implicit * l[k];
        b[n++] = (k == 4 ? 1 / dt : 0) - (1 - implicit) * l[k];
        if (i == 0 || i == o->n[0] - 1) a[n - 1] = b[n - 1] = 1 / dt;
      }
      PetscCall(MatSetValuesStencil(o->A, 1, &row, n, col, a, INSERT_VALUES));
      PetscCall(MatSetValuesStencil(o->B, 1, &row, n, col, b, INSERT_VALUES));
    }
  for (Mat *M[] = {&o->A, &o->B, NULL}, **p = M; *p; ++p) {
    PetscCall(MatAssemblyBegin(**p, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(**p, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode Function(SNES snes, Vec V, Vec f, void *ctx)
{
  Option *o = (Option *)ctx;
  PetscFunctionBeginUser;
  (void)snes;
  PetscCall(MatMult(o->A, V, f));
  PetscCall(VecAXPY(f, -1, o->b));
  PetscFunctionReturn(0);
}
static PetscErrorCode Jacobian(SNES snes, Vec V, Mat A, Mat B, void *ctx)
{
  PetscFunctionBeginUser; /* the step has assembled it */
  (void)snes;
  (void)V;
  (void)A;
  (void)B;
  (void)ctx;
  PetscFunctionReturn(0);
}

/* The value at price S, and at variance v0: cubic in S, linear in v. On one process the vector is gathered. */
static PetscErrorCode Value(Option *o, const PetscScalar *V, PetscReal S, PetscReal *value)
{
  const PetscReal x = ((o->heston ? S : PetscLogReal(S)) - o->lo[0]) / o->h[0], y = o->heston ? (o->v0 - o->lo[1]) / o->h[1] : 0;
  const PetscInt  i = PetscMax(1, PetscMin(o->n[0] - 3, (PetscInt)x)), j = PetscMin(PetscMax(0, o->n[1] - 2), (PetscInt)y);
  const PetscReal t = x - i, w[4] = {-t * (t - 1) * (t - 2) / 6, (t + 1) * (t - 1) * (t - 2) / 2, -(t + 1) * t * (t - 2) / 2, (t + 1) * t * (t - 1) / 6};

  PetscFunctionBeginUser;
  *value = 0;
  for (int q = 0; q < (o->heston ? 2 : 1); ++q)
    for (int k = 0; k < 4; ++k) *value += w[k] * (o->heston ? (q ? y - j : 1 - y + j) : 1) * V[i - 1 + k + o->n[0] * (j + q)];
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Option              o = {PETSC_FALSE, {1001, 1}, 40, 0.06, 0.4, 1, 5, 0.16, 0.1, 0.0625, {0, 0}, {1, 1}, NULL, NULL, NULL, NULL};
  PetscInt            steps = 200, count = 5, expected = 0, cycles, all = 0, worst = 0;
  PetscReal           at[16] = {36, 38, 40, 42, 44}, expect[16], tolerance = 1e-3;
  PetscBool           set;
  SNES                snes;
  Vec                 V, payoff, upper, f, natural, here;
  VecScatter          gather;
  SNESConvergedReason reason;
  char                file[PETSC_MAX_PATH_LEN];
  FILE               *out = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-heston", &o.heston, NULL));
  if (o.heston) {
    o.K = 10, o.r = 0.1, o.sigma = 0.9, o.T = 0.25, o.n[0] = 321, o.n[1] = 161, steps = 100;
    for (int k = 0; k < 5; ++k) at[k] = 8 + k;
  }
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-nx", &o.n[0], NULL));
  if (o.heston) PetscCall(PetscOptionsGetInt(NULL, NULL, "-nv", &o.n[1], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  for (struct { const char *name; PetscReal *v; } p[] = {{"-K", &o.K}, {"-r", &o.r}, {"-sigma", &o.sigma}, {"-T", &o.T}, {"-kappa", &o.kappa}, {"-theta", &o.theta}, {"-rho", &o.rho}, {"-v0", &o.v0}, {"-tolerance", &tolerance}, {NULL, NULL}}, *q = p; q->name; ++q) PetscCall(PetscOptionsGetReal(NULL, NULL, q->name, q->v, NULL));
  PetscInt given = 16;
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-at", at, &given, &set));
  if (set) count = given;
  given = 16;
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-expect", expect, &given, &set));
  if (set) expected = given;
  PetscCheck(o.n[0] >= 5 && steps > 3 && (!o.heston || o.n[1] >= 5), PETSC_COMM_WORLD, PETSC_ERR_USER, "at least 5 nodes per direction and 4 steps");
  PetscCheck(o.v0 >= 0 && o.v0 <= 1, PETSC_COMM_WORLD, PETSC_ERR_USER, "the variance -v0 is between 0 and 1, the end of the grid");
  if (o.heston) {
    o.lo[0] = 0, o.h[0] = 4 * o.K / (o.n[0] - 1);
    o.lo[1] = 0, o.h[1] = 1. / (o.n[1] - 1);
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, o.n[0], o.n[1], PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &o.da));
  } else {
    const PetscReal width = 5 * o.sigma * PetscSqrtReal(o.T);
    o.lo[0] = PetscLogReal(o.K) - width, o.h[0] = 2 * width / (o.n[0] - 1);
    PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, o.n[0], 1, 1, NULL, &o.da));
  }
  PetscCall(DMSetUp(o.da));
  PetscCall(DMCreateMatrix(o.da, &o.A));
  PetscCall(DMCreateMatrix(o.da, &o.B));
  PetscCall(DMCreateGlobalVector(o.da, &V));
  for (Vec *w[] = {&payoff, &upper, &f, &o.b, NULL}, **p = w; *p; ++p) PetscCall(VecDuplicate(V, *p));
  {
    PetscInt     xs, ys, xm, ym, k = 0;
    PetscScalar *a;
    PetscCall(DMDAGetCorners(o.da, &xs, &ys, NULL, &xm, &ym, NULL));
    PetscCall(VecGetArray(payoff, &a));
    for (PetscInt j = ys; j < ys + ym; ++j)
      for (PetscInt i = xs; i < xs + xm; ++i) a[k++] = PetscMax(o.K - Price(&o, i), 0);
    PetscCall(VecRestoreArray(payoff, &a));
  }
  PetscCall(VecCopy(payoff, V));
  PetscCall(VecSet(upper, PETSC_INFINITY));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, o.da));
  PetscCall(SNESSetFunction(snes, f, Function, &o));
  PetscCall(SNESSetJacobian(snes, o.A, o.A, Jacobian, &o));
  PetscCall(SNESSetTolerances(snes, 1e-12, 1e-8, 0, 50, 100000));
  PetscCall(SNESSetType(snes, SNESVINEWTONRSLS));
  PetscCall(SNESSetFromOptions(snes)); /* -snes_type vipmg */
  PetscCall(SNESVISetVariableBounds(snes, payoff, upper));
  PetscCall(DMDACreateNaturalVector(o.da, &natural));
  PetscCall(VecScatterCreateToAll(natural, &gather, &here));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-boundary", file, sizeof(file), &set));
  if (set) PetscCall(PetscFOpen(PETSC_COMM_WORLD, file, "w", &out));
  const PetscScalar *v;
  for (PetscInt step = 0; step < steps; ++step) {
    /* Four implicit half steps smooth the corner of the payoff, then Crank and Nicolson */
    const PetscReal dt = o.T / (steps - 2), length = step < 4 ? dt / 2 : dt;
    if (step == 0 || step == 4) PetscCall(Assemble(&o, length, step < 4 ? 1 : 0.5));
    PetscCall(MatMult(o.B, V, o.b));
    PetscCall(SNESSolve(snes, NULL, V));
    PetscCall(SNESGetConvergedReason(snes, &reason));
    PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "step %" PetscInt_FMT ": %s", step, SNESConvergedReasons[reason]);
    PetscCall(SNESGetLinearSolveIterations(snes, &cycles));
    worst = PetscMax(worst, cycles);
    all += cycles;
    if (!out && step + 1 < steps) continue;
    PetscCall(DMDAGlobalToNaturalBegin(o.da, V, INSERT_VALUES, natural));
    PetscCall(DMDAGlobalToNaturalEnd(o.da, V, INSERT_VALUES, natural));
    PetscCall(VecScatterBegin(gather, natural, here, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(gather, natural, here, INSERT_VALUES, SCATTER_FORWARD));
    if (!out) continue;
    const PetscInt j = o.heston ? (PetscInt)(o.v0 / o.h[1] + 0.5) : 0;
    PetscInt       i = 0;
    PetscCall(VecGetArrayRead(here, &v));
    while (i + 1 < o.n[0] && v[i + o.n[0] * j] <= o.K - Price(&o, i) + 1e-9) ++i;
    PetscCall(VecRestoreArrayRead(here, &v));
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, out, "%g %g\n", (double)((step < 4 ? (step + 1) * 0.5 : step - 1) * dt), (double)Price(&o, PetscMax(0, i - 1))));
  }
  if (out) PetscCall(PetscFClose(PETSC_COMM_WORLD, out));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " x %" PetscInt_FMT " nodes, %" PetscInt_FMT " steps, %.2f linear iterations per step, at most %" PetscInt_FMT "\n", o.n[0], o.n[1], steps, (double)all / steps, worst));
  PetscCall(VecGetArrayRead(here, &v));
  PetscInt wrong = 0;
  for (PetscInt k = 0; k < count; ++k) {
    PetscReal value;
    PetscCall(Value(&o, v, at[k], &value));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "V(%g) = %.5f\n", (double)at[k], (double)value));
    wrong += k < expected && PetscAbsReal(value - expect[k]) > tolerance;
  }
  PetscCall(VecRestoreArrayRead(here, &v));
  PetscCheck(!wrong, PETSC_COMM_WORLD, PETSC_ERR_USER, "%" PetscInt_FMT " values differ from what was expected by more than %g", wrong, (double)tolerance);
  PetscCall(VecScatterDestroy(&gather));
  for (Vec *w[] = {&V, &payoff, &upper, &f, &o.b, &natural, &here, NULL}, **p = w; *p; ++p) PetscCall(VecDestroy(*p));
  PetscCall(MatDestroy(&o.A));
  PetscCall(MatDestroy(&o.B));
  PetscCall(SNESDestroy(&snes));
  PetscCall(DMDestroy(&o.da));
  PetscCall(PetscFinalize());
  return 0;
}
