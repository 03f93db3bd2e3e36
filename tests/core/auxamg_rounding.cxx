// Operators in single precision: what rounding does to them, and when they are refused.
#include "auxamg_case.hpp"

using namespace tessera;
using namespace tessera::tree;

// A shift that rounding to single precision takes away, at first and in new values; none is no reason, as constants are dropped then.
TEST(auxamg_rounding, refuses_what_is_nearly_singular)
{
  const int                 m = 24, n = m * m;
  const std::vector<double> x = points(2, n, 1, 7);
  std::vector<int>          i{0}, j;
  for (int p = 0; p < n; ++p) {
    for (int q : {p - m, p - 1, p, p + 1, p + m})
      if (q >= 0 && q < n && (p / m == q / m || p % m == q % m)) j.push_back(q);
    i.push_back((int)j.size());
  }
  const auto shifted = [&](double shift) {
    std::vector<double> a(j.size(), -1. / 3);
    for (int p = 0; p < n; ++p)
      for (int e = i[(size_t)p]; e < i[(size_t)p + 1]; ++e)
        if (j[(size_t)e] == p) a[(size_t)e] = (i[(size_t)p + 1] - i[(size_t)p] - 1) / 3. + shift;
    return put(a);
  };
  const Buffer<Index>    pi = put_indices(i), pj = put_indices(j);
  const Buffer<double> regular = shifted(1e-2), nearly = shifted(1e-9), singular = shifted(0);
  Rows            rows = rows_of(pi, pj, regular);
  Params               params;
  Failure              failure;
  params.coarse     = 20;
  params.falls_back = true;
  Hierarchy<float> h(exec(), MPI_COMM_SELF, params), other(exec(), MPI_COMM_SELF, params);
  ASSERT_EQ(h.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  rows.a = nearly.data();
  ASSERT_TRUE(h.refresh(rows, failure));
  EXPECT_EQ(failure.kind, Failure::rounded);
  EXPECT_EQ(other.setup(rows, x.data(), {}, {}, false).kind, Failure::rounded);
  rows.a = singular.data();
  EXPECT_EQ(other.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  EXPECT_EQ(other.coarsest().dropped, 1);
}

// Disks of large and of small coefficients without Dirichlet rows: nothing holds constants but the sums of rows, which are zero.
TEST(auxamg_rounding, leaves_sums_of_rows)
{
  const int m = 120, n = m * m;
  for (unsigned seed = 4; seed < 8; ++seed) {
    std::mt19937                           random(seed);
    std::uniform_real_distribution<double> unit(0, 1);
    std::vector<double>                    x, coefficient((size_t)n, 1.);
    for (int disk = 0; disk < 60; ++disk) {
      const double at[2] = {unit(random) * m, unit(random) * m}, radius = m * (0.02 + 0.07 * unit(random));
      for (int p = 0; p < n; ++p)
        if (std::hypot(p % m - at[0], p / m - at[1]) < radius) coefficient[(size_t)p] = disk % 2 ? 1e-2 : 1e2;
    }
    for (int p = 0; p < n; ++p) x.push_back(p % m + 0.6 * unit(random)), x.push_back(p / m + 0.6 * unit(random));
    const auto at = [&](const int *p) { return coefficient[(size_t)(p[0] + m * p[1])]; };
    const Laplacian matrix(grid(2, m, [&](const int *p, const int *q) { return 2 / (1 / at(p) + 1 / at(q)); }));
    const Buffer<Index>  pi = put_indices(matrix.i), pj = put_indices(matrix.j);
    const Buffer<double> values = put(matrix.a);
    const Rows           rows = rows_of(pi, pj, values);
    Params               params;
    Failure              failure;
    params.all_take_part = params.falls_back = true;
    Hierarchy<float> h(exec(), MPI_COMM_SELF, params);
    ASSERT_EQ(h.setup(rows, x.data(), {}, {}, false).kind, Failure::none) << "seed " << seed;
    ASSERT_TRUE(h.filtered());
    for (bool again : {false, true}) {
      ASSERT_TRUE(!again || (h.refresh(rows, failure) && !failure.kind)) << "seed " << seed;
      for (size_t l = 1; l < h.levels().size(); ++l) {
        const std::vector<int>   begin = get(h.levels()[l].i), column = get(h.levels()[l].j);
        const std::vector<float> value = get(h.levels()[l].a);
        double                   worst = 0;
        for (int p = 0; p + 1 < (int)begin.size(); ++p) {
          double sum = 0, diagonal = 0, moduli = 0;
          for (int e = begin[(size_t)p]; e < begin[(size_t)p + 1]; ++e) {
            sum += value[(size_t)e];
            moduli += std::abs(value[(size_t)e]);
            if (column[(size_t)e] == p) diagonal = value[(size_t)e];
          }
          if (diagonal > 0.21 * moduli) worst = std::max(worst, std::abs(sum) / diagonal); // others are not corrected
        }
        EXPECT_LT(worst, 1e-7) << "seed " << seed << ", level " << l; // a diagonal's own rounding is 6e-8
      }
    }
  }
}
