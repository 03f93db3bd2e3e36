// What Chebyshev's smoother of PC auxamg takes for the largest eigenvalue, which must not be far below it: else the
// preconditioner is indefinite.
#include "auxamg_case.hpp"

using namespace tessera;
using namespace tessera::tree;

namespace {

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

// Nodes of a square or cube, held on one side
void check(const Couplings &graph, int m, const std::string &what)
{
  std::vector<double> x, held;
  for (int p = 0; p < graph.n(); ++p) {
    const double at[3] = {(double)(p % m), (double)(p / m % m), (double)(p / (m * m))};
    x.insert(x.end(), at, at + graph.dim);
    held.push_back(at[0] ? 0 : 1);
  }
  const Laplacian matrix(graph, held);
  Params params         = params_for(graph.dim, 1);
  params.all_take_part = true;
  const Buffer<Index>  rows_i = put_indices(matrix.i), rows_j = put_indices(matrix.j);
  const Buffer<double> values = put(matrix.a);
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
      check(grid(dim, m, [&](const int *a, const int *b) {
        bool within = true;
        for (int q = 0; q < dim; ++q) within = within && a[q] / side == b[q] / side;
        return (within || random() % 60 == 0 ? 1 : 1e-11) * std::pow(10., 2 * unit(random));
      }), m, std::to_string(dim) + " dimensions, seed " + std::to_string(seed));
    }
}
