// May a mesh have parts (part_functions.hpp), and their lists, from the labels of their nodes.
#include "tree/part_functions/part_functions.hpp"
#include "tree/hierarchy.hpp"
#include "tree/cells/keepers.hpp"
#include "tree/smoother/pockets.hpp"
#include "exec/each.hpp"
#include "exec/gather.hpp"
#include "exec/sort.hpp"
#include "exec/unset.hpp"
#include <algorithm>
#include <set>

namespace tessera::tree {

namespace {

constexpr double tied_in_part  = 0.05; // of the larger diagonal entry
constexpr int    least_in_part = 3;
constexpr int    piece         = 1024; // most members of a part that are added up by one warp of a device

// Nodes with weak couplings: entries beside the diagonal entry, which is the same for both where nothing jumps.
struct WeakNodes {
  double  weak = 0, very_weak = 0;
  HD void join(const WeakNodes &o)
  {
    weak += o.weak;
    very_weak += o.very_weak;
  }
};
template <class T> struct FindWeak {
  const int *i, *j;
  const T   *a, *inverse;
  int        dim;
  HD void    operator()(int p, WeakNodes &found) const
  {
    constexpr double rounding = 1e-12;
    if (!(inverse[p] > 0)) return;
    int weak = 0, very_weak = 0;
    for (int e = i[p]; e < i[p + 1]; ++e) {
      const T size = fabs(a[e]) * inverse[p];
      weak += size < (T)1e-3 && size > (T)rounding;
      very_weak += size < (T)1e-4 && size > (T)rounding;
    }
    found.join({(double)(weak >= dim), (double)(very_weak >= dim)});
  }
};
// The part of a label that processes share, or -1
struct PartOfLabel {
  const double *label; // in order
  int           shared;
  HD int        operator()(double of) const
  {
    const int k = lower_bound(label, 0, shared, of);
    return k < shared && label[k] == of ? k : -1;
  }
};
struct KeyOfPart {
  const double *label;
  PartOfLabel   part_of;
  Key           none, *key;
  HD void       operator()(int p) const
  {
    const int part = part_of(label[p]);
    key[p] = label[p] < 0 ? none : part >= 0 ? (Key)part : (Key)part_of.shared + (Key)label[p];
  }
};
struct GhostPart { // none of own nodes, for the time being
  const double *label;
  PartOfLabel   part_of;
  int           n, *of;
  HD void       operator()(int p) const { of[p] = p < n ? -1 : part_of(label[p]); }
};
struct MemberOfPart {
  const Key *key;
  const int *order, *before; // parts that begin ahead of a node, from `begin` on
  int        shared, begin, *member, *of;
  HD void    operator()(int k) const
  {
    const int p = member[k] = order[k];
    of[p] = key[k] < (Key)shared ? (int)key[k] : shared + before[k - begin + 1] - 1;
  }
};
struct CountPieces {
  PartBegins begin;
  int       *count;
  HD void    operator()(int part) const { count[part] = (begin(part + 1) - begin(part) + piece - 1) / piece; }
};
struct ListPieces {
  PartBegins begin;
  const int *first;
  int       *list;
  HD void    operator()(int part) const
  {
    if (part == begin.parts) list[first[part]] = begin.members;
    else
      for (int k = first[part]; k < first[part + 1]; ++k) list[k] = begin(part) + (k - first[part]) * piece;
  }
};
} // namespace

// Have many nodes weak couplings with several others, beside those of right angles, which are zero? Of a mesh without
// barriers one node of 2000 has two below 0.001, and a hundredth as many have two below 0.0001; in space it is one of
// 400 with three, up to one of 30 where elements are bad. Or are there components of couplings that are not weak?
template <class T> bool PartFunctions<T>::may_have_parts(Level<T> &level) const
{
  constexpr double few = 16;
  const FindWeak<T> kernel{level.i.data(), level.j.data(), level.a.data(), level.inverse.data(), dim_};
  WeakNodes         found = join_each<WeakNodes>(level.exec, level.n, kernel);
  if (level.distributed) MPI_Allreduce(MPI_IN_PLACE, &found, 2, MPI_DOUBLE, MPI_SUM, comm_);
  if (found.weak > few + (dim_ == 2 ? 0.002 : 0.01) * level.nodes ||
      found.very_weak > few + (dim_ == 2 ? 2e-5 : 1e-4) * level.nodes)
    return true;
  Buffer<T> inverse = make_unset<T>(level.exec, (size_t)(level.n + level.ghosts));
  for_each(level.exec, level.n, CopyValues<T>{level.inverse.data(), inverse.data()});
  level.halo(inverse.data());
  return count_components(comm_, level, inverse.data(), (T)tied_in_part, least_in_part, level.nodes / 2) > 0;
}

// The parts of nodes with those labels, ghosts included: first those that processes share, which are known to be in
// the list of all.
template <class T> void PartFunctions<T>::number(Level<T> &level, const Buffer<double> &label)
{
  const Exec         &exec = level.exec;
  const int           n = level.n;
  std::vector<double> shared;
  if (level.distributed) {
    std::vector<double> ghosts((size_t)level.ghosts);
    copy(label.data() + n, exec.space, ghosts.data(), Space::host, ghosts.size());
    const std::set<double> of_ghosts(ghosts.begin(), ghosts.end());
    shared = gather_from_all(comm_, std::vector<double>(of_ghosts.begin(), of_ghosts.end())).all;
    std::sort(shared.begin(), shared.end());
    shared.erase(std::unique(shared.begin(), shared.end()), shared.end());
    shared.erase(shared.begin(), std::lower_bound(shared.begin(), shared.end(), 0.));
  }
  shared_ = (int)shared.size();
  const Buffer<double> list = copy_to(exec.space, shared);
  const PartOfLabel    part_of{list.data(), shared_};
  const Key            none = (Key)1 << 54; // of nodes in no part: labels are whole numbers of 53 bits
  Buffer<Key>          key  = make_unset<Key>(exec, (size_t)n);
  Buffer<int>          order, first, none_from;
  for_each(exec, n, KeyOfPart{label.data(), part_of, none, key.data()});
  sort_keys(exec, n, bits_of(none), key, order);
  bucket_starts(exec, n, key.data(), shared_, (Key)0, first);
  bucket_starts(exec, n, key.data(), 0, none, none_from);
  const int             begin_own = fetch(first, (size_t)shared_), members = fetch(none_from, 0);
  Buffer<unsigned char> flag = make_unset<unsigned char>(exec, (size_t)(members - begin_own));
  for_each(exec, members - begin_own, FirstOfRun<Key>{key.data() + begin_own, flag.data()});
  const Flagged own(exec, members - begin_own, flag);
  parts_  = shared_ + own.count;
  member_ = make_unset<int>(exec, (size_t)members);
  of_     = make_unset<int>(exec, label.size());
  for_each(exec, (int)label.size(), GhostPart{label.data(), part_of, n, of_.data()});
  for_each(exec, members, MemberOfPart{key.data(), order.data(), own.before.data(), shared_, begin_own, member_.data(),
                                       of_.data()});
  divide(exec, PartBegins{first.data(), own.place.data(), shared_, parts_, begin_own, members});
}

// Into pieces
template <class T> void PartFunctions<T>::divide(const Exec &exec, const PartBegins &begins)
{
  begin_ = make_unset<int>(exec, (size_t)parts_ + 1);
  for_each(exec, parts_, CountPieces{begins, begin_.data()});
  const int pieces = scan(exec, parts_, begin_);
  piece_ = make_unset<int>(exec, (size_t)pieces + 1);
  for_each(exec, parts_ + 1, ListPieces{begins, begin_.data(), piece_.data()});
  of_pieces_ = make_unset<double>(exec, ((size_t)pieces + 1) * max_vectors * (size_t)(dim_ + 1));
}

#define INSTANTIATE(T) \
  template bool PartFunctions<T>::may_have_parts(Level<T> &) const; \
  template void PartFunctions<T>::number(Level<T> &, const Buffer<double> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
