// The pattern of P'AP, once for all values in a pattern of A, and the lists that lead the numbers to their places.
//
// The part of a leaf L is E = sum over its nodes i of p_i (sum_j a_ij p_j)', with the weights p of a node at the corners of its leaf:
// 2^d rows and a column for each vertex around L that gets an entry. Entry e of row i belongs to the leaf pair[e] of L's list, the
// corners of that leaf to the columns column[] of E, and row and column of E to the place slot[] in the row of the coarse operator.
#include "auxamg/auxamg.hpp"
#include "core/each.hpp"
#include <algorithm>
#include <numeric>

namespace tessera::auxamg {

namespace {

constexpr unsigned short none = no_slot<unsigned short>, wanted_slot = none - 1; // more do not count
using Mask = unsigned long long;

// Lists of different numbers in the order of their first use, which gives each its place.
// On the device: short ones in memory of the thread, which is interleaved, so that neighbouring threads read neighbours; what is longer
// in `more`, where it is given.
template <int Short> struct Listed {
  int    *more;
  int     n    = 0;
  bool    full = false;
  int     mine[Short];
  HD explicit Listed(int *memory) : more(memory) { }
  HD int operator()(int v)
  {
    for (int p = 0; p < n && p < Short; ++p)
      if (mine[p] == v) return p;
    for (int p = Short; p < n; ++p)
      if (more[p] == v) return p;
    full = full || (!more && n == Short);
    if (full) return 0;
    if (n < Short) mine[n] = v;
    else more[n] = v;
    return n++;
  }
};
// On the host: each number remembers its place in the list of its last owner.
struct Marked {
  int *owner, *place;
  int  me, n = 0;
  HD int operator()(int v)
  {
    if (owner[v] != me) {
      owner[v] = me;
      place[v] = n++;
    }
    return place[v];
  }
};

constexpr int short_pairs = 32, short_columns = 96, short_row = 64; // lists of nearly all leaves; with longer ones the kernel runs once more

// f(item, list) for all items, with lists of numbers below `range`
template <class F> void for_each_marked(const Exec &exec, int items, int range, const F &f)
{
#pragma omp parallel num_threads(exec.threads) if (exec.threads > 1)
  {
    std::vector<int> owner((size_t)range, -1), place((size_t)range);
#pragma omp for schedule(static)
    for (int item = 0; item < items; ++item) {
      Marked list{owner.data(), place.data(), item};
      f(item, list);
    }
  }
}

// The leaves that the nodes of a leaf are coupled with.
struct LeavesAround {
  const int      *begin, *i, *j, *leaf;
  int            *more, *count;
  unsigned short *pair;
  int            *too_long, *full;
  template <class List> HD void run(int l, List &list) const
  {
    int last = -1, p = 0;
    for (int e = i[begin[l]]; e < i[begin[l + 1]] && list.n < wanted_slot; ++e) {
      const int k = leaf[j[e]];
      if (k != last) p = list(k);
      pair[e] = (unsigned short)p;
      last    = k;
    }
    count[l] = list.n;
    if (list.n >= wanted_slot) raise_flag(too_long);
  }
  HD void operator()(int l) const
  {
    Listed<short_pairs> list(more ? more + i[begin[l]] : nullptr);
    run(l, list);
    if (list.full) raise_flag(full);
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

// Byte r of the mask of two leaves: the corners of the second with which the corner r of the first is coupled.
struct CoupledCorners {
  const int            *begin, *i, *j, *leaf, *pairs;
  const unsigned short *pair;
  const unsigned char  *bits;
  int                  *pair_leaf;
  Mask                 *coupled;
  HD void               operator()(int l) const
  {
    constexpr Mask ones = 0x0101010101010101ULL;
    for (int p = begin[l]; p < begin[l + 1]; ++p) {
      // a byte of 1 for each corner of p
      const Mask rows = (((bits[p] * ones & 0x8040201008040201ULL) + 0x7f * ones) >> 7) & ones;
      for (int e = i[p]; e < i[p + 1]; ++e) {
        const int to = pairs[l] + pair[e];
        pair_leaf[to] = leaf[j[e]];
        coupled[to] |= rows * bits[j[e]];
      }
    }
  }
};
HD inline int corners_of(Mask m) // any row
{
  m |= m >> 32;
  m |= m >> 16;
  return (int)((m | m >> 8) & 0xff);
}

struct ColumnsAround {
  const int      *pairs, *pair_leaf, *vertex;
  const Mask     *coupled;
  int             corners;
  int            *more, *count;
  unsigned short *column;
  int            *too_long, *full;
  template <class List> HD void run(int l, List &list) const
  {
    for (int p = pairs[l]; p < pairs[l + 1] && list.n < wanted_slot - 8; ++p) {
      const int any = corners_of(coupled[p]);
      for (int c = 0; c < corners; ++c) column[(ptrdiff_t)corners * p + c] = (unsigned short)(any >> c & 1 ? list(vertex[(ptrdiff_t)corners * pair_leaf[p] + c]) : 0);
    }
    count[l] = list.n;
    if (list.n >= wanted_slot - 8) raise_flag(too_long);
  }
  HD void operator()(int l) const
  {
    Listed<short_columns> list(more ? more + (ptrdiff_t)corners * pairs[l] : nullptr);
    run(l, list);
    if (list.full) raise_flag(full);
  }
};

// A row of E: which of its entries there are. Item corners l + r is row r of leaf l.
struct MarkEntries {
  const int            *pairs, *pair_leaf, *columns, *vertex;
  const Mask           *coupled;
  const unsigned short *column;
  int                   corners;
  unsigned short       *slot;
  int                  *vertices; // of the columns
  HD void               operator()(int item) const
  {
    const int       l = item / corners, r = item % corners, nc = columns[l + 1] - columns[l];
    unsigned short *mine = slot + (ptrdiff_t)corners * columns[l] + r * nc;
    for (int k = 0; k < nc; ++k) mine[k] = none;
    for (int p = pairs[l]; p < pairs[l + 1]; ++p) {
      const int row = (int)(coupled[p] >> (8 * r) & 0xff), any = r ? 0 : corners_of(coupled[p]);
      if (!row && !any) continue;
      for (int c = 0; c < corners; ++c) {
        const int to = column[(ptrdiff_t)corners * p + c];
        if (row >> c & 1) mine[to] = wanted_slot;
        if (any >> c & 1) vertices[columns[l] + to] = vertex[(ptrdiff_t)corners * pair_leaf[p] + c];
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
      for (int k = 0; k < nc; ++k) n += mine[k] != none;
    }
    count[v] = n;
  }
};
struct FillRow {
  const int      *first, *place, *columns, *vertices;
  unsigned short *slot;
  int             corners;
  const int      *bound;
  int            *row, *count, *too_long;
  template <class List> HD void run(int v, List &list) const
  {
    for (int p = first[v]; p < first[v + 1]; ++p) {
      const int       l = place[p] / corners, c = place[p] % corners, nc = columns[l + 1] - columns[l];
      unsigned short *mine = slot + (ptrdiff_t)corners * columns[l] + c * nc;
      for (int k = 0; k < nc; ++k)
        if (mine[k] != none) {
          const int to = list(vertices[columns[l] + k]);
          row[bound[v] + to] = vertices[columns[l] + k];
          mine[k]            = (unsigned short)to;
        }
    }
    count[v] = list.n;
    if (list.n >= wanted_slot) raise_flag(too_long);
  }
  HD void operator()(int v) const
  {
    Listed<short_row> list(row + bound[v]); // a longer list is the row itself
    run(v, list);
  }
};
struct CopyRows {
  const int *from, *to, *list;
  int       *out;
  HD void    operator()(int v) const
  {
    for (int p = to[v]; p < to[v + 1]; ++p) out[p] = list[from[v] + p - to[v]];
  }
};

struct Longest {
  int     n = 0;
  HD void join(const Longest &o) { n = o.n > n ? o.n : n; }
};
struct FindLongest {
  const int *begin;
  int        lists;
  HD void    operator()(int k, int row, Longest &found) const
  {
    const int l = row * list_row + k;
    if (l < lists) found.join({begin[l + 1] - begin[l]});
  }
};
struct ToBytes {
  const unsigned short *from;
  unsigned char        *to;
  HD void               operator()(int p) const { to[p] = (unsigned char)from[p]; } // none stays the largest number
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
        if (mine[k] != none) mine[k] = (unsigned short)map[row[v] + mine[k]];
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
  bucket_starts(exec_, n, key.data(), nodes, Key(0), fine.first);
}

// leaf: of the nodes of the fine grid, ghosts included. too_long: a leaf or row has more neighbours than 16 bits count.
template <class T> Failure::Kind Hierarchy<T>::product_pattern(Level<T> &fine, const Buffer<int> &leaf, Level<T> &coarse)
{
  const int   cells = fine.cells, corners = fine.corners, entries = (int)fine.j.size(), nodes = coarse.n;
  const bool  host = exec_.space == Space::host;
  Buffer<int> too_long = make<int>(1), full = make<int>(1), list, count, pair_leaf, vertices;
  // lists of all items; longer ones than a thread holds take `bound` of memory
  const auto make_lists = [&](auto kernel, int range, size_t bound) {
    if (host) return for_each_marked(exec_, cells, range, [&](int l, Marked &marks) { kernel.run(l, marks); });
    for_each(exec_, cells, kernel);
    if (!fetch(full, 0)) return;
    full.zero();
    list        = make<int>(bound);
    kernel.more = list.data();
    for_each(exec_, cells, kernel);
    list = Buffer<int>();
  };
  // leaves around each leaf
  fine.wide.pair  = make<unsigned short>((size_t)entries);
  fine.pairs = make<int>((size_t)cells + 1);
  make_lists(LeavesAround{fine.begin.data(), fine.i.data(), fine.j.data(), leaf.data(), nullptr, fine.pairs.data(), fine.wide.pair.data(), too_long.data(), full.data()}, cells, (size_t)entries);
  if (total(fetch(too_long, 0))) return Failure::too_long;
  const int pairs = scan(exec_, cells, fine.pairs);
  // which of their corners are coupled
  Buffer<unsigned char> bits    = make<unsigned char>((size_t)(fine.n + fine.ghosts));
  Buffer<Mask>          coupled = make<Mask>((size_t)pairs);
  pair_leaf                     = make<int>((size_t)pairs);
  for_each(exec_, fine.n + fine.ghosts, CornerBits<T>{fine.weight.data(), corners, bits.data()});
  for_each(exec_, cells, CoupledCorners{fine.begin.data(), fine.i.data(), fine.j.data(), leaf.data(), fine.pairs.data(), fine.wide.pair.data(), bits.data(), pair_leaf.data(), coupled.data()});
  // columns
  fine.wide.column  = make<unsigned short>((size_t)pairs * corners);
  fine.columns = make<int>((size_t)cells + 1);
  make_lists(ColumnsAround{fine.pairs.data(), pair_leaf.data(), fine.vertex.data(), coupled.data(), corners, nullptr, fine.columns.data(), fine.wide.column.data(), too_long.data(), full.data()}, nodes, (size_t)pairs * corners);
  const int columns = scan(exec_, cells, fine.columns);
  fine.parts        = (size_t)columns;
  vertices          = make<int>((size_t)columns);
  fine.wide.slot         = make<unsigned short>((size_t)columns * corners);
  for_each(exec_, cells * corners, MarkEntries{fine.pairs.data(), pair_leaf.data(), fine.columns.data(), fine.vertex.data(), coupled.data(), fine.wide.column.data(), corners, fine.wide.slot.data(), vertices.data()});
  coupled = Buffer<Mask>();
  // rows
  incidences(fine, nodes);
  count = make<int>((size_t)nodes + 1);
  for_each(exec_, nodes, BoundRow{fine.first.data(), fine.place.data(), fine.columns.data(), fine.wide.slot.data(), corners, count.data()});
  const int bound = scan(exec_, nodes, count);
  list            = make<int>((size_t)bound);
  coarse.i        = make<int>((size_t)nodes + 1);
  const FillRow fill{fine.first.data(), fine.place.data(), fine.columns.data(), vertices.data(), fine.wide.slot.data(), corners, count.data(), list.data(), coarse.i.data(), too_long.data()};
  if (host) for_each_marked(exec_, nodes, nodes, [&](int v, Marked &marks) { fill.run(v, marks); });
  else for_each(exec_, nodes, fill);
  const int nonzeros = scan(exec_, nodes, coarse.i);
  coarse.j           = make<int>((size_t)nonzeros);
  for_each(exec_, nodes, CopyRows{count.data(), coarse.i.data(), list.data(), coarse.j.data()});
  if (fine.distributed) {
    if (lost()) return Failure::lost;
    if (const Failure::Kind kind = merge_pattern(fine, coarse)) return kind;
  }
  coarse.a = make<T>(coarse.j.size() * (size_t)(params_.bs * params_.bs));
  Buffer<Longest> longest = make<Longest>(3);
  const auto      find_longest = [&](const Buffer<int> &begin, int lists, int at) { forall_join(exec_, list_box(lists), FindLongest{begin.data(), lists}, longest.data() + at); };
  find_longest(fine.columns, cells, 0);
  find_longest(fine.pairs, cells, 1);
  find_longest(coarse.i, nodes, 2);
  const Buffer<Longest> found = on_host(longest);
  fine.widest                 = found.data()[0].n;
  if (std::max({found.data()[0].n, found.data()[1].n, found.data()[2].n}) < no_slot<unsigned char>) {
    const auto shorten = [&](Buffer<unsigned short> &from, Buffer<unsigned char> &to) {
      to = make<unsigned char>(from.size());
      for_each(exec_, (int)from.size(), ToBytes{from.data(), to.data()});
      from = Buffer<unsigned short>();
    };
    shorten(fine.wide.pair, fine.narrow.pair);
    shorten(fine.wide.column, fine.narrow.column);
    shorten(fine.wide.slot, fine.narrow.slot);
  }
  return total(fetch(too_long, 0)) ? Failure::too_long : Failure::none;
}

// Every process has the coarse operator: the rows are the union of those that the processes contribute to.
template <class T> Failure::Kind Hierarchy<T>::merge_pattern(Level<T> &fine, Level<T> &coarse)
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
    if ((int)columns.size() - first >= wanted_slot) return Failure::too_long; // the parts of each process may be short enough
    for (int e = i.data()[v]; e < i.data()[v + 1]; ++e) map.data()[e] = marker[(size_t)j.data()[e]] - first;
  }
  rows.data()[n] = (int)columns.size();
  Buffer<int> map_there = make<int>(j.size()), merged(columns.size());
  copy(map, map_there);
  for_each(exec_, n, Remap{fine.first.data(), fine.place.data(), fine.columns.data(), coarse.i.data(), map_there.data(), fine.corners, fine.wide.slot.data()});
  std::copy(columns.begin(), columns.end(), merged.data());
  coarse.j = make<int>(columns.size());
  copy(merged, coarse.j);
  copy(rows, coarse.i);
  if (exec_.space == Space::cuda) device::synchronize();
  return Failure::none;
}

template void Hierarchy<double>::incidences(Level<double> &, int);
template Failure::Kind Hierarchy<double>::product_pattern(Level<double> &, const Buffer<int> &, Level<double> &);
template Failure::Kind Hierarchy<double>::merge_pattern(Level<double> &, Level<double> &);
template void Hierarchy<float>::incidences(Level<float> &, int);
template Failure::Kind Hierarchy<float>::product_pattern(Level<float> &, const Buffer<int> &, Level<float> &);
template Failure::Kind Hierarchy<float>::merge_pattern(Level<float> &, Level<float> &);

} // namespace tessera::auxamg
