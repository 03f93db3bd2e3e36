// Coarse grids that the processes divide. A process has the leaves of its nodes and of ghosts, and their vertices. A
// vertex belongs to the one that has the most nodes in the leaves around it, the first of those with as many; its row
// is added up from what processes have for it. Those numbered here are its own vertices, then those of others for which
// it has something (`rows` in all), then others that its rows have as columns; each in the order of the keys, of
// others process by process.
//
// Most rows of a process are its alone: they stay where they are, and only those of which several processes have parts
// go through the host.
#include "tree/setup.hpp"
#include "tree/cells/pairs.hpp"
#include "exec/messages.hpp"
#include <algorithm>
#include <map>
#include <numeric>

namespace tessera::tree {

namespace {

// How much a process bids for vertices: its nodes in the leaves around each.
struct Bid {
  const int *begin, *vertex;
  int        corners, *bid;
  HD void    operator()(int l) const
  {
    for (int c = 0; c < corners; ++c)
      if (const int v = vertex[(ptrdiff_t)corners * l + c]; v >= 0) add_to(bid + v, begin[l + 1] - begin[l]);
  }
};
// Vertices that others own: at which own nodes have weights, or those of own leaves and of ghosts alone.
enum : int { absent, present, needed };
struct MarkOthers {
  const int           *begin, *vertex, *owner;
  const unsigned char *bits; // of own nodes
  int                  corners, own, rank, *state;
  HD void              operator()(int l) const
  {
    unsigned weights = 0;
    for (int p = l < own ? begin[l] : 0; l < own && p < begin[l + 1]; ++p) weights |= bits[p];
    for (int c = 0; c < corners; ++c)
      if (const int v = vertex[(ptrdiff_t)corners * l + c]; v >= 0 && owner[v] != rank)
        raise_to(state + v, weights >> c & 1 ? needed : present);
  }
};
struct NumberCorners {
  const int *here;
  int       *corner;
  HD void    operator()(int k) const { corner[k] = corner[k] < 0 ? -1 : here[corner[k]]; }
};
struct LeaveOutCorners {
  int     rows, *corner;
  HD void operator()(int k) const { corner[k] = corner[k] < rows ? corner[k] : -1; }
};

// Vertices by three numbers: among all, of the owner, and there. list: nullptr: they are in order from `first` on.
struct Describe {
  const int *list, *vertex, *number, *owner, *index;
  int        first, *to;
  HD void    operator()(int k) const
  {
    const int v = vertex[list ? list[k] : first + k];
    to[3 * k]     = number[v];
    to[3 * k + 1] = owner[v];
    to[3 * k + 2] = index[v];
  }
};
// The numbers here of vertices by those among all; -1: they are not here.
struct FindHere {
  const int *number, *here;
  int        n;
  const int *asked;
  int       *to;
  HD void    operator()(int k) const
  {
    const int p = lower_bound(number, 0, n, asked[k]);
    to[k] = p < n && number[p] == asked[k] ? here[p] : -1;
  }
};

// row: a list of rows; nullptr: all
struct LengthsOfRows {
  const int *row, *i;
  int       *length;
  HD void    operator()(int r) const
  {
    const int v = row ? row[r] : r;
    length[r]   = i[v + 1] - i[v];
  }
};
// The columns of rows in a list, one after the other.
struct ColumnsOfRows {
  const int *row, *i, *j, *begin;
  int       *to;
  HD void    operator()(int r) const
  {
    for (int e = i[row[r]]; e < i[row[r] + 1]; ++e) to[begin[r] + e - i[row[r]]] = j[e];
  }
};
// The other way, to where the rows begin.
struct PutRows {
  const int *row, *i, *begin, *from;
  int       *j;
  HD void    operator()(int r) const
  {
    for (int e = begin[r]; e < begin[r + 1]; ++e) j[i[row[r]] + e - begin[r]] = from[e];
  }
};
struct MarkColumns { // that are in no row here
  const int *j;
  int        rows, *used;
  HD void    operator()(int e) const
  {
    if (j[e] >= rows) used[j[e] - rows] = 1;
  }
};
struct MoveRows {
  const int *i, *j, *begin, *renumbered;
  int        rows, *to;
  HD void    operator()(int v) const
  {
    if (begin[v + 1] - begin[v] < i[v + 1] - i[v]) return; // of a device that has failed
    for (int e = i[v]; e < i[v + 1]; ++e) to[begin[v] + e - i[v]] = j[e] < rows ? j[e] : renumbered[j[e] - rows];
  }
};
struct StartOfRow {
  const int *vertex, *number;
  Key       *start;
  HD void    operator()(int v) const { start[v] = (Key)number[vertex[v]]; }
};

// A vertex of another process.
struct Foreign {
  int  owner, number, index, here; // number: among all
  bool operator<(const Foreign &o) const { return owner != o.owner ? owner < o.owner : number < o.number; }
};

// The vertices in the list, or all from a number on, by three numbers each (Describe).
std::vector<int> describe(const Exec &exec, const Division &d, const int *list, int first, int count)
{
  Buffer<int> to = make_unset<int>(exec, 3 * (size_t)count);
  for_each(exec, count,
           Describe{list, d.vertex.data(), d.number.data(), d.owner.data(), d.index.data(), first, to.data()});
  return listed(to);
}

// Rows of others, for which this process has parts, on the way to their owners; heads and columns are vertices by three
// numbers; of each row the number there and how many columns it has. The counts are of each process; entry_owner is of
// each column.
struct RowsToSend {
  std::vector<int> heads, columns, row, row_counts, entry_counts, entry_owner;
};
template <class T> RowsToSend rows_of_others(const Level<T> &coarse, const Division &d, MPI_Comm comm)
{
  const size_t           own = (size_t)coarse.n, others = (size_t)coarse.rows - own;
  const std::vector<int> begin = listed(coarse.i, own, others + 1);
  RowsToSend             to;
  int                    size;
  MPI_Comm_size(comm, &size);
  to.heads   = describe(coarse.exec, d, nullptr, coarse.n, (int)others);
  to.columns = describe(coarse.exec, d, coarse.j.data() + begin.front(), 0, begin.back() - begin.front());
  to.row_counts.resize((size_t)size);
  to.entry_counts.resize((size_t)size);
  for (size_t r = 0; r < others; ++r) {
    const int owner = to.heads[3 * r + 1];
    const int length = begin[r + 1] - begin[r];
    to.row.insert(to.row.end(), {to.heads[3 * r + 2], length});
    ++to.row_counts[(size_t)owner];
    to.entry_counts[(size_t)owner] += length;
    to.entry_owner.insert(to.entry_owner.end(), (size_t)length, owner);
  }
  return to;
}

// What others have of own rows: part p is of row[p] and has the columns begin[p]..begin[p+1]; column[e] is a number
// here. others: vertices of which no row is here; the last ones were not here at all.
struct PartsOfRows {
  std::vector<int>     row, begin, column;
  std::vector<Foreign> others;
};
template <class T>
PartsOfRows receive_rows(const Messages &of_rows, const Messages &of_entries, const RowsToSend &sent,
                         const Level<T> &coarse, const Division &d)
{
  PartsOfRows            got;
  const int              rows = coarse.rows;
  std::vector<int>       asked;
  const std::vector<int> of_row = of_rows.send(sent.row, 2), columns = of_entries.send(sent.columns, 3),
                         beyond = describe(coarse.exec, d, nullptr, rows, (int)d.vertex.size() - rows);
  got.begin.push_back(0);
  for (size_t k = 0; k < of_row.size(); k += 2) {
    got.row.push_back(of_row[k]);
    got.begin.push_back(got.begin.back() + of_row[k + 1]);
  }
  for (size_t e = 0; e < columns.size(); e += 3) asked.push_back(columns[e]);
  const Buffer<int> number = copy_to(coarse.exec.space, asked);
  Buffer<int>       found = make_unset<int>(coarse.exec, asked.size());
  for_each(coarse.exec, (int)asked.size(),
           FindHere{d.number.data(), d.here.data(), (int)d.number.size(), number.data(), found.data()});
  got.column = listed(found);
  for (size_t k = 0; k < beyond.size(); k += 3)
    got.others.push_back({beyond[k + 1], beyond[k], beyond[k + 2], rows + (int)k / 3});
  std::map<int, int> more;
  for (size_t e = 0; e < asked.size(); ++e)
    if (got.column[e] < 0) {
      const auto at = more.emplace(asked[e], rows + (int)got.others.size());
      if (at.second) got.others.push_back({columns[3 * e + 1], asked[e], columns[3 * e + 2], at.first->second});
      got.column[e] = at.first->second;
    }
  return got;
}

// Rows of which there are parts, in order, with the union of their columns: those here and, behind them, others'.
struct MergedRows {
  std::vector<int> row, begin, column; // begin: of the columns of each row, and the end
  std::vector<int> here, map;          // where the entries here go in it; here: the first of each row, and the end
  std::vector<int> part_row, place;    // of each received entry: which of the rows, and the place in it
  int              longest = 0;
};
template <class T> MergedRows merge_rows(const Level<T> &coarse, const PartsOfRows &got)
{
  const Exec &exec = coarse.exec;
  MergedRows  to;
  to.row = got.row;
  std::sort(to.row.begin(), to.row.end());
  to.row.erase(std::unique(to.row.begin(), to.row.end()), to.row.end());
  const Buffer<int> row = copy_to(exec.space, to.row);
  Buffer<int>       length = make_unset<int>(exec, to.row.size());
  for_each(exec, (int)row.size(), LengthsOfRows{row.data(), coarse.i.data(), length.data()});
  to.here.resize(1);
  for (int n : listed(length)) to.here.push_back(to.here.back() + n);
  const Buffer<int> begin = copy_to(exec.space, to.here);
  Buffer<int>       columns = make_unset<int>(exec, (size_t)to.here.back());
  for_each(exec, (int)row.size(),
           ColumnsOfRows{row.data(), coarse.i.data(), coarse.j.data(), begin.data(), columns.data()});
  const std::vector<int> here = listed(columns);
  std::vector<int>       marker((size_t)coarse.rows + got.others.size(), -1), order(got.row.size());
  to.part_row.resize(got.column.size());
  to.place.resize(got.column.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return got.row[(size_t)a] < got.row[(size_t)b]; });
  size_t next = 0;
  for (size_t r = 0; r < to.row.size(); ++r) {
    const int first = (int)to.column.size();
    to.begin.push_back(first);
    const auto take = [&](int column) {
      int &at = marker[(size_t)column];
      if (at < first) {
        at = (int)to.column.size();
        to.column.push_back(column);
      }
      return at - first;
    };
    for (int e = to.here[r]; e < to.here[r + 1]; ++e) to.map.push_back(take(here[(size_t)e]));
    for (; next < order.size() && got.row[(size_t)order[next]] == to.row[r]; ++next)
      for (size_t p = (size_t)order[next], e = (size_t)got.begin[p]; e < (size_t)got.begin[p + 1]; ++e) {
        to.part_row[e] = (int)r;
        to.place[e]    = take(got.column[e]);
      }
    to.longest = std::max(to.longest, (int)to.column.size() - first);
  }
  to.begin.push_back((int)to.column.size());
  return to;
}

// The final numbers of vertices of others of which no row is here, as far as they are columns; -1: they are none.
// got.others has them by numbers from coarse.rows on; the first ones, up to `known`, were here. Columns of merged rows
// become final numbers, and owner and index get the vertices.
template <class T>
std::vector<int> number_others(const Level<T> &coarse, const PartsOfRows &got, MergedRows &merged, int known,
                               std::vector<int> &owner, std::vector<int> &index)
{
  const int   rows = coarse.rows;
  Buffer<int> used(Extent{(size_t)(known - rows), coarse.exec.space});
  for_each(coarse.exec, fetch(coarse.i, (size_t)coarse.n), MarkColumns{coarse.j.data(), rows, used.data()});
  std::vector<int> is_used = listed(used), number(got.others.size(), -1);
  is_used.resize(number.size(), 1);
  for (int c : merged.column)
    if (c >= rows) is_used[(size_t)(c - rows)] = 1;
  std::vector<Foreign> others = got.others;
  std::sort(others.begin(), others.end());
  for (const Foreign &o : others)
    if (is_used[(size_t)(o.here - rows)]) {
      number[(size_t)(o.here - rows)] = coarse.n + (int)owner.size();
      owner.push_back(o.owner);
      index.push_back(o.index);
    }
  for (int &c : merged.column) c = c < rows ? c : number[(size_t)(c - rows)];
  return number;
}

} // namespace

