// Norms, active sets, and the line search.
#include "vipmg/stencil3.hpp"

namespace tessera::vipmg {

namespace {

template <class S> struct FindMeasure {
  S             s;
  const double *x, *b, *lo, *up;
  double       *r, zero;
  auto at_same(ptrdiff_t e) const { return FindMeasure<decltype(s.at(e))>{s.at(e), x, b, lo, up, r, zero}; }
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k, Measure &m) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half, c = s.source(P, t, j, k, e);
    const double    d = s.diagonal(c), ax = d * x[e] + s.template neighbours<P>(x, c, o), f = ax - b[e];
    r[e]           = -f;
    m.moved += ax * ax;
    m.add(f, x[e], lo[e], up[e], d, zero);
  }
};

template <class S> struct Mark {
  S              s;
  const double  *x, *lo, *up;
  uint8_t       *inactive;
  auto at_same(ptrdiff_t e) const { return Mark<decltype(s.at(e))>{s.at(e), x, lo, up, inactive}; }
  template <int P> HD void at(int, ptrdiff_t o, int, int, Measure &m) const
  {
    const ptrdiff_t e   = o + P * (ptrdiff_t)s.half;
    const uint8_t   now = s.inverted(e) != 0 && x[e] > lo[e] && x[e] < up[e];
    m.changed += now != inactive[e];
    inactive[e] = now;
  }
};

// p := x - y at inactive nodes, y := x
struct LastStep {
  const double  *x;
  const uint8_t *inactive;
  double        *y, *p;
  int            half;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    p[e]              = inactive[e] ? x[e] - y[e] : 0;
    y[e]              = x[e];
  }
};

// Sums for the step of least energy along v, and along p where Both. Without symmetry for that of least residual over the nodes that
// move: the sums are of A v, A p in place of v, p on the left.
template <class S, bool Symmetric, bool Both> struct FindStep {
  S             s;
  const double *v, *p, *r;
  auto at_same(ptrdiff_t e) const { return FindStep<decltype(s.at(e)), Symmetric, Both>{s.at(e), v, p, r}; }
  template <int P> HD void at(int, ptrdiff_t o, int, int, Search &q) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    if (v[e] == 0 && (!Both || p[e] == 0)) return;
    const double av = s.diagonal(e) * v[e] + s.template neighbours<P>(v, e, o), lv = Symmetric ? v[e] : av;
    q.rv += r[e] * lv;
    q.vv += lv * av;
    if (!Both) return;
    const double ap = s.diagonal(e) * p[e] + s.template neighbours<P>(p, e, o), lp = Symmetric ? p[e] : ap;
    q.rp += r[e] * lp;
    q.vp += lv * ap;
    q.pp += lp * ap;
  }
};

// Two parts of sums, on a device; what they say is known on the host.
struct Factors {
  const Search *search;
  double        a, b, length;
  HD void       find()
  {
    if (!search) return;
    Search s = search[0];
    s.join(search[1]);
    s.combination(a, b);
    length = s.length();
  }
};

// d := the correction a d + b p, projected
template <class S> struct Project {
  S             s;
  const double *p, *x, *lo, *up;
  Factors       factors;
  double       *d;
  auto at_same(ptrdiff_t e) const { return Project<decltype(s.at(e))>{s.at(e), p, x, lo, up, factors, d}; }
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    Factors         f = factors;
    f.find();
    double y          = x[e] + (f.a * d[e] + f.b * p[e]);
    y                 = y < lo[e] ? lo[e] : y;
    y                 = y > up[e] ? up[e] : y;
    d[e]              = s.inverted(e) != 0 ? y - x[e] : 0;
  }
};

struct Step {
  const double *d, *lo, *up;
  Factors       factors;
  double       *x;
  int           half;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    Factors         f = factors;
    f.find();
    double y          = x[e] + f.length * d[e];
    y                 = y < lo[e] ? lo[e] : y;
    x[e]              = y > up[e] ? up[e] : y;
  }
};

template <class R> void fetch(const Plan &plan, const Buffer<R> &there, R both[2])
{
  if (plan.exec.space == Space::cuda) device::copy_to_host(both, there.data(), 2 * sizeof(R));
  else both[0] = there.data()[0], both[1] = there.data()[1];
}

} // namespace

