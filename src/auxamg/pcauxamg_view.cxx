// What PC auxamg says of itself.
#include "tree/cells/morton.hpp"
#include "auxamg/pcauxamg.hpp"
#include "petsc/shell.hpp"
#include <cmath>

using tessera::PC_AuxAMG;

template <class H> std::vector<std::string> tessera::Doubts(const PC_AuxAMG *a, const H &h)
{
  std::vector<std::string> doubts;
  char                     text[320];
  const double             complexity = ComplexityOf(h).entries;
  if (h.crowded() > 0) {
    (void)PetscSNPrintf(text, sizeof(text),
                        "%.0f nodes lie in cells that cannot be split and are only smoothed: they coincide, or sizes "
                        "of elements are below 2^-%d (%.0e) of the mesh's extent. Is a point far from all others, or "
                        "are the coordinates of a node not beside each other?",
                        h.crowded(), tessera::tree::depth(a->params.dim),
                        std::exp2(-tessera::tree::depth(a->params.dim)));
    doubts.push_back(text);
  }
  if (complexity > 4) {
    (void)PetscSNPrintf(text, sizeof(text),
                        "operator complexity %.1f: are the coordinates those of the matrix' nodes, in its order? If "
                        "so, -pc_auxamg_cell_size %d makes smaller grids",
                        complexity, 2 * a->params.cell_size);
    doubts.push_back(text);
  }
  return doubts;
}
template std::vector<std::string> tessera::Doubts(const PC_AuxAMG *, const tessera::tree::Hierarchy<double> &);
template std::vector<std::string> tessera::Doubts(const PC_AuxAMG *, const tessera::tree::Hierarchy<float> &);

