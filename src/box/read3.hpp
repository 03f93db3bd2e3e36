// Rows of a matrix, where they lie, as the coefficients of a grid of one to three dimensions.
#pragma once
#include "box/grid3.hpp"
#include "exec/index.hpp"

namespace tessera::box {

// Where an operator is read to: planes of coefficients and flags on the layout of a grid. T: double or float.
template <class T> struct Finest {
  Exec         exec;
  int          dimension = 0;
  const Grid3 *grid      = nullptr;
  bool         box       = false;   // with diagonal couplings: 3^d planes (cube.hpp)
  T           *a         = nullptr;
  uint8_t     *free      = nullptr; // not a Dirichlet row
};

struct RowsOf {
  // beginnings and columns: own nodes, and others, if any
  const Index  *i = nullptr, *j = nullptr, *oi = nullptr, *oj = nullptr;
  const double *a = nullptr, *o = nullptr;
  const int    *remote = nullptr; // three indices of the node of each of the other columns
};
struct ReadSums {
  ptrdiff_t dirichlet = 0; // rows
  ptrdiff_t shifted   = 0; // rows with couplings whose diagonal entry is not positive, and so has been replaced
  ptrdiff_t single    = 0; // the same without couplings
  ptrdiff_t wrong     = 0; // rows with couplings beyond the neighbours, or with what is no number
  int       box       = 0; // there are couplings along diagonals
  HD void   join(const ReadSums &o)
  {
    dirichlet += o.dirichlet;
    shifted += o.shifted;
    single += o.single;
    wrong += o.wrong;
    box |= o.box;
  }
};
// middle: the middle line alone. Waits.
template <class T> ReadSums read_rows(const Finest<T> &to, const RowsOf &A, bool middle = false);

} // namespace tessera::box
