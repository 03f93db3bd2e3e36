// Options, setters and monitors of SNES vipmg.
#include "vipmg/snesvipmg.hpp"
#include "petsc/bounds.hpp"
#include "petsc/options.hpp"
#include "vipmg/complementarity.hpp"

const char *const SNESVIPMGVariants[] = {"hybrid",           "tnnmg",       "monotone", "paper",
                                         "SNESVIPMGVariant", "SNES_VIPMG_", nullptr};
const char *const SNESVIPMGCycles[]   = {"v", "w", "f", "auto", "SNESVIPMGCycle", "SNES_VIPMG_CYCLE_", nullptr};

using namespace tessera;

namespace {

// What options and setters refuse.
PetscErrorCode CheckSmooth(PetscObject o, PetscInt pre, PetscInt post)
{
  PetscFunctionBegin;
  PetscCheck(pre >= 0 && post >= 0 && pre <= 1000 && post <= 1000, PetscObjectComm(o), PETSC_ERR_ARG_OUTOFRANGE,
             "vipmg_smooth: %" PetscInt_FMT " and %" PetscInt_FMT
             " sweeps given, and none of the numbers is to be negative or above 1000",
             pre, post);
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscErrorCode CheckOmega(PetscObject o, PetscReal omega)
{
  PetscFunctionBegin;
  PetscCheck(omega > 0 && omega < 2, PetscObjectComm(o), PETSC_ERR_ARG_OUTOFRANGE,
             "vipmg_omega is to be between 0 and 2, both excluded: %g given", (double)omega);
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscErrorCode CheckLevels(PetscObject o, PetscInt levels)
{
  PetscFunctionBegin;
  PetscCheck(levels >= 0, PetscObjectComm(o), PETSC_ERR_ARG_OUTOFRANGE,
             "vipmg_levels, the number of grids, is to be positive, or 0 for all: %" PetscInt_FMT " given", levels);
  PetscFunctionReturn(PETSC_SUCCESS);
}

vipmg::Options &OptionsOf(SNES snes) { return ((SNES_VIPMG *)snes->data)->newton.options; }

PetscErrorCode SetVariant(SNES snes, SNESVIPMGVariant v)
{
  PetscFunctionBegin;
  OptionsOf(snes).params.variant = (vipmg::Variant)(int)v;
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscErrorCode SetCycle(SNES snes, SNESVIPMGCycle c)
{
  PetscFunctionBegin;
  OptionsOf(snes).params.cycle = (vipmg::Cycle)(int)c;
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscErrorCode SetFMG(SNES snes, PetscBool fmg)
{
  PetscFunctionBegin;
  OptionsOf(snes).params.fmg = fmg == PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscErrorCode SetSmooth(SNES snes, PetscInt pre, PetscInt post)
{
  PetscFunctionBegin;
  PetscCall(CheckSmooth((PetscObject)snes, pre, post));
  OptionsOf(snes).params.pre  = (int)pre;
  OptionsOf(snes).params.post = (int)post;
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscErrorCode SetOmega(SNES snes, PetscReal omega)
{
  PetscFunctionBegin;
  PetscCall(CheckOmega((PetscObject)snes, omega));
  OptionsOf(snes).params.omega = omega;
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscErrorCode SetLevels(SNES snes, PetscInt levels)
{
  PetscFunctionBegin;
  PetscCall(CheckLevels((PetscObject)snes, levels));
  OptionsOf(snes).params.levels = (int)PetscMin(levels, 64);
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscErrorCode SetBackend(SNES snes, TesseraBackend b)
{
  PetscFunctionBegin;
  OptionsOf(snes).backend = b;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SetMonitor(SNES snes, PetscBool on)
{
  PetscFunctionBegin;
  ((SNES_VIPMG *)snes->data)->monitor = on;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GetNorms(SNES snes, PetscReal norms[5])
{
  vipmg::ComplementarityNorms c;

  PetscFunctionBegin;
  PetscCheck(snes->vec_sol && snes->vec_func && snes->xl && snes->xu, PetscObjectComm((PetscObject)snes),
             PETSC_ERR_ARG_WRONGSTATE, "SNESVIPMGGetNorms() describes the solution: call SNESSolve() first");
  PetscCall(vipmg::Complementarity(snes->vec_sol, snes->vec_func, snes->xl, snes->xu, &c));
  const vipmg::Norms &last = ((SNES_VIPMG *)snes->data)->last;
  norms[0]          = last.inactive;
  norms[1]          = last.natural;
  norms[2]          = c.fischer_burmeister;
  norms[3]          = c.violation;
  norms[4]          = c.gap;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Active nodes of the solver's present point.
PetscErrorCode CountActive(SNES snes, Vec residual, Vec active, PetscInt pressed[2], PetscInt at[2])
{
  const Vec X = snes->vec_sol, F = snes->vec_func;

  PetscFunctionBegin;
  PetscCall(vipmg::CountActive(X, F, snes->xl, snes->xu, snes->vizerotolerance, residual, active, pressed, at));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The line of PETSc's VI solvers.
PetscErrorCode MonitorVI(SNES snes, PetscInt its, PetscReal fnorm, PetscViewerAndFormat *vf)
{
  PetscInt pressed[2], at[2], N;

  PetscFunctionBegin;
  PetscCall(CountActive(snes, nullptr, nullptr, pressed, at));
  PetscCall(VecGetSize(snes->vec_sol, &N));
  const double sum = (double)(pressed[0] + pressed[1]);
  PetscCall(PetscViewerASCIIAddTab(vf->viewer, ((PetscObject)snes)->tablevel));
  PetscCall(PetscViewerASCIIPrintf(vf->viewer,
                                   "%3" PetscInt_FMT " SNES VI Function norm %g Active lower constraints %" PetscInt_FMT
                                   "/%" PetscInt_FMT " upper constraints %" PetscInt_FMT "/%" PetscInt_FMT
                                   " Percent of total %g Percent of bounded %g\n",
                                   its, (double)fnorm, pressed[0], at[0], pressed[1], at[1], sum / (double)N,
                                   snes->ntruebounds ? sum / (double)snes->ntruebounds : 0.));
  PetscCall(PetscViewerASCIISubtractTab(vf->viewer, ((PetscObject)snes)->tablevel));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MonitorField(SNES snes, PetscViewerAndFormat *vf, bool residual)
{
  Vec      v;
  PetscInt pressed[2], at[2];

  PetscFunctionBegin;
  PetscCall(VecDuplicate(snes->vec_sol, &v));
  PetscCall(CountActive(snes, residual ? v : nullptr, residual ? nullptr : v, pressed, at));
  PetscCall(PetscViewerPushFormat(vf->viewer, vf->format));
  PetscCall(VecView(v, vf->viewer));
  PetscCall(PetscViewerPopFormat(vf->viewer));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscErrorCode MonitorResidual(SNES snes, PetscInt, PetscReal, PetscViewerAndFormat *vf)
{
  PetscFunctionBegin;
  PetscCall(MonitorField(snes, vf, true));
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscErrorCode MonitorActive(SNES snes, PetscInt, PetscReal, PetscViewerAndFormat *vf)
{
  PetscFunctionBegin;
  PetscCall(MonitorField(snes, vf, false));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode vipmg::SetMonitors(SNES snes)
{
  PetscFunctionBegin;
  PetscCall(SNESMonitorSetFromOptions(snes, "-snes_vi_monitor", "Monitor all non-active variables", "SNESMonitorVI",
                                      MonitorVI, nullptr));
  PetscCall(SNESMonitorSetFromOptions(snes, "-snes_vi_monitor_residual",
                                      "View residual at each iteration, using zero for active constraints",
                                      "SNESVIMonitorResidual", MonitorResidual, nullptr));
  PetscCall(SNESMonitorSetFromOptions(snes, "-snes_vi_monitor_active",
                                      "View active set at each iteration, using zero for inactive dofs",
                                      "SNESVIMonitorActive", MonitorActive, nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode vipmg::CheckBounds(PetscObject solver, const char *who, Newton &newton, Vec X, Vec xl, Vec xu)
{
  BoundsReport b;
  PetscInt     p[3] = {0, 0, 0}, N;
  MPI_Comm     comm = PetscObjectComm(solver);

  PetscFunctionBegin;
  PetscCall(VecGetSize(X, &N));
  // setup has seen those of then, and the program may have given others since
  PetscCall(CheckDistribution(comm, X, xl, xu));
  PetscCall(LookAtBounds(xl, xu, &b));
  if (b.first >= 0) newton.matrix.Node(b.first, p);
  PetscCheck(!b.nan, comm, PETSC_ERR_FP,
             "%s: the bounds of %" PetscInt_FMT " of %" PetscInt_FMT
             " unknowns are not numbers, the first at unknown %" PetscInt_FMT " (node %" PetscInt_FMT ",%" PetscInt_FMT
             ",%" PetscInt_FMT "): lower %g, upper %g. No bound is PETSC_NINFINITY or PETSC_INFINITY",
             who, b.nan, N, b.first, p[0], p[1], p[2], (double)b.xl, (double)b.xu);
  PetscCheck(!b.crossed, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "%s: at %" PetscInt_FMT " of %" PetscInt_FMT
             " unknowns nothing lies between the bounds, the first is %" PetscInt_FMT " (node %" PetscInt_FMT
             ",%" PetscInt_FMT ",%" PetscInt_FMT "): lower %g, upper %g",
             who, b.crossed, N, b.first, p[0], p[1], p[2], (double)b.xl, (double)b.xu);
  if (!b.lower && !b.upper)
    PetscCall(PetscInfo(solver, "No unknown has a bound: this is Newton's method with plain multigrid\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode vipmg::OptionsOfNewton(CompatOptionItems PetscOptionsObject, PetscObject object, const char *kind,
                                      Options &o, PetscBool *monitor)
{
  PetscEnum variant = (PetscEnum)(int)o.params.variant, cycle = (PetscEnum)(int)o.params.cycle,
            backend    = (PetscEnum)(int)o.backend;
  PetscBool fmg = o.params.fmg ? PETSC_TRUE : PETSC_FALSE, set;
  PetscInt  smooth[2] = {o.params.pre, o.params.post}, n = 2, levels = o.params.levels;
  PetscReal omega     = o.params.omega;
  char      key[32];
  const auto option = [&](const char *name) {
    snprintf(key, sizeof(key), "-%s_vipmg_%s", kind, name);
    return (const char *)key;
  };

  PetscFunctionBegin;
  PetscCall(PetscOptionsEnum(option("variant"), "The cycle", "SNESVIPMGSetVariant", SNESVIPMGVariants, variant,
                             &variant, nullptr));
  PetscCall(PetscOptionsEnum(option("cycle"), "How often coarse grids are visited", "SNESVIPMGSetCycle",
                             SNESVIPMGCycles, cycle, &cycle, nullptr));
  PetscCall(PetscOptionsBool(option("fmg"), "Start on the coarsest grid", "SNESVIPMGSetFMG", fmg, &fmg, nullptr));
  PetscCall(PetscOptionsIntArray(option("smooth"), "Sweeps before and after the coarse correction",
                                 "SNESVIPMGSetSmooth", smooth, &n, &set));
  if (set) PetscCall(CountNumbers(PetscOptionsObject, option("smooth"), &n));
  PetscCheck(!set || n == 2, PetscObjectComm(object), PETSC_ERR_ARG_SIZ,
             "%s takes two numbers of sweeps, pre,post: %" PetscInt_FMT " given", option("smooth"), n);
  PetscCall(PetscOptionsReal(option("omega"), "Relaxation of the projected sweeps", "SNESVIPMGSetOmega", omega, &omega,
                             nullptr));
  PetscCall(
    PetscOptionsInt(option("levels"), "At most so many grids, 0: all", "SNESVIPMGSetLevels", levels, &levels, nullptr));
  PetscCall(PetscOptionsEnum(option("backend"), "Where the solver runs", "SNESVIPMGSetBackend", TesseraBackends,
                             backend, &backend, nullptr));
  PetscCall(
    PetscOptionsBool(option("monitor"), "A line for each cycle", "SNESVIPMGSetMonitor", *monitor, monitor, nullptr));
  PetscCall(CheckSmooth(object, smooth[0], smooth[1]));
  PetscCall(CheckOmega(object, omega));
  PetscCall(CheckLevels(object, levels));
  o.params.variant = (Variant)(int)variant;
  o.params.cycle   = (Cycle)(int)cycle;
  o.params.fmg     = fmg == PETSC_TRUE;
  o.params.pre     = (int)smooth[0];
  o.params.post    = (int)smooth[1];
  o.params.omega   = omega;
  o.params.levels  = (int)PetscMin(levels, 64);
  o.backend        = (TesseraBackend)(int)backend;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode vipmg::ComposeSetters(SNES snes, bool on)
{
  PetscObject o = (PetscObject)snes;

  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPMGSetVariant_C", on ? SetVariant : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPMGSetCycle_C", on ? SetCycle : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPMGSetFMG_C", on ? SetFMG : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPMGSetSmooth_C", on ? SetSmooth : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPMGSetOmega_C", on ? SetOmega : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPMGSetLevels_C", on ? SetLevels : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPMGSetBackend_C", on ? SetBackend : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPMGSetMonitor_C", on ? SetMonitor : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPMGGetNorms_C", on ? GetNorms : nullptr));
  PetscCall(ComposeInfo(snes, on));
  PetscFunctionReturn(PETSC_SUCCESS);
}
