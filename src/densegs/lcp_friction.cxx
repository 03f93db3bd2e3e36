// Coulomb friction: contacts are solved one after the other, each exactly with the others as they are (nonsmooth Gauss-Seidel; Jourdan,
// Alart, Jean, CMAME 155, 1998). A contact has a normal force x_n >= 0 and tangential ones |x_t| <= mu x_n; w is the relative velocity.
#include "densegs/lcp.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::lcp {

namespace {

// The contact problem with matrix D (d x d, by columns) and q: w = D x + q. D has a positive first entry.
struct Contact {
  int    d;
  double mu, a[9] = {}, q[3] = {};

  double at(int i, int j) const { return a[j * d + i]; }

  // Solves exactly; false: no root was found, as D is not positive semidefinite.
  bool cone(double *x) const
  {
    for (int k = 0; k < d; ++k) x[k] = 0;
    if (q[0] >= 0) return true; // separation
    const double wnn = at(0, 0);
    if (d == 1 || mu <= 0) {
      x[0] = -q[0] / wnn;
      return true;
    }
    // The normal velocity being zero, x_n = -(q_n + w_nt x_t) / w_nn, and x_t sees S = W_tt - W_tn W_nt / w_nn and s. S = V L V'.
    const int m = d - 1;
    double    s[2] = {}, S[4] = {}, value[2] = {}, V[4] = {1, 0, 0, 1}, c[2] = {};
    for (int i = 0; i < m; ++i) {
      s[i] = q[1 + i] - at(1 + i, 0) * q[0] / wnn;
      for (int j = 0; j < m; ++j) S[j * m + i] = at(1 + i, 1 + j) - at(1 + i, 0) * at(0, 1 + j) / wnn;
    }
    value[0] = S[0];
    if (m == 2) {
      const double off = 0.5 * (S[1] + S[2]), half = 0.5 * (S[0] - S[3]), root = std::hypot(half, off), angle = 0.5 * std::atan2(off, half);
      value[0] = 0.5 * (S[0] + S[3]) + root;
      value[1] = 0.5 * (S[0] + S[3]) - root;
      V[0] = std::cos(angle), V[1] = std::sin(angle), V[2] = -V[1], V[3] = V[0];
    }
    for (int k = 0; k < m; ++k) c[k] = m == 2 ? V[2 * k] * s[0] + V[2 * k + 1] * s[1] : s[0];
    // Sliding against the force: w_t = -lambda x_t, (S + lambda) x_t = -s, |x_t| = mu x_n. Sticking is lambda = 0.
    const double scale = std::fabs(wnn);
    auto         force = [&](double lambda, double *t) {
      double y[2] = {}, length = 0;
      for (int k = 0; k < m; ++k) {
        y[k] = c[k] == 0 ? 0 : -c[k] / std::max(value[k] + lambda, 1e-16 * scale);
        length += y[k] * y[k];
      }
      t[0] = m == 2 ? V[0] * y[0] + V[2] * y[1] : y[0];
      if (m == 2) t[1] = V[1] * y[0] + V[3] * y[1];
      double n = -q[0];
      for (int k = 0; k < m; ++k) n -= at(0, 1 + k) * t[k];
      x[0] = n / wnn;
      return std::sqrt(length) - mu * x[0];
    };
    double t[2] = {}, low = 0, high = scale;
    if (force(0, t) > 0) {
      int k = 0;
      for (; k < 200 && force(high, t) > 0; ++k) low = high, high *= 4;
      if (k == 200) return false;
      for (k = 0; k < 200 && high - low > 1e-16 * high; ++k) { // bisection: no slope is needed, and every step is safe
        const double middle = low > 0 && high > 4 * low ? std::sqrt(low * high) : 0.5 * (low + high);
        if (middle == low || middle == high) break;
        (force(middle, t) > 0 ? low : high) = middle;
      }
      force(high, t);
    }
    for (int k = 0; k < m; ++k) x[1 + k] = t[k];
    return x[0] >= 0;
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

} // namespace

Reason friction(const Problem &p, const Params &params, double *answer, Report &report, const Monitor &monitor)
{
  const Matrix       &m = *p.matrix;
  const int           d = p.block, contacts = p.n / d, first = m.first();
  const size_t        n = (size_t)p.n, rows = (size_t)m.rows();
  std::vector<double> x(answer, answer + n), w(n), z, own, found;
  double              best = HUGE_VAL, omega = params.sweeps.omega;
  int                 slow = 0, wait = 0;
  double              mark = HUGE_VAL; // what the residual was `wait` looks ago; it has not halved since
  bool                tried = false;
  densegs::Sequence   order;
  densegs::Panels     shape; // of the order alone
  shape.n = shape.count = contacts;
  shape.rows   = 1;
  shape.stride = (contacts + densegs::height - 1) / densegs::height * densegs::height;
  blocks(m, d, own);
  // w of this process's rows, after x of a contact has changed
  auto push = [&](int c, const double *step) {
    for (int a = 0; a < d; ++a) {
      const double *column = m.a + (ptrdiff_t)(c * d + a) * m.lda;
      const double  s      = step[a];
      double       *mine   = w.data() + first;
      x[(size_t)(c * d + a)] += s;
#pragma omp simd
      for (size_t j = 0; j < rows; ++j) mine[j] += column[j] * s;
    }
  };
  while (report.sweeps < params.most_sweeps) {
    multiply(p, x.data(), w.data()); // afresh: the updates below gather rounding
    const double r = natural(p, x.data(), w.data());
    if (!std::isfinite(r)) return Reason::diverged;
    if (r < best) std::copy(x.begin(), x.end(), answer);
    slow = r < 0.99 * best ? 0 : slow + 1;
    best = std::min(best, r);
    if (report.sweeps) {
      ++report.steps;
      if (monitor(report, best, answer)) return Reason::stopped;
    }
    if (slow > 500) return Reason::stalled;
    // Sweeps that have lost their pace are a start for Newton's method. If that leads nowhere it starts again from larger normal forces,
    // inside the cones: where contacts are redundant there are solutions with room around them, and a least step finds one.
    wait = best < 0.5 * mark ? 0 : wait + 1;
    if (!wait) mark = best;
    if (params.newton && p.friction == Friction::cone && !tried && wait >= 30) {
      double mean = 0;
      auto   attempt = [&](double scale) {
        z.assign(answer, answer + n);
        for (int c = 0; c < contacts; ++c) z[(size_t)c * (size_t)d] += scale * mean;
        return friction_newton(p, params, 40, answer, &best, z, report, monitor) == Reason::stopped;
      };
      for (int c = 0; c < contacts; ++c) mean += answer[(size_t)c * (size_t)d] / contacts;
      tried = true;
      for (double scale : {0., 1., 32., 2., 64., 4., 128., 8.}) {
        const double before = best;
        if (attempt(scale) || (best < 0.5 * before && scale > 0 && attempt(0))) return Reason::stopped;
      }
    }
    for (int k = 0; k < params.check; ++k, ++report.sweeps) {
      densegs::sequence(shape, params.sweeps.order, report.sweeps, order);
      // Contacts that follow each other and belong to one process are its turn, and their steps go to the others at its end.
      for (size_t at = 0, end; at < order.outer.size(); at = end) {
        const int turn = m.owner(order.outer[at] * d);
        bool      fine = true;
        for (end = at + 1; end < order.outer.size() && (m.size == 1 || m.owner(order.outer[end] * d) == turn); ++end) { }
        if (m.size > 1) found.assign((end - at) * (size_t)d + 1, 0);
        for (size_t o = at; turn == m.rank && o < end && fine; ++o) {
          const int    c = order.outer[o];
          const size_t i = (size_t)c * (size_t)d;
          Contact      local;
          double       v[3], step[3];
          bool         moved = false;
          local.d  = d;
          local.mu = p.mu[c];
          for (int a = 0; a < d; ++a) {
            local.q[a] = w[i + (size_t)a];
            for (int b = 0; b < d; ++b) local.a[b * d + a] = own[(i + (size_t)b) * (size_t)d + (size_t)a];
          }
          for (int a = 0; a < d; ++a)
            for (int b = 0; b < d; ++b) local.q[a] -= local.at(a, b) * x[i + (size_t)b];
          for (int a = 0; a < d; ++a) v[a] = x[i + (size_t)a];
          fine = p.friction == Friction::cone ? local.cone(v) : local.pyramid(v);
          if (!fine) break;
          for (int a = 0; a < d; ++a) {
            step[a] = omega * (v[a] - x[i + (size_t)a]);
            moved   = moved || step[a] != 0;
            if (m.size > 1) found[(o - at) * (size_t)d + (size_t)a] = step[a];
          }
          if (moved) push(c, step);
        }
        if (m.size > 1) {
          found.back() = fine;
          MPI_Bcast(found.data(), (int)found.size(), MPI_DOUBLE, turn, m.comm);
          fine = found.back() != 0;
          if (turn != m.rank && fine)
            for (size_t o = at; o < end; ++o) push(order.outer[o], found.data() + (o - at) * (size_t)d);
        }
        if (!fine) return Reason::diverged;
      }
    }
  }
  return Reason::maximum;
}

} // namespace tessera::lcp
