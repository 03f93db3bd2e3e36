// Loads of several neighbouring numbers at once.
#pragma once
#include "exec/exec.hpp"

namespace tessera {

// N neighbouring numbers, group k of them, in as few loads as there can be.
template <class V, int N> struct alignas(N * sizeof(V) < 16 ? N * sizeof(V) : 16) Pack {
  V v[N];
};
template <int N, class V> HD inline Pack<V, N> pack(const V *from, ptrdiff_t k)
{
  return ((const Pack<V, N> *)from)[k];
}

} // namespace tessera
