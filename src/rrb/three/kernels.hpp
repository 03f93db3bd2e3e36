// Kernels of operators and vectors that the cycle and the system of the black nodes share.
#pragma once
#include "box/chunks.hpp"
#include "box/tuning.hpp"
#include "exec/each.hpp"
#include "exec/several.hpp"
#include "exec/wavefront.hpp"
#include "rrb/three/hierarchy.hpp"
#include <algorithm>

namespace tessera::rrb::three {

// Numbers of so many nodes are 16 bytes, which a thread of a device reads at once.
template <class T> using Wide = Several<T, (int)(16 / sizeof(T))>;
template <class T> HD inline Wide<T>       *widen(T *p) { return (Wide<T> *)p; }
template <class T> HD inline const Wide<T> *widen(const T *p) { return (const Wide<T> *)p; }

// The sum of x_n y_n over from <= n < to.
template <class X, class Y> HD inline double dot_inside(X x, Y y, int from, int to)
{
  double sum = 0;
  for (int n = 0; n < width_of<X>; ++n)
    if (n >= from && n < to) sum += (double)x.v[n] * (double)y.v[n];
  return sum;
}

template <class T> struct Residual {
  const T *b;
  T       *r;
  HD T     operator()(ptrdiff_t e, T product) const { return r[e] = b[e] - product; }
};

// The same end of a product for several nodes at once, if there is one: end(q, products) of those from place q * width
// on.
template <class End> struct InWide { };
template <class T> struct InWide<Residual<T>> {
  Residual<Wide<T>> end;
  explicit HD InWide(const Residual<T> &e) : end{widen(e.b), widen(e.r)} { }
};
template <class T> struct InWide<KeepProduct<T>> {
  KeepProduct<Wide<T>> end;
  explicit HD InWide(const KeepProduct<T> &e) : end{widen(e.q)} { }
};
template <class T> struct InWide<multigrid::First<T, T>> {
  multigrid::First<Wide<T>, Wide<T>> end;
  explicit HD InWide(const multigrid::First<T, T> &e) : end{widen(e.inverse), widen(e.b), widen(e.r), widen(e.z), e.c}
  {
  }
};
template <class T, class Add, class Last, class Keep> struct InWide<multigrid::Next<T, T, Add, Last, Keep>> {
  multigrid::Next<Wide<T>, Wide<T>, Add, Last, Keep> end;
  explicit HD InWide(const multigrid::Next<T, T, Add, Last, Keep> &e) :
    end{widen(e.inverse), widen(e.z), widen(e.from), widen(e.r), widen(e.w), widen(e.x), e.m, e.c, e.before, e.now,
        e.add,            e.last,     e.keep}
  {
  }
};

// end(place, (A v) there). 14 coefficients of 27 points, 4 of 7, v once, and what `end` moves.
template <class T, int F, class End> struct Product27 {
  static constexpr int  width = std::is_constructible_v<InWide<End>, const End &> ? width_of<Wide<T>> : 1;
  box::Symmetric3<T, F> s;
  const T              *v;
  End                   end;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    end(o + P * (ptrdiff_t)s.half, s.template product<P>(v, o, s.same.source(P, t, j, k, o)));
  }
  template <int P> HD void wide(int t, ptrdiff_t o, int j, int k, int, int) const
  {
    const InWide<End> all(end);
    all.end((o + P * (ptrdiff_t)s.half) / width,
                s.template product<P, Wide<T>>(v, o, s.same.template source<width>(P, t, j, k, o)));
  }
};

// v = d (from - A v of the other colour). Zero: from is zero, and nowhere. A condition in the loop would become a
// masked load, which at the address zero takes a hundred times as long as any other.
template <class T, int F, bool Zero> struct Eliminate {
  box::Symmetric3<T, F> s;
  const T              *diagonal, *from;
  T                    *v;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t here = P * (ptrdiff_t)s.half, same = s.same.source(P, t, j, k, o), e = o + here;
    const T         sum = s.template neighbours<P>(v, o, same);
    if constexpr (Zero) v[e] = -diagonal[same + here] * sum;
    else v[e] = diagonal[same + here] * (from[e] - sum);
  }
  static constexpr int width = Zero ? width_of<Wide<T>> : 1;
  template <int P> HD void wide(int t, ptrdiff_t o, int j, int k, int, int) const
  {
    const ptrdiff_t here = P * (ptrdiff_t)s.half, same = s.same.template source<width>(P, t, j, k, o);
    widen(v)[(o + here) / width] =
      -widen(diagonal)[(same + here) / width] * s.template neighbours<P, Wide<T>>(v, o, same);
  }
};

// b_b - A_br D_r^-1 b_r, zero in Dirichlet rows
template <class T, int F> struct ReduceRight {
  box::Symmetric3<T, F> s;
  const T              *diagonal, *b;
  T                    *to;
  const uint8_t        *free;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    T               sum = b[e];
    s.template each<P>(o, s.same.source(P, t, j, k, o), [&](T a, ptrdiff_t q) { sum -= a * (diagonal[q] * b[q]); });
    to[e] = free[e] ? sum : 0;
  }
};

