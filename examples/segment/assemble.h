/* The discrete step of one pixel, for the host and for the device */
#ifndef SEGMENT_ASSEMBLE_H
#define SEGMENT_ASSEMBLE_H
#include <petscvec.h>

#ifdef __CUDACC__
  #define SEGMENT_HD __host__ __device__
#else
  #define SEGMENT_HD
#endif

/* Own pixels, and those with ghosts in the arrays of a local vector */
typedef struct {
  PetscInt  n, xs, ys, xm, ym, gxs, gys, gxm;
  PetscReal eps, tau;
} Pixels;

SEGMENT_HD static inline PetscScalar PixelAt(const Pixels *p, const PetscScalar *a, PetscInt i, PetscInt j) /* mirrored at the edges: Neumann */
{
  i = i < 0 ? 0 : i < p->n ? i : p->n - 1;
  j = j < 0 ? 0 : j < p->n ? j : p->n - 1;
  return a[i - p->gxs + p->gxm * (j - p->gys)];
}

/*
  Co-volumes: pixel i with |p_i| = h^2, its face f to neighbour j. Q at a face from the differences across and along it, of the step before:

    h^2 / (tau Q_i) (u_i - u_i^old) - sum_f g_f / Q_f (u_j - u_i)  <= 0,  u <= v,  complementary

  row: of the matrix, the pixel itself and its neighbours to the right, left, above, below; a neighbour outside is left out by the pattern.
*/
SEGMENT_HD static inline PetscScalar PixelRow(const Pixels *p, const PetscScalar *u, const PetscScalar *g, PetscInt i, PetscInt j, PetscScalar row[5])
{
  const PetscReal h = 1. / p->n, here = PixelAt(p, u, i, j), g_here = PixelAt(p, g, i, j);
  PetscReal       Q = 0;

  row[0] = 0;
  for (int k = 0; k < 4; ++k) {
    const PetscInt  di = k == 0 ? 1 : k == 1 ? -1 : 0, dj = k == 2 ? 1 : k == 3 ? -1 : 0, i2 = i + di, j2 = j + dj;
    const PetscReal across = (PixelAt(p, u, i2, j2) - here) / h;
    const PetscReal along  = (PixelAt(p, u, i + dj, j + di) + PixelAt(p, u, i2 + dj, j2 + di) - PixelAt(p, u, i - dj, j - di) - PixelAt(p, u, i2 - dj, j2 - di)) / (4 * h);
    const PetscReal q      = sqrt(p->eps * p->eps + across * across + along * along);
    const int       inside = i2 >= 0 && j2 >= 0 && i2 < p->n && j2 < p->n;
    const PetscReal w      = inside ? 0.5 * (g_here + PixelAt(p, g, i2, j2)) / q : 0;
    Q += q / 4;
    row[k + 1] = -w;
    row[0] += w;
  }
  const PetscReal mass = h * h / (p->tau * Q);
  row[0] += mass;
  return mass * here; /* of the right-hand side */
}

/* All own pixels; u and g are local vectors, values has five entries a pixel, all three on the device */
#if defined(SEGMENT_CUDA)
  #ifdef __cplusplus
extern "C"
  #endif
  PetscErrorCode AssembleCUDA(const Pixels *p, Vec u, Vec g, PetscScalar **values, Vec b); /* makes values the first time */
  #ifdef __cplusplus
extern "C"
  #endif
  PetscErrorCode ReleaseCUDA(PetscScalar *values);
#endif
#endif
