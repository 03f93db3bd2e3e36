// Compressed sparse rows to a stencil against a dense matrix: couplings, Dirichlet rows and what is reported.
#include "buffers.hpp"
#include "box/csr.hpp"
#include "dense.hpp"
#include "unit.hpp"

using namespace tessera;

namespace {

template <class T> void put(const std::vector<T> &from, Buffer<T> &to)
{
  Buffer<T> on_host(from.size());
  std::copy(from.begin(), from.end(), on_host.data());
  to.resize(Extent{from.size(), exec().space});
  copy(on_host, to);
  if (unit_cuda()) device::synchronize();
}

// A nonsymmetric matrix with Dirichlet rows whose neighbours are coupled to them; zeros are stored too.
struct Case {
  Grid   g;
  Matrix A;
  bool   nine = false;
  Case(int nx, int ny, bool nine_points, bool px, bool py, double share, double skew, unsigned seed) : A(nx * ny)
  {
    g.nx         = nx;
    g.ny         = ny;
    g.periodic_x = px;
    g.periodic_y = py;
    g.xsplit     = {0, nx};
    g.ysplit     = {0, ny};
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x) {
        const int i = x + nx * y;
        for (int k = 0; k < 9; ++k) {
          const int j = neighbour(x, y, k);
          if (k == 4 || j < 0 || (!nine_points && k % 2 == 0) || fixed(i, share, seed)) continue;
          const double v = -hash(std::min(i, j), std::max(i, j), 7 * (int)seed) * (1 + skew * hash(i, j, 3));
          A(i, j)        = v;
          nine           = nine || k % 2 == 0;
        }
        A(i, i) = 3 + hash(i, i, (int)seed);
      }
  }
  static bool fixed(int i, double share, unsigned seed) { return hash(i, 11, (int)seed) < share; }
  int  neighbour(int x, int y, int k) const
  {
    int xn = x + direction_dx(k), yn = y + direction_dy(k);
    if (g.periodic_x && g.nx > 2) xn = (xn + g.nx) % g.nx;
    if (g.periodic_y && g.ny > 2) yn = (yn + g.ny) % g.ny;
    return xn < 0 || yn < 0 || xn >= g.nx || yn >= g.ny ? -1 : xn + g.nx * yn;
  }
  bool dirichlet(int i) const
  {
    for (int j = 0; j < A.n; ++j)
      if (j != i && A(i, j) != 0) return false;
    return true;
  }
};

