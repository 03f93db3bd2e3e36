// The sweeps by points, residual and transfer of one grid as one kernel down and one up (box/warp.hpp says how). Each
// phase works one or more rows behind the one before it, so at every row all phases are independent of each other but
// for registers. On small 9-point grids a march would mostly wait for what it has just asked for; there a warp takes
// one row, beside those of its neighbours.
//
// Bytes in single precision: S1, per node of its grid: down 10 coefficients of a quarter each (10), 4 weights (4), r
// (2) and written x (2) and the next right-hand side (1), 19 in all; up 10 + 4 + 2 + 2 + 1 read, 2 written, 21. Next
// grids: down 5 coefficients (20),
// 9 weights of quarters (9), b (4), x (4) and the next right-hand side (1), 38; up 20 + 9 + 4 + 4 + 1 read, 4
// written, 42. More sweeps on S1, for jumps of its coefficients, are a kernel each: 10 + 2 + 2 read, 2 written, 16
// (in place would take a value from a strip that is ahead), and after those down one for each half of residual and
// restriction.
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
    const C c1 =
      (k.rc[1] - k.fcx[1] * east(w, k.zc[1]) - west(w, k.fcx[1] * k.zc[1]) - k.fcy[1] * k.zc[0] - k.fcy[2] * k.zc[2]) *
      k.ic[1];
    k.zc[1]      = choose<active<P, 1, 1>>(c1, k.zc[1]);
    // what that leaves at the even ones
    const C left = choose<active<P, 0, 2>>(
      k.fcx[2] * east(w, k.zc[2]) + west(w, k.fcx[2] * k.zc[2]) + k.fcy[2] * k.zc[1] + k.fcy[3] * k.zc[3], C());
    // o
    k.so[1] = in.ro - k.e3[1] * k.zc[1] - k.e2[1] * west(w, k.zc[1]) - k.e1[1] * k.zc[2] - k.e0[1] * west(w, k.zc[2]);
    k.zo[1]      = choose<active<P, 0, 1>>(k.so[1] * k.io[1], C());
    const C o1 =
      (k.so[2] - k.fox[2] * east(w, k.zo[2]) - west(w, k.fox[2] * k.zo[2]) - k.foy[2] * k.zo[1] - k.foy[3] * k.zo[3]) *
      k.io[2];
    k.zo[2]      = choose<active<P, 1, 2>>(o1, k.zo[2]);
    // its share in the residual at c, rows y - 3 and y - 2
    const C share = k.t_part + k.e1[2] * k.zo[2] + east(w, k.e0[2] * k.zo[2]);
    k.t_part      = k.e3[2] * k.zo[2] + east(w, k.e2[2] * k.zo[2]);
    // the residual at o, row y - 3, and the next right-hand side, row y - 4
    const C res = choose<active<P, 0, 3>>(
      -(k.fox[3] * east(w, k.zo[3]) + west(w, k.fox[3] * k.zo[3]) + k.foy[3] * k.zo[2] + k.foy[4] * k.zo[4]), C());
    const C next  = k.r_c + k.part + in.w1 * res + east(w, in.w0 * res);
    k.part        = in.w3 * res + east(w, in.w2 * res);
    k.r_c         = -(k.u + share);
    k.u           = left;
    if (among(y - 1, y0, y1, f.c)) s.store(f.zc + (y - 1) * f.sy, k.zc[1], f.c);
    if (among(y - 2, y0, y1, f.o)) s.store(f.zo + (y - 2) * f.sy, k.zo[2], f.o);
    if (among(y - 4, y0, y1, f.own_c())) s.store_nodes(f.next, y - 4, next, f.own_c());
  }
  MARCH double operator()(Warp w, const March &m, int strip, int chunk) const
  {
    const Strip<2> s  = m.template strip<2>(w, strip, reach_s1, f.whole);
    const int      y0 = m.first(chunk), y1 = m.end(chunk); // y0 is even
    State          k;
    for_row_pairs(
      *this, s, y0 - 4, y1 + 4, [&](const Row &in, int y) { row<0>(s, k, in, y, y0, y1); },
      [&](const Row &in, int y) { row<1>(s, k, in, y, y0, y1); });
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
    const C c0 =
      (k.sc[1] - k.fcx[1] * east(w, k.zc[1]) - west(w, k.fcx[1] * k.zc[1]) - k.fcy[1] * k.zc[0] - k.fcy[2] * k.zc[2]) *
      k.ic[1];
    k.zc[1]    = choose<active<P, 0, 1>>(c0, k.zc[1]);
    const C c1 =
      (k.sc[2] - k.fcx[2] * east(w, k.zc[2]) - west(w, k.fcx[2] * k.zc[2]) - k.fcy[2] * k.zc[1] - k.fcy[3] * k.zc[3]) *
      k.ic[2];
    k.zc[2]    = choose<active<P, 1, 2>>(c1, k.zc[2]);
    // o
    k.so[2] = in.ro - k.e3[2] * k.zc[2] - k.e2[2] * west(w, k.zc[2]) - k.e1[2] * k.zc[3] - k.e0[2] * west(w, k.zc[3]);
    const C o0 =
      (k.so[2] - k.fox[2] * east(w, k.zo[2]) - west(w, k.fox[2] * k.zo[2]) - k.foy[2] * k.zo[1] - k.foy[3] * k.zo[3]) *
      k.io[2];
    k.zo[2]    = choose<active<P, 0, 2>>(o0, k.zo[2]);
    const C o1 =
      (k.so[3] - k.fox[3] * east(w, k.zo[3]) - west(w, k.fox[3] * k.zo[3]) - k.foy[3] * k.zo[2] - k.foy[4] * k.zo[4]) *
      k.io[3];
    k.zo[3]    = choose<active<P, 1, 3>>(o1, k.zo[3]);
    if (among(y - 2, y0, y1, f.c)) s.store(f.zc + (y - 2) * f.sy, k.zc[2], f.c);
    if (among(y - 3, y0, y1, f.o)) s.store(f.zo + (y - 3) * f.sy, k.zo[3], f.o);
  }
  MARCH double operator()(Warp w, const March &m, int strip, int chunk) const
  {
    const Strip<2> s  = m.template strip<2>(w, strip, reach_s1, f.whole);
    const int      y0 = m.first(chunk), y1 = m.end(chunk); // y0 is even
    State          k;
    for_row_pairs(
      *this, s, y0 - 4, y1 + 3, [&](const Row &in, int y) { row<0>(s, k, in, y, y0, y1); },
      [&](const Row &in, int y) { row<1>(s, k, in, y, y0, y1); });
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
    k.so[0] = k.ro[0] - k.e3[0] * k.zc[0] - k.e2[0] * west(w, k.zc[0]) - k.e1[0] * k.zc[1] - k.e0[0] * west(w, k.zc[1]);
    // o, odd X + Y, then even one row behind
    const C o1 =
      (k.so[1] - k.fox[1] * east(w, k.zo[1]) - west(w, k.fox[1] * k.zo[1]) - k.foy[1] * k.zo[0] - k.foy[2] * k.zo[2]) *
      k.io[1];
    k.zo[1]    = choose<active<P, 1, 1>>(o1, k.zo[1]);
    const C o0 =
      (k.so[2] - k.fox[2] * east(w, k.zo[2]) - west(w, k.fox[2] * k.zo[2]) - k.foy[2] * k.zo[1] - k.foy[3] * k.zo[3]) *
      k.io[2];
    k.zo[2]    = choose<active<P, 0, 2>>(o0, k.zo[2]);
    // c
    k.sc[3]    = k.rc[3] - (k.t_part + k.e1[2] * k.zo[2] + east(w, k.e0[2] * k.zo[2]));
    k.t_part   = k.e3[2] * k.zo[2] + east(w, k.e2[2] * k.zo[2]);
    const C c1 =
      (k.sc[3] - k.fcx[3] * east(w, k.zc[3]) - west(w, k.fcx[3] * k.zc[3]) - k.fcy[3] * k.zc[2] - k.fcy[4] * k.zc[4]) *
      k.ic[3];
    k.zc[3]    = choose<active<P, 1, 3>>(c1, k.zc[3]);
    const C c0 =
      (k.sc[4] - k.fcx[4] * east(w, k.zc[4]) - west(w, k.fcx[4] * k.zc[4]) - k.fcy[4] * k.zc[3] - k.fcy[5] * k.zc[5]) *
      k.ic[4];
    k.zc[4]    = choose<active<P, 0, 4>>(c0, k.zc[4]);
    if (among(y - 2, y0, y1, f.o)) s.store(f.zo + (y - 2) * f.sy, k.zo[2], f.o);
    if (among(y - 4, y0, y1, f.c)) s.store(f.zc + (y - 4) * f.sy, k.zc[4], f.c);
    if (among(y - 2, y0, y1, f.own_o())) k.dot_o = k.dot_o + widen(k.zo[2]) * widen(k.ro[2]);
    if (among(y - 4, y0, y1, f.own_c())) k.dot_c = k.dot_c + widen(k.zc[4]) * widen(k.rc[4]);
  }
  MARCH double operator()(Warp w, const March &m, int strip, int chunk) const
  {
    const Strip<2> s  = m.template strip<2>(w, strip, reach_s1, f.whole);
    const int      y0 = m.first(chunk), y1 = m.end(chunk); // y0 is even
    State          k;
    for_row_pairs(
      *this, s, y0 - 4, y1 + 4, [&](const Row &in, int y) { row<0>(s, k, in, y, y0, y1); },
      [&](const Row &in, int y) { row<1>(s, k, in, y, y0, y1); });
    return s.sum(k.dot_o, f.own_o()) + s.sum(k.dot_c, f.own_c());
  }
  MARCH void finish(double dot) const { *result = dot; }
};

