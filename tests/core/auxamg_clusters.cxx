// The clusters of PC auxamg's smoother, and components of nodes: those of several processes, on hosts and on devices,
// are those of one.
// ranks: 1 2 3 4
#include "auxamg_case.hpp"
#include "tree/part_functions/agglomerate.hpp"
#include "tree/smoother/pockets.hpp"
#include "exec/gather.hpp"
#include "exec/sets.hpp"
#include <algorithm>
#include <cmath>
#include <map>
#include <mpi.h>
#include <random>
#include <set>

using namespace tessera;
using namespace tessera::tree;

namespace {

// The same with other numbers of nodes.
Couplings renumbered(const Couplings &from, const std::vector<int> &number)
{
  Couplings to{from.dim, std::vector<std::map<int, double>>(from.row.size())};
  for (int p = 0; p < from.n(); ++p)
    for (const auto &e : from.row[(size_t)p]) to.row[(size_t)number[(size_t)p]][number[(size_t)e.first]] = e.second;
  return to;
}

// The level of the graph where each process has the nodes from begin[rank] on.
void make_level(const Couplings &graph, MPI_Comm comm, const std::vector<int> &begin, Level<double> &level)
{
  const Exec &where = level.exec;
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int                  first = begin[(size_t)rank], last = begin[(size_t)rank + 1];
  std::map<int, int>         ghost;
  std::vector<int>           I(1, 0), J, owner, index;
  std::vector<double>        A, inverse;
  for (int p = first; p < last; ++p)
    for (const auto &e : graph.row[(size_t)p])
      if (e.first < first || e.first >= last) ghost[e.first] = 0;
  for (auto &g : ghost) {
    g.second = last - first + (int)owner.size();
    owner.push_back((int)(std::upper_bound(begin.begin(), begin.end(), g.first) - begin.begin()) - 1);
    index.push_back(g.first - begin[(size_t)owner.back()]);
  }
  for (int p = first; p < last; ++p) {
    double diagonal = 0;
    for (const auto &e : graph.row[(size_t)p]) {
      const bool own = e.first >= first && e.first < last;
      J.push_back(own ? e.first - first : ghost[e.first]);
      A.push_back(-e.second);
      diagonal += e.second;
    }
    J.push_back(p - first), A.push_back(diagonal);
    inverse.push_back(1 / diagonal);
    I.push_back((int)J.size());
  }
  if (first == last) I.clear(); // as on any process without nodes
  level.n = last - first, level.nodes = graph.n(), level.ghosts = (int)owner.size(), level.distributed = size > 1;
  level.i = put(I, where), level.j = put(J, where), level.a = put(A, where), level.inverse = put(inverse, where);
  if (size > 1) level.exchange = Exchange(where, Comm(comm), level.n, owner, index);
}

// The labels of all nodes. held: what the smoother takes of ones at each, or empty.
std::vector<double> labels_of(const Couplings &graph, MPI_Comm comm, const std::vector<int> &begin, const Exec &where,
                              const std::vector<double> &held = {})
{
  int rank;
  MPI_Comm_rank(comm, &rank);
  Level<double> level(where, 1);
  make_level(graph, comm, begin, level);
  Buffer<double> here;
  if (!held.empty())
    here = put(std::vector<double>(held.begin() + begin[(size_t)rank], held.begin() + begin[(size_t)rank + 1]), where);
  return gather_from_all(comm, get(agglomerate(comm, level, graph.dim, here))).all;
}

// Nodes of all processes, as many of each, or none of the last one.
std::vector<int> divided(int n, int size, bool empty)
{
  std::vector<int> begin;
  const int        some = empty && size > 1 ? size - 1 : size;
  for (int r = 0; r <= size; ++r) begin.push_back(r < some ? (int)((long long)n * r / some) : n);
  return begin;
}

// Beside one process's host: how many clusters there are. Each process compares.
size_t check(const Couplings &graph, const std::string &what, bool empty = false)
{
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const auto       expected = labels_of(graph, MPI_COMM_SELF, {0, graph.n()}, Exec());
  for (int device = 0; device < 1 + unit_cuda(); ++device) {
    const auto labels = labels_of(graph, MPI_COMM_WORLD, divided(graph.n(), size, empty), device ? exec() : Exec());
    size_t     other = 0;
    for (size_t p = 0; p < expected.size(); ++p) other += labels[p] != expected[p];
    EXPECT_EQ(other, 0u) << what << (device ? " on a device" : " on a host");
  }
  return std::set<double>(expected.begin(), expected.end()).size();
}

// Numbers at random, of all nodes or of those in a band
std::vector<int> shuffled(int n, bool all, unsigned seed)
{
  std::mt19937     random(seed);
  std::vector<int> number((size_t)n);
  for (int p = 0; p < n; ++p) number[(size_t)p] = p;
  if (all) std::shuffle(number.begin(), number.end(), random);
  else std::shuffle(number.begin() + n / 5, number.begin() + 4 * n / 5, random);
  return number;
}

void check_numberings(const Couplings &graph, size_t least, const std::string &what)
{
  EXPECT_GE(check(graph, what), least) << what;
  EXPECT_GE(check(graph, what + ", a process without nodes", true), least) << what;
  EXPECT_GE(check(renumbered(graph, shuffled(graph.n(), false, 3)), what + ", a band in random order"), least) << what;
  EXPECT_GE(check(renumbered(graph, shuffled(graph.n(), true, 5)), what + ", in random order"), least) << what;
}

// How many nodes the component of each node has, by all couplings that are not weak.
std::vector<int> sizes_of(const Couplings &graph, double weak)
{
  std::vector<double> inverse;
  for (const auto &row : graph.row) {
    double diagonal = 0;
    for (const auto &e : row) diagonal += e.second;
    inverse.push_back(1 / diagonal);
  }
  Sets             sets((size_t)graph.n());
  std::vector<int> number((size_t)graph.n()), of;
  for (int p = 0; p < graph.n(); ++p)
    for (const auto &e : graph.row[(size_t)p])
      if (tied(e.second, inverse[(size_t)p], inverse[(size_t)e.first], weak)) sets.join(p, e.first);
  for (int p = 0; p < graph.n(); ++p) ++number[(size_t)sets.root(p)];
  for (int p = 0; p < graph.n(); ++p) of.push_back(number[(size_t)sets.root(p)]);
  return of;
}

void check_components(const Couplings &graph, const std::string &what)
{
  constexpr double weak = 1e-3, most = 40;
  constexpr int    least = 3, limit = 20;
  int              size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::vector<int> expected = sizes_of(graph, weak);
  double                 count = 0;
  for (const int s : expected) count += s >= least && s <= most ? 1. / s : 0;
  EXPECT_GT(count, 1) << what;
  for (const bool empty : {false, true})
    for (int device = 0; device < 1 + unit_cuda(); ++device) {
      const Exec    where = device ? exec() : Exec();
      Level<double> level(where, 1);
      make_level(graph, MPI_COMM_WORLD, divided(graph.n(), size, empty), level);
      Buffer<double> inverse(Extent{(size_t)(level.n + level.ghosts), where.space});
      copy(level.inverse.data(), where.space, inverse.data(), where.space, (size_t)level.n);
      level.halo(inverse.data());
      EXPECT_NEAR(count_components(MPI_COMM_WORLD, level, inverse.data(), weak, least, most), count, 1e-9) << what;
      std::vector<int> sizes = get(component_sizes(MPI_COMM_WORLD, level, inverse.data(), weak, limit));
      sizes.resize((size_t)level.n);
      const std::vector<int> found = gather_from_all(MPI_COMM_WORLD, sizes).all;
      for (size_t p = 0; p < expected.size(); ++p)
        ASSERT_TRUE(expected[p] > limit ? found[p] > limit : found[p] == expected[p]) << what << ", node " << p;
    }
}

} // namespace

