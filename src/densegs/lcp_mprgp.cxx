// Modified proportioning with reduced gradient projections (Dostal, Optimal Quadratic Programming Algorithms,
// Springer 2009, chapter 5) for symmetric positive semidefinite A: conjugate gradients on the free unknowns, and
// steps of the projected gradient where these change. A product with A takes the place of a sweep.
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

// x with its gradient g = A x + q, free part f and chopped part c; the direction d of conjugate gradients, and A times
// a direction.
struct Iterate {
  const Problem      &p;
  const Params       &params;
  Report             &report;
  double             *answer; // the best x
  const size_t        n;
  std::vector<double> x, g, f, c, d, ad, zero;
  Problem             linear; // products without q
  double              largest = 0, step = 0; // |A|, and the length of steps along the projected gradient
  double              best = HUGE_VAL;       // natural residual
  StallCounter                stalls;

  Iterate(const Problem &problem, const Params &prm, double *to, Report &r) :
    p(problem), params(prm), report(r), answer(to), n((size_t)problem.n), x(to, to + n), g(n), f(n), c(n), d(n), ad(n),
    zero(n), linear(problem)
  {
    linear.q = zero.data();
  }
  void product(const std::vector<double> &v, std::vector<double> &out)
  {
    multiply(linear, v.data(), out.data());
    ++report.sweeps;
  }
  // Splits the gradient into its free and its chopped part.
  void split()
  {
    for (size_t i = 0; i < n; ++i) {
      const bool low = x[i] <= p.lower[i], high = x[i] >= p.upper[i];
      f[i] = low || high ? 0 : g[i];
      c[i] = low && high ? 0 : low ? std::min(g[i], 0.) : high ? std::max(g[i], 0.) : 0;
    }
  }
  // Is nothing left of the gradient? Then x is the answer, or rounding has lost the rest.
  bool   flat() const { return dot(f, f) == 0 && dot(c, c) == 0; }
  // The largest a for which x - a v is within the bounds
  double feasible(const std::vector<double> &v) const
  {
    double a = HUGE_VAL;
    for (size_t i = 0; i < n; ++i) {
      if (v[i] > 0) a = std::min(a, (x[i] - p.lower[i]) / v[i]);
      else if (v[i] < 0) a = std::min(a, (x[i] - p.upper[i]) / v[i]);
    }
    return a;
  }
  // Estimates |A| by steps of the power method. They approach it from below, hence the margin in `step`.
  void estimate()
  {
    for (size_t i = 0; i < n; ++i) d[i] = 1 + 0.1 * std::sin((double)i);
    for (int k = 0; k < 20; ++k) {
      const double length = std::sqrt(dot(d, d));
      if (!(length > 0)) break;
      for (double &v : d) v /= length;
      product(d, ad);
      largest = std::sqrt(dot(ad, ad));
      d       = ad;
    }
    step = 1 / (1.05 * largest + 1e-300);
  }
  // Measures how good x is and computes its gradient anew, without the rounding of the updates. Any other result than
  // `iterating` ends the solve.
  Reason check(bool first, bool was_flat, const Monitor &monitor)
  {
    std::vector<double> w(n);
    multiply(p, x.data(), w.data());
    g = w;
    const double r = natural(p, x.data(), w.data());
    if (!std::isfinite(r)) return Reason::diverged;
    if (r < best) {
      std::copy(x.begin(), x.end(), answer);
      project(p, answer); // a step to a bound is rounded
    }
    best           = std::min(best, r);
    const int slow = stalls(best);
    ++report.steps;
    if (monitor(report, best, answer)) return Reason::stopped;
    if (slow > 300) return Reason::stalled;
    split();
    if (first || was_flat) d = f;
    return was_flat && flat() ? Reason::stalled : Reason::iterating; // stalled: nothing to go on with
  }
  // The inner product of the free gradient with its reduced one: what of it a step along it can do within the bounds.
  double reduced() const
  {
    double s = 0;
    for (size_t i = 0; i < n; ++i)
      if (f[i] != 0) {
        const double room = (x[i] - (f[i] > 0 ? p.lower[i] : p.upper[i])) / step;
        s += f[i] * (f[i] > 0 ? std::min(room, f[i]) : std::max(room, f[i]));
      }
    return s;
  }
  // The steps along -v are not bounded: there is no solution, or it is not found.
  Reason unbounded(std::vector<double> &v) const
  {
    for (double &e : v) e = -e;
    return infeasible(p, v.data()) ? Reason::infeasible : Reason::diverged;
  }
  void move(double a, const std::vector<double> &v) // x -= a v; ad: A v
  {
    for (size_t i = 0; i < n; ++i) {
      x[i] -= a * v[i];
      g[i] -= a * ad[i];
    }
  }
  // The expansion step: along d as far as the bounds allow, which is `limit`, and on along the projected gradient.
  void expand(double limit)
  {
    move(limit, d);
    project(p, x.data());
    split();
    for (size_t i = 0; i < n; ++i) x[i] -= step * f[i];
    project(p, x.data());
    multiply(p, x.data(), g.data());
    ++report.sweeps;
    split();
    d = f;
  }
  // A step of conjugate gradients on the free unknowns; an expansion step where that would pass a bound.
  Reason conjugate()
  {
    product(d, ad);
    const double curvature = dot(d, ad), limit = feasible(d);
    const double a = curvature > 1e-14 * largest * dot(d, d) ? dot(g, d) / curvature : HUGE_VAL;
    if (!std::isfinite(a) && !std::isfinite(limit)) return unbounded(d);
    if (!(a <= limit)) {
      expand(limit);
      return Reason::iterating;
    }
    move(a, d);
    split();
    const double beta = dot(f, ad) / curvature;
    for (size_t i = 0; i < n; ++i) d[i] = f[i] - beta * d[i];
    return Reason::iterating;
  }
  // The proportioning step: along the chopped gradient, by which unknowns leave their bounds.
  Reason proportioning()
  {
    product(c, ad);
    const double curvature = dot(c, ad), limit = feasible(c);
    const double a = curvature > 0 ? std::min(dot(g, c) / curvature, limit) : limit;
    if (!std::isfinite(a)) return unbounded(c);
    move(a, c);
    project(p, x.data());
    split();
    d = f;
    return Reason::iterating;
  }
};
} // namespace

Reason mprgp(const Problem &p, const Params &params, double *answer, Report &report, const Monitor &monitor)
{
  Iterate i(p, params, answer, report);

  i.estimate();
  multiply(p, i.x.data(), i.g.data());
  i.split();
  i.d = i.f;
  for (int k = 0; report.sweeps < params.max_sweeps; ++k) {
    const bool was_flat = i.flat();
    Reason     reason = Reason::iterating;
    if (was_flat || k % params.check == 0) reason = i.check(!k, was_flat, monitor);
    if (reason != Reason::iterating) return reason;
    reason = dot(i.c, i.c) <= i.reduced() ? i.conjugate() : i.proportioning();
    if (reason != Reason::iterating) return reason;
  }
  return Reason::maximum;
}

} // namespace tessera::lcp
