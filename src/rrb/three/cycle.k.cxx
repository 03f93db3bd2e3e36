// An application: the cycle, and the way of vectors into it and out of it.
#include "box/chunks.hpp"
#include "exec/each.hpp"
#include "rrb/three/hierarchy.hpp"

namespace tessera::rrb::three {

namespace {

// end(place, (A v) there). 14 coefficients of 27 points, 4 of 7, v once, and what `end` moves.
template <class T, int F, class End> struct Product27 {
  box::Symmetric3<T, F> s;
  const T              *v;
  End                   end;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    end(o + P * (ptrdiff_t)s.half, s.template product<P>(v, o));
  }
};

// v = (from ? d from : 0) - d (A v of the other colour)
template <class T, int F> struct Eliminate {
  box::Symmetric3<T, F> s;
  const T              *diagonal, *from;
  T                    *v;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    v[e] = diagonal[e] * ((from ? from[e] : 0) - s.template neighbours<P>(v, o));
  }
};

template <class T> struct Residual {
  const T *b;
  T       *r;
  HD T     operator()(ptrdiff_t e, T product) const { return r[e] = b[e] - product; }
};

// b_b - A_br D_r^-1 b_r
template <class T, int F> struct ReduceRight {
  box::Symmetric3<T, F> s;
  const T              *diagonal, *b;
  T                    *to;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    T               sum = b[e];
    s.template each<P>(o, [&](T a, ptrdiff_t q) { sum -= a * (diagonal[q] * b[q]); });
    to[e] = sum;
  }
};

HD inline ptrdiff_t natural_place(const Box3 &own, int i, int j, int k)
{
  const ptrdiff_t nx = own.hi[0] - own.lo[0], ny = own.hi[1] - own.lo[1];
  return (i - own.lo[0]) + nx * ((j - own.lo[1]) + ny * (k - own.lo[2]));
}

// Natural order, own nodes; what a Dirichlet row says goes to x.
template <class T> struct Load {
  const double  *from;
  Box3           own;
  const uint8_t *free;
  const T       *a; // the diagonal
  T             *b, *x;
  int            half;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half,
                    p = natural_place(own, 2 * t + P, j, k);
    const bool in = !free || free[e];
    b[e]          = in ? (T)from[p] : 0;
    if (free) x[e] = in ? 0 : (T)(from[p] / (double)a[e]);
  }
};
template <class T> struct Store {
  const T       *x, *a;
  Box3           own;
  const uint8_t *free;
  const double  *from;
  double        *to;
  int            half;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half,
                    p = natural_place(own, 2 * t + P, j, k);
    to[p] = !free || free[e] ? (double)x[e] : from[p] / (double)a[e];
  }
};
// b -= A_ID x_D, and x_D = 0 for what follows: it takes no part.
template <class T> struct Subtract {
  const uint8_t *free;
  T             *b;
  HD T           operator()(ptrdiff_t e, T product) const { return b[e] = free[e] ? b[e] - product : 0; }
};

template <class T> struct Gather {
  const ptrdiff_t *places;
  const T         *from;
  T               *to;
  HD void          operator()(int p) const { to[p] = from[places[p]]; }
};
template <class T> struct Scatter {
  const ptrdiff_t *places;
  const T         *from;
  T               *to;
  HD void          operator()(int p) const { to[places[p]] = from[p]; }
};

Box3 widened(const Box3 &own, bool more)
{
  Box3 b = own;
  for (int d = 0; d < 3 && more; ++d) --b.lo[d], ++b.hi[d];
  return b;
}

// end(place, (A v) there) at the nodes of a level, (S v) at the black ones of a Schur complement.
template <class T, class End> void each_row(Level<T> &l, T *v, const End &end)
{
  if (l.schur) {
    set_red(l, v);
    return box::for_colour(l.exec, l.layout, l.own, black,
                           Product27<T, box::star_forward, End>{view<box::star_forward>(l), v, end});
  }
  with_operator(l, [&](auto s) {
    box::for_nodes(l.exec, l.layout, l.own, Product27<T, decltype(s)::kept, End>{s, v, end});
  });
}

// As multigrid/chebyshev.hpp has a level.
template <class T> struct Smoothed {
  Level<T>  &l;
  const Exec exec;
  Buffer<T> &inverse;
  explicit Smoothed(Level<T> &level) : l(level), exec(level.exec), inverse(level.inverse) { }
  int  unknowns() const { return (int)l.layout.size(); }
  void halo(T *v) { l.halo.exchange(v); }
  template <class End> void each_row(T *v, const End &end) { three::each_row(l, v, end); }
};

} // namespace

template <class T> void set_red(Level<T> &l, T *v)
{
  box::for_colour(l.exec, l.layout, widened(l.own, !l.halo.empty()), red,
                  Eliminate<T, box::star_forward>{view<box::star_forward>(l), l.diagonal.data(), nullptr, v});
}

