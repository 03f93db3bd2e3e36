// Setup: coordinates to the tree, the grids, their operators.
#include "tree/cells/crowded.hpp"
#include "tree/setup.hpp"
#include "exec/each.hpp"
#include "exec/gather.hpp"
#include <algorithm>

namespace tessera::tree {

namespace {

struct CountFlags {
  const unsigned char *flag;
  HD double            operator()(int p) const { return flag[p] != 0; }
};
struct AllConstrained {
  const unsigned char *constrained;
  int                  bs;
  unsigned char       *node;
  HD void              operator()(int p) const
  {
    unsigned char all = 1;
    for (int k = 0; k < bs; ++k) all = all && constrained[(ptrdiff_t)bs * p + k];
    node[p] = all;
  }
};

struct HideConstrained {
  const unsigned char *node;
  Key                  none, *key;
  HD void              operator()(int p) const
  {
    if (node[p]) key[p] = none;
  }
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
// Of nodes in order: 1 where more than `capacity` of them are in the same finest cell, which cannot be split.
struct Crowded {
  const Key *key;
  int        n, capacity;
  HD double  operator()(int p) const
  {
    if ((p == 0 || key[p - 1] != key[p]) && (p == n - 1 || key[p + 1] != key[p])) return 0; // alone
    return lower_bound(key, p, n, key[p] + 1) - lower_bound(key, 0, p, key[p]) > capacity;
  }
};

} // namespace

template <class T> double Setup<T>::count_crowded(const Key *key, int n) const
{
  Buffer<double> number = make<double>(1);
  sum_each(exec_, n, Crowded{key, n, params_.cell_size}, number.data());
  return fetch(number, 0);
}

template <class T>
void Setup<T>::begin_levels(int n, int ghosts, const std::vector<int> &owner, const std::vector<int> &index)
{
  int size;
  MPI_Comm_size(comm_, &size);
  points_.n   = n;
  points_.all = n + ghosts;
  levels_.clear();
  levels_.emplace_back(exec_, params_.bs);
  levels_[0].n           = n;
  levels_[0].ghosts      = ghosts;
  levels_[0].distributed = size > 1;
  levels_[0].exchange    = Exchange(exec_, comm_, n, owner, index);
}

// The fixed unknowns, which find_constrained() has found, and the nodes in the tree, which have others.
template <class T> void Setup<T>::list_constrained()
{
  const int unknowns = points_.n * params_.bs;
  levels_[0].exchange.forward(constrained_.kind.data(), params_.bs);
  points_.constrained = make_unset<unsigned char>((size_t)points_.all);
  for_each(exec_, points_.all, AllConstrained{constrained_.kind.data(), params_.bs, points_.constrained.data()});
  Buffer<double> sum = make<double>(1);
  sum_each(exec_, unknowns, CountFlags{constrained_.kind.data()}, sum.data());
  constrained_.total = total(fetch(sum, 0));
  constrained_.any   = constrained_.total > 0;
  constrained_.list  = Buffer<int>();
  if (constrained_.any) select(exec_, unknowns, constrained_.kind, constrained_.list);
}

template <class T> void Setup<T>::take_coordinates(const double *x, Space where)
{
  const int dim = params_.dim;
  points_.x = make_unset<double>((size_t)points_.all * (size_t)dim);
  if (where == Space::host && where != exec_.space)
    device::copy_once_from_host(points_.x.data(), x, (size_t)points_.n * (size_t)dim * sizeof(double));
  else copy(x, where, points_.x.data(), exec_.space, (size_t)points_.n * (size_t)dim);
  levels_[0].exchange.forward(points_.x.data(), dim);
  frame_     = Frame();
  frame_.dim = dim;
  for (double &f : frame_.factor) f = 1;
}

// The box around the points in the tree; the frame has only the factors of the axes so far.
template <class T> void Setup<T>::find_extent()
{
  double low[3], high[3];
  find_ends(exec_, params_.dim, points_.n, points_.x.data(), points_.constrained.data(), low, high);
  MPI_Allreduce(MPI_IN_PLACE, low, 3, MPI_DOUBLE, MPI_MIN, comm_);
  MPI_Allreduce(MPI_IN_PLACE, high, 3, MPI_DOUBLE, MPI_MAX, comm_);
  std::copy(frame_.factor, frame_.factor + 3, points_.stretch);
  for (int q = 0; q < params_.dim; ++q)
    if (high[q] >= low[q]) {
      frame_.origin[q] = low[q];
      points_.edge[q]   = (high[q] - low[q]) * points_.stretch[q];
      points_.extent    = std::max(points_.extent, points_.edge[q]);
    }
  points_.extent *= 1 + 1e-9; // points on the upper boundary are inside
}

// The nodes in a frame whose root is so many times as long as the extent, and their keys.
template <class T> void Setup<T>::locate(double length)
{
  const int dim = params_.dim;
  const Key none = (Key)1 << (dim * depth(dim));
  for (int q = 0; q < dim; ++q) {
    frame_.factor[q] = points_.stretch[q];
    if (points_.extent > 0)
      frame_.factor[q] = points_.stretch[q] / (points_.extent * length) * (double)(1u << depth(dim));
  }
  place(exec_, frame_, points_.all, points_.x.data(), points_.y.data(), points_.key.data());
  for_each(exec_, points_.all, HideConstrained{points_.constrained.data(), none, points_.key.data()});
}

// The first keys of this process become those of all.
template <class T> void Setup<T>::gather_keys(Buffer<Key> &keys, int count)
{
  Gathered<Key> everyone = gather_from_all(comm_, on_host(keys).data(), count);
  points_.runs = everyone.begin;
  keys         = copy_to(exec_.space, std::move(everyone.all));
}

// By short keys of own nodes, in order, those of all in leaves of each size; several processes count parts.
template <class T> std::vector<int> Setup<T>::count_leaves_of_all(Buffer<unsigned> &near)
{
  const int dim = params_.dim, own = levels_[0].points;
  if (!levels_[0].distributed) return count_leaves(exec_, dim, params_.cell_size, own, near, 0, own);
  Keepers     keepers;
  Buffer<Key> keys = make_unset<Key>((size_t)own);
  for_each(exec_, own, CopyValues<unsigned, Key>{near.data(), keys.data()});
  near = Buffer<unsigned>();
  const KeptKeys kept = keep_keys(exec_, comm_, dim, 32, params_.cell_size, false, own, keys, keepers);
  const int      all  = (int)kept.key.size();
  near = make_unset<unsigned>((size_t)all);
  for_each(exec_, all, CopyValues<Key, unsigned>{kept.key.data(), near.data()});
  std::vector<int> counts = count_leaves(exec_, dim, params_.cell_size, all, near, kept.first, kept.last);
  MPI_Allreduce(MPI_IN_PLACE, counts.data(), (int)counts.size(), MPI_INT, MPI_SUM, comm_);
  return counts;
}

// Chooses the root of the tree. Returns the level down to which cells will be in order.
template <class T> int Setup<T>::find_scale()
{
  const int dim = params_.dim;
  points_.y   = make_unset<double>(points_.x.size());
  points_.key = make_unset<Key>((size_t)points_.all);
  Buffer<double> sum = make<double>(1);
  sum_each(exec_, points_.n, CountFlags{points_.constrained.data()}, sum.data());
  const double constrained_nodes = fetch(sum, 0);
  levels_[0].points              = points_.n - (int)constrained_nodes;
  levels_[0].nodes         = total(levels_[0].points);
  locate(1);
  if (params_.aggregation) return depth(dim); // the paper's root: the extent
  Buffer<unsigned> near = short_keys(exec_, dim, points_.n, points_.key);
  int              deepest = depth(dim);
  locate(root_length(dim, params_.cell_size, count_leaves_of_all(near), &deepest));
  // What is in a leaf need not be in order. The cells are up to twice as large now and lie otherwise, so leaves may
  // be a little deeper.
  return sweeps() ? depth(dim) : std::min(deepest + 2, depth(dim));
}

// All keys go to their keepers, all their bits in order. Where there are thin parts they go a second time, with the
// copies of theirs; crowded cells are counted before that.
template <class T> void Setup<T>::keep_points(const Rows &rows)
{
  const int   dim = params_.dim;
  Buffer<Key> own = make_unset<Key>(points_.sorted.size());
  Buffer<int> order;
  copy(points_.sorted, own);
  sort_keys(exec_, points_.n, dim * depth(dim) + 1, own, order);
  const auto keep = [&](int n, const Buffer<Key> &keys) {
    points_.kept = keep_keys(exec_, comm_, dim, dim * depth(dim), params_.cell_size, true, n, keys, keepers_);
  };
  keep(levels_[0].points, own);
  crowded_ = total(count_crowded(points_.kept.key.data() + points_.kept.first, points_.kept.last - points_.kept.first));
  if (!counts_thin()) return;
  Buffer<int> node = make_unset<int>((size_t)levels_[0].points);
  for_each(exec_, levels_[0].points, GatherValues<int>{order.data(), perm_.data(), node.data()});
  if (repeat_thin(rows, own, node, levels_of_splits(own))) keep((int)points_.repeated.size(), points_.repeated);
}

// Own nodes in the order of their keys, as far as cells are to be in order, and where every process has the whole tree
// the keys of all.
template <class T> void Setup<T>::sort_points(int sorted_level)
{
  const int dim = params_.dim, unordered = dim * (depth(dim) - sorted_level);
  int       size, rank;
  MPI_Comm_size(comm_, &size);
  MPI_Comm_rank(comm_, &rank);
  sort_keys(exec_, points_.n, dim * depth(dim) + 1, unordered, points_.sorted, perm_);
  if (size == 1 || divides_tree()) return;
  Buffer<int> order;
  points_.everyone.resize_unset(points_.sorted.extent());
  copy(points_.sorted, points_.everyone);
  gather_keys(points_.everyone, levels_[0].points);
  if (!sweeps()) merge_runs(exec_, points_.runs, dim * depth(dim), unordered, points_.everyone);
  else { // colours go by all nodes
    sort_keys(exec_, points_.runs.back(), dim * depth(dim), points_.everyone, order);
    colouring_.everyone().order = std::move(order);
    colouring_.everyone().first = points_.runs;
    colouring_.everyone().rank  = rank;
  }
}

// The tree, and the nodes in its order. Cells are sorted anew, down to the finest ones, where a leaf is deeper than was
// foreseen.
template <class T> Tree Setup<T>::sort_into_tree(int sorted_level, const Rows &rows)
{
  points_.x = Buffer<double>(); // memory is what the peak of the setup takes
  const int dim = params_.dim, ghosts = points_.all - points_.n;
  int       size;
  MPI_Comm_size(comm_, &size);
  if (ghosts) {
    points_.sorted = make_unset<Key>((size_t)points_.n);
    for_each(exec_, points_.n, CopyValues<Key>{points_.key.data(), points_.sorted.data()});
  } else points_.sorted = std::move(points_.key);
  perm_  = Buffer<int>();
  where_ = make_unset<int>((size_t)points_.all);
  for_each(exec_, ghosts, NumberGhosts{where_.data(), points_.n});
  for (;; sorted_level = depth(dim)) {
    sort_points(sorted_level);
    if (divides_tree()) {
      keep_points(rows);
      Tree tree = make_tree(exec_, dim, params_.cell_size, points_.kept, keepers_);
      if (!lost() && tree.finest > sorted_level) sort_points(depth(dim));
      points_.kept = KeptKeys();
      return tree;
    }
    const Buffer<Key> &keys = size > 1 ? points_.everyone : points_.sorted;
    const int          number = size > 1 ? points_.runs.back() : levels_[0].points;
    Tree               tree;
    if (params_.aggregation) {
      double extents[3] = {};
      for (int q = 0; q < dim; ++q) extents[q] = points_.extent > 0 ? points_.edge[q] / points_.extent : 0;
      tree = make_uniform(exec_, dim, uniform_level(dim, extents, params_.cell_size, levels_[0].nodes), number, keys);
    } else {
      const bool thin =
        counts_thin() &&
        repeat_thin(rows, keys, perm_, tree::crowded<2>(exec_, number, params_.cell_size, keys, 0, number));
      tree = make_tree(exec_, dim, params_.cell_size, thin ? (int)points_.repeated.size() : number,
                       thin ? points_.repeated : keys, sorted_level);
    }
    // By the keys of a device that has failed processes would not go on alike.
    if (!lost() && tree.finest > sorted_level) continue;
    crowded_ = tree.finest == depth(dim) ? count_crowded(keys.data(), number) : 0;
    return tree;
  }
}

// Where the nodes are in their order.
template <class T> void Setup<T>::keep_order()
{
  for_each(exec_, points_.n, InvertList{perm_.data(), where_.data()});
  levels_[0].exchange.renumber(where_);
  if (sweeps()) colouring_.everyone().key = std::move(points_.everyone);
}

// The coordinates and keys that the grids begin with: own points in order, then ghosts.
template <class T> void Setup<T>::sort_coordinates()
{
  const int      n = points_.n, ghosts = points_.all - points_.n;
  Buffer<double> y = make_unset<double>(points_.y.size());
  for_each(exec_, points_.all, SortPoints{perm_.data(), points_.y.data(), params_.dim, n, y.data()});
  if (!(crowded_ > 0)) { // a vector that is constant in a cell has nothing of the largest eigenvalue there
    levels_[0].start = make_unset<Key>((size_t)n);
    for_each(exec_, n, CopyValues<Key>{points_.sorted.data(), levels_[0].start.data()});
  }
  Buffer<Key> keys;
  if (ghosts) {
    keys = make_unset<Key>((size_t)points_.all);
    for_each(exec_, n, CopyValues<Key>{points_.sorted.data(), keys.data()});
    for_each(exec_, ghosts, CopyValues<Key>{points_.key.data() + n, keys.data() + n});
    points_.sorted = Buffer<Key>();
  } else keys = std::move(points_.sorted);
  points_.key      = std::move(keys);
  points_.everyone = Buffer<Key>();
  points_.y        = std::move(y);
}

template <class T> Failure Hierarchy<T>::setup(const Rows &rows, const double *x, const std::vector<int> &owner,
                            const std::vector<int> &index, bool stretch, Space where)
{
  Setup<T> setup(*this, levels_, perm_, where_, constrained_, frame_, numeric_);
  truncated_ = -1;
  other_.clear();
  setup.begin_levels(rows.n, rows.ghosts, owner, index);
  Failure failure = find_constrained(rows);
  if (total(failure.kind)) return failure;
  setup.list_constrained();
  // the tree
  setup.take_coordinates(x, where);
  if (stretch) stretch_frame(rows, setup.coordinates());
  setup.find_extent();
  const int  sorted_level = setup.find_scale();
  const Tree tree         = setup.sort_into_tree(sorted_level, rows);
  crowded_                = setup.crowded();
  setup.keep_order();
  // the operator
  read_pattern(rows);
  fill(rows, nullptr, nullptr, 1);
  if (rounded_) {
    failure.kind = Failure::rounded;
    return failure;
  }
  levels_[0].nonzeros = total((double)levels_[0].a.size());
  // the grids
  setup.sort_coordinates();
  bodies_      = setup.find_bodies();
  failure.kind = setup.make_grids(tree, bodies_);
  if (failure.kind) return failure;
  for (int l = 0; l < (int)levels_.size(); ++l) vectors(l);
  failure = numeric_.run(perm_, diagonal_, scale_, constants_);
  if (total(failure.kind)) return failure;
  join();
  amli_ = false;
  if (choose_visits()) choose_cycle();
  else failure.kind = Failure::rounded;
  return failure;
}

template <class T> bool Hierarchy<T>::refresh(const Rows &rows, Failure &failure)
{
  if (peers_) peers_->restore(comm_);
  forget_truncation();
  if (!reread(rows, failure)) return false;
  if (total(failure.kind)) return true;
  failure = numeric_.run(perm_, diagonal_, scale_, constants_);
  if (total(failure.kind)) return true;
  if (numeric_.anew() && bodies_moved()) return false;
  // blocks that were found anew have messages anew
  if (peers_ && total(!all_join()) > 0) join();
  const bool looks = numeric_.anew() || !numeric_.filtered() || numeric_.convective();
  if (looks && !choose_visits()) failure.kind = Failure::rounded;
  return true;
}

#define INSTANTIATE(T) \
  template Failure Hierarchy<T>::setup(const Rows &, const double *, const std::vector<int> &, \
                                       const std::vector<int> &, bool, Space); \
  template bool    Hierarchy<T>::refresh(const Rows &, Failure &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
