// Bodies (bodies.k.cxx).
#pragma once
#include "exec/buffer.hpp"
#include "tree/tree.hpp"

namespace tessera::tree {

struct Bodies {
  bool        any = false; // the same on all processes
  Buffer<int> of;          // of each node, ghosts included, a number that all nodes of its body have on any process
};
// Those that are small beside cells, for each node, ghosts included
struct CompactBodies {
  Buffer<unsigned char> axes; // those of make_weights()
  Buffer<Key>           key;  // of the body's home, or its own
};

} // namespace tessera::tree
