// A grid of one to three dimensions, its nodes in memory, and loops over them.
//
// Rows run along i. Of each row the even nodes stand first, then the odd ones: a colour of a row, and so every access
// of a Gauss-Seidel sweep, of a residual and of a coarse node's stencil, is of unit stride on the host and on the
// device.
#pragma once
#include "exec/buffer.hpp"
#include "exec/exec.hpp"
#include "exec/tile.hpp"
#include "box/grid.hpp"
#include <cstdint>
#include <mpi.h>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::box {

// Half-open box of nodes; directions that the grid does not have are [0, 1).
struct Box3 {
  int       lo[3] = {0, 0, 0}, hi[3] = {1, 1, 1};
  bool      empty() const { return hi[0] <= lo[0] || hi[1] <= lo[1] || hi[2] <= lo[2]; }
  ptrdiff_t size() const { return empty() ? 0 : (ptrdiff_t)(hi[0] - lo[0]) * (hi[1] - lo[1]) * (hi[2] - lo[2]); }
};

constexpr int ghosts = 2; // layers of foreign nodes around the own ones, each of one node, unlike Grid::layers

// Places of nodes in memory: the own ones and the ghosts.
struct Layout3 {
  // first stored index/2, row and layer; nodes of a parity in a row, rows, layers
  int       t0 = 0, j0 = 0, k0 = 0, half = 0, mj = 1, mk = 1;
  ptrdiff_t sj = 0, sk = 0;                                    // from row to row, from layer to layer
  HD ptrdiff_t row(int j, int k) const { return (j - j0) * sj + (k - k0) * sk - t0; } // + i/2, + half for odd i
  HD ptrdiff_t at(int i, int j, int k) const { return row(j, k) + (i & 1) * half + floor_half(i); }
  size_t       size() const { return (size_t)(sk * mk); }
};

// Every dj-th row of every dk-th layer.
struct Rows {
  int     j0 = 0, dj = 1, nj = 1, k0 = 0, dk = 1, nk = 1;
  int     count() const { return nj > 0 && nk > 0 ? nj * nk : 0; }
  HD void get(int r, int &j, int &k) const
  {
    k = k0 + dk * (r / nj);
    j = j0 + dj * (r % nj);
  }
};

// kernel.at<P>(t, o, j, k) at node (2 t + P, j, k), whose place is o + P * half.
template <class Kernel, int P> struct OnHalf {
  Layout3 layout;
  Rows    rows;
  Kernel  kernel;
  HD void operator()(int t, int r) const
  {
    int j, k;
    rows.get(r, j, k);
    kernel.template at<P>(t, layout.row(j, k) + t, j, k);
  }
};

inline Rows all_rows(const Box3 &b) { return {b.lo[1], 1, b.hi[1] - b.lo[1], b.lo[2], 1, b.hi[2] - b.lo[2]}; }

// The place, beside o, of the node dx further along the row.
HD constexpr ptrdiff_t beside(int parity, int dx, int half)
{
  return ((parity + dx) & 1) * (ptrdiff_t)half + ((parity + dx) >> 1);
}
template <int P, int DX> HD inline ptrdiff_t beside(int half) { return beside(P, DX, half); }

// Of each half row of an operator a stretch of nodes that have equal rows: the host's kernels have a form for these, a
// device's read the operator at the first of them.
struct Stretches {
  const int *ends = nullptr; // of each half row the first t and the one behind the last; nullptr: nothing is known
  int        j0 = 0, k0 = 0, mj = 1; // of the layout
  HD ptrdiff_t at(int parity, int j, int k) const
  {
    return 2 * (2 * ((j - j0) + (ptrdiff_t)mj * (k - k0)) + parity);
  }
  // A place with the same row as that of node (2 t + parity, j, k), whose place is e. N: as many multiples away, with
  // the same rows as the N nodes from there on.
  template <int N = 1> HD ptrdiff_t source(int parity, int t, int j, int k, ptrdiff_t e) const
  {
#if defined(__CUDA_ARCH__) || defined(TESSERA_EMULATE_DEVICE)
    if (!ends) return e;
    const int *const stretch = ends + at(parity, j, k), from = stretch[0];
    return t >= from && t + N <= stretch[1] ? e - (t - from) / N * N : e;
#else
    return (void)parity, (void)t, (void)j, (void)k, e;
#endif
  }
};

