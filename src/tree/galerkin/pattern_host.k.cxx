// The pattern of P'AP on the host: lists leaf by leaf, and row by row.
#include "tree/setup.hpp"
#include "tree/galerkin/pattern_kernels.hpp"
#include "exec/each.hpp"
#include <algorithm>

namespace tessera::tree {

namespace {

// Lists of different numbers, on the host, in the order of their first use: each number remembers where it stands among
// those of all lists so far, so it is in this one from the list's begin on. Without branches, which nobody could
// predict.
struct Marked {
  int *place;
  int  begin, n = 0;
  int  operator()(int v, bool wanted = true)
  {
    const int listed = place[v] - begin, is_new = listed < 0, at = listed ^ ((listed ^ n) & -is_new);
    place[v] = begin + (wanted ? at : listed);
    n += is_new & wanted;
    return at;
  }
};

// lists.run(item, list) for all items, with lists of numbers below `range`
template <class Lists> void for_each_marked(const Exec &exec, int items, int range, const Lists &lists)
{
#pragma omp parallel num_threads(exec.threads) if (exec.threads > 1)
  {
    std::vector<int> place((size_t)range, -1);
    int              begin = 0;
#pragma omp for schedule(static)
    for (int item = 0; item < items; ++item) {
      Marked list{place.data(), begin};
      lists.run(item, list);
      begin += list.n;
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
    for (int e = i[first[l]]; e < i[first[l + 1]] && list.n < wanted_slot; ++e)
      pair[e] = (unsigned short)list(leaf[j[e]]);
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
      for (int c = 0; c < corners; ++c) {
        const bool wanted = any >> c & 1; // else there may be no vertex
        const int  at = list(wanted ? vertex[(ptrdiff_t)corners * pair_leaf[p] + c] : 0, wanted);
        // the other corners add zeros to columns, each to another one, as sums in one column wait for each other
        column[(ptrdiff_t)corners * p + c] = (unsigned short)(wanted ? at : c < list.n ? c : 0);
      }
    }
    count[l] = list.n;
    if (list.n >= wanted_slot - 8) raise_flag(too_long);
  }
};

// The vertex of each column of E, and the rows that have an entry there, as bits.
struct MarkEntries {
  const int            *pairs, *pair_leaf, *columns, *vertex;
  const Mask           *coupled;
  const unsigned short *column;
  int                   corners;
  unsigned char        *rows;
  int                  *vertices;
  void                  operator()(int l) const
  {
    if (columns[l] == columns[l + 1]) return; // what follows are those of the next leaf
    for (int p = pairs[l]; p < pairs[l + 1]; ++p)
      for (int c = 0; c < corners; ++c) {
        const unsigned at = rows_at(coupled[p], c);
        const int      to = columns[l] + column[(ptrdiff_t)corners * p + c];
        rows[to] |= (unsigned char)at;
        vertices[to] = at ? vertex[(ptrdiff_t)corners * pair_leaf[p] + c] : vertices[to];
      }
  }
};

// The rows of the coarse operator: the columns of all leaves around the vertex that have an entry in its row.
struct BoundRow {
  const int *first, *place, *columns;
  int        corners;
  int       *count;
  HD void    operator()(int v) const
  {
    int n = 0;
    for (int p = first[v]; p < first[v + 1]; ++p) {
      const int l = place[p] / corners;
      n += columns[l + 1] - columns[l];
    }
    count[v] = n + 2; // the diagonal first, and a place for what is not wanted
  }
};
struct FillRow {
  const int           *first, *at, *columns, *vertices; // at: corners
  const unsigned char *rows;
  unsigned short      *slot;
  int                  corners;
  const int           *bound;
  int                 *row, *count, *too_long;
  void run(int v, Marked &list) const
  {
    int *const mine = row + bound[v];
    bool       any  = false;
    mine[list(v)]   = v; // the diagonal first: it need not be searched for
    for (int p = first[v]; p < first[v + 1]; ++p) {
      const int             l = at[p] / corners, c = at[p] % corners, nc = columns[l + 1] - columns[l];
      unsigned short *const to = slot + (ptrdiff_t)corners * columns[l] + c * nc;
      for (int k = 0; k < nc; ++k) {
        const bool wanted = rows[columns[l] + k] >> c & 1;
        const int  other = vertices[columns[l] + k], here = list(other, wanted);
        mine[here] = other;
        to[k]      = wanted ? (unsigned short)here : 0; // where the product adds zero: a branch would not be foreseen
        any        = any || wanted;
      }
    }
    count[v] = any ? list.n : 0;
    for (int p = first[v]; p < first[v + 1] && !any; ++p) {
      const int l = at[p] / corners, c = at[p] % corners, nc = columns[l + 1] - columns[l];
      std::fill_n(slot + (ptrdiff_t)corners * columns[l] + c * nc, nc, none);
    }
    if (list.n >= wanted_slot) raise_flag(too_long);
  }
};
} // namespace

template <class T>
Failure::Kind GalerkinSetup<T>::pattern_on_host(Level<T> &fine, const Buffer<int> &leaf, Level<T> &coarse, int around,
                                            int range, bool &long_rows)
{
  const int cells = fine.transfer.cells, corners = fine.transfer.corners, nodes = coarse.rows;
  const Buffer<unsigned char> bits = fine.corner_bits();
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
  fine.product.wide.column = make_unset<unsigned short>((size_t)pairs * corners);
  for_each_marked(exec_, cells, range,
                  ColumnsAround{fine.product.pairs.data(), pair_leaf.data(), fine.transfer.vertex.data(),
                                coupled.data(), corners, fine.product.columns.data(), fine.product.wide.column.data(),
                                too_long.data()});
  const int columns = scan(exec_, cells, fine.product.columns);
  fine.product.parts = (size_t)columns;
  Buffer<unsigned char> entry_rows = make<unsigned char>((size_t)columns);
  Buffer<int>           vertices = make<int>((size_t)columns);
  const MarkEntries     mark{fine.product.pairs.data(),
                         pair_leaf.data(),
                         fine.product.columns.data(),
                         fine.transfer.vertex.data(),
                         coupled.data(),
                         fine.product.wide.column.data(),
                         corners,
                         entry_rows.data(),
                         vertices.data()};
#pragma omp parallel for schedule(static) num_threads(exec_.threads) if (exec_.threads > 1)
  for (int l = 0; l < cells; ++l) mark(l);
  coupled = Buffer<Mask>();
  // rows
  Buffer<unsigned short> &slot = fine.product.wide.slot;
  slot = make_unset<unsigned short>((size_t)columns * corners);
  std::fill(slot.data(), slot.data() + slot.size(), none);
  incidences(fine, nodes);
  for_each(exec_, nodes,
           BoundRow{fine.transfer.first.data(), fine.transfer.place.data(), fine.product.columns.data(), corners,
                    count.data()});
  const int   bound = scan(exec_, nodes, count);
  Buffer<int> rows = make_unset<int>((size_t)bound);
  for_each_marked(exec_, nodes, range,
                  FillRow{fine.transfer.first.data(), fine.transfer.place.data(), fine.product.columns.data(),
                          vertices.data(), entry_rows.data(), slot.data(), corners, count.data(), rows.data(),
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
