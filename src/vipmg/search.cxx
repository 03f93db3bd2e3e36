// Newton's line search.
#include "vipmg/newton.hpp"
#include "petsc/bounds.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::vipmg {

namespace {

constexpr double well_predicted = 1e-4; // the Jacobian is kept if it predicted F up to this share of the change of F
// Without a symmetric Jacobian a step may raise the natural residual by the factor `allowed_growth`, and points may be
// worse than the best one for `patience` iterations. A point is better only if its residual is `below` times that of
// the best one: smaller gains may be oscillation.
constexpr double allowed_growth = 1.1;
constexpr double below      = 0.99;
constexpr int    patience   = 8;
// A whole step at whose end F . d is more than `turned` times what it was at its beginning, and opposite, while the
// residual is more than `turned` times the one before, has gone too far: where F has exponents below one, Newton's
// steps go to and fro.
constexpr double turned     = 0.5;

// The interval of step lengths in which the search goes on.
struct Interval {
  double low = 0, high = -1, slope_low = 0; // slope_low: at low
  double outside(double t)                  // t is outside of the function's domain
  {
    high = t;
    return low + 0.5 * (t - low);
  }
  double next(double t, double slope, bool energy, bool whole)
  {
    if (energy && slope > 0) { // the minimum lies before t: the zero of the slope by the secant rule
      high             = t;
      const double cut = low + (t - low) * slope_low / (slope_low - slope);
      return std::min(std::max(cut, low + 0.1 * (high - low)), low + 0.9 * (high - low));
    }
    if (energy && !whole) { // the minimum lies behind t
      low       = t;
      slope_low = slope;
      if (high < 0) high = 1;
      return 0.5 * (low + high);
    }
    high = t;
    return 0.5 * t;
  }
};

// Slope and length of a step that the program has changed.
PetscErrorCode MeasureStep(Vec F, Vec step, Moved *whole)
{
  PetscReal dot, norm;

  PetscFunctionBegin;
  PetscCall(VecDot(F, step, &dot));
  PetscCall(VecNorm(step, NORM_2, &norm));
  whole->slope = -dot;
  whole->step  = norm * norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

// v.X := a point between X and X + d, where d is the correction of the finest level; v.F: the function there, *here:
// its measure. With a symmetric Jacobian F is a gradient, and F . d is the slope of the energy along d. A step is good
// if it brings the slope to a fraction of the first one, or if it is the full step and the energy falls all along it.
// Where F is monotone F . d grows along d without symmetry as well, and its zero is a good step that residuals, which
// steep gradients make large, do not show; Watch() stops this where it leads nowhere. A whole step that has gone too
// far is left for the point near that zero, if the residual is smaller there. Otherwise the natural residual must
// become smaller. *end: why there is no such point.
PetscErrorCode Newton::Search(Problem &problem, const Vectors &v, const Measure &model, Measure *here, Norms *n,
                              bool *current, End *end)
{
  const double natural = std::sqrt(here->natural);
  double       t = 1, slope, first, far = 0; // far: the residual at the end of a step that has gone too far
  Interval     interval;
  bool         good = false;
  Point        point;
  Moved        whole, part;
  Vec          step; // the program's

  PetscFunctionBegin;
  TesseraCallCXX(linear_->keep_correction());
  PetscCall(VecCopy(v.X, base_));
  PetscCall(Move(1, {base_, v.F, v.XL, v.XU}, v.X, &whole));
  PetscCall(problem.Check(StepCheck::before, base_, v.X, &step));
  if (step) PetscCall(MeasureStep(v.F, step, &whole));
  first = interval.slope_low = whole.slope;
  *current = false;
  const bool by_slope        = first < 0 && (linear_->symmetric() || !must_reduce_);
  for (int tries = 0; tries < 20; ++tries) {
    if (tries && step) PetscCall(VecWAXPY(v.X, -t, step, base_));
    else if (tries) PetscCall(Move(t, {base_, v.F, v.XL, v.XU}, v.X, &part));
    PetscCall(problem.Function(v.X, v.F));
    PetscCall(Evaluate(v, base_, &point));
    if (!std::isfinite(point.F)) { // outside the function's domain
      t = far > 0 ? 1 : interval.outside(t);
      continue;
    }
    slope            = point.slope / t; // along the whole step
    const double now = std::sqrt(point.measure.natural);
    if (tries == 0 && !step) *current = point.difference <= well_predicted * well_predicted * model.moved;
    const bool smaller = now <= (1 - 1e-4 * t) * natural || std::sqrt(point.measure.inactive) <= problem.Target();
    good = smaller && (!by_slope || slope <= 0.5 * -first || tries > 4);
    // The slope of a convex energy grows from `first` to zero: up to there a longer step is a better one, unless it
    // consists of rounding errors.
    const bool falls = t == 1 && slope <= 0 && slope >= first && whole.step > 1e-20 * point.X;
    if (by_slope && (std::fabs(slope) <= 0.3 * -first || falls)) good = true;
    if (!tries && !linear_->symmetric() && !must_reduce_ && now <= allowed_growth * natural) {
      good = !(by_slope && slope > turned * -first && now > turned * natural);
      if (!good) far = now;
    }
    if (tries && far > 0) { // back to the whole step where the other one is not better
      good = now < far || t == 1;
      t    = good ? t : 1;
    } else if (!good) t = interval.next(t, slope, by_slope, !tries);
    if (good) break;
  }
  n->step = t * std::sqrt(whole.step);
  if (good) {
    PetscCall(problem.Check(StepCheck::after, base_, v.X, &step));
    if (step) {
      PetscCall(VecNorm(step, NORM_2, &n->step));
      PetscCall(problem.Function(v.X, v.F));
      PetscCall(Evaluate(v, base_, &point));
      good = std::isfinite(point.F);
      *current = false;
    }
  }
  if (!linear_->symmetric()) PetscCall(Watch(problem, v, natural, &good, current, &point));
  *end = good ? End::no : std::isfinite(point.F) ? End::line_search : End::function;
  if (!good) {
    PetscCall(VecCopy(base_, v.X));
    PetscCall(problem.Function(v.X, v.F));
  } else *here = point.measure;
  n->x    = std::sqrt(point.X);
  *current = *current && t == 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Where cycles have not converged: is it because the body is free to move?
PetscErrorCode Newton::NameFreeShift(bool *failed)
{
  int unknown = -1;

  PetscFunctionBegin;
  TesseraCallCXX(unknown = linear_->free_shift());
  if (unknown < 0) PetscFunctionReturn(PETSC_SUCCESS);
  *failed = true;
  PetscCall(PetscSNPrintf(failure, sizeof(failure),
                          "the system of the unknowns that are not at bounds is singular: unknown %d of all nodes "
                          "together is free (a rigid motion of the body, a constant), and the function pushes along it",
                          unknown));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Where a solve has failed: has the linearized problem no solution, as no bound stops the unknowns where F pushes all
// of them to, and the Jacobian does not either? Its columns' sums are zero then.
PetscErrorCode Newton::NameUnbounded(const Vectors &v, bool *named)
{
  constexpr double   nothing = 1e-12; // beside the diagonal, or beside what F would push without cancellation
  const PetscScalar *l, *u;
  PetscScalar        push;
  PetscReal          all, resisted, diagonal;
  PetscInt           n;
  PetscBool          transposes;
  Vec                E, R;
  int                bounded = 0;

  PetscFunctionBegin;
  *named = false;
  PetscCall(MatHasOperation(jacobian_, MATOP_MULT_TRANSPOSE, &transposes));
  if (!transposes || source.reflect) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecSum(v.F, &push));
  PetscCall(VecNorm(v.F, NORM_1, &all));
  PetscCall(VecGetLocalSize(v.F, &n));
  PetscCall(VecGetArrayRead(v.XL, &l));
  PetscCall(VecGetArrayRead(v.XU, &u));
  for (PetscInt i = 0; i < n && !bounded; ++i) bounded = push > 0 ? l[i] > PETSC_NINFINITY : u[i] < PETSC_INFINITY;
  PetscCall(VecRestoreArrayRead(v.XL, &l));
  PetscCall(VecRestoreArrayRead(v.XU, &u));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &bounded, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)v.F)));
  if (bounded || !(std::fabs(push) > nothing * all)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDuplicate(v.F, &E));
  PetscCall(VecDuplicate(v.F, &R));
  PetscCall(VecSet(E, 1));
  PetscCall(MatMultTranspose(jacobian_, E, R));
  PetscCall(VecNorm(R, NORM_2, &resisted));
  PetscCall(MatGetDiagonal(jacobian_, R));
  PetscCall(VecNorm(R, NORM_2, &diagonal));
  PetscCall(VecDestroy(&E));
  PetscCall(VecDestroy(&R));
  *named = resisted <= nothing * diagonal;
  if (*named)
    PetscCall(PetscSNPrintf(failure, sizeof(failure),
                            "the linearized problem has no solution: the sum of F over all unknowns is %.6g and pushes "
                            "them towards %s infinity, where none of them has a bound, and the Jacobian, whose columns "
                            "add up to zero (a Neumann problem), does not stop them. Is a bound or a Dirichlet value "
                            "missing?", (double)push, push > 0 ? "minus" : "plus"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// No step along a correction of so many cycles is a good one.
PetscErrorCode Newton::GiveUp(Problem &problem, End end, PetscInt cycles, double natural)
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(failure, sizeof(failure),
                          end == End::function
                            ? "the function has no finite value anywhere along the correction of %" PetscInt_FMT
                              " cycles (natural residual before it %.6g)"
                            : "no step along the correction of %" PetscInt_FMT
                              " cycles brings the solution nearer (natural residual %.6g): is the Jacobian that of the "
                              "function? A nonlinear problem may need a better start, by -snes_grid_sequence on a DM "
                              "or by a load in steps",
                          cycles, natural));
  PetscCall(PetscInfo(source.solver, "%s\n", failure));
  PetscCall(problem.Stopped(end));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// After a step from a point with the natural residual `before` to X: where the last steps have been worse than the best
// point for too long, or no good step was found (*good), X becomes the best point, and the next step must reduce the
// residual.
PetscErrorCode Newton::Watch(Problem &problem, const Vectors &v, double before, bool *good, bool *current, Point *point)
{
  const double now = std::sqrt(point->measure.natural);

  PetscFunctionBegin;
  if (*good) {
    must_reduce_ = false;
    if (best_.above ? now < below * best_.natural : now <= before) best_.above = 0;
    else if (!best_.above++) {
      if (!best_.at) PetscCall(VecDuplicate(v.X, &best_.at));
      PetscCall(VecCopy(base_, best_.at));
      best_.natural = before;
    }
  }
  if (best_.above && (!*good || best_.above > patience)) {
    PetscCall(VecCopy(best_.at, v.X));
    PetscCall(problem.Function(v.X, v.F));
    PetscCall(Evaluate(v, base_, point));
    *good = must_reduce_ = true;
    *current = false;
    best_.above   = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Does a nested start help? Not where X has less than this share of the natural residual of zero, projected to the
// bounds: it is the solution of the last time step, or of a similar problem.
PetscErrorCode Newton::JudgeStart(const Vectors &v, const Measure &here, bool *fmg)
{
  constexpr double good = 0.1;
  Measure          zero;
  bool             changed;

  PetscFunctionBegin;
  PetscCall(VecSet(base_, 0));
  PetscCall(ProjectToBounds(plan.exec, v.XL, v.XU, base_));
  PetscCall(Load(v, false, &changed));
  PetscCall(SetCorrection(v.X, base_, &zero));
  *fmg = !(here.natural < good * good * zero.natural);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Relative to the largest bound or unknown where that is below 1: otherwise all nodes of a problem in small units would
// be at their bounds.
PetscErrorCode Newton::SetZeroTolerance(Vec X)
{
  PetscReal size = options.largest_bound, norm;

  PetscFunctionBegin;
  if (size < 1) {
    PetscCall(VecNorm(X, NORM_INFINITY, &norm));
    size = PetscMax(size, norm);
  }
  plan.zero_tolerance = options.zero_tolerance * PetscMin(size, 1);
  if (mesh.problem()) mesh.problem()->zero_tolerance = plan.zero_tolerance;
  single_.zero_tolerance = plan.zero_tolerance;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera::vipmg
