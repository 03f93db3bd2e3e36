// Rows of a matrix, where they lie, as the coefficients of the finest level.
#include "vipmg/stencil3.hpp"

namespace tessera::vipmg {

namespace {

constexpr int power3(int d) { return d == 1 ? 3 : d == 2 ? 9 : 27; }

// A thread reads a row: 12 B an entry with 32-bit indices, 4 B for the row's end; 8 B a coefficient and a flag are
// written.
template <int D, bool Box, class Index> struct ReadRow {
  RowsOf<Index> A;
  Box3          own;
  int           n[3];
  bool          periodic[3];
  Layout3       layout;
  ptrdiff_t     plane;
  double       *coefficients;
  uint8_t      *free;

  static constexpr int count = power3(D), middle = count / 2;
  HD void add(double (&v)[count], int k, double a, bool &good) const
  {
    good = good && (k >= 0 || a == 0) && a * 0 == 0;
    for (int c = 0; c < count; ++c) v[c] += c == k ? a : 0; // no address that is computed: v stays in registers
  }
  HD void operator()(int i, int line, ReadSums &sums) const
  {
    const int ni = own.hi[0] - own.lo[0], nj = own.hi[1] - own.lo[1];
    const int node[3] = {own.lo[0] + i, own.lo[1] + line % nj, own.lo[2] + line / nj};
    const Index r     = i + (Index)ni * line;
    double    v[count];
    bool      good = true, coupled = false;
    for (int c = 0; c < count; ++c) v[c] = 0;
    for (Index e = A.i[r], end = A.i[r + 1]; e < end; ++e) {
      const int column = (int)A.j[e], up = column / ni,
                to[3] = {own.lo[0] + column % ni, own.lo[1] + (D > 1 ? up % nj : 0), own.lo[2] + (D > 2 ? up / nj : 0)};
      add(v, cube_of<D>(node, to, n, periodic), A.a[e], good);
    }
    if (A.oi)
      for (Index e = A.oi[r], end = A.oi[r + 1]; e < end; ++e) {
        const int *at = A.remote + 3 * (ptrdiff_t)A.oj[e], to[3] = {at[0], at[1], at[2]};
        add(v, cube_of<D>(node, to, n, periodic), A.o[e], good);
      }
    const ptrdiff_t at = layout.at(node[0], node[1], node[2]);
    for (int c = 0; c < count; ++c) {
      const int dx = c % 3 - 1, dy = D > 1 ? c / 3 % 3 - 1 : 0, dz = D > 2 ? c / 9 - 1 : 0,
                p = plane_of<D, Box>(dx, dy, dz);
      if (p >= 0) coefficients[p * plane + at] = v[c];
      if (c == middle || v[c] == 0) continue;
      coupled = true;
      if ((dx != 0) + (dy != 0) + (dz != 0) > 1) sums.box = 1;
    }
    free[at] = coupled;
    sums.dirichlet += !coupled;
    sums.wrong += !(good && v[middle] > 0);
  }
};

} // namespace

template <class Index> ReadSums read_rows(Plan &plan, const RowsOf<Index> &A)
{
  Level           &l = plan.levels[0];
  Buffer<ReadSums> there;
  ReadSums         sums;
  there.resize(Extent{1, plan.exec.space});
  with_kind(plan.dimension, l.A.box, [&](auto kind) {
    using K = decltype(kind);
    const ReadRow<K::dimension, K::box, Index> read{
      A,
      l.own,
      {l.n[0],        l.n[1],        l.n[2]       },
      {l.periodic[0], l.periodic[1], l.periodic[2]},
      l.layout,
      (ptrdiff_t)l.layout.size(),
      l.A.a.data(),
      l.free.data()
    };
    forall_join(plan.exec, {0, l.own.hi[0] - l.own.lo[0], 0, (l.own.hi[1] - l.own.lo[1]) * (l.own.hi[2] - l.own.lo[2])},
                read, there.data());
  });
  device::copy_to_host(&sums, there.data(), sizeof sums);
  return sums;
}

template ReadSums read_rows(Plan &, const RowsOf<int32_t> &);
template ReadSums read_rows(Plan &, const RowsOf<int64_t> &);

} // namespace tessera::vipmg
