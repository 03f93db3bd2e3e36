// The cycle of the Galerkin form: sweeps of Gauss-Seidel on each grid, P' and P between them. The finest grid of a 5-point
// operator is smoothed on its first Schur complement S1, whose two quarters o and c are 5-point grids of their own.
//
// Colours go c, o, b, a before the next grid and in the reverse order after it; on S1 they go c, o, each by X + Y even, odd.
// Sweeps, residual and transfer of one grid are one pass through memory (wavefront() in exec.hpp) down and one up: 7 coefficients
// and 3 values a node of the grid; with ghost nodes to exchange, or along lines, one pass for each colour.
#include "core/tuning.hpp"
#include "rrb/rrb_march.hpp"

namespace tessera::rrb {

namespace {

//--- S1 ---------------------------------------------------------------------------------------------------------------

// What is not zero yet: nothing, the node's own quarter, the other quarter.
enum Known { known_none = 0, known_own = 1, known_other = 2, known_all = 3 };

template <int S, class T> HD inline T schur_own_o(const SchurView<T> &a, const T *o, ptrdiff_t p)
{
  return a.fo[0][p] * o[p + S] + a.fo[0][p - S] * o[p - S] + a.fo[1][p] * o[p + a.sy] + a.fo[1][p - a.sy] * o[p - a.sy];
}
template <int S, class T> HD inline T schur_own_c(const SchurView<T> &a, const T *c, ptrdiff_t p)
{
  return a.fc[0][p] * c[p + S] + a.fc[0][p - S] * c[p - S] + a.fc[1][p] * c[p + a.sy] + a.fc[1][p - a.sy] * c[p - a.sy];
}
template <int S, class T> HD inline T schur_o_from_c(const SchurView<T> &a, const T *c, ptrdiff_t p)
{
  return a.e[0][p] * c[p - S - a.sy] + a.e[1][p] * c[p - a.sy] + a.e[2][p] * c[p - S] + a.e[3][p] * c[p];
}
template <int S, class T> HD inline T schur_c_from_o(const SchurView<T> &a, const T *o, ptrdiff_t p)
{
  return a.e[3][p] * o[p] + a.e[2][p + S] * o[p + S] + a.e[1][p + a.sy] * o[p + a.sy] + a.e[0][p + S + a.sy] * o[p + S + a.sy];
}

// One colour of quarter Q: the nodes with X + Y of one parity. The others are written as they are (zero where nothing of the
// quarter is known), which is faster than leaving them out.
template <int Q, int S, int KNOWN, class T> struct SchurColour {
  SchurView<T> a;
  const T     *inverse, *r, *other, *own;
  T           *out; // the same as own: a node's neighbours in it have the other colour, or lie beyond a periodic seam
  int          parity;
  HD void      operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * a.sy;
    T               v = r[p];
    if constexpr (KNOWN & known_own) v -= Q == quarter_o ? schur_own_o<S>(a, own, p) : schur_own_c<S>(a, own, p);
    if constexpr (KNOWN & known_other) v -= Q == quarter_o ? schur_o_from_c<S>(a, other, p) : schur_c_from_o<S>(a, other, p);
    const T old = KNOWN & known_own ? own[p] : 0;
    out[p]      = ((X + Y) & 1) == parity ? v * inverse[p] : old;
  }
};

// Right-hand side of one quarter's own system.
template <int Q, int S, class T> struct SchurSide {
  SchurView<T> a;
  const T     *r, *other;
  T           *out;
  HD void      operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * a.sy;
    out[p]            = r[p] - (Q == quarter_o ? schur_o_from_c<S>(a, other, p) : schur_c_from_o<S>(a, other, p));
  }
};

template <int S, class T> struct SchurResidualO {
  SchurView<T> a;
  const T     *r, *o, *c;
  T           *out;
  HD void      operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * a.sy;
    out[p]            = r[p] - a.co[p] * o[p] - schur_own_o<S>(a, o, p) - schur_o_from_c<S>(a, c, p);
  }
};

