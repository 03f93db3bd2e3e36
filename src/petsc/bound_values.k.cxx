#include "petsc/bound_values.hpp"
#include "exec/buffer.hpp"
#include "exec/each.hpp"
#include <cfloat>
#include <cmath>

namespace tessera {

namespace {

HD inline bool finite_bound(double bound, double infinity) { return bound > -infinity && bound < infinity; }

struct LargestBound {
  double  value = 0;
  HD void join(const LargestBound &o) { value = o.value > value ? o.value : value; }
};
struct FindLargest {
  const double *l, *u;
  double        infinity;
  HD void       take(double bound, LargestBound &to) const
  {
    if (finite_bound(bound, infinity) && fabs(bound) > to.value) to.value = fabs(bound);
  }
  HD void operator()(int p, LargestBound &to) const
  {
    take(l[p], to);
    take(u[p], to);
  }
};
struct CountBounds {
  const double *l, *u;
  double        infinity, unit;
  HD void       operator()(int p, BoundCounts &to) const
  {
    const double a = l[p], b = u[p], larger = fabs(a) > fabs(b) ? fabs(a) : fabs(b);
    const double size = larger > unit ? larger : unit;
    const bool   ends = finite_bound(a, infinity) && finite_bound(b, infinity), nan = a != a || b != b;
    const bool   rounded = ends && a > b && a - b <= 16 * DBL_EPSILON * size,
               crossed = !rounded && (a > b || a >= infinity || b <= -infinity);
    to.lower += a > -infinity;
    to.upper += b < infinity;
    to.rounded += rounded;
    to.crossed += crossed;
    to.nan += nan;
    if (crossed && p < to.first_crossed) to.first_crossed = p;
    if (nan && p < to.first_nan) to.first_nan = p;
  }
};
struct BetweenBounds {
  const double *l, *u;
  double       *x;
  HD void       operator()(int p) const { x[p] = x[p] < l[p] ? l[p] : x[p] > u[p] ? u[p] : x[p]; }
};

} // namespace

double largest_bound(const Exec &exec, int n, const double *l, const double *u, double infinity)
{
  return join_each<LargestBound>(exec, n, FindLargest{l, u, infinity}).value;
}

BoundCounts count_bounds(const Exec &exec, int n, const double *l, const double *u, double infinity, double unit)
{
  return join_each<BoundCounts>(exec, n, CountBounds{l, u, infinity, unit});
}

void project_to_bounds(const Exec &exec, int n, const double *l, const double *u, double *x)
{
  for_each(exec, n, BetweenBounds{l, u, x});
}

} // namespace tessera
