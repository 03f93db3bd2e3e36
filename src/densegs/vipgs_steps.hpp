// What the iterations of SNES vipgs are to tests and monitors.
#pragma once
#include "densegs/solvers.hpp"
#include "petsc/compat_snes.h"
#include "petsc/hooks.hpp"
#include <cmath>
#include <vector>

namespace tessera {

// F linearised at a point: the matrix by rows, vectors whole on every process.
struct Linearization {
  int                 n = 0;
  lcp::Matrix         matrix;
  DenseView           view; // its rows in PETSc's own array
  lcp::Entries        entries; // a sparse matrix in their place
  std::vector<double> q, f0, x, lower, upper, mu;
  double              scale = 1; // of F beside x, where it is far from 1
};

// The problem without its matrix: what norms and certificates of a point need.
inline lcp::Problem ProblemOf(const SNES_VIPGS *p, const Linearization &linear)
{
  lcp::Problem problem;
  problem.n        = linear.n;
  problem.lower    = linear.lower.data();
  problem.upper    = linear.upper.data();
  problem.block    = (int)p->options.block;
  problem.mu       = linear.mu.data();
  problem.friction = (lcp::Friction)(int)p->options.friction;
  problem.scale    = linear.scale;
  return problem;
}

constexpr double rounding = 1e-10; // F differs from its linearisation by less, relative to its parts: it is linear

// What convergence tests and monitors see as an iteration: where F is linear, each step of the solver of the linear
// problem; where it is not, or where the program has a hook that is called for each Newton step, one linearization.
// Before convergence is declared the norm is computed from F itself. All processes make the same steps.
struct Steps {
  SNES                 snes    = nullptr;
  const Linearization *linear  = nullptr;
  PetscErrorCode       ierr    = PETSC_SUCCESS;
  bool                 whole   = false;          // an iteration is a linearisation
  bool                 begun   = false;          // F has been compared with its linearisation
  bool                 current = false;          // vec_func is F of the present point
  bool                 rounded = false;          // the linear problem has been solved but for rounding
  PetscReal            first   = 0;              // norm
  PetscReal            snorm   = PETSC_INFINITY; // the length of the last step, if there was one
  double               target  = 0;              // of a linear problem that is solved as a whole
  double               inside  = 0;              // the norm of F without what presses unknowns against their bounds
  PetscInt             quiet   = 0;              // its steps

  explicit Steps(SNES s) : snes(s) { }

  // Is the difference of these norms at x rounding? size: of their parts beside A x.
  bool WithinRounding(double norm, double model, double size, const double *x) const
  {
    constexpr double few = 1e-13;
    return std::fabs(norm - model) <= rounding * size + few * lcp::size_of_product(linear->matrix, x);
  }
  PetscReal Target() const { return PetscMax(snes->abstol, snes->rtol * first); }

