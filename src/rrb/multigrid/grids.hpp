// One grid of the Galerkin form's cycle, down and up; V: values of one vector, T, or of several (exec/several.hpp),
// which are smoothed by points in quarter grids on the host.
#pragma once
#include "exec/several.hpp"
#include "exec/tile.hpp"
#include "exec/wavefront.hpp"
#include "box/tuning.hpp"
#include "rrb/multigrid/kernels.hpp"
#include <climits>

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
    next_(next), schedule_(method<T>(plan).schedule), relax_(method<T>(plan).relaxation)
  {
  }
  void down()
  {
    if constexpr (std::is_same_v<T, V>)
      if (s_.sweeping == Sweeping::lines) {
        x_zero();
        for (int i = 0; i < s_.sweeps; ++i) lines(false);
        residuals();
        return restriction(INT_MIN / 2, INT_MAX / 2, true);
      }
    schedule_.clear();
    for (int i = 0; i < s_.sweeps; ++i) {
      const Phase::Kind kind = i ? Phase::sweep : Phase::first_sweep;
      schedule_.add(kind, 3, 2 * i), schedule_.add(kind, 0, 2 * i), schedule_.add(kind, 2, 2 * i + 1),
        schedule_.add(kind, 1, 2 * i + 1);
    }
    const int behind = 2 * s_.sweeps - 1;
    schedule_.add(Phase::residual, 0, behind);
    if (relaxes_a()) schedule_.add(Phase::residual, 1, behind);
    schedule_.add(Phase::residual, 2, behind + 1), schedule_.add(Phase::restriction, 3, behind + 1);
    sweep();
  }
  void up()
  {
    g_.halo.exchange(r_, mask_c);
    if constexpr (std::is_same_v<T, V>)
      if (s_.sweeping == Sweeping::lines) {
        prolong();
        g_.halo.exchange(x_, mask_all);
        for (int i = 0; i < s_.sweeps; ++i) lines(true);
        return;
      }
    schedule_.clear();
    schedule_.add(Phase::correction, 3, 0);
    for (int i = 0; i < s_.sweeps; ++i)
      schedule_.add(Phase::sweep, 1, 2 * i), schedule_.add(Phase::sweep, 2, 2 * i + 1),
        schedule_.add(Phase::sweep, 0, 2 * i + 1), schedule_.add(Phase::sweep, 3, 2 * i + 2);
    sweep();
  }

