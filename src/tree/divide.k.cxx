// Coarse grids that the processes divide. A process has the leaves of its nodes and of ghosts, and their vertices. A
// vertex belongs to the one that has the most nodes in the leaves around it, the first of those with as many; its row
// is added up from what processes have for it. Those numbered here are its own vertices, then those of others for which
// it has something (`rows` in all), then others that its rows have as columns; each in the order of the keys, of
// others process by process.
#include "tree/setup.hpp"
#include "exec/messages.hpp"
#include "exec/each.hpp"
#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace tessera::tree {

namespace {

// Rows of others, for which this process has parts, on the way to their owners: each with its number there and its
// columns. A column is three numbers: of the vertex among all, of its owner, and of the vertex there. The counts are of
// each process; entry_owner is of each column.
struct RowsToSend {
  std::vector<int> row_counts, entry_counts, heads, lengths, columns, entry_owner;
};
RowsToSend rows_of_others(int processes, int own, int rows, const int *i, const int *j, const Division &d)
{
  RowsToSend to;
  to.row_counts.resize((size_t)processes);
  to.entry_counts.resize((size_t)processes);
  for (int v = own; v < rows; ++v) {
    const size_t vertex = (size_t)d.vertex[(size_t)v], owner = (size_t)d.owner[vertex];
    ++to.row_counts[owner];
    to.entry_counts[owner] += i[v + 1] - i[v];
    to.heads.push_back(d.index[vertex]);
    to.lengths.push_back(i[v + 1] - i[v]);
    for (int e = i[v]; e < i[v + 1]; ++e) {
      const size_t column = (size_t)d.vertex[(size_t)j[e]];
      to.columns.insert(to.columns.end(), {d.number[column], d.owner[column], d.index[column]});
      to.entry_owner.push_back((int)owner);
    }
  }
  return to;
}

// What others have of own rows: row v has the parts order[first[v]..first[v+1]), and part p the columns
// begin[p]..begin[p+1].
struct RowsReceived {
  std::vector<int> first, order, begin, column;
};
RowsReceived receive_rows(const Messages &of_rows, const Messages &of_entries, const RowsToSend &sent, int own,
                          Division &d)
{
  RowsReceived           got;
  const std::vector<int> row = of_rows.send(sent.heads), length = of_rows.send(sent.lengths);
  const std::vector<int> columns = of_entries.send(sent.columns, 3);
  const size_t           here = d.number.size(); // vertices of leaves here, in order; then come others
  std::unordered_map<int, int> others;
  for (size_t e = 0; e < columns.size(); e += 3) {
    const auto known = std::lower_bound(d.number.begin(), d.number.begin() + (ptrdiff_t)here, columns[e]);
    int        v     = (int)(known - d.number.begin());
    if (v == (int)here || *known != columns[e]) {
      v = others.emplace(columns[e], (int)d.number.size()).first->second;
      if (v == (int)d.number.size()) {
        d.number.push_back(columns[e]);
        d.owner.push_back(columns[e + 1]);
        d.index.push_back(columns[e + 2]);
      }
    }
    got.column.push_back(v);
  }
  got.begin.resize(row.size() + 1);
  got.first.resize((size_t)own + 1);
  got.order.resize(row.size());
  std::partial_sum(length.begin(), length.end(), got.begin.begin() + 1);
  for (int v : row) ++got.first[(size_t)v + 1];
  std::partial_sum(got.first.begin(), got.first.end(), got.first.begin());
  std::iota(got.order.begin(), got.order.end(), 0);
  std::stable_sort(got.order.begin(), got.order.end(), [&](int a, int b) { return row[(size_t)a] < row[(size_t)b]; });
  return got;
}

// The own rows, whose columns are vertices, and where what there is of them goes: the entries here to the places
// map[] in their rows, those received to the places place[] among all.
struct RowsMerged {
  std::vector<int> begin, column, place;
  Buffer<int>      map;
  bool             too_long = false; // one has `longest` columns or more
};
RowsMerged merge_rows(int own, const int *i, const int *j, const Division &d, const RowsReceived &got, int longest)
{
  RowsMerged       to;
  std::vector<int> marker(d.owner.size(), -1);
  to.begin.resize(1);
  to.map.resize((size_t)i[own]);
  to.place.resize(got.column.size());
  for (int v = 0; v < own; ++v) {
    const int from = to.begin.back();
    if (got.first[(size_t)v] == got.first[(size_t)v + 1]) { // of most rows nobody else has parts
      for (int e = i[v]; e < i[v + 1]; ++e) {
        to.map.data()[e] = e - i[v];
        to.column.push_back(d.vertex[(size_t)j[e]]);
      }
      to.begin.push_back((int)to.column.size());
      continue;
    }
    const auto take = [&](int vertex) {
      int &at = marker[(size_t)vertex];
      if (at < from) {
        at = (int)to.column.size();
        to.column.push_back(vertex);
      }
      return at;
    };
    for (int e = i[v]; e < i[v + 1]; ++e) to.map.data()[e] = take(d.vertex[(size_t)j[e]]) - from;
    for (int k = got.first[(size_t)v]; k < got.first[(size_t)v + 1]; ++k)
      for (int r = got.order[(size_t)k], e = got.begin[(size_t)r]; e < got.begin[(size_t)r + 1]; ++e)
        to.place[(size_t)e] = take(got.column[(size_t)e]);
    to.begin.push_back((int)to.column.size());
    to.too_long = to.too_long || to.begin.back() - from >= longest;
  }
  return to;
}

// The numbers here of all vertices that are needed: of those that have rows here, then of other columns, which come
// into d.vertex.
std::vector<int> number_columns(int rows, const std::vector<int> &columns, Division &d)
{
  std::vector<int> number(d.owner.size(), -1), others;
  d.vertex.resize((size_t)rows);
  for (int v = 0; v < rows; ++v) number[(size_t)d.vertex[(size_t)v]] = v;
  for (int v : columns)
    if (number[(size_t)v] < 0) {
      number[(size_t)v] = rows;
      others.push_back(v);
    }
  std::sort(others.begin(), others.end(), [&](int a, int b) {
    return d.owner[(size_t)a] != d.owner[(size_t)b] ? d.owner[(size_t)a] < d.owner[(size_t)b]
                                                    : d.number[(size_t)a] < d.number[(size_t)b];
  });
  for (int v : others) {
    number[(size_t)v] = (int)d.vertex.size();
    d.vertex.push_back(v);
  }
  return number;
}

} // namespace

