// Options of PC auxamg. Setters and getters are composed functions, so that calling one on another type does nothing; a
// change takes effect at the next setup. Here: their table, and the public functions of grids, cycle and kind of
// smoother; the other ones are in pcauxamg_functions.cxx.
#include "auxamg/pcauxamg.hpp"

using tessera::Option;
using O = tessera::AuxAMGOptions;

static const Option rows[] = {
  Option::Enum<&O::variant>("-pc_auxamg_variant", "PCAuxAMGSetVariant", "Kind of the auxiliary grids",
                            PCAuxAMGVariants),
  Option::Int<&O::levels>("-pc_auxamg_levels", "PCAuxAMGSetLevels",
                          "Maximum number of grids, the mesh included (0 for no limit)", 0, PETSC_INFINITY,
                          "PC auxamg: grids (-pc_auxamg_levels) must be 0 (automatic) or more, it is %s"),
  Option::Int<&O::cell_size>("-pc_auxamg_cell_size", "PCAuxAMGSetCellSize",
                             "Maximum number of nodes in a cell of the first grid (0 for 3, 12, 24 in 1D, 2D, 3D); "
                             "least mean number with aggregation",
                             0, 1000,
                             "PC auxamg: nodes in a cell (-pc_auxamg_cell_size) must be 0 (automatic) to 1000, it is "
                             "%s"),
  Option::Enum<&O::interpolation>("-pc_auxamg_interpolation", "PCAuxAMGSetInterpolation", "Functions on the cells",
                                  PCAuxAMGInterpolations),
  Option::Enum<&O::cycle>("-pc_auxamg_cycle", "PCAuxAMGSetCycle", "How coarse grids are visited", PCAuxAMGCycles),
  Option::Int<&O::cycle_inner>("-pc_auxamg_cycle_inner", "PCAuxAMGSetCycleInner",
                               "Steps of the K-cycle on each coarse grid", 1, 10,
                               "PC auxamg: steps of the K-cycle (-pc_auxamg_cycle_inner) must be 1 to 10, it is %s"),
  Option::Enum<&O::smoother>("-pc_auxamg_smoother", "PCAuxAMGSetSmoother", "Smoother", PCAuxAMGSmoothers),
  Option::Int<&O::degree>("-pc_auxamg_smoother_degree", "PCAuxAMGSetSmootherDegree",
                          "Degree of the smoother (0 for 2 or more, as the problem needs it, or 1 of Gauss-Seidel)",
                          0, 100,
                          "PC auxamg: the degree of the smoother (-pc_auxamg_smoother_degree) must be 0 (automatic) to "
                          "100, it is %s"),
  Option::Enum<&O::filter>("-pc_auxamg_filter", "PCAuxAMGSetFilter",
                           "Smooth the interpolation for coefficients that jump", PCAuxAMGFilters),
  Option::Bool<&O::stretch>("-pc_auxamg_stretch", "PCAuxAMGSetStretch",
                            "Stretch coordinates by the strength of couplings"),
  Option::Int<&O::coarse_size>("-pc_auxamg_coarse_size", "PCAuxAMGSetCoarseSize",
                               "Maximum number of unknowns of the last grid", 1, 2000,
                               "PC auxamg: unknowns of the last grid (-pc_auxamg_coarse_size) must be 1 to 2000, it is "
                               "%s"),
  Option::Enum<&O::precision>("-pc_auxamg_precision", "PCAuxAMGSetPrecision", "Precision of the hierarchy",
                              TesseraPrecisions),
  Option::Int<&O::single_size>("-pc_auxamg_single_size", "PCAuxAMGSetSingleSize",
                               "Nodes of a plane mesh from which on auto takes single precision on a host", 0,
                               PETSC_MAX_INT,
                               "PC auxamg: nodes for single precision (-pc_auxamg_single_size) must be 0 or more, they "
                               "are %s"),
  Option::Enum<&O::backend>("-pc_auxamg_backend", "PCAuxAMGSetBackend", "Where the preconditioner runs",
                            TesseraBackends),
  Option::Text<&O::file>("-pc_auxamg_coordinates", "PCAuxAMGSetCoordinatesFile",
                         "File of the nodes' coordinates: file.h5:/path, or a Vec in PETSc's binary format"),
};
const tessera::OptionTable O::table(rows);

O &O::Of(PC pc)
{
  return ((tessera::PC_AuxAMG *)pc->data)->options;
}

