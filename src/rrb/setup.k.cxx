// The hierarchy of RRB: grids, memory, the numeric factorisation from the finest grid to the exact remainder.
#include "box/tuning.hpp"
#include "rrb/multigrid/march.hpp"
#include <algorithm>
#include <climits>
#include <iterator>

namespace tessera::rrb {

// Entries of the band matrix of a grid, numbered along its shorter direction; a periodic direction is folded.
static double band_entries(const Grid &g)
{
  const double width = std::min(g.nx, g.ny) + 1, fold = g.periodic_x || g.periodic_y ? 2 : 1;
  return (double)g.size() * std::min(fold * width + 1, (double)g.size());
}

// The grid of the c nodes. A periodic direction whose size becomes odd cannot be coloured: it is cut there.
static Grid next_grid(const Grid &g, bool *cut_x, bool *cut_y)
{
  Grid c        = g.coarse();
  *cut_x        = c.periodic_x && c.nx % 2 && c.nx > 1;
  *cut_y        = c.periodic_y && c.ny % 2 && c.ny > 1;
  c.periodic_x  = c.periodic_x && !*cut_x;
  c.periodic_y  = c.periodic_y && !*cut_y;
  return c;
}

// Levels until one node remains in a direction, or two in a periodic one; what is left then has a narrow band.
int maximum_levels(const Grid &grid)
{
  int  l = 0;
  bool cut_x, cut_y;
  for (Grid g = grid; g.nx > 1 && g.ny > 1 && !(g.periodic_x && g.nx == 2) && !(g.periodic_y && g.ny == 2);
       g      = next_grid(g, &cut_x, &cut_y))
    l += 2;
  return l;
}

// Direct messages between devices, where all can be reached.
static void join(Plan &plan, const Grid &grid)
{
  static unsigned long long number = 0;
  size_t                    bytes  = total_bytes(grid.processes());
  auto                      each   = [&](const auto &f) {
    for (Level &l : plan.levels) {
      if (l.grid.processes() == 1) continue;
      f(l.halo), f(l.wide);
      if (l.gather) f(*l.gather);
    }
  };
  each([&](auto &part) { bytes += part.peer_bytes(); });
  const std::shared_ptr<Peers> peers = Peers::open(plan.exec, grid.comm, bytes, plan.params.peers);
  if (!peers) return;
  each([&](auto &part) { part.join(peers); });
  plan.total  = make_total(*peers, grid.comm, plan.total_memory);
  plan.peers  = peers;
  plan.joined = ++number;
}

// Grids below the finest one.
static int coarse_grids(const Plan &plan, const Grid &grid)
{
  const int maximum = maximum_levels(grid);
  if (plan.params.levels > 0) return std::min(plan.params.levels, maximum) / 2;
  int  steps = 0;
  bool cut_x, cut_y;
  for (Grid g = grid; 2 * steps < maximum &&
                      (plan.strategy->last_nodes ? g.size() > plan.strategy->last_nodes
                                                 : band_entries(g) > tuning::remainder_fraction * (double)grid.size() &&
                                                     band_entries(grid) > tuning::remainder_least);
       ++steps)
    g = next_grid(g, &cut_x, &cut_y);
  return steps;
}

// The levels without what belongs to a method. A small distributed grid is two of them: it is gathered, and goes on as
// a grid that every process has.
template <class M> static void create_levels(Plan &plan, const M &method, const Grid &finest, int steps)
{
  const Params &params = plan.params;
  const Space   space  = plan.exec.space;
  Grid          g      = finest;
  bool          many = finest.processes() > 1, cut_x = false, cut_y = false;
  plan.levels.reserve((size_t)steps + 2);
  for (int i = 0; i <= steps; ++i) {
    const bool natural = params.grids >= 0 && i >= params.grids;
    bool       gathered = true;
    for (bool first = true; gathered; first = false) {
      plan.levels.emplace_back();
      Level &level = plan.levels.back();
      level.index  = i;
      level.cut_x  = first && i && cut_x;
      level.cut_y  = first && i && cut_y;
      level.grid   = g;
      level.grid.layers = many ? method.layers(plan, finest) : 1;
      level.step = i == steps ? Step::solve : Step::coarsen;
      const long redundant = params.redundant ? params.redundant : method.redundant(plan, i);
      gathered             = many && (i == steps || g.size() <= redundant);
      if (gathered) {
        level.step = Step::gather;
        level.gather.reset(new Gather(g, space));
        level.solution.resize(Extent{(size_t)g.size(), space});
        many = false;
        g    = g.local();
      }
      level.layout = Layout(level.grid, natural, space);
      level.halo   = Halo(level.grid, space);
      if (level.grid.layers > 1) level.wide = Halo(level.grid, space, level.grid.layers);
      if (!i) level.b.resize(level.layout);
    }
    g = next_grid(g, &cut_x, &cut_y);
  }
}

void create(Plan &plan, const Grid &grid, const Params &params)
{
  static unsigned long long plans = 0;
  const Exec exec = plan.exec;
  plan            = Plan();
  plan.number     = ++plans;
  plan.exec       = exec;
  plan.strategy   = &strategy_of(exec.space);
  plan.params     = params;
  if (params.coarsening != Coarsening::galerkin)
    plan.eliminate_last_red = params.levels > 0 && params.levels < maximum_levels(grid) && params.levels % 2;
  else if (params.single) plan.method.emplace<Multigrid<float>>();
  else plan.method.emplace<Multigrid<double>>();
  const int steps = coarse_grids(plan, grid);
  std::visit(
    [&](auto &method) {
      create_levels(plan, method, grid, steps);
      method.create(plan);
    },
    plan.method);
  const long inverse_nodes = plan.strategy->inverse_nodes;
  plan.remainder.kind = !inverse_nodes                                         ? Exact::band
                        : plan.levels.back().grid.size() <= inverse_nodes ? Exact::inverse
                                                                          : Exact::fetched_band;
  for (Level &level : plan.levels)
    if (level.accelerated) level.sums.resize(Extent{2 * sizeof(TwoSums) / sizeof(double), exec.space});
  bool nodes = true; // on every process: kernels without work do not run, and would not come to a sum
  for (int r = 0; r < grid.processes(); ++r) nodes = nodes && !grid.box(r).empty();
  if (plan.strategy->peers && grid.processes() > 1 && nodes) join(plan, grid);
}

namespace {

struct BadKernel { // 1 where a value is negative or no number
  const double *c;
  ptrdiff_t     sx, sy;
  HD double     operator()(int X, int Y) const { return !(c[X * sx + Y * sy] >= 0); }
};

struct CheckPositive {
  const double *c;
  ptrdiff_t     sx, sy;
  int           q;
  FirstBad      bad;
  HD void       operator()(int X, int Y) const { bad.check(c[X * sx + Y * sy], q, X, Y); }
};

void name_node(int grid, int factor_level, int q, int X, int Y, Failure &failure)
{
  const int s    = 1 << grid; // node x of grid g is node 2^g x + 2^g - 1 of the finest
  failure.failed = true;
  failure.level  = factor_level;
  failure.x      = s * (2 * X + (q & 1)) + s - 1;
  failure.y      = s * (2 * Y + (q >> 1)) + s - 1;
}

} // namespace

void check_positive(Plan &plan, const Level &level, const View<double> &C, int mask, int factor_level, Failure &failure)
{
  if (failure.failed) return;
  if (Findings *const notes = plan.findings.notes()) {
    auto of = [&](int q) {
      return part(mask & (1 << q) ? level.grid.owned(q) : Box(),
                  CheckPositive{
                    C.q[q], C.sx, C.sy, q, {&notes->bad, factor_level}
      });
    };
    return forall_parts(plan.exec, of(0), of(1), of(2), of(3));
  }
  for (int q = 0; q < 4; ++q) {
    const Box b = level.grid.owned(q);
    if (!(mask & (1 << q)) || b.empty() || forall_sum(plan.exec, b, BadKernel{C.q[q], C.sx, C.sy}) == 0) continue;
    for (int Y = b.y0; Y < b.y1; ++Y)
      for (int X = b.x0; X < b.x1; ++X)
        if (!(C.q[q][X * C.sx + Y * C.sy] >= 0)) return name_node(level.index, factor_level, q, X, Y, failure);
  }
}

// The memory of an earlier setup's factors, which the factorisation fills again, or an operator without memory.
Stencil recycle_factors(Level &level)
{
  Stencil s;
  if (level.factor.d64.empty()) return s;
  s.layout = level.layout;
  s.c      = std::move(level.factor.d64);
  for (int k = 0; k < 4; ++k) s.e[k] = std::move(level.factor.l64[k]);
  return s;
}

// An operator for a level; *fresh: it is zero.
static Stencil operator_for(Plan &plan, size_t l, bool *fresh = nullptr)
{
  const Level &level = plan.levels[l];
  Stencil      s = std::visit([&](auto &m) { return m.recycle(plan, l); }, plan.method);
  if (fresh) *fresh = s.c.empty();
  return s.c.empty() ? Stencil(level.grid, level.layout.natural, level.layout.space) : std::move(s);
}

Stencil finest_stencil(Plan &plan)
{
  bool    fresh;
  Stencil s = operator_for(plan, 0, &fresh);
  if (fresh) return s;
  s.nine = false;
  if (plan.strategy->overwrites && plan.params.coarsening == Coarsening::galerkin &&
      plan.levels[0].grid.processes() == 1)
    return s;
  s.c.zero();
  for (auto &e : s.e) e.zero();
  return s;
}

Stencil gather(const Exec &exec, Level &level, Level &whole, Stencil &a)
{
  Stencil   all(whole.grid, whole.layout.natural, whole.layout.space);
  const Box own = level.grid.owned();
  if (a.nine) all.make_nine();
  auto field = [&](const View<double> &from, const View<double> &to, int mask) {
    const View<double> local = natural_view(level.gather->local(), own.x0, own.y0, own.x1 - own.x0);
    auto               each  = [&](const Box &nodes, const View<double> &u, const View<double> &v) {
      for (int q = 0; q < 4; ++q)
        if (mask & (1 << q))
          forall(exec, quarter_box(nodes, q), CopyKernel<double, double>{u.q[q], v.q[q], u.sx, u.sy, v.sx, v.sy});
    };
    each(own, from, local);
    double *values = level.gather->global();
    for (int r = 0; r < level.grid.processes(); ++r) {
      const Box b = level.grid.box(r);
      each(b, natural_view(values + level.gather->position(r), b.x0, b.y0, b.x1 - b.x0), to);
    }
  };
  field(a.C(), all.C(), mask_all);
  for (int k = 0; k < 4; ++k) field(a.E(k), all.E(k), mask_o | mask_a | mask_b);
  if (a.nine)
    for (int k = 0; k < 4; ++k) field(a.G(k), all.G(k), mask_a);
  return all;
}

// From the finest grid to the remainder. Where CG works on S1 and the finest grid is gathered or solved, S1 is made
// beside it.
template <class M> static void factor_levels(Plan &plan, M &method, Stencil current, Failure &failure)
{
  for (size_t l = 0; l < plan.levels.size(); ++l) {
    Level &level = plan.levels[l];
    current.exchange(level.halo);
    plan.nonzeros += (current.nine ? 9. : 5.) * (double)(level.step == Step::gather ? 0 : level.grid.size());
    method.prepare(plan, l, current);
    if (level.step == Step::coarsen) {
      Stencil next = operator_for(plan, l + 1);
      method.coarsen(plan, l, current, next, failure);
      if (plan.choice.remedy == Remedy::algebraic) { // no grid is below it
        // else it failed
        if (const Algebraic *const algebraic = algebraic_levels(plan)) plan.nonzeros += algebraic->entries();
        return;
      }
      current = std::move(next);
      continue;
    }
    const bool of_schur = l == 0 && plan.have_schur;
    if (level.step == Step::solve) {
      if (of_schur) {
        Stencil red;
        copy(current, red, level.layout.space);
        eliminate_red(plan, level, red, nullptr);
        schur_setup(plan, level, red, plan.schur);
      }
      factor_remainder(plan, level, current, failure);
      method.keep(plan, l, current);
      return;
    }
    Stencil whole = gather(plan.exec, level, plan.levels[l + 1], current);
    if (of_schur) {
      eliminate_red(plan, level, current, nullptr);
      schur_setup(plan, level, current, plan.schur);
      level.factor.d64 = std::move(current.c); // the memory for the next factorisation
      for (int k = 0; k < 4; ++k) level.factor.l64[k] = std::move(current.e[k]);
    } else method.keep(plan, l, current);
    current = std::move(whole);
  }
}

// What kernels have found on the device, for which the host waits.
template <class M> static void take_findings(Plan &plan, M &method, Failure &failure)
{
  Findings found;
  method.finish(plan, failure.failed);
  device::copy_to_host(&found, plan.findings.notes(), sizeof found);
  const bool zeros = std::any_of(std::begin(found.zero), std::end(found.zero), [](int z) { return z != 0; });
  plan.findings.any = found.bad || found.row || found.loose || zeros;
  failure.retry     = zeros && plan.findings.zeros == Zeros::none;
  if (zeros) plan.findings.zeros = Zeros::some;
  else if (plan.findings.zeros == Zeros::unknown && plan.levels[0].grid.processes() == 1)
    plan.findings.zeros = Zeros::none;
  if (found.bad) { // before the remainder
    int level, q, X, Y;
    FirstBad::decode(found.bad, level, q, X, Y);
    name_node((level - 1) / 2, level, q, X, Y, failure);
  } else if (found.row && !failure.failed) name_row(plan, found.row - 1, failure);
  method.loose_parts(plan, found.loose);
}

Failure factor(Plan &plan, Stencil &a)
{
  Failure    failure;
  const bool notes = plan.strategy->notes;
  plan.have_schur = plan.params.schur && !a.nine;
  plan.nonzeros   = 0;
  plan.nine       = a.nine;
  if (notes) {
    if (plan.findings.on_device.empty()) plan.findings.on_device.resize(Extent{1, Space::cuda});
    else if (plan.findings.any) plan.findings.on_device.zero();
  }
  std::visit(
    [&](auto &method) {
      factor_levels(plan, method, std::move(a), failure);
      if (notes) take_findings(plan, method, failure);
    },
    plan.method);
  plan.nonzeros /= (double)plan.levels[0].grid.size() * (plan.nine ? 9. : 5.);
  // The first failure of any process counts; processes without one name a level that no factorisation has.
  const Grid &g = plan.levels[0].grid;
  int         mine[2] = {failure.failed ? failure.level : INT_MAX, g.rank}, first[2];
  MPI_Allreduce(mine, first, 1, MPI_2INT, MPI_MINLOC, g.comm);
  failure.failed = first[0] != INT_MAX;
  if (failure.failed) {
    int node[3] = {failure.level, failure.x, failure.y};
    MPI_Bcast(node, 3, MPI_INT, first[1], g.comm);
    failure.level = node[0];
    failure.x     = node[1];
    failure.y     = node[2];
  }
  return failure;
}

} // namespace tessera::rrb
