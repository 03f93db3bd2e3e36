// The last grid of a hierarchy, which is solved exactly.
#pragma once
#include "exec/staging.hpp"
#include "multigrid/exact.hpp"
#include "rrb/three/three.hpp"

namespace tessera::rrb::three {

template <class T> class LastGrid {
public:
  void reset() { places_ = Buffer<ptrdiff_t>(); } // the next operator is on other nodes
  // The pseudo-inverse of the operator; where it is on a device and regular, the device makes it.
  typename multigrid::ExactSolver<T>::Result invert(const Level<T> &l, const Comm &comm);
  void solve(Level<T> &l, const Comm &comm); // l.x from l.b
  // of the nodes, in the order of the inverse's rows
  const Buffer<ptrdiff_t> &places() const { return places_; }
  const Buffer<T>         &inverse() const { return exact_.inverse; }
  size_t                   bytes() const;

private:
  void list_nodes(const Level<T> &l);
  bool invert_there(const Level<T> &l);
  multigrid::ExactSolver<T> exact_;
  Buffer<ptrdiff_t>         places_;
  Buffer<T>                 packed_[2];
  // The operator by rows: columns, the places of both nodes of an entry, and where an entry is among the planes.
  Buffer<int>               row_begin_, column_;
  Buffer<ptrdiff_t>         node_, beside_, from_;
  Buffer<T>                 entry_;
  Buffer<double>            norm2_;
};

} // namespace tessera::rrb::three
