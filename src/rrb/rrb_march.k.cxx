// The sweeps by points, residual and transfer of one grid as one kernel down and one up (core/warp.hpp says how). Each phase works
// one or more rows behind the one before it, so at every row all phases are independent of each other but for registers.
//
// Bytes in single precision: S1, per node of its grid: down 10 coefficients of a quarter each (10), 4 weights (4), r (2) and written
// x (2) and the next right-hand side (1), 19 in all; up 10 + 4 + 2 + 2 + 1 read, 2 written, 21. Next grids: down 5 coefficients (20),
// 6 weights of quarters (6), b (4), x (3) and the next right-hand side (1), 34; up 20 + 8 + 4 + 3 + 1 read, 4 written, 40.
#include "rrb/rrb_march.hpp"
#include "core/tuning.hpp"

namespace tessera::rrb {

template <class T> bool marches(const Plan &plan, int l)
{
#ifdef TESSERA_HAVE_DEVICE
  const Level        &g = plan.levels[(size_t)l];
  const Smoothing<T> &s = hierarchy<T>(const_cast<Plan &>(plan))[(size_t)l];
  const bool alone = g.grid.processes() == 1 && g.halo.empty(); // the others have room for what the sweeps reach
  return plan.exec.space == Space::cuda && g.step == Step::coarsen && (alone || g.layout.layers > 1) && s.smoother == Smoother::point && sweeps(plan, s.of_schur) == 1 && !g.layout.natural;
#else
  (void)plan, (void)l;
  return false;
#endif
}

#ifdef TESSERA_HAVE_DEVICE

namespace {

//--- S1: two cells a lane, as its colours go by X + Y -------------------------------------------------------------------

// Columns that the sweeps reach on each side. Even, as lanes hold pairs.
constexpr int reach_s1 = 4, reach_nine = 2;

// On several processes nothing but right-hand sides is exchanged, before the sweeps down: ghost nodes are worked on as their owners
// do, so that all that the sweeps up need is there. Layers of ghost cells in which results are right, from the last ones back:
//   CG needs z one layer around. S1 up then reads the next grid's x up to 5 nodes around (3 of its layers) and x of S1 down in 4 layers,
//   which takes the right-hand side in 6. x of the next grid in 3 layers takes x of its way down in 5 and the same 3 layers of the grid after
//   it, and the right-hand side in 6.
constexpr int up_layers_s1 = 1, down_layers_s1 = 4, up_layers_nine = march_layers_x, down_layers_nine = 5;

template <class T> struct S1Fields {
  const T  *io, *ic, *e[4], *fo[2], *fc[2], *w[4], *ro, *rc;
  const T  *xo, *xc; // up: what down has left; not the same as z, as strips overlap
  T        *zo, *zc;
  ptrdiff_t sy;
  View<T>   next; // b or x of the next grid
  Box       o, c;         // where z is stored: own nodes and layers of ghost ones
  Box       own_o, own_c; // where the next right-hand side is, and the sum is taken
  Box       whole, stored; // elements of a field; nodes of the next grid's
  March     m;
};

template <int PARITY, int COLOUR, int DELAY> constexpr int active = (PARITY + COLOUR + DELAY) & 1;

// Is row Y in a chunk and in the box?
MARCH bool among(int Y, int y0, int y1, const Box &box) { return Y >= y0 && Y < y1 && Y >= box.y0 && Y < box.y1; }

template <int K, class C> MARCH void age(C (&a)[K])
{
  for (int d = K - 1; d > 0; --d) a[d] = a[d - 1];
}

template <class T> struct S1Down {
  S1Fields<T> f;
  using C = Cells<2, T>;
  struct Row { // what is read at one row, a row ahead
    C rc, ic, fcx, fcy, e0, e1, e2, e3, io, ro, fox, foy, w0, w1, w2, w3;
  };
  struct State {
    C rc[2], ic[2], fcx[3], fcy[4], zc[4], e0[3], e1[3], e2[3], e3[3], so[3], io[3], zo[5], fox[4], foy[5];
    C t_part, u, r_c, part;
  };
  MARCH Row load(const Strip<2> &s, int y) const
  {
    const ptrdiff_t r0 = clamp(y, f.whole.y0, f.whole.y1 - 1) * f.sy, r1 = clamp(y - 1, f.whole.y0, f.whole.y1 - 1) * f.sy, r2 = clamp(y - 2, f.whole.y0, f.whole.y1 - 1) * f.sy,
                    r3 = clamp(y - 3, f.whole.y0, f.whole.y1 - 1) * f.sy;
    Row k;
    k.rc = s.load(f.rc + r0), k.ic = s.load(f.ic + r0), k.fcx = s.load(f.fc[0] + r0), k.fcy = s.load(f.fc[1] + r0);
    k.e0 = s.load(f.e[0] + r1), k.e1 = s.load(f.e[1] + r1), k.e2 = s.load(f.e[2] + r1), k.e3 = s.load(f.e[3] + r1), k.io = s.load(f.io + r1), k.ro = s.load(f.ro + r1);
    k.fox = s.load(f.fo[0] + r2), k.foy = s.load(f.fo[1] + r2);
    k.w0 = s.load(f.w[0] + r3), k.w1 = s.load(f.w[1] + r3), k.w2 = s.load(f.w[2] + r3), k.w3 = s.load(f.w[3] + r3);
    return k;
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
    if (among(y - 1, y0, y1, f.c)) s.store(f.zc + (y - 1) * f.sy, k.zc[1], f.c);
    if (among(y - 2, y0, y1, f.o)) s.store(f.zo + (y - 2) * f.sy, k.zo[2], f.o);
    if (among(y - 4, y0, y1, f.own_c)) s.store_nodes(f.next, y - 4, next, f.own_c);
  }
  MARCH double operator()(Warp w, int strip, int chunk) const
  {
    const Strip<2> s = f.m.template strip<2>(w, strip, reach_s1, f.whole);
    const int      y0 = f.m.first(chunk), y1 = f.m.end(chunk);
    State          k;
    Row            a = load(s, y0 - 4), b;
    for (int y = y0 - 4; y < y1 + 4; y += 2) { // y0 is even
      b = load(s, y + 1);
      row<0>(s, k, a, y, y0, y1);
      a = load(s, y + 2);
      row<1>(s, k, b, y + 1, y0, y1);
    }
    return 0;
  }
};

template <class T> struct S1Up {
  S1Fields<T> f;
  double     *result; // b'x
  using C = Cells<2, T>;
  struct State {
    C ec[2], zc[6], zo[4], so[3], e0[3], e1[3], e2[3], e3[3], fox[3], foy[4], io[3], fcx[5], fcy[6], sc[5], ic[5], ro[3], rc[5];
    C t_part, dot_o, dot_c; // b'x of a lane: less than a hundred terms
  };
  struct Row {
    C ec, xc, xo, w0, w1, w2, w3, ro, e0, e1, e2, e3, fox, foy, io, fcx, fcy, ic, rc;
  };
  MARCH Row load(const Strip<2> &s, int y) const
  {
    const ptrdiff_t r0 = clamp(y, f.whole.y0, f.whole.y1 - 1) * f.sy, r1 = clamp(y - 1, f.whole.y0, f.whole.y1 - 1) * f.sy, r3 = clamp(y - 3, f.whole.y0, f.whole.y1 - 1) * f.sy;
    Row k;
    k.ec = s.load_nodes(f.next, y, f.stored);
    k.xc = s.load(f.xc + r0), k.xo = s.load(f.xo + r0), k.ro = s.load(f.ro + r0);
    k.w0 = s.load(f.w[0] + r0), k.w1 = s.load(f.w[1] + r0), k.w2 = s.load(f.w[2] + r0), k.w3 = s.load(f.w[3] + r0);
    k.e0 = s.load(f.e[0] + r0), k.e1 = s.load(f.e[1] + r0), k.e2 = s.load(f.e[2] + r0), k.e3 = s.load(f.e[3] + r0);
    k.fox = s.load(f.fo[0] + r1), k.foy = s.load(f.fo[1] + r1), k.io = s.load(f.io + r1);
    k.fcx = s.load(f.fc[0] + r3), k.fcy = s.load(f.fc[1] + r3), k.ic = s.load(f.ic + r3), k.rc = s.load(f.rc + r3);
    return k;
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
    if (among(y - 2, y0, y1, f.o)) s.store(f.zo + (y - 2) * f.sy, k.zo[2], f.o);
    if (among(y - 4, y0, y1, f.c)) s.store(f.zc + (y - 4) * f.sy, k.zc[4], f.c);
    if (among(y - 2, y0, y1, f.own_o)) k.dot_o = k.dot_o + k.zo[2] * k.ro[2];
    if (among(y - 4, y0, y1, f.own_c)) k.dot_c = k.dot_c + k.zc[4] * k.rc[4];
  }
  MARCH double operator()(Warp w, int strip, int chunk) const
  {
    const Strip<2> s = f.m.template strip<2>(w, strip, reach_s1, f.whole);
    const int      y0 = f.m.first(chunk), y1 = f.m.end(chunk);
    State          k;
    Row            a = load(s, y0 - 4), b;
    for (int y = y0 - 4; y < y1 + 4; y += 2) {
      b = load(s, y + 1);
      row<0>(s, k, a, y, y0, y1);
      a = load(s, y + 2);
      row<1>(s, k, b, y + 1, y0, y1);
    }
    return s.sum(k.dot_o, f.own_o) + s.sum(k.dot_c, f.own_c);
  }
  MARCH void finish(double dot) const { *result = dot; }
};

//--- 9-point grids: one cell, four nodes, a lane ------------------------------------------------------------------------

template <class T> struct NineFields {
  StencilView<T> A;
  View<T>        inverse, edge[2], centre[4], b, x, z, next; // up: x from down, z the result
  Box            out[4], own, whole, stored; // where results are stored; own c nodes; elements of a field; nodes of the next grid's
  March          m;
};

template <class T> struct NineDown {
  NineFields<T> f;
  using C = Cells<1, T>;
  struct State {
    C zc[3], zo[3], eo[4][2], zb[3], below, b_part, c_part, next_part;
  };
  struct Row {
    C b[4], c[4], eo[4], eb[4], ea[4], g[4], w[4], v[2];
  };
  MARCH Row load(const Strip<1> &s, int y) const
  {
    const ptrdiff_t r = f.A.C.sy, r0 = clamp(y, f.whole.y0, f.whole.y1 - 1) * r, r1 = clamp(y - 1, f.whole.y0, f.whole.y1 - 1) * r, r2 = clamp(y - 2, f.whole.y0, f.whole.y1 - 1) * r;
    Row             k;
    for (int q = 0; q < 4; ++q) k.b[q] = s.load((const T *)f.b.q[q] + (q % 3 ? r1 : r0)), k.c[q] = s.load((const T *)f.inverse.q[q] + (q % 3 ? r1 : r0));
    for (int d = 0; d < 4; ++d) {
      k.eo[d] = s.load((const T *)f.A.E[d].q[0] + r0);
      k.eb[d] = s.load((const T *)f.A.E[d].q[2] + r1);
      k.ea[d] = s.load((const T *)f.A.E[d].q[1] + r1);
      k.g[d]  = s.load((const T *)f.A.G[d].q[1] + r1);
      k.w[d]  = s.load((const T *)f.centre[d].q[0] + r1);
    }
    for (int d = 0; d < 2; ++d) k.v[d] = s.load((const T *)f.edge[d].q[2] + r2);
    return k;
  }
  MARCH void row(const Strip<1> &s, State &k, const Row &in, int y, int y0, int y1) const
  {
    const Warp      w = s.w;
    const ptrdiff_t r = f.A.C.sy;
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
      if (among(Y, y0, y1, f.out[q])) s.store(f.x.q[q] + Y * r, v, f.out[q]);
    };
    put(3, y, k.zc[0]), put(0, y, k.zo[0]), put(2, y - 1, zb);
    if (among(y - 2, y0, y1, f.own)) s.store_nodes(f.next, y - 2, next, f.own);
  }
  MARCH double operator()(Warp w, int strip, int chunk) const
  {
    const Strip<1> s = f.m.template strip<1>(w, strip, reach_nine, f.whole);
    const int      y0 = f.m.first(chunk), y1 = f.m.end(chunk);
    State          k;
    Row            a = load(s, y0 - 2), b;
    for (int y = y0 - 2; y < y1 + 2; ++y) {
      b = load(s, y + 1);
      row(s, k, a, y, y0, y1);
      a = b;
    }
    return 0;
  }
};

template <class T> struct NineUp {
  NineFields<T> f;
  using C = Cells<1, T>;
  struct State {
    C ec[2], zc[3], zo[3], zb[3], sum_o, sum_b, sum_c, a_c, below, c_part;
  };
  struct Row {
    C ec, x[4], b[4], c[4], eo[4], eb[4], ea[4], g[4], w[4], v[2];
  };
  MARCH Row load(const Strip<1> &s, int y) const
  {
    const ptrdiff_t r = f.A.C.sy, r0 = clamp(y, f.whole.y0, f.whole.y1 - 1) * r, r1 = clamp(y - 1, f.whole.y0, f.whole.y1 - 1) * r, r2 = clamp(y - 2, f.whole.y0, f.whole.y1 - 1) * r;
    const ptrdiff_t at[4] = {r1, r0, r1, r2};
    Row             k;
    k.ec = s.load_nodes(f.next, y, f.stored);
    for (int q : {0, 2, 3}) k.x[q] = s.load((const T *)f.x.q[q] + r0);
    for (int q = 0; q < 4; ++q) k.b[q] = s.load((const T *)f.b.q[q] + at[q]), k.c[q] = s.load((const T *)f.inverse.q[q] + at[q]);
    for (int d = 0; d < 4; ++d) {
      k.w[d]  = s.load((const T *)f.centre[d].q[0] + r0);
      k.ea[d] = s.load((const T *)f.A.E[d].q[1] + r0);
      k.g[d]  = s.load((const T *)f.A.G[d].q[1] + r0);
      k.eb[d] = s.load((const T *)f.A.E[d].q[2] + r1);
      k.eo[d] = s.load((const T *)f.A.E[d].q[0] + r1);
    }
    for (int d = 0; d < 2; ++d) k.v[d] = s.load((const T *)f.edge[d].q[2] + r0);
    return k;
  }
  MARCH void row(const Strip<1> &s, State &k, const Row &in, int y, int y0, int y1) const
  {
    const Warp      w = s.w;
    const ptrdiff_t r = f.A.C.sy;
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
      if (among(Y, y0, y1, f.out[q])) s.store(f.z.q[q] + Y * r, v, f.out[q]);
    };
    put(1, y, za), put(2, y - 1, k.zb[1]), put(0, y - 1, k.zo[1]), put(3, y - 2, zc);
  }
  MARCH double operator()(Warp w, int strip, int chunk) const
  {
    const Strip<1> s = f.m.template strip<1>(w, strip, reach_nine, f.whole);
    const int      y0 = f.m.first(chunk), y1 = f.m.end(chunk);
    State          k;
    Row            a = load(s, y0 - 2), b;
    for (int y = y0 - 2; y < y1 + 2; ++y) {
      b = load(s, y + 1);
      row(s, k, a, y, y0, y1);
      a = b;
    }
    return 0;
  }
};

} // namespace

