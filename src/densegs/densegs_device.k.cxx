// The device's sweeps: one persistent kernel for all of them (sections III.D and IV.A of the paper), and the strategy block, which
// launches two kernels a panel.
//
// Every block of threads owns panels. When a panel's x is published all owners multiply their tiles in its columns with it, and the owner
// of the next panel in the order then solves that one. What a sweep takes is therefore the larger of two times: reading the matrix, and
// the chain of panels one after the other. A link of the chain: x comes through the second-level cache (value and number of the sweep in
// 16 bytes, so that no flag has to be waited for first), is multiplied with the tile before the diagonal, which was fetched long
// before, and the panel is solved. Row after row that takes some 80 cycles each. But most rows of a problem with bounds end where they
// ended in the sweep before, at a bound or between: then a panel is a triangular system whose inverse can be made while there is
// time, and its solution is a product. If all signs are as they were it is what the rows one after the other give, up to rounding; if
// not, these are done after all, and another inverse is made for the next sweep. Without bounds the inverse stays.
//
// Nobody waits for ever: all blocks run at once (cooperative launch), and a wait ends after some seconds with an error.
#include "densegs/densegs.hpp"
#include <algorithm>
#include <cmath>
#include <string>

namespace tessera::densegs {

#ifdef __CUDACC__
namespace {

using Count = unsigned long long;
constexpr int threads = 256, groups = threads / height, columns = height / groups; // a thread: a row of a tile, every fourth of its columns
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
  asm volatile("{ .reg .b128 v; ld.relaxed.gpu.global.b128 v, [%2]; mov.b128 {%0, %1}, v; }" : "=l"(a), "=l"(b) : "l"(p) : "memory");
  return {__longlong_as_double((long long)a), b};
}
__device__ inline void write_slot(Slot *p, double value, Count sweep)
{
  asm volatile("{ .reg .b128 v; mov.b128 v, {%1, %2}; st.relaxed.gpu.global.b128 [%0], v; }" ::"l"(p), "l"((Count)__double_as_longlong(value)), "l"(sweep) : "memory");
}

// Where the rows of a panel are: at their lower bounds, at their upper ones (bits), else between.
struct Status {
  Count low = 0, high = 0;
};
struct Key { // of the inverse of a panel: for these bounds, of this matrix; not to be used if it has large entries
  Status status;
  Count  stamp = 0, usable = 0;
};

template <class T> struct Job {
  const T      *a;
  const double *inverse, *q, *lower, *upper;
  double       *x, *triangles; // triangles: inverses, for each panel one, or two where the order alternates
  Key          *keys;
  Slot         *slots;
  const int    *order;   // random: for each sweep count panels, their positions, 64 rows
  double       *history; // change of each sweep; behind it: sweeps made, and an error
  int           count, stride, most, first, turns;
  Order         kind;
  double        omega, tolerance;
  Count         base, stamp;
  bool          zero, wants_history, wait, ahead;

  __device__ bool backward(int k) const { return kind == Order::backward || (kind == Order::symmetric && (first + k) % 2); }
  __device__ const int *table(int k) const { return order + (size_t)k * (2 * count + height); }
  __device__ int  outer(int k, int s) const { return kind == Order::random ? table(k)[s] : backward(k) ? count - 1 - s : s; }
  __device__ int  position(int k, int p) const { return kind == Order::random ? table(k)[count + p] : backward(k) ? count - 1 - p : p; }
  __device__ int  inner(int k, int u) const { return kind == Order::random ? table(k)[2 * count + u] : backward(k) ? height - 1 - u : u; }
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
  double now[threads], then[threads]; // sums over other panels for the next solve and the one after it, a quarter of the columns each
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

template <class T> __device__ inline void fetch(const T *tile, T (&v)[columns])
{
  const T *p = tile + my_group() * height + my_row();
#pragma unroll
  for (int c = 0; c < columns; ++c) v[c] = __ldcg(p + c * groups * height);
}
template <class T> __device__ inline double product(const T (&v)[columns], const double *x)
{
  const double *xs = x + my_group();
  double        s[4] = {0, 0, 0, 0};
#pragma unroll
  for (int c = 0; c < columns; ++c) s[c % 4] = fma(value(v[c]), xs[c * groups], s[c % 4]);
  return (s[0] + s[1]) + (s[2] + s[3]);
}

// The inverse of the unit triangle that sh.inverse holds, in place: triangles of 8 by columns, then twice as large ones from these,
// inv([A 0; B C]) = [A^-1 0; -C^-1 B A^-1 C^-1].
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
        for (int w = j; w < s; ++w) p = fma(sh.inverse[(o + w) * pitch + o + s + i], sh.inverse[(o + j) * pitch + o + w], p);
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

// All that a panel's solve in sweep k needs and that is known since its last one. All threads.
template <class T> __device__ void prepare(const Job<T> &job, Shared &sh, const Panel &own, int p, int k, bool inverse)
{
  const int t = (int)threadIdx.x, u = my_row(), g = my_group();
  const T  *d = job.tile(p, p);
  T         v16[columns];
  __syncthreads();
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
  const size_t place = (size_t)p * job.turns + (job.turns > 1 && job.backward(k));
  Key         *key   = job.keys + place;
  const bool   there = inverse && key->stamp == job.stamp && key->status.low == own.status.low && key->status.high == own.status.high;
  const bool   fine  = !there || key->usable;
  __syncthreads(); // all have looked before the key changes
#pragma unroll
  for (int c = 0; c < columns; ++c) v16[c] = __ldcg(d + sh.row[t / height + c * groups] * height + sh.row[t % height]);
#pragma unroll
  for (int c = 0; c < columns; ++c) {
    const int    v = t / height + c * groups, w = t % height;
    const double e = sh.scale[w] * value(v16[c]);
    const Count  bit = 1ull << sh.row[v];
    sh.diagonal[v * height + w] = e;
    if (inverse && !there) sh.inverse[v * pitch + w] = w == v ? 1 : w < v || ((own.status.low | own.status.high) & bit) ? 0 : e;
  }
  double *saved = job.triangles + place * (height * height);
  if (there) {
    double i16[columns];
#pragma unroll
    for (int c = 0; c < columns; ++c) i16[c] = __ldcg(saved + t + c * threads);
#pragma unroll
    for (int c = 0; c < columns; ++c) sh.inverse[(t / height + c * groups) * pitch + t % height] = i16[c];
  }
  __syncthreads();
  bool usable = inverse && fine;
  if (inverse && !there) {
    invert(sh);
    bool small = true;
    for (int c = 0; c < columns; ++c) {
      const double e = sh.inverse[(t / height + c * groups) * pitch + t % height];
      saved[t + c * threads] = e;
      small                  = small && fabs(e) <= largest_inverse;
    }
    usable = __syncthreads_and(small);
    if (!t) {
      key->status = own.status;
      key->stamp  = job.stamp;
      key->usable = usable;
    }
  }
  // What x of the panel's own rows adds: of those behind a row, and of those at bounds.
  double    behind = 0, fixed = 0;
  for (int c = 0; c < columns; ++c) {
    const int    v = c * groups + g, r = sh.row[v];
    const double e = sh.diagonal[v * height + u];
    if (v > u) behind = fma(e, own.x[r], behind);
    else if (v < u && ((own.status.low | own.status.high) >> r & 1)) fixed = fma(e, own.status.low >> r & 1 ? sh.lower[v] : sh.upper[v], fixed);
  }
  behind = sum_of_row(behind);
  fixed  = sum_of_row(fixed);
  if (!g) {
    sh.base[u] -= behind;
    sh.sum[u] = sh.base[u] - fixed;
  }
  __syncthreads();
  double known = 0;
  if (usable)
    for (int c = 0; c < columns; ++c) known = fma(sh.inverse[(c * groups + g) * pitch + u], sh.sum[c * groups + g], known);
  known = sum_of_row(known);
  if (!g) sh.known[u] = known;
  if (!t) {
    sh.status = own.status;
    sh.usable = usable;
  }
  __syncthreads();
}

// One warp solves the panel row after row, eight at a time: every lane has their sums and goes through the triangle of 8 x 8 by itself.
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

// A panel's solve: all threads, sums in own.now. x of its rows goes to `x`, to the panel's own copy and (slots) to whoever waits.
template <bool BOUNDS> __device__ void solve(Shared &sh, Panel &own, double *x, Slot *slots, Count sweep)
{
  const int    t = (int)threadIdx.x, u = my_row(), g = my_group();
  const double s = sum_of_row(own.now[t]); // of row u of the panel
  const int    r = sh.row[u];
  if (!g) sh.sum[sh.turn[u]] = sh.scale[sh.turn[u]] * s;
  __syncthreads();
  bool all = sh.usable;
  if (all) {
    double c0 = 0, c1 = 0;
#pragma unroll
    for (int c = 0; c < columns; c += 2) {
      c0 = fma(sh.inverse[(c * groups + g) * pitch + u], sh.sum[c * groups + g], c0);
      c1 = fma(sh.inverse[((c + 1) * groups + g) * pitch + u], sh.sum[(c + 1) * groups + g], c1);
    }
    double now = sh.known[u] - sum_of_row(c0 + c1);
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
  __syncthreads();
  if (t < 32) {
    const int at = sh.turn[t], next = sh.turn[t + 32];
    double    d = fabs(x[t] - own.x[t]) + fabs(x[t + 32] - own.x[t + 32]);
    own.x[t]      = x[t];
    own.x[t + 32] = x[t + 32];
    for (int o = 16; o; o /= 2) d += __shfl_xor_sync(0xffffffffu, d, o);
    Status status;
    if (BOUNDS) {
      status.low  = __ballot_sync(0xffffffffu, x[t] <= sh.lower[at]) | (Count)__ballot_sync(0xffffffffu, x[t + 32] <= sh.lower[next]) << 32;
      status.high = __ballot_sync(0xffffffffu, x[t] >= sh.upper[at]) | (Count)__ballot_sync(0xffffffffu, x[t + 32] >= sh.upper[next]) << 32;
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

constexpr unsigned patience = 1u << 22; // polls: some seconds

template <class T, bool BOUNDS> __global__ void __launch_bounds__(threads, 2) sweeps(Job<T> job)
{
  extern __shared__ __align__(16) char memory[];
  Shared   &sh    = *(Shared *)memory;
  Panel    *panel = (Panel *)(memory + sizeof(Shared));
  const int t = (int)threadIdx.x, me = (int)blockIdx.x, blocks = (int)gridDim.x, own = (job.count - me + blocks - 1) / blocks;
  double   *report = job.history + job.most;
  const bool collect = job.wait && (job.tolerance >= 0 || (!me && job.wants_history)); // of every panel its change
  const bool inverse = job.kind != Order::random;
  T         tile[columns];
  int       ready_sweep = -1, ready_panel = -1, parity = 0;
  bool      have = false; // the next tile is in `tile`, or on its way there

  if (!t) sh.dead = 0;
  for (int i = 0; i < own; ++i) {
    const int p = me + i * blocks;
    panel[i].now[t] = panel[i].then[t] = 0;
    if (t < height) panel[i].x[t] = job.x[p * height + t];
    if (!t) panel[i].status = Status();
    __syncthreads();
    if (BOUNDS && t < 32) {
      const int      o = p * height;
      Status         status;
      const double  *x = panel[i].x;
      status.low  = __ballot_sync(0xffffffffu, x[t] <= job.lower[o + t]) | (Count)__ballot_sync(0xffffffffu, x[t + 32] <= job.lower[o + t + 32]) << 32;
      status.high = __ballot_sync(0xffffffffu, x[t] >= job.upper[o + t]) | (Count)__ballot_sync(0xffffffffu, x[t + 32] >= job.upper[o + t + 32]) << 32;
      status.high &= ~status.low;
      if (!t) panel[i].status = status;
    }
    if (!job.zero) // what comes after the panel in the first sweep
      for (int s = job.position(0, p) + 1; s < job.count; ++s) {
        const int j = job.outer(0, s);
        __syncthreads();
        if (t < height) sh.x[0][t] = job.x[j * height + t];
        __syncthreads();
        fetch(job.tile(p, j), tile);
        panel[i].now[t] += product(tile, sh.x[0]);
      }
  }
  __syncthreads();
  auto is_mine = [&](int p) { return blocks == job.count ? p == me : p % blocks == me; };
  // Is the tile of own panel i in the columns of position s needed, for this sweep's solve or the next one's?
  auto needed = [&](int k, int s, int i) {
    const int p = me + i * blocks, j = job.outer(k, s);
    if (j == p) return false;
    return s < job.position(k, p) || (k + 1 < job.most && job.position(k + 1, j) > job.position(k + 1, p));
  };
  // The place of the next tile at or after (k, s, i).
  auto seek = [&](int &k, int &s, int &i) {
    for (; k < job.most; ++k, s = 0)
      for (; s < job.count; ++s, i = 0)
        for (; i < own; ++i)
          if (needed(k, s, i)) return true;
    return false;
  };
  int  nk = 0, ns = 0, ni = 0;
  bool more = seek(nk, ns, ni);
  auto look_ahead = [&] {
    if (!job.ahead || !more || have) return;
    fetch(job.tile(me + ni * blocks, job.outer(nk, ns)), tile);
    have = true;
  };
  look_ahead();

  for (int k = 0; k < job.most; ++k) {
    double total = 0; // in one thread
    for (int s = 0; s < job.count; ++s) {
      const int  j = job.outer(k, s);
      const bool mine = is_mine(j);
      // The next own panel that is near is made ready while there is time; an only one was right after its last solve.
      for (int d = mine ? 0 : 1; d <= 6 && (blocks != job.count || ready_sweep < 0); ++d) {
        const int k2 = s + d < job.count ? k : k + 1, s2 = s + d < job.count ? s + d : s + d - job.count;
        if (k2 >= job.most || s2 >= job.count) break;
        const int p = job.outer(k2, s2);
        if (!is_mine(p)) continue;
        if (ready_sweep == k2 && ready_panel == p) break;
        if (k2 > k && job.position(k, p) > s) continue; // its x will change in this sweep yet
        prepare(job, sh, panel[p / blocks], p, k2, inverse);
        ready_sweep = k2;
        ready_panel = p;
        break;
      }
      const bool urgent = s + 1 < job.count ? is_mine(job.outer(k, s + 1)) : k + 1 < job.most && is_mine(job.outer(k + 1, 0));
      double *const x = sh.x[parity];
      if (mine) {
        solve<BOUNDS>(sh, panel[j / blocks], x, job.slots + (size_t)j * meeting, job.base + (Count)k);
        if (t == height) total += sh.change;
        panel[j / blocks].now[t]  = panel[j / blocks].then[t];
        panel[j / blocks].then[t] = 0;
        if (blocks == job.count && k + 1 < job.most) { // the only panel: there is a whole sweep's time
          prepare(job, sh, panel[0], j, k + 1, inverse);
          ready_sweep = k + 1;
        }
      } else {
        const bool wanted = more && nk == k && ns == s;
        if (!wanted && !collect) continue;
        if (t < height ? wanted : t == height && collect) {
          const Slot *const at = job.slots + (size_t)j * meeting + (t < height ? t : height + (int)((job.base + (Count)k) & 1));
          Slot              v = read_slot(at);
          for (unsigned polls = 0; job.wait && v.sweep < job.base + (Count)k; v = read_slot(at))
            if (++polls >= patience || (polls % 1024 == 0 && *(volatile double *)(report + 1) != 0)) {
              report[1] = 1; // all who write write this
              sh.dead   = 1;
              break;
            }
          if (t < height) x[t] = v.value;
          else total += v.value;
        }
        __syncthreads();
        if (sh.dead) return;
      }
      while (more && nk == k && ns == s) {
        Panel    &to = panel[ni];
        const int p  = me + ni * blocks;
        if (!have) fetch(job.tile(p, j), tile);
        have = false;
        const double y = product(tile, x);
        const bool   solved = job.position(k, p) < s;
        to.now[t] += y;
        if (!solved && k + 1 < job.most && job.position(k + 1, j) > job.position(k + 1, p)) to.then[t] += y;
        ++ni;
        more = seek(nk, ns, ni);
        // Just before an own solve the fetching waits: it would stand in the way of what the solve reads and writes.
        if (!urgent || (more && nk == k && ns == s)) look_ahead();
      }
      if (mine) look_ahead();
      parity ^= 1;
    }
    if (!collect) {
      if (!me && !t) report[0] = k + 1;
      continue;
    }
    if (t == height) {
      sh.total = total;
      if (!me) {
        job.history[k] = total;
        report[0]      = k + 1;
      }
    }
    __syncthreads();
    const double change = sh.total;
    __syncthreads();
    if (job.tolerance >= 0 && !(change > job.tolerance && change < 1e300)) break; // all blocks have the same sum
  }
  __syncthreads();
  for (int i = 0; i < own; ++i)
    if (t < height) job.x[(me + i * blocks) * height + t] = panel[i].x[t];
}

// x where those who do not wait look for it.
__global__ void publish(const double *x, Slot *slots, int count)
{
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count * height) write_slot(slots + (size_t)(i / height) * meeting + i % height, x[i], 0);
}

// The strategy block: sums over the panels after each one,
template <class T> __global__ void __launch_bounds__(threads) sum_after(Job<T> job, double *sum)
{
  const int p = (int)blockIdx.x, t = (int)threadIdx.x;
  T         tile[columns];
  double    s = 0;
  for (int at = job.position(0, p) + 1; at < job.count; ++at) {
    const int j = job.outer(0, at);
    fetch(job.tile(p, j), tile);
    s += product(tile, job.x + j * height);
  }
  sum[(size_t)p * threads + t] = s;
}
// then for each panel a launch that solves it, one of whose blocks has the work,
template <class T, bool BOUNDS> __global__ void __launch_bounds__(threads) solve_block(Job<T> job, int p, const double *sum)
{
  extern __shared__ __align__(16) char memory[];
  Shared   &sh  = *(Shared *)memory;
  Panel    &own = *(Panel *)(memory + sizeof(Shared));
  const int t   = (int)threadIdx.x;
  own.now[t] = sum[(size_t)p * threads + t];
  if (t < height) own.x[t] = job.x[p * height + t];
  if (!t) {
    own.status = Status();
    sh.usable  = 0;
  }
  prepare(job, sh, own, p, 0, false);
  solve<BOUNDS>(sh, own, sh.x[0], nullptr, 0);
  if (t < height) job.x[p * height + t] = sh.x[0][t];
  if (!t) *job.history += sh.change;
}
// and one that multiplies with its x.
template <class T> __global__ void __launch_bounds__(threads) push_block(Job<T> job, int j, double *sum)
{
  const int p = job.outer(0, job.position(0, j) + 1 + (int)blockIdx.x);
  T         tile[columns];
  fetch(job.tile(p, j), tile);
  sum[(size_t)p * threads + threadIdx.x] += product(tile, job.x + j * height);
}

template <class T> Job<T> make(Plan &plan, const T *a, const Request &r)
{
  const Panels &m = plan.panels;
  Job<T>        job;
  if (plan.slots.empty()) plan.slots.resize(Extent{2 * (size_t)meeting * (size_t)m.count, Space::cuda});
  const int turns = plan.params.order == Order::symmetric ? 2 : 1;
  if (plan.triangles.size() != (size_t)m.count * turns * height * height) {
    plan.triangles.resize(Extent{(size_t)m.count * turns * height * height, Space::cuda});
    plan.keys.resize(Extent{(size_t)m.count * turns * sizeof(Key) / sizeof(double), Space::cuda});
  }
  if (plan.kept_order != (int)plan.params.order || plan.kept_omega != plan.params.omega) { // the inverses are those of one order
    plan.kept_order = (int)plan.params.order;
    plan.kept_omega = plan.params.omega;
    ++plan.stamp;
  }
  if (plan.report.size() < (size_t)r.most + 2) plan.report.resize(Extent{(size_t)std::max(r.most, 64) + 2, Space::cuda});
  if (plan.params.order == Order::random) {
    std::vector<int> table;
    Sequence         s;
    for (int k = 0; k < r.most; ++k) {
      sequence(m, Order::random, r.first + k, s);
      for (const std::vector<int> *v : {&s.outer, &s.position, &s.inner}) table.insert(table.end(), v->begin(), v->end());
    }
    if (plan.order.size() < table.size()) plan.order.resize(Extent{table.size(), Space::cuda});
    device::copy_from_host(plan.order.data(), table.data(), table.size() * sizeof(int));
  }
  job.a       = a;
  job.inverse = m.inverse.data();
  job.q       = r.q;
  job.lower   = r.lower;
  job.upper   = r.upper;
  job.x       = r.x;
  job.slots   = (Slot *)plan.slots.data();
  job.triangles = plan.triangles.data();
  job.keys    = (Key *)plan.keys.data();
  job.turns   = turns;
  job.stamp   = plan.stamp;
  job.order   = plan.order.data();
  job.history = plan.report.data();
  job.count   = m.count;
  job.stride  = m.stride;
  job.most    = r.most;
  job.first   = r.first;
  job.kind    = plan.params.order;
  job.omega   = plan.params.omega;
  job.tolerance = r.tolerance;
  job.base    = 2 * plan.epoch + 2;
  job.zero    = r.zero;
  job.wants_history = r.change != nullptr;
  job.wait    = plan.params.strategy != Strategy::relaxed;
  job.ahead   = plan.params.strategy != Strategy::graph;
  return job;
}

template <class T, bool BOUNDS> int run_persistent(Plan &plan, Job<T> job, const Request &r)
{
  int         current = 0, processors = 0, fit = 0, most = 0;
  void      (*kernel)(Job<T>) = sweeps<T, BOUNDS>;
  size_t      bytes = 0;
  int         blocks = 0;
  if (device::failed()) return 0;
  device::check(cudaGetDevice(&current));
  device::check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, current));
  device::check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, current));
  // Two blocks on a processor where there are panels for them: more of the matrix is on its way then.
  for (int each = 2; each; --each) {
    blocks = std::min(job.count, each * processors);
    bytes  = sizeof(Shared) + (size_t)((job.count + blocks - 1) / blocks) * sizeof(Panel);
    if (bytes > (size_t)most) continue;
    device::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    device::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, threads, bytes));
    if ((long)fit * processors >= blocks) break;
    fit = 0;
  }
  if (!fit) throw DeviceError("dense Gauss-Seidel: " + std::to_string(plan.panels.n) + " unknowns are too many for the shared memory of this device");
  if (!job.wait) publish<<<(unsigned)((job.count * height + 255) / 256), 256, 0, (cudaStream_t)device::stream()>>>(job.x, job.slots, job.count);
  device::zero(job.history + r.most, 2 * sizeof(double));
  cudaLaunchConfig_t   c = {};
  cudaLaunchAttribute  cooperative = {};
  cooperative.id              = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  c.gridDim          = dim3((unsigned)blocks);
  c.blockDim         = dim3(threads);
  c.dynamicSmemBytes = bytes;
  c.stream           = (cudaStream_t)device::stream();
  c.attrs            = &cooperative;
  c.numAttrs         = 1;
  device::check(cudaLaunchKernelEx(&c, kernel, job));
  plan.epoch += (unsigned long long)r.most + 1;
  if (!r.change && r.tolerance < 0) return r.most; // nobody waits; an error shows in the next residual
  std::vector<double> report((size_t)r.most + 2);
  device::copy_to_host(report.data(), job.history, report.size() * sizeof(double));
  if (report[(size_t)r.most + 1] != 0) throw DeviceError("dense Gauss-Seidel: blocks of threads waited in vain for each other. Is another program holding the device?");
  const int made = (int)report[(size_t)r.most];
  if (r.change) std::copy(report.begin(), report.begin() + made, r.change);
  return made;
}

