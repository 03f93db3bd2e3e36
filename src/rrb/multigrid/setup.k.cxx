// Setup of the Galerkin form: interpolation and next operator of each grid.
#include "box/tuning.hpp"
#include "box/weights.hpp"
#include "rrb/multigrid/choice.hpp"
#include "rrb/multigrid/kernels.hpp"
#include "rrb/multigrid/march.hpp"
#include "rrb/multigrid/setup_kernels.hpp"
#include <algorithm>

namespace tessera::rrb {

namespace {

// Sweeps on A v = 0 from random v leave what the interpolation must reproduce. Along lines both ways, whatever the
// cycle smooths by: three sweeps by points leave too much else, and weights fitted to that take twice the iterations
// on a checkerboard.
void fit_weights(Plan &plan, Level &g, const StencilView<double> &A, Interpolation &P, const View<float> &correction)
{
  LeastSquares       sums;
  Field              v, own_zero;
  LineSolver<double> lines[2];
  Field             &zero = g.b.data.empty() ? own_zero : g.b; // the finest grid's right-hand side is free now
  sums.create(g.layout);
  v.resize(g.layout);
  if (zero.data.empty()) zero.resize(g.layout);
  else zero.data.zero();
  for (Lines direction : {lines_x, lines_y})
    lines[direction == lines_y].setup(plan.exec, A, g.grid, direction, tuning::singular_pivot);
  for (int i = 0; i < tuning::test_vectors; ++i) {
    fill_random(plan.exec, g.grid, mask_all, (uint64_t)(i + 1), v.v);
    g.halo.exchange(v.v, mask_all);
    for (int k = 0; k < tuning::test_sweeps; ++k)
      for_lines(Smoother::line_alternating, k & 1, [&](Lines direction, int parity) {
        lines[direction == lines_y].solve(plan.exec, A, parity, zero.v, v.v);
        g.halo.exchange(v.v, mask_all);
      });
    sums.weigh(plan.exec, g.grid, v.v);
  }
  sums.solve(plan.exec, A, g.grid, P, correction);
}

// What setup has made, in the hierarchy: the same memory, or another precision.
template <class T> struct StoreInHierarchy {
  const Plan           &plan;
  ConvertAll<double, T> list;
  explicit StoreInHierarchy(const Plan &p) : plan(p) { }
  // inverse: where it is made on the way, in another precision
  void operator()(Buffer<double> &from, Buffer<T> &to, T *inverse = nullptr)
  {
    if constexpr (std::is_same_v<T, double>) to = std::move(from);
    else {
      if (to.size() != from.size()) to.resize(from.extent());
      if (plan.strategy->joint) list.add(from, to, inverse);
      else convert(plan.exec, from, to);
    }
  }
  void run() const { list.run(plan.exec); }
};

template <class T> LineSolver<T> &lines_of(MultigridLevel<T> &s, int plane, Lines direction)
{
  auto &lines = s.lines[plane][direction == lines_y];
  if (!lines) lines.reset(new LineSolver<T>);
  return *lines;
}

// The grid of the nodes of one quarter.
Grid quarter_grid(const Grid &g, int q)
{
  if (q) return g.coarse();
  Grid o = g;
  o.nx   = (g.nx + 1) / 2;
  o.ny   = (g.ny + 1) / 2;
  for (int &x : o.xsplit) x = (x + 1) / 2;
  for (int &y : o.ysplit) y = (y + 1) / 2;
  return o;
}

// Of the own nodes.
double gaps(Plan &plan, const Level &g, Stencil &a)
{
  const StencilView<double> A = a.view();
  const int                 nx = g.grid.periodic_x ? INT_MAX : g.grid.nx, ny = g.grid.periodic_y ? INT_MAX : g.grid.ny;
  return with_stride(A.C.sx, [&](auto stride) {
    constexpr int         S = decltype(stride)::value;
    const GapKernel<1, S> at_a{A, nx, ny};
    const GapKernel<2, S> at_b{A, nx, ny};
    Findings *const       notes = plan.findings.notes();
    if (!notes) return forall_sum(plan.exec, g.grid.owned(1), at_a) + forall_sum(plan.exec, g.grid.owned(2), at_b);
    forall_parts(plan.exec, part(g.grid.owned(1), GapWatched<1, S>{at_a, &notes->loose}),
                 part(g.grid.owned(2), GapWatched<2, S>{at_b, &notes->loose}));
    return 0.;
  });
}

template <class T> void schur_and_edges(Plan &plan, Level &g, MultigridLevel<T> &s, const StencilView<double> &A,
                                        Schur &target, Interpolation &P, const SingleWeights &weights)
{
  schur_create(plan, g, target);
  SchurView<T> single{};
  T           *inverse = nullptr;
  if constexpr (std::is_same_v<T, float>) {
    schur_create(plan, g, s.schur);
    if (s.inverse.empty()) s.inverse.resize(2 * g.layout.elements(1));
    single  = schur_view(g.layout, s.schur);
    inverse = place(g.layout, s.inverse.data());
  }
  Findings *const notes = plan.findings.notes();
  with_stride(A.C.sx, [&](auto stride) {
    constexpr int           S = decltype(stride)::value;
    const EdgeParts<S>      edges(A, g.grid, P, weights, true);
    const SchurCell<S, T>   cell{
      A,
      plan.tiny(),
      schur_view(g.layout, target),
      single,
      inverse,
      inverse + g.layout.elements(1),
      g.grid.nx,
      g.grid.ny,
      &notes->loose,
         {&notes->bad, 2 * g.index + 1},
         {g.grid.owned(0), g.grid.owned(1), g.grid.owned(2), g.grid.owned(3)}
    };
    forall_parts(plan.exec, part(g.grid.cells(), SchurAndEdges<S, T>{cell, edges}));
  });
}

// Kernels that make several things at once, where nothing has ghost nodes: S1 with the weights; and in the hierarchy's
// single precision, too, P, unless it is corrected afterwards, and the operator of the next grid.
bool joint(const Plan &plan, const Level &g) { return device::built && plan.strategy->joint && g.halo.empty(); }
template <class T> bool single_weights(const Plan &plan, const Level &g)
{
  return std::is_same_v<T, float> && joint(plan, g) && !least_squares(plan);
}
template <class T> bool single_operator(const Plan &plan, size_t l)
{
  const Level &g = plan.levels[l];
  return std::is_same_v<T, float> && joint(plan, g) && l && plan.levels[l - 1].step == Step::coarsen &&
         g.step == Step::coarsen && !g.cut_x && !g.cut_y;
}

SingleWeights room_for_weights(const Layout &layout, MultigridLevel<float> &s)
{
  auto room = [&](Buffer<float> &f, int quarters, int start) {
    if (f.empty()) f.resize(layout.elements(quarters));
    return layout.view(f.data(), start);
  };
  SingleWeights w;
  for (int k = 0; k < 4; ++k) w.centre[k] = room(s.centre[k], 1, quarter_o);
  if (s.of_schur) return w;
  for (int k = 0; k < 2; ++k) w.edge[k] = room(s.edge[k], 2, quarter_a);
  if (s.smoother == Smoother::point) w.inject = room(s.inject, 1, quarter_c);
  return w;
}

SingleOperator room_for_operator(const Layout &layout, MultigridLevel<float> &s)
{
  if (s.a.c.empty()) s.a = StencilOf<float>(layout);
  s.a.make_nine();
  if (s.inverse.empty()) s.inverse.resize(layout.elements(4));
  return {s.a.view(), layout.view(s.inverse.data())};
}

// S1 in double precision.
template <class T> Schur &schur_made(Plan &plan, size_t l)
{
  if (!l && plan.have_schur) return plan.schur;
  if constexpr (std::is_same_v<T, double>) return hierarchy<T>(plan)[l].schur;
  else return method<T>(plan).work[l].schur;
}

View<double> schur_diagonal(const Level &g, Schur &schur)
{
  const SchurView<double> v        = schur_view(g.layout, schur);
  View<double>            diagonal = g.layout.view((double *)nullptr);
  diagonal.q[0] = v.co;
  diagonal.q[3] = v.cc;
  return diagonal;
}

// gaps: the number of couplings next to nothing on this process
template <class T> void find_loose_parts(Plan &plan, size_t l, double gaps)
{
  Level     &g    = plan.levels[l];
  Components &parts = hierarchy<T>(plan)[l].components;
  double     all = 0;
  MPI_Allreduce(&gaps, &all, 1, MPI_DOUBLE, MPI_SUM, g.grid.comm);
  if (!(all > 0) || !plan.choice.settled) parts.clear();
  if (!(all > 0)) return;
  Schur &schur = schur_made<T>(plan, l);
  g.halo.exchange(schur_diagonal(g, schur), mask_o | mask_c);
  parts.setup(plan.exec, g, schur, all);
}

// The finest grid of a 5-point operator: S1, where it is not made with the weights, the red nodes' factors, and what
// S1's sweeps need beside it. No weights: no grid is below it.
template <class T> void setup_s1(Plan &plan, size_t l, Stencil &a, Interpolation *P, Failure &failure)
{
  Level        &g = plan.levels[l];
  MultigridLevel<T> &s = hierarchy<T>(plan)[l];
  Schur        &target = schur_made<T>(plan, l);
  StoreInHierarchy<T>       keep(plan);
  const bool    at_once = joint(plan, g);
  if (at_once) eliminate_red(plan, g, a, &failure);
  else {
    const double loose = P ? gaps(plan, g, a) : 0;
    eliminate_red(plan, g, a, &failure);
    schur_setup(plan, g, a, target);
    check_positive(plan, g, schur_diagonal(g, target), mask_o | mask_c, 2 * g.index + 1, failure);
    if (!plan.findings.notes()) find_loose_parts<T>(plan, l, loose); // else take_findings() does
  }
  const SchurView<double> v = schur_view(g.layout, target);
  for (int q : {0, 3})
    for (Lines direction : {lines_x, lines_y})
      if (uses(s.smoother, direction))
        lines_of(s, q == 3, direction)
          .setup(plan.exec, schur_plane(v, q), quarter_grid(g.grid, q), direction, tuning::singular_pivot);
  const View<double> C = a.C();
  keep_factors(plan, g, a, true, !at_once);
  if constexpr (std::is_same_v<T, float>) {
    if (P && !single_weights<T>(plan, g))
      for (int k = 0; k < 4; ++k) keep(P->centre[k], s.centre[k]);
    if (!at_once) {
      keep(target.c, s.schur.c);
      for (int k = 0; k < 4; ++k) keep(target.e[k], s.schur.e[k]);
      for (int k = 0; k < 2; ++k) keep(target.fo[k], s.schur.fo[k]), keep(target.fc[k], s.schur.fc[k]);
      if (s.inverse.empty()) s.inverse.resize(2 * g.layout.elements(1));
    }
    keep.run();
  }
  const SchurHelp<T> h = schur_help(g, s);
  auto               inverse = [&](int q) {
    return part(g.grid.owned(q), InverseKernel<double, T>{q ? v.cc : v.co, h.d[q], C.sx, C.sy});
  };
  if constexpr (std::is_same_v<T, double>) {
    auto weights = [&](int k) {
      return part(P ? g.layout.whole() : Box(),
                  CopyKernel<double, double>{P ? P->Centre(k).q[0] : nullptr, h.w[k], C.sx, C.sy, C.sx, C.sy});
    };
    forall_parts(plan.exec, inverse(0), inverse(3), weights(0), weights(1), weights(2), weights(3));
  } else if (!at_once) forall_parts(plan.exec, inverse(0), inverse(3));
  if (s.r.data.empty()) s.r.data.resize(g.layout.elements(1));
}

template <class T> void setup_nine(Plan &plan, size_t l, Stencil &a, Interpolation &P, Failure &failure)
{
  Level        &g = plan.levels[l];
  MultigridLevel<T> &s = hierarchy<T>(plan)[l];
  StoreInHierarchy<T>       keep(plan);
  // else galerkin() has looked
  if (!plan.findings.notes() || !g.index) check_positive(plan, g, a.C(), mask_all, 2 * g.index + 1, failure);
  for (Lines direction : {lines_x, lines_y})
    if (uses(s.smoother, direction))
      lines_of(s, 0, direction).setup(plan.exec, a.view(), g.grid, direction, tuning::singular_pivot);
  s.a.layout = a.layout;
  s.a.nine   = a.nine;
  const bool inverts = plan.strategy->marches; // marching kernels multiply by the inverse diagonal
  if (inverts && s.inverse.empty()) s.inverse.resize(g.layout.elements(4));
  if (!single_operator<T>(plan, l)) {
    keep(a.c, s.a.c, inverts ? s.inverse.data() : nullptr);
    for (int k = 0; k < 4; ++k) keep(a.e[k], s.a.e[k]), keep(a.g[k], s.a.g[k]);
  }
  if (!single_weights<T>(plan, g)) {
    for (int k = 0; k < 4; ++k) keep(P.centre[k], s.centre[k]);
    for (int k = 0; k < 2; ++k) keep(P.edge[k], s.edge[k]);
    if (s.smoother == Smoother::point) keep(P.inject, s.inject);
  }
  keep.run();
  if constexpr (std::is_same_v<T, float>) {
    if (plan.strategy->keeps_work) method<T>(plan).work[l].a = std::move(a);
  } else if (inverts) {
    const View<T> C = s.a.C(), D = g.layout.view(s.inverse.data());
    auto inverse = [&](int q) { return part(g.grid.owned(q), InverseKernel<T, T>{C.q[q], D.q[q], C.sx, C.sy}); };
    forall_parts(plan.exec, inverse(0), inverse(1), inverse(2), inverse(3));
  }
  for (FieldOf<T> *f : {&s.b, &s.x, &s.r})
    if (f->data.empty()) f->resize(g.layout);
}

// S1's own rows for the algebraic levels, whose pattern is that of the grid: zeros count. Collective at the first time.
void rows_of_s1(const Grid &grid, const SchurView<double> &a, long redundant, Algebraic &to)
{
  const BlackNumbering at(grid.owned()), whole({0, grid.nx, 0, grid.ny});
  const bool         known = to.known();
  AlgebraicLevel    &f     = known ? to.finest() : to.start(at.size(), 9 * (size_t)at.size());
  const ptrdiff_t    x = a.sx, y = a.sy;
  AlgebraicNumbering   numbering(grid.rank, at.size());
  int                next = 0;
  const auto         number = [&](int q, int X, int Y) {
    if ((q ? at.c : at.o).contains(X, Y)) return at(q, X, Y);
    const auto part = [](const std::vector<int> &splits, int v) {
      return (int)(std::upper_bound(splits.begin(), splits.end(), v) - splits.begin()) - 1;
    };
    const int  owner = part(grid.xsplit, 2 * X + (q & 1)) + grid.processes_x() * part(grid.ysplit, 2 * Y + (q >> 1));
    return numbering(owner, BlackNumbering(grid.box(owner))(q, X, Y));
  };
  const auto entry = [&](int q, int X, int Y, double v) {
    const Box &all = q ? whole.c : whole.o;
    if (grid.periodic_x) X = (X + all.x1) % all.x1;
    if (grid.periodic_y) Y = (Y + all.y1) % all.y1;
    if (!all.contains(X, Y)) return;
    if (!known) f.j.data()[next] = number(q, X, Y);
    f.a.data()[next++] = v;
  };
  const auto node = [&](int q, int X, int Y, ptrdiff_t p) {
    const double *const *const f0 = q ? a.fc : a.fo;
    if (q == quarter_o)
      entry(3, X - 1, Y - 1, a.e[0][p]), entry(3, X, Y - 1, a.e[1][p]), entry(3, X - 1, Y, a.e[2][p]),
        entry(3, X, Y, a.e[3][p]);
    else
      entry(0, X, Y, a.e[3][p]), entry(0, X + 1, Y, a.e[2][p + x]), entry(0, X, Y + 1, a.e[1][p + y]),
        entry(0, X + 1, Y + 1, a.e[0][p + x + y]);
    entry(q, X + 1, Y, f0[0][p]), entry(q, X - 1, Y, f0[0][p - x]), entry(q, X, Y + 1, f0[1][p]),
      entry(q, X, Y - 1, f0[1][p - y]);
    if (!known) {
      const int r = at(q, X, Y);
      f.diagonal.data()[r] = next, f.i.data()[r + 1] = next + 1;
      f.number[(size_t)r] = whole(q, X, Y);
    }
    entry(q, X, Y, q ? a.cc[p] : a.co[p]);
  };
  const Box cells = grid.cells();
  for (int Y = cells.y0; Y < cells.y1; ++Y)
    for (int q : {0, 3}) {
      const Box &own = q ? at.c : at.o;
      for (int X = own.x0; X < own.x1 && Y >= own.y0 && Y < own.y1; ++X) node(q, X, Y, X * x + Y * y);
    }
  if (!known && grid.processes() > 1)
    to.distribute(grid.comm, numbering, redundant ? redundant : tuning::redundant_nodes);
}

// S1 and the algebraic levels below it. If there are none the usual choice is made.
template <class T> void setup_algebraic(Plan &plan, size_t l, Stencil &a, Failure &failure)
{
  Level        &g = plan.levels[l];
  MultigridLevel<T> &s = hierarchy<T>(plan)[l];
  if (!plan.choice.settled) {
    s.components.clear();
    s.correction = Buffer<float>();
    for (size_t k = l + 1; k < plan.levels.size(); ++k)
      hierarchy<T>(plan)[k] = MultigridLevel<T>(), method<T>(plan).work[k] = Work();
    plan.remainder.band = Band();
  }
  setup_s1<T>(plan, l, a, nullptr, failure);
  int  bad = failure.failed, any = bad;
  if (g.grid.processes() > 1) MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, g.grid.comm);
  bool done = any;
  // an earlier pattern may not serve any more
  for (int tries = s.algebraic.known() ? 2 : 1; tries > 0 && !done; --tries) {
    rows_of_s1(g.grid, schur_view(g.layout, schur_made<T>(plan, l)), plan.params.redundant, s.algebraic);
    done = s.algebraic.setup();
  }
  method<T>(plan).work[l] = Work();
  if (done) return;
  plan.choice = Choice();
  plan.choice.expected[(int)Remedy::algebraic] = choice_never;
  failure.retry                                = true;
}

} // namespace

