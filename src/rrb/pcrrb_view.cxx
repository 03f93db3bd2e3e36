// What -ksp_view says of PC rrb.
#include "core/tuning.hpp"
#include "rrb/pcrrb.hpp"

using tessera::PC_RRB;

const char *const tessera::Roughs[] = {"none", "more sweeps on the finest grid", "lines both ways, least squares, AMLI", "least squares, AMLI", "AMLI", "algebraic levels"};

PetscErrorCode tessera::ViewRRB(PC pc, PetscViewer viewer)
{
  PC_RRB   *r = (PC_RRB *)pc->data;
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->failed) PetscCall(PetscViewerASCIIPrintf(viewer, "  failed: %s\n", r->failure));
  if (!r->current || r->failed) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  coarsening %s, cycle %s, factors in %s precision\n", PCRRBCoarsenings[r->coarsening], PCRRBCycles[r->cycle], PCRRBPrecisions[r->precision]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  const tessera::rrb::Plan  &p = r->plan;
  const tessera::rrb::Level &f = p.levels[0];
  const char *const          used[] = {"v", "k", "amli"};
  double                     mine = (double)p.bytes(), bytes;
  int                        by_quarters = 0;
  PetscCallMPI(MPI_Allreduce(&mine, &bytes, 1, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)pc)));
  for (const tessera::rrb::Level &l : p.levels)
    if (!l.layout.natural) by_quarters = l.index + 1;
  const tessera::rrb::Algebraic *const algebraic = tessera::rrb::algebraic_levels(p);
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %d x %d nodes%s%s, ", f.grid.nx, f.grid.ny, f.grid.periodic_x ? ", periodic in x" : "", f.grid.periodic_y ? ", periodic in y" : ""));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  if (algebraic) PetscCall(PetscViewerASCIIPrintf(viewer, "%d algebraic levels below the finest grid's Schur complement\n", (int)algebraic->levels().size() - 1));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "%d levels on %d grids, then %d nodes exactly\n", p.factor_levels(), p.levels.back().index + 1, (int)p.band_x.size()));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  if (r->matrix.from()) PetscCall(PetscViewerASCIIPrintf(viewer, "  grid by the %s\n", r->matrix.from()));
  const bool galerkin = r->coarsening == PC_RRB_GALERKIN;
  if (galerkin) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  coarsening galerkin, interpolation %s, smoothers %s\n", PCRRBInterpolations[r->interpolation == PC_RRB_INTERPOLATION_AUTO ? (p.rough == tessera::rrb::Rough::lines || p.rough == tessera::rrb::Rough::fitted ? 2 : 1) : (int)r->interpolation], r->smoother == PC_RRB_SMOOTHER_AUTO ? "chosen for each grid" : "given"));
    const double with = p.rough == tessera::rrb::Rough::no ? 0 : p.predicted[(int)p.rough];
    const char  *trial = with > 0 ? "  trial: %.3g iterations expected with the usual choice; measures for rough coefficients: %s, %.3g expected\n" : "  trial: %.3g iterations expected with the usual choice; measures for rough coefficients: %s\n";
    if (algebraic && !(p.predicted[0] > 0)) PetscCall(PetscViewerASCIIPrintf(viewer, "  coefficients leap at %.3g %% of the nodes: %s, %.3g iterations expected\n", 100 * tessera::rrb::report(p, 0).shares.leaps, Roughs[(int)p.rough], with));
    if (p.predicted[0] > 0) PetscCall(PetscViewerASCIIPrintf(viewer, trial, p.predicted[0], Roughs[(int)p.rough], with));
    if (r->trial && (r->smoother != PC_RRB_SMOOTHER_AUTO || r->smooth || r->interpolation != PC_RRB_INTERPOLATION_AUTO || r->cycle != PC_RRB_CYCLE_AUTO)) PetscCall(PetscViewerASCIIPrintf(viewer, "  no trial, as smoother, sweeps, interpolation or cycle are given\n"));
  } else PetscCall(PetscViewerASCIIPrintf(viewer, "  coarsening %s, omega %g, lumping at %s nodes\n", PCRRBCoarsenings[r->coarsening], (double)r->omega, PCRRBLumps[r->lump]));
  if (p.cycle == tessera::rrb::Cycle::v) PetscCall(PetscViewerASCIIPrintf(viewer, "  cycle v%s\n", r->cycle == PC_RRB_CYCLE_AUTO ? " (auto)" : ""));
  else {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  cycle %s%s, %" PetscInt_FMT " steps on grids", used[(int)p.cycle], r->cycle == PC_RRB_CYCLE_AUTO ? " (auto)" : "", r->inner));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    for (const tessera::rrb::Level &l : p.levels)
      if (l.accelerated) PetscCall(PetscViewerASCIIPrintf(viewer, " %d", l.index));
    PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "  factors in %s precision%s, %d grids stored by quarters\n", p.params.single ? "single" : "double", p.exec.space == tessera::Space::cuda ? " on the CUDA device" : "", by_quarters));
  if (p.exec.space == tessera::Space::cuda && f.grid.processes() > 1) PetscCall(PetscViewerASCIIPrintf(viewer, "  messages between devices go %s\n", p.total ? "directly into each other's memory" : tessera::Halo::gpu_aware ? "through MPI" : "through the host"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  memory %.4g MB, %.4g bytes an unknown; operator complexity %.4g; an application moves %.4g bytes an unknown\n", bytes * 1e-6, bytes / (double)f.grid.size(), p.nonzeros, p.bytes_moved(false)));
  for (size_t l = 0; l < p.levels.size(); ++l) {
    const tessera::rrb::Level &g = p.levels[l];
    if (g.step == tessera::rrb::Step::gather) PetscCall(PetscViewerASCIIPrintf(viewer, "    grid %d: %d x %d, from here on every process\n", g.index, g.grid.nx, g.grid.ny));
    else if (g.step == tessera::rrb::Step::solve) PetscCall(PetscViewerASCIIPrintf(viewer, "    grid %d: %d x %d, exact%s\n", g.index, g.grid.nx, g.grid.ny, p.half ? " after one level" : ""));
    else if (galerkin) {
      const tessera::rrb::GridReport report = tessera::rrb::report(p, l);
      PetscCall(PetscViewerASCIIPrintf(viewer, "    grid %d: %d x %d, %s, %d sweep%s by %s; strong directions: i %.3g %%, j %.3g %%, oblique %.3g %%; complexity %.3g%s\n", g.index, g.grid.nx, g.grid.ny, report.of_schur ? "Schur complement" : "9 points", report.sweeps, report.sweeps > 1 ? "s" : "", PCRRBSmoothers[(int)report.smoother], 100 * report.shares.weak_y, 100 * report.shares.weak_x, 100 * report.shares.diagonal, report.complexity, g.cut_x || g.cut_y ? "; periodic seam lumped" : ""));
      if (algebraic && report.of_schur) {
        for (size_t k = 1; k < algebraic->levels().size(); ++k) {
          const tessera::rrb::AlgebraicLevel &a = algebraic->levels()[k];
          PetscCall(PetscViewerASCIIPrintf(viewer, "    algebraic level %d: %d rows, %.3g entries in each\n", (int)k, a.n, (double)a.j.size() / PetscMax(a.n, 1)));
        }
        break;
      }
      if (report.lakes) PetscCall(PetscViewerASCIIPrintf(viewer, "      %d loose parts, corrected by constants\n", report.lakes));
    } else {
      PetscCall(PetscViewerASCIIPrintf(viewer, "    grid %d: %d x %d, lumped %.3g of the diagonal%s", g.index, g.grid.nx, g.grid.ny, g.lumped, g.cut_x || g.cut_y ? ", periodic seam lumped" : ""));
      if (g.accelerated && p.cycle == tessera::rrb::Cycle::amli) PetscCall(PetscViewerASCIIPrintf(viewer, ", spectrum [%.3g, %.3g]", g.spectrum[0], g.spectrum[1]));
      PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
    }
  }
  if (r->report.dirichlet) PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt_FMT " Dirichlet rows (no off-diagonal entries)%s\n", r->report.dirichlet, r->dirichlet.any ? ", eliminated: neighbours are coupled to them" : ""));
  if (r->raised) PetscCall(PetscViewerASCIIPrintf(viewer, "  negative row sums (down to %.3g of the diagonal) are left out of the factors\n", -(double)r->report.deficit));
  if (r->report.asymmetry > tessera::tuning::symmetric) PetscCall(PetscViewerASCIIPrintf(viewer, "  the matrix is not symmetric (%.3g): the factors are those of the mean of the matrix and its transpose\n", (double)r->report.asymmetry));
  PetscFunctionReturn(PETSC_SUCCESS);
}
