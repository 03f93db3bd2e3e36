// Steps that have been taken with one active set. Without symmetry the next correction is the one of least residual in
// the span of these and of the cycle's result: generalized conjugate residuals. It begins where cycles on a linear
// problem have been many: there it saves a third of them and more, and a nonlinear problem far from its solution, as
// glaciers are, gains nothing by steps that are exact (12 Newton steps become 26). Where sweeps follow the wind it is
// there from the first cycle on, as what is the same along closed streamlines converges slowly from the first one on.
#pragma once
#include "box/grid3.hpp"
#include "exec/buffer.hpp"
#include <vector>

namespace tessera::vipmg {

struct Span {
  static constexpr size_t max_directions = 8; // 16 save a cycle or two in 40
  static constexpr int    first_cycles = 10; // without it
  struct Direction {
    Buffer<double> d, q; // q = A d at inactive nodes, orthogonal to the others'
    double         qq = 0;
  };
  std::vector<Direction> directions, unused;
  int                    cycles = 0; // on this linear problem
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