// Writes one row of c values to the quarters of the next grid.
template <class Block, class T> HD void store_row(Block &block, const Box &c, int J, const T *row, const View<T> &next)
{
  for (int px = 0; px < 2; ++px) {
    T *z = next.q[px + 2 * (J & 1)] + floor_half(J) * next.sy;
    if (next.sx == 1) block.each(half_begin(c.x0, px), half_begin(c.x1, px), J, J + 1, [&](int I, int) { z[I] = row[2 * I + px]; });
    else block.each(half_begin(c.x0, px), half_begin(c.x1, px), J, J + 1, [&](int I, int) { z[I * next.sx] = row[2 * I + px]; });
  }
}

// The next grid's right-hand side; ro: the residual at o.
template <int S, class T> struct SchurRestrict {
  SchurView<T> a;
  const T     *r, *o, *c, *ro;
  const T     *w[4];
  View<T>      next;
  template <class Block> HD void operator()(Block &block) const
  {
    const Box tile = block.tile;
    T        *row = (T *)block.shared - tile.x0;
    for (int J = tile.y0; J < tile.y1; ++J) {
      block.each(tile.x0, tile.x1, J, J + 1, [&](int X, int Y) {
        const ptrdiff_t p = X * S + Y * a.sy, n = a.sy;
        const T         v = r[p] - a.cc[p] * c[p] - schur_own_c<S>(a, c, p) - schur_c_from_o<S>(a, o, p);
        row[X] = v + w[3][p] * ro[p] + w[2][p + S] * ro[p + S] + w[1][p + n] * ro[p + n] + w[0][p + S + n] * ro[p + S + n];
      });
      block.sync();
      store_row(block, tile, J, row, next);
      block.sync();
    }
  }
};

//--- 9-point grids ----------------------------------------------------------------------------------------------------

template <int S, class T> struct Restrict {
  StencilView<T> A;
  View<T>        b, x, r, edge[2], centre[4], next;
  bool           with_a; // the residual at a is not zero
  HD T           value(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * A.C.sy, n = A.C.sy;
    T               v = b.q[3][p] - A.C.q[3][p] * x.q[3][p] - couplings<3, S, mask_all, lines_none>(A, x, p);
    v += centre[3].q[0][p] * r.q[0][p] + centre[2].q[0][p + S] * r.q[0][p + S] + centre[1].q[0][p + n] * r.q[0][p + n] + centre[0].q[0][p + S + n] * r.q[0][p + S + n];
    return v + edge[1].q[2][p] * r.q[2][p] + edge[0].q[2][p + S] * r.q[2][p + S];
  }
  template <class Block> HD void operator()(Block &block) const
  {
    const Box tile = block.tile;
    T        *row = (T *)block.shared - tile.x0;
    for (int J = tile.y0; J < tile.y1; ++J) {
      block.each(tile.x0, tile.x1, J, J + 1, [&](int X, int Y) { row[X] = value(X, Y); });
      if (with_a)
        block.each(tile.x0, tile.x1, J, J + 1, [&](int X, int Y) {
          const ptrdiff_t p = X * S + Y * A.C.sy, n = A.C.sy;
          row[X] += edge[1].q[1][p] * r.q[1][p] + edge[0].q[1][p + n] * r.q[1][p + n];
        });
      block.sync();
      store_row(block, tile, J, row, next);
      block.sync();
    }
  }
};

// x += P e in quarter Q; e is a field of one quarter.
template <int Q, int S, class T> struct Prolong {
  const T *e;
  const T *w[4]; // o: centre; a, b: edge
  T       *x;
  ptrdiff_t n;
  HD void  operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * n;
    if constexpr (Q == quarter_c) x[p] += e[p];
    else if constexpr (Q == quarter_o) x[p] += w[0][p] * e[p - S - n] + w[1][p] * e[p - n] + w[2][p] * e[p - S] + w[3][p] * e[p];
    else if constexpr (Q == quarter_a) x[p] += w[0][p] * e[p - n] + w[1][p] * e[p];
    else x[p] += w[0][p] * e[p - S] + w[1][p] * e[p];
  }
};

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

//--- one grid ---------------------------------------------------------------------------------------------------------

Box rows(const Box &b, int y0, int y1) { return {b.x0, b.x1, std::max(b.y0, y0), std::min(b.y1, y1)}; }

template <class F> void with_stride(ptrdiff_t sx, const F &f)
{
  if (sx == 1) f(std::integral_constant<int, 1>());
  else f(std::integral_constant<int, 2>());
}

