// Exchange of ghost values between the processes of a grid, and the gathering of a grid on every process.
#pragma once
#include "box/grid.hpp"
#include "exec/direct.hpp"
#include "exec/staging.hpp"

namespace tessera {

// The nodes of a quarter in a box of the halo: places of their values in a message by mask; or, of images of the own
// process, the ghosts' distance.
struct HaloSegment {
  int  X0, Y0, width, count, dx, dy;
  bool self;
  int  at[16];
  int  peer;
};

// Where the messages to a neighbour and from it begin in HaloSegment::at, by mask.
struct HaloStarts {
  int out[16], in[16];
};

// A field, or one quarter of it, for an exchange of several at a time.
template <class T> struct Ghosts {
  View<T> v;
  int     mask;
};

class Halo {
public:
  // MPI takes device memory; else messages pass through the host.
  static inline bool gpu_aware = false;

  Halo() = default;
  explicit Halo(const Grid &grid, Space space = Space::host, int layers = 1); // space: of the fields
  Halo host() const;                                          // the same for fields on the host
  bool empty() const { return peers_.empty() && self_.empty(); }
  // From here on exchanges of one field go directly into the neighbours' memory. Collective.
  size_t peer_bytes() const;
  void   join(const std::shared_ptr<Peers> &peers);
  // Fills the ghost nodes of the quarters in the mask with their owners' values.
  template <class T> void exchange(const View<T> &v, int mask) { move(v, mask, false); }
  template <class T> void exchange(const std::vector<Ghosts<T>> &fields); // in one go
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
  template <class T> void move_on_device(const Ghosts<T> *fields, int count, bool reverse);
  template <class T> void exchange_directly(const View<T> &v, int mask);
  bool                     on_device() const { return space_ == Space::cuda; }
  void                     list();
  void                     reserve(size_t values);
  std::vector<DirectMessages::From> longest_messages() const;
  Comm                     comm_;
  Space                    space_ = Space::host;
  std::vector<Peer>        peers_;
  std::vector<Copy>        self_; // periodic images
  std::vector<double>      send_, recv_;
  std::vector<MPI_Request> requests_;
  // on the device: four of each own box, periodic images first; of each ghost box
  Buffer<HaloSegment>      own_device_, ghost_device_;
  std::vector<int>         own_longest_;             // of each own box
  int                      longest_ = 0;
  Buffer<double>           send_device_, recv_device_; // room for the messages of a field, or of several
  Pinned                   send_pinned_, recv_pinned_;
  std::unique_ptr<DirectMessages> direct_;
  std::vector<HaloStarts>  starts_; // of each peer
  Buffer<HaloStarts>       starts_device_;
};

// A grid's values from all processes to every process.
class Gather {
public:
  Gather() = default;
  explicit Gather(const Grid &grid, Space space = Space::host);
  double *local() { return local_.data(); }   // in: the owned box in natural order
  double *global();                           // communicates; out: the boxes of all processes, one after the other
  ptrdiff_t position(int rank) const { return displacements_[rank]; }
  size_t    peer_bytes() const;
  // from here on processes write into each other's memory. Collective.
  void      join(const std::shared_ptr<Peers> &peers);

private:
  double             *exchange_directly();
  std::vector<DirectMessages::From> parts() const;
  Comm                comm_;
  int                 rank_ = 0;
  Buffer<double>      local_, global_;
  Staging             local_host_, global_host_;
  std::vector<int>    counts_, displacements_;
  std::unique_ptr<DirectMessages> direct_;
  Buffer<int>         begins_; // of each process's values among all, and the end
};

} // namespace tessera
