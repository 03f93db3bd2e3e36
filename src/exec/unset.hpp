// Memory that is not set to zero.
#pragma once
#include "exec/buffer.hpp"
#include "exec/exec.hpp"

namespace tessera {

// n values, all of which will be written.
template <class V> Buffer<V> make_unset(const Exec &exec, size_t n)
{
  Buffer<V> b;
  b.resize_unset(Extent{n, exec.space});
  return b;
}

} // namespace tessera
