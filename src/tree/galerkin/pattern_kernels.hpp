// Kernels of a device that make the lists of product_pattern() (pattern.k.cxx, which says what they are): blocks with
// hash tables.
#pragma once
#include "tree/hierarchy.hpp"
#include "exec/each.hpp"
#include "exec/tile.hpp"

namespace tessera::tree {

constexpr unsigned short none = no_slot<unsigned short>, wanted_slot = none - 1; // more do not count
using Mask = unsigned long long;

// Byte r of the mask of two leaves: the corners of the second with which the corner r of the first is coupled.
HD inline Mask rows_of(unsigned char bits) // a byte of 1 for each corner
{
  constexpr Mask ones = 0x0101010101010101ULL;
  return (((bits * ones & 0x8040201008040201ULL) + 0x7f * ones) >> 7) & ones;
}
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

// On the device a warp makes the lists of `group` items in one hash table, of numbers v of list r.
constexpr int table_threads = 32, tables_of_block = 4, max_lists = 8;

#ifdef __CUDACC__
// A warp of a block as a block of its own
struct WarpBlock : DeviceBlock {
  HD void sync() const
  {
  #ifdef __CUDA_ARCH__
    __syncwarp();
  #endif
  }
};
#endif

// Lists that need so many blocks of a warp and so many bytes each: kernel(block), several warps in a block of the
// device.
template <class Kernel> struct Warps {
  Kernel kernel;
  int    n;
  size_t bytes;
  HD void operator()(HostBlock &block) const
  {
    for (int j = tables_of_block * block.tile.y0; j < n && j < tables_of_block * (block.tile.y0 + 1); ++j) {
      HostBlock mine{{0, 1, j, j + 1}, block.shared};
      kernel(mine);
    }
  }
#ifdef __CUDACC__
  HD void operator()(DeviceBlock &block) const
  {
    const int warp = block.thread / table_threads, j = tables_of_block * block.tile.y0 + warp;
    WarpBlock mine{
      {{0, 1, j, j + 1}, (double *)((char *)block.shared + bytes * warp), block.thread % table_threads, table_threads}
    };
    if (j < n) kernel(mine);
  }
#endif
};
template <class Kernel> void forall_warps(const Exec &exec, int n, size_t bytes, const Kernel &kernel)
{
  forall_blocks(exec, (n + tables_of_block - 1) / tables_of_block, tables_of_block * table_threads,
                tables_of_block * bytes, Warps<Kernel>{kernel, n, bytes});
}
struct Table {
  unsigned *key; // 0: empty
  int      *value, size;
  static constexpr int bits = 29; // of a number; product_pattern() refuses larger ones
  HD static unsigned key_of(int r, int v) { return ((unsigned)r << bits | (unsigned)v) + 1; }
  HD static int      list(unsigned k) { return (int)((k - 1) >> bits); }
  HD static int      number(unsigned k) { return (int)((k - 1) & ((1u << bits) - 1)); }
  HD int             first(unsigned k) const { return (int)((Key)(k * 2654435769u) * (Key)size >> 32); }
  // false: there is no room
  HD bool insert(unsigned k) const
  {
    for (int p = first(k), tries = 0; tries < size; ++tries, p = p + 1 < size ? p + 1 : 0) {
      const unsigned found = key[p] == 0 ? claim(key + p, k) : key[p];
      if (found == 0 || found == k) return true;
    }
    return false;
  }
  // of a number in the table
  HD int at(unsigned k) const
  {
    int p = first(k);
    while (key[p] != k) p = p + 1 < size ? p + 1 : 0;
    return p;
  }
};

// Memory of a block: the table, and what is said about its numbers.
struct TableRoom {
  Table     table;
  unsigned *list; // its numbers, list after list
  int      *bits; // of what is in a place of the table
  unsigned *mask; // two for each number of `list`
  // where the lists begin in it, and the end; the same of lists that are kept while the table has others
  int      *begin, *kept;
  int      *full, *cut, *place; // no room in the table; none for the lists; where these go
  static constexpr size_t list_bytes    = 2 * sizeof(unsigned) + sizeof(int),
                          each_bytes    = list_bytes + sizeof(int) + 2 * sizeof(unsigned),
                          counter_bytes = (2 * max_lists + 6) * sizeof(int);
  HD TableRoom(char *memory, int *counts, int size)
  {
    list  = (unsigned *)memory + size;
    table = {(unsigned *)memory, (int *)(list + size), size};
    bits  = table.value + size;
    mask  = (unsigned *)bits + size;
    begin = counts, kept = begin + max_lists + 1, full = kept + max_lists + 1, cut = full + 1, place = cut + 1;
  }
  template <class Block> HD void clear(Block &block) const
  {
    block.each(0, table.size, 0, 1, [&](int p, int) { table.key[p] = 0; });
    block.each(0, max_lists + 1, 0, 1, [&](int r, int) { begin[r] = 0; });
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
      for (int r = 0; r < max_lists; ++r) begin[r + 1] += begin[r];
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

// What blocks take in the order in which they get there: tables where their own memory is too small (0), and places
// of lists (1, 2). What does not fit is counted only, and the host gives more.
struct Taken {
  unsigned long long *used, room[3];
  char               *tables;
};

// Runs f(room), which says whether there was room, with a table of the block, and where that is too small with larger
// ones, at last for twice bound() numbers: this bound is far from what most lists have.
template <class Block, class Bound, class F>
HD void with_table(Block &block, int size, const Taken &taken, const Bound &bound, const F &f)
{
  int *const  counts = (int *)block.shared;
  char *const memory = (char *)block.shared + TableRoom::counter_bytes;
  if (f(TableRoom(memory, counts, size))) return;
  unsigned long long *const at = (unsigned long long *)memory; // the table there is given up
  const unsigned long long  largest = 2 * (unsigned long long)bound();
  for (unsigned long long room = 2 * (unsigned long long)size;; room *= 4) {
    room = room < largest ? room : largest;
    block.sync();
    block.each(0, 1, 0, 1, [&](int, int) { *at = take(taken.used, room); });
    block.sync();
    if (*at + room > taken.room[0] || f(TableRoom(taken.tables + *at * TableRoom::each_bytes, counts, (int)room)) ||
        room == largest)
      return;
  }
}

// What pattern_host.k.cxx does node by node. The lists of a block lie together, and those of blocks in the order of
// time, until they are gathered.
// A block makes the lists of `group` leaves: of leaves around and, of those, the corners that are coupled.
struct LeafLists {
  const int           *begin, *i, *j, *leaf, *vertex;
  const unsigned char *bits;
  // 2^shift corners; leaves that these are coupled with; nodes of the next grid; numbers of a block's table
  int                  shift, leaves, around, nodes, group, size;
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
    const int l0 = block.tile.y0 * group, l1 = l0 + group < leaves ? l0 + group : leaves, p0 = begin[l0],
              p1 = begin[l1];
    if (i[p0] == i[p1]) return; // lengths stay zero
    const auto bound = [&] {
      const long long entries = i[p1] - i[p0], all = (long long)group * around,
                      max_pairs = entries < all ? entries : all, next = (long long)group * nodes;
      return max_pairs << shift < next ? max_pairs << shift : next > max_pairs ? next : max_pairs;
    };
    with_table(block, size, taken, bound, [&](const TableRoom &room) { return run(block, room, l0, l1, p0, p1); });
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
    const int all = room.begin[max_lists];
    block.each(0, 2 * all, 0, 1, [&](int k, int) { room.mask[k] = 0; });
    block.each(0, max_lists + 1, 0, 1, [&](int r, int) { room.kept[r] = room.begin[r]; });
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
        const unsigned pair_key = room.list[k];
        const bool     tied     = corners_of(mask) >> c & 1;
        f(k, c, mask,
          tied ? Table::key_of(Table::list(pair_key), vertex[((ptrdiff_t)Table::number(pair_key) << shift) + c]) : 0u);
      });
    };
    each_corner([&](int, int, Mask, unsigned key) {
      if (key && !table.insert(key)) raise_flag(room.full);
    });
    if (!room.number(block)) return false;
    const int next = room.begin[max_lists];
    block.each(l0, l1, 0, 1, [&](int l, int) {
      pairs[l]   = room.kept[l - l0 + 1] - room.kept[l - l0];
      columns[l] = room.length(l - l0);
      if (pairs[l] >= wanted_slot || columns[l] >= wanted_slot - 8) raise_flag(too_long);
    });
    block.each(0, 1, 0, 1, [&](int, int) {
      const unsigned long long k   = take(taken.used + 1, (unsigned long long)all),
                               to  = take(taken.used + 2, (unsigned long long)next);
      *room.cut = k + all > taken.room[1] || to + next > taken.room[2];
      place[2 * block.tile.y0]     = room.place[0] = (int)k;
      place[2 * block.tile.y0 + 1] = room.place[1] = (int)to;
    });
    block.each(0, table.size, 0, 1, [&](int p, int) { room.bits[p] = 0; });
    block.sync();
    if (*room.cut) return true;
    unsigned short *const to_column = column + ((ptrdiff_t)room.place[0] << shift);
    each_corner([&](int k, int c, Mask mask, unsigned key) {
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
  int                  shift, n, nodes, group, size; // rows; nodes that are columns
  int                 *length, *j;
  unsigned short      *slot;
  int                 *place; // of each block's rows
  int                 *too_long;
  Taken                taken;
  static constexpr size_t bytes = TableRoom::list_bytes; // bits and masks are not used
  template <class Block> HD void operator()(Block &block) const
  {
    const int v0 = block.tile.y0 * group, v1 = v0 + group < n ? v0 + group : n;
    const auto bound = [&] {
      long long entries = 0;
      for (int p = first[v0]; p < first[v1]; ++p) entries += columns[(at[p] >> shift) + 1] - columns[at[p] >> shift];
      return entries < (long long)group * nodes ? entries : (long long)group * nodes;
    };
    with_table(block, size, taken, bound, [&](const TableRoom &room) { return run(block, room, v0, v1); });
  }
  template <class Block> HD bool run(Block &block, const TableRoom &room, int v0, int v1) const
  {
    const Table table = room.table;
    // of a row; 2^share of them
    const int  lanes = table_threads / group, log_lanes = lanes == 32 ? 5 : lanes == 16 ? 4 : lanes == 8 ? 3 : 2;
    const auto each_entry = [&](const auto &f) { // f(row of the block, is it there, vertex, place in slot)
      block.each(0, lanes * (v1 - v0), 0, 1, [&](int item, int) {
        const int r = item >> log_lanes, until = first[v0 + r + 1];
        for (int p = first[v0 + r]; p < until; ++p) {
          const int       l = at[p] >> shift, c = at[p] - (l << shift), from = columns[l], nc = columns[l + 1] - from;
          const ptrdiff_t to = ((ptrdiff_t)from << shift) + (ptrdiff_t)c * nc;
          for (int k = item & (lanes - 1); k < nc; k += lanes)
            f(r, rows[from + k] >> c & 1, vertices[from + k], to + k);
        }
      });
    };
    room.clear(block);
    each_entry([&](int r, int coupled, int v, ptrdiff_t) {
      if (coupled && !table.insert(Table::key_of(r, v))) raise_flag(room.full);
    });
    if (!room.number(block)) return false;
    const int all = room.begin[max_lists];
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
      const unsigned v = room.list[k];
      const int      r = Table::list(v), from = room.begin[r], until = room.begin[r + 1];
      int       rank = 0;
      for (int q = from; q < until; ++q) rank += room.list[q] < v;
      table.value[table.at(v)] = rank;
      j[*room.place + from + rank] = Table::number(v);
    });
    block.sync();
    each_entry([&](int r, int coupled, int v, ptrdiff_t to) {
      slot[to] = coupled ? (unsigned short)table.value[table.at(Table::key_of(r, v))] : none;
    });
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
    const int v0 = block.tile.y0 * group, v1 = v0 + group < n ? v0 + group : n, first = begin[v0],
              at = place[block.tile.y0];
    block.each(first, begin[v1], 0, 1, [&](int e, int) { to[e] = from[at + e - first]; });
  }
};

