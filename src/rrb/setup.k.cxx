// The hierarchy of RRB: grids, memory, the numeric factorisation from the finest grid to the exact remainder.
#include "box/tuning.hpp"
#include "rrb/multigrid/march.hpp"
#include <algorithm>
#include <climits>
#include <cstring>
#include <iterator>
#include <type_traits>

namespace tessera::rrb {

size_t Factor::bytes() const
{
  size_t n = d64.bytes() + d32.bytes();
  for (int k = 0; k < 4; ++k) n += l64[k].bytes() + l32[k].bytes();
  return n;
}

template <class T> size_t SchurOf<T>::bytes() const
{
  size_t n = c.bytes() + red.bytes();
  for (auto &f : e) n += f.bytes();
  for (int k = 0; k < 2; ++k) n += fo[k].bytes() + fc[k].bytes();
  return n;
}

template struct SchurOf<double>;
template struct SchurOf<float>;

template <class T> size_t Smoothing<T>::bytes() const
{
  size_t n = schur.bytes() + a.bytes() + components.bytes() + algebraic.bytes() + several.bytes() + inverse.bytes() +
             inject.bytes() + correction.bytes() + whole.bytes();
  for (const auto &f : edge) n += f.bytes();
  for (const auto &f : centre) n += f.bytes();
  for (const auto &plane : lines)
    for (const auto &l : plane) n += l ? l->bytes() : 0;
  for (const FieldOf<T> *f : {&b, &x, &r, &ar, &aw, &ad, &aq, &swept, &rest, &constants}) n += f->data.bytes();
  return n;
}

template struct Smoothing<double>;
template struct Smoothing<float>;

size_t Level::bytes() const
{
  return factor.bytes() + op.bytes() + b.data.bytes() + t.bytes() + x.data.bytes() + r.data.bytes() + w.data.bytes() +
         d.data.bytes() + q.data.bytes() + solution.bytes();
}

size_t Work::bytes() const
{
  size_t n = a.bytes() + schur.bytes() + P.inject.bytes();
  for (const auto &f : P.edge) n += f.bytes();
  for (const auto &f : P.centre) n += f.bytes();
  return n;
}

size_t Plan::bytes() const
{
  size_t n = schur.bytes() + several.bytes() + band.bytes() + inverse64.bytes() + inverse32.bytes();
  for (const Level &l : levels) n += l.bytes();
  for (const auto &g : smoothing64) n += g.bytes();
  for (const auto &g : smoothing32) n += g.bytes();
  for (const Work &w : work) n += w.bytes();
  return n;
}

unsigned long long fingerprint(const Plan &plan)
{
  // All memory of the device: what was made and freed since does not count. Of the same memory parts may have changed
  // places.
  unsigned long long h   = plan.number ^ device::allocated();
  auto               mix = [&](unsigned long long v) { h = (h ^ v) * 1099511628211ull; };
  auto               add = [&](const auto &buffer) { mix((unsigned long long)(size_t)buffer.data()); };
  auto               schur = [&](const auto &s) {
    add(s.c);
    for (const auto &f : s.e) add(f);
    for (int k = 0; k < 2; ++k) add(s.fo[k]), add(s.fc[k]);
  };
  auto hierarchy = [&](const auto &grids) {
    for (const auto &s : grids) {
      schur(s.schur), add(s.a.c), add(s.inverse), add(s.correction), add(s.b.data), add(s.x.data), add(s.r.data),
        add(s.ar.data), add(s.rest.data), add(s.constants.data), add(s.swept.data), add(s.whole);
      for (int k = 0; k < 4; ++k) add(s.a.e[k]), add(s.a.g[k]), add(s.centre[k]);
      for (int k = 0; k < 2; ++k) add(s.edge[k]);
      add(s.inject);
      mix((unsigned long long)s.smoother);
      s.components.sizes(mix);
    }
  };
  schur(plan.schur), hierarchy(plan.smoothing64), hierarchy(plan.smoothing32);
  for (const Level &l : plan.levels) {
    add(l.b.data), add(l.t), add(l.op.c), add(l.factor.d64), add(l.factor.d32), add(l.x.data);
    for (int k = 0; k < 4; ++k) add(l.factor.l64[k]), add(l.factor.l32[k]), add(l.op.e[k]);
    for (double v : l.spectrum) {
      unsigned long long bits;
      memcpy(&bits, &v, sizeof bits);
      mix(bits);
    }
  }
  mix((unsigned long long)plan.cycle), mix((unsigned long long)plan.rough), mix(plan.joined);
  return h;
}

// Row sums of a singular operator are zero to rounding, and elimination adds up those of all nodes.
double Plan::tiny() const
{
  return std::max(tuning::singular_pivot, tuning::singular_growth * (double)levels[0].grid.size());
}

const Algebraic *algebraic_levels(const Plan &plan)
{
  if (plan.rough != Rough::algebraic) return nullptr;
  for (const auto &s : plan.smoothing64)
    if (!s.algebraic.empty()) return &s.algebraic;
  for (const auto &s : plan.smoothing32)
    if (!s.algebraic.empty()) return &s.algebraic;
  return nullptr;
}

int Plan::factor_levels() const { return 2 * levels.back().index + half; }

double Plan::bytes_moved(bool of_schur) const
{
  const double           s = params.single ? 4 : 8;
  const Algebraic *const algebraic = algebraic_levels(*this);
  double                 sum = algebraic ? algebraic->bytes_moved() / (double)levels[0].grid.size() : 0, visits = 1;
  for (const Level &l : levels) {
    const double share = (double)l.grid.size() / (double)levels[0].grid.size();
    if (l.step == Step::coarsen) {
      // down: b, 3 L, half a value written; up: t, c, red b, 3.75 of L and D, one value written. S1 has a third of L.
      double cycle;
      if (params.coarsening == Coarsening::galerkin) {
        // One pass down and one up by points; along lines one for each parity of lines, and one for the residual. S1,
        // per node of its grid: 2.5 coefficients (2 where a device's sweeps need no diagonal), half an inverse, a
        // weight, a vector and a half; else 5, 2.5 vectors, and 1.25 weights or, by points, 1.5 and what is injected
        // (a quarter).
        const GridReport r = report(*this, (size_t)(&l - levels.data()));
        const bool       points = r.smoother == Smoother::point;
        const int        lines = r.smoother == Smoother::line_alternating ? 4 : 2;
        const double     passes = points ? 2 : 2 * (r.sweeps * lines * (r.of_schur ? 1.2 : 0.8) + 1);
        cycle = passes * s * (r.of_schur ? (points && exec.space == Space::cuda ? 5 : 5.5) : points ? 9.25 : 8.75);
        // elimination of the red nodes and back
        if (!l.index && !of_schur) cycle += r.of_schur ? 8 + 16 + 16 + 16 + 16 : 0;
      } else cycle = of_schur && !l.index ? 4 + s + 2 + 4 + 1.25 * s + 4 : 8 + 3 * s + 4 + 8 + 3.75 * s + 8;
      if (l.accelerated && this->cycle != Cycle::v) {
        sum += visits * share * ((params.inner - 1) * (56 + 24) + params.inner * 48 + 16 + 16);
        visits *= params.inner;
      }
      if (!l.index && !of_schur) cycle += 16; // into the layout
      sum += visits * share * cycle;
      if (algebraic) return sum;
    }
  }
  return sum + visits * 2 * (double)band.bytes() / (double)levels[0].grid.size();
}

double Plan::multiplications() const
{
  const Algebraic *const algebraic = algebraic_levels(*this);
  // an entry or a weight is 12 B
  if (algebraic)
    return (16 + 12) * (double)levels[0].grid.owned().size() +
           algebraic->bytes_moved() / 12 / levels[0].grid.processes();
  double sum = 0, visits = 1;
  for (const Level &l : levels) {
    if (l.accelerated && cycle != Cycle::v) {
      sum += visits * (params.inner * 11. * (double)l.grid.owned().size());
      visits *= params.inner;
    }
    if (l.step == Step::coarsen)
      sum += visits *
             (params.coarsening == Coarsening::galerkin
                ? (l.index || nine ? 21. : 16.) * report(*this, (size_t)(&l - levels.data())).sweeps + 12
                : 6.75) *
             (double)l.grid.owned().size();
  }
  return sum + visits * 2 * (double)band.bytes() / sizeof(double);
}

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
  const std::shared_ptr<Peers> peers = Peers::open(grid.comm, bytes);
  if (!peers) return;
  each([&](auto &part) { part.join(peers); });
  plan.total  = make_total(*peers, grid.comm, plan.total_memory);
  plan.peers  = peers;
  plan.joined = ++number;
}

