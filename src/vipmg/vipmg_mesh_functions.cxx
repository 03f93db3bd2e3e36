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
   Box levels need a `DMDA` with one unknown per node; those of a tree need coordinates of the nodes. By itself the
   solver takes box levels where they are possible, unless a file of coordinates has been named.

.seealso: `SNESVIPMG`, `SNESVIPMGGetLevelsType()`
@*/
PetscErrorCode SNESVIPMGSetLevelsType(SNES snes, SNESVIPMGLevelsType v)
{
  TesseraSetValue(snes, "SNESVIPMGSetLevelsType_C", Enum, v);
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
  TesseraGetValue(snes, "SNESVIPMGGetLevelsType_C", v);
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
  TesseraGetValue(snes, "SNESVIPMGGetCoordinatesFile_C", v);
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
  TesseraGetValue(snes, "SNESVIPMGGetNormalsFile_C", v);
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
   Box levels need a `DMDA` with one unknown per node; those of a tree need coordinates of the nodes. By itself the
   solver takes box levels where they are possible, unless a file of coordinates has been named.

.seealso: `TAOVIPMG`, `TaoVIPMGGetLevelsType()`
@*/
PetscErrorCode TaoVIPMGSetLevelsType(Tao tao, SNESVIPMGLevelsType v)
{
  TesseraSetValue(tao, "TaoVIPMGSetLevelsType_C", Enum, v);
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
  TesseraGetValue(tao, "TaoVIPMGGetLevelsType_C", v);
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
  TesseraGetValue(tao, "TaoVIPMGGetCoordinatesFile_C", v);
}
