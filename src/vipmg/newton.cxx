#include "vipmg/newton.hpp"
#include "box/tuning.hpp"
#include "petsc/bounds.hpp"
#include "petsc/shell.hpp"
#include "vipmg/reduced.hpp"
#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::vipmg {

namespace {

constexpr int    max_cycles    = 60;   // of one linear problem
constexpr double first_forcing = 1e-2; // a linearised problem is solved to this share of the norm, at first
constexpr double forcing       = 1e-3; // and later
// share of nodes that change status in a cycle: below, the monotone part is left out
constexpr double settled       = 1e-5;
constexpr double slow          = 0.5;  // a factor above brings it back
// after more cycles recombination begins anew: where they are slow the step before does it harm
constexpr int    quick         = 4;
// cycles by which their rate is judged, and how many more of them are worth less than systems of the inactive nodes
constexpr int    judged        = 10;
constexpr double too_many      = 40;

} // namespace

PetscErrorCode Newton::Reset()
{
  PetscFunctionBegin;
  PetscCall(UseCurrentStream(plan.exec.space)); // memory is given back in its order
  PetscCall(matrix.Reset());
  PetscCall(VecDestroy(&best_));
  const Exec exec = plan.exec;
  plan            = Plan();
  box_            = BoxProblem(plan);
  linear_         = nullptr;
  PetscCall(mesh.Reset());
  plan.exec       = exec;
  built_          = false;
  for (VectorView *a : {&a_, &b_, &c_, &d_, &e_}) {
    (void)a->Restore(); // after an error it may still have its vector
    *a = VectorView();
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Newton::SetUp(const char *prefix, Vec X, Vec base, Mat J)
{
  Space space = Space::host;
  bool  has;

  PetscFunctionBegin;
  failure[0] = 0;
  TesseraCallCXX(prefix_ = prefix);
  PetscCall(ChooseSpace(
    source.solver, (prefix_ + "backend").c_str(), options.backend,
    [&](bool *device) { // where the vectors are
      const PetscScalar *values;
      PetscMemType       where;

      PetscFunctionBegin;
      PetscCall(VecGetArrayReadAndMemType(X, &values, &where));
      PetscCall(VecRestoreArrayReadAndMemType(X, &values));
      *device = !PetscMemTypeHost(where);
      PetscFunctionReturn(PETSC_SUCCESS);
    },
    &space));
  base_ = base;
  PetscCall(BoxMatrix::Has(source.dm, X, J, &has));
  const bool named = !source.file.empty(); // coordinates are for trees alone
  const bool tree  = options.levels == Levels::tree || (options.levels == Levels::automatic && (!has || named));
  PetscCheck(tree || !named, PetscObjectComm(source.solver), PETSC_ERR_ARG_INCOMP,
             "%s makes box levels of the grid alone and takes no coordinates from a file (-%s %s). Leave it out, or "
             "use -%slevels_type tree", source.who, source.option.c_str(), source.file.c_str(), prefix);
  if (tree != on_tree || plan.exec.space != space) PetscCall(Reset());
  on_tree           = tree;
  plan.exec.space   = space;
  plan.exec.threads = HostThreads();
  PetscCall(UseCurrentStream(space));
  if (on_tree) {
    if (!source.dm) PetscCall(VecGetDM(X, &source.dm));
    PetscCall(TreeMatrix::Check(source, J));
    plan.params = options.params;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  GridDescription grid;
  PetscCall(BoxMatrix::Describe(source.solver, source.who, source.dm, X, J, grid));
  if (!matrix.is(grid)) {
    PetscCall(Reset());
    PetscCall(matrix.SetGrid(source.solver, grid));
  }
  linear_ = &box_;
  if (built_ && options.params.levels != plan.params.levels) built_ = plan.built = false;
  plan.params         = options.params;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What is wrong with the Jacobian.
PetscErrorCode Newton::Complain()
{
  const std::string node = Node(report.row);

  PetscFunctionBegin;
  if (report.kind == MatrixReport::not_finite && report.column < 0)
    PetscCall(PetscSNPrintf(failure, sizeof(failure), "row %" PetscInt_FMT " of the Jacobian (%s) has an entry that is "
                            "not a finite number", report.row, node.c_str()));
  else if (report.kind == MatrixReport::not_finite)
    PetscCall(PetscSNPrintf(failure, sizeof(failure),
                            "row %" PetscInt_FMT ", column %" PetscInt_FMT
                            " of the Jacobian (%s) is not a finite number",
                            report.row, report.column, node.c_str()));
  else if (report.kind == MatrixReport::indefinite)
    PetscCall(PetscSNPrintf(failure, sizeof(failure),
                            "the Jacobian is not positive definite: a coarse grid's operator has the negative pivot %g",
                            (double)report.value));
  else
    PetscCall(PetscSNPrintf(failure, sizeof(failure),
                            "row %" PetscInt_FMT " of the Jacobian (%s) has the diagonal entry %g, and sweeps need a "
                            "positive one. Is the sign of the function right?",
                            report.row, node.c_str(), (double)report.value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

std::string Newton::Node(PetscInt row) const
{
  PetscInt p[3] = {0, 0, 0};
  if (row < 0) return "on another process";
  if (on_tree) {
    const PetscInt    bs = mesh.block();
    const std::string node = "node " + std::to_string(row / bs);
    return bs == 1 ? node : node + ", component " + std::to_string(row % bs);
  }
  matrix.Node(row, p);
  return "node " + std::to_string(p[0]) + "," + std::to_string(p[1]) + "," + std::to_string(p[2]);
}

PetscErrorCode Newton::ReadMesh(Mat J)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(event_vipmg_setup, source.solver, 0, 0, 0));
  PetscCall(mesh.Read(source, J, plan.exec, options.params, report));
  PetscCall(PetscLogEventEnd(event_vipmg_setup, source.solver, 0, 0, 0));
  linear_ = mesh.problem();
  if (report.kind != MatrixReport::fine) PetscFunctionReturn(PETSC_SUCCESS);
  mesh.problem()->zero_tolerance = plan.zero_tolerance;
  if (!built_)
    PetscCall(PetscInfo(source.solver,
                        "%d grids on a tree, %.0f nodes of %" PetscInt_FMT
                        " unknowns, coordinates of %s; %" PetscInt_FMT " unknowns in Dirichlet rows; %.3g MB\n",
                        linear_->grids(), mesh.problem()->tree().levels()[0].nodes, mesh.block(), mesh.from().c_str(),
                        report.dirichlet, (double)mesh.problem()->bytes() * 1e-6));
  built_ = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Newton::ReadJacobian(PetscObject solver, Mat J, bool *failed)
{
  PetscFunctionBegin;
  if (on_tree) {
    PetscCall(ReadMesh(J));
    *failed = report.kind != MatrixReport::fine;
    if (*failed) PetscCall(Complain());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *failed = false;
  PetscCall(PetscLogEventBegin(event_vipmg_setup, solver, 0, 0, 0));
  const auto memory = [&](bool make, bool box) {
    const GridDescription &g = matrix.grid();
    if (make) create(plan, matrix.comm(), g.dimension, g.n, g.periodic, matrix.boxes(), box);
    return finest(plan);
  };
  PetscCall(matrix.Read<double>(J, "vipmg", plan.exec.space, !plan.levels.empty(), memory, false, report));
  const PetscInt *p = report.node;
  PetscCheck(report.kind != MatrixReport::outside, PetscObjectComm(solver), PETSC_ERR_SUP,
             "vipmg works on stencils of the nearest neighbors: row %" PetscInt_FMT
             " of the Jacobian (node %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
             " of %d x %d x %d) is coupled with column %" PetscInt_FMT
             ", which is none of them. Use -snes_type vinewtonrsls",
             report.row, p[0], p[1], p[2], matrix.size()[0], matrix.size()[1], matrix.size()[2], report.column);
  if (report.kind != MatrixReport::fine) {
    *failed = true;
    PetscCall(Complain());
  } else {
    if (report.shifted)
      PetscCall(PetscInfo(solver,
                          "%" PetscInt_FMT " rows of the Jacobian without a positive diagonal entry are given the sum "
                          "of their couplings as one\n",
                          report.shifted));
    TesseraCallCXX(build(plan));
    if (!built_)
      PetscCall(PetscInfo(solver,
                          "%zu grids, the coarsest of %d x %d x %d nodes; %s stencil; %" PetscInt_FMT
                          " Dirichlet rows; %.3g MB\n",
                          plan.levels.size(), plan.levels.back().n[0], plan.levels.back().n[1], plan.levels.back().n[2],
                          plan.levels[0].A.box ? "box" : "star", report.dirichlet, plan.bytes() * 1e-6));
    if (!linear_->symmetric())
      PetscCall(PetscInfo(solver,
                          "The Jacobian is not symmetric (largest |a_ij - a_ji| is %g of the largest diagonal entry): "
                          "the line searches reduce residuals, as there is no energy\n",
                          plan.asymmetry));
    built_ = true;
  }
  PetscCall(PetscLogEventEnd(event_vipmg_setup, solver, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A point and its bounds, where the method works; the fifth view is for another vector.
PetscErrorCode Newton::Read(Vec F, Vec X, Vec XL, Vec XU)
{
  const Space space = plan.exec.space;

  PetscFunctionBegin;
  PetscCall(a_.Read(F, space));
  PetscCall(b_.Read(X, space));
  PetscCall(c_.Read(XL, space));
  PetscCall(d_.Read(XU, space));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Newton::Restore()
{
  PetscFunctionBegin;
  for (VectorView *v : {&a_, &b_, &c_, &d_, &e_}) PetscCall(v->Restore());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// X0: a point before, or nullptr.
PetscErrorCode Newton::LookAt(Vec X, Vec F, Vec X0, Vec XL, Vec XU, Point *point)
{
  PetscFunctionBegin;
  PetscCall(Read(F, X, XL, XU));
  if (X0) PetscCall(e_.Read(X0, plan.exec.space));
  TesseraCallCXX(*point = linear_->look(a_.data(), b_.data(), X0 ? e_.data() : nullptr, c_.data(), d_.data()));
  PetscCall(Restore());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Newton::Move(double t, Vec X0, Vec F, Vec XL, Vec XU, Vec X, Moved *moved)
{
  PetscFunctionBegin;
  PetscCall(Read(F, X0, XL, XU));
  PetscCall(e_.Write(X, plan.exec.space));
  TesseraCallCXX(*moved = linear_->step(t, b_.data(), c_.data(), d_.data(), a_.data(), e_.data()));
  PetscCall(Restore());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Newton::Load(Vec X, Vec F, Vec XL, Vec XU, bool follow, bool *changed)
{
  PetscFunctionBegin;
  PetscCall(Read(F, X, XL, XU));
  TesseraCallCXX(*changed = linear_->load(a_.data(), b_.data(), c_.data(), d_.data(), follow));
  PetscCall(Restore());
  PetscFunctionReturn(PETSC_SUCCESS);
}

namespace {

// Natural residuals of the cycles on one linear problem.
struct Progress {
  double first, last;
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
  // Are many more cycles needed to come to the target?
  bool too_slow(double natural, double target)
  {
    const double before = std::exchange(past[cycles % judged], natural);
    if (++cycles <= judged) return false;
    return std::log(natural / target) * judged > too_many * std::max(0., std::log(before / natural));
  }
};

} // namespace

// What cycles are too slow on, by systems of the inactive nodes: from where cycles are, or where *failed says that they
// have led nowhere, from the point X that is measured `here`.
PetscErrorCode Newton::Reduce(PetscObject solver, Vec X, Vec F, Vec XL, Vec XU, double target, const Measure &here,
                              Norms *n, Measure *model, bool *failed)
{
  Vec      Y;
  Moved    moved;
  PetscInt iterations;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(X, &Y));
  PetscCall(VecCopy(X, Y));
  if (!*failed) {
    TesseraCallCXX(linear_->keep());
    PetscCall(Move(1, X, F, XL, XU, Y, &moved));
  }
  const int dimension = on_tree ? mesh.problem()->tree().dim() : plan.dimension;
  PetscCall(SolveReduced({solver, prefix_.c_str(), jacobian_, X, F, XL, XU, linear_->symmetric(), dimension, target},
                         Y, &iterations));
  n->cycles += iterations;
  PetscCall(b_.Read(X, plan.exec.space));
  PetscCall(e_.Read(Y, plan.exec.space));
  TesseraCallCXX(linear_->take(b_.data(), e_.data()));
  TesseraCallCXX(*model = linear_->measure());
  PetscCall(Restore());
  PetscCall(VecDestroy(&Y));
  *failed = *failed && !(model->natural < here.natural);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Cycles until the linear model's norm is below the target. here: the point's measure. follow: the operator is that
// of the last time, and so the last step there serves the first recombination. *failed: they make it worse and worse.
PetscErrorCode Newton::Inner(PetscObject solver, Problem &problem, Vec X, Vec F, Vec XL, Vec XU, const Measure &here,
                             double target, bool fmg, bool follow, Norms *n, Measure *model, bool *failed)
{
  const bool   hybrid = options.params.variant == Variant::hybrid, climbs = hybrid && linear_->monotone();
  const bool   newton = with_newton(plan);
  bool         climb  = linear_->monotone() && carried_, changed = false;
  Measure      m      = here;

  PetscFunctionBegin;
  *failed = false;
  n->cycles = 0;
  PetscCall(PetscLogEventBegin(event_vipmg_cycle, solver, 0, 0, 0));
  PetscCall(Load(X, F, XL, XU, follow, &changed));
  TesseraCallCXX(if (changed) m = linear_->measure());
  Progress progress{std::sqrt(m.natural), std::sqrt(m.natural)};
  if (fmg && linear_->grids() > 1) {
    // A start that was better than what coarse grids know of the solution is kept. The new one is judged after a cycle.
    TesseraCallCXX(linear_->full_multigrid());
    for (int k = 1; k + 1 < linear_->grids(); ++k)
      PetscCall(LogFlops(plan.exec.space, linear_->flops(k, with_monotone_below(plan), newton)));
  }
  while (n->cycles < max_cycles) {
    TesseraCallCXX(m = linear_->cycle(climb, newton));
    PetscCall(LogFlops(plan.exec.space, linear_->flops(0, climb, newton)));
    ++n->cycles;
    const double now = std::sqrt(m.natural), inactive = std::sqrt(m.inactive);
    if (fmg && n->cycles == 1 && now > progress.first) { // worse than the start
      fmg = false;
      PetscCall(PetscInfo(solver,
                          "Full multigrid from the coarsest grid gives a worse start (natural residual %g) than the "
                          "present point (%g), which is kept\n",
                          now, progress.first));
      TesseraCallCXX(linear_->restart());
      continue;
    }
    Norms c;
    c.inactive = inactive;
    c.natural  = now;
    c.lower    = m.lower;
    c.upper    = m.upper;
    PetscCall(problem.Cycle(n->cycles, c));
    if (climb && hybrid && !linear_->symmetric() && !(now <= 4 * progress.first)) {
      // Convection that coarse grids cannot carry: only the part that has a line search can do no harm.
      PetscCall(PetscInfo(solver,
                          "The monotone cycle diverges (natural residual %g, from %g) and is left out from here on: "
                          "convection dominates on coarse grids\n",
                          now, progress.first));
      TesseraCallCXX(linear_->restart());
      climb = carried_ = false;
      progress.last = progress.first;
      continue;
    }
    *failed = linear_->failed() || !(now <= 1e300) || now > 1e6 * (progress.first + 1e-300);
    if (*failed || (inactive <= target && now <= 10 * target)) break;
    if (climbs && carried_) climb = m.changed > settled * linear_->nodes() || now > slow * progress.last;
    if (progress.ended(now) || progress.too_slow(now, target)) break;
  }
  PetscCall(PetscLogEventEnd(event_vipmg_cycle, solver, 0, 0, 0));
  if (*failed || std::sqrt(m.natural) > 10 * target) PetscCall(NameFreeShift(failed));
  if (hybrid && !failure[0] && !source.reflect &&
      (*failed || (std::sqrt(m.natural) > 10 * target && !progress.rounding())))
    PetscCall(Reduce(solver, X, F, XL, XU, target, here, n, &m, failed));
  *model = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The Jacobian at X, where the problem has a new one: *read. *failed: there is none that cycles work on, and the
// problem has been told.
PetscErrorCode Newton::Linearise(PetscObject solver, Problem &problem, Vec X, bool *read, bool *failed)
{
  Mat J = nullptr;

  PetscFunctionBegin;
  *read = false;
  PetscCall(problem.Jacobian(X, &J, failed));
  if (!*failed && J) {
    jacobian_ = J;
    PetscCall(ReadJacobian(solver, J, failed));
    if (*failed) PetscCall(PetscInfo(solver, "%s\n", failure));
    *read = !*failed;
  }
  if (*failed) PetscCall(problem.Stopped(End::jacobian));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A point between the bounds, its function and its Jacobian.
PetscErrorCode Newton::Start(PetscObject solver, Problem &problem, Vec X, Vec F, Vec XL, Vec XU, bool *failed)
{
  PetscReal norm;
  bool      read = false;

  PetscFunctionBegin;
  carried_ = true;
  strict_  = false;
  above_   = 0;
  PetscCall(ProjectToBounds(XL, XU, X));
  PetscCall(SetZeroTolerance(X));
  PetscCall(problem.Function(X, F));
  PetscCall(VecNorm(F, NORM_2, &norm));
  *failed = PetscIsInfOrNanReal(norm);
  if (*failed) PetscCall(problem.Stopped(End::function));
  else PetscCall(Linearise(solver, problem, X, &read, failed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Newton::Solve(PetscObject solver, Problem &problem, Vec X, Vec F, Vec XL, Vec XU)
{
  Measure here, model;
  Norms   n;
  bool    stop = false, failed = false, current = false, read = false, fmg = plan.params.fmg;
  Point   point;

  PetscFunctionBegin;
  PetscCall(Start(solver, problem, X, F, XL, XU, &failed));
  if (failed) PetscFunctionReturn(PETSC_SUCCESS);
  current = true;
  TesseraCallCXX(linear_->forget());
  PetscCall(LookAt(X, F, nullptr, XL, XU, &point));
  here       = point.measure;
  n.inactive = PetscSqrtReal(here.inactive), n.natural = PetscSqrtReal(here.natural);
  n.lower = here.lower, n.upper = here.upper;
  n.x = std::sqrt(point.X);
  if (fmg && on_tree) PetscCall(JudgeStart(X, F, XL, XU, here, &fmg));
  PetscCall(problem.Test(0, n, &stop));
  if (std::exchange(problem.updated, false)) current = false;
  for (PetscInt iteration = 1; !stop && iteration <= options.iterations; ++iteration) {
    if (!current) {
      PetscCall(Linearise(solver, problem, X, &read, &failed));
      if (failed) break;
      if (read) { // a new diagonal, or even a new level
        PetscCall(LookAt(X, F, nullptr, XL, XU, &point));
        here = point.measure;
      }
    }
    const double norm_here = std::sqrt(here.inactive), natural = std::sqrt(here.natural);
    // The problem may be linear, which the first step shows; then the model is solved to the end.
    const double forcing_term = iteration == 1 ? first_forcing : current ? 0 : forcing;
    // Of a linear problem the model's norm is that of F, to rounding.
    const double target = std::max((current && iteration > 1 ? 0.99 : 0.5) * (double)problem.Target(),
                                   forcing_term * std::max(norm_here, forcing_term > 0 ? natural * 0.1 : 0.));
    PetscCall(Inner(solver, problem, X, F, XL, XU, here, target, fmg, current && iteration > 1 && n.cycles <= quick, &n,
                    &model, &failed));
    fmg = false;
    if (failed) {
      if (!failure[0])
        PetscCall(PetscSNPrintf(failure, sizeof(failure),
                                "cycles diverge on the linearized problem (natural residual %g, from %g): the Jacobian "
                                "is indefinite, or far from an M-matrix", std::sqrt(model.natural), natural));
      PetscCall(PetscInfo(solver, "%s\n", failure));
      PetscCall(problem.Stopped(End::linear));
      break;
    }
    End end;
    PetscCall(Search(problem, X, F, XL, XU, model, &here, &n, &current, &end));
    if (end != End::no) {
      PetscCall(PetscSNPrintf(failure, sizeof(failure),
                              end == End::function
                                ? "the function has no finite value anywhere along the correction of %" PetscInt_FMT
                                  " cycles (natural residual before it %g)"
                                : "no step along the correction of %" PetscInt_FMT
                                  " cycles brings the solution nearer (natural residual %g)",
                              n.cycles, natural));
      PetscCall(PetscInfo(solver, "%s\n", failure));
      PetscCall(problem.Stopped(end));
      break;
    }
    PetscCall(SetZeroTolerance(X));
    n.inactive = std::sqrt(here.inactive);
    n.natural  = std::sqrt(here.natural);
    n.lower = here.lower, n.upper = here.upper;
    PetscCall(PetscInfo(solver,
                        "Iteration %" PetscInt_FMT ": %" PetscInt_FMT " cycles, step of norm %g; inactive norm %g, "
                        "natural residual %g, active lower %.0f upper %.0f%s\n",
                        iteration, n.cycles, (double)n.step, (double)n.inactive, (double)n.natural, (double)n.lower,
                        (double)n.upper, current ? "; the Jacobian is kept" : ""));
    PetscCall(problem.Test(iteration, n, &stop));
    if (std::exchange(problem.updated, false)) current = false;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera::vipmg
