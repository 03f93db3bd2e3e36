#include "box/grid3.hpp"
#include <algorithm>

namespace tessera::box {

namespace {

Box3 widened(const Box3 &own, int dimension, int by)
{
  Box3 b = own;
  for (int d = 0; d < dimension; ++d) b.lo[d] -= by, b.hi[d] += by;
  return b;
}

} // namespace

Layout3 layout_for(const Box3 &own, int dimension)
{
  const Box3 b = widened(own, dimension, ghosts);
  Layout3    l;
  l.t0   = floor_half(b.lo[0]);
  l.j0   = b.lo[1];
  l.k0   = b.lo[2];
  l.half = (floor_half(b.hi[0] - 1) - l.t0 + 1 + 7) / 8 * 8;
  l.mj   = b.hi[1] - b.lo[1];
  l.mk   = b.hi[2] - b.lo[2];
  l.sj   = 2 * (ptrdiff_t)l.half;
  l.sk   = l.sj * l.mj;
  return l;
}

Box3 wanted(const Grid3 &l, const Box3 &own, int dimension)
{
  if (own.empty()) return own; // it computes nothing; what it interpolates from is asked for below
  Box3 b = widened(own, dimension, ghosts);
  for (int d = 0; d < 3; ++d)
    if (!l.periodic[d]) b.lo[d] = std::max(b.lo[d], 0), b.hi[d] = std::min(b.hi[d], l.n[d]);
  return b;
}

} // namespace tessera::box
