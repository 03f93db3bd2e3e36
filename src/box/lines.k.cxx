// Zebra lines: L D L' along every grid line, L = couplings times inverse pivots. Along y all columns of a parity go
// together, one row after the other; along x four rows go together, so that their recurrences overlap.
#include "box/smooth.hpp"
#include "exec/tile.hpp"
#include <algorithm>
#include <cmath>

namespace tessera {

namespace {

constexpr int group = 4; // rows along x that are solved together

//--- along y: columns of parity P -------------------------------------------------------------------------------------

// The two quarters of such a column are P (y even) and P + 2.
template <int P, int S, class T> struct FactorY {
  StencilView<double> A;
  View<T>             D;
  double             *previous; // inverse pivots of the row before
  int                 y0, y1;
  double              tiny;
  template <int Q> HD void row(int X, int y) const
  {
    const ptrdiff_t p = X * S + (y >> 1) * A.C.sy;
    const double    c = A.C.q[Q][p], u = y > y0 ? coefficient<Q, 1, S>(A, p, A.C.sy) : 0;
    const double    d = inverse_pivot(c, c - u * u * previous[X], tiny);
    previous[X]                         = d;
    D.q[Q][X + (y >> 1) * D.sy] = (T)d;
  }
  template <class Block> HD void operator()(Block &block) const
  {
    for (int y = y0; y < y1; ++y)
      block.each(block.tile.x0, block.tile.x1, 0, 1, [&](int X, int) {
        if (y & 1) row<P + 2>(X, y);
        else row<P>(X, y);
      });
  }
};

template <int P, int S, class T> struct SolveY {
  StencilView<T> A;
  View<T>        D, b, x;
  int            y0, y1;
  template <int Q> HD void forward(int X, int y) const
  {
    const ptrdiff_t r = A.C.sy, p = X * S + (y >> 1) * r;
    T               v = b.q[Q][p];
    v -= couplings<Q, S, mask_all, lines_y>(A, x, p);
    if (y > y0)
      v -= coefficient<Q, 1, S>(A, p, r) * D.q[Q ^ 2][X + ((y - 1) >> 1) * D.sy] * neighbour<Q, 1, S>(x, p, r);
    x.q[Q][p] = v;
  }
  template <int Q> HD void backward(int X, int y) const
  {
    const ptrdiff_t r = A.C.sy, p = X * S + (y >> 1) * r;
    T               v = x.q[Q][p];
    if (y + 1 < y1) v -= coefficient<Q, 7, S>(A, p, r) * neighbour<Q, 7, S>(x, p, r);
    x.q[Q][p] = D.q[Q][X + (y >> 1) * D.sy] * v;
  }
  template <class Block> HD void operator()(Block &block) const
  {
    const int X0 = block.tile.x0, X1 = block.tile.x1;
    for (int y = y0; y < y1; ++y)
      if (y & 1) block.each(X0, X1, y, y + 1, [&](int X, int j) { forward<P + 2>(X, j); });
      else block.each(X0, X1, y, y + 1, [&](int X, int j) { forward<P>(X, j); });
    for (int y = y1 - 1; y >= y0; --y)
      if (y & 1) block.each(X0, X1, y, y + 1, [&](int X, int j) { backward<P + 2>(X, j); });
      else block.each(X0, X1, y, y + 1, [&](int X, int j) { backward<P>(X, j); });
  }
};

//--- along x: rows of parity P ----------------------------------------------------------------------------------------

// The two quarters of such a row are 2P (x even) and 2P + 1.
template <int P, int S, class T> struct FactorX {
  StencilView<double> A;
  View<T>             D;
  int                 x0, x1;
  double              tiny;
  HD void operator()(int, int Y) const
  {
    double previous = 0;
    for (int x = x0; x < x1; ++x) {
      const int       X = x >> 1;
      const ptrdiff_t r = A.C.sy, p = X * S + Y * r;
      const double    c = x & 1 ? A.C.q[2 * P + 1][p] : A.C.q[2 * P][p];
      const double u = x == x0 ? 0 : x & 1 ? coefficient<2 * P + 1, 3, S>(A, p, r) : coefficient<2 * P, 3, S>(A, p, r);
      previous          = inverse_pivot(c, c - u * u * previous, tiny);
      D.q[2 * P + (x & 1)][X + Y * D.sy] = (T)previous;
    }
  }
};

template <int P, int S, class T> struct SolveX {
  StencilView<T> A;
  View<T>        D, b, x;
  int            x0, x1;
  template <int Q, class Block> HD void load(Block &block, int Y, T *f, T *m, T *d) const
  {
    constexpr int odd = Q & 1;
    block.each(half_begin(x0, odd), half_begin(x1, odd), Y, Y + 1, [&](int X, int) {
      const ptrdiff_t r = A.C.sy, p = X * S + Y * r, e = X + Y * D.sy;
      T               v = b.q[Q][p];
      v -= couplings<Q, S, mask_all, lines_x>(A, x, p);
      f[X] = v;
      d[X] = D.q[Q][e];
      m[X] = coefficient<Q, 3, S>(A, p, r) * D.q[Q ^ 1][odd ? e : e - 1];
    });
  }
  // f, m, d: per row even nodes, then odd ones, `width` apart
  template <class Block> HD void operator()(Block &block) const
  {
    const int first = half_begin(x0, 0) - 1, width = half_begin(x1, 1) - first + 2; // room for X of both parities
    T        *f = (T *)block.shared - first, *m = f + 2 * group * width, *d = m + 2 * group * width;
    for (int Y0 = block.tile.y0; Y0 < block.tile.y1; Y0 += group) {
      const int rows = block.tile.y1 - Y0 < group ? block.tile.y1 - Y0 : group;
      for (int k = 0; k < rows; ++k) {
        load<2 * P>(block, Y0 + k, f + 2 * k * width, m + 2 * k * width, d + 2 * k * width);
        load<2 * P + 1>(block, Y0 + k, f + (2 * k + 1) * width, m + (2 * k + 1) * width, d + (2 * k + 1) * width);
      }
      block.sync();
      T carry[group] = {};
      for (int i = x0; i < x1; ++i) {
        const int at = (i >> 1) + (i & 1) * width;
        for (int k = 0; k < group; ++k) {
          T &v     = f[at + 2 * k * width];
          carry[k] = v -= (i > x0 ? m[at + 2 * k * width] : 0) * carry[k];
        }
      }
      for (int k = 0; k < group; ++k) carry[k] = 0;
      for (int i = x1 - 1; i >= x0; --i) {
        const int at = (i >> 1) + (i & 1) * width, next = ((i + 1) >> 1) + (1 - (i & 1)) * width;
        for (int k = 0; k < group; ++k) {
          T &v     = f[at + 2 * k * width];
          carry[k] = v = d[at + 2 * k * width] * v - (i + 1 < x1 ? m[next + 2 * k * width] : 0) * carry[k];
        }
      }
      block.sync();
      for (int k = 0; k < rows; ++k)
        for (int odd = 0; odd < 2; ++odd) {
          T       *to = x.q[2 * P + odd] + (Y0 + k) * A.C.sy;
          const T *from = f + (2 * k + odd) * width;
          block.each(half_begin(x0, odd), half_begin(x1, odd), Y0 + k, Y0 + k + 1,
                     [&](int X, int) { to[X * S] = from[X]; });
        }
      block.sync();
    }
  }
};

} // namespace

template <class T> void LineSolver<T>::setup(const Exec &exec, const StencilView<double> &A, const Grid &grid,
                                             Lines direction, double tiny)
{
  const bool on_device = exec.space == Space::cuda;
  place(grid, direction, exec.space);
  if (on_device && (ring_ || !separators_)) return factor_parts(A, tiny, nullptr);
  if (!on_device) factor_on_host(exec, A, tiny);
  if (separators_) setup_separators(exec, on_device, A, tiny);
}

// L D L' of this process's part of the lines, without the separators.
template <class T> void LineSolver<T>::factor_on_host(const Exec &exec, const StencilView<double> &A, double tiny)
{
  const Extent n = layout_.elements(4);
  if (inverse_.size() != n) inverse_.resize(n);
  for (int parity = 0; parity < 2; ++parity)
    for_parity_and_stride(parity, A.C.sx, [&](auto p, auto stride) {
      constexpr int P = decltype(p)::value, S = decltype(stride)::value;
      const Box     b = quarter_box(interior_, direction_ == lines_x ? 2 * P : P);
      if (direction_ == lines_x) {
        forall(exec, {0, 1, b.y0, b.y1}, FactorX<P, S, T>{A, view(inverse_), interior_.x0, interior_.x1, tiny});
      } else {
        std::vector<double> previous((size_t)std::max(1, b.x1 - b.x0), 0);
        HostBlock           block{{b.x0, b.x1, 0, 1}, nullptr};
        FactorY<P, S, T>{A, view(inverse_), previous.data() - b.x0, interior_.y0, interior_.y1, tiny}(block);
      }
    });
}

template <class T>
void LineSolver<T>::solve(const Exec &exec, const StencilView<T> &A, int parity, const View<T> &b, const View<T> &x)
{
  if (exec.space == Space::cuda) {
    if (!interior_.empty()) solve_parts(A, parity, b, x);
    if (separators_ && !ring_) join(exec, A, parity, b, x);
    return;
  }
  for_parity_and_stride(parity, A.C.sx, [&](auto p, auto stride) {
    constexpr int P = decltype(p)::value, S = decltype(stride)::value;
    if (direction_ == lines_x) {
      const Box    rows = quarter_box(interior_, 2 * P);
      const size_t width = (size_t)(half_begin(interior_.x1, 1) - half_begin(interior_.x0, 0) + 4);
      forall_strip(exec, {0, 1, rows.y0, rows.y1}, 2 * group, (int)(2 * group * width + 8),
                   SolveX<P, S, T>{A, view(inverse_), b, x, interior_.x0, interior_.x1});
    } else {
      const Box columns = quarter_box(interior_, P);
      forall_columns(exec, columns.x0, columns.x1,
                     SolveY<P, S, T>{A, view(inverse_), b, x, interior_.y0, interior_.y1});
    }
  });
  if (separators_) join(exec, A, parity, b, x);
}

template class LineSolver<double>;
template class LineSolver<float>;

} // namespace tessera