// Of the smoother: what it goes by.
static PetscErrorCode SmootherOf(const PCAuxAMGGridInfo &g, char *text, size_t n)
{
  PetscFunctionBegin;
  text[0] = 0;
  if (g.colors) PetscCall(PetscSNPrintf(text, n, ", %" PetscInt_FMT " colors", g.colors));
  else if (g.eigenvalue > 0) PetscCall(PetscSNPrintf(text, n, ", largest eigenvalue %.3f", (double)g.eigenvalue));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What is done for coefficients that jump
static PetscErrorCode ViewJumps(PC_AuxAMG *a, const PCAuxAMGChoice &c, PetscViewer viewer)
{
  using tessera::tree::BodyFunctions;
  bool          on_coarse_grids = false;
  BodyFunctions bodies = BodyFunctions::none;

  PetscFunctionBegin;
  if (c.filtered)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  interpolation smoothed for coefficients that jump%s\n",
                                     a->options.filter == PC_AUXAMG_FILTER_AUTO ? " (auto)" : ""));
  TesseraCallCXX(tessera::WithHierarchy(a, [&](const auto &h) {
    for (size_t l = 1; l < h.levels().size(); ++l) on_coarse_grids |= h.levels()[l].blocks.part_functions.any();
    bodies = h.body_functions();
  }));
  if (bodies != BodyFunctions::none)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %s: %s\n", a->bs > 1 ? "stiff bodies" : "inclusions",
                                     bodies == BodyFunctions::too_many ? "too many for functions of their own"
                                              : "coarse grids have functions of their own for each"));
  if (c.parts > 0)
    PetscCall(PetscViewerASCIIPrintf(
      viewer,
      "  %.0f %s: the smoother has functions of %s%s\n", (double)c.parts,
      c.parts > 1 ? "parts of the mesh that hardly anything ties to each other"
                  : "part of the mesh that hardly anything ties to the rest",
      c.parts > 1 ? "each" : "it", on_coarse_grids ? ", on coarse grids, too" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewHierarchy(PC pc, PetscViewer viewer)
{
  PC_AuxAMG       *a = (PC_AuxAMG *)pc->data;
  TesseraGridsInfo info;
  PCAuxAMGChoice   c;
  PCAuxAMGGridInfo g;
  char             cycle[32], by[64];

  PetscFunctionBegin;
  PetscCall(PCAuxAMGGetInfo(pc, &info));
  PetscCall(PCAuxAMGGetChoice(pc, &c));
  PetscCall(PetscViewerASCIIPrintf(
    viewer, "  coordinates: %" PetscInt_FMT " dimension%s, from %s; %" PetscInt_FMT " unknown%s per node\n",
    c.dimension, c.dimension > 1 ? "s" : "", c.coordinates, c.block, c.block > 1 ? "s" : ""));
  if (c.stretch[1] != 1 || c.stretch[2] != 1) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  stretched by the couplings: 1 : %.3g", (double)c.stretch[1]));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    if (c.dimension > 2) PetscCall(PetscViewerASCIIPrintf(viewer, " : %.3g", (double)c.stretch[2]));
    PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  }
  const bool aggregation = c.variant == PC_AUXAMG_AGGREGATION;
  if (c.cycle == PC_AUXAMG_CYCLE_K)
    PetscCall(PetscSNPrintf(cycle, sizeof(cycle), "k of %" PetscInt_FMT " steps", c.inner));
  else PetscCall(PetscStrncpy(cycle, PCAuxAMGCycles[c.cycle], sizeof(cycle)));
  bool convective = false, symmetric = false, joined = false;
  int  twice = 0;
  TesseraCallCXX(tessera::WithHierarchy(
    a, [&](const auto &h) {
      convective = h.convective(), symmetric = h.symmetric(), joined = h.peers(), twice = h.twice();
    }));
  if (c.cycle == PC_AUXAMG_CYCLE_W && twice < info.grids - 2)
    PetscCall(PetscSNPrintf(cycle, sizeof(cycle), "w, v from grid number %d on", twice));
  PetscCall(PetscViewerASCIIPrintf(
    viewer,
    "  %s %" PetscInt_FMT " nodes in a cell, %s interpolation, cycle %s, %s of degree %" PetscInt_FMT
    ", in %s precision%s\n",
    aggregation ? "uniform grids, in the mean at least" : "at most", c.cell_size,
    aggregation ? "constant" : PCAuxAMGInterpolations[c.interpolation], cycle, PCAuxAMGSmoothers[c.smoother], c.degree,
    TesseraPrecisions[info.precision], info.backend == TESSERA_BACKEND_CUDA ? " on the CUDA device" : ""));
  PetscCall(ViewJumps(a, c, viewer));
  PetscCall(tessera::ViewMessages((PetscObject)pc, viewer, info.backend, joined));
  if (!symmetric) PetscCall(PetscViewerASCIIPrintf(viewer, "  the matrix is not symmetric\n"));
  if (convective)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  operators of the grids stabilized: convection prevails\n"));
  PetscCall(PetscViewerASCIIPrintf(
    viewer,
    "  %" PetscInt_FMT
    " grid%s, operator complexity %.3f, grid complexity %.3f; memory %.4g MB, %.4g bytes per unknown\n",
    info.grids, info.grids > 1 ? "s" : "", (double)info.operator_complexity, (double)info.grid_complexity,
    (double)info.bytes * 1e-6, (double)(info.bytes / PetscMax(info.unknowns, 1))));
  for (PetscInt k = 0; k < info.grids; ++k) {
    PetscCall(PCAuxAMGGetGridInfo(pc, k, &g));
    PetscCall(SmootherOf(g, by, sizeof(by)));
    if (k)
      PetscCall(PetscViewerASCIIPrintf(viewer,
                                       "    grid %" PetscInt_FMT ": %" PetscInt_FMT " nodes in %" PetscInt_FMT
                                       " cells of levels %" PetscInt_FMT " to %" PetscInt_FMT ", %" PetscInt_FMT
                                       " hanging vertices, %.1f nodes per row%s\n",
                                       k, g.nodes, g.cells, g.coarsest, g.finest, g.hanging, (double)g.row, by));
    else
      PetscCall(PetscViewerASCIIPrintf(viewer, "    mesh: %" PetscInt_FMT " nodes, %.1f nodes per row%s\n", g.nodes,
                                       (double)g.row, by));
  }
  PetscCall(PetscViewerASCIIPrintf(
    viewer, "    the last exactly: %" PetscInt_FMT " unknown%s, %" PetscInt_FMT " eigenvalue%s zero\n", info.exact,
    info.exact == 1 ? "" : "s", c.dropped, c.dropped == 1 ? " is" : "s are"));
  if (info.dirichlet)
    PetscCall(PetscViewerASCIIPrintf(
      viewer, "  %" PetscInt_FMT " Dirichlet rows (off-diagonal entries at most 1e-12 of the diagonal) take no part\n",
      info.dirichlet));
  std::vector<std::string> doubts;
  TesseraCallCXX(tessera::WithHierarchy(a, [&](const auto &h) { doubts = tessera::Doubts(a, h); }));
  for (const std::string &doubt : doubts) PetscCall(PetscViewerASCIIPrintf(viewer, "  %s\n", doubt.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::ViewAuxAMG(PC pc, PetscViewer viewer)
{
  PC_AuxAMG  *a = (PC_AuxAMG *)pc->data;
  PetscBool   ascii;
  const char *failure;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCAuxAMGGetFailure(pc, &failure));
  if (failure) PetscCall(PetscViewerASCIIPrintf(viewer, "  failed: %s\n", failure));
  if (!a->current)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  variant %s, %s interpolation, cycle %s, smoother %s, precision %s\n",
                                     PCAuxAMGVariants[a->options.variant],
                                     PCAuxAMGInterpolations[a->options.interpolation], PCAuxAMGCycles[a->options.cycle],
                                     PCAuxAMGSmoothers[a->options.smoother], TesseraPrecisions[a->options.precision]));
  else PetscCall(ViewHierarchy(pc, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
