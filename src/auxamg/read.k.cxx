// From the rows of a matrix to the operator of the first level: sorted, in blocks, without the unknowns that are fixed.
#include "auxamg/auxamg.hpp"
#include "auxamg/read.hpp"
#include "core/each.hpp"

namespace tessera::auxamg {

namespace {

// Rows of so many nodes are refused at once: lists around a cell are shorter, and searching longer ones takes for ever.
constexpr int longest_row = 65000;

// An unknown is fixed if its row has no other entries than the one on the diagonal, or none that count beside it: such a penalty would
// take all digits of the coarse operators. Couplings with the first kind are one-sided, those with the second have their equals in its rows.
enum Fixed : unsigned char { not_fixed, dirichlet, penalty };
constexpr double penalty_ratio = 1e12;

template <class Index> struct FindFixed {
  Rows<Index>    m;
  int            bs;
  unsigned char *fixed;
  int           *bad, *worst, *dense; // the first row, counted from the end, with an entry that is not finite; without a positive diagonal; too long
  HD void        operator()(int row) const
  {
    double    diagonal = 0, off = 0;
    const Index entries = m.i[row + 1] - m.i[row] + (m.oi ? m.oi[row + 1] - m.oi[row] : 0);
    if (entries > (Index)longest_row * bs) return raise_to(dense, m.n * bs - row);
    for (Index e = m.i[row]; e < m.i[row + 1]; ++e) {
      if ((int)m.j[e] == row) diagonal += m.a[e];
      else off += fabs(m.a[e]);
    }
    if (m.oi)
      for (Index e = m.oi[row]; e < m.oi[row + 1]; ++e) off += fabs(m.o[e]);
    if (!(diagonal - diagonal == 0) || !(off - off == 0)) raise_to(bad, m.n * bs - row);
    else if (!(diagonal > 0)) raise_to(worst, m.n * bs - row);
    fixed[row] = off == 0 ? dirichlet : off * penalty_ratio <= diagonal ? penalty : not_fixed;
  }
};
template <class Index> HD double diagonal_entry(const Rows<Index> &m, int row)
{
  double d = 0;
  for (Index e = m.i[row]; e < m.i[row + 1]; ++e)
    if ((int)m.j[e] == row) d += m.a[e];
  return d;
}
template <class Index> struct Diagonal {
  Rows<Index> m;
  double     *out;
  int         row;
  HD void     operator()(int) const { *out = diagonal_entry(m, row); }
};
template <class Index> struct InverseOfFixed {
  Rows<Index> m;
  const int  *list;
  double     *inverse;
  HD void     operator()(int p) const { inverse[p] = 1 / diagonal_entry(m, list[p]); }
};

// The nodes that the rows of a node are coupled with, by their numbers in the sorted order; fixed unknowns are left out.
template <class Index> struct FillPattern {
  RowReader<Index> m;
  const int       *perm, *where;
  const int       *bound;
  int             *list, *count;
  HD void          operator()(int p) const
  {
    int *const mine = list + bound[p];
    int        n    = 0;
    m.each(perm[p], [&](int, int column, double) {
      const int q = where[column / m.bs];
      if (m.bs > 1)
        for (int k = 0; k < n; ++k)
          if (mine[k] == q) return;
      mine[n++] = q;
    });
    count[p] = n;
  }
};
template <class Index> struct BoundPattern {
  RowReader<Index> m;
  const int       *perm;
  int             *count;
  HD void          operator()(int p) const
  {
    int n = 0;
    if (m.fixed || m.m.oi) m.each(perm[p], [&](int, int, double) { ++n; });
    else n = (int)(m.m.i[(ptrdiff_t)(perm[p] + 1) * m.bs] - m.m.i[(ptrdiff_t)perm[p] * m.bs]);
    count[p] = n;
  }
};
struct CopyRow {
  const int *from, *to, *list;
  int       *out;
  HD void    operator()(int p) const
  {
    for (int e = to[p]; e < to[p + 1]; ++e) out[e] = list[from[p] + e - to[p]];
  }
};
template <class Index, class T> struct FillValues {
  RowReader<Index> m;
  const int       *perm, *where, *i, *j;
  T               *a;
  HD void          operator()(int p) const
  {
    int at = i[p];
    for (ptrdiff_t e = (ptrdiff_t)m.bs * m.bs * i[p]; e < (ptrdiff_t)m.bs * m.bs * i[p + 1]; ++e) a[e] = 0;
    m.each(perm[p], [&](int k, int column, double v) {
      if (m.bs == 1) a[at++] = (T)v; // in the order of the pattern
      else {
        const int q = where[column / m.bs];
        int       e = i[p];
        while (j[e] != q) ++e;
        a[(ptrdiff_t)m.bs * m.bs * e + m.bs * k + column % m.bs] += (T)v;
      }
    });
  }
};

// Couplings of unknowns that are not fixed with Dirichlet rows.
template <class Index> struct OneSided {
  Rows<Index>          m;
  int                  bs;
  const unsigned char *fixed;
  const int           *perm, *where;
  const int           *begin; // or nullptr: count only
  int                 *count, *column;
  double              *value;
  HD void              operator()(int p) const
  {
    const int row = perm[p / bs] * bs + p % bs;
    int       n   = 0;
    if (!fixed[row]) {
      for (Index e = m.i[row]; e < m.i[row + 1]; ++e)
        if (fixed[m.j[e]] == dirichlet && m.a[e] != 0) put(p, n++, (int)m.j[e], m.a[e]);
      if (m.oi)
        for (Index e = m.oi[row]; e < m.oi[row + 1]; ++e)
          if (fixed[m.n * bs + m.ghost[m.oj[e]]] == dirichlet && m.o[e] != 0) put(p, n++, m.n * bs + m.ghost[m.oj[e]], m.o[e]);
    }
    if (!begin) count[p] = n;
  }
  HD void put(int p, int n, int unknown, double v) const
  {
    if (!begin) return;
    column[begin[p] + n] = where[unknown / bs] * bs + unknown % bs;
    value[begin[p] + n]  = v;
  }
};

} // namespace

template <class T> template <class Index> void Hierarchy<T>::find_fixed(const Rows<Index> &rows, Buffer<unsigned char> &fixed, Failure &failure)
{
  const int   unknowns = rows.n * params_.bs;
  Buffer<int> bad = make<int>(1), worst = make<int>(1), dense = make<int>(1);
  fixed = make<unsigned char>((size_t)(rows.n + rows.ghosts) * (size_t)params_.bs);
  for_each(exec_, unknowns, FindFixed<Index>{rows, params_.bs, fixed.data(), bad.data(), worst.data(), dense.data()});
  const int first_bad = fetch(bad, 0), first_worst = fetch(worst, 0), first_dense = fetch(dense, 0);
  failure = Failure();
  if (first_dense) {
    failure.kind = Failure::too_long;
    failure.row  = unknowns - first_dense;
  } else if (first_bad) {
    failure.kind = Failure::not_finite;
    failure.row  = unknowns - first_bad;
  } else if (first_worst) {
    failure.kind = Failure::diagonal;
    failure.row  = unknowns - first_worst;
    Buffer<double> d = make<double>(1);
    for_each(exec_, 1, Diagonal<Index>{rows, d.data(), (int)failure.row});
    failure.value = fetch(d, 0);
  }
}

template <class T> template <class Index> void Hierarchy<T>::read(const Rows<Index> &rows, bool pattern)
{
  Level<T>              &level = levels_[0];
  const RowReader<Index> reader{rows, params_.bs, any_fixed_ ? fixed_.data() : nullptr};
  if (pattern) {
    Buffer<int> bound = make<int>((size_t)level.n + 1);
    for_each(exec_, level.points, BoundPattern<Index>{reader, perm_.data(), bound.data()});
    Buffer<int> list = make<int>((size_t)scan(exec_, level.n, bound)), count = make<int>((size_t)level.n + 1);
    for_each(exec_, level.points, FillPattern<Index>{reader, perm_.data(), where_.data(), bound.data(), list.data(), count.data()});
    if (params_.bs == 1) { // a column stands once in a row
      level.i = std::move(bound);
      level.j = std::move(list);
    } else {
      level.j = make<int>((size_t)scan(exec_, level.n, count));
      level.i = std::move(count);
      for_each(exec_, level.points, CopyRow{bound.data(), level.i.data(), list.data(), level.j.data()});
    }
    level.a = make<T>(level.j.size() * (size_t)(params_.bs * params_.bs));
  }
  for_each(exec_, level.points, FillValues<Index, T>{reader, perm_.data(), where_.data(), level.i.data(), level.j.data(), level.a.data()});
  couplings(rows);
}

template <class T> template <class Index> void Hierarchy<T>::couplings(const Rows<Index> &rows)
{
  const int unknowns = rows.n * params_.bs;
  one_sided_         = false;
  if (!any_fixed_) return;
  fixed_inverse_ = make<double>(fixed_list_.size());
  for_each(exec_, (int)fixed_list_.size(), InverseOfFixed<Index>{rows, fixed_list_.data(), fixed_inverse_.data()});
  one_sided_i_ = make<int>((size_t)unknowns + 1);
  for_each(exec_, unknowns, OneSided<Index>{rows, params_.bs, fixed_.data(), perm_.data(), where_.data(), nullptr, one_sided_i_.data(), nullptr, nullptr});
  const int entries = scan(exec_, unknowns, one_sided_i_);
  one_sided_        = total(entries) > 0;
  if (!one_sided_) one_sided_i_ = Buffer<int>();
  one_sided_j_      = make<int>((size_t)entries);
  one_sided_a_      = make<double>((size_t)entries);
  if (one_sided_) for_each(exec_, unknowns, OneSided<Index>{rows, params_.bs, fixed_.data(), perm_.data(), where_.data(), one_sided_i_.data(), nullptr, one_sided_j_.data(), one_sided_a_.data()});
}

#define INSTANTIATE(T, Index) \
  template void    Hierarchy<T>::find_fixed(const Rows<Index> &, Buffer<unsigned char> &, Failure &); \
  template void    Hierarchy<T>::read(const Rows<Index> &, bool); \
  template void    Hierarchy<T>::couplings(const Rows<Index> &);
INSTANTIATE(double, int)
INSTANTIATE(double, int64_t)
INSTANTIATE(float, int)
INSTANTIATE(float, int64_t)

} // namespace tessera::auxamg
