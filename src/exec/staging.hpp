// Values of a space as the host has them, to be sent or worked on there.
#pragma once
#include "exec/buffer.hpp"

namespace tessera {

// The host has its own values where they are, and those of a device in memory that copies quickly.
class Staging {
public:
  // Room for so many bytes of values of that space; it only grows.
  void reserve(Space space, size_t bytes)
  {
    on_device_ = space == Space::cuda;
    if (!on_device_ || bytes <= room_) return;
    memory_.resize(bytes);
    room_ = bytes;
  }
  // Where the host has these values, whatever they are by now.
  template <class T> T *place(T *values) const { return on_device_ ? (T *)memory_.data() : values; }
  // n of them there; the host waits.
  template <class T> T *fetch(T *values, size_t n) const
  {
    if (on_device_ && n) device::copy_to_host(memory_.data(), values, n * sizeof(T));
    return place(values);
  }
  // values = what is there, which may change after device::synchronize()
  template <class T> void store(T *values, size_t n) const
  {
    if (on_device_ && n) device::copy_from_host(values, memory_.data(), n * sizeof(T));
  }

private:
  bool   on_device_ = false;
  size_t room_      = 0; // bytes
  Pinned memory_;
};

} // namespace tessera
