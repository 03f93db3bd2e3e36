// The public functions of Tao vipmg that set and get options.
#include "vipmg/snesvipmg.hpp"

/*@
   TaoVIPMGSetVariant - Sets what a cycle does in `TAOVIPMG`

   Logically Collective

   Input Parameters:
+  tao - the solver
-  v - `SNES_VIPMG_HYBRID` (default), `SNES_VIPMG_TNNMG`, `SNES_VIPMG_MONOTONE` or `SNES_VIPMG_KLEMENT_OBERHUBER`

   Options Database Key:
.  -tao_vipmg_variant <hybrid,tnnmg,monotone,klement_oberhuber> - the cycle

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGGetVariant()`
@*/
PetscErrorCode TaoVIPMGSetVariant(Tao tao, SNESVIPMGVariant v)
{
  TesseraSetValue(tao, "TaoVIPMGSetVariant_C", Enum, v);
}

/*@
   TaoVIPMGGetVariant - Gets what a cycle does in `TAOVIPMG`

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  v - the value

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGSetVariant()`
@*/
PetscErrorCode TaoVIPMGGetVariant(Tao tao, SNESVIPMGVariant *v)
{
  TesseraGetValue(tao, "TaoVIPMGGetVariant_C", v);
}

/*@
   TaoVIPMGSetCycle - Sets how often coarse grids are visited in `TAOVIPMG`

   Logically Collective

   Input Parameters:
+  tao - the solver
-  c - `SNES_VIPMG_CYCLE_V`, `SNES_VIPMG_CYCLE_W`, `SNES_VIPMG_CYCLE_F` or `SNES_VIPMG_CYCLE_AUTO` (default)

   Options Database Key:
.  -tao_vipmg_cycle <auto,v,w,f> - the cycle

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGGetCycle()`
@*/
PetscErrorCode TaoVIPMGSetCycle(Tao tao, SNESVIPMGCycle c)
{
  TesseraSetValue(tao, "TaoVIPMGSetCycle_C", Enum, c);
}

/*@
   TaoVIPMGGetCycle - Gets how often coarse grids are visited in `TAOVIPMG`

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  c - the value

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGSetCycle()`
@*/
PetscErrorCode TaoVIPMGGetCycle(Tao tao, SNESVIPMGCycle *c)
{
  TesseraGetValue(tao, "TaoVIPMGGetCycle_C", c);
}

/*@
   TaoVIPMGSetFMG - Sets whether the first linear problem is started on the coarsest grid in `TAOVIPMG`

   Logically Collective

   Input Parameters:
+  tao - the solver
-  fmg - `PETSC_TRUE` (default): full multigrid

   Options Database Key:
.  -tao_vipmg_fmg <bool> - full multigrid

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGGetFMG()`
@*/
PetscErrorCode TaoVIPMGSetFMG(Tao tao, PetscBool fmg)
{
  TesseraSetValue(tao, "TaoVIPMGSetFMG_C", Bool, fmg);
}

/*@
   TaoVIPMGGetFMG - Gets whether the first linear problem is started on the coarsest grid in `TAOVIPMG`

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  fmg - the value

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGSetFMG()`
@*/
PetscErrorCode TaoVIPMGGetFMG(Tao tao, PetscBool *fmg)
{
  TesseraGetValue(tao, "TaoVIPMGGetFMG_C", fmg);
}

