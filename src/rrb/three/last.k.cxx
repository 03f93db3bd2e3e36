// The inverse of the last grid's operator, and what stands in its way.
#include "exec/chunk.hpp"
#include "exec/each.hpp"
#include "rrb/three/hierarchy.hpp"
#include <algorithm>

namespace tessera::rrb::three {

template <class T> void name_node(const std::vector<Level<T>> &levels, size_t k, double from, int node[3])
{
  const Level<T> &l = levels[k];
  const long long p = (long long)from - 1;
  node[0] = (int)(p % l.n[0]), node[1] = (int)(p / l.n[0] % l.n[1]), node[2] = (int)(p / l.n[0] / l.n[1]);
  for (; k; --k)
    for (int d = 0; d < 3; ++d)
      if (levels[k - 1].step[d] == 2) node[d] = std::min(2 * node[d] + 1, levels[k - 1].n[d] - 1);
}

// f(row, column, place of the row's node, place of the column's, where the entry is among the planes) for all entries
// that the last grid's operator may have, row by row: node (i, j, k) is row i + n[0] (j + n[1] k).
template <class T, class F> static void each_entry(const Level<T> &l, const F &f)
{
  const ptrdiff_t plane = (ptrdiff_t)l.layout.size();
  const auto      wrap  = [&](int i, int d) {
    return i >= 0 && i < l.n[d] ? i : (l.periodic[d] ? (i + l.n[d]) % l.n[d] : -1);
  };
  for (int k = 0; k < l.n[2]; ++k)
    for (int j = 0; j < l.n[1]; ++j)
      for (int i = 0; i < l.n[0]; ++i) {
        const ptrdiff_t e   = l.layout.at(i, j, k);
        const int       row = i + l.n[0] * (j + l.n[1] * k);
        f(row, row, e, e, e);
        for (int m = 0; m < (l.star ? box::star_forward : box::box_forward); ++m)
          for (int side : {1, -1}) {
            const int to[3] = {wrap(i + side * box::forward(m, 0), 0), wrap(j + side * box::forward(m, 1), 1),
                               wrap(k + side * box::forward(m, 2), 2)};
            if (to[0] < 0 || to[1] < 0 || to[2] < 0) continue;
            const ptrdiff_t there = l.layout.at(to[0], to[1], to[2]);
            f(row, to[0] + l.n[0] * (to[1] + l.n[1] * to[2]), e, there, (m + 1) * plane + (side > 0 ? e : there));
          }
      }
}

// An entry of the operator: of the diagonal what is positive, couplings between nodes that have some.
template <class T> struct Entry {
  const ptrdiff_t *node, *beside, *from;
  const T         *a;
  const uint8_t   *alive;
  T               *to;
  HD void          operator()(int e) const
  {
    const T    v    = a[from[e]];
    const bool here = node[e] == beside[e] && from[e] == node[e] ? v > 0 : alive[node[e]] && alive[beside[e]];
    to[e] = here ? v : 0;
  }
};

// The same on the host, dense.
template <class T> static std::vector<double> dense_operator(const Level<T> &l)
{
  const ptrdiff_t      plane = (ptrdiff_t)l.layout.size();
  std::vector<T>       a((size_t)plane * (1 + (l.star ? box::star_forward : box::box_forward)));
  std::vector<uint8_t> alive((size_t)plane);
  copy(l.a.data(), l.exec.space, a.data(), Space::host, a.size());
  copy(l.alive.data(), l.exec.space, alive.data(), Space::host, alive.size());
  const size_t        n = (size_t)l.nodes();
  std::vector<double> dense(n * n);
  each_entry(l, [&](int row, int column, ptrdiff_t node, ptrdiff_t beside, ptrdiff_t from) {
    T entry;
    Entry<T>{&node, &beside, &from, a.data(), alive.data(), &entry}(0);
    dense[(size_t)row * n + (size_t)column] += entry;
  });
  return dense;
}

template <class T> void LastGrid<T>::list_nodes(const Level<T> &l)
{
  const Space            space = l.exec.space;
  std::vector<int>       begin, column;
  std::vector<ptrdiff_t> places, node, beside, from;
  each_entry(l, [&](int row, int other, ptrdiff_t at, ptrdiff_t there, ptrdiff_t of) {
    if (row == (int)begin.size()) {
      begin.push_back((int)column.size());
      places.push_back(at);
    }
    column.push_back(other), node.push_back(at), beside.push_back(there), from.push_back(of);
  });
  begin.push_back((int)column.size());
  places_ = copy_to(space, places);
  for (auto &f : packed_) f.resize(Extent{places.size(), space});
  if (chunk_of(l.exec) > 1) return;
  row_begin_ = copy_to(space, begin), column_ = copy_to(space, column);
  node_ = copy_to(space, node), beside_ = copy_to(space, beside), from_ = copy_to(space, from);
  entry_.resize(Extent{column.size(), space});
  norm2_.resize(Extent{1, space});
  device::synchronize(space);
}

// By a device, where that can do it and the operator is regular.
template <class T> bool LastGrid<T>::invert_there(const Level<T> &l)
{
  double norm2 = -1;
  if (chunk_of(l.exec) > 1) return false;
  for_each(l.exec, (int)entry_.size(), Entry<T>{node_.data(), beside_.data(), from_.data(), l.a.data(),
                                                l.alive.data(), entry_.data()});
  if (!exact_.invert_rows(l.exec, row_begin_.data(), column_.data(), entry_.data(), (int)places_.size(), 1,
                          norm2_.data()))
    return false;
  copy(norm2_.data(), l.exec.space, &norm2, Space::host, 1);
  return exact_.suffices(norm2);
}

template <class T>
typename multigrid::ExactSolver<T>::Result LastGrid<T>::invert(const Level<T> &l, const Comm &comm)
{
  if (places_.empty()) list_nodes(l);
  exact_.place(l.exec, comm, (int)places_.size(), false);
  if (invert_there(l)) return multigrid::ExactSolver<T>::Result::done;
  std::vector<double> dense = dense_operator(l);
  double              negative;
  return exact_.invert(l.exec, dense, negative);
}

template <class T> void LastGrid<T>::solve(Level<T> &l, const Comm &comm)
{
  const int n = (int)places_.size();
  for_each(l.exec, n, GatherValues<T, ptrdiff_t>{places_.data(), l.b.data(), packed_[0].data()});
  exact_.solve(l.exec, comm, n, false, false, packed_[0].data(), packed_[1].data());
  for_each(l.exec, n, ScatterValues<T, ptrdiff_t>{places_.data(), packed_[1].data(), l.x.data()});
}

template <class T> size_t LastGrid<T>::bytes() const
{
  return places_.bytes() + packed_[0].bytes() + packed_[1].bytes() + exact_.bytes() + row_begin_.bytes() +
         column_.bytes() + node_.bytes() + beside_.bytes() + from_.bytes() + entry_.bytes() + norm2_.bytes();
}

// The node of the last grid whose pivot is the least, relative to its diagonal entry.
template <class T> void Hierarchy<T>::name_pivot(Failure &failure) const
{
  const size_t        n     = (size_t)levels_.back().nodes();
  std::vector<double> dense = dense_operator(levels_.back()), diagonal(n);
  double              least = 0;
  size_t              at    = 0;
  for (size_t p = 0; p < n; ++p) diagonal[p] = dense[p * n + p];
  for (size_t p = 0; p < n; ++p) {
    const double pivot = dense[p * n + p];
    if (diagonal[p] > 0 && pivot / diagonal[p] < least) least = pivot / diagonal[p], at = p;
    if (!(pivot > 0)) continue;
    for (size_t q = p + 1; q < n; ++q) {
      const double factor = dense[q * n + p] / pivot;
      for (size_t r = p + 1; factor != 0 && r < n; ++r) dense[q * n + r] -= factor * dense[p * n + r];
    }
  }
  name_node(levels_, levels_.size() - 1, (double)at + 1, failure.node);
}

template <class T> void Hierarchy<T>::invert(Failure &failure)
{
  const auto result  = last_.invert(levels_.back(), comm_);
  failure.failed     = result != multigrid::ExactSolver<T>::Result::done;
  failure.not_finite = result == multigrid::ExactSolver<T>::Result::not_finite;
  failure.grid       = deepest();
  if (failure.failed && !failure.not_finite) name_pivot(failure);
}

#define INSTANTIATE(T) \
  template class LastGrid<T>; \
  template void name_node(const std::vector<Level<T>> &, size_t, double, int[3]); \
  template void Hierarchy<T>::name_pivot(Failure &) const; \
  template void Hierarchy<T>::invert(Failure &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::rrb::three
