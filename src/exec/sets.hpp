// Sets of numbers that grow together (union-find), on the host.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

namespace tessera {

// A set is named by its least number.
struct Sets {
  std::vector<int> parent;
  explicit Sets(size_t n) : parent(n) { std::iota(parent.begin(), parent.end(), 0); }
  int root(int i)
  {
    while (parent[(size_t)i] != i) i = parent[(size_t)i] = parent[(size_t)parent[(size_t)i]];
    return i;
  }
  void join(int i, int j)
  {
    i = root(i), j = root(j);
    parent[(size_t)std::max(i, j)] = std::min(i, j);
  }
};

} // namespace tessera
