// Exchange of ghost values between the processes of a grid, and the gathering of a grid on every process.
#pragma once
#include "box/grid.hpp"
#include "exec/peers.hpp"

namespace tessera {

// The nodes of a quarter in a box of the halo: places of their values in a message by mask; or, of images of the own
// process, the ghosts' distance.
struct HaloSegment {
  int  X0, Y0, width, count, dx, dy;
  bool self;
  int  at[16];
  int  peer;
};

// Messages that a process and one of its neighbours write into each other's memory, two slots each; out_start and
// in_start: where the message begins in HaloSegment::at, by mask.
struct HaloPlace {
  char     *out, *in;
  ptrdiff_t out_slot, in_slot;
  int       out_start[16], in_start[16];
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
  void                     list();
  void                     reserve(size_t values);
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
  std::shared_ptr<Peers>   peers_device_;
  Meeting                  meeting_;
  std::vector<HaloPlace>   starts_;
  Buffer<HaloPlace>        places_;
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
  MPI_Comm            comm_ = MPI_COMM_SELF;
  int                 rank_ = 0;
  Buffer<double>      local_, global_;
  Pinned              local_pinned_, global_pinned_;
  std::vector<int>    counts_, displacements_;
  std::shared_ptr<Peers> peers_device_;
  Meeting             meeting_;
  Buffer<double *>       remote_;         // where this process's values go in each one's memory,
  double             *here_ = nullptr; // and all values come here; two slots
};

} // namespace tessera
