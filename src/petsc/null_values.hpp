// What the rows of a matrix make of a vector that may be in its null space, as arrays in the memory of a space.
#pragma once
#include "exec/exec.hpp"

namespace tessera {

struct CoupledRows {
  int     coupled = 0, regular = 0;
  HD void join(const CoupledRows &o) { coupled += o.coupled, regular += o.regular; }
};

// values = 1 in rows with off-diagonal entries, 0 in the others: there the sum of the row is its diagonal entry. How
// many of n rows are coupled, and how many of these have a sum above tolerance times the diagonal entry.
CoupledRows mark_coupled(const Exec &exec, int n, const double *sums, const double *diagonal, double tolerance,
                         double *values);
// |products| <= tolerance |diagonal| in all rows
bool        is_rounding(const Exec &exec, int n, const double *products, const double *diagonal, double tolerance);

} // namespace tessera
