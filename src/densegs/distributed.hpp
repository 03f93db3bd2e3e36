// Sweeps over a matrix whose rows are distributed: the processes take their turns in the order of the rows, so the iterates are those of
// one process. What a process has found goes to all, which multiply with it at the same time. In random order it is panels of 64 rows that
// take turns, in an order over all processes.
#pragma once
#include "densegs/densegs.hpp"
#include <mpi.h>

namespace tessera::densegs {

struct Distributed {
  MPI_Comm            comm = MPI_COMM_NULL;
  int                 rank = 0, size = 1;
  std::vector<int>    first;         // row of each process, and the number of rows
  const double       *a   = nullptr; // this process's rows, by columns; while sweeping
  ptrdiff_t           lda = 0;
  std::vector<double> x, before, after, w; // all unknowns; sums over other processes' unknowns; work
  size_t              bytes() const { return (x.size() + before.size() + after.size() + w.size()) * sizeof(double); }
};

std::vector<int> row_starts(MPI_Comm comm, int rows); // of every process, and the number of rows. Collective
void create(Distributed &d, MPI_Comm comm, int rows);
void share(Distributed &d, const double *x); // d.x from every process's rows of it
// Sweeps on d.x, which ends alike on all processes. plan: of the process's own square block; request: q and bounds of its rows, first, most,
// zero.
void sweep(Distributed &d, Plan &plan, const Request &request);

} // namespace tessera::densegs
