// Between the arrays of vectors, in natural order, and the finest level.
#include "vipmg/stencil3.hpp"

namespace tessera::vipmg {

namespace {

// The place of a node in an array of the own nodes.
struct Natural {
  int          lo[3], ni, nj;
  HD ptrdiff_t at(int i, int j, int k) const { return i - lo[0] + (ptrdiff_t)ni * (j - lo[1] + (ptrdiff_t)nj * (k - lo[2])); }
};

Natural natural(const Level &l) { return {{l.own.lo[0], l.own.lo[1], l.own.lo[2]}, l.own.hi[0] - l.own.lo[0], l.own.hi[1] - l.own.lo[1]}; }

struct Squares {
  double difference = 0, b = 0;
  HD void join(const Squares &o)
  {
    difference += o.difference;
    b += o.b;
  }
};

struct Load {
  Natural       n;
  const double *F, *X, *XL, *XU, *r;
  double       *b, *lo, *up, *x;
  int           half;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k, Squares &s) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half, q = n.at(2 * t + P, j, k);
    const double    v = -F[q];
    s.difference += (v - r[e]) * (v - r[e]);
    s.b += v * v;
    b[e]  = v;
    lo[e] = XL[q] - X[q];
    up[e] = XU[q] - X[q];
    x[e]  = 0;
  }
};

template <int D, bool Box> struct Start {
  Stencil3<D, Box> s;
  const double    *b, *lo, *up;
  const uint8_t   *free;
  double          *x;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    double          v = free[e] ? 0 : b[e] / s.diagonal(e);
    v                 = v < lo[e] ? lo[e] : v;
    x[e]              = v > up[e] ? up[e] : v;
  }
};

struct Store {
  Natural       n;
  const double *X0, *XL, *XU, *d;
  double       *X, t;
  int           half;
  template <int P> HD void at(int i, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half, q = n.at(2 * i + P, j, k);
    double          v = X0[q] + t * d[e];
    // a node at its bound is there exactly, whatever the rounding of differences
    if (v < XL[q] || (t == 1 && d[e] == XL[q] - X0[q])) v = XL[q];
    if (v > XU[q] || (t == 1 && d[e] == XU[q] - X0[q])) v = XU[q];
    X[q] = v;
  }
};

} // namespace

void load(Plan &plan, const double *F, const double *X, const double *XL, const double *XU, double sums[2])
{
  Level          &l = plan.levels[0];
  Buffer<Squares> there;
  Squares         both[2];
  there.resize(Extent{2, plan.exec.space});
  join_nodes(plan.exec, l.layout, l.own, Load{natural(l), F, X, XL, XU, l.r.data(), l.b.data(), l.lo.data(), l.up.data(), l.x.data(), l.layout.half}, there.data());
  if (plan.exec.space == Space::cuda) device::copy_to_host(both, there.data(), sizeof(both));
  else both[0] = there.data()[0], both[1] = there.data()[1];
  both[0].join(both[1]);
  sums[0] = both[0].difference;
  sums[1] = both[0].b;
  if (!l.shared) MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, plan.comm);
  double *fields[] = {l.lo.data(), l.up.data(), l.x.data()};
  l.halo.exchange(fields, 3);
}

void start(Plan &plan)
{
  Level &l = plan.levels[0];
  with_kind(plan.dimension, l.A.box, [&](auto kind) {
    using K = decltype(kind);
    for_nodes(plan.exec, l.layout, l.own, Start<K::dimension, K::box>{stencil<K::dimension, K::box>(l, l.A), l.b.data(), l.lo.data(), l.up.data(), l.free.data(), l.x.data()});
  });
  l.halo.exchange(l.x.data());
  copy(l.x, l.y);
}

void forget(Plan &plan)
{
  plan.levels[0].inactive.zero();
  plan.truncated_for = -1;
}

void keep(Plan &plan) { copy(plan.levels[0].x, plan.levels[0].v); }

void store(Plan &plan, double t, const double *X0, const double *XL, const double *XU, double *X)
{
  Level &l = plan.levels[0];
  for_nodes(plan.exec, l.layout, l.own, Store{natural(l), X0, XL, XU, l.v.data(), X, t, l.layout.half});
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