// Which vertices are here. The corners of the leaves, whose vertices are those of the cells, get their numbers here.
template <class T> Division GalerkinSetup<T>::divide(Level<T> &fine, Level<T> &coarse, Cells &cells)
{
  const int  corners = fine.transfer.corners, n = cells.vertices, own = fine.transfer.cells;
  const int *begin = fine.transfer.begin.data(), *const vertex = fine.transfer.vertex.data();
  const Buffer<unsigned char> bits = fine.corner_bits();
  int                         rank;
  MPI_Comm_rank(comm_, &rank);
  Buffer<int> bid = make<int>((size_t)n), state = make<int>((size_t)n);
  for_each(exec_, own, Bid{begin, vertex, corners, bid.data()});
  VertexOwners owners = vertex_owners(exec_, comm_, cells, bid);
  Division     d;
  d.owner  = std::move(owners.owner);
  d.index  = std::move(owners.index);
  d.number = std::move(cells.number);
  coarse.n = coarse.points = owners.own;
  // their vertices
  for_each(exec_, cells.n,
           MarkOthers{begin, vertex, d.owner.data(), bits.data(), corners, own, rank, state.data()});
  struct Places {
    Buffer<unsigned char> flag;
    Buffer<int>           before, place;
  };
  Places     those[3];
  const auto mark = [&](Places &to, const Buffer<int> &of, int v) {
    to.flag = make_unset<unsigned char>((size_t)n);
    for_each(exec_, n, FlagEqual{of.data(), v, to.flag.data()});
    count_flags(exec_, n, to.flag, to.before);
  };
  mark(those[0], d.owner, rank), mark(those[1], state, present), mark(those[2], state, needed);
  const std::vector<int> found = last_of(exec_, {&those[0].before, &those[1].before, &those[2].before});
  for (size_t k = 0; k < 3; ++k) take_places(exec_, n, those[k].flag, those[k].before, found[k], those[k].place);
  const Buffer<int> &mine = those[0].place, &other = those[1].place, &of_others = those[2].place;
  Buffer<int>        owners_here = make_unset<int>(of_others.size());
  for_each(exec_, (int)of_others.size(),
           GatherValues<int>{of_others.data(), d.owner.data(), owners_here.data()});
  const std::vector<int> list = listed(of_others), owner = listed(owners_here);
  std::vector<int>       order(list.size()), foreign;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return owner[(size_t)a] < owner[(size_t)b]; });
  for (int k : order) foreign.push_back(list[(size_t)k]);
  const Buffer<int> rest = copy_to(exec_.space, foreign);
  const int         first_rest = (int)mine.size(), first_other = first_rest + (int)rest.size();
  coarse.rows = first_other;
  d.vertex    = make_unset<int>((size_t)first_other + other.size());
  for_each(exec_, first_rest, CopyValues<int>{mine.data(), d.vertex.data()});
  for_each(exec_, (int)rest.size(), CopyValues<int>{rest.data(), d.vertex.data() + first_rest});
  for_each(exec_, (int)other.size(), CopyValues<int>{other.data(), d.vertex.data() + first_other});
  d.here = make_unset<int>((size_t)n);
  for_each(exec_, (int)d.vertex.size(), InvertList{d.vertex.data(), d.here.data()});
  for_each(exec_, (int)fine.transfer.vertex.size(), NumberCorners{d.here.data(), fine.transfer.vertex.data()});
  return d;
}

