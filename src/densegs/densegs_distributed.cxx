#include "densegs/distributed.hpp"
#include <algorithm>
#include <cstring>

namespace tessera::densegs {

void create(Distributed &d, MPI_Comm comm, int rows)
{
  d.comm = comm;
  MPI_Comm_rank(comm, &d.rank);
  MPI_Comm_size(comm, &d.size);
  std::vector<int> count((size_t)d.size);
  MPI_Allgather(&rows, 1, MPI_INT, count.data(), 1, MPI_INT, comm);
  d.first.assign(1, 0);
  for (int c : count) d.first.push_back(d.first.back() + c);
  d.x.assign((size_t)d.first.back(), 0);
  d.before.assign((size_t)rows, 0);
  d.after.assign((size_t)rows, 0);
  d.w.assign((size_t)rows, 0);
}

// sum += the columns [from, to) times x
static void product(const Distributed &d, int from, int to, double *sum)
{
  const int rows = d.first[(size_t)d.rank + 1] - d.first[(size_t)d.rank];
  for (int j = from; j < to; ++j) {
    const double *column = d.a + j * d.lda;
    const double  x      = d.x[(size_t)j];
#pragma omp simd
    for (int i = 0; i < rows; ++i) sum[i] += column[i] * x;
  }
}

void sweep(Distributed &d, Plan &plan, const double *q, double *x, int most, bool zero)
{
  const int rows = d.first[(size_t)d.rank + 1] - d.first[(size_t)d.rank];
  if (zero) std::fill(d.x.begin(), d.x.end(), 0);
  else {
    std::vector<int> counts((size_t)d.size);
    for (int r = 0; r < d.size; ++r) counts[(size_t)r] = d.first[(size_t)r + 1] - d.first[(size_t)r];
    MPI_Allgatherv(x, rows, MPI_DOUBLE, d.x.data(), counts.data(), d.first.data(), MPI_DOUBLE, d.comm);
  }
  for (int k = 0; k < most; ++k) {
    const Order order    = plan.params.order;
    const bool  backward = order == Order::backward || (order == Order::symmetric && k % 2);
    // Over those behind this process in the order; after a sweep the other way these are the sums of that sweep.
    if (k && order == Order::symmetric) d.after = d.before;
    else {
      std::fill(d.after.begin(), d.after.end(), 0);
      if (k || !zero) product(d, backward ? 0 : d.first[(size_t)d.rank + 1], backward ? d.first[(size_t)d.rank] : d.first.back(), d.after.data());
    }
    std::fill(d.before.begin(), d.before.end(), 0);
    for (int s = 0; s < d.size; ++s) {
      const int turn = backward ? d.size - 1 - s : s, at = d.first[(size_t)turn], count = d.first[(size_t)turn + 1] - at;
      if (turn == d.rank && rows) {
        Request r;
        std::fill(plan.q.data(), plan.q.data() + plan.panels.padded(), 0);
        for (int i = 0; i < rows; ++i) plan.q.data()[i] = q[i] + (d.before[(size_t)i] + d.after[(size_t)i]);
        std::copy(d.x.data() + at, d.x.data() + at + rows, plan.x.data());
        r.q     = plan.q.data();
        r.x     = plan.x.data();
        r.most  = 1;
        r.first = k;
        (void)densegs::sweep(plan, r);
        std::copy(plan.x.data(), plan.x.data() + rows, d.x.data() + at);
      }
      if (count) MPI_Bcast(d.x.data() + at, count, MPI_DOUBLE, turn, d.comm);
      if ((backward ? turn > d.rank : turn < d.rank)) product(d, at, at + count, d.before.data());
    }
  }
  std::copy(d.x.data() + d.first[(size_t)d.rank], d.x.data() + d.first[(size_t)d.rank] + rows, x);
}

} // namespace tessera::densegs
