// Sweeps over contacts with friction on the device: the persistent kernel of device.k.cxx, whose panels hold whole
// contacts (21 of three rows and one that is empty, or 32 of two) and are solved contact after contact by one warp.
// Every lane solves the same contact, with values that came by shuffles, and adds the step to its two rows.
#include "densegs/contact.hpp"
#include "densegs/panel.hpp"

namespace tessera::densegs {

namespace {

// The matrix in panels, rows and columns of a panel's contacts first.
struct FillContacts {
  const double *a;
  ptrdiff_t     lda;
  double       *to;
  int           n, stride, used;
  HD void       operator()(int r, int pj) const
  {
    const int p = pj / stride, j = pj % stride, row = p * used + r, column = j / height * used + j % height;
    const bool in = r < used && j % height < used && row < n && column < n;
    to[((size_t)p * (size_t)stride + (size_t)j) * height + (size_t)r] = in ? a[(ptrdiff_t)column * lda + row] : 0;
  }
};

#ifdef __CUDACC__
// One warp solves a panel's contacts one after the other: the sums over all unknowns come in sh.sum, the panel's own x
// is sh.known, and the new one goes to x.
template <int d>
__device__ __forceinline__ void solve_contacts(const Shared &sh, double omega, bool back, double *report, double *x)
{
  constexpr int       per = height / d, used = per * d;
  const int           t = (int)threadIdx.x;
  const double *const own = sh.known;
  double              w0 = sh.sum[t], w1 = sh.sum[t + 32];
  for (int s = 0; s < per; ++s) {
    const int    c = back ? per - 1 - s : s, i0 = c * d;
    const double coefficient = sh.scale[c];
    double       a[d * d], q[d], v[d];
    if (coefficient < 0) { // there is none
      if (!t)
        for (int i = 0; i < d; ++i) x[i0 + i] = 0;
      continue;
    }
#pragma unroll
    for (int i = 0; i < d; ++i) {
      q[i] = __shfl_sync(0xffffffffu, i0 + i < 32 ? w0 : w1, (i0 + i) % 32);
#pragma unroll
      for (int j = 0; j < d; ++j) {
        a[j * d + i] = sh.diagonal[(i0 + j) * height + i0 + i];
        q[i]         = fma(-a[j * d + i], own[i0 + j], q[i]);
      }
    }
    if (!solve_contact<d>(a, q, coefficient, v)) report[1] = 2; // the host hears of it
#pragma unroll
    for (int j = 0; j < d; ++j) {
      const double step = omega * (v[j] - own[i0 + j]);
      w0 = fma(sh.diagonal[(i0 + j) * height + t], step, w0);
      w1 = fma(sh.diagonal[(i0 + j) * height + t + 32], step, w1);
      if (!t) x[i0 + j] = own[i0 + j] + step;
    }
  }
  if (!t)
    for (int i = used; i < height; ++i) x[i] = 0;
}

// The panel's own tile, x, q and coefficients; now: what comes after it in the first sweep.
template <int d>
__device__ __forceinline__ void start_contacts(const Job<double> &job, Shared &sh, const double *mu,
                                               double (&tile)[columns], double &now)
{
  const int     t = (int)threadIdx.x, me = (int)blockIdx.x;
  double *const own = sh.known;
  for (int e = t; e < height * height; e += threads) sh.diagonal[e] = __ldcg(job.tile(me, me) + e);
  if (t < height) {
    own[t]     = job.x[me * height + t];
    sh.base[t] = job.q[me * height + t];
    if (t < height / d) sh.scale[t] = mu[me * height + t * d];
  }
  for (int s = job.position(0, me) + 1; s < job.count; ++s) {
    const int j = job.outer(0, s);
    __syncthreads();
    if (t < height) sh.x[0][t] = job.x[j * height + t];
    __syncthreads();
    fetch(job.tile(me, j), tile);
    now += product(tile, sh.x[0]);
  }
  __syncthreads();
}

template <int d> __global__ void __launch_bounds__(threads, 1) sweeps_of_contacts(Job<double> job, const double *mu)
{
  constexpr int depth = 3;
  extern __shared__ __align__(16) char memory[];
  Shared      &sh = *(Shared *)memory;
  const int    t = (int)threadIdx.x, me = (int)blockIdx.x, u = my_row(), g = my_group();
  double      *report = job.history + job.sweeps, *const own = sh.known;
  const bool   alternate = job.kind == Order::symmetric;
  double       tile[depth][columns];
  int          parity = 0;
  double       now = 0, then = 0, total = 0;

  if (!t) sh.dead = 0;
  start_contacts<d>(job, sh, mu, tile[0], now);
  auto send_for = [&](int k, int from, int to) {
    const bool back = job.backward(k);
#pragma unroll
    for (int e = 0; e < depth; ++e)
      if (from + e < to) fetch(job.tile(me, back ? job.count - 1 - from - e : from + e), tile[e]);
  };
  auto multiply = [&](int k, int from, int to, bool twice) {
    const bool back = job.backward(k);
    for (int s = from; s < to; s += depth)
#pragma unroll
      for (int e = 0; e < depth; ++e) {
        const int at = s + e, j = back ? job.count - 1 - at : at, next = back ? j - depth : j + depth;
        if (at >= to) break;
        if (!await(job, sh, report, j, job.base + (Count)k, true, false, sh.x[parity], total)) return false;
        const double y = product(tile[e], sh.x[parity]);
        now += y;
        if (twice) then += y;
        parity ^= 1;
        if (at + depth < to) fetch(job.tile(me, next), tile[e]);
      }
    return true;
  };
  send_for(0, 0, job.position(0, me));
  bool arrived = true;
  for (int k = 0; k < job.sweeps && arrived; ++k) {
    const bool back = job.backward(k), last = k + 1 == job.sweeps;
    const int  position = job.position(k, me);
    double     mine = 0; // the panel's own x
#pragma unroll
    for (int c = 0; c < columns; ++c) mine = fma(sh.diagonal[(c * groups + g) * height + u], own[c * groups + g], mine);
    arrived = multiply(k, 0, position, alternate);
    if (!arrived) break;
    const double sum = sum_of_row(now + mine);
    if (!g) sh.sum[u] = sh.base[u] + sum;
    __syncthreads();
    double *const x = sh.x[parity];
    if (t < 32) solve_contacts<d>(sh, job.omega, back, report, x);
    __syncthreads();
    if (t < height) {
      write_slot(job.slots + (size_t)me * meeting + t, x[t], job.base + (Count)k);
      own[t] = x[t];
    }
    // Are the panels behind this one needed, for the next sweep?
    const bool behind = !alternate && !last && position + 1 < job.count;
    if (behind) send_for(k, position + 1, job.count);
    __syncthreads();
    parity ^= 1;
    now  = then;
    then = 0;
    if (behind) arrived = multiply(k, position + 1, job.count, false);
    if (arrived && !last) send_for(k + 1, 0, job.position(k + 1, me));
  }
  __syncthreads();
  // nobody takes what is left of a wait in vain for an answer
  if (t < height) job.x[me * height + t] = sh.dead ? NAN : own[t];
}
#endif

} // namespace

int contact_panels(int n, int block) { return (n + height / block * block - 1) / (height / block * block); }

bool contacts_fit(int n, int block)
{
#ifdef __CUDACC__
  int current = 0, processors = 0;
  device::check(cudaGetDevice(&current));
  device::check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, current));
  return contact_panels(n, block) <= processors;
