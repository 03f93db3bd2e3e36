// The pattern of P'AP, once for all values in a pattern of A, and the lists that lead the numbers to their places.
//
// The part of a leaf L is E = sum over its nodes i of p_i (sum_j a_ij p_j)', with the weights p of a node at the corners of its leaf:
// 2^d rows and a column for each vertex around L that gets an entry. Entry e of row i belongs to the leaf pair[e] of L's list, the
// corners of that leaf to the columns column[] of E, and row and column of E to the place slot[] in the row of the coarse operator.
#include "tree/hierarchy.hpp"
#include "tree/pattern_kernels.hpp"
#include "exec/each.hpp"
#include "exec/pack.hpp"
#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace tessera::auxamg {

namespace {

// Lists of different numbers, on the host: each number remembers its place in the list of its last owner, so they stand in the order of
// their first use.
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

// lists.run(item, list) for all items, with lists of numbers below `range`
template <class Lists> void for_each_marked(const Exec &exec, int items, int range, const Lists &lists)
{
#pragma omp parallel num_threads(exec.threads) if (exec.threads > 1)
  {
    std::vector<int> owner((size_t)range, -1), place((size_t)range);
#pragma omp for schedule(static)
    for (int item = 0; item < items; ++item) {
      Marked list{owner.data(), place.data(), item};
      lists.run(item, list);
    }
  }
}

// The leaves that the nodes of a leaf are coupled with.
struct LeavesAround {
  const int      *first, *i, *j, *leaf; // first: node of each leaf
  int            *count;
  unsigned short *pair;
  int            *too_long;
  void run(int l, Marked &list) const
  {
    int last = -1, p = 0;
    for (int e = i[first[l]]; e < i[first[l + 1]] && list.n < wanted_slot; ++e) {
      const int k = leaf[j[e]];
      if (k != last) p = list(k);
      pair[e] = (unsigned short)p;
      last    = k;
    }
    count[l] = list.n;
    if (list.n >= wanted_slot) raise_flag(too_long);
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

struct CoupledCorners {
  const int            *begin, *i, *j, *leaf, *pairs;
  const unsigned short *pair;
  const unsigned char  *bits;
  int                  *pair_leaf;
  Mask                 *coupled;
  HD void               operator()(int l) const
  {
    for (int p = begin[l]; p < begin[l + 1]; ++p) {
      const Mask rows = rows_of(bits[p]);
      for (int e = i[p]; e < i[p + 1]; ++e) {
        const int to = pairs[l] + pair[e];
        pair_leaf[to] = leaf[j[e]];
        coupled[to] |= rows * bits[j[e]];
      }
    }
  }
};
struct ColumnsAround {
  const int      *pairs, *pair_leaf, *vertex;
  const Mask     *coupled;
  int             corners;
  int            *count;
  unsigned short *column;
  int            *too_long;
  void run(int l, Marked &list) const
  {
    for (int p = pairs[l]; p < pairs[l + 1] && list.n < wanted_slot - 8; ++p) {
      const int any = corners_of(coupled[p]);
      for (int c = 0; c < corners; ++c) column[(ptrdiff_t)corners * p + c] = (unsigned short)(any >> c & 1 ? list(vertex[(ptrdiff_t)corners * pair_leaf[p] + c]) : 0);
    }
    count[l] = list.n;
    if (list.n >= wanted_slot - 8) raise_flag(too_long);
  }
};

// Which entries of E there are, bit by bit of what is coupled: branches for all that could be would not be foreseen.
struct MarkEntries {
  const int            *pairs, *pair_leaf, *columns, *vertex;
  const Mask           *coupled;
  const unsigned short *column;
  int                   corners;
  unsigned short       *slot;
  int                  *vertices; // of the columns
  void                  operator()(int l) const
  {
    const int       nc = columns[l + 1] - columns[l];
    unsigned short *mine = slot + (ptrdiff_t)corners * columns[l];
    std::fill(mine, mine + (ptrdiff_t)corners * nc, none);
    for (int p = pairs[l]; p < pairs[l + 1]; ++p) {
      const unsigned short *const to = column + (ptrdiff_t)corners * p;
      for (Mask m = coupled[p]; m; m &= m - 1) { // bit 8 r + c: row r, corner c of the other leaf
        const int bit = __builtin_ctzll(m);
        mine[(bit >> 3) * nc + to[bit & 7]] = wanted_slot;
      }
      for (unsigned m = (unsigned)corners_of(coupled[p]); m; m &= m - 1) {
        const int c = __builtin_ctz(m);
        vertices[columns[l] + to[c]] = vertex[(ptrdiff_t)corners * pair_leaf[p] + c];
      }
    }
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
  HD void    operator()(int k, int line, Longest &found) const
  {
    const int p = line * list_row + k;
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
    count[v] = n + (n > 0); // FillRow begins with the diagonal
  }
};
struct FillRow {
  const int      *first, *at, *columns, *vertices; // at: corners
  unsigned short *slot;
  int             corners;
  const int      *bound;
  int            *row, *count, *too_long;
  void run(int v, Marked &list) const
  {
    if (bound[v] < bound[v + 1]) row[bound[v] + list(v)] = v; // the diagonal first: it need not be searched for
    for (int p = first[v]; p < first[v + 1]; ++p) {
      const int       l = at[p] / corners, c = at[p] % corners, nc = columns[l + 1] - columns[l];
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
};
struct CopyRows {
  const int *from, *to, *list;
  int       *out;
  HD void    operator()(int v) const
  {
    for (int p = to[v]; p < to[v + 1]; ++p) out[p] = list[from[v] + p - to[v]];
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

template <class T> Buffer<unsigned char> Hierarchy<T>::corner_bits(const Level<T> &fine) const
{
  Buffer<unsigned char> bits = make_unset<unsigned char>((size_t)(fine.n + fine.ghosts));
  for_each(exec_, fine.n + fine.ghosts, CornerBits<T>{fine.weight.data(), fine.corners, bits.data()});
  return bits;
}

template <class T> void Hierarchy<T>::incidences(Level<T> &fine, int nodes)
{
  const int   n = fine.cells * fine.corners;
  Buffer<int> taken = make<int>((size_t)nodes);
  fine.first = make<int>((size_t)nodes + 1);
  fine.place = make_unset<int>((size_t)n);
  for_each(exec_, n, CountCorner{fine.vertex.data(), nodes, fine.first.data()});
  sum_up(exec_, nodes, fine.first);
  for_each(exec_, n, PutCorner{fine.vertex.data(), fine.first.data(), nodes, taken.data(), fine.place.data()});
  for_each(exec_, nodes, SortCorners{fine.first.data(), fine.place.data()});
}

// leaf: of the nodes of the fine grid, ghosts included; division: of the coarse grid, where the processes divide it. too_long: a leaf or row
// has more neighbours than 16 bits count.
template <class T> Failure::Kind Hierarchy<T>::product_pattern(Level<T> &fine, const Buffer<int> &leaf, Level<T> &coarse, Division *division)
{
  const int   cells = fine.cells, corners = fine.corners, entries = (int)fine.j.size(), nodes = coarse.rows;
  const int   around = division ? division->leaves : cells, range = division ? (int)division->vertex.size() : nodes; // of which numbers are listed
  Buffer<int> vertices;
  bool        long_rows;
  const Buffer<unsigned char> bits = corner_bits(fine);
  fine.wide.pair = make_unset<unsigned short>((size_t)entries);
  fine.pairs     = make<int>((size_t)cells + 1);
  fine.columns   = make<int>((size_t)cells + 1);
  coarse.i       = make<int>((size_t)nodes + 1);
  if (exec_.space == Space::cuda) {
    if (total(std::max(around, range) > 1 << Table::bits)) throw std::length_error("PC auxamg: more than 2^29 cells or vertices of a grid on a device. Use larger cells (-pc_auxamg_cell_size) or -pc_auxamg_backend host"); // on all processes alike
    const int      deep = corners > 4, group = deep ? 1 : 4, size = 160;
    int            shift = 0;
    Buffer<char>   tables;
    Buffer<int>    place = make_unset<int>(2 * (size_t)blocks_of(std::max(cells, nodes), group)), list;
    Buffer<unsigned short> column;
    Buffer<unsigned char>  rows, list_rows;
    while (1 << shift < corners) ++shift;
    LeafLists  leaves{fine.begin.data(), fine.i.data(), fine.j.data(), leaf.data(), fine.vertex.data(), bits.data(), shift, cells, around, range, group, size, fine.pairs.data(), fine.columns.data(), fine.wide.pair.data(), nullptr, nullptr, nullptr, place.data(), nullptr, {}};
    const auto grow_leaves = [&](int k, size_t n) {
      if (k == 0) tables.resize_unset(Extent{n * TableRoom::each_bytes, exec_.space});
      else if (k == 1) column = make_unset<unsigned short>(n << shift);
      else list = make_unset<int>(n), list_rows = make_unset<unsigned char>(n);
      leaves.taken.tables = tables.data();
      leaves.column       = column.data();
      leaves.vertices     = list.data();
      leaves.rows         = list_rows.data();
    };
    const auto begin_with = [&](auto &lists, int k, size_t n, const auto &grow) {
      grow(k, n);
      lists.taken.room[k] = n;
    };
    begin_with(leaves, 1, (size_t)cells * (deep ? 40 : 12) + 64, grow_leaves); // most meshes have less
    begin_with(leaves, 2, (size_t)cells * (deep ? 96 : 24) + 64, grow_leaves);
    const Buffer<unsigned long long> found = make_lists(exec_, cells, leaves, grow_leaves);
    if (total(found.data()[3] != 0)) return Failure::too_long;
    if (lost()) return Failure::lost;
    const size_t pairs = (size_t)found.data()[1], columns = (size_t)found.data()[2];
    sum_up(exec_, cells, fine.pairs);
    sum_up(exec_, cells, fine.columns);
    rows             = make_unset<unsigned char>(columns);
    vertices         = make_unset<int>(columns);
    fine.parts       = columns;
    fine.wide.column = make_unset<unsigned short>(pairs << shift);
    fine.wide.slot   = make<unsigned short>(columns << shift);
    forall_warps(exec_, blocks_of(cells, group), 0, GatherLeaves{fine.pairs.data(), fine.columns.data(), place.data(), shift, cells, group, column.data(), list.data(), list_rows.data(), fine.wide.column.data(), vertices.data(), rows.data()});
    incidences(fine, nodes);
    RowLists   all{fine.first.data(), fine.place.data(), fine.columns.data(), vertices.data(), rows.data(), shift, nodes, range, group, size, coarse.i.data(), nullptr, fine.wide.slot.data(), place.data(), nullptr, {}};
    const auto grow_rows = [&](int k, size_t n) {
      if (k == 0) tables.resize_unset(Extent{n * TableRoom::each_bytes, exec_.space});
      else list = make_unset<int>(n);
      all.taken.tables = tables.data();
      all.j            = list.data();
    };
    begin_with(all, 1, (size_t)nodes * (deep ? 80 : 32) + 64, grow_rows);
    const Buffer<unsigned long long> taken = make_lists(exec_, nodes, all, grow_rows);
    if (lost()) return Failure::lost;
    coarse.j  = make_unset<int>((size_t)taken.data()[1]);
    long_rows = taken.data()[3] != 0;
    sum_up(exec_, nodes, coarse.i);
    forall_warps(exec_, blocks_of(nodes, group), 0, GatherRows{coarse.i.data(), place.data(), list.data(), nodes, group, coarse.j.data()});
  } else {
    Buffer<int> too_long(1);
    // leaves around each leaf
    for_each_marked(exec_, cells, around, LeavesAround{fine.begin.data(), fine.i.data(), fine.j.data(), leaf.data(), fine.pairs.data(), fine.wide.pair.data(), too_long.data()});
    if (total(too_long.data()[0])) return Failure::too_long;
    const int pairs = scan(exec_, cells, fine.pairs);
    // which of their corners are coupled
    Buffer<Mask> coupled = make<Mask>((size_t)pairs);
    Buffer<int>  pair_leaf = make<int>((size_t)pairs), count = make<int>((size_t)nodes + 1);
    for_each(exec_, cells, CoupledCorners{fine.begin.data(), fine.i.data(), fine.j.data(), leaf.data(), fine.pairs.data(), fine.wide.pair.data(), bits.data(), pair_leaf.data(), coupled.data()});
    // columns
    fine.wide.column = make<unsigned short>((size_t)pairs * corners);
    for_each_marked(exec_, cells, range, ColumnsAround{fine.pairs.data(), pair_leaf.data(), fine.vertex.data(), coupled.data(), corners, fine.columns.data(), fine.wide.column.data(), too_long.data()});
    const int columns = scan(exec_, cells, fine.columns);
    fine.parts        = (size_t)columns;
    vertices          = make<int>((size_t)columns);
    fine.wide.slot    = make<unsigned short>((size_t)columns * corners);
    const MarkEntries mark{fine.pairs.data(), pair_leaf.data(), fine.columns.data(), fine.vertex.data(), coupled.data(), fine.wide.column.data(), corners, fine.wide.slot.data(), vertices.data()};
#pragma omp parallel for schedule(static) num_threads(exec_.threads) if (exec_.threads > 1)
    for (int l = 0; l < cells; ++l) mark(l);
    coupled = Buffer<Mask>();
    // rows
    incidences(fine, nodes);
    for_each(exec_, nodes, BoundRow{fine.first.data(), fine.place.data(), fine.columns.data(), fine.wide.slot.data(), corners, count.data()});
    const int   bound = scan(exec_, nodes, count);
    Buffer<int> rows = make<int>((size_t)bound);
    for_each_marked(exec_, nodes, range, FillRow{fine.first.data(), fine.place.data(), fine.columns.data(), vertices.data(), fine.wide.slot.data(), corners, count.data(), rows.data(), coarse.i.data(), too_long.data()});
    coarse.j = make<int>((size_t)scan(exec_, nodes, coarse.i));
    for_each(exec_, nodes, CopyRows{count.data(), coarse.i.data(), rows.data(), coarse.j.data()});
    long_rows = too_long.data()[0];
  }
  if (fine.distributed) {
    if (lost()) return Failure::lost;
    if (division) long_rows = divide_rows(fine, coarse, *division, wanted_slot) || long_rows;
    else if (const Failure::Kind kind = merge_pattern(fine, coarse)) return kind;
  }
  coarse.a = make_unset<T>((division ? division->entries : coarse.j.size()) * (size_t)(params_.bs * params_.bs));
  Buffer<Longest> longest = make<Longest>(1);
  forall_join(exec_, list_box(std::max(cells, nodes)), FindLongest{fine.columns.data(), fine.pairs.data(), coarse.i.data(), fine.begin.data(), cells, nodes}, longest.data());
  const Longest found = fetch(longest, 0);
  fine.widest         = found.columns;
  fine.fullest        = found.nodes;
  if (std::max({found.columns, found.pairs, found.row}) < no_slot<unsigned char>) {
    const auto shorten = [&](Buffer<unsigned short> &from, Buffer<unsigned char> &to) {
      to = make_unset<unsigned char>(from.size());
      for_each(exec_, (int)((from.size() + ToBytes::at_once - 1) / ToBytes::at_once), ToBytes{from.data(), to.data(), (ptrdiff_t)from.size()});
      from = Buffer<unsigned short>();
    };
    shorten(fine.wide.pair, fine.narrow.pair);
    shorten(fine.wide.column, fine.narrow.column);
    shorten(fine.wide.slot, fine.narrow.slot);
  }
  return total(long_rows) ? Failure::too_long : Failure::none;
}

// Entries of the first rows go to the places map[] in them.
template <class T> void Hierarchy<T>::remap(Level<T> &fine, const Level<T> &coarse, int rows, const Buffer<int> &map)
{
  for_each(exec_, rows, Remap{fine.first.data(), fine.place.data(), fine.columns.data(), coarse.i.data(), map.data(), fine.corners, fine.wide.slot.data()});
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
  remap(fine, coarse, n, map_there);
  std::copy(columns.begin(), columns.end(), merged.data());
  coarse.j = make<int>(columns.size());
  copy(merged, coarse.j);
  copy(rows, coarse.i);
  if (exec_.space == Space::cuda) device::synchronize();
  return Failure::none;
}

template void Hierarchy<double>::incidences(Level<double> &, int);
template Buffer<unsigned char> Hierarchy<double>::corner_bits(const Level<double> &) const;
template void Hierarchy<double>::remap(Level<double> &, const Level<double> &, int, const Buffer<int> &);
template Failure::Kind Hierarchy<double>::product_pattern(Level<double> &, const Buffer<int> &, Level<double> &, Division *);
template Failure::Kind Hierarchy<double>::merge_pattern(Level<double> &, Level<double> &);
template void Hierarchy<float>::incidences(Level<float> &, int);
template Buffer<unsigned char> Hierarchy<float>::corner_bits(const Level<float> &) const;
template void Hierarchy<float>::remap(Level<float> &, const Level<float> &, int, const Buffer<int> &);
template Failure::Kind Hierarchy<float>::product_pattern(Level<float> &, const Buffer<int> &, Level<float> &, Division *);
template Failure::Kind Hierarchy<float>::merge_pattern(Level<float> &, Level<float> &);

} // namespace tessera::auxamg
