// Blocks of strongly coupled unknowns, which the smoother solves exactly: the nodes of elements that are nearly flat,
// short lines across a boundary layer, vertices of coarse grids that nearly the same nodes use. There D, the diagonal,
// becomes B with these blocks. Unknowns belong together whose coupling is
//
//   |a_ij| > 0.4 sqrt(a_ii a_jj),
//
// strongest ones first, up to 16 of them; two that have only each other, below 0.6, need no block. What is coupled with
// such an unknown by more than 0.2 comes to them: where elements are flat, their neighbors are no good ones either. A
// good mesh has hardly any strong couplings; work is in proportion to those there are.
#pragma once
#include "tree/part_functions/part_functions.hpp"
#include "exec/clusters.hpp"
#include "exec/exchange.hpp"
#include <cmath>

namespace tessera::tree {

template <class T> struct Level;

constexpr int    max_strong_block = 16;
// Are two nodes tied so that they belong to the same pocket (pockets.k.cxx)?
constexpr double weakly_tied = 1e-2;
template <class T> HD inline bool tied(T entry, T inverse, T other, T weak = (T)weakly_tied)
{
  return fabs(entry) * (inverse < other ? inverse : other) > weak;
}
constexpr double strong_coupling = 0.4, very_strong_coupling = 0.6, coupling_beside = 0.2;

template <class T> struct StrongBlocks {
  bool        found = false;     // have been looked for
  bool        any   = false;     // on any process, or functions of parts
  PartFunctions<T> part_functions;
  // In which this process has unknowns: each process counts those that it shares with others, and those of a level that
  // is not distributed are all on every process.
  int         n     = 0;
  Buffer<int> begin, at;         // of each block, and the end: its members, and its entries row by row
  Buffer<int> member;            // unknowns of this process; -1 - k: the k-th one of others
  Buffer<int> row, block, place; // the unknowns of this process, of each its block and the place there
  Buffer<int> from;           // of each entry, where it is among the values of the operator; -1: zero or others have it
  Buffer<T>   extra;          // B^-1 - D^-1, column by column
  bool        turned = false; // the operator's transpose stands in its place
  // On several processes: unknowns that others need, and those of others behind them
  int         partners = 0;
  Buffer<int> needed, needed_row; // needed_row: where these are in row[]
  Buffer<T>   values;
  Exchange    exchange;
  // z and w times that to x += c (B^-1 - D^-1) r; z or x may be nullptr.
  template <class V> void add(const Level<T> &level, const V *r, T c, V *z, V *x, T w);
  // inverse: of a diagonal matrix that is D but for the blocks, where it is at least B; a: the level's values.
  void bound(const Level<T> &level, const T *a, T *inverse) const;
  // The same for those blocks alone that have unknowns which are marked: they are none any more.
  void leave_out(const Level<T> &level, const T *marked, const T *a, T *inverse);
  size_t                    bytes() const
  {
    return begin.bytes() + at.bytes() + member.bytes() + row.bytes() + block.bytes() + place.bytes() + from.bytes() +
           extra.bytes() + needed.bytes() + needed_row.bytes() + values.bytes() + exchange.bytes() +
           part_functions.bytes();
  }

private:
  template <class V> const V *fetch_partners(const Level<T> &level, const V *of);
};

// Strong couplings of unknowns of a level: the unknowns that have any, and of each coupling the places of both ends
// among them, as often as it is listed.
struct StrongCouplings {
  Buffer<int>   unknown;
  WeightedPairs pairs;
};
} // namespace tessera::tree
