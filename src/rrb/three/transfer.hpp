// Kernels between a grid and the next coarser one. Coarse node I lies on fine node 2 I + 1 where the direction is
// coarsened.
#pragma once
#include "box/chunks.hpp"
#include "rrb/three/hierarchy.hpp"

namespace tessera::rrb::three {

// b = P' r: for each coarse node 27 weights and residuals, 13 where red nodes have r = 0, if all directions are
// coarsened. first = c D^-1 b, the first step of the smoother, unless nullptr.
template <class T> struct Restriction {
  const T     *w, *r, *inverse;
  box::Layout3 fine, coarse;
  T           *b, *first, c;
  ptrdiff_t    plane;
  bool         black; // r is zero at the other nodes
};
template <class T, int SX, int SY, int SZ> struct Restrict {
  // Of W coarse nodes those beside each other where fine nodes of one parity belong to them, else every other one.
  static constexpr bool whole_rows = SX == 2;
  Restriction<T>        of;
  // The sums of W coarse nodes from node I on. COLOUR: of the offsets that count, or -1
  template <int COLOUR, int W> HD void sum(int I, int J, int K, T (&sums)[W]) const
  {
    constexpr int nx = 2 * SX - 1, ny = 2 * SY - 1, nz = 2 * SZ - 1;
    box::unroll3<0, nx * ny * nz>([&](auto m) {
      constexpr int x = decltype(m)::value % nx + 1 - SX, y = decltype(m)::value / nx % ny + 1 - SY,
                    z = decltype(m)::value / (nx * ny) + 1 - SZ;
      if constexpr (COLOUR < 0 || ((COLOUR + x + y + z) & 1)) {
        // node 2 I + 1 + x, or I
        const ptrdiff_t half = of.fine.half,
                        q = of.fine.row(J + y, K + z) +
                            (SX == 2 ? ((1 + x) & 1) * half + I + ((1 + x) >> 1) : (I & 1) * half + (I >> 1));
        const T *const  at = of.w + ((x < 0) | (y < 0) << 1 | (z < 0) << 2) * of.plane + q, *const d = of.r + q;
#pragma omp simd
        for (int v = 0; v < W; ++v) sums[v] += at[v] * d[v];
      }
    });
  }
  template <int W> HD void nodes(int I, int j, int k) const
  {
    const int J = SY == 2 ? 2 * j + 1 : j, K = SZ == 2 ? 2 * k + 1 : k;
    T         sums[W];
#pragma omp simd
    for (int v = 0; v < W; ++v) sums[v] = 0;
    // the colour of the node that the coarse one lies on
    if (!of.black) sum<-1>(I, J, K, sums);
    else if (((SX == 2 ? 1 : I) + J + K) & 1) sum<1>(I, J, K, sums);
    else sum<0>(I, J, K, sums);
    if constexpr (whole_rows && W > 1) {
      T halves[2][W / 2];
#pragma omp simd
      for (int v = 0; v < W / 2; ++v) halves[0][v] = sums[2 * v], halves[1][v] = sums[2 * v + 1];
      keep<W / 2>(of.coarse.at(I, j, k), halves[0]);
      keep<W / 2>(of.coarse.at(I + 1, j, k), halves[1]);
    } else keep<W>(of.coarse.at(I, j, k), sums);
  }
  template <int W> HD void keep(ptrdiff_t o, const T *sums) const
  {
#pragma omp simd
    for (int v = 0; v < W; ++v) of.b[o + v] = sums[v];
    if (of.first)
#pragma omp simd
      for (int v = 0; v < W; ++v) of.first[o + v] = of.c * of.inverse[o + v] * sums[v];
  }
  template <int P, int W> HD void at(int t, ptrdiff_t, int j, int k) const { nodes<W>(2 * t + P, j, k); }
};

// x += P c: 1 to 8 weights a node, 27 / 8 on average where all directions are coarsened. At black nodes alone where the
// others are eliminated.
template <class T> struct Prolongation {
  const T     *w, *c;
  box::Layout3 coarse;
  int          step[3];
  T           *x;
  int          half;
  ptrdiff_t    plane;
};
template <class T, int STRIDE> struct Prolong {
  Prolongation<T> of;
  // From NY x NZ rows of parents, the first one (J, K).
  template <int P, int W, int NY, int NZ> HD void add(int t, ptrdiff_t e, int J, int K) const
  {
    T sum[W];
#pragma omp simd
    for (int v = 0; v < W; ++v) sum[v] = of.x[e + v];
    box::unroll3<0, NY * NZ>([&](auto m) {
      constexpr int   y = decltype(m)::value % NY, z = decltype(m)::value / NY;
      const T *const  row = of.c + of.coarse.row(J + y, K + z), *const weight = of.w + (y << 1 | z << 2) * of.plane + e;
      if constexpr (STRIDE == 1)
#pragma omp simd
        for (int v = 0; v < W; ++v) sum[v] += weight[v] * row[P * (ptrdiff_t)of.coarse.half + t + v];
      else { // nodes 2 I + 1 have one parent along x, nodes 2 I have I - 1 and I
        T              at[W + 1];
        const T *const first  = row + ((t + 1) & 1) * (ptrdiff_t)of.coarse.half + floor_half(t - 1),
                *const second = row + (t & 1) * (ptrdiff_t)of.coarse.half + floor_half(t);
        if (!P) at[0] = first[0];
#pragma omp simd
        for (int v = 0; v < W / 2; ++v) at[2 * v + 1] = second[v], at[2 * v + 2] = first[v + 1];
        if (W == 1) at[1] = second[0];
        if (P)
#pragma omp simd
          for (int v = 0; v < W; ++v) sum[v] += weight[v] * at[v + 1];
        else
#pragma omp simd
          for (int v = 0; v < W; ++v) sum[v] += weight[v] * at[v] + weight[of.plane + v] * at[v + 1];
      }
    });
#pragma omp simd
    for (int v = 0; v < W; ++v) of.x[e + v] = sum[v];
  }
  template <int P, int W> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)of.half;
    const int       ny = of.step[1] == 2 && !(j & 1) ? 2 : 1, nz = of.step[2] == 2 && !(k & 1) ? 2 : 1;
    // of the first parent
    const int J = of.step[1] == 1 ? j : ny == 2 ? floor_half(j) - 1 : floor_half(j),
              K = of.step[2] == 1 ? k : nz == 2 ? floor_half(k) - 1 : floor_half(k);
    if (ny == 2 && nz == 2) add<P, W, 2, 2>(t, e, J, K);
    else if (ny == 2) add<P, W, 2, 1>(t, e, J, K);
    else if (nz == 2) add<P, W, 1, 2>(t, e, J, K);
    else add<P, W, 1, 1>(t, e, J, K);
  }
};

// What they need of two levels.
template <class T> Restriction<T> restriction(const Level<T> &fine, Level<T> &coarse, const T *r)
{
  return {fine.weights.data(),
          r,
          coarse.inverse.data(),
          fine.layout,
          coarse.layout,
          coarse.b.data(),
          coarse.incoming.empty() ? coarse.z.data() : nullptr,
          (T)coarse.smoother.first(),
          (ptrdiff_t)fine.layout.size(),
          fine.schur};
}
template <class T> Prolongation<T> prolongation(const Level<T> &fine, const Level<T> &coarse, T *x)
{
  return {fine.weights.data(),
          coarse.x.data(),
          coarse.layout,
          {fine.step[0], fine.step[1], fine.step[2]},
          x,
          fine.layout.half,
          (ptrdiff_t)fine.layout.size()};
}

} // namespace tessera::rrb::three
