// Gauss-Seidel on the operators of stencil.hpp, by colours (the four quarters) and by zebra lines.
//
// Fields have ghost nodes; the caller exchanges them after a colour or the lines of one parity. Two nodes of one
// colour that are neighbours over a periodic seam see each other's old value, so that every step is symmetric.
#pragma once
#include "exec/several.hpp"
#include "exec/staging.hpp"
#include "box/stencil.hpp"
#include <type_traits>

namespace tessera {

// The kernels, by quarter Q and stride S, of one vector (V = T) or several (several.hpp); MASK: quarters that are not
// zero. Over-relaxation by `more`, at the nodes where `at` is 1, which is 1 or 0; null: everywhere.
template <int Q, int S, int MASK, class T, class V = T> struct Colour {
  StencilView<T> A;
  View<V>        b, x;
  T              more = 0;
  const T       *at   = nullptr;
  HD void        operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * A.C.sy;
    const T         c = A.C.q[Q][p];
    const V v = b.q[Q][p] - couplings<Q, S, MASK, lines_none>(A, x, p), old = MASK & (1 << Q) ? x.q[Q][p] : V(0);
    x.q[Q][p] = c > 0 ? v / c + (at ? more * at[p] : more) * (v / c - old) : V(0);
  }
};

template <int Q, int S, class T, class V = T> struct Residual {
  StencilView<T> A;
  View<V>        b, x, r;
  HD void        operator()(int X, int Y) const
  {
    const ptrdiff_t p = X * S + Y * A.C.sy;
    r.q[Q][p]         = b.q[Q][p] - A.C.q[Q][p] * x.q[Q][p] - couplings<Q, S, mask_all, lines_none>(A, x, p);
  }
};

// The quarters that come before q in the order c, o, b, a.
HD constexpr int before(int q)
{
  return q == quarter_c ? 0 : q == quarter_o ? mask_c : q == quarter_b ? mask_c | mask_o : mask_c | mask_o | mask_b;
}

// x := (b - couplings) / c on the nodes of quarter q in the box (of quarter indices), and over-relaxation. first: x
// is zero on q and on the quarters that come after it in the order c, o, b, a, which are not read.
template <class T, class V> void smooth_colour(const Exec &exec, const StencilView<T> &A, int q, const Box &box,
                                               const View<V> &b, const View<V> &x, bool first = false, double more = 0,
                                               const T *at = nullptr);

// r := b - A x on the nodes of quarter q in the box.
template <class T, class V> void residual(const Exec &exec, const StencilView<T> &A, int q, const Box &box,
                                          const View<V> &b, const View<V> &x, const View<V> &r);

HD inline double inverse_pivot(double c, double d, double tiny) { return c > 0 && d > tiny * c ? 1 / d : 0; }

// Calls f(parity, stride) with both as compile-time constants.
template <class F> void for_parity_and_stride(int parity, ptrdiff_t sx, const F &f)
{
  using std::integral_constant;
  auto with = [&](auto p) {
    if (sx == 1) f(p, integral_constant<int, 1>());
    else if (sx == 2) f(p, integral_constant<int, 2>());
    else f(p, integral_constant<int, 4>());
  };
  if (parity) with(integral_constant<int, 1>());
  else with(integral_constant<int, 0>());
}

// Exact solution along grid lines. A process keeps the factors of the tridiagonal matrices of its part of every line
// without its last node, the separator, where the line goes on; the separators of a line form a small system that
// every process solves. On the device each part is cut further (lines_device.k.cxx), and a line that closes on one
// process is solved there alone.
template <class T> class LineSolver {
public:
  // tiny: a pivot below this share of its diagonal belongs to a singular line; that node is left as zero. Collective.
  void setup(const Exec &exec, const StencilView<double> &A, const Grid &grid, Lines direction, double tiny);
  // x := the solution on the lines of one parity, where b is the right-hand side and x holds the other lines.
  // Collective.
  void   solve(const Exec &exec, const StencilView<T> &A, int parity, const View<T> &b, const View<T> &x);
  bool   empty() const { return inverse_.empty(); }
  size_t bytes() const
  {
    return inverse_.bytes() + fill_.bytes() + chain_.bytes() + work_.bytes() + left_.bytes() + right_.bytes() +
           reduced_.bytes();
  }

private:
  void          place(const Grid &grid, Lines direction, Space space);
  // Entries of the system of the separators: on its diagonal, for the next separator, for the last one of a line that
  // closes.
  enum ReducedEntry { on_diagonal, to_next, to_last };
  double       *reduced(ReducedEntry entry, int separator)
  {
    return reduced_.data() + ((size_t)entry * separators_ + separator) * count_;
  }
  void          factor_on_host(const Exec &exec, const StencilView<double> &A, double tiny);
  void          setup_separators(const Exec &exec, const StencilView<double> &A, double tiny);
  void          make_separators(Space space);
  void          solve_couplings(const StencilView<double> &A, double tiny);
  void          factor_separators(const double *all, double tiny);
  void          factor_reduced(const double *diagonal, double tiny);
  void          join(const Exec &exec, const StencilView<T> &A, int parity, const View<T> &b, const View<T> &x);
  void          factor_parts(const StencilView<double> &A, double tiny, double *ends);
  // border: 1, 2 the solution for minus one at the separator on the left, or the own one, from coefficients of any
  // precision
  template <class C>
  void             solve_parts(const StencilView<C> &A, int parity, const View<T> &b, const View<T> &x, int border = 0);
  View<T>       view(Buffer<T> &f) { return layout_.view(f.data()); }
  Lines         direction_ = lines_none;
  Layout        layout_;
  Box           own_, interior_;          // nodes; without the separators
  bool          separator_ = false, left_neighbour_ = false;
  int           separators_ = 0, mine_ = -1; // of a line; the own or next one's number
  bool          cyclic_ = false;
  int           count_ = 0;               // own lines
  MPI_Comm      comm_ = MPI_COMM_NULL;    // the processes of a line
  int           ranks_ = 1;
  std::vector<int> number_;               // separator of each process of the line, -1
  Buffer<T>     inverse_, left_, right_;  // inverse pivots; T^-1 of the couplings with the separators on both sides
  Buffer<double> reduced_;                // inverse pivots, couplings to the next and to the last separator
  Buffer<double> couplings_;              // of each line with the separators to the left and to the right
  Buffer<double> ends_, all_;             // what separators get from both sides, or their values; of all processes
  Staging        ends_host_;
  // whole lines by the host, or by a device in parts; rings: parts of lines that close on this process
  enum class Elimination { whole, parts, rings } elimination_ = Elimination::whole;
  Buffer<T>        fill_, chain_,
    work_; // couplings with the separator on the left, the separators' factors, and lines under way
};

} // namespace tessera
