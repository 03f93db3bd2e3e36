// Separators of zebra lines: what the parts of a line on several processes, or the two ends of a line that closes, are
// joined by.
#include "box/smooth.hpp"
#include <algorithm>

namespace tessera {

namespace {

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

// The couplings of each line's part with the separators on both sides; of the own separator the diagonal, and its
// coupling with the one on the left where it is the only node.
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
    to_own[k] = separator ? (double)on.at(x, last + 1, line) - (last >= first ? c[1] * on.at(x, last, line) : 0) : 0;
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

} // namespace

// Where this process's part of the lines lies, and who has separators: every process with nodes on the line but, on a
// line that does not close, the last one.
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
    if (split[(size_t)r + 1] > split[(size_t)r] && (cyclic_ || split[(size_t)r + 1] < split.back()))
      number_[(size_t)r] = separators_++;
  const int me = x ? px : py, n = split[(size_t)me + 1] - split[(size_t)me];
  separator_      = number_[(size_t)me] >= 0;
  left_neighbour_ = n > 0 && separators_ > 0 && (cyclic_ || split[(size_t)me] > 0);
  int before      = 0; // separators to the left
  for (int r = 0; r < me; ++r) before += number_[(size_t)r] >= 0;
  mine_ = before;
  if (separator_) --(x ? interior_.x1 : interior_.y1);
  const bool closed = separators_ && ranks_ == 1 && !interior_.empty();
  elimination_      = space == Space::host ? Elimination::whole : closed ? Elimination::rings : Elimination::parts;
}

template <class T>
void LineSolver<T>::setup_separators(const Exec &exec, const StencilView<double> &A, double tiny)
{
  make_separators(exec.space);
  const bool x = direction_ == lines_x;
  const int  first = x ? interior_.x0 : interior_.y0, last = (x ? interior_.x1 : interior_.y1) - 1;
  const int  line0 = x ? own_.y0 : own_.x0;
  // what this process's part adds to the separator on the left, to the own one, to the coupling of both; the own
  // one's diagonal
  std::vector<double> all((size_t)4 * count_ * ranks_ + 1);
  double *const       ends = ends_.data();
  const Couplings     couple{A, OnLine{x}, left_neighbour_, separator_, first, last, line0, couplings_.data(), ends};
  forall(exec, {0, count_, 0, 1}, couple);
  if (elimination_ == Elimination::parts) {
    const View<T> L = view(left_), R = view(right_);
    factor_parts(A, tiny, ends);
    if (!interior_.empty()) {
      for (int parity : {0, 1}) {
        if (left_neighbour_) solve_parts(A, parity, L, L, 1);
        if (separator_) solve_parts(A, parity, R, R, 2);
      }
    }
  } else if (last >= first) solve_couplings(A, tiny);
  const double *const mine = ends_host_.fetch(ends, (size_t)4 * count_);
  if (ranks_ > 1) MPI_Allgather(mine, 4 * count_, MPI_DOUBLE, all.data(), 4 * count_, MPI_DOUBLE, comm_);
  else std::copy(mine, mine + 4 * count_, all.begin());
  factor_separators(all.data(), tiny);
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
    ends_.resize(Extent{(size_t)4 * count_ + 1, space});
    ends_host_.reserve(space, ends_.bytes());
    all_.resize((size_t)2 * count_ * ranks_ + 1);
  }
  left_.zero();
  right_.zero();
  reduced_.zero();
}

