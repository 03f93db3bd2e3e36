// Setters and getters of PC rrb, continued: the form of the factorisation.
#include "rrb/pcrrb.hpp"

/*@
   PCRRBSetLevels - Sets the number of levels, two to a grid

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  l - levels; 0 (default) goes on until an exact factorization of what is left costs next to nothing. More than the
     grid allows means all levels

   Options Database Key:
.  -pc_rrb_levels <l> - see above

   Level: intermediate

   Note:
   The remainder after l levels is factorized exactly (RRB-l, ETNA 48, 2018, section 2.2.1), on every process.

.seealso: `PCRRB`, `PCRRBGetLevels()`
@*/
PetscErrorCode PCRRBSetLevels(PC pc, PetscInt l)
{
  TesseraSetValue(pc, "PCRRBSetLevels_C", Int, l);
}

/*@
   PCRRBGetLevels - Gets the number of levels, two to a grid

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
  TesseraGetValue(pc, "PCRRBGetLevels_C", l);
}

/*@
   PCRRBSetQuarters - Sets how many grids are stored by quarters (the r1/r2/b1/b2 storage), the others in natural order

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  g - grids; -1 (default) for all, 0 for natural order everywhere

   Options Database Key:
.  -pc_rrb_quarters <g> - see above

   Level: intermediate

   Note:
   The result does not depend on it. ETNA 48, 2018, sections 3.1 and 4.4: natural order is S1, quarters S2 and S3.

.seealso: `PCRRB`, `PCRRBGetQuarters()`
@*/
PetscErrorCode PCRRBSetQuarters(PC pc, PetscInt g)
{
  TesseraSetValue(pc, "PCRRBSetQuarters_C", Int, g);
}

/*@
   PCRRBGetQuarters - Gets how many grids are stored by quarters (the r1/r2/b1/b2 storage), the others in natural order

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  g - what `PCRRBSetQuarters()` set

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetQuarters()`
@*/
PetscErrorCode PCRRBGetQuarters(PC pc, PetscInt *g)
{
  TesseraGetValue(pc, "PCRRBGetQuarters_C", g);
}

/*@
   PCRRBSetCoarsening - Sets how the operator of the next grid is made

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  c - `PC_RRB_COARSENING_GALERKIN` (default), `PC_RRB_COARSENING_LUMP` or `PC_RRB_COARSENING_RHOMBUS`

   Options Database Key:
.  -pc_rrb_coarsening <galerkin,lump,rhombus> - see above

   Level: intermediate

   Note:
   Galerkin is black-box multigrid on the grids of the ordering: every next operator is P'AP, the red nodes of the
   finest grid of a 5-point operator are eliminated exactly and the sweeps there work on their Schur complement. Lump
   is the papers' factorization (ETNA 48, 2018; report 16-06). Rhombus lumping is for smooth coefficients: it needs
   fewer iterations there and may break down elsewhere.

.seealso: `PCRRB`, `PCRRBGetCoarsening()`
@*/
PetscErrorCode PCRRBSetCoarsening(PC pc, PCRRBCoarsening c)
{
  TesseraSetValue(pc, "PCRRBSetCoarsening_C", Enum, c);
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
  TesseraGetValue(pc, "PCRRBGetCoarsening_C", c);
}

/*@
   PCRRBSetSmoother - Sets what the sweeps of the Galerkin form solve for together

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  s - `PC_RRB_SMOOTHER_AUTO` (default), `PC_RRB_SMOOTHER_POINT`, `PC_RRB_SMOOTHER_LINE_I`, `PC_RRB_SMOOTHER_LINE_J` or
     `PC_RRB_SMOOTHER_LINE_ALT`

   Options Database Key:
.  -pc_rrb_smoother <auto,point,line_i,line_j,line_alt> - see above

   Level: intermediate

   Note:
   The automatic choice looks at each grid by itself: lines along the strong direction where more than 2 per cent of
   the nodes have one, both directions where there are both or where diagonal couplings differ (rotated anisotropy),
   else points.

.seealso: `PCRRB`, `PCRRBGetSmoother()`, `PCRRBSetCoarsening()`
@*/
PetscErrorCode PCRRBSetSmoother(PC pc, PCRRBSmoother s)
{
  TesseraSetValue(pc, "PCRRBSetSmoother_C", Enum, s);
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
  TesseraGetValue(pc, "PCRRBGetSmoother_C", s);
}

