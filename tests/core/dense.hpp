// Model problems and dense linear algebra for the unit tests, written from the definitions and without the library's kernels.
#pragma once
#include "rrb/rrb.hpp"
#include "unit.hpp"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

struct Matrix {
  int                 n = 0;
  std::vector<double> a;
  explicit Matrix(int size = 0) : n(size), a((size_t)size * size) { }
  double       &operator()(int i, int j) { return a[(size_t)i * n + j]; }
  const double &operator()(int i, int j) const { return a[(size_t)i * n + j]; }
  double        max() const
  {
    double m = 0;
    for (double v : a) m = std::max(m, std::fabs(v));
    return m;
  }
};

// Largest |a - b| relative to the largest |a|; infinite if a number is none.
inline double difference(const Matrix &a, const Matrix &b)
{
  double d = 0;
  for (size_t i = 0; i < a.a.size(); ++i) {
    const double e = std::fabs(a.a[i] - b.a[i]);
    if (!(e <= d)) d = std::isfinite(e) ? e : INFINITY;
  }
  return a.max() > 0 ? d / a.max() : d;
}

inline double asymmetry(const Matrix &a)
{
  double d = 0;
  for (int i = 0; i < a.n; ++i)
    for (int j = 0; j < i; ++j) d = std::max(d, std::fabs(a(i, j) - a(j, i)));
  return d / a.max();
}

// Inverse of a symmetric positive definite matrix by Cholesky; empty if it is not positive definite.
inline Matrix inverse(const Matrix &a)
{
  const int n = a.n;
  Matrix    l = a, x(n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) {
      double        s = l(i, j);
      const double *li = &l(i, 0), *lj = &l(j, 0);
#pragma omp simd reduction(- : s)
      for (int k = 0; k < j; ++k) s -= li[k] * lj[k];
      if (i == j) {
        if (!(s > 0)) return Matrix();
        l(i, i) = std::sqrt(s);
      } else l(i, j) = s / l(j, j);
    }
  }
  Matrix y(n); // y = (L^-1)', upper triangular by rows
  for (int j = 0; j < n; ++j) {
    double *z = &y(j, 0);
    z[j]      = 1 / l(j, j);
    for (int i = j + 1; i < n; ++i) {
      double        s = 0;
      const double *li = &l(i, 0);
#pragma omp simd reduction(+ : s)
      for (int k = j; k < i; ++k) s += li[k] * z[k];
      z[i] = -s / l(i, i);
    }
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      double s = 0;
      for (int k = i; k < n; ++k) s += y(i, k) * y(j, k);
      x(i, j) = x(j, i) = s;
    }
  return x;
}

// Largest entry of a b - I.
inline double inverse_error(const Matrix &a, const Matrix &b)
{
  double              e = 0;
  std::vector<double> row((size_t)a.n);
  for (int i = 0; i < a.n; ++i) {
    std::fill(row.begin(), row.end(), 0);
    for (int k = 0; k < a.n; ++k)
      if (a(i, k) != 0)
        for (int j = 0; j < a.n; ++j) row[(size_t)j] += a(i, k) * b(k, j);
    row[(size_t)i] -= 1;
    for (double v : row) e = std::fabs(v) <= e ? e : std::isfinite(v) ? std::fabs(v) : INFINITY;
  }
  return e;
}

inline double hash(int64_t a, int64_t b, int64_t c) // [0, 1)
{
  uint64_t h = (uint64_t)a * 0x9e3779b97f4a7c15u + (uint64_t)b * 0xc2b2ae3d27d4eb4fu + (uint64_t)c * 0x165667b19e3779f9u + 12345;
  for (int i = 0; i < 3; ++i) h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9u;
  return (double)((h ^ (h >> 32)) >> 11) * 0x1p-53;
}

// A symmetric M-matrix on a grid: couplings -(1 + spread * random) along edges, times 10^(decades random), half of that along diagonals,
// and a diagonal of their sum, Dirichlet boundaries where they are wanted, and a shift. Dead nodes have a row with a diagonal alone.
struct Problem {
  int    nx, ny;
  bool   nine = false, periodic_x = false, periodic_y = false, dirichlet = false;
  double spread = 1, shift = 1, dead = 0, decades = 0;
  int    seed = 1;

