// Interpolation, least squares and P'AP against the formulas, written node by node and with dense matrices, on every size, in both
// storages and on process grids of every shape.
// ranks: 1 2 3 4
#include "box/galerkin.hpp"
#include "box/tuning.hpp"
#include "dense.hpp"
#include "unit.hpp"
#include <algorithm>
#include <functional>

using namespace tessera;

// Nine numbers for every node of a grid, known to every process: a matrix, or the weights of an interpolation, where number k of a
// node belongs to its neighbour in direction k = 3 (dy + 1) + dx + 1.
struct Rows {
  int                 nx, ny;
  bool                periodic_x, periodic_y;
  std::vector<double> v;
  explicit Rows(const Grid &g) : nx(g.nx), ny(g.ny), periodic_x(g.periodic_x), periodic_y(g.periodic_y), v((size_t)(9 * g.nx * g.ny)) { }
  bool    inside(int x, int y) const { return (periodic_x || (x >= 0 && x < nx)) && (periodic_y || (y >= 0 && y < ny)); }
  int     node(int x, int y) const { return (x + nx) % nx + nx * ((y + ny) % ny); }
  double &set(int x, int y, int k) { return v[(size_t)(9 * node(x, y) + k)]; }
  // zero outside the grid
  double operator()(int x, int y, int dx = 0, int dy = 0) const { return inside(x, y) ? v[(size_t)(9 * node(x, y) + 3 * (dy + 1) + dx + 1)] : 0; }
  double sum(int x, int y) const
  {
    double s = 0;
    for (int k = 0; k < 9; ++k) s += (*this)(x, y, k % 3 - 1, k / 3 - 1);
    return s;
  }
  double off_diagonal(int x, int y) const
  {
    double s = 0;
    for (int k = 0; k < 9; ++k) s += k == 4 ? 0 : std::fabs((*this)(x, y, k % 3 - 1, k / 3 - 1));
    return s;
  }
  bool alive(int x, int y) const { return (*this)(x, y) > 0 && off_diagonal(x, y) > tuning::dead_coupling * (*this)(x, y); }
  void share(const Grid &g)
  {
    if (g.processes() > 1) MPI_Allreduce(MPI_IN_PLACE, v.data(), (int)v.size(), MPI_DOUBLE, MPI_SUM, g.comm);
  }
  Matrix dense() const
  {
    Matrix a(nx * ny);
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x)
        for (int k = 0; k < 9; ++k)
          if (inside(x + k % 3 - 1, y + k / 3 - 1)) a(node(x, y), node(x + k % 3 - 1, y + k / 3 - 1)) += (*this)(x, y, k % 3 - 1, k / 3 - 1);
    return a;
  }
};

static double difference(const Rows &a, const Rows &b)
{
  Matrix x, y;
  x.a = a.v, y.a = b.v;
  return difference(x, y);
}

// ---- operators

using Entry = std::function<double(int x, int y, int k)>;

// Fills a stencil and its ghost nodes from the table in stencil.hpp.
static void define(const Entry &entry, bool nine, const Grid &g, Stencil &s)
{
  const Rows where(g);
  const Box  b = Grid::ghosted(g.owned());
  if (nine) s.make_nine();
  for (int y = b.y0; y < b.y1; ++y)
    for (int x = b.x0; x < b.x1; ++x) {
      if (!where.inside(x, y)) continue;
      const int straight[4] = {3, 5, 1, 7}, diagonal[4] = {0, 2, 6, 8}, q = (x & 1) + 2 * (y & 1), i = (x + 2 * g.nx) % g.nx, j = (y + 2 * g.ny) % g.ny;
      s.C().at(x, y) = entry(i, j, 4);
      for (int k = 0; k < 4; ++k) {
        if (q == quarter_a || q == quarter_b) s.E(k).at(x, y) = entry(i, j, straight[k]);
        if (q == quarter_o) s.E(k).at(x, y) = nine ? entry(i, j, diagonal[k]) : 0;
        if (q == quarter_a && nine) s.G(k).at(x, y) = entry(i, j, diagonal[k]);
      }
    }
}

