#include "core/peers.hpp"
#include "core/buffer.hpp"
#include <cstring>
#include <unistd.h>
#ifdef TESSERA_EMULATE_DEVICE
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
  bool ready;
#if defined(TESSERA_HAVE_CUDA)
  cudaIpcMemHandle_t handle;
#else
  int handle;
#endif
};

// One piece a process, made at the first call and kept: others may have it open until the very end.
constexpr size_t arena_size = (size_t)64 << 20;
struct Arena {
  char  *base = nullptr;
  size_t used = 0;
  int    live = 0; // regions; their space comes back when none is left
  bool   tried = false;
  Card   card = {};
  std::vector<std::pair<Card, char *>> opened;
};
Arena &arena()
{
  static Arena &a = *new Arena;
  return a;
}

#if defined(TESSERA_HAVE_CUDA)
bool make(Arena &a)
{
  int device = 0;
  const bool ok = !device::unusable() && cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetPCIBusId(a.card.device, sizeof a.card.device, device) == cudaSuccess
               && cudaMalloc((void **)&a.base, arena_size) == cudaSuccess && cudaIpcGetMemHandle(&a.card.handle, a.base) == cudaSuccess; // memory of pools has no handle
  if (!ok) (void)cudaGetLastError();
  return ok;
}
char *open_other(const Card &card)
{
  void *p = nullptr;
  if (cudaIpcOpenMemHandle(&p, card.handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess) return (char *)p;
  (void)cudaGetLastError();
  return nullptr;
}
#elif defined(TESSERA_EMULATE_DEVICE)
bool make(Arena &a)
{
  a.card.handle = memfd_create("tessera", 0);
  if (a.card.handle < 0 || ftruncate(a.card.handle, (off_t)arena_size)) return false;
  void *p = mmap(nullptr, arena_size, PROT_READ | PROT_WRITE, MAP_SHARED, a.card.handle, 0);
  a.base  = p == MAP_FAILED ? nullptr : (char *)p;
  snprintf(a.card.device, sizeof a.card.device, "%ld", (long)getpid());
  return a.base;
}
char *open_other(const Card &card)
{
  char name[64];
  snprintf(name, sizeof name, "/proc/%ld/fd/%d", card.process, card.handle);
  const int   file = ::open(name, O_RDWR);
  void *const p    = file < 0 ? MAP_FAILED : mmap(nullptr, arena_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  return p == MAP_FAILED ? nullptr : (char *)p;
}
#else
bool  make(Arena &) { return false; }
char *open_other(const Card &) { return nullptr; }
#endif

bool all(bool mine, MPI_Comm comm)
{
  int m = mine, a = 0;
  MPI_Allreduce(&m, &a, 1, MPI_INT, MPI_MIN, comm);
  return a;
}

} // namespace

#ifdef TESSERA_EMULATE_DEVICE
void device::wait_on_host(const unsigned *flag, unsigned v)
{
  const auto start = std::chrono::steady_clock::now();
  for (int polls = 0; (int)(__atomic_load_n(flag, __ATOMIC_ACQUIRE) - v) < 0; ++polls) {
    if (polls < 1000) continue;
    usleep(20); // others need the core
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(120)) throw DeviceError("another process has not come to a meeting");
  }
}
#else
void device::wait_on_host(const unsigned *, unsigned) { }
#endif

// Every step that may fail on one process is followed by a question to all.
std::shared_ptr<Peers> Peers::open(MPI_Comm comm, size_t bytes)
{
  int n = 0, rank = 0;
  MPI_Comm_size(comm, &n);
  MPI_Comm_rank(comm, &rank);
  Arena &a = arena();
  bytes    = (bytes + 255) / 256 * 256;
  if (!all(wanted && n > 1 && n <= Meeting::most + 1, comm)) return nullptr;
  if (!a.tried) {
    a.tried = true;
    (void)gethostname(a.card.host, sizeof a.card.host - 1);
    a.card.process = (long)getpid();
    a.card.ready   = make(a);
  }
  std::vector<Card> cards((size_t)n);
  MPI_Allgather(&a.card, sizeof(Card), MPI_BYTE, cards.data(), sizeof(Card), MPI_BYTE, comm);
  bool ok = a.card.ready && a.used + bytes <= arena_size;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j) ok = ok && !strcmp(cards[(size_t)i].host, cards[(size_t)j].host) && strcmp(cards[(size_t)i].device, cards[(size_t)j].device); // who shares a device waits for the other one's turn
  if (!all(ok, comm)) return nullptr;
  std::shared_ptr<Peers> p(new Peers);
  for (int i = 0; i < n; ++i) {
    char *base = i == rank ? a.base : nullptr;
    for (auto &o : a.opened)
      if (o.first.process == cards[(size_t)i].process) base = o.second;
    if (!base && (base = open_other(cards[(size_t)i]))) a.opened.push_back({cards[(size_t)i], base});
    ok = ok && base;
    p->bases_.push_back(base);
  }
  if (!all(ok, comm)) return nullptr;
  p->region_ = a.base + a.used;
  a.used += bytes;
  ++a.live;
  device::synchronize(); // who had it before has read it
#if defined(TESSERA_HAVE_CUDA)
  device::zero(p->region_, bytes);
#else
  memset(p->region_, 0, bytes);
#endif
  device::synchronize();
  MPI_Barrier(comm);
  return p;
}

Peers::~Peers()
{
  Arena &a = arena();
  if (region_ && !--a.live) a.used = 0;
}

char *Peers::take(size_t bytes)
{
  char *const p = region_ + used_;
  used_ += (bytes + 63) / 64 * 64;
  return p;
}

uint64_t Peers::place(const char *p) const { return (uint64_t)(p - arena().base); }

size_t total_bytes(int processes) { return (size_t)processes * 2 * 64; }

const Total *make_total(Peers &peers, MPI_Comm comm, std::shared_ptr<void> &memory)
{
  int n = 0, rank = 0;
  MPI_Comm_size(comm, &n);
  MPI_Comm_rank(comm, &rank);
  auto buffer = std::make_shared<Buffer<Total>>();
  auto count  = std::make_shared<Buffer<unsigned>>();
  buffer->resize({1, Space::cuda});
  count->resize({1, Space::cuda});
  Total t{};
  t.rank           = rank;
  t.meeting.others = n - 1;
  t.meeting.count  = count->data();
  std::vector<char *>   mine((size_t)n);
  std::vector<uint64_t> places((size_t)n), theirs((size_t)n);
  for (int i = 0; i < n; ++i) places[(size_t)i] = peers.place(mine[(size_t)i] = peers.take(64)); // a flag, and 16 bytes on two numbers
  MPI_Alltoall(places.data(), 1, MPI_UINT64_T, theirs.data(), 1, MPI_UINT64_T, comm);
  for (int i = 0; i < n; ++i) {
    if (i == rank) continue;
    const int   k = i - (i > rank);
    char *const far = peers.find(i, theirs[(size_t)i]);
    t.meeting.here[k]  = (unsigned *)mine[(size_t)i];
    t.meeting.there[k] = (unsigned *)far;
    t.here[k]          = (volatile double *)(mine[(size_t)i] + 16);
    t.there[k]         = (double *)(far + 16);
  }
  device::copy_from_host(buffer->data(), &t, sizeof t);
  device::synchronize();
  const Total *const made = buffer->data();
  memory = std::shared_ptr<void>(buffer.get(), [buffer, count](void *) { });
  return made;
}

} // namespace tessera
