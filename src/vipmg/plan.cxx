// Levels and their memory.
#include "box/same.hpp"
#include "box/tuning.hpp"
#include "vipmg/vipmg.hpp"
#include <algorithm>
#include <utility>

namespace tessera::vipmg {

namespace {

// a direction with less than this share of the strongest one's couplings is not coarsened
constexpr double weak_to_coarsen = 0.35;
constexpr double hysteresis      = 1.5; // grids that are there stay as long as no share is beyond it by this factor

constexpr double windy_some = 0.1;  // where convection is about as strong as diffusion, as a share of all
constexpr double jumps_some = 1e-3; // nodes at which coefficients jump spoil cycles, as a share of all

// on a device coefficients of shorter rows are in the cache: their stretches are not worth a kernel
constexpr int    long_row       = 512;

} // namespace

namespace {

void allocate(const Plan &plan, Level &l, bool truncated)
{
  const Extent n{l.layout.size(), plan.exec.space};
  l.A.a.resize(points(plan.dimension, l.A.box) * n);
  l.A.inverse.resize(n);
  if (truncated) {
    l.truncated.box = true;
    l.truncated.a.resize(points(plan.dimension, true) * n);
    l.truncated.inverse.resize(n);
    if (plan.dimension == 2) l.cut.resize(n);
  }
  for (Buffer<double> *f : {&l.x, &l.b, &l.lo, &l.up, &l.v, &l.r, &l.w, &l.y}) f->resize(n);
  l.free.resize(n);
  l.inactive.resize(n);
}

// Who has the next nodes along x and along y, and where this process is among them.
void find_neighbours(Level &l, const std::vector<Box3> &boxes)
{
  for (int d = 0; d < 2; ++d) {
    find_place(boxes, l.own, d, l.processes[d], l.place[d]);
    for (int r = 0; r < (int)boxes.size(); ++r) {
      const Box3 &b = boxes[(size_t)r];
      if (b.empty()) continue; // it lies beside others by its corners alone
      if (b.lo[1 - d] != l.own.lo[1 - d] || b.hi[1 - d] != l.own.hi[1 - d] || b.lo[2] != l.own.lo[2]) continue;
      if (b.hi[d] == l.own.lo[d]) l.before[d] = r;
      if (b.lo[d] == l.own.hi[d]) l.behind[d] = r;
    }
  }
}

bool can_coarsen(const Level &l, int d) { return l.periodic[d] ? l.n[d] >= 6 : l.n[d] >= 3; }

} // namespace

size_t Plan::bytes() const
{
  size_t b = work[0].bytes() + work[1].bytes() + unstable.bytes() + span.bytes();
  for (const Level &l : levels) {
    b += l.A.a.bytes() + l.A.inverse.bytes() + l.truncated.a.bytes() + l.truncated.inverse.bytes() + l.free.bytes() +
         l.inactive.bytes() + l.cut.bytes() + l.A.same.bytes() + l.truncated.same.bytes() + l.halo.bytes();
    for (const Buffer<double> *f : {&l.x, &l.b, &l.lo, &l.up, &l.v, &l.r, &l.w, &l.y, &l.diffusion}) b += f->bytes();
  }
  return b;
}

void create(Plan &plan, const Comm &comm, int dimension, const int n[3], const bool periodic[3],
            const std::vector<Box3> &boxes, bool box)
{
  plan.strategy  = &strategy_of(plan.exec.space);
  plan.comm      = comm;
  plan.dimension = dimension;
  plan.built     = false;
  plan.levels.clear();
  plan.levels.reserve(64); // they stay where they are
  plan.levels.emplace_back();
  Level &l = plan.levels[0];
  l.A.box   = box;
  begin_grid(l, comm, dimension, n, periodic, boxes, plan.exec.space);
  find_neighbours(l, boxes);
  allocate(plan, l, false);
  plan.sums.resize(Extent{4, plan.exec.space});
  plan.measure.resize(Extent{2, plan.exec.space});
  plan.active.resize(Extent{2, plan.exec.space});
  plan.strength.resize(Extent{2, plan.exec.space});
  plan.alike.resize(Extent{1, plan.exec.space});
}

namespace {

// Weights of linear interpolation along a direction; coarse node I lies on fine node 2 I. Where the last fine node of
// an even number has no coarse node behind it, its weight is `end`. kept: host memory of copies to a device, which
// are not waited for here.
void weights(const Plan &plan, Level &fine, int coarse_n, int d, double end, std::vector<std::vector<double>> &kept)
{
  const int           n = fine.n[d], M = coarse_n;
  std::vector<double> left((size_t)M + 2, 0.5), right((size_t)M + 2, 0.5);
  if (fine.step[d] == 1) {
    std::fill(left.begin(), left.end(), 0.);
    std::fill(right.begin(), right.end(), 0.);
  } else if (!fine.periodic[d]) {
    left[0] = right[0] = left[1] = 0;                    // nothing lies before node 0
    right[(size_t)M] = n % 2 ? 0 : end;                  // or behind the last
    left[(size_t)M + 1] = right[(size_t)M + 1] = 0;
  } else if (n % 2) {                                    // nodes n - 1 and 0 are neighbours and both coarse
    right[0] = 1, left[1] = 0;
    right[(size_t)M] = 0, left[(size_t)M + 1] = 1;
  }
  for (int side = 0; side < 2; ++side) {
    std::vector<double> &w = side ? right : left;
    Buffer<double>      &b = side ? fine.right[d] : fine.left[d];
    // Where it was: graphs that are recorded hold addresses.
    if (b.size() != w.size() || b.space() != plan.exec.space) b.resize(Extent{w.size(), plan.exec.space});
    kept.push_back(std::move(w));
    copy(kept.back().data(), Space::host, b.data(), b.space(), b.size());
  }
}

// Which directions are to be coarsened; false where there is none. limit: the share below which a direction is weak.
bool directions(const Plan &plan, const Level &l, const Strength &s, const double limit[3], int step[3])
{
  double strongest = 0;
  bool   any = false;
  for (int d = 0; d < plan.dimension; ++d)
    if (can_coarsen(l, d)) strongest = std::max(strongest, s.along[d]);
  for (int d = 0; d < 3; ++d) {
    step[d] = d < plan.dimension && can_coarsen(l, d) && s.along[d] >= limit[d] * strongest ? 2 : 1;
    any     = any || step[d] == 2;
  }
  return any;
}

// Are the directions in which this level was coarsened still good ones?
bool still_good(const Plan &plan, const Level &l, const Strength &s)
{
  if (l.shared && device::failed()) return true; // its sums say nothing, and the other processes have others
  double limit[3];
  int    step[3];
  for (int d = 0; d < 3; ++d) limit[d] = l.step[d] == 2 ? weak_to_coarsen / hysteresis : weak_to_coarsen * hysteresis;
  (void)directions(plan, l, s, limit, step);
  return step[0] == l.step[0] && step[1] == l.step[1] && step[2] == l.step[2];
}

// Points smooth along a strong direction only, and the coarse grid needs what it coarsens to be smooth: nodes that
// are strongly coupled along d, beside a direction that is coarsened or where d is not, ask for lines along d. A
// quarter of a line of them is enough to spoil a cycle. A node or two that are strongly coupled alone, as in a noisy
// coefficient, are no line: sweeps by points reach their ends.
void choose_lines(Plan &plan, Level &l, const Strength &s)
{
  for (int d = 0; d < 2; ++d) {
    const bool now = plan.dimension == 2 && s.strong[d] > 0.25 * l.n[d] && (l.step[1 - d] == 2 || l.step[d] == 1);
    if (std::exchange(l.lines[d], now) != now) ++plan.revision; // cycles have other kernels now
  }
  const size_t room =
    l.shared || !(l.lines[0] || l.lines[1]) ? 0 : (size_t)(l.own.hi[0] - l.own.lo[0] + l.own.hi[1] - l.own.lo[1] + 2);
  if (plan.ends.size() >= room) return;
  plan.ends.resize(Extent{room, plan.exec.space});
  plan.ends_host.reserve(plan.exec.space, plan.ends.bytes());
}

// Sweeps in colours take what the wind carries a node or two further, those in its order across the grid. On a device,
// where nodes have no order, choose() takes this back.
void choose_order(const Plan &plan, Level &l, const Strength &s)
{
  l.ordered = plan.dimension == 2 && s.wind > windy_some * l.n[0] * l.n[1];
}

// The level below the last one, or false where there is nothing to coarsen.
bool add_level(Plan &plan, std::vector<Box3> &boxes, const Strength &s)
{
  const Level &fine = plan.levels.back();
  Level        c;
  const double limit[3] = {weak_to_coarsen, weak_to_coarsen, weak_to_coarsen};
  int          step[3];
  if (!directions(plan, fine, s, limit, step)) return false;
  for (int d = 0; d < 3; ++d) {
    c.n[d]        = step[d] == 2 ? (fine.n[d] + 1) / 2 : fine.n[d];
    c.periodic[d] = fine.periodic[d];
    plan.levels.back().step[d] = step[d];
  }
  for (Box3 &b : boxes)
    for (int d = 0; d < 3; ++d)
      if (step[d] == 2) b.lo[d] = (b.lo[d] + 1) / 2, b.hi[d] = (b.hi[d] + 1) / 2;
  c.A.box = true;
  distribute(c, fine, plan.comm, plan.dimension, (double)tuning::redundant_nodes, boxes, plan.exec.space);
  if (!c.shared) find_neighbours(c, boxes);
  allocate(plan, c, true);
  plan.levels.push_back(std::move(c));
  return true;
}

// The boxes of all processes on the finest level.
std::vector<Box3> boxes_of(const Plan &plan)
{
  std::vector<Box3> boxes;
  int               size = 1, mine[6];
  MPI_Comm_size(plan.comm, &size);
  std::vector<int> all((size_t)size * 6);
  for (int d = 0; d < 3; ++d) mine[d] = plan.levels[0].own.lo[d], mine[3 + d] = plan.levels[0].own.hi[d];
  MPI_Allgather(mine, 6, MPI_INT, all.data(), 6, MPI_INT, plan.comm);
  for (int r = 0; r < size; ++r) {
    Box3 b;
    for (int d = 0; d < 3; ++d) b.lo[d] = all[(size_t)(6 * r + d)], b.hi[d] = all[(size_t)(6 * r + 3 + d)];
    boxes.push_back(b);
  }
  return boxes;
}

// Do less than a quarter of the nodes have the stencil of the one before them in their half of a row? Not the
// stretches tell: how long these can be depends on the processes and on the grid's size.
void find_variation(Plan &plan)
{
  const Level &l = plan.levels[0];
  const int    lo = l.own.lo[0], hi = l.own.hi[0], even = half_begin(hi, 0) - half_begin(lo, 0),
            odd      = half_begin(hi, 1) - half_begin(lo, 1);
  int          alike = 0;
  device::copy_to_host(&alike, plan.alike.data(), sizeof(alike));
  double sums[2] = {(double)alike, l.own.empty() ? 0
                                                 : (double)(std::max(0, even - 1) + std::max(0, odd - 1)) *
                                                     (double)(l.own.size() / (hi - lo))};
  if (!l.shared) MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, plan.comm);
  plan.varied = sums[0] < 0.25 * sums[1];
}

// Coarse levels and their operators. False where there are levels whose directions do not fit the operator any more:
// of levels that are not shared all processes say the same, of shared ones each for itself.
bool coarsen(Plan &plan, std::vector<std::vector<double>> &kept)
{
  std::vector<Box3> boxes;
  if (!plan.built) {
    ++plan.revision;
    plan.levels.resize(1);
    for (int &step : plan.levels[0].step) step = 1;
    boxes = boxes_of(plan);
  }
  const size_t limit = plan.params.levels > 0 ? (size_t)plan.params.levels : 64;
  for (size_t k = 0; k + 1 < limit; ++k) {
    if (plan.strategy->late_stretches) {
      Level &l = plan.levels[k];
      find_stretches(plan, l, l.A);
      // Not while a cycle is recorded.
      if (l.cut.size() && l.n[0] >= long_row && !l.incoming.remote() && l.truncated.same.size() != l.A.same.size())
        l.truncated.same.resize(l.A.same.extent());
      if (!k) find_variation(plan);
    }
    const Strength s = strength(plan, plan.levels[k]);
    choose_order(plan, plan.levels[k], s);
    if (!k) plan.rough = s.jumps > jumps_some * plan.levels[0].nodes();
    if (plan.built && k + 1 == plan.levels.size()) break;
    if (plan.built ? !still_good(plan, plan.levels[k], s) : !add_level(plan, boxes, s)) return !plan.built;
    Level &fine = plan.levels[k], &coarse = plan.levels[k + 1];
    choose_lines(plan, fine, s);
    for (int d = 0; d < 3; ++d) {
      const double end = s.face[d] > 0 ? s.face[d] / (s.face[d] + std::max(0., s.row[d])) : 1;
      weights(plan, fine, coarse.n[d], d, std::max(0.5, end), kept);
    }
    coarse_free(plan, (int)k);
    galerkin(plan, (int)k, false, k == 0);
  }
  return true;
}

} // namespace

