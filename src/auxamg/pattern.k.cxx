// The pattern of P'AP, once for all values in a pattern of A, and the lists that lead the numbers to their places.
//
// The part of a leaf L is E = sum over its nodes i of p_i (sum_j a_ij p_j)', with the weights p of a node at the corners of its leaf:
// 2^d rows and a column for each vertex around L that gets an entry. Entry e of row i belongs to the leaf pair[e] of L's list, the
// corners of that leaf to the columns column[] of E, and row and column of E to the place slot[] in the row of the coarse operator.
#include "auxamg/auxamg.hpp"
#include "core/each.hpp"
#include "core/pack.hpp"
#include <algorithm>
#include <numeric>

namespace tessera::auxamg {

namespace {

constexpr unsigned short none = no_slot<unsigned short>, wanted_slot = none - 1; // more do not count
constexpr int            lanes = 16;
using Mask = unsigned long long;

// Lists of different numbers in the order of their first use, which gives each its place.
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

// On the device: `lanes` threads make a list by rounds, in each of which they look at as many numbers side by side. Of an item Lists says
//   int rounds(item)
//   int number(item, round, lane)        -1: none
//   bool different                       are those of a round?
//   void place(item, round, lane, at)    what is to be done with the place of this number
//   void length(item, n)
//   int begin(item)                      where its list is in `more`; without that, lists are in memory of the block, while they are short
template <class Lists> struct Distinct {
  static constexpr int group = 8, threads = group * lanes, longest = 128; // lists of a block
  static constexpr size_t bytes = (2 * threads + 2 * group + group * longest) * sizeof(int);
  Lists lists;
  int   items, *more, *full;
  HD static int find(const int *list, int n, int v)
  {
    int at = -1;
    for (int p = 0; p < n; ++p) at = list[p] == v ? p : at;
    return at;
  }
  template <class Block> HD void operator()(Block &block) const
  {
    int *const number = (int *)block.shared, *const fresh = number + threads, *const lengths = fresh + threads, *const here = lengths + 2 * group;
    const int  first = block.tile.y0 * group, n = items - first < group ? items - first : group;
    int        rounds = 0;
    for (int r = 0; r < n; ++r) rounds = lists.rounds(first + r) > rounds ? lists.rounds(first + r) : rounds;
    const auto list = [&](int r) { return more ? more + lists.begin(first + r) : here + r * longest; };
    block.each(0, group, 0, 1, [&](int r, int) { lengths[r] = 0; });
    block.sync();
    for (int q = 0; q <= rounds; ++q) {
      const int *const length = lengths + (q & 1) * group;
      // the numbers that are not in the list yet; and from the round before those that came more than once
      block.each(0, n * lanes, 0, 1, [&](int t, int) {
        const int r = t / lanes, item = first + r, k = more || length[r] < longest ? length[r] : longest;
        if (!Lists::different && q && number[t] >= 0 && !fresh[t]) lists.place(item, q - 1, t % lanes, find(list(r), k, number[t]));
        const int v = q < rounds && q < lists.rounds(item) ? lists.number(item, q, t % lanes) : -1, at = v >= 0 ? find(list(r), k, v) : -1;
        if (at >= 0) lists.place(item, q, t % lanes, at);
        number[t] = at >= 0 ? -1 : v;
        if (Lists::different) fresh[t] = at < 0 && v >= 0;
      });
      if (q == rounds) break;
      block.sync();
      if (!Lists::different) {
        block.each(0, n * lanes, 0, 1, [&](int t, int) { fresh[t] = number[t] >= 0 && find(number + t / lanes * lanes, t % lanes, number[t]) < 0; });
        block.sync();
      }
      block.each(0, n * lanes, 0, 1, [&](int t, int) {
        const int r = t / lanes;
        int       at = length[r];
        for (int s = r * lanes; s < t; ++s) at += fresh[s];
        if (fresh[t]) {
          if (more || at < longest) list(r)[at] = number[t];
          else raise_flag(full);
          lists.place(first + r, q, t % lanes, at);
        }
        if (t % lanes == lanes - 1) lengths[(~q & 1) * group + r] = at + fresh[t];
      });
      block.sync();
    }
    // A list that was cut at `longest` has taken numbers for new that it could not keep: its length is the second run's.
    block.each(0, n, 0, 1, [&](int r, int) {
      const int length = lengths[(rounds & 1) * group + r];
      lists.length(first + r, more || length < longest ? length : longest);
    });
  }
};

// The last of the lists first[a..b] that begins at or before p
HD inline int list_of(const int *first, int a, int b, int p)
{
  while (b - a > 1) {
    const int middle = a + (b - a) / 2;
    if (first[middle] <= p) a = middle;
    else b = middle;
  }
  return a;
}
constexpr int leaves_of_block = 16, threads_of_block = 128;

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
  static constexpr bool different = false;
  const int      *first, *i, *j, *leaf; // first: node of each leaf
  int            *count;
  unsigned short *pair;
  int            *too_long;
  template <class List> HD void run(int l, List &list) const
  {
    int last = -1, p = 0;
    for (int e = entry(l); e < entry(l + 1) && list.n < wanted_slot; ++e) {
      const int k = leaf[j[e]];
      if (k != last) p = list(k);
      pair[e] = (unsigned short)p;
      last    = k;
    }
    length(l, list.n);
  }
  HD int       entry(int l) const { return i[first[l]]; }
  HD ptrdiff_t begin(int l) const { return entry(l); }
  HD int       rounds(int l) const { return (entry(l + 1) - entry(l) + lanes - 1) / lanes; }
  HD int       number(int l, int round, int lane) const
  {
    const int e = entry(l) + round * lanes + lane;
    return e < entry(l + 1) ? leaf[j[e]] : -1;
  }
  HD void place(int l, int round, int lane, int at) const { pair[entry(l) + round * lanes + lane] = (unsigned short)at; }
  HD void length(int l, int n) const
  {
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

// Byte r of the mask of two leaves: the corners of the second with which the corner r of the first is coupled.
HD inline Mask rows_of(unsigned char bits) // a byte of 1 for each corner
{
  constexpr Mask ones = 0x0101010101010101ULL;
  return (((bits * ones & 0x8040201008040201ULL) + 0x7f * ones) >> 7) & ones;
}
struct CoupledCorners {
  const int            *begin, *i, *j, *leaf, *pairs;
  const unsigned short *pair;
  const unsigned char  *bits;
  int                  *pair_leaf;
  Mask                 *coupled;
  int                   leaves;
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
  // On the device a thread takes a pair of leaves: those of a leaf read the same entries.
  template <class Block> HD void operator()(Block &block) const
  {
    const int l0 = block.tile.y0 * leaves_of_block, l1 = l0 + leaves_of_block < leaves ? l0 + leaves_of_block : leaves;
    block.each(pairs[l0], pairs[l1], 0, 1, [&](int to, int) {
      const int l = list_of(pairs, l0, l1, to);
      Mask      mask = 0;
      int       other = 0;
      for (int p = begin[l]; p < begin[l + 1]; ++p) {
        unsigned any = 0;
        for (int e = i[p]; e < i[p + 1]; ++e)
          if (pairs[l] + pair[e] == to) {
            other = j[e];
            any |= bits[other];
          }
        mask |= rows_of(bits[p]) * any;
      }
      pair_leaf[to] = leaf[other];
      coupled[to]   = mask;
    });
  }
};
HD inline int corners_of(Mask m) // any row
{
  m |= m >> 32;
  m |= m >> 16;
  return (int)((m | m >> 8) & 0xff);
}

struct ColumnsAround {
  static constexpr bool different = false;
  const int      *pairs, *pair_leaf, *vertex;
  const Mask     *coupled;
  int             corners;
  int            *count;
  unsigned short *column;
  int            *too_long;
  template <class List> HD void run(int l, List &list) const
  {
    for (int p = pairs[l]; p < pairs[l + 1] && list.n < wanted_slot - 8; ++p) {
      const int any = corners_of(coupled[p]);
      for (int c = 0; c < corners; ++c) column[(ptrdiff_t)corners * p + c] = (unsigned short)(any >> c & 1 ? list(vertex[(ptrdiff_t)corners * pair_leaf[p] + c]) : 0);
    }
    length(l, list.n);
  }
  HD ptrdiff_t begin(int l) const { return (ptrdiff_t)corners * pairs[l]; }
  HD int       rounds(int l) const { return (corners * (pairs[l + 1] - pairs[l]) + lanes - 1) / lanes; }
  HD int       number(int l, int round, int lane) const
  {
    const int k = round * lanes + lane, p = pairs[l] + k / corners, c = k % corners;
    return p < pairs[l + 1] && corners_of(coupled[p]) >> c & 1 ? vertex[(ptrdiff_t)corners * pair_leaf[p] + c] : -1;
  }
  HD void place(int l, int round, int lane, int at) const { column[begin(l) + round * lanes + lane] = (unsigned short)at; } // the others stay 0
  HD void length(int l, int n) const
  {
    count[l] = n;
    if (n >= wanted_slot - 8) raise_flag(too_long);
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
  int                   leaves;
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
  // On the device a thread takes a column of E and looks for it in all pairs.
  template <class Block> HD void operator()(Block &block) const
  {
    const int l0 = block.tile.y0 * leaves_of_block, l1 = l0 + leaves_of_block < leaves ? l0 + leaves_of_block : leaves;
    block.each(columns[l0], columns[l1], 0, 1, [&](int k, int) {
      const int l = list_of(columns, l0, l1, k), nc = columns[l + 1] - columns[l];
      Mask      rows = 0;
      int       where = 0; // nothing in the loop waits for what it finds
      for (int p = pairs[l]; p < pairs[l + 1]; ++p) {
        const Mask mask = coupled[p];
        for (int c = 0; c < corners; ++c) {
          const Mask mine = columns[l] + column[(ptrdiff_t)corners * p + c] == k ? mask >> c & 0x0101010101010101ULL : 0;
          rows |= mine;
          where = mine ? corners * (p - pairs[l]) + c : where;
        }
      }
      vertices[k] = vertex[(ptrdiff_t)corners * pair_leaf[pairs[l] + where / corners] + where % corners];
      for (int r = 0; r < corners; ++r) slot[(ptrdiff_t)corners * columns[l] + r * nc + k - columns[l]] = rows >> (8 * r) & 1 ? wanted_slot : none;
    });
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
  static constexpr bool different = true;
  const int      *first, *at, *columns, *vertices; // at: corners
  unsigned short *slot;
  int             corners;
  const int      *bound;
  const Longest  *widest; // most columns of a leaf
  int            *row, *count, *too_long;
  template <class List> HD void run(int v, List &list) const
  {
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
    length(v, list.n);
  }
  // A round is a part of the columns of a leaf.
  HD int       parts() const { return (widest->n + lanes - 1) / lanes; }
  HD ptrdiff_t begin(int v) const { return bound[v]; }
  HD int       rounds(int v) const { return (first[v + 1] - first[v]) * parts(); }
  template <class F> HD int with_entry(int v, int round, int lane, const F &f) const // f(slot, vertex of its column)
  {
    const int corner = at[first[v] + round / parts()], l = corner / corners, nc = columns[l + 1] - columns[l], k = round % parts() * lanes + lane;
    return k < nc ? f(slot[(ptrdiff_t)corners * columns[l] + corner % corners * nc + k], vertices[columns[l] + k]) : -1;
  }
  HD int number(int v, int round, int lane) const
  {
    return with_entry(v, round, lane, [](unsigned short wanted, int vertex) { return wanted == none ? -1 : vertex; });
  }
  HD void place(int v, int round, int lane, int to) const
  {
    with_entry(v, round, lane, [to](unsigned short &mine, int) { return mine = (unsigned short)to; });
  }
  HD void length(int v, int n) const
  {
    count[v] = n;
    if (n >= wanted_slot) raise_flag(too_long);
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
  // lists of all items; where a block has no room for one, all have `bound` of memory
  const auto make_lists = [&](const auto &lists, int items, int range, size_t bound, int *more) {
    using Kernel = Distinct<std::decay_t<decltype(lists)>>;
    if (host) return for_each_marked(exec_, items, range, [&](int l, Marked &marks) { lists.run(l, marks); });
    const int blocks = (items + Kernel::group - 1) / Kernel::group;
    forall_blocks(exec_, blocks, Kernel::threads, Kernel::bytes, Kernel{lists, items, more, full.data()});
    if (more || !fetch(full, 0)) return;
    full.zero();
    list = make<int>(bound);
    forall_blocks(exec_, blocks, Kernel::threads, Kernel::bytes, Kernel{lists, items, list.data(), full.data()});
    list = Buffer<int>();
  };
  const int blocks = (cells + leaves_of_block - 1) / leaves_of_block;
  // leaves around each leaf
  fine.wide.pair  = make<unsigned short>((size_t)entries);
  fine.pairs = make<int>((size_t)cells + 1);
  make_lists(LeavesAround{fine.begin.data(), fine.i.data(), fine.j.data(), leaf.data(), fine.pairs.data(), fine.wide.pair.data(), too_long.data()}, cells, cells, (size_t)entries, nullptr);
  if (total(fetch(too_long, 0))) return Failure::too_long;
  const int pairs = scan(exec_, cells, fine.pairs);
  // which of their corners are coupled
  Buffer<unsigned char> bits    = make<unsigned char>((size_t)(fine.n + fine.ghosts));
  Buffer<Mask>          coupled = make<Mask>((size_t)pairs);
  pair_leaf                     = make<int>((size_t)pairs);
  for_each(exec_, fine.n + fine.ghosts, CornerBits<T>{fine.weight.data(), corners, bits.data()});
  const CoupledCorners couple{fine.begin.data(), fine.i.data(), fine.j.data(), leaf.data(), fine.pairs.data(), fine.wide.pair.data(), bits.data(), pair_leaf.data(), coupled.data(), cells};
  if (host) for_each(exec_, cells, couple);
  else forall_blocks(exec_, blocks, threads_of_block, 0, couple);
  // columns
  fine.wide.column  = make<unsigned short>((size_t)pairs * corners);
  fine.columns = make<int>((size_t)cells + 1);
  make_lists(ColumnsAround{fine.pairs.data(), pair_leaf.data(), fine.vertex.data(), coupled.data(), corners, fine.columns.data(), fine.wide.column.data(), too_long.data()}, cells, nodes, (size_t)pairs * corners, nullptr);
  const int columns = scan(exec_, cells, fine.columns);
  fine.parts        = (size_t)columns;
  vertices          = make<int>((size_t)columns);
  fine.wide.slot         = make<unsigned short>((size_t)columns * corners);
  const MarkEntries mark{fine.pairs.data(), pair_leaf.data(), fine.columns.data(), fine.vertex.data(), coupled.data(), fine.wide.column.data(), corners, fine.wide.slot.data(), vertices.data(), cells};
  if (host) for_each(exec_, cells * corners, mark);
  else forall_blocks(exec_, blocks, threads_of_block, 0, mark);
  coupled = Buffer<Mask>();
  // rows
  incidences(fine, nodes);
  count = make<int>((size_t)nodes + 1);
  for_each(exec_, nodes, BoundRow{fine.first.data(), fine.place.data(), fine.columns.data(), fine.wide.slot.data(), corners, count.data()});
  const int bound = scan(exec_, nodes, count);
  Buffer<int> rows = make<int>((size_t)bound);
  coarse.i         = make<int>((size_t)nodes + 1);
  Buffer<Longest> longest = make<Longest>(3);
  const auto      find_longest = [&](const Buffer<int> &begin, int lists, int at) { forall_join(exec_, list_box(lists), FindLongest{begin.data(), lists}, longest.data() + at); };
  find_longest(fine.columns, cells, 0);
  make_lists(FillRow{fine.first.data(), fine.place.data(), fine.columns.data(), vertices.data(), fine.wide.slot.data(), corners, count.data(), longest.data(), rows.data(), coarse.i.data(), too_long.data()}, nodes, nodes, 0, rows.data());
  const int nonzeros = scan(exec_, nodes, coarse.i);
  coarse.j           = make<int>((size_t)nonzeros);
  for_each(exec_, nodes, CopyRows{count.data(), coarse.i.data(), rows.data(), coarse.j.data()});
  if (fine.distributed) {
    if (lost()) return Failure::lost;
    if (const Failure::Kind kind = merge_pattern(fine, coarse)) return kind;
  }
  coarse.a = make<T>(coarse.j.size() * (size_t)(params_.bs * params_.bs));
  find_longest(fine.pairs, cells, 1);
  find_longest(coarse.i, nodes, 2);
  const Buffer<Longest> found = on_host(longest);
  fine.widest                 = found.data()[0].n;
  if (std::max({found.data()[0].n, found.data()[1].n, found.data()[2].n}) < no_slot<unsigned char>) {
    const auto shorten = [&](Buffer<unsigned short> &from, Buffer<unsigned char> &to) {
      to = make<unsigned char>(from.size());
      for_each(exec_, (int)((from.size() + ToBytes::at_once - 1) / ToBytes::at_once), ToBytes{from.data(), to.data(), (ptrdiff_t)from.size()});
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
