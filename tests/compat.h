/* PETSc's names that changed between 3.18 and 3.26, for the programs of tests/ and bench/. */
#pragma once
#include <petscksp.h>

#if PETSC_VERSION_LT(3, 25, 0)
  #define SetDMActive(ksp, flag) KSPSetDMActive(ksp, flag)
#else
  #define SetDMActive(ksp, flag) KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, flag)
#endif
