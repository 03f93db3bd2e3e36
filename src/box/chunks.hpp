// Loops over nodes in chunks, for kernels whose work at a node is a loop itself (lists of products, parents): the
// host's compiler makes vectors of the nodes of a chunk. And loops over the nodes of a colour.
#pragma once
#include "box/level.hpp"
#include "box/tuning.hpp"
#include "exec/chunk.hpp"

#if !defined(TESSERA_HAVE_CUDA) || defined(__CUDACC__)

namespace tessera::box {

// row(r, j, k) for the rows [first, last), on the host.
template <class Row> __attribute__((noinline)) void run_rows(const Rows &rows, int first, int last, const Row &row)
{
  const Row own = row; // a private copy: its members stay in registers
  const int end = rows.j0 + rows.dj * rows.nj;
  int       j, k;
  if (first >= last) return;
  rows.get(first, j, k);
  for (int r = first; r < last; ++r) {
    own(r, j, k);
    j += rows.dj;
    if (j == end) j = rows.j0, k += rows.dk;
  }
}
// The same for all rows, a piece for each thread.
template <class Row> void for_rows(const Exec &exec, const Rows &rows, const Row &row)
{
  const ptrdiff_t n = rows.count(), pieces = exec.threads > 1 ? exec.threads : 1;
  if (pieces == 1) return run_rows(rows, 0, (int)n, row);
  for_range(exec, 0, (int)pieces,
            [&](int t) { run_rows(rows, (int)(n * t / pieces), (int)(n * (t + 1) / pieces), row); });
}
// The sum of row(j, k), on the host: over the rows in their order, whatever the threads.
template <class Row> double sum_rows(const Exec &exec, const Rows &rows, const Row &row)
{
  static thread_local std::vector<double> sums;
  double                                  s = 0;
  sums.resize((size_t)rows.count());
  double *const to = sums.data();
  for_rows(exec, rows, [&row, to](int r, int j, int k) { to[r] = row(j, k); });
  for (double v : sums) s += v;
  return s;
}

// f(first, std::integral_constant<int, W>) for pieces of [begin, end) of W numbers, on the host.
template <class F> __attribute__((always_inline)) inline void in_chunks(int begin, int end, const F &f)
{
  int t = begin;
  for (; end - t >= chunk; t += chunk) f(t, std::integral_constant<int, chunk>());
  for (; end - t >= 4; t += 4) f(t, std::integral_constant<int, 4>());
  for (; t < end; ++t) f(t, std::integral_constant<int, 1>());
}
// The chunks of a half row, on the host.
template <int P, class Kernel>
TESSERA_ALONE void chunks_of_half_row(const Layout3 &l, const Box3 &b, int j, int k, const Kernel &kernel)
{
  const Kernel    own = kernel; // a private copy: its members stay in registers
  const ptrdiff_t o   = l.row(j, k);
  in_chunks(half_begin(b.lo[0], P), half_begin(b.hi[0], P),
            [&](int t, auto width) { own.template at<P, decltype(width)::value>(t, o + t, j, k); });
}

// A thread for each node of both half rows, or of one of them.
template <class Kernel> struct OnChunks {
  Layout3 layout;
  Rows    rows;
  int     first[2], end[2]; // of half rows
  Kernel  kernel;
  int     colour; // (i + j + k) % 2 of the nodes; -1: all
  template <int P> HD void run(int t, int j, int k) const
  {
    if (t < end[P]) kernel.template at<P, 1>(t, layout.row(j, k) + t, j, k);
  }
  HD void operator()(int c, int r) const
  {
    int       j, k;
    rows.get(r, j, k);
    const int even = end[0] - first[0], p = colour < 0 ? c >= even : (colour + j + k) & 1;
    if (colour < 0) c -= p * even;
    if (p) run<1>(first[1] + c, j, k);
    else run<0>(first[0] + c, j, k);
  }
};
// kernel.at<P, W>(t, o, j, k) at nodes (2 (t + v) + P, j, k), v < W, whose places are o + P * half + v.
template <class Kernel>
void for_chunks(const Exec &exec, const Layout3 &l, const Box3 &b, const Kernel &kernel, int colour = -1)
{
  if (b.empty()) return;
  const Rows rows = all_rows(b);
  if (chunk_of(exec) > 1)
    return for_rows(exec, rows, [&](int, int j, int k) {
      const int p = colour < 0 ? -1 : (colour + j + k) & 1;
      if (p != 1) chunks_of_half_row<0>(l, b, j, k, kernel);
      if (p != 0) chunks_of_half_row<1>(l, b, j, k, kernel);
    });
  const OnChunks<Kernel> on{
    l,
    rows,
    {half_begin(b.lo[0], 0), half_begin(b.lo[0], 1)},
    {half_begin(b.hi[0], 0), half_begin(b.hi[0], 1)},
    kernel,
    colour
  };
  const int even = on.end[0] - on.first[0], odd = on.end[1] - on.first[1];
  forall_on_device(exec, {0, colour < 0 ? even + odd : even > odd ? even : odd, 0, rows.count()}, on);
}

// kernel.nodes<1>(i, j, k), neighbouring threads at neighbouring nodes.
template <class Kernel> struct OnNodes {
  Rows    rows;
  Kernel  kernel;
  HD void operator()(int i, int r) const
  {
    int j, k;
    rows.get(r, j, k);
    kernel.template nodes<1>(i, j, k);
  }
};
// The chunks of a row, of nodes beside each other, on the host.
template <class Kernel> TESSERA_ALONE void chunks_of_row(const Box3 &b, int j, int k, const Kernel &kernel)
{
  const Kernel own = kernel;
  in_chunks(b.lo[0], b.hi[0], [&](int i, auto width) { own.template nodes<decltype(width)::value>(i, j, k); });
}
// For kernels that read finer rows: kernel.nodes<W>(i, j, k) at nodes i + v where Kernel::whole_rows, else
// for_chunks().
template <class Kernel> void for_chunks_along(const Exec &exec, const Layout3 &l, const Box3 &b, const Kernel &kernel)
{
  const Rows rows = all_rows(b);
  if (b.empty()) return;
  if (chunk_of(exec) == 1)
    return forall_on_device(exec, {b.lo[0], b.hi[0], 0, rows.count()}, OnNodes<Kernel>{rows, kernel});
  if constexpr (Kernel::whole_rows) for_rows(exec, rows, [&](int, int j, int k) { chunks_of_row(b, j, k, kernel); });
  else for_chunks(exec, l, b, kernel);
}

// The sum of kernel.at<P>(t, o, j, k) at the places [t0, t1) of a half row, on the host.
template <int P, class Kernel>
TESSERA_ALONE double sum_at_places(ptrdiff_t o, int j, int k, int t0, int t1, const Kernel &kernel)
{
  const Kernel own = kernel;
  double       sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int t = t0; t < t1; ++t) sum += own.template at<P>(t, o + t, j, k);
  return sum;
}

