// What the setup of PC auxamg has made and chosen, by functions; the view prints what they give.
#include "auxamg/pcauxamg.hpp"
#include "petsc/shell.hpp"

using tessera::PC_AuxAMG;
using tessera::WithHierarchy;

static PetscErrorCode CheckSetUp(PC pc)
{
  const PC_AuxAMG *a = (const PC_AuxAMG *)pc->data;

  PetscFunctionBegin;
  PetscCall(tessera::CheckSetUp(pc, "PC auxamg", "grids", a->failed, a->failure, a->current));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetInfo(PC pc, TesseraGridsInfo *info)
{
  PC_AuxAMG *a    = (PC_AuxAMG *)pc->data;
  PetscReal  mine = 0;

  PetscFunctionBegin;
  PetscCall(CheckSetUp(pc));
  *info = TesseraGridsInfo();
  WithHierarchy(a, [&](const auto &h) {
    const tessera::Complexity c = tessera::ComplexityOf(h);
    info->grids                 = (PetscInt)h.levels().size();
    info->exact                 = h.coarsest().n;
    info->dirichlet             = (PetscInt)h.constrained();
    info->unknowns              = h.levels()[0].nodes * (PetscReal)a->bs;
    info->grid_complexity       = c.grid;
    info->operator_complexity   = c.entries;
    mine                        = (PetscReal)h.bytes();
  });
  info->backend   = tessera::BackendOf(a->exec.space);
  info->precision = a->in_single ? TESSERA_PRECISION_SINGLE : TESSERA_PRECISION_DOUBLE;
  PetscCallMPI(MPI_Allreduce(&mine, &info->bytes, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)pc)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetChoice(PC pc, PCAuxAMGChoice *choice)
{
  PC_AuxAMG                     *a = (PC_AuxAMG *)pc->data;
  const tessera::tree::Params &p = a->params;

  PetscFunctionBegin;
  PetscCall(CheckSetUp(pc));
  *choice = PCAuxAMGChoice();
  WithHierarchy(a, [&](const auto &h) {
    choice->degree   = h.degree();
    const tessera::tree::Cycle cycle = h.cycle_kind();
    choice->cycle    = cycle == tessera::tree::Cycle::k    ? PC_AUXAMG_CYCLE_K
                     : cycle == tessera::tree::Cycle::amli ? PC_AUXAMG_CYCLE_AMLI
                     : cycle == tessera::tree::Cycle::w    ? PC_AUXAMG_CYCLE_W
                                                           : PC_AUXAMG_CYCLE_V;
    choice->filtered = h.filtered() ? PETSC_TRUE : PETSC_FALSE;
    choice->crowded  = h.crowded();
    choice->parts    = h.parts();
    choice->dropped  = h.coarsest().dropped;
    for (int q = 0; q < 3; ++q) choice->stretch[q] = q < p.dim ? h.scale(q) : 1;
  });
  choice->variant       = p.aggregation ? PC_AUXAMG_AGGREGATION : PC_AUXAMG_TREE;
  choice->interpolation = p.aggregation ? PC_AUXAMG_INTERPOLATION_AUTO
                        : p.kuhn        ? PC_AUXAMG_INTERPOLATION_KUHN
                                        : PC_AUXAMG_INTERPOLATION_LINEAR;
  choice->smoother      = (PCAuxAMGSmoother)((int)p.smoother + 1); // the same order, after auto
  choice->dimension     = p.dim;
  choice->block         = a->bs;
  choice->cell_size     = p.cell_size;
  choice->inner         = choice->cycle == PC_AUXAMG_CYCLE_K ? p.inner : 0;
  choice->coordinates   = a->from.c_str();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetGridInfo(PC pc, PetscInt grid, PCAuxAMGGridInfo *info)
{
  PC_AuxAMG   *a = (PC_AuxAMG *)pc->data;
  PetscInt     grids = 0;
  const double entries = (double)(a->bs * a->bs); // of a block

  PetscFunctionBegin;
  PetscCall(CheckSetUp(pc));
  WithHierarchy(a, [&](const auto &h) { grids = (PetscInt)h.levels().size(); });
  PetscCheck(grid >= 0 && grid < grids, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "PC auxamg has the grids 0 to %" PetscInt_FMT ": %" PetscInt_FMT " given", grids - 1, grid);
  *info = PCAuxAMGGridInfo();
  WithHierarchy(a, [&](const auto &h) {
    const auto &l = h.levels()[(size_t)grid];
    info->nodes   = (PetscInt)l.nodes;
    info->row     = l.nonzeros / PetscMax(l.nodes, 1) / entries;
    if (grid) {
      info->cells    = l.grid.leaves;
      info->coarsest = l.grid.coarsest;
      info->finest   = l.grid.finest;
      info->hanging  = (PetscInt)l.grid.hanging;
    }
    if (!l.sweep.first.empty()) info->colors = (PetscInt)l.sweep.first.size() - 1;
    else if (l.transfer.corners) info->eigenvalue = l.lambda;
  });
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetGridSizes(PC pc, PetscInt *grids, const PetscInt *nodes[])
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;

  PetscFunctionBegin;
  PetscCall(CheckSetUp(pc));
  TesseraCallCXX(WithHierarchy(a, [&](const auto &h) {
    a->sizes.clear();
    for (const auto &l : h.levels()) a->sizes.push_back((PetscInt)l.nodes);
  }));
  if (grids) *grids = (PetscInt)a->sizes.size();
  if (nodes) *nodes = a->sizes.data();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::ComposeAuxAMGInfo(PC pc, PetscBool compose)
{
  PetscObject o = (PetscObject)pc;

  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetInfo_C", compose ? &GetInfo : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetChoice_C", compose ? &GetChoice : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetGridSizes_C", compose ? &GetGridSizes : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetGridInfo_C", compose ? &GetGridInfo : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "PCAuxAMGGetFailure_C", compose ? &WhySetUpFailed<PC_AuxAMG> : nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGGetInfo - Gets how many grids `PCAUXAMG` has, their complexity and their memory

   Collective

   Input Parameter:
.  pc - the preconditioner, after `PCSetUp()`

   Output Parameter:
.  info - see `TesseraGridsInfo`

   Level: intermediate

.seealso: `PCAUXAMG`, `PCAuxAMGGetChoice()`, `PCAuxAMGGetGridSizes()`, `PCAuxAMGGetGridInfo()`
@*/
PetscErrorCode PCAuxAMGGetInfo(PC pc, TesseraGridsInfo *info)
{
  TesseraGetValue(pc, "PCAuxAMGGetInfo_C", info);
}

/*@
   PCAuxAMGGetChoice - Gets what the setup of `PCAUXAMG` has chosen

   Collective

   Input Parameter:
.  pc - the preconditioner, after `PCSetUp()`

   Output Parameter:
.  choice - see `PCAuxAMGChoice`

   Level: advanced

.seealso: `PCAUXAMG`, `PCAuxAMGGetInfo()`
@*/
PetscErrorCode PCAuxAMGGetChoice(PC pc, PCAuxAMGChoice *choice)
{
  TesseraGetValue(pc, "PCAuxAMGGetChoice_C", choice);
}

/*@
   PCAuxAMGGetGridSizes - Gets the sizes of the grids of `PCAUXAMG`

   Collective

   Input Parameter:
.  pc - the preconditioner, after `PCSetUp()`

   Output Parameters:
+  grids - how many there are, the mesh among them
-  nodes - of each, the mesh first

   Level: intermediate

   Note:
   The array belongs to the preconditioner and stays until its next setup. Any output may be `NULL`.

.seealso: `PCAUXAMG`, `PCAuxAMGGetInfo()`, `PCAuxAMGGetGridInfo()`
@*/
PetscErrorCode PCAuxAMGGetGridSizes(PC pc, PetscInt *grids, const PetscInt *nodes[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  if (grids) PetscAssertPointer(grids, 2);
  if (nodes) PetscAssertPointer(nodes, 3);
  PetscUseMethod(pc, "PCAuxAMGGetGridSizes_C", (PC, PetscInt *, const PetscInt *[]), (pc, grids, nodes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGGetGridInfo - Gets what one of the grids of `PCAUXAMG` is

   Collective

   Input Parameters:
+  pc - the preconditioner, after `PCSetUp()`
-  grid - which one, 0 being the mesh

   Output Parameter:
.  info - see `PCAuxAMGGridInfo`

   Level: advanced

.seealso: `PCAUXAMG`, `PCAuxAMGGetInfo()`, `PCAuxAMGGetGridSizes()`
@*/
PetscErrorCode PCAuxAMGGetGridInfo(PC pc, PetscInt grid, PCAuxAMGGridInfo *info)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, grid, 2);
  PetscAssertPointer(info, 3);
  PetscUseMethod(pc, "PCAuxAMGGetGridInfo_C", (PC, PetscInt, PCAuxAMGGridInfo *), (pc, grid, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCAuxAMGGetFailure - Gets why the last setup of `PCAUXAMG` has failed

   Not Collective

   Input Parameter:
.  pc - the preconditioner

   Output Parameter:
.  failure - a text that belongs to the preconditioner and stays until its next setup; `NULL` where nothing has failed

   Level: intermediate

   Note:
   A solver around it ends with `KSP_DIVERGED_PC_FAILED` then.

.seealso: `PCAUXAMG`, `PCGetFailedReason()`
@*/
PetscErrorCode PCAuxAMGGetFailure(PC pc, const char *failure[])
{
  TesseraGetValue(pc, "PCAuxAMGGetFailure_C", failure);
}
