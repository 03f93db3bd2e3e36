// The grids from the trees: which leaf a node is in, the interpolation from its corners, and the pattern of the next
// operator.
#include "tree/setup.hpp"
#include "tree/cells/pairs.hpp"
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

// Leaves that begin before a point.
struct CountBegun {
  const int *begin;
  int        leaves, point, *number;
  HD void    operator()(int) const { *number = lower_bound(begin, 0, leaves, point); }
};

// Piecewise constants.
template <class T> struct Aggregate {
  const int *leaf;
  T         *weight;
  HD void    operator()(int p) const { weight[p] = leaf[p] < 0 ? 0 : 1; }
};

} // namespace

// T_k, for the level there is; `leaves`: of all keepers. taken: trees that a device has made at once.
template <class T> Cells Setup<T>::cells_of(const Tree &tree, int k, std::vector<Cells> &taken, int &leaves)
{
  Cells cells;
  leaves = -1;
  if (divides_tree())
    cells = levels_.back().distributed ? kept_cells(exec_, tree, k, keepers_, leaves)
                                       : gathered_cells(exec_, tree, k, keepers_);
  else if (params_.aggregation) cells = uniform_cells(exec_, tree, k);
  else {
    // on a device all trees that the limits let become grids, as far as there is no other reason to stop
    int number = 1;
    for (double of = levels_[0].nodes / params_.cell_size;
         strategy_->trees_at_once && !k && of * params_.bs > params_.coarse && number < params_.grids;
         of /= 1 << params_.dim)
      ++number;
    if (k == (int)taken.size())
      for (Cells &c : make_cells(exec_, tree, k, number)) taken.push_back(std::move(c));
    cells = std::move(taken[(size_t)k]);
    if (cells.start.empty()) cells = std::move(make_cells(exec_, tree, k, 1).front()); // it has been taken before
  }
  if (leaves < 0) leaves = cells.n;
  return cells;
}

constexpr int most_trees = 40; // that are looked at

// A coarse operator of a mesh has fewer entries than the matrix or, where rows are short, than so many for each node.
// With six times as many, couplings are between nodes all over the mesh. Coordinates of other nodes make so many from
// some thousand nodes on, in space from twenty thousand.
template <class T> bool couples_far_nodes(const Level<T> &mesh, const Level<T> &coarse)
{
  constexpr double too_many_times = 6, short_row = 9;
  return coarse.nonzeros > too_many_times * std::max(mesh.nonzeros, short_row * mesh.bs * mesh.bs * mesh.nodes);
}

// Leaves in space, of the nodes of the grid before: the balance makes so many where nodes gather about points. Other
// meshes that were measured have at most a fifth with cells of the usual size. Smaller cells, which mean more of them,
// count for the mesh alone, as trees are nested.
template <class T> double Setup<T>::many_leaves() const
{
  constexpr double usual = 0.3;
  return levels_.size() > 1 ? usual : usual * std::max(1., (double)usual_cell_size(3) / params_.cell_size);
}

// One grid after the other, until what is left can be solved exactly. bodies: of find_bodies().
template <class T> Failure::Kind Setup<T>::make_grids(const Tree &tree, const Bodies &bodies)
{
  Buffer<Key>       &keys = points_.key;
  Buffer<double>    &sorted = points_.y;
  const bool         balanced = params_.dim == 3 && !params_.aggregation;
  std::vector<Cells> taken;
  numeric_.set_body_functions(bodies.any ? BodyFunctions::own : BodyFunctions::none);
  body_ = {bodies.any, bodies.matrix, make_unset<int>(bodies.of.size())};
  for_each(exec_, (int)bodies.of.size(), CopyValues<int>{bodies.of.data(), body_.of.data()});
  for (int k = 0; levels_.back().nodes * params_.bs > params_.coarse && (int)levels_.size() <= params_.grids; ++k) {
    const size_t before = levels_.size();
    const double nodes = levels_.back().nodes;
    int          leaves;
    Cells        cells = cells_of(tree, k, taken, leaves);
    if (balanced && leaves > many_leaves() * nodes && k < most_trees) continue; // the next is smaller
    Sizes        sizes{k ? few_vertices() : 0, 0.8 * nodes}; // no tree is finer than the first one
    if (const Failure::Kind kind = next_grid(std::move(cells), leaves, keys, sorted, sizes)) return kind;
    if (sizes.again) { // a grid that is small enough is the last one, where bodies stay apart
      if (params_.bs > 1 && nodes * params_.bs <= std::min<double>(4. * params_.coarse, max_exact)) break;
      --k;
      continue;
    }
    if (sizes.found < sizes.least) { // too far from the mesh: there is one between
      if (const Failure::Kind kind = insert_grid(sizes.found, keys, sorted)) return kind;
      if (levels_.size() == before) {
        sizes.least = 0;
        cells       = cells_of(tree, k, taken, leaves);
        if (const Failure::Kind kind = next_grid(std::move(cells), leaves, keys, sorted, sizes)) return kind;
        if (sizes.again) --k;
      } else --k; // which comes next
    }
    // the balance holds it up
    const bool held_up =
      sizes.found >= sizes.limit && nodes * params_.bs <= std::min<double>(4. * params_.coarse, max_exact);
    if (levels_.size() == before && (held_up || k > most_trees)) break;
  }
  colouring_.everyone() = {};
  return levels_.back().nodes * params_.bs > max_exact ? Failure::too_coarse : Failure::none;
}

