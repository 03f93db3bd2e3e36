// Between the arrays of vectors, in natural order, and the finest level.
#include "vipmg/stencil3.hpp"
#include <utility>

namespace tessera::vipmg {

namespace {

// The place of a node in an array of the own nodes.
struct Natural {
  int          lo[3], ni, nj;
  HD ptrdiff_t at(int i, int j, int k) const
  {
    return i - lo[0] + (ptrdiff_t)ni * (j - lo[1] + (ptrdiff_t)nj * (k - lo[2]));
  }
};

Natural natural(const Level &l)
{
  return {
    {l.own.lo[0], l.own.lo[1], l.own.lo[2]},
    l.own.hi[0] - l.own.lo[0], l.own.hi[1] - l.own.lo[1]
  };
}

// Diagonal entries of the finest operator.
const double *diagonal(const Plan &plan, const Level &l)
{
  ptrdiff_t plane = 0;
  with_kind(plan.dimension, l.A.box,
            [&](auto kind) { plane = centre<decltype(kind)::dimension, decltype(kind)::box>(); });
  return l.A.a.data() + plane * (ptrdiff_t)l.layout.size();
}

struct Look {
  Natural       n;
  const double *F, *X, *X0, *XL, *XU, *r, *diagonal;
  double        zero;
  int           half;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k, Point &p) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half, q = n.at(2 * t + P, j, k);
    const double    f = F[q], here = X[q], below = XL[q] - here, above = XU[q] - here;
    p.difference += (f + r[e]) * (f + r[e]);
    p.F += f * f;
    p.X += here * here;
    p.slope += f * (here - X0[q]);
    p.measure.add(f, 0, below, above, diagonal[e], zero);
  }
};

struct Changed {
  double sum = 0; // of |x|
  HD void join(const Changed &o) { sum += o.sum; }
};

struct Start {
  const double  *b, *lo, *up, *diagonal;
  const uint8_t *free;
  double        *x, *y;
  int            half;
  HD double value(ptrdiff_t e, double right, double below, double above) const
  {
    const double solved = right / diagonal[e];
    double       v      = free[e] ? 0 : solved;
    v                   = v < below ? below : v;
    return v > above ? above : v;
  }
  template <int P> HD void at(int, ptrdiff_t o, int, int, Changed &c) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    const double    v = value(e, b[e], lo[e], up[e]);
    y[e]              = v;
    x[e]              = v;
    c.sum += fabs(v);
  }
};

struct Load {
  Natural       n;
  const double *F, *X, *XL, *XU, *kept; // kept: a correction with the last step to it, or nullptr
  Start         start;
  double       *b, *lo, *up;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k, Changed &c) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)start.half, q = n.at(2 * t + P, j, k);
    const double    right = -F[q], here = X[q], below = XL[q] - here, above = XU[q] - here,
                 v = start.value(e, right, below, above);
    b[e]       = right;
    lo[e]      = below;
    up[e]      = above;
    start.y[e] = kept ? v - (kept[e] - start.y[e]) : v;
    start.x[e] = v;
    c.sum += fabs(v);
  }
};

Start start_of(const Plan &plan, Level &l)
{
  return {l.b.data(),    l.lo.data(), l.up.data(), diagonal(plan, l),
          l.free.data(), l.x.data(),  l.y.data(),  l.layout.half};
}

struct Store {
  Natural       n;
  const double *X0, *XL, *XU, *F, *d;
  double       *X, t;
  int           half;
  template <int P> HD void at(int i, ptrdiff_t o, int j, int k, Moved &m) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half, q = n.at(2 * i + P, j, k);
    double          v = X0[q] + t * d[e];
    // a node at its bound is there exactly, whatever the rounding of differences
    if (v < XL[q] || (t == 1 && d[e] == XL[q] - X0[q])) v = XL[q];
    if (v > XU[q] || (t == 1 && d[e] == XU[q] - X0[q])) v = XU[q];
    X[q] = v;
    m.slope += F[q] * (v - X0[q]);
    m.step += (v - X0[q]) * (v - X0[q]);
  }
};

