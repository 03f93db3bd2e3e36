// The finishers. First a primal-dual active set method (Hintermueller, Ito, Kunisch, SIAM J. Optim. 13, 2003), that is
// Newton's method for the natural map, with one dense factorisation a step; where that leads nowhere and A is
// symmetric, active sets inside a proximal loop: A + rho I and q - rho x^k in place of A and q, whose solutions tend to
// one of the problem's; then an interior-point method (lcp_interior.cxx), and both again from what it has found.
#include "densegs/lcp.hpp"
#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace tessera::lcp {

namespace {

double norm(const std::vector<double> &v)
{
  double s = 0;
  for (double e : v) s += e * e;
  return std::sqrt(s);
}

// One run of the method on the problem with A + shift I and q.
struct ActiveSet {
  const Problem &p;
  const Params  &params;
  Report        &report;
  const Monitor &monitor;
  double *const  answer; // the best x, within its bounds
  const double   scale;
  double         least;  // its residual
  Factor         factor;
  std::vector<double> w, b, inside;

  ActiveSet(const Problem &problem, const Params &prm, double *x, Report &rep, const Monitor &m) :
    p(problem), params(prm), report(rep), monitor(m), answer(x), scale(size_of_diagonal(*problem.matrix)),
    w((size_t)problem.n)
  {
    measure(x, 0, nullptr);
    least = natural(p, x, w.data());
  }

  // -1, 0, 1: at the lower bound, free, at the upper one
  std::string sets(const double *x, double shift) const
  {
    std::string s((size_t)p.n, '0');
    for (int i = 0; i < p.n; ++i) {
      const double d = p.matrix->diagonal[(size_t)i] + shift, c = x[i] - w[(size_t)i] / (d > 0 ? d : 1);
      if (!(c > p.lower[i])) s[(size_t)i] = '-';
      else if (!(c < p.upper[i])) s[(size_t)i] = '+';
    }
    return s;
  }
  // x := the solution with these sets of the problem with A + shift I and w = .. - shift centre; regularise: added to
  // the factor alone
  bool step(const std::string &set, double shift, const double *centre, double regularise, double *x)
  {
    std::vector<int> free;
    for (int i = 0; i < p.n; ++i)
      if (set[(size_t)i] == '0') free.push_back(i);
      else x[i] = set[(size_t)i] == '-' ? p.lower[i] : p.upper[i];
    ++report.factors;
    const std::vector<double> shifts(free.size(), shift + regularise);
    if (!factor.make(*p.matrix, shifts, free, p.matrix->asymmetry < 1e-4)) return false;
    // Steps of refinement take back the regularisation and a small asymmetry.
    double last = HUGE_VAL;
    b.resize(free.size());
    for (int i : free) x[i] = 0;
    for (int k = 0; k < 6; ++k) {
      product(x, shift, centre, w.data());
      for (size_t i = 0; i < free.size(); ++i) b[i] = -w[(size_t)free[i]];
      const double now = norm(b);
      if (k > 0 && !(now < 0.5 * last)) break;
      last = now;
      factor.solve(b.data());
      for (size_t i = 0; i < free.size(); ++i) x[free[i]] += b[i];
      if (now == 0) break;
    }
    for (int i : free)
      if (!std::isfinite(x[i])) return false;
    return true;
  }
  void product(const double *x, double shift, const double *centre, double *out) const
  {
    multiply(p, x, out);
    if (shift > 0)
      for (int i = 0; i < p.n; ++i) out[i] += shift * (x[i] - centre[i]);
  }
  void measure(const double *x, double shift, const double *centre) { product(x, shift, centre, w.data()); }
  // Is it the best one, at its bounds where it lies outside? Sets are read of x itself. true: the monitor ends the
  // solve.
  bool keep(const std::vector<double> &x)
  {
    inside = x;
    project(p, inside.data());
    multiply(p, inside.data(), w.data());
    const double r = natural(p, inside.data(), w.data());
    if (r < least) {
      least = r;
      std::copy(inside.begin(), inside.end(), answer);
    }
    ++report.steps;
    return monitor(report, least, answer);
  }
  // Newton's method itself, as long as it gets better: on real data it needs some steps or fails for good.
  Reason newton()
  {
    std::vector<double>   z(answer, answer + p.n);
    std::set<std::string> seen;
    for (int bad = 0; bad < 4 && report.factors < params.max_factors;) {
      measure(z.data(), 0, nullptr);
      const std::string set = sets(z.data(), 0);
      if (!seen.insert(set).second) break;
      if (!step(set, 0, nullptr, 1e-12 * scale, z.data())) break;
      const double before = least;
      if (keep(z)) return Reason::stopped;
      // a sparse matrix may be a large grid's, on which sets move by a node a step
      bad = least < (p.matrix->sparse ? 0.5 : 1) * before ? 0 : bad + 1;
      if (factor.smallest() < 1e-9 && bad) break;
    }
    return Reason::iterating;
  }
  Reason proximal(int max_factors); // factorisations
};

Reason ActiveSet::proximal(int max_factors)
{
  const size_t        n = (size_t)p.n;
  std::vector<double> z(n), centre(answer, answer + n), before(n);
  // A large rho makes easy subproblems and slow progress; it falls as far as they are solved.
  constexpr double first = 1e-5, last = 1e-8, largest = 10;
  double           rho = first;
  StallCounter             stalls;
  int              failures = 0;
  while (report.factors < max_factors) {
    const double          shift = rho * scale;
    std::set<std::string> seen;
    std::string           old;
    bool                  solved = false;
    ++report.proximal;
    z = centre;
    for (int k = 0; k < 30 && report.factors < max_factors; ++k) {
      measure(z.data(), shift, centre.data());
      const std::string set = sets(z.data(), shift);
      if (set == old) {
        solved = true;
        break;
      }
      if (!seen.insert(set).second || !step(set, shift, centre.data(), 0, z.data())) break;
      old = set;
      if (keep(z)) return Reason::stopped;
    }
    if (!solved && report.factors < max_factors) {
      if (rho >= largest || ++failures > 12) return Reason::cycling;
      rho *= 10; // from where it was
      continue;
    }
    for (size_t i = 0; i < n; ++i) before[i] = z[i] - centre[i];
    if (report.proximal % 5 == 0 && infeasible(p, before.data())) return Reason::infeasible;
    centre = z;
    rho    = std::max(failures ? rho : rho / 10, last);
    if (stalls(least) > 15) return Reason::stalled;
  }
  return Reason::maximum;
}

} // namespace

