// What a block of threads of the device's sweeps does with one panel: prepares its solve, by an inverse where that is
// accurate, and solves. device.k.cxx has the method.
#pragma once
#include "densegs/panel.hpp"

#ifdef __CUDACC__
namespace tessera::densegs {
namespace {

// The inverse of the unit triangle that sh.inverse holds, in place: triangles of 8 by columns, then twice as large
// ones from these, inv([A 0; B C]) = [A^-1 0; -C^-1 B A^-1 C^-1].
__device__ inline void invert(Shared &sh)
{
  const int t = (int)threadIdx.x;
  double    z[8];
  if (t < height) {
    const int o = t / 8 * 8;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      z[i] = i == t - o;
#pragma unroll
      for (int w = 0; w < i; ++w) z[i] = fma(-sh.inverse[(o + w) * pitch + o + i], z[w], z[i]);
    }
  }
  __syncthreads();
  if (t < height)
    for (int i = 0; i < 8; ++i) sh.inverse[t * pitch + t / 8 * 8 + i] = z[i];
  __syncthreads();
  for (int s = 8; s < height; s *= 2)
    for (int o = 0; o < height; o += 2 * s) {
      for (int e = t; e < s * s; e += threads) {
        const int i = e % s, j = e / s;
        double    p = 0;
        for (int w = j; w < s; ++w)
          p = fma(sh.inverse[(o + w) * pitch + o + s + i], sh.inverse[(o + j) * pitch + o + w], p);
        sh.product[j * 33 + i] = p;
      }
      __syncthreads();
      for (int e = t; e < s * s; e += threads) {
        const int i = e % s, j = e / s;
        double    p = 0;
        for (int w = 0; w <= i; ++w) p = fma(sh.inverse[(o + s + w) * pitch + o + s + i], sh.product[j * 33 + w], p);
        sh.inverse[(o + j) * pitch + o + s + i] = -p;
      }
      __syncthreads();
    }
}

// to := sh.inverse times the tile, whose rows are taken in the order of the sweep and scaled as the panel's own. All
// threads, 4 x 4 entries each.
template <class T> __device__ void join(Shared &sh, const T *tile, double *to)
{
  constexpr int few = 16, apart = height + 2;
  static_assert(few * apart <= sizeof(sh.product) / sizeof(double) && threads == few * few && height == 4 * few, "");
  const int t = (int)threadIdx.x, i = t % few, j = t / few;
  double    e[4][4] = {};
  for (int w0 = 0; w0 < height; w0 += few) {
    __syncthreads();
    for (int c = 0; c < 4; ++c)
      sh.product[i * apart + j + few * c] =
        sh.scale[w0 + i] * value(__ldcg(tile + (j + few * c) * height + sh.row[w0 + i]));
    __syncthreads();
    for (int w = 0; w < few; ++w)
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const double a = sh.inverse[(w0 + w) * pitch + i + few * r];
#pragma unroll
        for (int c = 0; c < 4; ++c) e[r][c] = fma(a, sh.product[w * apart + j + few * c], e[r][c]);
      }
  }
#pragma unroll
  for (int c = 0; c < 4; ++c)
#pragma unroll
    for (int r = 0; r < 4; ++r) to[(j + few * c) * height + i + few * r] = e[r][c];
}

// The rows of panel p in the order of sweep k: their places, factors, bounds, and what their own x and q add.
template <class T>
__device__ __forceinline__ void prepare_rows(const Job<T> &job, Shared &sh, const Panel &own, int p, int k)
{
  const int t = (int)threadIdx.x;
  if (t < height) {
    const int    r = job.inner(k, t), i = p * height + r;
    const double w = job.omega * job.inverse[i];
    sh.row[t]   = r;
    sh.turn[r]  = t;
    sh.scale[t] = w;
    sh.lower[t] = job.lower ? job.lower[i] : 0;
    sh.upper[t] = job.lower ? job.upper[i] : 0;
    sh.base[t]  = (1 - (job.inverse[i] != 0 ? job.omega : 0)) * own.x[r] - w * job.q[i];
  }
}

