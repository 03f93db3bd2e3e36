// Disjoint sets (union-find): on the host, by many threads at a time, and over processes. The least number of a set is
// its root.
#pragma once
#include "exec/each.hpp"
#include "exec/gather.hpp"
#include <algorithm>
#include <numeric>
#include <vector>

namespace tessera {

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

// The same for many threads at a time. A number points to a lesser one of its set, the least to itself, so the result
// does not depend on the order of threads.
HD inline int parent_of(const int *parent, int i)
{
#ifdef __CUDA_ARCH__
  return *(const volatile int *)(parent + i);
#else
  return __atomic_load_n(parent + i, __ATOMIC_RELAXED);
#endif
}
HD inline void point_to(int *parent, int i, int j)
{
#ifdef __CUDA_ARCH__
  *(volatile int *)(parent + i) = j;
#else
  __atomic_store_n(parent + i, j, __ATOMIC_RELAXED);
#endif
}
HD inline int root_of(int *parent, int i) // with path halving
{
  for (;;) {
    const int up = parent_of(parent, i), above = parent_of(parent, up);
    if (above == up) return up;
    point_to(parent, i, above);
    i = above;
  }
}
// Compare and swap: sets *at to value if it is `expected`; returns the old value.
HD inline int exchange_if(int *at, int expected, int value)
{
#ifdef __CUDA_ARCH__
  return atomicCAS(at, expected, value);
#else
  __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
#endif
}
HD inline void unite(int *parent, int i, int j)
{
  for (;;) {
    i = root_of(parent, i), j = root_of(parent, j);
    if (i == j) return;
    const int low = i < j ? i : j, high = i < j ? j : i;
    if (exchange_if(parent + high, high, low) == high) return;
  }
}

#if !defined(TESSERA_HAVE_CUDA) || defined(__CUDACC__) // in a build with CUDA other files run no kernels

template <class Lesser> struct PointToLesser {
  Lesser  lesser;
  int    *parent;
  HD void operator()(int p) const { parent[p] = lesser(p); }
};
struct SkipParent {
  int    *parent;
  HD void operator()(int p) const { point_to(parent, p, parent_of(parent, parent_of(parent, p))); }
};
// Other threads follow the chains meanwhile, so a thread writes its own number alone, and only a root.
struct PointToRoot {
  int    *parent;
  HD void operator()(int k) const
  {
    int root = k;
    for (int up; (up = parent_of(parent, root)) != root;) root = up;
    point_to(parent, k, root);
  }
};
// Each of `all` numbers is a set. On a device, whose threads would wait for each other to join many that are in a row,
// each of the first n points to lesser(p), a number of its set that is not above it. Numbers of nodes ascend along all
// axes, so hardly any but the first of a component points to itself, and chains are some sqrt(n) long; each time that
// all skip a number they become half as long.
template <class Lesser> void begin_sets(const Exec &exec, int all, int n, const Lesser &lesser, int *parent)
{
  for_each(exec, all, Enumerate{parent});
  if (!exec.on_device()) return;
  for_each(exec, n, PointToLesser<Lesser>{lesser, parent});
  for (double length = 1; length * length < n; length *= 2) for_each(exec, n, SkipParent{parent});
}

#endif

// The root of each number 0 ... total, where the pairs of all processes join sets. Collective.
inline std::vector<int> join_pairs(MPI_Comm comm, int total, const std::vector<int> &pairs)
{
  const std::vector<int> all = gather_from_all(comm, pairs).all;
  Sets                   sets((size_t)total + 1);
  for (size_t i = 0; i + 1 < all.size(); i += 2) sets.join(all[i], all[i + 1]);
  for (int i = 0; i <= total; ++i) sets.parent[(size_t)i] = sets.root(i);
  return sets.parent;
}

} // namespace tessera
