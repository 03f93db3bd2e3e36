// The blocks of the smoother (blocks.hpp): found, filled with numbers, inverted, applied.
#include "tree/hierarchy.hpp"
#include "tree/clusters.hpp"
#include "tree/pairs.hpp"
#include "exec/sets.hpp"
#include "exec/each.hpp"
#include <algorithm>
#include <cmath>
#include <climits>
#include <map>
#include <numeric>

namespace tessera::tree {

namespace {

constexpr size_t max_vectors = 8; // at a time

// f(strength, other unknown) for the couplings of unknown p with others that may be in a block.
template <class T> struct StrongRow {
  const int                 *i, *j;
  const T                   *a, *inverse; // inverse: with ghosts
  int                        bs;
  template <class F> HD void each(int p, const F &f) const
  {
    const int node = p / bs, k = p % bs;
    const T   least = (T)(coupling_beside * coupling_beside), mine = inverse[p];
    for (int e = i[node]; e < i[node + 1]; ++e)
      for (int m = 0; m < bs; ++m) {
        const ptrdiff_t to = ((ptrdiff_t)e * bs + k) * bs + m;
        const int       q  = j[e] * bs + m;
        const T         s  = a[to] * mine * a[to] * inverse[q];
        if (s > least && q != p) f(s, q);
      }
  }
};
// How many couplings each unknown lists: all, if it has strong ones. Two that only have each other, not very strongly,
// need no block.
template <class T> struct CountStrong {
  StrongRow<T> row;
  int         *count;
  HD void      operator()(int p) const
  {
    int n = 0, strong = 0;
    T   largest = 0;
    row.each(p, [&](T s, int) {
      ++n;
      strong += s > (T)(strong_coupling * strong_coupling);
      largest = s > largest ? s : largest;
    });
    count[p] = strong > 1 || largest > (T)(very_strong_coupling * very_strong_coupling) ? n : 0;
  }
};
template <class T> struct ListStrong {
  StrongRow<T> row;
  const int   *first;
  int         *from, *to, *strength;
  HD void      operator()(int p) const
  {
    int at = first[p];
    if (at == first[p + 1]) return;
    const auto me = *this;
    row.each(p, [&](T s, int q) {
      me.from[at]     = p;
      me.to[at]       = q;
      me.strength[at] = s < 4 ? (int)(4096 * s + (T)0.5) : 16384; // alike in spite of rounding
      ++at;
    });
  }
};
// For a message: the process, the number and the key of each own unknown's node.
struct NameNode {
  int        rank;
  const Key *key;
  double    *to;
  HD void    operator()(int p) const
  {
    const Key k              = key ? key[p] : (Key)p;
    to[4 * (ptrdiff_t)p]     = rank;
    to[4 * (ptrdiff_t)p + 1] = p;
    to[4 * (ptrdiff_t)p + 2] = (double)(k >> 32);
    to[4 * (ptrdiff_t)p + 3] = (double)(k & 0xffffffffULL);
  }
};

// Where the entries of the block of own unknown row[s] are.
template <class T> struct FindEntries {
  const int *i, *j, *row, *block, *place, *begin, *at, *column; // column: of each member, in the operator here
  int        bs;
  int       *from;
  HD void    operator()(int s) const
  {
    const int  b = block[s], first = begin[b], n = begin[b + 1] - first, node = row[s] / bs, k = row[s] % bs;
    int *const mine = from + at[b] + place[s] * n;
    for (int e = i[node]; e < i[node + 1]; ++e)
      for (int m = 0; m < bs; ++m)
        for (int q = 0; q < n; ++q)
          if (column[first + q] == j[e] * bs + m) mine[q] = (e * bs + k) * bs + m;
  }
};
// Rows of own unknowns to messages of one length, and those of mates from them.
struct PackStrongRow {
  const int    *needed, *block, *place, *begin, *at;
  const double *dense;
  double       *rows;
  HD void       operator()(int k) const
  {
    const int s = needed[k], b = block[s], n = begin[b + 1] - begin[b];
    for (int q = 0; q < n; ++q) rows[(ptrdiff_t)k * max_in_strong_block + q] = dense[at[b] + place[s] * n + q];
  }
};
struct UnpackStrongRows {
  const int    *begin, *at, *member;
  const double *rows;
  double       *dense;
  HD void       operator()(int b) const
  {
    const int n = begin[b + 1] - begin[b];
    for (int k = 0; k < n; ++k)
      if (const int m = member[begin[b] + k]; m < 0)
        for (int q = 0; q < n; ++q) dense[at[b] + k * n + q] = rows[(ptrdiff_t)(-1 - m) * max_in_strong_block + q];
  }
};
template <class T> struct FillEntries {
  const int *from;
  const T   *a;
  double    *dense;
  HD void    operator()(int k) const { dense[k] = from[k] < 0 ? 0 : (double)a[from[k]]; }
};
// The diagonal of a block is raised by such a share, so that no entry of the inverse, whose rounding is of its largest
// ones, hides what the others say.
template <class T> constexpr double raised = sizeof(T) == sizeof(float) ? 1e-5 : 1e-6;
// B^-1 - D^-1 of a block
template <class T> struct InvertStrong {
  const int *begin, *at;
  double    *dense;
  T         *extra;
  HD void    operator()(int b) const
  {
    const int     n = begin[b + 1] - begin[b];
    double *const a = dense + at[b];
    double        diagonal[max_in_strong_block];
    for (int k = 0; k < n; ++k) {
      diagonal[k] = a[k * n + k];
      a[k * n + k] *= 1 + raised<T>;
    }
    invert_block<max_in_strong_block>(a, n, dead_pivot<T>);
    for (int k = 0; k < n; ++k)
      for (int q = 0; q < n; ++q)
        extra[at[b] + k * n + q] = (T)(a[k * n + q] - (k == q && diagonal[k] > 0 ? 1 / diagonal[k] : 0));
  }
};

template <class T, class V> struct AddExtra {
  const int *begin, *at, *member, *row, *block, *place;
  const T   *extra;
  const V   *r, *others;
  V         *z, *x;
  T          c, weight;
  bool       turned;
  HD void    operator()(int s) const
  {
    const int      b = block[s], first = begin[b], n = begin[b + 1] - first, mine = place[s];
    const T *const e   = extra + at[b];
    V              sum = 0;
    for (int q = 0; q < n; ++q) {
      const int m = member[first + q];
      sum += (turned ? e[q * n + mine] : e[mine * n + q]) * (m < 0 ? others[-1 - m] : r[m]);
    }
    sum = c * sum;
    if (z) z[row[s]] += sum;
    if (x) x[row[s]] += weight * sum;
  }
};
// The rows of own unknowns: a diagonal matrix of sums of absolute values is at least as large as the block.
template <class T> struct BoundRow {
  const int *begin, *at, *row, *block, *place, *from;
  const T   *a;
  T         *inverse;
  HD void    operator()(int s) const
  {
    const int        b = block[s], n = begin[b + 1] - begin[b];
    const int *const mine = from + at[b] + place[s] * n;
    T                sum  = 0;
    for (int q = 0; q < n; ++q) sum += mine[q] < 0 ? 0 : fabs(a[mine[q]]);
    if (sum > 0 && inverse[row[s]] > 0) inverse[row[s]] = 1 / sum;
  }
};
template <class T> struct LeaveOut {
  BoundRow<T> bound;
  const int  *member;
  const T    *marked, *others;
  T          *extra;
  HD void     operator()(int s) const
  {
    const int b = bound.block[s], first = bound.begin[b], n = bound.begin[b + 1] - first;
    bool      any = false;
    for (int q = first; q < first + n; ++q)
      any = any || (member[q] < 0 ? others[-1 - member[q]] : marked[member[q]]) > 0;
    if (!any) return;
    bound(s);
    for (int q = 0; q < n; ++q) extra[bound.at[b] + bound.place[s] * n + q] = 0;
  }
};
struct NodesOfUnknowns {
  const int    *unknown;
  const double *names;
  int           bs;
  double       *to;
  HD void       operator()(int k) const { to[k] = names[4 * (ptrdiff_t)(unknown[k / 4] / bs) + k % 4]; }
};
struct MarkEnds {
  const int     *from, *to;
  unsigned char *flag;
  HD void        operator()(int k) const { flag[from[k]] = flag[to[k]] = 1; }
};
// Couplings with other processes: at both ends.
struct MarkMeeting {
  const int *from, *to, *unknown;
  int        own;
  double    *mark;
  HD void    operator()(int k) const
  {
    if (unknown[to[k]] >= own) mark[unknown[from[k]]] = mark[unknown[to[k]]] = 1;
  }
};
// Process, number and key of the nodes of unknowns and then of ghosts, on the host, of a level that several processes
// have.
template <class T> std::vector<double> names_of(Level<T> &level, MPI_Comm comm, std::vector<int> unknown)
{
  for (int p = level.n; p < level.n + level.ghosts; ++p) unknown.push_back(p * level.bs);
  const Buffer<int> list = copy_to(level.exec.space, unknown);
  int               rank = 0;
  Buffer<double>    name(Extent{4 * (size_t)(level.n + level.ghosts), level.exec.space}),
    found(Extent{4 * unknown.size(), level.exec.space});
  MPI_Comm_rank(comm, &rank);
  for_each(level.exec, level.n, NameNode{rank, level.start.data(), name.data()});
  level.exchange.forward(name.data(), 4);
  for_each(level.exec, (int)found.size(), NodesOfUnknowns{list.data(), name.data(), level.bs, found.data()});
  return listed(found);
}

// What StrongBlocks has, on the host. column: of each member, in the operator here; needed: places in row.
struct BlockLists {
  std::vector<int>         begin{0}, at{0}, member, column, row, block, place, needed, owner, index;
  std::map<long long, int> ghosts;  // columns of others' unknowns
  std::vector<int>         next{0}; // of each process: unknowns that others need
  int                      rank = 0;
  // names: of ghost nodes
  void                     find_ghosts(int n, int bs, const double *names, int count, MPI_Comm comm)
  {
    int size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    next.assign((size_t)size, 0);
    for (int g = 0; g < count; ++g)
      for (int k = 0; k < bs; ++k)
        ghosts[unknown_of((int)names[4 * g], (int)names[4 * g + 1] * bs + k)] = (n + g) * bs + k;
  }
  // shared: all processes add this block
  void add(const long long *of, int n, bool shared)
  {
    const bool mine = std::any_of(of, of + n, [&](long long u) { return process_of(u) == rank; });
    for (int q = 0; q < n; ++q) {
      const int  process = process_of(of[q]), slot = shared ? next[(size_t)process]++ : 0;
      const bool own = process == rank;
      if (own) {
        if (shared) needed.push_back((int)row.size());
        row.push_back(number_of(of[q]));
        block.push_back((int)begin.size() - 1);
        place.push_back(q);
      } else if (mine) {
        owner.push_back(process);
        index.push_back(slot);
      }
      if (!mine) continue;
      const auto ghost = own ? ghosts.end() : ghosts.find(of[q]);
      member.push_back(own ? number_of(of[q]) : -(int)owner.size());
      column.push_back(own ? member.back() : ghost == ghosts.end() ? -1 : ghost->second);
    }
    if (!mine) return;
    begin.push_back((int)member.size());
    at.push_back(at.back() + n * n);
  }
};

} // namespace

template <class T> template <class V> const V *StrongBlocks<T>::fetch_partners(const Level<T> &level, const V *of)
{
  if (!level.distributed || values.empty()) return nullptr;
  const int own = (int)needed.size();
  V *const  v   = (V *)values.data();
  for_each(level.exec, own, GatherNodes<V>{needed.data(), of, v, 1});
  exchange.forward((T *)v, width_of<V>);
  return v + own;
}

template <class T> template <class V> void StrongBlocks<T>::add(const Level<T> &level, const V *r, T c, V *z, V *x, T w)
{
  const V *const others = fetch_partners(level, r);
  for_each(level.exec, (int)row.size(),
           AddExtra<T, V>{begin.data(), at.data(), member.data(), row.data(), block.data(), place.data(), extra.data(),
                          r, others, z, x, c, w, turned});
}

template <class T> void StrongBlocks<T>::bound(const Level<T> &level, const T *a, T *inverse) const
{
  for_each(level.exec, (int)row.size(),
           BoundRow<T>{begin.data(), at.data(), row.data(), block.data(), place.data(), from.data(), a, inverse});
}

template <class T>
void StrongBlocks<T>::leave_out(const Level<T> &level, const T *marked, const T *a, T *inverse)
{
  const BoundRow<T> rows{begin.data(), at.data(),  row.data(), block.data(),
                         place.data(), from.data(), a,          inverse};
  const T *const others = fetch_partners(level, marked);
  for_each(level.exec, (int)row.size(), LeaveOut<T>{rows, member.data(), marked, others, extra.data()});
}

// The strong couplings of own unknowns with others; an end past the own ones is of another process.
template <class T> CouplingLists NumericSetup<T>::strong_couplings(Level<T> &level)
{
  const int unknowns = level.unknowns(), bs = level.bs;
  const T  *inverse = level.inverse.data();
  if (level.distributed) { // with those of ghosts
    for_each(exec_, unknowns, CopyValues<T>{inverse, level.work.x.data()});
    level.halo(level.work.x.data());
    inverse = level.work.x.data();
  }
  const StrongRow<T> row{level.i.data(), level.j.data(), level.a.data(), inverse, bs};
  Buffer<int>        first = make<int>((size_t)unknowns + 1);
  for_each(exec_, unknowns, CountStrong<T>{row, first.data()});
  const int n      = scan(exec_, unknowns, first);
  level.blocks.any = (level.distributed ? total(n) : n) > 0;
  if (!level.blocks.any) return {};
  Buffer<int> from = make_unset<int>((size_t)n), to = make_unset<int>((size_t)n), strength = make_unset<int>((size_t)n);
  for_each(exec_, unknowns, ListStrong<T>{row, first.data(), from.data(), to.data(), strength.data()});
  const size_t          here = (size_t)(level.n + level.ghosts) * (size_t)bs;
  Buffer<unsigned char> flag = make<unsigned char>(here);
  for_each(exec_, n, MarkEnds{from.data(), to.data(), flag.data()});
  const Flagged ends(exec_, (int)here, flag);
  CouplingLists lists;
  for (Buffer<int> *of : {&from, &to}) {
    Buffer<int> place = make_unset<int>((size_t)n);
    for_each(exec_, n, GatherValues<int>{of->data(), ends.before.data(), place.data()});
    *of = std::move(place);
  }
  lists.unknown  = listed(ends.place);
  lists.from     = listed(from);
  lists.to       = listed(to);
  lists.strength = listed(strength);
  if (lists.unknown.empty()) return {}; // of a device that has failed
  lists.own = (size_t)(std::lower_bound(lists.unknown.begin(), lists.unknown.end(), unknowns) - lists.unknown.begin());
  return lists;
}

// The blocks of components that lie on several processes, which all of them join, from the same list. met: becomes
// true of the unknowns of such components.
template <class T>
Blocks<long long> NumericSetup<T>::join_shared(const CouplingLists &lists, const std::vector<Named> &names,
                                               std::vector<char> &met)
{
  int size;
  MPI_Comm_size(comm_, &size);
  std::vector<NamedCoupling> list;
  Sets                       components(lists.unknown.size());
  for (size_t k = 0; k < lists.from.size(); ++k) components.join(lists.from[k], lists.to[k]);
  for (size_t u = 0; u < met.size(); ++u)
    if (met[u]) met[(size_t)components.root((int)u)] = 1;
  for (size_t u = 0; u < met.size(); ++u) met[u] = met[(size_t)components.root((int)u)];
  for (size_t k = 0; k < lists.from.size(); ++k) {
    const size_t a = (size_t)lists.from[k], b = (size_t)lists.to[k];
    if (met[a]) list.push_back({lists.strength[k], {names[a], names[b]}});
  }
  MPI_Datatype     coupling;
  const int        count = (int)list.size();
  MPI_Type_contiguous((int)sizeof(NamedCoupling), MPI_BYTE, &coupling);
  MPI_Type_commit(&coupling);
  std::vector<int> counts((size_t)size), begins((size_t)size + 1);
  MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, comm_);
  std::partial_sum(counts.begin(), counts.end(), begins.begin() + 1);
  std::vector<NamedCoupling> all((size_t)begins.back());
  MPI_Allgatherv(list.data(), count, coupling, all.data(), counts.data(), begins.data(), coupling, comm_);
  MPI_Type_free(&coupling);
  return join_named(all, max_in_strong_block);
}

