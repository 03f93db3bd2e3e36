// Components of the graph of strong couplings: sets of places that grow together without an order, each named by its
// least place, so that host and device find the same.
#include "box/tuning.hpp"
#include "exec/each.hpp"
#include "exec/sets.hpp"
#include "exec/sort.hpp"
#include "rrb/three/hierarchy.hpp"

namespace tessera::rrb::three {

namespace {

// The couplings of a node that are strong: f(place of the neighbour, is it ahead, is it an own node).
template <class T, int F> struct Strong {
  box::Symmetric3<T, F> s;
  const uint8_t        *alive;
  Box3                  own;
  HD bool is_own(int i, int j, int k) const
  {
    return i >= own.lo[0] && i < own.hi[0] && j >= own.lo[1] && j < own.hi[1] && k >= own.lo[2] && k < own.hi[2];
  }
  HD bool is_strong(T v, ptrdiff_t e, ptrdiff_t q) const
  {
    const T larger = s.a[e] > s.a[q] ? s.a[e] : s.a[q];
    return alive[q] && fabs((double)v) > tuning::loose_coupling * (double)larger;
  }
  template <int P, class G> HD void each(int t, ptrdiff_t o, int j, int k, const G &f) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)s.half;
    const int       i = 2 * t + P;
    if (!alive[e]) return;
    box::unroll3<0, F>([&](auto m) {
      constexpr int   M = decltype(m)::value, x = box::forward<M>(0), y = box::forward<M>(1), z = box::forward<M>(2);
      const ptrdiff_t q = o + s.template place<P, x>(y, z), p = o + s.template place<P, -x>(-y, -z);
      if (is_strong(s.a[(M + 1) * s.plane + e], e, q)) f(q, true, is_own(i + x, j + y, k + z));
      if (is_strong(s.a[(M + 1) * s.plane + p], e, p)) f(p, false, is_own(i - x, j - y, k - z));
    });
  }
};

// A bit for each coupling ahead that is strong, beside `kind`; at how many nodes that is another pattern than before.
struct Changes {
  double  nodes = 0;
  HD void join(const Changes &o) { nodes += o.nodes; }
};
template <class T, int F> struct FindPattern {
  Strong<T, F> strong;
  int          kind;
  uint16_t    *pattern;
  template <int P> HD void at(int, ptrdiff_t o, int, int, Changes &changes) const
  {
    const ptrdiff_t e    = o + P * (ptrdiff_t)strong.s.half;
    int             bits = 0;
    box::unroll3<0, F>([&](auto m) {
      constexpr int   M = decltype(m)::value, x = box::forward<M>(0), y = box::forward<M>(1), z = box::forward<M>(2);
      const ptrdiff_t q = o + strong.s.template place<P, x>(y, z);
      bits |= (int)strong.is_strong(strong.s.a[(M + 1) * strong.s.plane + e], e, q) << M;
    });
    const uint16_t now = (uint16_t)(kind | (strong.alive[e] ? bits : 0));
    changes.nodes += pattern[e] != now;
    pattern[e] = now;
  }
};

template <class T, int F> struct Unite {
  Strong<T, F> strong;
  int                     *parent;
  uint8_t     *tied; // to any node
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e   = o + P * (ptrdiff_t)strong.s.half;
    bool            any = false;
    strong.template each<P>(t, o, j, k, [&](ptrdiff_t q, bool ahead, bool own) {
      any = true;
      if (ahead && own) unite(parent, (int)e, (int)q);
    });
    tied[e] = any;
  }
};
struct Root {
  const uint8_t *tied;
  int           *parent, *count;
  HD void        operator()(int p) const { count[p] = tied[p] && parent[p] == p; }
};
struct NumberSets {
  const uint8_t *tied;
  int           *parent;
  const int     *before; // roots
  int            others; // roots of processes before this one
  double        *number; // as ghosts are told numbers
  HD void        operator()(int p) const { number[p] = tied[p] ? 1. + others + before[root_of(parent, p)] : 0; }
};
// Pairs of numbers that strong couplings with ghosts tie together: is there one at the node; and all of them.
template <class T, int F> struct FindPairs {
  Strong<T, F>  strong;
  const double *number;
  uint8_t      *any;
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e     = o + P * (ptrdiff_t)strong.s.half;
    bool            found = false;
    strong.template each<P>(t, o, j, k, [&](ptrdiff_t q, bool ahead, bool own) {
      found = found || (ahead && !own && number[q] != number[e]);
    });
    any[e] = found;
  }
};
template <class T, int F> struct TakePairs {
  Strong<T, F>   strong;
  const double  *number;
  const uint8_t *any;
  const int     *before; // nodes with pairs
  int           *pairs;  // F of each of them; 0 where there are less
  template <int P> HD void at(int t, ptrdiff_t o, int j, int k) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)strong.s.half;
    if (!any[e]) return;
    int *to = pairs + 2 * (ptrdiff_t)F * before[e];
    strong.template each<P>(t, o, j, k, [&](ptrdiff_t q, bool ahead, bool own) {
      if (!ahead || own || number[q] == number[e]) return;
      *to++ = (int)number[e];
      *to++ = (int)number[q];
    });
  }
};
struct Join {
  const int    *joined;
  const double *number;
  int          *label;
  HD void       operator()(int p) const { label[p] = joined[(int)number[p]]; }
};

