// The pattern of P'AP on the host: lists leaf by leaf, and row by row.
#include "tree/setup.hpp"
#include "tree/pattern_kernels.hpp"
#include "exec/each.hpp"
#include <algorithm>

namespace tessera::tree {

namespace {

// Lists of different numbers, on the host: each number remembers its place in the list of its last owner, so they
// stand in the order of their first use.
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
      for (int c = 0; c < corners; ++c)
        column[(ptrdiff_t)corners * p + c] =
          (unsigned short)(any >> c & 1 ? list(vertex[(ptrdiff_t)corners * pair_leaf[p] + c]) : 0);
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
} // namespace

template <class T>
Failure::Kind GalerkinSetup<T>::pattern_on_host(Level<T> &fine, const Buffer<int> &leaf, Level<T> &coarse, int around,
                                            int range, bool &long_rows)
{
  const int cells = fine.transfer.cells, corners = fine.transfer.corners, nodes = coarse.rows;
  const Buffer<unsigned char> bits = corner_bits(fine);
  Buffer<int> vertices; // of the columns
  Buffer<int> too_long(1);
  // leaves around each leaf
  for_each_marked(exec_, cells, around,
                  LeavesAround{fine.transfer.begin.data(), fine.i.data(), fine.j.data(), leaf.data(),
                               fine.product.pairs.data(), fine.product.wide.pair.data(), too_long.data()});
  if (total(too_long.data()[0])) return Failure::too_long;
  const int pairs = scan(exec_, cells, fine.product.pairs);
  // which of their corners are coupled
  Buffer<Mask> coupled = make<Mask>((size_t)pairs);
  Buffer<int>  pair_leaf = make<int>((size_t)pairs), count = make<int>((size_t)nodes + 1);
  for_each(exec_, cells,
           CoupledCorners{fine.transfer.begin.data(), fine.i.data(), fine.j.data(), leaf.data(),
                          fine.product.pairs.data(), fine.product.wide.pair.data(), bits.data(), pair_leaf.data(),
                          coupled.data()});
  // columns
  fine.product.wide.column = make<unsigned short>((size_t)pairs * corners);
  for_each_marked(exec_, cells, range,
                  ColumnsAround{fine.product.pairs.data(), pair_leaf.data(), fine.transfer.vertex.data(),
                                coupled.data(), corners, fine.product.columns.data(), fine.product.wide.column.data(),
                                too_long.data()});
  const int columns = scan(exec_, cells, fine.product.columns);
  fine.product.parts        = (size_t)columns;
  vertices          = make<int>((size_t)columns);
  fine.product.wide.slot    = make<unsigned short>((size_t)columns * corners);
  const MarkEntries mark{fine.product.pairs.data(),
                         pair_leaf.data(),
                         fine.product.columns.data(),
                         fine.transfer.vertex.data(),
                         coupled.data(),
                         fine.product.wide.column.data(),
                         corners,
                         fine.product.wide.slot.data(),
                         vertices.data()};
#pragma omp parallel for schedule(static) num_threads(exec_.threads) if (exec_.threads > 1)
  for (int l = 0; l < cells; ++l) mark(l);
  coupled = Buffer<Mask>();
  // rows
  incidences(fine, nodes);
  for_each(exec_, nodes,
           BoundRow{fine.transfer.first.data(), fine.transfer.place.data(), fine.product.columns.data(),
                    fine.product.wide.slot.data(), corners, count.data()});
  const int   bound = scan(exec_, nodes, count);
  Buffer<int> rows = make<int>((size_t)bound);
  for_each_marked(exec_, nodes, range,
                  FillRow{fine.transfer.first.data(), fine.transfer.place.data(), fine.product.columns.data(),
                          vertices.data(), fine.product.wide.slot.data(), corners, count.data(), rows.data(),
                          coarse.i.data(), too_long.data()});
  coarse.j = make<int>((size_t)scan(exec_, nodes, coarse.i));
  for_each(exec_, nodes, CopyRows{count.data(), coarse.i.data(), rows.data(), coarse.j.data()});
  long_rows = too_long.data()[0];
  return Failure::none;
}

#define INSTANTIATE(T) \
  template Failure::Kind GalerkinSetup<T>::pattern_on_host(Level<T> &, const Buffer<int> &, Level<T> &, int, int, \
                                                        bool &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
