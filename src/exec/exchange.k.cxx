#include "exec/exchange.hpp"
#include "exec/each.hpp"
#include "exec/raised.hpp"
#include <algorithm>
#include <numeric>
#include <petscsys.h> // its macros count messages and reductions for -log_view

namespace tessera {

namespace {

// GatherNodes<T> the other way.
template <class T> struct Unpack {
  const int *list;
  const T   *from;
  T         *to;
  int        width;
  HD void    operator()(int p) const { to[(ptrdiff_t)list[p / width] * width + p % width] = from[p]; }
};
template <class T> struct Add {
  const int *list;
  const T   *from;
  T         *to;
  int        width;
  HD void    operator()(int p) const { to[(ptrdiff_t)list[p / width] * width + p % width] += from[p]; }
};

// Where the nodes of each process begin in a list.
struct Parts {
  int    begin[Meeting::max_others + 1];
  HD int of(int node) const
  {
    int k = 0;
    while (node >= begin[k + 1]) ++k;
    return k;
  }
};
// Of the `width` numbers of each node some, from the first on.
struct Some {
  int width, first, n;
  HD ptrdiff_t operator()(const int *list, int p) const { return (ptrdiff_t)list[p / n] * width + first + p % n; }
};
// GatherNodes<T> into the memory of the others' devices.
template <class T> struct Post {
  DirectMessages::Slots slots;
  Parts                 parts;
  const int            *list;
  const T              *from;
  Some                  some;
  HD void               operator()(int p) const
  {
    const int k = parts.of(p / some.n);
    slots.outgoing<T>(k)[p - parts.begin[k] * some.n] = from[some(list, p)];
  }
};
// Unpack<T> or Add<T> from there, from item `first` on.
template <class T, bool add> struct Receive {
  DirectMessages::Slots slots;
  Parts                 parts;
  const int            *list;
  T                    *to;
  Some                  some;
  int                   first;
  HD void               operator()(int q) const
  {
    const int p = first + q, k = parts.of(p / some.n);
    T        &v = to[some(list, p)];
    const T   got = slots.incoming<T>(k)[p - parts.begin[k] * some.n];
    if (add) v += got;
    else v = got;
  }
};

} // namespace

Exchange::Exchange(const Exec &exec, const Comm &comm, int own, const std::vector<int> &owner,
                   const std::vector<int> &index) : exec_(exec), comm_(comm), own_(own), ghosts_((int)owner.size())
{
  int size;
  MPI_Comm_size(comm, &size);
  if (size == 1) return;
  std::vector<int> order(owner.size()), nodes, wants((size_t)size), wanted((size_t)size), from((size_t)size + 1),
    to((size_t)size + 1), asked(owner.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return owner[(size_t)a] < owner[(size_t)b]; });
  for (int o : owner) ++wants[(size_t)o];
  for (size_t g = 0; g < order.size(); ++g) asked[g] = index[(size_t)order[g]];
  MPI_Alltoall(wants.data(), 1, MPI_INT, wanted.data(), 1, MPI_INT, comm);
  for (int r = 0; r < size; ++r) {
    from[(size_t)r + 1] = from[(size_t)r] + wants[(size_t)r];
    to[(size_t)r + 1]   = to[(size_t)r] + wanted[(size_t)r];
  }
  nodes.resize((size_t)to.back());
  MPI_Alltoallv(asked.data(), wants.data(), from.data(), MPI_INT, nodes.data(), wanted.data(), to.data(), MPI_INT,
                comm);
  for (int r = 0; r < size; ++r)
    if (wants[(size_t)r] || wanted[(size_t)r])
      peers_.push_back({r, to[(size_t)r], wanted[(size_t)r], from[(size_t)r], wants[(size_t)r]});
  for (int &g : order) g += own_;
  list_   = copy_to(exec_.space, nodes);
  places_ = copy_to(exec_.space, order);
}

void Exchange::renumber(const Buffer<int> &number)
{
  if (peers_.empty()) return;
  Buffer<int> list;
  list.resize_unset(list_.extent());
  for_each(exec_, (int)list.size(), GatherValues<int>{list_.data(), number.data(), list.data()});
  list_ = std::move(list);
}

// In both directions the longer message has room.
std::vector<DirectMessages::From> Exchange::from(size_t node) const
{
  std::vector<DirectMessages::From> of;
  for (const Peer &p : peers_) of.push_back({p.rank, node * (size_t)std::max(p.sends, p.receives)});
  return of;
}

