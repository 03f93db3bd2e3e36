// Bounds of a SNES, by every way that PETSc programs give them, and what may be wrong with them.
#pragma once
#include "exec/exec.hpp"
#include "petsc/compat.h"
#include <petscsnes.h>

namespace tessera {

// As PETSc's VI solvers do at setup: SNESVISetVariableBounds(), SNESVISetComputeVariableBounds(), the DM's bounds, or
// none. snes->xl and snes->xu exist afterwards. X: a vector of the problem.
PetscErrorCode SetUpBounds(SNES snes, Vec X);
void           ForgetBounds(SNES snes);
// The one work vector and the solution's update fit the solution, which may be of another size than that of the
// setup. An error where a process has not as many equations, or rows of the Jacobian, as unknowns. Collective.
PetscErrorCode FitWork(SNES snes, const char *who);
// An error where a vector of bounds is distributed otherwise than X. Collective.
PetscErrorCode CheckDistribution(MPI_Comm comm, Vec X, Vec xl, Vec xu);

// X := the nearest point between the bounds. VecMedian() works on the host alone, and says that X has changed only on
// processes that have rows of it: a norm that PETSc keeps with X would be found anew on these alone, which wait for the
// others for ever. Collective.
PetscErrorCode ProjectToBounds(const Exec &exec, Vec xl, Vec xu, Vec X);
PetscErrorCode ProjectToBounds(SNES snes, Vec X); // on the host, between the bounds of snes

struct BoundsReport {
  PetscInt  lower = 0, upper = 0; // finite ones
  // nothing lies between; no numbers; the first unknown of the latter, or of the former
  PetscInt  crossed = 0, nan = 0, first = -1;
  // nothing lies between by no more than rounding: both are one value that has been computed in two ways
  PetscInt  rounded = 0;
  PetscReal xl = 0, xu = 0;       // there
  PetscReal largest = 0;          // of the finite ones, by absolute value
};
// Collective; equal on all processes.
PetscErrorCode LookAtBounds(const Exec &exec, Vec xl, Vec xu, BoundsReport *report);

// The upper bounds to solve with: xu, where that is nowhere below xl, else a vector that is xl there.
class UpperBounds {
public:
  UpperBounds() = default;
  UpperBounds(const UpperBounds &) = delete;
  UpperBounds &operator=(const UpperBounds &) = delete;
  ~UpperBounds() { (void)VecDestroy(&v_); }
  PetscErrorCode Make(Vec xl, Vec xu, const BoundsReport &report); // collective
  operator Vec() const { return v_; }

private:
  Vec v_ = nullptr;
};

} // namespace tessera
