static char help[] =
  "Glaciers on a bed: the thickness of shallow ice, steady or in time, as a variational inequality.\n\n"
  "  H_t + div q - m >= 0,  H >= 0,  one of both an equality,   q = -Gamma H^(n+2) |grad s|^(n-1) grad s,  s = bed + H\n\n"
  "  -bed f.bin       heights in metres, a raster of raster2petsc; without one ice lies on a plane, where the exact\n"
  "                   steady thickness is known\n"
  "  -line h          above this height snow stays (m)      -gradient g   what it gains a year and metre above (1/a)\n"
  "  -snow m          the most that stays of a year (m)\n"
  "  -steps k -years t   k implicit steps of t years from bare ground; without -steps: the steady state, from\n"
  "  -start t         the snow of t years\n"
  "  -limit h         an iteration makes ice twice as thick at most, or h metres: some more than it will be\n"
  "  -da_grid_x, -da_grid_y, -da_refine, -snes_grid_sequence    the grid, and a sequence for the steady state\n"
  "  -output f.bin    thickness and bed, PETSc vectors for `plot`\n"
  "  -most its        fail where the last grid, or a step, takes more iterations\n\n";
/*
  With u = H^((2 n + 2) / n) and p = H^((n + 2) / n) the flux is that of a p-Laplacian with a tilt, after Jouvet and
  Bueler, SIAM J. Appl. Math. 72 (2012):

    q = -Gamma |w|^(n-1) w,   w = n / (2 n + 2) grad u + p grad bed

  The steady problem is solved for u, of which the flux is of degree 3, not 8 as of H: Newton's method then comes from
  thick ice by 2/3 an iteration, not by 7/8. A step of time, whose H_t is steep in u at zero, is solved for H.

  Finite differences: w in the middle of two nodes from the difference along their edge and the mean of four across;
  p is that of the node whose bed is the higher one, so that none flows out of empty nodes and the diagonal of the
  Jacobian stays positive. Ice that reaches the sea breaks off: at nodes below it, and at the edge of the map, the upper
  bound is zero, too.

  On a plane: Bueler, J. Glaciol. 49 (2003), gives the balance m for which the steady thickness is a known dome.
*/
#include <petscdmda.h>
#include <petscsnes.h>
#include <petsctime.h>

typedef struct {
  PetscReal  gamma, n, soft, thin;  /* of the flux; soft and thin keep its derivatives finite */
  PetscReal  power;                 /* the unknown is H^power */
  PetscReal  line, gradient, snow;  /* of the balance */
  PetscReal  size[2], radius, dome; /* of the map; of the dome */
  PetscReal  limit;                 /* of what a step makes of bare ground */
  PetscReal  years;                 /* of a step; 0: steady */
  PetscReal *height, dx[2];         /* of the raster */
  PetscInt   rows, columns;
  Vec        before;                /* thickness before the step */
} Ice;

/* --- bed and balance --- */

