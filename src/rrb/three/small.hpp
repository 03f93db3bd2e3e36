// The small grids of a cycle on a device: one block of threads does all that happens there, in steps that are worked
// out beforehand. Launching a kernel for each takes several times as long.
#pragma once
#include "multigrid/chebyshev.hpp"
#include "rrb/three/last.hpp"

namespace tessera::rrb::three {

template <class T> class Hierarchy;

enum class Work {
  begin,    // w = c D^-1 from
  first,    // as multigrid::First
  next,     // as multigrid::Next
  add,      // x = (add ? x : 0) + before z
  residual, // r = from - A z
  restrict, // to the next grid
  prolong,  // from the next grid
  solve     // on the last grid
};
template <class T> struct SmallStep {
  using Numbers = multigrid::Next<T, T, bool, bool, bool>;
  Work    work;
  int     level;
  Numbers of;
};

// What the steps know of a level, and of the next coarser one. Defined in small.k.cxx.
template <class T> struct SmallGrid;

template <class T> class SmallGrids {
public:
  SmallGrids();
  ~SmallGrids();
  // Works out the steps of a cycle from the first small level on: that level and all below it are small, and this
  // process has the whole of each. Does nothing where the version of grids, smoothers and cycle is still the same.
  void record(Hierarchy<T> &h, Cycle cycle, uint64_t version);
  int  first() const { return first_; } // 0: no grid is small
  void run(Level<T> &deepest, const LastGrid<T> &solver) const;
  size_t bytes() const;

private:
  static int           choose(Hierarchy<T> &h);
  int                  first_   = 0;
  uint64_t             version_ = 0;
  Buffer<SmallGrid<T>> grids_;
  Buffer<SmallStep<T>> steps_;
};

} // namespace tessera::rrb::three
