#include "core/device.hpp"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string>
#ifdef TESSERA_HAVE_CUDA
  #include "core/exec.hpp"
#endif
#ifdef TESSERA_EMULATE_DEVICE
  #include <sys/mman.h>
#endif

namespace tessera::device {

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

constexpr int oldest = 70; // compute capability: 10 major + minor

// Small allocations are cut from large ones that are zeroed at once: a first setup makes hundreds. What is released comes back when
// nothing of its piece is in use any more.
constexpr size_t small_block = (size_t)1 << 19, piece_size = (size_t)1 << 23;
struct Piece {
  size_t used = 0;
  int    live = 0;
};

struct State {
  std::map<char *, Piece> pieces;
  char         *piece  = nullptr; // the one that is cut now
  int           number = -1, preferred = 0;
  std::string   why;
  cudaMemPool_t pool = nullptr;
  cudaStream_t  stream = nullptr;
  double       *scratch = nullptr;
  size_t        scratch_size = 0;
};
State &state()
{
  static State &s = *new State; // never destroyed: memory may be released until the very end
  return s;
}

// PETSc, or the program, has chosen the device of this process; ours is that one. The first one is what there is before any choice.
void initialize(State &s)
{
  int         n = 0, current = 0, major = 0, minor = 0, pools = 0;
  cudaError_t e = cudaGetDeviceCount(&n);
  if (e != cudaSuccess || !n) {
    s.why = e == cudaSuccess ? "there is no CUDA device" : std::string("there is no usable CUDA device (") + cudaGetErrorString(e) + ")";
    (void)cudaGetLastError();
    return;
  }
  check(cudaGetDevice(&current));
  if (!current && s.preferred % n) check(cudaSetDevice(current = s.preferred % n));
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, current));
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, current));
  check(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, current));
  cudaFuncAttributes f;
  char               text[200];
  if (10 * major + minor < oldest || !pools || cudaFuncGetAttributes(&f, probe_kernel()) != cudaSuccess) {
    (void)cudaGetLastError();
    snprintf(text, sizeof text, "the CUDA device has compute capability %d.%d, for which this library was not built (build it with CUDA_ARCH=%d%d)", major, minor, major, minor);
    s.why = text;
    return;
  }
  cudaMemPoolProps props = {};
  props.allocType     = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id   = current;
  check(cudaMemPoolCreate(&s.pool, &props));
  unsigned long long keep = ~0ull; // memory of an earlier setup serves the next one
  check(cudaMemPoolSetAttribute(s.pool, cudaMemPoolAttrReleaseThreshold, &keep));
  s.number = current;
}

State &ready()
{
  State &s = state();
  if (s.number < 0) {
    if (s.why.empty()) initialize(s);
    if (s.number < 0) throw DeviceError(s.why);
  }
  return s;
}

} // namespace

void fail(int error)
{
  throw DeviceError(std::string("CUDA error: ") + cudaGetErrorString((cudaError_t)error) + " (" + cudaGetErrorName((cudaError_t)error) + ")");
}

void prefer(int number) { state().preferred = number; }

const char *unusable()
{
  State &s = state();
  if (s.number < 0 && s.why.empty()) initialize(s);
  return s.number < 0 ? s.why.c_str() : nullptr;
}

static void *allocate_zeroed(State &s, size_t bytes)
{
  void       *p = nullptr;
  cudaError_t e = cudaMallocFromPoolAsync(&p, bytes, s.pool, s.stream);
  if (e == cudaErrorMemoryAllocation) { // once more without what the pool has put by
    (void)cudaGetLastError();
    (void)cudaStreamSynchronize(s.stream);
    (void)cudaMemPoolTrimTo(s.pool, 0);
    e = cudaMallocFromPoolAsync(&p, bytes, s.pool, s.stream);
  }
  if (e == cudaErrorMemoryAllocation) {
    size_t free = 0, total = 0;
    char   text[200];
    (void)cudaGetLastError();
    (void)cudaMemGetInfo(&free, &total);
    snprintf(text, sizeof text, "out of device memory: %.4g MB wanted, %.4g MB of %.4g MB free", bytes * 1e-6, free * 1e-6, total * 1e-6);
    throw DeviceMemoryError(text);
  }
  check(e);
  check(cudaMemsetAsync(p, 0, bytes, s.stream));
  return p;
}

void *allocate(size_t bytes)
{
  State &s = ready();
  if (bytes > small_block) return allocate_zeroed(s, bytes);
  bytes = (bytes + 255) / 256 * 256;
  if (!s.piece || s.pieces[s.piece].used + bytes > piece_size) {
    s.piece           = (char *)allocate_zeroed(s, piece_size);
    s.pieces[s.piece] = Piece();
  }
  Piece      &piece = s.pieces[s.piece];
  char *const p     = s.piece + piece.used;
  piece.used += bytes;
  ++piece.live;
  return p;
}

void release(void *p)
{
  if (!p) return;
  State &s  = state();
  auto   of = s.pieces.upper_bound((char *)p);
  if (of == s.pieces.begin() || (char *)p >= (--of)->first + piece_size) {
    (void)cudaFreeAsync(p, s.stream);
    return;
  }
  if (--of->second.live) return;
  if (of->first == s.piece) { // from its start again
    (void)cudaMemsetAsync(of->first, 0, of->second.used, s.stream);
    of->second.used = 0;
  } else {
    (void)cudaFreeAsync(of->first, s.stream);
    s.pieces.erase(of);
  }
}

void *allocate_pinned(size_t bytes)
{
  void *p = nullptr;
  ready();
  check(cudaMallocHost(&p, bytes));
  return p;
}

