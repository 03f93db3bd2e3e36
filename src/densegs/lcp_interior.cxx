// A primal-dual interior-point method with Mehrotra's predictor and corrector for positive semidefinite A, symmetric or
// not, with any diagonal: w = A x + q = y - z, (x - lower) y = (upper - x) z = mu -> 0, one factorisation of A +
// diag(y / (x - lower) + z / (upper - x)) a step. It starts far inside the bounds, not from what sweeps have found:
// points close to bounds make short steps. One length of steps for all: w depends on x.
#include "densegs/lcp.hpp"
#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::lcp {

namespace {

using Vector = std::vector<double>;

// x moves along dx, s and y of one kind of bounds with it: s >= 0 the distance from the bound, y >= 0 its multiplier.
struct Side {
  Vector s, y, dy, target; // target: of s y, beside what it is
  double sign;             // of s' by x

  Side(size_t n, double of) : s(n), y(n), dy(n), target(n), sign(of) { }
  bool has(size_t i) const { return y[i] > 0; }
  // s y := centre, with the second-order terms of the step before
  void aim(double centre, bool corrected, const Vector &dx)
  {
    for (size_t i = 0; i < s.size(); ++i)
      if (has(i)) target[i] = centre - s[i] * y[i] - (corrected ? sign * dx[i] * dy[i] : 0);
  }
  void derive(const Vector &dx)
  {
    for (size_t i = 0; i < s.size(); ++i)
      if (has(i)) dy[i] = (target[i] - sign * y[i] * dx[i]) / s[i];
  }
  // The longest step that keeps s and y positive
  double room(const Vector &dx) const
  {
    double a = HUGE_VAL;
    for (size_t i = 0; i < s.size(); ++i) {
      if (!has(i)) continue;
      if (sign * dx[i] < 0) a = std::min(a, -s[i] / (sign * dx[i]));
      if (dy[i] < 0) a = std::min(a, -y[i] / dy[i]);
    }
    return a;
  }
  double product(double a, const Vector &dx) const // s'y after the step
  {
    double sum = 0;
    for (size_t i = 0; i < s.size(); ++i)
      if (has(i)) sum += (s[i] + a * sign * dx[i]) * (y[i] + a * dy[i]);
    return sum;
  }
  void move(double a, const Vector &dx)
  {
    for (size_t i = 0; i < s.size(); ++i)
      if (has(i)) {
        s[i] += a * sign * dx[i];
        y[i] += a * dy[i];
      }
  }
};

struct Interior {
  const Problem   &p;
  const Matrix    &m;
  const size_t     n;
  std::vector<int> index; // of unknowns that are not fixed
  Vector           x, w, dx, zero, D, b;
  Side             low, high;
  int              sides = 0; // finite bounds
  double           longest = 0; // of what runs_away() was asked
  int              factors = 0; // factorisations of steps
  Factor           factor;
  Problem          linear; // products without q

