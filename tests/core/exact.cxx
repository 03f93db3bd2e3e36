// Inverses of small dense matrices that are not symmetric, as convection leaves them on the last grid.
#include "multigrid/exact.hpp"
#include "reference.hpp"
#include "unit.hpp"

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
