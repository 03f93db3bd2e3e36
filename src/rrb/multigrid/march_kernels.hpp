// The sweeps by points, residual and transfer of one grid as one kernel down and one up (box/warp.hpp says how). Each
// phase works one or more rows behind the one before it, so at every row all phases are independent of each other but
// for registers. On small 9-point grids a march would mostly wait for what it has just asked for; there a warp takes
// one row, beside those of its neighbours. Here is what both kinds of grids share, and S1; march_nine_kernels.hpp has
// the 9-point grids.
//
// Bytes in single precision: S1, per node of its grid: down 10 coefficients of a quarter each (10), 4 weights (4), r
// (2) and written x (2) and the next right-hand side (1), 19 in all; up 10 + 4 + 2 + 2 + 1 read, 2 written, 21. Next
// grids: down 5 coefficients (20), 9 weights of quarters (9), b (4), x (4) and the next right-hand side (1), 38; up
// 20 + 9 + 4 + 4 + 1 read, 4 written, 42. More sweeps on S1, for jumps of its coefficients, are a kernel each: 10 +
// 2 + 2 read, 2 written, 16 (in place would take a value from a strip that is ahead), and after those down one for each
// half of residual and restriction.
#pragma once
#include "rrb/multigrid/kernels.hpp"
#include "rrb/multigrid/march.hpp"

#if defined(TESSERA_HAVE_DEVICE)

