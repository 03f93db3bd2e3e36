// Memory that is not needed for a while.
#pragma once
#include "exec/buffer.hpp"

namespace tessera {

// What is in the buffer may become zero: the system takes the host's pages where it wants memory. As long as it does
// not, to write to them again takes a fraction of what fresh pages do. A device's memory is given back.
template <class T> void make_idle(Buffer<T> &buffer)
{
#if defined(__linux__) && defined(MADV_FREE)
  constexpr size_t page = 4096, least = (size_t)1 << 22; // smaller ones may lie beside other memory of the program
  if (buffer.space() == Space::host && buffer.bytes() > least) {
    if (!madvise((void *)buffer.data(), buffer.bytes() / page * page, MADV_FREE)) return;
  }
#endif
  buffer = Buffer<T>();
}

} // namespace tessera
