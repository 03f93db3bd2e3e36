// Items that a kernel takes at a time: on the host as many as its vectors and registers hold, on a device one.
#pragma once
#include "exec/exec.hpp"

namespace tessera {

constexpr int chunk = 16;
inline int    chunk_of(const Exec &exec) { return exec.on_device() ? 1 : chunk; }

} // namespace tessera
