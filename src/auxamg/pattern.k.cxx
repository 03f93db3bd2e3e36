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
using Mask = unsigned long long;

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

// On the device a block makes the lists of `group` items in one hash table, of numbers v of list r.
constexpr int table_threads = 128, most_lists = 8;
struct Table {
  Key *key; // 0: empty
  int *value, size;
  HD static Key key_of(int r, int v) { return (Key)(r + 1) << 32 | (unsigned)v; }
  HD static int list(Key k) { return (int)(k >> 32) - 1; }
  HD static int number(Key k) { return (int)(unsigned)k; }
  HD int        first(Key k) const { return (int)((Key)((unsigned)k * 2654435769u + (unsigned)(k >> 32) * 0x85ebca6bu) * (Key)size >> 32); }
  // false: there is no room
  HD bool insert(Key k) const
  {
    for (int p = first(k), tries = 0; tries < size; ++tries, p = p + 1 < size ? p + 1 : 0) {
      const Key there = key[p] == 0 ? claim(key + p, k) : key[p];
      if (there == 0 || there == k) return true;
    }
    return false;
  }
  // of a number in the table
  HD int at(Key k) const
  {
    int p = first(k);
    while (key[p] != k) p = p + 1 < size ? p + 1 : 0;
    return p;
  }
};

// Memory of a block: the table, and what is said about its numbers.
struct TableRoom {
  Table     table;
  Key      *list; // its numbers, list after list
  int      *bits; // of what is in a place of the table
  unsigned *mask; // two for each number of `list`
  int      *begin, *kept; // where the lists begin in it, and the end; the same of lists that are kept while the table has others
  int      *full, *cut, *place; // no room in the table; none for the lists; where these go
  static constexpr size_t list_bytes = 2 * sizeof(Key) + sizeof(int), each_bytes = list_bytes + sizeof(int) + 2 * sizeof(unsigned), fixed_bytes = (2 * most_lists + 6) * sizeof(int);
  HD TableRoom(char *memory, int *counts, int size)
  {
    list  = (Key *)memory + size;
    table = {(Key *)memory, (int *)(list + size), size};
    bits  = table.value + size;
    mask  = (unsigned *)bits + size;
    begin = counts, kept = begin + most_lists + 1, full = kept + most_lists + 1, cut = full + 1, place = cut + 1;
  }
  template <class Block> HD void clear(Block &block) const
  {
    block.each(0, table.size, 0, 1, [&](int p, int) { table.key[p] = 0; });
    block.each(0, most_lists + 1, 0, 1, [&](int r, int) { begin[r] = 0; });
    block.each(0, 1, 0, 1, [&](int, int) { *full = 0; });
    block.sync();
  }
  // After all insertions each number gets its place in its list. False: there was no room.
  template <class Block> HD bool number(Block &block) const
  {
    block.sync();
    block.each(0, table.size, 0, 1, [&](int p, int) {
      if (table.key[p]) table.value[p] = take(begin + 1 + Table::list(table.key[p]), 1);
    });
    block.sync();
    block.each(0, 1, 0, 1, [&](int, int) {
      for (int r = 0; r < most_lists; ++r) begin[r + 1] += begin[r];
    });
    block.sync();
    return !*full;
  }
  template <class Block> HD void make_list(Block &block) const
  {
    block.each(0, table.size, 0, 1, [&](int p, int) {
      if (table.key[p]) list[begin[Table::list(table.key[p])] + table.value[p]] = table.key[p];
    });
    block.sync();
  }
  HD int length(int r) const { return begin[r + 1] - begin[r]; }
};

// What blocks take in the order in which they get there: tables where their own memory is too small (0), and places of lists (1, 2). What
// does not fit is counted only, and the host gives more.
struct Taken {
  unsigned long long *used, room[3];
  char               *tables;
};

// Runs f(room), which says whether there was room, with a table of the block, and where that is too small with larger ones, at last for
// twice most() numbers: this bound is far from what most lists have.
template <class Block, class Most, class F> HD void with_table(Block &block, int size, const Taken &taken, const Most &most, const F &f)
{
  int *const  counts = (int *)block.shared;
  char *const memory = (char *)block.shared + TableRoom::fixed_bytes;
  if (f(TableRoom(memory, counts, size))) return;
  unsigned long long *const at = (unsigned long long *)memory; // the table there is given up
  const unsigned long long  largest = 2 * (unsigned long long)most();
  for (unsigned long long room = 2 * (unsigned long long)size;; room *= 4) {
    room = room < largest ? room : largest;
    block.sync();
    block.each(0, 1, 0, 1, [&](int, int) { *at = take(taken.used, room); });
    block.sync();
    if (*at + room > taken.room[0] || f(TableRoom(taken.tables + *at * TableRoom::each_bytes, counts, (int)room)) || room == largest) return;
  }
}

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
HD inline int corners_of(Mask m) // any row
{
  m |= m >> 32;
  m |= m >> 16;
  return (int)((m | m >> 8) & 0xff);
}

