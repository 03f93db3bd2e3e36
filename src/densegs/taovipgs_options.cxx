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
  TesseraSetValue(tao, "TaoVIPGSSetStrategy_C", Enum, s);
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
  TesseraGetValue(tao, "TaoVIPGSGetStrategy_C", s);
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
  TesseraSetValue(tao, "TaoVIPGSSetOrder_C", Enum, o);
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
  TesseraGetValue(tao, "TaoVIPGSGetOrder_C", o);
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
  TesseraSetValue(tao, "TaoVIPGSSetOmega_C", Real, w);
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
  TesseraGetValue(tao, "TaoVIPGSGetOmega_C", w);
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
  TesseraSetValue(tao, "TaoVIPGSSetPrecision_C", Enum, p);
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
  TesseraGetValue(tao, "TaoVIPGSGetPrecision_C", p);
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
  TesseraSetValue(tao, "TaoVIPGSSetBackend_C", Enum, b);
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
  TesseraGetValue(tao, "TaoVIPGSGetBackend_C", b);
}
