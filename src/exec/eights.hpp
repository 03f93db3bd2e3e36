// Sums of products of a short row with gathered numbers, on the host. A loop over the entries of rows of any length ends
// where a processor does not foresee it, which costs as much as ten entries. So eight entries are taken at a time, with
// zeros for those behind the end.
#pragma once
#include <type_traits>

namespace tessera {

#ifndef __CUDA_ARCH__

template <class T> struct Eight {
  using Integer = std::conditional_t<sizeof(T) == sizeof(int), int, long long>;
  typedef T       Values __attribute__((vector_size(8 * sizeof(T)), aligned(sizeof(T)), may_alias));
  typedef Integer Mask __attribute__((vector_size(8 * sizeof(T)), aligned(sizeof(T)), may_alias));
};
template <class T, class Eight> __attribute__((always_inline)) inline T join_eight(const Eight &s)
{
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}
// The sum of of(k) for k < n, in the order of the function below
template <class T, class Of> __attribute__((always_inline)) inline T add_in_eights(int n, const Of &of)
{
  T s[8] = {};
  for (int k = 0; k < n; ++k) s[k % 8] += of(k);
  return join_eight<T>(s);
}
// The sum of a[k] x[j[k]] for k < n. a and j have `room` entries; those behind the row are of others.
template <class T> __attribute__((always_inline))
inline T row_in_eights(int n, int room, const int *j, const T *a, const T *x)
{
  using Values = typename Eight<T>::Values;
  using Mask   = typename Eight<T>::Mask;
  if (n + 7 > room) return add_in_eights<T>(n, [&](int k) { return a[k] * x[j[k]]; });
  constexpr Mask place = {0, 1, 2, 3, 4, 5, 6, 7};
  Values         sum   = {};
  for (int k = 0; k < n; k += 8) {
    const int *const q      = j + k;
    const Values     v      = {x[q[0]], x[q[1]], x[q[2]], x[q[3]], x[q[4]], x[q[5]], x[q[6]], x[q[7]]};
    const Mask       inside = place < (typename Eight<T>::Integer)(n - k);
    sum += *(const Values *)(a + k) * (Values)((Mask)v & inside);
  }
  return join_eight<T>(sum);
}
// The sum of a[k] b[k] for k < n. Both have as many entries as eights need; b is zero behind the end.
template <class T> __attribute__((always_inline)) inline T dot_in_eights(int n, const T *a, const T *b)
{
  using Values = typename Eight<T>::Values;
  Values sum   = {};
  for (int k = 0; k < n; k += 8) sum += *(const Values *)(a + k) * *(const Values *)(b + k);
  return join_eight<T>(sum);
}

#endif

} // namespace tessera
