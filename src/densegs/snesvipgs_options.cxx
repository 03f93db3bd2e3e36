// What -snes_view says of SNES vipgs, and its setters and getters: composed functions, which do nothing on another
// type.
#include "densegs/solvers.hpp"

using tessera::SNES_VIPGS, tessera::Option;
using O = tessera::VIPGSOptions;

static const Option rows[] = {
  Option::Enum<&O::strategy>("-snes_vipgs_strategy", "SNESVIPGSSetStrategy", "What sweeps do side by side",
                             TesseraGSStrategies),
  Option::Enum<&O::order>("-snes_vipgs_order", "SNESVIPGSSetOrder", "Order of a sweep", TesseraGSOrders),
  Option::RealBetween<&O::omega>("-snes_vipgs_omega", "SNESVIPGSSetOmega", "Relaxation factor", 0, 2,
                                 "SNES vipgs: the relaxation factor (-snes_vipgs_omega) lies between 0 and 2, both "
                                 "excluded: it is %s"),
  Option::Enum<&O::precision>("-snes_vipgs_precision", "SNESVIPGSSetPrecision", "Precision of the sweeps' matrix",
                              TesseraPrecisions),
  Option::Enum<&O::backend>("-snes_vipgs_backend", "SNESVIPGSSetBackend", "Where the matrix is worked with",
                            TesseraBackends),
  Option::Enum<&O::acceleration>("-snes_vipgs_acceleration", "SNESVIPGSSetAcceleration", "Acceleration of the sweeps",
                                 SNESVIPGSAccelerations),
  Option::Bool<&O::newton>("-snes_vipgs_newton", "SNESVIPGSSetNewton", "Finish with active sets and factorizations"),
  Option::Int<&O::sweeps>("-snes_vipgs_sweeps", "SNESVIPGSSetSweeps", "Sweeps before that", 0, PETSC_INFINITY,
                          "SNES vipgs: the number of sweeps before the Newton method (-snes_vipgs_sweeps) is 0 or "
                          "more, it is %s"),
  Option::Int<&O::check>("-snes_vipgs_check", "SNESVIPGSSetCheck", "Sweeps between two residuals", 1, PETSC_INFINITY,
                         "SNES vipgs: the residual is computed after 1 sweep or more (-snes_vipgs_check), not %s"),
  Option::Int<&O::factorizations>("-snes_vipgs_max_factorizations", "SNESVIPGSSetMaxFactorizations",
                                  "Factorizations at most", 0, PETSC_INFINITY,
                                  "SNES vipgs: the number of factorizations (-snes_vipgs_max_factorizations) is 0 or "
                                  "more, it is %s"),
  Option::Int<&O::block>("-snes_vipgs_block", "SNESVIPGSSetBlock", "Unknowns of a contact with friction (1 for none)",
                         1, 3, "SNES vipgs: a contact has 1, 2 or 3 unknowns (-snes_vipgs_block), not %s"),
  Option::Real<&O::mu>("-snes_vipgs_mu", "SNESVIPGSSetFrictionCoefficient", "Coefficient of friction of all contacts",
                       0, PETSC_INFINITY,
                       "SNES vipgs: the coefficient of friction (-snes_vipgs_mu) is 0 or more, it is %s"),
  Option::Enum<&O::friction>("-snes_vipgs_friction", "SNESVIPGSSetFrictionLaw", "Law of friction", SNESVIPGSFrictions),
};
const tessera::OptionTable O::table(rows);

O &O::Of(PetscObject solver)
{
  const SNES snes = solver->classid == TAO_CLASSID ? ((tessera::TAO_VIPGS *)((Tao)solver)->data)->snes : (SNES)solver;
  return ((SNES_VIPGS *)snes->data)->options;
}

