// The sweeps by points, residual and transfer of one grid as one kernel down and one up (core/warp.hpp says how). Each phase works
// one or more rows behind the one before it, so at every row all phases are independent of each other but for registers.
//
// Bytes in single precision: S1, per node of its grid: down 10 coefficients of a quarter each (10), 4 weights (4), r (2) and written
// x (2) and the next right-hand side (1), 19 in all; up 10 + 4 + 2 + 2 + 1 read, 2 written, 21. Next grids: down 5 coefficients (20),
// 6 weights of quarters (6), b (4), x (3) and the next right-hand side (1), 34; up 20 + 8 + 4 + 3 + 1 read, 4 written, 40.
#include "rrb/rrb_march.hpp"

namespace tessera::rrb {

template <class T> bool marches(const Plan &plan, int l)
{
#ifdef TESSERA_HAVE_DEVICE
  const Level        &g = plan.levels[(size_t)l];
  const Smoothing<T> &s = hierarchy<T>(const_cast<Plan &>(plan))[(size_t)l];
  return plan.exec.space == Space::cuda && g.step == Step::coarsen && g.halo.empty() && s.smoother == Smoother::point && sweeps(plan, s.of_schur) == 1 && !g.layout.natural;
#else
  (void)plan, (void)l;
  return false;
#endif
}

#ifdef TESSERA_HAVE_DEVICE

namespace {

//--- S1: two cells a lane, as its colours go by X + Y -------------------------------------------------------------------

// Columns that the sweeps reach on each side. Even, as lanes hold pairs.
constexpr int reach_s1 = 4, reach_nine = 2, columns_s1 = 2 * lanes - 2 * reach_s1, columns_nine = lanes - 2 * reach_nine;

template <class T> struct S1Fields {
  const T  *io, *ic, *e[4], *fo[2], *fc[2], *w[4], *ro, *rc;
  const T  *xo, *xc; // up: what down has left; not the same as z, as strips overlap
  T        *zo, *zc;
  ptrdiff_t sy;
  View<T>   next; // b or x of the next grid
  Box       o, c, whole; // own nodes, and all that are stored
  MARCH ptrdiff_t at(int y) const { return clamp(y, whole.y0, whole.y1 - 1) * sy; } // row y
};

template <int PARITY, int COLOUR, int DELAY> constexpr int active = (PARITY + COLOUR + DELAY) & 1;

template <int K, class C> MARCH void age(C (&a)[K])
{
  for (int d = K - 1; d > 0; --d) a[d] = a[d - 1];
}

template <class T> struct S1Down {
  S1Fields<T> f;
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
    get(k.e0, f.e[0] + r1), get(k.e1, f.e[1] + r1), get(k.e2, f.e[2] + r1), get(k.e3, f.e[3] + r1), get(k.io, f.io + r1), get(k.ro, f.ro + r1);
    get(k.fox, f.fo[0] + r2), get(k.foy, f.fo[1] + r2);
    get(k.w0, f.w[0] + r3), get(k.w1, f.w[1] + r3), get(k.w2, f.w[2] + r3), get(k.w3, f.w[3] + r3);
  }
  template <int P> MARCH void row(const Strip<2> &s, State &k, const Row &in, int y, int y0, int y1) const
  {
    const Warp w = s.w;
    age(k.rc), age(k.ic), age(k.fcx), age(k.fcy), age(k.zc), age(k.e0), age(k.e1), age(k.e2), age(k.e3), age(k.so), age(k.io), age(k.zo), age(k.fox), age(k.foy);
    k.rc[0] = in.rc, k.ic[0] = in.ic, k.fcx[0] = in.fcx, k.fcy[0] = in.fcy;
    k.e0[1] = in.e0, k.e1[1] = in.e1, k.e2[1] = in.e2, k.e3[1] = in.e3, k.io[1] = in.io;
    k.fox[2] = in.fox, k.foy[2] = in.foy;
    // c, even X + Y, then odd one row behind
    k.zc[0]      = choose<active<P, 0, 0>>(k.rc[0] * k.ic[0], C());
    const C c1   = (k.rc[1] - k.fcx[1] * east(w, k.zc[1]) - west(w, k.fcx[1] * k.zc[1]) - k.fcy[1] * k.zc[0] - k.fcy[2] * k.zc[2]) * k.ic[1];
    k.zc[1]      = choose<active<P, 1, 1>>(c1, k.zc[1]);
    // what that leaves at the even ones
    const C left = choose<active<P, 0, 2>>(k.fcx[2] * east(w, k.zc[2]) + west(w, k.fcx[2] * k.zc[2]) + k.fcy[2] * k.zc[1] + k.fcy[3] * k.zc[3], C());
    // o
    k.so[1]      = in.ro - k.e3[1] * k.zc[1] - k.e2[1] * west(w, k.zc[1]) - k.e1[1] * k.zc[2] - k.e0[1] * west(w, k.zc[2]);
    k.zo[1]      = choose<active<P, 0, 1>>(k.so[1] * k.io[1], C());
    const C o1   = (k.so[2] - k.fox[2] * east(w, k.zo[2]) - west(w, k.fox[2] * k.zo[2]) - k.foy[2] * k.zo[1] - k.foy[3] * k.zo[3]) * k.io[2];
    k.zo[2]      = choose<active<P, 1, 2>>(o1, k.zo[2]);
    // its share in the residual at c, rows y - 3 and y - 2
    const C share = k.t_part + k.e1[2] * k.zo[2] + east(w, k.e0[2] * k.zo[2]);
    k.t_part      = k.e3[2] * k.zo[2] + east(w, k.e2[2] * k.zo[2]);
    // the residual at o, row y - 3, and the next right-hand side, row y - 4
    const C res   = choose<active<P, 0, 3>>(-(k.fox[3] * east(w, k.zo[3]) + west(w, k.fox[3] * k.zo[3]) + k.foy[3] * k.zo[2] + k.foy[4] * k.zo[4]), C());
    const C next  = k.r_c + k.part + in.w1 * res + east(w, in.w0 * res);
    k.part        = in.w3 * res + east(w, in.w2 * res);
    k.r_c         = -(k.u + share);
    k.u           = left;
    if (y - 1 >= y0 && y - 1 < y1 && y - 1 < f.c.y1) s.store(f.zc + (y - 1) * f.sy, k.zc[1], f.c.x1);
    if (y - 2 >= y0 && y - 2 < y1 && y - 2 < f.o.y1) s.store(f.zo + (y - 2) * f.sy, k.zo[2], f.o.x1);
    if (y - 4 >= y0 && y - 4 < y1 && y - 4 < f.c.y1) s.store_nodes(f.next, y - 4, next, f.c.x1);
  }
  MARCH double operator()(Warp w, const March &m, int strip, int chunk) const
  {
    const Strip<2> s  = m.template strip<2>(w, strip, reach_s1, f.whole);
    const int      y0 = m.first(chunk), y1 = m.end(chunk); // y0 is even
    State          k;
    for_row_pairs(*this, s, y0 - 4, y1 + 4, [&](const Row &in, int y) { row<0>(s, k, in, y, y0, y1); }, [&](const Row &in, int y) { row<1>(s, k, in, y, y0, y1); });
    return 0;
  }
};

template <class T> struct S1Up {
  S1Fields<T> f;
  double     *result; // b'x
  using C = Cells<2, T>;
  static constexpr int blocks = sizeof(T) == 8 ? 2 : 3;
  struct State {
    C ec[2], zc[6], zo[4], so[3], e0[3], e1[3], e2[3], e3[3], fox[3], foy[4], io[3], fcx[5], fcy[6], sc[5], ic[5], ro[3], rc[5];
    C t_part, dot_o, dot_c; // b'x of a lane: less than a hundred terms
  };
  struct Row {
    C ec, xc, xo, w0, w1, w2, w3, ro, e0, e1, e2, e3, fox, foy, io, fcx, fcy, ic, rc;
  };
  template <class A> MARCH void read(A &get, Row &k, int y) const
  {
    const ptrdiff_t r0 = f.at(y), r1 = f.at(y - 1), r3 = f.at(y - 3);
    get.nodes(k.ec, f.next, y, f.c);
    get(k.xc, f.xc + r0), get(k.xo, f.xo + r0), get(k.ro, f.ro + r0);
    get(k.w0, f.w[0] + r0), get(k.w1, f.w[1] + r0), get(k.w2, f.w[2] + r0), get(k.w3, f.w[3] + r0);
    get(k.e0, f.e[0] + r0), get(k.e1, f.e[1] + r0), get(k.e2, f.e[2] + r0), get(k.e3, f.e[3] + r0);
    get(k.fox, f.fo[0] + r1), get(k.foy, f.fo[1] + r1), get(k.io, f.io + r1);
    get(k.fcx, f.fc[0] + r3), get(k.fcy, f.fc[1] + r3), get(k.ic, f.ic + r3), get(k.rc, f.rc + r3);
  }
  template <int P> MARCH void row(const Strip<2> &s, State &k, const Row &in, int y, int y0, int y1) const
  {
    const Warp w = s.w;
    age(k.ec), age(k.zc), age(k.zo), age(k.so), age(k.e0), age(k.e1), age(k.e2), age(k.e3), age(k.fox), age(k.foy), age(k.io), age(k.fcx), age(k.fcy), age(k.sc), age(k.ic), age(k.ro), age(k.rc);
    k.ec[0] = in.ec, k.ro[0] = in.ro;
    k.e0[0] = in.e0, k.e1[0] = in.e1, k.e2[0] = in.e2, k.e3[0] = in.e3;
    k.fox[1] = in.fox, k.foy[1] = in.foy, k.io[1] = in.io;
    k.fcx[3] = in.fcx, k.fcy[3] = in.fcy, k.ic[3] = in.ic, k.rc[3] = in.rc;
    // the correction
    k.zc[0] = in.xc + k.ec[0];
    k.zo[0] = in.xo + in.w3 * k.ec[0] + in.w2 * west(w, k.ec[0]) + in.w1 * k.ec[1] + in.w0 * west(w, k.ec[1]);
    k.so[0] = k.ro[0] - k.e3[0] * k.zc[0] - k.e2[0] * west(w, k.zc[0]) - k.e1[0] * k.zc[1] - k.e0[0] * west(w, k.zc[1]);
    // o, odd X + Y, then even one row behind
    const C o1 = (k.so[1] - k.fox[1] * east(w, k.zo[1]) - west(w, k.fox[1] * k.zo[1]) - k.foy[1] * k.zo[0] - k.foy[2] * k.zo[2]) * k.io[1];
    k.zo[1]    = choose<active<P, 1, 1>>(o1, k.zo[1]);
    const C o0 = (k.so[2] - k.fox[2] * east(w, k.zo[2]) - west(w, k.fox[2] * k.zo[2]) - k.foy[2] * k.zo[1] - k.foy[3] * k.zo[3]) * k.io[2];
    k.zo[2]    = choose<active<P, 0, 2>>(o0, k.zo[2]);
    // c
    k.sc[3]    = k.rc[3] - (k.t_part + k.e1[2] * k.zo[2] + east(w, k.e0[2] * k.zo[2]));
    k.t_part   = k.e3[2] * k.zo[2] + east(w, k.e2[2] * k.zo[2]);
    const C c1 = (k.sc[3] - k.fcx[3] * east(w, k.zc[3]) - west(w, k.fcx[3] * k.zc[3]) - k.fcy[3] * k.zc[2] - k.fcy[4] * k.zc[4]) * k.ic[3];
    k.zc[3]    = choose<active<P, 1, 3>>(c1, k.zc[3]);
    const C c0 = (k.sc[4] - k.fcx[4] * east(w, k.zc[4]) - west(w, k.fcx[4] * k.zc[4]) - k.fcy[4] * k.zc[3] - k.fcy[5] * k.zc[5]) * k.ic[4];
    k.zc[4]    = choose<active<P, 0, 4>>(c0, k.zc[4]);
    if (y - 2 >= y0 && y - 2 < y1 && y - 2 < f.o.y1) {
      s.store(f.zo + (y - 2) * f.sy, k.zo[2], f.o.x1);
      k.dot_o = k.dot_o + k.zo[2] * k.ro[2];
    }
    if (y - 4 >= y0 && y - 4 < y1 && y - 4 < f.c.y1) {
      s.store(f.zc + (y - 4) * f.sy, k.zc[4], f.c.x1);
      k.dot_c = k.dot_c + k.zc[4] * k.rc[4];
    }
  }
  MARCH double operator()(Warp w, const March &m, int strip, int chunk) const
  {
    const Strip<2> s  = m.template strip<2>(w, strip, reach_s1, f.whole);
    const int      y0 = m.first(chunk), y1 = m.end(chunk); // y0 is even
    State          k;
    for_row_pairs(*this, s, y0 - 4, y1 + 4, [&](const Row &in, int y) { row<0>(s, k, in, y, y0, y1); }, [&](const Row &in, int y) { row<1>(s, k, in, y, y0, y1); });
    return s.sum(k.dot_o, f.o.x1) + s.sum(k.dot_c, f.c.x1);
  }
  MARCH void finish(double dot) const { *result = dot; }
};

//--- 9-point grids: one cell, four nodes, a lane ------------------------------------------------------------------------

template <class T> struct NineFields {
  const T  *b[4], *c[4], *eo[4], *ea[4], *eb[4], *g[4], *w[4], *v[2]; // right-hand side, inverse diagonals, couplings and weights of o, a, b
  const T  *x[4];                                                     // up: from down
  T        *z[4];                                                     // the result
  ptrdiff_t sy;
  View<T>   next; // b or x of the next grid
  Box       own[4], whole;
  MARCH ptrdiff_t at(int y) const { return clamp(y, whole.y0, whole.y1 - 1) * sy; } // row y
};

template <class T> struct NineDown {
  NineFields<T> f;
  using C = Cells<1, T>;
  static constexpr int blocks = 3;
  struct State {
    C zc[3], zo[3], eo[4][2], zb[3], below, b_part, c_part, next_part;
  };
  struct Row {
    C b[4], c[4], eo[4], eb[4], ea[4], g[4], w[4], v[2];
  };
  template <class A> MARCH void read(A &get, Row &k, int y) const
  {
    const ptrdiff_t r0 = f.at(y), r1 = f.at(y - 1), r2 = f.at(y - 2);
    for (int q = 0; q < 4; ++q) get(k.b[q], f.b[q] + (q % 3 ? r1 : r0)), get(k.c[q], f.c[q] + (q % 3 ? r1 : r0));
    for (int d = 0; d < 4; ++d) get(k.eo[d], f.eo[d] + r0), get(k.eb[d], f.eb[d] + r1), get(k.ea[d], f.ea[d] + r1), get(k.g[d], f.g[d] + r1), get(k.w[d], f.w[d] + r1);
    for (int d = 0; d < 2; ++d) get(k.v[d], f.v[d] + r2);
  }
  MARCH void row(const Strip<1> &s, State &k, const Row &in, int y, int y0, int y1) const
  {
    const Warp w = s.w;
    age(k.zc), age(k.zo), age(k.zb);
    for (int d = 0; d < 4; ++d) k.eo[d][1] = k.eo[d][0], k.eo[d][0] = in.eo[d];
    // c and o at y
    k.zc[0] = in.b[3] * in.c[3];
    k.zo[0] = (in.b[0] - k.eo[3][0] * k.zc[0] - k.eo[2][0] * west(w, k.zc[0]) - k.eo[1][0] * k.zc[1] - k.eo[0][0] * west(w, k.zc[1])) * in.c[0];
    // b and a at y - 1
    const C &eb0 = in.eb[0], &eb1 = in.eb[1], &eb2 = in.eb[2], &eb3 = in.eb[3];
    k.zb[1]     = (in.b[2] - eb0 * west(w, k.zc[1]) - eb1 * k.zc[1] - eb2 * k.zo[1] - eb3 * k.zo[0]) * in.c[2];
    const C &ea0 = in.ea[0], &ea1 = in.ea[1], &ea2 = in.ea[2], &ea3 = in.ea[3], &g0 = in.g[0], &g1 = in.g[1], &g2 = in.g[2], &g3 = in.g[3];
    const C za = (in.b[1] - ea0 * k.zo[1] - ea1 * east(w, k.zo[1]) - ea2 * k.zc[2] - ea3 * k.zc[1] - g0 * k.zb[2] - g1 * east(w, k.zb[2]) - g2 * k.zb[1] - g3 * east(w, k.zb[1])) * in.c[1];
    // what is left: at o of row y - 1, at b and c of row y - 2
    const C eo0 = k.eo[0][1], eo1 = k.eo[1][1], eo2 = k.eo[2][1], eo3 = k.eo[3][1], zo = k.zo[1], zb = k.zb[1];
    const C ro = -(ea0 * za + west(w, ea1 * za) + eb2 * zb + k.below);
    k.below    = eb3 * zb;
    const C rb = -(k.b_part + g0 * za + west(w, g1 * za));
    k.b_part   = g2 * za + west(w, g3 * za);
    const C rc = -(k.c_part + eo1 * zo + east(w, eo0 * zo) + ea2 * za);
    k.c_part   = eo3 * zo + east(w, eo2 * zo) + eb1 * zb + east(w, eb0 * zb) + ea3 * za;
    const C next = rc + k.next_part + in.w[1] * ro + east(w, in.w[0] * ro) + in.v[1] * rb + east(w, in.v[0] * rb);
    k.next_part  = in.w[3] * ro + east(w, in.w[2] * ro);
    auto put = [&](int q, int Y, const C &v) {
      if (Y >= y0 && Y < y1 && Y < f.own[q].y1) s.store(f.z[q] + Y * f.sy, v, f.own[q].x1);
    };
    put(3, y, k.zc[0]), put(0, y, k.zo[0]), put(2, y - 1, zb);
    if (y - 2 >= y0 && y - 2 < y1 && y - 2 < f.own[3].y1) s.store_nodes(f.next, y - 2, next, f.own[3].x1);
  }
  MARCH double operator()(Warp w, const March &m, int strip, int chunk) const
  {
    const Strip<1> s  = m.template strip<1>(w, strip, reach_nine, f.whole);
    const int      y0 = m.first(chunk), y1 = m.end(chunk);
    State          k;
    for_rows(*this, s, y0 - 2, y1 + 2, [&](const Row &in, int y) { row(s, k, in, y, y0, y1); });
    return 0;
  }
};

template <class T> struct NineUp {
  NineFields<T> f;
  using C = Cells<1, T>;
  static constexpr int blocks = 3;
  struct State {
    C ec[2], zc[3], zo[3], zb[3], sum_o, sum_b, sum_c, a_c, below, c_part;
  };
  struct Row {
    C ec, x[4], b[4], c[4], eo[4], eb[4], ea[4], g[4], w[4], v[2];
  };
  template <class A> MARCH void read(A &get, Row &k, int y) const
  {
    const ptrdiff_t r0 = f.at(y), r1 = f.at(y - 1), r2 = f.at(y - 2), at[4] = {r1, r0, r1, r2};
    get.nodes(k.ec, f.next, y, f.own[3]);
    for (int q : {0, 2, 3}) get(k.x[q], f.x[q] + r0);
    for (int q = 0; q < 4; ++q) get(k.b[q], f.b[q] + at[q]), get(k.c[q], f.c[q] + at[q]);
    for (int d = 0; d < 4; ++d) get(k.w[d], f.w[d] + r0), get(k.ea[d], f.ea[d] + r0), get(k.g[d], f.g[d] + r0), get(k.eb[d], f.eb[d] + r1), get(k.eo[d], f.eo[d] + r1);
    for (int d = 0; d < 2; ++d) get(k.v[d], f.v[d] + r0);
  }
  MARCH void row(const Strip<1> &s, State &k, const Row &in, int y, int y0, int y1) const
  {
    const Warp w = s.w;
    age(k.ec), age(k.zc), age(k.zo), age(k.zb);
    k.ec[0] = in.ec;
    // the correction at c, o, b of row y
    k.zc[0] = in.x[3] + k.ec[0];
    k.zo[0] = in.x[0] + in.w[3] * k.ec[0] + in.w[2] * west(w, k.ec[0]) + in.w[1] * k.ec[1] + in.w[0] * west(w, k.ec[1]);
    k.zb[0] = in.x[2] + in.v[0] * west(w, k.ec[0]) + in.v[1] * k.ec[0];
    // a at y
    const C &ea0 = in.ea[0], &ea1 = in.ea[1], &ea2 = in.ea[2], &ea3 = in.ea[3], &g0 = in.g[0], &g1 = in.g[1], &g2 = in.g[2], &g3 = in.g[3];
    const C za = (in.b[1] - ea0 * k.zo[0] - ea1 * east(w, k.zo[0]) - ea2 * k.zc[1] - ea3 * k.zc[0] - g0 * k.zb[1] - g1 * east(w, k.zb[1]) - g2 * k.zb[0] - g3 * east(w, k.zb[0])) * in.c[1];
    // b at y - 1; sum_b: the part of a at y - 1
    const C &eb0 = in.eb[0], &eb1 = in.eb[1], &eb2 = in.eb[2], &eb3 = in.eb[3];
    k.zb[1] = (in.b[2] - eb0 * west(w, k.zc[1]) - eb1 * k.zc[1] - eb2 * k.zo[1] - eb3 * k.zo[0] - k.sum_b - g0 * za - west(w, g1 * za)) * in.c[2];
    k.sum_b = g2 * za + west(w, g3 * za);
    // o at y - 1
    const C &eo0 = in.eo[0], &eo1 = in.eo[1], &eo2 = in.eo[2], &eo3 = in.eo[3];
    k.zo[1] = (in.b[0] - k.sum_o - eb2 * k.zb[1] - k.below - eo3 * k.zc[1] - eo2 * west(w, k.zc[1]) - eo1 * k.zc[2] - eo0 * west(w, k.zc[2])) * in.c[0];
    k.sum_o = ea0 * za + west(w, ea1 * za);
    k.below = eb3 * k.zb[1];
    // c at y - 2; c_part: o, b of row y - 2 and a of row y - 2; a of row y - 1 is in sum_c
    const C zc = (in.b[3] - k.c_part - eo1 * k.zo[1] - east(w, eo0 * k.zo[1]) - k.sum_c) * in.c[3];
    k.c_part = eo3 * k.zo[1] + east(w, eo2 * k.zo[1]) + eb1 * k.zb[1] + east(w, eb0 * k.zb[1]) + k.a_c;
    k.sum_c  = ea2 * za;
    k.a_c    = ea3 * za;
    k.zc[2]  = zc;
    auto put = [&](int q, int Y, const C &v) {
      if (Y >= y0 && Y < y1 && Y < f.own[q].y1) s.store(f.z[q] + Y * f.sy, v, f.own[q].x1);
    };
    put(1, y, za), put(2, y - 1, k.zb[1]), put(0, y - 1, k.zo[1]), put(3, y - 2, zc);
  }
  MARCH double operator()(Warp w, const March &m, int strip, int chunk) const
  {
    const Strip<1> s  = m.template strip<1>(w, strip, reach_nine, f.whole);
    const int      y0 = m.first(chunk), y1 = m.end(chunk);
    State          k;
    for_rows(*this, s, y0 - 2, y1 + 2, [&](const Row &in, int y) { row(s, k, in, y, y0, y1); });
    return 0;
  }
};

} // namespace

