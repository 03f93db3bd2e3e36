// What an operator is like: couplings along each direction, by which grids are coarsened and lines chosen, and how far
// it is from symmetric.
#include "vipmg/stencil3.hpp"

namespace tessera::vipmg {

namespace {

struct Largest {
  double asymmetry = 0, diagonal = 0;
  void   times(double) { }
  HD void join(const Largest &o)
  {
    asymmetry = o.asymmetry > asymmetry ? o.asymmetry : asymmetry;
    diagonal  = o.diagonal > diagonal ? o.diagonal : diagonal;
  }
};

template <int D, bool Box> struct FindAsymmetry {
  Stencil3<D, Box> s;
  const uint8_t   *free;
  template <int P> HD void at(int, ptrdiff_t o, int, int, Largest &r) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    if (!free[e]) return;
    const double d = s.diagonal(e);
    r.diagonal     = d > r.diagonal ? d : r.diagonal;
    for (int dz = D > 2 ? -1 : 0; dz <= (D > 2 ? 1 : 0); ++dz)
      for (int dy = D > 1 ? -1 : 0; dy <= (D > 1 ? 1 : 0); ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          const int forward = plane_of<D, Box>(dx, dy, dz), backward = plane_of<D, Box>(-dx, -dy, -dz);
          if (forward < 0) continue;
          const ptrdiff_t q = o + dy * s.sj + dz * s.sk + ((P + dx) & 1) * (ptrdiff_t)s.half + ((P + dx) >> 1);
          const double    c = free[q] ? s.a[forward * s.plane + e] - s.a[backward * s.plane + q] : 0;
          r.asymmetry       = c > r.asymmetry ? c : -c > r.asymmetry ? -c : r.asymmetry;
        }
  }
};

constexpr double several = 4;
constexpr double jump    = 10;

template <int D, bool Box> struct FindStrength {
  Stencil3<D, Box> s;
  const uint8_t   *free;
  bool             symmetric;
  int              last[3]; // node n - 1 where the grid ends there
  // Do sweeps by points leave errors that are smooth along d? Not where the other couplings, or the row sum, hold the
  // node. A row sum beside an inflow is large too, but there errors come with the flow.
  HD bool strong(double along, double across, double sum) const
  {
    return along > several * (fabs(across) + (symmetric && sum > 0 ? sum : 0));
  }
  // The node that is (dx, dy) away; -1 where the line has ended.
  template <int P> HD int strong_beside(ptrdiff_t o, int d, int dx, int dy) const
  {
    const ptrdiff_t e = o + dy * s.sj + ((P + dx) & 1) * (ptrdiff_t)s.half + ((P + dx) >> 1);
    double          sum = 0, both[2] = {0, 0};
    if (!free[e]) return -1;
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x) {
        const int direction = plane_of<D, Box>(x, y, 0);
        if (direction < 0) continue;
        const ptrdiff_t q = o + (dy + y) * s.sj + ((P + dx + x) & 1) * (ptrdiff_t)s.half + ((P + dx + x) >> 1);
        const double    c = free[q] ? s.a[direction * s.plane + e] : 0;
        sum += c;
        if (x) both[0] -= c;
        if (y) both[1] -= c;
      }
    return strong(both[d], both[1 - d], sum);
  }
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k, Strength &r) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    if (!free[e]) return;
    const int place[3] = {2 * t + P, j, k};
    double    sum = 0, flow = 0, mean = 0, before[3] = {0, 0, 0}, both[3] = {0, 0, 0};
    for (int dz = D > 2 ? -1 : 0; dz <= (D > 2 ? 1 : 0); ++dz)
      for (int dy = D > 1 ? -1 : 0; dy <= (D > 1 ? 1 : 0); ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          const int direction = plane_of<D, Box>(dx, dy, dz);
          if (direction < 0) continue;
          const ptrdiff_t q = o + dy * s.sj + dz * s.sk + ((P + dx) & 1) * (ptrdiff_t)s.half + ((P + dx) >> 1);
          const double    c = free[q] ? s.a[direction * s.plane + e] : 0;
          sum += c;
          if (D == 2 && !symmetric && free[q] && (dx || dy)) {
            const double back = s.a[plane_of<D, Box>(-dx, -dy, -dz) * s.plane + q];
            flow += fabs(c - back);
            mean += fabs(c + back);
          }
          const int at[3] = {dx, dy, dz};
          for (int d = 0; d < D; ++d) {
            if (at[d]) both[d] -= c;
            if (at[d] < 0) before[d] -= c;
          }
        }
    if constexpr (D == 2)
      for (int d = 0; d < 2; ++d)
        if (strong(both[d], both[1 - d], sum)) {
          const int before = strong_beside<P>(o, d, d - 1, -d), behind = strong_beside<P>(o, d, 1 - d, d);
          r.strong[d] += before && behind && (before > 0 || behind > 0); // of two nodes, too
        }
    bool jumps = false;
    for (int d = 0; d < D; ++d) {
      const double behind = both[d] - before[d];
      jumps = jumps || (before[d] > 0 && behind > 0 && (before[d] > jump * behind || behind > jump * before[d]));
      r.along[d] += both[d] > 0 ? both[d] : 0;
      if (place[d] != last[d]) continue;
      r.face[d] += before[d] > 0 ? before[d] : 0;
      r.row[d] += sum;
    }
    r.jumps += jumps;
    r.wind += flow > 0.5 * mean;
  }
};

