// Parts of the finest grid that next to nothing ties to the rest: caves with a closed coast, blocks of a large
// coefficient in a small one. Constants on each of them are nearly in the null space, and coarse grids cannot tell
// small ones side by side apart. A correction by these constants before and after the cycle takes them out. Their
// coarse operator is taken as diagonal; couplings among them, which are rare, count with their absolute value, so that
// the correction stays below the inverse.
#pragma once
#include "exec/buffer.hpp"
#include "exec/comm.hpp"
#include <vector>

namespace tessera::rrb::three {

template <class T> struct Level;

class Parts {
public:
  // Finds the parts. loose: how many couplings are next to nothing, in all; where there are none, or as many as when
  // there were no parts, nothing is done. lines: parts that are tied to each other before all, such as the lines of an
  // anisotropic problem, are the coarsening's. Collective; the host searches.
  template <class T> void setup(const Level<T> &l, const Comm &comm, double loose, bool lines);
  bool                    empty() const { return !count_; }
  int                     count() const { return count_; }
  size_t                  bytes() const;
  // v = the constants that take the sums of r over the parts out, zero elsewhere; or v += them. Collective.
  template <class T> void project(const Level<T> &l, const Comm &comm, const T *r, T *v, bool add);

private:
  template <class T> void list(const Level<T> &l, const std::vector<int> &label, const std::vector<double> &inverse);
  int                     count_ = 0;
  double                  loose_ = 0; // at the last search
  Buffer<int>             label_;     // of the nodes that are smoothed: part from 1, 0 where there is none
  Buffer<ptrdiff_t>       nodes_;     // their places, part by part
  Buffer<int>             pieces_, first_; // where pieces of nodes_ begin, and the pieces of a part
  Buffer<double>          partial_, value_, inverse_;
};

} // namespace tessera::rrb::three