  int  size() const { return nx * ny; }
  int  node(int x, int y) const { return (x + nx) % nx + nx * ((y + ny) % ny); }
  bool inside(int x, int y) const { return (periodic_x || (x >= 0 && x < nx)) && (periodic_y || (y >= 0 && y < ny)); }
  bool is_dead(int x, int y) const { return dead > 0 && hash((x + nx) % nx, (y + ny) % ny, 77 * seed) < dead; }
  // The coupling in direction k = 3 (dy + 1) + dx + 1, zero where there is none.
  double coupling(int x, int y, int k) const
  {
    const int dx = k % 3 - 1, dy = k / 3 - 1;
    if (k == 4 || (dx && dy && !nine) || !inside(x + dx, y + dy) || is_dead(x, y) || is_dead(x + dx, y + dy)) return 0;
    if (k < 4) return coupling((x + dx + nx) % nx, (y + dy + ny) % ny, 8 - k);
    return -(dx && dy ? 0.5 : 1) * (1 + spread * hash(x, y, 10 * seed + k)) * (decades > 0 ? std::pow(10, decades * hash(x, y, 20 * seed + k)) : 1);
  }
  double diagonal(int x, int y) const
  {
    if (is_dead(x, y)) return 1 + hash(x, y, 5);
    double s = shift * (0.5 + hash(x, y, 3 * seed));
    for (int k = 0; k < 9; ++k) {
      if (dirichlet && k != 4 && (nine || k % 2) && !inside(x + k % 3 - 1, y + k / 3 - 1)) s += k % 2 ? 1 : 0.5;
      s -= coupling(x, y, k);
    }
    return s == 0 ? 1 : s;
  }
  double entry(int x, int y, int k) const { return k == 4 ? diagonal(x, y) : coupling(x, y, k); }
  Matrix dense() const
  {
    Matrix a(size());
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x)
        for (int k = 0; k < 9; ++k)
          if (k == 4 || inside(x + k % 3 - 1, y + k / 3 - 1)) a(node(x, y), node(x + k % 3 - 1, y + k / 3 - 1)) += entry(x, y, k);
    return a;
  }
  void multiply(const std::vector<double> &u, std::vector<double> &v) const
  {
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x) {
        double s = 0;
        for (int k = 0; k < 9; ++k)
          if ((k == 4 || inside(x + k % 3 - 1, y + k / 3 - 1)) && (nine || k % 2 || k == 4)) s += entry(x, y, k) * u[(size_t)node(x + k % 3 - 1, y + k / 3 - 1)];
        v[(size_t)node(x, y)] = s;
      }
  }
};

// ---- the processes of a run
inline int ranks()
{
  int n;
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  return n;
}

// Borders of n nodes over p processes: even, boxes of one node at the beginning, the first box empty, boxes of one node at the end.
inline std::vector<int> split(int n, int p, int kind)
{
  std::vector<int> s = {0};
  for (int i = 1; i < p; ++i) s.push_back(kind == 1 ? std::min(i, n) : kind == 2 && i == 1 ? 0 : kind == 3 ? std::max(0, n - (p - i)) : i * n / p);
  s.push_back(n);
  return s;
}

// ---- the library on such a problem
inline tessera::Grid grid_of(const Problem &p, MPI_Comm comm = MPI_COMM_SELF, std::vector<int> xsplit = {}, std::vector<int> ysplit = {})
{
  tessera::Grid g;
  g.comm       = comm;
  g.nx         = p.nx;
  g.ny         = p.ny;
  g.periodic_x = p.periodic_x;
  g.periodic_y = p.periodic_y;
  g.xsplit     = xsplit.empty() ? std::vector<int>{0, p.nx} : xsplit;
  g.ysplit     = ysplit.empty() ? std::vector<int>{0, p.ny} : ysplit;
  MPI_Comm_rank(comm, &g.rank);
  return g;
}

// Adds the operator to a zeroed stencil.
inline void fill(const Problem &p, const tessera::Grid &g, tessera::Halo &halo, tessera::Stencil &s)
{
  const tessera::Box               own = g.owned();
  const int                        n = own.x1 - own.x0;
  std::vector<std::vector<double>> rows(9, std::vector<double>((size_t)std::max(n, 1)));
  const double                    *w[9];
  for (int y = own.y0; y < own.y1 && n > 0; ++y) {
    int present = 0;
    for (int k = 0; k < 9; ++k) {
      for (int i = 0; i < n; ++i) {
        rows[(size_t)k][(size_t)i] = p.entry(own.x0 + i, y, k);
        if (rows[(size_t)k][(size_t)i] != 0) present |= 1 << k;
      }
      w[k] = rows[(size_t)k].data();
    }
    stencil_add_line(s, own, y, w, present);
  }
  if (p.nine) s.make_nine();
  for (int k = 0; k < 4; ++k) halo.fold(s.E(k), tessera::mask_o | tessera::mask_a | tessera::mask_b);
  if (s.nine)
    for (int k = 0; k < 4; ++k) halo.fold(s.G(k), tessera::mask_a);
  s.exchange(halo);
}