// The panel's own tile d, rows and columns in the order of the sweep.
template <class T> __device__ __forceinline__ void prepare_diagonal(Shared &sh, const T *d)
{
  const int t = (int)threadIdx.x;
  T         v16[columns];
#pragma unroll
  for (int c = 0; c < columns; ++c) v16[c] = __ldcg(d + sh.row[t / height + c * groups] * height + sh.row[t % height]);
#pragma unroll
  for (int c = 0; c < columns; ++c)
    sh.diagonal[(t / height + c * groups) * height + t % height] = sh.scale[t % height] * value(v16[c]);
}

// I + the lower triangle in the columns of rows between bounds: of what this thread has just written, if any.
__device__ __forceinline__ void prepare_triangle(Shared &sh, const Status &status)
{
  const int t = (int)threadIdx.x;
#pragma unroll
  for (int c = 0; c < columns; ++c) {
    const int   v = t / height + c * groups, w = t % height;
    const bool  at_bound      = (status.low | status.high) & (1ull << sh.row[v]);
    sh.inverse[v * pitch + w] = w == v ? 1 : w < v || at_bound ? 0 : sh.diagonal[v * height + w];
  }
}

// The inverse that was made before
__device__ __forceinline__ void load_inverse(Shared &sh, const double *saved)
{
  const int t = (int)threadIdx.x;
  double    i16[columns];
#pragma unroll
  for (int c = 0; c < columns; ++c) i16[c] = __ldcg(saved + t + c * threads);
#pragma unroll
  for (int c = 0; c < columns; ++c) sh.inverse[(t / height + c * groups) * pitch + t % height] = i16[c];
}

// The inverse of the triangle that is there, also for later; false: it has large entries.
template <class T>
__device__ __forceinline__ bool make_inverse(Shared &sh, const Status &status, Count stamp, Key *key, double *saved,
                                             const T *before)
{
  const int t = (int)threadIdx.x;
  invert(sh);
  bool small = true;
  for (int c = 0; c < columns; ++c) {
    const double e = sh.inverse[(t / height + c * groups) * pitch + t % height];
    saved[t + c * threads] = e;
    small                  = small && fabs(e) <= largest_inverse;
  }
  const bool usable = __syncthreads_and(small);
  if (usable && before) join(sh, before, saved + height * height);
  if (!t) {
    key->status = status;
    key->stamp  = stamp;
    key->usable = usable;
    key->joined = before != nullptr;
  }
  return usable;
}

// What x of the panel's own rows adds: of those behind a row, and of those at bounds.
__device__ __forceinline__ void add_own(Shared &sh, const Panel &own)
{
  const int u = my_row(), g = my_group();
  double    behind = 0, at_bound = 0;
  for (int c = 0; c < columns; ++c) {
    const int    v = c * groups + g, r = sh.row[v];
    const double e = sh.diagonal[v * height + u];
    if (v > u) behind = fma(e, own.x[r], behind);
    else if (v < u && ((own.status.low | own.status.high) >> r & 1))
      at_bound = fma(e, own.status.low >> r & 1 ? sh.lower[v] : sh.upper[v], at_bound);
  }
  behind = sum_of_row(behind);
  at_bound = sum_of_row(at_bound);
  if (!g) {
    sh.base[u] -= behind;
    sh.sum[u] = sh.base[u] - at_bound;
  }
}

// All that a panel's solve in sweep k needs and that is known since its last one. All threads. before: the tile of
// the panel before it, which the inverse is multiplied with. same_panel: the last call was for the same panel and
// order, so that what depends on these alone is there.
template <class T> __device__ void prepare(const Job<T> &job, Shared &sh, const Panel &own, int p, int k, bool inverse,
                                           const T *before = nullptr, bool same_panel = false)
{
  const int t = (int)threadIdx.x, u = my_row(), g = my_group();
  __syncthreads();
  prepare_rows(job, sh, own, p, k);
  const size_t place = (size_t)p * job.turns + (job.turns > 1 && job.backward(k));
  Key         *key   = job.keys + place;
  // is the inverse that of the last call, too?
  const bool   kept = same_panel && sh.status.low == own.status.low && sh.status.high == own.status.high;
  const bool   made = kept || (inverse && key->stamp == job.stamp && key->status.low == own.status.low &&
                              key->status.high == own.status.high && (!before || key->joined));
  const bool   fine  = !made || key->usable;
  __syncthreads(); // all have looked before the key changes
  if (!same_panel) prepare_diagonal(sh, job.tile(p, p));
  if (inverse && !made) prepare_triangle(sh, own.status);
  double *const saved = job.saved(k, p);
  if (made && !kept) load_inverse(sh, saved);
  __syncthreads();
  bool usable = inverse && fine;
  if (inverse && !made) usable = make_inverse(sh, own.status, job.stamp, key, saved, before);
  add_own(sh, own);
  __syncthreads();
  double known = 0;
  if (usable)
    for (int c = 0; c < columns; ++c)
      known = fma(sh.inverse[(c * groups + g) * pitch + u], sh.sum[c * groups + g], known);
  known = sum_of_row(known);
  if (!g) sh.known[u] = known;
  if (!t) {
    sh.status = own.status;
    sh.usable = usable;
  }
  __syncthreads();
}

