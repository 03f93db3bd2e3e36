// Tao vipmg: bound-constrained minimisation by multigrid for its first-order conditions.
#include "vipmg/snesvipmg.hpp"
#include "petsc/shell.hpp"

using namespace tessera;
using vipmg::End;
using vipmg::Norms;

namespace {

// A Tao as Newton's method sees it: F is the gradient.
struct TaoProblem : vipmg::Problem {
  Tao       tao;
  PetscReal f = 0, first = 0;
  explicit TaoProblem(Tao t) : tao(t) { }

  PetscErrorCode Function(Vec x, Vec g) override
  {
    const TrapsAsBefore traps;
    PetscFunctionBegin;
    PetscCall(TaoComputeObjectiveAndGradient(tao, x, &f, g));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Jacobian(Vec x, Mat *J, bool *failed) override
  {
    const TrapsAsBefore traps;
    PetscObjectState before = 0, after;
    Mat              H, P;

    PetscFunctionBegin;
    *failed = false;
    PetscCall(TaoGetHessian(tao, &H, &P, nullptr, nullptr));
    if (read) PetscCall(PetscObjectStateGet((PetscObject)P, &before));
    PetscCall(TaoComputeHessian(tao, x, H, P));
    PetscCall(CheckMatrix((PetscObject)tao, "Tao vipmg", P));
    PetscCall(PetscObjectStateGet((PetscObject)P, &after));
    *J   = read && after == before ? nullptr : P;
    read = true;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Test(PetscInt iteration, const Norms &n, bool *stop) override
  {
    const TrapsAsBefore traps;
    PetscReal norm;

    PetscFunctionBegin;
    Vec projected = ((TAO_VIPMG *)tao->data)->projected;
    PetscCall(VecBoundGradientProjection(tao->gradient, tao->solution, tao->XL, tao->XU, projected));
    PetscCall(VecNorm(projected, NORM_2, &norm));
    if (!iteration) first = norm;
    // it holds the point that the step began from and becomes the step, which monitors show
    if (iteration) PetscCall(VecAYPX(tao->stepdirection, -1, tao->solution));
    else PetscCall(VecSet(tao->stepdirection, 0));
    tao->niter = iteration;
    tao->ksp_its = n.cycles;
    tao->ksp_tot_its += n.cycles;
    PetscCall(TaoLogConvergenceHistory(tao, f, norm, 0, tao->ksp_tot_its));
    PetscCall(TaoMonitor(tao, tao->niter, f, norm, 0, iteration ? n.step : 1));
    PetscUseTypeMethod(tao, convergencetest, tao->cnvP);
    *stop = tao->reason != TAO_CONTINUE_ITERATING;
    if (!*stop && tao->ops->update) {
      PetscUseTypeMethod(tao, update, tao->niter, tao->user_update);
      updated = true;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Stopped(End why) override
  {
    PetscFunctionBegin;
    auto &failure = ((TAO_VIPMG *)tao->data)->newton.failure;
    if (why == End::function && !failure[0]) {
      PetscCall(PetscStrncpy(failure, "the norm of the gradient at the start is not finite", sizeof(failure)));
      PetscCall(NameNotFinite(tao->gradient, "the gradient at the start", failure, sizeof(failure)));
    }
    PetscCheck(why != End::function, PetscObjectComm((PetscObject)tao), PETSC_ERR_USER, "Tao vipmg: %s", failure);
    PetscCheck(why != End::jacobian, PetscObjectComm((PetscObject)tao), PETSC_ERR_USER, "Tao vipmg: %s",
               failure[0] ? failure : "the Hessian could not be computed");
    tao->reason = why == End::line_search ? TAO_DIVERGED_LS_FAILURE : TAO_DIVERGED_NAN;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscReal Target() const override
  {
    return PetscMax(PetscMax(tao->gatol, tao->grtol * PetscAbsReal(f)), tao->gttol * first);
  }
  PetscErrorCode Cycle(PetscInt cycle, const Norms &n) override
  {
    PetscFunctionBegin;
    if (((TAO_VIPMG *)tao->data)->options.monitor) PetscCall(vipmg::PrintCycle((PetscObject)tao, cycle, n));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  bool read = false;
};

PetscErrorCode SetUp(Tao tao)
{
  TAO_VIPMG *v = (TAO_VIPMG *)tao->data;

  PetscFunctionBegin;
  if (!tao->gradient) PetscCall(VecDuplicate(tao->solution, &tao->gradient));
  if (!tao->stepdirection) PetscCall(VecDuplicate(tao->solution, &tao->stepdirection));
  if (!v->projected) PetscCall(VecDuplicate(tao->solution, &v->projected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Solve(Tao tao)
{
  TAO_VIPMG *v = (TAO_VIPMG *)tao->data;
  DM         dm = nullptr;
  Mat        P  = nullptr;
  UpperBounds xu;

  PetscFunctionBegin;
  PetscCall(CiteVIPMG());
  PetscCall(TaoComputeVariableBounds(tao));
  for (Vec *b : {&tao->XL, &tao->XU})
    if (!*b) {
      PetscCall(VecDuplicate(tao->solution, b));
      PetscCall(VecSet(*b, b == &tao->XL ? PETSC_NINFINITY : PETSC_INFINITY));
    }
  PetscCall(TaoGetHessian(tao, nullptr, &P, nullptr, nullptr));
  PetscCheck(P, PetscObjectComm((PetscObject)tao), PETSC_ERR_ARG_WRONGSTATE,
             "Tao vipmg needs the Hessian: call TaoSetHessian(), or use -tao_type blmvm");
  PetscCall(CompatTaoDM(tao, &dm));
  v->newton.options.iterations = tao->max_it;
  PetscCall(vipmg::SetSource((PetscObject)tao, "Tao vipmg", "tao_vipmg_", dm, v));
  PetscCall(v->newton.SetUp("tao_vipmg_", tao->solution, tao->stepdirection, P));
  PetscCall(vipmg::CheckBounds((PetscObject)tao, "Tao vipmg", v->newton, tao->solution, tao->XL, tao->XU, xu));
  tao->reason = TAO_CONTINUE_ITERATING;
  TaoProblem problem(tao);
  PetscCall(v->newton.Solve(problem, {tao->solution, tao->gradient, tao->XL, xu}));
  if (tao->reason == TAO_CONTINUE_ITERATING) tao->reason = TAO_DIVERGED_MAXITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TaoSolve_VIPMG(Tao tao)
{
  TAO_VIPMG *v = (TAO_VIPMG *)tao->data;

  PetscFunctionBegin;
  PetscCall(RunCollectively<Solve>(tao, v->newton.plan.exec.space, [&] { (void)v->newton.Reset(); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Compose(Tao tao, bool on)
{
  PetscObject o = (PetscObject)tao;

  PetscFunctionBegin;
  PetscCall(ComposeOptions(o, VIPMGOptions::table, on));
  PetscCall(PetscObjectComposeFunction(o, "TaoVIPMGGetInfo_C", on ? (vipmg::GetInfo<TAO_VIPMG, Tao>) : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "TaoVIPMGGetChoice_C", on ? (vipmg::GetChoice<TAO_VIPMG, Tao>) : nullptr));
  PetscCall(
    PetscObjectComposeFunction(o, "TaoVIPMGGetGridSizes_C", on ? (vipmg::GetGridSizes<TAO_VIPMG, Tao>) : nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TaoDestroy_VIPMG(Tao tao)
{
  TAO_VIPMG *v = (TAO_VIPMG *)tao->data;

  PetscFunctionBegin;
  PetscCall(v->newton.Reset());
  PetscCall(VecDestroy(&v->projected));
  PetscCall(Compose(tao, false));
  delete v;
  tao->data = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TaoSetFromOptions_VIPMG(Tao tao, CompatOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Tao VIPMG options");
  PetscCall(ParseOptions<VIPMGOptions>(PetscOptionsObject, (PetscObject)tao));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TaoView_VIPMG(Tao tao, PetscViewer viewer)
{
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii) PetscCall(vipmg::ViewNewton(((TAO_VIPMG *)tao->data)->newton, (PetscObject)tao, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*MC
   TAOVIPMG - bound-constrained minimization on grids and meshes by multigrid

   Options Database Keys:
+  -tao_vipmg_variant <hybrid,tnnmg,monotone,klement_oberhuber> - the cycle, see `TaoVIPMGSetVariant()`
.  -tao_vipmg_cycle <auto,v,w,f> - how often coarse grids are visited, see `TaoVIPMGSetCycle()`
.  -tao_vipmg_fmg <bool> - start on the coarsest grid, see `TaoVIPMGSetFMG()`
.  -tao_vipmg_sweeps <pre,post> - sweeps before and after the coarse correction, see `TaoVIPMGSetSweeps()`
.  -tao_vipmg_omega <w> - relaxation of the projected sweeps, see `TaoVIPMGSetOmega()`
.  -tao_vipmg_levels <n> - at most so many grids, see `TaoVIPMGSetLevels()`
.  -tao_vipmg_levels_type <auto,box,tree> - what coarse grids are made from, see `TaoVIPMGSetLevelsType()`
.  -tao_vipmg_coordinates <file> - coordinates of the nodes, see `TaoVIPMGSetCoordinatesFile()`
.  -tao_vipmg_backend <auto,host,cuda> - where it runs, see `TaoVIPMGSetBackend()`
.  -tao_vipmg_monitor - a line for each cycle, see `TaoVIPMGSetMonitor()`
.  -tao_vipmg_ksp_type <type> - with all other options of a `KSP`, see `SNESVIPMG`
-  -tao_vipmg_pc_type <type> - see `SNESVIPMG`

   Level: intermediate

   Notes:
   Newton's method for the variational inequality of the gradient, as in `SNESVIPMG`: the Hessian is an assembled
   matrix with a stencil of nearest neighbors, and its grid is that of the `DMDA` that the solution vector or the
   Hessian came from. Or it is any matrix whose nodes have coordinates, by the option or by the `DM`. A quadratic
   problem takes two iterations, whose cycles are the linear iterations. Steps reduce the natural residual, so it is a
   method for convex problems, or for a start near a minimum. The convergence tests are Tao's, of the projected
   gradient.

.seealso: `SNESVIPMG`, `TAOTRON`, `TAOGPCG`, `TAOBNLS`
M*/
PetscErrorCode tessera::TaoCreate_VIPMG(Tao tao)
{
  TAO_VIPMG *v = nullptr;

  PetscFunctionBegin;
  TesseraCallCXX(v = new TAO_VIPMG());
  tao->data                = (void *)v;
  tao->ops->setup          = NoThrow<SetUp, Tao>;
  tao->ops->solve          = TaoSolve_VIPMG;
  tao->ops->view           = TaoView_VIPMG;
  tao->ops->setfromoptions = TaoSetFromOptions_VIPMG;
  tao->ops->destroy        = TaoDestroy_VIPMG;
  PetscCall(Compose(tao, true));
  PetscCall(CompatTaoInitialize(tao));
  CompatDefault(tao, max_it, 50);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPMGGetInfo - Gets how many grids `TAOVIPMG` has, their complexity and their memory

   Collective

   Input Parameter:
.  tao - the solver, after a `TaoSolve()`

   Output Parameter:
.  info - see `TesseraGridsInfo`

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGGetChoice()`, `TaoVIPMGGetGridSizes()`
@*/
PetscErrorCode TaoVIPMGGetInfo(Tao tao, TesseraGridsInfo *info)
{
  TesseraGetValue(tao, "TaoVIPMGGetInfo_C", info);
}

/*@
   TaoVIPMGGetChoice - Gets the cycle and the smoothers that `TAOVIPMG` has chosen

   Collective

   Input Parameter:
.  tao - the solver, after a `TaoSolve()`

   Output Parameter:
.  choice - see `SNESVIPMGChoice`

   Level: advanced

.seealso: `TAOVIPMG`, `TaoVIPMGGetInfo()`
@*/
PetscErrorCode TaoVIPMGGetChoice(Tao tao, SNESVIPMGChoice *choice)
{
  TesseraGetValue(tao, "TaoVIPMGGetChoice_C", choice);
}

/*@
   TaoVIPMGGetGridSizes - Gets the sizes of the grids of `TAOVIPMG`

   Collective

   Input Parameter:
.  tao - the solver, after a `TaoSolve()`

   Output Parameters:
+  grids - how many there are
-  sizes - three numbers of each, as `SNESVIPMGGetGridSizes()` gives them

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGGetInfo()`
@*/
PetscErrorCode TaoVIPMGGetGridSizes(Tao tao, PetscInt *grids, const PetscInt *sizes[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  if (grids) PetscAssertPointer(grids, 2);
  if (sizes) PetscAssertPointer(sizes, 3);
  PetscUseMethod(tao, "TaoVIPMGGetGridSizes_C", (Tao, PetscInt *, const PetscInt *[]), (tao, grids, sizes));
  PetscFunctionReturn(PETSC_SUCCESS);
}
