// What rrb does otherwise on a device than on the host. create() takes one of two columns, which strategy.cxx has side
// by side; from then on a plan asks for the decision, not for the space.
#pragma once
#include "exec/device.hpp"
#include <vector>

namespace tessera::rrb {

// What helps where coefficients jump.
enum class Remedy {
  no,
  sweeps,        // more sweeps on S1
  lines,         // lines in both directions, least-squares interpolation and the AMLI cycle
  fitted,        // least-squares interpolation and AMLI, the usual smoothers
  fitted_sweeps, // the same, with more sweeps on S1
  amli,          // AMLI alone
  algebraic,     // algebraic levels in place of the grids below S1
  count
};

struct Strategy {
  // ---- the grids
  int  layers;        // ghost layers of a distributed grid that is not periodic
  long redundant;     // a distributed grid below the finest of at most so many nodes goes to every process
  long last_nodes;    // the last grid has at most so many nodes; 0: as many as a band factorization makes cheap
  long inverse_nodes; // of the last grid: up to so many have a dense inverse, more a band matrix on the host; 0: none
  bool dense_cycles;  // cycles from small grids down are matrices
  bool few_cycles;    // the automatic K, AMLI or W visits small grids once
  bool peers;         // processes write into each other's memory, where they can
  // ---- sweeps
  bool marches;       // a grid is swept down and up in one kernel each, where it can be
  bool wavefronts;    // sweeps of several colors pass through a grid together
  bool fused_steps;   // steps of K and AMLI in a few kernels, whose scalars stay where they are
  bool whole_solve;   // KSP rrb launches whole iterations
  bool several;       // several vectors are worked on together
  bool rows_in_cache; // a few rows stay in a cache: strips of the lumped form are short, and vectors come by rows
  int  rough_sweeps;  // on S1 where coefficients jump
  // ---- setup
  bool notes;         // kernels note what is wrong, and the host looks once, at the end
  bool joint;         // one kernel makes what is made of the same values: S1 and weights, copies in single precision
  bool keeps_work;    // memory that a setup works in stays for the next one
  bool overwrites;    // the reader of a matrix writes whatever is looked at, over what was there
  // ---- rough coefficients
  bool   single;      // the automatic precision of the Galerkin form is single, where the method around it stands it
  bool   algebraic;   // algebraic levels may be made
  bool   slow_lines;  // lines, which a thread or a warp follows, and AMLI with more sweeps take much longer than points
  std::vector<Remedy> many, few; // what is tried where jumps are many or few, in this order
  // ---- memory traffic in bytes, for views
  double cg_bytes;    // of a CG step on S1, a node
  double s1_values;   // that a pass of sweeps by points on S1 reads and writes, a node
};

const Strategy &strategy_of(Space space);

} // namespace tessera::rrb
