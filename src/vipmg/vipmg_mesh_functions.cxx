// What SNES and Tao vipmg are told about meshes.
#include "vipmg/snesvipmg.hpp"

/*@
   SNESVIPMGSetLevelsType - Sets what coarse grids are made from in `SNESVIPMG`

   Logically Collective

   Input Parameters:
+  snes - the solver
-  v - `SNES_VIPMG_LEVELS_BOX`, `SNES_VIPMG_LEVELS_TREE` or `SNES_VIPMG_LEVELS_AUTO` (default)

   Options Database Key:
.  -snes_vipmg_levels_type <auto,box,tree> - the kind

   Level: intermediate

   Note:
   Box levels need a `DMDA` with one unknown per node; those of a tree need coordinates of the nodes.

.seealso: `SNESVIPMG`, `SNESVIPMGGetLevelsType()`
@*/
PetscErrorCode SNESVIPMGSetLevelsType(SNES snes, SNESVIPMGLevelsType v)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(snes, v, 2);
  PetscTryMethod(snes, "SNESVIPMGSetLevelsType_C", (SNES, SNESVIPMGLevelsType), (snes, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGGetLevelsType - Gets what coarse grids are made from in `SNESVIPMG`

   Not Collective

   Input Parameter:
.  snes - the solver

   Output Parameter:
.  v - the value

   Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIPMGSetLevelsType()`
@*/
PetscErrorCode SNESVIPMGGetLevelsType(SNES snes, SNESVIPMGLevelsType *v)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(v, 2);
  PetscUseMethod(snes, "SNESVIPMGGetLevelsType_C", (SNES, SNESVIPMGLevelsType *), (snes, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGSetCoordinatesFile - Sets the file of the nodes' coordinates in `SNESVIPMG`

   Logically Collective

   Input Parameters:
+  snes - the solver
-  v - its name; `NULL` or "": there is none

   Options Database Key:
.  -snes_vipmg_coordinates <file> - the file

   Level: intermediate

   Note:
   The file is a Vec in PETSc's binary format, or a data set of an HDF5 file, `file.h5:/path`: as many numbers for each
   node, in the order of the matrix' rows, as there are dimensions.

.seealso: `SNESVIPMG`, `SNESVIPMGGetCoordinatesFile()`
@*/
PetscErrorCode SNESVIPMGSetCoordinatesFile(SNES snes, const char *v)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  if (v) PetscAssertPointer(v, 2);
  PetscTryMethod(snes, "SNESVIPMGSetCoordinatesFile_C", (SNES, const char *), (snes, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGGetCoordinatesFile - Gets the file of the nodes' coordinates in `SNESVIPMG`

   Not Collective

   Input Parameter:
.  snes - the solver

   Output Parameter:
.  v - the value

   Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIPMGSetCoordinatesFile()`
@*/
PetscErrorCode SNESVIPMGGetCoordinatesFile(SNES snes, const char **v)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(v, 2);
  PetscUseMethod(snes, "SNESVIPMGGetCoordinatesFile_C", (SNES, const char **), (snes, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGSetNormalsFile - Sets the file of the directions along which `SNESVIPMG` bounds the nodes

   Logically Collective

   Input Parameters:
+  snes - the solver
-  v - its name; `NULL` or "": there is none

   Options Database Key:
.  -snes_vipmg_normals <file> - the file

   Level: intermediate

   Note:
   The file is a Vec in PETSc's binary format, or a data set of an HDF5 file, `file.h5:/path`: a vector of any length
   for each node, in the order of the matrix' rows, with as many components as the node has unknowns, 2 or more, and
   zero where there are no bounds. The bounds of a node's first unknown are then those along its vector. It is read at
   the first solve, and again after `SNESReset()`. A `Vec` composed with the solver as "SNESVIPMGNormals" does the same.

.seealso: `SNESVIPMG`, `SNESVIPMGGetNormalsFile()`, `SNESVIPMGSetCoordinatesFile()`
@*/
PetscErrorCode SNESVIPMGSetNormalsFile(SNES snes, const char *v)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  if (v) PetscAssertPointer(v, 2);
  PetscTryMethod(snes, "SNESVIPMGSetNormalsFile_C", (SNES, const char *), (snes, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGGetNormalsFile - Gets the file of the directions along which `SNESVIPMG` bounds the nodes

   Not Collective

   Input Parameter:
.  snes - the solver

   Output Parameter:
.  v - the value

   Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIPMGSetNormalsFile()`
@*/
PetscErrorCode SNESVIPMGGetNormalsFile(SNES snes, const char **v)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  PetscAssertPointer(v, 2);
  PetscUseMethod(snes, "SNESVIPMGGetNormalsFile_C", (SNES, const char **), (snes, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPMGSetLevelsType - Sets what coarse grids are made from in `TAOVIPMG`

   Logically Collective

   Input Parameters:
+  tao - the solver
-  v - `SNES_VIPMG_LEVELS_BOX`, `SNES_VIPMG_LEVELS_TREE` or `SNES_VIPMG_LEVELS_AUTO` (default)

   Options Database Key:
.  -tao_vipmg_levels_type <auto,box,tree> - the kind

   Level: intermediate

   Note:
   Box levels need a `DMDA` with one unknown per node; those of a tree need coordinates of the nodes.

.seealso: `TAOVIPMG`, `TaoVIPMGGetLevelsType()`
@*/
PetscErrorCode TaoVIPMGSetLevelsType(Tao tao, SNESVIPMGLevelsType v)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(tao, v, 2);
  PetscTryMethod(tao, "TaoVIPMGSetLevelsType_C", (Tao, SNESVIPMGLevelsType), (tao, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPMGGetLevelsType - Gets what coarse grids are made from in `TAOVIPMG`

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  v - the value

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGSetLevelsType()`
@*/
PetscErrorCode TaoVIPMGGetLevelsType(Tao tao, SNESVIPMGLevelsType *v)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(v, 2);
  PetscUseMethod(tao, "TaoVIPMGGetLevelsType_C", (Tao, SNESVIPMGLevelsType *), (tao, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPMGSetCoordinatesFile - Sets the file of the nodes' coordinates in `TAOVIPMG`

   Logically Collective

   Input Parameters:
+  tao - the solver
-  v - its name; `NULL` or "": there is none

   Options Database Key:
.  -tao_vipmg_coordinates <file> - the file

   Level: intermediate

   Note:
   The file is a Vec in PETSc's binary format, or a data set of an HDF5 file, `file.h5:/path`: as many numbers for each
   node, in the order of the matrix' rows, as there are dimensions.

.seealso: `TAOVIPMG`, `TaoVIPMGGetCoordinatesFile()`
@*/
PetscErrorCode TaoVIPMGSetCoordinatesFile(Tao tao, const char *v)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  if (v) PetscAssertPointer(v, 2);
  PetscTryMethod(tao, "TaoVIPMGSetCoordinatesFile_C", (Tao, const char *), (tao, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   TaoVIPMGGetCoordinatesFile - Gets the file of the nodes' coordinates in `TAOVIPMG`

   Not Collective

   Input Parameter:
.  tao - the solver

   Output Parameter:
.  v - the value

   Level: intermediate

.seealso: `TAOVIPMG`, `TaoVIPMGSetCoordinatesFile()`
@*/
PetscErrorCode TaoVIPMGGetCoordinatesFile(Tao tao, const char **v)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(tao, TAO_CLASSID, 1);
  PetscAssertPointer(v, 2);
  PetscUseMethod(tao, "TaoVIPMGGetCoordinatesFile_C", (Tao, const char **), (tao, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}
