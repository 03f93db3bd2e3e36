// The auxiliary grids of PC auxamg: the tree against plain recursion, interpolation against linear functions, the operators against the
// triple product P'AP.
#include "auxamg_case.hpp"
#include <array>
#include <set>

using namespace tessera;
using namespace tessera::tree;

namespace {

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
      make_weights(exec(), now, kuhn, n, leaf_there.data(), y.data(), nullptr, weight.data(), used.data());
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

using BlockEntries = std::map<std::pair<int, int>, std::vector<double>>;

template <class T> BlockEntries blocks(const Level<T> &level, int bs)
{
  const std::vector<int> i = get(level.i), j = get(level.j);
  const std::vector<T>   a = get(level.a);
  BlockEntries                 found;
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
  params.cell_size   = dim == 3 ? 24 : dim == 2 ? 12 : 3;
  params.kuhn   = kuhn;
  params.filter = filter ? Filter::on : Filter::off;
  params.coarse = 10;
  const Buffer<Index>    i = put_indices(A.i), j = put_indices(A.j);
  const Buffer<int>    ghost = put(std::vector<int>());
  const Buffer<double> a = put(A.a);
  Rows      rows = rows_of(i, j, a, bs);
  Hierarchy<T>   h(exec(), MPI_COMM_SELF, params);
  const Failure  failure = h.setup(rows, points(dim, n, grading, 7).data(), {}, {}, false);
  ASSERT_EQ(failure.kind, Failure::none);
  ASSERT_LT(2u, h.levels().size());
  for (int time = 0; time < 2; ++time) {
    for (size_t l = 0; l + 1 < h.levels().size(); ++l) {
      const Level<T>        &fine = h.levels()[l];
      const std::vector<int> begin = get(fine.transfer.begin), vertex = get(fine.transfer.vertex);
      const std::vector<T>   w = get(fine.transfer.weight);
      std::vector<std::map<int, double>> P((size_t)fine.n);
      for (int c = 0; c < fine.transfer.cells; ++c)
        for (int p = begin[(size_t)c]; p < begin[(size_t)c + 1]; ++p)
          for (int k = 0; k < fine.transfer.corners; ++k)
            if (const double v = w[(size_t)(p * fine.transfer.corners + k)]) P[(size_t)p][vertex[(size_t)(c * fine.transfer.corners + k)]] += v;
      BlockEntries expected;
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
      const BlockEntries found = blocks(h.levels()[l + 1], bs);
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
    Rows            now   = rows;
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
    const Buffer<Index>    i = put_indices(m.i), j = put_indices(m.j);
    const Buffer<double> a = put(m.a);
    Rows rows = rows_of(i, j, a);
    Hierarchy<double> h(exec(), MPI_COMM_SELF, params);
    EXPECT_EQ(h.setup(rows, y.data(), {}, {}, false).kind, Failure::none);
    for (const auto &l : h.levels()) sizes.push_back((size_t)l.n);
    return blocks(h.levels()[1], 1);
  };
  std::vector<size_t> one, other;
  const BlockEntries        first = coarse(A, x, one), second = coarse(B, moved, other);
  EXPECT_EQ(one, other);
  ASSERT_EQ(first.size(), second.size());
  for (const auto &e : first) {
    ASSERT_TRUE(second.count(e.first));
    EXPECT_NEAR(second.at(e.first)[0], e.second[0], 1e-9);
  }
}
