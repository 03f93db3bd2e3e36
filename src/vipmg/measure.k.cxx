// Norms, active sets, and the line search.
#include "vipmg/stencil3.hpp"
#include <utility>

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

// Sums for the step of least energy along v, and along p where Both. Without symmetry for that of least residual over
// the nodes that move: the sums are of A v, A p in place of v, p on the left.
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

// What the sums say; on a device their two parts lie there.
struct Factors {
  double a = 1, b = 0, length = 0;
  HD static Factors of(const Search *both)
  {
    Search  s = both[0];
    Factors f;
    s.join(both[1]);
    s.combination(f.a, f.b);
    f.length = s.length();
    return f;
  }
  HD const Factors &find() const { return *this; }
};
struct FactorsThere {
  const Search *both;
  HD Factors    find() const { return Factors::of(both); }
};

// d := the correction a d + b p, projected
template <class S, class Found> struct Project {
  S             s;
  const double *p, *x, *lo, *up;
  Found         factors;
  double       *d;
  auto at_same(ptrdiff_t e) const { return Project<decltype(s.at(e)), Found>{s.at(e), p, x, lo, up, factors, d}; }
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    const Factors  &f = factors.find();
    double y          = x[e] + (f.a * d[e] + f.b * p[e]);
    y                 = y < lo[e] ? lo[e] : y;
    y                 = y > up[e] ? up[e] : y;
    d[e]              = s.inverted(e) != 0 ? y - x[e] : 0;
  }
};

template <class Found> struct Step {
  const double *d, *lo, *up;
  Found         factors;
  double       *x;
  int           half;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    const Factors  &f = factors.find();
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

// result: on a device of the part, which is all nodes then; on the host what was there joined with it.
template <class R, class Kernel>
void join_part(const Plan &plan, const Level &l, const Box3 &part, const Kernel &kernel, Buffer<R> &result)
{
  if (plan.exec.space == Space::cuda) return join_nodes(plan.exec, l.layout, part, kernel, result.data());
  R both[2];
  join_nodes(plan.exec, l.layout, part, kernel, both);
  for (int p = 0; p < 2; ++p) result.data()[p].join(both[p]);
}

// first() and second() of all rows, each of a box; second() reads what first() leaves in the rows beside it. On the
// host a row of the one follows a row of the other, so that it is in the cache.
template <class First, class Between, class Second>
void follow(const Plan &plan, const Level &l, const First &first, const Between &between, const Second &second)
{
  if (!by_rows(plan, l)) {
    first(l.own);
    between();
    return second(l.own);
  }
  const auto row = [&](int j) {
    Box3 b  = l.own;
    b.lo[1] = j, b.hi[1] = j + 1;
    return b;
  };
  for (int j = l.own.lo[1]; j < l.own.hi[1]; ++j) {
    first(row(j));
    if (j > l.own.lo[1]) second(row(j - 1));
  }
  second(row(l.own.hi[1] - 1));
}

} // namespace

void mark_inactive(Plan &plan, Level &l, const Box3 &part)
{
  with_kind(plan.dimension, l.A.box, [&](auto kind) {
    using K = decltype(kind);
    join_part(plan, l, part,
              Mark<Stencil3<K::dimension, K::box>>{stencil<K::dimension, K::box>(l, l.A), l.x.data(), l.lo.data(),
                                                   l.up.data(), l.inactive.data()},
              plan.marked);
  });
}