Finest<double> finest(Plan &plan)
{
  Level &l = plan.levels[0];
  return {plan.exec, plan.dimension, &l, l.A.box, l.A.a.data(), l.free.data()};
}

void find_stretches(Plan &plan, const Level &l, Operator &op)
{
  box::RowNumbers<double> row;
  const auto              add = [&](const double *a) { row.add(a, a + l.layout.half); };
  for (int c = 0; c < box::points(plan.dimension, op.box); ++c) add(op.a.data() + c * (ptrdiff_t)l.layout.size());
  add(op.inverse.data());
  int *const alike = plan.strategy->late_stretches ? plan.alike.data() : nullptr;
  if (alike) plan.alike.zero();
  box::find_stretches(plan.exec, l.layout, l.own, row, op.same, alike);
}

void shorten_stretches(Plan &plan, Level &l)
{
  box::find_uncut(plan.exec, l.layout, l.own, l.A.same, l.cut.data(), l.truncated.same);
}

void build(Plan &plan)
{
  Level                &l = plan.levels[0];
  const ptrdiff_t       n = (ptrdiff_t)l.layout.size();
  std::vector<double *> planes;
  for (int k = 0; k < points(plan.dimension, l.A.box); ++k) planes.push_back(l.A.a.data() + k * n);
  l.halo.exchange(planes.data(), (int)planes.size());
  l.halo.exchange(l.free.data());
  make_inverse(plan, l, l.A);
  plan.asymmetry = asymmetry(plan);
  plan.symmetric = plan.asymmetry <= tuning::symmetric;
  std::vector<std::vector<double>> kept;
  int                              outdated = !coarsen(plan, kept);
  // To make the grids again takes messages, so all must do it. Rounding, or a device that has failed, may be of one
  // process alone.
  if (!l.shared) MPI_Allreduce(MPI_IN_PLACE, &outdated, 1, MPI_INT, MPI_MAX, plan.comm);
  if (outdated) {
    plan.built = false;
    (void)coarsen(plan, kept);
  }
  device::synchronize(plan.exec.space); // before `kept` goes
  plan.built         = true;
  plan.truncated_top = -1;
  plan.span.forget();
  choose(plan);
}

void truncate(Plan &plan, int top)
{
  for (int k = top; k + 1 < (int)plan.levels.size(); ++k) galerkin(plan, k, true, k == top);
  plan.truncated_top = top;
}

} // namespace tessera::vipmg
