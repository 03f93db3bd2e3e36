// What a block of threads of the device's sweeps works with: the job, its shared memory, tiles of the matrix, and what
// panels tell each other. device.k.cxx has the method, panel_solve.hpp what is done with one panel.
#pragma once
#include "densegs/densegs.hpp"

#ifdef __CUDACC__
namespace tessera::densegs {
namespace {

using Count = unsigned long long;
// a thread: a row of a tile, every fourth of its columns
constexpr int threads = 256, groups = threads / height, columns = height / groups;
constexpr int pitch   = height + 8; // between columns of the inverse: no two of eight rows of four columns in one bank
constexpr int meeting = height + 2; // values of a panel that others wait for: x, and the change of even and odd sweeps
constexpr double largest_inverse = 1e4; // with larger entries the product would lose digits that the rows keep

struct __align__(16) Slot {
  double value;
  Count  sweep;
};

// One access of 16 bytes: value and number belong together.
__device__ inline Slot read_slot(const Slot *p)
{
  Count a, b;
  asm volatile("{ .reg .b128 v; ld.relaxed.gpu.global.b128 v, [%2]; mov.b128 {%0, %1}, v; }"
               : "=l"(a), "=l"(b)
               : "l"(p)
               : "memory");
  return {__longlong_as_double((long long)a), b};
}
__device__ inline void write_slot(Slot *p, double value, Count sweep)
{
  asm volatile("{ .reg .b128 v; mov.b128 v, {%1, %2}; st.relaxed.gpu.global.b128 [%0], v; }" ::"l"(p),
               "l"((Count)__double_as_longlong(value)), "l"(sweep)
               : "memory");
}

static_assert(height == 64, "masks of 64 bits, two rows a lane, four threads a row");

// Where the rows of a panel are: at their lower bounds, at their upper ones (bits), else between.
struct Status {
  Count low = 0, high = 0;
};
struct Key { // of the inverse of a panel: for these bounds, of this matrix; not to be used if it has large entries
  Status status;
  Count  stamp = 0, usable = 0, joined = 0; // joined: also times the tile before the panel
};

// Is x zero, does the caller ask for changes, does a block wait for others, are tiles fetched before they are needed?
struct Flags {
  bool zero, wants_history, wait, ahead;
};

template <class T> struct Job {
  const T      *a;
  const double *inverse, *q, *lower, *upper;
  // for each panel, or twice where the order alternates: its inverse, and that times the tile before it
  double       *x, *triangles;
  Key          *keys;
  Slot         *slots;
  const int    *order;   // random: for each sweep count panels, their positions, 64 rows
  double       *history; // change of each sweep; behind it: sweeps made, and an error
  int           count, stride, sweeps, first, turns;
  Order         kind;
  double        omega, tolerance;
  Count         base, stamp;
  unsigned      patience;
  Flags         flags;

  __device__ bool backward(int k) const
  {
    return kind == Order::backward || (kind == Order::symmetric && (first + k) % 2);
  }
  __device__ const int *table(int k) const { return order + (size_t)k * (2 * count + height); }
  __device__ int        outer(int k, int s) const
  {
    return kind == Order::random ? table(k)[s] : backward(k) ? count - 1 - s : s;
  }
  __device__ int position(int k, int p) const
  {
    return kind == Order::random ? table(k)[count + p] : backward(k) ? count - 1 - p : p;
  }
  __device__ int inner(int k, int u) const
  {
    return kind == Order::random ? table(k)[2 * count + u] : backward(k) ? height - 1 - u : u;
  }
  __device__ double *saved(int k, int p) const
  {
    return triangles + ((size_t)p * turns + (turns > 1 && backward(k))) * (2 * height * height);
  }
  __device__ const T *tile(int p, int j) const { return a + ((size_t)p * stride + (size_t)j * height) * height; }
};

// What a block of threads has in shared memory. u, v: rows of a panel in the order of the sweep.
struct Shared {
  double diagonal[height * height]; // omega a_uv / a_uu at v * height + u
  double inverse[height * pitch];   // of I + its lower triangle in the columns of rows between bounds, at v * pitch + u
  double base[height], known[height], scale[height], lower[height], upper[height], sum[height], x[2][height];
  double product[32 * 33];
  double change, total;
  Status status; // of the inverse, by rows of the panel
  int    row[height], turn[height]; // the row of u, the u of a row
  int    dead, usable;
};
struct Panel {
  // sums over other panels for the next solve and the one after it, a quarter of the columns each
  double now[threads], then[threads];
  double x[height];
  Status status; // at the last solve
};

template <class T> __device__ inline double value(T v) { return (double)v; }

// A thread's row and first column of a tile: the four threads of a row are neighbours, and eight rows a warp.
__device__ inline int my_row() { return (int)threadIdx.x / groups; }
__device__ inline int my_group() { return (int)threadIdx.x % groups; }
__device__ inline double sum_of_row(double v) // the same in its four threads
{
  v += __shfl_xor_sync(0xffffffffu, v, 1);
  return v + __shfl_xor_sync(0xffffffffu, v, 2);
}

// PASSING: where the second-level cache is smaller than the matrix, a tile makes room for those that are there until
// the next sweep.
template <bool PASSING = false, class T> __device__ inline void fetch(const T *tile, T (&v)[columns])
{
  const T *p = tile + my_group() * height + my_row();
#pragma unroll
  for (int c = 0; c < columns; ++c) v[c] = PASSING ? __ldcs(p + c * groups * height) : __ldcg(p + c * groups * height);
}
template <class T> __device__ inline double product(const T (&v)[columns], const double *x)
{
  const double *xs = x + my_group();
  double        s[4] = {0, 0, 0, 0};
#pragma unroll
  for (int c = 0; c < columns; ++c) s[c % 4] = fma(value(v[c]), xs[c * groups], s[c % 4]);
  return (s[0] + s[1]) + (s[2] + s[3]);
}

// Waits until panel j of sweep k is there: its x goes to `x`, its change (collect) to `total` of one thread. false:
// in vain.
template <class T> __device__ inline bool await(const Job<T> &job, Shared &sh, double *report, int j, Count sweep,
                                                bool wanted, bool collect, double *x, double &total)
{
  const int t = (int)threadIdx.x;
  if (t < height ? wanted : t == height && collect) {
    const Slot *const at = job.slots + (size_t)j * meeting + (t < height ? t : height + (int)(sweep & 1));
    Slot              v = read_slot(at);
    for (unsigned polls = 0; job.flags.wait && v.sweep < sweep; v = read_slot(at))
      if (++polls >= job.patience || (polls % 1024 == 0 && *(volatile double *)(report + 1) != 0)) {
        if (polls >= job.patience) report[1] = 1;
        sh.dead = 1;
        break;
      }
    if (t < height) x[t] = v.value;
    else total += v.value;
  }
  if (!wanted) return true;
  __syncthreads();
  return !sh.dead;
}

} // namespace
} // namespace tessera::densegs
#endif
