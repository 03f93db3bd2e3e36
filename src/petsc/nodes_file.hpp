// Numbers of a mesh's nodes from a file: coordinates, normals.
#pragma once
#include "petsc/device.hpp"
#include <petscvec.h>

namespace tessera {

struct NodesFile {
  PetscObject solver = nullptr; // on its processes
  const char *who = "", *what = "";            // begins messages; what the numbers are
  PetscInt    n = 0, all = 0, bs = 1;          // nodes of this process and of all; unknowns of each
  PetscInt    min = 1, max = 3;                // numbers per node may have
};

// `file.h5:/path`, or a Vec in PETSc's binary format: as many numbers for each node, in the order of the matrix' rows.
// *x, which the caller destroys, has *each for every own node. Collective.
PetscErrorCode ReadNodesFile(const NodesFile &of, const char *file, Vec *x, PetscInt *each);

} // namespace tessera
