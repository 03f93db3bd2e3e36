// The linear complementarity problem of a Newton step: by cycles, with or without coarse grids, or by systems of the
// inactive nodes.
#include "vipmg/newton.hpp"
#include "petsc/shell.hpp"
#include "vipmg/reduced.hpp"
#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::vipmg {

namespace {

constexpr int    max_cycles = 60;   // of one linear problem
constexpr int    max_single = 20;   // without coarse grids
// share of nodes that change status in a cycle: below, the monotone part is left out
constexpr double settled    = 1e-5;
constexpr double slow       = 0.5;  // a factor above brings it back
// The rate of cycles is judged by the last `judged` of them. Where the target would take more than `too_many` more,
// systems of the inactive nodes are taken in their place.
constexpr int    judged     = 10;
constexpr double too_many   = 40;
// The same where interpolation does not follow the coefficients. A cycle shows it, and each further one takes nodes
// away from their bounds that belong there, so each is judged.
constexpr double too_many_rough = 12;
// Of a linear problem that is solved to the end each cycle is judged as well where a factorization takes as long as
// fewer than `cheap` cycles: then as many as `systems` of the inactive nodes cost may be left. In the steps of a
// nonlinear problem that would not pay: each takes several sets of active nodes, and need not be exact.
constexpr double cheap          = 10;
constexpr double systems        = 2;
// natural residual that full multigrid must come to there, as a share of that of a cycle from the start
constexpr double better         = 0.5;
// So many linear problems in a row may be solved by neither of the two while the nonlinear residual does not fall.
constexpr int    max_unsolved = 6;
// products with the matrix that take as long as the operators of a tree's hierarchy and its cycles; those of grids are
// worth 20, too few to begin
constexpr int    worthwhile = 200;

// Natural residuals of the cycles on one linear problem.
struct Progress {
  double first, last;
  bool   rough;
  double best    = HUGE_VAL; // of the cycles: where coefficients are rough the first ones may raise the residual
  int    without = 0;        // cycles without a better one
  double past[judged] = {};  // the last ones
  int    cycles = 0;
  // At the level of rounding, or at a point that the variant does not leave, cycles change nothing any more.
  bool ended(double natural)
  {
    without = natural > 0.9 * best ? without + 1 : 0;
    best    = std::min(best, natural);
    last    = natural;
    return without >= 8 || (without >= 3 && rounding());
  }
  bool rounding() const { return last < 1e-11 * first; }
  // Are many more cycles needed to come to the target? direct: so many take as long as a factorization.
  bool too_slow(double natural, double target, double direct)
  {
    const bool   each   = rough || direct < cheap;
    const int    window = each ? 1 : judged;
    const double most   = rough ? too_many_rough : too_many, many = each ? std::min(most, systems * direct) : most,
                 before = cycles < window ? first : past[(cycles - window) % judged];
    past[cycles % judged] = natural;
    // the fall of the first cycle is not that of the others, but where it is small, others fall less
    if (++cycles < window + !rough) return false;
    return std::log(natural / target) * window > many * std::max(0., std::log(before / natural));
  }
};

Norms NormsOf(const Measure &m)
{
  Norms n;
  n.inactive = std::sqrt(m.inactive), n.natural = std::sqrt(m.natural), n.lower = m.lower, n.upper = m.upper;
  return n;
}

// Is the grid one of PC rrb?
bool TakesRRB(const GridDescription &g)
{
  return g.dimension == 3 || (g.dimension == 2 && !(g.periodic[0] && g.n[0] % 2) && !(g.periodic[1] && g.n[1] % 2));
}

} // namespace

