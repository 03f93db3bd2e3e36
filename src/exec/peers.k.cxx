#include "exec/peers.hpp"
#include "exec/buffer.hpp"
#include <algorithm>
#include <cstring>
#include <unistd.h>
#ifdef TESSERA_HAVE_DEVICE
  #include <chrono>
  #include <fcntl.h>
  #include <sys/mman.h>
#endif

namespace tessera {

namespace {

// What others must know of a process to write into its memory.
struct Card {
  char host[64];
  char device[32]; // its bus number
  long process;
  int  word; // a file of this process: the word that says `lost`
  bool ready;
#if defined(TESSERA_HAVE_CUDA)
  cudaIpcMemHandle_t handle;
#else
  int handle;
#endif
};

// One piece per process, made at the first call and kept: others may have it open until the very end.
constexpr size_t arena_size = (size_t)64 << 20;
struct Other {
  Card      card;
  char     *base = nullptr;
  unsigned *word = nullptr;
};
struct Arena {
  char     *base = nullptr;
  unsigned *word = nullptr; // of this process, which the others set
  const unsigned *word_on_device = nullptr; // the same for kernels
  unsigned losses = 0;                   // that have been restored from
  std::vector<std::pair<size_t, size_t>> live; // regions that are in use, in order: where they begin and end
  bool   tried = false;
  Card   card = {};
  std::vector<Other> opened;
};
// Where the first gap of so many bytes begins.
size_t gap(const Arena &a, size_t bytes)
{
  size_t begin = 0;
  for (const auto &region : a.live) {
    if (region.first >= begin + bytes) break;
    begin = region.second;
  }
  return begin;
}
Arena &arena()
{
  static Arena &a = *new Arena;
  return a;
}

#ifdef TESSERA_HAVE_DEVICE

// Memory that other processes of this host map by the number of its file.
void *map_shared_file(size_t bytes, int *file)
{
  *file         = memfd_create("tessera", 0);
  void *const p = *file < 0 || ftruncate(*file, (off_t)bytes)
                  ? MAP_FAILED
                  : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
  return p == MAP_FAILED ? nullptr : p;
}
void *map_other(long process, int number, size_t bytes)
{
  char name[64];
  snprintf(name, sizeof name, "/proc/%ld/fd/%d", process, number);
  const int   file = ::open(name, O_RDWR);
  void *const p    = file < 0 ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  return p == MAP_FAILED ? nullptr : p;
}
constexpr size_t page = 4096;

// An error is kept here: nobody shall wait for this process.
void tell_others()
{
  Arena &a = arena();
  for (const Other &o : a.opened) __atomic_store_n(o.word, 1u, __ATOMIC_RELEASE);
  if (a.word) __atomic_store_n(a.word, 1u, __ATOMIC_RELEASE);
}

