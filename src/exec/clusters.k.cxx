// Kruskal's algorithm up to a size: pair by pair on the host. On a device all pairs that are the first one left of both
// of their clusters join them at a time. That gives the same clusters, as no pair that comes earlier and is still left
// touches either of the two.
#include "exec/clusters.hpp"
#include "exec/each.hpp"
#include "exec/sets.hpp"
#include "exec/sort.hpp"
#include "exec/unset.hpp"

namespace tessera {

namespace {

// A chain of pairs each of which waits for the one before it takes as many rounds as it has pairs.
constexpr int max_rounds = 100;
constexpr int strength_bits = 15;

// Keys by which pairs are in order: by the lesser item and the other one, of `bits` bits each; the strongest one first.
struct ItemsKey {
  const int *a, *b;
  int        bits;
  Key       *key;
  HD void    operator()(int k) const
  {
    key[k] = (Key)(a[k] < b[k] ? a[k] : b[k]) << bits | (Key)(a[k] < b[k] ? b[k] : a[k]);
  }
};
struct StrengthKey {
  const int *order, *strength;
  Key       *key;
  HD void    operator()(int k) const { key[k] = (Key)(strongest_pair - strength[order[k]]); }
};
HD inline int item_of(Key key, int bits, int which)
{
  return (int)(key >> (which ? 0 : bits) & (((Key)1 << bits) - 1));
}

// The clusters that a pair may join, and the first pair left of each of them. flag: may it?
struct Offer {
  const Key     *key;
  const int     *left;
  int            bits, n, max_size;
  int           *parent;
  const int     *size;
  int           *root, *first; // two of each pair that is left; n less the first pair
  unsigned char *flag;
  HD void        operator()(int p) const
  {
    const int e = left[p], a = root_of(parent, item_of(key[e], bits, 0)), b = root_of(parent, item_of(key[e], bits, 1));
    flag[p] = a != b && size[a] + size[b] <= max_size;
    if (!flag[p]) return;
    root[2 * (ptrdiff_t)p] = a, root[2 * (ptrdiff_t)p + 1] = b;
    raise_to(first + a, n - e);
    raise_to(first + b, n - e);
  }
};
struct JoinFirst {
  const int     *left, *root;
  int            n;
  const int     *first;
  int           *parent, *size;
  unsigned char *flag;
  HD void        operator()(int p) const
  {
    const int a = root[2 * (ptrdiff_t)p], b = root[2 * (ptrdiff_t)p + 1], mine = n - left[p];
    if (!flag[p] || first[a] != mine || first[b] != mine) return;
    const int low = a < b ? a : b, high = a < b ? b : a;
    parent[high] = low;
    size[low] += size[high];
    flag[p] = 0;
  }
};

// The root of each item's cluster and the clusters' sizes there. False: it would take too many rounds.
bool join_by_rounds(const Exec &exec, const Buffer<Key> &key, int bits, int n, int max_size, Buffer<int> &parent,
                    Buffer<int> &size)
{
  const int             pairs = (int)key.size();
  Buffer<int>           left = make_unset<int>(exec, (size_t)pairs), root = make_unset<int>(exec, 2 * (size_t)pairs),
                        first = make_unset<int>(exec, (size_t)n);
  Buffer<unsigned char> flag = make_unset<unsigned char>(exec, (size_t)pairs);
  for_each(exec, pairs, Enumerate{left.data()});
  for (int round = 0, count = pairs; count && round < max_rounds; ++round) {
    first.zero();
    for_each(exec, count, Offer{key.data(), left.data(), bits, pairs, max_size, parent.data(), size.data(),
                                root.data(), first.data(), flag.data()});
    for_each(exec, count, JoinFirst{left.data(), root.data(), pairs, first.data(), parent.data(), size.data(),
                                    flag.data()});
    const Flagged flagged(exec, count, flag);
    Buffer<int>   next = make_unset<int>(exec, (size_t)flagged.count);
    for_each(exec, flagged.count, GatherValues<int>{flagged.place.data(), left.data(), next.data()});
    left  = std::move(next);
    count = flagged.count;
  }
  return left.empty();
}
void join_one_by_one(const Key *key, int pairs, int bits, int max_size, int *parent, int n, int *size)
{
  Sets sets((size_t)n);
  for (int e = 0; e < pairs; ++e) {
    const int a = sets.root(item_of(key[e], bits, 0)), b = sets.root(item_of(key[e], bits, 1)),
              together = size[a] + size[b];
    if (a == b || together > max_size) continue;
    sets.join(a, b);
    size[sets.root(a)] = together;
  }
  std::copy(sets.parent.begin(), sets.parent.end(), parent);
}

struct TogetherWithOthers {
  int           *parent;
  const int     *size;
  unsigned char *flag;
  HD void        operator()(int k) const { flag[k] = size[root_of(parent, k)] > 1; }
};
struct SizeAndRoot {
  const int *item, *size;
  int       *parent, bits;
  Key       *key;
  HD void    operator()(int p) const
  {
    const int root = root_of(parent, item[p]);
    key[p]         = (Key)size[root] << bits | (Key)root;
  }
};

Clusters list_clusters(const Exec &exec, int n, int bits, int max_size, Buffer<int> &parent, const Buffer<int> &size)
{
  Buffer<unsigned char> flag = make_unset<unsigned char>(exec, (size_t)n);
  for_each(exec, n, TogetherWithOthers{parent.data(), size.data(), flag.data()});
  const Flagged together(exec, n, flag);
  const int     members = together.count;
  Buffer<Key>   key     = make_unset<Key>(exec, (size_t)members);
  Buffer<int>   order;
  Clusters      clusters;
  for_each(exec, members, SizeAndRoot{together.place.data(), size.data(), parent.data(), bits, key.data()});
  sort_keys(exec, members, bits + bits_of((Key)max_size), key, order);
  clusters.member = make_unset<int>(exec, (size_t)members);
  for_each(exec, members, GatherValues<int>{order.data(), together.place.data(), clusters.member.data()});
  for_each(exec, members, FirstOfRun<Key>{key.data(), flag.data()});
  const Flagged first(exec, members, flag);
  clusters.begin = make_unset<int>(exec, (size_t)(first.count + 1));
  for_each(exec, first.count, CopyValues<int>{first.place.data(), clusters.begin.data()});
  for_each(exec, 1, SetValues<int>{clusters.begin.data() + first.count, members});
  return clusters;
}

} // namespace

Clusters join_strongest(const Exec &exec, const WeightedPairs &pairs, int n, int max_size)
{
  const int   count = (int)pairs.a.size(), bits = bits_of((Key)n);
  Buffer<int> order, parent = make_unset<int>(exec, (size_t)n), size = make_unset<int>(exec, (size_t)n);
  Buffer<Key> items = make_unset<Key>(exec, (size_t)count), key = make_unset<Key>(exec, (size_t)count);
  for_each(exec, count, ItemsKey{pairs.a.data(), pairs.b.data(), bits, items.data()});
  sort_keys(exec, count, 2 * bits, items, order);
  for_each(exec, count, StrengthKey{order.data(), pairs.strength.data(), key.data()});
  Buffer<int> place;
  sort_keys(exec, count, strength_bits, key, place);
  for_each(exec, count, GatherValues<Key>{place.data(), items.data(), key.data()});

  const auto alone = [&] {
    for_each(exec, n, Enumerate{parent.data()});
    for_each(exec, n, SetValues<int>{size.data(), 1});
  };
  alone();
  if (!exec.on_device()) join_one_by_one(key.data(), count, bits, max_size, parent.data(), n, size.data());
  else if (!join_by_rounds(exec, key, bits, n, max_size, parent, size)) {
    alone();
    Buffer<Key> keys((size_t)count);
    Buffer<int> parents((size_t)n), sizes((size_t)n);
    copy(key, keys), copy(size, sizes);
    join_one_by_one(keys.data(), count, bits, max_size, parents.data(), n, sizes.data());
    copy(parents, parent), copy(sizes, size);
    device::synchronize(exec.space);
  }
  return list_clusters(exec, n, bits, max_size, parent, size);
}

} // namespace tessera
