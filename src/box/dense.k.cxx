#include "box/dense.hpp"
#include "box/nodes.hpp"
#include "exec/dependent.hpp"
#include "exec/exec.hpp"
#include "exec/tile.hpp"
#include "exec/pack.hpp"
#include "box/tuning.hpp"
#include <algorithm>

namespace tessera {

namespace {

// Some rows of the product: a thread takes every 128th four terms of all of them, its part of the right-hand side and
// of the matrix read at once (one after the other, and through shared memory, took 15 us where n = 961; n^2 values
// are the least). The threads' sums are added in a fixed order.
template <class T, bool TAKEN> struct Product { // TAKEN: the right-hand side is in v, else in b
  static constexpr int    rows = 4, threads = 128, lanes = 32, few = 4;
  static constexpr int    terms = (int)((tuning::dense_maximum + few * threads - 1) / (few * threads));
  static constexpr int    load = 16 / (int)sizeof(T); // values at once
  static constexpr size_t bytes = rows * threads * sizeof(double);
  int                     n, width; // width: of the matrix' rows, a multiple of `few`; what is beyond n is zero
  const T                *a, *v;
  const int              *node;
  View<T>                 b, out;
  // View::at() without an index, for which the pointers would go to memory
  HD static T &at(const View<T> &f, int x, int y)
  {
    T *const even = x & 1 ? f.q[1] : f.q[0], *const odd = x & 1 ? f.q[3] : f.q[2];
    return (y & 1 ? odd : even)[floor_half(x) * f.sx + floor_half(y) * f.sy];
  }
  template <class Block> HD void operator()(Block &block) const
  {
    double   *part = block.shared;
    const int y0 = block.tile.y0 * rows, end = n - y0 < rows ? n - y0 : rows;
    block.each(0, threads, 0, 1, [&](int i, int) {
      T            m[terms][rows][few], x[terms][few];
      Pack<int, 4> at_node[terms][few / 2];
      for (int k = 0; k < terms; ++k) {
        const int column = few * (i + k * threads), first = column < width ? column : 0;
        for (int j = 0; j < few; j += 2) at_node[k][j / 2] = pack<4>(node + 2 * (first + j), 0);
        for (int r = 0; r < rows; ++r)
          for (int j = 0; j < few; j += load) {
            const auto p = pack<load>(a + (ptrdiff_t)(r < end ? y0 + r : y0) * width + first + j, 0);
            for (int s = 0; s < load; ++s) m[k][r][j + s] = p.v[s];
          }
      }
      device::after_previous(); // matrix and nodes are older
      for (int k = 0; k < terms; ++k) {
        const int column = few * (i + k * threads), first = column < width ? column : 0;
        for (int j = 0; j < few; ++j)
          x[k][j] = column >= width ? (T)0
                  : TAKEN           ? v[first + j]
                                    : at(b, at_node[k][j / 2].v[2 * (j % 2)], at_node[k][j / 2].v[2 * (j % 2) + 1]);
      }
      for (int r = 0; r < rows; ++r) {
        T sum = 0;
        for (int k = 0; k < terms; ++k)
          for (int j = 0; j < few; ++j) sum += m[k][r][j] * x[k][j];
        part[i + r * threads] = sum;
      }
    });
    block.sync();
    block.each(0, lanes, 0, rows, [&](int i, int r) {
      double sum = 0;
      for (int k = 0; k < threads / lanes; ++k) sum += part[i + k * lanes + r * threads];
      part[i + r * threads] = sum;
    });
    block.sync();
    block.each(0, 1, 0, end, [&](int, int r) {
      double sum[4] = {};
      for (int k = 0; k < lanes; ++k) sum[k % 4] += part[k + r * threads];
      at(out, node[2 * (y0 + r)], node[2 * (y0 + r) + 1]) = (T)((sum[0] + sum[1]) + (sum[2] + sum[3]));
    });
  }
};

// L D L' of a band matrix by one block: the columns and rows of L, and the inverse pivots. The rows in reach lie in a
// ring in the block's scratch, with L D in the band's place. Several pivots are eliminated between two barriers:
// every thread does the few rows of these pivots for itself, as their chain of divisions is what takes time. Singular
// pivots as in Band::factor().
constexpr int piece = 32; // rows that are read together

template <int W> struct BandFactors {
  double *column, *row, *inverse, *pivot, *error; // L(i + 1 + k, i), L(i, i - 1 - k) at i * W + k
  static size_t size(int n) { return (size_t)n * (2 * W + 3); }
  BandFactors(double *memory, int n) :
    column(memory), row(column + (ptrdiff_t)n * W), inverse(row + (ptrdiff_t)n * W), pivot(inverse + n),
    error(pivot + n)
  {
  }
};

template <int W> struct FactorBand {
  // pivots of a step, rows in scratch, rows that are read together
  static constexpr int pivots = 4, ring = 256, read = 192;
  // entries that a step changes; rows with its pivots
  static constexpr int triangle = W / 2 * (W + 1), reach = W + pivots;
  const double  *a;
  BandFactors<W> l;
  int            n, *failed;
  double         singular;
  static size_t  bytes() { return (ring * (W + 2) + 1) * sizeof(double); }
  HD bool        good(double pivot, double before) const { return pivot > singular * before; }
  template <class Block> HD void operator()(Block &block) const
  {
    // d: diagonals before elimination
    double *const s = block.shared, *const d = s + ring * (W + 1), *const perhaps = d + ring;
    auto          at = [&](int i) { return s + i % ring * (W + 1); };
    int           loaded = 0;
    block.each(0, 1, 0, 1, [&](int, int) { *perhaps = 0; });
    for (int i = 0; i < n; i += pivots) {
      if (i % read == 0) { // zero beyond the last row
        const int to = i + read + reach;
        block.each(loaded * (W + 1), to * (W + 1), 0, 1,
                   [&](int k, int) { s[k % (ring * (W + 1))] = k < n * (W + 1) ? a[k] : 0; });
        block.each(loaded, to, 0, 1, [&](int k, int) { d[k % ring] = k < n ? a[(ptrdiff_t)k * (W + 1)] : 0; });
        loaded = to;
        block.sync();
      }
      double p[pivots][pivots], inverse[pivots], before[pivots];
      for (int r = 0; r < pivots; ++r) {
        before[r] = d[(i + r) % ring];
        for (int k = 0; k <= r; ++k) p[r][k] = at(i + r)[r - k];
      }
      for (int k = 0; k < pivots; ++k) {
        inverse[k] = good(p[k][k], before[k]) ? 1 / p[k][k] : 0;
        for (int r = k + 1; r < pivots; ++r)
          for (int c = k + 1; c <= r; ++c) p[r][c] -= p[r][k] * p[c][k] * inverse[k];
      }
      auto row = [&](int r, double (&v)[pivots]) { // row i + r of L D at the pivots' columns
        for (int k = 0; k < pivots; ++k) v[k] = r >= k && r - k <= W ? at(i + r)[r - k] : 0;
        for (int k = 0; k < pivots; ++k)
          for (int c = k + 1; c < pivots; ++c) v[c] -= v[k] * p[c][k] * inverse[k];
      };
      block.each(0, triangle + reach, 0, 1, [&](int t, int) {
        double v[pivots], w[pivots];
        if (t < triangle) { // rows u and W - 1 - u of the triangle are one row of the threads
          const int y = t % (W + 1), u = t / (W + 1), r = pivots + (y <= u ? u : W - 1 - u),
                    c = pivots + (y <= u ? y : y - u - 1);
          row(r, v), row(c, w);
          double sum = at(i + r)[r - c];
          for (int k = 0; k < pivots; ++k) sum -= v[k] * w[k] * inverse[k];
          at(i + r)[r - c] = sum;
        } else {
          const int r = t - triangle;
          row(r, v);
          for (int k = 0; k < pivots; ++k) {
            const int f = r - k - 1; // row r of column k
            if (f < 0 || f >= W || i + k >= n) continue;
            l.column[(ptrdiff_t)(i + k) * W + f] = v[k] * inverse[k];
            if (i + r < n) l.row[(ptrdiff_t)(i + r) * W + f] = v[k] * inverse[k];
          }
          if (r) return;
          for (int k = 0; k < pivots && i + k < n; ++k) {
            l.inverse[i + k] = inverse[k];
            l.pivot[i + k]   = p[k][k];
            if (inverse[k] == 0 && !(before[k] >= 0 && p[k][k] >= -singular * before[k])) *perhaps = 1;
          }
        }
      });
      block.sync();
    }
    if (*perhaps == 0) return;
    block.each(0, 1, 0, 1, [&](int, int) { // is it the rounding of a singular part's strong nodes?
      int first = 0;
      for (int i = 0; i < n; ++i) {
        const double before = a[(ptrdiff_t)i * (W + 1)], pivot = l.pivot[i];
        double       e = 10 * singular * before;
        for (int k = 0; k < W && k < i; ++k)
          e += l.row[(ptrdiff_t)i * W + k] * l.row[(ptrdiff_t)i * W + k] * l.error[i - 1 - k];
        l.error[i]        = e;
        const double tolerance = e < 1e-6 * before ? e : 1e-6 * before;
        if (!first && !good(pivot, before) && !(before >= 0 && pivot >= -tolerance)) first = i + 1;
      }
      if (first) *failed = first;
    });
  }
};

// Columns of L^-1, one a lane of a block's first warp. A row that is done goes to the sums of the next W rows at
// once, which are in registers: only the first of these waits for it. The other warps read the next rows meanwhile.
template <int W> struct InverseColumns {
  static constexpr int columns = 32, threads = 256, part = piece * W;
  const double *l; // columns
  double       *x; // x[i * n + j], i >= j
  int           n;
  static size_t bytes() { return (2 * part + W * columns) * sizeof(double); }
  HD void       read(int t, int of, int i0, double *to) const // thread t of `of`
  {
    for (int e = t; e < part; e += of) to[e] = i0 * W + e < n * W ? l[(ptrdiff_t)i0 * W + e] : 0;
  }
  HD void row(const double *from, double (&to)[W]) const
  {
    for (int k = 0; k < W; ++k) to[k] = from[k];
  }
  HD void next(double v, const double (&a)[W], double (&q)[W]) const
  {
    for (int k = 0; k + 1 < W; ++k) q[k] = q[k + 1] - a[k] * v;
    q[W - 1] = -a[W - 1] * v;
  }
  HD void forward(int lane, int i0, int j0, const double *in, double *sums) const
  {
    double    q[W], a[W], b[W];
    const int j = j0 + lane;
    for (int k = 0; k < W; ++k) q[k] = sums[k * columns + lane];
    row(in, a);
    for (int r = 0; r < piece; r += 2) {
      row(in + (r + 1) * W, b);
      const double u = q[0] + (i0 + r == j);
      if (j < n && i0 + r < n) x[(ptrdiff_t)(i0 + r) * n + j] = u;
      next(u, a, q);
      if (r + 2 < piece) row(in + (r + 2) * W, a);
      const double v = q[0] + (i0 + r + 1 == j);
      if (j < n && i0 + r + 1 < n) x[(ptrdiff_t)(i0 + r + 1) * n + j] = v;
      next(v, b, q);
    }
    for (int k = 0; k < W; ++k) sums[k * columns + lane] = q[k];
  }
  template <class Block> HD void operator()(Block &block) const
  {
    const int     j0 = block.tile.y0 * columns;
    double *const sums = block.shared, *const memory = sums + W * columns;
    double       *now = memory, *then = memory + part;
    block.each(0, W * columns, 0, 1, [&](int k, int) { sums[k] = 0; });
    block.each(0, threads, 0, 1, [&](int t, int) { read(t, threads, j0, now); });
    block.sync();
    for (int i0 = j0; i0 < n; i0 += piece) {
      block.each(0, threads, 0, 1, [&](int t, int) {
        if (t < columns) forward(t, i0, j0, now, sums);
        else if (i0 + piece < n) read(t - columns, threads - columns, i0 + piece, then);
      });
      block.sync();
      double *const swap = now;
      now = then, then = swap;
    }
  }
};

// The inverse: x' D^-1 x with the columns x of L^-1, of which only the rows i >= j are there.
template <class T> struct SquareColumns {
  const double *x, *inverse;
  T            *out;
  int           n, width;
  HD void       operator()(int j, int i) const
  {
    const int     first = i > j ? i : j;
    const double *u = x + i, *v = x + j;
    double        sum[4] = {};
    int           k = first;
    for (; k + 4 <= n; k += 4)
      for (int m = 0; m < 4; ++m) sum[m] += u[(ptrdiff_t)(k + m) * n] * v[(ptrdiff_t)(k + m) * n] * inverse[k + m];
    for (; k < n; ++k) sum[0] += u[(ptrdiff_t)k * n] * v[(ptrdiff_t)k * n] * inverse[k];
    out[(ptrdiff_t)i * width + j] = (T)((sum[0] + sum[1]) + (sum[2] + sum[3]));
  }
};

} // namespace

size_t inverse_scratch(int width) { return width <= 18 ? FactorBand<18>::bytes() : FactorBand<36>::bytes(); }

template <class T> void Inverse<T>::place(const std::vector<int> &x, const std::vector<int> &y)
{
  const int n = (int)x.size();
  const int nx = 1 + *std::max_element(x.begin(), x.end());
  if (n_ == n && nx_ == nx) return;
  n_ = 0, width_ = (n + 3) / 4 * 4;
  Buffer<int> nodes((size_t)2 * width_), numbers((size_t)n);
  for (int i = 0; i < n; ++i) {
    nodes.data()[2 * i]     = x[(size_t)i];
    nodes.data()[2 * i + 1] = y[(size_t)i];
    const size_t node = (size_t)x[(size_t)i] + (size_t)nx * (size_t)y[(size_t)i];
    if (node < (size_t)n) numbers.data()[node] = i;
  }
  a_.resize({(size_t)n * width_, Space::cuda});
  v_.resize({(size_t)width_, Space::cuda});
  node_.resize({(size_t)2 * width_, Space::cuda});
  work_.resize({0, Space::cuda});
  number_.resize({(size_t)n, Space::cuda});
  copy(nodes, node_);
  copy(numbers, number_);
  device::synchronize(); // the host's copy goes
  n_ = n, nx_ = nx;
}

template <class T> void Inverse<T>::setup(const Band &band, const std::vector<int> &x, const std::vector<int> &y)
{
  const int           n = band.size();
  place(x, y);
  Buffer<T>           host((size_t)n * width_);
  std::vector<double> e((size_t)n);
  for (int i = 0; i < n; ++i) {
    std::fill(e.begin(), e.end(), 0);
    e[(size_t)i] = 1;
    band.solve(e.data());
    for (int j = 0; j < n; ++j) host.data()[(size_t)i * width_ + j] = (T)e[(size_t)j];
  }
  copy(host, a_);
  device::synchronize(); // the host's copy goes
}

template <class T> void Inverse<T>::setup(const double *band, int w, double singular, const std::vector<int> &x,
                                          const std::vector<int> &y, int *failed)
{
  const Exec exec{Space::cuda};
  const int  n = (int)x.size();
  place(x, y);
  auto make = [&](auto width) {
    constexpr int W = decltype(width)::value;
    const size_t field = (size_t)n * n, wanted = field + BandFactors<W>::size(n);
    if (work_.size() < wanted) work_.resize({wanted, Space::cuda});
    const BandFactors<W> l(work_.data() + field, n);
    using Columns = InverseColumns<W>;
    if constexpr (device::built) {
      forall_blocks(exec, 1, 256, FactorBand<W>::bytes(), FactorBand<W>{band, l, n, failed, singular});
      forall_blocks(exec, (n + Columns::columns - 1) / Columns::columns, Columns::threads, Columns::bytes(),
                    Columns{l.column, work_.data(), n});
    }
    forall(exec, {0, n, 0, n}, SquareColumns<T>{work_.data(), l.inverse, a_.data(), n, width_});
  };
  constexpr int narrow = inverse_width(0), wide = inverse_width(narrow + 1);
  if (w == narrow) make(std::integral_constant<int, narrow>());
  else make(std::integral_constant<int, wide>());
}

template <class T> T *Inverse<T>::matrix(int n, int nx)
{
  std::vector<int> x((size_t)n), y((size_t)n);
  for (int i = 0; i < n; ++i) x[(size_t)i] = i % nx, y[(size_t)i] = i / nx;
  place(x, y);
  return a_.data();
}

template <class T> void Inverse<T>::solve(const Exec &exec, const View<T> &b, const View<T> &out)
{
  auto product = [&](const auto &kernel) {
    using Kernel = std::decay_t<decltype(kernel)>;
    const int blocks = (n_ + Kernel::rows - 1) / Kernel::rows;
#ifdef __CUDACC__
    device::launch_dependent(device::run_tiles<Kernel>, device::Blocks{blocks, 1}, dim3(Kernel::threads), Kernel::bytes,
                             Box{0, 1, 0, blocks}, 1, 1, 1u, kernel);
#else
    forall_blocks(exec, blocks, Kernel::threads, Kernel::bytes, kernel);
#endif
  };
  if (b.q[3] != out.q[3]) return product(Product<T, false>{n_, width_, a_.data(), nullptr, node_.data(), b, out});
  forall(exec, {0, n_, 0, 1}, TakeNodes<T, T>{b, node_.data(), v_.data()});
  product(Product<T, true>{n_, width_, a_.data(), v_.data(), node_.data(), b, out});
}

template class Inverse<double>;
template class Inverse<float>;

} // namespace tessera
