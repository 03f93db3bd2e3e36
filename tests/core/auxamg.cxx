// The auxiliary grids of PC auxamg: the tree against plain recursion, interpolation against linear functions, the operators against the
// triple product P'AP.
#include "auxamg/auxamg.hpp"
#include "unit.hpp"
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <set>

using namespace tessera;
using namespace tessera::auxamg;

namespace {

Exec exec()
{
  Exec e;
  e.space = unit_cuda() ? Space::cuda : Space::host;
  return e;
}

template <class T> std::vector<T> get(const Buffer<T> &from)
{
  Buffer<T> here(from.size());
  copy(from, here);
  return std::vector<T>(here.data(), here.data() + here.size());
}
template <class T> Buffer<T> put(const std::vector<T> &from, const Exec &where = exec())
{
  Buffer<T> here(from.size()), there(Extent{from.size(), where.space});
  std::copy(from.begin(), from.end(), here.data());
  copy(here, there);
  if (where.space == Space::cuda) device::synchronize();
  return there;
}

Rows<int> rows_of(const Buffer<int> &i, const Buffer<int> &j, const Buffer<double> &a = {}, int bs = 1)
{
  Rows<int> rows;
  rows.n = ((int)i.size() - 1) / bs;
  rows.i = i.data();
  rows.j = j.data();
  rows.a = a.data();
  return rows;
}

// n points in the unit cube, graded towards its lower corner; some of them lie on cell boundaries, and some coincide.
std::vector<double> points(int dim, int n, double grading, unsigned seed)
{
  std::mt19937                           random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<double>                    x((size_t)(n * dim));
  for (double &v : x) v = std::pow(unit(random), grading);
  for (int q = 0; q < dim; ++q) x[(size_t)q] = 0, x[(size_t)(dim + q)] = 1, x[(size_t)(2 * dim + q)] = x[(size_t)(3 * dim + q)] = 0.5;
  return x;
}

Frame frame(int dim)
{
  Frame f;
  f.dim = dim;
  for (double &v : f.factor) v = (double)(1u << depth(dim)) / (1 + 1e-9);
  return f;
}

using Cell = std::array<long, 4>; // level, position

// The leaves of T_k by recursion and, for the balance, until nothing changes.
std::set<Cell> reference_leaves(int dim, const std::vector<Cell> &fine, long most)
{
  const int            bits = depth(dim);
  const auto           at   = [&](const Cell &p, long level) {
    Cell c = {level, 0, 0, 0};
    for (int q = 0; q < dim; ++q) c[(size_t)q + 1] = p[(size_t)q + 1] >> (bits - level);
    return c;
  };
  std::map<Cell, long> count;
  for (const Cell &p : fine)
    for (long l = 0; l <= bits; ++l) ++count[at(p, l)];
  std::set<Cell> split;
  for (const auto &c : count)
    if (c.second > most && c.first[0] < bits) split.insert(c.first);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Cell &c : std::set<Cell>(split)) {
      if (!c[0]) continue;
      for (int m = 0; m < (dim == 1 ? 3 : dim == 2 ? 9 : 27); ++m) {
        Cell      n = c;
        const int o[3] = {m % 3 - 1, m / 3 % 3 - 1, m / 9 - 1};
        bool      inside = true;
        for (int q = 0; q < dim; ++q) {
          n[(size_t)q + 1] += o[q];
          inside = inside && n[(size_t)q + 1] >= 0 && n[(size_t)q + 1] < 1L << c[0];
          n[(size_t)q + 1] >>= 1;
        }
        --n[0];
        if (inside && count.count(n) && split.insert(n).second) changed = true;
      }
    }
  }
  std::set<Cell> leaves;
  for (const Cell &p : fine) {
    long l = 0;
    while (split.count(at(p, l))) ++l;
    leaves.insert(at(p, l));
  }
  return leaves;
}

