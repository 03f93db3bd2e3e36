#include "petsc/nodes.hpp"

namespace tessera {

static PetscErrorCode FindGhosts(Mat A, PetscInt bs, Space space, const LocalRows &rows, GhostNodes *ghosts)
{
  const PetscInt  *ranges;
  std::vector<int> column((size_t)rows.others);
  PetscInt         last = -1;
  PetscMPIInt      rank = 0;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRanges(A, &ranges));
  for (PetscInt c = 0; c < rows.others; ++c) {
    const PetscInt k = rows.columns[c];
    while (k >= ranges[rank + 1]) ++rank; // columns ascend
    if (k / bs != last) {
      last = k / bs;
      ghosts->owner.push_back(rank);
      ghosts->index.push_back((int)(last - ranges[rank] / bs));
    }
    column[(size_t)c] = (int)((PetscInt)(ghosts->owner.size() - 1) * bs + k % bs);
  }
  TesseraCallCXX(ghosts->column = copy_to(space, column));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReadRows(const Comm &comm, const char *who, Mat A, PetscInt bs, Space space, LocalRows *local,
                        GhostNodes *ghosts, MatrixRows *rows)
{
  MatInfo   info;
  PetscBool counts; // a matrix that is made of others may not

  PetscFunctionBegin;
  PetscCall(SameError(comm, local->Get(A, space, who)));
  PetscCall(MatHasOperation(A, MATOP_GETINFO, &counts));
  if (counts) PetscCall(MatGetInfo(A, MAT_GLOBAL_MAX, &info));
  PetscCheck(!counts || info.nz_used < 2147483647., comm, PETSC_ERR_SUP,
             "%s works with less than 2^31 entries of the matrix on a process: here are %.0f. Use more processes",
             who, info.nz_used);
  PetscCall(FindGhosts(A, bs, space, *local, ghosts));
  rows->n      = (int)(local->n / bs);
  rows->ghosts = (int)ghosts->owner.size();
  rows->i      = local->i;
  rows->j      = local->j;
  rows->a      = local->a;
  rows->oi     = local->oi;
  rows->oj     = local->oj;
  rows->o      = local->o;
  rows->ghost  = ghosts->column.data();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FindBlockSize(PetscObject solver, const char *who, Mat A, const Coordinates *given, const char *hint,
                             PetscInt *bs)
{
  const MPI_Comm comm = PetscObjectComm(solver);
  PetscInt       m, M, N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &M, &N));
  PetscCheck(M == N, comm, PETSC_ERR_ARG_SIZ,
             "%s needs a square matrix: this one has %" PetscInt_FMT " rows and %" PetscInt_FMT " columns", who, M, N);
  PetscCall(MatGetBlockSize(A, bs));
  if (given && given->dim) {
    PetscCall(MatGetLocalSize(A, &m, nullptr));
    const PetscInt points = (PetscInt)given->x.size() / given->dim;
    PetscInt       mine[2] = {m, points}, all[2];
    PetscCallMPI(MPI_Allreduce(mine, all, 2, MPIU_INT, MPI_SUM, comm));
    const PetscInt k = all[1] ? all[0] / all[1] : 0;
    PetscInt       wrong = k < 1 || points * k != m || (*bs > 1 && k != *bs), any;
    PetscCallMPI(MPI_Allreduce(&wrong, &any, 1, MPIU_INT, MPI_MAX, comm));
    PetscCheck(!any, comm, PETSC_ERR_ARG_SIZ,
               "%s: PCSetCoordinates() gave %" PetscInt_FMT " points, the matrix has %" PetscInt_FMT
               " rows with block size %" PetscInt_FMT
               ": each process must give a point for each of its nodes, which have the same number of rows. Several "
               "unknowns per node need MatSetBlockSize() before the rows are divided among processes",
               who, all[1], all[0], *bs);
    *bs = k;
  }
  PetscCheck(*bs >= 1 && *bs <= tree::max_block_size, comm, PETSC_ERR_SUP,
             "%s works with 1 to %d unknowns per node: here are %" PetscInt_FMT
             " (the matrix' block size, or rows by points of PCSetCoordinates())%s",
             who, tree::max_block_size, *bs, hint);
  PetscCheck(M / *bs < 2000000000, comm, PETSC_ERR_SUP, "%s works with less than 2e9 nodes: here are %" PetscInt_FMT,
             who, M / *bs);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
