// One grid of the Galerkin form in two kernels, down and up, for the smoother by points with one sweep (rrb_march.k.cxx).
#pragma once
#include "core/warp.hpp"
#include "rrb/galerkin_levels.hpp"

namespace tessera::rrb {

// Is this grid one for these kernels? On the device, with no ghost nodes to exchange.
template <class T> bool marches(const Plan &plan, int l);

// From the right-hand side to that of the next grid; the sweeps' result stays beside x.
// 9-point grids of fewer than `at_once` nodes: a warp a row.
template <class T> void march_down(Plan &plan, int l, const View<T> &b, long at_once = tuning::rows_at_once);
// The correction by the next grid's x and the sweeps after it.
// With a reduction, on S1: *dot = b'x.
template <class T> void march_up(Plan &plan, int l, const View<T> &b, const View<T> &x, Reduction *reduction = nullptr, double *dot = nullptr, long at_once = tuning::rows_at_once);

} // namespace tessera::rrb
