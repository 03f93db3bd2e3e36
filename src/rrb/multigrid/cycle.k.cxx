// The cycle of the Galerkin form: sweeps of Gauss-Seidel on each grid, P' and P between them. The finest grid of a
// 5-point operator is smoothed on its first Schur complement S1, whose two quarters o and c are 5-point grids of
// their own.
//
// Colours go c, o, b, a before the next grid and in the reverse order after it; on S1 they go c, o, each by X + Y
// even, odd. Sweeps, residual and transfer of one grid are one pass through memory (exec/wavefront.hpp) down and
// one up: 7 coefficients and 3 values per node of the grid; with ghost nodes to exchange, or along lines, one pass for
// each colour.
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

} // namespace

//--- all grids --------------------------------------------------------------------------------------------------------

// From level l to the next and back: its residual is in next.b, its correction goes to the field of one quarter at e.
template <class T> void Multigrid<T>::next(Plan &plan, int l, T *e, ptrdiff_t sx, ptrdiff_t sy)
{
  visit(plan, l + 1);
  copy(plan.exec, plan.levels[(size_t)l + 1].grid, mask_all, levels[(size_t)l + 1].x.v, plane_view(e, sx, sy));
}

// The next grid's x must be right at ghost nodes too, by its own sweeps or by an exchange.
template <class T> void Multigrid<T>::march(Plan &plan, int l, const View<T> &b, const View<T> &x, Reduction *reduction,
                                            double *bx)
{
  const MultigridLevel<T> &below = levels[(size_t)l + 1];
  march_down(plan, l, b, x);
  visit(plan, l + 1);
  if (below.visit != Visit::gather && !(below.visit == Visit::cycle && below.sweeping == Sweeping::march))
    plan.levels[(size_t)l + 1].wide.exchange(below.x.v, mask_all);
  march_up(plan, l, b, x, reduction, bx);
}

template <class T> void Multigrid<T>::cycle_nine(Plan &plan, int l, const View<T> &b, const View<T> &x)
{
  MultigridLevel<T> &s = levels[(size_t)l];
  if (s.sweeping == Sweeping::march) return march(plan, l, b, x, nullptr, nullptr);
  const View<T> r = s.r.v;
  Grid9<T>      grid(plan, l, b, x, r, levels[(size_t)l + 1].b.v);
  grid.down();
  next(plan, l, r.q[3], r.sx, r.sy);
  grid.up();
}

template <class T>
bool Multigrid<T>::cycle_s1(Plan &plan, int l, const View<T> &r, const View<T> &z, Reduction *reduction, double *rz)
{
  Level             &g = plan.levels[(size_t)l];
  MultigridLevel<T> &s = levels[(size_t)l];
  const bool         loose = !s.components.empty(), marches = s.sweeping == Sweeping::march,
             fused         = marches && !loose && reduction;
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
  if (marches) march(plan, l, rhs, z, fused ? reduction : nullptr, rz);
  else {
    T *const  t = place(g.layout, s.r.data.data());
    GridS1<T> grid(plan, l, rhs, z, t, levels[(size_t)l + 1].b.v);
    grid.down();
    if (!s.algebraic.empty()) s.algebraic.cycle();
    else next(plan, l, t, z.sx, z.sy);
    grid.up();
  }
  if (loose) { // the same after the cycle
    for (int q : {0, 3}) forall(plan.exec, g.grid.owned(q), SumKernel<T>{v.q[q], z.q[q], z.sx, z.sy});
    subtract(r, z);
    s.components.project(g, rest, z, true);
  }
  return fused;
}

template <class T>
bool Multigrid<T>::cycle(Plan &plan, int l, const View<T> &b, const View<T> &x, Reduction *reduction, double *bx)
{
  if (levels[(size_t)l].of_schur) return cycle_s1(plan, l, b, x, reduction, bx);
  cycle_nine(plan, l, b, x);
  return false;
}

