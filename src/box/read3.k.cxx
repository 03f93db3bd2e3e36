#include "box/cube.hpp"
#include "box/read3.hpp"
#include "box/symmetric3.hpp"

namespace tessera::box {

namespace {

constexpr int power3(int d) { return d == 1 ? 3 : d == 2 ? 9 : 27; }

// Places in the cube of 3^D of a star's nodes, in their order.
template <int D> HD constexpr int star_place(int k)
{
  constexpr int places[3][7] = {{0, 1, 2}, {1, 3, 4, 5, 7}, {4, 10, 12, 13, 14, 16, 22}};
  return places[D - 1][k];
}

// On the host a function of its own, so that what reads ordered rows is short enough for the loop over them.
#if defined(__GNUC__) && !defined(__CUDA_ARCH__)
  #define READ_ANY __attribute__((noinline))
#else
  #define READ_ANY
#endif

// A row: 12 B per entry with 32-bit indices, 4 B for the row's end; 8 B a coefficient and a flag are written.
template <int D, bool Box, class T> struct ReadRow {
  RowsOf A;
  Box3          own; // in the matrix's directions, as n and periodic
  int           n[3];
  bool          periodic[3];
  int           axes[3]; // the matrix's direction of each of the layout's
  Layout3       layout;
  T            *coefficients;
  uint8_t      *free;
  static constexpr int count = power3(D), middle = count / 2, star = 2 * D + 1;
  // of a star's and of a box's columns in order: distance in the numbers of rows, and where their planes begin; -1
  // where there is none
  Index     star_offset[star], box_offset[count];
  ptrdiff_t star_plane[star], box_plane[count];

  HD static constexpr int direction(int c, int d) // from the node to place c of the cube
  {
    return d == 0 ? c % 3 - 1 : d >= D ? 0 : d == 1 ? c / 3 % 3 - 1 : c / 9 - 1;
  }
  int plane_at(int c) const
  {
    return plane_of<D, Box>(direction(c, axes[0]), direction(c, axes[1]), direction(c, axes[2]));
  }
  // Of the layout's direction d. An index that is computed would keep the node in memory.
  HD int index(const int (&node)[3], int d) const
  {
    return axes[d] == 0 ? node[0] : axes[d] == 1 ? node[1] : node[2];
  }
  HD static constexpr bool oblique(int c)
  {
    return (direction(c, 0) != 0) + (direction(c, 1) != 0) + (direction(c, 2) != 0) > 1;
  }
  HD static void add(double (&v)[count], int k, double a, bool &good)
  {
    good = good && (k >= 0 || a == 0) && a * 0 == 0;
#ifdef __CUDA_ARCH__
    for (int c = 0; c < count; ++c) v[c] += c == k ? a : 0; // no address that is computed: v stays in registers
#else
    if (k >= 0) v[k] += a;
#endif
  }
  // A row whose columns are a star's nodes, or with Full a box's, in their order, as a DMDA's matrix has them: nothing
  // is looked for. Inside: it has all of them; else those in the process's box, mine[d][side + 1]. False where it is
  // another one, or wrong.
  template <bool Full, bool Inside>
  HD bool read_ordered(Index r, Index begin, const bool (&mine)[3][3], ptrdiff_t at, ReadSums &sums) const
  {
    constexpr int       N       = Full ? count : star;
    const Index *const  columns = A.j + begin, *const offset = Full ? box_offset : star_offset;
    T *const            to      = coefficients + at;
    bool                same = true, coupled = false, corner = false;
    double              all[N], check = 0;
    const double       *v = A.a + begin;
    if constexpr (Inside)
      for (int k = 0; k < N; ++k) same = same & (columns[k] == r + offset[k]);
    else {
      int e = 0;
      unroll3<0, N>([&](auto number) {
        constexpr int k = decltype(number)::value, c = Full ? k : star_place<D>(k);
        all[k] = 0;
        if (!mine[0][direction(c, 0) + 1] || !mine[1][direction(c, 1) + 1] || !mine[2][direction(c, 2) + 1]) return;
        all[k] = v[e];
        same   = same & (columns[e] == r + offset[k]);
        ++e;
      });
      v = all;
    }
    for (int k = 0; k < N; ++k) {
      check += v[k] * 0;
      coupled = coupled | (k != N / 2 && v[k] != 0);
      if (Full && !Box) corner = corner | (oblique(k) && v[k] != 0);
    }
    if (!same || check != 0 || !(v[N / 2] > 0)) return false;
    if (Full && Box)
      for (int k = 0; k < N; ++k) to[box_plane[k]] = (T)v[k];
    else {
      if (Box)
        for (int c = 0; c < count; ++c) to[box_plane[c]] = 0;
      for (int k = 0; k < star; ++k) to[star_plane[k]] = (T)v[Full ? star_place<D>(k) : k];
    }
    free[at] = coupled;
    sums.dirichlet += !coupled;
    if (corner) sums.box = 1;
    return true;
  }
  HD void operator()(int i, int line, ReadSums &sums) const
  {
    const int       ni = own.hi[0] - own.lo[0], nj = own.hi[1] - own.lo[1], y = line % nj, z = line / nj;
    const int       node[3] = {own.lo[0] + i, own.lo[1] + y, own.lo[2] + z};
    const Index     r  = i + (Index)ni * line;
    const ptrdiff_t at = layout.at(index(node, 0), index(node, 1), index(node, 2));
    const bool      mine[3][3] = {
      {i > 0,          true, i < ni - 1                                  },
      {D < 2 || y > 0, true, D < 2 || y < nj - 1                         },
      {D < 3 || z > 0, true, D < 3 || z < own.hi[2] - own.lo[2] - 1}
    };
    if (!A.oi || A.oi[r] == A.oi[r + 1]) {
      const Index begin = A.i[r], length = A.i[r + 1] - begin;
      int         near = 1, all = 1; // columns of a star and of a box in the process's box
      for (int d = 0; d < D; ++d) {
        near += mine[d][0] + mine[d][2];
        all *= 1 + mine[d][0] + mine[d][2];
      }
#ifndef __CUDA_ARCH__
      if (length == star && near == star && read_ordered<false, true>(r, begin, mine, at, sums)) return;
      if (D > 1 && length == count && all == count && read_ordered<true, true>(r, begin, mine, at, sums)) return;
#endif
      if (length == near && read_ordered<false, false>(r, begin, mine, at, sums)) return;
      if (D > 1 && length == all && read_ordered<true, false>(r, begin, mine, at, sums)) return;
    }
    read_any(r, node, at, sums);
  }
  READ_ANY HD void read_any(Index r, const int *node, ptrdiff_t at, ReadSums &sums) const
  {
    const int ni = own.hi[0] - own.lo[0], nj = own.hi[1] - own.lo[1];
    double    v[count];
    bool      good = true, coupled = false;
    for (int c = 0; c < count; ++c) v[c] = 0;
    for (Index e = A.i[r], end = A.i[r + 1]; e < end; ++e) {
      const int column = (int)A.j[e], up = column / ni,
                to[3] = {own.lo[0] + column % ni, own.lo[1] + (D > 1 ? up % nj : 0), own.lo[2] + (D > 2 ? up / nj : 0)};
      add(v, cube_of<D>(node, to, n, periodic), A.a[e], good);
    }
    if (A.oi)
      for (Index e = A.oi[r], last = A.oi[r + 1]; e < last; ++e) {
        const int *other = A.remote + 3 * (ptrdiff_t)A.oj[e], to[3] = {other[0], other[1], other[2]};
        add(v, cube_of<D>(node, to, n, periodic), A.o[e], good);
      }
    double others = 0;
    for (int c = 0; c < count; ++c) {
      if (c == middle || v[c] == 0) continue;
      others += fabs(v[c]);
      coupled = true;
      if (oblique(c)) sums.box = 1;
    }
    // Where a flux degenerates, as at the margin of ice, single rows have no positive diagonal entry, or no entries at
    // all. Sweeps need one, and while such a node is pressed against its bound any will do.
    const bool shift = !(v[middle] > 0) && good;
    if (shift) v[middle] = coupled ? others : v[middle] < 0 ? -v[middle] : 1;
    for (int c = 0; c < count; ++c) {
      if (box_plane[c] >= 0) coefficients[box_plane[c] + at] = (T)v[c];
    }
    free[at] = coupled;
    sums.dirichlet += !coupled;
    sums.shifted += shift && coupled;
    sums.single += shift && !coupled;
    sums.wrong += !good;
  }
};

} // namespace

template <class T> ReadSums read_rows(const Finest<T> &to, const RowsOf &A, bool middle)
{
  const Grid3     &g = *to.grid;
  Buffer<ReadSums> result(Extent{1, to.exec.space});
  ReadSums         sums;
  Box3             own; // as the matrix numbers nodes
  int              n[3];
  bool             periodic[3];
  for (int d = 0; d < 3; ++d) {
    const int a = g.axes[d];
    own.lo[a] = g.own.lo[d], own.hi[a] = g.own.hi[d], n[a] = g.n[d], periodic[a] = g.periodic[d];
  }
  const Index nx = own.hi[0] - own.lo[0], ny = own.hi[1] - own.lo[1];
  const int   lines = own.empty() ? 0 : (int)ny * (own.hi[2] - own.lo[2]);
  const Box   rows{0, (int)nx, middle ? lines / 2 : 0, middle && lines ? lines / 2 + 1 : lines};
  with_kind(to.dimension, to.box, [&](auto kind) {
    using K = decltype(kind);
    using Read = ReadRow<K::dimension, K::box, T>;
    Read read{
      A,
      own,
      {n[0],        n[1],        n[2]       },
      {periodic[0], periodic[1], periodic[2]},
      {g.axes[0],   g.axes[1],   g.axes[2]  },
      g.layout,
      to.a,
      to.free,
      {},
      {},
      {},
      {}
    };
    const ptrdiff_t plane = (ptrdiff_t)g.layout.size();
    for (int c = 0; c < Read::count; ++c) {
      read.box_offset[c] = Read::direction(c, 0) + nx * (Read::direction(c, 1) + ny * Read::direction(c, 2));
      read.box_plane[c]  = read.plane_at(c) < 0 ? -1 : read.plane_at(c) * plane;
    }
    for (int k = 0; k < Read::star; ++k) {
      const int c         = star_place<K::dimension>(k);
      read.star_offset[k] = read.box_offset[c];
      read.star_plane[k]  = read.box_plane[c];
    }
    forall_join(to.exec, rows, read, result.data());
  });
  copy(result.data(), result.space(), &sums, Space::host, 1);
  return sums;
}

template ReadSums read_rows(const Finest<double> &, const RowsOf &, bool);
template ReadSums read_rows(const Finest<float> &, const RowsOf &, bool);

} // namespace tessera::box
