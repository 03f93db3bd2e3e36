// One allocation of the device's memory for the many small ones of a setup.
#pragma once
#include <cstddef>

namespace tessera::device {

#ifdef TESSERA_HAVE_CUDA
// While such an object lives there is one allocation of the bytes that the present setup will need, and smaller
// requests are cut from it. What does not fit is allocated by itself.
class Reservation {
public:
  Reservation();
  ~Reservation();
  void bytes(size_t n);
};

// What is allocated while such an object lives is not cut from the reservation, because its life ends earlier or later.
class OutsideReservation {
public:
  OutsideReservation();
  ~OutsideReservation();
};
#else // an emulated device allocates as the host does
struct Reservation {
  ~Reservation() { }
  void bytes(size_t) { }
};
struct OutsideReservation {
  ~OutsideReservation() { }
};
#endif

} // namespace tessera::device
