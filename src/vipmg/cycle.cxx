// The cycles of the methods: monotone multigrid, and the truncated linear correction.
#include "vipmg/linear_problem.hpp"
#include "vipmg/solver.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace tessera::vipmg {

namespace {

// The levels as multigrid/cycle.hpp needs them. Level `top` is the one that is solved; it is visited once.
struct Levels {
  Plan &plan;
  int   top;
  Level &level(int k) const { return plan.levels[(size_t)k]; }
  int    last() const { return (int)plan.levels.size() - 1; }
  int    visits(multigrid::Cycle kind, int k) const { return k > top ? multigrid::visits(kind) : 1; }
  static bool accelerated(multigrid::Cycle, int) { return false; }
  static void accelerate(int) { }
};

// Monotone multigrid.
struct Monotone : Levels {
  bool      find; // determine the active set on the way, where that costs little
  ActiveSet active = ActiveSet::unknown;
  void down(int k, multigrid::Visit) const { level(k).solver->monotone_down(plan, level(k), level(k + 1)); }
  void up(int k, multigrid::Visit)
  {
    active = level(k).solver->monotone_up(plan, level(k), level(k + 1), find && k == top);
  }
  void solve() const { level(last()).solver->solve(plan, level(last()), level(last()).A, true); }
};

// The correction l.v of level `top`: A v = r on its inactive nodes, by a linear cycle, or by sweeps where there is no
// coarser level. free: a vector that may be overwritten.
struct Correction : Levels {
  double  *free;
  Equation equation(int k) const
  {
    Level &l = level(k);
    if (k == top) return {l.A, l.v.data(), l.r.data(), free, true};
    return {l.truncated, l.x.data(), l.b.data(), l.r.data(), false};
  }
  void down(int k, multigrid::Visit visit) const
  {
    if (!visit.first && k > top && level(k).ordered) take_back_diffusion(plan, level(k));
    level(k).solver->linear_down(plan, level(k), level(k + 1), equation(k), visit.first);
  }
  void up(int k, multigrid::Visit visit) const
  {
    level(k).solver->linear_up(plan, level(k), level(k + 1), equation(k), visit.first);
  }
  void solve() const
  {
    Level &l = level(last());
    if (last() > top) return l.solver->solve(plan, l, l.truncated, false);
    l.v.zero();
    smooth(plan, l, l.A, l.v.data(), l.r.data(), {false, true}, coarsest_sweeps(l));
  }
};

// A cycle for the problem of level `top`. Returns whether the sums of measure() have been found.
bool run_cycle(Plan &plan, int top, bool with_monotone, bool with_newton)
{
  Level   &l = plan.levels[(size_t)top];
  Monotone monotone{{plan, top}, with_newton};
  if (with_monotone) multigrid::cycle(monotone, plan.choice.cycle, top);
  if (!with_newton) return false;
  Fields fields{l.x.data(), l.w.data()};
  if (monotone.active == ActiveSet::unknown) monotone.active = l.solver->find_active(plan, l, fields);
  if (top || monotone.active == ActiveSet::changed) plan.span.forget();
  if (monotone.active == ActiveSet::changed || plan.truncated_top != top) truncate(plan, top);
  Correction correction{{plan, top}, fields.free};
  multigrid::cycle(correction, plan.choice.cycle, top);
  return l.solver->correct(plan, l, fields);
}

// Stands for everything that a recorded cycle depends on, except addresses.
uint64_t key(const Plan &plan)
{
  const Params  &p = plan.choice;
  const uint64_t ints =
    (uint64_t)p.variant +
    8 * ((uint64_t)p.cycle + 8 * ((uint64_t)p.pre + 1024 * ((uint64_t)p.post + 1024 * (uint64_t)plan.symmetric)));
  uint64_t       omega;
  std::memcpy(&omega, &p.omega, sizeof omega);
  return ((plan.revision * 1099511628211ull) ^ ints) * 1099511628211ull ^ omega;
}

// Scratch memory, in doubles, for the sums of a cycle: one for each block.
size_t scratch_of(const Level &l)
{
  const size_t blocks = 4096 + (size_t)(l.own.hi[0] - l.own.lo[0]) / 32;
  return blocks * std::max(sizeof(Measure), sizeof(CombinationSums)) / sizeof(double);
}

double visited(const Params &p, int below) // how often a cycle comes to a grid
{
  return p.cycle == Cycle::w ? std::ldexp(1., below) : p.cycle == Cycle::f ? below + 1 : 1;
}

double product(const Plan &plan, const Level &l, double nodes) { return 2. * points(plan.dimension, l.A.box) * nodes; }

double flops_of_visit(const Plan &plan, int k, double nodes) // sweeps, residual
{
  const Level &l      = plan.levels[(size_t)k];
  const bool   last   = k + 1 == (int)plan.levels.size();
  const int    sweeps = last ? coarsest_sweeps(l) : plan.choice.pre + plan.choice.post;
  return ((l.ordered ? 4 : 1) * sweeps + 1) * product(plan, l, nodes);
}

void run_full_multigrid(Plan &plan)
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
    if (k > 0 && k < last) (void)run_cycle(plan, k, with_monotone_below(plan), with_newton(plan));
  }
}

} // namespace

