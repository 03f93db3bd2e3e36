// One grid of the Galerkin form's cycle, down and up; V: values of one vector, T, or of several (exec/several.hpp),
// which are smoothed by points in quarter grids on the host.
#pragma once
#include "exec/several.hpp"
#include "exec/tile.hpp"
#include "exec/wavefront.hpp"
#include "box/tuning.hpp"
#include "rrb/multigrid/kernels.hpp"

namespace tessera::rrb {

template <class V, class F> void with_stride_of(ptrdiff_t sx, const F &f)
{
  if constexpr (width_of<V> == 1) with_stride(sx, f);
  else f(std::integral_constant<int, 1>());
}

// The next right-hand side at the c nodes of the box.
template <class V, class Kernel> void restrict_rows(const Exec &exec, const Box &box, const Kernel &kernel)
{
  if constexpr (width_of<V> == 1) forall_strip(exec, box, 4, 1, kernel);
  else forall_of<V>(exec, box, RestrictNode<Kernel>{kernel});
}

inline Box rows(const Box &b, int y0, int y1) { return {b.x0, b.x1, std::max(b.y0, y0), std::min(b.y1, y1)}; }

// Rows that are swept together, so that what the sweeps touch stays in the second-level cache.
template <class V> int rows_at_once(const Plan &plan, const Level &g)
{
  return std::max(1, std::min(tuning::strip_rows, tuning::wavefront_nodes / (g.layout.m + 2) / width_of<V>)) *
         plan.exec.threads;
}

struct Span {
  int y0, y1;
};
inline Span span(const Grid &g) { const Box b = g.owned(); return {floor_half(b.y0), floor_half(b.y1 + 1)}; }

template <class T, class V = T> class Grid9 {
public:
  // r: residual, its c quarter the correction; next: the next grid's right-hand side
  Grid9(Plan &plan, int l, const View<V> &b, const View<V> &x, const View<V> &r, const View<V> &next) :
    plan_(plan), g_(plan.levels[(size_t)l]), s_(hierarchy<T>(plan)[(size_t)l]), A_(s_.a.view()), b_(b), x_(x), r_(r),
    next_(next), sweeps_(sweeps(plan, false))
  {
  }
  void down()
  {
    if constexpr (std::is_same_v<T, V>)
      if (s_.smoother != Smoother::point) {
        x_zero();
        for (int i = 0; i < sweeps_; ++i) lines(false);
        residuals();
        return restriction(INT_MIN / 2, INT_MAX / 2, true);
      }
    std::vector<int> &kind = plan_.kind, &lag = plan_.lag;
    kind.clear(), lag.clear();
    auto add = [&](int k, int behind) { kind.push_back(k), lag.push_back(behind); };
    for (int i = 0; i < sweeps_; ++i)
      add(i ? 3 : 3 + 10, 2 * i), add(i ? 0 : 10, 2 * i), add(i ? 2 : 12, 2 * i + 1), add(i ? 1 : 11, 2 * i + 1);
    const int behind = 2 * sweeps_ - 1;
    add(4, behind);
    if (relax_a()) add(5, behind);
    add(6, behind + 1), add(8, behind + 1);
    sweep();
  }
  void up()
  {
    g_.halo.exchange(r_, mask_c);
    if constexpr (std::is_same_v<T, V>)
      if (s_.smoother != Smoother::point) {
        prolong();
        g_.halo.exchange(x_, mask_all);
        for (int i = 0; i < sweeps_; ++i) lines(true);
        return;
      }
    std::vector<int> &kind = plan_.kind, &lag = plan_.lag;
    kind.clear(), lag.clear();
    auto add = [&](int k, int behind) { kind.push_back(k), lag.push_back(behind); };
    add(9, 0);
    for (int i = 0; i < sweeps_; ++i) add(1, 2 * i), add(2, 2 * i + 1), add(0, 2 * i + 1), add(3, 2 * i + 2);
    sweep();
  }

private:
  void x_zero()
  {
    auto of = [&](int q) { return part(g_.layout.whole(), ZeroKernel<T>{x_.q[q], x_.sx, x_.sy}); };
    forall_parts(plan_.exec, of(0), of(1), of(2), of(3));
  }
  // Else the sweeps leave no residual at a, and do not look at what is there before them.
  bool relax_a() { return relaxation<T>(plan_, quarter_a) != 0; }
  // Phases: 0-3 the colour of a quarter, 10-13 from zero, 4, 5 and 6 the residual at o, a and b, 8 the restriction, 9
  // the correction.
  void sweep()
  {
    const bool fused = g_.halo.empty() && plan_.exec.space == Space::host;
    const Span all = span(g_.grid);
    wavefront(plan_.lag, all.y0, all.y1, rows_at_once<V>(plan_, g_), fused, [&](int phase, int y0, int y1) {
      const int k = plan_.kind[(size_t)phase];
      if (k == 8) return restriction(y0, y1, relax_a());
      if (k == 9) {
        for (int q : {3, 0, 2}) prolong(q, rows(g_.grid.owned(q), y0, y1));
        if (relax_a()) prolong(1, rows(g_.grid.owned(1), y0, y1));
        if (!fused) g_.halo.exchange(x_, mask_o | mask_b | mask_c);
      } else if (k >= 4 && k < 8) {
        residual(plan_.exec, A_, k - 4, rows(g_.grid.owned(k - 4), y0, y1), b_, x_, r_);
        if (!fused) g_.halo.exchange(r_, 1 << (k - 4));
      } else {
        const int q = k % 10;
        smooth_colour(plan_.exec, A_, q, rows(g_.grid.owned(q), y0, y1), b_, x_, k >= 10, relaxation<T>(plan_, q),
                      q == quarter_c ? g_.layout.view(s_.inject.data(), quarter_c).q[3] : nullptr);
        if (!fused) g_.halo.exchange(x_, 1 << q);
      }
    });
  }
  void lines(bool reverse)
  {
    for_lines(s_.smoother, reverse, [&](Lines direction, int parity) {
      s_.lines[0][direction == lines_y]->solve(plan_.exec, A_, parity, b_, x_);
      g_.halo.exchange(x_, direction == lines_x ? (parity ? mask_b | mask_c : mask_o | mask_a)
                                                : (parity ? mask_a | mask_c : mask_o | mask_b));
    });
  }
  void restriction(int y0, int y1, bool with_a)
  {
    with_stride_of<V>(A_.C.sx, [&](auto stride) {
      using Kernel = Restrict<decltype(stride)::value, T, V>;
      restrict_rows<V>(
        plan_.exec, rows(g_.grid.owned(quarter_c), y0, y1),
        Kernel{
          A_, b_, x_, r_, {edge(0), edge(1)},
              {centre(0), centre(1), centre(2), centre(3)},
              next_, with_a
      });
    });
  }
  template <int Q, int S> Part<Prolong<Q, S, T, V>> correction(const Box &box)
  {
    Prolong<Q, S, T, V> k{r_.q[3], {}, x_.q[Q], x_.sy};
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
      forall_parts(plan_.exec, correction<0, S>(g.owned(0)), correction<1, S>(g.owned(1)), correction<2, S>(g.owned(2)),
                   correction<3, S>(g.owned(3)));
    });
  }
  void prolong(int q, const Box &box)
  {
    with_stride_of<V>(A_.C.sx, [&](auto stride) {
      constexpr int S = decltype(stride)::value;
      if (q == 0) forall_parts_of<V>(plan_.exec, correction<0, S>(box));
      else if (q == 1) forall_parts_of<V>(plan_.exec, correction<1, S>(box));
      else if (q == 2) forall_parts_of<V>(plan_.exec, correction<2, S>(box));
      else forall_parts_of<V>(plan_.exec, correction<3, S>(box));
    });
  }
  void residuals()
  {
    with_stride(A_.C.sx, [&](auto stride) {
      constexpr int S = decltype(stride)::value;
      auto          of = [&](auto q) {
        return part(g_.grid.owned(decltype(q)::value), Residual<decltype(q)::value, S, T>{A_, b_, x_, r_});
      };
      forall_parts(plan_.exec, of(std::integral_constant<int, 0>()), of(std::integral_constant<int, 1>()),
                   of(std::integral_constant<int, 2>()));
    });
    g_.halo.exchange(r_, mask_o | mask_a | mask_b);
  }
  View<T> edge(int k) { return g_.layout.view(s_.edge[k].data(), quarter_a); }
  View<T> centre(int k) { return g_.layout.view(s_.centre[k].data()); }
  Plan          &plan_;
  Level         &g_;
  Smoothing<T>  &s_;
  StencilView<T> A_;
  View<V>        b_, x_, r_, next_;
  int            sweeps_;
};