/* Catmull and Rom's cubic through four values, in the middle part */
static PetscReal Cubic(const PetscReal v[4], PetscReal t)
{
  return v[1] + 0.5 * t * (v[2] - v[0] + t * (2 * v[0] - 5 * v[1] + 4 * v[2] - v[3] + t * (3 * (v[1] - v[2]) + v[3] - v[0])));
}
static PetscReal Bed(const Ice *ice, PetscReal x, PetscReal y)
{
  if (!ice->height) return 0;
  const PetscReal u = x / ice->dx[0], v = y / ice->dx[1];
  const PetscInt  i = (PetscInt)PetscMin(u, ice->columns - 2), j = (PetscInt)PetscMin(v, ice->rows - 2);
  PetscReal       along[4], across[4];
  for (PetscInt b = 0; b < 4; ++b) {
    const PetscInt row = PetscMax(0, PetscMin(ice->rows - 1, j + b - 1));
    for (PetscInt a = 0; a < 4; ++a)
      along[a] = ice->height[row * ice->columns + PetscMax(0, PetscMin(ice->columns - 1, i + a - 1))];
    across[b] = Cubic(along, u - i);
  }
  return Cubic(across, v - j);
}
static PetscReal Radius(const Ice *ice, PetscReal x, PetscReal y)
{
  return PetscSqrtReal(PetscSqr(x - 0.5 * ice->size[0]) + PetscSqr(y - 0.5 * ice->size[1])) / ice->radius;
}
static PetscReal Dome(const Ice *ice, PetscReal r)
{
  const PetscReal n = ice->n, p = n / (2 * n + 2);
  if (r >= 1) return 0;
  return ice->dome * PetscPowReal(1 - 1 / n, -p) *
         PetscPowReal((1 + 1 / n) * r - 1 / n + PetscPowReal(1 - r, 1 + 1 / n) - PetscPowReal(r, 1 + 1 / n), p);
}
static PetscReal Balance(const Ice *ice, PetscReal x, PetscReal y, PetscReal bed)
{
  const PetscReal n = ice->n;
  if (ice->height) return PetscMin(ice->snow, ice->gradient * (bed - ice->line));
  const PetscReal r = PetscMin(0.99, PetscMax(0.01, Radius(ice, x, y))), c = PetscPowReal(r, 1 / n) + PetscPowReal(1 - r, 1 / n) - 1;
  return ice->gamma * PetscPowReal(ice->dome, 2 * n + 2) / (ice->radius * PetscPowReal(2 * ice->radius * (1 - 1 / n), n)) / r *
         PetscPowReal(c, n - 1) * (2 * PetscPowReal(r, 1 / n) + PetscPowReal(1 - r, 1 / n - 1) * (1 - 2 * r) - 1);
}

/* Bed and balance at the nodes of a grid, ghosts included, found once; a node where no ice can be: balance NaN */
static PetscErrorCode Ground(const Ice *ice, DM da, Vec *bed, Vec *balance)
{
  PetscInt      mx, my, xs, ys, xm, ym;
  PetscScalar **b, **m;

  PetscFunctionBeginUser;
  PetscCall(PetscObjectQuery((PetscObject)da, "bed", (PetscObject *)bed));
  PetscCall(PetscObjectQuery((PetscObject)da, "balance", (PetscObject *)balance));
  if (*bed) PetscFunctionReturn(0);
  PetscCall(DMDAGetInfo(da, NULL, &mx, &my, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetGhostCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, xm * ym, bed)); /* not the DM's own: those refer to it */
  PetscCall(VecDuplicate(*bed, balance));
  PetscCall(DMDAVecGetArray(da, *bed, &b));
  PetscCall(DMDAVecGetArray(da, *balance, &m));
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i) {
      const PetscReal x = i * ice->size[0] / (mx - 1), y = j * ice->size[1] / (my - 1);
      const PetscBool edge = i == 0 || j == 0 || i == mx - 1 || j == my - 1 ? PETSC_TRUE : PETSC_FALSE;
      b[j][i] = Bed(ice, x, y);
      m[j][i] = edge || b[j][i] < 0 ? NAN : Balance(ice, x, y, b[j][i]);
      b[j][i] = PetscMax(0, b[j][i]); /* where the sea is, its surface */
    }
  PetscCall(DMDAVecRestoreArray(da, *balance, &m));
  PetscCall(DMDAVecRestoreArray(da, *bed, &b));
  PetscCall(PetscObjectCompose((PetscObject)da, "bed", (PetscObject)*bed));
  PetscCall(PetscObjectCompose((PetscObject)da, "balance", (PetscObject)*balance));
  PetscCall(PetscObjectDereference((PetscObject)*bed)); /* the DM has them */
  PetscCall(PetscObjectDereference((PetscObject)*balance));
  PetscFunctionReturn(0);
}

/* --- the flux --- */

/* u = H^((2 n + 2) / n) of the unknown x at a node, and its derivative */
static PetscReal Power(const Ice *ice, PetscReal x, PetscReal *slope)
{
  const PetscReal q = (2 * ice->n + 2) / ice->n / ice->power;
  *slope = 1;
  if (ice->years <= 0) return x; /* it is u */
  const PetscReal low = PetscPowReal(PetscMax(x, 0), q - 1);
  *slope = q * low;
  return low * x;
}
/* p = H^((n + 2) / n) of u, with a finite slope at zero */
static PetscReal Tilt(const Ice *ice, PetscReal u, PetscReal *slope)
{
  const PetscReal k = (ice->n + 2) / (2 * ice->n + 2), e = ice->thin, low = PetscPowReal(PetscMax(u, 0) + e, k - 1);
  *slope = k * low;
  return low * (PetscMax(u, 0) + e) - PetscPowReal(e, k - 1) * e; /* none without ice, to the last digit */
}