// What both halves of the nodes have gathered, on the host.
template <class R> R joined(const Plan &plan, const Buffer<R> &there)
{
  R both[2];
  if (plan.exec.space == Space::cuda) device::copy_to_host(both, there.data(), sizeof(both));
  else both[0] = there.data()[0], both[1] = there.data()[1];
  both[0].join(both[1]);
  return both[0];
}

} // namespace

Point look(Plan &plan, const double *F, const double *X, const double *X0, const double *XL, const double *XU)
{
  Level        &l = plan.levels[0];
  Buffer<Point> there(Extent{2, plan.exec.space});
  join_nodes(
    plan.exec, l.layout, l.own,
    Look{natural(l), F, X, X0 ? X0 : X, XL, XU, l.r.data(), diagonal(plan, l), plan.zero_tolerance, l.layout.half},
    there.data());
  Point p = joined(plan, there);
  if (!l.shared) {
    double sums[8] = {
      p.measure.inactive, p.measure.natural, p.measure.lower, p.measure.upper, p.difference, p.F, p.X, p.slope};
    MPI_Allreduce(MPI_IN_PLACE, sums, 8, MPI_DOUBLE, MPI_SUM, plan.comm);
    p.measure.inactive = sums[0], p.measure.natural = sums[1], p.measure.lower = sums[2], p.measure.upper = sums[3],
    p.difference = sums[4], p.F = sums[5], p.X = sums[6], p.slope = sums[7];
  }
  return p;
}

namespace {

// Of all processes; no number is a change, which measure() finds.
bool any_changed(const Plan &plan, const Level &l, const Buffer<Changed> &there)
{
  double changed = joined(plan, there).sum;
  if (!l.shared) MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_DOUBLE, MPI_SUM, plan.comm);
  return !(changed == 0);
}

} // namespace

bool load(Plan &plan, const double *F, const double *X, const double *XL, const double *XU, bool follow)
{
  plan.measured = false;
  Level          &l = plan.levels[0];
  Buffer<Changed> there(Extent{2, plan.exec.space});
  join_nodes(plan.exec, l.layout, l.own,
             Load{natural(l), F, X, XL, XU, follow ? l.v.data() : nullptr, start_of(plan, l), l.b.data(), l.lo.data(),
                  l.up.data()},
             there.data());
  double *fields[] = {l.lo.data(), l.up.data(), l.x.data()};
  l.halo.exchange(fields, 3);
  return any_changed(plan, l, there);
}

bool start(Plan &plan)
{
  plan.measured = false;
  Level          &l = plan.levels[0];
  Buffer<Changed> there(Extent{2, plan.exec.space});
  join_nodes(plan.exec, l.layout, l.own, start_of(plan, l), there.data());
  l.halo.exchange(l.x.data());
  return any_changed(plan, l, there);
}

void forget(Plan &plan)
{
  plan.levels[0].inactive.zero();
  plan.truncated_for = -1;
}

void keep(Plan &plan)
{
  Level &l = plan.levels[0];
  if (plan.exec.space == Space::host) std::swap(l.x, l.v);
  else copy(l.x, l.v); // what is recorded of cycles holds their addresses
}

Moved store(Plan &plan, double t, const double *X0, const double *XL, const double *XU, const double *F, double *X)
{
  Level        &l = plan.levels[0];
  Buffer<Moved> there(Extent{2, plan.exec.space});
  join_nodes(plan.exec, l.layout, l.own, Store{natural(l), X0, XL, XU, F, l.v.data(), X, t, l.layout.half},
             there.data());
  Moved  m       = joined(plan, there);
  double sums[2] = {m.slope, m.step};
  if (!l.shared) MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, plan.comm);
  m.slope = sums[0], m.step = sums[1];
  return m;
}

void set_operator(Plan &plan, const double *coefficients, const uint8_t *free)
{
  Level &l = plan.levels[0];
  if (plan.exec.space == Space::cuda) {
    device::copy_from_host(l.A.a.data(), coefficients, l.A.a.bytes());
    device::copy_from_host(l.free.data(), free, l.free.bytes());
    device::synchronize();
  } else {
    memcpy(l.A.a.data(), coefficients, l.A.a.bytes());
    memcpy(l.free.data(), free, l.free.bytes());
  }
}

} // namespace tessera::vipmg
