// The linear complementarity problem on any mesh whose nodes have coordinates, on the levels of src/tree. They have no
// sweeps by colours, so what goes through all unknowns at once takes the place of Gauss-Seidel, and the results are
// those of any number of processes:
//  1. monotone multigrid carries the active set over long distances: projected sweeps of damped Jacobi, none of which
//     raises the energy, on every grid. What a fine unknown may still move goes to the next grid as the maximum of the
//     lower bounds, and the minimum of the upper ones, over the support of a coarse function. Weights are not negative
//     and have a sum of at most one, so every coarse correction is feasible;
//  2. projected sweeps find the active unknowns, the Galerkin operators of the others are made anew where the active
//     set has changed (Graeser and Kornhuber's truncated basis functions), and some steps of conjugate gradients, or of
//     conjugate residuals where the matrix is not symmetric, which the cycle preconditions correct them;
//  3. the correction is projected, and a line search keeps energy from growing.
#pragma once
#include "exec/graph.hpp"
#include "tree/hierarchy.hpp"
#include "vipmg/linear_problem.hpp"

namespace tessera::vipmg {

class TreeProblem : public LinearProblem {
public:
  TreeProblem(const Exec &exec, const Comm &comm, const tree::Params &params) :
    exec_(exec), comm_(comm), tree_(exec, comm, params)
  {
  }
  // The hierarchy is set up, or has new values.
  void                           begin(const Params &params);
  // Nodes whose unknowns are the components of (1 - 2 v v') x, v not zero: `bs` numbers for each node of the matrix,
  // which stays that of the components of x. None: an empty list.
  void                           reflect(const Buffer<double> &v);
  tree::Hierarchy<double>       &tree() { return tree_; }
  const tree::Hierarchy<double> &tree() const { return tree_; }
  static constexpr int           sweeps         = 2; // projected ones of a cycle
  double                         zero_tolerance = 1e-8;

  void    forget() override;
  bool    load(const double *F, const double *X, const double *XL, const double *XU, bool follow = false) override;
  bool    restart() override;
  void    full_multigrid() override;
  Measure cycle(bool monotone, bool newton) override;
  Measure measure() override;
  void    set_correction(const double *X0, const double *Y) override;
  void    keep_correction() override;
  Moved   step(double t, const double *X0, const double *XL, const double *XU, const double *F, double *X) override;
  Point   evaluate(const double *F, const double *X, const double *X0, const double *XL, const double *XU) override;
  bool    symmetric() const override { return symmetric_; }
  // bounds along a direction of their own have none on the next grid
  bool    monotone() const override { return params_.variant == Variant::hybrid && reflect_.empty(); }
  double  nodes() const override { return tree_.levels()[0].nodes * tree_.levels()[0].bs; }
  int     grids() const override { return (int)tree_.levels().size(); }
  double  flops(int, bool, bool) const override { return 16 * tree_.work(); }
  bool    failed() const override { return failed_; }
  int     free_shift() override;
  size_t  bytes() const;

private:
  using Level = tree::Level<double>;
  // The problem of a grid; inverse: of the diagonal, zero where an unknown takes no part.
  struct Bounded {
    Buffer<double>        x, b, lo, up, inverse, r, v, y;
    Buffer<unsigned char> free;
    double                lambda = 2; // of D^-1 A, at most
    size_t                bytes() const;
  };
  void   allocate(int l);
  Level &level(int l) { return tree_.level(l); }
  bool   has_parts(int l) const { return tree_.levels()[(size_t)l].distributed; } // of the grid each process has one
  template <class Kernel> double sum(int l, const Kernel &kernel);
  template <class End> double    product(int l, double *x, const End &end); // whole operator; the sum of end()
  template <class End> void      each_product(int l, double *x, const End &end);
  bool                           run_cycle(int l, bool climb);              // has the active set changed?
  void                           monotone_cycle(int l);
  void                           monotone_cycle(); // of the mesh
  void                           restrict_problem(int l);
  void                           multiply(double *x); // by the operator of the mesh, in the unknowns' components
  void                           turn(double *x); // of the mesh: from its components to the unknowns, and back
  void                           set_diagonals();
  void                           sweep(int l);
  double                         mark(int l);
  void                           precondition(int l, const double *r, double *z);
  void                           conjugate_gradients(int l);
  void                           conjugate_residuals(int l);
  void                           find_symmetry();
  void                           correct(int l);
  void                           restrict_bound(int l, const Buffer<double> &fine, bool lower, Buffer<double> &coarse);
  void                           restrict_vector(int l, Buffer<double> &coarse);
  Exec                           exec_;
  Comm                           comm_;
  tree::Hierarchy<double>        tree_;
  Params                         params_;
  std::vector<Bounded>           grids_;
  Buffer<double>                 diagonal_, start_, kept_; // of the mesh: all diagonal entries, in the matrix' units
  Buffer<double>                 z_, p_, q_, sum_;
  Buffer<double>                 reflect_, turned_, product_; // of the nodes of the mesh; what products work with
  Buffer<double>                 directions_, images_;        // of conjugate residuals
  bool                           symmetric_ = true, failed_ = false;
  struct Recorded { // the monotone cycle of the mesh
    Graph    graph;
    uint64_t problems = 0, last = 0; // how many have begun; what the last such cycle was of
  } recorded_;
  int                            truncated_ = -1;
  bool                           climbs_ = true; // with a monotone part, where the cycle asked for may have one
  double                         natural_ = 0;   // square of the residual behind the last cycle
  double                         changed_   = 0;
};

} // namespace tessera::vipmg
