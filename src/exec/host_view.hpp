// Values that the host reads once: where they are, or a copy of a device's.
#pragma once
#include "exec/buffer.hpp"
#include <vector>

namespace tessera {

template <class V> class HostView {
public:
  HostView(const HostView &)            = delete;
  HostView &operator=(const HostView &) = delete;
  explicit HostView(const Buffer<V> &of) : values_(of.data())
  {
    if (of.space() == Space::host || of.empty()) return;
    copy_.resize(of.size());
    device::copy_to_host(copy_.data(), of.data(), of.bytes());
    values_ = copy_.data();
  }
  const V *data() const { return values_; }

private:
  std::vector<V> copy_;
  const V       *values_;
};

} // namespace tessera
