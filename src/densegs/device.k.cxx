// The device's sweeps: one persistent kernel for all of them (sections III.D and IV.A of the paper), and the strategy
// block, which launches two kernels a panel.
//
// Every block of threads owns panels. When a panel's x is published all owners multiply their tiles in its columns
// with it, and the owner of the next panel in the order then solves that one. What a sweep takes is therefore the
// larger of two times: reading the matrix, and the chain of panels one after the other. A link of the chain: x comes
// through the second-level cache (value and number of the sweep in
// 16 bytes, so that no flag has to be waited for first), is multiplied with the tile before the diagonal, which was
// fetched long before, and the panel is solved. Row after row that takes some 80 cycles each. But most rows of a
// problem with bounds end where they ended in the sweep before, at a bound or between: then a panel is a triangular
// system whose inverse can be made while there is time, and its solution is a product, which is multiplied with that
// tile beforehand. If all signs are as they were it is what the rows one after the other give, up to rounding; if
// not, these are done after all, and another inverse is made for the next sweep. Without bounds the inverse stays.
//
// Nobody waits for ever: all blocks run at once (cooperative launch), and a wait ends after some seconds with an error.
#include "densegs/one.hpp"
#include <algorithm>
#include <cmath>
#include <string>

namespace tessera::densegs {

#ifdef __CUDACC__
namespace {

const char in_vain[] =
  "dense Gauss-Seidel: blocks of threads waited in vain for each other. Is another program holding the device?";

// The tiles that a block's own panels need, one after the other: of own panel i in the columns of position s, for
// sweep k.
template <class T> struct Ahead {
  const int me, blocks, own;
  int       k = 0, s = 0, i = 0;
  bool      more, have = false; // the next tile is in `tile`, or on its way there
  bool      late = false;       // where that is has not been looked for yet
  T         tile[columns];

  __device__ __forceinline__ Ahead(const Job<T> &job, int first, int step, int count) :
    me(first), blocks(step), own(count)
  {
    more = seek(job);
  }
  // Is that tile needed, for this sweep's solve or the next one's?
  __device__ __forceinline__ bool needed(const Job<T> &job) const
  {
    const int p = me + i * blocks, j = job.outer(k, s);
    if (j == p) return false;
    return s < job.position(k, p) || (k + 1 < job.sweeps && job.position(k + 1, j) > job.position(k + 1, p));
  }
  // The place of the next tile at or after (k, s, i).
  __device__ __forceinline__ bool seek(const Job<T> &job)
  {
    for (; k < job.sweeps; ++k, s = 0)
      for (; s < job.count; ++s, i = 0) {
        const int last = job.backward(k) ? me : me + (own - 1) * blocks;
        if (job.kind == Order::symmetric && s >= job.position(k, last)) { // nothing more in this sweep
          i = 0;
          break;
        }
        for (; i < own; ++i)
          if (needed(job)) return true;
      }
    return false;
  }
  __device__ __forceinline__ bool at(int sweep, int position) const { return more && k == sweep && s == position; }
  __device__ __forceinline__ void prefetch(const Job<T> &job)
  {
    if (!job.flags.ahead || !more || have) return;
    fetch(job.tile(me + i * blocks, job.outer(k, s)), tile);
    have = true;
  }
  // Just before an own solve this waits: it would stand in its way.
  __device__ __forceinline__ void find(const Job<T> &job)
  {
    more = seek(job);
    prefetch(job);
    late = false;
  }
  // The tile of own panel p in the columns of panel j times x
  __device__ __forceinline__ double times(const Job<T> &job, int p, int j, const double *x)
  {
    if (!have) fetch(job.tile(p, j), tile);
    have = false;
    return product(tile, x);
  }
  // After a tile: is the next one in the same columns?
  __device__ __forceinline__ bool next_of_column(const Job<T> &job, int sweep, int position)
  {
    if (++i < own) {
      more = seek(job);
      if (at(sweep, position)) {
        prefetch(job);
        return true;
      }
    }
    late = true;
    return false;
  }
};

// Several panels per block, or a random order.
template <class T, bool BOUNDS> __global__ void __launch_bounds__(threads, 2) sweeps(Job<T> job)
{
  extern __shared__ __align__(16) char memory[];
  Shared   &sh    = *(Shared *)memory;
  Panel    *panel = (Panel *)(memory + sizeof(Shared));
  const int                            t = (int)threadIdx.x, me = (int)blockIdx.x, blocks = (int)gridDim.x,
            own    = (job.count - me + blocks - 1) / blocks;
  double   *report = job.history + job.sweeps;
  // of every panel its change
  const bool collect = job.flags.wait && (job.tolerance >= 0 || (!me && job.flags.wants_history));
  const bool inverse = job.kind != Order::random;
  int       ready_sweep = -1, ready_panel = -1, parity = 0;

  if (!t) sh.dead = 0;
  for (int i = 0; i < own; ++i) start<T, BOUNDS>(job, sh, panel[i], me + i * blocks);
  auto is_mine = [&](int p) { return p % blocks == me; };
  Ahead<T> ahead(job, me, blocks, own);
  ahead.prefetch(job);

  for (int k = 0; k < job.sweeps; ++k) {
    double total = 0; // in one thread
    for (int s = 0; s < job.count; ++s) {
      const int  j = job.outer(k, s);
      const bool mine = is_mine(j);
      // The next own panel that is near is made ready while there is time.
      for (int d = mine ? 0 : 1; d <= 6; ++d) {
        const int k2 = s + d < job.count ? k : k + 1, s2 = s + d < job.count ? s + d : s + d - job.count;
        if (k2 >= job.sweeps || s2 >= job.count) break;
        const int p = job.outer(k2, s2);
        if (!is_mine(p)) continue;
        if (ready_sweep == k2 && ready_panel == p) break;
        if (k2 > k && job.position(k, p) > s) continue; // its x will change in this sweep yet
        prepare(job, sh, panel[p / blocks], p, k2, inverse);
        ready_sweep = k2;
        ready_panel = p;
        break;
      }
      const bool urgent =
        s + 1 < job.count ? is_mine(job.outer(k, s + 1)) : k + 1 < job.sweeps && is_mine(job.outer(k + 1, 0));
      double *const x = sh.x[parity];
      if (mine) {
        solve<BOUNDS>(sh, panel[j / blocks], x, job.slots + (size_t)j * meeting, job.base + (Count)k);
        if (t == height) total += sh.change;
        panel[j / blocks].now[t]  = panel[j / blocks].then[t];
        panel[j / blocks].then[t] = 0;
      } else {
        const bool wanted = ahead.at(k, s);
        if (!wanted && !collect) continue;
        if (!await(job, sh, report, j, job.base + (Count)k, wanted, collect, x, total)) {
          for (int i = 0; i < own; ++i) give_up(job, me + i * blocks);
          return;
        }
        if (!wanted) continue;
      }
      if (mine && ahead.late) ahead.find(job);
      while (ahead.at(k, s)) {
        Panel    &to = panel[ahead.i];
        const int p  = me + ahead.i * blocks;
        const double y = ahead.times(job, p, j, x);
        const bool   solved = job.position(k, p) < s;
        to.now[t] += y;
        if (!solved && k + 1 < job.sweeps && job.position(k + 1, j) > job.position(k + 1, p)) to.then[t] += y;
        if (!ahead.next_of_column(job, k, s)) break;
      }
      if (ahead.late && !urgent) ahead.find(job);
      parity ^= 1;
    }
    if (ended(job, sh, report, k, collect, total)) break;
  }
  __syncthreads();
  for (int i = 0; i < own; ++i)
    if (t < height) job.x[(me + i * blocks) * height + t] = sh.dead ? NAN : panel[i].x[t];
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
template <class T, bool BOUNDS> __global__ void __launch_bounds__(threads)
  solve_block(Job<T> job, int p, const double *sum)
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
  if (plan.triangles.size() != (size_t)m.count * turns * 2 * height * height) {
    plan.triangles.resize(Extent{(size_t)m.count * turns * 2 * height * height, Space::cuda});
    plan.keys.resize(Extent{(size_t)m.count * turns * sizeof(Key) / sizeof(double), Space::cuda});
  }
  // the inverses are those of one order
  if (plan.kept_order != (int)plan.params.order || plan.kept_omega != plan.params.omega) {
    plan.kept_order = (int)plan.params.order;
    plan.kept_omega = plan.params.omega;
    ++plan.stamp;
  }
  if (plan.report.size() < (size_t)r.sweeps + 2)
    plan.report.resize(Extent{(size_t)std::max(r.sweeps, 64) + 2, Space::cuda});
  if (plan.params.order == Order::random) {
    std::vector<int> table;
    Sequence         s;
    for (int k = 0; k < r.sweeps; ++k) {
      sequence(m, Order::random, r.first + k, s);
      for (const std::vector<int> *v : {&s.outer, &s.position, &s.inner})
        table.insert(table.end(), v->begin(), v->end());
    }
    if (plan.order.size() < table.size()) plan.order.resize(Extent{table.size(), Space::cuda});
    device::copy_from_host(plan.order.data(), table.data(), table.size() * sizeof(int));
    device::synchronize(); // before the table goes
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
  job.patience = plan.patience;
  job.order   = plan.order.data();
  job.history = plan.report.data();
  job.count   = m.count;
  job.stride  = m.stride;
  job.sweeps    = r.sweeps;
  job.first   = r.first;
  job.kind    = plan.params.order;
  job.omega   = plan.params.omega;
  job.tolerance = r.tolerance;
  job.base    = 2 * plan.epoch + 2;
  job.flags.zero    = r.zero;
  job.flags.wants_history = r.change != nullptr;
  job.flags.wait    = plan.params.strategy != Strategy::relaxed;
  job.flags.ahead   = plan.params.strategy != Strategy::graph;
  return job;
}

template <class T, bool BOUNDS> int run_persistent(Plan &plan, Job<T> job, const Request &r)
{
  int         current = 0, processors = 0, fit = 0, shared = 0, cache = 0;
  void      (*kernel)(Job<T>) = nullptr;
  size_t      bytes = 0;
  int         blocks = 0;
  if (device::failed()) return 0;
  device::check(cudaGetDevice(&current));
  device::check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, current));
  device::check(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, current));
  device::check(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, current));
  // Two blocks on a processor where there are panels for them: more of the matrix is on its way then.
  for (int each = 2; each; --each) {
    blocks = std::min(job.count, each * processors);
    kernel = blocks < job.count || job.kind == Order::random ? sweeps<T, BOUNDS>
           : blocks > processors                             ? sweeps_one<T, BOUNDS, 2, true>
           : plan.panels.bytes() > (size_t)cache             ? sweeps_one<T, BOUNDS, 1, true>
                                                             : sweeps_one<T, BOUNDS, 1, false>;
    bytes  = sizeof(Shared) + (size_t)((job.count + blocks - 1) / blocks) * sizeof(Panel);
    if (bytes > (size_t)shared) continue;
    device::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    device::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, threads, bytes));
    if ((long)fit * processors >= blocks) break;
    fit = 0;
  }
  if (!fit)
    throw DeviceError("dense Gauss-Seidel: " + std::to_string(plan.panels.n) +
                      " unknowns are too many for the shared memory of this device");
  if (!job.flags.wait)
    publish<<<(unsigned)((job.count * height + 255) / 256), 256, 0, (cudaStream_t)device::stream()>>>(job.x, job.slots,
                                                                                                      job.count);
  device::zero(job.history + r.sweeps, (r.refresh ? 1 : 2) * sizeof(double));
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
  plan.epoch += (unsigned long long)r.sweeps + 1;
  // nobody waits here; an error is NaN in x, and await_end() tells it
  if (!r.change && r.tolerance < 0) return r.sweeps;
  std::vector<double> report((size_t)r.sweeps + 2);
  device::copy_to_host(report.data(), job.history, report.size() * sizeof(double));
  if (report[(size_t)r.sweeps + 1] != 0) throw DeviceError(in_vain);
  const int made = (int)report[(size_t)r.sweeps];
  if (r.change) std::copy(report.begin(), report.begin() + made, r.change);
  return made;
}

