// Sweeps by colours and by lines, the residual and the order of a wavefront against the definitions: equations one by one, lines
// by dense matrices, in every storage and on process grids of every shape.
// ranks: 1 2 3 4
#include "box/smooth.hpp"
#include "box/tuning.hpp"
#include "exec/wavefront.hpp"
#include "dense.hpp"
#include "unit.hpp"
#include <algorithm>

using namespace tessera;

// A model problem, or its couplings along one direction alone, and with nothing at all in the rows of dead nodes.
struct Operator : Problem {
  Lines only = lines_none;
  bool  zero = false;

  double entry(int x, int y, int k) const
  {
    if (only != lines_none && k != 4 && (only == lines_x ? k / 3 != 1 : k % 3 != 1)) return 0;
    if (k != 4) return coupling(x, y, k);
    if (is_dead(x, y)) return zero ? 0 : diagonal(x, y);
    if (only == lines_none) return diagonal(x, y);
    double s = shift * (0.5 + hash(x, y, 3 * seed));
    for (int d = 0; d < 9; ++d) s -= d == 4 ? 0 : entry(x, y, d);
    return s == 0 ? 1 : s;
  }
  std::string name() const
  {
    return std::to_string(nx) + " x " + std::to_string(ny) + (nine ? " 9-point" : " 5-point") + (periodic_x ? " periodic x" : "") + (periodic_y ? " periodic y" : "") +
           (dead > 0 ? zero ? " holes" : " mask" : "") + (shift == 0 ? " Neumann" : "") + (only == lines_none ? "" : " lines alone");
  }
};
using Vector = std::vector<double>; // all nodes

static Vector random_vector(const Operator &p, int seed)
{
  Vector v((size_t)p.size());
  for (size_t i = 0; i < v.size(); ++i) v[i] = hash((int64_t)i, seed, 9) - 0.5;
  return v;
}

// f(x, y, the same node's x and y inside the grid) for the nodes that a process keeps.
template <class F> static void kept_nodes(const Operator &p, const Grid &g, const F &f)
{
  const Box b = Grid::ghosted(g.owned());
  for (int y = b.y0; y < b.y1; ++y)
    for (int x = b.x0; x < b.x1; ++x)
      if (p.inside(x, y)) f(x, y, (x + 2 * p.nx) % p.nx, (y + 2 * p.ny) % p.ny);
}

enum Storage { quarters, natural, plane, plane_of_natural };

// Fields of one grid in one of the storages, filled and looked at on the host.
template <class T> struct Memory {
  struct Piece {
    Buffer<T> host, device;
    View<T>   view;
  };
  const Operator    &p;
  const Grid        &g;
  const Storage      storage;
  std::vector<Piece> pieces;

  Memory(const Operator &problem, const Grid &grid, Storage s) : p(problem), g(grid), storage(s) { }
  View<T> field()
  {
    pieces.emplace_back();
    Piece &f = pieces.back();
    if (storage == quarters || storage == natural) {
      const Layout layout(g, storage == natural);
      f.host.resize(layout.elements(4));
      return f.view = layout.template view<T>(f.host.data());
    }
    const Box       b  = Grid::ghosted(g.owned());
    const ptrdiff_t sx = storage == plane ? 1 : 2, sy = sx * (b.x1 - b.x0) + 5;
    f.host.resize((size_t)(sy * (b.y1 - b.y0 + 2)));
    return f.view = plane_view(f.host.data() + sy + 2 - b.x0 * sx - b.y0 * sy, sx, sy);
  }
  // The field where kernels run, with the values that it has here; and these values again.
  View<T> there(View<T> v)
  {
    Piece *f = unit_cuda() ? find(v) : nullptr;
    if (!f) return v;
    if (f->device.empty()) f->device.resize({f->host.size(), Space::cuda});
    copy(f->host, f->device);
    for (T *&q : v.q) q = f->device.data() + (q - f->host.data());
    return v;
  }
  void here(const View<T> &v)
  {
    if (Piece *f = unit_cuda() ? find(v) : nullptr) copy(f->device, f->host);
  }
  StencilView<T> there(StencilView<T> A)
  {
    A.C = there(A.C);
    for (int k = 0; k < 4; ++k) A.E[k] = there(A.E[k]), A.G[k] = there(A.G[k]);
    return A;
  }
  Piece *find(const View<T> &v)
  {
    for (Piece &f : pieces)
      if (f.view.q[0] == v.q[0]) return &f;
    return nullptr;
  }
  View<T> field(const Vector &v)
  {
    const View<T> f = field();
    kept_nodes(p, g, [&](int x, int y, int i, int j) { f.at(x, y) = (T)v[(size_t)p.node(i, j)]; });
    return f;
  }
  // Written from the table in stencil.hpp.
  StencilView<T> stencil()
  {
    StencilView<T> A;
    A.C    = field();
    A.nine = p.nine;
    for (int k = 0; k < 4; ++k) A.E[k] = field(), A.G[k] = field();
    kept_nodes(p, g, [&](int x, int y, int i, int j) {
      const int straight[4] = {3, 5, 1, 7}, diagonal[4] = {0, 2, 6, 8}, q = (x & 1) + 2 * (y & 1);
      A.C.at(x, y) = (T)p.entry(i, j, 4);
      for (int k = 0; k < 4; ++k) {
        if (q == quarter_a || q == quarter_b) A.E[k].at(x, y) = (T)p.entry(i, j, straight[k]);
        if (q == quarter_o) A.E[k].at(x, y) = (T)p.entry(i, j, diagonal[k]);
        if (q == quarter_a) A.G[k].at(x, y) = (T)p.entry(i, j, diagonal[k]);
      }
    });
    return A;
  }
};

