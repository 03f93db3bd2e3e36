// The iteration ([2] algorithm 1) in three steps: z = M^-1 r with r'z; p = z + beta p with q = S1 p and p'q; x +=
// alpha p, r -= alpha q with r'r and the test. Bytes per node of the finest grid beside M's, z in single precision:
// 34 for the second step (S1 20, z 2, p 8, q 4), 22 for the third (r 8, q 4, M's residual 2, x and p 16 in every
// other step). On several processes p is worked on at ghost nodes too, from z, which M leaves there: the only things
// that processes tell each other are M's right-hand sides and the three sums. Where their devices reach each other
// (exec/peers.hpp) that is as on one process, else the host drives the same kernels and adds up.
#include "rrb/cg/schur_solver_kernels.hpp"
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tessera::rrb {

#ifdef TESSERA_HAVE_DEVICE
// rrb/lumped/half.k.cxx
template <class T> void black_start(Plan &plan, const double *b, const View<double> &r, const View<T> &to,
                                    Reduction &reduction, const Begin &begin);
void black_finish(Plan &plan, const double *b, const View<double> &x, const View<double> &p, const double *kept,
                  double *out);
#endif

bool SchurSolver::serves(const Plan &plan)
{
#ifdef TESSERA_HAVE_DEVICE
  const Level &g = plan.levels[0];
  return plan.strategy->whole_solve && plan.have_schur && g.step == Step::coarsen && !g.layout.natural &&
         !g.grid.periodic_x && !g.grid.periodic_y && plan.remainder.kind != Exact::fetched_band &&
         (g.grid.processes() == 1 || plan.cycle != Cycle::k);
#else
  (void)plan;
  return false;
#endif
}

#ifdef TESSERA_HAVE_DEVICE

namespace {

constexpr int columns_a_lane = 1;

// p is right one layer around.
Box direction_nodes(const Level &g) { return g.grid.around(g.grid.processes() > 1); }
Box cells_of(const Box &nodes)
{
  return {floor_half(nodes.x0), floor_half(nodes.x1 + 1), floor_half(nodes.y0), floor_half(nodes.y1 + 1)};
}

} // namespace

SchurSolver::SchurSolver() : parts_(new Parts()) { }

SchurSolver::~SchurSolver()
{
#ifdef __CUDACC__
  if (parts_->graph) (void)cudaGraphExecDestroy(parts_->graph);
  if (parts_->capture) (void)cudaStreamDestroy(parts_->capture);
#endif
}

size_t SchurSolver::bytes() const
{
  return parts_->p[0].own.bytes() + parts_->p[1].own.bytes() + parts_->q.own.bytes() + parts_->z64.bytes() +
         parts_->rhs64.bytes() + parts_->memory.bytes();
}

// M's vectors: those of its hierarchy in single precision; else double precision will do.
template <class T> SchurSolver::Parts::Fields<T> SchurSolver::Parts::fields(Plan &plan, BlackField &r)
{
  const Layout &layout = plan.levels[0].layout;
  const size_t  n      = r.size;
  Fields<T>     f;
  if constexpr (std::is_same_v<T, float>) {
    MultigridLevel<T> &finest = std::get<Multigrid<T>>(plan.method).levels[0];
    f.z = finest.x.data.data(), f.rhs = finest.b.data.data();
  } else f.z = z64.data(), f.rhs = rhs64.empty() ? r.data : rhs64.data();
  f.zv = layout.view(f.z), f.rv = layout.view(f.rhs);
  f.zv.q[0] = place(layout, f.z), f.zv.q[3] = f.zv.q[0] + n / 2, f.zv.q[1] = f.zv.q[2] = nullptr;
  f.rv.q[0] = place(layout, f.rhs), f.rv.q[3] = f.rv.q[0] + n / 2, f.rv.q[1] = f.rv.q[2] = nullptr;
  return f;
}

// r'z to *rz, or this process's part of it. r has no values at ghost nodes, so its products have none of them.
template <class M>
void SchurSolver::Parts::precondition(Plan &plan, M &method, std::vector<BlackField> &null, BlackField &r, double *rz)
{
  using T = typename M::Value;
  Level      &g = plan.levels[0];
  Fields<T>   f = fields<T>(plan, r);
  const bool  host = driven(plan);
  // r'z is made, and z at ghost nodes
  const bool  fused = method.schur_cycle(plan, f.rv, f.zv, &reduction, rz) && null.empty();
  for (BlackField &v : null) {
    forall_flat(r.size, Dot<T>{v.data, f.z, host ? part : c.data()}, reduction);
    if (host) {
      const double sum = total(g.grid);
      device::copy_from_host(c.data(), &sum, sizeof sum);
      device::synchronize();
    }
    forall_flat(r.size, RemoveNull<T>{v.data, c.data(), f.z}, alone);
  }
  if (fused) return;
  forall_flat(r.size, Dot<T>{r.data, f.z, rz}, reduction);
  if (g.grid.processes() > 1) g.halo.exchange(f.zv, mask_o | mask_c);
}

template <class T> void SchurSolver::Parts::multiply(Plan &plan, BlackField &r, double *own)
{
  Level    &g = plan.levels[0];
  Fields<T> f = fields<T>(plan, r);
  const Box nodes = direction_nodes(g);
  Multiply<columns_a_lane, T> k{
    schur_view(g.layout, plan.schur),
    f.zv.q[0],
    f.zv.q[3],
    {{p[0].view.q[0], p[0].view.q[3]}, {p[1].view.q[0], p[1].view.q[3]}},
    q.view.q[0],
    q.view.q[3],
    state(),
    own,
    quarter_box(nodes, quarter_o),
    quarter_box(nodes, quarter_c),
    g.grid.owned(quarter_o),
    g.grid.owned(quarter_c),
    g.layout.whole()
  };
  forall_warps(cells_of(nodes), (lanes - 2) * columns_a_lane, k, reduction);
}

template <class T> void SchurSolver::Parts::update(Plan &plan, BlackField &r, BlackField &x, double *own)
{
  forall_flat(
    r.size / 2,
    Update<T>{p[0].data, p[1].data, q.data, x.data, r.data, norms(), fields<T>(plan, r).rhs, state(), shown, own},
    reduction);
}

bool SchurSolver::Parts::driven(Plan &plan) const
{
  if (plan.levels[0].grid.processes() == 1) return false;
  if (!plan.total) return true;
  return std::visit([&](const auto &m) { return m.needs_host(plan); }, plan.method);
}

// The sum of all processes' parts, which a kernel leaves on the host. The part of a device that has failed is no
// number.
double SchurSolver::Parts::total(const Grid &grid)
{
  device::synchronize();
  double sum = device::failed() ? NAN : *part;
  *part      = 0; // where a process has no nodes no kernel writes
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, grid.comm);
  return sum;
}

