// What the divided tree's kernels share: lists by the places of their items, and vertices by their two keys.
#pragma once
#include "tree/cells/keepers.hpp"
#include "exec/each.hpp"
#include "exec/unset.hpp"

namespace tessera::tree {

// The first n items of a list remain; and others come behind them.
template <class V> void keep_first(const Exec &exec, size_t n, Buffer<V> &list)
{
  Buffer<V> first = make_unset<V>(exec, n);
  for_each(exec, (int)n, CopyValues<V>{list.data(), first.data()});
  list = std::move(first);
}
template <class V> void append(const Exec &exec, const Buffer<V> &others, Buffer<V> &list)
{
  Buffer<V> both = make_unset<V>(exec, list.size() + others.size());
  for_each(exec, (int)list.size(), CopyValues<V>{list.data(), both.data()});
  for_each(exec, (int)others.size(), CopyValues<V>{others.data(), both.data() + list.size()});
  list = std::move(both);
}

constexpr Key no_vertex = ~(Key)0;

// Pairs of a finest cell and a vertex beside it, in this order.
struct Pairs {
  const Key *cell, *key;
  HD int     find(int n, Key c, Key k) const // -1: it is not there
  {
    for (int p = lower_bound(cell, 0, n, c); p < n && cell[p] == c; ++p)
      if (key[p] == k) return p;
    return -1;
  }
};
struct FirstOfPair {
  Pairs          pairs;
  unsigned char *flag;
  HD void        operator()(int p) const
  {
    flag[p] = pairs.cell[p] != no_vertex &&
              (!p || pairs.cell[p] != pairs.cell[p - 1] || pairs.key[p] != pairs.key[p - 1]);
  }
};
// Sorts n pairs; order: where they were.
inline void sort_pairs(const Exec &exec, int dim, int n, Buffer<Key> &cell, Buffer<Key> &key, Buffer<int> &order)
{
  Buffer<Key> by_key = make_unset<Key>(exec, (size_t)n), sorted = make_unset<Key>(exec, (size_t)n);
  for_each(exec, n, CopyValues<Key>{key.data(), by_key.data()});
  order = Buffer<int>();
  sort_keys(exec, n, vertex_bits(dim) + 1, by_key, order);
  for_each(exec, n, GatherValues<Key>{order.data(), cell.data(), sorted.data()});
  sort_keys(exec, n, dim * depth(dim) + 1, sorted, order);
  for_each(exec, n, GatherValues<Key>{order.data(), key.data(), by_key.data()});
  cell = std::move(sorted);
  key  = std::move(by_key);
}
// Those that are flagged.
inline void take_pairs(const Exec &exec, const Buffer<int> &place, Buffer<Key> &cell, Buffer<Key> &key)
{
  const int n = (int)place.size();
  for (Buffer<Key> *of : {&cell, &key}) {
    Buffer<Key> taken = make_unset<Key>(exec, (size_t)n);
    for_each(exec, n, GatherValues<Key>{place.data(), of->data(), taken.data()});
    *of = std::move(taken);
  }
}
} // namespace tessera::tree