Reason newton(const Problem &p, const Params &params, double *x, Report &report, const Monitor &monitor)
{
  ActiveSet  sets(p, params, x, report, monitor);
  const auto ended = [](Reason r) { return r == Reason::stopped || r == Reason::infeasible; };
  Reason     reason = sets.newton();
  // where there are many factorizations, enough of them are left for the others
  if (!ended(reason) && p.matrix->asymmetry < 1e-4 && !p.matrix->sparse) // whose pattern differs with the sets
    reason = sets.proximal(std::max(params.max_factors - 80, std::min(params.max_factors, 80)));
  if (ended(reason)) return reason;
  multiply(p, x, sets.w.data());
  if (rounded(p, x, sets.w.data())) return Reason::stalled; // there is nothing better
  const double before = sets.least;
  const Reason inside = interior(p, params, x, &sets.least, report, monitor);
  if (ended(inside)) return inside;
  if (sets.least == before && reason != Reason::iterating && reason != Reason::maximum) return reason;
  reason = sets.newton(); // for what rounding and degenerate unknowns have left
  return ended(reason) ? reason : sets.proximal(params.max_factors);
}

double finish(const std::vector<double> &a, const std::vector<double> &q, const std::vector<double> &lower,
              const std::vector<double> &upper, double rtol, std::vector<double> &x)
{
  const int            n = (int)q.size();
  Matrix               matrix;
  const densegs::Check check = create(matrix, MPI_COMM_SELF, n, n, a.data(), n, Space::host, 1);
  double               size  = 0;
  for (double e : q) size += e * e;
  size = std::sqrt(size);
  bool bad = check.bad_row >= 0 || !sweepable(matrix) || !std::isfinite(size);
  for (size_t i = 0; i < q.size(); ++i)
    bad = bad || !(lower[i] <= upper[i]) || lower[i] == HUGE_VAL || upper[i] == -HUGE_VAL;
  if (bad) return NAN;
  Problem p;
  p.n      = n;
  p.matrix = &matrix;
  p.q      = q.data();
  p.lower  = lower.data();
  p.upper  = upper.data();
  Report report;
  project(p, x.data());
  const Monitor solved = [&](const Report &, double norm, const double *) { return norm <= rtol * size; };
  (void)newton(p, Params(), x.data(), report, solved);
  std::vector<double> w(q.size());
  multiply(p, x.data(), w.data());
  return natural(p, x.data(), w.data()) / (size > 0 ? size : 1);
}

} // namespace tessera::lcp
