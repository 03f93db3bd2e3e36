// The exact solution on the last grid, by the pseudo-inverse: the operator may be singular (pure Neumann problems).
#pragma once
#include "exec/comm.hpp"
#include "exec/exec.hpp"
#include "exec/staging.hpp"
#include <vector>

namespace tessera::multigrid {

// Eigenvalues (ascending) and, in the columns of a, eigenvectors of a symmetric matrix.
bool symmetric_eigen(int n, double *a, double *w);
// a := the pseudo-inverse of a symmetric matrix, whose eigenvalues below a share of the largest one are zero; returns
// how many there are. -1: one is clearly negative or too near that share, or a number is not finite, and a is lost.
int semidefinite_inverse(int n, double *a, double tolerance);
// a := its inverse, or its pseudo-inverse where that has singular values below a share of the largest one, whose number
// is returned; -1: a number is not finite.
int general_inverse(int n, double *a, double tolerance);
// Is that so by the sum of the squares of the inverse's entries? Its root, the Frobenius norm, is at least 1 / the
// smallest eigenvalue.
inline bool is_regular(double squares, double least) { return squares * least * least < 1; }

// v = the sum of all processes' v, which are sent by the hosts
template <class T> void sum_processes(const Comm &comm, Space space, T *v, size_t n, Staging &message);

template <class T> struct ExactSolver {
  int       n = 0, offset = 0, dropped = 0; // unknowns; the place of this process's; eigenvalues that are zero
  Buffer<T> inverse, b, several;            // b: of all processes; of several right-hand sides
  Staging   message;
  // Beside the largest diagonal entry; such an unknown is nothing but rounding, and takes no part: it is scaled to
  // zero, and has a row of the identity while the others are inverted.
  static constexpr double rounding = 1e-16;
  double    absent = rounding;
  size_t    bytes() const { return inverse.bytes() + b.bytes() + several.bytes(); }
  // `mine` of the unknowns are on this process where the processes divide them, else all.
  void place(const Exec &exec, const Comm &comm, int mine, bool divided);
  // A device inverts an operator in rows of blocks while the host has other things to do: *norm2 becomes the square of
  // the inverse's Frobenius norm, or negative. False: it does not.
  bool invert_rows(const Exec &exec, const int *i, const int *j, const T *a, int nodes, int bs, double *norm2);
  // Does such an inverse suffice?
  bool suffices(double norm2) const { return norm2 >= 0 && is_regular(norm2, negligible() * (double)n); }
  // The inverse of the dense matrix a, which may be not symmetric. Otherwise: an eigenvalue of a symmetric one is
  // `negative`, or a number is not finite.
  enum class Result { done, indefinite, not_finite };
  Result invert(const Exec &exec, std::vector<double> &a, double &negative);
  // x = A^-1 b; `mine` of this process. transposed: with the transpose of the inverse
  template <class V> void solve(const Exec &exec, const Comm &comm, int mine, bool divided, bool transposed,
                                const V *right, V *x);

private:
  static double negligible() { return sizeof(T) == 8 ? 1e-11 : 1e-6; } // such a share of the largest eigenvalue is zero
  void          take(const Exec &exec, const Buffer<T> &found); // the inverse, from the host
  bool          pseudo_inverse(std::vector<double> &a, const std::vector<double> &scale, Buffer<T> &to,
                               double &lowest);
};

} // namespace tessera::multigrid