namespace {

// Where results are stored, and where the next grid's values can be read. Ghost nodes are worked on as their owners do, from values
// that came before the sweeps down: then nobody has to ask for them on the way up.
int   layers(const Level &g, int count) { return g.grid.processes() > 1 ? count : 0; }
Box   cells_of(const Box &nodes) { return nodes.empty() ? Box() : Box{floor_half(nodes.x0), floor_half(nodes.x1 + 1), floor_half(nodes.y0), floor_half(nodes.y1 + 1)}; }
Box   stored_nodes(const Level &next)
{
  const Box b = next.layout.whole();
  return {2 * b.x0, 2 * b.x1, 2 * b.y0, 2 * b.y1};
}
March s1_march(const Box &nodes) // pairs of cells, and of rows
{
  Box b = cells_of(nodes);
  b.x0 &= ~1, b.y0 &= ~1;
  return cut(b, 2 * lanes - 2 * reach_s1, tuning::march_warps);
}

} // namespace

size_t march_blocks(const Plan &plan)
{
  const Level &g = plan.levels[0];
  const March  m = s1_march(g.grid.around(layers(g, down_layers_s1)));
  return (size_t)m.strips() * (size_t)m.chunks();
}

namespace {

template <class T> S1Fields<T> s1_fields(Plan &plan, int l, const View<T> &b, int count)
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
  const Box nodes = g.grid.around(layers(g, count));
  f.o      = quarter_box(nodes, quarter_o);
  f.c      = quarter_box(nodes, quarter_c);
  f.own_o  = g.grid.owned(quarter_o);
  f.own_c  = g.grid.owned(quarter_c);
  f.whole  = g.layout.whole();
  f.stored = stored_nodes(plan.levels[(size_t)l + 1]);
  f.m      = s1_march(nodes);
  return f;
}

