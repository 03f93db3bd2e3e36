// Coulomb friction: contacts are solved one after the other, each exactly with the others as they are (nonsmooth
// Gauss-Seidel; Jourdan, Alart, Jean, CMAME 155, 1998). A contact has a normal force x_n >= 0 and tangential ones
// |x_t| <= mu x_n; w is the relative velocity.
#include "densegs/contact.hpp"
#include "densegs/lcp.hpp"
#include <algorithm>
#include <cmath>
#include <memory>

namespace tessera::lcp {

namespace {

// The contact problem with matrix D (d x d, by columns) and q: w = D x + q. D has a positive first entry.
struct Contact {
  int    d;
  double mu, a[9] = {}, q[3] = {};

  double at(int i, int j) const { return a[j * d + i]; }

  bool cone(double *x) const
  {
    return d == 2 ? densegs::solve_contact<2>(a, q, mu, x) : densegs::solve_contact<3>(a, q, mu, x);
  }
  // Sweeps over bounds that move with x_n.
  bool pyramid(double *x) const
  {
    for (int sweep = 0; sweep < 50; ++sweep) {
      double change = 0, size = 0;
      for (int i = 0; i < d; ++i) {
        double w = q[i];
        for (int j = 0; j < d; ++j) w += at(i, j) * x[j];
        const double f = mu * x[0], v = x[i] - w / at(i, i), now = i ? std::min(std::max(v, -f), f) : std::max(v, 0.);
        change += std::fabs(now - x[i]);
        size += std::fabs(now);
        x[i] = now;
      }
      if (change <= 1e-15 * size) break;
    }
    return true;
  }
};

// The columns of each contact without their zeros, where most entries are zero: those of stacks and chains, in which
// few contacts meet.
struct Columns {
  std::vector<size_t> start;
  std::vector<int>    row;   // of those of this process
  std::vector<double> value; // d for each
  bool                used = false;

  Columns(const Matrix &m, int d)
  {
    if (m.sparse) {
      join(*m.sparse, m.n / d, d);
      return;
    }
    size_t entries = 0;
    start.assign(1, 0);
    for (int c = 0; c < m.n / d; ++c) {
      for (int i = 0; i < m.rows(); ++i) entries += any(m, d, c, i);
      start.push_back(entries);
    }
    used = (double)entries < 0.2 * m.rows() * (double)(m.n / d);
    if (!used) return;
    row.reserve(entries);
    value.reserve(entries * (size_t)d);
    for (int c = 0; c < m.n / d; ++c)
      for (int i = 0; i < m.rows(); ++i)
        if (any(m, d, c, i)) {
          row.push_back(i);
          for (int a = 0; a < d; ++a) value.push_back(m.a[(ptrdiff_t)(c * d + a) * m.lda + i]);
        }
  }
  // The d columns of each contact of a sparse matrix side by side
  void join(const Entries &all, int contacts, int d)
  {
    std::vector<int> place(all.start.size(), -1); // of a row in this contact's columns, from `begin` on
    used = true;
    start.assign(1, 0);
    for (int c = 0; c < contacts; ++c) {
      const size_t begin = row.size();
      for (int a = 0; a < d; ++a)
        for (size_t e = all.start[(size_t)(c * d + a)]; e < all.start[(size_t)(c * d + a) + 1]; ++e) {
          int &at = place[(size_t)all.row[e]];
          if (at < (int)begin) {
            at = (int)row.size();
            row.push_back(all.row[e]);
            value.resize(value.size() + (size_t)d, 0.);
          }
          value[(size_t)at * (size_t)d + (size_t)a] = all.value[e];
        }
      start.push_back(row.size());
    }
  }
  static bool any(const Matrix &m, int d, int c, int i)
  {
    for (int a = 0; a < d; ++a)
      if (m.a[(ptrdiff_t)(c * d + a) * m.lda + i] != 0) return true;
    return false;
  }
  // w += the columns of contact c times step
  void add(int d, int c, const double *step, double *w) const
  {
    for (size_t e = start[(size_t)c]; e < start[(size_t)c + 1]; ++e)
      for (int a = 0; a < d; ++a) w[row[e]] += value[e * (size_t)d + (size_t)a] * step[a];
  }
};

// Sweeps on a device, which has whole contacts in its panels.
struct ContactSweeper {
  const Problem      &p;
  densegs::Plan       plan;
  Buffer<double>      mu;
  std::vector<double> host; // a vector by panels
  int                 used;

