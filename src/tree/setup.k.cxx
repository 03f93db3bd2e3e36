// Setup: coordinates to the tree, the grids, their operators.
#include "tree/hierarchy.hpp"
#include "tree/setup.hpp"
#include "exec/each.hpp"
#include <algorithm>
#include <numeric>

namespace tessera::auxamg {

namespace {

struct CountFlags {
  const unsigned char *flag;
  HD double            operator()(int p) const { return flag[p] != 0; }
};
struct AllFixed {
  const unsigned char *fixed;
  int                  bs;
  unsigned char       *node;
  HD void              operator()(int p) const
  {
    unsigned char all = 1;
    for (int k = 0; k < bs; ++k) all = all && fixed[(ptrdiff_t)bs * p + k];
    node[p] = all;
  }
};

struct HideFixed {
  const unsigned char *node;
  Key                  none, *key;
  HD void              operator()(int p) const
  {
    if (node[p]) key[p] = none;
  }
};
struct Invert {
  const int *perm;
  int       *where;
  HD void    operator()(int p) const { where[perm[p]] = p; }
};
struct NumberGhosts {
  int    *where, n;
  HD void operator()(int g) const { where[n + g] = n + g; }
};
struct SortPoints {
  const int    *perm; // of own points; ghosts stay behind them
  const double *y;
  int           dim, n;
  double       *to;
  HD void       operator()(int p) const
  {
    const int from = p < n ? perm[p] : p;
    for (int q = 0; q < dim; ++q) to[(ptrdiff_t)dim * p + q] = y[(ptrdiff_t)dim * from + q];
  }
};
struct CopyKeys {
  const Key *from;
  Key       *to;
  HD void    operator()(int p) const { to[p] = from[p]; }
};
// Of nodes in order: 1 where more than `most` of them are in the same finest cell, which cannot be split.
struct Crowded {
  const Key *key;
  int        n, most;
  HD double  operator()(int p) const
  {
    return lower_bound(key, p, n, key[p] + 1) - lower_bound(key, 0, p, key[p]) > most;
  }
};

} // namespace

template <class T> double Hierarchy<T>::count_crowded(const Buffer<Key> &key, int n) const
{
  Buffer<double> number = make<double>(1);
  sum_each(exec_, n, Crowded{key.data(), n, params_.most}, number.data());
  return fetch(number, 0);
}

template <class T>
void Hierarchy<T>::begin_levels(int n, int ghosts, const std::vector<int> &owner, const std::vector<int> &index)
{
  int size;
  MPI_Comm_size(comm_, &size);
  levels_.clear();
  levels_.emplace_back(exec_, params_.bs);
  levels_[0].n           = n;
  levels_[0].ghosts      = ghosts;
  levels_[0].distributed = size > 1;
  levels_[0].exchange    = Exchange(exec_, comm_, n, owner, index);
}

// The fixed unknowns, which find_fixed() has found, and the nodes in the tree, which have others.
template <class T> void Hierarchy<T>::list_fixed(Points &points)
{
  const int unknowns = points.n * params_.bs;
  levels_[0].exchange.forward(fixed_.kind.data(), params_.bs);
  points.fixed = make_unset<unsigned char>((size_t)points.all);
  for_each(exec_, points.all, AllFixed{fixed_.kind.data(), params_.bs, points.fixed.data()});
  Buffer<double> sum = make<double>(1);
  sum_each(exec_, unknowns, CountFlags{fixed_.kind.data()}, sum.data());
  fixed_.total = total(fetch(sum, 0));
  fixed_.any   = fixed_.total > 0;
  fixed_.list  = Buffer<int>();
  if (fixed_.any) select(exec_, unknowns, fixed_.kind, fixed_.list);
}

template <class T> void Hierarchy<T>::take_coordinates(Points &points, const double *x, Space where)
{
  const int    dim = params_.dim;
  const size_t bytes = (size_t)points.n * (size_t)dim * sizeof(double);
  points.x = make_unset<double>((size_t)points.all * (size_t)dim);
  if (exec_.space == Space::host && where == Space::host) std::copy(x, x + (ptrdiff_t)points.n * dim, points.x.data());
  else if (exec_.space == Space::host) device::copy_to_host(points.x.data(), x, bytes);
  else if (where == Space::host) device::copy_once_from_host(points.x.data(), x, bytes);
  else device::copy(points.x.data(), x, bytes);
  levels_[0].exchange.forward(points.x.data(), dim);
  frame_     = Frame();
  frame_.dim = dim;
  for (double &f : frame_.factor) f = 1;
}

// The box around the points in the tree; the frame has only the factors of the axes so far.
template <class T> void Hierarchy<T>::find_extent(Points &points)
{
  double low[3], high[3];
  find_ends(exec_, params_.dim, points.n, points.x.data(), points.fixed.data(), low, high);
  MPI_Allreduce(MPI_IN_PLACE, low, 3, MPI_DOUBLE, MPI_MIN, comm_);
  MPI_Allreduce(MPI_IN_PLACE, high, 3, MPI_DOUBLE, MPI_MAX, comm_);
  std::copy(frame_.factor, frame_.factor + 3, points.stretch);
  for (int q = 0; q < params_.dim; ++q)
    if (high[q] >= low[q]) {
      frame_.origin[q] = low[q];
      points.edge[q]   = (high[q] - low[q]) * points.stretch[q];
      points.extent    = std::max(points.extent, points.edge[q]);
    }
  points.extent *= 1 + 1e-9; // points on the upper boundary are inside
}

// The nodes in a frame whose root is so many times as long as the extent, and their keys.
template <class T> void Hierarchy<T>::locate(Points &points, double length)
{
  const int dim = params_.dim;
  const Key none = (Key)1 << (dim * depth(dim));
  for (int q = 0; q < dim; ++q) {
    frame_.factor[q] = points.stretch[q];
    if (points.extent > 0) frame_.factor[q] = points.stretch[q] / (points.extent * length) * (double)(1u << depth(dim));
  }
  place(exec_, frame_, points.all, points.x.data(), points.y.data(), points.key.data());
  for_each(exec_, points.all, HideFixed{points.fixed.data(), none, points.key.data()});
}

// The first keys of this process become those of all.
template <class T> template <class K> void Hierarchy<T>::gather_keys(Points &points, Buffer<K> &keys, int count)
{
  const MPI_Datatype type = sizeof(K) == sizeof(Key) ? MPI_UNSIGNED_LONG_LONG : MPI_UNSIGNED;
  int                size;
  MPI_Comm_size(comm_, &size);
  std::vector<int> counts((size_t)size);
  points.runs.assign((size_t)size + 1, 0);
  MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, comm_);
  std::partial_sum(counts.begin(), counts.end(), points.runs.begin() + 1);
  const Buffer<K> here = on_host(keys);
  Buffer<K>       everyone((size_t)points.runs.back());
  MPI_Allgatherv(here.data(), count, type, everyone.data(), counts.data(), points.runs.data(), type, comm_);
  keys = make_unset<K>(everyone.size());
  copy(everyone, keys);
  if (exec_.space == Space::cuda) device::synchronize();
}

