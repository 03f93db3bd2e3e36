// Bodies (bodies.k.cxx).
#pragma once
#include "exec/buffer.hpp"
#include "tree/cells/tree.hpp"

namespace tessera::tree {

// What grids do for bodies: there are none, each has functions of its own, or they are too many for that.
enum class BodyFunctions { none, own, too_many };
struct Bodies {
  bool        any = false; // the same on all processes
  int         matrix = 0; // the one that is around all others; 0: there is none, or it does not matter
  Buffer<int> of;          // of each node, ghosts included, a number that all nodes of its body have on any process
};
// Those that are small beside cells, for each node, ghosts included
struct CompactBodies {
  Buffer<unsigned char> axes; // those of make_weights()
  Buffer<Key>           key;  // of the body's home, or its own
};

} // namespace tessera::tree
