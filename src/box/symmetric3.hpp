// Symmetric operators on grids of three dimensions: planes of the diagonal and of the couplings with half of the
// neighbours, 4 for 7 points and 14 for 27; the other half is that of the neighbours.
#pragma once
#include "box/level.hpp"
#include "exec/several.hpp"

namespace tessera::box {

// The neighbours whose couplings a node keeps, those of a star first.
constexpr int star_forward = 3, box_forward = 13;
HD constexpr int forward(int m, int d)
{
  constexpr int to[13][3] = {
    {1,  0,  0},
    {0,  1,  0},
    {0,  0,  1},
    {-1, 1,  0},
    {1,  1,  0},
    {-1, 0,  1},
    {1,  0,  1},
    {0,  -1, 1},
    {0,  1,  1},
    {-1, -1, 1},
    {1,  -1, 1},
    {-1, 1,  1},
    {1,  1,  1}
  };
  return to[m][d];
}
template <int M> HD constexpr int forward(int d) { return forward(M, d); }

// f(the numbers from I to End - 1), as constants.
template <int I, class F, int... K>
__attribute__((always_inline)) HD inline void unroll3(const F &f, std::integer_sequence<int, K...>)
{
  (f(std::integral_constant<int, I + K>()), ...);
}
template <int I, int End, class F> __attribute__((always_inline)) HD inline void unroll3(const F &f)
{
  unroll3<I>(f, std::make_integer_sequence<int, End - I>());
}

// F: star_forward or box_forward.
template <class T, int F> struct Symmetric3 {
  static constexpr int kept = F;
  const T   *a;
  ptrdiff_t  plane, sj, sk;
  int        half;
  Stretches  same;

  // From the place of row (j, k) to the neighbour that keeps the coupling m of a node of a parity.
  ptrdiff_t behind(int parity, int m) const
  {
    return beside(parity, -forward(m, 0), half) - forward(m, 1) * sj - forward(m, 2) * sk;
  }
  // The same to a neighbour.
  template <int P, int DX> HD ptrdiff_t place(int dy, int dz) const { return beside<P, DX>(half) + dy * sj + dz * sk; }
  // g(coefficient, place) for all couplings. o: the place of the node, without P * half; from: of one with the same
  // row.
  template <int P, class G> HD void each(ptrdiff_t o, ptrdiff_t from, const G &g) const
  {
    unroll3<0, F>([&](auto m) {
      constexpr int M = decltype(m)::value, x = forward<M>(0), y = forward<M>(1), z = forward<M>(2);
      const ptrdiff_t before = this->template place<P, -x>(-y, -z);
      g(a[(M + 1) * plane + from + P * (ptrdiff_t)half], o + this->template place<P, x>(y, z));
      g(a[(M + 1) * plane + from + before], o + before);
    });
  }
  template <int P, class G> HD void each(ptrdiff_t o, const G &g) const { each<P>(o, o, g); }
  // The number of v at the neighbour (DX, dy, dz) of node P of the two at o. V = Several<T, N>: those of the N nodes
  // from there on; o is a multiple of N.
  template <int P, int DX, class V>
  __attribute__((always_inline)) HD V number_at(const T *v, ptrdiff_t o, int dy, int dz) const
  {
    constexpr int shift = (P + DX) >> 1, N = width_of<V>;
    if constexpr (N == 1) return v[o + this->template place<P, DX>(dy, dz)];
    else {
      const T *const from = v + (o + this->template place<P, DX>(dy, dz) - shift);
      const V        all  = *(const V *)from;
      if constexpr (shift == 0) return all;
      else {
        V r;
        for (int n = 0; n < N; ++n) r.v[n] = n + shift >= 0 && n + shift < N ? all.v[n + shift] : from[n + shift];
        return r;
      }
    }
  }
  // (A v) at node P of the two at o. from: the place of a node with the same row.
  template <int P, class V = T>
  __attribute__((always_inline)) HD V product(const T *v, ptrdiff_t o, ptrdiff_t from) const
  {
    return number_at<P, 0, V>(a, from, 0, 0) * number_at<P, 0, V>(v, o, 0, 0) + neighbours<P, V>(v, o, from);
  }
  template <int P> HD T product(const T *v, ptrdiff_t o) const { return product<P>(v, o, o); }
  template <int P, class V = T>
  __attribute__((always_inline)) HD V neighbours(const T *v, ptrdiff_t o, ptrdiff_t from) const
  {
    V s[4] = {V(0), V(0), V(0), V(0)}; // chains of additions that do not wait for each other
    unroll3<0, F>([&](auto m) {
      constexpr int  M = decltype(m)::value, x = forward<M>(0), y = forward<M>(1), z = forward<M>(2);
      const T *const c = a + (M + 1) * plane;
      s[2 * (M % 2)] += this->template number_at<P, 0, V>(c, from, 0, 0) *
                        this->template number_at<P, x, V>(v, o, y, z);
      s[2 * (M % 2) + 1] += this->template number_at<P, -x, V>(c, from, -y, -z) *
                            this->template number_at<P, -x, V>(v, o, -y, -z);
    });
    return (s[0] + s[1]) + (s[2] + s[3]);
  }
  // All 27 of a node, 9 (z + 1) + 3 (y + 1) + x + 1; those that a star does not have are zero.
  template <int P> HD void row(ptrdiff_t o, double (&r)[27]) const
  {
    for (int c = 0; c < 27; ++c) r[c] = 0;
    r[13] = a[o + P * (ptrdiff_t)half];
    unroll3<0, F>([&](auto m) {
      constexpr int M = decltype(m)::value, x = forward<M>(0), y = forward<M>(1), z = forward<M>(2);
      constexpr int c = 9 * (z + 1) + 3 * (y + 1) + x + 1;
      r[c]      = a[(M + 1) * plane + o + P * (ptrdiff_t)half];
      r[26 - c] = a[(M + 1) * plane + o + this->template place<P, -x>(-y, -z)];
    });
  }
};

} // namespace tessera::box
