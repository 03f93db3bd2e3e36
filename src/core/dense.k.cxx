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

// Some rows of the product: every thread sums each 128th term of a row, then the threads' sums are added in pairs.
template <class T, bool TAKEN> struct Product { // TAKEN: the right-hand side is in v, else in b
  int        n;
  const T   *a, *v;
  const int *node;
  View<T>    b, out;
  template <class Block> HD void operator()(Block &block) const
  {
    const int y0 = block.tile.y0, y1 = block.tile.y1;
    double   *part = block.shared;
    block.each(0, product_width, y0, y1, [&](int i, int j) {
      const T *row = a + (ptrdiff_t)j * n;
      T        s   = 0;
      for (int k = i; k < n; k += product_width) s += row[k] * (TAKEN ? v[k] : b.at(node[2 * k], node[2 * k + 1]));
      part[i + (j - y0) * product_width] = s;
    });
    for (int d = product_width / 2; d; d /= 2) {
      block.sync();
      block.each(0, d, y0, y1, [&](int i, int j) { part[i + (j - y0) * product_width] += part[i + d + (j - y0) * product_width]; });
    }
    block.sync();
    block.each(0, 1, y0, y1, [&](int, int j) { out.at(node[2 * j], node[2 * j + 1]) = (T)part[(j - y0) * product_width]; });
  }
};

} // namespace

template <class T> void Inverse<T>::setup(const Band &band, const std::vector<int> &x, const std::vector<int> &y)
{
  const int           n = band.size();
  Buffer<T>           host((size_t)n * n);
  Buffer<int>         nodes((size_t)2 * n);
  std::vector<double> e((size_t)n);
  for (int i = 0; i < n; ++i) {
    std::fill(e.begin(), e.end(), 0);
    e[(size_t)i] = 1;
    band.solve(e.data());
    for (int j = 0; j < n; ++j) host.data()[(size_t)i * n + j] = (T)e[(size_t)j];
    nodes.data()[2 * i]     = x[(size_t)i];
    nodes.data()[2 * i + 1] = y[(size_t)i];
  }
  if (n_ != n) {
    a_.resize({(size_t)n * n, Space::cuda});
    v_.resize({(size_t)n, Space::cuda});
    node_.resize({(size_t)2 * n, Space::cuda});
    n_ = n;
  }
  copy(host, a_);
  copy(nodes, node_);
  device::synchronize(); // the host's copies go
}

template <class T> void Inverse<T>::solve(const Exec &exec, const View<T> &b, const View<T> &out)
{
  if (b.q[3] != out.q[3]) return forall_strip(exec, {0, product_width, 0, n_}, product_rows, product_rows, Product<T, false>{n_, a_.data(), nullptr, node_.data(), b, out});
  forall(exec, {0, n_, 0, 1}, Take<T>{b, node_.data(), v_.data()});
  forall_strip(exec, {0, product_width, 0, n_}, product_rows, product_rows, Product<T, true>{n_, a_.data(), v_.data(), node_.data(), b, out});
}

template class Inverse<double>;
template class Inverse<float>;

} // namespace tessera
