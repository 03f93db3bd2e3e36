// Inverses of small dense matrices on the last grid: not symmetric, as convection leaves them, or with empty rows.
#include "multigrid/exact.hpp"
#include "reference.hpp"
#include "unit.hpp"
#include <algorithm>

using namespace tessera;

// The largest entry of A X A - A
static double defect(int n, const std::vector<double> &a, const std::vector<double> &x)
{
  const auto product = [n](const std::vector<double> &l, const std::vector<double> &r) {
    std::vector<double> p(l.size());
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < n; ++k)
        for (int j = 0; j < n; ++j) p[(size_t)(i * n + j)] += l[(size_t)(i * n + k)] * r[(size_t)(k * n + j)];
    return p;
  };
  const std::vector<double> p = product(product(a, x), a);
  double                    largest = 0;
  for (size_t k = 0; k < p.size(); ++k) largest = std::max(largest, std::fabs(p[k] - a[k]));
  return largest;
}

TEST(Exact, GeneralInverse)
{
  const int           n = 30;
  std::vector<double> a((size_t)(n * n)), x;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) a[(size_t)(i * n + j)] = (i == j) + 0.1 * (hash(i, j, 3) - 0.5);
  x = a;
  EXPECT_EQ(multigrid::general_inverse(n, x.data(), 1e-11), 0);
  EXPECT_LT(defect(n, a, x), 1e-12);
  for (int i = 0; i < n; ++i) { // constants in the null space
    double sum = 0;
    for (int j = 0; j < n; ++j) sum += a[(size_t)(i * n + j)];
    a[(size_t)(i * n + i)] -= sum;
  }
  x = a;
  EXPECT_EQ(multigrid::general_inverse(n, x.data(), 1e-11), 1);
  EXPECT_LT(defect(n, a, x), 1e-12);
  x[7] = NAN;
  EXPECT_EQ(multigrid::general_inverse(n, x.data(), 1e-11), -1);
}

// Symmetric matrices of all ranks: the pseudo-inverse by Moore's and Penrose's conditions.
TEST(Exact, SemidefiniteInverse)
{
  for (int n : {1, 7, 60, 300})
    for (int lost : {0, 1, 5, n / 2}) {
      if (lost >= n) continue;
      const int           rank = n - lost;
      std::vector<double> a((size_t)(n * n)), basis((size_t)(n * rank));
      // each row of A = B B' combines few columns of B, as functions of a grid do
      for (int i = 0; i < n; ++i) {
        const int from = i < rank ? i : i - rank;
        for (int k = from; k < std::min(from + 4, rank); ++k)
          basis[(size_t)(i * rank + k)] = k == from && i < rank ? 1 : 0.5 * (hash(i, k, 5) - 0.5);
      }
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
          for (int k = 0; k < rank; ++k)
            a[(size_t)(i * n + j)] += basis[(size_t)(i * rank + k)] * basis[(size_t)(j * rank + k)];
      std::vector<double> x = a;
      ASSERT_EQ(multigrid::semidefinite_inverse(n, x.data(), 1e-11), lost) << n;
      EXPECT_LT(defect(n, a, x), 1e-9) << n << " " << lost;
      EXPECT_LT(defect(n, x, a), 1e-7 * *std::max_element(x.begin(), x.end())) << n << " " << lost;
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < i; ++j) EXPECT_NEAR(x[(size_t)(i * n + j)], x[(size_t)(j * n + i)], 1e-9);
      // A X is symmetric: the null space of A is that of X
      for (int i = 0; i < n; i += 7)
        for (int j = 0; j < i; j += 5) {
          double one = 0, other = 0;
          for (int k = 0; k < n; ++k) {
            one += a[(size_t)(i * n + k)] * x[(size_t)(k * n + j)];
            other += a[(size_t)(j * n + k)] * x[(size_t)(k * n + i)];
          }
          EXPECT_NEAR(one, other, 1e-8) << n << " " << lost;
        }
      std::vector<double> bad = a;
      bad[(size_t)(n * n - 1)] -= 3; // an eigenvalue is negative
      EXPECT_EQ(multigrid::semidefinite_inverse(n, bad.data(), 1e-11), -1);
      for (int k : {0, n - 1}) {
        bad                = a;
        bad[(size_t)k]     = NAN;
        bad[(size_t)(k * n)] = NAN;
        EXPECT_EQ(multigrid::semidefinite_inverse(n, bad.data(), 1e-11), -1);
      }
    }
}

// Eigenvalues that are small, or negative, and not zero
TEST(Exact, SemidefiniteInverseKeepsSmallEigenvalues)
{
  const int n = 12;
  for (double last : {1e-9, 1e-6, -1e-9, -1e-6}) {
    std::vector<double> a((size_t)(n * n)), x;
    for (int i = 0; i < n; ++i) // the vector of ones has the eigenvalue `last`
      for (int j = 0; j < n; ++j) a[(size_t)(i * n + j)] = (i == j) - (1 - last) / n;
    x = a;
    EXPECT_EQ(multigrid::semidefinite_inverse(n, x.data(), 1e-11), last > 0 ? 0 : -1) << last;
    if (last > 0) {
      EXPECT_NEAR(last * n * x[1], 1, 1e-4);
    }
  }
}

// Unknowns without an entry, as truncation leaves them: the others have their inverse, by a device, too, without
// anything that is done for singular operators.
TEST(Exact, UnknownsThatTakeNoPart)
{
  const int           n = 24, out[] = {0, 7, 8};
  const auto          absent = [&](int p) { return std::find(std::begin(out), std::end(out), p) != std::end(out); };
  std::vector<double> a((size_t)(n * n));
  for (int p = 0; p < n; ++p)
    for (int q = 0; q < n; ++q)
      if (!absent(p) && !absent(q)) a[(size_t)(p * n + q)] = p == q ? 2.5 + p : std::abs(p - q) == 1 ? -1 : 0;
  Exec exec;
  exec.space = unit_cuda() ? Space::cuda : Space::host;
  multigrid::ExactSolver<double> solver;
  solver.place(exec, Comm(), n, false);
  const Extent   entries{(size_t)(n * n), exec.space};
  Buffer<int>    rows(n + 1), columns(n * n), i(Extent{n + 1, exec.space}), j(entries);
  Buffer<double> v(entries), norm2(Extent{1, exec.space});
  for (int p = 0; p <= n; ++p) rows.data()[p] = p * n;
  for (int e = 0; e < n * n; ++e) columns.data()[e] = e % n;
  copy(rows, i);
  copy(columns, j);
  copy(a.data(), Space::host, v.data(), exec.space, a.size());
  double         found = -2;
  if (solver.invert_rows(exec, i.data(), j.data(), v.data(), n, 1, norm2.data())) {
    copy(norm2.data(), exec.space, &found, Space::host, 1);
    EXPECT_TRUE(solver.suffices(found)) << found;
  } else {
    EXPECT_FALSE(unit_cuda());
    double              negative = 0;
    std::vector<double> lost     = a;
    EXPECT_EQ(solver.invert(exec, lost, negative), multigrid::ExactSolver<double>::Result::done);
  }
  EXPECT_EQ(solver.dropped, 0);
  std::vector<double> x((size_t)(n * n));
  copy(solver.inverse.data(), exec.space, x.data(), Space::host, x.size());
  EXPECT_LT(defect(n, a, x), 1e-12);
  for (int p : out)
    for (int q = 0; q < n; ++q) EXPECT_EQ(x[(size_t)(p * n + q)], 0);
}
