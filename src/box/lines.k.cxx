// Zebra lines: L D L' along every grid line, L = couplings times inverse pivots. Along y all columns of a parity go together,
// one row after the other; along x four rows go together, so that their recurrences overlap.
#include "box/smooth.hpp"
#include <algorithm>
#include <cmath>

namespace tessera {

namespace {

constexpr int group = 4; // rows along x that are solved together

template <class F> void dispatch_quarter(int q, ptrdiff_t sx, const F &f)
{
  for_parity_and_stride(q & 1, sx, [&](auto p, auto s) {
    constexpr int P = decltype(p)::value;
    if (q & 2) f(std::integral_constant<int, P + 2>(), s);
    else f(std::integral_constant<int, P>(), s);
  });
}

// What a line's own system has on the right-hand side.
template <int Q, int S, int LINE, class T> struct RightHandSide {
  StencilView<T> A;
  View<T>        b, x;
  HD void        operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * A.C.sy;
    x.q[Q][p]         = b.q[Q][p] - couplings<Q, S, mask_all, LINE>(A, x, p);
  }
};

// Node i of a line, and its coupling with node i + 1.
struct OnLine {
  bool x;
  template <class V> HD auto &at(const View<V> &v, int i, int line) const { return x ? v.at(i, line) : v.at(line, i); }
  HD double coupling(const StencilView<double> &A, int i, int line) const
  {
    const int       X = (x ? i : line), Y = (x ? line : i), q = (X & 1) + 2 * (Y & 1);
    const ptrdiff_t r = A.C.sy, p = floor_half(X) * A.C.sx + floor_half(Y) * r;
    if (x) return q == 0 ? A.E[0].q[1][p] : q == 1 ? A.E[1].q[1][p] : q == 2 ? A.E[1].q[2][p] : A.E[0].q[2][p + A.C.sx];
    return q == 0 ? A.E[2].q[2][p] : q == 2 ? A.E[3].q[2][p] : q == 1 ? A.E[3].q[1][p] : A.E[2].q[1][p + r];
  }
};

// The couplings of each line's part with the separators on both sides; of the own separator the diagonal, and its coupling with the
// one on the left where it is the only node.
struct Couplings {
  StencilView<double> A;
  OnLine              on;
  bool                left, separator;
  int                 first, last, line0;
  double             *couplings, *mine;
  HD void             operator()(int j, int) const
  {
    const int    line = line0 + j;
    const double l = left ? on.coupling(A, first - 1, line) : 0;
    couplings[2 * j]     = l;
    couplings[2 * j + 1] = separator && last >= first ? on.coupling(A, last, line) : 0;
    mine[4 * j] = mine[4 * j + 1] = mine[4 * j + 2] = mine[4 * j + 3] = 0;
    if (separator) mine[4 * j + 3] = on.at(A.C, last + 1, line);
    if (last < first) mine[4 * j + 2] = l;
  }
};

// What the separators on the left and the own ones get from the solution between them.
template <class T> struct Ends {
  View<T>       x;
  OnLine        on;
  bool          left, separator;
  int           first, last, line0;
  const double *couplings; // of the lines line0, line0 + 1, ...
  double       *to_left, *to_own; // of every second one
  HD void       operator()(int k, int) const
  {
    const int     line = line0 + 2 * k;
    const double *c = couplings + 4 * k;
    to_left[k]      = left && last >= first ? -c[0] * on.at(x, first, line) : 0;
    to_own[k]       = separator ? (double)on.at(x, last + 1, line) - (last >= first ? c[1] * on.at(x, last, line) : 0) : 0;
  }
};

// The separators' values, and the solution with them.
template <class T> struct Join {
  View<T>       L, R, x;
  OnLine        on;
  bool          separator;
  int           last, line0;
  const double *on_left, *own;
  HD void       operator()(int u, int v) const
  {
    const int i = on.x ? u : v, k = on.x ? v : u, line = line0 + 2 * k;
    const T   xl = (T)on_left[k], xr = (T)own[k];
    if (i > last) {
      if (separator) on.at(x, i, line) = xr;
    } else on.at(x, i, line) -= xl * on.at(L, i, line) + xr * on.at(R, i, line);
  }
};

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
    if (y > y0) v -= coefficient<Q, 1, S>(A, p, r) * D.q[Q ^ 2][X + ((y - 1) >> 1) * D.sy] * neighbour<Q, 1, S>(x, p, r);
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
      const double    u = x == x0 ? 0 : x & 1 ? coefficient<2 * P + 1, 3, S>(A, p, r) : coefficient<2 * P, 3, S>(A, p, r);
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
          block.each(half_begin(x0, odd), half_begin(x1, odd), Y0 + k, Y0 + k + 1, [&](int X, int) { to[X * S] = from[X]; });
        }
      block.sync();
    }
  }
};

} // namespace

