// Several processes divide the tree: each is the keeper of an interval of keys, with those of all processes' nodes that
// are in it. An interval begins where a leaf of the unbalanced T_0 does, so a cell with nodes of two keepers has more
// than a leaf may have: it is split in T_0, and it is one of the few that all processes know.
#pragma once
#include "tree/cells/tree.hpp"
#include <mpi.h>
#include <vector>

namespace tessera::tree {

// A cell with nodes of several keepers.
struct SpanningCell {
  int  level;
  Key  start;
  int  rank;
  bool operator<(const SpanningCell &o) const { return level != o.level ? level < o.level : start < o.start; }
};

struct Keepers {
  MPI_Comm         comm = MPI_COMM_SELF;
  int              size = 1, rank = 0;
  std::vector<Key> begin;       // keeper r has the keys from begin[r] on
  std::vector<Key> least, greatest; // of its nodes; least > greatest: it has none
  int  of(Key key) const;
  bool empty(int r) const { return least[(size_t)r] > greatest[(size_t)r]; }
  Key  end() const { return rank + 1 < size ? begin[(size_t)rank + 1] : ~(Key)0; } // of own keys
  // The first keeper of a node whose key is in [key, key + length), as far as its ends tell; -1: there is none.
  int  of_first(Key key, Key length) const;
};

// The nodes of a keeper, in order: [first, last) of the keys, with `capacity` of others before and behind them as far
// as there are so many.
struct KeptKeys {
  Buffer<Key> key;
  int         first = 0, last = 0;
};

// The first n keys, of own nodes and in order, go to their keepers, as many to each as can be. leaves: intervals begin
// where leaves of T_0 do. Collective.
KeptKeys keep_keys(const Exec &exec, MPI_Comm comm, int dim, int bits, int capacity, bool leaves, int n,
                   const Buffer<Key> &sorted, Keepers &keepers);
// The cells of several keepers, with their ranks by the numbers of their nodes. Collective.
std::vector<SpanningCell> spanning_cells(const Exec &exec, const Keepers &keepers, int dim, int capacity, int n,
                                         const Key *own);
// Where the keys of each keeper begin among n keys in order, and the end, from which on keys are not below `none`; the
// same of two runs, one behind the other.
std::vector<int> begins_at_keepers(const Exec &exec, const Keepers &keepers, int n, const Key *keys, Key none);
std::vector<std::vector<int>> begins_of_runs(const Exec &exec, const Keepers &keepers, int n, int second,
                                             const Key *keys, Key none);

// Values from a place on, and all of them, on the host.
template <class V> std::vector<V> listed(const Buffer<V> &from, size_t first, size_t n)
{
  std::vector<V> list(n);
  copy(from.data() + first, from.space(), list.data(), Space::host, n);
  return list;
}
template <class V> std::vector<V> listed(const Buffer<V> &from) { return listed(from, 0, from.size()); }

} // namespace tessera::tree
