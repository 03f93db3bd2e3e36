// CG's side of the first Schur complement S1 of a 5-point operator on the black nodes ([1] section 2.3, [2] equation
// (2.9)).
#include "rrb/cg/schur_kernels.hpp"
#include "box/nodes.hpp"

namespace tessera::rrb {

template <class T> SchurView<T> schur_view(const Layout &layout, SchurOf<T> &s)
{
  SchurView<T> a;
  a.co = place(layout, s.c.data());
  a.cc = place(layout, s.c.data() + layout.elements(1));
  for (int k = 0; k < 4; ++k) a.e[k] = place(layout, s.e[k].data());
  for (int k = 0; k < 2; ++k) {
    a.fo[k] = place(layout, s.fo[k].data());
    a.fc[k] = place(layout, s.fc[k].data());
  }
  const View<T> v = layout.view(s.c.data());
  a.sx            = v.sx;
  a.sy            = v.sy;
  return a;
}

template SchurView<double> schur_view(const Layout &, SchurOf<double> &);
template SchurView<float>  schur_view(const Layout &, SchurOf<float> &);

namespace {

// q = S1 p on o and c, and p'q. Reads 5 coefficients and p, writes q: 56 B a black node.
template <int S, class T> struct MultiplyO {
  SchurView<T> a;
  const T     *o, *c;
  T           *q;
  HD double    operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * a.sy, r = a.sy;
    const T         v = a.co[p] * o[p] + a.e[0][p] * c[p - S - r] + a.e[1][p] * c[p - r] + a.e[2][p] * c[p - S] +
                a.e[3][p] * c[p] + a.fo[0][p] * o[p + S] + a.fo[0][p - S] * o[p - S] + a.fo[1][p] * o[p + r] +
                a.fo[1][p - r] * o[p - r];
    q[p] = v;
    return (double)v * o[p];
  }
};
template <int S, class T> struct MultiplyC {
  SchurView<T> a;
  const T     *o, *c;
  T           *q;
  HD double    operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * a.sy, r = a.sy;
    const T         v = a.cc[p] * c[p] + a.e[3][p] * o[p] + a.e[2][p + S] * o[p + S] + a.e[1][p + r] * o[p + r] +
                a.e[0][p + S + r] * o[p + S + r] + a.fc[0][p] * c[p + S] + a.fc[0][p - S] * c[p - S] +
                a.fc[1][p] * c[p + r] + a.fc[1][p - r] * c[p - r];
    q[p] = v;
    return (double)v * c[p];
  }
};

struct Fill {
  double    s, *x;
  ptrdiff_t sx, sy;
  HD void   operator()(int X, int Y) const { x[X * sx + Y * sy] = s; }
};

// y += d x, x and y in natural order, d in a plane.
struct AddScaled {
  const double *x, *d;
  double       *y;
  ptrdiff_t     sx, sy, tx, ty;
  HD void       operator()(int X, int Y) const { y[X * sx + Y * sy] += d[X * tx + Y * ty] * x[X * sx + Y * sy]; }
};

// x += alpha p, r -= alpha q, r'r: 6 values per node, 48 B.
template <int S> struct StepKernel {
  double        alpha;
  const double *p, *q;
  double       *x, *r;
  ptrdiff_t     sy;
  HD double     operator()(int X, int Y) const
  {
    const ptrdiff_t i = X * S + Y * sy;
    const double    v = r[i] - alpha * q[i];
    x[i] += alpha * p[i];
    r[i] = v;
    return v * v;
  }
};

// Red part of z = M^-1 r where r is zero at the red nodes: z_r = -L' z.
template <class T> struct RedSquare {
  View<T>      L[4], D; // D: where L is not scaled
  View<double> z;
  int          q;
  HD double    operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * z.sx + Y * z.sy;
    const double   *o = z.q[0] + p, *c = z.q[3] + p;
    double          v = q == quarter_a
                        ? L[0].q[1][p] * o[0] + L[1].q[1][p] * o[z.sx] + L[2].q[1][p] * c[-z.sy] + L[3].q[1][p] * c[0]
                        : L[0].q[2][p] * c[-z.sx] + L[1].q[2][p] * c[0] + L[2].q[2][p] * o[0] + L[3].q[2][p] * o[z.sy];
    if (D.q[q]) v *= D.q[q][p];
    return v * v;
  }
};

template <class T> double red_squares(Plan &plan, Level &level, Buffer<T> l[4], Buffer<T> &d, const View<double> &z)
{
  RedSquare<T> k{
    {level.layout.view(l[0].data()), level.layout.view(l[1].data()), level.layout.view(l[2].data()),
     level.layout.view(l[3].data())},
    {},
    z,
    0
  };
  if (!level.factor.scaled) k.D = level.layout.view(d.data());
  double       s = 0;
  for (int q : {1, 2}) {
    k.q = q;
    s += forall_sum(plan.exec, level.grid.owned(q), k);
  }
  return s;
}

