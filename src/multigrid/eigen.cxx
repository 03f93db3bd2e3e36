#include "multigrid/exact.hpp"
#include <petscsys.h>
#include <petscblaslapack.h>
#include <algorithm>
#include <cmath>

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

// r := r - the sum of factor[k] times row k of v, of n columns, for first <= k < last, in the columns from..to
static void subtract_rows(const double *factor, const double *v, int n, int first, int last, int from, int to,
                          double *r)
{
  int k = first;
  for (; k + 3 < last; k += 4) {
    const double *const v0 = v + (ptrdiff_t)k * n, *const v1 = v0 + n, *const v2 = v1 + n, *const v3 = v2 + n;
    const double        f0 = factor[k], f1 = factor[k + 1], f2 = factor[k + 2], f3 = factor[k + 3];
#pragma GCC ivdep
    for (int q = from; q < to; ++q) r[q] -= f0 * v0[q] + f1 * v1[q] + f2 * v2[q] + f3 * v3[q];
  }
  for (; k < last; ++k) {
    const double *const v0 = v + (ptrdiff_t)k * n;
#pragma GCC ivdep
    for (int q = from; q < to; ++q) r[q] -= factor[k] * v0[q];
  }
}

// The inverse of a small matrix, by rows in the memory of the processor: the libraries that PETSc is mostly built with
// take four times as long. A = U'U, V = U^-1, A^-1 = V V'. False: it is not positive definite.
static bool small_inverse(int n, double *a)
{
  std::vector<double> v((size_t)n * (size_t)n), factor((size_t)n);
  const auto          row = [n](auto *of, int p) { return of + (ptrdiff_t)p * n; };
  for (int k = 0; k < n; ++k) { // row k of U; a keeps its columns below the diagonal
    double *const u = row(a, k);
    for (int q = 0; q < k; ++q) factor[(size_t)q] = row(a, q)[k];
    subtract_rows(factor.data(), a, n, 0, k, k, n, u);
    if (!(u[k] > 0)) return false;
    const double over = 1 / std::sqrt(u[k]);
    for (int q = k; q < n; ++q) u[q] *= over;
  }
  for (int p = n - 1; p >= 0; --p) {
    double *const r = row(v.data(), p);
    subtract_rows(row(a, p), v.data(), n, p + 1, n, p + 1, n, r);
    r[p]              = 1;
    const double over = 1 / row(a, p)[p];
    for (int q = p; q < n; ++q) r[q] *= over;
  }
  std::vector<double> &turned = factor;
  turned.resize((size_t)n * (size_t)n);
  for (int p = 0; p < n; ++p)
    for (int q = 0; q < n; ++q) turned[(size_t)q * (size_t)n + (size_t)p] = -row(v.data(), p)[q];
  for (int p = 0; p < n; ++p) {
    double *const r = row(a, p);
    std::fill(r, r + p + 1, 0.);
    subtract_rows(row(v.data(), p), turned.data(), n, p, n, 0, p + 1, r);
    for (int q = 0; q < p; ++q) row(a, q)[p] = r[q];
  }
  return true;
}

bool symmetric_inverse(int n, double *a, double least)
{
  constexpr int small = 256;
  if (n <= small) {
    if (!small_inverse(n, a)) return false;
    double squares = 0;
    for (ptrdiff_t k = 0; k < (ptrdiff_t)n * n; ++k) squares += a[k] * a[k];
    return is_regular(squares, least);
  }
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