// The rows of a stencil; couplings to nodes outside the grid must be zero.
static Rows rows(Stencil &s, const Grid &g)
{
  Rows      A(g);
  const Box own = g.owned();
  for (int y = own.y0; y < own.y1; ++y)
    for (int x = own.x0; x < own.x1; ++x)
      for (int k = 0; k < 9; ++k) {
        const double v = k == 4 ? s.C().at(x, y) : k % 2 || s.nine ? *s.slot(x, y, k) : 0;
        A.set(x, y, k) = v;
        EXPECT_TRUE(v == 0 || A.inside(x + direction_dx(k), y + direction_dy(k))) << "coupling " << k << " of " << x << "," << y << " is " << v;
      }
  A.share(g);
  return A;
}

// The same on the host.
static Interpolation here(const Interpolation &P)
{
  Interpolation h;
  h.layout       = P.layout;
  h.layout.space = Space::host;
  auto field     = [](const Buffer<double> &from, Buffer<double> &to) {
    to.resize(from.size());
    copy(from, to);
  };
  for (int k = 0; k < 2; ++k) field(P.edge[k], h.edge[k]);
  for (int k = 0; k < 4; ++k) field(P.centre[k], h.centre[k]);
  field(P.inject, h.inject);
  return h;
}

// The weights of an interpolation; those of coarse nodes that do not exist must be zero.
static Rows weights(const Interpolation &there, const Grid &g)
{
  Interpolation P = here(there);
  Rows      w(g);
  const Box own = g.owned();
  for (int y = own.y0; y < own.y1; ++y)
    for (int x = own.x0; x < own.x1; ++x) {
      const int q = (x & 1) + 2 * (y & 1), corner[4] = {0, 2, 6, 8};
      if (q == quarter_c) w.set(x, y, 4) = P.Inject().at(x, y);
      if (q == quarter_o)
        for (int k = 0; k < 4; ++k) w.set(x, y, corner[k]) = P.Centre(k).at(x, y);
      if (q == quarter_a || q == quarter_b)
        for (int k = 0; k < 2; ++k) w.set(x, y, q == quarter_a ? 1 + 6 * k : 3 + 2 * k) = P.Edge(k).at(x, y);
      for (int k = 0; k < 9; ++k)
        EXPECT_TRUE(w(x, y, k % 3 - 1, k / 3 - 1) == 0 || w.inside(x + direction_dx(k), y + direction_dy(k))) << "weight " << k << " of " << x << "," << y;
    }
  w.share(g);
  return w;
}

static const std::vector<std::string> kinds = {"plain", "decades", "Neumann", "mask", "Neumann mask", "both signs", "decades mask", "holes", "heavy edges"};

struct Case {
  Problem     p;
  std::string kind;
  double entry(int x, int y, int k) const
  {
    if (kind == "holes" && p.is_dead(x, y)) return 0;
    const double v = p.entry(x, y, k);
    if (kind == "heavy edges" && k == 4 && (x + y) % 2) return 50 * v; // interpolate from nothing, and leave the o nodes alone
    return kind == "both signs" && k != 4 && hash(x, y, 300 + k) < 0.25 ? -0.4 * v : v;
  }
  bool m_matrix() const { return kind != "both signs"; }
};

static Case make(int nx, int ny, bool nine, int axes, const std::string &kind, int seed = 1)
{
  Case c{{nx, ny, nine}, kind};
  c.p.periodic_x = axes & 1 && nx % 2 == 0;
  c.p.periodic_y = axes & 2 && ny % 2 == 0;
  c.p.seed       = seed;
  c.p.shift      = kind == "decades" ? 10 : kind == "mask" || kind == "both signs" ? 0.3 : kind == "plain" ? 1 : 0;
  c.p.dead       = kind.find("mask") != std::string::npos || kind == "holes" || kind == "heavy edges" ? 0.3 : 0;
  c.p.decades    = kind.find("decades") != std::string::npos ? 5 : 0;
  return c;
}

