// The blocks of PC auxamg's smoother: which unknowns belong together, and the inverses, on a host and on a device.
#include "auxamg_case.hpp"
#include "exec/clusters.hpp"
#include "tree/part_functions/agglomerate.hpp"
#include "tree/part_functions/agglomeration.hpp"
#include "tree/smoother/blocks.hpp"
#include "tree/smoother/invert.hpp"
#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <map>
#include <random>
#include <tuple>

using namespace tessera;
using namespace tessera::tree;

namespace {

struct Pair {
  int strength, a, b;
};
using Lists = std::vector<std::vector<int>>;
Lists joined(const std::vector<Pair> &pairs, int n, int max_size, const Exec &where)
{
  std::vector<int> strength, a, b;
  for (const Pair &p : pairs) strength.push_back(p.strength), a.push_back(p.a), b.push_back(p.b);
  const Clusters    of = join_strongest(where, {put(strength, where), put(a, where), put(b, where)}, n, max_size);
  const std::vector<int> begin = get(of.begin), member = get(of.member);
  Lists             to;
  for (int c = 0; c < of.count(); ++c)
    to.emplace_back(member.begin() + begin[(size_t)c], member.begin() + begin[(size_t)c + 1]);
  return to;
}

// Kruskal's algorithm in its plainest form.
Lists reference(std::vector<Pair> pairs, int n, int max_size)
{
  for (Pair &p : pairs)
    if (p.a > p.b) std::swap(p.a, p.b);
  std::sort(pairs.begin(), pairs.end(), [](const Pair &p, const Pair &q) {
    return std::make_tuple(-p.strength, p.a, p.b) < std::make_tuple(-q.strength, q.a, q.b);
  });
  Lists            of((size_t)n), to;
  std::vector<int> in((size_t)n);
  for (int k = 0; k < n; ++k) of[(size_t)k] = {k}, in[(size_t)k] = k;
  for (const Pair &p : pairs) {
    const int   a = in[(size_t)p.a], b = in[(size_t)p.b];
    auto &big = of[(size_t)a], &small = of[(size_t)b];
    if (a == b || big.size() + small.size() > (size_t)max_size) continue;
    for (int k : small) in[(size_t)k] = a, big.push_back(k);
    small.clear();
  }
  for (auto &list : of)
    if (list.size() > 1) std::sort(list.begin(), list.end()), to.push_back(list);
  std::sort(to.begin(), to.end(), [](const std::vector<int> &p, const std::vector<int> &q) {
    return std::make_pair(p.size(), p) < std::make_pair(q.size(), q);
  });
  return to;
}

} // namespace

TEST(auxamg_blocks, strongest_first)
{
  // a chain 0 - 1 - 2 - 3 - 4 whose couplings 1 - 2 and 3 - 4 are the strongest
  const std::vector<Pair> chain = {{10, 0, 1}, {30, 1, 2}, {10, 2, 3}, {20, 3, 4}};
  EXPECT_EQ(joined(chain, 5, 2, exec()), (Lists{{1, 2}, {3, 4}}));
  EXPECT_EQ(joined(chain, 5, 3, exec()), (Lists{{3, 4}, {0, 1, 2}}));
  EXPECT_EQ(joined(chain, 5, 5, exec()), (Lists{{0, 1, 2, 3, 4}}));
  EXPECT_EQ(joined(chain, 5, 1, exec()), Lists{});
  EXPECT_EQ(joined({}, 5, 16, exec()), Lists{});
  EXPECT_EQ(joined({}, 0, 16, exec()), Lists{});
}

// Any order, either way round and twice; strengths that are all the same, where a pair waits for the one before it on a
// chain in order; and chains that take a device more rounds than it makes.
TEST(auxamg_blocks, kruskal)
{
  std::mt19937 random(7);
  for (int strengths : {1, 8, strongest_pair + 1})
    for (int n : {300, 3000}) {
      std::vector<Pair> list;
      for (int k = 0; k < n; ++k) {
        const int a = (int)(random() % (unsigned)n), b = (int)(random() % (unsigned)n);
        if (a != b) list.push_back({(int)(random() % (unsigned)strengths), a, b});
      }
      for (int k = 0; k + 1 < n / 2; ++k) list.push_back({strengths / 2, k, k + 1});
      for (size_t k = 0, size = list.size(); k < size; ++k) list.push_back({list[k].strength, list[k].b, list[k].a});
      std::shuffle(list.begin(), list.end(), random);
      for (int max_size : {2, 16, n}) {
        const Lists expected = reference(list, n, max_size);
        EXPECT_GT(expected.size(), 0u);
        EXPECT_EQ(joined(list, n, max_size, exec()), expected) << strengths << " strengths, " << n << ", " << max_size;
      }
    }
}

