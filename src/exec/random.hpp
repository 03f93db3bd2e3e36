// Numbers that look random and depend on a key alone, so they are the same on any number of processes and threads, on
// the host and on a device. Estimates of eigenvalues and trials of a preconditioner begin with vectors of them.
#pragma once
#include "exec/exec.hpp"
#include <cstdint>

namespace tessera {

// The mixing function of splitmix64: a change of one bit of the key changes about half of all bits.
HD inline uint64_t mix(uint64_t key)
{
  key ^= key >> 30;
  key *= 0xbf58476d1ce4e5b9ULL;
  key ^= key >> 27;
  key *= 0x94d049bb133111ebULL;
  return key ^ (key >> 31);
}
// What splitmix64 adds to its state before each number: it sets small keys apart.
constexpr uint64_t golden_ratio = 0x9e3779b97f4a7c15ULL;

// Random bits as a number in [-1, 1]; and such a number for a key.
HD inline double in_interval(uint64_t bits) { return (double)(bits >> 11) / (double)(1ULL << 52) - 1; }
HD inline double scattered(uint64_t key) { return in_interval(mix(key)); }

} // namespace tessera