// Bit r: is corner r coupled with corner c of the other leaf?
HD inline unsigned rows_at(Mask m, int c)
{
  constexpr unsigned ones = 0x01010101u, gather = 0x10204080u; // bits 0, 8, 16, 24 go to 28 ... 31
  m >>= c;
  return (((unsigned)m & ones) * gather >> 28) | (((unsigned)(m >> 32) & ones) * gather >> 28) << 4;
}

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
  const int      *first, *at, *columns, *vertices; // at: corners
  unsigned short *slot;
  int             corners;
  const int      *bound;
  int            *row, *count, *too_long;
  void run(int v, Marked &list) const
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


// The same on the device. The lists of a block lie together, and those of blocks in the order of time, until they are gathered.
// A block makes the lists of `group` leaves: of leaves around and, of those, the corners that are coupled.
struct LeafLists {
  const int           *begin, *i, *j, *leaf, *vertex;
  const unsigned char *bits;
  int                  shift, leaves, nodes, group, size; // 2^shift corners; nodes of the next grid; numbers of a block's table
  int                 *pairs, *columns;                   // lengths of the lists
  unsigned short      *pair, *column;
  int                 *vertices;
  unsigned char       *rows;  // of the columns: the corners that are coupled with them, as bits
  int                 *place; // of each block's pairs and columns
  int                 *too_long;
  Taken                taken;
  static constexpr int    lanes = 4; // of a node
  static constexpr size_t bytes = TableRoom::each_bytes;
  template <class Block> HD void operator()(Block &block) const
  {
    const int l0 = block.tile.y0 * group, l1 = l0 + group < leaves ? l0 + group : leaves, p0 = begin[l0], p1 = begin[l1];
    if (i[p0] == i[p1]) return; // lengths stay zero
    const auto most = [&] {
      const long long entries = i[p1] - i[p0], all = (long long)group * leaves, around = entries < all ? entries : all, next = (long long)group * nodes;
      return around << shift < next ? around << shift : next > around ? next : around;
    };
    with_table(block, size, taken, most, [&](const TableRoom &room) { return run(block, room, l0, l1, p0, p1); });
  }
  template <class Block> HD bool run(Block &block, const TableRoom &room, int l0, int l1, int p0, int p1) const
  {
    const Table table = room.table;
    room.clear(block);
    block.each(0, lanes * (p1 - p0), 0, 1, [&](int item, int) {
      const int p = p0 + item / lanes, r = leaf[p] - l0;
      int       last = -1;
      for (int e = i[p] + item % lanes; e < i[p + 1]; e += lanes) {
        const int k = leaf[j[e]];
        if (k != last && !table.insert(Table::key_of(r, k))) raise_flag(room.full);
        last = k;
      }
    });
    if (!room.number(block)) return false;
    room.make_list(block);
    const int all = room.begin[most_lists];
    block.each(0, 2 * all, 0, 1, [&](int k, int) { room.mask[k] = 0; });
    block.each(0, most_lists + 1, 0, 1, [&](int r, int) { room.kept[r] = room.begin[r]; });
    block.sync();
    // which corners of which pair of leaves are coupled
    block.each(0, lanes * (p1 - p0), 0, 1, [&](int item, int) {
      const int  p = p0 + item / lanes, r = leaf[p] - l0;
      const Mask from = rows_of(bits[p]);
      for (int e = i[p] + item % lanes; e < i[p + 1]; e += lanes) {
        const int       q = j[e], k = table.value[table.at(Table::key_of(r, leaf[q]))];
        const Mask      mine = from * bits[q];
        unsigned *const to = room.mask + 2 * (room.kept[r] + k);
        set_bits(to, (unsigned)mine);
        if (shift > 2) set_bits(to + 1, (unsigned)(mine >> 32));
        pair[e] = (unsigned short)k;
      }
    });
    block.sync();
    // their corners take the table; the pairs are in `list`
    room.clear(block);
    const auto each_corner = [&](const auto &f) { // f(pair, corner, mask, its number in the table or 0: not coupled)
      block.each(0, all << shift, 0, 1, [&](int item, int) {
        const int  k = item >> shift, c = item - (k << shift);
        const Mask mask = (Mask)room.mask[2 * k + 1] << 32 | room.mask[2 * k];
        const Key  pair_key = room.list[k];
        const bool there = corners_of(mask) >> c & 1;
        f(k, c, mask, there ? Table::key_of(Table::list(pair_key), vertex[((ptrdiff_t)Table::number(pair_key) << shift) + c]) : 0);
      });
    };
    each_corner([&](int, int, Mask, Key key) {
      if (key && !table.insert(key)) raise_flag(room.full);
    });
    if (!room.number(block)) return false;
    const int next = room.begin[most_lists];
    block.each(l0, l1, 0, 1, [&](int l, int) {
      pairs[l]   = room.kept[l - l0 + 1] - room.kept[l - l0];
      columns[l] = room.length(l - l0);
      if (pairs[l] >= wanted_slot || columns[l] >= wanted_slot - 8) raise_flag(too_long);
    });
    block.each(0, 1, 0, 1, [&](int, int) {
      const unsigned long long k = take(taken.used + 1, (unsigned long long)all), to = take(taken.used + 2, (unsigned long long)next);
      *room.cut = k + all > taken.room[1] || to + next > taken.room[2];
      place[2 * block.tile.y0]     = room.place[0] = (int)k;
      place[2 * block.tile.y0 + 1] = room.place[1] = (int)to;
    });
    block.each(0, table.size, 0, 1, [&](int p, int) { room.bits[p] = 0; });
    block.sync();
    if (*room.cut) return true;
    unsigned short *const to_column = column + ((ptrdiff_t)room.place[0] << shift);
    each_corner([&](int k, int c, Mask mask, Key key) {
      const int at = key ? table.at(key) : 0;
      to_column[(k << shift) + c] = (unsigned short)(key ? table.value[at] : 0);
      if (key) set_bits((unsigned *)room.bits + at, rows_at(mask, c));
    });
    block.sync();
    block.each(0, table.size, 0, 1, [&](int p, int) {
      if (!table.key[p]) return;
      const int to = room.place[1] + room.begin[Table::list(table.key[p])] + table.value[p];
      vertices[to] = Table::number(table.key[p]);
      rows[to]     = (unsigned char)room.bits[p];
    });
    return true;
  }
};

