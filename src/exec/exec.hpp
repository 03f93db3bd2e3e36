// Where and how a kernel runs. A kernel is a small named struct with `HD void operator()(i, j) const`. Tile kernels,
// which work in phases, are in exec/tile.hpp.
#pragma once
#include "exec/device.hpp"
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>
#ifdef TESSERA_HAVE_CUDA
  #include <cuda_runtime.h>
#endif

#ifdef __CUDACC__
  #define HD __host__ __device__
#else
  #define HD
#endif

namespace tessera {

struct Exec {
  Space space   = Space::host;
  int   threads = 1; // OpenMP threads on the host
  bool  on_device() const { return device::built && space == Space::cuda; }
};

// Half-open box [x0, x1) x [y0, y1) of indices.
struct Box {
  int  x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  HD bool      empty() const { return x1 <= x0 || y1 <= y0; }
  HD ptrdiff_t size() const { return empty() ? 0 : (ptrdiff_t)(x1 - x0) * (y1 - y0); }
  HD bool      contains(int x, int y) const { return x >= x0 && x < x1 && y >= y0 && y < y1; }
};

HD inline Box intersect(const Box &a, const Box &b)
{
  return {a.x0 > b.x0 ? a.x0 : b.x0, a.x1 < b.x1 ? a.x1 : b.x1, a.y0 > b.y0 ? a.y0 : b.y0, a.y1 < b.y1 ? a.y1 : b.y1};
}

#ifdef TESSERA_HAVE_CUDA
namespace device {
void        fail(int error); // throws, where errors are not kept
inline void check(cudaError_t e)
{
  if (e != cudaSuccess) fail((int)e);
}
size_t      resident(const void *kernel, int threads); // blocks of a kernel that fit the device at a time
const void *probe_kernel(); // any kernel of this library: can the device run it?

template <class... P, class... A> void launch_with(cudaLaunchAttribute *attributes, unsigned int count,
                                                   void (*kernel)(P...), dim3 blocks, dim3 threads, size_t shared,
                                                   A &&...arguments)
{
  if (failed()) return;
  cudaLaunchConfig_t c = {};
  c.gridDim          = blocks;
  c.blockDim         = threads;
  c.dynamicSmemBytes = shared;
  c.stream           = (cudaStream_t)stream();
  c.attrs            = attributes;
  c.numAttrs         = count;
  check(cudaLaunchKernelEx(&c, kernel, P(arguments)...));
}
// Programmatic dependent launch of all kernels, which then read nothing ahead, costs 2.5 % from 2047 x 2047 nodes on:
// dependent.hpp has it for those that gain.
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 blocks, dim3 threads, size_t shared, A &&...arguments)
{
  launch_with(nullptr, 0, kernel, blocks, threads, shared, std::forward<A>(arguments)...);
}
} // namespace device
#endif

