#include "core/halo.hpp"
#include <algorithm>
#include <cstdint>

namespace tessera {

// Calls f(k) for every periodic image k of [0, n) that meets [lo, hi): node x of image k is x + k n.
template <class F> static void for_images(int lo, int hi, int n, bool periodic, const F &f)
{
  if (!periodic) return f(0);
  for (int k = lo < 0 ? -((n - 1 - lo) / n) : 0; k * n < hi; ++k) f(k);
}

Halo::Halo(const Grid &grid, Space space) : comm_(grid.comm), space_(space)
{
  const Box own = grid.owned(), ghosts = Grid::ghosted(own);
  if (own.empty()) return;
  auto shifted = [&](const Box &b, int kx, int ky) { return Box{b.x0 + kx * grid.nx, b.x1 + kx * grid.nx, b.y0 + ky * grid.ny, b.y1 + ky * grid.ny}; };
  for (int r = 0; r < grid.processes(); ++r) {
    const Box other = grid.box(r), other_ghosts = Grid::ghosted(other);
    if (other.empty()) continue;
    Peer peer{r, {}, {}};
    // Both sides list the images in the same order, so that the pieces of a message match.
    auto list = [&](const Box &owner, const Box &ghost, bool sending) {
      for_images(ghost.y0, ghost.y1, grid.ny, grid.periodic_y, [&](int ky) {
        for_images(ghost.x0, ghost.x1, grid.nx, grid.periodic_x, [&](int kx) {
          if (r == grid.rank && !kx && !ky) return;
          const Box there = intersect(shifted(owner, kx, ky), ghost);
          if (there.empty()) return;
          if (r == grid.rank) {
            if (sending) self_.push_back({shifted(there, -kx, -ky), there});
          } else if (sending) peer.send.push_back(shifted(there, -kx, -ky));
          else peer.recv.push_back(there);
        });
      });
    };
    list(own, other_ghosts, true);
    list(other, ghosts, false);
    if (!peer.send.empty() || !peer.recv.empty()) peers_.push_back(peer);
  }
  requests_.resize(2 * peers_.size());
  if (space_ == Space::cuda && !empty()) list();
}

Halo Halo::host() const
{
  Halo h;
  h.comm_     = comm_;
  h.peers_    = peers_;
  h.self_     = self_;
  h.requests_ = requests_;
  return h;
}

// f(value) for every value of the quarters in the mask of a box of nodes, always in the same order.
template <class T, class F> static void for_values(const View<T> &v, int mask, const Box &nodes, const F &f)
{
  for (int q = 0; q < 4; ++q) {
    if (!(mask & (1 << q))) continue;
    const Box b = quarter_box(nodes, q);
    for (int y = b.y0; y < b.y1; ++y)
      for (int x = b.x0; x < b.x1; ++x) f(v.q[q][x * v.sx + y * v.sy]);
  }
}

static size_t count(int mask, const std::vector<Box> &boxes)
{
  size_t n = 0;
  for (const Box &b : boxes)
    for (int q = 0; q < 4; ++q)
      if (mask & (1 << q)) n += (size_t)quarter_box(b, q).size();
  return n;
}

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
  const size_t n = (size_t)std::max(out[15], in[15]);
  if (!n) return;
  send_there_.resize({n, Space::cuda});
  recv_there_.resize({n, Space::cuda});
  send_pinned_.resize(n * sizeof(double));
  recv_pinned_.resize(n * sizeof(double));
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

// The same on the device: one kernel packs, one unpacks. Several ghost nodes may be images of one own node, so sums go box by box.
template <class T> void Halo::move_there(const View<T> &v, int mask, bool reverse)
{
  const Exec exec{Space::cuda};
  const int  own = (int)own_longest_.size(), selves = (int)self_.size(), ghosts = (int)ghost_there_.size() / 4;
  using Kernel   = Transfer<T>;
  T *const send = (T *)send_there_.data(), *const recv = (T *)recv_there_.data();
  auto     sum  = [&](int box) { forall(exec, {0, own_longest_[(size_t)box], 4 * box, 4 * box + 4}, Kernel{v, own_there_.data(), recv, mask, Way::add}); };
  if (reverse) {
    for (int i = 0; i < selves; ++i) sum(i);
    forall(exec, {0, longest_, 0, 4 * ghosts}, Kernel{v, ghost_there_.data(), send, mask, Way::pack});
  } else forall(exec, {0, longest_, 0, 4 * own}, Kernel{v, own_there_.data(), send, mask, Way::pack});
  if (peers_.empty()) return;
  size_t out = 0, in = 0;
  for (Peer &p : peers_) {
    out += count(mask, reverse ? p.recv : p.send);
    in += count(mask, reverse ? p.send : p.recv);
  }
  char *from = (char *)(gpu_aware ? (void *)send : send_pinned_.data()), *to = (char *)(gpu_aware ? (void *)recv : recv_pinned_.data());
  if (gpu_aware || !out) device::synchronize(); // also: what came before is taken
  else device::copy_to_host(from, send, out * sizeof(T));
  int k = 0;
  for (Peer &p : peers_) {
    const size_t n = count(mask, reverse ? p.send : p.recv) * sizeof(T);
    MPI_Irecv(to, (int)n, MPI_BYTE, p.rank, 0, comm_, &requests_[k++]);
    to += n;
  }
  for (Peer &p : peers_) {
    const size_t n = count(mask, reverse ? p.recv : p.send) * sizeof(T);
    MPI_Isend(from, (int)n, MPI_BYTE, p.rank, 0, comm_, &requests_[k++]);
    from += n;
  }
  MPI_Waitall(k, requests_.data(), MPI_STATUSES_IGNORE);
  if (!gpu_aware && in) device::copy_from_host(recv, recv_pinned_.data(), in * sizeof(T));
  if (!reverse) return forall(exec, {0, longest_, 0, 4 * ghosts}, Kernel{v, ghost_there_.data(), recv, mask, Way::put});
  for (int i = selves; i < own; ++i) sum(i);
}

template <class T> void Halo::move(const View<T> &v, int mask, bool reverse)
{
  if (empty()) return;
  if (space_ == Space::cuda) return move_there(v, mask, reverse);
  // Images of this process's own nodes, through a buffer as source and target may touch.
  for (const Copy &c : self_) {
    send_.clear();
    size_t k = 0;
    for_values(v, mask, reverse ? c.ghost : c.own, [&](T &x) { send_.push_back((double)x); });
    for_values(v, mask, reverse ? c.own : c.ghost, [&](T &x) { x = (T)(reverse ? x + send_[k] : send_[k]); ++k; });
  }
  if (peers_.empty()) return;
  size_t out = 0, in = 0;
  for (Peer &p : peers_) {
    out += count(mask, reverse ? p.recv : p.send);
    in += count(mask, reverse ? p.send : p.recv);
  }
  if (send_.size() < out) send_.resize(out);
  if (recv_.size() < in) recv_.resize(in);
  size_t at = 0;
  int    k  = 0;
  for (Peer &p : peers_) {
    const size_t n = count(mask, reverse ? p.send : p.recv);
    MPI_Irecv(recv_.data() + at, (int)n, MPI_DOUBLE, p.rank, 0, comm_, &requests_[k++]);
    at += n;
  }
  at = 0;
  for (Peer &p : peers_) {
    const size_t start = at;
    for (const Box &b : reverse ? p.recv : p.send) for_values(v, mask, b, [&](T &x) { send_[at++] = (double)x; });
    MPI_Isend(send_.data() + start, (int)(at - start), MPI_DOUBLE, p.rank, 0, comm_, &requests_[k++]);
  }
  MPI_Waitall(k, requests_.data(), MPI_STATUSES_IGNORE);
  at = 0;
  for (Peer &p : peers_)
    for (const Box &b : reverse ? p.send : p.recv) for_values(v, mask, b, [&](T &x) { x = (T)(reverse ? x + recv_[at] : recv_[at]); ++at; });
}

template void Halo::move<double>(const View<double> &, int, bool);
template void Halo::move<float>(const View<float> &, int, bool);
template void Halo::move<uint8_t>(const View<uint8_t> &, int, bool);

Gather::Gather(const Grid &grid, Space space) : comm_(grid.comm), rank_(grid.rank)
{
  int at = 0;
  for (int r = 0; r < grid.processes(); ++r) {
    counts_.push_back((int)grid.box(r).size());
    displacements_.push_back(at);
    at += counts_.back();
  }
  local_.resize(Extent{(size_t)counts_[grid.rank] + 1, space});
  global_.resize(Extent{(size_t)at + 1, space});
  if (space == Space::host) return;
  local_pinned_.resize(local_.bytes());
  global_pinned_.resize(global_.bytes());
}

double *Gather::global()
{
  const bool there = local_.space() == Space::cuda;
  double    *local = there ? (double *)local_pinned_.data() : local_.data(), *global = there ? (double *)global_pinned_.data() : global_.data();
  if (there) device::copy_to_host(local, local_.data(), local_.bytes());
  MPI_Allgatherv(local, counts_[rank_], MPI_DOUBLE, global, counts_.data(), displacements_.data(), MPI_DOUBLE, comm_);
  if (there) device::copy_from_host(global_.data(), global, global_.bytes());
  return global_.data();
}

} // namespace tessera
