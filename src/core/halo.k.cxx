#include "core/halo.hpp"
#include <cstdint>

namespace tessera {

// Calls f(k) for every periodic image k of [0, n) that meets [lo, hi): node x of image k is x + k n.
template <class F> static void for_images(int lo, int hi, int n, bool periodic, const F &f)
{
  if (!periodic) return f(0);
  for (int k = lo < 0 ? -((n - 1 - lo) / n) : 0; k * n < hi; ++k) f(k);
}

Halo::Halo(const Grid &grid) : comm_(grid.comm)
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

template <class T> void Halo::move(const View<T> &v, int mask, bool reverse)
{
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

Gather::Gather(const Grid &grid) : comm_(grid.comm), rank_(grid.rank)
{
  int at = 0;
  for (int r = 0; r < grid.processes(); ++r) {
    counts_.push_back((int)grid.box(r).size());
    displacements_.push_back(at);
    at += counts_.back();
  }
  local_.resize((size_t)counts_[grid.rank] + 1);
  global_.resize((size_t)at + 1);
}

double *Gather::global()
{
  MPI_Allgatherv(local_.data(), counts_[rank_], MPI_DOUBLE, global_.data(), counts_.data(), displacements_.data(), MPI_DOUBLE, comm_);
  return global_.data();
}

} // namespace tessera
