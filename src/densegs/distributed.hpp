// Sweeps over a matrix whose rows are distributed: the processes take their turns in the order of the rows, so the
// iterates are those of one process. What a process has found goes to all, which multiply with it at the same time.
// In random order it is panels of 64 rows that take turns, in an order over all processes.
#pragma once
#include "exec/comm.hpp"
#include "densegs/densegs.hpp"
#include <new>

namespace tessera::densegs {

struct Distributed {
  Comm                comm;
  int                 rank = 0, size = 1;
  std::vector<int>    first;         // row of each process, and the number of rows
  const double       *a   = nullptr; // this process's rows, by columns
  ptrdiff_t           lda = 0;
  int                 left_out = 0;  // columns of the own square block, where `a` is without them
  std::vector<double> kept;          // what `a` points to after keep()
  std::vector<double> x, before, after, w; // all unknowns; sums over other processes' unknowns; work
  const double       *column(int j) const { return a + (ptrdiff_t)(j < first[(size_t)rank] ? j : j - left_out) * lda; }
  size_t bytes() const { return (kept.size() + x.size() + before.size() + after.size() + w.size()) * sizeof(double); }
};

// Memory that one process may not have: then all throw, and none waits for it. Collective.
template <class F> void allocate(MPI_Comm comm, F &&f)
{
  int fits = 1;
  try {
    f();
  } catch (const std::bad_alloc &) {
    fits = 0;
  }
  MPI_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_INT, MPI_MIN, comm);
  if (!fits) throw std::bad_alloc();
}

std::vector<int> row_starts(MPI_Comm comm, int rows); // of every process, and the number of rows. Collective
void create(Distributed &d, const Comm &comm, int rows);
// A copy of this process's rows, which stays when the matrix changes: of the other processes' columns, as the plan
// has the own block, or of all of them. Says which of the former are not finite, by rows and columns of the whole
// matrix, and their largest entry. Collective.
Check  keep(Distributed &d, const double *a, ptrdiff_t lda, bool all);
// the largest |a_ij - a_ji| between rows of different processes. Collective
double difference_across(const Distributed &d);
void   gather(Distributed &d, const double *x); // d.x from every process's rows of it
// Sweeps on d.x, which ends alike on all processes. plan: of the process's own square block; request: q and bounds of
// its rows, first, sweeps, zero.
void sweep(Distributed &d, Plan &plan, const Request &request);

} // namespace tessera::densegs