//--- 9-point grids: one cell, four nodes, a lane ----------------------------------------------------------------------

template <class T> struct NineFields { // few pointers: a multiprocessor fetches them anew for every kernel
  // at o: right-hand side, inverse diagonal, couplings and weights; g, u: at a, v: at b
  const T  *b, *c, *e[4], *g[4], *w[4], *u[2], *v[2];
  const T  *inject;                            // c nodes that are over-relaxed
  T         relax[4];                          // beyond one
  const T  *x;                                 // up: from down
  T        *z;                                 // the result
  ptrdiff_t sy, plane;                         // rows and quarters lie so far apart
  View<T>   next; // b or x of the next grid
  Box       nodes, own_c;  // where z is stored: own nodes and layers of ghost ones; own c nodes
  Box       whole, stored; // elements of a field; nodes of the next grid's
  MARCH ptrdiff_t at(int y) const { return clamp(y, whole.y0, whole.y1 - 1) * sy; } // row y
  template <int Q> MARCH Cells<1, T> more(const Cells<1, T> &a) const
  {
    Cells<1, T> r;
    r.v[0] = Lanes<T>(relax[Q]) * a.v[0];
    return r;
  }
  MARCH void store(const Strip<1> &s, int q, int y, int y0, int y1, const Cells<1, T> &v) const
  {
    const Box box = quarter_box(nodes, q);
    if (among(y, y0, y1, box)) s.store(z + q * plane + y * sy, v, box);
  }
};

