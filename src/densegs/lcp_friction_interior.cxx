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
// It starts from forces as large as those that would stop all motion, were it not for the cones: with masses in the
// ratio 1e4 they are 1e6 times as large as q, and a path from small ones is long and ends in corners of the cones.
// Close to the answer, where the path is lost in rounding, Newton's method for the natural map ends: contacts that
// separate, stick or slide are known by then. A path may turn back far from any answer: then others begin at points
// scattered around, of larger and smaller forces.
//
// The problem is not monotone. The products do not fall below a part of what the equations miss, and a multiple of the
// identity, the ridge, bounds the steps among forces that hardly change any velocity.
#include "densegs/friction_system.hpp"
#include "exec/random.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::lcp {

namespace {

// Where a contact slides, its force and velocity end so close to the boundaries of their cones that doubles cannot tell
// the distance of a force of 1e6. Hence what concerns one contact is computed in longer numbers; products with W and
// factorisations are not.
using Real   = long double;
using Vector = std::vector<Real>;

// A contact's part of a vector, and of what Jordan's product makes of it; the third component of two dimensions is 0.
struct Part {
  Real v[3] = {0, 0, 0};

  Part() = default;
  Part(const Vector &of, size_t c, int d)
  {
    for (int k = 0; k < d; ++k) v[k] = of[c * (size_t)d + (size_t)k];
  }
  void to(Vector &of, size_t c, int d) const
  {
    for (int k = 0; k < d; ++k) of[c * (size_t)d + (size_t)k] = v[k];
  }
  Real dot(const Part &o) const { return v[0] * o.v[0] + v[1] * o.v[1] + v[2] * o.v[2]; }
  Real minor(const Part &o) const { return v[0] * o.v[0] - v[1] * o.v[1] - v[2] * o.v[2]; }
  Real det() const
  {
    const Real t = std::hypot(v[1], v[2]);
    return std::max((v[0] - t) * (v[0] + t), 1e-22L * v[0] * v[0] + 1e-300L); // the difference may be all rounding
  }
  Part plus(Real a, const Part &o) const
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
  Real room(const Part &s) const
  {
    const Real a = s.minor(s), b = minor(s), c = det(), root = std::sqrt(std::max(b * b - a * c, Real(0)));
    Real       longest = s.v[0] < 0 ? -v[0] / s.v[0] : HUGE_VALL;
    for (Real t : {c / (-b + root), c / (-b - root)})
      if (t > 0) longest = std::min(longest, t);
    return longest;
  }
};

// P with P x = P^-1 y: P = size (w, w_t'; w_t, I + w_t w_t' / (1 + w)).
struct Scaling {
  Real size = 1;
  Part   w;

  Scaling(const Part &x, const Part &y)
  {
    const Real dx = std::sqrt(x.det()), dy = std::sqrt(y.det()), half = std::sqrt((1 + x.dot(y) / (dx * dy)) / 2);
    size = std::sqrt(dy / dx);
    for (int k = 0; k < 3; ++k) w.v[k] = (y.v[k] / dy + (k ? -1 : 1) * x.v[k] / dx) / (2 * half);
  }
  Part apply(const Part &z, bool inverse = false) const
  {
    const Real sign = inverse ? -1 : 1, s = inverse ? 1 / size : size, t = w.v[1] * z.v[1] + w.v[2] * z.v[2];
    Part         out;
    out.v[0] = s * (w.v[0] * z.v[0] + sign * t);
    for (int k = 1; k < 3; ++k) out.v[k] = s * (sign * w.v[k] * z.v[0] + z.v[k] + w.v[k] * t / (1 + w.v[0]));
    return out;
  }
};

constexpr double brief = 0.1;  // a step of less is short
constexpr double noise = 1e-8; // of what the equations miss so much may be rounding

// The multiple of the identity that is added to the system. What it adds to the equations they miss after the step: it
// must be small beside forces of 1e6 where it keeps equations from being met, and where they are met, but for rounding,
// large enough that their rounding does not move forces which no equation determines.
struct Ridge {
  double value = 1e-10, least = 1e-10;
  double before = HUGE_VAL, went = 1; // what the equations missed before the last step, and its length

