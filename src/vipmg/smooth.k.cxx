// Multicolour Gauss-Seidel, projected onto the bounds or on some nodes alone, and residuals.
//
// Bytes per node and sweep, 5-point star: 4 off-diagonal coefficients, inverse diagonal, right-hand side, x read and
// written, two bounds: 80; 9-point box: 112. Two colours of a star, 2^d of a box.
#include "vipmg/stencil3.hpp"
#include "exec/wavefront.hpp"
#include <algorithm>
#include <functional>

namespace tessera::vipmg {

namespace {

template <class S, bool Projected, bool Masked> struct GaussSeidel {
  S              s;
  const double  *b, *lo, *up;
  const uint8_t *mask;
  double        *x, omega;
  auto           at_same(ptrdiff_t e) const
  {
    return GaussSeidel<decltype(s.at(e)), Projected, Masked>{s.at(e), b, lo, up, mask, x, omega};
  }
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half, c = s.source(P, t, j, k, e);
    double          d = s.inverted(c);
    if (Masked) d = mask[e] ? d : 0;
    const double old = x[e];
    double       y   = old + omega * ((b[e] - s.template neighbours<P>(x, c, o)) * d - old);
    y                = d != 0 ? y : old;
    x[e]             = Projected ? between(y, lo[e], up[e]) : y;
  }
};

template <class S, bool Masked> struct FindResidual {
  S              s;
  const double  *x, *b;
  const uint8_t *mask;
  double        *r;
  auto at_same(ptrdiff_t e) const { return FindResidual<decltype(s.at(e)), Masked>{s.at(e), x, b, mask, r}; }
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half, c = s.source(P, t, j, k, e);
    const double    v = b[e] - s.diagonal(c) * x[e] - s.template neighbours<P>(x, c, o);
    r[e]              = s.inverted(c) != 0 && (!Masked || mask[e]) ? v : 0;
  }
};

// What is done to rows before the sweeps come to them, and after the residual has been found there.
struct Around {
  std::function<void(const Box3 &)> before, then;
};

// A colour, or a part of it that stands in every second row: its rows and the parity of its nodes.
struct Phase {
  int  parity, q, s; // of i, j, k
  bool last;         // of a colour: ghosts are exchanged
};

int phases(int dimension, bool box, Phase *p)
{
  int n = 0;
  if (box || dimension == 1) {
    for (int c = 0; c < 1 << dimension; ++c) p[n++] = {c & 1, c >> 1 & 1, c >> 2 & 1, true};
    return n;
  }
  for (int colour = 0; colour < 2; ++colour)
    for (int c = 0; c < 1 << (dimension - 1); ++c) {
      const int q = c & 1, s = c >> 1 & 1;
      p[n++] = {(colour + q + s) & 1, q, s, c + 1 == 1 << (dimension - 1)};
    }
  return n;
}

Rows phase_rows(int dimension, const Box3 &own, const Phase &p)
{
  Rows r = all_rows(own);
  if (dimension > 1) {
    r.j0 = own.lo[1] + ((own.lo[1] + p.q) & 1);
    r.dj = 2;
    r.nj = (own.hi[1] - r.j0 + 1) / 2;
  }
  if (dimension > 2) {
    r.k0 = own.lo[2] + ((own.lo[2] + p.s) & 1);
    r.dk = 2;
    r.nk = (own.hi[2] - r.k0 + 1) / 2;
  }
  if (r.nj < 0) r.nj = 0;
  if (r.nk < 0) r.nk = 0;
  return r;
}

// On the host colours and sweeps follow each other row by row, and so does what reads the result, so that all of it
// goes through memory once. A pair of rows of a phase waits until the phases before have done the rows beside it:
// with five points the second colour's odd rows need the first colour of the next pair, with nine both colours of odd
// rows do, and the next sweep, or the reader, comes a pair of rows after the last. The first sweep comes a pair after
// what goes before.
template <class Kernel, class After> void sweep_rows(const Plan &plan, const Level &l, const Phase *p, int n, bool box,
                                                     int sweeps, const Kernel &kernel, const After *after,
                                                     const Around &around)
{
  const int from = floor_half(l.own.lo[1]), to = floor_half(l.own.hi[1] - 1) + 1, first = around.before != nullptr;
  std::vector<int> lags(first, 0);
  for (int s = 0; s < sweeps; ++s)
    for (int k = 0; k < n; ++k) lags.push_back(first + s + (box ? k >= n / 2 : k == n - 1));
  if (after) lags.push_back(first + sweeps);
  constexpr int pairs = 1;
  wavefront(lags, from, to, pairs, true, [&](int phase, int y0, int y1) {
    const bool before = phase < first;
    if (before || phase == first + n * sweeps) {
      Box3 b  = l.own;
      b.lo[1] = std::max(b.lo[1], 2 * y0);
      b.hi[1] = std::min(b.hi[1], 2 * y1);
      if (before) return around.before(b);
      for_nodes(plan.exec, l.layout, b, *after);
      if (around.then) around.then(b);
      return;
    }
    const int k = (phase - first) % n;
    Rows      rows;
    rows.dj = 2;
    rows.j0 = 2 * y0 + p[k].q;
    int end = 2 * y1 + p[k].q; // exclusive
    while (rows.j0 < l.own.lo[1]) rows.j0 += 2;
    while (end - 2 >= l.own.hi[1]) end -= 2;
    rows.nj = (end - rows.j0) / 2;
    if (rows.nj > 0) for_half(plan.exec, l.layout, l.own, p[k].parity, rows, kernel);
  });
}

