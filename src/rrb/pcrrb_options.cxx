// Setters and getters of PC rrb. Each is a composed function, so that calling it on another type does nothing; a
// change takes effect at the next setup. Here: how they are composed, the cycle, storage and place; the form is in
// pcrrb_options_form.cxx.
#include "rrb/pcrrb.hpp"
#include "petsc/field.hpp"

using tessera::PC_RRB, tessera::SetField, tessera::GetField;

static PetscErrorCode SetGrid(PC pc, PetscInt nx, PetscInt ny)
{
  PetscFunctionBegin;
  PetscCall((SetField<&PC_RRB::nx>(pc, nx)));
  PetscCall((SetField<&PC_RRB::ny>(pc, ny)));
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
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetLevels_C", (compose ? &SetField<&PC_RRB::levels> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetLevels_C", (compose ? &GetField<&PC_RRB::levels> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetGrids_C", (compose ? &SetField<&PC_RRB::grids> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetGrids_C", (compose ? &GetField<&PC_RRB::grids> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCRRBSetCoarsening_C", (compose ? &SetField<&PC_RRB::coarsening> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCRRBGetCoarsening_C", (compose ? &GetField<&PC_RRB::coarsening> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetSmoother_C", (compose ? &SetField<&PC_RRB::smoother> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetSmoother_C", (compose ? &GetField<&PC_RRB::smoother> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetSmooth_C", (compose ? &SetField<&PC_RRB::smooth> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetSmooth_C", (compose ? &GetField<&PC_RRB::smooth> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCRRBSetInterpolation_C", (compose ? &SetField<&PC_RRB::interpolation> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCRRBGetInterpolation_C", (compose ? &GetField<&PC_RRB::interpolation> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetTrial_C", (compose ? &SetField<&PC_RRB::trial> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetTrial_C", (compose ? &GetField<&PC_RRB::trial> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetOmega_C", (compose ? &SetField<&PC_RRB::omega> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetOmega_C", (compose ? &GetField<&PC_RRB::omega> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetLump_C", (compose ? &SetField<&PC_RRB::lump> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetLump_C", (compose ? &GetField<&PC_RRB::lump> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetCycle_C", (compose ? &SetField<&PC_RRB::cycle> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetCycle_C", (compose ? &GetField<&PC_RRB::cycle> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetCycleEvery_C", (compose ? &SetField<&PC_RRB::every> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetCycleEvery_C", (compose ? &GetField<&PC_RRB::every> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetCycleInner_C", (compose ? &SetField<&PC_RRB::inner> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetCycleInner_C", (compose ? &GetField<&PC_RRB::inner> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetPeers_C", (compose ? &SetField<&PC_RRB::peers> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetPeers_C", (compose ? &GetField<&PC_RRB::peers> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetRedundant_C", (compose ? &SetField<&PC_RRB::redundant> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetRedundant_C", (compose ? &GetField<&PC_RRB::redundant> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetPrecision_C", (compose ? &SetField<&PC_RRB::precision> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetPrecision_C", (compose ? &GetField<&PC_RRB::precision> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetBackend_C", (compose ? &SetField<&PC_RRB::backend> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetBackend_C", (compose ? &GetField<&PC_RRB::backend> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBSetGrid_C", compose ? &SetGrid : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCRRBGetGrid_C", compose ? &GetGrid : nullptr));
  PetscCall(ComposeInfo(pc, compose));
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
   V visits each grid once, as the papers' method does. K is not linear and needs a flexible method (`KSPFCG`,
   `KSPFGMRES`, `KSPRRB`); AMLI is linear.

.seealso: `PCRRB`, `PCRRBGetCycle()`
@*/
PetscErrorCode PCRRBSetCycle(PC pc, PCRRBCycle c)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(c >= PC_RRB_CYCLE_V && c <= PC_RRB_CYCLE_AUTO, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PC rrb: unknown cycle %d", (int)c);
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
-  m - every m-th grid; default 2

   Options Database Key:
.  -pc_rrb_cycle_every <m> - see above

   Level: intermediate

   Note:
   With two steps the sweeps of all grids together cost half as much again with m = 1, and 7 per cent more with m = 2
   on the lumped
   forms' grids 2, 4 and so on. The Galerkin form begins with grid 1. On a device with cycle auto it leaves small
   grids out, where
   another visit takes as long as on a large one; `-ksp_view` lists the grids.

.seealso: `PCRRB`, `PCRRBGetCycleEvery()`
@*/
PetscErrorCode PCRRBSetCycleEvery(PC pc, PetscInt m)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(m >= 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PC rrb: the cycle accelerates on every m-th grid (-pc_rrb_cycle_every) and m must be 1 or more, it is "
             "%" PetscInt_FMT,
             m);
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
  PetscCheck(nu >= 1 && nu <= 100, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PC rrb: the cycle (-pc_rrb_cycle_inner) takes 1 step or more on a grid (to 100), it is %" PetscInt_FMT,
             nu);
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
-  nodes - the first grid of at most so many nodes goes to every process, and so do those after it; default 0
   (automatic)

   Options Database Key:
.  -pc_rrb_redundant <nodes> - see above

   Level: advanced

   Note:
   On a distributed grid processes wait for each other; on a small one they wait longer than it takes to do all of it.
   Automatic are 4096 nodes, and
   200000 on devices from the second grid on. Results are the same to rounding.

.seealso: `PCRRB`, `PCRRBGetRedundant()`
@*/
PetscErrorCode PCRRBSetRedundant(PC pc, PetscInt nodes)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(
    nodes >= 0 && nodes < 1000000000, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
    "PC rrb: every process keeps grids of 0 (automatic) to 1e9 nodes (-pc_rrb_redundant), it is %" PetscInt_FMT, nodes);
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
-  peers - yes (default): where every process has a device of its own and all reach each other; no: messages go
   through MPI

   Options Database Key:
.  -pc_rrb_peers <bool> - see above

   Level: advanced

   Note:
   A solve by KSP `rrb` then stays on the devices until it ends, as on one process. Where devices do not reach each
   other messages go through
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
   The preconditioner stays symmetric, so `KSPCG`, `KSPRRB` and other methods whose residual follows the solution
   reach the same
   tolerance. Methods that take the preconditioner for a linear map (`KSPGMRES`, `KSPBCGS`, ...) leave a larger true
   residual than
   they say in single precision. The automatic choice is single precision for the Galerkin form on a device under
   methods of the
   first kind, else double; a method of the second kind is seen at its first solve, and the factors are made again then.

.seealso: `PCRRB`, `PCRRBGetPrecision()`
@*/
PetscErrorCode PCRRBSetPrecision(PC pc, PCRRBPrecision p)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(p >= PC_RRB_AUTO && p <= PC_RRB_SINGLE, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PC rrb: unknown precision %d", (int)p);
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
   The automatic choice is the device where the matrix has its values there (`MATAIJCUSPARSE`, `MATAIJKOKKOS`), else
   the host:
   nothing is copied. `TESSERA_BACKEND_CUDA` with a matrix or vectors on the host copies them to and fro; a device
   that cannot be
   used is refused at setup.

.seealso: `PCRRB`, `PCRRBGetBackend()`
@*/
PetscErrorCode PCRRBSetBackend(PC pc, TesseraBackend b)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(b >= TESSERA_BACKEND_AUTO && b <= TESSERA_BACKEND_CUDA, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "PC rrb: unknown backend %d", (int)b);
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
-  ny - nodes in y; unknown (i, j) is row i + nx*j. 0, 0 means the `DMDA` of the solver or the matrix, or what the
   couplings tell (default)

   Options Database Key:
.  -pc_rrb_grid <nx,ny> - the sizes

   Level: intermediate

   Note:
   The rows may be distributed in any way; where a process boundary lies inside a grid line the rows are moved at
   setup, and
   vectors in every application.

.seealso: `PCRRB`, `PCRRBGetGrid()`
@*/
PetscErrorCode PCRRBSetGrid(PC pc, PetscInt nx, PetscInt ny)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck((nx > 0 && ny > 0) || (!nx && !ny), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PC rrb: a grid has one node or more in each direction, not %" PetscInt_FMT " x %" PetscInt_FMT, nx, ny);
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
