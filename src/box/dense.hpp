// Direct solution of the small systems that remain on the coarsest grid.
#pragma once
#include "exec/buffer.hpp"
#include "box/grid.hpp"
#include <stddef.h>
#include <vector>

namespace tessera {

// A symmetric positive semidefinite band matrix and its factors L D L'. LAPACK's band Cholesky stops at a zero pivot;
// here the rows of singular components (pure Neumann problems, closed parts of a mask) are left out instead: their
// solution is zero.
class Band {
public:
  void    reset(int n, int bandwidth); // zero matrix
  void    add(int i, int j, double v); // a_ij += v, i >= j >= i - bandwidth
  // -1, or the row whose pivot is negative; below the share `singular` of its diagonal it is rounding, and so is a
  // negative one that the rounding of the rows before explains (ten times that share, to 1e-6 of its diagonal).
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

// The bandwidths that Inverse::setup() on the device knows: the least one of at least w.
constexpr int inverse_width(int w) { return w <= 18 ? 18 : 36; }
size_t        inverse_scratch(int width); // bytes of scratch of a block that the device takes then

// The inverse of such a matrix on the device, where a product with a full matrix takes less time than two sweeps over
// a band.
template <class T> class Inverse {
public:
  // x, y: the node of each unknown.
  void   setup(const Band &band, const std::vector<int> &x, const std::vector<int> &y);
  // The same by the device, from the band's lower half: entry (i, i - k) at i * (bandwidth + 1) + k, bandwidth as
  // inverse_width() has it. *failed, zero before, becomes the number + 1 of the row whose pivot is not positive.
  // Waits for nothing.
  void setup(const double *band, int bandwidth, double singular, const std::vector<int> &x, const std::vector<int> &y,
             int *failed);
  // A matrix that the caller fills, of n unknowns in natural order on a grid with rows of nx; width() values from row
  // to row, zero beyond n.
  T     *matrix(int n, int nx);
  // out := A^-1 b at the nodes. n^2 values are read.
  void   solve(const Exec &exec, const View<T> &b, const View<T> &out);
  bool   empty() const { return !n_; }
  void   clear() { *this = Inverse(); }
  int    size() const { return n_; }
  int    width() const { return width_; }
  const T   *data() const { return a_.data(); }
  const int *nodes() const { return node_.data(); }
  // the unknown of node x + nx y, where they are all the nodes of a grid
  const int *numbers() const { return number_.data(); }
  size_t bytes() const { return a_.bytes() + node_.bytes() + number_.bytes() + v_.bytes() + work_.bytes(); }

private:
  void           place(const std::vector<int> &x, const std::vector<int> &y);
  int            n_ = 0, nx_ = 0, width_ = 0;
  Buffer<T>      a_, v_;
  Buffer<int>    node_, number_;
  Buffer<double> work_; // factors and the inverse of L
};

} // namespace tessera
