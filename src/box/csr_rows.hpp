// The rows of a matrix in CSR on the nodes of a grid, by direction.
#pragma once
#include "box/csr.hpp"

namespace tessera::csr {

struct CsrRows {
  Csr         A;
  int         nx, ny, x0, y0;     // the own box; (x, y) below counts from its first node
  // its ends are neighbours; the nodes of two lines are so once, though the grid be periodic
  bool        around_x, around_y;
  int         all_x, all_y;      // nodes of the grid in a periodic direction, else 0

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
  // The direction of the node of own column c, -1 for none.
  HD int direction(int x, int y, Index c) const
  {
    const Index d = c - row(x, y);
    const int   dy = (d > 1) - (d < -1);
    const Index dx = d - dy * (Index)nx;
    if (dx >= -1 && dx <= 1 && x + dx >= 0 && x + dx < nx) return 4 + 3 * dy + (int)dx;
    for (int k = 0; k < 9; ++k)
      if (neighbour(x, y, k) == c) return k;
    return -1;
  }
  // v[k * stride]: the coefficient of node (x, y) in direction k. What lies outside goes to outside(column, is it one
  // of other processes, value). Returns 0, or not a number where a coefficient is not finite.
  template <class Outside> HD double read(int x, int y, double *v, ptrdiff_t stride, const Outside &outside) const
  {
    const Index r     = row(x, y);
    double      check = 0;
    auto        add = [&](int k, Index column, bool others, double a) {
      check += a * 0;
      if (k >= 0) v[k * stride] += a;
      else if (a != 0) outside(column, others, a);
    };
    for (int k = 0; k < 9; ++k) v[k * stride] = 0;
    for (Index e = A.i[r]; e < A.i[r + 1]; ++e) add(direction(x, y, A.j[e]), A.j[e], false, A.a[e]);
    if (A.oi)
      for (Index e = A.oi[r]; e < A.oi[r + 1]; ++e) add(remote(x, y, A.oj[e]), A.oj[e], true, A.oa[e]);
    return check;
  }
};

inline CsrRows rows_of(const Grid &grid, const Csr &A)
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