/* Through the side between node (i, j) and the next along d, times its length over the cell's area: -Gamma |w|^(n-1) w,
   w = n / (2 n + 2) grad u + p grad bed. If there are slopes: its derivatives by the unknowns at the nodes at[0..5]: the
   two, those before, those behind. */
static PetscReal Flux(const Ice *ice, PetscScalar **H, PetscScalar **b, PetscInt i, PetscInt j, PetscInt d, const PetscReal h[2], PetscReal *slopes, PetscInt at[6][2])
{
  const PetscInt  di = d == 0, dj = d == 1;
  const PetscInt  nodes[6][2] = {{i, j}, {i + di, j + dj}, {i - dj, j - di}, {i + di - dj, j + dj - di}, {i + dj, j + di}, {i + di + dj, j + dj + di}};
  PetscReal       u[6], du[6], z[6], dp;
  for (int k = 0; k < 6; ++k) {
    z[k] = b[nodes[k][1]][nodes[k][0]];
    u[k] = Power(ice, H[nodes[k][1]][nodes[k][0]], &du[k]);
  }
  const PetscReal c = ice->n / (2 * ice->n + 2), c1 = c / h[d], c2 = c / (4 * h[1 - d]);
  const PetscReal b1 = (z[1] - z[0]) / h[d], b2 = (z[4] + z[5] - z[2] - z[3]) / (4 * h[1 - d]);
  const int       from = b1 > 0; /* the node with the higher bed */
  const PetscReal p = Tilt(ice, u[from], &dp);
  const PetscReal w1 = c1 * (u[1] - u[0]) + p * b1, w2 = c2 * (u[4] + u[5] - u[2] - u[3]) + p * b2;
  const PetscReal g = w1 * w1 + w2 * w2 + ice->soft * ice->soft, steep = PetscPowReal(g, 0.5 * (ice->n - 3)), f = -ice->gamma / h[d];
  if (slopes) {
    const PetscReal by1 = f * steep * (g + (ice->n - 1) * w1 * w1), by2 = f * steep * (ice->n - 1) * w1 * w2;
    const PetscReal all[6] = {-c1 * by1, c1 * by1, -c2 * by2, -c2 * by2, c2 * by2, c2 * by2};
    for (int k = 0; k < 6; ++k) slopes[k] = all[k] * du[k], at[k][0] = nodes[k][0], at[k][1] = nodes[k][1];
    slopes[from] += du[from] * dp * (by1 * b1 + by2 * b2);
  }
  return f * steep * g * w1;
}

/* The norm of F is then the mean over the map, in metres a year */
static PetscReal Weight(PetscInt mx, PetscInt my)
{
  return 1 / PetscSqrtReal((PetscReal)mx * my);
}

