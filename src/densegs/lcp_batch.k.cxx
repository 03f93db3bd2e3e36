// Many small problems: a block of threads for each, whose matrix stays in its shared memory where there is room.
#include "densegs/lcp.hpp"
#include <cmath>

namespace tessera::lcp {

namespace {

struct Batch {
  const double *a, *q, *lower, *upper;
  double       *x, *residual, rtol;
  int           n, sweeps;
  bool          inside; // the matrix fits

  HD double clip(size_t i, double v) const { return v < lower[i] ? lower[i] : v > upper[i] ? upper[i] : v; }

  // w: q + A x, brought up to date with every unknown; afresh before every look at the residual.
  template <class Block> HD void operator()(Block &b) const
  {
    const size_t  at = (size_t)b.tile.y0 * (size_t)n;
    double *const w = b.shared, *const v = w + n, *const d = v + n, *const scalar = d + n, *const own = scalar + 2;
    const double *m = a + at * (size_t)n;
    if (inside) {
      b.each(0, n, 0, n, [&](int i, int j) { own[j * n + i] = a[(at + (size_t)j) * (size_t)n + (size_t)i]; });
      m = own;
    }
    b.each(0, n, 0, 1, [&](int i, int) {
      const double e = a[(at + (size_t)i) * (size_t)n + (size_t)i];
      d[i] = e > 0 ? 1 / e : 0;
      v[i] = clip(at + (size_t)i, x[at + (size_t)i]);
    });
    b.sync();
    for (int k = 0;; ++k) {
      const bool look = k % 8 == 0 || k >= sweeps;
      if (look) {
        b.each(0, n, 0, 1, [&](int i, int) {
          double s = q[at + (size_t)i];
          for (int j = 0; j < n; ++j) s += m[(size_t)j * (size_t)n + (size_t)i] * v[j];
          w[i] = s;
        });
        b.sync();
        b.each(0, 1, 0, 1, [&](int, int) {
          double s = 0, t = 0;
          for (int i = 0; i < n; ++i) {
            const double e = v[i] - clip(at + (size_t)i, v[i] - w[i]);
            s += e * e;
            t += q[at + (size_t)i] * q[at + (size_t)i];
            if (!(lower[at + (size_t)i] <= upper[at + (size_t)i])) s = NAN; // no answer
          }
          scalar[1] = t > 0 ? sqrt(s / t) : sqrt(s);
        });
        b.sync();
        if (scalar[1] <= rtol || k >= sweeps) break;
      }
      for (int s = 0; s < n; ++s) {
        const int i = k % 2 ? n - 1 - s : s;
        b.each(0, 1, 0, 1, [&](int, int) {
          const double now = clip(at + (size_t)i, v[i] - w[i] * d[i]);
          scalar[0] = now - v[i];
          v[i]      = now;
        });
        b.sync();
        const double  step   = scalar[0];
        const double *column = m + (size_t)i * (size_t)n;
        if (step != 0) b.each(0, n, 0, 1, [&](int r, int) { w[r] += column[r] * step; });
        b.sync();
      }
    }
    b.each(0, n, 0, 1, [&](int i, int) { x[at + (size_t)i] = v[i]; });
    b.each(0, 1, 0, 1, [&](int, int) { residual[b.tile.y0] = scalar[1]; });
  }
};

} // namespace

void batch(const Exec &exec, int count, int n, const double *a, const double *q, const double *lower, const double *upper, double rtol, int sweeps, double *x, double *residual)
{
  const size_t vectors = (size_t)(3 * n + 2) * sizeof(double), all = vectors + (size_t)n * (size_t)n * sizeof(double);
  const bool   inside  = exec.space == Space::cuda && all <= device::block_scratch();
  const int    threads = n < 256 ? (n + 31) / 32 * 32 : 256;
  forall_blocks(exec, count, threads, inside ? all : vectors, Batch{a, q, lower, upper, x, residual, rtol, n, sweeps, inside});
}

} // namespace tessera::lcp