// Where this process's part of the lines lies, and who has separators: every process with nodes on the line but, on a line that
// does not close, the last one.
template <class T> void LineSolver<T>::place(const Grid &grid, Lines direction, Space space)
{
  const bool              x = direction == lines_x;
  const std::vector<int> &split = x ? grid.xsplit : grid.ysplit;
  const int               px = grid.rank % grid.processes_x(), py = grid.rank / grid.processes_x();
  if (split.size() > 2) comm_ = line_of_processes(grid.comm, grid.processes_x(), x);
  direction_ = direction;
  layout_    = Layout(grid, false, space);
  own_ = interior_ = grid.owned();
  ranks_           = (int)split.size() - 1;
  cyclic_          = x ? grid.periodic_x : grid.periodic_y;
  count_           = x ? own_.y1 - own_.y0 : own_.x1 - own_.x0;
  number_.assign((size_t)ranks_, -1);
  separators_ = 0;
  for (int r = 0; r < ranks_; ++r)
    if (split[(size_t)r + 1] > split[(size_t)r] && (cyclic_ || split[(size_t)r + 1] < split.back())) number_[(size_t)r] = separators_++;
  const int me = x ? px : py, n = split[(size_t)me + 1] - split[(size_t)me];
  separator_      = number_[(size_t)me] >= 0;
  left_neighbour_ = n > 0 && separators_ > 0 && (cyclic_ || split[(size_t)me] > 0);
  int before      = 0; // separators to the left
  for (int r = 0; r < me; ++r) before += number_[(size_t)r] >= 0;
  mine_ = before;
  if (separator_) --(x ? interior_.x1 : interior_.y1);
  ring_ = space == Space::cuda && separators_ && ranks_ == 1 && !interior_.empty();
}

template <class T> void LineSolver<T>::setup(const Exec &exec, const StencilView<double> &A, const Grid &grid, Lines direction, double tiny)
{
  const bool there = exec.space == Space::cuda;
  place(grid, direction, exec.space);
  if (there && (ring_ || !separators_)) return factor_parts(A, tiny, nullptr);
  if (!there) factor_on_host(exec, A, tiny);
  if (!separators_) return;
  make_separators(exec.space);
  const bool  x = direction == lines_x;
  const int   first = x ? interior_.x0 : interior_.y0, last = (x ? interior_.x1 : interior_.y1) - 1, line0 = x ? own_.y0 : own_.x0;
  // what this process's part adds to the separator on the left, to the own one, to the coupling of both; the own one's diagonal
  Buffer<double>     &mine = ends_;
  std::vector<double> all((size_t)4 * count_ * ranks_ + 1);
  forall(exec, {0, count_, 0, 1}, Couplings{A, OnLine{x}, left_neighbour_, separator_, first, last, line0, couplings_.data(), there ? there_.data() : mine.data()});
  if (there) {
    const View<T> L = view(left_), R = view(right_);
    factor_parts(A, tiny, there_.data());
    if (!interior_.empty()) {
      for (int parity : {0, 1}) {
        if (left_neighbour_) solve_parts(A, parity, L, L, 1);
        if (separator_) solve_parts(A, parity, R, R, 2);
      }
    }
    copy(there_, mine);
  } else if (last >= first) solve_couplings(A, tiny);
  if (ranks_ > 1) MPI_Allgather(mine.data(), 4 * count_, MPI_DOUBLE, all.data(), 4 * count_, MPI_DOUBLE, comm_);
  else std::copy(mine.data(), mine.data() + 4 * count_, all.begin());
  factor_separators(all.data(), tiny);
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
      if (direction_ == lines_x) forall(exec, {0, 1, b.y0, b.y1}, FactorX<P, S, T>{A, view(inverse_), interior_.x0, interior_.x1, tiny});
      else {
        std::vector<double> previous((size_t)std::max(1, b.x1 - b.x0), 0);
        HostBlock           block{{b.x0, b.x1, 0, 1}, nullptr};
        FactorY<P, S, T>{A, view(inverse_), previous.data() - b.x0, interior_.y0, interior_.y1, tiny}(block);
      }
    });
}

// Zeroed memory of what belongs to the separators.
template <class T> void LineSolver<T>::make_separators(Space space)
{
  const Extent n = layout_.elements(4);
  if (left_.size() != n || couplings_.size() != (size_t)2 * count_ + 1) {
    left_.resize(n);
    right_.resize(n);
    reduced_.resize((size_t)3 * separators_ * count_ + 1);
    couplings_.resize(Extent{(size_t)2 * count_ + 1, space});
    ends_.resize((size_t)4 * count_ + 1);
    all_.resize((size_t)2 * count_ * ranks_ + 1);
    if (space == Space::cuda) there_.resize(Extent{(size_t)4 * count_ + 1, space});
  }
  left_.zero();
  right_.zero();
  reduced_.zero();
}

