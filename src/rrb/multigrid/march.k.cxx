// The launches of the sweeps by points, residual and transfer of one grid as one kernel down and one up.
#include "rrb/multigrid/march_nine_kernels.hpp"
#include "exec/tile.hpp"

namespace tessera::rrb {

template <class T> Sweeping sweeping(const Plan &plan, const Level &g, const MultigridLevel<T> &s)
{
  if (s.smoother != Smoother::point) return Sweeping::lines;
#ifdef TESSERA_HAVE_DEVICE
  const bool alone = g.grid.processes() == 1 && g.halo.empty(); // the others have room for what one sweep reaches
  if (plan.strategy->marches && (alone || g.layout.layers > 1) && ((alone && s.of_schur) || s.sweeps == 1) &&
      !g.layout.natural)
    return Sweeping::march;
#else
  (void)plan, (void)g;
#endif
  return Sweeping::points;
}

#ifdef TESSERA_HAVE_DEVICE

// S1's sweeps go from swept to x and back: down ends in the one or the other, up in x.
template <class T> View<T> s1_after(Plan &plan, int l, const View<T> &x, int sweep)
{
  return sweep & 1 ? hierarchy<T>(plan)[(size_t)l].swept.v : x;
}

template <class K, class T> void s1_from_to(K &k, const View<T> &from, const View<T> &to)
{
  k.f.xo = from.q[0], k.f.xc = from.q[3];
  k.f.zo = to.q[0], k.f.zc = to.q[3];
}

template <class T> void s1_restrict(Plan &plan, int l, const View<T> &b, const View<T> &z, T *residual)
{
  Level             &g = plan.levels[(size_t)l];
  const SchurView<T> a = schur_view(g.layout, schur_of<T>(plan, l));
  const SchurHelp<T> h = schur_help(g, hierarchy<T>(plan)[(size_t)l]);
  forall(plan.exec, g.grid.owned(quarter_o), SchurResidualO<1, T>{a, b.q[0], z.q[0], z.q[3], residual});
  forall_strip(
    plan.exec, g.grid.owned(quarter_c), 4, 1,
    SchurRestrict<1, T>{
      a, b.q[3], z.q[0], z.q[3], residual, {h.w[0], h.w[1], h.w[2], h.w[3]},
           hierarchy<T>(plan)[(size_t)l + 1].b.v
  });
}

template <class T> void march_setup(Plan &plan, int l)
{
  Level        &g = plan.levels[(size_t)l];
  MultigridLevel<T> &s = hierarchy<T>(plan)[(size_t)l];
  if (g.grid.processes() == 1 || s.sweeping != Sweeping::march) return;
  std::vector<Ghosts<T>> fields;
  auto                   add = [&](T *o, T *c) {
    View<T> v = g.layout.view((T *)nullptr);
    v.q[0] = o, v.q[3] = c, v.q[1] = v.q[2] = nullptr;
    fields.push_back({v, (o ? mask_o : 0) | (c ? mask_c : 0)});
  };
  if (s.of_schur) {
    const SchurView<T> a = schur_view(g.layout, schur_of<T>(plan, l));
    const SchurHelp<T> h = schur_help(g, s);
    add(h.d[0], h.d[3]);
    for (int k = 0; k < 2; ++k) add(a.fo[k], a.fc[k]);
    for (int k = 0; k < 4; ++k) add(a.e[k], nullptr), add(h.w[k], nullptr);
  } else {
    fields.push_back({g.layout.view(s.inverse.data()), mask_all});
    for (int k = 0; k < 4; ++k) {
      fields.push_back({s.a.E(k), mask_o | mask_a | mask_b});
      fields.push_back({s.a.G(k), mask_a});
      fields.push_back({g.layout.view(s.centre[k].data()), mask_o});
    }
    for (int k = 0; k < 2; ++k) fields.push_back({g.layout.view(s.edge[k].data(), quarter_a), mask_a | mask_b});
    fields.push_back({g.layout.view(s.inject.data(), quarter_c), mask_c});
  }
  g.wide.exchange(fields);
}

template <bool MANY, class T> void s1_down(Plan &plan, int l, const View<T> &b, const View<T> &x)
{
  MultigridLevel<T> &s     = hierarchy<T>(plan)[(size_t)l];
  const Box     nodes = nodes_of(plan.levels[(size_t)l], down_layers_s1);
  const int     count = MANY ? 1 : hierarchy<T>(plan)[(size_t)l].sweeps;
  S1Down<MANY, T> k{s1_fields<MANY>(plan, l, b, nodes)};
  k.f.zo = s.swept.v.q[0], k.f.zc = s.swept.v.q[3];
  k.f.next = hierarchy<T>(plan)[(size_t)l + 1].b.v;
  forall_warps(pairs_of(nodes), columns_s1, k);
  if constexpr (!MANY)
    for (int i = 1; i < count; ++i) {
      S1Forth<MANY, T> more{s1_fields<MANY>(plan, l, b, nodes)};
      s1_from_to(more, s1_after(plan, l, x, i), s1_after(plan, l, x, i + 1));
      forall_warps(pairs_of(nodes), columns_s1, more);
    }
  if (count > 1) s1_restrict(plan, l, b, s1_after(plan, l, x, count), s1_after(plan, l, x, count + 1).q[0]);
}

template <bool MANY, class T>
void s1_up(Plan &plan, int l, const View<T> &b, const View<T> &x, Reduction *reduction, double *dot)
{
  const Box  nodes = nodes_of(plan.levels[(size_t)l], up_layers_s1);
  const int  count = MANY ? 1 : hierarchy<T>(plan)[(size_t)l].sweeps;
  const auto sweep = [&](auto k, int i) {
    s1_from_to(k, s1_after(plan, l, x, count + i), s1_after(plan, l, x, count + i + 1));
    if (reduction && i + 1 == count) forall_warps(pairs_of(nodes), columns_s1, k, *reduction);
    else forall_warps(pairs_of(nodes), columns_s1, k);
  };
  S1Up<true, MANY, T> first{s1_fields<MANY>(plan, l, b, nodes), dot};
  first.f.next = hierarchy<T>(plan)[(size_t)l + 1].x.v;
  sweep(first, 0);
  if constexpr (!MANY)
    for (int i = 1; i < count; ++i) sweep(S1Up<false, MANY, T>{s1_fields<MANY>(plan, l, b, nodes), dot}, i);
}

template <class T> void march_down(Plan &plan, int l, const View<T> &b, const View<T> &x, long at_once)
{
  Level        &g = plan.levels[(size_t)l];
  MultigridLevel<T> &s = hierarchy<T>(plan)[(size_t)l];
  g.wide.exchange(b, s.of_schur ? mask_o | mask_c : mask_all);
  if (s.of_schur) return g.grid.processes() > 1 ? s1_down<true>(plan, l, b, x) : s1_down<false>(plan, l, b, x);
  const Box   nodes = nodes_of(g, down_layers_nine);
  NineDown<T> k{nine_fields(plan, l, b, nodes)};
  k.f.z    = s.r.v.q[0];
  k.f.next = hierarchy<T>(plan)[(size_t)l + 1].b.v;
  if (g.grid.size() < at_once) forall_rows(cells_of(nodes), columns_nine, k);
  else forall_warps(cells_of(nodes), columns_nine, k);
}

template <class T>
void march_up(Plan &plan, int l, const View<T> &b, const View<T> &x, Reduction *reduction, double *dot, long at_once)
{
  Level        &g = plan.levels[(size_t)l];
  MultigridLevel<T> &s = hierarchy<T>(plan)[(size_t)l];
  if (s.of_schur)
    return g.grid.processes() > 1 ? s1_up<true>(plan, l, b, x, reduction, dot)
                                  : s1_up<false>(plan, l, b, x, reduction, dot);
  const Box nodes = nodes_of(g, up_layers_nine);
  NineUp<T> k{nine_fields(plan, l, b, nodes)};
  k.f.x    = s.r.v.q[0];
  k.f.z    = x.q[0];
  k.f.next = hierarchy<T>(plan)[(size_t)l + 1].x.v;
  if (g.grid.size() < at_once) forall_rows(cells_of(nodes), columns_nine, k);
  else forall_warps(cells_of(nodes), columns_nine, k);
}

#else

template <class T> void march_setup(Plan &, int) { }
template <class T> void march_down(Plan &, int, const View<T> &, const View<T> &, long) { }
template <class T> void march_up(Plan &, int, const View<T> &, const View<T> &, Reduction *, double *, long) { }

#endif

template Sweeping sweeping(const Plan &, const Level &, const MultigridLevel<double> &);
template Sweeping sweeping(const Plan &, const Level &, const MultigridLevel<float> &);
template void march_setup<double>(Plan &, int);
template void march_setup<float>(Plan &, int);
template void march_down<double>(Plan &, int, const View<double> &, const View<double> &, long);
template void march_down<float>(Plan &, int, const View<float> &, const View<float> &, long);
template void march_up<double>(Plan &, int, const View<double> &, const View<double> &, Reduction *, double *, long);
template void march_up<float>(Plan &, int, const View<float> &, const View<float> &, Reduction *, double *, long);

} // namespace tessera::rrb
