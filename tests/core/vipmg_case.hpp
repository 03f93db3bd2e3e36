// Problems for the unit tests of multigrid for variational inequalities. Every number comes from the numbers of nodes, so that processes and
// spaces can be compared.
#pragma once
#include "buffers.hpp"
#include "unit.hpp"
#include "vipmg/linear_problem.hpp"
#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera {
namespace vipmg {

inline Space space() { return unit_cuda() ? Space::cuda : Space::host; }

inline double hash(long a, long b)
{
  unsigned long long h = (unsigned long long)(a + 11) * 0x9E3779B97F4A7C15ull ^ (unsigned long long)(b + 3) * 0xBF58476D1CE4E5B9ull;
  for (int k = 0; k < 3; ++k) h = (h ^ (h >> 29)) * 0x94D049BB133111EBull;
  return (double)(h >> 11) / 9007199254740992.;
}

// The finest operator, from host arrays in the level's layout.
inline void set_operator(Plan &plan, const double *coefficients, const uint8_t *free)
{
  Level &l = plan.levels[0];
  copy(coefficients, Space::host, l.A.a.data(), l.A.a.space(), l.A.a.size());
  copy(free, Space::host, l.free.data(), l.free.space(), l.free.size());
  device::synchronize(plan.exec.space);
}

struct Case {
  int  dimension, n[3];
  bool periodic[3], box;
  double weak = 1;  // factor of the couplings along y
  bool   peg = false; // node (7,5) has a Dirichlet row
  int    turn = 1 << 30; // from this column on that factor is of those along x
  double wind = 0;    // what is added to the couplings with the nodes before, along x and y
  int    chain = 0;   // couplings along x are a hundred times as strong between so many nodes and the next ones, of eight in each 16th row
  double mass = 0.01; // sum of a row
  bool   plain = false; // all couplings of a kind are equal
};

// Boxes of all processes along the last direction.
inline std::vector<Box3> slabs(const Case &c)
{
  int               size = 1;
  std::vector<Box3> boxes;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int r = 0; r < size; ++r) {
    Box3 b;
    for (int d = 0; d < 3; ++d) b.hi[d] = c.n[d];
    const int d = c.dimension - 1;
    b.lo[d]     = c.n[d] * r / size;
    b.hi[d]     = c.n[d] * (r + 1) / size;
    boxes.push_back(b);
  }
  return boxes;
}

inline long number(const int n[3], const int x[3]) { return x[0] + (long)n[0] * (x[1] + (long)n[1] * x[2]); }

// f(offset number of 27, neighbour) for the neighbours that a stencil couples
template <class F> void neighbours(const Case &c, const int n[3], bool box, const int x[3], const F &f)
{
  for (int o = 0; o < 27; ++o) {
    const int d[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1};
    int       y[3], far = 0;
    bool      out = false;
    for (int k = 0; k < 3; ++k) {
      y[k] = x[k] + d[k];
      far += d[k] != 0;
      out = out || (k >= c.dimension && d[k]);
      if (y[k] < 0 || y[k] >= n[k]) {
        if (c.periodic[k]) y[k] = (y[k] + n[k]) % n[k];
        else out = true;
      }
    }
    if (!out && (far < 2 || box)) f(o, far, y);
  }
}

inline int plane(int dimension, bool box, int o)
{
  if (box) return dimension == 3 ? o : dimension == 2 ? o - 9 : o - 12;
  const int star[7] = {13, 12, 14, 10, 16, 4, 22};
  for (int k = 0; k < 7; ++k)
    if (star[k] == o) return k;
  return -1;
}

inline bool fixed(const Case &c, const int x[3]) { return (!c.periodic[0] && x[0] == 0 && c.dimension < 3) || (c.peg && x[0] == 7 && x[1] == 5); }

