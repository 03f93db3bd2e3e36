// Application of the factors: sweeps down the grids, the exact remainder, sweeps up ([1] algorithm 2), with K- or AMLI
// acceleration on some coarse grids.
#include "core/tuning.hpp"
#include "core/warp.hpp"
#include "rrb/acceleration.hpp"
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tessera::rrb {

namespace {

// L and D^-1 of a grid. S: stride along x, 1 in quarter planes, 2 in natural order. p: place of the node in its quarter. SCALED:
// false where A's couplings stand in L's place.
template <class T, int S, bool SCALED = true> struct Factors {
  static constexpr int stride = S;
  View<T> L[4], D;
  HD T   l(int k, int q, ptrdiff_t p) const { return SCALED ? L[k].q[q][p] : L[k].q[q][p] * D.q[q][p]; }
  HD double red_to_o(const View<double> &z, ptrdiff_t p, ptrdiff_t r) const
  {
    const double *a = z.q[1] + p, *b = z.q[2] + p;
    return red_to_o(a[-S], a[0], b[-r], b[0], p, r);
  }
  HD double red_to_c(const View<double> &z, ptrdiff_t p, ptrdiff_t r) const
  {
    const double *a = z.q[1] + p, *b = z.q[2] + p;
    return red_to_c(b[0], b[S], a[0], a[r], p, r);
  }
  // the same with the values to W, E, S and N
  HD double red_to_o(double w, double e, double s, double n, ptrdiff_t p, ptrdiff_t r) const { return l(1, 1, p - S) * w + l(0, 1, p) * e + l(3, 2, p - r) * s + l(2, 2, p) * n; }
  HD double red_to_c(double w, double e, double s, double n, ptrdiff_t p, ptrdiff_t r) const { return l(1, 2, p) * w + l(0, 2, p + S) * e + l(3, 1, p) * s + l(2, 1, p + r) * n; }
  // o0 and o1: the values of o at (X, Y) and (X, Y+1), with stride so
  HD double o_to_c(const double *o0, const double *o1, ptrdiff_t so, ptrdiff_t p, ptrdiff_t r) const
  {
    return L[3].q[0][p] * o0[0] + L[2].q[0][p + S] * o0[so] + L[1].q[0][p + r] * o1[0] + L[0].q[0][p + S + r] * o1[so];
  }
  HD double back_o(double t, const double *c, ptrdiff_t p, ptrdiff_t r) const
  {
    return D.q[0][p] * t - L[0].q[0][p] * c[-S - r] - L[1].q[0][p] * c[-r] - L[2].q[0][p] * c[-S] - L[3].q[0][p] * c[0];
  }
  HD double back_a(double z, const double *o, const double *c, ptrdiff_t so, ptrdiff_t p, ptrdiff_t r) const
  {
    return D.q[1][p] * z - l(0, 1, p) * o[0] - l(1, 1, p) * o[so] - l(2, 1, p) * c[-r] - l(3, 1, p) * c[0];
  }
  HD double back_b(double z, const double *o0, const double *o1, const double *c, ptrdiff_t p) const
  {
    return D.q[2][p] * z - l(0, 2, p) * c[-S] - l(1, 2, p) * c[0] - l(2, 2, p) * o0[0] - l(3, 2, p) * o1[0];
  }
};

// The sweep down one grid: red nodes into o and c, o into c, c becomes the right-hand side of the next grid. RED false: the red
// nodes are gone already (S1). A strip computes the rows of o that it needs, one of them again, so strips are independent.
// Reads b (8 B a node) and L (24 B, half in single precision), writes t and the next grid (4 B).
template <class T, int S, bool RED> struct Down {
  Factors<T, S> f;
  View<double>  b, next;
  double       *t;
  Box           compute, own; // own: of the c nodes
  template <class Block> HD void operator()(Block &block) const
  {
    const Box       tile = block.tile;
    const int       last = tile.y1 < compute.y1 ? tile.y1 + 1 : compute.y1, right = tile.x1 < compute.x1 ? tile.x1 + 1 : compute.x1; // a row and a column beyond the tile
    const ptrdiff_t r = b.sy, w = right - tile.x0;
    double         *o = block.shared, *row = o + w * (tile.y1 - tile.y0 + 1) - tile.x0;
    const Box       c = intersect(own, tile);
    if (RED) {
      block.each(tile.x0, right, tile.y0, last, [&](int X, int Y) {
        const ptrdiff_t p = X * S + Y * r;
        o[X - tile.x0 + (Y - tile.y0) * w] = b.q[0][p] - f.red_to_o(b, p, r);
      });
      block.sync();
      block.each(tile.x0, tile.x1, tile.y0, tile.y1, [&](int X, int Y) { t[X * S + Y * r] = o[X - tile.x0 + (Y - tile.y0) * w]; });
    }
    for (int J = c.y0; J < c.y1; ++J) {
      block.each(c.x0, c.x1, J, J + 1, [&](int X, int Y) {
        const ptrdiff_t p = X * S + Y * r;
        double          v = b.q[3][p];
        if (RED) {
          const double *o0 = o + (X - tile.x0) + (Y - tile.y0) * w;
          v -= f.red_to_c(b, p, r) + f.o_to_c(o0, o0 + w, 1, p, r);
        } else v -= f.o_to_c(b.q[0] + p, b.q[0] + p + r, S, p, r);
        row[X] = v;
      });
      block.sync();
      for (int px = 0; px < 2; ++px) { // c(X, Y) is node (X, Y) of the next grid
        double *z = next.q[px + 2 * (J & 1)] + floor_half(J) * next.sy;
        if (next.sx == 1) block.each(half_begin(c.x0, px), half_begin(c.x1, px), J, J + 1, [&](int I, int) { z[I] = row[2 * I + px]; });
        else block.each(half_begin(c.x0, px), half_begin(c.x1, px), J, J + 1, [&](int I, int) { z[I * next.sx] = row[2 * I + px]; });
      }
      block.sync();
    }
  }
};

// The sweep up: o from c, then the red nodes from o and c. Writes all quarters into `out`, which is a field of this grid, the c
// plane of the finer one (every second element) or the user's vector. Reads c, t, b (8 B) and L, D (30 B), writes 8 B a node.
template <class T, int S, bool RED> struct Up {
  Factors<T, S> f;
  View<double>  b, out;
  const double *t, *c;
  Box           compute, own[4];
  template <class Block> HD void store(Block &block, int Y, int q, const double *even, const double *odd) const
  {
    const Box  be = columns(block.tile, q), bo = columns(block.tile, q + 1);
    double    *z = out.q[q] + Y * out.sy;
    const int  x0 = be.x0 > bo.x0 ? be.x0 : bo.x0, x1 = be.x1 < bo.x1 ? be.x1 : bo.x1;
    if (out.sx == 2) { // the two quarters alternate
      block.each(x0, x1, Y, Y + 1, [&](int X, int) {
        z[2 * X]     = even[X];
        z[2 * X + 1] = odd[X];
      });
      for (int X = be.x0; X < x0; ++X) z[2 * X] = even[X];
      for (int X = bo.x0; X < x0; ++X) z[2 * X + 1] = odd[X];
      for (int X = x1 > be.x0 ? x1 : be.x0; X < be.x1; ++X) z[2 * X] = even[X];
      for (int X = x1 > bo.x0 ? x1 : bo.x0; X < bo.x1; ++X) z[2 * X + 1] = odd[X];
    } else {
      double *zo = out.q[q + 1] + Y * out.sy;
      if (out.sx == 1) {
        block.each(be.x0, be.x1, Y, Y + 1, [&](int X, int) { z[X] = even[X]; });
        if (zo + bo.x0 != odd + bo.x0) block.each(bo.x0, bo.x1, Y, Y + 1, [&](int X, int) { zo[X] = odd[X]; });
      } else {
        block.each(be.x0, be.x1, Y, Y + 1, [&](int X, int) { z[X * out.sx] = even[X]; });
        block.each(bo.x0, bo.x1, Y, Y + 1, [&](int X, int) { zo[X * out.sx] = odd[X]; });
      }
    }
  }
  HD Box columns(const Box &tile, int q) const // own nodes in the columns of a tile
  {
    Box b = own[q];
    b.x0  = b.x0 > tile.x0 ? b.x0 : tile.x0;
    b.x1  = b.x1 < tile.x1 ? b.x1 : tile.x1;
    return b;
  }
  template <class Block> HD void operator()(Block &block) const
  {
    const Box       tile = block.tile;
    const int       last = tile.y1 < compute.y1 ? tile.y1 + 1 : compute.y1, right = tile.x1 < compute.x1 ? tile.x1 + 1 : compute.x1;
    const ptrdiff_t r = b.sy, w = right - tile.x0;
    double         *o = block.shared - tile.x0, *red = o + w * (tile.y1 - tile.y0 + 1), *cc = red + w;
    const Box       mine[4] = {columns(tile, 0), columns(tile, 1), columns(tile, 2), columns(tile, 3)};
    block.each(tile.x0, right, tile.y0, RED ? last : tile.y1, [&](int X, int Y) {
      const ptrdiff_t p = X * S + Y * r;
      o[X + (Y - tile.y0) * w] = f.back_o(t[p], c + p, p, r);
    });
    block.sync();
    for (int J = tile.y0; J < tile.y1; ++J) {
      const double *o0 = o + (J - tile.y0) * w, *o1 = o0 + w;
      if (!RED) {
        if (J >= mine[0].y0 && J < mine[0].y1) block.each(mine[0].x0, mine[0].x1, J, J + 1, [&](int X, int Y) { out.q[0][X * out.sx + Y * out.sy] = o0[X]; });
        continue;
      }
      if (J >= mine[0].y0 && J < mine[0].y1) {
        block.each(mine[1].x0, mine[1].x1, J, J + 1, [&](int X, int Y) {
          const ptrdiff_t p = X * S + Y * r;
          red[X]            = f.back_a(b.q[1][p], o0 + X, c + p, 1, p, r);
        });
        block.sync();
        store(block, J, 0, o0, red);
        block.sync();
      }
      if (J >= mine[2].y0 && J < mine[2].y1) {
        block.each(mine[2].x0, mine[2].x1, J, J + 1, [&](int X, int Y) {
          const ptrdiff_t p = X * S + Y * r;
          red[X]            = f.back_b(b.q[2][p], o0 + X, o1 + X, c + p, p);
        });
        const double *cr = c + J * r; // the row of c in unit stride
        if (S != 1) {
          block.each(mine[3].x0, mine[3].x1, J, J + 1, [&](int X, int Y) { cc[X] = c[X * S + Y * r]; });
          cr = cc;
        }
        block.sync();
        store(block, J, 2, red, cr);
        block.sync();
      }
    }
  }
};

template <class T, int S, bool SCALED = true> Factors<T, S, SCALED> factors(Level &level, Buffer<T> l[4], Buffer<T> &d)
{
  Factors<T, S, SCALED> f;
  for (int k = 0; k < 4; ++k) f.L[k] = level.layout.view(l[k].data());
  f.D = level.layout.view(d.data());
  return f;
}

// Rows of a strip: its scratch, some rows of a quarter, is to stay in the second-level cache.
int strip_rows(const Level &level) { return std::max(2, std::min(tuning::strip_rows, tuning::strip_doubles / (level.layout.m + 2))); }

template <class T, int S, bool RED>
void down(Plan &plan, Level &level, Buffer<T> l[4], Buffer<T> &d, const View<double> &b, const View<double> &next)
{
  const int       rows = strip_rows(level);
  Down<T, S, RED> k{factors<T, S>(level, l, d), b, next, RED ? level.layout.view(level.t.data()).q[0] : nullptr, level.layout.compute(), level.grid.owned(quarter_c)};
  forall_strip(plan.exec, k.compute, rows, rows + 2, k);
}

template <class T, int S, bool RED>
void up(Plan &plan, Level &level, Buffer<T> l[4], Buffer<T> &d, const View<double> &b, const double *c, const View<double> &out)
{
  const int     rows = strip_rows(level);
  Up<T, S, RED> k;
  k.f       = factors<T, S>(level, l, d);
  k.b       = b;
  k.out     = out;
  k.t       = RED ? level.layout.view(level.t.data()).q[0] : b.q[0];
  k.c       = c;
  k.compute = level.layout.compute();
  for (int q = 0; q < 4; ++q) k.own[q] = level.grid.owned(q);
  forall_strip(plan.exec, k.compute, rows, rows + 3, k);
}

// Calls f<T, S>() for the precision and the storage order of a grid.
template <class F> void dispatch(Plan &plan, Level &level, const F &f)
{
  Factor &a = level.factor;
  if (plan.single_factors()) {
    if (level.layout.natural) f(a.l32, a.d32, std::integral_constant<int, 2>());
    else f(a.l32, a.d32, std::integral_constant<int, 1>());
  } else {
    if (level.layout.natural) f(a.l64, a.d64, std::integral_constant<int, 2>());
    else f(a.l64, a.d64, std::integral_constant<int, 1>());
  }
}

// Calls f with the factors of the red nodes.
template <class F> void with_red_factors(Plan &plan, Level &level, const F &f)
{
  Factor &a = level.factor;
  if (!a.scaled) level.layout.natural ? f(factors<double, 2, false>(level, a.l64, a.d64)) : f(factors<double, 1, false>(level, a.l64, a.d64));
  else dispatch(plan, level, [&](auto *l, auto &d, auto s) { f(factors<std::remove_reference_t<decltype(*d.data())>, decltype(s)::value>(level, l, d)); });
}

// One grid of the lumped form, for the acceleration.
struct Lumped {
  Plan  &plan;
  int    l;
  Level &g;
  Field &b, &x, &r, &w, &d, &q;
  const int mask = mask_all;
  Lumped(Plan &p, int level) : plan(p), l(level), g(p.levels[level]), b(g.b), x(g.x), r(g.r), w(g.w), d(g.d), q(g.q) { }
  void   combine(double s, const Field &u, double t, Field &v) { rrb::combine(plan.exec, v.data.size(), s, u.data.data(), t, v.data.data()); }
  double dot(const Field &u, const Field &v)
  {
    const double s = rrb::dot(plan.exec, g.grid, mask_all, u.v, v.v);
    double       sum = s;
    if (g.grid.processes() > 1) MPI_Allreduce(&s, &sum, 1, MPI_DOUBLE, MPI_SUM, g.grid.comm);
    return sum;
  }
  void multiply(Field &u, Field &v)
  {
    g.halo.exchange(u.v, mask_all);
    stencil_apply(plan.exec, g.op.view(), g.grid, u.v, v.v);
  }
  void precondition(Field &u, Field &v) { cycle(plan, l, u.v, v.v, v.v); }
};

// out = the approximate solution on grid l for the right-hand side in its field b.
void visit(Plan &plan, int l, const View<double> &out)
{
  Level &g = plan.levels[l];
  if (g.accelerated && plan.cycle != Cycle::v) {
    Lumped space(plan, l);
    if (plan.cycle == Cycle::k) k_cycle(space, plan.params.inner);
    else amli_cycle(space, plan.params.inner, g.spectrum[0], g.spectrum[1]);
    copy(plan.exec, g.grid, mask_all, g.x.v, out);
  } else cycle(plan, l, g.b.v, g.b.v, out);
}

// The whole grid's right-hand side to every process, its solution there, and the own part back.
void gathered(Plan &plan, int l, const View<double> &b, const View<double> &out)
{
  Level &g = plan.levels[l];
  gather_values(plan, g, b, plan.levels[l + 1].b.v);
  const View<double> solution = natural_view(g.solution.data(), 0, 0, g.grid.nx);
  visit(plan, l + 1, solution);
  copy(plan.exec, g.grid, mask_all, solution, out);
}

// Half a grid: the red nodes into o and c and back, for an exact factorisation of the black nodes.
template <class F> struct BlackRhs {
  F            f;
  View<double> b, out;
  int          q;
  HD void operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * F::stride + Y * b.sy;
    out.q[q][p]       = b.q[q][p] - (q == quarter_o ? f.red_to_o(b, p, b.sy) : f.red_to_c(b, p, b.sy));
  }
};
template <class F> struct RedSolution {
  F            f;
  View<double> b, black, out;
  int          q;
  HD void operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * F::stride + Y * b.sy;
    const double   *o = black.q[0] + p, *c = black.q[3] + p;
    out.q[q][X * out.sx + Y * out.sy] = q == quarter_a ? f.back_a(b.q[1][p], o, c, F::stride, p, b.sy) : f.back_b(b.q[2][p], o, o + b.sy, c, p);
  }
};

} // namespace

