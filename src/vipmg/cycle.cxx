// Cycles, written as the papers write them.
#include "vipmg/vipmg.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace tessera::vipmg {

namespace {

// The coarsest grid has two or three nodes a direction, unless the user stopped before: sweeps solve it.
int coarsest_sweeps(const Level &l)
{
  const int n = std::max({l.n[0], l.n[1], l.n[2]});
  return n < 10 ? 10 + 2 * n * n : 200;
}

// How often level k is visited: on its way down an F-cycle goes up and down again on every coarse grid.
int visits(const Plan &plan, int k, int top, bool f) { return k > top && (plan.params.cycle == Cycle::w || f) ? 2 : 1; }

// The coarsest level, in x.
void bottom(Plan &plan, Level &l, const Operator &op, bool projected)
{
  const int sweeps = coarsest_sweeps(l);
  if (!tiled(plan, l) || !tile_bottom(plan, l, op, projected, sweeps))
    smooth(plan, l, op, l.x.data(), l.b.data(), {projected, false}, sweeps);
}

// Projected sweeps with which the truncated Newton part begins.
int first_sweeps(const Plan &plan) { return std::max(1, chosen(plan).pre); }

// What the truncated Newton part begins with, a sweep, the active set and the residual: it is there, and the set is
// the last one, or may be another.
enum class Begun { no, same, changed };

// Monotone multigrid for the problem of level k. finish: what the truncated Newton part begins with comes along.
Begun monotone(Plan &plan, int k, int top, bool f, bool finish)
{
  Level &l = plan.levels[(size_t)k];
  if (k + 1 == (int)plan.levels.size()) return bottom(plan, l, l.A, true), Begun::no;
  Level    &c = plan.levels[(size_t)k + 1];
  const int n = visits(plan, k, top, f);
  Begun     begun = Begun::no;
  for (int visit = 0; visit < n; ++visit) {
    if (tiled(plan, l)) {
      tile_monotone_down(plan, l, c);
      monotone(plan, k + 1, top, f && visit == 0, false);
      begun = tile_monotone_up(plan, l, c, finish && visit + 1 == n) ? Begun::changed : Begun::no;
      continue;
    }
    smooth_down(plan, l, &c, l.A, l.x.data(), l.b.data(), {true, false}, chosen(plan).pre, l.r.data(),
                plan.params.variant == Variant::paper ? Bounds::mean : Bounds::monotone);
    monotone(plan, k + 1, top, f && visit == 0, false);
    if (finish && visit + 1 == n)
      return smooth_and_mark(plan, l, &c, chosen(plan).post + first_sweeps(plan)) ? Begun::changed : Begun::same;
    smooth_up(plan, l, c, l.A, l.x.data(), l.b.data(), {true, false}, chosen(plan).post);
  }
  return begun;
}

bool by_lines(const Level &l) { return l.lines[0] || l.lines[1]; }

// The coarse correction and linear sweeps, of all nodes or of the inactive ones. scratch: a field.
void linear_up(Plan &plan, Level &l, const Level &c, const Operator &op, double *x, const double *b, bool masked,
               double *scratch)
{
  if (!by_lines(l)) return smooth_up(plan, l, c, op, x, b, {false, masked}, chosen(plan).post);
  prolong_add(plan, l, c, x, op, false, masked);
  smooth_lines(plan, l, op, x, b, masked, true, chosen(plan).post, scratch);
}

// Linear sweeps, the residual r after them and the coarse right-hand side. zero: as smooth_down() has it.
void linear_down(Plan &plan, Level &l, Level &c, const Operator &op, double *x, const double *b, bool masked, double *r,
                 bool zero = false)
{
  if (!by_lines(l)) return smooth_down(plan, l, &c, op, x, b, {false, masked}, chosen(plan).pre, r, Bounds::none, zero);
  smooth_lines(plan, l, op, x, b, masked, false, chosen(plan).pre, r);
  residual(plan, l, op, x, b, r, masked);
  restrict_problem(plan, l, c, r, Bounds::none);
}

// A linear cycle for A x = b of the inactive nodes on a level below the one that is solved.
void linear(Plan &plan, int k, int top, bool f)
{
  Level &l = plan.levels[(size_t)k];
  if (k + 1 == (int)plan.levels.size()) return bottom(plan, l, l.truncated, false);
  Level    &c = plan.levels[(size_t)k + 1];
  const int n = visits(plan, k, top, f);
  for (int visit = 0; visit < n; ++visit) {
    if (!visit && tiled(plan, l) && !by_lines(l)) {
      tile_linear_down(plan, l, c);
      linear(plan, k + 1, top, f);
      tile_linear_up(plan, l, c);
      continue;
    }
    linear_down(plan, l, c, l.truncated, l.x.data(), l.b.data(), false, l.r.data());
    linear(plan, k + 1, top, f && visit == 0);
    linear_up(plan, l, c, l.truncated, l.x.data(), l.b.data(), false, l.w.data());
  }
}

// The correction v of the finest level: A v = r of inactive nodes, by a linear cycle, or by sweeps where there is no
// coarser level. scratch: a field.
void correction(Plan &plan, int top, double *scratch)
{
  Level &l = plan.levels[(size_t)top];
  if (top + 1 == (int)plan.levels.size()) {
    l.v.zero();
    return smooth(plan, l, l.A, l.v.data(), l.r.data(), {false, true}, coarsest_sweeps(l));
  }
  Level &c = plan.levels[(size_t)top + 1];
  if (tiled(plan, l) && !by_lines(l)) {
    tile_newton_down(plan, l, c, scratch);
    linear(plan, top + 1, top, chosen(plan).cycle == Cycle::f);
    return tile_newton_up(plan, l, c, scratch);
  }
  const bool rows = by_rows(plan, l) && !by_lines(l);
  if (!rows) l.v.zero();
  linear_down(plan, l, c, l.A, l.v.data(), l.r.data(), true, scratch, rows);
  linear(plan, top + 1, top, chosen(plan).cycle == Cycle::f);
  linear_up(plan, l, c, l.A, l.v.data(), l.r.data(), true, scratch);
}

// Truncated Newton multigrid.
void newton(Plan &plan, int top, Begun begun)
{
  Level     &l    = plan.levels[(size_t)top];
  const bool last = top + 1 == (int)plan.levels.size();
  if (tiled(plan, l) && !last) {
    const bool finished = begun != Begun::no;
    if (!finished) tile_finish(plan, l);
    double *x = finished ? l.x.data() : l.w.data(), *scratch = finished ? l.w.data() : l.x.data();
    truncate(plan, top);
    correction(plan, top, scratch);
    return correct(plan, l, x);
  }
  if (begun == Begun::no) begun = smooth_and_mark(plan, l, nullptr, first_sweeps(plan)) ? Begun::changed : Begun::same;
  if (begun == Begun::changed || plan.truncated_for != top) truncate(plan, top);
  correction(plan, top, l.w.data());
  recombine(plan, l, top == 0);
}

} // namespace

