// The solver around the sweeps: acceleration, tests, certificates.
#include "densegs/lcp.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace tessera::lcp {

void multiply(const Problem &p, const double *x, double *w) { multiply(*p.matrix, p.q, x, w); }

void project(const Problem &p, double *x)
{
  for (int i = 0; i < p.n; ++i) x[i] = std::min(std::max(x[i], p.lower[i]), p.upper[i]);
}

// The size of the sums that w_i is made of is bounded by the diagonal, as |a_ij| <= sqrt(a_ii a_jj) in a symmetric
// positive definite matrix; others may have larger ones.
bool rounded(const Problem &p, const double *x, const double *w)
{
  if (p.block > 1) return false;
  constexpr double      few = 1e-12, part = 1e-4;
  std::vector<double>   start((size_t)p.n, 0), there((size_t)p.n);
  double                size = 0;
  // An x that runs away for want of an answer makes rounding larger than all that F is where x is small.
  project(p, start.data());
  multiply(p, start.data(), there.data());
  for (double v : there) size += v * v;
  if (!(natural(p, x, w) <= part * std::sqrt(size))) return false;
  const auto      &d   = p.matrix->diagonal;
  double           sum = 0;
  for (int i = 0; i < p.n; ++i) sum += std::sqrt(d[(size_t)i]) * std::fabs(x[i]);
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
  double       t[3] = {}, slip = 0, length = 0;
  for (int k = 1; k < d; ++k) slip += w[i + k] * w[i + k];
  const double n = x[i] - (w[i] + mu * std::sqrt(slip));
  for (int k = 1; k < d; ++k) t[k] = x[i + k] - w[i + k], length += t[k] * t[k];
  length = std::sqrt(length);
  double pn, scale;
  if (n >= 0 && length <= mu * n) pn = n, scale = 1;
  else if (mu * length <= -n) pn = 0, scale = 0;
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
  if (p.scale != 1) {
    Problem             plain = p;
    std::vector<double> v(w, w + p.n);
    for (double &e : v) e /= p.scale;
    plain.scale = 1;
    return p.scale * natural(plain, x, v.data());
  }
  double s = 0;
  if (p.block == 1) {
    for (int i = 0; i < p.n; ++i) {
      const double e = x[i] - std::min(std::max(x[i] - w[i], p.lower[i]), p.upper[i]);
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
          const double e = x[i] - std::min(std::max(x[i] - w[i], lower), upper);
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
  // What A'y has above zero must be rounding, and could not make up for q'y with any x of a sensible size.
  double worst = 0;
  for (size_t j = 0; j < n; ++j) worst = std::max(worst, w[j]);
  return worst <= 1e-10 * size_of_diagonal(*p.matrix); // one large entry of A does not make the others rounding
}

namespace {

// Sweeps on x, which the plan may have on the device. Several processes: each has its rows in the plan and makes its
// turns.
struct Sweeper {
  densegs::Plan        &plan;
  const Problem        &p;
  const Matrix         &m;
  Report               &report;
  densegs::Distributed  all;
  std::vector<double>   q; // single precision: with the part of A that the panels do not have
  Buffer<double>        y, last, t; // momentum on a device
  densegs::Panels       shape;      // of the order alone, for a sparse matrix
  densegs::Sequence     order;
  int                   number = 0;

  Sweeper(densegs::Plan &of, const Problem &problem, Report &r) :
    plan(of), p(problem), m(*problem.matrix), report(r), q(problem.q, problem.q + problem.n)
  {
    if (m.sparse) {
      shape = densegs::shape_of_rows(p.n);
      return;
    }
    if (m.size > 1) {
      densegs::create(all, m.comm, m.rows());
      all.a   = m.a;
      all.lda = m.lda;
    }
    send(p.lower, plan.lower);
    send(p.upper, plan.upper);
    send(q.data(), plan.q);
  }
  // This process's rows of a vector
  void send(const double *from, Buffer<double> &to) const
  {
    if (plan.exec.space == Space::cuda) device::copy_from_host(to.data(), from, (size_t)p.n * sizeof(double));
    else std::copy(from + m.first(), from + m.first() + m.rows(), to.data());
  }
  void fetch(const Buffer<double> &from, double *to) const
  {
    if (plan.exec.space == Space::cuda) device::copy_to_host(to, from.data(), (size_t)p.n * sizeof(double));
    else std::copy(from.data(), from.data() + m.rows(), to + m.first());
  }
  void run_sparse(double *x, int count)
  {
    std::vector<double> w((size_t)p.n);
    multiply(p, x, w.data());
    for (int k = 0; k < count; ++k, ++number) {
      densegs::sequence(shape, plan.params.order, number, order);
      sweep_entries(*m.sparse, m.diagonal, order.outer, plan.params.omega, p.lower, p.upper, x, w.data());
    }
    report.sweeps += count;
  }
  void run(double *x, int count)
  {
    if (m.sparse) return run_sparse(x, count);
    densegs::Request    r;
    std::vector<double> change((size_t)count);
    r.q      = plan.q.data();
    r.lower  = plan.lower.data();
    r.upper  = plan.upper.data();
    r.sweeps   = count;
    r.first  = number;
    number += count;
    if (m.size > 1) {
      std::copy(q.begin() + m.first(), q.begin() + m.first() + m.rows(), plan.q.data()); // the turns write there
      std::copy(x, x + p.n, all.x.begin());
      densegs::sweep(all, plan, r);
      std::copy(all.x.begin(), all.x.end(), x);
      report.sweeps += count;
      return;
    }
    send(x, plan.x);
    r.x      = plan.x.data();
    r.change = change.data(); // a device is asked for it, and says whether it waited in vain
    report.sweeps += densegs::sweep(plan, r);
    fetch(plan.x, x);
  }
  // Nesterov's pairs of sweeps on the device, where x, y and t stay until the next look at the residual.
  void restart(const double *x)
  {
    const double one = 1;
    for (Buffer<double> *v : {&y, &last}) {
      if (v->empty()) v->resize(plan.x.extent());
      send(x, *v);
    }
    if (t.empty()) t.resize(Extent{1, Space::cuda});
    device::copy_from_host(t.data(), &one, sizeof(one));
    device::synchronize(); // before `one` goes
  }
  void pairs(double *x, int count)
  {
    densegs::Request r;
    r.q     = plan.q.data();
    r.lower = plan.lower.data();
    r.upper = plan.upper.data();
    r.x     = plan.x.data();
    r.sweeps  = 2;
    device::copy(plan.x.data(), y.data(), y.bytes());
    for (int k = 0; k < count; ++k) {
      r.first = number;
      r.again = k > 0;
      number += r.sweeps;
      report.sweeps += densegs::sweep(plan, r);
      momentum_device(plan.exec, p.n, plan.lower.data(), plan.upper.data(), plan.x.data(), y.data(), last.data(),
                      t.data());
    }
    fetch(last, x);
    // Not a number: have the sweeps diverged, or did they not come to their end?
    if (count && !std::all_of(x, x + p.n, [](double v) { return std::isfinite(v); }))
      densegs::await_end(plan, r.sweeps);
  }
  // After w = A x + q has been found: what the sweeps are to take for q, so that they end where A does.
  void correct(const double *x, const double *w)
  {
    if (!plan.panels.single()) return;
    // these multiply with the double matrix, not with the panels
    if (m.size > 1 && plan.params.order == densegs::Order::random) return;
    std::vector<double> own((size_t)p.n);
    send(x, plan.x);
    if (m.size > 1) { // only the square block is in single precision
      std::vector<double> exact((size_t)m.rows());
      plan.q.zero();
      densegs::residual(plan, plan.q.data(), plan.x.data(), plan.before.data());
      for (int j = m.first(); j < m.first() + m.rows(); ++j)
        for (int i = 0; i < m.rows(); ++i) exact[(size_t)i] += m.a[j * m.lda + i] * x[j];
      for (int i = 0; i < m.rows(); ++i)
        q[(size_t)(m.first() + i)] = p.q[m.first() + i] + (exact[(size_t)i] - plan.before.data()[i]);
      return;
    }
    densegs::residual(plan, plan.q.data(), plan.x.data(), plan.before.data());
    fetch(plan.before, own.data());
    for (int i = 0; i < p.n; ++i) q[(size_t)i] += w[i] - own[(size_t)i];
    send(q.data(), plan.q);
  }
};

double difference(const std::vector<double> &a, const std::vector<double> &b)
{
  double d = 0, m = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    d = std::max(d, std::fabs(a[i] - b[i]));
    m = std::max(m, std::fabs(a[i]));
  }
  return m > 0 ? d / m : d;
}

// x, and what acceleration remembers of the sweeps before. on_device: momentum is made there, where x stays.
struct Iterate {
  const Problem      &p;
  Sweeper            &sweeper;
  const Acceleration  acceleration;
  const bool          on_device;
  const int           unit; // sweeps that momentum is made of: a symmetric one is two
  const size_t        n;
  std::vector<double> x, last, y, old, direction, step;
  double              t = 1, previous = 0;

  Iterate(const densegs::Plan &plan, const Problem &problem, Sweeper &s, Acceleration a, const double *start) :
    p(problem), sweeper(s), acceleration(a), on_device(a == Acceleration::nesterov && plan.exec.space == Space::cuda),
    unit(plan.params.order == densegs::Order::symmetric ? 2 : 1), n((size_t)problem.n), x(start, start + n), last(x),
    y(x), old(x), direction(n), step(n)
  {
    if (on_device) sweeper.restart(x.data());
  }
  void restart(const double *from)
  {
    x.assign(from, from + n);
    y = last = old = x;
    t = 1, previous = 0;
    if (on_device) sweeper.restart(x.data());
  }
  void sweep(int group)
  {
    if (acceleration == Acceleration::none) sweeper.run(x.data(), unit * group);
    else if (on_device) sweeper.pairs(x.data(), group);
    else
      for (int k = 0; k < group; ++k) {
        if (acceleration == Acceleration::nesterov) nesterov();
        else nncg();
      }
  }
  // Momentum over whole (symmetric) sweeps, which are gradient steps in a norm of their own; restart where it points
  // uphill (O'Donoghue and Candes, Found. Comput. Math. 15, 2015).
  void nesterov()
  {
    std::copy(y.begin(), y.end(), x.begin());
    sweeper.run(x.data(), unit);
    double up = 0;
    for (size_t i = 0; i < n; ++i) up += (y[i] - x[i]) * (x[i] - last[i]);
    if (up > 0) t = 1;
    const double after = (1 + std::sqrt(1 + 4 * t * t)) / 2, beta = (t - 1) / after;
    for (size_t i = 0; i < n; ++i) y[i] = std::min(std::max(x[i] + beta * (x[i] - last[i]), p.lower[i]), p.upper[i]);
    last = x;
    t    = after;
  }
  // NNCG: Fletcher and Reeves on the steps of sweeps (Silcowitz, Niebe, Erleben 2010)
  void nncg()
  {
    old = x;
    sweeper.run(x.data(), unit);
    double now = 0;
    for (size_t i = 0; i < n; ++i) {
      step[i] = x[i] - old[i];
      now += step[i] * step[i];
    }
    const double beta = previous > 0 ? now / previous : 0;
    if (!(previous > 0) || beta > 1) std::fill(direction.begin(), direction.end(), 0);
    else
      for (size_t i = 0; i < n; ++i) {
        x[i] += beta * direction[i];
        direction[i] *= beta;
      }
    project(p, x.data());
    for (size_t i = 0; i < n; ++i) direction[i] += step[i];
    previous = now;
  }
};

// The same x again (Brent's search, at powers of two), and directions into which x runs away.
struct Search {
  std::vector<double> snapshot;
  double              asked; // the residual when it was last asked whether there is an answer
  int                 checks = 0, next = 8;

  bool again(const std::vector<double> &x) const { return difference(x, snapshot) <= 1e-15; }
  bool leads_nowhere(const Problem &p, const std::vector<double> &x, double best)
  {
    if (checks != next) return false;
    std::vector<double> step(x);
    for (size_t i = 0; i < x.size(); ++i) step[i] -= snapshot[i];
    if (best > 0.5 * asked && infeasible(p, step.data())) return true;
    asked    = best;
    snapshot = x;
    next *= 2;
    return false;
  }
};

Reason sweeps(densegs::Plan &plan, const Problem &p, const Params &params, Acceleration acceleration, int most,
              double *answer, Report &report, const Monitor &monitor)
{
  std::vector<double> w((size_t)p.n);
  Sweeper             sweeper(plan, p, report);
  multiply(p, answer, w.data());
  const double first = natural(p, answer, w.data());
  double       best  = first;
  int          wild  = 0; // looks at sweeps without order that found nothing better
  StallCounter         stalls;
  sweeper.correct(answer, w.data());
  Iterate iterate(plan, p, sweeper, acceleration, answer);
  Search  search{iterate.x, best};
  const std::vector<double> &x = iterate.x;
  const int group = std::max(params.check / iterate.unit, 1);
  while (report.sweeps < most) {
    const int made_before = report.sweeps;
    iterate.sweep(group);
    multiply(p, x.data(), w.data());
    const double r = natural(p, x.data(), w.data());
    if (!std::isfinite(r) || r > 1e8 * (first + 1e-300)) {
      if (plan.params.strategy != densegs::Strategy::relaxed) return Reason::diverged;
    } else sweeper.correct(x.data(), w.data());
    // Sweeps without order may never meet: then those with order take over, from the best x.
    wild = r < 0.999 * best ? 0 : wild + 1;
    if (plan.params.strategy == densegs::Strategy::relaxed && wild >= 3) {
      plan.params.strategy = densegs::Strategy::graph;
      report.fell_back     = true;
      iterate.restart(answer);
      continue;
    }
    if (r <= best) std::copy(x.begin(), x.end(), answer);
    if (acceleration == Acceleration::nesterov && r > 10 * best) iterate.restart(answer); // momentum went astray
    best           = std::min(best, r);
    const int slow = stalls(best);
    ++report.steps;
    if (monitor(report, best, answer)) return Reason::stopped;
    ++search.checks;
    // The same x while the residual is not small: a cycle, or an end.
    if (r > 0 && plan.params.strategy != densegs::Strategy::relaxed && search.again(x)) {
      const bool cycle = report.sweeps - made_before && acceleration == Acceleration::none && slow > 2;
      return cycle ? Reason::cycling : Reason::stalled;
    }
    if (search.leads_nowhere(p, x, best)) return Reason::infeasible;
    if (slow > 1000) return Reason::stalled;
  }
  return Reason::maximum;
}

} // namespace

Report solve(densegs::Plan &plan, const Problem &p, const Params &params, double *x, const Monitor &monitor)
{
  Report               report;
  std::vector<double> &w = report.w;
  double               r;
  Acceleration         a = params.acceleration;

  w.resize((size_t)p.n);
  if (p.block == 1) project(p, x);
  multiply(p, x, w.data());
  r = natural(p, x, w.data());
  if (monitor(report, r, x)) report.reason = Reason::stopped;
  else if (p.block > 1) report.reason = friction(p, params, x, report, monitor);
  else if (a == Acceleration::mprgp) report.reason = mprgp(p, params, x, report, monitor);
  else {
    if (a == Acceleration::automatic)
      a = p.matrix->asymmetry < 1e-6 && plan.params.order == densegs::Order::symmetric ? Acceleration::nesterov
                                                                                       : Acceleration::none;
    if (sweepable(*p.matrix) && (!params.newton || params.before > 0))
      report.reason =
        sweeps(plan, p, params, a, params.newton ? params.before : params.max_sweeps, x, report, monitor);
    // a nearly singular matrix may look infeasible to the sweeps
    if (params.newton && report.reason != Reason::stopped) {
      const Reason before = report.reason;
      report.reason = newton(p, params, x, report, monitor);
      if (report.reason != Reason::stopped && before == Reason::infeasible) report.reason = before;
      if (report.reason == Reason::maximum && before == Reason::cycling) report.reason = before;
    }
  }
  multiply(p, x, w.data());
  report.certificate = certify(p, x, w.data());
  return report;
}

} // namespace tessera::lcp
