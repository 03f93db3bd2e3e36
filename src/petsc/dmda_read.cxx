// An assembled matrix as stencil coefficients: on the device by kernels, on the host line by line.
#include "petsc/dmda.hpp"
#include "box/csr.hpp"
#include "box/tuning.hpp"
#include "petsc/aij.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <petscmat.h>
#include <utility>

namespace tessera {

namespace {

// The rows of an AIJ matrix by direction.
struct Rows {
  const Grid           &grid;
  Box                   own;
  const PetscInt       *ia = nullptr, *ja = nullptr, *oia = nullptr, *oja = nullptr; // diagonal and off-diagonal block
  const PetscScalar    *a = nullptr, *oa = nullptr;
  std::vector<int>      ox, oy; // node of each off-diagonal column
  const PetscInt       *garray = nullptr;
  PetscInt              first = 0; // first row in PETSc's numbering
  OperatorReport       *report = nullptr;
  double                largest = 0; // diagonal entry

  explicit Rows(const Grid &g) : grid(g), own(g.owned()) { }

  static int wrap(int d, int n, bool periodic)
  {
    if (periodic && d > 1 && d >= n - 1) d -= n;
    if (periodic && d < -1 && -d >= n - 1) d += n;
    return d;
  }
  int direction(int x, int y, int xc, int yc) const
  {
    const int dx = wrap(xc - x, grid.nx, grid.periodic_x), dy = wrap(yc - y, grid.ny, grid.periodic_y);
    return dx < -1 || dx > 1 || dy < -1 || dy > 1 ? -1 : 3 * (dy + 1) + dx + 1;
  }
  PetscInt row(int x, int y) const { return x - own.x0 + (PetscInt)(own.x1 - own.x0) * (y - own.y0); }
  void complain(OperatorReport::Kind kind, PetscInt row, PetscInt column, int x, int y, double v)
  {
    if (report->kind != OperatorReport::fine) return;
    report->kind   = kind;
    report->row    = first + row;
    report->column = column;
    report->x      = x;
    report->y      = y;
    report->value  = v;
  }
  // v[k * stride] is the coefficient of node (x, y) in direction k; complains of what does not belong there. Returns whether
  // there is an off-diagonal coefficient.
  bool read(int x, int y, double *v, ptrdiff_t stride)
  {
    const int      nx = own.x1 - own.x0;
    const PetscInt r  = row(x, y);
    double         check = 0, off = 0;
    for (int k = 0; k < 9; ++k) v[k * stride] = 0;
    for (PetscInt e = ia[r]; e < ia[r + 1]; ++e) {
      const int k = direction(x, y, own.x0 + (int)(ja[e] % nx), own.y0 + (int)(ja[e] / nx));
      check += a[e] * 0;
      if (k >= 0) v[k * stride] += a[e];
      else if (a[e] != 0) complain(OperatorReport::outside, r, first + ja[e], x, y, a[e]);
    }
    check += read_remote(x, y, v, stride);
    if (check != 0) complain(OperatorReport::not_finite, r, bad_column(r), x, y, check);
    if (!(v[4 * stride] > 0) && check == 0) complain(OperatorReport::diagonal, r, first + r, x, y, v[4 * stride]);
    for (int k = 0; k < 9; ++k)
      if (k != 4) off += fabs(v[k * stride]);
    return off != 0;
  }
  // Adds the couplings with other processes' nodes. Returns 0, or not a number if one is not finite.
  double read_remote(int x, int y, double *v, ptrdiff_t stride)
  {
    double check = 0;
    if (!oia) return 0;
    const PetscInt r = row(x, y);
    for (PetscInt e = oia[r]; e < oia[r + 1]; ++e) {
      const int k = direction(x, y, ox[(size_t)oja[e]], oy[(size_t)oja[e]]);
      check += oa[e] * 0;
      if (k >= 0) v[k * stride] += oa[e];
      else if (oa[e] != 0) complain(OperatorReport::outside, r, garray[oja[e]], x, y, oa[e]);
    }
    return check;
  }
  // The pattern of a row; false if it must be read by itself.
  bool pattern(int x, int y, RowRun &run) const
  {
    const int      nx = own.x1 - own.x0;
    const PetscInt r  = row(x, y);
    run               = {x - own.x0, 1, ia[r], -1, {}};
    if (ia[r + 1] - ia[r] > 9 || (oia && oia[r + 1] > oia[r])) return false;
    int seen = 0;
    for (PetscInt e = ia[r]; e < ia[r + 1]; ++e) {
      const int k = direction(x, y, own.x0 + (int)(ja[e] % nx), own.y0 + (int)(ja[e] / nx));
      if (k < 0 || seen & (1 << k)) return false;
      seen |= 1 << k;
      run.k[e - ia[r]] = (char)k;
    }
    run.entries = (int)(ia[r + 1] - ia[r]);
    return true;
  }
  // The runs of a line. A row continues a run where its columns lie as the columns of the row before, and neither of the two
  // is at an end of the line (where the same offset can be the next line).
  void line_runs(int y, std::vector<RowRun> &runs) const
  {
    for (int x = own.x0; x < own.x1; ++x) {
      RowRun run;
      bool   regular = pattern(x, y, run);
      if (regular && x > own.x0 && x < own.x1 - 1) { // may begin a run: how far does it go?
        PetscInt r = row(x, y), n = run.entries;
        for (; x + 1 < own.x1 - 1; ++x, ++r) {
          if (ia[r + 2] - ia[r + 1] != n || (oia && oia[r + 2] > oia[r + 1])) break;
          const PetscInt *here = ja + ia[r], *next = ja + ia[r + 1];
          bool            same = true;
          for (PetscInt e = 0; e < n; ++e) same = same && next[e] == here[e] + 1;
          if (!same) break;
          ++run.count;
        }
      }
      runs.push_back(run);
    }
  }
  // All coefficients of a line: v[k * nx + i], and which directions are in use.
  int read_line(int y, const RowRun *run, const RowRun *end, double *v)
  {
    const ptrdiff_t nx   = own.x1 - own.x0;
    int             used = 1 << 4;
    memset(v, 0, (size_t)(9 * nx) * sizeof(double));
    for (; run < end; ++run) {
      if (run->entries < 0) {
        read(own.x0 + run->first, y, v + run->first, nx);
        used = 0777;
        continue;
      }
      for (int e = 0; e < run->entries; ++e) {
        double            *to   = v + run->k[e] * nx + run->first;
        const PetscScalar *from = a + run->start + e;
        const int          n = run->count, s = run->entries;
        used |= 1 << run->k[e];
        if (s == 5) // the common case, with a stride that the compiler knows
          for (int i = 0; i < n; ++i) to[i] = from[5 * i];
        else
          for (int i = 0; i < n; ++i) to[i] = from[s * i];
      }
    }
    return used;
  }
  PetscInt bad_column(PetscInt row) const
  {
    for (PetscInt e = ia[row]; e < ia[row + 1]; ++e)
      if (!std::isfinite(a[e])) return first + ja[e];
    if (oia)
      for (PetscInt e = oia[row]; e < oia[row + 1]; ++e)
        if (!std::isfinite(oa[e])) return garray[oja[e]];
    return -1;
  }
};

} // namespace

PetscErrorCode GridMatrix::Read(Mat A, const Exec &exec, Halo &halo, double *field, bool raise, Stencil &s, DirichletCouplings &dirichlet, OperatorReport &report)
{
  bool done = false;

  PetscFunctionBegin;
  ahead_ = false;
  DirichletCouplings old = std::move(dirichlet);
  report    = OperatorReport();
  dirichlet = DirichletCouplings();
  PetscCall(LocalMatrix(A));
  if (exec.space == Space::host) {
    PetscCall(ReadOnHost(exec.space, halo, field, raise, s, dirichlet, report));
    PetscCall(NameRows(report));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(ReadOnDevice(exec, halo, raise, s, old, dirichlet, report, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(A, "Read on the host: the matrix is not symmetric or wrong, or it has couplings with Dirichlet rows on several processes\n"));
  Stencil        on_host;
  Buffer<double> host_field;
  TesseraCallCXX(on_host = Stencil(s.layout.on_host()));
  TesseraCallCXX(host_field.resize(on_host.layout.elements(4)));
  Halo host_halo = halo.host();
  PetscCall(ReadOnHost(exec.space, host_halo, host_field.data(), raise, on_host, dirichlet, report));
  PetscCall(NameRows(report));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)on_host.bytes()));
  TesseraCallCXX(copy(on_host, s, exec.space));
  TesseraCallCXX(device::synchronize()); // on_host ends here
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The node of each column of the off-diagonal block: its owner's box, x fastest.
void GridMatrix::remote_nodes(PetscInt columns, const PetscInt *colmap, std::vector<int> &x, std::vector<int> &y) const
{
  for (PetscInt c = 0; c < columns; ++c) {
    const int      r = (int)(std::upper_bound(first_.begin(), first_.end(), colmap[c]) - first_.begin()) - 1;
    const Box      b = grid_.box(r);
    const PetscInt l = colmap[c] - first_[(size_t)r];
    x.push_back(b.x0 + (int)(l % (b.x1 - b.x0)));
    y.push_back(b.y0 + (int)(l / (b.x1 - b.x0)));
  }
}

PetscErrorCode GridMatrix::ReadOnDevice(const Exec &exec, Halo &halo, bool raise, Stencil &s, DirichletCouplings &old, DirichletCouplings &dirichlet, OperatorReport &report, bool *done)
{
  using Index = LocalRows::Index;
  const double          n = (double)grid_.owned().size();
  MatInfo               info;
  LocalRows             rows;
  Buffer<int>           ox, oy;
  std::vector<int>      x, y;
  CsrReport             found;

  PetscFunctionBegin;
  PetscCall(SameError(comm_, rows.Get(A_, exec.space, "rrb")));
  PetscCall(MatGetInfo(A_, MAT_LOCAL, &info));
  Csr<Index> csr{rows.i, rows.j, rows.a};
  if (rows.others) {
    remote_nodes(rows.others, rows.columns, x, y);
    TesseraCallCXX(ox = copy_to(exec.space, x), oy = copy_to(exec.space, y));
    csr = {rows.i, rows.j, rows.a, rows.oi, rows.oj, rows.o, ox.data(), oy.data()};
  }
  if (read_before_ ? nine_ : info.nz_used > 5 * n) TesseraCallCXX(s.make_nine());
  DirichletCouplings now;
  {
    const GpuTime time(exec.space);
    ahead_ = usual_ && !raise;
    if (ahead_) {
      TesseraCallCXX(csr_read_ahead(exec, grid_, csr, raise, s, reading_));
      *done = true;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    TesseraCallCXX(found = csr_read(exec, grid_, csr, raise, s, reading_));
    if (found.dirichlet) TesseraCallCXX(now = csr_dirichlet(exec, grid_, csr, s, reading_));
  }
  if (grid_.processes() > 1) {
    int sure[4] = {found.wrong > 0, now.any, s.nine, device::failed()};
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sure, 4, MPI_INT, MPI_MAX, comm_));
    *done = sure[3]; // all return the error of one
    if (sure[3]) PetscFunctionReturn(PETSC_SUCCESS);
    if (sure[0] || sure[1]) PetscFunctionReturn(PETSC_SUCCESS); // neighbours' Dirichlet nodes are for the host
    if (sure[2]) TesseraCallCXX(s.make_nine());
    {
      const GpuTime time(exec.space);
      TesseraCallCXX(found.asymmetry = std::max(found.asymmetry, csr_join(exec, grid_, halo, csr, s)));
    }
    double   largest[4] = {found.asymmetry, found.largest, found.deficit, (double)device::failed()};
    PetscInt fixed      = (PetscInt)found.dirichlet;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, largest, 4, MPI_DOUBLE, MPI_MAX, comm_));
    *done = largest[3] > 0;
    if (*done) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &fixed, 1, MPIU_INT, MPI_SUM, comm_));
    found.asymmetry = largest[0];
    found.largest   = largest[1];
    found.deficit   = largest[2];
    found.dirichlet = fixed;
  }
  if (found.dirichlet) {
    auto keep = [](auto &from, auto &to) { // memory that fits stays where it is: a graph that moved memory is made again
      if (from.size() == to.size() && from.space() == to.space()) copy(from, to);
      else to = std::move(from);
    };
    TesseraCallCXX(keep(now.rows, old.rows), keep(now.inverse, old.inverse), keep(now.nodes, old.nodes), keep(now.start, old.start), keep(now.dirichlet, old.dirichlet), keep(now.value, old.value));
    dirichlet              = std::move(old);
    dirichlet.any          = now.any;
    dirichlet.remote       = false;
    dirichlet.column_value = Buffer<double>(); // to be made of the new ones
  }
  read_before_     = true;
  nine_            = s.nine;
  report.largest   = found.largest;
  report.asymmetry = found.largest > 0 ? found.asymmetry / found.largest : 0;
  report.deficit   = found.deficit;
  report.dirichlet = (PetscInt)found.dirichlet;
  *done            = !found.wrong && report.asymmetry <= tuning::symmetric;
  usual_           = *done && !found.dirichlet && grid_.processes() == 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GridMatrix::Confirm(OperatorReport &report, bool *right)
{
  const CsrReport &found = csr_report(reading_);

  PetscFunctionBegin;
  ahead_ = false;
  report.largest   = found.largest;
  report.asymmetry = found.largest > 0 ? found.asymmetry / found.largest : 0;
  report.deficit   = found.deficit;
  usual_ = *right = !found.wrong && !found.dirichlet && (bool)found.nine == nine_ && report.asymmetry <= tuning::symmetric;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GridMatrix::ReadOnHost(Space space, Halo &halo, double *field, bool raise, Stencil &s, DirichletCouplings &dirichlet, OperatorReport &report)
{
  Mat             Ad, Ao = nullptr;
  PetscBool       seq, done = PETSC_FALSE;
  PetscInt        n, on = 0;
  const PetscInt *colmap = nullptr;
  Rows            rows(grid_);
  const Box       own = grid_.owned();
  const int       nx = own.x1 - own.x0;
  const Layout   &layout = s.layout;

  PetscFunctionBegin;
  report = OperatorReport();
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A_, MATSEQAIJ, &seq));
  if (seq) Ad = A_;
  else PetscCall(MatMPIAIJGetSeqAIJ(A_, &Ad, &Ao, &colmap));
  auto get = [&]() -> PetscErrorCode {
    PetscFunctionBegin;
    PetscCall(MatGetRowIJ(Ad, 0, PETSC_FALSE, PETSC_FALSE, &n, &rows.ia, &rows.ja, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The rows of the matrix cannot be read");
    PetscCall(MatSeqAIJGetArrayRead(Ad, &rows.a));
    if (Ao) {
      PetscCall(MatGetRowIJ(Ao, 0, PETSC_FALSE, PETSC_FALSE, &on, &rows.oia, &rows.oja, &done));
      PetscCall(MatSeqAIJGetArrayRead(Ao, &rows.oa));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  };
  PetscCall(SameError(comm_, get()));
  if (Ao) {
    PetscInt columns;
    PetscCall(MatGetSize(Ao, nullptr, &columns));
    remote_nodes(columns, colmap, rows.ox, rows.oy);
  }
  rows.garray = colmap;
  rows.first  = first_[(size_t)grid_.rank];
  rows.report = &report;
  if (line_runs_.empty()) {
    line_runs_.push_back(0);
    for (int y = own.y0; y < own.y1; ++y) {
      rows.line_runs(y, runs_);
      line_runs_.push_back(runs_.size());
    }
  }

  // Which nodes have Dirichlet rows: own ones line by line below, neighbours' through the field.
  const View<double> f      = layout.view(field);
  const bool         remote = !halo.empty();
  double             row[9];
  auto perimeter = [&](auto &&visit) {
    for (int y = own.y0; y < own.y1; ++y)
      for (int x = own.x0; x < own.x1; x += y == own.y0 || y == own.y1 - 1 || nx == 1 ? 1 : nx - 1) visit(x, y);
  };
  if (remote) {
    memset(field, 0, layout.elements(4) * sizeof(double));
    perimeter([&](int x, int y) { f.at(x, y) = !rows.read(x, y, row, 1); });
    halo.exchange(f, mask_all);
  }
  const ptrdiff_t              fl = nx + 2;
  std::vector<unsigned char>   flags[3]; // of lines y - 1, y, y + 1, from x0 - 1
  std::vector<double>          lines[2], sums((size_t)nx);
  int                          present[2] = {0, 0};
  double                       asymmetry = 0, deficit = 0;
  std::vector<ptrdiff_t> dirichlet_rows;
  std::vector<double>    inverse;
  struct Found {
    int    x, y, k;
    double value;
  };
  std::vector<Found> found;
  for (auto &l : flags) l.assign((size_t)fl, 0);
  for (auto &l : lines) l.resize((size_t)9 * nx + 1);
  auto read_line = [&](int y) {
    auto &flag = flags[2];
    std::fill(flag.begin(), flag.end(), 0);
    if (remote) {
      if (y < own.y0 || y >= own.y1)
        for (int x = own.x0 - 1; x <= own.x1; ++x) flag[(size_t)(x - own.x0 + 1)] = f.at(x, y) != 0;
      else {
        flag[0]                = f.at(own.x0 - 1, y) != 0;
        flag[(size_t)(fl - 1)] = f.at(own.x1, y) != 0;
      }
    }
    if (y < own.y0 || y >= own.y1) return;
    const size_t l    = (size_t)(y - own.y0);
    double      *line = lines[1].data(), *sum = sums.data(), check = 0, low = PETSC_MAX_REAL;
    const int    used = rows.read_line(y, runs_.data() + line_runs_[l], runs_.data() + line_runs_[l + 1], line);
    present[1]        = 0;
    std::fill(sums.begin(), sums.end(), 0);
    for (int k = 0; k < 9; ++k) {
      if (k == 4 || !(used & (1 << k))) continue;
      const double *v   = line + (size_t)k * nx;
      double        all = 0;
#pragma omp simd reduction(+ : all)
      for (int i = 0; i < nx; ++i) {
        sum[i] += fabs(v[i]);
        all += fabs(v[i]);
      }
      if (all != 0) present[1] |= 1 << k;
    }
    const double *d = line + 4 * (size_t)nx;
    for (int i = 0; i < nx; ++i) {
      check += 0 * (sum[i] + d[i]);
      low          = d[i] < low ? d[i] : low;
      rows.largest = sum[i] != 0 && d[i] > rows.largest ? d[i] : rows.largest; // Dirichlet rows have scales of their own
    }
    if (check != 0 || !(low > 0)) // find the row
      for (int x = own.x0; x < own.x1; ++x) rows.read(x, y, row, 1);
    for (int i = 0; i < nx; ++i) {
      if (sum[i] != 0) continue;
      flag[(size_t)(i + 1)] = 1;
      dirichlet_rows.push_back(i + (ptrdiff_t)nx * (y - own.y0));
      inverse.push_back(1 / d[i]);
    }
  };
  auto advance = [&]() {
    std::swap(flags[0], flags[1]);
    std::swap(flags[1], flags[2]);
    std::swap(lines[0], lines[1]);
    present[0] = present[1];
  };
  if (!own.empty()) {
    read_line(own.y0 - 1);
    advance();
    read_line(own.y0);
    advance();
  }
  for (int y = own.y0; y < own.y1; ++y) {
    read_line(y + 1);
    const double *w[9];
    for (int k = 0; k < 9; ++k) w[k] = lines[0].data() + (size_t)k * nx;
    bool any = false;
    for (auto &l : flags) any = any || memchr(l.data(), 1, l.size());
    if (any)
      for (int k = 0; k < 9; ++k) {
        if (k == 4 || !(present[0] & (1 << k))) continue;
        const unsigned char *flag = flags[1 + direction_dy(k)].data() + 1 + direction_dx(k);
        double              *v    = lines[0].data() + (size_t)k * nx;
        for (int i = 0; i < nx; ++i)
          if (flag[i] && v[i] != 0) {
            found.push_back({own.x0 + i, y, k, v[i]});
            v[i] = 0;
          }
      }
    if (raise) {
      double *d = lines[0].data() + (size_t)4 * nx;
      for (int i = 0; i < nx; ++i) {
        double sum = 0;
        for (int k = 0; k < 9; ++k) sum += w[k][i];
        if (sum >= 0) continue;
        deficit = std::max(deficit, -sum / d[i]);
        d[i] -= sum;
      }
    }
    asymmetry = std::max(asymmetry, stencil_add_line(s, own, y, w, present[0]));
    advance();
  }
  // Halves of couplings between processes meet at the owner of the coupling; all processes agree on 5 or 9 points.
  int nine = s.nine, all_nine;
  PetscCallMPI(MPI_Allreduce(&nine, &all_nine, 1, MPI_INT, MPI_MAX, comm_));
  if (all_nine) s.make_nine();
  if (remote) {
    for (int k = 0; k < 4; ++k) halo.fold(s.E(k), mask_o | mask_a | mask_b);
    if (s.nine)
      for (int k = 0; k < 4; ++k) halo.fold(s.G(k), mask_a);
    s.exchange(halo);
    // Symmetry across the boundaries: a_ij against the mean.
    perimeter([&](int x, int y) {
      if (!rows.read(x, y, row, 1)) return;
      for (int k = 0; k < 9; ++k) {
        const int xn = x + direction_dx(k), yn = y + direction_dy(k);
        if (k == 4 || own.contains(xn, yn) || (direction_dx(k) && direction_dy(k) && !s.nine)) continue;
        if ((!grid_.periodic_x && (xn < 0 || xn >= grid_.nx)) || (!grid_.periodic_y && (yn < 0 || yn >= grid_.ny)) || f.at(xn, yn) != 0) continue;
        asymmetry = std::max(asymmetry, 2 * fabs(*s.slot(x, y, k) - row[k]));
      }
    });
  }
  double mine[3] = {asymmetry, rows.largest, deficit}, all[3];
  PetscCallMPI(MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_MAX, comm_));
  report.asymmetry = all[1] > 0 ? all[0] / all[1] : 0;
  report.largest   = all[1];
  report.deficit   = all[2];
  if (report.asymmetry > tuning::symmetric) {
    // The mean of the matrix and its transpose with the row sums of the matrix: what averaging adds to a row's couplings comes
    // off its diagonal entry, else strong couplings of a neighbour's row would make the operator indefinite.
    memset(field, 0, layout.elements(4) * sizeof(double));
    for (ptrdiff_t r : dirichlet_rows) f.at(own.x0 + (int)(r % nx), own.y0 + (int)(r / nx)) = 1;
    halo.exchange(f, mask_all);
    for (int y = own.y0; y < own.y1; ++y)
      for (int x = own.x0; x < own.x1; ++x) {
        if (!rows.read(x, y, row, 1)) continue;
        for (int k = 0; k < 9; ++k) {
          const int xn = x + direction_dx(k), yn = y + direction_dy(k);
          if (k == 4 || (direction_dx(k) && direction_dy(k) && !s.nine)) continue;
          if ((!grid_.periodic_x && (xn < 0 || xn >= grid_.nx)) || (!grid_.periodic_y && (yn < 0 || yn >= grid_.ny)) || f.at(xn, yn) != 0) continue;
          s.C().at(x, y) += row[k] - *s.slot(x, y, k);
        }
      }
    halo.exchange(s.C(), mask_all);
  }
  std::vector<DirichletEntry> entries;
  bool                        elsewhere = false;
  for (const Found &e : found) {
    const int xd = e.x + direction_dx(e.k), yd = e.y + direction_dy(e.k);
    entries.push_back({e.x - own.x0 + (ptrdiff_t)nx * (e.y - own.y0), &f.at(xd, yd) - field, e.value / s.C().at(xd, yd)});
    elsewhere = elsewhere || !own.contains(xd, yd);
  }
  TesseraCallCXX(dirichlet = dirichlet_couplings(space, std::move(entries), dirichlet_rows, inverse));
  PetscCall(MatSeqAIJRestoreArrayRead(Ad, &rows.a));
  PetscCall(MatRestoreRowIJ(Ad, 0, PETSC_FALSE, PETSC_FALSE, &n, &rows.ia, &rows.ja, &done));
  if (Ao) {
    PetscCall(MatSeqAIJRestoreArrayRead(Ao, &rows.oa));
    PetscCall(MatRestoreRowIJ(Ao, 0, PETSC_FALSE, PETSC_FALSE, &on, &rows.oia, &rows.oja, &done));
  }
  // One report for all processes.
  int flags_mine[3] = {elsewhere, !found.empty(), report.kind != OperatorReport::fine ? grid_.processes() - grid_.rank : 0}, flags_all[3];
  PetscCallMPI(MPI_Allreduce(flags_mine, flags_all, 3, MPI_INT, MPI_MAX, comm_));
  dirichlet.remote = flags_all[0];
  dirichlet.any    = flags_all[1];
  if (flags_all[2] > 0) {
    const int who      = grid_.processes() - flags_all[2];
    PetscInt  where[5] = {(PetscInt)report.kind, report.row, report.column, report.x, report.y};
    PetscCallMPI(MPI_Bcast(where, 5, MPIU_INT, who, comm_));
    PetscCallMPI(MPI_Bcast(&report.value, 1, MPIU_REAL, who, comm_));
    report.kind   = (OperatorReport::Kind)where[0];
    report.row    = where[1];
    report.column = where[2];
    report.x      = where[3];
    report.y      = where[4];
  }
  PetscInt count = (PetscInt)dirichlet_rows.size();
  PetscCallMPI(MPI_Allreduce(&count, &report.dirichlet, 1, MPIU_INT, MPI_SUM, comm_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