// The leaves that nodes are in.
template <class T>
void Setup<T>::find_leaves(Level<T> &fine, const Cells &cells, const Buffer<Key> &key, Buffer<int> &leaf)
{
  leaf = make_unset<int>((size_t)(fine.n + fine.ghosts));
  bucket_starts(exec_, fine.points, key.data(), cells.n, cells.start.data(), fine.transfer.begin);
  for_each(exec_, cells.n, LeafOfPoint{fine.transfer.begin.data(), leaf.data()});
  for_each(exec_, fine.n + fine.ghosts - fine.points,
           LeafOfRest{key.data() + fine.n, cells.start.data(), cells.level.data(), params_.dim, cells.n, fine.points,
                      fine.n, (Key)1 << (params_.dim * depth(params_.dim)), leaf.data()});
}

// The same where the cells are those of a keeper: those of own nodes and ghosts take their place.
template <class T>
void Setup<T>::find_local_leaves(Level<T> &fine, Cells &cells, const Buffer<Key> &key, Buffer<int> &leaf)
{
  LocalLeaves local   = local_leaves(exec_, keepers_, cells, fine.points, fine.n, key);
  cells               = std::move(local.cells);
  leaf                = std::move(local.leaf);
  fine.transfer.begin = std::move(local.begin);
}

// The weights of the nodes at the corners of their leaves; axes: of make_weights(), or empty. Vertices without any are
// left out, the others numbered.
template <class T>
void Setup<T>::interpolate(Level<T> &fine, Cells &cells, const Buffer<double> &y, const Buffer<int> &leaf,
                           const Buffer<unsigned char> &axes)
{
  const int all = fine.n + fine.ghosts;
  fine.transfer.cells   = cells.n;
  fine.transfer.corners = params_.aggregation ? 1 : 1 << params_.dim;
  fine.transfer.weight  = make_unset<T>((size_t)all * (size_t)fine.transfer.corners);
  if (params_.aggregation) return for_each(exec_, all, Aggregate<T>{leaf.data(), fine.transfer.weight.data()});
  Buffer<unsigned char> used = make<unsigned char>((size_t)cells.vertices);
  make_weights(exec_, cells, params_.kuhn, all, leaf.data(), y.data(), axes.data(), fine.transfer.weight.data(),
               used.data());
  // what a failed device makes of vertices is dropped
  if (fine.distributed && divides_tree()) return number_local_vertices(exec_, keepers_, cells, used);
  if (lost()) return;
  if (fine.distributed) reduce(used, MPI_UNSIGNED_CHAR, MPI_BOR);
  number_vertices(exec_, cells, used);
}

// The leaf of each node, its weights there, and functions for parts of the mesh. False: a device is lost.
template <class T>
bool Setup<T>::place_nodes(Level<T> &fine, Cells &cells, const Buffer<Key> &key, const Buffer<double> &y,
                           Buffer<int> &leaf)
{
  CompactBodies compact;
  if (body_.any) {
    compact = compact_bodies(fine, key, y);
    find_home_leaves(fine, cells, key, compact, leaf);
  } else if (fine.distributed && divides_tree()) find_local_leaves(fine, cells, key, leaf);
  else find_leaves(fine, cells, key, leaf);
  if (lost()) return false;
  interpolate(fine, cells, y, leaf, compact.axes);
  if (lost()) return false;
  if (!params_.aggregation && !sweeps()) split_leaves(fine, cells, key, y, leaf);
  return !lost();
}