// Components of all sizes, many of which several processes have, and some all of them.
TEST(auxamg_clusters, components)
{
  for (int dim : {2, 3})
    for (unsigned seed : {1u, 2u, 3u}) {
      std::mt19937    random(seed);
      const Couplings graph = grid(dim, dim == 2 ? 40 : 12, [&](const int *a, const int *b) {
        const bool along = a[dim - 1] != b[dim - 1] && a[0] % 7 == 0; // lines through all processes
        return along || random() % (dim == 2 ? 3 : 5) == 0 ? 1 + unit(random) : 1e-6;
      });
      check_components(graph, "components");
      check_components(renumbered(graph, shuffled(graph.n(), true, seed)), "components in random order");
    }
}

// Squares and cubes of nodes between barriers, some of which leak.
TEST(auxamg_clusters, between_barriers)
{
  for (int dim : {2, 3})
    for (unsigned seed : {1u, 2u}) {
      const int    side = dim == 2 ? 7 : 4;
      std::mt19937 random(seed);
      check_numberings(grid(dim, dim == 2 ? 6 * side : 4 * side, [&](const int *a, const int *b) {
        bool within = true;
        for (int q = 0; q < dim; ++q) within = within && a[q] / side == b[q] / side;
        return (within || random() % 60 == 0 ? 1 : 1e-5) * (0.5 + unit(random));
      }), 10, "barriers");
    }
}

