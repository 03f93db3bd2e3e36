// Kernels on the nodes of fields that are stored by quarters, which several files need.
#pragma once
#include "box/grid.hpp"

namespace tessera {

// Values of listed nodes (x, y) to a list, and back.
template <class T, class V> struct TakeNodes {
  View<T>    from;
  const int *node;
  V         *to;
  HD void    operator()(int i, int) const { to[i] = from.at(node[2 * i], node[2 * i + 1]); }
};
template <class T, class V> struct PutNodes {
  View<T>    to;
  const int *node;
  const V   *from;
  HD void    operator()(int i, int) const { to.at(node[2 * i], node[2 * i + 1]) = (T)from[i]; }
};

// y += x in a quarter, each with its distances of nodes and of rows.
struct AddQuarter {
  const double *x;
  double       *y;
  ptrdiff_t     sx, sy, tx, ty;
  HD void       operator()(int X, int Y) const { y[X * tx + Y * ty] += x[X * sx + Y * sy]; }
};

// Writes one row of c values to the quarters of the next grid.
template <class Block, class V> HD void store_row(Block &block, const Box &c, int J, const V *row, const View<V> &next)
{
  for (int px = 0; px < 2; ++px) { // c(X, Y) is node (X, Y) of the next grid
    V *z = next.q[px + 2 * (J & 1)] + floor_half(J) * next.sy;
    if (next.sx == 1)
      block.each(half_begin(c.x0, px), half_begin(c.x1, px), J, J + 1, [&](int I, int) { z[I] = row[2 * I + px]; });
    else
      block.each(half_begin(c.x0, px), half_begin(c.x1, px), J, J + 1,
                 [&](int I, int) { z[I * next.sx] = row[2 * I + px]; });
  }
}

} // namespace tessera
