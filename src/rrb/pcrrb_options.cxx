// Options of PC rrb. Setters and getters are composed functions, so that calling one on another type does nothing; a
// change takes effect at the next setup. Here: their table, and the public functions of the cycle, storage and place;
// those of the form are in pcrrb_functions.cxx.
#include "rrb/pcrrb.hpp"

using tessera::Option;
using O = tessera::RRBOptions;

static const Option rows[] = {
  Option::Int<&O::levels>("-pc_rrb_levels", "PCRRBSetLevels", "Levels, two to a grid (0 for automatic)", 0,
                          PETSC_INFINITY, "PC rrb: the number of levels must be 0 (automatic) or more, it is %s"),
  Option::Int<&O::quarters>("-pc_rrb_quarters", "PCRRBSetQuarters",
                            "Grids stored by quarters, the others in natural order (-1 for all)", -1, PETSC_INFINITY,
                            "PC rrb: the number of grids stored by quarters must be -1 (all) or more, it is %s"),
  Option::Enum<&O::coarsening>("-pc_rrb_coarsening", "PCRRBSetCoarsening", "How coarse operators are made",
                               PCRRBCoarsenings),
  Option::Enum<&O::smoother>("-pc_rrb_smoother", "PCRRBSetSmoother", "Smoother of each grid (Galerkin)",
                             PCRRBSmoothers),
  Option::Int<&O::sweeps>("-pc_rrb_sweeps", "PCRRBSetSweeps",
                          "Sweeps before and after the next grid (Galerkin; 0 for automatic)", 0, 100,
                          "PC rrb: the number of sweeps (-pc_rrb_sweeps) must be 0 (automatic) to 100, it is %s"),
  Option::Enum<&O::interpolation>("-pc_rrb_interpolation", "PCRRBSetInterpolation",
                                  "Weights of the interpolation (Galerkin)", PCRRBInterpolations),
  Option::Bool<&O::trial>("-pc_rrb_trial", "PCRRBSetTrial", "Test the choice where coefficients jump (Galerkin)"),
  Option::Real<&O::omega>("-pc_rrb_omega", "PCRRBSetOmega", "Share of a dropped coupling that is lumped", 0, 1,
                          "PC rrb: omega must lie between 0 and 1, it is %s"),
  Option::Enum<&O::lump>("-pc_rrb_lump", "PCRRBSetLump", "Nodes at which couplings are lumped", PCRRBLumps),
  Option::Enum<&O::cycle>("-pc_rrb_cycle", "PCRRBSetCycle", "How coarse grids are visited", PCRRBCycles),
  Option::Int<&O::every>("-pc_rrb_cycle_every", "PCRRBSetCycleEvery", "The cycle accelerates on every m-th grid", 1,
                         PETSC_INFINITY,
                         "PC rrb: the cycle accelerates on every m-th grid (-pc_rrb_cycle_every) and m must be 1 or "
                         "more, it is %s"),
  Option::Int<&O::inner>("-pc_rrb_cycle_inner", "PCRRBSetCycleInner", "Steps of the acceleration", 1, 100,
                         "PC rrb: the cycle (-pc_rrb_cycle_inner) takes 1 step or more on a grid (to 100), it is %s"),
  Option::Int<&O::redundant>("-pc_rrb_redundant", "PCRRBSetRedundant",
                             "Every process keeps grids of at most so many nodes (0 for automatic)", 0, 1000000000,
                             "PC rrb: every process keeps grids of 0 (automatic) to 1e9 nodes (-pc_rrb_redundant), it "
                             "is %s"),
  Option::Bool<&O::peers>("-pc_rrb_peers", "PCRRBSetPeers",
                          "Processes of one host write into each other's device memory"),
  Option::Enum<&O::precision>("-pc_rrb_precision", "PCRRBSetPrecision", "Precision of the grids or factors",
                              TesseraPrecisions),
  Option::Sizes<&O::grid>("-pc_rrb_grid", "PCRRBSetGrid",
                          "Grid size nx,ny or nx,ny,nz of a matrix without a DMDA, row i + nx*(j + ny*k)",
                          "or three numbers, nx,ny or nx,ny,nz", 1, PETSC_INFINITY,
                          "PC rrb: a grid has one node or more in each direction, not %s x %s x %s"),
  Option::Enum<&O::backend>("-pc_rrb_backend", "PCRRBSetBackend", "Where the preconditioner runs", TesseraBackends),
};
const tessera::OptionTable O::table(rows);

O &O::Of(PC pc)
{
  return ((tessera::PC_RRB *)pc->data)->options;
}

