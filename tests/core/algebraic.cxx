// The algebraic levels against dense matrices: P'AP, the symmetry and the reduction of the cycle, new values in an old pattern, and operators
// that leave nothing to do.
// ranks: 1
#include "rrb/algebraic/algebraic.hpp"
#include "dense.hpp"
#include "unit.hpp"

using namespace tessera;
using rrb::Algebraic;
using rrb::AlgebraicLevel;

// The 9-point Laplacian of an n x n grid with coefficients over so many decades, node by node without order.
static Matrix laplacian(int n, double decades, double shift, int seed)
{
  Matrix A(n * n);
  for (int i = 0; i < n * n; ++i)
    for (int j = 0; j < i; ++j) {
      const int dx = i % n - j % n, dy = i / n - j / n;
      if (dx < -1 || dx > 1 || dy < -1 || dy > 1) continue;
      const double w = std::pow(10, decades * (hash(i, j, seed) - 0.5));
      A(i, j) = A(j, i) = -w;
      A(i, i) += w, A(j, j) += w;
    }
  for (int i = 0; i < n * n; ++i) A(i, i) += shift;
  return A;
}

static void fill(const Matrix &A, Algebraic &to)
{
  const bool known = to.known();
  size_t     entries = 0, next = 0;
  for (int i = 0; i < A.n; ++i)
    for (int j = 0; j < A.n; ++j) entries += A(i, j) != 0;
  AlgebraicLevel &l = known ? to.finest() : to.start(A.n, entries);
  for (int i = 0; i < A.n; ++i) {
    for (int j = 0; j < A.n; ++j) {
      if (A(i, j) == 0) continue;
      if (i == j) l.diagonal.data()[i] = (int)next;
      l.j.data()[next]   = j;
      l.a.data()[next++] = A(i, j);
    }
    l.i.data()[i + 1] = (int)next;
  }
}

// Solution of the coarse levels for the residual r, at the nodes of the finest one.
static std::vector<double> correction(Algebraic &levels, const std::vector<double> &r)
{
  AlgebraicLevel     &l = levels.finest();
  std::vector<double> e(r.size());
  std::copy(r.begin(), r.end(), l.b.data());
  levels.restrict_rows(0, l.n / 3);
  levels.restrict_rows(l.n / 3, l.n);
  levels.cycle();
  for (int i = 0; i < l.n; ++i)
    for (int q = l.pi.data()[i]; q < l.pi.data()[i + 1]; ++q) e[(size_t)i] += l.p.data()[q] * levels.levels()[1].x.data()[l.pj.data()[q]];
  return e;
}

static std::vector<double> random_vector(int n, int seed)
{
  std::vector<double> v((size_t)n);
  for (int i = 0; i < n; ++i) v[(size_t)i] = hash(i, seed, 4) - 0.5;
  return v;
}

TEST(Algebraic, NextLevelIsTheProduct)
{
  for (double decades : {0., 4., 8.}) {
    const Matrix A = laplacian(23, decades, 0, 1);
    Algebraic    levels;
    fill(A, levels);
    ASSERT_TRUE(levels.setup());
    const AlgebraicLevel &l = levels.levels()[0], &next = levels.levels()[1];
    ASSERT_LT(next.n, 2 * l.n / 3);
    std::vector<double> P((size_t)l.n * (size_t)next.n), AP(P.size());
    for (int i = 0; i < l.n; ++i) {
      double sum = 0;
      for (int q = l.pi.data()[i]; q < l.pi.data()[i + 1]; ++q) sum += P[(size_t)i * next.n + l.pj.data()[q]] = l.p.data()[q];
      EXPECT_NEAR(sum, 1, 1e-9) << "the constants are not interpolated at row " << i; // A has them in its null space
    }
    for (int i = 0; i < l.n; ++i)
      for (int k = 0; k < l.n; ++k)
        if (A(i, k) != 0)
          for (int c = 0; c < next.n; ++c) AP[(size_t)i * next.n + c] += A(i, k) * P[(size_t)k * next.n + c];
    for (int r = 0; r < next.n; ++r) {
      std::vector<double> row((size_t)next.n), expected((size_t)next.n);
      for (int e = next.i.data()[r]; e < next.i.data()[r + 1]; ++e) {
        row[(size_t)next.j.data()[e]] = next.a.data()[e];
        EXPECT_EQ(next.j.data()[e] < r, e < next.diagonal.data()[r]);
        EXPECT_EQ(next.j.data()[e] == r, e == next.diagonal.data()[r]);
      }
      for (int i = 0; i < l.n; ++i)
        for (int c = 0; c < next.n; ++c) expected[(size_t)c] += P[(size_t)i * next.n + r] * AP[(size_t)i * next.n + c];
      for (int c = 0; c < next.n; ++c) EXPECT_NEAR(row[(size_t)c], expected[(size_t)c], 1e-11 * expected[(size_t)r]) << r << " " << c;
    }
  }
}

TEST(Algebraic, CycleIsSymmetricAndPositive)
{
  const Matrix A = laplacian(31, 6, 1e-3, 2);
  Algebraic    levels;
  fill(A, levels);
  ASSERT_TRUE(levels.setup());
  ASSERT_GT(levels.levels().size(), 2u);
  const std::vector<double> u = random_vector(A.n, 1), v = random_vector(A.n, 2), Bu = correction(levels, u), Bv = correction(levels, v);
  double                    uBv = 0, vBu = 0, uBu = 0;
  for (size_t i = 0; i < u.size(); ++i) uBv += u[i] * Bv[i], vBu += v[i] * Bu[i], uBu += u[i] * Bu[i];
  EXPECT_NEAR(uBv, vBu, 1e-9 * std::abs(uBu));
  EXPECT_GT(uBu, 0);
}

TEST(Algebraic, NewValuesKeepThePattern)
{
  Matrix    A = laplacian(25, 5, 0.1, 3);
  Algebraic kept, fresh;
  fill(A, kept);
  ASSERT_TRUE(kept.setup());
  const std::vector<double> r = random_vector(A.n, 5), before = correction(kept, r);
  for (int i = 0; i < A.n; ++i)
    for (int j = 0; j < A.n; ++j) A(i, j) *= 4;
  fill(A, kept);
  ASSERT_TRUE(kept.setup());
  fill(A, fresh);
  ASSERT_TRUE(fresh.setup());
  const std::vector<double> after = correction(kept, r), other = correction(fresh, r);
  for (size_t i = 0; i < r.size(); ++i) {
    EXPECT_DOUBLE_EQ(after[i], before[i] / 4);
    EXPECT_DOUBLE_EQ(after[i], other[i]);
  }
}

TEST(Algebraic, NothingToDo)
{
  Algebraic levels;
  fill(laplacian(20, 0, 1e13, 1), levels); // a diagonal matrix but for rounding
  EXPECT_FALSE(levels.setup());
  EXPECT_TRUE(levels.empty());
  fill(laplacian(5, 2, 1, 1), levels); // so few rows that there is no next level
  EXPECT_FALSE(levels.setup());
  EXPECT_TRUE(levels.empty());
}