template <class T, bool BOUNDS> int run_blocks(Plan &plan, Job<T> job, const Request &r)
{
  const size_t bytes = sizeof(Shared) + sizeof(Panel);
  if (plan.after.size() < (size_t)job.count * threads)
    plan.after.resize(Extent{(size_t)job.count * threads, Space::cuda});
  double *const sum = plan.after.data();
  device::check(cudaFuncSetAttribute(solve_block<T, BOUNDS>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  for (int k = 0; k < r.sweeps; ++k, ++job.first, job.order += 2 * job.count + height, ++job.history) {
    device::zero(job.history, sizeof(double));
    device::launch(sum_after<T>, dim3((unsigned)job.count), dim3(threads), 0, job, sum);
    Sequence s;
    sequence(plan.panels, plan.params.order, r.first + k, s);
    for (int at = 0; at < job.count; ++at) {
      device::launch(solve_block<T, BOUNDS>, dim3(1), dim3(threads), bytes, job, s.outer[(size_t)at],
                     (const double *)sum);
      if (at + 1 < job.count)
        device::launch(push_block<T>, dim3((unsigned)(job.count - at - 1)), dim3(threads), 0, job, s.outer[(size_t)at],
                       sum);
    }
    if (r.tolerance < 0) continue;
    double c;
    device::copy_to_host(&c, job.history, sizeof(c));
    if (r.change) r.change[k] = c;
    if (c <= r.tolerance || !std::isfinite(c)) return k + 1;
  }
  if (r.change && r.tolerance < 0)
    device::copy_to_host(r.change, job.history - r.sweeps, (size_t)r.sweeps * sizeof(double));
  return r.sweeps;
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

void await_end(const Plan &plan, int sweeps)
{
#ifdef __CUDACC__
  const Strategy s = plan.params.strategy;
  // no block waits for another
  if (plan.exec.space != Space::cuda || (s != Strategy::graph && s != Strategy::graph2) ||
      plan.report.size() < (size_t)sweeps + 2)
    return;
  double error = 0;
  device::copy_to_host(&error, plan.report.data() + sweeps + 1, sizeof(error));
  if (error != 0) throw DeviceError(in_vain);
#else
  (void)plan, (void)sweeps;
#endif
}

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
