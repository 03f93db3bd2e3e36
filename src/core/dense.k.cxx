#include "core/dense.hpp"
#include "core/exec.hpp"

namespace tessera {

namespace {

template <class T> struct Take {
  View<T>    b;
  const int *node;
  T         *v;
  HD void    operator()(int i, int) const { v[i] = b.at(node[2 * i], node[2 * i + 1]); }
};

constexpr int product_width = 128, product_rows = 4;

// Some rows of the product: every thread sums each 128th term of all of them, then the threads' sums are added in pairs.
template <class T, bool TAKEN> struct Product { // TAKEN: the right-hand side is in v, else in b
  int        n;
  const T   *a, *v;
  const int *node;
  View<T>    b, out;
  template <class Block> HD void operator()(Block &block) const
  {
    const int       y0 = block.tile.y0, rows = block.tile.y1 - y0;
    double         *part = block.shared;
    T              *x = (T *)(part + product_rows * product_width);
    const ptrdiff_t next = n;
    block.each(0, n, 0, 1, [&](int k, int) { x[k] = TAKEN ? v[k] : b.at(node[2 * k], node[2 * k + 1]); });
    block.sync();
    block.each(0, product_width, 0, 1, [&](int i, int) {
      const T *row = a + (ptrdiff_t)y0 * n;
      T        s[product_rows] = {};
      if (rows == product_rows) {
        for (int k = i; k < n; k += product_width)
          for (int r = 0; r < product_rows; ++r) s[r] += row[k + r * next] * x[k];
      } else
        for (int k = i; k < n; k += product_width)
          for (int r = 0; r < rows; ++r) s[r] += row[k + r * next] * x[k];
      for (int r = 0; r < product_rows; ++r) part[i + r * product_width] = s[r];
    });
    for (int d = product_width / 2; d; d /= 2) {
      block.sync();
      block.each(0, d, 0, rows, [&](int i, int r) { part[i + r * product_width] += part[i + d + r * product_width]; });
    }
    block.sync();
    block.each(0, 1, 0, rows, [&](int, int r) { out.at(node[2 * (y0 + r)], node[2 * (y0 + r) + 1]) = (T)part[r * product_width]; });
  }
};

// L D L' of a band matrix by one block: L takes the place of the couplings, the inverse pivots that of the diagonal. Singular pivots
// as in Band::factor().
struct FactorBand {
  const double *a;
  double       *l;
  int           n, w, *failed;
  double        singular;
  HD bool       good(double pivot, double before) const { return pivot > singular * before; }
  template <class Block> HD void operator()(Block &block) const
  {
    double *s = block.shared, *d = s + (ptrdiff_t)n * (w + 1); // L D in the band's place; diagonals before elimination; errors
    block.each(0, n * (w + 1), 0, 1, [&](int i, int) { s[i] = a[i]; });
    block.sync();
    block.each(0, n, 0, 1, [&](int i, int) { d[i] = s[i * (w + 1)]; });
    block.sync();
    for (int i = 0; i < n; ++i) {
      const double pivot = s[i * (w + 1)], inverse = good(pivot, d[i]) ? 1 / pivot : 0;
      const int    m = n - 1 - i < w ? n - 1 - i : w; // rows below in reach
      block.each(1, m + 1, 1, m + 1, [&](int c, int r) {
        if (c <= r) s[(i + r) * (w + 1) + r - c] -= s[(i + r) * (w + 1) + r] * s[(i + c) * (w + 1) + c] * inverse;
      });
      block.sync();
    }
    block.each(0, n, 0, 1, [&](int i, int) {
      const double pivot = s[i * (w + 1)];
      l[i * (w + 1)] = good(pivot, d[i]) ? 1 / pivot : 0;
      if (!good(pivot, d[i]) && !(d[i] >= 0 && pivot >= -singular * d[i])) *failed = i + 1; // perhaps
      for (int k = 1; k <= w && k <= i; ++k) {
        const double before = s[(i - k) * (w + 1)];
        l[i * (w + 1) + k]  = good(before, d[i - k]) ? s[i * (w + 1) + k] / before : 0;
      }
    });
    block.sync();
    if (*failed == 0) return;
    block.sync();
    block.each(0, 1, 0, 1, [&](int, int) { // is it the rounding of a singular part's strong nodes?
      double *error = d + n;
      int     first = 0;
      for (int i = 0; i < n; ++i) {
        double e = 10 * singular * d[i];
        for (int k = 1; k <= w && k <= i; ++k) e += l[i * (w + 1) + k] * l[i * (w + 1) + k] * error[i - k];
        error[i] = e;
        const double pivot = s[i * (w + 1)], most = e < 1e-6 * d[i] ? e : 1e-6 * d[i];
        if (!first && !good(pivot, d[i]) && !(d[i] >= 0 && pivot >= -most)) first = i + 1;
      }
      *failed = first;
    });
  }
};

// Column j of the inverse. W: the bandwidth; the last values stay in registers.
template <int W> struct InverseColumn {
  const double *l;
  double       *x; // x[i * n + j]
  int           n;
  HD void       operator()(int j, int) const
  {
    double last[W]; // x[i - 1], x[i - 2], ...
    for (int k = 0; k < W; ++k) last[k] = 0;
    for (int i = 0; i < n; ++i) {
      const double *row = l + i * (W + 1) + 1;
      double        v = i == j, u = 0;
      for (int k = 0; k < W; k += 2) v -= row[k] * last[k], u += row[k + 1] * last[k + 1];
      for (int k = W - 1; k > 0; --k) last[k] = last[k - 1];
      last[0] = x[(ptrdiff_t)i * n + j] = v - u;
    }
    for (int k = 0; k < W; ++k) last[k] = 0; // x[i + 1], x[i + 2], ...
    for (int i = n - 1; i >= 0; --i) {
      double v = x[(ptrdiff_t)i * n + j] * l[i * (W + 1)], u = 0;
      for (int k = 0; k < W; k += 2) {
        v -= (i + k + 1 < n ? l[(i + k + 1) * (W + 1) + k + 1] : 0) * last[k];
        u += (i + k + 2 < n ? l[(i + k + 2) * (W + 1) + k + 2] : 0) * last[k + 1];
      }
      for (int k = W - 1; k > 0; --k) last[k] = last[k - 1];
      last[0] = x[(ptrdiff_t)i * n + j] = v - u;
    }
  }
};

template <class T> struct Round {
  const double *x;
  T            *a;
  int           n;
  HD void       operator()(int i, int j) const { a[(ptrdiff_t)j * n + i] = (T)x[(ptrdiff_t)j * n + i]; }
};

} // namespace

template <class T> void Inverse<T>::place(const std::vector<int> &x, const std::vector<int> &y)
{
  const int n = (int)x.size();
  if (n_ == n) return;
  Buffer<int> nodes((size_t)2 * n);
  for (int i = 0; i < n; ++i) {
    nodes.data()[2 * i]     = x[(size_t)i];
    nodes.data()[2 * i + 1] = y[(size_t)i];
  }
  a_.resize({(size_t)n * n, Space::cuda});
  v_.resize({(size_t)n, Space::cuda});
  node_.resize({(size_t)2 * n, Space::cuda});
  work_.resize({0, Space::cuda});
  copy(nodes, node_);
  device::synchronize(); // the host's copy goes
  n_ = n;
}

template <class T> void Inverse<T>::setup(const Band &band, const std::vector<int> &x, const std::vector<int> &y)
{
  const int           n = band.size();
  Buffer<T>           host((size_t)n * n);
  std::vector<double> e((size_t)n);
  for (int i = 0; i < n; ++i) {
    std::fill(e.begin(), e.end(), 0);
    e[(size_t)i] = 1;
    band.solve(e.data());
    for (int j = 0; j < n; ++j) host.data()[(size_t)i * n + j] = (T)e[(size_t)j];
  }
  place(x, y);
  copy(host, a_);
  device::synchronize(); // the host's copy goes
}

template <class T> void Inverse<T>::setup(const double *band, int w, double singular, const std::vector<int> &x, const std::vector<int> &y, int *failed)
{
  const Exec exec{Space::cuda};
  const int  n = (int)x.size();
  place(x, y);
  const size_t band_size = (size_t)n * (w + 1), wanted = (size_t)n * n + band_size;
  if (work_.size() < wanted) work_.resize({wanted, Space::cuda});
  double *inverse = work_.data(), *l = inverse + (size_t)n * n;
  forall_blocks(exec, 1, 256, (band_size + (size_t)2 * n) * sizeof(double), FactorBand{band, l, n, w, failed, singular});
  if (w == inverse_width(0)) forall(exec, {0, n, 0, 1}, InverseColumn<inverse_width(0)>{l, inverse, n});
  else forall(exec, {0, n, 0, 1}, InverseColumn<inverse_width(inverse_width(0) + 1)>{l, inverse, n});
  forall(exec, {0, n, 0, n}, Round<T>{inverse, a_.data(), n});
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
  const int lines = product_rows + n_ / product_width + 1; // of product_width doubles
  if (b.q[3] != out.q[3]) return forall_strip(exec, {0, product_width, 0, n_}, product_rows, lines, Product<T, false>{n_, a_.data(), nullptr, node_.data(), b, out});
  forall(exec, {0, n_, 0, 1}, Take<T>{b, node_.data(), v_.data()});
  forall_strip(exec, {0, product_width, 0, n_}, product_rows, lines, Product<T, true>{n_, a_.data(), v_.data(), node_.data(), b, out});
}

template class Inverse<double>;
template class Inverse<float>;

} // namespace tessera
