#include "core/stencil.hpp"
#include <cmath>

namespace tessera {

Stencil::Stencil(const Grid &grid, bool natural_order) : layout(grid, natural_order)
{
  c.resize(layout.elements(4));
  for (auto &f : e) f.resize(layout.elements(3));
}

void Stencil::make_nine()
{
  if (nine) return;
  nine = true;
  for (auto &f : g) f.resize(layout.elements(1));
}

double *Stencil::slot(int x, int y, int k)
{
  const int  dx = direction_dx(k), dy = direction_dy(k), q = (x & 1) + 2 * (y & 1);
  const bool straight = !dx || !dy, here = straight ? (q == quarter_a || q == quarter_b) : (q == quarter_o || q == quarter_a);
  if (!here) return slot(x + dx, y + dy, 8 - k);
  const int          s = straight ? (dy ? 2 + (dy > 0) : dx > 0) : 2 * (dy > 0) + (dx > 0);
  const View<double> v = !straight && q == quarter_a ? G(s) : E(s);
  return &v.q[q][floor_half(x) * v.sx + floor_half(y) * v.sy];
}

void Stencil::exchange(Halo &halo)
{
  if (halo.empty()) return;
  halo.exchange(C(), mask_all);
  for (int k = 0; k < 4; ++k) halo.exchange(E(k), mask_o | mask_a | mask_b);
  if (nine)
    for (int k = 0; k < 4; ++k) halo.exchange(G(k), mask_a);
}

size_t Stencil::bytes() const
{
  size_t n = c.bytes();
  for (int k = 0; k < 4; ++k) n += e[k].bytes() + g[k].bytes();
  return n;
}

double stencil_add_line(Stencil &s, const Box &box, int y, const double *const w[9], int present)
{
  double asymmetry = 0;
  if (present & 0505) s.make_nine(); // directions 0, 2, 6, 8
  for (int parity = 0; parity < 2; ++parity) {
    const int x0 = box.x0 + ((box.x0 ^ parity) & 1); // the first node of this parity
    const int n  = (box.x1 - x0 + 1) / 2;
    if (n <= 0) continue;
    const ptrdiff_t sx     = s.layout.natural ? 2 : 1;
    double         *centre = &s.C().at(x0, y);
    for (int i = 0; i < n; ++i) centre[i * sx] = w[4][x0 - box.x0 + 2 * i];
    for (int k = 0; k < 9; ++k) {
      const int dx = direction_dx(k), dy = direction_dy(k);
      if (k == 4 || (dx && dy && !s.nine)) continue;
      double       *e = s.slot(x0, y, k);
      const double *v = w[k] + (x0 - box.x0);
      // Has the row at the other end been added already? Lines come in ascending order, in a line the even nodes come first.
      if (dy < 0 ? y + dy >= box.y0 : !dy && parity == 1) {
        const int first = x0 + dx < box.x0 ? 1 : 0, last = x0 + 2 * (n - 1) + dx >= box.x1 ? n - 1 : n;
#pragma omp simd reduction(max : asymmetry)
        for (int i = first; i < last; ++i) {
          const double d = fabs(2 * e[i * sx] - v[2 * i]);
          asymmetry      = d > asymmetry ? d : asymmetry;
        }
      }
      if (present & (1 << k))
        for (int i = 0; i < n; ++i) e[i * sx] += 0.5 * v[2 * i];
    }
  }
  return asymmetry;
}

namespace {

// 9-point product in one quarter; see the table in grid.hpp for who is next to whom.
struct Apply {
  View<double> C, E[4], G[4], x, y;
  int          q;
  bool         nine;
  HD void operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * x.sx + Y * x.sy, l = x.sx, r = x.sy;
    const double   *o = x.q[0] + p, *a = x.q[1] + p, *b = x.q[2] + p, *c = x.q[3] + p;
    double          v = C.q[q][p] * x.q[q][p];
    if (q == quarter_o) {
      v += E[1].q[1][p - l] * a[-l] + E[0].q[1][p] * a[0] + E[3].q[2][p - r] * b[-r] + E[2].q[2][p] * b[0];
      if (nine) v += E[0].q[0][p] * c[-l - r] + E[1].q[0][p] * c[-r] + E[2].q[0][p] * c[-l] + E[3].q[0][p] * c[0];
    } else if (q == quarter_a) {
      v += E[0].q[1][p] * o[0] + E[1].q[1][p] * o[l] + E[2].q[1][p] * c[-r] + E[3].q[1][p] * c[0];
      if (nine) v += G[0].q[1][p] * b[-r] + G[1].q[1][p] * b[l - r] + G[2].q[1][p] * b[0] + G[3].q[1][p] * b[l];
    } else if (q == quarter_b) {
      v += E[0].q[2][p] * c[-l] + E[1].q[2][p] * c[0] + E[2].q[2][p] * o[0] + E[3].q[2][p] * o[r];
      if (nine) v += G[3].q[1][p - l] * a[-l] + G[2].q[1][p] * a[0] + G[1].q[1][p - l + r] * a[r - l] + G[0].q[1][p + r] * a[r];
    } else {
      v += E[1].q[2][p] * b[0] + E[0].q[2][p + l] * b[l] + E[3].q[1][p] * a[0] + E[2].q[1][p + r] * a[r];
      if (nine) v += E[3].q[0][p] * o[0] + E[2].q[0][p + l] * o[l] + E[1].q[0][p + r] * o[r] + E[0].q[0][p + l + r] * o[l + r];
    }
    y.q[q][p] = v;
  }
};

} // namespace

void stencil_apply(const Exec &exec, Stencil &s, const Grid &grid, const View<double> &x, const View<double> &y)
{
  Apply k{s.C(), {s.E(0), s.E(1), s.E(2), s.E(3)}, {}, x, y, 0, s.nine};
  if (s.nine)
    for (int i = 0; i < 4; ++i) k.G[i] = s.G(i);
  for (k.q = 0; k.q < 4; ++k.q) forall(exec, grid.owned(k.q), k);
}

} // namespace tessera
