// What a program may have to say within an iteration of a SNES: errors of the domain, and checks of steps.
#pragma once
#include "petsc/compat.h"
#include <petscsnes.h>

namespace tessera {

// After SNESComputeFunction(): has the function left its domain on some process? Then f is infinite on all. Collective.
PetscErrorCode FunctionDomainError(SNES snes, Vec f, bool *error);
// After SNESComputeJacobian(): the same of the Jacobian, where SNESSetCheckJacobianDomainError() asks for it.
// Collective.
PetscErrorCode JacobianDomainError(SNES snes, bool *error);

// The functions of SNESLineSearchSetPreCheck() and SNESLineSearchSetPostCheck(), whichever way a type finds its steps.
enum class StepCheck { before, after };
bool           HasStepChecks(SNES snes);
// X0: the point before; X: the one after the step, within the bounds, which the function may change. step: X0 - X on
// return, where there is a function. Collective.
PetscErrorCode CheckStep(SNES snes, StepCheck when, Vec X0, Vec step, Vec X, bool *changed);

} // namespace tessera