template <class T> void gather_values(Plan &plan, Level &g, const View<T> &from, const View<T> &whole)
{
  const Box own = g.grid.owned();
  copy(plan.exec, g.grid, mask_all, from, natural_view(g.gather->local(), own.x0, own.y0, own.x1 - own.x0));
  double *all = g.gather->global();
  for (int r = 0; r < g.grid.processes(); ++r) {
    const Box          box  = g.grid.box(r);
    const View<double> part = natural_view(all + g.gather->position(r), box.x0, box.y0, box.x1 - box.x0);
    for (int q = 0; q < 4; ++q) forall(plan.exec, quarter_box(box, q), CopyKernel<double, T>{part.q[q], whole.q[q], part.sx, part.sy, whole.sx, whole.sy});
  }
}

template void gather_values<double>(Plan &, Level &, const View<double> &, const View<double> &);
template void gather_values<float>(Plan &, Level &, const View<float> &, const View<float> &);

void black_rhs(Plan &plan, Level &level, const View<double> &b, const View<double> &out)
{
  level.halo.exchange(b, mask_a | mask_b);
  with_red_factors(plan, level, [&](const auto &f) {
    BlackRhs<std::decay_t<decltype(f)>> k{f, b, out, 0};
    for (int q : {0, 3}) {
      k.q = q;
      forall(plan.exec, level.grid.owned(q), k);
    }
  });
}

