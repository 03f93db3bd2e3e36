// Tables of what is done otherwise on a device than on the host.
#pragma once
#include "exec/device.hpp"

namespace tessera {

// The column of a space; host() and device() make the two, once.
template <auto host, auto device> const auto &column_of(Space space)
{
  static const auto of_host = host(), of_device = device();
  return space == Space::cuda ? of_device : of_host;
}

} // namespace tessera