  // The present point is an iteration.
  PetscErrorCode Iteration(PetscInt it, double norm, int sweeps)
  {
    // a step of length zero is none: nothing better was found, which is no convergence
    const PetscReal step = !it ? 0 : snorm > 0 ? snorm : PETSC_INFINITY;
    PetscReal       xnorm;

    PetscFunctionBegin;
    PetscCall(VecNorm(snes->vec_sol, NORM_2, &xnorm));
    PetscCall(PetscObjectSAWsTakeAccess((PetscObject)snes));
    snes->iter  = it;
    snes->norm  = norm;
    snes->xnorm = xnorm;
    snes->ynorm = step;
    PetscCall(PetscObjectSAWsGrantAccess((PetscObject)snes));
    if (!it) first = norm;
    PetscCall(SNESLogConvergenceHistory(snes, norm, sweeps));
    PetscCall(CompatSNESConverged(snes, it, xnorm, step, norm));
    PetscCall(SNESMonitor(snes, it, norm));
    if (!std::isfinite(norm)) snes->reason = CompatDivergedNaN;
    if (!snes->reason && it >= snes->max_its) snes->reason = SNES_DIVERGED_MAX_IT;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  // F at the present point, and its natural residual; not finite: outside of its domain, or no number.
  PetscErrorCode Evaluate(double *norm, double *size, bool *domain)
  {
    std::vector<double> f, x;

    PetscFunctionBegin;
    PetscCall(SNESComputeFunction(snes, snes->vec_sol, snes->vec_func));
    PetscCall(FunctionDomainError(snes, snes->vec_func, domain));
    PetscCall(GatherVector(snes->vec_func, f));
    PetscCall(GatherVector(snes->vec_sol, x));
    current = true;
    *size   = 0;
    for (double v : f) *size += v * v;
    *size = std::sqrt(*size);
    *norm =
      std::isfinite(*size) ? lcp::natural(ProblemOf((SNES_VIPGS *)snes->data, *linear), x.data(), f.data()) : HUGE_VAL;
    inside = 0;
    for (size_t i = 0; i < f.size(); ++i)
      if (f[i] > 0 ? x[i] > linear->lower[i] : x[i] < linear->upper[i]) inside += f[i] * f[i];
    inside = std::sqrt(inside);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  static PetscErrorCode Step(Steps *s, const lcp::Report &report, double model, const double *x, bool *stop)
  {
    SNES         snes = s->snes;
    PetscScalar *v;
    PetscInt     from, to;
    PetscReal    moved;
    double       norm = model;

    PetscFunctionBegin;
    *stop = false;
    if (!report.steps) PetscFunctionReturn(PETSC_SUCCESS); // the point of the linearisation has been an iteration
    if (s->whole) {
      *stop = model <= s->target || ++s->quiet > 100000;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(VecCopy(snes->vec_sol, snes->vec_sol_update));
    PetscCall(VecGetOwnershipRange(snes->vec_sol, &from, &to));
    PetscCall(VecGetArrayWrite(snes->vec_sol, &v));
    std::copy(x + from, x + to, v);
    PetscCall(VecRestoreArrayWrite(snes->vec_sol, &v));
    PetscCall(VecAXPY(snes->vec_sol_update, -1, snes->vec_sol));
    PetscCall(VecNorm(snes->vec_sol_update, NORM_2, &moved));
    if (moved > 0) { // else this step has found nothing better, and the last one stands
      s->snorm   = moved;
      s->current = false;
    }
    const bool own = snes->ops->converged != SNESConvergedDefault && snes->ops->converged != SNESConvergedSkip;
    if (!s->current && (own || (moved > 0 && !s->begun) || model <= s->Target())) {
      double size = 0, q = 0;
      bool   domain = false;
      PetscCall(s->Evaluate(&norm, &size, &domain));
      s->begun = true;
      for (double e : s->linear->q) q += e * e;
      if (!std::isfinite(size) || !s->WithinRounding(norm, model, size + std::sqrt(q), x)) {
        PetscCall(PetscInfo(snes, "F is not linear: an iteration is a linearization\n"));
        s->whole = true;
        *stop    = model <= s->target;
        PetscFunctionReturn(PETSC_SUCCESS);
      }
    }
    PetscCall(s->Iteration(snes->iter + 1, norm, report.sweeps));
    *stop = snes->reason || model <= 0.1 * s->Target(); // the linear problem is solved, as well as can be
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  // true: end
  bool operator()(const lcp::Report &report, double norm, const double *x)
  {
    bool stop;
    ierr = Step(this, report, norm, x, &stop);
    return ierr || stop;
  }
};

// From X0 to linear.x, or as far as F has finite values; *norm: its natural residual there. Without any the SNES has a
// reason. Collective.
PetscErrorCode MakeStep(SNES snes, const Linearization &linear, Steps &steps, double *norm);

// The point of the least residual, where later ones are above it.
struct BestPoint {
  Vec    at = nullptr, step = nullptr; // step: from it, as PETSc counts it (X0 - X)
  double norm = 0, inside = 0;         // the natural residual there, and Steps::inside
  int    above    = 0;                 // iterations since then
  int    patience = 3;                 // so many may be above it
};
// Whole steps of Newton's method are the best ones near the answer, and may raise the residual on their way there. So a
// few of them are waited for. Where the residual is not below the one before them then, or one of them has gone far
// away, the solver goes back and takes the first half, quarter, ... of the step that reduces the residual. From then on
// every step must. Without such a part the SNES has a reason, and X is the best point. before, inside: of X0, which is
// work[0]; *norm: the natural residual at X. Collective.
PetscErrorCode WatchSteps(SNES snes, Steps &steps, BestPoint &best, double before, double inside, double *norm);

} // namespace tessera
