#include "multigrid/exact.hpp"
#include "exec/each.hpp"
#include "exec/several.hpp"
#include "exec/shared.hpp"
#include "exec/tile.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::multigrid {

namespace {

template <class T, class V> struct Dense {
  const T  *a; // from the first row of this process
  const V  *b;
  V        *x;
  int       n, log_threads;
  ptrdiff_t row, column; // from one to the next
  HD void  operator()(int item) const
  {
    const Shared at(item, log_threads);
    V            s = 0;
    at.each(0, n, [&](int q) { s += a[row * at.node + column * q] * b[q]; });
    s = sum_shared(s, log_threads);
    if (!at.thread) x[at.node] = s;
  }
};

// Entries of the operator, scaled to a unit diagonal, that differ by more from their transposes make it one that is not
// symmetric; what rounding does is less.
constexpr double asymmetry = 1e-4;

// A block of the device inverts the last operator in its scratch, scaled to a unit diagonal, by sweeping one pivot
// after the other: what is swept is minus the inverse, and symmetric all the time. *norm2 is the square of the
// inverse's Frobenius norm before it is scaled back, or -1 where a pivot is not positive or the operator not symmetric.
template <class T> struct SweepLast {
  const int *i, *j;
  const T   *a;
  int        nodes, bs;
  T         *inverse;
  double     absent, *norm2;
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
    block.each(0, n, 0, 1, [&](int p, int) {
      double largest = 0;
      for (int q = 0; q < n; ++q) largest = m[q * n + q] > largest ? m[q * n + q] : largest;
      scale[p] = m[p * n + p] > absent * largest ? 1 / sqrt(m[p * n + p]) : 0;
    });
    block.sync();
    block.each(0, 1, 0, 1, [&](int, int) { *norm2 = 0; });
    block.sync();
    block.each(0, n, 0, n, [&](int q, int p) {
      if (fabs(m[p * n + q] - m[q * n + p]) * scale[p] * scale[q] > asymmetry) *(volatile double *)norm2 = -1;
    });
    block.sync();
    if (*(volatile double *)norm2 < 0) return;
    block.each(0, n, 0, n, [&](int q, int p) {
      if (q <= p) m[p * n + q] = m[q * n + p] = 0.5 * (m[p * n + q] + m[q * n + p]) * scale[p] * scale[q];
      if (q == p && scale[p] == 0) m[p * n + p] = 1;
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

} // namespace

template <class T> void sum_processes(const Comm &comm, Space space, T *v, size_t n, Staging &message)
{
  message.reserve(space, n * sizeof(T));
  MPI_Allreduce(MPI_IN_PLACE, message.fetch(v, n), (int)n, sizeof(T) == 8 ? MPI_DOUBLE : MPI_FLOAT, MPI_SUM, comm);
  message.store(v, n);
  device::synchronize(space);
}

template <class T> void ExactSolver<T>::place(const Exec &exec, const Comm &comm, int mine, bool divided)
{
  n       = mine;
  offset  = 0;
  dropped = 0;
  if (!divided) return;
  int before = 0, rank;
  MPI_Comm_rank(comm, &rank);
  MPI_Exscan(&mine, &before, 1, MPI_INT, MPI_SUM, comm);
  MPI_Allreduce(&mine, &n, 1, MPI_INT, MPI_SUM, comm);
  offset = rank ? before : 0;
  b.resize(Extent{(size_t)n, exec.space});
}

template <class T> bool ExactSolver<T>::invert_rows(const Exec &exec, const int *i, const int *j, const T *a, int nodes,
                                                    int bs, double *norm2)
{
  const size_t order = (size_t)nodes * (size_t)bs;
  if (!order || SweepLast<T>::bytes(order) > device::block_scratch(exec.space)) return false;
  if (inverse.size() != order * order) inverse.resize(Extent{order * order, exec.space});
  forall_blocks(exec, 1, SweepLast<T>::threads, SweepLast<T>::bytes(order),
                SweepLast<T>{i, j, a, nodes, bs, inverse.data(), absent, norm2});
  return true;
}

template <class T> void ExactSolver<T>::take(const Exec &exec, const Buffer<T> &found)
{
  inverse.fit({found.size(), exec.space});
  copy(found, inverse);
  device::synchronize(exec.space);
}

// a := its pseudo-inverse. Where constants have no energy, as in pure Neumann problems, it is
// (1 - z z') (a + z z')^+ (1 - z z') with z the constants as the scaled operator has them, which are not what rounding
// leaves of its null space. Returns the dimension of that; -1: semidefinite_inverse() does not work, and a is lost.
static int invert_beside_constants(const std::vector<double> &scale, double negligible, std::vector<double> &a)
{
  const size_t        n = scale.size();
  std::vector<double> z(n), y(n);
  double              norm2 = 0, energy2 = 0, both = 0;
  for (size_t p = 0; p < n; ++p) z[p] = scale[p] > 0 ? 1 / scale[p] : 0, norm2 += z[p] * z[p];
  for (double &v : z) v /= std::sqrt(norm2);
  const auto multiply = [&] { // y = a z
    for (size_t p = 0; p < n; ++p) {
      y[p] = 0;
      for (size_t q = 0; q < n; ++q) y[p] += a[p * n + q] * z[q];
    }
  };
  multiply();
  for (double v : y) energy2 += v * v;
  if (!(energy2 <= negligible * negligible)) return semidefinite_inverse((int)n, a.data(), negligible);
  for (size_t p = 0; p < n; ++p)
    for (size_t q = 0; q < n; ++q) a[p * n + q] += z[p] * z[q];
  const int dropped = semidefinite_inverse((int)n, a.data(), negligible);
  if (dropped < 0) return -1;
  multiply();
  for (size_t p = 0; p < n; ++p) both += z[p] * y[p];
  for (size_t p = 0; p < n; ++p)
    for (size_t q = 0; q < n; ++q) a[p * n + q] -= z[p] * y[q] + y[p] * z[q] - both * z[p] * z[q];
  return dropped + 1;
}

// S a^+ S with the eigenvectors of the scaled operator a, where some eigenvalues may be zero. False: there are none.
template <class T> bool ExactSolver<T>::pseudo_inverse(std::vector<double> &a, const std::vector<double> &scale,
                                                       Buffer<T> &to, double &lowest)
{
  const size_t        order = scale.size();
  std::vector<double> w(order);
  dropped = 0;
  if (order && !symmetric_eigen((int)order, a.data(), w.data())) return false;
  const double small = negligible() * (order ? w[order - 1] : 0);
  lowest  = order && w[0] < -100 * small ? w[0] : 0;
  for (size_t e = 0; e < order; ++e) { // eigenvector e is row e of a, as LAPACK stores columns
    if (w[e] <= small) {
      ++dropped;
      continue;
    }
    const double *const u = a.data() + e * order;
    for (size_t p = 0; p < order; ++p) {
      const double up = u[p] * scale[p] / w[e];
      for (size_t q = 0; q < order; ++q) to.data()[p * order + q] += (T)(up * u[q] * scale[q]);
    }
  }
  return true;
}

template <class T>
typename ExactSolver<T>::Result ExactSolver<T>::invert(const Exec &exec, std::vector<double> &a, double &negative)
{
  const size_t        order = (size_t)n;
  // scaled to a unit diagonal: what is zero must not depend on coefficients that jump
  std::vector<double> scale(order);
  double              largest = 0;
  for (size_t p = 0; p < order; ++p) largest = std::max(largest, a[p * order + p]);
  for (size_t p = 0; p < order; ++p)
    scale[p] = a[p * order + p] > absent * largest ? 1 / std::sqrt(a[p * order + p]) : 0;
  double difference = 0;
  for (size_t p = 0; p < order; ++p)
    for (size_t q = 0; q < order; ++q) {
      a[p * order + q] *= scale[p] * scale[q];
      if (q < p) difference = std::max(difference, std::abs(a[p * order + q] - a[q * order + p]));
    }
  for (size_t p = 0; p < order; ++p)
    if (scale[p] == 0) a[p * order + p] = 1;
  Buffer<T> to(order * order);
  negative = 0;
  if (difference > asymmetry) {
    dropped = general_inverse(n, a.data(), negligible());
    if (dropped < 0) return Result::not_finite;
    for (size_t p = 0; p < order; ++p)
      for (size_t q = 0; q < order; ++q) to.data()[p * order + q] = (T)(scale[p] * a[p * order + q] * scale[q]);
    take(exec, to);
    return Result::done;
  }
  for (size_t p = 0; p < order; ++p)
    for (size_t q = 0; q <= p; ++q) a[p * order + q] = a[q * order + p] = 0.5 * (a[p * order + q] + a[q * order + p]);
  // mostly no eigenvalue lies near what counts as zero, and Cholesky's factors cost a tenth of the eigenvectors
  std::vector<double> found = a;
  dropped = order ? invert_beside_constants(scale, negligible(), found) : 0;
  if (dropped >= 0) {
    for (size_t p = 0; p < order; ++p)
      for (size_t q = 0; q < order; ++q) to.data()[p * order + q] = (T)(scale[p] * found[p * order + q] * scale[q]);
  } else if (!pseudo_inverse(a, scale, to, negative)) return Result::not_finite;
  take(exec, to);
  return negative < 0 ? Result::indefinite : Result::done;
}

template <class T> template <class V> void ExactSolver<T>::solve(const Exec &exec, const Comm &comm, int mine,
                                                                 bool divided, bool transposed, const V *right, V *x)
{
  Buffer<T> &all = width_of<V> == 1 ? b : several;
  if (divided) {
    all.zero();
    for_each(exec, mine, CopyValues<V>{right, (V *)all.data() + offset});
    sum_processes(comm, exec.space, all.data(), (size_t)n * width_of<V>, message);
  }
  const int       log_threads = shared_on(exec, 5);
  const ptrdiff_t row = transposed ? 1 : n, column = transposed ? n : 1;
  for_each(
    exec, mine << log_threads,
    Dense<T, V>{inverse.data() + offset * row, divided ? (V *)all.data() : right, x, n, log_threads, row, column});
}

#define INSTANTIATE(T, ...) \
  template void ExactSolver<T>::solve<__VA_ARGS__>(const Exec &, const Comm &, int, bool, bool, const __VA_ARGS__ *, \
                                                   __VA_ARGS__ *);
#define INSTANTIATE_ALL(T) \
  template struct ExactSolver<T>; \
  template void sum_processes(const Comm &, Space, T *, size_t, Staging &); \
  TESSERA_ALL_WIDTHS(INSTANTIATE, T)
INSTANTIATE_ALL(double)
INSTANTIATE_ALL(float)

} // namespace tessera::multigrid
