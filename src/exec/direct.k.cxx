#include "exec/direct.hpp"
#include "exec/each.hpp"

namespace tessera {

static size_t slot_bytes(size_t message) { return (message + 63) / 64 * 64; }

size_t DirectMessages::bytes(const std::vector<From> &from)
{
  size_t n = 64;
  for (const From &f : from) n += 64 + 2 * slot_bytes(f.bytes);
  return n;
}

void DirectMessages::join(const std::shared_ptr<Peers> &peers, const Comm &comm, const std::vector<From> &from)
{
  struct Place { // of what comes from a process: of the flag, and of two messages of so many bytes
    uint64_t flag, message, bytes;
  };
  const size_t             n = from.size();
  std::vector<Place>       mine(n), theirs(n);
  std::vector<MPI_Request> requests(2 * n);
  peers_          = peers;
  meeting_        = Meeting();
  meeting_.others = (int)n;
  meeting_.count  = (unsigned *)peers->take(64);
  slots_          = {};
  slots_.meetings = meeting_.count;
  for (size_t k = 0; k < n; ++k) {
    const size_t slot  = slot_bytes(from[k].bytes);
    meeting_.local[k]  = (unsigned *)peers->take(64);
    char *const in     = peers->take(2 * slot);
    slots_.in[k]       = in;
    slots_.in_bytes[k] = (ptrdiff_t)slot;
    mine[k]            = {peers->place((char *)meeting_.local[k]), peers->place(in), slot};
    MPI_Irecv(&theirs[k], sizeof(Place), MPI_BYTE, from[k].rank, comm.tag, comm, &requests[k]);
    MPI_Isend(&mine[k], sizeof(Place), MPI_BYTE, from[k].rank, comm.tag, comm, &requests[n + k]);
  }
  MPI_Waitall((int)(2 * n), requests.data(), MPI_STATUSES_IGNORE);
  for (size_t k = 0; k < n; ++k) {
    meeting_.remote[k]  = (unsigned *)peers->find(from[k].rank, theirs[k].flag);
    slots_.out[k]       = peers->find(from[k].rank, theirs[k].message);
    slots_.out_bytes[k] = (ptrdiff_t)theirs[k].bytes;
  }
}

void DirectMessages::meet() const { forall({Space::cuda}, {0, 1, 0, 1}, Meet{meeting_}); }

namespace {

template <class T> struct PostToAll {
  DirectMessages::Slots slots;
  int                   others;
  const T              *v;
  HD void               operator()(int p) const
  {
    for (int k = 0; k < others; ++k) slots.outgoing<T>(k)[p] = v[p];
  }
};
template <class T> struct SumOfAll { // in the order of the processes
  DirectMessages::Slots slots;
  int                   processes, rank;
  T                    *v;
  HD void               operator()(int p) const
  {
    T sum = 0;
    for (int r = 0; r < processes; ++r) sum += r == rank ? v[p] : slots.incoming<T>(r - (r > rank))[p];
    v[p] = sum;
  }
};

} // namespace

template <class T> void DirectMessages::post_to_all(const T *v, int n) const
{
  for_each_on_device({Space::cuda}, n, PostToAll<T>{slots_, meeting_.others, v});
}
template void DirectMessages::post_to_all(const double *, int) const;

std::vector<DirectMessages::From> from_all_but(int rank, const std::vector<size_t> &bytes)
{
  std::vector<DirectMessages::From> from;
  for (int r = 0; r < (int)bytes.size(); ++r)
    if (r != rank) from.push_back({r, bytes[(size_t)r]});
  return from;
}

size_t DirectSum::bytes(int processes, size_t longest)
{
  return DirectMessages::bytes(from_all_but(0, std::vector<size_t>((size_t)processes, longest)));
}

void DirectSum::join(const std::shared_ptr<Peers> &peers, const Comm &comm, size_t longest)
{
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &processes_);
  messages_.join(peers, comm, from_all_but(rank_, std::vector<size_t>((size_t)processes_, longest)));
  longest_ = longest;
}

template <class T> void DirectSum::sum(T *v, int n) const
{
  messages_.post_to_all(v, n);
  messages_.meet();
  for_each_on_device({Space::cuda}, n, SumOfAll<T>{messages_.slots(), processes_, rank_, v});
}
template void DirectSum::sum(double *, int) const;
template void DirectSum::sum(float *, int) const;

} // namespace tessera
