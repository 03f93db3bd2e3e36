// Points, matrices and memory for the unit tests of the auxiliary grids.
#pragma once
#include "tree/hierarchy.hpp"
#include "buffers.hpp"
#include "unit.hpp"
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <vector>

namespace tessera {
namespace tree {

inline Exec exec()
{
  Exec e;
  e.space = unit_cuda() ? Space::cuda : Space::host;
  return e;
}

template <class T> Buffer<T> put(const std::vector<T> &from, const Exec &where = exec())
{
  Buffer<T> here(from.size()), there(Extent{from.size(), where.space});
  std::copy(from.begin(), from.end(), here.data());
  copy(here, there);
  if (where.space == Space::cuda) device::synchronize();
  return there;
}

inline Buffer<Index> put_indices(const std::vector<int> &from, const Exec &where = exec())
{
  return put(std::vector<Index>(from.begin(), from.end()), where);
}
inline Rows rows_of(const Buffer<Index> &i, const Buffer<Index> &j, const Buffer<double> &a = {}, int bs = 1)
{
  Rows rows;
  rows.n = ((int)i.size() - 1) / bs;
  rows.i = i.data();
  rows.j = j.data();
  rows.a = a.data();
  return rows;
}

// n points in the unit cube, graded towards its lower corner; some of them lie on cell boundaries, and some coincide.
inline std::vector<double> points(int dim, int n, double grading, unsigned seed)
{
  std::mt19937                           random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<double>                    x((size_t)(n * dim));
  for (double &v : x) v = std::pow(unit(random), grading);
  for (int q = 0; q < dim; ++q) x[(size_t)q] = 0, x[(size_t)(dim + q)] = 1, x[(size_t)(2 * dim + q)] = x[(size_t)(3 * dim + q)] = 0.5;
  return x;
}

// A symmetric matrix on the points: blocks that couple each with some others, near and far, and one of them with very many.
struct Matrix {
  int                 n, bs;
  std::vector<int>    i, j;
  std::vector<double> a;
  Matrix(int nodes, int block, unsigned seed, int couplings = 3) : n(nodes), bs(block)
  {
    std::mt19937                                          random(seed);
    std::uniform_real_distribution<double>                unit(0.1, 1);
    std::vector<std::map<int, std::vector<double>>>       row((size_t)n);
    const auto couple = [&](int p, int q) {
      if (p == q || row[(size_t)p].count(q)) return;
      std::vector<double> v((size_t)(bs * bs)), t(v);
      for (int k = 0; k < bs; ++k)
        for (int m = 0; m < bs; ++m) t[(size_t)(m * bs + k)] = v[(size_t)(k * bs + m)] = -unit(random) * (k == m ? 1 : 0.1);
      row[(size_t)p][q] = v;
      row[(size_t)q][p] = t;
    };
    for (int p = 0; p < n; ++p)
      for (int k = 0; k < couplings; ++k) couple(p, (int)(random() % (unsigned)n));
    for (int p = 1; p < n / 2; ++p) couple(0, p);
    for (int p = 0; p < n; ++p) {
      std::vector<double> d((size_t)(bs * bs));
      for (const auto &e : row[(size_t)p])
        for (double v : e.second)
          for (int k = 0; k < bs; ++k) d[(size_t)(k * bs + k)] -= v;
      row[(size_t)p][p] = d;
    }
    i.push_back(0);
    for (int p = 0; p < n; ++p)
      for (int k = 0; k < bs; ++k) {
        for (const auto &e : row[(size_t)p])
          for (int m = 0; m < bs; ++m) {
            j.push_back(e.first * bs + m);
            a.push_back(e.second[(size_t)(k * bs + m)]);
          }
        i.push_back((int)j.size());
      }
  }
};

// Couplings between the nodes of a mesh
struct Couplings {
  int                                dim;
  std::vector<std::map<int, double>> row;
  int                                n() const { return (int)row.size(); }
};
using Weight = std::function<double(const int *, const int *)>; // between the nodes at two places

// Of a square or cube of m nodes along each axis
inline Couplings grid(int dim, int m, const Weight &weight)
{
  const int n = dim == 2 ? m * m : m * m * m;
  Couplings graph{dim, std::vector<std::map<int, double>>((size_t)n)};
  for (int p = 0; p < n; ++p) {
    const int at[3] = {p % m, p / m % m, p / (m * m)};
    for (int q = 0, step = 1; q < dim; ++q, step *= m) {
      if (at[q] + 1 == m) continue;
      int to[3] = {at[0], at[1], at[2]};
      ++to[q];
      graph.row[(size_t)p][p + step] = graph.row[(size_t)(p + step)][p] = weight(at, to);
    }
  }
  return graph;
}

inline double unit(std::mt19937 &random) { return (double)(random() % 100000) / 100000; }

// Of some couplings a matrix in compressed sparse rows, whose sums of rows are held[p], or zero without held.
struct Laplacian {
  std::vector<int>    i{0}, j;
  std::vector<double> a;
  explicit Laplacian(const Couplings &graph, const std::vector<double> &held = {})
  {
    for (int p = 0; p < graph.n(); ++p) {
      double diagonal = held.empty() ? 0 : held[(size_t)p];
      for (const auto &e : graph.row[(size_t)p]) {
        j.push_back(e.first), a.push_back(-e.second);
        diagonal += e.second;
      }
      j.push_back(p), a.push_back(diagonal);
      i.push_back((int)j.size());
    }
  }
};

} // namespace tree
} // namespace tessera