void create(Plan &plan, const Grid &grid, const Params &params)
{
  const Exec exec = plan.exec;
  static unsigned long long plans = 0;
  plan            = Plan();
  plan.number     = ++plans;
  plan.exec       = exec;
  plan.params     = params;
  const int maximum = maximum_levels(grid);
  int       steps   = 0;
  bool      cut_x = false, cut_y = false;
  if (params.levels > 0) {
    steps     = std::min(params.levels, maximum) / 2;
    plan.half = params.coarsening != Coarsening::galerkin && params.levels < maximum && params.levels % 2;
  } else
    for (Grid g = grid; 2 * steps < maximum &&
                        (exec.space == Space::cuda ? g.size() > tuning::dense_nodes
                                                   : band_entries(g) > tuning::remainder_share * (double)grid.size() &&
                                                       band_entries(grid) > tuning::remainder_least);
         ++steps)
      g = next_grid(g, &cut_x, &cut_y);
  Grid       g        = grid;
  bool       many     = grid.processes() > 1;
  const bool galerkin = params.coarsening == Coarsening::galerkin;
  const bool there    = exec.space == Space::cuda;
  const bool wide     = there && galerkin && many && !grid.periodic_x && !grid.periodic_y;
  plan.levels.reserve((size_t)steps + 2);
  auto redundant = [&](int i) {
    return params.redundant       ? params.redundant
         : there && galerkin && i ? tuning::redundant_there
                                  : tuning::redundant_nodes;
  };
  for (int i = 0; i <= steps; ++i) {
    Level level;
    level.index = i;
    level.cut_x = i && cut_x;
    level.cut_y = i && cut_y;
    for (bool done = false; !done;) {
      const bool natural = params.grids >= 0 && i >= params.grids;
      level.grid        = g;
      level.grid.layers = wide && many ? march_layers : 1;
      level.step = i == steps ? Step::solve : Step::coarsen;
      if (many && (i == steps || g.size() <= redundant(i))) {
        level.step = Step::gather;
        level.gather.reset(new Gather(g, exec.space));
        level.solution.resize(Extent{(size_t)g.size(), exec.space});
        many = false;
        g    = g.local();
      } else done = true;
      level.layout = Layout(level.grid, natural, exec.space);
      level.halo   = Halo(level.grid, exec.space);
      if (level.grid.layers > 1) level.wide = Halo(level.grid, exec.space, level.grid.layers);
      if (!galerkin || !i) level.b.resize(level.layout);
      const bool factors = level.step == Step::coarsen || (level.step == Step::solve && plan.half);
      if (factors && !galerkin) level.t.resize(level.layout.elements(1));
      if (factors && plan.single_factors()) {
        for (auto &l : level.factor.l32) l.resize(level.layout.elements(3));
        level.factor.d32.resize(level.layout.elements(3));
      }
      // The Galerkin form accelerates from the first coarse grid on. In single precision a given AMLI-cycle does so
      // from the second one, as the rounding of singular operators grows with each (asymmetry of 1e-3 with the
      // first).
      const int first = galerkin && !(params.single && params.cycle == Cycle::amli);
      level.accelerated =
        i && level.step == Step::coarsen && params.cycle != Cycle::v && (i - first) % params.every == 0;
      // Every visit of a small grid takes the device the same time: the first such grid alone, unless the cycle is
      // given. On the first grid whose cycle is a matrix it costs nothing.
      if (galerkin && exec.space == Space::cuda && params.cycle == Cycle::automatic && i > 1 &&
          level.step == Step::coarsen) {
        const Level &finer = plan.levels.back();
        level.accelerated  = g.size() > tuning::amli_nodes ? level.accelerated
                                                           : !finer.accelerated && g.size() <= tuning::dense_cycle &&
                                                              finer.grid.size() > tuning::dense_cycle;
      }
      if (level.accelerated && !galerkin)
        for (Field *f : {&level.x, &level.r, &level.w, &level.d, &level.q}) f->resize(level.layout);
      if (level.accelerated && exec.space == Space::cuda)
        level.sums.resize(Extent{2 * sizeof(TwoSums) / sizeof(double), Space::cuda});
      if (level.step == Step::solve && plan.half) level.w.resize(level.layout);
      plan.levels.push_back(std::move(level));
      level       = Level();
      level.index = i;
    }
    g = next_grid(g, &cut_x, &cut_y);
  }
  plan.work.resize(plan.levels.size());
  if (galerkin && params.single) plan.smoothing32.resize(plan.levels.size());
  if (galerkin && !params.single) plan.smoothing64.resize(plan.levels.size());
  bool nodes = true; // on every process: kernels without work do not run, and would not come to a sum
  for (int r = 0; r < grid.processes(); ++r) nodes = nodes && !grid.box(r).empty();
  if (there && grid.processes() > 1 && nodes) join(plan, grid);
}

