#include "multigrid/exact.hpp"
#include "exec/random.hpp"
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

// Row k of what is left of a matrix after the rows before it: U of A = U'U, whose columns below the diagonal a keeps.
// A row of which no more than `least` is left follows from those before it: it is added to the list, becomes one of the
// identity, and its column zero. False: a number is not finite.
static bool factor_rows(int n, double *a, double least, std::vector<int> &dependent)
{
  std::vector<double> factor((size_t)n);
  const auto          row = [n, a](int p) { return a + (ptrdiff_t)p * n; };
  for (int k = 0; k < n; ++k) {
    double *const u = row(k);
    for (int q = 0; q < k; ++q) factor[(size_t)q] = row(q)[k];
    subtract_rows(factor.data(), a, n, 0, k, k, n, u);
    if (!PetscIsNormalReal(u[k]) && u[k] != 0) return false;
    const bool   drop = u[k] <= least;
    const double over = drop ? 0 : 1 / std::sqrt(u[k]);
    for (int q = k; q < n; ++q) u[q] *= over;
    if (!drop) continue;
    for (int q = 0; q < k; ++q) row(q)[k] = 0;
    u[k] = 1;
    dependent.push_back(k);
  }
  return true;
}

// A^-1 = V V', V = U^-1, of the factor U, which is lost, by rows in the memory of the processor: the libraries that
// PETSc is mostly built with take four times as long.
static void invert_factor(int n, double *a)
{
  std::vector<double> v((size_t)n * (size_t)n), turned(v.size());
  const auto          row = [n](auto *of, int p) { return of + (ptrdiff_t)p * n; };
  for (int p = n - 1; p >= 0; --p) {
    double *const r = row(v.data(), p);
    subtract_rows(row(a, p), v.data(), n, p + 1, n, p + 1, n, r);
    r[p]              = 1;
    const double over = 1 / row(a, p)[p];
    for (int q = p; q < n; ++q) r[q] *= over;
  }
  for (int p = 0; p < n; ++p)
    for (int q = 0; q < n; ++q) turned[(size_t)q * (size_t)n + (size_t)p] = -row(v.data(), p)[q];
  for (int p = 0; p < n; ++p) {
    double *const r = row(a, p);
    std::fill(r, r + p + 1, 0.);
    subtract_rows(row(v.data(), p), turned.data(), n, p, n, 0, p + 1, r);
    for (int q = 0; q < p; ++q) row(a, q)[p] = r[q];
  }
}

// y = a x, and their product
static double multiply(int n, const double *a, const double *x, double *y)
{
  double product = 0;
  for (int p = 0; p < n; ++p) {
    y[p] = 0;
    for (int q = 0; q < n; ++q) y[p] += a[(ptrdiff_t)p * n + q] * x[q];
    product += x[p] * y[p];
  }
  return product;
}

// Nearly, of a symmetric matrix: of its absolute values, by powers.
static double largest_eigenvalue(int n, const double *a)
{
  constexpr int       steps = 20;
  std::vector<double> x((size_t)n), y((size_t)n);
  double              length = 0;
  for (int p = 0; p < n; ++p) x[(size_t)p] = scattered((uint64_t)p + 1);
  for (int step = 0; step < steps; ++step) {
    double squares = 0;
    multiply(n, a, x.data(), y.data());
    for (double v : y) squares += v * v;
    length = std::sqrt(squares);
    for (size_t p = 0; p < x.size() && length > 0; ++p) x[p] = y[p] / length;
  }
  return length;
}

// The inverse by LAPACK. False: it is not positive definite.
static bool large_inverse(int n, double *a)
{
  PetscBLASInt order = n, info = 0;
  LAPACKpotrf_("L", &order, a, &order, &info);
  if (!info) LAPACKpotri_("L", &order, a, &order, &info);
  for (int p = 0; p < n && !info; ++p)
    for (int q = p; q < n; ++q) a[(ptrdiff_t)q * n + p] = a[(ptrdiff_t)p * n + q];
  return !info;
}

// Are all eigenvalues of what a is the inverse of larger than `least`?
static bool is_inverse(int n, const double *a, double least)
{
  double squares = 0;
  for (ptrdiff_t k = 0; k < (ptrdiff_t)n * n; ++k) squares += a[k] * a[k];
  return is_regular(squares, least) || largest_eigenvalue(n, a) * least < 1;
}

// With the rows that follow from others left out, the rest has an inverse G, which is zero elsewhere. A null vector of
// each such row e is e - G A e; as these are all there are, (1 - Q Q') G (1 - Q Q') with an orthonormal basis Q of them
// is the pseudo-inverse.
int semidefinite_inverse(int n, double *a, double tolerance)
{
  const double        least = tolerance * largest_eigenvalue(n, a);
  const size_t        size = (size_t)n;
  std::vector<double> of(a, a + size * size), z(size), y(size), basis;
  std::vector<int>    dependent;
  constexpr int       small = 256; // the processor's memory holds it
  if (n > small) {
    if (large_inverse(n, a) && is_inverse(n, a, least)) return 0;
    std::copy(of.begin(), of.end(), a);
  }
  if (!factor_rows(n, a, least, dependent)) return -1;
  invert_factor(n, a);
  for (int d : dependent) a[(ptrdiff_t)d * n + d] = 0;
  if (!is_inverse(n, a, least)) return -1;
  for (int d : dependent) {
    multiply(n, a, of.data() + (ptrdiff_t)d * n, z.data());
    for (size_t p = 0; p < size; ++p) z[p] = (p == (size_t)d) - z[p];
    for (int pass = 0; pass < 2; ++pass)
      for (size_t q = 0; q < basis.size(); q += size) {
        double both = 0;
        for (size_t p = 0; p < size; ++p) both += basis[q + p] * z[p];
        for (size_t p = 0; p < size; ++p) z[p] -= both * basis[q + p];
      }
    double length = 0;
    for (double v : z) length += v * v;
    for (double &v : z) v /= std::sqrt(length);
    multiply(n, of.data(), z.data(), y.data());
    double energy = 0;
    for (double v : y) energy += v * v;
    if (!(energy <= least * least)) return -1;
    basis.insert(basis.end(), z.begin(), z.end());
  }
  for (size_t q = 0; q < basis.size(); q += size) { // one after the other, as they are orthogonal
    const double *const b    = basis.data() + q;
    const double        both = multiply(n, a, b, y.data());
    for (size_t p = 0; p < size; ++p)
      for (size_t r = 0; r < size; ++r) a[p * size + r] -= b[p] * y[r] + y[p] * b[r] - both * b[p] * b[r];
  }
  return (int)dependent.size();
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
