// The public functions of Tao vipgs that set and get options of its sweeps.
#include "densegs/solvers.hpp"

/*@
   TaoVIPGSSetStrategy - Sets what the sweeps do side by side

   Logically Collective

   Input Parameters:
+  tao - the solver
-  s - what is done side by side, see `TesseraGSStrategy`; default graph2

   Options Database Key:
.  -tao_vipgs_strategy <sequential,row,column,block,graph,graph2,relaxed> - see above

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSGetStrategy()`
@*/
PetscErrorCode TaoVIPGSSetStrategy(Tao tao, TesseraGSStrategy s)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(tao, s, 2);
  PetscTryMethod(tao, "TaoVIPGSSetStrategy_C", (Tao, TesseraGSStrategy), (tao, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSGetStrategy - Gets what `TaoVIPGSSetStrategy()` set

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  s - the value

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSSetStrategy()`
@*/
PetscErrorCode TaoVIPGSGetStrategy(Tao tao, TesseraGSStrategy *s)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(s, 2);
  PetscUseMethod(tao, "TaoVIPGSGetStrategy_C", (Tao, TesseraGSStrategy *), (tao, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSSetOrder - Sets the order in which a sweep takes the unknowns

   Logically Collective

   Input Parameters:
+  tao - the solver
-  o - see `TesseraGSOrder`; default symmetric

   Options Database Key:
.  -tao_vipgs_order <forward,backward,symmetric,random> - see above

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSGetOrder()`
@*/
PetscErrorCode TaoVIPGSSetOrder(Tao tao, TesseraGSOrder o)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(tao, o, 2);
  PetscTryMethod(tao, "TaoVIPGSSetOrder_C", (Tao, TesseraGSOrder), (tao, o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSGetOrder - Gets what `TaoVIPGSSetOrder()` set

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  o - the value

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSSetOrder()`
@*/
PetscErrorCode TaoVIPGSGetOrder(Tao tao, TesseraGSOrder *o)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(o, 2);
  PetscUseMethod(tao, "TaoVIPGSGetOrder_C", (Tao, TesseraGSOrder *), (tao, o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSSetOmega - Sets the relaxation factor of the sweeps

   Logically Collective

   Input Parameters:
+  tao - the solver
-  w - relaxation factor, between 0 and 2; default 1

   Options Database Key:
.  -tao_vipgs_omega <w> - see above

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSGetOmega()`
@*/
PetscErrorCode TaoVIPGSSetOmega(Tao tao, PetscReal w)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveReal(tao, w, 2);
  PetscTryMethod(tao, "TaoVIPGSSetOmega_C", (Tao, PetscReal), (tao, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSGetOmega - Gets what `TaoVIPGSSetOmega()` set

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  w - the value

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSSetOmega()`
@*/
PetscErrorCode TaoVIPGSGetOmega(Tao tao, PetscReal *w)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(w, 2);
  PetscUseMethod(tao, "TaoVIPGSGetOmega_C", (Tao, PetscReal *), (tao, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSSetPrecision - Sets the precision in which the sweeps keep the matrix

   Logically Collective

   Input Parameters:
+  tao - the solver
-  p - `TESSERA_PRECISION_AUTO` (default: double), `TESSERA_PRECISION_DOUBLE` or `TESSERA_PRECISION_SINGLE`

   Options Database Key:
.  -tao_vipgs_precision <auto,double,single> - see above

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSGetPrecision()`
@*/
PetscErrorCode TaoVIPGSSetPrecision(Tao tao, TesseraPrecision p)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(tao, p, 2);
  PetscTryMethod(tao, "TaoVIPGSSetPrecision_C", (Tao, TesseraPrecision), (tao, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSGetPrecision - Gets what `TaoVIPGSSetPrecision()` set

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  p - the value

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSSetPrecision()`
@*/
PetscErrorCode TaoVIPGSGetPrecision(Tao tao, TesseraPrecision *p)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(p, 2);
  PetscUseMethod(tao, "TaoVIPGSGetPrecision_C", (Tao, TesseraPrecision *), (tao, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSSetBackend - Sets where the matrix is worked with

   Logically Collective

   Input Parameters:
+  tao - the solver
-  b - `TESSERA_BACKEND_AUTO` (default), `TESSERA_BACKEND_HOST` or `TESSERA_BACKEND_CUDA`

   Options Database Key:
.  -tao_vipgs_backend <auto,host,cuda> - see above

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSGetBackend()`
@*/
PetscErrorCode TaoVIPGSSetBackend(Tao tao, TesseraBackend b)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(tao, b, 2);
  PetscTryMethod(tao, "TaoVIPGSSetBackend_C", (Tao, TesseraBackend), (tao, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPGSGetBackend - Gets what `TaoVIPGSSetBackend()` set

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  b - the value

   Level: intermediate

.seealso: `TAOVIPGS`, `TaoVIPGSSetBackend()`
@*/
PetscErrorCode TaoVIPGSGetBackend(Tao tao, TesseraBackend *b)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(b, 2);
  PetscUseMethod(tao, "TaoVIPGSGetBackend_C", (Tao, TesseraBackend *), (tao, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
