// Bodies that are small beside cells (bodies.k.cxx).
#pragma once
#include "exec/buffer.hpp"
#include "tree/tree.hpp"

namespace tessera::tree {

struct CompactBodies {
  Buffer<int>           home; // of own nodes
  Buffer<unsigned char> axes; // of each node, ghosts included: those of make_weights()
  Buffer<Key>           key;  // ghosts with the keys of their homes; empty on one process
};

} // namespace tessera::tree
