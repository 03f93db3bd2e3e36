// The uniform grid of the paper: square (cubic) cells over the bounding box, and their parents. Empty cells do not
// exist.
#include "tree/cells/tree.hpp"
#include "exec/each.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::tree {

namespace {

// The cell of a finest cell, by the bits that they share.
struct CellOf {
  const Key *from;
  int        shift;
  Key       *to;
  HD void    operator()(int p) const { to[p] = from[p] >> shift << shift; }
};
struct TakeCell {
  const int   *from;
  const Key   *cell;
  int          cell_level;
  Key         *start;
  signed char *level;
  int         *vertex; // the cell itself; nullptr where nobody asks
  HD void      operator()(int p) const
  {
    start[p] = cell[from[p]];
    level[p] = (signed char)cell_level;
    if (vertex) vertex[p] = p;
  }
};

// The cells of a level that hold one of the sorted keys. Returns how many.
int occupied(const Exec &exec, int dim, int cell_level, int n, const Buffer<Key> &keys, Buffer<Key> &start,
             Buffer<signed char> &level, Buffer<int> *vertex)
{
  const auto            extent = [&](int size) { return Extent{(size_t)size, exec.space}; };
  Buffer<Key>           cell(extent(n));
  Buffer<unsigned char> flag(extent(n));
  Buffer<int>           from;
  for_each(exec, n, CellOf{keys.data(), dim * (depth(dim) - cell_level), cell.data()});
  for_each(exec, n, FirstOfRun<Key>{cell.data(), flag.data()});
  select(exec, n, flag, from);
  const int cells = (int)from.size();
  start.resize(extent(cells));
  level.resize(extent(cells));
  if (vertex) vertex->resize(extent(cells));
  for_each(
    exec, cells,
    TakeCell{from.data(), cell.data(), cell_level, start.data(), level.data(), vertex ? vertex->data() : nullptr});
  return cells;
}

} // namespace

int uniform_level(int dim, const double *extents, double capacity, double nodes)
{
  int level = 0;
  while (level < depth(dim)) {
    double cells = capacity;
    for (int q = 0; q < dim; ++q) cells *= std::max(1., std::ceil(std::ldexp(extents[q], level + 1)));
    if (!(cells < nodes)) break;
    if (std::none_of(extents, extents + dim, [](double s) { return s > 0; })) break; // all points are one
    ++level;
  }
  return level;
}

Tree make_uniform(const Exec &exec, int dim, int level, int n, const Buffer<Key> &keys)
{
  Tree tree;
  tree.dim     = dim;
  tree.uniform = level;
  tree.cells   = occupied(exec, dim, level, n, keys, tree.start, tree.level, nullptr);
  return tree;
}

Cells uniform_cells(const Exec &exec, const Tree &tree, int k)
{
  Cells cells;
  cells.dim      = tree.dim;
  cells.coarsest = cells.finest = std::max(tree.uniform - k, 0);
  cells.n                       = cells.vertices =
    occupied(exec, tree.dim, cells.finest, tree.cells, tree.start, cells.start, cells.level, &cells.vertex);
  cells.key.resize(cells.start.extent());
  copy(cells.start, cells.key);
  return cells;
}

} // namespace tessera::tree
