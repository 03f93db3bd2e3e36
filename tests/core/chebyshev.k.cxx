// The smoother's polynomials on a diagonal operator: an unknown for each eigenvalue.
#include "multigrid/chebyshev.hpp"
#include "unit.hpp"
#include <algorithm>
#include <cmath>
#include <vector>

using namespace tessera;
using multigrid::Chebyshev;

struct Eigenvalues {
  static constexpr int count = 1001;
  const Exec           exec;
  Buffer<double>       inverse;
  std::vector<double>  lambda;
  explicit Eigenvalues(double largest) : inverse(Extent{count, Space::host})
  {
    for (int p = 0; p < count; ++p) inverse.data()[p] = 1, lambda.push_back(largest * p / (count - 1));
  }
  int  unknowns() const { return count; }
  void halo(double *) { }
  template <class End> void each_row(double *v, const End &end) const
  {
    for (int p = 0; p < count; ++p) end(p, lambda[(size_t)p] * v[p]);
  }
};
struct Of {
  double *b, *x, *r, *z, *w;
};

// What is left of an error of 1 in each eigenvector, from zero or with x = 0 as a start.
static std::vector<double> errors(const Chebyshev &smoother, Eigenvalues &level, bool from_zero)
{
  std::vector<double> v[5];
  for (std::vector<double> &u : v) u.assign(Eigenvalues::count, 0);
  v[0] = level.lambda; // b of the solution 1
  smoother.apply<double>(level, Of{v[0].data(), v[1].data(), v[2].data(), v[3].data(), v[4].data()}, from_zero);
  for (double &x : v[1]) x = 1 - x;
  return v[1];
}

static double first_kind(int k, double t) { return t > 1 ? std::cosh(k * std::acosh(t)) : std::cos(k * std::acos(std::max(t, -1.))); }

TEST(Chebyshev, OfTheFirstKind) // T_k of the interval, over its value at zero
{
  for (double largest : {1., 2.5})
    for (double lower : {0.05, 0.2, 0.5})
      for (int degree = 1; degree <= 6; ++degree)
        for (bool from_zero : {true, false}) {
          Eigenvalues level(largest);
          Chebyshev   smoother;
          smoother.setup(false, degree, largest, lower);
          const std::vector<double> e = errors(smoother, level, from_zero);
          for (int p = 0; p < Eigenvalues::count; ++p) {
            const double t = (1 + lower - 2 * level.lambda[(size_t)p] / largest) / (1 - lower);
            EXPECT_NEAR(e[(size_t)p], first_kind(degree, t) / first_kind(degree, (1 + lower) / (1 - lower)), 1e-12);
          }
        }
}

TEST(Chebyshev, OfTheFourthKind) // without a lower end it reduces all eigenvectors, and half of them well
{
  for (int degree = 1; degree <= 6; ++degree) {
    Eigenvalues level(1);
    Chebyshev   smoother;
    smoother.setup(false, degree, 1);
    const std::vector<double> e = errors(smoother, level, true);
    for (int p = 1; p < Eigenvalues::count; ++p) {
      EXPECT_LT(std::fabs(e[(size_t)p]), 2 * p < Eigenvalues::count ? 1 : 0.51);
    }
  }
}
