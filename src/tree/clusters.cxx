// Which unknowns belong together: Kruskal's algorithm, up to a size.
#include "tree/clusters.hpp"
#include "exec/sets.hpp"
#include <algorithm>
#include <numeric>

namespace tessera::tree {

namespace {

// Sorts by numbers of(c) below `numbers`; equal ones keep their order.
template <class Of> void sort_by(std::vector<StrongCoupling> &list, size_t numbers, const Of &of)
{
  std::vector<int>            at(numbers + 1);
  std::vector<StrongCoupling> sorted(list.size());
  for (const StrongCoupling &c : list) ++at[(size_t)of(c) + 1];
  std::partial_sum(at.begin(), at.end(), at.begin());
  for (const StrongCoupling &c : list) sorted[(size_t)at[(size_t)of(c)]++] = c;
  list = std::move(sorted);
}

} // namespace

Blocks<int> join_strongly(std::vector<StrongCoupling> list, int n, int max_size)
{
  int strongest = 0;
  for (StrongCoupling &c : list) {
    if (c.a > c.b) std::swap(c.a, c.b);
    strongest = std::max(strongest, c.strength);
  }
  sort_by(list, (size_t)n, [](const StrongCoupling &c) { return c.b; });
  sort_by(list, (size_t)n, [](const StrongCoupling &c) { return c.a; });
  sort_by(list, (size_t)strongest + 1, [&](const StrongCoupling &c) { return strongest - c.strength; });
  Sets             sets((size_t)n);
  std::vector<int> size((size_t)n, 1); // of each set, where its root is
  for (const StrongCoupling &c : list) {
    const int a = sets.root(c.a), b = sets.root(c.b), together = size[(size_t)a] + size[(size_t)b];
    if (a == b || together > max_size) continue;
    sets.join(a, b);
    size[(size_t)sets.root(a)] = together;
  }
  Blocks<int>      blocks;
  std::vector<int> next((size_t)n); // place of each root's next member
  for (int k = 0; k < n; ++k) {     // a root is the least of its set
    const int root = sets.root(k);
    if (size[(size_t)root] < 2) continue;
    if (root == k) {
      next[(size_t)k] = blocks.begin.back();
      blocks.begin.push_back(blocks.begin.back() + size[(size_t)k]);
      blocks.member.resize((size_t)blocks.begin.back());
    }
    blocks.member[(size_t)next[(size_t)root]++] = k;
  }
  return blocks;
}

std::vector<Named> name_unknowns(const CouplingLists &lists, const std::vector<double> &names, int bs)
{
  std::vector<Named> list;
  for (size_t u = 0; u < lists.unknown.size(); ++u) {
    const int           at = lists.unknown[u] % bs; // of its node
    const double *const of = names.data() + 4 * u;
    list.push_back({(((Key)of[2] << 32) + (Key)of[3]) * (Key)bs + (Key)at,
                    unknown_of((int)of[0], (int)of[1] * bs + at)});
  }
  return list;
}

Blocks<long long> join_named(const std::vector<NamedCoupling> &list, int max_size)
{
  std::vector<Named> all;
  for (const NamedCoupling &c : list) all.insert(all.end(), c.end, c.end + 2);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto number = [&](const Named &u) { return (int)(std::lower_bound(all.begin(), all.end(), u) - all.begin()); };
  std::vector<StrongCoupling> couplings;
  for (const NamedCoupling &c : list) couplings.push_back({c.strength, number(c.end[0]), number(c.end[1])});
  const Blocks<int> of = join_strongly(std::move(couplings), (int)all.size(), max_size);
  Blocks<long long> blocks{of.begin, {}};
  for (int k : of.member) blocks.member.push_back(all[(size_t)k].name);
  return blocks;
}

Blocks<long long> join_own(const CouplingLists &lists, const std::vector<Named> &names,
                           const std::vector<char> &left_out)
{
  const size_t     n = lists.unknown.size();
  std::vector<int> order(n), place(n);
  std::iota(order.begin(), order.end(), 0);
  if (!std::is_sorted(names.begin(), names.end()))
    std::sort(order.begin(), order.end(), [&](int a, int b) { return names[(size_t)a] < names[(size_t)b]; });
  for (size_t k = 0; k < n; ++k) place[(size_t)order[k]] = (int)k;
  std::vector<StrongCoupling> couplings;
  for (size_t k = 0; k < lists.from.size(); ++k) {
    const size_t a = (size_t)lists.from[k], b = (size_t)lists.to[k];
    if (left_out.empty() || !left_out[a]) couplings.push_back({lists.strength[k], place[a], place[b]});
  }
  const Blocks<int> of = join_strongly(std::move(couplings), (int)n, max_in_strong_block);
  Blocks<long long> blocks{of.begin, {}};
  for (int k : of.member) {
    const size_t u = (size_t)order[(size_t)k];
    blocks.member.push_back(names.empty() ? lists.unknown[u] : names[u].name);
  }
  return blocks;
}

} // namespace tessera::tree
