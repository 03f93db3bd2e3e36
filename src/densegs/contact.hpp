// One contact with Coulomb friction, on the host and on a device: normal force x_n >= 0, tangential forces |x_t| <=
// mu x_n, relative velocity w = A x + q with the contact's own d x d block of A, by columns, whose first entry is
// positive.
#pragma once
#include "exec/exec.hpp"
#include <cmath>

namespace tessera::densegs {

// Sliding forces x_t = -V (L + lambda + K)^-1 V's and the normal one that goes with them; K = (0, -skew; skew, 0),
// which all rotations leave as it is.
struct Sliding {
  double mu, normal, wnn, scale, skew, c[2], value[2], V[4], coupling[2]; // coupling: of the normal row with x_t
  int    m;                                                         // tangential directions

  // |x_t| - mu x_n
  HD double operator()(double lambda, double *x) const
  {
    double y[2] = {0, 0}, e[2] = {1, 1}, length = 0, n = normal;
    for (int k = 0; k < m; ++k) {
      const double least = 1e-16 * scale;
      e[k] = value[k] + lambda > least ? value[k] + lambda : least;
      y[k] = c[k] == 0 ? 0 : -c[k] / e[k];
    }
    if (skew != 0) {
      const double det = e[0] * e[1] + skew * skew;
      y[0] = -(e[1] * c[0] + skew * c[1]) / det;
      y[1] = -(e[0] * c[1] - skew * c[0]) / det;
    }
    for (int k = 0; k < m; ++k) length += y[k] * y[k];
    x[1] = m == 2 ? V[0] * y[0] + V[2] * y[1] : y[0];
    if (m == 2) x[2] = V[1] * y[0] + V[3] * y[1];
    for (int k = 0; k < m; ++k) n -= coupling[k] * x[1 + k];
    x[0] = n / wnn;
    return sqrt(length) - mu * x[0];
  }
};

// Solves it exactly; false: no root was found, as A is not positive semidefinite.
template <int d> HD inline bool solve_contact(const double *a, const double *q, double mu, double *x)
{
  for (int k = 0; k < d; ++k) x[k] = 0;
  if (q[0] >= 0) return true; // separation
  const double wnn = a[0];
  if (mu <= 0) {
    x[0] = -q[0] / wnn;
    return true;
  }
  // The normal velocity being zero, x_n = -(q_n + w_nt x_t) / w_nn, and x_t sees S = W_tt - W_tn W_nt / w_nn and s. S
  // = V (L + K) V' with K skew: matrices of real problems are not quite symmetric. What rounding leaves of K in a
  // symmetric one is none of it, as S may be singular.
  constexpr int m = d - 1;
  double        s[2] = {0, 0}, S[4] = {0, 0, 0, 0};
  Sliding       slide = {};
  slide.mu     = mu;
  slide.normal = -q[0];
  slide.wnn    = wnn;
  slide.scale  = fabs(wnn);
  slide.m      = m;
  for (int i = 0; i < m; ++i) {
    s[i] = q[1 + i] - a[1 + i] * q[0] / wnn;
    slide.coupling[i] = a[(1 + i) * d];
    for (int j = 0; j < m; ++j) S[j * m + i] = a[(1 + j) * d + 1 + i] - a[1 + i] * a[(1 + j) * d] / wnn;
  }
  slide.value[0] = S[0];
  slide.c[0]     = s[0];
  if (m == 2) {
    const double off = 0.5 * (S[1] + S[2]), half = 0.5 * (S[0] - S[3]), root = sqrt(half * half + off * off),
                 mean = 0.5 * (S[0] + S[3]);
    // The eigenvectors without an angle: (cos, sin) of half of that of (half, off), from its cosine.
    const double cosine = root > 0 ? half / root : 1, c = sqrt(0.5 * (1 + fabs(cosine))),
                 other = root > 0 ? 0.5 * off / (root * c) : 0;
    slide.value[0] = mean + root;
    slide.value[1] = mean - root;
    slide.V[0] = cosine >= 0 ? c : fabs(other);
    slide.V[1] = cosine >= 0 ? other : off >= 0 ? c : -c;
    slide.V[2] = -slide.V[1];
    slide.V[3] = slide.V[0];
    const double skew = 0.5 * (S[1] - S[2]);
    slide.skew = fabs(skew) > 1e-13 * (slide.scale + mean + root) ? skew : 0;
    for (int k = 0; k < 2; ++k) slide.c[k] = slide.V[2 * k] * s[0] + slide.V[2 * k + 1] * s[1];
  }
  // Sliding against the force: w_t = -lambda x_t, (S + lambda) x_t = -s, |x_t| = mu x_n. Sticking is lambda = 0.
  double low = 0, high = slide.scale, f_low = slide(0, x), f_high;
  if (!(f_low > 0)) return x[0] >= 0;
  int k = 0;
  for (; (f_high = slide(high, x)) > 0; ++k) {
    if (k == 200) return false;
    low   = high;
    f_low = f_high;
    high *= 4;
  }
  // False position, with the half of the value at an end that stays (Illinois), and halves where that is slow.
  int side = 0;
  for (k = 0; k < 200 && high - low > 1e-16 * high; ++k) {
    double middle = k % 4 == 3 ? 0.5 * (low + high) : low + (high - low) * (f_low / (f_low - f_high));
    if (!(middle > low && middle < high)) middle = 0.5 * (low + high);
    if (middle == low || middle == high) break;
    const double f = slide(middle, x);
    if (f > 0) {
      low   = middle;
      f_low = f;
      if (side == 1) f_high *= 0.5;
      side = 1;
    } else {
      high   = middle;
      f_high = f;
      if (side == 2) f_low *= 0.5;
      side = 2;
      if (f == 0) break;
    }
  }
  slide(high, x);
  return x[0] >= 0;
}

} // namespace tessera::densegs
