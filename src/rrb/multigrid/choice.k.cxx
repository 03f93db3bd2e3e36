// What the Galerkin form does where coefficients are rough: the order of the choices, the trial, and what follows
// from it.
#include "rrb/multigrid/choice.hpp"
#include "box/tuning.hpp"
#include "rrb/multigrid/kernels.hpp"
#include <algorithm>
#include <climits>

namespace tessera::rrb {

bool chooses(const Params &p)
{
  return p.trial && p.smoother == Smoother::automatic && p.weights == Weights::automatic &&
         p.cycle == Cycle::automatic && !p.smooth;
}

Smoother choose_smoother(const Plan &plan, const Directions &d)
{
  if (plan.params.smoother != Smoother::automatic) return plan.params.smoother;
  if (adds_sweeps(plan.choice.remedy) || plan.choice.remedy == Remedy::algebraic) return Smoother::point;
  if (plan.choice.remedy == Remedy::lines) return Smoother::line_alternating;
  const bool diagonal = d.diagonal > tuning::diagonal_fraction, y = d.weak_x > tuning::weak_fraction || diagonal,
             x = d.weak_y > tuning::weak_fraction || diagonal;
  return x && y ? Smoother::line_alternating : y ? Smoother::line_y : x ? Smoother::line_x : Smoother::point;
}

bool takes_algebraic(const Plan &plan, const Level &g)
{
  return plan.strategy->algebraic && g.grid.size() > 4 * tuning::algebraic_least && g.grid.size() < INT_MAX / 5 &&
         (!g.grid.periodic_x || g.grid.nx >= 8) && (!g.grid.periodic_y || g.grid.ny >= 8);
}

// Iterations that CG will need for a reduction by 1e-6, by the reduction of a few. The right-hand side is rough with
// a smooth part, as what a choice does badly may be a few nearly constant parts, of which a rough one alone has next
// to nothing. Singular operators have it in their range: A u, where u is M's solution for these.
template <class T> double Multigrid<T>::try_out(Plan &plan, int l)
{
  Level             &g = plan.levels[(size_t)l];
  MultigridLevel<T> &s = levels[(size_t)l];
  GalerkinSpace<T>   space(plan, l);
  for (FieldOf<T> *f : {&space.r, &space.w, &space.d, &space.q}) resize_black(g.layout, *f);
  fill_random(plan.exec, g.grid, mask_o | mask_c, 0, space.d.v);
  space.combine(1, space.d, 0, space.r); // its ghost nodes change
  space.precondition(space.r, space.w);
  const double rough = space.dot(space.d, space.d), smooth = space.dot(space.w, space.w);
  if (!(rough > 0) || !(smooth > 0) || !std::isfinite(smooth)) return rough > 0 ? choice_never : 1;
  auto energy = [&](FieldOf<T> &v) {
    space.multiply(v, s.x);
    return space.dot(v, s.x);
  };
  // A solution in the null space, but for rounding, would be all that is left of A u.
  const bool null = std::is_same_v<T, double> && energy(space.w) / smooth <= choice_null * energy(space.d) / rough;
  if (null) space.combine(1, space.d, 0, s.x);
  else {
    space.combine(choice_smooth * sqrt(rough / smooth), space.w, 1, space.d);
    space.precondition(space.d, s.x);
  }
  space.multiply(s.x, space.r);
  // algebraic levels are seldom bad
  const size_t        steps = plan.choice.remedy == Remedy::algebraic ? 5 : tuning::trial_steps;
  const double        first = sqrt(space.dot(space.r, space.r)), goal = 1e-6 * first;
  double              last = first, predicted = choice_never;
  bool                broke = true; // an indefinite M, unless nothing was left to do
  std::vector<double> norms;
  cg_steps(space, (int)steps, [&](double, double, GalerkinSpace<T> &v) {
    const double now = sqrt(v.dot(v.r, v.r)), n = (double)norms.size();
    norms.push_back(now);
    broke = false;
    if (now <= goal) predicted = n + log(last / goal) / log(last / now);
    else if (norms.size() == steps) {
      const double rho = pow(now / norms[2], 1. / (n - 2));
      predicted        = rho < 1 ? n + 1 + log(goal / now) / log(rho) : choice_never;
    } else broke = true;
    last = now;
    return now > goal;
  });
  for (FieldOf<T> *f : {&space.r, &space.w, &space.d, &space.q}) *f = FieldOf<T>();
  if (!broke) return predicted;
  const double rounding = (std::is_same_v<T, float> ? 1e-5 : 1e-12) * first;
  return last <= rounding ? 1 : choice_never;
}
template double Multigrid<double>::try_out(Plan &, int);
template double Multigrid<float>::try_out(Plan &, int);

// The choices in the order in which they are tried. Few jumps, as between the blocks of a checkerboard, are a matter
// of the interpolation or of the cycle; jumps everywhere of smoothing.
static std::vector<Remedy> choices(const Plan &plan)
{
  const size_t     root = first_working_level(plan);
  const Directions d    = report(plan, root).shares;
  const bool       many = d.jumps >= tuning::few_jumps;
  if (takes_algebraic(plan, plan.levels[root])) {
    const Remedy first = many ? Remedy::sweeps : Remedy::fitted;
    if (d.leaps > tuning::more_leaps && d.leaps > tuning::leaping_jumps * d.jumps)
      return {Remedy::no, Remedy::algebraic, first};
    // Where sweeps do fairly well the choice is that of a device.
    const bool fair = plan.choice.expects(Remedy::no) <= tuning::trial_fair ||
                      (plan.choice.expects(first) > 0 && plan.choice.expects(first) <= tuning::trial_fair);
    if (!many || !fair) return {Remedy::no, first, Remedy::algebraic};
  }
  return many ? plan.strategy->many : plan.strategy->few;
}

// What an iteration costs, in those of the usual choice.
static double cost(const Plan &plan, Remedy r)
{
  const bool sweeps_do = plan.choice.expects(Remedy::sweeps) <= tuning::trial_fair,
             lines     = r == Remedy::no ? plan.choice.usual_lines
                                         : r == Remedy::lines || (r == Remedy::fitted_sweeps && sweeps_do),
             slow      = plan.strategy->slow_lines && lines;
  return slow ? choice_slow : r == Remedy::no ? 1 : choice_cost;
}

double rival_iterations(const Plan &plan)
{
  const Choice &in_use = plan.choice;
  double        least = choice_never;
  if (!(in_use.expects(Remedy::no) > 0)) return least;
  for (Remedy r : choices(plan)) {
    if (!(in_use.expects(r) > 0)) return 0;
    if (r != in_use.remedy) least = std::min(least, cost(plan, r) * in_use.expects(r) / cost(plan, in_use.remedy));
  }
  return least;
}

// What follows from the iterations that are expected so far: the choice in use, settled, or another one to be set up.
static Choice choose(const Plan &plan)
{
  Choice choice = plan.choice;
  if (!(choice.expects(Remedy::no) > 0)) { // algebraic levels before anything else
    choice.settled = choice.expects() <= tuning::trial_fair;
    if (!choice.settled) choice.remedy = Remedy::no;
    return choice;
  }
  Remedy best = Remedy::no, next = Remedy::no; // next: the first one that has not been tried
  for (Remedy r : choices(plan)) {
    if (!(choice.expects(r) > 0)) {
      next = r;
      break;
    }
    if (cost(plan, r) * choice.expects(r) < cost(plan, best) * choice.expects(best)) best = r;
  }
  const bool go_on = next != Remedy::no && choice.expects(best) > (next == Remedy::amli ? choice_cycle : choice_others);
  choice.settled   = !go_on && best == choice.remedy;
  choice.remedy    = go_on ? next : best;
  return choice;
}

bool unfit_for_single(const Plan &plan)
{
  return plan.params.single && plan.choice.expects(Remedy::no) >= choice_never;
}

bool disprove_choice(Plan &plan, double iterations)
{
  plan.choice.expected[(int)plan.choice.remedy] = iterations;
  plan.choice = choose(plan);
  return !plan.choice.settled;
}

bool try_choice(Plan &plan)
{
  if (std::holds_alternative<Lumped>(plan.method)) return false;
  const Params &p = plan.params;
  const size_t      root = first_working_level(plan);
  const GridReport  grid = report(plan, root);
  const Directions &d    = grid.shares;
  const bool        wanted = !plan.choice.settled && chooses(p);
  const bool        doubtful = d.jumps > 0 || (d.weak_x > tuning::mixed_fraction && d.weak_y > tuning::mixed_fraction);
  double           &expected = plan.choice.expected[(int)plan.choice.remedy];
  // known: back from another one
  if (!wanted || !grid.of_schur || !doubtful || plan.levels[root].step != Step::coarsen || expected > 0) {
    plan.choice.settled = true;
    return false;
  }
  if (plan.choice.remedy == Remedy::no) plan.choice.usual_lines = grid.smoother != Smoother::point;
  expected = std::visit([&](auto &m) { return m.try_out(plan, (int)root); }, plan.method);
  // gathered grids are tried by every process for itself
  MPI_Bcast(&expected, 1, MPI_DOUBLE, 0, plan.levels[0].grid.comm);
  plan.choice = choose(plan);
  return !plan.choice.settled;
}

} // namespace tessera::rrb
