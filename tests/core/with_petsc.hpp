// For unit programs that use PETSc and Tessera's functions for it.
#pragma once
#include "tessera.h"
#include "unit.hpp"
#include <cstdlib>

#define OK(call) \
  do { \
    if (call) { \
      ADD_FAILURE() << #call; \
      abort(); /* PETSc has told why */ \
    } \
  } while (0)

// testing::AddGlobalTestEnvironment(new Petsc)
struct Petsc : testing::Environment {
  void SetUp() override
  {
    OK(PetscInitialize(nullptr, nullptr, nullptr, nullptr));
    OK(TesseraInitializePackage());
  }
  void TearDown() override { OK(PetscFinalize()); }
};