// Chooses the root of the tree. Returns the level down to which cells will be in order.
template <class T> int Hierarchy<T>::find_scale(Points &points)
{
  const int dim = params_.dim;
  int       size, rank;
  MPI_Comm_size(comm_, &size);
  MPI_Comm_rank(comm_, &rank);
  points.y   = make_unset<double>(points.x.size());
  points.key = make_unset<Key>((size_t)points.all);
  Buffer<double> sum = make<double>(1);
  sum_each(exec_, points.n, CountFlags{points.fixed.data()}, sum.data());
  const double fixed_nodes = fetch(sum, 0);
  levels_[0].points        = points.n - (int)fixed_nodes;
  levels_[0].nodes         = total(levels_[0].points);
  locate(points, 1);
  if (params_.paper) return depth(dim); // the paper's root: the extent
  Buffer<unsigned> near = short_keys(exec_, dim, points.n, points.key);
  int              number = levels_[0].points, deepest = depth(dim);
  if (size > 1) {
    gather_keys(points, near, number);
    number = points.runs.back();
    merge_runs(exec_, points.runs, 32, near);
  }
  const int        first = (int)((long)number * rank / size), last = (int)((long)number * (rank + 1) / size);
  std::vector<int> counts = count_leaves(exec_, dim, params_.most, number, near, first, last);
  MPI_Allreduce(MPI_IN_PLACE, counts.data(), (int)counts.size(), MPI_INT, MPI_SUM, comm_);
  locate(points, root_length(dim, params_.most, counts, &deepest));
  // What is in a leaf need not be in order. The cells are up to twice as large now and lie otherwise, so leaves may
  // be a little deeper.
  return sweeps() ? depth(dim) : std::min(deepest + 2, depth(dim));
}

// Own nodes in the order of their keys, as far as cells are to be in order, and on several processes the keys of all.
template <class T> void Hierarchy<T>::sort_points(Points &points, int sorted_level)
{
  const int dim = params_.dim, unordered = dim * (depth(dim) - sorted_level);
  int       size, rank;
  MPI_Comm_size(comm_, &size);
  MPI_Comm_rank(comm_, &rank);
  sort_keys(exec_, points.n, dim * depth(dim) + 1, unordered, points.sorted, perm_);
  if (size == 1) return;
  Buffer<int> order;
  points.everyone.resize_unset(points.sorted.extent());
  copy(points.sorted, points.everyone);
  gather_keys(points, points.everyone, levels_[0].points);
  if (!sweeps()) merge_runs(exec_, points.runs, dim * depth(dim), unordered, points.everyone);
  else { // colours go by all nodes
    sort_keys(exec_, points.runs.back(), dim * depth(dim), points.everyone, order);
    everyone_.order = std::move(order);
    everyone_.first = points.runs;
    everyone_.rank  = rank;
  }
}

