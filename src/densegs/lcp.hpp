// Linear complementarity problems: lower <= x <= upper, w = A x + q, w_i >= 0 where x_i is at its
// lower bound, w_i <= 0 at its upper one, w_i = 0 between; and Coulomb friction over blocks of unknowns. Sweeps of
// Gauss-Seidel find which unknowns are at their bounds, an active-set Newton method with factorisations finds
// the rest.
#pragma once
#include "densegs/lcp_matrix.hpp"
#include <cmath>
#include <functional>
#include <vector>

namespace tessera::lcp {

enum class Acceleration { automatic, none, nesterov, nncg, mprgp };
enum class Reason { iterating, stopped, maximum, stalled, cycling, infeasible, diverged };
enum class Friction { cone, pyramid };

struct Params {
  densegs::Params sweeps;
  Acceleration    acceleration = Acceleration::automatic; // nesterov before a finisher where A is symmetric
  // finish with active sets; with friction, with an interior-point method where sweeps stall
  bool            newton       = true;
  int             before       = 200;  // sweeps before that
  int             max_sweeps  = 100000, max_factors = 200;
  int             check        = 10;   // sweeps between two looks at the residual
};

struct Problem {
  int           n = 0;
  const Matrix *matrix = nullptr;
  const double *q = nullptr, *lower = nullptr, *upper = nullptr; // whole, on the host of every process
  // friction: blocks of `block` unknowns, the first normal and the others tangential, with coefficients mu; block 1:
  // none
  int           block = 1;
  const double *mu    = nullptr;
  Friction      friction = Friction::cone;
  double        scale    = 1; // of w beside x: natural residuals are scale |x - P(x - w / scale)|_2
};

// What holds at the end, of w computed from x.
struct Certificate {
  double natural = 0; // |x - P(x - w)|_2, P the projection onto the bounds or cones, with Problem::scale
  // sum of (x - lower) w+ + (upper - x) w-, with w+ and w- the positive and negative parts; cones: sum of |x . (w +
  // mu |w_t| n)|
  double gap     = 0;
  double primal  = 0; // largest distance of an x_i from its bounds or its cone
  double dual    = 0; // largest w_i of a sign that no bound of x_i allows
};

struct Report {
  Reason      reason  = Reason::iterating;
  int         sweeps  = 0, factors = 0, proximal = 0, steps = 0; // proximal: subproblems of the proximal loop
  bool        fell_back = false; // the relaxed strategy diverged, and graph took its place
  Certificate certificate;
  std::vector<double> w; // A x + q of the answer
};

// Called after every step (some sweeps, or a factorisation) with the natural residual |x - P(x - w)|_2; true ends the
// solve.
using Monitor = std::function<bool(const Report &, double natural, const double *x)>;

// x: the first guess, and the answer. The plan has been filled with A (several processes: with each one's square
// block). Collective.
Report solve(densegs::Plan &plan, const Problem &problem, const Params &params, double *x, const Monitor &monitor);

// Counts the checks of the residual since it last fell by a tenth below a reference, which is the residual of that
// check. The reference stays meanwhile, so that a slow but lasting decrease resets the count, too.
class StallCounter {
public:
  int operator()(double residual)
  {
    slow_ = residual < 0.9 * reference_ ? 0 : slow_ + 1;
    if (!slow_) reference_ = residual;
    return slow_;
  }

private:
  double reference_ = HUGE_VAL;
  int    slow_      = 0;
};

// The pieces, for each other.
void        multiply(const Problem &p, const double *x, double *w);                  // w := A x + q
double      natural(const Problem &p, const double *x, const double *w);             // of bounds or cones
Certificate certify(const Problem &p, const double *x, const double *w);
// is x the answer but for rounding of w? Not of friction.
bool        rounded(const Problem &p, const double *x, const double *w);
// of what is summed up in A x, as far as A's diagonal tells
double      size_of_product(const Matrix &m, const double *x);
void        project(const Problem &p, double *x);                                    // onto the bounds
Reason      newton(const Problem &p, const Params &params, double *x, Report &report, const Monitor &monitor);
Reason      interior(const Problem &p, const Params &params, double *answer, double *least, Report &report,
                     const Monitor &monitor); // for positive semidefinite A, symmetric or not
Reason      mprgp(const Problem &p, const Params &params, double *x, Report &report, const Monitor &monitor);
Reason      friction(const Problem &p, const Params &params, double *x, Report &report, const Monitor &monitor);
Reason      friction_interior(const Problem &p, int max_factors, double *answer, double *least, Report &report,
                              const Monitor &monitor);
bool        infeasible(const Problem &p, const double *direction); // does it prove that no x has w >= 0?

// Many problems of n unknowns, one after the other in memory (A by columns), which lie where exec says: sweeps
// forward and back until the natural residual is below rtol |q|, at most so many. residual: what it is at the end,
// over |q|.
void batch(const Exec &exec, int count, int n, const double *a, const double *q, const double *lower,
           const double *upper, double rtol, int sweeps, double *x, double *residual);
// One of them, which sweeps have not solved, with active sets on the host. Returns its residual as above; NAN, and x as
// it was: bounds that cross, a matrix with entries that are no numbers or with a diagonal that is not positive.
double finish(const std::vector<double> &a, const std::vector<double> &q, const std::vector<double> &lower,
              const std::vector<double> &upper, double rtol, std::vector<double> &x);

} // namespace tessera::lcp
