// The cycle of the Galerkin form: sweeps of Gauss-Seidel on each grid, P' and P between them. The finest grid of a
// 5-point operator is smoothed on its first Schur complement S1, whose two quarters o and c are 5-point grids of
// their own.
//
// Colours go c, o, b, a before the next grid and in the reverse order after it; on S1 they go c, o, each by X + Y
// even, odd. Sweeps, residual and transfer of one grid are one pass through memory (exec/wavefront.hpp) down and
// one up: 7 coefficients and 3 values a node of the grid; with ghost nodes to exchange, or along lines, one pass for
// each colour.
#include "box/tuning.hpp"
#include "rrb/multigrid/grids.hpp"
#include "rrb/multigrid/march.hpp"

namespace tessera::rrb {

namespace {

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

// From level l to the next and back: its residual is in next.b, its correction goes to the field of one quarter at e.
template <class T> void coarse(Plan &plan, int l, T *e, ptrdiff_t sx, ptrdiff_t sy)
{
  galerkin_visit<T>(plan, l + 1);
  copy(plan.exec, plan.levels[(size_t)l + 1].grid, mask_all, hierarchy<T>(plan)[(size_t)l + 1].x.v,
       plane_view(e, sx, sy));
}

// The next grid's x, for march_up(): right at ghost nodes too, by its own sweeps or by an exchange.
template <class T> void march_coarse(Plan &plan, int l)
{
  Level &next = plan.levels[(size_t)l + 1];
  galerkin_visit<T>(plan, l + 1);
  const bool right =
    next.step == Step::gather || (marches<T>(plan, l + 1) && !(next.accelerated && plan.cycle != Cycle::v));
  if (!right) next.wide.exchange(hierarchy<T>(plan)[(size_t)l + 1].x.v, mask_all);
}

template <class T> void cycle9(Plan &plan, int l, const View<T> &b, const View<T> &x)
{
  if (marches<T>(plan, l)) {
    march_down(plan, l, b, x);
    march_coarse<T>(plan, l);
    return march_up(plan, l, b, x);
  }
  const View<T> r = hierarchy<T>(plan)[(size_t)l].r.v;
  Grid9<T>      grid(plan, l, b, x, r, hierarchy<T>(plan)[(size_t)l + 1].b.v);
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
    for (int q : {0, 3})
      forall(plan.exec, g.grid.owned(q), DifferenceKernel<T>{from.q[q], rest.q[q], rest.sx, rest.sy});
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
    T *const  t = place(g.layout, s.r.data.data());
    GridS1<T> grid(plan, l, rhs, z, t, hierarchy<T>(plan)[(size_t)l + 1].b.v);
    grid.down();
    if (!s.algebraic.empty()) s.algebraic.cycle();
    else coarse(plan, l, t, z.sx, z.sy);
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
           StepKernel<T>{s.d.data.data(), s.x.data.data(), s.w.data.data(), (T)(i ? 2 * next / delta : 1 / theta),
                         (T)(i ? next * rho : 0), !i, n});
    if (i) rho = next;
    if (i + 1 == steps) return;
    s.g.halo.exchange(s.d.v, mask_all);
    const StencilView<T> A = s.s.a.view();
    with_stride(A.C.sx, [&](auto stride) {
      constexpr int S = decltype(stride)::value;
      auto          of = [&](auto q) {
        return part(s.g.grid.owned(decltype(q)::value), Residual<decltype(q)::value, S, T>{A, b.v, s.d.v, s.r.v});
      };
      forall_parts(s.plan.exec, of(std::integral_constant<int, 0>()), of(std::integral_constant<int, 1>()),
                   of(std::integral_constant<int, 2>()), of(std::integral_constant<int, 3>()));
    });
  }
}

} // namespace

// x = the approximate solution on level l for the right-hand side b, both in its own fields.
template <class T> void galerkin_visit(Plan &plan, int l)
{
  Level        &g = plan.levels[(size_t)l];
  Smoothing<T> &s = hierarchy<T>(plan)[(size_t)l];
  if (g.step == Step::solve) return solve_remainder(plan, s.b.v, s.x.v);
  if (!s.whole.empty()) return s.whole.solve(plan.exec, s.b.v, s.x.v);
  if (g.step == Step::gather) {
    Smoothing<T> &whole = hierarchy<T>(plan)[(size_t)l + 1];
    gather_values(plan, g, s.b.v, whole.b.v);
    galerkin_visit<T>(plan, l + 1);
    const Box nodes = g.grid.around(g.grid.layers > 1 ? march_layers_x : 0);
    for (int q = 0; q < 4; ++q)
      forall(plan.exec, quarter_box(nodes, q),
             CopyKernel<T, T>{whole.x.v.q[q], s.x.v.q[q], whole.x.v.sx, whole.x.v.sy, s.x.v.sx, s.x.v.sy});
  } else if (g.accelerated && plan.cycle != Cycle::v) {
    GalerkinSpace<T> space(plan, l);
    if (plan.cycle == Cycle::k) k_cycle(space, plan.params.inner);
    else if (plan.exec.space == Space::cuda) amli_there(space, plan.params.inner, g.spectrum[0], g.spectrum[1]);
    else amli_cycle(space, plan.params.inner, g.spectrum[0], g.spectrum[1]);
  } else cycle9(plan, l, s.b.v, s.x.v);
}

template void galerkin_visit<double>(Plan &, int);
template void galerkin_visit<float>(Plan &, int);

namespace {

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
    galerkin_visit<T>(plan, l);
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
// The same without b in quarters: 8 B a node are read twice and written once beside the factors, where
// galerkin_apply() moves them eight times.
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
  if (plan.exec.space != Space::cuda || plan.params.coarsening != Coarsening::galerkin || g.step != Step::coarsen ||
      g.grid.processes() > 1 || !g.halo.empty())
    return false;
  return plan.params.single ? plan.smoothing32[0].of_schur && marches<float>(plan, 0)
                            : plan.smoothing64[0].of_schur && marches<double>(plan, 0);
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

template <class T>
bool galerkin_schur_cycle(Plan &plan, const View<T> &r, const View<T> &z, Reduction &reduction, double *rz)
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
