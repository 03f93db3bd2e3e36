// The cycles on small grids as matrices.
#include "box/tuning.hpp"
#include "rrb/multigrid/kernels.hpp"
#include "rrb/multigrid/march.hpp"
#include "exec/tile.hpp"

namespace tessera::rrb {

namespace {

// Columns of the cycle by points from a small grid down, as a matrix on its nodes in natural order; the cycle from
// the next grid down is a matrix already. A unit vector's fields lie in a block's scratch; up to the next grid they
// are zero but near its node.
template <class T> struct CycleColumns {
  static constexpr int columns = 2; // of a block, 1 or 2
  // cells, and nodes of the next grid, that the node reaches
  static constexpr int near = 2, reach = 2, side = 2 * reach + 1;
  StencilView<T> A;
  View<T>        edge[2], centre[4];
  Layout         layout;
  Box            own[4];
  int            shift; // quarters are at most 1 << shift nodes wide
  int            n, width, nx, next_n, next_width, next_nx, next_ny;
  const T       *next_matrix;
  const int     *next_node, *next_number;
  const T       *inject;
  T              relax[4];
  T             *matrix;
  size_t               bytes() const
  {
    return columns * (7 * (size_t)layout.plane + side * side) * sizeof(T) + columns * side * side * sizeof(int);
  }

  struct Column {
    int     x, y; // its node
    View<T> v, r; // solution; residual at o and b, correction at c
    T      *b;    // next right-hand side,
    int    *k;    // and its unknowns
    HD bool is(int q, int X, int Y) const { return q == (x & 1) + 2 * (y & 1) && X == x / 2 && Y == y / 2; }
  };
  template <class Block> HD Column column(const Block &block, int i) const
  {
    const int first = block.tile.y0 * columns, x0 = first % nx, x = x0 + i < nx ? x0 + i : x0 + i - nx,
              y            = first / nx + (x0 + i >= nx);
    const ptrdiff_t plane = layout.plane;
    T *const        memory = (T *)block.shared + 7 * plane * i, *const lists = (T *)block.shared + 7 * plane * columns;
    Column c{
      x, y, layout.view(memory), {}, lists + side * side * i, (int *)(lists + side * side * columns) + side * side * i};
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
    const T         d = A.C.q[Q][p], v = (T)c.is(Q, X, Y) - couplings<Q, 1, MASK, lines_none>(A, c.v, p),
            more = Q == quarter_c ? relax[Q] * inject[p] : relax[Q];
    c.v.q[Q][p] = d > 0 ? v / d + more * (v / d - c.v.q[Q][p]) : 0;
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
      const Restrict<1, T> restriction{
        A, {},
         c.v, c.r, {edge[0], edge[1]},
         {centre[0], centre[1], centre[2], centre[3]},
         {},
         false
      };
      c.b[k] = restriction.value(X, Y, (T)c.is(3, X, Y));
      if (relax[1] != 0) { // a's residual is this share of what it has been given
        const ptrdiff_t p = X + Y * A.C.sy, north = p + A.C.sy;
        c.b[k] -=
          relax[1] / (1 + relax[1]) *
          (edge[1].q[1][p] * A.C.q[1][p] * c.v.q[1][p] + edge[0].q[1][north] * A.C.q[1][north] * c.v.q[1][north]);
      }
      c.k[k] = next_number[X + Y * next_nx];
    });
    block.sync();
    block.each(0, next_n, 0, count, [&](int i, int j) {
      const Column c = column(block, j);
      T            v = 0;
      // it is symmetric
      for (int k = 0; k < side * side; ++k) v += next_matrix[(ptrdiff_t)c.k[k] * next_width + i] * c.b[k];
      c.r.q[3][next_node[2 * i] + next_node[2 * i + 1] * c.r.sy] = v;
    });
    block.sync();
    each_all(block, count, 3,
             [&](const Column &c, int X, int Y) { Prolong<3, 1, T>{c.r.q[3], {}, c.v.q[3], c.v.sy}(X, Y); });
    each_all(block, count, 0, [&](const Column &c, int X, int Y) {
      Prolong<0, 1, T>{
        c.r.q[3], {centre[0].q[0], centre[1].q[0], centre[2].q[0], centre[3].q[0]},
         c.v.q[0], c.v.sy
      }(X, Y);
    });
    each_all(block, count, 2, [&](const Column &c, int X, int Y) {
      Prolong<2, 1, T>{
        c.r.q[3], {edge[0].q[2], edge[1].q[2]},
         c.v.q[2], c.v.sy
      }(X, Y);
    });
    if (relax[1] != 0)
      each_all(block, count, 1, [&](const Column &c, int X, int Y) {
        Prolong<1, 1, T>{
          c.r.q[3], {edge[0].q[1], edge[1].q[1]},
           c.v.q[1], c.v.sy
        }(X, Y);
      });
    block.sync();
    up<1>(block, count), up<2>(block, count), up<0>(block, count), up<3>(block, count);
    block.each(0, n, 0, count, [&](int i, int j) {
      matrix[(ptrdiff_t)(block.tile.y0 * columns + j) * width + i] = column(block, j).v.at(i % nx, i / nx);
    });
  }
};

