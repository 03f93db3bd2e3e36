// What SNES and Tao vipmg have made and chosen, by functions, and their view, which prints what they give.
#include "vipmg/snesvipmg.hpp"
#include "petsc/shell.hpp"

using namespace tessera;
using vipmg::Newton;
using vipmg::TreeProblem;

static PetscErrorCode CheckSetUp(const Newton &newton, PetscObject solver)
{
  PetscFunctionBegin;
  PetscCheck(newton.built(), PetscObjectComm(solver), PETSC_ERR_ORDER,
             "vipmg has no grids yet: the first solve makes them, after the Jacobian of its starting point%s%s",
             newton.failure[0] ? ", which was of no use: " : "", newton.failure);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode vipmg::InfoOf(const Newton &newton, PetscObject solver, TesseraGridsInfo *info)
{
  PetscReal nodes = 0, entries = 0;

  PetscFunctionBegin;
  PetscCall(CheckSetUp(newton, solver));
  const Plan &p = newton.plan;
  *info = TesseraGridsInfo();
  info->dirichlet = newton.report.dirichlet;
  info->backend   = BackendOf(p.exec.space);
  info->precision = TESSERA_PRECISION_DOUBLE;
  if (newton.on_tree) {
    const TreeProblem     &tree = *newton.mesh.problem();
    const PetscReal        mine = (PetscReal)tree.bytes();
    const auto            &grid = tree.tree().levels();
    info->grids    = (PetscInt)grid.size();
    info->unknowns = grid[0].nodes * grid[0].bs + info->dirichlet;
    for (const auto &l : grid) nodes += l.nodes * l.bs, entries += l.nonzeros;
    info->grid_complexity     = nodes / PetscMax(grid[0].nodes * grid[0].bs, 1);
    info->operator_complexity = entries / PetscMax(grid[0].nonzeros, 1);
    PetscCallMPI(MPI_Allreduce(&mine, &info->bytes, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm(solver)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  info->grids = (PetscInt)p.levels.size();
  for (const Level &l : p.levels) {
    const PetscReal n = (PetscReal)l.nodes();
    if (&l == p.levels.data()) info->unknowns = n;
    nodes += n;
    entries += n * points(p.dimension, l.A.box);
  }
  info->grid_complexity     = nodes / info->unknowns;
  info->operator_complexity = entries / (info->unknowns * points(p.dimension, p.levels[0].A.box));
  const PetscReal mine      = (PetscReal)p.bytes();
  PetscCallMPI(MPI_Allreduce(&mine, &info->bytes, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm(solver)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Before there are grids: what is known.
static SNESVIPMGChoice Choice(const Newton &newton, const vipmg::Params &params)
{
  const vipmg::Plan  &plan = newton.plan;
  const vipmg::Params p    = resolve(plan, params);
  SNESVIPMGChoice     c    = SNESVIPMGChoice();
  c.variant   = (SNESVIPMGVariant)(int)p.variant; // the same order
  c.cycle     = (SNESVIPMGCycle)(int)p.cycle;     // the same order
  c.pre       = p.pre;
  c.post      = p.post;
  c.omega     = p.omega;
  c.fmg       = p.fmg ? PETSC_TRUE : PETSC_FALSE;
  c.dimension = plan.dimension;
  c.symmetric = plan.symmetric ? PETSC_TRUE : PETSC_FALSE;
  if (newton.on_tree) {
    c.pre  = p.pre ? p.pre : TreeProblem::sweeps;
    c.post = 0;
    if (!newton.built()) return c;
    c.dimension = newton.mesh.problem()->tree().dim();
    c.symmetric = newton.mesh.problem()->symmetric() ? PETSC_TRUE : PETSC_FALSE;
    return c;
  }
  if (!plan.levels.empty() && plan.levels[0].A.box) c.box = PETSC_TRUE;
  for (const vipmg::Level &l : plan.levels) c.lines_x += l.lines[0], c.lines_y += l.lines[1];
  return c;
}

PetscErrorCode vipmg::ChoiceOf(const Newton &newton, PetscObject solver, SNESVIPMGChoice *choice)
{
  PetscFunctionBegin;
  PetscCall(CheckSetUp(newton, solver));
  *choice = Choice(newton, newton.plan.params);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode vipmg::GridSizesOf(Newton &newton, PetscObject solver, PetscInt *grids, const PetscInt *sizes[])
{
  PetscFunctionBegin;
  PetscCall(CheckSetUp(newton, solver));
  TesseraCallCXX({
    newton.sizes.clear();
    if (newton.on_tree)
      for (const auto &l : newton.mesh.problem()->tree().levels())
        newton.sizes.insert(newton.sizes.end(), {(PetscInt)l.nodes, 1, 1});
    for (const Level &l : newton.plan.levels) newton.sizes.insert(newton.sizes.end(), l.n, l.n + 3);
  });
  if (grids) *grids = (PetscInt)newton.sizes.size() / 3;
  if (sizes) *sizes = newton.sizes.data();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewTree(const Newton &newton, PetscObject solver, PetscViewer viewer)
{
  TesseraGridsInfo info;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  truncated Newton multigrid on the levels of a tree; full multigrid "
                                           "start: %s\n", newton.options.params.fmg ? "yes" : "no"));
  if (!newton.built()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(vipmg::InfoOf(newton, solver, &info));
  std::string grids;
  for (const auto &l : newton.mesh.problem()->tree().levels()) grids += " " + std::to_string((long)l.nodes);
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  nodes of the grids:%s; %" PetscInt_FMT " unknowns per node, coordinates of %s\n",
                                   grids.c_str(), newton.mesh.block(), newton.mesh.from().c_str()));
  PetscCall(PetscViewerASCIIPrintf(
    viewer,
    "  %s, %" PetscInt_FMT " unknowns in Dirichlet rows; operator complexity %.4g, grid complexity %.4g; %.3g MB on "
    "the %s\n",
    newton.mesh.problem()->symmetric() ? "symmetric" : "not symmetric", info.dirichlet,
    (double)info.operator_complexity, (double)info.grid_complexity, (double)info.bytes * 1e-6,
    info.backend == TESSERA_BACKEND_CUDA ? "device" : "host"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode vipmg::ViewNewton(const Newton &newton, PetscObject solver, PetscViewer viewer)
{
  const SNESVIPMGChoice c = Choice(newton, newton.plan.levels.empty() ? newton.options.params : newton.plan.params);
  TesseraGridsInfo      info;

  PetscFunctionBegin;
  if (newton.failure[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "  failed: %s\n", newton.failure));
  if (newton.on_tree) {
    PetscCall(ViewTree(newton, solver, viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  %s %s-cycles with %" PetscInt_FMT " sweeps before and %" PetscInt_FMT
                                   " after the coarse correction, omega %g; full multigrid start: %s\n",
                                   SNESVIPMGVariants[c.variant], SNESVIPMGCycles[c.cycle], c.pre, c.post,
                                   (double)c.omega, c.fmg ? "yes" : "no"));
  if (!newton.plan.built) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(InfoOf(newton, solver, &info));
  std::string grids;
  for (const Level &l : newton.plan.levels) {
    grids += " " + std::to_string(l.n[0]);
    for (PetscInt d = 1; d < c.dimension; ++d) grids += "x" + std::to_string(l.n[d]);
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "  grids:%s\n", grids.c_str()));
  if (c.lines_x || c.lines_y)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "  linear sweeps by lines: along x on %" PetscInt_FMT " grids, along y on %" PetscInt_FMT "\n", c.lines_x,
      c.lines_y));
  PetscCall(
    PetscViewerASCIIPrintf(viewer,
                           "  %s stencil, %s, %" PetscInt_FMT
                           " Dirichlet rows; operator complexity %.4g, grid complexity %.4g; %.3g MB on the %s\n",
                           c.box ? "box" : "star", c.symmetric ? "symmetric" : "not symmetric", info.dirichlet,
                           (double)info.operator_complexity, (double)info.grid_complexity, (double)info.bytes * 1e-6,
                           info.backend == TESSERA_BACKEND_CUDA ? "device" : "host"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode vipmg::PrintCycle(PetscObject solver, PetscInt cycle, const Norms &n)
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PetscObjectComm(solver),
                        "    %3" PetscInt_FMT
                        " cycle, model: inactive norm %.6e natural residual %.6e active lower %.0f upper %.0f\n",
                        cycle, (double)n.inactive, (double)n.natural, (double)n.lower, (double)n.upper));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static Newton &NewtonOf(SNES snes)
{
  return ((SNES_VIPMG *)snes->data)->newton;
}

static PetscErrorCode GetFailure(SNES snes, const char *failure[])
{
  PetscFunctionBegin;
  const Newton &newton = NewtonOf(snes);
  *failure = newton.failure[0] ? newton.failure : nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode vipmg::ComposeInfo(SNES snes, bool on)
{
  PetscObject o = (PetscObject)snes;

  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPMGGetInfo_C", on ? (GetInfo<SNES_VIPMG, SNES>) : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPMGGetChoice_C", on ? (GetChoice<SNES_VIPMG, SNES>) : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPMGGetGridSizes_C", on ? (GetGridSizes<SNES_VIPMG, SNES>) : nullptr));
  PetscCall(PetscObjectComposeFunction(o, "SNESVIPMGGetFailure_C", on ? GetFailure : nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGGetInfo - Gets how many grids `SNESVIPMG` has, their complexity and their memory

   Collective

   Input Parameter:
.  snes - the solver, after a `SNESSolve()`

   Output Parameter:
.  info - see `TesseraGridsInfo`

   Level: intermediate

.seealso: `SNESVIPMG`, `SNESVIPMGGetChoice()`, `SNESVIPMGGetGridSizes()`
@*/
PetscErrorCode SNESVIPMGGetInfo(SNES snes, TesseraGridsInfo *info)
{
  TesseraGetValue(snes, "SNESVIPMGGetInfo_C", info);
}

/*@
   SNESVIPMGGetChoice - Gets the cycle and the smoothers that `SNESVIPMG` has chosen

   Collective

   Input Parameter:
.  snes - the solver, after a `SNESSolve()`

   Output Parameter:
.  choice - see `SNESVIPMGChoice`

   Level: advanced

.seealso: `SNESVIPMG`, `SNESVIPMGGetInfo()`
@*/
PetscErrorCode SNESVIPMGGetChoice(SNES snes, SNESVIPMGChoice *choice)
{
  TesseraGetValue(snes, "SNESVIPMGGetChoice_C", choice);
}

/*@
   SNESVIPMGGetGridSizes - Gets the sizes of the grids of `SNESVIPMG`

   Collective

   Input Parameter:
.  snes - the solver, after a `SNESSolve()`

   Output Parameters:
+  grids - how many there are
-  sizes - three numbers of each, the finest grid first: nodes along each direction, 1 along one that it does not have

   Level: intermediate

   Note:
   The array belongs to the solver and stays until its next solve. Any output may be `NULL`.

.seealso: `SNESVIPMG`, `SNESVIPMGGetInfo()`
@*/
PetscErrorCode SNESVIPMGGetGridSizes(SNES snes, PetscInt *grids, const PetscInt *sizes[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(snes, SNES_CLASSID, 1);
  if (grids) PetscAssertPointer(grids, 2);
  if (sizes) PetscAssertPointer(sizes, 3);
  PetscUseMethod(snes, "SNESVIPMGGetGridSizes_C", (SNES, PetscInt *, const PetscInt *[]), (snes, grids, sizes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   SNESVIPMGGetFailure - Gets why the last solve of `SNESVIPMG` could not go on

   Not Collective

   Input Parameter:
.  snes - the solver

   Output Parameter:
.  failure - a text that belongs to the solver and stays until its next solve; `NULL` where nothing has failed but, it
     may be, a convergence test

   Level: intermediate

.seealso: `SNESVIPMG`, `SNESGetConvergedReason()`
@*/
PetscErrorCode SNESVIPMGGetFailure(SNES snes, const char *failure[])
{
  TesseraGetValue(snes, "SNESVIPMGGetFailure_C", failure);
}
