// Setters and getters of PC rrb. Each is a composed function, so that calling it on another type does nothing; a change takes
// effect at the next setup.
#include "rrb/pcrrb.hpp"

using tessera::PC_RRB;

template <class T, T PC_RRB::*field> static PetscErrorCode SetField(PC pc, T value)
{
  PC_RRB *r = (PC_RRB *)pc->data;

  PetscFunctionBegin;
  if (r->*field != value) {
    r->*field       = value;
    r->current      = PETSC_FALSE;
    pc->setupcalled = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class T, T PC_RRB::*field> static PetscErrorCode GetField(PC pc, T *value)
{
  PetscFunctionBegin;
  *value = ((PC_RRB *)pc->data)->*field;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetGrid(PC pc, PetscInt nx, PetscInt ny)
{
  PetscFunctionBegin;
  PetscCall((SetField<PetscInt, &PC_RRB::nx>(pc, nx)));
  PetscCall((SetField<PetscInt, &PC_RRB::ny>(pc, ny)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetGrid(PC pc, PetscInt *nx, PetscInt *ny)
{
  PetscFunctionBegin;
  if (nx) *nx = ((PC_RRB *)pc->data)->nx;
  if (ny) *ny = ((PC_RRB *)pc->data)->ny;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::ComposeOptions(PC pc, PetscBool compose)
{
  PetscObject o = (PetscObject)pc;

  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetLevels_C", (compose ? &SetField<PetscInt, &PC_RRB::levels> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetLevels_C", (compose ? &GetField<PetscInt, &PC_RRB::levels> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetGrids_C", (compose ? &SetField<PetscInt, &PC_RRB::grids> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetGrids_C", (compose ? &GetField<PetscInt, &PC_RRB::grids> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetCoarsening_C", (compose ? &SetField<PCRRBCoarsening, &PC_RRB::coarsening> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetCoarsening_C", (compose ? &GetField<PCRRBCoarsening, &PC_RRB::coarsening> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetSmoother_C", (compose ? &SetField<PCRRBSmoother, &PC_RRB::smoother> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetSmoother_C", (compose ? &GetField<PCRRBSmoother, &PC_RRB::smoother> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetSmooth_C", (compose ? &SetField<PetscInt, &PC_RRB::smooth> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetSmooth_C", (compose ? &GetField<PetscInt, &PC_RRB::smooth> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetInterpolation_C", (compose ? &SetField<PCRRBInterpolation, &PC_RRB::interpolation> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetInterpolation_C", (compose ? &GetField<PCRRBInterpolation, &PC_RRB::interpolation> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetTrial_C", (compose ? &SetField<PetscBool, &PC_RRB::trial> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetTrial_C", (compose ? &GetField<PetscBool, &PC_RRB::trial> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetOmega_C", (compose ? &SetField<PetscReal, &PC_RRB::omega> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetOmega_C", (compose ? &GetField<PetscReal, &PC_RRB::omega> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetLump_C", (compose ? &SetField<PCRRBLump, &PC_RRB::lump> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetLump_C", (compose ? &GetField<PCRRBLump, &PC_RRB::lump> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetCycle_C", (compose ? &SetField<PCRRBCycle, &PC_RRB::cycle> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetCycle_C", (compose ? &GetField<PCRRBCycle, &PC_RRB::cycle> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetCycleEvery_C", (compose ? &SetField<PetscInt, &PC_RRB::every> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetCycleEvery_C", (compose ? &GetField<PetscInt, &PC_RRB::every> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetCycleInner_C", (compose ? &SetField<PetscInt, &PC_RRB::inner> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetCycleInner_C", (compose ? &GetField<PetscInt, &PC_RRB::inner> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetPeers_C", (compose ? &SetField<PetscBool, &PC_RRB::peers> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetPeers_C", (compose ? &GetField<PetscBool, &PC_RRB::peers> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetRedundant_C", (compose ? &SetField<PetscInt, &PC_RRB::redundant> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetRedundant_C", (compose ? &GetField<PetscInt, &PC_RRB::redundant> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetPrecision_C", (compose ? &SetField<PCRRBPrecision, &PC_RRB::precision> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetPrecision_C", (compose ? &GetField<PCRRBPrecision, &PC_RRB::precision> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetBackend_C", (compose ? &SetField<TesseraBackend, &PC_RRB::backend> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetBackend_C", (compose ? &GetField<TesseraBackend, &PC_RRB::backend> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetGrid_C", compose ? &SetGrid : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetGrid_C", compose ? &GetGrid : nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetLevels - Sets the number of levels of the factorisation, two to a grid

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  l - levels; 0 (default) goes on until an exact factorisation of what is left costs next to nothing. More than the grid allows means all levels

   Options Database Key:
.  -pc_rrb_levels <l> - see above

   Level: intermediate

   Note:
   The remainder after l levels is factorised exactly (RRB-l, ETNA 48, 2018, section 2.2.1), on every process.

.seealso: `PCRRB`, `PCRRBGetLevels()`
@*/
PetscErrorCode PCRRBSetLevels(PC pc, PetscInt l)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(l >= 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC rrb: the number of levels must be 0 (automatic) or more, it is %" PetscInt_FMT, l);
  PetscTryMethod(pc, "PCRRBSetLevels_C", (PC, PetscInt), (pc, l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetLevels - Gets the number of levels of the factorisation, two to a grid

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  l - what `PCRRBSetLevels()` set

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetLevels()`
@*/
PetscErrorCode PCRRBGetLevels(PC pc, PetscInt *l)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCRRBGetLevels_C", (PC, PetscInt *), (pc, l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetGrids - Sets how many grids are stored by quarters (the r1/r2/b1/b2 storage), the others in natural order

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  g - grids; -1 (default) for all, 0 for natural order everywhere

   Options Database Key:
.  -pc_rrb_grids <g> - see above

   Level: intermediate

   Note:
   The result does not depend on it. ETNA 48, 2018, sections 3.1 and 4.4: natural order is S1, quarters S2 and S3.

.seealso: `PCRRB`, `PCRRBGetGrids()`
@*/
PetscErrorCode PCRRBSetGrids(PC pc, PetscInt g)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(g >= -1, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC rrb: the number of grids stored by quarters must be -1 (all) or more, it is %" PetscInt_FMT, g);
  PetscTryMethod(pc, "PCRRBSetGrids_C", (PC, PetscInt), (pc, g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetGrids - Gets how many grids are stored by quarters (the r1/r2/b1/b2 storage), the others in natural order

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  g - what `PCRRBSetGrids()` set

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetGrids()`
@*/
PetscErrorCode PCRRBGetGrids(PC pc, PetscInt *g)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCRRBGetGrids_C", (PC, PetscInt *), (pc, g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetCoarsening - Sets how the operator of the next grid is made

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  c - `PC_RRB_GALERKIN` (default), `PC_RRB_LUMP` or `PC_RRB_RHOMBUS`

   Options Database Key:
.  -pc_rrb_coarsening <galerkin,lump,rhombus> - see above

   Level: intermediate

   Note:
   Galerkin is black-box multigrid on the grids of the ordering: every next operator is P'AP, the red nodes of the finest grid of a
   5-point operator are eliminated exactly and the sweeps there work on their Schur complement. Lump is the papers' factorisation
   (ETNA 48, 2018; report 16-06). Rhombus lumping is for smooth coefficients: it needs fewer iterations there and may break down elsewhere.

.seealso: `PCRRB`, `PCRRBGetCoarsening()`
@*/
PetscErrorCode PCRRBSetCoarsening(PC pc, PCRRBCoarsening c)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(c >= PC_RRB_GALERKIN && c <= PC_RRB_RHOMBUS, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC rrb: unknown coarsening %d", (int)c);
  PetscTryMethod(pc, "PCRRBSetCoarsening_C", (PC, PCRRBCoarsening), (pc, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetCoarsening - Gets how the operator of the next grid is made

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  c - what `PCRRBSetCoarsening()` set

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetCoarsening()`
@*/
PetscErrorCode PCRRBGetCoarsening(PC pc, PCRRBCoarsening *c)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCRRBGetCoarsening_C", (PC, PCRRBCoarsening *), (pc, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetSmoother - Sets what the sweeps of the Galerkin form solve for together

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  s - `PC_RRB_SMOOTHER_AUTO` (default), `PC_RRB_SMOOTHER_POINT`, `PC_RRB_SMOOTHER_LINE_I`, `PC_RRB_SMOOTHER_LINE_J` or `PC_RRB_SMOOTHER_LINE_ALT`

   Options Database Key:
.  -pc_rrb_smoother <auto,point,line_i,line_j,line_alt> - see above

   Level: intermediate

   Note:
   The automatic choice looks at each grid by itself: lines along the strong direction where more than 2 per cent of the nodes have one,
   both directions where there are both or where diagonal couplings differ (rotated anisotropy), else points.

.seealso: `PCRRB`, `PCRRBGetSmoother()`, `PCRRBSetCoarsening()`
@*/
PetscErrorCode PCRRBSetSmoother(PC pc, PCRRBSmoother s)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(s >= PC_RRB_SMOOTHER_AUTO && s <= PC_RRB_SMOOTHER_LINE_ALT, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC rrb: unknown smoother %d", (int)s);
  PetscTryMethod(pc, "PCRRBSetSmoother_C", (PC, PCRRBSmoother), (pc, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetSmoother - Gets what the sweeps of the Galerkin form solve for together

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  s - what `PCRRBSetSmoother()` set

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetSmoother()`
@*/
PetscErrorCode PCRRBGetSmoother(PC pc, PCRRBSmoother *s)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCRRBGetSmoother_C", (PC, PCRRBSmoother *), (pc, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetSmooth - Sets the number of sweeps before and after each visit of the next grid (Galerkin form)

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  nu - sweeps; 0 (default): one, and five on the finest grid where the setup trial finds rough coefficients

   Options Database Key:
.  -pc_rrb_smooth <nu> - see above

   Level: intermediate

   Note:
   The sweeps after are those before in the reverse order, so that the preconditioner is symmetric.

.seealso: `PCRRB`, `PCRRBGetSmooth()`, `PCRRBSetCoarsening()`
@*/
PetscErrorCode PCRRBSetSmooth(PC pc, PetscInt nu)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(nu >= 0 && nu <= 100, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC rrb: the number of sweeps (-pc_rrb_smooth) must be 0 (automatic) to 100, it is %" PetscInt_FMT "", nu);
  PetscTryMethod(pc, "PCRRBSetSmooth_C", (PC, PetscInt), (pc, nu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetSmooth - Gets the number of sweeps before and after each visit of the next grid (Galerkin form)

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  nu - what `PCRRBSetSmooth()` set

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetSmooth()`
@*/
PetscErrorCode PCRRBGetSmooth(PC pc, PetscInt *nu)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCRRBGetSmooth_C", (PC, PetscInt *), (pc, nu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetInterpolation - Sets the weights of the Galerkin form's interpolation

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  w - `PC_RRB_INTERPOLATION_AUTO` (default), `PC_RRB_INTERPOLATION_COLLAPSE` or `PC_RRB_INTERPOLATION_LEAST_SQUARES`

   Options Database Key:
.  -pc_rrb_interpolation <auto,collapse,least_squares> - see above

   Level: intermediate

   Note:
   Least squares help where jumps of the coefficients meet in points (a checkerboard); they cost twelve sweeps on each grid at setup.

.seealso: `PCRRB`, `PCRRBGetInterpolation()`, `PCRRBSetCoarsening()`
@*/
PetscErrorCode PCRRBSetInterpolation(PC pc, PCRRBInterpolation w)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(w >= PC_RRB_INTERPOLATION_AUTO && w <= PC_RRB_INTERPOLATION_LEAST_SQUARES, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC rrb: unknown interpolation %d", (int)w);
  PetscTryMethod(pc, "PCRRBSetInterpolation_C", (PC, PCRRBInterpolation), (pc, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetInterpolation - Gets the weights of the Galerkin form's interpolation

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  w - what `PCRRBSetInterpolation()` set

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetInterpolation()`
@*/
PetscErrorCode PCRRBGetInterpolation(PC pc, PCRRBInterpolation *w)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCRRBGetInterpolation_C", (PC, PCRRBInterpolation *), (pc, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetTrial - Sets whether the first setup tries its choice where coefficients jump (Galerkin form)

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  flg - `PETSC_TRUE` (default) or `PETSC_FALSE`

   Options Database Key:
.  -pc_rrb_trial <bool> - see above

   Level: intermediate

   Note:
   At most eight steps of CG on a random right-hand side. Where they predict more than 15 iterations the finest grid gets five sweeps;
   where these do not help, or few couplings jump, it gets one, and all grids lines both ways, interpolation least_squares and cycle amli.
   The choice stays while values change, until a solver needs half as many iterations again. No trial is made where smoother, sweeps, interpolation or cycle are given, or nothing jumps.

.seealso: `PCRRB`, `PCRRBGetTrial()`, `PCRRBSetCoarsening()`
@*/
PetscErrorCode PCRRBSetTrial(PC pc, PetscBool flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscTryMethod(pc, "PCRRBSetTrial_C", (PC, PetscBool), (pc, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetTrial - Gets whether the first setup tries its choice where coefficients jump (Galerkin form)

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  flg - what `PCRRBSetTrial()` set

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetTrial()`
@*/
PetscErrorCode PCRRBGetTrial(PC pc, PetscBool *flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCRRBGetTrial_C", (PC, PetscBool *), (pc, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetOmega - Sets the share of a dropped coupling that is added to the diagonal

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  w - 0 to 1; 1 (default) keeps row sums (modified incomplete factorisation), 0 drops (report 16-06, section 2.4)

   Options Database Key:
.  -pc_rrb_omega <w> - see above

   Level: intermediate

   Note:
   M1u, M1m, M2u, M2m of report 16-06, table 1, are omega 0, 1, 0, 1 with lumping at red, red, all, all nodes.

.seealso: `PCRRB`, `PCRRBGetOmega()`
@*/
PetscErrorCode PCRRBSetOmega(PC pc, PetscReal w)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(w >= 0 && w <= 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC rrb: omega must lie between 0 and 1, it is %g", (double)w);
  PetscTryMethod(pc, "PCRRBSetOmega_C", (PC, PetscReal), (pc, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetOmega - Gets the share of a dropped coupling that is added to the diagonal

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  w - what `PCRRBSetOmega()` set

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetOmega()`
@*/
PetscErrorCode PCRRBGetOmega(PC pc, PetscReal *w)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCRRBGetOmega_C", (PC, PetscReal *), (pc, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetLump - Sets the nodes whose dropped couplings are lumped

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  n - `PC_RRB_LUMP_RED` (default) or `PC_RRB_LUMP_ALL`

   Options Database Key:
.  -pc_rrb_lump <red,all> - see above

   Level: intermediate

   Note:
   See `PCRRBSetOmega()`.

.seealso: `PCRRB`, `PCRRBGetLump()`
@*/
PetscErrorCode PCRRBSetLump(PC pc, PCRRBLump n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(n == PC_RRB_LUMP_RED || n == PC_RRB_LUMP_ALL, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC rrb: unknown choice of nodes to lump at %d", (int)n);
  PetscTryMethod(pc, "PCRRBSetLump_C", (PC, PCRRBLump), (pc, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetLump - Gets the nodes whose dropped couplings are lumped

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  n - what `PCRRBSetLump()` set

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetLump()`
@*/
PetscErrorCode PCRRBGetLump(PC pc, PCRRBLump *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCRRBGetLump_C", (PC, PCRRBLump *), (pc, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetCycle - Sets how the coarse grids are visited

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  c - `PC_RRB_CYCLE_V`, `PC_RRB_CYCLE_K`, `PC_RRB_CYCLE_AMLI` or `PC_RRB_CYCLE_AUTO` (default)

   Options Database Key:
.  -pc_rrb_cycle <v,k,amli,auto> - see above

   Level: intermediate

   Note:
   V visits each grid once, as the papers' method does. K is not linear and needs a flexible method (`KSPFCG`, `KSPFGMRES`, `KSPRRB`); AMLI is linear.

.seealso: `PCRRB`, `PCRRBGetCycle()`
@*/
PetscErrorCode PCRRBSetCycle(PC pc, PCRRBCycle c)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(c >= PC_RRB_CYCLE_V && c <= PC_RRB_CYCLE_AUTO, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC rrb: unknown cycle %d", (int)c);
  PetscTryMethod(pc, "PCRRBSetCycle_C", (PC, PCRRBCycle), (pc, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetCycle - Gets how the coarse grids are visited

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  c - what `PCRRBSetCycle()` set

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetCycle()`
@*/
PetscErrorCode PCRRBGetCycle(PC pc, PCRRBCycle *c)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCRRBGetCycle_C", (PC, PCRRBCycle *), (pc, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetCycleEvery - Sets on which grids the K- and AMLI-cycles accelerate

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  m - every m-th grid, the finest not counted; default 2

   Options Database Key:
.  -pc_rrb_cycle_every <m> - see above

   Level: intermediate

   Note:
   With two steps the sweeps of all grids together cost half as much again with m = 1, and 7 per cent more with m = 2.

.seealso: `PCRRB`, `PCRRBGetCycleEvery()`
@*/
PetscErrorCode PCRRBSetCycleEvery(PC pc, PetscInt m)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(m >= 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC rrb: the cycle accelerates on every m-th grid (-pc_rrb_cycle_every) and m must be 1 or more, it is %" PetscInt_FMT, m);
  PetscTryMethod(pc, "PCRRBSetCycleEvery_C", (PC, PetscInt), (pc, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetCycleEvery - Gets on which grids the K- and AMLI-cycles accelerate

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  m - what `PCRRBSetCycleEvery()` set

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetCycleEvery()`
@*/
PetscErrorCode PCRRBGetCycleEvery(PC pc, PetscInt *m)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCRRBGetCycleEvery_C", (PC, PetscInt *), (pc, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetCycleInner - Sets the number of steps of the K- and AMLI-cycles

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  nu - steps, 1 or more; default 2

   Options Database Key:
.  -pc_rrb_cycle_inner <nu> - see above

   Level: intermediate

   Note:
   Flexible CG for K, a Chebyshev polynomial for AMLI.

.seealso: `PCRRB`, `PCRRBGetCycleInner()`
@*/
PetscErrorCode PCRRBSetCycleInner(PC pc, PetscInt nu)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(nu >= 1 && nu <= 100, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC rrb: the cycle (-pc_rrb_cycle_inner) takes 1 step or more on a grid (to 100), it is %" PetscInt_FMT, nu);
  PetscTryMethod(pc, "PCRRBSetCycleInner_C", (PC, PetscInt), (pc, nu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetCycleInner - Gets the number of steps of the K- and AMLI-cycles

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  nu - what `PCRRBSetCycleInner()` set

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetCycleInner()`
@*/
PetscErrorCode PCRRBGetCycleInner(PC pc, PetscInt *nu)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCRRBGetCycleInner_C", (PC, PetscInt *), (pc, nu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetRedundant - Sets the size of the grids that every process keeps and works on whole

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  nodes - the first grid of at most so many nodes goes to every process, and so do those after it; default 0 (automatic)

   Options Database Key:
.  -pc_rrb_redundant <nodes> - see above

   Level: advanced

   Note:
   On a distributed grid processes wait for each other; on a small one they wait longer than it takes to do all of it. Automatic are 4096 nodes, and
   200000 on devices from the second grid on. Results are the same to rounding.

.seealso: `PCRRB`, `PCRRBGetRedundant()`
@*/
PetscErrorCode PCRRBSetRedundant(PC pc, PetscInt nodes)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(nodes >= 0 && nodes < 1000000000, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC rrb: every process keeps grids of 0 (automatic) to 1e9 nodes (-pc_rrb_redundant), it is %" PetscInt_FMT, nodes);
  PetscTryMethod(pc, "PCRRBSetRedundant_C", (PC, PetscInt), (pc, nodes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetRedundant - Gets the size of the grids that every process keeps and works on whole

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  nodes - what `PCRRBSetRedundant()` set

   Level: advanced

.seealso: `PCRRB`, `PCRRBSetRedundant()`
@*/
PetscErrorCode PCRRBGetRedundant(PC pc, PetscInt *nodes)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCRRBGetRedundant_C", (PC, PetscInt *), (pc, nodes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetPeers - Sets whether processes of one host write into each other's device memory

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  peers - yes (default): where every process has a device of its own and all reach each other; no: messages go through MPI

   Options Database Key:
.  -pc_rrb_peers <bool> - see above

   Level: advanced

   Note:
   A solve by KSP `rrb` then stays on the devices until it ends, as on one process. Where devices do not reach each other messages go through
   MPI, with device memory where PETSc says that MPI takes it (`-use_gpu_aware_mpi`), else through the host.

.seealso: `PCRRB`, `PCRRBGetPeers()`
@*/
PetscErrorCode PCRRBSetPeers(PC pc, PetscBool peers)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscTryMethod(pc, "PCRRBSetPeers_C", (PC, PetscBool), (pc, peers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetPeers - Gets whether processes of one host write into each other's device memory

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  peers - what `PCRRBSetPeers()` set

   Level: advanced

.seealso: `PCRRB`, `PCRRBSetPeers()`
@*/
PetscErrorCode PCRRBGetPeers(PC pc, PetscBool *peers)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCRRBGetPeers_C", (PC, PetscBool *), (pc, peers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetPrecision - Sets the precision in which the factors are stored

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  p - `PC_RRB_AUTO` (default), `PC_RRB_DOUBLE` or `PC_RRB_SINGLE`

   Options Database Key:
.  -pc_rrb_precision <auto,double,single> - see above

   Level: intermediate

   Note:
   Vectors stay in double precision and the preconditioner symmetric, so the solution reaches the same tolerance. The automatic
   choice is single precision for the Galerkin form on a device, else double.

.seealso: `PCRRB`, `PCRRBGetPrecision()`
@*/
PetscErrorCode PCRRBSetPrecision(PC pc, PCRRBPrecision p)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(p >= PC_RRB_AUTO && p <= PC_RRB_SINGLE, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC rrb: unknown precision %d", (int)p);
  PetscTryMethod(pc, "PCRRBSetPrecision_C", (PC, PCRRBPrecision), (pc, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetPrecision - Gets the precision in which the factors are stored

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  p - what `PCRRBSetPrecision()` set

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetPrecision()`
@*/
PetscErrorCode PCRRBGetPrecision(PC pc, PCRRBPrecision *p)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCRRBGetPrecision_C", (PC, PCRRBPrecision *), (pc, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetBackend - Sets where the factorisation lives and runs

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  b - `TESSERA_BACKEND_AUTO` (default), `TESSERA_BACKEND_HOST` or `TESSERA_BACKEND_CUDA`

   Options Database Key:
.  -pc_rrb_backend <auto,host,cuda> - see above

   Level: intermediate

   Note:
   The automatic choice is the device where the matrix has its values there (`MATAIJCUSPARSE`, `MATAIJKOKKOS`), else the host:
   nothing is copied. `TESSERA_BACKEND_CUDA` with a matrix or vectors on the host copies them to and fro; a device that cannot be
   used is refused at setup.

.seealso: `PCRRB`, `PCRRBGetBackend()`
@*/
PetscErrorCode PCRRBSetBackend(PC pc, TesseraBackend b)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(b >= TESSERA_BACKEND_AUTO && b <= TESSERA_BACKEND_CUDA, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC rrb: unknown backend %d", (int)b);
  PetscTryMethod(pc, "PCRRBSetBackend_C", (PC, TesseraBackend), (pc, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetBackend - Gets where the factorisation lives and runs

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  b - what `PCRRBSetBackend()` set

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetBackend()`
@*/
PetscErrorCode PCRRBGetBackend(PC pc, TesseraBackend *b)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCRRBGetBackend_C", (PC, TesseraBackend *), (pc, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetGrid - Sets the grid of a matrix that comes without a `DMDA`

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
.  nx - nodes in x
-  ny - nodes in y; unknown (i, j) is row i + nx*j. 0, 0 means the `DMDA` of the solver or the matrix (default)

   Options Database Key:
.  -pc_rrb_grid <nx,ny> - the sizes

   Level: intermediate

   Note:
   The rows may be distributed in any way; where a process boundary lies inside a grid line the rows are moved at setup, and
   vectors in every application.

.seealso: `PCRRB`, `PCRRBGetGrid()`
@*/
PetscErrorCode PCRRBSetGrid(PC pc, PetscInt nx, PetscInt ny)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck((nx > 0 && ny > 0) || (!nx && !ny), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC rrb: a grid has one node or more in each direction, not %" PetscInt_FMT " x %" PetscInt_FMT, nx, ny);
  PetscTryMethod(pc, "PCRRBSetGrid_C", (PC, PetscInt, PetscInt), (pc, nx, ny));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetGrid - Gets the grid set by `PCRRBSetGrid()`

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameters:
+  nx - nodes in x, 0 if none was set
-  ny - nodes in y

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetGrid()`
@*/
PetscErrorCode PCRRBGetGrid(PC pc, PetscInt *nx, PetscInt *ny)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCRRBGetGrid_C", (PC, PetscInt *, PetscInt *), (pc, nx, ny));
  PetscFunctionReturn(PETSC_SUCCESS);
}