// The nodes with (i + j + k) % 2 == colour, one at a time: the kernel of for_nodes(), whose at() with SUMS gives a
// number.
template <class Kernel, bool SUMS> struct OnColour {
  using Result = std::conditional_t<SUMS, double, void>;
  Layout3 layout;
  Rows    rows;
  int     colour, lo, hi;
  Kernel  kernel;
  template <int P> HD Result run(int t, int j, int k) const
  {
    const int  i = 2 * t + P;
    const bool inside = i >= lo && i < hi;
    if constexpr (SUMS) return inside ? kernel.template at<P>(t, layout.row(j, k) + t, j, k) : 0;
    else if (inside) kernel.template at<P>(t, layout.row(j, k) + t, j, k);
  }
  HD Result operator()(int t, int r) const
  {
    int j, k;
    rows.get(r, j, k);
    if ((colour + j + k) & 1) return run<1>(t, j, k);
    return run<0>(t, j, k);
  }
};
// The nodes of a colour on the host, where a half row of them is a loop without a test; and the sum over them.
template <class Kernel>
void for_colour_on_host(const Exec &exec, const Layout3 &l, const Box3 &b, int colour, const Kernel &kernel)
{
  for_rows(exec, all_rows(b), [&](int, int j, int k) {
    if ((colour + j + k) & 1) half_row<1>(l, j, k, half_begin(b.lo[0], 1), half_begin(b.hi[0], 1), kernel);
    else half_row<0>(l, j, k, half_begin(b.lo[0], 0), half_begin(b.hi[0], 0), kernel);
  });
}
template <class Kernel>
double sum_colour_on_host(const Exec &exec, const Layout3 &l, const Box3 &b, int colour, const Kernel &kernel)
{
  if (b.empty()) return 0;
  return sum_rows(exec, all_rows(b), [&](int j, int k) {
    const ptrdiff_t o = l.row(j, k);
    const int       odd = (colour + j + k) & 1, t0 = half_begin(b.lo[0], odd), t1 = half_begin(b.hi[0], odd);
    return odd ? sum_at_places<1>(o, j, k, t0, t1, kernel) : sum_at_places<0>(o, j, k, t0, t1, kernel);
  });
}