void red_solution(Plan &plan, Level &level, const View<double> &b, const View<double> &black, const View<double> &out)
{
  level.halo.exchange(black, mask_o | mask_c);
  with_red_factors(plan, level, [&](const auto &f) {
    RedSolution<std::decay_t<decltype(f)>> k{f, b, black, out, 0};
    for (int q : {1, 2}) {
      k.q = q;
      forall(plan.exec, level.grid.owned(q), k);
    }
  });
}

#ifdef TESSERA_HAVE_DEVICE
namespace {
// Natural order; zero outside of the own nodes, or the ghost nodes of a field.
struct Given {
  const double *p;
  Box           own;
  View<double>  ghosts;
  bool          many; // there are ghost nodes
  HD double mine(int x, int y) const { return own.contains(x, y) ? p[(x - own.x0) + (ptrdiff_t)(y - own.y0) * (own.x1 - own.x0)] : 0; }
  HD double own_square(double v, int x, int y) const { return !many || own.contains(x, y) ? v * v : 0; }
  HD double at(int x, int y) const { return !many || own.contains(x, y) ? mine(x, y) : ghosts.at(x, y); }
};
struct LoadBorder {
  Given b;
  HD void operator()(int x, int y) const { b.ghosts.at(x, y) = b.mine(x, y); }
};
Given given(Level &g, const double *b) { return {b, g.grid.owned(), g.b.v, g.grid.processes() > 1}; }
template <class F, class T> struct Start { // per cell; b'b
  F            f;
  Given        b;
  View<double> r;
  View<T>      to;
  Box          o, c;
  double      *sum;
  MARCH double operator()(int X, int Y) const
  {
    const int       x = 2 * X, y = 2 * Y;
    const ptrdiff_t p = X + Y * r.sy, n = r.sy;
    const double    bo = b.at(x, y), ba = b.at(x + 1, y), bb = b.at(x, y + 1), bc = b.at(x + 1, y + 1);
    if (o.contains(X, Y)) {
      const double v = bo - f.red_to_o(b.at(x - 1, y), ba, b.at(x, y - 1), bb, p, n);
      r.q[0][p]      = v;
      to.q[0][p]     = (T)v;
    }
    if (c.contains(X, Y)) {
      const double v = bc - f.red_to_c(bb, b.at(x + 2, y + 1), ba, b.at(x + 1, y + 2), p, n);
      r.q[3][p]      = v;
      to.q[3][p]     = (T)v;
    }
    const double so = b.own_square(bo, x, y), sa = b.own_square(ba, x + 1, y), sb = b.own_square(bb, x, y + 1), sc = b.own_square(bc, x + 1, y + 1);
    return so + sa + sb + sc;
  }
  MARCH void finish(double s) const { *sum = s; }
};
// The whole solution, of the black nodes' x + kept p.
template <class F> struct Finish {
  F             f;
  Given         b;
  View<double>  x, p, out;
  const double *kept;
  Box           own[4];
  HD double at(int q, double rhs, const View<double> &v, ptrdiff_t at) const
  {
    const double   *o = v.q[0] + at, *c = v.q[3] + at;
    const ptrdiff_t n = v.sy;
    return q == 0 ? o[0] : q == 1 ? f.back_a(rhs, o, c, 1, at, n) : q == 2 ? f.back_b(rhs, o, o + n, c, at) : c[0];
  }
  HD void operator()(int X, int Y) const
  {
    const ptrdiff_t from = X + Y * x.sy, to = X * out.sx + Y * out.sy;
    const double    k = *kept;
    for (int q = 0; q < 4; ++q) {
      if (!own[q].contains(X, Y)) continue;
      double v = at(q, q == 1 ? b.at(2 * X + 1, 2 * Y) : q == 2 ? b.at(2 * X, 2 * Y + 1) : 0, x, from);
      if (k != 0) v += k * at(q, 0, p, from);
      out.q[q][to] = v;
    }
  }
};
} // namespace