inline double coefficient(const Case &c, const int x[3], int far, const int y[3])
{
  const long   a = number(c.n, x), b = number(c.n, y);
  const double weak = far == 1 && (x[1] != y[1]) == (std::min(x[0], y[0]) < c.turn) ? c.weak : 1;
  const double upwind = far == 1 && (y[0] < x[0] || y[1] < x[1]) ? c.wind : 0;
  const double strong = far == 1 && x[0] != y[0] && x[1] % 16 == 0 && std::min(x[0], y[0]) % 8 < c.chain ? 100 : 1;
  return -(far > 1 ? 0.3 : 1) * weak * strong * (c.plain ? 1 : 0.5 + hash(a < b ? a : b, a < b ? b : a)) - upwind;
}

inline void fill(const Case &c, Plan &plan)
{
  Level          &l = plan.levels[0];
  const size_t    p = l.layout.size();
  Buffer<double>  a((size_t)points(c.dimension, c.box) * p);
  Buffer<uint8_t> free(p);
  for (int k = l.own.lo[2]; k < l.own.hi[2]; ++k)
    for (int j = l.own.lo[1]; j < l.own.hi[1]; ++j)
      for (int i = l.own.lo[0]; i < l.own.hi[0]; ++i) {
        const int       x[3] = {i, j, k};
        const ptrdiff_t e    = l.layout.at(i, j, k);
        const size_t    centre = (size_t)plane(c.dimension, c.box, 13) * p;
        free.data()[e]       = !fixed(c, x);
        a.data()[centre + (size_t)e] += c.mass;
        if (fixed(c, x)) continue;
        neighbours(c, c.n, c.box, x, [&](int o, int far, const int y[3]) {
          if (!far) return;
          const double v = coefficient(c, x, far, y);
          a.data()[(size_t)plane(c.dimension, c.box, o) * p + (size_t)e] += fixed(c, y) ? 0 : v;
          a.data()[centre + (size_t)e] -= v;
        });
      }
  set_operator(plan, a.data(), free.data());
}

const Case cases[] = {{1, {37, 1, 1}, {false, false, false}, false}, {1, {36, 1, 1}, {true, false, false}, false},   {2, {21, 18, 1}, {false, false, false}, false},
                      {2, {20, 27, 1}, {false, true, false}, true},  {2, {130, 90, 1}, {false, false, false}, true}, {3, {10, 9, 13}, {false, false, false}, false},
                      {3, {9, 12, 8}, {true, false, false}, true}};

template <class T> void put(const std::vector<T> &from, Buffer<T> &to)
{
  Buffer<T> there = copy_to(to.space(), from);
  copy(there, to);
  if (to.space() == Space::cuda) device::synchronize(); // before `there` goes
}

// The hierarchy, a right-hand side and bounds; x is a start between them.
inline BoxProblem pose(const Case &c, Plan &plan)
{
  create(plan, MPI_COMM_WORLD, c.dimension, c.n, c.periodic, slabs(c), c.box);
  fill(c, plan);
  Level         &l = plan.levels[0];
  const size_t   n = (size_t)l.own.size();
  Buffer<double> h[4], there[4];
  for (int k = 0; k < 4; ++k) h[k].resize(n);
  size_t q = 0;
  for (int k = l.own.lo[2]; k < l.own.hi[2]; ++k)
    for (int j = l.own.lo[1]; j < l.own.hi[1]; ++j)
      for (int i = l.own.lo[0]; i < l.own.hi[0]; ++i, ++q) {
        const int x[3] = {i, j, k};
        h[0].data()[q] = -std::sin(0.3 * i + 0.2 * j + 0.4 * k) * 0.1;
        h[2].data()[q] = -0.2 - hash(number(c.n, x), 1);
        h[3].data()[q] = i % 7 == 3 ? INFINITY : 0.1 + hash(number(c.n, x), 2);
      }
  for (int k = 0; k < 4; ++k) {
    there[k].resize(Extent{n, plan.exec.space});
    copy(h[k], there[k]);
  }
  BoxProblem problem(plan);
  problem.load(there[0].data(), there[1].data(), there[2].data(), there[3].data());
  build(plan);
  problem.restart();
  return problem;
}

} // namespace vipmg
} // namespace tessera
