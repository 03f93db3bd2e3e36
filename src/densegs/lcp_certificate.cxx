// What an x is worth: natural residuals, certificates, proofs that there is no solution.
#include "densegs/lcp.hpp"
#include "densegs/natural.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::lcp {

// The size of the sums that w_i is made of is bounded by the diagonal, sqrt(a_ii) times this sum, as |a_ij| <=
// sqrt(a_ii a_jj) in a symmetric positive definite matrix; others may have larger ones.
static double weighted_sum(const std::vector<double> &diagonal, const double *x)
{
  double sum = 0;
  for (size_t i = 0; i < diagonal.size(); ++i) sum += std::sqrt(diagonal[i]) * std::fabs(x[i]);
  return sum;
}

double size_of_product(const Matrix &m, const double *x)
{
  double trace = 0;
  for (double v : m.diagonal) trace += v;
  double sum = 0;
  for (size_t i = 0; i < m.diagonal.size(); ++i) sum += std::fabs(x[i]);
  return std::max(trace > 0 ? std::sqrt(trace) * weighted_sum(m.diagonal, x) : 0, m.largest * sum);
}

bool rounded(const Problem &p, const double *x, const double *w)
{
  if (p.block > 1) return false;
  constexpr double      few = 1e-12, part = 1e-4;
  std::vector<double>   start((size_t)p.n, 0), product((size_t)p.n);
  double                size = 0;
  // An x that runs away for want of an answer makes rounding larger than all that F is where x is small.
  project(p, start.data());
  multiply(p, start.data(), product.data());
  for (double v : product) size += v * v;
  if (!(natural(p, x, w) <= part * std::sqrt(size))) return false;
  const auto  &d   = p.matrix->diagonal;
  const double sum = weighted_sum(d, x);
  for (int i = 0; i < p.n; ++i) {
    const double e = few * (std::fabs(p.q[i]) + std::sqrt(d[(size_t)i]) * sum);
    if (!(x[i] >= p.lower[i] && x[i] <= p.upper[i]) || !std::isfinite(w[i]) || !std::isfinite(e)) return false;
    if ((w[i] > e && x[i] > p.lower[i]) || (w[i] < -e && x[i] < p.upper[i])) return false;
  }
  return true;
}

// x_t - (projection of x onto the cone |x_t| <= mu x_n), squared length.
static double cone_distance2(double mu, double n, const double *t, int d)
{
  double length = 0;
  for (int k = 0; k < d; ++k) length += t[k] * t[k];
  length = std::sqrt(length);
  if (n >= 0 && length <= mu * n) return 0;
  if (mu * length <= -n) return n * n + length * length;
  const double e = (length - mu * n) / std::sqrt(1 + mu * mu);
  return e * e;
}

// For cones: x - P(x - (w + mu |w_t| n)) with De Saxce's change of w_n.
static void cone_residual(const Problem &p, int c, const double *x, const double *w, double e[3])
{
  const int    d = p.block, i = c * d;
  const double mu = p.mu[c];
  double       t[3] = {}, slip = 0, length = 0, pn, scale;
  for (int k = 1; k < d; ++k) slip += w[i + k] * w[i + k];
  const double wn = w[i] + mu * std::sqrt(slip), n = x[i] - wn;
  for (int k = 1; k < d; ++k) t[k] = x[i + k] - w[i + k], length += t[k] * t[k];
  length = std::sqrt(length);
  if (n >= 0 && length <= mu * n) { // x - (x - w), without losing w in a large x
    e[0] = wn;
    for (int k = 1; k < d; ++k) e[k] = w[i + k];
    return;
  }
  if (mu * length <= -n) pn = 0, scale = 0;
  else {
    pn    = (n + mu * length) / (1 + mu * mu);
    scale = mu * pn / length;
  }
  e[0] = x[i] - pn;
  for (int k = 1; k < d; ++k) e[k] = x[i + k] - scale * t[k];
}

static void pyramid_bounds(const Problem &p, int c, const double *x, int k, double *lower, double *upper)
{
  const double f = p.mu[c] * std::max(x[c * p.block], 0.);
  *lower = k ? -f : 0;
  *upper = k ? f : HUGE_VAL;
}