/*@
   TaoVIPMGSetSweeps - Sets the sweeps before and after the coarse correction in `TAOVIPMG`

   Logically Collective

   Input Parameters:
+  tao - the solver
.  pre  - sweeps before
-  post - sweeps after

   Options Database Key:
.  -tao_vipmg_sweeps <pre,post> - sweeps

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGGetSweeps()`
@*/
PetscErrorCode TaoVIPMGSetSweeps(Tao tao, PetscInt pre, PetscInt post)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveInt(tao, pre, 2);
  PetscValidLogicalCollectiveInt(tao, post, 3);
  PetscTryMethod(tao, "TaoVIPMGSetSweeps_C", (Tao, PetscInt, PetscInt), (tao, pre, post));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPMGGetSweeps - Gets the sweeps before and after the coarse correction in `TAOVIPMG`

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameters:
+  pre  - sweeps before
-  post - sweeps after

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGSetSweeps()`
@*/
PetscErrorCode TaoVIPMGGetSweeps(Tao tao, PetscInt *pre, PetscInt *post)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  if (pre) PetscAssertPointer(pre, 2);
  if (post) PetscAssertPointer(post, 3);
  PetscUseMethod(tao, "TaoVIPMGGetSweeps_C", (Tao, PetscInt *, PetscInt *), (tao, pre, post));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPMGSetOmega - Sets the relaxation factor of projected sweeps in `TAOVIPMG`

   Logically Collective

   Input Parameters:
+  tao - the solver
-  omega - relaxation factor, above 0 and below 2, default 1

   Options Database Key:
.  -tao_vipmg_omega <w> - the factor

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGGetOmega()`
@*/
PetscErrorCode TaoVIPMGSetOmega(Tao tao, PetscReal omega)
{
  TesseraSetValue(tao, "TaoVIPMGSetOmega_C", Real, omega);
}

/*@
   TaoVIPMGGetOmega - Gets the relaxation factor of projected sweeps in `TAOVIPMG`

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  omega - the value

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGSetOmega()`
@*/
PetscErrorCode TaoVIPMGGetOmega(Tao tao, PetscReal *omega)
{
  TesseraGetValue(tao, "TaoVIPMGGetOmega_C", omega);
}

/*@
   TaoVIPMGSetLevels - Sets the largest number of grids in `TAOVIPMG`

   Logically Collective

   Input Parameters:
+  tao - the solver
-  levels - largest number of grids; 0 (default): until two or three nodes per direction are left

   Options Database Key:
.  -tao_vipmg_levels <n> - the number

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGGetLevels()`
@*/
PetscErrorCode TaoVIPMGSetLevels(Tao tao, PetscInt levels)
{
  TesseraSetValue(tao, "TaoVIPMGSetLevels_C", Int, levels);
}

/*@
   TaoVIPMGGetLevels - Gets the largest number of grids in `TAOVIPMG`

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  levels - the value

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGSetLevels()`
@*/
PetscErrorCode TaoVIPMGGetLevels(Tao tao, PetscInt *levels)
{
  TesseraGetValue(tao, "TaoVIPMGGetLevels_C", levels);
}

/*@
   TaoVIPMGSetBackend - Sets where the solver runs in `TAOVIPMG`

   Logically Collective

   Input Parameters:
+  tao - the solver
-  b - `TESSERA_BACKEND_AUTO` (default), `TESSERA_BACKEND_HOST` or `TESSERA_BACKEND_CUDA`

   Options Database Key:
.  -tao_vipmg_backend <auto,host,cuda> - the backend

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGGetBackend()`
@*/
PetscErrorCode TaoVIPMGSetBackend(Tao tao, TesseraBackend b)
{
  TesseraSetValue(tao, "TaoVIPMGSetBackend_C", Enum, b);
}

/*@
   TaoVIPMGGetBackend - Gets where the solver runs in `TAOVIPMG`

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  b - the value

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGSetBackend()`
@*/
PetscErrorCode TaoVIPMGGetBackend(Tao tao, TesseraBackend *b)
{
  TesseraGetValue(tao, "TaoVIPMGGetBackend_C", b);
}

/*@
   TaoVIPMGSetMonitor - Sets whether every cycle of `TAOVIPMG` prints a line

   Logically Collective

   Input Parameters:
+  tao - the solver
-  on   - the norm of the inactive nodes, the natural residual and the active nodes of the linearized problem are
     printed

   Options Database Key:
.  -tao_vipmg_monitor - a line for each cycle

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGGetMonitor()`
@*/
PetscErrorCode TaoVIPMGSetMonitor(Tao tao, PetscBool on)
{
  TesseraSetValue(tao, "TaoVIPMGSetMonitor_C", Bool, on);
}

/*@
   TaoVIPMGGetMonitor - Gets whether every cycle prints a line in `TAOVIPMG`

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  on - the value

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGSetMonitor()`
@*/
PetscErrorCode TaoVIPMGGetMonitor(Tao tao, PetscBool *on)
{
  TesseraGetValue(tao, "TaoVIPMGGetMonitor_C", on);
}
