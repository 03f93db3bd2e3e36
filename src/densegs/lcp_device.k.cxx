// What the solver does on the device besides sweeps: pieces of the matrix, and momentum.
#include "densegs/lcp_matrix.hpp"
#include "exec/tile.hpp"
#include <cmath>

namespace tessera::lcp {

namespace {

// 16 bytes per entry, those that are read in columns of A.
struct Gather {
  const double *a;
  ptrdiff_t     lda;
  const int    *index;
  const double *shift; // or null
  double       *to;
  int           n;
  HD void       operator()(int i, int j) const
  {
    to[(size_t)j * (size_t)n + (size_t)i] = a[(ptrdiff_t)index[j] * lda + index[i]] + (i == j && shift ? shift[i] : 0);
  }
};
struct Diagonal {
  const double *a;
  ptrdiff_t     lda;
  double       *to;
  HD void       operator()(int i, int) const { to[i] = a[(ptrdiff_t)i * (lda + 1)]; }
};

// One step of momentum by one block of threads: sums in an order of their own, the same in every run. 80 bytes an
// unknown.
struct Momentum {
  const double *lower, *upper;
  // x: after the sweeps from y; then x and y are where the next ones begin, and last is what x was
  double       *x, *y, *last, *t;
  int           n;
  static constexpr int parts = 256, few = 16;
  template <class Block> HD void operator()(Block &b) const
  {
    double *const sum = b.shared, *const beta = sum + parts;
    b.each(0, parts, 0, 1, [&](int k, int) {
      double up = 0;
      for (int i = k; i < n; i += parts) up += (y[i] - x[i]) * (x[i] - last[i]);
      sum[k] = up;
    });
    b.sync();
    b.each(0, few, 0, 1, [&](int k, int) {
      for (int i = k + few; i < parts; i += few) sum[k] += sum[i];
    });
    b.sync();
    b.each(0, 1, 0, 1, [&](int, int) {
      double up = 0;
      for (int k = 0; k < few; ++k) up += sum[k];
      const double now = up > 0 ? 1 : *t, after = (1 + sqrt(1 + 4 * now * now)) / 2;
      *beta = (now - 1) / after;
      *t    = after;
    });
    b.sync();
    b.each(0, n, 0, 1, [&](int i, int) {
      const double v = x[i], w = v + *beta * (v - last[i]), now = w < lower[i] ? lower[i] : w > upper[i] ? upper[i] : w;
      last[i] = v;
      x[i] = y[i] = now;
    });
  }
};

} // namespace

void momentum_device(const Exec &exec, int n, const double *lower, const double *upper, double *x, double *y,
                     double *last, double *t)
{
  forall_blocks(exec, 1, Momentum::parts, (Momentum::parts + 1) * sizeof(double),
                Momentum{lower, upper, x, y, last, t, n});
}

void gather_device(const Exec &exec, const double *a, ptrdiff_t lda, const int *index, int n, const double *shift,
                   double *to)
{
  forall(exec, Box{0, n, 0, n}, Gather{a, lda, index, shift, to, n});
}

void diagonal_device(const Exec &exec, const double *a, ptrdiff_t lda, int n, double *scratch)
{
  forall(exec, Box{0, n, 0, 1}, Diagonal{a, lda, scratch});
}

} // namespace tessera::lcp
