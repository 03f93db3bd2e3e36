// Many small problems: a warp for each of up to 128 unknowns on a device, else a block of threads; the matrix stays
// in shared memory where there is room.
#include "densegs/lcp.hpp"
#include "densegs/natural.hpp"
#include "exec/tile.hpp"
#include <cmath>
#include <type_traits>

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
            const size_t o = at + (size_t)i;
            const double e = natural_residual(v[i], w[i], lower[o], upper[o]);
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

#ifdef __CUDACC__
// w := q + A v, R rows a lane; the matrix m is in shared memory.
template <int R>
__device__ __forceinline__ void residual_of_warp(const double *m, int n, const double (&q)[R], const double (&v)[R],
                                                 double (&w)[R])
{
  const int lane = (int)threadIdx.x;
#pragma unroll
  for (int r = 0; r < R; ++r) w[r] = q[r];
#pragma unroll
  for (int b = 0; b < R; ++b)
    for (int l = 0; l < 32 && 32 * b + l < n; ++l) {
      const double x = __shfl_sync(0xffffffffu, v[b], l);
#pragma unroll
      for (int r = 0; r < R; ++r)
        if (lane + 32 * r < n) w[r] = fma(m[(32 * b + l) * n + lane + 32 * r], x, w[r]);
    }
}

// A warp a problem, R rows a lane: vectors stay in registers, and what a row found goes to the others by a shuffle,
// so nothing waits at a barrier. A row takes one product, two comparisons, a shuffle and the product with its column,
// 8 n bytes of shared memory.
template <int R> __global__ void __launch_bounds__(32) batch_of_warps(Batch p)
{
  extern __shared__ double m[];
  constexpr unsigned all = 0xffffffffu;
  const int          lane = (int)threadIdx.x, n = p.n;
  const size_t       at = (size_t)blockIdx.x * (size_t)n;
  double             v[R], w[R], d[R], q[R], low[R], high[R], size = 0, left = 0;
  bool               none = false; // no answer: bounds that cross
  for (int j = 0; j < n; ++j)
    for (int i = lane; i < n; i += 32) m[j * n + i] = p.a[(at + (size_t)j) * (size_t)n + (size_t)i];
  __syncwarp();
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const int  i = lane + 32 * r;
    const bool in = i < n;
    q[r]    = in ? p.q[at + (size_t)i] : 0;
    low[r]  = in ? p.lower[at + (size_t)i] : 0;
    high[r] = in ? p.upper[at + (size_t)i] : 0;
    v[r]    = in ? p.clip(at + (size_t)i, p.x[at + (size_t)i]) : 0;
    d[r]    = in && m[i * n + i] > 0 ? 1 / m[i * n + i] : 0;
    w[r]    = 0;
    none    = none || !(low[r] <= high[r]);
    size += q[r] * q[r];
  }
  none = __any_sync(all, none);
  for (int o = 16; o; o /= 2) size += __shfl_xor_sync(all, size, o);
  auto clip = [&](int r, double e) { return e < low[r] ? low[r] : e > high[r] ? high[r] : e; };
  for (int k = 0;; ++k) {
    if (k % 8 == 0 || k >= p.sweeps) {
      residual_of_warp(m, n, q, v, w);
      double s = 0;
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const double e = natural_residual(v[r], w[r], low[r], high[r]);
        s += e * e;
      }
      for (int o = 16; o; o /= 2) s += __shfl_xor_sync(all, s, o);
      left = none ? NAN : size > 0 ? sqrt(s / size) : sqrt(s);
      if (left <= p.rtol || k >= p.sweeps) break;
    }
    auto rows = [&](auto block) { // a constant: what the lanes have stays in registers
      constexpr int b = decltype(block)::value;
      const int     count = b < R - 1 ? 32 : n - 32 * (R - 1);
#pragma unroll 4
      for (int s = 0; s < count; ++s) {
        const int     l = k % 2 ? count - 1 - s : s;
        const double *column = m + (32 * b + l) * n;
        double        a[R];
#pragma unroll
        for (int r = 0; r < R; ++r) a[r] = lane + 32 * r < n ? column[lane + 32 * r] : 0;
        const double now = clip(b, v[b] - w[b] * d[b]), step = __shfl_sync(all, now - v[b], l);
        if (lane == l) v[b] = now;
#pragma unroll
        for (int r = 0; r < R; ++r) w[r] = fma(a[r], step, w[r]);
      }
    };
    if (k % 2) {
      if constexpr (R > 3) rows(std::integral_constant<int, 3>());
      if constexpr (R > 2) rows(std::integral_constant<int, 2>());
      if constexpr (R > 1) rows(std::integral_constant<int, 1>());
      rows(std::integral_constant<int, 0>());
    } else {
      rows(std::integral_constant<int, 0>());
      if constexpr (R > 1) rows(std::integral_constant<int, 1>());
      if constexpr (R > 2) rows(std::integral_constant<int, 2>());
      if constexpr (R > 3) rows(std::integral_constant<int, 3>());
    }
  }
#pragma unroll
  for (int r = 0; r < R; ++r)
    if (lane + 32 * r < n) p.x[at + (size_t)(lane + 32 * r)] = v[r];
  if (!lane) p.residual[blockIdx.x] = left;
}

template <int R> void launch_warps(int count, const Batch &p)
{
  const size_t bytes = (size_t)p.n * (size_t)p.n * sizeof(double);
  if (bytes > 48 * 1024)
    device::check(cudaFuncSetAttribute(batch_of_warps<R>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  device::launch(batch_of_warps<R>, dim3((unsigned)count), dim3(32), bytes, p);
}
#endif

} // namespace

void batch(const Exec &exec, int count, int n, const double *a, const double *q, const double *lower,
           const double *upper, double rtol, int sweeps, double *x, double *residual)
{
  const size_t vectors = (size_t)(3 * n + 2) * sizeof(double), all = vectors + (size_t)n * (size_t)n * sizeof(double);
  const bool   inside  = all <= device::block_scratch(exec.space);
  const int    threads = n < 256 ? (n + 31) / 32 * 32 : 256;
#ifdef __CUDACC__
  const Batch p{a, q, lower, upper, x, residual, rtol, n, sweeps, inside};
  if (inside && n <= 128 && count > 0 && n > 0)
    return n <= 32 ? launch_warps<1>(count, p)
         : n <= 64 ? launch_warps<2>(count, p)
         : n <= 96 ? launch_warps<3>(count, p)
                   : launch_warps<4>(count, p);
#endif
  forall_blocks(exec, count, threads, inside ? all : vectors,
                Batch{a, q, lower, upper, x, residual, rtol, n, sweeps, inside});
}

} // namespace tessera::lcp
