// The solver around the sweeps: acceleration, tests.
#include "densegs/lcp.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::lcp {

void multiply(const Problem &p, const double *x, double *w) { multiply(*p.matrix, p.q, x, w); }

void project(const Problem &p, double *x)
{
  for (int i = 0; i < p.n; ++i) x[i] = std::min(std::max(x[i], p.lower[i]), p.upper[i]);
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
    copy(from + m.first(), Space::host, to.data(), plan.exec.space, (size_t)m.rows());
  }
  void fetch(const Buffer<double> &from, double *to) const
  {
    copy(from.data(), plan.exec.space, to + m.first(), Space::host, (size_t)m.rows());
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
      r.refresh = k > 0;
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

  bool repeats(const std::vector<double> &x) const { return difference(x, snapshot) <= 1e-15; }
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

Reason sweeps(densegs::Plan &plan, const Problem &p, const Params &params, Acceleration acceleration, int max_sweeps,
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
  while (report.sweeps < max_sweeps) {
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
    if (r > 0 && plan.params.strategy != densegs::Strategy::relaxed && search.repeats(x)) {
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
