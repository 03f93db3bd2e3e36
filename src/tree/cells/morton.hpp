// Morton keys: the bits of the coordinates of a cell, interleaved. Cells in the order of their keys are the leaves of
// a binary, quad- or octree from left to right, and the cells of every coarser level are ranges of that order.
#pragma once
#include "exec/sort.hpp"

namespace tessera::tree {

// Levels below the root. Vertices need a bit more, and all bits fit in a key.
HD constexpr int depth(int dim) { return dim == 3 ? 20 : 30; }
HD constexpr int vertex_bits(int dim) { return dim * (depth(dim) + 1); }

template <int D> HD inline Key spread(Key x);
template <> HD inline Key      spread<1>(Key x) { return x; }
template <> HD inline Key      spread<2>(Key x)
{
  x = (x | x << 16) & 0x0000ffff0000ffffULL;
  x = (x | x << 8) & 0x00ff00ff00ff00ffULL;
  x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fULL;
  x = (x | x << 2) & 0x3333333333333333ULL;
  return (x | x << 1) & 0x5555555555555555ULL;
}
template <> HD inline Key spread<3>(Key x)
{
  x = (x | x << 32) & 0x001f00000000ffffULL;
  x = (x | x << 16) & 0x001f0000ff0000ffULL;
  x = (x | x << 8) & 0x100f00f00f00f00fULL;
  x = (x | x << 4) & 0x10c30c30c30c30c3ULL;
  return (x | x << 2) & 0x1249249249249249ULL;
}
template <int D> HD inline unsigned gather(Key x);
template <> HD inline unsigned      gather<1>(Key x) { return (unsigned)x; }
template <> HD inline unsigned      gather<2>(Key x)
{
  x &= 0x5555555555555555ULL;
  x = (x | x >> 1) & 0x3333333333333333ULL;
  x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0fULL;
  x = (x | x >> 4) & 0x00ff00ff00ff00ffULL;
  x = (x | x >> 8) & 0x0000ffff0000ffffULL;
  return (unsigned)(x | x >> 16);
}
template <> HD inline unsigned gather<3>(Key x)
{
  x &= 0x1249249249249249ULL;
  x = (x | x >> 2) & 0x10c30c30c30c30c3ULL;
  x = (x | x >> 4) & 0x100f00f00f00f00fULL;
  x = (x | x >> 8) & 0x001f0000ff0000ffULL;
  x = (x | x >> 16) & 0x001f00000000ffffULL;
  return (unsigned)(x | x >> 32);
}

template <int D> struct Corner {
  unsigned x[D];
};
template <int D> HD inline Key interleave(const Corner<D> &c)
{
  Key k = 0;
  for (int q = 0; q < D; ++q) k |= spread<D>(c.x[q]) << q;
  return k;
}
template <int D> HD inline Corner<D> deinterleave(Key k)
{
  Corner<D> c;
  for (int q = 0; q < D; ++q) c.x[q] = gather<D>(k >> q);
  return c;
}
// The cell of length h with its lower corner at c, moved by one cell upwards along the axes in the set m: bit q is
// axis q.
template <int D> HD inline Corner<D> move(Corner<D> c, int m, unsigned h)
{
  for (int q = 0; q < D; ++q)
    if (m >> q & 1) c.x[q] += h;
  return c;
}

// The place of the cell that contains a cell of the finest level, among cells that do not overlap; -1: none.
template <int D> HD inline int containing(const Key *start, const signed char *level, int n, Key key)
{
  const int p = lower_bound(start, 0, n, key + 1) - 1;
  return p >= 0 && (key - start[p]) >> (D * (depth(D) - level[p])) == 0 ? p : -1;
}

} // namespace tessera::tree
