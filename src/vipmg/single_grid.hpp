// The linear complementarity problem without coarse grids, for operators whose condition number is small behind a
// scaling by the diagonal: time steps, phase fields, reactions. They need no hierarchy. On the host, of the matrix as
// PETSc has it.
#pragma once
#include "petsc/hooks.hpp"
#include "vipmg/linear_problem.hpp"
#include <petscmat.h>
#include <utility>
#include <vector>

namespace tessera::vipmg {

// The nodes whose bound a step of Jacobi's method passes are moved to it, and the others corrected by conjugate
// gradients with the diagonal: a semismooth Newton method whose systems are solved as far as their active set is known.
// A cycle is a number of products with the matrix, with as many active sets as they take.
class SingleGrid : public LinearProblem {
public:
  double zero_tolerance = 1e-8;
  bool   unread  = false; // the hierarchy has not the Jacobian that this one has
  ~SingleGrid() { (void)Reset(); }
  PetscErrorCode Reset();
  // *serves: the rows of a symmetric operator say that few steps suffice. X: a vector of the problem. worth: products
  // with the matrix that take as long as the operators of a hierarchy and its cycles.
  PetscErrorCode Read(Mat J, Vec X, int worth, bool *serves);
  // Cycles of the loaded problem take its norm from `first` below `target`.
  void   aim(double first, double target) { aim_.first = first, aim_.target = target; }
  // At the rate that has led to the norm `now` it will take longer than it is worth.
  bool   hopeless(double now) const;
  int    products() const { return aim_.products; } // since load()

  void    forget() override;
  bool    load(const double *F, const double *X, const double *XL, const double *XU, bool follow = false) override;
  bool    restart() override { return false; }
  void    full_multigrid() override { }
  Measure cycle(bool monotone, bool newton) override;
  Measure measure() override;
  void    set_correction(const double *X0, const double *Y) override;
  void    keep_correction() override { std::swap(x_, kept_); }
  Moved   step(double t, const double *X0, const double *XL, const double *XU, const double *F, double *X) override;
  Point   evaluate(const double *F, const double *X, const double *X0, const double *XL, const double *XU) override;
  bool    failed() const override { return failed_; }
  bool    symmetric() const override { return true; }
  bool    monotone() const override { return false; }
  double  nodes() const override { return all_; }
  int     grids() const override { return 1; }
  double  flops(int, bool, bool) const override { return 0; } // PETSc counts its products

private:
  double         dominant() const; // the least sum of a row that is thought to be well conditioned
  PetscErrorCode Sample(bool *serves);
  PetscErrorCode CheckRowSums(Vec X, bool *serves);
  void           allocate(const double *diagonal, const double *sums);
  void           multiply(const double *x, double *y);
  double         sum(double mine) const;
  double         mark(); // the active set, and the correction v of its nodes; how many have changed
  double         outdated() const;
  bool           conjugate_gradients();
  void           correct();
  Mat                 A_ = nullptr;
  Vec                 in_ = nullptr, out_ = nullptr; // places for the arrays of a product
  MPI_Comm            comm_ = MPI_COMM_NULL;
  ptrdiff_t           n_ = 0;
  double              all_ = 0, changed_ = 0;
  bool                failed_ = false;
  struct Aim {
    double first = 0, target = 0;
    int    worth = 0, products = 0, until = 0; // until: the end of a cycle
  } aim_;
  std::vector<double> diagonal_, inverse_;                   // inverse_: zero in rows without couplings
  std::vector<double> b_, lo_, up_, x_, kept_, r_;           // r_ = b_ - A x_
  std::vector<double> v_, p_, q_, s_, free_;                 // s_: the residual behind v_; free_: inverse_, or zero
  std::vector<signed char> active_;
};

} // namespace tessera::vipmg
