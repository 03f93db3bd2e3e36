// A grid between the mesh and T_1. T_k has cells by the number of the mesh's nodes in them, those of thin parts counted
// as in T_0. Where many small parts of a mesh are much finer than what is around them, the vertices of T_0 are too many
// to be a grid, and T_1 has none of these parts any more. Then there is a grid between on a tree whose leaves have more
// nodes than those of T_0 and fewer than those of T_1: each of them lies in one of T_1, so that vertices beside its
// leaves lie in leaves of all next trees.
#include "tree/setup.hpp"
#include "exec/each.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::tree {

// A grid of fewer vertices is far from the mesh. Other meshes that were measured (bench/zoo) have at most 6 (in space
// 9) times the nodes of the first grid.
template <class T> double Setup<T>::few_vertices() const
{
  // colours go by the tree of all, and the last grid that the options allow has to be a small one
  if (levels_.size() > 1 || params_.grids < 2 || sweeps() || params_.aggregation || params_.dim == 1) return 0;
  return levels_[0].nodes / (2 << params_.dim);
}

// A grid of more than `few` vertices, if there is one that has not many more.
template <class T> Failure::Kind Setup<T>::insert_grid(int few, Buffer<Key> &key, Buffer<double> &y)
{
  constexpr int tries = 6;
  const bool    thin = !points_.repeated.empty();
  const int     dim = params_.dim, own = thin ? (int)points_.repeated.size() : levels_[0].points;
  const Keepers keepers = keepers_;
  Buffer<Key>   points = make_unset<Key>((size_t)own);
  Buffer<int>   order;
  Failure::Kind failure = Failure::none;
  for_each(exec_, own, CopyValues<Key>{thin ? points_.repeated.data() : key.data(), points.data()});
  sort_keys(exec_, own, dim * depth(dim), points, order);
  // as far from the one as from the other, by bisection of how many points a cell may have
  const double wanted = std::sqrt(few * levels_[0].nodes);
  double       low = params_.cell_size, high = low * (1 << dim);
  for (int k = 0; k < tries && !failure && levels_.size() == 1; ++k) {
    const int capacity = (int)std::sqrt(low * high);
    Sizes     sizes{wanted / 1.5, std::min(1.75 * wanted, 0.5 * levels_[0].nodes)};
    Cells     cells;
    int       leaves = -1;
    if (divides_tree()) {
      const KeptKeys kept = keep_keys(exec_, comm_, dim, dim * depth(dim), capacity, true, own, points, keepers_);
      cells = kept_cells(exec_, make_tree(exec_, dim, capacity, kept, keepers_), 0, keepers_, leaves);
    } else {
      cells  = std::move(make_cells(exec_, make_tree(exec_, dim, capacity, own, points), 0, 1).front());
      leaves = cells.n;
    }
    failure = next_grid(std::move(cells), leaves, key, y, sizes);
    if (sizes.again) --k;
    else (sizes.found < sizes.least ? high : low) = capacity;
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
