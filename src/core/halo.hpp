// Exchange of ghost values between the processes of a grid, and the gathering of a grid on every process.
#pragma once
#include "core/grid.hpp"

namespace tessera {

class Halo {
public:
  Halo() = default;
  explicit Halo(const Grid &grid);
  bool empty() const { return peers_.empty() && self_.empty(); }
  // Fills the ghost nodes of the quarters in the mask with their owners' values.
  template <class T> void exchange(const View<T> &v, int mask) { move(v, mask, false); }
  // The reverse: adds what the ghost nodes hold to their owners.
  template <class T> void fold(const View<T> &v, int mask) { move(v, mask, true); }

private:
  struct Copy { // a box of this process's own nodes that is a ghost box of the peer, and conversely
    Box own, ghost;
  };
  struct Peer {
    int              rank;
    std::vector<Box> send, recv;
  };
  template <class T> void move(const View<T> &v, int mask, bool reverse);
  MPI_Comm                 comm_ = MPI_COMM_SELF;
  std::vector<Peer>        peers_;
  std::vector<Copy>        self_; // periodic images
  std::vector<double>      send_, recv_;
  std::vector<MPI_Request> requests_;
};

// A grid's values from all processes to every process.
class Gather {
public:
  Gather() = default;
  explicit Gather(const Grid &grid);
  double *local() { return local_.data(); }   // in: the owned box in natural order
  double *global();                           // communicates; out: the boxes of all processes, one after the other
  ptrdiff_t position(int rank) const { return displacements_[rank]; }

private:
  MPI_Comm            comm_ = MPI_COMM_SELF;
  int                 rank_ = 0;
  Buffer<double>      local_, global_;
  std::vector<int>    counts_, displacements_;
};

} // namespace tessera