void Exchange::join(const std::shared_ptr<Peers> &peers, size_t node)
{
  if (empty()) return;
  direct_.join(peers, comm_, from(node));
  direct_node_ = node;
}

template <class T> void Exchange::pass_directly(T *v, int width, bool back)
{
  const Buffer<int> &from = back ? places_ : list_, &to = back ? list_ : places_;
  Parts              sent = {}, got = {};
  for (size_t k = 0; k < peers_.size(); ++k) {
    sent.begin[k + 1] = sent.begin[k] + (back ? peers_[k].receives : peers_[k].sends);
    got.begin[k + 1]  = got.begin[k] + (back ? peers_[k].sends : peers_[k].receives);
  }
  const int at_once = (int)(direct_node_ / sizeof(T));
  for (int first = 0; first < width; first += at_once) {
    const Some some{width, first, std::min(width - first, at_once)};
    for_each_on_device(exec_, (int)from.size() * some.n, Post<T>{direct_.slots(), sent, from.data(), v, some});
    direct_.meet();
    if (!back)
      for_each_on_device(exec_, (int)to.size() * some.n,
                         Receive<T, false>{direct_.slots(), got, to.data(), v, some, 0});
    else
      for (const Peer &p : peers_)
        for_each_on_device(exec_, p.sends * some.n,
                           Receive<T, true>{direct_.slots(), got, to.data(), v, some, p.send * some.n});
  }
}

// Values go from owners to ghosts, or with `back` from ghosts to those that own the nodes.
template <class T> void Exchange::pass(T *v, int width, bool back)
{
  if (peers_.empty()) return;
  if (direct_node_) return pass_directly(v, width, back);
  const Buffer<int> &from = back ? places_ : list_, &to = back ? list_ : places_;
  const size_t       out = from.size() * (size_t)width, in = to.size() * (size_t)width;
  if (send_.size() < out * sizeof(T)) send_.resize(out * sizeof(T));
  if (receive_.size() < in * sizeof(T)) receive_.resize(in * sizeof(T));
  T *send = (T *)send_.data(), *receive = (T *)receive_.data();
  if (exec_.space == Space::cuda) { // messages pass through the host
    const size_t need = ((out > in ? out : in) * sizeof(T) + sizeof(double) - 1) / sizeof(double);
    if (device_.size() < need) device_.resize(Extent{need, Space::cuda});
    for_each(exec_, (int)out, GatherNodes<T>{from.data(), v, (T *)device_.data(), width});
    if (out) device::copy_to_host(send, device_.data(), out * sizeof(T));
  } else for_each(exec_, (int)out, GatherNodes<T>{from.data(), v, send, width});
  // Messages count numbers: their bytes would leave the range of an int sooner.
  const MPI_Datatype type = sizeof(T) == 8 ? MPI_DOUBLE : sizeof(T) == 4 ? MPI_FLOAT : MPI_BYTE;
  requests_.clear();
  for (const Peer &p : peers_) {
    const int first_in = back ? p.send : p.receive, ins = back ? p.sends : p.receives,
              first_out = back ? p.receive : p.send, outs = back ? p.receives : p.sends;
    MPI_Request request;
    if (ins) {
      MPI_Irecv(receive + (size_t)first_in * width, ins * width, type, p.rank, comm_.tag, comm_, &request);
      requests_.push_back(request);
    }
    if (outs) {
      MPI_Isend(send + (size_t)first_out * width, outs * width, type, p.rank, comm_.tag, comm_, &request);
      requests_.push_back(request);
    }
  }
  MPI_Waitall((int)requests_.size(), requests_.data(), MPI_STATUSES_IGNORE);
  const T *got = receive;
  if (exec_.space == Space::cuda) {
    if (in) device::copy_from_host(device_.data(), receive, in * sizeof(T));
    got = (const T *)device_.data();
  }
  if (!back) return for_each(exec_, (int)in, Unpack<T>{to.data(), got, v, width});
  // One process after the other, as several may have the same node as a ghost.
  for (const Peer &p : peers_)
    for_each(exec_, p.sends * width, Add<T>{to.data() + p.send, got + (size_t)p.send * width, v, width});
}

template <class T> void Exchange::forward(T *v, int width) { pass(v, width, false); }
template <class T> void Exchange::add_back(T *v, int width) { pass(v, width, true); }
template void Exchange::forward(double *, int);
template void Exchange::forward(float *, int);
template void Exchange::forward(unsigned char *, int);
template void Exchange::forward(int *, int);
template void Exchange::add_back(double *, int);
template void Exchange::add_back(float *, int);
template void Exchange::add_back(Raised *, int);

} // namespace tessera
