// Coordinates from rigid body modes.
#pragma once
#include "petsc/geometry.hpp"

namespace tessera {

// The points that the near-null space of the matrix tells (MatSetNearNullSpace()), if it is that of all rigid body
// modes of bs = 2 or 3 unknowns per node: up to a motion and a scale. Else found->dim stays 0. Collective.
PetscErrorCode FromNearNullSpace(const NodesOf &of, Coordinates *found);

} // namespace tessera