void release_pinned(void *p)
{
  if (p) (void)cudaFreeHost(p);
}

void zero(void *p, size_t bytes) { check(cudaMemsetAsync(p, 0, bytes, ready().stream)); }
void copy(void *to, const void *from, size_t bytes) { check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, ready().stream)); }
void copy_from_host(void *to, const void *from, size_t bytes) { check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, ready().stream)); }
void copy_to_host(void *to, const void *from, size_t bytes)
{
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, ready().stream));
  check(cudaStreamSynchronize(ready().stream));
}
void  synchronize() { check(cudaStreamSynchronize(ready().stream)); }
void *stream() { return state().stream; }

void set_stream(void *stream)
{
  State &s = state();
  if (s.stream == stream) return;
  if (s.number >= 0) check(cudaStreamSynchronize(s.stream)); // what is under way there comes first
  s.stream = (cudaStream_t)stream;
}

double *scratch(size_t n)
{
  State &s = ready();
  if (n > s.scratch_size) {
    release(s.scratch);
    s.scratch_size = n < 65536 ? 65536 : n;
    s.scratch      = (double *)allocate(s.scratch_size * sizeof(double));
  }
  return s.scratch;
}

#elif defined(TESSERA_EMULATE_DEVICE)

// One piece of address space, closed but while kernels run.
namespace {
struct Arena {
  static constexpr size_t size = (size_t)1 << 36;
  char                    *base;
  size_t                   used = 0, live = 0; // address space and bytes in use
  int                      open = 0;
  std::map<size_t, size_t> free; // place, bytes
  std::map<void *, size_t> blocks;
  // Huge pages: opening and closing takes its time for each page in use.
  static constexpr size_t huge = (size_t)1 << 21;
  Arena()
  {
    base = (char *)mmap(nullptr, size + huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    base += (huge - (size_t)base % huge) % huge;
    (void)madvise(base, size, MADV_HUGEPAGE);
  }
  void protect(int how) { (void)mprotect(base, (used + huge - 1) / huge * huge, how); }
};
Arena &arena()
{
  static Arena a;
  return a;
}
void  *emulated_stream = nullptr;
} // namespace

Open::Open(Space space) : opened(space == Space::cuda)
{
  Arena &a = arena();
  if (opened && !a.open++ && a.used) a.protect(PROT_READ | PROT_WRITE);
}
Open::~Open()
{
  Arena &a = arena();
  if (opened && !--a.open && a.used) a.protect(PROT_NONE);
}

void        prefer(int) { }
const char *unusable() { return nullptr; }
void       *allocate(size_t bytes)
{
  Arena       &a = arena();
  const size_t n = (bytes + 4095) / 4096 * 4096 + 4096; // a closed page would not show an overrun while kernels run; zeros do
  if (const char *limit = getenv("TESSERA_EMULATED_MEMORY"))
    if (a.live + n > strtoull(limit, nullptr, 10)) {
      char text[200];
      snprintf(text, sizeof text, "out of device memory: %.4g MB wanted, %.4g MB free", bytes * 1e-6, ((double)strtoull(limit, nullptr, 10) - (double)a.live) * 1e-6);
      throw DeviceMemoryError(text);
    }
  size_t at = a.used;
  for (auto f = a.free.begin(); f != a.free.end(); ++f)
    if (f->second == n) {
      at = f->first;
      a.free.erase(f);
      break;
    }
  if (at == a.used) {
    if (a.used + n > Arena::size) throw std::bad_alloc();
    a.used += n;
  }
  a.blocks[a.base + at] = n;
  a.live += n;
  zero(a.base + at, n);
  return a.base + at;
}
void release(void *p)
{
  if (!p) return;
  Arena &a = arena();
  a.free[(size_t)((char *)p - a.base)] = a.blocks[p];
  a.live -= a.blocks[p];
  a.blocks.erase(p);
}
void *allocate_pinned(size_t bytes)
{
  void *p = malloc(bytes);
  if (!p) throw std::bad_alloc();
  return p;
}
void  release_pinned(void *p) { free(p); }
void  zero(void *p, size_t bytes) { Open o(Space::cuda); memset(p, 0, bytes); }
void  copy(void *to, const void *from, size_t bytes) { Open o(Space::cuda); memmove(to, from, bytes); }
void  copy_to_host(void *to, const void *from, size_t bytes) { Open o(Space::cuda); memcpy(to, from, bytes); }
void  copy_from_host(void *to, const void *from, size_t bytes) { Open o(Space::cuda); memcpy(to, from, bytes); }
void  synchronize() { }
void *stream() { return emulated_stream; }
void  set_stream(void *s) { emulated_stream = s; }
double *scratch(size_t n)
{
  static double *p    = nullptr;
  static size_t  size = 0;
  if (n > size) {
    release(p);
    p = (double *)allocate((size = n) * sizeof(double));
  }
  return p;
}

#else

static const char *const none = "this library was built without CUDA";
void        prefer(int) { }
const char *unusable() { return none; }
void       *allocate(size_t) { throw DeviceError(none); }
void        release(void *) { }
void       *allocate_pinned(size_t) { throw DeviceError(none); }
void        release_pinned(void *) { }
void        zero(void *, size_t) { throw DeviceError(none); }
void        copy(void *, const void *, size_t) { throw DeviceError(none); }
void        copy_to_host(void *, const void *, size_t) { throw DeviceError(none); }
void        copy_from_host(void *, const void *, size_t) { throw DeviceError(none); }
void        synchronize() { throw DeviceError(none); }
void       *stream() { return nullptr; }
void        set_stream(void *) { }
double     *scratch(size_t) { throw DeviceError(none); }

#endif

} // namespace tessera::device
