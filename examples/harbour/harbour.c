static char help[] = "The waves of a ship over real bathymetry, as a ship simulator computes them.\n\
Every time step solves one variable-depth elliptic problem; the tide moves its coefficients.\n\n\
  ./harbour -depth depth.h5 -steps 200 -pc_type gamg -output waves\n\
  ./harbour -depth depth.h5 -refine 8 -compare rrb,gamg,hypre\n\
  ./harbour -selftest [-depth depth.h5]\n\n";

/*
  Linear dispersive waves on water of depth h(x,y,t): the variational Boussinesq model with a parabolic
  vertical profile (Klopman, van Groesen, Dingemans, "A variational approach to Boussinesq modelling of
  fully non-linear water waves", J. Fluid Mech. 657, 2010; linearised as in the ship simulator of
  De Jong, van der Ploeg, Ditzel, Vuik, ETNA 2018).

  The velocity potential is Phi(x,y,z,t) = phi + f(z) psi with f = z + z^2/(2h): phi [m^2/s] is its value at
  the surface, psi [m/s] scales the vertical structure, and f' is 1 at the surface z = 0, 0 at the bottom
  z = -h. Integrating |grad Phi|^2 over the depth (mild slope: grad f neglected) gives the energy

    H = 1/2 int g zeta^2 + h |grad phi|^2 - 2 D grad phi . grad psi + N |grad psi|^2 + M psi^2,
        D = -int f = h^2/3,   N = int f^2 = 2 h^3/15,   M = int f'^2 = h/3   (h N > D^2: H is positive)

  with the surface elevation zeta [m], and Hamilton's equations are the model:

    d zeta/dt =  dH/dphi  = -div(h grad phi) + div(D grad psi)
    d phi/dt  = -dH/dzeta = -g zeta - p/rho                          p: the ship, a pressure patch
        0     =  dH/dpsi  = -div(N grad psi) + M psi + div(D grad phi)

  The last line is the linear system of every step. Waves of number k on constant depth travel with
  c^2 = g h (1 + q/15)/(1 + 2q/5), q = (kh)^2: the (2,2) Pade approximation of g tanh(kh)/k.

  Space: cell centres of a DMDA, finite volumes. A face between two water cells has the mean of their
  depths; a face towards land has coefficient zero, so the coast reflects. A land cell is an identity row
  that nothing couples to; its zeros are stored, hence the nonzero pattern is the full five points and never
  changes. Land is what would be shallower than -min_depth at low tide.

  Time: phi lives at the half steps (leapfrog). This is symplectic: with tide, ship and sponge off
  mass is kept to rounding and the energy H(zeta^n zeta^{n+1}, phi^{n+1/2}) to the solver's tolerance
  (-selftest). StableStep() gives the largest stable step; -cfl is the part of it that is used.
*/
#include "harbour.h"

/* ---- water, land, sponge */

