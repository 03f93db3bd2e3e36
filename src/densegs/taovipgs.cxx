// Tao vipgs: the same solver for programs that give an objective's gradient and Hessian with bounds, or a
// complementarity problem.
#include "densegs/solvers.hpp"
#include "petsc/compat_snes.h"

using tessera::TAO_VIPGS;

static PetscErrorCode Function(SNES, Vec x, Vec f, void *ctx)
{
  Tao        tao = (Tao)ctx;
  TAO_VIPGS *p   = (TAO_VIPGS *)tao->data;

  PetscFunctionBegin;
  if (p->complementarity) PetscCall(TaoComputeConstraints(tao, x, f));
  else PetscCall(TaoComputeGradient(tao, x, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Jacobian(SNES, Vec x, Mat A, Mat B, void *ctx)
{
  Tao        tao = (Tao)ctx;
  TAO_VIPGS *p   = (TAO_VIPGS *)tao->data;

  PetscFunctionBegin;
  if (p->complementarity) PetscCall(TaoComputeJacobian(tao, x, A, B));
  else PetscCall(TaoComputeHessian(tao, x, A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Update(SNES snes, PetscInt it)
{
  Tao tao;

  PetscFunctionBegin;
  PetscCall(SNESGetApplicationContext(snes, &tao));
  tao->niter = it;
  PetscUseTypeMethod(tao, update, it, tao->user_update);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Steps of the SNES are iterations of the Tao: its history, its monitors, and its convergence test, which may be the
// user's.
static PetscErrorCode Test(SNES snes, PetscInt it, PetscReal, PetscReal snorm, PetscReal norm,
                           SNESConvergedReason *reason, void *ctx)
{
  Tao        tao = (Tao)ctx;
  TAO_VIPGS *p   = (TAO_VIPGS *)tao->data;
  PetscReal  f   = norm;
  Vec        x;

  PetscFunctionBegin;
  PetscCall(SNESGetSolution(snes, &x));
  if (!p->complementarity) PetscCall(TaoComputeObjective(tao, x, &f));
  tao->niter    = it;
  tao->fc       = f;
  tao->residual = norm;
  tao->cnorm    = 0;
  tao->reason   = TAO_CONTINUE_ITERATING;
  if (!it) tao->gnorm0 = norm;
  PetscCall(TaoLogConvergenceHistory(tao, f, norm, 0.0, 0));
  PetscCall(TaoMonitor(tao, it, f, norm, 0.0, it ? snorm : 1.0));
  PetscUseTypeMethod(tao, convergencetest, tao->cnvP);
  const bool residual =
    tao->reason == TAO_CONVERGED_GATOL || tao->reason == TAO_CONVERGED_GRTOL || tao->reason == TAO_CONVERGED_GTTOL;
  *reason = residual                           ? SNES_CONVERGED_FNORM_ABS
          : tao->reason > 0                    ? SNES_CONVERGED_ITS
          : tao->reason == TAO_DIVERGED_MAXITS ? SNES_DIVERGED_MAX_IT
          : tao->reason < 0                    ? SNES_DIVERGED_INNER
                                               : SNES_CONVERGED_ITERATING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoSetUp_VIPGS(Tao tao)
{
  TAO_VIPGS *p = (TAO_VIPGS *)tao->data;

  PetscFunctionBegin;
  Mat H = nullptr, B = nullptr;
  PetscCall(TaoGetHessian(tao, &H, &B, nullptr, nullptr));
  p->complementarity = !H && tao->jacobian ? PETSC_TRUE : PETSC_FALSE;
  Mat A = p->complementarity ? tao->jacobian : H;
  PetscCheck(A, PetscObjectComm((PetscObject)tao), PETSC_ERR_ARG_WRONGSTATE,
             "Tao vipgs needs gradient and Hessian (TaoSetHessian()), or constraints and their Jacobian "
             "(TaoSetJacobianRoutine())");
  if (!tao->gradient) PetscCall(VecDuplicate(tao->solution, &tao->gradient));
  if (!tao->stepdirection) PetscCall(VecDuplicate(tao->solution, &tao->stepdirection));
  PetscCall(SNESSetFunction(p->snes, tao->stepdirection, Function, tao));
  PetscCall(SNESSetJacobian(p->snes, A, p->complementarity ? (tao->jacobian_pre ? tao->jacobian_pre : A) : (B ? B : A),
                            Jacobian, tao));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoSolve_VIPGS(Tao tao)
{
  TAO_VIPGS          *p = (TAO_VIPGS *)tao->data;
  SNESConvergedReason reason;
  PetscReal           norm;
  PetscInt            its;
  Vec                 xl, xu;

  PetscFunctionBegin;
  PetscCall(TaoComputeVariableBounds(tao));
  PetscCall(VecDuplicate(tao->solution, &xl));
  PetscCall(VecDuplicate(tao->solution, &xu));
  if (tao->XL) PetscCall(VecCopy(tao->XL, xl));
  else PetscCall(VecSet(xl, PETSC_NINFINITY));
  if (tao->XU) PetscCall(VecCopy(tao->XU, xu));
  else PetscCall(VecSet(xu, PETSC_INFINITY));
  PetscCall(SNESVISetVariableBounds(p->snes, xl, xu));
  PetscCall(VecDestroy(&xl));
  PetscCall(VecDestroy(&xu));
  // The norm is that of the projected gradient step, as in Tao's methods for bounds.
  PetscCall(SNESSetTolerances(p->snes, tao->gatol, tao->gttol, 0.0, tao->max_it, PETSC_MAX_INT));
  PetscCall(SNESSetFromOptions(p->snes));
  PetscCall(SNESSetConvergenceTest(p->snes, Test, tao, nullptr));
  PetscCall(SNESSetApplicationContext(p->snes, tao));
  PetscCall(SNESSetUpdate(p->snes, tao->ops->update ? Update : nullptr));
  ((tessera::SNES_VIPGS *)p->snes->data)->tolerances = tao->ops->convergencetest == TaoDefaultConvergenceTest;
  tao->reason = TAO_CONTINUE_ITERATING;
  PetscCall(SNESSolve(p->snes, nullptr, tao->solution));
  PetscCall(SNESGetConvergedReason(p->snes, &reason));
  PetscCall(SNESGetIterationNumber(p->snes, &its));
  SNESVIPGSCertificate c;
  PetscCall(SNESVIPGSGetCertificate(p->snes, &c));
  const char *failure;
  PetscCall(SNESVIPGSGetFailure(p->snes, &failure));
  PetscCheck(!failure || reason == CompatDivergedNaN, PetscObjectComm((PetscObject)tao), PETSC_ERR_USER,
             "Tao vipgs: %s", failure);
  norm             = c.natural;
  tao->niter       = its;
  tao->residual    = norm;
  tao->cnorm       = 0;
  if (!p->complementarity) PetscCall(TaoComputeObjectiveAndGradient(tao, tao->solution, &tao->fc, tao->gradient));
  else tao->fc = norm;
  // The test may have been content with a point whose gradient then failed.
  if (reason == SNES_CONVERGED_SNORM_RELATIVE) tao->reason = TAO_CONVERGED_STEPTOL;
  else if (!tao->reason || (reason < 0 && tao->reason > 0))
    tao->reason = reason > 0                     ? TAO_CONVERGED_GATOL
                : reason == SNES_DIVERGED_MAX_IT ? TAO_DIVERGED_MAXITS
                : reason == CompatDivergedNaN    ? TAO_DIVERGED_NAN
                                                 : TAO_DIVERGED_LS_FAILURE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoSetFromOptions_VIPGS(Tao tao, CompatOptionItems PetscOptionsObject)
{
  TAO_VIPGS  *p = (TAO_VIPGS *)tao->data;
  const char *prefix;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Dense projected Gauss-Seidel options");
  PetscCall(tessera::ParseOptions<tessera::VIPGSOptions>(PetscOptionsObject, (PetscObject)tao));
  PetscOptionsHeadEnd();
  PetscCall(PetscObjectGetOptionsPrefix((PetscObject)tao, &prefix));
  PetscCall(SNESSetOptionsPrefix(p->snes, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoView_VIPGS(Tao tao, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(SNESView(((TAO_VIPGS *)tao->data)->snes, viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetSNES(Tao tao, SNES *snes)
{
  PetscFunctionBegin;
  *snes = ((TAO_VIPGS *)tao->data)->snes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetFriction(Tao tao, Vec mu)
{
  PetscFunctionBegin;
  PetscCall(SNESVIPGSSetFriction(((TAO_VIPGS *)tao->data)->snes, mu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetFriction(Tao tao, Vec *mu)
{
  PetscFunctionBegin;
  PetscCall(SNESVIPGSGetFriction(((TAO_VIPGS *)tao->data)->snes, mu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetCertificate(Tao tao, SNESVIPGSCertificate *c)
{
  PetscFunctionBegin;
  PetscCall(SNESVIPGSGetCertificate(((TAO_VIPGS *)tao->data)->snes, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compose(Tao tao, bool compose)
{
  PetscObject o = (PetscObject)tao;

  PetscFunctionBegin;
  PetscCall(tessera::ComposeOptions(o, tessera::VIPGSOptions::table, compose));
  PetscCall(PetscObjectComposeFunction(o, "TaoVIPGSGetSNES_C", compose ? &GetSNES : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "TaoVIPGSSetFriction_C", compose ? &SetFriction : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "TaoVIPGSGetFriction_C", compose ? &GetFriction : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "TaoVIPGSGetCertificate_C", compose ? &GetCertificate : nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TaoDestroy_VIPGS(Tao tao)
{
  PetscFunctionBegin;
  PetscCall(Compose(tao, false));
  PetscCall(SNESDestroy(&((TAO_VIPGS *)tao->data)->snes));
  delete (TAO_VIPGS *)tao->data;
  tao->data = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   TAOVIPGS - bound-constrained minimization with a dense Hessian, and complementarity problems with a dense Jacobian,
   by `SNESVIPGS`

   Options Database Keys:
+  -tao_vipgs_newton <bool>             - finish with active sets and dense factorizations, see `TaoVIPGSSetNewton()`
.  -tao_vipgs_sweeps <n>                - sweeps before that, see `TaoVIPGSSetSweeps()`
.  -tao_vipgs_acceleration <auto,none,nesterov,nncg,mprgp> - of the sweeps, see `TaoVIPGSSetAcceleration()`
.  -tao_vipgs_strategy <sequential,row,column,block,graph,graph2,relaxed> - see `TaoVIPGSSetStrategy()`
.  -tao_vipgs_order <forward,backward,symmetric,random> - order of a sweep, see `TaoVIPGSSetOrder()`
.  -tao_vipgs_omega <w>                 - relaxation factor, see `TaoVIPGSSetOmega()`
.  -tao_vipgs_precision <auto,double,single> - storage of the sweeps' matrix, see `TaoVIPGSSetPrecision()`
.  -tao_vipgs_backend <auto,host,cuda>  - where the matrix is worked with, see `TaoVIPGSSetBackend()`
.  -tao_vipgs_check <n>                 - sweeps between two residuals, see `TaoVIPGSSetCheck()`
.  -tao_vipgs_max_factorizations <n>    - see `TaoVIPGSSetMaxFactorizations()`
.  -tao_vipgs_block <d>                 - unknowns of a contact with friction, see `TaoVIPGSSetBlock()`
.  -tao_vipgs_mu <mu> - coefficient of friction, see `TaoVIPGSSetFrictionCoefficient()`, `TaoVIPGSSetFriction()`
-  -tao_vipgs_friction <cone,pyramid>   - see `TaoVIPGSSetFrictionLaw()`

   Level: intermediate

   Notes:
   Takes gradient, Hessian and variable bounds; or, where there is no Hessian, constraints and their Jacobian, as
   `TAOSSILS` does. A quadratic objective is one solve; another one is approximated by quadratic ones again and again.
   `TaoSetUpdate()`'s function is called before each Hessian; an iteration is one of these then, else it may be some
   sweeps (see `SNESVIPGS`).

   The options of the `SNES` that does the work (`-snes_vipgs_...` with the prefix of the `Tao`) are read at each solve,
   after those of the `Tao`.

   The norm that Tao's convergence test sees (or the one of `TaoSetConvergenceTest()`) is that of x - P(x - gradient),
   P being the projection onto the bounds; of a complementarity problem that of its natural residual, which is the
   objective as well.

.seealso: `TaoCreate()`, `TaoSetType()`, `SNESVIPGS`, `TAOBQPIP`, `TAOGPCG`, `TAOSSILS`
M*/
PetscErrorCode tessera::TaoCreate_VIPGS(Tao tao)
{
  TAO_VIPGS *p = nullptr;

  PetscFunctionBegin;
  TesseraCallCXX(p = new TAO_VIPGS());
  PetscCall(SNESCreate(PetscObjectComm((PetscObject)tao), &p->snes));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)p->snes, (PetscObject)tao, 1));
  PetscCall(SNESSetType(p->snes, SNESVIPGS));
  tao->data                = (void *)p;
  tao->ops->setup          = TaoSetUp_VIPGS;
  tao->ops->solve          = TaoSolve_VIPGS;
  tao->ops->view           = TaoView_VIPGS;
  tao->ops->setfromoptions = TaoSetFromOptions_VIPGS;
  tao->ops->destroy        = TaoDestroy_VIPGS;
  PetscCall(Compose(tao, true));
  CompatDefault(tao, max_it, 100000);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSGetSNES - Gets the solver that does the work of `TAOVIPGS`

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  snes - a `SNES` of the type `SNESVIPGS`, which belongs to the `Tao`

   Level: advanced

   Note:
   What holds of the last answer is told by `TaoVIPGSGetCertificate()`.

.seealso: `TAOVIPGS`, `SNESVIPGS`, `TaoVIPGSGetCertificate()`
@*/
PetscErrorCode TaoVIPGSGetSNES(Tao tao, SNES *snes)
{
  TesseraGetValue(tao, "TaoVIPGSGetSNES_C", snes);
}