  // missed: now
  void begin(double missed)
  {
    if (went >= brief && missed > noise && missed > (1 - 0.5 * went) * before && value <= 10.01 * least)
      value = least = std::max(1e-12, 0.1 * least);
    if (went < brief && missed <= noise) least = std::min(1e-8, 10 * least);
    value  = std::max(value, least);
    before = missed;
  }
  bool end(double step)
  {
    constexpr double greatest = 1e-2;
    const bool       at_limit = value >= greatest;
    went  = step;
    value = step < brief ? std::min(100 * value, greatest) : std::max(0.1 * value, least);
    return step > 1e-10 || !at_limit;
  }
};

struct Interior {
  static constexpr double far   = 10;   // in the cones is where x and y start as a rule, for q of the size 1
  static constexpr double close = 0.99; // of the way to the boundary
  static constexpr int    paths = 4;

  const Problem       &p;
  const int            d;
  const size_t         n, contacts;
  std::vector<double>  D, w, force, product, moved, zero, rounded;
  Vector               x, y, dx, dy, right, blocks;
  Vector               normal, dnormal; // velocities, scaled
  double               size = 0;        // of D q
  double               demand   = 1;      // of what the equations miss so much is asked of a step
  Ridge                ridge;
  std::vector<Scaling> P;
  Problem              linear;          // products without q
  std::unique_ptr<FrictionSystem> system;

