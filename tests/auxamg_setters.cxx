static char help[] = "Every option of PC auxamg has a setter and a getter, and they agree.\n\n";

#include "petsc/compat.h"
#include <tessera.h>

static PetscErrorCode Show(const char *when, PC pc)
{
  PetscInt              levels, cell_size, smooth, coarse_size, inner, single_size;
  PCAuxAMGVariant       variant;
  PCAuxAMGInterpolation interpolation;
  PCAuxAMGCycle         cycle;
  PCAuxAMGSmoother      smoother;
  PCAuxAMGFilter        filter;
  TesseraPrecision     precision;
  PetscBool             stretch;
  TesseraBackend        backend;
  const char           *file;

  PetscFunctionBeginUser;
  PetscCall(PCAuxAMGGetVariant(pc, &variant));
  PetscCall(PCAuxAMGGetLevels(pc, &levels));
  PetscCall(PCAuxAMGGetCellSize(pc, &cell_size));
  PetscCall(PCAuxAMGGetInterpolation(pc, &interpolation));
  PetscCall(PCAuxAMGGetCycle(pc, &cycle));
  PetscCall(PCAuxAMGGetCycleInner(pc, &inner));
  PetscCall(PCAuxAMGGetSmoother(pc, &smoother));
  PetscCall(PCAuxAMGGetSmootherDegree(pc, &smooth));
  PetscCall(PCAuxAMGGetFilter(pc, &filter));
  PetscCall(PCAuxAMGGetStretch(pc, &stretch));
  PetscCall(PCAuxAMGGetCoarseSize(pc, &coarse_size));
  PetscCall(PCAuxAMGGetPrecision(pc, &precision));
  PetscCall(PCAuxAMGGetSingleSize(pc, &single_size));
  PetscCall(PCAuxAMGGetBackend(pc, &backend));
  PetscCall(PCAuxAMGGetCoordinatesFile(pc, &file));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: variant %s, levels %d, cell size %d, interpolation %s, cycle %s %d, smoother %s %d, filter %s, stretch %s, coarse size %d, precision %s from %d nodes, backend %s, coordinates '%s'\n", when, PCAuxAMGVariants[variant], (int)levels, (int)cell_size, PCAuxAMGInterpolations[interpolation], PCAuxAMGCycles[cycle], (int)inner, PCAuxAMGSmoothers[smoother], (int)smooth, PCAuxAMGFilters[filter], PetscBools[stretch], (int)coarse_size, TesseraPrecisions[precision], (int)single_size, TesseraBackends[backend], file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TesseraInitializePackage());
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCAUXAMG));
  PetscCall(Show("default", pc));
  PetscCall(PCAuxAMGSetVariant(pc, PC_AUXAMG_AGGREGATION));
  PetscCall(PCAuxAMGSetLevels(pc, 4));
  PetscCall(PCAuxAMGSetCellSize(pc, 20));
  PetscCall(PCAuxAMGSetInterpolation(pc, PC_AUXAMG_INTERPOLATION_KUHN));
  PetscCall(PCAuxAMGSetCycle(pc, PC_AUXAMG_CYCLE_K));
  PetscCall(PCAuxAMGSetCycleInner(pc, 3));
  PetscCall(PCAuxAMGSetSmoother(pc, PC_AUXAMG_SMOOTHER_BLOCK_GS));
  PetscCall(PCAuxAMGSetSmootherDegree(pc, 4));
  PetscCall(PCAuxAMGSetFilter(pc, PC_AUXAMG_FILTER_ON));
  PetscCall(PCAuxAMGSetStretch(pc, PETSC_FALSE));
  PetscCall(PCAuxAMGSetCoarseSize(pc, 50));
  PetscCall(PCAuxAMGSetPrecision(pc, TESSERA_PRECISION_SINGLE));
  PetscCall(PCAuxAMGSetSingleSize(pc, 7));
  PetscCall(PCAuxAMGSetBackend(pc, TESSERA_BACKEND_HOST));
  PetscCall(PCAuxAMGSetCoordinatesFile(pc, "points.h5:/x"));
  PetscCall(Show("set", pc));
  PetscCall(PCReset(pc));
  PetscCall(Show("after PCReset()", pc));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(Show("options", pc));
  /* Of another type the setters are no concern */
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(PCAuxAMGSetLevels(pc, 2));
  PetscCall(PCSetType(pc, PCAUXAMG));
  PetscCall(Show("after another type", pc));
  PetscCall(PCDestroy(&pc));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

  test:
    suffix: options
    nsize: {{1 2}}
    args: -pc_auxamg_variant tree -pc_auxamg_cycle_inner 4 -pc_auxamg_levels 5 -pc_auxamg_cell_size 16 -pc_auxamg_interpolation linear -pc_auxamg_cycle v -pc_auxamg_smoother gs -pc_auxamg_smoother_degree 3 -pc_auxamg_filter off -pc_auxamg_stretch 1 -pc_auxamg_coarse_size 60 -pc_auxamg_precision double -pc_auxamg_single_size 0 -pc_auxamg_backend auto -pc_auxamg_coordinates points

TEST*/