// Where the matrix's order of the own nodes, along its directions, has a node. TURNED: these are not the grid's.
template <bool TURNED> struct Natural {
  Box3                       own;
  ptrdiff_t                  along[3]; // from a node to the next one in each of the grid's directions
  explicit Natural(const Grid3 &g) : own(g.own)
  {
    ptrdiff_t step = 1;
    for (int axis = 0; axis < 3; ++axis)
      for (int d = 0; d < 3; ++d)
        if (g.axes[d] == axis) {
          along[d] = step;
          step *= own.hi[d] - own.lo[d];
          break;
        }
  }
  HD ptrdiff_t operator()(int i, int j, int k) const
  {
    return (TURNED ? along[0] : 1) * (i - own.lo[0]) + along[1] * (j - own.lo[1]) + along[2] * (k - own.lo[2]);
  }
};
template <class F> void with_natural(const Grid3 &g, const F &f)
{
  if (g.axes[0]) f(Natural<true>(g));
  else f(Natural<false>(g));
}

// Natural order, own nodes; what a Dirichlet row says goes to x.
template <class T, class Order> struct Load {
  const double  *from;
  Order          order;
  const uint8_t *free;
  const T       *a; // the diagonal
  T             *b, *x;
  int            half;
  HD void node(int i, int j, int k, ptrdiff_t e) const
  {
    const ptrdiff_t p  = order(i, j, k);
    const bool      in = !free || free[e];
    b[e]               = in ? (T)from[p] : 0;
    if (free) x[e] = in ? 0 : (T)(from[p] / (double)a[e]);
  }
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    node(2 * t + P, j, k, o + P * (ptrdiff_t)half);
  }
};
template <class T, class Order> struct Store {
  const T       *x, *a;
  Order          order;
  const uint8_t *free;
  const double  *from;
  double        *to;
  int            half;
  HD void node(int i, int j, int k, ptrdiff_t e) const
  {
    const ptrdiff_t p = order(i, j, k);
    to[p]             = !free || free[e] ? (double)x[e] : from[p] / (double)a[e];
  }
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    node(2 * t + P, j, k, o + P * (ptrdiff_t)half);
  }
};
// kernel.node(i, j, k, place), neighbouring threads at neighbouring pairs of nodes: natural order is what is read or
// written, where the matrix's directions are the grid's.
template <class Kernel> struct AlongRows {
  box::Layout3 layout;
  box::Rows    rows;
  int          lo, hi;
  Kernel       kernel;
  HD void      operator()(int t, int r) const
  {
    int j, k;
    rows.get(r, j, k);
    const ptrdiff_t o = layout.row(j, k) + t;
    if (2 * t >= lo) kernel.node(2 * t, j, k, o);
    if (2 * t + 1 < hi) kernel.node(2 * t + 1, j, k, o + layout.half);
  }
};
template <class T, class Kernel> void for_natural(const Level<T> &l, const Kernel &kernel)
{
  const box::Rows rows = box::all_rows(l.own);
  if (l.own.empty()) return;
  if (chunk_of(l.exec) > 1) return box::for_nodes(l.exec, l.layout, l.own, kernel);
  forall_on_device(l.exec, {floor_half(l.own.lo[0]), floor_half(l.own.hi[0] + 1), 0, rows.count()},
                   AlongRows<Kernel>{l.layout, rows, l.own.lo[0], l.own.hi[0], kernel});
}
// b -= A_ID x_D, and x_D = 0 for what follows: it takes no part.
template <class T> struct Subtract {
  const uint8_t *free;
  T             *b;
  HD T           operator()(ptrdiff_t e, T product) const { return b[e] = free[e] ? b[e] - product : 0; }
};

inline Box3 widened(const Box3 &own, bool more)
{
  Box3 b = own;
  for (int d = 0; d < 3 && more; ++d) --b.lo[d], ++b.hi[d];
  return b;
}
// v_r = -D_r^-1 A_rb v_b where red(box) is asked, then black(box) at all own nodes. The host passes through the grid
// once: black nodes follow a layer behind, while what they read is in the cache.
template <class T, class V, class Black>
void eliminate_then(const Level<T> &l, const box::Symmetric3<V, box::star_forward> &s, const V *diagonal, V *v,
                    const Black &black_nodes)
{
  const Eliminate<V, box::star_forward, true> eliminate{s, diagonal, nullptr, v};
  const bool                                  halo = !l.halo.empty();
  if (halo || chunk_of(l.exec) == 1) {
    box::for_colour(l.exec, l.layout, widened(l.own, halo), red, eliminate);
    return black_nodes(l.own);
  }
  const Box3  &own    = l.own;
  const double layer  = (double)(own.hi[0] - own.lo[0]) * (own.hi[1] - own.lo[1]);
  const int    layers = layer > 0 ? (int)std::max(1., tuning::layers_nodes / layer) : 1;
  wavefront({0, 1}, own.lo[2], own.hi[2], layers, true, [&](int phase, int from, int to) {
    Box3 part = own;
    part.lo[2] = from, part.hi[2] = to;
    if (phase == 0) box::for_colour(l.exec, l.layout, part, red, eliminate);
    else black_nodes(part);
  });
}

// Over the own nodes of a color, of this process.
template <class A, class B> struct Dot {
  const A *a;
  const B *b;
  int      half;
  template <int P> HD double at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    return (double)a[e] * (double)b[e];
  }
  static constexpr int       width = width_of<Wide<B>>;
  template <int P> HD double wide(int, ptrdiff_t o, int, int, int from, int to) const
  {
    const ptrdiff_t         e = (o + P * (ptrdiff_t)half) / width;
    const Several<A, width> x = ((const Several<A, width> *)a)[e];
    return dot_inside(x, widen(b)[e], from, to);
  }
};
template <class T, class A, class B> double dot(const Level<T> &l, int colour, const A *a, const B *b)
{
  return box::sum_colour(l.exec, l.layout, l.own, colour, Dot<A, B>{a, b, l.layout.half});
}

} // namespace tessera::rrb::three