template <class T> void black_start(Plan &plan, const double *b, const View<double> &r, const View<T> &to, Reduction &reduction, double *sum)
{
  Level      &g     = plan.levels[0];
  const Given input = given(g, b);
  const Box   own   = input.own;
  if (input.many) { // the red neighbours on other processes, who ask for up to three nodes from the border
    auto border = [&](const Box &nodes) { return part(intersect(nodes, own), LoadBorder{input}); };
    forall_parts(plan.exec, border({own.x0, own.x0 + 3, own.y0, own.y1}), border({own.x1 - 3, own.x1, own.y0, own.y1}), border({own.x0, own.x1, own.y0, own.y0 + 3}), border({own.x0, own.x1, own.y1 - 3, own.y1}));
    g.halo.exchange(g.b.v, mask_a | mask_b);
  }
  auto start = [&](const auto &f) { forall_cells(g.grid.cells(), Start<std::decay_t<decltype(f)>, T>{f, input, r, to, g.grid.owned(quarter_o), g.grid.owned(quarter_c), sum}, reduction); };
  if (g.factor.scaled) start(factors<double, 1>(g, g.factor.l64, g.factor.d64));
  else start(factors<double, 1, false>(g, g.factor.l64, g.factor.d64));
}
template void black_start(Plan &, const double *, const View<double> &, const View<double> &, Reduction &, double *);
template void black_start(Plan &, const double *, const View<double> &, const View<float> &, Reduction &, double *);

