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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(tao, v, 2);
  PetscTryMethod(tao, "TaoVIPMGSetVariant_C", (Tao, SNESVIPMGVariant), (tao, v));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(v, 2);
  PetscUseMethod(tao, "TaoVIPMGGetVariant_C", (Tao, SNESVIPMGVariant *), (tao, v));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(tao, c, 2);
  PetscTryMethod(tao, "TaoVIPMGSetCycle_C", (Tao, SNESVIPMGCycle), (tao, c));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(c, 2);
  PetscUseMethod(tao, "TaoVIPMGGetCycle_C", (Tao, SNESVIPMGCycle *), (tao, c));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveBool(tao, fmg, 2);
  PetscTryMethod(tao, "TaoVIPMGSetFMG_C", (Tao, PetscBool), (tao, fmg));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(fmg, 2);
  PetscUseMethod(tao, "TaoVIPMGGetFMG_C", (Tao, PetscBool *), (tao, fmg));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveReal(tao, omega, 2);
  PetscTryMethod(tao, "TaoVIPMGSetOmega_C", (Tao, PetscReal), (tao, omega));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(omega, 2);
  PetscUseMethod(tao, "TaoVIPMGGetOmega_C", (Tao, PetscReal *), (tao, omega));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveInt(tao, levels, 2);
  PetscTryMethod(tao, "TaoVIPMGSetLevels_C", (Tao, PetscInt), (tao, levels));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(levels, 2);
  PetscUseMethod(tao, "TaoVIPMGGetLevels_C", (Tao, PetscInt *), (tao, levels));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(tao, b, 2);
  PetscTryMethod(tao, "TaoVIPMGSetBackend_C", (Tao, TesseraBackend), (tao, b));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(b, 2);
  PetscUseMethod(tao, "TaoVIPMGGetBackend_C", (Tao, TesseraBackend *), (tao, b));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveBool(tao, on, 2);
  PetscTryMethod(tao, "TaoVIPMGSetMonitor_C", (Tao, PetscBool), (tao, on));
  PetscFunctionReturn(PETSC_SUCCESS);
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
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(on, 2);
  PetscUseMethod(tao, "TaoVIPMGGetMonitor_C", (Tao, PetscBool *), (tao, on));
  PetscFunctionReturn(PETSC_SUCCESS);
}
