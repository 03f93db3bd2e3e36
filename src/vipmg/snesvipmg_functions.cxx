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
  TesseraSetValue(snes, "SNESVIPMGSetVariant_C", Enum, v);
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
  TesseraGetValue(snes, "SNESVIPMGGetVariant_C", v);
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
  TesseraSetValue(snes, "SNESVIPMGSetCycle_C", Enum, c);
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
  TesseraGetValue(snes, "SNESVIPMGGetCycle_C", c);
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
   comes out of this is kept. On grids of at most 400 nodes it takes more time than it saves, and is left out.

.seealso: `SNESVIPMG`, `SNESVIPMGGetFMG()`
@*/
PetscErrorCode SNESVIPMGSetFMG(SNES snes, PetscBool fmg)
{
  TesseraSetValue(snes, "SNESVIPMGSetFMG_C", Bool, fmg);
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
  TesseraGetValue(snes, "SNESVIPMGGetFMG_C", fmg);
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
  TesseraSetValue(snes, "SNESVIPMGSetOmega_C", Real, omega);
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
  TesseraGetValue(snes, "SNESVIPMGGetOmega_C", omega);
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
  TesseraSetValue(snes, "SNESVIPMGSetLevels_C", Int, levels);
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
  TesseraGetValue(snes, "SNESVIPMGGetLevels_C", levels);
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
  TesseraSetValue(snes, "SNESVIPMGSetBackend_C", Enum, b);
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
  TesseraGetValue(snes, "SNESVIPMGGetBackend_C", b);
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
  TesseraSetValue(snes, "SNESVIPMGSetMonitor_C", Bool, on);
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
  TesseraGetValue(snes, "SNESVIPMGGetMonitor_C", on);
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
  TesseraGetValue(snes, "SNESVIPMGGetCertificate_C", certificate);
}
