// The grids of the Galerkin form as lists of entries.
#pragma once
#include "multigrid/entries.hpp"
#include "rrb/rrb.hpp"

namespace tessera::rrb {

struct GridEntries {
  Entries interpolation; // from the next grid to this one
  Entries next;          // the operator of the next grid
};

// Of all grids but the last one, the finest first. a: the finest operator, which is used up; rows: of the own nodes
// in the matrix, x fastest, negative where a node is none of its rows; own: rows of this process. Nodes of the finest
// grid without couplings take no part, and neither do those of the next grids that only such nodes interpolate from:
// operators are exactly P'AP, and have no empty rows. Collective.
std::vector<GridEntries> grid_entries(Plan &plan, Stencil &a, const std::vector<double> &rows, int own);

} // namespace tessera::rrb
