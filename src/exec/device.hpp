// The device: its memory, its stream, and what may be wrong with it. All calls work in the order of one stream.
//
// Built in three ways: without a device; with CUDA; or with an emulated device (TESSERA_EMULATE_DEVICE), whose memory
// is closed to everything but kernels and copies, so that the device path of all code is tested where there is no
// GPU.
#pragma once
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

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

#ifdef TESSERA_HAVE_DEVICE
constexpr bool built = true;
#else
constexpr bool built = false; // what a device alone runs is not compiled
#endif

void        prefer(int number);         // the device to take, modulo their number, where the program has chosen none
int         count();                    // of devices; uses none of them
const char *unusable();                 // nullptr, or why there is no device to use
void       *allocate(size_t bytes);     // zeroed; DeviceMemoryError names the bytes wanted and free
void       *allocate_unset(size_t bytes); // not zeroed: the emulated device fills it with what is no sensible number
void        release(void *p);
// another number after any allocation or release of device memory that was not undone
unsigned long long allocated();
void       *allocate_pinned(size_t bytes); // host memory that copies quickly; ordinary memory where there is no more
void       *allocate_reached(size_t bytes); // host memory that kernels write to; DeviceMemoryError where there is none
// do they? Not where allocate_pinned() had no more, or an error is kept of allocate_reached()
bool        reached(const void *p);
void        release_pinned(void *p);
void        zero(void *p, size_t bytes);
void        copy(void *to, const void *from, size_t bytes);          // device to device
void        copy_to_host(void *to, const void *from, size_t bytes);  // waits
void        copy_from_host(void *to, const void *from, size_t bytes);
void        copy_once_from_host(void *to, const void *from, size_t bytes); // much ordinary memory; waits
void        synchronize();              // waits for the stream; DeviceError if a kernel failed
inline void synchronize(Space space)    // the same where the space is the device's: the host's kernels have ended
{
  if (space == Space::cuda) synchronize();
}
// Frees memory of the host, from which values are under way to the device, after the next wait for the stream.
void        keep(std::shared_ptr<const void> memory);
void       *stream();                   // cudaStream_t of everything that follows
void        set_stream(void *stream);   // waits for the one before; DeviceError if a kernel failed there
void        go_back_to(void *stream);   // from one that only records: nothing to wait for, and no error
size_t      block_scratch();            // bytes of scratch that a block of threads can have
// the same where kernels run in that space: a block of the host has none that is faster than other memory
inline size_t block_scratch(Space space) { return space == Space::cuda ? block_scratch() : 0; }
double     *scratch(size_t n);          // n doubles of device memory that lie there until the next call with a larger n
double     *result();                   // one more: the place of a sum for the host

// On several processes an error of one must not leave the others waiting for its messages. While errors are kept the
// first one is not thrown. From then on the device of this process does nothing: launches and copies are left out,
// memory is a place that nobody looks at, what comes to the host is zero, and sums for the host are no numbers, so
// that iterations end everywhere. Messages go on as ever, by way of the host, until the processes agree on the error
// (CollectiveErrors in petsc/device.hpp).
bool keep_errors(bool keep);            // nests; returns whether they still are, or have been, kept by somebody else
bool failed();                          // is an error kept?
void when_failed(void (*f)());          // is called as soon as one is
struct Kept {
  std::string text;                     // empty: none
  bool        memory = false;           // a DeviceMemoryError
};
Kept take_error();                      // and work again

// Kernels may touch device memory while such an object lives. result: where they leave what they find, which must be
// memory of the device, or of the host that it reaches. Only the emulated device looks.
#ifdef TESSERA_EMULATE_DEVICE
struct Open {
  explicit Open(Space space, const void *result = nullptr);
  ~Open();
  bool opened;
};
// What goes into a graph makes no memory and waits for nothing: while such an object lives the emulated device
// refuses to.
struct Recording {
  Recording();
  ~Recording();
};
#else
struct Open {
  explicit Open(Space, const void * = nullptr) { }
};
struct Recording {
  ~Recording() { }
};
#endif

} // namespace device
} // namespace tessera