bool mark_inactive(Plan &plan, Level &l)
{
  with_kind(plan.dimension, l.A.box, [&](auto kind) {
    using K = decltype(kind);
    join_nodes(plan.exec, l.layout, l.own, Mark<Stencil3<K::dimension, K::box>>{stencil<K::dimension, K::box>(l, l.A), l.x.data(), l.lo.data(), l.up.data(), l.inactive.data()}, plan.marked.data());
  });
  l.halo.exchange(l.inactive.data());
  if (plan.exec.space == Space::cuda) return true;
  double changed = plan.marked.data()[0].changed + plan.marked.data()[1].changed;
  if (!l.shared) MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_DOUBLE, MPI_SUM, plan.comm);
  return changed > 0;
}

namespace {

// The sums of all processes, where the kernels read them.
void add_up(Plan &plan, const Level &l)
{
  if (l.shared) return;
  Search both[2];
  fetch(plan, plan.search, both);
  both[0].join(both[1]);
  double sums[5] = {both[0].vv, both[0].vp, both[0].pp, both[0].rv, both[0].rp};
  MPI_Allreduce(MPI_IN_PLACE, sums, 5, MPI_DOUBLE, MPI_SUM, plan.comm);
  both[0].vv = sums[0], both[0].vp = sums[1], both[0].pp = sums[2], both[0].rv = sums[3], both[0].rp = sums[4];
  both[1] = Search();
  if (plan.exec.space == Space::cuda) {
    device::copy_from_host(plan.search.data(), both, sizeof(both));
    device::synchronize();
  } else plan.search.data()[0] = both[0], plan.search.data()[1] = both[1];
}

template <bool Both> void find_step(Plan &plan, Level &l)
{
  with_kind(plan.dimension, l.A.box, [&](auto kind) {
    using K = decltype(kind);
    const auto s = stencil<K::dimension, K::box>(l, l.A);
    using S      = Stencil3<K::dimension, K::box>;
    if (plan.symmetric) join_nodes(plan.exec, l.layout, l.own, FindStep<S, true, Both>{s, l.v.data(), l.w.data(), l.r.data()}, plan.search.data());
    else join_nodes(plan.exec, l.layout, l.own, FindStep<S, false, Both>{s, l.v.data(), l.w.data(), l.r.data()}, plan.search.data());
  });
  add_up(plan, l);
}

} // namespace

void recombine(Plan &plan, Level &l)
{
  const auto factors = [&] {
    Factors f{plan.search.data(), 1, 0, 0};
    if (plan.exec.space == Space::host) f.find(), f.search = nullptr;
    return f;
  };
  for_nodes(plan.exec, l.layout, l.own, LastStep{l.x.data(), l.inactive.data(), l.y.data(), l.w.data(), l.layout.half});
  double *both[] = {l.v.data(), l.w.data()};
  l.halo.exchange(both, 2);
  find_step<true>(plan, l);
  with_kind(plan.dimension, l.A.box, [&](auto kind) {
    using K = decltype(kind);
    for_nodes(plan.exec, l.layout, l.own, Project<Stencil3<K::dimension, K::box>>{stencil<K::dimension, K::box>(l, l.A), l.w.data(), l.x.data(), l.lo.data(), l.up.data(), factors(), l.v.data()});
  });
  l.halo.exchange(l.v.data());
  find_step<false>(plan, l);
  for_nodes(plan.exec, l.layout, l.own, Step{l.v.data(), l.lo.data(), l.up.data(), factors(), l.x.data(), l.layout.half});
  l.halo.exchange(l.x.data());
}

Measure measure(Plan &plan, Level &l)
{
  Measure both[2], marked[2], m;
  with_kind(plan.dimension, l.A.box, [&](auto kind) {
    using K = decltype(kind);
    join_nodes(plan.exec, l.layout, l.own, FindMeasure<Stencil3<K::dimension, K::box>>{stencil<K::dimension, K::box>(l, l.A), l.x.data(), l.b.data(), l.lo.data(), l.up.data(), l.r.data(), plan.zero_tolerance}, plan.measure.data());
  });
  fetch(plan, plan.measure, both);
  fetch(plan, plan.marked, marked);
  for (int p = 0; p < 2; ++p) {
    m.join(both[p]);
    m.join(marked[p]);
  }
  if (!l.shared) {
    double sums[6] = {m.inactive, m.natural, m.lower, m.upper, m.changed, m.moved};
    MPI_Allreduce(MPI_IN_PLACE, sums, 6, MPI_DOUBLE, MPI_SUM, plan.comm);
    m.inactive = sums[0], m.natural = sums[1], m.lower = sums[2], m.upper = sums[3], m.changed = sums[4], m.moved = sums[5];
  }
  return m;
}

} // namespace tessera::vipmg
