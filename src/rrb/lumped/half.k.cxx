// Elimination of the red nodes, and their solution afterwards: the first and the last step of the solvers on S1 and of
// the Galerkin form on its finest grid.
#include "exec/several.hpp"
#include "box/warp.hpp"
#include "rrb/lumped/factors.hpp"
#include "rrb/cg/schur_solver_kernels.hpp"
#include <type_traits>

namespace tessera::rrb {

namespace {

template <class F, class V> struct BlackRhs {
  F       f;
  View<V> b, out;
  int     q;
  HD void operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * F::stride + Y * b.sy;
    out.q[q][p]       = b.q[q][p] - (q == quarter_o ? f.red_to_o(b, p, b.sy) : f.red_to_c(b, p, b.sy));
  }
};
template <class F, class V> struct RedSolution {
  F       f;
  View<V> b, black, out;
  int     q;
  HD void operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * F::stride + Y * b.sy;
    const V        *o = black.q[0] + p, *c = black.q[3] + p;
    out.q[q][X * out.sx + Y * out.sy] =
      q == quarter_a ? f.back_a(b.q[1][p], o, c, F::stride, p, b.sy) : f.back_b(b.q[2][p], o, o + b.sy, c, p);
  }
};

} // namespace

template <class V> void black_rhs(Plan &plan, Level &level, const View<V> &b, const View<V> &out)
{
  level.halo.exchange(b, mask_a | mask_b);
  with_red_factors(plan, level, [&](const auto &f) {
    BlackRhs<std::decay_t<decltype(f)>, V> k{f, b, out, 0};
    for (int q : {0, 3}) {
      k.q = q;
      forall_of<V>(plan.exec, level.grid.owned(q), k);
    }
  });
}

template <class V>
void red_solution(Plan &plan, Level &level, const View<V> &b, const View<V> &black, const View<V> &out)
{
  level.halo.exchange(black, mask_o | mask_c);
  with_red_factors(plan, level, [&](const auto &f) {
    RedSolution<std::decay_t<decltype(f)>, V> k{f, b, black, out, 0};
    for (int q : {1, 2}) {
      k.q = q;
      forall_of<V>(plan.exec, level.grid.owned(q), k);
    }
  });
}

#define INSTANTIATE(...) \
  template void black_rhs(Plan &, Level &, const View<__VA_ARGS__> &, const View<__VA_ARGS__> &); \
  template void red_solution(Plan &, Level &, const View<__VA_ARGS__> &, const View<__VA_ARGS__> &, \
                             const View<__VA_ARGS__> &);
INSTANTIATE(double)
INSTANTIATE(Several<double, 4>)
INSTANTIATE(Several<double, 8>)

#ifdef TESSERA_HAVE_DEVICE
namespace {
// A right-hand side in natural order. Outside of the own nodes: zero, or the ghost values of a field.
struct RightSide {
  const double *p;
  Box           own;
  View<double>  ghosts;
  bool          many; // there are ghost nodes
  HD double     mine(int x, int y) const
  {
    return own.contains(x, y) ? p[(x - own.x0) + (ptrdiff_t)(y - own.y0) * (own.x1 - own.x0)] : 0;
  }
  HD double own_square(double v, int x, int y) const { return !many || own.contains(x, y) ? v * v : 0; }
  HD double at(int x, int y) const { return !many || own.contains(x, y) ? mine(x, y) : ghosts.at(x, y); }
};
struct LoadBorder {
  RightSide b;
  HD void operator()(int x, int y) const { b.ghosts.at(x, y) = b.mine(x, y); }
};
RightSide right_side(Level &g, const double *b) { return {b, g.grid.owned(), g.b.v, g.grid.processes() > 1}; }
// Calls store(quarter, place, value) for the right-hand side of a cell's black nodes; n: distance of rows in memory.
template <class F, class Store>
HD inline void eliminate(const F &f, const RightSide &b, const double (&v)[4], const Box &o, const Box &c, int X, int Y,
                         ptrdiff_t n, const Store &store)
{
  const int       x = 2 * X, y = 2 * Y;
  const ptrdiff_t p = X + Y * n;
  if (o.contains(X, Y)) store(0, p, v[0] - f.red_to_o(b.at(x - 1, y), v[1], b.at(x, y - 1), v[2], p, n));
  if (c.contains(X, Y)) store(3, p, v[3] - f.red_to_c(v[2], b.at(x + 2, y + 1), v[1], b.at(x + 1, y + 2), p, n));
}
template <class F, class T> struct Start { // per cell; b'b
  F            f;
  RightSide        b;
  View<double> r;
  View<T>      to;
  Box          o, c;
  Begin        begin;
  MARCH double operator()(int X, int Y) const
  {
    const int    x = 2 * X, y = 2 * Y;
    const double v[4] = {b.at(x, y), b.at(x + 1, y), b.at(x, y + 1), b.at(x + 1, y + 1)};
    eliminate(f, b, v, o, c, X, Y, r.sy, [&](int q, ptrdiff_t p, double w) {
      r.q[q][p]  = w;
      to.q[q][p] = (T)w;
    });
    return b.own_square(v[0], x, y) + b.own_square(v[1], x + 1, y) + b.own_square(v[2], x, y + 1) +
           b.own_square(v[3], x + 1, y + 1);
  }
  MARCH void finish(double s) const { begin(s); }
};
template <class F, class T> struct BlackOf { // the same without r and b'b
  F       f;
  RightSide   b;
  View<T> to;
  Box     o, c;
  HD void operator()(int X, int Y) const
  {
    const int    x = 2 * X, y = 2 * Y;
    const double v[4] = {b.at(x, y), b.at(x + 1, y), b.at(x, y + 1), b.at(x + 1, y + 1)};
    eliminate(f, b, v, o, c, X, Y, to.sy, [&](int q, ptrdiff_t p, double w) { to.q[q][p] = (T)w; });
  }
};
// The solution at all nodes, from x + *kept p at the black ones; kept = nullptr: from x.
template <class F, class T> struct Finish {
  F             f;
  RightSide         b;
  View<T>       x, p;
  View<double>  out;
  const double *kept;
  Box           own[4];
  HD void operator()(int X, int Y) const
  {
    const ptrdiff_t from = X + Y * x.sy, n = x.sy, to = X * out.sx + Y * out.sy;
    const double    k = kept ? *kept : 0;
    auto            black = [&](int q, ptrdiff_t at) {
      double v = x.q[q][at];
      if (k != 0) v += k * p.q[q][at];
      return v;
    };
    const double o[3]     = {black(0, from), black(0, from + 1), black(0, from + n)},
                 south[2] = {black(3, from - n), black(3, from)}, west[2] = {black(3, from - 1), south[1]};
    if (own[0].contains(X, Y)) out.q[0][to] = o[0];
    if (own[1].contains(X, Y)) out.q[1][to] = f.back_a(b.at(2 * X + 1, 2 * Y), o, south + 1, 1, from, 1);
    if (own[2].contains(X, Y)) out.q[2][to] = f.back_b(b.at(2 * X, 2 * Y + 1), o, o + 2, west + 1, from);
    if (own[3].contains(X, Y)) out.q[3][to] = south[1];
  }
};
} // namespace