static PetscErrorCode Function(SNES snes, Vec X, Vec F, void *ctx)
{
  Ice          *ice = (Ice *)ctx;
  DM            da;
  Vec           L, bed, balance;
  PetscInt      mx, my, xs, ys, xm, ym;
  PetscScalar **H, **f, **b, **m, **old = NULL;

  PetscFunctionBeginUser;
  PetscCall(SNESGetDM(snes, &da));
  PetscCall(Ground(ice, da, &bed, &balance));
  PetscCall(DMDAGetInfo(da, NULL, &mx, &my, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMGetLocalVector(da, &L));
  PetscCall(DMGlobalToLocal(da, X, INSERT_VALUES, L));
  PetscCall(DMDAVecGetArrayRead(da, L, &H));
  PetscCall(DMDAVecGetArrayRead(da, bed, &b));
  PetscCall(DMDAVecGetArrayRead(da, balance, &m));
  if (ice->years > 0) PetscCall(DMDAVecGetArrayRead(da, ice->before, &old));
  PetscCall(DMDAVecGetArray(da, F, &f));
  const PetscReal h[2] = {ice->size[0] / (mx - 1), ice->size[1] / (my - 1)}, w = Weight(mx, my);
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i)
      f[j][i] = PetscIsNanReal(m[j][i]) ? H[j][i] : w * (-m[j][i] + (old ? (H[j][i] - old[j][i]) / ice->years : 0));
  for (PetscInt d = 0; d < 2; ++d) /* each side once */
    for (PetscInt j = PetscMax(ys - (d == 1), 1 - (d == 1)); j < PetscMin(ys + ym, my - 1); ++j)
      for (PetscInt i = PetscMax(xs - (d == 0), 1 - (d == 0)); i < PetscMin(xs + xm, mx - 1); ++i) {
        const PetscInt  p = i + (d == 0), r = j + (d == 1);
        const PetscReal q = w * Flux(ice, H, b, i, j, d, h, NULL, NULL);
        if (i >= xs && j >= ys && !PetscIsNanReal(m[j][i])) f[j][i] += q;
        if (p < xs + xm && r < ys + ym && !PetscIsNanReal(m[r][p])) f[r][p] -= q;
      }
  PetscCall(PetscLogFlops(2. * xm * ym * 40));
  PetscCall(DMDAVecRestoreArray(da, F, &f));
  if (ice->years > 0) PetscCall(DMDAVecRestoreArrayRead(da, ice->before, &old));
  PetscCall(DMDAVecRestoreArrayRead(da, balance, &m));
  PetscCall(DMDAVecRestoreArrayRead(da, bed, &b));
  PetscCall(DMDAVecRestoreArrayRead(da, L, &H));
  PetscCall(DMRestoreLocalVector(da, &L));
  PetscFunctionReturn(0);
}

/* The entries of a node's row are summed here: a side has six nodes, a row nine */
static PetscErrorCode Row(const Ice *ice, PetscScalar **H, PetscScalar **b, PetscInt i, PetscInt j, const PetscReal h[2], PetscScalar v[9])
{
  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < 9; ++k) v[k] = 0;
  v[4] = ice->years > 0 ? 1 / ice->years : 0;
  for (PetscInt d = 0; d < 2; ++d)
    for (PetscInt side = 0; side < 2; ++side) {
      PetscReal slopes[6];
      PetscInt  at[6][2];
      (void)Flux(ice, H, b, i - (d == 0 && !side), j - (d == 1 && !side), d, h, slopes, at);
      for (PetscInt k = 0; k < 6; ++k) v[3 * (at[k][1] - j + 1) + at[k][0] - i + 1] += side ? slopes[k] : -slopes[k];
    }
  PetscFunctionReturn(0);
}

