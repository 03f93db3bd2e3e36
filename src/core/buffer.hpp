// One owner of memory, aligned to cache lines and zeroed; counts its bytes.
#pragma once
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#ifdef __linux__
  #include <sys/mman.h>
#endif

namespace tessera {

template <class T> class Buffer {
public:
  Buffer() = default;
  explicit Buffer(size_t n) { resize(n); }
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
  // n zeroed elements; what was there is gone.
  void resize(size_t n)
  {
    release();
    if (!n) return;
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
      (void)madvise(base_, n * sizeof(T) / huge * huge, MADV_HUGEPAGE); // whole ones: the rest would be memory nobody uses
      n_ = n;
      return;
    }
#endif
    data_ = calloc(bytes_, 1);
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
  static constexpr size_t huge = (size_t)1 << 21, large = 2 * huge;
  void release()
  {
#ifdef __linux__
    if (data_ && bytes_ >= large) munmap(data_, bytes_);
    else
#endif
      free(data_);
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
  }
  void  *data_  = nullptr;
  T     *base_  = nullptr;
  size_t bytes_ = 0, n_ = 0; // of the allocation; elements
};

} // namespace tessera
