// Between a grid and the next coarser one. Coarse node I lies on fine node 2 I + 1 where the direction is coarsened.
#include "box/chunks.hpp"
#include "rrb/three/hierarchy.hpp"

namespace tessera::rrb::three {

namespace {

// b = P' r: for each coarse node 27 weights and residuals, 13 where red nodes have r = 0, if all directions are
// coarsened. first = c D^-1 b, the first step of the smoother, unless nullptr.
template <class T, int SX, int SY, int SZ> struct Restrict {
  const T     *w, *r, *inverse;
  box::Layout3 fine, coarse;
  T           *b, *first, c;
  ptrdiff_t    plane;
  bool         black; // r is zero at the other nodes
  // The sums of W coarse nodes from node I on, every other one. COLOUR: of the offsets that count, or -1
  template <int COLOUR, int W> HD void sum(int I, int J, int K, T (&sums)[W]) const
  {
    constexpr int nx = 2 * SX - 1, ny = 2 * SY - 1, nz = 2 * SZ - 1;
    box::unroll3<0, nx * ny * nz>([&](auto m) {
      constexpr int x = decltype(m)::value % nx + 1 - SX, y = decltype(m)::value / nx % ny + 1 - SY,
                    z = decltype(m)::value / (nx * ny) + 1 - SZ;
      if constexpr (COLOUR < 0 || ((COLOUR + x + y + z) & 1)) {
        // node 2 I + 1 + x, or I
        const ptrdiff_t q = fine.row(J + y, K + z) + (SX == 2 ? ((1 + x) & 1) * (ptrdiff_t)fine.half + I +
                                                                    ((1 + x) >> 1)
                                                                : (I & 1) * (ptrdiff_t)fine.half + (I >> 1));
        const T *const at = w + ((x < 0) | (y < 0) << 1 | (z < 0) << 2) * plane + q, *const d = r + q;
#pragma omp simd
        for (int v = 0; v < W; ++v) sums[v] += at[SX * v] * d[SX * v];
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
    if (!black) sum<-1>(I, J, K, sums);
    else if (((SX == 2 ? 1 : I) + J + K) & 1) sum<1>(I, J, K, sums);
    else sum<0>(I, J, K, sums);
    const ptrdiff_t o = coarse.at(I, j, k);
#pragma omp simd
    for (int v = 0; v < W; ++v) b[o + v] = sums[v];
    if (first)
#pragma omp simd
      for (int v = 0; v < W; ++v) first[o + v] = c * inverse[o + v] * sums[v];
  }
  template <int P, int W> HD void at(int t, ptrdiff_t, int j, int k) const { nodes<W>(2 * t + P, j, k); }
};

// x += P c: 1 to 8 weights a node, 27 / 8 on average where all directions are coarsened. At black nodes alone where the
// others are eliminated.
template <class T, int STRIDE> struct Prolong {
  const T     *w, *c;
  box::Layout3 coarse;
  int          step[3];
  T           *x;
  int          half;
  ptrdiff_t    plane;
  // From NY x NZ rows of parents, the first one (J, K).
  template <int P, int W, int NY, int NZ> HD void add(int t, ptrdiff_t e, int J, int K) const
  {
    T sum[W];
#pragma omp simd
    for (int v = 0; v < W; ++v) sum[v] = x[e + v];
    box::unroll3<0, NY * NZ>([&](auto m) {
      constexpr int   y = decltype(m)::value % NY, z = decltype(m)::value / NY;
      const T *const  row = c + coarse.row(J + y, K + z), *const weight = w + (y << 1 | z << 2) * plane + e;
      if constexpr (STRIDE == 1)
#pragma omp simd
        for (int v = 0; v < W; ++v) sum[v] += weight[v] * row[P * (ptrdiff_t)coarse.half + t + v];
      else { // nodes 2 I + 1 have one parent along x, nodes 2 I have I - 1 and I
        T at[W + 1];
#pragma omp simd
        for (int v = P; v <= W; ++v) {
          const int I = t + v - 1;
          at[v] = row[(I & 1) * (ptrdiff_t)coarse.half + floor_half(I)];
        }
        if (P)
#pragma omp simd
          for (int v = 0; v < W; ++v) sum[v] += weight[v] * at[v + 1];
        else
#pragma omp simd
          for (int v = 0; v < W; ++v) sum[v] += weight[v] * at[v] + weight[plane + v] * at[v + 1];
      }
    });
#pragma omp simd
    for (int v = 0; v < W; ++v) x[e + v] = sum[v];
  }
  template <int P, int W> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    const int       ny = step[1] == 2 && !(j & 1) ? 2 : 1, nz = step[2] == 2 && !(k & 1) ? 2 : 1;
    // of the first parent
    const int J = step[1] == 1 ? j : ny == 2 ? floor_half(j) - 1 : floor_half(j),
              K = step[2] == 1 ? k : nz == 2 ? floor_half(k) - 1 : floor_half(k);
    if (ny == 2 && nz == 2) add<P, W, 2, 2>(t, e, J, K);
    else if (ny == 2) add<P, W, 2, 1>(t, e, J, K);
    else if (nz == 2) add<P, W, 1, 2>(t, e, J, K);
    else add<P, W, 1, 1>(t, e, J, K);
  }
};

} // namespace

// f(the steps of a level, as constants)
template <class F> static void with_steps(const int step[3], const F &f)
{
  using One = std::integral_constant<int, 1>;
  using Two = std::integral_constant<int, 2>;
  const auto second = [&](auto x, auto y) {
    if (step[2] == 2) f(x, y, Two());
    else f(x, y, One());
  };
  const auto first = [&](auto x) {
    if (step[1] == 2) second(x, Two());
    else second(x, One());
  };
  if (step[0] == 2) first(Two());
  else first(One());
}

template <class T> bool restrict_to(const Level<T> &fine, Level<T> &coarse, const T *r)
{
  const bool begins = coarse.incoming.empty();
  with_steps(fine.step, [&](auto x, auto y, auto z) {
    using Kernel = Restrict<T, decltype(x)::value, decltype(y)::value, decltype(z)::value>;
    const Kernel kernel{fine.weights.data(),
                        r,
                        coarse.inverse.data(),
                        fine.layout,
                        coarse.layout,
                        coarse.b.data(),
                        begins ? coarse.z.data() : nullptr,
                        (T)coarse.smoother.first(),
                        (ptrdiff_t)fine.layout.size(),
                        fine.schur};
    box::for_chunks_along(fine.exec, coarse.layout, coarse.part, kernel);
  });
  coarse.incoming.exchange(coarse.b.data());
  return begins;
}

template <class T> void prolong_add(const Level<T> &fine, const Level<T> &coarse, T *x)
{
  const auto run = [&](auto stride) {
    box::for_chunks(fine.exec, fine.layout, fine.own,
                    Prolong<T, decltype(stride)::value>{
                      fine.weights.data(),
                      coarse.x.data(),
                      coarse.layout,
                      {fine.step[0], fine.step[1], fine.step[2]},
                      x,
                      fine.layout.half,
                      (ptrdiff_t)fine.layout.size()
    },
                    fine.schur ? black : -1);
  };
  if (fine.step[0] == 2) run(std::integral_constant<int, 2>());
  else run(std::integral_constant<int, 1>());
}

#define INSTANTIATE(T) \
  template bool restrict_to(const Level<T> &, Level<T> &, const T *); \
  template void prolong_add(const Level<T> &, const Level<T> &, T *);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::rrb::three
