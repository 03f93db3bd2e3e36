// The emulated device (make CUDA=emulate): kernels run on the host, in memory that is closed to everything else.
#include "exec/device_state.hpp"

#ifdef TESSERA_EMULATE_DEVICE
  #include "exec/exec.hpp"
  #include <cstdlib>
  #include <cstring>
  #include <map>
  #include <new>
  #include <set>
  #include <sys/mman.h>

namespace tessera::device {

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

// Errors for tests. TESSERA_EMULATED_MEMORY: bytes that the device has. TESSERA_EMULATED_CAPABILITY: 61 for 6.1.
// TESSERA_EMULATED_UNLOCKED=1: there is no page-locked host memory. TESSERA_EMULATED_ERROR=n: the n-th kernel or copy
// since the variable was set fails, which the host learns when it next waits for the device.
bool broken = false, recording = false;
long long number(const char *name)
{
  const char *v = getenv(name);
  return v ? atoll(v) : 0;
}
void count_kernel()
{
  static long long count = 0;
  const long long  n = number("TESSERA_EMULATED_ERROR");
  count  = n ? count + 1 : 0;
  broken = broken || (n && count == n);
}
void check()
{
  if (recording) throw DeviceError("a graph that makes memory or waits");
  if (broken) raise(DeviceError("CUDA error: an illegal memory access was encountered (emulated)"));
}
} // namespace

// never destroyed: memory may be released until the very end
static std::map<const char *, size_t> &pinned()
{
  static std::map<const char *, size_t> &blocks = *new std::map<const char *, size_t>;
  return blocks;
}
static bool writable(const char *p)
{
  const Arena &a     = arena();
  const auto   after = pinned().upper_bound(p);
  if (p >= a.base && p < a.base + a.used) return true;
  return after != pinned().begin() && p < std::prev(after)->first + std::prev(after)->second;
}
Open::Open(Space space, const void *result) : opened(space == Space::cuda)
{
  Arena &a = arena();
  if (opened && result && !writable((const char *)result)) throw DeviceError("a result in memory of the host");
  if (opened) count_kernel();
  if (opened && !a.open++ && a.used) a.protect(PROT_READ | PROT_WRITE);
}
Open::~Open()
{
  Arena &a = arena();
  if (opened && !--a.open && a.used) a.protect(PROT_NONE);
}

void launched(const Blocks &blocks)
{
  if (blocks.x < 1 || blocks.y < 1 || blocks.x > 2147483647 || blocks.y > 65535)
    throw DeviceError("a launch of " + std::to_string(blocks.x) + " x " + std::to_string(blocks.y) + " blocks");
}

Recording::Recording() { recording = true; }
Recording::~Recording() { recording = false; }

void        prefer(int) { }
int         count() { return 0; } // PETSc has none to take
const char *unusable()
{
  static std::string why;
  const int          capability = (int)number("TESSERA_EMULATED_CAPABILITY");
  why = capability && capability < oldest ? too_old(capability / 10, capability % 10) : "";
  return why.empty() ? nullptr : why.c_str();
}
void *allocate(size_t bytes) // a device that has failed gives memory, too: kernels run here whatever happens
{
  Arena       &a = arena();
  // a closed page would not show an overrun while kernels run; zeros do
  const size_t n = (bytes + 4095) / 4096 * 4096 + 4096;
  if (!failed()) {
    const size_t limit = (size_t)number("TESSERA_EMULATED_MEMORY");
    check();
    if (const char *why = unusable()) raise(DeviceError(why));
    else if (limit && a.live + n > limit) out_of_memory(bytes, limit > a.live ? limit - a.live : 0, limit);
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
  count_address(a.base + at);
  return a.base + at;
}
void release(void *p)
{
  if (!p) return;
  if (recording) raise(DeviceError("a graph that frees memory"));
  count_address(p);
  Arena &a = arena();
  a.free[(size_t)((char *)p - a.base)] = a.blocks[p];
  a.live -= a.blocks[p];
  a.blocks.erase(p);
}
void *allocate_unset(size_t bytes)
{
  void *const p = allocate(bytes);
  if (failed()) return p; // what the host learns from then on is zero, and so is what lies there
  Open o(Space::cuda);
  memset(p, 0xa5, bytes);
  return p;
}
void *allocate_pinned(size_t bytes)
{
  void *p = malloc(bytes);
  if (!p) throw std::bad_alloc();
  pinned()[(const char *)p] = bytes;
  return p;
}
static std::set<const void *> &out_of_reach()
{
  // never destroyed: memory may be released until the very end
  static std::set<const void *> &s = *new std::set<const void *>;
  return s;
}
void *allocate_reached(size_t bytes)
{
  const bool none = failed() || number("TESSERA_EMULATED_UNLOCKED");
  if (none) out_of_reached(bytes);
  void *const p = allocate_pinned(bytes);
  if (none) out_of_reach().insert(p);
  return p;
}
bool reached(const void *p) { return !out_of_reach().count(p); }
void release_pinned(void *p)
{
  out_of_reach().erase(p);
  pinned().erase((const char *)p);
  free(p);
}
void  zero(void *p, size_t bytes) { Open o(Space::cuda); memset(p, 0, bytes); }
void  copy(void *to, const void *from, size_t bytes) { Open o(Space::cuda); memmove(to, from, bytes); }
void  copy_to_host(void *to, const void *from, size_t bytes)
{
  check();
  Open o(Space::cuda);
  if (failed()) memset(to, 0, bytes);
  else memcpy(to, from, bytes);
}
void  copy_from_host(void *to, const void *from, size_t bytes) { Open o(Space::cuda); memcpy(to, from, bytes); }
void  synchronize() { check(); }
void  keep(std::shared_ptr<const void>) { } // nothing is under way
void  copy_once_from_host(void *to, const void *from, size_t bytes)
{
  copy_from_host(to, from, bytes);
  synchronize();
}
void *stream() { return emulated_stream; }
void  set_stream(void *s) { emulated_stream = s; }
void  go_back_to(void *s) { emulated_stream = s; }
size_t  block_scratch() { return (size_t)200 << 10; }
double *scratch(size_t n)
{
  static Growing memory;
  return memory.get(n, 1);
}
double *result()
{
  static Growing memory;
  return memory.get(1, 1);
}

} // namespace tessera::device

#endif
