// Bounds of unknowns as arrays in the memory of a space.
#pragma once
#include "exec/exec.hpp"
#include <climits>

namespace tessera {

// What the bounds of a process' unknowns are.
struct BoundCounts {
  int     lower = 0, upper = 0;                         // finite ones
  int     crossed = 0, nan = 0, rounded = 0;            // as in BoundsReport
  int     first_crossed = INT_MAX, first_nan = INT_MAX; // the first unknown of each
  HD void join(const BoundCounts &o)
  {
    lower += o.lower, upper += o.upper, crossed += o.crossed, nan += o.nan, rounded += o.rounded;
    first_crossed = o.first_crossed < first_crossed ? o.first_crossed : first_crossed;
    first_nan     = o.first_nan < first_nan ? o.first_nan : first_nan;
  }
};

// n bounds l and u; those beyond `infinity` are none. The largest absolute value of the finite ones.
double      largest_bound(const Exec &exec, int n, const double *l, const double *u, double infinity);
// Lower bounds above upper ones by at most 16 units of rounding of the larger one, or of `unit`, have been rounded.
BoundCounts count_bounds(const Exec &exec, int n, const double *l, const double *u, double infinity, double unit);
// x := the nearest point between the bounds
void        project_to_bounds(const Exec &exec, int n, const double *l, const double *u, double *x);

} // namespace tessera
