// What varies slowly over parts of a mesh between barriers (part_network.hpp): iterations do not grow with their number.
// Which parts need no functions.
#include "auxamg_case.hpp"
#include <gtest/gtest.h>
#include <cmath>

namespace tessera {
namespace tree {

namespace {

// A grid of side^2 squares, each of length^2 nodes, coupled by 1 inside and by 1e-5 to 1e-3 across their sides; the nodes
// of the lowest row are tied to zero.
struct Squares {
  int                 n = 0;
  std::vector<int>    i{0}, j;
  std::vector<double> a, x;
  Squares(int side, int length)
  {
    const int m = side * length;
    n = m * m;
    std::mt19937                           random(5);
    std::uniform_real_distribution<double> decades(-5, -3);
    std::vector<double>                    right((size_t)n), above((size_t)n);
    for (int p = 0; p < n; ++p) {
      right[(size_t)p] = (p % m + 1) % length ? 1 : std::pow(10, decades(random));
      above[(size_t)p] = (p / m + 1) % length ? 1 : std::pow(10, decades(random));
    }
    for (int p = 0; p < n; ++p) {
      double     diagonal = p < m ? 1 : 0;
      const auto couple   = [&](int q, double w) {
        j.push_back(q), a.push_back(-w);
        diagonal += w;
      };
      if (p >= m) couple(p - m, above[(size_t)(p - m)]);
      if (p % m) couple(p - 1, right[(size_t)(p - 1)]);
      const size_t own = j.size();
      j.push_back(p), a.push_back(0);
      if (p % m + 1 < m) couple(p + 1, right[(size_t)p]);
      if (p + m < n) couple(p + m, above[(size_t)p]);
      a[own] = diagonal;
      i.push_back((int)j.size());
      x.insert(x.end(), {(double)(p % m), (double)(p / m)});
    }
  }
  std::vector<double> multiply(const std::vector<double> &v) const
  {
    std::vector<double> w((size_t)n);
    for (int p = 0; p < n; ++p)
      for (int e = i[(size_t)p]; e < i[(size_t)p + 1]; ++e) w[(size_t)p] += a[(size_t)e] * v[(size_t)j[(size_t)e]];
    return w;
  }
};

double dot(const std::vector<double> &x, const std::vector<double> &y)
{
  double sum = 0;
  for (size_t p = 0; p < x.size(); ++p) sum += x[p] * y[p];
  return sum;
}

// Steps of CG until the residual, at first random numbers, is 1e-6 of that.
template <class T> int iterations(const Squares &s)
{
  Params params         = params_for(2, 1);
  params.all_take_part = true;
  Hierarchy<T>        hierarchy(exec(), Comm(), params);
  const auto          i = put_indices(s.i), j = put_indices(s.j);
  const auto          a = put(s.a);
  const Failure       failure = hierarchy.setup(rows_of(i, j, a), s.x.data(), {}, {}, false);
  EXPECT_EQ(Failure::none, failure.kind);
  EXPECT_LT(1, hierarchy.parts());
  const auto precondition = [&](const std::vector<double> &r) {
    const Buffer<double> from = put(r);
    Buffer<double>       to   = put(std::vector<double>(r.size()));
    hierarchy.apply(from.data(), to.data());
    return get(to);
  };
  std::mt19937                           random(7);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<double>                    r((size_t)s.n);
  for (double &v : r) v = unit(random);
  std::vector<double> z = precondition(r), p = z;
  double              rz = dot(r, z);
  const double        goal = 1e-12 * dot(r, r);
  for (int k = 1; k < 100; ++k) {
    const std::vector<double> q = s.multiply(p);
    const double              step = rz / dot(p, q);
    for (size_t e = 0; e < r.size(); ++e) r[e] -= step * q[e];
    if (dot(r, r) < goal) return k;
    z = precondition(r);
    const double next = dot(r, z);
    for (size_t e = 0; e < p.size(); ++e) p[e] = z[e] + next / rz * p[e];
    rz = next;
  }
  return 100;
}

} // namespace

TEST(AuxAMGNetwork, IterationsDoNotGrowWithTheParts)
{
  const Squares few(4, 8), many(28, 8);
  EXPECT_LE(iterations<double>(many), iterations<double>(few) + 2);
  EXPECT_LE(iterations<float>(many), iterations<float>(few) + 2);
}

// Columns of 12 strongly coupled nodes. The smoother solves each exactly, so where fixed nodes hold them it needs no
// functions of them; where only one is held it does.
TEST(AuxAMGNetwork, ColumnsOnFixedNodesAreNoParts)
{
  constexpr int m = 12;
  std::mt19937  random(3);
  const auto    columns = grid(3, m, [&](const int *a, const int *b) {
    return a[2] == b[2] ? 1e-4 * (0.5 + unit(random)) : 1;
  });
  std::vector<double> x;
  for (int p = 0; p < m * m * m; ++p)
    x.insert(x.end(), {(double)(p % m), (double)(p / m % m), 0.01 * (double)(p / (m * m))});
  double parts[2];
  for (const bool held : {false, true}) {
    std::vector<double> ties((size_t)(m * m * m));
    for (int p = 0; p < (held ? m * m : 1); ++p) ties[(size_t)p] = 1;
    const Laplacian A(columns, ties);
    const auto      i = put_indices(A.i), j = put_indices(A.j);
    const auto      a = put(A.a);
    Params          params = params_for(3, 1);
    params.all_take_part  = true;
    Hierarchy<float> hierarchy(exec(), Comm(), params);
    ASSERT_EQ(Failure::none, hierarchy.setup(rows_of(i, j, a), x.data(), {}, {}, true).kind);
    parts[held] = hierarchy.parts();
  }
  EXPECT_GT(parts[false], m * m / 2);
  EXPECT_EQ(parts[true], 0);
}

} // namespace tree
} // namespace tessera