// Solutions for the couplings of the first and the last interior node with the separators beside them, on the host: in double
// precision, as of a singular line nothing remains.
template <class T> void LineSolver<T>::solve_couplings(const StencilView<double> &A, double tiny)
{
  const bool    x = direction_ == lines_x;
  const View<T> L = view(left_), R = view(right_);
  const OnLine  on{x};
  const int     first = x ? interior_.x0 : interior_.y0, last = (x ? interior_.x1 : interior_.y1) - 1, line0 = x ? own_.y0 : own_.x0;
  std::vector<double> d((size_t)(last - first + 1)), v(d.size());
  for (int j = 0; j < count_; ++j) {
    const int    line = line0 + j;
    const double l = couplings_.data()[2 * j], u = couplings_.data()[2 * j + 1];
    double      *to = ends_.data() + 4 * j;
    for (int i = first; i <= last; ++i) {
      const double c = on.at(A.C, i, line), w = i > first ? on.coupling(A, i - 1, line) : 0;
      d[i - first]   = inverse_pivot(c, c - (i > first ? w * w * d[i - first - 1] : 0), tiny);
    }
    auto solve = [&](const View<T> &field, int where, double value) {
      for (int i = first; i <= last; ++i) v[i - first] = i == where ? value : i < where ? 0 : -on.coupling(A, i - 1, line) * d[i - first - 1] * v[i - first - 1];
      for (int i = last; i >= first; --i) {
        v[i - first] = d[i - first] * (v[i - first] - (i < last ? on.coupling(A, i, line) * v[i - first + 1] : 0));
        on.at(field, i, line) = (T)v[i - first];
      }
    };
    if (separator_) {
      solve(R, last, u);
      to[1] = -u * v[last - first];
    }
    if (left_neighbour_) {
      solve(L, first, l);
      to[0] = -l * v[0];
      to[2] = -u * v[last - first];
    }
  }
}

// The separators' systems of what all processes of the line add, `all` as setup() has it: diagonal 0, coupling with the next separator
// 1, with the last one 2.
template <class T> void LineSolver<T>::factor_separators(const double *all, double tiny)
{
  std::vector<double> diagonal((size_t)separators_ * count_);
  int                 next = 0; // separator at or after a process
  for (int r = 0; r < ranks_; ++r) {
    const double *w = all + (size_t)4 * count_ * r;
    const int     s = number_[(size_t)r], left = next > 0 ? next - 1 : cyclic_ ? separators_ - 1 : -1;
    for (int j = 0; j < count_; ++j) {
      if (left >= 0) reduced(0, left)[j] += w[4 * j];
      if (s < 0) continue;
      reduced(0, s)[j] += w[4 * j + 3] + w[4 * j + 1];
      diagonal[(size_t)s * count_ + j] = w[4 * j + 3];
      if (left < 0) continue;
      if (left == s) reduced(0, s)[j] += 2 * w[4 * j + 2]; // one separator: both ends meet in it
      else if (left == s - 1) reduced(1, left)[j] += w[4 * j + 2];
      else reduced(separators_ == 2 ? 1 : 2, 0)[j] += w[4 * j + 2]; // s = 0, left is the last
    }
    if (s >= 0) ++next;
  }
  factor_reduced(diagonal.data(), tiny);
}

// L D L' of the separators' systems: tridiagonal with a last row (lines that close).
template <class T> void LineSolver<T>::factor_reduced(const double *diagonal, double tiny)
{
  const int last = separators_ - 1;
  for (int s = 0; s <= last; ++s) {
    double *d = reduced(0, s), *e = reduced(1, s), *c = reduced(2, s);
    for (int j = 0; j < count_; ++j) {
      d[j] = inverse_pivot(diagonal[(size_t)s * count_ + j], d[j], tiny);
      if (s + 1 == last) { // the next one is the last one
        e[j] += c[j];
        c[j] = 0;
      }
      if (s == last) continue;
      reduced(0, s + 1)[j] -= e[j] * e[j] * d[j];
      if (s + 1 < last) {
        reduced(2, s + 1)[j] -= e[j] * c[j] * d[j];
        reduced(0, last)[j] -= c[j] * c[j] * d[j];
      }
    }
  }
}

