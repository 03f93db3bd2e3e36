// The device: its memory, its stream, and what may be wrong with it. All calls work in the order of one stream.
//
// Built in three ways: without a device; with CUDA; or with an emulated device (TESSERA_EMULATE_DEVICE), whose memory is closed to
// everything but kernels and copies, so that the device path of all code is tested where there is no GPU.
#pragma once
#include <cstddef>
#include <stdexcept>

#if defined(TESSERA_HAVE_CUDA) || defined(TESSERA_EMULATE_DEVICE)
  #define TESSERA_HAVE_DEVICE 1
#endif

namespace tessera {

enum class Space { host, cuda };

// Something on the device failed; the message is for users.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct DeviceMemoryError : DeviceError { // there is not enough
  using DeviceError::DeviceError;
};

namespace device {

void        prefer(int number);         // the device to take, modulo their number, where the program has chosen none
const char *unusable();                 // nullptr, or why there is no device to use
void       *allocate(size_t bytes);     // zeroed; DeviceMemoryError names the bytes wanted and free
void        release(void *p);
void       *allocate_pinned(size_t bytes); // host memory that copies quickly
void        release_pinned(void *p);
void        zero(void *p, size_t bytes);
void        copy(void *to, const void *from, size_t bytes);          // device to device
void        copy_to_host(void *to, const void *from, size_t bytes);  // waits
void        copy_from_host(void *to, const void *from, size_t bytes);
void        synchronize();              // waits for the stream; DeviceError if a kernel failed
void       *stream();                   // cudaStream_t of everything that follows
void        set_stream(void *stream);
double     *scratch(size_t n);          // n doubles of device memory that lie there until the next call with a larger n

// Kernels may touch device memory while such an object lives; only the emulated device looks.
#ifdef TESSERA_EMULATE_DEVICE
struct Open {
  explicit Open(Space space);
  ~Open();
  bool opened;
};
#else
struct Open {
  explicit Open(Space) { }
};
#endif

} // namespace device
} // namespace tessera
