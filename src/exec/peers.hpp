// Processes of one host that write into each other's device memory (CUDA IPC): their messages need neither the host
// nor MPI, so that kernels of several processes wait for each other and a whole solve stays on the devices. The
// emulated device shares memory likewise.
#pragma once
#include "exec/exec.hpp"
#include <cmath>
#include <cstdint>
#include <memory>
#include <mpi.h>
#include <vector>

namespace tessera {

// Memory of this process that the others of a communicator write into.
class Peers {
public:
  // Where every process wants it and works on a device of its own, on one host, and all can write to all: so many zero
  // bytes of each. Else nothing, on all of them. Collective.
  static std::shared_ptr<Peers> open(const Exec &exec, MPI_Comm comm, size_t bytes, bool wanted = true);
  ~Peers();
  char    *take(size_t bytes); // the next piece of this process's memory
  uint64_t place(const char *p) const;            // of a piece, for the others
  char    *find(int rank, uint64_t place) const { return bases_[(size_t)rank] + place; }
  // Has this process kept an error, or another one of this host that it knows? Then nobody waits for messages any
  // more, which may not come: what was exchanged is no longer right, and sums are no numbers. Until all processes
  // that share this object restore() it.
  static bool lost();
  static const unsigned *lost_on_device(); // the same for kernels
  void restore(MPI_Comm comm);         // where that is needed. Collective.

private:
  Peers() = default;
  void clear(MPI_Comm comm);
  std::vector<char *> bases_; // of all processes' memory, as this one sees it
  char               *region_ = nullptr;
  size_t              bytes_ = 0, used_ = 0;
  unsigned            losses_ = 0; // that had been when it was made or restored
};

// One thread's stores before it are seen by who loads the flag.
HD inline void raise_far(unsigned *flag, unsigned v)
{
  #ifdef __CUDA_ARCH__
  __threadfence_system();
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(v) : "memory");
  #else
  __atomic_store_n(flag, v, __ATOMIC_RELEASE);
  #endif
}
namespace device {
bool wait_on_host(const unsigned *flag, unsigned v);
}
// False: nobody may come any more. lost: on the host, so it is not asked for often.
HD inline bool wait_for(const unsigned *flag, unsigned v, const unsigned *lost)
{
  #ifdef __CUDA_ARCH__
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  for (unsigned seen, polls = 1;; ++polls) {
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    if ((int)(seen - v) >= 0) return true;
    if (polls % 1024) continue;
    if (*(const volatile unsigned *)lost) return false;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    if (now - start > 120000000000ull) __trap(); // the other process has ended: an error, not a wait for ever
  }
  #else
  (void)lost;
  return device::wait_on_host(flag, v);
  #endif
}

// What processes meet with: the number of meetings so far, a flag of each of the others here, and one of this process
// there. Messages of a meeting lie in slot number() & 1: who comes to the meeting after the next one has seen that
// everybody had come to the next one, so had read this one's.
struct Meeting {
  static constexpr int max_others = 16; // others
  int       others = 0;
  unsigned            *count      = nullptr, *local[max_others], *remote[max_others];
  const unsigned *lost = Peers::lost_on_device();
  HD unsigned number() const { return *count; }
  HD bool     meet() const // by one thread; everything written before arrives. False: somebody may not come any more
  {
    const unsigned now = *count + 1;
    for (int i = 0; i < others; ++i) raise_far(remote[i], now);
    for (int i = 0; i < others; ++i)
      if (!wait_for(local[i], now, lost)) return false;
    *count = now;
    return true;
  }
};

struct Meet {
  Meeting meeting;
  HD void operator()(int, int) const { (void)meeting.meet(); }
};

// Sums over all processes, the same bits on each.
struct Total {
  Meeting          meeting;
  int              rank;             // of this process: others are 0 ... rank - 1, rank + 1 ...
  double          *remote[Meeting::max_others]; // two slots for this process's number,
  volatile double *local[Meeting::max_others];  // and for the others'
  HD double operator()(double mine) const
  {
    const unsigned slot = meeting.number() & 1;
    for (int i = 0; i < meeting.others; ++i) *(volatile double *)(remote[i] + slot) = mine;
    if (!meeting.meet()) return NAN;
    double sum = 0;
    for (int i = 0; i <= meeting.others; ++i) sum += i == rank ? mine : local[i - (i > rank)][slot];
    return sum;
  }
};

// The sums of the processes of a communicator, which live as long as `memory`; they take total_bytes() of each
// process's peers. Collective.
const Total *make_total(Peers &peers, MPI_Comm comm, std::shared_ptr<void> &memory);
size_t       total_bytes(int processes);

} // namespace tessera
