// The smoother's lines: their blocks, and what is done with them.
#include "box/cube.hpp"
#include "rrb/three/kernels.hpp"

namespace tessera::rrb::three {

namespace {

// The blocks' entries: factor[d] of a node is that with the node before it, pivot the diagonal's. Where a line meets
// itself, in a periodic direction, it is cut. 27 coefficients of up to three nodes, at nodes of lines alone.
template <class T, int F> struct BlockRows {
  box::Symmetric3<T, F> s;
  const uint8_t        *along, *free; // free: nullptr where there is a diagonal
  const T              *inverse;
  T                    *factor[3], *pivot;
  int                   n[3];
  // The row of the node `side` further along D.
  template <int P, int D> HD void beside(ptrdiff_t o, bool ahead, double (&r)[27]) const
  {
    constexpr int Q = D ? P : 1 - P;
    const ptrdiff_t q = D == 0 ? o + (ahead ? s.template place<P, 1>(0, 0) : s.template place<P, -1>(0, 0)) -
                                   Q * (ptrdiff_t)s.half
                               : o + (ahead ? 1 : -1) * (D == 1 ? s.sj : s.sk);
    s.template row<Q>(q, r);
  }
  template <int P, int D> HD void node(ptrdiff_t o, int at) const
  {
    constexpr int   w = D == 0 ? 1 : D == 1 ? 3 : 9;
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    double          mine[27], row[27], off[2] = {0, 0}, diagonal, own[2];
    bool            in[27];
    s.template row<P>(o, mine);
    box::unroll3<0, 27>([&](auto m) {
      constexpr int   c = decltype(m)::value;
      const ptrdiff_t q = o + s.template place<P, c % 3 - 1>(c / 3 % 3 - 1, c / 9 - 1);
      in[c]             = free ? free[q] : s.a[q] != 0;
      if (!in[c]) mine[c] = 0;
    });
    diagonal = mine[box::centre27], own[0] = mine[box::centre27 - w], own[1] = mine[box::centre27 + w];
    double rest[27]; // couplings with other lines that are no edges'
    for (int c = 0; c < 27; ++c) rest[c] = mine[c];
    for (int b = 0; b < 2; ++b) {
      const int       step = b ? w : -w;
      const ptrdiff_t q    = D == 0 ? o + (b ? s.template place<P, 1>(0, 0) : s.template place<P, -1>(0, 0))
                                    : e + (b ? 1 : -1) * (D == 1 ? s.sj : s.sk);
      const bool      linked = (b ? at + 1 < n[D] : at > 0) && along[q] == D + 1;
      if (!linked) {
        diagonal += fabs(own[b]);
        for (int c = 0; c < 27; ++c)
          if (c / w % 3 == 1 && c != 13) diagonal += fabs(mine[c + step]);
        continue;
      }
      off[b] = own[b];
      beside<P, D>(o, b, row);
      for (int c = 0; c < 27; ++c) {
        if (c / w % 3 != 1 || c == 13) continue;
        const double forth = mine[c + step], back = in[c] ? row[c - step] : 0, common = 0.5 * (forth + back);
        off[b] -= fabs(common);
        diagonal += fabs(common) + 0.5 * fabs(forth - back);
        rest[c] += common;
      }
    }
    for (int c = 0; c < 27; ++c)
      if (c / w % 3 == 1 && c != 13) diagonal += fabs(rest[c]);
    factor[D][e] = (T)off[0];
    pivot[e]     = (T)diagonal;
  }
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    for (T *f : factor)
      if (f) f[e] = 0;
    pivot[e] = inverse[e];
    if (along[e] == 1 && factor[0]) node<P, 0>(o, 2 * t + P);
    if (along[e] == 2 && factor[1]) node<P, 1>(o, j);
    if (along[e] == 3 && factor[2]) node<P, 2>(o, k);
  }
};

// What is done at a node behind the one `before` it; backward, the one after it.
template <class T> struct Factor {
  const uint8_t *along;
  T             *factor, *pivot;
  int            direction;
  HD void operator()(ptrdiff_t e, ptrdiff_t before) const
  {
    if (along[e] != direction + 1) return;
    const T f = factor[e], l = f != 0 ? f * pivot[before] : 0, d = pivot[e], p = d - l * f,
            least = (sizeof(T) == 8 ? (T)1e-13 : (T)1e-6) * d;
    factor[e] = l;
    pivot[e]  = 1 / (p > least ? p : least);
  }
};
// Where there is no factor v[before] may be of an earlier vector, which need not be finite.
template <class T, bool First> struct Forward {
  const T *factor, *r;
  T       *v;
  HD void  operator()(ptrdiff_t e, ptrdiff_t before) const
  {
    const T f = factor[e], s = First ? r[e] : v[e], t = s - f * v[before];
    v[e] = f != 0 ? t : s;
  }
};
template <class T, bool First> struct Backward {
  const T *factor, *pivot;
  T       *v;
  HD void  operator()(ptrdiff_t e, ptrdiff_t after) const
  {
    const T f = factor[after], s = First ? pivot[e] * v[e] : v[e], t = s - f * v[after];
    v[e] = f != 0 ? t : s;
  }
};

// A layer of lines along y or z on the host; a line on a device.
template <class Kernel> struct InRow {
  Kernel    kernel;
  ptrdiff_t step;
  int       half;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    kernel(e, e + step);
  }
};
template <int D, bool Back, class Kernel> struct OneLine {
  box::Layout3 layout;
  int          lo, hi;
  Kernel       kernel;
  HD void      operator()(int a, int b) const
  {
    for (int c = Back ? hi - 1 : lo; Back ? c >= lo : c < hi; c += Back ? -1 : 1) {
      const int q = c + (Back ? 1 : -1);
      if (D == 0) kernel(layout.at(c, a, b), layout.at(q, a, b));
      if (D == 1) kernel(layout.at(a, c, b), layout.at(a, q, b));
      if (D == 2) kernel(layout.at(a, b, c), layout.at(a, b, q));
    }
  }
};