template <class T> void GalerkinSpace<T>::precondition(FieldOf<T> &u, FieldOf<T> &v)
{
  method<T>(plan).cycle(plan, l, u.v, v.v);
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

//--- AMLI in few launches ---------------------------------------------------------------------------------------------

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
template <class T> void fused_amli_cycle(GalerkinSpace<T> &s, int steps, double lowest, double highest)
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

template <class T> void Multigrid<T>::visit(Plan &plan, int l)
{
  Level             &g = plan.levels[(size_t)l];
  MultigridLevel<T> &s = levels[(size_t)l];
  const int          steps = plan.params.inner;
  GalerkinSpace<T>   space(plan, l);
  switch (s.visit) {
  case Visit::exact:
    return solve_remainder(plan, s.b.v, s.x.v);
  case Visit::dense:
    return s.whole.solve(plan.exec, s.b.v, s.x.v);
  case Visit::k_cycle:
    return k_cycle(space, steps);
  case Visit::amli:
    return amli_cycle(space, steps, g.spectrum[0], g.spectrum[1]);
  case Visit::fused_amli:
    if constexpr (device::built) fused_amli_cycle(space, steps, g.spectrum[0], g.spectrum[1]);
    return;
  case Visit::cycle:
    return cycle_nine(plan, l, s.b.v, s.x.v);
  case Visit::gather:
    break;
  }
  MultigridLevel<T> &whole = levels[(size_t)l + 1];
  gather_values(plan, g, s.b.v, whole.b.v);
  visit(plan, l + 1);
  const Box nodes = g.grid.around(g.grid.layers > 1 ? march_layers_x : 0);
  for (int q = 0; q < 4; ++q)
    forall(plan.exec, quarter_box(nodes, q),
           CopyKernel<T, T>{whole.x.v.q[q], s.x.v.q[q], whole.x.v.sx, whole.x.v.sy, s.x.v.sx, s.x.v.sy});
}

// The whole of M on a level with the number 0: out = M^-1 b, b is used up.
template <class T> void Multigrid<T>::root(Plan &plan, int l, const View<double> &b, const View<double> &out)
{
  Level             &g = plan.levels[(size_t)l];
  MultigridLevel<T> &s = levels[(size_t)l];
  if (g.step == Step::solve) return solve_remainder(plan, b, out);
  if (g.step == Step::gather) {
    Level &whole = plan.levels[(size_t)l + 1];
    gather_values(plan, g, b, whole.b.v);
    root(plan, l + 1, whole.b.v, whole.b.v);
    return copy(plan.exec, g.grid, mask_all, whole.b.v, out);
  }
  if (!s.of_schur) {
    copy(plan.exec, g.grid, mask_all, b, s.b.v);
    visit(plan, l);
    return copy(plan.exec, g.grid, mask_all, s.x.v, out);
  }
  black_rhs(plan, g, b, b);
  const View<T> z = s.x.v;
  if constexpr (std::is_same_v<T, double>) cycle(plan, l, b, z);
  else {
    copy(plan.exec, g.grid, mask_o | mask_c, b, s.b.v);
    cycle(plan, l, s.b.v, z);
  }
  copy(plan.exec, g.grid, mask_o | mask_c, z, b);
  red_solution(plan, g, b, b, out);
  copy(plan.exec, g.grid, mask_o | mask_c, b, out);
}

template <class T> void Multigrid<T>::apply(Plan &plan, const View<double> &out)
{
  root(plan, 0, plan.levels[0].b.v, out);
}

// Without b in quarters: 8 B per node are read twice and written once beside the factors; apply() moves them eight
// times.
template <class T> void Multigrid<T>::apply_natural(Plan &plan, const double *b, double *out)
{
#ifdef TESSERA_HAVE_DEVICE
  MultigridLevel<T> &s = levels[0];
  const View<T>     *rhs;
  if constexpr (std::is_same_v<T, double>) rhs = &plan.levels[0].b.v;
  else rhs = &s.b.v;
  black_of(plan, b, *rhs);
  cycle(plan, 0, *rhs, s.x.v);
  whole_of(plan, b, s.x.v, out);
#else
  (void)plan, (void)b, (void)out;
#endif
}

template <class T>
bool Multigrid<T>::schur_cycle(Plan &plan, const View<T> &r, const View<T> &z, Reduction *reduction, double *rz)
{
  return cycle(plan, 0, r, z, reduction, rz);
}

template <class T> bool Multigrid<T>::needs_host(const Plan &plan) const
{
  if (!levels[0].components.empty()) return true;
  for (size_t l = 0; l < levels.size(); ++l) // lines, too, are joined by MPI
    if (plan.levels[l].grid.processes() > 1 && plan.levels[l].step == Step::coarsen &&
        levels[l].sweeping != Sweeping::march)
      return true;
  return false;
}

#define INSTANTIATE(T) \
  template void Multigrid<T>::visit(Plan &, int); \
  template bool Multigrid<T>::cycle(Plan &, int, const View<T> &, const View<T> &, Reduction *, double *); \
  template void Multigrid<T>::apply(Plan &, const View<double> &); \
  template void Multigrid<T>::apply_natural(Plan &, const double *, double *); \
  template bool Multigrid<T>::schur_cycle(Plan &, const View<T> &, const View<T> &, Reduction *, double *); \
  template bool Multigrid<T>::needs_host(const Plan &) const;
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::rrb
