// Setup: coordinates to the tree, the grids, their operators.
#include "tree/hierarchy.hpp"
#include "tree/dispatch.hpp"
#include "tree/read.hpp"
#include "exec/each.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
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

// Strength of the couplings along the axes, sum -a_ij (x_i - x_j)^2: for the Laplacian the same along all.
struct Moments {
  double  m[3] = {};
  HD void join(const Moments &o)
  {
    for (int q = 0; q < 3; ++q) m[q] += o.m[q];
  }
};
template <class Index> struct FindMoments {
  RowReader<Index> reader;
  const double    *x;
  int              dim, n;
  HD void          operator()(int i, int j, Moments &sum) const
  {
    const int p = j * list_row + i;
    double    m[3] = {}, all = 0; // a node's own, of which the shares count: no long coupling outweighs the others
    if (p >= n) return;
    reader.each(p, [&](int k, int column, double v) {
      const int other = reader.node(column);
      if (column - other * reader.bs != k) return;
      for (int q = 0; q < dim; ++q) {
        const double d = x[(ptrdiff_t)dim * p + q] - x[(ptrdiff_t)dim * other + q];
        m[q] -= v * d * d;
      }
    });
    for (int q = 0; q < dim; ++q) all += m[q];
    for (int q = 0; q < dim && all > 0; ++q) sum.m[q] += m[q] / all;
  }
};

// The same on a device for nodes of one unknown on one process: what several entries need is fetched at once, as nothing else hides its
// latency.
template <class Index> struct FindScalarMoments {
  RowReader<Index> reader;
  const double    *x;
  int              dim, n;
  HD void          operator()(int i, int j, Moments &sum) const
  {
    constexpr int at_once = 8;
    const int     p = j * list_row + i;
    double        m[3] = {}, mine[3] = {}, all = 0;
    if (p >= n || (reader.fixed && reader.fixed[p])) return;
    for (int q = 0; q < dim; ++q) mine[q] = x[(ptrdiff_t)dim * p + q];
    const Index end = reader.m.i[p + 1];
    for (Index e = reader.m.i[p]; e < end; e += at_once) {
      int    column[at_once];
      double v[at_once], y[at_once];
      for (int k = 0; k < at_once; ++k) {
        const Index from = e + k < end ? e + k : end - 1;
        column[k] = (int)reader.m.j[from];
        v[k]      = e + k < end ? reader.m.a[from] : 0;
      }
      for (int k = 0; k < at_once; ++k)
        if (reader.fixed && reader.fixed[column[k]]) v[k] = 0;
      for (int q = 0; q < dim; ++q) {
        for (int k = 0; k < at_once; ++k) y[k] = x[(ptrdiff_t)dim * column[k] + q];
        for (int k = 0; k < at_once; ++k) m[q] -= v[k] * (mine[q] - y[k]) * (mine[q] - y[k]);
      }
    }
    for (int q = 0; q < dim; ++q) all += m[q];
    for (int q = 0; q < dim && all > 0; ++q) sum.m[q] += m[q] / all;
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
  HD double  operator()(int p) const { return lower_bound(key, p, n, key[p] + 1) - lower_bound(key, 0, p, key[p]) > most; }
};

struct LeafOfPoint {
  const int *begin;
  int       *leaf;
  HD void    operator()(int l) const
  {
    for (int p = begin[l]; p < begin[l + 1]; ++p) leaf[p] = l;
  }
};
struct LeafOfRest {
  const Key           *key; // of ghosts
  const Key           *start;
  const signed char   *level;
  int                  dim, leaves, points, n;
  Key                  none;
  int                 *leaf;
  HD void              operator()(int k) const
  {
    const int p = points + k; // fixed nodes, then ghosts
    if (p < n || key[p - n] == none) {
      leaf[p] = -1;
      return;
    }
    const Key here = key[p - n];
    leaf[p]        = dim == 1 ? containing<1>(start, level, leaves, here) : dim == 2 ? containing<2>(start, level, leaves, here) : containing<3>(start, level, leaves, here);
  }
};

// Piecewise constants.
template <class T> struct Aggregate {
  const int *leaf;
  T         *weight;
  HD void    operator()(int p) const { weight[p] = leaf[p] < 0 ? 0 : 1; }
};

} // namespace

template <class T> double Hierarchy<T>::total(double v) const
{
  double sum;
  MPI_Allreduce(&v, &sum, 1, MPI_DOUBLE, MPI_SUM, comm_);
  return sum;
}

