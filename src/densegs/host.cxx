// The strategies on the host. Threads own panels (the first touch of their memory is their own); what one needs of
// another it waits for with an atomic counter of the panels that are done, as in the paper's section III.D. The sums
// of a row are taken in the order of the columns whatever the threads do, so all strategies but row and relaxed give
// the same bits.
#include "densegs/host_panel.hpp"
#include "exec/random.hpp"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>

namespace tessera::densegs {

namespace {

// One panel on its way through a sweep: its sums over the panels after it, whose x is of the last sweep, and over
// those before it.
struct Task {
  int  sweep = 0, position = 0, panel = 0, after = 0, before = 0; // positions whose columns are in the sums
  bool saved = false; // the sums over those after are those over those before of the last sweep
  alignas(64) double sum_before[height], sum_after[height];
};

template <class T> struct Graph {
  Plan             &plan;
  const Request    &r;
  const int         threads;
  std::vector<Sequence> orders; // of a period of sweeps; random: of all
  std::vector<double> errors;
  std::atomic<long> done{0};    // panels
  std::atomic<int>  stop{0};    // sweeps made, once that is known
  int               panels() const { return plan.panels.count; }
  const Sequence   &order(int sweep) const { return orders[(size_t)sweep % orders.size()]; }
  const T              *panel(int p) const
  {
    return (plan.panels.single() ? (const T *)plan.panels.s.data() : (const T *)plan.panels.a.data()) +
           (size_t)p * plan.panels.stride * height;
  }

  Graph(Plan &of, const Request &request, int t) : plan(of), r(request), threads(t)
  {
    const Order  o = plan.params.order;
    const int    period = o == Order::symmetric ? 2 : o == Order::random ? r.sweeps : 1;
    orders.resize((size_t)period);
    for (int k = 0; k < period; ++k) sequence(plan.panels, o, r.first + k, orders[(size_t)k]);
    errors.resize(2 * (size_t)panels());
  }
  bool owner(int p, int thread) const { return p % threads == thread; }
  void begin(Task &t, int sweep, int position) const
  {
    t.sweep    = sweep;
    t.position = position;
    t.panel    = order(sweep).outer[(size_t)position];
    t.before   = 0;
    t.after    = position + 1;
    t.saved    = sweep && order(sweep).reversed;
    if (t.saved || (!sweep && r.zero)) t.after = panels();
    memset(t.sum_before, 0, sizeof(t.sum_before));
    memset(t.sum_after, 0, sizeof(t.sum_after));
  }
  // The thread's next panel after position k of a sweep; false: there is none.
  bool next(int thread, int sweep, int k, Task &t) const
  {
    for (; sweep < r.sweeps; ++sweep, k = -1)
      while (++k < panels())
        if (owner(order(sweep).outer[(size_t)k], thread)) {
          begin(t, sweep, k);
          return true;
        }
    return false;
  }
  // Columns of the positions [k, end), as far as they are neighbours in memory in ascending order.
  void columns(const Sequence &o, const T *a, int k, int end, double *sum) const
  {
    while (k < end) {
      int run = 1;
      while (k + run < end && o.outer[(size_t)(k + run)] == o.outer[(size_t)k] + run) ++run;
      const size_t j = (size_t)o.outer[(size_t)k] * height;
      product(a + j * height, r.x + j, run * height, sum);
      k += run;
    }
  }
  // Adds what is there, at most so many panels of columns; false: nothing was.
  bool advance(Task &t, int limit) const
  {
    const Sequence &o = order(t.sweep);
    const long      base = (long)t.sweep * panels(), count = done.load(std::memory_order_acquire);
    if (t.after < panels()) { // the last sweep's: there in the same order, or with all of that sweep
      long available = panels();
      if (t.sweep && count < base) available = plan.params.order == Order::random ? 0 : count - (base - panels());
      const int end = (int)std::min<long>(std::min<long>(available, panels()), t.after + limit);
      if (end <= t.after) return false;
      columns(o, panel(t.panel), t.after, end, t.sum_after);
      t.after = end;
      return true;
    }
    const int end = (int)std::min<long>(std::min<long>(count - base, t.position), t.before + limit);
    if (end <= t.before) return false;
    columns(o, panel(t.panel), t.before, end, t.sum_before);
    t.before = end;
    return true;
  }
  // Ends the sweep before this one: its errors, in the order of panels.
  bool ended(int sweep)
  {
    if (!sweep) return false;
    double change = 0;
    for (int p = 0; p < panels(); ++p) change += errors[(size_t)((sweep - 1) % 2 * panels() + p)];
    if (r.change) r.change[sweep - 1] = change;
    if (change <= r.tolerance || !std::isfinite(change) || sweep == r.sweeps) {
      stop.store(sweep, std::memory_order_release);
      return true;
    }
    return false;
  }
  void finish(Task &t)
  {
    double *last = plan.before.data() + (size_t)t.panel * height;
    if (t.saved) memcpy(t.sum_after, last, sizeof(t.sum_after));
    errors[(size_t)(t.sweep % 2 * panels() + t.panel)] =
      solve_panel<T>(plan, r, order(t.sweep), t.panel, t.sum_before, t.sum_after);
    memcpy(last, t.sum_before, sizeof(t.sum_before));
    done.store((long)t.sweep * panels() + t.position + 1, std::memory_order_release);
  }
  void run(int thread, bool overlap)
  {
    Task now, then;
    bool more = next(thread, 0, -1, now);
    while (more) {
      const bool ahead = overlap && next(thread, now.sweep, now.position, then);
      for (Pause pause; now.after < panels() || now.before < now.position ||
                        done.load(std::memory_order_acquire) < (long)now.sweep * panels() + now.position;) {
        if (stop.load(std::memory_order_acquire)) return;
        if (advance(now, overlap ? 1 : panels()) || (ahead && advance(then, 1))) continue;
        pause();
      }
      if (!now.position && ended(now.sweep)) return;
      finish(now);
      if (overlap) {
        more = ahead;
        now  = then;
      } else more = next(thread, now.sweep, now.position, now);
    }
  }
};

template <class T> int sweep_by_graph(Plan &plan, const Request &r, int threads, bool overlap)
{
  Graph<T> g(plan, r, threads);
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    // Fewer threads than were asked for: those that are here take all panels.
    if (threads_here() == threads) g.run(thread_here(), overlap);
    else if (!thread_here()) g.stop.store(-1);
  }
  if (g.stop.load() < 0) return sweep_by_graph<T>(plan, r, 1, false);
  const int made = (int)(g.done.load() / g.panels());
  if (made == r.sweeps) (void)g.ended(made);
  return made;
}

// Every panel goes on with whatever x is there: no order, and no promise (section IV.A).
template <class T> int sweep_relaxed(Plan &plan, const Request &r, int threads, bool stale)
{
  const Panels       &m = plan.panels;
  std::vector<double> changes((size_t)r.sweeps * m.count);
  std::vector<Sequence> orders((size_t)r.sweeps);
  for (int k = 0; k < r.sweeps; ++k) sequence(m, plan.params.order, r.first + k, orders[(size_t)k]);
  std::vector<double> old(r.x, r.x + m.padded());
  const double       *seen = stale ? old.data() : r.x;
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    for (int k = 0; k < r.sweeps; ++k) {
      if (stale) std::copy(r.x, r.x + m.padded(), old.begin()); // one thread
      for (int s = 0; s < m.count; ++s) {
        const int p = orders[(size_t)k].outer[(size_t)s];
        if (p % threads_here() != thread_here()) continue;
        const T *a = (m.single() ? (const T *)m.s.data() : (const T *)m.a.data()) + (size_t)p * m.stride * height;
        alignas(64) double sum[height] = {}, none[height] = {};
        product(a, seen, p * height, sum);
        product(a + (size_t)(p + 1) * height * height, seen + (p + 1) * height, (m.count - p - 1) * height, sum);
        changes[(size_t)k * m.count + p] = solve_panel<T>(plan, r, orders[(size_t)k], p, sum, none);
      }
    }
  }
  if (r.change)
    for (int k = 0; k < r.sweeps; ++k)
      r.change[k] =
        std::accumulate(changes.begin() + (ptrdiff_t)k * m.count, changes.begin() + (ptrdiff_t)(k + 1) * m.count, 0.);
  return r.sweeps;
}

