// Transfers between the grids of the Galerkin form, for the cycle (rrb_galerkin.k.cxx) and for its matrices (rrb_whole.k.cxx).
#pragma once
#include "core/smooth.hpp"
#include "rrb/galerkin_levels.hpp"

namespace tessera::rrb {

template <class F> void with_stride(ptrdiff_t sx, const F &f)
{
  if (sx == 1) f(std::integral_constant<int, 1>());
  else f(std::integral_constant<int, 2>());
}

// Writes one row of c values to the quarters of the next grid.
template <class Block, class T> HD void store_row(Block &block, const Box &c, int J, const T *row, const View<T> &next)
{
  for (int px = 0; px < 2; ++px) {
    T *z = next.q[px + 2 * (J & 1)] + floor_half(J) * next.sy;
    if (next.sx == 1) block.each(half_begin(c.x0, px), half_begin(c.x1, px), J, J + 1, [&](int I, int) { z[I] = row[2 * I + px]; });
    else block.each(half_begin(c.x0, px), half_begin(c.x1, px), J, J + 1, [&](int I, int) { z[I * next.sx] = row[2 * I + px]; });
  }
}

template <int S, class T> struct Restrict {
  StencilView<T> A;
  View<T>        b, x, r, edge[2], centre[4], next;
  bool           with_a; // the residual at a is not zero
  HD T           value(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * A.C.sy, n = A.C.sy;
    T               v = b.q[3][p] - A.C.q[3][p] * x.q[3][p] - couplings<3, S, mask_all, lines_none>(A, x, p);
    v += centre[3].q[0][p] * r.q[0][p] + centre[2].q[0][p + S] * r.q[0][p + S] + centre[1].q[0][p + n] * r.q[0][p + n] + centre[0].q[0][p + S + n] * r.q[0][p + S + n];
    return v + edge[1].q[2][p] * r.q[2][p] + edge[0].q[2][p + S] * r.q[2][p + S];
  }
  HD T from_a(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * A.C.sy, n = A.C.sy;
    return edge[1].q[1][p] * r.q[1][p] + edge[0].q[1][p + n] * r.q[1][p + n];
  }
  template <class Block> HD void operator()(Block &block) const
  {
    const Box tile = block.tile;
    T        *row = (T *)block.shared - tile.x0;
    for (int J = tile.y0; J < tile.y1; ++J) {
      block.each(tile.x0, tile.x1, J, J + 1, [&](int X, int Y) { row[X] = value(X, Y); });
      if (with_a) block.each(tile.x0, tile.x1, J, J + 1, [&](int X, int Y) { row[X] += from_a(X, Y); });
      block.sync();
      store_row(block, tile, J, row, next);
      block.sync();
    }
  }
};

// x += P e in quarter Q; e is a field of one quarter.
template <int Q, int S, class T> struct Prolong {
  const T *e;
  const T *w[4]; // o: centre; a, b: edge
  T       *x;
  ptrdiff_t n;
  HD void  operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * n;
    if constexpr (Q == quarter_c) x[p] += e[p];
    else if constexpr (Q == quarter_o) x[p] += w[0][p] * e[p - S - n] + w[1][p] * e[p - n] + w[2][p] * e[p - S] + w[3][p] * e[p];
    else if constexpr (Q == quarter_a) x[p] += w[0][p] * e[p - n] + w[1][p] * e[p];
    else x[p] += w[0][p] * e[p - S] + w[1][p] * e[p];
  }
};

} // namespace tessera::rrb
