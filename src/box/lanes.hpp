// The values that the lanes of a warp hold, and what neighbouring lanes have; on an emulated device all lanes of a
// warp at once.
#pragma once
#include "exec/exec.hpp"

#if defined(TESSERA_HAVE_DEVICE) && (!defined(TESSERA_HAVE_CUDA) || defined(__CUDACC__))

#ifdef __CUDACC__
  #define MARCH __device__ inline
#else
  #define MARCH inline
#endif

namespace tessera {

constexpr int lanes = 32;

#ifdef __CUDACC__

template <class T> using Lanes = T; // a value of each lane

struct Warp {
  int lane;
};
template <class T> MARCH T left(Warp, T v) { return __shfl_up_sync(0xffffffffu, v, 1); } // the value of the lane before
template <class T> MARCH T right(Warp, T v) { return __shfl_down_sync(0xffffffffu, v, 1); }
template <class T, class F> MARCH T each(Warp w, F &&f) { return f(w.lane); }     // f(lane) for all
template <class F> MARCH void for_lanes(Warp w, F &&f) { f(w.lane); }
template <class T> MARCH T of(T v, int) { return v; }
template <class U, class T> MARCH U convert_lanes(T v) { return (U)v; }

#else

template <class T> struct Lanes {
  T v[lanes];
  Lanes(T s = 0)
  {
    for (T &x : v) x = s;
  }
};
template <class T, class F> Lanes<T> lanewise(const F &f)
{
  Lanes<T> r;
  for (int i = 0; i < lanes; ++i) r.v[i] = f(i);
  return r;
}
template <class T> Lanes<T> operator+(const Lanes<T> &a, const Lanes<T> &b)
{
  return lanewise<T>([&](int i) { return a.v[i] + b.v[i]; });
}
template <class T> Lanes<T> operator-(const Lanes<T> &a, const Lanes<T> &b)
{
  return lanewise<T>([&](int i) { return a.v[i] - b.v[i]; });
}
template <class T> Lanes<T> operator*(const Lanes<T> &a, const Lanes<T> &b)
{
  return lanewise<T>([&](int i) { return a.v[i] * b.v[i]; });
}
template <class T> Lanes<T> operator-(const Lanes<T> &a) { return lanewise<T>([&](int i) { return -a.v[i]; }); }
struct Warp { };
template <class T> Lanes<T> left(Warp, const Lanes<T> &v)
{
  return lanewise<T>([&](int i) { return v.v[i ? i - 1 : 0]; });
}
template <class T> Lanes<T> right(Warp, const Lanes<T> &v)
{
  return lanewise<T>([&](int i) { return v.v[i + 1 < lanes ? i + 1 : i]; });
}
template <class T, class F> Lanes<T> each(Warp, F &&f) { return lanewise<T>(f); }
template <class F> void for_lanes(Warp, F &&f)
{
  for (int i = 0; i < lanes; ++i) f(i);
}
template <class T> T of(const Lanes<T> &v, int i) { return v.v[i]; }
template <class U, class T> Lanes<U> convert_lanes(const Lanes<T> &a)
{
  return lanewise<U>([&](int i) { return (U)a.v[i]; });
}

  #endif

// N neighbouring columns of a row in every lane.
template <int N, class T> struct Cells {
  Lanes<T> v[N];
  MARCH Cells()
  {
    for (int i = 0; i < N; ++i) v[i] = Lanes<T>(0);
  }
};
template <int N, class T> MARCH Cells<N, T> operator+(const Cells<N, T> &a, const Cells<N, T> &b)
{
  Cells<N, T> r;
  for (int i = 0; i < N; ++i) r.v[i] = a.v[i] + b.v[i];
  return r;
}
template <int N, class T> MARCH Cells<N, T> operator-(const Cells<N, T> &a, const Cells<N, T> &b)
{
  Cells<N, T> r;
  for (int i = 0; i < N; ++i) r.v[i] = a.v[i] - b.v[i];
  return r;
}
template <int N, class T> MARCH Cells<N, T> operator*(const Cells<N, T> &a, const Cells<N, T> &b)
{
  Cells<N, T> r;
  for (int i = 0; i < N; ++i) r.v[i] = a.v[i] * b.v[i];
  return r;
}
template <int N, class T> MARCH Cells<N, T> operator-(const Cells<N, T> &a)
{
  Cells<N, T> r;
  for (int i = 0; i < N; ++i) r.v[i] = -a.v[i];
  return r;
}
template <int N, class T> MARCH Cells<N, double> widen(const Cells<N, T> &a)
{
  Cells<N, double> r;
  for (int i = 0; i < N; ++i) r.v[i] = convert_lanes<double>(a.v[i]);
  return r;
}
// The values of the columns to the west and to the east.
template <int N, class T> MARCH Cells<N, T> west(Warp w, const Cells<N, T> &a)
{
  Cells<N, T> r;
  r.v[0] = left(w, a.v[N - 1]);
  for (int i = 1; i < N; ++i) r.v[i] = a.v[i - 1];
  return r;
}
template <int N, class T> MARCH Cells<N, T> east(Warp w, const Cells<N, T> &a)
{
  Cells<N, T> r;
  r.v[N - 1] = right(w, a.v[0]);
  for (int i = 0; i + 1 < N; ++i) r.v[i] = a.v[i + 1];
  return r;
}
// a in column I, b in the other one
template <int I, class T> MARCH Cells<2, T> choose(const Cells<2, T> &a, const Cells<2, T> &b)
{
  Cells<2, T> r;
  r.v[I]     = a.v[I];
  r.v[1 - I] = b.v[1 - I];
  return r;
}

} // namespace tessera

#endif