  #ifdef TESSERA_HAVE_CUDA
bool make(Arena &a)
{
  int        device = 0;
  void      *word = nullptr;
  const bool ok     = !device::unusable() && cudaGetDevice(&device) == cudaSuccess &&
                  cudaDeviceGetPCIBusId(a.card.device, sizeof a.card.device, device) == cudaSuccess
               // memory of pools has no handle
               && cudaMalloc((void **)&a.base, arena_size) == cudaSuccess &&
                  cudaIpcGetMemHandle(&a.card.handle, a.base) == cudaSuccess &&
                  cudaHostRegister(a.word, page, cudaHostRegisterMapped) == cudaSuccess &&
                  cudaHostGetDevicePointer(&word, a.word, 0) == cudaSuccess;
  if (!ok) (void)cudaGetLastError();
  a.word_on_device = (const unsigned *)word;
  return ok;
}
char *open_other(const Card &card)
{
  void *p = nullptr;
  if (cudaIpcOpenMemHandle(&p, card.handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess) return (char *)p;
  (void)cudaGetLastError();
  return nullptr;
}
  #else
bool make(Arena &a)
{
  a.base           = (char *)map_shared_file(arena_size, &a.card.handle);
  a.word_on_device = a.word;
  snprintf(a.card.device, sizeof a.card.device, "%ld", (long)getpid());
  return a.base;
}
char *open_other(const Card &card) { return (char *)map_other(card.process, card.handle, arena_size); }
  #endif

bool make_all(Arena &a)
{
  a.word = (unsigned *)map_shared_file(page, &a.card.word);
  if (!a.word || !make(a)) return false;
  device::when_failed(tell_others);
  return true;
}
bool open_all(Other &o)
{
  o.base = open_other(o.card);
  o.word = (unsigned *)map_other(o.card.process, o.card.word, page);
  return o.base && o.word;
}

#else
bool make_all(Arena &) { return false; }
bool open_all(Other &) { return false; }
#endif

bool all(bool mine, MPI_Comm comm)
{
  int m = mine, a = 0;
  MPI_Allreduce(&m, &a, 1, MPI_INT, MPI_MIN, comm);
  return a;
}

} // namespace

bool Peers::lost()
{
  const unsigned *const word = arena().word;
  return word && __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

const unsigned *Peers::lost_on_device() { return arena().word_on_device; }

#ifdef TESSERA_EMULATE_DEVICE
bool device::wait_on_host(const unsigned *flag, unsigned v)
{
  const auto start = std::chrono::steady_clock::now();
  for (int polls = 0; (int)(__atomic_load_n(flag, __ATOMIC_ACQUIRE) - v) < 0; ++polls) {
    if (polls < 1000) continue;
    if (Peers::lost()) return false;
    usleep(20); // others need the core
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(120))
      throw DeviceError("another process has not come to a meeting");
  }
  return true;
}
#else
bool device::wait_on_host(const unsigned *, unsigned) { return false; }
#endif

// Every step that may fail on one process is followed by a question to all.
std::shared_ptr<Peers> Peers::open(const Exec &exec, MPI_Comm comm, size_t bytes, bool wanted)
{
  int n = 0, rank = 0;
  MPI_Comm_size(comm, &n);
  MPI_Comm_rank(comm, &rank);
  Arena &a = arena();
  bytes    = (bytes + 255) / 256 * 256;
  if (!all(wanted && exec.on_device() && n > 1 && n <= Meeting::max_others + 1, comm)) return nullptr;
  if (!a.tried) {
    a.tried = true;
    (void)gethostname(a.card.host, sizeof a.card.host - 1);
    a.card.process = (long)getpid();
    a.card.ready   = make_all(a);
  }
  std::vector<Card> cards((size_t)n);
  MPI_Allgather(&a.card, sizeof(Card), MPI_BYTE, cards.data(), sizeof(Card), MPI_BYTE, comm);
  bool ok = a.card.ready && !device::failed() && gap(a, bytes) + bytes <= arena_size;
  for (int i = 0; i < n; ++i)
    // who shares a device waits for the other one's turn
    for (int j = 0; j < i; ++j)
      ok = ok && !strcmp(cards[(size_t)i].host, cards[(size_t)j].host) &&
           strcmp(cards[(size_t)i].device, cards[(size_t)j].device);
  if (!all(ok, comm)) return nullptr;
  std::shared_ptr<Peers> p(new Peers);
  for (int i = 0; i < n; ++i) {
    char *base = i == rank ? a.base : nullptr;
    for (const Other &o : a.opened)
      if (o.card.process == cards[(size_t)i].process) base = o.base;
    Other other{cards[(size_t)i]};
    if (!base && open_all(other)) {
      a.opened.push_back(other);
      base = other.base;
    }
    ok = ok && base;
    p->bases_.push_back(base);
  }
  if (!all(ok, comm)) return nullptr;
  const size_t begin = gap(a, bytes);
  p->region_ = a.base + begin;
  p->bytes_  = bytes;
  a.live.push_back({begin, begin + bytes});
  std::sort(a.live.begin(), a.live.end());
  p->clear(comm);
  return p;
}

// Meetings begin with the first one. Who had this memory before, or has been here before, has read it.
void Peers::clear(MPI_Comm comm)
{
  Arena &a = arena();
  device::synchronize();
  MPI_Barrier(comm);
  if (lost()) {
    __atomic_store_n(a.word, 0u, __ATOMIC_RELEASE);
    ++a.losses;
  }
  losses_ = a.losses;
#if defined(TESSERA_HAVE_CUDA)
  device::zero(region_, bytes_);
#else
  memset(region_, 0, bytes_);
#endif
  device::synchronize();
  MPI_Barrier(comm);
}

void Peers::restore(MPI_Comm comm)
{
  if (all(!lost() && losses_ == arena().losses, comm)) return;
  clear(comm);
}

Peers::~Peers()
{
  if (!region_) return;
  auto        &live  = arena().live;
  const size_t begin = (size_t)(region_ - arena().base);
  live.erase(std::find(live.begin(), live.end(), std::make_pair(begin, begin + bytes_)));
}

char *Peers::take(size_t bytes)
{
  char *const p = region_ + used_;
  used_ += (bytes + 63) / 64 * 64;
  return p;
}

uint64_t Peers::place(const char *p) const { return (uint64_t)(p - arena().base); }

size_t total_bytes(int processes) { return (size_t)(processes + 1) * 64; }

const Total *make_total(Peers &peers, MPI_Comm comm, std::shared_ptr<void> &memory)
{
  int n = 0, rank = 0;
  MPI_Comm_size(comm, &n);
  MPI_Comm_rank(comm, &rank);
  auto buffer = std::make_shared<Buffer<Total>>();
  buffer->resize({1, Space::cuda});
  Total t{};
  t.rank           = rank;
  t.meeting.others = n - 1;
  t.meeting.count  = (unsigned *)peers.take(64);
  std::vector<char *>   mine((size_t)n);
  std::vector<uint64_t> places((size_t)n), theirs((size_t)n);
  // a flag, and 16 bytes on two numbers
  for (int i = 0; i < n; ++i) places[(size_t)i] = peers.place(mine[(size_t)i] = peers.take(64));
  MPI_Alltoall(places.data(), 1, MPI_UINT64_T, theirs.data(), 1, MPI_UINT64_T, comm);
  for (int i = 0; i < n; ++i) {
    if (i == rank) continue;
    const int   k = i - (i > rank);
    char *const far = peers.find(i, theirs[(size_t)i]);
    t.meeting.local[k]  = (unsigned *)mine[(size_t)i];
    t.meeting.remote[k] = (unsigned *)far;
    t.local[k]          = (volatile double *)(mine[(size_t)i] + 16);
    t.remote[k]         = (double *)(far + 16);
  }
  device::copy_from_host(buffer->data(), &t, sizeof t);
  device::synchronize();
  const Total *const made = buffer->data();
  memory = std::shared_ptr<void>(buffer.get(), [buffer](void *) { });
  return made;
}

} // namespace tessera