void black_finish(Plan &plan, const double *b, const View<double> &x, const View<double> &p, const double *kept, double *out)
{
  Level    &g = plan.levels[0];
  const Box own = g.grid.owned();
  auto      finish = [&](const auto &f) {
    forall(plan.exec, g.grid.cells(), Finish<std::decay_t<decltype(f)>>{f, given(g, b), x, p, natural_view(out, own.x0, own.y0, own.x1 - own.x0), kept, {g.grid.owned(0), g.grid.owned(1), g.grid.owned(2), g.grid.owned(3)}});
  };
  if (g.factor.scaled) finish(factors<double, 1>(g, g.factor.l64, g.factor.d64));
  else finish(factors<double, 1, false>(g, g.factor.l64, g.factor.d64));
}
#endif

// One cycle from level l down: out = B b. The solution on the next grid stands in the c quarter of `coarse`.
void cycle(Plan &plan, int l, const View<double> &b, const View<double> &coarse, const View<double> &out, bool red)
{
  Level &g = plan.levels[l];
  if (g.step == Step::solve) return solve_remainder(plan, b, out);
  if (g.step == Step::gather) return gathered(plan, l, b, out);
  Level &next = plan.levels[l + 1];
  g.halo.exchange(b, red ? mask_o | mask_a | mask_b : mask_o);
  dispatch(plan, g, [&](auto *lf, auto &d, auto s) {
    using T = std::remove_reference_t<decltype(*d.data())>;
    if (red) down<T, decltype(s)::value, true>(plan, g, lf, d, b, next.b.v);
    else down<T, decltype(s)::value, false>(plan, g, lf, d, b, next.b.v);
  });
  visit(plan, l + 1, plane_view(coarse.q[3], coarse.sx, coarse.sy));
  g.halo.exchange(coarse, mask_c);
  dispatch(plan, g, [&](auto *lf, auto &d, auto s) {
    using T = std::remove_reference_t<decltype(*d.data())>;
    if (red) up<T, decltype(s)::value, true>(plan, g, lf, d, b, coarse.q[3], out);
    else up<T, decltype(s)::value, false>(plan, g, lf, d, b, coarse.q[3], out);
  });
}