void check_tree(int dim, int n, double grading, int most)
{
  const std::vector<double> x = points(dim, n, grading, 7);
  Buffer<double>            y = put(std::vector<double>((size_t)(n * dim)));
  Buffer<Key>               key = put(std::vector<Key>((size_t)n));
  Buffer<int>               order;
  const Buffer<double>      x_there = put(x);
  place(exec(), frame(dim), n, x_there.data(), y.data(), key.data());
  const std::vector<double> units = get(y);
  std::vector<Cell>         fine;
  for (int p = 0; p < n; ++p) {
    Cell c = {depth(dim), 0, 0, 0};
    for (int q = 0; q < dim; ++q) c[(size_t)q + 1] = std::min((long)units[(size_t)(p * dim + q)], (1L << depth(dim)) - 1);
    fine.push_back(c);
  }
  sort_keys(exec(), n, dim * depth(dim), key, order);
  const Tree tree = make_tree(exec(), dim, most, n, key);
  const std::vector<Cells> all = make_cells(exec(), tree, 0, 3); // together, as a device makes them
  for (int k = 0; k < 3; ++k) {
    Cells                          cells = std::move(make_cells(exec(), tree, k, 1).front());
    const std::vector<Key>         start = get(cells.start);
    const std::vector<signed char> level = get(cells.level);
    ASSERT_EQ(start, get(all[(size_t)k].start));
    ASSERT_EQ(level, get(all[(size_t)k].level));
    ASSERT_EQ(cells.finest, *std::max_element(level.begin(), level.end()));
    std::set<Cell>                 leaves;
    for (int l = 0; l < cells.n; ++l) {
      Cell c = {level[(size_t)l], 0, 0, 0};
      for (int q = 0; q < dim; ++q) {
        long v = 0; // every dim-th bit of the key
        for (int b = 0; b < depth(dim); ++b) v |= (long)(start[(size_t)l] >> (b * dim + q) & 1) << b;
        c[(size_t)q + 1] = v >> (depth(dim) - level[(size_t)l]);
      }
      leaves.insert(c);
    }
    ASSERT_EQ(leaves, reference_leaves(dim, fine, (long)most << (k * dim))) << "dim " << dim << " grading " << grading << " tree " << k;
    for (bool kuhn : {false, true}) {
      if (kuhn && dim == 1) continue;
      // weights are positive, sum to one and reproduce the coordinates
      Cells                 now = std::move(make_cells(exec(), tree, k, 1).front());
      std::vector<int>      leaf((size_t)n);
      const std::vector<Key> keys = [&] {
        std::vector<Key> plain((size_t)n);
        const std::vector<Key> sorted = get(key);
        const std::vector<int> from = get(order);
        for (int p = 0; p < n; ++p) plain[(size_t)from[(size_t)p]] = sorted[(size_t)p];
        return plain;
      }();
      for (int p = 0; p < n; ++p) leaf[(size_t)p] = (int)(std::upper_bound(start.begin(), start.end(), keys[(size_t)p]) - start.begin()) - 1;
      const Buffer<int>     leaf_there = put(leaf);
      Buffer<double>        weight = put(std::vector<double>((size_t)(n << dim)));
      Buffer<unsigned char> used = put(std::vector<unsigned char>((size_t)now.vertices));
      make_weights(exec(), now, kuhn, n, leaf_there.data(), y.data(), weight.data(), used.data());
      const int                 vertices = number_vertices(exec(), now, used);
      const std::vector<double> w = get(weight), at = get(now.y);
      const std::vector<int>    vertex = get(now.vertex);
      ASSERT_LT(0, vertices);
      for (int p = 0; p < n; ++p) {
        double sum = 0, where[3] = {};
        int    number = 0;
        for (int c = 0; c < 1 << dim; ++c) {
          const double v = w[(size_t)((p << dim) + c)];
          const int    i = vertex[(size_t)((leaf[(size_t)p] << dim) + c)];
          ASSERT_GE(v, 0);
          if (v == 0) continue;
          ASSERT_GE(i, 0);
          ++number;
          sum += v;
          for (int q = 0; q < dim; ++q) where[q] += v * at[(size_t)(i * dim + q)];
        }
        ASSERT_NEAR(sum, 1, 1e-11);
        for (int q = 0; q < dim; ++q) ASSERT_NEAR(where[q], units[(size_t)(p * dim + q)], 1e-9 * (1 << depth(dim))) << "dim " << dim << " kuhn " << kuhn << " point " << p;
      }
    }
  }
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

using Blocks = std::map<std::pair<int, int>, std::vector<double>>;

template <class T> Blocks blocks(const Level<T> &level, int bs)
{
  const std::vector<int> i = get(level.i), j = get(level.j);
  const std::vector<T>   a = get(level.a);
  Blocks                 found;
  for (int p = 0; p < level.n; ++p)
    for (int e = i[(size_t)p]; e < i[(size_t)p + 1]; ++e) {
      EXPECT_FALSE(found.count({p, j[(size_t)e]})) << "an entry stands twice";
      found[{p, j[(size_t)e]}].assign(a.begin() + e * bs * bs, a.begin() + (e + 1) * bs * bs);
    }
  return found;
}

template <class T> void check_products(int dim, int n, int bs, double grading, bool kuhn, double tolerance, bool filter = false)
{
  const Matrix   A(n, bs, 5);
  Params         params;
  params.dim    = dim;
  params.bs     = bs;
  params.most   = dim == 3 ? 24 : dim == 2 ? 12 : 3;
  params.kuhn   = kuhn;
  params.filter = filter;
  params.coarse = 10;
  const Buffer<int>    i = put(A.i), j = put(A.j), ghost = put(std::vector<int>());
  const Buffer<double> a = put(A.a);
  Rows<int>      rows = rows_of(i, j, a, bs);
  Hierarchy<T>   h(exec(), MPI_COMM_SELF, params);
  const Failure  failure = h.setup(rows, points(dim, n, grading, 7).data(), {}, {}, false);
  ASSERT_EQ(failure.kind, Failure::none);
  ASSERT_LT(2u, h.levels().size());
  for (int time = 0; time < 2; ++time) {
    for (size_t l = 0; l + 1 < h.levels().size(); ++l) {
      const Level<T>        &fine = h.levels()[l];
      const std::vector<int> begin = get(fine.begin), vertex = get(fine.vertex);
      const std::vector<T>   w = get(fine.weight);
      std::vector<std::map<int, double>> P((size_t)fine.n);
      for (int c = 0; c < fine.cells; ++c)
        for (int p = begin[(size_t)c]; p < begin[(size_t)c + 1]; ++p)
          for (int k = 0; k < fine.corners; ++k)
            if (const double v = w[(size_t)(p * fine.corners + k)]) P[(size_t)p][vertex[(size_t)(c * fine.corners + k)]] += v;
      Blocks expected;
      double largest = 0;
      for (const auto &e : blocks(fine, bs))
        for (const auto &r : P[(size_t)e.first.first])
          for (const auto &s : P[(size_t)e.first.second]) {
            std::vector<double> &to = expected[{r.first, s.first}];
            to.resize((size_t)(bs * bs));
            for (int k = 0; k < bs * bs; ++k) to[(size_t)k] += r.second * e.second[(size_t)k] * s.second;
          }
      for (const auto &e : expected)
        for (double v : e.second) largest = std::max(largest, std::fabs(v));
      const Blocks found = blocks(h.levels()[l + 1], bs);
      if (exec().space == Space::host) { // where nothing searches for the diagonal
        const std::vector<int> first = get(h.levels()[l + 1].i), columns = get(h.levels()[l + 1].j);
        for (int v = 0; v < h.levels()[l + 1].n; ++v) ASSERT_EQ(columns[(size_t)first[(size_t)v]], v);
      }
      if (!filter) { // which makes weights zero in a pattern that stays
        ASSERT_EQ(found.size(), expected.size()) << "level " << l;
      }
      for (const auto &e : expected) ASSERT_TRUE(found.count(e.first));
      for (const auto &e : found)
        for (int k = 0; k < bs * bs; ++k) ASSERT_NEAR(e.second[(size_t)k], expected.count(e.first) ? expected.at(e.first)[(size_t)k] : 0, tolerance * largest) << "level " << l;
      for (int p = 0; p < fine.points; ++p) {
        double sum = 0;
        for (const auto &v : P[(size_t)p]) sum += v.second;
        ASSERT_NEAR(sum, 1, sizeof(T) == 8 ? 1e-11 : 1e-5);
      }
    }
    // once more with other numbers
    std::vector<double> other = A.a;
    for (double &v : other) v *= 1.5;
    const Buffer<double> there = put(other);
    Rows<int>            now   = rows;
    Failure              again;
    now.a = there.data();
    ASSERT_TRUE(h.refresh(now, again));
    ASSERT_EQ(again.kind, Failure::none);
  }
}

} // namespace

