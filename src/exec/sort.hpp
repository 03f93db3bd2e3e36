// Sorting, prefix sums and selection, where the arrays lie.
#pragma once
#include "exec/buffer.hpp"
#include "exec/exec.hpp"

namespace tessera {

using Key = unsigned long long;

// Of the numbers up to n
inline int bits_of(Key n)
{
  int bits = 1;
  while (n >> bits) ++bits;
  return bits;
}

// Sorts n keys in ascending order of their lowest `bits` bits; values follow their keys, equal keys keep their order.
// On entry values may be empty: then they are 0, 1, ..., the order itself. same: the lowest so many bits need no
// order among keys whose others are equal.
void sort_keys(const Exec &exec, int n, int bits, Buffer<Key> &keys, Buffer<int> &values);
void sort_keys(const Exec &exec, int n, int bits, int same, Buffer<Key> &keys, Buffer<int> &values);
void sort_keys(const Exec &exec, int n, int bits, Buffer<unsigned> &keys);
// Keys that stand in runs, each of them in such order, of which run r begins at begins[r]: all in order; equal ones
// keep theirs.
void merge_runs(const Exec &exec, const std::vector<int> &begins, int bits, int same, Buffer<Key> &keys);
void merge_runs(const Exec &exec, const std::vector<int> &begins, int bits, Buffer<unsigned> &keys);
// counts[p] becomes the sum of those before p, for p in [0, n]; returns the sum of all (the host waits). Throws
// std::length_error on this process where an int does not hold it; a device sees this up to 2^32.
int scan(const Exec &exec, int n, Buffer<int> &counts);
void sum_up(const Exec &exec, int n, Buffer<int> &counts); // the same for one who knows the sum: nobody waits
// The places p in [0, n) where flags[p] is not zero, in ascending order.
void select(const Exec &exec, int n, const Buffer<unsigned char> &flags, Buffer<int> &places);
// The same in two steps, so that the host may wait once for several: the numbers before each place and of all,
// counts[n]; and the places.
void count_flags(const Exec &exec, int n, const Buffer<unsigned char> &flags, Buffer<int> &counts);
void take_places(const Exec &exec, int n, const Buffer<unsigned char> &flags, const Buffer<int> &counts, int found,
                 Buffer<int> &places);
// The last of so many counts each; the host waits.
std::vector<int> last_of(const Exec &exec, const std::vector<const Buffer<int> *> &counts);

// first[b] becomes the first place in the n sorted keys whose key is not below least[b], for b in [0, buckets);
// first[buckets] = n.
void bucket_starts(const Exec &exec, int n, const Key *keys, int buckets, const Key *least, Buffer<int> &first);
// The same for the keys themselves: not below from + b, for b in [0, buckets].
void bucket_starts(const Exec &exec, int n, const Key *keys, int buckets, Key from, Buffer<int> &first);

// Flags by their places; of each item how many are before it, and of all.
struct Flagged {
  Buffer<int> place, before;
  int         count = 0;
  Flagged(const Exec &exec, int n, const Buffer<unsigned char> &flag)
  {
    count_flags(exec, n, flag, before);
    count = fetch(before, (size_t)n);
    take_places(exec, n, flag, before, count, place);
  }
};

// The first place in [first, last) whose key is not below `key`.
template <class K> HD inline int lower_bound(const K *keys, int first, int last, K key)
{
  while (first < last) {
    const int middle = first + (last - first) / 2;
    if (keys[middle] < key) first = middle + 1;
    else last = middle;
  }
  return first;
}

} // namespace tessera
