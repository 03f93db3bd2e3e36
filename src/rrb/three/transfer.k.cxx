// Between a grid and the next coarser one. Coarse node I lies on fine node 2 I + 1 where the direction is coarsened.
#include "box/chunks.hpp"
#include "rrb/three/hierarchy.hpp"

namespace tessera::rrb::three {

namespace {

// b = P' r: for each coarse node 27 weights and residuals, 13 where red nodes have r = 0, if all directions are
// coarsened.
template <class T, int STRIDE> struct Restrict {
  const T     *w, *r;
  box::Layout3 fine;
  int          step[3];
  T           *b;
  int          half;
  ptrdiff_t    plane;
  bool         black; // r is zero at the other nodes
  template <int P, int W> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const int J = step[1] == 2 ? 2 * j + 1 : j, K = step[2] == 2 ? 2 * k + 1 : k;
    const int parity = (STRIDE == 2 ? 1 : P) + J + K; // of the node that the coarse one lies on
    T         sum[W];
    for (int v = 0; v < W; ++v) sum[v] = 0;
    for (int z = 1 - step[2]; z < step[2]; ++z)
      for (int y = 1 - step[1]; y < step[1]; ++y) {
        const ptrdiff_t from = fine.row(J + y, K + z) + STRIDE * t + (STRIDE == 2 ? P : 0);
        const int       side = (y < 0) << 1 | (z < 0) << 2;
        for (int x = 1 - STRIDE; x < STRIDE; ++x) {
          if (black && !((parity + x + y + z) & 1)) continue;
          // node 2 I + 1 + x, or I
          const ptrdiff_t q = from + (STRIDE == 2 ? ((1 + x) & 1) * (ptrdiff_t)fine.half + floor_half(1 + x)
                                                  : P * (ptrdiff_t)fine.half);
          const T *const  c = w + (side | (x < 0)) * plane + q, *const d = r + q;
          for (int v = 0; v < W; ++v) sum[v] += c[STRIDE * v] * d[STRIDE * v];
        }
      }
    for (int v = 0; v < W; ++v) b[o + P * (ptrdiff_t)half + v] = sum[v];
  }
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
  template <int P, int W> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    const int       ny = step[1] == 2 && !(j & 1) ? 2 : 1, nz = step[2] == 2 && !(k & 1) ? 2 : 1;
    // of the first parent
    const int J = step[1] == 1 ? j : ny == 2 ? floor_half(j) - 1 : floor_half(j),
              K = step[2] == 1 ? k : nz == 2 ? floor_half(k) - 1 : floor_half(k);
    T         sum[W];
    for (int v = 0; v < W; ++v) sum[v] = x[e + v];
    for (int z = 0; z < nz; ++z)
      for (int y = 0; y < ny; ++y) {
        const T *const row = c + coarse.row(J + y, K + z), *const weight = w + (y << 1 | z << 2) * plane + e;
        if (STRIDE == 1)
          for (int v = 0; v < W; ++v) sum[v] += weight[v] * row[P * (ptrdiff_t)coarse.half + t + v];
        else { // nodes 2 I + 1 have one parent along x, nodes 2 I have I - 1 and I
          T at[W + 1];
          for (int v = 0; v <= W; ++v) {
            const int I = t + v - 1;
            at[v] = row[(I & 1) * (ptrdiff_t)coarse.half + floor_half(I)];
          }
          if (P)
            for (int v = 0; v < W; ++v) sum[v] += weight[v] * at[v + 1];
          else
            for (int v = 0; v < W; ++v) sum[v] += weight[v] * at[v] + weight[plane + v] * at[v + 1];
        }
      }
    for (int v = 0; v < W; ++v) x[e + v] = sum[v];
  }
};

} // namespace

template <class T> void restrict_to(const Level<T> &fine, Level<T> &coarse, const T *r)
{
  const auto run = [&](auto stride) {
    box::for_chunks(fine.exec, coarse.layout, coarse.part,
                    Restrict<T, decltype(stride)::value>{
                      fine.weights.data(),
                      r,
                      fine.layout,
                      {fine.step[0], fine.step[1], fine.step[2]},
                      coarse.b.data(),
                      coarse.layout.half,
                      (ptrdiff_t)fine.layout.size(),
                      fine.schur
    });
  };
  if (fine.step[0] == 2) run(std::integral_constant<int, 2>());
  else run(std::integral_constant<int, 1>());
  coarse.incoming.exchange(coarse.b.data());
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
  template void restrict_to(const Level<T> &, Level<T> &, const T *); \
  template void prolong_add(const Level<T> &, const Level<T> &, T *);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::rrb::three
