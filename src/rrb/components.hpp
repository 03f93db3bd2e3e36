// Components of S1's graph that nothing ties to a boundary: lakes with a closed coast. Constants on each of them are nearly in
// the null space, and coarse grids cannot tell neighbouring small lakes apart. A correction by these constants before and after
// the cycle takes them out; their coarse operator is diagonal, as components are not coupled.
#pragma once
#include "core/grid.hpp"
#include "core/halo.hpp"
#include <vector>

namespace tessera::rrb {

template <class T> struct SchurView;
struct Level;

class Components {
public:
  // Labels the components unless the kept labels still fit; row sums and the diagonal coarse operator. Collective.
  void   setup(Level &level, const SchurView<double> &a);
  void   clear() { *this = Components(); }
  bool   empty() const { return !count_; }
  int    count() const { return count_; }
  size_t bytes() const { return label_.bytes() + sum_.bytes(); }
  // value of each component := (its inverse coarse diagonal) times the sum of r - A z over it; z may be absent. Collective.
  template <class T> void project(const Level &level, const View<T> &r, const View<T> *z);
  // r := r - A v, z := z + v for the constants v of project().
  template <class T> void residual(const Level &level, const View<T> &r, const View<T> &out) const;
  template <class T> void correct(const Level &level, const View<T> &z) const;
  const std::vector<double> &values() const { return value_; }
  void add(const std::vector<double> &v) { for (size_t i = 0; i < v.size(); ++i) value_[i] += v[i]; }

private:
  bool fits(Level &level, const SchurView<double> &a);
  void find(Level &level, const SchurView<double> &a);
  template <class F> void nodes(const Level &level, const F &f) const;
  int                 count_ = 0; // components in use
  bool                known_ = false;
  Buffer<int>         label_;   // of o and c nodes, one plane after the other: 1 + component, 0 where there is none
  Buffer<double>      sum_;     // row sums of S1
  std::vector<double> inverse_, value_;
};

} // namespace tessera::rrb