namespace {
struct LoadRow { // two quarters from one line of natural order
  const double *x;
  double       *even, *odd;
  HD void       operator()(int X, int) const
  {
    even[X] = x[2 * X];
    odd[X]  = x[2 * X + 1];
  }
};
} // namespace

void load(Plan &plan, const double *x)
{
  Level             &g   = plan.levels[0];
  const Box          own = g.grid.owned();
  const auto         from = natural_view(x, own.x0, own.y0, own.x1 - own.x0);
  const View<double> to   = g.b.v;
  if (to.sx != 1 || plan.exec.space == Space::cuda) return copy(plan.exec, g.grid, mask_all, from, to);
  if (own.empty()) return;
  for (int y = own.y0; y < own.y1; ++y) { // the host likes two streams at a time better
    const int q = 2 * (y & 1), Y = floor_half(y), X0 = (own.x0 + 1) / 2, X1 = own.x1 / 2; // whole pairs; a node may remain on each side
    double   *even = to.q[q] + Y * to.sy, *odd = to.q[q + 1] + Y * to.sy;
    const double *row = from.q[q] + Y * from.sy;
    if (X0 < X1) forall(Exec(), {X0, X1, 0, 1}, LoadRow{row, even, odd});
    if (own.x0 & 1) odd[own.x0 / 2] = row[own.x0];
    if ((own.x1 & 1) && own.x1 - 1 >= 2 * X0) even[own.x1 / 2] = row[own.x1 - 1];
  }
}

