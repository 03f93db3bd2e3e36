// The neighbours of a node in one to three dimensions: a star's, 2 d + 1 with the node itself, or a box's, 3^d.
#pragma once
#include "exec/exec.hpp"

namespace tessera::box {

inline int points(int dimension, bool box)
{
  return box ? (dimension == 1 ? 3 : dimension == 2 ? 9 : 27) : 2 * dimension + 1;
}

// The plane of a direction; -1 where a star has none.
template <int D, bool Box> HD constexpr int plane_of(int dx, int dy, int dz)
{
  if (Box) return D == 1 ? dx + 1 : D == 2 ? 3 * (dy + 1) + dx + 1 : 9 * (dz + 1) + 3 * (dy + 1) + dx + 1;
  if ((dx != 0) + (dy != 0) + (dz != 0) > 1) return -1;
  return dx < 0 ? 1 : dx > 0 ? 2 : dy < 0 ? 3 : dy > 0 ? 4 : dz < 0 ? 5 : dz > 0 ? 6 : 0;
}
// The place, in the cube of 3^D, of a node beside another; -1 for nodes that are no neighbours. n: nodes in each
// direction.
template <int D> HD int cube_of(const int *node, const int *beside, const int *n, const bool *periodic)
{
  int k = 0, weight = 1;
  for (int d = 0; d < D; ++d, weight *= 3) {
    int s = beside[d] - node[d];
    if (periodic[d] && s > 1 && s >= n[d] - 1) s -= n[d];
    if (periodic[d] && s < -1 && -s >= n[d] - 1) s += n[d];
    if (s < -1 || s > 1) return -1;
    k += weight * (s + 1);
  }
  return k;
}
template <int D, bool Box> HD constexpr int centre() { return plane_of<D, Box>(0, 0, 0); }
constexpr int centre27 = centre<3, true>(); // of the 27 neighbours of a box

// f(std::integral_constant dimension, box), as compile-time constants.
template <int D, bool Box> struct Kind {
  static constexpr int  dimension = D;
  static constexpr bool box       = Box;
};
template <class F> void with_kind(int dimension, bool box, const F &f)
{
  if (dimension == 1) {
    if (box) f(Kind<1, true>());
    else f(Kind<1, false>());
  } else if (dimension == 2) {
    if (box) f(Kind<2, true>());
    else f(Kind<2, false>());
  } else {
    if (box) f(Kind<3, true>());
    else f(Kind<3, false>());
  }
}

} // namespace tessera::box
