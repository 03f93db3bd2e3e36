// PCGetInterpolations() and PCGetCoarseOperators() of PC rrb.
#include "petsc/entries.hpp"
#include "rrb/multigrid/grid_entries.hpp"
#include "rrb/pcrrb.hpp"

using tessera::PC_RRB;
namespace rrb = tessera::rrb;

// What can be given: the Galerkin form, where each operator is P'AP of the one before.
static PetscErrorCode CheckForm(PC pc)
{
  const PC_RRB    *r    = (const PC_RRB *)pc->data;
  MPI_Comm         comm = PetscObjectComm((PetscObject)pc);
  bool             same;

  PetscFunctionBegin;
  PetscCall(tessera::CheckSetUpRRB(pc));
  PetscCheck(!r->three, comm, PETSC_ERR_SUP,
             "PC rrb: operators and interpolation of grids of three dimensions cannot be given as matrices");
  PetscCheck(r->options.coarsening == PC_RRB_COARSENING_GALERKIN, comm, PETSC_ERR_SUP,
             "PC rrb: -pc_rrb_coarsening %s makes the operators of its grids by elimination and lumping, so there is "
             "no interpolation P with which they are P'AP. Use -pc_rrb_coarsening galerkin",
             PCRRBCoarsenings[r->options.coarsening]);
  for (const rrb::Level &l : r->plan.levels)
    PetscCheck(
      !l.cut_x && !l.cut_y, comm, PETSC_ERR_SUP,
      "PC rrb: grid %d (%d x %d) has an odd number of nodes in a periodic direction, whose seam is lumped there, so "
      "its operator is not P'AP. Use sizes that are multiples of a higher power of two, or fewer -pc_rrb_levels",
      l.index, l.grid.nx, l.grid.ny);
  PetscCall(tessera::HasRecordedMatrix(pc, &same));
  PetscCheck(same, comm, PETSC_ERR_ORDER,
             "PC rrb: the matrix has changed since the grids were made: call PCSetUp() first");
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <bool operators> PetscErrorCode tessera::GetMatricesRRB(PC pc, PetscInt *number, Mat *matrices[])
{
  PC_RRB                       *r = (PC_RRB *)pc->data;
  std::vector<rrb::GridEntries> grids;
  std::vector<double>           rows;
  tessera::Stencil              a;
  tessera::Buffer<double>       field; // a solve may be under way: the plan's are in use
  tessera::DirichletCouplings   dirichlet;
  tessera::OperatorReport       report;
  PetscInt                      own;
  bool                          right;

  PetscFunctionBegin;
  PetscCall(CheckForm(pc));
  rrb::Level &finest = r->plan.levels[0];
  PetscCall(tessera::UseCurrentStream(r->plan.exec.space));
  TesseraCallCXX(a = tessera::Stencil(finest.layout), field.resize(finest.layout.elements(4)));
  do {
    PetscCall(
      r->matrix.Read(pc->pmat, r->plan.exec, finest.halo, field.data(), r->raised == PETSC_TRUE, a, dirichlet, report));
    if (r->matrix.speculative()) PetscCall(r->matrix.Confirm(report, &right));
    else right = true;
  } while (!right);
  PetscCall(r->matrix.RowsOfNodes(pc->pmat, rows));
  PetscCall(MatGetLocalSize(pc->pmat, &own, nullptr));
  TesseraCallCXX(grids = rrb::grid_entries(r->plan, a, rows, (int)own));
  PetscCall(PetscMalloc1(grids.size() + 1, matrices)); // one more than there are, as PCMG does
  for (size_t k = 0; k < grids.size(); ++k) {
    const rrb::GridEntries &e = grids[grids.size() - 1 - k]; // from the last grid on, as PCMG counts
    PetscCall(tessera::MatrixOf(pc, 1, operators ? e.next : e.interpolation, &(*matrices)[k]));
  }
  *number = (PetscInt)grids.size() + 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template PetscErrorCode tessera::GetMatricesRRB<false>(PC, PetscInt *, Mat *[]);
template PetscErrorCode tessera::GetMatricesRRB<true>(PC, PetscInt *, Mat *[]);

/*@
   PCRRBSetGrid - Sets the grid of a matrix that comes without a `DMDA`

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
.  nx - nodes in x
-  ny - nodes in y; unknown (i, j) is row i + nx*j. 0, 0 means the `DMDA` of the solver or the matrix, or what the
     couplings tell (default)

   Options Database Key:
.  -pc_rrb_grid <nx,ny> - the sizes

   Level: intermediate

   Note:
   The rows may be distributed in any way; where a process boundary lies inside a grid line the rows are moved at
   setup, and vectors in every application.

.seealso: `PCRRB`, `PCRRBGetGrid()`, `PCRRBSetGrid3d()`
@*/
PetscErrorCode PCRRBSetGrid(PC pc, PetscInt nx, PetscInt ny)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, nx, 2);
  PetscValidLogicalCollectiveInt(pc, ny, 3);
  PetscCall(PCRRBSetGrid3d(pc, nx, ny, nx || ny));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetGrid - Gets the grid set by `PCRRBSetGrid()`

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameters:
+  nx - nodes in x, 0 if none was set
-  ny - nodes in y

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetGrid()`
@*/
PetscErrorCode PCRRBGetGrid(PC pc, PetscInt *nx, PetscInt *ny)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  if (nx) PetscAssertPointer(nx, 2);
  if (ny) PetscAssertPointer(ny, 3);
  PetscCall(PCRRBGetGrid3d(pc, nx, ny, nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBSetGrid3d - Sets the three-dimensional grid of a matrix that comes without a `DMDA`

   Logically Collective

   Input Parameters:
+  pc - the preconditioner
.  nx - nodes in x
.  ny - nodes in y
-  nz - nodes in z; unknown (i, j, k) is row i + nx*(j + ny*k). 0, 0, 0 means the `DMDA` of the solver or the matrix,
     or what the couplings tell, in the plane (default)

   Options Database Key:
.  -pc_rrb_grid <nx,ny,nz> - the sizes

   Level: intermediate

   Notes:
   With one node in a direction it is a grid of the plane.

   The rows may be distributed in any way; where a process boundary lies inside a plane of the grid the rows are moved
   at setup, and vectors in every application. Each process has whole planes, so that there should be a good many more
   of them than processes.

.seealso: `PCRRB`, `PCRRBGetGrid3d()`, `PCRRBSetGrid()`
@*/
PetscErrorCode PCRRBSetGrid3d(PC pc, PetscInt nx, PetscInt ny, PetscInt nz)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, nx, 2);
  PetscValidLogicalCollectiveInt(pc, ny, 3);
  PetscValidLogicalCollectiveInt(pc, nz, 4);
  PetscTryMethod(pc, "PCRRBSetGrid_C", (PC, PetscInt, PetscInt, PetscInt), (pc, nx, ny, nz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCRRBGetGrid3d - Gets the grid set by `PCRRBSetGrid3d()` or `PCRRBSetGrid()`

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameters:
+  nx - nodes in x, 0 if none was set
.  ny - nodes in y
-  nz - nodes in z

   Level: intermediate

.seealso: `PCRRB`, `PCRRBSetGrid3d()`
@*/
PetscErrorCode PCRRBGetGrid3d(PC pc, PetscInt *nx, PetscInt *ny, PetscInt *nz)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  if (nx) PetscAssertPointer(nx, 2);
  if (ny) PetscAssertPointer(ny, 3);
  if (nz) PetscAssertPointer(nz, 4);
  PetscUseMethod(pc, "PCRRBGetGrid_C", (PC, PetscInt *, PetscInt *, PetscInt *), (pc, nx, ny, nz));
  PetscFunctionReturn(PETSC_SUCCESS);
}