PetscErrorCode tessera::ViewVIPGS(SNES snes, PetscViewer viewer)
{
  SNES_VIPGS *p = (SNES_VIPGS *)snes->data;
  PetscBool   ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  strategy %s, order %s, omega %g, acceleration %s, sweeps in %s precision\n",
                                   TesseraGSStrategies[p->options.strategy], TesseraGSOrders[p->options.order],
                                   (double)p->options.omega, SNESVIPGSAccelerations[p->options.acceleration],
                                   p->options.precision == TESSERA_PRECISION_SINGLE ? "single" : "double"));
  if (p->options.newton && p->options.block == 1 && p->options.acceleration != SNES_VIPGS_ACCELERATION_MPRGP)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "  after %" PetscInt_FMT " sweeps active sets with dense factorizations, at most %" PetscInt_FMT "\n",
      p->options.sweeps, p->options.factorizations));
  if (p->options.block > 1)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  contacts of %" PetscInt_FMT " unknowns with friction: %s\n",
                                     p->options.block, SNESVIPGSFrictions[p->options.friction]));
  const char          *failure;
  SNESVIPGSCertificate c;
  PetscCall(SNESVIPGSGetFailure(snes, &failure));
  if (failure) PetscCall(PetscViewerASCIIPrintf(viewer, "  failed: %s\n", failure));
  if (!p->solved) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SNESVIPGSGetCertificate(snes, &c));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  last solve: %s after %" PetscInt_FMT " sweeps and %" PetscInt_FMT
                                   " factorizations (%" PetscInt_FMT " proximal subproblems)%s\n",
                                   SNESVIPGSReasons[c.reason], c.sweeps, c.factorizations, c.proximal,
                                   c.fell_back ? "; relaxed sweeps did not converge, graph took their place" : ""));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  certificate: natural residual %.3g (%.3g of |F(0)|), complementarity %.3g, "
                                   "bounds missed by %.3g, F of a wrong sign %.3g\n",
                                   (double)c.natural, (double)c.relative, (double)c.gap, (double)c.primal,
                                   (double)c.dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetFriction(SNES snes, Vec mu)
{
  SNES_VIPGS *p = (SNES_VIPGS *)snes->data;

  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)mu));
  PetscCall(VecDestroy(&p->coefficients));
  p->coefficients = mu;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetFriction(SNES snes, Vec *mu)
{
  PetscFunctionBegin;
  *mu = ((SNES_VIPGS *)snes->data)->coefficients;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetCertificate(SNES snes, SNESVIPGSCertificate *c)
{
  PetscFunctionBegin;
  *c = ((SNES_VIPGS *)snes->data)->certificate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetFailure(SNES snes, const char *failure[])
{
  const SNES_VIPGS *p = (const SNES_VIPGS *)snes->data;

  PetscFunctionBegin;
  *failure = p->failure[0] ? p->failure : nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::ComposeVIPGS(SNES snes, PetscBool compose)
{
  PetscObject o = (PetscObject)snes;

  PetscFunctionBegin;
  PetscCall(ComposeOptions(o, O::table, compose));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetFriction_C", compose ? &SetFriction : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetFriction_C", compose ? &GetFriction : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetCertificate_C", compose ? &GetCertificate : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetFailure_C", compose ? &GetFailure : nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSSetStrategy - Sets what the sweeps do side by side

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  s - what is done side by side, see `TesseraGSStrategy`; default graph2

   Options Database Key:
.  -snes_vipgs_strategy <sequential,row,column,block,graph,graph2,relaxed> - see above

   Level: intermediate

   Note:
   All but relaxed give the iterates of the sequential method up to rounding. Relaxed lets every thread go on with what
   is there.

.seealso: `SNESVIPGS`, `SNESVIPGSGetStrategy()`
@*/
PetscErrorCode SNESVIPGSSetStrategy(SNES snes, TesseraGSStrategy s)
{
  TesseraSetValue(snes, "SNESVIPGSSetStrategy_C", Enum, s);
}

/*@
   SNESVIPGSGetStrategy - Gets what `SNESVIPGSSetStrategy()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  s - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetStrategy()`
@*/
PetscErrorCode SNESVIPGSGetStrategy(SNES snes, TesseraGSStrategy *s)
{
  TesseraGetValue(snes, "SNESVIPGSGetStrategy_C", s);
}

/*@
   SNESVIPGSSetOrder - Sets the order in which a sweep takes the unknowns

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  o - see `TesseraGSOrder`; default symmetric

   Options Database Key:
.  -snes_vipgs_order <forward,backward,symmetric,random> - see above

   Level: intermediate

   Note:
   Momentum (`SNESVIPGSSetAcceleration()`) needs whole symmetric sweeps.

.seealso: `SNESVIPGS`, `SNESVIPGSGetOrder()`
@*/
PetscErrorCode SNESVIPGSSetOrder(SNES snes, TesseraGSOrder o)
{
  TesseraSetValue(snes, "SNESVIPGSSetOrder_C", Enum, o);
}

/*@
   SNESVIPGSGetOrder - Gets what `SNESVIPGSSetOrder()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  o - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetOrder()`
@*/
PetscErrorCode SNESVIPGSGetOrder(SNES snes, TesseraGSOrder *o)
{
  TesseraGetValue(snes, "SNESVIPGSGetOrder_C", o);
}

/*@
   SNESVIPGSSetOmega - Sets the relaxation factor of the sweeps

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  w - relaxation factor, between 0 and 2; default 1

   Options Database Key:
.  -snes_vipgs_omega <w> - see above

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSGetOmega()`
@*/
PetscErrorCode SNESVIPGSSetOmega(SNES snes, PetscReal w)
{
  TesseraSetValue(snes, "SNESVIPGSSetOmega_C", Real, w);
}

/*@
   SNESVIPGSGetOmega - Gets what `SNESVIPGSSetOmega()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  w - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetOmega()`
@*/
PetscErrorCode SNESVIPGSGetOmega(SNES snes, PetscReal *w)
{
  TesseraGetValue(snes, "SNESVIPGSGetOmega_C", w);
}

/*@
   SNESVIPGSSetPrecision - Sets the precision in which the sweeps keep the matrix

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  p - `TESSERA_PRECISION_AUTO` (default: double), `TESSERA_PRECISION_DOUBLE` or `TESSERA_PRECISION_SINGLE`

   Options Database Key:
.  -snes_vipgs_precision <auto,double,single> - see above

   Level: intermediate

   Note:
   Answers are those of the matrix in double precision either way: residuals are computed with it, and correct what the
   sweeps work on.

.seealso: `SNESVIPGS`, `SNESVIPGSGetPrecision()`
@*/
PetscErrorCode SNESVIPGSSetPrecision(SNES snes, TesseraPrecision p)
{
  TesseraSetValue(snes, "SNESVIPGSSetPrecision_C", Enum, p);
}

/*@
   SNESVIPGSGetPrecision - Gets what `SNESVIPGSSetPrecision()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  p - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetPrecision()`
@*/
PetscErrorCode SNESVIPGSGetPrecision(SNES snes, TesseraPrecision *p)
{
  TesseraGetValue(snes, "SNESVIPGSGetPrecision_C", p);
}

/*@
   SNESVIPGSSetBackend - Sets where the matrix is worked with

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  b - `TESSERA_BACKEND_AUTO` (default), `TESSERA_BACKEND_HOST` or `TESSERA_BACKEND_CUDA`

   Options Database Key:
.  -snes_vipgs_backend <auto,host,cuda> - see above

   Level: intermediate

   Note:
   The automatic choice is the device where the matrix has its values there (`MATSEQDENSECUDA`), else the host. On a
   device it stays there for sweeps, products and factorizations (cuBLAS and cuSOLVER of the CUDA toolkit). Several
   processes, friction unless the backend is `TESSERA_BACKEND_CUDA`, the pyramid law, friction in random order and more
   contacts than a device has room for work on the host; `-info :snes` says so.

.seealso: `SNESVIPGS`, `SNESVIPGSGetBackend()`
@*/
PetscErrorCode SNESVIPGSSetBackend(SNES snes, TesseraBackend b)
{
  TesseraSetValue(snes, "SNESVIPGSSetBackend_C", Enum, b);
}

/*@
   SNESVIPGSGetBackend - Gets what `SNESVIPGSSetBackend()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  b - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetBackend()`
@*/
PetscErrorCode SNESVIPGSGetBackend(SNES snes, TesseraBackend *b)
{
  TesseraGetValue(snes, "SNESVIPGSGetBackend_C", b);
}