TEST(AuxAMG, TreeIsThatOfTheRecursion)
{
  check_tree(1, 300, 1, 3);
  check_tree(1, 300, 4, 3);
  check_tree(2, 800, 1, 4);
  check_tree(2, 800, 5, 4);
  check_tree(2, 300, 9, 1);
  check_tree(3, 900, 1, 6);
  check_tree(3, 900, 4, 6);
}

TEST(AuxAMG, OperatorsAreTripleProducts)
{
  check_products<double>(1, 200, 1, 2, false, 1e-13);
  check_products<double>(2, 900, 1, 1, false, 1e-13);
  check_products<double>(2, 900, 1, 4, false, 1e-13);
  check_products<double>(2, 400, 3, 3, true, 1e-13);
  check_products<double>(3, 900, 1, 3, false, 1e-13);
  check_products<double>(3, 900, 1, 3, true, 1e-13);
  check_products<double>(3, 500, 2, 1, true, 1e-13);
  check_products<double>(1, 900, 6, 1, false, 1e-13); // on a device leaves of more columns than a block has room for
  check_products<double>(2, 900, 1, 4, false, 1e-13, true);
  check_products<double>(3, 500, 2, 1, true, 1e-13, true);
  check_products<float>(2, 900, 1, 4, false, 1e-5);
}