void apply(Plan &plan, const View<double> &out)
{
  if (plan.params.coarsening == Coarsening::galerkin) galerkin_apply(plan, out);
  else visit(plan, 0, out);
}

// The largest and the smallest eigenvalue of a symmetric tridiagonal matrix, by bisection on Sturm counts.
void extreme_eigenvalues(const std::vector<double> &d, const std::vector<double> &e, double *lowest, double *highest)
{
  const int n     = (int)d.size();
  auto      below = [&](double x) {
    int    count = 0;
    double q     = 1;
    for (int i = 0; i < n; ++i) {
      q = d[i] - x - (i ? e[i - 1] * e[i - 1] / q : 0);
      if (q == 0) q = 1e-300;
      count += q < 0;
    }
    return count;
  };
  double lo = d[0], hi = d[0];
  for (int i = 0; i < n; ++i) {
    const double s = (i ? fabs(e[i - 1]) : 0) + (i + 1 < n ? fabs(e[i]) : 0);
    lo             = std::min(lo, d[i] - s);
    hi             = std::max(hi, d[i] + s);
  }
  auto bisect = [&](int k) { // the k-th smallest
    double a = lo, b = hi;
    for (int i = 0; i < 60; ++i) {
      const double m = (a + b) / 2;
      if (below(m) > k) b = m;
      else a = m;
    }
    return (a + b) / 2;
  };
  *lowest  = bisect(0);
  *highest = bisect(n - 1);
}