// Of each unknown in the lists: has it a strong coupling with another process, or is it of one?
template <class T> std::vector<char> NumericSetup<T>::meet_others(Level<T> &level, const CouplingLists &lists)
{
  const int         all = (int)lists.unknown.size(), unknowns = level.unknowns();
  const Buffer<int> from = copy_to(exec_.space, lists.from), to = copy_to(exec_.space, lists.to),
                    unknown = copy_to(exec_.space, lists.unknown);
  Buffer<double>    marks = make<double>((size_t)(level.n + level.ghosts) * (size_t)level.bs),
                 of = make_unset<double>((size_t)all);
  for_each(exec_, (int)from.size(), MarkMeeting{from.data(), to.data(), unknown.data(), unknowns, marks.data()});
  level.exchange.add_back(marks.data(), level.bs);
  for_each(exec_, all, GatherValues<double>{unknown.data(), marks.data(), of.data()});
  std::vector<char> met;
  for (double m : listed(of)) met.push_back(m > 0);
  std::fill(met.begin() + (ptrdiff_t)lists.own, met.end(), (char)1);
  return met;
}

// The lists of the blocks in which this process has unknowns.
template <class T> void NumericSetup<T>::find_blocks(Level<T> &level)
{
  StrongBlocks<T> &b = level.blocks;
  b       = StrongBlocks<T>();
  b.found = true;
  const CouplingLists couplings = strong_couplings(level);
  if (!b.any) return;
  BlockLists lists;
  const auto add = [&](const Blocks<long long> &blocks, bool shared) {
    for (size_t k = 0; k < blocks.size(); ++k)
      lists.add(blocks.member.data() + blocks.begin[k], blocks.begin[k + 1] - blocks.begin[k], shared);
  };
  if (level.distributed) {
    const std::vector<double> of_nodes = names_of(level, comm_, couplings.unknown);
    const std::vector<Named>  names = name_unknowns(couplings, of_nodes, level.bs);
    std::vector<char>         met = meet_others(level, couplings);
    lists.find_ghosts(level.n, level.bs, of_nodes.data() + 4 * couplings.unknown.size(), level.ghosts, comm_);
    add(join_shared(couplings, names, met), true);
    add(join_own(couplings, names, met), false);
  } else add(join_own(couplings, {}, {}), false);
  b.n          = (int)lists.begin.size() - 1;
  b.begin      = copy_to(exec_.space, lists.begin);
  b.at         = copy_to(exec_.space, lists.at);
  b.member     = copy_to(exec_.space, lists.member);
  b.row        = copy_to(exec_.space, lists.row);
  b.block      = copy_to(exec_.space, lists.block);
  b.place      = copy_to(exec_.space, lists.place);
  b.needed_row = copy_to(exec_.space, lists.needed);
  for (int &s : lists.needed) s = lists.row[(size_t)s];
  b.needed = copy_to(exec_.space, lists.needed);
  b.partners = (int)lists.owner.size();
  if (level.distributed) {
    b.exchange = Exchange(exec_, comm_, (int)lists.needed.size(), lists.owner, lists.index);
    b.values   = make<T>((lists.needed.size() + lists.owner.size()) * max_vectors);
  }
  const int         entries = lists.at.back();
  const Buffer<int> columns = copy_to(exec_.space, lists.column);
  b.from  = make_unset<int>((size_t)entries);
  b.extra = make_unset<T>((size_t)entries);
  for_each(exec_, entries, SetValues<int>{b.from.data(), -1});
  for_each(exec_, (int)b.row.size(),
           FindEntries<T>{level.i.data(), level.j.data(), b.row.data(), b.block.data(), b.place.data(), b.begin.data(),
                          b.at.data(), columns.data(), level.bs, b.from.data()});
}