// The separators' values, and with them the interior nodes'. x holds the interior solution for zero separators.
template <class T> void LineSolver<T>::join(const Exec &exec, const StencilView<T> &A, int parity, const View<T> &b, const View<T> &x)
{
  const bool   along_x = direction_ == lines_x, there = exec.space == Space::cuda;
  const int    first = along_x ? interior_.x0 : interior_.y0, last = (along_x ? interior_.x1 : interior_.y1) - 1;
  const int    line0 = along_x ? own_.y0 : own_.x0, start = (line0 ^ parity) & 1, lines = count_ > start ? (count_ - start + 1) / 2 : 0;
  const OnLine on{along_x};
  if (separator_) { // its right-hand side
    Box nodes = own_;
    (along_x ? nodes.x0 : nodes.y0) = last + 1;
    const int q = along_x ? ((last + 1) & 1) + 2 * parity : parity + 2 * ((last + 1) & 1);
    dispatch_quarter(q, A.C.sx, [&](auto quarter, auto stride) {
      constexpr int Q = decltype(quarter)::value, S = decltype(stride)::value;
      if (along_x) forall(exec, quarter_box(nodes, q), RightHandSide<Q, S, lines_x, T>{A, b, x});
      else forall(exec, quarter_box(nodes, q), RightHandSide<Q, S, lines_y, T>{A, b, x});
    });
  }
  double *const left = ends_.data(), *const ends = there ? there_.data() : left;
  forall(exec, {0, lines, 0, 1}, Ends<T>{x, on, left_neighbour_, separator_, first, last, line0 + start, couplings_.data() + 2 * start, ends, ends + lines});
  if (there && lines) device::copy_to_host(left, ends, (size_t)2 * lines * sizeof(double));
  double *all = all_.data();
  if (ranks_ > 1) MPI_Allgather(left, 2 * lines, MPI_DOUBLE, all, 2 * lines, MPI_DOUBLE, comm_);
  else std::copy(left, left + 2 * lines, all);
  std::vector<double> v((size_t)separators_ * lines, 0);
  int                 next = 0;
  for (int r = 0; r < ranks_; ++r) {
    const double *from = all + (size_t)2 * lines * r;
    const int     s = number_[(size_t)r], before = next > 0 ? next - 1 : cyclic_ ? separators_ - 1 : -1;
    for (int k = 0; k < lines; ++k) {
      if (before >= 0) v[(size_t)before * lines + k] += from[k];
      if (s >= 0) v[(size_t)s * lines + k] += from[lines + k];
    }
    next += s >= 0;
  }
  const int end = separators_ - 1;
  for (int s = 0; s < end; ++s)
    for (int k = 0; k < lines; ++k) {
      const double w = reduced(0, s)[start + 2 * k] * v[(size_t)s * lines + k];
      v[(size_t)(s + 1) * lines + k] -= reduced(1, s)[start + 2 * k] * w;
      v[(size_t)end * lines + k] -= reduced(2, s)[start + 2 * k] * w;
    }
  for (int s = end; s >= 0; --s)
    for (int k = 0; k < lines; ++k) {
      const int j = start + 2 * k;
      double   &w = v[(size_t)s * lines + k];
      if (s < end) w -= reduced(1, s)[j] * v[(size_t)(s + 1) * lines + k] + reduced(2, s)[j] * v[(size_t)end * lines + k];
      w *= reduced(0, s)[j];
    }
  const int on_left = mine_ > 0 ? mine_ - 1 : end;
  for (int k = 0; k < lines; ++k) {
    left[k]         = left_neighbour_ ? v[(size_t)on_left * lines + k] : 0;
    left[lines + k] = separator_ ? v[(size_t)mine_ * lines + k] : 0;
  }
  if (there && lines) device::copy_from_host(ends, left, (size_t)2 * lines * sizeof(double));
  const int own_last = last + (separator_ ? 1 : 0);
  forall(exec, along_x ? Box{first, own_last + 1, 0, lines} : Box{0, lines, first, own_last + 1}, Join<T>{view(left_), view(right_), x, on, separator_, last, line0 + start, ends, ends + lines});
}

template <class T> void LineSolver<T>::solve(const Exec &exec, const StencilView<T> &A, int parity, const View<T> &b, const View<T> &x)
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
      forall_strip(exec, {0, 1, rows.y0, rows.y1}, 2 * group, (int)(2 * group * width + 8), SolveX<P, S, T>{A, view(inverse_), b, x, interior_.x0, interior_.x1});
    } else {
      const Box columns = quarter_box(interior_, P);
      forall_columns(exec, columns.x0, columns.x1, SolveY<P, S, T>{A, view(inverse_), b, x, interior_.y0, interior_.y1});
    }
  });
  if (separators_) join(exec, A, parity, b, x);
}

template class LineSolver<double>;
template class LineSolver<float>;

} // namespace tessera
