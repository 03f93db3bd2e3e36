// The Galerkin form's application to several vectors at a time on the host: the values of a node in all of them lie
// side by side, so the coefficients, which are two thirds of what a single application reads, are read once for all.
#include "rrb/multigrid/grids.hpp"

namespace tessera::rrb {

namespace {

// From natural order and back, in one quarter.
template <class V> struct LoadColumns {
  const double *from;
  ptrdiff_t     fx, fy, stride;
  V            *to;
  ptrdiff_t     sy;
  HD void       operator()(int X, int Y) const
  {
    V v;
    for (int k = 0; k < width_of<V>; ++k)
      number(v, k) = (std::decay_t<decltype(number(v, 0))>)from[X * fx + Y * fy + k * stride];
    to[X + Y * sy] = v;
  }
};
template <class V> struct StoreColumns {
  const V  *from;
  ptrdiff_t sy;
  double   *to;
  ptrdiff_t tx, ty, stride;
  HD void   operator()(int X, int Y) const
  {
    const V v = from[X + Y * sy];
    for (int k = 0; k < width_of<V>; ++k) to[X * tx + Y * ty + k * stride] = number(v, k);
  }
};
template <class V, class W> struct Convert {
  const V  *from;
  W        *to;
  ptrdiff_t sy;
  HD void   operator()(int X, int Y) const
  {
    const ptrdiff_t p = X + Y * sy;
    for (int k = 0; k < width_of<V>; ++k)
      number(to[p], k) = (std::decay_t<decltype(number(to[p], 0))>)number(from[p], k);
  }
};

template <class V, class W>
void convert(const Plan &plan, const Level &g, int mask, const View<V> &from, const View<W> &to)
{
  for (int q = 0; q < 4; ++q)
    if (mask & (1 << q)) forall_of<V>(plan.exec, g.grid.owned(q), Convert<V, W>{from.q[q], to.q[q], from.sy});
}

// One of the vectors.
template <class T, int K> View<T> one_of(const View<Several<T, K>> &v, int k)
{
  View<T> one;
  for (int q = 0; q < 4; ++q) one.q[q] = v.q[q]->v + k;
  one.sx = v.sx * K;
  one.sy = v.sy * K;
  return one;
}

template <class V> struct Fields {
  View<V> b, x, r;
};
template <class T, class V> Fields<V> fields(Plan &plan, int l)
{
  const Layout &layout = plan.levels[(size_t)l].layout;
  V *const      v = (V *)hierarchy<T>(plan)[(size_t)l].several.data();
  const size_t  n = layout.elements(4);
  return {layout.view(v), layout.view(v + n), layout.view(v + 2 * n)};
}

// Zeros, as those of one vector once were, wherever they are divided in another way.
template <class T, class V> void make_fields(Plan &plan)
{
  Multigrid<T> &m    = method<T>(plan);
  const auto    make = [&](auto &buffer, size_t n) {
    if (buffer.size() < n) buffer.resize(n);
    else if (m.several_width != width_of<V>) buffer.zero();
  };
  make(m.several_finest, plan.levels[0].layout.elements(4) * width_of<V>);
  for (size_t l = 0; l < plan.levels.size(); ++l)
    make(m.levels[l].several, 3 * plan.levels[l].layout.elements(4) * width_of<V>);
  m.several_width = width_of<V>;
}

template <class T, class V> void visit_several(Plan &plan, int l);

// From level l to the next one and back; e: the field of one quarter for the correction.
template <class T, class V> void coarse_several(Plan &plan, int l, V *e, ptrdiff_t sy)
{
  visit_several<T, V>(plan, l + 1);
  const View<V> x = fields<T, V>(plan, l + 1).x, to = plane_view(e, 1, sy);
  for (int q = 0; q < 4; ++q)
    forall_of<V>(plan.exec, plan.levels[(size_t)l + 1].grid.owned(q),
                 CopyKernel<V, V>{x.q[q], to.q[q], x.sx, x.sy, to.sx, to.sy});
}

template <class T, class V> void visit_several(Plan &plan, int l)
{
  const Fields<V> f = fields<T, V>(plan, l);
  Level          &g = plan.levels[(size_t)l];
  MultigridLevel<T>   &s = hierarchy<T>(plan)[(size_t)l];
  if (several_on(g, s)) {
    Grid9<T, V> grid(plan, l, f.b, f.x, f.r, fields<T, V>(plan, l + 1).b);
    grid.down();
    coarse_several<T>(plan, l, f.r.q[3], f.r.sy);
    return grid.up();
  }
  for (int k = 0; k < width_of<V>; ++k) {
    copy(plan.exec, g.grid, mask_all, one_of(f.b, k), s.b.v);
    method<T>(plan).visit(plan, l);
    copy(plan.exec, g.grid, mask_all, s.x.v, one_of(f.x, k));
  }
}

template <class V> void load_columns(const Plan &plan, const Grid &grid, const SeveralVectors &c, const View<V> &to)
{
  const Box                own = grid.owned();
  const View<const double> from = natural_view(c.b, own.x0, own.y0, own.x1 - own.x0);
  for (int q = 0; q < 4; ++q)
    forall_of<V>(plan.exec, grid.owned(q), LoadColumns<V>{from.q[q], from.sx, from.sy, c.stride_b, to.q[q], to.sy});
}
template <class V>
void store_columns(const Plan &plan, const Grid &grid, int mask, const View<V> &from, const SeveralVectors &c)
{
  const Box          own = grid.owned();
  const View<double> to = natural_view(c.out, own.x0, own.y0, own.x1 - own.x0);
  for (int q = 0; q < 4; ++q)
    if (mask & (1 << q))
      forall_of<V>(plan.exec, grid.owned(q), StoreColumns<V>{from.q[q], from.sy, to.q[q], to.sx, to.sy, c.stride_out});
}

template <class T, int K>
void apply_group(Plan &plan, const DirichletCouplings &dirichlet, const SeveralVectors &columns)
{
  using V = Several<T, K>;
  using D = Several<double, K>;
  make_fields<T, V>(plan);
  Level          &g = plan.levels[0];
  const Fields<V> f = fields<T, V>(plan, 0);
  const View<D>   whole = g.layout.view((D *)method<T>(plan).several_finest.data());
  const bool      of_schur = hierarchy<T>(plan)[0].of_schur;
  if (!of_schur && !dirichlet.any) {
    load_columns(plan, g.grid, columns, f.b);
    visit_several<T, V>(plan, 0);
    return store_columns(plan, g.grid, mask_all, f.x, columns);
  }
  load_columns(plan, g.grid, columns, whole);
  if (dirichlet.any) {
    if (dirichlet.remote) g.halo.exchange(whole, mask_all);
    dirichlet_subtract(plan.exec, g.grid.owned(), dirichlet, (D *)method<T>(plan).several_finest.data(), whole);
  }
  if (!of_schur) {
    convert(plan, g, mask_all, whole, f.b);
    visit_several<T, V>(plan, 0);
    return store_columns(plan, g.grid, mask_all, f.x, columns);
  }
  black_rhs(plan, g, whole, whole);
  View<V> r = f.b;
  if constexpr (std::is_same_v<T, double>) r = whole;
  else convert(plan, g, mask_o | mask_c, whole, r);
  GridS1<T, V> grid(plan, 0, r, f.x, f.r.q[0], fields<T, V>(plan, 1).b);
  grid.down();
  coarse_several<T>(plan, 0, f.r.q[0], f.r.sy);
  grid.up();
  View<D> black = whole;
  if constexpr (std::is_same_v<T, double>) black = f.x;
  else convert(plan, g, mask_o | mask_c, f.x, whole);
  red_solution(plan, g, whole, black, whole);
  store_columns(plan, g.grid, mask_a | mask_b, whole, columns);
  store_columns(plan, g.grid, mask_o | mask_c, black, columns);
}

} // namespace

// In single precision four would fill half of what the host works on at once: they take longer than one after the
// other.
template <class T>
int Multigrid<T>::apply_several(Plan &plan, const DirichletCouplings &dirichlet, const SeveralVectors &v)
{
  int        first = 0;
  const auto group = [&](auto k) {
    for (; v.count - first >= k.value; first += k.value)
      apply_group<T, k.value>(
        plan, dirichlet,
        {k.value, v.b + first * v.stride_b, v.stride_b, v.out + first * v.stride_out, v.stride_out});
  };
  group(std::integral_constant<int, 8>());
  if constexpr (std::is_same_v<T, double>) group(std::integral_constant<int, 4>());
  return first;
}
template int Multigrid<double>::apply_several(Plan &, const DirichletCouplings &, const SeveralVectors &);
template int Multigrid<float>::apply_several(Plan &, const DirichletCouplings &, const SeveralVectors &);

} // namespace tessera::rrb
