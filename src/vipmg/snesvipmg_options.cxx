// Options, setters and monitors of SNES vipmg.
#include "vipmg/snesvipmg.hpp"
#include "vipmg/complementarity.hpp"

const char *const SNESVIPMGVariants[] = {"hybrid",           "tnnmg",       "monotone", "klement_oberhuber",
                                         "SNESVIPMGVariant", "SNES_VIPMG_", nullptr};
const char *const SNESVIPMGCycles[]   = {"auto", "v", "w", "f", "SNESVIPMGCycle", "SNES_VIPMG_CYCLE_", nullptr};
const char *const SNESVIPMGLevelsTypes[] = {"auto", "box", "tree", "SNESVIPMGLevelsType", "SNES_VIPMG_LEVELS_",
                                            nullptr};

using namespace tessera;
using O = VIPMGOptions;

static const Option rows[] = {
  Option::Enum<&O::variant>("-snes_vipmg_variant", "SNESVIPMGSetVariant", "Variant of the method", SNESVIPMGVariants),
  Option::Enum<&O::cycle>("-snes_vipmg_cycle", "SNESVIPMGSetCycle", "How often coarse grids are visited",
                          SNESVIPMGCycles),
  Option::Bool<&O::fmg>("-snes_vipmg_fmg", "SNESVIPMGSetFMG", "Start on the coarsest grid"),
  Option::Pair<&O::sweeps>("-snes_vipmg_sweeps", "SNESVIPMGSetSweeps", "Sweeps before and after the coarse correction",
                           "numbers of sweeps, pre,post", 0, 1000,
                           "-snes_vipmg_sweeps: %s and %s sweeps given, and none of the numbers is to be negative or "
                           "above 1000"),
  Option::RealBetween<&O::omega>("-snes_vipmg_omega", "SNESVIPMGSetOmega", "Relaxation of the projected sweeps", 0, 2,
                                 "-snes_vipmg_omega is to be between 0 and 2, both excluded: %s given"),
  Option::Int<&O::levels>("-snes_vipmg_levels", "SNESVIPMGSetLevels", "Maximum number of grids (0 for all)", 0,
                          PETSC_INFINITY,
                          "-snes_vipmg_levels, the number of grids, is to be positive, or 0 for all: %s given"),
  Option::Enum<&O::backend>("-snes_vipmg_backend", "SNESVIPMGSetBackend", "Where the solver runs", TesseraBackends),
  Option::Enum<&O::type>("-snes_vipmg_levels_type", "SNESVIPMGSetLevelsType", "What coarse grids are made from",
                         SNESVIPMGLevelsTypes),
  Option::Text<&O::file>("-snes_vipmg_coordinates", "SNESVIPMGSetCoordinatesFile",
                         "File of the nodes' coordinates, file.h5:/path or PETSc's binary format"),
  Option::Bool<&O::monitor>("-snes_vipmg_monitor", "SNESVIPMGSetMonitor", "A line for each cycle"),
};
const OptionTable O::table(rows);

static const Option normals_rows[] = {
  Option::Text<&VIPMGNormals::file>("-snes_vipmg_normals", "SNESVIPMGSetNormalsFile",
                                    "File of the nodes' normals, along which they are bounded, file.h5:/path or "
                                    "PETSc's binary format"),
};
const OptionTable VIPMGNormals::table(normals_rows);

void O::Give(vipmg::Options &o) const
{
  o.params.variant = (vipmg::Variant)(int)variant; // the same order
  o.params.cycle   = (vipmg::Cycle)(int)cycle;
  o.params.fmg     = fmg == PETSC_TRUE;
  o.params.pre     = (int)sweeps[0];
  o.params.post    = (int)sweeps[1];
  o.params.omega   = omega;
  o.params.levels  = (int)PetscMin(levels, 64);
  o.backend        = backend;
  o.levels         = (vipmg::Levels)(int)type;
}

PetscErrorCode vipmg::SetSource(PetscObject solver, const char *who, const char *prefix, DM dm, VIPMGSolver *v)
{
  const char *own;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetOptionsPrefix(solver, &own));
  v->newton.source = {solver, who, dm, nullptr, v->options.file,
                      std::string(own ? own : "") + prefix + "coordinates"};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static VIPMGSolver &SolverOf(PetscObject solver)
{
  if (solver->classid == TAO_CLASSID) return *(TAO_VIPMG *)((Tao)solver)->data;
  return *(SNES_VIPMG *)((SNES)solver)->data;
}

