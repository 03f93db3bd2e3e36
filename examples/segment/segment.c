static char help[] = "Segmentation of a picture by a level set with a constraint: Klement, Oberhuber and Sevcovic, arXiv:1105.1429.\n\n"
                     "  u_t <= Q div(g grad u / Q),  u <= v,  Q = sqrt(eps^2 + |grad u|^2),  g = 1 / (1 + K |grad I|^2)\n\n"
                     "The zero level of u moves to the edges of the picture I and stays around the part that is marked as inside, where v < 0.\n"
                     "Every step is a linear complementarity problem with a symmetric M-matrix and an upper bound.\n\n"
                     "  -image f            PETSc vector of n x n intensities in [0, 1] (./image makes one)   -n n\n"
                     "  -circle x,y,r       the first contour, in units of the picture        -inside x,y,r  a disc that is inside\n"
                     "  -steps s  -time T   -K k  -eps e   -unit w   lengths of |grad I| are 1/w of the picture   -blur s  pixels\n"
                     "  -output f           the last u, as a vector                           -most c  fail above c cycles a step\n\n";
/*
  Co-volumes: pixel i with |p_i| = h^2, its face f to neighbour j. Q at a face from the differences across and along it, of the step before:

    h^2 / (tau Q_i) (u_i - u_i^old) - sum_f g_f / Q_f (u_j - u_i)  <= 0,  u <= v,  complementary
*/
#include <petscdmda.h>
#include <petscsnes.h>

typedef struct {
  PetscInt  n;
  PetscReal eps, K, unit, tau;
  DM        da;
  Mat       A;
  Vec       b, g; /* g at pixels */
} Segment;

static PetscErrorCode Function(SNES snes, Vec u, Vec f, void *ctx)
{
  Segment *s = (Segment *)ctx;

  PetscFunctionBeginUser;
  (void)snes;
  PetscCall(MatMult(s->A, u, f));
  PetscCall(VecAXPY(f, -1, s->b));
  PetscFunctionReturn(0);
}

static PetscErrorCode Jacobian(SNES snes, Vec u, Mat A, Mat B, void *ctx)
{
  PetscFunctionBeginUser; /* the step has assembled it */
  (void)snes;
  (void)u;
  (void)A;
  (void)B;
  (void)ctx;
  PetscFunctionReturn(0);
}

#define AT(a, i, j) (a)[PetscMax(0, PetscMin(n - 1, j))][PetscMax(0, PetscMin(n - 1, i))] /* mirrored at the edges: Neumann */

/* Passes of the weights 1/4, 1/2, 1/4 along both directions have the variance 1/2 each. */
static PetscErrorCode Blur(Segment *s, Vec picture, PetscInt passes)
{
  const PetscInt n = s->n;
  PetscInt       xs, ys, xm, ym;
  PetscScalar  **a, **o;
  Vec            L;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(s->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMGetLocalVector(s->da, &L));
  for (PetscInt k = 0; k < passes; ++k) {
    PetscCall(DMGlobalToLocal(s->da, picture, INSERT_VALUES, L));
    PetscCall(DMDAVecGetArrayRead(s->da, L, &a));
    PetscCall(DMDAVecGetArray(s->da, picture, &o));
    for (PetscInt j = ys; j < ys + ym; ++j)
      for (PetscInt i = xs; i < xs + xm; ++i) {
        PetscScalar sum = 0;
        for (PetscInt q = -1; q <= 1; ++q)
          for (PetscInt p = -1; p <= 1; ++p) sum += (p ? 0.25 : 0.5) * (q ? 0.25 : 0.5) * AT(a, i + p, j + q);
        o[j][i] = sum;
      }
    PetscCall(DMDAVecRestoreArray(s->da, picture, &o));
    PetscCall(DMDAVecRestoreArrayRead(s->da, L, &a));
  }
  PetscCall(DMRestoreLocalVector(s->da, &L));
  PetscFunctionReturn(0);
}

static PetscErrorCode EdgeDetector(Segment *s, Vec picture)
{
  const PetscInt  n = s->n;
  const PetscReal scale = 0.5 * n / s->unit;
  PetscInt        xs, ys, xm, ym;
  PetscScalar   **a, **g;
  Vec             L;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(s->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMGetLocalVector(s->da, &L));
  PetscCall(DMGlobalToLocal(s->da, picture, INSERT_VALUES, L));
  PetscCall(DMDAVecGetArrayRead(s->da, L, &a));
  PetscCall(DMDAVecGetArray(s->da, s->g, &g));
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i) {
      const PetscReal dx = scale * (AT(a, i + 1, j) - AT(a, i - 1, j)), dy = scale * (AT(a, i, j + 1) - AT(a, i, j - 1));
      g[j][i] = 1 / (1 + s->K * (dx * dx + dy * dy));
    }
  PetscCall(DMDAVecRestoreArray(s->da, s->g, &g));
  PetscCall(DMDAVecRestoreArrayRead(s->da, L, &a));
  PetscCall(DMRestoreLocalVector(s->da, &L));
  PetscFunctionReturn(0);
}

