// The linear complementarity problem of a Newton step at a point X with the function's value F and the Jacobian A: the
// correction x between XL - X and XU - X for which A x + F is zero, or has the sign that the bound allows where x is at
// one. An object has the correction x and the last step to it, which the next cycle may use. Arrays are those of
// PETSc's vectors, on the host or on a device as the method runs.
//
// There are three implementations. BoxProblem, below, has the levels of a structured grid, TreeProblem
// (tree_problem.hpp) those of a tree over nodes with coordinates, and SingleGrid (single_grid.hpp) has no coarse grids:
// it works on PETSc's matrix where a scaling by the diagonal makes that well conditioned.
#pragma once
#include "vipmg/vipmg.hpp"
#include <cmath>

namespace tessera::vipmg {

class LinearProblem {
public:
  virtual ~LinearProblem() = default;
  // Called when a solve begins: forgets the active set and takes up the params, so that nothing depends on the solve
  // before.
  virtual void forget() = 0;
  // Takes up the problem at X and sets x = 0, but to the solution in Dirichlet rows. Returns whether that is not zero.
  // follow: the last step of the correction that keep_correction() has kept goes on being recombined with the next
  // ones.
  virtual bool load(const double *F, const double *X, const double *XL, const double *XU, bool follow = false) = 0;
  virtual bool restart() = 0;        // sets x to what load() has set it to, and returns the same
  // Keeps x, and goes back to it. Where operators may be rough alone.
  virtual void    save() { }
  virtual void    go_back() { }
  virtual void full_multigrid() = 0; // a start from the coarsest grid, of the right-hand side and the bounds
  virtual Measure cycle(bool monotone, bool newton) = 0; // with these parts; returns the measure of the new x
  virtual Measure measure() = 0;                         // of x as it is
  virtual void    set_correction(const double *X0, const double *Y) = 0;         // x := Y - X0
  virtual void    keep_correction() = 0; // keeps x for step(), while other problems are loaded
  // X := P(X0 + t x), where x is the correction that keep_correction() has kept, and P puts what passes a bound on
  // it. F: at X0, of which the slope along the step is made.
  virtual Moved step(double t, const double *X0, const double *XL, const double *XU, const double *F, double *X) = 0;
  // The measure of the nonlinear problem at X, and the slope from a point X0 before it (or nullptr).
  virtual Point evaluate(const double *F, const double *X, const double *X0, const double *XL, const double *XU) = 0;

  virtual bool failed() const { return false; } // the operator is found not to be positive definite
  // The unknown of a node which all nodes can change by the same number at no cost, as none is at a bound; -1: none
  virtual int free_shift() { return -1; }

  // What the operator is like, and the method on it
  virtual bool   symmetric() const = 0;
  virtual bool   rough() const { return false; } // symmetric, with coefficients that interpolation does not follow
  virtual bool   monotone() const = 0;  // does the cycle have a monotone part?
  virtual double nodes() const = 0;
  virtual int    grids() const = 0;
  virtual bool   nested() const { return grids() > 1; } // can it start from the coarsest grid, and is that worth it?
  virtual double flops(int top, bool monotone, bool newton) const = 0; // of a cycle for the problem of grid `top`
  // How many cycles take as long as a system of so many of its unknowns by a factorization; HUGE_VAL: too many
  virtual double direct(double) const { return HUGE_VAL; }
};

class BoxProblem : public LinearProblem {
public:
  BoxProblem() = default;
  explicit BoxProblem(Plan &plan) : plan_(&plan) { }
  void    forget() override;
  bool    load(const double *F, const double *X, const double *XL, const double *XU, bool follow = false) override;
  bool    restart() override;
  void    full_multigrid() override;
  Measure cycle(bool monotone, bool newton) override;
  Measure measure() override { return vipmg::measure(*plan_, plan_->levels[0]); }
  void    set_correction(const double *X0, const double *Y) override;
  void    keep_correction() override;
  Moved   step(double t, const double *X0, const double *XL, const double *XU, const double *F, double *X) override;
  Point   evaluate(const double *F, const double *X, const double *X0, const double *XL, const double *XU) override;
  bool    symmetric() const override { return plan_->symmetric; }
  bool    rough() const override { return plan_->symmetric && plan_->rough; }
  void    save() override;
  void    go_back() override;
  bool    monotone() const override { return with_monotone(*plan_); }
  double  nodes() const override { return plan_->levels[0].nodes(); }
  int     grids() const override { return (int)plan_->levels.size(); }
  bool    nested() const override { return grids() > 1 && plan_->choice.fmg; }
  double  flops(int top, bool monotone, bool newton) const override
  {
    return vipmg::flops(*plan_, top, monotone, newton);
  }
  double  direct(double unknowns) const override;

private:
  Plan    *plan_ = nullptr;
  Graph    start_;       // full multigrid, like the next
  Graph    cycles_[4];   // by their parts, where nothing has to be asked of other processes
  uint64_t started_ = 0; // what full multigrid last began with
  Buffer<double> held_;
};

} // namespace tessera::vipmg
