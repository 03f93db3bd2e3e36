// The cycles on small grids as matrices.
#include "core/tuning.hpp"
#include "rrb/galerkin_kernels.hpp"
#include "rrb/rrb_march.hpp"

namespace tessera::rrb {

namespace {

// Column j of the cycle by points from a small grid down, as a matrix on its nodes in natural order: the kernels of the cycle on
// fields in a block's scratch. The cycle from the next grid down is a matrix already.
template <class T> struct CycleColumn {
  StencilView<T> A;
  View<T>        edge[2], centre[4];
  Layout         layout, next_layout;
  Box            own[4];
  int            n, nx, next_n;
  const T       *next_matrix;
  const int     *next_node;
  T             *matrix;
  size_t         field, next_field; // elements of one
  size_t         bytes() const { return (3 * field + 2 * next_field + (size_t)next_n) * sizeof(T); }
  template <int Q, int MASK, class Block> HD void colour(Block &block, const View<T> &b, const View<T> &x) const
  {
    block.each(own[Q].x0, own[Q].x1, own[Q].y0, own[Q].y1, Colour<Q, 1, MASK, T>{A, b, x});
    block.sync();
  }
  template <class Block> HD void operator()(Block &block) const
  {
    const int     j = block.tile.y0;
    T            *memory = (T *)block.shared;
    const View<T> b = layout.view(memory), x = layout.view(memory + field), r = layout.view(memory + 2 * field);
    const View<T> bn = next_layout.view(memory + 3 * field), xn = next_layout.view(memory + 3 * field + next_field);
    block.each(0, (int)(3 * field + 2 * next_field), 0, 1, [&](int i, int) { memory[i] = 0; });
    block.sync();
    block.each(0, 1, 0, 1, [&](int, int) { b.at(j % nx, j / nx) = 1; });
    block.sync();
    colour<3, before(3)>(block, b, x), colour<0, before(0)>(block, b, x), colour<2, before(2)>(block, b, x), colour<1, before(1)>(block, b, x);
    block.each(own[0].x0, own[0].x1, own[0].y0, own[0].y1, Residual<0, 1, T>{A, b, x, r});
    block.each(own[2].x0, own[2].x1, own[2].y0, own[2].y1, Residual<2, 1, T>{A, b, x, r});
    block.sync();
    const Restrict<1, T> restriction{A, b, x, r, {edge[0], edge[1]}, {centre[0], centre[1], centre[2], centre[3]}, bn, false};
    block.each(own[3].x0, own[3].x1, own[3].y0, own[3].y1, [&](int X, int Y) { bn.at(X, Y) = restriction.value(X, Y); });
    block.sync();
    T *const flat = memory + 3 * field + 2 * next_field;
    block.each(0, next_n, 0, 1, [&](int k, int) { flat[k] = bn.at(next_node[2 * k], next_node[2 * k + 1]); });
    block.sync();
    block.each(0, next_n, 0, 1, [&](int i, int) {
      const T *column = next_matrix + i; // it is symmetric
      T        v = 0, u = 0;
      int      k = 0;
      for (; k + 3 < next_n; k += 4) {
        const T a0 = column[(ptrdiff_t)k * next_n], a1 = column[(ptrdiff_t)(k + 1) * next_n], a2 = column[(ptrdiff_t)(k + 2) * next_n], a3 = column[(ptrdiff_t)(k + 3) * next_n];
        v += a0 * flat[k] + a1 * flat[k + 1];
        u += a2 * flat[k + 2] + a3 * flat[k + 3];
      }
      for (; k < next_n; ++k) v += column[(ptrdiff_t)k * next_n] * flat[k];
      xn.at(next_node[2 * i], next_node[2 * i + 1]) = v + u;
    });
    block.sync();
    T *const e = r.q[3];
    block.each(own[3].x0, own[3].x1, own[3].y0, own[3].y1, [&](int X, int Y) { e[X + Y * r.sy] = xn.at(X, Y); });
    block.sync();
    block.each(own[3].x0, own[3].x1, own[3].y0, own[3].y1, Prolong<3, 1, T>{e, {}, x.q[3], x.sy});
    block.each(own[0].x0, own[0].x1, own[0].y0, own[0].y1, Prolong<0, 1, T>{e, {centre[0].q[0], centre[1].q[0], centre[2].q[0], centre[3].q[0]}, x.q[0], x.sy});
    block.each(own[2].x0, own[2].x1, own[2].y0, own[2].y1, Prolong<2, 1, T>{e, {edge[0].q[2], edge[1].q[2]}, x.q[2], x.sy});
    block.sync();
    colour<1, mask_all>(block, b, x), colour<2, mask_all>(block, b, x), colour<0, mask_all>(block, b, x), colour<3, mask_all>(block, b, x);
    block.each(0, n, 0, 1, [&](int i, int) { matrix[(ptrdiff_t)j * n + i] = x.at(i % nx, i / nx); });
  }
};
} // namespace

template <class T> void galerkin_whole(Plan &plan)
{
  constexpr size_t most = 200 * 1024; // bytes of a block's scratch
  auto            &grids = hierarchy<T>(plan);
  bool             below = plan.exec.space == Space::cuda; // the next grid is a matrix
  for (int l = (int)grids.size() - 1; l > 0; --l) {
    Level        &g = plan.levels[(size_t)l];
    Smoothing<T> &s = grids[(size_t)l];
    if (g.step == Step::solve) {
      below = below && !plan.half && g.grid.size() <= tuning::dense_cycle;
      continue;
    }
    CycleColumn<T> k{};
    if (below && g.step == Step::coarsen && !s.of_schur) {
      const Level         &next = plan.levels[(size_t)l + 1];
      const Inverse<T>    *inverse = &grids[(size_t)l + 1].whole;
      if constexpr (std::is_same_v<T, double>) inverse = next.step == Step::solve ? &plan.inverse64 : inverse;
      else inverse = next.step == Step::solve ? &plan.inverse32 : inverse;
      k.layout = g.layout, k.next_layout = next.layout;
      k.field = g.layout.elements(4), k.next_field = next.layout.elements(4);
      k.n = (int)g.grid.size(), k.nx = g.grid.nx, k.next_n = inverse->size();
      k.next_matrix = inverse->data(), k.next_node = inverse->nodes();
    }
    below = below && marches<T>(plan, l) && !s.of_schur && !(g.accelerated && plan.cycle != Cycle::v) && g.grid.size() <= tuning::dense_cycle && k.bytes() <= most;
    if (!below) {
      s.whole.clear();
      continue;
    }
    k.A = s.a.view();
    for (int i = 0; i < 2; ++i) k.edge[i] = g.layout.view(s.edge[i].data(), quarter_a);
    for (int i = 0; i < 4; ++i) k.centre[i] = g.layout.view(s.centre[i].data());
    for (int q = 0; q < 4; ++q) k.own[q] = g.grid.owned(q);
    k.matrix = s.whole.matrix(k.n, k.nx);
    forall_blocks(plan.exec, k.n, 256, k.bytes(), k);
  }
}

template void galerkin_whole<double>(Plan &);
template void galerkin_whole<float>(Plan &);
} // namespace tessera::rrb
