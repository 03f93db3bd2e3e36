// What -snes_view says of SNES vipgs, and its setters and getters: composed functions, which do nothing on another
// type.
#include "densegs/solvers.hpp"

using tessera::SNES_VIPGS;

PetscErrorCode tessera::ViewVIPGS(SNES snes, PetscViewer viewer)
{
  SNES_VIPGS *p = (SNES_VIPGS *)snes->data;
  PetscBool   ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  strategy %s, order %s, omega %g, acceleration %s, sweeps in %s precision\n",
                                   TesseraGSStrategies[p->strategy], TesseraGSOrders[p->order], (double)p->omega,
                                   SNESVIPGSAccelerations[p->acceleration], TesseraPrecisions[p->precision]));
  if (p->newton && p->block == 1 && p->acceleration != SNES_VIPGS_MPRGP)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "  after %" PetscInt_FMT " sweeps active sets with dense factorisations, at most %" PetscInt_FMT "\n",
      p->sweeps, p->factorizations));
  if (p->block > 1)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  contacts of %" PetscInt_FMT " unknowns with friction: %s\n", p->block,
                                     SNESVIPGSFrictions[p->friction]));
  const char          *failure;
  SNESVIPGSCertificate c;
  PetscCall(SNESVIPGSGetFailure(snes, &failure));
  if (failure) PetscCall(PetscViewerASCIIPrintf(viewer, "  failed: %s\n", failure));
  if (!p->solved) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SNESVIPGSGetCertificate(snes, &c));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  last solve: %s after %" PetscInt_FMT " sweeps and %" PetscInt_FMT
                                   " factorisations (%" PetscInt_FMT " proximal subproblems)%s\n",
                                   SNESVIPGSReasons[c.reason], c.sweeps, c.factorizations, c.proximal,
                                   c.fell_back ? "; relaxed sweeps did not converge, graph took their place" : ""));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  certificate: natural residual %.3g (%.3g of |F(0)|), complementarity %.3g, "
                                   "bounds missed by %.3g, F of a wrong sign %.3g\n",
                                   (double)c.natural, (double)c.relative, (double)c.gap, (double)c.primal,
                                   (double)c.dual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class T, T SNES_VIPGS::*field> static PetscErrorCode SetField(SNES snes, T value)
{
  PetscFunctionBegin;
  ((SNES_VIPGS *)snes->data)->*field = value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class T, T SNES_VIPGS::*field> static PetscErrorCode GetField(SNES snes, T *value)
{
  PetscFunctionBegin;
  *value = ((SNES_VIPGS *)snes->data)->*field;
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
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetStrategy_C",
                                       (compose ? &SetField<TesseraGSStrategy, &SNES_VIPGS::strategy> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetStrategy_C",
                                       (compose ? &GetField<TesseraGSStrategy, &SNES_VIPGS::strategy> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetOrder_C",
                                       (compose ? &SetField<TesseraGSOrder, &SNES_VIPGS::order> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetOrder_C",
                                       (compose ? &GetField<TesseraGSOrder, &SNES_VIPGS::order> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetOmega_C",
                                       (compose ? &SetField<PetscReal, &SNES_VIPGS::omega> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetOmega_C",
                                       (compose ? &GetField<PetscReal, &SNES_VIPGS::omega> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetPrecision_C",
                                       (compose ? &SetField<TesseraPrecision, &SNES_VIPGS::precision> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetPrecision_C",
                                       (compose ? &GetField<TesseraPrecision, &SNES_VIPGS::precision> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetBackend_C",
                                       (compose ? &SetField<TesseraBackend, &SNES_VIPGS::backend> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetBackend_C",
                                       (compose ? &GetField<TesseraBackend, &SNES_VIPGS::backend> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "SNESVIPGSSetAcceleration_C",
                               (compose ? &SetField<SNESVIPGSAcceleration, &SNES_VIPGS::acceleration> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "SNESVIPGSGetAcceleration_C",
                               (compose ? &GetField<SNESVIPGSAcceleration, &SNES_VIPGS::acceleration> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetNewton_C",
                                       (compose ? &SetField<PetscBool, &SNES_VIPGS::newton> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetNewton_C",
                                       (compose ? &GetField<PetscBool, &SNES_VIPGS::newton> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetSweeps_C",
                                       (compose ? &SetField<PetscInt, &SNES_VIPGS::sweeps> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetSweeps_C",
                                       (compose ? &GetField<PetscInt, &SNES_VIPGS::sweeps> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetCheck_C",
                                       (compose ? &SetField<PetscInt, &SNES_VIPGS::check> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetCheck_C",
                                       (compose ? &GetField<PetscInt, &SNES_VIPGS::check> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetMaxFactorizations_C",
                                       (compose ? &SetField<PetscInt, &SNES_VIPGS::factorizations> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetMaxFactorizations_C",
                                       (compose ? &GetField<PetscInt, &SNES_VIPGS::factorizations> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetBlock_C",
                                       (compose ? &SetField<PetscInt, &SNES_VIPGS::block> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetBlock_C",
                                       (compose ? &GetField<PetscInt, &SNES_VIPGS::block> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetFrictionCoefficient_C",
                                       (compose ? &SetField<PetscReal, &SNES_VIPGS::mu> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetFrictionCoefficient_C",
                                       (compose ? &GetField<PetscReal, &SNES_VIPGS::mu> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetFrictionLaw_C",
                                       (compose ? &SetField<SNESVIPGSFriction, &SNES_VIPGS::friction> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetFrictionLaw_C",
                                       (compose ? &GetField<SNESVIPGSFriction, &SNES_VIPGS::friction> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetFriction_C", compose ? &SetFriction : nullptr));
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
   All but relaxed give the iterates of the sequential method up to rounding. Relaxed lets every thread go on with
   what is there.

.seealso: `SNESVIPGS`, `SNESVIPGSGetStrategy()`
@*/
PetscErrorCode SNESVIPGSSetStrategy(SNES snes, TesseraGSStrategy s)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscCheck(s >= TESSERA_GS_SEQUENTIAL && s <= TESSERA_GS_RELAXED, PetscObjectComm((PetscObject)snes),
             PETSC_ERR_ARG_OUTOFRANGE, "SNES vipgs: unknown strategy %d", (int)s);
  PetscTryMethod(snes, "SNESVIPGSSetStrategy_C", (SNES, TesseraGSStrategy), (snes, s));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscUseMethod(snes, "SNESVIPGSGetStrategy_C", (SNES, TesseraGSStrategy *), (snes, s));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscCheck(o >= TESSERA_GS_FORWARD && o <= TESSERA_GS_RANDOM, PetscObjectComm((PetscObject)snes),
             PETSC_ERR_ARG_OUTOFRANGE, "SNES vipgs: unknown order %d", (int)o);
  PetscTryMethod(snes, "SNESVIPGSSetOrder_C", (SNES, TesseraGSOrder), (snes, o));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscUseMethod(snes, "SNESVIPGSGetOrder_C", (SNES, TesseraGSOrder *), (snes, o));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscCheck(w > 0 && w < 2, PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_OUTOFRANGE,
             "SNES vipgs: the relaxation factor (-snes_vipgs_omega) lies between 0 and 2, both excluded: it is %g",
             (double)w);
  PetscTryMethod(snes, "SNESVIPGSSetOmega_C", (SNES, PetscReal), (snes, w));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscUseMethod(snes, "SNESVIPGSGetOmega_C", (SNES, PetscReal *), (snes, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSSetPrecision - Sets the precision in which the sweeps keep the matrix

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  p - `TESSERA_PRECISION_DOUBLE` (default) or `TESSERA_PRECISION_SINGLE`

   Options Database Key:
.  -snes_vipgs_precision <double,single> - see above

   Level: intermediate

   Note:
   Answers are those of the matrix in double precision either way: residuals are computed with it, and correct what
   the sweeps work on.

.seealso: `SNESVIPGS`, `SNESVIPGSGetPrecision()`
@*/
PetscErrorCode SNESVIPGSSetPrecision(SNES snes, TesseraPrecision p)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscCheck(p == TESSERA_PRECISION_DOUBLE || p == TESSERA_PRECISION_SINGLE, PetscObjectComm((PetscObject)snes),
             PETSC_ERR_ARG_OUTOFRANGE, "SNES vipgs: unknown precision %d", (int)p);
  PetscTryMethod(snes, "SNESVIPGSSetPrecision_C", (SNES, TesseraPrecision), (snes, p));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscUseMethod(snes, "SNESVIPGSGetPrecision_C", (SNES, TesseraPrecision *), (snes, p));
  PetscFunctionReturn(PETSC_SUCCESS);
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
   device it stays there for
   sweeps, products and factorisations (cuBLAS and cuSOLVER of the CUDA toolkit). Several processes, friction unless
   the backend is
   `TESSERA_BACKEND_CUDA`, the pyramid law, friction in random order and more contacts than a device has room for work
   on the host; `-info :snes` says so.

.seealso: `SNESVIPGS`, `SNESVIPGSGetBackend()`
@*/
PetscErrorCode SNESVIPGSSetBackend(SNES snes, TesseraBackend b)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscCheck(b >= TESSERA_BACKEND_AUTO && b <= TESSERA_BACKEND_CUDA, PetscObjectComm((PetscObject)snes),
             PETSC_ERR_ARG_OUTOFRANGE, "SNES vipgs: unknown backend %d", (int)b);
  PetscTryMethod(snes, "SNESVIPGSSetBackend_C", (SNES, TesseraBackend), (snes, b));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscUseMethod(snes, "SNESVIPGSGetBackend_C", (SNES, TesseraBackend *), (snes, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
