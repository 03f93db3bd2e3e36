// Tile kernels: `template <class Block> HD void operator()(Block &) const`, which work on a tile of a box in phases
// separated by Block::sync(), with scratch memory of their own.
#pragma once
#include "exec/buffer.hpp"
#include "exec/exec.hpp"
#include <algorithm>

#if !defined(TESSERA_HAVE_CUDA) || defined(__CUDACC__)

namespace tessera {

// One tile of a tile kernel on the host: the loops run in order, shared memory is a piece of the cache.
struct HostBlock {
  Box     tile;
  double *shared;
  template <class F> HD void each(int i0, int i1, int j0, int j1, F &&f) const
  {
    for (int j = j0; j < j1; ++j)
#pragma GCC ivdep
      for (int i = i0; i < i1; ++i) f(i, j);
  }
  HD void sync() const { }
};

#ifdef __CUDACC__
// The same on the device: one block of threads.
struct DeviceBlock {
  Box     tile;
  double *shared;
  int     thread, threads;
  template <class F> HD void each(int i0, int i1, int j0, int j1, F &&f) const
  {
    if (j1 == j0 + 1) {
      for (int i = i0 + thread; i < i1; i += threads) f(i, j0);
    } else if (i1 > i0) {
      const int w = i1 - i0, across = threads % w, down = threads / w;
      int       i = i0 + thread % w, j = j0 + thread / w;
      for (; j < j1; i += across, j += down) {
        if (i >= i1) { // the step before has gone past the row's end
          i -= w;
          if (++j >= j1) break;
        }
        f(i, j);
      }
    }
  }
  HD void sync() const
  {
  #ifdef __CUDA_ARCH__
    __syncthreads();
  #endif
  }
};

namespace device {
template <class Kernel> __global__ void __launch_bounds__(256, AtATime<Kernel>::blocks)
  run_tiles(Box box, int columns, int rows, unsigned across, Kernel kernel)
{
  extern __shared__ double shared[];
  const int   x0 = box.x0 + (int)(blockIdx.x % across) * columns, y0 = box.y0 + (int)(blockIdx.x / across) * rows;
  DeviceBlock              block{
                 {x0, x0 + columns < box.x1 ? x0 + columns : box.x1, y0, y0 + rows < box.y1 ? y0 + rows : box.y1},
    shared,
    (int)threadIdx.x,
    (int)blockDim.x
  };
  kernel(block);
}
} // namespace device
#endif

// Cuts the box into tiles and runs the tile kernel on each: on the host strips of `rows` full rows, on the device
// pieces of them. Scratch: `lines` rows of a tile, each two columns longer, in doubles.
template <class Kernel> void forall_strip(const Exec &exec, const Box &box, int rows, int lines, const Kernel &kernel)
{
  if (box.empty()) return;
  if (exec.on_device()) {
    constexpr int        columns = 128;
    const long           across  = device::tiles(box.x0, box.x1, columns);
    const device::Blocks blocks{across * device::tiles(box.y0, box.y1, rows), 1};
#ifdef __CUDACC__
    return device::launch(device::run_tiles<Kernel>, blocks, dim3(columns),
                          (size_t)lines * (columns + 2) * sizeof(double), box, columns, rows, (unsigned)across, kernel);
#else
    device::launched(blocks);
#endif
  }
  const device::Open open(exec.space);
  const int          strips = (box.y1 - box.y0 + rows - 1) / rows;
  const size_t       shared = (size_t)lines * (size_t)(box.x1 - box.x0 + 2);
#pragma omp parallel num_threads(exec.threads) if (exec.threads > 1)
  {
    static thread_local std::vector<double> scratch; // grows once, then stays: applying allocates nothing
    if (scratch.size() < shared) scratch.resize(shared);
#pragma omp for schedule(static)
    for (int s = 0; s < strips; ++s) {
      const int    y0 = box.y0 + s * rows, y1 = y0 + rows < box.y1 ? y0 + rows : box.y1;
      const Kernel k  = kernel;
      HostBlock    block{{box.x0, box.x1, y0, y1}, scratch.data()};
      k(block);
    }
  }
}

// n blocks of the tile kernel, number j with the tile {0, 1, j, j + 1} and `bytes` of scratch.
template <class Kernel> void forall_blocks(const Exec &exec, int n, int threads, size_t bytes, const Kernel &kernel)
{
  if (n <= 0) return;
#ifdef __CUDACC__
  if (exec.on_device()) {
    if (bytes > 48 * 1024)
      device::check(
        cudaFuncSetAttribute(device::run_tiles<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    return device::launch(device::run_tiles<Kernel>, device::Blocks{n, 1}, dim3((unsigned)threads), bytes,
                          Box{0, 1, 0, n}, 1, 1, 1u, kernel);
  }
#endif
  const device::Open  open(exec.space);
  (void)threads;
  std::vector<double> scratch(bytes / sizeof(double) + 1);
  for (int j = 0; j < n; ++j) {
    HostBlock block{{0, 1, j, j + 1}, scratch.data()};
    kernel(block);
  }
}

#ifdef __CUDACC__
namespace device {
template <class R, class Kernel> __global__ void __launch_bounds__(256)
  run_join_tiles(Box box, int columns, int rows, Kernel kernel, R *parts)
{
  extern __shared__ double shared[];
  const int across = (box.x1 - box.x0 + columns - 1) / columns, tiles = across * ((box.y1 - box.y0 + rows - 1) / rows);
  R         r;
  for (int t = (int)blockIdx.x; t < tiles; t += (int)gridDim.x) {
    const int   x0 = box.x0 + t % across * columns, y0 = box.y0 + t / across * rows;
    DeviceBlock block{
      {x0, x0 + columns < box.x1 ? x0 + columns : box.x1, y0, y0 + rows < box.y1 ? y0 + rows : box.y1},
      shared,
      (int)threadIdx.x,
      (int)blockDim.x
    };
    kernel(block, r);
    __syncthreads();
  }
  block_join(r, (Banked<R> *)shared);
  if (!threadIdx.x) parts[blockIdx.x] = r;
}
} // namespace device
#endif

// Cuts the box into tiles of so many columns and rows and runs the tile kernel on each, with `bytes` of scratch.
// *result as in forall_join(): kernel(block, r).
template <class R, class Kernel> void forall_tiles(const Exec &exec, const Box &box, int columns, int rows,
                                                   size_t bytes, const Kernel &kernel, R *result)
{
#ifdef __CUDACC__
  if (exec.on_device()) {
    constexpr int threads = 256;
    const int     tiles   = ((box.x1 - box.x0 + columns - 1) / columns) * ((box.y1 - box.y0 + rows - 1) / rows),
              n           = tiles < device::max_blocks ? tiles : device::max_blocks;
    R            *parts = (R *)device::scratch(((size_t)n * sizeof(R) + sizeof(double) - 1) / sizeof(double));
    device::launch(device::run_join_tiles<R, Kernel>, dim3((unsigned)n), dim3(threads),
                   std::max(bytes, threads * sizeof(device::Banked<R>)), box, columns, rows, kernel, parts);
    return device::launch(device::join_parts<R>, dim3(1), dim3(device::warp, device::block_rows), 0, (const R *)parts,
                          n, result);
  }
#endif
  const device::Open  open(exec.space, result);
  std::vector<double> scratch(bytes / sizeof(double) + 1);
  R                   r;
  for (int y0 = box.y0; y0 < box.y1; y0 += rows)
    for (int x0 = box.x0; x0 < box.x1; x0 += columns) {
      HostBlock block{
        {x0, x0 + columns < box.x1 ? x0 + columns : box.x1, y0, y0 + rows < box.y1 ? y0 + rows : box.y1},
        scratch.data()
      };
      kernel(block, r);
    }
  *result = r;
}

// The same without a result: kernel(block).
template <class Kernel>
void forall_tiles(const Exec &exec, const Box &box, int columns, int rows, size_t bytes, const Kernel &kernel)
{
  if (box.empty()) return;
  const long           across = device::tiles(box.x0, box.x1, columns);
  const device::Blocks blocks{across * device::tiles(box.y0, box.y1, rows), 1};
#ifdef __CUDACC__
  if (exec.on_device())
    return device::launch(device::run_tiles<Kernel>, blocks, dim3(256), bytes, box, columns, rows, (unsigned)across,
                          kernel);
  #endif
  if (exec.on_device()) device::launched(blocks);
  const device::Open  open(exec.space);
  std::vector<double> scratch(bytes / sizeof(double) + 1);
  for (int y0 = box.y0; y0 < box.y1; y0 += rows)
    for (int x0 = box.x0; x0 < box.x1; x0 += columns) {
      HostBlock block{
        {x0, x0 + columns < box.x1 ? x0 + columns : box.x1, y0, y0 + rows < box.y1 ? y0 + rows : box.y1},
        scratch.data()
      };
      kernel(block);
    }
}

// result[0 .. N), which are to be joined, in the form that each space likes: on a device what kernel(block, r) gathers
// on the tiles of the box, all in the first; on the host what row(j, r[N]) gathers in each of its rows. go_on: joined
// with what is in them, by parts of a whole, after begin_join(); a device does the whole at once.
template <int N, class R, class Kernel, class Row>
void join_rows_or_tiles(const Exec &exec, const Box &box, int columns, int rows, const Kernel &kernel, const Row &row,
                        R *result, bool go_on)
{
  if constexpr (device::built)
    if (exec.on_device()) {
      device::zero(result, N * sizeof(R)); // which is R{}
      if (!box.empty()) forall_tiles(exec, box, columns, rows, 0, kernel, result);
      return;
    }
  std::vector<R> sums(box.empty() ? 0 : (size_t)N * (size_t)(box.y1 - box.y0));
  for_range(exec, box.y0, box.y1, [&](int j) {
    R own[N];
    row(j, own);
    for (int k = 0; k < N; ++k) sums[(size_t)N * (size_t)(j - box.y0) + (size_t)k] = own[k];
  });
  R all[N];
  for (size_t p = 0; p < sums.size(); ++p) all[p % N].join(sums[p]);
  for (int k = 0; k < N; ++k) {
    if (go_on) result[k].join(all[k]);
    else result[k] = all[k];
  }
}
template <class R> void begin_join(Buffer<R> &result)
{
  if (result.space() == Space::host) result.zero();
}

// Cuts the columns [x0, x1) into pieces and runs the tile kernel on each.
template <class Kernel> void forall_columns(const Exec &exec, int x0, int x1, const Kernel &kernel)
{
  if (x0 >= x1) return;
#ifdef __CUDACC__
  if (exec.on_device()) {
    const long across = device::tiles(x0, x1, 32);
    return device::launch(device::run_tiles<Kernel>, device::Blocks{across, 1}, dim3(32), 0, Box{x0, x1, 0, 1}, 32, 1,
                          (unsigned)across, kernel);
  }
#endif
  const device::Open open(exec.space);
  constexpr int      width = 512;
  for_range(exec, 0, (x1 - x0 + width - 1) / width, [&](int t) {
    const Kernel k = kernel;
    const int    x = x0 + t * width;
    HostBlock    block{{x, x + width < x1 ? x + width : x1, 0, 1}, nullptr};
    k(block);
  });
}

} // namespace tessera

#endif // files that run kernels