// One warp solves the panel row after row, eight at a time: every lane has their sums and goes through the triangle
// of 8 x 8 by itself.
template <bool BOUNDS> __device__ void solve_rows(Shared &sh, double *x)
{
  const int lane = (int)threadIdx.x;
  double    y0 = sh.base[lane] - sh.sum[lane], y1 = sh.base[lane + 32] - sh.sum[lane + 32], x0 = 0, x1 = 0;
#pragma unroll
  for (int v0 = 0; v0 < height; v0 += 8) {
    double c[8];
#pragma unroll
    for (int m = 0; m < 8; ++m) c[m] = __shfl_sync(0xffffffffu, v0 < 32 ? y0 : y1, (v0 + m) % 32);
#pragma unroll
    for (int m = 0; m < 8; ++m) {
      if (BOUNDS) {
        const double low = sh.lower[v0 + m], high = sh.upper[v0 + m];
        c[m] = c[m] < low ? low : c[m] > high ? high : c[m];
      }
#pragma unroll
      for (int l = m + 1; l < 8; ++l) c[l] = fma(-sh.diagonal[(v0 + m) * height + v0 + l], c[m], c[l]);
      if (v0 < 32) {
        if (lane == v0 + m) x0 = c[m];
        y0 = fma(-sh.diagonal[(v0 + m) * height + lane], c[m], y0);
      } else if (lane + 32 == v0 + m) x1 = c[m];
      y1 = fma(-sh.diagonal[(v0 + m) * height + lane + 32], c[m], y1);
    }
  }
  x[sh.row[lane]]      = x0;
  x[sh.row[lane + 32]] = x1;
}

// After a solve: the panel's own copy of x, where its rows are now, and how far they went.
template <bool BOUNDS> __device__ inline void keep(Shared &sh, Panel &own, const double *x, Slot *slots, Count sweep)
{
  const int t = (int)threadIdx.x;
  __syncthreads();
  if (t < 32) {
    const int at = sh.turn[t], next = sh.turn[t + 32];
    double    d = fabs(x[t] - own.x[t]) + fabs(x[t + 32] - own.x[t + 32]);
    own.x[t]      = x[t];
    own.x[t + 32] = x[t + 32];
    for (int o = 16; o; o /= 2) d += __shfl_xor_sync(0xffffffffu, d, o);
    Status status;
    if (BOUNDS) {
      status.low = __ballot_sync(0xffffffffu, x[t] <= sh.lower[at]) |
                   (Count)__ballot_sync(0xffffffffu, x[t + 32] <= sh.lower[next]) << 32;
      status.high = __ballot_sync(0xffffffffu, x[t] >= sh.upper[at]) |
                    (Count)__ballot_sync(0xffffffffu, x[t + 32] >= sh.upper[next]) << 32;
      status.high &= ~status.low;
    }
    if (!t) {
      sh.change  = d;
      own.status = status;
      if (slots) write_slot(slots + height + (sweep & 1), d, sweep);
    }
  }
  __syncthreads();
}

// A thread's part of row u of the inverse times the panel's sums
__device__ __forceinline__ double times_inverse(const Shared &sh, int u, int g)
{
  double c0 = 0, c1 = 0;
#pragma unroll
  for (int c = 0; c < columns; c += 2) {
    c0 = fma(sh.inverse[(c * groups + g) * pitch + u], sh.sum[c * groups + g], c0);
    c1 = fma(sh.inverse[((c + 1) * groups + g) * pitch + u], sh.sum[(c + 1) * groups + g], c1);
  }
  return c0 + c1;
}

