// Coordinates of the nodes of a matrix.
#pragma once
#include "exec/buffer.hpp"
#include "petsc/device.hpp"
#include <petscpc.h>
#include <string>

namespace tessera {

struct Coordinates {
  PetscInt            dim = 0;
  Buffer<double>      x;    // `dim` for each own node: each block of bs rows; may lie on a device where all are finite
  std::string         from; // where they come from, for views
  double              low[3] = {}, high[3] = {}; // of this process's points, by Inspect()
  bool                finite = true;
  void                Inspect(const double *v, size_t n); // looks at all of them, once
};

// From the list that PCSetCoordinates() left in `given` (dim > 0), else the file (`file.h5:/path` or PETSc's binary
// format), else the solver's or the matrix's DM. `use` becomes `given`, or `found`, which holds what was found
// elsewhere, and anything without the axes along which all points are equal. The error where there is none of them
// names the three ways.
PetscErrorCode FindCoordinates(PC pc, PetscInt bs, const Coordinates &given, const char *file, const char *option,
                               Coordinates *found, const Coordinates **use);

} // namespace tessera
