// Values of nodes that other processes own: a vector is its own nodes' values and, behind them, those of the ghost
// nodes.
#pragma once
#include "exec/buffer.hpp"
#include "exec/comm.hpp"
#include "exec/exec.hpp"
#include <vector>

namespace tessera {

class Exchange {
public:
  Exchange() = default;
  // Ghost node g is node index[g] of process owner[g]. Collective.
  Exchange(const Exec &exec, const Comm &comm, int own, const std::vector<int> &owner, const std::vector<int> &index);
  // The own nodes have new numbers.
  void renumber(const Buffer<int> &number);
  // v[own..] = the values of their owners, `width` of each node.
  template <class T> void forward(T *v, int width);
  // v of own nodes += what the others have for them as ghosts, process after process.
  template <class T> void add_back(T *v, int width);
  // Messages' memory goes back until the next ones.
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
  Exec                     exec_;
  Comm                     comm_;
  int                      own_ = 0, ghosts_ = 0;
  std::vector<Peer>        peers_;
  Buffer<int>              list_, places_; // nodes to send; ghost nodes in the order they come in
  std::vector<char>        send_, receive_;
  Buffer<double>           device_;
  std::vector<MPI_Request> requests_;
};

} // namespace tessera
