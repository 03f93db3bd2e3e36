// The steps of a cycle on a grid that is whole and in one space, on the device: a kernel on the way down, one on the
// way up.
//
// Bytes per node, 5-point star, coarse values a quarter each. Down (sweep, residual, problem for the coarse grid): 4
// couplings, diagonal, its inverse, right-hand side, two bounds, x read and written, 4 coarse values: 96, where
// single steps take 200. The linear one starts from zero and has no bounds: 5 coefficients, inverse, right-hand side,
// flag, x written, 2 coarse values: 69, for 167. Up (correction, sweep):
// 8 of these, x read and written: 82, for 130; with a second sweep, active set and residual: 107, for 324. 9-point
// boxes: 32 more.
#include "vipmg/solver.hpp"
#include "vipmg/tile.hpp"
#include "exec/tile.hpp"

namespace tessera::vipmg {

namespace {

// The problem of the coarse nodes of a tile, after sweeps. Zero: x is zero before.
template <bool Nine, bool Projected, bool Masked, bool Zero> struct Down {
  Relax<Nine, Projected, Masked> relax;
  Weights                        w;
  const uint8_t                 *free;
  Layout3                        to;
  const double                  *in;
  double                        *out, *b, *lo, *up, *x;
  int                            sweeps;

  HD static Box reach(int step, int lo, int hi)
  {
    return step == 2 ? Box{2 * lo - 1, 2 * hi, 0, 1} : Box{lo, hi, 0, 1};
  }
  HD Box        residuals(const Box &coarse) const
  {
    const Box x = reach(w.step[0], coarse.x0, coarse.x1), y = reach(w.step[1], coarse.y0, coarse.y1);
    return {x.x0, x.x1, y.x0, y.x1};
  }
  HD Box read(const Box &coarse) const { return grown(residuals(coarse), 1 + sweeps * Plane<Nine>::colours); }
  size_t bytes(int columns, int rows) const
  {
    const Box c{0, columns, 0, rows};
    return (places(read(c)) + places(residuals(c))) * sizeof(double);
  }
  template <class Block> HD void operator()(Block &block) const
  {
    const Box  coarse = block.tile, all = read(coarse), wanted = residuals(coarse), nodes = relax.plane.nodes;
    const Tile tile = tile_of(block.shared, all), r = tile_of(block.shared + places(all), wanted);
    each_node(block, all,
              [&](int i, int j) { tile(i, j) = !Zero && nodes.contains(i, j) ? in[relax.plane.place(i, j)] : 0; });
    relax.template run<true>(block, tile, grown(wanted, 1), sweeps, Zero, r, wanted);
    const Box own{w.step[0] * coarse.x0, w.step[0] * coarse.x1, w.step[1] * coarse.y0, w.step[1] * coarse.y1};
    each_node(block, wanted, [&](int i, int j) {
      const bool inside = nodes.contains(i, j);
      if (inside && own.contains(i, j)) out[relax.plane.place(i, j)] = tile(i, j);
      r(i, j) = inside ? relax.residual(tile, r, i, j) : 0;
    });
    block.sync();
    each_node(block, coarse, [&](int I, int J) {
      const int ni = w.step[0] == 2, nj = w.step[1] == 2;
      double    sum = 0, l = -INFINITY, u = INFINITY;
      for (int dj = -nj; dj <= nj; ++dj) {
        const double wj = dj < 0 ? w.left[1][J] : dj > 0 ? w.right[1][J] : 1;
        for (int di = -ni; di <= ni; ++di) {
          const double weight = wj * (di < 0 ? w.left[0][I] : di > 0 ? w.right[0][I] : 1);
          const int    i = w.step[0] * I + di, j = w.step[1] * J + dj;
          sum += weight * r(i, j);
          if (Projected && weight > 0) {
            const ptrdiff_t e = relax.plane.place(i, j);
            if (!free[e]) continue; // as in restrict_problem()
            const double    below = relax.lo[e] - tile(i, j), above = relax.up[e] - tile(i, j);
            l = below > l ? below : l;
            u = above < u ? above : u;
          }
        }
      }
      const ptrdiff_t e = to.at(I, J, 0);
      b[e]              = sum;
      x[e]              = 0;
      if (Projected) lo[e] = l, up[e] = u;
    });
  }
};

// in + interpolated correction, where Prolong; sweeps; then, where Finish, the inactive nodes and the residual.
template <bool Nine, bool Projected, bool Masked, bool Prolong, bool Finish> struct Up {
  Relax<Nine, Projected, Masked> relax;
  Interpolate                    from;
  const double                  *in;
  double                        *out, *r;
  uint8_t                       *inactive;
  int                            sweeps;

  HD Box read(const Box &own) const { return grown(own, Finish + sweeps * Plane<Nine>::colours); }
  size_t bytes(const Box &own) const { return (places(read(own)) + (Finish ? places(own) : 0)) * sizeof(double); }
  HD double corrected(int i, int j) const
  {
    const ptrdiff_t e = relax.plane.place(i, j);
    double          y = in[e];
    if (!Prolong) return y;
    if (relax.inverse[relax.plane.source(i, j, e)] != 0 && (!Masked || relax.mask[e]))
      y += i & 1 ? from.template value<1>(floor_half(i), j, 0) : from.template value<0>(floor_half(i), j, 0);
    return Projected ? between(y, relax.lo[e], relax.up[e]) : y;
  }
  template <class Block> HD void operator()(Block &block, Measure &m) const
  {
    const Box  own = block.tile, all = read(own), nodes = relax.plane.nodes;
    const Tile tile = tile_of(block.shared, all), known = tile_of(block.shared + places(all), own);
    each_node(block, all, [&](int i, int j) { tile(i, j) = nodes.contains(i, j) ? corrected(i, j) : 0; });
    relax.template run<Finish>(block, tile, Finish ? grown(own, 1) : own, sweeps, false, known, own);
    each_node(block, own, [&](int i, int j) {
      const ptrdiff_t e = relax.plane.place(i, j);
      const double    x = tile(i, j);
      if (Finish) { // it reads all before it writes: writes wait for none of it then
        const double  below = relax.lo[e], above = relax.up[e], rest = relax.residual(tile, known, i, j);
        const uint8_t was = inactive[e], now = known(i, j) != INFINITY && x > below && x < above;
        m.changed += now != was;
        inactive[e] = now;
        r[e]        = rest;
      }
      out[e] = x;
    });
  }
  template <class Block> HD void operator()(Block &block) const
  {
    Measure unused;
    (*this)(block, unused);
  }
};

// The grid below with few nodes, by sweeps of one block.
template <bool Nine, bool Projected> struct Bottom {
  Relax<Nine, Projected, false> relax;
  double                       *x;
  int                           sweeps;
  template <class Block> HD void operator()(Block &block) const
  {
    const Box  nodes = relax.plane.nodes, all = grown(nodes, 1);
    const Tile tile  = tile_of(block.shared, all);
    each_node(block, all, [&](int i, int j) { tile(i, j) = nodes.contains(i, j) ? x[relax.plane.place(i, j)] : 0; });
    relax.template run<false>(block, tile, nodes, sweeps, false, tile, nodes);
    each_node(block, nodes, [&](int i, int j) { x[relax.plane.place(i, j)] = tile(i, j); });
  }
};

template <bool Nine, bool Projected, bool Masked>
Relax<Nine, Projected, Masked> relaxation(const Plan &plan, const Level &l, const Operator &op, const double *b)
{
  return {plane<Nine>(l, op),
          op.inverse.data(),
          b,
          l.lo.data(),
          l.up.data(),
          l.inactive.data(),
          Projected ? plan.params.omega : 1};
}

template <bool Nine, bool Projected, bool Masked, bool Zero> void
go_down(const Plan &plan, const Level &l, Level &c, const Operator &op, const double *b, const double *in, double *out)
{
  const Down<Nine, Projected, Masked, Zero> k{relaxation<Nine, Projected, Masked>(plan, l, op, b),
                                              weights(l),
                                              l.free.data(),
                                              c.layout,
                                              in,
                                              out,
                                              c.b.data(),
                                              c.lo.data(),
                                              c.up.data(),
                                              c.x.data(),
                                              plan.choice.pre};
  const Shape shape   = shape_for(l);
  const int   columns = shape.columns / l.step[0], rows = shape.rows / l.step[1];
  forall_tiles_of_device(plan.exec, Box{0, c.n[0], 0, c.n[1]}, columns, rows, k.bytes(columns, rows), k);
}

template <bool Nine, bool Projected, bool Masked, bool Prolong, bool Finish>
void go_up(Plan &plan, Level &l, const Level *c, const Operator &op, const double *b, const double *in, double *out,
           int sweeps)
{
  Interpolate from{};
  if (Prolong) from = {c->layout, weights(l), c->x.data()};
  const Up<Nine, Projected, Masked, Prolong, Finish> k{
    relaxation<Nine, Projected, Masked>(plan, l, op, b), from, in, out, l.r.data(), l.inactive.data(), sweeps};
  const Shape  shape = shape_for(l);
  const Box    nodes{0, l.n[0], 0, l.n[1]};
  const size_t bytes = k.bytes({0, shape.columns, 0, shape.rows});
  if (Finish) {
    plan.active.zero();
    forall_tiles_of_device(plan.exec, nodes, shape.columns, shape.rows, bytes, k, plan.active.data());
  } else forall_tiles_of_device(plan.exec, nodes, shape.columns, shape.rows, bytes, k);
}

} // namespace

bool Tiles::serve(const Plan &plan, const Level &l)
{
  const Params &p = plan.choice;
  return l.shared && p.pre == 1 && p.post >= 1 && p.post <= 2 && p.variant != Variant::klement_oberhuber;
}

void Tiles::monotone_down(Plan &plan, Level &l, Level &next) const
{
  if (l.A.box) go_down<true, true, false, false>(plan, l, next, l.A, l.b.data(), l.x.data(), l.w.data());
  else go_down<false, true, false, false>(plan, l, next, l.A, l.b.data(), l.x.data(), l.w.data());
}

ActiveSet Tiles::monotone_up(Plan &plan, Level &l, const Level &next, bool find) const
{
  const double *b = l.b.data(), *in = l.w.data();
  double       *x = l.x.data();
  const int     post = plan.choice.post;
  if (l.A.box) go_up<true, true, false, true, false>(plan, l, &next, l.A, b, in, x, post);
  else if (find) go_up<false, true, false, true, true>(plan, l, &next, l.A, b, in, x, post + 1);
  else go_up<false, true, false, true, false>(plan, l, &next, l.A, b, in, x, post);
  return find && !l.A.box ? ActiveSet::changed : ActiveSet::unknown; // eight colours would be as many layers
}

ActiveSet Tiles::find_active(Plan &plan, Level &l, Fields &f) const
{
  if (l.A.box) go_up<true, true, false, false, true>(plan, l, nullptr, l.A, l.b.data(), f.x, f.free, 1);
  else go_up<false, true, false, false, true>(plan, l, nullptr, l.A, l.b.data(), f.x, f.free, 1);
  std::swap(f.x, f.free);
  return ActiveSet::changed;
}

void Tiles::linear_down(Plan &plan, Level &l, Level &next, const Equation &e, bool first) const
{
  if (!first) return GridSolver::linear_down(plan, l, next, e, first);
  if (!e.correction) go_down<true, false, false, true>(plan, l, next, e.A, e.b, nullptr, e.r);
  else if (l.A.box) go_down<true, false, true, true>(plan, l, next, e.A, e.b, nullptr, e.r);
  else go_down<false, false, true, true>(plan, l, next, e.A, e.b, nullptr, e.r);
}

void Tiles::linear_up(Plan &plan, Level &l, const Level &next, const Equation &e, bool first) const
{
  const int post = plan.choice.post;
  if (!first) return GridSolver::linear_up(plan, l, next, e, first);
  if (!e.correction) go_up<true, false, false, true, false>(plan, l, &next, e.A, e.b, e.r, e.x, post);
  else if (l.A.box) go_up<true, false, true, true, false>(plan, l, &next, e.A, e.b, e.r, e.x, post);
  else go_up<false, false, true, true, false>(plan, l, &next, e.A, e.b, e.r, e.x, post);
}

namespace {

size_t bytes_of_block(const Level &l) { return places(grown({0, l.n[0], 0, l.n[1]}, 1)) * sizeof(double); }

} // namespace

bool OneBlock::serves(const Level &l) { return bytes_of_block(l) <= 32 * 1024; }

void OneBlock::solve(const Plan &plan, Level &l, const Operator &op, bool projected) const
{
  const int threads = l.n[0] * l.n[1] <= 64 ? 32 : 256, sweeps = coarsest_sweeps(l);
  with_kind(2, op.box, [&](auto kind) {
    constexpr bool nine = decltype(kind)::box;
    const auto     run  = [&](auto p) {
      constexpr bool P = decltype(p)::value;
      if constexpr (device::built)
        forall_blocks(plan.exec, 1, threads, bytes_of_block(l),
                           Bottom<nine, P>{relaxation<nine, P, false>(plan, l, op, l.b.data()), l.x.data(), sweeps});
    };
    if (projected) run(std::true_type());
    else run(std::false_type());
  });
}

} // namespace tessera::vipmg