// f(case, grid, natural) for sizes, kinds and periodic directions; process grids and storages take turns.
template <class F> static void for_cases(const std::vector<std::pair<int, int>> &sizes, const F &f)
{
  std::vector<int> across;
  for (int px = 1; px <= ranks(); ++px)
    if (ranks() % px == 0) across.push_back(px);
  int turn = 0;
  for (auto &s : sizes)
    for (bool nine : {false, true})
      for (int axes = 0; axes < 4; ++axes) {
        if ((axes & 1 && s.first % 2) || (axes & 2 && s.second % 2)) continue;
        for (auto &kind : kinds) {
          const Case c = make(s.first, s.second, nine, axes, kind, turn % 7 + 1);
          const int  t = turn++, px = across[(size_t)t % across.size()], borders = ranks() > 1 ? t / 2 % 4 : 0;
          const bool natural = t / 3 % 2;
          const Grid g = grid_of(c.p, MPI_COMM_WORLD, split(c.p.nx, px, borders), split(c.p.ny, ranks() / px, borders));
          SCOPED_TRACE(testing::Message() << c.p.nx << " x " << c.p.ny << (nine ? " 9-point " : " 5-point ") << kind << ", periodic " << axes << ", seed " << c.p.seed << ", on " << px << " x "
                                          << ranks() / px << " processes, borders " << borders << (natural ? ", natural" : ""));
          f(c, g, natural);
        }
        int failed = testing::Test::HasFailure();
        MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (failed) return;
      }
}

static std::vector<std::pair<int, int>> all_sizes()
{
  std::vector<std::pair<int, int>> s;
  for (int nx = 1; nx <= 12; ++nx)
    for (int ny = 1; ny <= 12; ++ny)
      if (ranks() == 1 || (nx + ny) % 3 == 0) s.push_back({nx, ny});
  for (auto &big : {std::pair<int, int>{17, 23}, {24, 15}, {20, 22}, {1, 40}, {33, 2}, {67, 2}}) s.push_back(big); // the last: tiles side by side
  return s;
}

// ---- interpolation, formula by formula

// Along (ux, uy) lie the two coarse nodes of an edge node, across it (vx, vy) its neighbours among the o nodes.
static void edge(const Rows &A, int x, int y, Rows &w)
{
  const int ux = x % 2 == 0, uy = 1 - ux, vx = uy, vy = ux;
  // the couplings of a node towards one side
  auto towards = [&](int X, int Y, int side) {
    double s = 0;
    for (int t = -1; t <= 1; ++t) s += A(X, Y, side * ux + t * vx, side * uy + t * vy);
    return s;
  };
  // its row sum without what is missing on one side across
  auto along = [&](int X, int Y) {
    double side[2] = {0, 0};
    for (int i = 0; i < 2; ++i)
      for (int t = -1; t <= 1; ++t) side[i] += A(X, Y, (2 * i - 1) * vx + t * ux, (2 * i - 1) * vy + t * uy);
    const double s = A.sum(X, Y), missing = side[0] == 0 ? -side[1] : side[1] == 0 ? -side[0] : 0;
    return s > 0 ? s - std::min(s, std::max(missing, 0.)) : s;
  };
  double *result[2] = {&w.set(x, y, 4 - ux - 3 * uy), &w.set(x, y, 4 + ux + 3 * uy)}, c = A(x, y), S = 0, pull[2];
  bool    exists[2], alive[2];
  if (!(c > 0)) return;
  for (int i = 0; i < 2; ++i) {
    const int side = 2 * i - 1, X = x + side * ux, Y = y + side * uy; // its coarse node
    exists[i]  = A.inside(X, Y);
    alive[i]   = exists[i] && A.alive(X, Y);
    double sum = towards(x, y, side);
    for (int t = -1; t <= 1; t += 2) { // the o nodes are eliminated
      const int ox = x + t * vx, oy = y + t * vy, hx = ox + side * ux, hy = oy + side * uy;
      if (!(A(ox, oy) > 0)) continue;
      const bool untied = std::fabs(A(hx, hy, -t * vx, -t * vy)) < tuning::tied * A(hx, hy) && std::fabs(A(ox, oy, side * ux - t * vx, side * uy - t * vy)) < tuning::tied * A(ox, oy);
      if (!(alive[i] && untied)) sum -= A(x, y, t * vx, t * vy) / A(ox, oy) * towards(ox, oy, side);
    }
    S += pull[i] = std::max(-sum, 0.);
  }
  const double rs = A.sum(x, y);
  double       v[2] = {0, 0}, rest = along(x, y);
  for (int t = -1; t <= 1; t += 2)
    if (A(x + t * vx, y + t * vy) > 0) rest -= A(x, y, t * vx, t * vy) / A(x + t * vx, y + t * vy) * along(x + t * vx, y + t * vy);
  if (S > 1e-8 * c && S > 0.05 * rs)
    for (int i = 0; i < 2; ++i) v[i] = pull[i] / (S + std::max(rest, 0.));
  else if (rs < tuning::tied_sideways * c) {
    int free = exists[0] && !alive[0] ? 0 : exists[1] && !alive[1] ? 1 : -1;
    for (int i = 0; i < 2; ++i) v[i] = free >= 0 ? i == free : exists[1 - i] ? 0.5 : 1;
  }
  for (int i = 0; i < 2; ++i) *result[i] = exists[i] && std::fabs(v[i]) >= tuning::small_weight ? v[i] : 0;
}

