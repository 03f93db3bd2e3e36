// Reflections of a node's unknowns: with a vector v of length one Q = 1 - 2 v v' is its own inverse; v = 0: Q = 1.
#pragma once
#include "exec/exec.hpp"

namespace tessera::tree {

// x := Q x, the entries of x `step` apart
template <class T> HD void reflect_node(int bs, const T *v, T *x, int step)
{
  T along = 0;
  for (int k = 0; k < bs; ++k) along += v[k] * x[k * step];
  for (int k = 0; k < bs; ++k) x[k * step] -= 2 * along * v[k];
}

} // namespace tessera::tree
