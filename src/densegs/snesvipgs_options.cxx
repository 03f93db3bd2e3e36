// Setters and getters of SNES vipgs: composed functions, which do nothing on another type.
#include "densegs/types.hpp"

using tessera::SNES_VIPGS;

template <class T, T SNES_VIPGS::*field> static PetscErrorCode SetField(SNES snes, T value)
{
  SNES_VIPGS *p = (SNES_VIPGS *)snes->data;

  PetscFunctionBegin;
  if (p->*field != value) {
    p->*field = value;
  }
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

PetscErrorCode tessera::ComposeVIPGS(SNES snes, PetscBool compose)
{
  PetscObject o = (PetscObject)snes;

  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetStrategy_C", (compose ? &SetField<TesseraGSStrategy, &SNES_VIPGS::strategy> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetStrategy_C", (compose ? &GetField<TesseraGSStrategy, &SNES_VIPGS::strategy> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetOrder_C", (compose ? &SetField<TesseraGSOrder, &SNES_VIPGS::order> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetOrder_C", (compose ? &GetField<TesseraGSOrder, &SNES_VIPGS::order> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetOmega_C", (compose ? &SetField<PetscReal, &SNES_VIPGS::omega> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetOmega_C", (compose ? &GetField<PetscReal, &SNES_VIPGS::omega> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetPrecision_C", (compose ? &SetField<TesseraPrecision, &SNES_VIPGS::precision> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetPrecision_C", (compose ? &GetField<TesseraPrecision, &SNES_VIPGS::precision> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetBackend_C", (compose ? &SetField<TesseraBackend, &SNES_VIPGS::backend> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetBackend_C", (compose ? &GetField<TesseraBackend, &SNES_VIPGS::backend> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetAcceleration_C", (compose ? &SetField<SNESVIPGSAcceleration, &SNES_VIPGS::acceleration> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetAcceleration_C", (compose ? &GetField<SNESVIPGSAcceleration, &SNES_VIPGS::acceleration> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetNewton_C", (compose ? &SetField<PetscBool, &SNES_VIPGS::newton> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetNewton_C", (compose ? &GetField<PetscBool, &SNES_VIPGS::newton> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetSweeps_C", (compose ? &SetField<PetscInt, &SNES_VIPGS::sweeps> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetSweeps_C", (compose ? &GetField<PetscInt, &SNES_VIPGS::sweeps> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetCheck_C", (compose ? &SetField<PetscInt, &SNES_VIPGS::check> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetCheck_C", (compose ? &GetField<PetscInt, &SNES_VIPGS::check> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetMaxFactorizations_C", (compose ? &SetField<PetscInt, &SNES_VIPGS::factorizations> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetMaxFactorizations_C", (compose ? &GetField<PetscInt, &SNES_VIPGS::factorizations> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetBlock_C", (compose ? &SetField<PetscInt, &SNES_VIPGS::block> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetBlock_C", (compose ? &GetField<PetscInt, &SNES_VIPGS::block> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetFrictionCoefficient_C", (compose ? &SetField<PetscReal, &SNES_VIPGS::mu> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetFrictionCoefficient_C", (compose ? &GetField<PetscReal, &SNES_VIPGS::mu> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetFrictionLaw_C", (compose ? &SetField<SNESVIPGSFriction, &SNES_VIPGS::friction> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetFrictionLaw_C", (compose ? &GetField<SNESVIPGSFriction, &SNES_VIPGS::friction> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSSetFriction_C", compose ? &SetFriction : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPGSGetCertificate_C", compose ? &GetCertificate : nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSSetStrategy - Sets what the sweeps do side by side

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  s - what is done side by side, see `TesseraGSStrategy`; default graph

   Options Database Key:
.  -snes_vipgs_strategy <sequential,row,column,block,graph,graph2,relaxed> - see above

   Level: intermediate

   Note:
   All but relaxed give the iterates of the sequential method up to rounding. Relaxed lets every thread go on with what is there.

.seealso: `SNESVIPGS`, `SNESVIPGSGetStrategy()`
@*/
PetscErrorCode SNESVIPGSSetStrategy(SNES snes, TesseraGSStrategy s)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscCheck(s >= TESSERA_GS_SEQUENTIAL && s <= TESSERA_GS_RELAXED, PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_OUTOFRANGE, "SNES vipgs: unknown strategy %d", (int)s);
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
  PetscCheck(o >= TESSERA_GS_FORWARD && o <= TESSERA_GS_RANDOM, PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_OUTOFRANGE, "SNES vipgs: unknown order %d", (int)o);
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
  PetscCheck(w > 0 && w < 2, PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_OUTOFRANGE, "SNES vipgs: the relaxation factor (-snes_vipgs_omega) lies between 0 and 2, it is %g", (double)w);
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
   Answers are those of the matrix in double precision either way: residuals are computed with it, and correct what the sweeps work on.

.seealso: `SNESVIPGS`, `SNESVIPGSGetPrecision()`
@*/
PetscErrorCode SNESVIPGSSetPrecision(SNES snes, TesseraPrecision p)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscCheck(p == TESSERA_PRECISION_DOUBLE || p == TESSERA_PRECISION_SINGLE, PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_OUTOFRANGE, "SNES vipgs: unknown precision %d", (int)p);
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
   SNESVIPGSSetBackend - Sets where the sweeps run

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  b - `TESSERA_BACKEND_AUTO` (default), `TESSERA_BACKEND_HOST` or `TESSERA_BACKEND_CUDA`

   Options Database Key:
.  -snes_vipgs_backend <auto,host,cuda> - see above

   Level: intermediate

   Note:
   The automatic choice is the device where the matrix has its values there (`MATSEQDENSECUDA`), else the host. The sweeps run there; the factorisations of the finisher are LAPACK's, on the host.

.seealso: `SNESVIPGS`, `SNESVIPGSGetBackend()`
@*/
PetscErrorCode SNESVIPGSSetBackend(SNES snes, TesseraBackend b)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscCheck(b >= TESSERA_BACKEND_AUTO && b <= TESSERA_BACKEND_CUDA, PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_OUTOFRANGE, "SNES vipgs: unknown backend %d", (int)b);
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

/*@
   SNESVIPGSSetAcceleration - Sets how the sweeps are accelerated

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  a - see `SNESVIPGSAcceleration`; default auto

   Options Database Key:
.  -snes_vipgs_acceleration <auto,none,nesterov,nncg,mprgp> - see above

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSGetAcceleration()`
@*/
PetscErrorCode SNESVIPGSSetAcceleration(SNES snes, SNESVIPGSAcceleration a)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscCheck(a >= SNES_VIPGS_AUTO && a <= SNES_VIPGS_MPRGP, PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_OUTOFRANGE, "SNES vipgs: unknown acceleration %d", (int)a);
  PetscTryMethod(snes, "SNESVIPGSSetAcceleration_C", (SNES, SNESVIPGSAcceleration), (snes, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSGetAcceleration - Gets what `SNESVIPGSSetAcceleration()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  a - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetAcceleration()`
@*/
PetscErrorCode SNESVIPGSGetAcceleration(SNES snes, SNESVIPGSAcceleration *a)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscUseMethod(snes, "SNESVIPGSGetAcceleration_C", (SNES, SNESVIPGSAcceleration *), (snes, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSSetNewton - Sets whether active sets and a dense factorisation finish what the sweeps began

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  flag - whether an active-set Newton method finishes; default true

   Options Database Key:
.  -snes_vipgs_newton <bool> - see above

   Level: intermediate

   Note:
   Where the matrix is singular on the free unknowns the factorisations are those of a proximal loop.

.seealso: `SNESVIPGS`, `SNESVIPGSGetNewton()`
@*/
PetscErrorCode SNESVIPGSSetNewton(SNES snes, PetscBool flag)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscTryMethod(snes, "SNESVIPGSSetNewton_C", (SNES, PetscBool), (snes, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSGetNewton - Gets what `SNESVIPGSSetNewton()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  flag - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetNewton()`
@*/
PetscErrorCode SNESVIPGSGetNewton(SNES snes, PetscBool *flag)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscUseMethod(snes, "SNESVIPGSGetNewton_C", (SNES, PetscBool *), (snes, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSSetSweeps - Sets the number of sweeps before the Newton method

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  n - sweeps before the Newton method; default 200 (100 symmetric ones)

   Options Database Key:
.  -snes_vipgs_sweeps <n> - see above

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSGetSweeps()`
@*/
PetscErrorCode SNESVIPGSSetSweeps(SNES snes, PetscInt n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscCheck(n >= 0, PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_OUTOFRANGE, "SNES vipgs: the number of sweeps before the Newton method (-snes_vipgs_sweeps) is 0 or more, it is %" PetscInt_FMT, n);
  PetscTryMethod(snes, "SNESVIPGSSetSweeps_C", (SNES, PetscInt), (snes, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSGetSweeps - Gets what `SNESVIPGSSetSweeps()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  n - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetSweeps()`
@*/
PetscErrorCode SNESVIPGSGetSweeps(SNES snes, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscUseMethod(snes, "SNESVIPGSGetSweeps_C", (SNES, PetscInt *), (snes, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSSetCheck - Sets after how many sweeps the residual is computed

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  n - sweeps between two residuals; default 10

   Options Database Key:
.  -snes_vipgs_check <n> - see above

   Level: intermediate

   Note:
   These sweeps are one iteration of the `SNES`; so is a factorisation of the Newton method.

.seealso: `SNESVIPGS`, `SNESVIPGSGetCheck()`
@*/
PetscErrorCode SNESVIPGSSetCheck(SNES snes, PetscInt n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscCheck(n >= 1, PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_OUTOFRANGE, "SNES vipgs: the residual is computed after 1 sweep or more (-snes_vipgs_check), not %" PetscInt_FMT, n);
  PetscTryMethod(snes, "SNESVIPGSSetCheck_C", (SNES, PetscInt), (snes, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSGetCheck - Gets what `SNESVIPGSSetCheck()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  n - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetCheck()`
@*/
PetscErrorCode SNESVIPGSGetCheck(SNES snes, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscUseMethod(snes, "SNESVIPGSGetCheck_C", (SNES, PetscInt *), (snes, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSSetMaxFactorizations - Sets the largest number of factorisations

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  n - factorisations of the Newton method at most; default 200

   Options Database Key:
.  -snes_vipgs_max_factorizations <n> - see above

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSGetMaxFactorizations()`
@*/
PetscErrorCode SNESVIPGSSetMaxFactorizations(SNES snes, PetscInt n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscCheck(n >= 0, PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_OUTOFRANGE, "SNES vipgs: the number of factorisations (-snes_vipgs_max_factorizations) is 0 or more, it is %" PetscInt_FMT, n);
  PetscTryMethod(snes, "SNESVIPGSSetMaxFactorizations_C", (SNES, PetscInt), (snes, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSGetMaxFactorizations - Gets what `SNESVIPGSSetMaxFactorizations()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  n - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetMaxFactorizations()`
@*/
PetscErrorCode SNESVIPGSGetMaxFactorizations(SNES snes, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscUseMethod(snes, "SNESVIPGSGetMaxFactorizations_C", (SNES, PetscInt *), (snes, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSSetBlock - Sets the number of unknowns of a contact

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  n - unknowns of a contact with friction, 2 or 3, the first normal; 1 (default): no friction

   Options Database Key:
.  -snes_vipgs_block <d> - see above

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSGetBlock()`
@*/
PetscErrorCode SNESVIPGSSetBlock(SNES snes, PetscInt n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscCheck(n >= 1 && n <= 3, PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_OUTOFRANGE, "SNES vipgs: a contact has 1, 2 or 3 unknowns (-snes_vipgs_block), not %" PetscInt_FMT, n);
  PetscTryMethod(snes, "SNESVIPGSSetBlock_C", (SNES, PetscInt), (snes, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSGetBlock - Gets what `SNESVIPGSSetBlock()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  n - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetBlock()`
@*/
PetscErrorCode SNESVIPGSGetBlock(SNES snes, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscUseMethod(snes, "SNESVIPGSGetBlock_C", (SNES, PetscInt *), (snes, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSSetFrictionCoefficient - Sets one coefficient of friction for all contacts

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  w - Coulomb's coefficient of all contacts, 0 or more; default 0

   Options Database Key:
.  -snes_vipgs_mu <mu> - see above

   Level: intermediate

   Note:
   `SNESVIPGSSetFriction()` gives every contact its own.

.seealso: `SNESVIPGS`, `SNESVIPGSGetFrictionCoefficient()`
@*/
PetscErrorCode SNESVIPGSSetFrictionCoefficient(SNES snes, PetscReal w)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscCheck(w >= 0, PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_OUTOFRANGE, "SNES vipgs: the coefficient of friction (-snes_vipgs_mu) is 0 or more, it is %g", (double)w);
  PetscTryMethod(snes, "SNESVIPGSSetFrictionCoefficient_C", (SNES, PetscReal), (snes, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSGetFrictionCoefficient - Gets what `SNESVIPGSSetFrictionCoefficient()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  w - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetFrictionCoefficient()`
@*/
PetscErrorCode SNESVIPGSGetFrictionCoefficient(SNES snes, PetscReal *w)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscUseMethod(snes, "SNESVIPGSGetFrictionCoefficient_C", (SNES, PetscReal *), (snes, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSSetFrictionLaw - Sets the shape of the friction law

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  f - see `SNESVIPGSFriction`; default cone

   Options Database Key:
.  -snes_vipgs_friction <cone,pyramid> - see above

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSGetFrictionLaw()`
@*/
PetscErrorCode SNESVIPGSSetFrictionLaw(SNES snes, SNESVIPGSFriction f)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscCheck(f >= SNES_VIPGS_CONE && f <= SNES_VIPGS_PYRAMID, PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_OUTOFRANGE, "SNES vipgs: unknown friction law %d", (int)f);
  PetscTryMethod(snes, "SNESVIPGSSetFrictionLaw_C", (SNES, SNESVIPGSFriction), (snes, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSGetFrictionLaw - Gets what `SNESVIPGSSetFrictionLaw()` set

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  f - the value

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSSetFrictionLaw()`
@*/
PetscErrorCode SNESVIPGSGetFrictionLaw(SNES snes, SNESVIPGSFriction *f)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscUseMethod(snes, "SNESVIPGSGetFrictionLaw_C", (SNES, SNESVIPGSFriction *), (snes, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSSetFriction - Sets the coefficients of friction of the contacts

   Logically Collective

   Input Parameters:
+  snes - the nonlinear solver
-  mu - a vector with a coefficient, 0 or more, for every contact; NULL: the same one for all, see `SNESVIPGSSetFrictionCoefficient()`

   Level: intermediate

   Note:
   The unknowns come in blocks of `SNESVIPGSSetBlock()`, the normal one first. They are forces x and F(x) = A x + q are relative
   velocities: Coulomb's law |x_t| <= mu x_n with x_n >= 0 takes the place of bounds.

.seealso: `SNESVIPGS`, `SNESVIPGSSetBlock()`, `SNESVIPGSSetFrictionLaw()`
@*/
PetscErrorCode SNESVIPGSSetFriction(SNES snes, Vec mu)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  if (mu) PetscValidHeaderSpecific(mu, VEC_CLASSID, 2);
  PetscTryMethod(snes, "SNESVIPGSSetFriction_C", (SNES, Vec), (snes, mu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPGSGetCertificate - Gets what holds of the last answer

   Not Collective

   Input Parameter:
.  snes - the nonlinear solver

   Output Parameter:
.  c - residuals computed from the answer itself, work done, and how it ended

   Level: intermediate

.seealso: `SNESVIPGS`, `SNESVIPGSCertificate`
@*/
PetscErrorCode SNESVIPGSGetCertificate(SNES snes, SNESVIPGSCertificate *c)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscUseMethod(snes, "SNESVIPGSGetCertificate_C", (SNES, SNESVIPGSCertificate *), (snes, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}