  ContactSweeper(const Problem &problem, const Params &params) :
    p(problem), used(densegs::height / problem.block * problem.block)
  {
    densegs::Params sweeps = params.sweeps;
    sweeps.single = false; // what contacts need of the matrix is read once a sweep
    plan.exec     = p.matrix->exec;
    densegs::create(plan, densegs::contact_panels(p.n, p.block) * densegs::height, sweeps);
    densegs::fill_contacts(plan, p.matrix->a, p.matrix->lda, p.n, p.block);
    host.assign((size_t)plan.panels.padded(), -1);
    for (int c = 0; c < p.n / p.block; ++c) host[place(c * p.block)] = p.mu[c];
    mu.resize(Extent{host.size(), Space::cuda});
    device::copy_from_host(mu.data(), host.data(), mu.bytes());
    device::synchronize(); // before `host` changes
    std::fill(host.begin(), host.end(), 0);
    send(p.q, plan.q);
  }
  size_t place(int i) const { return (size_t)(i / used * densegs::height + i % used); }
  void   send(const double *from, Buffer<double> &to)
  {
    for (int i = 0; i < p.n; ++i) host[place(i)] = from[i];
    device::copy_from_host(to.data(), host.data(), to.bytes());
    device::synchronize();
  }
  bool operator()(double *x, int first, int count)
  {
    send(x, plan.x);
    const bool fine = densegs::sweep_contacts(plan, p.block, mu.data(), plan.q.data(), plan.x.data(), first, count);
    device::copy_to_host(host.data(), plan.x.data(), plan.x.bytes());
    for (int i = 0; i < p.n; ++i) x[i] = host[place(i)];
    return fine;
  }
};

// Sweeps on the host, of all processes: contacts one after the other, and w of this process's rows follows x.
struct HostSweeper {
  const Problem      &p;
  const Matrix       &m;
  const Params       &params;
  const int           d, contacts, first;
  const size_t        rows;
  std::vector<double> own, found; // the contacts' blocks of the matrix; the steps of a process's turn
  Columns             few;
  densegs::Sequence   order;
  densegs::Panels     shape; // of the order alone