// Nodes that a thread of a device takes at once, in 16 bytes: Kernel::width, if it says so. Then
// kernel.wide<P>(t, o, j, k, from, to) is its work for so many nodes (2 (t + v) + P, j, k), v < width, where o is a
// multiple of width. Those with from <= v < to are in the box; the others are ghosts, where it may write what is
// finite: whoever reads ghosts asks for them before, or has no coupling with them.
template <class Kernel, class = void> struct WidthOf {
  static constexpr int value = 1;
};
template <class Kernel> struct WidthOf<Kernel, std::void_t<decltype(Kernel::width)>> {
  static constexpr int value = Kernel::width;
};

// The nodes of a box or, with colour >= 0, those with (i + j + k) % 2 == colour, for a device. The warps of a block
// take turns with even and odd nodes, of rows beside each other in two layers: their threads do the same, and what
// neighbours read is in the cache.
template <class Kernel, bool SUMS> struct OnWide {
  static constexpr int width = WidthOf<Kernel>::value;
  using Result = std::conditional_t<SUMS, double, void>;
  Layout3 layout;
  Box3    b;
  int     colour;
  Kernel  kernel;
  int     first[2], groups[2]; // of each half row: t of the first group, and how many there are
  int     rows;                // half rows of a parity
  int     pieces, across;      // of the work, one for a block of threads, and how many of them beside each other

  OnWide(const Layout3 &l, const Box3 &box, int of_colour, const Kernel &k) :
    layout(l), b(box), colour(of_colour), kernel(k), rows((b.hi[2] - b.lo[2] + 1) / 2 * rows_of_layers())
  {
    constexpr ptrdiff_t each = device::warp * device::block_rows / 2; // of a parity in a block
    for (int p = 0; p < 2; ++p) {
      const int begin = half_begin(b.lo[0], p), end = half_begin(b.hi[0], p);
      first[p]  = begin - (begin - l.t0) % width;
      groups[p] = end > begin ? (end - first[p] + width - 1) / width : 0;
    }
    pieces = (int)(((ptrdiff_t)rows * (groups[0] > groups[1] ? groups[0] : groups[1]) + each - 1) / each);
    across = pieces < 8 ? pieces : 8;
  }
  // Half rows of a parity in two layers.
  HD int rows_of_layers() const { return 2 * (colour < 0 ? b.hi[1] - b.lo[1] : (b.hi[1] - b.lo[1] + 1) / 2); }
  // What threads are launched for; a thread's place is (x, y).
  Box items() const
  {
    return {0, across * device::warp, 0, (pieces + across - 1) / across * device::block_rows};
  }
  template <int P> HD Result run(unsigned item) const
  {
    if (item < (unsigned)rows * (unsigned)groups[P]) {
      const unsigned of_row = (unsigned)groups[P], of_layers = (unsigned)rows_of_layers(), row = item / of_row,
                     layers = row / of_layers, in = row - layers * of_layers;
      const int y = (int)(in / 2), k = b.lo[2] + (int)(2 * layers + in % 2),
                j = b.lo[1] + (colour < 0 ? y : 2 * y + ((colour + P + b.lo[1] + k) & 1)),
                t = first[P] + (int)(item - row * of_row) * width, from = half_begin(b.lo[0], P) - t,
                to = half_begin(b.hi[0], P) - t;
      if (j < b.hi[1] && k < b.hi[2]) return kernel.template wide<P>(t, layout.row(j, k) + t, j, k, from, to);
    }
    if constexpr (SUMS) return 0;
  }
  HD Result operator()(int x, int y) const
  {
    const unsigned piece = (unsigned)(y / device::block_rows * across + x / device::warp),
                   item  = (piece * (device::block_rows / 2) + (unsigned)(y % device::block_rows / 2)) * device::warp +
                          (unsigned)(x % device::warp);
    if (y & 1) return run<1>(item);
    return run<0>(item);
  }
};

