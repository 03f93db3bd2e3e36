// The columns of dense matrices in the memory of a space, a group at a time: their own arrays where they lie there,
// else copies.
#pragma once
#include "exec/buffer.hpp"
#include "petsc/device.hpp"
#include <petscmat.h>

namespace tessera {

class Columns {
public:
  static constexpr PetscInt max_group = 8; // of a group
  // f(number, from, stride_from, to, stride_to) makes the columns of Y from those of X, group after group; both have
  // the same rows.
  template <class F> PetscErrorCode Each(Mat X, Mat Y, Space space, const F &f)
  {
    PetscInt      N;
    const double *from;
    double       *to;

    PetscFunctionBegin;
    PetscCall(MatGetSize(X, nullptr, &N));
    PetscCall(Open(X, Y, space));
    for (PetscInt first = 0; first < N; first += max_group) {
      const PetscInt number = PetscMin(max_group, N - first);
      PetscCall(Get(first, number, &from, &to));
      TesseraCallCXX(f((int)number, from, (ptrdiff_t)stride_from_, to, (ptrdiff_t)stride_to_));
      PetscCall(Put(first, number));
    }
    PetscCall(Close(X, Y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  // All of Y's.
  static PetscErrorCode Set(Mat Y, double value);

private:
  PetscErrorCode Open(Mat X, Mat Y, Space space);
  PetscErrorCode Get(PetscInt first, PetscInt number, const double **from, double **to);
  PetscErrorCode Put(PetscInt first, PetscInt number);
  PetscErrorCode Close(Mat X, Mat Y);
  Buffer<double> copy_from_, copy_to_;
  const double  *from_ = nullptr;
  double        *to_   = nullptr;
  PetscInt       rows_ = 0, lda_from_ = 0, lda_to_ = 0, stride_from_ = 0, stride_to_ = 0;
  bool           typed_ = false, copies_from_ = false, copies_to_ = false;
};

// FailApplication() of petsc/device.hpp for a block
PetscErrorCode FailApplication(MPI_Comm comm, Mat Y, bool within, const char *who, PCFailedReason *reason);

} // namespace tessera
