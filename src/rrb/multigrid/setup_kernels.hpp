// Kernels of the setup of the Galerkin form: S1, and whether parts of it may hang loose.
#pragma once
#include "box/weights.hpp"
#include "rrb/cg/schur_kernels.hpp"
#include <climits>
#include <type_traits>

namespace tessera::rrb {

template <class X, class Y> struct InverseKernel {
  const X  *c;
  Y        *d;
  ptrdiff_t sx, sy;
  HD void   operator()(int i, int j) const
  {
    const ptrdiff_t p = i * sx + j * sy;
    d[p]              = (Y)(c[p] > 0 ? 1 / c[p] : 0);
  }
};

// Is any coupling between two nodes of the grid next to nothing? Then parts of it may hang loose.
template <int Q, int S> struct GapKernel {
  StencilView<double> A;
  int                 nx, ny; // INT_MAX: periodic
  template <int K> HD bool gap(ptrdiff_t p, double w) const
  {
    const double c = A.C.q[Q][p], d = neighbour<Q, K, S>(A.C, p, A.C.sy);
    return !(fabs(w) > tuning::loose_coupling * (c > d ? c : d));
  }
  HD double operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * A.C.sy;
    const int       x = 2 * X + (Q & 1), y = 2 * Y + (Q >> 1);
    const bool      has[4] = {x > 0 || nx == INT_MAX, x + 1 < nx, y > 0 || ny == INT_MAX, y + 1 < ny};
    return (has[0] && gap<3>(p, A.E[0].q[Q][p])) || (has[1] && gap<5>(p, A.E[1].q[Q][p])) ||
           (has[2] && gap<1>(p, A.E[2].q[Q][p])) || (has[3] && gap<7>(p, A.E[3].q[Q][p]));
  }
};

template <int Q, int S> struct GapWatched {
  GapKernel<Q, S> gap;
  int            *loose;
  HD void         operator()(int X, int Y) const
  {
    if (gap(X, Y) != 0) count_one(loose);
  }
};

// S1 in one pass on the device: cell by cell, in double precision and in the hierarchy's, with its inverse diagonal
// and what the host asks for later. 24 B per node are read, 20 and 12 are written.
template <int S, class T> struct SchurCell {
  StencilView<double> A;
  double              tiny;
  SchurView<double>   to;
  SchurView<T>        single; // of a hierarchy in single precision
  T                  *inverse_o, *inverse_c;
  int                 nx, ny, *loose; // as GapKernel, GapWatched
  FirstBad            bad;
  Box                 own[4];
  HD void             operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * A.C.sy;
    if (own[0].contains(X, Y)) {
      const SetupO<false> o{tiny, A.C, {A.E[0], A.E[1], A.E[2], A.E[3]}, to};
      const auto          v = o.make(X, Y);
      o.store(v, to, p);
      bad.check(v.c, 0, X, Y);
      if constexpr (std::is_same_v<T, float>) o.store(v, single, p), inverse_o[p] = (T)(v.c > 0 ? 1 / v.c : 0);
    }
    if (own[3].contains(X, Y)) {
      const SetupC<false> c{tiny, A.C, {A.E[0], A.E[1], A.E[2], A.E[3]}, to};
      const auto          v = c.make(X, Y);
      c.store(v, to, p);
      bad.check(v.c, 3, X, Y);
      if constexpr (std::is_same_v<T, float>) c.store(v, single, p), inverse_c[p] = (T)(v.c > 0 ? 1 / v.c : 0);
    }
    if (own[1].contains(X, Y)) GapWatched<1, S>{{A, nx, ny}, loose}(X, Y);
    if (own[2].contains(X, Y)) GapWatched<2, S>{{A, nx, ny}, loose}(X, Y);
  }
};

// The same with the weights of a and b and which c nodes have couplings, which read the same. Four blocks at a time:
// each waits for memory.
template <int S, class T> struct SchurAndEdges {
  static constexpr int blocks = 4;
  SchurCell<S, T>      cell;
  EdgeParts<S>         edges;
  HD void              operator()(int X, int Y) const
  {
    auto run = [&](const auto &part) {
      if (part.box.contains(X, Y)) part.kernel(X, Y);
    };
    cell(X, Y), run(edges.a), run(edges.b), run(edges.c);
  }
};

} // namespace tessera::rrb
