// Galerkin products of convection are central differences, whatever the fine grid has: their cell Peclet numbers
// double from grid to grid, couplings become positive, and neither sweeps nor corrections can be relied on. What
// makes a coupling positive by asymmetry alone is taken back by diffusion between the two nodes (Kuzmin and Turek, J.
// Comput. Phys. 175 (2002), section 4):
//
//   d_ij = max(0, a_ij, a_ji) - max(0, (a_ij + a_ji) / 2),   a_ij, a_ji -= d_ij,   a_ii, a_jj += d_ij
//
// which keeps row and column sums, leaves symmetric operators as they are, mixed derivatives too, and makes an
// M-matrix of what was one but for convection. Bytes per node: 3^d coefficients read twice and written.
#include "vipmg/stencil3.hpp"

namespace tessera::vipmg {

namespace {

template <int D> struct Stabilise {
  Stencil3<D, true> from;
  const uint8_t    *free;
  double           *to;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)from.half;
    double          added = 0;
    for (int dz = D > 2 ? -1 : 0; dz <= (D > 2 ? 1 : 0); ++dz)
      for (int dy = D > 1 ? -1 : 0; dy <= (D > 1 ? 1 : 0); ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          const int forward = plane_of<D, true>(dx, dy, dz), backward = plane_of<D, true>(-dx, -dy, -dz);
          if (forward == backward) continue;
          const ptrdiff_t q = o + dy * from.sj + dz * from.sk + ((P + dx) & 1) * (ptrdiff_t)from.half + ((P + dx) >> 1);
          const double    a = from.a[forward * from.plane + e], b = free[q] ? from.a[backward * from.plane + q] : a,
                       mean = 0.5 * (a + b);
          double          d = a > b ? a : b;
          d                 = (d > 0 ? d : 0) - (mean > 0 ? mean : 0);
          added += d;
          to[forward * from.plane + e] = a - d;
        }
    to[centre<D, true>() * from.plane + e] = from.diagonal(e) + added;
  }
};

} // namespace

void stabilise(Plan &plan, Level &l, Operator &op)
{
  if (plan.unstable.size() < op.a.size()) plan.unstable.resize(op.a.extent()); // at the first time
  copy(op.a, plan.unstable);
  with_kind(plan.dimension, true, [&](auto kind) {
    constexpr int D = decltype(kind)::dimension;
    auto          s = stencil<D, true>(l, op);
    s.a             = plan.unstable.data();
    for_nodes(plan.exec, l.layout, l.own, Stabilise<D>{s, l.free.data(), op.a.data()});
  });
  double   *planes[27];
  const int count = points(plan.dimension, true);
  for (int p = 0; p < count; ++p) planes[p] = op.a.data() + p * (ptrdiff_t)l.layout.size();
  l.halo.exchange(planes, count);
  make_inverse(plan, l, op);
}

} // namespace tessera::vipmg