// Largest difference of the own nodes of the quarters in the mask relative to the largest value; infinite if a number is none.
template <class T> static double distance(const Operator &p, const Grid &g, const View<T> &v, const Vector &expected, int mask = mask_all)
{
  double    worst = 0, scale = 0;
  const Box own = g.owned();
  for (double e : expected) scale = std::max(scale, std::fabs(e));
  for (int y = own.y0; y < own.y1; ++y)
    for (int x = own.x0; x < own.x1; ++x) {
      if (!(mask >> ((x & 1) + 2 * (y & 1)) & 1)) continue;
      const double d = std::fabs((double)v.at(x, y) - expected[(size_t)p.node(x, y)]);
      worst = d <= worst ? worst : std::isfinite(d) ? d : INFINITY;
    }
  return scale > 0 ? worst / scale : worst;
}

// f(problem, grid, storage) for sizes, 5 and 9 points, and periodic directions; every process grid and storage has its turns.
template <class F> static void for_cases(const std::vector<std::pair<int, int>> &sizes, const F &f)
{
  std::vector<int> across;
  for (int px = 1; px <= ranks(); ++px)
    if (ranks() % px == 0) across.push_back(px);
  int turn = 0;
  for (auto &s : sizes)
    for (bool nine : {false, true})
      for (int axes = 0; axes < 4; ++axes)
        for (int variant = 0; variant < 4; ++variant) {
          Operator p{{s.first, s.second, nine}};
          if ((axes & 1 && p.nx % 2) || (axes & 2 && p.ny % 2)) continue;
          p.periodic_x = axes & 1;
          p.periodic_y = axes & 2;
          p.decades    = variant == 1 ? 3 : 0;
          p.dead       = variant > 1 ? 0.25 : 0;
          p.zero       = variant == 3;
          p.shift      = variant == 2 ? 0.1 : 1;
          for (int px : across)
            for (int kind = 0; kind < (ranks() > 1 ? 4 : 1); ++kind, ++turn) {
              const Grid g = grid_of(p, MPI_COMM_WORLD, split(p.nx, px, kind), split(p.ny, ranks() / px, kind));
              SCOPED_TRACE(testing::Message() << p.name() << " on " << px << " x " << ranks() / px << " processes, borders " << kind << ", storage " << turn % 4);
              f(p, g, (Storage)(turn % 4));
            }
          int failed = testing::Test::HasFailure();
          MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
          if (failed) return;
        }
}

static double single(const Operator &p) { return p.decades > 0 ? 1e-3 : 1e-5; } // rounding times the condition number

static const std::vector<std::pair<int, int>> sizes = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 9}, {12, 1}, {3, 5}, {4, 6}, {13, 8}, {8, 13}, {10, 14}, {24, 5}};

// ---- colours

// The sum of a node's couplings times its neighbours.
static double couplings(const Operator &p, const Vector &v, int x, int y)
{
  double s = 0;
  for (int k = 0; k < 9; ++k)
    if (k != 4 && p.inside(x + k % 3 - 1, y + k / 3 - 1)) s += p.entry(x, y, k) * v[(size_t)p.node(x + k % 3 - 1, y + k / 3 - 1)];
  return s;
}