O &O::Of(PetscObject solver)
{
  return SolverOf(solver).options;
}

VIPMGNormals &VIPMGNormals::Of(SNES snes)
{
  return ((SNES_VIPMG *)snes->data)->normals;
}

PetscErrorCode VIPMGNormals::Changed(SNES snes)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&Of(snes).read)); // of another file
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode O::Changed(PetscObject solver)
{
  PetscFunctionBegin;
  Of(solver).Give(SolverOf(solver).newton.options);
  PetscFunctionReturn(PETSC_SUCCESS);
}

namespace {

PetscErrorCode GetCertificate(SNES snes, SNESVIPMGCertificate *certificate)
{
  vipmg::ComplementarityNorms c;

  PetscFunctionBegin;
  PetscCheck(snes->vec_sol && snes->vec_func && snes->xl && snes->xu, PetscObjectComm((PetscObject)snes),
             PETSC_ERR_ARG_WRONGSTATE, "SNESVIPMGGetCertificate() describes the solution: call SNESSolve() first");
  PetscCall(vipmg::Complementarity(snes->vec_sol, snes->vec_func, snes->xl, snes->xu, &c));
  const vipmg::Norms &last = ((SNES_VIPMG *)snes->data)->last;
  *certificate             = {last.inactive, last.natural, c.fischer_burmeister, c.gap, c.violation};
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Active nodes of the solver's present point.
PetscErrorCode CountActive(SNES snes, Vec residual, Vec active, PetscInt pressed[2], PetscInt at[2])
{
  const Vec X = snes->vec_sol, F = snes->vec_func;

  PetscFunctionBegin;
  const PetscReal zero = ((SNES_VIPMG *)snes->data)->newton.plan.zero_tolerance;
  PetscCall(vipmg::CountActive(X, F, snes->xl, snes->xu, zero, residual, active, pressed, at));
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

PetscErrorCode vipmg::CheckBounds(PetscObject solver, const char *who, Newton &newton, Vec X, Vec xl, Vec xu,
                                  UpperBounds &upper)
{
  BoundsReport b;
  PetscInt     N;
  MPI_Comm     comm = PetscObjectComm(solver);

  PetscFunctionBegin;
  PetscCall(VecGetSize(X, &N));
  // setup has seen those of then, and the program may have given others since
  PetscCall(CheckDistribution(comm, X, xl, xu));
  PetscCall(LookAtBounds(newton.plan.exec, xl, xu, &b));
  newton.options.largest_bound = b.largest;
  const std::string node = b.first >= 0 ? newton.Node(b.first) : "";
  PetscCheck(!b.nan, comm, PETSC_ERR_FP,
             "%s: the bounds of %" PetscInt_FMT " of %" PetscInt_FMT
             " unknowns are not numbers, the first at unknown %" PetscInt_FMT
             " (%s): lower %.6g, upper %.6g. No bound is PETSC_NINFINITY or PETSC_INFINITY",
             who, b.nan, N, b.first, node.c_str(), (double)b.xl, (double)b.xu);
  PetscCheck(!b.crossed, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "%s: at %" PetscInt_FMT " of %" PetscInt_FMT
             " unknowns nothing lies between the bounds, the first is %" PetscInt_FMT " (%s): lower %.6g, upper %.6g",
             who, b.crossed, N, b.first, node.c_str(), (double)b.xl, (double)b.xu);
  PetscCall(upper.Make(xl, xu, b));
  if (b.rounded)
    PetscCall(PetscInfo(solver, "Bounds of %" PetscInt_FMT " unknowns cross by rounding: they are held at the lower\n",
                        b.rounded));
  if (!b.lower && !b.upper)
    PetscCall(PetscInfo(solver, "No unknown has a bound: this is Newton's method with plain multigrid\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode vipmg::ComposeSetters(SNES snes, bool on)
{
  PetscObject o = (PetscObject)snes;

  PetscFunctionBegin;
  PetscCall(ComposeOptions(o, O::table, on));
  PetscCall(ComposeOptions(o, VIPMGNormals::table, on));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPMGGetCertificate_C", on ? GetCertificate : nullptr));
  PetscCall(ComposeInfo(snes, on));
  PetscFunctionReturn(PETSC_SUCCESS);
}
