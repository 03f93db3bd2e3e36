// From a matrix in compressed sparse rows to a stencil, where the arrays of the matrix lie. A process has the rows of
// its box, x fastest.
#pragma once
#include "box/dirichlet.hpp"
#include "box/stencil.hpp"
#include "exec/index.hpp"
#include <vector>

namespace tessera {

struct Csr {
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
  // there is a row with an entry that is outside the nine neighbours or not finite, or without a positive diagonal
  int       wrong     = 0;
  int       nine      = 0; // a diagonal coupling is not zero
  HD void   join(const CsrReport &o)
  {
    asymmetry = o.asymmetry > asymmetry ? o.asymmetry : asymmetry;
    largest   = o.largest > largest ? o.largest : largest;
    deficit   = o.deficit > deficit ? o.deficit : deficit;
    dirichlet += o.dirichlet;
    wrong |= o.wrong;
    nine |= o.nine;
  }
};

// The first wrong row that the host has met; rows and columns are this process's numbers.
struct WrongRow {
  enum Kind { fine, outside, not_finite, diagonal } kind = fine;
  ptrdiff_t row = -1, column = -1;
  bool      others = false; // the column is one of the list of other processes' columns
  int       x = 0, y = 0;   // the node of the row
  double    value = 0;
};

// Consecutive rows of a grid line with the same pattern in the own block: entry e of each is in direction k[e].
struct RowRun {
  int       first, count; // nodes of the line
  ptrdiff_t start;        // place of the first entry
  int       entries;      // of a row; -1: read the row by itself
  char      k[9];
};

// A coupling with a Dirichlet row: of node (x, y), in direction k.
struct TakenCoupling {
  int    x, y, k;
  double value;
};

// What a reading leaves beside the stencil. Kept for the next reading it costs no time again.
struct CsrWork {
  // of the device
  Buffer<unsigned char> dirichlet; // 1 for Dirichlet rows
  Pinned                report;    // a CsrReport, which its kernels write
  // of the host, which reads line by line
  bool                       by_lines = false; // the last reading was the host's
  WrongRow                   wrong;
  std::vector<RowRun>        runs;      // of all lines, made at the first reading of a pattern
  std::vector<size_t>        line_runs; // where each line's runs begin
  std::vector<TakenCoupling> taken;
  std::vector<ptrdiff_t>     dirichlet_rows;
  std::vector<double>        inverse; // of their diagonal entries
};

// Reads a matrix into a zeroed stencil of five points: the mean of the matrix and its transpose, without the couplings
// with Dirichlet rows. The host reads line by line (csr_lines.cxx), as rows of a pattern lie in memory, the device by
// tiles (csr.k.cxx): by tiles the host takes 2.3 times as long, which would make a setup a third longer. The field, in
// the stencil's layout, lends the host memory. Of a coupling between two processes each adds the half that its own row
// gives, at its own node or at a ghost one, until join().
struct CsrReader {
  const Exec       &exec;
  const Grid       &grid;
  Halo             &halo;
  double           *field;
  const Csr        &A;
  Stencil          &s;
  CsrWork          &work;

  // This process's report; s.nine says afterwards whether there are diagonal couplings. raise: negative row sums come
  // off the diagonal. nine: such couplings are expected, which saves the device a second reading. Collective.
  CsrReport          read(bool raise, bool nine) const;
  // On the device, without waiting for the report, which is in report() after the host's next wait. If there are other
  // diagonal couplings than expected the stencil is not right.
  void               read_ahead(bool nine) const;
  // Joins the halves and fills the ghost nodes; all processes agree on s.nine. Returns the largest difference between
  // a_ij and a_ji over this process's couplings with others. Collective; the host waits.
  double             join() const;
  // On the host: gives the joined stencil the row sums of the matrix where that is not symmetric. Collective.
  void               keep_row_sums() const;
  // The Dirichlet rows and the couplings with them, in the memory of a space. Couplings with rows of other processes
  // are known on the host alone.
  DirichletCouplings dirichlet(Space space) const;
  static const CsrReport &report(const CsrWork &work) { return *(const CsrReport *)work.report.data(); }

private:
  void               read_tiles(bool raise, CsrReport *report) const;
  void               fold() const;
  DirichletCouplings list_dirichlet() const;
};

} // namespace tessera
