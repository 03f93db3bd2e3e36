// Rows of a matrix that are to be on other processes than they are, in the same order.
#pragma once
#include "petsc/compat.h"
#include <petscmat.h>

namespace tessera {

struct MovedRows {
  IS         rows    = nullptr; // this process's
  Vec        work    = nullptr;
  VecScatter scatter = nullptr; // from a vector of the matrix to `work`
  Mat        matrix  = nullptr;

  ~MovedRows() { (void)Reset(); }
  PetscErrorCode Reset();
  // This process is to have `count` rows of A from `first` on.
  PetscErrorCode Create(MPI_Comm comm, Mat A, PetscInt first, PetscInt count);
  PetscErrorCode Matrix(Mat A);   // `matrix`: A with its rows there
  // from a vector of the matrix to one like `work`, and back
  PetscErrorCode Bring(Vec from, Vec to);
  PetscErrorCode TakeBack(Vec from, Vec to);
};

} // namespace tessera
