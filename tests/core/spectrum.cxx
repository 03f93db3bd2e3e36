// What the factorisation is worth: the condition number against Notay's bound, the first Schur complement, and the accelerated cycles.
#include "reference.hpp"
#include "unit.hpp"

using namespace tessera;
using rrb::Coarsening;
using rrb::Cycle;
using rrb::Params;

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
