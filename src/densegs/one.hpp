// The persistent kernel in which each block of threads has one panel: up to 16896 unknowns on a device with 132
// processors. device.k.cxx tells what it is a part of.
#pragma once
#include "densegs/panel_solve.hpp"

#ifdef __CUDACC__
namespace tessera::densegs {
namespace {

// Where a block has registers for one tile, the product with an inverse takes its place.
__device__ inline double (&joint_of(double (&tile)[columns], double (&)[1]))[columns] { return tile; }
template <class T> __device__ inline double (&joint_of(T (&)[columns], double (&own)[columns]))[columns] { return own; }

// A block's tiles on their way through the registers, and the sums that they add to. Its functions are parts of the
// kernel: all of it has to stay in registers. EACH: blocks on a processor.
template <class T, int EACH, bool PASSING> struct Tiles {
  // Is the product with an inverse used? Two blocks on a processor have registers for it in double precision alone,
  // where it takes the place of a tile: an inverse is double.
  static constexpr bool joins = EACH == 1 || sizeof(T) == sizeof(double);
  static constexpr int  depth = EACH == 1 ? 3 : 1, ahead = EACH == 1 ? 0 : 1;
  const int  t = (int)threadIdx.x, me = (int)blockIdx.x;
  const bool collect, alternate; // collect: of every panel its change
  double    *report;
  T          tile[depth][columns];
  int        parity = 0;
  bool       joined = false; // the inverse times the tile of the panel that comes just before this one is there
  double     now = 0, then = 0, total = 0; // total: in one thread

  __device__ __forceinline__ Tiles(const Job<T> &job) :
    collect(job.flags.wait && (job.tolerance >= 0 || (!me && job.flags.wants_history))),
    alternate(job.kind == Order::symmetric), report(job.history + job.sweeps)
  {
  }
  // The tile of the panel that comes just before this one in sweep k; nullptr where there is none or it is not used.
  __device__ __forceinline__ const T *before(const Job<T> &job, int k) const
  {
    const bool back = job.backward(k);
    if (!joins || !job.flags.ahead || me == (back ? job.count - 1 : 0)) return nullptr;
    return job.tile(me, back ? me + 1 : me - 1);
  }
  // Begins to read the first tiles of the positions [from, to) of sweep k.
  __device__ __forceinline__ void send_for(const Job<T> &job, int k, int from, int to)
  {
    const bool back = job.backward(k);
    if (!job.flags.ahead) return;
#pragma unroll
    for (int d = 0; d < depth; ++d)
      if (from + d < to) fetch<PASSING>(job.tile(me, back ? job.count - 1 - from - d : from + d), tile[d]);
  }
  // Brings what is needed `ahead` positions after position `at` of sweep k, or of the next sweep, from memory to the
  // second-level cache.
  __device__ __forceinline__ void prefetch(const Job<T> &job, int k, int at) const
  {
    int  s = at + ahead;
    bool back = job.backward(k);
    if (!ahead || !job.flags.ahead) return;
    const int own = back ? job.count - 1 - me : me;
    if (alternate) {
      if (s >= own) s -= own, back = !back;
    } else if (s >= job.count) s -= job.count;
    if (s >= job.count) return;
    const bool  inverse = joined && !alternate && s == own - 1;
    const char *line    = (inverse ? (const char *)(job.saved(k, me) + height * height)
                                   : (const char *)job.tile(me, back ? job.count - 1 - s : s)) +
                       t * 128;
    if (t * 128 < (int)(height * height * (inverse ? sizeof(double) : sizeof(T))))
      asm volatile("prefetch.global.L2 [%0];" ::"l"(line));
  }
  // Multiplies the tiles of the positions [from, to), each with its x, while the next ones are being read. Returns
  // false where an x did not come.
  __device__ __forceinline__ bool multiply(const Job<T> &job, Shared &sh, int k, int from, int to, bool twice)
  {
    const bool  back = job.backward(k);
    const Count sweep = job.base + (Count)k;
    for (int s = from; s < to; s += depth)
#pragma unroll
      for (int d = 0; d < depth; ++d) {
        const int at = s + d, j = back ? job.count - 1 - at : at, next = back ? j - depth : j + depth;
        if (at >= to) break;
        if (!job.flags.ahead) fetch<PASSING>(job.tile(me, j), tile[d]);
        prefetch(job, k, at + depth);
        if (!await(job, sh, report, j, sweep, true, collect, sh.x[parity], total)) return false;
        const double y = product(tile[d], sh.x[parity]);
        now += y;
        if (twice) then += y;
        parity ^= 1;
        if (job.flags.ahead && at + depth < to) fetch<PASSING>(job.tile(me, next), tile[d]);
      }
    return true;
  }
  // Adds what the x that came last contributes to the sums, where the product with an inverse has stood for it.
  __device__ __forceinline__ void add_adjacent(const Job<T> &job, const Shared &sh, int k)
  {
    T adjacent[columns];
    fetch<PASSING>(before(job, k), adjacent);
    const double y = product(adjacent, sh.x[parity ^ 1]);
    now += y;
    if (alternate) then += y;
  }
};

// What a thread knows of its row before the last x comes.
struct Row {
  int    turn, row;
  double scale, known, low, high;
  bool   is_low, is_high;

