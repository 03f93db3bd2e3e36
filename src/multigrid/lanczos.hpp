// The largest eigenvalue of D^-1 A by Lanczos' method, for several levels at a time: the scalars stay where the levels
// are, so that the host waits for the device once for the first steps of all levels.
#pragma once
#include "exec/each.hpp"
#include "multigrid/chebyshev.hpp"
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace tessera::multigrid {

// Lanczos for D^-1 A in the inner product of D, with vectors v that are not normalized; norm2: their squared norms. The
// factors that this takes are known on the host when a step begins; a thread of a device computes them by itself.
struct Factors {
  const double *norm2, *norm2_before; // nullptr: the first step
  bool          known = false;
  double        over_norm = 0, ratio = 0; // 1 / |v|, |v| / |before|
  Factors(const Exec &exec, const double *now, const double *before) : norm2(now), norm2_before(before)
  {
    if (exec.space != Space::host) return;
    over_norm = scale();
    ratio     = coupling();
    known     = true;
  }
  HD double scale() const { return known ? over_norm : *norm2 > 0 ? 1 / sqrt(*norm2) : 0; }
  HD double coupling() const
  {
    return known ? ratio : norm2_before && *norm2_before > 0 ? sqrt(*norm2 / *norm2_before) : 0;
  }
};
// w = D^-1 A v/|v| - |v| before/|before|, and the sum is (v, A v) / |v|^2. inverse = nullptr: without D^-1.
template <class T> struct LanczosProduct {
  const T  *v, *inverse, *before;
  Factors   factors;
  T        *w;
  HD double operator()(ptrdiff_t q, T product) const
  {
    const double s = factors.scale(), d = inverse ? inverse[q] : 1;
    w[q] = d > 0 ? (T)(s * d * product - (factors.norm2_before ? factors.coupling() * before[q] : 0)) : 0;
    return (double)v[q] * product * s * s;
  }
};
// w -= alpha v/|v|; the sum is |w|^2.
template <class T> struct LanczosSubtract {
  const T      *v, *inverse;
  Factors       factors;
  const double *alpha;
  T            *w;
  HD double     operator()(int p) const
  {
    const double x = inverse[p] > 0 ? w[p] - *alpha * factors.scale() * v[p] : 0;
    w[p] = (T)x;
    return inverse[p] > 0 ? x * x / inverse[p] : 0;
  }
};
// v = A x
template <class T> struct StoreProduct {
  const T *inverse;
  T       *v;
  HD void  operator()(ptrdiff_t q, T product) const { v[q] = inverse[q] > 0 ? product : 0; }
};
template <class T> struct Norm2 {
  const T  *v, *inverse;
  HD double operator()(int p) const { return inverse[p] > 0 ? (double)v[p] * v[p] / inverse[p] : 0; }
};

// Steps at first, how many follow at a time where these do not suffice, and at most, of symmetric and other matrices.
constexpr int lanczos_steps = 8, further_lanczos_steps = 2, most_lanczos_steps = 20, asymmetric_lanczos_steps = 10;
static_assert((most_lanczos_steps - lanczos_steps) % further_lanczos_steps == 0 &&
                (asymmetric_lanczos_steps - lanczos_steps) % further_lanczos_steps == 0,
              "steps are counted up to these numbers");
// beta_0^2, alpha_1, beta_1^2, ..., alpha_steps of each level
constexpr int lanczos_scalars = 2 * most_lanczos_steps;

template <class Level> struct LanczosProblem {
  Level  *level;
  double *scalars; // in the level's memory
};

// Level is as Chebyshev has it, with sum_rows(v, end, sum): *sum = the sum of what end(p, (A v)_p) returns; work.x, r
// and z are used. start(level, v) makes the first vector. reduce(k): number k of all problems becomes the sum over the
// processes. Takes the steps `first` to end - 1, counted from 0. If first > 0, the call before has ended there, and the
// levels' vectors have not changed since; if not, the scalars are zero.
//
// Where D has blocks B, the same for A B^-1 in the inner product of B^-1, with B^-1 v in work.x and work.b, whose
// ghosts stay, for vectors: B itself, which may be singular, is not needed. The first vector is A times what start()
// makes: that has hardly more of a function of little energy, which B^-1 makes large, than of others. Of a vector that
// knows nothing of A nearly all would be such functions, and the first steps would miss the largest eigenvalue.
template <class T, class Level, class Start, class Reduce>
void lanczos(const std::vector<LanczosProblem<Level>> &problems, const Start &start, const Reduce &reduce, int first,
             int end)
{
  using Vector = decltype(&decltype(Level::work)::x);
  using Work   = decltype(Level::work);
  Vector     v = &Work::x, before = &Work::r, w = &Work::z;
  const auto each = [&](int k, const auto &step) {
    for (const LanczosProblem<Level> &p : problems) step(*p.level, p.scalars);
    reduce(k);
  };
  const auto at = [](Level &level, Vector vector) {
    return (level.work.*(has_blocks(level) && vector == &Work::x ? &Work::b : vector)).data();
  };
  const auto norm_in_blocks = [](Level &level, const T *v, double *norm2) { // and work.x = B^-1 v
    T *const z = level.work.x.data();
    for_each(level.exec, level.unknowns(), FirstZero<T, T>{v, level.inverse.data(), z, T(1)});
    if constexpr (HasBlocks<Level>::value) level.blocks.add(level, v, T(1), z, (T *)nullptr, T(0));
    sum_each(level.exec, level.unknowns(), DotProduct<T>{v, z}, norm2);
  };
  const auto rotate = [&] {
    std::swap(before, v);
    std::swap(v, w);
  };
  const auto factors = [](const Level &level, const double *s, int k) {
    return Factors(level.exec, s + 2 * k, k ? s + 2 * k - 2 : nullptr);
  };
  if (!first) each(0, [&](Level &level, double *s) {
    T *const x = level.work.x.data(), *const y = level.work.b.data();
    start(level, x);
    if (!has_blocks(level)) return sum_each(level.exec, level.unknowns(), Norm2<T>{x, level.inverse.data()}, s);
    level.halo(x);
    level.each_row(x, StoreProduct<T>{level.inverse.data(), y});
    norm_in_blocks(level, y, s);
  });
  for (int k = 1; k < first; ++k) rotate();
  for (int k = first; k < end; ++k) {
    if (k) {
      each(2 * k, [&](Level &level, double *s) {
        sum_each(level.exec, level.unknowns(),
                 LanczosSubtract<T>{at(level, v), level.inverse.data(), factors(level, s, k - 1), s + 2 * k - 1,
                                    at(level, w)},
                 s + 2 * k);
        if (has_blocks(level)) norm_in_blocks(level, at(level, w), s + 2 * k);
      });
      rotate();
    }
    each(2 * k + 1, [&](Level &level, double *s) {
      const bool blocks = has_blocks(level);
      T *const   x      = blocks ? level.work.x.data() : at(level, v);
      level.halo(x);
      level.sum_rows(x,
                     LanczosProduct<T>{x, blocks ? nullptr : level.inverse.data(), at(level, before),
                                       factors(level, s, k), at(level, w)},
                     s + 2 * k + 1);
    });
  }
}

// The largest eigenvalue of a symmetric tridiagonal matrix, by bisection with the signs of its pivots: alpha_1,
// beta_1^2, alpha_2, ... in v.
inline double largest_eigenvalue(int n, const double *v)
{
  double low = v[0], high = v[0];
  for (int k = 0; k < n; ++k) { // Gershgorin
    const double around = (k ? std::sqrt(v[2 * k - 1]) : 0) + (k + 1 < n ? std::sqrt(v[2 * k + 1]) : 0);
    low  = std::max(low, v[2 * k]);
    high = std::max(high, v[2 * k] + around);
  }
  for (;;) { // none is above high, one is at least low
    const double middle = low + 0.5 * (high - low);
    if (!(middle > low && middle < high)) return high;
    double pivot = 1;
    bool   below = true; // are all below the middle?
    for (int k = 0; k < n && below; ++k) {
      pivot = middle - v[2 * k] - (k ? v[2 * k - 1] / pivot : 0);
      below = pivot > 0;
    }
    (below ? high : low) = middle;
  }
}

// The smallest one
inline double smallest_eigenvalue(int n, const double *v)
{
  const double        largest = largest_eigenvalue(n, v);
  std::vector<double> mirrored(v, v + 2 * n - 1);
  for (int k = 0; k < n; ++k) mirrored[(size_t)(2 * k)] = largest - v[2 * k];
  return largest - largest_eigenvalue(n, mirrored.data());
}

// Steps of which the scalars of a level know: an invariant subspace ends them early.
inline int steps_taken(const double *s)
{
  double largest = 0;
  int    m       = 1;
  for (int k = 0; k < most_lanczos_steps; ++k) largest = std::max(largest, s[2 * k + 1]);
  while (m < most_lanczos_steps && s[2 * m] > 1e-24 * largest * largest) ++m;
  return m;
}

// Are more than the `taken` steps needed? Where the last one has raised the estimate by so much that the next ones may
// raise it by more than the bound has on top. Of matrices that are not symmetric, of which it rises for long and says
// little, no more than asymmetric_lanczos_steps are taken.
inline bool needs_steps(const double *s, int taken, bool symmetric)
{
  constexpr double hardly = 1.005;
  if (steps_taken(s) < taken) return false;
  if (!symmetric) return taken < asymmetric_lanczos_steps;
  return taken < most_lanczos_steps &&
         largest_eigenvalue(taken, s + 1) > hardly * largest_eigenvalue(taken - 1, s + 1);
}

// The largest eigenvalue of D^-1 A, plus a tenth, from the scalars of a level; 1 where these are of no use.
inline double eigenvalue_bound(const double *s)
{
  const double w = largest_eigenvalue(steps_taken(s), s + 1);
  return w > 0 && std::isfinite(w) ? 1.1 * w : 1;
}

} // namespace tessera::multigrid