// The tree, and the nodes in its order. Cells are sorted anew, down to the finest ones, where a leaf is deeper than was
// foreseen.
template <class T> Tree Hierarchy<T>::sort_into_tree(Points &points, int sorted_level)
{
  const int dim = params_.dim, ghosts = points.all - points.n;
  int       size;
  MPI_Comm_size(comm_, &size);
  if (ghosts) {
    points.sorted = make_unset<Key>((size_t)points.n);
    for_each(exec_, points.n, CopyKeys{points.key.data(), points.sorted.data()});
  } else points.sorted = std::move(points.key);
  perm_  = Buffer<int>();
  where_ = make_unset<int>((size_t)points.all);
  for_each(exec_, ghosts, NumberGhosts{where_.data(), points.n});
  for (;; sorted_level = depth(dim)) {
    sort_points(points, sorted_level);
    const Buffer<Key> &keys = size > 1 ? points.everyone : points.sorted;
    const int          number = size > 1 ? points.runs.back() : levels_[0].points;
    Tree               tree;
    if (params_.paper) {
      double shares[3] = {};
      for (int q = 0; q < dim; ++q) shares[q] = points.extent > 0 ? points.edge[q] / points.extent : 0;
      tree = make_uniform(exec_, dim, uniform_level(dim, shares, params_.most, levels_[0].nodes), number, keys);
    } else tree = make_tree(exec_, dim, params_.most, number, keys, sorted_level);
    // By the keys of a device that has failed processes would not go on alike.
    if (!lost() && tree.finest > sorted_level) continue;
    crowded_ = tree.finest == depth(dim) ? count_crowded(keys, number) : 0;
    return tree;
  }
}

// Where the nodes are in their order.
template <class T> void Hierarchy<T>::keep_order(Points &points)
{
  for_each(exec_, points.n, Invert{perm_.data(), where_.data()});
  if (levels_[0].distributed) {
    const Buffer<int> number = on_host(where_);
    levels_[0].exchange.renumber(std::vector<int>(number.data(), number.data() + points.n));
  }
  if (sweeps()) everyone_.key = std::move(points.everyone);
}

// The coordinates and keys that the grids begin with: own points in order, then ghosts.
template <class T> void Hierarchy<T>::sort_coordinates(Points &points)
{
  const int      n = points.n, ghosts = points.all - points.n;
  Buffer<double> y = make_unset<double>(points.y.size());
  for_each(exec_, points.all, SortPoints{perm_.data(), points.y.data(), params_.dim, n, y.data()});
  if (!(crowded_ > 0)) { // a vector that is constant in a cell has nothing of the largest eigenvalue there
    levels_[0].start = make_unset<Key>((size_t)n);
    for_each(exec_, n, CopyKeys{points.sorted.data(), levels_[0].start.data()});
  }
  Buffer<Key> keys;
  if (ghosts) {
    keys = make_unset<Key>((size_t)points.all);
    for_each(exec_, n, CopyKeys{points.sorted.data(), keys.data()});
    for_each(exec_, ghosts, CopyKeys{points.key.data() + n, keys.data() + n});
    points.sorted = Buffer<Key>();
  } else keys = std::move(points.sorted);
  points.key      = std::move(keys);
  points.everyone = Buffer<Key>();
  points.y        = std::move(y);
}

template <class T> template <class Index>
Failure Hierarchy<T>::setup(const Rows<Index> &rows, const double *x, const std::vector<int> &owner,
                            const std::vector<int> &index, bool stretch, Space where)
{
  Points points;
  points.n   = rows.n;
  points.all = rows.n + rows.ghosts;
  begin_levels(rows.n, rows.ghosts, owner, index);
  Failure failure = find_fixed(rows);
  if (total(failure.kind)) return failure;
  list_fixed(points);
  // the tree
  take_coordinates(points, x, where);
  if (stretch) stretch_frame(rows, points.x);
  find_extent(points);
  const int sorted_level = find_scale(points);
  points.x = Buffer<double>(); // memory is what the peak of the setup takes
  const Tree tree = sort_into_tree(points, sorted_level);
  keep_order(points);
  // the operator
  read_pattern(rows);
  fill(rows, nullptr, nullptr, 1);
  if (rounded_) {
    failure.kind = Failure::rounded;
    return failure;
  }
  levels_[0].nonzeros = total((double)levels_[0].a.size());
  // the grids
  sort_coordinates(points);
  failure.kind = make_grids(tree, points.key, points.y);
  if (failure.kind) return failure;
  everyone_ = {};
  for (int l = 0; l < (int)levels_.size(); ++l) vectors(l);
  return numeric_setup();
}

#define INSTANTIATE(T) \
  template Failure Hierarchy<T>::setup(const Rows<int> &, const double *, const std::vector<int> &, \
                                       const std::vector<int> &, bool, Space); \
  template Failure Hierarchy<T>::setup(const Rows<int64_t> &, const double *, const std::vector<int> &, \
                                       const std::vector<int> &, bool, Space);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::auxamg