  HostSweeper(const Problem &problem, const Params &prm) :
    p(problem), m(*problem.matrix), params(prm), d(problem.block), contacts(problem.n / d), first(m.first()),
    rows((size_t)m.rows()), few(m, d)
  {
    blocks(m, d, own);
    shape = densegs::shape_of_rows(contacts);
  }
  // w afresh
  void multiply_few(const double *x, double *w) const
  {
    std::copy(p.q + first, p.q + first + rows, w + first);
    for (int c = 0; c < contacts; ++c) few.add(d, c, x + (size_t)c * (size_t)d, w + first);
    gather(m, w);
  }
  // x of a contact, and w of this process's rows after it
  void push(int c, const double *step, double *x, double *w) const
  {
    if (few.used) {
      few.add(d, c, step, w + first);
      for (int a = 0; a < d; ++a) x[c * d + a] += step[a];
      return;
    }
    for (int a = 0; a < d; ++a) {
      const double *column = m.a + (ptrdiff_t)(c * d + a) * m.lda;
      const double  s      = step[a];
      double       *mine   = w + first;
      x[c * d + a] += s;
#pragma omp simd
      for (size_t j = 0; j < rows; ++j) mine[j] += column[j] * s;
    }
  }
  // The step of a contact to its solution with the others as they are; false: there is none.
  bool solve(int c, const double *x, const double *w, double *step) const
  {
    const size_t i = (size_t)c * (size_t)d;
    Contact      local;
    double       v[3];
    local.d  = d;
    local.mu = p.mu[c];
    for (int a = 0; a < d; ++a) {
      local.q[a] = w[i + (size_t)a];
      for (int b = 0; b < d; ++b) local.a[b * d + a] = own[(i + (size_t)b) * (size_t)d + (size_t)a];
    }
    for (int a = 0; a < d; ++a)
      for (int b = 0; b < d; ++b) local.q[a] -= local.at(a, b) * x[i + (size_t)b];
    for (int a = 0; a < d; ++a) v[a] = x[i + (size_t)a];
    if (!(p.friction == Friction::cone ? local.cone(v) : local.pyramid(v))) return false;
    for (int a = 0; a < d; ++a) step[a] = params.sweeps.omega * (v[a] - x[i + (size_t)a]);
    return true;
  }
  // The contacts at the positions [at, end) of the order are this process's turn.
  bool turn(size_t at, size_t end, double *x, double *w)
  {
    for (size_t o = at; o < end; ++o) {
      const int c = order.outer[o];
      double    step[3];
      bool      moved = false;
      if (!solve(c, x, w, step)) return false;
      for (int a = 0; a < d; ++a) {
        moved = moved || step[a] != 0;
        if (m.size > 1) found[(o - at) * (size_t)d + (size_t)a] = step[a];
      }
      if (moved) push(c, step, x, w);
    }
    return true;
  }
  // The steps of a process's turn go to the others; false on all: it has failed.
  bool pass(int from, bool fine, size_t at, size_t end, double *x, double *w)
  {
    found.back() = fine;
    MPI_Bcast(found.data(), (int)found.size(), MPI_DOUBLE, from, m.comm);
    fine = found.back() != 0;
    if (from != m.rank && fine)
      for (size_t o = at; o < end; ++o) push(order.outer[o], found.data() + (o - at) * (size_t)d, x, w);
    return fine;
  }
  // One sweep; false: a contact has no solution.
  bool operator()(double *x, double *w, int number)
  {
    densegs::sequence(shape, params.sweeps.order, number, order);
    // Contacts that follow each other and belong to one process are its turn; their steps go to the others at its end.
    for (size_t at = 0, end; at < order.outer.size(); at = end) {
      const int who  = m.owner(order.outer[at] * d);
      bool      fine = true;
      for (end = at + 1; end < order.outer.size() && (m.size == 1 || m.owner(order.outer[end] * d) == who); ++end) { }
      if (m.size > 1) found.assign((end - at) * (size_t)d + 1, 0);
      if (who == m.rank) fine = turn(at, end, x, w);
      if (m.size > 1) fine = pass(who, fine, at, end, x, w);
      if (!fine) return false;
    }
    return true;
  }
};

} // namespace

Reason friction(const Problem &p, const Params &params, double *answer, Report &report, const Monitor &monitor)
{
  const Matrix       &m = *p.matrix;
  const size_t        n = (size_t)p.n;
  std::vector<double> x(answer, answer + n), w(n);
  double              best = HUGE_VAL;
  StallCounter                stalls;
  int                 wait = 0;
  double              mark = HUGE_VAL; // what the residual was `wait` looks ago; it has not halved since
  bool                tried = false, fine = true; // the contacts have been solved
  std::unique_ptr<ContactSweeper> on_device;
  std::unique_ptr<HostSweeper>    on_host;
  if (m.on_device()) on_device.reset(new ContactSweeper(p, params));
  else on_host.reset(new HostSweeper(p, params));
  while (report.sweeps < params.max_sweeps || !fine) {
    // w afresh: the updates below gather rounding
    if (on_host && on_host->few.used) on_host->multiply_few(x.data(), w.data());
    else multiply(p, x.data(), w.data());
    const double r = natural(p, x.data(), w.data());
    if (!std::isfinite(r)) return Reason::diverged;
    if (r < best) std::copy(x.begin(), x.end(), answer);
    best           = std::min(best, r);
    const int slow = stalls(best);
    if (report.sweeps) {
      ++report.steps;
      if (monitor(report, best, answer)) return Reason::stopped;
    }
    if (slow > 500) return Reason::stalled;
    wait = best < 0.5 * mark ? 0 : wait + 1;
    if (!wait) mark = best;
    if (params.newton && p.friction == Friction::cone && !tried && (wait >= 30 || !fine)) {
      tried = true;
      if (friction_interior(p, params.max_factors, answer, &best, report, monitor) == Reason::stopped)
        return Reason::stopped;
      x.assign(answer, answer + n);
      fine = true;
      continue;
    }
    if (!fine) return Reason::diverged;
    if (on_device) fine = (*on_device)(x.data(), report.sweeps, params.check);
    else
      for (int k = 0; k < params.check && fine; ++k) fine = (*on_host)(x.data(), w.data(), report.sweeps + k);
    if (!fine) x.assign(answer, answer + n);
    report.sweeps += params.check;
  }
  return Reason::maximum;
}

} // namespace tessera::lcp
