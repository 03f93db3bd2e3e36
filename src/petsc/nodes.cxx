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

} // namespace tessera
