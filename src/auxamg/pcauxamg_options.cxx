// Setters and getters of PC auxamg. Each is a composed function, so that calling it on another type does nothing; a change takes
// effect at the next setup.
#include "auxamg/pcauxamg.hpp"

using tessera::PC_AuxAMG;

template <class T, T PC_AuxAMG::*field> static PetscErrorCode SetField(PC pc, T value)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;

  PetscFunctionBegin;
  if (a->*field != value) {
    a->*field       = value;
    a->current      = PETSC_FALSE;
    pc->setupcalled = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <class T, T PC_AuxAMG::*field> static PetscErrorCode GetField(PC pc, T *value)
{
  PetscFunctionBegin;
  *value = ((PC_AuxAMG *)pc->data)->*field;
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGSetLevels_C", (compose ? &SetField<PetscInt, &PC_AuxAMG::levels> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetLevels_C", (compose ? &GetField<PetscInt, &PC_AuxAMG::levels> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGSetCellSize_C", (compose ? &SetField<PetscInt, &PC_AuxAMG::cell_size> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetCellSize_C", (compose ? &GetField<PetscInt, &PC_AuxAMG::cell_size> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGSetInterpolation_C", (compose ? &SetField<PCAuxAMGInterpolation, &PC_AuxAMG::interpolation> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetInterpolation_C", (compose ? &GetField<PCAuxAMGInterpolation, &PC_AuxAMG::interpolation> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGSetCycle_C", (compose ? &SetField<PCAuxAMGCycle, &PC_AuxAMG::cycle> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetCycle_C", (compose ? &GetField<PCAuxAMGCycle, &PC_AuxAMG::cycle> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGSetSmoother_C", (compose ? &SetField<PCAuxAMGSmoother, &PC_AuxAMG::smoother> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetSmoother_C", (compose ? &GetField<PCAuxAMGSmoother, &PC_AuxAMG::smoother> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGSetSmooth_C", (compose ? &SetField<PetscInt, &PC_AuxAMG::smooth> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetSmooth_C", (compose ? &GetField<PetscInt, &PC_AuxAMG::smooth> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGSetFilter_C", (compose ? &SetField<PCAuxAMGFilter, &PC_AuxAMG::filter> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetFilter_C", (compose ? &GetField<PCAuxAMGFilter, &PC_AuxAMG::filter> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGSetStretch_C", (compose ? &SetField<PetscBool, &PC_AuxAMG::stretch> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetStretch_C", (compose ? &GetField<PetscBool, &PC_AuxAMG::stretch> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGSetCoarseSize_C", (compose ? &SetField<PetscInt, &PC_AuxAMG::coarse_size> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetCoarseSize_C", (compose ? &GetField<PetscInt, &PC_AuxAMG::coarse_size> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGSetPrecision_C", (compose ? &SetField<PCAuxAMGPrecision, &PC_AuxAMG::precision> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetPrecision_C", (compose ? &GetField<PCAuxAMGPrecision, &PC_AuxAMG::precision> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGSetBackend_C", (compose ? &SetField<TesseraBackend, &PC_AuxAMG::backend> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetBackend_C", (compose ? &GetField<TesseraBackend, &PC_AuxAMG::backend> : nullptr)));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGSetCoordinatesFile_C", compose ? &SetFile : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetCoordinatesFile_C", compose ? &GetFile : nullptr));
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
  PetscCheck(l >= 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC auxamg: grids (-pc_auxamg_levels) must be 0 (automatic) or more, it is %" PetscInt_FMT, l);
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
-  m - most nodes in a cell; 0 (default) for 3, 12, 24 in one, two, three dimensions

   Options Database Key:
.  -pc_auxamg_cell_size <m> - see above

   Level: intermediate

   Note:
   A cell with more nodes is split; that of the k-th grid with more than m 2^(kd), so every grid has about 2^d times fewer nodes than the one before.

.seealso: `PCAUXAMG`, `PCAuxAMGGetCellSize()`
@*/
PetscErrorCode PCAuxAMGSetCellSize(PC pc, PetscInt m)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(m >= 0 && m <= 1000, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC auxamg: nodes in a cell (-pc_auxamg_cell_size) must be 0 (automatic) to 1000, it is %" PetscInt_FMT, m);
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
   Kuhn's simplices take half as many weights in 3D, and fewer nonzeros in the coarse operators, for a few more iterations.

.seealso: `PCAUXAMG`, `PCAuxAMGGetInterpolation()`
@*/
PetscErrorCode PCAuxAMGSetInterpolation(PC pc, PCAuxAMGInterpolation i)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(i >= (PCAuxAMGInterpolation)0 && i <= (PCAuxAMGInterpolation)2, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC auxamg: unknown choice %d of interpolation", (int)i);
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
-  c - `PC_AUXAMG_CYCLE_AUTO` (default), `PC_AUXAMG_CYCLE_V` or `PC_AUXAMG_CYCLE_W`

   Options Database Key:
.  -pc_auxamg_cycle <auto,v,w> - see above

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGGetCycle()`
@*/
PetscErrorCode PCAuxAMGSetCycle(PC pc, PCAuxAMGCycle c)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(c >= (PCAuxAMGCycle)0 && c <= (PCAuxAMGCycle)2, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC auxamg: unknown choice %d of cycle", (int)c);
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
-  s - `PC_AUXAMG_CHEBYSHEV` (default) or `PC_AUXAMG_JACOBI`

   Options Database Key:
.  -pc_auxamg_smoother <chebyshev,jacobi> - see above

   Level: intermediate

   Note:
   Chebyshev polynomials of the fourth kind in D^-1 A with optimal weights; or Jacobi's method damped by 1.5 over the largest eigenvalue.

.seealso: `PCAUXAMG`, `PCAuxAMGGetSmoother()`
@*/
PetscErrorCode PCAuxAMGSetSmoother(PC pc, PCAuxAMGSmoother s)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(s >= (PCAuxAMGSmoother)0 && s <= (PCAuxAMGSmoother)1, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC auxamg: unknown choice %d of smoother", (int)s);
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

/*@
   PCAuxAMGSetSmooth - Sets the degree of the smoother

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  nu - degree of the polynomial, or Jacobi steps, before and after the next grid; 0 (default) for 2, or 3 where a node has several unknowns

   Options Database Key:
.  -pc_auxamg_smooth <nu> - see above

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGGetSmooth()`
@*/
PetscErrorCode PCAuxAMGSetSmooth(PC pc, PetscInt nu)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(nu >= 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC auxamg: the degree of the smoother (-pc_auxamg_smooth) must be 0 (automatic) or more, it is %" PetscInt_FMT, nu);
  PetscTryMethod(pc, "PCAuxAMGSetSmooth_C", (PC, PetscInt), (pc, nu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGGetSmooth - Gets the degree of the smoother

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  nu - what `PCAuxAMGSetSmooth()` set

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetSmooth()`
@*/
PetscErrorCode PCAuxAMGGetSmooth(PC pc, PetscInt *nu)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCAuxAMGGetSmooth_C", (PC, PetscInt *), (pc, nu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGSetFilter - Sets whether the interpolation is smoothed by the matrix

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  f - `PC_AUXAMG_FILTER_OFF`, `PC_AUXAMG_FILTER_ON` or `PC_AUXAMG_FILTER_AUTO` (default)

   Options Database Key:
.  -pc_auxamg_filter <off,on,auto> - see above

   Level: intermediate

   Note:
   Three steps of damped Jacobi on the interpolation within its pattern: fewer iterations where coefficients jump, more where they do not. The degree of the smoother is 3 then, unless `PCAuxAMGSetSmooth()` says otherwise.

.seealso: `PCAUXAMG`, `PCAuxAMGGetFilter()`
@*/
PetscErrorCode PCAuxAMGSetFilter(PC pc, PCAuxAMGFilter f)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(f >= (PCAuxAMGFilter)0 && f <= (PCAuxAMGFilter)2, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC auxamg: unknown choice %d of filter", (int)f);
  PetscTryMethod(pc, "PCAuxAMGSetFilter_C", (PC, PCAuxAMGFilter), (pc, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGGetFilter - Gets whether the interpolation is smoothed by the matrix

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  f - what `PCAuxAMGSetFilter()` set

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetFilter()`
@*/
PetscErrorCode PCAuxAMGGetFilter(PC pc, PCAuxAMGFilter *f)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCAuxAMGGetFilter_C", (PC, PCAuxAMGFilter *), (pc, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGSetStretch - Sets whether coordinates are stretched by the strength of the couplings

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  flag - `PETSC_TRUE` (default) or `PETSC_FALSE`

   Options Database Key:
.  -pc_auxamg_stretch <bool> - see above

   Level: intermediate

   Note:
   Along an axis in which couplings are q times as strong as in another distances count 1/sqrt(q): anisotropy along the axes disappears. Ratios below two are left alone.

.seealso: `PCAUXAMG`, `PCAuxAMGGetStretch()`
@*/
PetscErrorCode PCAuxAMGSetStretch(PC pc, PetscBool flag)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscTryMethod(pc, "PCAuxAMGSetStretch_C", (PC, PetscBool), (pc, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGGetStretch - Gets whether coordinates are stretched by the strength of the couplings

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  flag - what `PCAuxAMGSetStretch()` set

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetStretch()`
@*/
PetscErrorCode PCAuxAMGGetStretch(PC pc, PetscBool *flag)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCAuxAMGGetStretch_C", (PC, PetscBool *), (pc, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGSetCoarseSize - Sets the number of unknowns that are solved exactly

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  n - a grid of at most so many unknowns is the last; default 128

   Options Database Key:
.  -pc_auxamg_coarse_size <n> - see above

   Level: intermediate

   Note:
   By the pseudo-inverse, a full matrix: pure Neumann problems are solved, too.

.seealso: `PCAUXAMG`, `PCAuxAMGGetCoarseSize()`
@*/
PetscErrorCode PCAuxAMGSetCoarseSize(PC pc, PetscInt n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(n >= 1 && n <= 2000, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC auxamg: unknowns of the last grid (-pc_auxamg_coarse_size) must be 1 to 2000, it is %" PetscInt_FMT, n);
  PetscTryMethod(pc, "PCAuxAMGSetCoarseSize_C", (PC, PetscInt), (pc, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGGetCoarseSize - Gets the number of unknowns that are solved exactly

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  n - what `PCAuxAMGSetCoarseSize()` set

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetCoarseSize()`
@*/
PetscErrorCode PCAuxAMGGetCoarseSize(PC pc, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCAuxAMGGetCoarseSize_C", (PC, PetscInt *), (pc, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGSetPrecision - Sets the precision of the hierarchy

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  p - `PC_AUXAMG_PRECISION_AUTO` (default), `PC_AUXAMG_DOUBLE` or `PC_AUXAMG_SINGLE`

   Options Database Key:
.  -pc_auxamg_precision <auto,double,single> - see above

   Level: intermediate

   Note:
   The iteration around it stays in double precision, and so does the accuracy of answers.

.seealso: `PCAUXAMG`, `PCAuxAMGGetPrecision()`
@*/
PetscErrorCode PCAuxAMGSetPrecision(PC pc, PCAuxAMGPrecision p)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(p >= (PCAuxAMGPrecision)0 && p <= (PCAuxAMGPrecision)2, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC auxamg: unknown choice %d of precision", (int)p);
  PetscTryMethod(pc, "PCAuxAMGSetPrecision_C", (PC, PCAuxAMGPrecision), (pc, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGGetPrecision - Gets the precision of the hierarchy

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  p - what `PCAuxAMGSetPrecision()` set

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetPrecision()`
@*/
PetscErrorCode PCAuxAMGGetPrecision(PC pc, PCAuxAMGPrecision *p)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCAuxAMGGetPrecision_C", (PC, PCAuxAMGPrecision *), (pc, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGSetBackend - Sets where the preconditioner runs

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  b - `TESSERA_BACKEND_AUTO` (default), `TESSERA_BACKEND_HOST` or `TESSERA_BACKEND_CUDA`

   Options Database Key:
.  -pc_auxamg_backend <auto,host,cuda> - see above

   Level: intermediate

   Note:
   Automatic: where the matrix has its values.

.seealso: `PCAUXAMG`, `PCAuxAMGGetBackend()`
@*/
PetscErrorCode PCAuxAMGSetBackend(PC pc, TesseraBackend b)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscCheck(b >= (TesseraBackend)0 && b <= (TesseraBackend)2, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "PC auxamg: unknown choice %d of backend", (int)b);
  PetscTryMethod(pc, "PCAuxAMGSetBackend_C", (PC, TesseraBackend), (pc, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGGetBackend - Gets where the preconditioner runs

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  b - what `PCAuxAMGSetBackend()` set

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetBackend()`
@*/
PetscErrorCode PCAuxAMGGetBackend(PC pc, TesseraBackend *b)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCAuxAMGGetBackend_C", (PC, TesseraBackend *), (pc, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   PCAuxAMGSetCoordinatesFile - Names a file that has the coordinates of the nodes

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  file - `file.h5:/path` of an HDF5 data set with a row for each node, or a file with a `Vec` in PETSc's binary format; empty for none

   Options Database Key:
.  -pc_auxamg_coordinates <file> - see above

   Level: intermediate

   Note:
   The nodes are in the order of the matrix, a node for each of its blocks. A file goes before `PCSetCoordinates()` and a `DM`.

.seealso: `PCAUXAMG`, `PCAuxAMGGetCoordinatesFile()`, `PCSetCoordinates()`
@*/
PetscErrorCode PCAuxAMGSetCoordinatesFile(PC pc, const char file[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscTryMethod(pc, "PCAuxAMGSetCoordinatesFile_C", (PC, const char *), (pc, file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   PCAuxAMGGetCoordinatesFile - Gets the name of the file that has the coordinates of the nodes

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  file - what `PCAuxAMGSetCoordinatesFile()` set, empty for none

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetCoordinatesFile()`
@*/
PetscErrorCode PCAuxAMGGetCoordinatesFile(PC pc, const char *file[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscUseMethod(pc, "PCAuxAMGGetCoordinatesFile_C", (PC, const char **), (pc, file));
  PetscFunctionReturn(PETSC_SUCCESS);
}