  Interior(const Problem &problem) :
    p(problem), m(*p.matrix), n((size_t)p.n), x(n), w(n), dx(n), zero(n), D(n), low(n, 1), high(n, -1), linear(p)
  {
    double force = 0;
    linear.q = zero.data();
    project(p, x.data());
    multiply(p, x.data(), w.data());
    for (double v : w) force = std::max(force, std::fabs(v));
    if (!(force > 0)) force = 1;
    for (size_t i = 0; i < n; ++i)
      if (p.lower[i] < p.upper[i]) index.push_back((int)i);
    b.resize(index.size());
    const double length = std::max(m.largest > 0 ? force / m.largest : 1, reach());
    for (int k : index) {
      const size_t i = (size_t)k;
      const double l = p.lower[i], u = p.upper[i];
      const double margin = std::min(length, 0.5 * (u - l));
      x[i] = std::max(std::min(x[i], u - margin), l + margin);
      if (std::isfinite(l)) low.s[i] = x[i] - l, low.y[i] = force, ++sides;
      if (std::isfinite(u)) high.s[i] = u - x[i], high.y[i] = force, ++sides;
    }
  }
  // How far x would go without bounds, as the root of the mean square: where A is badly conditioned that is far, and
  // from nearby it takes many steps. 0: A says nothing about it.
  double reach()
  {
    const Vector shift(index.size(), 1e-6 * size_of_diagonal(m));
    double       sum = 0;
    if (!factor.make(m, shift, index, m.asymmetry < 1e-12)) return 0;
    for (size_t i = 0; i < b.size(); ++i) b[i] = w[(size_t)index[i]];
    factor.solve(b.data());
    for (double v : b) sum += v * v;
    return std::isfinite(sum) && !b.empty() ? std::sqrt(sum / (double)b.size()) : 0;
  }
  double missing() const // of w = y - z
  {
    double sum = 0;
    for (int k : index) {
      const size_t i = (size_t)k;
      sum += std::fabs(low.y[i] - high.y[i] - w[i]);
    }
    return sum;
  }
  // What A takes to almost nothing comes out of the direction v, where there is such a part: inverse iteration, with
  // the unknowns that run away alone.
  bool sharpen(Vector &v)
  {
    std::vector<int> far;
    double           largest = 0;
    for (int k : index) largest = std::max(largest, v[(size_t)k]);
    for (int k : index)
      if (v[(size_t)k] > 1e-6 * largest) far.push_back(k);
    if (far.empty() || !factor.make(m, Vector(far.size(), 1e-10 * size_of_diagonal(m)), far, m.asymmetry < 1e-12))
      return false;
    Vector y(far.size());
    for (size_t i = 0; i < far.size(); ++i) y[i] = v[(size_t)far[i]];
    for (int k = 0; k < 2; ++k) {
      double largest = 0;
      factor.solve(y.data());
      for (double e : y) largest = std::max(largest, std::fabs(e));
      for (double &e : y) e = largest > 0 ? e / largest : 0;
    }
    std::fill(v.begin(), v.end(), 0);
    for (size_t i = 0; i < far.size(); ++i) v[(size_t)far[i]] = y[i];
    return true;
  }
  // away: the way from `start`; returns its largest component.
  double way_from(const Vector &start, Vector &away) const
  {
    double length = 0;
    for (size_t k = 0; k < n; ++k) {
      away[k] = x[k] - start[k];
      length  = std::max(length, std::fabs(away[k]));
    }
    return length;
  }
  // Does it prove that there is no answer? Asked each time that it is ten times as long.
  bool runs_away(const Vector &start, Vector &away)
  {
    const double length = way_from(start, away);
    if (!(length > 10 * longest)) return false;
    longest = length;
    return infeasible(p, away.data());
  }
  double centre(double a) const { return sides ? (low.product(a, dx) + high.product(a, dx)) / sides : 0; }
  double room() const { return std::min(low.room(dx), high.room(dx)); }
  // ridge: added to the diagonal of the factor alone
  bool   factorise(double ridge)
  {
    Vector shift(index.size());
    std::fill(D.begin(), D.end(), 0);
    for (const Side *side : {&low, &high})
      for (size_t i = 0; i < n; ++i)
        if (side->has(i)) D[i] += side->y[i] / side->s[i];
    for (size_t i = 0; i < shift.size(); ++i) shift[i] = D[(size_t)index[i]] + ridge;
    ++factors;
    return factor.make(m, shift, index, m.asymmetry < 1e-12);
  }
  // The first direction of a step. Sparse factorisations do not pivot, and there may be zeros on the diagonal: a larger
  // ridge is left to the refinement.
  bool predict()
  {
    const double size = size_of_diagonal(m);
    for (double ridge = m.sparse ? 1e-12 * size : 0;; ridge *= 100) {
      const bool last = !(ridge > 0 && ridge < 1e-7 * size);
      if (factorise(ridge) && (direction(0, false) || last)) return true;
      if (last) return false;
    }
  }
  // The step to s y = centre, with steps of refinement: one, and as many as help where a factorisation has not pivoted.
  // w: of x. false: refinement does not help.
  bool direction(double centre, bool corrected)
  {
    Vector right(n), product(n);
    for (size_t i = 0; i < n; ++i) right[i] = low.y[i] - high.y[i] - w[i];
    for (Side *side : {&low, &high}) {
      side->aim(centre, corrected, dx);
      for (size_t i = 0; i < n; ++i)
        if (side->has(i)) right[i] += side->sign * side->target[i] / side->s[i];
    }
    std::fill(dx.begin(), dx.end(), 0);
    double before = HUGE_VAL;
    bool   helps = true;
    Vector kept(dx);
    for (int k = 0; k < (m.sparse ? 6 : 2); ++k) {
      double now = 0;
      if (k) multiply(linear, dx.data(), product.data());
      for (size_t i = 0; i < b.size(); ++i) {
        const size_t at = (size_t)index[i];
        b[i] = right[at] - product[at] - D[at] * dx[at];
        now += b[i] * b[i];
      }
      if (k == 1) helps = now < 0.01 * before;
      if (k && !(now < before)) { // nor does what was added last
        if (k > 1) dx = kept;
        break;
      }
      if (k > 1 && now > 0.01 * before) break;
      before = now;
      kept   = dx;
      factor.solve(b.data());
      for (size_t i = 0; i < b.size(); ++i) dx[(size_t)index[i]] += b[i];
    }
    low.derive(dx);
    high.derive(dx);
    return helps;
  }
  // false: no direction
  bool step()
  {
    constexpr double close = 0.995; // of the way to the next bound
    if (!predict()) return false;
    const double mu = centre(0);
    const double a = std::min(1., room()), after = std::max(centre(a), 0.);
    direction(mu > 0 ? mu * std::pow(std::min(after / mu, 1.), 3) : 0, true);
    const double first = room();
    if (close * first < 0.1) { // towards the centre, if that goes farther
      const Vector kept[] = {dx, low.dy, high.dy};
      direction(0.5 * mu, false);
      if (room() < first) dx = kept[0], low.dy = kept[1], high.dy = kept[2];
    }
    const double length = std::min(1., close * room());
    for (size_t i = 0; i < n; ++i) x[i] += length * dx[i];
    low.move(length, dx);
    high.move(length, dx);
    return length > 1e-8;
  }
};

} // namespace

