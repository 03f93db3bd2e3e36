// Sweeps over a matrix whose rows are distributed: the processes take their turns in the order of the rows, so the iterates are those of
// one process. What a process has found goes to all, which multiply with it at the same time.
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

void create(Distributed &d, MPI_Comm comm, int rows);
// Sweeps for A x + q = 0 from x (zero: it is zero); local vectors. plan: of the process's own square block.
void sweep(Distributed &d, Plan &plan, const double *q, double *x, int most, bool zero);

} // namespace tessera::densegs
