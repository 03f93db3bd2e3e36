// Kernels that march: a warp takes a strip of columns and goes through it row by row. What several sweeps need of the
// last rows stays in registers and neighbours in a row come by shuffles, so nothing waits at a barrier and every
// value is read once. A strip overlaps the next ones by as many columns as the sweeps reach, a chunk of rows
// likewise.
//
// Such a kernel is a struct with
//   blocks
//       blocks of four warps that shall fit a multiprocessor: bounds the registers,
//   struct Row
//       what it reads at one row: Cells alone,
//   MARCH void read(A &access, Row &row, int y) const
//       where that is: access(row.a, pointer to the row), access.nodes(...), access.kept(...) of what no kernel of a
//       cycle writes,
//   MARCH double operator()(Warp w, const March &m, int strip, int chunk) const
//       the work, by for_rows; returns a lane's part of a sum,
//   MARCH void finish(double sum) const
//       called by one thread at the end, where the sum is asked for.
// Where a grid has too few rows for that to pay, a warp can take one row instead, and a block as many neighbouring
// rows as it has warps: all is read at once, what is kept while the kernel before still runs, and what comes from the
// row before goes through shared memory. For both ways the kernel has instead
//   value, reach, exchanged, whole()
//       type of its values, rows and columns that it reaches, values of a lane that rows hand on, what can be read
//   template <class B> MARCH void row(strip, B &before, const Row &, int y, int y0, int y1) const
//       the work for a row, results in [y0, y1); before.take<I>(a, b, ...): each becomes what it was one row before; I,
//       I + 1, ...: their places.
// (Rows fetched further ahead through shared memory by asynchronous copies took 12 % longer on an H200.)
#pragma once
#include "exec/dependent.hpp"
#include "exec/exec.hpp"
#include "box/grid.hpp"
#include "exec/peers.hpp"
#include "box/lanes.hpp"
#include "box/tuning.hpp"

#if defined(TESSERA_HAVE_DEVICE) && (!defined(TESSERA_HAVE_CUDA) || defined(__CUDACC__))

