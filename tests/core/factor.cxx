// The factorisation against a dense reference: M = L D L' and its inverse, symmetry, storage, breakdown.
#include "buffers.hpp"
#include "reference.hpp"
#include "unit.hpp"
#include <functional>

using namespace tessera;
using rrb::Coarsening;
using rrb::Cycle;
using rrb::Params;

// M of the library equals M of the definition, its inverse too, and both are symmetric and positive definite.
static void compare(const Problem &p, const Params &q)
{
  SCOPED_TRACE(name(p, q));
  Library lib(p, q);
  ASSERT_FALSE(lib.failure.failed) << "level " << lib.failure.level << ", node " << lib.failure.x << "," << lib.failure.y;
  const Matrix    B = lib.dense();
  const Reference ref(p, q, q.levels);
  EXPECT_EQ(lib.plan.factor_levels(), std::min(q.levels, Reference::maximum_levels(p.nx, p.ny, p.periodic_x, p.periodic_y)));
  const Matrix inv = inverse(ref.M);
  ASSERT_EQ(inv.n, ref.M.n) << "the reference is not positive definite";
  if (q.single) {
    EXPECT_LT(difference(inv, B), 1e-5);
    EXPECT_GT(difference(inv, B), 0);
    EXPECT_LT(asymmetry(B), 1e-14);
    EXPECT_EQ(inverse(B).n, B.n) << "not positive definite";
    return;
  }
  EXPECT_LT(inverse_error(ref.M, B), 1e-12);
  EXPECT_LT(difference(inv, B), 1e-13);
  const Matrix M = inverse(B);
  ASSERT_EQ(M.n, B.n) << "not positive definite";
  EXPECT_LT(difference(ref.M, M), 1e-13);
  EXPECT_LT(asymmetry(B), 1e-14);
}

static void all_levels(const Problem &p, const std::function<void(int)> &f)
{
  const int maximum = std::max(1, Reference::maximum_levels(p.nx, p.ny, p.periodic_x, p.periodic_y));
  for (int l = 1; l <= maximum + 1 && !testing::Test::HasFailure(); ++l) f(l); // one more than there are means all
}

TEST(Factor, EveryLumpingOnEverySize)
{
  const int sizes[][2] = {{1, 1}, {1, 2}, {2, 1}, {1, 9}, {9, 1}, {2, 2}, {2, 11}, {10, 2}, {3, 3}, {3, 4}, {5, 7}, {7, 5}, {8, 8}, {6, 13}, {13, 16}, {11, 4}};
  for (bool nine : {false, true})
    for (auto &s : sizes) {
      Problem p{s[0], s[1]};
      p.nine = nine;
      all_levels(p, [&](int l) {
        for (double omega : {0., 0.7, 1.})
          for (bool all : {false, true}) compare(p, with(l, Coarsening::lump, omega, all));
      });
    }
}

TEST(Factor, Rhombus)
{
  const int sizes[][2] = {{1, 1}, {1, 9}, {2, 2}, {2, 11}, {10, 2}, {3, 3}, {5, 7}, {7, 5}, {8, 8}, {6, 13}, {13, 16}, {15, 15}};
  for (bool nine : {false, true})
    for (bool dirichlet : {false, true})
      for (auto &s : sizes) {
        Problem p{s[0], s[1]};
        p.nine      = nine;
        p.dirichlet = dirichlet;
        p.spread    = 0.1;
        p.shift     = dirichlet ? 0.05 : 0.5;
        all_levels(p, [&](int l) {
          for (double omega : {1., 0.7}) compare(p, with(l, Coarsening::rhombus, omega));
        });
      }
}

TEST(Factor, LargerGrids)
{
  for (bool nine : {false, true}) {
    Problem p{31, 31};
    p.nine = nine;
    for (int l : {3, 8}) compare(p, with(l));
    p.spread = 0.1;
    compare(p, with(7, Coarsening::rhombus));
    compare(Problem{37, 23, nine}, with(5));
  }
}

TEST(Factor, Storage) // the papers' quarters on some of the grids: the same numbers
{
  for (bool nine : {false, true})
    for (int grids : {0, 1, 2})
      for (int l : {1, 2, 3, 4, 5, 6}) {
        compare(Problem{13, 16, nine}, with(l, Coarsening::lump, 1, false, grids));
        compare(Problem{9, 14, nine}, with(l, Coarsening::lump, 0.7, true, grids));
      }
  Problem p{12, 15, true};
  p.spread = 0.1;
  for (int grids : {0, 1}) compare(p, with(6, Coarsening::rhombus, 1, false, grids));
  // and bit for bit those of quarters everywhere
  for (int l : {1, 4, 5}) {
    const Matrix quarters = Library(p, with(l)).dense();
    for (int grids : {0, 1}) EXPECT_LT(difference(quarters, Library(p, with(l, Coarsening::lump, 1, false, grids)).dense()), 1e-15);
  }
}

