#include "box/stencil.hpp"
#include <cmath>

namespace tessera {

template <class T> StencilOf<T>::StencilOf(const Layout &places) : layout(places)
{
  c.resize(layout.elements(4));
  for (auto &f : e) f.resize(layout.elements(3));
}

template <class T> void StencilOf<T>::make_nine()
{
  if (nine) return;
  nine = true;
  for (auto &f : g)
    if (f.size() == layout.elements(1)) f.zero();
    else f.resize(layout.elements(1));
}

template <class T> StencilView<T> StencilOf<T>::view()
{
  StencilView<T> v;
  v.C    = C();
  v.nine = nine;
  for (int k = 0; k < 4; ++k) {
    v.E[k] = E(k);
    if (nine) v.G[k] = G(k);
  }
  return v;
}

template <class T> T *StencilOf<T>::slot(int x, int y, int k)
{
  const CouplingPlace p = coupling_place(x, y, k);
  return &(p.g ? G(p.plane) : E(p.plane)).at(p.x, p.y);
}

template <class T> void StencilOf<T>::exchange(Halo &halo)
{
  if (halo.empty()) return;
  halo.exchange(C(), mask_all);
  for (int k = 0; k < 4; ++k) halo.exchange(E(k), mask_o | mask_a | mask_b);
  if (nine)
    for (int k = 0; k < 4; ++k) halo.exchange(G(k), mask_a);
}

template <class T> size_t StencilOf<T>::bytes() const
{
  size_t n = c.bytes();
  for (int k = 0; k < 4; ++k) n += e[k].bytes() + g[k].bytes();
  return n;
}

template struct StencilOf<double>;
template struct StencilOf<float>;

void copy(const Stencil &a, Stencil &b, Space space)
{
  auto put = [&](const Buffer<double> &x, Buffer<double> &y) {
    if (y.size() != x.size() || y.space() != space) y.resize({x.size(), space});
    copy(x, y);
  };
  b.layout       = a.layout;
  b.layout.space = space;
  b.nine         = a.nine;
  put(a.c, b.c);
  for (int k = 0; k < 4; ++k) {
    put(a.e[k], b.e[k]);
    put(a.g[k], b.g[k]);
  }
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
      // Has the row at the other end been added already? Lines come in ascending order, in a line the even nodes come
      // first.
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

// The product in one quarter.
template <int Q, int S, class T> struct Apply {
  StencilView<T> A;
  View<T>        x, y;
  HD void        operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * A.C.sy;
    y.q[Q][p]         = A.C.q[Q][p] * x.q[Q][p] + couplings<Q, S, mask_all, lines_none>(A, x, p);
  }
};

template <int S, class T>
void apply(const Exec &exec, const StencilView<T> &A, const Grid &grid, const View<T> &x, const View<T> &y)
{
  forall(exec, grid.owned(0), Apply<0, S, T>{A, x, y});
  forall(exec, grid.owned(1), Apply<1, S, T>{A, x, y});
  forall(exec, grid.owned(2), Apply<2, S, T>{A, x, y});
  forall(exec, grid.owned(3), Apply<3, S, T>{A, x, y});
}

} // namespace

template <class T>
void stencil_apply(const Exec &exec, const StencilView<T> &A, const Grid &grid, const View<T> &x, const View<T> &y)
{
  if (A.C.sx == 1) apply<1>(exec, A, grid, x, y);
  else apply<2>(exec, A, grid, x, y);
}

template void stencil_apply<double>(const Exec &, const StencilView<double> &, const Grid &, const View<double> &,
                                    const View<double> &);
template void stencil_apply<float>(const Exec &, const StencilView<float> &, const Grid &, const View<float> &,
                                   const View<float> &);

} // namespace tessera