static void centre(const Rows &A, int x, int y, Rows &w)
{
  const double c = A(x, y);
  double       v[4] = {0, 0, 0, 0}, sum = 0;
  int          best = -1;
  if (!(c > 0)) return;
  for (int k = 0; k < 4; ++k) { // A P is zero at this node
    const int dx = 2 * (k % 2) - 1, dy = 2 * (k / 2) - 1;
    if (!A.inside(x + dx, y + dy)) continue;
    v[k] = -(A(x, y, dx, dy) + A(x, y, dx, 0) * w(x + dx, y, 0, dy) + A(x, y, 0, dy) * w(x, y + dy, dx, 0)) / c;
    sum += v[k];
    if (best < 0) best = k;
  }
  if (A.sum(x, y) < tuning::tied_sideways * c && sum <= 0.05 && A.alive(x, y)) {
    for (int k = 3; k >= 0; --k)
      if (A.inside(x + 2 * (k % 2) - 1, y + 2 * (k / 2) - 1) && !A.alive(x + 2 * (k % 2) - 1, y + 2 * (k / 2) - 1)) best = k;
    for (int k = 0; k < 4; ++k) v[k] = k == best;
  }
  for (int k = 0; k < 4; ++k) w.set(x, y, k < 2 ? 2 * k : 2 + 2 * k) = std::fabs(v[k]) >= tuning::small_weight ? v[k] : 0;
}

static void for_quarters(const Rows &A, int mask, const std::function<void(int x, int y)> &f)
{
  for (int y = 0; y < A.ny; ++y)
    for (int x = 0; x < A.nx; ++x)
      if (mask >> ((x & 1) + 2 * (y & 1)) & 1) f(x, y);
}

static Rows edges(const Rows &A)
{
  Rows w(A);
  std::fill(w.v.begin(), w.v.end(), 0);
  for_quarters(A, mask_c, [&](int x, int y) { w.set(x, y, 4) = A.alive(x, y); });
  for_quarters(A, mask_a | mask_b, [&](int x, int y) { edge(A, x, y, w); });
  return w;
}

static Rows centres(const Rows &A, Rows w)
{
  for_quarters(A, mask_o, [&](int x, int y) { centre(A, x, y, w); });
  return w;
}

// A case's operator and its interpolation.
struct Interpolated {
  Halo          halo;
  Stencil       s, run; // run: where kernels are
  Interpolation P;
  Interpolated(const Case &c, const Grid &g, bool natural) : halo(g, exec().space), s(g, natural)
  {
    define([&](int x, int y, int k) { return c.entry(x, y, k); }, c.p.nine, g, s);
    run = there(s);
    P.create(run.layout);
    interpolate_edges(exec(), run.view(), g, halo, P);
    interpolate_centres(exec(), run.view(), g, halo, P);
  }
};

TEST(Interpolation, AgainstTheFormulas)
{
  for_cases(all_sizes(), [](const Case &c, const Grid &g, bool natural) {
    Interpolated i(c, g, natural);
    const Rows   A = rows(i.s, g), w = weights(i.P, g);
    EXPECT_LT(difference(centres(A, edges(A)), w), 1e-13);
  });
}

TEST(Interpolation, OfMMatrices) // weights between 0 and 1; where row sums are zero constants are kept
{
  for_cases(all_sizes(), [](const Case &c, const Grid &g, bool natural) {
    if (!c.m_matrix()) return;
    Interpolated i(c, g, natural);
    const Rows   A = rows(i.s, g), w = weights(i.P, g);
    for (double v : w.v) EXPECT_TRUE(v == 0 || (v >= tuning::small_weight && v <= 1 + 1e-14)) << v;
    if (c.p.shift != 0 || c.kind == "heavy edges" || c.p.nx < 2 || c.p.ny < 2) return;
    const double lost = c.p.decades > 0 ? 6 * tuning::small_weight : 1e-13; // small weights are dropped
    for_quarters(A, mask_all, [&](int x, int y) {
      EXPECT_LE(w.sum(x, y), 1 + 1e-13);
      if (A.alive(x, y)) EXPECT_GE(w.sum(x, y), 1 - lost) << x << "," << y;
      else EXPECT_EQ(w.sum(x, y), 0) << x << "," << y;
    });
  });
}