// What a device that has failed counts is zero, so sizes of messages would differ: the setup ends, and all processes raise the error.
template <class T> bool Hierarchy<T>::lost() const
{
  int size = 1;
  MPI_Comm_size(comm_, &size);
  return size > 1 && exec_.space == Space::cuda && total(device::failed()) > 0;
}

// Along an axis with couplings q times as strong distances count 1 / sqrt(q): anisotropy along the axes disappears. Factors are rounded
// to powers of 2^(1/4), as sums over processes differ in their last bits, and small ones are no anisotropy.
template <class T> template <class Index> void Hierarchy<T>::stretch_frame(const Rows<Index> &rows, const Buffer<double> &x)
{
  Buffer<Moments> found = make<Moments>(1);
  const RowReader<Index> reader{rows, params_.bs, any_fixed_ ? fixed_.data() : nullptr};
  if (scalars(exec_, rows, params_.bs)) forall_join(exec_, list_box(rows.n), FindScalarMoments<Index>{reader, x.data(), params_.dim, rows.n}, found.data());
  else forall_join(exec_, list_box(rows.n), FindMoments<Index>{reader, x.data(), params_.dim, rows.n}, found.data());
  Moments mine = fetch(found, 0), sum;
  MPI_Allreduce(mine.m, sum.m, 3, MPI_DOUBLE, MPI_SUM, comm_);
  double largest = 0;
  for (double m : sum.m) largest = std::max(largest, m);
  for (int q = 0; q < params_.dim; ++q) {
    if (!(sum.m[q] > 0) || !std::isfinite(largest / sum.m[q])) continue; // points on a line or in a plane
    const double steps = std::round(2 * std::log2(largest / sum.m[q])); // 4 log2 of the factor
    if (steps >= 2) frame_.factor[q] *= std::exp2(steps / 4);
  }
}

template <class T> double Hierarchy<T>::count_crowded(const Buffer<Key> &key, int n) const
{
  Buffer<double> number = make<double>(1);
  sum_each(exec_, n, Crowded{key.data(), n, params_.most}, number.data());
  return fetch(number, 0);
}