TEST(Factor, SinglePrecision)
{
  for (bool nine : {false, true})
    for (int l : {1, 2, 3, 4, 6})
      for (int grids : {-1, 0, 1}) {
        compare(Problem{13, 16, nine}, with(l, Coarsening::lump, 1, false, grids, true));
        compare(Problem{15, 9, nine}, with(l, Coarsening::lump, 0, true, grids, true));
      }
}

TEST(Factor, Masks)
{
  for (bool nine : {false, true})
    for (int seed : {1, 2, 3})
      for (double dead : {0.1, 0.5}) {
        Problem p{13, 12, nine};
        p.dead = dead;
        p.seed = seed;
        for (int l : {1, 2, 3, 6}) {
          compare(p, with(l));
          compare(p, with(l, Coarsening::lump, 0.7, true));
        }
        p.spread = 0.1;
        for (int l : {1, 2, 5, 6}) compare(p, with(l, Coarsening::rhombus));
      }
}

TEST(Factor, Periodic)
{
  // 12 -> 6 -> 3: the seam is cut on the third grid; 8 -> 4 -> 2 stay periodic and end there
  const int sizes[][2] = {{8, 8}, {12, 12}, {8, 7}, {12, 9}, {2, 5}, {4, 6}, {6, 6}, {10, 8}, {4, 4}, {16, 5}, {2, 2}, {20, 11}};
  for (bool nine : {false, true})
    for (auto &s : sizes)
      for (int axes = 1; axes < 4; ++axes) {
        Problem p{s[0], s[1], nine};
        p.periodic_x = axes & 1 && s[0] % 2 == 0;
        p.periodic_y = axes & 2 && s[1] % 2 == 0;
        all_levels(p, [&](int l) {
          compare(p, with(l));
          compare(p, with(l, Coarsening::lump, 1, true));
        });
        if (s[0] != 12 || s[1] != 12) continue;
        p.spread = 0.1;
        p.shift  = 0.5;
        for (int l = 1; l <= 6; ++l)
          for (int grids : {-1, 0}) {
            compare(p, with(l, Coarsening::lump, 0.7, true, grids));
            compare(p, with(l, Coarsening::rhombus, 1, false, grids));
          }
      }
}

TEST(Factor, Refresh) // new values in old memory: the same bits as a new plan
{
  for (bool nine : {false, true})
    for (int grids : {-1, 0})
      for (bool single : {false, true})
        for (int l : {1, 4, 5, 0}) {
          Problem      p{13, 16, nine}, q = p;
          q.seed            = 9;
          const Params prm  = with(l, Coarsening::lump, 1, false, grids, single);
          Library      again(p, prm), fresh(q, prm);
          (void)again.dense();
          again.refresh(q);
          EXPECT_EQ(difference(fresh.dense(), again.dense()), 0) << name(p, prm);
        }
}

// `kept` is `made` rounded, and `inverse` what it says of either. Returns how many values are not zero.
static long expect_rounded(const char *what, const Buffer<double> &made, const Buffer<float> &kept, const Buffer<float> *inverse = nullptr, bool of_made = false)
{
  const std::vector<double> a = get(made);
  const std::vector<float>  b = get(kept), c = inverse ? get(*inverse) : b;
  long                      wrong = 0, count = 0;
  EXPECT_EQ(a.size(), b.size()) << what;
  EXPECT_EQ(a.size(), c.size()) << what;
  for (size_t i = 0; i < std::min({a.size(), b.size(), c.size()}); ++i) {
    const float rounded = (float)a[i], one_over = a[i] > 0 ? of_made ? (float)(1 / a[i]) : 1 / rounded : 0;
    count += a[i] != 0;
    wrong += b[i] != rounded || (inverse && c[i] != one_over);
  }
  EXPECT_EQ(wrong, 0) << what;
  return count;
}