// Jumps by up to 1e6 from block to block, and no barriers: clusters of all sizes. Then some rows have couplings of which
// the other node's row has none, as beside Dirichlet rows.
TEST(auxamg_clusters, jumps)
{
  for (bool one_sided : {false, true})
    for (int dim : {2, 3})
      for (unsigned seed : {3u, 4u}) {
        const int           side = 4, m = dim == 2 ? 44 : 14;
        std::mt19937        random(seed);
        std::vector<double> of(1000);
        for (double &v : of) v = std::pow(10., 6 * unit(random));
        const auto at = [&](const int *a) { return of[(size_t)(a[0] / side + 12 * (a[1] / side) + (dim == 3 ? 144 * (a[2] / side) : 0)) % of.size()]; };
        Couplings  graph = grid(dim, m, [&](const int *a, const int *b) {
          return 2 / (1 / at(a) + 1 / at(b)) * (0.9 + 0.2 * unit(random));
        });
        for (auto &row : graph.row)
          for (auto e = row.begin(); one_sided && e != row.end();)
            if (random() % 3 == 0 && row.size() > 1) e = row.erase(e);
            else ++e;
        check_numberings(graph, 4, one_sided ? "jumps, one-sided" : "jumps");
      }
}

// Squares in pairs, and these in squares: what ties them together is weaker from one to the next.
TEST(auxamg_clusters, in_others)
{
  const int    side = 5;
  std::mt19937 random(7);
  const Couplings graph = grid(2, 8 * side, [&](const int *a, const int *b) {
    const auto same = [&](int x, int y) { return a[0] / (x * side) == b[0] / (x * side) && a[1] / (y * side) == b[1] / (y * side); };
    return (same(1, 1) ? 1 : same(2, 1) ? 1e-3 : same(4, 2) ? 1e-6 : 1e-9) * (0.9 + 0.2 * unit(random));
  });
  check_numberings(graph, 64, "pairs");
}

// All alike: picks are made by the order of names.
TEST(auxamg_clusters, alike)
{
  check_numberings(grid(2, 30, [](const int *, const int *) { return 1.; }), 1, "alike");
  check_numberings(grid(3, 10, [](const int *a, const int *b) { return a[2] == b[2] ? 1. : 1e-7; }), 5, "layers");
}

// Squares, of which a third is held at all nodes by half, a third at the nodes of one side, and the others are not: the
// first ones do not count.
TEST(auxamg_clusters, held)
{
  const int           side = 6, m = 9 * side;
  int                 size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::mt19937        random(5);
  const auto          square = [&](int p) { return p % m / side + p / (m * side) * (m / side); };
  std::vector<double> held((size_t)(m * m));
  for (int p = 0; p < m * m; ++p)
    held[(size_t)p] = square(p) % 3 == 0 ? 0.5 : square(p) % 3 == 1 && p % side == 0 ? 1 : 0;
  const Couplings graph = grid(2, m, [&](const int *a, const int *b) {
    return (a[0] / side == b[0] / side && a[1] / side == b[1] / side ? 1 : 1e-5) * (0.5 + unit(random));
  });
  const std::vector<int>    begin = divided(m * m, size, false);
  const std::vector<double> all   = labels_of(graph, MPI_COMM_SELF, {0, m * m}, Exec());
  for (int device = 0; device < 1 + unit_cuda(); ++device) {
    const auto labels = labels_of(graph, MPI_COMM_WORLD, begin, device ? exec() : Exec(), held);
    ASSERT_EQ(labels.size(), all.size());
    for (int p = 0; p < m * m; ++p) {
      ASSERT_GE(all[(size_t)p], 0);
      ASSERT_EQ(labels[(size_t)p], square(p) % 3 ? all[(size_t)p] : -1) << "node " << p;
    }
  }
}

// Values tell the parts of a mesh apart also where a process has no nodes.
TEST(auxamg_clusters, beside_processes_without_nodes)
{
  const int m = 36, side = 6;
  int       rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double vertices[2];
  for (const bool barriers : {false, true}) {
    std::vector<int>    i = {0}, j;
    std::vector<double> x, a;
    for (int p = 0; rank == 0 && p < m * m; ++p) {
      const int px = p % m, py = p / m, begin = (int)j.size();
      double    sum = 1e-3;
      x.insert(x.end(), {(double)px, (double)py});
      for (const auto &[qx, qy] : {std::pair{px, py - 1}, {px - 1, py}, {px, py}, {px + 1, py}, {px, py + 1}}) {
        if (qx < 0 || qy < 0 || qx == m || qy == m) continue;
        const bool same = qx / side == px / side && qy / side == py / side;
        j.push_back(qx + m * qy);
        a.push_back(same || !barriers ? -1 : -1e-7);
        sum -= j.back() == p ? 0 : a.back();
      }
      for (int e = begin; e < (int)j.size(); ++e)
        if (j[(size_t)e] == p) a[(size_t)e] = sum;
      i.push_back((int)j.size());
    }
    const Buffer<Index>  row = put_indices(i), column = put_indices(j);
    const Buffer<double> value = put(a);
    Hierarchy<double>    h(exec(), MPI_COMM_WORLD, params_for(2, 1));
    ASSERT_EQ(h.setup(rows_of(row, column, value), x.data(), {}, {}, false).kind, Failure::none);
    ASSERT_GT(h.last(), 0);
    vertices[barriers] = h.level(1).nodes;
  }
  EXPECT_GT(vertices[1], vertices[0]);
}