namespace {

void launch_cycle(Plan &plan, int top, bool with_monotone, bool with_newton)
{
  Begun begun = Begun::no;
  if (with_monotone) begun = monotone(plan, top, top, chosen(plan).cycle == Cycle::f, with_newton);
  if (with_newton) newton(plan, top, begun);
}

// What is recorded of a cycle, but for addresses.
uint64_t key(const Plan &plan)
{
  const Params   p    = chosen(plan);
  const uint64_t ints =
    (uint64_t)p.variant +
    8 * ((uint64_t)p.cycle + 8 * ((uint64_t)p.pre + 1024 * ((uint64_t)p.post + 1024 * (uint64_t)plan.symmetric)));
  uint64_t       omega;
  std::memcpy(&omega, &p.omega, sizeof omega);
  return ((plan.made * 1099511628211ull) ^ ints) * 1099511628211ull ^ omega;
}

// Of the sums of a cycle: one for each block.
size_t scratch_of(const Level &l)
{
  const size_t most = 4096 + (size_t)(l.own.hi[0] - l.own.lo[0]) / 32;
  return most * std::max(sizeof(Measure), sizeof(Search)) / sizeof(double);
}

} // namespace

void cycle(Plan &plan, int top, bool with_monotone, bool with_newton)
{
  const Level &l = plan.levels[(size_t)top];
  plan.measured  = false;
  if (top == 0 && plan.exec.space == Space::cuda && l.shared)
    plan.cycles[2 * with_monotone + with_newton].run(key(plan), scratch_of(l),
                                                     [&] { launch_cycle(plan, top, with_monotone, with_newton); });
  else launch_cycle(plan, top, with_monotone, with_newton);
}

double flops(const Plan &plan, int top, bool with_monotone, bool with_newton)
{
  const Params p     = chosen(plan);
  const int    parts = (int)with_monotone + (int)with_newton;
  double       sum   = 0;
  for (int k = top; k < (int)plan.levels.size(); ++k) {
    const Level &l       = plan.levels[(size_t)k];
    const double product = 2. * points(plan.dimension, l.A.box) * (double)l.own.size(),
                 visited = p.cycle == Cycle::w ? std::ldexp(1., k - top)
                         : p.cycle == Cycle::f ? k - top + 1
                                               : 1;
    const int    sweeps  = k + 1 == (int)plan.levels.size() ? coarsest_sweeps(l) : p.pre + p.post;
    sum += parts * visited * (sweeps + 1) * product;                      // sweeps, residual
    // the projected sweeps, their residual, three products of the line searches
    if (k == top && with_newton) sum += (std::max(1, p.pre) + 4) * product;
  }
  return sum;
}

namespace {

void launch_full_multigrid(Plan &plan)
{
  const int last = (int)plan.levels.size() - 1;
  // The residual of every level is its right-hand side where x is zero.
  for (int k = 0; k < last; ++k) {
    Level &l = plan.levels[(size_t)k];
    smooth_down(plan, l, &plan.levels[(size_t)k + 1], l.A, l.x.data(), l.b.data(), {true, false}, 0, l.r.data(),
                Bounds::inject);
  }
  for (int k = last; k >= 0; --k) {
    Level &l = plan.levels[(size_t)k];
    if (k == last) smooth(plan, l, l.A, l.x.data(), l.b.data(), {true, false}, coarsest_sweeps(l));
    else prolong_start(plan, l, plan.levels[(size_t)k + 1]);
    copy(l.x, l.y);
    if (k > 0 && k < last) cycle(plan, k, with_monotone_below(plan), with_newton(plan));
  }
}

} // namespace

// To record it takes as long as to launch it once, so it is worth the while from the second time on.
void full_multigrid(Plan &plan)
{
  const Level   &l   = plan.levels[0];
  const uint64_t now = key(plan);
  plan.measured      = false;
  if (plan.exec.space == Space::cuda && l.shared && std::exchange(plan.started, now) == now)
    plan.start.run(now, scratch_of(l), [&] { launch_full_multigrid(plan); });
  else launch_full_multigrid(plan);
}

} // namespace tessera::vipmg
