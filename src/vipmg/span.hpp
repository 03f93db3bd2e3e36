// Steps that have been taken with one active set. Without symmetry the next correction is the one of least residual in
// the span of these and of the cycle's result: generalized conjugate residuals.
#pragma once
#include "box/grid3.hpp"
#include "exec/buffer.hpp"
#include <vector>

namespace tessera::vipmg {

struct Span {
  static constexpr size_t most = 8; // 16 save a cycle or two in 40
  struct Direction {
    Buffer<double> d, q; // q = A d at inactive nodes, orthogonal to the others'
    double         qq = 0;
  };
  std::vector<Direction> directions, unused;
  void forget()
  {
    for (Direction &d : directions) unused.push_back(std::move(d));
    directions.clear();
  }
  size_t bytes() const
  {
    size_t b = 0;
    for (const auto *all : {&directions, &unused})
      for (const Direction &d : *all) b += d.d.bytes() + d.q.bytes();
    return b;
  }
};

} // namespace tessera::vipmg
