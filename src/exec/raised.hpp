// A number whose sums are maxima: Exchange::add_back() of these leaves each node the largest of what processes have.
#pragma once
#include "exec/exec.hpp"

namespace tessera {

struct Raised {
  double     v;
  HD Raised &operator+=(const Raised &o)
  {
    v = o.v > v ? o.v : v;
    return *this;
  }
};

} // namespace tessera
