// The grid of a matrix that comes without one, as a block of a solver's matrix does: found by the couplings of its
// rows.
#pragma once
#include <vector>

namespace tessera {

// Rows of a matrix and their columns.
struct Pattern {
  std::vector<int> start, column;
  int              rows() const { return start.empty() ? 0 : (int)start.size() - 1; }
};

struct Placement {
  int              nx = 0, ny = 0; // a grid,
  std::vector<int> node;           // and the node x + nx * y of each row
};

// Nodes of a grid for the rows, so that only the nine neighbours are coupled. Grids of 5 and of 9 points, whatever
// the order of their nodes, with holes and in several parts, as long as each part is one of squares side by side or a
// line. False where that is not found.
bool place_on_grid(const Pattern &pattern, Placement &placement);

} // namespace tessera
