// Vectors and the matrix where they lie; and on the device the strategies that launch a kernel for every row or
// unknown, which the paper shows to lose (sections III.A and III.B): they are here to be compared with.
#include "densegs/densegs.hpp"
#include "exec/tile.hpp"
#include <climits>
#include <cmath>

namespace tessera::densegs {

namespace {

// 16 bytes per unknown
struct Load {
  const double *from;
  double       *to, factor;
  int           n;
  HD void       operator()(int i, int) const { to[i] = i < n ? factor * from[i] : 0; }
};

// Row i of panel j / stride, column j % stride. 16 bytes (single: 12) an entry.
template <class T> struct Fill {
  const double *a;
  ptrdiff_t     lda;
  T            *to;
  int           n, stride;
  HD void       operator()(int i, int j) const
  {
    const int row = j / stride * height + i, column = j % stride;
    to[(size_t)j * height + i] = row < n && column < n ? (T)a[column * lda + row] : (T)0;
  }
};

template <class T> struct Invert {
  const double *a;
  ptrdiff_t     lda;
  double       *inverse;
  int           n;
  HD void       operator()(int i, int) const
  {
    const double d = i < n ? (double)(T)a[i * (lda + 1)] : 0;
    inverse[i] = d != 0 ? 1 / d : 0;
  }
};

struct Found {
  long long bad = LLONG_MAX;
  int       zero = INT_MAX;
  double    largest = 0, difference = 0;
  HD void   join(const Found &o)
  {
    bad        = o.bad < bad ? o.bad : bad;
    zero       = o.zero < zero ? o.zero : zero;
    largest    = o.largest > largest ? o.largest : largest;
    difference = o.difference > difference ? o.difference : difference;
  }
};
struct Look {
  const double *a;
  ptrdiff_t     lda;
  int           n;
  HD void       operator()(int i, int j, Found &f) const
  {
    const double v = a[j * lda + i], size = v < 0 ? -v : v;
    Found        mine;
    if (!(size <= 1.7976931348623157e308)) mine.bad = (long long)j * n + i;
    else mine.largest = size;
    if (i == j && v == 0) mine.zero = i;
    if (i > j) {
      const double d = v - a[i * lda + j];
      mine.difference = d < 0 ? -d : d > 0 ? d : 0;
    }
    f.join(mine);
  }
};

template <class T> struct Entries {
  const T *a;
  int      stride;
  HD double operator()(int i, int j) const
  {
    return (double)a[((size_t)(i / height) * stride + j) * height + i % height];
  }
};

struct Unknown {
  const double *q, *lower, *upper, *inverse;
  double       *x, omega;
  HD double     step(int i, double w) const // x_i and how far it went
  {
    const double v = x[i] - omega * w * inverse[i], old = x[i];
    const double now = !lower ? v : v < lower[i] ? lower[i] : v > upper[i] ? upper[i] : v;
    x[i] = now;
    return now > old ? now - old : old - now;
  }
};

// Section III.A: the sum of a row, then its unknown.
template <class T> struct RowProduct {
  Entries<T>    a;
  const double *x;
  int           row;
  HD double     operator()(int j, int) const { return a(row, j) * x[j]; }
};
// An unknown by the sum of its row.
struct Step {
  Unknown       u;
  const double *sum;
  double       *change;
  int           row;
  HD void       operator()(int, int) const { *change += u.step(row, u.q[row] + *sum); }
};

// Section III.B: an unknown, then its column for the rows behind it.
template <class T> struct Behind { // sums over what comes after a row in the order
  Entries<T>    a;
  const double *x;
  const int    *position;
  double       *sum;
  int           n;
  HD void       operator()(int i, int) const
  {
    double s = 0;
    for (int j = 0; j < n; ++j)
      if (position[j] >= position[i]) s += a(i, j) * x[j];
    sum[i] = s;
  }
};
template <class T> struct ColumnPush {
  Entries<T>    a;
  const double *x;
  const int    *position;
  double       *sum;
  int           column;
  HD void       operator()(int i, int) const
  {
    if (position[i] > position[column]) sum[i] += a(i, column) * x[column];
  }
};

// A panel's part of q + A x: four groups of threads, each with every fourth column.
template <class T> struct Residual {
  const T      *a;
  const double *q, *x;
  double       *w;
  int           stride;
  template <class Block> HD void operator()(Block &b) const
  {
    const int p = b.tile.y0;
    b.each(0, height, 0, 4, [&](int i, int g) {
      const T *row = a + (size_t)p * stride * height + i;
      double   s   = 0;
      for (int j = g; j < stride; j += 4) s += (double)row[(size_t)j * height] * x[j];
      b.shared[g * height + i] = s;
    });
    b.sync();
    b.each(0, height, 0, 1, [&](int i, int) {
      w[p * height + i] = q[p * height + i] + ((b.shared[i] + b.shared[height + i]) +
                                               (b.shared[2 * height + i] + b.shared[3 * height + i]));
    });
  }
};

template <class T> int launches(Plan &plan, const T *values, const Request &r)
{
  const Panels    &m = plan.panels;
  const Exec      &e = plan.exec;
  const Box        all{0, m.n, 0, 1}, one{0, 1, 0, 1};
  const Entries<T> a{values, m.stride};
  const Unknown    u{r.q, r.lower, r.upper, m.inverse.data(), r.x, plan.params.omega};
  Sequence         s;
  if (plan.report.empty()) plan.report.resize(Extent{2, e.space});
  double *const    change = plan.report.data(), *const sum = plan.report.data() + 1;
  const bool       rows = plan.params.strategy == Strategy::row;
  if (plan.position.size() < (size_t)m.stride) plan.position.resize(Extent{(size_t)m.stride, e.space});
  for (int k = 0; k < r.sweeps; ++k) {
    sequence(m, plan.params.order, r.first + k, s);
    std::vector<int> order, position((size_t)m.stride);
    for (int p : s.outer)
      for (int i : s.inner)
        if (p * height + i < m.n) {
          position[(size_t)(p * height + i)] = (int)order.size();
          order.push_back(p * height + i);
        }
    device::zero(change, sizeof(double));
    if (!rows) {
      device::copy_from_host(plan.position.data(), position.data(), position.size() * sizeof(int));
      forall(e, all, Behind<T>{a, r.x, plan.position.data(), plan.before.data(), m.n});
    }
    for (int i : order)
      if (rows) {
        forall_sum(e, Box{0, m.n, 0, 1}, RowProduct<T>{a, r.x, i}, sum, false);
        forall(e, one, Step{u, sum, change, i});
      } else {
        forall(e, one, Step{u, plan.before.data() + i, change, i});
        forall(e, all, ColumnPush<T>{a, r.x, plan.position.data(), plan.before.data(), i});
      }
    if (!r.change && r.tolerance < 0) continue;
    double c;
    device::copy_to_host(&c, change, sizeof(c));
    if (r.change) r.change[k] = c;
    if (c <= r.tolerance || !std::isfinite(c)) return k + 1;
  }
  return r.sweeps;
}

} // namespace

void load(Plan &plan, const double *from, double factor, Buffer<double> &to)
{
  forall(plan.exec, Box{0, plan.panels.padded(), 0, 1}, Load{from, to.data(), factor, plan.panels.n});
}

template <class T> static void fill_panels(Plan &plan, const double *a, ptrdiff_t lda, T *to)
{
  Panels &m = plan.panels;
  forall(plan.exec, Box{0, height, 0, m.count * m.stride}, Fill<T>{a, lda, to, m.n, m.stride});
  forall(plan.exec, Box{0, m.padded(), 0, 1}, Invert<T>{a, lda, m.inverse.data(), m.n});
}

void fill_device(Plan &plan, const double *a, ptrdiff_t lda)
{
  ++plan.stamp;
  if (plan.panels.single()) fill_panels(plan, a, lda, plan.panels.s.data());
  else fill_panels(plan, a, lda, plan.panels.a.data());
}

Check check_device(const double *a, int n, ptrdiff_t lda)
{
  Check         c;
  Found         f;
  Buffer<Found> found(Extent{1, Space::cuda});
  if (!n) return c;
  forall_join(Exec{Space::cuda, 1}, Box{0, n, 0, n}, Look{a, lda, n}, found.data());
  device::copy_to_host(&f, found.data(), sizeof(f));
  if (f.bad != LLONG_MAX) {
    c.bad_row    = (int)(f.bad % n);
    c.bad_column = (int)(f.bad / n);
    return c;
  }
  if (f.zero != INT_MAX) c.zero_diagonal = f.zero;
  c.largest   = f.largest;
  c.asymmetry = f.largest > 0 ? f.difference / f.largest : 0;
  return c;
}

void residual_device(Plan &plan, const double *q, const double *x, double *w)
{
  const Panels    &m = plan.panels;
  constexpr size_t bytes = 4 * height * sizeof(double);
  if (m.single()) forall_blocks(plan.exec, m.count, 256, bytes, Residual<float>{m.s.data(), q, x, w, m.stride});
  else forall_blocks(plan.exec, m.count, 256, bytes, Residual<double>{m.a.data(), q, x, w, m.stride});
}

int sweep_launches(Plan &plan, const Request &r)
{
  return plan.panels.single() ? launches(plan, plan.panels.s.data(), r) : launches(plan, plan.panels.a.data(), r);
}

} // namespace tessera::densegs
