// Blocks of nodes and their places there as messages between processes, two numbers a node.
#pragma once
#include "exec/exec.hpp"

namespace tessera::tree {

struct JoinPlaces {
  const int *block, *place;
  double    *both;
  HD void    operator()(int p) const
  {
    both[2 * (ptrdiff_t)p]     = block[p];
    both[2 * (ptrdiff_t)p + 1] = place[p];
  }
};
struct SplitPlaces {
  const double *both;
  int          *block, *place;
  HD void       operator()(int p) const
  {
    block[p] = (int)both[2 * (ptrdiff_t)p];
    place[p] = (int)both[2 * (ptrdiff_t)p + 1];
  }
};

} // namespace tessera::tree
