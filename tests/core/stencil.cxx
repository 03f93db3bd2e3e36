// Operators in quarter storage against dense matrices, and the band solver of the remainder.
// ranks: 1 2 3 4
#include "box/tuning.hpp"
#include "dense.hpp"
#include "unit.hpp"

using namespace tessera;

// y = A x by the library, from all processes.
static std::vector<double> product(Stencil &s, const Grid &g, const std::vector<double> &x)
{
  const Box          own = g.owned();
  std::vector<double> xb(s.layout.elements(4)), y((size_t)g.size());
  const View<double> from = s.layout.view(xb.data());
  for (int j = own.y0; j < own.y1; ++j)
    for (int i = own.x0; i < own.x1; ++i) from.at(i, j) = x[(size_t)(i + g.nx * j)];
  Stencil            a = there(s);
  Halo               halo(g, exec().space);
  There              u(xb), v(xb.size());
  const View<double> U = s.layout.view(u.data());
  halo.exchange(U, mask_all);
  stencil_apply(exec(), a.view(), g, U, s.layout.view(v.data()));
  v.get(xb.data());
  for (int j = own.y0; j < own.y1; ++j)
    for (int i = own.x0; i < own.x1; ++i) y[(size_t)(i + g.nx * j)] = from.at(i, j);
  MPI_Allreduce(MPI_IN_PLACE, y.data(), (int)y.size(), MPI_DOUBLE, MPI_SUM, g.comm);
  return y;
}

TEST(Stencil, ApplyAgainstDense)
{
  const int sizes[][2] = {{1, 1}, {1, 8}, {8, 1}, {2, 2}, {5, 7}, {8, 8}, {13, 16}, {4, 11}};
  for (auto &s : sizes)
    for (int variant = 0; variant < 128; ++variant) {
      Problem p{s[0], s[1], (variant & 1) != 0};
      p.periodic_x = variant & 2 && p.nx % 2 == 0;
      p.periodic_y = variant & 4 && p.ny % 2 == 0;
      p.dead       = variant & 8 ? 0.3 : 0;
      const bool natural = variant & 16, uneven = variant & 32, rows = variant & 64;
      const Grid g = grid_of(p, MPI_COMM_WORLD, split(p.nx, rows ? 1 : ranks(), uneven), split(p.ny, rows ? ranks() : 1, uneven));
      Halo       halo(g);
      Stencil    a(g, natural);
      fill(p, g, halo, a);
      const Matrix        A = p.dense();
      std::vector<double> x((size_t)p.size());
      for (size_t i = 0; i < x.size(); ++i) x[i] = hash((int64_t)i, 1, 1) - 0.5;
      const std::vector<double> y = product(a, g, x);
      double                    worst = 0;
      for (int i = 0; i < A.n; ++i) {
        double v = 0;
        for (int j = 0; j < A.n; ++j) v += A(i, j) * x[(size_t)j];
        worst = std::max(worst, std::fabs(v - y[(size_t)i]));
      }
      EXPECT_LT(worst, 1e-14 * A.max()) << p.nx << " x " << p.ny << ", variant " << variant;
    }
}

TEST(Stencil, MeanOfAsymmetricRows) // and the largest |a_ij - a_ji| that is seen
{
  for (bool nine : {false, true})
    for (bool natural : {false, true})
      for (auto &s : {std::pair<int, int>{7, 6}, {1, 5}, {6, 1}, {8, 9}}) {
        Problem    p{s.first, s.second, nine};
        const Grid g = grid_of(p); // each process by itself
        Halo       halo(g);
        Stencil    a(g, natural);
        Matrix     A(p.size()), mean(p.size());
        double     expected = 0, found = 0;
        for (int y = 0; y < p.ny; ++y) {
          std::vector<std::vector<double>> rows(9, std::vector<double>((size_t)p.nx));
          const double                    *w[9];
          int                              present = 0;
          for (int k = 0; k < 9; ++k) {
            for (int x = 0; x < p.nx; ++x) {
              double v = p.entry(x, y, k);
              if (k != 4 && v != 0) v *= 1 + 0.1 * hash(x, y, k);
              rows[(size_t)k][(size_t)x] = v;
              if (v != 0) {
                present |= 1 << k;
                A(p.node(x, y), p.node(x + k % 3 - 1, y + k / 3 - 1)) = v;
              }
            }
            w[k] = rows[(size_t)k].data();
          }
          found = std::max(found, stencil_add_line(a, g.owned(), y, w, present));
        }
        for (int i = 0; i < A.n; ++i)
          for (int j = 0; j < A.n; ++j) {
            mean(i, j) = (A(i, j) + A(j, i)) / 2;
            expected   = std::max(expected, std::fabs(A(i, j) - A(j, i)));
          }
        EXPECT_NEAR(found, expected, 1e-15);
        std::vector<double> x((size_t)p.size());
        double              worst = 0;
        for (int j = 0; j < A.n; ++j) {
          x[(size_t)j] = 1;
          const std::vector<double> y = product(a, g, x);
          x[(size_t)j] = 0;
          for (int i = 0; i < A.n; ++i) worst = std::max(worst, std::fabs(y[(size_t)i] - mean(i, j)));
        }
        EXPECT_LT(worst, 1e-15 * A.max());
      }
}

