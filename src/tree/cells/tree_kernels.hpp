// Kernels of the tree's setup: cells by the count of their points, and the balance.
#pragma once
#include "tree/cells/crowded.hpp"
#include "exec/each.hpp"

namespace tessera::tree {

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

// The level of each point's leaf in T_0: one more than the finest level of a cell with more than `capacity` points.
template <int D> struct FindLeaf {
  const short *crowded;
  int         *leaf;
  HD void      operator()(int p) const { leaf[p] = crowded[p] < depth(D) ? crowded[p] + 1 : depth(D); }
};
// No cells begin with nodes of other keepers.
struct LeaveOut {
  int     first, last;
  int    *leaf;
  HD void operator()(int p) const
  {
    if (p < first || p >= last) leaf[p] = -1000;
  }
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
// The cells that are split, with their levels as keys; T_k for k up to the rank splits a cell of more than `capacity`
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

// The splits of a level and the own points, of whose cells somebody asks that they are split.
enum : unsigned char { done, missing_here, elsewhere };
template <int D> struct Asked {
  const Key *coarse;
  int       *coarse_rank;
  int        n, level;     // of the splits
  const Key *key;
  int        first, last;  // own points
  Key        begin, end;   // of other keys others are the keepers
  // The cell at k is split up to the rank, or will have to be; empty cells are not.
  HD unsigned char ask(Key k, int rank) const
  {
    const int p = lower_bound(coarse, 0, n, k), shift = D * (depth(D) - level);
    if (p < n && coarse[p] == k) {
      raise_to(coarse_rank + p, rank);
      return done;
    }
    const int q = lower_bound(key, first, last, k);
    if (q < last && (key[q] - k) >> shift == 0) return missing_here;
    return k < begin || k + ((Key)1 << shift) > end ? elsewhere : done;
  }
};
// The parents of the neighbours of a split cell must be split, too, if they hold points. wanted: those that are not.
template <int D> struct Balance {
  const Key     *start;
  const int     *rank;
  Asked<D>       of;
  Key           *wanted;
  int           *wanted_rank;
  unsigned char *flag; // of the places in `wanted`; nullptr: ask only
  int           *missing; // is any of them not split?
  HD void        operator()(int c) const
  {
    const unsigned  h = 1u << (depth(D) - of.level - 1), top = 1u << depth(D);
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
      if (flag) flag[to] = done;
      if (!inside) continue;
      const Key           k = interleave<D>(q);
      const unsigned char found = of.ask(k, rank[c]);
      if (found == done) continue;
      raise_flag(missing);
      if (!flag) continue;
      flag[to]        = found;
      wanted[to]      = k;
      wanted_rank[to] = rank[c];
    }
  }
};
// Of what was found, cells of others apart from own ones.
struct TakeElsewhere {
  unsigned char *found, *other;
  HD void        operator()(int p) const
  {
    other[p] = found[p] == elsewhere;
    found[p] = found[p] == missing_here;
  }
};
// Ranks of cells that are among the splits: the larger one for both, or only what the splits have.
struct ShareRank {
  const Key *start;
  int        n;
  int       *of; // the splits
  const Key *cell;
  int       *rank;
  bool       raise;
  HD void    operator()(int c) const
  {
    const int p = lower_bound(start, 0, n, cell[c]);
    if (p == n || start[p] != cell[c]) return; // of a device that has failed
    if (raise) raise_to(of + p, rank[c]);
    else rank[c] = of[p];
  }
};
// What other keepers ask.
template <int D> struct AskedByOthers {
  Asked<D>       of;
  const Key     *wanted;
  const int     *rank;
  unsigned char *flag;
  HD void        operator()(int p) const { flag[p] = of.ask(wanted[p], rank[p]) == missing_here; }
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
  int        level, first, n;
  int       *leaf;
  HD void    operator()(int c) const
  {
    const Key k = start[place[c]];
    for (int p = lower_bound(key, first, n, k); p < n && (key[p] ^ k) >> (D * (depth(D) - level)) == 0; ++p)
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

} // namespace tessera::tree
