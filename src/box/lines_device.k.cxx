// The launches of zebra lines on the device.
#include "box/lines_device_kernels.hpp"
#include "exec/tile.hpp"
#include <algorithm>

namespace tessera {

using namespace line_parts;

namespace {

#ifdef __CUDACC__
template <int MOST, class Kernel> __global__ void __launch_bounds__(MOST)
  run_lines(int line0, int line1, int lanes, Kernel kernel)
{
  extern __shared__ double shared[];
  const int   first = line0 + (int)blockIdx.x * lanes;
  DeviceBlock              block{
                 {first, first + lanes < line1 ? first + lanes : line1, 0, 1},
                 shared, (int)threadIdx.x, (int)blockDim.x
  };
  kernel(block);
}
#endif

// The most shared memory of a block, for a line along x. On the emulated device little, so that tests see what
// happens beyond it.
size_t shared_limit()
{
#ifdef TESSERA_HAVE_CUDA
  return device::block_scratch();
#else
  return 24 << 10;
#endif
}

// Blocks of at most MOST threads, each with some of the lines [line0, line1).
template <int MOST, class Kernel>
void launch_lines(int line0, int line1, int lanes, int threads, size_t shared, const Kernel &kernel)
{
  if (line0 >= line1) return;
#ifdef __CUDACC__
  if (shared > 48 << 10)
    device::check(cudaFuncSetAttribute((const void *)run_lines<MOST, Kernel>,
                                       cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
  device::launch(run_lines<MOST, Kernel>, dim3((unsigned)((line1 - line0 + lanes - 1) / lanes)),
                 dim3((unsigned)threads), shared, line0, line1, lanes, kernel);
#else
  (void)threads;
  const device::Open  open(Space::cuda);
  std::vector<double> scratch((shared + 7) / 8);
  for (int line = line0; line < line1; line += lanes) {
    HostBlock block{{line, std::min(line + lanes, line1), 0, 1}, scratch.data()};
    if constexpr (device::built) kernel(block);
  }
#endif
}

constexpr int threads_x = 256, threads_y = tuning::line_columns * tuning::line_parts;

// Of a block: lines and threads.
struct Shape {
  int lanes, threads;
};
Shape shape(const Parts &p, Lines direction, ptrdiff_t sx)
{
  const int count = p.separators + 1, columns = std::max(2, tuning::line_columns / (int)sx);
  if (direction == lines_x) return {std::max(1, threads_x / count), threads_x};
  return {columns, (columns * count + 31) / 32 * 32};
}

// Scratch of a line along x: the separators' values twice, both borders; and its own values.
template <class T> size_t chain_bytes(const Parts &p) { return (size_t)(2 * p.separators + 6) * sizeof(T); }
size_t line_values(const Parts &p) { return (size_t)((p.separators + 2) | 1) << p.shift; }
template <class T> bool   fits(const Parts &p)
{
  return chain_bytes<T>(p) + line_values(p) * sizeof(T) <= shared_limit();
}

template <class T> Chain<T> chain_of(T *at, const Parts &p, Lines direction, int lines)
{
  const ptrdiff_t n = (ptrdiff_t)p.separators * lines;
  const bool      x = direction == lines_x;
  return {at, at + n, at + 2 * n, at + 3 * n, at + 3 * n + lines, x ? 1 : lines, x ? p.separators : 1};
}

// The lines of one parity.
struct Span {
  int first, end;
  int size() const { return end > first ? end - first : 0; }
};
Span lines_of(const Box &nodes, Lines direction, int parity)
{
  const Box b = quarter_box(nodes, direction == lines_x ? 2 * parity : parity);
  return direction == lines_x ? Span{b.y0, b.y1} : Span{b.x0, b.x1};
}

} // namespace

template <class T> void LineSolver<T>::factor_parts(const StencilView<double> &A, double tiny, double *ends)
{
  const bool   x = direction_ == lines_x;
  const Parts  parts = cut(interior_, direction_, left_neighbour_, separator_, elimination_ == Elimination::rings);
  const size_t whole = (size_t)(parts.separators + 1) << parts.shift, chain = (size_t)3 * parts.separators + 2;
  auto         size = [](Buffer<T> &b, size_t n) { b.fit({n, Space::cuda}); };
  if (interior_.empty()) return size(inverse_, 1);
  size(inverse_, x ? 2 * whole * count_ + 1 : (size_t)layout_.elements(4));
  size(chain_, chain * count_ + 1);
  if (!x) size(fill_, layout_.elements(4));
  if (x && !fits<T>(parts)) size(work_, line_values(parts) * ((count_ + 1) / 2));
  if (!device::built) return; // nobody calls it
  for (int parity = 0; parity < 2; ++parity)
    for_parity_and_stride(parity, A.C.sx, [&](auto p, auto stride) {
      constexpr int  P = decltype(p)::value, S = decltype(stride)::value;
      const Span     lines = lines_of(interior_, direction_, P);
      const size_t   before = P ? (size_t)lines_of(interior_, direction_, 0).size() : 0;
      const Shape    block = shape(parts, direction_, S);
      const size_t   shared = (size_t)4 * (parts.separators + 2) * block.lanes * sizeof(double);
      const Chain<T> c = chain_of(chain_.data() + before * chain, parts, direction_, lines.size());
      if (x)
        launch_lines<threads_x>(
          lines.first, lines.end, block.lanes, block.threads, shared,
          FactorParts<lines_x, P, S, T>{
            A, parts, c, {}, {}, inverse_.data() + before * 2 * whole, lines.first, own_.y0, ends, tiny});
      else
        launch_lines<threads_y>(lines.first, lines.end, block.lanes, block.threads, shared,
                                FactorParts<lines_y, P, S, T>{A, parts, c, view(inverse_), view(fill_), nullptr,
                                                              lines.first, own_.x0, ends, tiny});
    });
}

template <class T> template <class C>
void LineSolver<T>::solve_parts(const StencilView<C> &A, int parity, const View<T> &b, const View<T> &x, int border)
{
  const Parts  parts = cut(interior_, direction_, left_neighbour_, separator_, elimination_ == Elimination::rings);
  const size_t whole = (size_t)(parts.separators + 1) << parts.shift, chain = (size_t)3 * parts.separators + 2;
  if (!device::built) return; // nobody calls it
  for_parity_and_stride(parity, A.C.sx, [&](auto p, auto stride) {
    constexpr int  P = decltype(p)::value, S = decltype(stride)::value;
    const Span     lines = lines_of(interior_, direction_, P);
    const size_t   before = P ? (size_t)lines_of(interior_, direction_, 0).size() : 0;
    Shape          block = shape(parts, direction_, S);
    const Chain<T> c = chain_of(chain_.data() + before * chain, parts, direction_, lines.size());
    if (direction_ == lines_x) {
      const bool   inside = fits<T>(parts);
      const size_t each = chain_bytes<T>(parts) + (inside ? line_values(parts) * sizeof(T) : 0);
      while (block.lanes > 1 && block.lanes * each > 48 << 10) block.lanes /= 2;
      launch_lines<threads_x>(lines.first, lines.end, block.lanes, block.threads, block.lanes * each,
                              SolvePartsX<P, S, T, C>{A, b, x, parts, c, inverse_.data() + before * 2 * whole,
                                                      inside ? nullptr : work_.data(), lines.first, (Side)border});
    } else
      launch_lines<threads_y>(
        lines.first, lines.end, block.lanes, block.threads, block.lanes * chain_bytes<T>(parts),
        SolvePartsY<P, S, T, C>{A, b, x, parts, c, view(inverse_), view(fill_), lines.first, (Side)border});
  });
}

template void LineSolver<double>::factor_parts(const StencilView<double> &, double, double *);
template void LineSolver<float>::factor_parts(const StencilView<double> &, double, double *);
template void LineSolver<double>::solve_parts(const StencilView<double> &, int, const View<double> &,
                                              const View<double> &, int);
template void LineSolver<float>::solve_parts(const StencilView<double> &, int, const View<float> &, const View<float> &,
                                             int);
template void LineSolver<float>::solve_parts(const StencilView<float> &, int, const View<float> &, const View<float> &,
                                             int);

} // namespace tessera