static void gauss_seidel(const Operator &p, int q, const Vector &b, Vector &x, double more = 0)
{
  for (int j = q >> 1; j < p.ny; j += 2)
    for (int i = q & 1; i < p.nx; i += 2) {
      const double c = p.entry(i, j, 4), v = c > 0 ? (b[(size_t)p.node(i, j)] - couplings(p, x, i, j)) / c : 0, old = x[(size_t)p.node(i, j)];
      x[(size_t)p.node(i, j)] = c > 0 ? v + more * (v - old) : 0;
    }
}

template <class T> static void check_colours(const Operator &p, const Grid &g, Storage storage, double tolerance)
{
  Memory<T>            memory(p, g, storage);
  const StencilView<T> A = memory.there(memory.stencil());
  const Vector         b = random_vector(p, 1);
  const View<T>        B = memory.there(memory.field(b));
  Halo                 halo(g, exec().space);
  Vector               x = random_vector(p, 2);
  View<T>              X = memory.field(x), R = memory.field(), there = memory.there(X);
  for (int q : {3, 0, 2, 1, 1, 2, 0, 3}) {
    const double more = q == 1 ? 0 : 0.5; // over-relaxation
    smooth_colour(exec(), A, q, g.owned(q), B, there, false, more);
    halo.exchange(there, 1 << q);
    memory.here(X);
    gauss_seidel(p, q, b, x, more);
    EXPECT_LT(distance(p, g, X, x), tolerance) << "quarter " << q;
  }
  Vector r = b;
  x        = random_vector(p, 3);
  X        = memory.field(x);
  for (int j = 0; j < p.ny; ++j)
    for (int i = 0; i < p.nx; ++i) r[(size_t)p.node(i, j)] -= p.entry(i, j, 4) * x[(size_t)p.node(i, j)] + couplings(p, x, i, j);
  there = memory.there(X);
  const View<T> rest = memory.there(R);
  for (int q = 0; q < 4; ++q) {
    residual(exec(), A, q, g.owned(q), B, there, rest);
    memory.here(R);
    EXPECT_LT(distance(p, g, R, r, 1 << q), tolerance) << "residual of quarter " << q;
  }
}

TEST(Colours, AgainstGaussSeidel)
{
  for_cases(sizes, [](const Operator &p, const Grid &g, Storage s) {
    check_colours<double>(p, g, s, 1e-14);
    check_colours<float>(p, g, s, single(p));
  });
}

TEST(Colours, FirstIsASweepFromZero) // what is not to be read is no number
{
  for_cases(sizes, [](const Operator &p, const Grid &g, Storage s) {
    Memory<double>            memory(p, g, s);
    const StencilView<double> A = memory.there(memory.stencil());
    const Vector              b = random_vector(p, 1);
    const View<double>        B = memory.there(memory.field(b)), X = memory.field(Vector((size_t)p.size(), NAN)), there = memory.there(X);
    Halo                      halo(g, exec().space);
    Vector                    x((size_t)p.size());
    int                       done = 0;
    for (int q : {3, 0, 2, 1}) {
      smooth_colour(exec(), A, q, g.owned(q), B, there, true);
      halo.exchange(there, 1 << q);
      memory.here(X);
      gauss_seidel(p, q, b, x);
      EXPECT_LT(distance(p, g, X, x, done |= 1 << q), 1e-14) << "quarter " << q;
    }
  });
}

// ---- lines

// The solution on one line, from its matrix and what the other lines contribute.
static void solve_line(const Operator &p, Lines direction, int line, const Vector &b, Vector &x)
{
  const bool along_x = direction == lines_x;
  const int  n = along_x ? p.nx : p.ny;
  Matrix     M(n);
  Vector     f((size_t)n);
  for (int i = 0; i < n; ++i) {
    const int X = along_x ? i : line, Y = along_x ? line : i;
    f[(size_t)i] = b[(size_t)p.node(X, Y)];
    for (int k = 0; k < 9; ++k) {
      const int dx = k % 3 - 1, dy = k / 3 - 1;
      if (!p.inside(X + dx, Y + dy)) continue;
      if (along_x ? dy : dx) f[(size_t)i] -= p.entry(X, Y, k) * x[(size_t)p.node(X + dx, Y + dy)];
      else M(i, (i + (along_x ? dx : dy) + n) % n) += p.entry(X, Y, k);
    }
    if (M(i, i) == 0) M(i, i) = 1, f[(size_t)i] = 0;
  }
  const Matrix I = inverse(M);
  ASSERT_EQ(I.n, n) << "the line's matrix is not positive definite";
  for (int i = 0; i < n; ++i) {
    double &v = x[(size_t)(along_x ? p.node(i, line) : p.node(line, i))] = 0;
    for (int j = 0; j < n; ++j) v += I(i, j) * f[(size_t)j];
  }
}

