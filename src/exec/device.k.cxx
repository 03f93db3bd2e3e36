#include "exec/device_state.hpp"
#include "exec/reservation.hpp"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <set>
#include <string>
#include <utility>
#ifdef TESSERA_HAVE_DEVICE
  #include "exec/exec.hpp"
#endif

namespace tessera::device {

#ifdef TESSERA_HAVE_DEVICE

// never destroyed, as the state below
Keeping &keeping()
{
  static Keeping &k = *new Keeping;
  return k;
}

std::string too_old(int major, int minor)
{
  char text[200];
  if (10 * major + minor < oldest)
    snprintf(text, sizeof text, "the CUDA device has compute capability %d.%d, this library needs %d.%d", major, minor,
             oldest / 10, oldest % 10);
  else
    snprintf(text, sizeof text,
             "the CUDA device has compute capability %d.%d, for which this library was not built (build it with "
             "CUDA_ARCH=%d%d)",
             major, minor, major, minor);
  return text;
}

void out_of_memory(size_t wanted, size_t free, size_t total)
{
  char text[200];
  snprintf(text, sizeof text, "out of device memory: %.4g MB wanted, %.4g MB of %.4g MB free", (double)wanted * 1e-6,
           (double)free * 1e-6, (double)total * 1e-6);
  raise(DeviceMemoryError(text));
}

void out_of_reached(size_t wanted)
{
  char text[200];
  snprintf(text, sizeof text, "out of page-locked host memory: %zu bytes wanted, which the device writes to", wanted);
  raise(DeviceMemoryError(text));
}

static unsigned long long all_addresses = 0;
void count_address(const void *p)
{
  unsigned long long h = (unsigned long long)(size_t)p * 0x9e3779b97f4a7c15ull;
  all_addresses ^= (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9ull;
}

bool keep_errors(bool keep)
{
  int &depth = keeping().depth;
  depth += keep ? 1 : -1;
  return depth > keep;
}
bool failed() { return keeping().failed; }
void when_failed(void (*f)()) { keeping().then = f; }
unsigned long long allocated() { return all_addresses; }
Kept take_error()
{
  Keeping &k = keeping();
  Kept     e;
  std::swap(e, k.error);
  k.failed = false;
  return e;
}

#else

bool keep_errors(bool) { return false; }
bool failed() { return false; }
void when_failed(void (*)()) { }
unsigned long long allocated() { return 0; }
Kept take_error() { return {}; }

#endif

#if defined(TESSERA_HAVE_CUDA)

__global__ void add_parts(const double *parts, int n, double *sum, bool add)
{
  double s = 0;
  for (int i = (int)(threadIdx.x + threadIdx.y * blockDim.x); i < n; i += (int)(blockDim.x * blockDim.y)) s += parts[i];
  s = block_sum(s);
  if (!threadIdx.x && !threadIdx.y) *sum = (add ? *sum : 0) + s;
}

size_t resident(const void *kernel, int threads)
{
  int blocks = 0, processors = 0, current = 0;
  check(cudaGetDevice(&current));
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0));
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, current));
  return (size_t)(blocks * processors);
}

const void *probe_kernel() { return (const void *)add_parts; }

