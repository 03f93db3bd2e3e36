// Dirichlet rows, and couplings with them that have no equals there.
#include "tree/hierarchy.hpp"
#include "tree/read.hpp"
#include "exec/each.hpp"

namespace tessera::tree {

namespace {

struct InverseOfConstrained {
  Rows m;
  const int  *list;
  double     *inverse;
  HD void     operator()(int p) const { inverse[p] = 1 / diagonal_entry(m, list[p]); }
};
// Couplings of unknowns that are not fixed with Dirichlet rows.
template <class F>
HD void each_one_sided(const Rows &m, int bs, const unsigned char *constrained, int row, const F &f)
{
  if (constrained[row]) return;
  for (Index e = m.i[row]; e < m.i[row + 1]; ++e)
    if (constrained[m.j[e]] == dirichlet) f((int)m.j[e], m.a[e]);
  if (m.oi)
    for (Index e = m.oi[row]; e < m.oi[row + 1]; ++e)
      if (constrained[m.n * bs + m.ghost[m.oj[e]]] == dirichlet) f(m.n * bs + m.ghost[m.oj[e]], m.o[e]);
}
struct OneSided {
  Rows          m;
  int                  bs;
  const unsigned char *constrained;
  const int           *perm, *where, *list;
  const int           *begin; // or nullptr: count only
  double               scale;
  int                 *count, *column;
  double              *value;
  HD void              operator()(int k) const
  {
    const int p = list[k];
    int       n = 0;
    each_one_sided(m, bs, constrained, perm[p / bs] * bs + p % bs, [&](int unknown, double v) {
      if (v == 0) return;
      if (begin) {
        column[begin[k] + n] = where[unknown / bs] * bs + unknown % bs;
        value[begin[k] + n]  = scale * v;
      }
      ++n;
    });
    if (!begin) count[k] = n;
  }
};
// What the couplings of free unknowns with each unknown of the first level give.
template <class T> struct SumColumns {
  const int    *i, *row;
  const double *a;
  const T      *x;
  double       *sums;
  HD void       operator()(int q) const
  {
    double s = 0;
    for (int e = i[q]; e < i[q + 1]; ++e) s += a[e] * x[row[e]];
    sums[q] = s;
  }
};
struct StoreConstrainedTransposed {
  const int    *list, *where;
  const double *inverse, *r, *sums;
  int           bs;
  double        scale, *z;
  HD void       operator()(int p) const
  {
    z[list[p]] = inverse[p] * (r[list[p]] - scale * sums[(ptrdiff_t)where[list[p] / bs] * bs + list[p] % bs]);
  }
};

} // namespace

template <class T> void Hierarchy<T>::couplings(const Rows &rows)
{
  one_sided_.any = false;
  if (!constrained_.any) return;
  const int n = (int)one_sided_.rows.size();
  constrained_.inverse = make<double>(constrained_.list.size());
  for_each(exec_, (int)constrained_.list.size(),
           InverseOfConstrained{rows, constrained_.list.data(), constrained_.inverse.data()});
  one_sided_.i = make<int>((size_t)n + 1);
  for_each(exec_, n,
           OneSided{rows, params_.bs, constrained_.kind.data(), perm_.data(), where_.data(),
                           one_sided_.rows.data(), nullptr, scale_, one_sided_.i.data(), nullptr, nullptr});
  const int entries = scan(exec_, n, one_sided_.i);
  one_sided_.any        = total(entries) > 0;
  one_sided_.j      = make<int>((size_t)entries);
  one_sided_.a      = make<double>((size_t)entries);
  if (one_sided_.any)
    for_each(exec_, n,
             OneSided{rows, params_.bs, constrained_.kind.data(), perm_.data(), where_.data(),
                             one_sided_.rows.data(), one_sided_.i.data(), scale_, nullptr, one_sided_.j.data(),
                             one_sided_.a.data()});
}

// z_F = D^-1 (r_F - A_IF' z_I), where z_I is what the cycle has left, times scale
template <class T> void Hierarchy<T>::store_constrained_transposed(const double *r, double scale, double *z)
{
  Level<T> &level = levels_[0];
  auto     &t = one_sided_.transpose;
  if (t.sums.size() != level.work.x.size()) t.sums = make<double>(level.work.x.size());
  const SumColumns<T> columns{t.i.data(), t.row.data(), t.a.data(), level.work.x.data(), t.sums.data()};
  for_each(exec_, (int)t.i.size() - 1, columns);
  if (level.distributed) level.exchange.add_back(t.sums.data(), params_.bs);
  for_each(exec_, (int)constrained_.list.size(),
           StoreConstrainedTransposed{constrained_.list.data(), where_.data(), constrained_.inverse.data(), r,
                                      t.sums.data(), params_.bs, scale, z});
}

#define INSTANTIATE(T) \
  template void Hierarchy<T>::couplings(const Rows &); \
  template void Hierarchy<T>::store_constrained_transposed(const double *, double, double *);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
