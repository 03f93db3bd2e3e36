// Grids between those of the tree. T_k has cells by the number of the mesh's nodes in them. Where many small parts of a
// mesh are much finer than what is around them, the vertices of T_0 are too many to be a grid, and T_1 has none of
// these parts any more; or T_k has many vertices for few nodes, and T_{k+1} hardly any. Then there is a grid between on
// the tree of the nodes or vertices that there are.
#include "tree/setup.hpp"
#include "exec/each.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::tree {

// A grid of fewer vertices is far from the level there is. On meshes of all other kinds that were measured (bench/zoo)
// the mesh has at most 6 (in space 9) times the nodes of the first grid, and a grid 5.5 (11.4) times those of the next.
template <class T> double Setup<T>::few_vertices() const
{
  if (sweeps() || params_.aggregation || params_.dim == 1) return 0; // colours go by the tree of all
  return levels_.back().nodes / ((levels_.size() == 1 ? 2 : 1.5) * (1 << params_.dim));
}

// A grid of more than so few vertices, if there is one that is not much larger.
template <class T> Failure::Kind Setup<T>::insert_grid(int few, Buffer<Key> &key, Buffer<double> &y)
{
  constexpr int    tries = 6;
  const int        dim = params_.dim, own = levels_.back().points;
  const size_t     before = levels_.size();
  const bool       mesh = before == 1, local = levels_.back().distributed;
  const double     half = 0.5 * levels_.back().nodes;
  const Keepers    keepers = keepers_;
  Buffer<Key>      points = make_unset<Key>((size_t)own);
  Buffer<int>      order;
  Failure::Kind    failure = Failure::none;
  for_each(exec_, own, CopyValues<Key>{key.data(), points.data()});
  sort_keys(exec_, own, dim * depth(dim), points, order);
  // as far from the one as from the other, by bisection of how many points a cell may have
  const double wanted = std::sqrt(few * levels_.back().nodes);
  double       low = mesh ? params_.cell_size : 1 << dim, high = low * (mesh ? 1 << dim : 32);
  for (int k = 0; k < tries && !failure && levels_.size() == before; ++k) {
    const int capacity = (int)std::sqrt(low * high);
    Sizes     sizes{wanted / 1.5, std::min(1.75 * wanted, half)};
    Tree  tree;
    Cells cells;
    int   leaves = -1;
    if (local) {
      const KeptKeys kept = keep_keys(exec_, comm_, dim, dim * depth(dim), capacity, true, own, points, keepers_);
      tree                = make_tree(exec_, dim, capacity, kept, keepers_);
      cells               = kept_cells(exec_, tree, 0, keepers_, leaves);
    } else {
      tree   = make_tree(exec_, dim, capacity, own, points);
      cells  = std::move(make_cells(exec_, tree, 0, 1).front());
      leaves = cells.n;
    }
    // many vertices at one point, one for each part of the mesh there, would be split down to the last level
    if (!mesh && tree.finest > levels_.back().grid.finest + 1) sizes.found = (int)levels_.back().nodes;
    else failure = next_grid(std::move(cells), leaves, key, y, sizes);
    (sizes.found < sizes.least ? high : low) = capacity;
  }
  keepers_ = keepers;
  return failure;
}

#define INSTANTIATE(T) \
  template double        Setup<T>::few_vertices() const; \
  template Failure::Kind Setup<T>::insert_grid(int, Buffer<Key> &, Buffer<double> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