template <class T> static void check_lines(const Operator &p, const Grid &g, Storage storage, double tolerance, const std::vector<Lines> &directions = {lines_x, lines_y}, int threads = 1)
{
  Memory<double>            coefficients(p, g, storage);
  Memory<T>                 memory(p, g, storage);
  const StencilView<double> A = coefficients.there(coefficients.stencil());
  const StencilView<T>      a = memory.there(memory.stencil());
  const Vector              b = random_vector(p, 1);
  const View<T>             B = memory.there(memory.field(b));
  Operator                  other = p;
  other.seed += 5;
  for (Lines direction : directions) {
    LineSolver<T>  solver;
    Memory<double> others(other, g, storage);
    solver.setup(exec(threads), others.there(others.stencil()), g, direction, tuning::singular_pivot); // then new values in old memory
    solver.setup(exec(threads), A, g, direction, tuning::singular_pivot);
    LineSolver<T> moved;
    moved    = std::move(solver);
    Vector x = random_vector(p, 2);
    for (int parity : {0, 1, 0}) {
      Vector start = x; // of the lines themselves nothing is read
      auto   solved = [&](int i, int j) { return ((direction == lines_x ? j : i) & 1) == parity; };
      for (int j = 0; j < p.ny; ++j)
        for (int i = 0; i < p.nx; ++i)
          if (solved(i, j)) start[(size_t)p.node(i, j)] = NAN;
      const View<T> X = memory.field(start);
      moved.solve(exec(threads), a, parity, B, memory.there(X));
      memory.here(X);
      for (int line = parity; line < (direction == lines_x ? p.ny : p.nx); line += 2) solve_line(p, direction, line, b, x);
      EXPECT_LT(distance(p, g, X, x), tolerance) << (direction == lines_x ? "rows" : "columns") << ", parity " << parity;
    }
  }
}

TEST(LineSolver, AgainstDense)
{
  for_cases(sizes, [](const Operator &p, const Grid &g, Storage s) {
    check_lines<double>(p, g, s, 1e-12);
    check_lines<float>(p, g, s, single(p));
  });
}

TEST(LineSolver, LongAndMany) // more columns than a piece has, more rows than a strip; several threads
{
  const std::vector<Lines> only_x = {lines_x}, only_y = {lines_y}, both = {lines_x, lines_y};
  for (bool nine : {false, true})
    for (auto &s : {std::pair<int, int>{2070, 3}, {3, 530}, {61, 40}, {40, 58}})
      for (int px = 1; px <= ranks(); px += std::max(1, ranks() - 1))
        for (int axes = 0; axes < 4; ++axes) {
          Operator p{{s.first, s.second, nine}};
          p.periodic_x = axes & 1 && p.nx % 2 == 0;
          p.periodic_y = axes & 2 && p.ny % 2 == 0;
          if (p.periodic_x + 2 * p.periodic_y != axes) continue;
          SCOPED_TRACE(p.name());
          const Grid g = grid_of(p, MPI_COMM_WORLD, split(p.nx, px, 0), split(p.ny, ranks() / px, 0));
          check_lines<double>(p, g, (Storage)axes, 1e-12, p.nx > 100 ? only_y : p.ny > 100 ? only_x : both, ranks() > 1 ? 1 : 2);
        }
}

