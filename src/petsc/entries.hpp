// Lists of entries as PETSc's matrices.
#pragma once
#include "multigrid/entries.hpp"
#include <petscpc.h>

namespace tessera {

// The list, as a matrix of the kind that pc has, with this block size. Collective.
PetscErrorCode MatrixOf(PC pc, PetscInt bs, const Entries &e, Mat *A);

} // namespace tessera