template <class T, bool BOUNDS> int run_blocks(Plan &plan, Job<T> job, const Request &r)
{
  const size_t bytes = sizeof(Shared) + sizeof(Panel);
  if (plan.after.size() < (size_t)job.count * threads) plan.after.resize(Extent{(size_t)job.count * threads, Space::cuda});
  double *const sum = plan.after.data();
  device::check(cudaFuncSetAttribute(solve_block<T, BOUNDS>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  for (int k = 0; k < r.most; ++k, ++job.first, job.order += 2 * job.count + height, ++job.history) {
    device::zero(job.history, sizeof(double));
    device::launch(sum_after<T>, dim3((unsigned)job.count), dim3(threads), 0, job, sum);
    Sequence s;
    sequence(plan.panels, plan.params.order, r.first + k, s);
    for (int at = 0; at < job.count; ++at) {
      device::launch(solve_block<T, BOUNDS>, dim3(1), dim3(threads), bytes, job, s.outer[(size_t)at], (const double *)sum);
      if (at + 1 < job.count) device::launch(push_block<T>, dim3((unsigned)(job.count - at - 1)), dim3(threads), 0, job, s.outer[(size_t)at], sum);
    }
    if (r.tolerance < 0) continue;
    double c;
    device::copy_to_host(&c, job.history, sizeof(c));
    if (r.change) r.change[k] = c;
    if (c <= r.tolerance || !std::isfinite(c)) return k + 1;
  }
  if (r.change && r.tolerance < 0) device::copy_to_host(r.change, job.history - r.most, (size_t)r.most * sizeof(double));
  return r.most;
}

template <class T> int run(Plan &plan, const T *a, const Request &r)
{
  const Job<T> job = make(plan, a, r);
  const bool   blocks = plan.params.strategy == Strategy::block || plan.params.strategy == Strategy::sequential;
  if (r.lower) return blocks ? run_blocks<T, true>(plan, job, r) : run_persistent<T, true>(plan, job, r);
  return blocks ? run_blocks<T, false>(plan, job, r) : run_persistent<T, false>(plan, job, r);
}

} // namespace
#endif

int sweep_device(Plan &plan, const Request &r)
{
  if (plan.params.strategy == Strategy::row || plan.params.strategy == Strategy::column) return sweep_launches(plan, r);
#ifdef __CUDACC__
  return plan.panels.single() ? run(plan, plan.panels.s.data(), r) : run(plan, plan.panels.a.data(), r);
#else
  // The emulated device: the host's schedule, in the device's memory.
  const device::Open open(Space::cuda);
  device::launched(device::Blocks{plan.panels.count, 1});
  return sweep_host(plan, r, true);
#endif
}

} // namespace tessera::densegs
