#include "box/dense.hpp"
#include <algorithm>
#include <cstddef>
#include <vector>

namespace tessera {

void Band::reset(int n, int bandwidth)
{
  if (n == n_ && bandwidth == w_ && !a_.empty()) a_.zero();
  else {
    n_ = n;
    w_ = bandwidth;
    a_.resize((size_t)n * (w_ + 1) + 1);
    inverse_.resize((size_t)n + 1);
  }
}

void Band::add(int i, int j, double v) { row(i)[j] += v; }

int Band::factor(double singular)
{
  double             *inv = inverse_.data();
  // of the pivots: the rounding of a singular part's strong nodes reaches its weak ones
  std::vector<double> error((size_t)n_);
  for (int i = 0; i < n_; ++i) {
    double      *li    = row(i);
    const int    first = std::max(0, i - w_);
    const double a     = li[i];
    // li[j] holds L_ij D_j until the row is complete
    for (int j = first; j < i; ++j) {
      const double *lj = row(j);
      double        s  = li[j];
      for (int k = std::max(first, j - w_); k < j; ++k) s -= li[k] * lj[k];
      li[j] = s;
    }
    double d = a, e = 10 * singular * a;
    for (int j = first; j < i; ++j) {
      const double l = li[j] * inv[j];
      d -= l * li[j];
      e += l * l * error[(size_t)j];
      li[j] = l;
    }
    error[(size_t)i] = e;
    if (d > singular * a) inv[i] = 1 / d;
    else if (a >= 0 && d >= -std::min(e, 1e-6 * a)) inv[i] = 0;
    else {
      pivot_ = d;
      return i;
    }
    li[i] = 1;
  }
  return -1;
}

void Band::solve(double *x) const
{
  for (int i = 0; i < n_; ++i) {
    const double *l = row(i);
    double        s = x[i];
#pragma omp simd reduction(- : s)
    for (int j = std::max(0, i - w_); j < i; ++j) s -= l[j] * x[j];
    x[i] = s;
  }
  for (int i = 0; i < n_; ++i) x[i] *= inverse_.data()[i];
  for (int i = n_ - 1; i >= 0; --i) {
    const double *l = row(i);
    const double  s = x[i];
    for (int j = std::max(0, i - w_); j < i; ++j) x[j] -= l[j] * s;
  }
}

} // namespace tessera