// The same for any cycle, along lines and with AMLI too, a column a block: the kernels of the cycle on fields in its
// scratch. Lines are solved by a thread each.
template <class T> struct CycleColumn {
  StencilView<T>      A;
  StencilView<double> exact; // the same, for the pivots of lines
  View<T>             edge[2], centre[4];
  Layout              layout, next_layout;
  Box                 own[4];
  bool                along_x, along_y; // lines; neither: by points
  int                 n, width, nx, ny, next_n, next_width;
  int                 steps;        // of AMLI, or one
  T                   theta, delta; // centre and half of its interval
  const T            *next_matrix;
  const int          *next_node;
  const T            *inject;
  T                   relax[4];
  T                  *matrix;
  size_t              field, next_field; // elements of one
  // b, x, r; inverse pivots and couplings along x and y; AMLI's direction and sum
  HD size_t      fields() const { return (along_x || along_y ? 7 : 3) + (steps > 1 ? 2 : 0); }
  size_t         bytes() const { return (fields() * field + 2 * next_field + (size_t)next_n) * sizeof(T); }
  template <int Q, int MASK, class Block> HD void colour(Block &block, const View<T> &b, const View<T> &x) const
  {
    block.each(own[Q].x0, own[Q].x1, own[Q].y0, own[Q].y1,
               Colour<Q, 1, MASK, T>{A, b, x, relax[Q], Q == quarter_c ? inject : nullptr});
    block.sync();
  }
  // Place in a field.
  HD ptrdiff_t at(int x, int y) const
  {
    return ((x & 1) + 2 * (y & 1)) * layout.plane + 7 - layout.x0 - layout.y0 * layout.ld + (x >> 1) +
           (y >> 1) * layout.ld;
  }
  template <int DIR> HD ptrdiff_t on_line(int line, int i) const { return DIR == lines_y ? at(line, i) : at(i, line); }
  template <int Q, class Block> HD void couplings_along(Block &block, T *ex, T *ey) const
  {
    const View<T> vx = layout.view(ex), vy = layout.view(ey);
    block.each(own[Q].x0, own[Q].x1, own[Q].y0, own[Q].y1, [&](int X, int Y) {
      const ptrdiff_t p = X + Y * A.C.sy;
      vx.q[Q][p] = coefficient<Q, 3, 1>(A, p, A.C.sy);
      vy.q[Q][p] = coefficient<Q, 1, 1>(A, p, A.C.sy);
    });
  }
  template <int DIR, int P> HD void factor(int line, T *inverse) const
  {
    constexpr int   Q0 = DIR == lines_y ? P : 2 * P, Q1 = Q0 + (DIR == lines_y ? 2 : 1), K = DIR == lines_y ? 1 : 3;
    const int       length = DIR == lines_y ? ny : nx;
    const ptrdiff_t r = exact.C.sy;
    double          d = 0;
    for (int i = 0; i < length; ++i) {
      const ptrdiff_t p = DIR == lines_y ? (line >> 1) + (i >> 1) * r : (i >> 1) + (line >> 1) * r;
      const double    e              = i & 1 ? coefficient<Q1, K, 1>(exact, p, r) : coefficient<Q0, K, 1>(exact, p, r),
                   c                 = i & 1 ? exact.C.q[Q1][p] : exact.C.q[Q0][p];
      d = inverse_pivot(c, c - (i ? e * e * d : 0), tuning::singular_pivot);
      inverse[on_line<DIR>(line, i)] = (T)d;
    }
  }
  template <int Q, int DIR, class Block> HD void side(Block &block, const View<T> &b, const View<T> &x) const
  {
    block.each(own[Q].x0, own[Q].x1, own[Q].y0, own[Q].y1, [&](int X, int Y) {
      const ptrdiff_t p = X + Y * A.C.sy;
      x.q[Q][p]         = b.q[Q][p] - couplings<Q, 1, mask_all, DIR>(A, x, p);
    });
  }
  template <int DIR, int P, class Block>
  HD void lines(Block &block, const View<T> &b, const View<T> &x, T *values, const T *inverse, const T *e) const
  {
    constexpr int Q0 = DIR == lines_y ? P : 2 * P, Q1 = Q0 + (DIR == lines_y ? 2 : 1);
    const int     length = DIR == lines_y ? ny : nx, count = DIR == lines_y ? nx : ny;
    side<Q0, DIR>(block, b, x), side<Q1, DIR>(block, b, x);
    block.sync();
    block.each(0, (count + 1 - P) / 2, 0, 1, [&](int k, int) {
      T w = 0, d = 0;
      for (int i = 0; i < length; ++i) {
        const ptrdiff_t p = on_line<DIR>(2 * k + P, i);
        w = values[p] -= i ? e[p] * d * w : 0;
        d = inverse[p];
      }
      T next = 0, above = 0;
      for (int i = length - 1; i >= 0; --i) {
        const ptrdiff_t p = on_line<DIR>(2 * k + P, i);
        next  = values[p] = inverse[p] * (values[p] - above * next);
        above = e[p];
      }
    });
    block.sync();
  }
  template <class Block> HD void smooth(Block &block, const View<T> &b, const View<T> &x, T *memory, bool reverse) const
  {
    T *const values = memory + field, *const ix = memory + 3 * field, *const iy = ix + field, *const ex = iy + field,
             *const ey = ex + field;
    if (along_x && reverse)
      lines<lines_x, 0>(block, b, x, values, ix, ex), lines<lines_x, 1>(block, b, x, values, ix, ex);
    if (along_y && reverse)
      lines<lines_y, 0>(block, b, x, values, iy, ey), lines<lines_y, 1>(block, b, x, values, iy, ey);
    if (along_y && !reverse)
      lines<lines_y, 1>(block, b, x, values, iy, ey), lines<lines_y, 0>(block, b, x, values, iy, ey);
    if (along_x && !reverse)
      lines<lines_x, 1>(block, b, x, values, ix, ex), lines<lines_x, 0>(block, b, x, values, ix, ex);
  }
  // x := one cycle for b
  template <class Block> HD void cycle(Block &block, T *memory) const
  {
    const bool    along_lines = along_x || along_y;
    const View<T> b = layout.view(memory), x = layout.view(memory + field), r = layout.view(memory + 2 * field);
    T *const      after = memory + fields() * field;
    const View<T> bn = next_layout.view(after), xn = next_layout.view(after + next_field);
    block.each(0, (int)field, 0, 1, [&](int i, int) { memory[field + i] = 0; });
    block.sync();
    if (along_lines) smooth(block, b, x, memory, false);
    else
      colour<3, before(3)>(block, b, x), colour<0, before(0)>(block, b, x), colour<2, before(2)>(block, b, x),
        colour<1, before(1)>(block, b, x);
    block.each(own[0].x0, own[0].x1, own[0].y0, own[0].y1, Residual<0, 1, T>{A, b, x, r});
    block.each(own[2].x0, own[2].x1, own[2].y0, own[2].y1, Residual<2, 1, T>{A, b, x, r});
    // else zero there
    if (along_lines) block.each(own[1].x0, own[1].x1, own[1].y0, own[1].y1, Residual<1, 1, T>{A, b, x, r});
    block.sync();
    const Restrict<1, T> restriction{
      A, b, x, r, {edge[0], edge[1]},
          {centre[0], centre[1], centre[2], centre[3]},
          bn, false
    };
    block.each(own[3].x0, own[3].x1, own[3].y0, own[3].y1, [&](int X, int Y) {
      bn.at(X, Y) = restriction.value(X, Y) + (along_lines ? restriction.from_a(X, Y) : 0);
    });
    block.sync();
    T *const flat = after + 2 * next_field;
    block.each(0, next_n, 0, 1, [&](int k, int) { flat[k] = bn.at(next_node[2 * k], next_node[2 * k + 1]); });
    block.sync();
    block.each(0, next_n, 0, 1, [&](int i, int) {
      const T *column = next_matrix + i; // it is symmetric
      T        v = 0, u = 0;
      int      k = 0;
      for (; k + 3 < next_n; k += 4) {
        const T a0 = column[(ptrdiff_t)k * next_width], a1 = column[(ptrdiff_t)(k + 1) * next_width],
                a2 = column[(ptrdiff_t)(k + 2) * next_width], a3 = column[(ptrdiff_t)(k + 3) * next_width];
        v += a0 * flat[k] + a1 * flat[k + 1];
        u += a2 * flat[k + 2] + a3 * flat[k + 3];
      }
      for (; k < next_n; ++k) v += column[(ptrdiff_t)k * next_width] * flat[k];
      xn.at(next_node[2 * i], next_node[2 * i + 1]) = v + u;
    });
    block.sync();
    T *const e = r.q[3];
    block.each(own[3].x0, own[3].x1, own[3].y0, own[3].y1, [&](int X, int Y) { e[X + Y * r.sy] = xn.at(X, Y); });
    block.sync();
    block.each(own[3].x0, own[3].x1, own[3].y0, own[3].y1, Prolong<3, 1, T>{e, {}, x.q[3], x.sy});
    block.each(own[0].x0, own[0].x1, own[0].y0, own[0].y1,
               Prolong<0, 1, T>{
                 e, {centre[0].q[0], centre[1].q[0], centre[2].q[0], centre[3].q[0]},
                  x.q[0], x.sy
    });
    block.each(own[2].x0, own[2].x1, own[2].y0, own[2].y1,
               Prolong<2, 1, T>{
                 e, {edge[0].q[2], edge[1].q[2]},
                  x.q[2], x.sy
    });
    // else a is smoothed first
    if (along_lines)
      block.each(own[1].x0, own[1].x1, own[1].y0, own[1].y1,
                 Prolong<1, 1, T>{
                   e, {edge[0].q[1], edge[1].q[1]},
                    x.q[1], x.sy
      });
    block.sync();
    if (along_lines) smooth(block, b, x, memory, true);
    else
      colour<1, mask_all>(block, b, x), colour<2, mask_all>(block, b, x), colour<0, mask_all>(block, b, x),
        colour<3, mask_all>(block, b, x);
  }
  template <int Q, class Block> HD void subtract(Block &block, const View<T> &d, const View<T> &b) const
  {
    block.each(own[Q].x0, own[Q].x1, own[Q].y0, own[Q].y1, Residual<Q, 1, T>{A, b, d, b});
  }
  template <class Block> HD void operator()(Block &block) const
  {
    const int j = block.tile.y0;
    T *const memory = (T *)block.shared, *const x = memory + field, *const d = memory + (fields() - 2) * field,
             *const sum = d + field;
    block.each(0, (int)(fields() * field + 2 * next_field), 0, 1, [&](int i, int) { memory[i] = 0; });
    block.sync();
    block.each(0, 1, 0, 1, [&](int, int) { memory[at(j % nx, j / nx)] = 1; });
    if (along_x || along_y) {
      T *const ix = memory + 3 * field, *const iy = ix + field, *const ex = iy + field, *const ey = ex + field;
      couplings_along<0>(block, ex, ey), couplings_along<1>(block, ex, ey), couplings_along<2>(block, ex, ey),
        couplings_along<3>(block, ex, ey);
      block.each(0, nx + ny, 0, 1, [&](int k, int) { // the columns, then the rows
        if (k < nx) k & 1 ? factor<lines_y, 1>(k, iy) : factor<lines_y, 0>(k, iy);
        else (k - nx) & 1 ? factor<lines_x, 1>(k - nx, ix) : factor<lines_x, 0>(k - nx, ix);
      });
    }
    block.sync();
    cycle(block, memory);
    const T sigma = theta / delta;
    T       rho = 1 / sigma;
    for (int k = 1; k < steps; ++k) { // as amli_cycle()
      const T       next = 1 / (2 * sigma - rho);
      const View<T> vd = layout.view(d), vb = layout.view(memory);
      if (k == 1) {
        block.each(0, (int)field, 0, 1, [&](int i, int) { sum[i] = d[i] = x[i] / theta; });
        block.sync();
      }
      subtract<0>(block, vd, vb), subtract<1>(block, vd, vb), subtract<2>(block, vd, vb), subtract<3>(block, vd, vb);
      block.sync();
      cycle(block, memory);
      block.each(0, (int)field, 0, 1,
                 [&](int i, int) { sum[i] += d[i] = 2 * next / delta * x[i] + next * rho * d[i]; });
      block.sync();
      rho = next;
    }
    const T *const result = steps > 1 ? sum : x;
    block.each(0, n, 0, 1, [&](int i, int) { matrix[(ptrdiff_t)j * width + i] = result[at(i % nx, i / nx)]; });
  }
};

} // namespace

