// Public functions of SNES vipmg.
#include "vipmg/snesvipmg.hpp"

/*@
   SNESVIPMGSetVariant - Sets what a cycle does in `SNESVIPMG`

   Logically Collective

   Input Parameters:
+  snes - the solver
-  v - `SNES_VIPMG_HYBRID` (default), `SNES_VIPMG_TNNMG`, `SNES_VIPMG_MONOTONE` or `SNES_VIPMG_KLEMENT_OBERHUBER`

   Options Database Key:
.  -snes_vipmg_variant <hybrid,tnnmg,monotone,klement_oberhuber> - the cycle

   Level: intermediate

   Note:
   hybrid: a monotone cycle, then a truncated Newton cycle; the first is left out while the active set stands nearly
   still. tnnmg: the second alone, for a good start. monotone: the first alone; robust and slow (Graeser and Kornhuber
   2009). klement_oberhuber: Algorithm 1 of Klement and Oberhuber 2015, whose coarse bounds are weighted means. The
   solution of an obstacle problem is not its fixed point: it stagnates unless the diagonal dominates, as in their time
   steps, and is there for comparison. The last two work on the grid of a `DMDA` alone.

.seealso: `SNESVIPMG`, `SNESVIPMGGetVariant()`
@*/
PetscErrorCode SNESVIPMGSetVariant(SNES snes, SNESVIPMGVariant v)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(snes, v, 2);
  PetscTryMethod(snes, "SNESVIPMGSetVariant_C", (SNES, SNESVIPMGVariant), (snes, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGGetVariant - Gets what a cycle does in `SNESVIPMG`

   Not Collective

   Input Parameter:
.  snes - the solver

   Output Parameter:
.  v - the value

   Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIPMGSetVariant()`
@*/
PetscErrorCode SNESVIPMGGetVariant(SNES snes, SNESVIPMGVariant *v)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(v, 2);
  PetscUseMethod(snes, "SNESVIPMGGetVariant_C", (SNES, SNESVIPMGVariant *), (snes, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGSetCycle - Sets how often coarse grids are visited in `SNESVIPMG`

   Logically Collective

   Input Parameters:
+  snes - the solver
-  c - `SNES_VIPMG_CYCLE_V`, `SNES_VIPMG_CYCLE_W`, `SNES_VIPMG_CYCLE_F` or `SNES_VIPMG_CYCLE_AUTO` (default)

   Options Database Key:
.  -snes_vipmg_cycle <auto,v,w,f> - the cycle

   Level: intermediate

   Note:
   A W-cycle visits every coarse grid twice, an F-cycle twice on its way down. The automatic choice is V, but F on the
   host on a plane grid where the Jacobian is not symmetric, and W there where convection is strong.

.seealso: `SNESVIPMG`, `SNESVIPMGGetCycle()`
@*/
PetscErrorCode SNESVIPMGSetCycle(SNES snes, SNESVIPMGCycle c)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(snes, c, 2);
  PetscTryMethod(snes, "SNESVIPMGSetCycle_C", (SNES, SNESVIPMGCycle), (snes, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGGetCycle - Gets how often coarse grids are visited in `SNESVIPMG`

   Not Collective

   Input Parameter:
.  snes - the solver

   Output Parameter:
.  c - the value

   Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIPMGSetCycle()`
@*/
PetscErrorCode SNESVIPMGGetCycle(SNES snes, SNESVIPMGCycle *c)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(c, 2);
  PetscUseMethod(snes, "SNESVIPMGGetCycle_C", (SNES, SNESVIPMGCycle *), (snes, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGSetFMG - Sets whether the first linear problem is started on the coarsest grid in `SNESVIPMG`

   Logically Collective

   Input Parameters:
+  snes - the solver
-  fmg - `PETSC_TRUE` (default): full multigrid

   Options Database Key:
.  -snes_vipmg_fmg <bool> - full multigrid

   Level: intermediate

   Note:
   The first linear problem is solved from the coarsest grid upwards, a cycle a grid. A start that is better than what
   comes out of this is kept.

.seealso: `SNESVIPMG`, `SNESVIPMGGetFMG()`
@*/
PetscErrorCode SNESVIPMGSetFMG(SNES snes, PetscBool fmg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscValidLogicalCollectiveBool(snes, fmg, 2);
  PetscTryMethod(snes, "SNESVIPMGSetFMG_C", (SNES, PetscBool), (snes, fmg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGGetFMG - Gets whether the first linear problem is started on the coarsest grid in `SNESVIPMG`

   Not Collective

   Input Parameter:
.  snes - the solver

   Output Parameter:
.  fmg - the value

   Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIPMGSetFMG()`
@*/
PetscErrorCode SNESVIPMGGetFMG(SNES snes, PetscBool *fmg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(fmg, 2);
  PetscUseMethod(snes, "SNESVIPMGGetFMG_C", (SNES, PetscBool *), (snes, fmg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGSetSweeps - Sets the sweeps before and after the coarse correction in `SNESVIPMG`

   Logically Collective

   Input Parameters:
+  snes - the solver
.  pre  - sweeps before
-  post - sweeps after

   Options Database Key:
.  -snes_vipmg_sweeps <pre,post> - sweeps

   Level: intermediate

   Note:
   0 and 0 (default): 2 and 2 in V-cycles on the host, else 1 and 1. More sweeps make fewer cycles, not always less
   time. The truncated Newton cycle has one projected sweep more on the finest grid.

.seealso: `SNESVIPMG`, `SNESVIPMGGetSweeps()`
@*/
PetscErrorCode SNESVIPMGSetSweeps(SNES snes, PetscInt pre, PetscInt post)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscValidLogicalCollectiveInt(snes, pre, 2);
  PetscValidLogicalCollectiveInt(snes, post, 3);
  PetscTryMethod(snes, "SNESVIPMGSetSweeps_C", (SNES, PetscInt, PetscInt), (snes, pre, post));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGGetSweeps - Gets the sweeps before and after the coarse correction in `SNESVIPMG`

   Not Collective

   Input Parameter:
.  snes - the solver

   Output Parameters:
+  pre  - sweeps before
-  post - sweeps after

   Level: intermediate

   Note:
   Any output may be `NULL`; 0 and 0 stand for the automatic choice, which `SNESVIPMGGetChoice()` tells.

.seealso: `SNESVIPMG`, `SNESVIPMGSetSweeps()`
@*/
PetscErrorCode SNESVIPMGGetSweeps(SNES snes, PetscInt *pre, PetscInt *post)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  if (pre) PetscAssertPointer(pre, 2);
  if (post) PetscAssertPointer(post, 3);
  PetscUseMethod(snes, "SNESVIPMGGetSweeps_C", (SNES, PetscInt *, PetscInt *), (snes, pre, post));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGSetOmega - Sets the relaxation factor of projected sweeps in `SNESVIPMG`

   Logically Collective

   Input Parameters:
+  snes - the solver
-  omega - relaxation factor, above 0 and below 2, default 1

   Options Database Key:
.  -snes_vipmg_omega <w> - the factor

   Level: intermediate

   Note:
   1 is projected Gauss-Seidel, another value projected SOR.

.seealso: `SNESVIPMG`, `SNESVIPMGGetOmega()`
@*/
PetscErrorCode SNESVIPMGSetOmega(SNES snes, PetscReal omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscValidLogicalCollectiveReal(snes, omega, 2);
  PetscTryMethod(snes, "SNESVIPMGSetOmega_C", (SNES, PetscReal), (snes, omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGGetOmega - Gets the relaxation factor of projected sweeps in `SNESVIPMG`

   Not Collective

   Input Parameter:
.  snes - the solver

   Output Parameter:
.  omega - the value

   Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIPMGSetOmega()`
@*/
PetscErrorCode SNESVIPMGGetOmega(SNES snes, PetscReal *omega)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(omega, 2);
  PetscUseMethod(snes, "SNESVIPMGGetOmega_C", (SNES, PetscReal *), (snes, omega));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGSetLevels - Sets the largest number of grids in `SNESVIPMG`

   Logically Collective

   Input Parameters:
+  snes - the solver
-  levels - largest number of grids; 0 (default): until two or three nodes per direction are left

   Options Database Key:
.  -snes_vipmg_levels <n> - the number

   Level: intermediate

   Note:
   The coarsest grid is solved by sweeps, at most 200, so a small number of grids makes more cycles.

.seealso: `SNESVIPMG`, `SNESVIPMGGetLevels()`
@*/
PetscErrorCode SNESVIPMGSetLevels(SNES snes, PetscInt levels)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscValidLogicalCollectiveInt(snes, levels, 2);
  PetscTryMethod(snes, "SNESVIPMGSetLevels_C", (SNES, PetscInt), (snes, levels));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGGetLevels - Gets the largest number of grids in `SNESVIPMG`

   Not Collective

   Input Parameter:
.  snes - the solver

   Output Parameter:
.  levels - the value

   Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIPMGSetLevels()`
@*/
PetscErrorCode SNESVIPMGGetLevels(SNES snes, PetscInt *levels)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(levels, 2);
  PetscUseMethod(snes, "SNESVIPMGGetLevels_C", (SNES, PetscInt *), (snes, levels));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGSetBackend - Sets where the solver runs in `SNESVIPMG`

   Logically Collective

   Input Parameters:
+  snes - the solver
-  b - `TESSERA_BACKEND_AUTO` (default), `TESSERA_BACKEND_HOST` or `TESSERA_BACKEND_CUDA`

   Options Database Key:
.  -snes_vipmg_backend <auto,host,cuda> - the backend

   Level: intermediate

   Note:
   The automatic choice is where the solution vector is. `TESSERA_BACKEND_CUDA` with vectors on the host copies the
   function and the step once an iteration, and the Jacobian when it changes.

.seealso: `SNESVIPMG`, `SNESVIPMGGetBackend()`
@*/
PetscErrorCode SNESVIPMGSetBackend(SNES snes, TesseraBackend b)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(snes, b, 2);
  PetscTryMethod(snes, "SNESVIPMGSetBackend_C", (SNES, TesseraBackend), (snes, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGGetBackend - Gets where the solver runs in `SNESVIPMG`

   Not Collective

   Input Parameter:
.  snes - the solver

   Output Parameter:
.  b - the value

   Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIPMGSetBackend()`
@*/
PetscErrorCode SNESVIPMGGetBackend(SNES snes, TesseraBackend *b)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(b, 2);
  PetscUseMethod(snes, "SNESVIPMGGetBackend_C", (SNES, TesseraBackend *), (snes, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGSetMonitor - Sets whether every cycle of `SNESVIPMG` prints a line

   Logically Collective

   Input Parameters:
+  snes - the solver
-  on   - the norm of the inactive nodes, the natural residual and the active nodes of the linearized problem are
     printed

   Options Database Key:
.  -snes_vipmg_monitor - a line for each cycle

   Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIPMGGetMonitor()`, `SNESMonitorSet()`
@*/
PetscErrorCode SNESVIPMGSetMonitor(SNES snes, PetscBool on)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscValidLogicalCollectiveBool(snes, on, 2);
  PetscTryMethod(snes, "SNESVIPMGSetMonitor_C", (SNES, PetscBool), (snes, on));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGGetMonitor - Gets whether every cycle prints a line in `SNESVIPMG`

   Not Collective

   Input Parameter:
.  snes - the solver

   Output Parameter:
.  on - the value

   Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIPMGSetMonitor()`
@*/
PetscErrorCode SNESVIPMGGetMonitor(SNES snes, PetscBool *on)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(on, 2);
  PetscUseMethod(snes, "SNESVIPMGGetMonitor_C", (SNES, PetscBool *), (snes, on));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGGetCertificate - Gets measures of the solution that the norm of the inactive set does not show

   Collective

   Input Parameter:
.  snes - the solver, after `SNESSolve()`

   Output Parameter:
.  certificate - see `SNESVIPMGCertificate`

   Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIComputeInactiveSetFnorm()`
@*/
PetscErrorCode SNESVIPMGGetCertificate(SNES snes, SNESVIPMGCertificate *certificate)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(certificate, 2);
  PetscUseMethod(snes, "SNESVIPMGGetCertificate_C", (SNES, SNESVIPMGCertificate *), (snes, certificate));
  PetscFunctionReturn(PETSC_SUCCESS);
}