namespace {

// Small allocations are cut from large ones that are zeroed at once: a first setup makes hundreds, 7 us each. What is
// released comes back when nothing of its piece is in use any more. Memory of the pool takes the driver a microsecond
// a megabyte when it is first used, other memory a twentieth: a Reservation is a piece of its own, from which large
// ones are cut, too. It goes back to the device with its last part.
constexpr size_t small_block = (size_t)1 << 19, piece_size = (size_t)1 << 23;
struct Piece {
  size_t size = piece_size, used = 0, zeroed = 0;
  int    live = 0;
  bool   pooled = true;
};

struct State {
  std::map<char *, Piece> pieces;
  char         *piece  = nullptr; // the one that is cut now
  char         *expected = nullptr; // the one of an Reservation
  int           apart = 0; // objects OutsideReservation
  int           number = -1, preferred = 0, block_scratch = 0;
  std::string   why;
  cudaMemPool_t pool = nullptr;
  cudaStream_t  stream = nullptr;
  Growing       scratch, result;
  std::set<void *> ordinary; // host memory that is not page-locked
  void         *little = nullptr; // locked memory for small copies to the host
  std::vector<std::shared_ptr<const void>> kept; // until the next wait
};
State &state()
{
  static State &s = *new State; // never destroyed: memory may be released until the very end
  return s;
}

// PETSc, or the program, has chosen the device of this process; ours is that one. The first one is what there is
// before any choice.
void initialize(State &s)
{
  int         n = 0, current = 0, major = 0, minor = 0, pools = 0;
  cudaError_t e = cudaGetDeviceCount(&n);
  if (e != cudaSuccess || !n) {
    s.why = e == cudaSuccess ? "there is no CUDA device"
                             : std::string("there is no usable CUDA device (") + cudaGetErrorString(e) + ")";
    (void)cudaGetLastError();
    return;
  }
  check(cudaGetDevice(&current));
  if (!current && s.preferred % n) check(cudaSetDevice(current = s.preferred % n));
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, current));
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, current));
  check(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, current));
  cudaFuncAttributes f;
  e = 10 * major + minor < oldest ? cudaErrorNoKernelImageForDevice : cudaFuncGetAttributes(&f, probe_kernel());
  if (e != cudaSuccess || !pools) {
    (void)cudaGetLastError();
    s.why = e == cudaErrorNoKernelImageForDevice || e == cudaErrorInvalidDeviceFunction ? too_old(major, minor)
          : e != cudaSuccess ? std::string("the CUDA device cannot be used (") + cudaGetErrorString(e) + ")"
                             : "the CUDA device has no memory pools";
    return;
  }
  cudaMemPoolProps props = {};
  props.allocType     = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id   = current;
  check(cudaMemPoolCreate(&s.pool, &props));
  check(cudaDeviceGetAttribute(&s.block_scratch, cudaDevAttrMaxSharedMemoryPerBlockOptin, current));
  unsigned long long keep = ~0ull; // memory of an earlier setup serves the next one
  check(cudaMemPoolSetAttribute(s.pool, cudaMemPoolAttrReleaseThreshold, &keep));
  if (failed()) s.why = keeping().error.text;
  else s.number = current;
}

State &ready()
{
  State &s = state();
  if (s.number < 0) {
    if (s.why.empty()) initialize(s);
    if (s.number < 0) raise(DeviceError(s.why));
  }
  return s;
}

} // namespace

void *const nowhere = (void *)256; // memory of a device that has failed

void fail(int error)
{
  raise(DeviceError(std::string("CUDA error: ") + cudaGetErrorString((cudaError_t)error) + " (" +
                    cudaGetErrorName((cudaError_t)error) + ")"));
}

void prefer(int number) { state().preferred = number; }

int count()
{
  int n = 0;
  if (cudaGetDeviceCount(&n) == cudaSuccess) return n;
  (void)cudaGetLastError();
  return 0;
}

const char *unusable()
{
  State &s = state();
  if (s.number < 0 && s.why.empty()) initialize(s);
  return s.number < 0 ? s.why.c_str() : nullptr;
}

static void *allocate_pooled(State &s, size_t bytes)
{
  void       *p = nullptr;
  cudaError_t e = cudaMallocFromPoolAsync(&p, bytes, s.pool, s.stream);
  if (e == cudaErrorMemoryAllocation) { // once more without what has been put by
    (void)cudaGetLastError();
    (void)cudaStreamSynchronize(s.stream);
    (void)cudaMemPoolTrimTo(s.pool, 0);
    e = cudaMallocFromPoolAsync(&p, bytes, s.pool, s.stream);
  }
  if (e == cudaErrorMemoryAllocation) {
    size_t free = 0, total = 0;
    (void)cudaGetLastError();
    (void)cudaMemGetInfo(&free, &total);
    out_of_memory(bytes, free, total);
    return nowhere;
  }
  check(e);
  return failed() ? nowhere : p;
}

Reservation::Reservation() { }
void Reservation::bytes(size_t n)
{
  State &s = ready();
  if (n <= 4 * piece_size || failed()) return;
  char *place = nullptr;
  if (cudaMalloc((void **)&place, n) != cudaSuccess) { // who wants it will say so
    (void)cudaGetLastError();
    return;
  }
  s.pieces[place].size   = n;
  s.pieces[place].pooled = false;
  s.expected             = place;
}
Reservation::~Reservation()
{
  State      &s     = state();
  char *const place = std::exchange(s.expected, nullptr);
  if (!place || s.pieces[place].live) return;
  (void)cudaFree(place);
  s.pieces.erase(place);
}
OutsideReservation::OutsideReservation() { ++state().apart; }
OutsideReservation::~OutsideReservation() { --state().apart; }

