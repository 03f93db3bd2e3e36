#include "petsc/columns.hpp"
#include <algorithm>

namespace tessera {

PetscErrorCode Columns::Open(Mat X, Mat Y, Space space)
{
  PetscMemType where_from = PETSC_MEMTYPE_HOST, where_to = PETSC_MEMTYPE_HOST;

  PetscFunctionBegin;
  typed_ = space == Space::cuda;
  PetscCall(MatGetLocalSize(X, &rows_, nullptr));
  PetscCall(MatDenseGetLDA(X, &lda_from_));
  PetscCall(MatDenseGetLDA(Y, &lda_to_));
  if (typed_) {
    PetscCall(CompatDenseRead(X, &from_, &where_from, 0));
    PetscCall(CompatDenseWrite(Y, &to_, &where_to, 0));
  } else {
    PetscCall(MatDenseGetArrayRead(X, &from_));
    PetscCall(MatDenseGetArrayWrite(Y, &to_));
  }
  copies_from_ = typed_ && rows_ && PetscMemTypeHost(where_from);
  copies_to_   = typed_ && rows_ && PetscMemTypeHost(where_to);
  stride_from_ = copies_from_ ? rows_ : lda_from_;
  stride_to_   = copies_to_ ? rows_ : lda_to_;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Columns::Get(PetscInt first, PetscInt number, const double **from, double **to)
{
  const size_t   n = (size_t)rows_ * (size_t)number;
  const Extent   extent{n, Space::cuda};
  const double  *next = from_ + first * lda_from_;

  PetscFunctionBegin;
  *from = next;
  *to   = to_ + first * lda_to_;
  if (copies_from_) {
    if (copy_from_.size() < n) TesseraCallCXX(copy_from_.resize(extent));
    for (PetscInt k = 0; k < number; ++k)
      TesseraCallCXX(
        device::copy_from_host(copy_from_.data() + k * rows_, next + k * lda_from_, (size_t)rows_ * sizeof(double)));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)(n * sizeof(double))));
    TesseraCallCXX(device::synchronize()); // the caller may change X
    *from = copy_from_.data();
  }
  if (copies_to_) {
    if (copy_to_.size() < n) TesseraCallCXX(copy_to_.resize(extent));
    *to = copy_to_.data();
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Columns::Put(PetscInt first, PetscInt number)
{
  PetscFunctionBegin;
  if (!copies_to_) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < number; ++k)
    TesseraCallCXX(
      device::copy_to_host(to_ + (first + k) * lda_to_, copy_to_.data() + k * rows_, (size_t)rows_ * sizeof(double)));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)((size_t)(rows_ * number) * sizeof(double))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Columns::Close(Mat X, Mat Y)
{
  PetscFunctionBegin;
  if (typed_) {
    PetscCall(CompatDenseReadDone(X, &from_, 0));
    PetscCall(CompatDenseWriteDone(Y, &to_, 0));
  } else {
    PetscCall(MatDenseRestoreArrayRead(X, &from_));
    PetscCall(MatDenseRestoreArrayWrite(Y, &to_));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Columns::Set(Mat Y, double value)
{
  PetscInt rows, columns, lda;
  double  *values;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(Y, &rows, nullptr));
  PetscCall(MatGetSize(Y, nullptr, &columns));
  PetscCall(MatDenseGetLDA(Y, &lda));
  PetscCall(MatDenseGetArrayWrite(Y, &values));
  for (PetscInt k = 0; k < columns; ++k) std::fill(values + k * lda, values + k * lda + rows, value);
  PetscCall(MatDenseRestoreArrayWrite(Y, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FailApplication(MPI_Comm comm, Mat Y, bool within, const char *who, PCFailedReason *reason)
{
  PetscFunctionBegin;
  PetscCall(Columns::Set(Y, NAN));
  PetscCall(FailApplication(comm, within, who, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
