// From a matrix in compressed sparse rows to a stencil, where the arrays of the matrix lie. A process has the rows of
// its box, x fastest.
#pragma once
#include "box/dirichlet.hpp"
#include "box/stencil.hpp"

namespace tessera {

template <class Index> struct Csr {
  const Index  *i = nullptr, *j = nullptr; // beginnings of rows, columns
  const double *a = nullptr;
  // columns of other processes, by the numbers of a list, and the node of each in the list
  const Index  *oi = nullptr, *oj = nullptr;
  const double *oa = nullptr;
  const int    *ox = nullptr, *oy = nullptr;
};

// What was found.
struct CsrReport {
  double    asymmetry = 0; // largest |a_ij - a_ji| between rows that are not Dirichlet
  double    largest   = 0; // diagonal entry of such rows
  double    deficit   = 0; // largest negative row sum, relative to the row's diagonal entry
  ptrdiff_t dirichlet = 0; // Dirichlet rows
  // rows with an entry that is outside the nine neighbours or not finite, or without a positive diagonal
  ptrdiff_t wrong     = 0;
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

// What csr_read() leaves beside the stencil. Kept for the next reading it costs no time again.
struct CsrWork {
  Buffer<unsigned char> dirichlet; // 1 for Dirichlet rows
  Pinned                report;    // on the device: a CsrReport, which its kernels write
};

// The mean of the matrix and its transpose, in the zeroed stencil `s`; couplings with Dirichlet rows are left out.
// s.nine says whether diagonal couplings are expected, afterwards whether there are any. raise: negative row sums
// come off the diagonal. The host waits once, for the report. Of a coupling between two processes each adds the half
// that its own row gives, at its own node or at a ghost one; the report is this process's.
template <class Index>
CsrReport csr_read(const Exec &exec, const Grid &grid, const Csr<Index> &A, bool raise, Stencil &s, CsrWork &work);
// On the device, without the wait, of as many diagonal couplings as s.nine says: after the host's next one the report
// is in the work. If it has others the stencil is not right.
template <class Index>
void csr_read_ahead(const Exec &exec, const Grid &grid, const Csr<Index> &A, bool raise, Stencil &s, CsrWork &work);
inline const CsrReport     &csr_report(const CsrWork &work) { return *(const CsrReport *)work.report.data(); }

// Joins these halves and fills the ghost nodes; all processes agree on s.nine. Returns the largest difference between
// a_ij and a_ji over this process's couplings with others. Collective; the host waits.
template <class Index> double csr_join(const Exec &exec, const Grid &grid, Halo &halo, const Csr<Index> &A, Stencil &s);

// One process, or none with couplings to Dirichlet rows: the Dirichlet rows and the couplings with them, by what
// csr_read() left in `s` and `work`.
template <class Index> DirichletCouplings csr_dirichlet(const Exec &exec, const Grid &grid, const Csr<Index> &A,
                                                        Stencil &s, const CsrWork &work);

} // namespace tessera