  Interior(const Problem &problem) :
    p(problem), d(p.block), n((size_t)p.n), contacts(n / (size_t)d), D(n, 1), w(n), force(n), product(n),
    moved(n), zero(n), rounded(n * (size_t)d), x(n), y(n), dx(n), dy(n), right(n), blocks(n * (size_t)d),
    normal(contacts), dnormal(contacts), linear(p)
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
    }
    size = std::sqrt(size);
    system.reset(new FrictionSystem(*p.matrix, d, D));
  }
  // The size of the forces that would stop all motion; 0: no factorisation
  double reach()
  {
    constexpr double shift = 1e-12; // redundant contacts
    constexpr double too_far = 1e8; // where no force stops what q asks for
    for (size_t i = 0; i < n; ++i) {
      for (size_t k = 0; k < (size_t)d; ++k) rounded[i * (size_t)d + k] = k == i % (size_t)d ? shift : 0;
      moved[i] = p.q[i] * D[i] / size;
    }
    if (!system->factorise(rounded)) return 0;
    system->solve(moved);
    double sum = 0;
    for (double v : moved) sum += v * v;
    const double length = std::sqrt(sum / (double)contacts);
    return length < too_far ? std::max(far, length) : far;
  }
  // The start of a path at forces of this size; the first one is the same for all contacts.
  void begin(int path, double reached)
  {
    constexpr double sizes[paths] = {1, 100, 0.1, 1}, spread = 0.5; // of forces; in powers of ten
    for (size_t c = 0; c < contacts; ++c) {
      const uint64_t key   = (2 * c * (uint64_t)paths + 2 * (uint64_t)path + 1) * golden_ratio;
      const size_t   i     = c * (size_t)d;
      const auto     apart = [&](uint64_t k) {
        return path ? std::pow(10, spread * scattered(key + k * golden_ratio)) : 1;
      };
      for (size_t k = 0; k < (size_t)d; ++k) x[i + k] = y[i + k] = 0;
      x[i] = sizes[path] * reached * apart(0);
      y[i] = normal[c] = far * apart(1);
    }
    ridge = Ridge();
  }
  // The forces, and w of them; returns the natural residual.
  double measure()
  {
    for (size_t i = 0; i < n; ++i) force[i] = (double)x[i] * size * D[i];
    multiply(p, force.data(), w.data());
    return natural(p, force.data(), w.data());
  }
  // What y and the normal velocity miss of W x + q, scaled
  Real missing(size_t c, int k) const
  {
    const size_t i = c * (size_t)d + (size_t)k;
    return (k ? y[i] : normal[c]) - Real(w[i]) * D[i] / size;
  }
  double missing() const
  {
    double largest = 0;
    for (size_t c = 0; c < contacts; ++c)
      for (int k = 0; k < d; ++k) largest = std::max(largest, (double)std::fabs(missing(c, k)));
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
        column.v[k] += ridge.value;
        column.to(blocks, c * (size_t)d + (size_t)k, d);
      }
    }
    return factorise_blocks();
  }
  bool factorise_blocks()
  {
    std::copy(blocks.begin(), blocks.end(), rounded.begin());
    return system->factorise(rounded);
  }
  // b := the system's solution of it
  void solve(Vector &b)
  {
    std::copy(b.begin(), b.end(), moved.begin());
    system->solve(moved);
    std::copy(moved.begin(), moved.end(), b.begin());
  }
  // dx := the solution of the system with the right-hand side `right`, with one step of refinement
  void solve()
  {
    dx = right;
    solve(dx);
    for (size_t i = 0; i < n; ++i) moved[i] = D[i] * (double)dx[i];
    multiply(linear, moved.data(), product.data());
    for (size_t i = 0; i < n; ++i) right[i] -= Real(D[i]) * product[i];
    for (size_t c = 0; c < contacts; ++c)
      for (size_t j = c * (size_t)d; j < (c + 1) * (size_t)d; ++j)
        for (size_t l = 0; l < (size_t)d; ++l) right[c * (size_t)d + l] -= blocks[j * (size_t)d + l] * dx[j];
    solve(right);
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
      for (int k = 0; k < d; ++k) right[i + (size_t)k] = z.v[k] + demand * missing(c, k);
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
    Real a = HUGE_VALL;
    for (size_t c = 0; c < contacts; ++c) {
      a = std::min({a, Part(x, c, d).room(Part(dx, c, d)), Part(y, c, d).room(Part(dy, c, d))});
      if (dnormal[c] < 0) a = std::min(a, -normal[c] / dnormal[c]);
    }
    return (double)std::min(Real(1), close * a);
  }
  double centre(double a) const // the mean of the products after the step
  {
    Real sum = 0;
    for (size_t i = 0; i < n; ++i) sum += (x[i] + a * dx[i]) * (y[i] + a * dy[i]);
    for (size_t c = 0; c < contacts; ++c)
      sum += (x[c * (size_t)d] + a * dx[c * (size_t)d]) * (normal[c] + a * dnormal[c]);
    return (double)(sum / (2 * (Real)contacts));
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
    const double missed = missing();
    ridge.begin(missed);
    demand = missed > 0.1 * noise;
    if (!factorise()) return false;
    std::fill(dx.begin(), dx.end(), 0);
    dy = dx;
    std::fill(dnormal.begin(), dnormal.end(), 0);
    const double mu = centre(0), a = advance(mu);
    for (size_t i = 0; i < n; ++i) x[i] += a * dx[i], y[i] += a * dy[i];
    for (size_t c = 0; c < contacts; ++c) normal[c] += a * dnormal[c];
    return ridge.end(a);
  }
  // A contact's part of the system of Newton's method for the natural map, x := P(x - w), and of its right-hand side
  void linearise(size_t c)
  {
    constexpr Real firm = 1e6, loose = 1e-7; // an equation of x alone; what bounds forces that hardly change velocities
    const size_t   i = c * (size_t)d;
    const Part     at(x, c, d);
    Part           v, z, u, f, columns[3];
    for (int k = 0; k < d; ++k) v.v[k] = Real(w[i + (size_t)k]) * D[i + (size_t)k] / size;
    z = at.plus(-1, v);
    z.v[0] -= std::hypot(v.v[1], v.v[2]);
    const Real t = std::hypot(z.v[1], z.v[2]);
    const bool apart = t <= -z.v[0], slides = !apart && t > z.v[0] && at.v[0] > 0;
    for (int k = 1; k < 3 && slides; ++k) u.v[k] = z.v[k] / t;
    f = apart ? Part().plus(-firm, at) : Part().plus(-1, v);
    for (int k = 0; k < d; ++k) columns[k].v[k] = apart ? firm : loose;
    if (slides) { // x_t = x_n u, where u turns with z_t
      const Real along = u.dot(at), turn = t / at.v[0];
      for (int k = 1; k < d; ++k) {
        f.v[k] = -turn * (at.v[k] - along * u.v[k]) - firm * (along - at.v[0]) * u.v[k];
        columns[0].v[k] = -firm * u.v[k];
        for (int l = 1; l < d; ++l)
          columns[l].v[k] += (turn - 1) * ((k == l) - u.v[k] * u.v[l]) + firm * u.v[k] * u.v[l];
      }
    }
    for (int k = 0; k < d; ++k) columns[k].to(blocks, i + (size_t)k, d);
    f.to(right, c, d);
  }
  // A step of it from x, which may leave the inside of the cones; returns the natural residual, or HUGE_VAL.
  double newton()
  {
    for (size_t c = 0; c < contacts; ++c) linearise(c);
    if (!factorise_blocks()) return HUGE_VAL;
    solve();
    for (size_t c = 0; c < contacts; ++c) {
      Part       z = Part(x, c, d).plus(1, Part(dx, c, d));
      const Real t = std::hypot(z.v[1], z.v[2]), a = (z.v[0] + t) / 2;
      if (t <= -z.v[0]) z = Part();
      else if (t > z.v[0])
        for (int k = 0; k < 3; ++k) z.v[k] = k ? z.v[k] * a / t : a;
      z.to(x, c, d);
    }
    return measure();
  }
};