// Spectrum of the preconditioned operator on grid l from a few steps of CG on a random right-hand side; false if a step breaks
// down. The values are the same on any number of processes.
static bool spectrum(Plan &plan, int l, int steps, double *lowest, double *highest)
{
  Lumped space(plan, l);
  fill_random(plan.exec, space.g.grid, mask_all, 0, space.x.v);
  std::vector<double> diagonal, off;
  double              previous = 0;
  if (!cg_steps(space, steps, [&](double alpha, double beta, Lumped &) {
        if (previous > 0) off.push_back(sqrt(beta) / previous);
        diagonal.push_back(1 / alpha + (previous > 0 ? beta / previous : 0));
        previous = alpha;
        return true;
      }))
    return false;
  extreme_eigenvalues(diagonal, off, lowest, highest);
  return true;
}

void choose_cycle(Plan &plan)
{
  if (plan.params.coarsening == Coarsening::galerkin) return galerkin_cycle(plan);
  plan.cycle = plan.params.cycle;
  if (plan.cycle != Cycle::amli && plan.cycle != Cycle::automatic) return;
  plan.cycle = Cycle::amli;
  // From the coarsest grid up, as the cycle of a grid contains those below it.
  for (int l = (int)plan.levels.size() - 1; l > 0; --l) {
    Level &g = plan.levels[l];
    if (!g.accelerated) continue;
    double lowest = 1, highest = 2.5;
    if (!spectrum(plan, l, tuning::spectrum_steps, &lowest, &highest)) continue;
    // Lumping everything that is dropped bounds the spectrum by 1 from below (row sums are kept), rhombus lumping from above.
    // At the other end CG's value lies a little inside the spectrum: the polynomial stays definite until the sum of both ends.
    const bool lump = plan.params.coarsening == Coarsening::lump && plan.params.omega == 1;
    g.spectrum[0]   = lump ? 1 : 0.7 * lowest;
    g.spectrum[1]   = std::max(highest, 1.2 * g.spectrum[0]);
  }
  if (plan.params.cycle == Cycle::automatic)
    for (const Level &g : plan.levels)
      if (g.accelerated && g.spectrum[1] > tuning::amli_condition * g.spectrum[0]) plan.cycle = Cycle::v;
  // Gathered grids are measured by every process for itself: the first one's values count, to the last bit.
  std::vector<double> agreed{(double)(int)plan.cycle};
  for (const Level &g : plan.levels) agreed.insert(agreed.end(), g.spectrum, g.spectrum + 2);
  MPI_Bcast(agreed.data(), (int)agreed.size(), MPI_DOUBLE, 0, plan.levels[0].grid.comm);
  plan.cycle = (Cycle)(int)agreed[0];
  for (size_t l = 0; l < plan.levels.size(); ++l) std::copy(&agreed[1 + 2 * l], &agreed[1 + 2 * l] + 2, plan.levels[l].spectrum);
}

} // namespace tessera::rrb
