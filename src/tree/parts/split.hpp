// What split.k.cxx and number_functions.k.cxx share: the nodes around vertices that have several functions.
#pragma once
#include "tree/parts/coupled.hpp"
#include "tree/setup.hpp"

namespace tessera::tree {

// f(c) for each bit c that is set
template <class F> HD inline void for_bits(unsigned bits, const F &f)
{
#ifdef __CUDA_ARCH__
  for (; bits; bits &= bits - 1) f(__ffs((int)bits) - 1);
#else
  for (; bits; bits &= bits - 1) f(__builtin_ctz(bits));
#endif
}

// The nodes, and what is coupled around the vertices of their leaves. Items are the corners of nodes, own ones first:
// corners * node + corner.
template <class T> struct Around {
  int        corners;
  const int *i, *j, *leaf, *vertex;
  Coupled<T> coupled;

  HD const int *vertices_of(int p) const { return vertex + (ptrdiff_t)corners * leaf[p]; }
  // f(c, d) for corners c of p and d of its neighbour, among those marked, at the same vertex; e: their entry
  template <class F> HD void for_same(int p, int e, unsigned of_p, const unsigned char *of_q, const F &f) const
  {
    const int q = j[e], k = leaf[q];
    if (k < 0 || q == p || !coupled(p, e, q)) return;
    const unsigned theirs = of_q[q];
    if (k == leaf[p]) return for_bits(of_p & theirs, [&](int c) { f(c, c); });
    const int *const mine = vertices_of(p), *const others = vertices_of(q);
    for_bits(of_p, [&](int c) {
      for_bits(theirs, [&](int d) {
        if (mine[c] == others[d]) f(c, d);
      });
    });
  }
};

// What there is around vertices: of own nodes, then ghosts, at each corner of their leaves.
template <class T> struct Setup<T>::Parts {
  Around<T>             at;
  bool                  whole, keep; // all nodes around a vertex are its core; all functions stay
  int                   points, all;
  const Key            *key; // of the nodes, the same for any processes; nullptr: their numbers
  // Corners, one bit each: where a node has a weight, is in the core, and where there must be a function because of it
  Buffer<unsigned char> weighs, core, needs;
  Buffer<int>           parent, label; // roots of components of cores, and labels of all components; 0: none
  Buffer<int>           several;       // of each vertex: are there several, or none?
  Buffer<int>           number;        // of the function
};

} // namespace tessera::tree
