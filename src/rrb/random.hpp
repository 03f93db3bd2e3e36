// Numbers that look random and depend on a key alone, in [0, 1). What rrb chooses by a trial and its coarse nodes of
// algebraic levels rest on these, so they keep a mixing of their own beside that of exec/random.hpp.
#pragma once
#include "exec/exec.hpp"
#include <cstdint>

namespace tessera::rrb {

HD inline double random_fraction(uint64_t key)
{
  key = (key ^ (key >> 31)) * 0xbf58476d1ce4e5b9u;
  key = (key ^ (key >> 29)) * 0x94d049bb133111ebu;
  return (double)((key ^ (key >> 32)) >> 11) * 0x1p-53;
}

} // namespace tessera::rrb