// Rows go to their owners: of the pattern here, and of all numbers later. True: one of the owners' has `longest`
// columns or more.
template <class T> bool GalerkinSetup<T>::divide_rows(Level<T> &fine, Level<T> &coarse, Division &d, int longest)
{
  const int         own = coarse.n, rows = coarse.rows;
  const RowsToSend  sent = rows_of_others(coarse, d, comm_);
  const auto        [of_rows, of_entries] = Messages::both(comm_, sent.row_counts, sent.entry_counts);
  const PartsOfRows got = receive_rows(of_rows, of_entries, sent, coarse, d);
  MergedRows        merged = merge_rows(coarse, got);
  // ghosts are the vertices of others' rows, then other columns
  std::vector<int> owner, index;
  for (size_t k = 0; k < sent.heads.size(); k += 3) {
    owner.push_back(sent.heads[k + 1]);
    index.push_back(sent.heads[k + 2]);
  }
  const std::vector<int> number = number_others(coarse, got, merged, (int)d.vertex.size(), owner, index);
  coarse.ghosts   = (int)owner.size();
  coarse.exchange = Exchange(exec_, comm_, own, owner, index);
  // the rows, and behind them what there is of others'
  const Buffer<int> row = copy_to(exec_.space, merged.row), begin_of = copy_to(exec_.space, merged.begin),
                    column = copy_to(exec_.space, merged.column), to = copy_to(exec_.space, number);
  std::vector<int>  lengths;
  for (size_t r = 0; r < merged.row.size(); ++r) lengths.push_back(merged.begin[r + 1] - merged.begin[r]);
  const Buffer<int> length = copy_to(exec_.space, lengths);
  Buffer<int>       begin = make_unset<int>((size_t)rows + 1), of_merged = make_unset<int>(lengths.size());
  for_each(exec_, rows, LengthsOfRows{nullptr, coarse.i.data(), begin.data()});
  for_each(exec_, (int)row.size(), ScatterValues<int>{row.data(), length.data(), begin.data()});
  sum_up(exec_, rows, begin);
  const std::vector<int> ends = listed(begin, (size_t)own, (size_t)(rows - own) + 1);
  const int              entries = ends.front();
  Buffer<int>            j = make_unset<int>((size_t)entries);
  d.entries = (size_t)ends.back();
  for_each(exec_, own, MoveRows{coarse.i.data(), coarse.j.data(), begin.data(), to.data(), rows, j.data()});
  for_each(exec_, (int)row.size(), PutRows{row.data(), begin.data(), begin_of.data(), column.data(), j.data()});
  // where the numbers of others' parts go, and those here
  for_each(exec_, (int)row.size(), GatherValues<int>{row.data(), begin.data(), of_merged.data()});
  const std::vector<int> begins = listed(of_merged);
  for (size_t e = 0; e < merged.place.size(); ++e) merged.place[e] += begins[(size_t)merged.part_row[e]];
  coarse.entries = Exchange(exec_, comm_, entries, sent.entry_owner, of_entries.answer(merged.place));
  remap(fine, copy_to(exec_.space, merged.here).data(), (int)row.size(), row.data(), copy_to(exec_.space, merged.map));
  coarse.i = std::move(begin);
  coarse.j = std::move(j);
  // the cycle needs neither leaves of others nor corners at which no own node has a weight
  keep_first(exec_, (size_t)fine.transfer.cells * (size_t)fine.transfer.corners, fine.transfer.vertex);
  for_each(exec_, (int)fine.transfer.vertex.size(), LeaveOutCorners{rows, fine.transfer.vertex.data()});
  coarse.start = make_unset<Key>((size_t)own);
  for_each(exec_, own, StartOfRow{d.vertex.data(), d.number.data(), coarse.start.data()});
  return merged.longest >= longest;
}