// The correction is a number in single precision, so that it is compared by itself, and then what it does to the weights.
TEST(Interpolation, LeastSquares)
{
  const std::vector<std::pair<int, int>> sizes = {{1, 1}, {2, 2}, {1, 7}, {3, 3}, {4, 5}, {7, 4}, {8, 8}, {12, 9}, {10, 6}, {13, 13}};
  for_cases(sizes, [](const Case &c, const Grid &g, bool natural) {
    Halo               halo(g, exec().space);
    Stencil            s(g, natural);
    Interpolation      P;
    LeastSquares       fit;
    const int          vectors = 3;
    auto               value   = [&](int t, int x, int y) { return hash((x + g.nx) % g.nx, (y + g.ny) % g.ny, 500 + t) - 0.5; };
    Buffer<double>     data(s.layout.elements(4));
    Buffer<float>      single(s.layout.elements(4)), part;
    Buffer<double>     vector;
    const View<double> v          = s.layout.view(data.data());
    const View<float>  correction = s.layout.view(single.data());
    const Box          own        = g.owned();
    define([&](int x, int y, int k) { return c.entry(x, y, k); }, c.p.nine, g, s);
    Stencil run = there(s);
    P.create(run.layout);
    fit.create(run.layout);
    part.resize({single.size(), exec().space});
    vector.resize({data.size(), exec().space});
    interpolate_edges(exec(), run.view(), g, halo, P);
    for (int t = 0; t < vectors; ++t) {
      for (int y = own.y0; y < own.y1; ++y)
        for (int x = own.x0; x < own.x1; ++x) v.at(x, y) = value(t, x, y);
      copy(data, vector);
      halo.exchange(s.layout.view(vector.data()), mask_all);
      fit.weigh(exec(), g, s.layout.view(vector.data()));
    }
    const View<float> to = s.layout.view(part.data());
    fit.solve(exec(), run.view(), g, P, to);
    correct_edges(exec(), run.view(), g, P, to);
    interpolate_centres(exec(), run.view(), g, halo, P);
    copy(part, single);
    const Rows A = rows(s, g);
    Rows       w = edges(A), found(g);
    for (int y = own.y0; y < own.y1; ++y)
      for (int x = own.x0; x < own.x1; ++x)
        if ((x + y) % 2) found.set(x, y, 4) = correction.at(x, y);
    found.share(g);
    for_quarters(A, mask_a | mask_b, [&](int x, int y) {
      const int    ux = x % 2 == 0, uy = 1 - ux;
      const double old = w(x, y, -ux, -uy);
      double       n = 0, d = 0, fitted = old;
      if (A.alive(x - ux, y - uy) && A.alive(x + ux, y + uy) && A(x, y) > 0 && A.sum(x, y) < tuning::tied_sideways * A(x, y)) {
        for (int t = 0; t < vectors; ++t) {
          const double p = value(t, x, y), low = value(t, x - ux, y - uy), high = value(t, x + ux, y + uy);
          n += (p - high) * (low - high);
          d += (low - high) * (low - high);
        }
        if (d > 0) fitted = std::min(1., std::max(0., (n + tuning::least_squares * d * old) / ((1 + tuning::least_squares) * d)));
      }
      EXPECT_NEAR(found(x, y), fitted - old, 1e-7 * std::fabs(fitted - old) + 1e-13) << x << "," << y;
      if (found(x, y) == 0) return;
      const double low             = std::min(1., std::max(0., old + found(x, y)));
      w.set(x, y, 4 - ux - 3 * uy) = low < tuning::small_weight ? 0 : low;
      w.set(x, y, 4 + ux + 3 * uy) = 1 - low < tuning::small_weight ? 0 : 1 - low;
    });
    EXPECT_LT(difference(centres(A, w), weights(P, g)), 1e-13);
  });
}

// ---- P'AP