template <class T> void smooth(Level<T> &l, bool from_zero)
{
  struct Vectors {
    T *b, *x, *r, *z, *w;
  };
  Smoothed<T> level(l);
  l.smoother.template apply<T>(level, Vectors{l.b.data(), l.x.data(), l.r.data(), l.z.data(), l.w.data()}, from_zero);
}

template <class T> void find_residual(Level<T> &l)
{
  l.halo.exchange(l.x.data());
  each_row(l, l.x.data(), Residual<T>{l.b.data(), l.r.data()});
  l.halo.exchange(l.r.data());
}

template <class T> void Hierarchy<T>::down(int k, multigrid::Visit visit)
{
  Level<T> &l = levels_[(size_t)k];
  smooth(l, visit.first);
  find_residual(l);
  restrict_to(l, levels_[(size_t)k + 1], l.r.data());
}

template <class T> void Hierarchy<T>::up(int k, multigrid::Visit visit)
{
  Level<T> &l = levels_[(size_t)k], &coarse = levels_[(size_t)k + 1];
  coarse.halo.exchange(coarse.x.data());
  prolong_add(l, coarse, l.x.data());
  if (visit.last) smooth(l, false);
}

template <class T> void Hierarchy<T>::solve()
{
  Level<T> &l = levels_.back();
  const int n = (int)places_.size();
  for_each(exec_, n, Gather<T>{places_.data(), l.b.data(), packed_[0].data()});
  exact_.solve(exec_, comm_, n, false, false, packed_[0].data(), packed_[1].data());
  for_each(exec_, n, Scatter<T>{places_.data(), packed_[1].data(), l.x.data()});
}

template <class T> void Hierarchy<T>::load(const double *from)
{
  Level<T>            &l = levels_[0];
  const uint8_t *const free = dirichlet_ ? free_.data() : nullptr;
  box::for_nodes(exec_, l.layout, l.own, Load<T>{from, l.own, free, l.a.data(), l.b.data(), l.x.data(), l.layout.half});
  if (free) {
    l.halo.exchange(l.x.data());
    with_operator(l, [&](auto s) {
      box::for_nodes(exec_, l.layout, l.own,
                     Product27<T, decltype(s)::kept, Subtract<T>>{s, l.x.data(), {free, l.b.data()}});
    });
    l.x.zero();
  }
  if (!l.schur) return;
  l.halo.exchange(l.b.data());
  box::for_colour(exec_, l.layout, l.own, black,
                  ReduceRight<T, box::star_forward>{view<box::star_forward>(l), l.diagonal.data(), l.b.data(),
                                                    l.b.data()});
}

template <class T> void Hierarchy<T>::store(const double *from, double *to)
{
  Level<T> &l = levels_[0];
  if (l.schur) {
    l.halo.exchange(l.x.data());
    box::for_colour(exec_, l.layout, l.own, red,
                    Eliminate<T, box::star_forward>{view<box::star_forward>(l), l.diagonal.data(), l.b.data(),
                                                    l.x.data()});
  }
  box::for_nodes(exec_, l.layout, l.own,
                 Store<T>{l.x.data(), l.a.data(), l.own, dirichlet_ ? free_.data() : nullptr, from, to,
                          l.layout.half});
}

// Constants on loose parts before and after the cycle.
template <class T> void Hierarchy<T>::cycle_with_parts()
{
  Level<T>    &l     = levels_[0];
  const size_t n     = l.layout.size();
  const Space  space = exec_.space;
  parts_.project(l, comm_, l.b.data(), constants_.data(), false);
  copy(l.b.data(), space, right_.data(), space, n);
  copy(constants_.data(), space, l.x.data(), space, n);
  find_residual(l);
  copy(l.r.data(), space, l.b.data(), space, n);
  multigrid::cycle(*this, cycle_, 0);
  for_each(exec_, (int)n, multigrid::Axpy<T, T>{constants_.data(), l.x.data(), (T)1, true});
  copy(right_.data(), space, l.b.data(), space, n);
  find_residual(l);
  parts_.project(l, comm_, l.r.data(), l.x.data(), true);
}

template <class T> void Hierarchy<T>::apply(const double *x, double *y)
{
  load(x);
  const auto cycle = [&] { multigrid::cycle(*this, cycle_, 0); };
  if (!parts_.empty()) cycle_with_parts();
  else if (levels_[0].shared) graph_.run(exec_.space, setups_, 0, cycle);
  else cycle();
  store(x, y);
}

#define INSTANTIATE(T) \
  template void Hierarchy<T>::down(int, multigrid::Visit); \
  template void Hierarchy<T>::up(int, multigrid::Visit); \
  template void Hierarchy<T>::solve(); \
  template void Hierarchy<T>::apply(const double *, double *);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::rrb::three
