// The parts of a mesh (part_functions.hpp) as lists, from the labels of their nodes.
#include "tree/part_functions.hpp"
#include "tree/hierarchy.hpp"
#include "tree/keepers.hpp"
#include "exec/each.hpp"
#include "exec/gather.hpp"
#include "exec/sort.hpp"
#include "exec/unset.hpp"
#include <algorithm>
#include <set>

namespace tessera::tree {

namespace {

constexpr int piece = 1024; // most members of a part that are added up by one warp of a device

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

#define INSTANTIATE(T) template void PartFunctions<T>::number(Level<T> &, const Buffer<double> &);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::tree
