// Which unknowns belong together: Kruskal's algorithm, up to a size.
#include "tree/clusters.hpp"
#include "exec/sets.hpp"
#include <algorithm>

namespace tessera::tree {

std::vector<std::vector<int>> join_strongly(std::vector<StrongCoupling> list, int n, int max_size)
{
  for (StrongCoupling &c : list)
    if (c.a > c.b) std::swap(c.a, c.b);
  std::sort(list.begin(), list.end(), [](const StrongCoupling &p, const StrongCoupling &q) {
    return p.strength != q.strength ? p.strength > q.strength : p.a != q.a ? p.a < q.a : p.b < q.b;
  });
  Sets             sets((size_t)n);
  std::vector<int> size((size_t)n, 1); // of each set, where its name is
  for (const StrongCoupling &c : list) {
    const int a = sets.root(c.a), b = sets.root(c.b), together = size[(size_t)a] + size[(size_t)b];
    if (a == b || together > max_size) continue;
    sets.join(a, b);
    size[(size_t)sets.root(a)] = together;
  }
  std::vector<int>              block((size_t)n, -1);
  std::vector<std::vector<int>> blocks;
  for (int k = 0; k < n; ++k) {
    const int root = sets.root(k);
    if (size[(size_t)root] < 2) continue;
    if (block[(size_t)root] < 0) {
      block[(size_t)root] = (int)blocks.size();
      blocks.emplace_back();
    }
    blocks[(size_t)block[(size_t)root]].push_back(k);
  }
  return blocks;
}

std::vector<NamedCoupling> name_couplings(const CouplingLists &lists, const std::vector<double> &names, int bs)
{
  std::vector<NamedCoupling> list(lists.from.size());
  for (size_t k = 0; k < list.size(); ++k) {
    list[k].strength = lists.strength[k];
    for (int end = 0; end < 2; ++end) {
      const size_t        u  = (size_t)(end ? lists.to : lists.from)[k];
      const int           at = lists.unknown[u] % bs; // of its node
      const double *const of = names.data() + 4 * u;
      list[k].end[end] = {(((Key)of[2] << 32) + (Key)of[3]) * (Key)bs + (Key)at,
                          unknown_of((int)of[0], (int)of[1] * bs + at)};
    }
  }
  return list;
}

std::vector<std::vector<long long>> join_named(const std::vector<NamedCoupling> &list, int max_size)
{
  std::vector<Named> all;
  for (const NamedCoupling &c : list) all.insert(all.end(), c.end, c.end + 2);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto number = [&](const Named &u) { return (int)(std::lower_bound(all.begin(), all.end(), u) - all.begin()); };
  std::vector<StrongCoupling> couplings;
  for (const NamedCoupling &c : list) couplings.push_back({c.strength, number(c.end[0]), number(c.end[1])});
  std::vector<std::vector<long long>> blocks;
  for (const std::vector<int> &block : join_strongly(std::move(couplings), (int)all.size(), max_size)) {
    blocks.emplace_back();
    for (int k : block) blocks.back().push_back(all[(size_t)k].name);
  }
  return blocks;
}

std::vector<std::vector<long long>> join_own(const CouplingLists &lists)
{
  std::vector<StrongCoupling> couplings;
  for (size_t k = 0; k < lists.from.size(); ++k)
    couplings.push_back({lists.strength[k], lists.from[k], lists.to[k]});
  std::vector<std::vector<long long>> blocks;
  for (const std::vector<int> &block :
       join_strongly(std::move(couplings), (int)lists.unknown.size(), max_in_strong_block)) {
    blocks.emplace_back();
    for (int k : block) blocks.back().push_back(lists.unknown[(size_t)k]);
  }
  return blocks;
}

} // namespace tessera::tree
