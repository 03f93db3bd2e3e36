// Matrices on some nodes of a grid, or in another order: blocks of a domain decomposition, and reduced matrices.
#include "petsc/dmda.hpp"
#include "petsc/pattern.hpp"
#include <algorithm>
#include <petscmat.h>

namespace tessera {

namespace {

// *nx > 0: row i + nx * j is node (i, j), as couplings are with the nine neighbours alone. The farthest of them tells
// nx.
PetscErrorCode NaturalOrder(Mat A, bool zeros, PetscInt *nx)
{
  PetscInt far = 0, M;

  PetscFunctionBegin;
  *nx = 0;
  PetscCall(MatGetSize(A, &M, nullptr));
  PetscCall(ForEntries(A, zeros, [&](PetscInt i, PetscInt j) { far = PetscMax(far, PetscAbs(i - j)); }));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &far, 1, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  for (PetscInt width : {far > 1 ? far : M, far - 1}) {
    int wrong = 0;
    if (width < 2 || M % width) continue;
    PetscCall(ForEntries(A, zeros, [&](PetscInt i, PetscInt j) {
      wrong |= PetscAbs(i % width - j % width) > 1 || PetscAbs(i / width - j / width) > 1;
    }));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
    if (wrong) continue;
    *nx = width;
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

// A block of a matrix comes without the DM of the whole one, and PETSc has no way from the solver of the block to the
// solver around it: the couplings of the rows tell the grid. Whatever nodes they get, a coupling that is none with a
// neighbour is refused at the reading.
PetscErrorCode GridMatrix::GridFromRows(PC pc, bool *found)
{
  Mat       A;
  PetscInt  M, m, first, nx = 0;
  MatInfo   info;
  Placement placement;

  PetscFunctionBegin;
  *found = false;
  PetscCall(PCGetOperators(pc, nullptr, &A));
  PetscCall(LocalMatrix(A));
  PetscCall(MatGetSize(A_, &M, nullptr));
  PetscCall(MatGetLocalSize(A_, &m, nullptr));
  PetscCall(MatGetOwnershipRange(A_, &first, nullptr));
  PetscCall(MatGetInfo(A_, MAT_GLOBAL_SUM, &info));
  grid_ = Grid();
  for (bool zeros : {true, false}) { // what is stored, first: it may be more regular than the values are
    PetscCall(NaturalOrder(A_, zeros, &nx));
    if (nx) {
      PetscCall(GridFromSizes(pc, nx, M / nx));
      from_  = "couplings of the rows";
      *found = true;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  if (info.nz_used > 20. * (double)M) PetscFunctionReturn(PETSC_SUCCESS); // no rows of nine points
  for (bool zeros : {true, false}) {
    Pattern pattern;
    PetscCall(GatherPattern(A_, 1, zeros, pattern));
    if (!pattern.rows()) break;
    TesseraCallCXX(*found = place_on_grid(pattern, placement));
    if (*found) break;
  }
  if (!*found) PetscFunctionReturn(PETSC_SUCCESS);
  const int   size = (int)first_.size() - 1;
  PetscMPIInt rank;
  IS          rows;
  PetscCallMPI(MPI_Comm_rank(comm_, &rank));
  grid_.nx     = placement.nx;
  grid_.ny     = placement.ny;
  grid_.xsplit = {0, grid_.nx};
  grid_.ysplit.clear();
  for (int r = 0; r <= size; ++r) grid_.ysplit.push_back((int)((PetscInt64)grid_.ny * r / size));
  std::vector<PetscInt> nodes(placement.node.begin() + first, placement.node.begin() + first + m);
  PetscCall(ISCreateGeneral(comm_, m, nodes.data(), PETSC_COPY_VALUES, &rows));
  PetscCall(Distribute(A_, rows, (PetscInt)grid_.box(rank).size()));
  PetscCall(ISDestroy(&rows));
  from_ = "couplings of the rows";
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The matrix' rows are these nodes of the grid, in the numbering of its boxes; own: nodes of this process.
PetscErrorCode GridMatrix::Distribute(Mat A, IS rows, PetscInt own)
{
  Vec             x;
  PetscInt        m, first;
  const PetscInt *nodes;
  IS              all;

  PetscFunctionBegin;
  moved_ = placed_ = true;
  PetscCall(ISGetLocalSize(rows, &m));
  PetscCall(ISGetIndices(rows, &nodes));
  place_.assign(nodes, nodes + m);
  PetscCall(ISRestoreIndices(rows, &nodes));
  for (size_t r = 0; r + 1 < first_.size(); ++r) first_[r + 1] = first_[r] + (PetscInt)grid_.box((int)r).size();
  PetscCall(MatCreateVecs(A, &x, nullptr));
  PetscCall(VecGetOwnershipRange(x, &first, nullptr));
  row_ = first;
  PetscCall(VecCreate(comm_, &rows_.work));
  PetscCall(VecSetSizes(rows_.work, own, first_.back()));
  PetscCall(VecSetType(rows_.work, VECSTANDARD));
  PetscCall(ISCreateStride(comm_, m, first, 1, &all));
  PetscCall(VecScatterCreate(x, all, rows_.work, rows, &rows_.scatter));
  PetscCall(ISDestroy(&all));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The matrix on all nodes of the grid; those that are none of its rows get rows of the identity.
PetscErrorCode GridMatrix::Expand()
{
  Mat                   own, others = nullptr;
  Vec                   x, places;
  const PetscInt       *columns = nullptr, *js;
  PetscInt              first, last, n, begin, count = 0;
  const PetscScalar    *values, one = 1;
  PetscScalar          *array;
  PetscBool             seq;
  std::vector<PetscInt> nodes, to; // of other processes' columns; of a row's

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A_, MATSEQAIJ, &seq));
  if (!seq) PetscCall(MatMPIAIJGetSeqAIJ(A_, &own, &others, &columns));
  PetscCall(MatGetOwnershipRange(A_, &first, &last));
  PetscCall(VecGetLocalSize(rows_.work, &n));
  PetscCall(VecGetOwnershipRange(rows_.work, &begin, nullptr));
  PetscCall(MatCreateVecs(A_, &x, nullptr));
  if (others) { // their places come as values
    IS         wanted;
    VecScatter scatter;
    PetscCall(MatGetSize(others, nullptr, &count));
    PetscCall(VecGetArrayWrite(x, &array));
    std::copy(place_.begin(), place_.end(), array);
    PetscCall(VecRestoreArrayWrite(x, &array));
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, count, &places));
    PetscCall(ISCreateGeneral(PETSC_COMM_SELF, count, columns, PETSC_COPY_VALUES, &wanted));
    PetscCall(VecScatterCreate(x, wanted, places, nullptr, &scatter));
    PetscCall(VecScatterBegin(scatter, x, places, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(scatter, x, places, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecGetArrayRead(places, &values));
    for (PetscInt c = 0; c < count; ++c) nodes.push_back((PetscInt)PetscRealPart(values[c]));
    PetscCall(VecRestoreArrayRead(places, &values));
    PetscCall(VecScatterDestroy(&scatter));
    PetscCall(ISDestroy(&wanted));
    PetscCall(VecDestroy(&places));
  }
  if (rows_.matrix) PetscCall(MatZeroEntries(rows_.matrix));
  else {
    PetscCall(MatCreateAIJ(comm_, n, n, first_.back(), first_.back(), 9, nullptr, 8, nullptr, &rows_.matrix));
    PetscCall(MatSetOption(rows_.matrix, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  }
  for (PetscInt row = first; row < last; ++row) {
    PetscCall(MatGetRow(A_, row, &count, &js, &values));
    to.resize((size_t)count);
    for (PetscInt e = 0; e < count; ++e)
      to[(size_t)e] = js[e] >= first && js[e] < last
                      ? place_[(size_t)(js[e] - first)]
                      : nodes[(size_t)(std::lower_bound(columns, columns + nodes.size(), js[e]) - columns)];
    PetscCall(MatSetValues(rows_.matrix, 1, &place_[(size_t)(row - first)], count, to.data(), values, INSERT_VALUES));
    PetscCall(MatRestoreRow(A_, row, &count, &js, &values));
  }
  PetscCall(VecSet(x, 1));
  PetscCall(VecSet(rows_.work, 0));
  PetscCall(rows_.Bring(x, rows_.work));
  PetscCall(VecGetArrayRead(rows_.work, &values));
  for (PetscInt i = 0; i < n; ++i) {
    const PetscInt node = begin + i;
    if (values[i] == 0) PetscCall(MatSetValues(rows_.matrix, 1, &node, 1, &node, &one, INSERT_VALUES));
  }
  PetscCall(VecRestoreArrayRead(rows_.work, &values));
  PetscCall(VecDestroy(&x));
  PetscCall(MatAssemblyBegin(rows_.matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(rows_.matrix, MAT_FINAL_ASSEMBLY));
  A_ = rows_.matrix;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A report names nodes by their places on the grid: the rows of the matrix that these are. Collective.
PetscErrorCode GridMatrix::NameRows(OperatorReport &report)
{
  PetscInt *const names[] = {&report.row, &report.column};

  PetscFunctionBegin;
  if (!placed_ || report.kind == WrongRow::fine) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt *name : names) {
    const auto at   = std::find(place_.begin(), place_.end(), *name);
    PetscInt   mine = at == place_.end() ? -1 : row_ + (PetscInt)(at - place_.begin());
    PetscCallMPI(MPI_Allreduce(&mine, name, 1, MPIU_INT, MPI_MAX, comm_));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