// Which vertices are here. The corners of the leaves, whose vertices are those of the cells, get their numbers here.
template <class T> Division GalerkinSetup<T>::divide(Level<T> &fine, Level<T> &coarse, const Cells &cells)
{
  const int         corners = fine.transfer.corners, n = cells.vertices, own = fine.transfer.cells;
  const Buffer<int> begins = on_host(fine.transfer.begin), vertex = on_host(fine.transfer.vertex);
  const Buffer<unsigned char> bits = on_host(corner_bits(fine));
  const int *const  begin = begins.data();
  int               rank;
  MPI_Comm_rank(comm_, &rank);
  std::vector<int> bid((size_t)n);
  for (int k = 0; k < own * corners; ++k)
    if (const int v = vertex.data()[k]; v >= 0) bid[(size_t)v] += begin[k / corners + 1] - begin[k / corners];
  VertexOwners owners = vertex_owners(exec_, comm_, cells, copy_to(exec_.space, bid));
  Division     d;
  d.owner  = listed(owners.owner);
  d.index  = listed(owners.index);
  d.number = listed(cells.number);
  for (int v = 0; v < n; ++v)
    if (d.owner[(size_t)v] == rank) d.vertex.push_back(v);
  coarse.n = coarse.points = owners.own;
  // their vertices
  enum : int { absent = -1, present = -2, needed = -3 };
  std::vector<int> number((size_t)n, absent), foreign, others;
  for (int k = 0; k < cells.n; ++k) {
    unsigned weights = 0;
    for (int p = k < own ? begin[k] : 0; k < own && p < begin[k + 1]; ++p) weights |= bits.data()[p];
    for (int c = 0; c < corners; ++c) {
      const int v = vertex.data()[k * corners + c];
      if (v < 0 || d.owner[(size_t)v] == rank) continue;
      int &is = number[(size_t)v];
      if (weights >> c & 1) is = needed;
      else if (is == absent) is = present;
    }
  }
  for (int v = 0; v < n; ++v)
    if (number[(size_t)v] == needed) foreign.push_back(v);
    else if (number[(size_t)v] == present) others.push_back(v);
  std::stable_sort(foreign.begin(), foreign.end(),
                   [&](int a, int b) { return d.owner[(size_t)a] < d.owner[(size_t)b]; });
  d.vertex.insert(d.vertex.end(), foreign.begin(), foreign.end());
  coarse.rows = (int)d.vertex.size();
  d.vertex.insert(d.vertex.end(), others.begin(), others.end());
  for (size_t k = 0; k < d.vertex.size(); ++k) number[(size_t)d.vertex[k]] = (int)k;
  std::vector<int> at(vertex.size());
  for (size_t k = 0; k < at.size(); ++k) at[k] = vertex.data()[k] < 0 ? -1 : number[(size_t)vertex.data()[k]];
  fine.transfer.vertex = copy_to(exec_.space, at);
  return d;
}