template <class T> void black_start(Plan &plan, const double *b, const View<double> &r, const View<T> &to,
                                    Reduction &reduction, const Begin &begin)
{
  Level      &g     = plan.levels[0];
  const RightSide input = right_side(g, b);
  const Box   own   = input.own;
  if (input.many) { // the red neighbours on other processes, who ask for up to three nodes from the border
    auto border = [&](const Box &nodes) { return part(intersect(nodes, own), LoadBorder{input}); };
    forall_parts(plan.exec, border({own.x0, own.x0 + 3, own.y0, own.y1}), border({own.x1 - 3, own.x1, own.y0, own.y1}),
                 border({own.x0, own.x1, own.y0, own.y0 + 3}), border({own.x0, own.x1, own.y1 - 3, own.y1}));
    g.halo.exchange(g.b.v, mask_a | mask_b);
  }
  auto start = [&](const auto &f) {
    forall_cells(
      g.grid.cells(),
      Start<std::decay_t<decltype(f)>, T>{f, input, r, to, g.grid.owned(quarter_o), g.grid.owned(quarter_c), begin},
      reduction);
  };
  if (g.factor.scaled) start(factors<double, 1>(g, g.factor.l64, g.factor.d64));
  else start(factors<double, 1, false>(g, g.factor.l64, g.factor.d64));
}
template void black_start(Plan &, const double *, const View<double> &, const View<double> &, Reduction &,
                          const Begin &);
template void black_start(Plan &, const double *, const View<double> &, const View<float> &, Reduction &,
                          const Begin &);

void black_finish(Plan &plan, const double *b, const View<double> &x, const View<double> &p, const double *kept,
                  double *out)
{
  Level    &g = plan.levels[0];
  const Box own = g.grid.owned();
  auto      finish = [&](const auto &f) {
    forall(plan.exec, g.grid.cells(),
                Finish<std::decay_t<decltype(f)>, double>{
             f,
             right_side(g, b),
             x,
             p,
             natural_view(out, own.x0, own.y0, own.x1 - own.x0),
             kept,
             {g.grid.owned(0), g.grid.owned(1), g.grid.owned(2), g.grid.owned(3)}
    });
  };
  if (g.factor.scaled) finish(factors<double, 1>(g, g.factor.l64, g.factor.d64));
  else finish(factors<double, 1, false>(g, g.factor.l64, g.factor.d64));
}

template <class T> void black_of(Plan &plan, const double *b, const View<T> &to)
{
  Level &g = plan.levels[0];
  with_red_factors(plan, g, [&](const auto &f) {
    using F = std::decay_t<decltype(f)>;
    if constexpr (F::stride == 1)
      forall(plan.exec, g.grid.cells(),
             BlackOf<F, T>{f, right_side(g, b), to, g.grid.owned(quarter_o), g.grid.owned(quarter_c)});
  });
}
template void black_of(Plan &, const double *, const View<double> &);
template void black_of(Plan &, const double *, const View<float> &);

template <class T> void whole_of(Plan &plan, const double *b, const View<T> &x, double *out)
{
  Level    &g = plan.levels[0];
  const Box own = g.grid.owned();
  with_red_factors(plan, g, [&](const auto &f) {
    using F = std::decay_t<decltype(f)>;
    if constexpr (F::stride == 1)
      forall(plan.exec, g.grid.cells(),
             Finish<F, T>{
               f,
               right_side(g, b),
               x,
               x,
               natural_view(out, own.x0, own.y0, own.x1 - own.x0),
               nullptr,
               {g.grid.owned(0), g.grid.owned(1), g.grid.owned(2), g.grid.owned(3)}
      });
  });
}
template void whole_of(Plan &, const double *, const View<double> &, double *);
template void whole_of(Plan &, const double *, const View<float> &, double *);
#endif

} // namespace tessera::rrb
