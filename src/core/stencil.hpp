// Symmetric 5- and 9-point operators on one grid, stored by quarters.
//
// Every coupling is stored once, at the end that is eliminated first:
//   e[0..3]  at a and b: the straight couplings W E S N (to o and c);  at o: the diagonal ones SW SE NW NE (to c)
//   g[0..3]  at a: the diagonal couplings SW SE NW NE (to b); 9-point operators only
//   c        the diagonal
// that is 3 numbers a node for 5 points and 5 for 9 points. Couplings to nodes outside the grid are zero.
#pragma once
#include "core/halo.hpp"

namespace tessera {

// Directions k = 3 (dy + 1) + dx + 1: 0 SW, 1 S, 2 SE, 3 W, 4 centre, 5 E, 6 NW, 7 N, 8 NE.
constexpr int direction_dx(int k) { return k % 3 - 1; }
constexpr int direction_dy(int k) { return k / 3 - 1; }

struct Stencil {
  Layout         layout;
  bool           nine = false;
  Buffer<double> c, e[4], g[4];

  Stencil() = default;
  Stencil(const Grid &grid, bool natural_order);
  void         make_nine(); // room for the a-b couplings
  View<double> C() { return layout.view(c.data()); }
  View<double> E(int k) { return layout.view(e[k].data()); }
  View<double> G(int k) { return layout.view(g[k].data(), quarter_a); }
  // Where the coupling of node (x, y) in direction k != 4 is stored.
  double *slot(int x, int y, int k);
  void    exchange(Halo &halo);
  size_t  bytes() const;
};

// Adds the rows of the nodes (box.x0 .. box.x1-1, y): w[k][x - box.x0] is the coefficient in direction k. Every row adds half
// of each of its couplings, so that the operator is the mean of the matrix and its transpose. `present` has bit k set where
// w[k] is not all zero. Returns the largest |a_ij - a_ji| among rows of this box; lines must come in ascending order.
double stencil_add_line(Stencil &s, const Box &box, int y, const double *const w[9], int present);

// y = A x on the owned nodes, all four quarters; x has its ghost nodes. 9-point: 5 coefficients, x and y, 56 B a node.
void stencil_apply(const Exec &exec, Stencil &s, const Grid &grid, const View<double> &x, const View<double> &y);

} // namespace tessera