template <class T> void NumericSetup<T>::invert_blocks(Level<T> &level)
{
  StrongBlocks<T> &b = level.blocks;
  if (!b.any) return;
  const int      entries = (int)b.from.size(), own = (int)b.needed.size();
  Buffer<double> dense = make_unset<double>((size_t)entries);
  for_each(exec_, entries, FillEntries<T>{b.from.data(), level.a.data(), dense.data()});
  if (level.distributed) {
    Buffer<double> rows = make<double>((size_t)(own + b.partners) * max_in_strong_block);
    for_each(exec_, own,
             PackStrongRow{b.needed_row.data(), b.block.data(), b.place.data(), b.begin.data(), b.at.data(),
                           dense.data(), rows.data()});
    b.exchange.forward(rows.data(), max_in_strong_block);
    for_each(exec_, b.n,
             UnpackStrongRows{b.begin.data(), b.at.data(), b.member.data(),
                              rows.data() + (ptrdiff_t)own * max_in_strong_block, dense.data()});
  }
  for_each(exec_, b.n, InvertStrong<T>{b.begin.data(), b.at.data(), dense.data(), b.extra.data()});
}

// keep: the blocks stay as they are. On a line all couplings are strong, and without blocks its grids suffice.
template <class T> void NumericSetup<T>::prepare_blocks(Level<T> &level, bool keep)
{
  if (params_.dim == 1) return;
  if (!keep || !level.blocks.found) find_blocks(level);
  invert_blocks(level);
}

#define INSTANTIATE(T) \
  template void NumericSetup<T>::prepare_blocks(Level<T> &, bool); \
  template struct StrongBlocks<T>; \
  template CouplingLists                       NumericSetup<T>::strong_couplings(Level<T> &); \
  template std::vector<char>                   NumericSetup<T>::meet_others(Level<T> &, const CouplingLists &); \
  template Blocks<long long> NumericSetup<T>::join_shared(const CouplingLists &, const std::vector<Named> &, \
                                                          std::vector<char> &); \
  template void                                NumericSetup<T>::find_blocks(Level<T> &); \
  template void                                NumericSetup<T>::invert_blocks(Level<T> &);
#define INSTANTIATE_ADD(T, ...) \
  template void StrongBlocks<T>::add<__VA_ARGS__>(const Level<T> &, const __VA_ARGS__ *, T, __VA_ARGS__ *, \
                                                  __VA_ARGS__ *, T);
#define INSTANTIATE_ALL(T) INSTANTIATE(T) TESSERA_ALL_WIDTHS(INSTANTIATE_ADD, T)
INSTANTIATE_ALL(double)
INSTANTIATE_ALL(float)

} // namespace tessera::tree