// What kernels of the device find while the host runs ahead: it looks once, at the end. Zero: nothing.
HD inline void raise_flag(int *flag)
{
#ifdef __CUDA_ARCH__
  *flag = 1; // all who write write this
#else
  __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
#endif
}
HD inline void count_one(int *number)
{
#ifdef __CUDA_ARCH__
  atomicAdd(number, 1);
#else
  __atomic_fetch_add(number, 1, __ATOMIC_RELAXED);
#endif
}
HD inline void keep_largest(unsigned long long *largest, unsigned long long v)
{
#ifdef __CUDA_ARCH__
  atomicMax(largest, v);
#else
  unsigned long long now = __atomic_load_n(largest, __ATOMIC_RELAXED);
  while (now < v && !__atomic_compare_exchange_n(largest, &now, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) { }
#endif
}

#if defined(TESSERA_HAVE_CUDA) && !defined(__CUDACC__)
// Only files that nvcc compiles (*.k.cxx) run kernels.
#else

namespace device {

constexpr int warp = 32, block_rows = 8; // threads of a block along x and y
constexpr int max_blocks = 2048;         // of a sum

// Blocks of threads of a launch: there may be 2^31 - 1 along x, but 65535 along y. What has no bound is therefore
// counted along x.
struct Blocks {
  long x = 1, y = 1;
#ifdef __CUDACC__
  operator dim3() const { return dim3((unsigned)x, (unsigned)y); }
#endif
};
inline Blocks blocks_for(const Box &box, long max_rows = 65535)
{
  const long x = (box.x1 - box.x0 + warp - 1) / warp, y = (box.y1 - box.y0 + block_rows - 1) / block_rows;
  return {x, y < max_rows ? y : max_rows};
}
inline long tiles(int lo, int hi, int size) { return ((long)hi - lo + size - 1) / size; }

#ifdef TESSERA_EMULATE_DEVICE
void launched(const Blocks &blocks); // DeviceError where a device would refuse
#else
inline void launched(const Blocks &) { }
#endif

} // namespace device

#ifdef __CUDACC__
namespace device {

// Blocks that a multiprocessor shall take at a time, where a kernel says so: Kernel::blocks. Else the compiler decides.
template <class Kernel, class = void> struct AtATime {
  static constexpr int blocks = 0;
};
template <class Kernel> struct AtATime<Kernel, std::void_t<decltype(Kernel::blocks)>> {
  static constexpr int blocks = Kernel::blocks;
};

template <class Kernel> __global__ void __launch_bounds__(warp *block_rows, AtATime<Kernel>::blocks)
  run_forall(Box box, Kernel kernel)
{
  const int i = box.x0 + (int)(blockIdx.x * warp + threadIdx.x);
  if (i < box.x1)
    for (int j = box.y0 + (int)(blockIdx.y * block_rows + threadIdx.y); j < box.y1; j += (int)gridDim.y * block_rows)
      kernel(i, j);
}

// Several kernels, each over its box.
template <class... Kernel> struct Parts {
  static constexpr unsigned count = 0;
  static constexpr int      blocks = 0;
  __device__ inline void run(unsigned, int, int, int) const { }
};
template <class Kernel, class... Rest> struct Parts<Kernel, Rest...> {
  static constexpr unsigned count = 1 + Parts<Rest...>::count;
  static constexpr int      blocks =
    AtATime<Kernel>::blocks > Parts<Rest...>::blocks ? AtATime<Kernel>::blocks : Parts<Rest...>::blocks;
  Box                    where;
  Kernel                 kernel;
  Parts<Rest...>         rest;
  __device__ inline void run(unsigned part, int x, int y, int step) const
  {
    if (part) return rest.run(part - 1, x, y, step);
    if (where.x0 + x < where.x1)
      for (int j = where.y0 + y; j < where.y1; j += step) kernel(where.x0 + x, j);
  }
};

// The parts of one place run side by side: what they share is in the cache.
template <class P> __global__ void __launch_bounds__(warp *block_rows, P::blocks) run_parts(P parts)
{
  parts.run(blockIdx.x % P::count, (int)(blockIdx.x / P::count * warp + threadIdx.x),
            (int)(blockIdx.y * block_rows + threadIdx.y), (int)gridDim.y * block_rows);
}

// The sum over a block of 256 threads, in thread 0; the order is fixed.
__device__ inline double block_sum(double s)
{
  __shared__ double part[block_rows];
  const int         t = (int)(threadIdx.x + threadIdx.y * blockDim.x), lane = t % warp, w = t / warp;
  for (int d = warp / 2; d; d /= 2) s += __shfl_down_sync(0xffffffffu, s, d);
  if (!lane) part[w] = s;
  __syncthreads();
  s = 0;
  if (!t)
    for (int i = 0; i < block_rows; ++i) s += part[i];
  return s;
}

template <class Kernel> __global__ void __launch_bounds__(warp *block_rows)
  run_sum(Box box, Kernel kernel, double *parts)
{
  const int i = box.x0 + (int)(blockIdx.x * warp + threadIdx.x);
  double    s = 0;
  if (i < box.x1)
    for (int j = box.y0 + (int)(blockIdx.y * block_rows + threadIdx.y); j < box.y1; j += (int)gridDim.y * block_rows)
      s += kernel(i, j);
  s = block_sum(s);
  if (!threadIdx.x && !threadIdx.y) parts[blockIdx.x + blockIdx.y * gridDim.x] = s;
}

// A value in a block's memory, an odd number of words long: the values of neighbouring threads are in other banks.
template <class R, bool = sizeof(R) % 16 == 0> struct Banked {
  R value;
};
template <class R> struct Banked<R, true> {
  R      value;
  double gap;
};

// The join of the values of a block of 256 threads, in thread 0; the order is fixed. part: a value for each.
template <class R> __device__ void block_join(R &r, Banked<R> *part)
{
  const int t = (int)(threadIdx.x + threadIdx.y * blockDim.x);
  part[t].value = r;
  __syncthreads();
  for (int d = warp * block_rows / 2; d; d /= 2) {
    if (t < d) part[t].value.join(part[t + d].value);
    __syncthreads();
  }
  r = part[0].value;
}

template <class R> __device__ void block_join(R &r)
{
  __shared__ __align__(alignof(R)) char memory[sizeof(Banked<R>) * warp * block_rows];
  block_join(r, (Banked<R> *)memory);
}

template <class R, class Kernel> __global__ void __launch_bounds__(warp *block_rows)
  run_join(Box box, Kernel kernel, R *parts)
{
  const int i = box.x0 + (int)(blockIdx.x * warp + threadIdx.x);
  R         r;
  if (i < box.x1)
    for (int j = box.y0 + (int)(blockIdx.y * block_rows + threadIdx.y); j < box.y1; j += (int)gridDim.y * block_rows)
      kernel(i, j, r);
  block_join(r);
  if (!threadIdx.x && !threadIdx.y) parts[blockIdx.x + blockIdx.y * gridDim.x] = r;
}

template <class R> __global__ void __launch_bounds__(warp *block_rows) join_parts(const R *parts, int n, R *result)
{
  R r;
  for (int i = (int)(threadIdx.x + threadIdx.y * blockDim.x); i < n; i += warp * block_rows) r.join(parts[i]);
  block_join(r);
  if (!threadIdx.x && !threadIdx.y) *result = r;
}

// sum = (add ? sum : 0) + the sum of the parts
__global__ void add_parts(const double *parts, int n, double *sum, bool add);

} // namespace device
#endif

// body(j) for all j of [lo, hi). A function of its own, for one thread and for many, so that loops are compiled once.
template <class Body> __attribute__((noinline)) void run_range(int lo, int hi, const Body &body)
{
  const Body own = body; // a private copy: its members stay in registers
  for (int j = lo; j < hi; ++j) own(j);
}

// The same on the threads of the host. A thread alone makes no parallel region: one of OpenMP's costs half a
// microsecond, a system call, as long as a row of a thousand nodes takes.
template <class Body> void for_range(const Exec &exec, int lo, int hi, const Body &body)
{
  const int threads = exec.threads;
  if (threads <= 1 || hi <= lo) return run_range(lo, hi, body);
  const int each = (hi - lo) / threads, more = (hi - lo) % threads;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int t = 0; t < threads; ++t) {
    const int first = lo + each * t + (t < more ? t : more);
    run_range(first, first + each + (t < more), body);
  }
}