struct Path {
  Interior      &i;
  double         length;  // of q
  double        *answer, *least;
  Report        &report;
  const Monitor &monitor;

  // true: the solve has ended
  bool found(double r) const
  {
    if (r < *least) {
      *least = r;
      std::copy(i.force.begin(), i.force.end(), answer);
    }
    return monitor(report, *least, answer);
  }
  // To its end, with so many factorisations at most; true: so has the solve.
  bool follow(int max_factors) const
  {
    constexpr double near = 1e-4, halved = 0.5, little = 0.1; // near: where Newton's method is tried, of |q|
    StallCounter     stalls;
    double           tried = HUGE_VAL, before = HUGE_VAL; // residuals
    (void)i.measure();
    for (; report.factors < max_factors; ++report.steps) {
      ++report.factors;
      if (!i.step()) return false;
      const double r = i.measure();
      if (!std::isfinite(r)) return false;
      if (found(r)) return true;
      if (r < near * length && r > little * before && r < little * tried) {
        const Vector kept = i.x;
        tried             = r;
        for (double last = r, now; report.factors < max_factors; last = now) {
          ++report.factors;
          ++report.steps;
          now = i.newton();
          if (std::isfinite(now) && found(now)) return true;
          if (!(now < halved * last)) break;
        }
        i.x = kept;
        (void)i.measure();
      }
      before = r;
      if (stalls(r) >= 20) return false;
    }
    return false;
  }
};

} // namespace

Reason friction_interior(const Problem &p, int max_factors, double *answer, double *least, Report &report,
                         const Monitor &monitor)
{
  constexpr int    of_path = 80;   // factorisations
  constexpr double lost    = 1e-6; // of |q|: a path that came closer has shown the way, and sweeps go on from there
  Interior         i(p);
  double           length = 0;
  if (!i.system->affordable() || !(i.size > 0)) return Reason::iterating;
  for (size_t k = 0; k < i.n; ++k) length += p.q[k] * p.q[k];
  ++report.factors;
  const double reached = i.reach();
  if (!(reached > 0)) return Reason::iterating;
  const Path path{i, std::sqrt(length), answer, least, report, monitor};
  for (int k = 0; k < Interior::paths && !(k && *least < lost * path.length); ++k) {
    i.begin(k, reached);
    if (path.follow(std::min(max_factors, report.factors + of_path))) return Reason::stopped;
  }
  return Reason::iterating;
}

} // namespace tessera::lcp
