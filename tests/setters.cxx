static char help[] = "Every option of PC and KSP rrb has a setter and a getter, and they agree.\n\n";

#include "petsc/compat.h"
#include <tessera.h>

/* What the getters say */
static PetscErrorCode Show(const char *when, KSP ksp, PC pc)
{
  PetscInt        levels, grids, every, inner, redundant, nx, ny;
  PetscReal       omega;
  PCRRBCoarsening coarsening;
  PCRRBSmoother   smoother;
  PCRRBInterpolation interpolation;
  PetscInt        smooth;
  PetscBool       trial, peers;
  PCRRBLump       lump;
  PCRRBCycle      cycle;
  TesseraPrecision  precision;
  TesseraBackend  backend, ksp_backend;

  PetscFunctionBeginUser;
  PetscCall(PCRRBGetLevels(pc, &levels));
  PetscCall(PCRRBGetQuarters(pc, &grids));
  PetscCall(PCRRBGetCoarsening(pc, &coarsening));
  PetscCall(PCRRBGetSmoother(pc, &smoother));
  PetscCall(PCRRBGetSweeps(pc, &smooth));
  PetscCall(PCRRBGetInterpolation(pc, &interpolation));
  PetscCall(PCRRBGetTrial(pc, &trial));
  PetscCall(PCRRBGetOmega(pc, &omega));
  PetscCall(PCRRBGetLump(pc, &lump));
  PetscCall(PCRRBGetCycle(pc, &cycle));
  PetscCall(PCRRBGetCycleEvery(pc, &every));
  PetscCall(PCRRBGetCycleInner(pc, &inner));
  PetscCall(PCRRBGetRedundant(pc, &redundant));
  PetscCall(PCRRBGetPeers(pc, &peers));
  PetscCall(PCRRBGetPrecision(pc, &precision));
  PetscCall(PCRRBGetGrid(pc, &nx, &ny));
  PetscCall(PCRRBGetBackend(pc, &backend));
  PetscCall(KSPRRBGetBackend(ksp, &ksp_backend));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: levels %d, grids %d, coarsening %s, smoother %s %d, interpolation %s, trial %s, omega %g, lump %s, cycle %s every %d inner %d, redundant %d, peers %s, precision %s, grid %d x %d, backend %s, ksp backend %s\n", when, (int)levels, (int)grids, PCRRBCoarsenings[coarsening], PCRRBSmoothers[smoother], (int)smooth, PCRRBInterpolations[interpolation], PetscBools[trial],
                        (double)omega, PCRRBLumps[lump], PCRRBCycles[cycle], (int)every, (int)inner, (int)redundant, PetscBools[peers], TesseraPrecisions[precision], (int)nx, (int)ny, TesseraBackends[backend], TesseraBackends[ksp_backend]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  KSP      ksp;
  PC       pc;
  PetscInt nx, ny, nz;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TesseraInitializePackage());
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPRRB));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCRRB));
  PetscCall(Show("default", ksp, pc));
  PetscCall(PCRRBSetLevels(pc, 6));
  PetscCall(PCRRBSetQuarters(pc, 2));
  PetscCall(PCRRBSetCoarsening(pc, PC_RRB_COARSENING_RHOMBUS));
  PetscCall(PCRRBSetSmoother(pc, PC_RRB_SMOOTHER_LINE_J));
  PetscCall(PCRRBSetSweeps(pc, 3));
  PetscCall(PCRRBSetInterpolation(pc, PC_RRB_INTERPOLATION_LEAST_SQUARES));
  PetscCall(PCRRBSetTrial(pc, PETSC_FALSE));
  PetscCall(PCRRBSetOmega(pc, 0.5));
  PetscCall(PCRRBSetLump(pc, PC_RRB_LUMP_ALL));
  PetscCall(PCRRBSetCycle(pc, PC_RRB_CYCLE_K));
  PetscCall(PCRRBSetCycleEvery(pc, 3));
  PetscCall(PCRRBSetCycleInner(pc, 4));
  PetscCall(PCRRBSetRedundant(pc, 500));
  PetscCall(PCRRBSetPeers(pc, PETSC_FALSE));
  PetscCall(PCRRBSetPrecision(pc, TESSERA_PRECISION_SINGLE));
  PetscCall(PCRRBSetGrid(pc, 7, 5));
  PetscCall(PCRRBSetBackend(pc, TESSERA_BACKEND_HOST));
  PetscCall(KSPRRBSetBackend(ksp, TESSERA_BACKEND_HOST));
  PetscCall(Show("set", ksp, pc));
  PetscCall(PCReset(pc));
  PetscCall(Show("after PCReset()", ksp, pc));
  PetscCall(PCRRBGetGrid3d(pc, nullptr, nullptr, &nz));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d plane\n", (int)nz));
  PetscCall(PCRRBSetGrid3d(pc, 7, 5, 3));
  PetscCall(PCRRBGetGrid3d(pc, &nx, &ny, &nz));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d x %d x %d nodes\n", (int)nx, (int)ny, (int)nz));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Show("options", ksp, pc));
  /* Of another type the setters are no concern */
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(PCRRBSetLevels(pc, 2));
  PetscCall(PCSetType(pc, PCRRB));
  PetscCall(Show("after another type", ksp, pc));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:

  test:
    suffix: options
    nsize: {{1 2}}
    args: -pc_rrb_levels 8 -pc_rrb_quarters 1 -pc_rrb_coarsening lump -pc_rrb_smoother line_alt -pc_rrb_sweeps 2 -pc_rrb_interpolation collapse -pc_rrb_trial 0 -pc_rrb_omega 0.75 -pc_rrb_lump red -pc_rrb_cycle amli -pc_rrb_cycle_every 1 -pc_rrb_cycle_inner 3 -pc_rrb_redundant 600 -pc_rrb_peers 0 -pc_rrb_precision double -pc_rrb_grid 9,11 -pc_rrb_backend auto -ksp_rrb_backend auto

TEST*/
