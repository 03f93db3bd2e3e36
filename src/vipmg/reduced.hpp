// The linear complementarity problem of a step by systems of its inactive nodes, for what cycles are too slow on.
#pragma once
#include "petsc/hooks.hpp"
#include <petscsnes.h>

namespace tessera::vipmg {

// J (Y - X) = -F between the bounds in place of its multigrid cycles.
struct StepProblem {
  PetscObject solver;
  const char *prefix;     // of the options of the KSP, behind the solver's
  Mat         J;
  Vec         X, F, XL, XU;
  bool        symmetric;
  int         dimension;  // of the grid
  double      target;     // a natural residual that suffices
  DM          grid;       // a DMDA that PC rrb takes, or nullptr
};

// A semismooth Newton method, as of Hintermueller, Ito and Kunisch, SIAM J. Optim. 13 (2003). Y: a guess, then the
// best point found, between the bounds. iterations: of the KSP.
PetscErrorCode SolveReduced(const StepProblem &problem, Vec Y, PetscInt *iterations);

} // namespace tessera::vipmg
