// Where and how a kernel runs. A kernel is a small named struct with `HD void operator()(i, j) const`; a tile kernel has
// `template <class Block> HD void operator()(Block &) const` and works in phases separated by Block::sync().
#pragma once
#include <cstddef>
#include <vector>

#ifdef __CUDACC__
  #define HD __host__ __device__
#else
  #define HD
#endif

namespace tessera {

enum class Space { host, cuda };

struct Exec {
  Space space   = Space::host;
  int   threads = 1; // OpenMP threads on the host
};

// Half-open box [x0, x1) x [y0, y1) of indices.
struct Box {
  int  x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  HD bool      empty() const { return x1 <= x0 || y1 <= y0; }
  HD ptrdiff_t size() const { return empty() ? 0 : (ptrdiff_t)(x1 - x0) * (y1 - y0); }
  HD bool      contains(int x, int y) const { return x >= x0 && x < x1 && y >= y0 && y < y1; }
};

inline Box intersect(const Box &a, const Box &b)
{
  return {a.x0 > b.x0 ? a.x0 : b.x0, a.x1 < b.x1 ? a.x1 : b.x1, a.y0 > b.y0 ? a.y0 : b.y0, a.y1 < b.y1 ? a.y1 : b.y1};
}

// kernel(i, j) for every (i, j) of the box; rows in parallel, i innermost and independent.
template <class Kernel> void forall(const Exec &exec, const Box &box, const Kernel &kernel)
{
  (void)exec;
#pragma omp parallel for schedule(static) num_threads(exec.threads) if (exec.threads > 1)
  for (int j = box.y0; j < box.y1; ++j) {
    const Kernel k = kernel; // a private copy: its members stay in registers
#pragma GCC ivdep
    for (int i = box.x0; i < box.x1; ++i) k(i, j);
  }
}

// Sum of kernel(i, j) over the box, in an order that depends on neither threads nor tiles: a sum per row, then over the rows.
template <class Kernel> double forall_sum(const Exec &exec, const Box &box, const Kernel &kernel)
{
  (void)exec;
  if (box.empty()) return 0;
  static thread_local std::vector<double> rows;
  rows.resize((size_t)(box.y1 - box.y0));
  double *row = rows.data();
#pragma omp parallel for schedule(static) num_threads(exec.threads) if (exec.threads > 1)
  for (int j = box.y0; j < box.y1; ++j) {
    const Kernel k = kernel;
    double       s = 0;
#pragma omp simd reduction(+ : s)
    for (int i = box.x0; i < box.x1; ++i) s += k(i, j);
    row[j - box.y0] = s;
  }
  double s = 0;
  for (int j = 0; j < box.y1 - box.y0; ++j) s += row[j];
  return s;
}

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

// Cuts the box into strips of `rows` full rows and runs the tile kernel on each, with `shared` doubles of scratch per tile.
template <class Kernel> void forall_strip(const Exec &exec, const Box &box, int rows, size_t shared, const Kernel &kernel)
{
  (void)exec;
  if (box.empty()) return;
  const int strips = (box.y1 - box.y0 + rows - 1) / rows;
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

// Cuts the columns [x0, x1) into pieces and runs the tile kernel on each.
template <class Kernel> void forall_columns(const Exec &exec, int x0, int x1, const Kernel &kernel)
{
  constexpr int width = 512;
  (void)exec;
#pragma omp parallel for schedule(static) num_threads(exec.threads) if (exec.threads > 1)
  for (int x = x0; x < x1; x += width) {
    const Kernel k = kernel;
    HostBlock    block{{x, x + width < x1 ? x + width : x1, 0, 1}, nullptr};
    k(block);
  }
}

// Sweeps of several colours over one grid in a single pass through memory: phase k works on rows that are lags[k] behind the
// first one, so that what it reads is still in the cache. run(k, y0, y1) does rows [y0, y1) of phase k. Where ghost nodes must
// be exchanged between phases, `fused` is false: every phase does all rows.
template <class Run> void wavefront(const std::vector<int> &lags, int y0, int y1, int rows, bool fused, const Run &run)
{
  const int phases = (int)lags.size();
  if (!fused) {
    for (int k = 0; k < phases; ++k) run(k, y0, y1);
    return;
  }
  int behind = 0;
  for (int lag : lags) behind = lag > behind ? lag : behind;
  for (int y = y0; y < y1 + behind; y += rows)
    for (int k = 0; k < phases; ++k) {
      const int from = y - lags[k] > y0 ? y - lags[k] : y0, to = y + rows - lags[k] < y1 ? y + rows - lags[k] : y1;
      if (from < to) run(k, from, to);
    }
}

} // namespace tessera
