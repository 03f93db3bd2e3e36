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
// separate, stick or slide are known by then.
//
// A path may turn back far from any answer, where its steps become short. Then another one begins where the path of the
// associated law leads to, under which sliding contacts separate, too: y = w, x o y = 0 is a convex problem, whose path
// does not turn back. Where bodies hardly slide the two answers are close to each other. If Coulomb's path from there
// turns back, too, the first path goes on, and others begin at points scattered around, of larger and smaller forces.
//
// Coulomb's problem is not monotone. The products do not fall below a part of what the equations miss, and a multiple
// of the identity, the ridge, bounds the steps among forces that hardly change any velocity.
#include "densegs/friction_cone.hpp"
#include "densegs/friction_system.hpp"
#include "exec/random.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::lcp {

namespace {

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

// Forces, vectors of the dual cones and normal velocities, scaled; or a step of them.
struct Iterate {
  Vector x, y, normal;

  Iterate(size_t n, size_t contacts) : x(n), y(n), normal(contacts) { }
};

struct Interior {
  static constexpr double far   = 10;   // in the cones is where x and y start as a rule, for q of the size 1
  static constexpr double close = 0.99; // of the way to the boundary
  static constexpr int    paths = 4;

  const Problem       &p;
  const int            d;
  const size_t         n, contacts;
  std::vector<double>  D, w, force, product, moved, zero, rounded;
  Iterate              point, change; // of the path, and the step from it
  Vector               right, blocks;
  bool                 associated = false; // the associated law, for which y is all of w
  double               size = 0;        // of D q
  double               demand   = 1;      // of what the equations miss so much is asked of a step
  Ridge                ridge;
  std::vector<Scaling> P;
  Problem              linear;          // products without q
  std::unique_ptr<FrictionSystem> system;

