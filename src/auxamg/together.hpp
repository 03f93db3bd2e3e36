// Loads of several neighbouring numbers at once.
#pragma once
#include "core/exec.hpp"

namespace tessera::auxamg {

// N neighbouring numbers, group k of them, in as few loads as there can be.
template <class V, int N> struct alignas(N * sizeof(V) < 16 ? N * sizeof(V) : 16) Together {
  V v[N];
};
template <int N, class V> HD inline Together<V, N> together(const V *from, ptrdiff_t k) { return ((const Together<V, N> *)from)[k]; }

} // namespace tessera::auxamg
