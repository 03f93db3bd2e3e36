// What only the setup needs.
#pragma once
#include "tree/tree.hpp"
#include <vector>

namespace tessera::auxamg {

// The nodes as points, until the tree and the first grid are made of them.
struct Points {
  int                   n = 0, all = 0;    // nodes of this process; with those of others
  Buffer<unsigned char> fixed;             // no unknown of the node takes part: it is not in the tree
  Buffer<double>        x, y;              // coordinates, and these in the frame: at last in the order of the keys
  double                stretch[3] = {};   // of the axes
  double                edge[3] = {};      // of the box around the points, stretched; 0 where there are no points
  double                extent = 0;        // the longest one
  Buffer<Key>           key;               // of all nodes; those that are not in the tree have one above all others
  Buffer<Key>           sorted, everyone;  // of own nodes in order; of all processes' nodes
  std::vector<int>      runs;              // where those of each process begin among the keys of all, and the end
};

} // namespace tessera::auxamg