// The coarse matrix from dense A and P; over a seam that is cut couplings go to the diagonal, with their absolute values unless it is
// an M-matrix. *violation: by how much it is none.
static Matrix triple_product(const Rows &A, const Rows &w, bool cut_x, bool cut_y, bool lump, double *violation)
{
  const int n = A.nx * A.ny, mx = A.nx / 2, my = A.ny / 2;
  Matrix    a = A.dense(), P(n), AP(n), coarse(mx * my);
  for (int y = 0; y < A.ny; ++y)
    for (int x = 0; x < A.nx; ++x)
      for (int k = 0; k < 9; ++k) {
        const int X = x + k % 3 - 1, Y = y + k / 3 - 1;
        if (w(x, y, k % 3 - 1, k / 3 - 1) != 0) P(A.node(x, y), (X + A.nx) % A.nx / 2 + mx * ((Y + A.ny) % A.ny / 2)) += w(x, y, k % 3 - 1, k / 3 - 1);
      }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      if (a(i, j) != 0)
        for (int J = 0; J < mx * my; ++J) AP(i, J) += a(i, j) * P(j, J);
  for (int i = 0; i < n; ++i)
    for (int I = 0; I < mx * my; ++I)
      if (P(i, I) != 0)
        for (int J = 0; J < mx * my; ++J) coarse(I, J) += P(i, I) * AP(i, J);
  *violation = 0;
  for (int I = 0; I < mx * my; ++I) {
    double sum = 0, most = 0;
    for (int J = 0; J < mx * my; ++J) {
      sum += coarse(I, J);
      if (J != I) most = std::max(most, coarse(I, J));
    }
    const bool rounding = coarse(I, I) <= 1e-10 * a.max(); // such a row may say anything
    *violation          = std::max(*violation, rounding ? 1e-12 : std::max(most, -sum) / coarse(I, I));
  }
  for (int I = 0; I < mx * my; ++I)
    for (int J = 0; J < mx * my; ++J)
      if ((cut_x && std::abs(I % mx - J % mx) > 1) || (cut_y && std::abs(I / mx - J / mx) > 1)) {
        coarse(I, I) += lump ? coarse(I, J) : std::fabs(coarse(I, J));
        coarse(I, J) = 0;
      }
  return coarse;
}

// The same operator and weights where those of o are made with it. most: of A, whose entries may cancel.
static void check_centres_on_the_way(Stencil &run, const Grid &g, Interpolation &P, const Grid &next, Stencil &expected, double most)
{
  Halo          halo(g, exec().space), next_halo(next, exec().space);
  Interpolation Q;
  Stencil       coarse(next, expected.layout.natural, exec().space);
  Buffer<float> single[4];
  MadeCentres   made{&g, {}};
  Q.create(run.layout, false);
  interpolate_edges(exec(), run.view(), g, halo, Q);
  for (int k = 0; k < 4; ++k) {
    single[k].resize(run.layout.elements(1));
    made.weights[k] = run.layout.view(single[k].data());
  }
  galerkin(exec(), run.view(), Q, next, next_halo, false, false, 1e-13, coarse, nullptr, {}, made);
  const Interpolation separate = here(P);
  for (int k = 0; k < 4; ++k) {
    Buffer<float>         found(single[k].size());
    const Buffer<double> &centre = separate.centre[k];
    copy(single[k], found);
    ASSERT_EQ(found.size(), centre.size());
    for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found.data()[i], centre.data()[i], 1e-6 * std::fabs(centre.data()[i])) << k << " " << i;
  }
  Stencil      one = here(expected), other = here(coarse);
  const Matrix a = rows(one, next).dense(), b = rows(other, next).dense();
  for (int i = 0; i < a.n; ++i)
    for (int j = 0; j < a.n; ++j) ASSERT_NEAR(a(i, j), b(i, j), 1e-12 * most) << i << " " << j;
}

