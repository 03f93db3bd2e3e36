#include "box/halo3.hpp"
#include "exec/each.hpp"
#include <petscsys.h> // its macros count messages and reductions for -log_view

namespace tessera::box {

namespace {

Box3 intersect(const Box3 &a, const Box3 &b)
{
  Box3 c;
  for (int d = 0; d < 3; ++d) {
    c.lo[d] = a.lo[d] > b.lo[d] ? a.lo[d] : b.lo[d];
    c.hi[d] = a.hi[d] < b.hi[d] ? a.hi[d] : b.hi[d];
  }
  return c;
}

// The regions of `need` that `have` or its periodic images fill, in an order that both sides know.
template <class F> void regions(const Box3 &have, const Box3 &need, const int periods[3], bool self, const F &f)
{
  int images[3];
  for (int d = 0; d < 3; ++d) images[d] = periods[d] ? 2 : 0;
  for (int c = -images[2]; c <= images[2]; ++c)
    for (int b = -images[1]; b <= images[1]; ++b)
      for (int a = -images[0]; a <= images[0]; ++a) {
        if (self && !a && !b && !c) continue;
        const int shift[3] = {a * periods[0], b * periods[1], c * periods[2]};
        Box3      image    = have;
        for (int d = 0; d < 3; ++d) image.lo[d] += shift[d], image.hi[d] += shift[d];
        const Box3 region = intersect(image, need);
        if (!region.empty()) f(region, shift);
      }
}

template <class T> struct GatherValues {
  const T         *field;
  const ptrdiff_t *at;
  double          *out;
  HD void          operator()(int i, int) const { out[i] = (double)field[at[i]]; }
};
template <class T> struct ScatterValues {
  T               *field;
  const ptrdiff_t *at;
  const double    *in;
  HD void          operator()(int i, int) const { field[at[i]] = (T)in[i]; }
};
// Into the memory of another device, and from there.
template <class T> struct Post {
  const T              *field;
  const ptrdiff_t      *at;
  DirectMessages::Slots slots;
  int                   peer;
  HD void               operator()(int i) const { slots.outgoing<T>(peer)[i] = field[at[i]]; }
};
template <class T> struct Receive {
  T                    *field;
  const ptrdiff_t      *at;
  DirectMessages::Slots slots;
  int                   peer;
  HD void               operator()(int i) const { field[at[i]] = slots.incoming<T>(peer)[i]; }
};
template <class T> struct CopyImages {
  T               *field;
  const ptrdiff_t *from, *to;
  HD void          operator()(int i, int) const { field[to[i]] = field[from[i]]; }
};

} // namespace

void Halo3::setup(const Comm &comm, const std::vector<Box3> &have, const std::vector<Box3> &need, const int periods[3],
                  const Layout3 &layout, Space space)
{
  int                    me = 0;
  std::vector<ptrdiff_t> send, recv, from, to;
  MPI_Comm_rank(comm, &me);
  comm_       = comm;
  exec_.space = space;
  peers_.clear();
  direct_ = DirectMessages();
  const auto list = [&](const Box3 &b, const int *shift, std::vector<ptrdiff_t> &at) {
    for (int k = b.lo[2]; k < b.hi[2]; ++k)
      for (int j = b.lo[1]; j < b.hi[1]; ++j)
        for (int i = b.lo[0]; i < b.hi[0]; ++i) at.push_back(layout.at(i - shift[0], j - shift[1], k - shift[2]));
  };
  const int none[3] = {0, 0, 0};
  for (int r = 0; r < (int)have.size(); ++r) {
    if (r == me) {
      regions(have[(size_t)me], need[(size_t)me], periods, true, [&](const Box3 &b, const int *shift) {
        list(b, shift, from);
        list(b, none, to);
      });
      continue;
    }
    const size_t s0 = send.size(), r0 = recv.size();
    regions(have[(size_t)me], need[(size_t)r], periods, false,
            [&](const Box3 &b, const int *shift) { list(b, shift, send); });
    regions(have[(size_t)r], need[(size_t)me], periods, false,
            [&](const Box3 &b, const int *) { list(b, none, recv); });
    if (send.size() > s0 || recv.size() > r0) peers_.push_back({r, send.size() - s0, recv.size() - r0});
  }
  out_  = send.size();
  in_   = recv.size();
  room_ = 0;
  send_at_  = copy_to(space, send);
  recv_at_  = copy_to(space, recv);
  image_from_ = copy_to(space, from);
  image_to_   = copy_to(space, to);
  requests_.resize(2 * peers_.size());
  reserve(1);
}

void Halo3::reserve(int n)
{
  if (room_ >= (size_t)n || peers_.empty()) return;
  room_ = (size_t)n;
  send_.resize(Extent{room_ * out_ + 1, exec_.space});
  recv_.resize(Extent{room_ * in_ + 1, exec_.space});
  send_host_.reserve(exec_.space, send_.bytes());
  recv_host_.reserve(exec_.space, recv_.bytes());
}

std::vector<DirectMessages::From> Halo3::from() const
{
  std::vector<DirectMessages::From> of;
  for (const Peer &p : peers_) of.push_back({p.rank, p.recv * sizeof(double)});
  return of;
}

void Halo3::join(const std::shared_ptr<Peers> &peers)
{
  if (remote()) direct_.join(peers, comm_, from());
}

template <class T> void Halo3::exchange_directly(T *field)
{
  size_t at = 0;
  for (size_t k = 0; k < peers_.size(); at += peers_[k++].send)
    for_each_on_device(exec_, (int)peers_[k].send, Post<T>{field, send_at_.data() + at, direct_.slots(), (int)k});
  direct_.meet();
  at = 0;
  for (size_t k = 0; k < peers_.size(); at += peers_[k++].recv)
    for_each_on_device(exec_, (int)peers_[k].recv, Receive<T>{field, recv_at_.data() + at, direct_.slots(), (int)k});
}

template <class T> void Halo3::exchange_fields(T *const *fields, int n)
{
  for (int f = 0; f < n; ++f)
    forall(exec_, {0, (int)image_from_.size(), 0, 1}, CopyImages<T>{fields[f], image_from_.data(), image_to_.data()});
  if (peers_.empty()) return;
  if (direct_) {
    for (int f = 0; f < n; ++f) exchange_directly(fields[f]);
    return;
  }
  reserve(n);
  // All fields of a peer go in one message: its values of field 0, of field 1, ...
  size_t at = 0;
  for (const Peer &p : peers_) {
    for (int f = 0; f < n; ++f)
      forall(exec_, {0, (int)p.send, 0, 1},
             GatherValues<T>{fields[f], send_at_.data() + at, send_.data() + at * (size_t)n + (size_t)f * p.send});
    at += p.send;
  }
  double *const out = send_host_.fetch(send_.data(), out_ * (size_t)n), *const in = recv_host_.place(recv_.data());
  int           k = 0;
  size_t        a = 0;
  for (const Peer &p : peers_) {
    MPI_Irecv(in + a, (int)(p.recv * (size_t)n), MPI_DOUBLE, p.rank, comm_.tag, comm_, &requests_[(size_t)k++]);
    a += p.recv * (size_t)n;
  }
  a = 0;
  for (const Peer &p : peers_) {
    MPI_Isend(out + a, (int)(p.send * (size_t)n), MPI_DOUBLE, p.rank, comm_.tag, comm_, &requests_[(size_t)k++]);
    a += p.send * (size_t)n;
  }
  MPI_Waitall(k, requests_.data(), MPI_STATUSES_IGNORE);
  recv_host_.store(recv_.data(), in_ * (size_t)n);
  at = 0;
  for (const Peer &p : peers_) {
    for (int f = 0; f < n; ++f)
      forall(exec_, {0, (int)p.recv, 0, 1},
             ScatterValues<T>{fields[f], recv_at_.data() + at, recv_.data() + at * (size_t)n + (size_t)f * p.recv});
    at += p.recv;
  }
}

void Halo3::exchange(double *const *fields, int n) { exchange_fields(fields, n); }
void Halo3::exchange(float *const *fields, int n) { exchange_fields(fields, n); }
void Halo3::exchange(uint8_t *flags) { exchange_fields(&flags, 1); }

} // namespace tessera::box