PetscErrorCode O::Changed(PC pc)
{
  PetscFunctionBegin;
  ((tessera::PC_AuxAMG *)pc->data)->current = PETSC_FALSE;
  pc->setupcalled                           = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// For other solvers (petsc/geometry.hpp)
static PetscErrorCode GetCoordinates(PC pc, const tessera::Coordinates **given)
{
  const tessera::Coordinates &mine = ((tessera::PC_AuxAMG *)pc->data)->given;

  PetscFunctionBegin;
  *given = mine.dim ? &mine : nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::ComposeAuxAMG(PC pc, PetscBool compose)
{
  PetscObject o = (PetscObject)pc;

  PetscFunctionBegin;
  PetscCall(ComposeOptions(o, O::table, compose));
  PetscCall(ComposeAuxAMGInfo(pc, compose));
  PetscCall(PetscObjectComposeFunction(o, "TesseraGetCoordinates_C", compose ? &GetCoordinates : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCGetInterpolations_C", compose ? &GetMatricesAuxAMG<false> : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCGetCoarseOperators_C", compose ? &GetMatricesAuxAMG<true> : nullptr));
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
  TesseraSetValue(pc, "PCAuxAMGSetLevels_C", Int, l);
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
  TesseraGetValue(pc, "PCAuxAMGGetLevels_C", l);
}

/*@
   PCAuxAMGSetCellSize - Sets the number of nodes in a cell of the first grid

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  m - most nodes in a cell; 0 (default) for 3, 12, 24 in one, two, three dimensions. With `PC_AUXAMG_AGGREGATION` the
     least number of nodes, in the mean over the cells of the bounding box; 0 for 1

   Options Database Key:
.  -pc_auxamg_cell_size <m> - see above

   Level: intermediate

   Note:
   A cell with more nodes is split; that of the k-th grid with more than m 2^(kd), so every grid has about 2^d times
   fewer nodes than the one before. Where a mesh in the plane is a few nodes thin, cells hold half or a quarter of m.

.seealso: `PCAUXAMG`, `PCAuxAMGGetCellSize()`
@*/
PetscErrorCode PCAuxAMGSetCellSize(PC pc, PetscInt m)
{
  TesseraSetValue(pc, "PCAuxAMGSetCellSize_C", Int, m);
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
  TesseraGetValue(pc, "PCAuxAMGGetCellSize_C", m);
}

/*@
   PCAuxAMGSetInterpolation - Sets the functions on the cells

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  i - `PC_AUXAMG_INTERPOLATION_AUTO` (default), `PC_AUXAMG_INTERPOLATION_LINEAR` or `PC_AUXAMG_INTERPOLATION_KUHN`

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
  TesseraSetValue(pc, "PCAuxAMGSetInterpolation_C", Enum, i);
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
  TesseraGetValue(pc, "PCAuxAMGGetInterpolation_C", i);
}

/*@
   PCAuxAMGSetCycle - Sets how the coarse grids are visited

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  c - `PC_AUXAMG_CYCLE_AUTO` (default), `PC_AUXAMG_CYCLE_V`, `PC_AUXAMG_CYCLE_W`, `PC_AUXAMG_CYCLE_K` or
   `PC_AUXAMG_CYCLE_AMLI`

   Options Database Key:
.  -pc_auxamg_cycle <auto,v,w,k,amli> - see above

   Level: intermediate

   Notes:
   By default it is the V-cycle, and the W-cycle where coefficients jump and where convection dominates. On the host it
   is the AMLI-cycle where V-cycles are slow, as in thin bodies and between the teeth of combs; the first setup finds
   that out by eight steps on a coarse grid. On a device it does so from a million unknowns a card in the plane on,
   where stiff bodies or inclusions have functions of their own.

   The K-cycle is no linear operator: other Krylov methods than `KSPCG` and `KSPFCG` must be flexible (`KSPFGMRES`). A
   solve with `KSPGMRES`, `KSPBCGS` and others that need a linear one is refused.

.seealso: `PCAUXAMG`, `PCAuxAMGGetCycle()`, `PCAuxAMGSetCycleInner()`
@*/
PetscErrorCode PCAuxAMGSetCycle(PC pc, PCAuxAMGCycle c)
{
  TesseraSetValue(pc, "PCAuxAMGSetCycle_C", Enum, c);
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
  TesseraGetValue(pc, "PCAuxAMGGetCycle_C", c);
}

/*@
   PCAuxAMGSetSmoother - Sets the smoother

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
-  s - `PC_AUXAMG_SMOOTHER_AUTO` (default), `PC_AUXAMG_SMOOTHER_CHEBYSHEV`, `PC_AUXAMG_SMOOTHER_JACOBI`,
     `PC_AUXAMG_SMOOTHER_GS` or `PC_AUXAMG_SMOOTHER_BLOCK_GS`

   Options Database Key:
.  -pc_auxamg_smoother <auto,chebyshev,jacobi,gs,block_gs> - see above

   Level: intermediate

   Note:
   Chebyshev polynomials of the fourth kind in D^-1 A with optimal weights; Jacobi's method damped by 1.5 over the
   largest eigenvalue; or Gauss-Seidel, by the colors of nodes that are not coupled with each other.
   `PC_AUXAMG_SMOOTHER_BLOCK_GS` needs `PC_AUXAMG_AGGREGATION`, whose aggregates are its blocks on the mesh; those of
   more than 64 unknowns are cut.

.seealso: `PCAUXAMG`, `PCAuxAMGGetSmoother()`
@*/
PetscErrorCode PCAuxAMGSetSmoother(PC pc, PCAuxAMGSmoother s)
{
  TesseraSetValue(pc, "PCAuxAMGSetSmoother_C", Enum, s);
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
  TesseraGetValue(pc, "PCAuxAMGGetSmoother_C", s);
}
