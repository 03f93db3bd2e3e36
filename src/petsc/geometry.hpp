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
  uint64_t            number = 0; // how often they have been given
  bool                guessed = false; // from the couplings of the matrix
  void                Inspect(const double *v, size_t n); // looks at all of them, once
};

// Whose coordinates are asked for.
struct NodesOf {
  PetscObject solver;           // on its processes
  const char *who;              // begins messages
  Mat         A;                // each block of bs rows is a node
  DM          dm        = nullptr; // the solver's, if it has one
  PetscInt    bs        = 1;
  bool        couplings = true; // as the last resort the couplings of the matrix say who is near whom
};

// *agreed: the list that PCSetCoordinates() left in `given`, as all processes see it. One without rows of the matrix
// need not have called it and gets *empty; an error, if one with rows has not, or dimensions differ. *number: how often
// lists have been given, on the process with most of them. given may be nullptr. Collective.
PetscErrorCode AgreeOnCoordinates(const NodesOf &of, const Coordinates *given, Coordinates *empty,
                                  const Coordinates **agreed, uint64_t *number);

// From the list that PCSetCoordinates() left in `given` (dim > 0), else the file (`file.h5:/path` or PETSc's binary
// format), else the solver's or the matrix's DM. `use` becomes `given`, or `found`, which holds what was found
// elsewhere, and anything without the axes along which all points are equal. The error where there is none of them
// names the three ways.
PetscErrorCode FindCoordinates(const NodesOf &of, const Coordinates &given, const char *file, const char *option,
                               Coordinates *found, const Coordinates **use);

// The same error, where there is no such list, no file and no DM with coordinates, without looking at them.
PetscErrorCode CheckCoordinates(const NodesOf &of, const Coordinates *given, const char *file, const char *option);

// An error, on this process alone, where n is negative, or x is null though there are points.
PetscErrorCode CheckPointer(const char *who, PetscInt n, const PetscReal *x);

// Makes pc keep what PCSetCoordinates() gives, whatever its type does with it.
PetscErrorCode ListenForCoordinates(PC pc);
// Removes the composed functions of ListenForCoordinates(): later coordinates go to pc's type alone. Those that pc has
// stay.
PetscErrorCode StopListening(PC pc);
// The coordinates that such a PC, or a PC auxamg, has been given; nullptr if there are none.
PetscErrorCode GivenCoordinates(PC pc, const Coordinates **given);

} // namespace tessera
