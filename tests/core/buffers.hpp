// What is in memory of the host or of a device, for the unit tests.
#pragma once
#include "exec/buffer.hpp"
#include <vector>

template <class T> std::vector<T> get(const tessera::Buffer<T> &from)
{
  tessera::Buffer<T> here(from.size());
  copy(from, here);
  return std::vector<T>(here.data(), here.data() + here.size());
}
