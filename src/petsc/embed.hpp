// Coordinates for a matrix that comes without any, as the block of a domain decomposition does.
#pragma once
#include "petsc/recognise.hpp"

namespace tessera {

// Points so that coupled rows are near each other: distances along the couplings from some rows, laid out in one to
// three dimensions by multidimensional scaling with landmarks (de Silva, Tenenbaum: Sparse multidimensional scaling
// using landmark points, 2004). Parts that are not coupled lie side by side. dim values for each row.
void coordinates_of_graph(const Pattern &pattern, int *dim, std::vector<double> &x);

} // namespace tessera