namespace {

struct BadKernel { // 1 where a value is negative or no number
  const double *c;
  ptrdiff_t     sx, sy;
  HD double     operator()(int X, int Y) const { return !(c[X * sx + Y * sy] >= 0); }
};

struct LookKernel {
  const double *c;
  ptrdiff_t     sx, sy;
  int           q;
  FirstBad      bad;
  HD void       operator()(int X, int Y) const { bad.look(c[X * sx + Y * sy], q, X, Y); }
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
  if (plan.exec.space == Space::cuda) {
    auto of = [&](int q) {
      return part(mask & (1 << q) ? level.grid.owned(q) : Box(),
                  LookKernel{
                    C.q[q], C.sx, C.sy, q, {&plan.findings.data()->bad, factor_level}
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

// An empty operator for a level, in the memory of its earlier factors (which the factorisation fills again).
static Stencil recycle(Plan &plan, size_t l)
{
  Level &level = plan.levels[l];
  if (l < plan.smoothing64.size() && !plan.smoothing64[l].a.c.empty()) return std::move(plan.smoothing64[l].a);
  if (!plan.work[l].a.c.empty()) return std::move(plan.work[l].a);
  if (level.factor.d64.empty()) return Stencil(level.grid, level.layout.natural, level.layout.space);
  Stencil s;
  s.layout = level.layout;
  s.c      = std::move(level.factor.d64);
  for (int k = 0; k < 4; ++k) s.e[k] = std::move(level.factor.l64[k]);
  return s;
}

Stencil finest_stencil(Plan &plan)
{
  const bool fresh = plan.levels[0].factor.d64.empty() &&
                     (plan.smoothing64.empty() || plan.smoothing64[0].a.c.empty()) && plan.work[0].a.c.empty();
  Stencil    s     = recycle(plan, 0);
  if (fresh) return s;
  // who reads a matrix there writes all that is looked at
  if (plan.exec.space == Space::cuda && plan.params.coarsening == Coarsening::galerkin &&
      plan.levels[0].grid.processes() == 1) {
    s.nine = false;
    return s;
  }
  s.c.zero();
  for (auto &e : s.e) e.zero();
  s.nine = false;
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

Failure factor(Plan &plan, Stencil &a)
{
  Failure    failure;
  const bool galerkin = plan.params.coarsening == Coarsening::galerkin;
  Stencil    current  = std::move(a);
  plan.have_schur   = plan.params.schur && !current.nine;
  plan.nonzeros     = 0;
  plan.nine         = current.nine;
  const bool there  = plan.exec.space == Space::cuda;
  if (there) {
    if (plan.findings.empty()) plan.findings.resize(Extent{1, Space::cuda});
    else if (plan.found) plan.findings.zero();
  }
  for (size_t l = 0; l < plan.levels.size(); ++l) {
    Level &level = plan.levels[l];
    current.exchange(level.halo);
    plan.nonzeros += (current.nine ? 9. : 5.) * (double)(level.step == Step::gather ? 0 : level.grid.size());
    if (level.accelerated && !galerkin) copy(current, level.op, level.layout.space);
    if (galerkin && level.step != Step::coarsen) galerkin_grid(plan, l, current, nullptr, failure);
    if (level.step == Step::gather) {
      Stencil whole = gather(plan.exec, level, plan.levels[l + 1], current);
      if (l == 0 && plan.have_schur) {
        eliminate_red(plan, level, current, nullptr);
        schur_setup(plan, level, current, plan.schur);
        level.factor.d64 = std::move(current.c); // the memory for the next factorisation
        for (int k = 0; k < 4; ++k) level.factor.l64[k] = std::move(current.e[k]);
      } else if (there && galerkin) plan.work[l].a = std::move(current);
      current = std::move(whole);
    } else if (level.step == Step::solve) {
      if (l == 0 && plan.have_schur) {
        Stencil red;
        copy(current, red, level.layout.space);
        eliminate_red(plan, level, red, nullptr);
        schur_setup(plan, level, red, plan.schur);
      }
      factor_remainder(plan, level, current, failure);
      if (there && galerkin) plan.work[l].a = std::move(current);
    } else {
      Stencil coarse = recycle(plan, l + 1);
      if (galerkin) galerkin_grid(plan, l, current, &coarse, failure);
      else factor_grid(plan, level, current, &coarse, &plan.levels[l + 1], failure);
      if (galerkin && plan.rough == Rough::algebraic) { // no grid is below it
        // else it failed
        if (const Algebraic *const algebraic = algebraic_levels(plan)) plan.nonzeros += algebraic->entries();
        break;
      }
      current = std::move(coarse);
    }
  }
  if (there) {
    Findings found;
    // now, as the host will wait: choose_cycle() finds it done
    if (galerkin && plan.chosen && !failure.failed) galerkin_cycle(plan);
    device::copy_to_host(&found, plan.findings.data(), sizeof found);
    const bool zeros = std::any_of(std::begin(found.zero), std::end(found.zero), [](int z) { return z != 0; });
    plan.found       = found.bad || found.row || found.loose || zeros;
    failure.again    = zeros && plan.zeros == Zeros::none;
    if (zeros) plan.zeros = Zeros::some;
    else if (plan.zeros == Zeros::unknown && plan.levels[0].grid.processes() == 1) plan.zeros = Zeros::none;
    if (found.bad) { // before the remainder
      int level, q, X, Y;
      FirstBad::decode(found.bad, level, q, X, Y);
      name_node((level - 1) / 2, level, q, X, Y, failure);
    } else if (found.row && !failure.failed) name_row(plan, found.row - 1, failure);
    if (galerkin) galerkin_loose_parts(plan, found.loose);
  }
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
