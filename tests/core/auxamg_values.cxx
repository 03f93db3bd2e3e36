// New values on a pattern that stays: eigenvalues, units, precision.
#include "auxamg_case.hpp"
#include <functional>

using namespace tessera;
using namespace tessera::tree;

// After new values the largest eigenvalues are those of a new setup, whether the values change at once or little by little.
TEST(AuxAMG, EigenvaluesFollowTheValues)
{
  const int                 n = 900;
  const Matrix              A(n, 1, 5);
  const std::vector<double> x = points(2, n, 1, 7);
  Params                    params;
  params.coarse = 10;
  params.filter = Filter::off;
  const Buffer<Index> i = put_indices(A.i), j = put_indices(A.j);
  Rows rows = rows_of(i, j);
  Buffer<double> a   = put(A.a);
  const auto     set = [&](const std::vector<double> &values) {
    a      = put(values);
    rows.a = a.data();
  };
  const auto lambdas = [](const Hierarchy<double> &h) {
    std::vector<double> v;
    for (size_t l = 0; l + 1 < h.levels().size(); ++l) v.push_back(h.levels()[l].lambda);
    return v;
  };
  set(A.a);
  Hierarchy<double> h(exec(), MPI_COMM_SELF, params);
  Failure           failure = h.setup(rows, x.data(), {}, {}, false);
  ASSERT_EQ(failure.kind, Failure::none);
  const std::vector<double> first = lambdas(h);
  ASSERT_LT(1u, first.size());
  std::vector<double> other = A.a;
  for (double &v : other) v *= 3;
  set(other);
  ASSERT_TRUE(h.refresh(rows, failure));
  EXPECT_EQ(lambdas(h), first); // kept: new estimates would differ in the last bits
  // D A D has the eigenvalues of A on the mesh, whatever D; coarse grids have others
  for (int p = 0; p < n; ++p)
    for (int e = A.i[(size_t)p]; e < A.i[(size_t)p + 1]; ++e) other[(size_t)e] = A.a[(size_t)e] * (1 + p % 7) * (1 + A.j[(size_t)e] % 7);
  set(other);
  ASSERT_TRUE(h.refresh(rows, failure));
  EXPECT_EQ(lambdas(h)[0], first[0]);
  EXPECT_NE(lambdas(h)[1], first[1]);
  // pairs of strongly coupled nodes: the eigenvalue grows
  const auto pairs = [&](double factor) {
    for (int p = 0; p < n; ++p) {
      double sum = 0;
      int    own = 0;
      for (int e = A.i[(size_t)p]; e < A.i[(size_t)p + 1]; ++e) {
        const int q = A.j[(size_t)e];
        if (p == q) own = e;
        else sum += other[(size_t)e] = A.a[(size_t)e] * ((p + q) % 17 ? 1 : factor);
      }
      other[(size_t)own] = -sum;
    }
    set(other);
  };
  pairs(1000);
  Hierarchy<double> fresh(exec(), MPI_COMM_SELF, params);
  ASSERT_EQ(fresh.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  const std::vector<double> expected = lambdas(fresh);
  ASSERT_GT(expected[0], 1.1 * first[0]);
  ASSERT_TRUE(h.refresh(rows, failure));
  for (size_t l = 0; l < first.size(); ++l) EXPECT_NEAR(lambdas(h)[l], expected[l], 1e-9) << "level " << l;
  Hierarchy<double> slowly(exec(), MPI_COMM_SELF, params);
  set(A.a);
  ASSERT_EQ(slowly.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  for (int step = 1; step <= 100; ++step) {
    pairs(std::pow(1000., step / 100.));
    ASSERT_TRUE(slowly.refresh(rows, failure));
  }
  EXPECT_NEAR(lambdas(slowly)[0], expected[0], 0.05);
}

// The 5-point Laplacian of m x m nodes and what is added to its diagonal: eigenvalues that are kept while the diagonal goes from one to the
// other are no smaller than those of a new setup.
static void check_eigenvalues(const std::function<double(int)> &from, const std::function<double(int)> &to)
{
  const int           m = 64, n = m * m;
  std::vector<int>    i(1, 0), j;
  std::vector<double> x, first, second;
  for (int p = 0; p < n; ++p) {
    const int columns[5] = {p - m, p % m ? p - 1 : -1, p, (p + 1) % m ? p + 1 : -1, p + m}, own = p;
    int       beside = 0;
    for (int q : columns) beside += q >= 0 && q < n && q != own;
    for (int q : columns) {
      if (q < 0 || q >= n) continue;
      j.push_back(q);
      first.push_back(q == own ? beside + from(p) : -1);
      second.push_back(q == own ? beside + to(p) : -1);
    }
    i.push_back((int)j.size());
    x.push_back(p % m);
    x.push_back(p / m);
  }
  Params params;
  params.coarse = 10;
  params.filter = Filter::off;
  const Buffer<Index>    rows_i = put_indices(i), rows_j = put_indices(j);
  const Buffer<double> before = put(first), after = put(second);
  Rows rows = rows_of(rows_i, rows_j, before);
  Hierarchy<double> kept(exec(), MPI_COMM_SELF, params), anew(exec(), MPI_COMM_SELF, params);
  Failure           failure = kept.setup(rows, x.data(), {}, {}, false);
  ASSERT_EQ(failure.kind, Failure::none);
  rows.a = after.data();
  ASSERT_TRUE(kept.refresh(rows, failure));
  ASSERT_EQ(failure.kind, Failure::none);
  ASSERT_EQ(anew.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  ASSERT_LT(4u, anew.levels().size());
  for (size_t l = 0; l + 1 < anew.levels().size(); ++l) EXPECT_GE(kept.levels()[l].lambda, anew.levels()[l].lambda / 1.1) << "level " << l;
}

TEST(AuxAMG, KeptEigenvaluesAreLargeEnough)
{
  check_eigenvalues([](int) { return 1e-3; }, [](int) { return 0.05; }); // coarse grids see more of a shift
  const auto spring = [](int p, double s) { return (p % 64 + p / 64) % 2 ? s : 0.01; };
  check_eigenvalues([=](int p) { return spring(p, 1e6); }, [=](int p) { return spring(p, 80); }); // couplings that did not count do
}

// An interpolation that is smoothed by the matrix stays while the matrix keeps its shape, whatever its magnitude; for
// other values it is that of a first setup.
TEST(AuxAMG, SmoothedInterpolationStaysWithTheMatrix)
{
  const int                 n = 900;
  const Matrix              A(n, 1, 5);
  const std::vector<double> x = points(2, n, 1, 7);
  std::vector<double>       twice = A.a, other = A.a;
  for (double &v : twice) v *= 3;
  for (int p = 0; p < n; ++p)
    for (int e = A.i[(size_t)p]; e < A.i[(size_t)p + 1]; ++e)
      if (A.j[(size_t)e] == p) other[(size_t)e] *= 1 + p % 7;
  Params params;
  params.coarse = 10;
  params.filter = Filter::on;
  const Buffer<Index>    i = put_indices(A.i), j = put_indices(A.j);
  const Buffer<double> first = put(A.a), second = put(twice), third = put(other);
  Rows            rows = rows_of(i, j, first);
  Hierarchy<double>    kept(exec(), MPI_COMM_SELF, params), anew(exec(), MPI_COMM_SELF, params);
  Failure              failure = kept.setup(rows, x.data(), {}, {}, false);
  const auto           weights = [](const Hierarchy<double> &h) {
    const Buffer<double> &w = h.levels()[0].transfer.weight;
    Buffer<double>        on_host(w.size());
    copy(w, on_host);
    return std::vector<double>(on_host.data(), on_host.data() + on_host.size());
  };
  ASSERT_EQ(failure.kind, Failure::none);
  const std::vector<double> before = weights(kept);
  rows.a = second.data();
  ASSERT_TRUE(kept.refresh(rows, failure));
  ASSERT_EQ(failure.kind, Failure::none);
  EXPECT_TRUE(kept.filtered());
  EXPECT_EQ(before, weights(kept));
  rows.a = third.data();
  ASSERT_TRUE(kept.refresh(rows, failure));
  ASSERT_EQ(anew.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  EXPECT_NE(before, weights(kept));
  ASSERT_EQ(weights(anew).size(), weights(kept).size());
  for (size_t k = 0; k < before.size(); ++k) EXPECT_NEAR(weights(anew)[k], weights(kept)[k], 1e-12);
}

// Operators are scaled by a power of two, so that the magnitude of the matrix' values changes no bit: in units far from one neither they nor
// their inverses leave the range of single precision, nor their products that of double.
template <class T> static void check_units(int exponent)
{
  const int                 n = 400, fixed = 10;
  const Matrix              A(n, 1, 5);
  const std::vector<double> x = points(2, n, 1, 7);
  Params                    params;
  params.coarse = 10;
  std::vector<double> values = A.a, r((size_t)n);
  for (int p = 0; p < fixed; ++p) // couplings with these are one-sided
    for (int e = A.i[(size_t)p]; e < A.i[(size_t)p + 1]; ++e)
      if (A.j[(size_t)e] != p) values[(size_t)e] = 0;
  for (int p = 0; p < n; ++p) r[(size_t)p] = std::sin(p);
  std::vector<double> other = values;
  for (double &v : other) v = std::ldexp(v, exponent);
  const Buffer<Index>    i = put_indices(A.i), j = put_indices(A.j);
  const Buffer<double> a = put(values), b = put(other), from = put(r);
  Rows rows = rows_of(i, j, a);
  Hierarchy<T> plain(exec(), MPI_COMM_SELF, params), anew(exec(), MPI_COMM_SELF, params);
  const auto   result = [&](Hierarchy<T> &h, const Buffer<double> &rhs) {
    Buffer<double> to = put(r), z((size_t)n);
    h.apply(rhs.data(), to.data());
    copy(to, z);
    return std::vector<double>(z.data(), z.data() + n);
  };
  ASSERT_EQ(plain.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  const std::vector<double> expected = result(plain, from);
  rows.a = b.data();
  ASSERT_EQ(anew.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  Failure failure;
  ASSERT_TRUE(plain.refresh(rows, failure));
  ASSERT_EQ(failure.kind, Failure::none);
  std::vector<double> own = values, mine = r; // rows of fixed nodes may have units of their own
  for (int p = 0; p < fixed; ++p) {
    for (int e = A.i[(size_t)p]; e < A.i[(size_t)p + 1]; ++e) own[(size_t)e] = std::ldexp(own[(size_t)e], 200);
    mine[(size_t)p] = std::ldexp(mine[(size_t)p], 200);
  }
  const Buffer<double> c = put(own);
  Hierarchy<T>         units(exec(), MPI_COMM_SELF, params);
  rows.a = c.data();
  ASSERT_EQ(units.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  EXPECT_EQ(result(units, put(mine)), expected) << "units of fixed rows";
  for (double &v : r) v = std::ldexp(v, exponent);
  const Buffer<double> scaled = put(r); // in the matrix' units, as right-hand sides mostly are
  for (Hierarchy<T> *h : {&anew, &plain}) {
    EXPECT_EQ(result(*h, scaled), expected) << (h == &anew ? "new" : "refreshed");
    std::vector<double> z = result(*h, from);
    for (double &v : z) v = std::ldexp(v, exponent);
    EXPECT_EQ(z, expected) << (h == &anew ? "new" : "refreshed");
  }
}

TEST(AuxAMG, UnitsDoNotMatter)
{
  check_units<double>(-830);
  check_units<double>(830);
  const int most = exec().space == Space::host ? 830 : 200; // where r is brought near one as well
  check_units<float>(-most);
  check_units<float>(most);
}

// A node whose couplings add up to hardly anything, as those of the vertices of quadratic triangles, is no reason to stretch the coordinates.
TEST(AuxAMG, CouplingsThatCancelDoNotStretch)
{
  const int           m = 24, n = m * m, odd = n / 2 + m / 2;
  std::vector<double> x, a;
  std::vector<int>    i{0}, j;
  for (int p = 0; p < n; ++p) {
    x.insert(x.end(), {(double)(p % m), (double)(p / m)});
    for (int q : {p - m, p - 1, p, p + 1, p + m})
      if (q >= 0 && q < n && (p / m == q / m || p % m == q % m)) {
        const bool above = (p == odd || q == odd) && p % m == q % m && p != q;
        j.push_back(q);
        a.push_back(p == q ? 4 : above ? 1 - 1e-12 : -1);
      }
    i.push_back((int)j.size());
  }
  const Buffer<Index>  pi = put_indices(i), pj = put_indices(j);
  const Buffer<double> values = put(a);
  Hierarchy<double>    h(exec(), MPI_COMM_SELF, Params());
  ASSERT_EQ(h.setup(rows_of(pi, pj, values), x.data(), {}, {}, true).kind, Failure::none);
  EXPECT_EQ(h.scale(1), 1);
}

// Bilinear elements four times as long as wide whose coefficient is 1000 times as large across: couplings cancel in part
// at all nodes.
TEST(AuxAMG, LongQuadrilateralsStretch)
{
  const int           m = 24, n = m * m;
  const double        hx = 4, hy = 1, cx = 1e-3;
  std::vector<double> x, a;
  std::vector<int>    i{0}, j;
  for (int p = 0; p < n; ++p) {
    x.insert(x.end(), {hx * (p % m), hy * (p / m)});
    for (int q = 0; q < n; ++q) {
      const int dx = std::abs(p % m - q % m), dy = std::abs(p / m - q / m);
      double    v  = p == q ? 1e-3 : 0;
      if (dx > 1 || dy > 1) continue;
      for (int e = 0; e < 4; ++e) { // elements on the sides of p that have q, too
        const int ex = p % m - e % 2, ey = p / m - e / 2;
        if (ex < 0 || ey < 0 || ex >= m - 1 || ey >= m - 1) continue;
        if (q % m < ex || q % m > ex + 1 || q / m < ey || q / m > ey + 1) continue;
        v += cx * hy / hx * (dx ? -1 : 1) * (dy ? 1 : 2) / 6 + hx / hy * (dy ? -1 : 1) * (dx ? 1 : 2) / 6;
      }
      j.push_back(q);
      a.push_back(v);
    }
    i.push_back((int)j.size());
  }
  const Buffer<Index>  pi = put_indices(i), pj = put_indices(j);
  const Buffer<double> values = put(a);
  Hierarchy<double>    h(exec(), MPI_COMM_SELF, Params());
  ASSERT_EQ(h.setup(rows_of(pi, pj, values), x.data(), {}, {}, true).kind, Failure::none);
  EXPECT_LT(h.scale(1), 1. / 16); // 1 / 32, but for the sides
}

// Points that crowd around a few: between these cells are there for the balance, and trees hardly get smaller from one
// to the next.
TEST(AuxAMG, SlowGridsAreLeftOut)
{
  const int                              n = 6000, spots = 12;
  std::mt19937                           random(5);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<double>                    center, x, a;
  std::vector<int>                       i{0}, j;
  for (int k = 0; k < 2 * spots; ++k) center.push_back(unit(random));
  for (int p = 0; p < n; ++p) {
    const double angle = 6.2831853 * unit(random), r = 0.7 * std::pow(1e-3, unit(random));
    const size_t spot  = (size_t)(p % spots);
    const double at[2] = {center[2 * spot] + r * std::cos(angle), center[2 * spot + 1] + r * std::sin(angle)};
    for (double c : at) x.push_back(std::min(std::max(c, 0.), 1.));
    for (int q : {p - 1, p, p + 1})
      if (q >= 0 && q < n) j.push_back(q), a.push_back(q == p ? 2.1 : -1);
    i.push_back((int)j.size());
  }
  const Buffer<Index>  pi = put_indices(i), pj = put_indices(j);
  const Buffer<double> values = put(a);
  Hierarchy<double>    h(exec(), MPI_COMM_SELF, Params());
  ASSERT_EQ(h.setup(rows_of(pi, pj, values), x.data(), {}, {}, false).kind, Failure::none);
  ASSERT_GT(h.last(), 1);
  for (int l = 1; l <= h.last(); ++l) {
    const double nodes = h.level(l).nodes;
    EXPECT_FALSE(3 * h.level(l).grid.hanging > nodes && nodes > 0.5 * h.level(l - 1).nodes) << l << ": " << nodes;
  }
}

// No tree has less leaves than 0.3 of three nodes.
TEST(AuxAMG, ThreeNodesInSpace)
{
  const std::vector<double> x = {0, 0, 0, 1, 0.5, 0, 0.2, 1, 0.7}, a = {3, -1, -1, -1, 3, -1, -1, -1, 3};
  const Buffer<Index>       i = put_indices({0, 3, 6, 9}), j = put_indices({0, 1, 2, 0, 1, 2, 0, 1, 2});
  const Buffer<double>      values = put(a);
  Params                    params = params_for(3, 1);
  params.coarse = 1;
  Hierarchy<double> h(exec(), MPI_COMM_SELF, params);
  ASSERT_EQ(h.setup(rows_of(i, j, values), x.data(), {}, {}, false).kind, Failure::none);
  EXPECT_EQ(h.last(), 0);
}

// Nodes whose rows have nothing but the diagonal: the couplings of others with them may come and go with new values.
TEST(AuxAMG, NewValuesAreReadLikeTheFirst)
{
  const int                 n = 400, fixed = 10;
  const Matrix              A(n, 1, 5);
  const std::vector<double> x = points(2, n, 1, 7);
  Params                    params;
  params.coarse = 10;
  const Buffer<Index> i = put_indices(A.i), j = put_indices(A.j);
  Buffer<double>    a;
  Rows rows = rows_of(i, j);
  std::vector<double> values = A.a;
  const auto          set = [&](double coupling) { // with fixed nodes
    for (int p = 0; p < n; ++p)
      for (int e = A.i[(size_t)p]; e < A.i[(size_t)p + 1]; ++e) {
        const int q = A.j[(size_t)e];
        if (p != q && (p < fixed || q < fixed)) values[(size_t)e] = p < fixed ? 0 : coupling * A.a[(size_t)e];
      }
    a      = put(values);
    rows.a = a.data();
  };
  Buffer<double> r((size_t)n);
  for (int p = 0; p < n; ++p) r.data()[p] = std::sin(p);
  const Buffer<double> there = put(std::vector<double>(r.data(), r.data() + n));
  const auto           result = [&](Hierarchy<double> &h) {
    Buffer<double> z = put(std::vector<double>((size_t)n));
    h.apply(there.data(), z.data());
    return get(z);
  };
  set(0);
  Hierarchy<double> h(exec(), MPI_COMM_SELF, params);
  Failure           failure = h.setup(rows, x.data(), {}, {}, false);
  ASSERT_EQ(failure.kind, Failure::none);
  const std::vector<double> without = result(h);
  for (double coupling : {1., 0.}) {
    set(coupling);
    Hierarchy<double> fresh(exec(), MPI_COMM_SELF, params);
    ASSERT_EQ(fresh.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
    ASSERT_TRUE(h.refresh(rows, failure));
    ASSERT_EQ(failure.kind, Failure::none);
    const std::vector<double> z = result(h);
    EXPECT_EQ(z, result(fresh));
    EXPECT_EQ(z == without, coupling == 0);
  }
  const double good = values[(size_t)A.i[200]];
  values[(size_t)A.i[200]] = NAN;
  set(0);
  ASSERT_TRUE(h.refresh(rows, failure));
  EXPECT_EQ(failure.kind, Failure::not_finite);
  EXPECT_EQ(failure.row, 200);
  values[(size_t)A.i[200]] = good;
  set(0);
  ASSERT_TRUE(h.refresh(rows, failure));
  ASSERT_EQ(failure.kind, Failure::none);
  values[(size_t)A.i[3]] = values[(size_t)A.i[3] + 1] = -1; // one of these is not the diagonal
  values[(size_t)A.i[3] + (A.j[(size_t)A.i[3]] == 3 ? 0 : A.j[(size_t)A.i[3] + 1] == 3 ? 1 : 0)] = 5;
  a      = put(values);
  rows.a = a.data();
  EXPECT_FALSE(h.refresh(rows, failure)) << "node 3 takes part now";
  for (double share : {1e-6, 1e-14}) { // of a diagonal
    double diagonal = 1;
    set(0);
    values = get(a);
    for (int e = A.i[200]; e < A.i[201]; ++e)
      if (A.j[(size_t)e] == 200) diagonal = A.a[(size_t)e];
    for (int e = A.i[200]; e < A.i[201]; ++e)
      if (A.j[(size_t)e] != 200) values[(size_t)e] = -share * diagonal / (A.i[201] - A.i[200]);
    for (int e = A.i[3]; e < A.i[4]; ++e) values[(size_t)e] = A.j[(size_t)e] == 3;
    a      = put(values);
    rows.a = a.data();
    EXPECT_EQ(h.refresh(rows, failure), share > 1e-10) << "node 200, of off-diagonal entries " << share;
  }
}

// On a device, where small grids cost launches, a W-cycle of coefficients that jump comes to them four times.
TEST(AuxAMG, CyclesOfJumpsVisitSmallGridsSeldom)
{
  if (!unit_cuda()) GTEST_SKIP();
  const int           n = 150;
  std::vector<int>    i = {0}, j;
  std::vector<double> a, x, cell((size_t)(n * n));
  std::mt19937        random(3);
  for (double &c : cell) c = std::pow(10., (double)(random() % 5000) * 1e-3);
  for (int p = 0; p < n * n; ++p) {
    const int px = p % n, py = p / n;
    x.insert(x.end(), {(double)px, (double)py});
    std::map<int, double> row;
    double                sum = 1e-3;
    const auto couple = [&](bool there, int q) {
      if (there) sum -= row[q] = -2 / (1 / cell[(size_t)p] + 1 / cell[(size_t)q]);
    };
    couple(py > 0, p - n), couple(px > 0, p - 1), couple(px + 1 < n, p + 1), couple(py + 1 < n, p + n);
    row[p] = sum;
    for (int k = 0; k < 2; ++k) { // two unknowns per node that nothing couples
      for (const auto &e : row) j.push_back(2 * e.first + k), a.push_back(e.second);
      i.push_back((int)j.size());
    }
  }
  const Buffer<Index>    row = put_indices(i), column = put_indices(j);
  const Buffer<double> value = put(a);
  Params               params;
  params.bs = 2;
  Hierarchy<double> h(exec(), MPI_COMM_SELF, params);
  ASSERT_EQ(h.setup(rows_of(row, column, value, 2), x.data(), {}, {}, false).kind, Failure::none);
  ASSERT_TRUE(h.filtered());
  ASSERT_LT(5, (int)h.levels().size());
  int visits = 1;
  for (int l = 0; l + 1 < (int)h.levels().size(); ++l) visits *= h.visits(l);
  EXPECT_EQ(visits, 4);
}