bool marked(Plan &plan, Level &l)
{
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

void measure_part(Plan &plan, Level &l, const Box3 &part)
{
  with_kind(plan.dimension, l.A.box, [&](auto kind) {
    using K = decltype(kind);
    join_part(plan, l, part,
              FindMeasure<Stencil3<K::dimension, K::box>>{stencil<K::dimension, K::box>(l, l.A), l.x.data(), l.b.data(),
                                                          l.lo.data(), l.up.data(), l.r.data(), plan.zero_tolerance},
              plan.measure);
  });
}

template <class S, bool Symmetric, bool Both> FindStep<S, Symmetric, Both> step_sums(const Level &l, const S &s)
{
  return {s, l.v.data(), l.w.data(), l.r.data()};
}

// v := the correction, projected; its length; x. s: the stencil.
template <bool Symmetric, class S, class Found, class Length>
void correct_with(Plan &plan, Level &l, const S &s, bool measured, const Found &combination, const Length &length)
{
  const Exec &exec = plan.exec;
  const bool  host = exec.space == Space::host;
  if (host) plan.search.zero();
  follow(
    plan, l,
    [&](const Box3 &part) {
      for_nodes(exec, l.layout, part,
                Project<S, Found>{s, l.w.data(), l.x.data(), l.lo.data(), l.up.data(), combination, l.v.data()});
    },
    [&] { l.halo.exchange(l.v.data()); },
    [&](const Box3 &part) { join_part(plan, l, part, step_sums<S, Symmetric, false>(l, s), plan.search); });
  add_up(plan, l);
  const Step<Found> step{l.v.data(), l.lo.data(), l.up.data(), length(), l.x.data(), l.layout.half};
  plan.measured = measured && by_rows(plan, l);
  if (!plan.measured) {
    for_nodes(exec, l.layout, l.own, step);
    return l.halo.exchange(l.x.data());
  }
  plan.measure.zero();
  follow(
    plan, l, [&](const Box3 &part) { for_nodes(exec, l.layout, part, step); }, [] {},
    [&](const Box3 &part) { measure_part(plan, l, part); });
}

} // namespace

void recombine(Plan &plan, Level &l, bool measured)
{
  const bool host = plan.exec.space == Space::host;
  with_kind(plan.dimension, l.A.box, [&](auto kind) {
    using K = decltype(kind);
    using S = Stencil3<K::dimension, K::box>;
    const S    s  = stencil<K::dimension, K::box>(l, l.A);
    const auto go = [&](auto symmetric) {
      constexpr bool energy = decltype(symmetric)::value;
      if (host) plan.search.zero();
      follow(
        plan, l,
        [&](const Box3 &part) {
          for_nodes(plan.exec, l.layout, part,
                    LastStep{l.x.data(), l.inactive.data(), l.y.data(), l.w.data(), l.layout.half});
        },
        [&] {
          double *both[] = {l.v.data(), l.w.data()};
          l.halo.exchange(both, 2);
        },
        [&](const Box3 &part) { join_part(plan, l, part, step_sums<S, energy, true>(l, s), plan.search); });
      add_up(plan, l);
      const auto here  = [&] { return Factors::of(plan.search.data()); };
      const auto there = [&] { return FactorsThere{plan.search.data()}; };
      if (host) correct_with<energy>(plan, l, s, measured, here(), here);
      else correct_with<energy>(plan, l, s, measured, there(), there);
    };
    if (plan.symmetric) go(std::true_type());
    else go(std::false_type());
  });
}

Measure measure(Plan &plan, Level &l)
{
  Measure both[2], marked[2], m;
  if (!std::exchange(plan.measured, false)) {
    if (plan.exec.space == Space::host) plan.measure.zero();
    measure_part(plan, l, l.own);
  }
  fetch(plan, plan.measure, both);
  fetch(plan, plan.marked, marked);
  for (int p = 0; p < 2; ++p) {
    m.join(both[p]);
    m.join(marked[p]);
  }
  if (!l.shared) {
    double sums[6] = {m.inactive, m.natural, m.lower, m.upper, m.changed, m.moved};
    MPI_Allreduce(MPI_IN_PLACE, sums, 6, MPI_DOUBLE, MPI_SUM, plan.comm);
    m.inactive = sums[0], m.natural = sums[1], m.lower = sums[2], m.upper = sums[3], m.changed = sums[4],
    m.moved = sums[5];
  }
  return m;
}

} // namespace tessera::vipmg