template <class T> template <class Index> Failure Hierarchy<T>::setup(const Rows<Index> &rows, const double *x, const std::vector<int> &owner, const std::vector<int> &index, bool stretch, Space where)
{
  const int n = rows.n, all = rows.n + rows.ghosts, dim = params_.dim;
  Failure   failure;
  int       size, rank;
  MPI_Comm_size(comm_, &size);
  MPI_Comm_rank(comm_, &rank);
  levels_.clear();
  levels_.emplace_back();
  levels_[0].n           = n;
  levels_[0].ghosts      = rows.ghosts;
  levels_[0].distributed = size > 1;
  levels_[0].exchange    = Exchange(exec_, comm_, n, owner, index);
  // fixed unknowns
  failure = find_fixed(rows);
  if (total(failure.kind)) return failure;
  levels_[0].exchange.forward(fixed_.data(), params_.bs);
  Buffer<unsigned char> node = make_unset<unsigned char>((size_t)all);
  for_each(exec_, all, AllFixed{fixed_.data(), params_.bs, node.data()});
  Buffer<double> sum = make<double>(1);
  sum_each(exec_, n * params_.bs, CountFlags{fixed_.data()}, sum.data());
  fixed_total_ = total(fetch(sum, 0));
  any_fixed_   = fixed_total_ > 0;
  fixed_list_  = Buffer<int>();
  if (any_fixed_) select(exec_, n * params_.bs, fixed_, fixed_list_);
  // coordinates, as far as they are in the tree
  Buffer<double> there = make_unset<double>((size_t)all * (size_t)dim);
  const size_t bytes = (size_t)n * (size_t)dim * sizeof(double);
  if (exec_.space == Space::host && where == Space::host) std::copy(x, x + (ptrdiff_t)n * dim, there.data());
  else if (exec_.space == Space::host) device::copy_to_host(there.data(), x, bytes);
  else if (where == Space::host) device::copy_once_from_host(there.data(), x, bytes);
  else device::copy(there.data(), x, bytes);
  levels_[0].exchange.forward(there.data(), dim);
  frame_     = Frame();
  frame_.dim = dim;
  for (double &f : frame_.factor) f = 1;
  if (stretch) stretch_frame(rows, there);
  double low[3], high[3];
  find_ends(exec_, dim, n, there.data(), node.data(), low, high);
  MPI_Allreduce(MPI_IN_PLACE, low, 3, MPI_DOUBLE, MPI_MIN, comm_);
  MPI_Allreduce(MPI_IN_PLACE, high, 3, MPI_DOUBLE, MPI_MAX, comm_);
  double       extent  = 0;
  const double stretched[3] = {frame_.factor[0], frame_.factor[1], frame_.factor[2]};
  for (int q = 0; q < dim; ++q)
    if (high[q] >= low[q]) {
      frame_.origin[q] = low[q];
      extent           = std::max(extent, (high[q] - low[q]) * stretched[q]);
    }
  extent *= 1 + 1e-9; // points on the upper boundary are inside
  const Key             none = (Key)1 << (dim * depth(dim));
  const Buffer<double> &points = there;
  Buffer<double>        y = make_unset<double>(points.size()), sorted;
  Buffer<Key>           key = make_unset<Key>((size_t)all), own, global;
  const auto            locate = [&](double length) {
    for (int q = 0; q < dim; ++q) frame_.factor[q] = extent > 0 ? stretched[q] / (extent * length) * (double)(1u << depth(dim)) : stretched[q];
    place(exec_, frame_, all, points.data(), y.data(), key.data());
    for_each(exec_, all, HideFixed{node.data(), none, key.data()});
  };
  std::vector<int> runs; // where those of each process begin among the keys of all, and the end
  const auto       gather_keys = [&](auto &keys, int count) { // the first ones of this process become those of all
    using K = std::remove_reference_t<decltype(*keys.data())>;
    const MPI_Datatype type = sizeof(K) == sizeof(Key) ? MPI_UNSIGNED_LONG_LONG : MPI_UNSIGNED;
    std::vector<int>   counts((size_t)size);
    runs.assign((size_t)size + 1, 0);
    MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, comm_);
    std::partial_sum(counts.begin(), counts.end(), runs.begin() + 1);
    const Buffer<K> here = on_host(keys);
    Buffer<K>       everyone((size_t)runs.back());
    MPI_Allgatherv(here.data(), count, type, everyone.data(), counts.data(), runs.data(), type, comm_);
    keys = make_unset<K>(everyone.size());
    copy(everyone, keys);
    if (exec_.space == Space::cuda) device::synchronize();
  };
  // the tree
  sum_each(exec_, n, CountFlags{node.data()}, sum.data());
  const double fixed_nodes = fetch(sum, 0);
  Level<T> &finest = levels_[0];
  finest.points    = n - (int)fixed_nodes;
  finest.nodes     = total(finest.points);
  locate(1); // the paper's root: the extent
  int sorted_level = depth(dim); // cells down to this level will be in order
  if (!params_.paper) {
    Buffer<unsigned> near = short_keys(exec_, dim, n, key);
    int              points = finest.points, deepest = depth(dim);
    if (size > 1) {
      gather_keys(near, finest.points);
      points = runs.back();
      merge_runs(exec_, runs, 32, near);
    }
    std::vector<int> counts = count_leaves(exec_, dim, params_.most, points, near, (int)((long)points * rank / size), (int)((long)points * (rank + 1) / size));
    MPI_Allreduce(MPI_IN_PLACE, counts.data(), (int)counts.size(), MPI_INT, MPI_SUM, comm_);
    locate(root_length(dim, params_.most, counts, &deepest));
    // What is in a leaf need not be in order. The cells are up to twice as large now and lie otherwise, so leaves may be a little deeper.
    if (!sweeps()) sorted_level = std::min(deepest + 2, depth(dim));
  }
  there = Buffer<double>(); // memory is what the peak of the setup takes
  if (rows.ghosts) {
    own = make_unset<Key>((size_t)n);
    for_each(exec_, n, CopyKeys{key.data(), own.data()});
  } else own = std::move(key);
  perm_  = Buffer<int>();
  where_ = make_unset<int>((size_t)all);
  for_each(exec_, rows.ghosts, NumberGhosts{where_.data(), n});
  Tree tree;
  for (;;) {
    const int unordered = dim * (depth(dim) - sorted_level);
    sort_keys(exec_, n, dim * depth(dim) + 1, unordered, own, perm_);
    if (size > 1) {
      Buffer<int> order;
      global.resize_unset(own.extent());
      copy(own, global);
      gather_keys(global, finest.points);
      if (!sweeps()) merge_runs(exec_, runs, dim * depth(dim), unordered, global);
      else { // colours go by all nodes
        sort_keys(exec_, runs.back(), dim * depth(dim), global, order);
        everyone_.order = std::move(order);
        everyone_.first = runs;
        everyone_.rank  = rank;
      }
    }
    const Buffer<Key> &keys = size > 1 ? global : own;
    const int          points = size > 1 ? runs.back() : finest.points;
    if (params_.paper) {
      double shares[3] = {};
      for (int q = 0; q < dim; ++q) shares[q] = extent > 0 && high[q] >= low[q] ? (high[q] - low[q]) * stretched[q] / extent : 0;
      tree = make_uniform(exec_, dim, uniform_level(dim, shares, params_.most, finest.nodes), points, keys);
    } else tree = make_tree(exec_, dim, params_.most, points, keys, sorted_level);
    if (tree.finest <= sorted_level) {
      crowded_ = tree.finest == depth(dim) ? count_crowded(keys, points) : 0;
      break;
    }
    sorted_level = depth(dim);
  }
  for_each(exec_, n, Invert{perm_.data(), where_.data()});
  if (size > 1) {
    const Buffer<int> number = on_host(where_);
    finest.exchange.renumber(std::vector<int>(number.data(), number.data() + n));
  }
  if (sweeps()) everyone_.key = std::move(global);
  // the operator
  read_pattern(rows);
  fill(rows, nullptr, nullptr, 1);
  if (rounded_) {
    failure.kind = Failure::rounded;
    return failure;
  }
  finest.nonzeros = total((double)finest.a.size());
  // the grids
  sorted = make_unset<double>(y.size());
  for_each(exec_, all, SortPoints{perm_.data(), y.data(), dim, n, sorted.data()});
  if (!(crowded_ > 0)) { // a vector that is constant in a cell has nothing of the largest eigenvalue there
    finest.start = make_unset<Key>((size_t)n);
    for_each(exec_, n, CopyKeys{own.data(), finest.start.data()});
  }
  Buffer<Key> keys; // own points in order, then ghosts
  if (rows.ghosts) {
    keys = make_unset<Key>((size_t)all);
    for_each(exec_, n, CopyKeys{own.data(), keys.data()});
    for_each(exec_, rows.ghosts, CopyKeys{key.data() + n, keys.data() + n});
    own = Buffer<Key>();
  } else keys = std::move(own);
  key    = Buffer<Key>();
  global = Buffer<Key>();
  y      = Buffer<double>();
  double             nodes = finest.nodes;
  std::vector<Cells> cells; // on a device of all trees that the limits let become grids, as far as there is no other reason to stop
  const auto         trees = [&] {
    int number = 1;
    for (double leaves = nodes / params_.most; exec_.space == Space::cuda && leaves * params_.bs > params_.coarse && number < params_.grids; leaves /= 1 << dim) ++number;
    return number;
  };
  for (int k = 0; nodes * params_.bs > params_.coarse && (int)levels_.size() <= params_.grids; ++k) {
    const size_t before = levels_.size();
    if (!params_.paper && k == (int)cells.size())
      for (Cells &c : make_cells(exec_, tree, k, k ? 1 : trees())) cells.push_back(std::move(c));
    failure.kind = next_grid(params_.paper ? uniform_cells(exec_, tree, k) : std::move(cells[(size_t)k]), keys, sorted);
    if (failure.kind) return failure;
    if (levels_.size() > before) nodes = levels_.back().nodes;
    else if (nodes * params_.bs <= std::min<double>(4. * params_.coarse, most_exact) || k > 40) break; // the balance holds it up
  }
  if (levels_.back().nodes * params_.bs > most_exact) {
    failure.kind = Failure::too_coarse;
    return failure;
  }
  everyone_ = {};
  for (Level<T> &l : levels_) vectors(l);
  return numbers();
}