// Rows that are swept together, so that what the sweeps touch stays in the second-level cache.
int rows_at_once(const Plan &plan, const Level &g) { return std::max(1, std::min(tuning::strip_rows, tuning::wavefront_nodes / (g.layout.m + 2))) * plan.exec.threads; }

struct Span {
  int y0, y1;
};
Span span(const Grid &g) { const Box b = g.owned(); return {floor_half(b.y0), floor_half(b.y1 + 1)}; }

template <class T> class Grid9 {
public:
  Grid9(Plan &plan, int l, const View<T> &b, const View<T> &x)
    : plan_(plan), l_(l), g_(plan.levels[(size_t)l]), s_(hierarchy<T>(plan)[(size_t)l]), A_(s_.a.view()), b_(b), x_(x), r_(s_.r.v), sweeps_(sweeps(plan, false)) { }
  void down()
  {
    if (s_.smoother != Smoother::point) {
      x_zero();
      for (int i = 0; i < sweeps_; ++i) lines(false);
      for (int q = 0; q < 3; ++q) {
        residual(plan_.exec, A_, q, g_.grid.owned(q), b_, x_, r_);
        g_.halo.exchange(r_, 1 << q);
      }
      restriction(INT_MIN / 2, INT_MAX / 2, true);
      return;
    }
    std::vector<int> &kind = plan_.kind, &lag = plan_.lag;
    kind.clear(), lag.clear();
    auto add = [&](int k, int behind) { kind.push_back(k), lag.push_back(behind); };
    for (int i = 0; i < sweeps_; ++i) add(i ? 3 : 3 + 10, 2 * i), add(i ? 0 : 10, 2 * i), add(i ? 2 : 12, 2 * i + 1), add(i ? 1 : 11, 2 * i + 1);
    const int behind = 2 * sweeps_ - 1;
    add(4, behind), add(6, behind + 1), add(8, behind + 1);
    sweep();
  }
  void up()
  {
    g_.halo.exchange(r_, mask_c);
    if (s_.smoother != Smoother::point) {
      for (int q = 0; q < 4; ++q) prolong(q, g_.grid.owned(q));
      g_.halo.exchange(x_, mask_all);
      for (int i = 0; i < sweeps_; ++i) lines(true);
      return;
    }
    std::vector<int> &kind = plan_.kind, &lag = plan_.lag;
    kind.clear(), lag.clear();
    auto add = [&](int k, int behind) { kind.push_back(k), lag.push_back(behind); };
    add(9, 0); // a is not corrected: the first sweep does not look at it
    for (int i = 0; i < sweeps_; ++i) add(1, 2 * i), add(2, 2 * i + 1), add(0, 2 * i + 1), add(3, 2 * i + 2);
    sweep();
  }

private:
  void x_zero() { for (int q = 0; q < 4; ++q) forall(plan_.exec, g_.layout.whole(), ZeroKernel<T>{x_.q[q], x_.sx, x_.sy}); }
  // Phases: 0-3 the colour of a quarter, 10-13 from zero, 4 and 6 the residual at o and b, 8 the restriction, 9 the correction.
  void sweep()
  {
    const bool fused = g_.halo.empty() && plan_.exec.space == Space::host;
    const Span all = span(g_.grid);
    wavefront(plan_.lag, all.y0, all.y1, rows_at_once(plan_, g_), fused, [&](int phase, int y0, int y1) {
      const int k = plan_.kind[(size_t)phase];
      if (k == 8) return restriction(y0, y1, false);
      if (k == 9) {
        for (int q : {3, 0, 2}) prolong(q, rows(g_.grid.owned(q), y0, y1));
        if (!fused) g_.halo.exchange(x_, mask_o | mask_b | mask_c);
      } else if (k >= 4 && k < 8) {
        residual(plan_.exec, A_, k - 4, rows(g_.grid.owned(k - 4), y0, y1), b_, x_, r_);
        if (!fused) g_.halo.exchange(r_, 1 << (k - 4));
      } else {
        const int q = k % 10;
        smooth_colour(plan_.exec, A_, q, rows(g_.grid.owned(q), y0, y1), b_, x_, k >= 10);
        if (!fused) g_.halo.exchange(x_, 1 << q);
      }
    });
  }
  void lines(bool reverse)
  {
    for_lines(s_.smoother, reverse, [&](Lines direction, int parity) {
      s_.lines[0][direction == lines_y].solve(plan_.exec, A_, parity, b_, x_);
      g_.halo.exchange(x_, direction == lines_x ? (parity ? mask_b | mask_c : mask_o | mask_a) : (parity ? mask_a | mask_c : mask_o | mask_b));
    });
  }
  void restriction(int y0, int y1, bool with_a)
  {
    const View<T> next = hierarchy<T>(plan_)[(size_t)l_ + 1].b.v;
    with_stride(A_.C.sx, [&](auto stride) {
      constexpr int S = decltype(stride)::value;
      const Box     c = rows(g_.grid.owned(quarter_c), y0, y1);
      forall_strip(plan_.exec, c, 4, 1, Restrict<S, T>{A_, b_, x_, r_, {edge(0), edge(1)}, {centre(0), centre(1), centre(2), centre(3)}, next, with_a});
    });
  }
  void prolong(int q, const Box &box)
  {
    with_stride(A_.C.sx, [&](auto stride) {
      constexpr int S = decltype(stride)::value;
      const T      *e = r_.q[3];
      if (q == 0) forall(plan_.exec, box, Prolong<0, S, T>{e, {centre(0).q[0], centre(1).q[0], centre(2).q[0], centre(3).q[0]}, x_.q[0], x_.sy});
      else if (q == 1) forall(plan_.exec, box, Prolong<1, S, T>{e, {edge(0).q[1], edge(1).q[1]}, x_.q[1], x_.sy});
      else if (q == 2) forall(plan_.exec, box, Prolong<2, S, T>{e, {edge(0).q[2], edge(1).q[2]}, x_.q[2], x_.sy});
      else forall(plan_.exec, box, Prolong<3, S, T>{e, {}, x_.q[3], x_.sy});
    });
  }
  View<T> edge(int k) { return g_.layout.view(s_.edge[k].data(), quarter_a); }
  View<T> centre(int k) { return g_.layout.view(s_.centre[k].data()); }
  Plan          &plan_;
  int            l_;
  Level         &g_;
  Smoothing<T>  &s_;
  StencilView<T> A_;
  View<T>        b_, x_, r_;
  int            sweeps_;
};

