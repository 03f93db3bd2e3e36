// How keys are divided among their keepers.
#include "tree/cells/keepers.hpp"
#include "exec/requests.hpp"
#include <algorithm>
#include <set>

namespace tessera::tree {

namespace {

// How many of n keys in order are below each of the others.
std::vector<long long> below(const Exec &exec, int n, const Key *sorted, const std::vector<Key> &keys)
{
  Buffer<int> first;
  bucket_starts(exec, n, sorted, (int)keys.size(), copy_to(exec.space, keys).data(), first);
  const std::vector<int> counts = listed(first);
  return std::vector<long long>(counts.begin(), counts.end() - 1);
}

// The key at the place all r / size in the order of all processes' keys, for each r; some bits at a time, four or more.
std::vector<Key> quantiles(const Exec &exec, MPI_Comm comm, int size, int bits, int n, const Key *sorted)
{
  constexpr int    most = 4096; // keys that are counted at a time, so that messages stay short
  long long        all = n;
  std::vector<Key> key((size_t)size);
  int              at_once = 4;
  while (at_once < 12 && ((size << (at_once + 1)) <= most)) ++at_once;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_LONG_LONG, MPI_SUM, comm);
  for (int shift = bits; shift > 0;) {
    const int        step = std::min(at_once, shift), digits = (1 << step) - 1;
    std::vector<Key> looked((size_t)(digits * size));
    shift -= step;
    for (int r = 0; r < size; ++r)
      for (int d = 0; d < digits; ++d) looked[(size_t)(digits * r + d)] = key[(size_t)r] + ((Key)(d + 1) << shift);
    std::vector<long long> count = below(exec, n, sorted, looked);
    MPI_Allreduce(MPI_IN_PLACE, count.data(), (int)count.size(), MPI_LONG_LONG, MPI_SUM, comm);
    for (int r = 0; r < size; ++r) {
      int d = 0;
      while (d < digits && count[(size_t)(digits * r + d)] <= all * r / size) ++d;
      key[(size_t)r] += (Key)d << shift;
    }
  }
  return key;
}

// From keys to where their leaves of T_0 begin.
void move_to_leaves(const Exec &exec, MPI_Comm comm, int dim, int capacity, int n, const Key *sorted,
                    std::vector<Key> &key)
{
  const size_t     levels = (size_t)depth(dim) + 1;
  std::vector<Key> ends; // of the cells of all levels around each key
  for (size_t e = 0; e < key.size() * levels; ++e) {
    const int shift = dim * (int)(levels - 1 - e % levels);
    const Key start = key[e / levels] >> shift << shift;
    ends.push_back(start);
    ends.push_back(start + ((Key)1 << shift));
  }
  const std::vector<long long> at = below(exec, n, sorted, ends);
  std::vector<long long>       count;
  for (size_t e = 0; e < at.size(); e += 2) count.push_back(at[e + 1] - at[e]);
  MPI_Allreduce(MPI_IN_PLACE, count.data(), (int)count.size(), MPI_LONG_LONG, MPI_SUM, comm);
  for (size_t r = 0; r < key.size(); ++r) {
    size_t l = 0;
    while (l < levels - 1 && count[r * levels + l] > capacity) ++l;
    const int shift = dim * (int)(levels - 1 - l);
    key[r]          = key[r] >> shift << shift;
  }
}

// The first and last keys of all keepers, so many at most of each, and how many there are.
struct EndsOfKeepers {
  std::vector<int> count;
  std::vector<Key> first, last;
  EndsOfKeepers(MPI_Comm comm, int size, int limit, const Buffer<Key> &own) :
    count((size_t)size), first((size_t)(size * limit)), last(first.size())
  {
    const size_t     some = std::min(own.size(), (size_t)limit);
    const int        n = (int)some;
    std::vector<Key> low = listed(own, 0, some), high = listed(own, own.size() - some, some);
    low.resize((size_t)limit);
    high.resize((size_t)limit);
    MPI_Allgather(&n, 1, MPI_INT, count.data(), 1, MPI_INT, comm);
    MPI_Allgather(low.data(), limit, MPI_UNSIGNED_LONG_LONG, first.data(), limit, MPI_UNSIGNED_LONG_LONG, comm);
    MPI_Allgather(high.data(), limit, MPI_UNSIGNED_LONG_LONG, last.data(), limit, MPI_UNSIGNED_LONG_LONG, comm);
  }
};

} // namespace

int Keepers::of(Key key) const
{
  return (int)(std::upper_bound(begin.begin(), begin.end(), key) - begin.begin()) - 1;
}

int Keepers::of_first(Key key, Key length) const
{
  for (int r = of(key); r < size && begin[(size_t)r] < key + length; ++r)
    if (!empty(r) && greatest[(size_t)r] >= key) return least[(size_t)r] < key + length ? r : -1;
  return -1;
}

std::vector<int> begins_at_keepers(const Exec &exec, const Keepers &keepers, int n, const Key *keys, Key none)
{
  std::vector<Key> least = keepers.begin;
  least.push_back(none);
  const std::vector<long long> begins = below(exec, n, keys, least);
  return std::vector<int>(begins.begin(), begins.end());
}

