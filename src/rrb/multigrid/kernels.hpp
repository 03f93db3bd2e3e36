// Kernels of the Galerkin form's cycle.
#pragma once
#include "rrb/multigrid/levels.hpp"
#include "box/nodes.hpp"

namespace tessera::rrb {

//--- S1 ---------------------------------------------------------------------------------------------------------------

// What is not zero yet: nothing, the node's own quarter, the other quarter.
enum Known { known_none = 0, known_own = 1, known_other = 2, known_all = 3 };

template <int S, class T, class V>
__attribute__((always_inline)) HD inline V schur_own_o(const SchurView<T> &a, const V *o, ptrdiff_t p)
{
  return a.fo[0][p] * o[p + S] + a.fo[0][p - S] * o[p - S] + a.fo[1][p] * o[p + a.sy] + a.fo[1][p - a.sy] * o[p - a.sy];
}
template <int S, class T, class V>
__attribute__((always_inline)) HD inline V schur_own_c(const SchurView<T> &a, const V *c, ptrdiff_t p)
{
  return a.fc[0][p] * c[p + S] + a.fc[0][p - S] * c[p - S] + a.fc[1][p] * c[p + a.sy] + a.fc[1][p - a.sy] * c[p - a.sy];
}
template <int S, class T, class V>
__attribute__((always_inline)) HD inline V schur_o_from_c(const SchurView<T> &a, const V *c, ptrdiff_t p)
{
  return a.e[0][p] * c[p - S - a.sy] + a.e[1][p] * c[p - a.sy] + a.e[2][p] * c[p - S] + a.e[3][p] * c[p];
}
template <int S, class T, class V>
__attribute__((always_inline)) HD inline V schur_c_from_o(const SchurView<T> &a, const V *o, ptrdiff_t p)
{
  return a.e[3][p] * o[p] + a.e[2][p + S] * o[p + S] + a.e[1][p + a.sy] * o[p + a.sy] +
         a.e[0][p + S + a.sy] * o[p + S + a.sy];
}

// One colour of quarter Q: the nodes with X + Y of one parity. The others are written as they are (zero where nothing
// of the quarter is known), which is faster than leaving them out.
template <int Q, int S, int KNOWN, class T, class V = T> struct SchurColour {
  SchurView<T> a;
  const T     *inverse;
  const V     *r, *other, *own;
  V           *out; // the same as own: a node's neighbours in it have the other colour, or lie beyond a periodic seam
  int          parity;
  HD void      operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * a.sy;
    V               v = r[p];
    if constexpr (KNOWN & known_own) v -= Q == quarter_o ? schur_own_o<S>(a, own, p) : schur_own_c<S>(a, own, p);
    if constexpr (KNOWN & known_other)
      v -= Q == quarter_o ? schur_o_from_c<S>(a, other, p) : schur_c_from_o<S>(a, other, p);
    const V old = KNOWN & known_own ? own[p] : V(0);
    out[p]      = ((X + Y) & 1) == parity ? inverse[p] * v : old;
  }
};

// Right-hand side of one quarter's own system.
template <int Q, int S, class T> struct SchurSide {
  SchurView<T> a;
  const T     *r, *other;
  T           *out;
  HD void      operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * a.sy;
    out[p]            = r[p] - (Q == quarter_o ? schur_o_from_c<S>(a, other, p) : schur_c_from_o<S>(a, other, p));
  }
};

template <int S, class T, class V = T> struct SchurResidualO {
  SchurView<T> a;
  const V     *r, *o, *c;
  V           *out;
  HD void      operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * a.sy;
    out[p]            = r[p] - a.co[p] * o[p] - schur_own_o<S>(a, o, p) - schur_o_from_c<S>(a, c, p);
  }
};

// The next grid's right-hand side; ro: the residual at o.
template <int S, class T, class V = T> struct SchurRestrict {
  SchurView<T> a;
  const V     *r, *o, *c, *ro;
  const T     *w[4];
  View<V>      next;
  HD V         whole(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * a.sy, n = a.sy;
    const V         v = r[p] - a.cc[p] * c[p] - schur_own_c<S>(a, c, p) - schur_c_from_o<S>(a, o, p);
    return v + w[3][p] * ro[p] + w[2][p + S] * ro[p + S] + w[1][p + n] * ro[p + n] + w[0][p + S + n] * ro[p + S + n];
  }
  template <class Block> HD void operator()(Block &block) const
  {
    const Box tile = block.tile;
    V        *row = (V *)block.shared - tile.x0;
    for (int J = tile.y0; J < tile.y1; ++J) {
      block.each(tile.x0, tile.x1, J, J + 1, [&](int X, int Y) { row[X] = whole(X, Y); });
      block.sync();
      store_row(block, tile, J, row, next);
      block.sync();
    }
  }
};

