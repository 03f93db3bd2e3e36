// The frame of the tree: the ends of the points, their places in it, and the length of its root.
#include "tree/cells/crowded.hpp"
#include "tree/dispatch.hpp"
#include "tree/cells/tree.hpp"
#include "exec/each.hpp"
#include "exec/shared.hpp"
#include <algorithm>
#include <cfloat>
#include <cmath>

namespace tessera::tree {

namespace {

struct Ends {
  double  low[3] = {DBL_MAX, DBL_MAX, DBL_MAX}, high[3] = {-DBL_MAX, -DBL_MAX, -DBL_MAX};
  int     bad = 0;
  HD void join(const Ends &o)
  {
    for (int q = 0; q < 3; ++q) {
      low[q]  = o.low[q] < low[q] ? o.low[q] : low[q];
      high[q] = o.high[q] > high[q] ? o.high[q] : high[q];
    }
    bad = bad || o.bad;
  }
};
struct FindEnds {
  const double        *x;
  const unsigned char *left_out; // or nullptr
  int                  dim;
  HD void              operator()(int p, Ends &ends) const
  {
    Ends mine;
    if (left_out && left_out[p]) return;
    for (int q = 0; q < dim; ++q) {
      const double v = x[(ptrdiff_t)dim * p + q];
      mine.low[q] = mine.high[q] = v;
      mine.bad = mine.bad || !(v - v == 0);
    }
    ends.join(mine);
  }
};

template <int D> struct Place {
  Frame         frame;
  const double *x;
  double       *y;
  Key          *key;
  HD void       operator()(int p) const
  {
    Corner<D> c;
    for (int q = 0; q < D; ++q) {
      const double top = (double)(1u << depth(D));
      double       v   = (x[(ptrdiff_t)D * p + q] - frame.origin[q]) * frame.factor[q];
      v                = v > 0 ? v : 0;
      v                = v < top ? v : top;
      y[(ptrdiff_t)D * p + q] = v;
      c.x[q]           = v < top ? (unsigned)v : (1u << depth(D)) - 1;
    }
    key[p] = interleave<D>(c);
  }
};

struct Shorten {
  const Key *key;
  unsigned  *out;
  int        shift;
  HD void    operator()(int p) const
  {
    const Key k = key[p] >> shift;
    out[p]      = k > 0xffffffffu ? 0xffffffffu : (unsigned)k; // those that do not count come last
  }
};

// How many points are in leaves of a level with so many points, where a cell is split if it has more than `capacity`.
// There are few such numbers, so a device counts in many places at once.
template <int D> struct Count {
  static constexpr int levels = levels_of<D, unsigned>;
  const unsigned      *key;
  const short         *level; // of crowded()
  int                  n, capacity, first, copies;
  int                 *counts;
  HD void              operator()(int k) const
  {
    const int p = first + k, leaf = level[k] < levels ? level[k] + 1 : levels;
    if (common_level<D>(key, p - 1, p) >= leaf) return; // not the first of its leaf
    int c = 1;
    while (c < capacity && p + c < n && common_level<D>(key, p, p + c) >= leaf) ++c;
    add_to(counts + ((ptrdiff_t)(k / list_row % copies) * (levels + 1) + leaf) * (capacity + 1) + c, c);
  }
};

} // namespace

bool find_ends(const Exec &exec, int dim, int n, const double *x, const unsigned char *left_out, double *low,
               double *high)
{
  const Ends ends = join_each<Ends>(exec, n, FindEnds{x, left_out, dim});
  for (int q = 0; q < 3; ++q) low[q] = ends.low[q], high[q] = ends.high[q];
  return !ends.bad;
}

void place(const Exec &exec, const Frame &frame, int n, const double *x, double *y, Key *key)
{
  with_dim(frame.dim, [&](auto d) { for_each(exec, n, Place<d.value>{frame, x, y, key}); });
}

Buffer<unsigned> short_keys(const Exec &exec, int dim, int n, const Buffer<Key> &keys)
{
  Buffer<unsigned> key;
  key.resize_unset(Extent{(size_t)n, exec.space});
  with_dim(dim, [&](auto d) {
    constexpr int bits = d.value * levels_of<d.value, unsigned>;
    for_each(exec, n, Shorten{keys.data(), key.data(), d.value * depth(d.value) - bits});
    sort_keys(exec, n, bits < 32 ? bits + 1 : 32, key);
  });
  return key;
}

std::vector<int> count_leaves(const Exec &exec, int dim, int capacity, int n, const Buffer<unsigned> &keys, int first,
                              int last)
{
  std::vector<int> all;
  with_dim(dim, [&](auto d) {
    const int    copies = 1 << shared_on(exec, 6);
    const size_t size   = (size_t)(levels_of<d.value, unsigned> + 1) * (size_t)(capacity + 1);
    Buffer<int>  counts(Extent{(size_t)copies * size, exec.space}), here(counts.size());
    for_each(exec, last - first,
             Count<d.value>{keys.data(), crowded<d.value>(exec, n, capacity, keys, first, last).data(), n, capacity,
                            first, copies, counts.data()});
    copy(counts, here);
    all.resize(size);
    for (size_t p = 0; p < here.size(); ++p) all[p % size] += here.data()[p];
  });
  return all;
}

double root_length(int dim, int capacity, const std::vector<int> &counts, int *deepest)
{
  struct Group {
    double length;
    long   points;
  };
  std::vector<Group> groups;
  const int          levels = (int)counts.size() / (capacity + 1) - 1;
  long               all = 0, sum = 0;
  for (int l = 0; l <= levels; ++l)
    for (int c = 1; c <= capacity; ++c)
      if (const int points = counts[(size_t)(l * (capacity + 1) + c)]) {
        groups.push_back({std::ldexp(std::pow(0.5 * capacity / c, 1. / dim), -l), points});
        all += points;
        *deepest = l < levels ? l : depth(dim);
      }
  std::sort(groups.begin(), groups.end(), [](const Group &a, const Group &b) { return a.length < b.length; });
  double h = 1;
  for (const Group &g : groups) {
    sum += g.points;
    h = g.length;
    if (2 * sum >= all) break;
  }
  return std::max(1., std::ldexp(h, (int)std::ceil(std::log2(1 / h)))); // a power of two of median lengths
}

} // namespace tessera::tree
