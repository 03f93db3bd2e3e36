// A dense problem of random numbers for the unit tests of dense Gauss-Seidel and of LCP, and its way to a plan.
#pragma once
#include "buffers.hpp"
#include "densegs/densegs.hpp"
#include "unit.hpp"
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace tessera {
namespace densegs {

struct Case {
  int                 n;
  std::vector<double> a, q, lower, upper; // by columns
  explicit Case(int size, bool symmetric = true, int seed = 1) : n(size), a((size_t)size * (size_t)size), q((size_t)size), lower((size_t)size), upper((size_t)size)
  {
    std::mt19937_64                        g((uint64_t)seed);
    std::uniform_real_distribution<double> u(-1, 1);
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < j; ++i) {
        at(i, j) = u(g);
        at(j, i) = symmetric ? at(i, j) : u(g);
      }
      at(j, j)         = 1 + 0.6 * n + u(g);
      q[(size_t)j]     = n * u(g);
      lower[(size_t)j] = -0.3 + 0.2 * u(g);
      upper[(size_t)j] = j % 7 ? HUGE_VAL : 0.4 + 0.1 * u(g);
    }
  }
  double &at(int i, int j) { return a[(size_t)j * (size_t)n + (size_t)i]; }
  double  at(int i, int j) const { return a[(size_t)j * (size_t)n + (size_t)i]; }
};
template <class T> void send(const std::vector<T> &from, Buffer<T> &to)
{
  if (from.empty()) return;
  if (to.space() == Space::cuda) device::copy_from_host(to.data(), from.data(), from.size() * sizeof(T));
  else std::copy(from.begin(), from.end(), to.data());
}
inline std::vector<double> fetch(const Buffer<double> &from, int n)
{
  std::vector<double> v = get(from);
  v.resize((size_t)n);
  return v;
}

inline void make(Plan &plan, const Case &c, const Params &params, int threads)
{
  plan.exec.space   = unit_cuda() ? Space::cuda : Space::host;
  plan.exec.threads = threads;
  create(plan, c.n, params);
  fill(plan, c.a.data(), c.n, Space::host);
  send(c.q, plan.q);
  send(c.lower, plan.lower);
  send(c.upper, plan.upper);
}

} // namespace densegs
} // namespace tessera
