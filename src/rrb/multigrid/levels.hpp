// What setup and cycle of the Galerkin form share.
#pragma once
#include "box/tuning.hpp"
#include "rrb/vectors.hpp"
#include <type_traits>

namespace tessera::rrb {

template <class T> Multigrid<T> &method(Plan &plan) { return std::get<Multigrid<T>>(plan.method); }
template <class T> std::vector<MultigridLevel<T>> &hierarchy(Plan &plan) { return method<T>(plan).levels; }

// Pivots below this share of the diagonal are those of a singular operator, in products of this precision.
template <class T>
constexpr double singular = std::is_same_v<T, float> ? tuning::singular_single : tuning::singular_product;

// The first level that works: finer ones are only gathered.
inline size_t first_working_level(const Plan &plan)
{
  size_t root = 0;
  while (plan.levels[root].step == Step::gather) ++root;
  return root;
}

inline bool least_squares(const Plan &plan)
{
  return plan.params.weights == Weights::least_squares ||
         (plan.params.weights == Weights::automatic && fits_weights(plan.choice.remedy));
}

// S1 of the finest grid in the precision of the hierarchy: CG's where that has it.
template <class T> SchurOf<T> &schur_of(Plan &plan, int l)
{
  if constexpr (std::is_same_v<T, double>)
    if (!l && plan.have_schur) return plan.schur;
  return hierarchy<T>(plan)[(size_t)l].schur;
}

// Room for values at the black nodes.
template <class T> void resize_black(const Layout &layout, FieldOf<T> &f)
{
  if (!f.data.empty()) return;
  f.data.resize(2 * layout.elements(1));
  f.v      = layout.view(f.data.data());
  f.v.q[0] = place(layout, f.data.data());
  f.v.q[3] = f.v.q[0] + layout.elements(1);
  f.v.q[1] = f.v.q[2] = nullptr;
}

// What S1's sweeps need beside it: the weights of o and the inverse diagonal. In double precision they take the
// places that the red nodes' factors leave free.
template <class T> struct SchurHelp {
  T *w[4], *d[4];
};
template <class T> SchurHelp<T> schur_help(Level &g, MultigridLevel<T> &s)
{
  SchurHelp<T> h{};
  if constexpr (std::is_same_v<T, double>) {
    for (int k = 0; k < 4; ++k) h.w[k] = g.layout.view(g.factor.l64[k].data()).q[0];
    h.d[0] = g.layout.view(g.factor.d64.data()).q[0];
    h.d[3] = g.layout.view(g.factor.d64.data()).q[3];
  } else {
    for (int k = 0; k < 4; ++k) h.w[k] = g.layout.view(s.centre[k].data()).q[0];
    h.d[0] = place(g.layout, s.inverse.data());
    h.d[3] = h.d[0] + g.layout.elements(1);
  }
  return h;
}

// One quarter of S1 as a 5-point operator on the grid of its nodes.
template <class T> StencilView<T> schur_plane(const SchurView<T> &a, int q)
{
  T *const      c = q ? a.cc : a.co, *const x = q ? a.fc[0] : a.fo[0], *const y = q ? a.fc[1] : a.fo[1];
  StencilView<T> A;
  A.C    = plane_view(c, a.sx, a.sy);
  A.E[0] = plane_view(x - a.sx, a.sx, a.sy);
  A.E[1] = plane_view(x, a.sx, a.sy);
  A.E[2] = plane_view(y - a.sy, a.sx, a.sy);
  A.E[3] = plane_view(y, a.sx, a.sy);
  return A;
}

inline int sweeps(const Plan &plan, bool of_schur)
{
  if (plan.params.smooth || !of_schur || !adds_sweeps(plan.choice.remedy)) return std::max(plan.params.smooth, 1);
  return plan.strategy->rough_sweeps;
}

// Over-relaxation of the colours o, a, b, c of a 9-point grid, beyond one. Between -1 and 1 the cycle stays symmetric
// and positive, with eigenvalues up to 1. Below S1 these values take a fifth off the iterations (I. Yavneh, SIAM J.
// Sci. Comput. 17, 1996, has the case of five points and two colours); where the finest grid has 9 points, and its
// errors are rough, these values cost more than they bring. So do they under AMLI, whose interval takes it that the
// grids in between smooth as without. A c node without couplings, whose coarse node serves others, must be left
// without residual, and a full step leaves it none. The last colour, a, is under-relaxed: it then keeps a part of what
// the interpolation says, by which the next operator was made.
constexpr double relax_nine[4] = {0.53, -0.2, 0, 0.1};

// Can a visit to this level work on several vectors at a time?
template <class T> bool several_on(const Level &g, const MultigridLevel<T> &s)
{
  return s.visit == Visit::cycle && s.sweeping == Sweeping::points && s.components.empty() && !g.layout.natural;
}

inline bool uses(Smoother s, Lines direction)
{
  return s == Smoother::line_alternating || s == (direction == lines_x ? Smoother::line_x : Smoother::line_y);
}

// Calls f(direction, parity) in the order of a sweep of lines, or in the reverse order.
template <class F> void for_lines(Smoother smoother, bool reverse, const F &f)
{
  const bool x = smoother != Smoother::line_y, y = smoother != Smoother::line_x;
  if (!reverse) {
    if (y) f(lines_y, 1), f(lines_y, 0);
    if (x) f(lines_x, 1), f(lines_x, 0);
  } else {
    if (x) f(lines_x, 0), f(lines_x, 1);
    if (y) f(lines_y, 0), f(lines_y, 1);
  }
}

template <class T> struct ZeroKernel {
  T        *x;
  ptrdiff_t sx, sy;
  HD void   operator()(int X, int Y) const { x[X * sx + Y * sy] = 0; }
};

// One grid for the acceleration and for the trial.
template <class T> struct GalerkinSpace {
  Plan         &plan;
  int           l, mask;
  Level        &g;
  MultigridLevel<T> &s;
  FieldOf<T>   &b, &x, &r, &w, &d, &q;
  GalerkinSpace(Plan &p, int level) :
    plan(p), l(level), g(p.levels[(size_t)level]), s(hierarchy<T>(p)[(size_t)level]), b(s.b), x(s.x),
    r(s.acceleration.r), w(s.acceleration.w), d(s.acceleration.d), q(s.acceleration.q)
  {
    mask = s.of_schur ? mask_o | mask_c : mask_all;
  }
  void combine(double f, const FieldOf<T> &u, double t, FieldOf<T> &v)
  {
    rrb::combine(plan.exec, v.data.size(), f, u.data.data(), t, v.data.data());
  }
  double dot(const FieldOf<T> &u, const FieldOf<T> &v)
  {
    const double mine = rrb::dot(plan.exec, g.grid, mask, u.v, v.v);
    double       sum = mine;
    if (g.grid.processes() > 1) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, g.grid.comm);
    return sum;
  }
  void multiply(FieldOf<T> &u, FieldOf<T> &v);
  void precondition(FieldOf<T> &u, FieldOf<T> &v);
};

} // namespace tessera::rrb
