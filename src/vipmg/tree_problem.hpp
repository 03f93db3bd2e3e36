// The linear complementarity problem on any mesh whose nodes have coordinates, on the levels of src/tree. They have no
// sweeps by colours, so what goes through all unknowns at once takes the place of Gauss-Seidel, and the results are
// those of any number of processes:
//  1. projected sweeps of damped Jacobi, none of which raises the energy, find the active unknowns;
//  2. the Galerkin operators of the others are made anew where the active set has changed (Graeser and Kornhuber's
//     truncated basis functions), and some steps of conjugate gradients which the cycle preconditions correct them;
//  3. the correction is projected, and a line search keeps energy from growing.
#pragma once
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
  void    take(const double *X0, const double *Y) override;
  void    keep() override;
  Moved   step(double t, const double *X0, const double *XL, const double *XU, const double *F, double *X) override;
  Point   look(const double *F, const double *X, const double *X0, const double *XL, const double *XU) override;
  bool    symmetric() const override { return symmetric_; }
  bool    monotone() const override { return false; }
  double  nodes() const override { return tree_.levels()[0].nodes * tree_.levels()[0].bs; }
  int     grids() const override { return (int)tree_.levels().size(); }
  double  flops(int top, bool monotone, bool newton) const override;
  bool    failed() const override { return failed_; }
  size_t  bytes() const;

private:
  using Level = tree::Level<double>;
  // The problem of a grid; inverse: of the diagonal, zero where an unknown takes no part.
  struct Bounded {
    Buffer<double>        x, b, lo, up, inverse, r, v, y;
    Buffer<unsigned char> free;
    size_t                bytes() const;
  };
  void   allocate(int l);
  Level &level(int l) { return tree_.level(l); }
  bool   has_parts(int l) const { return tree_.levels()[(size_t)l].distributed; } // of the grid each process has one
  template <class Kernel> double sum(int l, const Kernel &kernel);
  template <class End> double    product(int l, double *x, const End &end); // whole operator; the sum of end()
  bool                           run_cycle(int l);                          // has the active set changed?
  void                           sweep(int l);
  double                         mark(int l);
  void                           precondition(int l, const double *r, double *z);
  void                           conjugate_gradients(int l);
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
  bool                           symmetric_ = true, failed_ = false;
  int                            truncated_ = -1;
  double                         changed_   = 0;
};

} // namespace tessera::vipmg
