// Newton's method for Coulomb friction: the natural map of the cones with De Saxce's change of the normal velocity is
// semismooth, and its zeros need not be isolated (redundant contacts, singular A), so a step is that of Levenberg and
// Marquardt, (J'J + lambda I) s = -J'F, which converges fast to a set of solutions as well. It needs a good start:
// the sweeps make it, again and again where one leads nowhere.
#include "densegs/lcp.hpp"
#include "petsc/compat.h"
#include <algorithm>
#include <cmath>
#include <petscblaslapack.h>

namespace tessera::lcp {

namespace {

// F_c(x) = x_c - P(x_c - rho_c (w_c + mu |w_t| n)), P being the projection onto the cone of contact c, and its
// derivative J_c = (I - dP) + dP rho_c (A_c + mu n (w_t / |w_t|)' A_t). rho_c makes both of one size.
struct Map {
  const Problem      &p;
  std::vector<double> rho; // of each contact

  Map(const Problem &problem) : p(problem), rho((size_t)(problem.n / problem.block))
  {
    for (size_t c = 0; c < rho.size(); ++c) {
      double trace = 0;
      for (int k = 0; k < p.block; ++k) trace += p.matrix->diagonal[c * (size_t)p.block + (size_t)k];
      rho[c] = p.block / trace;
    }
  }
  // derivative: for each contact two d x d blocks by columns, I - dP and what multiplies A's rows.
  double operator()(const double *x, const double *w, double *F, double *derivative) const
  {
    const int d = p.block;
    double    s = 0;
    for (size_t c = 0; c < rho.size(); ++c) {
      const double *xc = x + c * (size_t)d, *wc = w + c * (size_t)d, mu = p.mu[c];
      double        y[3] = {}, z[3] = {}, slip = 0, length = 0, P[9] = {};
      for (int k = 1; k < d; ++k) slip += wc[k] * wc[k];
      slip = std::sqrt(slip);
      for (int k = 0; k < d; ++k) y[k] = xc[k] - rho[c] * (wc[k] + (k ? 0 : mu * slip));
      for (int k = 1; k < d; ++k) length += y[k] * y[k];
      length = std::sqrt(length);
      if (length <= mu * y[0]) { // sticks
        for (int k = 0; k < d; ++k) z[k] = y[k], P[k * d + k] = 1;
      } else if (mu * length <= -y[0]) { // is open
        for (int k = 0; k < d; ++k) z[k] = 0;
      } else { // slides
        const double share = 1 / (1 + mu * mu), normal = (y[0] + mu * length) * share;
        double       t[3] = {};
        z[0] = normal;
        for (int k = 1; k < d; ++k) {
          t[k] = y[k] / length;
          z[k] = mu * normal * t[k];
        }
        P[0] = share;
        for (int i = 1; i < d; ++i) {
          P[i] = P[i * d] = mu * share * t[i];
          for (int j = 1; j < d; ++j)
            P[j * d + i] = mu * normal / length * ((i == j) - t[i] * t[j]) + mu * mu * share * t[i] * t[j];
        }
      }
      for (int k = 0; k < d; ++k) {
        const double e = xc[k] - z[k];
        F[c * (size_t)d + (size_t)k] = e;
        s += e * e;
      }
      if (!derivative) continue;
      double *identity = derivative + 2 * c * (size_t)(d * d), *rows = identity + d * d, G[9] = {};
      for (int k = 0; k < d; ++k) G[k * d + k] = rho[c];
      for (int k = 1; k < d && slip > 0; ++k) G[k * d] = rho[c] * mu * wc[k] / slip;
      for (int j = 0; j < d; ++j)
        for (int i = 0; i < d; ++i) {
          double e = 0;
          for (int k = 0; k < d; ++k) e += P[k * d + i] * G[j * d + k];
          rows[j * d + i]     = e;
          identity[j * d + i] = (i == j) - P[j * d + i];
        }
    }
    return std::sqrt(s);
  }
};

// The equations of steps, which the first process has and solves for all.
struct Equations {
  const Matrix       &m;
  const size_t        n;
  const int           d;
  std::vector<double> A, J, H, L, G; // H = J'J, L the factor of H + lambda I, G = -J'F
  double              largest = 0;   // of H's diagonal

