// Cycles, written as the papers write them.
#include "vipmg/vipmg.hpp"
#include <algorithm>

namespace tessera::vipmg {

namespace {

// The coarsest grid has two or three nodes a direction, unless the user stopped before: sweeps solve it.
int coarsest_sweeps(const Level &l)
{
  const int n = std::max({l.n[0], l.n[1], l.n[2]});
  return n < 10 ? 10 + 2 * n * n : 200;
}

bool full_cycle(const Plan &plan) { return plan.params.cycle == Cycle::f || (plan.params.cycle == Cycle::automatic && plan.exec.space == Space::host); }

// How often level k is visited: on its way down an F-cycle goes up and down again on every coarse grid.
int visits(const Plan &plan, int k, int top, bool f) { return k > top && (plan.params.cycle == Cycle::w || f) ? 2 : 1; }

// Monotone multigrid for the problem of level k.
void monotone(Plan &plan, int k, int top, bool f)
{
  Level &l = plan.levels[(size_t)k];
  if (k + 1 == (int)plan.levels.size()) return smooth(plan, l, l.A, l.x.data(), l.b.data(), {true, false}, coarsest_sweeps(l));
  Level    &c = plan.levels[(size_t)k + 1];
  const int n = visits(plan, k, top, f);
  for (int visit = 0; visit < n; ++visit) {
    smooth(plan, l, l.A, l.x.data(), l.b.data(), {true, false}, plan.params.pre);
    residual(plan, l, l.A, l.x.data(), l.b.data(), l.r.data(), false);
    restrict_problem(plan, l, c, plan.params.variant == Variant::paper ? Bounds::mean : Bounds::monotone);
    monotone(plan, k + 1, top, f && visit == 0);
    prolong_add(plan, l, c, l.x.data(), l.A, true, false);
    smooth(plan, l, l.A, l.x.data(), l.b.data(), {true, false}, plan.params.post);
  }
}

// A linear cycle for A x = b of the inactive nodes on a level below the one that is solved.
void linear(Plan &plan, int k, int top, bool f)
{
  Level &l = plan.levels[(size_t)k];
  if (k + 1 == (int)plan.levels.size()) return smooth(plan, l, l.truncated, l.x.data(), l.b.data(), {false, false}, coarsest_sweeps(l));
  Level    &c = plan.levels[(size_t)k + 1];
  const int n = visits(plan, k, top, f);
  for (int visit = 0; visit < n; ++visit) {
    smooth(plan, l, l.truncated, l.x.data(), l.b.data(), {false, false}, plan.params.pre);
    residual(plan, l, l.truncated, l.x.data(), l.b.data(), l.r.data(), false);
    restrict_residual(plan, l, c, l.r.data());
    linear(plan, k + 1, top, f && visit == 0);
    prolong_add(plan, l, c, l.x.data(), l.truncated, false, false);
    smooth(plan, l, l.truncated, l.x.data(), l.b.data(), {false, false}, plan.params.post);
  }
}

// Truncated Newton multigrid.
void newton(Plan &plan, int top)
{
  Level &l = plan.levels[(size_t)top];
  smooth(plan, l, l.A, l.x.data(), l.b.data(), {true, false}, std::max(1, plan.params.pre));
  if (top + 1 == (int)plan.levels.size()) return;
  Level &c = plan.levels[(size_t)top + 1];
  if (mark_inactive(plan, l) || plan.truncated_for != top) truncate(plan, top);
  residual(plan, l, l.A, l.x.data(), l.b.data(), l.r.data(), false);
  l.v.zero();
  smooth(plan, l, l.A, l.v.data(), l.r.data(), {false, true}, plan.params.pre);
  residual(plan, l, l.A, l.v.data(), l.r.data(), l.w.data(), true);
  restrict_residual(plan, l, c, l.w.data());
  linear(plan, top + 1, top, full_cycle(plan));
  prolong_add(plan, l, c, l.v.data(), l.A, false, true);
  smooth(plan, l, l.A, l.v.data(), l.r.data(), {false, true}, plan.params.post);
  recombine(plan, l);
  line_search(plan, l);
}

} // namespace

void cycle(Plan &plan, int top, bool with_monotone, bool with_newton)
{
  if (with_monotone) monotone(plan, top, top, full_cycle(plan));
  if (with_newton) newton(plan, top);
}

void full_multigrid(Plan &plan)
{
  const int last = (int)plan.levels.size() - 1;
  // The residual of every level is its right-hand side where x is zero.
  for (int k = 0; k < last; ++k) {
    Level &l = plan.levels[(size_t)k];
    residual(plan, l, l.A, l.x.data(), l.b.data(), l.r.data(), false);
    restrict_problem(plan, l, plan.levels[(size_t)k + 1], Bounds::inject);
  }
  for (int k = last; k >= 0; --k) {
    Level &l = plan.levels[(size_t)k];
    if (k == last) smooth(plan, l, l.A, l.x.data(), l.b.data(), {true, false}, coarsest_sweeps(l));
    else prolong_start(plan, l, plan.levels[(size_t)k + 1]);
    copy(l.x, l.y);
    if (k > 0 && k < last) cycle(plan, k, plan.params.variant != Variant::tnnmg, plan.params.variant == Variant::hybrid || plan.params.variant == Variant::tnnmg);
  }
}

} // namespace tessera::vipmg