template <class T> void Multigrid<T>::coarsen(Plan &plan, size_t l, Stencil &a, Stencil &coarse, Failure &failure)
{
  Level                    &g = plan.levels[l], &next = plan.levels[l + 1];
  MultigridLevel<T>        &s = levels[l];
  const StencilView<double> A = a.view();
  Interpolation            &P = work[l].P;
  if (s.of_schur == a.nine) { // new, or 5 points became 9
    s          = MultigridLevel<T>();
    s.of_schur = !a.nine;
    if (!g.index) plan.choice = Choice();
  }
  if (!plan.choice.settled) {
    s.algebraic.clear();
    s.shares = strong_directions(plan.exec, A, g.grid);
    if (s.of_schur && chooses(plan.params) && plan.choice.remedy == Remedy::no && s.shares.leaps > tuning::many_leaps &&
        !(plan.choice.expected[(int)Remedy::algebraic] > 0) && takes_algebraic(plan, g))
      plan.choice.remedy = Remedy::algebraic;
    s.smoother = choose_smoother(plan, s.shares);
  }
  s.sweeps   = sweeps(plan, s.of_schur);
  s.sweeping = sweeping(plan, g, s);
  if (s.of_schur && plan.choice.remedy == Remedy::algebraic) return setup_algebraic<T>(plan, l, a, failure);
  if constexpr (std::is_same_v<T, double>)
    if (!s.of_schur) { // the memory of the last setup's weights
      for (int k = 0; k < 2; ++k) P.edge[k] = std::move(s.edge[k]);
      for (int k = 0; k < 4; ++k) P.centre[k] = std::move(s.centre[k]);
      if (!s.inject.empty()) P.inject = std::move(s.inject);
    }
  const bool on_the_way = single_weights<T>(plan, g); // weights of o
  P.create(g.layout, !on_the_way);
  SingleWeights  weights;
  SingleOperator single;
  MadeCentres    centres;
  if constexpr (std::is_same_v<T, float>) {
    if (on_the_way) {
      weights = room_for_weights(g.layout, s);
      centres = {&g.grid, {weights.centre[0], weights.centre[1], weights.centre[2], weights.centre[3]}};
    }
    if (single_operator<T>(plan, l + 1)) single = room_for_operator(next.layout, levels[l + 1]);
  }
  const bool together = s.of_schur && joint(plan, g);
  if constexpr (device::built)
    if (together) schur_and_edges(plan, g, s, A, schur_made<T>(plan, l), P, weights);
  if (!together) interpolate_edges(plan.exec, A, g.grid, g.halo, P, weights);
  if (least_squares(plan)) {
    const bool fit = s.correction.empty() || !plan.choice.settled;
    if (s.correction.empty()) s.correction.resize(g.layout.elements(2));
    const View<float> correction = g.layout.view(s.correction.data(), quarter_a);
    if (fit) fit_weights(plan, g, A, P, correction);
    correct_edges(plan.exec, A, g.grid, P, correction);
  }
  if (!on_the_way) interpolate_centres(plan.exec, A, g.grid, g.halo, P);
  // the remainder's factorisation will see
  const bool        solved = plan.levels[l + 1 + (next.step == Step::gather)].step == Step::solve;
  Findings *const   notes  = plan.findings.notes();
  Watch             watch;
  if (notes)
    watch = {
      {solved ? nullptr : &notes->bad, 2 * next.index + 1},
      &notes->zero[l], plan.findings.zeros != Zeros::none
    };
  galerkin(plan.exec, A, P, next.grid, next.halo, next.cut_x, next.cut_y, singular<T>, coarse, notes ? &watch : nullptr,
           single, centres);
  if (s.of_schur) setup_s1<T>(plan, l, a, &P, failure);
  else setup_nine<T>(plan, l, a, P, failure);
  march_setup<T>(plan, (int)l);
  if (!plan.strategy->keeps_work) work[l] = Work();
}

template <class T> void Multigrid<T>::loose_parts(Plan &plan, double loose)
{
  for (size_t l = 0; l < levels.size(); ++l)
    if (plan.levels[l].step == Step::coarsen && levels[l].of_schur) find_loose_parts<T>(plan, l, loose);
  make_vectors(plan); // theirs
}

#define INSTANTIATE(T) \
  template void Multigrid<T>::coarsen(Plan &, size_t, Stencil &, Stencil &, Failure &); \
  template void Multigrid<T>::loose_parts(Plan &, double);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::rrb
