// Dense factorisations and products where the matrix is: LAPACK and BLAS on the host, cuSOLVER and cuBLAS on a
// device, in the order of its stream. The emulated device takes LAPACK, with its memory open.
#pragma once
#include "exec/buffer.hpp"
#include <vector>

namespace tessera {

// A factorisation of a matrix of n unknowns that the caller writes to matrix(), n x n by columns.
class Factorisation {
public:
  void    reset(int n, Space space);      // memory for it, what was there is gone
  double *matrix() { return a_.data(); }
  bool    cholesky();                     // of the lower triangle; false: not positive definite. Waits.
  bool    lu();                           // false: singular. Waits.
  void    solve(double *b);               // b := A^-1 b, n values where the matrix is
  void    diagonal(std::vector<double> &d) const; // of the factor, on the host
  int     size() const { return n_; }
  Space   space() const { return space_; }

private:
  bool              factor(bool lu);
  int               n_     = 0;
  Space             space_ = Space::host;
  bool              lu_    = false;
  Buffer<double>    a_, work_;
  Buffer<long long> pivots_;
  Buffer<int>       info_;
};

// y := A x, or A'x: A has m rows and n columns, by columns with leading dimension lda. All of it lies in `space`.
void product(Space space, bool transposed, int m, int n, const double *a, ptrdiff_t lda, const double *x, double *y);

} // namespace tessera
