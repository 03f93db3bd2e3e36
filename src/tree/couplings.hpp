// Couplings of clusters (agglomerate.hpp) on the host, row by row, and what they are when clusters become one.
#pragma once
#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

namespace tessera::tree {

// Those of a cluster with itself are listed, too, and are none.
template <class W> struct Couplings {
  const int *first, *to;
  const W   *weight;
  template <class F> void each(int k, const F &f) const // f(other cluster, how much)
  {
    for (int e = first[k]; e < first[k + 1]; ++e)
      if (to[e] != k) f(to[e], std::fabs((double)weight[e]));
  }
};
// Memory for more of them than there are, of which the rest is not touched: most of the time of a first round would be
// page faults.
struct Sums {
  std::vector<int>          first;
  std::unique_ptr<int[]>    to;
  std::unique_ptr<double[]> weight;
  Couplings<double>         couplings() const { return {first.data(), to.get(), weight.get()}; }
};

// The couplings of the new clusters, of which `all` are known: now[k] is that of the cluster k, and begin and member
// list those of each of the own ones.
template <class W>
Sums add_up(const Couplings<W> &between, const std::vector<int> &begin, const std::vector<int> &member,
            const std::vector<int> &now, size_t all)
{
  const int        n = (int)begin.size() - 1;
  const size_t     most = (member.empty() ? 0 : (size_t)between.first[member.size()]) + (size_t)n + 1;
  Sums             sums{std::vector<int>(begin.size()), std::unique_ptr<int[]>(new int[most]),
            std::unique_ptr<double[]>(new double[most])};
  std::vector<int> places(all, -1);
  int *const       to = sums.to.get(), *const place = places.data();
  double *const    weight = sums.weight.get();
  const int *const from = between.first, *const old = between.to, *const become = now.data();
  int              entries = 0;
  for (int k = 0; k < n; ++k) {
    const int start = entries++;
    place[k] = start, to[start] = k, weight[start] = weight[entries] = 0;
    for (int m = begin[(size_t)k]; m < begin[(size_t)k + 1]; ++m)
      for (int e = from[member[(size_t)m]], end = from[member[(size_t)m] + 1]; e < end; ++e) {
        // without branches, which nobody could predict
        const int q = become[old[e]], listed = place[q], is_new = listed < start;
        const int at = listed ^ ((listed ^ entries) & -is_new);
        place[q] = at, to[at] = q, weight[at] += std::fabs((double)between.weight[e]);
        weight[entries += is_new] = 0;
      }
    sums.first[(size_t)k + 1] = entries;
  }
  return sums;
}

} // namespace tessera::tree
