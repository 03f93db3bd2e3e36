// Symmetric 5- and 9-point operators on one grid, stored by quarters.
//
// Every coupling is stored once, at the end that is eliminated first:
//   e[0..3]  at a and b: the straight couplings W E S N (to o and c);  at o: the diagonal ones SW SE NW NE (to c)
//   g[0..3]  at a: the diagonal couplings SW SE NW NE (to b); 9-point operators only
//   c        the diagonal
// that is 3 numbers per node for 5 points and 5 for 9 points. Couplings to nodes outside the grid are zero.
#pragma once
#include "box/halo.hpp"

namespace tessera {

// Directions k = 3 (dy + 1) + dx + 1: 0 SW, 1 S, 2 SE, 3 W, 4 centre, 5 E, 6 NW, 7 N, 8 NE.
HD constexpr int direction_dx(int k) { return k % 3 - 1; }
HD constexpr int direction_dy(int k) { return k / 3 - 1; }

// Where the coupling of node (x, y) in direction k != 4 is stored: at node (x, y), in E or G [plane].
struct CouplingPlace {
  int  x, y, plane;
  bool g;
};
HD inline CouplingPlace coupling_place(int x, int y, int k)
{
  if (k % 2 ? ((x ^ y) & 1) == 0 : y & 1) { // at the other end: straight ones lie at a and b, diagonal ones at o and a
    x += direction_dx(k);
    y += direction_dy(k);
    k = 8 - k;
  }
  return {x, y, k == 0 || k == 3 ? 0 : k == 2 || k == 5 ? 1 : k == 1 || k == 6 ? 2 : 3, k % 2 == 0 && (x & 1)};
}

// Calls f with the stride of a quarter along x as a compile-time constant: 1 where quarters are apart, 2 where nodes
// lie in natural order.
template <class F> auto with_stride(ptrdiff_t sx, const F &f)
{
  return sx == 1 ? f(std::integral_constant<int, 1>()) : f(std::integral_constant<int, 2>());
}

// The operator as kernels see it. Views of other arrays that hold one (the planes of a Schur complement) serve as well.
template <class T> struct StencilView {
  View<T> C, E[4], G[4];
  bool    nine = false;
};

template <class T> struct StencilOf {
  Layout    layout;
  bool      nine = false;
  Buffer<T> c, e[4], g[4];

  StencilOf() = default;
  StencilOf(const Grid &grid, bool natural_order, Space space = Space::host) :
    StencilOf(Layout(grid, natural_order, space))
  {
  }
  explicit StencilOf(const Layout &layout);
  void           make_nine(); // room for the a-b couplings
  View<T>        C() { return layout.view(c.data()); }
  View<T>        E(int k) { return layout.view(e[k].data()); }
  View<T>        G(int k) { return layout.view(g[k].data(), quarter_a); }
  StencilView<T> view();
  T             *slot(int x, int y, int k); // of the coupling of node (x, y) in direction k != 4
  void           exchange(Halo &halo);
  size_t         bytes() const;
};
using Stencil = StencilOf<double>;

// to := from, in the memory of `space`.
void copy(const Stencil &from, Stencil &to, Space space);

// The coefficient in direction K of the node of quarter Q with place p in its quarter; S: stride along x, r: of a row.
template <int Q, int K, int S, class T> HD inline T coefficient(const StencilView<T> &A, ptrdiff_t p, ptrdiff_t r)
{
  constexpr int dx = K % 3 - 1, dy = K / 3 - 1;
  if constexpr (K == 4) return A.C.q[Q][p];
  else if constexpr (dx && dy) { // diagonal: stored at o for o-c, at a for a-b
    constexpr int D = 2 * (dy > 0) + (dx > 0);
    if constexpr (Q == quarter_o) return A.E[D].q[0][p];
    else if constexpr (Q == quarter_a) return A.G[D].q[1][p];
    else if constexpr (Q == quarter_b) return A.G[3 - D].q[1][p - (dx < 0 ? S : 0) + (dy > 0 ? r : 0)];
    else return A.E[3 - D].q[0][p + (dx > 0 ? S : 0) + (dy > 0 ? r : 0)];
  } else { // straight: stored at a and b
    constexpr int D = dy ? 2 + (dy > 0) : dx > 0;
    if constexpr (Q == quarter_a || Q == quarter_b) return A.E[D].q[Q][p];
    else if constexpr (Q == quarter_o) return A.E[D ^ 1].q[dx ? 1 : 2][p - (dx < 0 ? S : 0) - (dy < 0 ? r : 0)];
    else return A.E[D ^ 1].q[dx ? 2 : 1][p + (dx > 0 ? S : 0) + (dy > 0 ? r : 0)];
  }
}

// The value of x at the neighbour in direction K.
template <int Q, int K, int S, class V> HD inline V neighbour(const View<V> &x, ptrdiff_t p, ptrdiff_t r)
{
  constexpr int dx = K % 3 - 1, dy = K / 3 - 1;
  return x.q[Q ^ (dx ? 1 : 0) ^ (dy ? 2 : 0)]
            [p + ((Q & 1) ? (dx > 0 ? S : 0) : (dx < 0 ? -S : 0)) + ((Q >> 1) ? (dy > 0 ? r : 0) : (dy < 0 ? -r : 0))];
}

enum Lines { lines_none = 0, lines_x = 1, lines_y = 2 };

// The sum of the couplings of a node with its neighbours: those whose quarter is in MASK and that do not lie on its
// line.
template <int Q, int S, int MASK, int LINE, class T, class V>
HD inline V couplings(const StencilView<T> &A, const View<V> &x, ptrdiff_t p)
{
  const ptrdiff_t r = A.C.sy;
  V               v = 0;
  if constexpr ((MASK & (1 << (Q ^ 1))) && LINE != lines_x)
    v += coefficient<Q, 3, S>(A, p, r) * neighbour<Q, 3, S>(x, p, r) +
         coefficient<Q, 5, S>(A, p, r) * neighbour<Q, 5, S>(x, p, r);
  if constexpr ((MASK & (1 << (Q ^ 2))) && LINE != lines_y)
    v += coefficient<Q, 1, S>(A, p, r) * neighbour<Q, 1, S>(x, p, r) +
         coefficient<Q, 7, S>(A, p, r) * neighbour<Q, 7, S>(x, p, r);
  if constexpr (MASK & (1 << (Q ^ 3)))
    if (A.nine)
      v += coefficient<Q, 0, S>(A, p, r) * neighbour<Q, 0, S>(x, p, r) +
           coefficient<Q, 2, S>(A, p, r) * neighbour<Q, 2, S>(x, p, r) +
           coefficient<Q, 6, S>(A, p, r) * neighbour<Q, 6, S>(x, p, r) +
           coefficient<Q, 8, S>(A, p, r) * neighbour<Q, 8, S>(x, p, r);
  return v;
}

// Adds the rows of the nodes (box.x0 .. box.x1-1, y): w[k][x - box.x0] is the coefficient in direction k. Every row
// adds half of each of its couplings, so that the operator is the mean of the matrix and its transpose. `present` has
// bit k set where w[k] is not all zero. Returns the largest |a_ij - a_ji| among rows of this box; lines must come in
// ascending order.
double stencil_add_line(Stencil &s, const Box &box, int y, const double *const w[9], int present);

// y = A x on the owned nodes, all four quarters; x has its ghost nodes. 9 points: 5 numbers, x and y, 56 B per node.
template <class T>
void stencil_apply(const Exec &exec, const StencilView<T> &A, const Grid &grid, const View<T> &x, const View<T> &y);

} // namespace tessera
