// Recombination and line search on the device, with the last step and the projected correction computed where they are needed: three
// kernels. Bytes a node, 5-point star: sums for the recombination 73 (5 coefficients, v, r, x, y, a flag), for the line search 89 (two
// bounds more), the step 65; arrays for what they compute would make it 273.
#include "vipmg/stencil3.hpp"

namespace tessera::vipmg {

namespace {

// p = x - y at inactive nodes.
struct LastStep {
  const double  *x, *y;
  const uint8_t *inactive;
  HD double      operator[](ptrdiff_t q) const { return inactive[q] ? x[q] - y[q] : 0; }
};

// The correction a v + b p, projected.
struct Correction {
  LastStep      p;
  const double *v, *lo, *up;
  double        a, b;
  HD double     operator[](ptrdiff_t q) const
  {
    const double x = p.x[q];
    double       y = x + (a * v[q] + b * p[q]);
    y              = y < lo[q] ? lo[q] : y;
    y              = y > up[q] ? up[q] : y;
    return y - x;
  }
};

template <int D, bool Box, bool Symmetric> struct FindCombination {
  Stencil3<D, Box> s;
  const double    *v, *r;
  LastStep         p;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k, Search &q) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half, c = s.source(P, t, j, k, e);
    const double    ve = v[e], pe = p[e];
    if (ve == 0 && pe == 0) return;
    const double av = s.diagonal(c) * ve + s.template neighbours<P>(v, c, o), lv = Symmetric ? ve : av;
    const double ap = s.diagonal(c) * pe + s.template neighbours<P>(p, c, o), lp = Symmetric ? pe : ap;
    q.rv += r[e] * lv;
    q.vv += lv * av;
    q.rp += r[e] * lp;
    q.vp += lv * ap;
    q.pp += lp * ap;
  }
};

template <int D, bool Box, bool Symmetric> struct FindLength {
  Stencil3<D, Box> s;
  const double    *r;
  const Search    *combination;
  Correction       d;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k, Search &q) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half, from = s.source(P, t, j, k, e);
    Correction      c = d;
    combination->combination(c.a, c.b);
    const double de = c[e];
    if (de == 0) return;
    const double ad = s.diagonal(from) * de + s.template neighbours<P>(c, from, o), ld = Symmetric ? de : ad;
    q.rv += r[e] * ld;
    q.vv += ld * ad;
  }
};

// x + t d; y := x
struct Step {
  const Search *combination, *length;
  Correction    d;
  double       *x, *y;
  int           half;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    Correction      c = d;
    combination->combination(c.a, c.b);
    const double old = d.p.x[e], step = c[e];
    double       z   = old + length->length() * step;
    z              = z < d.lo[e] ? d.lo[e] : z;
    x[e]           = z > d.up[e] ? d.up[e] : z;
    y[e]           = old;
  }
};

template <int D, bool Box, bool Symmetric> void correct_with(Plan &plan, Level &l, const Correction &d)
{
  const auto s = stencil<D, Box>(l, l.A);
  Search    *combination = plan.search.data(), *length = combination + 2;
  join_nodes(plan.exec, l.layout, l.own, FindCombination<D, Box, Symmetric>{s, l.v.data(), l.r.data(), d.p}, combination);
  join_nodes(plan.exec, l.layout, l.own, FindLength<D, Box, Symmetric>{s, l.r.data(), combination, d}, length);
  for_nodes(plan.exec, l.layout, l.own, Step{combination, length, d, l.x.data(), l.y.data(), l.layout.half});
}

} // namespace

void correct(Plan &plan, Level &l, const double *x)
{
  const Correction d{{x, l.y.data(), l.inactive.data()}, l.v.data(), l.lo.data(), l.up.data(), 1, 0};
  with_kind(plan.dimension, l.A.box, [&](auto kind) {
    using K = decltype(kind);
    if (plan.symmetric) correct_with<K::dimension, K::box, true>(plan, l, d);
    else correct_with<K::dimension, K::box, false>(plan, l, d);
  });
}

} // namespace tessera::vipmg
