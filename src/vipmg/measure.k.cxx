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

// Sums for the step of least energy along v, and along p where Both. Without symmetry for that of least residual over
// the nodes that move: the sums are of A v, A p in place of v, p on the left.
template <class S, bool Symmetric, bool Both> struct FindStep {
  S             s;
  const double *v, *p, *r;
  auto at_same(ptrdiff_t e) const { return FindStep<decltype(s.at(e)), Symmetric, Both>{s.at(e), v, p, r}; }
  template <int P> HD void at(int, ptrdiff_t o, int, int, CombinationSums &q) const
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
  HD static Factors of(const CombinationSums *both, bool energy)
  {
    CombinationSums s = both[0];
    Factors f;
    s.join(both[1]);
    s.combination(f.a, f.b);
    f.length = s.length(energy);
    return f;
  }
  HD const Factors &find() const { return *this; }
};
struct FactorsInMemory {
  const CombinationSums *both;
  bool          energy;
  HD Factors    find() const { return Factors::of(both, energy); }
};

// d := the correction a d + b p, projected
template <class S, class Source> struct Project {
  S             s;
  const double *p, *x, *lo, *up;
  Source         factors;
  double       *d;
  auto at_same(ptrdiff_t e) const { return Project<decltype(s.at(e)), Source>{s.at(e), p, x, lo, up, factors, d}; }
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    const Factors  &f = factors.find();
    const double    y = between(x[e] + (f.a * d[e] + f.b * p[e]), lo[e], up[e]);
    d[e]              = s.inverted(e) != 0 ? y - x[e] : 0;
  }
};

template <class Source> struct Step {
  const double *d, *lo, *up;
  Source         factors;
  double       *x;
  int           half;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    const Factors  &f = factors.find();
    x[e]              = between(x[e] + f.length * d[e], lo[e], up[e]);
  }
};

// first() and second() of all rows, each of a box; second() reads what first() leaves in the rows beside it. On the
// host a row of the one follows a row of the other, so that it is in the cache.
template <class First, class Between, class Second>
void follow(const Level &l, const First &first, const Between &between, const Second &second)
{
  if (!l.by_rows) {
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
    join_nodes(plan.exec, l.layout, part,
               Mark<Stencil3<K::dimension, K::box>>{stencil<K::dimension, K::box>(l, l.A), l.x.data(), l.lo.data(),
                                                    l.up.data(), l.inactive.data()},
               plan.active.data(), true);
  });
}

bool inactive_changed(Plan &plan, Level &l)
{
  l.halo.exchange(l.inactive.data());
  return !plan.strategy->looks || sum_of(plan, l, plan.active).changed > 0;
}

namespace {

// The sums of all processes, where the kernels read them.
void add_up(Plan &plan, const Level &l)
{
  if (l.shared) return;
  const CombinationSums both[2] = {sum_of(plan, l, plan.sums), CombinationSums()};
  copy(both, Space::host, plan.sums.data(), plan.sums.space(), 2);
  device::synchronize(plan.sums.space());
}

void measure_part(Plan &plan, Level &l, const Box3 &part)
{
  with_kind(plan.dimension, l.A.box, [&](auto kind) {
    using K = decltype(kind);
    join_nodes(plan.exec, l.layout, part,
               FindMeasure<Stencil3<K::dimension, K::box>>{stencil<K::dimension, K::box>(l, l.A), l.x.data(),
                                                           l.b.data(), l.lo.data(), l.up.data(), l.r.data(),
                                                           plan.zero_tolerance},
               plan.measure.data(), true);
  });
}

template <class S, bool Symmetric, bool Both> FindStep<S, Symmetric, Both> step_sums(const Level &l, const S &s)
{
  return {s, l.v.data(), l.w.data(), l.r.data()};
}

// v := the correction, projected; its length; x. s: the stencil.
template <bool Symmetric, class S, class Source, class Length>
void correct_with(Plan &plan, Level &l, const S &s, bool measured, const Source &combination, const Length &length)
{
  const Exec &exec = plan.exec;
  begin_join(plan.sums);
  follow(
    l,
    [&](const Box3 &part) {
      for_nodes(exec, l.layout, part,
                Project<S, Source>{s, l.w.data(), l.x.data(), l.lo.data(), l.up.data(), combination, l.v.data()});
    },
    [&] { l.halo.exchange(l.v.data()); },
    [&](const Box3 &part) {
      join_nodes(plan.exec, l.layout, part, step_sums<S, Symmetric, false>(l, s), plan.sums.data(), true);
    });
  add_up(plan, l);
  const Step<Source> step{l.v.data(), l.lo.data(), l.up.data(), length(), l.x.data(), l.layout.half};
  if (!measured) {
    for_nodes(exec, l.layout, l.own, step);
    return l.halo.exchange(l.x.data());
  }
  begin_join(plan.measure);
  follow(
    l, [&](const Box3 &part) { for_nodes(exec, l.layout, part, step); }, [] {},
    [&](const Box3 &part) { measure_part(plan, l, part); });
}

} // namespace

bool recombine(Plan &plan, Level &l, bool measured)
{
  measured = measured && l.by_rows;
  const bool looks = !device::built || plan.strategy->looks, top = &l == plan.levels.data();
  const bool many = top && (++plan.span.cycles > Span::first_cycles || l.ordered);
  with_kind(plan.dimension, l.A.box, [&](auto kind) {
    using K = decltype(kind);
    using S = Stencil3<K::dimension, K::box>;
    const S    s  = stencil<K::dimension, K::box>(l, l.A);
    const auto go = [&](auto symmetric) {
      constexpr bool energy = decltype(symmetric)::value;
      const bool     spans  = !energy && looks && many;
      begin_join(plan.sums);
      follow(
        l,
        [&](const Box3 &part) {
          for_nodes(plan.exec, l.layout, part,
                    LastStep{l.x.data(), l.inactive.data(), l.y.data(), l.w.data(), l.layout.half});
        },
        [&] {
          double *both[] = {l.v.data(), l.w.data()};
          l.halo.exchange(both, 2);
        },
        [&](const Box3 &part) {
          if (!spans) join_nodes(plan.exec, l.layout, part, step_sums<S, energy, true>(l, s), plan.sums.data(), true);
        });
      if (spans) span(plan, l);
      else add_up(plan, l);
      if constexpr (device::built)
        if (!looks) {
          const auto in_memory = [&] { return FactorsInMemory{plan.sums.data(), energy}; };
          return correct_with<energy>(plan, l, s, measured, in_memory(), in_memory);
        }
      const auto here = [&] { return Factors::of(plan.sums.data(), energy); };
      correct_with<energy>(plan, l, s, measured, spans ? Factors() : here(), here);
    };
    if (plan.symmetric) go(std::true_type());
    else go(std::false_type());
  });
  return measured;
}

Measure measure(Plan &plan, Level &l, bool found)
{
  if (!found) {
    begin_join(plan.measure);
    measure_part(plan, l, l.own);
  }
  Measure m = joined(plan.measure);
  m.join(joined(plan.active));
  return l.shared ? m : sum_over((MPI_Comm)plan.comm, m);
}

} // namespace tessera::vipmg