template <class F> double over_black(Plan &plan, const F &f)
{
  const Level &level = plan.levels[0];
  return f(level.grid.owned(quarter_o), 0) + f(level.grid.owned(quarter_c), 3);
}

} // namespace

BlackField::BlackField(const Plan &plan, double *borrowed) :
  layout(plan.levels[0].layout), data(borrowed), size(2 * layout.elements(1))
{
  if (!borrowed) {
    own.resize(size);
    data = own.data();
  }
  view      = layout.view(data);
  view.q[0] = place(layout, data);
  view.q[3] = view.q[0] + size / 2;
  view.q[1] = view.q[2] = nullptr;
}

// The own values of a vector, in natural order.
template <class T> static auto natural(const Plan &plan, T *x)
{
  const Box own = plan.levels[0].grid.owned();
  return natural_view(x, own.x0, own.y0, own.x1 - own.x0);
}

void black_load(Plan &plan, const double *x, BlackField &r)
{
  copy(plan.exec, plan.levels[0].grid, mask_o | mask_c, natural(plan, x), r.view);
}

void black_store(Plan &plan, const BlackField &x, double *y)
{
  copy(plan.exec, plan.levels[0].grid, mask_o | mask_c, x.view, natural(plan, y));
}

void black_set(Plan &plan, double s, BlackField &x)
{
  for (int q : {0, 3}) forall(plan.exec, plan.levels[0].grid.owned(q), Fill{s, x.view.q[q], x.view.sx, x.view.sy});
}

void black_add(Plan &plan, const BlackField &x, double *y)
{
  const auto to = natural(plan, y);
  for (int q : {0, 3})
    forall(plan.exec, plan.levels[0].grid.owned(q),
           AddQuarter{x.view.q[q], to.q[q], x.view.sx, x.view.sy, to.sx, to.sy});
}

void red_solve(Plan &plan, const double *r, double *x)
{
  Level             &level = plan.levels[0];
  const auto         from  = natural(plan, r);
  const auto         to    = natural(plan, x);
  const bool         kept  = plan.schur.red.empty();
  const View<double> d     = level.layout.view(kept ? level.factor.d64.data() : nullptr);
  for (int q : {1, 2}) {
    const double *inverse =
      kept ? d.q[q] : place(level.layout, plan.schur.red.data()) + (q - 1) * (ptrdiff_t)level.layout.elements(1);
    forall(plan.exec, level.grid.owned(q), AddScaled{from.q[q], inverse, to.q[q], from.sx, from.sy, d.sx, d.sy});
  }
}

double black_dot(Plan &plan, const BlackField &x, const BlackField &y)
{
  return dot(plan.exec, plan.levels[0].grid, mask_o | mask_c, x.view, y.view);
}

void black_combine(Plan &plan, double s, const BlackField &x, double t, BlackField &y)
{
  combine(plan.exec, y.size, s, x.data, t, y.data); // padding included: it stays zero
}

double black_step(Plan &plan, double alpha, const BlackField &p, const BlackField &q, BlackField &x, BlackField &r)
{
  const ptrdiff_t sy = r.view.sy;
  return over_black(plan, [&](const Box &b, int i) {
    return with_stride(r.view.sx, [&](auto stride) {
      constexpr int S = decltype(stride)::value;
      return forall_sum(plan.exec, b, StepKernel<S>{alpha, p.view.q[i], q.view.q[i], x.view.q[i], r.view.q[i], sy});
    });
  });
}

double schur_norm2(Plan &plan, BlackField &z)
{
  Level       &level = plan.levels[0];
  const double black = black_dot(plan, z, z);
  if (level.step != Step::coarsen) { // schur_apply has left the whole solution here
    return black + dot(plan.exec, level.grid, mask_a | mask_b, level.b.v, level.b.v);
  }
  level.halo.exchange(z.view, mask_o | mask_c);
  return black + (plan.single_factors() ? red_squares(plan, level, level.factor.l32, level.factor.d32, z.view)
                                        : red_squares(plan, level, level.factor.l64, level.factor.d64, z.view));
}

template <class T> void schur_create(const Plan &plan, const Level &level, SchurOf<T> &s)
{
  const Extent n = level.layout.elements(1);
  if (!s.c.empty()) return;
  s.c.resize(2 * n);
  if (plan.single_factors() || level.step != Step::coarsen) s.red.resize(2 * n);
  for (auto &f : s.e) f.resize(n);
  for (int k = 0; k < 2; ++k) {
    s.fo[k].resize(n);
    s.fc[k].resize(n);
  }
}
template void schur_create(const Plan &, const Level &, SchurOf<double> &);
template void schur_create(const Plan &, const Level &, SchurOf<float> &);

