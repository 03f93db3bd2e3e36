// Clusters of items that pairs join, the strongest pair first, up to a size: Kruskal's algorithm that stops there.
#pragma once
#include "exec/buffer.hpp"
#include "exec/exec.hpp"

namespace tessera {

constexpr int strongest_pair = (1 << 15) - 1;

// Pairs of two items each, in any order, either way round and any number of times; strengths from 0 to strongest_pair.
struct WeightedPairs {
  Buffer<int> strength, a, b;
};
// Cluster c is member[begin[c]] ... member[begin[c + 1] - 1], in order. Smaller clusters come first, as the processor
// foresees loops of the same length, and those of one size are in the order of their first members. Items that are
// alone are in none.
struct Clusters {
  Buffer<int> begin, member;
  int         count() const { return (int)begin.size() - 1; }
};
// The clusters of n items, of at most max_size each, where the pairs lie. Of two pairs of one strength that with the
// lesser items, in order, is the first, so that host and device find the same.
Clusters join_strongest(const Exec &exec, const WeightedPairs &pairs, int n, int max_size);

} // namespace tessera
