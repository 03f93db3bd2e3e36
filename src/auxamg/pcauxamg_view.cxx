// What PC auxamg says of itself.
#include "auxamg/morton.hpp"
#include "auxamg/pcauxamg.hpp"
#include <cmath>

using tessera::PC_AuxAMG;

template <class H> std::vector<std::string> tessera::Doubts(const PC_AuxAMG *a, const H &h)
{
  std::vector<std::string> doubts;
  char                     text[256];
  double                   nonzeros = 0;
  for (const auto &l : h.levels()) nonzeros += l.nonzeros;
  const double complexity = nonzeros / PetscMax(h.levels()[0].nonzeros, 1);
  if (h.crowded() > 0) {
    (void)PetscSNPrintf(text, sizeof(text), "%.0f nodes lie in cells that cannot be split: they coincide, or sizes of elements are below 2^-%d (%.0e) of the mesh's extent, and are only smoothed", h.crowded(), tessera::auxamg::depth(a->params.dim), std::exp2(-tessera::auxamg::depth(a->params.dim)));
    doubts.push_back(text);
  }
  if (complexity > 4) {
    (void)PetscSNPrintf(text, sizeof(text), "operator complexity %.1f: are the coordinates those of the matrix' nodes, in its order?", complexity);
    doubts.push_back(text);
  }
  return doubts;
}
template std::vector<std::string> tessera::Doubts(const PC_AuxAMG *, const tessera::auxamg::Hierarchy<double> &);
template std::vector<std::string> tessera::Doubts(const PC_AuxAMG *, const tessera::auxamg::Hierarchy<float> &);

template <class H> static PetscErrorCode ViewHierarchy(PC pc, PetscViewer viewer, const H &h)
{
  PC_AuxAMG   *a = (PC_AuxAMG *)pc->data;
  const auto  &levels = h.levels();
  double       nonzeros = 0, nodes = 0, mine = (double)h.bytes(), bytes;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&mine, &bytes, 1, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)pc)));
  for (const auto &l : levels) {
    nonzeros += l.nonzeros;
    nodes += l.nodes;
  }
  const double all = PetscMax(levels[0].nodes, 1);
  PetscCall(PetscViewerASCIIPrintf(viewer, "  coordinates: %d dimensions, from %s; %" PetscInt_FMT " unknown%s a node\n", a->params.dim, a->from.c_str(), a->bs, a->bs > 1 ? "s" : ""));
  if (a->params.dim > 1 && (h.scale(1) != 1 || (a->params.dim > 2 && h.scale(2) != 1))) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  stretched by the couplings: 1 : %.3g", h.scale(1)));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    if (a->params.dim > 2) PetscCall(PetscViewerASCIIPrintf(viewer, " : %.3g", h.scale(2)));
    PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  }
  const auto &p = a->params;
  char        cycle[32] = "v";
  if (p.cycle == PC_AUXAMG_CYCLE_K) PetscCall(PetscSNPrintf(cycle, sizeof(cycle), "k of %d steps", p.inner));
  else if (h.visits() > 1) cycle[0] = 'w';
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %s %d nodes in a cell, %s interpolation, cycle %s, %s of degree %d, in %s precision%s\n", p.paper ? "uniform grids, in the mean at least" : "at most", p.most, p.paper ? "constant" : p.kuhn ? "kuhn" : "linear", cycle, PCAuxAMGSmoothers[(int)p.smoother + 1], h.degree(), a->in_single ? "single" : "double", a->exec.space == tessera::Space::cuda ? " on the CUDA device" : ""));
  if (h.filtered()) PetscCall(PetscViewerASCIIPrintf(viewer, "  interpolation smoothed for coefficients that jump%s\n", a->filter == PC_AUXAMG_FILTER_AUTO ? " (auto)" : ""));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %d grid%s, operator complexity %.3f, grid complexity %.3f; memory %.4g MB, %.4g bytes an unknown\n", (int)levels.size(), levels.size() > 1 ? "s" : "", nonzeros / PetscMax(levels[0].nonzeros, 1), nodes / all, bytes * 1e-6, bytes / (all * (double)a->bs)));
  // of the smoother: what it goes by
  const auto smoother = [&](const auto &l, char *text, size_t n) {
    text[0] = 0;
    if (!l.sweep.first.empty()) return PetscSNPrintf(text, n, ", %d colours", (int)l.sweep.first.size() - 1);
    return l.corners ? PetscSNPrintf(text, n, ", largest eigenvalue %.3f", l.lambda) : (PetscErrorCode)PETSC_SUCCESS;
  };
  char by[64];
  PetscCall(smoother(levels[0], by, sizeof(by)));
  PetscCall(PetscViewerASCIIPrintf(viewer, "    mesh: %.0f nodes, %.1f nodes a row%s\n", levels[0].nodes, levels[0].nonzeros / all / (double)(a->bs * a->bs), by));
  for (size_t l = 1; l < levels.size(); ++l) {
    PetscCall(smoother(levels[l], by, sizeof(by)));
    PetscCall(PetscViewerASCIIPrintf(viewer, "    grid %d: %.0f nodes in %d cells of levels %d to %d, %.0f hanging vertices, %.1f nodes a row%s\n", (int)l, levels[l].nodes, levels[l].leaves, levels[l].coarsest, levels[l].finest, levels[l].hanging, levels[l].nonzeros / PetscMax(levels[l].nodes, 1) / (double)(a->bs * a->bs), by));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "    the last exactly: %d unknowns, %d eigenvalues are zero\n", h.coarsest().n, h.coarsest().dropped));
  if (h.fixed() > 0) PetscCall(PetscViewerASCIIPrintf(viewer, "  %.0f Dirichlet rows (off-diagonal entries at most 1e-12 of the diagonal) take no part\n", h.fixed()));
  for (const std::string &doubt : Doubts(a, h)) PetscCall(PetscViewerASCIIPrintf(viewer, "  %s\n", doubt.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::ViewAuxAMG(PC pc, PetscViewer viewer)
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;
  PetscBool  ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  if (a->failed) PetscCall(PetscViewerASCIIPrintf(viewer, "  failed: %s\n", a->failure));
  if (!a->current) PetscCall(PetscViewerASCIIPrintf(viewer, "  variant %s, %s interpolation, cycle %s, smoother %s, precision %s\n", PCAuxAMGVariants[a->variant], PCAuxAMGInterpolations[a->interpolation], PCAuxAMGCycles[a->cycle], PCAuxAMGSmoothers[a->smoother], PCAuxAMGPrecisions[a->precision]));
  else if (a->in_double) PetscCall(ViewHierarchy(pc, viewer, *a->in_double));
  else PetscCall(ViewHierarchy(pc, viewer, *a->in_single));
  PetscFunctionReturn(PETSC_SUCCESS);
}