// The grid of some leaves, if it is so much smaller that it pays.
template <class T> Failure::Kind Hierarchy<T>::next_grid(Cells cells, Buffer<Key> &key, Buffer<double> &y)
{
  if (lost()) return Failure::lost;
  Level<T>             &fine = levels_.back();
  const int             all = fine.n + fine.ghosts;
  Buffer<int>           leaf = make_unset<int>((size_t)all);
  Buffer<unsigned char> used = make<unsigned char>((size_t)cells.vertices);
  fine.cells   = cells.n;
  fine.corners = params_.paper ? 1 : 1 << params_.dim;
  bucket_starts(exec_, fine.points, key.data(), cells.n, cells.start.data(), fine.begin);
  for_each(exec_, cells.n, LeafOfPoint{fine.begin.data(), leaf.data()});
  for_each(exec_, all - fine.points, LeafOfRest{key.data() + fine.n, cells.start.data(), cells.level.data(), params_.dim, cells.n, fine.points, fine.n, (Key)1 << (params_.dim * depth(params_.dim)), leaf.data()});
  fine.weight = make_unset<T>((size_t)all * (size_t)fine.corners);
  if (params_.paper) for_each(exec_, all, Aggregate<T>{leaf.data(), fine.weight.data()});
  else make_weights(exec_, cells, params_.kuhn, all, leaf.data(), y.data(), fine.weight.data(), used.data());
  if (fine.distributed && !params_.paper) {
    if (lost()) return Failure::lost;
    Buffer<unsigned char> here = on_host(used);
    MPI_Allreduce(MPI_IN_PLACE, here.data(), (int)here.size(), MPI_UNSIGNED_CHAR, MPI_BOR, comm_);
    copy(here, used);
    if (exec_.space == Space::cuda) device::synchronize();
  }
  const int hanging = cells.hanging, coarsest = cells.coarsest, finest = cells.finest, n = params_.paper ? cells.n : number_vertices(exec_, cells, used);
  if (lost()) return Failure::lost;
  if (n >= 0.8 * fine.nodes) {
    fine.cells = fine.corners = 0;
    fine.weight = Buffer<T>();
    fine.begin  = Buffer<int>();
    return Failure::none;
  }
  fine.vertex = std::move(cells.vertex);
  if (!sweeps()) key = Buffer<Key>(); // colours go by keys
  y = Buffer<double>();
  levels_.emplace_back();
  Level<T> &from = levels_[levels_.size() - 2], &coarse = levels_.back();
  coarse.n = coarse.points = coarse.rows = n;
  coarse.nodes             = n;
  coarse.leaves            = cells.n;
  coarse.hanging           = hanging;
  coarse.coarsest          = coarsest;
  coarse.finest            = finest;
  // all processes have all of a grid that is small, and of one where Gauss-Seidel's colours and the K-cycle need it
  int size;
  MPI_Comm_size(comm_, &size);
  coarse.distributed = from.distributed && !sweeps() && !params_.paper && params_.cycle != 3 && (double)n * params_.bs > std::max(divided * params_.coarse, divided_least * size);
  Division division;
  if (coarse.distributed) division = divide(from, coarse, cells, leaf);
  if (const Failure::Kind kind = product_pattern(from, leaf, coarse, coarse.distributed ? &division : nullptr)) return kind;
  coarse.nonzeros = (double)coarse.j.size() * params_.bs * params_.bs;
  if (coarse.distributed) coarse.nonzeros = total(coarse.nonzeros);
  if (sweeps()) {
    if (const Failure::Kind kind = sweep_pattern(from, coarse, cells, key)) return kind;
  }
  if (exec_.space == Space::cuda) from.leaf = std::move(leaf);
  key = std::move(cells.key);
  y   = std::move(cells.y);
  if (coarse.distributed) {
    take_vertices(division, 1, key);
    take_vertices(division, params_.dim, y);
  }
  return Failure::none;
}