// join_nodes() of a kernel that reads stencils of a node and its neighbours, and in the plane whether these have
// neighbours that are `free`: on the host once for all even nodes of a row, and once for all odd ones, that see the
// same. result[1] is empty there.
template <class R, class Kernel>
void join_stencils(const Plan &plan, const Level &l, const Operator &op, const Kernel &kernel, R *result)
{
  const int reach = plan.dimension == 2 ? 2 : 1, y = plan.dimension > 1 ? reach : 0, z = plan.dimension > 2;
  const auto row = [&](int j, int k, R *sums) {
    R  &sum = sums[0];
    Run run = repeating(l, op, j - y, j + y + 1, k - z, k + z + 1);
    run.lo += reach, run.hi -= reach;
    if (run.hi - run.lo < 2) run = {l.own.hi[0], l.own.hi[0]};
    const auto nodes = [&](int lo, int hi) {
      half_row<0>(l.layout, j, k, half_begin(lo, 0), half_begin(hi, 0), kernel, sum);
      half_row<1>(l.layout, j, k, half_begin(lo, 1), half_begin(hi, 1), kernel, sum);
    };
    nodes(l.own.lo[0], run.lo);
    nodes(run.hi, l.own.hi[0]);
    if (run.lo < run.hi) {
      R         even, odd;
      const int t0 = half_begin(run.lo, 0), t1 = half_begin(run.lo, 1);
      kernel.template at<0>(t0, l.layout.row(j, k) + t0, j, k, even);
      kernel.template at<1>(t1, l.layout.row(j, k) + t1, j, k, odd);
      even.times(half_begin(run.hi, 0) - t0);
      odd.times(half_begin(run.hi, 1) - t1);
      sum.join(even);
      sum.join(odd);
    }
  };
  join_nodes(plan.exec, l.layout, l.own, kernel, row, result, false);
}

} // namespace

Strength strength(Plan &plan, Level &l)
{
  with_kind(plan.dimension, l.A.box, [&](auto kind) {
    using K = decltype(kind);
    FindStrength<K::dimension, K::box> find{
      stencil<K::dimension, K::box>(l, l.A), l.free.data(), plan.symmetric, {-1, -1, -1}
    };
    for (int d = 0; d < 3; ++d)
      if (!l.periodic[d]) find.last[d] = l.n[d] - 1;
    join_stencils(plan, l, l.A, find, plan.strength.data());
  });
  return sum_of(plan, l, plan.strength);
}

double asymmetry(Plan &plan)
{
  Level          &l = plan.levels[0];
  Buffer<Largest> both(Extent{2, plan.exec.space});
  with_kind(plan.dimension, l.A.box, [&](auto kind) {
    using K = decltype(kind);
    join_stencils(plan, l, l.A,
                  FindAsymmetry<K::dimension, K::box>{stencil<K::dimension, K::box>(l, l.A), l.free.data()},
                  both.data());
  });
  Largest all = joined(both);
  static_assert(sizeof all == 2 * sizeof(double), "two doubles");
  if (!l.shared) MPI_Allreduce(MPI_IN_PLACE, &all, 2, MPI_DOUBLE, MPI_MAX, plan.comm);
  return all.diagonal > 0 ? all.asymmetry / all.diagonal : 0;
}

} // namespace tessera::vipmg
