// Products of a grid's operator with a vector, row by row or several threads to a row.
#pragma once
#include "core/exec.hpp"

namespace tessera::auxamg {

// 2^share neighbouring threads of a device read the entries of a node side by side: item k of a list is thread k % 2^share of node
// k / 2^share. On the host one does all.
struct Shared {
  int     node, thread, share;
  HD Shared(int item, int s) : node(item >> s), thread(item & ((1 << s) - 1)), share(s) { }
};

// s = b - A x, or A x without b, in the rows of the node; true for the thread that has it.
template <class T, int BS> HD inline bool residual(const int *i, const int *j, const T *a, const T *x, const T *b, const Shared &at, T *s)
{
  const int p = at.node;
  int       first = i[p], step = 1;
#ifdef __CUDA_ARCH__
  first += at.thread;
  step <<= at.share;
#else
  if (at.thread) return false;
#endif
  for (int k = 0; k < BS; ++k) s[k] = b && !at.thread ? b[(ptrdiff_t)BS * p + k] : 0;
  for (int e = first; e < i[p + 1]; e += step) {
    const T *const v = a + (ptrdiff_t)BS * BS * e, *const y = x + (ptrdiff_t)BS * j[e];
    for (int k = 0; k < BS; ++k)
      for (int m = 0; m < BS; ++m) s[k] = b ? s[k] - v[BS * k + m] * y[m] : s[k] + v[BS * k + m] * y[m];
  }
#ifdef __CUDA_ARCH__
  if (step > 1) {
    const unsigned mine = (step < 32 ? (1u << step) - 1 : 0xffffffffu) << (threadIdx.x % 32 & ~(unsigned)(step - 1));
    for (int d = step / 2; d; d /= 2)
      for (int k = 0; k < BS; ++k) s[k] += __shfl_xor_sync(mine, s[k], d);
  }
#endif
  return !at.thread;
}

} // namespace tessera::auxamg
