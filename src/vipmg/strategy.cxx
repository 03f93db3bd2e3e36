#include "vipmg/strategy.hpp"
#include "exec/strategy.hpp"

namespace tessera::vipmg {

namespace {

// The host: a few rows stay in a cache, and each step is quick to look at.
Strategy on_host()
{
  Strategy s;
  s.cheap_coarse = true;
  s.sweeps       = 2;
  s.looks        = s.factorises = true;
  s.records      = false;
  s.follows_wind = s.passes = true;
  s.tiles = s.joint_halves = s.whole_lines = false;
  s.direct_product = s.late_stretches = false;
  return s;
}

// A device: a small grid takes as long as a large one, a launch as long as its work, and to look at a result is to
// wait. Kernels take one sweep along.
Strategy on_device()
{
  Strategy s;
  s.cheap_coarse = false;
  s.sweeps       = 1;
  s.looks        = s.factorises = false;
  s.records      = true;
  s.follows_wind = s.passes = false;
  s.tiles = s.joint_halves = s.whole_lines = true;
  s.direct_product = s.late_stretches = true;
  return s;
}

} // namespace

const Strategy &strategy_of(Space space) { return column_of<on_host, on_device>(space); }

} // namespace tessera::vipmg
