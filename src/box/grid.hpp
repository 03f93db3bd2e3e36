// Two-dimensional grids, their distribution over processes, and the storage of values on them.
//
// Nodes are (x, y), counted from 0. The parities of x and y split a grid into four quarters (the papers' b1, r1, r2,
// b2):
//
//   o = 0: x even, y even (b1)   a = 1: x odd,  y even (r1)      b c b c
//   b = 2: x even, y odd  (r2)   c = 3: x odd,  y odd  (b2)      o a o a
// Neighbours, at the same quarter index (X, Y):
//   a: W o(X,Y)   E o(X+1,Y)  S c(X,Y-1) N c(X,Y)
//   b: W c(X-1,Y) E c(X,Y)    S o(X,Y)   N o(X,Y+1)
//   o: c at SW (X-1,Y-1), SE (X,Y-1), NW (X-1,Y), NE (X,Y)
// Node (x, y) is element (X, Y) = (x/2, y/2) of its quarter. The c nodes are the next grid: c(X, Y) is its node (X, Y).
// Quarter indices are global; views shift their pointers.
#pragma once
#include "exec/buffer.hpp"
#include "exec/comm.hpp"
#include "exec/exec.hpp"
#include <vector>

namespace tessera {

enum Quarter { quarter_o = 0, quarter_a = 1, quarter_b = 2, quarter_c = 3 };
enum QuarterMask { mask_o = 1, mask_a = 2, mask_b = 4, mask_c = 8, mask_all = 15 };

HD inline int floor_half(int x) { return x >> 1; } // rounds down, ghost indices may be negative

// The indices X of one parity p with 2 X + p in [lo, hi).
HD inline int half_begin(int lo, int p) { return floor_half(lo + 1 - p); }

// The quarter-index box of the nodes of quarter q in a box of nodes.
HD inline Box quarter_box(const Box &nodes, int q)
{
  const int px = q & 1, py = q >> 1;
  return {half_begin(nodes.x0, px), half_begin(nodes.x1, px), half_begin(nodes.y0, py), half_begin(nodes.y1, py)};
}

// A grid and its distribution: process (rx, ry) of splits.size()-1 in each direction owns [xsplit[rx], xsplit[rx+1])
// x ...; rank = rx + ry * (processes in x), as in a DMDA.
struct Grid {
  Comm             comm;
  int              nx = 0, ny = 0;
  bool             periodic_x = false, periodic_y = false; // of even size in that direction
  std::vector<int> xsplit, ysplit;
  int              rank = 0;
  int              layers = 1; // of ghost cells that fields have room for: one is a quarter index, two nodes

  int  processes_x() const { return (int)xsplit.size() - 1; }
  int  processes() const { return processes_x() * ((int)ysplit.size() - 1); }
  Box  box(int r) const
  {
    const int px = r % processes_x(), py = r / processes_x();
    return {xsplit[px], xsplit[px + 1], ysplit[py], ysplit[py + 1]};
  }
  Box       owned() const { return box(rank); }
  Box       owned(int q) const { return quarter_box(owned(), q); }
  ptrdiff_t size() const { return (ptrdiff_t)nx * ny; }
  Box       cells() const // the quarter indices of all own nodes
  {
    const Box o = owned(quarter_o), c = owned(quarter_c);
    return {c.x0, o.x1 > c.x1 ? o.x1 : c.x1, c.y0, o.y1 > c.y1 ? o.y1 : c.y1};
  }

  // The nodes that a process keeps: whole quarter indices, one layer (or several) and more around the owned ones.
  static Box ghosted(const Box &own, int layers = 1)
  {
    const int n = 2 * layers;
    return {2 * floor_half(own.x0) - n, 2 * floor_half(own.x1) + n + 1, 2 * floor_half(own.y0) - n,
            2 * floor_half(own.y1) + n + 1};
  }
  // The nodes of this grid among the own ones and so many layers of ghost ones; 0: the own ones. A process without
  // nodes may have some on the finer grid, which need those around.
  Box around(int count) const { return count ? intersect(ghosted(owned(), count), {0, nx, 0, ny}) : owned(); }

  Grid coarse() const; // the grid of the c nodes
  Grid local() const;  // the whole grid on this process alone
};

// Element (X, Y) of quarter q is q[q][X * sx + Y * sy].
template <class T> struct View {
  T        *q[4] = {nullptr, nullptr, nullptr, nullptr};
  ptrdiff_t sx = 1, sy = 0;
  HD T     &at(int x, int y) const { return q[(x & 1) + 2 * (y & 1)][floor_half(x) * sx + floor_half(y) * sy]; }
};

// View of an array in natural order (x fastest, row length ld) whose first element is node (x0, y0).
template <class T> HD View<T> natural_view(T *p, int x0, int y0, ptrdiff_t ld)
{
  View<T> v;
  for (int q = 0; q < 4; ++q) v.q[q] = p + (q & 1) - x0 + ((q >> 1) - y0) * ld;
  v.sx = 2;
  v.sy = 2 * ld;
  return v;
}

// The array in natural order that a plane (one quarter) of a view is: nodes of the coarse grid at element (X, Y).
template <class T> HD View<T> plane_view(T *plane, ptrdiff_t sx, ptrdiff_t sy)
{
  View<T> v;
  for (int q = 0; q < 4; ++q) v.q[q] = plane + (q & 1) * sx + (q >> 1) * sy;
  v.sx = 2 * sx;
  v.sy = 2 * sy;
  return v;
}

// Places of the values of one grid in memory: r1/r2/b1/b2 planes, one after the other, every access of unit stride
// (ETNA section 3.1), or the grid's natural order. Padded by a layer (or several, Grid::layers) on each side so that
// no kernel tests for the boundary.
struct Layout {
  int       x0 = 0, y0 = 0, m = 0, n = 0; // quarter indices x0 .. x0+m+1, y0 .. y0+n+1 are stored
  int       layers = 1, first = 7;        // of padding; place of the first element of a quarter
  ptrdiff_t ld = 0, plane = 0;            // row length and elements of a quarter
  bool      natural = false;
  Space     space   = Space::host;

  Layout() = default;
  Layout(const Grid &grid, bool natural_order, Space space = Space::host);
  bool operator!=(const Layout &o) const
  {
    return x0 != o.x0 || y0 != o.y0 || m != o.m || n != o.n || layers != o.layers || natural != o.natural ||
           space != o.space;
  }
  // The same places in memory of the host, which has a layout of its own for small grids.
  Layout on_host() const
  {
    Layout l = *this;
    l.space  = Space::host;
    return l;
  }
  // Elements that a field on the first `quarters` quarters takes; the natural order has room for all four.
  Extent elements(int quarters) const { return {(size_t)plane * (natural ? 4 : quarters), space}; }
  // The indices where o, the first kept and the first eliminated nodes, are computed: owned and one ghost layer.
  Box compute() const { return {x0 + layers, x0 + m + 2 - layers, y0 + layers, y0 + n + 2 - layers}; }
  Box whole() const { return {x0, x0 + m + 2, y0, y0 + n + 2}; } // all that are stored
  // A view of an array of elements(...) values. Quarter `start` lies at the array's start.
  template <class T> HD View<T> view(T *p, int start = 0) const
  {
    if (natural) return natural_view(p + 8, 2 * x0, 2 * y0, 2 * ld);
    View<T> v;
    for (int q = start; q < 4; ++q) v.q[q] = p + (q - start) * plane + first - x0 - y0 * ld;
    v.sx = 1;
    v.sy = ld;
    return v;
  }
};

} // namespace tessera