// The host drives the kernels, on several processes. It waits once for each sum and each exchange.
template <class M> void SchurSolver::Parts::drive(Plan &plan, M &method, std::vector<BlackField> &null, BlackField &r,
                                                  BlackField &x, std::vector<double> &history)
{
  using T = typename M::Value;
  const Grid &grid = plan.levels[0].grid;
  State      &t    = shown->state;
  // done at the next sum, before which t stays as it is
  auto        tell = [&] { device::copy_from_host(state(), &t, sizeof t); };
  tell();
  while (t.running()) {
    precondition(plan, method, null, r, part);
    t.rz = total(grid);
    tell();
    multiply<T>(plan, r, part);
    t.multiplied(total(grid));
    tell();
    update<T>(plan, r, x, part);
    const double norm = sqrt(total(grid));
    if (t.running()) history.push_back(norm);
    t.stepped(norm);
  }
  tell();
}

void SchurSolver::Parts::iterate(Plan &plan, std::vector<BlackField> &null, BlackField &r, BlackField &x)
{
  const device::Recording recording;
  std::visit(
    [&](auto &method) {
      using T = typename std::decay_t<decltype(method)>::Value;
      precondition(plan, method, null, r, &state()->rz);
      // not linear: CG is flexible
      if (plan.cycle == Cycle::k) forall_flat(r.size, Dot<T>{q.data, fields<T>(plan, r).z, &state()->qz}, reduction);
      multiply<T>(plan, r, nullptr);
      update<T>(plan, r, x, nullptr);
    },
    plan.method);
}