TEST(Stencil, SlotIsOneForBothEnds)
{
  Problem    p{7, 8, true};
  const Grid g = grid_of(p);
  Stencil    a(g, false);
  a.make_nine();
  for (int y = 0; y < p.ny; ++y)
    for (int x = 0; x < p.nx; ++x)
      for (int k = 0; k < 9; ++k)
        if (k != 4 && p.inside(x + direction_dx(k), y + direction_dy(k))) {
          EXPECT_EQ(a.slot(x, y, k), a.slot(x + direction_dx(k), y + direction_dy(k), 8 - k));
          *a.slot(x, y, k) += 1;
        }
  for (int y = 0; y < p.ny; ++y)
    for (int x = 0; x < p.nx; ++x)
      for (int k = 0; k < 9; ++k)
        if (k != 4 && p.inside(x + direction_dx(k), y + direction_dy(k))) {
          EXPECT_EQ(*a.slot(x, y, k), 2); // no two couplings share one
        }
}

// ---- band matrices

static Matrix band(Band &b, int n, int w, double shift, int component)
{
  Matrix A(n);
  b.reset(n, w);
  for (int i = 0; i < n; ++i)
    for (int j = std::max(0, i - w); j < i; ++j) {
      if (component && i / component != j / component) continue;
      const double v = -hash(i, j, w);
      A(i, j) = A(j, i) = v;
      A(i, i) -= v;
      A(j, j) -= v;
    }
  for (int i = 0; i < n; ++i) {
    A(i, i) += shift * (1 + hash(i, i, 3));
    for (int j = std::max(0, i - w); j <= i; ++j) b.add(i, j, A(i, j));
  }
  return A;
}

TEST(Band, SolvesAgainstDense)
{
  for (int n : {1, 2, 7, 40})
    for (int w : {0, 1, 3, 6})
      for (int again = 0; again < 2; ++again) { // the second time in old memory
        Band b;
        band(b, n, std::min(w, n - 1), 2, 0);
        const Matrix A = band(b, n, std::min(w, n - 1), 1, 0), B = inverse(A);
        ASSERT_EQ(b.factor(tuning::singular_pivot), -1);
        EXPECT_EQ(b.size(), n);
        Matrix X(n);
        for (int j = 0; j < n; ++j) {
          std::vector<double> x((size_t)n);
          x[(size_t)j] = 1;
          b.solve(x.data());
          for (int i = 0; i < n; ++i) X(i, j) = x[(size_t)i];
        }
        EXPECT_LT(difference(B, X), 1e-13) << n << " " << w;
      }
}

TEST(Band, SingularComponents) // row sums zero, in components of 1, 4 and all nodes: every right-hand side in the range is solved
{
  for (int component : {0, 1, 4, 12})
    for (int w : {1, 3}) {
      const int           n = 24;
      Band                b;
      const Matrix        A = band(b, n, w, 0, component);
      std::vector<double> u((size_t)n), f((size_t)n), x;
      for (int i = 0; i < n; ++i) u[(size_t)i] = hash(i, 3, 3);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) f[(size_t)i] += A(i, j) * u[(size_t)j];
      ASSERT_EQ(b.factor(tuning::singular_pivot), -1);
      x = f;
      b.solve(x.data());
      for (int i = 0; i < n; ++i) {
        double r = f[(size_t)i];
        for (int j = 0; j < n; ++j) r -= A(i, j) * x[(size_t)j];
        EXPECT_LT(std::fabs(r), 1e-13) << component << " " << w;
      }
    }
}

