// P'AP: its pattern, once, and its numbers, in one pass over the leaves.
//
// The part of a leaf L is E = sum over its nodes i of p_i (sum_j a_ij p_j)', with the weights p of a node at the corners of its leaf:
// 2^d rows and as many columns as there are vertices around L. Entry e of row i belongs to the leaf pair[e] of L's list, the corners of
// that leaf to the columns column[] of E, and row and column of E to the place slot[] in the row of the coarse operator.
#include "auxamg/auxamg.hpp"
#include "auxamg/dispatch.hpp"
#include "core/each.hpp"
#include <algorithm>
#include <numeric>

namespace tessera::auxamg {

namespace {

constexpr unsigned short no_slot = 0xffff, wanted_slot = 0xfffe;

// The place of v in the list, which it joins if need be.
HD inline int insert(int *list, int &n, int v)
{
  int found = -1;
  for (int p = 0; p < n; ++p) found = list[p] == v ? p : found;
  if (found >= 0) return found;
  list[n] = v;
  return n++;
}

struct LeavesAround {
  const int      *begin, *i, *j, *leaf;
  int            *list, *count;
  unsigned short *pair;
  int            *too_long;
  HD void         operator()(int l) const
  {
    int *const mine = list + i[begin[l]];
    int        n    = 0, p = 0;
    for (int e = i[begin[l]]; e < i[begin[l + 1]]; ++e) {
      const int k = leaf[j[e]];
      if (!n || mine[p] != k) p = insert(mine, n, k);
      pair[e] = (unsigned short)p;
    }
    count[l] = n;
    if (n >= wanted_slot) raise_flag(too_long);
  }
};

struct CopyLists {
  const int *from, *stride_begin; // list l begins at from[stride_begin ? stride_begin[l] : l]
  const int *to, *list;
  int        factor;
  int       *out;
  HD void    operator()(int l) const
  {
    const int *const mine = list + (ptrdiff_t)factor * from[stride_begin ? stride_begin[l] : l];
    for (int p = to[l]; p < to[l + 1]; ++p) out[p] = mine[p - to[l]];
  }
};

struct ColumnsAround {
  const int      *pairs, *pair_leaf, *vertex;
  int             corners;
  int            *list, *count;
  unsigned short *column;
  int            *too_long;
  HD void         operator()(int l) const
  {
    int *const mine = list + (ptrdiff_t)corners * pairs[l];
    int        n    = 0;
    for (int p = pairs[l]; p < pairs[l + 1]; ++p)
      for (int c = 0; c < corners; ++c) {
        const int v = vertex[(ptrdiff_t)corners * pair_leaf[p] + c];
        column[(ptrdiff_t)corners * p + c] = (unsigned short)(v < 0 ? 0 : insert(mine, n, v));
      }
    count[l] = n;
    if (n >= wanted_slot) raise_flag(too_long);
  }
};

// The corners at which a node has a weight, as bits.
template <class T> struct CornerBits {
  const T       *weight;
  int            corners;
  unsigned char *bits;
  HD void        operator()(int p) const
  {
    int b = 0;
    for (int c = 0; c < corners; ++c) b |= weight[(ptrdiff_t)corners * p + c] > 0 ? 1 << c : 0;
    bits[p] = (unsigned char)b;
  }
};

// Marks the entries of E that are in the pattern of the product of the patterns. Successive nodes with the same corners go together.
struct MarkEntries {
  const int            *begin, *i, *j, *pairs, *columns;
  const unsigned short *pair, *column;
  const unsigned char  *bits;
  int                   corners;
  unsigned char        *touched; // of the corners of each leaf around
  unsigned short       *slot;
  HD void               operator()(int l) const
  {
    const int            nc = columns[l + 1] - columns[l], np = pairs[l + 1] - pairs[l];
    unsigned char *const seen = touched + pairs[l];
    unsigned short      *mine = slot + (ptrdiff_t)corners * columns[l];
    for (int k = 0; k < corners * nc; ++k) mine[k] = no_slot;
    for (int k = 0; k < np; ++k) seen[k] = 0;
    for (int p = begin[l]; p < begin[l + 1]; ++p) {
      for (int e = i[p]; e < i[p + 1]; ++e) seen[pair[e]] |= bits[j[e]];
      if (p + 1 < begin[l + 1] && bits[p + 1] == bits[p]) continue;
      for (int k = 0; k < np; ++k) {
        const int now = seen[k];
        seen[k]       = 0;
        for (int c = 0; c < corners; ++c) {
          if (!(now >> c & 1)) continue;
          const int to = column[(ptrdiff_t)corners * (pairs[l] + k) + c];
          for (int r = 0; r < corners; ++r)
            if (bits[p] >> r & 1) mine[r * nc + to] = wanted_slot;
        }
      }
    }
  }
};

struct CornerKeys {
  const int *vertex;
  int        none;
  Key       *key;
  HD void    operator()(int p) const { key[p] = (Key)(vertex[p] < 0 ? none : vertex[p]); }
};
struct FirstCorner {
  const Key *key;
  int        n;
  int       *first;
  HD void    operator()(int v) const { first[v] = lower_bound(key, 0, n, (Key)v); }
};

// The rows of the coarse operator: the marked columns of all leaves around the vertex.
struct BoundRow {
  const int            *first, *place, *columns;
  const unsigned short *slot;
  int                   corners;
  int                  *count;
  HD void               operator()(int v) const
  {
    int n = 0;
    for (int p = first[v]; p < first[v + 1]; ++p) {
      const int             l = place[p] / corners, c = place[p] % corners, nc = columns[l + 1] - columns[l];
      const unsigned short *mine = slot + (ptrdiff_t)corners * columns[l] + c * nc;
      for (int k = 0; k < nc; ++k) n += mine[k] != no_slot;
    }
    count[v] = n;
  }
};
struct FillRow {
  const int      *first, *place, *columns, *vertices;
  unsigned short *slot;
  int             corners;
  const int      *bound;
  int            *list, *count, *too_long;
  HD void         operator()(int v) const
  {
    int *const row = list + bound[v];
    int        n   = 0;
    for (int p = first[v]; p < first[v + 1]; ++p) {
      const int       l = place[p] / corners, c = place[p] % corners, nc = columns[l + 1] - columns[l];
      unsigned short *mine = slot + (ptrdiff_t)corners * columns[l] + c * nc;
      for (int k = 0; k < nc; ++k)
        if (mine[k] != no_slot) mine[k] = (unsigned short)insert(row, n, vertices[columns[l] + k]);
    }
    count[v] = n;
    if (n >= wanted_slot) raise_flag(too_long);
  }
};

// E of a leaf. On the host in scratch of the thread, and added to the rows at once; one thread at a time.
template <class T, int BS> struct LeafProduct {
  const int            *begin, *i, *j, *pairs, *columns, *vertex, *row;
  const unsigned short *pair, *column, *slot;
  const T              *a, *weight;
  int                   corners;
  T                    *out;
  void                  operator()(int l, double *scratch) const
  {
    constexpr int B2 = BS * BS;
    const int     nc = columns[l + 1] - columns[l];
    double *const ap = scratch, *const E = scratch + B2 * nc;
    std::fill(E, E + (ptrdiff_t)corners * B2 * nc, 0.);
    for (int p = begin[l]; p < begin[l + 1]; ++p) {
      std::fill(ap, ap + B2 * nc, 0.);
      for (int e = i[p]; e < i[p + 1]; ++e) {
        const unsigned short *to = column + (ptrdiff_t)corners * (pairs[l] + pair[e]);
        const T *const        w  = weight + (ptrdiff_t)corners * j[e];
        const T *const        v  = a + (ptrdiff_t)B2 * e;
        for (int c = 0; c < corners; ++c)
          for (int b = 0; b < B2; ++b) ap[B2 * to[c] + b] += (double)v[b] * w[c];
      }
      for (int c = 0; c < corners; ++c) {
        const double w = weight[(ptrdiff_t)corners * p + c];
        if (w == 0) continue;
        double *const to = E + (ptrdiff_t)c * B2 * nc;
        for (int k = 0; k < B2 * nc; ++k) to[k] += w * ap[k];
      }
    }
    for (int c = 0; c < corners; ++c) {
      const int v = vertex[(ptrdiff_t)corners * l + c];
      if (v < 0) continue;
      const unsigned short *s    = slot + (ptrdiff_t)corners * columns[l] + c * nc;
      const double *const   from = E + (ptrdiff_t)c * B2 * nc;
      T *const              to   = out + (ptrdiff_t)B2 * row[v];
      for (int k = 0; k < nc; ++k)
        if (s[k] != no_slot)
          for (int b = 0; b < B2; ++b) to[B2 * s[k] + b] += (T)from[B2 * k + b];
    }
  }
};

// The same on the device: a block takes a leaf, a thread a node and then an entry of E, which goes to memory of its own.
template <class T, int BS> struct LeafProductBlock {
  const int            *begin, *i, *j, *pairs, *columns;
  const unsigned short *pair, *column;
  const T              *a, *weight;
  int                   corners, capacity; // doubles of scratch
  T                    *parts;
  template <class Block> HD void operator()(Block &block) const
  {
    constexpr int B2 = BS * BS;
    const int     l = block.tile.y0, nc = columns[l + 1] - columns[l], width = B2 * nc, first = begin[l], last = begin[l + 1];
    if (first == last) return;
    const int     rows = capacity / width;
    double *const ap   = block.shared;
    T *const      E    = parts + (ptrdiff_t)corners * B2 * columns[l];
    for (int from = first; from < last; from += rows) {
      const int number = last - from < rows ? last - from : rows;
      block.each(0, number * width, 0, 1, [&](int k, int) { ap[k] = 0; });
      block.sync();
      block.each(0, number, 0, 1, [&](int r, int) {
        const int p = from + r;
        for (int e = i[p]; e < i[p + 1]; ++e) {
          const unsigned short *to = column + (ptrdiff_t)corners * (pairs[l] + pair[e]);
          for (int c = 0; c < corners; ++c) {
            const double w = weight[(ptrdiff_t)corners * j[e] + c];
            if (w != 0)
              for (int b = 0; b < B2; ++b) ap[r * width + B2 * to[c] + b] += w * a[(ptrdiff_t)B2 * e + b];
          }
        }
      });
      block.sync();
      block.each(0, corners * width, 0, 1, [&](int k, int) {
        double sum = from == first ? 0 : (double)E[k];
        for (int r = 0; r < number; ++r) sum += weight[(ptrdiff_t)corners * (from + r) + k / width] * ap[r * width + k % width];
        E[k] = (T)sum;
      });
      block.sync();
    }
  }
};
template <class T> struct SumParts {
  const int            *first, *place, *begin, *columns, *row;
  const unsigned short *slot;
  const T              *parts;
  int                   corners, b2;
  T                    *out;
  HD void               operator()(int v) const
  {
    for (int p = first[v]; p < first[v + 1]; ++p) {
      const int l = place[p] / corners, c = place[p] % corners, nc = columns[l + 1] - columns[l];
      if (begin[l] == begin[l + 1]) continue;
      const unsigned short *s    = slot + (ptrdiff_t)corners * columns[l] + c * nc;
      const T              *from = parts + (ptrdiff_t)b2 * (corners * (ptrdiff_t)columns[l] + (ptrdiff_t)c * nc);
      T                    *to   = out + (ptrdiff_t)b2 * row[v];
      for (int k = 0; k < nc; ++k)
        if (s[k] != no_slot)
          for (int b = 0; b < b2; ++b) to[b2 * s[k] + b] += from[b2 * k + b];
    }
  }
};

struct LargestWidth {
  const int *columns;
  int       *largest;
  HD void    operator()(int l) const { raise_to(largest, columns[l + 1] - columns[l]); }
};

struct Remap {
  const int            *first, *place, *columns, *row, *map;
  int                   corners;
  unsigned short       *slot;
  HD void               operator()(int v) const
  {
    for (int p = first[v]; p < first[v + 1]; ++p) {
      const int       l = place[p] / corners, c = place[p] % corners, nc = columns[l + 1] - columns[l];
      unsigned short *mine = slot + (ptrdiff_t)corners * columns[l] + c * nc;
      for (int k = 0; k < nc; ++k)
        if (mine[k] != no_slot) mine[k] = (unsigned short)map[row[v] + mine[k]];
    }
  }
};

} // namespace

template <class T> void Hierarchy<T>::incidences(Level<T> &fine, int nodes)
{
  const int   n = fine.cells * fine.corners;
  Buffer<Key> key = make<Key>((size_t)n);
  int         bits = 1;
  while (nodes >> bits) ++bits;
  fine.place = Buffer<int>();
  for_each(exec_, n, CornerKeys{fine.vertex.data(), nodes, key.data()});
  sort_keys(exec_, n, bits, key, fine.place);
  fine.first = make<int>((size_t)nodes + 1);
  for_each(exec_, nodes + 1, FirstCorner{key.data(), n, fine.first.data()});
}

// leaf: of the nodes of the fine grid, ghosts included. False: a leaf or row has more neighbours than 16 bits count.
template <class T> bool Hierarchy<T>::product_pattern(Level<T> &fine, const Buffer<int> &leaf, Level<T> &coarse)
{
  const int   cells = fine.cells, corners = fine.corners, entries = (int)fine.j.size(), nodes = coarse.n;
  Buffer<int> too_long = make<int>(1), list, count, pair_leaf, vertices;
  // leaves around each leaf
  fine.pair  = make<unsigned short>((size_t)entries);
  fine.pairs = make<int>((size_t)cells + 1);
  list       = make<int>((size_t)entries);
  for_each(exec_, cells, LeavesAround{fine.begin.data(), fine.i.data(), fine.j.data(), leaf.data(), list.data(), fine.pairs.data(), fine.pair.data(), too_long.data()});
  const int pairs = scan(exec_, cells, fine.pairs);
  pair_leaf       = make<int>((size_t)pairs);
  for_each(exec_, cells, CopyLists{fine.i.data(), fine.begin.data(), fine.pairs.data(), list.data(), 1, pair_leaf.data()});
  // their corners
  fine.column  = make<unsigned short>((size_t)pairs * corners);
  fine.columns = make<int>((size_t)cells + 1);
  list         = make<int>((size_t)pairs * corners);
  for_each(exec_, cells, ColumnsAround{fine.pairs.data(), pair_leaf.data(), fine.vertex.data(), corners, list.data(), fine.columns.data(), fine.column.data(), too_long.data()});
  const int columns = scan(exec_, cells, fine.columns);
  vertices          = make<int>((size_t)columns);
  for_each(exec_, cells, CopyLists{fine.pairs.data(), nullptr, fine.columns.data(), list.data(), corners, vertices.data()});
  list = Buffer<int>();
  // which of their products there are
  Buffer<unsigned char> touched = make<unsigned char>((size_t)pairs), bits = make<unsigned char>((size_t)(fine.n + fine.ghosts));
  fine.slot = make<unsigned short>((size_t)columns * corners);
  for_each(exec_, fine.n + fine.ghosts, CornerBits<T>{fine.weight.data(), corners, bits.data()});
  for_each(exec_, cells, MarkEntries{fine.begin.data(), fine.i.data(), fine.j.data(), fine.pairs.data(), fine.columns.data(), fine.pair.data(), fine.column.data(), bits.data(), corners, touched.data(), fine.slot.data()});
  // rows
  incidences(fine, nodes);
  count = make<int>((size_t)nodes + 1);
  for_each(exec_, nodes, BoundRow{fine.first.data(), fine.place.data(), fine.columns.data(), fine.slot.data(), corners, count.data()});
  const int bound = scan(exec_, nodes, count);
  list            = make<int>((size_t)bound);
  coarse.i        = make<int>((size_t)nodes + 1);
  for_each(exec_, nodes, FillRow{fine.first.data(), fine.place.data(), fine.columns.data(), vertices.data(), fine.slot.data(), corners, count.data(), list.data(), coarse.i.data(), too_long.data()});
  const int nonzeros = scan(exec_, nodes, coarse.i);
  coarse.j           = make<int>((size_t)nonzeros);
  for_each(exec_, nodes, CopyLists{count.data(), nullptr, coarse.i.data(), list.data(), 1, coarse.j.data()});
  if (fine.distributed) merge_pattern(fine, coarse);
  coarse.a = make<T>(coarse.j.size() * (size_t)(params_.bs * params_.bs));
  Buffer<int> widest = make<int>(1);
  for_each(exec_, cells, LargestWidth{fine.columns.data(), widest.data()});
  fine.widest = fetch(widest, 0);
  return !total(fetch(too_long, 0));
}

// Every process has the coarse operator: the rows are the union of those that the processes contribute to.
template <class T> void Hierarchy<T>::merge_pattern(Level<T> &fine, Level<T> &coarse)
{
  int size;
  MPI_Comm_size(comm_, &size);
  const int         n = coarse.n;
  const Buffer<int> i = on_host(coarse.i), j = on_host(coarse.j);
  std::vector<int>  counts((size_t)n), all_counts((size_t)n * size), lengths((size_t)size), begins((size_t)size + 1);
  for (int v = 0; v < n; ++v) counts[(size_t)v] = i.data()[v + 1] - i.data()[v];
  int length = (int)j.size();
  MPI_Allgather(counts.data(), n, MPI_INT, all_counts.data(), n, MPI_INT, comm_);
  MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, comm_);
  std::partial_sum(lengths.begin(), lengths.end(), begins.begin() + 1);
  std::vector<int> all((size_t)begins.back());
  MPI_Allgatherv(j.data(), length, MPI_INT, all.data(), lengths.data(), begins.data(), MPI_INT, comm_);
  std::vector<int> at(begins.begin(), begins.end() - 1), columns, marker((size_t)n, -1);
  Buffer<int>      rows((size_t)n + 1), map(j.size());
  for (int v = 0; v < n; ++v) {
    const int first = (int)columns.size();
    rows.data()[v]  = first;
    for (int r = 0; r < size; ++r)
      for (int e = all_counts[(size_t)r * n + v]; e > 0; --e) {
        const int c = all[(size_t)at[(size_t)r]++];
        if (marker[(size_t)c] < first) {
          marker[(size_t)c] = (int)columns.size();
          columns.push_back(c);
        }
      }
    for (int e = i.data()[v]; e < i.data()[v + 1]; ++e) map.data()[e] = marker[(size_t)j.data()[e]] - first;
  }
  rows.data()[n] = (int)columns.size();
  Buffer<int> map_there = make<int>(j.size()), merged(columns.size());
  copy(map, map_there);
  for_each(exec_, n, Remap{fine.first.data(), fine.place.data(), fine.columns.data(), coarse.i.data(), map_there.data(), fine.corners, fine.slot.data()});
  std::copy(columns.begin(), columns.end(), merged.data());
  coarse.j = make<int>(columns.size());
  copy(merged, coarse.j);
  copy(rows, coarse.i);
  if (exec_.space == Space::cuda) device::synchronize();
}

