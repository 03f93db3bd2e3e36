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
    HaloStarts start;
    std::copy(out, out + 16, start.out);
    std::copy(in, in + 16, start.in);
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

std::vector<DirectMessages::From> Halo::longest_messages() const
{
  std::vector<DirectMessages::From> from;
  for (const Peer &p : peers_) from.push_back({p.rank, count_values(mask_all, p.recv) * sizeof(double)});
  return from;
}

size_t Halo::peer_bytes() const { return DirectMessages::bytes(longest_messages()); }

void Halo::join(const std::shared_ptr<Peers> &peers)
{
  // the same for all: join() is asked for where there are few processes
  if (peers_.empty() || peers_.size() > Meeting::max_others) return;
  direct_ = std::make_unique<DirectMessages>();
  direct_->join(peers, comm_, longest_messages());
  starts_device_ = copy_to(Space::cuda, starts_);
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

// A build for the host has no such kernels.
template <class Kernel> void forall_values(const Box &values, const Kernel &kernel)
{
  if constexpr (device::built) forall({Space::cuda}, values, kernel);
}

// f(the value number i of a segment j, in a box of nodes of quarter j & 3), if it has so many and the mask has the
// quarter; own_image(the value, its image in the own process) where that is its ghost.
template <class T, class Image, class F>
HD inline void with_value(const View<T> &v, const HaloSegment *segments, int mask, int i, int j, const Image &own_image,
                          const F &f)
{
  const HaloSegment &s = segments[j];
  const int          q = j & 3;
  if (i >= s.count || !(mask >> q & 1)) return;
  const int X = s.X0 + i % s.width, Y = s.Y0 + i / s.width;
  T        &x = v.q[q][X * v.sx + Y * v.sy];
  if (s.self) own_image(x, v.q[q][(X + s.dx) * v.sx + (Y + s.dy) * v.sy]);
  else f(x, s);
}

// Value i of segment j into a neighbour's memory; or, after the meeting, from this process's own.
template <class T, bool OUT> struct Direct {
  View<T>               v;
  const HaloSegment    *segments;
  const HaloStarts     *starts;
  DirectMessages::Slots slots;
  int                   mask;
  HD void               operator()(int i, int j) const
  {
    with_value(
      v, segments, mask, i, j, [](const T &x, T &ghost) { ghost = x; },
      [&](T &x, const HaloSegment &s) {
        const HaloStarts &start = starts[s.peer];
        if (OUT) slots.template outgoing<T>(s.peer)[s.at[mask] - start.out[mask] + i] = x;
        else x = slots.template incoming<T>(s.peer)[s.at[mask] - start.in[mask] + i];
      });
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
    with_value(
      v, segments, mask, i, j,
      [&](T &x, T &ghost) {
        if (way == Way::pack) ghost = x;
        else x = (T)(x + ghost);
      },
      [&](T &x, const HaloSegment &s) {
        T &m = message[s.at[mask] + i];
        if (way == Way::pack) m = x;
        else x = way == Way::put ? m : (T)(x + m);
      });
  }
};

} // namespace

template <class T> void Halo::exchange_directly(const View<T> &v, int mask)
{
  forall_values({0, longest_, 0, 4 * (int)own_longest_.size()},
                Direct<T, true>{v, own_device_.data(), starts_device_.data(), direct_->slots(), mask});
  direct_->meet();
  forall_values({0, longest_, 0, (int)ghost_device_.size()},
                Direct<T, false>{v, ghost_device_.data(), starts_device_.data(), direct_->slots(), mask});
}

// The same on the device: a kernel packs each field, another one unpacks it. Several ghost nodes may be images of one
// own node, so sums go box by box. Messages lie field after field, in each peer after peer.
template <class T> void Halo::move_on_device(const Ghosts<T> *fields, int count, bool reverse)
{
  if (direct_ && count == 1 && !reverse) return exchange_directly(fields->v, fields->mask);
  const int own = (int)own_longest_.size(), selves = (int)self_.size(), ghosts = (int)ghost_device_.size() / 4;
  using Kernel  = Transfer<T>;
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
        forall_values({0, own_longest_[(size_t)i], 4 * i, 4 * i + 4},
                      Kernel{v, own_device_.data(), recv, mask, Way::add});
      forall_values({0, longest_, 0, 4 * ghosts}, Kernel{v, ghost_device_.data(), send, mask, Way::pack});
    } else forall_values({0, longest_, 0, 4 * own}, Kernel{v, own_device_.data(), send, mask, Way::pack});
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
    if (!reverse) forall_values({0, longest_, 0, 4 * ghosts}, Kernel{v, ghost_device_.data(), recv, mask, Way::put});
    else
      for (int i = selves; i < own; ++i)
        forall_values({0, own_longest_[(size_t)i], 4 * i, 4 * i + 4},
                      Kernel{v, own_device_.data(), recv, mask, Way::add});
    for (Peer &p : peers_) recv += count_values(mask, reverse ? p.send : p.recv);
  }
}

//--- Gather -----------------------------------------------------------------------------------------------------------

namespace {

struct Collect { // value i of process r
  DirectMessages::Slots slots;
  int                   rank;
  const int            *begins;
  const double         *local;
  double               *global;
  HD void               operator()(int i, int r) const
  {
    if (begins[r] + i >= begins[r + 1]) return;
    global[begins[r] + i] = r == rank ? local[i] : slots.incoming<double>(r - (r > rank))[i];
  }
};

} // namespace

std::vector<DirectMessages::From> Gather::parts() const
{
  std::vector<size_t> bytes;
  for (int n : counts_) bytes.push_back((size_t)n * sizeof(double));
  return from_all_but(rank_, bytes);
}

size_t Gather::peer_bytes() const { return DirectMessages::bytes(parts()); }

void Gather::join(const std::shared_ptr<Peers> &peers)
{
  direct_ = std::make_unique<DirectMessages>();
  direct_->join(peers, comm_, parts());
  std::vector<int> begins = displacements_;
  begins.push_back(begins.back() + counts_.back());
  begins_ = copy_to(Space::cuda, begins);
}

double *Gather::exchange_directly()
{
  direct_->post_to_all(local_.data(), counts_[(size_t)rank_]);
  direct_->meet();
  forall_values({0, *std::max_element(counts_.begin(), counts_.end()), 0, (int)counts_.size()},
                Collect{direct_->slots(), rank_, begins_.data(), local_.data(), global_.data()});
  return global_.data();
}

template void Halo::move_on_device<double>(const Ghosts<double> *, int, bool);
template void Halo::move_on_device<float>(const Ghosts<float> *, int, bool);
template void Halo::move_on_device<uint8_t>(const Ghosts<uint8_t> *, int, bool);

} // namespace tessera