namespace {

template <class T> S1Fields<T> s1_fields(Plan &plan, int l, const View<T> &b)
{
  Level             &g = plan.levels[(size_t)l];
  Smoothing<T>      &s = hierarchy<T>(plan)[(size_t)l];
  const SchurView<T> a = schur_view(g.layout, schur_of<T>(plan, l));
  const SchurHelp<T> h = schur_help(g, s);
  S1Fields<T>        f;
  f.io = h.d[0], f.ic = h.d[3];
  for (int k = 0; k < 4; ++k) f.e[k] = a.e[k], f.w[k] = h.w[k];
  for (int k = 0; k < 2; ++k) f.fo[k] = a.fo[k], f.fc[k] = a.fc[k];
  f.ro = b.q[0], f.rc = b.q[3];
  f.xo = f.xc = nullptr;
  f.zo = f.zc = nullptr;
  f.sy    = a.sy;
  f.o     = g.grid.owned(quarter_o);
  f.c     = g.grid.owned(quarter_c);
  f.whole = g.layout.whole();
  return f;
}

template <class T> NineFields<T> nine_fields(Plan &plan, int l, const View<T> &b)
{
  Level        &g = plan.levels[(size_t)l];
  Smoothing<T> &s = hierarchy<T>(plan)[(size_t)l];
  NineFields<T> f;
  const StencilView<T> A = s.a.view();
  const View<T>        inverse = g.layout.view(s.inverse.data());
  for (int q = 0; q < 4; ++q) f.b[q] = b.q[q], f.c[q] = inverse.q[q], f.own[q] = g.grid.owned(q), f.x[q] = nullptr, f.z[q] = nullptr;
  for (int d = 0; d < 4; ++d) {
    f.eo[d] = A.E[d].q[0], f.ea[d] = A.E[d].q[1], f.eb[d] = A.E[d].q[2], f.g[d] = A.G[d].q[1];
    f.w[d] = g.layout.view(s.centre[d].data()).q[0];
  }
  for (int d = 0; d < 2; ++d) f.v[d] = g.layout.view(s.edge[d].data(), quarter_a).q[2];
  f.sy    = A.C.sy;
  f.whole = g.layout.whole();
  return f;
}

} // namespace

