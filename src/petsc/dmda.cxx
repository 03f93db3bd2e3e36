#include "petsc/dmda.hpp"
#include "core/csr.hpp"
#include "core/tuning.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <petscmat.h>
#include <type_traits>

namespace tessera {

PetscErrorCode GridMatrix::Reset()
{
  PetscFunctionBegin;
  PetscCall(Clear());
  if (comm_ != MPI_COMM_NULL) PetscCallMPI(MPI_Comm_free(&comm_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Everything but the communicator, of which MPI has few.
PetscErrorCode GridMatrix::Clear()
{
  PetscFunctionBegin;
  PetscCall(ISDestroy(&rows_));
  PetscCall(VecDestroy(&work_));
  PetscCall(VecScatterDestroy(&scatter_));
  PetscCall(MatDestroy(&redistributed_));
  PetscCall(MatDestroy(&converted_));
  grid_  = Grid();
  moved_ = false;
  runs_.clear();
  line_runs_.clear();
  read_before_ = false;
  A_           = nullptr;
  read_        = Copy();
  write_       = Copy();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GridMatrix::SetGrid(PC pc, PetscInt nx, PetscInt ny)
{
  DM        dm = nullptr;
  PetscBool isda = PETSC_FALSE;
  PetscInt  m, n, M, N;
  Mat       A;
  MPI_Comm  comm = PetscObjectComm((PetscObject)pc);

  PetscFunctionBegin;
  PetscCall(Clear());
  PetscCall(PCGetOperators(pc, nullptr, &A));
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCheck(M == N, comm, PETSC_ERR_ARG_SIZ, "PC rrb needs a square matrix: this one has %" PetscInt_FMT " rows and %" PetscInt_FMT " columns", M, N);
  if (comm_ == MPI_COMM_NULL) PetscCallMPI(MPI_Comm_dup(comm, &comm_));
  int size;
  PetscCallMPI(MPI_Comm_size(comm_, &size));
  first_.resize((size_t)size + 1);
  const PetscInt *ranges;
  PetscCall(MatGetOwnershipRanges(A, &ranges));
  std::copy(ranges, ranges + size + 1, first_.begin());
  if (nx > 0) PetscCall(GridFromSizes(pc, nx, ny));
  else {
    PetscCall(PCGetDM(pc, &dm));
    if (dm) PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMDA, &isda));
    if (!isda) { // no DM, or a shell that a TS or SNES made: the matrix may know better
      DM of_matrix = nullptr;
      PetscCall(MatGetDM(A, &of_matrix));
      if (of_matrix) PetscCall(PetscObjectTypeCompare((PetscObject)of_matrix, DMDA, &isda));
      if (isda || !dm) dm = of_matrix;
    }
    const char *prefix;
    PetscCall(PCGetOptionsPrefix(pc, &prefix));
    PetscCheck(isda, comm, PETSC_ERR_ARG_WRONGSTATE, "PC rrb needs the grid of the matrix: there is %s. Give the solver a DMDA (KSPSetDM()), or say -%spc_rrb_grid nx,ny where unknown (i,j) is row i + nx*j", dm ? "a DM that is no DMDA" : "no DM", prefix ? prefix : "");
    PetscCall(GridFromDMDA(pc, dm));
  }
  PetscCallMPI(MPI_Comm_rank(comm_, &grid_.rank));
  grid_.comm = comm_;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GridMatrix::GridFromDMDA(PC pc, DM dm)
{
  PetscInt        dim, nx, ny, px, py, dof, m, nxl, nyl;
  DMBoundaryType  bx, by;
  const PetscInt *lx, *ly;
  Mat             A;
  MPI_Comm        comm = PetscObjectComm((PetscObject)pc);

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(dm, &dim, &nx, &ny, nullptr, &px, &py, nullptr, &dof, nullptr, &bx, &by, nullptr, nullptr));
  PetscCheck(dim == 1 || dim == 2, comm, PETSC_ERR_SUP, "PC rrb works on 2D grids: this DMDA has %" PetscInt_FMT " dimensions. For 3D and unstructured problems use -pc_type gamg", dim);
  PetscCheck(dof == 1, comm, PETSC_ERR_SUP, "PC rrb works with one unknown a node: this DMDA has %" PetscInt_FMT " degrees of freedom a node. Use -pc_type gamg, or rrb on each field through -pc_type fieldsplit", dof);
  PetscCheck(nx < 1000000000 && ny < 1000000000, comm, PETSC_ERR_SUP, "PC rrb works on grids of less than 1e9 nodes in a direction");
  PetscCall(DMDAGetOwnershipRanges(dm, &lx, dim == 2 ? &ly : nullptr, nullptr));
  grid_.nx     = (int)nx;
  grid_.ny     = dim == 2 ? (int)ny : 1;
  grid_.xsplit = {0};
  grid_.ysplit = {0};
  for (PetscInt i = 0; i < px; ++i) grid_.xsplit.push_back(grid_.xsplit.back() + (int)lx[i]);
  if (dim == 2)
    for (PetscInt i = 0; i < py; ++i) grid_.ysplit.push_back(grid_.ysplit.back() + (int)ly[i]);
  else grid_.ysplit.push_back(1);
  grid_.periodic_x = bx == DM_BOUNDARY_PERIODIC && nx > 1;
  grid_.periodic_y = dim == 2 && by == DM_BOUNDARY_PERIODIC && ny > 1;
  PetscCheck(bx != DM_BOUNDARY_TWIST && (dim == 1 || by != DM_BOUNDARY_TWIST), comm, PETSC_ERR_SUP, "PC rrb does not work on a DMDA with a twisted boundary");
  for (int d = 0; d < 2; ++d) {
    const int  n        = d ? grid_.ny : grid_.nx;
    const bool periodic = d ? grid_.periodic_y : grid_.periodic_x;
    PetscCheck(!periodic || n % 2 == 0, comm, PETSC_ERR_SUP, "PC rrb needs an even number of nodes in a periodic direction for its red-black ordering: this DMDA has %d in %s; %d or %d work, best is a multiple of a high power of two", n, d ? "y" : "x", n - 1, n + 1);
  }
  PetscCall(DMDAGetCorners(dm, nullptr, nullptr, nullptr, &nxl, &nyl, nullptr));
  PetscCall(PCGetOperators(pc, nullptr, &A));
  PetscCall(MatGetLocalSize(A, &m, nullptr));
  PetscInt mine[2] = {m != nxl * (dim == 2 ? nyl : 1), 0}, any[2], M;
  PetscCallMPI(MPI_Allreduce(mine, any, 2, MPIU_INT, MPI_MAX, comm));
  PetscCall(MatGetSize(A, &M, nullptr));
  PetscCheck(!any[0], comm, PETSC_ERR_ARG_SIZ, "PC rrb: the matrix (%" PetscInt_FMT " rows) is not on the nodes of the solver's DMDA (%d x %d = %" PetscInt_FMT " nodes, or another distribution). SNES vinewtonrsls solves on a part of the grid: use -snes_type vinewtonssls there, or another preconditioner", M, grid_.nx, grid_.ny, (PetscInt)grid_.size());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GridMatrix::GridFromSizes(PC pc, PetscInt nx, PetscInt ny)
{
  Mat         A;
  PetscInt    M, m;
  const char *prefix;
  MPI_Comm    comm = PetscObjectComm((PetscObject)pc);
  const int   size = (int)first_.size() - 1;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(pc, nullptr, &A));
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(MatGetSize(A, &M, nullptr));
  PetscCall(MatGetLocalSize(A, &m, nullptr));
  PetscCheck((PetscReal)nx * (PetscReal)ny == (PetscReal)M, comm, PETSC_ERR_ARG_SIZ, "PC rrb: -%spc_rrb_grid %" PetscInt_FMT ",%" PetscInt_FMT " does not match the matrix, which has %" PetscInt_FMT " rows", prefix ? prefix : "", nx, ny, M);
  PetscCheck(nx < 1000000000 && ny < 1000000000, comm, PETSC_ERR_SUP, "PC rrb works on grids of less than 1e9 nodes in a direction");
  grid_.nx     = (int)nx;
  grid_.ny     = (int)ny;
  grid_.xsplit = {0, (int)nx};
  grid_.ysplit.clear();
  moved_ = false;
  for (PetscInt row : first_) {
    grid_.ysplit.push_back((int)(row / nx + (row % nx >= (nx + 1) / 2)));
    moved_ = moved_ || row % nx;
  }
  if (moved_) { // slabs of whole lines
    PetscCallMPI(MPI_Comm_rank(comm_, &rank));
    const PetscInt start = grid_.ysplit[(size_t)rank] * nx, rows = (grid_.ysplit[(size_t)rank + 1] - grid_.ysplit[(size_t)rank]) * nx;
    Vec            x;
    PetscCall(ISCreateStride(comm, rows, start, 1, &rows_));
    PetscCall(MatCreateVecs(A, &x, nullptr));
    PetscCall(VecCreate(comm, &work_));
    PetscCall(VecSetSizes(work_, rows, M));
    PetscCall(VecSetType(work_, VECSTANDARD));
    PetscCall(VecScatterCreate(x, rows_, work_, rows_, &scatter_));
    PetscCall(VecDestroy(&x));
    for (int r = 0; r <= size; ++r) first_[(size_t)r] = grid_.ysplit[(size_t)r] * nx;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A as AIJ in the grid's distribution.
PetscErrorCode GridMatrix::LocalMatrix(Mat A)
{
  PetscBool seq, mpi, shell;

  PetscFunctionBegin;
  A_ = A;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &seq));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  if (!seq && !mpi) {
    PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSHELL, &shell));
    PetscCheck(!shell, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "PC rrb needs the entries of the matrix, and a MATSHELL has none. Give an assembled matrix as Pmat");
    PetscCall(MatDestroy(&converted_));
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &converted_));
    A_ = converted_;
  }
  if (moved_) {
    PetscCall(MatCreateSubMatrix(A_, rows_, rows_, redistributed_ ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &redistributed_));
    A_ = redistributed_;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GridMatrix::GetRead(Vec x, Space space, const double **values)
{
  PetscMemType where;
  const size_t n = (size_t)grid_.owned().size();

  PetscFunctionBegin;
  if (moved_) {
    PetscCall(VecScatterBegin(scatter_, x, work_, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(scatter_, x, work_, INSERT_VALUES, SCATTER_FORWARD));
    x = work_;
  }
  read_.array = space == Space::cuda;
  if (!read_.array) {
    PetscCall(VecGetArrayRead(x, values));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecGetArrayReadAndMemType(x, values, &where));
  read_.host = PetscMemTypeHost(where) ? *values : nullptr;
  if (read_.host && n) {
    if (read_.device.size() != n) TesseraCallCXX(read_.device.resize({n, Space::cuda}));
    TesseraCallCXX(device::copy_from_host(read_.device.data(), *values, n * sizeof(double)));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)(n * sizeof(double))));
    TesseraCallCXX(device::synchronize()); // the caller may change x
    *values = read_.device.data();
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GridMatrix::RestoreRead(Vec x, const double **values)
{
  PetscFunctionBegin;
  if (moved_) x = work_;
  if (!read_.array) PetscCall(VecRestoreArrayRead(x, values));
  else {
    if (read_.host) *values = read_.host;
    PetscCall(VecRestoreArrayReadAndMemType(x, values));
  }
  read_.host = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GridMatrix::GetWrite(Vec y, Space space, double **values, bool read)
{
  PetscMemType where;
  const size_t n = (size_t)grid_.owned().size();

  PetscFunctionBegin;
  if (moved_) {
    if (read) {
      PetscCall(VecScatterBegin(scatter_, y, work_, INSERT_VALUES, SCATTER_FORWARD));
      PetscCall(VecScatterEnd(scatter_, y, work_, INSERT_VALUES, SCATTER_FORWARD));
    }
    y = work_;
  }
  write_.array = space == Space::cuda;
  if (!write_.array) {
    if (read) PetscCall(VecGetArray(y, values));
    else PetscCall(VecGetArrayWrite(y, values));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (read) PetscCall(VecGetArrayAndMemType(y, values, &where));
  else PetscCall(VecGetArrayWriteAndMemType(y, values, &where));
  write_.host = PetscMemTypeHost(where) ? *values : nullptr;
  if (write_.host && n) {
    if (write_.device.size() != n) TesseraCallCXX(write_.device.resize({n, Space::cuda}));
    if (read) {
      TesseraCallCXX(device::copy_from_host(write_.device.data(), *values, n * sizeof(double)));
      PetscCall(PetscLogCpuToGpu((PetscLogDouble)(n * sizeof(double))));
    }
    *values = write_.device.data();
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GridMatrix::RestoreWrite(Vec y, double **values)
{
  Vec v = moved_ ? work_ : y;

  PetscFunctionBegin;
  if (!write_.array) PetscCall(VecRestoreArrayWrite(v, values));
  else {
    if (write_.host) {
      if (write_.device.size()) {
        TesseraCallCXX(device::copy_to_host((double *)write_.host, *values, write_.device.bytes()));
        PetscCall(PetscLogGpuToCpu((PetscLogDouble)write_.device.bytes()));
      }
      *values = (double *)write_.host;
    }
    PetscCall(VecRestoreArrayWriteAndMemType(v, values));
  }
  write_.host = nullptr;
  if (moved_) {
    PetscCall(VecScatterBegin(scatter_, work_, y, INSERT_VALUES, SCATTER_REVERSE));
    PetscCall(VecScatterEnd(scatter_, work_, y, INSERT_VALUES, SCATTER_REVERSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

PetscErrorCode GridMatrix::OnDevice(Mat A, bool *device)
{
  PetscBool    seq, mpi;
  PetscMemType where = PETSC_MEMTYPE_HOST;
  Mat          Ad    = A;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &seq));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(A, &Ad, nullptr, nullptr));
  if (seq || mpi) PetscCall(MatSeqAIJGetCSRAndMemType(Ad, nullptr, nullptr, nullptr, &where));
  *device = PetscMemTypeDevice(where);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GridMatrix::Read(Mat A, const Exec &exec, Halo &halo, double *field, bool raise, Stencil &s, DirichletCouplings &dirichlet, OperatorReport &report)
{
  bool done = false;

  PetscFunctionBegin;
  report    = OperatorReport();
  dirichlet = DirichletCouplings();
  PetscCall(LocalMatrix(A));
  if (exec.space == Space::host) {
    PetscCall(ReadOnHost(exec.space, halo, field, raise, s, dirichlet, report));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (grid_.processes() == 1) PetscCall(ReadOnDevice(exec, raise, s, dirichlet, report, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  Stencil        on_host;
  Buffer<double> host_field;
  Layout layout = s.layout;
  layout.space  = Space::host;
  TesseraCallCXX(on_host = Stencil(layout));
  TesseraCallCXX(host_field.resize(on_host.layout.elements(4)));
  Halo host_halo = halo.host();
  PetscCall(ReadOnHost(exec.space, host_halo, host_field.data(), raise, on_host, dirichlet, report));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)on_host.bytes()));
  TesseraCallCXX(copy(on_host, s, exec.space));
  TesseraCallCXX(device::synchronize()); // on_host ends here
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GridMatrix::ReadOnDevice(const Exec &exec, bool raise, Stencil &s, DirichletCouplings &dirichlet, OperatorReport &report, bool *done)
{
  using Index = std::conditional_t<sizeof(PetscInt) == 4, int32_t, int64_t>;
  Mat                   Ad = A_;
  PetscBool             seq;
  MatInfo               info;
  const PetscInt       *i, *j;
  PetscScalar          *a;
  PetscMemType          where;
  const PetscInt        n = (PetscInt)grid_.size();
  Buffer<PetscInt>      rows, columns; // of a matrix on the host
  Buffer<double>        values;
  Buffer<unsigned char> flags;
  CsrReport             found;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A_, MATSEQAIJ, &seq));
  if (!seq) PetscCall(MatMPIAIJGetSeqAIJ(A_, &Ad, nullptr, nullptr));
  PetscCall(MatSeqAIJGetCSRAndMemType(Ad, &i, &j, &a, &where));
  if (PetscMemTypeHost(where)) {
    TesseraCallCXX(rows.resize(Extent{(size_t)n + 1, Space::cuda}));
    TesseraCallCXX(columns.resize(Extent{(size_t)i[n], Space::cuda}));
    TesseraCallCXX(values.resize(Extent{(size_t)i[n], Space::cuda}));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)(rows.bytes() + columns.bytes() + values.bytes())));
    TesseraCallCXX(device::copy_from_host(rows.data(), i, rows.bytes()));
    if (columns.size()) TesseraCallCXX(device::copy_from_host(columns.data(), j, columns.bytes()));
    if (values.size()) TesseraCallCXX(device::copy_from_host(values.data(), a, values.bytes()));
    i = rows.data();
    j = columns.data();
    a = values.data();
  }
#if COMPAT_CUSPARSE_ROWS
  else { // rows that are empty are not among the others
    PetscBool cusparse;
    PetscCall(PetscObjectTypeCompare((PetscObject)Ad, MATSEQAIJCUSPARSE, &cusparse));
    if (cusparse) PetscCall(MatSeqAIJCUSPARSEGetIJ(Ad, PETSC_FALSE, &i, &j));
  }
#endif
  PetscCall(MatGetInfo(Ad, MAT_LOCAL, &info));
  if (read_before_ ? nine_ : info.nz_used > 5. * n) TesseraCallCXX(s.make_nine());
  const Csr<Index> csr{reinterpret_cast<const Index *>(i), reinterpret_cast<const Index *>(j), a};
  PetscCall(LogTimeBegin(exec.space));
  TesseraCallCXX(found = csr_read(exec, grid_, csr, raise, s, flags));
  if (found.dirichlet) TesseraCallCXX(dirichlet = csr_dirichlet(exec, grid_, csr, s, flags));
  PetscCall(LogTimeEnd(exec.space));
  read_before_     = true;
  nine_            = s.nine;
  report.asymmetry = found.largest > 0 ? found.asymmetry / found.largest : 0;
  report.deficit   = found.deficit;
  report.dirichlet = (PetscInt)found.dirichlet;
  *done            = !found.wrong && report.asymmetry <= tuning::symmetric;
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
  PetscCall(MatGetRowIJ(Ad, 0, PETSC_FALSE, PETSC_FALSE, &n, &rows.ia, &rows.ja, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The rows of the matrix cannot be read");
  PetscCall(MatSeqAIJGetArrayRead(Ad, &rows.a));
  if (Ao) {
    PetscCall(MatGetRowIJ(Ao, 0, PETSC_FALSE, PETSC_FALSE, &on, &rows.oia, &rows.oja, &done));
    PetscCall(MatSeqAIJGetArrayRead(Ao, &rows.oa));
    PetscInt columns;
    PetscCall(MatGetSize(Ao, nullptr, &columns));
    for (PetscInt c = 0; c < columns; ++c) { // the node of each column: its owner's box, x fastest
      const int      r = (int)(std::upper_bound(first_.begin(), first_.end(), colmap[c]) - first_.begin()) - 1;
      const Box      b = grid_.box(r);
      const PetscInt l = colmap[c] - first_[(size_t)r];
      rows.ox.push_back(b.x0 + (int)(l % (b.x1 - b.x0)));
      rows.oy.push_back(b.y0 + (int)(l / (b.x1 - b.x0)));
    }
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