// Coarsens as far as it goes, down to one node in a direction or two in a periodic one, and compares every grid.
static void check_galerkin(Stencil s, Grid g, bool natural)
{
  for (int level = 0; g.nx > (g.periodic_x ? 2 : 1) && g.ny > (g.periodic_y ? 2 : 1); ++level) {
    Grid       next = g.coarse();
    const bool cut_x = g.periodic_x && next.nx % 2, cut_y = g.periodic_y && next.ny % 2;
    next.periodic_x  = g.periodic_x && !cut_x;
    next.periodic_y  = g.periodic_y && !cut_y;
    Halo          halo(g, exec().space);
    Stencil       run = there(s);
    Interpolation P;
    P.create(run.layout);
    interpolate_edges(exec(), run.view(), g, halo, P);
    interpolate_centres(exec(), run.view(), g, halo, P);
    Stencil coarse(next, natural ^ (level % 2 == 0), exec().space); // the two need not be stored alike
    Halo    next_halo(next, exec().space);
    for (int times = 0; times < 2; ++times) galerkin(exec(), run.view(), P, next, next_halo, cut_x, cut_y, 1e-13, coarse); // nothing is added to what was there
    coarse.exchange(next_halo);
    Stencil      result = here(coarse);
    const Rows   fine   = rows(s, g);
    const Matrix found = rows(result, next).dense();
    double       worst[2] = {0, 0}, violation = 0;
    const bool   twice = (cut_x && next.periodic_y && next.ny == 2) || (cut_y && next.periodic_x && next.nx == 2); // couplings that a dense matrix adds up
    if (!cut_x && !cut_y) worst[0] = INFINITY;
    for (bool lump : {true, false}) {
      if (!lump && worst[0] > 0) break;
      const Matrix expected = triple_product(fine, weights(P, g), cut_x, cut_y, lump, &violation);
      for (int i = 0; i < found.n; ++i)
        for (int j = 0; j < found.n; ++j) {
          if (twice && violation > 0 && i == j) continue;
          const double d = std::max(std::fabs(expected(i, j) - found(i, j)), std::fabs(found(i, j) - found(j, i)));
          worst[lump]    = d <= worst[lump] ? worst[lump] : std::isfinite(d) ? d : INFINITY;
        }
    }
    if (exec().space == Space::cuda && g.processes() == 1 && halo.empty()) check_centres_on_the_way(run, g, P, next, coarse, fine.dense().max());
    // rounding may decide between the two; a diagonal that is rounding becomes zero
    EXPECT_LE(violation > 1e-9 && (cut_x || cut_y) ? worst[0] : std::min(worst[0], worst[1]), 1e-12 * fine.dense().max()) << "level " << level << ", off an M-matrix by " << violation;
    s = std::move(result);
    g = next;
  }
}

TEST(Galerkin, AgainstDense)
{
  for_cases(all_sizes(), [](const Case &c, const Grid &g, bool natural) {
    Stencil s(g, natural);
    define([&](int x, int y, int k) { return c.entry(x, y, k); }, c.p.nine, g, s);
    check_galerkin(std::move(s), g, natural);
  });
}

TEST(Galerkin, KeepsRowSums) // a closed grid stays singular, whether its seam is cut or not
{
  for (int nx : {4, 6, 8, 10})
    for (int ny : {4, 6, 12})
      for (bool nine : {false, true}) {
        const Case c = make(nx, ny, nine, 3, "Neumann");
        Grid       g = grid_of(c.p, MPI_COMM_WORLD, split(nx, 1, 0), split(ny, ranks(), 0)), next = g.coarse();
        Interpolated i(c, g, false);
        next.periodic_x = next.nx % 2 == 0;
        next.periodic_y = next.ny % 2 == 0;
        Stencil coarse(next, false, exec().space);
        Halo    next_halo(next, exec().space);
        galerkin(exec(), i.run.view(), i.P, next, next_halo, !next.periodic_x, !next.periodic_y, 1e-13, coarse);
        coarse.exchange(next_halo);
        Stencil    result = here(coarse);
        const Rows C      = rows(result, next);
        for_quarters(C, mask_all, [&](int x, int y) { EXPECT_NEAR(C.sum(x, y), 0, 1e-13 * C(x, y)) << nx << " x " << ny << ", " << x << "," << y; });
      }
}

// ---- directions

static Directions directions(const Entry &entry, bool nine, const Grid &g, bool natural)
{
  Stencil s(g, natural);
  define(entry, nine, g, s);
  Stencil run = there(s);
  return strong_directions(exec(), run.view(), g);
}