/* Marks land with depth zero, counts water, and finds the deepest cell (the first one, for any number of ranks) */
static PetscErrorCode MarkLand(Harbour *sea, Vec map, PetscReal minDepth)
{
  Vec           depth;
  PetscScalar **h;
  PetscInt      xs, ys, xm, ym, water = 0, first = PETSC_INT_MAX, nx = sea->map.nx;
  PetscReal     deepest = 0;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(map, &depth));
  PetscCall(VecCopy(map, depth));
  PetscCall(DMDAGetCorners(sea->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArray(sea->da, depth, &h));
  for (PetscInt j = ys; j < ys + ym; j++) {
    for (PetscInt i = xs; i < xs + xm; i++) {
      if (h[j][i] - sea->tide < minDepth) h[j][i] = 0;
      else water++;
      deepest = PetscMax(deepest, h[j][i]);
    }
  }
  PetscCallMPI(MPI_Allreduce(&water, &sea->water, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(&deepest, &sea->deepest, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCheck(sea->water, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "The map has no water deeper than %g m at low tide; depths count downwards (raster2petsc --scale -1 turns elevation into depth)", (double)minDepth);
  for (PetscInt j = ys; j < ys + ym; j++)
    for (PetscInt i = xs; i < xs + xm; i++)
      if (h[j][i] == sea->deepest) first = PetscMin(first, j * nx + i);
  PetscCall(DMDAVecRestoreArray(sea->da, depth, &h));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPIU_INT, MPI_MIN, PETSC_COMM_WORLD));
  sea->deepestCell[0] = first % nx;
  sea->deepestCell[1] = first / nx;
  PetscCall(DMCreateLocalVector(sea->da, &sea->depth));
  PetscCall(DMGlobalToLocal(sea->da, depth, INSERT_VALUES, sea->depth));
  PetscCall(VecDestroy(&depth));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factor by which a step damps the waves: 1, but less along the open sides (a sponge of the given width) */
static PetscErrorCode FillSponge(Harbour *sea, PetscReal width)
{
  const Map      *map = &sea->map;
  const PetscReal strength = width > 0 ? 6 * PetscSqrtReal(GRAVITY * sea->deepest) / width : 0; /* e^-4 there and back */
  PetscScalar   **damping;
  PetscInt        xs, ys, xm, ym;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(sea->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArray(sea->da, sea->damping, &damping));
  for (PetscInt j = ys; j < ys + ym; j++) {
    for (PetscInt i = xs; i < xs + xm; i++) {
      const PetscReal x = (PetscMin(i, map->nx - 1 - i) + 0.5) * map->dx, y = (PetscMin(j, map->ny - 1 - j) + 0.5) * map->dy;
      const PetscReal s = width > 0 ? PetscMax(0, 1 - PetscMin(x, y) / width) : 0;
      damping[j][i] = PetscExpReal(-strength * s * s * sea->dt);
    }
  }
  PetscCall(DMDAVecRestoreArray(sea->da, sea->damping, &damping));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- discretisation */

static const PetscInt step[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}}; /* west, east, south, north */

/* Depth on the four faces of cell (i,j) at the present tide, zero towards land and at the map's edge */
static inline void FaceDepths(const Harbour *sea, PetscScalar **h, PetscInt i, PetscInt j, PetscReal face[4])
{
  for (PetscInt f = 0; f < 4; f++) {
    const PetscInt  ni = i + step[f][0], nj = j + step[f][1];
    const PetscBool inside = (PetscBool)(ni >= 0 && ni < sea->map.nx && nj >= 0 && nj < sea->map.ny);
    face[f] = inside && h[j][i] > 0 && h[nj][ni] > 0 ? 0.5 * (h[j][i] + h[nj][ni]) + sea->level : 0;
  }
}

/* A = -div(N grad .) + M at the present tide */
static PetscErrorCode Assemble(Harbour *sea)
{
  const PetscReal w[4] = {1 / PetscSqr(sea->map.dx), 1 / PetscSqr(sea->map.dx), 1 / PetscSqr(sea->map.dy), 1 / PetscSqr(sea->map.dy)};
  PetscScalar   **h;
  PetscInt        xs, ys, xm, ym;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(sea->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArrayRead(sea->da, sea->depth, &h));
  for (PetscInt j = ys; j < ys + ym; j++) {
    for (PetscInt i = xs; i < xs + xm; i++) {
      const MatStencil row = {.i = i, .j = j};
      MatStencil       col[5];
      PetscScalar      value[5];
      PetscReal        face[4];

      FaceDepths(sea, h, i, j, face);
      col[4]   = row;
      value[4] = h[j][i] > 0 ? CoefM(h[j][i] + sea->level) : 1;
      for (PetscInt f = 0; f < 4; f++) {
        const PetscInt ni = i + step[f][0], nj = j + step[f][1];
        const PetscBool inside = (PetscBool)(ni >= 0 && ni < sea->map.nx && nj >= 0 && nj < sea->map.ny);
        col[f]   = (MatStencil){.i = inside ? ni : -1, .j = inside ? nj : -1}; /* negative: ignored */
        value[f] = -w[f] * CoefN(face[f]);
        value[4] -= value[f];
      }
      PetscCall(MatSetValuesStencil(sea->A, 1, &row, 5, col, value, INSERT_VALUES));
    }
  }
  PetscCall(DMDAVecRestoreArrayRead(sea->da, sea->depth, &h));
  PetscCall(MatAssemblyBegin(sea->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(sea->A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Leapfrog is stable for dt < 2/sqrt(g lambda), lambda the largest eigenvalue of phi -> dH/dphi. As psi minimises
   H, any other psi bounds it from above; psi = b phi gives

     lambda <= 4 (1/dx^2 + 1/dy^2) max_h (h - 2 b D + b^2 N) + b^2 max_h M

   and the best b allows steps up to 2.3 times longer than b = 0, the bound for waves without dispersion */
static PetscReal StableStep(const Harbour *sea)
{
  const PetscReal laplacian = 4 / PetscSqr(sea->map.dx) + 4 / PetscSqr(sea->map.dy), deepest = sea->deepest + sea->tide;
  PetscReal       best      = PETSC_MAX_REAL;

  for (PetscReal bh = 0; bh <= 2.5; bh += 0.05) {
    const PetscReal b   = bh / deepest;
    PetscReal       max = 0;
    for (PetscReal h = 0; h <= deepest; h += deepest / 1024) max = PetscMax(max, h - 2 * b * CoefD(h) + b * b * CoefN(h));
    best = PetscMin(best, laplacian * max + b * b * CoefM(deepest));
  }
  return 2 / PetscSqrtReal(GRAVITY * best);
}

/* rhs = -div(D grad phi), or with psi given: rate = -div(h grad phi) + div(D grad psi) */
static PetscErrorCode Fluxes(Harbour *sea, PetscBool withPsi, Vec result)
{
  const PetscReal w[4] = {1 / PetscSqr(sea->map.dx), 1 / PetscSqr(sea->map.dx), 1 / PetscSqr(sea->map.dy), 1 / PetscSqr(sea->map.dy)};
  PetscScalar   **h, **phi, **psi = NULL, **r;
  PetscInt        xs, ys, xm, ym;

  PetscFunctionBeginUser;
  PetscCall(DMGlobalToLocal(sea->da, sea->phi, INSERT_VALUES, sea->phiLocal));
  if (withPsi) PetscCall(DMGlobalToLocal(sea->da, sea->psi, INSERT_VALUES, sea->psiLocal));
  PetscCall(DMDAGetCorners(sea->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArrayRead(sea->da, sea->depth, &h));
  PetscCall(DMDAVecGetArrayRead(sea->da, sea->phiLocal, &phi));
  if (withPsi) PetscCall(DMDAVecGetArrayRead(sea->da, sea->psiLocal, &psi));
  PetscCall(DMDAVecGetArray(sea->da, result, &r));
  for (PetscInt j = ys; j < ys + ym; j++) {
    for (PetscInt i = xs; i < xs + xm; i++) {
      PetscReal   face[4];
      PetscScalar sum = 0;

      FaceDepths(sea, h, i, j, face);
      for (PetscInt f = 0; f < 4; f++) {
        const PetscInt ni = i + step[f][0], nj = j + step[f][1];
        if (face[f] == 0) continue;
        if (withPsi) sum += w[f] * (face[f] * (phi[j][i] - phi[nj][ni]) - CoefD(face[f]) * (psi[j][i] - psi[nj][ni]));
        else sum += w[f] * CoefD(face[f]) * (phi[j][i] - phi[nj][ni]);
      }
      r[j][i] = sum;
    }
  }
  PetscCall(DMDAVecRestoreArray(sea->da, result, &r));
  if (withPsi) PetscCall(DMDAVecRestoreArrayRead(sea->da, sea->psiLocal, &psi));
  PetscCall(DMDAVecRestoreArrayRead(sea->da, sea->phiLocal, &phi));
  PetscCall(DMDAVecRestoreArrayRead(sea->da, sea->depth, &h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The tide's level and the ship's position at time t */
static PetscReal TideAt(const Harbour *sea, PetscReal t)
{
  return sea->tide * PetscSinReal(2 * PETSC_PI * t / sea->tidePeriod);
}
void ShipAt(const Harbour *sea, PetscReal t, PetscReal *x, PetscReal *y)
{
  *x = sea->ship.x + sea->ship.cosine * sea->ship.speed * t;
  *y = sea->ship.y + sea->ship.sine * sea->ship.speed * t;
}

/* phi -= length (g zeta + p/rho): the hull presses the water down by its draft, in a smooth patch */
static PetscErrorCode AdvancePotential(Harbour *sea, PetscReal t, PetscReal length)
{
  const Ship     *ship = &sea->ship;
  const Map      *map  = &sea->map;
  const PetscReal launch = PetscMin(1, t * ship->speed / (2 * ship->length)); /* lowered gently, over two lengths */
  PetscReal       shipX, shipY;
  PetscScalar   **h, **zeta, **phi;
  PetscInt        xs, ys, xm, ym;

  PetscFunctionBeginUser;
  ShipAt(sea, t, &shipX, &shipY);
  PetscCall(DMDAGetCorners(sea->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArrayRead(sea->da, sea->depth, &h));
  PetscCall(DMDAVecGetArrayRead(sea->da, sea->zeta, &zeta));
  PetscCall(DMDAVecGetArray(sea->da, sea->phi, &phi));
  for (PetscInt j = ys; j < ys + ym; j++) {
    for (PetscInt i = xs; i < xs + xm; i++) {
      const PetscReal x = map->x0 + (i + 0.5) * map->dx - shipX, y = map->y0 + (j + 0.5) * map->dy - shipY;
      const PetscReal along = (x * ship->cosine + y * ship->sine) / ship->length, across = (y * ship->cosine - x * ship->sine) / ship->beam;
      PetscReal       head = zeta[j][i];

      if (h[j][i] == 0) continue;
      if (PetscAbsReal(along) < 0.5 && PetscAbsReal(across) < 0.5) head += launch * ship->draft * PetscSqr(PetscCosReal(PETSC_PI * along) * PetscCosReal(PETSC_PI * across));
      phi[j][i] -= length * GRAVITY * head;
    }
  }
  PetscCall(DMDAVecRestoreArray(sea->da, sea->phi, &phi));
  PetscCall(DMDAVecRestoreArrayRead(sea->da, sea->zeta, &zeta));
  PetscCall(DMDAVecRestoreArrayRead(sea->da, sea->depth, &h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The leapfrog's conserved energy per unit density [m^5/s^2], after zeta went from n to n+1 around phi^{n+1/2} */
static PetscErrorCode Energy(Harbour *sea, PetscReal *energy)
{
  PetscScalar zz, zr, pr;

  PetscFunctionBeginUser;
  PetscCall(VecDot(sea->zeta, sea->zeta, &zz));
  PetscCall(VecDot(sea->zeta, sea->rate, &zr)); /* zeta^n = zeta^{n+1} - dt rate */
  PetscCall(VecDot(sea->phi, sea->rate, &pr));
  *energy = 0.5 * sea->map.dx * sea->map.dy * (GRAVITY * (zz - sea->dt * zr) + pr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the program */

/* A ship of 24 x 8 cells that leaves the deepest water, at the speed whose waves are as long as the ship, but at
   most 0.9 of what the depth lets waves travel */
static PetscErrorCode ShipFromOptions(Harbour *sea)
{
  const Map *map  = &sea->map;
  Ship      *ship = &sea->ship;
  PetscReal  from[2], course = 0;
  PetscInt   two = 2;
  PetscBool  set;

  PetscFunctionBeginUser;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Harbour's ship", NULL);
  ship->length = 24 * map->dx;
  PetscCall(PetscOptionsReal("-ship_length", "Length [m]", NULL, ship->length, &ship->length, NULL));
  ship->beam = ship->length / 3;
  PetscCall(PetscOptionsReal("-ship_beam", "Beam [m]", NULL, ship->beam, &ship->beam, NULL));
  ship->draft = 0.03 * ship->length;
  PetscCall(PetscOptionsReal("-ship_draft", "Draft [m], 0: no ship", NULL, ship->draft, &ship->draft, NULL));
  ship->speed = PetscMin(PetscSqrtReal(GRAVITY * ship->length / (2 * PETSC_PI)), 0.9 * PetscSqrtReal(GRAVITY * sea->deepest));
  PetscCall(PetscOptionsReal("-ship_speed", "Speed [m/s]", NULL, ship->speed, &ship->speed, NULL));
  from[0] = map->x0 + (sea->deepestCell[0] + 0.5) * map->dx;
  from[1] = map->y0 + (sea->deepestCell[1] + 0.5) * map->dy;
  PetscCall(PetscOptionsRealArray("-ship_from", "Start x,y [m]", NULL, from, &two, &set));
  PetscCheck(!set || two == 2, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-ship_from needs two numbers x,y");
  PetscCall(PetscOptionsReal("-ship_course", "Direction [degrees, 0 east, 90 north]", NULL, course, &course, NULL));
  PetscOptionsEnd();
  PetscCheck(ship->length > 0 && ship->beam > 0 && ship->speed > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "The ship's length, beam and speed must be positive");
  ship->x      = from[0];
  ship->y      = from[1];
  ship->cosine = PetscCosReal(course * PETSC_PI / 180);
  ship->sine   = PetscSinReal(course * PETSC_PI / 180);
  if (ship->draft > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ship     %.4g x %.4g m, draft %.3g m, %.3g m/s from (%.5g, %.5g) towards %.4g degrees\n", (double)ship->length, (double)ship->beam, (double)ship->draft, (double)ship->speed, (double)ship->x, (double)ship->y, (double)course));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HarbourCreate(Harbour *sea)
{
  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(sea->da, &sea->zeta));
  PetscCall(VecDuplicate(sea->zeta, &sea->phi));
  PetscCall(VecDuplicate(sea->zeta, &sea->psi));
  PetscCall(VecDuplicate(sea->zeta, &sea->rate));
  PetscCall(VecDuplicate(sea->zeta, &sea->rhs));
  PetscCall(VecDuplicate(sea->zeta, &sea->damping));
  PetscCall(VecDuplicate(sea->depth, &sea->phiLocal));
  PetscCall(VecDuplicate(sea->depth, &sea->psiLocal));
  PetscCall(DMCreateMatrix(sea->da, &sea->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HarbourDestroy(Harbour *sea)
{
  PetscFunctionBeginUser;
  PetscCall(VecDestroy(&sea->depth));
  PetscCall(VecDestroy(&sea->zeta));
  PetscCall(VecDestroy(&sea->phi));
  PetscCall(VecDestroy(&sea->psi));
  PetscCall(VecDestroy(&sea->rate));
  PetscCall(VecDestroy(&sea->rhs));
  PetscCall(VecDestroy(&sea->damping));
  PetscCall(VecDestroy(&sea->phiLocal));
  PetscCall(VecDestroy(&sea->psiLocal));
  PetscCall(MatDestroy(&sea->A));
  PetscCall(DMDestroy(&sea->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Harbour        sea;
  Output         out;
  Solver         solvers[MAX_SOLVERS];
  Vec            depth, start = NULL;
  char           path[PETSC_MAX_PATH_LEN] = "", *types[MAX_SOLVERS];
  PetscInt       steps = 100, refine = 1, nTypes = MAX_SOLVERS, n = 0;
  PetscReal      minDepth = 1, cfl = 0.8, rtol = 1e-6, sponge = PETSC_DECIDE;
  PetscReal      highest, norm, energy0 = 0, energy = 0, drift = 0;
  PetscBool      hasDepth, compare, set, selftest = PETSC_FALSE, good;
  PetscLogDouble begin, end;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscMemzero(&sea, sizeof(sea)));
  PetscCall(PetscMemzero(&out, sizeof(out)));
  sea.tide       = 0.5;
  sea.tidePeriod = 44714; /* 12 h 25 min 14 s, the moon's */
  out.every      = 10;

  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Harbour", NULL);
  PetscCall(PetscOptionsString("-depth", "Map: HDF5 or PETSc binary, from raster2petsc", NULL, path, path, sizeof(path), &hasDepth));
  PetscCall(PetscOptionsBoundedInt("-refine", "Refine the map k times in each direction (bilinear)", NULL, refine, &refine, NULL, 1));
  PetscCall(PetscOptionsBool("-selftest", "Check conservation (on the map) or the exact solution (in a basin)", NULL, selftest, &selftest, NULL));
  PetscCall(PetscOptionsBoundedInt("-steps", "Time steps", NULL, steps, &steps, NULL, 1));
  PetscCall(PetscOptionsReal("-cfl", "Time step as a part of the largest stable one", NULL, cfl, &cfl, NULL));
  PetscCall(PetscOptionsReal("-tide", "Amplitude of the tide [m]", NULL, sea.tide, &sea.tide, NULL));
  PetscCall(PetscOptionsReal("-tide_period", "Period of the tide [s]", NULL, sea.tidePeriod, &sea.tidePeriod, NULL));
  PetscCall(PetscOptionsReal("-min_depth", "Shallower cells at low tide are land [m]", NULL, minDepth, &minDepth, NULL));
  PetscCall(PetscOptionsReal("-sponge", "Width of the damping layer along the map's edges [m], 0: closed", NULL, sponge, &sponge, NULL));
  if (selftest) sea.tide = sponge = 0; /* nothing that adds or takes energy */
  if (selftest) rtol = 1e-12;
  PetscCall(PetscOptionsReal("-rtol", "Tolerance of the solves, on the true residual", NULL, rtol, &rtol, NULL));
  PetscCall(PetscOptionsStringArray("-compare", "Run several preconditioners on the same systems", NULL, types, &nTypes, &set));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-compare", &compare)); /* alone it means rrb,gamg,hypre */
  if (!set) nTypes = 0;
  PetscCall(PetscOptionsString("-output", "Write PREFIX.h5 and PREFIX.xmf (or PREFIX.bin)", NULL, out.prefix, out.prefix, sizeof(out.prefix), &out.on));
  PetscCall(PetscOptionsBoundedInt("-output_every", "Steps between frames", NULL, out.every, &out.every, NULL, 1));
  PetscOptionsEnd();
  PetscCall(PetscOptionsHasHelp(NULL, &set));
  if (set && !hasDepth && !selftest) {
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCheck(cfl > 0 && cfl < 1, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-cfl %g is not between 0 and 1, the limit of stability", (double)cfl);
  PetscCheck(sea.tide >= 0 && sea.tidePeriod > 0 && minDepth > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-tide must not be negative, -tide_period and -min_depth must be positive");
  PetscCheck(hasDepth || selftest, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "Give a map: -depth FILE (examples/raster/raster2petsc makes it from any raster)");

  if (hasDepth) PetscCall(ReadMap(path, refine, &sea.map, &sea.da, &depth));
  else PetscCall(SelftestBasin(&sea.map, &sea.da, &depth));
  PetscCall(MarkLand(&sea, depth, minDepth));
  PetscCall(HarbourCreate(&sea));
  sea.dt = cfl * StableStep(&sea);
  PetscCall(FillSponge(&sea, sponge < 0 ? 24 * sea.map.dx : sponge));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "map      %" PetscInt_FMT " x %" PetscInt_FMT " cells of %.4g x %.4g m, %.0f %% water, deepest %.4g m\n", sea.map.nx, sea.map.ny, (double)sea.map.dx, (double)sea.map.dy, 100.0 * sea.water / (sea.map.nx * sea.map.ny), (double)sea.deepest));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "time     %" PetscInt_FMT " steps of %.3g s, tide +-%.4g m in %.6g s, fastest wave %.3g m/s\n", steps, (double)sea.dt, (double)sea.tide, (double)sea.tidePeriod, (double)PetscSqrtReal(GRAVITY * sea.deepest)));
  if (!selftest) PetscCall(ShipFromOptions(&sea));

  if (compare) PetscCall(SolversCreate(&sea, nTypes, types, rtol, steps, &n, solvers));
  else PetscCall(SolverCreate(&sea, "gamg", PETSC_FALSE, rtol, steps, &solvers[n++]));

  if (selftest) {
    PetscCall(VecDuplicate(sea.zeta, &start));
    PetscCall(SelftestStart(&sea, !hasDepth, start));
    PetscCall(VecCopy(start, sea.zeta));
  }
  PetscCall(OutputOpen(&sea, steps, depth, &out));
  PetscCall(AdvancePotential(&sea, 0, sea.dt / 2)); /* from rest; from now on phi is half a step ahead */

  PetscCall(PetscTime(&begin));
  for (PetscInt k = 0; k < steps; k++) {
    const PetscReal t = (k + 1) * sea.dt;

    sea.level = TideAt(&sea, t - sea.dt / 2);
    PetscCall(Assemble(&sea));
    PetscCall(Fluxes(&sea, PETSC_FALSE, sea.rhs));
    for (PetscInt s = 0; s < n; s++) PetscCall(SolverRun(&sea, &solvers[s], solvers[0].x));
    PetscCheck(compare || !solvers[0].failure, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "Step %" PetscInt_FMT ": the solver stopped with %s", k, KSPConvergedReasons[solvers[0].failure]);
    PetscCall(VecCopy(solvers[0].x, sea.psi));

    PetscCall(Fluxes(&sea, PETSC_TRUE, sea.rate));
    PetscCall(VecAXPY(sea.zeta, sea.dt, sea.rate));
    PetscCall(Energy(&sea, &energy));
    if (!k) energy0 = energy;
    drift = PetscMax(drift, PetscAbsReal(energy - energy0));
    PetscCall(VecPointwiseMult(sea.zeta, sea.zeta, sea.damping));
    if (out.on && (k + 1) % out.every == 0) PetscCall(OutputFrame(&sea, t, &out));

    PetscCall(AdvancePotential(&sea, t, sea.dt));
    PetscCall(VecPointwiseMult(sea.phi, sea.phi, sea.damping));
  }
  PetscCall(PetscTime(&end));

  PetscCall(VecMax(sea.zeta, NULL, &highest));
  PetscCall(VecNorm(sea.zeta, NORM_2, &norm));
  PetscCheck(!PetscIsInfOrNanReal(norm), PETSC_COMM_WORLD, PETSC_ERR_FP, "The waves grew without bound");
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "waves    after %.4g s: highest %.6g m, |zeta| %.12e, energy %.12e\n", (double)(steps * sea.dt), (double)highest, (double)norm, (double)energy));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "took     %.2f s for %" PetscInt_FMT " steps with %s\n", end - begin, steps, compare ? "all solvers" : solvers[0].name));
  PetscCall(OutputClose(&sea, &out));
  PetscCall(PrintTable(&sea, n, solvers, rtol, &good));

  if (selftest) PetscCall(SelftestCheck(&sea, !hasDepth, steps, start, drift / energy0, rtol, &good));
  if (!good) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "FAILED: see above\n"));

  for (PetscInt s = 0; s < n; s++) PetscCall(SolverDestroy(&solvers[s]));
  PetscCall(VecDestroy(&start));
  PetscCall(VecDestroy(&depth));
  PetscCall(HarbourDestroy(&sea));
  PetscCall(PetscFinalize());
  return good ? 0 : 1;
}
