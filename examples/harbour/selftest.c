/* Waves whose future is known: an exact solution, and what must be conserved */
#include "harbour.h"

/* Without a map: a closed basin of constant depth and a standing wave, whose exact discrete solution is known */
#define BASIN_MODE_X 5
#define BASIN_MODE_Y 3

PetscErrorCode SelftestBasin(Map *map, DM *da, Vec *depth)
{
  const Map basin = {.nx = 60, .ny = 44, .dx = 5, .dy = 7, .x0 = 0, .y0 = 0};

  PetscFunctionBeginUser;
  *map = basin;
  PetscCall(CreateGrid(map->nx, map->ny, DMDA_STENCIL_STAR, PETSC_DECIDE, PETSC_DECIDE, NULL, NULL, da));
  PetscCall(DMCreateGlobalVector(*da, depth));
  PetscCall(VecSet(*depth, 20));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The angle that the standing wave turns in a time step: sin(angle/2) = omega dt/2, from the discrete Laplacian */
static PetscReal BasinAngle(const Harbour *sea)
{
  const Map      *map = &sea->map;
  const PetscReal h = sea->deepest, sx = 2 / map->dx * PetscSinReal(PETSC_PI * BASIN_MODE_X / (2 * map->nx)), sy = 2 / map->dy * PetscSinReal(PETSC_PI * BASIN_MODE_Y / (2 * map->ny));
  const PetscReal k2 = sx * sx + sy * sy, omega2 = GRAVITY * k2 * (h - PetscSqr(CoefD(h)) * k2 / (CoefN(h) * k2 + CoefM(h)));

  return 2 * PetscAsinReal(PetscSqrtReal(omega2) * sea->dt / 2);
}

/* zeta = the standing wave (basin) or a hump over the deepest water (map) */
PetscErrorCode SelftestStart(Harbour *sea, int basin, Vec zeta)
{
  PetscScalar **h, **z;
  PetscInt      xs, ys, xm, ym;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(sea->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArrayRead(sea->da, sea->depth, &h));
  PetscCall(DMDAVecGetArray(sea->da, zeta, &z));
  for (PetscInt j = ys; j < ys + ym; j++) {
    for (PetscInt i = xs; i < xs + xm; i++) {
      const PetscReal r2 = PetscSqr((PetscReal)(i - sea->deepestCell[0])) + PetscSqr((PetscReal)(j - sea->deepestCell[1]));
      if (basin) z[j][i] = PetscCosReal(PETSC_PI * BASIN_MODE_X * (i + 0.5) / sea->map.nx) * PetscCosReal(PETSC_PI * BASIN_MODE_Y * (j + 0.5) / sea->map.ny);
      else z[j][i] = h[j][i] > 0 ? PetscExpReal(-r2 / 18) : 0;
    }
  }
  PetscCall(DMDAVecRestoreArray(sea->da, zeta, &z));
  PetscCall(DMDAVecRestoreArrayRead(sea->da, sea->depth, &h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(const char what[], PetscReal value, PetscReal bound, PetscBool *good)
{
  PetscFunctionBeginUser;
  if (!(value <= bound)) *good = PETSC_FALSE; /* NaN fails */
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s %.1e (bound %.0e)\n", value <= bound ? "ok" : "FAILED", what, (double)value, (double)bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether mass and energy were kept, and in the basin the exact solution was met. Overwrites start */
PetscErrorCode SelftestCheck(Harbour *sea, int basin, PetscInt steps, Vec start, PetscReal energyDrift, PetscReal rtol, PetscBool *good)
{
  PetscReal mass0, mass, error;

  PetscFunctionBeginUser;
  PetscCall(VecSum(start, &mass0));
  PetscCall(VecSum(sea->zeta, &mass));
  PetscCall(Check("mass drift for each cell [m]", PetscAbsReal(mass - mass0) / sea->water, 1e-13, good));
  PetscCall(Check("relative energy drift", energyDrift, 1e3 * rtol, good));
  if (basin) {
    PetscCall(VecScale(start, PetscCosReal(steps * BasinAngle(sea))));
    PetscCall(VecAXPY(start, -1, sea->zeta));
    PetscCall(VecNorm(start, NORM_INFINITY, &error));
    PetscCall(Check("error of the standing wave [m]", error, 1e3 * rtol, good));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