template <class T> void march_down(Plan &plan, int l, const View<T> &b)
{
  Smoothing<T> &s = hierarchy<T>(plan)[(size_t)l];
  const View<T> next = hierarchy<T>(plan)[(size_t)l + 1].b.v;
  const Box     cells = plan.levels[(size_t)l].grid.cells();
  if (s.of_schur) {
    S1Down<T> k{s1_fields(plan, l, b)};
    k.f.zo = s.swept.v.q[0], k.f.zc = s.swept.v.q[3];
    k.f.next = next;
    forall_warps(cells, columns_s1, k);
  } else {
    NineDown<T> k{nine_fields(plan, l, b)};
    for (int q = 0; q < 4; ++q) k.f.z[q] = s.r.v.q[q];
    k.f.next = next;
    forall_warps(cells, columns_nine, k);
  }
}

template <class T> void march_up(Plan &plan, int l, const View<T> &b, const View<T> &x, Reduction *reduction, double *dot)
{
  Smoothing<T> &s = hierarchy<T>(plan)[(size_t)l];
  const View<T> next = hierarchy<T>(plan)[(size_t)l + 1].x.v;
  const Box     cells = plan.levels[(size_t)l].grid.cells();
  if (s.of_schur) {
    S1Up<T> k{s1_fields(plan, l, b), dot};
    k.f.xo = s.swept.v.q[0], k.f.xc = s.swept.v.q[3];
    k.f.zo = x.q[0], k.f.zc = x.q[3];
    k.f.next = next;
    if (reduction) forall_warps(cells, columns_s1, k, *reduction);
    else forall_warps(cells, columns_s1, k);
  } else {
    NineUp<T> k{nine_fields(plan, l, b)};
    for (int q = 0; q < 4; ++q) k.f.x[q] = s.r.v.q[q], k.f.z[q] = x.q[q];
    k.f.next = next;
    forall_warps(cells, columns_nine, k);
  }
}

#else

template <class T> void march_down(Plan &, int, const View<T> &) { }
template <class T> void march_up(Plan &, int, const View<T> &, const View<T> &, Reduction *, double *) { }

#endif

template bool marches<double>(const Plan &, int);
template bool marches<float>(const Plan &, int);
template void march_down<double>(Plan &, int, const View<double> &);
template void march_down<float>(Plan &, int, const View<float> &);
template void march_up<double>(Plan &, int, const View<double> &, const View<double> &, Reduction *, double *);
template void march_up<float>(Plan &, int, const View<float> &, const View<float> &, Reduction *, double *);

} // namespace tessera::rrb
