// Coefficients that jump, as diagonal entries show it.
#pragma once
#include "exec/exec.hpp"
#include <cmath>

namespace tessera::tree {

constexpr double jump = 10; // ratio of neighbouring diagonal entries

// Nodes with a neighbour whose diagonal entry is another by far.
template <class T> struct CountJumps {
  const int *i, *j;
  const T   *d;
  int        bs;
  HD double  operator()(int p) const
  {
    const double mine = d[(ptrdiff_t)bs * p];
    double       largest = mine, least = mine;
    for (int e = i[p]; e < i[p + 1]; ++e) {
      const double other = d[(ptrdiff_t)bs * j[e]];
      largest = other > largest ? other : largest;
      least   = other > 0 && other < least ? other : least;
    }
    return mine > 0 && (largest > jump * mine || mine > jump * least);
  }
};
// Jumps at more nodes than half a line (surface) across the mesh has
inline bool are_jumps(double found, double nodes, double dim)
{
  return found > 0.5 * std::pow(nodes, (dim - 1) / dim) && found > 2 * dim;
}

} // namespace tessera::tree
