// What Chebyshev's smoother of PC auxamg takes for the largest eigenvalue, which must not be far below it: else the
// preconditioner is indefinite.
#include "auxamg_case.hpp"
#include <array>
#include <functional>

using namespace tessera;
using namespace tessera::tree;

namespace {

// A matrix on the nodes of a lattice
struct Lattice {
  int                                dim, m;
  std::vector<std::map<int, double>> row;
  std::array<int, 3>                 at(int p) const { return {p % m, p / m % m, p / (m * m)}; }
};
using Weight = std::function<double(const std::array<int, 3> &, const std::array<int, 3> &)>; // between two nodes

// Of m nodes along each axis, held on one side
Lattice lattice(int dim, int m, const Weight &weight)
{
  Lattice     g{dim, m, {}};
  const int n = dim == 2 ? m * m : m * m * m;
  g.row.resize((size_t)n);
  for (int p = 0; p < n; ++p) {
    const auto here = g.at(p);
    for (int q = 0, step = 1; q < dim; ++q, step *= m) {
      if (here[(size_t)q] + 1 == m) continue;
      const double w = weight(here, g.at(p + step));
      g.row[(size_t)p][p] += w, g.row[(size_t)p][p + step] -= w;
      g.row[(size_t)(p + step)][p + step] += w, g.row[(size_t)(p + step)][p] -= w;
    }
    if (!here[0]) g.row[(size_t)p][p] += weight(here, here);
  }
  return g;
}

double unit(std::mt19937 &random) { return (double)(random() % 100000) / 100000; }

// The largest Rayleigh quotient of B^-1 A that power iteration finds, with the smoother's B of level l.
double largest(Level<double> &level)
{
  const std::vector<int>    i = get(level.i), j = get(level.j);
  const std::vector<double> a = get(level.a), inverse = get(level.inverse);
  const size_t              n = inverse.size();
  std::vector<double>       v(n), w(n), z(n);
  std::mt19937              random(1);
  double                    quotient = 0;
  for (double &x : v) x = unit(random) - 0.5;
  for (int step = 0; step < 200; ++step) {
    double energy = 0, norm = 0;
    for (size_t p = 0; p < n; ++p) {
      w[p] = 0;
      for (int e = i[p]; e < i[p + 1]; ++e) w[p] += a[(size_t)e] * v[(size_t)j[(size_t)e]];
      energy += v[p] * w[p];
      z[p] = inverse[p] * w[p];
    }
    if (level.blocks.any) {
      const Buffer<double> of = put(w);
      Buffer<double>       to = put(z);
      level.blocks.add(level, of.data(), 1., to.data(), (double *)nullptr, 0.);
      z = get(to);
    }
    for (size_t p = 0; p < n; ++p) norm += w[p] * z[p];
    quotient = norm / energy;
    for (size_t p = 0; p < n; ++p) v[p] = z[p] / std::sqrt(norm);
  }
  return quotient;
}

void check(const Lattice &on, const std::string &what)
{
  std::vector<int>    i(1, 0), j;
  std::vector<double> x, a;
  for (int p = 0; p < (int)on.row.size(); ++p) {
    for (const auto &e : on.row[(size_t)p]) j.push_back(e.first), a.push_back(e.second);
    i.push_back((int)j.size());
    for (int q = 0; q < on.dim; ++q) x.push_back(on.at(p)[(size_t)q]);
  }
  Params params         = params_for(on.dim, 1);
  params.part_functions = true;
  const Buffer<Index>  rows_i = put_indices(i), rows_j = put_indices(j);
  const Buffer<double> values = put(a);
  Hierarchy<double>    h(exec(), MPI_COMM_SELF, params);
  ASSERT_EQ(h.setup(rows_of(rows_i, rows_j, values), x.data(), {}, {}, false).kind, Failure::none);
  EXPECT_GT(h.parts(), 0) << what;
  const double found = largest(h.level(0));
  EXPECT_GE(h.levels()[0].lambda, found) << what;
}

} // namespace

// Squares and cubes between barriers, some of which leak, within which coefficients jump. The smoother has functions of
// these, of so little energy that they are nearly all of a vector that knows nothing of the matrix.
TEST(auxamg_eigenvalues, of_blocks_with_parts)
{
  for (int dim : {2, 3})
    for (unsigned seed = 1; seed <= 30; ++seed) {
      const int    m = dim == 2 ? 120 : 32, side = dim == 2 ? 8 : 4;
      std::mt19937 random(seed);
      check(lattice(dim, m, [&](const std::array<int, 3> &a, const std::array<int, 3> &b) {
        bool within = true;
        for (size_t q = 0; q < 3; ++q) within = within && a[q] / side == b[q] / side;
        return (within || random() % 60 == 0 ? 1 : 1e-11) * std::pow(10., 2 * unit(random));
      }), std::to_string(dim) + " dimensions, seed " + std::to_string(seed));
    }
}