// What cycles are too slow on, by systems of the inactive nodes: from where cycles are, or where *failed says that they
// have led nowhere, from the point X that is measured `here`.
PetscErrorCode Newton::Reduce(const Vectors &v, double target, const Measure &here, Norms *n, Measure *model,
                              bool *failed)
{
  Vec      Y;
  DM       grid = nullptr;
  Moved    moved;
  PetscInt iterations;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(v.X, &Y));
  PetscCall(VecCopy(v.X, Y));
  if (!*failed) {
    TesseraCallCXX(linear_->keep_correction());
    PetscCall(Move(1, v, Y, &moved));
  }
  const int dimension = on_tree ? mesh.problem()->tree().dim() : plan.dimension;
  if (!on_tree && TakesRRB(matrix.grid())) PetscCall(BoxMatrix::Find(source.dm, v.X, jacobian_, &grid));
  PetscCall(SolveReduced(
    {source.solver, prefix_.c_str(), jacobian_, v.X, v.F, v.XL, v.XU, linear_->symmetric(), dimension, target, grid}, Y,
    &iterations));
  n->cycles += iterations;
  PetscCall(SetCorrection(v.X, Y, model));
  PetscCall(VecDestroy(&Y));
  *failed = *failed && !(model->natural < here.natural);
  if (model->natural < 0.25 * here.natural || std::sqrt(model->natural) <= 10 * target ||
      here.natural < 0.25 * unsolved_.first)
    unsolved_ = {0, here.natural};
  if (++unsolved_.number <= max_unsolved) PetscFunctionReturn(PETSC_SUCCESS);
  *failed = true;
  PetscCall(PetscSNPrintf(failure, sizeof(failure),
                          "neither cycles nor systems of the inactive nodes come near to the solutions of the "
                          "last linearized problems (natural residual %.6g, from %.6g): the Jacobian is far from an "
                          "M-matrix. Does convection dominate in central differences?",
                          std::sqrt(model->natural), std::sqrt(here.natural)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Is the operator of a mesh so well conditioned that it needs no coarse grids? Not where the program asks for a kind of
// cycle.
PetscErrorCode Newton::ServesSingle(Mat J, Vec X, bool *serves)
{
  const Params &p = options.params;

  PetscFunctionBegin;
  *serves = on_tree && p.variant == Variant::hybrid && p.cycle == Cycle::automatic && !p.pre && !p.post && !p.levels &&
            BackendOf(plan.exec.space) == TESSERA_BACKEND_HOST && !source.reflect;
  if (*serves) PetscCall(single_.Read(J, X, worthwhile, serves));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Cycles without coarse grids, where the operator is well conditioned. *done: they have come to the target.
PetscErrorCode Newton::Single(Problem &problem, const Vectors &v, double target, Norms *n, Measure *model, bool *done)
{
  bool changed;

  PetscFunctionBegin;
  *done = false;
  if (linear_ != &single_) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(event_vipmg_cycle, source.solver, 0, 0, 0));
  PetscCall(Load(v, false, &changed));
  TesseraCallCXX(*model = linear_->measure());
  const double first = std::sqrt(model->natural);
  double       now   = first;
  single_.aim(first, target);
  while (!*done) {
    TesseraCallCXX(*model = linear_->cycle(false, true));
    if (linear_->failed()) break;
    now           = std::sqrt(model->natural);
    const Norms c = NormsOf(*model);
    PetscCall(problem.Cycle(++n->cycles, c));
    *done = c.inactive <= target && now <= 10 * target;
    if (*done || !(now < first) || n->cycles == max_single || single_.hopeless(now)) break;
  }
  PetscCall(PetscLogEventEnd(event_vipmg_cycle, source.solver, 0, 0, 0));
  const char *const end = *done ? "" : linear_->failed() ? ": not positive definite" : ", which is too slow";
  PetscCall(PetscInfo(source.solver, "Without coarse grids: natural residual %.6g, from %.6g, with %d products%s\n",
                      now, first, single_.products(), end));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// From a single grid to the hierarchy, at the same point.
PetscErrorCode Newton::LeaveSingle(bool *failed)
{
  PetscFunctionBegin;
  if (single_.unread) PetscCall(ReadJacobian(jacobian_, failed));
  single_.unread = false;
  linear_ = hierarchy();
  if (!*failed) TesseraCallCXX(linear_->forget());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Cycles until the linear model's norm is below the target. here: the point's measure. *failed: they make it worse
// and worse.
PetscErrorCode Newton::Inner(Problem &problem, const Vectors &v, const Measure &here, const Aim &aim, bool fmg,
                             Norms *n, Measure *model, bool *failed)
{
  bool done;

  PetscFunctionBegin;
  *failed   = false;
  n->cycles = 0;
  PetscCall(Single(problem, v, aim.target, n, model, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  if (linear_ == &single_) {
    PetscCall(LeaveSingle(failed));
    if (*failed) PetscFunctionReturn(PETSC_SUCCESS);
    if (fmg && on_tree) PetscCall(JudgeStart(v, here, &fmg));
  }
  PetscCall(Cycles(problem, v, here, aim, fmg, n, model, failed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A start from the coarsest grid, which is judged after a cycle: where its natural residual is above *limit then, the
// start that there was is the better one. Where coefficients are rough coarse grids may know less of the solution, and
// of where it is in contact, than that start: a cycle from there comes first, with the measure *cold, and only what is
// better by far takes its place.
PetscErrorCode Newton::FullMultigrid(Problem &problem, bool monotone, double first, Norms *n, Measure *cold,
                                     double *limit)
{
  const bool newton = with_newton(plan);

  PetscFunctionBegin;
  *limit = first;
  if (linear_->rough()) {
    TesseraCallCXX(*cold = linear_->cycle(monotone, newton));
    PetscCall(LogFlops(plan.exec.space, linear_->flops(0, monotone, newton)));
    PetscCall(problem.Cycle(++n->cycles, NormsOf(*cold)));
    *limit = better * std::sqrt(cold->natural);
    TesseraCallCXX((linear_->save(), linear_->restart()));
  }
  TesseraCallCXX(linear_->full_multigrid());
  for (int k = 1; k + 1 < linear_->grids(); ++k)
    PetscCall(LogFlops(plan.exec.space, linear_->flops(k, with_monotone_below(plan), newton)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The same by cycles over all grids, which are counted on from n->cycles.
PetscErrorCode Newton::Cycles(Problem &problem, const Vectors &v, const Measure &here, const Aim &aim, bool fmg,
                              Norms *n, Measure *model, bool *failed)
{
  const bool     hybrid = options.params.variant == Variant::hybrid, switches = hybrid && linear_->monotone();
  const bool   newton = with_newton(plan);
  const double target = aim.target;
  const PetscInt before = n->cycles;
  bool           monotone = linear_->monotone() && monotone_converges_, changed = false;
  Measure      m      = here, cold;
  double         limit  = 0;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(event_vipmg_cycle, source.solver, 0, 0, 0));
  PetscCall(Load(v, aim.follow, &changed));
  TesseraCallCXX(if (changed) m = linear_->measure());
  Progress progress{std::sqrt(m.natural), std::sqrt(m.natural), linear_->rough()};
  fmg = fmg && linear_->nested();
  if (fmg) PetscCall(FullMultigrid(problem, monotone, progress.first, n, &cold, &limit));
  while (n->cycles < before + max_cycles) {
    TesseraCallCXX(m = linear_->cycle(monotone, newton));
    PetscCall(LogFlops(plan.exec.space, linear_->flops(0, monotone, newton)));
    ++n->cycles;
    if (std::exchange(fmg, false) && std::sqrt(m.natural) > limit) { // worse than the start
      PetscCall(PetscInfo(source.solver,
                          "Full multigrid from the coarsest grid gives a worse start (natural residual %.6g) than the "
                          "present point (%.6g), which is kept\n",
                          std::sqrt(m.natural), linear_->rough() ? std::sqrt(cold.natural) : limit));
      TesseraCallCXX(if (linear_->rough()) linear_->go_back(); else linear_->restart());
      if (!linear_->rough()) continue;
      TesseraCallCXX(m = linear_->measure()); // with the residual, which tells whether the model is right
      m.changed = cold.changed;
    }
    const double now = std::sqrt(m.natural), inactive = std::sqrt(m.inactive);
    PetscCall(problem.Cycle(n->cycles, NormsOf(m)));
    if (monotone && hybrid && !linear_->symmetric() && !(now <= 4 * progress.first)) {
      // Convection that coarse grids cannot carry: only the part that has a line search can do no harm.
      PetscCall(PetscInfo(source.solver,
                          "The monotone cycle diverges (natural residual %.6g, from %.6g) and is left out from here "
                          "on: convection dominates on coarse grids\n",
                          now, progress.first));
      TesseraCallCXX(linear_->restart());
      monotone = monotone_converges_ = false;
      progress.last = progress.first;
      continue;
    }
    *failed = linear_->failed() || !(now <= 1e300) || now > 1e6 * (progress.first + 1e-300);
    if (*failed || (inactive <= target && now <= 10 * target)) break;
    if (switches && monotone_converges_)
      monotone = m.changed > settled * linear_->nodes() || now > slow * progress.last;
    const double direct = aim.to_end && hybrid ? linear_->direct(linear_->nodes() - m.lower - m.upper) : HUGE_VAL;
    if (progress.ended(now) || progress.too_slow(now, target, direct)) break;
  }
  PetscCall(PetscLogEventEnd(event_vipmg_cycle, source.solver, 0, 0, 0));
  if (*failed || std::sqrt(m.natural) > 10 * target) PetscCall(NameFreeShift(failed));
  if (hybrid && !failure[0] && !source.reflect &&
      (*failed || (std::sqrt(m.natural) > 10 * target && !progress.rounding())))
    PetscCall(Reduce(v, target, here, n, &m, failed));
  *model = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera::vipmg
