// One owner of memory, aligned to cache lines and zeroed; counts its bytes.
#pragma once
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace tessera {

template <class T> class Buffer {
public:
  Buffer() = default;
  explicit Buffer(size_t n) { resize(n); }
  ~Buffer() { free(data_); }
  Buffer(const Buffer &)            = delete;
  Buffer &operator=(const Buffer &) = delete;
  Buffer(Buffer &&o) noexcept { swap(o); }
  Buffer &operator=(Buffer &&o) noexcept
  {
    Buffer moved(std::move(o));
    swap(moved);
    return *this;
  }
  // n zeroed elements; what was there is gone. Fresh pages of the system are zero already, so large buffers use calloc.
  void resize(size_t n)
  {
    free(data_);
    data_ = base_ = nullptr;
    n_    = 0;
    if (!n) return;
    data_ = calloc(n * sizeof(T) + 64, 1);
    if (!data_) throw std::bad_alloc();
    base_ = reinterpret_cast<T *>((reinterpret_cast<size_t>(data_) + 63) / 64 * 64);
    n_    = n;
  }
  void   zero() { memset((void *)base_, 0, n_ * sizeof(T)); }
  T     *data() { return base_; }
  const T *data() const { return base_; }
  size_t size() const { return n_; }
  size_t bytes() const { return n_ * sizeof(T); }
  bool   empty() const { return !n_; }

private:
  void swap(Buffer &o) noexcept
  {
    std::swap(data_, o.data_);
    std::swap(base_, o.base_);
    std::swap(n_, o.n_);
  }
  void  *data_ = nullptr;
  T     *base_ = nullptr;
  size_t n_    = 0;
};

} // namespace tessera
