// The factorisation against a dense reference: M = L D L' and its inverse, symmetry, condition number, the Schur complement,
// and the accelerated cycles.
#include "reference.hpp"
#include "unit.hpp"
#include <functional>
#include <string>

using namespace tessera;
using rrb::Coarsening;
using rrb::Cycle;
using rrb::Params;

static std::string name(const Problem &p, const Params &q)
{
  return std::to_string(p.nx) + " x " + std::to_string(p.ny) + (p.nine ? " 9-point" : " 5-point") + (p.periodic_x ? " periodic x" : "") + (p.periodic_y ? " periodic y" : "") +
         (p.dead > 0 ? " mask" : "") + ", levels " + std::to_string(q.levels) + (q.coarsening == Coarsening::rhombus ? " rhombus" : "") + " omega " + std::to_string(q.omega) +
         (q.lump_all ? " all" : "") + ", grids " + std::to_string(q.grids) + (q.single ? " single" : "");
}

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

static Params with(int levels, Coarsening c = Coarsening::lump, double omega = 1, bool all = false, int grids = -1, bool single = false)
{
  Params q;
  q.levels     = levels;
  q.coarsening = c;
  q.omega      = omega;
  q.lump_all   = all;
  q.grids      = grids;
  q.single     = single;
  q.cycle      = Cycle::v;
  return q;
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

template <class T> static std::vector<T> values(const Buffer<T> &b)
{
  Buffer<T> here(b.size());
  copy(b, here);
  return std::vector<T>(here.data(), here.data() + here.size());
}

// `kept` is `made` rounded, and `inverse` what it says of either. Returns how many values are not zero.
static long expect_rounded(const char *what, const Buffer<double> &made, const Buffer<float> &kept, const Buffer<float> *inverse = nullptr, bool of_made = false)
{
  const std::vector<double> a = values(made);
  const std::vector<float>  b = values(kept), c = inverse ? values(*inverse) : b;
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
          if (lib.failure.again) ++again, lib.refresh(problem(seed));
          ASSERT_FALSE(lib.failure.failed || lib.failure.again);
          for (size_t l = 0; l < lib.plan.levels.size(); ++l) {
            if (lib.plan.levels[l].step != rrb::Step::coarsen) continue;
            const rrb::Smoothing<float> &s = lib.plan.smoothing32[l];
            const rrb::Work             &w = lib.plan.work[l];
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
            for (int k = 0; k < 4; ++k) weights += expect_rounded("centres", w.P.centre[k], s.centre[k]);
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

// ---- spectrum

// Extreme eigenvalues of M^-1 A by the Lanczos process in the inner product of A, with reorthogonalisation.
static void lanczos(const Problem &p, Library &lib, int steps, double *lowest, double *highest)
{
  const size_t                     n = (size_t)p.size();
  std::vector<std::vector<double>> v, av;
  std::vector<double>              d, e, x(n), ax(n);
  for (size_t i = 0; i < n; ++i) x[i] = hash((int64_t)i, 1, 2) - 0.5;
  for (int s = 0; s <= steps; ++s) {
    for (int twice = 0; twice < 2; ++twice)
      for (size_t k = 0; k < v.size(); ++k) {
        double c = 0;
        for (size_t i = 0; i < n; ++i) c += x[i] * av[k][i];
        for (size_t i = 0; i < n; ++i) x[i] -= c * v[k][i];
      }
    p.multiply(x, ax);
    double norm = 0;
    for (size_t i = 0; i < n; ++i) norm += x[i] * ax[i];
    norm = std::sqrt(norm);
    if (s == steps || norm < 1e-9 || (size_t)s == n) break;
    if (s) e.push_back(norm);
    for (size_t i = 0; i < n; ++i) x[i] /= norm, ax[i] /= norm;
    v.push_back(x);
    av.push_back(ax);
    lib.apply(ax.data(), x.data());
    double a = 0;
    for (size_t i = 0; i < n; ++i) a += x[i] * ax[i];
    d.push_back(a);
  }
  rrb::extreme_eigenvalues(d, e, lowest, highest);
}

// All eigenvalues between: B = G G', eigenvalues of G' A G by Jacobi rotations.
static void eigenvalues(const Matrix &A, const Matrix &B, double *lowest, double *highest)
{
  const int n = A.n;
  Matrix    g(n), t(n), c(n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      double s = B(i, j);
      for (int k = 0; k < j; ++k) s -= g(i, k) * g(j, k);
      g(i, j) = i == j ? std::sqrt(s) : s / g(j, j);
    }
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k)
      if (A(i, k) != 0)
        for (int j = 0; j < n; ++j) t(i, j) += A(i, k) * g(k, j);
  for (int i = 0; i < n; ++i)
    for (int k = i; k < n; ++k)
      for (int j = 0; j < n; ++j) c(i, j) += g(k, i) * t(k, j);
  for (int sweep = 0; sweep < 30; ++sweep) {
    double off = 0;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < i; ++j) {
        off = std::max(off, std::fabs(c(i, j)));
        if (std::fabs(c(i, j)) < 1e-14) continue;
        const double th = (c(i, i) - c(j, j)) / (2 * c(i, j)), tn = (th >= 0 ? 1 : -1) / (std::fabs(th) + std::sqrt(th * th + 1)), co = 1 / std::sqrt(tn * tn + 1), si = tn * co;
        for (int k = 0; k < n; ++k) {
          const double a = c(i, k), b = c(j, k);
          c(i, k) = co * a + si * b;
          c(j, k) = co * b - si * a;
        }
        for (int k = 0; k < n; ++k) {
          const double a = c(k, i), b = c(k, j);
          c(k, i) = co * a + si * b;
          c(k, j) = co * b - si * a;
        }
      }
    if (off < 1e-12) break;
  }
  *lowest = *highest = c(0, 0);
  for (int i = 0; i < n; ++i) *lowest = std::min(*lowest, c(i, i)), *highest = std::max(*highest, c(i, i));
}

static Problem poisson(int n)
{
  Problem p{n, n};
  p.dirichlet = true;
  p.spread    = 0;
  p.shift     = 0;
  return p;
}

TEST(Condition, LanczosFindsTheEigenvalues)
{
  const Problem p = poisson(15);
  for (int l : {2, 5, 6}) {
    Library lib(p, with(l));
    double  a[2], b[2];
    lanczos(p, lib, 60, &a[0], &a[1]);
    eigenvalues(p.dense(), lib.dense(), &b[0], &b[1]);
    EXPECT_NEAR(a[0], b[0], 1e-8);
    EXPECT_NEAR(a[1], b[1], 1e-8);
  }
}

TEST(Condition, BelowNotaysBound) // report 16-06, section 2.5; after l levels, two to a grid, ceil(l / 2) + 1 grids
{
  for (int n : {15, 31, 63}) {
    const Problem p    = poisson(n);
    double        last = 0;
    for (int l = 1; l <= Reference::maximum_levels(n, n); ++l) {
      Library lib(p, with(l));
      double  lo, hi;
      lanczos(p, lib, 80, &lo, &hi);
      const int    g     = (l + 1) / 2 + 1;
      const double q     = std::sqrt(5.) - 1;
      const double bound = std::sqrt(5.) * std::pow(q, g - 1) / (1 + (g % 2 ? -1 : 1) * std::pow((3 - std::sqrt(5.)) / 2, g - 1));
      EXPECT_NEAR(lo, 1, 1e-5) << n << " " << l; // row sums are kept and A - M is negative semidefinite: 1 from below
      EXPECT_LE(hi / lo, bound) << n << " " << l;
      EXPECT_GE(hi, last * (1 - 1e-3)) << n << " " << l; // more levels, more is lumped
      last = hi;
    }
  }
}

// ---- the first Schur complement

static void black(Library &lib, const rrb::BlackField &x, std::vector<double> &y) // to natural order, zero at the red nodes
{
  There to(std::vector<double>(y.size(), 0));
  rrb::black_add(lib.plan, x, to.data());
  to.get(y.data());
}

TEST(Schur, AgainstDense)
{
  for (auto &s : {std::pair<int, int>{1, 1}, {1, 6}, {2, 2}, {5, 7}, {8, 8}, {13, 10}, {9, 16}})
    for (int periodic = 0; periodic < 4; ++periodic)
      for (int l : {1, 2, 4, 5, 100})
        for (int grids : {-1, 0}) {
          Problem p{s.first, s.second};
          p.periodic_x = periodic & 1 && p.nx % 2 == 0;
          p.periodic_y = periodic & 2 && p.ny % 2 == 0;
          Params q = with(l, Coarsening::lump, 1, false, grids);
          q.schur  = true;
          SCOPED_TRACE(name(p, q));
          Library lib(p, q);
          ASSERT_FALSE(lib.failure.failed);
          ASSERT_TRUE(lib.plan.have_schur);
          const int        N = p.size();
          const Matrix     A = p.dense(), B = lib.dense();
          std::vector<int> blacks, reds;
          for (int v = 0; v < N; ++v) ((v % p.nx + v / p.nx) % 2 ? reds : blacks).push_back(v);
          rrb::BlackField     u(lib.plan), w(lib.plan);
          std::vector<double> e((size_t)N), z((size_t)N);
          double              worst = 0, worst_apply = 0, scale = A.max(), scale_apply = B.max(), energy = 0;
          for (int j : blacks) {
            e[(size_t)j] = 1;
            u.own.zero();
            rrb::black_load(lib.plan, There(e).data(), u);
            lib.plan.levels[0].halo.exchange(u.view, mask_o | mask_c);
            const double pq = rrb::schur_multiply(lib.plan, u.view, w.view);
            black(lib, w, z);
            energy = std::max(energy, std::fabs(pq - z[(size_t)j]));
            for (int i : blacks) {
              double s1 = A(i, j);
              for (int r : reds) s1 -= A(i, r) * A(r, j) / A(r, r);
              worst = std::max(worst, std::fabs(s1 - z[(size_t)i]));
            }
            // its preconditioner is the black part of M^-1
            rrb::schur_apply(lib.plan, u.view, w.view);
            black(lib, w, z);
            for (int i : blacks) worst_apply = std::max(worst_apply, std::fabs(B(i, j) - z[(size_t)i]));
            // |M^-1 r| with its red part
            double whole = 0;
            for (int i = 0; i < N; ++i) whole += B(i, j) * B(i, j);
            EXPECT_NEAR(rrb::schur_norm2(lib.plan, w), whole, 1e-13 * whole);
            e[(size_t)j] = 0;
          }
          EXPECT_LT(worst, 1e-14 * scale);
          EXPECT_LT(energy, 1e-14 * scale);
          EXPECT_LT(worst_apply, 1e-14 * scale_apply);
          // red rows: D_r^-1 r
          for (int i = 0; i < N; ++i) e[(size_t)i] = hash(i, 8, 8);
          There zero(std::vector<double>(z.size(), 0));
          rrb::red_solve(lib.plan, There(e).data(), zero.data());
          zero.get(z.data());
          for (int i : blacks) EXPECT_EQ(z[(size_t)i], 0);
          for (int i : reds) EXPECT_NEAR(z[(size_t)i], e[(size_t)i] / A(i, i), 1e-15);
        }
}

// ---- accelerated cycles

// Contraction of x := x + B (b - A x), measured with the energy norm of the error from a fixed start.
static double contraction(const Problem &p, Library &lib, int steps)
{
  const size_t        n = (size_t)p.size();
  std::vector<double> x(n), r(n), z(n);
  for (size_t i = 0; i < n; ++i) x[i] = hash((int64_t)i, 4, 4) - 0.5; // the error; b = 0
  auto energy = [&] {
    double s = 0;
    p.multiply(x, r);
    for (size_t i = 0; i < n; ++i) s += x[i] * r[i];
    return std::sqrt(s);
  };
  const double first = energy();
  for (int s = 0; s < steps; ++s) {
    p.multiply(x, r);
    lib.apply(r.data(), z.data());
    for (size_t i = 0; i < n; ++i) x[i] -= z[i] * 0.6;
  }
  return std::pow(energy() / first, 1. / steps);
}

TEST(Cycle, AmliIsLinearAndSymmetric)
{
  for (int every : {1, 2})
    for (int inner : {1, 2, 3})
      for (auto c : {Coarsening::lump, Coarsening::rhombus}) {
        Problem p = poisson(unit_cuda() ? 15 : 23); // a launch for each column takes its time
        Params  q = with(100, c);
        q.cycle   = Cycle::amli;
        q.every   = every;
        q.inner   = inner;
        Library lib(p, q), v(p, with(100, c));
        ASSERT_EQ(lib.plan.cycle, Cycle::amli);
        const Matrix B = lib.dense();
        EXPECT_LT(asymmetry(B), 1e-13);
        EXPECT_EQ(inverse(B).n, B.n) << "not positive definite";
        EXPECT_GT(difference(v.dense(), B), 1e-3) << "the V-cycle"; // it does something
        std::vector<double> x((size_t)p.size()), z(x), y((size_t)p.size());
        for (size_t i = 0; i < x.size(); ++i) x[i] = hash((int64_t)i, 6, 6) - 0.5;
        lib.apply(x.data(), z.data());
        double worst = 0;
        for (int i = 0; i < B.n; ++i) {
          double s = 0;
          for (int j = 0; j < B.n; ++j) s += B(i, j) * x[(size_t)j];
          worst = std::max(worst, std::fabs(s - z[(size_t)i]));
        }
        EXPECT_LT(worst, 1e-13 * B.max());
      }
}

TEST(Cycle, BetterThanV)
{
  const Problem p = poisson(127);
  double        lo, hi;
  Library       v(p, with(100));
  lanczos(p, v, 40, &lo, &hi);
  const double plain = contraction(p, v, 10), kappa = hi / lo;
  for (int every : {1, 2}) {
    Params q = with(100);
    q.every  = every;
    q.cycle  = Cycle::amli;
    Library amli(p, q);
    lanczos(p, amli, 40, &lo, &hi);
    EXPECT_LT(hi / lo, every == 1 ? 0.4 * kappa : 0.6 * kappa);
    q.cycle = Cycle::k;
    Library k(p, q);
    EXPECT_LT(contraction(p, k, 10), plain);
    EXPECT_LT(contraction(p, k, 10), 0.6);
    // homogeneous: K(3 x) = 3 K(x)
    std::vector<double> x((size_t)p.size()), x3(x), z(x), z3(x);
    for (size_t i = 0; i < x.size(); ++i) x3[i] = 3 * (x[i] = hash((int64_t)i, 6, 1) - 0.5);
    k.apply(x.data(), z.data());
    k.apply(x3.data(), z3.data());
    double worst = 0, scale = 0;
    for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::fabs(z3[i] - 3 * z[i])), scale = std::max(scale, std::fabs(z[i]));
    EXPECT_LT(worst, 1e-12 * scale);
  }
}

TEST(Cycle, AutomaticChoice) // AMLI for Poisson's equation, V where lumping is weak
{
  Params q = with(100);
  q.cycle  = Cycle::automatic;
  EXPECT_EQ(Library(poisson(127), q).plan.cycle, Cycle::amli);
  Problem rough = poisson(127);
  rough.decades = 4;
  EXPECT_EQ(Library(rough, q).plan.cycle, Cycle::v);
}
