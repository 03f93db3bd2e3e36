// Short iterations on one level that the cycle from it down preconditions: K-cycle, AMLI-cycle and the steps of CG by
// which a setup measures a preconditioner.
//
// A Space has the fields b, x, r, w, d, q of one level and
//   multiply(p, q)       q = A p; p's ghost nodes change
//   precondition(r, w)   w = B r, one cycle from this level down
//   dot(x, y)            over all processes
//   combine(s, x, t, y)  y = s x + t y; with t = 0 the old y does not matter
#pragma once
#include <cmath>

namespace tessera::multigrid {

// `steps` steps of flexible CG with the cycle as preconditioner (truncated to the last direction).
template <class Space> void k_cycle(Space &s, int steps)
{
  double pq = 0;
  s.combine(1, s.b, 0, s.r);
  s.combine(0, s.b, 0, s.x);
  for (int i = 0; i < steps; ++i) {
    s.precondition(s.r, s.w);
    s.combine(1, s.w, i ? -s.dot(s.w, s.q) / pq : 0, s.d);
    s.multiply(s.d, s.q);
    pq = s.dot(s.d, s.q);
    if (!(pq > 0)) break;
    const double alpha = s.dot(s.d, s.r) / pq;
    s.combine(alpha, s.d, 1, s.x);
    if (i + 1 < steps) s.combine(-alpha, s.q, 1, s.r);
  }
}

// `steps` steps of the Chebyshev iteration for eigenvalues in [lowest, highest]: a fixed polynomial, so linear and
// symmetric, and no inner products.
template <class Space> void amli_cycle(Space &s, int steps, double lowest, double highest)
{
  const double theta = (highest + lowest) / 2, delta = (highest - lowest) / 2, sigma = theta / delta;
  double       rho = 1 / sigma;
  s.combine(1, s.b, 0, s.r);
  for (int i = 0; i < steps; ++i) {
    s.precondition(s.r, s.w);
    if (i) {
      const double next = 1 / (2 * sigma - rho);
      s.combine(2 * next / delta, s.w, next * rho, s.d);
      rho = next;
      s.combine(1, s.d, 1, s.x);
    } else {
      s.combine(1 / theta, s.w, 0, s.d);
      s.combine(1, s.d, 0, s.x);
    }
    if (i + 1 < steps) {
      s.multiply(s.d, s.q);
      s.combine(-1, s.q, 1, s.r);
    }
  }
}

// Steps of preconditioned CG on the right-hand side A x, which is in the range of singular operators too. each(alpha,
// beta, space) sees the coefficients and the residual space.r after each step and says whether to go on. False if
// nothing could be done.
template <class Space, class Each> bool cg_steps(Space &s, int steps, const Each &each)
{
  double rz = 0;
  s.multiply(s.x, s.r);
  for (int i = 0; i < steps; ++i) {
    s.precondition(s.r, s.w);
    const double z = s.dot(s.r, s.w);
    if (!(z > 0) || !std::isfinite(z)) return i > 0;
    const double beta = i ? z / rz : 0;
    s.combine(1, s.w, beta, s.d);
    s.multiply(s.d, s.q);
    const double pq = s.dot(s.d, s.q);
    if (!(pq > 0) || !std::isfinite(pq)) return i > 0;
    s.combine(-z / pq, s.q, 1, s.r);
    rz = z;
    if (!each(z / pq, beta, s)) break;
  }
  return true;
}

} // namespace tessera::multigrid
