// Stretches of equal stencils in the half rows of an operator.
#include "exec/each.hpp"
#include "exec/tile.hpp"
#include "vipmg/stencil3.hpp"
#include <algorithm>
#include <cstring>

namespace tessera::vipmg {

namespace {

constexpr int least_same = 16; // a shorter stretch is not worth its loop

// The three places of a half row of n about which stretches are looked for.
HD inline int third(int k, int n) { return (int)((ptrdiff_t)(2 * k + 1) * n / 6); }

// The place of a half row's stretch.
HD inline ptrdiff_t stretch_of(const Layout3 &l, int p, int j, int k)
{
  return 2 * (2 * ((j - l.j0) + (ptrdiff_t)l.mj * (k - l.k0)) + p);
}

// Nodes that have the stencil of the one before them.
struct EqualStencils {
  const double *a, *inverse;
  ptrdiff_t     plane;
  int           count, lo, hi;
  HD void range(int p, ptrdiff_t, int &from, int &to) const { from = half_begin(lo, p), to = half_begin(hi, p); }
  HD bool alike(ptrdiff_t e) const
  {
    bool same = inverse[e] == inverse[e - 1];
    for (int c = 0; c < count; ++c) same = same && a[c * plane + e] == a[c * plane + e - 1];
    return same;
  }
};

// Of a stretch nodes that are not cut, nor the one before.
struct Uncut {
  const int     *same;
  const uint8_t *cut;
  HD void range(int, ptrdiff_t stretch, int &from, int &to) const { from = same[stretch], to = same[stretch + 1]; }
  HD bool alike(ptrdiff_t e) const { return !(cut[e] | cut[e - 1]); }
};

// A half row on a device: the stretches about the three places of its range end where a node is not like the one
// before. alike_before: how many are, if that is asked for.
template <class Nodes> struct FindSame {
  Nodes   nodes;
  Layout3 layout;
  Rows    rows;
  int    *same, *alike_before;
  template <class Block> HD void operator()(Block &block) const
  {
    const int p = block.tile.y0 & 1;
    // greatest beginning, negative least end
    int      *ends = (int *)block.shared, *equal = ends + 6, found[6], mine = 0, j, k, t0, t1;
    rows.get(block.tile.y0 / 2, j, k);
    const ptrdiff_t stretch = stretch_of(layout, p, j, k);
    nodes.range(p, stretch, t0, t1);
    const int       n = t1 - t0;
    const ptrdiff_t e = layout.row(j, k) + p * (ptrdiff_t)layout.half + t0;
    block.each(0, 7, 0, 1, [&](int q, int) { ends[q] = q < 3 || q == 6 ? 0 : -n; });
    block.sync();
    for (int q = 0; q < 6; ++q) found[q] = q < 3 ? 0 : -n;
    block.each(1, n, 0, 1, [&](int t, int) {
      const bool alike = nodes.alike(e + t);
      mine += alike;
      for (int q = 0; q < 3 && !alike; ++q) {
        const bool before = t <= third(q, n);
        int       &end    = found[before ? q : 3 + q];
        if ((before ? t : -t) > end) end = before ? t : -t;
      }
    });
    for (int q = 0; q < 6; ++q) raise_to(ends + q, found[q]);
    if (mine && alike_before) add_to(equal, mine);
    block.sync();
    block.each(0, 1, 0, 1, [&](int, int) {
      int best[2] = {0, 0};
      for (int q = 0; q < 3; ++q)
        if (-ends[3 + q] - ends[q] >= least_same && -ends[3 + q] - ends[q] > best[1] - best[0])
          best[0] = ends[q], best[1] = -ends[3 + q];
      same[stretch]     = t0 + best[0];
      same[stretch + 1] = t0 + best[1];
      if (alike_before) add_to(alike_before, *equal);
    });
  }
};

template <class Nodes>
void find_stretches(const Plan &plan, const Level &l, const Nodes &nodes, int *same, int *alike_before)
{
  const Rows rows = all_rows(l.own);
  if (!l.own.empty())
    forall_blocks(plan.exec, 2 * rows.count(), 256, 7 * sizeof(int),
                  FindSame<Nodes>{nodes, l.layout, rows, same, alike_before});
}

} // namespace

// Fills op.same: the longest of the stretches about three places of a half row. Where coefficients vary it ends at
// once.
void find_same(Plan &plan, const Level &l, Operator &op)
{
  constexpr int   stride = 64; // what is compared at once, with that beside it
  const Rows      rows  = all_rows(l.own);
  const ptrdiff_t plane = (ptrdiff_t)l.layout.size();
  const int       count = points(plan.dimension, op.box);
  const Extent    room{(size_t)4 * l.layout.mj * l.layout.mk, plan.exec.space};
  if (op.same.size() != room.n) op.same.resize(room); // where it was: graphs that are recorded hold addresses
  if (plan.strategy->late_stretches) {
    plan.alike.zero();
    return find_stretches(plan, l,
                          EqualStencils{op.a.data(), op.inverse.data(), plane, count, l.own.lo[0], l.own.hi[0]},
                          op.same.data(), plan.alike.data());
  }
  for (int r = 0; r < (l.own.empty() ? 0 : rows.count()); ++r)
    for (int p = 0; p < 2; ++p) {
      const int t0 = half_begin(l.own.lo[0], p), n = half_begin(l.own.hi[0], p) - t0;
      int       j, k, best[2] = {0, 0};
      rows.get(r, j, k);
      const ptrdiff_t e = l.layout.row(j, k) + p * (ptrdiff_t)l.layout.half + t0;
      for (int q = 0; q < 3 && n >= least_same; ++q) {
        const int at = third(q, n);
        if (at >= best[0] && at < best[1]) continue;
        int from = 0, to = n;
        for (int c = 0; c <= count && to - from >= least_same; ++c) {
          const double *a = (c < count ? op.a.data() + c * plane : op.inverse.data()) + e;
          const double  value = a[at];
          int           low = at, high = at + 1;
          while (low - stride >= from && !memcmp(a + low - stride, a + low - stride + 1, stride * sizeof(double)))
            low -= stride;
          while (low > from && a[low - 1] == value) --low;
          while (high + stride <= to && !memcmp(a + high, a + high - 1, stride * sizeof(double))) high += stride;
          while (high < to && a[high] == value) ++high;
          from = low, to = high;
        }
        if (to - from >= least_same && to - from > best[1] - best[0]) best[0] = from, best[1] = to;
      }
      int *same = op.same.data() + stretch_of(l.layout, p, j, k);
      same[0]   = t0 + best[0];
      same[1]   = t0 + best[1];
    }
}

void same_but_cut(Plan &plan, Level &l)
{
  const Rows   rows = all_rows(l.own);
  Buffer<int> &out  = l.truncated.same;
  if (plan.strategy->late_stretches) {
    if (out.size()) find_stretches(plan, l, Uncut{l.A.same.data(), l.cut.data()}, out.data(), nullptr);
    return;
  }
  if (out.size() != l.A.same.size()) out.resize(l.A.same.size());
  for (int r = 0; r < (l.own.empty() ? 0 : rows.count()); ++r)
    for (int p = 0; p < 2; ++p) {
      int j, k;
      rows.get(r, j, k);
      const ptrdiff_t      q    = stretch_of(l.layout, p, j, k);
      const int           *all  = l.A.same.data() + q;
      const uint8_t *const cut  = l.cut.data() + l.layout.row(j, k) + p * (ptrdiff_t)l.layout.half, *const end =
                                                                                                     cut + all[1];
      int                 *best = out.data() + q;
      best[0] = best[1] = all[0];
      for (const uint8_t *from = std::find(cut + all[0], end, 0), *to; from < end; from = std::find(to, end, 0)) {
        to = std::find(from, end, 1);
        if (to - from >= least_same && to - from > best[1] - best[0])
          best[0] = (int)(from - cut), best[1] = (int)(to - cut);
      }
    }
}

} // namespace tessera::vipmg
