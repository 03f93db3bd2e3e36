// CG on S1 with all of its iterations on the device: scalars, test and loop live there, the host waits once at the
// end. On one process, with a preconditioner whose kernels ask the host nothing; flexible CG with the K-cycle.
#pragma once
#include "rrb/rrb.hpp"
#include <memory>

namespace tessera::rrb {

struct Limits {
  // of the norm, which starts with that of the right-hand side
  double relative = 1e-5, absolute = 1e-50, divergence = 1e4;
  int    iterations = 10000;
  bool   goes_on = false; // after these another solve goes on from r and x
};

enum class Outcome {
  running,
  converged_relative,
  converged_absolute,
  zero_residual,
  too_many,
  diverged,
  indefinite_preconditioner,
  indefinite_matrix,
  not_finite
};

class SchurSolver {
public:
  SchurSolver();
  ~SchurSolver();
  static bool serves(const Plan &plan);
  // b: the right-hand side in natural order, own nodes. begun: r is S1's right-hand side and x a first solution
  // (Dirichlet nodes); else r is made from b and x becomes the black nodes' solution. `null`: orthonormal vectors
  // that the directions are kept free of. solution, where not null: the whole solution in natural order. The norms of
  // all iterations, the first one that of b.
  Outcome solve(Plan &plan, const Limits &limits, const double *b, bool begun, std::vector<BlackField> &null,
                BlackField &r, BlackField &x, double *solution, std::vector<double> &norms);
  size_t  bytes() const;

private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

} // namespace tessera::rrb
