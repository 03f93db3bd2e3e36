// One grid of the Galerkin form in two kernels, down and up, for the smoother by points with one sweep; with more on
// S1, in one for each of them (march.k.cxx).
#pragma once
#include "box/warp.hpp"
#include "rrb/multigrid/levels.hpp"

namespace tessera::rrb {

// On several processes: layers of ghost cells that right-hand sides are needed in, and that x is right in.
constexpr int march_layers = 6, march_layers_x = 3;

// How a grid is swept, by its smoother and number of sweeps: by these kernels on the device; on several processes not
// in periodic directions and with one sweep.
template <class T> Sweeping sweeping(const Plan &plan, const Level &g, const MultigridLevel<T> &s);

// On several processes, after a setup: coefficients at the ghost nodes. Collective.
template <class T> void march_setup(Plan &plan, int l);

// From the right-hand side, whose ghost nodes change, to that of the next grid; the sweeps' result stays beside x,
// or, of an even number of them on S1, in x. 9-point grids of fewer than `at_once` nodes: a warp per row.
template <class T>
void march_down(Plan &plan, int l, const View<T> &b, const View<T> &x, long at_once = tuning::rows_at_once);
// The correction by the next grid's x, right in march_layers_x layers of ghost cells, and the sweeps after it. x is
// then right in that many layers too, on S1 in one. With a reduction, on S1: *dot = b'x.
template <class T> void march_up(Plan &plan, int l, const View<T> &b, const View<T> &x, Reduction *reduction = nullptr,
                                 double *dot = nullptr, long at_once = tuning::rows_at_once);

} // namespace tessera::rrb
