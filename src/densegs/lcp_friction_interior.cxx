// An interior-point method for Coulomb friction: y = W x + q + mu |y_t| n, x and y in cones dual to each other, x o y =
// 0, with De Saxce's change of the normal velocity inside of Newton's system and the scaling of Nesterov and Todd.
// Normal parts are scaled so that all cones are |z_t| <= z_n. It needs no sweeps, and no isolated solution: redundant
// contacts get forces inside of their cones.
#include "densegs/lcp.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::lcp {

namespace {

using Vector = std::vector<double>;

// A contact's part of a vector, and of what Jordan's product makes of it; the third component of two dimensions is 0.
struct Part {
  double v[3] = {0, 0, 0};

  Part() = default;
  Part(const Vector &of, size_t c, int d)
  {
    for (int k = 0; k < d; ++k) v[k] = of[c * (size_t)d + (size_t)k];
  }
  void to(Vector &of, size_t c, int d) const
  {
    for (int k = 0; k < d; ++k) of[c * (size_t)d + (size_t)k] = v[k];
  }
  double dot(const Part &o) const { return v[0] * o.v[0] + v[1] * o.v[1] + v[2] * o.v[2]; }
  double minor(const Part &o) const { return v[0] * o.v[0] - v[1] * o.v[1] - v[2] * o.v[2]; }
  double det() const
  {
    const double t = std::hypot(v[1], v[2]);
    return std::max((v[0] - t) * (v[0] + t), 1e-300);
  }
  Part plus(double a, const Part &o) const
  {
    Part z;
    for (int k = 0; k < 3; ++k) z.v[k] = v[k] + a * o.v[k];
    return z;
  }
  Part times(const Part &o) const // Jordan's product
  {
    Part z;
    z.v[0] = dot(o);
    for (int k = 1; k < 3; ++k) z.v[k] = v[0] * o.v[k] + o.v[0] * v[k];
    return z;
  }
  Part divide(const Part &f) const // times(z) = f
  {
    Part z;
    z.v[0] = minor(f) / det();
    for (int k = 1; k < 3; ++k) z.v[k] = (f.v[k] - v[k] * z.v[0]) / v[0];
    return z;
  }
  // The longest step along s that stays in the cone
  double room(const Part &s) const
  {
    const double a = s.minor(s), b = minor(s), c = det(), root = std::sqrt(std::max(b * b - a * c, 0.));
    double       longest = s.v[0] < 0 ? -v[0] / s.v[0] : HUGE_VAL;
    for (double t : {c / (-b + root), c / (-b - root)})
      if (t > 0) longest = std::min(longest, t);
    return longest;
  }
};

// P with P x = P^-1 y: P = size (w, w_t'; w_t, I + w_t w_t' / (1 + w)).
struct Scaling {
  double size = 1;
  Part   w;

  Scaling(const Part &x, const Part &y)
  {
    const double dx = std::sqrt(x.det()), dy = std::sqrt(y.det()), half = std::sqrt(0.5 * (1 + x.dot(y) / (dx * dy)));
    size = std::sqrt(dy / dx);
    for (int k = 0; k < 3; ++k) w.v[k] = (y.v[k] / dy + (k ? -1 : 1) * x.v[k] / dx) / (2 * half);
  }
  Part apply(const Part &z, bool inverse = false) const
  {
    const double sign = inverse ? -1 : 1, s = inverse ? 1 / size : size, t = w.v[1] * z.v[1] + w.v[2] * z.v[2];
    Part         out;
    out.v[0] = s * (w.v[0] * z.v[0] + sign * t);
    for (int k = 1; k < 3; ++k) out.v[k] = s * (sign * w.v[k] * z.v[0] + z.v[k] + w.v[k] * t / (1 + w.v[0]));
    return out;
  }
};

struct Interior {
  const Problem       &p;
  const Matrix        &m;
  const int            d;
  const size_t         n, contacts;
  Vector               W, D, x, y, w, force, dx, dy, right; // W: of the first process
  double               scale = 0, size = 0; // of A = D^-1 W D^-1 and b = D^-1 q
  std::vector<Scaling> P;
  Factorisation        factor;

