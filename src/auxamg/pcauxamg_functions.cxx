// Setters and getters of PC auxamg, continued: the variant, steps of the K-cycle, the degree of the smoother,
// coefficients, storage, place, the file of coordinates.
#include "auxamg/pcauxamg.hpp"

/*@
   PCAuxAMGSetVariant - Sets the kind of the auxiliary grids

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  v - `PC_AUXAMG_TREE` (default) or `PC_AUXAMG_AGGREGATION`

   Options Database Key:
.  -pc_auxamg_variant <tree,aggregation> - see above

   Level: intermediate

   Notes:
   The tree takes fewer iterations and less time. `PC_AUXAMG_AGGREGATION` is the method of Wang, Hu, Cohen and Xu
   (2013): cells of one size over the bounding box, the nodes of a cell as an aggregate, piecewise constant
   interpolation, block Gauss-Seidel on the mesh and Gauss-Seidel on the grids by colors, and the K-cycle.
   `PCAuxAMGSetInterpolation()` and `PCAuxAMGSetFilter()` are those of the tree.

.seealso: `PCAUXAMG`, `PCAuxAMGGetVariant()`, `PCAuxAMGSetSmoother()`, `PCAuxAMGSetCycle()`, `PCAuxAMGSetCellSize()`
@*/
PetscErrorCode PCAuxAMGSetVariant(PC pc, PCAuxAMGVariant v)
{
  TesseraSetValue(pc, "PCAuxAMGSetVariant_C", Enum, v);
}

/*@
   PCAuxAMGGetVariant - Gets the kind of the auxiliary grids

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  v - what `PCAuxAMGSetVariant()` set

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetVariant()`
@*/
PetscErrorCode PCAuxAMGGetVariant(PC pc, PCAuxAMGVariant *v)
{
  TesseraGetValue(pc, "PCAuxAMGGetVariant_C", v);
}

/*@
   PCAuxAMGSetCycleInner - Sets the steps of the K-cycle

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  n - steps of flexible conjugate gradients on each coarse grid, 1 to 10 (default 2)

   Options Database Key:
.  -pc_auxamg_cycle_inner <n> - see above

   Level: intermediate

   Note:
   The k-th grid is visited n^k times: beyond 2 in one and 4 in two dimensions the small grids take most of the time.

.seealso: `PCAUXAMG`, `PCAuxAMGGetCycleInner()`, `PCAuxAMGSetCycle()`
@*/
PetscErrorCode PCAuxAMGSetCycleInner(PC pc, PetscInt n)
{
  TesseraSetValue(pc, "PCAuxAMGSetCycleInner_C", Int, n);
}

/*@
   PCAuxAMGGetCycleInner - Gets the steps of the K-cycle

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  n - what `PCAuxAMGSetCycleInner()` set

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetCycleInner()`
@*/
PetscErrorCode PCAuxAMGGetCycleInner(PC pc, PetscInt *n)
{
  TesseraGetValue(pc, "PCAuxAMGGetCycleInner_C", n);
}

/*@
   PCAuxAMGSetSmootherDegree - Sets the degree of the smoother

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  nu - degree of the polynomial, or steps of Jacobi or Gauss-Seidel, before and after the next grid; 0 (default) for
     2, or 3 where a node has several unknowns, 3 (in space 4) where coefficients jump, and in space 3 where the
     largest eigenvalue of D^-1 A is above 2, that of M-matrices, or where convection prevails; 1 step of
     Gauss-Seidel, or 3 where coefficients jump or convection prevails; 100 at most

   Options Database Key:
.  -pc_auxamg_smoother_degree <nu> - see above

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGGetSmootherDegree()`
@*/
PetscErrorCode PCAuxAMGSetSmootherDegree(PC pc, PetscInt nu)
{
  TesseraSetValue(pc, "PCAuxAMGSetSmootherDegree_C", Int, nu);
}

/*@
   PCAuxAMGGetSmootherDegree - Gets the degree of the smoother

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  nu - what `PCAuxAMGSetSmootherDegree()` set

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGSetSmootherDegree()`
@*/
PetscErrorCode PCAuxAMGGetSmootherDegree(PC pc, PetscInt *nu)
{
  TesseraGetValue(pc, "PCAuxAMGGetSmootherDegree_C", nu);
}