template <class Kernel> void sweep(const Plan &plan, Level &l, const Kernel &kernel, bool box, double *x)
{
  Phase     p[8];
  const int n = phases(plan.dimension, box, p);
  if (l.own.empty()) {
    for (int k = 0; k < n; ++k)
      if (p[k].last) l.halo.exchange(x);
    return;
  }
  for (int k = 0; k < n; ++k) {
    const Rows rows = phase_rows(plan.dimension, l.own, p[k]);
    // the two halves of a colour in one launch
    if (device::built && plan.strategy->joint_halves && !p[k].last && !box && plan.dimension == 2) {
      const Rows next = phase_rows(plan.dimension, l.own, p[k + 1]);
      const auto half = [&](int parity, const Rows &r) {
        return Box{half_begin(l.own.lo[0], parity), half_begin(l.own.hi[0], parity), 0, r.count()};
      };
      if (p[k].parity)
        forall_parts(plan.exec, part(half(1, rows), OnHalf<Kernel, 1>{l.layout, rows, kernel}),
                     part(half(0, next), OnHalf<Kernel, 0>{l.layout, next, kernel}));
      else
        forall_parts(plan.exec, part(half(0, rows), OnHalf<Kernel, 0>{l.layout, rows, kernel}),
                     part(half(1, next), OnHalf<Kernel, 1>{l.layout, next, kernel}));
      ++k;
    } else for_half(plan.exec, l.layout, l.own, p[k].parity, rows, kernel);
    if (p[k].last) l.halo.exchange(x);
  }
}

constexpr int few_nodes = 64;

// The sweeps of the coarsest grid are many and its rows short: node by node, in the same order.
template <class Kernel> void sweep_few(const Plan &plan, const Level &l, const Kernel &kernel, bool box, int sweeps)
{
  struct Place {
    int       parity, t, j, k;
    ptrdiff_t o;
  } places[few_nodes];
  Phase p[8];
  int   count = 0;
  for (int c = 0, n = phases(plan.dimension, box, p); c < n; ++c) {
    const Rows rows   = phase_rows(plan.dimension, l.own, p[c]);
    const int  parity = p[c].parity;
    for (int r = 0, j, k; r < rows.count(); ++r) {
      rows.get(r, j, k);
      for (int t = half_begin(l.own.lo[0], parity); t < half_begin(l.own.hi[0], parity); ++t)
        places[count++] = {parity, t, j, k, l.layout.row(j, k) + t};
    }
  }
  for (int s = 0; s < sweeps; ++s)
    for (int n = 0; n < count; ++n) {
      const Place &at = places[n];
      if (at.parity) kernel.template at<1>(at.t, at.o, at.j, at.k);
      else kernel.template at<0>(at.t, at.o, at.j, at.k);
    }
}

struct Zero {
  double *x;
  int     half;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const { x[o + P * (ptrdiff_t)half] = 0; }
};

template <class Kernel, class After> void sweeps_then(const Plan &plan, Level &l, const Kernel &kernel, bool box,
                                                      int sweeps, double *x, const After *after, const Around &around,
                                                      const std::function<void()> &in_order)
{
  if (!after && !around.before && !l.ordered && plan.strategy->passes && l.halo.empty() && l.own.size() <= few_nodes)
    return sweep_few(plan, l, kernel, box, sweeps);
  if (l.by_rows && !l.ordered) {
    Phase     p[8];
    const int n = phases(plan.dimension, box, p);
    return sweep_rows(plan, l, p, n, box, sweeps, kernel, after, around);
  }
  if (around.before) {
    around.before(l.own);
    l.halo.exchange(x);
  }
  for (int k = 0; k < sweeps; ++k) l.ordered ? in_order() : sweep(plan, l, kernel, box, x);
  if (!after) return;
  for_nodes(plan.exec, l.layout, l.own, *after);
  l.halo.exchange(after->r);
  if (around.then) around.then(l.own);
}