// The halves of forall(), for kernels that only one of the spaces runs: they are not compiled for the other.
template <class Kernel> void forall_on_host(const Exec &exec, const Box &box, const Kernel &kernel)
{
  for_range(exec, box.y0, box.y1, [kernel, x0 = box.x0, x1 = box.x1](int j) {
    const Kernel k = kernel; // a private copy: its members stay in registers
#pragma GCC ivdep
    for (int i = x0; i < x1; ++i) k(i, j);
  });
}
template <class Kernel> void forall_on_device(const Exec &exec, const Box &box, const Kernel &kernel)
{
  if (box.empty()) return;
#ifdef __CUDACC__
  (void)exec;
  device::launch(device::run_forall<Kernel>, device::blocks_for(box), dim3(device::warp, device::block_rows), 0, box,
                 kernel);
#else
  const device::Open open(exec.space);
  device::launched(device::blocks_for(box));
  forall_on_host(exec, box, kernel);
#endif
}

// kernel(i, j) for every (i, j) of the box; rows in parallel, i innermost and independent.
template <class Kernel> void forall(const Exec &exec, const Box &box, const Kernel &kernel)
{
  if (box.empty()) return;
  if constexpr (device::built)
    if (exec.on_device()) return forall_on_device(exec, box, kernel);
  forall_on_host(exec, box, kernel);
}

