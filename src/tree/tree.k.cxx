// Setup of the auxiliary tree: cells, balance.
#include "tree/crowded.hpp"
#include "tree/dispatch.hpp"
#include "tree/tree.hpp"
#include "exec/each.hpp"
#include <algorithm>

namespace tessera::tree {

namespace {

// The cells of a level that are split: what the balance works on.
struct Split {
  int         n = 0;
  Buffer<Key> start;
  Buffer<int> rank;
};

template <int D> HD inline Key start_of(const Key *key, int p, int level)
{
  return level ? key[p] >> (D * (depth(D) - level)) << (D * (depth(D) - level)) : 0; // the root may have no points
}

// The level of each point's leaf in T_0: one more than the finest level of a cell with more than `most` points.
template <int D> struct FindLeaf {
  const short *crowded;
  int         *leaf;
  HD void      operator()(int p) const { leaf[p] = crowded[p] < depth(D) ? crowded[p] + 1 : depth(D); }
};
// In the order of the keys, a parent before its children, the cells that begin at a point are those of consecutive
// levels. How many are leaves or split; how many are split.
template <int D> struct CountCells {
  const Key *key;
  const int *leaf;
  int        leaves; // 1: they count, too
  int       *count;
  HD void    operator()(int p) const
  {
    const int more = leaf[p] - 1 + leaves - common_level<D>(key, p - 1, p);
    count[p] = more > 0 ? more : 0;
  }
};
// The cells that are split, with their levels as keys; T_k for k up to the rank splits a cell of more than `most`
// 2^(kD) points.
template <int D> struct FillSplits {
  const Key *key;
  const int *leaf, *place;
  int        n, capacity;
  Key       *start, *level;
  int       *rank;
  HD void    operator()(int p) const
  {
    const int first = common_level<D>(key, p - 1, p) + 1;
    for (int l = first; l < leaf[p]; ++l) {
      const int to = place[p] + l - first, shift = D * (depth(D) - l);
      int       r = 0;
      long      bound = capacity;
      while ((bound <<= D) < n - p && (key[p + bound] ^ key[p]) >> shift == 0) ++r;
      start[to] = start_of<D>(key, p, l);
      level[to] = (Key)l;
      rank[to]  = r;
    }
  }
};
struct TakeSplit {
  const int *place;
  const Key *start;
  const int *rank;
  Key       *to_start;
  int       *to_rank;
  HD void    operator()(int p) const
  {
    to_start[p] = start[place[p]];
    to_rank[p]  = rank[place[p]];
  }
};

// The parents of the neighbours of a split cell must be split, too, if they hold points. wanted: those that are not.
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
  unsigned char *flag; // of the places in `wanted`; nullptr: ask only
  int        *missing; // is any of them not split?
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
      if (flag) flag[to] = 0;
      if (!inside) continue;
      const Key k = interleave<D>(q);
      const int p = lower_bound(coarse, 0, n, k);
      if (p < n && coarse[p] == k) {
        raise_to(coarse_rank + p, rank[c]);
        continue;
      }
      const int first = lower_bound(key, 0, points, k);
      if (first == points || (key[first] - k) >> (D * (depth(D) - level + 1)) != 0) continue;
      raise_flag(missing);
      if (!flag) continue;
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

// The leaves of points in cells that are split for the balance: few points, as they were in one leaf.
template <int D> struct RaiseWanted {
  const int *place;
  const Key *start, *key;
  int        level, n;
  int       *leaf;
  HD void    operator()(int c) const
  {
    const Key k = start[place[c]];
    for (int p = lower_bound(key, 0, n, k); p < n && (key[p] ^ k) >> (D * (depth(D) - level)) == 0; ++p)
      raise_to(leaf + p, level + 1);
  }
};
// Where the splits of each level begin, and the end
struct Levels {
  int first[depth(1) + 1] = {};
};
// The splits of a level are in the order of their keys.
template <int D> struct FillCells {
  const Key   *key;
  const int   *leaf, *place;
  const Key   *split;
  const int   *split_rank;
  Levels       levels;
  Key         *start;
  signed char *rank, *parent, *level;
  HD signed char rank_of(Key k, int l) const
  {
    return (signed char)split_rank[lower_bound(split, levels.first[l], levels.first[l + 1], k)];
  }
  HD void        operator()(int p) const
  {
    const int   from = common_level<D>(key, p - 1, p) + 1, until = leaf[p];
    signed char above = 127; // of the root
    if (from <= until && from) above = rank_of(start_of<D>(key, p, from - 1), from - 1);
    for (int l = from; l <= until; ++l) {
      const int to = place[p] + l - from;
      start[to]  = start_of<D>(key, p, l);
      level[to]  = (signed char)l;
      parent[to] = above;
      rank[to]   = above = l < until ? rank_of(start[to], l) : (signed char)-1;
    }
  }
};

template <int D> class Builder {
public:
  Builder(const Exec &e, int capacity, int n, const Buffer<Key> &k, int sorted) :
    exec_(e), capacity_(capacity), n_(n), sorted_(sorted), key_(k)
  {
  }
  Tree build()
  {
    const int points = std::max(n_, 1); // the root is there without points
    Tree      tree;
    leaf_ = make<int>(points);
    if (n_) for_each(exec_, n_, FindLeaf<D>{crowded<D>(exec_, n_, capacity_, key_, 0, n_).data(), leaf_.data()});
    else leaf_.zero();
    std::vector<Split> split = splits();
    tree.dim    = D;
    tree.finest = (int)split.size();
    if (tree.finest > sorted_) return tree;
    tree.added  = balance(split);
    if (device::failed()) return tree; // the host has learned zeros
    // the splits of all levels in one list
    Levels levels;
    for (size_t l = 0; l < split.size(); ++l) levels.first[l + 1] = levels.first[l] + split[l].n;
    const int   all = levels.first[split.size()];
    Buffer<Key> start = make<Key>(all);
    Buffer<int> rank = make<int>(all), place = make<int>(points + 1);
    for (size_t l = 0; l < split.size(); ++l) {
      for_each(exec_, split[l].n, CopyValues<Key>{split[l].start.data(), start.data() + levels.first[l]});
      for_each(exec_, split[l].n, CopyValues<int>{split[l].rank.data(), rank.data() + levels.first[l]});
    }
    for_each(exec_, points, CountCells<D>{key_.data(), leaf_.data(), 1, place.data()});
    const int n = tree.cells = scan(exec_, points, place);
    tree.start  = make<Key>(n);
    tree.rank   = make<signed char>(n);
    tree.parent = make<signed char>(n);
    tree.level  = make<signed char>(n);
    for_each(exec_, points,
             FillCells<D>{key_.data(), leaf_.data(), place.data(), start.data(), rank.data(), levels, tree.start.data(),
                          tree.rank.data(), tree.parent.data(), tree.level.data()});
    return tree;
  }

private:
  template <class V> Buffer<V> make(int n) const // all of it will be written, as far as it is read
  {
    Buffer<V> b;
    b.resize_unset(Extent{(size_t)n, exec_.space});
    return b;
  }
  // The cells that T_0 splits by the count of their points, level by level
  std::vector<Split> splits() const
  {
    std::vector<Split> split;
    Buffer<int>        place = make<int>(n_ + 1), order, first;
    for_each(exec_, n_, CountCells<D>{key_.data(), leaf_.data(), 0, place.data()});
    const int all = n_ ? scan(exec_, n_, place) : 0;
    if (!all) return split;
    Buffer<Key> start = make<Key>(all), level = make<Key>(all);
    Buffer<int> rank = make<int>(all), begin(depth(D) + 1);
    for_each(
      exec_, n_,
      FillSplits<D>{key_.data(), leaf_.data(), place.data(), n_, capacity_, start.data(), level.data(), rank.data()});
    sort_keys(exec_, all, 5, level, order);
    bucket_starts(exec_, all, level.data(), depth(D), Key(0), first);
    copy(first, begin);
    for (int l = 0; l < depth(D) && begin.data()[l] < all; ++l) {
      Split s;
      s.n     = begin.data()[l + 1] - begin.data()[l];
      s.start = make<Key>(s.n);
      s.rank  = make<int>(s.n);
      for_each(exec_, s.n,
               TakeSplit{order.data() + begin.data()[l], start.data(), rank.data(), s.start.data(), s.rank.data()});
      split.push_back(std::move(s));
    }
    return split;
  }
  // From the finest to the coarsest level; ranks only grow, so the trees stay nested.
  long balance(std::vector<Split> &split)
  {
    long        added = 0;
    const int   levels = (int)split.size();
    Buffer<int> missing = make<int>(levels + 1), found((size_t)levels + 1);
    const auto  ask = [&](int l, Key *wanted, int *rank, unsigned char *flag) {
      const Split &fine = split[(size_t)l];
      Split       &coarse = split[(size_t)l - 1];
      for_each(exec_, fine.n,
                   Balance<D>{fine.start.data(), fine.rank.data(), l, coarse.start.data(), coarse.rank.data(), coarse.n,
                          key_.data(), n_, wanted, rank, flag, missing.data() + l});
    };
    // Many trees are balanced by themselves down to some level, to which nobody has to wait for what is missing.
    missing.zero();
    for (int l = levels - 1; l > 0; --l) ask(l, nullptr, nullptr, nullptr);
    copy(missing, found);
    int l = levels - 1;
    while (l > 0 && !found.data()[l]) --l;
    for (; l > 0; --l) {
      const Split          &fine   = split[(size_t)l];
      Split                &coarse = split[(size_t)l - 1];
      const int             m      = fine.n * ((1 << D) - 1);
      Buffer<Key>           wanted = make<Key>(m);
      Buffer<int>           rank = make<int>(m), where;
      Buffer<unsigned char> flag = make<unsigned char>(m);
      ask(l, wanted.data(), rank.data(), flag.data());
      select(exec_, m, flag, where);
      if (where.empty()) continue;
      for_each(exec_, (int)where.size(),
               RaiseWanted<D>{where.data(), wanted.data(), key_.data(), l - 1, n_, leaf_.data()});
      const int   both  = coarse.n + (int)where.size();
      Buffer<Key> start = make<Key>(both);
      Buffer<int> ranks = make<int>(both), order, first;
      for_each(exec_, coarse.n, CopyValues<Key>{coarse.start.data(), start.data()});
      for_each(exec_, coarse.n, CopyValues<int>{coarse.rank.data(), ranks.data()});
      for_each(exec_, (int)where.size(),
               TakeWanted{where.data(), wanted.data(), rank.data(), coarse.n, start.data(), ranks.data()});
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
      for_each(exec_, coarse.n,
               TakeLargest{first.data(), coarse.n, both, start.data(), ordered.data(), coarse.start.data(),
                           coarse.rank.data()});
    }
    return added;
  }
  const Exec        &exec_;
  int                capacity_, n_, sorted_;
  const Buffer<Key> &key_;
  Buffer<int>        leaf_; // level of the leaf of each point
};

} // namespace

Tree make_tree(const Exec &exec, int dim, int capacity, int n, const Buffer<Key> &keys, int sorted)
{
  Tree tree;
  with_dim(dim, [&](auto d) { tree = Builder<d.value>(exec, capacity, n, keys, sorted).build(); });
  return tree;
}

} // namespace tessera::tree
