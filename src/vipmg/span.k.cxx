// The correction of least residual of a span.
#include "vipmg/stencil3.hpp"
#include <utility>

namespace tessera::vipmg {

namespace {

// Products of an image q with itself, another one s, and the residual r
struct Products {
  const double *q, *s, *r;
  int           half;
  template <int P> HD void at(int, ptrdiff_t o, int, int, CombinationSums &a) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    a.vv += q[e] * q[e];
    a.vp += q[e] * s[e];
    a.rv += q[e] * r[e];
  }
};

// d -= c e, q -= c s
struct Subtract {
  const double *e, *s;
  double        c, *d, *q;
  int           half;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t n = o + P * (ptrdiff_t)half;
    d[n] -= c * e[n];
    q[n] -= c * s[n];
  }
};

// v = c d, or v += c d
struct Multiples {
  const double *d;
  double        c, *v;
  int           half;
  bool          add;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    v[e]              = c * d[e] + (add ? v[e] : 0);
  }
};

// q = A d
template <class S> struct Image {
  S              s;
  const double  *d;
  const uint8_t *inactive;
  double        *q;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    q[e]              = inactive[e] ? s.diagonal(e) * d[e] + s.template neighbours<P>(d, e, o) : 0;
  }
};

CombinationSums products(Plan &plan, const Level &l, const Buffer<double> &q, const Buffer<double> &s)
{
  begin_join(plan.sums);
  join_nodes(plan.exec, l.layout, l.own, Products{q.data(), s.data(), l.r.data(), l.layout.half}, plan.sums.data(),
             true);
  return sum_of(plan, l, plan.sums);
}

// n.d := v and n.q := A v without what lies in the span of the others' images; false where nothing else is left.
bool orthogonal(Plan &plan, const Level &l, const Buffer<double> &v, Span::Direction &n)
{
  with_kind(plan.dimension, l.A.box, [&](auto kind) {
    using K = decltype(kind);
    for_nodes(plan.exec, l.layout, l.own,
              Image<Stencil3<K::dimension, K::box>>{stencil<K::dimension, K::box>(l, l.A), v.data(), l.inactive.data(),
                                                    n.q.data()});
  });
  for_nodes(plan.exec, l.layout, l.own, Multiples{v.data(), 1, n.d.data(), l.layout.half, false});
  const double before = products(plan, l, n.q, n.q).vv;
  for (const Span::Direction &o : plan.span.directions) {
    const double c = products(plan, l, n.q, o.q).vp / o.qq;
    for_nodes(plan.exec, l.layout, l.own, Subtract{o.d.data(), o.q.data(), c, n.d.data(), n.q.data(), l.layout.half});
  }
  n.qq = products(plan, l, n.q, n.q).vv;
  return n.qq > 1e-16 * before;
}

Span::Direction fresh(Plan &plan, const Level &l)
{
  Span::Direction n;
  if (plan.span.unused.empty()) {
    n.d.resize(l.v.extent());
    n.q.resize(l.v.extent());
  } else {
    n = std::move(plan.span.unused.back());
    plan.span.unused.pop_back();
  }
  return n;
}

} // namespace

void span(Plan &plan, Level &l)
{
  std::vector<Span::Direction> &all = plan.span.directions, &unused = plan.span.unused;
  const auto length = [&](const Span::Direction &d) { return products(plan, l, d.q, d.q).rv / d.qq; };
  if (all.size() == Span::max_directions) {
    unused.push_back(std::move(all.front()));
    all.erase(all.begin());
  }
  Span::Direction n = fresh(plan, l);
  if (orthogonal(plan, l, l.w, n)) all.push_back(std::move(n)); // the last step
  else unused.push_back(std::move(n));
  n              = fresh(plan, l);
  const double a = orthogonal(plan, l, l.v, n) ? length(n) : 0;
  for_nodes(plan.exec, l.layout, l.own, Multiples{n.d.data(), a, l.v.data(), l.layout.half, false});
  unused.push_back(std::move(n));
  for (const Span::Direction &d : all)
    for_nodes(plan.exec, l.layout, l.own, Multiples{d.d.data(), length(d), l.v.data(), l.layout.half, true});
  l.halo.exchange(l.v.data());
}

} // namespace tessera::vipmg
