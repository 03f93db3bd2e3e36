// Thin parts of a mesh in the plane: strips of a few nodes across. A leaf of T_0 holds up to m nodes, which makes it
// three couplings long where they fill it, but m / 2 in a strip of two nodes: too much for the smoother. A node whose
// leaf is more than four times as long as its longest coupling counts twice, as if there were two, and four times where
// the leaf is more than eight times as long. Leaves there are split once more; elsewhere the tree is the same.
#include "tree/crowded.hpp"
#include "tree/read.hpp"
#include "tree/setup.hpp"
#include "exec/requests.hpp"

namespace tessera::tree {

namespace {

// The level of a leaf of T_0 by a finest cell in it, whose key a keeper has.
struct LevelOfLeaf {
  const Key   *kept, *key;
  int          n;
  const short *crowded;
  int         *level;
  HD void      operator()(int p) const
  {
    const int q = lower_bound(kept, 0, n, key[p]);
    level[p]    = q < n ? crowded[q] : -1;
  }
};

// How often a node counts. Points are in the order of their keys.
template <class L> struct CountThin {
  static constexpr int dim = 2, long_leaf = 4; // couplings
  RowReader            reader;
  const double        *y; // in units of the finest cells
  const int           *node;
  const L             *crowded; // the finest level of a cell that is split, with the point in it
  int                 *count;
  HD void              operator()(int p) const
  {
    const int levels = depth(dim) - (crowded[p] + 1); // below the leaf
    count[p]         = 1;
    if (levels <= 0) return;
    const int     at = node[p];
    const double  edge = (double)(1u << levels) / long_leaf;
    double        longest = 0;
    reader.each(at, [&](int, int column, double) {
      if (longest >= edge) return;
      const int other = reader.node(column);
      for (int q = 0; q < dim; ++q) {
        const double length = fabs(y[(ptrdiff_t)dim * other + q] - y[(ptrdiff_t)dim * at + q]);
        longest             = length > longest ? length : longest;
      }
    });
    if (longest > 0 && longest < edge) count[p] = 2 * longest < edge ? 4 : 2;
  }
};
struct Repeat {
  const int *place; // where the copies of each key begin, and the end
  const Key *key;
  Key       *to;
  HD void    operator()(int p) const
  {
    for (int q = place[p]; q < place[p + 1]; ++q) to[q] = key[p];
  }
};

} // namespace

// Of the keys of own points, in order, those of thin parts several times; empty where these are few. Collective.
template <class T>
template <class L>
Buffer<Key> Setup<T>::repeat_thin(const Rows &rows, const Buffer<Key> &keys, const int *node, const L *crowded)
{
  constexpr double few = 0.02; // of all nodes: so many are at edges of small meshes
  const int        n = levels_[0].points;
  Buffer<int>      place = make_unset<int>((size_t)n + 1);
  Buffer<Key>      repeated;
  const RowReader  reader{rows, params_.bs, constrained_.any ? constrained_.kind.data() : nullptr};
  for_each(exec_, n, CountThin<L>{reader, points_.y.data(), node, crowded, place.data()});
  const int all = n ? scan(exec_, n, place) : 0;
  if (lost() || !(total(all - n) > few * levels_[0].nodes)) return repeated;
  repeated = make_unset<Key>((size_t)all);
  for_each(exec_, n, Repeat{place.data(), keys.data(), repeated.data()});
  return repeated;
}

template <class T> Buffer<Key> Setup<T>::repeat_thin(const Rows &rows)
{
  const int     n = levels_[0].points;
  const Buffer<short> level = tree::crowded<2>(exec_, n, params_.cell_size, points_.sorted, 0, n);
  return repeat_thin(rows, points_.sorted, perm_.data(), level.data());
}

// The same of keys whose keepers know the leaves.
template <class T>
Buffer<Key> Setup<T>::repeat_thin(const Rows &rows, const Buffer<Key> &own, const Buffer<int> &order)
{
  const KeptKeys &kept = points_.kept;
  const int       n = levels_[0].points, here = kept.last - kept.first;
  Buffer<int>     level = make_unset<int>((size_t)n), node = make_unset<int>((size_t)n);
  const Buffer<short> crowded =
    tree::crowded<2>(exec_, (int)kept.key.size(), params_.cell_size, kept.key, kept.first, kept.last);
  const Requests requests(exec_, comm_, {begins_at_keepers(exec_, keepers_, n, own.data(), ~(Key)0)});
  requests.ask(own, 1, level, 1, [&](int asked, const Key *keys, int *answers) {
    for_each(exec_, asked, LevelOfLeaf{kept.key.data() + kept.first, keys, here, crowded.data(), answers});
  });
  for_each(exec_, n, GatherValues<int>{order.data(), perm_.data(), node.data()});
  return repeat_thin(rows, own, node.data(), level.data());
}

#define INSTANTIATE(T) \
  template Buffer<Key> Setup<T>::repeat_thin(const Rows &); \
  template Buffer<Key> Setup<T>::repeat_thin(const Rows &, const Buffer<Key> &, const Buffer<int> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
