// Operator-dependent interpolation from the c nodes of a grid (black-box multigrid), and the Galerkin product P'AP,
// which is a 9-point operator again.
#pragma once
#include "box/stencil.hpp"

namespace tessera {

// P of one grid: the coarse nodes that a node interpolates from are its neighbours among the c nodes.
struct Interpolation {
  Layout         layout;
  Buffer<double> edge[2];   // quarters a (from S, N) and b (from W, E)
  Buffer<double> centre[4]; // quarter o (from SW SE NW NE)
  Buffer<double> inject;    // quarter c: 1, or 0 where a c node has no couplings and its coarse node serves others
  void           create(const Layout &layout, bool with_centres = true);
  View<double>   Edge(int k) { return layout.view(edge[k].data(), quarter_a); }
  View<double>   Centre(int k) { return layout.view(centre[k].data()); }
  View<double>   Inject() { return layout.view(inject.data(), quarter_c); }
};

// The same in single precision, written beside it where there is a view: it is not read back to be converted. Not of
// ghost nodes.
struct SingleWeights {
  View<float> edge[2], centre[4], inject;
};

// Weights of a and b by collapsing the stencil across the line between their coarse nodes. A has its ghost nodes.
void interpolate_edges(const Exec &exec, const StencilView<double> &A, const Grid &grid, Halo &halo, Interpolation &P,
                       const SingleWeights &single = {});
// Weights of o from those of a and b, so that A P is zero at o; all weights' ghost nodes.
void interpolate_centres(const Exec &exec, const StencilView<double> &A, const Grid &grid, Halo &halo,
                         Interpolation &P);

// Least squares: weights of a and b that reproduce vectors v with A v nearly zero. weigh() adds a vector to the sums,
// solve() makes from them what is to be added to the collapsed weights of P: on a and b, for the first coarse node
// (the second gets the rest).
struct LeastSquares {
  Layout         layout;
  Buffer<double> product, square;
  void           create(const Layout &layout);
  void           weigh(const Exec &exec, const Grid &grid, const View<double> &v);
  void           solve(const Exec &exec, const StencilView<double> &A, const Grid &grid, Interpolation &P,
                       const View<float> &correction);
};
void correct_edges(const Exec &exec, const StencilView<double> &A, const Grid &grid, Interpolation &P,
                   const View<float> &correction);

// The first node whose diagonal is negative or no number, as kernels of the device leave it: by level of the
// factorisation, quarter and place, so that the largest key is the first of them.
struct FirstBad {
  unsigned long long *key = nullptr; // 0: none
  int                 level = 0;
  HD void             check(double c, int q, int X, int Y) const
  {
    if (!(c >= 0))
      keep_largest(key, ~((unsigned long long)level << 56 | (unsigned long long)q << 54 | (unsigned long long)Y << 27 |
                          (unsigned long long)X));
  }
  static void decode(unsigned long long key, int &level, int &q, int &X, int &Y)
  {
    level = (int)(~key >> 56), q = (int)(~key >> 54 & 3), Y = (int)(~key >> 27 & 0x7ffffff),
    X = (int)(~key & 0x7ffffff);
  }
};

// What galerkin() looks for on the device, so that nobody waits: flags that are zero before.
struct Watch {
  FirstBad bad;
  int     *zero = nullptr; // a diagonal is zero
  bool     clear = true;   // its couplings become zero; else the caller sees to it if there is one
};

// The next operator in single precision and its inverse diagonal, written beside it where there are views.
struct SingleOperator {
  StencilView<float> a;
  View<float>        inverse;
};

// The weights of o, where galerkin() makes them on the way and keeps them in single precision alone: of this grid, P's.
struct MadeCentres {
  const Grid *grid = nullptr;
  View<float> weights[4];
};

// coarse := P'AP on its owned nodes. A and P have their ghost nodes. cut_x, cut_y: couplings over a periodic seam are
// lumped, or go to the diagonal with their absolute values where lumping could lose definiteness. A diagonal below
// the share `singular` of the sum of its terms' absolute values is rounding and becomes zero with its couplings: a
// part of a singular operator that has shrunk to one node. Collective. Couplings with nodes outside the grid are not
// written: they are zero in `coarse` as it was made. On the device `watch` takes what is found, and where the coarse
// grid has no ghost nodes and nothing is cut `single` takes the operator, and weights of o may be made on the way.
void galerkin(const Exec &exec, const StencilView<double> &A, Interpolation &P, const Grid &coarse_grid,
              Halo &coarse_halo, bool cut_x, bool cut_y, double singular, Stencil &coarse, const Watch *watch = nullptr,
              const SingleOperator &single = {}, const MadeCentres &made = {});

// Shares of the nodes of a grid that are weakly coupled in one direction, and whose diagonal couplings differ.
struct Directions {
  double weak_x = 0, weak_y = 0, diagonal = 0; // weak_x: couplings along x are weak, lines would be along y
  double jumps  = 0; // nodes whose couplings to both sides of a direction differ much,
  double leaps  = 0; // or by orders of magnitude
};
Directions strong_directions(const Exec &exec, const StencilView<double> &A, const Grid &grid); // collective

} // namespace tessera
