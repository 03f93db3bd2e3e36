// The plan of the sweeps: memory, the matrix in panels, and what runs where.
#include "densegs/densegs.hpp"
#include "exec/strategy.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::densegs {

void fill_host(Plan &plan, const double *a, ptrdiff_t lda)
{
  Panels &m = plan.panels;
  constexpr int columns = 8; // at a time, for all panels: a page of each is looked up once
  // Thread p % threads fills panel p and later sweeps over it: pages of fresh memory lie at its side.
#pragma omp parallel num_threads(plan.exec.threads) if (plan.exec.threads > 1)
  for (int j0 = 0; j0 < m.n; j0 += columns)
#pragma omp for schedule(static, 1) nowait
    for (int p = 0; p < m.count; ++p) {
      const int    i0 = p * m.rows, rows = std::min(m.rows, m.n - i0);
      const size_t at = (size_t)p * m.stride * m.rows;
      for (int j = j0; j < std::min(j0 + columns, m.n); ++j) {
        const double *from = a + (ptrdiff_t)j * lda + i0;
        if (m.single()) std::copy(from, from + rows, m.s.data() + at + (size_t)j * m.rows);
        else std::copy(from, from + rows, m.a.data() + at + (size_t)j * m.rows);
      }
    }
  for (int i = 0; i < m.n; ++i) {
    const double v = a[(ptrdiff_t)i * (lda + 1)];
    m.inverse.data()[i] = v != 0 ? 1 / (m.single() ? (double)(float)v : v) : 0;
  }
}

// The first column with an entry that is no finite number, and the first such entry of it.
static void find_bad(const double *a, int n, ptrdiff_t lda, Check &c)
{
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i)
      if (!std::isfinite(a[(ptrdiff_t)j * lda + i])) {
        c.bad_row    = i;
        c.bad_column = j;
        return;
      }
}

Check check_host(const double *a, int n, ptrdiff_t lda)
{
  Check         c;
  double        difference = 0, none = 0; // 0 times what is not finite is no number
  constexpr int tile = 64;                // both triangles by tiles that stay in the cache: memory is read once
  for (int j0 = 0; j0 < n; j0 += tile)
    for (int i0 = j0; i0 < n; i0 += tile) {
      const int j1 = std::min(j0 + tile, n), i1 = std::min(i0 + tile, n);
      auto      scan = [&](int from, int to, int top, int bottom) {
        double largest = 0;
        for (int j = from; j < to; ++j) {
          const double *column = a + (ptrdiff_t)j * lda;
#pragma omp simd reduction(max : largest) reduction(+ : none)
          for (int i = top; i < bottom; ++i) {
            largest = std::max(largest, std::fabs(column[i]));
            none += 0 * column[i];
          }
        }
        c.largest = std::max(c.largest, largest);
      };
      scan(j0, j1, i0, i1);
      if (i0 > j0) scan(i0, i1, j0, j1);
      for (int k = j0; k < j1; k += 8) // a line of column i and eight columns: no more than the ways of a cache
        for (int i = std::max(i0, k + 1); i < i1; ++i)
          for (int j = k; j < std::min({k + 8, j1, i}); ++j)
            difference = std::max(difference, std::fabs(a[(ptrdiff_t)j * lda + i] - a[(ptrdiff_t)i * lda + j]));
    }
  if (none != 0) find_bad(a, n, lda, c);
  if (c.bad_row >= 0) return c;
  for (int i = 0; i < n && c.zero_diagonal < 0; ++i)
    if (a[(ptrdiff_t)i * (lda + 1)] == 0) c.zero_diagonal = i;
  c.asymmetry = c.largest > 0 ? difference / c.largest : 0;
  return c;
}

namespace {

// What the two spaces do each in their own way.
struct Ways {
  int rows; // of a panel where rows are swept one by one
  void (*fill)(Plan &plan, const double *a, ptrdiff_t lda, Space where);
  int (*sweep)(Plan &plan, const Request &r);
  void (*residual)(Plan &plan, const double *q, const double *x, double *w);
};

void fill_from(Plan &plan, const double *a, ptrdiff_t lda, Space where)
{
  if (where == Space::cuda) return fill_device(plan, a, lda);
  const size_t   n = (size_t)plan.panels.n;
  Buffer<double> copy(Extent{n ? (n - 1) * (size_t)lda + n : 0, Space::cuda}); // the last column ends with its last row
  device::copy_from_host(copy.data(), a, copy.bytes());
  fill_device(plan, copy.data(), lda);
  device::synchronize(); // before the copy goes
}

Ways on_host()
{
  return {1, [](Plan &plan, const double *a, ptrdiff_t lda, Space) { fill_host(plan, a, lda); },
          [](Plan &plan, const Request &r) { return sweep_host(plan, r); },
          [](Plan &plan, const double *q, const double *x, double *w) { residual_host(plan, q, x, w); }};
}
Ways on_device() { return {height, fill_from, sweep_device, residual_device}; }

const Ways &ways(const Plan &plan) { return column_of<on_host, on_device>(plan.exec.space); }

} // namespace

void create(Plan &plan, int n, const Params &params)
{
  Panels     &m     = plan.panels;
  const Space space = plan.exec.space;
  plan.params = params;
  m.n         = n;
  m.stride    = (n + height - 1) / height * height;
  m.rows      = params.strategy == Strategy::row ? ways(plan).rows : height;
  m.count     = m.rows == 1 ? n : m.stride / height;
  const Extent matrix{(size_t)m.count * m.rows * m.stride, space}, vector{(size_t)m.stride, space};
  m.a.resize(params.single ? Extent{0, space} : matrix);
  m.s.resize(params.single ? matrix : Extent{0, space});
  m.inverse.resize(vector);
  for (Buffer<double> *v : {&plan.before, &plan.after, &plan.x, &plan.q, &plan.lower, &plan.upper}) v->resize(vector);
}

void fill(Plan &plan, const double *a, ptrdiff_t lda, Space where)
{
  ways(plan).fill(plan, a, lda, where);
}

Check check(Plan &plan, const double *a, ptrdiff_t lda, Space where)
{
  return where == Space::host ? check_host(a, plan.panels.n, lda) : check_device(a, plan.panels.n, lda);
}

int sweep(Plan &plan, const Request &r)
{
  if (!plan.panels.n || r.sweeps <= 0) return 0;
  return ways(plan).sweep(plan, r);
}

void residual(Plan &plan, const double *q, const double *x, double *w)
{
  ways(plan).residual(plan, q, x, w);
}

void store(Plan &plan, double *to)
{
  copy(plan.x.data(), plan.exec.space, to, plan.exec.space, (size_t)plan.panels.n);
}

} // namespace tessera::densegs
