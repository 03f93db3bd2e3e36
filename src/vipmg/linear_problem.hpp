// The linear complementarity problem for a correction of a point X: A x = -F between XL - X and XU - X, in the sense
// of vipmg.hpp. It has the correction x and the last step to it, which the next cycle may use. Arrays are those of
// PETSc's vectors, in the space of the method. BoxProblem has the levels of a structured grid, TreeProblem those of a
// tree over nodes with coordinates.
#pragma once
#include "vipmg/vipmg.hpp"

namespace tessera::vipmg {

class LinearProblem {
public:
  virtual ~LinearProblem() = default;
  // Forgets the active set and takes up the params: what a solve does does not depend on the one before.
  virtual void forget() = 0;
  // x := 0, but the solution in Dirichlet rows; returns whether these made a difference. follow: the last step of the
  // correction kept goes on being recombined.
  virtual bool load(const double *F, const double *X, const double *XL, const double *XU, bool follow = false) = 0;
  virtual bool restart() = 0;       // from there
  virtual void full_multigrid() = 0; // a start from the coarsest grid, of the right-hand side and the bounds
  virtual Measure cycle(bool monotone, bool newton) = 0;
  virtual Measure measure() = 0;
  virtual void    take(const double *X0, const double *Y) = 0; // the correction Y - X0
  virtual void    keep() = 0; // the correction x, while other problems are loaded
  // X := P(X0 + t x) with the correction kept; F: at X0, for the slope
  virtual Moved step(double t, const double *X0, const double *XL, const double *XU, const double *F, double *X) = 0;
  // What is to be known of a point. X0: one before, or nullptr.
  virtual Point look(const double *F, const double *X, const double *X0, const double *XL, const double *XU) = 0;

  virtual bool failed() const { return false; } // the operator is found not to be positive definite
  // The unknown of a node which all nodes can change by the same number at no cost, as none is at a bound; -1: none
  virtual int free_shift() { return -1; }

  // What the operator is like, and the method on it
  virtual bool   symmetric() const = 0;
  virtual bool   rough() const { return false; } // symmetric, with coefficients that interpolation does not follow
  virtual bool   monotone() const = 0;  // does the cycle have a monotone part?
  virtual double nodes() const = 0;
  virtual int    grids() const = 0;
  virtual double flops(int top, bool monotone, bool newton) const = 0; // of a cycle for the problem of grid `top`
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
  void    take(const double *X0, const double *Y) override;
  void    keep() override;
  Moved   step(double t, const double *X0, const double *XL, const double *XU, const double *F, double *X) override;
  Point   look(const double *F, const double *X, const double *X0, const double *XL, const double *XU) override;
  bool    symmetric() const override { return plan_->symmetric; }
  bool    rough() const override { return plan_->symmetric && plan_->rough; }
  bool    monotone() const override { return with_monotone(*plan_); }
  double  nodes() const override
  {
    const Level &l = plan_->levels[0];
    return (double)l.n[0] * l.n[1] * l.n[2];
  }
  int     grids() const override { return (int)plan_->levels.size(); }
  double  flops(int top, bool monotone, bool newton) const override
  {
    return vipmg::flops(*plan_, top, monotone, newton);
  }

private:
  Plan    *plan_ = nullptr;
  Graph    start_;       // full multigrid, like the next
  Graph    cycles_[4];   // by their parts, where nothing has to be asked of other processes
  uint64_t started_ = 0; // what full multigrid last began with
};

} // namespace tessera::vipmg