/*@
   PCRRBSetSweeps - Sets the number of sweeps before and after each visit of the next grid (Galerkin form)

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  nu - sweeps; 0 (default): one, and five (on a device three) on the finest grid where the setup trial finds rough
     coefficients

   Options Database Key:
.  -pc_rrb_sweeps <nu> - see above

   Level: intermediate

   Note:
   The sweeps after are those before in the reverse order, so that the preconditioner is symmetric.

.seealso: `PCRRB`, `PCRRBGetSweeps()`, `PCRRBSetCoarsening()`
@*/
PetscErrorCode PCRRBSetSweeps(PC pc, PetscInt nu)
{
  TesseraSetValue(pc, "PCRRBSetSweeps_C", Int, nu);
}

/*@
   PCRRBGetSweeps - Gets the number of sweeps before and after each visit of the next grid (Galerkin form)

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  nu - what `PCRRBSetSweeps()` set

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetSweeps()`
@*/
PetscErrorCode PCRRBGetSweeps(PC pc, PetscInt *nu)
{
  TesseraGetValue(pc, "PCRRBGetSweeps_C", nu);
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
   Least squares help where jumps of the coefficients meet in points (a checkerboard); they cost twelve sweeps on each
   grid at setup.

.seealso: `PCRRB`, `PCRRBGetInterpolation()`, `PCRRBSetCoarsening()`
@*/
PetscErrorCode PCRRBSetInterpolation(PC pc, PCRRBInterpolation w)
{
  TesseraSetValue(pc, "PCRRBSetInterpolation_C", Enum, w);
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
  TesseraGetValue(pc, "PCRRBGetInterpolation_C", w);
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
   At most eight steps of CG on a right-hand side that is rough with a smooth part. Where they predict more than 12
   iterations the finest grid gets five sweeps (on a device three), or, where few couplings jump, the grids get
   interpolation least_squares and cycle amli (on a device cycle amli alone before, from 9 iterations on). Where that
   does not help, they get these two and lines both ways. The choice that promises least is taken; another one's
   iteration counts as 1.1 of the usual choice's. A solve by `KSPRRB` that takes half as many iterations again as
   predicted stops, makes another choice of those that have not been tried, and goes on; after such a solve by another
   method the next one begins with that. The choice stays while values change, until a solver needs half as many
   iterations again. No trial is made where smoother, sweeps, interpolation or cycle are given, or nothing jumps.

   In three dimensions at most ten steps of CG, where couplings jump or coarsening in all directions does not suit all
   nodes. Where they predict too many iterations one direction is coarsened alone, or the smoother solves lines, or its
   degree grows.

.seealso: `PCRRB`, `PCRRBGetTrial()`, `PCRRBSetCoarsening()`
@*/
PetscErrorCode PCRRBSetTrial(PC pc, PetscBool flg)
{
  TesseraSetValue(pc, "PCRRBSetTrial_C", Bool, flg);
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
  TesseraGetValue(pc, "PCRRBGetTrial_C", flg);
}

/*@
   PCRRBSetOmega - Sets the share of a dropped coupling that is added to the diagonal

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  w - 0 to 1; 1 (default) keeps row sums (modified incomplete factorization), 0 drops (report 16-06, section 2.4)

   Options Database Key:
.  -pc_rrb_omega <w> - see above

   Level: intermediate

   Note:
   M1u, M1m, M2u, M2m of report 16-06, table 1, are omega 0, 1, 0, 1 with lumping at red, red, all, all nodes.

.seealso: `PCRRB`, `PCRRBGetOmega()`
@*/
PetscErrorCode PCRRBSetOmega(PC pc, PetscReal w)
{
  TesseraSetValue(pc, "PCRRBSetOmega_C", Real, w);
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
  TesseraGetValue(pc, "PCRRBGetOmega_C", w);
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
  TesseraSetValue(pc, "PCRRBSetLump_C", Enum, n);
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
  TesseraGetValue(pc, "PCRRBGetLump_C", n);
}
