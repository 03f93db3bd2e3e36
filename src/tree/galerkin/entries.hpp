// The interpolations and operators of the grids as lists of entries.
#pragma once
#include "tree/hierarchy.hpp"
#include "multigrid/entries.hpp"

namespace tessera::tree {

// Collective; bs: unknowns of a node. P from grid l + 1 to grid l, without unknowns of which the operator has nothing
// but zeros, as they are fixed; and the operator of grid l > 0 in the units of the matrix.
template <class T> Entries interpolation(Hierarchy<T> &h, MPI_Comm comm, int bs, size_t l);
template <class T> Entries grid_operator(Hierarchy<T> &h, MPI_Comm comm, int bs, size_t l);

} // namespace tessera::tree
