#include "box/grid.hpp"

namespace tessera {

Grid Grid::coarse() const
{
  Grid c = *this;
  c.nx   = nx / 2;
  c.ny   = ny / 2;
  for (int &x : c.xsplit) x /= 2;
  for (int &y : c.ysplit) y /= 2;
  return c;
}

Grid Grid::local() const
{
  Grid l   = *this;
  l.comm   = MPI_COMM_SELF;
  l.rank   = 0;
  l.layers = 1;
  l.xsplit = {0, nx};
  l.ysplit = {0, ny};
  return l;
}

Layout::Layout(const Grid &grid, bool natural_order, Space memory) : natural(natural_order), space(memory)
{
  const Box own = grid.owned();
  layers        = grid.layers;
  x0            = floor_half(own.x0) - layers;
  y0            = floor_half(own.y0) - layers;
  m             = floor_half(own.x1) + layers - 1 - x0;
  n             = floor_half(own.y1) + layers - 1 - y0;
  // Element (x0 + 1) of every row starts a cache line, or, for kernels that take pairs, even elements a pair; planes
  // are staggered so that they do not meet in the same cache sets. Small grids are in the cache as they are.
  const bool small = memory == Space::host && layers == 1 && (m + 2) * (n + 2) <= 64;
  first = layers > 1 ? 8 - (x0 & 1) : small ? 1 : 7;
  ld    = small ? m + 2 : (m + 2 + first + 7) / 8 * 8;
  plane = ld * (n + 2) + (small ? 2 : 72);
}

} // namespace tessera
