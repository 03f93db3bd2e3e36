/* Fills the matrix of a 5-point operator on a DMDA of the plane. */
#pragma once
#include <petscdmda.h>

/* coupling(): of node (i, j) with its neighbor in direction k (0 west, 1 east, 2 south, 3 north), 0 for none; *add is
   what it adds to the diagonal entry, which is the coupling unless the function says otherwise. The neighbor may lie
   outside of the grid: then the coupling itself does not matter.
   diagonal(): the diagonal entry, given the sum of these; NULL: the sum itself. */
typedef struct {
  PetscReal (*coupling)(const void *ctx, PetscInt i, PetscInt j, int k, PetscBool inside, PetscReal *add);
  PetscReal (*diagonal)(const void *ctx, PetscInt i, PetscInt j, PetscReal sum);
  const void *ctx;
} FivePoints;

static const PetscInt five_points_di[4] = {-1, 1, 0, 0}, five_points_dj[4] = {0, 0, -1, 1};

static inline PetscErrorCode FivePointsFill(FivePoints f, DM da, Mat A)
{
  PetscInt xs, ys, xm, ym, nx, ny;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, NULL, &nx, &ny, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(MatZeroEntries(A));
  for (PetscInt j = ys; j < ys + ym; ++j)
    for (PetscInt i = xs; i < xs + xm; ++i) {
      MatStencil  row = {0, j, i, 0}, col[5];
      PetscScalar v[5];
      PetscReal   sum = 0;
      PetscInt    n = 0;
      for (int k = 0; k < 4; ++k) {
        const PetscInt  x = i + five_points_di[k], y = j + five_points_dj[k];
        const PetscBool inside = (PetscBool)(x >= 0 && y >= 0 && x < nx && y < ny);
        PetscReal       add = -1;
        const PetscReal w = f.coupling(f.ctx, i, j, k, inside, &add);
        sum += add < 0 ? w : add;
        if (!inside || w == 0) continue;
        col[n].k = 0, col[n].j = y, col[n].i = x, col[n].c = 0;
        v[n++] = -w;
      }
      col[n] = row;
      v[n++] = f.diagonal ? f.diagonal(f.ctx, i, j, sum) : sum;
      PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}