TEST(Directions, KnownOperators)
{
  Problem p{16, 12};
  p.periodic_x = p.periodic_y = true;
  for (int px = 1; px <= ranks(); ++px) {
    if (ranks() % px) continue;
    const Grid g = grid_of(p, MPI_COMM_WORLD, split(p.nx, px, 0), split(p.ny, ranks() / px, 0));
    for (bool natural : {false, true})
      for (double e : {1., 0.3, 0.2, 0.001}) {
        for (bool along_x : {false, true}) { // couplings e in one direction, 1 in the other
          const Directions d = directions([&](int, int, int k) { return k == 4 ? 2 + 2 * e : k % 2 == 0 ? 0 : (k / 3 == 1) == along_x ? -1 : -e; }, false, g, natural);
          EXPECT_EQ(d.weak_x, !along_x && e < 0.25);
          EXPECT_EQ(d.weak_y, along_x && e < 0.25);
          EXPECT_EQ(d.diagonal, 0);
          EXPECT_EQ(d.jumps, 0);
        }
        // the same turned by 45 degrees: strong couplings along one diagonal
        const double     b = (1 - e) / 4, a = (1 + e) / 2;
        const Directions d = directions([&](int, int, int k) { return k == 4 ? 4 * a : k % 2 ? -a : k == 0 || k == 8 ? -b : b; }, true, g, natural);
        EXPECT_EQ(d.weak_x + d.weak_y, 0);
        EXPECT_EQ(d.diagonal, 4 * b > 0.5 * 2 * a);
      }
    // rows of cells with a coefficient of 1 and of 20 by turns: a jump at every node; no couplings, no direction
    const Directions layers = directions([](int, int y, int k) { return k == 4 ? 44. : k == 1 ? y % 2 ? -20. : -1. : k == 7 ? y % 2 ? -1. : -20. : k % 2 ? -10. : 0; }, false, g, false);
    EXPECT_EQ(layers.jumps, 1);
    const Directions none = directions([](int x, int y, int k) { return k == 4 ? 3. : x == 1 && y == 0 && k == 5 ? -1. : 0.; }, false, g, false);
    EXPECT_EQ(none.weak_y, 1); // of the two nodes that are coupled
  }
}

TEST(Directions, AgainstTheFormulas)
{
  for_cases({{1, 1}, {1, 9}, {8, 1}, {2, 2}, {5, 7}, {12, 10}, {17, 16}}, [](const Case &c, const Grid &g, bool natural) {
    Stencil s(g, natural);
    define([&](int x, int y, int k) { return c.entry(x, y, k); }, c.p.nine, g, s);
    Stencil run = there(s);
    const Rows A = rows(s, g);
    double     n = 0, weak_x = 0, weak_y = 0, diagonal = 0, jumps = 0;
    auto       jump = [&](int x, int y, int dx, int dy) { return A(x, y, dx, dy) < 0 && A(x, y, -dx, -dy) < 0 && tuning::jump * A(x, y, dx, dy) > A(x, y, -dx, -dy); };
    for_quarters(A, mask_all, [&](int x, int y) {
      const double corners = A(x, y, -1, -1) + A(x, y, 1, -1) + A(x, y, -1, 1) + A(x, y, 1, 1);
      const double sx = std::max(0., -(A(x, y, -1, 0) + A(x, y, 1, 0) + corners)), sy = std::max(0., -(A(x, y, 0, -1) + A(x, y, 0, 1) + corners));
      if (!(A(x, y) > 0) || std::max(sx, sy) < 1e-8 * A(x, y)) return;
      ++n;
      weak_x += sx < tuning::weak_direction * sy;
      weak_y += sy < tuning::weak_direction * sx;
      diagonal += std::fabs(A(x, y, -1, -1) + A(x, y, 1, 1) - A(x, y, 1, -1) - A(x, y, -1, 1)) > 0.5 * std::min(sx, sy);
      jumps += jump(x, y, 1, 0) || jump(x, y, -1, 0) || jump(x, y, 0, 1) || jump(x, y, 0, -1);
    });
    const Directions d = strong_directions(exec(), run.view(), g);
    EXPECT_NEAR(d.weak_x * std::max(n, 1.), weak_x, 1e-9);
    EXPECT_NEAR(d.weak_y * std::max(n, 1.), weak_y, 1e-9);
    EXPECT_NEAR(d.diagonal * std::max(n, 1.), diagonal, 1e-9);
    EXPECT_NEAR(d.jumps * std::max(n, 1.), jumps, 1e-9);
  });
}
