// The transposes of the operators, for that of the cycle. They are made when one is first applied, from the entries
// sorted by columns. A process has the rows of its own nodes: entries in own columns and rows of others come from
// these, entry by entry whenever the values are new.
#include "tree/hierarchy.hpp"
#include "exec/messages.hpp"
#include "exec/each.hpp"
#include <algorithm>
#include <map>

namespace tessera::tree {

namespace {

// Of each entry its column, or `columns` where that is not here, and its row.
struct ListEntries {
  const int *i, *j, *rows; // rows: nullptr: those from 0
  int        columns;
  Key       *column;
  int       *row;
  HD void    operator()(int p) const
  {
    for (int e = i[p]; e < i[p + 1]; ++e) {
      column[e] = (Key)(j[e] < columns ? j[e] : columns);
      row[e]    = rows ? rows[p] : p;
    }
  }
};
struct Append {
  const int *columns, *rows;
  Key       *column;
  int       *row;
  HD void    operator()(int k) const
  {
    column[k] = (Key)columns[k];
    row[k]    = rows[k];
  }
};
template <class T> struct TakeTransposed {
  const int *from;
  const T   *of;
  int        bs;
  T         *to;
  HD void    operator()(int k) const
  {
    const ptrdiff_t block = (ptrdiff_t)bs * bs;
    for (int r = 0; r < bs; ++r)
      for (int c = 0; c < bs; ++c) to[block * k + r * bs + c] = of[block * from[k] + c * bs + r];
  }
};
// The entries of a row go in the order of the operator's row, where that has them; others behind.
struct OrderAsRow {
  const int *i, *j, *first;
  int       *column, *from;
  HD void    operator()(int p) const
  {
    int at = first[p];
    for (int e = i[p]; e < i[p + 1]; ++e) {
      int f = at;
      while (f < first[p + 1] && column[f] != j[e]) ++f;
      if (f == first[p + 1]) continue;
      const int c = column[f], entry = from[f];
      column[f] = column[at], from[f] = from[at];
      column[at] = c, from[at] = entry;
      ++at;
    }
  }
};
// For a message: the process and the number of each own node; the block and the place in it.
struct Name {
  int     rank;
  double *to;
  HD void operator()(int p) const
  {
    to[2 * (ptrdiff_t)p]     = rank;
    to[2 * (ptrdiff_t)p + 1] = p;
  }
};

// The entries in the order of their columns, of which there are n: first[c] is the first one in column c; entries of
// columns that are not here are left out. row becomes that of each, order says which it was.
void sort_by_columns(const Exec &exec, int n, Buffer<Key> &column, Buffer<int> &row, Buffer<int> &first,
                     Buffer<int> &order)
{
  const int entries = (int)column.size();
  sort_keys(exec, entries, bits_of((Key)n), column, order);
  bucket_starts(exec, entries, column.data(), n, Key(0), first);
  const int   here = fetch(first, (size_t)n);
  Buffer<int> sorted, kept;
  sorted.resize_unset(Extent{(size_t)here, exec.space});
  for_each(exec, here, GatherValues<int>{order.data(), row.data(), sorted.data()});
  if (here < entries) {
    kept.resize_unset(Extent{(size_t)here, exec.space});
    for_each(exec, here, CopyValues<int>{order.data(), kept.data()});
    order = std::move(kept);
  }
  row = std::move(sorted);
}

// Entries of others in own columns
struct Remote {
  // row: its node here; the process that has the entry, and which there it is
  std::vector<int> column, row, owner, entry;
  std::vector<int> ghost_owner, ghost_index;  // of all ghost nodes, those of the operator first
};

// i, j: of the operator, on the host. name: of the ghosts the process and the number there. Collective.
Remote find_remote(MPI_Comm comm, int n, int ghosts, const int *i, const int *j, const double *name)
{
  int size;
  MPI_Comm_size(comm, &size);
  Remote                              r;
  std::map<std::pair<int, int>, int> number;
  for (int g = 0; g < ghosts; ++g) {
    r.ghost_owner.push_back((int)name[2 * g]);
    r.ghost_index.push_back((int)name[2 * g + 1]);
    number[{r.ghost_owner.back(), r.ghost_index.back()}] = n + g;
  }
  std::vector<int> counts((size_t)size), at((size_t)size);
  for (int e = 0; e < i[n]; ++e)
    if (j[e] >= n) ++counts[(size_t)r.ghost_owner[(size_t)(j[e] - n)]];
  const Messages   messages(comm, counts);
  std::vector<int> columns((size_t)messages.begins.back()), rows(columns.size()), entries(columns.size());
  std::copy(messages.begins.begin(), messages.begins.end() - 1, at.begin());
  for (int p = 0; p < n; ++p)
    for (int e = i[p]; e < i[p + 1]; ++e) {
      if (j[e] < n) continue;
      const size_t g = (size_t)(j[e] - n), k = (size_t)at[(size_t)r.ghost_owner[g]]++;
      columns[k] = r.ghost_index[g];
      rows[k]    = p;
      entries[k] = e;
    }
  r.column = messages.send(columns);
  r.row    = messages.send(rows);
  r.entry  = messages.send(entries);
  for (int q = 0; q < size; ++q)
    for (int k = messages.from_begins[(size_t)q]; k < messages.from_begins[(size_t)q + 1]; ++k) {
      r.owner.push_back(q);
      const auto found = number.emplace(std::make_pair(q, r.row[(size_t)k]), n + (int)r.ghost_owner.size());
      if (found.second) {
        r.ghost_owner.push_back(q);
        r.ghost_index.push_back(r.row[(size_t)k]);
      }
      r.row[(size_t)k] = found.first->second;
    }
  return r;
}

} // namespace

template <class T> void Level<T>::turn()
{
  std::swap(i, transpose.i);
  std::swap(j, transpose.j);
  std::swap(a, transpose.a);
  std::swap(sweep.inverse, transpose.inverse);
  if (transpose.more) std::swap(exchange, transpose.exchange);
  std::swap(ghosts, transpose.ghosts);
  blocks.turned = !blocks.turned;
}

template <class T> void Hierarchy<T>::turn()
{
  for (size_t l = 0; l + 1 < levels_.size(); ++l) levels_[l].turn();
  transposed_ = !transposed_;
}

template <class T> void NumericSetup<T>::transpose_pattern(Level<T> &level)
{
  Transpose<T> &t = level.transpose;
  const int     n = level.n, bs = params_.bs;
  const int     own = (int)level.j.size();
  Remote        remote;
  t.ghosts = level.ghosts;
  if (level.distributed) {
    Buffer<double> name = make<double>(2 * (size_t)(n + level.ghosts));
    int            rank;
    MPI_Comm_rank(comm_, &rank);
    for_each(exec_, n, Name{rank, name.data()});
    level.exchange.forward(name.data(), 2);
    const Buffer<int>    i = on_host(level.i), j = on_host(level.j);
    const Buffer<double> names = on_host(name);
    remote    = find_remote(comm_, n, level.ghosts, i.data(), j.data(), names.data() + 2 * (ptrdiff_t)n);
    t.entries = Exchange(exec_, comm_, own, remote.owner, remote.entry);
    t.ghosts  = (int)remote.ghost_owner.size();
    t.more    = total(t.ghosts - level.ghosts) > 0;
    if (t.more) {
      t.exchange = Exchange(exec_, comm_, n, remote.ghost_owner, remote.ghost_index);
      const size_t values = (size_t)(n + t.ghosts) * (size_t)bs;
      for (Buffer<T> *v : {&level.work.b, &level.work.x, &level.work.r, &level.work.z, &level.work.w})
        if (!v->empty()) *v = make<T>(values);
    }
  }
  Buffer<Key> column = make_unset<Key>((size_t)own + remote.column.size());
  t.j                = make_unset<int>(column.size());
  for_each(exec_, n, ListEntries{level.i.data(), level.j.data(), nullptr, n, column.data(), t.j.data()});
  const Buffer<int> columns = copy_to(exec_.space, remote.column), rows = copy_to(exec_.space, remote.row);
  for_each(exec_, (int)remote.column.size(),
           Append{columns.data(), rows.data(), column.data() + own, t.j.data() + own});
  sort_by_columns(exec_, n, column, t.j, t.i, t.from);
  for_each(exec_, n, OrderAsRow{level.i.data(), level.j.data(), t.i.data(), t.j.data(), t.from.data()});
  if (level.sweep.exact && t.more) // of new ghosts too
    for (Buffer<int> *of : {&level.sweep.block, &level.sweep.place}) {
      Buffer<int> all = make<int>((size_t)(n + t.ghosts));
      copy(of->data(), of->space(), all.data(), all.space(), (size_t)n);
      t.exchange.forward(all.data(), 1);
      *of = std::move(all);
    }
}

template <class T> void NumericSetup<T>::transpose_values(Level<T> &level)
{
  Transpose<T> &t = level.transpose;
  const int     bs = params_.bs, width = bs * bs;
  const size_t  own = level.j.size();
  Buffer<T>     all; // with those of others
  if (!t.entries.empty()) {
    all = make_unset<T>((own + t.entries.ghosts()) * (size_t)width);
    for_each(exec_, (int)(own * (size_t)width), CopyValues<T>{level.a.data(), all.data()});
    t.entries.forward(all.data(), width);
  }
  t.a = make_unset<T>(t.j.size() * (size_t)width);
  for_each(exec_, (int)t.j.size(),
           TakeTransposed<T>{t.from.data(), all.empty() ? level.a.data() : all.data(), bs, t.a.data()});
}

// The couplings with fixed unknowns, whose rows and columns are those of the first level
template <class T> void Hierarchy<T>::transpose_one_sided()
{
  const Level<T> &level = levels_[0];
  auto           &t = one_sided_.transpose;
  const size_t    entries = one_sided_.j.size();
  Buffer<Key>     column = make_unset<Key>(entries);
  Buffer<int>     order;
  const int       columns = (level.n + level.ghosts) * params_.bs;
  t.row = make_unset<int>(entries);
  for_each(exec_, (int)one_sided_.rows.size(),
           ListEntries{one_sided_.i.data(), one_sided_.j.data(), one_sided_.rows.data(), columns, column.data(),
                       t.row.data()});
  sort_by_columns(exec_, columns, column, t.row, t.i, order);
  t.a = make_unset<double>(entries);
  for_each(exec_, (int)entries, GatherValues<double>{order.data(), one_sided_.a.data(), t.a.data()});
}

template <class T> void Hierarchy<T>::make_transpose()
{
  if (transposes_ == numeric_.setups()) return;
  for (size_t l = 0; l + 1 < levels_.size(); ++l) {
    Level<T> &level = levels_[l];
    if (level.transpose.i.empty()) numeric_.transpose_pattern(level);
    numeric_.transpose_values(level);
    if (!level.sweep.exact) continue;
    level.turn();
    numeric_.block_values(level);
    level.turn();
  }
  if (one_sided_.any) transpose_one_sided();
  transposes_ = numeric_.setups();
}

#define INSTANTIATE(T) \
  template void Level<T>::turn(); \
  template void Hierarchy<T>::turn(); \
  template void NumericSetup<T>::transpose_pattern(Level<T> &); \
  template void NumericSetup<T>::transpose_values(Level<T> &); \
  template void Hierarchy<T>::transpose_one_sided(); \
  template void Hierarchy<T>::make_transpose();
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