// Where lists lie leaf after leaf, from where they lie block after block
struct GatherLeaves {
  const int            *pairs, *columns, *place; // begin of each leaf's
  int                   shift, leaves, group;
  const unsigned short *column;
  const int            *vertices;
  const unsigned char  *rows;
  unsigned short       *to_column;
  int                  *to_vertices;
  unsigned char        *to_rows;
  template <class Block> HD void operator()(Block &block) const
  {
    const int       l0 = block.tile.y0 * group, l1 = l0 + group < leaves ? l0 + group : leaves;
    const ptrdiff_t from = (ptrdiff_t)place[2 * block.tile.y0] << shift, to = (ptrdiff_t)pairs[l0] << shift;
    const int       next = place[2 * block.tile.y0 + 1], column0 = columns[l0];
    block.each(0, (pairs[l1] - pairs[l0]) << shift, 0, 1, [&](int k, int) { to_column[to + k] = column[from + k]; });
    block.each(0, columns[l1] - column0, 0, 1, [&](int k, int) {
      to_vertices[column0 + k] = vertices[next + k];
      to_rows[column0 + k]     = rows[next + k];
    });
  }
};

// The rows of the coarse operator, with ascending columns, and the places in it of the entries of the leaves' products.
struct RowLists {
  const int           *first, *at, *columns, *vertices; // at: corners
  const unsigned char *rows;                            // of LeafLists
  int                  shift, n, group, size;
  int                 *length, *j;
  unsigned short      *slot;
  int                 *place; // of each block's rows
  int                 *too_long;
  Taken                taken;
  static constexpr size_t bytes = TableRoom::list_bytes; // bits and masks are not used
  template <class Block> HD void operator()(Block &block) const
  {
    const int v0 = block.tile.y0 * group, v1 = v0 + group < n ? v0 + group : n;
    const auto most = [&] {
      long long entries = 0;
      for (int p = first[v0]; p < first[v1]; ++p) entries += columns[(at[p] >> shift) + 1] - columns[at[p] >> shift];
      return entries < (long long)group * n ? entries : (long long)group * n;
    };
    with_table(block, size, taken, most, [&](const TableRoom &room) { return run(block, room, v0, v1); });
  }
  template <class Block> HD bool run(Block &block, const TableRoom &room, int v0, int v1) const
  {
    const Table table = room.table;
    const int   lanes = table_threads / group, share = group == 4 ? 5 : 4; // of a row; 2^share of them
    const auto  each_entry = [&](const auto &f) { // f(row of the block, is it there, vertex, place in slot)
      block.each(0, lanes * (v1 - v0), 0, 1, [&](int item, int) {
        const int r = item >> share, until = first[v0 + r + 1];
        for (int p = first[v0 + r]; p < until; ++p) {
          const int       l = at[p] >> shift, c = at[p] - (l << shift), from = columns[l], nc = columns[l + 1] - from;
          const ptrdiff_t to = ((ptrdiff_t)from << shift) + (ptrdiff_t)c * nc;
          for (int k = item & (lanes - 1); k < nc; k += lanes) f(r, rows[from + k] >> c & 1, vertices[from + k], to + k);
        }
      });
    };
    room.clear(block);
    each_entry([&](int r, int there, int v, ptrdiff_t) {
      if (there && !table.insert(Table::key_of(r, v))) raise_flag(room.full);
    });
    if (!room.number(block)) return false;
    const int all = room.begin[most_lists];
    block.each(v0, v1, 0, 1, [&](int v, int) {
      length[v] = room.length(v - v0);
      if (length[v] >= wanted_slot) raise_flag(too_long);
    });
    block.each(0, 1, 0, 1, [&](int, int) {
      const unsigned long long to = take(taken.used + 1, (unsigned long long)all);
      *room.cut = to + all > taken.room[1];
      place[block.tile.y0] = *room.place = (int)to;
    });
    room.make_list(block);
    if (*room.cut) return true;
    block.each(0, all, 0, 1, [&](int k, int) {
      const Key v = room.list[k];
      const int r = Table::list(v), from = room.begin[r], until = room.begin[r + 1];
      int       rank = 0;
      for (int q = from; q < until; ++q) rank += room.list[q] < v;
      table.value[table.at(v)] = rank;
      j[*room.place + from + rank] = Table::number(v);
    });
    block.sync();
    each_entry([&](int r, int there, int v, ptrdiff_t to) { slot[to] = there ? (unsigned short)table.value[table.at(Table::key_of(r, v))] : none; });
    return true;
  }
};