// Section III.B: panel s of the order, one unknown at a time, the whole panel's rows included; each goes to the sums of
// the rows behind it, of which every thread has its panels.
template <class T> void unknowns_of_panel(Plan &plan, const Request &r, const Sequence &order, int s, int me, int all,
                                          Barrier &barrier, double &change)
{
  const Panels  &m = plan.panels;
  const T *const a = m.single() ? (const T *)m.s.data() : (const T *)m.a.data();
  double *const  t = plan.before.data();
  const int      p = order.outer[(size_t)s];
  double         own[height] = {};
  const T *const d = a + ((size_t)p * m.stride + (size_t)p * height) * height;
  if (p % all == me) product(d, r.x + p * height, height, own);
  for (int c = 0; c < height; ++c) {
    const int at = order.inner[(size_t)c], i = p * height + at;
    if (p % all == me) {
      const double x = clip(r, i, r.x[i] - plan.params.omega * (r.q[i] + (t[i] + own[at])) * m.inverse.data()[i]),
                   step = x - r.x[i];
      for (int l = 0; l < height; ++l) own[l] += d[(size_t)at * height + l] * step;
      r.x[i] = x;
      change += std::fabs(step);
    }
    barrier.wait();
    const double x = r.x[i];
    for (int s2 = s + 1; s2 < m.count; ++s2) {
      const int p2 = order.outer[(size_t)s2];
      if (p2 % all != me) continue;
      const T *column = a + ((size_t)p2 * m.stride + (size_t)i) * height;
      double  *sum    = t + (size_t)p2 * height;
      for (int l = 0; l < height; l += lanes) *(Doubles *)(sum + l) += take(column + l) * x;
    }
  }
}

