#include "box/halo.hpp"
#include "exec/several.hpp"
#include <cstdint>
#include <petscsys.h> // its macros count messages and reductions for -log_view

namespace tessera {

// Calls f(k) for every periodic image k of [0, n) that meets [lo, hi): node x of image k is x + k n.
template <class F> static void for_images(int lo, int hi, int n, bool periodic, const F &f)
{
  if (!periodic) return f(0);
  for (int k = lo < 0 ? -((n - 1 - lo) / n) : 0; k * n < hi; ++k) f(k);
}

Halo::Halo(const Grid &grid, Space space, int layers) : comm_(grid.comm), space_(space)
{
  const Box own = grid.owned(), ghosts = Grid::ghosted(own, layers);
  if (own.empty() && layers == 1) return;
  auto shifted = [&](const Box &b, int kx, int ky) {
    return Box{b.x0 + kx * grid.nx, b.x1 + kx * grid.nx, b.y0 + ky * grid.ny, b.y1 + ky * grid.ny};
  };
  for (int r = 0; r < grid.processes(); ++r) {
    const Box other = grid.box(r), other_ghosts = Grid::ghosted(other, layers);
    if (other.empty() && layers == 1) continue;
    Peer peer{r, {}, {}};
    // Both sides list the images in the same order, so that the pieces of a message match.
    auto list = [&](const Box &owner, const Box &ghost, bool sending) {
      for_images(ghost.y0, ghost.y1, grid.ny, grid.periodic_y, [&](int ky) {
        for_images(ghost.x0, ghost.x1, grid.nx, grid.periodic_x, [&](int kx) {
          if (r == grid.rank && !kx && !ky) return;
          const Box overlap = intersect(shifted(owner, kx, ky), ghost);
          if (overlap.empty()) return;
          if (r == grid.rank) {
            if (sending) self_.push_back({shifted(overlap, -kx, -ky), overlap});
          } else if (sending) peer.send.push_back(shifted(overlap, -kx, -ky));
          else peer.recv.push_back(overlap);
        });
      });
    };
    list(own, other_ghosts, true);
    list(other, ghosts, false);
    if (!peer.send.empty() || !peer.recv.empty()) peers_.push_back(peer);
  }
  requests_.resize(2 * peers_.size());
  if (on_device() && !empty()) list();
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

size_t count_values(int mask, const std::vector<Box> &boxes)
{
  size_t n = 0;
  for (const Box &b : boxes)
    for (int q = 0; q < 4; ++q)
      if (mask & (1 << q)) n += (size_t)quarter_box(b, q).size();
  return n;
}

template <class T> void Halo::move(const View<T> &v, int mask, bool reverse)
{
  if (empty()) return;
  constexpr int K = width_of<T>; // several vectors are on the host
  if constexpr (K == 1)
    if (on_device()) {
      const Ghosts<T> one{v, mask};
      return move_on_device(&one, 1, reverse);
    }
  const auto put = [](T &x, double *to) {
    for (int i = 0; i < K; ++i) to[i] = (double)number(x, i);
  };
  const auto take = [&](T &x, const double *from) {
    for (int i = 0; i < K; ++i) {
      auto &to = number(x, i);
      to       = (std::decay_t<decltype(to)>)(reverse ? to + from[i] : from[i]);
    }
  };
  // Images of this process's own nodes, through a buffer as source and target may touch.
  for (const Copy &c : self_) {
    send_.resize(K * count_values(mask, {c.own}));
    size_t out = 0, in = 0;
    for_values(v, mask, reverse ? c.ghost : c.own, [&](T &x) { put(x, &send_[out]), out += K; });
    for_values(v, mask, reverse ? c.own : c.ghost, [&](T &x) { take(x, &send_[in]), in += K; });
  }
  if (peers_.empty()) return;
  size_t out = 0, in = 0;
  for (Peer &p : peers_) {
    out += K * count_values(mask, reverse ? p.recv : p.send);
    in += K * count_values(mask, reverse ? p.send : p.recv);
  }
  if (send_.size() < out) send_.resize(out);
  if (recv_.size() < in) recv_.resize(in);
  size_t at = 0;
  int    k  = 0;
  for (Peer &p : peers_) {
    const size_t n = K * count_values(mask, reverse ? p.send : p.recv);
    MPI_Irecv(recv_.data() + at, (int)n, MPI_DOUBLE, p.rank, comm_.tag, comm_, &requests_[k++]);
    at += n;
  }
  at = 0;
  for (Peer &p : peers_) {
    const size_t start = at;
    for (const Box &b : reverse ? p.recv : p.send) for_values(v, mask, b, [&](T &x) { put(x, &send_[at]), at += K; });
    MPI_Isend(send_.data() + start, (int)(at - start), MPI_DOUBLE, p.rank, comm_.tag, comm_, &requests_[k++]);
  }
  MPI_Waitall(k, requests_.data(), MPI_STATUSES_IGNORE);
  at = 0;
  for (Peer &p : peers_)
    for (const Box &b : reverse ? p.send : p.recv) for_values(v, mask, b, [&](T &x) { take(x, &recv_[at]), at += K; });
}

template <class T> void Halo::exchange(const std::vector<Ghosts<T>> &fields)
{
  if (empty()) return;
  if (on_device()) return move_on_device(fields.data(), (int)fields.size(), false);
  for (const Ghosts<T> &f : fields) move(f.v, f.mask, false);
}

template void Halo::exchange<double>(const std::vector<Ghosts<double>> &);
template void Halo::exchange<float>(const std::vector<Ghosts<float>> &);
template void Halo::move<double>(const View<double> &, int, bool);
template void Halo::move<Several<double, 4>>(const View<Several<double, 4>> &, int, bool);
template void Halo::move<Several<double, 8>>(const View<Several<double, 8>> &, int, bool);
template void Halo::move<Several<float, 8>>(const View<Several<float, 8>> &, int, bool);
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
  local_host_.reserve(space, local_.bytes());
  global_host_.reserve(space, global_.bytes());
}

double *Gather::global()
{
  if (direct_) return exchange_directly();
  double *const local  = local_host_.fetch(local_.data(), local_.size()),
         *const global = global_host_.place(global_.data());
  MPI_Allgatherv(local, counts_[rank_], MPI_DOUBLE, global, counts_.data(), displacements_.data(), MPI_DOUBLE, comm_);
  global_host_.store(global_.data(), global_.size());
  return global_.data();
}

} // namespace tessera
