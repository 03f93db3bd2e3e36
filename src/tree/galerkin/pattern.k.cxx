// The pattern of P'AP, once for all values in a pattern of A, and the lists that lead the numbers to their places.
//
// The part of a leaf L is E = sum over its nodes i of p_i (sum_j a_ij p_j)', with the weights p of a node at the
// corners of its leaf: 2^d rows and a column for each vertex around L that gets an entry. Entry e of row i belongs to
// the leaf pair[e] of L's list, the corners of that leaf to the columns column[] of E, and row and column of E to the
// place slot[] in the row of the coarse operator.
#include "tree/setup.hpp"
#include "tree/galerkin/pattern_kernels.hpp"
#include "exec/each.hpp"
#include "exec/gather.hpp"
#include "exec/pack.hpp"
#include <algorithm>

namespace tessera::tree {

namespace {

template <class T> struct CornerBits {
  const T       *weight;
  int            corners;
  unsigned char *bits;
  HD void        operator()(int p) const
  {
    int b = 0;
    for (int c = 0; c < corners; ++c) b |= weight[(ptrdiff_t)corners * p + c] != 0 ? 1 << c : 0;
    bits[p] = (unsigned char)b;
  }
};

struct Longest {
  int     columns = 0, pairs = 0, row = 0, nodes = 0;
  HD void join(const Longest &o)
  {
    columns = o.columns > columns ? o.columns : columns;
    pairs   = o.pairs > pairs ? o.pairs : pairs;
    row     = o.row > row ? o.row : row;
    nodes   = o.nodes > nodes ? o.nodes : nodes;
  }
};
struct FindLongest {
  const int *columns, *pairs, *rows, *begin;
  int        leaves, nodes;
  HD void    operator()(int p, Longest &found) const
  {
    if (p < leaves) found.join({columns[p + 1] - columns[p], pairs[p + 1] - pairs[p], 0, begin[p + 1] - begin[p]});
    if (p < nodes) found.join({0, 0, rows[p + 1] - rows[p], 0});
  }
};
// The corners at each vertex: counted, put there in any order, and sorted.
struct CountCorner {
  const int *vertex;
  int        nodes; // larger numbers are of vertices that have no row here
  int       *count;
  HD void    operator()(int p) const
  {
    if ((unsigned)vertex[p] < (unsigned)nodes) count_one(count + vertex[p]);
  }
};
struct PutCorner {
  const int *vertex, *first;
  int        nodes;
  int       *taken, *place;
  HD void    operator()(int p) const
  {
    if ((unsigned)vertex[p] < (unsigned)nodes) place[first[vertex[p]] + take(taken + vertex[p], 1)] = p;
  }
};
struct SortCorners {
  const int *first;
  int       *place;
  HD void    operator()(int v) const
  {
    for (int p = first[v] + 1; p < first[v + 1]; ++p) {
      const int corner = place[p];
      int       q = p;
      for (; q > first[v] && place[q - 1] > corner; --q) place[q] = place[q - 1];
      place[q] = corner;
    }
  }
};
struct ToBytes {
  static constexpr int   at_once = 8; // a thread's
  const unsigned short *from;
  unsigned char        *to;
  ptrdiff_t              n;
  HD void                operator()(int k) const // none stays the largest number
  {
    const ptrdiff_t p = (ptrdiff_t)at_once * k;
    if (p + at_once > n) {
      for (ptrdiff_t q = p; q < n; ++q) to[q] = (unsigned char)from[q];
      return;
    }
    const auto                   wide = pack<at_once>(from, k);
    Pack<unsigned char, at_once> narrow;
    for (int q = 0; q < at_once; ++q) narrow.v[q] = (unsigned char)wide.v[q];
    ((Pack<unsigned char, at_once> *)to)[k] = narrow;
  }
};

// Entries by their rows and columns: row * n + column
struct NameEntries {
  const int *i, *j;
  Key        n, *to;
  HD void    operator()(int v) const
  {
    for (int e = i[v]; e < i[v + 1]; ++e) to[e] = (Key)v * n + (Key)j[e];
  }
};
struct BeginRow {
  const Key *name;
  int        entries;
  Key        n;
  int       *to;
  HD void    operator()(int v) const { to[v] = lower_bound(name, 0, entries, (Key)v * n); }
};
struct LongRow {
  const int *begin;
  HD double  operator()(int v) const { return begin[v + 1] - begin[v] >= wanted_slot; }
};
struct FindEntries { // the places in their rows
  const int *i;
  const Key *name;
  const int *begin;
  const Key *all;
  int       *to;
  HD void    operator()(int v) const
  {
    for (int e = i[v]; e < i[v + 1]; ++e) to[e] = lower_bound(all, begin[v], begin[v + 1], name[e]) - begin[v];
  }
};
struct TakeColumn {
  const Key *name;
  Key        n;
  int       *to;
  HD void    operator()(int e) const { to[e] = (int)(name[e] % n); }
};

struct Remap {
  const int            *first, *place, *columns, *begin, *list, *map;
  int                   corners;
  unsigned short       *slot;
  HD void               operator()(int r) const
  {
    const int v = list ? list[r] : r;
    for (int p = first[v]; p < first[v + 1]; ++p) {
      const int       l = place[p] / corners, c = place[p] % corners, nc = columns[l + 1] - columns[l];
      unsigned short *mine = slot + (ptrdiff_t)corners * columns[l] + c * nc;
      for (int k = 0; k < nc; ++k)
        if (mine[k] != none) mine[k] = (unsigned short)map[begin[r] + mine[k]];
    }
  }
};

} // namespace

template <class T> Buffer<unsigned char> Level<T>::corner_bits() const
{
  Buffer<unsigned char> bits;
  bits.resize_unset(Extent{(size_t)(n + ghosts), exec.space});
  for_each(exec, n + ghosts, CornerBits<T>{transfer.weight.data(), transfer.corners, bits.data()});
  return bits;
}

template <class T> void GalerkinSetup<T>::incidences(Level<T> &fine, int nodes)
{
  const int   n = fine.transfer.cells * fine.transfer.corners;
  Buffer<int> taken = make<int>((size_t)nodes);
  fine.transfer.first = make<int>((size_t)nodes + 1);
  fine.transfer.place = make_unset<int>((size_t)n);
  for_each(exec_, n, CountCorner{fine.transfer.vertex.data(), nodes, fine.transfer.first.data()});
  sum_up(exec_, nodes, fine.transfer.first);
  for_each(exec_, n,
           PutCorner{fine.transfer.vertex.data(), fine.transfer.first.data(), nodes, taken.data(),
                     fine.transfer.place.data()});
  for_each(exec_, nodes, SortCorners{fine.transfer.first.data(), fine.transfer.place.data()});
}

// Lists in bytes where they suffice, and the longest ones.
template <class T> void GalerkinSetup<T>::shorten_lists(Level<T> &fine, const Level<T> &coarse)
{
  const int cells = fine.transfer.cells, nodes = coarse.rows;
  const Longest found = join_each<Longest>(
    exec_, std::max(cells, nodes),
    FindLongest{fine.product.columns.data(), fine.product.pairs.data(), coarse.i.data(), fine.transfer.begin.data(),
                cells, nodes});
  fine.product.widest         = found.columns;
  fine.product.fullest        = found.nodes;
  if (std::max({found.columns, found.pairs, found.row}) < no_slot<unsigned char>) {
    const auto shorten = [&](Buffer<unsigned short> &from, Buffer<unsigned char> &to) {
      to = make_unset<unsigned char>(from.size());
      for_each(exec_, (int)((from.size() + ToBytes::at_once - 1) / ToBytes::at_once),
               ToBytes{from.data(), to.data(), (ptrdiff_t)from.size()});
      from = Buffer<unsigned short>();
    };
    shorten(fine.product.wide.pair, fine.product.narrow.pair);
    shorten(fine.product.wide.column, fine.product.narrow.column);
    shorten(fine.product.wide.slot, fine.product.narrow.slot);
  }
}

// leaf: of the nodes of the fine grid, ghosts included, out of so many leaves; division: of the coarse grid, where the
// processes divide it.
// too_long: a leaf or row has more neighbours than 16 bits count.
template <class T> Failure::Kind GalerkinSetup<T>::product_pattern(Level<T> &fine, const Buffer<int> &leaf, int leaves,
                                                               Level<T> &coarse, Division *division)
{
  const int cells = fine.transfer.cells, entries = (int)fine.j.size(), nodes = coarse.rows;
  // how many vertices the lists may have
  const int range = division ? (int)division->vertex.size() : nodes;
  bool      long_rows = false;
  fine.product.wide.pair = make_unset<unsigned short>((size_t)entries);
  fine.product.pairs     = make<int>((size_t)cells + 1);
  fine.product.columns   = make<int>((size_t)cells + 1);
  coarse.i       = make<int>((size_t)nodes + 1);
  const Failure::Kind listed = strategy_->product_in_blocks
                               ? pattern_on_device(fine, leaf, coarse, leaves, range, long_rows)
                               : pattern_on_host(fine, leaf, coarse, leaves, range, long_rows);
  if (listed) return listed;
  if (fine.distributed) {
    if (lost()) return Failure::lost;
    if (division) long_rows = divide_rows(fine, coarse, *division, wanted_slot) || long_rows;
    else if (const Failure::Kind kind = merge_pattern(fine, coarse)) return kind;
  }
  coarse.a = make_unset<T>((division ? division->entries : coarse.j.size()) * (size_t)(params_.bs * params_.bs));
  shorten_lists(fine, coarse);
  return total(long_rows) ? Failure::too_long : Failure::none;
}

// Entries of the rows in the list (nullptr: of the first ones) go to the places map[] in them, of which those of row r
// begin at begin[r].
template <class T>
void GalerkinSetup<T>::remap(Level<T> &fine, const int *begin, int rows, const int *list, const Buffer<int> &map)
{
  for_each(exec_, rows,
           Remap{fine.transfer.first.data(), fine.transfer.place.data(), fine.product.columns.data(), begin, list,
                 map.data(), fine.transfer.corners, fine.product.wide.slot.data()});
}

// Every process has the coarse operator: the rows are the union of those that the processes contribute to, their
// columns in ascending order.
template <class T> Failure::Kind GalerkinSetup<T>::merge_pattern(Level<T> &fine, Level<T> &coarse)
{
  const int n = coarse.n, own = (int)coarse.j.size(), bits = bits_of((Key)n * (Key)n);
  Buffer<Key> name = make_unset<Key>((size_t)own);
  for_each(exec_, n, NameEntries{coarse.i.data(), coarse.j.data(), (Key)n, name.data()});
  Gathered<Key>         everyone = gather_from_all(comm_, on_host(name).data(), own);
  const int             all = everyone.begin.back();
  Buffer<Key>           sorted = copy_to(exec_.space, std::move(everyone.all)), merged;
  Buffer<int>           order, place;
  Buffer<unsigned char> first = make_unset<unsigned char>((size_t)all);
  sort_keys(exec_, all, bits, sorted, order);
  for_each(exec_, all, FirstOfRun<Key>{sorted.data(), first.data()});
  select(exec_, all, first, place);
  const int entries = (int)place.size();
  merged = make_unset<Key>((size_t)entries);
  for_each(exec_, entries, GatherValues<Key>{place.data(), sorted.data(), merged.data()});
  Buffer<int>    rows = make_unset<int>((size_t)n + 1), map = make_unset<int>((size_t)own);
  Buffer<double> long_rows = make<double>(1);
  for_each(exec_, n + 1, BeginRow{merged.data(), entries, (Key)n, rows.data()});
  sum_each(exec_, n, LongRow{rows.data()}, long_rows.data());
  if (fetch(long_rows, 0) > 0) return Failure::too_long;
  for_each(exec_, n, FindEntries{coarse.i.data(), name.data(), rows.data(), merged.data(), map.data()});
  remap(fine, coarse.i.data(), n, nullptr, map);
  coarse.j = make_unset<int>((size_t)entries);
  for_each(exec_, entries, TakeColumn{merged.data(), (Key)n, coarse.j.data()});
  coarse.i = std::move(rows);
  return Failure::none;
}

#define INSTANTIATE(T) \
  template void                  GalerkinSetup<T>::incidences(Level<T> &, int); \
  template Buffer<unsigned char> Level<T>::corner_bits() const; \
  template void GalerkinSetup<T>::remap(Level<T> &, const int *, int, const int *, const Buffer<int> &); \
  template Failure::Kind GalerkinSetup<T>::product_pattern(Level<T> &, const Buffer<int> &, int, Level<T> &, \
                                                           Division *);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
