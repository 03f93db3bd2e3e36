// One component of the natural residual.
#pragma once
#include "exec/exec.hpp"

namespace tessera::lcp {

// x - clip(x - w), without losing w in a large x; a w that is no number stays one.
HD inline double natural_residual(double x, double w, double lower, double upper)
{
  const double above = w < x - upper ? x - upper : w;
  return above > x - lower ? x - lower : above;
}

} // namespace tessera::lcp