// The sums over what comes after each row in the order; then every unknown (or panel of them) goes to the rows behind
// it.
template <class T> int sweep_by_columns(Plan &plan, const Request &r, int threads, bool by_panels)
{
  const Panels  &m = plan.panels;
  const T       *a = m.single() ? (const T *)m.s.data() : (const T *)m.a.data();
  double        *t = plan.before.data();
  Sequence       order;
  int            made = 0;
  double         change = 0;
  bool           end = false;
  Barrier        barrier{threads};
  alignas(64) static const double none[height] = {};
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    const int me = thread_here(), all = threads_here();
    if (!me) barrier.threads = all;
#pragma omp barrier
    for (int k = 0; k < r.sweeps && !end; ++k) {
      barrier.wait();
      if (!me) {
        sequence(m, plan.params.order, r.first + k, order);
        change = 0;
      }
      barrier.wait();
      for (int p = me; p < m.count; p += all) {
        double *sum = t + (size_t)p * height;
        memset(sum, 0, height * sizeof(double));
        if (!k && r.zero) continue;
        const T *row = a + (size_t)p * m.stride * height;
        for (int s = order.position[(size_t)p] + 1; s < m.count; ++s) {
          const size_t j = (size_t)order.outer[(size_t)s] * height;
          product(row + j * height, r.x + j, height, sum);
        }
      }
      for (int s = 0; s < m.count; ++s) {
        const int p = order.outer[(size_t)s];
        if (by_panels) {
          if (p % all == me)
            change += solve_panel<T>(plan, r, order, p, t + (size_t)p * height, none);
          barrier.wait();
          for (int s2 = s + 1; s2 < m.count; ++s2) {
            const int p2 = order.outer[(size_t)s2];
            if (p2 % all == me)
              product(a + ((size_t)p2 * m.stride + (size_t)p * height) * height, r.x + (size_t)p * height, height,
                      t + (size_t)p2 * height);
          }
          continue;
        }
        unknowns_of_panel<T>(plan, r, order, s, me, all, barrier, change);
      }
      barrier.wait();
      if (!me) {
        if (r.change) r.change[k] = change;
        made = k + 1;
        end  = change <= r.tolerance || !std::isfinite(change);
      }
      barrier.wait();
    }
  }
  return made;
}

// Section III.A: every thread has its part of each row, rows being stored by rows; its owner sums the parts up.
template <class T> int sweep_by_rows(Plan &plan, const Request &r, int threads)
{
  const Panels       &m = plan.panels;
  const T            *a = m.single() ? (const T *)m.s.data() : (const T *)m.a.data();
  std::vector<double> parts(16 * (size_t)threads), changes(8 * (size_t)threads);
  Sequence            order;
  Barrier             barrier{threads};
  int                 made = 0;
  bool                end = false;
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    const int me = thread_here(), all = threads_here(), per = (m.stride + all - 1) / all;
    const int j0 = std::min(me * per, m.stride), j1 = std::min(j0 + per, m.stride);
    if (!me) barrier.threads = all;
#pragma omp barrier
    for (int k = 0; k < r.sweeps && !end; ++k) {
      barrier.wait();
      if (!me) {
        sequence(m, plan.params.order, r.first + k, order);
        std::fill(changes.begin(), changes.end(), 0);
      }
      barrier.wait();
      for (int s = 0; s < m.count; ++s) {
        const int i = order.outer[(size_t)s];
        const T  *row = a + (size_t)i * m.stride;
        double    sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int j = j0; j < j1; ++j) sum += row[j] * r.x[j];
        double *part = &parts[(size_t)(s % 2 * 8 * threads)];
        part[8 * me] = sum;
        barrier.wait();
        if (i < j0 || i >= j1) continue; // x_i is in the owner's part alone, so nobody waits for it
        double w = r.q[i];
        for (int t = 0; t < all; ++t) w += part[8 * t];
        const double x = clip(r, i, r.x[i] - plan.params.omega * w * m.inverse.data()[i]);
        changes[8 * (size_t)me] += std::fabs(x - r.x[i]);
        r.x[i] = x;
      }
      barrier.wait();
      if (!me) {
        double change = 0;
        for (int t = 0; t < all; ++t) change += changes[8 * (size_t)t];
        if (r.change) r.change[k] = change;
        made = k + 1;
        end  = change <= r.tolerance || !std::isfinite(change);
      }
      barrier.wait();
    }
  }
  return made;
}

} // namespace