static void *cut(State &s, char *place, size_t bytes)
{
  Piece       &piece = s.pieces[place];
  char *const  p     = place + piece.used;
  piece.used += bytes;
  ++piece.live;
  if (piece.used > piece.zeroed) { // some more at once
    const size_t end = std::min(std::max(piece.used, piece.zeroed + piece_size), piece.size);
    check(cudaMemsetAsync(place + piece.zeroed, 0, end - piece.zeroed, s.stream));
    piece.zeroed = end;
  }
  count_address(p);
  return p;
}

static void *allocate(size_t bytes, bool zeroed)
{
  if (failed()) return nowhere;
  State &s = ready();
  if (failed()) return nowhere;
  const size_t whole = (bytes + 255) / 256 * 256;
  auto         fits  = [&](char *place) { return place && s.pieces[place].used + whole <= s.pieces[place].size; };
  if (!s.apart && fits(s.expected)) return cut(s, s.expected, whole);
  if (bytes > small_block) {
    void *const large = allocate_pooled(s, bytes);
    if (failed()) return nowhere;
    if (zeroed) check(cudaMemsetAsync(large, 0, bytes, s.stream));
    if (!failed()) count_address(large);
    return large;
  }
  if (!fits(s.piece)) {
    char *const next = (char *)allocate_pooled(s, piece_size);
    if (failed()) return nowhere;
    s.piece           = next;
    s.pieces[s.piece] = Piece();
  }
  return cut(s, s.piece, whole);
}
void *allocate(size_t bytes) { return allocate(bytes, true); }
void *allocate_unset(size_t bytes) { return allocate(bytes, false); }

void release(void *p)
{
  if (!p || p == nowhere) return;
  count_address(p);
  State &s  = state();
  auto   of = s.pieces.upper_bound((char *)p);
  if (of == s.pieces.begin() || (char *)p >= (--of)->first + of->second.size) {
    (void)cudaFreeAsync(p, s.stream);
    return;
  }
  Piece &piece = of->second;
  if (--piece.live) return;
  if (of->first == s.expected) {
    piece.used = piece.zeroed = 0;
  } else if (!piece.pooled) {
    (void)cudaFree(of->first); // waits
    s.pieces.erase(of);
  } else if (of->first == s.piece) { // from its start again
    (void)cudaMemsetAsync(of->first, 0, piece.used, s.stream);
    piece.used = 0;
  } else {
    (void)cudaFreeAsync(of->first, s.stream);
    s.pieces.erase(of);
  }
}

static void *allocate_ordinary(size_t bytes)
{
  void *const p = malloc(bytes);
  if (!p) throw std::bad_alloc();
  state().ordinary.insert(p);
  return p;
}

void *allocate_pinned(size_t bytes)
{
  void *p = nullptr;
  if (!failed() && cudaMallocHost(&p, bytes) == cudaSuccess) return p;
  (void)cudaGetLastError();
  return allocate_ordinary(bytes);
}

void *allocate_reached(size_t bytes)
{
  void             *p = nullptr;
  const cudaError_t e = failed() ? cudaErrorMemoryAllocation : cudaMallocHost(&p, bytes);
  if (e == cudaSuccess) return p;
  (void)cudaGetLastError();
  if (e == cudaErrorMemoryAllocation) out_of_reached(bytes);
  else check(e);
  return allocate_ordinary(bytes);
}

bool reached(const void *p) { return !state().ordinary.count(const_cast<void *>(p)); }

void release_pinned(void *p)
{
  if (state().ordinary.erase(p)) free(p);
  else if (p) (void)cudaFreeHost(p);
}