// After new values the largest eigenvalues are those of a new setup, whether the values change at once or little by little.
TEST(AuxAMG, EigenvaluesFollowTheValues)
{
  const int                 n = 900;
  const Matrix              A(n, 1, 5);
  const std::vector<double> x = points(2, n, 1, 7);
  Params                    params;
  params.coarse = 10;
  params.filter = 0;
  const Buffer<int> i = put(A.i), j = put(A.j);
  Rows<int> rows = rows_of(i, j);
  Buffer<double> a   = put(A.a);
  const auto     set = [&](const std::vector<double> &values) {
    a      = put(values);
    rows.a = a.data();
  };
  const auto lambdas = [](const Hierarchy<double> &h) {
    std::vector<double> v;
    for (size_t l = 0; l + 1 < h.levels().size(); ++l) v.push_back(h.levels()[l].lambda);
    return v;
  };
  set(A.a);
  Hierarchy<double> h(exec(), MPI_COMM_SELF, params);
  Failure           failure = h.setup(rows, x.data(), {}, {}, false);
  ASSERT_EQ(failure.kind, Failure::none);
  const std::vector<double> first = lambdas(h);
  ASSERT_LT(1u, first.size());
  std::vector<double> other = A.a;
  for (double &v : other) v *= 3;
  set(other);
  ASSERT_TRUE(h.refresh(rows, failure));
  EXPECT_EQ(lambdas(h), first); // kept: new estimates would differ in the last bits
  // D A D has the eigenvalues of A on the mesh, whatever D; coarse grids have others
  for (int p = 0; p < n; ++p)
    for (int e = A.i[(size_t)p]; e < A.i[(size_t)p + 1]; ++e) other[(size_t)e] = A.a[(size_t)e] * (1 + p % 7) * (1 + A.j[(size_t)e] % 7);
  set(other);
  ASSERT_TRUE(h.refresh(rows, failure));
  EXPECT_EQ(lambdas(h)[0], first[0]);
  EXPECT_NE(lambdas(h)[1], first[1]);
  // pairs of strongly coupled nodes: the eigenvalue grows
  const auto pairs = [&](double factor) {
    for (int p = 0; p < n; ++p) {
      double sum = 0;
      int    own = 0;
      for (int e = A.i[(size_t)p]; e < A.i[(size_t)p + 1]; ++e) {
        const int q = A.j[(size_t)e];
        if (p == q) own = e;
        else sum += other[(size_t)e] = A.a[(size_t)e] * ((p + q) % 31 ? 1 : factor);
      }
      other[(size_t)own] = -sum;
    }
    set(other);
  };
  pairs(1000);
  Hierarchy<double> fresh(exec(), MPI_COMM_SELF, params);
  ASSERT_EQ(fresh.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  const std::vector<double> expected = lambdas(fresh);
  ASSERT_GT(expected[0], 1.1 * first[0]);
  ASSERT_TRUE(h.refresh(rows, failure));
  for (size_t l = 0; l < first.size(); ++l) EXPECT_NEAR(lambdas(h)[l], expected[l], 1e-9) << "level " << l;
  Hierarchy<double> slowly(exec(), MPI_COMM_SELF, params);
  set(A.a);
  ASSERT_EQ(slowly.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  for (int step = 1; step <= 100; ++step) {
    pairs(std::pow(1000., step / 100.));
    ASSERT_TRUE(slowly.refresh(rows, failure));
  }
  EXPECT_NEAR(lambdas(slowly)[0], expected[0], 0.05);
}

// The 5-point Laplacian of m x m nodes and what is added to its diagonal: eigenvalues that are kept while the diagonal goes from one to the
// other are no smaller than those of a new setup.
static void check_eigenvalues(const std::function<double(int)> &from, const std::function<double(int)> &to)
{
  const int           m = 64, n = m * m;
  std::vector<int>    i(1, 0), j;
  std::vector<double> x, first, second;
  for (int p = 0; p < n; ++p) {
    const int columns[5] = {p - m, p % m ? p - 1 : -1, p, (p + 1) % m ? p + 1 : -1, p + m}, own = p;
    int       beside = 0;
    for (int q : columns) beside += q >= 0 && q < n && q != own;
    for (int q : columns) {
      if (q < 0 || q >= n) continue;
      j.push_back(q);
      first.push_back(q == own ? beside + from(p) : -1);
      second.push_back(q == own ? beside + to(p) : -1);
    }
    i.push_back((int)j.size());
    x.push_back(p % m);
    x.push_back(p / m);
  }
  Params params;
  params.coarse = 10;
  params.filter = 0;
  const Buffer<int>    rows_i = put(i), rows_j = put(j);
  const Buffer<double> before = put(first), after = put(second);
  Rows<int> rows = rows_of(rows_i, rows_j, before);
  Hierarchy<double> kept(exec(), MPI_COMM_SELF, params), anew(exec(), MPI_COMM_SELF, params);
  Failure           failure = kept.setup(rows, x.data(), {}, {}, false);
  ASSERT_EQ(failure.kind, Failure::none);
  rows.a = after.data();
  ASSERT_TRUE(kept.refresh(rows, failure));
  ASSERT_EQ(failure.kind, Failure::none);
  ASSERT_EQ(anew.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  ASSERT_LT(4u, anew.levels().size());
  for (size_t l = 0; l + 1 < anew.levels().size(); ++l) EXPECT_GE(kept.levels()[l].lambda, anew.levels()[l].lambda / 1.1) << "level " << l;
}

TEST(AuxAMG, KeptEigenvaluesAreLargeEnough)
{
  check_eigenvalues([](int) { return 1e-3; }, [](int) { return 0.05; }); // coarse grids see more of a shift
  const auto spring = [](int p, double s) { return (p % 64 + p / 64) % 2 ? s : 0.01; };
  check_eigenvalues([=](int p) { return spring(p, 1e6); }, [=](int p) { return spring(p, 80); }); // couplings that did not count do
}

// Operators are scaled by a power of two, so that the magnitude of the matrix' values changes no bit: in units far from one neither they nor
// their inverses leave the range of single precision, nor their products that of double.
template <class T> static void check_units(int exponent)
{
  const int                 n = 400, fixed = 10;
  const Matrix              A(n, 1, 5);
  const std::vector<double> x = points(2, n, 1, 7);
  Params                    params;
  params.coarse = 10;
  std::vector<double> values = A.a, r((size_t)n);
  for (int p = 0; p < fixed; ++p) // couplings with these are one-sided
    for (int e = A.i[(size_t)p]; e < A.i[(size_t)p + 1]; ++e)
      if (A.j[(size_t)e] != p) values[(size_t)e] = 0;
  for (int p = 0; p < n; ++p) r[(size_t)p] = std::sin(p);
  std::vector<double> other = values;
  for (double &v : other) v = std::ldexp(v, exponent);
  const Buffer<int>    i = put(A.i), j = put(A.j);
  const Buffer<double> a = put(values), b = put(other), from = put(r);
  Rows<int> rows = rows_of(i, j, a);
  Hierarchy<T> plain(exec(), MPI_COMM_SELF, params), anew(exec(), MPI_COMM_SELF, params);
  const auto   result = [&](Hierarchy<T> &h, const Buffer<double> &rhs) {
    Buffer<double> to = put(r), z((size_t)n);
    h.apply(rhs.data(), to.data());
    copy(to, z);
    return std::vector<double>(z.data(), z.data() + n);
  };
  ASSERT_EQ(plain.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  const std::vector<double> expected = result(plain, from);
  rows.a = b.data();
  ASSERT_EQ(anew.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  Failure failure;
  ASSERT_TRUE(plain.refresh(rows, failure));
  ASSERT_EQ(failure.kind, Failure::none);
  std::vector<double> own = values, mine = r; // rows of fixed nodes may have units of their own
  for (int p = 0; p < fixed; ++p) {
    for (int e = A.i[(size_t)p]; e < A.i[(size_t)p + 1]; ++e) own[(size_t)e] = std::ldexp(own[(size_t)e], 200);
    mine[(size_t)p] = std::ldexp(mine[(size_t)p], 200);
  }
  const Buffer<double> c = put(own);
  Hierarchy<T>         units(exec(), MPI_COMM_SELF, params);
  rows.a = c.data();
  ASSERT_EQ(units.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  EXPECT_EQ(result(units, put(mine)), expected) << "units of fixed rows";
  for (double &v : r) v = std::ldexp(v, exponent);
  const Buffer<double> scaled = put(r); // in the matrix' units, as right-hand sides mostly are
  for (Hierarchy<T> *h : {&anew, &plain}) {
    EXPECT_EQ(result(*h, scaled), expected) << (h == &anew ? "new" : "refreshed");
    std::vector<double> z = result(*h, from);
    for (double &v : z) v = std::ldexp(v, exponent);
    EXPECT_EQ(z, expected) << (h == &anew ? "new" : "refreshed");
  }
}

TEST(AuxAMG, UnitsDoNotMatter)
{
  check_units<double>(-830);
  check_units<double>(830);
  const int most = exec().space == Space::host ? 830 : 200; // where r is brought near one as well
  check_units<float>(-most);
  check_units<float>(most);
}

// A shift that rounding to single precision takes away, at first and in new values; none is no reason, as constants are dropped then.
TEST(AuxAMG, SinglePrecisionRefusesWhatIsNearlySingular)
{
  const int                 m = 24, n = m * m;
  const std::vector<double> x = points(2, n, 1, 7);
  std::vector<int>          i{0}, j;
  for (int p = 0; p < n; ++p) {
    for (int q : {p - m, p - 1, p, p + 1, p + m})
      if (q >= 0 && q < n && (p / m == q / m || p % m == q % m)) j.push_back(q);
    i.push_back((int)j.size());
  }
  const auto shifted = [&](double shift) {
    std::vector<double> a(j.size(), -1. / 3);
    for (int p = 0; p < n; ++p)
      for (int e = i[(size_t)p]; e < i[(size_t)p + 1]; ++e)
        if (j[(size_t)e] == p) a[(size_t)e] = (i[(size_t)p + 1] - i[(size_t)p] - 1) / 3. + shift;
    return put(a);
  };
  const Buffer<int>    pi = put(i), pj = put(j);
  const Buffer<double> regular = shifted(1e-2), nearly = shifted(1e-9), singular = shifted(0);
  Rows<int>            rows = rows_of(pi, pj, regular);
  Params               params;
  Failure              failure;
  params.coarse     = 20;
  params.falls_back = true;
  Hierarchy<float> h(exec(), MPI_COMM_SELF, params), other(exec(), MPI_COMM_SELF, params);
  ASSERT_EQ(h.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  rows.a = nearly.data();
  ASSERT_TRUE(h.refresh(rows, failure));
  EXPECT_EQ(failure.kind, Failure::rounded);
  EXPECT_EQ(other.setup(rows, x.data(), {}, {}, false).kind, Failure::rounded);
  rows.a = singular.data();
  EXPECT_EQ(other.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  EXPECT_EQ(other.coarsest().dropped, 1);
}

// Nodes whose rows have nothing but the diagonal: the couplings of others with them may come and go with new values.
TEST(AuxAMG, NewValuesAreReadLikeTheFirst)
{
  const int                 n = 400, fixed = 10;
  const Matrix              A(n, 1, 5);
  const std::vector<double> x = points(2, n, 1, 7);
  Params                    params;
  params.coarse = 10;
  const Buffer<int> i = put(A.i), j = put(A.j);
  Buffer<double>    a;
  Rows<int> rows = rows_of(i, j);
  std::vector<double> values = A.a;
  const auto          set = [&](double coupling) { // with fixed nodes
    for (int p = 0; p < n; ++p)
      for (int e = A.i[(size_t)p]; e < A.i[(size_t)p + 1]; ++e) {
        const int q = A.j[(size_t)e];
        if (p != q && (p < fixed || q < fixed)) values[(size_t)e] = p < fixed ? 0 : coupling * A.a[(size_t)e];
      }
    a      = put(values);
    rows.a = a.data();
  };
  Buffer<double> r((size_t)n);
  for (int p = 0; p < n; ++p) r.data()[p] = std::sin(p);
  const Buffer<double> there = put(std::vector<double>(r.data(), r.data() + n));
  const auto           result = [&](Hierarchy<double> &h) {
    Buffer<double> z = put(std::vector<double>((size_t)n));
    h.apply(there.data(), z.data());
    return get(z);
  };
  set(0);
  Hierarchy<double> h(exec(), MPI_COMM_SELF, params);
  Failure           failure = h.setup(rows, x.data(), {}, {}, false);
  ASSERT_EQ(failure.kind, Failure::none);
  const std::vector<double> without = result(h);
  for (double coupling : {1., 0.}) {
    set(coupling);
    Hierarchy<double> fresh(exec(), MPI_COMM_SELF, params);
    ASSERT_EQ(fresh.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
    ASSERT_TRUE(h.refresh(rows, failure));
    ASSERT_EQ(failure.kind, Failure::none);
    const std::vector<double> z = result(h);
    EXPECT_EQ(z, result(fresh));
    EXPECT_EQ(z == without, coupling == 0);
  }
  const double good = values[(size_t)A.i[200]];
  values[(size_t)A.i[200]] = NAN;
  set(0);
  ASSERT_TRUE(h.refresh(rows, failure));
  EXPECT_EQ(failure.kind, Failure::not_finite);
  EXPECT_EQ(failure.row, 200);
  values[(size_t)A.i[200]] = good;
  set(0);
  ASSERT_TRUE(h.refresh(rows, failure));
  ASSERT_EQ(failure.kind, Failure::none);
  values[(size_t)A.i[3]] = values[(size_t)A.i[3] + 1] = -1; // one of these is not the diagonal
  values[(size_t)A.i[3] + (A.j[(size_t)A.i[3]] == 3 ? 0 : A.j[(size_t)A.i[3] + 1] == 3 ? 1 : 0)] = 5;
  a      = put(values);
  rows.a = a.data();
  EXPECT_FALSE(h.refresh(rows, failure)) << "node 3 takes part now";
  for (double share : {1e-6, 1e-14}) { // of a diagonal
    double diagonal = 1;
    set(0);
    values = get(a);
    for (int e = A.i[200]; e < A.i[201]; ++e)
      if (A.j[(size_t)e] == 200) diagonal = A.a[(size_t)e];
    for (int e = A.i[200]; e < A.i[201]; ++e)
      if (A.j[(size_t)e] != 200) values[(size_t)e] = -share * diagonal / (A.i[201] - A.i[200]);
    for (int e = A.i[3]; e < A.i[4]; ++e) values[(size_t)e] = A.j[(size_t)e] == 3;
    a      = put(values);
    rows.a = a.data();
    EXPECT_EQ(h.refresh(rows, failure), share > 1e-10) << "node 200, of off-diagonal entries " << share;
  }
}

// One row is coupled with half of all nodes: its list on a device is cut in a first run, and must not count as too long.
TEST(AuxAMG, ARowOfManyOnADevice)
{
  if (!unit_cuda()) GTEST_SKIP() << "no device";
  const int                          m = 50, n = m * m * m;
  std::vector<std::map<int, double>> row((size_t)n);
  std::vector<int>                   I(1, 0), J;
  std::vector<double>                V, x;
  size_t                             levels[2];
  const auto                         couple = [&](int p, int q, double w) {
    row[(size_t)p][q] -= w, row[(size_t)q][p] -= w;
    row[(size_t)p][p] += w, row[(size_t)q][q] += w;
  };
  for (int p = 0; p < n; ++p) {
    const int at[3] = {p % m, p / m % m, p / m / m}, step[3] = {1, m, m * m};
    row[(size_t)p][p] += 1e-3;
    for (int d = 0; d < 3; ++d) {
      x.push_back(at[d]);
      if (at[d] + 1 < m) couple(p, p + step[d], 1);
    }
  }
  for (int p = 2; p < n; p += 2) couple(0, p, 1e-4);
  for (const auto &r : row) {
    for (const auto &e : r) J.push_back(e.first), V.push_back(e.second);
    I.push_back((int)J.size());
  }
  for (int device = 0; device < 2; ++device) {
    const Exec where = device ? exec() : Exec();
    const auto i = put(I, where), j = put(J, where);
    const auto a = put(V, where);
    Params     params;
    Rows<int> rows = rows_of(i, j, a);
    params.dim  = 3;
    params.most = 24;
    Hierarchy<double> h(where, MPI_COMM_SELF, params);
    ASSERT_EQ(h.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
    levels[device] = h.levels().size();
  }
  EXPECT_EQ(levels[0], levels[1]);
}

// Rows of 289 entries, whose lists leave a block's memory: a device wants less than 30 MB with the 11 of the matrix, not the more than 50 of tables for what
// bounds the lists' lengths.
TEST(AuxAMG, WideRowsOnADevice)
{
  if (!unit_cuda()) GTEST_SKIP() << "no device";
  const int           m = 60, reach = 8, n = m * m;
  std::vector<int>    I(1, 0), J;
  std::vector<double> V, x;
  for (int p = 0; p < n; ++p) {
    const int row = p / m, column = p % m;
    double    sum = 1e-3;
    x.push_back(column), x.push_back(row);
    size_t diagonal = 0;
    for (int q = std::max(0, row - reach); q <= std::min(m - 1, row + reach); ++q)
      for (int r = std::max(0, column - reach); r <= std::min(m - 1, column + reach); ++r) {
        const double w = 1. / (1 + (q - row) * (q - row) + (r - column) * (r - column));
        if (q * m + r == p) diagonal = J.size();
        else sum += w;
        J.push_back(q * m + r), V.push_back(-w);
      }
    V[diagonal] = sum;
    I.push_back((int)J.size());
  }
  const auto i = put(I, exec()), j = put(J, exec());
  const auto a = put(V, exec());
  Params     params;
  Rows<int> rows = rows_of(i, j, a);
  params.dim = 2;
  setenv("TESSERA_EMULATED_MEMORY", "40000000", 1); // the emulated device's alone
  Hierarchy<double> h(exec(), MPI_COMM_SELF, params);
  EXPECT_EQ(h.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
  unsetenv("TESSERA_EMULATED_MEMORY");
}

// On a device a block has no room for a row that is coupled with half of all nodes: it adds it up by parts.
TEST(AuxAMG, LongRowsOnADevice)
{
  if (!unit_cuda()) GTEST_SKIP() << "no device";
  const int                 n = 2600;
  const Matrix              A(n, 1, 5, 6);
  const std::vector<double> x = points(2, n, 1, 7);
  std::vector<double>       r((size_t)n), z[2];
  for (int p = 0; p < n; ++p) r[(size_t)p] = std::sin(p);
  Params params;
  params.coarse = 100;
  for (int device = 0; device < 2; ++device) {
    const Exec where = device ? exec() : Exec();
    const auto i = put(A.i, where), j = put(A.j, where);
    const auto a = put(A.a, where), b = put(r, where);
    auto       y = put(r, where);
    Rows<int> rows = rows_of(i, j, a);
    Hierarchy<double> h(where, MPI_COMM_SELF, params);
    ASSERT_EQ(h.setup(rows, x.data(), {}, {}, false).kind, Failure::none);
    h.apply(b.data(), y.data());
    z[device] = get(y);
  }
  double largest = 0;
  for (double v : z[0]) largest = std::max(largest, std::fabs(v));
  for (int p = 0; p < n; ++p) ASSERT_NEAR(z[1][(size_t)p], z[0][(size_t)p], 1e-10 * largest);
}

// The numbers of the nodes do not matter: the grids and, to rounding, the operators stay.
TEST(AuxAMG, OrderOfNodesDoesNotMatter)
{
  const int                 n = 900;
  const Matrix              A(n, 1, 5);
  const std::vector<double> x = points(2, n, 3, 7);
  std::vector<int>          to((size_t)n);
  for (int p = 0; p < n; ++p) to[(size_t)p] = (p * 7 + 13) % n; // 7 does not divide n
  std::vector<double> moved(x.size());
  Matrix              B = A;
  for (int p = 0; p < n; ++p)
    for (int q = 0; q < 2; ++q) moved[(size_t)(2 * to[(size_t)p] + q)] = x[(size_t)(2 * p + q)];
  std::vector<int> from((size_t)n);
  for (int p = 0; p < n; ++p) from[(size_t)to[(size_t)p]] = p;
  B.i = {0};
  B.j.clear();
  B.a.clear();
  for (int p = 0; p < n; ++p) {
    const int r = from[(size_t)p];
    for (int e = A.i[(size_t)r]; e < A.i[(size_t)r + 1]; ++e) {
      B.j.push_back(to[(size_t)A.j[(size_t)e]]);
      B.a.push_back(A.a[(size_t)e]);
    }
    B.i.push_back((int)B.j.size());
  }
  Params params;
  params.coarse = 10;
  const auto coarse = [&](const Matrix &m, const std::vector<double> &y, std::vector<size_t> &sizes) {
    const Buffer<int>    i = put(m.i), j = put(m.j);
    const Buffer<double> a = put(m.a);
    Rows<int> rows = rows_of(i, j, a);
    Hierarchy<double> h(exec(), MPI_COMM_SELF, params);
    EXPECT_EQ(h.setup(rows, y.data(), {}, {}, false).kind, Failure::none);
    for (const auto &l : h.levels()) sizes.push_back((size_t)l.n);
    return blocks(h.levels()[1], 1);
  };
  std::vector<size_t> one, other;
  const Blocks        first = coarse(A, x, one), second = coarse(B, moved, other);
  EXPECT_EQ(one, other);
  ASSERT_EQ(first.size(), second.size());
  for (const auto &e : first) {
    ASSERT_TRUE(second.count(e.first));
    EXPECT_NEAR(second.at(e.first)[0], e.second[0], 1e-9);
  }
}