// A kernel and its box.
template <class Kernel> struct Part {
  Box    box;
  Kernel kernel;
};
template <class Kernel> Part<Kernel> part(const Box &box, const Kernel &kernel) { return {box, kernel}; }

#ifdef __CUDACC__
namespace device {
inline Parts<> join_kernels() { return {}; }
template <class Kernel, class... Rest>
Parts<Kernel, Rest...> join_kernels(const Part<Kernel> &first, const Part<Rest> &...rest)
{
  return {first.box, first.kernel, join_kernels(rest...)};
}
} // namespace device
#endif

// Kernels that do not need each other's results, one after the other; on the device they are one launch.
template <class... Kernel> void forall_parts_on_device(const Exec &exec, const Part<Kernel> &...parts)
{
  const Box boxes[] = {parts.box...};
  Box largest;
  for (const Box &b : boxes)
    if (!b.empty())
      largest = {0, b.x1 - b.x0 > largest.x1 ? b.x1 - b.x0 : largest.x1, 0,
                 b.y1 - b.y0 > largest.y1 ? b.y1 - b.y0 : largest.y1};
  if (largest.empty()) return;
  device::Blocks blocks = device::blocks_for(largest);
  blocks.x *= (long)sizeof...(Kernel);
#ifdef __CUDACC__
  (void)exec;
  device::launch(device::run_parts<device::Parts<Kernel...>>, blocks, dim3(device::warp, device::block_rows), 0,
                 device::join_kernels(parts...));
#else
  device::launched(blocks);
  (forall_on_device(exec, parts.box, parts.kernel), ...);
#endif
}
template <class... Kernel> void forall_parts(const Exec &exec, const Part<Kernel> &...parts)
{
  if constexpr (device::built)
    if (exec.on_device()) return forall_parts_on_device(exec, parts...);
  (forall_on_host(exec, parts.box, parts.kernel), ...);
}

// The same work in the form that each space likes: the host does row(j) for all j of [y0, y1), a device the parts.
template <class Row, class... Kernel>
void forall_rows_or_parts(const Exec &exec, int y0, int y1, const Row &row, const Part<Kernel> &...parts)
{
  if (!exec.on_device()) for_range(exec, y0, y1, row);
  else if constexpr (!device::built) return;
  else if constexpr (sizeof...(Kernel) == 1) (forall_on_device(exec, parts.box, parts.kernel), ...);
  else forall_parts_on_device(exec, parts...);
}

