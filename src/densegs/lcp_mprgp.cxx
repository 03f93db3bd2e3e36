// Modified proportioning with reduced gradient projections (Dostal, Optimal Quadratic Programming Algorithms, Springer 2009, chapter 5)
// for symmetric positive semidefinite A: conjugate gradients on the free unknowns, and steps of the projected gradient where these
// change. A product with A takes the place of a sweep.
#include "densegs/lcp.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::lcp {

namespace {
double dot(const std::vector<double> &a, const std::vector<double> &b)
{
  double s = 0;
#pragma omp simd reduction(+ : s)
  for (size_t i = 0; i < a.size(); ++i) s += a[i] * b[i];
  return s;
}
} // namespace

Reason mprgp(const Problem &p, const Params &params, double *answer, Report &report, const Monitor &monitor)
{
  const size_t        n = (size_t)p.n;
  std::vector<double> x(answer, answer + n), g(n), f(n), c(n), d(n), ad(n), zero(n);
  Problem             linear = p; // products without q
  double              largest = 0;
  linear.q = zero.data();

  auto product = [&](const std::vector<double> &v, std::vector<double> &out) {
    multiply(linear, v.data(), out.data());
    ++report.sweeps;
  };
  auto split = [&] { // the free and the chopped gradient
    for (size_t i = 0; i < n; ++i) {
      const bool low = x[i] <= p.lower[i], high = x[i] >= p.upper[i];
      f[i] = low || high ? 0 : g[i];
      c[i] = low && high ? 0 : low ? std::min(g[i], 0.) : high ? std::max(g[i], 0.) : 0;
    }
  };
  auto feasible = [&](const std::vector<double> &v) { // the largest a with x - a v within the bounds
    double a = HUGE_VAL;
    for (size_t i = 0; i < n; ++i) {
      if (v[i] > 0) a = std::min(a, (x[i] - p.lower[i]) / v[i]);
      else if (v[i] < 0) a = std::min(a, (x[i] - p.upper[i]) / v[i]);
    }
    return a;
  };
  // |A| by steps of the power method; an estimate from below, hence the margin.
  for (size_t i = 0; i < n; ++i) d[i] = 1 + 0.1 * std::sin((double)i);
  for (int k = 0; k < 20; ++k) {
    const double length = std::sqrt(dot(d, d));
    if (!(length > 0)) break;
    for (double &v : d) v /= length;
    product(d, ad);
    largest = std::sqrt(dot(ad, ad));
    d       = ad;
  }
  const double step = 1 / (1.05 * largest + 1e-300);
  double       best = HUGE_VAL;
  int          slow = 0;
  multiply(p, x.data(), g.data());
  split();
  d = f;
  for (int k = 0; report.sweeps < params.most_sweeps; ++k) {
    const bool there = dot(f, f) == 0 && dot(c, c) == 0; // no gradient is left: an answer, or rounding has lost it
    if (there || k % params.check == 0) {
      std::vector<double> w(n);
      multiply(p, x.data(), w.data());
      g = w; // without the rounding of the updates
      const double r = natural(p, x.data(), w.data());
      if (!std::isfinite(r)) return Reason::diverged;
      if (r < best) std::copy(x.begin(), x.end(), answer);
      slow = r < 0.99 * best ? 0 : slow + 1;
      best = std::min(best, r);
      ++report.steps;
      if (monitor(report, best, answer)) return Reason::stopped;
      if (slow > 300) return Reason::stalled;
      split();
      if (!k || there) d = f;
      if (there && dot(f, f) == 0 && dot(c, c) == 0) return Reason::stalled; // nothing to go on with
    }
    double reduced = 0; // the free gradient as far as a step keeps the bounds, times the free gradient
    for (size_t i = 0; i < n; ++i)
      if (f[i] != 0) reduced += f[i] * (f[i] > 0 ? std::min((x[i] - p.lower[i]) / step, f[i]) : std::max((x[i] - p.upper[i]) / step, f[i]));
    if (dot(c, c) <= reduced) {
      product(d, ad);
      const double curvature = dot(d, ad), most = feasible(d), a = curvature > 1e-14 * largest * dot(d, d) ? dot(g, d) / curvature : HUGE_VAL;
      if (!std::isfinite(a) && !std::isfinite(most)) {
        for (double &v : d) v = -v;
        return infeasible(p, d.data()) ? Reason::infeasible : Reason::diverged;
      }
      if (a <= most) {
        for (size_t i = 0; i < n; ++i) {
          x[i] -= a * d[i];
          g[i] -= a * ad[i];
        }
        split();
        const double beta = dot(f, ad) / curvature;
        for (size_t i = 0; i < n; ++i) d[i] = f[i] - beta * d[i];
      } else { // to the bounds, and on along the projected gradient
        for (size_t i = 0; i < n; ++i) {
          x[i] -= most * d[i];
          g[i] -= most * ad[i];
        }
        project(p, x.data());
        split();
        for (size_t i = 0; i < n; ++i) x[i] -= step * f[i];
        project(p, x.data());
        multiply(p, x.data(), g.data());
        ++report.sweeps;
        split();
        d = f;
      }
    } else { // proportioning: unknowns leave their bounds
      product(c, ad);
      const double curvature = dot(c, ad), most = feasible(c), a = curvature > 0 ? std::min(dot(g, c) / curvature, most) : most;
      if (!std::isfinite(a)) {
        for (double &v : c) v = -v;
        return infeasible(p, c.data()) ? Reason::infeasible : Reason::diverged;
      }
      for (size_t i = 0; i < n; ++i) {
        x[i] -= a * c[i];
        g[i] -= a * ad[i];
      }
      project(p, x.data());
      split();
      d = f;
    }
  }
  return Reason::maximum;
}

} // namespace tessera::lcp
