// Setup of the auxiliary tree: keys, cells, balance.
#include "auxamg/dispatch.hpp"
#include "auxamg/tree.hpp"
#include "core/each.hpp"
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tessera::auxamg {

namespace {

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

//--- the scale -------------------------------------------------------------------------------------------------------------------

constexpr int short_depth(int dim) { return dim == 1 ? 30 : dim == 2 ? 16 : 10; }

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

HD inline int common_levels(unsigned a, unsigned b, int dim, int levels)
{
  if (a == b) return levels;
#ifdef __CUDA_ARCH__
  const int leading = __clz((int)(a ^ b));
#else
  const int leading = __builtin_clz(a ^ b);
#endif
  return (leading - (32 - dim * levels)) / dim;
}

// The level of each point's leaf if a cell is split where it has more than `most` points: one more than the deepest level at which
// some most + 1 consecutive points, the point among them, have a cell in common.
struct LeafLevel {
  const unsigned *key;
  int             n, most, dim, levels;
  signed char    *level;
  HD void         operator()(int p) const
  {
    int deepest = -1;
    for (int a = p > most ? p - most : 0; a <= p && a + most < n; ++a) {
      const int c = common_levels(key[a], key[a + most], dim, levels);
      deepest     = c > deepest ? c : deepest;
    }
    level[p] = (signed char)(deepest < levels ? deepest + 1 : levels);
  }
};

// How many points are in leaves of a level with so many points. There are few such numbers, so a device counts in many places at once.
struct Count {
  const unsigned    *key;
  const signed char *level;
  int                n, most, dim, levels, copies;
  int               *counts;
  HD void            operator()(int p) const
  {
    const int shift = dim * (levels - level[p]);
    if (p && (shift < 32 ? key[p - 1] >> shift == key[p] >> shift : true)) return; // not the first of its leaf
    int c = 1;
    while (c < most && p + c < n && (shift < 32 ? key[p + c] >> shift == key[p] >> shift : true)) ++c;
    add_to(counts + ((ptrdiff_t)(p / list_row % copies) * (levels + 1) + level[p]) * (most + 1) + c, c);
  }
};

//--- cells -----------------------------------------------------------------------------------------------------------------------

// The cells of a level, with the range of their points.
struct LevelCells {
  int                 n = 0;
  Buffer<Key>         start;
  Buffer<int>         begin, end;
  Buffer<signed char> rank;
};

// The cells of a level that are split: what the balance works on.
struct Split {
  int         n = 0;
  Buffer<Key> start;
  Buffer<int> rank;
};

template <int D> struct RankByCount {
  const int   *begin, *end;
  int          most;
  bool         last; // the finest level: no cells below
  signed char *rank;
  HD void      operator()(int c) const
  {
    int  r = -1;
    long bound = most;
    while (!last && end[c] - begin[c] > bound) ++r, bound <<= D;
    rank[c] = (signed char)r;
  }
};

struct RankBySplit {
  const Key   *start;
  const Key   *split;
  const int   *split_rank;
  int          n;
  signed char *rank;
  HD void      operator()(int c) const
  {
    const int p = lower_bound(split, 0, n, start[c]);
    rank[c]     = (signed char)(p < n && split[p] == start[c] ? split_rank[p] : -1);
  }
};

// The children of a cell begin at the points cut[0..2^D).
template <int D> struct CutChildren {
  const Key         *key;
  const Key         *start;
  const int         *begin, *end;
  const signed char *rank;
  int                level;
  int               *cut, *count;
  HD void            operator()(int c) const
  {
    int number = 0, at = begin[c];
    if (rank[c] >= 0)
      for (int k = 0; k < 1 << D; ++k) {
        cut[(c << D) + k] = at;
        const int next = k + 1 < 1 << D ? lower_bound(key, at, end[c], start[c] + ((Key)(k + 1) << (D * (depth(D) - level - 1)))) : end[c];
        number += next > at;
        at = next;
      }
    count[c] = number;
  }
};

template <int D> struct FillChildren {
  const Key         *start;
  const int         *end;
  const signed char *rank;
  int                level;
  const int         *cut, *place;
  Key               *child_start;
  int               *child_begin, *child_end;
  signed char       *child_parent;
  HD void            operator()(int c) const
  {
    if (rank[c] < 0) return;
    int to = place[c];
    for (int k = 0; k < 1 << D; ++k) {
      const int from = cut[(c << D) + k], until = k + 1 < 1 << D ? cut[(c << D) + k + 1] : end[c];
      if (from == until) continue;
      child_start[to]  = start[c] + ((Key)k << (D * (depth(D) - level - 1)));
      child_begin[to]  = from;
      child_end[to]    = until;
      child_parent[to] = rank[c];
      ++to;
    }
  }
};

struct Positive {
  const signed char *rank;
  unsigned char     *flag;
  HD void            operator()(int c) const { flag[c] = rank[c] >= 0; }
};
struct TakeSplit {
  const int         *place;
  const Key         *start;
  const signed char *rank;
  Key               *to_start;
  int               *to_rank;
  HD void            operator()(int p) const
  {
    to_start[p] = start[place[p]];
    to_rank[p]  = rank[place[p]];
  }
};

// The parents of the neighbours of a split cell must be split, too, if they hold points. wanted: those that are not, as keys; else 0.
template <int D> struct Balance {
  const Key  *start;
  const int  *rank;
  int         level;
  const Key  *coarse;
  int        *coarse_rank;
  int         n;
  const Key  *key;
  int         points;
  Key        *wanted;
  int        *wanted_rank;
  unsigned char *flag;
  HD void     operator()(int c) const
  {
    const unsigned  h = 1u << (depth(D) - level), top = 1u << depth(D);
    const Corner<D> x = deinterleave<D>(start[c]);
    for (int m = 1; m < 1 << D; ++m) {
      Corner<D> q = x;
      bool      inside = true;
      for (int a = 0; a < D; ++a) {
        const unsigned odd = x.x[a] & h;
        q.x[a]             = x.x[a] - odd;                                         // of the parent, of length 2 h
        if (m >> a & 1) q.x[a] = odd ? q.x[a] + 2 * h : q.x[a] - 2 * h; // wraps below zero
        inside = inside && q.x[a] < top;
      }
      const int to = c * ((1 << D) - 1) + m - 1;
      flag[to]     = 0;
      if (!inside) continue;
      const Key k = interleave<D>(q);
      const int p = lower_bound(coarse, 0, n, k);
      if (p < n && coarse[p] == k) {
        raise_to(coarse_rank + p, rank[c]);
        continue;
      }
      const int first = lower_bound(key, 0, points, k);
      if (first == points || (key[first] - k) >> (D * (depth(D) - level + 1)) != 0) continue;
      flag[to]        = 1;
      wanted[to]      = k;
      wanted_rank[to] = rank[c];
    }
  }
};

struct TakeWanted {
  const int *place;
  const Key *start;
  const int *rank;
  int        offset;
  Key       *to_start;
  int       *to_rank;
  HD void    operator()(int p) const
  {
    to_start[offset + p] = start[place[p]];
    to_rank[offset + p]  = rank[place[p]];
  }
};
struct TakeOrdered {
  const int *place;
  const int *from;
  int       *to;
  HD void    operator()(int p) const { to[p] = from[place[p]]; }
};
struct FirstOfKey {
  const Key     *start;
  unsigned char *flag;
  HD void        operator()(int p) const { flag[p] = !p || start[p] != start[p - 1]; }
};
// Of equal keys the largest rank.
struct TakeLargest {
  const int *first;
  int        n, all;
  const Key *start;
  const int *rank;
  Key       *to_start;
  int       *to_rank;
  HD void    operator()(int p) const
  {
    int largest = -1;
    for (int q = first[p]; q < (p + 1 < n ? first[p + 1] : all); ++q) largest = rank[q] > largest ? rank[q] : largest;
    to_start[p] = start[first[p]];
    to_rank[p]  = largest;
  }
};

struct Order {
  const int *begin;
  int        level;
  Key       *key;
  HD void    operator()(int c) const { key[c] = (Key)begin[c] << 6 | (Key)level; }
};
struct Collect {
  const int         *from;
  const Key         *start;
  const signed char *rank, *parent, *level;
  Key               *to_start;
  signed char       *to_rank, *to_parent, *to_level;
  HD void            operator()(int c) const
  {
    to_start[c]  = start[from[c]];
    to_rank[c]   = rank[from[c]];
    to_parent[c] = parent[from[c]];
    to_level[c]  = level[from[c]];
  }
};
struct FillRoot {
  Key    *start;
  int    *begin, *end, n;
  HD void operator()(int) const { *start = 0, *begin = 0, *end = n; }
};
struct FillLevel {
  signed char *to, value;
  HD void      operator()(int c) const { to[c] = value; }
};
template <class V> struct CopyTo {
  const V *from;
  V       *to;
  HD void  operator()(int c) const { to[c] = from[c]; }
};

template <int D> class Builder {
public:
  Builder(const Exec &e, int most, int n, const Buffer<Key> &k) : exec_(e), most_(most), n_(n), key_(k) { }
  Tree build()
  {
    std::vector<Split> split = splits(descend(nullptr));
    const long         added = balance(split);
    return in_order(descend(&split), added);
  }

private:
  struct All {
    std::vector<LevelCells>          levels;
    std::vector<Buffer<signed char>> parent;
  };
  template <class V> Buffer<V> make(int n) const // all of it will be written, as far as it is read
  {
    Buffer<V> b;
    b.resize_unset(Extent{(size_t)n, exec_.space});
    return b;
  }
  // The cells of all levels, a cell being split by the count of its points or where `split` says so.
  All descend(const std::vector<Split> *split) const
  {
    All        all;
    LevelCells now;
    now.n     = 1;
    now.start = make<Key>(1);
    now.begin = make<int>(1);
    now.end   = make<int>(1);
    for_each(exec_, 1, FillRoot{now.start.data(), now.begin.data(), now.end.data(), n_});
    Buffer<signed char> parent = make<signed char>(1);
    for_each(exec_, 1, FillLevel{parent.data(), 127});
    for (int l = 0; now.n; ++l) {
      now.rank = make<signed char>(now.n);
      if (!split) for_each(exec_, now.n, RankByCount<D>{now.begin.data(), now.end.data(), most_, l == depth(D), now.rank.data()});
      else if (l < (int)split->size()) for_each(exec_, now.n, RankBySplit{now.start.data(), (*split)[(size_t)l].start.data(), (*split)[(size_t)l].rank.data(), (*split)[(size_t)l].n, now.rank.data()});
      else for_each(exec_, now.n, FillLevel{now.rank.data(), -1});
      Buffer<int> cut = make<int>(now.n << D), count = make<int>(now.n + 1);
      for_each(exec_, now.n, CutChildren<D>{key_.data(), now.start.data(), now.begin.data(), now.end.data(), now.rank.data(), l, cut.data(), count.data()});
      LevelCells next;
      next.n = scan(exec_, now.n, count);
      Buffer<signed char> next_parent;
      if (next.n) {
        next.start  = make<Key>(next.n);
        next.begin  = make<int>(next.n);
        next.end    = make<int>(next.n);
        next_parent = make<signed char>(next.n);
        for_each(exec_, now.n, FillChildren<D>{now.start.data(), now.end.data(), now.rank.data(), l, cut.data(), count.data(), next.start.data(), next.begin.data(), next.end.data(), next_parent.data()});
      }
      all.levels.push_back(std::move(now));
      all.parent.push_back(std::move(parent));
      now    = std::move(next);
      parent = std::move(next_parent);
    }
    return all;
  }
  std::vector<Split> splits(const All &all) const
  {
    std::vector<Split> split;
    for (const LevelCells &l : all.levels) {
      Buffer<unsigned char> flag = make<unsigned char>(l.n);
      Buffer<int>           where;
      for_each(exec_, l.n, Positive{l.rank.data(), flag.data()});
      select(exec_, l.n, flag, where);
      Split s;
      s.n     = (int)where.size();
      s.start = make<Key>(s.n);
      s.rank  = make<int>(s.n);
      for_each(exec_, s.n, TakeSplit{where.data(), l.start.data(), l.rank.data(), s.start.data(), s.rank.data()});
      split.push_back(std::move(s));
    }
    return split;
  }
  // From the finest to the coarsest level; ranks only grow, so the trees stay nested.
  long balance(std::vector<Split> &split) const
  {
    long added = 0;
    for (int l = (int)split.size() - 1; l > 0; --l) {
      const Split &fine   = split[(size_t)l];
      Split       &coarse = split[(size_t)l - 1];
      const int    m      = fine.n * ((1 << D) - 1);
      if (!fine.n) continue;
      Buffer<Key>           wanted = make<Key>(m);
      Buffer<int>           rank = make<int>(m), where;
      Buffer<unsigned char> flag = make<unsigned char>(m);
      for_each(exec_, fine.n, Balance<D>{fine.start.data(), fine.rank.data(), l, coarse.start.data(), coarse.rank.data(), coarse.n, key_.data(), n_, wanted.data(), rank.data(), flag.data()});
      select(exec_, m, flag, where);
      if (where.empty()) continue;
      const int   both  = coarse.n + (int)where.size();
      Buffer<Key> start = make<Key>(both);
      Buffer<int> ranks = make<int>(both), order, first;
      for_each(exec_, coarse.n, CopyTo<Key>{coarse.start.data(), start.data()});
      for_each(exec_, coarse.n, CopyTo<int>{coarse.rank.data(), ranks.data()});
      for_each(exec_, (int)where.size(), TakeWanted{where.data(), wanted.data(), rank.data(), coarse.n, start.data(), ranks.data()});
      sort_keys(exec_, both, D * depth(D), start, order);
      Buffer<int> ordered = make<int>(both);
      for_each(exec_, both, TakeOrdered{order.data(), ranks.data(), ordered.data()});
      flag = make<unsigned char>(both);
      for_each(exec_, both, FirstOfKey{start.data(), flag.data()});
      select(exec_, both, flag, first);
      added += (long)first.size() - coarse.n;
      coarse.n         = (int)first.size();
      coarse.start     = make<Key>(coarse.n);
      coarse.rank      = make<int>(coarse.n);
      for_each(exec_, coarse.n, TakeLargest{first.data(), coarse.n, both, start.data(), ordered.data(), coarse.start.data(), coarse.rank.data()});
    }
    return added;
  }
  Tree in_order(const All &all, long added) const
  {
    Tree tree;
    tree.dim   = D;
    tree.added = added;
    for (const LevelCells &l : all.levels) tree.cells += l.n;
    const int           n = tree.cells;
    Buffer<Key>         key = make<Key>(n), start = make<Key>(n);
    Buffer<signed char> rank = make<signed char>(n), parent = make<signed char>(n), level = make<signed char>(n);
    Buffer<int>         order;
    int                 at = 0;
    for (size_t l = 0; l < all.levels.size(); ++l) {
      const LevelCells &c = all.levels[l];
      for_each(exec_, c.n, Order{c.begin.data(), (int)l, key.data() + at});
      for_each(exec_, c.n, CopyTo<Key>{c.start.data(), start.data() + at});
      for_each(exec_, c.n, CopyTo<signed char>{c.rank.data(), rank.data() + at});
      for_each(exec_, c.n, CopyTo<signed char>{all.parent[l].data(), parent.data() + at});
      for_each(exec_, c.n, FillLevel{level.data() + at, (signed char)l});
      at += c.n;
    }
    sort_keys(exec_, n, 38, key, order);
    tree.start  = make<Key>(n);
    tree.rank   = make<signed char>(n);
    tree.parent = make<signed char>(n);
    tree.level  = make<signed char>(n);
    for_each(exec_, n, Collect{order.data(), start.data(), rank.data(), parent.data(), level.data(), tree.start.data(), tree.rank.data(), tree.parent.data(), tree.level.data()});
    return tree;
  }
  const Exec        &exec_;
  int                most_, n_;
  const Buffer<Key> &key_;
};

} // namespace

void place(const Exec &exec, const Frame &frame, int n, const double *x, double *y, Key *key)
{
  with_dim(frame.dim, [&](auto d) { for_each(exec, n, Place<d.value>{frame, x, y, key}); });
}

double root_length(const Exec &exec, int dim, int most, int n, int points, const Buffer<Key> &keys)
{
  const int           levels = short_depth(dim);
  Buffer<unsigned>    key;
  Buffer<signed char> level;
  Buffer<int>         counts;
  const Extent        all{(size_t)n, exec.space};
  key.resize_unset(all);
  level.resize_unset(all);
  const int    copies = exec.space == Space::cuda ? 64 : 1;
  const size_t numbers = (size_t)(levels + 1) * (size_t)(most + 1);
  counts.resize(Extent{(size_t)copies * numbers, exec.space});
  for_each(exec, n, Shorten{keys.data(), key.data(), dim * (depth(dim) - levels)});
  sort_keys(exec, n, dim * levels < 32 ? dim * levels + 1 : 32, key);
  for_each(exec, points, LeafLevel{key.data(), points, most, dim, levels, level.data()});
  for_each(exec, points, Count{key.data(), level.data(), points, most, dim, levels, copies, counts.data()});
  Buffer<int> on_host(counts.size());
  copy(counts, on_host);
  for (size_t p = numbers; p < counts.size(); ++p) on_host.data()[p % numbers] += on_host.data()[p];
  struct Group {
    double length;
    long   points;
  };
  std::vector<Group> groups;
  for (int l = 0; l <= levels; ++l)
    for (int c = 1; c <= most; ++c)
      if (const int points = on_host.data()[l * (most + 1) + c]) groups.push_back({std::ldexp(std::pow(0.5 * most / c, 1. / dim), -l), points});
  std::sort(groups.begin(), groups.end(), [](const Group &a, const Group &b) { return a.length < b.length; });
  long   sum = 0;
  double h   = 1;
  for (const Group &g : groups) {
    sum += g.points;
    h = g.length;
    if (2 * sum >= points) break;
  }
  return std::max(1., std::ldexp(h, (int)std::ceil(std::log2(1 / h)))); // a power of two of median lengths
}

Tree make_tree(const Exec &exec, int dim, int most, int n, const Buffer<Key> &keys)
{
  Tree tree;
  with_dim(dim, [&](auto d) { tree = Builder<d.value>(exec, most, n, keys).build(); });
  return tree;
}

} // namespace tessera::auxamg
