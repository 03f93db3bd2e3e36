// SNES vipmg: PETSc's face of multigrid for variational inequalities.
#include "vipmg/snesvipmg.hpp"
#include "vipmg/reflected.hpp"
#include "petsc/shell.hpp"
#include "petsc/nodes_file.hpp"
#include <petsc/private/kspimpl.h>

using namespace tessera;
using vipmg::End;
using vipmg::Norms;

namespace {

// A SNES as Newton's method sees it.
struct SNESProblem : vipmg::Problem {
  SNES      snes;
  PetscReal first = 0; // norm
  explicit SNESProblem(SNES s) : snes(s) { }

  PetscErrorCode Function(Vec x, Vec f) override
  {
    const TrapsAsBefore traps;
    bool error;

    PetscFunctionBegin;
    PetscCall(SNESComputeFunction(snes, x, f));
    PetscCall(FunctionDomainError(snes, f, &error)); // shorter steps may do
    domain = domain || error;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Jacobian(Vec x, Mat *J, bool *failed) override
  {
    const TrapsAsBefore traps;
    PetscObjectState before = 0, after;

    PetscFunctionBegin;
    if (read) PetscCall(PetscObjectStateGet((PetscObject)snes->jacobian_pre, &before));
    PetscCall(SNESComputeJacobian(snes, x, snes->jacobian, snes->jacobian_pre));
    PetscCall(JacobianDomainError(snes, failed));
    if (!*failed) PetscCall(CheckMatrix((PetscObject)snes, "SNES vipmg", snes->jacobian_pre));
    PetscCall(PetscObjectStateGet((PetscObject)snes->jacobian_pre, &after));
    *J   = read && after == before ? nullptr : snes->jacobian_pre; // lagged: as it was
    read = true;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Test(PetscInt iteration, const Norms &n, bool *stop) override
  {
    const TrapsAsBefore traps;
    PetscFunctionBegin;
    ((SNES_VIPMG *)snes->data)->last = n;
    snes->iter  = iteration;
    snes->norm  = n.inactive;
    snes->xnorm = n.x;
    snes->ynorm = n.step;
    snes->linear_its += n.cycles;
    if (snes->ksp) snes->ksp->totalits += n.cycles; // programs compare the two
    domain = false;
    tested = true;
    if (!iteration) first = n.inactive;
    if (iteration) PetscCall(VecWAXPY(snes->vec_sol_update, -1, snes->vec_sol, snes->work[0]));
    else PetscCall(VecSet(snes->vec_sol_update, 0));
    PetscCall(SNESLogConvergenceHistory(snes, n.inactive, n.cycles));
    PetscCall(CompatSNESConverged(snes, iteration, n.x, n.step, n.inactive));
    // nothing is left to do, though a tolerance of zero is not reached
    const bool nothing_left = n.natural == 0 && n.inactive == 0 && snes->ops->converged != SNESConvergedSkip;
    if (nothing_left && (!snes->reason || snes->reason == SNES_DIVERGED_MAX_IT))
      snes->reason = SNES_CONVERGED_FNORM_ABS;
    PetscCall(SNESMonitor(snes, iteration, n.inactive));
    if (!snes->reason && snes->ops->update) {
      PetscUseTypeMethod(snes, update, snes->iter);
      updated = true;
    }
    *stop = snes->reason != SNES_CONVERGED_ITERATING;
    if (!*stop && iteration >= snes->max_its) {
      PetscCall(PetscInfo(snes, "Maximum number of iterations has been reached: %" PetscInt_FMT "\n", snes->max_its));
      snes->reason = SNES_DIVERGED_MAX_IT;
      *stop        = true;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Stopped(End why) override
  {
    auto     &failure = ((SNES_VIPMG *)snes->data)->newton.failure;
    PetscReal norm;

    PetscFunctionBegin;
    if (!tested) { // the norm of the start, which SNESGetFunctionNorm() would say is zero
      PetscCall(VecNorm(snes->vec_func, NORM_2, &norm));
      snes->norm = norm;
    }
    switch (why) {
    case End::function:
      snes->reason = domain ? SNES_DIVERGED_FUNCTION_DOMAIN : CompatDivergedNaN;
      if (domain || failure[0]) break;
      PetscCall(PetscStrncpy(failure, "the norm of the function at the start is not finite", sizeof(failure)));
      PetscCall(NameNotFinite(snes->vec_func, "the function at the start", failure, sizeof(failure)));
      PetscCall(PetscInfo(snes, "%s\n", failure));
      break;
    case End::jacobian:
      snes->reason = snes->checkjacdomainerror && !failure[0]
                     ? SNES_DIVERGED_JACOBIAN_DOMAIN
                     : SNES_DIVERGED_LINEAR_SOLVE;
      break;
    case End::line_search:
      snes->reason = SNES_DIVERGED_LINE_SEARCH;
      break;
    default:
      snes->reason = SNES_DIVERGED_LINEAR_SOLVE;
    }
    PetscCheck(!snes->errorifnotconverged, PetscObjectComm((PetscObject)snes), PETSC_ERR_NOT_CONVERGED,
               "SNES vipmg has not converged: %s", failure[0] ? failure : SNESConvergedReasons[snes->reason]);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Check(StepCheck when, Vec X0, Vec X, Vec *step) override
  {
    const TrapsAsBefore traps;
    bool                changed;

    PetscFunctionBegin;
    PetscCall(CheckStep(snes, when, X0, snes->vec_sol_update, X, &changed));
    *step = changed ? snes->vec_sol_update : nullptr;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscReal      Target() const override { return PetscMax(snes->abstol, snes->rtol * first); }
  PetscErrorCode Cycle(PetscInt cycle, const Norms &n) override
  {
    PetscFunctionBegin;
    if (((SNES_VIPMG *)snes->data)->options.monitor) PetscCall(vipmg::PrintCycle((PetscObject)snes, cycle, n));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  bool domain = false, read = false, tested = false; // domain: since the last test
};

PetscErrorCode SetUp(SNES snes)
{
  PetscFunctionBegin;
  PetscCall(SNESSetWorkVecs(snes, 1));
  PetscCall(SNESSetUpMatrices(snes));
  PetscCall(SetUpBounds(snes, snes->work[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The normals that the program has composed, or those of a file; nullptr: none.
PetscErrorCode NormalsOf(SNES snes, Vec *normals)
{
  SNES_VIPMG *v = (SNES_VIPMG *)snes->data;
  NodesFile   from;
  PetscInt    each;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)snes, "SNESVIPMGNormals", (PetscObject *)normals));
  if (v->normals.file.empty()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!*normals, PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_INCOMP,
             "SNES vipmg: there are normals of a file (-snes_vipmg_normals %s) and of a Vec (composed as "
             "SNESVIPMGNormals). Leave one of them out", v->normals.file.c_str());
  if (!v->normals.read) {
    from.solver = (PetscObject)snes;
    from.who    = "SNES vipmg";
    from.what   = "normals";
    PetscCall(MatGetBlockSize(snes->jacobian_pre, &from.bs));
    if (from.bs == 1) PetscCall(VecGetBlockSize(snes->vec_sol, &from.bs));
    PetscCall(VecGetLocalSize(snes->vec_sol, &from.n));
    PetscCall(VecGetSize(snes->vec_sol, &from.all));
    from.n /= from.bs;
    from.all /= from.bs;
    from.min = from.max = from.bs;
    PetscCall(ReadNodesFile(from, v->normals.file.c_str(), &v->normals.read, &each));
  }
  *normals = v->normals.read;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Bounds along the normals of nodes.
PetscErrorCode SolveAlongNormals(SNES snes, Vec normals, vipmg::Problem &problem, Vec xu)
{
  SNES_VIPMG       *v = (SNES_VIPMG *)snes->data;
  vipmg::Newton    &newton = v->newton;
  vipmg::Reflected  reflected(problem);
  PetscInt          bs;

  PetscFunctionBegin;
  PetscCheck(newton.on_tree, PetscObjectComm((PetscObject)snes), PETSC_ERR_SUP,
             "SNES vipmg: bounds along normals need several unknowns per node, on the levels of a tree");
  PetscCall(VecGetBlockSize(normals, &bs));
  PetscCall(reflected.Create((PetscObject)snes, "SNES vipmg", normals, bs, snes->vec_sol, snes->vec_func,
                             snes->work[0], snes->xl, xu));
  newton.source.reflect = reflected.reflection();
  PetscCall(newton.SetUp("snes_vipmg_", reflected.point(), reflected.base(), snes->jacobian_pre));
  PetscCall(newton.Solve(reflected, {reflected.point(), reflected.function(), snes->xl, xu}));
  PetscCall(reflected.Follow());
  newton.source.reflect = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Solve(SNES snes)
{
  SNES_VIPMG *v = (SNES_VIPMG *)snes->data;

  PetscFunctionBegin;
  PetscCall(CiteVIPMG());
  PetscCall(FitWork(snes, "SNES vipmg"));
  snes->reason                   = SNES_CONVERGED_ITERATING;
  snes->iter                     = 0;
  snes->norm                     = 0;
  snes->numFailures              = 0;
  snes->numLinearSolveFailures   = 0;
  v->newton.options.zero_tolerance = snes->vizerotolerance;
  v->newton.options.iterations     = snes->max_its;
  v->last                          = Norms();
  v->last.inactive = v->last.natural = PETSC_INFINITY; // until there is a point
  vipmg::MeshSource &source = v->newton.source;
  KSP                ksp;
  UpperBounds        xu;
  Vec                normals;
  PetscInt           unknowns;
  SNESProblem        problem(snes);
  PetscCall(VecGetSize(snes->vec_sol, &unknowns));
  if (!unknowns) { // which have no coordinates either
    const TrapsOff traps; // as where there are unknowns
    bool           stop;
    PetscCall(problem.Function(snes->vec_sol, snes->vec_func));
    PetscCall(problem.Test(0, Norms(), &stop));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(vipmg::SetSource((PetscObject)snes, "SNES vipmg", "snes_vipmg_", snes->dm, v));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPGetPC(ksp, &source.pc));
  PetscCall(v->newton.SetUp("snes_vipmg_", snes->vec_sol, snes->work[0], snes->jacobian_pre));
  PetscCall(vipmg::CheckBounds((PetscObject)snes, "SNES vipmg", v->newton, snes->vec_sol, snes->xl, snes->xu, xu));
  PetscCall(NormalsOf(snes, &normals));
  if (normals) PetscCall(SolveAlongNormals(snes, normals, problem, xu));
  else PetscCall(v->newton.Solve(problem, {snes->vec_sol, snes->vec_func, snes->xl, xu}));
  if (!snes->reason) snes->reason = SNES_DIVERGED_MAX_IT; // no iteration was allowed
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SNESSolve_VIPMG(SNES snes)
{
  SNES_VIPMG *v = (SNES_VIPMG *)snes->data;

  PetscFunctionBegin;
  PetscCall(RunCollectively<Solve>(snes, v->newton.plan.exec.space, [&] { (void)v->newton.Reset(); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SNESReset_VIPMG(SNES snes)
{
  PetscFunctionBegin;
  PetscCall(((SNES_VIPMG *)snes->data)->newton.Reset());
  PetscCall(VIPMGNormals::Changed(snes));
  ForgetBounds(snes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The bounds stay: another type may want them.
PetscErrorCode SNESDestroy_VIPMG(SNES snes)
{
  PC pc;

  PetscFunctionBegin;
  if (snes->ksp) {
    PetscCall(KSPGetPC(snes->ksp, &pc));
    PetscCall(StopListening(pc));
  }
  PetscCall(((SNES_VIPMG *)snes->data)->newton.Reset());
  PetscCall(VIPMGNormals::Changed(snes));
  PetscCall(vipmg::ComposeSetters(snes, false));
  delete (SNES_VIPMG *)snes->data;
  snes->data       = nullptr;
  snes->ops->reset = nullptr; // older versions of PETSc leave it to a type that has none
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SNESSetFromOptions_VIPMG(SNES snes, CompatOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "SNES VIPMG options");
  PetscCall(ParseOptions<VIPMGOptions>(PetscOptionsObject, (PetscObject)snes));
  PetscCall(ParseOptions<VIPMGNormals>(PetscOptionsObject, snes));
  PetscCall(PetscOptionsReal("-snes_vi_zero_tolerance", "Tolerance for considering x[] value to be on a bound", "None",
                             snes->vizerotolerance, &snes->vizerotolerance, nullptr));
  PetscOptionsHeadEnd();
  PetscCall(vipmg::SetMonitors(snes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SNESView_VIPMG(SNES snes, PetscViewer viewer)
{
  SNES_VIPMG *v = (SNES_VIPMG *)snes->data;
  PetscBool   ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(vipmg::ViewNewton(v->newton, (PetscObject)snes, viewer));
  if (v->last.x > 0)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "  last point: inactive norm %g, natural residual %g, active at lower bounds %.0f, at upper %.0f\n",
      (double)v->last.inactive, (double)v->last.natural, (double)v->last.lower, (double)v->last.upper));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*MC
   SNESVIPMG - multigrid for variational inequalities (problems with bounds) on grids and meshes

   Options Database Keys:
+  -snes_vipmg_variant <hybrid,tnnmg,monotone,klement_oberhuber> - the cycle, see `SNESVIPMGSetVariant()`
.  -snes_vipmg_cycle <auto,v,w,f> - how often coarse grids are visited, see `SNESVIPMGSetCycle()`
.  -snes_vipmg_fmg <bool> - start on the coarsest grid, see `SNESVIPMGSetFMG()`
.  -snes_vipmg_sweeps <pre,post> - sweeps before and after the coarse correction, see `SNESVIPMGSetSweeps()`
.  -snes_vipmg_omega <w> - relaxation of the projected sweeps, see `SNESVIPMGSetOmega()`
.  -snes_vipmg_levels <n> - at most so many grids, see `SNESVIPMGSetLevels()`
.  -snes_vipmg_levels_type <auto,box,tree> - what coarse grids are made from, see `SNESVIPMGSetLevelsType()`
.  -snes_vipmg_coordinates <file> - coordinates of the nodes, see `SNESVIPMGSetCoordinatesFile()`
.  -snes_vipmg_normals <file> - directions of the nodes' bounds, see `SNESVIPMGSetNormalsFile()`
.  -snes_vipmg_backend <auto,host,cuda> - where it runs, see `SNESVIPMGSetBackend()`
.  -snes_vipmg_monitor - a line for each cycle
.  -snes_vipmg_ksp_type <type> - with all other options of a `KSP`: how systems of the inactive nodes are solved
-  -snes_vipmg_pc_type <type>  - and preconditioned

   Level: intermediate

   Notes:
   Solves F(x) = 0 where lower < x < upper, F(x) >= 0 where x is at its lower bound and F(x) <= 0 at its upper one.
   Bounds come from `SNESVISetVariableBounds()`, `SNESVISetComputeVariableBounds()` or `DMSetVariableBounds()`.

   The grid is that of a `DMDA` of one, two or three dimensions with one unknown per node and any number of nodes, found
   through the `SNES`, the solution or the matrix. The Jacobian has a stencil of 3, 5, 9, 7 or 27 points; only that of
   the finest grid is asked for. A row without off-diagonal entries is a Dirichlet row.

   Other matrices, with 1 to 6 unknowns per node, need coordinates of the nodes: of a file, of `PCSetCoordinates()` for
   the `PC` of the solver's `KSP`, or of the `DM`. Coarse grids are then those of `PCAUXAMG`. The bounds of a node's
   first unknown may be along its normal: by a file, or a `Vec` composed as "SNESVIPMGNormals".

   An iteration linearizes F (Newton) and solves the linear complementarity problem by cycles, whose number
   `SNESGetLinearSolveIterations()` returns and which `KSPGetTotalIterations()` of the solver's `KSP` counts as well;
   a linear problem is recognized at its first step and solved in two. Every iterate is between its bounds. The norm
   that is monitored and tested is that of F without the nodes that are pressed against a bound, as for
   `SNESVINEWTONRSLS`, whose monitors `-snes_vi_monitor`, `-snes_vi_monitor_residual` and `-snes_vi_monitor_active`
   work here. `SNESVIPMGGetCertificate()` returns other measures.

   Where cycles are too slow (coefficients that jump from node to node), the default variant goes over to systems of the
   inactive nodes, as `SNESVINEWTONRSLS` does, which a `KSP` with the options above solves: by default a factorization
   up to 10000 unknowns and where a Krylov method with hypre's multigrid, or `PCGAMG`, fails. Its iterations count, too.

   The line search is the type's own: of a `SNESLineSearch` only the functions of `SNESLineSearchSetPreCheck()` and
   `SNESLineSearchSetPostCheck()` are called; what they change is brought back between the bounds. The vector of
   `SNESGetSolutionUpdate()` is the point before minus the present one.

   References:
+  * - C. Graeser and R. Kornhuber, Multigrid methods for obstacle problems, J. Comput. Math. 27, 2009
-  * - V. Klement and T. Oberhuber, Multigrid method for linear complementarity problem and its implementation on GPU,
   2015

.seealso: `SNESVINEWTONRSLS`, `SNESVIPMGSetVariant()`, `SNESVIPMGGetCertificate()`
M*/
PetscErrorCode tessera::SNESCreate_VIPMG(SNES snes)
{
  SNES_VIPMG *v = nullptr;

  PetscFunctionBegin;
  TesseraCallCXX(v = new SNES_VIPMG());
  snes->data                        = (void *)v;
  snes->ops->setup                  = NoThrow<SetUp, SNES>;
  snes->ops->solve                  = SNESSolve_VIPMG;
  snes->ops->reset                  = SNESReset_VIPMG;
  snes->ops->destroy                = SNESDestroy_VIPMG;
  snes->ops->view                   = SNESView_VIPMG;
  snes->ops->setfromoptions         = SNESSetFromOptions_VIPMG;
  snes->usesksp                     = PETSC_FALSE;
  snes->usesnpc                     = PETSC_FALSE;
  snes->alwayscomputesfinalresidual = PETSC_TRUE;
  PetscCall(CompatSNESInitialize(snes));
  PetscCall(vipmg::ComposeSetters(snes, true));
  KSP ksp;
  PC  pc;
  PetscCall(SNESGetKSP(snes, &ksp)); // does not solve, but may be given coordinates
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(ListenForCoordinates(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}