// The host launches every kernel and looks after each iteration.
void SchurSolver::Parts::launch_each(Plan &plan, std::vector<BlackField> &null, BlackField &r, BlackField &x)
{
  while (fetch_state().outcome == (int)Outcome::running) iterate(plan, null, r, x);
}

#ifdef __CUDACC__

// Debuggers and profilers do not see into a conditional node. Who sets CUDA's variable wants one kernel at a time.
static bool one_by_one()
{
  static const char *const v = getenv("CUDA_LAUNCH_BLOCKING");
  return v && *v && *v != '0';
}

// The loop as a graph with a conditional node; where the driver has none, one iteration as a graph, and the host
// looks every few.
void SchurSolver::Parts::launch(Plan &plan, std::vector<BlackField> &null, BlackField &r, BlackField &x)
{
  if (one_by_one()) return launch_each(plan, null, r, x);
  struct Failed { };
  auto check = [](cudaError_t e) {
    device::check(e);
    if (device::failed()) throw Failed();
  };
  try {
    launch_graph(plan, null, r, x, check);
  } catch (const Failed &) { // kept, exec/device.hpp; it ends here
  }
}

// All addresses that the graph has in it.
uint64_t SchurSolver::Parts::addresses(Plan &plan, std::vector<BlackField> &null, BlackField &r, BlackField &x) const
{
  uint64_t now = rrb::fingerprint(plan);
  auto     add = [&](const void *address) { now = (now ^ (uint64_t)(uintptr_t)address) * 1099511628211ull; };
  for (const BlackField *f : {(const BlackField *)&r, (const BlackField *)&x, &p[0], &p[1], &q}) add(f->data);
  for (const BlackField &v : null) add(v.data);
  add(z64.data()), add(c.data()), add(memory.data()), add(reduction.parts.data()), add(reduction.ticket.data()),
    add(reduction.total), add(device::scratch(1));
  return now + (uint64_t)ahead;
}