  Interior(const Problem &problem) :
    p(problem), m(*p.matrix), d(p.block), n((size_t)p.n), contacts(n / (size_t)d), D(n, 1), x(n), w(n), force(n), dx(n),
    dy(n), right(n)
  {
    std::vector<int> all(n);
    for (size_t c = 0; c < contacts; ++c) D[c * (size_t)d] = p.mu[c], x[c * (size_t)d] = 1;
    y = x;
    for (size_t i = 0; i < n; ++i) {
      all[i] = (int)i;
      scale += m.diagonal[i] / (D[i] * D[i]) / (double)n;
      size += p.q[i] * p.q[i] / (D[i] * D[i]);
    }
    size = std::sqrt(size);
    densegs::allocate(m.comm, [&] {
      if (!m.rank) {
        W.resize(n * n);
        factor.reset(p.n, Space::host);
      }
    });
    gather_rows(m, all, W.data());
  }
  // The forces, and w of them; returns the natural residual.
  double measure()
  {
    for (size_t i = 0; i < n; ++i) force[i] = x[i] * size / scale / D[i];
    multiply(p, force.data(), w.data());
    return natural(p, force.data(), w.data());
  }
  static Part slip(const Part &of) // the derivative of |y_t|
  {
    const double t = std::hypot(of.v[1], of.v[2]);
    Part         e;
    for (int k = 1; k < 3 && t > 0; ++k) e.v[k] = of.v[k] / t;
    return e;
  }
  // A + (I - E) P P, factorised by the first process for all
  bool factorise()
  {
    P.clear();
    for (size_t c = 0; c < contacts; ++c) P.emplace_back(Part(x, c, d), Part(y, c, d));
    int fine = 1;
    if (!m.rank) {
      double *const a = factor.matrix();
      for (size_t j = 0; j < n; ++j)
        for (size_t i = 0; i < n; ++i) a[j * n + i] = W[j * n + i] / (D[i] * D[j] * scale);
      for (size_t c = 0; c < contacts; ++c)
        for (int k = 0; k < d; ++k) {
          const Part e = slip(Part(y, c, d));
          Part       column;
          column.v[k] = 1;
          column      = P[c].apply(P[c].apply(column));
          column.v[0] -= e.dot(column);
          for (int i = 0; i < d; ++i) a[(c * (size_t)d + (size_t)k) * n + c * (size_t)d + (size_t)i] += column.v[i];
        }
      fine = factor.lu();
    }
    if (m.size > 1) MPI_Bcast(&fine, 1, MPI_INT, 0, m.comm);
    return fine;
  }
  // The step to x o y = centre n, with the second-order terms of the step before
  void direction(double centre, bool corrected)
  {
    std::vector<Part> target(contacts);
    for (size_t c = 0; c < contacts; ++c) {
      const Part X(x, c, d), Y(y, c, d), lambda = P[c].apply(X), e = slip(Y);
      Part       f = Part().plus(-1, lambda.times(lambda));
      f.v[0] += centre;
      if (corrected) f = f.plus(-1, P[c].apply(Part(dx, c, d)).times(P[c].apply(Part(dy, c, d), true)));
      target[c] = lambda.divide(f);
      Part z    = P[c].apply(target[c]);
      z.v[0] -= e.dot(z);
      for (int k = 0; k < d; ++k) {
        const size_t i = c * (size_t)d + (size_t)k;
        right[i]       = z.v[k] + y[i] - w[i] / (D[i] * size) - (k ? 0 : std::hypot(Y.v[1], Y.v[2]));
      }
    }
    if (!m.rank) factor.solve(right.data());
    if (m.size > 1) MPI_Bcast(right.data(), p.n, MPI_DOUBLE, 0, m.comm);
    dx = right;
    for (size_t c = 0; c < contacts; ++c)
      P[c].apply(target[c].plus(-1, P[c].apply(Part(dx, c, d)))).to(dy, c, d);
  }
  double room() const
  {
    double a = HUGE_VAL;
    for (size_t c = 0; c < contacts; ++c)
      a = std::min({a, Part(x, c, d).room(Part(dx, c, d)), Part(y, c, d).room(Part(dy, c, d))});
    return std::min(1., 0.99 * a);
  }
  double centre(double a) const
  {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += (x[i] + a * dx[i]) * (y[i] + a * dy[i]);
    return sum / (double)contacts;
  }
  // false: no direction
  bool step()
  {
    if (!factorise()) return false;
    const double mu = centre(0);
    direction(0, false);
    direction(mu * std::pow(std::min(1., std::max(1e-6, centre(room()) / mu)), 3), true);
    if (room() < 1e-3) direction(0.5 * mu, false);
    const double a = room();
    for (size_t i = 0; i < n; ++i) x[i] += a * dx[i], y[i] += a * dy[i];
    return a > 1e-10;
  }
};

} // namespace

Reason friction_interior(const Problem &p, int most, double *answer, double *least, Report &report,
                         const Monitor &monitor)
{
  for (int c = 0; c < p.n / p.block; ++c)
    if (!(p.mu[c] > 0)) return Reason::iterating; // its cone has no interior
  Interior i(p);
  StallCounter     stalls;
  (void)i.measure();
  for (; report.factors < most; ++report.steps) {
    ++report.factors;
    if (!i.step()) break;
    const double r = i.measure();
    if (!std::isfinite(r)) break;
    if (r < *least) {
      *least = r;
      std::copy(i.force.begin(), i.force.end(), answer);
    }
    if (monitor(report, *least, answer)) return Reason::stopped;
    if (stalls(r) >= 15) break;
  }
  return Reason::iterating;
}

} // namespace tessera::lcp