void schur_setup(Plan &plan, Level &level, Stencil &a, Schur &s)
{
  const Extent n = level.layout.elements(1);
  schur_create(plan, level, s);
  if (!s.red.empty())
    for (int q : {1, 2})
      forall(plan.exec, level.grid.owned(q),
             CopyKernel<double, double>{a.C().q[q], place(level.layout, s.red.data()) + (q - 1) * (ptrdiff_t)n,
                                        a.C().sx, a.C().sy, a.C().sx, a.C().sy});
  auto   at = [&](Buffer<double> &f) { return place(level.layout, f.data()); };
  const View<double>       E[4] = {a.E(0), a.E(1), a.E(2), a.E(3)};
  const SchurView<double>  v = schur_view(level.layout, s);
  const SetupO<true>       o{plan.tiny(), a.C(), {E[0], E[1], E[2], E[3]}, v};
  const SetupC<true>       c{plan.tiny(), a.C(), {E[0], E[1], E[2], E[3]}, v};
  forall_parts(plan.exec, part(level.grid.owned(quarter_o), o), part(level.grid.owned(quarter_c), c));
  View<double> f = level.layout.view((double *)nullptr);
  auto         exchange = [&](double *oo, double *cc, int mask) {
    f.q[0] = oo;
    f.q[3] = cc;
    level.halo.exchange(f, mask);
  };
  for (auto &e : s.e) exchange(at(e), nullptr, mask_o);
  for (int k = 0; k < 2; ++k) exchange(at(s.fo[k]), at(s.fc[k]), mask_o | mask_c);
}

template <class T>
double schur_multiply(const Exec &exec, const Level &level, SchurOf<T> &s, const View<T> &p, const View<T> &q)
{
  const SchurView<T> a = schur_view(level.layout, s);
  const Box          o = level.grid.owned(quarter_o), c = level.grid.owned(quarter_c);
  return with_stride(a.sx, [&](auto stride) {
    constexpr int S = decltype(stride)::value;
    return forall_sum(exec, o, MultiplyO<S, T>{a, p.q[0], p.q[3], q.q[0]}) +
           forall_sum(exec, c, MultiplyC<S, T>{a, p.q[0], p.q[3], q.q[3]});
  });
}

template <class Kernel> struct WithoutSum {
  Kernel  kernel;
  HD void operator()(int X, int Y) const { (void)kernel(X, Y); }
};

template <class T>
void schur_product(const Exec &exec, const Level &level, SchurOf<T> &s, const View<T> &p, const View<T> &q)
{
  const SchurView<T> a = schur_view(level.layout, s);
  with_stride(a.sx, [&](auto stride) {
    constexpr int S = decltype(stride)::value;
    forall(exec, level.grid.owned(quarter_o), WithoutSum<MultiplyO<S, T>>{{a, p.q[0], p.q[3], q.q[0]}});
    forall(exec, level.grid.owned(quarter_c), WithoutSum<MultiplyC<S, T>>{{a, p.q[0], p.q[3], q.q[3]}});
  });
}

template void schur_product(const Exec &, const Level &, SchurOf<double> &, const View<double> &, const View<double> &);
template void schur_product(const Exec &, const Level &, SchurOf<float> &, const View<float> &, const View<float> &);

template double schur_multiply(const Exec &, const Level &, SchurOf<double> &, const View<double> &,
                               const View<double> &);
template double schur_multiply(const Exec &, const Level &, SchurOf<float> &, const View<float> &, const View<float> &);

void schur_apply(Plan &plan, const View<double> &r, const View<double> &z)
{
  Level &level = plan.levels[0];
  if (level.step != Step::coarsen) {
    // A small grid is solved as a whole, with a zero right-hand side at the red nodes.
    level.b.data.zero();
    copy(plan.exec, level.grid, mask_o | mask_c, r, level.b.v);
    apply(plan, level.b.v);
    return copy(plan.exec, level.grid, mask_o | mask_c, level.b.v, z);
  }
  if (auto *const single = std::get_if<Multigrid<float>>(&plan.method)) {
    MultigridLevel<float> &s = single->levels[0];
    copy(plan.exec, level.grid, mask_o | mask_c, r, s.b.v);
    single->schur_cycle(plan, s.b.v, s.x.v);
    copy(plan.exec, level.grid, mask_o | mask_c, s.x.v, z);
  } else if (auto *const multigrid = std::get_if<Multigrid<double>>(&plan.method)) multigrid->schur_cycle(plan, r, z);
  else std::get<Lumped>(plan.method).schur_cycle(plan, r, z);
}

} // namespace tessera::rrb
