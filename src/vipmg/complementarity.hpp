// How well a point solves a variational inequality F(x) between the bounds XL and XU. Collective; vectors on the host
// or on a device.
#pragma once
#include "petsc/compat.h"
#include <petscvec.h>

namespace tessera::vipmg {

// At the solution all are zero.
struct ComplementarityNorms {
  PetscReal fischer_burmeister = 0; // the function's norm, first with the upper bound, then with the lower one
  PetscReal violation          = 0; // the most that a bound is exceeded by
  PetscReal gap                = 0; // the sum of F times the distance from the bound that F presses against
};
PetscErrorCode Complementarity(Vec X, Vec F, Vec XL, Vec XU, ComplementarityNorms *norms);

// Active nodes that F presses against a bound, and all within `zero` of a bound; lower, upper. residual: F without the
// active nodes, active: 1 at them; nullptr where they are not wanted.
PetscErrorCode CountActive(Vec X, Vec F, Vec XL, Vec XU, PetscReal zero, Vec residual, Vec active, PetscInt pressed[2],
                           PetscInt at[2]);

} // namespace tessera::vipmg