// As GatherLeaves
struct GatherRows {
  const int *begin, *place, *from;
  int        n, group;
  int       *to;
  template <class Block> HD void operator()(Block &block) const
  {
    const int v0 = block.tile.y0 * group, v1 = v0 + group < n ? v0 + group : n, first = begin[v0], at = place[block.tile.y0];
    block.each(first, begin[v1], 0, 1, [&](int e, int) { to[e] = from[at + e - first]; });
  }
};

int blocks_of(int items, int group) { return (items + group - 1) / group; }

// Makes the lists, after grow(k, n) in as much memory as they need. Returns what of taken.used there is; [3]: is one too long?
template <class Lists, class Grow> Buffer<unsigned long long> make_lists(const Exec &exec, int items, Lists &lists, const Grow &grow)
{
  Buffer<unsigned long long> used, on_host(4);
  used.resize(Extent{4, exec.space});
  lists.taken.used = used.data();
  lists.too_long   = (int *)(used.data() + 3);
  for (bool enough = false; !enough; used.zero()) {
    forall_blocks(exec, blocks_of(items, lists.group), table_threads, TableRoom::fixed_bytes + (size_t)lists.size * Lists::bytes, lists);
    copy(used, on_host);
    enough = true;
    for (int k = 0; k < 3; ++k)
      if (on_host.data()[k] > lists.taken.room[k]) {
        grow(k, (size_t)on_host.data()[k]);
        lists.taken.room[k] = on_host.data()[k];
        enough              = false;
      }
  }
  return on_host;
}

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
  Buffer<Key> key = make_unset<Key>((size_t)n);
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
  Buffer<int> vertices;
  bool        long_rows;
  Buffer<unsigned char> bits = make_unset<unsigned char>((size_t)(fine.n + fine.ghosts));
  for_each(exec_, fine.n + fine.ghosts, CornerBits<T>{fine.weight.data(), corners, bits.data()});
  fine.wide.pair = make_unset<unsigned short>((size_t)entries);
  fine.pairs     = make<int>((size_t)cells + 1);
  fine.columns   = make<int>((size_t)cells + 1);
  coarse.i       = make<int>((size_t)nodes + 1);
  if (exec_.space == Space::cuda) {
    const int      deep = corners > 4, group = deep ? 4 : most_lists, size = deep ? 1024 : 512;
    int            shift = 0;
    Buffer<char>   tables;
    Buffer<int>    place = make_unset<int>(2 * (size_t)blocks_of(std::max(cells, nodes), group)), list;
    Buffer<unsigned short> column;
    Buffer<unsigned char>  rows, list_rows;
    while (1 << shift < corners) ++shift;
    LeafLists  leaves{fine.begin.data(), fine.i.data(), fine.j.data(), leaf.data(), fine.vertex.data(), bits.data(), shift, cells, nodes, group, size, fine.pairs.data(), fine.columns.data(), fine.wide.pair.data(), nullptr, nullptr, nullptr, place.data(), nullptr, {}};
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
    forall_blocks(exec_, blocks_of(cells, group), table_threads, 0, GatherLeaves{fine.pairs.data(), fine.columns.data(), place.data(), shift, cells, group, column.data(), list.data(), list_rows.data(), fine.wide.column.data(), vertices.data(), rows.data()});
    incidences(fine, nodes);
    RowLists   all{fine.first.data(), fine.place.data(), fine.columns.data(), vertices.data(), rows.data(), shift, nodes, group, size, coarse.i.data(), nullptr, fine.wide.slot.data(), place.data(), nullptr, {}};
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
    forall_blocks(exec_, blocks_of(nodes, group), table_threads, 0, GatherRows{coarse.i.data(), place.data(), list.data(), nodes, group, coarse.j.data()});
  } else {
    Buffer<int> too_long(1);
    // leaves around each leaf
    for_each_marked(exec_, cells, cells, LeavesAround{fine.begin.data(), fine.i.data(), fine.j.data(), leaf.data(), fine.pairs.data(), fine.wide.pair.data(), too_long.data()});
    if (total(too_long.data()[0])) return Failure::too_long;
    const int pairs = scan(exec_, cells, fine.pairs);
    // which of their corners are coupled
    Buffer<Mask> coupled = make<Mask>((size_t)pairs);
    Buffer<int>  pair_leaf = make<int>((size_t)pairs), count = make<int>((size_t)nodes + 1);
    for_each(exec_, cells, CoupledCorners{fine.begin.data(), fine.i.data(), fine.j.data(), leaf.data(), fine.pairs.data(), fine.wide.pair.data(), bits.data(), pair_leaf.data(), coupled.data()});
    // columns
    fine.wide.column = make<unsigned short>((size_t)pairs * corners);
    for_each_marked(exec_, cells, nodes, ColumnsAround{fine.pairs.data(), pair_leaf.data(), fine.vertex.data(), coupled.data(), corners, fine.columns.data(), fine.wide.column.data(), too_long.data()});
    const int columns = scan(exec_, cells, fine.columns);
    fine.parts        = (size_t)columns;
    vertices          = make<int>((size_t)columns);
    fine.wide.slot    = make<unsigned short>((size_t)columns * corners);
    for_each(exec_, cells * corners, MarkEntries{fine.pairs.data(), pair_leaf.data(), fine.columns.data(), fine.vertex.data(), coupled.data(), fine.wide.column.data(), corners, fine.wide.slot.data(), vertices.data()});
    coupled = Buffer<Mask>();
    // rows
    incidences(fine, nodes);
    for_each(exec_, nodes, BoundRow{fine.first.data(), fine.place.data(), fine.columns.data(), fine.wide.slot.data(), corners, count.data()});
    const int   bound = scan(exec_, nodes, count);
    Buffer<int> rows = make<int>((size_t)bound);
    for_each_marked(exec_, nodes, nodes, FillRow{fine.first.data(), fine.place.data(), fine.columns.data(), vertices.data(), fine.wide.slot.data(), corners, count.data(), rows.data(), coarse.i.data(), too_long.data()});
    coarse.j = make<int>((size_t)scan(exec_, nodes, coarse.i));
    for_each(exec_, nodes, CopyRows{count.data(), coarse.i.data(), rows.data(), coarse.j.data()});
    long_rows = too_long.data()[0];
  }
  if (fine.distributed) {
    if (lost()) return Failure::lost;
    if (const Failure::Kind kind = merge_pattern(fine, coarse)) return kind;
  }
  coarse.a = make_unset<T>(coarse.j.size() * (size_t)(params_.bs * params_.bs));
  Buffer<Longest> longest = make<Longest>(3);
  const auto      find_longest = [&](const Buffer<int> &begin, int lists, int at) { forall_join(exec_, list_box(lists), FindLongest{begin.data(), lists}, longest.data() + at); };
  find_longest(fine.columns, cells, 0);
  find_longest(fine.pairs, cells, 1);
  find_longest(coarse.i, nodes, 2);
  const Buffer<Longest> found = on_host(longest);
  fine.widest                 = found.data()[0].n;
  if (std::max({found.data()[0].n, found.data()[1].n, found.data()[2].n}) < no_slot<unsigned char>) {
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
