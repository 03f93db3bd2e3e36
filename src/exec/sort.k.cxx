#include "exec/sort.hpp"
#include "exec/each.hpp"
#include <algorithm>
#include <climits>
#include <stdexcept>
#include <utility>
#ifdef __CUDACC__
  #include <cub/device/device_radix_sort.cuh>
  #include <cub/device/device_scan.cuh>
#endif

namespace tessera {

namespace {

constexpr int digit_bits = 8, digits = 1 << digit_bits;

// Radix sort by bytes, lowest first; bytes that all keys share are left out.
template <class K, bool with_values>
void radix_sort(int n, int same, int bits, K *keys, int *values, K *other_keys, int *other_values)
{
  const int        passes = (bits - same + digit_bits - 1) / digit_bits;
  std::vector<int> counts((size_t)passes * digits);
  for (int p = 0; p < n; ++p)
    for (int k = 0; k < passes; ++k)
      ++counts[(size_t)(k * digits + (int)(keys[p] >> (same + digit_bits * k) & (digits - 1)))];
  K   *from = keys, *to = other_keys;
  int *from_values = values, *to_values = other_values;
  for (int k = 0; k < passes; ++k) {
    int *const at = counts.data() + k * digits;
    bool       one = false;
    for (int d = 0, sum = 0; d < digits; ++d) {
      one = one || at[d] == n;
      sum += std::exchange(at[d], sum);
    }
    if (one) continue;
    for (int p = 0; p < n; ++p) {
      const K   key = from[p];
      const int q   = at[key >> (same + digit_bits * k) & (digits - 1)]++;
      to[q]         = key;
      if (with_values) to_values[q] = from_values[p];
    }
    std::swap(from, to);
    std::swap(from_values, to_values);
  }
  if (from == keys) return;
  std::copy(from, from + n, keys);
  if (with_values) std::copy(from_values, from_values + n, values);
}

// Two runs become one, until one is left.
template <class K> void merge(std::vector<int> begins, int same, Buffer<K> &keys)
{
  Buffer<K> other;
  other.resize_unset(keys.extent());
  while (begins.size() > 2) {
    std::vector<int> merged(1);
    const K *const   from = keys.data();
    for (size_t r = 0; r + 1 < begins.size(); r += 2) {
      const int first = begins[r], middle = begins[r + 1], end = begins[std::min(r + 2, begins.size() - 1)];
      std::merge(from + first, from + middle, from + middle, from + end, other.data() + first,
                 [same](K a, K b) { return a >> same < b >> same; });
      merged.push_back(end);
    }
    std::swap(keys, other);
    begins = std::move(merged);
  }
}

struct Mark {
  const unsigned char *flags;
  int                 *counts;
  HD void              operator()(int p) const { counts[p] = flags[p] != 0; }
};

struct Start {
  const Key *keys;
  int        n, buckets;
  const Key *least; // or nullptr
  Key        from;
  int       *first;
  HD void    operator()(int b) const
  {
    first[b] = least && b == buckets ? n : lower_bound(keys, 0, n, least ? least[b] : from + (Key)b);
  }
};

struct Place {
  const unsigned char *flags;
  const int           *counts;
  int                 *places;
  HD void              operator()(int p) const
  {
    if (flags[p]) places[counts[p]] = p;
  }
};

struct TakeLast {
  const int *from;
  int       *to;
  HD void    operator()(int) const { *to = *from; }
};

#ifdef __CUDACC__
// CUB asks for its scratch first.
template <class Call> void with_scratch(const Call &call)
{
  if (device::failed()) return;
  size_t bytes = 0;
  device::check(call(nullptr, bytes));
  Buffer<char> scratch;
  scratch.resize_unset(Extent{bytes + 1, Space::cuda});
  device::check(call((void *)scratch.data(), bytes));
}
#endif

} // namespace

void sort_keys(const Exec &exec, int n, int bits, Buffer<Key> &keys, Buffer<int> &values)
{
  sort_keys(exec, n, bits, 0, keys, values);
}
void sort_keys(const Exec &exec, int n, int bits, int same, Buffer<Key> &keys, Buffer<int> &values)
{
  if (values.empty()) {
    values.resize_unset(Extent{(size_t)n, exec.space});
    for_each(exec, n, Enumerate{values.data()});
  }
  Buffer<Key> other_keys;
  Buffer<int> other_values;
  other_keys.resize_unset(Extent{(size_t)n, exec.space});
  other_values.resize_unset(Extent{(size_t)n, exec.space});
#ifdef __CUDACC__
  if (exec.on_device()) {
    if (n)
      with_scratch([&](void *scratch, size_t &bytes) {
        return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys.data(), other_keys.data(), values.data(),
                                               other_values.data(), n, same, bits, (cudaStream_t)device::stream());
      });
    keys   = std::move(other_keys);
    values = std::move(other_values);
    return;
  }
#endif
  const device::Open open(exec.space);
  radix_sort<Key, true>(n, same, bits, keys.data(), values.data(), other_keys.data(), other_values.data());
}

