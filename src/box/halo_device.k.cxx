// The exchange of ghost values where the fields lie on the device: directly into the neighbours' memory (peers.hpp)
// where that is possible, else by MPI, with device memory or through the host.
#include "box/halo.hpp"
#include <algorithm>
#include <cstdint>
#include <petscsys.h> // its macros count messages and reductions for -log_view

namespace tessera {

size_t count_values(int mask, const std::vector<Box> &boxes); // halo.k.cxx

// The tables of the device, and room for messages.
void Halo::list()
{
  std::vector<HaloSegment> own, ghost;
  int                  out[16] = {}, in[16] = {};
  auto                 add = [&](std::vector<HaloSegment> &list, const Box &nodes, int *at, int dx, int dy) {
    int longest = 0;
    for (int q = 0; q < 4; ++q) {
      const Box b = quarter_box(nodes, q);
      HaloSegment s{b.x0, b.y0, std::max(1, b.x1 - b.x0), (int)b.size(), dx / 2, dy / 2,
                    !at,  {},   (int)starts_.size() - 1};
      for (int mask = 0; at && mask < 16; ++mask)
        if (mask & (1 << q)) s.at[mask] = at[mask], at[mask] += s.count;
      longest = std::max(longest, s.count);
      list.push_back(s);
    }
    return longest;
  };
  for (const Copy &c : self_)
    own_longest_.push_back(add(own, c.own, nullptr, c.ghost.x0 - c.own.x0, c.ghost.y0 - c.own.y0));
  for (const Peer &p : peers_) {
    HaloPlace start{};
    std::copy(out, out + 16, start.out_start);
    std::copy(in, in + 16, start.in_start);
    starts_.push_back(start);
    for (const Box &b : p.send) own_longest_.push_back(add(own, b, out, 0, 0));
    for (const Box &b : p.recv) longest_ = std::max(longest_, add(ghost, b, in, 0, 0));
  }
  for (int n : own_longest_) longest_ = std::max(longest_, n);
  auto to_device = [](const std::vector<HaloSegment> &from, Buffer<HaloSegment> &to) {
    to.resize({from.size(), Space::cuda});
    if (!from.empty()) device::copy_from_host(to.data(), from.data(), to.bytes());
  };
  to_device(own, own_device_);
  to_device(ghost, ghost_device_);
  device::synchronize(); // the tables' originals end here
  reserve((size_t)std::max(out[15], in[15]));
}

static size_t slot_bytes(size_t values) { return (values * sizeof(double) + 63) / 64 * 64; }

size_t Halo::peer_bytes() const
{
  size_t n = 64;
  for (const Peer &p : peers_) n += 64 + 2 * slot_bytes(count_values(mask_all, p.recv));
  return n;
}

void Halo::join(const std::shared_ptr<Peers> &peers)
{
  struct Card { // of the place for a neighbour's messages
    uint64_t flag, message, slot;
  };
  const size_t n = peers_.size();
  if (!n || n > Meeting::max_others) return; // the same for all: join() is asked for where there are few processes
  std::vector<Card> mine(n), theirs(n);
  peers_device_   = peers;
  meeting_        = Meeting();
  meeting_.others = (int)n;
  meeting_.count  = (unsigned *)peers->take(64);
  requests_.resize(std::max(requests_.size(), 2 * n));
  for (size_t i = 0; i < n; ++i) {
    const size_t slot = slot_bytes(count_values(mask_all, peers_[i].recv));
    meeting_.local[i]  = (unsigned *)peers->take(64);
    starts_[i].in      = peers->take(2 * slot);
    starts_[i].in_slot = (ptrdiff_t)slot;
    mine[i]            = {peers->place((char *)meeting_.local[i]), peers->place(starts_[i].in), slot};
    MPI_Irecv(&theirs[i], sizeof(Card), MPI_BYTE, peers_[i].rank, comm_.tag, comm_, &requests_[i]);
    MPI_Isend(&mine[i], sizeof(Card), MPI_BYTE, peers_[i].rank, comm_.tag, comm_, &requests_[n + i]);
  }
  MPI_Waitall((int)(2 * n), requests_.data(), MPI_STATUSES_IGNORE);
  for (size_t i = 0; i < n; ++i) {
    meeting_.remote[i]  = (unsigned *)peers->find(peers_[i].rank, theirs[i].flag);
    starts_[i].out      = peers->find(peers_[i].rank, theirs[i].message);
    starts_[i].out_slot = (ptrdiff_t)theirs[i].slot;
  }
  places_.resize({n, Space::cuda});
  device::copy_from_host(places_.data(), starts_.data(), places_.bytes());
  device::synchronize();
}

void Halo::reserve(size_t values)
{
  if (values <= send_device_.size()) return;
  send_device_.resize({values, Space::cuda});
  recv_device_.resize({values, Space::cuda});
  send_pinned_.resize(values * sizeof(double));
  recv_pinned_.resize(values * sizeof(double));
}

namespace {

// Value i of segment j into a neighbour's memory; or, after the meeting, from this process's own.
template <class T, bool OUT> struct Direct {
  View<T>            v;
  const HaloSegment *segments;
  const HaloPlace   *places;
  const unsigned    *meetings;
  int                mask;
  HD void            operator()(int i, int j) const
  {
    const HaloSegment &s = segments[j];
    const int          q = j & 3;
    if (i >= s.count || !(mask >> q & 1)) return;
    const int X = s.X0 + i % s.width, Y = s.Y0 + i / s.width;
    T        &x = v.q[q][X * v.sx + Y * v.sy];
    if (s.self) {
      v.q[q][(X + s.dx) * v.sx + (Y + s.dy) * v.sy] = x;
      return;
    }
    const HaloPlace &p = places[s.peer];
    if (OUT) ((T *)(p.out + (*meetings & 1) * p.out_slot))[s.at[mask] - p.out_start[mask] + i] = x;
    else x = ((const T *)(p.in + ((*meetings + 1) & 1) * p.in_slot))[s.at[mask] - p.in_start[mask] + i];
  }
};

enum class Way { pack, put, add };

// Value i of segment j to the message or from there; images of the own process without a message.
template <class T> struct Transfer {
  View<T>        v;
  const HaloSegment *segments;
  T             *message;
  int            mask;
  Way            way;
  HD void        operator()(int i, int j) const
  {
    const HaloSegment &s = segments[j];
    const int      q = j & 3;
    if (i >= s.count || !(mask >> q & 1)) return;
    const int X = s.X0 + i % s.width, Y = s.Y0 + i / s.width;
    T        &x = v.q[q][X * v.sx + Y * v.sy];
    if (s.self) {
      T &ghost = v.q[q][(X + s.dx) * v.sx + (Y + s.dy) * v.sy];
      if (way == Way::pack) ghost = x;
      else x = (T)(x + ghost);
      return;
    }
    T &m = message[s.at[mask] + i];
    if (way == Way::pack) m = x;
    else x = way == Way::put ? m : (T)(x + m);
  }
};

} // namespace

template <class T> void Halo::exchange_directly(const View<T> &v, int mask)
{
  const Exec exec{Space::cuda};
  forall(exec, {0, longest_, 0, 4 * (int)own_longest_.size()},
         Direct<T, true>{v, own_device_.data(), places_.data(), meeting_.count, mask});
  forall(exec, {0, 1, 0, 1}, Meet{meeting_});
  forall(exec, {0, longest_, 0, (int)ghost_device_.size()},
         Direct<T, false>{v, ghost_device_.data(), places_.data(), meeting_.count, mask});
}

// The same on the device: a kernel packs each field, another one unpacks it. Several ghost nodes may be images of one
// own node, so sums go box by box. Messages lie field after field, in each peer after peer.
template <class T> void Halo::move_on_device(const Ghosts<T> *fields, int count, bool reverse)
{
  if (peers_device_ && count == 1 && !reverse) return exchange_directly(fields->v, fields->mask);
  const Exec exec{Space::cuda};
  const int  own = (int)own_longest_.size(), selves = (int)self_.size(), ghosts = (int)ghost_device_.size() / 4;
  using Kernel   = Transfer<T>;
  size_t out = 0, in = 0;
  for (int f = 0; f < count; ++f)
    for (Peer &p : peers_) {
      out += count_values(fields[f].mask, reverse ? p.recv : p.send);
      in += count_values(fields[f].mask, reverse ? p.send : p.recv);
    }
  reserve(std::max(out, in));
  T *send = (T *)send_device_.data(), *recv = (T *)recv_device_.data();
  for (int f = 0; f < count; ++f) {
    const auto [v, mask] = fields[f];
    if (reverse) {
      for (int i = 0; i < selves; ++i)
        forall(exec, {0, own_longest_[(size_t)i], 4 * i, 4 * i + 4},
               Kernel{v, own_device_.data(), recv, mask, Way::add});
      forall(exec, {0, longest_, 0, 4 * ghosts}, Kernel{v, ghost_device_.data(), send, mask, Way::pack});
    } else forall(exec, {0, longest_, 0, 4 * own}, Kernel{v, own_device_.data(), send, mask, Way::pack});
    for (Peer &p : peers_) send += count_values(mask, reverse ? p.recv : p.send);
  }
  if (peers_.empty()) return;
  const bool direct = gpu_aware && !device::failed(); // the memory of a device that has failed is no place for messages
  char      *from   = (char *)(direct ? (void *)send_device_.data() : send_pinned_.data()),
       *to          = (char *)(direct ? (void *)recv : recv_pinned_.data());
  if (direct || !out) device::synchronize(); // also: what came before is taken
  else device::copy_to_host(from, send_device_.data(), out * sizeof(T));
  requests_.resize(2 * peers_.size() * (size_t)count);
  int k = 0;
  for (int f = 0; f < count; ++f)
    for (Peer &p : peers_) {
      const size_t n = count_values(fields[f].mask, reverse ? p.send : p.recv) * sizeof(T);
      MPI_Irecv(to, (int)n, MPI_BYTE, p.rank, comm_.tag, comm_, &requests_[k++]);
      to += n;
    }
  for (int f = 0; f < count; ++f)
    for (Peer &p : peers_) {
      const size_t n = count_values(fields[f].mask, reverse ? p.recv : p.send) * sizeof(T);
      MPI_Isend(from, (int)n, MPI_BYTE, p.rank, comm_.tag, comm_, &requests_[k++]);
      from += n;
    }
  MPI_Waitall(k, requests_.data(), MPI_STATUSES_IGNORE);
  if (!direct && in) device::copy_from_host(recv, recv_pinned_.data(), in * sizeof(T));
  for (int f = 0; f < count; ++f) {
    const auto [v, mask] = fields[f];
    if (!reverse) forall(exec, {0, longest_, 0, 4 * ghosts}, Kernel{v, ghost_device_.data(), recv, mask, Way::put});
    else
      for (int i = selves; i < own; ++i)
        forall(exec, {0, own_longest_[(size_t)i], 4 * i, 4 * i + 4},
               Kernel{v, own_device_.data(), recv, mask, Way::add});
    for (Peer &p : peers_) recv += count_values(mask, reverse ? p.send : p.recv);
  }
}

//--- Gather -----------------------------------------------------------------------------------------------------------

namespace {

struct Spread { // value i to process j; the second slot is so many values on
  const double    *local;
  double *const   *remote;
  const unsigned  *meetings;
  ptrdiff_t        slot;
  HD void          operator()(int i, int j) const { remote[j][(*meetings & 1) * slot + i] = local[i]; }
};
struct Collect {
  const double   *here;
  const unsigned *meetings;
  ptrdiff_t       slot;
  double         *global;
  HD void         operator()(int i, int) const { global[i] = here[((*meetings + 1) & 1) * slot + i]; }
};

} // namespace

size_t Gather::peer_bytes() const { return (counts_.size() + 1) * 64 + 2 * slot_bytes(global_.size()); }

void Gather::join(const std::shared_ptr<Peers> &peers)
{
  const int             n = (int)counts_.size();
  std::vector<uint64_t> mine((size_t)n + 1), theirs(mine.size() * (size_t)n);
  std::vector<double *> remote((size_t)n);
  peers_device_   = peers;
  meeting_        = Meeting();
  meeting_.others = n - 1;
  meeting_.count  = (unsigned *)peers->take(64);
  for (int r = 0, k = 0; r < n; ++r) {
    char *const flag = peers->take(64);
    mine[(size_t)r]  = peers->place(flag);
    if (r != rank_) meeting_.local[k++] = (unsigned *)flag;
  }
  here_           = (double *)peers->take(2 * slot_bytes(global_.size()));
  mine[(size_t)n] = peers->place((char *)here_);
  MPI_Allgather(mine.data(), n + 1, MPI_UINT64_T, theirs.data(), n + 1, MPI_UINT64_T, comm_);
  for (int r = 0, k = 0; r < n; ++r) {
    const uint64_t *const of = &theirs[(size_t)r * mine.size()];
    remote[(size_t)r]        = (double *)peers->find(r, of[n]) + displacements_[(size_t)rank_];
    if (r != rank_) meeting_.remote[k++] = (unsigned *)peers->find(r, of[rank_]);
  }
  remote_.resize({remote.size(), Space::cuda});
  device::copy_from_host(remote_.data(), remote.data(), remote_.bytes());
  device::synchronize();
}

double *Gather::exchange_directly()
{
  const Exec      exec{Space::cuda};
  const ptrdiff_t slot = (ptrdiff_t)(slot_bytes(global_.size()) / sizeof(double));
  forall(exec, {0, counts_[(size_t)rank_], 0, (int)counts_.size()},
         Spread{local_.data(), remote_.data(), meeting_.count, slot});
  forall(exec, {0, 1, 0, 1}, Meet{meeting_});
  forall(exec, {0, (int)global_.size() - 1, 0, 1}, Collect{here_, meeting_.count, slot, global_.data()});
  return global_.data();
}

template void Halo::move_on_device<double>(const Ghosts<double> *, int, bool);
template void Halo::move_on_device<float>(const Ghosts<float> *, int, bool);
template void Halo::move_on_device<uint8_t>(const Ghosts<uint8_t> *, int, bool);

} // namespace tessera
