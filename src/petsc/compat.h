// The only file that tests PETSC_VERSION_*: PETSc 3.18 to the current one.
#pragma once
#include <petscsys.h>

#if PETSC_VERSION_LT(3, 18, 0)
  #error "Tessera needs PETSc 3.18 or newer"
#endif
#if defined(PETSC_USE_COMPLEX)
  #error "Tessera needs a PETSc with real scalars: this one is configured with complex scalars"
#endif
#if !defined(PETSC_USE_REAL_DOUBLE)
  #error "Tessera needs a PETSc in double precision: this one is configured with another precision"
#endif

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS ((PetscErrorCode)0)
#endif
#if PETSC_VERSION_LT(3, 23, 0) // PetscOptionItems became a pointer type
using CompatOptionItems = PetscOptionItems *;
#else
using CompatOptionItems = PetscOptionItems;
#endif

// KSP's least number of iterations, where it has one.
template <class K> auto CompatMinIt(K ksp, int) -> decltype(ksp->min_it) { return ksp->min_it; }
template <class K> int  CompatMinIt(K, long) { return 0; }
template <class K> auto CompatKSPMinIt(K ksp) { return CompatMinIt(ksp, 0); }