private:
  void x_zero()
  {
    auto of = [&](int q) { return part(g_.layout.whole(), ZeroKernel<T>{x_.q[q], x_.sx, x_.sy}); };
    forall_parts(plan_.exec, of(0), of(1), of(2), of(3));
  }
  // Else the sweeps leave no residual at a, and do not look at its values before them.
  bool relaxes_a() const { return relax_[quarter_a] != 0; }
  void sweep()
  {
    const bool fused = g_.halo.empty() && plan_.strategy->wavefronts;
    const Span all = span(g_.grid);
    wavefront(schedule_.lags, all.y0, all.y1, rows_at_once<V>(plan_, g_), fused, [&](int phase, int y0, int y1) {
      const auto [kind, q] = schedule_.phases[(size_t)phase];
      const Box  box       = rows(g_.grid.owned(q), y0, y1);
      switch (kind) {
      case Phase::restriction:
        return restriction(y0, y1, relaxes_a());
      case Phase::correction:
        for (int k : {3, 0, 2}) prolong(k, rows(g_.grid.owned(k), y0, y1));
        if (relaxes_a()) prolong(1, rows(g_.grid.owned(1), y0, y1));
        if (!fused) g_.halo.exchange(x_, mask_o | mask_b | mask_c);
        return;
      case Phase::residual:
        residual(plan_.exec, A_, q, box, b_, x_, r_);
        if (!fused) g_.halo.exchange(r_, 1 << q);
        return;
      default:
        smooth_colour(plan_.exec, A_, q, box, b_, x_, kind == Phase::first_sweep, relax_[q],
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
  MultigridLevel<T>  &s_;
  StencilView<T> A_;
  View<V>        b_, x_, r_, next_;
  Schedule      &schedule_;
  const double  *relax_;
};

// The same on S1. r and z have the quarters o and c.
template <class T, class V = T> class GridS1 {
public:
  // t: a field of one quarter
  GridS1(Plan &plan, int l, const View<V> &r, const View<V> &z, V *t, const View<V> &next) :
    plan_(plan), g_(plan.levels[(size_t)l]), s_(hierarchy<T>(plan)[(size_t)l]),
    a_(schur_view(g_.layout, schur_of<T>(plan, l))), h_(schur_help(g_, s_)), r_(r), z_(z), t_(t), next_(next),
    schedule_(method<T>(plan).schedule)
  {
  }
  void down()
  {
    if constexpr (std::is_same_v<T, V>)
      if (s_.sweeping == Sweeping::lines) {
        auto zero = [&](int q) { return part(g_.layout.whole(), ZeroKernel<T>{z_.q[q], z_.sx, z_.sy}); };
        forall_parts(plan_.exec, zero(0), zero(3));
        for (int i = 0; i < s_.sweeps; ++i) lines(3, false), lines(0, false);
        residual_o(g_.grid.owned(0));
        return restriction(INT_MIN / 2, INT_MAX / 2);
      }
    schedule_.clear();
    for (int i = 0; i < s_.sweeps; ++i) {
      const Phase::Kind kind = i ? Phase::sweep : Phase::first_sweep;
      schedule_.add(kind, 2, 3 * i), schedule_.add(kind, 3, 3 * i + 1), schedule_.add(kind, 0, 3 * i + 1),
        schedule_.add(Phase::sweep, 1, 3 * i + 2);
    }
    if (!algebraic()) schedule_.add(Phase::residual, 0, 3 * s_.sweeps);
    schedule_.add(Phase::restriction, 3, 3 * s_.sweeps + !algebraic());
    sweep();
  }
  void up()
  {
    if (!algebraic()) exchange_t(3);
    if constexpr (std::is_same_v<T, V>)
      if (s_.sweeping == Sweeping::lines) {
        prolong(INT_MIN / 2, INT_MAX / 2);
        for (int i = 0; i < s_.sweeps; ++i) lines(0, true), lines(3, true);
        return;
      }
    schedule_.clear();
    schedule_.add(Phase::correction, 3, 0);
    for (int i = 0; i < s_.sweeps; ++i)
      schedule_.add(Phase::sweep, 1, 3 * i + 1), schedule_.add(Phase::sweep, 0, 3 * i + 2),
        schedule_.add(Phase::sweep, 3, 3 * i + 3), schedule_.add(Phase::sweep, 2, 3 * i + 4);
    sweep();
  }

private:
  bool algebraic() const { return std::is_same_v<T, V> && !s_.algebraic.empty(); }
  // The colours 0 and 1 are those of o, 2 and 3 those of c.
  void sweep()
  {
    const Span all = span(g_.grid);
    wavefront(schedule_.lags, all.y0, all.y1, rows_at_once<V>(plan_, g_),
              g_.halo.empty() && plan_.strategy->wavefronts, [&](int phase, int y0, int y1) {
                const auto [kind, colour] = schedule_.phases[(size_t)phase];
                if (kind == Phase::residual) residual_o(rows(g_.grid.owned(0), y0, y1));
                else if (kind == Phase::restriction) restriction(y0, y1);
                else if (kind == Phase::correction) prolong(y0, y1);
                else if (kind == Phase::sweep) colour < 2 ? smooth<0, known_all>(colour, y0, y1)
                                                          : smooth<3, known_all>(colour, y0, y1);
                else if (colour == 0) smooth<0, known_other>(colour, y0, y1);
                else if (colour == 2) smooth<3, known_none>(colour, y0, y1);
                else smooth<3, known_own>(colour, y0, y1);
              });
  }
  template <int Q, int KNOWN> void smooth(int colour, int y0, int y1)
  {
    with_stride_of<V>(a_.sx, [&](auto stride) {
      forall_of<V>(plan_.exec, rows(g_.grid.owned(Q), y0, y1),
                   SchurColour<Q, decltype(stride)::value, KNOWN, T, V>{a_, h_.d[Q], r_.q[Q], z_.q[3 - Q], z_.q[Q],
                                                                        z_.q[Q], colour & 1});
    });
    g_.halo.exchange(z_, 1 << Q);
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
    if constexpr (std::is_same_v<T, V>)
      if (algebraic()) return algebraic_restriction(y0, y1);
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
    if constexpr (std::is_same_v<T, V>)
      if (algebraic()) return algebraic_prolong(y0, y1);
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
    const BlackNumbering at(g_.grid.owned());
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
    const BlackNumbering  at(g_.grid.owned());
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
  MultigridLevel<T>  &s_;
  SchurView<T>   a_;
  SchurHelp<T>   h_;
  View<V>        r_, z_;
  V             *t_; // residual at o, correction at c, right-hand side along lines: one after the other
  View<V>        next_;
  Schedule      &schedule_;
};

} // namespace tessera::rrb
