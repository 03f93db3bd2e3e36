// The tree that several processes divide against the tree of one: leaves, vertices, their numbers and owners.
// ranks: 1 2 3 4
#include "tree/cells/local_cells.hpp"
#include "auxamg_case.hpp"
#include <algorithm>
#include <mpi.h>

using namespace tessera;
using namespace tessera::tree;

namespace {

int comm_size()
{
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}
int comm_rank()
{
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

enum class Cloud { uniform, graded, cluster, clusters, few_places, plane };

// Points in cells of the finest level.
std::vector<double> cloud(Cloud kind, int dim, int n, unsigned seed)
{
  std::mt19937                           random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<double>                    x((size_t)(n * dim));
  for (int p = 0; p < n; ++p) {
    const double near = std::pow(10., -7 * unit(random)); // of a cluster's centre
    for (int q = 0; q < dim; ++q) {
      double &v = x[(size_t)(p * dim + q)];
      v         = unit(random);
      if (kind == Cloud::graded) v = std::pow(v, 4);
      if (kind == Cloud::cluster && p) v = 0.37 + 0.6 * near * (v - 0.5);
      if (kind == Cloud::clusters) v = p % 3 ? (p % 7 + 0.5) / 7 + 1e-4 * v : v;
      if (kind == Cloud::few_places) v = std::floor(5 * v) / 5;
      if (kind == Cloud::plane && q) v = 0.5 + 1e-5 * (v - 0.5);
    }
  }
  const double top = (double)(1u << depth(dim));
  for (double &v : x) v = std::min(std::max(v, 0.) * top, top * (1 - 1e-12));
  return x;
}

Key key_at(int dim, const double *x)
{
  Key k = 0;
  for (int q = 0; q < dim; ++q)
    for (int b = 0; b < depth(dim); ++b) k |= (Key)((unsigned)x[q] >> b & 1) << (b * dim + q);
  return k;
}

// What each process has of the nodes: own ones in the order of their keys, then ghosts.
struct Share {
  std::vector<int>    node;
  std::vector<Key>    key;
  std::vector<double> x;
  int                 own = 0;
};

// T_k of one process.
struct Whole {
  std::vector<Key>           start, key;
  std::vector<signed char>   level;
  std::vector<unsigned char> hangs;
  std::vector<int>           vertex;
  std::vector<double>        y;
  int                        vertices = 0, hanging = 0, coarsest = 0, finest = 0;
  size_t                     find(Key k) const { return (size_t)(std::upper_bound(start.begin(), start.end(), k) - start.begin()) - 1; }
};
Whole whole_grid(const Tree &tree, int k, const std::vector<Key> &key, const std::vector<double> &x)
{
  Cells cells = std::move(make_cells(exec(), tree, k, 1).front());
  Whole w;
  w.start    = get(cells.start);
  w.level    = get(cells.level);
  w.hangs    = get(cells.hangs);
  w.hanging  = cells.hanging;
  w.coarsest = cells.coarsest;
  w.finest   = cells.finest;
  std::vector<int> leaf;
  for (Key p : key) leaf.push_back((int)w.find(p));
  const Buffer<int>     there = put(leaf);
  const Buffer<double>  y = put(x);
  Buffer<double>        weight = put(std::vector<double>(key.size() << tree.dim));
  Buffer<unsigned char> used = put(std::vector<unsigned char>((size_t)cells.vertices));
  make_weights(exec(), cells, false, (int)key.size(), there.data(), y.data(), nullptr, weight.data(), used.data());
  w.vertices = number_vertices(exec(), cells, used);
  w.vertex   = get(cells.vertex);
  w.key      = get(cells.key);
  w.y        = get(cells.y);
  return w;
}

void check_owners(const Cells &cells, int dim, const LocalLeaves &local, const std::vector<int> &vertex)
{
  std::vector<int> bid((size_t)cells.vertices), mine((size_t)cells.first.back());
  const std::vector<int> begin = get(local.begin), number = get(cells.number);
  for (size_t l = 0; l + 1 < begin.size(); ++l)
    for (int c = 0; c < 1 << dim; ++c)
      if (const int v = vertex[(l << dim) + (size_t)c]; v >= 0) bid[(size_t)v] += begin[l + 1] - begin[l];
  for (size_t v = 0; v < bid.size(); ++v) mine[(size_t)number[v]] = bid[v];
  const VertexOwners     owners = vertex_owners(exec(), MPI_COMM_WORLD, cells, put(bid));
  const std::vector<int> owners_owner = get(owners.owner), owners_index = get(owners.index);
  std::vector<int>   all(mine.size() * (size_t)comm_size()), count((size_t)comm_size()), owner, index;
  MPI_Allgather(mine.data(), (int)mine.size(), MPI_INT, all.data(), (int)mine.size(), MPI_INT, MPI_COMM_WORLD);
  for (size_t v = 0; v < mine.size(); ++v) {
    int best = 0;
    for (int r = 1; r < comm_size(); ++r)
      if (all[(size_t)r * mine.size() + v] > all[(size_t)best * mine.size() + v]) best = r;
    owner.push_back(best);
    index.push_back(count[(size_t)best]++);
  }
  ASSERT_EQ(owners.own, count[(size_t)comm_rank()]);
  for (size_t v = 0; v < number.size(); ++v) {
    ASSERT_EQ(owners_owner[v], owner[(size_t)number[v]]);
    ASSERT_EQ(owners_index[v], index[(size_t)number[v]]);
  }
}

void check_grid(const Tree &tree, const Keepers &keepers, int k, const Share &share, const Whole &whole)
{
  const int        dim = tree.dim, corners = 1 << dim;
  int              leaves = 0;
  const Cells      kept = kept_cells(exec(), tree, k, keepers, leaves);
  LocalLeaves      local = local_leaves(exec(), keepers, kept, share.own, share.own, put(share.key));
  Cells           &cells = local.cells;
  ASSERT_EQ(leaves, (int)whole.start.size());
  ASSERT_EQ(cells.hanging, whole.hanging);
  ASSERT_EQ(cells.coarsest, whole.coarsest);
  ASSERT_EQ(cells.finest, whole.finest);
  const Buffer<double>  y = put(share.x);
  Buffer<double>        weight = put(std::vector<double>(share.key.size() << dim));
  Buffer<unsigned char> used = put(std::vector<unsigned char>((size_t)cells.vertices));
  make_weights(exec(), cells, false, (int)share.key.size(), local.leaf.data(), y.data(), nullptr, weight.data(), used.data());
  number_local_vertices(exec(), keepers, cells, used);
  ASSERT_EQ(cells.first.back(), whole.vertices);
  const std::vector<Key>           start = get(cells.start), key = get(cells.key);
  const std::vector<signed char>   level = get(cells.level);
  const std::vector<unsigned char> hangs = get(cells.hangs);
  const std::vector<int>           vertex = get(cells.vertex), leaf = get(local.leaf), begin = get(local.begin), numbers = get(cells.number);
  const std::vector<double>        at = get(cells.y);
  for (size_t p = 0; p < share.key.size(); ++p) {
    const size_t l = (size_t)leaf[p], w = whole.find(share.key[p]);
    if ((int)p < share.own) {
      ASSERT_LE(begin[l], (int)p);
      ASSERT_GT(begin[l + 1], (int)p);
    }
    ASSERT_EQ(start[l], whole.start[w]);
    ASSERT_EQ(level[l], whole.level[w]);
    ASSERT_EQ(hangs[l], whole.hangs[w]);
    for (size_t c = 0; c < (size_t)corners; ++c) {
      const int v = vertex[l * (size_t)corners + c], number = v < 0 ? -1 : numbers[(size_t)v];
      ASSERT_EQ(number, whole.vertex[w * (size_t)corners + c]);
      if (v < 0) continue;
      ASSERT_EQ(key[(size_t)v], whole.key[(size_t)number]);
      for (int q = 0; q < dim; ++q) ASSERT_EQ(at[(size_t)(v * dim + q)], whole.y[(size_t)(number * dim + q)]);
    }
  }
  check_owners(cells, dim, local, vertex);
  gather_vertices(exec(), MPI_COMM_WORLD, cells);
  ASSERT_EQ(get(cells.key), whole.key);
  ASSERT_EQ(get(cells.y), whole.y);
  const Cells all = gathered_cells(exec(), tree, k, keepers);
  ASSERT_EQ(get(all.start), whole.start);
  ASSERT_EQ(get(all.level), whole.level);
  ASSERT_EQ(get(all.hangs), whole.hangs);
}

// some: so many of the processes have nodes.
void check(Cloud kind, int dim, int n, int most, int some, bool parts, unsigned seed)
{
  SCOPED_TRACE(testing::Message() << "cloud " << (int)kind << " dim " << dim << " nodes " << n << " of a leaf " << most << " with " << some << " seed " << seed);
  const std::vector<double> x = cloud(kind, dim, n, seed);
  std::vector<Key>          key;
  for (int p = 0; p < n; ++p) key.push_back(key_at(dim, &x[(size_t)(p * dim)]));
  std::mt19937 random(seed + 1);
  Share        share;
  std::vector<int> ghosts;
  for (int p = 0; p < n; ++p) {
    const int at = (int)(random() % (unsigned)some), owner = parts ? (int)((long)p * some / n) : at, wanted = (int)(random() % (unsigned)(8 * comm_size()));
    if (owner == comm_rank()) share.node.push_back(p);
    else if (wanted == comm_rank() && comm_rank() < some) ghosts.push_back(p);
  }
  share.own = (int)share.node.size();
  std::stable_sort(share.node.begin(), share.node.end(), [&](int a, int b) { return key[(size_t)a] < key[(size_t)b]; });
  share.node.insert(share.node.end(), ghosts.begin(), ghosts.end());
  for (int p : share.node) {
    share.key.push_back(key[(size_t)p]);
    share.x.insert(share.x.end(), &x[(size_t)(p * dim)], &x[(size_t)(p * dim)] + dim);
  }
  std::vector<Key> sorted = key;
  std::sort(sorted.begin(), sorted.end());
  const Tree     one = make_tree(exec(), dim, most, n, put(sorted));
  Keepers        keepers;
  const KeptKeys kept = keep_keys(exec(), MPI_COMM_WORLD, dim, dim * depth(dim), most, true, share.own, put(share.key), keepers);
  // each has as many as the others, but for a leaf and equal ones at the ends
  long equal = 0;
  for (size_t p = 0, first = 0; p < sorted.size(); ++p) {
    if (sorted[p] != sorted[first]) first = p;
    equal = std::max(equal, (long)(p - first + 1));
  }
  ASSERT_LE(kept.last - kept.first, n / comm_size() + 1 + std::max((long)most, equal));
  const Tree mine = make_tree(exec(), dim, most, kept, keepers);
  ASSERT_EQ(mine.finest, one.finest);
  for (int k = 0; k < 6; ++k) {
    SCOPED_TRACE(testing::Message() << "tree " << k);
    check_grid(mine, keepers, k, share, whole_grid(one, k, key, x));
    if (testing::Test::HasFatalFailure()) return;
  }
}

} // namespace

TEST(AuxamgParallel, TreeOfKeepersIsTheTree)
{
  unsigned seed = 20;
  for (int dim = 1; dim <= 3; ++dim)
    for (Cloud kind : {Cloud::uniform, Cloud::graded, Cloud::cluster, Cloud::clusters, Cloud::few_places, Cloud::plane})
      for (int most : {1, 4, 7})
        for (int n : {2000, 37}) {
          const bool parts = seed / 3 % 2;
          check(kind, dim, n, most, 1 + (int)(seed % (unsigned)comm_size()), parts, seed);
          if (testing::Test::HasFatalFailure()) return;
          ++seed;
        }
}

TEST(AuxamgParallel, FewNodes)
{
  for (int dim = 1; dim <= 3; ++dim)
    for (int n = 1; n < 12; ++n) {
      check(n % 2 ? Cloud::uniform : Cloud::few_places, dim, n, 2, comm_size(), false, (unsigned)(100 * dim + n));
      if (testing::Test::HasFatalFailure()) return;
    }
}
