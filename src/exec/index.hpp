// The integers by which PETSc numbers rows and columns: the arrays of a matrix are read as they are, so that kernels
// which read them are compiled for these integers alone.
#pragma once
#include <cstdint>
#include <petscconf.h> // how PETSc was built, no more

namespace tessera {

#ifdef PETSC_USE_64BIT_INDICES
using Index = int64_t;
#else
using Index = int32_t;
#endif

} // namespace tessera