// The same on S1. r and z have the quarters o and c.
template <class T> class GridS1 {
public:
  GridS1(Plan &plan, int l, const View<T> &r, const View<T> &z)
    : plan_(plan), l_(l), g_(plan.levels[(size_t)l]), s_(hierarchy<T>(plan)[(size_t)l]), a_(schur_view(g_.layout, schur_of<T>(plan, l))), h_(schur_help(g_, s_)), r_(r), z_(z), t_(place(g_.layout, s_.r.data.data())), sweeps_(sweeps(plan, true)) { }
  void down()
  {
    if (s_.smoother != Smoother::point) {
      for (int q : {0, 3}) forall(plan_.exec, g_.layout.whole(), ZeroKernel<T>{z_.q[q], z_.sx, z_.sy});
      for (int i = 0; i < sweeps_; ++i) lines(3, false), lines(0, false);
      residual_o(g_.grid.owned(0));
      restriction(INT_MIN / 2, INT_MAX / 2);
      return;
    }
    std::vector<int> &kind = plan_.kind, &lag = plan_.lag;
    kind.clear(), lag.clear();
    auto add = [&](int k, int behind) { kind.push_back(k), lag.push_back(behind); };
    for (int i = 0; i < sweeps_; ++i) add(i ? 2 : 12, 3 * i), add(i ? 3 : 13, 3 * i + 1), add(i ? 0 : 10, 3 * i + 1), add(1, 3 * i + 2);
    add(4, 3 * sweeps_), add(5, 3 * sweeps_ + 1);
    sweep();
  }
  void up()
  {
    exchange_t(3);
    if (s_.smoother != Smoother::point) {
      prolong(INT_MIN / 2, INT_MAX / 2);
      for (int i = 0; i < sweeps_; ++i) lines(0, true), lines(3, true);
      return;
    }
    std::vector<int> &kind = plan_.kind, &lag = plan_.lag;
    kind.clear(), lag.clear();
    auto add = [&](int k, int behind) { kind.push_back(k), lag.push_back(behind); };
    add(6, 0);
    for (int i = 0; i < sweeps_; ++i) add(1, 3 * i + 1), add(0, 3 * i + 2), add(3, 3 * i + 3), add(2, 3 * i + 4);
    sweep();
  }

private:
  // Phases: 0, 1 the colours of o, 2, 3 of c, 10, 12, 13 the first ones from zero, 4 the residual at o, 5 the restriction, 6 the correction.
  void sweep()
  {
    const Span all = span(g_.grid);
    wavefront(plan_.lag, all.y0, all.y1, rows_at_once(plan_, g_), g_.halo.empty() && plan_.exec.space == Space::host, [&](int phase, int y0, int y1) {
      const int k = plan_.kind[(size_t)phase];
      if (k == 4) return residual_o(rows(g_.grid.owned(0), y0, y1));
      if (k == 5) return restriction(y0, y1);
      if (k == 6) return prolong(y0, y1);
      with_stride(a_.sx, [&](auto stride) {
        constexpr int S = decltype(stride)::value;
        const int     q = k % 10 < 2 ? 0 : 3, parity = k & 1;
        const Box     box = rows(g_.grid.owned(q), y0, y1);
        const T      *d = h_.d[q], *r = r_.q[q], *other = z_.q[3 - q];
        if (k < 2) forall(plan_.exec, box, SchurColour<0, S, known_all, T>{a_, d, r, other, z_.q[0], z_.q[0], parity});
        else if (k < 4) forall(plan_.exec, box, SchurColour<3, S, known_all, T>{a_, d, r, other, z_.q[3], z_.q[3], parity});
        else if (k == 10) forall(plan_.exec, box, SchurColour<0, S, known_other, T>{a_, d, r, other, z_.q[0], z_.q[0], parity});
        else if (k == 12) forall(plan_.exec, box, SchurColour<3, S, known_none, T>{a_, d, r, other, z_.q[3], z_.q[3], parity});
        else forall(plan_.exec, box, SchurColour<3, S, known_own, T>{a_, d, r, other, z_.q[3], z_.q[3], parity});
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
      s_.lines[q == 3][direction == lines_y].solve(plan_.exec, A, parity, b, x);
      g_.halo.exchange(z_, 1 << q);
    });
  }
  void exchange_t(int q)
  {
    View<T> v = z_;
    v.q[q]    = t_;
    g_.halo.exchange(v, 1 << q);
  }
  void residual_o(const Box &box)
  {
    with_stride(a_.sx, [&](auto stride) { forall(plan_.exec, box, SchurResidualO<decltype(stride)::value, T>{a_, r_.q[0], z_.q[0], z_.q[3], t_}); });
    exchange_t(0);
  }
  void restriction(int y0, int y1)
  {
    const View<T> next = hierarchy<T>(plan_)[(size_t)l_ + 1].b.v;
    with_stride(a_.sx, [&](auto stride) {
      constexpr int S = decltype(stride)::value;
      const Box     c = rows(g_.grid.owned(quarter_c), y0, y1);
      forall_strip(plan_.exec, c, 4, 1, SchurRestrict<S, T>{a_, r_.q[3], z_.q[0], z_.q[3], t_, {w(0), w(1), w(2), w(3)}, next});
    });
  }
  void prolong(int y0, int y1)
  {
    with_stride(a_.sx, [&](auto stride) {
      constexpr int S = decltype(stride)::value;
      forall(plan_.exec, rows(g_.grid.owned(3), y0, y1), Prolong<3, S, T>{t_, {}, z_.q[3], z_.sy});
      forall(plan_.exec, rows(g_.grid.owned(0), y0, y1), Prolong<0, S, T>{t_, {w(0), w(1), w(2), w(3)}, z_.q[0], z_.sy});
    });
    g_.halo.exchange(z_, mask_o | mask_c);
  }
  const T       *w(int k) { return h_.w[k]; }
  Plan          &plan_;
  int            l_;
  Level         &g_;
  Smoothing<T>  &s_;
  SchurView<T>   a_;
  SchurHelp<T>   h_;
  View<T>        r_, z_;
  T             *t_; // residual at o, correction at c, right-hand side along lines: one after the other
  int            sweeps_;
};

template <class T> struct DifferenceKernel { // y = x - y
  const T  *x;
  T        *y;
  ptrdiff_t sx, sy;
  HD void   operator()(int X, int Y) const { y[X * sx + Y * sy] = x[X * sx + Y * sy] - y[X * sx + Y * sy]; }
};

template <class T> struct SumKernel { // y += x
  const T  *x;
  T        *y;
  ptrdiff_t sx, sy;
  HD void   operator()(int X, int Y) const { y[X * sx + Y * sy] += x[X * sx + Y * sy]; }
};

//--- all grids --------------------------------------------------------------------------------------------------------

template <class T> void visit(Plan &plan, int l);

// From level l to the next and back: its residual is in next.b, its correction goes to the field of one quarter at e.
template <class T> void coarse(Plan &plan, int l, T *e, ptrdiff_t sx, ptrdiff_t sy)
{
  visit<T>(plan, l + 1);
  copy(plan.exec, plan.levels[(size_t)l + 1].grid, mask_all, hierarchy<T>(plan)[(size_t)l + 1].x.v, plane_view(e, sx, sy));
}

// The next grid's x, for march_up(): right at ghost nodes too, by its own sweeps or by an exchange.
template <class T> void march_coarse(Plan &plan, int l)
{
  Level &next = plan.levels[(size_t)l + 1];
  visit<T>(plan, l + 1);
  const bool right = next.step == Step::gather || (marches<T>(plan, l + 1) && !(next.accelerated && plan.cycle != Cycle::v));
  if (!right) next.wide.exchange(hierarchy<T>(plan)[(size_t)l + 1].x.v, mask_all);
}

template <class T> void cycle9(Plan &plan, int l, const View<T> &b, const View<T> &x)
{
  if (marches<T>(plan, l)) {
    march_down(plan, l, b);
    march_coarse<T>(plan, l);
    return march_up(plan, l, b, x);
  }
  Grid9<T> grid(plan, l, b, x);
  const View<T> r = hierarchy<T>(plan)[(size_t)l].r.v;
  grid.down();
  coarse(plan, l, r.q[3], r.sx, r.sy);
  grid.up();
}

template <class T> void cycle_s1(Plan &plan, int l, const View<T> &r, const View<T> &z)
{
  Level        &g = plan.levels[(size_t)l];
  Smoothing<T> &s = hierarchy<T>(plan)[(size_t)l];
  const bool    loose = !s.components.empty();
  const View<T> v = s.constants.v, rest = s.rest.v;
  auto          subtract = [&](const View<T> &from, const View<T> &u) { // rest := from - S1 u
    g.halo.exchange(u, mask_o | mask_c);
    schur_product(plan.exec, g, schur_of<T>(plan, l), u, rest);
    for (int q : {0, 3}) forall(plan.exec, g.grid.owned(q), DifferenceKernel<T>{from.q[q], rest.q[q], rest.sx, rest.sy});
  };
  if (loose) {
    s.components.project(g, r, v, false);
    subtract(r, v);
  }
  const View<T> &rhs = loose ? rest : r;
  if (marches<T>(plan, l)) {
    march_down(plan, l, rhs);
    march_coarse<T>(plan, l);
    march_up(plan, l, rhs, z);
  } else {
    GridS1<T> grid(plan, l, rhs, z);
    grid.down();
    coarse(plan, l, place(g.layout, s.r.data.data()), z.sx, z.sy);
    grid.up();
  }
  if (loose) { // the same after the cycle
    for (int q : {0, 3}) forall(plan.exec, g.grid.owned(q), SumKernel<T>{v.q[q], z.q[q], z.sx, z.sy});
    subtract(r, z);
    s.components.project(g, rest, z, true);
  }
}

} // namespace

template <class T> void GalerkinSpace<T>::precondition(FieldOf<T> &u, FieldOf<T> &v)
{
  if (s.of_schur) cycle_s1(plan, l, u.v, v.v);
  else cycle9(plan, l, u.v, v.v);
}

template <class T> void GalerkinSpace<T>::multiply(FieldOf<T> &u, FieldOf<T> &v)
{
  g.halo.exchange(u.v, mask);
  if (s.of_schur) schur_product(plan.exec, g, schur_of<T>(plan, l), u.v, v.v);
  else stencil_apply(plan.exec, s.a.view(), g.grid, u.v, v.v);
}

template struct GalerkinSpace<double>;
template struct GalerkinSpace<float>;

namespace {

// x = the approximate solution on level l for the right-hand side b, both in its own fields.
template <class T> void visit(Plan &plan, int l)
{
  Level        &g = plan.levels[(size_t)l];
  Smoothing<T> &s = hierarchy<T>(plan)[(size_t)l];
  if (g.step == Step::solve) return solve_remainder(plan, s.b.v, s.x.v);
  if (!s.whole.empty()) return s.whole.solve(plan.exec, s.b.v, s.x.v);
  if (g.step == Step::gather) {
    Smoothing<T> &whole = hierarchy<T>(plan)[(size_t)l + 1];
    gather_values(plan, g, s.b.v, whole.b.v);
    visit<T>(plan, l + 1);
    const Box nodes = g.grid.around(g.grid.layers > 1 ? march_layers_x : 0);
    for (int q = 0; q < 4; ++q) forall(plan.exec, quarter_box(nodes, q), CopyKernel<T, T>{whole.x.v.q[q], s.x.v.q[q], whole.x.v.sx, whole.x.v.sy, s.x.v.sx, s.x.v.sy});
  } else if (g.accelerated && plan.cycle != Cycle::v) {
    GalerkinSpace<T> space(plan, l);
    if (plan.cycle == Cycle::k) k_cycle(space, plan.params.inner);
    else amli_cycle(space, plan.params.inner, g.spectrum[0], g.spectrum[1]);
  } else cycle9(plan, l, s.b.v, s.x.v);
}

// The whole of M on a level with the number 0: out = M^-1 b, b is used up.
template <class T> void root(Plan &plan, int l, const View<double> &b, const View<double> &out)
{
  Level        &g = plan.levels[(size_t)l];
  Smoothing<T> &s = hierarchy<T>(plan)[(size_t)l];
  if (g.step == Step::solve) return solve_remainder(plan, b, out);
  if (g.step == Step::gather) {
    Level &whole = plan.levels[(size_t)l + 1];
    gather_values(plan, g, b, whole.b.v);
    root<T>(plan, l + 1, whole.b.v, whole.b.v);
    return copy(plan.exec, g.grid, mask_all, whole.b.v, out);
  }
  if (!s.of_schur) {
    copy(plan.exec, g.grid, mask_all, b, s.b.v);
    visit<T>(plan, l);
    return copy(plan.exec, g.grid, mask_all, s.x.v, out);
  }
  black_rhs(plan, g, b, b);
  const View<T> z = s.x.v;
  if constexpr (std::is_same_v<T, double>) cycle_s1(plan, l, b, z);
  else {
    copy(plan.exec, g.grid, mask_o | mask_c, b, s.b.v);
    cycle_s1(plan, l, s.b.v, z);
  }
  copy(plan.exec, g.grid, mask_o | mask_c, z, b);
  red_solution(plan, g, b, b, out);
  copy(plan.exec, g.grid, mask_o | mask_c, b, out);
}

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

void galerkin_apply(Plan &plan, const View<double> &out)
{
  const View<double> b = plan.levels[0].b.v;
  if (plan.params.single) root<float>(plan, 0, b, out);
  else root<double>(plan, 0, b, out);
}

template <class T> bool galerkin_schur_cycle(Plan &plan, const View<T> &r, const View<T> &z, Reduction &reduction, double *rz)
{
  const bool fused = marches<T>(plan, 0) && hierarchy<T>(plan)[0].components.empty();
  if (fused) {
    march_down(plan, 0, r);
    march_coarse<T>(plan, 0);
    march_up(plan, 0, r, z, &reduction, rz);
  } else cycle_s1(plan, 0, r, z);
  return fused;
}
template bool galerkin_schur_cycle<double>(Plan &, const View<double> &, const View<double> &, Reduction &, double *);
template bool galerkin_schur_cycle<float>(Plan &, const View<float> &, const View<float> &, Reduction &, double *);

void galerkin_schur_apply(Plan &plan, const View<double> &r, const View<double> &z)
{
  const Level &g = plan.levels[0];
  if (!plan.params.single) return cycle_s1(plan, 0, r, z);
  Smoothing<float> &s = plan.smoothing32[0];
  copy(plan.exec, g.grid, mask_o | mask_c, r, s.b.v);
  cycle_s1(plan, 0, s.b.v, s.x.v);
  copy(plan.exec, g.grid, mask_o | mask_c, s.x.v, z);
}

} // namespace tessera::rrb
