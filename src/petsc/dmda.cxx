// The grid of a matrix, and vectors on it.
#include "petsc/dmda.hpp"
#include "petsc/aij.hpp"
#include "petsc/boxmatrix.hpp"
#include <algorithm>
#include <petscmat.h>

namespace tessera {

PetscErrorCode GridMatrix::Reset()
{
  PetscFunctionBegin;
  PetscCall(rows_.Reset());
  PetscCall(MatDestroy(&converted_));
  grid_  = Grid();
  moved_ = placed_ = false;
  from_  = nullptr;
  place_.clear();
  read_before_ = false;
  A_           = nullptr;
  ForgetCopies();
  PetscFunctionReturn(PETSC_SUCCESS);
}

void GridMatrix::ForgetCopies()
{
  read_ = VectorView(), write_ = VectorView(), reading_ = CsrWork(), regular_ = speculative_ = false;
}

PetscErrorCode GridMatrix::SetGrid(PC pc, PetscInt nx, PetscInt ny)
{
  DM        dm = nullptr;
  PetscBool isda = PETSC_FALSE;
  PetscInt  m, n, M, N;
  Mat       A;
  MPI_Comm  comm = PetscObjectComm((PetscObject)pc);

  PetscFunctionBegin;
  PetscCall(Reset());
  PetscCall(PCGetOperators(pc, nullptr, &A));
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCheck(M == N, comm, PETSC_ERR_ARG_SIZ,
             "PC rrb needs a square matrix: this one has %" PetscInt_FMT " rows and %" PetscInt_FMT " columns", M, N);
  PetscCall(CommOf((PetscObject)pc, &comm_));
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
    bool        found = false;
    PetscCall(PCGetOptionsPrefix(pc, &prefix));
    if (isda) PetscCall(GridFromDMDA(pc, dm));
    else PetscCall(GridFromRows(pc, &found));
    PetscCheck(found || isda, comm, PETSC_ERR_ARG_WRONGSTATE,
               "PC rrb needs the grid of the matrix: there is %s, and the couplings of its rows are not those of a 5- "
               "or 9-point grid. On a mesh use -%spc_type auxamg. On a grid give the solver a DMDA (KSPSetDM()), or "
               "say -%spc_rrb_grid nx,ny where unknown (i,j) is row i + nx*j, or nx,ny,nz in three dimensions",
               dm ? "a DM that is no DMDA" : "no DM", prefix ? prefix : "", prefix ? prefix : "");
  }
  PetscCallMPI(MPI_Comm_rank(comm_, &grid_.rank));
  grid_.comm = comm_;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The first directions of a DMDA become those of the grid.
void GridMatrix::SetDirections(const int *which, int count, const PetscInt *n, const PetscInt *p,
                               const DMBoundaryType *sides, const PetscInt *const *l)
{
  std::vector<int> *const splits[] = {&grid_.xsplit, &grid_.ysplit};
  int *const              sizes[]  = {&grid_.nx, &grid_.ny};
  bool *const             rounds[] = {&grid_.periodic_x, &grid_.periodic_y};
  for (int k = 0; k < 2; ++k) {
    const int d = k < count ? which[k] : -1;
    *sizes[k]   = d < 0 ? 1 : (int)n[d];
    *splits[k]  = {0};
    *rounds[k]  = d >= 0 && sides[d] == DM_BOUNDARY_PERIODIC && n[d] > 1;
    if (d < 0) splits[k]->push_back(1);
    for (PetscInt r = 0; d >= 0 && r < p[d]; ++r) splits[k]->push_back(splits[k]->back() + (int)l[d][r]);
  }
}

// The grid of a DMDA. The matrix has a row for each node, or for the inactive nodes of SNES vinewtonrsls.
PetscErrorCode GridMatrix::GridFromDMDA(PC pc, DM dm)
{
  PetscInt        dim, n[3], p[3], dof, m, local[3], own = 1;
  DMBoundaryType  sides[3];
  const PetscInt *l[3];
  int             used[2], dimension = 0;
  Mat             A;
  MPI_Comm        comm = PetscObjectComm((PetscObject)pc);

  PetscFunctionBegin;
  PetscCall(
    DMDAGetInfo(dm, &dim, n, n + 1, n + 2, p, p + 1, p + 2, &dof, nullptr, sides, sides + 1, sides + 2, nullptr));
  PetscCheck(dof == 1, comm, PETSC_ERR_SUP,
             "PC rrb works with one unknown per node: this DMDA has %" PetscInt_FMT
             " degrees of freedom per node. Use -pc_type auxamg, or rrb on each field through -pc_type fieldsplit",
             dof);
  PetscCall(DMDAGetOwnershipRanges(dm, l, dim > 1 ? l + 1 : nullptr, dim > 2 ? l + 2 : nullptr));
  PetscCall(DMDAGetCorners(dm, nullptr, nullptr, nullptr, local, local + 1, local + 2));
  for (int d = 0; d < dim; ++d) { // in space one direction has a single node
    PetscCheck(n[d] < 1000000000, comm, PETSC_ERR_SUP, "PC rrb works on grids of less than 1e9 nodes in a direction");
    PetscCheck(sides[d] != DM_BOUNDARY_TWIST, comm, PETSC_ERR_SUP,
               "PC rrb does not work on a DMDA with a twisted boundary");
    own *= local[d];
    if (dim == 3 && (n[d] == 1 || dimension == 2)) continue;
    used[dimension++] = d;
  }
  SetDirections(used, dimension, n, p, sides, l);
  for (int d = 0; d < 2; ++d) {
    const int  size     = d ? grid_.ny : grid_.nx;
    const bool periodic = d ? grid_.periodic_y : grid_.periodic_x;
    PetscCheck(!periodic || size % 2 == 0, comm, PETSC_ERR_SUP,
               "PC rrb needs an even number of nodes in a periodic direction for its red-black ordering: this DMDA has "
               "%d in %s; %d or %d work, best is a multiple of a high power of two",
               size, d ? "y" : "x", size - 1, size + 1);
  }
  PetscCall(PCGetOperators(pc, nullptr, &A));
  PetscCall(MatGetLocalSize(A, &m, nullptr));
  IS             rows;
  PetscInt       mine[2] = {m != own, 1}, any[2];
  PetscCall(CompatInactive(dm, &rows));
  if (rows) {
    PetscCall(ISGetLocalSize(rows, &mine[1]));
    mine[1] = mine[1] != m;
  }
  PetscCallMPI(MPI_Allreduce(mine, any, 2, MPIU_INT, MPI_MAX, comm));
  PetscCall(MatGetSize(A, &m, nullptr));
  PetscCheck(!any[0] || !any[1], comm, PETSC_ERR_ARG_SIZ,
             "PC rrb: the matrix (%" PetscInt_FMT
             " rows) is not on the nodes of the solver's DMDA (%d x %d = %" PetscInt_FMT
             " nodes, or another distribution). Give the solver the DMDA of this matrix, or use another preconditioner",
             m, grid_.nx, grid_.ny, (PetscInt)grid_.size());
  if (any[0]) {
    from_ = "inactive rows of the DMDA";
    PetscCall(Distribute(A, rows, own));
  }
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
  PetscCheck((PetscReal)nx * (PetscReal)ny == (PetscReal)M, comm, PETSC_ERR_ARG_SIZ,
             "PC rrb: -%spc_rrb_grid %" PetscInt_FMT ",%" PetscInt_FMT
             " does not match the matrix, which has %" PetscInt_FMT " rows%s",
             prefix ? prefix : "", nx, ny, M, SeveralPerNode((PetscReal)nx * (PetscReal)ny, M));
  PetscCheck(nx < 1000000000 && ny < 1000000000, comm, PETSC_ERR_SUP,
             "PC rrb works on grids of less than 1e9 nodes in a direction");
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
    const PetscInt start = grid_.ysplit[(size_t)rank] * nx,
                   rows  = (grid_.ysplit[(size_t)rank + 1] - grid_.ysplit[(size_t)rank]) * nx;
    PetscCall(rows_.Create(comm, A, start, rows));
    for (int r = 0; r <= size; ++r) first_[(size_t)r] = grid_.ysplit[(size_t)r] * nx;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A as AIJ in the grid's distribution.
PetscErrorCode GridMatrix::LocalMatrix(Mat A)
{
  PetscFunctionBegin;
  PetscCall(AsAIJ(A, "PC rrb", &converted_, &A_));
  if (placed_) PetscCall(Expand());
  else if (moved_) {
    PetscCall(rows_.Matrix(A_));
    A_ = rows_.matrix;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GridMatrix::RowsOfNodes(Mat A, std::vector<double> &rows)
{
  const size_t       n = (size_t)grid_.owned().size();
  Vec                x, y;
  PetscInt           first, last;
  PetscScalar       *number;
  const PetscScalar *values;

  PetscFunctionBegin;
  TesseraCallCXX(rows.resize(n));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  for (size_t k = 0; k < n; ++k) rows[k] = (double)first + (double)k;
  if (!moved_) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(A, &x, nullptr));
  PetscCall(VecDuplicate(rows_.work, &y));
  PetscCall(VecSet(y, -1));
  PetscCall(VecGetArrayWrite(x, &number));
  for (PetscInt r = first; r < last; ++r) number[r - first] = (PetscScalar)r;
  PetscCall(VecRestoreArrayWrite(x, &number));
  PetscCall(rows_.Bring(x, y));
  PetscCall(VecGetArrayRead(y, &values));
  rows.assign(values, values + n);
  PetscCall(VecRestoreArrayRead(y, &values));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The vector in the grid's distribution: v, or the work vector.
PetscErrorCode GridMatrix::Placed(Vec v, bool values, Vec *placed)
{
  PetscFunctionBegin;
  *placed = moved_ ? rows_.work : v;
  if (!moved_ || !values) PetscFunctionReturn(PETSC_SUCCESS);
  if (placed_) PetscCall(VecSet(rows_.work, 0));
  PetscCall(rows_.Bring(v, rows_.work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GridMatrix::GetRead(Vec x, Space space, const double **values)
{
  PetscFunctionBegin;
  PetscCall(Placed(x, true, &x));
  PetscCall(read_.Read(x, space));
  *values = read_.data();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GridMatrix::RestoreRead()
{
  return read_.Restore();
}

PetscErrorCode GridMatrix::GetWrite(Vec y, Space space, double **values, bool read)
{
  PetscFunctionBegin;
  PetscCall(Placed(y, read, &y));
  PetscCall(write_.Write(y, space, read));
  *values = write_.data();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GridMatrix::RestoreWrite(Vec y)
{
  PetscFunctionBegin;
  PetscCall(write_.Restore());
  if (!moved_) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(rows_.TakeBack(rows_.work, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