template <class T> struct NineDown {
  NineFields<T> f;
  using value = T;
  using C     = Cells<1, T>;
  static constexpr int blocks = 3, reach = reach_nine, exchanged = 14;
  struct Row {
    C b[4], c[4], eo[4], eb[4], ea[4], g[4], w[4], u[2], v[2], inject;
  };
  MARCH const Box &whole() const { return f.whole; }
  template <class A> MARCH void read(A &get, Row &k, int y) const
  {
    const ptrdiff_t r0 = f.at(y), r1 = f.at(y - 1), r2 = f.at(y - 2), n = f.plane;
    get.kept(k.inject, f.inject + r0);
    for (int q = 0; q < 4; ++q)
      get(k.b[q], f.b + q * n + (q % 3 ? r1 : r0)), get.kept(k.c[q], f.c + q * n + (q % 3 ? r1 : r0));
    for (int d = 0; d < 4; ++d)
      get.kept(k.eo[d], f.e[d] + r0), get.kept(k.eb[d], f.e[d] + 2 * n + r1), get.kept(k.ea[d], f.e[d] + n + r1),
        get.kept(k.g[d], f.g[d] + r1), get.kept(k.w[d], f.w[d] + r1);
    for (int d = 0; d < 2; ++d) get.kept(k.u[d], f.u[d] + r1), get.kept(k.v[d], f.v[d] + r2);
  }
  template <class B> MARCH void row(const Strip<1> &s, B &before, const Row &in, int y, int y0, int y1) const
  {
    const Warp w = s.w;
    const C   &ea0 = in.ea[0], &ea1 = in.ea[1], &ea2 = in.ea[2], &ea3 = in.ea[3], &g0 = in.g[0], &g1 = in.g[1],
            &g2 = in.g[2], &g3 = in.g[3];
    const C   &eb0 = in.eb[0], &eb1 = in.eb[1], &eb2 = in.eb[2], &eb3 = in.eb[3];
    // c and o at y, and what over-relaxation takes from their residuals
    const C more_c = f.template more<3>(in.inject * in.b[3]), c0 = (in.b[3] + more_c) * in.c[3];
    C       c1 = c0, eo0 = in.eo[0], eo1 = in.eo[1], eo2 = in.eo[2], eo3 = in.eo[3], over_c = more_c;
    before.template take<0>(c1, eo0, eo1, eo2, eo3, over_c);
    const C vo     = in.b[0] - in.eo[3] * c0 - in.eo[2] * west(w, c0) - in.eo[1] * c1 - in.eo[0] * west(w, c1),
            more_o = f.template more<0>(vo), o0 = (vo + more_o) * in.c[0];
    // b and a at y - 1
    C o1 = o0, c2 = c1, over_o = more_o;
    before.template take<6>(o1, c2, over_o);
    const C vb = in.b[2] - eb0 * west(w, c1) - eb1 * c1 - eb2 * o1 - eb3 * o0, over_b = f.template more<2>(vb),
            b1 = (vb + over_b) * in.c[2];
    C       b2 = b1, below = eb3 * b1;
    before.template take<9>(b2, below);
    const C va = in.b[1] - ea0 * o1 - ea1 * east(w, o1) - ea2 * c2 - ea3 * c1 - g0 * b2 - g1 * east(w, b2) - g2 * b1 -
                 g3 * east(w, b1),
            over_a = f.template more<1>(va), a1 = (va + over_a) * in.c[1];
    // what is left: at o and a of row y - 1, at b and c of row y - 2
    C b_part = g2 * a1 + west(w, g3 * a1) + over_b,
      c_part = eo3 * o1 + east(w, eo2 * o1) + eb1 * b1 + east(w, eb0 * b1) + ea3 * a1 + over_c;
    before.template take<11>(b_part, c_part);
    const C ro = -(ea0 * a1 + west(w, ea1 * a1) + eb2 * b1 + below + over_o);
    const C rb = -(b_part + g0 * a1 + west(w, g1 * a1));
    const C rc = -(c_part + eo1 * o1 + east(w, eo0 * o1) + ea2 * a1);
    C       part = in.w[3] * ro + east(w, in.w[2] * ro) - in.u[1] * over_a;
    before.template take<13>(part);
    const C next =
      rc + part + in.w[1] * ro + east(w, in.w[0] * ro) - in.u[0] * over_a + in.v[1] * rb + east(w, in.v[0] * rb);
    f.store(s, 3, y, y0, y1, c0), f.store(s, 0, y, y0, y1, o0), f.store(s, 2, y - 1, y0, y1, b1),
      f.store(s, 1, y - 1, y0, y1, a1);
    if (among(y - 2, y0, y1, f.own_c)) s.store_nodes(f.next, y - 2, next, f.own_c);
  }
  MARCH double operator()(Warp w, const March &m, int strip, int chunk) const
  {
    return march(*this, w, m, strip, chunk);
  }
};

