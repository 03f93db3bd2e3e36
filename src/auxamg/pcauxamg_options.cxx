// Setters and getters of PC auxamg. Each is a composed function, so that calling it on another type does nothing; a
// change takes effect at the next setup. Here: how they are composed, and the grids; the smoother, storage and place
// are in pcauxamg_options_more.cxx.
#include "auxamg/pcauxamg.hpp"
#include "auxamg/pcauxamg_levels.hpp"
#include "petsc/field.hpp"

using tessera::PC_AuxAMG, tessera::SetField, tessera::GetField;

static PetscErrorCode SetFile(PC pc, const char *file)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;

  PetscFunctionBegin;
  TesseraCallCXX(a->file = file ? file : "");
  a->current      = PETSC_FALSE;
  pc->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetFile(PC pc, const char **file)
{
  PetscFunctionBegin;
  *file = ((PC_AuxAMG *)pc->data)->file.c_str();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::ComposeAuxAMG(PC pc, PetscBool compose)
{
  PetscObject o = (PetscObject)pc;

  PetscFunctionBegin;
  PetscCall(ComposeAuxAMGInfo(pc, compose));
  PetscCall(
    PetscObjectComposeFunction(o, "PCAuxAMGSetVariant_C", (compose ? &SetField<&PC_AuxAMG::variant> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCAuxAMGGetVariant_C", (compose ? &GetField<&PC_AuxAMG::variant> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCAuxAMGSetCycleInner_C", (compose ? &SetField<&PC_AuxAMG::cycle_inner> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCAuxAMGGetCycleInner_C", (compose ? &GetField<&PC_AuxAMG::cycle_inner> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGSetLevels_C", (compose ? &SetField<&PC_AuxAMG::levels> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetLevels_C", (compose ? &GetField<&PC_AuxAMG::levels> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCAuxAMGSetCellSize_C", (compose ? &SetField<&PC_AuxAMG::cell_size> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCAuxAMGGetCellSize_C", (compose ? &GetField<&PC_AuxAMG::cell_size> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGSetInterpolation_C",
                                       (compose ? &SetField<&PC_AuxAMG::interpolation> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetInterpolation_C",
                                       (compose ? &GetField<&PC_AuxAMG::interpolation> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGSetCycle_C", (compose ? &SetField<&PC_AuxAMG::cycle> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetCycle_C", (compose ? &GetField<&PC_AuxAMG::cycle> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCAuxAMGSetSmoother_C", (compose ? &SetField<&PC_AuxAMG::smoother> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCAuxAMGGetSmoother_C", (compose ? &GetField<&PC_AuxAMG::smoother> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGSetSmooth_C", (compose ? &SetField<&PC_AuxAMG::smooth> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetSmooth_C", (compose ? &GetField<&PC_AuxAMG::smooth> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGSetFilter_C", (compose ? &SetField<&PC_AuxAMG::filter> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetFilter_C", (compose ? &GetField<&PC_AuxAMG::filter> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCAuxAMGSetStretch_C", (compose ? &SetField<&PC_AuxAMG::stretch> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCAuxAMGGetStretch_C", (compose ? &GetField<&PC_AuxAMG::stretch> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCAuxAMGSetCoarseSize_C", (compose ? &SetField<&PC_AuxAMG::coarse_size> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCAuxAMGGetCoarseSize_C", (compose ? &GetField<&PC_AuxAMG::coarse_size> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCAuxAMGSetPrecision_C", (compose ? &SetField<&PC_AuxAMG::precision> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCAuxAMGGetPrecision_C", (compose ? &GetField<&PC_AuxAMG::precision> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCAuxAMGSetBackend_C", (compose ? &SetField<&PC_AuxAMG::backend> : nullptr)));
  PetscCall(
    PetscObjectComposeFunction(o, "PCAuxAMGGetBackend_C", (compose ? &GetField<&PC_AuxAMG::backend> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGSetCoordinatesFile_C", compose ? &SetFile : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetCoordinatesFile_C", compose ? &GetFile : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCGetInterpolations_C", compose ? &GetInterpolationsAuxAMG : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCGetCoarseOperators_C", compose ? &GetCoarseOperatorsAuxAMG : nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGSetLevels - Sets the number of grids

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  l - most grids, the mesh among them; 0 (default) for as many as it takes

   Options Database Key:
.  -pc_auxamg_levels <l> - see above

   Level: intermediate

   Note:
   The last grid is solved exactly: with few grids it is large.

.seealso: `PCAUXAMG`, `PCAuxAMGGetLevels()`
@*/
PetscErrorCode PCAuxAMGSetLevels(PC pc, PetscInt l)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(l >= 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PC auxamg: grids (-pc_auxamg_levels) must be 0 (automatic) or more, it is %" PetscInt_FMT, l);
  PetscTryMethod(pc, "PCAuxAMGSetLevels_C", (PC, PetscInt), (pc, l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGGetLevels - Gets the number of grids

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  l - what `PCAuxAMGSetLevels()` set

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetLevels()`
@*/
PetscErrorCode PCAuxAMGGetLevels(PC pc, PetscInt *l)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCAuxAMGGetLevels_C", (PC, PetscInt *), (pc, l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGSetCellSize - Sets the number of nodes in a cell of the first grid

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  m - most nodes in a cell; 0 (default) for 3, 12, 24 in one, two, three dimensions. With `PC_AUXAMG_PAPER` the least
   number of nodes,
       in the mean over the cells of the bounding box; 0 for 1

   Options Database Key:
.  -pc_auxamg_cell_size <m> - see above

   Level: intermediate

   Note:
   A cell with more nodes is split; that of the k-th grid with more than m 2^(kd), so every grid has about 2^d times
   fewer nodes than the one before.

.seealso: `PCAUXAMG`, `PCAuxAMGGetCellSize()`
@*/
PetscErrorCode PCAuxAMGSetCellSize(PC pc, PetscInt m)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(m >= 0 && m <= 1000, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PC auxamg: nodes in a cell (-pc_auxamg_cell_size) must be 0 (automatic) to 1000, it is %" PetscInt_FMT,
             m);
  PetscTryMethod(pc, "PCAuxAMGSetCellSize_C", (PC, PetscInt), (pc, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGGetCellSize - Gets the number of nodes in a cell of the first grid

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  m - what `PCAuxAMGSetCellSize()` set

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetCellSize()`
@*/
PetscErrorCode PCAuxAMGGetCellSize(PC pc, PetscInt *m)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCAuxAMGGetCellSize_C", (PC, PetscInt *), (pc, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGSetInterpolation - Sets the functions on the cells

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  i - `PC_AUXAMG_AUTO` (default), `PC_AUXAMG_LINEAR` or `PC_AUXAMG_KUHN`

   Options Database Key:
.  -pc_auxamg_interpolation <auto,linear,kuhn> - see above

   Level: intermediate

   Note:
   Kuhn's simplices take half as many weights in 3D, and fewer nonzeros in the coarse operators, for a few more
   iterations.

.seealso: `PCAUXAMG`, `PCAuxAMGGetInterpolation()`
@*/
PetscErrorCode PCAuxAMGSetInterpolation(PC pc, PCAuxAMGInterpolation i)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(i >= (PCAuxAMGInterpolation)0 && i <= (PCAuxAMGInterpolation)2, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "PC auxamg: unknown choice %d of interpolation", (int)i);
  PetscTryMethod(pc, "PCAuxAMGSetInterpolation_C", (PC, PCAuxAMGInterpolation), (pc, i));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGGetInterpolation - Gets the functions on the cells

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  i - what `PCAuxAMGSetInterpolation()` set

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetInterpolation()`
@*/
PetscErrorCode PCAuxAMGGetInterpolation(PC pc, PCAuxAMGInterpolation *i)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCAuxAMGGetInterpolation_C", (PC, PCAuxAMGInterpolation *), (pc, i));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGSetCycle - Sets how the coarse grids are visited

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  c - `PC_AUXAMG_CYCLE_AUTO` (default), `PC_AUXAMG_CYCLE_V`, `PC_AUXAMG_CYCLE_W` or `PC_AUXAMG_CYCLE_K`

   Options Database Key:
.  -pc_auxamg_cycle <auto,v,w,k> - see above

   Level: intermediate

   Note:
   The K-cycle is no linear operator: other Krylov methods than `KSPCG` and `KSPFCG` must be flexible (`KSPFGMRES`).

.seealso: `PCAUXAMG`, `PCAuxAMGGetCycle()`, `PCAuxAMGSetCycleInner()`
@*/
PetscErrorCode PCAuxAMGSetCycle(PC pc, PCAuxAMGCycle c)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(c >= (PCAuxAMGCycle)0 && c <= (PCAuxAMGCycle)3, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PC auxamg: unknown choice %d of cycle", (int)c);
  PetscTryMethod(pc, "PCAuxAMGSetCycle_C", (PC, PCAuxAMGCycle), (pc, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGGetCycle - Gets how the coarse grids are visited

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  c - what `PCAuxAMGSetCycle()` set

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetCycle()`
@*/
PetscErrorCode PCAuxAMGGetCycle(PC pc, PCAuxAMGCycle *c)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCAuxAMGGetCycle_C", (PC, PCAuxAMGCycle *), (pc, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGSetSmoother - Sets the smoother

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  s - `PC_AUXAMG_SMOOTHER_AUTO` (default), `PC_AUXAMG_CHEBYSHEV`, `PC_AUXAMG_JACOBI`, `PC_AUXAMG_GS` or
   `PC_AUXAMG_BLOCK_GS`

   Options Database Key:
.  -pc_auxamg_smoother <auto,chebyshev,jacobi,gs,block_gs> - see above

   Level: intermediate

   Note:
   Chebyshev polynomials of the fourth kind in D^-1 A with optimal weights; Jacobi's method damped by 1.5 over the
   largest eigenvalue; or
   Gauss-Seidel, by the colours of nodes that are not coupled with each other. `PC_AUXAMG_BLOCK_GS` needs
   `PC_AUXAMG_PAPER`, whose
   aggregates are its blocks on the mesh; those of more than 64 unknowns are cut.

.seealso: `PCAUXAMG`, `PCAuxAMGGetSmoother()`
@*/
PetscErrorCode PCAuxAMGSetSmoother(PC pc, PCAuxAMGSmoother s)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(s >= (PCAuxAMGSmoother)0 && s <= (PCAuxAMGSmoother)4, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "PC auxamg: unknown choice %d of smoother", (int)s);
  PetscTryMethod(pc, "PCAuxAMGSetSmoother_C", (PC, PCAuxAMGSmoother), (pc, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGGetSmoother - Gets the smoother

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  s - what `PCAuxAMGSetSmoother()` set

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetSmoother()`
@*/
PetscErrorCode PCAuxAMGGetSmoother(PC pc, PCAuxAMGSmoother *s)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCAuxAMGGetSmoother_C", (PC, PCAuxAMGSmoother *), (pc, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}
