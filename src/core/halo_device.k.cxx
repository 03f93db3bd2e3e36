// The exchange of ghost values where the fields lie on the device.
#include "core/halo.hpp"
#include <algorithm>
#include <cstdint>

namespace tessera {

size_t count_values(int mask, const std::vector<Box> &boxes); // halo.k.cxx

// The tables of the device, and room for messages.
void Halo::list()
{
  std::vector<HaloSegment> own, ghost;
  int                  out[16] = {}, in[16] = {};
  auto                 add = [](std::vector<HaloSegment> &list, const Box &nodes, int *at, int dx, int dy) {
    int longest = 0;
    for (int q = 0; q < 4; ++q) {
      const Box b = quarter_box(nodes, q);
      HaloSegment   s{b.x0, b.y0, std::max(1, b.x1 - b.x0), (int)b.size(), dx / 2, dy / 2, !at, {}};
      for (int mask = 0; at && mask < 16; ++mask)
        if (mask & (1 << q)) s.at[mask] = at[mask], at[mask] += s.count;
      longest = std::max(longest, s.count);
      list.push_back(s);
    }
    return longest;
  };
  for (const Copy &c : self_) own_longest_.push_back(add(own, c.own, nullptr, c.ghost.x0 - c.own.x0, c.ghost.y0 - c.own.y0));
  for (const Peer &p : peers_) {
    for (const Box &b : p.send) own_longest_.push_back(add(own, b, out, 0, 0));
    for (const Box &b : p.recv) longest_ = std::max(longest_, add(ghost, b, in, 0, 0));
  }
  for (int n : own_longest_) longest_ = std::max(longest_, n);
  auto to_device = [](const std::vector<HaloSegment> &from, Buffer<HaloSegment> &to) {
    to.resize({from.size(), Space::cuda});
    if (!from.empty()) device::copy_from_host(to.data(), from.data(), to.bytes());
  };
  to_device(own, own_there_);
  to_device(ghost, ghost_there_);
  device::synchronize(); // the tables' originals end here
  reserve((size_t)std::max(out[15], in[15]));
}

void Halo::reserve(size_t values)
{
  if (values <= send_there_.size()) return;
  send_there_.resize({values, Space::cuda});
  recv_there_.resize({values, Space::cuda});
  send_pinned_.resize(values * sizeof(double));
  recv_pinned_.resize(values * sizeof(double));
}

namespace {

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

// The same on the device: a kernel packs each field, another one unpacks it. Several ghost nodes may be images of one own node, so sums
// go box by box. Messages lie field after field, in each peer after peer.
template <class T> void Halo::move_there(const Ghosts<T> *fields, int count, bool reverse)
{
  const Exec exec{Space::cuda};
  const int  own = (int)own_longest_.size(), selves = (int)self_.size(), ghosts = (int)ghost_there_.size() / 4;
  using Kernel   = Transfer<T>;
  size_t out = 0, in = 0;
  for (int f = 0; f < count; ++f)
    for (Peer &p : peers_) {
      out += count_values(fields[f].mask, reverse ? p.recv : p.send);
      in += count_values(fields[f].mask, reverse ? p.send : p.recv);
    }
  reserve(std::max(out, in));
  T *send = (T *)send_there_.data(), *recv = (T *)recv_there_.data();
  for (int f = 0; f < count; ++f) {
    const auto [v, mask] = fields[f];
    if (reverse) {
      for (int i = 0; i < selves; ++i) forall(exec, {0, own_longest_[(size_t)i], 4 * i, 4 * i + 4}, Kernel{v, own_there_.data(), recv, mask, Way::add});
      forall(exec, {0, longest_, 0, 4 * ghosts}, Kernel{v, ghost_there_.data(), send, mask, Way::pack});
    } else forall(exec, {0, longest_, 0, 4 * own}, Kernel{v, own_there_.data(), send, mask, Way::pack});
    for (Peer &p : peers_) send += count_values(mask, reverse ? p.recv : p.send);
  }
  if (peers_.empty()) return;
  char *from = (char *)(gpu_aware ? (void *)send_there_.data() : send_pinned_.data()), *to = (char *)(gpu_aware ? (void *)recv : recv_pinned_.data());
  if (gpu_aware || !out) device::synchronize(); // also: what came before is taken
  else device::copy_to_host(from, send_there_.data(), out * sizeof(T));
  requests_.resize(2 * peers_.size() * (size_t)count);
  int k = 0;
  for (int f = 0; f < count; ++f)
    for (Peer &p : peers_) {
      const size_t n = count_values(fields[f].mask, reverse ? p.send : p.recv) * sizeof(T);
      MPI_Irecv(to, (int)n, MPI_BYTE, p.rank, f, comm_, &requests_[k++]);
      to += n;
    }
  for (int f = 0; f < count; ++f)
    for (Peer &p : peers_) {
      const size_t n = count_values(fields[f].mask, reverse ? p.recv : p.send) * sizeof(T);
      MPI_Isend(from, (int)n, MPI_BYTE, p.rank, f, comm_, &requests_[k++]);
      from += n;
    }
  MPI_Waitall(k, requests_.data(), MPI_STATUSES_IGNORE);
  if (!gpu_aware && in) device::copy_from_host(recv, recv_pinned_.data(), in * sizeof(T));
  for (int f = 0; f < count; ++f) {
    const auto [v, mask] = fields[f];
    if (!reverse) forall(exec, {0, longest_, 0, 4 * ghosts}, Kernel{v, ghost_there_.data(), recv, mask, Way::put});
    else
      for (int i = selves; i < own; ++i) forall(exec, {0, own_longest_[(size_t)i], 4 * i, 4 * i + 4}, Kernel{v, own_there_.data(), recv, mask, Way::add});
    for (Peer &p : peers_) recv += count_values(mask, reverse ? p.send : p.recv);
  }
}

template void Halo::move_there<double>(const Ghosts<double> *, int, bool);
template void Halo::move_there<float>(const Ghosts<float> *, int, bool);
template void Halo::move_there<uint8_t>(const Ghosts<uint8_t> *, int, bool);

} // namespace tessera
