// Kernels of operators and vectors that the cycle and the system of the black nodes share.
#pragma once
#include "box/chunks.hpp"
#include "rrb/three/hierarchy.hpp"
#include <algorithm>

namespace tessera::rrb::three {

// end(place, (A v) there). 14 coefficients of 27 points, 4 of 7, v once, and what `end` moves.
template <class T, int F, class End> struct Product27 {
  box::Symmetric3<T, F> s;
  const T              *v;
  End                   end;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    end(o + P * (ptrdiff_t)s.half, s.template product<P>(v, o));
  }
};

// v = (from ? d from : 0) - d (A v of the other colour)
template <class T, int F> struct Eliminate {
  box::Symmetric3<T, F> s;
  const T              *diagonal, *from;
  T                    *v;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    v[e] = diagonal[e] * ((from ? from[e] : 0) - s.template neighbours<P>(v, o));
  }
};

template <class T> struct Residual {
  const T *b;
  T       *r;
  HD T     operator()(ptrdiff_t e, T product) const { return r[e] = b[e] - product; }
};

// b_b - A_br D_r^-1 b_r
template <class T, int F> struct ReduceRight {
  box::Symmetric3<T, F> s;
  const T              *diagonal, *b;
  T                    *to;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    T               sum = b[e];
    s.template each<P>(o, [&](T a, ptrdiff_t q) { sum -= a * (diagonal[q] * b[q]); });
    to[e] = sum;
  }
};

HD inline ptrdiff_t natural_place(const Box3 &own, int i, int j, int k)
{
  const ptrdiff_t nx = own.hi[0] - own.lo[0], ny = own.hi[1] - own.lo[1];
  return (i - own.lo[0]) + nx * ((j - own.lo[1]) + ny * (k - own.lo[2]));
}

// Natural order, own nodes; what a Dirichlet row says goes to x.
template <class T> struct Load {
  const double  *from;
  Box3           own;
  const uint8_t *free;
  const T       *a; // the diagonal
  T             *b, *x;
  int            half;
  HD void node(int i, int j, int k, ptrdiff_t e) const
  {
    const ptrdiff_t p  = natural_place(own, i, j, k);
    const bool      in = !free || free[e];
    b[e]               = in ? (T)from[p] : 0;
    if (free) x[e] = in ? 0 : (T)(from[p] / (double)a[e]);
  }
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    node(2 * t + P, j, k, o + P * (ptrdiff_t)half);
  }
};
template <class T> struct Store {
  const T       *x, *a;
  Box3           own;
  const uint8_t *free;
  const double  *from;
  double        *to;
  int            half;
  HD void node(int i, int j, int k, ptrdiff_t e) const
  {
    const ptrdiff_t p = natural_place(own, i, j, k);
    to[p]             = !free || free[e] ? (double)x[e] : from[p] / (double)a[e];
  }
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    node(2 * t + P, j, k, o + P * (ptrdiff_t)half);
  }
};
// kernel.node(i, j, k, place), neighbouring threads at neighbouring nodes: natural order is what is read or written.
template <class Kernel> struct AlongRows {
  box::Layout3 layout;
  box::Rows    rows;
  Kernel       kernel;
  HD void      operator()(int i, int r) const
  {
    int j, k;
    rows.get(r, j, k);
    kernel.node(i, j, k, layout.at(i, j, k));
  }
};
template <class T, class Kernel> void for_natural(const Level<T> &l, const Kernel &kernel)
{
  const box::Rows rows = box::all_rows(l.own);
  if (l.own.empty()) return;
  if (chunk_of(l.exec) > 1) return box::for_nodes(l.exec, l.layout, l.own, kernel);
  forall(l.exec, {l.own.lo[0], l.own.hi[0], 0, rows.count()}, AlongRows<Kernel>{l.layout, rows, kernel});
}
// b -= A_ID x_D, and x_D = 0 for what follows: it takes no part.
template <class T> struct Subtract {
  const uint8_t *free;
  T             *b;
  HD T           operator()(ptrdiff_t e, T product) const { return b[e] = free[e] ? b[e] - product : 0; }
};

inline Box3 widened(const Box3 &own, bool more)
{
  Box3 b = own;
  for (int d = 0; d < 3 && more; ++d) --b.lo[d], ++b.hi[d];
  return b;
}

struct Total {
  double  sum = 0;
  HD void join(const Total &o) { sum += o.sum; }
};

