// Parts of S1's graph that next to nothing ties to the rest: lakes with a closed coast, islands of a large
// coefficient in a small one. Constants on each of them are nearly in the null space, and coarse grids cannot tell
// small ones side by side apart. A correction by these constants before and after the cycle takes them out. Their
// coarse operator is taken as diagonal; couplings among them, which are rare, count with their absolute value, so
// that the correction stays below the inverse.
#pragma once
#include "box/grid.hpp"
#include "box/halo.hpp"
#include <vector>

namespace tessera::rrb {

template <class T> struct SchurOf;
template <class T> struct SchurView;
struct Level;

class Components {
public:
  // Labels the components unless the kept labels still fit; row sums and the diagonal coarse operator. gaps: the
  // number of nodes with a loose coupling; where it has changed parts may have come loose. Collective; the host
  // waits.
  void   setup(const Exec &exec, Level &level, SchurOf<double> &schur, double gaps);
  void   clear() { *this = Components(); }
  bool   empty() const { return !count_; }
  int    count() const { return count_; }
  size_t bytes() const { return label_.bytes() + nodes_.bytes() + pieces_.bytes() + partial_.bytes(); }
  template <class F> void sizes(const F &f) const // f(number) for what launches of project() depend on
  {
    f((unsigned long long)count_);
    for (int r : rounds_) f((unsigned long long)r);
    for (const void *p :
         {(const void *)label_.data(), (const void *)nodes_.data(), (const void *)pieces_.data(),
          (const void *)partial_.data(), (const void *)inverse_device_.data(), (const void *)value_.data()})
      f((unsigned long long)(size_t)p);
  }
  // v := the constants that take the sums of r over the components out, zero elsewhere; or v := v + them. Collective.
  template <class T> void project(const Level &level, const View<T> &r, const View<T> &v, bool add);

private:
  bool fits(const Exec &exec, Level &level, const SchurView<double> &a);
  int  label(const Exec &exec, Level &level, const SchurView<double> &a);
  void find(const Exec &exec, Level &level, const SchurView<double> &a);
  void invert(const Level &level, const SchurView<double> &a);
  void list(const Level &level, int count);
  void drop_lists();
  template <class F> void nodes(const Level &level, const F &f) const;
  std::vector<double> sizes(const Level &level, int count);
  template <class Term> std::vector<double> sums(const Level &level, int count, const Term &term);
  template <class Term> double *sums_on_device(const Term &term);
  template <class T> void project_on_device(const Level &level, const View<T> &r, const View<T> &v, bool add);
  View<int> labels(const Level &level);
  int                 count_ = 0; // components in use
  bool                known_ = false;
  bool                listed_ = false; // sums go over lists of nodes, below
  double              gaps_  = 0;
  Buffer<int>         label_;   // of o and c nodes, one plane after the other: component from 1, 0 where there is none
  std::vector<double> inverse_;
  // On the device: the nodes sorted by component, where each one starts, and the pieces of its sums: the first round
  // adds nodes, the next ones what the round before gave, until each component has one value.
  Buffer<int>         nodes_, pieces_;
  std::vector<int>    starts_, rounds_; // where components and rounds begin
  Buffer<double>      partial_, inverse_device_, value_;
  std::vector<double> mine_;
};

} // namespace tessera::rrb