  __device__ __forceinline__ Row(const Shared &sh)
  {
    const int u = my_row();
    turn    = sh.turn[u];
    row     = sh.row[u];
    scale   = sh.scale[turn];
    known   = sh.known[u];
    low     = sh.lower[u];
    high    = sh.upper[u];
    is_low  = sh.status.low >> row & 1;
    is_high = sh.status.high >> row & 1;
  }
  // Adds up the threads' sums over other panels and leaves the row's in shared memory, in the order of the sweep.
  __device__ __forceinline__ void sum(Shared &sh, double now) const
  {
    const double s = sum_of_row(now);
    if (!my_group()) sh.sum[turn] = scale * s;
  }
  // v is x of the row if all rows are where they were, at their bounds or between: it goes to `x` and to whoever waits.
  template <bool BOUNDS> __device__ __forceinline__ bool publish(double v, double *x, Slot *slots, Count sweep) const
  {
    bool all = true;
    if (BOUNDS) {
      all = __syncthreads_and(is_low ? v <= low : is_high ? v >= high : v >= low && v <= high);
      v   = is_low ? low : is_high ? high : v;
    }
    if (all && !my_group()) {
      write_slot(slots + row, v, sweep);
      x[row] = v;
    }
    return all;
  }
};

// Solves the rows one after the other, as some of them are no longer at the bound, or between the bounds, where they
// were. All threads call it.
template <bool BOUNDS> __device__ __forceinline__ void publish_rows(Shared &sh, double *x, Slot *slots, Count sweep)
{
  const int t = (int)threadIdx.x;
  if (t < 32) solve_rows<BOUNDS>(sh, x);
  __syncthreads();
  if (t < height) write_slot(slots + t, x[t], sweep);
}

// After publish(), which did nothing where the rows are not where they were (!all): they are solved one after the
// other, and what the last x adds is needed after all. So it is in orders that alternate, for the next sweep.
template <bool BOUNDS, class T, class Tiles> __device__ __forceinline__ void
  solve_rest(const Job<T> &job, Shared &sh, Tiles &tiles, const Row &row, bool all, int k, Slot *slots, Count sweep)
{
  if (tiles.joined && (!all || tiles.alternate)) {
    tiles.add_adjacent(job, sh, k);
    if (!all) {
      row.sum(sh, tiles.now);
      __syncthreads();
    }
  }
  if (!all) publish_rows<BOUNDS>(sh, sh.x[tiles.parity], slots, sweep);
}

// One panel a block, ascending or descending orders: all that lies between the arrival of the x before it and its own
// is in registers or shared memory, and nothing is looked up. EACH: blocks on a processor. Where there is room, three
// tiles are on their way, as one of 32 KB takes longer than a link of the chain; two blocks have registers for one
// tile each (with two they spill), and the one after it comes to the second-level cache meanwhile. Further ahead they
// are gone again before they are needed.
//
// With the inverse L of the panel's triangle x is k - L S A x_1 - L S (sum of A x_j), x_1 being the x that comes
// last. L S A was made when L was (prepare()), so that x_1 is followed by one product, and the rest is there before
// it comes.
template <class T, bool BOUNDS, int EACH, bool PASSING> __global__ void __launch_bounds__(threads, EACH)
  sweeps_one(Job<T> job)
{
  extern __shared__ __align__(16) char memory[];
  Shared      &sh  = *(Shared *)memory;
  Panel       &own = *(Panel *)(memory + sizeof(Shared));
  const int    t = (int)threadIdx.x, me = (int)blockIdx.x, u = my_row(), g = my_group();
  Tiles<T, EACH, PASSING> tiles(job);
  const bool   collect = tiles.collect, alternate = tiles.alternate;
  bool        &joined = tiles.joined;
  double                               own_joint[EACH == 1 || sizeof(T) < sizeof(double) ? columns : 1],
    (&joint)[columns] = joint_of(tiles.tile[0], own_joint);

  if (!t) sh.dead = 0;
  start<T, BOUNDS>(job, sh, own, me);
  tiles.now = own.now[t];
  prepare(job, sh, own, me, 0, true, tiles.before(job, 0));
  joined = sh.usable && tiles.before(job, 0);
  tiles.send_for(job, 0, 0, job.position(0, me) - joined);
  for (int k = 0; k < job.sweeps; ++k) {
    const bool   last = k + 1 == job.sweeps;
    const int    position = job.backward(k) ? job.count - 1 - me : me;
    const Count  sweep = job.base + (Count)k;
    const Row    row(sh);
    const bool   usable = sh.usable;
    Slot *const  slots  = job.slots + (size_t)me * meeting;
    const double *const before = job.saved(k, me) + height * height; // the inverse times the tile before the panel
    tiles.total = 0;
    if (joined && EACH == 1) fetch<PASSING>(before, joint);
    if (!tiles.multiply(job, sh, k, 0, position - joined, alternate)) return give_up(job, me);
    if (joined && EACH > 1) fetch<PASSING>(before, joint);
    // The rows are solved as solve() does it. All but what the last x adds is computed before that x is there.
    double v = 0;
    row.sum(sh, tiles.now);
    __syncthreads();
    if (usable) v = row.known - sum_of_row(times_inverse(sh, u, g));
    if (joined) {
      double *const x = sh.x[tiles.parity];
      if (!await(job, sh, tiles.report, job.outer(k, position - 1), sweep, true, collect, x, tiles.total))
        return give_up(job, me);
      v -= sum_of_row(product(joint, x));
      tiles.parity ^= 1;
    }
    const bool all = usable && row.publish<BOUNDS>(v, sh.x[tiles.parity], slots, sweep);
    solve_rest<BOUNDS>(job, sh, tiles, row, all, k, slots, sweep);
    // Are the panels behind this one needed, for the next sweep?
    const bool behind = !alternate && !last && position + 1 < job.count;
    if (behind) tiles.send_for(job, k, position + 1, job.count);
    keep<BOUNDS>(sh, own, sh.x[tiles.parity], slots, sweep);
    tiles.parity ^= 1;
    if (t == height) tiles.total += sh.change;
    tiles.now  = tiles.then;
    tiles.then = 0;
    if (!last) {
      prepare(job, sh, own, me, k + 1, true, tiles.before(job, k + 1), !alternate);
      joined = sh.usable && tiles.before(job, k + 1);
    }
    if (behind) {
      if (!tiles.multiply(job, sh, k, position + 1, job.count, false)) return give_up(job, me);
    } else if (collect)
      for (int s = position + 1; s < job.count; ++s)
        (void)await(job, sh, tiles.report, job.outer(k, s), sweep, false, true, sh.x[tiles.parity], tiles.total);
    if (!last) tiles.send_for(job, k + 1, 0, job.position(k + 1, me) - joined);
    if (ended(job, sh, tiles.report, k, collect, tiles.total)) break;
  }
  __syncthreads();
  if (t < height) job.x[me * height + t] = sh.dead ? NAN : own.x[t];
}

} // namespace
} // namespace tessera::densegs
#endif
