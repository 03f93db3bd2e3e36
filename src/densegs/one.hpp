// The persistent kernel in which each block of threads has one panel: up to 16896 unknowns on a device with 132 processors.
// device.k.cxx tells what it is a part of.
#pragma once
#include "densegs/panel.hpp"

#ifdef __CUDACC__
namespace tessera::densegs {
namespace {

// Where a block has registers for one tile, the product with an inverse takes its place.
__device__ inline double (&joint_of(double (&tile)[columns], double (&)[1]))[columns] { return tile; }
template <class T> __device__ inline double (&joint_of(T (&)[columns], double (&own)[columns]))[columns] { return own; }

// One panel a block, ascending or descending orders: all that lies between the arrival of the x before it and its own is in registers
// or shared memory, and nothing is looked up. EACH: blocks on a processor. Where there is room, three tiles are on their way, as one of
// 32 KB takes longer than a link of the chain; two blocks have registers for one tile each (with two they spill), and the one after it
// comes to the second-level cache meanwhile. Further ahead they are gone again before they are needed.
//
// With the inverse L of the panel's triangle x is k - L S A x_1 - L S (sum of A x_j), x_1 being the x that comes last. L S A was made when L
// was (prepare()), so that x_1 is followed by one product, and the rest is there before it comes.
template <class T, bool BOUNDS, int EACH, bool PASSING> __global__ void __launch_bounds__(threads, EACH) sweeps_one(Job<T> job)
{
  constexpr bool joins = EACH == 1 || sizeof(T) == sizeof(double); // else there is no room for that product, which is double
  constexpr int depth = EACH == 1 ? 3 : 1, ahead = EACH == 1 ? 0 : 1;
  extern __shared__ __align__(16) char memory[];
  Shared      &sh  = *(Shared *)memory;
  Panel       &own = *(Panel *)(memory + sizeof(Shared));
  const int    t = (int)threadIdx.x, me = (int)blockIdx.x, u = my_row(), g = my_group();
  double      *report = job.history + job.most;
  const bool   collect = job.flags.wait && (job.tolerance >= 0 || (!me && job.flags.wants_history)); // of every panel its change
  const bool   alternate = job.kind == Order::symmetric;
  T            tile[depth][columns];
  int          parity = 0;
  double       now, then = 0, total = 0; // total: in one thread
  double       own_joint[EACH == 1 || sizeof(T) < sizeof(double) ? columns : 1], (&joint)[columns] = joint_of(tile[0], own_joint);

  if (!t) sh.dead = 0;
  start<T, BOUNDS>(job, sh, own, me);
  now = own.now[t];
  // The tile of the panel that comes just before this one in sweep k
  auto tile_before = [&](int k) -> const T * {
    const bool back = job.backward(k);
    if (!joins || !job.flags.ahead || me == (back ? job.count - 1 : 0)) return nullptr;
    return job.tile(me, back ? me + 1 : me - 1);
  };
  prepare(job, sh, own, me, 0, true, tile_before(0));
  // The first tiles of the positions [from, to) of sweep k are sent for;
  auto send_for = [&](int k, int from, int to) {
    const bool back = job.backward(k);
    if (!job.flags.ahead) return;
#pragma unroll
    for (int d = 0; d < depth; ++d)
      if (from + d < to) fetch<PASSING>(job.tile(me, back ? job.count - 1 - from - d : from + d), tile[d]);
  };
  bool joined = sh.usable && tile_before(0); // the inverse times that tile is there
  // From memory to the second-level cache: what is needed `ahead` positions after position `at` of sweep k, or of the next one.
  auto prefetch = [&](int k, int at) {
    int  s = at + ahead;
    bool back = job.backward(k);
    if (!ahead || !job.flags.ahead) return;
    const int own = back ? job.count - 1 - me : me;
    if (alternate) {
      if (s >= own) s -= own, back = !back;
    } else if (s >= job.count) s -= job.count;
    if (s >= job.count) return;
    const bool  inverse = joined && !alternate && s == own - 1;
    const char *line = (inverse ? (const char *)(job.saved(k, me) + height * height) : (const char *)job.tile(me, back ? job.count - 1 - s : s)) + t * 128;
    if (t * 128 < (int)(height * height * (inverse ? sizeof(double) : sizeof(T)))) asm volatile("prefetch.global.L2 [%0];" ::"l"(line));
  };
  // and multiplied, each with its x, while others follow them. false: waited in vain.
  auto multiply = [&](int k, int from, int to, bool twice) {
    const bool  back = job.backward(k);
    const Count sweep = job.base + (Count)k;
    for (int s = from; s < to; s += depth)
#pragma unroll
      for (int d = 0; d < depth; ++d) {
        const int at = s + d, j = back ? job.count - 1 - at : at, next = back ? j - depth : j + depth;
        if (at >= to) break;
        if (!job.flags.ahead) fetch<PASSING>(job.tile(me, j), tile[d]);
        prefetch(k, at + depth);
        if (!await(job, sh, report, j, sweep, true, collect, sh.x[parity], total)) return false;
        const double y = product(tile[d], sh.x[parity]);
        now += y;
        if (twice) then += y;
        parity ^= 1;
        if (job.flags.ahead && at + depth < to) fetch<PASSING>(job.tile(me, next), tile[d]);
      }
    return true;
  };
  send_for(0, 0, job.position(0, me) - joined);
  for (int k = 0; k < job.most; ++k) {
    const bool   last = k + 1 == job.most;
    const int    position = job.backward(k) ? job.count - 1 - me : me;
    const Count  sweep = job.base + (Count)k;
    const int    turn = sh.turn[u], row = sh.row[u];
    const double scale = sh.scale[turn], known = sh.known[u], low = sh.lower[u], high = sh.upper[u];
    const bool   usable = sh.usable, is_low = sh.status.low >> row & 1, is_high = sh.status.high >> row & 1;
    const double *const before = job.saved(k, me) + height * height; // the inverse times the tile before the panel
    total = 0;
    if (joined && EACH == 1) fetch<PASSING>(before, joint);
    if (!multiply(k, 0, position - joined, alternate)) return give_up(job, me);
    if (joined && EACH > 1) fetch<PASSING>(before, joint);
    // The solve, as solve() does it; all but what the last x adds before that is there
    double v = 0;
    {
      const double sum = sum_of_row(now);
      if (!g) sh.sum[turn] = scale * sum;
    }
    __syncthreads();
    if (usable) v = known - sum_of_row(times_inverse(sh, u, g));
    if (joined) {
      if (!await(job, sh, report, job.outer(k, position - 1), sweep, true, collect, sh.x[parity], total)) return give_up(job, me);
      v -= sum_of_row(product(joint, sh.x[parity]));
      parity ^= 1;
    }
    bool all = usable;
    if (all) {
      if (BOUNDS) {
        all = __syncthreads_and(is_low ? v <= low : is_high ? v >= high : v >= low && v <= high);
        v   = is_low ? low : is_high ? high : v;
      }
      if (all && !g) {
        write_slot(job.slots + (size_t)me * meeting + row, v, sweep);
        sh.x[parity][row] = v;
      }
    }
    if (joined && (!all || alternate)) { // what it adds is needed after all
      T adjacent[columns];
      fetch<PASSING>(tile_before(k), adjacent);
      const double y = product(adjacent, sh.x[parity ^ 1]);
      now += y;
      if (alternate) then += y;
      if (!all) {
        const double sum = sum_of_row(now);
        if (!g) sh.sum[turn] = scale * sum;
        __syncthreads();
      }
    }
    if (!all) {
      if (t < 32) solve_rows<BOUNDS>(sh, sh.x[parity]);
      __syncthreads();
      if (t < height) write_slot(job.slots + (size_t)me * meeting + t, sh.x[parity][t], sweep);
    }
    // Are the panels behind this one needed, for the next sweep?
    const bool behind = !alternate && !last && position + 1 < job.count;
    if (behind) send_for(k, position + 1, job.count);
    keep<BOUNDS>(sh, own, sh.x[parity], job.slots + (size_t)me * meeting, sweep);
    parity ^= 1;
    if (t == height) total += sh.change;
    now  = then;
    then = 0;
    if (!last) {
      prepare(job, sh, own, me, k + 1, true, tile_before(k + 1), !alternate);
      joined = sh.usable && tile_before(k + 1);
    }
    if (behind) {
      if (!multiply(k, position + 1, job.count, false)) return give_up(job, me);
    } else if (collect)
      for (int s = position + 1; s < job.count; ++s) (void)await(job, sh, report, job.outer(k, s), sweep, false, true, sh.x[parity], total);
    if (!last) send_for(k + 1, 0, job.position(k + 1, me) - joined);
    if (ended(job, sh, report, k, collect, total)) break;
  }
  __syncthreads();
  if (t < height) job.x[me * height + t] = sh.dead ? NAN : own.x[t];
}

} // namespace
} // namespace tessera::densegs
#endif
