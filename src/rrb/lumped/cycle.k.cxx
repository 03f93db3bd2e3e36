// Application of the factors: sweeps down the grids, the exact remainder, sweeps up ([1] algorithm 2), with K- or AMLI
// acceleration on some coarse grids.
#include "box/nodes.hpp"
#include "box/tuning.hpp"
#include "box/warp.hpp"
#include "rrb/vectors.hpp"
#include "rrb/lumped/factors.hpp"
#include "exec/tile.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::rrb {

namespace {

// The sweep down one grid: red nodes into o and c, o into c, c becomes the right-hand side of the next grid. RED
// false: the red nodes are gone already (S1). A strip computes the rows of o that it needs, one of them again, so
// strips are independent. Reads b (8 B per node) and L (24 B, half in single precision), writes t and the next grid (4
// B).
template <class T, int S, bool RED> struct Down {
  Factors<T, S> f;
  View<double>  b, next;
  double       *t;
  Box           compute, own; // own: of the c nodes
  template <class Block> HD void operator()(Block &block) const
  {
    const Box       tile = block.tile;
    // a row and a column beyond the tile
    const int last    = tile.y1 < compute.y1 ? tile.y1 + 1 : compute.y1,
              right   = tile.x1 < compute.x1 ? tile.x1 + 1 : compute.x1;
    const ptrdiff_t r = b.sy, w = right - tile.x0;
    double         *o = block.shared, *row = o + w * (tile.y1 - tile.y0 + 1) - tile.x0;
    const Box       c = intersect(own, tile);
    if (RED) {
      block.each(tile.x0, right, tile.y0, last, [&](int X, int Y) {
        const ptrdiff_t p = X * S + Y * r;
        o[X - tile.x0 + (Y - tile.y0) * w] = b.q[0][p] - f.red_to_o(b, p, r);
      });
      block.sync();
      block.each(tile.x0, tile.x1, tile.y0, tile.y1,
                 [&](int X, int Y) { t[X * S + Y * r] = o[X - tile.x0 + (Y - tile.y0) * w]; });
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
      store_row(block, c, J, row, next);
      block.sync();
    }
  }
};

// The sweep up: o from c, then the red nodes from o and c. Writes all quarters into `out`, which is a field of this
// grid, the c plane of the finer one (every second element) or the user's vector. Reads c, t, b (8 B) and L, D (30
// B), writes 8 B per node.
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
    const int       last = tile.y1 < compute.y1 ? tile.y1 + 1 : compute.y1,
              right      = tile.x1 < compute.x1 ? tile.x1 + 1 : compute.x1;
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
        if (J >= mine[0].y0 && J < mine[0].y1)
          block.each(mine[0].x0, mine[0].x1, J, J + 1,
                     [&](int X, int Y) { out.q[0][X * out.sx + Y * out.sy] = o0[X]; });
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

// Rows of a strip: on the host its scratch, some rows of a quarter, is to stay in the second-level cache; on the
// device there shall be blocks for all multiprocessors, as rows come one after the other, with barriers between.
int strip_rows(const Plan &plan, const Level &level)
{
  if (plan.strategy->rows_in_cache)
    return std::max(2, std::min(tuning::strip_rows, tuning::strip_doubles / (level.layout.m + 2)));
  return (int)std::max<ptrdiff_t>(
    1, std::min<ptrdiff_t>(tuning::strip_rows, level.layout.compute().size() / tuning::strip_nodes_on_device));
}

template <class T, int S, bool RED>
void down(Plan &plan, Level &level, Buffer<T> l[4], Buffer<T> &d, const View<double> &b, const View<double> &next)
{
  const int       rows = strip_rows(plan, level);
  Down<T, S, RED> k{
    factors<T, S>(level, l, d), b, next, RED ? level.layout.view(level.t.data()).q[0] : nullptr, level.layout.compute(),
    level.grid.owned(quarter_c)};
  forall_strip(plan.exec, k.compute, rows, rows + 2, k);
}

template <class T, int S, bool RED> void up(Plan &plan, Level &level, Buffer<T> l[4], Buffer<T> &d,
                                            const View<double> &b, const double *c, const View<double> &out)
{
  const int     rows = strip_rows(plan, level);
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

// One grid of the lumped form, for the acceleration.
struct LumpedSpace {
  Plan  &plan;
  int    l;
  Level &g;
  Field &b, &x, &r, &w, &d, &q;
  const int mask = mask_all;
  LumpedSpace(Plan &p, int level) :
    plan(p), l(level), g(p.levels[level]), b(g.b), x(g.x), r(g.r), w(g.w), d(g.d), q(g.q)
  {
  }
  void combine(double s, const Field &u, double t, Field &v)
  {
    rrb::combine(plan.exec, v.data.size(), s, u.data.data(), t, v.data.data());
  }
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
    LumpedSpace space(plan, l);
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

} // namespace

template <class T> void gather_values(Plan &plan, Level &g, const View<T> &from, const View<T> &whole)
{
  const Box own = g.grid.owned();
  copy(plan.exec, g.grid, mask_all, from, natural_view(g.gather->local(), own.x0, own.y0, own.x1 - own.x0));
  double *all = g.gather->global();
  for (int r = 0; r < g.grid.processes(); ++r) {
    const Box          box  = g.grid.box(r);
    const View<double> part = natural_view(all + g.gather->position(r), box.x0, box.y0, box.x1 - box.x0);
    for (int q = 0; q < 4; ++q)
      forall(plan.exec, quarter_box(box, q),
             CopyKernel<double, T>{part.q[q], whole.q[q], part.sx, part.sy, whole.sx, whole.sy});
  }
}

template void gather_values<double>(Plan &, Level &, const View<double> &, const View<double> &);
template void gather_values<float>(Plan &, Level &, const View<float> &, const View<float> &);

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
  if (to.sx != 1 || !plan.strategy->rows_in_cache) return copy(plan.exec, g.grid, mask_all, from, to);
  if (own.empty()) return;
  for (int y = own.y0; y < own.y1; ++y) { // the host likes two streams at a time better
    // whole pairs; a node may remain on each side
    const int q = 2 * (y & 1), Y = floor_half(y), X0 = (own.x0 + 1) / 2, X1 = own.x1 / 2;
    double   *even = to.q[q] + Y * to.sy, *odd = to.q[q + 1] + Y * to.sy;
    const double *row = from.q[q] + Y * from.sy;
    if (X0 < X1) forall(Exec(), {X0, X1, 0, 1}, LoadRow{row, even, odd});
    if (own.x0 & 1) odd[own.x0 / 2] = row[own.x0];
    if ((own.x1 & 1) && own.x1 - 1 >= 2 * X0) even[own.x1 / 2] = row[own.x1 - 1];
  }
}

void Lumped::apply(Plan &plan, const View<double> &out) { visit(plan, 0, out); }

bool Lumped::schur_cycle(Plan &plan, const View<double> &r, const View<double> &z, Reduction *, double *)
{
  cycle(plan, 0, r, z, z, false);
  return false;
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

// Spectrum of the preconditioned operator on grid l from a few steps of CG on a random right-hand side; false if a
// step breaks down. The values are the same on any number of processes.
static bool spectrum(Plan &plan, int l, int steps, double *lowest, double *highest)
{
  LumpedSpace space(plan, l);
  fill_random(plan.exec, space.g.grid, mask_all, 0, space.x.v);
  std::vector<double> diagonal, off;
  double              previous = 0;
  if (!cg_steps(space, steps, [&](double alpha, double beta, LumpedSpace &) {
        if (previous > 0) off.push_back(sqrt(beta) / previous);
        diagonal.push_back(1 / alpha + (previous > 0 ? beta / previous : 0));
        previous = alpha;
        return true;
      }))
    return false;
  extreme_eigenvalues(diagonal, off, lowest, highest);
  return true;
}

void Lumped::choose_cycle(Plan &plan)
{
  plan.cycle = plan.params.cycle;
  if (plan.cycle != Cycle::amli && plan.cycle != Cycle::automatic) return;
  plan.cycle = Cycle::amli;
  // From the coarsest grid up, as the cycle of a grid contains those below it.
  for (int l = (int)plan.levels.size() - 1; l > 0; --l) {
    Level &g = plan.levels[l];
    if (!g.accelerated) continue;
    double lowest = 1, highest = 2.5;
    if (!spectrum(plan, l, tuning::spectrum_steps, &lowest, &highest)) continue;
    // Lumping everything that is dropped bounds the spectrum by 1 from below (row sums are kept), rhombus lumping
    // from above. At the other end CG's value lies a little inside the spectrum: the polynomial stays definite until
    // the sum of both ends.
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
  for (size_t l = 0; l < plan.levels.size(); ++l)
    std::copy(&agreed[1 + 2 * l], &agreed[1 + 2 * l] + 2, plan.levels[l].spectrum);
}

} // namespace tessera::rrb