namespace tessera {

MARCH int clamp(int x, int lo, int hi) { return x < lo ? lo : x > hi ? hi : x; }

// The nodes of one process alone: none of a cell's comes before the first one. Comparisons that are not made save
// registers.
struct Until {
  int x1, y1;
};
MARCH bool has_column(const Box &b, int x) { return x >= b.x0 && x < b.x1; }
MARCH bool has_column(const Until &b, int x) { return x < b.x1; }
MARCH bool has_row(const Box &b, int y) { return y >= b.y0 && y < b.y1; }
MARCH bool has_row(const Until &b, int y) { return y < b.y1; }

// The columns of a strip, N a lane from x on. Loads outside of what is stored give the outermost column, or row,
// which is a ghost one and zero, or finite where no coupling leads to it.
template <int N> struct Strip {
  Warp w;
  int  x;        // of lane 0
  int  lo, hi;   // columns that can be read, [lo, hi)
  int  from, to; // where results are stored
  MARCH int column(int lane) const
  {
    return clamp(x + N * lane, N == 2 ? lo & ~1 : lo, N == 2 ? (hi - 1) & ~1 : hi - 1);
  }
  template <class T> MARCH Cells<N, T> load(const T *row) const // row: at column 0
  {
    Cells<N, T> r;
#ifdef __CUDACC__
    if constexpr (N == 2) {
      struct alignas(2 * sizeof(T)) Two {
        T a, b;
      };
      const Two t = *reinterpret_cast<const Two *>(row + column(w.lane));
      r.v[0]      = t.a;
      r.v[1]      = t.b;
    } else r.v[0] = row[column(w.lane)];
#else
    for (int i = 0; i < N; ++i) r.v[i] = lanewise<T>([&](int l) { return row[column(l) + i]; });
#endif
    return r;
  }
  // the columns of the box alone
  template <class T, class B> MARCH void store(T *row, const Cells<N, T> &a, const B &box) const
  {
#ifdef __CUDACC__
    if constexpr (N == 2) {
      const int X = x + N * w.lane;
      if (X >= from && X + 1 < to && has_column(box, X) && has_column(box, X + 1)) {
        struct alignas(2 * sizeof(T)) Two {
          T a, b;
        };
        *reinterpret_cast<Two *>(row + X) = Two{a.v[0], a.v[1]};
        return;
      }
    }
#endif
    for_lanes(w, [&](int l) {
      for (int i = 0; i < N; ++i) {
        const int X = x + N * l + i;
        if (X >= from && X < to && has_column(box, X)) row[X] = of(a.v[i], l);
      }
    });
  }
  // The sum of a over these columns.
  template <class T, class B> MARCH double sum(const Cells<N, T> &a, const B &box) const
  {
    double s = 0;
    for_lanes(w, [&](int l) {
      for (int i = 0; i < N; ++i) {
        const int X = x + N * l + i;
        if (X >= from && X < to && has_column(box, X)) s += (double)of(a.v[i], l);
      }
    });
    return s;
  }
  // Between the cells of a grid and the quarters of a coarser one, whose node (X, Y) is element (X/2, Y/2) of quarter
  // X%2 + 2 (Y%2); stored: the nodes that can be read.
  template <class T> MARCH Cells<N, T> load_nodes(const View<T> &v, int Y, const Box &stored) const
  {
    Cells<N, T> r;
    Y = clamp(Y, stored.y0, stored.y1 - 1);
    for (int i = 0; i < N; ++i)
      r.v[i] = each<T>(w, [&](int l) -> T {
        const int X = clamp(x + N * l + i, stored.x0, stored.x1 - 1);
        return v.q[(X & 1) + 2 * (Y & 1)][(X >> 1) * v.sx + (Y >> 1) * v.sy];
      });
    return r;
  }
  template <class T, class B> MARCH void store_nodes(const View<T> &v, int Y, const Cells<N, T> &a, const B &box) const
  {
    for_lanes(w, [&](int l) {
      for (int i = 0; i < N; ++i) {
        const int X = x + N * l + i;
        if (X >= from && X < to && has_column(box, X))
          v.q[(X & 1) + 2 * (Y & 1)][(X >> 1) * v.sx + (Y >> 1) * v.sy] = of(a.v[i], l);
      }
    });
  }
};

// How a box is cut: strips of `columns` columns, chunks of `rows` rows.
struct March {
  Box box;
  int columns, rows;
  HD int strips() const { return (box.x1 - box.x0 + columns - 1) / columns; }
  HD int chunks() const { return (box.y1 - box.y0 + rows - 1) / rows; }
  HD int first(int chunk) const { return box.y0 + chunk * rows; }
  HD int end(int chunk) const { return first(chunk + 1) < box.y1 ? first(chunk + 1) : box.y1; }
  // reach: columns that the sweeps need on each side; whole: what can be read
  template <int N> MARCH Strip<N> strip(Warp w, int number, int reach, const Box &whole) const
  {
    const int from = box.x0 + number * columns;
    return {w, from - reach, whole.x0, whole.x1, from, from + columns};
  }
};

constexpr int block_warps = 4;

// Reads a row into registers.
template <int N> struct Take {
  const Strip<N> &s;
  template <class T> MARCH void operator()(Cells<N, T> &a, const T *row) { a = s.load(row); }
  template <class T> MARCH void kept(Cells<N, T> &a, const T *row) { a = s.load(row); }
  template <class T> MARCH void nodes(Cells<N, T> &a, const View<T> &v, int Y, const Box &stored)
  {
    a = s.load_nodes(v, Y, stored);
  }
};
// The same in two parts: what is kept, and what kernels write.
template <int N> struct TakeKept {
  const Strip<N> &s;
  template <class T> MARCH void operator()(Cells<N, T> &, const T *) { }
  template <class T> MARCH void kept(Cells<N, T> &a, const T *row) { a = s.load(row); }
  template <class T> MARCH void nodes(Cells<N, T> &, const View<T> &, int, const Box &) { }
};
template <int N> struct TakeWritten {
  const Strip<N> &s;
  template <class T> MARCH void operator()(Cells<N, T> &a, const T *row) { a = s.load(row); }
  template <class T> MARCH void kept(Cells<N, T> &, const T *) { }
  template <class T> MARCH void nodes(Cells<N, T> &a, const View<T> &v, int Y, const Box &stored)
  {
    a = s.load_nodes(v, Y, stored);
  }
};

template <class Kernel, int N> MARCH typename Kernel::Row take(const Kernel &k, const Strip<N> &s, int y)
{
  Take<N>              t{s};
  typename Kernel::Row row;
  k.read(t, row, y);
  return row;
}

// work(row, y) for the rows [first, end). The next row is on its way meanwhile.
template <class Kernel, int N, class F>
MARCH void for_rows(const Kernel &k, const Strip<N> &s, int first, int end, F &&work)
{
  typename Kernel::Row a = take(k, s, first), b;
  for (int y = first; y < end; ++y) {
    b = take(k, s, y + 1);
    work(a, y);
    a = b;
  }
}

// The same in pairs: even(row, y), odd(row, y + 1), to `end` or one more.
template <class Kernel, int N, class Even, class Odd>
MARCH void for_row_pairs(const Kernel &k, const Strip<N> &s, int first, int end, Even &&even, Odd &&odd)
{
  typename Kernel::Row a = take(k, s, first), b;
  for (int y = first; y < end; y += 2) {
    b = take(k, s, y + 1);
    even(a, y);
    a = take(k, s, y + 2);
    odd(b, y + 1);
  }
}

// What a marching warp had one row before.
template <int N, class C> struct Carried {
  C kept[N];
  template <int I, class... V> MARCH void take(V &...v)
  {
    int i = I;
    (exchange(kept[i++], v), ...);
  }
  MARCH static void exchange(C &a, C &b)
  {
    const C c = a;
    a = b, b = c;
  }
};

// The march of a kernel with row().
template <class Kernel> MARCH double march(const Kernel &k, Warp w, const March &m, int strip, int chunk)
{
  const Strip<1> s  = m.template strip<1>(w, strip, k.reach, k.whole());
  const int      y0 = m.first(chunk), y1 = m.end(chunk);
  Carried<Kernel::exchanged, Cells<1, typename Kernel::value>> before;
  for_rows(k, s, y0 - k.reach, y1 + k.reach,
           [&](const typename Kernel::Row &in, int y) { k.row(s, before, in, y, y0, y1); });
  return 0;
}

namespace device {
inline Blocks blocks_for(const March &m) { return {tiles(0, m.strips(), block_warps), m.chunks()}; }
} // namespace device

#ifdef __CUDACC__
namespace device {

// The sum over all blocks, in an order that does not depend on which ends last; true in the thread that has it.
__device__ inline bool grid_sum(double *s, double *parts, unsigned *ticket)
{
  __shared__ double part[32];
  __shared__ bool   last;
  const int         t = (int)threadIdx.x, n = (int)blockDim.x, blocks = (int)(gridDim.x * gridDim.y);
  auto              block = [&](double v) {
    for (int d = warp / 2; d; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (!(t % warp)) part[t / warp] = v;
    __syncthreads();
    v = 0;
    if (!t)
      for (int i = 0; i < n / warp; ++i) v += part[i];
    return v;
  };
  const double v = block(*s);
  if (!t) {
    parts[blockIdx.x + blockIdx.y * gridDim.x] = v;
    __threadfence();
    last = atomicAdd(ticket, 1u) == (unsigned)blocks - 1;
  }
  __syncthreads();
  if (!last) return false;
  double sum = 0;
  for (int i = t; i < blocks; i += n) sum += __ldcg(parts + i);
  __syncthreads();
  *s = block(sum);
  if (!t) *ticket = 0;
  return !t;
}

__device__ __noinline__ static double total_sum(const Total *total, double s) { return total ? (*total)(s) : s; }

template <bool SUM, class Kernel> __global__ void __launch_bounds__(lanes *block_warps, Kernel::blocks)
  run_warps(Kernel kernel, March m, double *parts, unsigned *ticket, const Total *total)
{
  // those beyond the last one have nothing to store
  const int strip = (int)blockIdx.x * block_warps + (int)threadIdx.x / lanes;
  double    s = kernel(Warp{(int)threadIdx.x % lanes}, m, strip, (int)blockIdx.y);
  if constexpr (SUM)
    if (grid_sum(&s, parts, ticket)) kernel.finish(total_sum(total, s));
}

// What the warp before has, if all warps of a block take neighbouring rows. The first one gets its own: it is there
// for the next ones.
template <class T, int ROWS> struct Before {
  T  *place; // of this lane
  int south; // from there to the warp before
  template <int I, class... V> __device__ void take(V &...v)
  {
    int i = I;
    ((place[lanes * ROWS * i++] = v.v[0]), ...);
    __syncthreads();
    i = I;
    ((v.v[0] = place[lanes * ROWS * i++ - south]), ...);
  }
};

template <int ROWS, class Kernel> __global__ void __launch_bounds__(lanes *ROWS) run_rows(Kernel k, March m)
{
  using T = typename Kernel::value;
  __shared__ T    memory[Kernel::exchanged * ROWS * lanes];
  const int       row = (int)threadIdx.x / lanes, y0 = m.first((int)blockIdx.y), y1 = m.end((int)blockIdx.y),
            y            = y0 - k.reach + row;
  const Strip<1>  s = m.template strip<1>(Warp{(int)threadIdx.x % lanes}, (int)blockIdx.x, k.reach, k.whole());
  Before<T, ROWS> before{memory + threadIdx.x, row ? lanes : 0};
  typename Kernel::Row in;
  TakeKept<1>     kept{s};
  TakeWritten<1>  written{s};
  k.read(kept, in, y);
  after_previous();
  k.read(written, in, y);
  __syncthreads(); // all loads are on their way before anything waits for one
  k.row(s, before, in, y, y0, y1);
}

template <class Kernel> __global__ void __launch_bounds__(256, 4)
  run_cells(Box box, Kernel kernel, double *parts, unsigned *ticket, const Total *total)
{
  double    s = 0;
  const int i = box.x0 + (int)(blockIdx.x * warp + threadIdx.x % warp);
  if (i < box.x1)
    for (int j = box.y0 + (int)(blockIdx.y * block_rows + threadIdx.x / warp); j < box.y1;
         j += (int)gridDim.y * block_rows)
      s += kernel(i, j);
  if (grid_sum(&s, parts, ticket)) kernel.finish(total_sum(total, s));
}

template <class Kernel> __global__ void __launch_bounds__(256)
  run_flat(size_t n, Kernel kernel, double *parts, unsigned *ticket, const Total *total)
{
  double s = 0;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    s += kernel(i);
  if (grid_sum(&s, parts, ticket)) kernel.finish(total_sum(total, s));
}
} // namespace device
#endif

// Memory of the sums: parts and a ticket, one at a time in the order of the stream. With `total` the sums are those
// of all processes.
struct Reduction {
  Buffer<double>   parts;
  Buffer<unsigned> ticket;
  const Total     *total = nullptr;
  void             create(size_t blocks)
  {
    if (parts.size() < blocks) parts.resize({blocks, Space::cuda});
    if (ticket.empty()) ticket.resize({1, Space::cuda});
  }
};

// Strips of so many columns, and as many chunks as the device takes at a time, so that all end together.
template <bool SUM, class Kernel> March cut(const Box &box, int columns)
{
  March m{box, columns, 0};
#ifdef __CUDACC__
  static const int fit = (int)device::resident((const void *)device::run_warps<SUM, Kernel>, lanes * block_warps);
#else
  const int fit = tuning::march_blocks;
#endif
  const int wide = (m.strips() + block_warps - 1) / block_warps, chunks = fit > wide ? fit / wide : 1;
  m.rows = (box.y1 - box.y0 + chunks - 1) / chunks;
  m.rows += m.rows % 2;
  return m;
}

// Runs the marching kernel on strips of `columns` columns.
template <class Kernel> void forall_warps(const Box &box, int columns, const Kernel &kernel)
{
  if (box.empty()) return;
  const March m = cut<false, Kernel>(box, columns);
#ifdef __CUDACC__
  device::launch(device::run_warps<false, Kernel>, device::blocks_for(m), dim3(lanes * block_warps), 0, kernel, m,
                 (double *)nullptr, (unsigned *)nullptr, (const Total *)nullptr);
  #else
  const device::Open open(Space::cuda);
  device::launched(device::blocks_for(m));
  for (int c = 0; c < m.chunks(); ++c)
    for (int i = 0; i < m.strips(); ++i) (void)kernel(Warp(), m, i, c);
  #endif
}

// The same with its sum.
template <class Kernel> void forall_warps(const Box &box, int columns, const Kernel &kernel, Reduction &reduction)
{
  if (box.empty()) return;
  const March m = cut<true, Kernel>(box, columns);
#ifdef __CUDACC__
  device::launch(device::run_warps<true, Kernel>, device::blocks_for(m), dim3(lanes * block_warps), 0, kernel, m,
                 reduction.parts.data(), reduction.ticket.data(), reduction.total);
  #else
  const device::Open open(Space::cuda);
  double             s = 0;
  for (int c = 0; c < m.chunks(); ++c)
    for (int i = 0; i < m.strips(); ++i) s += kernel(Warp(), m, i, c);
  kernel.finish(reduction.total ? (*reduction.total)(s) : s);
  #endif
}

// A warp per row.
template <class Kernel> void forall_rows(const Box &box, int columns, const Kernel &kernel)
{
  if (box.empty()) return;
  constexpr int        rows = tuning::block_of_rows;
  const March          m{box, columns, rows - 2 * Kernel::reach};
  const device::Blocks blocks{m.strips(), m.chunks()};
#ifdef __CUDACC__
  device::launch_dependent(device::run_rows<rows, Kernel>, blocks, dim3(lanes * rows), 0, kernel, m);
#else
  const device::Open open(Space::cuda);
  device::launched(blocks);
  for (int c = 0; c < m.chunks(); ++c) // rows in their order, so that each finds what the one before has left
    for (int i = 0; i < m.strips(); ++i) (void)march(kernel, Warp(), m, i, c);
#endif
}

constexpr size_t max_flat_blocks = 132 * 8;

// Blocks of any kernel with a sum over this box.
inline size_t max_blocks(const Box &box)
{
  return 2 * max_flat_blocks + (size_t)(box.x1 - box.x0) / 16;
}

// s += kernel(i, j) over the box, then kernel.finish(s).
template <class Kernel> void forall_cells(const Box &box, const Kernel &kernel, Reduction &reduction)
{
#ifdef __CUDACC__
  static const size_t fit = device::resident((const void *)device::run_cells<Kernel>, 256);
  device::Blocks      blocks = device::blocks_for(box);
  const long          rows   = (long)(fit < max_flat_blocks ? fit : max_flat_blocks) / blocks.x;
  blocks = device::blocks_for(box, rows ? rows : 1); // all at a time
  device::launch(device::run_cells<Kernel>, blocks, dim3(256), 0, box, kernel, reduction.parts.data(),
                 reduction.ticket.data(), reduction.total);
  #else
  const device::Open open(Space::cuda);
  double             s = 0;
  for (int j = box.y0; j < box.y1; ++j)
    for (int i = box.x0; i < box.x1; ++i) s += kernel(i, j);
  kernel.finish(reduction.total ? (*reduction.total)(s) : s);
  #endif
}

// s += kernel(i) for i in [0, n), then kernel.finish(s).
template <class Kernel> void forall_flat(size_t n, const Kernel &kernel, Reduction &reduction)
{
#ifdef __CUDACC__
  // no block waits for another one's end
  static const size_t fit = device::resident((const void *)device::run_flat<Kernel>, 256);
  const size_t        max_blocks = fit < max_flat_blocks ? fit : max_flat_blocks,
               blocks            = (n + 255) / 256 < max_blocks ? (n + 255) / 256 : max_blocks;
  device::launch(device::run_flat<Kernel>, dim3((unsigned)(blocks ? blocks : 1)), dim3(256), 0, n, kernel,
                 reduction.parts.data(), reduction.ticket.data(), reduction.total);
  #else
  const device::Open open(Space::cuda);
  double             s = 0;
  for (size_t i = 0; i < n; ++i) s += kernel(i);
  kernel.finish(reduction.total ? (*reduction.total)(s) : s);
  #endif
}

} // namespace tessera

#endif
