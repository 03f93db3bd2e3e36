// From numbers known at run time to those that kernels are compiled for.
#pragma once
#include "tree/params.hpp"
#include <type_traits>

namespace tessera::tree {

template <int N> using Number = std::integral_constant<int, N>;

template <class F> void with_dim(int dim, const F &f)
{
  if (dim == 1) f(Number<1>());
  else if (dim == 2) f(Number<2>());
  else f(Number<3>());
}

// Of a cell: 2^dim, or 1 where it is an aggregate.
template <class F> void with_corners(int corners, const F &f)
{
  if (corners == 1) f(Number<1>());
  else if (corners == 2) f(Number<2>());
  else if (corners == 4) f(Number<4>());
  else f(Number<8>());
}

template <class F> void with_block(int bs, const F &f)
{
  static_assert(max_block_size == 6, "one line for each number of unknowns");
  if (bs == 1) f(Number<1>());
  else if (bs == 2) f(Number<2>());
  else if (bs == 3) f(Number<3>());
  else if (bs == 4) f(Number<4>());
  else if (bs == 5) f(Number<5>());
  else f(Number<max_block_size>());
}

} // namespace tessera::tree
