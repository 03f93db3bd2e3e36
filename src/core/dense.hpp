// Direct solution of the small systems that remain on the coarsest grid.
#pragma once
#include "core/buffer.hpp"
#include <stddef.h>

namespace tessera {

// A symmetric positive semidefinite band matrix and its factors L D L'. LAPACK's band Cholesky stops at a zero pivot; here the
// rows of singular components (pure Neumann problems, closed parts of a mask) are left out instead: their solution is zero.
class Band {
public:
  void    reset(int n, int bandwidth); // zero matrix
  void    add(int i, int j, double v); // a_ij += v, i >= j >= i - bandwidth
  // -1, or the row whose pivot is negative; below the share `singular` of its diagonal it is rounding, and so is a negative one that
  // the rounding of the rows before explains (ten times that share, to 1e-6 of its diagonal).
  int     factor(double singular);
  double  pivot() const { return pivot_; }
  void    solve(double *x) const;      // x := A^-1 x
  int     size() const { return n_; }
  size_t  bytes() const { return a_.bytes() + inverse_.bytes(); }

private:
  double       *row(int i) { return a_.data() + (ptrdiff_t)i * (w_ + 1) + w_ - i; } // row(i)[j], j = i-w..i
  const double *row(int i) const { return a_.data() + (ptrdiff_t)i * (w_ + 1) + w_ - i; }
  int            n_ = 0, w_ = 0;
  double         pivot_ = 0;
  Buffer<double> a_, inverse_;
};

} // namespace tessera
