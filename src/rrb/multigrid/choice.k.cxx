// What the Galerkin form does where coefficients are rough: the order of the choices, the trial, and what follows
// from it.
#include "rrb/multigrid/choice.hpp"
#include "box/tuning.hpp"
#include "rrb/multigrid/kernels.hpp"
#include <algorithm>

namespace tessera::rrb {

bool chooses(const Params &p)
{
  return p.trial && p.smoother == Smoother::automatic && p.weights == Weights::automatic &&
         p.cycle == Cycle::automatic && !p.smooth;
}

Smoother choose_smoother(const Plan &plan, const Directions &d)
{
  if (plan.params.smoother != Smoother::automatic) return plan.params.smoother;
  if (adds_sweeps(plan.rough) || plan.rough == Rough::algebraic) return Smoother::point;
  if (plan.rough == Rough::lines) return Smoother::line_alternating;
  const bool diagonal = d.diagonal > tuning::diagonal_share, y = d.weak_x > tuning::weak_share || diagonal,
             x = d.weak_y > tuning::weak_share || diagonal;
  return x && y ? Smoother::line_alternating : y ? Smoother::line_y : x ? Smoother::line_x : Smoother::point;
}

bool takes_algebraic(const Plan &plan, const Level &g)
{
  return plan.exec.space == Space::host && g.grid.size() > 4 * tuning::algebraic_least && g.grid.size() < INT_MAX / 5 &&
         (!g.grid.periodic_x || g.grid.nx >= 8) && (!g.grid.periodic_y || g.grid.ny >= 8);
}

namespace {

// Iterations that CG will need for a reduction by 1e-6, by the reduction of a few. The right-hand side is rough with
// a smooth part, as what a choice does badly may be a few nearly constant parts, of which a rough one alone has next
// to nothing. Singular operators have it in their range: A u, where u is M's solution for these.
template <class T> double try_out(Plan &plan, int l)
{
  Level           &g = plan.levels[(size_t)l];
  Smoothing<T>    &s = hierarchy<T>(plan)[(size_t)l];
  for (FieldOf<T> *f : {&s.ar, &s.aw, &s.ad, &s.aq}) resize_black(g.layout, *f);
  GalerkinSpace<T> space(plan, l);
  fill_random(plan.exec, g.grid, mask_o | mask_c, 0, s.ad.v);
  space.combine(1, s.ad, 0, s.ar); // its ghost nodes change
  space.precondition(s.ar, s.aw);
  const double rough = space.dot(s.ad, s.ad), smooth = space.dot(s.aw, s.aw);
  if (!(rough > 0) || !(smooth > 0) || !std::isfinite(smooth)) return rough > 0 ? choice_never : 1;
  auto energy = [&](FieldOf<T> &v) {
    space.multiply(v, s.x);
    return space.dot(v, s.x);
  };
  // A solution in the null space, but for rounding, would be all that is left of A u.
  const bool null = std::is_same_v<T, double> && energy(s.aw) / smooth <= choice_null * energy(s.ad) / rough;
  if (null) space.combine(1, s.ad, 0, s.x);
  else {
    space.combine(choice_smooth * sqrt(rough / smooth), s.aw, 1, s.ad);
    space.precondition(s.ad, s.x);
  }
  space.multiply(s.x, s.ar);
  const size_t        steps = plan.rough == Rough::algebraic ? 5 : tuning::trial_steps; // the former are seldom bad
  const double        first = sqrt(space.dot(s.ar, s.ar)), goal = 1e-6 * first;
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
  for (FieldOf<T> *f : {&s.ar, &s.aw, &s.ad, &s.aq}) *f = FieldOf<T>();
  if (!broke) return predicted;
  const double rounding = (plan.params.single ? 1e-5 : 1e-12) * first;
  return last <= rounding ? 1 : choice_never;
}

} // namespace

// The choices in the order in which they are tried. Few jumps, as between the blocks of a checkerboard, are a matter
// of the interpolation, or on a device, whose last grid is small, of the cycle; jumps everywhere of smoothing.
static std::vector<Rough> choices(const Plan &plan)
{
  const size_t     root = first_working_level(plan);
  const Directions d    = report(plan, root).shares;
  const bool       many = d.jumps >= tuning::few_jumps;
  if (takes_algebraic(plan, plan.levels[root])) {
    const Rough first = many ? Rough::sweeps : Rough::fitted;
    if (d.leaps > tuning::more_leaps && d.leaps > tuning::leaping_jumps * d.jumps)
      return {Rough::no, Rough::algebraic, first};
    // Where sweeps do fairly well the choice is that of a device.
    const bool fair = plan.predicted[(int)Rough::no] <= tuning::trial_fair ||
                      (plan.predicted[(int)first] > 0 && plan.predicted[(int)first] <= tuning::trial_fair);
    if (!many || !fair) return {Rough::no, first, Rough::algebraic};
  }
  if (many && plan.exec.space == Space::cuda) return {Rough::no, Rough::sweeps, Rough::fitted_sweeps, Rough::lines};
  if (many) return {Rough::no, Rough::sweeps, Rough::lines};
  if (plan.exec.space == Space::cuda) return {Rough::no, Rough::amli, Rough::fitted, Rough::lines};
  return {Rough::no, Rough::fitted, Rough::lines};
}

// What an iteration costs, in those of the usual choice.
static double cost(const Plan &plan, Rough r)
{
  const bool there     = plan.exec.space == Space::cuda,
             sweeps_do = plan.predicted[(int)Rough::sweeps] <= tuning::trial_fair;
  const bool slow =
    there && (r == Rough::no ? plan.usual_lines : r == Rough::lines || (r == Rough::fitted_sweeps && sweeps_do));
  return slow ? choice_slow : r == Rough::no ? 1 : choice_cost;
}

double galerkin_rival(const Plan &plan)
{
  double least = choice_never;
  if (!(plan.predicted[(int)Rough::no] > 0)) return least;
  for (Rough r : choices(plan)) {
    if (!(plan.predicted[(int)r] > 0)) return 0;
    if (r != plan.rough) least = std::min(least, cost(plan, r) * plan.predicted[(int)r] / cost(plan, plan.rough));
  }
  return least;
}

// What follows from the iterations that are expected so far: the choice in use stays, or another one is to be set up.
static bool choose(Plan &plan)
{
  const double *const expected = plan.predicted;
  if (!(expected[(int)Rough::no] > 0)) { // algebraic levels before anything else
    plan.chosen = expected[(int)plan.rough] <= tuning::trial_fair;
    if (!plan.chosen) plan.rough = Rough::no;
    return !plan.chosen;
  }
  Rough best = Rough::no, next = Rough::no; // next: the first one that has not been tried
  for (Rough r : choices(plan)) {
    if (!(expected[(int)r] > 0)) {
      next = r;
      break;
    }
    if (cost(plan, r) * expected[(int)r] < cost(plan, best) * expected[(int)best]) best = r;
  }
  const double good = next == Rough::amli ? choice_cycle : choice_others;
  const bool   go_on = next != Rough::no && expected[(int)best] > good, another = go_on || best != plan.rough;
  if (another) plan.rough = go_on ? next : best;
  plan.chosen = !another;
  return another;
}

bool galerkin_unfit(const Plan &plan) { return plan.params.single && plan.predicted[(int)Rough::no] >= choice_never; }

bool galerkin_disproved(Plan &plan, double iterations)
{
  plan.predicted[(int)plan.rough] = iterations;
  return choose(plan);
}

bool galerkin_trial(Plan &plan)
{
  const Params &p = plan.params;
  if (p.coarsening != Coarsening::galerkin) return false;
  const size_t      root = first_working_level(plan);
  const GridReport  grid = report(plan, root);
  const Directions &d    = grid.shares;
  const bool        wanted = !plan.chosen && chooses(p);
  const bool doubtful = d.jumps > 0 || (d.weak_x > tuning::mixed_share && d.weak_y > tuning::mixed_share);
  double    &expected = plan.predicted[(int)plan.rough];
  // known: back from another one
  if (!wanted || !grid.of_schur || !doubtful || plan.levels[root].step != Step::coarsen || expected > 0) {
    plan.chosen = true;
    return false;
  }
  if (plan.rough == Rough::no) plan.usual_lines = grid.smoother != Smoother::point;
  expected = p.single ? try_out<float>(plan, (int)root) : try_out<double>(plan, (int)root);
  // gathered grids are tried by every process for itself
  MPI_Bcast(&expected, 1, MPI_DOUBLE, 0, plan.levels[0].grid.comm);
  return choose(plan);
}

} // namespace tessera::rrb
