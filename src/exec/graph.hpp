// A sequence of kernels and copies on the device, recorded once and launched as one: a launch costs more than the
// work on a small grid.
#pragma once
#include "exec/device.hpp"
#include <cstdint>
#include <memory>

namespace tessera {

class Graph {
public:
  Graph();
  ~Graph();
  Graph(Graph &&) noexcept;
  Graph &operator=(Graph &&) noexcept;

  // What `launches` puts into the stream. `key` stands for everything in it that may change but addresses of device
  // memory, which are looked at here: as long as it is the same the recorded sequence goes into the stream again.
  // What is recorded makes no memory and waits for nothing; on the emulated device it is an error if it does.
  // scratch: doubles of device::scratch() that it needs. On the host the launches run as they are.
  template <class F> void run(Space space, uint64_t key, size_t scratch, const F &launches)
  {
    if (space == Space::host) return launches();
    if (begin(key, scratch)) {
      try {
        launches();
      } catch (...) {
        abandon();
        throw;
      }
      end();
    }
    launch();
  }

private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  bool                   begin(uint64_t key, size_t scratch); // is there anything to record?
  void                   end();
  void                   abandon();
  void                   launch();
};

} // namespace tessera
