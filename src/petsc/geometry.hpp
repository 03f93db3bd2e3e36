// Coordinates of the nodes of a matrix.
#pragma once
#include "petsc/device.hpp"
#include <petscpc.h>
#include <string>
#include <vector>

namespace tessera {

struct Coordinates {
  PetscInt            dim = 0;
  std::vector<double> x;    // `dim` for each own node: each block of bs rows
  std::string         from; // where they come from, for views
};

// From the list that PCSetCoordinates() left in `given` (dim > 0), else the file (`file.h5:/path` or PETSc's binary format), else the
// solver's or the matrix's DM. The error where there is none of them names the three ways.
PetscErrorCode FindCoordinates(PC pc, PetscInt bs, const Coordinates &given, const char *file, const char *option, Coordinates *found);

} // namespace tessera
