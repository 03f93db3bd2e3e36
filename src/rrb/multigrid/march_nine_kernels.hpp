// The kernels of march_kernels.hpp for 9-point grids: one cell, four nodes, a lane.
#pragma once
#include "rrb/multigrid/march_kernels.hpp"

#if defined(TESSERA_HAVE_DEVICE)

namespace tessera::rrb {

namespace {

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