/*@
   PCAuxAMGSetFilter - Sets whether the interpolation is smoothed by the matrix

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  f - `PC_AUXAMG_FILTER_OFF`, `PC_AUXAMG_FILTER_ON` or `PC_AUXAMG_FILTER_AUTO` (default)

   Options Database Key:
.  -pc_auxamg_filter <auto,off,on> - see above

   Level: intermediate

   Note:
   Three steps of damped Jacobi on the interpolation within its pattern: fewer iterations where coefficients jump, more
   where they do not. By default it is done where they jump in the plane and nodes have one unknown, and the degree of
   the smoother is 3 then; in space the setup would take too long, and the degree is 4. With several unknowns a node
   stiff bodies have functions of their own instead, and with one inclusions that conduct better than what is around
   them. `PCAuxAMGSetSmootherDegree()` sets the degree itself.

.seealso: `PCAUXAMG`, `PCAuxAMGGetFilter()`
@*/
PetscErrorCode PCAuxAMGSetFilter(PC pc, PCAuxAMGFilter f)
{
  TesseraSetValue(pc, "PCAuxAMGSetFilter_C", Enum, f);
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
  TesseraGetValue(pc, "PCAuxAMGGetFilter_C", f);
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
   Along an axis in which couplings are q times as strong as in another distances count 1/sqrt(q): anisotropy along the
   axes disappears. Ratios below two are left alone.

.seealso: `PCAUXAMG`, `PCAuxAMGGetStretch()`
@*/
PetscErrorCode PCAuxAMGSetStretch(PC pc, PetscBool flag)
{
  TesseraSetValue(pc, "PCAuxAMGSetStretch_C", Bool, flag);
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
  TesseraGetValue(pc, "PCAuxAMGGetStretch_C", flag);
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
  TesseraSetValue(pc, "PCAuxAMGSetCoarseSize_C", Int, n);
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
  TesseraGetValue(pc, "PCAuxAMGGetCoarseSize_C", n);
}

/*@
   PCAuxAMGSetPrecision - Sets the precision of the hierarchy

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  p - `TESSERA_PRECISION_AUTO` (default), `TESSERA_PRECISION_DOUBLE` or `TESSERA_PRECISION_SINGLE`

   Options Database Key:
.  -pc_auxamg_precision <auto,double,single> - see above

   Level: intermediate

   Notes:
   The iteration around it stays in double precision. `KSPCG`, `KSPFCG`, `KSPFGMRES`, `KSPGCR` and their relatives
   reach the accuracy they are asked for with either; methods that take the preconditioner for a linear map
   (`KSPGMRES`, `KSPBCGS`, `KSPPIPECG`, ...) end at a true residual of 1e-7 times the condition number with single
   precision.

   `TESSERA_PRECISION_AUTO` takes single precision for the first kind and double for all others, for `PCApply()` before
   any `KSPSolve()`, with Gauss-Seidel on the host, for small meshes in the plane (`PCAuxAMGSetSingleSize()`), and where
   the matrix is so nearly singular that rounding would make it so, as where a small shift makes a pure Neumann problem
   regular. A method of the second kind that is not given by `-ksp_type` is seen at the first solve, and the hierarchy
   is made a second time then: give `TESSERA_PRECISION_DOUBLE` to save that.

.seealso: `PCAUXAMG`, `PCAuxAMGGetPrecision()`, `PCAuxAMGSetSingleSize()`
@*/
PetscErrorCode PCAuxAMGSetPrecision(PC pc, TesseraPrecision p)
{
  TesseraSetValue(pc, "PCAuxAMGSetPrecision_C", Enum, p);
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
PetscErrorCode PCAuxAMGGetPrecision(PC pc, TesseraPrecision *p)
{
  TesseraGetValue(pc, "PCAuxAMGGetPrecision_C", p);
}

/*@
   PCAuxAMGSetSingleSize - Sets from how many nodes on the hierarchy of a plane mesh may be in single precision

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  n - number of nodes of all processes; default 50000

   Options Database Key:
.  -pc_auxamg_single_size <n> - see above

   Level: advanced

   Note:
   Counts for `TESSERA_PRECISION_AUTO` on a host, in the plane, with one unknown per node. On smaller meshes single
   precision saves little time; in double precision they need no checks of what rounding does to them.

.seealso: `PCAUXAMG`, `PCAuxAMGGetSingleSize()`, `PCAuxAMGSetPrecision()`
@*/
PetscErrorCode PCAuxAMGSetSingleSize(PC pc, PetscInt n)
{
  TesseraSetValue(pc, "PCAuxAMGSetSingleSize_C", Int, n);
}

/*@
   PCAuxAMGGetSingleSize - Gets from how many nodes on the hierarchy of a plane mesh may be in single precision

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  n - what `PCAuxAMGSetSingleSize()` set

   Level: advanced

.seealso: `PCAUXAMG`, `PCAuxAMGSetSingleSize()`
@*/
PetscErrorCode PCAuxAMGGetSingleSize(PC pc, PetscInt *n)
{
  TesseraGetValue(pc, "PCAuxAMGGetSingleSize_C", n);
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
  TesseraSetValue(pc, "PCAuxAMGSetBackend_C", Enum, b);
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
  TesseraGetValue(pc, "PCAuxAMGGetBackend_C", b);
}

/*@C
   PCAuxAMGSetCoordinatesFile - Names a file that has the coordinates of the nodes

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  file - `file.h5:/path` of an HDF5 data set with a row for each node, or a file with a `Vec` in PETSc's binary
   format; empty for none

   Options Database Key:
.  -pc_auxamg_coordinates <file> - see above

   Level: intermediate

   Note:
   The nodes are in the order of the matrix, a node for each of its blocks. A file goes before `PCSetCoordinates()`
   and a `DM`. Without
   any of them points are made from the couplings of the matrix.

.seealso: `PCAUXAMG`, `PCAuxAMGGetCoordinatesFile()`, `PCSetCoordinates()`
@*/
PetscErrorCode PCAuxAMGSetCoordinatesFile(PC pc, const char file[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  if (file) PetscAssertPointer(file, 2);
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
  TesseraGetValue(pc, "PCAuxAMGGetCoordinatesFile_C", file);
}