void sort_keys(const Exec &exec, int n, int bits, Buffer<unsigned> &keys)
{
  Buffer<unsigned> other;
  other.resize_unset(Extent{(size_t)n, exec.space});
#ifdef __CUDACC__
  if (exec.on_device()) {
    if (n)
      with_scratch([&](void *scratch, size_t &bytes) {
        return cub::DeviceRadixSort::SortKeys(scratch, bytes, keys.data(), other.data(), n, 0, bits,
                                              (cudaStream_t)device::stream());
      });
    keys = std::move(other);
    return;
  }
#endif
  const device::Open open(exec.space);
  radix_sort<unsigned, false>(n, 0, bits, keys.data(), nullptr, other.data(), nullptr);
}

void merge_runs(const Exec &exec, const std::vector<int> &begins, int bits, int same, Buffer<Key> &keys)
{
  Buffer<int> order;
  if (exec.on_device()) sort_keys(exec, (int)keys.size(), bits, same, keys, order); // is faster there
  else merge(begins, same, keys);
}
void merge_runs(const Exec &exec, const std::vector<int> &begins, int bits, Buffer<unsigned> &keys)
{
  if (exec.on_device()) sort_keys(exec, (int)keys.size(), bits, keys);
  else merge(begins, 0, keys);
}

void sum_up(const Exec &exec, int n, Buffer<int> &counts)
{
#ifdef __CUDACC__
  if (exec.on_device()) {
    Buffer<int> sums;
    sums.resize_unset(Extent{(size_t)n + 1, Space::cuda});
    with_scratch([&](void *scratch, size_t &bytes) {
      return cub::DeviceScan::ExclusiveSum(scratch, bytes, counts.data(), sums.data(), n + 1,
                                           (cudaStream_t)device::stream());
    });
    counts = std::move(sums);
    return;
  }
#endif
  const device::Open open(exec.space);
  int               *c = counts.data();
  long long          sum = 0;
  for (int p = 0; p < n; ++p) sum += std::exchange(c[p], (int)sum);
  c[n] = sum > INT_MAX ? -1 : (int)sum;
}
static int sum_of_all(const Exec &exec, int n, const Buffer<int> &sums)
{
#ifdef __CUDACC__
  if (exec.on_device()) return fetch(sums, (size_t)n);
#endif
  const device::Open open(exec.space);
  return sums.data()[n];
}
int scan(const Exec &exec, int n, Buffer<int> &counts)
{
  sum_up(exec, n, counts);
  const int all = sum_of_all(exec, n, counts); // on a device modulo 2^32
  if (all < 0 && !device::failed())
    throw std::length_error("A list has more than 2^31 - 1 entries on one process. Use more processes");
  return all;
}

void bucket_starts(const Exec &exec, int n, const Key *keys, int buckets, const Key *least, Buffer<int> &first)
{
  first.resize_unset(Extent{(size_t)buckets + 1, exec.space});
  for_each(exec, buckets + 1, Start{keys, n, buckets, least, 0, first.data()});
}

void bucket_starts(const Exec &exec, int n, const Key *keys, int buckets, Key from, Buffer<int> &first)
{
  first.resize_unset(Extent{(size_t)buckets + 1, exec.space});
  for_each(exec, buckets + 1, Start{keys, n, buckets, nullptr, from, first.data()});
}

void count_flags(const Exec &exec, int n, const Buffer<unsigned char> &flags, Buffer<int> &counts)
{
  counts.resize_unset(Extent{(size_t)n + 1, exec.space});
  for_each(exec, n, Mark{flags.data(), counts.data()});
  sum_up(exec, n, counts);
}
void take_places(const Exec &exec, int n, const Buffer<unsigned char> &flags, const Buffer<int> &counts, int found,
                 Buffer<int> &places)
{
  places.resize_unset(Extent{(size_t)found, exec.space});
  // of a device that has failed the host learns zero
  for_each(exec, found ? n : 0, Place{flags.data(), counts.data(), places.data()});
}
void select(const Exec &exec, int n, const Buffer<unsigned char> &flags, Buffer<int> &places)
{
  Buffer<int> counts;
  count_flags(exec, n, flags, counts);
  take_places(exec, n, flags, counts, fetch(counts, (size_t)n), places);
}
std::vector<int> last_of(const Exec &exec, const std::vector<const Buffer<int> *> &counts)
{
  Buffer<int> last, here(counts.size());
  last.resize_unset(Extent{counts.size(), exec.space});
  for (size_t k = 0; k < counts.size(); ++k)
    for_each(exec, 1, TakeLast{counts[k]->data() + counts[k]->size() - 1, last.data() + k});
  copy(last, here);
  return std::vector<int>(here.data(), here.data() + here.size());
}

} // namespace tessera
