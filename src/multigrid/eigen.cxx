#include "multigrid/exact.hpp"
#include <petscsys.h>
#include <petscblaslapack.h>

namespace tessera::multigrid {

bool symmetric_eigen(int n, double *a, double *w)
{
  PetscBLASInt        order = n, length = -1, info = 0;
  double              best = 0;
  std::vector<double> work;
  for (int k = 0; k < n * n; ++k)
    if (PetscIsInfOrNanReal(a[k])) return false;
  LAPACKsyev_("V", "U", &order, a, &order, w, &best, &length, &info);
  length = (PetscBLASInt)best;
  work.resize((size_t)length);
  LAPACKsyev_("V", "U", &order, a, &order, w, work.data(), &length, &info);
  return !info;
}

bool symmetric_inverse(int n, double *a, double least)
{
  PetscBLASInt order = n, info = 0;
  double       sum   = 0;
  LAPACKpotrf_("L", &order, a, &order, &info);
  if (info) return false; // so are numbers that are none: their comparison with zero fails
  LAPACKpotri_("L", &order, a, &order, &info);
  if (info) return false;
  for (int p = 0; p < n; ++p)
    for (int q = p; q < n; ++q) {
      const double v = a[(ptrdiff_t)p * n + q];
      a[(ptrdiff_t)q * n + p] = v;
      sum += (p == q ? 1 : 2) * v * v;
    }
  return is_regular(sum, least);
}

} // namespace tessera::multigrid
