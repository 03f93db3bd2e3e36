// The inverses of the smoothers' small blocks.
#pragma once
#include "exec/exec.hpp"

namespace tessera::tree {

// Gauss and Jordan's method in place, by the threads of a block: blocks have a few unknowns, of another number each,
// which LAPACK's and cuBLAS's batches do not know. Without pivoting, as the matrix is positive definite; unknowns whose
// pivot is below such a share of their diagonal entry are left out. work: 3 n
template <class Block> HD inline void invert_block(const Block &block, double *a, int n, double dead, double *work)
{
  double *const diagonal = work, *const column = work + n, *const row = column + n;
  block.each(0, n, 0, 1, [&](int k, int) { diagonal[k] = a[k * n + k]; });
  block.sync();
  for (int k = 0; k < n; ++k) {
    const double pivot = a[k * n + k];
    const bool   alive = pivot > dead * diagonal[k];
    block.each(0, n, 0, 1, [&](int q, int) {
      column[q] = a[q * n + k];
      row[q]    = alive ? (q == k ? 1 : a[k * n + q]) / pivot : 0;
    });
    block.sync();
    block.each(0, n, 0, n, [&](int q, int r) {
      if (r == k) a[r * n + q] = row[q];
      else if (alive) a[r * n + q] = (q == k ? 0 : a[r * n + q]) - column[r] * row[q];
      else if (q == k) a[r * n + q] = 0;
    });
    block.sync();
  }
}
// The same by one thread.
struct OneThread {
  template <class F> HD void each(int i0, int i1, int j0, int j1, const F &f) const
  {
    for (int j = j0; j < j1; ++j)
      for (int i = i0; i < i1; ++i) f(i, j);
  }
  HD void sync() const { }
};
template <int MOST> HD inline void invert_block(double *a, int n, double dead)
{
  double work[3 * MOST];
  invert_block(OneThread(), a, n, dead, work);
}

// The same on the host, row by row in vectors of the machine: rows are W numbers apart, those behind n are zero. No
// single number is stored where a vector is read next: that would wait for the store.
template <int W> __attribute__((always_inline)) inline void invert_rows(double *a, int n, double dead)
{
  double diagonal[W], row[W], others[W]; // others: 0 for the unknown of the pivot, else 1
  for (int k = 0; k < n; ++k) diagonal[k] = a[k * W + k];
  for (int q = 0; q < W; ++q) others[q] = 1;
  for (int k = 0; k < n; ++k) {
    const double pivot = a[k * W + k], share = pivot > dead * diagonal[k] ? 1 / pivot : 0;
    others[k] = 0;
    for (int q = 0; q < W; ++q) row[q] = share * (others[q] * a[k * W + q] + (1 - others[q]));
    for (int r = 0; r < n; ++r) {
      const double column = a[r * W + k];
      for (int q = 0; q < W; ++q) a[r * W + q] = others[q] * a[r * W + q] - column * row[q];
    }
    for (int q = 0; q < W; ++q) a[k * W + q] = row[q];
    others[k] = 1;
  }
}

// A pivot below this share of its diagonal entry is the rest of a singular block: rounding of the entries, which are
// T, leaves some.
template <class T> constexpr double dead_pivot = sizeof(T) == sizeof(float) ? 1e-6 : 1e-12;

} // namespace tessera::tree