// work: with what the matrices before have left in it, as at a later setup
void compare(const Case &c, bool natural, bool expected, bool raise, CsrWork &work)
{
  work.runs.clear(), work.line_runs.clear(); // another pattern
  std::vector<Index>  i = {0}, j;
  std::vector<double> a;
  const Matrix       &A = c.A;
  for (int r = 0; r < A.n; ++r) {
    for (int s = 0; s < A.n; ++s)
      if (A(r, s) != 0 || (r + s) % 13 == 0) { // stored zeros, inside and outside the neighbours
        j.push_back((Index)s);
        a.push_back(A(r, s));
      }
    i.push_back((Index)j.size());
  }
  Buffer<Index>         bi, bj;
  Buffer<double>        ba;
  put(i, bi);
  put(j, bj);
  put(a, ba);
  const Csr csr{bi.data(), bj.data(), ba.data()};
  Stencil          s(c.g, natural, exec().space), on_host;
  Halo             halo(c.g, exec().space);
  Buffer<double>   lent(s.layout.elements(4));
  const CsrReader reader{exec(), c.g, halo, lent.data(), csr, s, work};
  CsrReport report = reader.read(raise, expected);
  report.asymmetry = std::max(report.asymmetry, reader.join());
  DirichletCouplings d = reader.dirichlet(exec().space);
  copy(s, on_host, Space::host);
  EXPECT_EQ(s.nine, c.nine);
  // what it should be
  double                 asymmetry = 0, largest = 0, deficit = 0;
  ptrdiff_t              fixed = 0, wrong = 0;
  std::vector<ptrdiff_t> nodes, start, places, rows;
  std::vector<double>    value;
  const View<double>     C = on_host.C();
  for (int r = 0; r < A.n; ++r) {
    const int  x = r % c.g.nx, y = r / c.g.nx;
    double     sum = 0;
    const bool mine = c.dirichlet(r);
    fixed += mine;
    if (mine) rows.push_back(r);
    else largest = std::max(largest, A(r, r));
    const size_t before = value.size();
    for (int k = 0; k < 9; ++k) {
      const int n = c.neighbour(x, y, k);
      if (n < 0) continue;
      const bool out = k != 4 && (mine || c.dirichlet(n));
      if (!out) sum += A(r, n);
      if (!out && k != 4) asymmetry = std::max(asymmetry, std::fabs(A(r, n) - A(n, r)));
      if (k != 4 && (c.nine || k % 2)) {
        const int  kx = x + direction_dx(k), ky = y + direction_dy(k), q = (x & 1) + 2 * (y & 1);
        const bool here = k % 2 ? q == quarter_a || q == quarter_b : q == quarter_o || q == quarter_a; // else at a ghost node
        if (here || (kx >= 0 && ky >= 0 && kx < c.g.nx && ky < c.g.ny)) {
          EXPECT_EQ(*on_host.slot(x, y, k), out ? 0 : 0.5 * A(r, n) + 0.5 * A(n, r)) << x << "," << y << " " << k;
        }
      }
      if (out && A(r, n) != 0) {
        // the host has nodes across a seam as ghosts
        const int xd = unit_cuda() ? n % c.g.nx : x + direction_dx(k), yd = unit_cuda() ? n / c.g.nx : y + direction_dy(k);
        places.push_back(&C.at(xd, yd) - on_host.c.data());
        value.push_back(A(r, n) / A(n, n));
      }
    }
    if (value.size() > before) {
      nodes.push_back(r);
      start.push_back((ptrdiff_t)before);
    }
    double diagonal = A(r, r);
    if (raise && sum < 0) {
      deficit = std::max(deficit, -sum / diagonal);
      diagonal -= sum;
    }
    EXPECT_EQ(C.at(x, y), diagonal);
  }
  start.push_back((ptrdiff_t)value.size());
  if (unit_cuda()) EXPECT_EQ(report.asymmetry, asymmetry);
  else EXPECT_NEAR(report.asymmetry, asymmetry, 1e-15); // across a seam that of the mean, which is rounded
  EXPECT_EQ(report.largest, largest);
  EXPECT_EQ(report.deficit, deficit);
  EXPECT_EQ(report.dirichlet, fixed);
  EXPECT_EQ(report.wrong, wrong);
  EXPECT_EQ(get(d.nodes), nodes);
  EXPECT_EQ(get(d.start), start);
  EXPECT_EQ(get(d.dirichlet), places);
  EXPECT_EQ(get(d.value), value);
  EXPECT_EQ(get(d.rows), rows);
  EXPECT_EQ(d.any, !value.empty());
  // the same lists from the host, and the products with them
  std::vector<DirichletEntry> entries;
  std::vector<double>         inverse, expect((size_t)A.n), found((size_t)A.n);
  for (size_t n = 0; n < nodes.size(); ++n)
    for (ptrdiff_t e = start[n]; e < start[n + 1]; ++e) entries.push_back({nodes[n], places[(size_t)e], value[(size_t)e]});
  for (ptrdiff_t r : rows) inverse.push_back(1 / A((int)r, (int)r));
  DirichletCouplings h = dirichlet_couplings(exec().space, entries, rows, inverse);
  EXPECT_EQ(get(h.nodes), nodes);
  EXPECT_EQ(get(h.start), start);
  EXPECT_EQ(get(h.inverse), get(d.inverse));
  Buffer<double>      field;
  const Layout        host_layout = s.layout.on_host();
  std::vector<double> start_field(host_layout.elements(4).n);
  auto                load = [&]() {
    const View<double> v = host_layout.view(start_field.data());
    for (int r = 0; r < A.n; ++r) v.at(r % c.g.nx, r / c.g.nx) = hash(r, 5, 5);
    put(start_field, field);
  };
  auto at = [&](std::vector<double> &f, int r) -> double & { return host_layout.view(f.data()).at(r % c.g.nx, r / c.g.nx); };
  for (bool transpose : {false, true}) {
    load();
    const View<double> b = s.layout.view(field.data());
    if (d.remote && !transpose) halo.exchange(b, mask_all);
    if (transpose) dirichlet_transpose(exec(), c.g.owned(), d, field, b);
    else dirichlet_subtract(exec(), c.g.owned(), d, field.data(), b);
    if (d.remote && transpose) halo.fold(b, mask_all);
    std::vector<double> result = get(field);
    for (int r = 0; r < A.n; ++r) {
      double v = transpose ? 0 : hash(r, 5, 5);
      for (int n = 0; n < A.n; ++n) {
        if (n == r) continue;
        if (!transpose && c.dirichlet(n) && !c.dirichlet(r)) v -= A(r, n) / A(n, n) * hash(n, 5, 5);
        if (transpose && c.dirichlet(r) && !c.dirichlet(n)) v -= A(n, r) / A(r, r) * hash(n, 5, 5);
      }
      EXPECT_NEAR(at(result, r), v, 1e-14);
    }
  }
}

} // namespace

