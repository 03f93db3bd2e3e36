// What -ksp_view says of PC rrb.
#include "box/tuning.hpp"
#include "rrb/pcrrb.hpp"

using tessera::PC_RRB;

// Interpolation, smoothers and trial of the Galerkin form.
static PetscErrorCode ViewGalerkin(const PC_RRB *r, const PCRRBChoice &c, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  coarsening galerkin, interpolation %s, smoothers %s\n",
                                   PCRRBInterpolations[c.interpolation],
                                   r->options.smoother == PC_RRB_SMOOTHER_AUTO ? "chosen for each grid" : "given"));
  if (c.algebraic && !(c.usual > 0))
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  coefficients leap at %.3g %% of the nodes: %s, %.3g iterations expected\n",
                                     100 * (double)c.leaps, c.measures, (double)c.expected));
  if (c.usual > 0) {
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "  trial: %.3g iterations expected with the usual choice; measures for rough coefficients: %s",
      (double)c.usual, c.measures));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    if (r->plan.choice.remedy != tessera::rrb::Remedy::no && c.expected > 0)
      PetscCall(PetscViewerASCIIPrintf(viewer, ", %.3g expected", (double)c.expected));
    PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  }
  if (r->options.trial &&
      (r->options.smoother != PC_RRB_SMOOTHER_AUTO || r->options.sweeps ||
       r->options.interpolation != PC_RRB_INTERPOLATION_AUTO || r->options.cycle != PC_RRB_CYCLE_AUTO))
    PetscCall(PetscViewerASCIIPrintf(viewer, "  no trial, as smoother, sweeps, interpolation or cycle are given\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewCycle(PC pc, const PCRRBChoice &c, PetscInt grids, PetscViewer viewer)
{
  const PC_RRB *r = (const PC_RRB *)pc->data;
  PCRRBGridInfo g;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  cycle %s%s", PCRRBCycles[c.cycle],
                                   r->options.cycle == PC_RRB_CYCLE_AUTO ? " (auto)" : ""));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  if (c.cycle != PC_RRB_CYCLE_V)
    PetscCall(PetscViewerASCIIPrintf(viewer, ", %" PetscInt_FMT " steps on grids", r->options.inner));
  for (PetscInt k = 0; k < grids; ++k) {
    PetscCall(PCRRBGetGridInfo(pc, k, &g));
    if (g.accelerated) PetscCall(PetscViewerASCIIPrintf(viewer, " %" PetscInt_FMT, k));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewGrid(const PC_RRB *r, PetscInt k, const PCRRBGridInfo &g, PetscViewer viewer)
{
  PetscFunctionBegin;
  if (g.entries > 0)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "    algebraic level %" PetscInt_FMT ": %" PetscInt_FMT " rows, %.3g entries in each\n", k, g.nx,
      (double)g.entries));
  else if (g.exact)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "    grid %" PetscInt_FMT ": %" PetscInt_FMT " x %" PetscInt_FMT ", exact%s\n", k,
                                     g.nx, g.ny, r->plan.eliminate_last_red ? " after one level" : ""));
  else if (r->options.coarsening == PC_RRB_COARSENING_GALERKIN) {
    PetscCall(PetscViewerASCIIPrintf(
      viewer,
      "    grid %" PetscInt_FMT ": %" PetscInt_FMT " x %" PetscInt_FMT ", %s, %" PetscInt_FMT
      " sweep%s by %s; strong directions: i %.3g %%, j %.3g %%, oblique %.3g %%; complexity %.3g%s\n",
      k, g.nx, g.ny, g.schur ? "Schur complement" : "9 points", g.sweeps, g.sweeps > 1 ? "s" : "",
      PCRRBSmoothers[g.smoother], 100 * (double)g.strong_i, 100 * (double)g.strong_j, 100 * (double)g.oblique,
      (double)g.complexity, g.cut ? "; periodic seam lumped" : ""));
    if (g.parts)
      PetscCall(
        PetscViewerASCIIPrintf(viewer, "      %" PetscInt_FMT " loose parts, corrected by constants\n", g.parts));
  } else {
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "    grid %" PetscInt_FMT ": %" PetscInt_FMT " x %" PetscInt_FMT ", lumped %.3g of the diagonal%s", k,
      g.nx, g.ny, (double)g.lumped, g.cut ? ", periodic seam lumped" : ""));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    if (g.spectrum[1] > 0)
      PetscCall(
        PetscViewerASCIIPrintf(viewer, ", spectrum [%.3g, %.3g]", (double)g.spectrum[0], (double)g.spectrum[1]));
    PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewGrids(PC pc, PetscInt grids, PetscViewer viewer)
{
  const PC_RRB *r          = (const PC_RRB *)pc->data;
  PetscBool     everywhere = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < grids; ++k) {
    PCRRBGridInfo g;
    PetscCall(PCRRBGetGridInfo(pc, k, &g));
    if (g.everywhere && !everywhere && g.entries > 0)
      PetscCall(PetscViewerASCIIPrintf(viewer, "    from here on every process:\n"));
    else if (g.everywhere && !everywhere)
      PetscCall(PetscViewerASCIIPrintf(
        viewer, "    grid %" PetscInt_FMT ": %" PetscInt_FMT " x %" PetscInt_FMT ", from here on every process\n", k,
        g.nx, g.ny));
    everywhere = g.everywhere;
    PetscCall(ViewGrid(r, k, g, viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::ViewRRB(PC pc, PetscViewer viewer)
{
  const PC_RRB    *r = (const PC_RRB *)pc->data;
  PetscBool        ascii;
  const char      *failure;
  TesseraGridsInfo info;
  PCRRBChoice      c;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCRRBGetFailure(pc, &failure));
  if (failure) PetscCall(PetscViewerASCIIPrintf(viewer, "  failed: %s\n", failure));
  if (r->three) {
    PetscCall(ViewThree(pc, viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!r->current || failure) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  coarsening %s, cycle %s, factors in %s precision\n",
                                     PCRRBCoarsenings[r->options.coarsening], PCRRBCycles[r->options.cycle],
                                     TesseraPrecisions[r->options.precision]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCRRBGetInfo(pc, &info));
  PetscCall(PCRRBGetChoice(pc, &c));
  const tessera::Grid &f = r->plan.levels[0].grid;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %d x %d nodes%s%s, ", f.nx, f.ny, f.periodic_x ? ", periodic in x" : "",
                                   f.periodic_y ? ", periodic in y" : ""));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  if (c.algebraic)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "%" PetscInt_FMT " algebraic levels below the finest grid's Schur complement\n", c.algebraic));
  else
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "%" PetscInt_FMT " levels on %" PetscInt_FMT " grid%s, the last %" PetscInt_FMT " nodes solved exactly\n",
      c.levels, info.grids, info.grids > 1 ? "s" : "", info.exact));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  if (r->matrix.from()) PetscCall(PetscViewerASCIIPrintf(viewer, "  grid by the %s\n", r->matrix.from()));
  if (c.coarsening == PC_RRB_COARSENING_GALERKIN) PetscCall(ViewGalerkin(r, c, viewer));
  else
    PetscCall(PetscViewerASCIIPrintf(viewer, "  coarsening %s, omega %g, lumping at %s nodes\n",
                                     PCRRBCoarsenings[c.coarsening], (double)r->options.omega,
                                     PCRRBLumps[r->options.lump]));
  PetscCall(ViewCycle(pc, c, info.grids, viewer));
  const bool on_device = info.backend == TESSERA_BACKEND_CUDA;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  factors in %s precision%s, %" PetscInt_FMT " grid%s stored by quarters\n",
                                   TesseraPrecisions[info.precision], on_device ? " on the CUDA device" : "",
                                   c.quarters, c.quarters == 1 ? "" : "s"));
  if (on_device && f.processes() > 1)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  messages between devices go %s\n",
                                     r->plan.total              ? "directly into each other's memory"
                                     : tessera::Halo::gpu_aware ? "through MPI"
                                                                : "through the host"));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  memory %.4g MB, %.4g bytes per unknown; operator complexity %.4g, "
                                   "grid complexity %.4g; an application moves %.4g bytes per unknown\n",
                                   (double)info.bytes * 1e-6, (double)(info.bytes / info.unknowns),
                                   (double)info.operator_complexity, (double)info.grid_complexity, (double)c.moved));
  PetscCall(ViewGrids(pc, info.grids, viewer));
  if (info.dirichlet)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt_FMT " Dirichlet rows (no off-diagonal entries)%s\n",
                                     info.dirichlet,
                                     r->dirichlet.any ? ", eliminated: neighbors are coupled to them" : ""));
  if (r->raised)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "  negative row sums (down to %.3g of the diagonal) are left out of the factors\n", -(double)c.deficit));
  if (c.asymmetry > tessera::tuning::symmetric)
    PetscCall(PetscViewerASCIIPrintf(
      viewer,
      "  the matrix is not symmetric (%.3g): the factors are those of the mean of the matrix and its transpose\n",
      (double)c.asymmetry));
  PetscFunctionReturn(PETSC_SUCCESS);
}
