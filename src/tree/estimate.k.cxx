// What the cycle needs of each operator: its diagonal, the largest eigenvalue, the inverse of the last.
#include "tree/hierarchy.hpp"
#include "tree/dispatch.hpp"
#include "tree/read.hpp"
#include "tree/rows.hpp"
#include "exec/each.hpp"
#include "exec/tile.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::auxamg {

namespace {

// 1 / a_pp of each unknown. Zero, or rounding beside the largest one: the unknown is not there.
struct Diagonals {
  double  v = 0, below = 0; // the largest entry, and how far one is below zero
  HD void join(const Diagonals &o)
  {
    v     = o.v > v ? o.v : v;
    below = o.below > below ? o.below : below;
  }
};
template <class T> struct TakeDiagonal {
  const int      *i, *j;
  const T        *a;
  const int      *perm;  // of the mesh
  const Diagonal *place; // nullptr: of a coarse grid, or not known
  int             bs, n;
  T              *out;
  HD void         operator()(int k, int row, Diagonals &found) const
  {
    const int p = row * list_row + k;
    if (p >= n) return;
    int e = i[p + 1];
#ifdef __CUDA_ARCH__
    constexpr int at_once = 8; // columns, as nothing else hides their latency
    for (int q = i[p]; q < i[p + 1] && e == i[p + 1]; q += at_once) {
      int column[at_once];
      for (int m = 0; m < at_once; ++m) column[m] = q + m < i[p + 1] ? j[q + m] : -1;
      for (int m = 0; m < at_once; ++m)
        if (column[m] == p) e = q + m;
    }
#else
    // right if no column was left out before it; on coarse grids it stands first
    e = i[p] + (place ? place[perm[p]] : 0);
    if (e >= i[p + 1] || j[e] != p) {
      e = i[p + 1];
      for (int q = i[p]; q < i[p + 1]; ++q) e = j[q] == p ? q : e; // no branch: where it stands is not foreseen
    }
#endif
    for (int m = 0; m < bs; ++m) {
      const T d = e < i[p + 1] ? a[((ptrdiff_t)bs * e + m) * bs + m] : 0;
      out[(ptrdiff_t)bs * p + m] = d;
      found.join({(double)d, -(double)d});
    }
  }
};
template <class T> struct InvertDiagonal {
  const double *largest;
  T            *d;
  HD void       operator()(int p) const { d[p] = d[p] > (T)(1e-16 * *largest) ? 1 / d[p] : 0; }
};

template <class T> struct Root {
  const T *v;
  T       *root;
  HD void  operator()(int p) const { root[p] = sqrt(v[p]); }
};
template <class T> struct Change {
  const int *i, *j;
  const T   *a, *old, *now, *before; // now and before: roots of the inverse diagonal
  int        bs, n, share;
  HD void    operator()(int item, int line, Largest &change) const
  {
    const Shared at(line * list_row + item, share); // of an unknown
    const int    row = at.node, p = row / bs, k = row % bs;
    int          first = 0, step = 1;
    double       sum = 0;
    if (row >= n * bs) return;
#ifdef __CUDA_ARCH__
    first = at.thread;
    step <<= share;
#else
    if (at.thread) return;
    if (bs == 1) { // without the numbers of blocks, which take as long as all else
      T all = 0;
      for (int e = i[p]; e < i[p + 1]; ++e)
        all += fabs(a[e] * (now[p] * now[j[e]]) - old[e] * (before[p] * before[j[e]]));
      return change.join((now[p] > 0) == (before[p] > 0) ? (double)all : 1);
    }
#endif
    for (int e = i[p] + first; e < i[p + 1]; e += step)
      for (int m = 0; m < bs; ++m) {
        const ptrdiff_t to = ((ptrdiff_t)bs * e + k) * bs + m, q = (ptrdiff_t)bs * j[e] + m;
        sum += fabs((double)a[to] * now[row] * now[q] - (double)old[to] * before[row] * before[q]);
      }
    sum = sum_shared(sum, share);
    change.join((now[row] > 0) == (before[row] > 0) ? sum : 1);
  }
};

HD inline double hash(Key k)
{
  k ^= k >> 30;
  k *= 0xbf58476d1ce4e5b9ULL;
  k ^= k >> 27;
  k *= 0x94d049bb133111ebULL;
  k ^= k >> 31;
  return (double)(k >> 11) / (double)(1ULL << 52) - 1;
}
// The same vector for any distribution of the nodes: by key or by number among all.
template <class T> struct Start {
  const Key *key;
  const T   *inverse;
  int        bs;
  T         *v;
  HD void    operator()(int p) const
  {
    const Key k = key ? key[p / bs] : (Key)(p / bs);
    v[p]        = inverse[p] > 0 ? (T)hash((k + 1) * 8 + (Key)(p % bs)) : 0;
  }
};

// Lanczos for D^-1 A in the inner product of D, with vectors v that are not yet divided by their norms, which are the
// roots of norm2. The factors that this takes are known on the host when a step begins; a thread of a device finds
// them by itself.
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
// w = D^-1 A v/|v| - |v| before/|before|, and the sum is (v, A v) / |v|^2.
template <class T> struct LanczosProduct {
  const T  *v, *inverse, *before;
  Factors   factors;
  T        *w;
  HD double operator()(ptrdiff_t q, T product) const
  {
    const double s = factors.scale();
    w[q] =
      inverse[q] > 0 ? (T)(s * inverse[q] * product - (factors.norm2_before ? factors.coupling() * before[q] : 0)) : 0;
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
template <class T> struct Norm2 {
  const T  *v, *inverse;
  HD double operator()(int p) const { return inverse[p] > 0 ? (double)v[p] * v[p] / inverse[p] : 0; }
};

} // namespace

// What the numbers of a grid are judged by is found where they are, so that the host waits once for all grids: ends
// of the diagonal, then what Lanczos' method gives, beta_0^2, alpha_1, beta_1^2, ...; last the change since the
// values before. Behind those of all grids stands what SweepLast finds.
constexpr int lanczos_steps = 8, findings = 2 * lanczos_steps + 3;

template <class T> void Hierarchy<T>::prepare_findings()
{
  found_ = make<double>(levels_.size() * (size_t)findings + 1);
}

// found_[at], each of so many := the largest or the sum over the processes, in one message
template <class T> void Hierarchy<T>::reduce_findings(const std::vector<size_t> &at, MPI_Op how)
{
  Buffer<double>      here;
  const bool          device = exec_.space == Space::cuda;
  std::vector<double> mine;
  if (device) here = on_host(found_);
  double *const found = device ? here.data() : found_.data();
  for (size_t k : at) mine.push_back(found[k]);
  MPI_Allreduce(MPI_IN_PLACE, mine.data(), (int)mine.size(), MPI_DOUBLE, how, comm_);
  for (size_t k = 0; k < at.size(); ++k) found[at[k]] = mine[k];
  if (device) copy(here, found_), device::synchronize();
}

template <class T> void Hierarchy<T>::diagonal(Level<T> &level, int number)
{
  const int    unknowns = level.n * params_.bs;
  const size_t at = (size_t)number * (size_t)findings;
  if (level.inverse.size() != (size_t)unknowns) level.inverse = make<T>((size_t)unknowns);
  forall_join(exec_, list_box(level.n),
              TakeDiagonal<T>{level.i.data(), level.j.data(), level.a.data(), perm_.data(),
                              number ? nullptr : diagonal_.data(), params_.bs, level.n, level.inverse.data()},
              (Diagonals *)(found_.data() + at));
  if (level.distributed) reduce_findings({at, at + 1}, MPI_MAX);
  for_each(exec_, unknowns, InvertDiagonal<T>{found_.data() + at, level.inverse.data()});
}

template <class T> void Hierarchy<T>::roots(Level<T> &level, Buffer<T> &root)
{
  for_each(exec_, (int)level.inverse.size(), Root<T>{level.inverse.data(), root.data()});
}

// Of a coarse grid whose values were those in old_, and the roots of whose inverse diagonal are in z.
template <class T> void Hierarchy<T>::measure(Level<T> &level, int number)
{
  const size_t at = (size_t)(number + 1) * (size_t)findings - 1;
  roots(level, level.work.r);
  halo(level, level.work.r);
  halo(level, level.work.z);
  forall_join(exec_, list_box((level.n * params_.bs) << level.share),
              Change<T>{level.i.data(), level.j.data(), level.a.data(), old_.data(), level.work.r.data(),
                        level.work.z.data(), params_.bs, level.n, level.share},
              (Largest *)(found_.data() + at));
}

// found: the findings of all grids, on the host; their changes become the largest over the processes.
template <class T> void Hierarchy<T>::join_changes(Buffer<double> &found) const
{
  std::vector<double> change;
  for (size_t l = 0; l < levels_.size(); ++l) change.push_back(changed((int)l, found.data()));
  MPI_Allreduce(MPI_IN_PLACE, change.data(), (int)change.size(), MPI_DOUBLE, MPI_MAX, comm_);
  for (size_t l = 0; l < levels_.size(); ++l) found.data()[(l + 1) * findings - 1] = change[l];
}

template <class T> double Hierarchy<T>::changed(int number, const double *found) const
{
  return found[(number + 1) * findings - 1];
}

// Of grids that are all divided by the processes or none of them is; together, as a step of all takes one message for
// a sum.
template <class T> void Hierarchy<T>::estimate(const std::vector<int> &numbers)
{
  constexpr int steps = lanczos_steps;
  using Vector = Buffer<T> WorkVectors<T>::*;
  Vector     v = &WorkVectors<T>::x, before = &WorkVectors<T>::r, w = &WorkVectors<T>::z;
  const auto place = [](int number, int at) { return (size_t)number * (size_t)findings + 2 + (size_t)at; };
  const auto each  = [&](int at, const auto &f) { // the step of a grid, whose sum is that finding
    std::vector<size_t> places;
    for (int number : numbers) {
      f(levels_[(size_t)number], found_.data() + place(number, 0));
      places.push_back(place(number, at));
    }
    if (!numbers.empty() && levels_[(size_t)numbers[0]].distributed) reduce_findings(places, MPI_SUM);
  };
  each(0, [&](Level<T> &level, double *s) {
    const int n = level.n * params_.bs;
    for_each(exec_, n, Start<T>{level.start.data(), level.inverse.data(), params_.bs, (level.work.*v).data()});
    sum_each(exec_, n, Norm2<T>{(level.work.*v).data(), level.inverse.data()}, s);
  });
  for (int k = 0; k < steps; ++k) {
    const auto factors = [&](const double *s) { return Factors(exec_, s + 2 * k, k ? s + 2 * k - 2 : nullptr); };
    each(2 * k + 1, [&](Level<T> &level, double *s) {
      halo(level, level.work.*v);
      sum_rows(exec_, level, params_.bs, (level.work.*v).data(),
               LanczosProduct<T>{(level.work.*v).data(), level.inverse.data(), (level.work.*before).data(), factors(s),
                                 (level.work.*w).data()},
               s + 2 * k + 1);
    });
    if (k + 1 == steps) break; // the last vector is not needed
    each(2 * k + 2, [&](Level<T> &level, double *s) {
      sum_each(exec_, level.n * params_.bs,
               LanczosSubtract<T>{(level.work.*v).data(), level.inverse.data(), factors(s), s + 2 * k + 1,
                                  (level.work.*w).data()},
               s + 2 * k + 2);
    });
    std::swap(before, v);
    std::swap(v, w);
  }
}

// The largest eigenvalue of a symmetric tridiagonal matrix, by bisection with the signs of its pivots: alpha_1,
// beta_1^2, alpha_2, ... in v.
static double largest_eigenvalue(int n, const double *v)
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

// found: the findings of all grids, on the host
template <class T> void Hierarchy<T>::judge(int number, const double *found, Failure &failure)
{
  constexpr int       steps = lanczos_steps;
  const double *const ends = found + (ptrdiff_t)number * findings, *const s = ends + 2;
  if (!std::isfinite(ends[0]) || !std::isfinite(ends[1])) failure.kind = Failure::not_finite;
  else if (ends[1] > 10 * (double)std::numeric_limits<T>::epsilon() * ends[0]) {
    failure.kind  = Failure::indefinite;
    failure.value = -ends[1] / scale_;
  }
  double &lambda = levels_[(size_t)number].lambda;
  // the last; not estimated: it stays
  if (failure.kind || number + 1 == (int)levels_.size() || (s[0] == 0 && lambda > 0)) return;
  double largest = 0;
  for (int k = 0; k < steps; ++k) largest = std::max(largest, s[2 * k + 1]);
  int m = 1; // an invariant subspace ends it early
  while (m < steps && s[2 * m] > 1e-24 * largest * largest) ++m;
  levels_[(size_t)number].change = 0;
  const double w = largest_eigenvalue(m, s + 1);
  lambda = w > 0 && std::isfinite(w) ? 1.1 * w : 1;
}

// S a^+ S with the eigenvectors of the scaled operator a, where some eigenvalues may be zero. False: there are none.
template <class T> static bool pseudo_inverse(std::vector<double> &a, const std::vector<double> &scale, double share,
                                              Buffer<T> &inverse, int &dropped, Failure &failure)
{
  const size_t        n = scale.size();
  std::vector<double> w(n);
  if (n && !symmetric_eigen((int)n, a.data(), w.data())) {
    failure.kind = Failure::not_finite;
    return false;
  }
  const double small = share * (n ? w[n - 1] : 0);
  dropped = -(int)std::count(scale.begin(), scale.end(), 0.); // those take no part
  if (n && w[0] < -100 * small) {
    failure.kind  = Failure::indefinite;
    failure.value = w[0];
  }
  for (size_t e = 0; e < n; ++e) { // eigenvector e is row e of a, as LAPACK stores columns
    if (w[e] <= small) {
      ++dropped;
      continue;
    }
    const double *const u = a.data() + e * n;
    for (size_t p = 0; p < n; ++p) {
      const double up = u[p] * scale[p] / w[e];
      for (size_t q = 0; q < n; ++q) inverse.data()[p * n + q] += (T)(up * u[q] * scale[q]);
    }
  }
  return true;
}

// A block of the device inverts the last operator in its scratch, scaled to a unit diagonal, by sweeping one pivot
// after the other: what is swept is minus the inverse, and symmetric all the time. *norm2 is the square of the
// inverse's Frobenius norm before it is scaled back, or -1 where a pivot is not positive.
template <class T> struct SweepLast {
  const int *i, *j;
  const T   *a;
  int        nodes, bs;
  T         *inverse;
  double    *norm2;
  static constexpr int threads = 256;
  static size_t bytes(size_t n) { return (n * n + 3 * n) * sizeof(double); }
  template <class Block> HD void operator()(Block &block) const
  {
    const int     n = nodes * bs;
    // rows: of this pivot and the next
    double *const m = block.shared, *const rows = m + (ptrdiff_t)n * n, *const scale = rows + 2 * n;
    block.each(0, n * n, 0, 1, [&](int p, int) { m[p] = 0; });
    block.sync();
    block.each(0, n, 0, 1, [&](int p, int) {
      for (int e = i[p / bs]; e < i[p / bs + 1]; ++e)
        for (int k = 0; k < bs; ++k) m[p * n + bs * j[e] + k] += a[((ptrdiff_t)bs * e + p % bs) * bs + k];
    });
    block.sync();
    block.each(0, n, 0, 1, [&](int p, int) { scale[p] = m[p * n + p] > 0 ? 1 / sqrt(m[p * n + p]) : 0; });
    block.sync();
    block.each(0, n, 0, n, [&](int q, int p) {
      if (q <= p) m[p * n + q] = m[q * n + p] = 0.5 * (m[p * n + q] + m[q * n + p]) * scale[p] * scale[q];
    });
    block.sync();
    block.each(0, n, 0, 1, [&](int q, int) { rows[q] = m[q]; });
    block.sync();
    for (int k = 0; k < n; ++k) {
      const double *const row = rows + k % 2 * n;
      double *const       next = rows + (k + 1) % 2 * n;
      const double        pivot = row[k], over = 1 / pivot;
      if (!(pivot > 0)) { // the same for all threads
        block.each(0, 1, 0, 1, [&](int, int) { *norm2 = -1; });
        return;
      }
      const int parts = n < threads ? threads / n : 1; // of a column
      block.each(0, parts * n, 0, 1, [&](int item, int) {
        const int    q = item % n;
        const double factor = row[q] * over;
        for (int p = item / n; p < n; p += parts) {
          double &v = m[p * n + q];
          v = p == k ? (q == k ? -over : factor) : q == k ? row[p] * over : v - row[p] * factor;
          if (p == k + 1) next[q] = v;
        }
      });
      block.sync();
    }
    block.each(0, n, 0, 1, [&](int p, int) {
      double sum = 0;
      for (int q = 0; q < n; ++q) sum += m[q * n + p] * m[q * n + p];
      rows[p] = sum;
    });
    block.each(0, n, 0, n,
               [&](int q, int p) { inverse[(ptrdiff_t)p * n + q] = (T)(-scale[p] * m[p * n + q] * scale[q]); });
    block.sync();
    block.each(0, 1, 0, 1, [&](int, int) {
      *norm2 = 0;
      for (int p = 0; p < n; ++p) *norm2 += rows[p];
    });
  }
};

// A device inverts the last operator while the host has other things to do. False: it does not.
template <class T> bool Hierarchy<T>::sweep_last()
{
  const Level<T> &level = levels_.back();
  const size_t    n = (size_t)level.points * (size_t)params_.bs;
  if (exec_.space != Space::cuda || level.distributed || !n || SweepLast<T>::bytes(n) > device::block_scratch())
    return false;
  if (coarsest_.inverse.size() != n * n) coarsest_.inverse = make<T>(n * n);
  forall_blocks(exec_, 1, SweepLast<T>::threads, SweepLast<T>::bytes(n),
                SweepLast<T>{level.i.data(), level.j.data(), level.a.data(), level.points, params_.bs,
                             coarsest_.inverse.data(), found_.data() + found_.size() - 1});
  return true;
}

// The pseudo-inverse, as the last operator may be singular: pure Neumann problems, and vertices that the same nodes
// use. swept: what SweepLast has found, or -1.
template <class T> Failure Hierarchy<T>::invert(double swept)
{
  Level<T>    &level = levels_.back();
  Coarsest<T> &c     = coarsest_;
  const int    bs = params_.bs, mine = level.points * bs; // Dirichlet rows, which come last, take no part
  Failure      failure;
  c.n      = mine;
  c.offset = 0;
  if (level.distributed) {
    int before = 0, rank;
    MPI_Comm_rank(comm_, &rank);
    MPI_Exscan(&mine, &before, 1, MPI_INT, MPI_SUM, comm_);
    MPI_Allreduce(&mine, &c.n, 1, MPI_INT, MPI_SUM, comm_);
    c.offset = rank ? before : 0;
    c.b      = make<T>((size_t)c.n);
  }
  const size_t        n = (size_t)c.n;
  const double        small = sizeof(T) == 8 ? 1e-11 : 1e-6; // an eigenvalue below this share of the largest is zero
  c.dropped = 0;
  if (swept >= 0 && is_regular(swept, small * (double)n)) return failure;
  std::vector<double> a(n * n);
  const Buffer<int>   i = on_host(level.i), j = on_host(level.j);
  const Buffer<T>     v = on_host(level.a);
  std::vector<double> place((size_t)(level.n + level.ghosts) * (size_t)bs);
  if (level.distributed) { // the numbers of the ghosts
    Buffer<double> number((size_t)(level.n + level.ghosts) * (size_t)bs), there = make<double>(number.size());
    for (int p = 0; p < mine; ++p) number.data()[p] = c.offset + p;
    copy(number, there);
    level.exchange.forward(there.data(), bs);
    number = on_host(there);
    std::copy(number.data(), number.data() + number.size(), place.begin());
  } else
    for (size_t p = 0; p < place.size(); ++p) place[p] = (double)p;
  for (int p = 0; p < level.points; ++p)
    for (int e = i.data()[p]; e < i.data()[p + 1]; ++e)
      for (int k = 0; k < bs; ++k)
        for (int m = 0; m < bs; ++m)
          a[(size_t)(c.offset + p * bs + k) * n + (size_t)place[(size_t)(j.data()[e] * bs + m)]] +=
            v.data()[((ptrdiff_t)e * bs + k) * bs + m];
  if (level.distributed) MPI_Allreduce(MPI_IN_PLACE, a.data(), (int)a.size(), MPI_DOUBLE, MPI_SUM, comm_);
  // scaled to a unit diagonal: what is zero must not depend on coefficients that jump
  std::vector<double> scale(n);
  for (size_t p = 0; p < n; ++p) scale[p] = a[p * n + p] > 0 ? 1 / std::sqrt(a[p * n + p]) : 0;
  for (size_t p = 0; p < n; ++p)
    for (size_t q = 0; q <= p; ++q)
      a[p * n + q] = a[q * n + p] = 0.5 * (a[p * n + q] + a[q * n + p]) * scale[p] * scale[q];
  Buffer<T>           inverse(n * n);
  // mostly no eigenvalue is small, and Cholesky's factors cost a tenth of the eigenvectors
  std::vector<double> regular = a;
  if (n && symmetric_inverse((int)n, regular.data(), small * (double)n)) { // none is larger than n
    for (size_t p = 0; p < n; ++p)
      for (size_t q = 0; q < n; ++q) inverse.data()[p * n + q] = (T)(scale[p] * regular[p * n + q] * scale[q]);
    c.dropped = 0;
  } else if (!pseudo_inverse(a, scale, small, inverse, c.dropped, failure)) return failure;
  c.inverse = make<T>(n * n);
  copy(inverse, c.inverse);
  if (exec_.space == Space::cuda) device::synchronize();
  return failure;
}

#define INSTANTIATE(T) \
  template void    Hierarchy<T>::prepare_findings(); \
  template void    Hierarchy<T>::diagonal(Level<T> &, int); \
  template void    Hierarchy<T>::roots(Level<T> &, Buffer<T> &); \
  template void    Hierarchy<T>::measure(Level<T> &, int); \
  template double  Hierarchy<T>::changed(int, const double *) const; \
  template void    Hierarchy<T>::judge(int, const double *, Failure &); \
  template void    Hierarchy<T>::estimate(const std::vector<int> &); \
  template void    Hierarchy<T>::join_changes(Buffer<double> &) const; \
  template bool    Hierarchy<T>::sweep_last(); \
  template Failure Hierarchy<T>::invert(double);
INSTANTIATE(double)
INSTANTIATE(float)

} // namespace tessera::auxamg