template <class T> void Hierarchy<T>::product(Level<T> &fine, Level<T> &coarse)
{
  coarse.a.zero();
  const int    cells = fine.cells, corners = fine.corners, b2 = params_.bs * params_.bs;
  const size_t width = (size_t)b2 * (size_t)fine.widest;
  with_block(params_.bs, [&](auto bs) {
    if (exec_.space == Space::host) {
      const LeafProduct<T, bs.value> kernel{fine.begin.data(), fine.i.data(), fine.j.data(), fine.pairs.data(), fine.columns.data(), fine.vertex.data(), coarse.i.data(), fine.pair.data(), fine.column.data(), fine.slot.data(), fine.a.data(), fine.weight.data(), corners, coarse.a.data()};
      std::vector<double>            scratch(width * (size_t)(corners + 1));
      for (int l = 0; l < cells; ++l)
        if (fine.begin.data()[l] < fine.begin.data()[l + 1]) kernel(l, scratch.data());
      return;
    }
    const size_t entries = (size_t)fetch(fine.columns, (size_t)cells) * (size_t)(corners * b2);
    if (parts_.size() < entries) parts_ = make<T>(entries);
    // rows of eight nodes at once, if they fit
    const size_t bytes = std::min(std::max(width * 8, std::min(width * 64, (size_t)24 * 1024)), device::block_scratch());
    if (bytes < width * sizeof(double)) throw DeviceError("PC auxamg: a cell of nodes is coupled with so many others that a block of threads cannot hold a row of them. Use -pc_auxamg_backend host");
    forall_blocks(exec_, cells, 32, bytes, LeafProductBlock<T, bs.value>{fine.begin.data(), fine.i.data(), fine.j.data(), fine.pairs.data(), fine.columns.data(), fine.pair.data(), fine.column.data(), fine.a.data(), fine.weight.data(), corners, (int)(bytes / sizeof(double)), parts_.data()});
    for_each(exec_, coarse.n, SumParts<T>{fine.first.data(), fine.place.data(), fine.begin.data(), fine.columns.data(), coarse.i.data(), fine.slot.data(), parts_.data(), corners, b2, coarse.a.data()});
  });
  if (!fine.distributed) return;
  Buffer<T> mine = on_host(coarse.a);
  MPI_Allreduce(MPI_IN_PLACE, mine.data(), (int)mine.size(), sizeof(T) == 8 ? MPI_DOUBLE : MPI_FLOAT, MPI_SUM, comm_);
  copy(mine, coarse.a);
  if (exec_.space == Space::cuda) device::synchronize();
}

template void Hierarchy<double>::incidences(Level<double> &, int);
template bool Hierarchy<double>::product_pattern(Level<double> &, const Buffer<int> &, Level<double> &);
template void Hierarchy<double>::merge_pattern(Level<double> &, Level<double> &);
template void Hierarchy<double>::product(Level<double> &, Level<double> &);
template void Hierarchy<float>::incidences(Level<float> &, int);
template bool Hierarchy<float>::product_pattern(Level<float> &, const Buffer<int> &, Level<float> &);
template void Hierarchy<float>::merge_pattern(Level<float> &, Level<float> &);
template void Hierarchy<float>::product(Level<float> &, Level<float> &);

} // namespace tessera::auxamg
