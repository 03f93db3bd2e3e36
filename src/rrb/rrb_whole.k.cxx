// The cycles on small grids as matrices.
#include "core/tuning.hpp"
#include "rrb/galerkin_kernels.hpp"
#include "rrb/rrb_march.hpp"

namespace tessera::rrb {

namespace {

// Columns of the cycle by points from a small grid down, as a matrix on its nodes in natural order; the cycle from the next grid
// down is a matrix already. A unit vector's fields lie in a block's scratch; up to the next grid they are zero but near its node.
template <class T> struct CycleColumns {
  static constexpr int columns = 2; // of a block, 1 or 2
  static constexpr int near = 2, reach = 2, side = 2 * reach + 1; // cells, and nodes of the next grid, that the node reaches
  StencilView<T> A;
  View<T>        edge[2], centre[4];
  Layout         layout;
  Box            own[4];
  int            shift; // quarters are at most 1 << shift nodes wide
  int            n, nx, next_n, next_nx, next_ny;
  const T       *next_matrix;
  const int     *next_node, *next_number;
  T             *matrix;
  size_t bytes() const { return columns * (7 * (size_t)layout.plane + side * side) * sizeof(T) + columns * side * side * sizeof(int); }

  struct Column {
    int     x, y; // its node
    View<T> v, r; // solution; residual at o and b, correction at c
    T      *b;    // next right-hand side,
    int    *k;    // and its unknowns
    HD bool is(int q, int X, int Y) const { return q == (x & 1) + 2 * (y & 1) && X == x / 2 && Y == y / 2; }
  };
  template <class Block> HD Column column(const Block &block, int i) const
  {
    const int       first = block.tile.y0 * columns, x0 = first % nx, x = x0 + i < nx ? x0 + i : x0 + i - nx, y = first / nx + (x0 + i >= nx);
    const ptrdiff_t plane = layout.plane;
    T *const        memory = (T *)block.shared + 7 * plane * i, *const lists = (T *)block.shared + 7 * plane * columns;
    Column          c{x, y, layout.view(memory), {}, lists + side * side * i, (int *)(lists + side * side * columns) + side * side * i};
    c.r.q[0] = c.v.q[0] + 4 * plane, c.r.q[2] = c.v.q[0] + 5 * plane, c.r.q[3] = c.v.q[0] + 6 * plane;
    c.r.sx = c.v.sx, c.r.sy = c.v.sy;
    return c;
  }
  // f(column, X, Y) on the cells of a quarter, all of them or those near the node.
  template <class Block, class F> HD void each_near(Block &block, int count, int q, const F &f) const
  {
    constexpr int w = 2 * near + 1;
    block.each(0, w * count, 0, w, [&](int i, int y) {
      const Column c = column(block, i / w);
      const int    X = c.x / 2 - near + i % w, Y = c.y / 2 - near + y;
      if (own[q].contains(X, Y)) f(c, X, Y);
    });
  }
  template <class Block, class F> HD void each_all(Block &block, int count, int q, const F &f) const
  {
    const int mask = (1 << shift) - 1, h = own[q].y1 - own[q].y0; // no divisions: they would take most of the time
    block.each(0, (h * count) << shift, 0, 1, [&](int t, int) {
      const int i = (t >> shift) >= h, X = own[q].x0 + (t & mask), Y = own[q].y0 + (t >> shift) - i * h;
      if (X < own[q].x1) f(column(block, i), X, Y);
    });
  }
  template <int Q, int MASK> HD void colour(const Column &c, int X, int Y) const
  {
    const ptrdiff_t p = X + Y * A.C.sy;
    const T         d = A.C.q[Q][p], v = (T)c.is(Q, X, Y) - couplings<Q, 1, MASK, lines_none>(A, c.v, p);
    c.v.q[Q][p] = d > 0 ? v / d : 0;
  }
  template <int Q, class Block> HD void down(Block &block, int count) const
  {
    each_near(block, count, Q, [&](const Column &c, int X, int Y) { colour<Q, before(Q)>(c, X, Y); });
    block.sync();
  }
  template <int Q, class Block> HD void up(Block &block, int count) const
  {
    each_all(block, count, Q, [&](const Column &c, int X, int Y) { colour<Q, mask_all>(c, X, Y); });
    block.sync();
  }
  template <int Q> HD void residual(const Column &c, int X, int Y) const
  {
    const ptrdiff_t p = X + Y * A.C.sy;
    c.r.q[Q][p] = (T)c.is(Q, X, Y) - A.C.q[Q][p] * c.v.q[Q][p] - couplings<Q, 1, mask_all, lines_none>(A, c.v, p);
  }
  template <class Block> HD void operator()(Block &block) const
  {
    const int left = n - block.tile.y0 * columns, count = left < columns ? left : columns;
    T *const  memory = (T *)block.shared;
    block.each(0, (int)(7 * layout.plane) * count, 0, 1, [&](int i, int) { memory[i] = 0; });
    block.sync();
    down<3>(block, count), down<0>(block, count), down<2>(block, count), down<1>(block, count);
    each_near(block, count, 0, [&](const Column &c, int X, int Y) { residual<0>(c, X, Y); });
    each_near(block, count, 2, [&](const Column &c, int X, int Y) { residual<2>(c, X, Y); });
    block.sync();
    block.each(0, side * side, 0, count, [&](int k, int i) {
      const Column c = column(block, i);
      const int    X = floor_half(c.x - 1) - reach + k % side, Y = floor_half(c.y - 1) - reach + k / side;
      c.b[k] = 0, c.k[k] = 0;
      if (X < 0 || Y < 0 || X >= next_nx || Y >= next_ny) return;
      const Restrict<1, T> restriction{A, {}, c.v, c.r, {edge[0], edge[1]}, {centre[0], centre[1], centre[2], centre[3]}, {}, false};
      c.b[k] = restriction.value(X, Y, (T)c.is(3, X, Y));
      c.k[k] = next_number[X + Y * next_nx];
    });
    block.sync();
    block.each(0, next_n, 0, count, [&](int i, int j) {
      const Column c = column(block, j);
      T            v = 0;
      for (int k = 0; k < side * side; ++k) v += next_matrix[(ptrdiff_t)c.k[k] * next_n + i] * c.b[k]; // it is symmetric
      c.r.q[3][next_node[2 * i] + next_node[2 * i + 1] * c.r.sy] = v;
    });
    block.sync();
    each_all(block, count, 3, [&](const Column &c, int X, int Y) { Prolong<3, 1, T>{c.r.q[3], {}, c.v.q[3], c.v.sy}(X, Y); });
    each_all(block, count, 0, [&](const Column &c, int X, int Y) { Prolong<0, 1, T>{c.r.q[3], {centre[0].q[0], centre[1].q[0], centre[2].q[0], centre[3].q[0]}, c.v.q[0], c.v.sy}(X, Y); });
    each_all(block, count, 2, [&](const Column &c, int X, int Y) { Prolong<2, 1, T>{c.r.q[3], {edge[0].q[2], edge[1].q[2]}, c.v.q[2], c.v.sy}(X, Y); });
    block.sync();
    up<1>(block, count), up<2>(block, count), up<0>(block, count), up<3>(block, count);
    block.each(0, n, 0, count, [&](int i, int j) { matrix[(ptrdiff_t)(block.tile.y0 * columns + j) * n + i] = column(block, j).v.at(i % nx, i / nx); });
  }
};

} // namespace

template <class T> void galerkin_whole(Plan &plan)
{
  auto            &grids = hierarchy<T>(plan);
  bool             below = plan.exec.space == Space::cuda; // the next grid is a matrix
  for (int l = (int)grids.size() - 1; l > 0; --l) {
    Level        &g = plan.levels[(size_t)l];
    Smoothing<T> &s = grids[(size_t)l];
    if (g.step == Step::solve) {
      below = below && !plan.half && g.grid.size() <= tuning::dense_cycle;
      continue;
    }
    CycleColumns<T> k{};
    if (below && g.step == Step::coarsen && !s.of_schur) {
      const Level         &next = plan.levels[(size_t)l + 1];
      const Inverse<T>    *inverse = &grids[(size_t)l + 1].whole;
      if constexpr (std::is_same_v<T, double>) inverse = next.step == Step::solve ? &plan.inverse64 : inverse;
      else inverse = next.step == Step::solve ? &plan.inverse32 : inverse;
      k.layout = g.layout;
      k.n = (int)g.grid.size(), k.nx = g.grid.nx, k.next_n = inverse->size(), k.next_nx = next.grid.nx, k.next_ny = next.grid.ny;
      k.next_matrix = inverse->data(), k.next_node = inverse->nodes(), k.next_number = inverse->numbers();
    }
    below = below && marches<T>(plan, l) && !s.of_schur && !(g.accelerated && plan.cycle != Cycle::v) && g.grid.size() <= tuning::dense_cycle && k.bytes() <= device::block_scratch();
    if (!below) {
      s.whole.clear();
      continue;
    }
    k.A = s.a.view();
    for (int i = 0; i < 2; ++i) k.edge[i] = g.layout.view(s.edge[i].data(), quarter_a);
    for (int i = 0; i < 4; ++i) k.centre[i] = g.layout.view(s.centre[i].data());
    for (int q = 0; q < 4; ++q) k.own[q] = g.grid.owned(q);
    for (k.shift = 0; 1 << k.shift < (k.nx + 1) / 2;) ++k.shift;
    k.matrix = s.whole.matrix(k.n, k.nx);
    forall_blocks(plan.exec, (k.n + k.columns - 1) / k.columns, 256, k.bytes(), k);
  }
}

template void galerkin_whole<double>(Plan &);
template void galerkin_whole<float>(Plan &);
} // namespace tessera::rrb
