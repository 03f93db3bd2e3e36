// Stencils in memory: planes of coefficients on a layout.
#pragma once
#include "box/same.hpp"
#include "vipmg/vipmg.hpp"
#include <algorithm>

namespace tessera::vipmg {

// Where many nodes of a row have one stencil (Operator::same) it is read once: the host's kernels have a form for
// these nodes, Uniform, the device's read it at source().
template <int D, bool Box, bool Uniform = false> struct Stencil3 {
  static constexpr int count = Box ? (D == 1 ? 3 : D == 2 ? 9 : 27) : 2 * D + 1;
  const double *a, *inverse;
  ptrdiff_t     plane, sj, sk;
  int           half;
  box::Stretches same;
  double        one[Uniform ? count + 1 : 1]; // coefficients and inverse diagonal

  template <int K> HD double coefficient(ptrdiff_t e) const
  {
    return Uniform ? one[Uniform ? K : 0] : a[K * plane + e];
  }
  HD double                  inverted(ptrdiff_t e) const { return Uniform ? one[Uniform ? count : 0] : inverse[e]; }
  Stencil3<D, Box, true>     at(ptrdiff_t e) const
  {
    Stencil3<D, Box, true> s{a, inverse, plane, sj, sk, half, {}, {}};
    for (int k = 0; k < count; ++k) s.one[k] = a[k * plane + e];
    s.one[count] = inverse[e];
    return s;
  }

  // One row of three couplings, or two around the node itself. e: place of the node; o: of its row, without the half.
  template <int P, int DY, int DZ, class X> HD double row(const X &x, ptrdiff_t e, ptrdiff_t o) const
  {
    const ptrdiff_t q = o + DY * sj + DZ * sk;
    double          s = 0;
    if (Box || (DY == 0 && DZ == 0)) {
      s += coefficient<plane_of<D, Box>(-1, DY, DZ)>(e) * x[q + beside<P, -1>(half)];
      s += coefficient<plane_of<D, Box>(1, DY, DZ)>(e) * x[q + beside<P, 1>(half)];
    }
    if (DY || DZ) s += coefficient<plane_of<D, Box>(0, DY, DZ)>(e) * x[q + beside<P, 0>(half)];
    return s;
  }
  // The sum of a_k x_k over the neighbours. x: an array, or what computes its elements.
  template <int P, class X> HD double neighbours(const X &x, ptrdiff_t e, ptrdiff_t o) const
  {
    double s = row<P, 0, 0>(x, e, o);
    if constexpr (D > 1) s += row<P, -1, 0>(x, e, o) + row<P, 1, 0>(x, e, o);
    if constexpr (D > 2) {
      s += row<P, 0, -1>(x, e, o) + row<P, 0, 1>(x, e, o);
      if constexpr (Box)
        s += row<P, -1, -1>(x, e, o) + row<P, 1, -1>(x, e, o) + row<P, -1, 1>(x, e, o) + row<P, 1, 1>(x, e, o);
    }
    return s;
  }
  // A place with the same stencil as e, which is that of node (2 t + p, j, k).
  HD ptrdiff_t source(int p, int t, int j, int k, ptrdiff_t e) const { return same.source(p, t, j, k, e); }
  HD double diagonal(ptrdiff_t e) const { return coefficient<centre<D, Box>()>(e); }
};

template <int D, bool Box> Stencil3<D, Box> stencil(const Level &l, const Operator &op)
{
  return {op.a.data(), op.inverse.data(), (ptrdiff_t)l.layout.size(),          l.layout.sj,
          l.layout.sk, l.layout.half,     box::stretches(l.layout, op.same), {}};
}

// Nodes [lo, hi) of a row.
struct Run {
  int lo, hi;
};

// The nodes that take part and have one stencil in each of the rows [j0, j1) x [k0, k1), on the host: none but by
// Operator::same.
inline Run repeating(const Level &l, const Operator &op, int j0, int j1, int k0, int k1)
{
  Run run{l.own.lo[0], l.own.hi[0]};
  if (j0 < l.own.lo[1] || j1 > l.own.hi[1] || k0 < l.own.lo[2] || k1 > l.own.hi[2]) return {run.lo, run.lo};
  for (int k = k0; k < k1; ++k)
    for (int j = j0; j < j1; ++j) {
      // of even nodes, of odd ones
      const int *same = op.same.data() + box::stretches(l.layout, op.same).at(0, j, k);
      run.lo = std::max({run.lo, 2 * same[0] - 1, 2 * same[2]});
      run.hi = std::min({run.hi, 2 * same[1], 2 * same[3] + 1});
      if (run.lo + 1 >= run.hi || op.inverse.data()[l.layout.at(run.lo, j, k)] == 0 ||
          op.inverse.data()[l.layout.at(run.lo + 1, j, k)] == 0)
        return {l.own.lo[0], l.own.lo[0]};
    }
  return run;
}

} // namespace tessera::vipmg
