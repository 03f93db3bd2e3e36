// Gauss-Seidel sweeps of a plane grid that follow the wind: node by node along the rows and row by row, in each of the
// four orders that this can have. Whatever the wind's direction, one of them goes with it, and takes what upwind
// differences bring from node to node all the way across the grid; the orders follow each other as a whirl turns. Where
// there are bounds, this finds the nodes at them as the wind comes to them.
//
// Only the node before makes a row's nodes depend on each other, so all the rest of their equations comes first, in
// vectors. On several processes each sweep begins at those in a corner of the grid, and the others follow by diagonals,
// with 9-point operators two along y for one along x, as a process waits for the one before in the row behind as well.
//
// Bytes per node of each of the four, 5-point star: 4 couplings, inverse, right-hand side, x read and written, and two
// bounds where there are any: 64 or 80.
#include "vipmg/stencil3.hpp"
#include <algorithm>
#include <vector>

namespace tessera::vipmg {

namespace {

// Of the nodes of a row: x is to be right - factor * (x of the node on side Before).
template <class S, int D, bool Box, bool Masked, int Before> struct Equations {
  S              s;
  const double  *x, *b;
  const uint8_t *mask;
  double         omega, *right, *factor; // by nodes, from the row's beginning
  int            lo;
  template <int P> HD void at(int t, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    double          d = omega * s.inverted(e);
    if (Masked) d = mask[e] ? d : 0;
    const double a    = s.template coefficient<plane_of<D, Box>(Before, 0, 0)>(e),
                 rest = s.template neighbours<P>(x, e, o) - a * x[o + beside<P, Before>(s.half)],
                 next = (1 - omega) * x[e] + d * (b[e] - rest);
    right[2 * t + P - lo]  = d != 0 ? next : x[e];
    factor[2 * t + P - lo] = d * a;
  }
};

struct Row {
  std::vector<double> right, factor;
};

template <bool Box, bool Masked, int Before>
void sweep_row(const Level &l, const Operator &op, double *x, const double *b, const Sweep &how, double omega, int j,
               Row &row)
{
  using S      = Stencil3<2, Box>;
  const int lo = l.own.lo[0], hi = l.own.hi[0], half = l.layout.half;
  const Equations<S, 2, Box, Masked, Before> equations{
    stencil<2, Box>(l, op), x, b, l.inactive.data(), omega, row.right.data(), row.factor.data(), lo};
  half_row<0>(l.layout, j, 0, half_begin(lo, 0), half_begin(hi, 0), equations);
  half_row<1>(l.layout, j, 0, half_begin(lo, 1), half_begin(hi, 1), equations);
  const ptrdiff_t     o = l.layout.row(j, 0);
  const double *const lower = l.lo.data() + o, *const upper = l.up.data() + o, *const right = row.right.data(),
                     *const factor = row.factor.data();
  x += o;
  const auto place = [&](int i) { return floor_half(i) + (i & 1) * (ptrdiff_t)half; };
  const int  first = Before < 0 ? lo : hi - 1, end = Before < 0 ? hi : lo - 1;
  double     last = x[place(first + Before)];
  if (how.projected)
    for (int i = first; i != end; i -= Before) {
      const ptrdiff_t e = place(i);
      last              = between(right[i - lo] - factor[i - lo] * last, lower[e], upper[e]);
      x[e]              = last;
    }
  else
    for (int i = first; i != end; i -= Before) {
      last        = right[i - lo] - factor[i - lo] * last;
      x[place(i)] = last;
    }
}

template <bool Box, bool Masked>
void sweep_rows(const Level &l, const Operator &op, double *x, const double *b, const Sweep &how, double omega,
                bool back, bool down, Row &row)
{
  const int first = l.own.lo[1], n = l.own.hi[1] - first;
  for (int r = 0; r < n; ++r) {
    const int j = first + (down ? n - 1 - r : r);
    if (back) sweep_row<Box, Masked, 1>(l, op, x, b, how, omega, j, row);
    else sweep_row<Box, Masked, -1>(l, op, x, b, how, omega, j, row);
  }
}

} // namespace

void sweep_in_order(const Plan &plan, Level &l, const Operator &op, double *x, const double *b, const Sweep &how)
{
  const double omega = how.projected ? plan.params.omega : 1;
  const bool   masked = how.masked && !how.projected;
  const auto   sweep  = op.box ? (masked ? sweep_rows<true, true> : sweep_rows<true, false>)
                               : (masked ? sweep_rows<false, true> : sweep_rows<false, false>);
  const size_t n      = (size_t)std::max(0, l.own.hi[0] - l.own.lo[0]);
  Row          row{std::vector<double>(n), std::vector<double>(n)};
  const int   *place = l.place, *all = l.processes, rows = op.box ? 2 : 1;
  for (int k = 0; k < 4; ++k) { // the orders
    const bool back = k == 1 || k == 2, down = k >= 2;
    const int  turn = (back ? all[0] - 1 - place[0] : place[0]) + rows * (down ? all[1] - 1 - place[1] : place[1]);
    for (int step = 0; step < all[0] + rows * (all[1] - 1); ++step) {
      if (step == turn && !l.own.empty()) sweep(l, op, x, b, how, omega, back, down, row);
      l.halo.exchange(x);
    }
  }
}

} // namespace tessera::vipmg