TEST(auxamg_blocks, inverses)
{
  std::mt19937                           random(3);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int n = 1; n <= max_strong_block; ++n) {
    std::vector<double> root((size_t)(n * n)), a(root.size()), inverse;
    for (double &v : root) v = unit(random);
    for (int k = 0; k < n; ++k)
      for (int q = 0; q < n; ++q) {
        a[(size_t)(k * n + q)] = k == q ? 0.1 : 0;
        for (int m = 0; m < n; ++m) a[(size_t)(k * n + q)] += root[(size_t)(k * n + m)] * root[(size_t)(q * n + m)];
      }
    inverse = a;
    invert_block<max_strong_block>(inverse.data(), n, dead_pivot<double>);
    for (int k = 0; k < n; ++k)
      for (int q = 0; q < n; ++q) {
        double sum = 0;
        for (int m = 0; m < n; ++m) sum += inverse[(size_t)(k * n + m)] * a[(size_t)(m * n + q)];
        EXPECT_NEAR(sum, k == q, 1e-9);
      }
  }
  double singular[] = {1, -1, -1, 1}; // one of the two is left out
  invert_block<max_strong_block>(singular, 2, dead_pivot<double>);
  EXPECT_EQ(singular[0], 1);
  EXPECT_EQ(singular[1], 0);
  EXPECT_EQ(singular[2], 0);
  EXPECT_EQ(singular[3], 0);
}

namespace {

// The labels of a plane mesh of one process, by its operator.
std::vector<double> labels_of(const std::vector<int> &i, const std::vector<int> &j, const std::vector<double> &a,
                              const std::vector<double> &inverse, bool device)
{
  const Exec    where = device ? exec() : Exec();
  Level<double> level(where, 1);
  level.n = (int)inverse.size(), level.nodes = level.n;
  level.i = put(i, where), level.j = put(j, where), level.a = put(a, where), level.inverse = put(inverse, where);
  return get(agglomerate(MPI_COMM_SELF, level, 2, {}));
}

// The rounds by which clusters grow, one after the other of all of them: the labels, and how many rounds.
struct GrownByRounds {
  std::vector<double> labels;
  int                 rounds = 0;
  GrownByRounds(const std::vector<std::map<int, double>> &row, const Rules &rules)
  {
    const int            n = (int)row.size();
    std::vector<int>     of((size_t)n);
    std::vector<Cluster> cluster((size_t)n);
    for (int p = 0; p < n; ++p) {
      of[(size_t)p] = p;
      cluster[(size_t)p].id = p, cluster[(size_t)p].diagonal = row[(size_t)p].at(p);
    }
    for (bool again = true; again; ++rounds) {
      std::vector<std::map<int, double>> between((size_t)n);
      for (int p = 0; p < n; ++p)
        for (const auto &e : row[(size_t)p])
          if (of[(size_t)p] != of[(size_t)e.first])
            between[(size_t)of[(size_t)p]][of[(size_t)e.first]] += std::fabs(e.second);
      std::vector<int> parent((size_t)n);
      const auto       root = [&](int k) {
        while (parent[(size_t)k] != k) k = parent[(size_t)k];
        return k;
      };
      for (int k = 0; k < n; ++k) parent[(size_t)k] = k;
      const auto join = [&](int k, int q) {
        const int a = root(k), b = root(q);
        parent[(size_t)std::max(a, b)] = std::min(a, b);
      };
      again = false;
      for (int k = 0; k < n; ++k) {
        cluster[(size_t)k].outside = 0;
        for (const auto &e : between[(size_t)k]) cluster[(size_t)k].outside += e.second;
      }
      for (int k = 0; k < n; ++k) {
        const Cluster &c = cluster[(size_t)k];
        if (of[(size_t)k] != k) continue;
        Pick pick;
        for (const auto &e : between[(size_t)k])
          if (pick.at < 0 || e.second > between[(size_t)k][pick.at])
            pick.at = e.first, pick.weight = rounded(e.second);
        if (pick.at < 0 || rules.has_closed(c)) continue;
        join(k, pick.at);
        for (const auto &e : between[(size_t)k])
          if (rules.takes_in(c, pick, rules.closed_nodes(cluster[(size_t)e.first]), e.second)) join(k, e.first);
        again = true;
      }
      for (int k = 0; k < n; ++k)
        if (of[(size_t)k] == k && root(k) != k) cluster[(size_t)root(k)].join(cluster[(size_t)k]);
      for (int &k : of) k = root(k);
    }
    for (int k : of) labels.push_back(rules.counts(cluster[(size_t)k]) ? cluster[(size_t)k].id : -1);
  }
};

} // namespace