// Lines of many and of longer parts, against the host's.
TEST(LineSolver, DeviceAsHost)
{
  if (!unit_cuda()) return;
  int turn = 0;
  for (int n : {16, 17, 129, 255, 1024, 1025, 4100})
    for (Lines direction : {lines_x, lines_y})
      for (bool periodic : {false, true})
        for (double decades : {0., 3.}) {
          Operator p{{direction == lines_x ? n : 19, direction == lines_x ? 19 : n, (turn & 1) != 0}};
          if (periodic && n % 2) continue;
          (direction == lines_x ? p.periodic_x : p.periodic_y) = periodic;
          p.decades = decades;
          SCOPED_TRACE(p.name());
          const Grid                g = grid_of(p, MPI_COMM_WORLD, split(p.nx, direction == lines_x ? ranks() : 1, 0), split(p.ny, direction == lines_x ? 1 : ranks(), 0));
          Memory<double>            memory(p, g, (Storage)(turn++ % 4));
          const StencilView<double> A = memory.stencil(), there = memory.there(A);
          const View<double>        b = memory.field(random_vector(p, 1)), x = memory.field(random_vector(p, 2)), y = memory.field(random_vector(p, 2)), yd = memory.there(y);
          LineSolver<double>        host, device;
          host.setup(Exec(), A, g, direction, tuning::singular_pivot);
          device.setup(exec(), there, g, direction, tuning::singular_pivot);
          for (int parity : {0, 1}) {
            host.solve(Exec(), A, parity, b, x);
            device.solve(exec(), there, parity, memory.there(b), yd);
          }
          memory.here(y);
          double    worst = 0, scale = 0;
          const Box own = g.owned();
          for (int j = own.y0; j < own.y1; ++j)
            for (int i = own.x0; i < own.x1; ++i) scale = std::max(scale, std::fabs(x.at(i, j))), worst = std::max(worst, std::fabs(x.at(i, j) - y.at(i, j)));
          EXPECT_LE(worst, 1e-12 * scale);
        }
}

