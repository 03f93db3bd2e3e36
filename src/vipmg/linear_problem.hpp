// The linear complementarity problem for a correction of a point X: A x = -F between XL - X and XU - X, in the sense
// of vipmg.hpp. It has the correction x, the last step to it, which the next cycle recombines, and what is recorded of
// cycles on a device. Arrays are in natural order, in the space of the plan.
#pragma once
#include "vipmg/vipmg.hpp"

namespace tessera::vipmg {

class LinearProblem {
public:
  LinearProblem() = default;
  explicit LinearProblem(Plan &plan) : plan_(&plan) { }
  // Forgets the active set and takes up the plan's params: what a solve does does not depend on the one before.
  void forget();
  // x := 0, but the solution in Dirichlet rows; returns whether these made a difference. follow: the last step of the
  // correction kept goes on being recombined.
  bool load(const double *F, const double *X, const double *XL, const double *XU, bool follow = false);
  bool restart(); // from there
  void full_multigrid(); // a start from the coarsest grid, of the right-hand side and the bounds
  Measure cycle(bool monotone, bool newton);
  Measure measure() { return vipmg::measure(*plan_, plan_->levels[0]); }
  void take(const double *X0, const double *Y); // the correction Y - X0
  void keep(); // the correction x, while other problems are loaded
  // X := P(X0 + t x) with the correction kept; F: at X0, for the slope
  Moved step(double t, const double *X0, const double *XL, const double *XU, const double *F, double *X);
  // What is to be known of a point. X0: one before, or nullptr.
  Point look(const double *F, const double *X, const double *X0, const double *XL, const double *XU);

private:
  Plan    *plan_ = nullptr;
  Graph    start_;       // full multigrid, like the next
  Graph    cycles_[4];   // by their parts, where nothing has to be asked of other processes
  uint64_t started_ = 0; // what full multigrid last began with
};

} // namespace tessera::vipmg