// Is there enough to do for threads that take several nodes each?
inline bool is_wide(const Box3 &b) { return (double)b.size() >= tuning::wide_nodes; }

template <class Kernel>
void for_colour(const Exec &exec, const Layout3 &l, const Box3 &b, int colour, const Kernel &kernel)
{
  if (b.empty()) return;
  if (chunk_of(exec) > 1) return for_colour_on_host(exec, l, b, colour, kernel);
  const OnColour<Kernel, false> on{l, all_rows(b), colour, b.lo[0], b.hi[0], kernel};
  if constexpr (device::built && WidthOf<Kernel>::value > 1)
    if (is_wide(b)) {
      const OnWide<Kernel, false> wide(l, b, colour, kernel);
      return forall_on_device(exec, wide.items(), wide);
    }
  forall_on_device(exec, {floor_half(b.lo[0]), floor_half(b.hi[0] + 1), 0, on.rows.count()}, on);
}
// for_nodes(), for kernels that may take several nodes at once.
template <class Kernel> void for_nodes_wide(const Exec &exec, const Layout3 &l, const Box3 &b, const Kernel &kernel)
{
  if constexpr (device::built && WidthOf<Kernel>::value > 1)
    if (chunk_of(exec) == 1 && is_wide(b)) {
      const OnWide<Kernel, false> wide(l, b, -1, kernel);
      return forall_on_device(exec, wide.items(), wide);
    }
  for_nodes(exec, l, b, kernel);
}
// f(box, kernel) of the sum over the nodes of a colour, for a device.
template <class Kernel, class F> auto with_colour(const Layout3 &l, const Box3 &b, int colour, const Kernel &kernel,
                                                  const F &f)
{
  const Rows rows = all_rows(b);
  const Box  box  = b.empty() ? Box() : Box{floor_half(b.lo[0]), floor_half(b.hi[0] + 1), 0, rows.count()};
  if constexpr (WidthOf<Kernel>::value > 1)
    if (is_wide(b)) {
      const OnWide<Kernel, true> wide(l, b, colour, kernel);
      return f(wide.items(), wide);
    }
  return f(box, OnColour<Kernel, true>{l, rows, colour, b.lo[0], b.hi[0], kernel});
}
template <class Kernel>
double sum_colour(const Exec &exec, const Layout3 &l, const Box3 &b, int colour, const Kernel &kernel)
{
  if constexpr (device::built)
    if (chunk_of(exec) == 1)
      return with_colour(l, b, colour, kernel,
                         [&](const Box &box, const auto &there) { return forall_sum(exec, box, there); });
  return sum_colour_on_host(exec, l, b, colour, kernel);
}
// The sum stays where the kernel runs.
template <class Kernel>
void sum_colour(const Exec &exec, const Layout3 &l, const Box3 &b, int colour, const Kernel &kernel, double *sum)
{
  if constexpr (device::built)
    if (chunk_of(exec) == 1)
      return with_colour(l, b, colour, kernel, [&](const Box &box, const auto &there) {
        forall_sum_on_device(exec, box, there, sum, false);
      });
  *sum = sum_colour_on_host(exec, l, b, colour, kernel);
}

} // namespace tessera::box

#endif