// Solutions for the couplings of the first and the last interior node with the separators beside them, on the host:
// in double precision, as of a singular line nothing remains.
template <class T> void LineSolver<T>::solve_couplings(const StencilView<double> &A, double tiny)
{
  const bool    x = direction_ == lines_x;
  const View<T> L = view(left_), R = view(right_);
  const OnLine  on{x};
  const int     first = x ? interior_.x0 : interior_.y0, last = (x ? interior_.x1 : interior_.y1) - 1;
  const int     line0 = x ? own_.y0 : own_.x0;
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
      for (int i = first; i <= last; ++i)
        v[i - first] = i == where ? value
                     : i < where  ? 0
                                  : -on.coupling(A, i - 1, line) * d[i - first - 1] * v[i - first - 1];
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

// The separators' systems of what all processes of the line add, `all` as setup() has it: diagonal 0, coupling with the
// next separator 1, with the last one 2.
template <class T> void LineSolver<T>::factor_separators(const double *all, double tiny)
{
  std::vector<double> diagonal((size_t)separators_ * count_);
  int                 next = 0; // separator at or after a process
  for (int r = 0; r < ranks_; ++r) {
    const double *w = all + (size_t)4 * count_ * r;
    const int     s = number_[(size_t)r], left = next > 0 ? next - 1 : cyclic_ ? separators_ - 1 : -1;
    for (int j = 0; j < count_; ++j) {
      if (left >= 0) reduced(on_diagonal, left)[j] += w[4 * j];
      if (s < 0) continue;
      reduced(on_diagonal, s)[j] += w[4 * j + 3] + w[4 * j + 1];
      diagonal[(size_t)s * count_ + j] = w[4 * j + 3];
      if (left < 0) continue;
      if (left == s) reduced(on_diagonal, s)[j] += 2 * w[4 * j + 2]; // one separator: both ends meet in it
      else if (left == s - 1) reduced(to_next, left)[j] += w[4 * j + 2];
      else reduced(separators_ == 2 ? to_next : to_last, 0)[j] += w[4 * j + 2]; // s = 0, left is the last
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
    double *d = reduced(on_diagonal, s), *e = reduced(to_next, s), *c = reduced(to_last, s);
    for (int j = 0; j < count_; ++j) {
      d[j] = inverse_pivot(diagonal[(size_t)s * count_ + j], d[j], tiny);
      if (s + 1 == last) { // the next one is the last one
        e[j] += c[j];
        c[j] = 0;
      }
      if (s == last) continue;
      reduced(on_diagonal, s + 1)[j] -= e[j] * e[j] * d[j];
      if (s + 1 < last) {
        reduced(to_last, s + 1)[j] -= e[j] * c[j] * d[j];
        reduced(on_diagonal, last)[j] -= c[j] * c[j] * d[j];
      }
    }
  }
}

// The separators' values, and with them the interior nodes'. x holds the interior solution for zero separators.
template <class T>
void LineSolver<T>::join(const Exec &exec, const StencilView<T> &A, int parity, const View<T> &b, const View<T> &x)
{
  const bool   along_x = direction_ == lines_x;
  const int    first = along_x ? interior_.x0 : interior_.y0, last = (along_x ? interior_.x1 : interior_.y1) - 1;
  const int    line0 = along_x ? own_.y0 : own_.x0, start = (line0 ^ parity) & 1,
            lines = count_ > start ? (count_ - start + 1) / 2 : 0;
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
  double *const ends = ends_.data();
  forall(exec, {0, lines, 0, 1},
         Ends<T>{x, on, left_neighbour_, separator_, first, last, line0 + start, couplings_.data() + 2 * start, ends,
                 ends + lines});
  double *const left = ends_host_.fetch(ends, (size_t)2 * lines);
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
      const double w = reduced(on_diagonal, s)[start + 2 * k] * v[(size_t)s * lines + k];
      v[(size_t)(s + 1) * lines + k] -= reduced(to_next, s)[start + 2 * k] * w;
      v[(size_t)end * lines + k] -= reduced(to_last, s)[start + 2 * k] * w;
    }
  for (int s = end; s >= 0; --s)
    for (int k = 0; k < lines; ++k) {
      const int j = start + 2 * k;
      double   &w = v[(size_t)s * lines + k];
      if (s < end)
        w -= reduced(to_next, s)[j] * v[(size_t)(s + 1) * lines + k] +
             reduced(to_last, s)[j] * v[(size_t)end * lines + k];
      w *= reduced(on_diagonal, s)[j];
    }
  const int on_left = mine_ > 0 ? mine_ - 1 : end;
  for (int k = 0; k < lines; ++k) {
    left[k]         = left_neighbour_ ? v[(size_t)on_left * lines + k] : 0;
    left[lines + k] = separator_ ? v[(size_t)mine_ * lines + k] : 0;
  }
  ends_host_.store(ends, (size_t)2 * lines);
  const int own_last = last + (separator_ ? 1 : 0);
  forall(exec, along_x ? Box{first, own_last + 1, 0, lines} : Box{0, lines, first, own_last + 1},
         Join<T>{view(left_), view(right_), x, on, separator_, last, line0 + start, ends, ends + lines});
}

template void LineSolver<double>::place(const Grid &, Lines, Space);
template void LineSolver<float>::place(const Grid &, Lines, Space);
template void LineSolver<double>::setup_separators(const Exec &, const StencilView<double> &, double);
template void LineSolver<float>::setup_separators(const Exec &, const StencilView<double> &, double);
template void LineSolver<double>::join(const Exec &, const StencilView<double> &, int, const View<double> &,
                                       const View<double> &);
template void LineSolver<float>::join(const Exec &, const StencilView<float> &, int, const View<float> &,
                                      const View<float> &);

} // namespace tessera
