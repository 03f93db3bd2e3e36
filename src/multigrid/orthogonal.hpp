// The K-cycle with full orthogonalisation: a few steps of conjugate gradients with the cycle of the grids below as
// preconditioner, which is another one in each step; so every direction is made orthogonal to all those before it.
// Scalars stay where the vectors are: nobody waits for them.
#pragma once
#include "exec/each.hpp"

namespace tessera::multigrid {

// p_k = x - sum_j (x, A p_j) / (p_j, A p_j) p_j, j < k
template <class T> struct Orthogonalize {
  const T      *x, *before;
  const double *products, *energy; // (x, A p_j) and (p_j, A p_j)
  int           k, n;
  T            *direction;
  HD void       operator()(int p) const
  {
    double s = x[p];
    for (int j = 0; j < k; ++j)
      if (energy[j] > 0) s -= products[j] / energy[j] * before[(ptrdiff_t)j * n + p];
    direction[p] = (T)s;
  }
};
// x += alpha p, r -= alpha A p with alpha = (r, p) / (p, A p)
template <class T> struct OrthogonalStep {
  const T      *direction, *q;
  const double *rp, *energy;
  bool          first, last; // x is zero before; r is not needed any more
  T            *x, *r;
  HD void       operator()(int p) const
  {
    const double alpha = *energy > 0 ? *rp / *energy : 0;
    x[p]               = (T)((first ? 0 : x[p]) + alpha * direction[p]);
    if (!last) r[p] = (T)(r[p] - alpha * q[p]);
  }
};

template <class T> class OrthogonalCG {
public:
  void setup(Space space, size_t n, int steps)
  {
    steps_ = steps;
    p_.resize(Extent{n * (size_t)steps, space});
    q_.resize(Extent{n * (size_t)steps, space});
    x_.resize(Extent{n, space});
    s_.resize(Extent{2 * (size_t)steps + 1, space}); // (p_j, A p_j), (x, A p_j), (r, p)
  }
  bool   empty() const { return x_.empty(); }
  size_t bytes() const { return p_.bytes() + q_.bytes() + x_.bytes() + s_.bytes(); }
  // x = the approximate solution of A x = b; b becomes the residual. precondition() makes x of b; multiply(p, q, sum):
  // q = A p and *sum = p'q. A breakdown, which rounding brings about where b is solved exactly, ends it: alpha is zero.
  template <class Precondition, class Multiply>
  void apply(const Exec &exec, T *b, T *x, const Precondition &precondition, const Multiply &multiply)
  {
    const int     n = (int)x_.size();
    double *const energy = s_.data(), *const products = energy + steps_, *const rp = products + steps_;
    for (int step = 0; step < steps_; ++step) {
      T *const p = p_.data() + (ptrdiff_t)step * n, *const q = q_.data() + (ptrdiff_t)step * n;
      precondition();
      for (int j = 0; j < step; ++j) sum_each(exec, n, DotProduct<T>{x, q_.data() + (ptrdiff_t)j * n}, products + j);
      for_each(exec, n, Orthogonalize<T>{x, p_.data(), products, energy, step, n, p});
      sum_each(exec, n, DotProduct<T>{b, p}, rp);
      multiply(p, q, energy + step);
      for_each(exec, n, OrthogonalStep<T>{p, q, rp, energy + step, !step, step == steps_ - 1, x_.data(), b});
    }
    for_each(exec, n, CopyValues<T>{x_.data(), x});
  }

private:
  int            steps_ = 0;
  Buffer<T>      p_, q_, x_; // directions, their products with A, the solution
  Buffer<double> s_;
};

} // namespace tessera::multigrid
