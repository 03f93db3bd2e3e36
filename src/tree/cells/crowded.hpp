// Of sorted keys: the levels of the cells that points have in common.
#pragma once
#include "tree/cells/tree.hpp"
#include "exec/each.hpp"
#include <algorithm>

namespace tessera::tree {

// Levels that keys of a type have; those of 32 bits are for the scale.
template <int D, class K> constexpr int levels_of = sizeof(K) == 8 ? depth(D) : D == 1 ? 30 : D == 2 ? 16 : 10;

// The finest level of which two points have a cell in common, -1 before the first.
template <int D, class K> HD inline int common_level(const K *key, int a, int b)
{
  if (a < 0) return -1;
  const K different = key[a] ^ key[b];
  if (!different) return levels_of<D, K>;
#ifdef __CUDA_ARCH__
  const int leading = sizeof(K) == 8 ? __clzll((long long)different) : __clz((int)different);
#else
  const int leading = sizeof(K) == 8 ? __builtin_clzll(different) : __builtin_clz((unsigned)different);
#endif
  return (leading - ((int)(8 * sizeof(K)) - D * levels_of<D, K>)) / D;
}

// Of `capacity` + 1 consecutive points of n: the finest level of which they have a cell in common. Those of k begin at
// from + k - capacity.
template <int D, class K> struct SharedLevel {
  const K *key;
  int      n, capacity, from;
  short   *level;
  HD void  operator()(int k) const
  {
    const int a = from + k - capacity;
    level[k]    = (short)(a + capacity < n ? common_level<D>(key, a, a + capacity) : -1);
  }
};
struct LargerLevel {
  const short *of;
  int          step;
  short       *to;
  HD void      operator()(int p) const { to[p] = of[p] > of[p + step] ? of[p] : of[p + step]; }
};
// The finest level of a cell with more than `capacity` points in which point first + p is, for p in [0, last - first).
template <int D, class K>
Buffer<short> crowded(const Exec &exec, int n, int capacity, const Buffer<K> &key, int first, int last)
{
  const int     all = last - first + capacity; // of the point and those before and behind it
  Buffer<short> level, larger;
  level.resize_unset(Extent{(size_t)all, exec.space});
  larger.resize_unset(Extent{(size_t)all, exec.space});
  for_each(exec, all, SharedLevel<D, K>{key.data(), n, capacity, first, level.data()});
  for (int width = 1; width <= capacity;) { // level[p] is the largest of so many
    const int step = std::min(width, capacity + 1 - width);
    width += step;
    for_each(exec, all + 1 - width, LargerLevel{level.data(), step, larger.data()});
    std::swap(level, larger);
  }
  return level;
}

} // namespace tessera::tree