inline int blocks_of(int items, int group) { return (items + group - 1) / group; }

// Memory of the lists that blocks make, until they are gathered.
struct ListMemory {
  Buffer<unsigned char>  bits; // corner_bits()
  Buffer<char>           tables;
  Buffer<int>            place, list;
  Buffer<unsigned short> column;
  Buffer<unsigned char>  list_rows;
  // of all columns of the leaves, gathered: vertices, and corners that are coupled with them, as bits
  Buffer<int>            vertices;
  Buffer<unsigned char>  rows;
};

// Room for n items of kind k of Taken; grow(k, n) makes the memory.
template <class Lists, class Grow> void give_room(Lists &lists, int k, size_t n, const Grow &grow)
{
  grow(k, n);
  lists.taken.room[k] = n;
}

// Makes the lists, after grow(k, n) in as much memory as they need. Returns what of taken.used there is; [3]: is one
// too long?
template <class Lists, class Grow>
Buffer<unsigned long long> make_lists(const Exec &exec, int items, Lists &lists, const Grow &grow)
{
  Buffer<unsigned long long> used, on_host(4);
  used.resize(Extent{4, exec.space});
  lists.taken.used = used.data();
  lists.too_long   = (int *)(used.data() + 3);
  for (;;) {
    bool enough = true;
    forall_warps(exec, blocks_of(items, lists.group), TableRoom::counter_bytes + (size_t)lists.size * Lists::bytes,
                 lists);
    copy(used, on_host);
    for (int k = 0; k < 3; ++k)
      if (on_host.data()[k] > lists.taken.room[k]) {
        give_room(lists, k, (size_t)on_host.data()[k], grow);
        enough = false;
      }
    if (enough) return on_host;
    used.zero();
  }
}

} // namespace tessera::tree
