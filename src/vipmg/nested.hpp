// A start from a coarser DMDA, where the program's functions are for any grid.
#pragma once
#include "petsc/compat.h"
#include <petscsnes.h>

namespace tessera::vipmg {

// Is there a coarser grid that the program's functions are for? They are those of DMDASNESSetFunctionLocal() and its
// kin, which are given their grid.
PetscErrorCode HasNested(SNES snes, bool *has);
// X := what the problem's solution on the next coarser grid is here, between the bounds; start: where Newton's method
// begins there. Collective.
PetscErrorCode FindNested(SNES snes, Vec start, Vec X, bool *found);

} // namespace tessera::vipmg
