// An assembled matrix as stencil coefficients: on the device by kernels, else by the host (dmda_read_host.cxx).
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
  speculative_ = false;
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
  PetscCall(PetscInfo(A, "Read on the host: the matrix is not symmetric or wrong, or it has couplings with Dirichlet "
                         "rows on several processes\n"));
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

PetscErrorCode GridMatrix::ReadOnDevice(const Exec &exec, Halo &halo, bool raise, Stencil &s, DirichletCouplings &old,
                                        DirichletCouplings &dirichlet, OperatorReport &report, bool *done)
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
    speculative_ = regular_ && !raise;
    if (speculative_) {
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
    PetscInt dirichlet_rows = (PetscInt)found.dirichlet;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, largest, 4, MPI_DOUBLE, MPI_MAX, comm_));
    *done = largest[3] > 0;
    if (*done) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &dirichlet_rows, 1, MPIU_INT, MPI_SUM, comm_));
    found.asymmetry = largest[0];
    found.largest   = largest[1];
    found.deficit   = largest[2];
    found.dirichlet = dirichlet_rows;
  }
  if (found.dirichlet) {
    // memory that fits stays where it is: a graph that moved memory is made again
    auto keep = [](auto &from, auto &to) {
      if (from.size() == to.size() && from.space() == to.space()) copy(from, to);
      else to = std::move(from);
    };
    TesseraCallCXX(keep(now.rows, old.rows), keep(now.inverse, old.inverse), keep(now.nodes, old.nodes),
                   keep(now.start, old.start), keep(now.dirichlet, old.dirichlet), keep(now.value, old.value));
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
  regular_           = *done && !found.dirichlet && grid_.processes() == 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GridMatrix::Confirm(OperatorReport &report, bool *right)
{
  const CsrReport &found = csr_report(reading_);

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
