// Vector operations on the fields of a grid, and the K-cycle with its scalars on the device.
#pragma once
#include "exec/pack.hpp"
#include "multigrid/acceleration.hpp"
#include "rrb/random.hpp"
#include "rrb/rrb.hpp"
#include <cstdint>
#include <type_traits>

namespace tessera::rrb {

template <class T> struct CombineKernel {
  T         s, t;
  const T  *x;
  T        *y;
  ptrdiff_t row;
  HD void   operator()(int i, int j) const
  {
    const ptrdiff_t p = i + j * row;
    y[p]              = t == 0 ? s * x[p] : s * x[p] + t * y[p];
  }
};

// y = s x + t y over whole arrays; padding stays zero.
template <class T> void combine(const Exec &exec, size_t n, double s, const T *x, double t, T *y)
{
  const size_t piece = 4096, rows = n / piece;
  forall(exec, {0, (int)piece, 0, (int)rows}, CombineKernel<T>{(T)s, (T)t, x, y, (ptrdiff_t)piece});
  forall(exec, {0, (int)(n - rows * piece), 0, 1}, CombineKernel<T>{(T)s, (T)t, x + rows * piece, y + rows * piece, 0});
}

// y = x over whole arrays, in another precision.
template <class X, class Y> struct ConvertKernel {
  const X  *x;
  Y        *y;
  ptrdiff_t row;
  HD void   operator()(int i, int j) const { y[i + j * row] = (Y)x[i + j * row]; }
};
template <class X, class Y> void convert(const Exec &exec, const Buffer<X> &x, Buffer<Y> &y)
{
  const size_t n = x.size(), piece = 4096, rows = n / piece;
  forall(exec, {0, (int)piece, 0, (int)rows}, ConvertKernel<X, Y>{x.data(), y.data(), (ptrdiff_t)piece});
  forall(exec, {0, (int)(n - rows * piece), 0, 1},
         ConvertKernel<X, Y>{x.data() + rows * piece, y.data() + rows * piece, 0});
}

// The same for many arrays in one launch, several numbers per thread. Each is cut into rows.
template <class X, class Y> struct ConvertAll {
  static constexpr int max_vectors = 16, group = 4, row = 256 * group;
  const X             *x[max_vectors];
  Y                   *y[max_vectors];
  Y                   *inverse[max_vectors]; // 1 / y where that is positive, else 0; or nullptr
  ptrdiff_t            n[max_vectors];
  int                  first[max_vectors + 1] = {0}, count = 0; // rows of an array
  HD void   operator()(int i, int j) const
  {
    int k = 0;
    while (first[k + 1] <= j) ++k;
    const ptrdiff_t p = (ptrdiff_t)i * group + (ptrdiff_t)(j - first[k]) * row;
    if (p + group <= n[k]) {
      const Pack<X, group> from = pack<group>(x[k] + p, 0);
      Pack<Y, group>       to, one;
      for (int m = 0; m < group; ++m) to.v[m] = (Y)from.v[m], one.v[m] = to.v[m] > 0 ? 1 / to.v[m] : 0;
      *(Pack<Y, group> *)(y[k] + p) = to;
      if (inverse[k]) *(Pack<Y, group> *)(inverse[k] + p) = one;
      return;
    }
    for (ptrdiff_t m = p; m < n[k]; ++m) {
      const Y v = (Y)x[k][m];
      y[k][m]   = v;
      if (inverse[k]) inverse[k][m] = v > 0 ? 1 / v : 0;
    }
  }
  void add(const Buffer<X> &from, Buffer<Y> &to, Y *inverses = nullptr)
  {
    x[count]         = from.data();
    y[count]         = to.data();
    inverse[count]   = inverses;
    n[count]         = (ptrdiff_t)from.size();
    first[count + 1] = first[count] + (int)((from.size() + row - 1) / row);
    ++count;
  }
  void run(const Exec &exec) const { forall(exec, {0, row / group, 0, first[count]}, *this); }
};

template <int S, class T> struct ProductKernel { // S = 0: any stride
  const T  *x, *y;
  ptrdiff_t sy, sx = S;
  HD double operator()(int X, int Y) const
  {
    const ptrdiff_t i = X * (S ? S : sx) + Y * sy;
    return (double)x[i] * y[i];
  }
};

// This process's part of x'y over the owned nodes of the quarters in the mask.
template <class T> double dot(const Exec &exec, const Grid &grid, int mask, const View<T> &x, const View<T> &y)
{
  double s = 0;
  for (int q = 0; q < 4; ++q)
    if (mask & (1 << q))
      s += x.sx == 1 ? forall_sum(exec, grid.owned(q), ProductKernel<1, T>{x.q[q], y.q[q], x.sy})
                     : forall_sum(exec, grid.owned(q), ProductKernel<0, T>{x.q[q], y.q[q], x.sy, x.sx});
  return s;
}

template <class X, class Y> struct CopyKernel {
  const X  *x;
  Y        *y;
  ptrdiff_t sx, sy, tx, ty;
  HD void   operator()(int i, int j) const { y[i * tx + j * ty] = (Y)x[i * sx + j * sy]; }
};

// y = x on the owned nodes of the quarters in the mask.
template <class X, class Y> void copy(const Exec &exec, const Grid &grid, int mask, const View<X> &x, const View<Y> &y)
{
  auto of = [&](int q) {
    return part(mask & (1 << q) ? grid.owned(q) : Box(), CopyKernel<X, Y>{x.q[q], y.q[q], x.sx, x.sy, y.sx, y.sy});
  };
  forall_parts(exec, of(0), of(1), of(2), of(3));
}

// Numbers in [-0.5, 0.5) that depend on the node alone.
template <class T> struct RandomKernel {
  T        *v;
  ptrdiff_t sx, sy;
  int       q;
  uint64_t  stream;
  HD void   operator()(int X, int Y) const
  {
    const uint64_t key = (uint64_t)(2 * X + (q & 1)) * 0x9e3779b97f4a7c15u +
                         (uint64_t)(2 * Y + (q >> 1)) * 0xc2b2ae3d27d4eb4fu + stream * 0x165667b19e3779f9u;
    v[X * sx + Y * sy] = (T)(random_fraction(key) - 0.5);
  }
};
template <class T> void fill_random(const Exec &exec, const Grid &grid, int mask, uint64_t stream, const View<T> &v)
{
  for (int q = 0; q < 4; ++q)
    if (mask & (1 << q)) forall(exec, grid.owned(q), RandomKernel<T>{v.q[q], v.sx, v.sy, q, stream});
}

// The K-cycle's scalars on the device, where the host waits for none of them.
struct TwoSums {
  double  a = 0, b = 0;
  HD void join(const TwoSums &o) { a += o.a, b += o.b; }
};
template <class T> struct TwoProducts { // x'y and x'z over the owned nodes, by cells
  View<T> x, y, z;
  Box     own[4];
  int     mask;
  HD void operator()(int X, int Y, TwoSums &sums) const
  {
    for (int q = 0; q < 4; ++q) {
      if (!(mask >> q & 1) || !own[q].contains(X, Y)) continue;
      const ptrdiff_t p = X * x.sx + Y * x.sy;
      sums.a += (double)x.q[q][p] * y.q[q][p];
      sums.b += (double)x.q[q][p] * z.q[q][p];
    }
  }
};
constexpr int k_row = 4096; // a row of a flat array
template <class T> struct KStart { // r = b, x = 0
  const T  *b;
  T        *r, *x;
  ptrdiff_t n;
  HD void   operator()(int i, int j) const
  {
    const ptrdiff_t p = i + (ptrdiff_t)j * k_row;
    if (p < n) r[p] = b[p], x[p] = 0;
  }
};
// d = w - (w'q / d'q) d; zero after the step that ends the iteration, which makes its d'q zero
template <class T> struct KDirection {
  const T       *w;
  T             *d;
  ptrdiff_t      n;
  const TwoSums *last, *wq; // last: d'q of the step before, none in the first one
  HD void        operator()(int i, int j) const
  {
    const ptrdiff_t p = i + (ptrdiff_t)j * k_row;
    if (p < n) d[p] = !last ? w[p] : last->a > 0 ? w[p] + (T)(-wq->a / last->a) * d[p] : 0;
  }
};
template <class T> struct KStep { // alpha = d'r / d'q, x += alpha d, r -= alpha q
  const T       *d, *q;
  T             *x, *r;
  ptrdiff_t      n;
  const TwoSums *dq;
  HD void        operator()(int i, int j) const
  {
    const ptrdiff_t p = i + (ptrdiff_t)j * k_row;
    if (p >= n || !(dq->a > 0)) return;
    const T alpha = (T)(dq->b / dq->a);
    x[p] += alpha * d[p];
    if (r) r[p] -= alpha * q[p];
  }
};

// k_cycle() on one process: eight launches per step beside the cycle and the product.
template <class Space> void fused_k_cycle(Space &s, int steps)
{
  using T                 = std::remove_reference_t<decltype(*s.x.data.data())>;
  const ptrdiff_t n       = (ptrdiff_t)s.x.data.size();
  const Box       all{0, k_row, 0, (int)((n + k_row - 1) / k_row)};
  TwoSums *const  dq      = (TwoSums *)s.g.sums.data(), *const wq = dq + 1;
  auto product = [&](const auto &x, const auto &y, const auto &z, TwoSums *to) {
    forall_join(s.plan.exec, s.g.grid.cells(),
                TwoProducts<T>{
                  x.v, y.v, z.v, {s.g.grid.owned(0), s.g.grid.owned(1), s.g.grid.owned(2), s.g.grid.owned(3)},
                     s.mask
    },
                to);
  };
  forall(s.plan.exec, all, KStart<T>{s.b.data.data(), s.r.data.data(), s.x.data.data(), n});
  for (int i = 0; i < steps; ++i) {
    s.precondition(s.r, s.w);
    if (i) product(s.w, s.q, s.q, wq);
    forall(s.plan.exec, all, KDirection<T>{s.w.data.data(), s.d.data.data(), n, i ? dq : nullptr, wq});
    s.multiply(s.d, s.q);
    product(s.d, s.q, s.r, dq);
    forall(
      s.plan.exec, all,
      KStep<T>{s.d.data.data(), s.q.data.data(), s.x.data.data(), i + 1 < steps ? s.r.data.data() : nullptr, n, dq});
  }
}

template <class Space> void k_cycle(Space &s, int steps)
{
  if constexpr (device::built)
    if (s.plan.strategy->fused_steps && s.g.grid.processes() == 1) return fused_k_cycle(s, steps);
  multigrid::k_cycle(s, steps);
}

using multigrid::amli_cycle;
using multigrid::cg_steps;

} // namespace tessera::rrb
