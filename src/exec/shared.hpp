// Threads of a device that share an item of a list.
#pragma once
#include "exec/several.hpp"

namespace tessera {

// 2^log_threads neighbouring threads of a device read the entries of a node side by side: item k of a list is thread
// k % 2^log_threads of node k / 2^log_threads. On the host one does all.
struct Shared {
  int node, thread, log_threads;
  HD  Shared(int item, int s) : node(item >> s), thread(item & ((1 << s) - 1)), log_threads(s) { }

  // f(q) for those q of [begin, end) that are this thread's, in order. AT_ONCE: the values of so many are on their way
  // at a time. On the emulated device the first thread has all.
  template <int AT_ONCE = 1, class Index, class F> HD void each(Index begin, Index end, const F &f) const
  {
#ifdef __CUDA_ARCH__
    const int step = 1 << log_threads;
    if constexpr (AT_ONCE > 1) {
  #pragma unroll AT_ONCE
      for (Index q = begin + thread; q < end; q += step) f(q);
    } else
      for (Index q = begin + thread; q < end; q += step) f(q);
#else
    if (thread) return;
    for (Index q = begin; q < end; ++q) f(q);
#endif
  }
};

// log_threads, where there are such threads
inline int shared_on(const Exec &exec, int log_threads) { return exec.on_device() ? log_threads : 0; }

#ifdef __CUDA_ARCH__
HD inline unsigned shared_lanes(int log_threads)
{
  return (log_threads < 5 ? (1u << (1 << log_threads)) - 1 : 0xffffffffu)
      << (threadIdx.x % 32 & ~((1u << log_threads) - 1));
}
#endif
// The sum over the threads of a node, in all of them
template <class V> HD inline V sum_shared(V v, int log_threads)
{
#ifdef __CUDA_ARCH__
  const unsigned mine = shared_lanes(log_threads);
  for (int d = 1 << log_threads >> 1; d; d /= 2)
    for (int k = 0; k < width_of<V>; ++k) number(v, k) += __shfl_xor_sync(mine, number(v, k), d);
#else
  (void)log_threads;
#endif
  return v;
}
// of N numbers, which go to those of the node
template <class V, int N> HD inline void store_shared_sums(const Shared &at, V (&v)[N], V *to)
{
  for (int k = 0; k < N; ++k) {
    v[k] = sum_shared(v[k], at.log_threads);
    if (!at.thread) to[(ptrdiff_t)N * at.node + k] = v[k];
  }
}
// How many threads of a node before this one, and how many of all, are `counted`
struct CountShared {
  int     before, all;
  HD      CountShared(bool counted, int log_threads)
  {
#ifdef __CUDA_ARCH__
    const unsigned mine = shared_lanes(log_threads), found = __ballot_sync(mine, counted) & mine;
    before = __popc(found & ((1u << threadIdx.x % 32) - 1));
    all    = __popc(found);
#else
    (void)log_threads;
    before = 0, all = counted;
#endif
  }
};

} // namespace tessera