Panels shape_of_rows(int n)
{
  Panels shape;
  shape.n = shape.count = n;
  shape.rows   = 1;
  shape.stride = (n + height - 1) / height * height;
  return shape;
}

void sequence(const Panels &m, Order order, int number, Sequence &s)
{
  s.outer.resize((size_t)(m.stride / height));
  s.inner.resize((size_t)height);
  std::iota(s.outer.begin(), s.outer.end(), 0);
  std::iota(s.inner.begin(), s.inner.end(), 0);
  s.reversed = order == Order::symmetric;
  if (order == Order::backward || (order == Order::symmetric && number % 2)) {
    std::reverse(s.outer.begin(), s.outer.end());
    std::reverse(s.inner.begin(), s.inner.end());
  } else if (order == Order::random) { // the same in every run: Fisher and Yates with splitmix64
    uint64_t state = golden_ratio * (uint64_t)(number + 1);
    auto     below = [&state](size_t n) { return (size_t)(mix(state += golden_ratio) % n); };
    for (size_t i = s.outer.size(); i > 1; --i) std::swap(s.outer[i - 1], s.outer[below(i)]);
    for (size_t i = s.inner.size(); i > 1; --i) std::swap(s.inner[i - 1], s.inner[below(i)]);
  }
  if (m.rows == 1) { // the same order, row by row
    std::vector<int> rows;
    for (int p : s.outer)
      for (int r : s.inner)
        if (p * height + r < m.n) rows.push_back(p * height + r);
    s.outer = rows;
    s.inner = {0};
  }
  s.position.resize((size_t)m.count);
  for (int k = 0; k < m.count; ++k) s.position[(size_t)s.outer[(size_t)k]] = k;
}

template <class T> static int run(Plan &plan, const Request &r, bool stale)
{
  const int threads = std::max(1, std::min(plan.exec.threads, plan.panels.count));
  switch (plan.params.strategy) {
  case Strategy::sequential:
    return sweep_by_graph<T>(plan, r, 1, false);
  case Strategy::row:
    return sweep_by_rows<T>(plan, r, threads);
  case Strategy::column:
    return sweep_by_columns<T>(plan, r, threads, false);
  case Strategy::block:
    return sweep_by_columns<T>(plan, r, threads, true);
  case Strategy::graph:
    return sweep_by_graph<T>(plan, r, threads, false);
  case Strategy::graph2:
    return sweep_by_graph<T>(plan, r, threads, true);
  default:
    return sweep_relaxed<T>(plan, r, stale ? 1 : threads, stale);
  }
}

int sweep_host(Plan &plan, const Request &r, bool stale)
{
  return plan.panels.single() ? run<float>(plan, r, stale) : run<double>(plan, r, stale);
}

template <class T> static void multiply(const Plan &plan, const T *a, const double *q, const double *x, double *w)
{
  const Panels &m = plan.panels;
#pragma omp parallel for schedule(static, 1) num_threads(plan.exec.threads) if (plan.exec.threads > 1)
  for (int p = 0; p < m.count; ++p) {
    if (m.rows == 1) {
      double s = 0;
#pragma omp simd reduction(+ : s)
      for (int j = 0; j < m.stride; ++j) s += a[(size_t)p * m.stride + j] * x[j];
      w[p] = q[p] + s;
    } else {
      alignas(64) double s[height] = {};
      product(a + (size_t)p * m.stride * height, x, m.stride, s);
      for (int k = 0; k < height; ++k) w[p * height + k] = q[p * height + k] + s[k];
    }
  }
}

void residual_host(const Plan &plan, const double *q, const double *x, double *w)
{
  if (plan.panels.single()) multiply(plan, plan.panels.s.data(), q, x, w);
  else multiply(plan, plan.panels.a.data(), q, x, w);
}

} // namespace tessera::densegs