// What there is of all vertices, of those in the list
template <class T> template <class V>
void GalerkinSetup<T>::take_vertices(const Buffer<int> &vertex, int n, int width, Buffer<V> &of)
{
  Buffer<V> mine = make_unset<V>((size_t)n * (size_t)width);
  for_each(exec_, (int)mine.size(), GatherNodes<V>{vertex.data(), of.data(), mine.data(), width});
  of = std::move(mine);
}
// The same of the own vertices of a grid, and behind them of its ghosts
template <class T> template <class V>
void GalerkinSetup<T>::take_vertices(const Buffer<int> &vertex, Level<T> &grid, int width, Buffer<V> &of)
{
  take_vertices(vertex, grid.n, width, of);
  Buffer<V> all = make_unset<V>((size_t)(grid.n + grid.ghosts) * (size_t)width);
  for_each(exec_, (int)of.size(), CopyValues<V>{of.data(), all.data()});
  grid.exchange.forward((int *)all.data(), (int)(sizeof(V) / sizeof(int)) * width);
  of = std::move(all);
}

#define INSTANTIATE(T) \
  template Division GalerkinSetup<T>::divide(Level<T> &, Level<T> &, Cells &); \
  template bool     GalerkinSetup<T>::divide_rows(Level<T> &, Level<T> &, Division &, int); \
  template void     GalerkinSetup<T>::take_vertices(const Buffer<int> &, int, int, Buffer<Key> &); \
  template void     GalerkinSetup<T>::take_vertices(const Buffer<int> &, int, int, Buffer<double> &); \
  template void     GalerkinSetup<T>::take_vertices(const Buffer<int> &, Level<T> &, int, Buffer<int> &); \
  template void     GalerkinSetup<T>::take_vertices(const Buffer<int> &, Level<T> &, int, Buffer<Key> &); \
  template void     GalerkinSetup<T>::take_vertices(const Buffer<int> &, Level<T> &, int, Buffer<double> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
