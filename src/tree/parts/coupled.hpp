// Which couplings count where parts of the mesh are told apart (parts.k.cxx).
#pragma once
#include "exec/exec.hpp"
#include <cmath>

namespace tessera::tree {

// Two nodes are coupled if their entries count beside the larger diagonal: parts across a barrier of hardly any
// conductivity are apart, and so is what conducts much better from what lies around it. Jumps of 1e4 do without, in
// the plane and in space.
constexpr double hardly_coupled = 1e-5;
// Where many nodes are in pockets, which are not much larger than cells, these are parts, too.
constexpr double weakly_coupled = 2e-3;
// Between the sides of a thin barrier in the plane, and where coefficients jump between gaps in space.
constexpr double across_barrier = 0.01;
// Around bodies (bodies.k.cxx)
constexpr double around_body = 0.05;
template <class T> struct Coupled {
  const T *a, *d; // d: the largest diagonal entry of each node, ghosts included; nullptr: all couplings count
  int      bs;
  T        weak; // part of that entry
  const int *body = nullptr; // of each node: those of one body are coupled, and no others; nullptr: values count
  HD T     size(int e) const
  {
    const T *const block = a + (ptrdiff_t)bs * bs * e;
    T              v     = fabs(*block);
    for (int k = 1; k < bs * bs; ++k) v = fabs(block[k]) > v ? fabs(block[k]) : v;
    return v;
  }
  HD bool  operator()(int p, int e, int q) const
  {
    if (body) return body[p] == body[q];
    return !d || size(e) > weak * (d[p] > d[q] ? d[p] : d[q]);
  }
};

} // namespace tessera::tree
