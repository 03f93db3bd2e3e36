#include "box/same.hpp"
#include "exec/chunk.hpp"
#include "exec/each.hpp"
#include "exec/tile.hpp"
#include <algorithm>
#include <cstring>

namespace tessera::box {

namespace {

constexpr int least_same = 16; // a shorter stretch is not worth its loop

// The three places of a half row of n about which stretches are looked for.
HD inline int third(int k, int n) { return (int)((ptrdiff_t)(2 * k + 1) * n / 6); }

// Nodes that have the row of the one before them.
template <class T> struct EqualRows {
  RowNumbers<T> rows;
  int           lo, hi;
  HD void range(int p, ptrdiff_t, int &from, int &to) const { from = half_begin(lo, p), to = half_begin(hi, p); }
  HD bool alike(int p, ptrdiff_t o) const
  {
    bool same = true;
    for (int c = 0; c < rows.count && same; ++c) same = rows.of[p][c][o] == rows.of[p][c][o - 1];
    return same;
  }
};

// Of a stretch nodes that are not cut, nor the one before.
struct Uncut {
  const int     *same;
  const uint8_t *cut;
  int            half;
  HD void range(int, ptrdiff_t stretch, int &from, int &to) const { from = same[stretch], to = same[stretch + 1]; }
  HD bool alike(int p, ptrdiff_t o) const
  {
    const ptrdiff_t e = o + p * (ptrdiff_t)half;
    return !(cut[e] | cut[e - 1]);
  }
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
    const ptrdiff_t stretch = Stretches{same, layout.j0, layout.k0, layout.mj}.at(p, j, k);
    nodes.range(p, stretch, t0, t1);
    const int       n = t1 - t0;
    const ptrdiff_t o = layout.row(j, k) + t0;
    block.each(0, 7, 0, 1, [&](int q, int) { ends[q] = q < 3 || q == 6 ? 0 : -n; });
    block.sync();
    for (int q = 0; q < 6; ++q) found[q] = q < 3 ? 0 : -n;
    block.each(1, n, 0, 1, [&](int t, int) {
      const bool alike = nodes.alike(p, o + t);
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

template <class Nodes> void find_on_device(const Exec &exec, const Layout3 &layout, const Box3 &own,
                                           const Nodes &nodes, int *same, int *alike_before)
{
  const Rows rows    = all_rows(own);
  const int  threads = std::min(256, std::max(32, (own.hi[0] - own.lo[0]) / 4 / 32 * 32)); // of half a row each
  if (!own.empty())
    forall_blocks(exec, 2 * rows.count(), threads, 7 * sizeof(int),
                  FindSame<Nodes>{nodes, layout, rows, same, alike_before});
}

// The longest stretch of n nodes from place o on that have equal numbers, about three of them, on the host.
template <class T> void find_in_half_row(const RowNumbers<T> &rows, int p, ptrdiff_t o, int n, int (&best)[2])
{
  constexpr int stride = 64; // what is compared at once, with that beside it
  best[0] = best[1] = 0;
  for (int q = 0; q < 3 && n >= least_same; ++q) {
    const int at = third(q, n);
    if (at >= best[0] && at < best[1]) continue;
    int from = 0, to = n;
    for (int c = 0; c < rows.count && to - from >= least_same; ++c) {
      const T *a     = rows.of[p][c] + o;
      const T  value = a[at];
      int      low = at, high = at + 1;
      while (low - stride >= from && !memcmp(a + low - stride, a + low - stride + 1, stride * sizeof(T))) low -= stride;
      while (low > from && a[low - 1] == value) --low;
      while (high + stride <= to && !memcmp(a + high, a + high - 1, stride * sizeof(T))) high += stride;
      while (high < to && a[high] == value) ++high;
      from = low, to = high;
    }
    if (to - from >= least_same && to - from > best[1] - best[0]) best[0] = from, best[1] = to;
  }
}

} // namespace

template <class T>
void find_stretches(const Exec &exec, const Layout3 &layout, const Box3 &own, const RowNumbers<T> &numbers,
                    Buffer<int> &same, int *alike_before)
{
  const Rows rows = all_rows(own);
  same.fit(Extent{(size_t)4 * layout.mj * layout.mk, exec.space}); // graphs that are recorded hold its address
  if (chunk_of(exec) == 1)
    return find_on_device(exec, layout, own, EqualRows<T>{numbers, own.lo[0], own.hi[0]}, same.data(), alike_before);
  for (int r = 0; r < (own.empty() ? 0 : rows.count()); ++r)
    for (int p = 0; p < 2; ++p) {
      const int t0 = half_begin(own.lo[0], p), n = half_begin(own.hi[0], p) - t0;
      int       j, k, best[2];
      rows.get(r, j, k);
      find_in_half_row(numbers, p, layout.row(j, k) + t0, n, best);
      int *const to = same.data() + stretches(layout, same).at(p, j, k);
      to[0] = t0 + best[0], to[1] = t0 + best[1];
    }
}

void find_uncut(const Exec &exec, const Layout3 &layout, const Box3 &own, const Buffer<int> &same, const uint8_t *cut,
                Buffer<int> &out)
{
  const Rows rows = all_rows(own);
  if (chunk_of(exec) == 1) {
    if (out.size()) find_on_device(exec, layout, own, Uncut{same.data(), cut, layout.half}, out.data(), nullptr);
    return;
  }
  out.fit(same.extent());
  for (int r = 0; r < (own.empty() ? 0 : rows.count()); ++r)
    for (int p = 0; p < 2; ++p) {
      int j, k;
      rows.get(r, j, k);
      const ptrdiff_t      q    = stretches(layout, same).at(p, j, k);
      const int           *all  = same.data() + q;
      const uint8_t *const row  = cut + layout.row(j, k) + p * (ptrdiff_t)layout.half, *const end = row + all[1];
      int                 *best = out.data() + q;
      best[0] = best[1] = all[0];
      for (const uint8_t *from = std::find(row + all[0], end, 0), *to; from < end; from = std::find(to, end, 0)) {
        to = std::find(from, end, 1);
        if (to - from >= least_same && to - from > best[1] - best[0])
          best[0] = (int)(from - row), best[1] = (int)(to - row);
      }
    }
}

#define INSTANTIATE(T) \
  template void find_stretches(const Exec &, const Layout3 &, const Box3 &, const RowNumbers<T> &, Buffer<int> &, \
                               int *);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::box
