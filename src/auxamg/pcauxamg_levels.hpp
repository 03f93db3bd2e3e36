// PCGetInterpolations() and PCGetCoarseOperators() of PC auxamg.
#pragma once
#include <petscpc.h>

namespace tessera {

PetscErrorCode GetInterpolationsAuxAMG(PC, PetscInt *, Mat *[]);
PetscErrorCode GetCoarseOperatorsAuxAMG(PC, PetscInt *, Mat *[]);

} // namespace tessera
