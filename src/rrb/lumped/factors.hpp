// The factors of a grid, as kernels see them.
#pragma once
#include "rrb/rrb.hpp"

namespace tessera::rrb {

// L and D^-1 of a grid. S: stride along x, 1 in quarter planes, 2 in natural order. p: place of the node in its
// quarter. SCALED: false where A's couplings stand in L's place.
template <class T, int S, bool SCALED = true> struct Factors {
  static constexpr int stride = S;
  View<T> L[4], D;
  HD T   l(int k, int q, ptrdiff_t p) const { return SCALED ? L[k].q[q][p] : L[k].q[q][p] * D.q[q][p]; }
  // Z: a double, or several of as many vectors
  template <class Z> HD Z red_to_o(const View<Z> &z, ptrdiff_t p, ptrdiff_t r) const
  {
    const Z *a = z.q[1] + p, *b = z.q[2] + p;
    return red_to_o(a[-S], a[0], b[-r], b[0], p, r);
  }
  template <class Z> HD Z red_to_c(const View<Z> &z, ptrdiff_t p, ptrdiff_t r) const
  {
    const Z *a = z.q[1] + p, *b = z.q[2] + p;
    return red_to_c(b[0], b[S], a[0], a[r], p, r);
  }
  // the same with the values to W, E, S and N
  template <class Z> HD Z red_to_o(Z w, Z e, Z s, Z n, ptrdiff_t p, ptrdiff_t r) const
  {
    return l(1, 1, p - S) * w + l(0, 1, p) * e + l(3, 2, p - r) * s + l(2, 2, p) * n;
  }
  template <class Z> HD Z red_to_c(Z w, Z e, Z s, Z n, ptrdiff_t p, ptrdiff_t r) const
  {
    return l(1, 2, p) * w + l(0, 2, p + S) * e + l(3, 1, p) * s + l(2, 1, p + r) * n;
  }
  // o0 and o1: the values of o at (X, Y) and (X, Y+1), with stride so
  HD double o_to_c(const double *o0, const double *o1, ptrdiff_t so, ptrdiff_t p, ptrdiff_t r) const
  {
    return L[3].q[0][p] * o0[0] + L[2].q[0][p + S] * o0[so] + L[1].q[0][p + r] * o1[0] + L[0].q[0][p + S + r] * o1[so];
  }
  HD double back_o(double t, const double *c, ptrdiff_t p, ptrdiff_t r) const
  {
    return D.q[0][p] * t - L[0].q[0][p] * c[-S - r] - L[1].q[0][p] * c[-r] - L[2].q[0][p] * c[-S] - L[3].q[0][p] * c[0];
  }
  template <class Z, class V> HD Z back_a(Z z, const V *o, const V *c, ptrdiff_t so, ptrdiff_t p, ptrdiff_t r) const
  {
    return D.q[1][p] * z - l(0, 1, p) * o[0] - l(1, 1, p) * o[so] - l(2, 1, p) * c[-r] - l(3, 1, p) * c[0];
  }
  template <class Z, class V> HD Z back_b(Z z, const V *o0, const V *o1, const V *c, ptrdiff_t p) const
  {
    return D.q[2][p] * z - l(0, 2, p) * c[-S] - l(1, 2, p) * c[0] - l(2, 2, p) * o0[0] - l(3, 2, p) * o1[0];
  }
};

template <class T, int S, bool SCALED = true> Factors<T, S, SCALED> factors(Level &level, Buffer<T> l[4], Buffer<T> &d)
{
  Factors<T, S, SCALED> f;
  for (int k = 0; k < 4; ++k) f.L[k] = level.layout.view(l[k].data());
  f.D = level.layout.view(d.data());
  return f;
}

// Calls f<T, S>() for the precision and the storage order of a grid.
template <class F> void dispatch(Plan &plan, Level &level, const F &f)
{
  Factor &a = level.factor;
  if (plan.single_factors()) {
    if (level.layout.natural) f(a.l32, a.d32, std::integral_constant<int, 2>());
    else f(a.l32, a.d32, std::integral_constant<int, 1>());
  } else {
    if (level.layout.natural) f(a.l64, a.d64, std::integral_constant<int, 2>());
    else f(a.l64, a.d64, std::integral_constant<int, 1>());
  }
}

// Calls f with the factors of the red nodes.
template <class F> void with_red_factors(Plan &plan, Level &level, const F &f)
{
  Factor &a = level.factor;
  if (!a.scaled)
    level.layout.natural ? f(factors<double, 2, false>(level, a.l64, a.d64))
                         : f(factors<double, 1, false>(level, a.l64, a.d64));
  else
    dispatch(plan, level, [&](auto *l, auto &d, auto s) {
      f(factors<std::remove_reference_t<decltype(*d.data())>, decltype(s)::value>(level, l, d));
    });
}

} // namespace tessera::rrb
