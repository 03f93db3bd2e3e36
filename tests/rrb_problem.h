/* Model problems of the rrb tests: random symmetric 5- and 9-point operators on a DMDA, the same numbers on any number of processes. */
#pragma once
#include <petscdmda.h>
#include <petscksp.h>
#include <tessera.h>

typedef struct {
  PetscInt  nx, ny;
  PetscBool nine, periodic_x, periodic_y, neumann; /* neumann: no Dirichlet boundary, row sums are alpha */
  PetscReal spread, alpha, dead;                   /* couplings 1 .. 1 + spread; zeroth-order term; share of identity rows */
  PetscInt  dirichlet_rows;                        /* boundary rows hold a diagonal alone; 1: their neighbours keep the coupling, 2: they do not */
  PetscInt  seed;
} Model;

static inline PetscReal Hash(PetscInt a, PetscInt b, PetscInt c) /* [0, 1) */
{
  unsigned long long h = (unsigned long long)a * 0x9e3779b97f4a7c15ull + (unsigned long long)b * 0xc2b2ae3d27d4eb4full + (unsigned long long)c * 0x165667b19e3779f9ull + 12345;

  for (int i = 0; i < 3; ++i) h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9ull;
  return (PetscReal)((h ^ (h >> 32)) >> 11) / 9007199254740992.0;
}

static inline PetscBool ModelInside(const Model *m, PetscInt i, PetscInt j)
{
  return (PetscBool)((m->periodic_x || (i >= 0 && i < m->nx)) && (m->periodic_y || (j >= 0 && j < m->ny)));
}

static inline PetscBool ModelDead(const Model *m, PetscInt i, PetscInt j)
{
  return (PetscBool)(m->dead > 0 && Hash((i + m->nx) % m->nx, (j + m->ny) % m->ny, 77) < m->dead);
}

static inline PetscBool ModelDirichlet(const Model *m, PetscInt i, PetscInt j)
{
  return (PetscBool)(m->dirichlet_rows && (i == 0 || j == 0 || i == m->nx - 1 || j == m->ny - 1));
}

/* The coupling of (i,j) in direction k = 3 (dj + 1) + di + 1. */
static inline PetscReal ModelCoupling(const Model *m, PetscInt i, PetscInt j, int k)
{
  const int di = k % 3 - 1, dj = k / 3 - 1;

  if (k == 4 || (di && dj && !m->nine) || !ModelInside(m, i + di, j + dj) || ModelDead(m, i, j) || ModelDead(m, i + di, j + dj)) return 0;
  if (k < 4) return ModelCoupling(m, (i + di + m->nx) % m->nx, (j + dj + m->ny) % m->ny, 8 - k);
  return -(di && dj ? 0.5 : 1) * (1 + m->spread * Hash(i, j, 10 * m->seed + k));
}

/* One row: v[k] in direction k. */
static inline void ModelRow(const Model *m, PetscInt i, PetscInt j, PetscReal v[9])
{
  PetscReal d = m->alpha;

  for (int k = 0; k < 9; ++k) {
    const int di = k % 3 - 1, dj = k / 3 - 1;

    v[k] = ModelCoupling(m, i, j, k);
    if (k != 4 && (m->nine || !di || !dj) && !ModelInside(m, i + di, j + dj) && !m->neumann) d += di && dj ? 0.5 : 1;
    d -= v[k];
    if (m->dirichlet_rows && (ModelDirichlet(m, i, j) || (m->dirichlet_rows == 2 && ModelInside(m, i + di, j + dj) && ModelDirichlet(m, i + di, j + dj)))) v[k] = 0;
  }
  v[4] = ModelDead(m, i, j) ? 1 : d;
}

static inline PetscErrorCode ModelFill(const Model *m, DM da, Mat A)
{
  PetscInt xs, ys, xm, ym, gxs, gys, gxm;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAGetGhostCorners(da, &gxs, &gys, NULL, &gxm, NULL, NULL));
  PetscCall(MatZeroEntries(A));
  for (PetscInt j = ys; j < ys + ym; ++j) {
    for (PetscInt i = xs; i < xs + xm; ++i) {
      PetscReal   v[9];
      PetscScalar w[9];
      PetscInt    n = 0, col[9], row = (j - gys) * gxm + i - gxs;

      ModelRow(m, i, j, v);
      for (int k = 0; k < 9; ++k)
        if (v[k] != 0) col[n] = row + (k / 3 - 1) * gxm + k % 3 - 1, w[n++] = v[k];
      PetscCall(MatSetValuesLocal(A, 1, &row, n, col, w, ADD_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* box: room for nine points whatever the model has */
static inline PetscErrorCode ModelCreate(MPI_Comm comm, const Model *m, PetscBool box, DM *da, Mat *A)
{
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(DMDACreate2d(comm, m->periodic_x ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE, m->periodic_y ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE, m->nine || box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, m->nx, m->ny, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, da));
  if (size > 1) PetscCall(DMSetFromOptions(*da)); /* -da_processors_x */
  PetscCall(DMSetUp(*da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(ModelFill(m, *da, *A));
  if (m->neumann && m->alpha == 0 && !m->dirichlet_rows) {
    MatNullSpace constants;

    PetscCall(MatNullSpaceCreate(comm, PETSC_TRUE, 0, NULL, &constants));
    PetscCall(MatSetNullSpace(*A, constants));
    PetscCall(MatNullSpaceDestroy(&constants));
  }
  PetscFunctionReturn(0);
}

/* Numbers that depend on the node alone. */
static inline PetscErrorCode ModelVector(DM da, PetscInt seed, Vec v)
{
  PetscInt      xs, ys, xm, ym;
  PetscScalar **a;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArray(da, v, &a));
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i) a[j][i] = Hash(i, j, seed) - 0.5;
  PetscCall(DMDAVecRestoreArray(da, v, &a));
  PetscFunctionReturn(0);
}

/* |a - b| / |b| in the largest entry; infinite if there is one that is no number. */
static inline PetscErrorCode Difference(Vec a, Vec b, PetscReal *difference)
{
  Vec       d;
  PetscReal scale;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(a, &d));
  PetscCall(VecWAXPY(d, -1.0, b, a));
  PetscCall(VecNorm(d, NORM_2, difference));
  PetscCall(VecNorm(b, NORM_2, &scale));
  *difference = scale > 0 ? *difference / scale : *difference;
  if (PetscIsInfOrNanReal(*difference)) *difference = PETSC_INFINITY;
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(0);
}

/* One line for a check; its number is printed only where it is too large, so that the expected output holds everywhere. */
static inline PetscErrorCode Check(const char what[], PetscReal value, PetscReal limit)
{
  PetscFunctionBeginUser;
  if (value <= limit) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: ok\n", what));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %g exceeds %g\n", what, (double)value, (double)limit));
  PetscFunctionReturn(0);
}

static inline PetscErrorCode CheckTrue(const char what[], PetscBool value)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", what, value ? "ok" : "not so"));
  PetscFunctionReturn(0);
}
