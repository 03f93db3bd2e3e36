// What vipmg does otherwise on a device than on the host: two columns, which strategy.cxx has side by side. A plan asks
// for the decision, not for the space.
#pragma once
#include "exec/device.hpp"

namespace tessera::vipmg {

struct Strategy {
  // ---- cycles
  bool cheap_coarse; // small grids take little time: the automatic cycle visits them more often without symmetry
  int  sweeps;       // of an automatic V-cycle before and after the coarse correction
  bool looks;        // the host looks at the sums of a cycle, which else stay where kernels read them
  bool factorises;   // systems of few unknowns are as cheap as some cycles
  bool records;      // cycles are recorded as graphs, where nothing has to be asked of other processes
  // ---- sweeps
  bool follows_wind; // where convection prevails sweeps go in its order
  bool passes;       // a thread alone does several steps in one pass, a few rows at a time
  bool tiles;        // levels work by tiles, where they can
  bool joint_halves; // both halves of a color are one launch
  bool whole_lines;  // a block of threads relaxes a line that one process has, where it fits
  // ---- setup
  bool direct_product; // P'AP in one kernel, where the grid is coarsened in both directions of a plane
  bool late_stretches; // blocks look for stretches of equal stencils when the next grid is made; else they are found
                       // along with the inverse diagonal
};

const Strategy &strategy_of(Space space);

} // namespace tessera::vipmg