// A panel's solve: all threads, sums in own.now. x of its rows goes to `x`, to the panel's own copy and (slots) to
// whoever waits.
template <bool BOUNDS> __device__ void solve(Shared &sh, Panel &own, double *x, Slot *slots, Count sweep)
{
  const int    t = (int)threadIdx.x, u = my_row(), g = my_group();
  const double s = sum_of_row(own.now[t]); // of row u of the panel
  const int    r = sh.row[u];
  if (!g) sh.sum[sh.turn[u]] = sh.scale[sh.turn[u]] * s;
  __syncthreads();
  bool all = sh.usable;
  if (all) {
    double now = sh.known[u] - sum_of_row(times_inverse(sh, u, g));
    if (BOUNDS) {
      const double low = sh.lower[u], high = sh.upper[u];
      const bool   is_low = sh.status.low >> r & 1, is_high = sh.status.high >> r & 1;
      all = __syncthreads_and(is_low ? now <= low : is_high ? now >= high : now >= low && now <= high);
      now = is_low ? low : is_high ? high : now;
    }
    if (all && !g) {
      if (slots) write_slot(slots + r, now, sweep);
      x[r] = now;
    }
  }
  if (!all) {
    if (t < 32) solve_rows<BOUNDS>(sh, x);
    __syncthreads();
    if (slots && t < height) write_slot(slots + t, x[t], sweep);
  }
  keep<BOUNDS>(sh, own, x, slots, sweep);
}

// After a wait in vain: nobody shall take what is there for an answer, least of all where no norm is asked for.
template <class T> __device__ inline void give_up(const Job<T> &job, int p)
{
  if (threadIdx.x < height) job.x[p * height + threadIdx.x] = NAN;
}

// The end of a sweep: is it the last?
template <class T>
__device__ inline bool ended(const Job<T> &job, Shared &sh, double *report, int k, bool collect, double total)
{
  const int t = (int)threadIdx.x, me = (int)blockIdx.x;
  if (!collect) {
    if (!me && !t) report[0] = k + 1;
    return false;
  }
  if (t == height) {
    sh.total = total;
    if (!me) {
      job.history[k] = total;
      report[0]      = k + 1;
    }
  }
  if (job.tolerance < 0) return false;
  __syncthreads();
  const double change = sh.total;
  const bool   dead   = sh.dead;
  __syncthreads();
  return dead || !(change > job.tolerance && change < 1e300); // all blocks have the same sum
}

template <class T, bool BOUNDS> __device__ void start(const Job<T> &job, Shared &sh, Panel &own, int p)
{
  const int t = (int)threadIdx.x;
  T         tile[columns];
  double    sum = 0;
  if (t < height) own.x[t] = job.x[p * height + t];
  if (!t) own.status = Status();
  __syncthreads();
  if (BOUNDS && t < 32) {
    const int o = p * height;
    Status    status;
    status.low = __ballot_sync(0xffffffffu, own.x[t] <= job.lower[o + t]) |
                 (Count)__ballot_sync(0xffffffffu, own.x[t + 32] <= job.lower[o + t + 32]) << 32;
    status.high = __ballot_sync(0xffffffffu, own.x[t] >= job.upper[o + t]) |
                  (Count)__ballot_sync(0xffffffffu, own.x[t + 32] >= job.upper[o + t + 32]) << 32;
    status.high &= ~status.low;
    if (!t) own.status = status;
  }
  if (!job.flags.zero) // what comes after the panel in the first sweep
    for (int s = job.position(0, p) + 1; s < job.count; ++s) {
      const int j = job.outer(0, s);
      __syncthreads();
      if (t < height) sh.x[0][t] = job.x[j * height + t];
      __syncthreads();
      fetch(job.tile(p, j), tile);
      sum += product(tile, sh.x[0]);
    }
  own.now[t]  = sum;
  own.then[t] = 0;
  __syncthreads();
}

} // namespace
} // namespace tessera::densegs
#endif
