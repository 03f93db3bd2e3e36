// Where setups on a device differ from those of the host: long rows, lists, keys that are ordered in part.
#include "auxamg_case.hpp"
#include <cstdlib>

using namespace tessera;
using namespace tessera::tree;

// One row is coupled with half of all nodes: its list on a device is cut in a first run, and must not count as too long.
TEST(AuxAMG, ARowOfManyOnADevice)
{
  if (!unit_cuda()) GTEST_SKIP() << "no device";
  const int                          m = 50, n = m * m * m;
  std::vector<std::map<int, double>> row((size_t)n);
  std::vector<int>                   I(1, 0), J;
  std::vector<double>                V, x;
  size_t                             levels[2];
  const auto                         couple = [&](int p, int q, double w) {
    row[(size_t)p][q] -= w, row[(size_t)q][p] -= w;
    row[(size_t)p][p] += w, row[(size_t)q][q] += w;
  };
  for (int p = 0; p < n; ++p) {
    const int at[3] = {p % m, p / m % m, p / m / m}, step[3] = {1, m, m * m};
    row[(size_t)p][p] += 1e-3;
    for (int d = 0; d < 3; ++d) {
      x.push_back(at[d]);
      if (at[d] + 1 < m) couple(p, p + step[d], 1);
    }
  }
  for (int p = 2; p < n; p += 2) couple(0, p, 1e-4);
  for (const auto &r : row) {
    for (const auto &e : r) J.push_back(e.first), V.push_back(e.second);
    I.push_back((int)J.size());
  }
  for (int device = 0; device < 2; ++device) {
    const Exec where = device ? exec() : Exec();
    const auto i = put_indices(I, where), j = put_indices(J, where);
    const auto a = put(V, where);
    Params     params;
    Rows rows = rows_of(i, j, a);
    params.dim  = 3;
    params.cell_size = 24;
    Hierarchy<double> h(where, MPI_COMM_SELF, params);
    ASSERT_EQ(h.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
    levels[device] = h.levels().size();
  }
  EXPECT_EQ(levels[0], levels[1]);
}

// Rows of 289 entries, whose lists leave a block's memory: a device wants less than 30 MB with the 11 of the matrix, not the more than 50 of tables for what
// bounds the lists' lengths.
TEST(AuxAMG, WideRowsOnADevice)
{
  if (!unit_cuda()) GTEST_SKIP() << "no device";
  const int           m = 60, reach = 8, n = m * m;
  std::vector<int>    I(1, 0), J;
  std::vector<double> V, x;
  for (int p = 0; p < n; ++p) {
    const int row = p / m, column = p % m;
    double    sum = 1e-3;
    x.push_back(column), x.push_back(row);
    size_t diagonal = 0;
    for (int q = std::max(0, row - reach); q <= std::min(m - 1, row + reach); ++q)
      for (int r = std::max(0, column - reach); r <= std::min(m - 1, column + reach); ++r) {
        const double w = 1. / (1 + (q - row) * (q - row) + (r - column) * (r - column));
        if (q * m + r == p) diagonal = J.size();
        else sum += w;
        J.push_back(q * m + r), V.push_back(-w);
      }
    V[diagonal] = sum;
    I.push_back((int)J.size());
  }
  const auto i = put_indices(I, exec()), j = put_indices(J, exec());
  const auto a = put(V, exec());
  Params     params;
  Rows rows = rows_of(i, j, a);
  params.dim = 2;
  setenv("TESSERA_EMULATED_MEMORY", "40000000", 1); // the emulated device's alone
  Hierarchy<double> h(exec(), MPI_COMM_SELF, params);
  EXPECT_EQ(h.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  unsetenv("TESSERA_EMULATED_MEMORY");
}

// On a device a block has no room for a row that is coupled with half of all nodes: it adds it up by parts.
TEST(AuxAMG, LongRowsOnADevice)
{
  if (!unit_cuda()) GTEST_SKIP() << "no device";
  const int                 n = 2600;
  const Matrix              A(n, 1, 5, 6);
  const std::vector<double> x = points(2, n, 1, 7);
  std::vector<double>       r((size_t)n), z[2];
  for (int p = 0; p < n; ++p) r[(size_t)p] = std::sin(p);
  Params params;
  params.coarse = 100;
  for (int device = 0; device < 2; ++device) {
    const Exec where = device ? exec() : Exec();
    const auto i = put_indices(A.i, where), j = put_indices(A.j, where);
    const auto a = put(A.a, where), b = put(r, where);
    auto       y = put(r, where);
    Rows rows = rows_of(i, j, a);
    Hierarchy<double> h(where, MPI_COMM_SELF, params);
    ASSERT_EQ(h.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
    h.apply(b.data(), y.data());
    z[device] = get(y);
  }
  double largest = 0;
  for (double v : z[0]) largest = std::max(largest, std::fabs(v));
  for (int p = 0; p < n; ++p) ASSERT_NEAR(z[1][(size_t)p], z[0][(size_t)p], 1e-10 * largest);
}
