#include "rrb/strategy.hpp"
#include "box/tuning.hpp"
#include "exec/strategy.hpp"
#include "rrb/multigrid/march.hpp"

namespace tessera::rrb {

namespace {

// The host: few nodes take little time, caches hold what a wavefront works on, and each step is quick to look at.
Strategy on_host()
{
  Strategy s;
  s.layers        = 1;
  s.redundant     = tuning::redundant_nodes;
  s.last_nodes    = 0;
  s.inverse_nodes = 0;
  s.dense_cycles = s.few_cycles = s.peers = false;
  s.marches = s.fused_steps = s.whole_solve = false;
  s.wavefronts = s.several = s.rows_in_cache = true;
  s.rough_sweeps = tuning::rough_sweeps;
  s.notes = s.joint = s.keeps_work = s.overwrites = false;
  s.single     = false;
  s.algebraic  = true;
  s.slow_lines = false;
  s.many       = {Remedy::no, Remedy::sweeps, Remedy::lines};
  s.few        = {Remedy::no, Remedy::fitted, Remedy::lines};
  s.cg_bytes   = 72;
  s.s1_values  = 5.5;
  return s;
}

// A device: a launch takes as long as the work of a small grid, and to look at a result is to wait.
Strategy on_device()
{
  Strategy s;
  s.layers        = march_layers;
  s.redundant     = tuning::redundant_on_device;
  s.last_nodes    = tuning::dense_nodes;
  s.inverse_nodes = tuning::dense_maximum;
  s.dense_cycles = s.few_cycles = s.peers = true;
  s.marches = s.fused_steps = s.whole_solve = true;
  s.wavefronts = s.several = s.rows_in_cache = false;
  s.rough_sweeps = tuning::rough_sweeps_on_device;
  s.notes = s.joint = s.overwrites = true;
  s.keeps_work = true; // the pool would hold it anyway
  s.single     = true;
  s.algebraic  = false;
  s.slow_lines = true;
  // the last grid is small, so that few jumps may be a matter of the cycle
  s.many      = {Remedy::no, Remedy::sweeps, Remedy::fitted_sweeps, Remedy::lines};
  s.few       = {Remedy::no, Remedy::amli, Remedy::fitted, Remedy::lines};
  s.cg_bytes  = 56; // the direction is made with the product, and x in every other step
  s.s1_values = 5;
  return s;
}

} // namespace

const Strategy &strategy_of(Space space) { return column_of<on_host, on_device>(space); }

} // namespace tessera::rrb