// The grid of some leaves, if its size is wanted; of so many leaves in all.
template <class T>
Failure::Kind Setup<T>::next_grid(Cells cells, int leaves, Buffer<Key> &key, Buffer<double> &y, Sizes &sizes)
{
  if (lost()) return Failure::lost;
  Level<T>   &fine = levels_.back();
  const bool  local = fine.distributed && divides_tree(), bodies = body_.any;
  const auto  parts = parts_;
  Buffer<int> leaf;
  if (!place_nodes(fine, cells, key, y, leaf)) return Failure::lost;
  const int hanging = cells.hanging, coarsest = cells.coarsest, finest = cells.finest;
  const int n = params_.aggregation ? cells.n : local ? cells.first.back() : cells.vertices;
  sizes.found = n;
  sizes.again = bodies && !body_.any; // this grid would have the weights of compact ones
  // Where more than a third of the vertices hang, most cells are there for the balance, between small spots of many
  // nodes and what is around them, and trees hardly get smaller. In the plane a grid of more than half the nodes takes
  // more time than it saves; in space it saves half of the iterations.
  const bool slow = params_.dim == 2 && 3. * hanging > n && n > 0.5 * fine.nodes;
  if (sizes.again || n >= sizes.limit || n < sizes.least || slow) {
    if (!sizes.again) parts_ = parts;
    next_body_ = {};
    fine.transfer.cells = fine.transfer.corners = 0;
    fine.transfer.weight = Buffer<T>();
    fine.transfer.begin  = Buffer<int>();
    return Failure::none;
  }
  if (!sweeps()) { // colours go by keys, and functions of parts on coarse grids
    if (params_.all_take_part && params_.bs == 1 && params_.dim == 2 && levels_.size() > 1)
      fine.place = std::move(key);
    key = Buffer<Key>();
  }
  y = Buffer<double>();
  levels_.emplace_back(exec_, params_.bs);
  Level<T> &from = levels_[levels_.size() - 2], &coarse = levels_.back();
  coarse.nodes = coarse.n = coarse.points = coarse.rows = n;
  coarse.grid = {(double)hanging, leaves, coarsest, finest};
  // all processes have all of a grid that is small, and of one where Gauss-Seidel's colours and the K-cycle need it
  int size;
  MPI_Comm_size(comm_, &size);
  coarse.distributed = from.distributed && !sweeps() && !params_.aggregation && params_.cycle != Cycle::k &&
                       (double)n * params_.bs >
                         std::max(strategy_->divided * params_.coarse, divided_least * size);
  Division division;
  Division *const owners = coarse.distributed ? &division : nullptr;
  if (from.distributed && !owners && next_body_.any) gather_bodies(cells.number, n);
  if (local && !owners) gather_vertices(exec_, comm_, cells);
  from.transfer.vertex = std::move(cells.vertex);
  if (local) { // leaves of ghosts come behind those of own nodes
    Buffer<int> number = make_unset<int>(1);
    for_each(exec_, 1, CountBegun{from.transfer.begin.data(), cells.n, from.points, number.data()});
    from.transfer.cells = fetch(number, 0);
    keep_first(exec_, (size_t)from.transfer.cells + 1, from.transfer.begin);
  }
  if (owners) division = galerkin_.divide(from, coarse, cells);
  if (const Failure::Kind kind = galerkin_.product_pattern(from, leaf, cells.n, coarse, owners)) return kind;
  if (local && !owners)
    keep_first(exec_, (size_t)from.transfer.cells * (size_t)from.transfer.corners, from.transfer.vertex);
  coarse.nonzeros = (double)coarse.j.size() * params_.bs * params_.bs;
  if (coarse.distributed) coarse.nonzeros = total(coarse.nonzeros);
  const bool far = params_.judges_places && couples_far_nodes(levels_[0], coarse);
  if (from.distributed ? total(far) > 0 : far) return Failure::far;
  if (sweeps()) {
    if (const Failure::Kind kind = colouring_.sweep_pattern(from, coarse, cells, key)) return kind;
  }
  if (from.by_nodes()) from.transfer.leaf = std::move(leaf);
  if (parts_.strong) numeric_.product(from, coarse);
  key = std::move(cells.key);
  y   = std::move(cells.y);
  if (coarse.distributed) {
    galerkin_.take_vertices(division.vertex, coarse, 1, key);
    galerkin_.take_vertices(division.vertex, coarse, params_.dim, y);
    if (next_body_.any) galerkin_.take_vertices(division.vertex, coarse, 1, next_body_.of);
  }
  body_      = std::move(next_body_);
  next_body_ = {};
  return Failure::none;
}

#define INSTANTIATE(T) \
  template void Setup<T>::find_leaves(Level<T> &, const Cells &, const Buffer<Key> &, Buffer<int> &); \
  template void Setup<T>::find_local_leaves(Level<T> &, Cells &, const Buffer<Key> &, Buffer<int> &); \
  template Failure::Kind Setup<T>::make_grids(const Tree &, const Bodies &); \
  template Failure::Kind Setup<T>::next_grid(Cells, int, Buffer<Key> &, Buffer<double> &, Sizes &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