template <class T> void Multigrid<T>::dense_cycles(Plan &plan)
{
  bool below = plan.strategy->dense_cycles; // the next grid is a matrix
  for (int l = (int)levels.size() - 1; l > 0; --l) {
    Level             &g = plan.levels[(size_t)l];
    MultigridLevel<T> &s = levels[(size_t)l];
    if (g.step == Step::solve) {
      below = below && !plan.eliminate_last_red && g.grid.size() <= tuning::dense_cycle;
      continue;
    }
    const bool accelerated = g.accelerated && plan.cycle != Cycle::v,
               simple      = s.sweeping == Sweeping::march && !accelerated;
    below = below && g.step == Step::coarsen && !s.of_schur && g.halo.empty() && s.sweeps == 1 &&
            !g.layout.natural && !(accelerated && plan.cycle == Cycle::k) && g.grid.size() <= tuning::dense_cycle;
    CycleColumns<T> few{};
    CycleColumn<T>  one{};
    if (below) {
      const Level      &next = plan.levels[(size_t)l + 1];
      const Inverse<T> *inverse = &levels[(size_t)l + 1].whole;
      if (next.step == Step::solve) inverse = &plan.remainder.inverse<T>();
      auto fill = [&](auto &k) {
        k.A = s.a.view();
        k.inject = g.layout.view(s.inject.data(), quarter_c).q[3];
        for (int i = 0; i < 2; ++i) k.edge[i] = g.layout.view(s.edge[i].data(), quarter_a);
        for (int i = 0; i < 4; ++i) k.centre[i] = g.layout.view(s.centre[i].data());
        for (int q = 0; q < 4; ++q) k.own[q] = g.grid.owned(q), k.relax[q] = (T)relaxation[q];
        k.layout = g.layout;
        k.n = (int)g.grid.size(), k.nx = g.grid.nx, k.next_n = inverse->size(), k.next_width = inverse->width();
        k.next_matrix = inverse->data(), k.next_node = inverse->nodes();
      };
      if (simple) {
        fill(few);
        for (few.shift = 0; 1 << few.shift < (few.nx + 1) / 2;) ++few.shift;
        few.next_nx = next.grid.nx, few.next_ny = next.grid.ny, few.next_number = inverse->numbers();
      } else {
        fill(one);
        one.ny = g.grid.ny, one.next_layout = next.layout;
        one.field = g.layout.elements(4), one.next_field = next.layout.elements(4);
        one.along_x = uses(s.smoother, lines_x), one.along_y = uses(s.smoother, lines_y);
        one.steps = accelerated ? plan.params.inner : 1;
        one.theta = (T)(g.spectrum[1] + g.spectrum[0]) / 2, one.delta = (T)(g.spectrum[1] - g.spectrum[0]) / 2;
        if constexpr (std::is_same_v<T, double>) one.exact = one.A;
        else one.exact = work[(size_t)l].a.view();
      }
    }
    below = below && (simple ? few.bytes() : one.bytes()) <= device::block_scratch();
    if (!device::built || !below) {
      s.whole.clear();
      continue;
    }
    T *const matrix = s.whole.matrix((int)g.grid.size(), g.grid.nx);
    few.matrix = one.matrix = matrix, few.width = one.width = s.whole.width();
    if (simple) forall_blocks(plan.exec, (few.n + few.columns - 1) / few.columns, 256, few.bytes(), few);
    else forall_blocks(plan.exec, one.n, 256, one.bytes(), one);
  }
}

template void Multigrid<double>::dense_cycles(Plan &);
template void Multigrid<float>::dense_cycles(Plan &);

} // namespace tessera::rrb
