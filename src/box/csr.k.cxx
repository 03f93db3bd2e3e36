// A matrix in CSR as a stencil: the device's reading by tiles, and the halves of couplings between processes. The
// host's reading is in csr_lines.cxx.
#include "box/csr_lines.hpp"
#include "exec/each.hpp"
#include "exec/sort.hpp"
#include "exec/tile.hpp"
#include <cmath>
#include <type_traits>

namespace tessera {

namespace {

using csr::CsrRows;
using csr::rows_of;

// The nodes of a tile. Their rows and those around them are put in order in a block's scratch, by direction; then a
// coupling is made at the node that stores it, from its row and the neighbour's. The matrix is read once (12 B an
// entry and 4 B per row; rows beside a tile come from the cache), 24 B per node are written for 5 points and 40 for 9,
// and a flag.
template <bool NINE> struct ReadKernel {
  // a warp has nodes of one line
  static constexpr int columns = 62, lines = NINE ? 6 : 14, width = columns + 2, nodes = width * (lines + 2);
  static constexpr int entries = NINE ? 5 : 1; // read at a time
  CsrRows              A;
  StencilView<double>  s;
  unsigned char       *flag;
  bool                 raise;
  static size_t bytes() { return nodes * ((NINE ? 9 : 5) * sizeof(double) + 1); }
  HD static int plane(int k) { return NINE ? k : k == 4 ? 4 : k / 2; }
  HD bool inside(int &x, int &y) const
  {
    if (A.around_x) x = x < 0 ? A.nx - 1 : x == A.nx ? 0 : x;
    if (A.around_y) y = y < 0 ? A.ny - 1 : y == A.ny ? 0 : y;
    return x >= 0 && y >= 0 && x < A.nx && y < A.ny;
  }
  struct Span { // of the entries of a row; outside of the box it ends before it starts
    Index start, end;
  };
  HD Span span(int x, int y) const
  {
    if (!inside(x, y)) return {0, -1};
    const Index r = A.row(x, y);
    return {A.A.i[r], A.A.i[r + 1]};
  }
  // Five entries, as most rows of 5 points have.
  struct Entries {
    Span   row;
    Index  j[5];
    double a[5];
  };
  HD Entries fetch(const Span &row) const
  {
    Entries e{row, {}, {}};
    if (!NINE && row.end - row.start == 5)
      for (int i = 0; i < 5; ++i) e.j[i] = A.A.j[row.start + i], e.a[i] = A.A.a[row.start + i];
    return e;
  }
  // Are they the node and its neighbours, in order? Then there is nothing to search or add up.
  HD bool usual(Index r, const Entries &e, int x, int y) const
  {
    const Index offset[5] = {-(Index)A.nx, -1, 0, 1, (Index)A.nx};
    bool        all = !NINE && e.row.end - e.row.start == 5 && x > 0 && x + 1 < A.nx && y > 0 && y + 1 < A.ny;
    for (int i = 0; i < 5; ++i) all = (e.j[i] == r + offset[i]) & all;
    return all;
  }
  static constexpr unsigned char outside = 2; // the box
  // Puts the row of node (x, y) at *row. Says whether it is a Dirichlet row, or outside.
  HD unsigned char order(int x, int y, const Entries &e, double *row, bool own, CsrReport &report) const
  {
    auto clear = [&] {
      for (int k = 0; k < (NINE ? 9 : 5); ++k) row[k * nodes] = 0;
    };
    if (!inside(x, y)) {
      clear();
      return outside;
    }
    const Index r = A.row(x, y), start = e.row.start, end = e.row.end;
    double      check = 0, centre = 0;
    bool        good = true, dirichlet = true, diagonal = false;
    if (usual(r, e, x, y)) { // not at the rim
      for (int i = 0; i < 5; ++i) {
        row[(i == 2 ? 4 : i - (i > 2)) * nodes] = e.a[i];
        check += e.a[i] * 0;
      }
      centre    = e.a[2];
      dirichlet = e.a[0] == 0 && e.a[1] == 0 && e.a[3] == 0 && e.a[4] == 0;
    } else {
      clear();
      auto add = [&](int k, double v) {
        check += v * 0;
        good      = good && k >= 0;
        dirichlet = dirichlet && k == 4;
        diagonal  = diagonal || (k >= 0 && k != 4 && k % 2 == 0);
        if (k == 4) centre += v;
        if (k >= 0 && (NINE || k % 2 || k == 4)) row[plane(k) * nodes] += v;
      };
      for (Index n = start; n < end; n += entries) {
        Index  c[entries];
        double a[entries];
        for (int i = 0; i < entries; ++i) {
          c[i] = n + i < end ? A.A.j[n + i] : 0;
          a[i] = n + i < end ? A.A.a[n + i] : 0;
        }
        for (int i = 0; i < entries; ++i)
          if (a[i] != 0) add(A.direction(x, y, c[i]), a[i]);
      }
      if (A.A.oi && A.rim(x, y))
        for (Index n = A.A.oi[r]; n < A.A.oi[r + 1]; ++n)
          if (A.A.oa[n] != 0) add(A.remote(x, y, A.A.oj[n]), A.A.oa[n]);
    }
    if (own) {
      if (A.A.oi && !A.rim(x, y) && A.A.oi[r] != A.A.oi[r + 1]) good = false; // another process's node is no neighbour
      flag[r] = dirichlet;
      if (!good || check != 0 || !(centre > 0)) report.wrong = 1;
      if (dirichlet) ++report.dirichlet;
      else if (centre > report.largest) report.largest = centre;
      if (diagonal) report.nine = 1;
    }
    return dirichlet;
  }
  template <int Q>
  HD void node(int X, int Y, const double *row, const unsigned char *dirichlet, CsrReport &report) const
  {
    const ptrdiff_t p = X * s.C.sx + Y * s.C.sy;
    auto            at = [](int k) { return direction_dx(k) + direction_dy(k) * width; };
    auto            value = [&](int k) { return row[plane(k) * nodes]; };
    auto            coupling = [&](int k) {
      const double v = value(k), w = row[plane(8 - k) * nodes + at(k)];
      if (v != w) { // one of the two may be a Dirichlet row, or another process's, which adds its half
        if (dirichlet[at(k)] == outside) return 0.5 * v;
        if (*dirichlet || dirichlet[at(k)]) return 0.;
        const double d = fabs(v - w);
        if (d > report.asymmetry) report.asymmetry = d;
      }
      return 0.5 * v + 0.5 * w;
    };
    if constexpr (Q == quarter_a || Q == quarter_b) {
      s.E[0].q[Q][p] = coupling(3);
      s.E[1].q[Q][p] = coupling(5);
      s.E[2].q[Q][p] = coupling(1);
      s.E[3].q[Q][p] = coupling(7);
    }
    if constexpr (NINE && (Q == quarter_o || Q == quarter_a)) {
      const View<double> *to = Q == quarter_o ? s.E : s.G;
      to[0].q[Q][p]          = coupling(0);
      to[1].q[Q][p]          = coupling(2);
      to[2].q[Q][p]          = coupling(6);
      to[3].q[Q][p]          = coupling(8);
    }
    double d = value(4);
    if (raise) {
      double sum = 0;
      for (int k = 0; k < 9; ++k)
        if (k == 4 || ((NINE || k % 2) && dirichlet[at(k)] != 1)) sum += value(k);
      if (sum < 0) {
        if (-sum / d > report.deficit) report.deficit = -sum / d;
        d -= sum;
      }
    }
    s.C.q[Q][p] = d;
  }
  template <class Block> HD void operator()(Block &block, CsrReport &report) const
  {
    const Box            tile = block.tile;
    double *const        rows = block.shared;
    unsigned char *const dirichlet = (unsigned char *)(rows + (NINE ? 9 : 5) * nodes);
    auto                 place = [&](int x, int y) { return x - tile.x0 + 1 + (y - tile.y0 + 1) * width; };
    auto                 use = [&](int x, int y, const Entries &e) {
      const int i  = place(x, y);
      dirichlet[i] = order(x - A.x0, y - A.y0, e, rows + i, tile.contains(x, y), report);
    };
    if constexpr (std::is_same_v<Block, HostBlock>)
      block.each(tile.x0 - 1, tile.x1 + 1, tile.y0 - 1, tile.y1 + 1,
                 [&](int x, int y) { use(x, y, fetch(span(x - A.x0, y - A.y0))); });
    else { // a thread asks where all of its rows begin, and fetches one while it puts the one before in order
      constexpr int step = 256 / width, turns = (lines + 2) / step;
      const int     x = tile.x0 - 1 + block.thread % width, y = tile.y0 - 1 + block.thread / width;
      Span          row[turns];
#ifdef __CUDA_ARCH__
  #pragma unroll
#endif
      for (int k = 0; k < turns; ++k) row[k] = span(x - A.x0, y + k * step - A.y0);
      Entries next = fetch(row[0]);
#ifdef __CUDA_ARCH__
  #pragma unroll
#endif
      for (int k = 0; k < turns; ++k) {
        const Entries now = next;
        if (k + 1 < turns) next = fetch(row[k + 1]);
        use(x, y + k * step, now);
      }
    }
    block.sync();
    block.each(0, width / 2, 0, 2 * lines, [&](int X, int i) { // a quarter is done by whole warps
      const int q = i % 4, x = tile.x0 + 2 * X + (q & 1), y = tile.y0 + 2 * (i / 4) + (q >> 1), c = place(x, y);
      if (!tile.contains(x, y) || x < A.x0 || y < A.y0) return;
      if (q == 0) node<0>(x / 2, y / 2, rows + c, dirichlet + c, report);
      else if (q == 1) node<1>(x / 2, y / 2, rows + c, dirichlet + c, report);
      else if (q == 2) node<2>(x / 2, y / 2, rows + c, dirichlet + c, report);
      else node<3>(x / 2, y / 2, rows + c, dirichlet + c, report);
    });
  }
};

HD inline double &at(const StencilView<double> &s, const CouplingPlace &p)
{
  return (p.g ? s.G : s.E)[p.plane].at(p.x, p.y);
}

// Node number i of the rim of a box: its first and last line, then the ends of those between.
HD inline void rim_node(int nx, int ny, int i, int &x, int &y)
{
  const int lines = ny > 1 ? 2 : 1, ends = nx > 1 ? 2 : 1;
  if (i < lines * nx) x = i % nx, y = i / nx * (ny - 1);
  else i -= lines * nx, x = i % ends * (nx - 1), y = 1 + i / ends;
}
int rim_nodes(const CsrRows &A)
{
  return (A.ny > 1 ? 2 : 1) * A.nx + (A.ny > 2 ? (A.nx > 1 ? 2 : 1) * (A.ny - 2) : 0);
}

// Halves of couplings that are stored at another process's node.
struct HalfKernel {
  CsrRows             A;
  StencilView<double> s;
  HD void             operator()(int i) const
  {
    int x, y;
    rim_node(A.nx, A.ny, i, x, y);
    const Index r = A.row(x, y);
    for (Index e = A.A.oi[r]; e < A.A.oi[r + 1]; ++e) {
      const int k = A.remote(x, y, A.A.oj[e]);
      if (k < 0 || (!s.nine && k % 2 == 0)) continue;
      const CouplingPlace p = coupling_place(A.x0 + x, A.y0 + y, k);
      if (p.x != A.x0 + x || p.y != A.y0 + y) at(s, p) = 0.5 * A.A.oa[e];
    }
  }
};

struct Largest {
  double  v = 0;
  HD void join(const Largest &o) { v = o.v > v ? o.v : v; }
};
// The mean of a coupling with another process against this one's entry.
struct DifferenceKernel {
  CsrRows             A;
  StencilView<double> s;
  HD void             operator()(int node, Largest &largest) const
  {
    int x, y;
    rim_node(A.nx, A.ny, node, x, y);
    const Index r = A.row(x, y);
    for (Index e = A.A.oi[r]; e < A.A.oi[r + 1]; ++e) {
      const int k = A.remote(x, y, A.A.oj[e]);
      if (k < 0 || (!s.nine && k % 2 == 0)) continue;
      Largest d;
      d.v = 2 * fabs(at(s, coupling_place(A.x0 + x, A.y0 + y, k)) - A.A.oa[e]);
      largest.join(d);
    }
  }
};

} // namespace

void CsrReader::read_tiles(bool raise, CsrReport *report) const
{
  const Box own  = grid.owned();
  auto      with = [&](auto nine) {
    using Kernel = ReadKernel<decltype(nine)::value>;
    forall_tiles(exec, {own.x0 & ~1, own.x1, own.y0 & ~1, own.y1}, Kernel::columns, Kernel::lines, Kernel::bytes(),
                 Kernel{rows_of(grid, A), s.view(), work.dirichlet.data(), raise}, report);
  };
  work.dirichlet.fit({(size_t)own.size(), exec.space});
  if (s.nine) with(std::true_type());
  else with(std::false_type());
}

void CsrReader::read_ahead(bool nine) const
{
  work.by_lines = false;
  if (nine) s.make_nine();
  work.report.reach(sizeof(CsrReport));
  read_tiles(false, (CsrReport *)work.report.data());
}

CsrReport CsrReader::read(bool raise, bool nine) const
{
  CsrReport report;
  work.by_lines = exec.space == Space::host;
  if (work.by_lines) return CsrLines(*this).read(raise);
  if (grid.owned().empty()) return report;
  auto read_once = [&] {
    work.report.reach(sizeof(CsrReport));
    read_tiles(raise, (CsrReport *)work.report.data());
    device::synchronize();
    report = device::failed() ? CsrReport() : this->report(work);
  };
  if (nine) s.make_nine();
  read_once();
  if (report.nine && !s.nine) {
    s.make_nine();
    read_once();
  }
  if (!report.nine && s.nine) {
    s.nine = false;
    for (auto &g : s.g) g = Buffer<double>();
  }
  return report;
}

void CsrReader::fold() const
{
  for (int k = 0; k < 4; ++k) halo.fold(s.E(k), mask_o | mask_a | mask_b);
  if (s.nine)
    for (int k = 0; k < 4; ++k) halo.fold(s.G(k), mask_a);
  s.exchange(halo);
}

double CsrReader::join() const
{
  if (work.by_lines) {
    if (halo.empty()) return 0;
    fold();
    return CsrLines(*this).asymmetry_outside();
  }
  if (grid.processes() == 1) return 0; // the kernels have gone around the grid
  const CsrRows rows = rows_of(grid, A);
  const int         n    = A.oi && rows.nx > 0 && rows.ny > 0 ? rim_nodes(rows) : 0;
  for_each(exec, n, HalfKernel{rows, s.view()});
  fold();
  return n ? join_each<Largest>(exec, n, DifferenceKernel{rows, s.view()}).v : 0;
}

void CsrReader::keep_row_sums() const { CsrLines(*this).keep_row_sums(); }

DirichletCouplings CsrReader::dirichlet(Space space) const
{
  return work.by_lines ? CsrLines(*this).dirichlet(space) : list_dirichlet();
}

} // namespace tessera