// The pairs of this process, two numbers each.
template <class T> std::vector<int> pairs_of(const Level<T> &l, const Buffer<double> &number, Buffer<uint8_t> &flags)
{
  const int        n = (int)l.layout.size();
  Buffer<int>      before, found;
  std::vector<int> pairs;
  flags.zero();
  with_operator(l, [&](auto s) {
    constexpr int                    F = decltype(s)::kept;
    const Strong<T, F>               strong{s, l.alive.data(), l.own};
    box::for_nodes(l.exec, l.layout, l.own, FindPairs<T, F>{strong, number.data(), flags.data()});
    count_flags(l.exec, n, flags, before);
    const int nodes = last_of(l.exec, {&before})[0];
    if (!nodes) return;
    found.resize((int)(2 * F) * Extent{(size_t)nodes, l.exec.space});
    box::for_nodes(l.exec, l.layout, l.own,
                   TakePairs<T, F>{strong, number.data(), flags.data(), before.data(), found.data()});
    pairs.resize(found.size());
    copy(found.data(), l.exec.space, pairs.data(), Space::host, pairs.size());
  });
  size_t kept = 0;
  for (size_t k = 0; k + 1 < pairs.size(); k += 2)
    if (pairs[k]) pairs[kept] = pairs[k], pairs[kept + 1] = pairs[k + 1], kept += 2;
  pairs.resize(kept);
  return pairs;
}

} // namespace

template <class T> bool pattern_changes(const Level<T> &l, const Comm &comm, Buffer<uint16_t> &pattern)
{
  const Extent    all{l.layout.size(), l.exec.space};
  Buffer<Changes> changes(Extent{2, l.exec.space});
  const bool      first = pattern.size() != all.n;
  if (first) {
    pattern.resize(all);
    pattern.zero();
  }
  static_assert(box::box_forward < 14, "bits of a pattern");
  with_operator(l, [&](auto s) {
    constexpr int F = decltype(s)::kept;
    box::join_nodes(l.exec, l.layout, l.own,
                    FindPattern<T, F>{
                      {s, l.alive.data(), l.own},
                      l.star << 14 | l.schur << 15, pattern.data()
    },
                    changes.data());
  });
  Changes both = box::joined(changes);
  if (!l.shared) both = box::sum_over(comm, both);
  return first || both.nodes > 0;
}

template <class T> int find_components(const Level<T> &l, const Comm &comm, Buffer<int> &labels)
{
  const Extent    all{l.layout.size(), l.exec.space};
  const int       n = (int)all.n;
  Buffer<int>     parent(all), before(Extent{all.n + 1, all.space});
  Buffer<uint8_t> tied(all);
  Buffer<double>  number(all);
  int             others = 0, rank = 0;
  for_each(l.exec, n, Enumerate{parent.data()});
  with_operator(l, [&](auto s) {
    constexpr int F = decltype(s)::kept;
    box::for_nodes(l.exec, l.layout, l.own,
                   Unite<T, F>{
                     {s, l.alive.data(), l.own},
                     parent.data(), tied.data()
    });
  });
  for_each(l.exec, n, Root{tied.data(), parent.data(), before.data()});
  int total = scan(l.exec, n, before);
  if (!l.shared) {
    const int mine = total;
    MPI_Comm_rank(comm, &rank);
    MPI_Exscan(&mine, &others, 1, MPI_INT, MPI_SUM, comm);
    if (!rank) others = 0;
    MPI_Allreduce(&mine, &total, 1, MPI_INT, MPI_SUM, comm);
  }
  if (!total) return 0;
  for_each(l.exec, n, NumberSets{tied.data(), parent.data(), before.data(), others, number.data()});
  const_cast<Level<T> &>(l).halo.exchange(number.data());
  const Buffer<int> joined =
    copy_to(l.exec.space, join_pairs(l.shared ? MPI_COMM_SELF : (MPI_Comm)comm, total, pairs_of(l, number, tied)));
  labels.resize(all);
  for_each(l.exec, n, Join{joined.data(), number.data(), labels.data()});
  return total;
}

#define INSTANTIATE(T) \
  template bool pattern_changes(const Level<T> &, const Comm &, Buffer<uint16_t> &); \
  template int  find_components(const Level<T> &, const Comm &, Buffer<int> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::rrb::three