template <class T> NineFields<T> nine_fields(Plan &plan, int l, const View<T> &b, int count)
{
  Level        &g = plan.levels[(size_t)l];
  Smoothing<T> &s = hierarchy<T>(plan)[(size_t)l];
  NineFields<T> f;
  f.A       = s.a.view();
  f.inverse = g.layout.view(s.inverse.data());
  for (int k = 0; k < 2; ++k) f.edge[k] = g.layout.view(s.edge[k].data(), quarter_a);
  for (int k = 0; k < 4; ++k) f.centre[k] = g.layout.view(s.centre[k].data());
  f.b = b;
  const Box nodes = g.grid.around(layers(g, count));
  for (int q = 0; q < 4; ++q) f.out[q] = quarter_box(nodes, q);
  f.own    = g.grid.owned(quarter_c);
  f.whole  = g.layout.whole();
  f.stored = stored_nodes(plan.levels[(size_t)l + 1]);
  f.m      = cut(cells_of(nodes), lanes - 2 * reach_nine, tuning::march_warps);
  return f;
}

} // namespace

template <class T> void march_setup(Plan &plan, int l)
{
  Level        &g = plan.levels[(size_t)l];
  Smoothing<T> &s = hierarchy<T>(plan)[(size_t)l];
  if (g.grid.processes() == 1 || !marches<T>(plan, l)) return;
  std::vector<Ghosts<T>> fields;
  auto                   add = [&](T *o, T *c) {
    View<T> v = g.layout.view((T *)nullptr);
    v.q[0] = o, v.q[3] = c, v.q[1] = v.q[2] = nullptr;
    fields.push_back({v, (o ? mask_o : 0) | (c ? mask_c : 0)});
  };
  if (s.of_schur) {
    const SchurView<T> a = schur_view(g.layout, schur_of<T>(plan, l));
    const SchurHelp<T> h = schur_help(g, s);
    add(h.d[0], h.d[3]);
    for (int k = 0; k < 2; ++k) add(a.fo[k], a.fc[k]);
    for (int k = 0; k < 4; ++k) add(a.e[k], nullptr), add(h.w[k], nullptr);
  } else {
    fields.push_back({g.layout.view(s.inverse.data()), mask_all});
    for (int k = 0; k < 4; ++k) {
      fields.push_back({s.a.E(k), mask_o | mask_a | mask_b});
      fields.push_back({s.a.G(k), mask_a});
      fields.push_back({g.layout.view(s.centre[k].data()), mask_o});
    }
    for (int k = 0; k < 2; ++k) fields.push_back({g.layout.view(s.edge[k].data(), quarter_a), mask_b});
  }
  g.wide.exchange(fields);
}

