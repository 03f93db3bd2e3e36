// Exchanges the values of ghost nodes, which other processes own. A vector has the values of the process's own nodes
// and, behind them, those of its ghost nodes.
#pragma once
#include "exec/buffer.hpp"
#include "exec/direct.hpp"
#include "exec/exec.hpp"
#include <vector>

namespace tessera {

class Exchange {
public:
  Exchange() = default;
  // Ghost node g is node index[g] of process owner[g]. Collective.
  Exchange(const Exec &exec, const Comm &comm, int own, const std::vector<int> &owner, const std::vector<int> &index);
  // Own node p is number[p] from here on.
  void renumber(const Buffer<int> &number);
  // Sets the ghost values of v, `width` numbers of each node, to those of their owners. Collective, as add_back() is.
  template <class T> void forward(T *v, int width);
  // Adds to the values of own nodes what other processes have for them as ghosts, process after process.
  template <class T> void add_back(T *v, int width);
  // From here on messages go directly between devices, so many bytes of a node at once. Collective.
  void   join(const std::shared_ptr<Peers> &peers, size_t node);
  void   leave() { direct_ = DirectMessages(), direct_node_ = 0; } // no longer
  size_t direct_bytes(size_t node) const { return empty() ? 0 : DirectMessages::bytes(from(node)); } // of this process
  bool   direct() const { return empty() || direct_node_; } // do they?
  // Frees the memory of messages, which the next exchange allocates anew.
  void release()
  {
    send_ = receive_ = std::vector<char>();
    device_ = Buffer<double>();
  }
  bool   empty() const { return peers_.empty(); }
  int    ghosts() const { return ghosts_; }
  size_t bytes() const
  {
    return list_.bytes() + places_.bytes() + device_.bytes() + send_.capacity() + receive_.capacity();
  }

private:
  struct Peer {
    int rank;
    int send, sends; // first and number of nodes in the list
    int receive, receives;
  };
  template <class T> void  pass(T *v, int width, bool back);
  template <class T> void  pass_directly(T *v, int width, bool back);
  std::vector<DirectMessages::From> from(size_t node) const;
  Exec                     exec_;
  Comm                     comm_;
  int                      own_ = 0, ghosts_ = 0;
  std::vector<Peer>        peers_;
  Buffer<int>              list_;   // own nodes in the order in which they are sent
  Buffer<int>              places_; // ghost nodes in the order in which they come in
  std::vector<char>        send_, receive_;
  Buffer<double>           device_;
  std::vector<MPI_Request> requests_;
  DirectMessages           direct_;
  size_t                   direct_node_ = 0; // bytes of a node in one of them
};

} // namespace tessera
