// Messages between the same processes again and again, which kernels write into the memory of each other's devices
// (peers.hpp): the host takes no part and waits for nothing.
#pragma once
#include "exec/comm.hpp"
#include "exec/peers.hpp"
#include <vector>

namespace tessera {

class DirectMessages {
public:
  struct From { // a process, and the bytes of the longest message from it
    int    rank;
    size_t bytes;
  };
  // Where kernels write and read them. Between the two everybody comes to a meeting.
  struct Slots {
    const unsigned *meetings;
    char           *out[Meeting::max_others];
    const char     *in[Meeting::max_others];
    ptrdiff_t       out_bytes[Meeting::max_others], in_bytes[Meeting::max_others];
    template <class T> HD T *outgoing(int k) const { return (T *)(out[k] + (*meetings & 1) * out_bytes[k]); }
    template <class T> HD const T *incoming(int k) const
    {
      return (const T *)(in[k] + ((*meetings + 1) & 1) * in_bytes[k]);
    }
  };
  static size_t bytes(const std::vector<From> &from); // of this process's memory
  // Each of two processes names the other. Collective among them.
  void join(const std::shared_ptr<Peers> &peers, const Comm &comm, const std::vector<From> &from);
  explicit operator bool() const { return peers_ != nullptr; }
  const Slots &slots() const { return slots_; }
  void         meet() const;
  template <class T> void post_to_all(const T *v, int n) const; // the same message to everybody

private:
  std::shared_ptr<Peers> peers_;
  Meeting                meeting_;
  Slots                  slots_ = {};
};

// Messages from all processes to all: those of process r, of so many bytes, are number r, or r - 1 beyond the own one.
std::vector<DirectMessages::From> from_all_but(int rank, const std::vector<size_t> &bytes);

// Sums of vectors over all processes, the same bits on each.
class DirectSum {
public:
  static size_t bytes(int processes, size_t longest); // of this process's memory, for vectors of so many bytes
  void          join(const std::shared_ptr<Peers> &peers, const Comm &comm, size_t longest); // collective
  bool          fits(size_t vector) const { return vector <= longest_; } // of so many bytes
  template <class T> void sum(T *v, int n) const; // on the device

private:
  DirectMessages messages_;
  size_t         longest_ = 0;
  int            rank_ = 0, processes_ = 0;
};

} // namespace tessera