static PetscErrorCode Jacobian(SNES snes, Vec X, Mat J, Mat B, void *ctx)
{
  Ice          *ice = (Ice *)ctx;
  DM            da;
  Vec           L, bed, balance;
  PetscInt      mx, my, xs, ys, xm, ym;
  PetscScalar **H, **b, **m;

  PetscFunctionBeginUser;
  PetscCall(SNESGetDM(snes, &da));
  PetscCall(Ground(ice, da, &bed, &balance));
  PetscCall(DMDAGetInfo(da, NULL, &mx, &my, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMGetLocalVector(da, &L));
  PetscCall(DMGlobalToLocal(da, X, INSERT_VALUES, L));
  PetscCall(DMDAVecGetArrayRead(da, L, &H));
  PetscCall(DMDAVecGetArrayRead(da, bed, &b));
  PetscCall(DMDAVecGetArrayRead(da, balance, &m));
  const PetscReal h[2] = {ice->size[0] / (mx - 1), ice->size[1] / (my - 1)}, w = Weight(mx, my);
  PetscCall(MatZeroEntries(B));
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i) {
      MatStencil  row = {0, j, i, 0}, column[9];
      PetscScalar v[9];
      PetscInt    count = 0;
      if (PetscIsNanReal(m[j][i])) {
        const PetscScalar one = 1;
        PetscCall(MatSetValuesStencil(B, 1, &row, 1, &row, &one, INSERT_VALUES));
        continue;
      }
      PetscCall(Row(ice, H, b, i, j, h, v));
      for (PetscInt k = 0; k < 9; ++k) v[k] *= w;
      for (PetscInt k = 0; k < 9; ++k) column[count++] = (MatStencil){0, j + k / 3 - 1, i + k % 3 - 1, 0};
      PetscCall(MatSetValuesStencil(B, 1, &row, count, column, v, INSERT_VALUES));
    }
  PetscCall(DMDAVecRestoreArrayRead(da, balance, &m));
  PetscCall(DMDAVecRestoreArrayRead(da, bed, &b));
  PetscCall(DMDAVecRestoreArrayRead(da, L, &H));
  PetscCall(DMRestoreLocalVector(da, &L));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  if (J != B) {
    PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode Bounds(SNES snes, Vec lower, Vec upper)
{
  Ice          *ice;
  DM            da;
  Vec           bed, balance;
  PetscInt      xs, ys, xm, ym;
  PetscScalar **m, **u;

  PetscFunctionBeginUser;
  PetscCall(SNESGetDM(snes, &da));
  PetscCall(SNESGetFunction(snes, NULL, NULL, (void **)&ice));
  PetscCall(Ground(ice, da, &bed, &balance));
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(VecZeroEntries(lower));
  PetscCall(DMDAVecGetArrayRead(da, balance, &m));
  PetscCall(DMDAVecGetArray(da, upper, &u));
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i) u[j][i] = PetscIsNanReal(m[j][i]) ? 0 : PETSC_INFINITY;
  PetscCall(DMDAVecRestoreArray(da, upper, &u));
  PetscCall(DMDAVecRestoreArrayRead(da, balance, &m));
  PetscFunctionReturn(0);
}

/* --- data, results --- */

static PetscErrorCode ReadBed(const char *name, Ice *ice)
{
  PetscViewer        viewer;
  Vec                head, raster;
  const PetscScalar *v;
  PetscInt           n;

  PetscFunctionBeginUser;
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, name, FILE_MODE_READ, &viewer));
  PetscCall(VecCreate(PETSC_COMM_SELF, &head));
  PetscCall(VecLoad(head, viewer));
  PetscCall(VecCreate(PETSC_COMM_SELF, &raster));
  PetscCall(VecLoad(raster, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(VecGetSize(head, &n));
  PetscCheck(n >= 4, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s does not begin with a raster's six numbers", name);
  PetscCall(VecGetArrayRead(head, &v));
  ice->columns = (PetscInt)v[0];
  ice->rows    = (PetscInt)v[1];
  ice->dx[0]   = v[2];
  ice->dx[1]   = v[3];
  PetscCall(VecRestoreArrayRead(head, &v));
  PetscCall(VecGetSize(raster, &n));
  PetscCheck(ice->columns > 1 && ice->rows > 1 && n == ice->columns * ice->rows && ice->dx[0] > 0 && ice->dx[1] > 0, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED, "%s is no raster", name);
  PetscCall(PetscMalloc1(n, &ice->height));
  PetscCall(VecGetArrayRead(raster, &v));
  for (PetscInt k = 0; k < n; ++k) ice->height[k] = v[k];
  PetscCall(VecRestoreArrayRead(raster, &v));
  PetscCall(VecDestroy(&head));
  PetscCall(VecDestroy(&raster));
  ice->size[0] = ice->dx[0] * (ice->columns - 1);
  ice->size[1] = ice->dx[1] * (ice->rows - 1);
  PetscFunctionReturn(0);
}

/* The snow of so many years */
static PetscErrorCode Start(Ice *ice, DM da, PetscReal years, Vec X)
{
  Vec           bed, balance;
  PetscInt      xs, ys, xm, ym;
  PetscScalar **m, **x;

  PetscFunctionBeginUser;
  PetscCall(Ground(ice, da, &bed, &balance));
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArrayRead(da, balance, &m));
  PetscCall(DMDAVecGetArray(da, X, &x));
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i)
      x[j][i] = PetscIsNanReal(m[j][i]) ? 0 : PetscPowReal(PetscMax(0, years * m[j][i]), ice->power);
  PetscCall(DMDAVecRestoreArray(da, X, &x));
  PetscCall(DMDAVecRestoreArrayRead(da, balance, &m));
  PetscFunctionReturn(0);
}