template <class T> void march_down(Plan &plan, int l, const View<T> &b)
{
  Smoothing<T> &s = hierarchy<T>(plan)[(size_t)l];
  const View<T> next = hierarchy<T>(plan)[(size_t)l + 1].b.v;
  plan.levels[(size_t)l].wide.exchange(b, s.of_schur ? mask_o | mask_c : mask_all);
  if (s.of_schur) {
    S1Down<T> k{s1_fields(plan, l, b, down_layers_s1)};
    k.f.zo = s.swept.v.q[0], k.f.zc = s.swept.v.q[3];
    k.f.next = next;
    forall_warps(k.f.m, k);
  } else {
    NineDown<T> k{nine_fields(plan, l, b, down_layers_nine)};
    k.f.x    = s.r.v;
    k.f.next = next;
    forall_warps(k.f.m, k);
  }
}

template <class T> void march_up(Plan &plan, int l, const View<T> &b, const View<T> &x, Reduction *reduction, double *dot)
{
  Smoothing<T> &s = hierarchy<T>(plan)[(size_t)l];
  const View<T> next = hierarchy<T>(plan)[(size_t)l + 1].x.v;
  if (s.of_schur) {
    S1Up<T> k{s1_fields(plan, l, b, up_layers_s1), dot};
    k.f.xo = s.swept.v.q[0], k.f.xc = s.swept.v.q[3];
    k.f.zo = x.q[0], k.f.zc = x.q[3];
    k.f.next = next;
    if (reduction) forall_warps(k.f.m, k, *reduction);
    else forall_warps(k.f.m, k);
  } else {
    NineUp<T> k{nine_fields(plan, l, b, up_layers_nine)};
    k.f.x    = s.r.v;
    k.f.z    = x;
    k.f.next = next;
    forall_warps(k.f.m, k);
  }
}

#else

template <class T> void march_setup(Plan &, int) { }
template <class T> void march_down(Plan &, int, const View<T> &) { }
template <class T> void march_up(Plan &, int, const View<T> &, const View<T> &, Reduction *, double *) { }

#endif

template bool marches<double>(const Plan &, int);
template bool marches<float>(const Plan &, int);
template void march_setup<double>(Plan &, int);
template void march_setup<float>(Plan &, int);
template void march_down<double>(Plan &, int, const View<double> &);
template void march_down<float>(Plan &, int, const View<float> &);
template void march_up<double>(Plan &, int, const View<double> &, const View<double> &, Reduction *, double *);
template void march_up<float>(Plan &, int, const View<float> &, const View<float> &, Reduction *, double *);

} // namespace tessera::rrb
