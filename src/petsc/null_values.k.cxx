#include "petsc/null_values.hpp"
#include "exec/each.hpp"
#include <cmath>

namespace tessera {

namespace {

struct MarkCoupled {
  const double *sums, *diagonal;
  double        tolerance, *values;
  HD void       operator()(int p, CoupledRows &to) const
  {
    const bool coupled = sums[p] != diagonal[p];
    values[p] = coupled;
    to.coupled += coupled;
    to.regular += coupled && !(fabs(sums[p]) <= tolerance * fabs(diagonal[p]));
  }
};
struct BeyondRounding {
  const double *products, *diagonal;
  double        tolerance;
  HD double     operator()(int p) const { return !(fabs(products[p]) <= tolerance * fabs(diagonal[p])); }
};

} // namespace

CoupledRows mark_coupled(const Exec &exec, int n, const double *sums, const double *diagonal, double tolerance,
                         double *values)
{
  return join_each<CoupledRows>(exec, n, MarkCoupled{sums, diagonal, tolerance, values});
}

bool is_rounding(const Exec &exec, int n, const double *products, const double *diagonal, double tolerance)
{
  Buffer<double> sum(Extent{1, exec.space});
  sum_each(exec, n, BeyondRounding{products, diagonal, tolerance}, sum.data());
  return fetch(sum, 0) == 0;
}

} // namespace tessera