// *sum = (add ? *sum : 0) + the sum of kernel(i, j) over the box, in an order that depends on neither threads nor
// tiles: a sum per row, then over the rows. The sum lies where the kernel runs, so nobody waits for it. By the halves,
// for kernels that only one of the spaces runs;
template <class Kernel>
void forall_sum_on_host(const Exec &exec, const Box &box, const Kernel &kernel, double *sum, bool add)
{
  double s = 0;
  if (!box.empty()) {
    static thread_local std::vector<double> rows;
    rows.resize((size_t)(box.y1 - box.y0));
    double *row = rows.data();
    for_range(exec, box.y0, box.y1, [kernel, row, y0 = box.y0, x0 = box.x0, x1 = box.x1](int j) {
      const Kernel k = kernel;
      double       r = 0;
#pragma omp simd reduction(+ : r)
      for (int i = x0; i < x1; ++i) r += k(i, j);
      row[j - y0] = r;
    });
    for (int j = 0; j < box.y1 - box.y0; ++j) s += row[j];
  }
  *sum = (add ? *sum : 0) + s;
}
template <class Kernel>
void forall_sum_on_device(const Exec &exec, const Box &box, const Kernel &kernel, double *sum, bool add)
{
#ifdef __CUDACC__
  (void)exec;
  if (box.empty()) {
    if (!add) device::zero(sum, sizeof(double));
    return;
  }
  device::Blocks blocks = device::blocks_for(box);
  blocks = device::blocks_for(box, device::max_blocks / blocks.x + 1);
  const int n     = (int)(blocks.x * blocks.y);
  double   *parts = device::scratch((size_t)n);
  device::launch(device::run_sum<Kernel>, blocks, dim3(device::warp, device::block_rows), 0, box, kernel, parts);
  device::launch(device::add_parts, dim3(1), dim3(device::warp, device::block_rows), 0, (const double *)parts, n, sum,
                 add);
#else
  const device::Open open(exec.space, sum);
  forall_sum_on_host(exec, box, kernel, sum, add);
#endif
}
// by another kernel on the host than on a device;
template <class OnHost, class OnDevice>
void forall_sum(const Exec &exec, const Part<OnHost> &here, const Part<OnDevice> &there, double *sum, bool add)
{
  if constexpr (device::built)
    if (exec.on_device()) return forall_sum_on_device(exec, there.box, there.kernel, sum, add);
  forall_sum_on_host(exec, here.box, here.kernel, sum, add);
}
template <class Kernel> void forall_sum(const Exec &exec, const Box &box, const Kernel &kernel, double *sum, bool add)
{
  forall_sum(exec, part(box, kernel), part(box, kernel), sum, add);
}
// and for the host, which waits.
template <class OnHost, class OnDevice>
double forall_sum(const Exec &exec, const Part<OnHost> &here, const Part<OnDevice> &there)
{
  double        s   = 0;
  double *const sum = exec.on_device() ? device::result() : &s;
  forall_sum(exec, here, there, sum, false);
  if (exec.on_device()) device::copy_to_host(&s, sum, sizeof(double));
  return exec.on_device() && device::failed() ? NAN : s;
}
template <class Kernel> double forall_sum(const Exec &exec, const Box &box, const Kernel &kernel)
{
  return forall_sum(exec, part(box, kernel), part(box, kernel));
}

// *result = what kernel(i, j, r) gathers in values R over the box: an empty R{} at first, R::join() puts two
// together. The result lies where the kernel runs.
template <class R, class Kernel> void forall_join(const Exec &exec, const Box &box, const Kernel &kernel, R *result)
{
#ifdef __CUDACC__
  if (exec.on_device()) {
    device::Blocks blocks = device::blocks_for(box);
    if (!box.empty()) blocks = device::blocks_for(box, device::max_blocks / blocks.x + 1);
    const int n     = box.empty() ? 0 : (int)(blocks.x * blocks.y); // 0: the result is empty
    R        *parts = (R *)device::scratch(((size_t)n * sizeof(R) + sizeof(double) - 1) / sizeof(double));
    if (n)
      device::launch(device::run_join<R, Kernel>, blocks, dim3(device::warp, device::block_rows), 0, box, kernel,
                     parts);
    return device::launch(device::join_parts<R>, dim3(1), dim3(device::warp, device::block_rows), 0, (const R *)parts,
                          n, result);
  }
#endif
  const device::Open open(exec.space, result);
  std::vector<R>     rows(box.empty() ? 0 : (size_t)(box.y1 - box.y0));
  for_range(exec, box.y0, box.y1, [&](int j) {
    const Kernel k = kernel;
    R            r; // stays in registers
    for (int i = box.x0; i < box.x1; ++i) k(i, j, r);
    rows[(size_t)(j - box.y0)] = r;
  });
  R r;
  for (const R &row : rows) r.join(row);
  *result = r;
}

#endif // files that run kernels

} // namespace tessera
