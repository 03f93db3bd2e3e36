// Rows times a vector, eight entries at a time: rows of any length, at the end of the lists and before it.
#include "exec/exec.hpp"
#include "exec/eights.hpp"
#include "unit.hpp"
#include <cmath>
#include <limits>
#include <vector>

using namespace tessera;

namespace {

// The entries behind the row belong to others: their numbers are not to be used, those of x there may be anything.
template <class Sum, class T> void check(bool exact)
{
  const int        behind = 24;
  std::vector<int> j;
  std::vector<T>   a, x{std::numeric_limits<T>::quiet_NaN()};
  for (int k = 1; k < 100; ++k) x.push_back((T)std::sin(3. * k));
  for (int n = 0; n < 40; ++n) {
    double wanted = 0, most = 0;
    a.clear(), j.clear();
    for (int k = 0; k < n + behind; ++k) {
      a.push_back((T)std::cos(7. * k + n));
      j.push_back(k < n ? 1 + (17 * k + 5 * n) % 99 : 0);
      if (k >= n) continue;
      const double term = (double)a.back() * (double)x[(size_t)j.back()];
      wanted += term;
      most += std::fabs(term);
    }
    const double bound = 4 * std::numeric_limits<Sum>::epsilon() * most;
    const Sum    last  = row_in_eights<Sum>(n, n, j.data(), a.data(), x.data());
    for (int room = n; room <= n + behind; ++room) {
      const Sum s = row_in_eights<Sum>(n, room, j.data(), a.data(), x.data());
      EXPECT_LE(std::fabs((double)s - wanted), bound) << n << " entries of " << room;
      EXPECT_TRUE(!exact || s == last) << "the order of the sum: " << n << " entries of " << room;
    }
  }
}

} // namespace

TEST(Eights, AnyRow)
{
  check<float, float>(false);
  check<double, double>(false);
  check<double, float>(true); // products of floats are exact in double precision
}
