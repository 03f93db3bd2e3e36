// Galerkin products of convection are central differences, whatever the fine grid has: their cell Peclet numbers
// double from grid to grid, couplings become positive, and neither sweeps nor corrections can be relied on. What
// makes a coupling positive by asymmetry alone is taken back by diffusion between the two nodes (Kuzmin and Turek, J.
// Comput. Phys. 175 (2002), section 4):
//
//   d_ij = max(0, a_ij, a_ji) - max(0, (a_ij + a_ji) / 2),   a_ij, a_ji -= d_ij,   a_ii, a_jj += d_ij
//
// which keeps row and column sums, leaves symmetric operators as they are, mixed derivatives too, and makes an
// M-matrix of what was one but for convection. Bytes per node: 3^d coefficients read twice and written.
//
// In the plane, that does not yet serve whirls. Upwind differences have diffusion along the wind; its Galerkin product
// along x couples nodes along y positively, by a third of what it couples them along x, as the functions of a coarse
// grid overlap: sweeps diverge in the long run. So couplings across the cells of the coarse grid go to the cells' edges
// where convection is as strong as diffusion. A diffusion a across both diagonals is, for linear functions, one of a
// along each of the four edges, and what flows along a diagonal does so in halves by both ways around the cell. Row and
// column sums stay, and of upwind differences upwind differences are left. Near nodes that are cut out the functions of
// a coarse grid are no bilinear ones; where diffusion is the stronger, couplings stay where they are. Bytes per node:
// 9 coefficients read and written.
//
// The diffusion of upwind differences is proportional to the mesh width. So on a coarse grid what is the same along a
// closed streamline meets twice the diffusion of the finer one, and its correction is half of what is right, on each
// grid anew. Where sweeps follow the wind, the second visit of a W-cycle takes that back by a step of defect
// correction: it solves for the right-hand side with the added diffusion times the result of the first visit. With
// convection i c and diffusion d, of which half is added, the error of a visit is d / 2 / (i c + d) at most, which the
// second one squares.
#include "vipmg/stencil3.hpp"

namespace tessera::vipmg {

namespace {

// What the couplings between two nodes are: their mean, and how much more the first one sees of the second.
struct Pair {
  double mean, flow;
};

struct ToEdges {
  Stencil3<2, true> from;
  const uint8_t    *free;
  double           *to;

  HD double a(ptrdiff_t e, int dx, int dy) const { return from.a[plane_of<2, true>(dx, dy, 0) * from.plane + e]; }
  HD Pair   pair(ptrdiff_t e, ptrdiff_t q, int dx, int dy) const
  {
    const double forth = a(e, dx, dy), back = a(q, -dx, -dy);
    return {0.5 * (forth + back), 0.5 * (forth - back)};
  }
  HD static double size(const Pair &p, const Pair &q) { return fabs(p.mean) + fabs(q.mean); }
  HD static double wind(const Pair &p, const Pair &q) { return fabs(p.flow) + fabs(q.flow); }
  template <int P> HD ptrdiff_t beside(ptrdiff_t o, int dx, int dy) const
  {
    return o + dy * from.sj + ((P + dx) & 1) * (ptrdiff_t)from.half + ((P + dx) >> 1);
  }
  HD double &coupling(ptrdiff_t e, int dx, int dy) const { return to[plane_of<2, true>(dx, dy, 0) * from.plane + e]; }
  // The cell between node e and those along x, along y and across.
  HD void cell(ptrdiff_t e, ptrdiff_t x, ptrdiff_t y, ptrdiff_t across, int sx, int sy) const
  {
    const Pair one = pair(e, across, sx, sy), other = pair(x, y, -sx, sy), ex = pair(e, x, sx, 0),
               yx = pair(y, across, sx, 0), ey = pair(e, y, 0, sy), xy = pair(x, across, 0, sy);
    if (!(wind(ex, yx) + wind(ey, xy) + wind(one, other) > size(ex, yx) + size(ey, xy) + size(one, other))) return;
    const double larger = one.mean > other.mean ? one.mean : other.mean, both = larger < 0 ? larger : 0;
    coupling(e, sx, sy) -= both + one.flow;
    coupling(e, sx, 0) += both + 0.5 * (one.flow - other.flow);
    coupling(e, 0, sy) += both + 0.5 * (one.flow + other.flow);
    coupling(e, 0, 0) -= both;
  }
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)from.half;
    for (int p = 0; p < 9; ++p) to[p * from.plane + e] = from.a[p * from.plane + e];
    for (int sy = -1; sy <= 1; sy += 2)
      for (int sx = -1; sx <= 1; sx += 2) {
        const ptrdiff_t x = beside<P>(o, sx, 0), y = beside<P>(o, 0, sy), across = beside<P>(o, sx, sy);
        if (free[e] && free[x] && free[y] && free[across]) cell(e, x, y, across, sx, sy);
      }
  }
};

template <int D, bool Kept> struct Stabilise {
  Stencil3<D, true> from;
  const uint8_t    *free;
  double           *to, *kept; // kept: what is added
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
          if (Kept) kept[forward * from.plane + e] = -d;
        }
    to[centre<D, true>() * from.plane + e] = from.diagonal(e) + added;
    if (Kept) kept[centre<D, true>() * from.plane + e] = added;
  }
};

// b += diffusion x
struct TakeBack {
  Stencil3<2, true> diffusion;
  const double     *x;
  double           *b;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)diffusion.half;
    b[e] += diffusion.diagonal(e) * x[e] + diffusion.neighbours<P>(x, e, o);
  }
};

} // namespace

void take_back_diffusion(Plan &plan, Level &l)
{
  auto s = stencil<2, true>(l, l.truncated);
  s.a    = l.diffusion.data();
  for_nodes(plan.exec, l.layout, l.own, TakeBack{s, l.x.data(), l.b.data()});
}

void stabilise(Plan &plan, Level &l, Operator &op)
{
  if (plan.unstable.size() < op.a.size()) plan.unstable.resize(op.a.extent()); // at the first time
  const bool kept = l.ordered && &op == &l.truncated;
  double    *planes[27];
  const int  count = points(plan.dimension, true);
  for (int p = 0; p < count; ++p) planes[p] = op.a.data() + p * (ptrdiff_t)l.layout.size();
  if (kept && l.diffusion.size() < op.a.size()) l.diffusion.resize(op.a.extent());
  copy(op.a, plan.unstable);
  if (plan.dimension == 2) {
    auto s = stencil<2, true>(l, op);
    s.a    = plan.unstable.data();
    for_nodes(plan.exec, l.layout, l.own, ToEdges{s, l.free.data(), op.a.data()});
    l.halo.exchange(planes, count);
    copy(op.a, plan.unstable);
  }
  with_kind(plan.dimension, true, [&](auto kind) {
    constexpr int D = decltype(kind)::dimension;
    auto          s = stencil<D, true>(l, op);
    s.a             = plan.unstable.data();
    if (!kept) for_nodes(plan.exec, l.layout, l.own, Stabilise<D, false>{s, l.free.data(), op.a.data(), nullptr});
    else for_nodes(plan.exec, l.layout, l.own, Stabilise<D, true>{s, l.free.data(), op.a.data(), l.diffusion.data()});
  });
  l.halo.exchange(planes, count);
  make_inverse(plan, l, op);
}

} // namespace tessera::vipmg
