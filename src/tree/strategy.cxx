#include "tree/strategy.hpp"
#include "exec/strategy.hpp"
#include <climits>

namespace tessera::tree {

namespace {

// The host: work takes the time, and each step is quick to look at.
Strategy on_host()
{
  Strategy s;
  s.trees_at_once     = false;
  s.divided           = 4;
  s.product_in_blocks = false;
  s.least_network     = 2;
  s.looks_first = s.notes_diagonal = true;
  s.keeps_work        = false;
  s.visits_twice      = INT_MAX;
  s.normalises_floats = true;
  return s;
}

// A device: a small grid costs launches, to look at a result is to wait, and messages cost more beside work: a grid of
// all processes is faster on each up to more unknowns.
Strategy on_device()
{
  Strategy s;
  s.trees_at_once     = true;
  s.divided           = 64;
  s.product_in_blocks = true;
  s.least_network     = 600; // their cycle is some 60 launches in each step of the smoother
  s.looks_first = s.notes_diagonal = false;
  s.keeps_work        = true;
  s.visits_twice      = 2;
  s.normalises_floats = false;
  return s;
}

} // namespace

const Strategy &strategy_of(Space space) { return column_of<on_host, on_device>(space); }

} // namespace tessera::tree
