// The K-cycle: on each coarse grid a few steps of conjugate gradients with the cycle of the grids below as
// preconditioner, which is another one in each step; so every direction is made orthogonal to all those before it
// (the paper's Algorithm 2.1).
#include "tree/hierarchy.hpp"
#include "tree/dispatch.hpp"
#include "exec/each.hpp"

namespace tessera::auxamg {

namespace {

template <class T> struct Product {
  const T  *x, *y;
  HD double operator()(int p) const { return (double)x[p] * y[p]; }
};
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
// q = A p; the sum is (p, A p)
template <class T, int BS> struct Multiply {
  const int *i, *j;
  const T   *a, *x;
  T         *q;
  HD double  operator()(int p) const
  {
    T s[BS] = {};
    for (int e = i[p]; e < i[p + 1]; ++e)
      for (int k = 0; k < BS; ++k)
        for (int m = 0; m < BS; ++m) s[k] += a[(ptrdiff_t)BS * BS * e + BS * k + m] * x[(ptrdiff_t)BS * j[e] + m];
    double sum = 0;
    for (int k = 0; k < BS; ++k) {
      q[(ptrdiff_t)BS * p + k] = s[k];
      sum += (double)s[k] * x[(ptrdiff_t)BS * p + k];
    }
    return sum;
  }
};
// x += alpha p, r -= alpha A p with alpha = (r, p) / (p, A p)
template <class T> struct Step {
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
template <class T> struct Copy {
  const T *from;
  T       *to;
  HD void  operator()(int p) const { to[p] = from[p]; }
};

} // namespace

template <class T> void Hierarchy<T>::krylov_vectors(Level<T> &level)
{
  const size_t n = (size_t)level.n * (size_t)params_.bs, steps = (size_t)params_.inner;
  level.krylov.p = make<T>(n * steps);
  level.krylov.q = make<T>(n * steps);
  level.krylov.x = make<T>(n);
  level.krylov.s = make<double>(2 * steps + 1); // (p_j, A p_j), (x, A p_j), (r, p)
}

// x = the approximate solution of A x = b on a coarse grid, which every process has; b becomes the residual. A
// breakdown, which rounding brings about where b is solved exactly, ends it: alpha is zero.
template <class T> void Hierarchy<T>::krylov_cycle(int l)
{
  Level<T>  &level = levels_[(size_t)l];
  Krylov<T> &k = level.krylov;
  const int  n = level.n * params_.bs, steps = params_.inner;
  double *const energy = k.s.data(), *const products = energy + steps, *const rp = products + steps;
  for (int step = 0; step < steps; ++step) {
    T *const p = k.p.data() + (ptrdiff_t)step * n, *const q = k.q.data() + (ptrdiff_t)step * n;
    cycle_grids<T>(l);
    for (int j = 0; j < step; ++j)
      sum_each(exec_, n, Product<T>{level.work.x.data(), k.q.data() + (ptrdiff_t)j * n}, products + j);
    for_each(exec_, n, Orthogonalize<T>{level.work.x.data(), k.p.data(), products, energy, step, n, p});
    sum_each(exec_, n, Product<T>{level.work.b.data(), p}, rp);
    with_block(params_.bs, [&](auto b) {
      sum_each(exec_, level.n, Multiply<T, b.value>{level.i.data(), level.j.data(), level.a.data(), p, q},
               energy + step);
    });
    for_each(exec_, n, Step<T>{p, q, rp, energy + step, !step, step == steps - 1, k.x.data(), level.work.b.data()});
  }
  for_each(exec_, n, Copy<T>{k.x.data(), level.work.x.data()});
}

#define INSTANTIATE(T) \
  template void Hierarchy<T>::krylov_vectors(Level<T> &); \
  template void Hierarchy<T>::krylov_cycle(int);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::auxamg