// end(place, (S v) there) at the black nodes, S the Schur complement: tiles of half rows march through planes, and of
// each the red values are made from v where they are needed, in shared memory. Its operator is read once, v's red
// values are neither read nor written. 7 coefficients a black node, the inverse diagonal of a red one, v, and what
// `end` moves.
template <class T, class End> struct SchurTile {
  static constexpr int columns = 32, rows = 8, width = columns + 2, plane = width * (rows + 2), slots = 4;
  static constexpr int blocks = 4; // at a time, see AtATime
  box::Symmetric3<T, box::star_forward> s;
  const T     *v, *diagonal;
  End          end;
  box::Layout3 layout;
  Box3         own, reach; // reach: where red nodes have values
  int          across, deep; // tiles of rows, planes of a tile
  template <int P> HD T red_value(int t, int j, int k) const
  {
    const int i = 2 * t + P;
    if (i < reach.lo[0] || i >= reach.hi[0]) return 0;
    const ptrdiff_t o = layout.row(j, k) + t;
    return diagonal[o + P * (ptrdiff_t)s.half] * (0 - s.template neighbours<P>(v, o));
  }
  template <int P> HD T product(ptrdiff_t o, const T *here, const T *below, const T *above) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half, n = s.plane;
    const T         x = s.a[n + e] * here[P] + s.a[3 * n + e] * above[0], y = s.a[2 * n + e] * here[width];
    const T before = s.a[n + o + s.template place<P, -1>(0, 0)] * here[P - 1] + s.a[3 * n + e - s.sk] * below[0];
    return s.a[e] * v[e] + ((x + before) + (y + s.a[2 * n + e - s.sj] * here[-width]));
  }
  template <class Block> HD void set_red(Block &block, T *values, int j0, int k) const
  {
    const int t0 = block.tile.x0;
    T *const  to = values + (k & (slots - 1)) * plane;
    block.each(-1, columns + 1, -1, rows + 1, [&](int t, int r) {
      const int j = j0 + r;
      T         value = 0;
      if (j >= reach.lo[1] && j < reach.hi[1] && k >= reach.lo[2] && k < reach.hi[2])
        value = (j + k) & 1 ? red_value<1>(t0 + t, j, k) : red_value<0>(t0 + t, j, k);
      to[(r + 1) * width + t + 1] = value;
    });
  }
  template <class Block, class F> HD void run(Block &block, const F &f) const
  {
    T *const  values = (T *)block.shared;
    const int t0 = block.tile.x0, j0 = own.lo[1] + block.tile.y0 % across * rows,
              k0 = own.lo[2] + block.tile.y0 / across * deep, k1 = k0 + deep < own.hi[2] ? k0 + deep : own.hi[2];
    set_red(block, values, j0, k0 - 1);
    set_red(block, values, j0, k0);
    for (int k = k0; k < k1; ++k) {
      set_red(block, values, j0, k + 1);
      block.sync();
      block.each(0, columns, 0, rows, [&](int t, int r) {
        const int j = j0 + r, p = (j + k + 1) & 1, i = 2 * (t0 + t) + p;
        if (i < own.lo[0] || i >= own.hi[0] || j >= own.hi[1]) return;
        const ptrdiff_t o = layout.row(j, k) + t0 + t;
        const T *const  at   = values + (r + 1) * width + t + 1, *const below = at + ((k - 1) & (slots - 1)) * plane,
                *const here  = at + (k & (slots - 1)) * plane,
                *const above = at + ((k + 1) & (slots - 1)) * plane;
        f(o + p * (ptrdiff_t)s.half, p ? product<1>(o, here, below, above) : product<0>(o, here, below, above));
      });
    }
  }
  template <class Block> HD void operator()(Block &block) const
  {
    run(block, [&](ptrdiff_t e, T value) { end(e, value); });
  }
  template <class Block> HD void operator()(Block &block, Total &total) const
  {
    run(block, [&](ptrdiff_t e, T value) { total.sum += end(e, value); });
  }
};

// Does a level apply its Schur complement in tiles? On the host rows are longer than registers and caches hold them.
template <class T> bool in_tiles(const Level<T> &l) { return l.schur && chunk_of(l.exec) == 1; }

// SchurTile with `result` as forall_tiles() has it, if any.
template <class T, class U, class End, class... Result>
void schur_tiles(const Level<T> &l, const box::Symmetric3<U, box::star_forward> &s, const U *diagonal, const U *v,
                 const End &end, Result *...result)
{
  using Tile = SchurTile<U, End>;
  if (l.own.empty()) return;
  const Box  across{floor_half(l.own.lo[0]), floor_half(l.own.hi[0] + 1), 0, 1};
  const int  n[3] = {(across.x1 - across.x0 + Tile::columns - 1) / Tile::columns,
                     (l.own.hi[1] - l.own.lo[1] + Tile::rows - 1) / Tile::rows, l.own.hi[2] - l.own.lo[2]};
  const long all  = (long)n[0] * n[1] * n[2];
  // blocks enough for a device, of planes enough that few red values are made twice
  const int  deep = (int)std::min(std::max(all / 600, 4l), 16l);
  forall_tiles(l.exec, {across.x0, across.x1, 0, n[1] * ((n[2] + deep - 1) / deep)}, Tile::columns, 1,
               Tile::slots * Tile::plane * sizeof(U),
               Tile{s, v, diagonal, end, l.layout, l.own, widened(l.own, !l.halo.empty()), n[1], deep}, result...);
}

} // namespace tessera::rrb::three
