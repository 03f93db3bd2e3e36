// What a program may have to say within an iteration of a SNES: errors of the domain, and checks of steps.
#pragma once
#include "petsc/compat.h"
#include <petscsnes.h>

namespace tessera {

// After SNESComputeFunction(): has the function left its domain on some process? Then f is infinite on all. Collective.
PetscErrorCode FunctionDomainError(SNES snes, Vec f, bool *error);
// text: the first row in which v, which is called `what`, is not finite; left as it is where there is none. Collective.
PetscErrorCode NameNotFinite(Vec v, const char *what, char *text, size_t size);
// After SNESComputeJacobian(): has the Jacobian left its domain on some process? Asked only where
// SNESSetCheckJacobianDomainError() wants it. Collective.
PetscErrorCode JacobianDomainError(SNES snes, bool *error);

// The functions of SNESLineSearchSetPreCheck() and SNESLineSearchSetPostCheck(), whichever way a type finds its steps.
enum class StepCheck { before, after };
bool           HasStepChecks(SNES snes);
// X0: the point before; X: the one after the step, within the bounds, which the function may change. step: X0 - X on
// return, where there is a function. Collective.
PetscErrorCode CheckStep(SNES snes, StepCheck when, Vec X0, Vec step, Vec X, bool *changed);

} // namespace tessera
