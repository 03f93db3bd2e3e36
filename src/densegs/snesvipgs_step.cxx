// The steps of SNES vipgs for an F that is not linear: as far as F has finite values, and back where they lead nowhere.
#include "densegs/vipgs_steps.hpp"
#include "petsc/bounds.hpp"

// X becomes the point after `length` of a step from another one.
static PetscErrorCode TakePart(SNES snes, const tessera::Steps &steps, Vec from, Vec step, double length)
{
  PetscFunctionBegin;
  PetscCall(VecWAXPY(snes->vec_sol, -length, step, from));
  if (steps.linear->mu.empty()) PetscCall(tessera::ProjectToBounds(snes, snes->vec_sol)); // rounding
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The program's check of the step to X; *norm: the natural residual at X, where the program has changed it. Collective.
static PetscErrorCode CheckAfter(SNES snes, tessera::Steps &steps, Vec from, double *norm)
{
  double size    = 0;
  bool   changed = false, domain = false;

  PetscFunctionBegin;
  PetscCall(tessera::CheckStep(snes, tessera::StepCheck::after, from, snes->vec_sol_update, snes->vec_sol, &changed));
  if (!changed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(steps.Evaluate(norm, &size, &domain));
  if (!std::isfinite(size)) snes->reason = domain ? SNES_DIVERGED_FUNCTION_DOMAIN : CompatDivergedNaN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::MakeStep(SNES snes, const Linearization &linear, Steps &steps, double *norm)
{
  Vec    X0 = snes->work[0], X = snes->vec_sol, step = snes->vec_sol_update;
  double size = 0, length = 1;
  bool   changed, domain = false;

  PetscFunctionBegin;
  PetscCall(ScatterVector(linear.x, X));
  PetscCall(CheckStep(snes, StepCheck::before, X0, step, X, &changed));
  for (int tries = 0;; ++tries) {
    PetscCall(steps.Evaluate(norm, &size, &domain));
    if (std::isfinite(size)) break;
    if (!tries) PetscCall(VecWAXPY(step, -1, X, X0)); // of which a part will do
    if (tries == 20) {
      PetscCall(VecCopy(X0, X));
      PetscCall(SNESComputeFunction(snes, X, snes->vec_func));
      snes->reason = domain ? SNES_DIVERGED_FUNCTION_DOMAIN : CompatDivergedNaN;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    length *= 0.5;
    steps.whole = true;
    PetscCall(PetscInfo(snes, "F has no finite value: %.6g of the step is tried\n", length));
    PetscCall(TakePart(snes, steps, X0, step, length));
  }
  PetscCall(CheckAfter(snes, steps, X0, norm));
  if (steps.whole) {
    PetscCall(VecWAXPY(step, -1, X, X0));
    PetscCall(VecNorm(step, NORM_2, &steps.snorm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::WatchSteps(SNES snes, Steps &steps, BestPoint &best, double before, double inside, double *norm)
{
  constexpr double below    = 0.99; // smaller gains may be oscillation
  constexpr double much     = 1e4;  // so much more is nothing to wait for
  constexpr int    halvings = 40;
  SNES_VIPGS *p = (SNES_VIPGS *)snes->data;
  Vec         X0 = snes->work[0], X = snes->vec_sol;
  double      size = 0, length = 1;
  bool        domain = false, good = false;

  PetscFunctionBegin;
  if (!best.above) {
    best.norm   = before;
    best.inside = inside;
  }
  const auto far = [&] {
    return !(*norm <= much * best.norm && steps.inside <= much * PetscMax(best.norm, best.inside));
  };
  if (!far() && (best.above ? *norm < below * best.norm : *norm <= before)) {
    best.above = 0;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!best.above++) {
    if (!best.at) PetscCall(VecDuplicate(X, &best.at));
    if (!best.step) PetscCall(VecDuplicate(X, &best.step));
    PetscCall(VecCopy(X0, best.at));
    PetscCall(VecWAXPY(best.step, -1, X, X0));
  }
  if (!far() && best.above <= best.patience) PetscFunctionReturn(PETSC_SUCCESS);
  best.above = best.patience = 0;
  for (int tries = 0; tries < halvings && !good; ++tries) {
    length *= 0.5;
    PetscCall(TakePart(snes, steps, best.at, best.step, length));
    PetscCall(steps.Evaluate(norm, &size, &domain));
    good = std::isfinite(size) && *norm <= (1 - 1e-4 * length) * best.norm && !far();
  }
  PetscCall(VecWAXPY(snes->vec_sol_update, -1, X, best.at));
  if (good) {
    PetscCall(PetscInfo(snes, "The residual has grown: back to where it was %.6g, and on with %.6g of the step\n",
                        best.norm, length));
    PetscCall(CheckAfter(snes, steps, best.at, norm));
  } else {
    PetscCall(VecCopy(best.at, X));
    PetscCall(VecSet(snes->vec_sol_update, 0));
    PetscCall(steps.Evaluate(norm, &size, &domain));
    PetscCall(PetscSNPrintf(p->failure, sizeof(p->failure),
                            "no part of a step reduces the natural residual %.6g: is the Jacobian that of the "
                            "function? A nonlinear problem may need a better start, or a load in steps", best.norm));
    PetscCall(PetscInfo(snes, "%s\n", p->failure));
    p->certificate.reason = SNES_VIPGS_STALLED;
    snes->norm            = *norm;
    snes->reason          = SNES_DIVERGED_LINE_SEARCH;
  }
  PetscCall(VecNorm(best.step, NORM_2, &steps.snorm)); // a part of it is not small because it is a part
  PetscFunctionReturn(PETSC_SUCCESS);
}
