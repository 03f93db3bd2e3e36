// Reading the mesh's matrix, row by row or node by node, without the unknowns that are fixed.
#pragma once
#include "tree/hierarchy.hpp"
#include <cmath>

namespace tessera::tree {

// An unknown is fixed if its row has no entries besides the diagonal one (`dirichlet`), or only entries that are
// negligible beside it (`penalty`: it would take all digits of the coarse operators). Couplings with the first kind are
// in the other unknown's row alone, those with the second in both rows.
enum Constraint : unsigned char {
  unconstrained,
  dirichlet,
  penalty
};
constexpr double penalty_ratio = 1e12;

// No eigenvalue of D^-1 A moves by more than the largest row sum of magnitudes in the change of D^-1/2 A D^-1/2, which
// is symmetric and has the same eigenvalues. Values above 1 are taken as 1.
struct Largest {
  double  v = 0;
  HD void join(double sum) { v = !(sum <= 1) ? 1 : sum > v ? sum : v; }
  HD void join(const Largest &o) { join(o.v); }
};

// What is found out about the values as they are read, row after row: their change since the values before, their sum
// and that of their magnitudes, and the magnitudes of what rounding adds to the sums of rows.
struct Reading {
  Largest change;
  double  sum = 0, size = 0, rounded = 0, row = 0;
  HD void take(double v, double stored)
  {
    sum += v;
    size += fabs(v);
    row += stored - v;
  }
  HD void end_row(double changed)
  {
    change.join(changed);
    rounded += fabs(row);
    row = 0;
  }
  HD void join(const Reading &o)
  {
    change.join(o.change);
    sum += o.sum;
    size += o.size;
    rounded += o.rounded;
  }
};

struct RowReader {
  Rows          m;
  int                  bs;
  const unsigned char *constrained; // of own and ghost unknowns; nullptr: none
  // The node of an unknown, without a division where that is not needed: it takes as long as all else of an entry.
  HD int node(int unknown) const { return bs == 1 ? unknown : unknown / bs; }
  HD int length(int row) const { return (int)(m.i[row + 1] - m.i[row] + (m.oi ? m.oi[row + 1] - m.oi[row] : 0)); }
  // For a loop over the first `points` nodes of perm, whose rows lie anywhere: on the host their latency would take
  // most of its time. Inline always: g++ leaves out calls of what does nothing but prefetch.
  __attribute__((always_inline)) HD inline void fetch_ahead(const int *perm, int p, int points) const
  {
#ifndef __CUDA_ARCH__
    if (p + 8 >= points) return;
    const Index e = m.i[(ptrdiff_t)perm[p + 8] * bs];
    __builtin_prefetch(m.j + e);
    __builtin_prefetch(m.a + e);
    __builtin_prefetch(m.a + e + 8);
#else
    (void)perm, (void)p, (void)points;
#endif
  }
  // Calls f(column, value) for the entries of a row. Columns of ghosts come behind those of own unknowns.
  template <class F> HD void each_of(int row, const F &f) const
  {
    for (Index e = m.i[row]; e < m.i[row + 1]; ++e)
      if (!constrained || !constrained[m.j[e]]) f((int)m.j[e], m.a[e]);
    if (!m.oi) return;
    for (Index e = m.oi[row]; e < m.oi[row + 1]; ++e) {
      const int column = m.n * bs + m.ghost[m.oj[e]];
      if (!constrained || !constrained[column]) f(column, m.o[e]);
    }
  }
  // Calls f(value) for the same entries in the same order, and for those in fixed columns as well.
  template <class F> HD void each_value(int row, const F &f) const
  {
    for (Index e = m.i[row]; e < m.i[row + 1]; ++e) f(m.a[e]);
    if (!m.oi) return;
    for (Index e = m.oi[row]; e < m.oi[row + 1]; ++e) f(m.o[e]);
  }
  // Calls f(k, column, value) for the entries in the rows of a node; k: the unknown of the node whose row it is.
  template <class F> HD void each(int node, const F &f) const
  {
    for (int k = 0; k < bs; ++k)
      if (!constrained || !constrained[node * bs + k])
        each_of(node * bs + k, [&](int column, double v) { f(k, column, v); });
  }
};

HD inline double diagonal_entry(const Rows &m, int row)
{
  double d = 0;
  for (Index e = m.i[row]; e < m.i[row + 1]; ++e)
    if ((int)m.j[e] == row) d += m.a[e];
  return d;
}

// Are there single entries (one unknown per node), all of them of this process? Then kernels of a device read a row by
// 2^scalar_log_threads threads side by side, each of them two entries at once, as nothing else hides their latency.
// Threads of all rows are numbered by an int.
constexpr int scalar_log_threads = 2;
inline bool scalars(const Exec &exec, const Rows &rows, int bs)
{
  return exec.space == Space::cuda && bs == 1 && !rows.oi && rows.n < 1 << (30 - scalar_log_threads);
}
inline int shared_by(const Exec &exec, const Rows &rows, int bs)
{
  return scalars(exec, rows, bs) ? scalar_log_threads : 0;
}
// Two entries of a row and their places in it. `valid` is false for those in fixed columns and behind the row's end.
struct TwoEntries {
  int    column[2], at[2];
  double v[2];
  bool   valid[2];
};
// Calls f(two) for all entries of a row. Each of the row's threads calls it equally often; `thread` is the number of
// this one. columns: the entries' columns are wanted.
template <class F>
HD inline void each_two(const Rows &m, const unsigned char *constrained, bool columns, int row, int thread, const F &f)
{
#ifdef __CUDA_ARCH__
  constexpr int lanes = 1 << scalar_log_threads;
#else
  constexpr int lanes = 1;
#endif
  const Index begin = m.i[row], length = m.i[row + 1] - begin;
  for (Index e = 0; e < length; e += 2 * lanes) {
    TwoEntries two;
    for (int k = 0; k < 2; ++k) {
      two.at[k]        = (int)e + k * lanes + thread;
      two.valid[k]     = two.at[k] < length;
      const Index from = begin + (two.valid[k] ? two.at[k] : 0);
      two.column[k]    = columns && two.valid[k] ? (int)m.j[from] : 0;
      two.v[k]         = two.valid[k] ? m.a[from] : 0;
    }
    for (int k = 0; k < 2 && constrained; ++k) two.valid[k] = two.valid[k] && !constrained[two.column[k]];
    f(two);
  }
}

} // namespace tessera::tree
