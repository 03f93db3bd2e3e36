// How keys are divided among their keepers.
#include "tree/keepers.hpp"
#include "exec/messages.hpp"
#include <algorithm>
#include <set>

namespace tessera::tree {

namespace {

long long below(const std::vector<Key> &sorted, Key key)
{
  return std::lower_bound(sorted.begin(), sorted.end(), key) - sorted.begin();
}

// The key at the place all r / size in the order of all processes' keys, for each r; four bits at a time.
std::vector<Key> quantiles(MPI_Comm comm, int size, int bits, const std::vector<Key> &sorted)
{
  constexpr int    digits = 15;
  long long        all = (long long)sorted.size();
  std::vector<Key> key((size_t)size);
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_LONG_LONG, MPI_SUM, comm);
  std::vector<long long> count((size_t)(digits * size));
  for (int shift = (bits + 3) / 4 * 4; shift > 0;) {
    shift -= 4;
    for (int r = 0; r < size; ++r)
      for (int d = 0; d < digits; ++d)
        count[(size_t)(digits * r + d)] = below(sorted, key[(size_t)r] + ((Key)(d + 1) << shift));
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
void move_to_leaves(MPI_Comm comm, int dim, int capacity, const std::vector<Key> &sorted, std::vector<Key> &key)
{
  const int              levels = depth(dim) + 1;
  std::vector<long long> count(key.size() * (size_t)levels);
  for (size_t e = 0; e < count.size(); ++e) {
    const int shift = dim * (levels - 1 - (int)(e % (size_t)levels));
    const Key start = key[e / (size_t)levels] >> shift << shift;
    count[e]        = below(sorted, start + ((Key)1 << shift)) - below(sorted, start);
  }
  MPI_Allreduce(MPI_IN_PLACE, count.data(), (int)count.size(), MPI_LONG_LONG, MPI_SUM, comm);
  for (size_t r = 0; r < key.size(); ++r) {
    int l = 0;
    while (l < levels - 1 && count[r * (size_t)levels + (size_t)l] > capacity) ++l;
    const int shift = dim * (levels - 1 - l);
    key[r]          = key[r] >> shift << shift;
  }
}

// The first and last keys of all keepers, so many at most of each, and how many there are.
struct EndsOfKeepers {
  std::vector<int> count;
  std::vector<Key> first, last;
  EndsOfKeepers(MPI_Comm comm, int size, int most, const std::vector<Key> &own) :
    count((size_t)size), first((size_t)(size * most)), last(first.size())
  {
    const int        n = std::min((int)own.size(), most);
    std::vector<Key> low((size_t)most), high((size_t)most);
    std::copy(own.begin(), own.begin() + n, low.begin());
    std::copy(own.end() - n, own.end(), high.begin());
    MPI_Allgather(&n, 1, MPI_INT, count.data(), 1, MPI_INT, comm);
    MPI_Allgather(low.data(), most, MPI_UNSIGNED_LONG_LONG, first.data(), most, MPI_UNSIGNED_LONG_LONG, comm);
    MPI_Allgather(high.data(), most, MPI_UNSIGNED_LONG_LONG, last.data(), most, MPI_UNSIGNED_LONG_LONG, comm);
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
    if (!empty(r) && most[(size_t)r] >= key) return least[(size_t)r] < key + length ? r : -1;
  return -1;
}

KeptKeys keep_keys(const Exec &exec, MPI_Comm comm, int dim, int bits, int capacity, bool leaves,
                   const std::vector<Key> &sorted, Keepers &keepers)
{
  keepers.comm = comm;
  MPI_Comm_size(comm, &keepers.size);
  MPI_Comm_rank(comm, &keepers.rank);
  keepers.begin = quantiles(comm, keepers.size, bits, sorted);
  if (leaves) move_to_leaves(comm, dim, capacity, sorted, keepers.begin);
  keepers.begin[0] = 0;
  std::vector<int> counts((size_t)keepers.size);
  for (size_t r = 0; r < counts.size(); ++r)
    counts[r] = (int)((r + 1 < counts.size() ? below(sorted, keepers.begin[r + 1]) : (long long)sorted.size()) -
                      below(sorted, keepers.begin[r]));
  Buffer<Key> merged;
  {
    const Messages messages(comm, counts);
    merged = copy_to(exec.space, messages.send(sorted));
    merge_runs(exec, messages.from_begins, bits, 0, merged);
  }
  std::vector<Key>    own = listed(merged);
  const EndsOfKeepers ends(comm, keepers.size, std::max(capacity, 1), own);
  const int           width = std::max(capacity, 1);
  keepers.least.assign((size_t)keepers.size, 1);
  keepers.most.assign((size_t)keepers.size, 0);
  for (size_t r = 0; r < counts.size(); ++r)
    if (ends.count[r]) {
      keepers.least[r] = ends.first[r * (size_t)width];
      keepers.most[r]  = ends.last[r * (size_t)width + (size_t)ends.count[r] - 1];
    }
  std::vector<Key> before, behind; // before: from the nearest one on
  for (int r = keepers.rank - 1; r >= 0; --r)
    for (int k = ends.count[(size_t)r] - 1; k >= 0 && (int)before.size() < capacity; --k)
      before.push_back(ends.last[(size_t)(r * width + k)]);
  for (int r = keepers.rank + 1; r < keepers.size; ++r)
    for (int k = 0; k < ends.count[(size_t)r] && (int)behind.size() < capacity; ++k)
      behind.push_back(ends.first[(size_t)(r * width + k)]);
  KeptKeys kept;
  kept.first = (int)before.size();
  kept.last  = kept.first + (int)own.size();
  own.insert(own.begin(), before.rbegin(), before.rend());
  own.insert(own.end(), behind.begin(), behind.end());
  kept.key = copy_to(exec.space, own);
  return kept;
}

std::vector<SpanningCell> spanning_cells(const Keepers &keepers, int dim, int capacity, const std::vector<Key> &own)
{
  std::set<SpanningCell> cells;
  int                    before = -1;
  for (int r = 0; r < keepers.size; ++r) {
    if (keepers.empty(r)) continue;
    for (int l = 0; before >= 0 && l <= depth(dim); ++l) {
      const int shift = dim * (depth(dim) - l);
      const Key start = keepers.least[(size_t)r] >> shift;
      if (start != keepers.most[(size_t)before] >> shift) break;
      cells.insert({l, start << shift, 0});
    }
    before = r;
  }
  std::vector<SpanningCell> list(cells.begin(), cells.end());
  std::vector<long long>    count;
  for (const SpanningCell &c : list)
    count.push_back(below(own, c.start + ((Key)1 << (dim * (depth(dim) - c.level)))) - below(own, c.start));
  MPI_Allreduce(MPI_IN_PLACE, count.data(), (int)count.size(), MPI_LONG_LONG, MPI_SUM, keepers.comm);
  for (size_t c = 0; c < list.size(); ++c) // as FillSplits has them
    for (long long bound = capacity; (bound <<= dim) < count[c];) ++list[c].rank;
  return list;
}

} // namespace tessera::tree
