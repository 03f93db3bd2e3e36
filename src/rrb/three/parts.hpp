// Parts of the finest grid that are very weakly coupled with the rest: caves with a closed coast, blocks of a large
// coefficient in a small one. A constant on such a part is nearly in the null space, and coarse grids cannot separate
// small parts that are neighbors. A correction by these constants before and after the cycle removes such errors. Its
// coarse operator is approximated by its diagonal, to which couplings among the parts, which are rare, are added by
// their absolute values, so that the correction stays below the inverse.
#pragma once
#include "exec/buffer.hpp"
#include "exec/comm.hpp"
#include "exec/exec.hpp"
#include <vector>

namespace tessera::rrb::three {

template <class T> struct Level;

// The nodes of each label, and sums over them.
class Groups {
public:
  // The own nodes whose label is from 1 to `count`; labels[place].
  template <class T> void list(const Level<T> &l, const Buffer<int> &labels, int count);
  int                     count() const { return count_; }
  double                  size(int label) const { return sizes_[(size_t)label]; }
  size_t                  bytes() const;
  // value[label] = the sum of r, in an order that neither processors nor threads change
  template <class V> void sum(const Exec &exec, const V *r, double *value);

private:
  int                 count_ = 0;
  std::vector<double> sizes_;
  Buffer<int>         nodes_, pieces_, first_; // places; where pieces of them begin; the pieces of a label
  Buffer<double>      partial_;
};

class Parts {
public:
  // Finds the parts, and returns whether there may be others than before, or their lists elsewhere. loose: the number
  // of very weak couplings on all processes. Nothing is done if it is zero, or the same as in a search that found no
  // parts. lines: parts that are mainly coupled with each other, as lines of an anisotropic problem are, are left to
  // the coarsening. Collective.
  template <class T> bool setup(const Level<T> &l, const Comm &comm, double loose, bool lines);
  bool                    empty() const { return !count_; }
  int                     count() const { return count_; }
  size_t                  bytes() const;
  // v = the correction that is constant on each part and makes the sums of r over the parts zero, zero elsewhere;
  // again: v += the correction of the call before and that of the r which these have left. Collective.
  template <class T> void project(const Level<T> &l, const Comm &comm, const T *r, T *v, bool again);

private:
  int              count_ = 0;
  double           loose_ = 0; // at the last search
  // What stays for new values with the same pattern of strong couplings: components and their nodes, of a single one 0;
  // which part each is, 0 for none
  Buffer<uint16_t> strong_;
  Buffer<int>      component_;
  Groups           components_;
  std::vector<int> used_;
  Buffer<int>      label_;     // of the nodes that are smoothed: part from 1, 0 where there is none
  Groups           groups_;
  Buffer<double>   sum_, value_, inverse_;
};

// --- components.k.cxx ---
// pattern: of each own node, which couplings are strong. Is it another one than that of the call before? Collective.
template <class T> bool pattern_changes(const Level<T> &l, const Comm &comm, Buffer<uint16_t> &pattern);
// labels: of all places, the least number of the component of strong couplings that a node belongs to, from 1; 0 for
// single nodes. Returns the largest number. Collective.
template <class T> int find_components(const Level<T> &l, const Comm &comm, Buffer<int> &labels);

} // namespace tessera::rrb::three
