// The local rows of an assembled matrix in the memory of a space.
#pragma once
#include "exec/buffer.hpp"
#include "exec/index.hpp"
#include "petsc/device.hpp"
#include <petscmat.h>

namespace tessera {

// Refuses a matrix that cannot be read: none given, or not assembled. `who` begins the message. Collective.
PetscErrorCode CheckMatrix(PetscObject solver, const char *who, Mat A);
// Refuses a matrix whose entries could only be had by products, or a MATNEST of which a part is such a matrix.
// Collective.
PetscErrorCode RequireEntries(Mat A, const char *who);
// *aij: A if it is a MATAIJ, else *converted, which is made anew. Refuses what RequireEntries() does. Collective.
PetscErrorCode AsAIJ(Mat A, const char *who, Mat *converted, Mat *aij);

// Own rows of a MATAIJ: the block of own columns and that of others.
class LocalRows {
public:
  ~LocalRows() { (void)Restore(), (void)Reset(); }
  PetscErrorCode Reset();
  // Are the values on the device?
  static PetscErrorCode OnDevice(Mat A, bool *device);
  // Another kind of matrix is converted; `who` begins the message where that is impossible.
  PetscErrorCode Get(Mat A, Space space, const char *who);
  PetscErrorCode Restore();
  const Index    *i = nullptr, *j = nullptr, *oi = nullptr, *oj = nullptr; // oi: nullptr where there are none
  const double   *a = nullptr, *o = nullptr;
  const PetscInt *columns = nullptr; // PETSc's number of each column of the other block; on the host
  PetscInt        n = 0, others = 0; // rows; columns of the other block

private:
  struct Block {
    Mat              A = nullptr;
    bool             host = false, got = false;
    const PetscInt  *i = nullptr, *j = nullptr;
    const double    *a = nullptr;
    Buffer<PetscInt> rows, columns;
    Buffer<double>   values;
  };
  PetscErrorCode GetOnHost(Block &block);
  PetscErrorCode GetOnDevice(Block &block);
  PetscErrorCode Restore(Block &block);
  Block own_, other_;
  Mat   converted_ = nullptr;
};

} // namespace tessera
