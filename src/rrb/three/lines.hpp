// Lines of nodes that are strongly coupled along one direction alone, where this direction is another one in other
// parts of the grid. No coarsening serves all of these, and sweeps by points leave what is smooth along the lines and
// not across them. With the lines as blocks in place of the diagonal the smoother takes it. A node is in at most one
// line, so lines of all directions are solved at once.
//
// The blocks B are at least the operator, as the diagonal's sums of absolute values are: B^-1 A has no eigenvalue above
// 1. Couplings with a node of another line are added with their absolute values, but where they belong to two edges,
// from i to i + 1 on both lines: what these have in common,
//
//   2 c (x_i - x_i+1) (y_i - y_i+1) <= |c| ((x_i - x_i+1)^2 + (y_i - y_i+1)^2),
//
// makes the line's own edge stronger in place of its diagonal. The operators of coarse grids are nearly of that kind,
// and with a larger diagonal B would not be small where A is, on what is smooth along the lines.
#pragma once
#include "box/grid3.hpp"
#include "box/symmetric3.hpp"

namespace tessera::rrb::three {

template <class T> struct Level;

template <class T> struct Lines {
  bool            any = false; // the smoother solves them
  bool            directions[3] = {false, false, false};
  Buffer<uint8_t> along;          // 1 + the direction of a node's line, 0 without one
  // B = L D L': of a node, the entry of L with the node before it along each direction, and 1 / D
  Buffer<T>       factor[3], pivot;
  Buffer<T>       solved;         // B^-1 r
  int             processes[3] = {1, 1, 1}, place[3] = {0, 0, 0}; // along each direction, and where this one is
  size_t          bytes() const
  {
    return along.bytes() + factor[0].bytes() + factor[1].bytes() + factor[2].bytes() + pivot.bytes() + solved.bytes();
  }
};

// The factors of all lines. free: as of scale(), on the finest grid alone.
template <class T> void factor_lines(Level<T> &l, const uint8_t *free);
// l.lines.solved = B^-1 r
template <class T> void solve_lines(Level<T> &l, const T *r);

} // namespace tessera::rrb::three
