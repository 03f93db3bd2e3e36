// The inverse of the last grid's operator, and what stands in its way.
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

// The operator of the last grid, as ExactSolver takes it: node (i, j, k) is row i + n[0] (j + n[1] k).
template <class T> static std::vector<double> dense_operator(const Level<T> &l)
{
  const ptrdiff_t      plane = (ptrdiff_t)l.layout.size();
  std::vector<T>       a((size_t)plane * (1 + (l.star ? box::star_forward : box::box_forward)));
  std::vector<uint8_t> alive((size_t)plane);
  copy(l.a.data(), l.exec.space, a.data(), Space::host, a.size());
  copy(l.alive.data(), l.exec.space, alive.data(), Space::host, alive.size());
  const size_t        n = (size_t)l.nodes();
  std::vector<double> dense(n * n);
  const auto          wrap = [&](int i, int d) {
    return i >= 0 && i < l.n[d] ? i : (l.periodic[d] ? (i + l.n[d]) % l.n[d] : -1);
  };
  const auto row = [&](int i, int j, int k) { return (size_t)i + (size_t)l.n[0] * ((size_t)j + (size_t)l.n[1] * k); };
  for (int k = 0; k < l.n[2]; ++k)
    for (int j = 0; j < l.n[1]; ++j)
      for (int i = 0; i < l.n[0]; ++i) {
        const ptrdiff_t e = l.layout.at(i, j, k);
        const size_t    p = row(i, j, k);
        dense[p * n + p] += a[(size_t)e] > 0 ? a[(size_t)e] : 0;
        box::unroll3<0, box::box_forward>([&](auto m) {
          constexpr int M = decltype(m)::value;
          if (l.star && M >= box::star_forward) return;
          const int to[3] = {wrap(i + box::forward<M>(0), 0), wrap(j + box::forward<M>(1), 1),
                             wrap(k + box::forward<M>(2), 2)};
          if (to[0] < 0 || to[1] < 0 || to[2] < 0) return;
          const ptrdiff_t f = l.layout.at(to[0], to[1], to[2]);
          if (!alive[(size_t)e] || !alive[(size_t)f]) return;
          const size_t q = row(to[0], to[1], to[2]);
          const double v = a[(size_t)((M + 1) * plane + e)];
          dense[p * n + q] += v, dense[q * n + p] += v;
        });
      }
  return dense;
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

// The pseudo-inverse of the last grid's operator.
template <class T> void Hierarchy<T>::invert(Failure &failure)
{
  const Level<T>     &l     = levels_.back();
  std::vector<double> dense = dense_operator(l);
  double              negative;
  exact_.place(exec_, comm_, (int)l.nodes(), false);
  const auto result  = exact_.invert(exec_, dense, negative);
  failure.failed     = result != multigrid::ExactSolver<T>::Result::done;
  failure.not_finite = result == multigrid::ExactSolver<T>::Result::not_finite;
  failure.grid       = last();
  if (failure.failed && !failure.not_finite) name_pivot(failure);
  if (places_.size()) return;
  std::vector<ptrdiff_t> places;
  for (int k = 0; k < l.n[2]; ++k)
    for (int j = 0; j < l.n[1]; ++j)
      for (int i = 0; i < l.n[0]; ++i) places.push_back(l.layout.at(i, j, k));
  places_ = copy_to(exec_.space, places);
  for (auto &f : packed_) f.resize(Extent{places.size(), exec_.space});
}

#define INSTANTIATE(T) \
  template void name_node(const std::vector<Level<T>> &, size_t, double, int[3]); \
  template void Hierarchy<T>::name_pivot(Failure &) const; \
  template void Hierarchy<T>::invert(Failure &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::rrb::three
