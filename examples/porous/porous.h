/* The rock: porous.c has the equations, rock.c the grains and the pores between them */
#pragma once

#include "../compare/compare.h"
#include <petscdmda.h>

#if defined(PETSC_USE_COMPLEX) || !defined(PETSC_USE_REAL_DOUBLE)
  #error "porous needs a PETSc with real scalars in double precision"
#endif

typedef struct {
  PetscInt  n[3], along, grains, seed, layers;
  PetscReal h, porosity, solid;
  PetscReal pores, closed; /* numbers of cells */
  PetscBool periodic, csr;
  DM        da;
  Vec       K; /* local; zero: nothing flows there */
  Mat       A;
  Vec       b;
} Rock;

/* Cells that this process owns: from low to before high */
typedef struct {
  PetscInt low[3], high[3];
} Box;

static const PetscInt step[6][3] = {{-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}};

#define EACH(box, i, j, k) \
  for (PetscInt k = (box).low[2]; k < (box).high[2]; k++) \
    for (PetscInt j = (box).low[1]; j < (box).high[1]; j++) \
      for (PetscInt i = (box).low[0]; i < (box).high[0]; i++)

/* rock.c */
PetscErrorCode Owned(const Rock *, Box *);
PetscErrorCode Fill(Rock *);
PetscErrorCode Close(Rock *);

static inline PetscBool Inside(const Rock *r, const PetscInt c[3])
{
  return (PetscBool)(c[0] >= 0 && c[1] >= 0 && c[2] >= 0 && c[0] < r->n[0] && c[1] < r->n[1] && c[2] < r->n[2]);
}

/* Of face f of a cell, over h: zero where nothing flows through the box's side */
static inline PetscReal Conductance(const Rock *r, PetscScalar ***K, PetscInt i, PetscInt j, PetscInt k, PetscInt f)
{
  const PetscInt  other[3] = {i + step[f][0], j + step[f][1], k + step[f][2]};
  const PetscReal a        = K[k][j][i];

  if (!Inside(r, other)) return f / 2 == r->along ? 2 * a : 0;
  const PetscReal b = K[other[2]][other[1]][other[0]];
  return a > 0 && b > 0 ? 2 * a * b / (a + b) : 0;
}
