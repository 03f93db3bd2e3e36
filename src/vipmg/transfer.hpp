// Linear interpolation between a grid and the next coarser one. Coarse node I lies on fine node 2 I.
#pragma once
#include "vipmg/stencil3.hpp"

namespace tessera::vipmg {

struct Weights {
  const double *left[3], *right[3]; // by coarse node
  int           step[3];
};

inline Weights weights(const Level &fine)
{
  Weights w;
  for (int d = 0; d < 3; ++d) {
    w.left[d]  = fine.left[d].data() + 1;
    w.right[d] = fine.right[d].data() + 1;
    w.step[d]  = fine.step[d];
  }
  return w;
}

// The coarse function at fine node (2 t + P, j, k).
struct Interpolate {
  Layout3       coarse;
  Weights       w;
  const double *c;
  template <int P> HD double row(int t, int J, int K) const
  {
    if (w.step[0] == 1) return c[coarse.row(J, K) + P * (ptrdiff_t)coarse.half + t];
    if (P == 0) return c[coarse.at(t, J, K)];
    return w.right[0][t] * c[coarse.at(t, J, K)] + w.left[0][t + 1] * c[coarse.at(t + 1, J, K)];
  }
  template <int P> HD double layer(int t, int j, int K) const
  {
    if (w.step[1] == 1) return row<P>(t, j, K);
    const int J = floor_half(j);
    return j & 1 ? w.right[1][J] * row<P>(t, J, K) + w.left[1][J + 1] * row<P>(t, J + 1, K) : row<P>(t, J, K);
  }
  template <int P> HD double value(int t, int j, int k) const
  {
    if (w.step[2] == 1) return layer<P>(t, j, k);
    const int K = floor_half(k);
    return k & 1 ? w.right[2][K] * layer<P>(t, j, K) + w.left[2][K + 1] * layer<P>(t, j, K + 1) : layer<P>(t, j, K);
  }
};

} // namespace tessera::vipmg
