// Which unknowns are in the blocks of the smoother (blocks.hpp), and the lists of these. What lies on one process is
// found where its numbers are; blocks of components that lie on several are found by the hosts of all, from one list.
#include "tree/hierarchy.hpp"
#include "tree/smoother/clusters.hpp"
#include "tree/cells/pairs.hpp"
#include "exec/sets.hpp"
#include <map>

namespace tessera::tree {

namespace {

constexpr int    pocket_strength = 4; // of couplings in a pocket: before all others

// f(strength, other unknown) for the couplings of unknown p with others that may be in a block.
template <class T> struct StrongRow {
  const int                 *i, *j;
  const T                   *a, *inverse; // inverse: with ghosts
  int                        bs;
  const unsigned char       *pocket;      // nullptr, or whether each node is in one
  static constexpr T         least = (T)(coupling_beside * coupling_beside);
  template <class F> HD void each(int p, const F &f) const
  {
    each_strength(p, [&](T s, int q) {
      if (s > least) f(s, q);
    });
  }
  // and for the weaker ones; of an unknown with itself it is zero
  template <class F> HD void each_strength(int p, const F &f) const
  {
    const T    mine = inverse[p];
    const bool in_pocket = pocket && pocket[p];
    if (bs == 1 && !in_pocket) { // most rows, and half of the instructions
      for (int e = i[p]; e < i[p + 1]; ++e) f(j[e] == p ? 0 : a[e] * mine * a[e] * inverse[j[e]], j[e]);
      return;
    }
    const int node = p / bs, k = p % bs;
    for (int e = i[node]; e < i[node + 1]; ++e)
      for (int m = 0; m < bs; ++m) {
        const ptrdiff_t to = ((ptrdiff_t)e * bs + k) * bs + m;
        const int       q  = j[e] * bs + m;
        T               s  = a[to] * mine * a[to] * inverse[q];
        if (in_pocket && pocket[q] && tied(a[to], mine, inverse[q])) s = pocket_strength;
        f(q == p ? 0 : s, q);
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
    row.each_strength(p, [&](T s, int) { // without branches, which nobody could predict
      n += s > row.least;
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
      me.strength[at] = s < 4 ? (int)(4096 * s + (T)0.5) : (int)(4096 * pocket_strength); // alike in spite of rounding
      ++at;
    });
  }
};
// Where each unknown is among the members of all blocks.
struct NumberMembers {
  const int *column; // of each member, in the operator here; -1: it is not there
  int       *number;
  HD void    operator()(int m) const
  {
    if (column[m] >= 0) number[column[m]] = m;
  }
};
// Where the entries of the block of own unknown row[s] are.
template <class T> struct FindEntries {
  const int *i, *j, *row, *block, *place, *begin, *at, *number; // number: of unknowns among the members, or -1
  int        bs;
  int       *from;
  HD void    operator()(int s) const
  {
    const int  b = block[s], first = begin[b], n = begin[b + 1] - first, node = row[s] / bs, k = row[s] % bs;
    int *const mine = from + at[b] + place[s] * n;
    int        others; // columns that are in no block, or in another one
    for (int e = i[node]; e < i[node + 1]; ++e)
      for (int m = 0; m < bs; ++m) { // without branches, which nobody could predict
        const int q = number[j[e] * bs + m] - first;
        *((unsigned)q < (unsigned)n ? mine + q : &others) = (e * bs + k) * bs + m;
      }
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
// Components of unknowns that couplings tie together: those meet others of which an unknown is another process's, or is
// coupled with one.
struct Tie {
  const int *a, *b;
  int       *parent;
  HD void    operator()(int k) const { unite(parent, a[k], b[k]); }
};
struct MarkMeeting {
  const int *a, *b, *unknown;
  int        own; // unknowns of this process
  double    *mark;
  HD void    operator()(int k) const
  {
    if (unknown[b[k]] >= own) mark[unknown[a[k]]] = mark[unknown[b[k]]] = 1;
  }
};
struct MarkRoot {
  const int     *unknown;
  int            own;
  const double  *mark;
  int           *parent;
  unsigned char *met;
  HD void        operator()(int k) const
  {
    if (unknown[k] >= own || mark[unknown[k]] > 0) met[root_of(parent, k)] = 1;
  }
};
struct MeetsOthers {
  int                 *parent;
  const unsigned char *met;
  const int           *item; // nullptr: all
  bool                 wanted;
  unsigned char       *flag;
  HD void operator()(int k) const { flag[k] = (met[root_of(parent, item ? item[k] : k)] != 0) == wanted; }
};
// The order of own unknowns on any process; where nodes have no keys, that of their numbers.
struct OrderKey {
  const int *unknown;
  const Key *key; // of nodes
  int        own, bs;
  Key       *to;
  HD void    operator()(int k) const
  {
    const int u = unknown[k];
    to[k] = u >= own ? ~(Key)0 : (key ? key[u / bs] : (Key)(u / bs)) * (Key)bs + (Key)(u % bs);
  }
};

// Where own blocks are in the lists, behind those of several processes, of which there are `blocks` with so many
// members, entries and own unknowns.
struct OwnBlocks {
  const int *first, *squares; // of each block: its first member, and the entries before it; and the end
  int        count, blocks, members, entries, rows;
  int       *begin, *at;
  HD void    operator()(int c) const // and the end
  {
    begin[blocks + c] = members + first[c];
    at[blocks + c]    = entries + squares[c];
  }
};
struct OwnMembers {
  OwnBlocks  own;
  const int *place, *unknown; // of each member
  int       *member, *column, *row, *block, *in_block;
  HD void    operator()(int p) const
  {
    int c = 0;
    for (int end = own.count; end - c > 1;) { // first[c] <= p < first[end]
      const int middle = c + (end - c) / 2;
      if (own.first[middle] <= p) c = middle;
      else end = middle;
    }
    member[own.members + p] = column[own.members + p] = row[own.rows + p] = unknown[place[p]];
    block[own.rows + p]    = own.blocks + c;
    in_block[own.rows + p] = p - own.first[c];
  }
};
struct Squares {
  const int *first;
  int       *square;
  HD void    operator()(int c) const { square[c] = (first[c + 1] - first[c]) * (first[c + 1] - first[c]); }
};

// What stands in those places.
Buffer<int> gathered(const Exec &exec, const Buffer<int> &places, const Buffer<int> &from)
{
  Buffer<int> to = make_unset<int>(exec, places.size());
  for_each(exec, (int)places.size(), GatherValues<int>{places.data(), from.data(), to.data()});
  return to;
}

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

} // namespace

// The strong couplings of own unknowns with others.
template <class T> StrongCouplings NumericSetup<T>::strong_couplings(Level<T> &level)
{
  StrongCouplings couplings;
  const int unknowns = level.unknowns(), bs = level.bs;
  const T  *inverse = level.inverse.data();
  if (level.distributed) { // with those of ghosts
    for_each(exec_, unknowns, CopyValues<T>{inverse, level.work.x.data()});
    level.halo(level.work.x.data());
    inverse = level.work.x.data();
  }
  Buffer<unsigned char> pockets;
  if (filtered_ && bs == 1 && &level == &levels_[0] && !params_.all_take_part) pockets = find_pockets(level, inverse);
  const StrongRow<T> row{level.i.data(), level.j.data(), level.a.data(), inverse, bs,
                         pockets.empty() ? nullptr : pockets.data()};
  Buffer<int>        first = make<int>((size_t)unknowns + 1);
  for_each(exec_, unknowns, CountStrong<T>{row, first.data()});
  const int n      = scan(exec_, unknowns, first);
  level.blocks.any = (level.distributed ? total(n) : n) > 0;
  if (!level.blocks.any) return couplings;
  WeightedPairs &pairs = couplings.pairs;
  for (Buffer<int> *of : {&pairs.a, &pairs.b, &pairs.strength}) *of = make_unset<int>((size_t)n);
  for_each(exec_, unknowns, ListStrong<T>{row, first.data(), pairs.a.data(), pairs.b.data(), pairs.strength.data()});
  const size_t          here = (size_t)(level.n + level.ghosts) * (size_t)bs;
  Buffer<unsigned char> flag = make<unsigned char>(here);
  for_each(exec_, n, MarkEnds{pairs.a.data(), pairs.b.data(), flag.data()});
  Flagged ends(exec_, (int)here, flag);
  for (Buffer<int> *of : {&pairs.a, &pairs.b}) *of = gathered(exec_, *of, ends.before);
  couplings.unknown = std::move(ends.place);
  return couplings;
}

// The couplings in the list of components that lie on several processes, with names; they are taken out of it. columns
// becomes those of ghosts by their names.
template <class T>
std::vector<NamedCoupling> NumericSetup<T>::take_shared(Level<T> &level, StrongCouplings &couplings,
                                                        std::map<long long, int> &columns)
{
  WeightedPairs        &pairs = couplings.pairs;
  const int             count = (int)pairs.a.size(), all = (int)couplings.unknown.size(), own = level.unknowns();
  Buffer<double>        marks  = make<double>((size_t)(level.n + level.ghosts) * (size_t)level.bs);
  Buffer<int>           parent = make_unset<int>((size_t)all);
  Buffer<unsigned char> met    = make<unsigned char>((size_t)all);
  for_each(exec_, count, MarkMeeting{pairs.a.data(), pairs.b.data(), couplings.unknown.data(), own, marks.data()});
  level.exchange.add_back(marks.data(), level.bs);
  for_each(exec_, all, Enumerate{parent.data()});
  for_each(exec_, count, Tie{pairs.a.data(), pairs.b.data(), parent.data()});
  for_each(exec_, all, MarkRoot{couplings.unknown.data(), own, marks.data(), parent.data(), met.data()});

  const auto those = [&](const int *item, int n, bool meet) {
    Buffer<unsigned char> flag = make_unset<unsigned char>((size_t)n);
    for_each(exec_, n, MeetsOthers{parent.data(), met.data(), item, meet, flag.data()});
    return Flagged(exec_, n, flag);
  };
  const auto take = [&](const Flagged &of, const Buffer<int> &from) { return gathered(exec_, of.place, from); };
  std::vector<NamedCoupling> list;
  const Flagged              meeting = those(pairs.a.data(), count, true);
  if (!total(meeting.count)) return list;
  const Flagged             unknowns = those(nullptr, all, true);
  const std::vector<int>    unknown = listed(take(unknowns, couplings.unknown)), place = listed(unknowns.before),
                         strength = listed(take(meeting, pairs.strength)), a = listed(take(meeting, pairs.a)),
                         b = listed(take(meeting, pairs.b));
  const std::vector<double> names = names_of(level, comm_, unknown);
  const auto                named = [&](int item) {
    const size_t        k  = (size_t)place[(size_t)item];
    const double *const of = names.data() + 4 * k; // of its node
    const int           at = unknown[k] % level.bs;
    return Named{(((Key)of[2] << 32) + (Key)of[3]) * (Key)level.bs + (Key)at,
                 unknown_of((int)of[0], (int)of[1] * level.bs + at)};
  };
  for (size_t k = 0; k < strength.size(); ++k) list.push_back({strength[k], {named(a[k]), named(b[k])}});
  for (int g = 0; g < level.ghosts; ++g)
    for (int k = 0; k < level.bs; ++k) {
      const double *const of = names.data() + 4 * (unknown.size() + (size_t)g);
      columns[unknown_of((int)of[0], (int)of[1] * level.bs + k)] = (level.n + g) * level.bs + k;
    }
  const Flagged alone = those(pairs.a.data(), count, false);
  for (Buffer<int> *of : {&pairs.strength, &pairs.a, &pairs.b}) *of = take(alone, *of);
  return list;
}

// The unknowns of the couplings in an order that does not depend on the processes; the couplings go by it then.
template <class T> void NumericSetup<T>::order_unknowns(const Level<T> &level, StrongCouplings &couplings)
{
  const int   all = (int)couplings.unknown.size();
  Buffer<Key> key = make_unset<Key>((size_t)all);
  Buffer<int> order, place = make_unset<int>((size_t)all);
  for_each(exec_, all, OrderKey{couplings.unknown.data(), level.start.data(), level.unknowns(), level.bs, key.data()});
  sort_keys(exec_, all, 64, key, order);
  for_each(exec_, all, InvertList{order.data(), place.data()});
  couplings.unknown = gathered(exec_, order, couplings.unknown);
  for (Buffer<int> *of : {&couplings.pairs.a, &couplings.pairs.b}) *of = gathered(exec_, *of, place);
}

// The lists of the blocks in which this process has unknowns: those of several processes, then its own.
template <class T> void NumericSetup<T>::list_blocks(Level<T> &level, const SharedBlocks &shared,
                                                     const Clusters &own, const Buffer<int> &unknown)
{
  StrongBlocks<T> &b       = level.blocks;
  const int        members = (int)own.member.size(), count = own.count(), rows = (int)shared.row.size();
  Buffer<int>      squares = make<int>((size_t)count + 1), column;
  for_each(exec_, count, Squares{own.begin.data(), squares.data()});
  const int  entries = shared.at.back() + scan(exec_, count, squares);
  const auto extend  = [&](const std::vector<int> &those, int more, Buffer<int> &list) {
    list = make_unset<int>(those.size() + (size_t)more);
    copy(those.data(), Space::host, list.data(), list.space(), those.size());
  };
  extend(shared.begin, count, b.begin);
  extend(shared.at, count, b.at);
  extend(shared.member, members, b.member);
  extend(shared.column, members, column);
  extend(shared.row, members, b.row);
  extend(shared.block, members, b.block);
  extend(shared.place, members, b.place);
  device::synchronize(exec_.space); // what has been sent may go
  const OwnBlocks blocks{own.begin.data(),
                         squares.data(),
                         count,
                         (int)shared.begin.size() - 1,
                         (int)shared.member.size(),
                         shared.at.back(),
                         rows,
                         b.begin.data(),
                         b.at.data()};
  for_each(exec_, count + 1, blocks);
  for_each(exec_, members,
           OwnMembers{blocks, own.member.data(), unknown.data(), b.member.data(), column.data(), b.row.data(),
                      b.block.data(), b.place.data()});
  b.n     = blocks.blocks + count;
  b.from  = make_unset<int>((size_t)entries);
  b.extra = make<T>((size_t)entries + max_strong_block); // the host reads behind the end
  for_each(exec_, entries, SetValues<int>{b.from.data(), -1});
  Buffer<int> number = make_unset<int>((size_t)(level.n + level.ghosts) * (size_t)level.bs);
  for_each(exec_, (int)number.size(), SetValues<int>{number.data(), -1});
  for_each(exec_, (int)column.size(), NumberMembers{column.data(), number.data()});
  for_each(exec_, (int)b.row.size(),
           FindEntries<T>{level.i.data(), level.j.data(), b.row.data(), b.block.data(), b.place.data(), b.begin.data(),
                          b.at.data(), number.data(), level.bs, b.from.data()});
}

template <class T> void NumericSetup<T>::find_blocks(Level<T> &level)
{
  StrongBlocks<T> &b = level.blocks;
  b       = StrongBlocks<T>();
  b.found = true;
  StrongCouplings couplings = strong_couplings(level);
  if (!b.any) return;
  SharedBlocks shared;
  if (level.distributed) {
    std::map<long long, int>         columns;
    const std::vector<NamedCoupling> list = take_shared(level, couplings, columns);
    shared.join(comm_, list, columns);
    order_unknowns(level, couplings);
  }
  list_blocks(level, shared,
              join_strongest(exec_, couplings.pairs, (int)couplings.unknown.size(), max_strong_block),
              couplings.unknown);
  if (!level.distributed) return;
  std::vector<int> needed = shared.needed;
  b.needed_row = copy_to(exec_.space, needed);
  for (int &s : needed) s = shared.row[(size_t)s];
  b.needed   = copy_to(exec_.space, needed);
  b.partners = (int)shared.owner.size();
  b.exchange = Exchange(exec_, comm_, (int)needed.size(), shared.owner, shared.index);
  b.values   = make<T>((needed.size() + shared.owner.size()) * max_vectors);
}

#define INSTANTIATE(T) \
  template StrongCouplings            NumericSetup<T>::strong_couplings(Level<T> &); \
  template std::vector<NamedCoupling> NumericSetup<T>::take_shared(Level<T> &, StrongCouplings &, \
                                                                   std::map<long long, int> &); \
  template void NumericSetup<T>::order_unknowns(const Level<T> &, StrongCouplings &); \
  template void NumericSetup<T>::list_blocks(Level<T> &, const SharedBlocks &, const Clusters &, \
                                             const Buffer<int> &); \
  template void NumericSetup<T>::find_blocks(Level<T> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
