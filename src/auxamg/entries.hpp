// The interpolations and operators of the grids as lists of entries.
#pragma once
#include "auxamg/auxamg.hpp"

namespace tessera::auxamg {

// Entries of a matrix by the numbers of all processes' unknowns, of which this one has so many rows and columns. Those given twice add up.
struct Entries {
  int                    rows = 0, columns = 0;
  std::vector<long long> row, column;
  std::vector<double>    value;
  void                   add(long long r, long long c, double v)
  {
    row.push_back(r);
    column.push_back(c);
    value.push_back(v);
  }
};

// Collective; bs: unknowns of a node. P from grid l + 1 to grid l, without unknowns of which the operator has nothing but zeros, as they are
// fixed; and the operator of grid l > 0 in the units of the matrix.
template <class T> Entries interpolation(Hierarchy<T> &h, MPI_Comm comm, int bs, size_t l);
template <class T> Entries grid_operator(Hierarchy<T> &h, MPI_Comm comm, int bs, size_t l);

} // namespace tessera::auxamg
