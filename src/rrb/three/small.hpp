// The small grids of a cycle on a device: the cycle from the first of them down is a matrix. A setup makes it by the
// cycles of all unit vectors, each by one block of threads, in steps that are worked out beforehand.
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
  // From the first small level on all are small, and this process has the whole of each. Does nothing where the version
  // of grids, smoothers and cycle and that of the operators' values are still the same.
  void   setup(Hierarchy<T> &h, const LastGrid<T> &solver, Cycle cycle, uint64_t version, uint64_t values);
  int    first() const { return first_; } // 0: no grid is small
  void   solve(Level<T> &first) const;    // x = M b
  size_t bytes() const;

private:
  static int           choose(Hierarchy<T> &h);
  void                 record(Hierarchy<T> &h, Cycle cycle);
  void                 make_matrix(Hierarchy<T> &h, const LastGrid<T> &solver);
  int                  first_   = 0;
  uint64_t             version_ = 0, values_ = 0;
  Buffer<SmallGrid<T>> grids_;
  Buffer<SmallStep<T>> steps_;
  std::vector<T>       recorded_; // whose addresses the steps have for those of a block's vectors
  Buffer<ptrdiff_t>    places_;   // of the first small grid's nodes
  Buffer<T>            matrix_;
};

} // namespace tessera::rrb::three
