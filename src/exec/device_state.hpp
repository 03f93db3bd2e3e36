// What the kinds of device share: errors that are thrown or kept, and what is said of memory. Defined in device.k.cxx.
#pragma once
#include "exec/device.hpp"
#include <string>
#include <type_traits>
#include <utility>

#ifdef TESSERA_HAVE_DEVICE

namespace tessera::device {

struct Keeping {
  int  depth  = 0;
  bool failed = false;
  Kept error;
  void (*then)() = nullptr;
};
Keeping &keeping();

// Throws, or keeps the first error.
template <class Error> void raise(const Error &error)
{
  Keeping &k = keeping();
  if (!k.depth) throw error;
  if (!k.failed) k.error = {error.what(), std::is_same_v<Error, DeviceMemoryError>};
  const bool first = !std::exchange(k.failed, true);
  if (first && k.then) k.then();
}

constexpr int oldest = 70; // compute capability: 10 major + minor
std::string   too_old(int major, int minor);
void          out_of_memory(size_t wanted, size_t free, size_t total);
void          out_of_reached(size_t wanted); // host memory
void          count_address(const void *p); // adds or takes away an allocation, with a number that no address has twice

// Device memory that grows.
struct Growing {
  double *p = nullptr;
  size_t  n = 0;
  double *get(size_t wanted, size_t least)
  {
    if (wanted <= n) return p;
    release(p);
    p = nullptr, n = 0;
    const size_t  size = wanted < least ? least : wanted;
    double *const made = (double *)allocate(size * sizeof(double));
    if (failed()) return made; // a place that is none
    p = made, n = size;
    return p;
  }
};

} // namespace tessera::device

#endif
