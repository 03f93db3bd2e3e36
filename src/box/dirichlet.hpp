// Dirichlet rows: rows without off-diagonal entries.
#pragma once
#include "box/grid.hpp"
#include <vector>

namespace tessera {

// Couplings of interior rows with Dirichlet rows, which the symmetric operator leaves out: A_ID z_D with z_D = r_D /
// d is subtracted from the right-hand side instead. Own nodes have their local number, x fastest; `dirichlet` counts
// in the array of a field, as such a node may be a neighbouring process's.
struct DirichletCouplings {
  Buffer<ptrdiff_t> nodes;     // interior nodes that are coupled to Dirichlet nodes, in ascending order,
  Buffer<ptrdiff_t> start;     // where the couplings of each begin and the last one's end,
  Buffer<ptrdiff_t> dirichlet; // their Dirichlet nodes
  Buffer<double>    value;     // and a_ID / d
  Buffer<ptrdiff_t> rows;      // own Dirichlet rows
  Buffer<double>    inverse;   // and 1 / d
  bool              any    = false; // couplings on any process
  bool              remote = false; // some Dirichlet row belongs to another process
  // the couplings by Dirichlet node; made at the first use
  Buffer<ptrdiff_t> columns, column_start, column_node;
  Buffer<double>    column_value, column_sum;
};

// A coupling that the operator leaves out.
struct DirichletEntry {
  ptrdiff_t node, dirichlet;
  double    value;
};

// From lists on the host, in the memory of `space`. Entries of a node keep their order.
DirichletCouplings dirichlet_couplings(Space space, std::vector<DirichletEntry> entries,
                                       const std::vector<ptrdiff_t> &rows, const std::vector<double> &inverse);

// b_I -= a_ID b_D / d; of one vector, V = double, or several (several.hpp)
template <class V>
void dirichlet_subtract(const Exec &exec, const Box &own, const DirichletCouplings &d, V *field, const View<V> &b);
// b = -A_ID' b_I / d at the Dirichlet nodes, ghost nodes included, and zero elsewhere
void dirichlet_transpose(const Exec &exec, const Box &own, DirichletCouplings &d, Buffer<double> &field,
                         const View<double> &b);
// x_D += r_D / d; r and x in natural order
void dirichlet_solve(const Exec &exec, const DirichletCouplings &d, const double *r, double *x);
// x_D = r_D / d and r_D = 0 at the black Dirichlet nodes; r and x on the black quarters
void dirichlet_solve_black(const Exec &exec, const Box &own, const DirichletCouplings &d, const View<double> &r,
                           const View<double> &x);
// y += x on the own nodes
void dirichlet_add(const Exec &exec, const Box &own, const View<double> &x, const View<double> &y);

} // namespace tessera
