// Galerkin products along one direction: what a coupling of the fine grid adds to those of the coarse one.
#pragma once
#include "vipmg/stencil3.hpp"
#include <type_traits>

namespace tessera::vipmg {

// f(the numbers from I to End - 1), as constants.
template <int I, int End, class F> HD inline void unroll(const F &f)
{
  if constexpr (I < End) {
    f(std::integral_constant<int, I>());
    unroll<I + 1, End>(f);
  }
}

// The share of a coupling with node m, counted from the fine node of coarse node I, in the couplings of I with I - 1,
// I, I + 1.
struct Shares {
  double before, here_left, here_right, behind; // weights: of node -1 from I - 1 and I, of node 1 from I and I + 1
  template <int M> HD void add(double c, double *out) const
  {
    if (M == 0) out[1] += c;
    if (M == -1) out[0] += before * c, out[1] += here_left * c;
    if (M == 1) out[1] += here_right * c, out[2] += behind * c;
    if (M == -2) out[0] += c;
    if (M == 2) out[2] += c;
  }
};

} // namespace tessera::vipmg
