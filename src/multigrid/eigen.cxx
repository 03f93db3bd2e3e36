#include "multigrid/exact.hpp"
#include <petscsys.h>
#include <petscblaslapack.h>
#include <algorithm>

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

int general_inverse(int n, double *a, double tolerance)
{
  const size_t        entries = (size_t)n * (size_t)n;
  PetscBLASInt        order = n, length = -1, info = 0;
  double              best = 0, squares = 0;
  std::vector<double> work, u(entries), vt(entries), s((size_t)n);
  for (size_t k = 0; k < entries; ++k)
    if (PetscIsInfOrNanReal(a[k])) return -1;
  std::vector<double>       factors(a, a + entries);
  std::vector<PetscBLASInt> pivots((size_t)n);
  LAPACKgetrf_(&order, &order, factors.data(), &order, pivots.data(), &info);
  if (!info) {
    LAPACKgetri_(&order, factors.data(), &order, pivots.data(), &best, &length, &info);
    length = (PetscBLASInt)best;
    work.resize((size_t)length);
    LAPACKgetri_(&order, factors.data(), &order, pivots.data(), work.data(), &length, &info);
    for (double v : factors) squares += v * v;
    if (!info && is_regular(squares, tolerance * n)) { // a row of the scaled operator is about one
      std::copy(factors.begin(), factors.end(), a);
      return 0;
    }
  }
  length = -1;
  LAPACKgesvd_("A", "A", &order, &order, a, &order, s.data(), u.data(), &order, vt.data(), &order, &best, &length,
               &info);
  length = (PetscBLASInt)best;
  work.resize((size_t)length);
  LAPACKgesvd_("A", "A", &order, &order, a, &order, s.data(), u.data(), &order, vt.data(), &order, work.data(), &length,
               &info);
  if (info) return -1;
  int dropped = 0;
  std::fill(a, a + entries, 0.);
  for (size_t e = 0; e < s.size(); ++e) { // A = U S V', by columns
    if (s[e] <= tolerance * s[0]) {
      ++dropped;
      continue;
    }
    for (size_t q = 0; q < s.size(); ++q)
      for (size_t p = 0; p < s.size(); ++p) a[q * s.size() + p] += vt[p * s.size() + e] / s[e] * u[e * s.size() + q];
  }
  return dropped;
}

} // namespace tessera::multigrid
