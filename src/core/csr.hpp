// From a matrix in compressed sparse rows to a stencil, where the arrays of the matrix lie. One process; row x + nx y is node (x, y).
#pragma once
#include "core/dirichlet.hpp"
#include "core/stencil.hpp"

namespace tessera {

template <class Index> struct Csr {
  const Index  *i = nullptr, *j = nullptr; // beginnings of rows, columns
  const double *a = nullptr;
};

// What was found.
struct CsrReport {
  double    asymmetry = 0; // largest |a_ij - a_ji| between rows that are not Dirichlet
  double    largest   = 0; // diagonal entry of such rows
  double    deficit   = 0; // largest negative row sum, relative to the row's diagonal entry
  ptrdiff_t dirichlet = 0; // Dirichlet rows
  ptrdiff_t wrong     = 0; // rows with an entry that is outside the nine neighbours or not finite, or without a positive diagonal
  int       nine      = 0; // a diagonal coupling is not zero
  HD void   join(const CsrReport &o)
  {
    asymmetry = o.asymmetry > asymmetry ? o.asymmetry : asymmetry;
    largest   = o.largest > largest ? o.largest : largest;
    deficit   = o.deficit > deficit ? o.deficit : deficit;
    dirichlet += o.dirichlet;
    wrong += o.wrong;
    nine |= o.nine;
  }
};

// The mean of the matrix and its transpose, in the zeroed stencil `s`; couplings with Dirichlet rows are left out. s.nine says
// whether diagonal couplings are expected, afterwards whether there are any. raise: negative row sums come off the diagonal.
// dirichlet[row] is 1 for Dirichlet rows. The host waits once, for the report.
template <class Index> CsrReport csr_read(const Exec &exec, const Grid &grid, const Csr<Index> &A, bool raise, Stencil &s, Buffer<unsigned char> &dirichlet);

// The Dirichlet rows and the couplings with them, by what csr_read() left in `s` and `dirichlet`.
template <class Index> DirichletCouplings csr_dirichlet(const Exec &exec, const Grid &grid, const Csr<Index> &A, Stencil &s, const Buffer<unsigned char> &dirichlet);

} // namespace tessera