#else
  (void)n, (void)block;
  return true;
#endif
}

void fill_contacts(Plan &plan, const double *a, ptrdiff_t lda, int n, int block)
{
  const Panels &m = plan.panels;
  forall(plan.exec, Box{0, height, 0, m.count * m.stride},
         FillContacts{a, lda, plan.panels.a.data(), n, m.stride, height / block * block});
}

// mu, q and x by panels, on the device. false: a contact had no solution.
bool sweep_contacts(Plan &plan, int block, const double *mu, const double *q, double *x, int first, int sweeps)
{
  const Panels &m = plan.panels;
  if (!m.count || sweeps <= 0) return true;
#ifdef __CUDACC__
  if (plan.slots.empty()) plan.slots.resize(Extent{2 * (size_t)meeting * (size_t)m.count, Space::cuda});
  if (plan.report.size() < (size_t)sweeps + 2) plan.report.resize(Extent{(size_t)sweeps + 2, Space::cuda});
  Job<double> job = {};
  void      (*kernel)(Job<double>, const double *) = block == 2 ? sweeps_of_contacts<2> : sweeps_of_contacts<3>;
  job.a       = m.a.data();
  job.q       = q;
  job.x       = x;
  job.slots   = (Slot *)plan.slots.data();
  job.history = plan.report.data();
  job.count   = m.count;
  job.stride  = m.stride;
  job.sweeps    = sweeps;
  job.first   = first;
  job.kind    = plan.params.order;
  job.omega   = plan.params.omega;
  job.base    = 2 * plan.epoch + 2;
  job.patience = plan.patience;
  job.flags.wait = job.flags.ahead = true;
  device::zero(job.history + sweeps, 2 * sizeof(double));
  device::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sizeof(Shared)));
  cudaLaunchConfig_t  c = {};
  cudaLaunchAttribute cooperative = {};
  cooperative.id              = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  c.gridDim          = dim3((unsigned)m.count);
  c.blockDim         = dim3(threads);
  c.dynamicSmemBytes = sizeof(Shared);
  c.stream           = (cudaStream_t)device::stream();
  c.attrs            = &cooperative;
  c.numAttrs         = 1;
  device::check(cudaLaunchKernelEx(&c, kernel, job, mu));
  plan.epoch += (unsigned long long)sweeps + 1;
  double end[2];
  device::copy_to_host(end, job.history + sweeps, sizeof(end));
  if (end[1] == 1)
    throw DeviceError(
      "dense Gauss-Seidel: blocks of threads waited in vain for each other. Is another program holding the device?");
  return end[1] == 0;
