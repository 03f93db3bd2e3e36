// Vertices of own leaves, which several processes may have, and their keepers.
#include "tree/cells/local_cells.hpp"
#include "tree/dispatch.hpp"
#include "tree/cells/pairs.hpp"
#include "exec/requests.hpp"
#include <numeric>

namespace tessera::tree {

namespace {

constexpr Key low_bits = ((Key)1 << 60) - 1; // those of finest cells
static_assert(3 * depth(3) <= 60 && 2 * depth(2) <= 60, "room above them");

// Pairs of which some are used, as they go to their keepers.
struct PutPair {
  Pairs                pairs;
  const unsigned char *used;
  Key                 *to;
  HD void              operator()(int v) const
  {
    to[2 * v]     = pairs.cell[v] | (Key)(used[v] != 0) << 63;
    to[2 * v + 1] = pairs.key[v];
  }
};
struct FlagUsed {
  const Key     *pair;
  unsigned char *flag;
  HD void        operator()(int v) const { flag[v] = (unsigned char)(pair[2 * v] >> 63); }
};
struct TakeUsed {
  const int *from;
  const Key *pair;
  Key       *cell, *key;
  HD void    operator()(int p) const
  {
    cell[p] = pair[2 * (ptrdiff_t)from[p]] & low_bits;
    key[p]  = pair[2 * (ptrdiff_t)from[p] + 1];
  }
};
struct FindNumber {
  Pairs      of;
  int        n, first;
  const Key *pair;
  int       *number;
  HD void    operator()(int v) const
  {
    const int p = of.find(n, pair[2 * v] & low_bits, pair[2 * v + 1]);
    number[v]   = p < 0 ? -1 : first + p;
  }
};
struct FlagNumbered {
  const int     *number;
  unsigned char *flag;
  HD void        operator()(int v) const { flag[v] = number[v] >= 0; }
};
struct Renumber {
  const int *number, *place;
  int       *vertex;
  HD void    operator()(int k) const
  {
    const int v = vertex[k];
    vertex[k]   = v < 0 || number[v] < 0 ? -1 : place[v];
  }
};
template <int D> struct Coordinates {
  const Key *key;
  double    *y;
  HD void    operator()(int v) const
  {
    const Corner<D> x = deinterleave<D>(key[v]);
    for (int q = 0; q < D; ++q) y[(ptrdiff_t)D * v + q] = x.x[q];
  }
};

struct FirstOfKeeper {
  const int *number;
  int        n;
  const int *least;
  int       *first;
  HD void    operator()(int r) const { first[r] = lower_bound(number, 0, n, least[r]); }
};
std::vector<int> begins_of_numbers(const Exec &exec, const Cells &cells)
{
  const Buffer<int> least = copy_to(exec.space, cells.first);
  Buffer<int>       first = make_unset<int>(exec, cells.first.size());
  for_each(exec, (int)first.size(),
           FirstOfKeeper{cells.number.data(), (int)cells.number.size(), least.data(), first.data()});
  return listed(first);
}

// Messages between those that have a vertex and its keeper.
struct AtVertices {
  const Exec  &exec;
  const Cells &cells;
  int          rank, first, own; // first: number of this keeper's first vertex; own: how many it has
  Requests     requests;
  Buffer<int>  number;           // of the vertices that others ask of
  AtVertices(const Exec &e, MPI_Comm comm, const Cells &c) :
    exec(e), cells(c), rank(Requests::rank_of(comm)), first(c.first[(size_t)rank]),
    own(c.first[(size_t)rank + 1] - first),
    requests(e, comm, {begins_of_numbers(e, c)}), number(requests.send(c.number))
  {
  }
  // Fills a table of this keeper's vertices: put(n, numbers, values, mine) is called with what other processes have
  // sent and with what this process has itself (mine).
  template <class Put> void each(const Buffer<int> &here, const Buffer<int> &sent, const Put &put) const
  {
    put(requests.received(), number.data(), sent.data(), false);
    put(requests.own(0), cells.number.data() + requests.first(0), here.data() + requests.first(0), true);
  }
  // What the keeper has of each vertex goes to all that have it.
  Buffer<int> answer(const Buffer<int> &table) const;
};
// Numbers of what a failed device sends may be anything.
struct AtNumber {
  const int *number;
  int        first, own;
  HD int     operator()(int p) const { return (unsigned)(number[p] - first) < (unsigned)own ? number[p] - first : -1; }
};
struct FromTable {
  AtNumber   at;
  const int *table;
  int       *to;
  HD void    operator()(int p) const { to[p] = at(p) < 0 ? 0 : table[at(p)]; }
};
struct RaiseTable {
  AtNumber   at;
  const int *v;
  int       *table;
  HD void    operator()(int p) const
  {
    if (at(p) >= 0) raise_to(table + at(p), v[p]);
  }
};
// Of those with the largest bid the first process: a table of how far from the end it is.
struct RaiseOwner {
  AtNumber   at;
  const int *bid, *largest, *begins; // begins: of what each process sent; nullptr: all is of one
  int        processes, rank, *table;
  HD void    operator()(int p) const
  {
    const int v = at(p);
    if (v < 0 || bid[p] != largest[v]) return;
    const int sender = begins ? lower_bound(begins, 0, processes + 1, p + 1) - 1 : rank;
    raise_to(table + v, processes - sender);
  }
};
struct OwnerOfTable {
  int     processes, *table;
  HD void operator()(int v) const { table[v] = processes - table[v]; }
};
struct IndexOfOwned {
  const unsigned char *flag;
  const int           *before;
  int                 *index;
  HD void              operator()(int v) const { index[v] = flag[v] ? before[v] : -1; }
};
template <int D> struct PutVertex {
  AtNumber      at;
  const Key    *cell;
  const double *y; // integers
  Key          *table;
  HD void       operator()(int p) const
  {
    const int v = at(p);
    if (v < 0) return;
    table[(ptrdiff_t)(D + 1) * v] = cell[p];
    for (int q = 0; q < D; ++q) table[(ptrdiff_t)(D + 1) * v + q + 1] = (Key)y[(ptrdiff_t)D * p + q];
  }
};
Buffer<int> AtVertices::answer(const Buffer<int> &table) const
{
  Buffer<int> of_others = make_unset<int>(exec, number.size()), of = make_unset<int>(exec, cells.number.size());
  const int   at = requests.first(0);
  for_each(exec, requests.received(), FromTable{{number.data(), first, own}, table.data(), of_others.data()});
  for_each(exec, requests.own(0),
           FromTable{{cells.number.data() + at, first, own}, table.data(), of.data() + at});
  requests.answer(of_others, of);
  return of;
}

} // namespace

void number_local_vertices(const Exec &exec, const Keepers &keepers, Cells &cells,
                           const Buffer<unsigned char> &used)
{
  const int      n = cells.vertices, dim = cells.dim;
  Buffer<Key>    pairs = make_unset<Key>(exec, 2 * (size_t)n);
  const Requests requests(exec, keepers.comm,
                          {begins_at_keepers(exec, keepers, n, cells.key.data(), (Key)1 << (dim * depth(dim)))});
  for_each(exec, n, PutPair{{cells.key.data(), cells.vertex_key.data()}, used.data(), pairs.data()});
  const Buffer<Key> got = requests.send(pairs, 2);
  // all that are used of this keeper, once and in order
  const int             own = requests.own(0), at = requests.first(0), all = own + requests.received();
  Buffer<Key>           asked = make_unset<Key>(exec, 2 * (size_t)all);
  Buffer<unsigned char> flag = make_unset<unsigned char>(exec, (size_t)all);
  Buffer<int>           place, order;
  for_each(exec, 2 * own, CopyValues<Key>{pairs.data() + 2 * at, asked.data()});
  for_each(exec, 2 * (all - own), CopyValues<Key>{got.data(), asked.data() + 2 * own});
  for_each(exec, all, FlagUsed{asked.data(), flag.data()});
  select(exec, all, flag, place);
  int         count = (int)place.size();
  Buffer<Key> cell = make_unset<Key>(exec, (size_t)count), key = make_unset<Key>(exec, (size_t)count);
  for_each(exec, count, TakeUsed{place.data(), asked.data(), cell.data(), key.data()});
  if (all > own) {
    sort_pairs(exec, dim, count, cell, key, order);
    for_each(exec, count, FirstOfPair{{cell.data(), key.data()}, flag.data()});
    select(exec, count, flag, place);
    take_pairs(exec, place, cell, key);
    count = (int)place.size();
  }
  cells.first.assign((size_t)keepers.size + 1, 0);
  MPI_Allgather(&count, 1, MPI_INT, cells.first.data() + 1, 1, MPI_INT, keepers.comm);
  std::partial_sum(cells.first.begin(), cells.first.end(), cells.first.begin());
  // the numbers of those here
  const Pairs used_here{cell.data(), key.data()};
  const int   first = cells.first[(size_t)keepers.rank];
  Buffer<int> of_others = make_unset<int>(exec, (size_t)(all - own)), number = make_unset<int>(exec, (size_t)n);
  for_each(exec, own, FindNumber{used_here, count, first, pairs.data() + 2 * at, number.data() + at});
  for_each(exec, all - own, FindNumber{used_here, count, first, got.data(), of_others.data()});
  requests.answer(of_others, number);
  flag = make_unset<unsigned char>(exec, (size_t)n);
  for_each(exec, n, FlagNumbered{number.data(), flag.data()});
  const Flagged numbered(exec, n, flag);
  for_each(exec, (int)cells.vertex.size(), Renumber{number.data(), numbered.before.data(), cells.vertex.data()});
  cells.vertices = numbered.count;
  take_pairs(exec, numbered.place, cells.key, cells.vertex_key);
  cells.number = make_unset<int>(exec, (size_t)cells.vertices);
  cells.y      = make_unset<double>(exec, (size_t)cells.vertices * (size_t)dim);
  for_each(exec, cells.vertices, GatherValues<int>{numbered.place.data(), number.data(), cells.number.data()});
  with_dim(dim, [&](auto d) {
    for_each(exec, cells.vertices, Coordinates<d.value>{cells.vertex_key.data(), cells.y.data()});
  });
  cells.vertex_key = Buffer<Key>();
}

void join_at_vertices(const Exec &exec, MPI_Comm comm, const Cells &cells, Buffer<int> &v)
{
  const AtVertices at(exec, comm, cells);
  Buffer<int>      table(Extent{(size_t)at.own, exec.space});
  at.each(v, at.requests.send(v), [&](int n, const int *number, const int *of, bool) {
    for_each(exec, n, RaiseTable{{number, at.first, at.own}, of, table.data()});
  });
  v = at.answer(table);
}

VertexOwners vertex_owners(const Exec &exec, MPI_Comm comm, const Cells &cells, const Buffer<int> &bid)
{
  int size;
  MPI_Comm_size(comm, &size);
  const AtVertices  at(exec, comm, cells);
  const Extent      own{(size_t)at.own, exec.space};
  const Buffer<int> bids = at.requests.send(bid), begins = copy_to(exec.space, at.requests.from_begins());
  Buffer<int>       largest(own), owner(own), index(own);
  at.each(bid, bids, [&](int n, const int *number, const int *of, bool) {
    for_each(exec, n, RaiseTable{{number, at.first, at.own}, of, largest.data()});
  });
  at.each(bid, bids, [&](int n, const int *number, const int *of, bool here) {
    for_each(exec, n,
             RaiseOwner{{number, at.first, at.own}, of, largest.data(), here ? nullptr : begins.data(), size, at.rank,
                        owner.data()});
  });
  for_each(exec, at.own, OwnerOfTable{size, owner.data()});
  VertexOwners          owners;
  Buffer<unsigned char> flag = make_unset<unsigned char>(exec, bid.size());
  Buffer<int>           before, mine = make_unset<int>(exec, bid.size());
  owners.owner = at.answer(owner);
  for_each(exec, cells.vertices, FlagEqual{owners.owner.data(), at.rank, flag.data()});
  count_flags(exec, cells.vertices, flag, before);
  owners.own = fetch(before, (size_t)cells.vertices);
  for_each(exec, cells.vertices, IndexOfOwned{flag.data(), before.data(), mine.data()});
  at.each(mine, at.requests.send(mine), [&](int n, const int *number, const int *of, bool) {
    for_each(exec, n, RaiseTable{{number, at.first, at.own}, of, index.data()});
  });
  owners.index = at.answer(index);
  return owners;
}

void gather_vertices(const Exec &exec, MPI_Comm comm, Cells &cells)
{
  const int                  dim = cells.dim, size = (int)cells.first.size() - 1;
  const AtVertices           at(exec, comm, cells);
  const Requests            &requests = at.requests;
  const Buffer<Key>          cell = requests.send(cells.key);
  const Buffer<double>       x = requests.send(cells.y, dim);
  Buffer<Key>                table(Extent{(size_t)at.own * (size_t)(dim + 1), exec.space});
  const ptrdiff_t            first = requests.first(0);
  with_dim(dim, [&](auto d) {
    for_each(exec, requests.received(),
             PutVertex<d.value>{{at.number.data(), at.first, at.own}, cell.data(), x.data(), table.data()});
    for_each(exec, requests.own(0),
             PutVertex<d.value>{{cells.number.data() + first, at.first, at.own}, cells.key.data() + first,
                                cells.y.data() + dim * first, table.data()});
  });
  const std::vector<Key> own = listed(table);
  std::vector<Key>       all((size_t)cells.first.back() * (size_t)(dim + 1)), key;
  std::vector<int>       counts((size_t)size), begins((size_t)size);
  for (size_t r = 0; r < counts.size(); ++r) {
    counts[r] = (cells.first[r + 1] - cells.first[r]) * (dim + 1);
    begins[r] = cells.first[r] * (dim + 1);
  }
  MPI_Allgatherv(own.data(), (int)own.size(), MPI_UNSIGNED_LONG_LONG, all.data(), counts.data(), begins.data(),
                 MPI_UNSIGNED_LONG_LONG, comm);
  std::vector<double> y;
  for (size_t v = 0; v < all.size(); v += (size_t)dim + 1) {
    key.push_back(all[v]);
    for (size_t q = 1; q <= (size_t)dim; ++q) y.push_back((double)all[v + q]);
  }
  const std::vector<int> number = listed(cells.number);
  std::vector<int>       vertex = listed(cells.vertex);
  for (int &v : vertex) v = v < 0 ? -1 : number[(size_t)v];
  cells.vertices = cells.first.back();
  cells.vertex   = copy_to(exec.space, vertex);
  cells.key      = copy_to(exec.space, key);
  cells.y        = copy_to(exec.space, y);
  cells.number   = Buffer<int>();
  cells.first.clear();
}

} // namespace tessera::tree
