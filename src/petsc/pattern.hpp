// The couplings of a matrix.
#pragma once
#include "petsc/recognise.hpp"
#include "petsc/compat.h"
#include <petscmat.h>

namespace tessera {

// f(row, column) for the entries of this process's rows; not those that are zero unless `zeros`.
template <class F> PetscErrorCode ForEntries(Mat A, bool zeros, const F &f)
{
  PetscInt           first, last, n;
  const PetscInt    *columns;
  const PetscScalar *values;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (PetscInt row = first; row < last; ++row) {
    PetscCall(MatGetRow(A, row, &n, &columns, &values));
    for (PetscInt e = 0; e < n; ++e)
      if (zeros || values[e] != 0) f(row, columns[e]);
    PetscCall(MatRestoreRow(A, row, &n, &columns, &values));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Those of all nodes (bs rows each) of an AIJ matrix, on every process; nothing where that would be too much.
// Collective.
PetscErrorCode GatherPattern(Mat A, PetscInt bs, bool zeros, Pattern &pattern);

} // namespace tessera
