// Which unknowns belong together: Kruskal's algorithm, up to a size.
#include "tree/blocks.hpp"
#include <algorithm>
#include <numeric>

namespace tessera::tree {

namespace {

struct Forest {
  std::vector<int> parent, size;
  explicit Forest(size_t n) : parent(n), size(n, 1) { std::iota(parent.begin(), parent.end(), 0); }
  int root(int k)
  {
    while (parent[(size_t)k] != k) k = parent[(size_t)k] = parent[(size_t)parent[(size_t)k]];
    return k;
  }
  void join(int a, int b, int most)
  {
    a = root(a);
    b = root(b);
    if (a == b || size[(size_t)a] + size[(size_t)b] > most) return;
    if (a > b) std::swap(a, b);
    parent[(size_t)b] = a;
    size[(size_t)a] += size[(size_t)b];
  }
};

} // namespace

std::vector<std::vector<long long>> join_strongly(std::vector<StrongCoupling> list, int most)
{
  struct Unknown {
    Key       key;
    long long name;
    bool      operator<(const Unknown &o) const { return key != o.key ? key < o.key : name < o.name; }
    bool      operator==(const Unknown &o) const { return name == o.name; }
  };
  std::vector<Unknown> all;
  for (const StrongCoupling &c : list)
    for (int k = 0; k < 2; ++k) all.push_back({c.key[k], c.end[k]});
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto number = [&](const StrongCoupling &c, int k) {
    return (int)(std::lower_bound(all.begin(), all.end(), Unknown{c.key[k], c.end[k]}) - all.begin());
  };
  struct Edge {
    int  strength, a, b;
    bool operator<(const Edge &o) const
    {
      return strength != o.strength ? strength > o.strength : a != o.a ? a < o.a : b < o.b;
    }
  };
  std::vector<Edge> edges;
  for (const StrongCoupling &c : list) {
    const int a = number(c, 0), b = number(c, 1);
    edges.push_back({c.strength, std::min(a, b), std::max(a, b)});
  }
  std::sort(edges.begin(), edges.end());
  Forest forest(all.size());
  for (const Edge &e : edges) forest.join(e.a, e.b, most);
  std::vector<int>                    block(all.size(), -1);
  std::vector<std::vector<long long>> blocks;
  for (int k = 0; k < (int)all.size(); ++k) {
    const int root = forest.root(k);
    if (forest.size[(size_t)root] < 2) continue;
    if (block[(size_t)root] < 0) {
      block[(size_t)root] = (int)blocks.size();
      blocks.emplace_back();
    }
    blocks[(size_t)block[(size_t)root]].push_back(all[(size_t)k].name);
  }
  return blocks;
}

} // namespace tessera::tree
