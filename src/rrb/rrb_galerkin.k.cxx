// The cycle of the Galerkin form: sweeps of Gauss-Seidel on each grid, P' and P between them. The finest grid of a 5-point
// operator is smoothed on its first Schur complement S1, whose two quarters o and c are 5-point grids of their own.
//
// Colours go c, o, b, a before the next grid and in the reverse order after it; on S1 they go c, o, each by X + Y even, odd.
// Sweeps, residual and transfer of one grid are one pass through memory (wavefront() in exec.hpp) down and one up: 7 coefficients
// and 3 values a node of the grid; with ghost nodes to exchange, or along lines, one pass for each colour.
#include "core/tuning.hpp"
#include "rrb/galerkin_kernels.hpp"
#include "rrb/rrb_march.hpp"

namespace tessera::rrb {

namespace {

//--- one grid ---------------------------------------------------------------------------------------------------------

Box rows(const Box &b, int y0, int y1) { return {b.x0, b.x1, std::max(b.y0, y0), std::min(b.y1, y1)}; }

// Rows that are swept together, so that what the sweeps touch stays in the second-level cache.
int rows_at_once(const Plan &plan, const Level &g) { return std::max(1, std::min(tuning::strip_rows, tuning::wavefront_nodes / (g.layout.m + 2))) * plan.exec.threads; }

struct Span {
  int y0, y1;
};
Span span(const Grid &g) { const Box b = g.owned(); return {floor_half(b.y0), floor_half(b.y1 + 1)}; }

template <class T> class Grid9 {
public:
  Grid9(Plan &plan, int l, const View<T> &b, const View<T> &x)
    : plan_(plan), l_(l), g_(plan.levels[(size_t)l]), s_(hierarchy<T>(plan)[(size_t)l]), A_(s_.a.view()), b_(b), x_(x), r_(s_.r.v), sweeps_(sweeps(plan, false)) { }
  void down()
  {
    if (s_.smoother != Smoother::point) {
      x_zero();
      for (int i = 0; i < sweeps_; ++i) lines(false);
      residuals();
      restriction(INT_MIN / 2, INT_MAX / 2, true);
      return;
    }
    std::vector<int> &kind = plan_.kind, &lag = plan_.lag;
    kind.clear(), lag.clear();
    auto add = [&](int k, int behind) { kind.push_back(k), lag.push_back(behind); };
    for (int i = 0; i < sweeps_; ++i) add(i ? 3 : 3 + 10, 2 * i), add(i ? 0 : 10, 2 * i), add(i ? 2 : 12, 2 * i + 1), add(i ? 1 : 11, 2 * i + 1);
    const int behind = 2 * sweeps_ - 1;
    add(4, behind), add(6, behind + 1), add(8, behind + 1);
    sweep();
  }
  void up()
  {
    g_.halo.exchange(r_, mask_c);
    if (s_.smoother != Smoother::point) {
      prolong();
      g_.halo.exchange(x_, mask_all);
      for (int i = 0; i < sweeps_; ++i) lines(true);
      return;
    }
    std::vector<int> &kind = plan_.kind, &lag = plan_.lag;
    kind.clear(), lag.clear();
    auto add = [&](int k, int behind) { kind.push_back(k), lag.push_back(behind); };
    add(9, 0); // a is not corrected: the first sweep does not look at it
    for (int i = 0; i < sweeps_; ++i) add(1, 2 * i), add(2, 2 * i + 1), add(0, 2 * i + 1), add(3, 2 * i + 2);
    sweep();
  }

private:
  void x_zero()
  {
    auto of = [&](int q) { return part(g_.layout.whole(), ZeroKernel<T>{x_.q[q], x_.sx, x_.sy}); };
    forall_parts(plan_.exec, of(0), of(1), of(2), of(3));
  }
  // Phases: 0-3 the colour of a quarter, 10-13 from zero, 4 and 6 the residual at o and b, 8 the restriction, 9 the correction.
  void sweep()
  {
    const bool fused = g_.halo.empty() && plan_.exec.space == Space::host;
    const Span all = span(g_.grid);
    wavefront(plan_.lag, all.y0, all.y1, rows_at_once(plan_, g_), fused, [&](int phase, int y0, int y1) {
      const int k = plan_.kind[(size_t)phase];
      if (k == 8) return restriction(y0, y1, false);
      if (k == 9) {
        for (int q : {3, 0, 2}) prolong(q, rows(g_.grid.owned(q), y0, y1));
        if (!fused) g_.halo.exchange(x_, mask_o | mask_b | mask_c);
      } else if (k >= 4 && k < 8) {
        residual(plan_.exec, A_, k - 4, rows(g_.grid.owned(k - 4), y0, y1), b_, x_, r_);
        if (!fused) g_.halo.exchange(r_, 1 << (k - 4));
      } else {
        const int q = k % 10;
        smooth_colour(plan_.exec, A_, q, rows(g_.grid.owned(q), y0, y1), b_, x_, k >= 10, relaxation<T>(plan_, q), q == quarter_c ? g_.layout.view(s_.inject.data(), quarter_c).q[3] : nullptr);
        if (!fused) g_.halo.exchange(x_, 1 << q);
      }
    });
  }
  void lines(bool reverse)
  {
    for_lines(s_.smoother, reverse, [&](Lines direction, int parity) {
      s_.lines[0][direction == lines_y].solve(plan_.exec, A_, parity, b_, x_);
      g_.halo.exchange(x_, direction == lines_x ? (parity ? mask_b | mask_c : mask_o | mask_a) : (parity ? mask_a | mask_c : mask_o | mask_b));
    });
  }
  void restriction(int y0, int y1, bool with_a)
  {
    const View<T> next = hierarchy<T>(plan_)[(size_t)l_ + 1].b.v;
    with_stride(A_.C.sx, [&](auto stride) {
      constexpr int S = decltype(stride)::value;
      const Box     c = rows(g_.grid.owned(quarter_c), y0, y1);
      forall_strip(plan_.exec, c, 4, 1, Restrict<S, T>{A_, b_, x_, r_, {edge(0), edge(1)}, {centre(0), centre(1), centre(2), centre(3)}, next, with_a});
    });
  }
  template <int Q, int S> Part<Prolong<Q, S, T>> correction(const Box &box)
  {
    Prolong<Q, S, T> k{r_.q[3], {}, x_.q[Q], x_.sy};
    for (int i = 0; i < 4; ++i)
      if (Q == quarter_o) k.w[i] = centre(i).q[0];
      else if (Q != quarter_c && i < 2) k.w[i] = edge(i).q[Q];
    return part(box, k);
  }
  // In all quarters, or in one.
  void prolong()
  {
    with_stride(A_.C.sx, [&](auto stride) {
      constexpr int S = decltype(stride)::value;
      const Grid   &g = g_.grid;
      forall_parts(plan_.exec, correction<0, S>(g.owned(0)), correction<1, S>(g.owned(1)), correction<2, S>(g.owned(2)), correction<3, S>(g.owned(3)));
    });
  }
  void prolong(int q, const Box &box)
  {
    with_stride(A_.C.sx, [&](auto stride) {
      constexpr int S = decltype(stride)::value;
      if (q == 0) forall_parts(plan_.exec, correction<0, S>(box));
      else if (q == 2) forall_parts(plan_.exec, correction<2, S>(box));
      else forall_parts(plan_.exec, correction<3, S>(box));
    });
  }
  void residuals()
  {
    with_stride(A_.C.sx, [&](auto stride) {
      constexpr int S = decltype(stride)::value;
      auto          of = [&](auto q) { return part(g_.grid.owned(decltype(q)::value), Residual<decltype(q)::value, S, T>{A_, b_, x_, r_}); };
      forall_parts(plan_.exec, of(std::integral_constant<int, 0>()), of(std::integral_constant<int, 1>()), of(std::integral_constant<int, 2>()));
    });
    g_.halo.exchange(r_, mask_o | mask_a | mask_b);
  }
  View<T> edge(int k) { return g_.layout.view(s_.edge[k].data(), quarter_a); }
  View<T> centre(int k) { return g_.layout.view(s_.centre[k].data()); }
  Plan          &plan_;
  int            l_;
  Level         &g_;
  Smoothing<T>  &s_;
  StencilView<T> A_;
  View<T>        b_, x_, r_;
  int            sweeps_;
};

// The same on S1. r and z have the quarters o and c.
template <class T> class GridS1 {
public:
  GridS1(Plan &plan, int l, const View<T> &r, const View<T> &z)
    : plan_(plan), l_(l), g_(plan.levels[(size_t)l]), s_(hierarchy<T>(plan)[(size_t)l]), a_(schur_view(g_.layout, schur_of<T>(plan, l))), h_(schur_help(g_, s_)), r_(r), z_(z), t_(place(g_.layout, s_.r.data.data())), sweeps_(sweeps(plan, true)) { }
  void down()
  {
    if (s_.smoother != Smoother::point) {
      auto zero = [&](int q) { return part(g_.layout.whole(), ZeroKernel<T>{z_.q[q], z_.sx, z_.sy}); };
      forall_parts(plan_.exec, zero(0), zero(3));
      for (int i = 0; i < sweeps_; ++i) lines(3, false), lines(0, false);
      residual_o(g_.grid.owned(0));
      restriction(INT_MIN / 2, INT_MAX / 2);
      return;
    }
    std::vector<int> &kind = plan_.kind, &lag = plan_.lag;
    kind.clear(), lag.clear();
    auto add = [&](int k, int behind) { kind.push_back(k), lag.push_back(behind); };
    for (int i = 0; i < sweeps_; ++i) add(i ? 2 : 12, 3 * i), add(i ? 3 : 13, 3 * i + 1), add(i ? 0 : 10, 3 * i + 1), add(1, 3 * i + 2);
    add(4, 3 * sweeps_), add(5, 3 * sweeps_ + 1);
    sweep();
  }
  void up()
  {
    exchange_t(3);
    if (s_.smoother != Smoother::point) {
      prolong(INT_MIN / 2, INT_MAX / 2);
      for (int i = 0; i < sweeps_; ++i) lines(0, true), lines(3, true);
      return;
    }
    std::vector<int> &kind = plan_.kind, &lag = plan_.lag;
    kind.clear(), lag.clear();
    auto add = [&](int k, int behind) { kind.push_back(k), lag.push_back(behind); };
    add(6, 0);
    for (int i = 0; i < sweeps_; ++i) add(1, 3 * i + 1), add(0, 3 * i + 2), add(3, 3 * i + 3), add(2, 3 * i + 4);
    sweep();
  }

private:
  // Phases: 0, 1 the colours of o, 2, 3 of c, 10, 12, 13 the first ones from zero, 4 the residual at o, 5 the restriction, 6 the correction.
  void sweep()
  {
    const Span all = span(g_.grid);
    wavefront(plan_.lag, all.y0, all.y1, rows_at_once(plan_, g_), g_.halo.empty() && plan_.exec.space == Space::host, [&](int phase, int y0, int y1) {
      const int k = plan_.kind[(size_t)phase];
      if (k == 4) return residual_o(rows(g_.grid.owned(0), y0, y1));
      if (k == 5) return restriction(y0, y1);
      if (k == 6) return prolong(y0, y1);
      with_stride(a_.sx, [&](auto stride) {
        constexpr int S = decltype(stride)::value;
        const int     q = k % 10 < 2 ? 0 : 3, parity = k & 1;
        const Box     box = rows(g_.grid.owned(q), y0, y1);
        const T      *d = h_.d[q], *r = r_.q[q], *other = z_.q[3 - q];
        if (k < 2) forall(plan_.exec, box, SchurColour<0, S, known_all, T>{a_, d, r, other, z_.q[0], z_.q[0], parity});
        else if (k < 4) forall(plan_.exec, box, SchurColour<3, S, known_all, T>{a_, d, r, other, z_.q[3], z_.q[3], parity});
        else if (k == 10) forall(plan_.exec, box, SchurColour<0, S, known_other, T>{a_, d, r, other, z_.q[0], z_.q[0], parity});
        else if (k == 12) forall(plan_.exec, box, SchurColour<3, S, known_none, T>{a_, d, r, other, z_.q[3], z_.q[3], parity});
        else forall(plan_.exec, box, SchurColour<3, S, known_own, T>{a_, d, r, other, z_.q[3], z_.q[3], parity});
        g_.halo.exchange(z_, 1 << q);
      });
    });
  }
  // Lines of quarter q: its couplings with the other quarter go to the right-hand side first.
  void lines(int q, bool reverse)
  {
    with_stride(a_.sx, [&](auto stride) {
      constexpr int S = decltype(stride)::value;
      if (q == 0) forall(plan_.exec, g_.grid.owned(0), SchurSide<0, S, T>{a_, r_.q[0], z_.q[3], t_});
      else forall(plan_.exec, g_.grid.owned(3), SchurSide<3, S, T>{a_, r_.q[3], z_.q[0], t_});
    });
    const StencilView<T> A = schur_plane(a_, q);
    const View<T>        b = plane_view(t_, a_.sx, a_.sy), x = plane_view(z_.q[q], z_.sx, z_.sy);
    for_lines(s_.smoother, reverse, [&](Lines direction, int parity) {
      s_.lines[q == 3][direction == lines_y].solve(plan_.exec, A, parity, b, x);
      g_.halo.exchange(z_, 1 << q);
    });
  }
  void exchange_t(int q)
  {
    View<T> v = z_;
    v.q[q]    = t_;
    g_.halo.exchange(v, 1 << q);
  }
  void residual_o(const Box &box)
  {
    with_stride(a_.sx, [&](auto stride) { forall(plan_.exec, box, SchurResidualO<decltype(stride)::value, T>{a_, r_.q[0], z_.q[0], z_.q[3], t_}); });
    exchange_t(0);
  }
  void restriction(int y0, int y1)
  {
    const View<T> next = hierarchy<T>(plan_)[(size_t)l_ + 1].b.v;
    with_stride(a_.sx, [&](auto stride) {
      constexpr int S = decltype(stride)::value;
      const Box     c = rows(g_.grid.owned(quarter_c), y0, y1);
      forall_strip(plan_.exec, c, 4, 1, SchurRestrict<S, T>{a_, r_.q[3], z_.q[0], z_.q[3], t_, {w(0), w(1), w(2), w(3)}, next});
    });
  }
  void prolong(int y0, int y1)
  {
    with_stride(a_.sx, [&](auto stride) {
      constexpr int S = decltype(stride)::value;
      forall_parts(plan_.exec, part(rows(g_.grid.owned(3), y0, y1), Prolong<3, S, T>{t_, {}, z_.q[3], z_.sy}), part(rows(g_.grid.owned(0), y0, y1), Prolong<0, S, T>{t_, {w(0), w(1), w(2), w(3)}, z_.q[0], z_.sy}));
    });
    g_.halo.exchange(z_, mask_o | mask_c);
  }
  const T       *w(int k) { return h_.w[k]; }
  Plan          &plan_;
  int            l_;
  Level         &g_;
  Smoothing<T>  &s_;
  SchurView<T>   a_;
  SchurHelp<T>   h_;
  View<T>        r_, z_;
  T             *t_; // residual at o, correction at c, right-hand side along lines: one after the other
  int            sweeps_;
};

template <class T> struct DifferenceKernel { // y = x - y
  const T  *x;
  T        *y;
  ptrdiff_t sx, sy;
  HD void   operator()(int X, int Y) const { y[X * sx + Y * sy] = x[X * sx + Y * sy] - y[X * sx + Y * sy]; }
};

template <class T> struct SumKernel { // y += x
  const T  *x;
  T        *y;
  ptrdiff_t sx, sy;
  HD void   operator()(int X, int Y) const { y[X * sx + Y * sy] += x[X * sx + Y * sy]; }
};

//--- all grids --------------------------------------------------------------------------------------------------------

template <class T> void visit(Plan &plan, int l);

// From level l to the next and back: its residual is in next.b, its correction goes to the field of one quarter at e.
template <class T> void coarse(Plan &plan, int l, T *e, ptrdiff_t sx, ptrdiff_t sy)
{
  visit<T>(plan, l + 1);
  copy(plan.exec, plan.levels[(size_t)l + 1].grid, mask_all, hierarchy<T>(plan)[(size_t)l + 1].x.v, plane_view(e, sx, sy));
}

// The next grid's x, for march_up(): right at ghost nodes too, by its own sweeps or by an exchange.
template <class T> void march_coarse(Plan &plan, int l)
{
  Level &next = plan.levels[(size_t)l + 1];
  visit<T>(plan, l + 1);
  const bool right = next.step == Step::gather || (marches<T>(plan, l + 1) && !(next.accelerated && plan.cycle != Cycle::v));
  if (!right) next.wide.exchange(hierarchy<T>(plan)[(size_t)l + 1].x.v, mask_all);
}

template <class T> void cycle9(Plan &plan, int l, const View<T> &b, const View<T> &x)
{
  if (marches<T>(plan, l)) {
    march_down(plan, l, b, x);
    march_coarse<T>(plan, l);
    return march_up(plan, l, b, x);
  }
  Grid9<T> grid(plan, l, b, x);
  const View<T> r = hierarchy<T>(plan)[(size_t)l].r.v;
  grid.down();
  coarse(plan, l, r.q[3], r.sx, r.sy);
  grid.up();
}

template <class T> void cycle_s1(Plan &plan, int l, const View<T> &r, const View<T> &z)
{
  Level        &g = plan.levels[(size_t)l];
  Smoothing<T> &s = hierarchy<T>(plan)[(size_t)l];
  const bool    loose = !s.components.empty();
  const View<T> v = s.constants.v, rest = s.rest.v;
  auto          subtract = [&](const View<T> &from, const View<T> &u) { // rest := from - S1 u
    g.halo.exchange(u, mask_o | mask_c);
    schur_product(plan.exec, g, schur_of<T>(plan, l), u, rest);
    for (int q : {0, 3}) forall(plan.exec, g.grid.owned(q), DifferenceKernel<T>{from.q[q], rest.q[q], rest.sx, rest.sy});
  };
  if (loose) {
    s.components.project(g, r, v, false);
    subtract(r, v);
  }
  const View<T> &rhs = loose ? rest : r;
  if (marches<T>(plan, l)) {
    march_down(plan, l, rhs, z);
    march_coarse<T>(plan, l);
    march_up(plan, l, rhs, z);
  } else {
    GridS1<T> grid(plan, l, rhs, z);
    grid.down();
    coarse(plan, l, place(g.layout, s.r.data.data()), z.sx, z.sy);
    grid.up();
  }
  if (loose) { // the same after the cycle
    for (int q : {0, 3}) forall(plan.exec, g.grid.owned(q), SumKernel<T>{v.q[q], z.q[q], z.sx, z.sy});
    subtract(r, z);
    s.components.project(g, rest, z, true);
  }
}

} // namespace

template <class T> void GalerkinSpace<T>::precondition(FieldOf<T> &u, FieldOf<T> &v)
{
  if (s.of_schur) cycle_s1(plan, l, u.v, v.v);
  else cycle9(plan, l, u.v, v.v);
}

template <class T> void GalerkinSpace<T>::multiply(FieldOf<T> &u, FieldOf<T> &v)
{
  g.halo.exchange(u.v, mask);
  if (s.of_schur) schur_product(plan.exec, g, schur_of<T>(plan, l), u.v, v.v);
  else stencil_apply(plan.exec, s.a.view(), g.grid, u.v, v.v);
}

template struct GalerkinSpace<double>;
template struct GalerkinSpace<float>;

namespace {

//--- AMLI on the device -----------------------------------------------------------------------------------------------

// A step's direction d = f w + t d and x = x + d; the first step's are f w.
template <class T> struct StepKernel {
  T        *d, *x;
  const T  *w;
  T         f, t;
  bool      first;
  ptrdiff_t n;
  static constexpr int row = 1024;
  HD void operator()(int i, int j) const
  {
    const ptrdiff_t p = i + (ptrdiff_t)j * row;
    if (p >= n) return;
    const T v = first ? f * w[p] : f * w[p] + t * d[p];
    d[p]      = v;
    x[p]      = first ? v : x[p] + v;
  }
};

// amli_cycle() with a step's vector operations in two launches.
template <class T> void amli_there(GalerkinSpace<T> &s, int steps, double lowest, double highest)
{
  const double theta = (highest + lowest) / 2, delta = (highest - lowest) / 2, sigma = theta / delta;
  const auto   n = (ptrdiff_t)s.x.data.size();
  double       rho = 1 / sigma;
  for (int i = 0; i < steps; ++i) {
    FieldOf<T>  &b    = i ? s.r : s.b;
    const double next = 1 / (2 * sigma - rho);
    s.precondition(b, s.w);
    forall(s.plan.exec, {0, StepKernel<T>::row, 0, (int)((n + StepKernel<T>::row - 1) / StepKernel<T>::row)},
           StepKernel<T>{s.d.data.data(), s.x.data.data(), s.w.data.data(), (T)(i ? 2 * next / delta : 1 / theta), (T)(i ? next * rho : 0), !i, n});
    if (i) rho = next;
    if (i + 1 == steps) return;
    s.g.halo.exchange(s.d.v, mask_all);
    const StencilView<T> A = s.s.a.view();
    with_stride(A.C.sx, [&](auto stride) {
      constexpr int S = decltype(stride)::value;
      auto          of = [&](auto q) { return part(s.g.grid.owned(decltype(q)::value), Residual<decltype(q)::value, S, T>{A, b.v, s.d.v, s.r.v}); };
      forall_parts(s.plan.exec, of(std::integral_constant<int, 0>()), of(std::integral_constant<int, 1>()), of(std::integral_constant<int, 2>()), of(std::integral_constant<int, 3>()));
    });
  }
}

// x = the approximate solution on level l for the right-hand side b, both in its own fields.
template <class T> void visit(Plan &plan, int l)
{
  Level        &g = plan.levels[(size_t)l];
  Smoothing<T> &s = hierarchy<T>(plan)[(size_t)l];
  if (g.step == Step::solve) return solve_remainder(plan, s.b.v, s.x.v);
  if (!s.whole.empty()) return s.whole.solve(plan.exec, s.b.v, s.x.v);
  if (g.step == Step::gather) {
    Smoothing<T> &whole = hierarchy<T>(plan)[(size_t)l + 1];
    gather_values(plan, g, s.b.v, whole.b.v);
    visit<T>(plan, l + 1);
    const Box nodes = g.grid.around(g.grid.layers > 1 ? march_layers_x : 0);
    for (int q = 0; q < 4; ++q) forall(plan.exec, quarter_box(nodes, q), CopyKernel<T, T>{whole.x.v.q[q], s.x.v.q[q], whole.x.v.sx, whole.x.v.sy, s.x.v.sx, s.x.v.sy});
  } else if (g.accelerated && plan.cycle != Cycle::v) {
    GalerkinSpace<T> space(plan, l);
    if (plan.cycle == Cycle::k) k_cycle(space, plan.params.inner);
    else if (plan.exec.space == Space::cuda) amli_there(space, plan.params.inner, g.spectrum[0], g.spectrum[1]);
    else amli_cycle(space, plan.params.inner, g.spectrum[0], g.spectrum[1]);
  } else cycle9(plan, l, s.b.v, s.x.v);
}

// The whole of M on a level with the number 0: out = M^-1 b, b is used up.
template <class T> void root(Plan &plan, int l, const View<double> &b, const View<double> &out)
{
  Level        &g = plan.levels[(size_t)l];
  Smoothing<T> &s = hierarchy<T>(plan)[(size_t)l];
  if (g.step == Step::solve) return solve_remainder(plan, b, out);
  if (g.step == Step::gather) {
    Level &whole = plan.levels[(size_t)l + 1];
    gather_values(plan, g, b, whole.b.v);
    root<T>(plan, l + 1, whole.b.v, whole.b.v);
    return copy(plan.exec, g.grid, mask_all, whole.b.v, out);
  }
  if (!s.of_schur) {
    copy(plan.exec, g.grid, mask_all, b, s.b.v);
    visit<T>(plan, l);
    return copy(plan.exec, g.grid, mask_all, s.x.v, out);
  }
  black_rhs(plan, g, b, b);
  const View<T> z = s.x.v;
  if constexpr (std::is_same_v<T, double>) cycle_s1(plan, l, b, z);
  else {
    copy(plan.exec, g.grid, mask_o | mask_c, b, s.b.v);
    cycle_s1(plan, l, s.b.v, z);
  }
  copy(plan.exec, g.grid, mask_o | mask_c, z, b);
  red_solution(plan, g, b, b, out);
  copy(plan.exec, g.grid, mask_o | mask_c, b, out);
}

} // namespace

void galerkin_apply(Plan &plan, const View<double> &out)
{
  const View<double> b = plan.levels[0].b.v;
  if (plan.params.single) root<float>(plan, 0, b, out);
  else root<double>(plan, 0, b, out);
}

#ifdef TESSERA_HAVE_DEVICE
// The same without b in quarters: 8 B a node are read twice and written once beside the factors, where galerkin_apply() moves them eight times.
template <class T> static void through_black(Plan &plan, const double *b, double *out)
{
  Smoothing<T>  &s = hierarchy<T>(plan)[0];
  const View<T> *rhs;
  if constexpr (std::is_same_v<T, double>) rhs = &plan.levels[0].b.v;
  else rhs = &s.b.v;
  black_of(plan, b, *rhs);
  cycle_s1(plan, 0, *rhs, s.x.v);
  whole_of(plan, b, s.x.v, out);
}
#endif

bool takes_natural(const Plan &plan)
{
#ifdef TESSERA_HAVE_DEVICE
  const Level &g = plan.levels[0];
  if (plan.exec.space != Space::cuda || plan.params.coarsening != Coarsening::galerkin || g.step != Step::coarsen || g.grid.processes() > 1 || !g.halo.empty()) return false;
  return plan.params.single ? plan.smoothing32[0].of_schur && marches<float>(plan, 0) : plan.smoothing64[0].of_schur && marches<double>(plan, 0);
#else
  (void)plan;
  return false;
#endif
}

void apply_natural(Plan &plan, const double *b, double *out)
{
#ifdef TESSERA_HAVE_DEVICE
  plan.params.single ? through_black<float>(plan, b, out) : through_black<double>(plan, b, out);
#else
  (void)plan, (void)b, (void)out;
#endif
}

template <class T> bool galerkin_schur_cycle(Plan &plan, const View<T> &r, const View<T> &z, Reduction &reduction, double *rz)
{
  const bool fused = marches<T>(plan, 0) && hierarchy<T>(plan)[0].components.empty();
  if (fused) {
    march_down(plan, 0, r, z);
    march_coarse<T>(plan, 0);
    march_up(plan, 0, r, z, &reduction, rz);
  } else cycle_s1(plan, 0, r, z);
  return fused;
}
template bool galerkin_schur_cycle<double>(Plan &, const View<double> &, const View<double> &, Reduction &, double *);
template bool galerkin_schur_cycle<float>(Plan &, const View<float> &, const View<float> &, Reduction &, double *);

void galerkin_schur_apply(Plan &plan, const View<double> &r, const View<double> &z)
{
  const Level &g = plan.levels[0];
  if (!plan.params.single) return cycle_s1(plan, 0, r, z);
  Smoothing<float> &s = plan.smoothing32[0];
  copy(plan.exec, g.grid, mask_o | mask_c, r, s.b.v);
  cycle_s1(plan, 0, s.b.v, s.x.v);
  copy(plan.exec, g.grid, mask_o | mask_c, s.x.v, z);
}

} // namespace tessera::rrb