template <class T> template <class Index> bool Hierarchy<T>::refresh(const Rows<Index> &rows, Failure &failure)
{
  if (!read_again(rows, failure)) return false;
  if (!total(failure.kind)) failure = numbers();
  return true;
}

// The largest eigenvalue of D^-1 A, which is at least 1, is kept while it has moved by less: what there is of the tenth by which estimates
// are raised covers this much. Each grid is judged by its own operator, as a small shift may outweigh the rest on a coarse one.
constexpr double slight = 0.05;

template <class T> Failure Hierarchy<T>::numbers()
{
  Failure   failure;
  const int last = (int)levels_.size() - 1;
  bool      known = levels_[0].lambda > 0;
  ++numbers_;
  prepare_findings();
  if (exec_.space == Space::cuda && !sweeps()) {
    size_t largest = 0;
    for (int l = 1; l < last; ++l) largest = std::max(largest, levels_[(size_t)l].a.size());
    if (old_.size() < largest) old_ = make_unset<T>(largest);
  }
  for (int l = 0; l <= last; ++l) {
    Level<T> &level = levels_[(size_t)l];
    diagonal(level, l);
    if (l == last) break;
    if (!l) {
      const bool before = filtered_;
      filtered_ = params_.filter == 1 || (params_.filter == 2 && jumps());
      known     = known && !filtered_ && !before && !sweeps();
    } else if (known) measure(level, l);
    if (degree() > 2 && level.w.empty() && !sweeps()) level.w = make<T>(level.z.size()); // the polynomials of lower degree end before they need it
    if (level.sweep.exact) block_numbers(level);
    if (filtered_) { // the eigenvalue is needed at once
      estimate({l});
      judge(l, on_host(found_).data(), failure);
      if (total(failure.kind)) return failure;
    }
    filter(level);
    Level<T> &next = levels_[(size_t)l + 1];
    if (known && l + 1 < last) {
      roots(next, next.z);
      if (exec_.space == Space::cuda) device::copy(old_.data(), next.a.data(), next.a.bytes());
      else {
        old_   = std::move(next.a);
        next.a = make_unset<T>(old_.size());
      }
    }
    product(level, next);
  }
  if (exec_.space == Space::host) old_ = Buffer<T>();
  const bool     swept = sweep_last();
  Buffer<double> found;
  if (known) found = on_host(found_);
  if (known && levels_[0].distributed) join_changes(found);
  bool             kept  = known;
  std::vector<int> divided_grids;
  for (int l = 0; l < last && !sweeps() && !filtered_; ++l) {
    Level<T> &level = levels_[(size_t)l];
    if (known && l) level.change += (float)changed(l, found.data());
    if (known && level.lambda > 0 && level.change < slight) continue;
    kept = false;
    if (level.distributed) divided_grids.push_back(l);
    else estimate({l});
  }
  estimate(divided_grids);
  if (!kept) found = on_host(found_);
  for (int l = 0; l <= last && !failure.kind; ++l) judge(l, found.data(), failure);
  if (total(failure.kind)) return failure;
  failure = invert(swept ? found.data()[found.size() - 1] : -1);
  if (params_.falls_back && !constants_) { // all processes go on in the same way
    if (total(failure.kind)) return failure;
    if (total(coarsest_.dropped)) failure.kind = Failure::rounded;
  }
  return failure;
}

