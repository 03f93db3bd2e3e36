// Vectors of a contact in the algebra of second-order cones |z_t| <= z_n, and the scaling of Nesterov and Todd.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tessera::lcp {

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

} // namespace tessera::lcp
