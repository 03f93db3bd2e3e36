#include "vipmg/solver.hpp"
#include <algorithm>

namespace tessera::vipmg {

// The coarsest grid has two or three nodes per direction, unless the user stopped before: sweeps solve it.
int coarsest_sweeps(const Level &l)
{
  const int n = std::max({l.n[0], l.n[1], l.n[2]});
  return n < 10 ? 10 + 2 * n * n : 200;
}

int first_sweeps(const Plan &plan) { return std::max(1, plan.choice.pre); }

void GridSolver::monotone_down(Plan &plan, Level &l, Level &next) const
{
  smooth_down(plan, l, &next, l.A, l.x.data(), l.b.data(), {true, false}, plan.choice.pre, l.r.data(),
              plan.choice.variant == Variant::klement_oberhuber ? Bounds::mean : Bounds::monotone);
}

ActiveSet GridSolver::monotone_up(Plan &plan, Level &l, const Level &next, bool find) const
{
  const int post = plan.choice.post;
  if (find)
    return smooth_and_mark(plan, l, &next, post + first_sweeps(plan)) ? ActiveSet::changed : ActiveSet::same;
  smooth_up(plan, l, next, l.A, l.x.data(), l.b.data(), {true, false}, post);
  return ActiveSet::unknown;
}

ActiveSet GridSolver::find_active(Plan &plan, Level &l, Fields &) const
{
  return smooth_and_mark(plan, l, nullptr, first_sweeps(plan)) ? ActiveSet::changed : ActiveSet::same;
}

void GridSolver::linear_down(Plan &plan, Level &l, Level &next, const Equation &e, bool) const
{
  if (e.correction && !l.by_rows) l.v.zero();
  smooth_down(plan, l, &next, e.A, e.x, e.b, {false, e.correction}, plan.choice.pre, e.r, Bounds::none,
              e.correction && l.by_rows);
}

void GridSolver::linear_up(Plan &plan, Level &l, const Level &next, const Equation &e, bool) const
{
  smooth_up(plan, l, next, e.A, e.x, e.b, {false, e.correction}, plan.choice.post);
}

bool GridSolver::correct(Plan &plan, Level &l, const Fields &) const
{
  return recombine(plan, l, &l == plan.levels.data());
}

void GridSolver::solve(const Plan &plan, Level &l, const Operator &op, bool projected) const
{
  smooth(plan, l, op, l.x.data(), l.b.data(), {projected, false}, coarsest_sweeps(l));
}

void choose(Plan &plan)
{
  static const GridSolver       points;
  static const Lines<GridSolver> lines;
  static const Tiles            tiles;
  static const Lines<Tiles>     tiles_and_lines;
  static const OneBlock         one_block;
  const Strategy &strategy = *plan.strategy;
  for (Level &l : plan.levels) l.ordered = l.ordered && strategy.follows_wind;
  plan.choice = resolve(plan, plan.params);
  for (Level &l : plan.levels) {
    const bool last = &l == &plan.levels.back(), by_lines = !l.ordered && (l.lines[0] || l.lines[1]);
    const bool alone = plan.dimension == 2 && l.halo.empty(); // a plane grid without ghosts
    l.by_rows = plan.passes() && alone && !l.own.empty();
    if (!strategy.tiles || !alone || !Tiles::serve(plan, l)) l.solver = by_lines ? &lines : &points;
    else if (last) l.solver = OneBlock::serves(l) ? &one_block : &points;
    else l.solver = by_lines ? (const GridSolver *)&tiles_and_lines : &tiles;
  }
  plan.recorded = strategy.records && plan.levels[0].shared;
}

} // namespace tessera::vipmg
