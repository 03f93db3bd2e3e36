#include "core/csr.hpp"
#include <cmath>
#include <cstdint>

namespace tessera {

namespace {

// The rows of the matrix by direction.
template <class Index> struct Rows {
  Csr<Index> A;
  int        nx, ny;
  bool       around_x, around_y; // the nodes of two lines are neighbours once, though the grid be periodic

  HD Index row(int x, int y) const { return x + (Index)nx * y; }
  // The row of the neighbour in direction k, -1 outside the grid.
  HD Index neighbour(int x, int y, int k) const
  {
    x += direction_dx(k);
    y += direction_dy(k);
    if (around_x) x = x < 0 ? nx - 1 : x == nx ? 0 : x;
    if (around_y) y = y < 0 ? ny - 1 : y == ny ? 0 : y;
    return x < 0 || y < 0 || x >= nx || y >= ny ? -1 : row(x, y);
  }
  // The coefficients of row r, whose columns are at[k]. False if it is not the row of an operator.
  HD bool read(Index r, const Index (&at)[9], double (&v)[9]) const
  {
    double check = 0;
    bool   good  = true;
    for (int k = 0; k < 9; ++k) v[k] = 0;
    for (Index e = A.i[r], end = A.i[r + 1]; e < end; ++e) {
      const Index  c     = A.j[e];
      const double a     = A.a[e];
      bool         found = a == 0;
      for (int k = 0; k < 9; ++k)
        if (at[k] == c) {
          v[k] += a;
          found = true;
        }
      good = good && found;
      check += a * 0;
    }
    return good && check == 0 && v[4] > 0;
  }
  HD double entry(Index r, Index c) const
  {
    for (Index e = A.i[r], end = A.i[r + 1]; e < end; ++e)
      if (A.j[e] == c) return A.a[e];
    return 0;
  }
  HD bool dirichlet(Index r) const
  {
    for (Index e = A.i[r], end = A.i[r + 1]; e < end; ++e)
      if (A.j[e] != r && A.a[e] != 0) return false;
    return true;
  }
};

// The nodes of one quarter index. A coupling is made at the node that stores it, from its row and the neighbour's, which lies in the
// cache: the matrix is read once (12 B an entry and 4 B a row), 24 B a node are written for 5 points and 40 for 9, and a flag.
template <class Index> struct ReadKernel {
  Rows<Index>         A;
  StencilView<double> s;
  unsigned char      *flag;
  bool                raise;
  template <int Q> HD void node(int X, int Y, CsrReport &report) const
  {
    const int x = 2 * X + (Q & 1), y = 2 * Y + (Q >> 1);
    if (x >= A.nx || y >= A.ny) return;
    const ptrdiff_t p = X * s.C.sx + Y * s.C.sy;
    const Index     r = A.row(x, y);
    Index           at[9];
    double          v[9];
    for (int k = 0; k < 9; ++k) at[k] = A.neighbour(x, y, k);
    if (!A.read(r, at, v)) ++report.wrong;
    const bool diagonal = v[0] != 0 || v[2] != 0 || v[6] != 0 || v[8] != 0, dirichlet = !diagonal && v[1] == 0 && v[3] == 0 && v[5] == 0 && v[7] == 0;
    flag[r]             = dirichlet;
    if (dirichlet) ++report.dirichlet;
    else if (v[4] > report.largest) report.largest = v[4];
    if (diagonal) report.nine = 1;
    auto coupling = [&](int k) {
      if (at[k] < 0) return 0.;
      const double w = A.entry(at[k], r);
      if (v[k] != w) { // one of the two may be a Dirichlet row
        if (dirichlet || A.dirichlet(at[k])) return 0.;
        const double d = fabs(v[k] - w);
        if (d > report.asymmetry) report.asymmetry = d;
      }
      return 0.5 * v[k] + 0.5 * w;
    };
    if constexpr (Q == quarter_a || Q == quarter_b) {
      s.E[0].q[Q][p] = coupling(3);
      s.E[1].q[Q][p] = coupling(5);
      s.E[2].q[Q][p] = coupling(1);
      s.E[3].q[Q][p] = coupling(7);
    }
    if constexpr (Q == quarter_o || Q == quarter_a)
      if (s.nine) {
        const View<double> *to = Q == quarter_o ? s.E : s.G;
        to[0].q[Q][p]          = coupling(0);
        to[1].q[Q][p]          = coupling(2);
        to[2].q[Q][p]          = coupling(6);
        to[3].q[Q][p]          = coupling(8);
      }
    double d = v[4];
    if (raise) {
      double sum = 0;
      for (int k = 0; k < 9; ++k) sum += k == 4 || (v[k] != 0 && !A.dirichlet(at[k])) ? v[k] : 0;
      if (sum < 0) {
        if (-sum / d > report.deficit) report.deficit = -sum / d;
        d -= sum;
      }
    }
    s.C.q[Q][p] = d;
  }
  HD void operator()(int X, int Y, CsrReport &report) const
  {
    node<quarter_o>(X, Y, report);
    node<quarter_a>(X, Y, report);
    node<quarter_b>(X, Y, report);
    node<quarter_c>(X, Y, report);
  }
};

constexpr int piece = 32; // nodes of a line that are counted together

struct Count {
  ptrdiff_t rows, nodes, couplings;
};

// Dirichlet rows and couplings of a piece: counted, then listed from the numbers that the scan left. The flags are read, and few
// rows of the matrix.
template <class Index, bool list> struct PieceKernel {
  Rows<Index>          A;
  const unsigned char *flag;
  Count               *count; // of each piece; list: of all pieces before it
  ptrdiff_t            pieces;
  View<double>         C;
  const double        *diagonal; // the array of C
  ptrdiff_t           *nodes, *start, *dirichlet, *rows;
  double              *value, *inverse;

  HD void operator()(int i, int y) const
  {
    Count &of = count[i + y * pieces], n{0, 0, 0};
    if (list) n = of;
    for (int x = i * piece; x < A.nx && x < (i + 1) * piece; ++x) {
      const Index r = A.row(x, y);
      if (flag[r]) {
        if (list) {
          rows[n.rows]    = r;
          inverse[n.rows] = 1 / C.at(x, y);
        }
        ++n.rows;
        continue;
      }
      Index  at[9];
      double v[9];
      bool   beside = false;
      for (int k = 0; k < 9; ++k) {
        at[k]  = A.neighbour(x, y, k);
        beside = beside || (at[k] >= 0 && flag[at[k]]);
      }
      if (!beside) continue;
      const ptrdiff_t before = n.couplings;
      A.read(r, at, v);
      for (int k = 0; k < 9; ++k) {
        if (at[k] < 0 || !flag[at[k]] || v[k] == 0) continue;
        if (list) {
          const double *const d  = &C.at((int)(at[k] % A.nx), (int)(at[k] / A.nx));
          dirichlet[n.couplings] = d - diagonal;
          value[n.couplings]     = v[k] / *d;
        }
        ++n.couplings;
      }
      if (n.couplings == before) continue;
      if (list) {
        nodes[n.nodes] = r;
        start[n.nodes] = before;
      }
      ++n.nodes;
    }
    if (!list) of = n;
  }
};

// Sums of groups of counts, each of which becomes the sum of those before it in its group.
struct GroupKernel {
  Count    *count, *sum;
  ptrdiff_t n;
  HD void   operator()(int i, int j) const
  {
    const ptrdiff_t g = i + (ptrdiff_t)j * 4096;
    Count           s{0, 0, 0};
    if (g * piece >= n) return;
    for (ptrdiff_t k = g * piece; k < n && k < (g + 1) * piece; ++k) {
      const Count c = count[k];
      count[k]      = s;
      s.rows += c.rows;
      s.nodes += c.nodes;
      s.couplings += c.couplings;
    }
    sum[g] = s;
  }
};

struct AddKernel {
  Count       *count;
  const Count *before;
  ptrdiff_t    n;
  HD void      operator()(int i, int j) const
  {
    const ptrdiff_t k = i + (ptrdiff_t)j * 4096;
    if (k >= n) return;
    count[k].rows += before[k / piece].rows;
    count[k].nodes += before[k / piece].nodes;
    count[k].couplings += before[k / piece].couplings;
  }
};

Box wide(ptrdiff_t n) { return {0, 4096, 0, (int)((n + 4095) / 4096)}; }

// Each count becomes the sum of those before it; returns the sum of all.
Count scan(const Exec &exec, Count *count, ptrdiff_t n)
{
  const ptrdiff_t groups = (n + piece - 1) / piece;
  Buffer<Count>   sum;
  Count           total;
  sum.resize(Extent{(size_t)groups, exec.space});
  forall(exec, wide(groups), GroupKernel{count, sum.data(), n});
  if (groups > 1) {
    total = scan(exec, sum.data(), groups);
    forall(exec, wide(n), AddKernel{count, sum.data(), n});
  } else if (exec.space == Space::cuda) device::copy_to_host(&total, sum.data(), sizeof(Count));
  else total = *sum.data();
  return total;
}

template <class Index> Rows<Index> rows_of(const Grid &grid, const Csr<Index> &A) { return {A, grid.nx, grid.ny, grid.periodic_x && grid.nx > 2, grid.periodic_y && grid.ny > 2}; }

} // namespace

template <class Index> CsrReport csr_read(const Exec &exec, const Grid &grid, const Csr<Index> &A, bool raise, Stencil &s, Buffer<unsigned char> &dirichlet)
{
  Buffer<CsrReport> found;
  CsrReport         report;
  found.resize(Extent{1, exec.space});
  if (dirichlet.size() != (size_t)grid.size() || dirichlet.space() != exec.space) dirichlet.resize(Extent{(size_t)grid.size(), exec.space});
  auto read = [&]() {
    forall_join(exec, {0, (grid.nx + 1) / 2, 0, (grid.ny + 1) / 2}, ReadKernel<Index>{rows_of(grid, A), s.view(), dirichlet.data(), raise}, found.data());
    if (exec.space == Space::cuda) device::copy_to_host(&report, found.data(), sizeof report);
    else report = *found.data();
  };
  read();
  if (report.nine && !s.nine) {
    s.make_nine();
    read();
  }
  if (!report.nine && s.nine) {
    s.nine = false;
    for (auto &g : s.g) g = Buffer<double>();
  }
  return report;
}

template <class Index> DirichletCouplings csr_dirichlet(const Exec &exec, const Grid &grid, const Csr<Index> &A, Stencil &s, const Buffer<unsigned char> &dirichlet)
{
  DirichletCouplings d;
  const int          pieces = (grid.nx + piece - 1) / piece;
  const Box          all{0, pieces, 0, grid.ny};
  Buffer<Count>      count;
  count.resize(Extent{(size_t)all.size(), exec.space});
  forall(exec, all, PieceKernel<Index, false>{rows_of(grid, A), dirichlet.data(), count.data(), pieces, s.C(), s.c.data(), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr});
  const Count n = scan(exec, count.data(), all.size());
  d.any         = n.couplings > 0;
  d.rows.resize(Extent{(size_t)n.rows, exec.space});
  d.inverse.resize(Extent{(size_t)n.rows, exec.space});
  d.nodes.resize(Extent{(size_t)n.nodes, exec.space});
  d.start.resize(Extent{(size_t)n.nodes + 1, exec.space});
  d.dirichlet.resize(Extent{(size_t)n.couplings, exec.space});
  d.value.resize(Extent{(size_t)n.couplings, exec.space});
  forall(exec, all, PieceKernel<Index, true>{rows_of(grid, A), dirichlet.data(), count.data(), pieces, s.C(), s.c.data(), d.nodes.data(), d.start.data(), d.dirichlet.data(), d.rows.data(), d.value.data(), d.inverse.data()});
  if (exec.space == Space::cuda) {
    device::copy_from_host(d.start.data() + n.nodes, &n.couplings, sizeof(ptrdiff_t));
    device::synchronize();
  } else d.start.data()[n.nodes] = n.couplings;
  return d;
}

#define INSTANCE(Index) \
  template CsrReport          csr_read(const Exec &, const Grid &, const Csr<Index> &, bool, Stencil &, Buffer<unsigned char> &); \
  template DirichletCouplings csr_dirichlet(const Exec &, const Grid &, const Csr<Index> &, Stencil &, const Buffer<unsigned char> &);
INSTANCE(int32_t)
INSTANCE(int64_t)

} // namespace tessera
