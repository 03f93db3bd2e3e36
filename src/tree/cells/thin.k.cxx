// Thin parts of a mesh in the plane: strips of a few nodes across. A leaf of T_0 holds up to m nodes, which makes it
// sqrt(m) couplings long where they fill it, but m / 2 in a strip of two nodes: too much for the smoother. A node whose
// leaf is longer than four times its longest coupling counts twice, as if there were two, and four times where the leaf
// is longer than eight times (m = 12; as the root of m for others). So leaves there hold half or a quarter of the
// nodes, and the balance may split those beside them. Chains, whose nodes are coupled with two others, are as they are:
// a leaf of three of their nodes would have more vertices than nodes.
#include "tree/cells/crowded.hpp"
#include "tree/read.hpp"
#include "tree/setup.hpp"
#include "exec/each.hpp"
#include "exec/requests.hpp"
#include <cmath>

namespace tessera::tree {

namespace {

// The finest level of a cell that is split of those with a key in them; a keeper has the key.
struct LevelOfSplit {
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

// How often a node counts. Points are in the order of their keys. The sum: of nodes that count several times.
struct CountThin {
  static constexpr int dim = 2, chain = 2; // others that a node of a chain is coupled with
  RowReader            reader;
  double               long_leaf; // couplings
  const double        *y;         // in units of the finest cells
  const int           *node;
  const short         *crowded; // the finest level of a cell that is split, with the point in it
  int                 *count;
  HD double            operator()(int p) const
  {
    const int levels = depth(dim) - (crowded[p] + 1); // below the leaf
    count[p]         = 1;
    if (levels <= 0) return 0;
    const int    at = node[p];
    const double edge = (double)(1u << levels) / long_leaf;
    double       longest = 0;
    int          others = 0;
    reader.each(at, [&](int, int column, double) {
      if (longest >= edge) return;
      const int other = reader.node(column);
      others += other != at;
      for (int q = 0; q < dim; ++q) {
        const double length = fabs(y[(ptrdiff_t)dim * other + q] - y[(ptrdiff_t)dim * at + q]);
        longest             = length > longest ? length : longest;
      }
    });
    if (!(longest > 0) || longest >= edge || others <= chain * reader.bs * reader.bs) return 0;
    count[p] = 2 * longest < edge ? 4 : 2;
    return 1;
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

// Are there more than a few nodes of thin parts on all processes? Then points_.repeated are the keys of own points, in
// order, those of thin parts several times; else it is empty. Collective.
template <class T>
bool Setup<T>::repeat_thin(const Rows &rows, const Buffer<Key> &keys, const Buffer<int> &node,
                           const Buffer<short> &crowded)
{
  constexpr double few = 0.02, long_leaf = 4; // of all nodes: so many are at edges of small meshes
  const int        n = levels_[0].points;
  Buffer<int>      place = make_unset<int>((size_t)n + 1);
  Buffer<double>   thin = make<double>(1);
  const RowReader  reader{rows, params_.bs, constrained_.any ? constrained_.kind.data() : nullptr};
  sum_each(exec_, n,
           CountThin{reader, long_leaf * std::sqrt((double)params_.cell_size / usual_cell_size(2)), points_.y.data(),
                     node.data(), crowded.data(), place.data()},
           thin.data());
  const double found = fetch(thin, 0);
  points_.repeated   = Buffer<Key>();
  if (lost() || !(total(found) > few * levels_[0].nodes)) return false;
  points_.repeated = make_unset<Key>((size_t)(n ? scan(exec_, n, place) : 0));
  for_each(exec_, n, Repeat{place.data(), keys.data(), points_.repeated.data()});
  return true;
}

// Of each of the keys, in order, the finest level of a cell that is split, which the keepers know. Collective.
template <class T> Buffer<short> Setup<T>::levels_of_splits(const Buffer<Key> &keys)
{
  const KeptKeys     &kept = points_.kept;
  const int           n = levels_[0].points, here = kept.last - kept.first;
  Buffer<int>         level = make_unset<int>((size_t)n);
  Buffer<short>       levels = make_unset<short>((size_t)n);
  const Buffer<short> crowded =
    tree::crowded<2>(exec_, (int)kept.key.size(), params_.cell_size, kept.key, kept.first, kept.last);
  const Requests requests(exec_, comm_, {begins_at_keepers(exec_, keepers_, n, keys.data(), ~(Key)0)});
  requests.ask(keys, 1, level, 1, [&](int asked, const Key *of, int *answers) {
    for_each(exec_, asked, LevelOfSplit{kept.key.data() + kept.first, of, here, crowded.data(), answers});
  });
  for_each(exec_, n, CopyValues<int, short>{level.data(), levels.data()});
  return levels;
}

#define INSTANTIATE(T) \
  template bool          Setup<T>::repeat_thin(const Rows &, const Buffer<Key> &, const Buffer<int> &, \
                                               const Buffer<short> &); \
  template Buffer<short> Setup<T>::levels_of_splits(const Buffer<Key> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
