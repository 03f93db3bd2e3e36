// The algebraic levels on several processes, some of which may have no rows: coarse nodes, interpolation and products are those of one
// process, the cycle is symmetric and below the inverse, new values go into the old pattern.
// ranks: 1 2 3 4
#include "rrb/algebraic/algebraic.hpp"
#include "dense.hpp"
#include "unit.hpp"

using namespace tessera;
using rrb::Algebraic;
using rrb::AlgebraicLevel;
using rrb::AlgebraicNumbering;

namespace {

// The 9-point Laplacian of an m x m grid with coefficients over so many decades, node by node without order.
struct Laplacian {
  int    m;
  double decades, shift;
  int    seed;
  int    size() const { return m * m; }
  double weight(int i, int j) const { return std::pow(10, decades * (hash(std::max(i, j), std::min(i, j), seed) - 0.5)); }
  template <class F> void row(int i, const F &f) const // f(column, value), the diagonal entry last
  {
    double sum = shift;
    for (int y = std::max(i / m - 1, 0); y <= std::min(i / m + 1, m - 1); ++y)
      for (int x = std::max(i % m - 1, 0); x <= std::min(i % m + 1, m - 1); ++x)
        if (y * m + x != i) sum += weight(i, y * m + x), f(y * m + x, -weight(i, y * m + x));
    f(i, sum);
  }
};

int rank()
{
  int r;
  MPI_Comm_rank(MPI_COMM_WORLD, &r);
  return r;
}

// Which process has a row, and as which of its own ones; and the own rows. By default one process has all.
struct Rows {
  std::vector<int> owner, index, own;
  bool             alone = true;
  explicit Rows(int n) : owner((size_t)n), index((size_t)n) { number(0); }
  Rows(int n, int kind) : Rows(n) // kind: as split() has it, or row after row to another process
  {
    const std::vector<int> borders = split(n, ranks(), kind);
    for (int i = 0; i < n; ++i) owner[(size_t)i] = kind == 4 ? i % ranks() : (int)(std::upper_bound(borders.begin(), borders.end(), i) - borders.begin()) - 1;
    alone = false;
    number(rank());
  }

private:
  void number(int me)
  {
    std::vector<int> next((size_t)ranks());
    own.clear();
    for (size_t i = 0; i < owner.size(); ++i) {
      index[i] = next[(size_t)owner[i]]++;
      if (owner[i] == me) own.push_back((int)i);
    }
  }
};

void fill(const Laplacian &A, const Rows &rows, long redundant, Algebraic &to)
{
  const bool       known = to.known();
  const int        n     = (int)rows.own.size();
  AlgebraicLevel  &l     = known ? to.finest() : to.start(n, 9 * (size_t)n);
  AlgebraicNumbering numbers(rows.alone ? 0 : rank(), n);
  int              next = 0;
  for (int r = 0; r < n; ++r) {
    A.row(rows.own[(size_t)r], [&](int j, double v) {
      l.j.data()[next]   = numbers(rows.owner[(size_t)j], rows.index[(size_t)j]);
      l.a.data()[next++] = v;
    });
    l.diagonal.data()[r] = next - 1;
    l.i.data()[r + 1]    = next;
    if (!known) l.number[(size_t)r] = rows.own[(size_t)r];
  }
  if (!known && !rows.alone) to.distribute(MPI_COMM_WORLD, numbers, redundant);
}

template <class F> void for_rows(int n, const F &f)
{
  for (int kind = 0; kind < (ranks() > 1 ? 5 : 1); ++kind) {
    SCOPED_TRACE(testing::Message() << "rows on processes by kind " << kind);
    f(Rows(n, kind));
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Entries of a row by columns of the one process's matrix.
std::vector<std::pair<int, double>> sorted(const int *begin, const int *j, const double *a, int r, const std::vector<int> &name)
{
  std::vector<std::pair<int, double>> row;
  for (int e = begin[r]; e < begin[r + 1]; ++e) row.emplace_back(name.empty() ? j[e] : name[(size_t)j[e]], a[e]);
  std::sort(row.begin(), row.end());
  return row;
}

void expect_same_rows(const std::vector<std::pair<int, double>> &a, const std::vector<std::pair<int, double>> &b, double size)
{
  ASSERT_EQ(a.size(), b.size());
  for (size_t e = 0; e < a.size(); ++e) {
    EXPECT_EQ(a[e].first, b[e].first);
    EXPECT_NEAR(a[e].second, b[e].second, 1e-9 * size);
  }
}

// Level by level; name: of a process's own nodes and ghosts on the one process.
void expect_same(Algebraic &shared, const Algebraic &alone, std::vector<int> name)
{
  ASSERT_EQ(shared.below(), alone.below());
  size_t k = 0;
  for (; shared.levels()[k].distribution && !shared.levels()[k].gathered(); ++k) {
    const AlgebraicLevel &l = shared.levels()[k], &one = alone.levels()[k], &next = shared.levels()[k + 1];
    EXPECT_EQ(l.nodes, one.n);
    std::vector<int> names((size_t)(next.n + next.ghosts()));
    for (int r = 0; r < l.n; ++r) {
      const int c = l.coarse.data()[r], same = one.coarse.data()[name[(size_t)r]];
      ASSERT_EQ(c >= 0, same >= 0) << "level " << k;
      if (c >= 0) names[(size_t)c] = same;
    }
    next.distribution->ghosts.forward(names.data(), 1);
    for (int r = 0; r < l.n; ++r) expect_same_rows(sorted(l.pi.data(), l.pj.data(), l.p.data(), r, names), sorted(one.pi.data(), one.pj.data(), one.p.data(), name[(size_t)r], {}), 1);
    for (int c = 0; c < next.n; ++c) {
      const AlgebraicLevel &other = alone.levels()[k + 1];
      const int             same = names[(size_t)c];
      expect_same_rows(sorted(next.i.data(), next.j.data(), next.a.data(), c, names), sorted(other.i.data(), other.j.data(), other.a.data(), same, {}), other.a.data()[other.diagonal.data()[same]]);
    }
    if (testing::Test::HasFailure()) return;
    name = names;
  }
  if (shared.levels()[k].gathered()) {
    EXPECT_EQ(shared.levels()[k + 1].n, alone.levels()[k].n);
    EXPECT_EQ(shared.levels()[k + 1].entries, alone.levels()[k].entries);
  }
}

// The cycle of the first coarse level as a matrix, by its own numbers, process after process; and that level's matrix.
void dense(Algebraic &levels, Matrix &B, Matrix &A)
{
  AlgebraicLevel   &l = const_cast<AlgebraicLevel &>(levels.levels()[1]);
  std::vector<int>  count((size_t)ranks()), first((size_t)ranks() + 1);
  MPI_Allgather(&l.n, 1, MPI_INT, count.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (size_t p = 0; p < count.size(); ++p) first[p + 1] = first[p] + count[p];
  const int n = first.back();
  B = A = Matrix(n);
  const auto at = [&](int v) { return l.distribution ? first[(size_t)l.distribution->process(v)] + l.distribution->owner_number(v) : v; };
  for (int c = 0; c < n; ++c) {
    l.b.zero();
    for (int r = 0; r < l.n; ++r) l.b.data()[r] = at(r) == c;
    levels.cycle();
    for (int r = 0; r < l.n; ++r) B(at(r), c) = l.x.data()[r];
    for (int v = l.n; v < l.n + l.ghosts(); ++v) l.b.data()[v] = 0;
  }
  for (int r = 0; r < l.n; ++r)
    for (int e = l.i.data()[r]; e < l.i.data()[r + 1]; ++e) A(at(r), at(l.j.data()[e])) = l.a.data()[e];
  for (Matrix *m : {&A, &B}) MPI_Allreduce(MPI_IN_PLACE, m->a.data(), n * n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

} // namespace

TEST(AlgebraicDistribution, LevelsOfOneProcess)
{
  const Laplacian A{70, 6, 1e-4, 3};
  Algebraic       alone;
  fill(A, Rows(A.size()), 0, alone);
  ASSERT_TRUE(alone.setup());
  for_rows(A.size(), [&](const Rows &rows) {
    Algebraic shared;
    fill(A, rows, 200, shared);
    ASSERT_TRUE(shared.setup());
    ASSERT_GT(shared.levels().size(), 4u);
    if (ranks() > 1) { EXPECT_FALSE(shared.levels()[2].gathered()); }
    expect_same(shared, alone, rows.own);
  });
}

TEST(AlgebraicDistribution, CycleIsSymmetricAndBelowTheInverse)
{
  const Laplacian A{32, 6, 1e-2, 4};
  for_rows(A.size(), [&](const Rows &rows) {
    Algebraic levels;
    fill(A, rows, 1, levels);
    ASSERT_TRUE(levels.setup());
    Matrix B, C;
    dense(levels, B, C);
    EXPECT_LT(asymmetry(B), 1e-12);
    EXPECT_LT(asymmetry(C), 1e-12);
    Matrix above = inverse(B);
    ASSERT_EQ(above.n, C.n) << "the cycle is not positive definite";
    const double size = above.max();
    for (size_t e = 0; e < above.a.size(); ++e) above.a[e] -= C.a[e];
    for (int r = 0; r < above.n; ++r) above(r, r) += 1e-10 * size;
    EXPECT_EQ(inverse(above).n, C.n) << "the cycle is above the inverse";
  });
}

TEST(AlgebraicDistribution, NewValuesKeepThePattern)
{
  Laplacian A{60, 5, 0.1, 3};
  for_rows(A.size(), [&](const Rows &rows) {
    Algebraic kept, fresh;
    A.seed = 3;
    fill(A, rows, 200, kept);
    ASSERT_TRUE(kept.setup());
    Laplacian B = A;
    B.decades = 4.5; // the order of couplings and what is strong hardly change
    fill(B, rows, 200, kept);
    ASSERT_TRUE(kept.setup());
    Algebraic alone; // the same on one process
    fill(A, Rows(A.size()), 0, alone);
    ASSERT_TRUE(alone.setup());
    fill(B, Rows(B.size()), 0, alone);
    ASSERT_TRUE(alone.setup());
    expect_same(kept, alone, rows.own);
  });
}

TEST(AlgebraicDistribution, NothingToDo)
{
  for_rows(900, [&](const Rows &rows) {
    Algebraic levels;
    fill({30, 0, 1e13, 1}, rows, 1, levels); // a diagonal matrix but for rounding
    EXPECT_FALSE(levels.setup());
    EXPECT_TRUE(levels.empty());
  });
}