#if !defined(TESSERA_HAVE_CUDA) || defined(__CUDACC__)

// Has the kernel a form for nodes that have equal rows?
template <class Kernel, class = void> struct KnowsSame : std::false_type { };
template <class Kernel>
struct KnowsSame<Kernel, std::void_t<decltype(std::declval<const Kernel &>().at_same(ptrdiff_t()))>> :
  std::true_type { };

  #ifdef __GNUC__
    #define TESSERA_ALONE \
      __attribute__((noinline, flatten)) // a function for each kernel and parity, with all of the kernel in it
  #else
    #define TESSERA_ALONE
  #endif

// The kernel at the places [t0, t1) of a half row, on the host.
template <int P, class Kernel>
TESSERA_ALONE void at_places(ptrdiff_t o, int j, int k, int t0, int t1, const Kernel &kernel)
{
  const Kernel own = kernel; // a private copy: its members stay in registers
#pragma GCC ivdep
  for (int t = t0; t < t1; ++t) own.template at<P>(t, o + t, j, k);
}
template <int P, class Kernel, class R>
TESSERA_ALONE void at_places(ptrdiff_t o, int j, int k, int t0, int t1, const Kernel &kernel, R &result)
{
  const Kernel own = kernel;
  R            sum = result; // the kernel's writes might change one in memory
#pragma GCC ivdep
  for (int t = t0; t < t1; ++t) own.template at<P>(t, o + t, j, k, sum);
  result = sum;
}

// The same, where nodes have equal rows by the form that the kernel has for these.
template <int P, class Kernel, class... R>
void half_row(const Layout3 &l, int j, int k, int t0, int t1, const Kernel &kernel, R &...result)
{
  const ptrdiff_t o = l.row(j, k);
  if constexpr (KnowsSame<Kernel>::value)
    if (kernel.s.same.ends) {
      const int *same = kernel.s.same.ends + kernel.s.same.at(P, j, k);
      const int  from = same[0] > t0 ? same[0] : t0, to = same[1] < t1 ? same[1] : t1;
      if (from < to) {
        at_places<P>(o, j, k, t0, from, kernel, result...);
        at_places<P>(o, j, k, from, to, kernel.at_same(o + P * (ptrdiff_t)l.half + from), result...);
        return at_places<P>(o, j, k, to, t1, kernel, result...);
      }
    }
  at_places<P>(o, j, k, t0, t1, kernel, result...);
}

// kernel at every node of the box; nodes are independent. On the host row(j, k) does whole rows.
template <class Kernel, class Row>
void for_nodes(const Exec &exec, const Layout3 &l, const Box3 &b, const Kernel &kernel, const Row &row)
{
  if (b.empty()) return;
  const Rows rows = all_rows(b);
  const Box  even{half_begin(b.lo[0], 0), half_begin(b.hi[0], 0), 0, rows.count()},
    odd{half_begin(b.lo[0], 1), half_begin(b.hi[0], 1), 0, rows.count()};
  const auto at_row = [&](int r) {
    int j, k;
    rows.get(r, j, k);
    row(j, k);
  };
  forall_rows_or_parts(exec, 0, rows.count(), at_row, part(even, OnHalf<Kernel, 0>{l, rows, kernel}),
                       part(odd, OnHalf<Kernel, 1>{l, rows, kernel}));
}
// The two halves of a row follow each other while it is in the cache.
template <class Kernel> void for_nodes(const Exec &exec, const Layout3 &l, const Box3 &b, const Kernel &kernel)
{
  for_nodes(exec, l, b, kernel, [&](int j, int k) {
    half_row<0>(l, j, k, half_begin(b.lo[0], 0), half_begin(b.hi[0], 0), kernel);
    half_row<1>(l, j, k, half_begin(b.lo[0], 1), half_begin(b.hi[0], 1), kernel);
  });
}

