/* Fields in HDF5 with an XDMF description, or in PETSc's binary format */
#include "harbour.h"

/* One where waves can be, zero on land */
static PetscErrorCode WaterMask(Harbour *sea, Vec water)
{
  PetscScalar **h, **w;
  PetscInt      xs, ys, xm, ym;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(sea->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArrayRead(sea->da, sea->depth, &h));
  PetscCall(DMDAVecGetArray(sea->da, water, &w));
  for (PetscInt j = ys; j < ys + ym; j++)
    for (PetscInt i = xs; i < xs + xm; i++) w[j][i] = h[j][i] > 0;
  PetscCall(DMDAVecRestoreArray(sea->da, water, &w));
  PetscCall(DMDAVecRestoreArrayRead(sea->da, sea->depth, &h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OutputOpen(Harbour *sea, PetscInt steps, Vec depth, Output *out)
{
  const Map *map = &sea->map;
  char       path[PETSC_MAX_PATH_LEN];
  Vec        water;

  PetscFunctionBeginUser;
  if (!out->on) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(PETSC_HAVE_HDF5)
  out->hdf5 = PETSC_TRUE;
#endif
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-output_hdf5", &out->hdf5, NULL));
  PetscCall(PetscMalloc1(steps / out->every + 1, &out->time));
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s.%s", out->prefix, out->hdf5 ? "h5" : "bin"));
  PetscCall(PetscObjectSetName((PetscObject)depth, "depth"));
  if (out->hdf5) {
#if defined(PETSC_HAVE_HDF5)
    double value[4] = {map->dx, map->dy, map->x0, map->y0};
    PetscCall(PetscViewerHDF5Open(PETSC_COMM_WORLD, path, FILE_MODE_WRITE, &out->viewer));
    PetscCall(VecView(depth, out->viewer));
    PetscCall(PetscViewerHDF5WriteAttribute(out->viewer, "depth", "nx", PETSC_INT, &map->nx));
    PetscCall(PetscViewerHDF5WriteAttribute(out->viewer, "depth", "ny", PETSC_INT, &map->ny));
    PetscCall(PetscViewerHDF5WriteAttribute(out->viewer, "depth", "dx", PETSC_DOUBLE, &value[0]));
    PetscCall(PetscViewerHDF5WriteAttribute(out->viewer, "depth", "dy", PETSC_DOUBLE, &value[1]));
    PetscCall(PetscViewerHDF5WriteAttribute(out->viewer, "depth", "x0", PETSC_DOUBLE, &value[2]));
    PetscCall(PetscViewerHDF5WriteAttribute(out->viewer, "depth", "y0", PETSC_DOUBLE, &value[3]));
#else
    SETERRQ(PETSC_COMM_WORLD, PETSC_ERR_SUP, "This PETSc has no HDF5");
#endif
  } else { /* as the map's binary twin, and the water mask; each frame adds (time, ship's x, y) and zeta */
    const PetscInt  head[2]  = {VEC_FILE_CLASSID, 6};
    const PetscReal value[6] = {map->nx, map->ny, map->dx, map->dy, map->x0, map->y0};
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_WRITE, &out->viewer));
    PetscCall(PetscViewerBinarySetSkipInfo(out->viewer, PETSC_TRUE));
    PetscCall(PetscViewerBinaryWrite(out->viewer, head, 2, PETSC_INT));
    PetscCall(PetscViewerBinaryWrite(out->viewer, value, 6, PETSC_REAL));
    PetscCall(VecView(depth, out->viewer));
  }
  PetscCall(VecDuplicate(depth, &water));
  PetscCall(PetscObjectSetName((PetscObject)water, "water"));
  PetscCall(WaterMask(sea, water));
  PetscCall(VecView(water, out->viewer));
  PetscCall(VecDestroy(&water));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OutputFrame(Harbour *sea, PetscReal t, Output *out)
{
  char      name[32];
  PetscReal frame[3] = {t, 0, 0};

  PetscFunctionBeginUser;
  ShipAt(sea, t, &frame[1], &frame[2]);
  PetscCall(PetscSNPrintf(name, sizeof(name), "zeta_%04" PetscInt_FMT, out->frames));
  PetscCall(PetscObjectSetName((PetscObject)sea->zeta, name));
  if (out->hdf5) {
    PetscCall(VecView(sea->zeta, out->viewer));
#if defined(PETSC_HAVE_HDF5)
    double value[3] = {frame[0], frame[1], frame[2]};
    PetscCall(PetscViewerHDF5WriteAttribute(out->viewer, name, "time", PETSC_DOUBLE, &value[0]));
    PetscCall(PetscViewerHDF5WriteAttribute(out->viewer, name, "ship_x", PETSC_DOUBLE, &value[1]));
    PetscCall(PetscViewerHDF5WriteAttribute(out->viewer, name, "ship_y", PETSC_DOUBLE, &value[2]));
#endif
  } else {
    const PetscInt head[2] = {VEC_FILE_CLASSID, 3};
    PetscCall(PetscViewerBinaryWrite(out->viewer, head, 2, PETSC_INT));
    PetscCall(PetscViewerBinaryWrite(out->viewer, frame, 3, PETSC_REAL));
    PetscCall(VecView(sea->zeta, out->viewer));
  }
  out->time[out->frames++] = t;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Closes the file, and describes it in XDMF so that ParaView shows the time series */
PetscErrorCode OutputClose(Harbour *sea, Output *out)
{
  const Map *map = &sea->map;
  char       path[PETSC_MAX_PATH_LEN], *base;
  FILE      *file;

  PetscFunctionBeginUser;
  if (!out->on) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerDestroy(&out->viewer));
  if (out->hdf5) {
    PetscCall(PetscStrrchr(out->prefix, '/', &base)); /* the two files lie side by side */
    PetscCall(PetscSNPrintf(path, sizeof(path), "%s.xmf", out->prefix));
    PetscCall(PetscFOpen(PETSC_COMM_WORLD, path, "w", &file));
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, file, "<?xml version=\"1.0\"?>\n<Xdmf Version=\"2.0\">\n <Domain>\n  <Grid Name=\"harbour\" GridType=\"Collection\" CollectionType=\"Temporal\">\n"));
    for (PetscInt f = 0; f < out->frames; f++) {
      PetscCall(PetscFPrintf(PETSC_COMM_WORLD, file, "   <Grid Name=\"%" PetscInt_FMT "\">\n    <Time Value=\"%g\"/>\n", f, (double)out->time[f]));
      PetscCall(PetscFPrintf(PETSC_COMM_WORLD, file, "    <Topology TopologyType=\"2DCoRectMesh\" Dimensions=\"%" PetscInt_FMT " %" PetscInt_FMT "\"/>\n", map->ny + 1, map->nx + 1));
      PetscCall(PetscFPrintf(PETSC_COMM_WORLD, file, "    <Geometry GeometryType=\"ORIGIN_DXDY\">\n     <DataItem Dimensions=\"2\">%.10g %.10g</DataItem>\n     <DataItem Dimensions=\"2\">%.10g %.10g</DataItem>\n    </Geometry>\n", (double)map->y0, (double)map->x0, (double)map->dy, (double)map->dx));
      for (PetscInt a = 0; a < 3; a++) {
        const char *label[] = {"depth", "water", "zeta"};
        char        name[32];
        PetscCall(a < 2 ? PetscStrncpy(name, label[a], sizeof(name)) : PetscSNPrintf(name, sizeof(name), "zeta_%04" PetscInt_FMT, f));
        PetscCall(PetscFPrintf(PETSC_COMM_WORLD, file, "    <Attribute Name=\"%s\" Center=\"Cell\">\n     <DataItem Format=\"HDF\" Precision=\"%d\" Dimensions=\"%" PetscInt_FMT " %" PetscInt_FMT "\">%s.h5:/%s</DataItem>\n    </Attribute>\n", label[a], (int)sizeof(PetscScalar), map->ny, map->nx, base, name));
      }
      PetscCall(PetscFPrintf(PETSC_COMM_WORLD, file, "   </Grid>\n"));
    }
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, file, "  </Grid>\n </Domain>\n</Xdmf>\n"));
    PetscCall(PetscFClose(PETSC_COMM_WORLD, file));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "wrote %" PetscInt_FMT " frames to %s.%s\n", out->frames, out->prefix, out->hdf5 ? "h5 and .xmf" : "bin"));
  PetscCall(PetscFree(out->time));
  PetscFunctionReturn(PETSC_SUCCESS);
}