std::vector<std::vector<int>> begins_of_runs(const Exec &exec, const Keepers &keepers, int n, int second,
                                             const Key *keys, Key none)
{
  std::vector<Key> least = keepers.begin;
  least.push_back(none);
  const size_t      count = least.size();
  const Buffer<Key> ends = copy_to(exec.space, std::move(least));
  Buffer<int>       first, next, both;
  both.resize_unset(Extent{2 * count, exec.space});
  bucket_starts(exec, n, keys, (int)count, ends.data(), first);
  bucket_starts(exec, second, keys + n, (int)count, ends.data(), next);
  copy(first.data(), exec.space, both.data(), exec.space, count);
  copy(next.data(), exec.space, both.data() + count, exec.space, count);
  const std::vector<int>        found = listed(both); // the host waits once
  std::vector<std::vector<int>> begins(2);
  for (size_t k = 0; k < 2 * count; ++k) begins[k / count].push_back(found[k] + (k < count ? 0 : n));
  return begins;
}

KeptKeys keep_keys(const Exec &exec, MPI_Comm comm, int dim, int bits, int capacity, bool leaves, int n,
                   const Buffer<Key> &sorted, Keepers &keepers)
{
  keepers.comm = comm;
  MPI_Comm_size(comm, &keepers.size);
  MPI_Comm_rank(comm, &keepers.rank);
  keepers.begin = quantiles(exec, comm, keepers.size, bits, n, sorted.data());
  if (leaves) move_to_leaves(exec, comm, dim, capacity, n, sorted.data(), keepers.begin);
  keepers.begin[0] = 0;
  // what comes from processes before this one, what was here, and what comes from those behind it
  Buffer<Key> merged;
  {
    const Requests    requests(exec, comm, {begins_at_keepers(exec, keepers, n, sorted.data(), ~(Key)0)});
    const Buffer<Key> others = requests.send(sorted);
    std::vector<int>  begins = requests.from_begins(); // nothing comes from this one
    const size_t      rank = (size_t)keepers.rank, before = (size_t)begins[rank], own = (size_t)requests.own(0);
    merged.resize_unset(Extent{others.size() + own, exec.space});
    copy(others.data(), exec.space, merged.data(), exec.space, before);
    copy(sorted.data() + requests.first(0), exec.space, merged.data() + before, exec.space, own);
    copy(others.data() + before, exec.space, merged.data() + before + own, exec.space, others.size() - before);
    for (size_t r = rank + 1; r < begins.size(); ++r) begins[r] += (int)own;
    merge_runs(exec, begins, bits, 0, merged);
  }
  const int           width = std::max(capacity, 1);
  const EndsOfKeepers ends(comm, keepers.size, width, merged);
  keepers.least.assign((size_t)keepers.size, 1);
  keepers.greatest.assign((size_t)keepers.size, 0);
  for (size_t r = 0; r < ends.count.size(); ++r)
    if (ends.count[r]) {
      keepers.least[r] = ends.first[r * (size_t)width];
      keepers.greatest[r]  = ends.last[r * (size_t)width + (size_t)ends.count[r] - 1];
    }
  std::vector<Key> before, behind;
  for (int r = keepers.rank - 1; r >= 0; --r)
    for (int k = ends.count[(size_t)r] - 1; k >= 0 && (int)before.size() < capacity; --k)
      before.push_back(ends.last[(size_t)(r * width + k)]);
  std::reverse(before.begin(), before.end());
  for (int r = keepers.rank + 1; r < keepers.size; ++r)
    for (int k = 0; k < ends.count[(size_t)r] && (int)behind.size() < capacity; ++k)
      behind.push_back(ends.first[(size_t)(r * width + k)]);
  KeptKeys kept;
  kept.first = (int)before.size();
  kept.last  = kept.first + (int)merged.size();
  kept.key.resize_unset(Extent{before.size() + merged.size() + behind.size(), exec.space});
  copy(merged.data(), exec.space, kept.key.data() + kept.first, exec.space, merged.size());
  give(std::move(before), kept.key.data(), exec.space);
  give(std::move(behind), kept.key.data() + kept.last, exec.space);
  return kept;
}

std::vector<SpanningCell> spanning_cells(const Exec &exec, const Keepers &keepers, int dim, int capacity, int n,
                                         const Key *own)
{
  std::set<SpanningCell> cells;
  int                    before = -1;
  for (int r = 0; r < keepers.size; ++r) {
    if (keepers.empty(r)) continue;
    for (int l = 0; before >= 0 && l <= depth(dim); ++l) {
      const int shift = dim * (depth(dim) - l);
      const Key start = keepers.least[(size_t)r] >> shift;
      if (start != keepers.greatest[(size_t)before] >> shift) break;
      cells.insert({l, start << shift, 0});
    }
    before = r;
  }
  std::vector<SpanningCell> list(cells.begin(), cells.end());
  std::vector<Key>          ends;
  std::vector<long long>    count;
  for (const SpanningCell &c : list) {
    ends.push_back(c.start);
    ends.push_back(c.start + ((Key)1 << (dim * (depth(dim) - c.level))));
  }
  const std::vector<long long> at = below(exec, n, own, ends);
  for (size_t c = 0; c < at.size(); c += 2) count.push_back(at[c + 1] - at[c]);
  MPI_Allreduce(MPI_IN_PLACE, count.data(), (int)count.size(), MPI_LONG_LONG, MPI_SUM, keepers.comm);
  for (size_t c = 0; c < list.size(); ++c) // as FillSplits has them
    for (long long bound = capacity; (bound <<= dim) < count[c];) ++list[c].rank;
  return list;
}

} // namespace tessera::tree