// A part of a line between dead nodes has row sums zero. One of its nodes stays zero, all other equations hold; with a compatible
// right-hand side this one's as well.
template <class T> static void check_singular(const Operator &p, const Grid &g, Storage storage, double tolerance, bool compatible)
{
  Memory<double>            coefficients(p, g, storage);
  Memory<T>                 memory(p, g, storage);
  const StencilView<double> A = coefficients.there(coefficients.stencil());
  const StencilView<T>      a = memory.there(memory.stencil());
  const Vector              u = random_vector(p, 4);
  Vector                    b = random_vector(p, 1), x((size_t)p.size());
  for (int y = 0; y < p.ny && compatible; ++y)
    for (int i = 0; i < p.nx; ++i) b[(size_t)p.node(i, y)] = p.entry(i, y, 4) * u[(size_t)p.node(i, y)] + couplings(p, u, i, y);
  const View<T> B = memory.there(memory.field(b)), X = memory.field(x), there = memory.there(X);
  LineSolver<T> solver;
  solver.setup(exec(), A, g, p.only, tuning::singular_pivot);
  for (int parity : {0, 1}) solver.solve(exec(), a, parity, B, there);
  memory.here(X);
  const Box own = g.owned();
  for (int y = own.y0; y < own.y1; ++y)
    for (int i = own.x0; i < own.x1; ++i) x[(size_t)p.node(i, y)] = X.at(i, y);
  MPI_Allreduce(MPI_IN_PLACE, x.data(), (int)x.size(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

  const bool along_x = p.only == lines_x, closed = along_x ? p.periodic_x : p.periodic_y;
  const int  n = along_x ? p.nx : p.ny, lines = along_x ? p.ny : p.nx;
  for (int line = 0; line < lines; ++line) {
    auto at   = [&](int i) { return along_x ? p.node(i, line) : p.node(line, i); };
    auto dead = [&](int i) { return along_x ? p.is_dead(i, line) : p.is_dead(line, i); };
    int  first = 0; // parts are counted from a dead node on
    while (closed && first < n && !dead(first)) ++first;
    int failed = 0, length = 0;
    for (int k = 0; k <= n; ++k) {
      const int i = (first + k) % n, X0 = along_x ? i : line, Y0 = along_x ? line : i;
      if (k == n || dead(i)) { // the end of a part
        EXPECT_LE(failed, compatible || length < 2 ? 0 : 1) << "line " << line << ", the part of " << length << " nodes before " << i;
        failed = length = 0;
      }
      if (k == n) break;
      const double v = x[(size_t)at(i)], r = b[(size_t)at(i)] - p.entry(X0, Y0, 4) * v - couplings(p, x, X0, Y0);
      ASSERT_LE(std::fabs(v), n * n) << "node " << i << " of line " << line;
      if (!(std::fabs(r) < tolerance * n * n)) {
        EXPECT_EQ(v, 0) << "node " << i << " of line " << line;
        failed += p.entry(X0, Y0, 4) != 0;
      }
      length += !dead(i);
    }
  }
}

TEST(LineSolver, Singular)
{
  for_cases({{1, 9}, {9, 1}, {2, 2}, {12, 6}, {7, 16}, {31, 5}, {6, 24}}, [](const Operator &problem, const Grid &g, Storage s) {
    Operator p = problem;
    p.shift    = 0;
    p.decades  = 0;
    for (Lines direction : {lines_x, lines_y})
      for (bool compatible : {false, true}) {
        p.only = direction;
        SCOPED_TRACE(direction == lines_x ? "rows" : "columns");
        check_singular<double>(p, g, s, 1e-14, compatible);
        check_singular<float>(p, g, s, 1e-5, compatible);
      }
  });
}

// ---- wavefronts

TEST(Wavefront, EveryRowOnceAndInOrder)
{
  for (int y0 : {-1, 0, 5})
    for (int n : {0, 1, 2, 7, 20})
      for (int rows : {1, 3, 8, 50})
        for (bool fused : {false, true}) {
          const std::vector<int> lags = {0, 0, 1, 4};
          std::vector<int>       next(lags.size(), y0); // row of every phase
          wavefront(lags, y0, y0 + n, rows, fused, [&](int k, int from, int to) {
            EXPECT_EQ(from, next[(size_t)k]);
            EXPECT_LT(from, n ? to : to + 1);
            next[(size_t)k] = to;
            EXPECT_TRUE(!k || next[0] == y0 + n || to + lags[(size_t)k] <= next[0]) << "phase " << k << " is not behind";
          });
          for (int y : next) EXPECT_EQ(y, y0 + n);
        }
}

// Sweeps and what follows them, as colours (4 + q: the residual of quarter q), with lags in rows of quarters.
static std::vector<double> sweep(const Operator &p, const Grid &g, Storage s, const std::vector<int> &phases, const std::vector<int> &lags, int rows, bool fused)
{
  Memory<double>            memory(p, g, s);
  const StencilView<double> A = memory.stencil();
  const View<double>        b = memory.field(random_vector(p, 1)), x = memory.field(random_vector(p, 2)), r = memory.field();
  wavefront(lags, 0, (p.ny + 1) / 2, rows, fused, [&](int k, int y0, int y1) {
    const int q   = phases[(size_t)k] % 4;
    const Box box = intersect(g.owned(q), {0, p.nx, y0, y1});
    if (phases[(size_t)k] < 4) smooth_colour(Exec(), A, q, box, b, x);
    else residual(Exec(), A, q, box, b, x, r);
  });
  std::vector<double> result;
  for (int y = 0; y < p.ny; ++y)
    for (int i = 0; i < p.nx; ++i) result.push_back(x.at(i, y)), result.push_back(r.at(i, y));
  return result;
}

TEST(Wavefront, SweepsBitForBit)
{
  for (auto &size : {std::pair<int, int>{1, 1}, {1, 9}, {9, 1}, {2, 2}, {13, 8}, {8, 13}, {21, 34}})
    for (bool nine : {false, true})
      for (int rows : {1, 2, 3, 8, 100})
        for (Storage s : {quarters, natural, plane})
          for (int sweeps : {1, 2, 3}) {
            Operator         p{{size.first, size.second, nine}};
            const Grid       g = grid_of(p);
            std::vector<int> down, down_lags, up, up_lags;
            for (int i = 0; i < sweeps; ++i) { // c o b a, and back
              down.insert(down.end(), {3, 0, 2, 1});
              down_lags.insert(down_lags.end(), {2 * i, 2 * i, 2 * i + 1, 2 * i + 1});
              up.insert(up.end(), {1, 2, 0, 3});
              up_lags.insert(up_lags.end(), {2 * i, 2 * i + 1, 2 * i + 1, 2 * i + 2});
            }
            down.insert(down.end(), {4 + 0, 4 + 2, 4 + 3});
            down_lags.insert(down_lags.end(), {2 * sweeps - 1, 2 * sweeps, 2 * sweeps});
            EXPECT_EQ(sweep(p, g, s, down, down_lags, 0, false), sweep(p, g, s, down, down_lags, rows, true)) << p.name() << ", " << rows << " rows, " << sweeps << " sweeps";
            EXPECT_EQ(sweep(p, g, s, up, up_lags, 0, false), sweep(p, g, s, up, up_lags, rows, true)) << p.name() << ", " << rows << " rows, " << sweeps << " sweeps back";
          }
  Operator   p{{21, 34}};
  const Grid g = grid_of(p);
  EXPECT_NE(sweep(p, g, quarters, {3, 0, 2, 1}, {0, 0, 0, 0}, 3, false), sweep(p, g, quarters, {3, 0, 2, 1}, {0, 0, 0, 0}, 3, true)) << "without lags it matters";
}