// The lines of a layer across B, on the host: along x several at once, which do not wait for each other's products,
// else whole rows.
template <int D, bool Back, class Kernel> struct Layers {
  const box::Layout3 &layout;
  const Box3         &own;
  Kernel              kernel;
  InRow<Kernel>       row;
  int  place(int c) const { return Back ? own.hi[D] - 1 - c : own.lo[D] + c; }
  void along_x(int k) const
  {
    constexpr int several = 8;
    const Kernel  at      = kernel;
    for (int j = own.lo[1]; j < own.hi[1]; j += several) {
      const int       m = std::min(several, own.hi[1] - j);
      const ptrdiff_t o = layout.row(j, k);
      for (int c = 0; c < own.hi[0] - own.lo[0]; ++c) {
        const int       i = place(c), q = i + (Back ? 1 : -1);
        const ptrdiff_t e = o + (i & 1) * (ptrdiff_t)layout.half + floor_half(i),
                        f = o + (q & 1) * (ptrdiff_t)layout.half + floor_half(q);
        for (int v = 0; v < m; ++v) at(e + v * layout.sj, f + v * layout.sj);
      }
    }
  }
  void by_rows(int b) const
  {
    for (int c = 0; c < own.hi[D] - own.lo[D]; ++c) {
      const int j = D == 1 ? place(c) : b, k = D == 1 ? b : place(c);
      box::half_row<0>(layout, j, k, half_begin(own.lo[0], 0), half_begin(own.hi[0], 0), row);
      box::half_row<1>(layout, j, k, half_begin(own.lo[0], 1), half_begin(own.hi[0], 1), row);
    }
  }
};

