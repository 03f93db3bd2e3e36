// Multicolour Gauss-Seidel, projected onto the bounds or on some nodes alone, and residuals.
//
// Bytes a node and sweep, 5-point star: 4 off-diagonal coefficients, inverse diagonal, right-hand side, x read and written, two bounds: 80;
// 9-point box: 112. Two colours of a star, 2^d of a box.
#include "vipmg/stencil3.hpp"

namespace tessera::vipmg {

namespace {

template <int D, bool Box, bool Projected, bool Masked> struct GaussSeidel {
  Stencil3<D, Box> s;
  const double    *inverse, *b, *lo, *up;
  const uint8_t   *mask;
  double          *x, omega;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    double          d = inverse[e];
    if (Masked) d = mask[e] ? d : 0;
    const double old = x[e];
    double       y   = old + omega * ((b[e] - s.template neighbours<P>(x, e, o)) * d - old);
    y                = d != 0 ? y : old;
    if (Projected) {
      y = y < lo[e] ? lo[e] : y;
      y = y > up[e] ? up[e] : y;
    }
    x[e] = y;
  }
};

template <int D, bool Box, bool Masked> struct FindResidual {
  Stencil3<D, Box> s;
  const double    *x, *b, *inverse;
  const uint8_t   *mask;
  double          *r;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    const double    v = b[e] - s.diagonal(e) * x[e] - s.template neighbours<P>(x, e, o);
    r[e]              = inverse[e] != 0 && (!Masked || mask[e]) ? v : 0;
  }
};

// A colour, or a part of it that stands in every second row: its rows and the parity of its nodes.
struct Phase {
  int  parity, q, s; // of i, j, k
  bool last;         // of a colour: ghosts are exchanged
};

int phases(int dimension, bool box, Phase *p)
{
  int n = 0;
  if (box || dimension == 1) {
    for (int c = 0; c < 1 << dimension; ++c) p[n++] = {c & 1, c >> 1 & 1, c >> 2 & 1, true};
    return n;
  }
  for (int colour = 0; colour < 2; ++colour)
    for (int c = 0; c < 1 << (dimension - 1); ++c) {
      const int q = c & 1, s = c >> 1 & 1;
      p[n++] = {(colour + q + s) & 1, q, s, c + 1 == 1 << (dimension - 1)};
    }
  return n;
}

Rows phase_rows(int dimension, const Box3 &own, const Phase &p)
{
  Rows r = all_rows(own);
  if (dimension > 1) {
    r.j0 = own.lo[1] + ((own.lo[1] + p.q) & 1);
    r.dj = 2;
    r.nj = (own.hi[1] - r.j0 + 1) / 2;
  }
  if (dimension > 2) {
    r.k0 = own.lo[2] + ((own.lo[2] + p.s) & 1);
    r.dk = 2;
    r.nk = (own.hi[2] - r.k0 + 1) / 2;
  }
  if (r.nj < 0) r.nj = 0;
  if (r.nk < 0) r.nk = 0;
  return r;
}

// On the host colours follow each other row by row, so that a sweep goes through memory once. Row pair J of a phase waits until the
// phases before have done the rows beside it.
template <class Kernel> void sweep_rows(const Plan &plan, const Level &l, const Phase *p, int n, const Kernel &kernel)
{
  const int        from = floor_half(l.own.lo[1]), to = floor_half(l.own.hi[1] - 1) + 1;
  std::vector<int> lags((size_t)n);
  for (int k = 1; k < n; ++k) lags[(size_t)k] = lags[(size_t)k - 1] + (p[k].q == p[k - 1].q ? 0 : 1);
  constexpr int pairs = 1;
  wavefront(lags, from, to, pairs, true, [&](int k, int y0, int y1) {
    Rows rows;
    rows.dj = 2;
    rows.j0 = 2 * y0 + p[k].q;
    int end = 2 * y1 + p[k].q; // exclusive
    while (rows.j0 < l.own.lo[1]) rows.j0 += 2;
    while (end - 2 >= l.own.hi[1]) end -= 2;
    rows.nj = (end - rows.j0) / 2;
    if (rows.nj > 0) for_half(plan.exec, l.layout, l.own, p[k].parity, rows, kernel);
  });
}

template <class Kernel> void sweep(const Plan &plan, Level &l, const Kernel &kernel, bool box, double *x)
{
  Phase     p[8];
  const int n = phases(plan.dimension, box, p);
  if (l.own.empty()) {
    for (int k = 0; k < n; ++k)
      if (p[k].last) l.halo.exchange(x);
    return;
  }
  if (plan.exec.space == Space::host && plan.exec.threads == 1 && plan.dimension == 2 && l.halo.empty()) return sweep_rows(plan, l, p, n, kernel);
  for (int k = 0; k < n; ++k) {
    const Rows rows = phase_rows(plan.dimension, l.own, p[k]);
    if (plan.exec.space == Space::cuda && !p[k].last && !box && plan.dimension == 2) { // the two halves of a colour in one launch
      const Rows next = phase_rows(plan.dimension, l.own, p[k + 1]);
      const auto half = [&](int parity, const Rows &r) { return Box{half_begin(l.own.lo[0], parity), half_begin(l.own.hi[0], parity), 0, r.count()}; };
      if (p[k].parity) forall_parts(plan.exec, part(half(1, rows), OnHalf<Kernel, 1>{l.layout, rows, kernel}), part(half(0, next), OnHalf<Kernel, 0>{l.layout, next, kernel}));
      else forall_parts(plan.exec, part(half(0, rows), OnHalf<Kernel, 0>{l.layout, rows, kernel}), part(half(1, next), OnHalf<Kernel, 1>{l.layout, next, kernel}));
      ++k;
    } else for_half(plan.exec, l.layout, l.own, p[k].parity, rows, kernel);
    if (p[k].last) l.halo.exchange(x);
  }
}

} // namespace

void smooth(const Plan &plan, Level &l, const Operator &op, double *x, const double *b, const Sweep &how, int sweeps)
{
  with_kind(plan.dimension, op.box, [&](auto kind) {
    using K                = decltype(kind);
    constexpr int  D       = K::dimension;
    constexpr bool B       = K::box;
    const auto     s       = stencil<D, B>(l, op);
    const double   omega   = how.projected ? plan.params.omega : 1;
    const double  *inverse = op.inverse.data(), *lo = l.lo.data(), *up = l.up.data();
    for (int k = 0; k < sweeps; ++k) {
      if (how.projected) sweep(plan, l, GaussSeidel<D, B, true, false>{s, inverse, b, lo, up, nullptr, x, omega}, B, x);
      else if (how.masked) sweep(plan, l, GaussSeidel<D, B, false, true>{s, inverse, b, lo, up, l.inactive.data(), x, omega}, B, x);
      else sweep(plan, l, GaussSeidel<D, B, false, false>{s, inverse, b, lo, up, nullptr, x, omega}, B, x);
    }
  });
}

void residual(const Plan &plan, Level &l, const Operator &op, const double *x, const double *b, double *r, bool masked)
{
  with_kind(plan.dimension, op.box, [&](auto kind) {
    using K = decltype(kind);
    const auto s = stencil<K::dimension, K::box>(l, op);
    if (masked) for_nodes(plan.exec, l.layout, l.own, FindResidual<K::dimension, K::box, true>{s, x, b, op.inverse.data(), l.inactive.data(), r});
    else for_nodes(plan.exec, l.layout, l.own, FindResidual<K::dimension, K::box, false>{s, x, b, op.inverse.data(), nullptr, r});
  });
  l.halo.exchange(r);
}

} // namespace tessera::vipmg
