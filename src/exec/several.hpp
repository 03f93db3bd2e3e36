// N numbers that lie side by side and are worked on alike: those of a node in N vectors, so that what a kernel reads
// for the node serves all, or those of N nodes, which a device reads at once. Kernels that are templates over their
// values V take V = T for one number and V = Several<T, N> for N.
#pragma once
#include "exec/exec.hpp"

namespace tessera {

template <class T, int N> struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Several {
  T v[N];
  Several() = default;
  HD Several(T a)
  {
    for (int k = 0; k < N; ++k) v[k] = a;
  }
  friend HD Several operator+(Several a, Several b)
  {
    Several r;
    for (int k = 0; k < N; ++k) r.v[k] = a.v[k] + b.v[k];
    return r;
  }
  friend HD Several operator-(Several a)
  {
    Several r;
    for (int k = 0; k < N; ++k) r.v[k] = -a.v[k];
    return r;
  }
  friend HD Several operator-(Several a, Several b)
  {
    Several r;
    for (int k = 0; k < N; ++k) r.v[k] = a.v[k] - b.v[k];
    return r;
  }
  friend HD Several operator*(T a, Several b)
  {
    Several r;
    for (int k = 0; k < N; ++k) r.v[k] = a * b.v[k];
    return r;
  }
  friend HD Several operator*(Several a, Several b)
  {
    Several r;
    for (int k = 0; k < N; ++k) r.v[k] = a.v[k] * b.v[k];
    return r;
  }
  friend HD Several operator/(Several b, T a)
  {
    Several r;
    for (int k = 0; k < N; ++k) r.v[k] = b.v[k] / a;
    return r;
  }
  HD Several &operator+=(const Several &b) { return *this = *this + b; }
  HD Several &operator-=(const Several &b) { return *this = *this - b; }
};

// How many numbers a value has, and number k of it.
template <class V> constexpr int                width_of = 1;
template <class T, int N> constexpr int         width_of<Several<T, N>> = N;
template <class T> HD inline T                 &number(T &v, int) { return v; }
template <class T> HD inline const T           &number(const T &v, int) { return v; }
template <class T, int N> HD inline T          &number(Several<T, N> &v, int k) { return v.v[k]; }
template <class T, int N> HD inline const T    &number(const Several<T, N> &v, int k) { return v.v[k]; }

// INSTANTIATE(T, V) for all values V that kernels are compiled for: one vector, and 2, 4 and 8.
#define TESSERA_ALL_WIDTHS(INSTANTIATE, T) \
  INSTANTIATE(T, T) \
  INSTANTIATE(T, Several<T, 2>) \
  INSTANTIATE(T, Several<T, 4>) \
  INSTANTIATE(T, Several<T, 8>)

#if !defined(TESSERA_HAVE_CUDA) || defined(__CUDACC__)

// forall() and forall_parts() for kernels over V; those of several vectors run on the host and are not compiled for
// the device.
template <class V, class Kernel> void forall_of(const Exec &exec, const Box &box, const Kernel &kernel)
{
  if constexpr (width_of<V> == 1) forall(exec, box, kernel);
  else
    for_range(exec, box.y0, box.y1, [kernel, x0 = box.x0, x1 = box.x1](int j) {
      for (int i = x0; i < x1; ++i) kernel(i, j);
    });
}
template <class V, class... Kernel> void forall_parts_of(const Exec &exec, const Part<Kernel> &...parts)
{
  if constexpr (width_of<V> == 1) forall_parts(exec, parts...);
  else (forall_of<V>(exec, parts.box, parts.kernel), ...);
}

#endif

} // namespace tessera