// kernel(place, place of the node before) at the own nodes in their order along D, or backward.
template <int D, bool Back, class T, class Kernel> void along_lines(const Level<T> &l, const Kernel &kernel)
{
  constexpr int A = D == 0 ? 1 : 0, B = D == 2 ? 1 : 2;
  const Box3   &own = l.own;
  if (own.empty()) return;
  const ptrdiff_t                  step = (Back ? 1 : -1) * (D == 1 ? l.layout.sj : l.layout.sk);
  const Layers<D, Back, Kernel>    host{l.layout, own, kernel, {kernel, step, l.layout.half}};
  const OneLine<D, Back, Kernel>   line{l.layout, own.lo[D], own.hi[D], kernel};
  const auto layer = [&](int b) { D == 0 ? host.along_x(b) : host.by_rows(b); };
  const Box  across{own.lo[A], own.hi[A], own.lo[B], own.hi[B]};
  forall_rows_or_parts(l.exec, own.lo[B], own.hi[B], layer, part(across, line));
}

// The same, one process after the other, which the last one's values of `passed` are sent to.
template <int D, bool Back, class T, class Kernel> void pass(Level<T> &l, T *passed, const Kernel &kernel)
{
  const int all = l.shared ? 1 : l.lines.processes[D], mine = l.shared ? 0 : l.lines.place[D];
  for (int turn = 0; turn < all; ++turn) {
    if (turn) l.halo.exchange(passed);
    if (turn == (Back ? all - 1 - mine : mine)) along_lines<D, Back>(l, kernel);
  }
}

// f(direction) of each that has lines, as constants
template <class T, class F> void each_direction(const Lines<T> &lines, const F &f)
{
  if (lines.factor[0].size()) f(std::integral_constant<int, 0>());
  if (lines.factor[1].size()) f(std::integral_constant<int, 1>());
  if (lines.factor[2].size()) f(std::integral_constant<int, 2>());
}

} // namespace

template <class T> void factor_lines(Level<T> &l, const uint8_t *free)
{
  Lines<T>    &s = l.lines;
  const Extent n{l.layout.size(), l.exec.space};
  for (int d = 0; d < 5; ++d) {
    Buffer<T> &f = d < 3 ? s.factor[d] : d < 4 ? s.pivot : s.solved;
    if (f.size() != n.n && (d >= 3 || s.directions[d])) f.resize(n);
  }
  l.halo.exchange(s.along.data());
  with_operator(l, [&](auto view) {
    box::for_nodes(l.exec, l.layout, l.own,
                   BlockRows<T, decltype(view)::kept>{
                     view,
                     s.along.data(),
                     free,
                     l.inverse.data(),
                     {s.factor[0].data(), s.factor[1].data(), s.factor[2].data()},
                     s.pivot.data(),
                     {l.n[0], l.n[1], l.n[2]}
    });
  });
  each_direction(s, [&](auto d) {
    constexpr int D = decltype(d)::value;
    T *const      f = s.factor[D].data();
    pass<D, false>(l, s.pivot.data(), Factor<T>{s.along.data(), f, s.pivot.data(), D});
    l.halo.exchange(f);
  });
}

template <class T> void solve_lines(Level<T> &l, const T *r)
{
  Lines<T>      &s = l.lines;
  T *const       v = s.solved.data();
  const T *const p = s.pivot.data();
  bool           first = true;
  each_direction(s, [&](auto d) {
    constexpr int  D = decltype(d)::value;
    const T *const f = s.factor[D].data();
    if (first) pass<D, false>(l, v, Forward<T, true>{f, r, v});
    else pass<D, false>(l, v, Forward<T, false>{f, r, v});
    first = false;
  });
  first = true;
  each_direction(s, [&](auto d) {
    constexpr int  D = decltype(d)::value;
    const T *const f = s.factor[D].data();
    if (first) pass<D, true>(l, v, Backward<T, true>{f, p, v});
    else pass<D, true>(l, v, Backward<T, false>{f, p, v});
    first = false;
  });
}

#define INSTANTIATE(T) \
  template void factor_lines(Level<T> &, const uint8_t *); \
  template void solve_lines(Level<T> &, const T *);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::rrb::three
