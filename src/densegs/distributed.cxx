#include "densegs/distributed.hpp"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::densegs {

std::vector<int> row_starts(MPI_Comm comm, int rows)
{
  int size;
  MPI_Comm_size(comm, &size);
  std::vector<int> first((size_t)size + 1);
  MPI_Allgather(&rows, 1, MPI_INT, first.data() + 1, 1, MPI_INT, comm);
  std::partial_sum(first.begin(), first.end(), first.begin());
  return first;
}

void create(Distributed &d, const Comm &comm, int rows)
{
  d.comm = comm;
  MPI_Comm_rank(comm, &d.rank);
  d.first = row_starts(comm, rows);
  d.size  = (int)d.first.size() - 1;
  d.x.assign((size_t)d.first.back(), 0);
  d.before.assign((size_t)rows, 0);
  d.after.assign((size_t)rows, 0);
  d.w.assign((size_t)rows, 0);
}

Check keep(Distributed &d, const double *a, ptrdiff_t lda, bool all)
{
  const int first = d.first[(size_t)d.rank], rows = d.first[(size_t)d.rank + 1] - first, n = d.first.back();
  Check     c;
  d.left_out = all ? 0 : rows;
  d.lda      = rows;
  allocate(d.comm, [&] { d.kept.resize((size_t)rows * (size_t)(n - d.left_out)); });
  d.a = d.kept.data();
  for (int j = 0; j < n; ++j) {
    const bool    own = j >= first && j < first + rows;
    const double *from = a + j * lda;
    if (own && !all) continue;
    std::copy(from, from + rows, d.kept.data() + (d.column(j) - d.a));
    for (int i = 0; i < rows && !own; ++i) {
      c.largest = std::max(c.largest, std::fabs(from[i]));
      if (c.bad_row < 0 && !std::isfinite(from[i])) c.bad_row = first + i, c.bad_column = j;
    }
  }
  return c;
}

double difference_across(const Distributed &m)
{
  double              d = 0;
  std::vector<double> piece;
  allocate(m.comm, [&] {
    size_t largest = 0; // of the pieces that come below
    for (int r = 0; r < m.size; ++r)
      for (int s = r + 1; s < m.size; ++s)
        if (m.rank == r || m.rank == s) {
          const size_t nr = (size_t)(m.first[(size_t)r + 1] - m.first[(size_t)r]),
                       ns = (size_t)(m.first[(size_t)s + 1] - m.first[(size_t)s]);
          const size_t columns = std::max((size_t)1, ((size_t)1 << 22) / std::max(nr, (size_t)1));
          largest = std::max(largest, nr * std::min(ns, columns));
        }
    piece.reserve(largest);
  });
  // Each pair compares its two blocks, some columns at a time.
  for (int r = 0; r < m.size; ++r)
    for (int s = r + 1; s < m.size; ++s) {
      if (m.rank != r && m.rank != s) continue;
      const int fr = m.first[(size_t)r], nr = m.first[(size_t)r + 1] - fr, fs = m.first[(size_t)s],
                ns = m.first[(size_t)s + 1] - fs, step = std::max(1, (1 << 22) / std::max(nr, 1));
      for (int j0 = 0; j0 < ns; j0 += step) {
        const int columns = std::min(step, ns - j0);
        piece.resize((size_t)nr * (size_t)columns);
        if (m.rank == r) {
          for (int j = 0; j < columns; ++j)
            std::copy(m.column(fs + j0 + j), m.column(fs + j0 + j) + nr, piece.begin() + (ptrdiff_t)j * nr);
          MPI_Send(piece.data(), nr * columns, MPI_DOUBLE, s, m.comm.tag, m.comm);
        } else {
          MPI_Recv(piece.data(), nr * columns, MPI_DOUBLE, r, m.comm.tag, m.comm, MPI_STATUS_IGNORE);
          for (int j = 0; j < columns; ++j)
            for (int i = 0; i < nr; ++i)
              d = std::max(d, std::fabs(piece[(size_t)j * (size_t)nr + (size_t)i] - m.column(fr + i)[j0 + j]));
        }
      }
    }
  return d;
}

// sum += the columns [from, to) times x
static void product(const Distributed &d, int from, int to, double *sum)
{
  const int rows = d.first[(size_t)d.rank + 1] - d.first[(size_t)d.rank];
  for (int j = from; j < to; ++j) {
    const double *column = d.column(j);
    const double  x      = d.x[(size_t)j];
    if (x == 0) continue;
#pragma omp simd
    for (int i = 0; i < rows; ++i) sum[i] += column[i] * x;
  }
}

void gather(Distributed &d, const double *x)
{
  std::vector<int> counts((size_t)d.size);
  for (int r = 0; r < d.size; ++r) counts[(size_t)r] = d.first[(size_t)r + 1] - d.first[(size_t)r];
  MPI_Allgatherv(x, counts[(size_t)d.rank], MPI_DOUBLE, d.x.data(), counts.data(), d.first.data(), MPI_DOUBLE, d.comm);
}