  Interior(const Problem &problem) :
    p(problem), d(p.block), n((size_t)p.n), contacts(n / (size_t)d), D(n, 1), w(n), force(n), product(n),
    moved(n), zero(n), rounded(n * (size_t)d), point(n, contacts), change(n, contacts), right(n), blocks(n * (size_t)d),
    linear(p)
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
    point = Iterate(n, contacts);
    for (size_t c = 0; c < contacts; ++c) {
      const uint64_t key   = (2 * c * (uint64_t)paths + 2 * (uint64_t)path + 1) * golden_ratio;
      const size_t   i     = c * (size_t)d;
      const auto     apart = [&](uint64_t k) {
        return path ? std::pow(10, spread * scattered(key + k * golden_ratio)) : 1;
      };
      point.x[i] = sizes[path] * reached * apart(0);
      point.y[i] = point.normal[c] = far * apart(1);
    }
    ridge = Ridge();
  }
  // The forces, and w of them; returns the natural residual.
  double measure()
  {
    for (size_t i = 0; i < n; ++i) force[i] = (double)point.x[i] * size * D[i];
    multiply(p, force.data(), w.data());
    return natural(p, force.data(), w.data());
  }
  // What y and the normal velocity miss of W x + q, scaled
  Real missing(size_t c, int k) const
  {
    const size_t i = c * (size_t)d + (size_t)k;
    return (k || associated ? point.y[i] : point.normal[c]) - Real(w[i]) * D[i] / size;
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
      P.emplace_back(Part(point.x, c, d), Part(point.y, c, d));
      for (int k = 0; k < d; ++k) {
        Part column;
        column.v[k] = 1;
        column      = P[c].apply(P[c].apply(column));
        if (!associated) column.v[0] = k ? 0 : point.normal[c] / point.x[c * (size_t)d];
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
  // change.x := the solution of the system with the right-hand side `right`, with one step of refinement
  void solve()
  {
    change.x = right;
    solve(change.x);
    for (size_t i = 0; i < n; ++i) moved[i] = D[i] * (double)change.x[i];
    multiply(linear, moved.data(), product.data());
    for (size_t i = 0; i < n; ++i) right[i] -= Real(D[i]) * product[i];
    for (size_t c = 0; c < contacts; ++c)
      for (size_t j = c * (size_t)d; j < (c + 1) * (size_t)d; ++j)
        for (size_t l = 0; l < (size_t)d; ++l) right[c * (size_t)d + l] -= blocks[j * (size_t)d + l] * change.x[j];
    solve(right);
    for (size_t i = 0; i < n; ++i) change.x[i] += right[i];
  }
  // The step that changes scaled products by f, x_n w_n by gap, and takes away the part `asked` of what equations miss
  void find(const std::vector<Part> &f, const Vector &gap, double asked)
  {
    std::vector<Part> target(contacts);
    for (size_t c = 0; c < contacts; ++c) {
      const size_t i = c * (size_t)d;
      target[c] = P[c].apply(Part(point.x, c, d)).divide(f[c]);
      Part z    = P[c].apply(target[c]);
      if (!associated) z.v[0] = gap[c] / point.x[i];
      for (int k = 0; k < d; ++k) right[i + (size_t)k] = z.v[k] + asked * missing(c, k);
    }
    solve();
    for (size_t c = 0; c < contacts; ++c) {
      const size_t i = c * (size_t)d;
      P[c].apply(target[c].plus(-1, P[c].apply(Part(change.x, c, d)))).to(change.y, c, d);
      if (associated) change.normal[c] = change.y[i];
      else change.normal[c] = (gap[c] - point.normal[c] * change.x[i]) / point.x[i];
    }
  }
  // The step to products of the size `centre`, with the second-order terms of the step before
  void direction(double centre, bool corrected)
  {
    std::vector<Part> f(contacts);
    Vector            gap(contacts);
    for (size_t c = 0; c < contacts; ++c) {
      const size_t i      = c * (size_t)d;
      const Part   lambda = P[c].apply(Part(point.x, c, d));
      f[c]   = Part().plus(-1, lambda.times(lambda));
      gap[c] = centre - point.x[i] * point.normal[c];
      f[c].v[0] += centre;
      if (!corrected) continue;
      f[c] = f[c].plus(-1, P[c].apply(Part(change.x, c, d)).times(P[c].apply(Part(change.y, c, d), true)));
      gap[c] -= change.x[i] * change.normal[c];
    }
    find(f, gap, demand);
  }
  // change := of the step to products that are of the size `centre`, but for a factor of ten, behind the step a
  void correct(double a, double centre)
  {
    const Real        least = 0.1 * centre, most = 10 * centre;
    std::vector<Part> f(contacts);
    Vector            gap(contacts);
    const auto        back = [&](Real v) { return std::max(std::min(std::max(v, least), most) - v, -most); };
    for (size_t c = 0; c < contacts; ++c) {
      const size_t i       = c * (size_t)d;
      const Part   lambda  = P[c].apply(Part(point.x, c, d)),
                   x       = lambda.plus(a, P[c].apply(Part(change.x, c, d))),
                   product = x.times(lambda.plus(a, P[c].apply(Part(change.y, c, d), true)));
      const Real   t = std::hypot(product.v[1], product.v[2]), high = back(product.v[0] + t),
                 low = back(product.v[0] - t); // of its eigenvalues
      f[c].v[0] = (high + low) / 2;
      for (int k = 1; k < 3 && t > 0; ++k) f[c].v[k] = (high - low) / 2 * product.v[k] / t;
      gap[c] = back((point.x[i] + a * change.x[i]) * (point.normal[c] + a * change.normal[c]));
    }
    find(f, gap, 0);
  }
  double room() const
  {
    Real a = HUGE_VALL;
    for (size_t c = 0; c < contacts; ++c) {
      a = std::min({a, Part(point.x, c, d).room(Part(change.x, c, d)), Part(point.y, c, d).room(Part(change.y, c, d))});
      if (change.normal[c] < 0) a = std::min(a, -point.normal[c] / change.normal[c]);
    }
    return (double)std::min(Real(1), close * a);
  }
  double centre(double a) const // the mean of the products after the step
  {
    Real sum = 0;
    for (size_t i = 0; i < n; ++i) sum += (point.x[i] + a * change.x[i]) * (point.y[i] + a * change.y[i]);
    if (associated) return (double)(sum / (Real)contacts);
    for (size_t c = 0; c < contacts; ++c)
      sum += (point.x[c * (size_t)d] + a * change.x[c * (size_t)d]) * (point.normal[c] + a * change.normal[c]);
    return (double)(sum / (2 * (Real)contacts));
  }
  // change := a + weight b
  void combine(const Iterate &a, double weight, const Iterate &b)
  {
    for (size_t i = 0; i < n; ++i) change.x[i] = a.x[i] + weight * b.x[i], change.y[i] = a.y[i] + weight * b.y[i];
    for (size_t c = 0; c < contacts; ++c) change.normal[c] = a.normal[c] + weight * b.normal[c];
  }
  // Gondzio's correctors (Comput. Optim. Appl. 6, 1996): a step longer than `step` is tried, and products that leave
  // the middle on it are sent back, by the factorisation that there is. Returns the new length.
  double lengthen(double step, double centre)
  {
    constexpr double enough = 0.9, farther = 0.3, gain = 0.01;
    for (int k = 0; k < 2 && step < enough; ++k) {
      const Iterate kept = change;
      const double  to   = std::min(1., step + farther);
      double        best = 0, weight = 0;
      correct(to, centre);
      const Iterate correction = change;
      for (double w : {1., 0.8, 0.6, 0.45, 0.3, 0.2, 0.1}) { // a smaller one must be worth it
        if (weight == 1 && best >= to) break;
        combine(kept, w, correction);
        if (const double now = room(); now > 1.02 * best) best = now, weight = w;
      }
      change = kept;
      if (best < step + gain) break;
      combine(kept, weight, correction);
      step = best;
    }
    return step;
  }
  // Mehrotra's predictor and corrector; where that goes not far, straight, if that goes farther.
  double advance(double mu)
  {
    constexpr double behind = 0.1; // the products stay above this part of what is missing
    direction(0, false);
    const double after = std::min(1., std::max(1e-6, centre(room()) / mu)),
                 sigma = std::max(after * after * after, std::min(1., behind * std::max(missing() - noise, 0.) / mu));
    direction(sigma * mu, true);
    double length = room();
    if (length < brief) {
      const Iterate kept = change;
      direction(std::max(sigma, 0.5) * mu, false);
      if (room() <= length) change = kept;
      length = std::max(length, room());
    }
    return lengthen(length, sigma * mu);
  }
  // false: no direction
  bool step()
  {
    const double missed = missing();
    ridge.begin(missed);
    demand = missed > 0.1 * noise;
    if (!factorise()) return false;
    change = Iterate(n, contacts);
    const double mu = centre(0), a = advance(mu);
    for (size_t i = 0; i < n; ++i) point.x[i] += a * change.x[i], point.y[i] += a * change.y[i];
    for (size_t c = 0; c < contacts; ++c) point.normal[c] += a * change.normal[c];
    return ridge.end(a);
  }
  // A contact's part of the system of Newton's method for the natural map, x := P(x - w), and of its right-hand side
  void linearise(size_t c)
  {
    constexpr Real firm = 1e6, loose = 1e-7; // an equation of x alone; what bounds forces that hardly change velocities
    const size_t   i = c * (size_t)d;
    const Part     at(point.x, c, d);
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
      Part       z = Part(point.x, c, d).plus(1, Part(change.x, c, d));
      const Real t = std::hypot(z.v[1], z.v[2]), a = (z.v[0] + t) / 2;
      if (t <= -z.v[0]) z = Part();
      else if (t > z.v[0])
        for (int k = 0; k < 3; ++k) z.v[k] = k ? z.v[k] * a / t : a;
      z.to(point.x, c, d);
    }
    return measure();
  }
};

// How a path ends: with the solve, after some short steps, where it may be resumed, or nowhere
enum class End { solve, slow, astray };

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
  // The path of the associated law until its products are small or steps are short, where Coulomb's begins: End::slow
  End approach(int max_factors) const
  {
    constexpr double products = 0.1;
    End              end = End::slow;
    i.associated = true;
    (void)i.measure();
    for (int short_steps_left = 2; end == End::slow && short_steps_left && report.factors < max_factors;
         short_steps_left -= i.ridge.went < brief) {
      if (!(i.centre(0) > products)) break;
      ++report.factors;
      ++report.steps;
      const double r = i.step() ? i.measure() : HUGE_VAL;
      if (!std::isfinite(r)) end = End::astray;
      else if (found(r)) end = End::solve;
    }
    i.associated = false;
    i.ridge      = Ridge();
    return end;
  }
  // To its end, with so many factorisations at most. Not patient: it ends at the third short step far from an answer.
  End follow(int max_factors, bool patient) const
  {
    constexpr double near = 1e-4, halved = 0.5, little = 0.1; // near: where Newton's method is tried, of |q|
    StallCounter     stalls;
    int              short_steps_left = 3; // paths with more are long where they lead to an answer
    double           tried = HUGE_VAL, before = HUGE_VAL; // residuals
    (void)i.measure();
    for (; report.factors < max_factors; ++report.steps) {
      ++report.factors;
      if (!i.step()) return End::astray;
      const double r = i.measure();
      if (!std::isfinite(r)) return End::astray;
      if (found(r)) return End::solve;
      if (r < near * length && r > little * before && r < little * tried) {
        const Vector kept = i.point.x;
        tried             = r;
        for (double last = r, now; report.factors < max_factors; last = now) {
          ++report.factors;
          ++report.steps;
          now = i.newton();
          if (std::isfinite(now) && found(now)) return End::solve;
          if (!(now < halved * last)) break;
        }
        i.point.x = kept;
        (void)i.measure();
      }
      before = r;
      if (stalls(r) >= 20) return End::astray;
      short_steps_left -= i.ridge.went < brief && r > near * length;
      if (!patient && short_steps_left <= 0) return End::slow;
    }
    return End::astray;
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
  const auto most = [&] { return std::min(max_factors, report.factors + of_path); };
  const auto near = [&] { return *least < lost * path.length; };
  i.begin(0, reached);
  const int     first     = most();
  const End     end       = path.follow(first, false);
  const Iterate set_aside = i.point;
  const Ridge   ridge     = i.ridge;
  const int     rest      = first - report.factors;
  if (end == End::solve) return Reason::stopped;
  if (!near()) {
    i.begin(0, reached);
    End guided = path.approach(most());
    if (guided == End::slow) guided = path.follow(most(), false);
    if (guided == End::solve) return Reason::stopped;
  }
  if (end == End::slow && !near()) {
    i.point = set_aside;
    i.ridge = ridge;
    if (path.follow(std::min(max_factors, report.factors + rest), true) == End::solve) return Reason::stopped;
  }
  for (int k = 1; k < Interior::paths && !near(); ++k) {
    i.begin(k, reached);
    if (path.follow(most(), true) == End::solve) return Reason::stopped;
  }
  return Reason::iterating;
}

} // namespace tessera::lcp