// Sweeps and the residual after them, where r is wanted.
void smooth_and(const Plan &plan, Level &l, const Operator &op, double *x, const double *b, const Sweep &how,
                int sweeps, double *r, const Around &around)
{
  const auto in_order = [&] { sweep_in_order(plan, l, op, x, b, how); };
  with_kind(plan.dimension, op.box, [&](auto kind) {
    using K                = decltype(kind);
    constexpr int  D       = K::dimension;
    constexpr bool B       = K::box;
    const auto     s       = stencil<D, B>(l, op);
    const double   omega   = how.projected ? plan.params.omega : 1;
    const double  *lo = l.lo.data(), *up = l.up.data();
    const uint8_t *mask    = l.inactive.data();
    using S                = Stencil3<D, B>;
    const FindResidual<S, false> all{s, x, b, nullptr, r};
    const FindResidual<S, true>  free{s, x, b, mask, r};
    if (how.projected)
      sweeps_then(plan, l, GaussSeidel<S, true, false>{s, b, lo, up, nullptr, x, omega}, B, sweeps, x,
                  r ? &all : nullptr, around, in_order);
    else if (how.masked)
      sweeps_then(plan, l, GaussSeidel<S, false, true>{s, b, lo, up, mask, x, omega}, B, sweeps, x, r ? &free : nullptr,
                  around, in_order);
    else
      sweeps_then(plan, l, GaussSeidel<S, false, false>{s, b, lo, up, nullptr, x, omega}, B, sweeps, x,
                  r ? &all : nullptr, around, in_order);
  });
}

} // namespace

void smooth(const Plan &plan, Level &l, const Operator &op, double *x, const double *b, const Sweep &how, int sweeps)
{
  smooth_and(plan, l, op, x, b, how, sweeps, nullptr, {});
}

void smooth_down(const Plan &plan, Level &l, Level *coarse, const Operator &op, double *x, const double *b,
                 const Sweep &how, int sweeps, double *r, Bounds bounds, bool zero)
{
  Around around;
  if (zero) around.before = [&](const Box3 &part) { for_nodes(plan.exec, l.layout, part, Zero{x, l.layout.half}); };
  if (coarse)
    around.then = [&](const Box3 &done) { // the coarse nodes whose fine ones, and those before, are done
      Box3 part = coarse->part;
      if (done.lo[1] > l.own.lo[1]) part.lo[1] = l.step[1] == 2 ? floor_half(done.lo[1]) : done.lo[1];
      if (done.hi[1] < l.own.hi[1]) part.hi[1] = l.step[1] == 2 ? floor_half(done.hi[1]) : done.hi[1];
      restrict_part(plan, l, *coarse, r, bounds, part);
    };
  smooth_and(plan, l, op, x, b, how, sweeps, r, around);
  if (coarse) exchange_problem(*coarse, bounds);
}

void smooth_up(const Plan &plan, Level &l, const Level &coarse, const Operator &op, double *x, const double *b,
               const Sweep &how, int sweeps)
{
  Around around;
  around.before = [&](const Box3 &part) { prolong_part(plan, l, coarse, x, op, how.projected, how.masked, part); };
  smooth_and(plan, l, op, x, b, how, sweeps, nullptr, around);
}

bool smooth_and_mark(Plan &plan, Level &l, const Level *coarse, int sweeps)
{
  double *x = l.x.data();
  Around  around;
  if (coarse) around.before = [&](const Box3 &part) { prolong_part(plan, l, *coarse, x, l.A, true, false, part); };
  around.then = [&](const Box3 &part) { mark_inactive(plan, l, part); };
  begin_join(plan.active);
  smooth_and(plan, l, l.A, x, l.b.data(), {true, false}, sweeps, l.r.data(), around);
  return inactive_changed(plan, l);
}

void residual(const Plan &plan, Level &l, const Operator &op, const double *x, const double *b, double *r, bool masked)
{
  with_kind(plan.dimension, op.box, [&](auto kind) {
    using K = decltype(kind);
    const auto s = stencil<K::dimension, K::box>(l, op);
    if (masked)
      for_nodes(plan.exec, l.layout, l.own,
                FindResidual<Stencil3<K::dimension, K::box>, true>{s, x, b, l.inactive.data(), r});
    else
      for_nodes(plan.exec, l.layout, l.own, FindResidual<Stencil3<K::dimension, K::box>, false>{s, x, b, nullptr, r});
  });
  l.halo.exchange(r);
}

} // namespace tessera::vipmg