namespace tessera::rrb {

namespace {

//--- S1: two cells a lane, as its colours go by X + Y -----------------------------------------------------------------

// Columns that the sweeps reach on each side. Even, as lanes hold pairs.
constexpr int reach_s1 = 4, reach_nine = 2, columns_s1 = 2 * lanes - 2 * reach_s1,
              columns_nine = lanes - 2 * reach_nine;

// On several processes nothing but right-hand sides is exchanged, before the sweeps down: ghost nodes are worked on
// as their owners do, so that all that the sweeps up need is there. Layers of ghost cells in which results are right,
// from the last ones back:
//   CG needs z one layer around. S1 up then reads the next grid's x up to 5 nodes around (3 of its layers) and x of S1
//   down in 4 layers, which takes the right-hand side in 6. x of the next grid in 3 layers takes x of its way down in 5
//   and the same 3 layers of the grid after it, and the right-hand side in 6.
constexpr int up_layers_s1 = 1, down_layers_s1 = 4, up_layers_nine = march_layers_x, down_layers_nine = 5;

// Is row y in a chunk and in the box?
template <class B> MARCH bool among(int y, int y0, int y1, const B &box)
{
  return y >= y0 && y < y1 && has_row(box, y);
}

template <bool MANY, class T> struct S1Fields { // MANY: several processes
  using Nodes = std::conditional_t<MANY, Box, Until>;
  const T  *io, *ic, *e[4], *fo[2], *fc[2], *w[4], *ro, *rc;
  const T  *xo, *xc; // what the sweeps before have left; not the same as z, as strips overlap
  T        *zo, *zc;
  ptrdiff_t sy;
  View<T>   next; // b or x of the next grid
  Nodes     o, c;          // where z is stored: own nodes and layers of ghost ones
  Box       inner_o, inner_c; // the own ones
  Box       whole, stored; // elements of a field; nodes of the next grid's
  MARCH const Nodes &own_o() const // where the sum is taken,
  {
    if constexpr (MANY) return inner_o;
    else return o;
  }
  MARCH const Nodes &own_c() const // and the next right-hand side is
  {
    if constexpr (MANY) return inner_c;
    else return c;
  }
  MARCH ptrdiff_t at(int y) const { return clamp(y, whole.y0, whole.y1 - 1) * sy; } // row y
};

template <int PARITY, int COLOUR, int DELAY> constexpr int active = (PARITY + COLOUR + DELAY) & 1;

template <int K, class C> MARCH void age(C (&a)[K])
{
  for (int d = K - 1; d > 0; --d) a[d] = a[d - 1];
}

// Gauss-Seidel D rows back at the nodes of a colour, whose neighbours in the same quarter have the other colour. b: the
// right-hand side; x, y: couplings with the next node and with the next row; i: the inverse diagonal.
template <int D, class C, int B, int X, int Y, int Z, int I>
MARCH C relaxed(Warp w, const C (&b)[B], const C (&x)[X], const C (&y)[Y], const C (&z)[Z], const C (&i)[I])
{
  return (b[D] - x[D] * east(w, z[D]) - west(w, x[D] * z[D]) - y[D] * z[D - 1] - y[D + 1] * z[D + 1]) * i[D];
}
// What the four diagonal neighbours at c leave of the right-hand side b at o.
template <int D, class C, int E, int Z>
MARCH C residual_o(Warp w, const C &b, const C (&e0)[E], const C (&e1)[E], const C (&e2)[E], const C (&e3)[E],
                   const C (&z)[Z])
{
  return b - e3[D] * z[D] - e2[D] * west(w, z[D]) - e1[D] * z[D + 1] - e0[D] * west(w, z[D + 1]);
}

// The rows of a chunk, and so many before and behind it as the phases need.
template <class Kernel>
MARCH void march_s1(const Kernel &kernel, const Strip<2> &s, typename Kernel::State &k, const March &m, int chunk,
                    int behind)
{
  using Row    = typename Kernel::Row;
  const int y0 = m.first(chunk), y1 = m.end(chunk); // y0 is even
  for_row_pairs(
    kernel, s, y0 - 4, y1 + behind, [&](const Row &in, int y) { kernel.template row<0>(s, k, in, y, y0, y1); },
    [&](const Row &in, int y) { kernel.template row<1>(s, k, in, y, y0, y1); });
}

template <bool MANY, class T> struct S1Down {
  S1Fields<MANY, T> f;
  using C = Cells<2, T>;
  static constexpr int blocks = sizeof(T) == 8 ? 2 : 3;
  struct Row {
    C rc, ic, fcx, fcy, e0, e1, e2, e3, io, ro, fox, foy, w0, w1, w2, w3;
  };
  struct State {
    C rc[2], ic[2], fcx[3], fcy[4], zc[4], e0[3], e1[3], e2[3], e3[3], so[3], io[3], zo[5], fox[4], foy[5];
    C t_part, u, r_c, part;
  };
  template <class A> MARCH void read(A &get, Row &k, int y) const
  {
    const ptrdiff_t r0 = f.at(y), r1 = f.at(y - 1), r2 = f.at(y - 2), r3 = f.at(y - 3);
    get(k.rc, f.rc + r0), get(k.ic, f.ic + r0), get(k.fcx, f.fc[0] + r0), get(k.fcy, f.fc[1] + r0);
    get(k.e0, f.e[0] + r1), get(k.e1, f.e[1] + r1), get(k.e2, f.e[2] + r1), get(k.e3, f.e[3] + r1),
      get(k.io, f.io + r1), get(k.ro, f.ro + r1);
    get(k.fox, f.fo[0] + r2), get(k.foy, f.fo[1] + r2);
    get(k.w0, f.w[0] + r3), get(k.w1, f.w[1] + r3), get(k.w2, f.w[2] + r3), get(k.w3, f.w[3] + r3);
  }
  template <int P> MARCH void row(const Strip<2> &s, State &k, const Row &in, int y, int y0, int y1) const
  {
    const Warp w = s.w;
    age(k.rc), age(k.ic), age(k.fcx), age(k.fcy), age(k.zc), age(k.e0), age(k.e1), age(k.e2), age(k.e3), age(k.so),
      age(k.io), age(k.zo), age(k.fox), age(k.foy);
    k.rc[0] = in.rc, k.ic[0] = in.ic, k.fcx[0] = in.fcx, k.fcy[0] = in.fcy;
    k.e0[1] = in.e0, k.e1[1] = in.e1, k.e2[1] = in.e2, k.e3[1] = in.e3, k.io[1] = in.io;
    k.fox[2] = in.fox, k.foy[2] = in.foy;
    // c, even X + Y, then odd one row behind
    k.zc[0]      = choose<active<P, 0, 0>>(k.rc[0] * k.ic[0], C());
    const C c1 = relaxed<1>(w, k.rc, k.fcx, k.fcy, k.zc, k.ic);
    k.zc[1]      = choose<active<P, 1, 1>>(c1, k.zc[1]);
    // what that leaves at the even ones
    const C left = choose<active<P, 0, 2>>(
      k.fcx[2] * east(w, k.zc[2]) + west(w, k.fcx[2] * k.zc[2]) + k.fcy[2] * k.zc[1] + k.fcy[3] * k.zc[3], C());
    // o
    k.so[1] = residual_o<1>(w, in.ro, k.e0, k.e1, k.e2, k.e3, k.zc);
    k.zo[1]      = choose<active<P, 0, 1>>(k.so[1] * k.io[1], C());
    const C o1 = relaxed<2>(w, k.so, k.fox, k.foy, k.zo, k.io);
    k.zo[2]      = choose<active<P, 1, 2>>(o1, k.zo[2]);
    // its share in the residual at c, rows y - 3 and y - 2
    const C part  = k.t_part + k.e1[2] * k.zo[2] + east(w, k.e0[2] * k.zo[2]);
    k.t_part      = k.e3[2] * k.zo[2] + east(w, k.e2[2] * k.zo[2]);
    // the residual at o, row y - 3, and the next right-hand side, row y - 4
    const C res = choose<active<P, 0, 3>>(
      -(k.fox[3] * east(w, k.zo[3]) + west(w, k.fox[3] * k.zo[3]) + k.foy[3] * k.zo[2] + k.foy[4] * k.zo[4]), C());
    const C next  = k.r_c + k.part + in.w1 * res + east(w, in.w0 * res);
    k.part        = in.w3 * res + east(w, in.w2 * res);
    k.r_c         = -(k.u + part);
    k.u           = left;
    if (among(y - 1, y0, y1, f.c)) s.store(f.zc + (y - 1) * f.sy, k.zc[1], f.c);
    if (among(y - 2, y0, y1, f.o)) s.store(f.zo + (y - 2) * f.sy, k.zo[2], f.o);
    if (among(y - 4, y0, y1, f.own_c())) s.store_nodes(f.next, y - 4, next, f.own_c());
  }
  MARCH double operator()(Warp w, const March &m, int strip, int chunk) const
  {
    const Strip<2> s = m.template strip<2>(w, strip, reach_s1, f.whole);
    State          k;
    march_s1(*this, s, k, m, chunk, 4);
    return 0;
  }
};

// A sweep from x on, in the order of the way down.
template <bool MANY, class T> struct S1Forth {
  S1Fields<MANY, T> f;
  using C = Cells<2, T>;
  static constexpr int blocks = sizeof(T) == 8 ? 2 : 3;
  struct State {
    C zc[4], zo[5], sc[3], so[4], e0[3], e1[3], e2[3], e3[3], fcx[3], fcy[4], ic[3], fox[4], foy[5], io[4];
    C o_part;
  };
  struct Row {
    C xc, xo, e0, e1, e2, e3, rc, fcx, fcy, ic, ro, fox, foy, io;
  };
  template <class A> MARCH void read(A &get, Row &k, int y) const
  {
    const ptrdiff_t r0 = f.at(y), r1 = f.at(y - 1), r2 = f.at(y - 2);
    get(k.xc, f.xc + r0), get(k.xo, f.xo + r0);
    get(k.e0, f.e[0] + r0), get(k.e1, f.e[1] + r0), get(k.e2, f.e[2] + r0), get(k.e3, f.e[3] + r0);
    get(k.rc, f.rc + r1), get(k.fcx, f.fc[0] + r1), get(k.fcy, f.fc[1] + r1), get(k.ic, f.ic + r1);
    get(k.ro, f.ro + r2), get(k.fox, f.fo[0] + r2), get(k.foy, f.fo[1] + r2), get(k.io, f.io + r2);
  }
  template <int P> MARCH void row(const Strip<2> &s, State &k, const Row &in, int y, int y0, int y1) const
  {
    const Warp w = s.w;
    age(k.zc), age(k.zo), age(k.sc), age(k.so), age(k.e0), age(k.e1), age(k.e2), age(k.e3), age(k.fcx), age(k.fcy),
      age(k.ic), age(k.fox), age(k.foy), age(k.io);
    k.zc[0] = in.xc, k.zo[0] = in.xo;
    k.e0[0] = in.e0, k.e1[0] = in.e1, k.e2[0] = in.e2, k.e3[0] = in.e3;
    k.fcx[1] = in.fcx, k.fcy[1] = in.fcy, k.ic[1] = in.ic;
    k.fox[2] = in.fox, k.foy[2] = in.foy, k.io[2] = in.io;
    // c, even X + Y, then odd one row behind
    k.sc[1]    = in.rc - (k.o_part + k.e1[0] * k.zo[0] + east(w, k.e0[0] * k.zo[0]));
    k.o_part   = k.e3[0] * k.zo[0] + east(w, k.e2[0] * k.zo[0]);
    const C c0 = relaxed<1>(w, k.sc, k.fcx, k.fcy, k.zc, k.ic);
    k.zc[1]    = choose<active<P, 0, 1>>(c0, k.zc[1]);
    const C c1 = relaxed<2>(w, k.sc, k.fcx, k.fcy, k.zc, k.ic);
    k.zc[2]    = choose<active<P, 1, 2>>(c1, k.zc[2]);
    // o
    k.so[2] = residual_o<2>(w, in.ro, k.e0, k.e1, k.e2, k.e3, k.zc);
    const C o0 = relaxed<2>(w, k.so, k.fox, k.foy, k.zo, k.io);
    k.zo[2]    = choose<active<P, 0, 2>>(o0, k.zo[2]);
    const C o1 = relaxed<3>(w, k.so, k.fox, k.foy, k.zo, k.io);
    k.zo[3]    = choose<active<P, 1, 3>>(o1, k.zo[3]);
    if (among(y - 2, y0, y1, f.c)) s.store(f.zc + (y - 2) * f.sy, k.zc[2], f.c);
    if (among(y - 3, y0, y1, f.o)) s.store(f.zo + (y - 3) * f.sy, k.zo[3], f.o);
  }
  MARCH double operator()(Warp w, const March &m, int strip, int chunk) const
  {
    const Strip<2> s = m.template strip<2>(w, strip, reach_s1, f.whole);
    State          k;
    march_s1(*this, s, k, m, chunk, 3);
    return 0;
  }
};

// A sweep in the order of the way up; CORRECT: the correction before it.
template <bool CORRECT, bool MANY, class T> struct S1Up {
  S1Fields<MANY, T> f;
  double           *result; // b'x
  using C = Cells<2, T>;
  static constexpr int blocks = sizeof(T) == 8 ? 2 : 3;
  struct State {
    C ec[2], zc[6], zo[4], so[3], e0[3], e1[3], e2[3], e3[3], fox[3], foy[4], io[3], fcx[5], fcy[6], sc[5], ic[5],
      ro[3], rc[5];
    C                t_part;
    Cells<2, double> dot_o, dot_c; // b'x of a lane, whose terms a float need not hold
  };
  struct Row {
    C ec, xc, xo, w0, w1, w2, w3, ro, e0, e1, e2, e3, fox, foy, io, fcx, fcy, ic, rc;
  };
  template <class A> MARCH void read(A &get, Row &k, int y) const
  {
    const ptrdiff_t r0 = f.at(y), r1 = f.at(y - 1), r3 = f.at(y - 3);
    if constexpr (CORRECT) {
      get.nodes(k.ec, f.next, y, f.stored);
      get(k.w0, f.w[0] + r0), get(k.w1, f.w[1] + r0), get(k.w2, f.w[2] + r0), get(k.w3, f.w[3] + r0);
    }
    get(k.xc, f.xc + r0), get(k.xo, f.xo + r0), get(k.ro, f.ro + r0);
    get(k.e0, f.e[0] + r0), get(k.e1, f.e[1] + r0), get(k.e2, f.e[2] + r0), get(k.e3, f.e[3] + r0);
    get(k.fox, f.fo[0] + r1), get(k.foy, f.fo[1] + r1), get(k.io, f.io + r1);
    get(k.fcx, f.fc[0] + r3), get(k.fcy, f.fc[1] + r3), get(k.ic, f.ic + r3), get(k.rc, f.rc + r3);
  }
  template <int P> MARCH void row(const Strip<2> &s, State &k, const Row &in, int y, int y0, int y1) const
  {
    const Warp w = s.w;
    age(k.ec), age(k.zc), age(k.zo), age(k.so), age(k.e0), age(k.e1), age(k.e2), age(k.e3), age(k.fox), age(k.foy),
      age(k.io), age(k.fcx), age(k.fcy), age(k.sc), age(k.ic), age(k.ro), age(k.rc);
    k.ec[0] = in.ec, k.ro[0] = in.ro;
    k.e0[0] = in.e0, k.e1[0] = in.e1, k.e2[0] = in.e2, k.e3[0] = in.e3;
    k.fox[1] = in.fox, k.foy[1] = in.foy, k.io[1] = in.io;
    k.fcx[3] = in.fcx, k.fcy[3] = in.fcy, k.ic[3] = in.ic, k.rc[3] = in.rc;
    k.zc[0] = in.xc, k.zo[0] = in.xo;
    if constexpr (CORRECT) {
      k.zc[0] = k.zc[0] + k.ec[0];
      k.zo[0] = k.zo[0] + in.w3 * k.ec[0] + in.w2 * west(w, k.ec[0]) + in.w1 * k.ec[1] + in.w0 * west(w, k.ec[1]);
    }
    k.so[0] = residual_o<0>(w, k.ro[0], k.e0, k.e1, k.e2, k.e3, k.zc);
    // o, odd X + Y, then even one row behind
    const C o1 = relaxed<1>(w, k.so, k.fox, k.foy, k.zo, k.io);
    k.zo[1]    = choose<active<P, 1, 1>>(o1, k.zo[1]);
    const C o0 = relaxed<2>(w, k.so, k.fox, k.foy, k.zo, k.io);
    k.zo[2]    = choose<active<P, 0, 2>>(o0, k.zo[2]);
    // c
    k.sc[3]    = k.rc[3] - (k.t_part + k.e1[2] * k.zo[2] + east(w, k.e0[2] * k.zo[2]));
    k.t_part   = k.e3[2] * k.zo[2] + east(w, k.e2[2] * k.zo[2]);
    const C c1 = relaxed<3>(w, k.sc, k.fcx, k.fcy, k.zc, k.ic);
    k.zc[3]    = choose<active<P, 1, 3>>(c1, k.zc[3]);
    const C c0 = relaxed<4>(w, k.sc, k.fcx, k.fcy, k.zc, k.ic);
    k.zc[4]    = choose<active<P, 0, 4>>(c0, k.zc[4]);
    if (among(y - 2, y0, y1, f.o)) s.store(f.zo + (y - 2) * f.sy, k.zo[2], f.o);
    if (among(y - 4, y0, y1, f.c)) s.store(f.zc + (y - 4) * f.sy, k.zc[4], f.c);
    if (among(y - 2, y0, y1, f.own_o())) k.dot_o = k.dot_o + widen(k.zo[2]) * widen(k.ro[2]);
    if (among(y - 4, y0, y1, f.own_c())) k.dot_c = k.dot_c + widen(k.zc[4]) * widen(k.rc[4]);
  }
  MARCH double operator()(Warp w, const March &m, int strip, int chunk) const
  {
    const Strip<2> s = m.template strip<2>(w, strip, reach_s1, f.whole);
    State          k;
    march_s1(*this, s, k, m, chunk, 4);
    return s.sum(k.dot_o, f.own_o()) + s.sum(k.dot_c, f.own_c());
  }
  MARCH void finish(double dot) const { *result = dot; }
};

// Where results are stored, and where the next grid's values can be read.
Box nodes_of(const Level &g, int layers) { return g.grid.around(g.grid.processes() > 1 ? layers : 0); }
Box cells_of(const Box &nodes)
{
  return nodes.empty()
         ? Box()
         : Box{floor_half(nodes.x0), floor_half(nodes.x1 + 1), floor_half(nodes.y0), floor_half(nodes.y1 + 1)};
}
Box pairs_of(const Box &nodes) // of cells, and of rows
{
  Box b = cells_of(nodes);
  b.x0 &= ~1, b.y0 &= ~1;
  return b;
}
Box stored_nodes(const Level &next)
{
  const Box b = next.layout.whole();
  return {2 * b.x0, 2 * b.x1, 2 * b.y0, 2 * b.y1};
}

template <bool MANY, class T> S1Fields<MANY, T> s1_fields(Plan &plan, int l, const View<T> &b, const Box &nodes)
{
  Level             &g = plan.levels[(size_t)l];
  MultigridLevel<T>      &s = hierarchy<T>(plan)[(size_t)l];
  const SchurView<T> a = schur_view(g.layout, schur_of<T>(plan, l));
  const SchurHelp<T> h = schur_help(g, s);
  S1Fields<MANY, T>  f;
  f.io = h.d[0], f.ic = h.d[3];
  for (int k = 0; k < 4; ++k) f.e[k] = a.e[k], f.w[k] = h.w[k];
  for (int k = 0; k < 2; ++k) f.fo[k] = a.fo[k], f.fc[k] = a.fc[k];
  f.ro = b.q[0], f.rc = b.q[3];
  f.xo = f.xc = nullptr;
  f.zo = f.zc = nullptr;
  f.sy     = a.sy;
  const Box o = quarter_box(nodes, quarter_o), c = quarter_box(nodes, quarter_c);
  if constexpr (MANY) f.o = o, f.c = c;
  else f.o = {o.x1, o.y1}, f.c = {c.x1, c.y1};
  f.inner_o = g.grid.owned(quarter_o);
  f.inner_c = g.grid.owned(quarter_c);
  f.whole  = g.layout.whole();
  f.stored = stored_nodes(plan.levels[(size_t)l + 1]);
  return f;
}

} // namespace

} // namespace tessera::rrb

#endif
