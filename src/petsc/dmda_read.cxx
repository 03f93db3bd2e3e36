// An assembled matrix as stencil coefficients: PETSc's rows as those of box/csr.hpp, and one report of all processes.
#include "petsc/dmda.hpp"
#include "box/csr.hpp"
#include "box/tuning.hpp"
#include "petsc/aij.hpp"
#include <algorithm>
#include <petscmat.h>
#include <utility>

namespace tessera {

PetscErrorCode GridMatrix::Read(Mat A, const Exec &exec, Halo &halo, double *field, bool raise, Stencil &s,
                                DirichletCouplings &dirichlet, OperatorReport &report)
{
  bool done = false;

  PetscFunctionBegin;
  report = OperatorReport();
  PetscCall(LocalMatrix(A));
  PetscCall(ReadRows(exec, halo, field, raise, s, exec.space, dirichlet, report, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(A, "Read on the host: the matrix is not symmetric or wrong, or it has couplings with Dirichlet "
                         "rows on several processes\n"));
  Exec           host = exec;
  Stencil        on_host;
  Buffer<double> host_field;
  Halo           host_halo = halo.host();
  host.space               = Space::host;
  TesseraCallCXX(on_host = Stencil(s.layout.on_host()));
  TesseraCallCXX(host_field.resize(on_host.layout.elements(4)));
  PetscCall(ReadRows(host, host_halo, host_field.data(), raise, on_host, exec.space, dirichlet, report, &done));
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

// Memory that fits stays where it is: a graph that moved memory is made again.
static void replace(DirichletCouplings &old, DirichletCouplings now)
{
  auto keep = [](auto &from, auto &to) {
    if (from.size() == to.size() && from.space() == to.space()) copy(from, to);
    else to = std::move(from);
  };
  keep(now.rows, old.rows), keep(now.inverse, old.inverse), keep(now.nodes, old.nodes);
  keep(now.start, old.start), keep(now.dirichlet, old.dirichlet), keep(now.value, old.value);
  old.any          = now.any;
  old.remote       = false;
  old.column_value = Buffer<double>(); // to be made of the new ones
}

// Reads the rows where exec is; lists of Dirichlet rows go to the memory of a space. Not done: what a device has found
// is for the host.
PetscErrorCode GridMatrix::ReadRows(const Exec &exec, Halo &halo, double *field, bool raise, Stencil &s, Space lists,
                                    DirichletCouplings &dirichlet, OperatorReport &report, bool *done)
{
  MatInfo            info;
  LocalRows          rows;
  Buffer<int>        ox, oy;
  std::vector<int>   x, y;
  CsrReport          found;
  DirichletCouplings now, old = std::move(dirichlet);

  PetscFunctionBegin;
  *done     = true;
  dirichlet = DirichletCouplings();
  PetscCall(SameError(comm_, rows.Get(A_, exec.space, "rrb")));
  PetscCall(MatGetInfo(A_, MAT_LOCAL, &info));
  Csr csr{rows.i, rows.j, rows.a};
  if (rows.others) {
    remote_nodes(rows.others, rows.columns, x, y);
    TesseraCallCXX(ox = copy_to(exec.space, x), oy = copy_to(exec.space, y));
    csr = {rows.i, rows.j, rows.a, rows.oi, rows.oj, rows.o, ox.data(), oy.data()};
  }
  const CsrReader reader{exec, grid_, halo, field, csr, s, reading_};
  const bool nine = read_before_ ? nine_ : info.nz_used > 5 * (double)grid_.owned().size();
  speculative_    = regular_ && !raise;
  regular_        = false;
  {
    const GpuTime time(exec.space);
    if (speculative_) {
      TesseraCallCXX(reader.read_ahead(nine));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    TesseraCallCXX(found = reader.read(raise, nine));
    if (found.dirichlet && !reading_.by_lines) TesseraCallCXX(now = reader.dirichlet(lists));
  }
  const bool by_lines = reading_.by_lines;
  // neighbours' Dirichlet nodes are for the host
  int any[3] = {!by_lines && (found.wrong || (now.any && grid_.processes() > 1)), device::failed(), s.nine};
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, any, 3, MPI_INT, MPI_MAX, comm_));
  *done = !any[0] || any[1]; // all return the error of one
  if (any[0] || any[1]) PetscFunctionReturn(PETSC_SUCCESS);
  if (any[2]) TesseraCallCXX(s.make_nine());
  {
    const GpuTime time(exec.space);
    TesseraCallCXX(found.asymmetry = std::max(found.asymmetry, reader.join()));
  }
  double   largest[4] = {found.asymmetry, found.largest, found.deficit, (double)device::failed()};
  PetscInt dirichlet_rows = (PetscInt)found.dirichlet;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, largest, 4, MPI_DOUBLE, MPI_MAX, comm_));
  if (largest[3] > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &dirichlet_rows, 1, MPIU_INT, MPI_SUM, comm_));
  report.asymmetry     = largest[1] > 0 ? largest[0] / largest[1] : 0;
  report.largest       = largest[1];
  report.deficit       = largest[2];
  report.dirichlet     = dirichlet_rows;
  const bool symmetric = report.asymmetry <= tuning::symmetric;
  if (by_lines) {
    if (!symmetric) TesseraCallCXX(reader.keep_row_sums());
    TesseraCallCXX(dirichlet = reader.dirichlet(lists));
    PetscCall(ReduceLines(rows, dirichlet, report));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (dirichlet_rows) {
    TesseraCallCXX(replace(old, std::move(now)));
    dirichlet = std::move(old);
  }
  read_before_ = true;
  nine_        = s.nine;
  *done        = symmetric;
  regular_     = symmetric && !dirichlet_rows && grid_.processes() == 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What the host's reading has found, of all processes: a wrong row is named by the first that has one.
PetscErrorCode GridMatrix::ReduceLines(const LocalRows &rows, DirichletCouplings &dirichlet, OperatorReport &report)
{
  const WrongRow &wrong = reading_.wrong;
  int any[3] = {dirichlet.remote, dirichlet.any, wrong.kind != WrongRow::fine ? grid_.processes() - grid_.rank : 0};

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, any, 3, MPI_INT, MPI_MAX, comm_));
  dirichlet.remote = any[0];
  dirichlet.any    = any[1];
  if (any[2] > 0) {
    const int      who   = grid_.processes() - any[2];
    const PetscInt first = first_[(size_t)grid_.rank];
    PetscInt       column = (PetscInt)wrong.column;
    if (column >= 0) column = wrong.others ? rows.columns[column] : first + column;
    PetscInt where[5] = {wrong.kind, first + (PetscInt)wrong.row, column, wrong.x, wrong.y};
    report.value      = wrong.value;
    PetscCallMPI(MPI_Bcast(where, 5, MPIU_INT, who, comm_));
    PetscCallMPI(MPI_Bcast(&report.value, 1, MPIU_REAL, who, comm_));
    report.kind   = (WrongRow::Kind)where[0];
    report.row    = where[1];
    report.column = where[2];
    report.x      = where[3];
    report.y      = where[4];
  }
  PetscCall(NameRows(report));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GridMatrix::Confirm(OperatorReport &report, bool *right)
{
  const CsrReport &found = CsrReader::report(reading_);

  PetscFunctionBegin;
  speculative_ = false;
  report.largest   = found.largest;
  report.asymmetry = found.largest > 0 ? found.asymmetry / found.largest : 0;
  report.deficit   = found.deficit;
  regular_           = *right =
    !found.wrong && !found.dirichlet && (bool)found.nine == nine_ && report.asymmetry <= tuning::symmetric;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