// Some iterations, then the loop as a conditional node of the graph. *same: what the stream's capture gives back.
template <class Check, class Record>
void SchurSolver::Parts::record_loop(cudaGraph_t g, cudaGraphConditionalHandle loop, cudaGraph_t *same,
                                     const Check &check, const Record &record)
{
  cudaGraphNode_t              node; // the first pass does nothing where the loop shall not run at all
  std::vector<cudaGraphNode_t> before;
  cudaGraphNodeParams          params = {};
  if (ahead) {
    const cudaGraphNode_t  *last = nullptr;
    size_t                  count = 0;
    cudaStreamCaptureStatus status;
    check(cudaStreamBeginCaptureToGraph(capture, g, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < ahead; ++i) record();
  #if CUDART_VERSION < 13000
    check(cudaStreamGetCaptureInfo_v2(capture, &status, nullptr, nullptr, &last, &count));
  #else
    check(cudaStreamGetCaptureInfo(capture, &status, nullptr, nullptr, &last, nullptr, &count));
  #endif
    before.assign(last, last + count);
    check(cudaStreamEndCapture(capture, same));
  }
  params.type                = cudaGraphNodeTypeConditional;
  params.conditional.handle  = loop;
  params.conditional.type    = cudaGraphCondTypeWhile;
  params.conditional.size    = 1;
  #if CUDART_VERSION < 13000
  check(cudaGraphAddNode(&node, g, before.data(), before.size(), &params));
  #else
  check(cudaGraphAddNode(&node, g, before.data(), nullptr, before.size(), &params));
  #endif
  check(cudaStreamBeginCaptureToGraph(capture, params.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                      cudaStreamCaptureModeThreadLocal));
  record();
  check(cudaStreamEndCapture(capture, same));
}

// Makes `graph` of what record() launches: the whole loop, or one iteration.
template <class Check, class Record> void SchurSolver::Parts::record_graph(const Check &check, const Record &record)
{
  void *const stream = device::stream();
  if (graph) check(cudaGraphExecDestroy(graph));
  graph = nullptr;
  if (!capture) check(cudaStreamCreateWithFlags(&capture, cudaStreamNonBlocking));
  cudaGraph_t g = nullptr, same = nullptr;
  device::set_stream(capture);
  try {
    check(cudaGraphCreate(&g, 0));
    cudaGraphConditionalHandle loop = 0;
    whole = cudaGraphConditionalHandleCreate(&loop, g, 1, cudaGraphCondAssignDefault) == cudaSuccess;
    (void)cudaGetLastError();
    const unsigned long long handle = whole ? (unsigned long long)loop : 0;
    check(cudaMemcpy((char *)state() + offsetof(State, loop), &handle, sizeof handle, cudaMemcpyHostToDevice));
    if (whole) record_loop(g, loop, &same, check, record);
    else {
      check(cudaGraphDestroy(std::exchange(g, nullptr)));
      check(cudaStreamBeginCapture(capture, cudaStreamCaptureModeThreadLocal));
      record();
      check(cudaStreamEndCapture(capture, &g));
    }
    check(cudaGraphInstantiate(&graph, g, 0));
  } catch (...) {
    (void)cudaStreamEndCapture(capture, &same);
    if (g) (void)cudaGraphDestroy(g);
    (void)cudaGetLastError();
    device::go_back_to(stream); // an error is on its way already: no other one
    throw;
  }
  (void)cudaGraphDestroy(g);
  device::go_back_to(stream);
}

template <class Check> void SchurSolver::Parts::launch_graph(Plan &plan, std::vector<BlackField> &null, BlackField &r,
                                                             BlackField &x, const Check &check)
{
  check(cudaSuccess);
  const uint64_t now = addresses(plan, null, r, x);
  if (!graph || now != fingerprint) {
    record_graph(check, [&] {
      iterate(plan, null, r, x);
      check(cudaSuccess);
    });
    fingerprint = now;
  }
  cudaStream_t stream = (cudaStream_t)device::stream();
  if (whole) return check(cudaGraphLaunch(graph, stream));
  do {
    for (int i = 0; i < 4; ++i) check(cudaGraphLaunch(graph, stream));
  } while (fetch_state().outcome == (int)Outcome::running);
}

#else

// As the graph: some iterations whatever happens, and the state in the end where kernels have written it.
void SchurSolver::Parts::launch(Plan &plan, std::vector<BlackField> &null, BlackField &r, BlackField &x)
{
  State now;
  do {
    for (int i = 0; i < 4; ++i) iterate(plan, null, r, x);
    device::copy_to_host(&now, memory.data(), sizeof now);
  } while (now.running() && !device::failed() && !Peers::lost());
}

#endif

Outcome SchurSolver::solve(Plan &plan, const Limits &limits, const double *b, bool begun, std::vector<BlackField> &null,
                           BlackField &r, BlackField &x, double *solution, std::vector<double> &norms)
{
  Parts       &t = *parts_;
  const Level &g = plan.levels[0];
  if (t.q.own.empty() || t.layout != g.layout) {
    for (BlackField *f : {&t.p[0], &t.p[1], &t.q}) *f = BlackField(plan);
    t.layout = g.layout;
  }
  auto *const  multigrid = std::get_if<Multigrid<float>>(&plan.method); // in single precision
  const bool   single    = multigrid;
  const bool many   = g.grid.processes() > 1, host = t.driven(plan);
  if (!single && t.z64.size() != r.size) t.z64.resize(r.size);
  if (!single && many && t.rhs64.size() != r.size) t.rhs64.resize(r.size);
  if (t.c.empty()) t.c.resize({1, Space::cuda});
  if (t.for_host.reach(sizeof(HostResults) + sizeof(double))) {
    memset(t.for_host.data(), 0, sizeof(HostResults) + sizeof(double));
    t.shown = (HostResults *)t.for_host.data();
    t.part  = (double *)(t.shown + 1);
  }
  const size_t wanted = header + (size_t)limits.iterations + 1;
  if (t.memory.size() < wanted) {
    t.memory.resize({wanted, Space::cuda});
    t.forget();
  }
  t.reduction.create(max_blocks(cells_of(direction_nodes(g))));
  t.alone.create(max_flat_blocks);
  t.reduction.total = host ? nullptr : plan.total;
  const Begin begin{
    t.state(), t.norms(), t.shown, limits, begun, plan.cycle == Cycle::k, single, host ? t.part : nullptr};
  auto finish = [&] {
    if (solution) black_finish(plan, b, x.view, t.p[0].view, &t.state()->kept, solution);
    else forall_flat(r.size, Complete{t.p[0].data, x.data, t.state()}, t.alone);
  };
  auto keep = [&](int outcome) { // x whole, for the solve that goes on
    if (solution && limits.goes_on && outcome == (int)Outcome::too_many)
      forall_flat(r.size, Complete{t.p[0].data, x.data, t.state()}, t.alone);
  };
  if (begun) {
    forall_flat((size_t)g.grid.owned().size(), Square{b, begin}, t.reduction);
    if (single) convert(plan.exec, r.own, multigrid->levels[0].b.data);
    else if (many) device::copy(t.rhs64.data(), r.data, t.rhs64.bytes());
  } else if (single) black_start(plan, b, r.view, multigrid->levels[0].b.v, t.reduction, begin);
  else black_start(plan, b, r.view, t.fields<double>(plan, r).rv, t.reduction, begin);
  if (host) {
    State &state = t.shown->state;
    state.loop   = 0;
    state.bb     = t.total(g.grid);
    norms        = {state.start(limits, begun, false, single)};
    std::visit([&](auto &method) { t.drive(plan, method, null, r, x, norms); }, plan.method);
    if (!begun && !state.its) x.own.zero();
    finish();
    keep(state.outcome);
    return (Outcome)state.outcome;
  }
  t.launch(plan, null, r, x);
  finish();
  const State &end = t.end();
  if (many) { // all end alike
    int good = end.outcome != (int)Outcome::not_finite || !(device::failed() || Peers::lost());
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, g.grid.comm);
    if (!good) {
      norms = {NAN};
      return Outcome::not_finite;
    }
  }
  if (!begun && !end.its) {
    x.own.zero();
    finish();
  }
  norms.assign(t.shown->norms, t.shown->norms + std::min(end.its + 1, HostResults::few));
  if (norms.size() <= (size_t)end.its) {
    norms.resize((size_t)end.its + 1);
    device::copy_to_host(norms.data(), t.norms(), norms.size() * sizeof(double));
  }
  keep(end.outcome);
  t.took(end.its);
  return (Outcome)end.outcome;
}

#else

struct SchurSolver::Parts { };
SchurSolver::SchurSolver() { }
SchurSolver::~SchurSolver() { }
size_t  SchurSolver::bytes() const { return 0; }
Outcome SchurSolver::solve(Plan &, const Limits &, const double *, bool, std::vector<BlackField> &, BlackField &,
                           BlackField &, double *, std::vector<double> &)
{
  return Outcome::not_finite;
}

#endif

} // namespace tessera::rrb