/* Volume, area, most thickness, and the largest difference from the dome and its mean */
static PetscErrorCode Tell(const Ice *ice, DM da, Vec X)
{
  PetscInt      mx, my, xs, ys, xm, ym;
  PetscReal     sums[3] = {0, 0, 0}, most[2] = {0, 0};
  PetscScalar **H;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetInfo(da, NULL, &mx, &my, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArrayRead(da, X, &H));
  const PetscReal h[2] = {ice->size[0] / (mx - 1), ice->size[1] / (my - 1)};
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i) {
      const PetscReal t = PetscPowReal(H[j][i], 1 / ice->power), e = PetscAbsReal(t - Dome(ice, Radius(ice, i * h[0], j * h[1])));
      sums[0] += t * h[0] * h[1];
      sums[1] += (H[j][i] > 0) * h[0] * h[1];
      sums[2] += e / (mx * my);
      most[0] = PetscMax(most[0], t);
      most[1] = PetscMax(most[1], e);
    }
  PetscCall(DMDAVecRestoreArrayRead(da, X, &H));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPIU_REAL, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, most, 2, MPIU_REAL, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " x %" PetscInt_FMT " nodes, %.4g x %.4g m: %.2f km^3 of ice on %.1f km^2, at most %.1f m thick\n", mx, my, (double)h[0], (double)h[1], (double)(sums[0] * 1e-9), (double)(sums[1] * 1e-6), (double)most[0]));
  if (!ice->height) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error %.2f m, mean %.3f m\n", (double)most[1], (double)sums[2]));
  PetscFunctionReturn(0);
}

