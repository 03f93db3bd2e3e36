// The finite element space on the leaves of a tree: vertices, hanging vertices, weights.
#include "tree/dispatch.hpp"
#include "tree/cells/tree.hpp"
#include "exec/each.hpp"
#include <algorithm>

namespace tessera::tree {

namespace {

struct LeafFlag {
  const signed char *rank, *parent;
  int                k;
  unsigned char     *flag;
  HD void            operator()(int c) const { flag[c] = rank[c] < k && k <= parent[c]; }
};
struct TakeLeaf {
  const int         *from;
  const Key         *start;
  const signed char *level;
  Key               *to_start;
  signed char       *to_level;
  HD void            operator()(int p) const
  {
    to_start[p] = start[from[p]];
    to_level[p] = level[from[p]];
  }
};

// Corners of all leaves as keys of points.
template <int D> struct Corners {
  const Key         *start;
  const signed char *level;
  Key               *key;
  HD void            operator()(int leaf) const
  {
    const Corner<D> x = deinterleave<D>(start[leaf]);
    for (int c = 0; c < 1 << D; ++c)
      key[(leaf << D) + c] = interleave<D>(move<D>(x, c, 1u << (depth(D) - level[leaf])));
  }
};

// A vertex v at a corner of a leaf of level l hangs if it lies on an edge or face of a leaf of level l - 1 that does
// not have it as a corner; the balance allows no larger difference.
template <int D> struct Vertex {
  const int         *first;  // of the run of each vertex among the sorted corners
  int                n, corners;
  const Key         *corner_key;
  const int         *corner; // leaf 2^D + corner
  const Key         *start;
  const signed char *level;
  int                leaves;
  Key               *key, *cell; // of the vertex; of a finest cell beside it in an occupied leaf
  unsigned char     *hangs;
  int               *hanging, *vertex;
  HD void            operator()(int v) const
  {
    const int until = v + 1 < n ? first[v + 1] : corners;
    int       sides = 0, l = 0; // the sides on which leaves have this corner, and the finest level of these
    for (int p = first[v]; p < until; ++p) {
      const int leaf = corner[p] >> D;
      sides |= 1 << (corner[p] & ((1 << D) - 1));
      l = level[leaf] > l ? level[leaf] : l;
      vertex[corner[p]] = v;
    }
    const Key       k = corner_key[first[v]];
    const Corner<D> x = deinterleave<D>(k);
    const unsigned  h = 1u << (depth(D) - l), top = 1u << depth(D);
    bool            aligned = true, found = false;
    for (int q = 0; q < D; ++q) aligned = aligned && !(x.x[q] & (2 * h - 1));
    bool hang = false;
    key[v]    = k;
    // side m: the finest cell whose upper ends are at the vertex along the axes of m
    for (int m = 0; m < 1 << D; ++m) {
      const bool here = sides >> m & 1;
      if (here ? found : found && (aligned || hang)) continue;
      Corner<D> c = x;
      bool      inside = true;
      for (int q = 0; q < D; ++q) {
        c.x[q] -= m >> q & 1; // wraps below zero
        inside = inside && c.x[q] < top;
      }
      if (!inside) continue;
      const Key finest = interleave<D>(c);
      if (!here) {
        const int leaf = containing<D>(start, level, leaves, finest);
        if (leaf < 0) continue;
        hang = hang || (!aligned && level[leaf] == l - 1);
      }
      if (!found) cell[v] = finest;
      found = true;
    }
    hangs[v] = hang;
    if (hang) count_one(hanging);
  }
};

// A hanging corner of a leaf is replaced by the same corner of its parent (see Cells).
template <int D> struct Replace {
  const Key           *start;
  const signed char   *level;
  const Key           *key;
  const unsigned char *vertex_hangs;
  int                  n;
  int                 *vertex;
  unsigned char       *hangs;
  HD void              operator()(int leaf) const
  {
    const unsigned  h = 1u << (depth(D) - level[leaf]);
    const Corner<D> x = deinterleave<D>(start[leaf]);
    Corner<D>       parent = x;
    for (int q = 0; q < D; ++q) parent.x[q] &= ~h;
    int bits = 0;
    for (int c = 0; c < 1 << D; ++c) {
      if (!vertex_hangs[vertex[(leaf << D) + c]]) continue;
      bits |= 1 << c;
      const Key k = interleave<D>(move<D>(parent, c, 2 * h));
      const int v = lower_bound(key, 0, n, k);
      vertex[(leaf << D) + c] = v < n && key[v] == k ? v : -1;
    }
    hangs[leaf] = (unsigned char)bits;
  }
};

struct Levels {
  int     lowest = 127, highest = 0;
  HD void join(const Levels &o)
  {
    lowest  = o.lowest < lowest ? o.lowest : lowest;
    highest = o.highest > highest ? o.highest : highest;
  }
};
struct FindLevels {
  const signed char *level;
  HD void            operator()(int p, Levels &l) const { l.join({level[p], level[p]}); }
};

// Linear functions of the simplex whose corners are b of a leaf, the one that never hangs, and those on a path from
// there along some axes
template <int D> HD inline void along_axes(int axes, int b, const double (&t)[D], double (&w)[1 << D])
{
  for (double &v : w) v = 0;
  double before = 1;
  for (int q = 0; q < D; ++q) {
    if (!(axes >> q & 1)) continue;
    const double now = b >> q & 1 ? 1 - t[q] : t[q];
    w[b]             = before - now;
    before           = now;
    b ^= 1 << q;
  }
  w[b] = before;
}

template <int D, class T> struct Weights {
  const Key           *start;
  const signed char   *level;
  const unsigned char *hangs;
  const int           *vertex, *leaf;
  const double        *y;
  bool                 kuhn;
  const unsigned char *axes;
  T                   *weight;
  unsigned char       *used;
  HD void              operator()(int p) const
  {
    constexpr int corners = 1 << D;
    constexpr double small = 1e-12;
    double        w[corners], t[D];
    const int     l = leaf[p];
    if (l < 0) { // takes no part
      for (int c = 0; c < corners; ++c) weight[(ptrdiff_t)corners * p + c] = 0;
      return;
    }
    const Corner<D> x = deinterleave<D>(start[l]);
    const double    h = (double)(1u << (depth(D) - level[l]));
    // the corner that the leaf and its parent have in common
    int b = 0;
    for (int q = 0; q < D; ++q) b |= (x.x[q] & (1u << (depth(D) - level[l]))) ? 1 << q : 0;
    const int linear = axes ? axes[p] : usual_weights;
    for (int q = 0; q < D; ++q) t[q] = (y[(ptrdiff_t)D * p + q] - x.x[q]) / h;
    for (int q = 0; q < D && linear == usual_weights; ++q) t[q] = t[q] < 0 ? 0 : t[q] > 1 ? 1 : t[q];
    if (linear != usual_weights) along_axes(linear, b, t, w);
    else if (!kuhn)
      for (int c = 0; c < corners; ++c) {
        w[c] = 1;
        for (int q = 0; q < D; ++q) w[c] *= c >> q & 1 ? t[q] : 1 - t[q];
      }
    else { // along the path of corners from the lowest to the highest that takes the axes by falling t
      for (int c = 0; c < corners; ++c) w[c] = 0;
      double before = 1;
      int    c      = 0;
      for (int step = 0; step <= D; ++step) {
        int next = -1;
        for (int q = 0; q < D; ++q)
          if (!(c >> q & 1) && (next < 0 || t[q] > t[next])) next = q;
        const double now = next < 0 ? 0 : t[next];
        w[c]             = before - now;
        before           = now;
        c |= next < 0 ? 0 : 1 << next;
      }
    }
    for (int c = 0; c < corners; ++c)
      if (w[c] < small && w[c] > -small) w[c] = 0;
    if (const int bits = hangs[l]) {
      double from[corners];
      for (int c = 0; c < corners; ++c) {
        from[c] = bits >> c & 1 ? w[c] : 0;
        w[c] -= from[c];
      }
      for (int c = 0; c < corners; ++c) {
        if (from[c] == 0) continue;
        const int m = c ^ b; // axes along which the corner is in the middle of the parent's edge or face
        if (kuhn && (m & (m - 1))) {
          // a face: the middle of the diagonal that the simplices share
          const int i = m & -m, j = m ^ i;
          const bool along = !(b & i) == !(b & j);
          w[along ? b : b ^ i] += 0.5 * from[c];
          w[along ? c : b ^ j] += 0.5 * from[c];
          continue;
        }
        int number = 1;
        for (int q = 0; q < D; ++q) number <<= m >> q & 1;
        for (int s = m;; s = (s - 1) & m) { // all subsets
          w[b ^ s] += from[c] / number;
          if (!s) break;
        }
      }
    }
    for (int c = 0; c < corners; ++c) {
      weight[(ptrdiff_t)corners * p + c] = (T)w[c];
      if (const int v = vertex[(l << D) + c]; w[c] != 0 && v >= 0) used[v] = 1;
    }
  }
};

template <int D> struct TakeVertex {
  const int *order, *from; // from[order[p]] is the vertex that becomes p
  const Key *vertex_key;
  int       *number;
  double    *y;
  HD void    operator()(int p) const
  {
    const int       v = from[order[p]];
    const Corner<D> x = deinterleave<D>(vertex_key[v]);
    number[v]         = p;
    for (int q = 0; q < D; ++q) y[(ptrdiff_t)D * p + q] = x.x[q];
  }
};
struct Renumber {
  const unsigned char *used;
  const int           *number;
  int                 *vertex;
  HD void operator()(int p) const { vertex[p] = vertex[p] >= 0 && used[vertex[p]] ? number[vertex[p]] : -1; }
};

// What there is of a tree's leaves until they are made
struct Unfinished {
  Buffer<unsigned char> flag, vertex_hangs;
  Buffer<int>           counts, from, corner, first;
  Buffer<Key>           key;
};

template <int D>
std::vector<Cells> cells_of(const Exec &exec, const Tree &tree, int k, int trees,
                            const std::function<void(Cells &)> &others)
{
  const auto              extent = [&](size_t n) { return Extent{n, exec.space}; };
  std::vector<Unfinished> work((size_t)trees);
  const auto              sizes = [&] {
    std::vector<const Buffer<int> *> counts;
    for (const Unfinished &w : work) counts.push_back(&w.counts);
    return last_of(exec, counts);
  };
  for (Unfinished &w : work) {
    w.flag.resize_unset(extent((size_t)tree.cells));
    for_each(exec, tree.cells, LeafFlag{tree.rank.data(), tree.parent.data(), k++, w.flag.data()});
    count_flags(exec, tree.cells, w.flag, w.counts);
  }
  std::vector<int>   size = sizes();
  std::vector<Cells> all((size_t)trees);
  if (device::failed() && !others) return all; // the host has learned zeros
  for (size_t t = 0; t < all.size(); ++t) {
    Unfinished &w = work[t];
    Cells      &c = all[t];
    c.n         = size[t];
    c.dim       = tree.dim;
    take_places(exec, tree.cells, w.flag, w.counts, c.n, w.from);
    c.start.resize_unset(extent((size_t)c.n));
    c.level.resize_unset(extent((size_t)c.n));
    for_each(exec, c.n, TakeLeaf{w.from.data(), tree.start.data(), tree.level.data(), c.start.data(), c.level.data()});
    if (others) others(c);
    const int n = c.n, corners = n << D;
    w.key.resize_unset(extent((size_t)corners));
    for_each(exec, n, Corners<D>{c.start.data(), c.level.data(), w.key.data()});
    sort_keys(exec, corners, vertex_bits(D), D * (depth(D) - tree.finest), w.key, w.corner);
    w.flag.resize_unset(extent((size_t)corners));
    for_each(exec, corners, FirstOfRun<Key>{w.key.data(), w.flag.data()});
    count_flags(exec, corners, w.flag, w.counts);
  }
  size = sizes();
  if (device::failed()) return std::vector<Cells>((size_t)trees);
  Buffer<int> found(extent(3 * (size_t)trees)), shape(3 * (size_t)trees); // of each: hanging vertices, then Levels
  for (size_t t = 0; t < all.size(); ++t) {
    Unfinished &w = work[t];
    Cells      &c = all[t];
    const int   n = c.n, v = c.vertices = size[t], corners = n << D;
    take_places(exec, corners, w.flag, w.counts, v, w.first);
    c.vertex_key.resize_unset(extent((size_t)v));
    c.key.resize_unset(extent((size_t)v));
    w.vertex_hangs.resize_unset(extent((size_t)v));
    c.vertex.resize_unset(extent((size_t)corners));
    c.hangs.resize_unset(extent((size_t)n));
    for_each(exec, v,
             Vertex<D>{w.first.data(), v, corners, w.key.data(), w.corner.data(), c.start.data(), c.level.data(), n,
                       c.vertex_key.data(), c.key.data(), w.vertex_hangs.data(), found.data() + 3 * t,
                       c.vertex.data()});
    for_each(exec, n,
             Replace<D>{c.start.data(), c.level.data(), c.vertex_key.data(), w.vertex_hangs.data(), v, c.vertex.data(),
                        c.hangs.data()});
    join_each(exec, n, FindLevels{c.level.data()}, (Levels *)(found.data() + 3 * t + 1));
  }
  copy(found, shape);
  for (size_t t = 0; t < all.size(); ++t) {
    all[t].hanging  = shape.data()[3 * t];
    all[t].coarsest = shape.data()[3 * t + 1];
    all[t].finest   = shape.data()[3 * t + 2];
    if (others) all[t].vertex_hangs = std::move(work[t].vertex_hangs);
  }
  return all;
}

} // namespace

std::vector<Cells> make_cells(const Exec &exec, const Tree &tree, int k, int trees,
                              const std::function<void(Cells &)> &others)
{
  std::vector<Cells> cells;
  with_dim(tree.dim, [&](auto d) { cells = cells_of<d.value>(exec, tree, k, trees, others); });
  return cells;
}

template <class T> void make_weights(const Exec &exec, const Cells &cells, bool kuhn, int n, const int *leaf,
                                     const double *y, const unsigned char *axes, T *weight, unsigned char *used)
{
  with_dim(cells.dim, [&](auto d) {
    for_each(exec, n,
             Weights<d.value, T>{cells.start.data(), cells.level.data(), cells.hangs.data(), cells.vertex.data(), leaf,
                                 y, kuhn, axes, weight, used});
  });
}
template void make_weights(const Exec &, const Cells &, bool, int, const int *, const double *, const unsigned char *,
                           double *, unsigned char *);
template void make_weights(const Exec &, const Cells &, bool, int, const int *, const double *, const unsigned char *,
                           float *, unsigned char *);

int number_vertices(const Exec &exec, Cells &cells, const Buffer<unsigned char> &used)
{
  Buffer<int> from, order, number;
  Buffer<Key> key;
  select(exec, cells.vertices, used, from);
  const int n = (int)from.size();
  key.resize_unset(Extent{(size_t)n, exec.space});
  for_each(exec, n, GatherValues<Key>{from.data(), cells.key.data(), key.data()});
  // of finest cells at corners of leaves
  sort_keys(exec, n, cells.dim * depth(cells.dim), cells.dim * std::max(depth(cells.dim) - cells.finest - 1, 0), key,
            order);
  number.resize_unset(Extent{(size_t)cells.vertices, exec.space});
  cells.y.resize_unset(Extent{(size_t)n * (size_t)cells.dim, exec.space});
  with_dim(cells.dim, [&](auto d) {
    for_each(exec, n,
             TakeVertex<d.value>{order.data(), from.data(), cells.vertex_key.data(), number.data(), cells.y.data()});
  });
  for_each(exec, cells.n << cells.dim, Renumber{used.data(), number.data(), cells.vertex.data()});
  cells.key        = std::move(key);
  cells.vertex_key = Buffer<Key>();
  cells.vertices   = n;
  return n;
}

} // namespace tessera::tree