// The same on S1. r and z have the quarters o and c.
template <class T, class V = T> class GridS1 {
public:
  // t: a field of one quarter
  GridS1(Plan &plan, int l, const View<V> &r, const View<V> &z, V *t, const View<V> &next) :
    plan_(plan), g_(plan.levels[(size_t)l]), s_(hierarchy<T>(plan)[(size_t)l]),
    a_(schur_view(g_.layout, schur_of<T>(plan, l))), h_(schur_help(g_, s_)), r_(r), z_(z), t_(t), next_(next),
    sweeps_(sweeps(plan, true))
  {
  }
  void down()
  {
    if constexpr (std::is_same_v<T, V>)
      if (s_.smoother != Smoother::point) {
        auto zero = [&](int q) { return part(g_.layout.whole(), ZeroKernel<T>{z_.q[q], z_.sx, z_.sy}); };
        forall_parts(plan_.exec, zero(0), zero(3));
        for (int i = 0; i < sweeps_; ++i) lines(3, false), lines(0, false);
        residual_o(g_.grid.owned(0));
        return restriction(INT_MIN / 2, INT_MAX / 2);
      }
    std::vector<int> &kind = plan_.kind, &lag = plan_.lag;
    kind.clear(), lag.clear();
    auto add = [&](int k, int behind) { kind.push_back(k), lag.push_back(behind); };
    for (int i = 0; i < sweeps_; ++i)
      add(i ? 2 : 12, 3 * i), add(i ? 3 : 13, 3 * i + 1), add(i ? 0 : 10, 3 * i + 1), add(1, 3 * i + 2);
    if (algebraic()) add(7, 3 * sweeps_);
    else add(4, 3 * sweeps_), add(5, 3 * sweeps_ + 1);
    sweep();
  }
  void up()
  {
    if (!algebraic()) exchange_t(3);
    if constexpr (std::is_same_v<T, V>)
      if (s_.smoother != Smoother::point) {
        prolong(INT_MIN / 2, INT_MAX / 2);
        for (int i = 0; i < sweeps_; ++i) lines(0, true), lines(3, true);
        return;
      }
    std::vector<int> &kind = plan_.kind, &lag = plan_.lag;
    kind.clear(), lag.clear();
    auto add = [&](int k, int behind) { kind.push_back(k), lag.push_back(behind); };
    add(algebraic() ? 8 : 6, 0);
    for (int i = 0; i < sweeps_; ++i) add(1, 3 * i + 1), add(0, 3 * i + 2), add(3, 3 * i + 3), add(2, 3 * i + 4);
    sweep();
  }

private:
  bool algebraic() const { return std::is_same_v<T, V> && !s_.algebraic.empty(); }
  // Phases: 0, 1 the colours of o, 2, 3 of c, 10, 12, 13 the first ones from zero, 4 the residual at o, 5 the
  // restriction, 6 the correction;
  // 7 and 8 residual, restriction and correction of the algebraic levels.
  void sweep()
  {
    const Span all = span(g_.grid);
    wavefront(plan_.lag, all.y0, all.y1, rows_at_once<V>(plan_, g_), g_.halo.empty() && plan_.exec.space == Space::host,
              [&](int phase, int y0, int y1) {
                const int k = plan_.kind[(size_t)phase];
                if (k == 4) return residual_o(rows(g_.grid.owned(0), y0, y1));
                if (k == 5) return restriction(y0, y1);
                if (k == 6) return prolong(y0, y1);
                if constexpr (std::is_same_v<T, V>) {
                  if (k == 7) return algebraic_restriction(y0, y1);
                  if (k == 8) return algebraic_prolong(y0, y1);
                }
                with_stride_of<V>(a_.sx, [&](auto stride) {
                  constexpr int S = decltype(stride)::value;
                  const int     q = k % 10 < 2 ? 0 : 3, parity = k & 1;
                  const Box     box = rows(g_.grid.owned(q), y0, y1);
                  const T      *d   = h_.d[q];
                  const V      *r = r_.q[q], *other = z_.q[3 - q];
                  if (k < 2)
                    forall_of<V>(plan_.exec, box,
                                 SchurColour<0, S, known_all, T, V>{a_, d, r, other, z_.q[0], z_.q[0], parity});
                  else if (k < 4)
                    forall_of<V>(plan_.exec, box,
                                 SchurColour<3, S, known_all, T, V>{a_, d, r, other, z_.q[3], z_.q[3], parity});
                  else if (k == 10)
                    forall_of<V>(plan_.exec, box,
                                 SchurColour<0, S, known_other, T, V>{a_, d, r, other, z_.q[0], z_.q[0], parity});
                  else if (k == 12)
                    forall_of<V>(plan_.exec, box,
                                 SchurColour<3, S, known_none, T, V>{a_, d, r, other, z_.q[3], z_.q[3], parity});
                  else
                    forall_of<V>(plan_.exec, box,
                                 SchurColour<3, S, known_own, T, V>{a_, d, r, other, z_.q[3], z_.q[3], parity});
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
      s_.lines[q == 3][direction == lines_y]->solve(plan_.exec, A, parity, b, x);
      g_.halo.exchange(z_, 1 << q);
    });
  }
  void exchange_t(int q)
  {
    View<V> v = z_;
    v.q[q]    = t_;
    g_.halo.exchange(v, 1 << q);
  }
  void residual_o(const Box &box)
  {
    with_stride_of<V>(a_.sx, [&](auto stride) {
      forall_of<V>(plan_.exec, box, SchurResidualO<decltype(stride)::value, T, V>{a_, r_.q[0], z_.q[0], z_.q[3], t_});
    });
    exchange_t(0);
  }
  void restriction(int y0, int y1)
  {
    with_stride_of<V>(a_.sx, [&](auto stride) {
      using Kernel = SchurRestrict<decltype(stride)::value, T, V>;
      restrict_rows<V>(plan_.exec, rows(g_.grid.owned(quarter_c), y0, y1),
                       Kernel{
                         a_, r_.q[3], z_.q[0], z_.q[3], t_, {w(0), w(1), w(2), w(3)},
                              next_
      });
    });
  }
  void prolong(int y0, int y1)
  {
    with_stride_of<V>(a_.sx, [&](auto stride) {
      constexpr int S = decltype(stride)::value;
      forall_parts_of<V>(
        plan_.exec,
        part(rows(g_.grid.owned(3), y0, y1),
             Prolong<3, S, T, V>{
               t_, {},
                z_.q[3], z_.sy
      }),
        part(rows(g_.grid.owned(0), y0, y1), Prolong<0, S, T, V>{t_, {w(0), w(1), w(2), w(3)}, z_.q[0], z_.sy}));
    });
    g_.halo.exchange(z_, mask_o | mask_c);
  }
  void algebraic_restriction(int y0, int y1)
  {
    const BlackNumbers at(g_.grid.owned());
    const Box          o = rows(at.o, y0, y1), c = rows(at.c, y0, y1);
    double *const      to = s_.algebraic.finest().b.data();
    with_stride(a_.sx, [&](auto stride) {
      constexpr int S = decltype(stride)::value;
      forall_parts(plan_.exec, part(o, SchurResidual<0, S, T>{a_, r_.q[0], z_.q[0], z_.q[3], at, to}),
                   part(c, SchurResidual<3, S, T>{a_, r_.q[3], z_.q[0], z_.q[3], at, to}));
    });
    s_.algebraic.restrict_rows(at.row(y0), at.row(y1));
  }
  void algebraic_prolong(int y0, int y1)
  {
    const BlackNumbers    at(g_.grid.owned());
    const AlgebraicLevel &l = s_.algebraic.finest();
    const double *const   e = s_.algebraic.levels()[1].x.data();
    for (int q : {0, 3})
      forall(plan_.exec, rows(g_.grid.owned(q), y0, y1),
             AlgebraicProlong<T>{l.pi.data(), l.pj.data(), l.p.data(), e, at, q, z_.q[q], z_.sx, z_.sy});
    g_.halo.exchange(z_, mask_o | mask_c);
  }
  const T       *w(int k) { return h_.w[k]; }
  Plan          &plan_;
  Level         &g_;
  Smoothing<T>  &s_;
  SchurView<T>   a_;
  SchurHelp<T>   h_;
  View<V>        r_, z_;
  V             *t_; // residual at o, correction at c, right-hand side along lines: one after the other
  View<V>        next_;
  int            sweeps_;
};

} // namespace tessera::rrb
