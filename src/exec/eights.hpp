// Sums of products of a short row with gathered numbers, on the host. Where rows have any length a processor does not
// foresee the end of a loop over their entries, which costs as much as ten of them. So eight are taken at a time, with
// zeros for those behind the end. Sum: the type to add up in.
#pragma once
#include <type_traits>

namespace tessera {

#ifndef __CUDA_ARCH__

template <class T> struct Eight {
  using Integer = std::conditional_t<sizeof(T) == sizeof(int), int, long long>;
  typedef T       Values __attribute__((vector_size(8 * sizeof(T)), aligned(sizeof(T)), may_alias));
  typedef Integer Mask __attribute__((vector_size(8 * sizeof(T)), aligned(sizeof(T)), may_alias));
  typedef T       Half __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));
  typedef Integer HalfMask __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));
};
// Four numbers as others, number by number: of __builtin_convertvector g++ makes two conversions and joins them.
template <class To, class Four> __attribute__((always_inline)) inline typename Eight<To>::Half four_as(const Four &v)
{
  const typename Eight<To>::Half four = {(To)v[0], (To)v[1], (To)v[2], (To)v[3]};
  return four;
}
// ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])): halves, then quarters
template <class Sum> __attribute__((always_inline))
inline Sum join_halves(const typename Eight<Sum>::Half &low, const typename Eight<Sum>::Half &high)
{
  using Half      = typename Eight<Sum>::Half;
  const Half four = low + high, next = {four[2], four[3], four[2], four[3]}, two = four + next;
  return two[0] + two[1];
}
template <class Sum, class Eights> __attribute__((always_inline)) inline Sum join_eight(const Eights &s)
{
  const typename Eight<Sum>::Half low = {s[0], s[1], s[2], s[3]}, high = {s[4], s[5], s[6], s[7]};
  return join_halves<Sum>(low, high);
}
// The sum of factor(k) other(k) for k < n, in the order of the function below
template <class Sum, class Factor, class Other> __attribute__((always_inline))
inline Sum add_in_eights(int n, const Factor &factor, const Other &other)
{
  Sum s[8] = {};
  for (int k = 0; k < n; ++k) s[k % 8] += (Sum)factor(k) * (Sum)other(k);
  return join_eight<Sum>(s);
}
// sum += a[k] x[j[k]] for four of them, from the k-th one on, of which those below n count.
template <class Sum, class T> __attribute__((always_inline))
inline void add_four(int k, int n, const int *j, const T *a, const T *x, typename Eight<Sum>::Half &sum)
{
  using Half = typename Eight<T>::Half;
  using Mask = typename Eight<T>::HalfMask;
  constexpr Mask   place  = {0, 1, 2, 3};
  const int *const q      = j + k;
  const Half       v      = {x[q[0]], x[q[1]], x[q[2]], x[q[3]]};
  const Mask       inside = place < (typename Eight<T>::Integer)(n - k);
  const Half       known = (Half)((Mask)v & inside), factors = *(const Half *)(a + k);
  if constexpr (std::is_same_v<Sum, T>) sum += factors * known;
  else sum += four_as<Sum>(factors) * four_as<Sum>(known);
}
// The sum of a[k] x[j[k]] for k < n. a and j have `room` entries; those behind the row are of others.
template <class Sum, class T> __attribute__((always_inline))
inline Sum row_in_eights(int n, int room, const int *j, const T *a, const T *x)
{
  using Values = typename Eight<T>::Values;
  using Mask   = typename Eight<T>::Mask;
  if (n + 7 > room) return add_in_eights<Sum>(n, [&](int k) { return a[k]; }, [&](int k) { return x[j[k]]; });
  if constexpr (sizeof(Sum) > sizeof(float)) { // eight are more than a register holds, and would go through memory
    typename Eight<Sum>::Half low = {}, high = {};
    for (int k = 0; k < n; k += 8) {
      add_four<Sum>(k, n, j, a, x, low);
      add_four<Sum>(k + 4, n, j, a, x, high);
    }
    return join_halves<Sum>(low, high);
  } else {
    constexpr Mask place = {0, 1, 2, 3, 4, 5, 6, 7};
    Values         sum   = {};
    for (int k = 0; k < n; k += 8) {
      const int *const q      = j + k;
      const Values     v      = {x[q[0]], x[q[1]], x[q[2]], x[q[3]], x[q[4]], x[q[5]], x[q[6]], x[q[7]]};
      const Mask       inside = place < (typename Eight<T>::Integer)(n - k);
      const Values     known = (Values)((Mask)v & inside), factors = *(const Values *)(a + k);
      sum += factors * known;
    }
    return join_eight<Sum>(sum);
  }
}

#endif

} // namespace tessera
