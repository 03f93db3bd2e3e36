// Options that are lists.
#pragma once
#include "petsc/compat.h"
#include <petscsys.h>

namespace tessera {

// How many numbers the list of an option has: PETSc reads as many as are wanted and drops the others.
inline PetscErrorCode CountNumbers(CompatOptionItems items, const char *option, PetscInt *n)
{
  PetscInt  numbers[64];
  PetscBool set;

  PetscFunctionBegin;
  *n = sizeof(numbers) / sizeof(numbers[0]);
  PetscCall(PetscOptionsGetIntArray(items->options, items->prefix, option, numbers, n, &set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