double natural(const Problem &p, const double *x, const double *w)
{
  if (p.scale != 1) { // of the unknowns scale x: squares of w / scale may be nothing, or infinite
    const size_t        n     = (size_t)p.n;
    Problem             plain = p;
    std::vector<double> scaled(x, x + n), lower(p.lower, p.lower + n), upper(p.upper, p.upper + n);
    for (std::vector<double> *v : {&scaled, &lower, &upper})
      for (double &e : *v) e *= p.scale;
    plain.lower = lower.data();
    plain.upper = upper.data();
    plain.scale = 1;
    return natural(plain, scaled.data(), w);
  }
  double s = 0;
  if (p.block == 1) {
    for (int i = 0; i < p.n; ++i) {
      const double e = natural_residual(x[i], w[i], p.lower[i], p.upper[i]);
      s += e * e;
    }
  } else
    for (int c = 0; c < p.n / p.block; ++c)
      if (p.friction == Friction::cone) {
        double e[3];
        cone_residual(p, c, x, w, e);
        for (int k = 0; k < p.block; ++k) s += e[k] * e[k];
      } else
        for (int k = 0; k < p.block; ++k) {
          double lower, upper;
          pyramid_bounds(p, c, x, k, &lower, &upper);
          const int    i = c * p.block + k;
          const double e = natural_residual(x[i], w[i], lower, upper);
          s += e * e;
        }
  return std::sqrt(s);
}

Certificate certify(const Problem &p, const double *x, const double *w)
{
  Certificate c;
  c.natural = natural(p, x, w);
  if (p.block > 1 && p.friction == Friction::cone) {
    for (int k = 0; k < p.n / p.block; ++k) {
      const int i = k * p.block;
      double    slip = 0, dot;
      for (int t = 1; t < p.block; ++t) slip += w[i + t] * w[i + t];
      const double n = w[i] + p.mu[k] * std::sqrt(slip);
      dot = x[i] * n;
      for (int t = 1; t < p.block; ++t) dot += x[i + t] * w[i + t];
      c.gap += std::fabs(dot);
      c.primal = std::max(c.primal, std::sqrt(cone_distance2(p.mu[k], x[i], x + i + 1, p.block - 1)));
      c.dual   = std::max(c.dual, -w[i]);
    }
    return c;
  }
  for (int i = 0; i < p.n; ++i) {
    double lower = p.lower ? p.lower[i] : 0, upper = p.upper ? p.upper[i] : 0;
    if (p.block > 1) pyramid_bounds(p, i / p.block, x, i % p.block, &lower, &upper);
    c.primal = std::max(c.primal, std::max(lower - x[i], x[i] - upper));
    // At a bound w may have one sign; between them none. A bound at infinity gives no product.
    const double positive = std::max(w[i], 0.), negative = std::max(-w[i], 0.);
    c.gap += (std::isfinite(lower) ? (x[i] - lower) * positive : positive) +
             (std::isfinite(upper) ? (upper - x[i]) * negative : 0);
    if (!std::isfinite(upper)) c.dual = std::max(c.dual, negative);
    if (!std::isfinite(lower)) c.dual = std::max(c.dual, positive);
  }
  return c;
}

// Farkas: y >= 0 (for unknowns with a lower bound alone) with A'y <= 0 and (q + A lower)'y < 0 excludes every
// feasible x. Asked of directions into which the iterates run away.
bool infeasible(const Problem &p, const double *direction)
{
  if (p.block > 1) return false;
  const size_t        n = (size_t)p.n;
  std::vector<double> y(n), start(n), w(n);
  double              length = 0, right = 0, sum = 0;
  for (size_t i = 0; i < n; ++i) {
    if (!std::isfinite(p.lower[i]) || std::isfinite(p.upper[i])) return false;
    y[i] = std::max(direction[i], 0.);
    length += y[i];
    start[i] = p.lower[i];
  }
  if (!(length > 0)) return false;
  for (double &v : y) v /= length;
  multiply(p, start.data(), w.data());
  for (size_t i = 0; i < n; ++i) {
    right += w[i] * y[i];
    sum += std::fabs(w[i]) * y[i];
  }
  if (!(right < -1e-6 * sum)) return false;
  transposed(*p.matrix, y.data(), w.data());
  // What A'y has above zero must be rounding: 1e-10 would exclude solutions of that size alone, which do exist.
  double worst = 0;
  for (size_t j = 0; j < n; ++j) worst = std::max(worst, w[j]);
  return worst <= 1e-12 * size_of_diagonal(*p.matrix); // one large entry of A does not make the others rounding
}

} // namespace tessera::lcp
