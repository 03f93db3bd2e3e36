// The smoother of Chebyshev polynomials in D^-1 A, of the fourth kind or, for an interval of eigenvalues, of the first,
// and damped Jacobi, which are the same recurrence: z_1 = c D^-1 r, x += b_1 z_1, then r -= A z, z = m z + c D^-1 r,
// x += b z. Degree k takes k products with A, from zero one less.
#pragma once
#include "exec/each.hpp"
#include "exec/several.hpp"
#include <type_traits>
#include <utility>

namespace tessera::multigrid {

// D may have blocks beside the diagonal: level.blocks says what they add.
template <class Level, class = void> struct HasBlocks : std::false_type { };
template <class Level>
struct HasBlocks<Level, std::void_t<decltype(std::declval<Level &>().blocks)>> : std::true_type { };
// A bool that is known when a kernel is compiled.
template <bool B> struct Constant {
  HD constexpr operator bool() const { return B; }
};
// A bool, or a constant where that is known of all levels of a type.
template <class Level> auto has_blocks(const Level &level)
{
  if constexpr (HasBlocks<Level>::value) return level.blocks.any;
  else return Constant<false>();
}

// From x = 0: z = c D^-1 r. Per unknown 3 numbers, and no matrix.
template <class T, class V> struct FirstZero {
  const V *r;
  const T *inverse;
  V       *z;
  T        c;
  HD void  operator()(int p) const { z[p] = c * inverse[p] * r[p]; }
};
// r = b - A x, z = c D^-1 r
template <class T, class V> struct First {
  const T *inverse;
  const V *b;
  V       *r, *z;
  T        c;
  __attribute__((always_inline)) HD V operator()(ptrdiff_t q, V product) const
  {
    const V s = b[q] - product;
    r[q]      = s;
    z[q]      = c * inverse[q] * s;
    return s;
  }
};
// r = from - A z, w = m z + c D^-1 r, x = (add ? x : 0) + before z + now w. last: w is not needed any more, and r only
// where it is kept. Add, Last and Keep: bool, or a constant, without which the host's compiler makes no vectors.
template <class T, class V, class Add, class Last, class Keep> struct Next {
  const T *inverse;
  const V *z, *from;
  V       *r, *w, *x;
  T        m, c, before, now;
  Add      add;
  Last     last;
  Keep     keep;
  __attribute__((always_inline)) HD V operator()(ptrdiff_t q, V product) const
  {
    const V s = from[q] - product, v = m * z[q] + c * inverse[q] * s;
    x[q]      = (add ? x[q] : V(0)) + before * z[q] + now * v;
    if (last && !keep) return s;
    if (!last) w[q] = v;
    return r[q] = s;
  }
};
// f(a, b), as constants where they are asked for
template <bool Constants, class F> void with_flags(bool a, bool b, const F &f)
{
  using Yes = Constant<true>;
  using No  = Constant<false>;
  if constexpr (!Constants) f(a, b);
  else if (a) b ? f(Yes(), Yes()) : f(Yes(), No());
  else b ? f(No(), Yes()) : f(No(), No());
}
// Next::keep, which counts only where last: else it is the constant false, so that no second kernel is compiled.
template <class Last, class Keep> Keep kept(Last, Keep keep) { return keep; }
template <class Keep> Constant<false>  kept(Constant<false>, Keep) { return {}; }
template <class T, class V> struct Axpy {
  const V *z;
  V       *x;
  T        c;
  bool     add;
  HD void  operator()(int p) const { x[p] = (add ? x[p] : V(0)) + c * z[p]; }
};

// M. Lottes, Optimal polynomial smoothers for multigrid V-cycles, Numer. Linear Algebra Appl. 30 (2023): weights of x
// for degree k.
inline double weight_of_step(int k, int step)
{
  static const double beta[4][4] = {
    {1.125},
    {1.02387287570313, 1.26408905371085},
    {1.00842544782028, 1.08867839208730, 1.33753125909618},
    {1.00391310427285, 1.04035811188593, 1.14863498546254, 1.38268869241000}
  };
  return k <= 4 ? beta[k - 1][step] : 1;
}

// Level has
//   exec, unknowns(), inverse   of the diagonal, zero where an unknown takes no part
//   halo(v)                     ghosts of v become those of their owners
//   each_row(v, end)            end(p, (A v)_p) for all unknowns
//   blocks                      if any: blocks.add(level, r, c, z, x, w) adds c (B^-1 - D^-1) r to z, and w times that
//                               to x; either may be nullptr
// and vectors of values V: b, x, r, z, and w, which degree 2 does not need.
class Chebyshev {
public:
  // lambda: largest eigenvalue of D^-1 A. lower: the share of it from which on eigenvalues are to become small; 0: the
  // fourth kind, which asks for none.
  void setup(bool jacobi, int degree, double lambda, double lower = 0)
  {
    jacobi_ = jacobi;
    degree_ = degree;
    lambda_ = lambda;
    lower_  = lower;
  }
  // From zero it begins with z = first() D^-1 b.
  double first() const
  {
    if (lower_ > 0) return 2 / ((1 + lower_) * lambda_);
    return jacobi_ ? 1.5 / lambda_ : 4 / (3 * lambda_);
  }
  // begun: with that z
  template <class T, class Level, class Vectors>
  void apply(Level &level, const Vectors &of, bool from_zero, bool begun = false) const
  {
    using V = std::remove_pointer_t<decltype(of.z)>;
    const T *inverse = level.inverse.data();
    V       *z = of.z, *w = of.w;
    const auto blocks = has_blocks(level);
    constexpr bool constants = !std::is_same<decltype(blocks), const bool>::value;
    const auto add    = [&](const V *r, double c, V *to, V *x, double weight) {
      if constexpr (HasBlocks<Level>::value)
        if (blocks) level.blocks.add(level, r, (T)c, to, x, (T)weight);
    };
    if (from_zero && !begun) for_each(level.exec, level.unknowns(), FirstZero<T, V>{of.b, inverse, z, (T)first()});
    else if (!from_zero) {
      level.halo(of.x);
      level.each_row(of.x, First<T, V>{inverse, of.b, of.r, z, (T)first()});
    }
    add(from_zero ? of.b : of.r, first(), z, nullptr, 0);
    double before = jacobi_ || lower_ > 0 ? 1 : weight_of_step(degree_, 0), rho = (1 - lower_) / (1 + lower_);
    if (degree_ == 1) for_each(level.exec, level.unknowns(), Axpy<T, V>{z, of.x, (T)before, !from_zero});
    for (int s = 1; s < degree_; ++s) {
      const Weights step = weights(s, rho);
      const double  m = step.m, c = step.c, now = step.now;
      const V *from = s == 1 && from_zero ? of.b : of.r;
      level.halo(z);
      with_flags<constants>(!from_zero || s > 1, s == degree_ - 1, [&](auto sum, auto last) {
        const auto keep = kept(last, blocks);
        using Step = Next<T, V, decltype(sum), decltype(last), std::remove_const_t<decltype(keep)>>;
        level.each_row(z, Step{inverse, z, from, of.r, w, of.x, (T)m, (T)c, (T)before, (T)now, sum, last, keep});
      });
      add(of.r, c, s == degree_ - 1 ? nullptr : w, of.x, now);
      std::swap(z, w);
      before = 0;
    }
  }

private:
  struct Weights {
    double m, c, now;
  };
  // Of step s > 0. rho: of the first kind, from the step before to this one.
  Weights weights(int s, double &rho) const
  {
    if (jacobi_) return {0, first(), 1};
    if (!(lower_ > 0))
      return {(2. * s - 1) / (2 * s + 3), (8. * s + 4) / ((2 * s + 3) * lambda_), weight_of_step(degree_, s)};
    const double before = rho;
    rho = 1 / (2 * (1 + lower_) / (1 - lower_) - before);
    return {rho * before, 4 * rho / ((1 - lower_) * lambda_), 1};
  }
  bool   jacobi_ = false;
  int    degree_ = 2;
  double lambda_ = 1, lower_ = 0;
};

} // namespace tessera::multigrid