// Rows go to their owners: of the pattern here, and of all numbers later. True: one of the owners' has `longest`
// columns or more.
template <class T> bool GalerkinSetup<T>::divide_rows(Level<T> &fine, Level<T> &coarse, Division &d, int longest)
{
  const int         own = coarse.n, rows = coarse.rows;
  const Buffer<int> i = on_host(coarse.i), j = on_host(coarse.j);
  int               size;
  MPI_Comm_size(comm_, &size);
  const RowsToSend   parts = rows_of_others(size, own, rows, i.data(), j.data(), d);
  const Messages     of_rows(comm_, parts.row_counts), of_entries(comm_, parts.entry_counts);
  const RowsReceived got    = receive_rows(of_rows, of_entries, parts, own, d);
  RowsMerged         merged = merge_rows(own, i.data(), j.data(), d, got, longest);
  for (int v = own; v < rows; ++v) merged.begin.push_back(merged.begin.back() + i.data()[v + 1] - i.data()[v]);
  const std::vector<int> number = number_columns(rows, merged.column, d);
  for (int &v : merged.column) v = number[(size_t)v];
  std::vector<int> owner, index;
  coarse.ghosts = (int)d.vertex.size() - own;
  for (size_t v = (size_t)own; v < d.vertex.size(); ++v) {
    owner.push_back(d.owner[(size_t)d.vertex[v]]);
    index.push_back(d.index[(size_t)d.vertex[v]]);
  }
  coarse.exchange = Exchange(exec_, comm_, own, owner, index);
  const std::vector<int> at = of_entries.answer(merged.place);
  coarse.entries            = Exchange(exec_, comm_, (int)merged.column.size(), parts.entry_owner, at);
  Buffer<int> map = make_unset<int>(merged.map.size());
  copy(merged.map, map);
  remap(fine, coarse, own, map);
  d.entries = (size_t)merged.begin.back();
  coarse.i = copy_to(exec_.space, merged.begin);
  coarse.j = copy_to(exec_.space, merged.column);
  // leaves of others are not needed any more, nor corners at which no own node has a weight
  const Buffer<int> vertex = on_host(fine.transfer.vertex);
  std::vector<int>  corner(vertex.data(), vertex.data() + (ptrdiff_t)fine.transfer.cells * fine.transfer.corners);
  for (int &v : corner) v = v < rows ? v : -1;
  fine.transfer.vertex = copy_to(exec_.space, corner);
  std::vector<Key> start;
  for (int v = 0; v < own; ++v) start.push_back((Key)d.number[(size_t)d.vertex[(size_t)v]]);
  coarse.start = copy_to(exec_.space, start);
  return merged.too_long;
}

// What there is of all vertices, of those in the list
template <class T> template <class V>
void GalerkinSetup<T>::take_vertices(const std::vector<int> &vertex, int width, Buffer<V> &of)
{
  const Buffer<int> place = copy_to(exec_.space, vertex);
  Buffer<V>         mine  = make_unset<V>(vertex.size() * (size_t)width);
  for_each(exec_, (int)mine.size(), GatherNodes<V>{place.data(), of.data(), mine.data(), width});
  of = std::move(mine);
}
// The same of the own vertices of a grid, and behind them of its ghosts
template <class T> template <class V>
void GalerkinSetup<T>::take_vertices(const std::vector<int> &vertex, Level<T> &grid, int width, Buffer<V> &of)
{
  take_vertices(vertex, width, of);
  Buffer<V> all = make_unset<V>((size_t)(grid.n + grid.ghosts) * (size_t)width);
  for_each(exec_, (int)of.size(), CopyValues<V>{of.data(), all.data()});
  grid.exchange.forward((int *)all.data(), (int)(sizeof(V) / sizeof(int)) * width);
  of = std::move(all);
}

#define INSTANTIATE(T) \
  template Division GalerkinSetup<T>::divide(Level<T> &, Level<T> &, const Cells &); \
  template bool     GalerkinSetup<T>::divide_rows(Level<T> &, Level<T> &, Division &, int); \
  template void     GalerkinSetup<T>::take_vertices(const std::vector<int> &, int, Buffer<Key> &); \
  template void     GalerkinSetup<T>::take_vertices(const std::vector<int> &, int, Buffer<double> &); \
  template void     GalerkinSetup<T>::take_vertices(const std::vector<int> &, Level<T> &, int, Buffer<Key> &); \
  template void     GalerkinSetup<T>::take_vertices(const std::vector<int> &, Level<T> &, int, Buffer<double> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
