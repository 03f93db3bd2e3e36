// Multicolour Gauss-Seidel, projected onto the bounds or on some nodes alone, and residuals.
//
// Bytes a node and sweep, 5-point star: 4 off-diagonal coefficients, inverse diagonal, right-hand side, x read and written, two bounds: 80;
// 9-point box: 112. Two colours of a star, 2^d of a box.
#include "vipmg/stencil3.hpp"
#include <algorithm>

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

// On the host colours and sweeps follow each other row by row, and so does what reads the result, so that all of it goes through memory
// once. A pair of rows of a phase waits until the phases before have done the rows beside it: with five points the second colour's
// odd rows need the first colour of the next pair, with nine both colours of odd rows do, and the next sweep, or the reader, comes
// a pair of rows after the last.
template <class Kernel, class After> void sweep_rows(const Plan &plan, const Level &l, const Phase *p, int n, bool box, int sweeps, const Kernel &kernel, const After *after)
{
  const int        from = floor_half(l.own.lo[1]), to = floor_half(l.own.hi[1] - 1) + 1;
  std::vector<int> lags;
  for (int s = 0; s < sweeps; ++s)
    for (int k = 0; k < n; ++k) lags.push_back(s + (box ? k >= n / 2 : k == n - 1));
  if (after) lags.push_back(sweeps);
  constexpr int pairs = 1;
  wavefront(lags, from, to, pairs, true, [&](int phase, int y0, int y1) {
    if (phase == n * sweeps) {
      Box3 b  = l.own;
      b.lo[1] = std::max(b.lo[1], 2 * y0);
      b.hi[1] = std::min(b.hi[1], 2 * y1);
      return for_nodes(plan.exec, l.layout, b, *after);
    }
    const int k = phase % n;
    Rows      rows;
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

template <class Kernel, class After> void sweeps_then(const Plan &plan, Level &l, const Kernel &kernel, bool box, int sweeps, double *x, const After *after)
{
  if (plan.exec.space == Space::host && plan.exec.threads == 1 && plan.dimension == 2 && l.halo.empty() && !l.own.empty()) {
    Phase     p[8];
    const int n = phases(plan.dimension, box, p);
    return sweep_rows(plan, l, p, n, box, sweeps, kernel, after);
  }
  for (int k = 0; k < sweeps; ++k) sweep(plan, l, kernel, box, x);
  if (after) for_nodes(plan.exec, l.layout, l.own, *after);
}

// Sweeps and the residual after them, where r is wanted.
void smooth_and(const Plan &plan, Level &l, const Operator &op, double *x, const double *b, const Sweep &how, int sweeps, double *r)
{
  with_kind(plan.dimension, op.box, [&](auto kind) {
    using K                = decltype(kind);
    constexpr int  D       = K::dimension;
    constexpr bool B       = K::box;
    const auto     s       = stencil<D, B>(l, op);
    const double   omega   = how.projected ? plan.params.omega : 1;
    const double  *inverse = op.inverse.data(), *lo = l.lo.data(), *up = l.up.data();
    const uint8_t *mask    = l.inactive.data();
    const FindResidual<D, B, false> all{s, x, b, inverse, nullptr, r};
    const FindResidual<D, B, true>  free{s, x, b, inverse, mask, r};
    if (how.projected) sweeps_then(plan, l, GaussSeidel<D, B, true, false>{s, inverse, b, lo, up, nullptr, x, omega}, B, sweeps, x, r ? &all : nullptr);
    else if (how.masked) sweeps_then(plan, l, GaussSeidel<D, B, false, true>{s, inverse, b, lo, up, mask, x, omega}, B, sweeps, x, r ? &free : nullptr);
    else sweeps_then(plan, l, GaussSeidel<D, B, false, false>{s, inverse, b, lo, up, nullptr, x, omega}, B, sweeps, x, r ? &all : nullptr);
  });
  if (r) l.halo.exchange(r);
}

} // namespace

void smooth(const Plan &plan, Level &l, const Operator &op, double *x, const double *b, const Sweep &how, int sweeps)
{
  smooth_and(plan, l, op, x, b, how, sweeps, nullptr);
}

void smooth_residual(const Plan &plan, Level &l, const Operator &op, double *x, const double *b, const Sweep &how, int sweeps, double *r)
{
  smooth_and(plan, l, op, x, b, how, sweeps, r);
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