// The black nodes of a box by numbers: row by row, the o nodes of a row before its c nodes.
struct BlackNumbering {
  Box o, c;
  explicit BlackNumbering(const Box &nodes) : o(quarter_box(nodes, quarter_o)), c(quarter_box(nodes, quarter_c)) { }
  // in rows before Y
  HD static int before(const Box &b, int Y) { return (Y <= b.y0 ? 0 : (Y < b.y1 ? Y : b.y1) - b.y0) * (b.x1 - b.x0); }
  HD int        row(int Y) const { return before(o, Y) + before(c, Y); }
  HD int        size() const { return (int)(o.size() + c.size()); }
  HD int        operator()(int q, int X, int Y) const
  {
    return q ? before(o, Y + 1) + before(c, Y) + X - c.x0 : row(Y) + X - o.x0;
  }
};

// The residual at one quarter's nodes.
template <int Q, int S, class T> struct SchurResidual {
  SchurView<T> a;
  const T     *r, *o, *c;
  BlackNumbering at;
  double      *to;
  HD void      operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * a.sy;
    const T         v = Q == quarter_o ? r[p] - a.co[p] * o[p] - schur_own_o<S>(a, o, p) - schur_o_from_c<S>(a, c, p)
                                       : r[p] - a.cc[p] * c[p] - schur_own_c<S>(a, c, p) - schur_c_from_o<S>(a, o, p);
    to[at(Q, X, Y)] = (double)v;
  }
};

// z += P e, P by rows.
template <class T> struct AlgebraicProlong {
  const int    *pi, *pj;
  const double *p, *e;
  BlackNumbering at;
  int           q;
  T            *z;
  ptrdiff_t     sx, sy;
  HD void       operator()(int X, int Y) const
  {
    const int r = at(q, X, Y);
    double    s = 0;
    for (int k = pi[r]; k < pi[r + 1]; ++k) s += p[k] * e[pj[k]];
    z[X * sx + Y * sy] += (T)s;
  }
};

//--- 9-point grids ----------------------------------------------------------------------------------------------------

template <int S, class T, class V = T> struct Restrict {
  StencilView<T> A;
  View<V>        b, x, r;
  View<T>        edge[2], centre[4];
  View<V>        next;
  bool           with_a; // the residual at a is not zero
  HD V           value(int X, int Y) const { return value(X, Y, b.q[3][X * S + Y * A.C.sy]); }
  HD V           value(int X, int Y, V rhs) const
  {
    const ptrdiff_t p = X * S + Y * A.C.sy, n = A.C.sy;
    V               v = rhs - A.C.q[3][p] * x.q[3][p] - couplings<3, S, mask_all, lines_none>(A, x, p);
    v += centre[3].q[0][p] * r.q[0][p] + centre[2].q[0][p + S] * r.q[0][p + S] + centre[1].q[0][p + n] * r.q[0][p + n] +
         centre[0].q[0][p + S + n] * r.q[0][p + S + n];
    return v + edge[1].q[2][p] * r.q[2][p] + edge[0].q[2][p + S] * r.q[2][p + S];
  }
  HD V           from_a(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * A.C.sy, n = A.C.sy;
    return edge[1].q[1][p] * r.q[1][p] + edge[0].q[1][p + n] * r.q[1][p + n];
  }
  HD V           whole(int X, int Y) const { return with_a ? value(X, Y) + from_a(X, Y) : value(X, Y); }
  template <class Block> HD void operator()(Block &block) const
  {
    const Box tile = block.tile;
    V        *row = (V *)block.shared - tile.x0;
    for (int J = tile.y0; J < tile.y1; ++J) {
      block.each(tile.x0, tile.x1, J, J + 1, [&](int X, int Y) { row[X] = value(X, Y); });
      if (with_a) block.each(tile.x0, tile.x1, J, J + 1, [&](int X, int Y) { row[X] += from_a(X, Y); });
      block.sync();
      store_row(block, tile, J, row, next);
      block.sync();
    }
  }
};

// Either of these for several vectors, whose values need not be collected before they are stored.
template <class Kernel> struct RestrictNode {
  Kernel  kernel;
  HD void operator()(int X, int Y) const { kernel.next.at(X, Y) = kernel.whole(X, Y); }
};

// x += P e in quarter Q; e is a field of one quarter.
template <int Q, int S, class T, class V = T> struct Prolong {
  const V *e;
  const T *w[4]; // o: centre; a, b: edge
  V       *x;
  ptrdiff_t n;
  HD void  operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * n;
    if constexpr (Q == quarter_c) x[p] += e[p];
    else if constexpr (Q == quarter_o)
      x[p] += w[0][p] * e[p - S - n] + w[1][p] * e[p - n] + w[2][p] * e[p - S] + w[3][p] * e[p];
    else if constexpr (Q == quarter_a) x[p] += w[0][p] * e[p - n] + w[1][p] * e[p];
    else x[p] += w[0][p] * e[p - S] + w[1][p] * e[p];
  }
};

} // namespace tessera::rrb