TEST(Csr, AgainstDense)
{
  unsigned seed = 0;
  CsrWork  work;
  for (auto &n : {std::pair<int, int>{1, 1}, {1, 6}, {7, 1}, {2, 2}, {4, 2}, {5, 7}, {8, 6}, {35, 4}})
    for (bool nine : {false, true})
      for (int periodic = 0; periodic < 4; ++periodic)
        for (double share : {0., 0.3, 1.})
          for (double skew : {0., 0.2}) {
            if ((periodic & 1 && n.first % 2) || (periodic & 2 && n.second % 2)) continue;
            const Case c(n.first, n.second, nine, periodic & 1, periodic & 2, share, skew, ++seed);
            compare(c, seed % 3 == 0, seed % 2, seed % 5 == 0, work);
            compare(c, seed % 3 == 1, seed % 2 == 0, seed % 5 == 1, work);
          }
}

TEST(Csr, WrongRows)
{
  const Case   c(6, 5, false, false, false, 0, 0, 3);
  const double bad[] = {-1, 0, NAN, INFINITY};
  for (int what = 0; what < 6; ++what) {
    Case w = c;
    if (what < 4) w.A(8, 8) = bad[what]; // the diagonal
    if (what == 4) w.A(8, 11) = 1;       // outside
    if (what == 5) w.A(11, 12) = 1;      // at the other end of the next line
    std::vector<Index>   i = {0}, j;
    std::vector<double>  a;
    for (int r = 0; r < w.A.n; ++r) {
      for (int s = 0; s < w.A.n; ++s)
        if (w.A(r, s) != 0) {
          j.push_back(s);
          a.push_back(w.A(r, s));
        }
      i.push_back((Index)j.size());
    }
    Buffer<Index>       bi, bj;
    Buffer<double>        ba;
    CsrWork work;
    put(i, bi);
    put(j, bj);
    put(a, ba);
    Stencil s(w.g, false, exec().space);
    Halo               halo(w.g, exec().space);
    Buffer<double>     lent(s.layout.elements(4));
    const Csr csr{bi.data(), bj.data(), ba.data()};
    const CsrReader reader{exec(), w.g, halo, lent.data(), csr, s, work};
    EXPECT_EQ(reader.read(false, false).wrong, 1) << what;
  }
}

TEST(Csr, ListsOfManyPieces) // more than one level of the scan
{
  const int           nx = 70, ny = 613;
  std::vector<Index>  i = {0}, j;
  std::vector<double> a;
  Grid                g;
  g.nx     = nx;
  g.ny     = ny;
  g.xsplit = {0, nx};
  g.ysplit = {0, ny};
  std::vector<ptrdiff_t> nodes, rows;
  auto                   fixed = [&](int x, int y) { return hash(x, y, 1) < 0.1; };
  for (int y = 0; y < ny; ++y)
    for (int x = 0; x < nx; ++x) {
      const int r = x + nx * y;
      bool      beside = false;
      for (int k = 1; k < 9; k += k == 3 || k == 4 ? 1 : 2) { // 1 3 4 5 7
        const int xn = x + direction_dx(k), yn = y + direction_dy(k);
        if (xn < 0 || yn < 0 || xn >= nx || yn >= ny || (fixed(x, y) && k != 4)) continue;
        j.push_back(xn + nx * yn);
        a.push_back(k == 4 ? 4 : -1);
        beside = beside || (k != 4 && fixed(xn, yn));
      }
      i.push_back((Index)j.size());
      if (fixed(x, y)) rows.push_back(r);
      else if (beside) nodes.push_back(r);
    }
  Buffer<Index>           bi, bj;
  Buffer<double>        ba;
  CsrWork work;
  put(i, bi);
  put(j, bj);
  put(a, ba);
  Stencil                  s(g, false, exec().space);
  const Csr           csr{bi.data(), bj.data(), ba.data()};
  Halo                     halo(g, exec().space);
  Buffer<double>           lent(s.layout.elements(4));
  const CsrReader     reader{exec(), g, halo, lent.data(), csr, s, work};
  const CsrReport          report = reader.read(false, false);
  const DirichletCouplings d      = reader.dirichlet(exec().space);
  EXPECT_EQ((size_t)report.dirichlet, rows.size());
  EXPECT_EQ(report.asymmetry, 0);
  EXPECT_EQ(get(d.rows), rows);
  EXPECT_EQ(get(d.nodes), nodes);
}