PetscErrorCode O::Changed(PC pc)
{
  PetscFunctionBegin;
  ((tessera::PC_RRB *)pc->data)->current = PETSC_FALSE;
  pc->setupcalled                        = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::ComposeRRB(PC pc, PetscBool compose)
{
  PetscFunctionBegin;
  PetscCall(ComposeOptions((PetscObject)pc, O::table, compose));
  PetscCall(ComposeInfo(pc, compose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetCycle - Sets how the coarse grids are visited

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  c - `PC_RRB_CYCLE_V`, `PC_RRB_CYCLE_K`, `PC_RRB_CYCLE_AMLI`, `PC_RRB_CYCLE_W` or `PC_RRB_CYCLE_AUTO` (default)

   Options Database Key:
.  -pc_rrb_cycle <auto,v,k,amli,w> - see above

   Level: intermediate

   Note:
   V visits each grid once, as the papers' method does. K is not linear and needs a flexible method (`KSPFCG`,
   `KSPFGMRES`, `KSPRRB`); AMLI is linear. In three dimensions there are V and W, which visits small grids twice, and
   automatic is W where the couplings of some nodes jump or end inside of the grid.

.seealso: `PCRRB`, `PCRRBGetCycle()`
@*/
PetscErrorCode PCRRBSetCycle(PC pc, PCRRBCycle c)
{
  TesseraSetValue(pc, "PCRRBSetCycle_C", Enum, c);
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
  TesseraGetValue(pc, "PCRRBGetCycle_C", c);
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
   on the lumped forms' grids 2, 4 and so on. The Galerkin form begins with grid 1. On a device with cycle auto it
   leaves small grids out, where another visit takes as long as on a large one; `-ksp_view` lists the grids.

.seealso: `PCRRB`, `PCRRBGetCycleEvery()`
@*/
PetscErrorCode PCRRBSetCycleEvery(PC pc, PetscInt m)
{
  TesseraSetValue(pc, "PCRRBSetCycleEvery_C", Int, m);
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
  TesseraGetValue(pc, "PCRRBGetCycleEvery_C", m);
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
  TesseraSetValue(pc, "PCRRBSetCycleInner_C", Int, nu);
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
  TesseraGetValue(pc, "PCRRBGetCycleInner_C", nu);
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
   Automatic are 4096 nodes, and 200000 on devices from the second grid on. Results are the same to rounding.

.seealso: `PCRRB`, `PCRRBGetRedundant()`
@*/
PetscErrorCode PCRRBSetRedundant(PC pc, PetscInt nodes)
{
  TesseraSetValue(pc, "PCRRBSetRedundant_C", Int, nodes);
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
  TesseraGetValue(pc, "PCRRBGetRedundant_C", nodes);
}

/*@
   PCRRBSetPeers - Sets whether processes of one host write into each other's device memory

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  peers - yes (default): where every process has a device of its own and all reach each other; no: messages go through
     MPI

   Options Database Key:
.  -pc_rrb_peers <bool> - see above

   Level: advanced

   Note:
   A solve by KSP `rrb` then stays on the devices until it ends, as on one process. Where devices do not reach each
   other messages go through MPI, with device memory where PETSc says that MPI takes it (`-use_gpu_aware_mpi`), else
   through the host.

.seealso: `PCRRB`, `PCRRBGetPeers()`
@*/
PetscErrorCode PCRRBSetPeers(PC pc, PetscBool peers)
{
  TesseraSetValue(pc, "PCRRBSetPeers_C", Bool, peers);
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
  TesseraGetValue(pc, "PCRRBGetPeers_C", peers);
}

/*@
   PCRRBSetPrecision - Sets the precision in which the grids (Galerkin form) or the factors are stored

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  p - `TESSERA_PRECISION_AUTO` (default), `TESSERA_PRECISION_DOUBLE` or `TESSERA_PRECISION_SINGLE`

   Options Database Key:
.  -pc_rrb_precision <auto,double,single> - see above

   Level: intermediate

   Note:
   The preconditioner stays symmetric, so `KSPCG`, `KSPRRB` and other methods whose residual follows the solution reach
   the same tolerance. Methods that take the preconditioner for a linear map (`KSPGMRES`, `KSPBCGS`, ...) leave a
   larger true residual than they say in single precision. The automatic choice is single precision for the Galerkin
   form on a device under methods of the first kind, else double; a method of the second kind is seen at its first
   solve, and the factors are made again then.

.seealso: `PCRRB`, `PCRRBGetPrecision()`
@*/
PetscErrorCode PCRRBSetPrecision(PC pc, TesseraPrecision p)
{
  TesseraSetValue(pc, "PCRRBSetPrecision_C", Enum, p);
}

/*@
   PCRRBGetPrecision - Gets the precision in which the grids (Galerkin form) or the factors are stored

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  p - what `PCRRBSetPrecision()` set

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetPrecision()`
@*/
PetscErrorCode PCRRBGetPrecision(PC pc, TesseraPrecision *p)
{
  TesseraGetValue(pc, "PCRRBGetPrecision_C", p);
}

/*@
   PCRRBSetBackend - Sets where the preconditioner lives and runs

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  b - `TESSERA_BACKEND_AUTO` (default), `TESSERA_BACKEND_HOST` or `TESSERA_BACKEND_CUDA`

   Options Database Key:
.  -pc_rrb_backend <auto,host,cuda> - see above

   Level: intermediate

   Note:
   The automatic choice is the device where the matrix has its values there (`MATAIJCUSPARSE`, `MATAIJKOKKOS`), else
   the host: nothing is copied. `TESSERA_BACKEND_CUDA` with a matrix or vectors on the host copies them to and fro; a
   device that cannot be used is refused at setup.

.seealso: `PCRRB`, `PCRRBGetBackend()`
@*/
PetscErrorCode PCRRBSetBackend(PC pc, TesseraBackend b)
{
  TesseraSetValue(pc, "PCRRBSetBackend_C", Enum, b);
}

/*@
   PCRRBGetBackend - Gets where the preconditioner lives and runs

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
  TesseraGetValue(pc, "PCRRBGetBackend_C", b);
}