// What has been allocated is there: the device is ready.
void zero(void *p, size_t bytes)
{
  if (!failed()) check(cudaMemsetAsync(p, 0, bytes, state().stream));
}
static void move(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
  if (!failed()) check(cudaMemcpyAsync(to, from, bytes, kind, state().stream));
}
void copy(void *to, const void *from, size_t bytes) { move(to, from, bytes, cudaMemcpyDeviceToDevice); }
void copy_from_host(void *to, const void *from, size_t bytes) { move(to, from, bytes, cudaMemcpyHostToDevice); }
// Who asks again and again sees the end at once; CUDA's own wait may return 0.15 ms late.
void synchronize()
{
  constexpr auto patience = std::chrono::milliseconds(2);
  if (failed()) return;
  cudaError_t e;
  const auto  start = std::chrono::steady_clock::now();
  while ((e = cudaStreamQuery(state().stream)) == cudaErrorNotReady &&
         std::chrono::steady_clock::now() - start < patience) { }
  if (e == cudaErrorNotReady) e = cudaStreamSynchronize(state().stream);
  state().kept.clear();
  check(e);
}
void keep(std::shared_ptr<const void> memory) { state().kept.push_back(std::move(memory)); }
// The driver takes ordinary memory through small buffers, at a tenth of the speed of locked pages; locking them takes
// less than that.
void copy_once_from_host(void *to, const void *from, size_t bytes)
{
  constexpr size_t much = (size_t)1 << 23;
  struct Locked { // an error must not leave the program's memory locked
    void *p;
    ~Locked()
    {
      if (p) (void)cudaHostUnregister(p);
    }
  };
  const bool can = !failed() && bytes >= much &&
                   cudaHostRegister(const_cast<void *>(from), bytes, cudaHostRegisterDefault) == cudaSuccess;
  const Locked locked{can ? const_cast<void *>(from) : nullptr};
  if (!can) (void)cudaGetLastError();
  copy_from_host(to, from, bytes);
  synchronize();
}
// Little is written by a kernel, into locked memory: sooner than by a copy.
template <class T> __global__ void write_out(T *to, const T *from, int n)
{
  for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) to[i] = from[i];
}
void copy_to_host(void *to, const void *from, size_t bytes)
{
  constexpr size_t little = 4096;
  State           &s      = state();
  if (bytes <= little && !s.little && !failed()) s.little = allocate_pinned(little);
  void *const place = bytes <= little && s.little ? s.little : to;
  if (place == to || s.ordinary.count(place)) move(place, from, bytes, cudaMemcpyDeviceToHost);
  else if (bytes % 4 || (size_t)from % 4)
    launch(write_out<char>, dim3(1), dim3(256), 0, (char *)place, (const char *)from, (int)bytes);
  else launch(write_out<int>, dim3(1), dim3(256), 0, (int *)place, (const int *)from, (int)(bytes / 4));
  synchronize();
  if (failed()) memset(to, 0, bytes);
  else if (place != to) memcpy(to, place, bytes);
}
void *stream() { return state().stream; }

void set_stream(void *stream)
{
  State &s = state();
  if (s.stream == stream) return;
  // what is under way comes first; the program may have destroyed the stream before
  if (s.number >= 0) check(cudaDeviceSynchronize());
  s.stream = (cudaStream_t)stream;
}
void go_back_to(void *stream) { state().stream = (cudaStream_t)stream; }

size_t block_scratch() { return failed() ? 0 : (size_t)ready().block_scratch; }
// These outlive what an Reservation is for.
static double *lasting(Growing &memory, size_t n, size_t least)
{
  const OutsideReservation apart;
  return memory.get(n, least);
}
double *scratch(size_t n) { return lasting(state().scratch, n, 65536); }
double *result() { return lasting(state().result, 1, 1); }

#elif !defined(TESSERA_EMULATE_DEVICE)

static const char *const none = "this library was built without CUDA (make CUDA=1 builds it with, docs/howto/gpu.md)";
void        prefer(int) { }
int         count() { return 0; }
const char *unusable() { return none; }
void       *allocate(size_t) { throw DeviceError(none); }
void       *allocate_unset(size_t) { throw DeviceError(none); }
void        release(void *) { }
void       *allocate_pinned(size_t) { throw DeviceError(none); }
void       *allocate_reached(size_t) { throw DeviceError(none); }
bool        reached(const void *) { return false; }
void        release_pinned(void *) { }
void        zero(void *, size_t) { throw DeviceError(none); }
void        copy(void *, const void *, size_t) { throw DeviceError(none); }
void        copy_to_host(void *, const void *, size_t) { throw DeviceError(none); }
void        copy_from_host(void *, const void *, size_t) { throw DeviceError(none); }
void        copy_once_from_host(void *, const void *, size_t) { throw DeviceError(none); }
void        synchronize() { throw DeviceError(none); }
void        keep(std::shared_ptr<const void>) { }
void       *stream() { return nullptr; }
void        set_stream(void *) { }
void        go_back_to(void *) { }
size_t      block_scratch() { return 0; }
double     *scratch(size_t) { throw DeviceError(none); }
double     *result() { throw DeviceError(none); }

#endif

} // namespace tessera::device
