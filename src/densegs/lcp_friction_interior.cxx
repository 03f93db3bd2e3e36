// An interior-point method for Coulomb friction. Of a contact's velocity w = W x + q only the tangential part belongs
// to the dual cone: with a y of that cone whose tangential part is w_t, and whose normal one is free,
//
//   x o y = 0 (x in the cone, y in its dual),   x_n w_n = 0, w_n >= 0
//
// says that a contact separates, sticks or slides: x o y = 0 makes y_n = |w_t| where it slides. So De Saxce's change of
// the normal velocity, w_n + mu |w_t|, which has no derivative where a contact sticks, is not needed, and the equations
// of the central path, both products equal to a positive number, are smooth. Newton's method with the scaling of
// Nesterov and Todd follows it. Each contact is scaled so that its cone is |z_t| <= z_n and the mean of its diagonal
// entries is 1. It needs no sweeps, and no isolated solution: redundant contacts get forces inside of their cones.
//
// The problem is not monotone. The products do not fall below a part of what the equations miss, and a multiple of the
// identity bounds the steps among forces that do not change any velocity. It grows a hundredfold with every short step:
// with masses in the ratio 1e4 some forces between heavy bodies are all but undetermined, and Newton's step along them
// leaves the cones at once.
#include "densegs/friction_system.hpp"
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
  static constexpr double far   = 10;   // in the cones is where x and y start, for q of the size 1
  static constexpr double close = 0.99; // of the way to the boundary
  static constexpr double little = 1e-8, much = 1e-2; // the ridge's range
  static constexpr double brief  = 0.1;               // a step of less is short
  static constexpr double noise = 1e-8; // of what the equations miss so much may be rounding

  const Problem       &p;
  const int            d;
  const size_t         n, contacts;
  Vector               D, x, y, w, force, dx, dy, right, product, moved, zero, blocks;
  Vector               normal, dnormal; // velocities, scaled
  double               size = 0;        // of D q
  double               ridge    = little; // times the identity, added to the system
  std::vector<Scaling> P;
  Problem              linear;          // products without q
  std::unique_ptr<FrictionSystem> system;

  Interior(const Problem &problem) :
    p(problem), d(p.block), n((size_t)p.n), contacts(n / (size_t)d), D(n, 1), x(n), w(n), force(n), dx(n), dy(n),
    right(n), product(n), moved(n), zero(n), blocks(n * (size_t)d), normal(contacts, far), dnormal(contacts), linear(p)
  {
    linear.q = zero.data();
    for (size_t c = 0; c < contacts; ++c) {
      const size_t i = c * (size_t)d;
      double       sum = 0;
      for (int k = 1; k < d; ++k) D[i + (size_t)k] = p.mu[c] > 0; // without friction the tangential forces are zero
      D[i] = p.mu[c] > 0 ? 1 / p.mu[c] : 1;
      for (int k = 0; k < d; ++k)
        sum += p.matrix->diagonal[i + (size_t)k] * D[i + (size_t)k] * D[i + (size_t)k] / (p.mu[c] > 0 ? d : 1);
      for (int k = 0; k < d; ++k) {
        D[i + (size_t)k] /= std::sqrt(sum);
        size += std::pow(p.q[i + (size_t)k] * D[i + (size_t)k], 2) / (double)contacts;
      }
      x[i] = far;
    }
    y    = x;
    size = std::sqrt(size);
    system.reset(new FrictionSystem(*p.matrix, d, D));
  }
  // The forces, and w of them; returns the natural residual.
  double measure()
  {
    for (size_t i = 0; i < n; ++i) force[i] = x[i] * size * D[i];
    multiply(p, force.data(), w.data());
    return natural(p, force.data(), w.data());
  }
  // What y and the normal velocity miss of W x + q, scaled
  double missing(size_t c, int k) const
  {
    const size_t i = c * (size_t)d + (size_t)k;
    return (k ? y[i] : normal[c]) - w[i] * D[i] / size;
  }
  double missing() const
  {
    double largest = 0;
    for (size_t c = 0; c < contacts; ++c)
      for (int k = 0; k < d; ++k) largest = std::max(largest, std::fabs(missing(c, k)));
    return largest;
  }
  // A, with the tangential rows of P P, w_n / x_n and the ridge
  bool factorise()
  {
    P.clear();
    for (size_t c = 0; c < contacts; ++c) {
      P.emplace_back(Part(x, c, d), Part(y, c, d));
      for (int k = 0; k < d; ++k) {
        Part column;
        column.v[k] = 1;
        column      = P[c].apply(P[c].apply(column));
        column.v[0] = k ? 0 : normal[c] / x[c * (size_t)d];
        column.v[k] += ridge;
        column.to(blocks, c * (size_t)d + (size_t)k, d);
      }
    }
    return system->factorise(blocks);
  }
  // dx := the solution of the system with the right-hand side `right`, with one step of refinement
  void solve()
  {
    dx = right;
    system->solve(dx);
    for (size_t i = 0; i < n; ++i) moved[i] = D[i] * dx[i];
    multiply(linear, moved.data(), product.data());
    for (size_t i = 0; i < n; ++i) right[i] -= D[i] * product[i];
    for (size_t c = 0; c < contacts; ++c)
      for (size_t j = c * (size_t)d; j < (c + 1) * (size_t)d; ++j)
        for (size_t k = 0; k < (size_t)d; ++k) right[c * (size_t)d + k] -= blocks[j * (size_t)d + k] * dx[j];
    system->solve(right);
    for (size_t i = 0; i < n; ++i) dx[i] += right[i];
  }
  // The step to products of the size `centre`, with the second-order terms of the step before
  void direction(double centre, bool corrected)
  {
    std::vector<Part> target(contacts);
    Vector            gap(contacts);
    for (size_t c = 0; c < contacts; ++c) {
      const size_t i      = c * (size_t)d;
      const Part   lambda = P[c].apply(Part(x, c, d));
      Part         f      = Part().plus(-1, lambda.times(lambda));
      f.v[0] += centre;
      gap[c] = centre - x[i] * normal[c];
      if (corrected) {
        f = f.plus(-1, P[c].apply(Part(dx, c, d)).times(P[c].apply(Part(dy, c, d), true)));
        gap[c] -= dx[i] * dnormal[c];
      }
      target[c] = lambda.divide(f);
      Part z    = P[c].apply(target[c]);
      z.v[0]    = gap[c] / x[i];
      for (int k = 0; k < d; ++k) right[i + (size_t)k] = z.v[k] + missing(c, k);
    }
    solve();
    for (size_t c = 0; c < contacts; ++c) {
      const size_t i = c * (size_t)d;
      P[c].apply(target[c].plus(-1, P[c].apply(Part(dx, c, d)))).to(dy, c, d);
      dnormal[c] = (gap[c] - normal[c] * dx[i]) / x[i];
    }
  }
  double room() const
  {
    double a = HUGE_VAL;
    for (size_t c = 0; c < contacts; ++c) {
      a = std::min({a, Part(x, c, d).room(Part(dx, c, d)), Part(y, c, d).room(Part(dy, c, d))});
      if (dnormal[c] < 0) a = std::min(a, -normal[c] / dnormal[c]);
    }
    return std::min(1., close * a);
  }
  double centre(double a) const // the mean of the products after the step
  {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += (x[i] + a * dx[i]) * (y[i] + a * dy[i]);
    for (size_t c = 0; c < contacts; ++c)
      sum += (x[c * (size_t)d] + a * dx[c * (size_t)d]) * (normal[c] + a * dnormal[c]);
    return sum / (2. * (double)contacts);
  }
  // Mehrotra's predictor and corrector; where that goes not far, straight, if that goes farther.
  double advance(double mu)
  {
    constexpr double behind = 0.1; // the products stay above this part of what is missing
    direction(0, false);
    const double after = std::min(1., std::max(1e-6, centre(room()) / mu)),
                 sigma = std::max(after * after * after, std::min(1., behind * std::max(missing() - noise, 0.) / mu));
    direction(sigma * mu, true);
    const double first = room();
    if (first >= brief) return first;
    const Vector kept[] = {dx, dy, dnormal};
    direction(std::max(sigma, 0.5) * mu, false);
    const double second = room();
    if (second > first) return second;
    dx = kept[0], dy = kept[1], dnormal = kept[2];
    return first;
  }
  // false: no direction
  bool step()
  {
    if (!factorise()) return false;
    std::fill(dx.begin(), dx.end(), 0);
    dy = dx;
    std::fill(dnormal.begin(), dnormal.end(), 0);
    const double mu = centre(0), a = advance(mu);
    for (size_t i = 0; i < n; ++i) x[i] += a * dx[i], y[i] += a * dy[i];
    for (size_t c = 0; c < contacts; ++c) normal[c] += a * dnormal[c];
    const bool at_limit = ridge >= much;
    ridge = a < brief ? std::min(100 * ridge, much) : std::max(0.1 * ridge, little);
    return a > 1e-10 || !at_limit;
  }
};

} // namespace

Reason friction_interior(const Problem &p, int max_factors, double *answer, double *least, Report &report,
                         const Monitor &monitor)
{
  Interior     i(p);
  StallCounter stalls;
  if (!i.system->affordable() || !(i.size > 0)) return Reason::iterating;
  (void)i.measure();
  for (; report.factors < max_factors; ++report.steps) {
    ++report.factors;
    if (!i.step()) break;
    const double r = i.measure();
    if (!std::isfinite(r)) break;
    if (r < *least) {
      *least = r;
      std::copy(i.force.begin(), i.force.end(), answer);
    }
    if (monitor(report, *least, answer)) return Reason::stopped;
    if (stalls(r) >= 20) break;
  }
  return Reason::iterating;
}

} // namespace tessera::lcp
