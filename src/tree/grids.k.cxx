// The grids from the trees: which leaf a node is in, the interpolation from its corners, and the pattern of the next
// operator.
#include "tree/setup.hpp"
#include "tree/dispatch.hpp"
#include "exec/each.hpp"
#include <algorithm>

namespace tessera::tree {

namespace {

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
    leaf[p]        = dim == 1 ? containing<1>(start, level, leaves, here)
                   : dim == 2 ? containing<2>(start, level, leaves, here)
                              : containing<3>(start, level, leaves, here);
  }
};

// Piecewise constants.
template <class T> struct Aggregate {
  const int *leaf;
  T         *weight;
  HD void    operator()(int p) const { weight[p] = leaf[p] < 0 ? 0 : 1; }
};

} // namespace

// One grid after the other, until what is left can be solved exactly.
template <class T> Failure::Kind Setup<T>::make_grids(const Tree &tree)
{
  Buffer<Key>       &keys = points_.key;
  Buffer<double>    &sorted = points_.y;
  double             nodes = levels_[0].nodes;
  // on a device of all trees that the limits let become grids, as far as there is no other reason to stop
  std::vector<Cells> cells;
  const auto         trees = [&] {
    int number = 1;
    if (exec_.space != Space::cuda) return number;
    for (double leaves = nodes / params_.cell_size; leaves * params_.bs > params_.coarse && number < params_.grids;
         leaves /= 1 << params_.dim)
      ++number;
    return number;
  };
  for (int k = 0; nodes * params_.bs > params_.coarse && (int)levels_.size() <= params_.grids; ++k) {
    const size_t before = levels_.size();
    if (!params_.aggregation && k == (int)cells.size())
      for (Cells &c : make_cells(exec_, tree, k, k ? 1 : trees())) cells.push_back(std::move(c));
    Cells these = params_.aggregation ? uniform_cells(exec_, tree, k) : std::move(cells[(size_t)k]);
    if (const Failure::Kind kind = next_grid(std::move(these), keys, sorted)) return kind;
    if (levels_.size() > before) nodes = levels_.back().nodes;
    // the balance holds it up
    else if (nodes * params_.bs <= std::min<double>(4. * params_.coarse, max_exact) || k > 40) break;
  }
  colouring_.everyone() = {};
  return levels_.back().nodes * params_.bs > max_exact ? Failure::too_coarse : Failure::none;
}

// The leaves that nodes are in, their weights at the corners, and on all processes which vertices are used.
template <class T>
void Setup<T>::interpolate(Level<T> &fine, const Cells &cells, const Buffer<Key> &key, const Buffer<double> &y,
                           Buffer<int> &leaf, Buffer<unsigned char> &used)
{
  const int all = fine.n + fine.ghosts;
  fine.transfer.cells   = cells.n;
  fine.transfer.corners = params_.aggregation ? 1 : 1 << params_.dim;
  bucket_starts(exec_, fine.points, key.data(), cells.n, cells.start.data(), fine.transfer.begin);
  for_each(exec_, cells.n, LeafOfPoint{fine.transfer.begin.data(), leaf.data()});
  for_each(exec_, all - fine.points,
           LeafOfRest{key.data() + fine.n, cells.start.data(), cells.level.data(), params_.dim, cells.n, fine.points,
                      fine.n, (Key)1 << (params_.dim * depth(params_.dim)), leaf.data()});
  fine.transfer.weight = make_unset<T>((size_t)all * (size_t)fine.transfer.corners);
  if (params_.aggregation) return for_each(exec_, all, Aggregate<T>{leaf.data(), fine.transfer.weight.data()});
  make_weights(exec_, cells, params_.kuhn, all, leaf.data(), y.data(), fine.transfer.weight.data(), used.data());
  if (!fine.distributed || lost()) return;
  reduce(used, MPI_UNSIGNED_CHAR, MPI_BOR);
}

// The grid of some leaves, if it is so much smaller that it pays.
template <class T> Failure::Kind Setup<T>::next_grid(Cells cells, Buffer<Key> &key, Buffer<double> &y)
{
  if (lost()) return Failure::lost;
  Level<T>             &fine = levels_.back();
  Buffer<int>           leaf = make_unset<int>((size_t)(fine.n + fine.ghosts));
  Buffer<unsigned char> used = make<unsigned char>((size_t)cells.vertices);
  interpolate(fine, cells, key, y, leaf, used);
  if (lost()) return Failure::lost;
  const int hanging = cells.hanging, coarsest = cells.coarsest, finest = cells.finest, leaves = cells.n;
  if (!params_.aggregation) number_vertices(exec_, cells, used);
  if (lost()) return Failure::lost;
  if (!params_.aggregation && !sweeps()) split_leaves(fine, cells, leaf);
  const int n = params_.aggregation ? cells.n : cells.vertices;
  if (n >= 0.8 * fine.nodes) {
    fine.transfer.cells = fine.transfer.corners = 0;
    fine.transfer.weight = Buffer<T>();
    fine.transfer.begin  = Buffer<int>();
    return Failure::none;
  }
  fine.transfer.vertex = std::move(cells.vertex);
  if (!sweeps()) key = Buffer<Key>(); // colours go by keys
  y = Buffer<double>();
  levels_.emplace_back(exec_, params_.bs);
  Level<T> &from = levels_[levels_.size() - 2], &coarse = levels_.back();
  coarse.n = coarse.points = coarse.rows = n;
  coarse.nodes             = n;
  coarse.grid.leaves            = leaves;
  coarse.grid.hanging           = hanging;
  coarse.grid.coarsest          = coarsest;
  coarse.grid.finest            = finest;
  // all processes have all of a grid that is small, and of one where Gauss-Seidel's colours and the K-cycle need it
  int size;
  MPI_Comm_size(comm_, &size);
  coarse.distributed = from.distributed && !sweeps() && !params_.aggregation && params_.cycle != Cycle::k &&
                       (double)n * params_.bs > std::max(divided * params_.coarse, divided_least * size);
  Division division;
  Division *const owners = coarse.distributed ? &division : nullptr;
  if (owners) division = galerkin_.divide(from, coarse, cells, leaf);
  if (const Failure::Kind kind = galerkin_.product_pattern(from, leaf, coarse, owners)) return kind;
  coarse.nonzeros = (double)coarse.j.size() * params_.bs * params_.bs;
  if (coarse.distributed) coarse.nonzeros = total(coarse.nonzeros);
  if (sweeps()) {
    if (const Failure::Kind kind = colouring_.sweep_pattern(from, coarse, cells, key)) return kind;
  }
  if (from.by_nodes()) from.transfer.leaf = std::move(leaf);
  if (strong_) numeric_.product(from, coarse);
  key = std::move(cells.key);
  y   = std::move(cells.y);
  if (coarse.distributed) {
    galerkin_.take_vertices(division.vertex, 1, key);
    galerkin_.take_vertices(division.vertex, params_.dim, y);
  }
  return Failure::none;
}

#define INSTANTIATE(T) \
  template Failure::Kind Setup<T>::make_grids(const Tree &); \
  template Failure::Kind Setup<T>::next_grid(Cells, Buffer<Key> &, Buffer<double> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