// The kernel at the nodes of parity p of a set of rows.
template <class Kernel>
void for_half(const Exec &exec, const Layout3 &l, const Box3 &b, int p, const Rows &rows, const Kernel &kernel)
{
  const Box box{half_begin(b.lo[0], p), half_begin(b.hi[0], p), 0, rows.count()};
  const auto row = [&](int r) {
    int j, k;
    rows.get(r, j, k);
    if (p) half_row<1>(l, j, k, box.x0, box.x1, kernel);
    else half_row<0>(l, j, k, box.x0, box.x1, kernel);
  };
  if (p) forall_rows_or_parts(exec, 0, rows.count(), row, part(box, OnHalf<Kernel, 1>{l, rows, kernel}));
  else forall_rows_or_parts(exec, 0, rows.count(), row, part(box, OnHalf<Kernel, 0>{l, rows, kernel}));
}

// A tile of rows and of places along them, of both parities: what they share is read once.
template <class Kernel> struct SumOnTile {
  Layout3 layout;
  Rows    rows;
  int     lo, hi; // of the nodes
  Kernel  kernel;
  template <class Block, class R> HD void operator()(Block &block, R &result) const
  {
    const Box &b = block.tile;
    const int  w = b.x1 - b.x0;
    block.each(0, 2 * w, b.y0, b.y1, [&](int c, int r) {
      const int odd = c >= w, t = b.x0 + c - odd * w;
      int       j, k;
      if (2 * t + odd < lo || 2 * t + odd >= hi) return;
      rows.get(r, j, k);
      if (odd) kernel.template at<1>(t, layout.row(j, k) + t, j, k, result);
      else kernel.template at<0>(t, layout.row(j, k) + t, j, k, result);
    });
  }
};

// result[0] and result[1], which are to be joined: what the kernel gathers at the nodes of the box, and on the host
// row(j, k, result) in whole rows. go_on: joined with what is in them, by parts of a whole, after begin_join(); a
// device does all nodes at once.
template <class R, class Kernel, class Row> void join_nodes(const Exec &exec, const Layout3 &l, const Box3 &b,
                                                            const Kernel &kernel, const Row &row, R *result, bool go_on)
{
  const Rows rows   = all_rows(b);
  const auto at_row = [&](int r, R *sums) {
    int j, k;
    rows.get(r, j, k);
    row(j, k, sums);
  };
  join_rows_or_tiles<2>(exec, {floor_half(b.lo[0]), floor_half(b.hi[0] + 1), 0, b.empty() ? 0 : rows.count()}, 32, 16,
                        SumOnTile<Kernel>{l, rows, b.lo[0], b.hi[0], kernel}, at_row, result, go_on);
}
// Both halves of a row while it is in the cache; the sums are those of forall_join().
template <class R, class Kernel>
void join_nodes(const Exec &exec, const Layout3 &l, const Box3 &b, const Kernel &kernel, R *result, bool go_on = false)
{
  const auto row = [&](int j, int k, R *sums) {
    half_row<0>(l, j, k, half_begin(b.lo[0], 0), half_begin(b.hi[0], 0), kernel, sums[0]);
    half_row<1>(l, j, k, half_begin(b.lo[0], 1), half_begin(b.hi[0], 1), kernel, sums[1]);
  };
  join_nodes(exec, l, b, kernel, row, result, go_on);
}

#endif

// Both results of join_nodes(), joined, on the host.
template <class R> R joined(const Buffer<R> &result)
{
  R both[2];
  copy(result.data(), result.space(), both, Space::host, 2);
  both[0].join(both[1]);
  return both[0];
}

// Adds up over processes what is nothing but doubles.
template <class R> R sum_over(MPI_Comm comm, R r)
{
  static_assert(std::is_trivially_copyable<R>::value && sizeof(R) % sizeof(double) == 0, "doubles alone");
  MPI_Allreduce(MPI_IN_PLACE, &r, (int)(sizeof(R) / sizeof(double)), MPI_DOUBLE, MPI_SUM, comm);
  return r;
}

} // namespace tessera::box
