/* Grains from a seed, the cells that are pores, and those through which something flows */
#include "porous.h"
#include <stdint.h>

#define MAX_GRAINS 100000

PetscErrorCode Owned(const Rock *r, Box *box)
{
  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(r->da, &box->low[0], &box->low[1], &box->low[2], &box->high[0], &box->high[1], &box->high[2]));
  for (int d = 0; d < 3; d++) box->high[d] += box->low[d];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Random(uint64_t *state) /* the same everywhere: called once in an expression */
{
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (PetscReal)(*state >> 33) / 2147483648.;
}

/* Centres and relative radii. Rock that is not periodic has grains beyond its sides too, or it would be looser there */
static PetscErrorCode Scatter(const Rock *r, PetscInt *count, PetscReal **grain)
{
  const PetscReal pi = 3.14159265358979, volume = r->n[0] * r->h * r->n[1] * r->h * r->n[2] * r->h;
  const PetscReal radius = PetscPowReal(-0.75 * volume * PetscLogReal(r->porosity) / (pi * r->grains), 1. / 3), margin = r->periodic ? 0 : 1.5 * radius;
  PetscReal       all = r->grains;
  uint64_t        state = (uint64_t)r->seed * UINT64_C(2862933555777941757) + 20125;

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) all *= 1 + 2 * margin / (r->n[d] * r->h);
  PetscCheck(all <= MAX_GRAINS, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-grains %" PetscInt_FMT " makes %.0f with those that reach in from beyond the sides: more than %d are too many", r->grains, (double)all, MAX_GRAINS);
  *count = (PetscInt)PetscCeilReal(all);
  PetscCall(PetscMalloc1(4 * *count, grain));
  for (PetscInt q = 0; q < 8; q++) (void)Random(&state);
  for (PetscInt g = 0; g < *count; g++) {
    for (int d = 0; d < 3; d++) (*grain)[4 * g + d] = (r->n[d] * r->h + 2 * margin) * Random(&state) - margin;
    (*grain)[4 * g + 3] = 0.7 + 0.6 * Random(&state);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How large the grains must be to reach each cell, over their relative radii */
static PetscErrorCode Reach(const Rock *r, PetscScalar ***size)
{
  PetscReal *grain;
  PetscInt   count;
  Box        own;

  PetscFunctionBeginUser;
  PetscCall(Scatter(r, &count, &grain));
  PetscCall(Owned(r, &own));
  EACH (own, i, j, k) {
    const PetscReal x[3] = {(i + 0.5) * r->h, (j + 0.5) * r->h, (k + 0.5) * r->h};
    PetscReal       least = PETSC_MAX_REAL;

    for (PetscInt g = 0; g < count; g++) {
      PetscReal square = 0;
      for (int d = 0; d < 3; d++) {
        PetscReal away = PetscAbsReal(x[d] - grain[4 * g + d]);
        if (r->periodic) away = PetscMin(away, r->n[d] * r->h - away);
        square += away * away;
      }
      least = PetscMin(least, square / PetscSqr(grain[4 * g + 3]));
    }
    size[k][j][i] = PetscSqrtReal(least);
  }
  PetscCall(PetscFree(grain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The radius below which a share of 1 - porosity of the cells is reached, by bisection */
static PetscErrorCode Radius(const Rock *r, Vec size, PetscReal *radius)
{
  const PetscScalar *v;
  PetscReal          low = 0, high;
  PetscInt           n, cells;

  PetscFunctionBeginUser;
  PetscCall(VecGetSize(size, &cells));
  PetscCall(VecGetLocalSize(size, &n));
  PetscCall(VecMax(size, NULL, &high));
  high *= 2;
  PetscCall(VecGetArrayRead(size, &v));
  for (int q = 0; q < 60; q++) {
    PetscReal mine = 0, all;

    *radius = 0.5 * (low + high);
    for (PetscInt c = 0; c < n; c++) mine += v[c] < *radius;
    PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
    if (all < PetscFloorReal((1 - r->porosity) * cells + 0.5)) low = *radius;
    else high = *radius;
  }
  *radius = high;
  PetscCall(VecRestoreArrayRead(size, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Fill(Rock *r)
{
  Vec            K;
  PetscScalar ***v;
  PetscReal      radius = 0, mine = 0;
  Box            own;

  PetscFunctionBeginUser;
  PetscCall(Owned(r, &own));
  PetscCall(DMGetGlobalVector(r->da, &K));
  if (!r->layers) {
    PetscCall(DMDAVecGetArray(r->da, K, &v));
    PetscCall(Reach(r, v));
    PetscCall(DMDAVecRestoreArray(r->da, K, &v));
    PetscCall(Radius(r, K, &radius));
  }
  PetscCall(DMDAVecGetArray(r->da, K, &v));
  EACH (own, i, j, k) {
    const PetscBool grain = r->layers ? (PetscBool)((k * r->layers / r->n[2]) % 2) : (PetscBool)(v[k][j][i] < radius);
    v[k][j][i] = grain ? r->solid : 1;
    mine += !grain;
  }
  PetscCall(DMDAVecRestoreArray(r->da, K, &v));
  PetscCall(DMCreateLocalVector(r->da, &r->K));
  PetscCall(DMGlobalToLocal(r->da, K, INSERT_VALUES, r->K));
  PetscCall(DMRestoreGlobalVector(r->da, &K));
  PetscCallMPI(MPI_Allreduce(&mine, &r->pores, 1, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  PetscCheck(r->pores > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-porosity %g leaves not one cell of the grid for pores", (double)r->porosity);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Marks the cells that conduct and are connected with the side of face f, process by process until nothing changes */
static PetscErrorCode Flood(const Rock *r, PetscInt f, Vec marks)
{
  PetscScalar ***K, ***mark;
  PetscInt      *stack, cells = 1;
  PetscBool      changed = PETSC_TRUE;
  Box            own;

  PetscFunctionBeginUser;
  PetscCall(Owned(r, &own));
  for (int d = 0; d < 3; d++) cells *= own.high[d] - own.low[d];
  PetscCall(PetscMalloc1(3 * cells, &stack));
  PetscCall(DMDAVecGetArrayRead(r->da, r->K, &K));
  PetscCall(VecZeroEntries(marks));
  for (PetscBool first = PETSC_TRUE; changed; first = PETSC_FALSE) {
    PetscBool mine = PETSC_FALSE;

    PetscCall(DMLocalToLocalBegin(r->da, marks, INSERT_VALUES, marks));
    PetscCall(DMLocalToLocalEnd(r->da, marks, INSERT_VALUES, marks));
    PetscCall(DMDAVecGetArray(r->da, marks, &mark));
    EACH (own, i, j, k) {
      const PetscInt at[3] = {i, j, k};
      PetscInt       n     = 0;
      PetscBool      seed  = (PetscBool)(first && at[f / 2] == (f % 2 ? r->n[f / 2] - 1 : 0));

      if (!(K[k][j][i] > 0) || mark[k][j][i] > 0) continue;
      for (PetscInt e = 0; e < 6; e++) {
        const PetscInt b[3] = {i + step[e][0], j + step[e][1], k + step[e][2]};
        if (Inside(r, b) && mark[b[2]][b[1]][b[0]] > 0) seed = PETSC_TRUE;
      }
      if (!seed) continue;
      mine          = PETSC_TRUE;
      mark[k][j][i] = 1;
      for (int d = 0; d < 3; d++) stack[d] = at[d];
      for (n = 1; n;) {
        const PetscInt a[3] = {stack[3 * n - 3], stack[3 * n - 2], stack[3 * n - 1]};
        n--;
        for (PetscInt e = 0; e < 6; e++) {
          const PetscInt b[3] = {a[0] + step[e][0], a[1] + step[e][1], a[2] + step[e][2]};
          PetscBool      here = PETSC_TRUE;
          for (int d = 0; d < 3; d++) here = (PetscBool)(here && b[d] >= own.low[d] && b[d] < own.high[d]);
          if (!here || !(K[b[2]][b[1]][b[0]] > 0) || mark[b[2]][b[1]][b[0]] > 0) continue;
          mark[b[2]][b[1]][b[0]] = 1;
          for (int d = 0; d < 3; d++) stack[3 * n + d] = b[d];
          n++;
        }
      }
    }
    PetscCall(DMDAVecRestoreArray(r->da, marks, &mark));
    PetscCallMPI(MPI_Allreduce(&mine, &changed, 1, MPIU_BOOL, MPI_LOR, PETSC_COMM_WORLD));
  }
  PetscCall(DMDAVecRestoreArrayRead(r->da, r->K, &K));
  PetscCall(PetscFree(stack));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With grains that do not conduct: refuses rock without a way through, and closes pores that lead to neither side */
PetscErrorCode Close(Rock *r)
{
  Vec            from[2];
  PetscScalar ***K, ***low, ***high;
  PetscReal      mine[2] = {0, 0}, all[2];
  Box            own;

  PetscFunctionBeginUser;
  PetscCall(Owned(r, &own));
  for (int s = 0; s < 2; s++) {
    PetscCall(DMGetLocalVector(r->da, &from[s]));
    PetscCall(Flood(r, 2 * r->along + s, from[s]));
  }
  PetscCall(DMDAVecGetArray(r->da, r->K, &K));
  PetscCall(DMDAVecGetArrayRead(r->da, from[0], &low));
  PetscCall(DMDAVecGetArrayRead(r->da, from[1], &high));
  EACH (own, i, j, k) {
    if (low[k][j][i] > 0 && high[k][j][i] > 0) mine[0]++;
    if (low[k][j][i] > 0 || high[k][j][i] > 0 || !(K[k][j][i] > 0)) continue;
    mine[1]++;
    K[k][j][i] = 0;
  }
  PetscCall(DMDAVecRestoreArray(r->da, r->K, &K));
  PetscCall(DMDAVecRestoreArrayRead(r->da, from[0], &low));
  PetscCall(DMDAVecRestoreArrayRead(r->da, from[1], &high));
  PetscCall(DMLocalToLocalBegin(r->da, r->K, INSERT_VALUES, r->K));
  PetscCall(DMLocalToLocalEnd(r->da, r->K, INSERT_VALUES, r->K));
  for (int s = 0; s < 2; s++) PetscCall(DMRestoreLocalVector(r->da, &from[s]));
  PetscCallMPI(MPI_Allreduce(mine, all, 2, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  PetscCheck(all[0] > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "No pores lead from side to side, and with -solid 0 nothing flows through the grains: more -porosity, another -seed, or grains that conduct, -solid 1e-4");
  r->closed = all[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}
