// Memory of the device that will be wanted soon, in parts.
#pragma once
#include <cstddef>

namespace tessera::device {

#ifdef TESSERA_HAVE_CUDA
// While such an object lives, so many bytes will be wanted: they are one allocation, which is cut. What is wanted
// beyond is as ever.
class Expected {
public:
  Expected();
  ~Expected();
  void bytes(size_t n);
};

// What is made while such an object lives is no part of it: it goes sooner, or stays longer.
class Apart {
public:
  Apart();
  ~Apart();
};
#else // an emulated device allocates as the host does
struct Expected {
  ~Expected() { }
  void bytes(size_t) { }
};
struct Apart {
  ~Apart() { }
};
#endif

} // namespace tessera::device
