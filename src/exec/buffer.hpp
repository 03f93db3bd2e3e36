// One owner of memory on the host or the device, aligned to cache lines and zeroed; counts its bytes.
#pragma once
#include "exec/device.hpp"
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>
#ifdef __linux__
  #include <sys/mman.h>
#endif

namespace tessera {

// A number of elements and where they are to lie.
struct Extent {
  size_t n     = 0;
  Space  space = Space::host;
  operator size_t() const { return n; }
};
inline Extent operator*(int k, const Extent &e) { return {(size_t)k * e.n, e.space}; }

template <class T> class Buffer {
public:
  Buffer() = default;
  explicit Buffer(size_t n) { resize(n); }
  explicit Buffer(const Extent &extent) { resize(extent); }
  ~Buffer() { release(); }
  Buffer(const Buffer &)            = delete;
  Buffer &operator=(const Buffer &) = delete;
  Buffer(Buffer &&o) noexcept { swap(o); }
  Buffer &operator=(Buffer &&o) noexcept
  {
    Buffer moved(std::move(o));
    swap(moved);
    return *this;
  }
  // Zeroed elements; what was there is gone.
  void resize(size_t n) { resize(Extent{n, Space::host}); }
  void resize(const Extent &extent) { take(extent, true); }
  // The same where it has not this extent.
  void fit(const Extent &extent)
  {
    if (n_ != extent.n || space_ != extent.space) resize(extent);
  }
  // Elements all of which will be written: a device does not zero them.
  void resize_unset(const Extent &extent) { take(extent, false); }
  void   zero()
  {
    if (!n_) return;
    if (space_ == Space::cuda) device::zero((void *)base_, n_ * sizeof(T));
    else memset((void *)base_, 0, n_ * sizeof(T));
  }
  T     *data() { return base_; }
  const T *data() const { return base_; }
  size_t size() const { return n_; }
  Space  space() const { return space_; }
  Extent extent() const { return {n_, space_}; }
  size_t bytes() const { return n_ * sizeof(T); }
  bool   empty() const { return !n_; }

private:
  static constexpr size_t huge = (size_t)1 << 21, large = 2 * huge;
  void take(const Extent &extent, bool zeroed)
  {
    const size_t n = extent.n;
    release();
    space_ = extent.space;
    if (!n) return;
    if (space_ == Space::cuda) {
      base_  = (T *)(zeroed ? device::allocate(n * sizeof(T)) : device::allocate_unset(n * sizeof(T)));
      bytes_ = n * sizeof(T);
      n_     = n;
      return;
    }
    bytes_ = n * sizeof(T) + 64;
#ifdef __linux__
    if (bytes_ >= large) { // fresh pages are zero; huge ones save most of the page faults of a first setup
      bytes_ = (bytes_ + huge - 1) / huge * huge + huge;
      data_  = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (data_ == MAP_FAILED) {
        data_ = nullptr;
        throw std::bad_alloc();
      }
      base_ = reinterpret_cast<T *>((reinterpret_cast<size_t>(data_) + huge - 1) / huge * huge);
      // whole ones: the rest would be memory nobody uses
      (void)madvise(base_, n * sizeof(T) / huge * huge, MADV_HUGEPAGE);
      n_ = n;
      return;
    }
#endif
    data_ = calloc(bytes_, 1);
    if (!data_) throw std::bad_alloc();
    base_ = reinterpret_cast<T *>((reinterpret_cast<size_t>(data_) + 63) / 64 * 64);
    n_    = n;
  }
  void release()
  {
    if (space_ == Space::cuda) device::release((void *)base_);
    else {
#ifdef __linux__
    if (data_ && bytes_ >= large) munmap(data_, bytes_);
    else
#endif
      free(data_);
    }
    data_  = nullptr;
    base_  = nullptr;
    bytes_ = n_ = 0;
  }
  void swap(Buffer &o) noexcept
  {
    std::swap(data_, o.data_);
    std::swap(base_, o.base_);
    std::swap(bytes_, o.bytes_);
    std::swap(n_, o.n_);
    std::swap(space_, o.space_);
  }
  void  *data_  = nullptr;
  T     *base_  = nullptr;
  size_t bytes_ = 0, n_ = 0; // of the allocation; elements
  Space  space_ = Space::host;
};

// Host memory that goes to the device and back quickly.
class Pinned {
public:
  void  resize(size_t bytes) { data_.reset(bytes ? device::allocate_pinned(bytes) : nullptr); }
  // So many bytes, always as many, that kernels write to; true where they are new.
  bool reach(size_t bytes)
  {
    if (data_ && device::reached(data_.get())) return false;
    data_.reset(device::allocate_reached(bytes));
    return true;
  }
  void *data() const { return data_.get(); }

private:
  struct Release {
    void operator()(void *p) const { device::release_pinned(p); }
  };
  std::unique_ptr<void, Release> data_;
};

// n values between the memories of two spaces. The host waits for what comes from a device, not for what goes there:
// device::synchronize(space) does, where the original may change.
template <class T> void copy(const T *from, Space from_space, T *to, Space to_space, size_t n)
{
  if (!n) return;
  const bool from_host = from_space == Space::host, to_host = to_space == Space::host;
  if (from_host && to_host) memcpy((void *)to, (const void *)from, n * sizeof(T));
  else if (from_host) device::copy_from_host(to, from, n * sizeof(T));
  else if (to_host) device::copy_to_host(to, from, n * sizeof(T));
  else device::copy(to, from, n * sizeof(T));
}

template <class T> void copy(const Buffer<T> &from, Buffer<T> &to)
{
  copy(from.data(), from.space(), to.data(), to.space(), from.size());
}

// One value of an array that may lie on the device; the host waits.
template <class T> T fetch(const Buffer<T> &from, size_t at)
{
  T v{};
  if (from.space() == Space::host) return from.data()[at];
  device::copy_to_host(&v, from.data() + at, sizeof(T));
  return v;
}

// A list of the host's in a place of `space`. Nobody waits: the list stays as long as it is needed. List: a vector or a
// buffer.
template <class List, class T> void give(List &&from, T *to, Space space)
{
  static_assert(!std::is_lvalue_reference_v<List>, "the list is given away");
  copy(from.data(), Space::host, to, space, from.size());
  if (space == Space::cuda && from.size()) device::keep(std::make_shared<List>(std::move(from)));
}
// The values in the memory of `space`.
template <class T> Buffer<T> copy_to(Space space, std::vector<T> &&from)
{
  Buffer<T> to;
  to.resize_unset(Extent{from.size(), space});
  give(std::move(from), to.data(), space);
  return to;
}
template <class T> Buffer<T> copy_to(Space space, const std::vector<T> &from)
{
  Buffer<T> to;
  to.resize_unset(Extent{from.size(), space});
  if (space == Space::cuda) give(std::vector<T>(from), to.data(), space);
  else copy(from.data(), Space::host, to.data(), space, from.size());
  return to;
}

} // namespace tessera