// Panels in a random order over all processes: w = A x + q is kept for the rows of each one.
static void sweep_random(Distributed &d, const Plan &plan, const Request &r)
{
  const int           first = d.first[(size_t)d.rank], rows = d.first[(size_t)d.rank + 1] - first;
  std::vector<int>    owner, start; // of each panel
  std::vector<double> panel((size_t)height);
  Sequence            s;
  Panels              all;
  for (int p = 0; p < d.size; ++p)
    for (int at = d.first[(size_t)p]; at < d.first[(size_t)p + 1]; at += height) {
      owner.push_back(p);
      start.push_back(at);
    }
  all.count  = (int)start.size();
  all.stride = all.n = all.count * height;
  double *const w = d.before.data();
  std::copy(r.q, r.q + rows, w);
  if (!r.zero) product(d, 0, d.first.back(), w);
  for (int k = 0; k < r.sweeps; ++k) {
    sequence(all, Order::random, r.first + k, s);
    for (int p : s.outer) {
      const int at = start[(size_t)p], turn = owner[(size_t)p],
                count = std::min(height, d.first[(size_t)turn + 1] - at);
      double   *x  = d.x.data() + at;
      std::copy(x, x + count, panel.begin());
      if (turn == d.rank) {
        double *mine = w + at - first;
        for (int u : s.inner) {
          if (u >= count) continue;
          const double *column = d.column(at + u) + at - first;
          const double  diagonal = column[u];
          double        now = panel[(size_t)u] - (diagonal != 0 ? plan.params.omega * mine[u] / diagonal : 0);
          if (r.lower) now = std::min(std::max(now, r.lower[at - first + u]), r.upper[at - first + u]);
          const double step = now - panel[(size_t)u];
          panel[(size_t)u]  = now;
          if (step == 0) continue;
#pragma omp simd
          for (int i = 0; i < count; ++i) mine[i] += column[i] * step;
        }
      }
      MPI_Bcast(panel.data(), count, MPI_DOUBLE, turn, d.comm);
      for (int u = 0; u < count; ++u) {
        const double *column = d.column(at + u);
        const double  step = panel[(size_t)u] - x[u];
        x[u] = panel[(size_t)u];
        if (step == 0) continue;
        // The panel's own rows have it.
        const int own = turn == d.rank ? at - first : rows, behind = turn == d.rank ? own + count : rows;
#pragma omp simd
        for (int i = 0; i < own; ++i) w[i] += column[i] * step;
#pragma omp simd
        for (int i = behind; i < rows; ++i) w[i] += column[i] * step;
      }
    }
  }
}

void sweep(Distributed &d, Plan &plan, const Request &request)
{
  const int    rows = d.first[(size_t)d.rank + 1] - d.first[(size_t)d.rank];
  const double *q = request.q;
  if (request.zero) std::fill(d.x.begin(), d.x.end(), 0);
  if (plan.params.order == Order::random) return sweep_random(d, plan, request);
  d.w.assign(q, q + rows); // the request's may be the plan's own
  for (int k = 0; k < request.sweeps; ++k) {
    const Order order    = plan.params.order;
    const bool  backward = order == Order::backward || (order == Order::symmetric && (request.first + k) % 2);
    // Over those behind this process in the order; after a sweep the other way these are the sums of that sweep.
    if (k && order == Order::symmetric) d.after = d.before;
    else {
      std::fill(d.after.begin(), d.after.end(), 0);
      if (k || !request.zero)
        product(d, backward ? 0 : d.first[(size_t)d.rank + 1], backward ? d.first[(size_t)d.rank] : d.first.back(),
                d.after.data());
    }
    std::fill(d.before.begin(), d.before.end(), 0);
    for (int s = 0; s < d.size; ++s) {
      const int turn = backward ? d.size - 1 - s : s, at = d.first[(size_t)turn],
                count = d.first[(size_t)turn + 1] - at;
      if (turn == d.rank && rows) {
        Request r;
        // The padding too: NaN of another right-hand side would stay there.
        for (Buffer<double> *v : {&plan.q, &plan.x}) v->zero();
        for (int i = 0; i < rows; ++i) plan.q.data()[i] = d.w[(size_t)i] + (d.before[(size_t)i] + d.after[(size_t)i]);
        std::copy(d.x.data() + at, d.x.data() + at + rows, plan.x.data());
        r.q     = plan.q.data();
        r.lower = request.lower;
        r.upper = request.upper;
        r.x     = plan.x.data();
        r.sweeps  = 1;
        r.first = request.first + k;
        (void)densegs::sweep(plan, r);
        std::copy(plan.x.data(), plan.x.data() + rows, d.x.data() + at);
      }
      if (count) MPI_Bcast(d.x.data() + at, count, MPI_DOUBLE, turn, d.comm);
      if ((backward ? turn > d.rank : turn < d.rank)) product(d, at, at + count, d.before.data());
    }
  }
}

} // namespace tessera::densegs