/* Three vectors: nodes and mesh widths; thickness; bed */
static PetscErrorCode Write(const char *name, const Ice *ice, DM da, Vec X)
{
  PetscViewer viewer;
  Vec         head, bed, balance, ground, thickness;
  PetscInt    m[2];

  PetscFunctionBeginUser;
  PetscCall(DMDAGetInfo(da, NULL, &m[0], &m[1], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, PETSC_DECIDE, 4, &head));
  for (PetscInt d = 0; d < 2; ++d) {
    PetscCall(VecSetValue(head, d, (PetscScalar)m[d], INSERT_VALUES));
    PetscCall(VecSetValue(head, 2 + d, ice->size[d] / (m[d] - 1), INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(head));
  PetscCall(VecAssemblyEnd(head));
  PetscCall(Ground(ice, da, &bed, &balance));
  PetscCall(DMGetGlobalVector(da, &ground));
  PetscCall(DMLocalToGlobal(da, bed, INSERT_VALUES, ground));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, name, FILE_MODE_WRITE, &viewer));
  PetscCall(VecView(head, viewer));
  PetscCall(VecDuplicate(X, &thickness));
  PetscCall(VecCopy(X, thickness));
  PetscCall(VecPow(thickness, 1 / ice->power));
  PetscCall(VecView(thickness, viewer));
  PetscCall(VecDestroy(&thickness));
  PetscCall(VecView(ground, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(DMRestoreGlobalVector(da, &ground));
  PetscCall(VecDestroy(&head));
  PetscFunctionReturn(0);
}

/* A step doubles the thickness of a node at most, or brings it to `limit`: where there is hardly any ice the flux is flat
   and says nothing of what more would do */
static PetscErrorCode Limit(SNESLineSearch search, Vec X, Vec Y, PetscBool *changed, void *ctx)
{
  const Ice         *ice = (const Ice *)ctx;
  const PetscReal    least = PetscPowReal(ice->limit, ice->power), times = PetscPowReal(2, ice->power);
  const PetscScalar *x;
  PetscScalar       *y;
  PetscInt           n;

  PetscFunctionBeginUser;
  (void)search;
  PetscCall(VecGetLocalSize(X, &n));
  PetscCall(VecGetArrayRead(X, &x));
  PetscCall(VecGetArray(Y, &y));
  for (PetscInt k = 0; k < n; ++k) y[k] = PetscMax(y[k], x[k] - PetscMax(least, times * x[k]));
  PetscCall(VecRestoreArray(Y, &y));
  PetscCall(VecRestoreArrayRead(X, &x));
  *changed = PETSC_TRUE;
  PetscFunctionReturn(0);
}

static PetscErrorCode Setup(Ice *ice, DM *da, SNES *snes)
{
  SNESLineSearch search;
  char      file[PETSC_MAX_PATH_LEN];
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-bed", file, sizeof(file), &set));
  if (set) PetscCall(ReadBed(file, ice));
  else ice->limit = 2 * ice->dome;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-limit", &ice->limit, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-line", &ice->line, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-gradient", &ice->gradient, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-snow", &ice->snow, NULL));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, 17, 17, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, snes));
  PetscCall(SNESSetDM(*snes, *da));
  PetscCall(SNESSetFunction(*snes, NULL, Function, ice));
  PetscCall(SNESSetJacobian(*snes, NULL, NULL, Jacobian, ice));
  PetscCall(SNESSetType(*snes, SNESVINEWTONRSLS));
  PetscCall(SNESVISetComputeVariableBounds(*snes, Bounds));
  PetscCall(SNESSetTolerances(*snes, 1e-6, 0, 0, 200, 100000)); /* metres a year */
  PetscCall(SNESSetFromOptions(*snes));                        /* -snes_type vipmg */
  PetscCall(SNESGetLineSearch(*snes, &search));
  PetscCall(SNESLineSearchSetPreCheck(search, Limit, ice));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Ice *ice, defaults = {2 * 1e-16 * 910 * 910 * 910 * 9.81 * 9.81 * 9.81 / 5, 3, 0.1, 400, 8. / 3, 1000, 0.005, 2, {1.8e6, 1.8e6}, 7.5e5, 3600, 1000, 0, NULL, {0, 0}, 0, 0, NULL};
  SNES                snes;
  DM                  da;
  Vec                 X;
  PetscInt            steps = 0, most = 0, its, cycles, worst = 0, all = 0;
  PetscReal           start = 100, years = 100;
  PetscLogDouble      time[2];
  char                file[PETSC_MAX_PATH_LEN];
  PetscBool           set;
  SNESConvergedReason reason = SNES_CONVERGED_ITERATING;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscNew(&ice));
  *ice = defaults;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-years", &years, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-start", &start, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  PetscCheck(years > 0 && start > 0 && steps >= 0, PETSC_COMM_WORLD, PETSC_ERR_USER, "-years and -start are positive, -steps is not negative");
  if (steps) {
    ice->years = years;
    ice->power = 1;
  }
  PetscCall(Setup(ice, &da, &snes));
  PetscCall(DMCreateGlobalVector(da, &X));
  PetscCall(Start(ice, da, steps ? 0 : start, X));
  if (steps) PetscCall(VecDuplicate(X, &ice->before));
  PetscCall(PetscTime(&time[0]));
  for (PetscInt k = 0; k < PetscMax(1, steps) && reason >= 0; ++k) {
    if (steps) PetscCall(VecCopy(X, ice->before));
    PetscCall(SNESSolve(snes, NULL, X));
    PetscCall(SNESGetConvergedReason(snes, &reason));
    PetscCall(SNESGetIterationNumber(snes, &its));
    PetscCall(SNESGetLinearSolveIterations(snes, &cycles));
    worst = PetscMax(worst, its);
    all += cycles;
  }
  PetscCall(PetscTime(&time[1]));
  PetscCall(VecDestroy(&ice->before));
  PetscCall(VecDestroy(&X));
  PetscCall(DMDestroy(&da));
  PetscCall(SNESGetSolution(snes, &X)); /* a sequence of grids has made another one */
  PetscCall(SNESGetDM(snes, &da));
  if (reason > 0) PetscCall(Tell(ice, da, X));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %.3f s, at most %" PetscInt_FMT " iterations, %" PetscInt_FMT " linear ones\n", SNESConvergedReasons[reason], time[1] - time[0], worst, all));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-output", file, sizeof(file), &set));
  if (set) PetscCall(Write(file, ice, da, X));
  PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "%s", SNESConvergedReasons[reason]);
  PetscCheck(!most || worst <= most, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "%" PetscInt_FMT " iterations, more than -most %" PetscInt_FMT, worst, most);
  PetscCall(PetscFree(ice->height));
  PetscCall(SNESDestroy(&snes));
  PetscCall(PetscFree(ice));
  PetscCall(PetscFinalize());
  return 0;
}