// Squares of nodes between barriers, some of which leak: all nodes of a label are in one square or in several that a
// leak ties together, and hardly anything leaves it; the same labels on a device.
TEST(auxamg_blocks, clusters_between_barriers)
{
  for (const unsigned seed : {1u, 2u, 3u}) {
    const int           side = 8, m = 12 * side, n = m * m;
    std::mt19937        random(seed);
    std::vector<double> diagonal((size_t)n), A;
    std::vector<std::map<int, double>> row((size_t)n);
    const auto weight = [&](int p, int q) {
      const bool within = p % m / side == q % m / side && p / m / side == q / m / side;
      return (within || random() % 100 == 0 ? 1 : 1e-5) * (0.5 + (double)(random() % 1000) / 1000);
    };
    const auto couple = [&](int p, int q) {
      const double w = weight(p, q);
      row[(size_t)p][q] = row[(size_t)q][p] = -w;
      diagonal[(size_t)p] += w, diagonal[(size_t)q] += w;
    };
    for (int p = 0; p < n; ++p) {
      if (p % m + 1 < m) couple(p, p + 1);
      if (p / m + 1 < m) couple(p, p + m);
    }
    std::vector<int>    I(1, 0), J;
    std::vector<double> inverse;
    for (int p = 0; p < n; ++p) {
      row[(size_t)p][p] = diagonal[(size_t)p];
      for (const auto &e : row[(size_t)p]) J.push_back(e.first), A.push_back(e.second);
      I.push_back((int)J.size());
      inverse.push_back(1 / diagonal[(size_t)p]);
    }
    std::vector<double> label;
    for (int device = 0; device < 1 + unit_cuda(); ++device) {
      const std::vector<double> found = labels_of(I, J, A, inverse, device);
      ASSERT_EQ(found.size(), (size_t)n);
      if (device) {
        EXPECT_EQ(found, label);
      }
      label = found;
    }
    std::map<double, std::array<double, 3>> of; // nodes, diagonal entries, what leaves
    for (int p = 0; p < n; ++p) {
      auto &sum = of[label[(size_t)p]];
      ++sum[0], sum[1] += diagonal[(size_t)p];
      for (const auto &e : row[(size_t)p])
        if (label[(size_t)e.first] != label[(size_t)p]) sum[2] -= e.second;
    }
    EXPECT_GT(of.size(), 30u);
    EXPECT_LE(of.size(), 145u);
    for (const auto &k : of) {
      if (k.first < 0) continue;
      EXPECT_GE(k.second[0], 0.85 * side * side) << "no square is divided, but for nodes at its corners";
      EXPECT_LT(k.second[2], 0.05 * k.second[1] / std::sqrt(k.second[0]));
    }
  }
}

// A strip of nodes that takes in the squares beside it, as each of them is closed and the strip is not, large ones one by
// one, small ones at once: the clusters are those of rounds of all of them; the same on a device.
TEST(auxamg_blocks, clusters_that_take_in_others)
{
  struct Strip {
    int    side, width, squares;
    double tie, between;
    int    most_rounds, least_rounds;
  };
  for (const Strip &of : {Strip{5, 2, 30, 0.1, 0.01, 40, 20}, Strip{2, 1, 300, 0.006, 1e-4, 30, 0}})
    for (const unsigned seed : {1u, 2u, 3u, 4u}) {
      const int                          m = of.squares * of.side, n = m * (of.width + of.side);
      std::mt19937                       random(seed);
      std::vector<std::map<int, double>> row((size_t)n);
      const auto part_of = [&](int p) { return p / m < of.width ? -1 : p % m / of.side; };
      const auto couple  = [&](int p, int q) {
        const int    a = part_of(p), b = part_of(q);
        const double w = (a == b ? 1 : a < 0 ? of.tie : of.between) * (0.5 + (double)(random() % 100000) / 100000);
        row[(size_t)p][q] = row[(size_t)q][p] = -w;
        row[(size_t)p][p] += w, row[(size_t)q][q] += w;
      };
      for (int p = 0; p < n; ++p) {
        if (p % m + 1 < m) couple(p, p + 1);
        if (p + m < n) couple(p, p + m);
      }
      const Rules         rules{Closed(2), (double)n / 2};
      const GrownByRounds expected(row, rules);
      EXPECT_GE(expected.rounds, of.least_rounds);
      EXPECT_LE(expected.rounds, of.most_rounds);
      std::vector<int>    I(1, 0), J;
      std::vector<double> A, inverse;
      for (int p = 0; p < n; ++p) {
        for (const auto &e : row[(size_t)p]) J.push_back(e.first), A.push_back(e.second);
        I.push_back((int)J.size());
        inverse.push_back(1 / row[(size_t)p][p]);
      }
      for (int device = 0; device < 1 + unit_cuda(); ++device)
        EXPECT_EQ(labels_of(I, J, A, inverse, device), expected.labels);
    }
  }
