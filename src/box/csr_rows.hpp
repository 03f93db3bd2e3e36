// The rows of a matrix in CSR on the nodes of a grid, by direction.
#pragma once
#include "box/csr.hpp"

namespace tessera::csr {

template <class Index> struct Rows {
  Csr<Index> A;
  int        nx, ny, x0, y0;     // the own box; (x, y) below counts from its first node
  // its ends are neighbours; the nodes of two lines are so once, though the grid be periodic
  bool       around_x, around_y;
  int        all_x, all_y;       // nodes of the grid in a periodic direction, else 0

  // The direction of the node of column c of the list, -1 for none.
  HD int remote(int x, int y, Index c) const
  {
    int dx = A.ox[c] - x0 - x, dy = A.oy[c] - y0 - y;
    if (all_x && dx > 1) dx -= all_x;
    if (all_x && dx < -1) dx += all_x;
    if (all_y && dy > 1) dy -= all_y;
    if (all_y && dy < -1) dy += all_y;
    return dx < -1 || dx > 1 || dy < -1 || dy > 1 ? -1 : 4 + 3 * dy + dx;
  }
  HD bool rim(int x, int y) const { return x == 0 || y == 0 || x == nx - 1 || y == ny - 1; }
  HD Index row(int x, int y) const { return x + (Index)nx * y; }
  // The row of the neighbour in direction k, -1 outside the box.
  HD Index neighbour(int x, int y, int k) const
  {
    x += direction_dx(k);
    y += direction_dy(k);
    if (around_x) x = x < 0 ? nx - 1 : x == nx ? 0 : x;
    if (around_y) y = y < 0 ? ny - 1 : y == ny ? 0 : y;
    return x < 0 || y < 0 || x >= nx || y >= ny ? -1 : row(x, y);
  }
  // The coefficients of row r, whose columns are at[k]. False if it is not the row of an operator.
  HD bool read(Index r, const Index (&at)[9], double (&v)[9]) const
  {
    double check = 0;
    bool   good  = true;
    for (int k = 0; k < 9; ++k) v[k] = 0;
    for (Index e = A.i[r], end = A.i[r + 1]; e < end; ++e) {
      const Index  c     = A.j[e];
      const double a     = A.a[e];
      bool         found = a == 0;
      for (int k = 0; k < 9; ++k)
        if (at[k] == c) {
          v[k] += a;
          found = true;
        }
      good = good && found;
      check += a * 0;
    }
    return good && check == 0 && v[4] > 0;
  }
};

template <class Index> Rows<Index> rows_of(const Grid &grid, const Csr<Index> &A)
{
  const Box own = grid.owned();
  const int nx = own.x1 - own.x0, ny = own.y1 - own.y0;
  return {A,
          nx,
          ny,
          own.x0,
          own.y0,
          grid.periodic_x && nx == grid.nx && nx > 2,
          grid.periodic_y && ny == grid.ny && ny > 2,
          grid.periodic_x && grid.nx > 2 ? grid.nx : 0,
          grid.periodic_y && grid.ny > 2 ? grid.ny : 0};
}

} // namespace tessera::csr