/* The matrix and right-hand side of the step from u. */
static PetscErrorCode Assemble(Segment *s, Vec u)
{
  const PetscInt  n = s->n, di[4] = {1, -1, 0, 0}, dj[4] = {0, 0, 1, -1};
  const PetscReal h = 1. / n;
  PetscInt        xs, ys, xm, ym;
  PetscScalar   **a, **g, **b;
  Vec             U, G;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(s->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMGetLocalVector(s->da, &U));
  PetscCall(DMGetLocalVector(s->da, &G));
  PetscCall(DMGlobalToLocal(s->da, u, INSERT_VALUES, U));
  PetscCall(DMGlobalToLocal(s->da, s->g, INSERT_VALUES, G));
  PetscCall(DMDAVecGetArrayRead(s->da, U, &a));
  PetscCall(DMDAVecGetArrayRead(s->da, G, &g));
  PetscCall(DMDAVecGetArray(s->da, s->b, &b));
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i) {
      MatStencil  row = {0, j, i, 0}, col[5];
      PetscScalar v[5];
      PetscInt    count = 1;
      PetscReal   Q = 0;
      v[0]   = 0;
      col[0] = row;
      for (PetscInt k = 0; k < 4; ++k) {
        const PetscInt  i2 = i + di[k], j2 = j + dj[k];
        const PetscReal across = (AT(a, i2, j2) - a[j][i]) / h;
        const PetscReal along  = (AT(a, i + dj[k], j + di[k]) + AT(a, i2 + dj[k], j2 + di[k]) - AT(a, i - dj[k], j - di[k]) - AT(a, i2 - dj[k], j2 - di[k])) / (4 * h);
        const PetscReal q      = PetscSqrtReal(s->eps * s->eps + across * across + along * along);
        Q += q / 4;
        if (i2 < 0 || j2 < 0 || i2 >= n || j2 >= n) continue;
        const PetscReal w = 0.5 * (g[j][i] + g[j2][i2]) / q;
        col[count] = (MatStencil){0, j2, i2, 0};
        v[count++] = -w;
        v[0] += w;
      }
      const PetscReal mass = h * h / (s->tau * Q);
      v[0] += mass;
      b[j][i] = mass * a[j][i];
      PetscCall(MatSetValuesStencil(s->A, 1, &row, count, col, v, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(s->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(s->A, MAT_FINAL_ASSEMBLY));
  PetscCall(DMDAVecRestoreArray(s->da, s->b, &b));
  PetscCall(DMDAVecRestoreArrayRead(s->da, G, &g));
  PetscCall(DMDAVecRestoreArrayRead(s->da, U, &a));
  PetscCall(DMRestoreLocalVector(s->da, &G));
  PetscCall(DMRestoreLocalVector(s->da, &U));
  PetscFunctionReturn(0);
}

/* A cone with slope 4, cut at +-1, whose zero level is the circle; for the constraint: 1 outside the disc. */
static PetscErrorCode Circle(Segment *s, const PetscReal c[3], PetscBool bound, Vec u)
{
  PetscInt      xs, ys, xm, ym;
  PetscScalar **a;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(s->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArray(s->da, u, &a));
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i) {
      const PetscReal r = PetscSqrtReal(PetscSqr((i + 0.5) / s->n - c[0]) + PetscSqr((j + 0.5) / s->n - c[1])) - c[2];
      a[j][i] = bound ? (r < 0 ? PetscMax(-1, 4 * r - 0.1) : 1) : PetscMax(-1, PetscMin(1, 4 * r));
    }
  PetscCall(DMDAVecRestoreArray(s->da, u, &a));
  PetscFunctionReturn(0);
}

static PetscErrorCode Count(Vec u, Vec v, PetscReal *inside, PetscReal *active)
{
  const PetscScalar *a, *b;
  PetscInt           m, N;
  PetscReal          mine[2] = {0, 0}, all[2];

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(u, &m));
  PetscCall(VecGetSize(u, &N));
  PetscCall(VecGetArrayRead(u, &a));
  PetscCall(VecGetArrayRead(v, &b));
  for (PetscInt i = 0; i < m; ++i) mine[0] += a[i] < 0, mine[1] += a[i] >= b[i];
  PetscCall(VecRestoreArrayRead(u, &a));
  PetscCall(VecRestoreArrayRead(v, &b));
  PetscCallMPI(MPI_Allreduce(mine, all, 2, MPIU_REAL, MPI_SUM, PETSC_COMM_WORLD));
  *inside = all[0] / N;
  *active = all[1] / N;
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Segment             s = {256, 1, 10, 16, 0, NULL, NULL, NULL, NULL};
  SNES                snes;
  Vec                 u, lower, v, picture, natural;
  PetscInt            steps = 100, k = 3, most = 0, cycles, worst = 0, all = 0;
  PetscReal           T = 0.02, circle[3] = {0.5, 0.5, 0.45}, inner[3] = {0.5, 0.5, 0.05}, blur = 1, inside, active;
  PetscLogDouble      start, end, solving = 0;
  char                file[PETSC_MAX_PATH_LEN];
  PetscBool           set;
  PetscViewer         viewer;
  SNESConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &s.n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-time", &T, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-eps", &s.eps, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-K", &s.K, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-unit", &s.unit, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-blur", &blur, NULL));
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-circle", circle, &k, &set));
  PetscCheck(!set || k == 3, PETSC_COMM_WORLD, PETSC_ERR_USER, "-circle takes x,y,r");
  k = 3;
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-inside", inner, &k, &set));
  PetscCheck(!set || k == 3, PETSC_COMM_WORLD, PETSC_ERR_USER, "-inside takes x,y,r");
  PetscCheck(steps > 0 && T > 0, PETSC_COMM_WORLD, PETSC_ERR_USER, "-steps and -time are positive numbers");
  PetscCall(PetscOptionsGetString(NULL, NULL, "-image", file, sizeof(file), &set));
  PetscCheck(set, PETSC_COMM_WORLD, PETSC_ERR_USER, "-image names the picture: ./image makes one from a PNG or an MRI slice");
  s.tau = T / steps;

  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, s.n, s.n, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &s.da));
  PetscCall(DMSetFromOptions(s.da));
  PetscCall(DMSetUp(s.da));
  PetscCall(DMCreateGlobalVector(s.da, &u));
  for (Vec *w[] = {&lower, &v, &picture, &s.b, &s.g, NULL}, **p = w; *p; ++p) PetscCall(VecDuplicate(u, *p));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
  PetscCall(VecLoad(picture, viewer)); /* in natural order, as DMDA vectors are in files */
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(Blur(&s, picture, (PetscInt)(2 * blur * blur + 0.5)));
  PetscCall(EdgeDetector(&s, picture));
  { /* the matrix has five points */
    DM star;
    PetscInt mx, my;
    const PetscInt *lx, *ly;
    PetscCall(DMDAGetInfo(s.da, NULL, NULL, NULL, NULL, &mx, &my, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    PetscCall(DMDAGetOwnershipRanges(s.da, &lx, &ly, NULL));
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, s.n, s.n, mx, my, 1, 1, lx, ly, &star));
    PetscCall(DMSetUp(star));
    PetscCall(DMCreateMatrix(star, &s.A));
    PetscCall(DMDestroy(&star));
  }
  PetscCall(Circle(&s, circle, PETSC_FALSE, u));
  PetscCall(Circle(&s, inner, PETSC_TRUE, v));
  PetscCall(VecSet(lower, PETSC_NINFINITY));

  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, s.da));
  PetscCall(VecDuplicate(u, &natural));
  PetscCall(SNESSetFunction(snes, natural, Function, &s));
  PetscCall(SNESSetJacobian(snes, s.A, s.A, Jacobian, &s));
  PetscCall(SNESSetTolerances(snes, 1e-12, 1e-4, 0, 50, 10000));
  PetscCall(SNESSetType(snes, SNESVINEWTONRSLS));
  PetscCall(SNESSetFromOptions(snes)); /* -snes_type vipmg */
  PetscCall(SNESVISetVariableBounds(snes, lower, v));
  for (PetscInt step = 1; step <= steps; ++step) {
    PetscCall(Assemble(&s, u));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&start));
    PetscCall(SNESSolve(snes, NULL, u));
    PetscCall(PetscTime(&end));
    solving += end - start;
    PetscCall(SNESGetConvergedReason(snes, &reason));
    PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "step %" PetscInt_FMT ": %s", step, SNESConvergedReasons[reason]);
    PetscCall(SNESGetLinearSolveIterations(snes, &cycles));
    worst = PetscMax(worst, cycles);
    all += cycles;
    PetscCall(Count(u, v, &inside, &active));
    if (step % PetscMax(1, steps / 10) == 0 || step == steps) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "step %4" PetscInt_FMT "  time %.4f  linear iterations %2" PetscInt_FMT "  active %.3f %%  inside %.3f %%\n", step, (double)(step * s.tau), cycles, (double)(100 * active), (double)(100 * inside)));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT "^2 pixels, %" PetscInt_FMT " steps: solving took %.3f s, %.2f linear iterations a step, at most %" PetscInt_FMT "\n", s.n, steps, solving, (double)all / steps, worst));
  PetscCheck(!most || worst <= most, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "%" PetscInt_FMT " linear iterations in a step, more than -most %" PetscInt_FMT, worst, most);
  PetscCall(PetscOptionsGetString(NULL, NULL, "-output", file, sizeof(file), &set));
  if (set) {
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_WRITE, &viewer));
    PetscCall(VecView(u, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
  }
  for (Vec *w[] = {&u, &lower, &v, &picture, &s.b, &s.g, &natural, NULL}, **p = w; *p; ++p) PetscCall(VecDestroy(*p));
  PetscCall(MatDestroy(&s.A));
  PetscCall(SNESDestroy(&snes));
  PetscCall(DMDestroy(&s.da));
  PetscCall(PetscFinalize());
  return 0;
}