  Equations(const Problem &p) : m(*p.matrix), n((size_t)p.n), d(p.block), G(n)
  {
    densegs::allocate(m.comm, [&] {
      if (here())
        for (std::vector<double> *v : {&A, &J, &H, &L}) v->resize(n * n);
    });
    std::vector<int> all(n);
    for (size_t i = 0; i < n; ++i) all[i] = (int)i;
    gather_rows(m, all, A.data());
  }
  bool here() const { return !m.rank; }
  // Of the map's derivative and value
  void make(const std::vector<double> &derivative, const std::vector<double> &F)
  {
    largest = 0;
    if (!here()) return;
    PetscBLASInt one = 1, size = (PetscBLASInt)n;
    double       unit = 1, zero = 0, minus = -1;
    for (size_t j = 0; j < n; ++j)
      for (size_t c = 0; c < n; c += (size_t)d) {
        const double *block = derivative.data() + 2 * c * (size_t)d, *rows = block + d * d, *a = A.data() + j * n + c;
        for (int i = 0; i < d; ++i) {
          double e = j >= c && j < c + (size_t)d ? block[(j - c) * (size_t)d + (size_t)i] : 0;
          for (int k = 0; k < d; ++k) e += rows[k * d + i] * a[k];
          J[j * n + c + (size_t)i] = e;
        }
      }
    BLASgemm_("T", "N", &size, &size, &size, &unit, J.data(), &size, J.data(), &size, &zero, H.data(), &size);
    BLASgemv_("T", &size, &size, &minus, J.data(), &size, F.data(), &one, &zero, G.data(), &one);
    for (size_t i = 0; i < n; ++i) largest = std::max(largest, H[i * (n + 1)]);
  }
  // (H + lambda largest I) step = G, on all processes; false: the matrix is not positive definite.
  bool solve(double lambda, std::vector<double> &step)
  {
    int fine = 1;
    if (here()) {
      PetscBLASInt one = 1, size = (PetscBLASInt)n, info = 0;
      L = H;
      for (size_t i = 0; i < n; ++i) L[i * (n + 1)] += lambda * largest;
      step = G;
      LAPACKpotrf_("L", &size, L.data(), &size, &info);
      if (!info) LAPACKpotrs_("L", &size, &one, L.data(), &size, step.data(), &size, &info);
      fine = !info;
    }
    if (m.size > 1) {
      MPI_Bcast(&fine, 1, MPI_INT, 0, m.comm);
      MPI_Bcast(step.data(), (int)n, MPI_DOUBLE, 0, m.comm);
    }
    return fine;
  }
};

} // namespace

// The first process has all of A and makes the steps; the rest is as distributed as ever.
Reason friction_newton(const Problem &p, const Params &params, int most, double *answer, double *least,
                       std::vector<double> &x, Report &report, const Monitor &monitor)
{
  const size_t        n = (size_t)p.n;
  const Map           map(p);
  Equations           equations(p);
  std::vector<double> w(n), F(n), trial(n), derivative(2 * n * (size_t)p.block), step(n);
  double              lambda = 1e-6;

  multiply(p, x.data(), w.data());
  double now = map(x.data(), w.data(), F.data(), derivative.data());
  for (int it = 0; it < most && report.factors < params.max_factors && std::isfinite(now); ++it) {
    equations.make(derivative, F);
    bool better = false;
    for (; !better && lambda <= 1 && report.factors < params.max_factors; lambda = std::max(10 * lambda, 1e-14)) {
      ++report.factors;
      if (!equations.solve(lambda, step)) continue;
      for (size_t i = 0; i < n; ++i) trial[i] = x[i] + step[i];
      multiply(p, trial.data(), w.data());
      better = map(trial.data(), w.data(), F.data(), nullptr) < (1 - 1e-4) * now;
      if (better) break;
    }
    if (!better) break;
    x      = trial;
    lambda = std::max(0.1 * lambda, 1e-15);
    now    = map(x.data(), w.data(), F.data(), derivative.data());
    const double r = natural(p, x.data(), w.data());
    if (r < *least) {
      *least = r;
      std::copy(x.begin(), x.end(), answer);
    }
    ++report.steps;
    if (monitor(report, *least, answer)) return Reason::stopped;
  }
  return Reason::iterating;
}

} // namespace tessera::lcp
