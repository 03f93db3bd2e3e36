// Several steps of a cycle on one tile of a plane grid, between which the unknowns stay in shared memory. A tile
// computes what its neighbours compute too as far as its own nodes need it: a layer for each colour of each sweep,
// one for a residual. So nothing is read that another tile has written, if a kernel does not write where it reads: x
// goes from one array to another.
#pragma once
#include "vipmg/transfer.hpp"

namespace tessera::vipmg {

// Nodes [x0, x1) x [y0, y1) of a grid in scratch memory, in rows of even, then odd nodes.
struct Tile {
  double        *p;
  int            i0, j0, half; // i0 is even
  HD ptrdiff_t   at(int i, int j) const { return (ptrdiff_t)(j - j0) * 2 * half + (i & 1) * half + ((i - i0) >> 1); }
  HD double     &operator()(int i, int j) const { return p[at(i, j)]; }
};

HD inline Box grown(const Box &b, int by) { return {b.x0 - by, b.x1 + by, b.y0 - by, b.y1 + by}; }
HD inline int even_floor(int i) { return i - (i & 1); }
HD inline Tile tile_of(double *memory, const Box &b)
{
  return {memory, even_floor(b.x0), b.y0, (b.x1 - even_floor(b.x0) + 1) / 2};
}
HD inline size_t places(const Box &b) { return (size_t)(2 * ((b.x1 - even_floor(b.x0) + 1) / 2) * (b.y1 - b.y0)); }

// As forall_tiles(); a build for the host has no such kernels, as it has no use for tiles.
template <class... Args> void forall_tiles_of_device(const Args &...args)
{
  if constexpr (device::built) forall_tiles(args...);
}

// A grid without ghosts: one process has all of it and no direction is periodic.
template <bool Nine> struct Plane {
  Stencil3<2, Nine>    s;
  Layout3              layout;
  Box                  nodes;
  static constexpr int colours = Nine ? 4 : 2;
  HD ptrdiff_t place(int i, int j) const { return layout.row(j, 0) + (i & 1) * (ptrdiff_t)layout.half + floor_half(i); }

  // Where its stencil is read; e: its place.
  HD ptrdiff_t source(int i, int j, ptrdiff_t e) const { return s.source(i & 1, floor_half(i), j, 0, e); }

  // The sum of a_k x_k over the neighbours of a node, in the order of Stencil3::neighbours(). e: where its stencil is
  // read.
  HD double neighbours(const Tile &x, int i, int j, ptrdiff_t e) const
  {
    const double   *o = x.p + x.at(i, j);
    const ptrdiff_t left = i & 1 ? -x.half : x.half - 1, up = 2 * x.half;
    const double   *a = s.a + e;
    const auto      c = [&](int dx, int dy) { return a[plane_of<2, Nine>(dx, dy, 0) * s.plane]; };
    double          sum = c(-1, 0) * o[left] + c(1, 0) * o[left + 1];
    if (Nine)
      sum += c(-1, -1) * o[left - up] + c(1, -1) * o[left + 1 - up] + c(0, -1) * o[-up] +
             (c(-1, 1) * o[left + up] + c(1, 1) * o[left + 1 + up] + c(0, 1) * o[up]);
    else sum += c(0, -1) * o[-up] + c(0, 1) * o[up];
    return sum;
  }
};

constexpr int tile_columns = 64, tile_rows = 32; // of a tile, of the fine grid

// Of a grid that has few of these smaller ones: it waits for the steps of a tile, not for memory. Results are the same.
struct Shape {
  int columns = tile_columns, rows = tile_rows;
};
inline Shape shape_for(const Level &l)
{
  constexpr long enough = 264; // two for each processor of a large device
  Shape          s;
  while (s.columns > 16 && device::tiles(0, l.n[0], s.columns) * device::tiles(0, l.n[1], s.rows) < enough)
    s.columns /= 2, s.rows /= 2;
  return s;
}

template <bool Nine> Plane<Nine> plane(const Level &l, const Operator &op)
{
  return {
    stencil<2, Nine>(l, op), l.layout, {0, l.n[0], 0, l.n[1]}
  };
}

// f(i, j) at the nodes of a box, along i the even ones first.
template <class Block, class F> HD inline void each_node(Block &block, const Box &b, const F &f)
{
  const int even = floor_half(b.x0 + 1), odd = floor_half(b.x0), evens = floor_half(b.x1 + 1) - even,
            odds = floor_half(b.x1) - odd;
  if (b.x1 <= b.x0 || b.y1 <= b.y0) return;
  block.each(0, evens + odds, b.y0, b.y1,
             [&](int c, int j) { f(c < evens ? 2 * (even + c) : 2 * (odd + c - evens) + 1, j); });
}

// Gauss-Seidel of a tile.
//
// What the last sweep knows of residuals is kept in a second tile, `known`, so that they need not all be read for
// again: at a node whose equation has just been solved b - d x is the sum over the neighbours of then, and the
// residual is what that has changed by since; nodes of the last colour have it at once. Where a node takes no part
// `known` is infinite.
template <bool Nine, bool Projected, bool Masked> struct Relax {
  Plane<Nine>    plane;
  const double  *inverse, *b, *lo, *up;
  const uint8_t *mask;
  double         omega;

  // keep: `known` is wanted. last: of the colours.
  HD void node(const Tile &x, int i, int j, bool zero, const Tile &known, bool keep, bool last) const
  {
    const ptrdiff_t e    = plane.place(i, j), c = plane.source(i, j, e);
    const bool      in   = !Masked || mask[e];
    const double    d    = inverse[c], right = b[e], sum = zero ? 0 : plane.neighbours(x, i, j, c);
    double         &here = x(i, j);
    const double    old  = here, solved = old + omega * ((right - sum) * d - old);
    double          y    = in && d != 0 ? solved : old;
    if (Projected) {
      const double below = lo[e], above = up[e];
      y = y < below ? below : y;
      y = y > above ? above : y;
    }
    here = y;
    if (!keep) return;
    const double rest = y == solved && omega == 1 ? sum : right - plane.s.diagonal(c) * y; // b - d x
    known(i, j)       = in && d != 0 ? last ? rest - sum : rest : INFINITY;
  }
  // The residual of a node after run(), from what it has left in `known`.
  HD double residual(const Tile &x, const Tile &known, int i, int j) const
  {
    constexpr int final = Plane<Nine>::colours - 1;
    const double  k     = known(i, j);
    if (k == INFINITY) return 0;
    return (Nine ? (i & 1) + 2 * (j & 1) : (i + j) & 1) == final
           ? k
           : k - plane.neighbours(x, i, j, plane.source(i, j, plane.place(i, j)));
  }
  // `sweeps` sweeps, after which x is right in `wanted`; it was there in as many layers around as there were colours.
  // zero: it was 0. Known: `known` is left for the nodes of `residuals`, which are within `wanted`.
  template <bool Known, class Block> HD void run(Block &block, const Tile &x, const Box &wanted, int sweeps, bool zero,
                                                 const Tile &known, const Box &residuals) const
  {
    const int phases = Plane<Nine>::colours * sweeps;
    for (int p = 0; p < phases; ++p) {
      const Box a = intersect(grown(wanted, phases - 1 - p), plane.nodes);
      const int c = p % Plane<Nine>::colours;
      block.sync();
      if (a.empty()) continue;
      const bool first = zero && !p, keep = Known && p >= phases - Plane<Nine>::colours;
      const auto at = [&](int i, int j) {
        node(x, i, j, first, known, keep && residuals.contains(i, j), c + 1 == Plane<Nine>::colours);
      };
      if (Nine)
        block.each(half_begin(a.x0, c & 1), half_begin(a.x1, c & 1), half_begin(a.y0, c >> 1), half_begin(a.y1, c >> 1),
                   [&](int t, int q) { at(2 * t + (c & 1), 2 * q + (c >> 1)); });
      else
        block.each(floor_half(a.x0), floor_half(a.x1 - 1) + 1, a.y0, a.y1, [&](int t, int j) {
          const int i = 2 * t + ((j + c) & 1);
          if (i >= a.x0 && i < a.x1) at(i, j);
        });
    }
    block.sync();
  }
};

} // namespace tessera::vipmg
