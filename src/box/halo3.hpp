// Ghost nodes of grids of one to three dimensions: lists of places, packed and unpacked by kernels where the fields
// are. Messages through MPI are doubles whatever the fields are, direct ones have the fields' type. rrb in space and
// vipmg send fields by it, rrb also numbers of components and flags, which must arrive as they are.
#pragma once
#include "box/level.hpp"
#include "exec/direct.hpp"
#include "exec/staging.hpp"

namespace tessera::box {

class Halo3 {
public:
  Halo3() = default;
  // have[r]: the nodes whose values process r knows; need[r]: those that it wants to know. periods: nodes of the grid
  // in a periodic direction, else 0. The layout is this process's.
  void setup(const Comm &comm, const std::vector<Box3> &have, const std::vector<Box3> &need, const int periods[3],
             const Layout3 &layout, Space space);
  void exchange(double *const *fields, int n);
  void exchange(float *const *fields, int n);
  void exchange(double *field) { exchange(&field, 1); }
  void exchange(float *field) { exchange(&field, 1); }
  void exchange(uint8_t *flags);
  // From here on messages go directly between devices, one field after the other. Collective.
  void   join(const std::shared_ptr<Peers> &peers);
  void   leave() { direct_ = DirectMessages(); } // no longer
  size_t direct_bytes() const { return remote() ? DirectMessages::bytes(from()) : 0; } // of this process's memory
  size_t bytes() const
  {
    return send_at_.bytes() + recv_at_.bytes() + image_from_.bytes() + image_to_.bytes() + send_.bytes() +
           recv_.bytes();
  }
  bool remote() const { return !peers_.empty(); }
  bool empty() const { return peers_.empty() && !image_from_.size(); }

private:
  struct Peer {
    int    rank;
    size_t send, recv; // values
  };
  Comm                     comm_;
  Exec                     exec_;
  std::vector<Peer>        peers_;
  std::vector<MPI_Request> requests_;
  Buffer<ptrdiff_t>        send_at_, recv_at_, image_from_, image_to_;
  size_t                   out_ = 0, in_ = 0, room_ = 0;
  Buffer<double>           send_, recv_; // where the fields are
  Staging                  send_host_, recv_host_;
  template <class T> void exchange_fields(T *const *fields, int n);
  template <class T> void exchange_directly(T *field);
  void                    reserve(int n);
  std::vector<DirectMessages::From> from() const;
  DirectMessages          direct_;
};

} // namespace tessera::box
