// S1 = A_bb - A_br D_r^-1 A_rb, node by node.
#pragma once
#include "rrb/vectors.hpp"

namespace tessera::rrb {

// INVERTED: C of the red nodes is D_r^-1 already.
template <bool INVERTED> HD inline double red_inverse(const View<double> &C, int q, ptrdiff_t p)
{
  const double c = C.q[q][p];
  return INVERTED ? c : c > 0 ? 1 / c : 0;
}

template <bool INVERTED> struct SetupO {
  struct Values {
    double c, e[4], f[2];
  };
  double            tiny;
  View<double>      C, E[4];
  SchurView<double> to;
  HD Values make(int X, int Y) const
  {
    const ptrdiff_t p = X * C.sx + Y * C.sy, w = p - C.sx, s = p - C.sy;
    const double    dw = red_inverse<INVERTED>(C, 1, w), de = red_inverse<INVERTED>(C, 1, p),
                 ds = red_inverse<INVERTED>(C, 2, s), dn = red_inverse<INVERTED>(C, 2, p);
    const double    aw = E[1].q[1][w], ae = E[0].q[1][p], as = E[3].q[2][s], an = E[2].q[2][p];
    Values          v;
    v.c    = remains(tiny, C.q[0][p], C.q[0][p] - aw * aw * dw - ae * ae * de - as * as * ds - an * an * dn);
    v.e[0] = -aw * dw * E[2].q[1][w] - as * ds * E[0].q[2][s];
    v.e[1] = -ae * de * E[2].q[1][p] - as * ds * E[1].q[2][s];
    v.e[2] = -aw * dw * E[3].q[1][w] - an * dn * E[0].q[2][p];
    v.e[3] = -ae * de * E[3].q[1][p] - an * dn * E[1].q[2][p];
    v.f[0] = -ae * de * E[1].q[1][p];
    v.f[1] = -an * dn * E[3].q[2][p];
    return v;
  }
  template <class T> HD static void store(const Values &v, const SchurView<T> &to, ptrdiff_t p)
  {
    to.co[p] = (T)v.c;
    for (int k = 0; k < 4; ++k) to.e[k][p] = (T)v.e[k];
    for (int k = 0; k < 2; ++k) to.fo[k][p] = (T)v.f[k];
  }
  HD void operator()(int X, int Y) const { store(make(X, Y), to, X * C.sx + Y * C.sy); }
};

template <bool INVERTED> struct SetupC {
  struct Values {
    double c, f[2];
  };
  double            tiny;
  View<double>      C, E[4];
  SchurView<double> to;
  HD Values make(int X, int Y) const
  {
    const ptrdiff_t p = X * C.sx + Y * C.sy, e = p + C.sx, n = p + C.sy;
    const double    aw = E[1].q[2][p], ae = E[0].q[2][e], as = E[3].q[1][p], an = E[2].q[1][n];
    const double    dw = red_inverse<INVERTED>(C, 2, p), de = red_inverse<INVERTED>(C, 2, e),
                 ds = red_inverse<INVERTED>(C, 1, p), dn = red_inverse<INVERTED>(C, 1, n);
    Values          v;
    v.c    = remains(tiny, C.q[3][p], C.q[3][p] - aw * aw * dw - ae * ae * de - as * as * ds - an * an * dn);
    v.f[0] = -ae * de * E[1].q[2][e];
    v.f[1] = -an * dn * E[3].q[1][n];
    return v;
  }
  template <class T> HD static void store(const Values &v, const SchurView<T> &to, ptrdiff_t p)
  {
    to.cc[p] = (T)v.c;
    for (int k = 0; k < 2; ++k) to.fc[k][p] = (T)v.f[k];
  }
  HD void operator()(int X, int Y) const { store(make(X, Y), to, X * C.sx + Y * C.sy); }
};

} // namespace tessera::rrb
