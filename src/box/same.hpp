// Stretches of equal rows in the half rows of an operator (Stretches in box/level.hpp).
#pragma once
#include "box/level.hpp"

namespace tessera::box {

// What makes the rows of the two nodes at a place: for the even and for the odd one the arrays with its numbers.
template <class T> struct RowNumbers {
  static constexpr int maximum = 30;
  const T             *of[2][maximum];
  int                  count = 0;
  void add(const T *even, const T *odd) { of[0][count] = even, of[1][count++] = odd; }
};

// Fills `same`: of each half row of the nodes `own` the longest of the stretches about three places. Where numbers
// vary it ends at once. alike_before, where a device finds them: how many nodes have the row of the one before.
template <class T>
void find_stretches(const Exec &exec, const Layout3 &layout, const Box3 &own, const RowNumbers<T> &rows,
                    Buffer<int> &same, int *alike_before = nullptr);
// The stretches `out` from those of `same`: the longest parts of them without nodes that are cut, on a device of those
// about three places.
void find_uncut(const Exec &exec, const Layout3 &layout, const Box3 &own, const Buffer<int> &same, const uint8_t *cut,
                Buffer<int> &out);

inline Stretches stretches(const Layout3 &l, const Buffer<int> &same)
{
  return {same.size() ? same.data() : nullptr, l.j0, l.k0, l.mj};
}

} // namespace tessera::box
