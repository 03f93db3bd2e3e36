#include "petsc/moved.hpp"

namespace tessera {

PetscErrorCode MovedRows::Reset()
{
  PetscFunctionBegin;
  PetscCall(ISDestroy(&rows));
  PetscCall(VecDestroy(&work));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(MatDestroy(&matrix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MovedRows::Create(MPI_Comm comm, Mat A, PetscInt first, PetscInt count)
{
  PetscInt M;
  Vec      x;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &M, nullptr));
  PetscCall(ISCreateStride(comm, count, first, 1, &rows));
  PetscCall(MatCreateVecs(A, &x, nullptr));
  PetscCall(VecCreate(comm, &work));
  PetscCall(VecSetSizes(work, count, M));
  PetscCall(VecSetType(work, VECSTANDARD));
  PetscCall(VecScatterCreate(x, rows, work, rows, &scatter));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MovedRows::Matrix(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreateSubMatrix(A, rows, rows, matrix ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &matrix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MovedRows::Bring(Vec from, Vec to)
{
  PetscFunctionBegin;
  PetscCall(VecScatterBegin(scatter, from, to, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, from, to, INSERT_VALUES, SCATTER_FORWARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MovedRows::TakeBack(Vec from, Vec to)
{
  PetscFunctionBegin;
  PetscCall(VecScatterBegin(scatter, from, to, INSERT_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterEnd(scatter, from, to, INSERT_VALUES, SCATTER_REVERSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