Measure BoxProblem::cycle(bool with_monotone, bool with_newton)
{
  Plan &plan  = *plan_;
  bool  found = false;
  const auto run = [&] { found = run_cycle(plan, 0, with_monotone, with_newton); };
  if (plan.recorded)
    cycles_[2 * with_monotone + with_newton].run(plan.exec.space, key(plan), scratch_of(plan.levels[0]), run);
  else run();
  return vipmg::measure(plan, plan.levels[0], found);
}

// Recording takes as long as one launch, so it pays from the second launch on.
void BoxProblem::full_multigrid()
{
  Plan          &plan = *plan_;
  const uint64_t now  = key(plan);
  if (plan.recorded && std::exchange(started_, now) == now)
    start_.run(plan.exec.space, now, scratch_of(plan.levels[0]), [&] { run_full_multigrid(plan); });
  else run_full_multigrid(plan);
}

double flops(const Plan &plan, int top, bool with_monotone, bool with_newton)
{
  const Params &p     = plan.choice;
  const int    parts = (int)with_monotone + (int)with_newton;
  double       sum   = 0;
  for (int k = top; k < (int)plan.levels.size(); ++k) {
    const Level &l = plan.levels[(size_t)k];
    sum += parts * visited(p, k - top) * flops_of_visit(plan, k, (double)l.own.size());
    // the projected sweeps, their residual, three products of the line searches
    if (k == top && with_newton)
      sum += ((l.ordered ? 4 : 1) * first_sweeps(plan) + 4) * product(plan, l, (double)l.own.size());
  }
  return sum;
}

// Costs on the host, measured, in flops of sweeps with vectors: a visit of a grid costs `visit` more, sweeps in four
// orders, which are not in vectors, twice as much; `system` and `each` are those of PETSc's factorization with its
// ordering.
double BoxProblem::direct(double unknowns) const
{
  constexpr double most = 10000, visit = 7e3, system = 4e5; // unknowns; in flops of vectors
  const Plan      &plan  = *plan_;
  const double     root  = std::sqrt(unknowns), each = plan.dimension > 2 ? 6000 + 375 * root : 2250 + 50 * root;
  double           cycle = 0;
  if (!plan.strategy->factorises || unknowns > most) return HUGE_VAL;
  for (int k = 0; k < (int)plan.levels.size(); ++k) {
    const Level &l = plan.levels[(size_t)k];
    cycle += visited(plan.choice, k) * (visit + (l.ordered ? 2 : 1) * flops_of_visit(plan, k, l.nodes()));
  }
  return (system + each * unknowns) / (((int)with_monotone(plan) + (int)with_newton(plan)) * cycle);
}

} // namespace tessera::vipmg