// Where kernels are to run.
inline tessera::Exec exec(int threads = 1) { return {unit_cuda() ? tessera::Space::cuda : tessera::Space::host, threads}; }

// Values that kernels read and write, from the host and back.
struct There {
  tessera::Buffer<double> buffer;
  explicit There(size_t n) { buffer.resize({n, exec().space}); }
  There(const double *v, size_t n) : There(n) { move(buffer.data(), v, n, true); }
  explicit There(const std::vector<double> &v) : There(v.data(), v.size()) { }
  double *data() { return buffer.data(); }
  void    get(double *v) { move(v, buffer.data(), buffer.size(), false); }

private:
  void move(double *to, const double *from, size_t n, bool there)
  {
    if (!n) return;
    if (!unit_cuda()) std::copy(from, from + n, to);
    else if (!there) tessera::device::copy_to_host(to, from, n * sizeof(double));
    else {
      tessera::device::copy_from_host(to, from, n * sizeof(double));
      tessera::device::synchronize();
    }
  }
};

inline tessera::Stencil there(const tessera::Stencil &s)
{
  tessera::Stencil d;
  copy(s, d, exec().space);
  return d;
}
inline tessera::Stencil here(const tessera::Stencil &s)
{
  tessera::Stencil h;
  copy(s, h, tessera::Space::host);
  return h;
}

struct Library {
  tessera::rrb::Plan    plan;
  tessera::rrb::Failure failure;
  Library(const Problem &p, const tessera::rrb::Params &params, const tessera::Grid &g)
  {
    plan.exec = exec();
    tessera::rrb::create(plan, g, params);
    refresh(p);
  }
  Library(const Problem &p, const tessera::rrb::Params &params) : Library(p, params, grid_of(p)) { }
  void refresh(const Problem &p)
  {
    tessera::Stencil s = tessera::rrb::finest_stencil(plan);
    if (unit_cuda()) {
      tessera::rrb::Level &finest = plan.levels[0];
      tessera::Stencil     host(s.layout.on_host());
      tessera::Halo        halo = finest.halo.host();
      fill(p, finest.grid, halo, host);
      copy(host, s, exec().space);
    } else fill(p, plan.levels[0].grid, plan.levels[0].halo, s);
    failure = tessera::rrb::factor(plan, s);
    if (!failure.failed) tessera::rrb::choose_cycle(plan);
  }
  // y = M^-1 x, the owned nodes in natural order
  void apply(const double *x, double *y)
  {
    const tessera::Box own = plan.levels[0].grid.owned();
    There              from(x, (size_t)own.size()), to(y, (size_t)own.size());
    tessera::rrb::load(plan, from.data());
    tessera::rrb::apply(plan, tessera::natural_view(to.data(), own.x0, own.y0, own.x1 - own.x0));
    to.get(y);
  }
  Matrix dense()
  {
    const int           n = (int)plan.levels[0].grid.size();
    Matrix              m(n);
    std::vector<double> e((size_t)n), z((size_t)n);
    for (int j = 0; j < n; ++j) {
      e[(size_t)j] = 1;
      std::fill(z.begin(), z.end(), NAN); // everything is to be written
      apply(e.data(), z.data());
      e[(size_t)j] = 0;
      for (int i = 0; i < n; ++i) m(i, j) = z[(size_t)i];
    }
    return m;
  }
};

inline tessera::rrb::Params with(int levels, tessera::rrb::Coarsening c = tessera::rrb::Coarsening::lump, double omega = 1, bool all = false, int grids = -1, bool single = false, tessera::rrb::Cycle cycle = tessera::rrb::Cycle::v)
{
  tessera::rrb::Params q;
  q.levels     = levels;
  q.coarsening = c;
  q.omega      = omega;
  q.lump_all   = all;
  q.grids      = grids;
  q.single     = single;
  q.cycle      = cycle;
  return q;
}
