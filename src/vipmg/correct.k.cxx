// Recombination and line search on the device, with the last step and the projected correction computed where they
// are needed: three kernels. Bytes per node, 5-point star: sums for the recombination 73 (5 coefficients, v, r, x, y, a
// flag), for the line search 89 (two bounds more), the step 65; arrays for what they compute would make it 273.
#include "vipmg/solver.hpp"
#include "vipmg/tile.hpp"
#include "exec/tile.hpp"

namespace tessera::vipmg {

namespace {

// p = x - y at inactive nodes.
struct LastStep {
  const double  *x, *y;
  const uint8_t *inactive;
  HD double      operator[](ptrdiff_t q) const { return inactive[q] ? x[q] - y[q] : 0; }
};

// The correction a v + b p, projected.
struct Correction {
  LastStep      p;
  const double *v, *lo, *up;
  double        a, b;
  HD double     operator[](ptrdiff_t q) const
  {
    const double x = p.x[q];
    return between(x + (a * v[q] + b * p[q]), lo[q], up[q]) - x;
  }
};

// Sums over a tile. What a node's neighbours need of it, too, is computed once and stays in shared memory.
template <bool Nine, bool Symmetric> struct FindCombination {
  Plane<Nine>   plane;
  const double *v, *r;
  LastStep      p;
  size_t        bytes(const Box &own) const { return 2 * places(grown(own, 1)) * sizeof(double); }
  template <class Block> HD void operator()(Block &block, CombinationSums &q) const
  {
    const Box  own = block.tile, all = grown(own, 1);
    const Tile tv = tile_of(block.shared, all), tp = tile_of(block.shared + places(all), all);
    each_node(block, all, [&](int i, int j) {
      const bool      inside = plane.nodes.contains(i, j);
      const ptrdiff_t e     = plane.place(i, j);
      tv(i, j)               = inside ? v[e] : 0;
      tp(i, j)               = inside ? p[e] : 0;
    });
    block.sync();
    each_node(block, own, [&](int i, int j) {
      const ptrdiff_t e = plane.place(i, j), c = plane.source(i, j, e);
      const double    ve = tv(i, j), pe = tp(i, j);
      if (ve == 0 && pe == 0) return;
      const double av = plane.s.diagonal(c) * ve + plane.neighbours(tv, i, j, c), lv = Symmetric ? ve : av;
      const double ap = plane.s.diagonal(c) * pe + plane.neighbours(tp, i, j, c), lp = Symmetric ? pe : ap;
      q.rv += r[e] * lv;
      q.vv += lv * av;
      q.rp += r[e] * lp;
      q.vp += lv * ap;
      q.pp += lp * ap;
    });
  }
};

template <bool Nine, bool Symmetric> struct FindLength {
  Plane<Nine>   plane;
  const double *r;
  const CombinationSums         *combination;
  Correction    d;
  size_t        bytes(const Box &own) const { return places(grown(own, 1)) * sizeof(double); }
  template <class Block> HD void operator()(Block &block, CombinationSums &q) const
  {
    const Box  own = block.tile, all = grown(own, 1);
    const Tile td = tile_of(block.shared, all);
    Correction c = d;
    combination->combination(c.a, c.b);
    each_node(block, all, [&](int i, int j) { td(i, j) = plane.nodes.contains(i, j) ? c[plane.place(i, j)] : 0; });
    block.sync();
    each_node(block, own, [&](int i, int j) {
      const double de = td(i, j);
      if (de == 0) return;
      const ptrdiff_t e = plane.place(i, j), from = plane.source(i, j, e);
      const double    ad = plane.s.diagonal(from) * de + plane.neighbours(td, i, j, from), ld = Symmetric ? de : ad;
      q.rv += r[e] * ld;
      q.vv += ld * ad;
    });
  }
};

// x + t d; y := x
template <bool Symmetric> struct Step {
  const CombinationSums   *combination, *length;
  Correction    d;
  double       *x, *y;
  int           half;
  template <int P> HD void at(int, ptrdiff_t o, int, int) const
  {
    const ptrdiff_t e = o + P * (ptrdiff_t)half;
    Correction      c = d;
    combination->combination(c.a, c.b);
    const double old = d.p.x[e], step = c[e];
    x[e] = between(old + length->length(Symmetric) * step, d.lo[e], d.up[e]);
    y[e] = old;
  }
};

// *sums: what the kernel gathers on all tiles; the second of them is empty.
template <class Kernel> void gather(const Plan &plan, const Level &l, const Kernel &kernel, CombinationSums *sums)
{
  const Shape shape = shape_for(l);
  device::zero(sums + 1, sizeof(CombinationSums));
  forall_tiles_of_device(plan.exec, Box{0, l.n[0], 0, l.n[1]}, shape.columns, shape.rows,
                         kernel.bytes({0, shape.columns, 0, shape.rows}), kernel, sums);
}

template <bool Nine, bool Symmetric> void correct_with(Plan &plan, Level &l, const Correction &d)
{
  const auto p = plane<Nine>(l, l.A);
  CombinationSums *combination = plan.sums.data(), *length = combination + 2;
  gather(plan, l, FindCombination<Nine, Symmetric>{p, l.v.data(), l.r.data(), d.p}, combination);
  gather(plan, l, FindLength<Nine, Symmetric>{p, l.r.data(), combination, d}, length);
  for_nodes(plan.exec, l.layout, l.own, Step<Symmetric>{combination, length, d, l.x.data(), l.y.data(), l.layout.half});
}

} // namespace

bool Tiles::correct(Plan &plan, Level &l, const Fields &fields) const
{
  const Correction d{{fields.x, l.y.data(), l.inactive.data()}, l.v.data(), l.lo.data(), l.up.data(), 1, 0};
  with_kind(2, l.A.box, [&](auto kind) {
    using K = decltype(kind);
    if (plan.symmetric) correct_with<K::box, true>(plan, l, d);
    else correct_with<K::box, false>(plan, l, d);
  });
  return false;
}

} // namespace tessera::vipmg