#else
  // The emulated device: the same, contact after contact.
  const device::Open open(Space::cuda);
  device::launched(device::Blocks{m.count, 1});
  const int per = height / block;
  for (int k = 0; k < sweeps; ++k) {
    const bool back =
      plan.params.order == Order::backward || (plan.params.order == Order::symmetric && (first + k) % 2);
    for (int s = 0; s < m.count * per; ++s) {
      const int c = back ? m.count * per - 1 - s : s, p = c / per, i0 = c % per * block;
      double    a[9] = {}, w[3] = {}, v[3] = {};
      if (mu[p * height + i0] < 0) continue; // there is none
      for (int i = 0; i < block; ++i) {
        const double *row = m.a.data() + (size_t)p * m.stride * height + i0 + i;
        w[i] = q[p * height + i0 + i];
        for (int j = 0; j < m.stride; ++j)
          if (j / height != p || j % height < i0 || j % height >= i0 + block) w[i] += row[(size_t)j * height] * x[j];
        for (int j = 0; j < block; ++j) a[j * block + i] = row[(size_t)(p * height + i0 + j) * height];
      }
      if (!(block == 2 ? solve_contact<2>(a, w, mu[p * height + i0], v)
                       : solve_contact<3>(a, w, mu[p * height + i0], v)))
        return false;
      for (int i = 0; i < block; ++i) x[p * height + i0 + i] += plan.params.omega * (v[i] - x[p * height + i0 + i]);
    }
  }
  return true;
#endif
}

} // namespace tessera::densegs