Reason interior(const Problem &p, const Params &params, double *answer, double *least, Report &report,
                const Monitor &monitor)
{
  Interior     i(p);
  Vector       inside, away(i.n);
  StallCounter missing, gap; // one of them falls until rounding or no answer is left
  ++report.factors;          // of the start
  const Vector start(i.x);
  const double least_gap = 1e-24 * i.centre(0);
  multiply(p, i.x.data(), i.w.data());
  constexpr int proofs = 3, of_step = 4; // factorisations, at most: of a proof that there is no answer, of a step
  // Does the way from the start prove it, or what inverse iteration makes of it? Each leaves some unknowns out.
  const auto excluded = [&](int tries) {
    (void)i.way_from(start, away);
    if (infeasible(p, away.data())) return true;
    for (; tries > 0; --tries) {
      ++report.factors;
      if (!i.sharpen(away)) return false;
      if (infeasible(p, away.data())) return true;
    }
    return false;
  };
  while (report.factors + of_step + proofs <= params.max_factors) {
    const bool moves = i.step();
    report.factors += std::exchange(i.factors, 0);
    if (!moves) break;
    multiply(p, i.x.data(), i.w.data());
    inside = i.x;
    project(p, inside.data()); // rounding
    const double r = natural(p, inside.data(), i.w.data());
    if (!std::isfinite(r)) break;
    if (r < *least) {
      *least = r;
      std::copy(inside.begin(), inside.end(), answer);
    }
    ++report.steps;
    if (monitor(report, *least, answer)) return Reason::stopped;
    if (i.runs_away(start, away)) return Reason::infeasible;
    const int waits = missing(i.missing()), slow = std::min(waits, gap(std::max(i.centre(0), least_gap)));
    if (slow >= 10) break;
    if (waits == 10 && excluded(1)) return Reason::infeasible; // the products may fall for long
  }
  if (excluded(std::min(proofs, params.max_factors - report.factors))) return Reason::infeasible;
  return Reason::iterating;
}

} // namespace tessera::lcp