TEST(Band, RoundingOfStrongNodesAtWeakOnes) // a singular chain whose row sums are zero but for the rounding of its strong couplings
{
  for (double sum : {-5e-9, 5e-9}) {
    Band   b;
    double x[3] = {1e-3, 1e-3, -2e-3};
    b.reset(3, 1);
    b.add(0, 0, 1e6);
    b.add(1, 0, -1e6);
    b.add(1, 1, 1e6 + 0.125);
    b.add(2, 1, -0.125);
    b.add(2, 2, 0.125 + sum);
    EXPECT_EQ(b.factor(1e-11), -1);
    b.solve(x);
    EXPECT_NEAR(0.125 * (x[1] - x[2]), 2e-3, 1e-8);
  }
}

TEST(Band, NamesTheRowOfAnIndefiniteMatrix)
{
  Band b;
  b.reset(5, 1);
  for (int i = 0; i < 5; ++i) b.add(i, i, 2);
  b.add(3, 2, 3);
  EXPECT_EQ(b.factor(tuning::singular_pivot), 3);
  EXPECT_LT(b.pivot(), 0);
  b.reset(5, 1);
  for (int i = 0; i < 5; ++i) b.add(i, i, i == 1 ? -1 : 2);
  EXPECT_EQ(b.factor(tuning::singular_pivot), 1);
  b.reset(2, 1);
  b.add(0, 0, NAN);
  b.add(1, 1, 1);
  EXPECT_EQ(b.factor(tuning::singular_pivot), 0);
}

// The device's inverse of the same matrices: of one piece of rows and of many, with singular parts, and what it says of others.
TEST(Band, InverseOnTheDevice)
{
  if (!unit_cuda()) GTEST_SKIP() << "the host has none";
  auto inverted = [](auto type, const Matrix &A, int &failed) {
    using T = decltype(type);
    const int           n = A.n, w = inverse_width(n > 30 && A(30, 0) != 0 ? 30 : 1);
    std::vector<int>    x((size_t)n), y((size_t)n);
    Buffer<double>      band((size_t)n * (w + 1)), there;
    Buffer<int>         flag;
    Inverse<T>          inverse;
    Matrix              X(n);
    for (int i = 0; i < n; ++i) x[(size_t)i] = i;
    for (int i = 0; i < n; ++i)
      for (int k = 0; k <= w && k <= i; ++k) band.data()[i * (w + 1) + k] = A(i, i - k);
    there.resize({band.size(), Space::cuda});
    flag.resize({1, Space::cuda});
    copy(band, there);
    inverse.setup(there.data(), w, tuning::singular_pivot, x, y, flag.data());
    Buffer<T> found((size_t)n * (size_t)inverse.width());
    device::copy_to_host(found.data(), inverse.data(), found.bytes());
    device::copy_to_host(&failed, flag.data(), sizeof failed);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) X(i, j) = (double)found.data()[i * inverse.width() + j];
    return X;
  };
  int failed;
  for (int n : {1, 2, 31, 32, 33, 64, 225, 500})
    for (int w : {1, 18, 30}) {
      Band         b;
      const Matrix A = band(b, n, std::min(w, n - 1), 1, 0), B = inverse(A);
      EXPECT_LT(difference(B, inverted(0., A, failed)), 1e-12) << n << " " << w;
      EXPECT_EQ(failed, 0);
      EXPECT_LT(difference(B, inverted(0.f, A, failed)), 1e-6) << n << " " << w;
    }
  for (int component : {0, 1, 4, 12}) { // A X A = A
    Band         b;
    const int    n = 48;
    const Matrix A = band(b, n, 3, 0, component), X = inverted(0., A, failed);
    Matrix       P(n), R(n);
    EXPECT_EQ(failed, 0);
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < n; ++k)
        for (int j = 0; j < n; ++j) P(i, j) += A(i, k) * X(k, j);
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < n; ++k)
        for (int j = 0; j < n; ++j) R(i, j) += P(i, k) * A(k, j);
    EXPECT_LT(difference(A, R), 1e-12) << component;
  }
  Matrix chain(3), bad(40);
  chain(0, 0) = 1e6, chain(0, 1) = chain(1, 0) = -1e6, chain(1, 1) = 1e6 + 0.125, chain(1, 2) = chain(2, 1) = -0.125, chain(2, 2) = 0.125 - 5e-9;
  (void)inverted(0., chain, failed);
  EXPECT_EQ(failed, 0) << "rounding of strong nodes";
  for (int i = 0; i < 40; ++i) bad(i, i) = 2;
  bad(35, 34) = bad(34, 35) = 3;
  (void)inverted(0., bad, failed);
  EXPECT_EQ(failed, 36);
}