template <class T> struct NineUp {
  NineFields<T> f;
  using value = T;
  using C     = Cells<1, T>;
  static constexpr int blocks = 3, reach = reach_nine, exchanged = 11;
  struct Row {
    C ec, x[4], b[4], c[4], eo[4], eb[4], ea[4], g[4], w[4], u[2], v[2], inject;
  };
  MARCH const Box &whole() const { return f.whole; }
  template <class A> MARCH void read(A &get, Row &k, int y) const
  {
    const ptrdiff_t r0 = f.at(y), r1 = f.at(y - 1), r2 = f.at(y - 2), n = f.plane, at[4] = {r1, r0, r1, r2};
    get.kept(k.inject, f.inject + r2);
    get.nodes(k.ec, f.next, y, f.stored);
    for (int q = 0; q < 4; ++q) get(k.x[q], f.x + q * n + r0);
    for (int q = 0; q < 4; ++q) get(k.b[q], f.b + q * n + at[q]), get.kept(k.c[q], f.c + q * n + at[q]);
    for (int d = 0; d < 4; ++d)
      get.kept(k.w[d], f.w[d] + r0), get.kept(k.ea[d], f.e[d] + n + r0), get.kept(k.g[d], f.g[d] + r0),
        get.kept(k.eb[d], f.e[d] + 2 * n + r1), get.kept(k.eo[d], f.e[d] + r1);
    for (int d = 0; d < 2; ++d) get.kept(k.u[d], f.u[d] + r0), get.kept(k.v[d], f.v[d] + r0);
  }
  template <class B> MARCH void row(const Strip<1> &s, B &before, const Row &in, int y, int y0, int y1) const
  {
    const Warp w = s.w;
    const C   &ea0 = in.ea[0], &ea1 = in.ea[1], &ea2 = in.ea[2], &ea3 = in.ea[3], &g0 = in.g[0], &g1 = in.g[1],
            &g2 = in.g[2], &g3 = in.g[3];
    const C &eb0 = in.eb[0], &eb1 = in.eb[1], &eb2 = in.eb[2], &eb3 = in.eb[3], &eo0 = in.eo[0], &eo1 = in.eo[1],
            &eo2 = in.eo[2], &eo3 = in.eo[3];
    // the correction at c, o, b, a of row y
    C e1 = in.ec;
    before.template take<0>(e1);
    const C c0 = in.x[3] + in.ec;
    const C o0 = in.x[0] + in.w[3] * in.ec + in.w[2] * west(w, in.ec) + in.w[1] * e1 + in.w[0] * west(w, e1);
    const C b0 = in.x[2] + in.v[0] * west(w, in.ec) + in.v[1] * in.ec;
    const C corrected = in.x[1] + in.u[0] * e1 + in.u[1] * in.ec;
    // a at y
    C c1 = c0, o1 = o0, b1 = b0;
    before.template take<1>(c1, o1, b1);
    const C va = (in.b[1] - ea0 * o0 - ea1 * east(w, o0) - ea2 * c1 - ea3 * c0 - g0 * b1 - g1 * east(w, b1) - g2 * b0 -
                  g3 * east(w, b0)) *
                 in.c[1],
            a0 = va + f.template more<1>(va - corrected);
    // b at y - 1, by the parts of a at y - 1
    C b_part = g2 * a0 + west(w, g3 * a0), o_part = ea0 * a0 + west(w, ea1 * a0), a_south = ea2 * a0,
      a_north = ea3 * a0, c2 = c1;
    before.template take<4>(b_part, o_part, a_south, a_north, c2);
    const C vb = (in.b[2] - eb0 * west(w, c1) - eb1 * c1 - eb2 * o1 - eb3 * o0 - b_part - g0 * a0 - west(w, g1 * a0)) *
                 in.c[2],
            b = vb + f.template more<2>(vb - b1);
    // o at y - 1
    C below = eb3 * b;
    before.template take<9>(below);
    const C vo = (in.b[0] - o_part - eb2 * b - below - eo3 * c1 - eo2 * west(w, c1) - eo1 * c2 - eo0 * west(w, c2)) *
                 in.c[0],
            o = vo + f.template more<0>(vo - o1);
    // c at y - 2, by the parts of o, b and a of row y - 2
    C c_part = eo3 * o + east(w, eo2 * o) + eb1 * b + east(w, eb0 * b) + a_north;
    before.template take<10>(c_part);
    const C vc = (in.b[3] - c_part - eo1 * o - east(w, eo0 * o) - a_south) * in.c[3],
            c  = vc + f.template more<3>(in.inject * (vc - c2));
    f.store(s, 1, y, y0, y1, a0), f.store(s, 2, y - 1, y0, y1, b), f.store(s, 0, y - 1, y0, y1, o),
      f.store(s, 3, y - 2, y0, y1, c);
  }
  MARCH double operator()(Warp w, const March &m, int strip, int chunk) const
  {
    return march(*this, w, m, strip, chunk);
  }
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

template <class T> NineFields<T> nine_fields(Plan &plan, int l, const View<T> &b, const Box &nodes)
{
  Level        &g = plan.levels[(size_t)l];
  MultigridLevel<T> &s = hierarchy<T>(plan)[(size_t)l];
  NineFields<T> f;
  const StencilView<T> A = s.a.view();
  const View<T>        inverse = g.layout.view(s.inverse.data());
  f.b = b.q[0], f.c = inverse.q[0];
  for (int d = 0; d < 4; ++d)
    f.e[d] = A.E[d].q[0], f.g[d] = A.G[d].q[1], f.w[d] = g.layout.view(s.centre[d].data()).q[0];
  for (int d = 0; d < 2; ++d)
    f.u[d] = g.layout.view(s.edge[d].data(), quarter_a).q[1], f.v[d] = g.layout.view(s.edge[d].data(), quarter_a).q[2];
  f.inject = g.layout.view(s.inject.data(), quarter_c).q[3];
  for (int q = 0; q < 4; ++q) f.relax[q] = (T)method<T>(plan).relaxation[q];
  f.x      = nullptr;
  f.z      = nullptr;
  f.sy     = A.C.sy;
  f.plane  = g.layout.plane;
  f.nodes  = nodes;
  f.own_c  = g.grid.owned(quarter_c);
  f.whole  = g.layout.whole();
  f.stored = stored_nodes(plan.levels[(size_t)l + 1]);
  return f;
}

} // namespace

} // namespace tessera::rrb

#endif