// On a device the kernels of a setup write what they make in the hierarchy's single precision, too, into memory of the setups before:
// among them some of grids with nodes that have no couplings, which leave zeros on the diagonals of coarse grids.
TEST(Factor, SinglePrecisionIsTheDoubleRounded)
{
  if (!unit_cuda()) GTEST_SKIP() << "the host converts";
  long matrix = 0, weights = 0, schur = 0, again = 0;
  for (auto &n : {std::pair<int, int>{61, 44}, {130, 3}, {2, 90}, {40, 40}})
    for (bool nine : {false, true})
      for (int form = 0; form < 4; ++form) {
        Params q = with(0, Coarsening::galerkin, 1, false, form == 1 ? 1 : -1, true);
        q.trial    = false;
        q.schur    = form == 1;
        q.smoother = form == 2 ? rrb::Smoother::line_alternating : rrb::Smoother::point;
        q.weights  = form == 3 ? rrb::Weights::least_squares : rrb::Weights::collapse;
        auto problem = [&](int seed) {
          Problem p{n.first, n.second, nine};
          p.seed      = seed;
          p.dirichlet = true;
          p.shift     = 0.1;
          if (seed % 3 == 2) p.dirichlet = false, p.shift = 0, p.dead = 0.4;
          return p;
        };
        Library lib(problem(1), q);
        for (int seed = 1; seed < 5 && !HasFailure(); ++seed) {
          SCOPED_TRACE(name(problem(seed), q) + ", form " + std::to_string(form) + ", setup " + std::to_string(seed));
          if (seed > 1) lib.refresh(problem(seed));
          if (lib.failure.retry) ++again, lib.refresh(problem(seed));
          ASSERT_FALSE(lib.failure.failed || lib.failure.retry);
          for (size_t l = 0; l < lib.plan.levels.size(); ++l) {
            if (lib.plan.levels[l].step != rrb::Step::coarsen) continue;
            const rrb::MultigridLevel<float> &s = std::get<rrb::Multigrid<float>>(lib.plan.method).levels[l];
            const rrb::Work                  &w = std::get<rrb::Multigrid<float>>(lib.plan.method).work[l];
            if (s.of_schur) {
              const rrb::Schur &d = lib.plan.have_schur ? lib.plan.schur : w.schur;
              schur += expect_rounded("diagonal of S1", d.c, s.schur.c, &s.inverse, true);
              for (int k = 0; k < 4; ++k) schur += expect_rounded("o-c", d.e[k], s.schur.e[k]);
              for (int k = 0; k < 2; ++k) schur += expect_rounded("o-o", d.fo[k], s.schur.fo[k]) + expect_rounded("c-c", d.fc[k], s.schur.fc[k]);
            } else {
              matrix += expect_rounded("diagonal", w.a.c, s.a.c, &s.inverse);
              for (int k = 0; k < 4; ++k) matrix += expect_rounded("E", w.a.e[k], s.a.e[k]) + expect_rounded("G", w.a.g[k], s.a.g[k]);
              for (int k = 0; k < 2; ++k) weights += expect_rounded("edges", w.P.edge[k], s.edge[k]);
              if (s.smoother == rrb::Smoother::point) (void)expect_rounded("inject", w.P.inject, s.inject);
            }
            for (int k = 0; k < 4 && !w.P.centre[k].empty(); ++k) weights += expect_rounded("centers", w.P.centre[k], s.centre[k]); // else made in single precision alone: galerkin.cxx
          }
        }
      }
  EXPECT_GT(matrix, 0);
  EXPECT_GT(weights, 0);
  EXPECT_GT(schur, 0);
  EXPECT_GT(again, 0);
}

TEST(Factor, Singular) // pure Neumann problems: a generalised inverse, symmetric and semidefinite; the same with levels to the end
{
  for (bool nine : {false, true})
    for (auto &s : {std::pair<int, int>{9, 9}, {8, 13}, {1, 7}, {16, 16}})
      for (bool periodic : {false, true}) {
        Problem p{s.first, s.second, nine};
        p.shift      = 0;
        p.periodic_x = periodic && p.nx % 2 == 0;
        for (int l : {1, 2, 4, 100}) {
          SCOPED_TRACE(name(p, with(l)));
          Library lib(p, with(l));
          ASSERT_FALSE(lib.failure.failed);
          const Matrix B = lib.dense(), A = p.dense(), M = Reference(p, with(l), l).M;
          EXPECT_LT(asymmetry(B), 1e-13);
          // M B M = M
          double worst = 0;
          Matrix T(B.n);
          for (int i = 0; i < B.n; ++i)
            for (int k = 0; k < B.n; ++k)
              if (M(i, k) != 0)
                for (int j = 0; j < B.n; ++j) T(i, j) += M(i, k) * B(k, j);
          for (int i = 0; i < B.n; ++i)
            for (int j = 0; j < B.n; ++j) {
              double v = 0;
              for (int k = 0; k < B.n; ++k) v += T(i, k) * M(k, j);
              worst = std::max(worst, std::isfinite(v) ? std::fabs(v - M(i, j)) : INFINITY);
            }
          EXPECT_LT(worst, 1e-12 * M.max());
        }
      }
}

TEST(Factor, NotPositiveDefinite) // the level and the node are named
{
  Problem p{15, 15};
  p.shift = -0.5;
  Library lib(p, with(100));
  ASSERT_TRUE(lib.failure.failed);
  for (int l = 1;; ++l) { // the first level at which the definition has such a pivot
    ASSERT_LE(l, lib.failure.level);
    const Reference r(p, with(l), l - 1);
    bool            found = false, named = false;
    for (int v = 0; v < r.S.n; ++v) {
      auto   red = [&](int u) { return !r.level[(size_t)u] && Reference::red(l, u % p.nx + 1, u / p.nx + 1); };
      double d   = r.S(v, v);
      for (int u = 0; u < r.S.n; ++u)
        if (u != v && red(u)) d += r.S(v, u);
      if (!red(v) || d > 0) continue;
      found = true;
      named = named || v == lib.failure.x + p.nx * lib.failure.y;
    }
    EXPECT_EQ(found, l == lib.failure.level);
    EXPECT_EQ(named, found);
    if (found) break;
  }
}