template <class T> size_t Level<T>::bytes() const
{
  return i.bytes() + j.bytes() + a.bytes() + inverse.bytes() + b.bytes() + x.bytes() + r.bytes() + z.bytes() + w.bytes() + several.bytes() + begin.bytes() + vertex.bytes() + leaf.bytes() + weight.bytes() + plain.bytes() + sums.bytes() + first.bytes() + place.bytes() + wide.bytes() + narrow.bytes() + pairs.bytes() + columns.bytes() + exchange.bytes() + entries.bytes() + start.bytes() + sweep.bytes() + krylov.bytes() + transpose.bytes();
}

template <class T> size_t Hierarchy<T>::bytes() const
{
  size_t sum = parts_.bytes() + old_.bytes() + coarsest_.inverse.bytes() + perm_.bytes() + where_.bytes() + fixed_.bytes() + diagonal_.bytes() + fixed_list_.bytes() + fixed_inverse_.bytes() + one_sided_rows_.bytes() + one_sided_i_.bytes() + one_sided_j_.bytes() + one_sided_a_.bytes() + one_sided_transpose_.i.bytes() + one_sided_transpose_.row.bytes() + one_sided_transpose_.a.bytes() + one_sided_transpose_.sums.bytes();
  for (const Level<T> &l : levels_) sum += l.bytes();
  return sum;
}

#define INSTANTIATE(T) \
  template struct Level<T>; \
  template size_t  Hierarchy<T>::bytes() const; \
  template double  Hierarchy<T>::total(double) const; \
  template bool    Hierarchy<T>::lost() const; \
  template Failure::Kind Hierarchy<T>::next_grid(Cells, Buffer<Key> &, Buffer<double> &); \
  template Failure Hierarchy<T>::numbers(); \
  template Failure Hierarchy<T>::setup(const Rows<int> &, const double *, const std::vector<int> &, const std::vector<int> &, bool, Space); \
  template Failure Hierarchy<T>::setup(const Rows<int64_t> &, const double *, const std::vector<int> &, const std::vector<int> &, bool, Space); \
  template bool    Hierarchy<T>::refresh(const Rows<int> &, Failure &); \
  template bool    Hierarchy<T>::refresh(const Rows<int64_t> &, Failure &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::auxamg
