#include "petsc/entries.hpp"
#include "petsc/device.hpp"
#include <petsc/private/pcimpl.h>

namespace tessera {

PetscErrorCode MatrixOf(PC pc, PetscInt bs, const Entries &e, Mat *A)
{
  PetscBool             seq, mpi;
  MatType               type = MATAIJ;
  std::vector<PetscInt> rows, columns;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)pc->pmat, MATSEQAIJ, &seq));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)pc->pmat, MATMPIAIJ, &mpi));
  if (seq || mpi) PetscCall(MatGetType(pc->pmat, &type));
  TesseraCallCXX(rows.assign(e.row.begin(), e.row.end()), columns.assign(e.column.begin(), e.column.end()));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)pc), A));
  PetscCall(MatSetSizes(*A, e.rows, e.columns, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetPreallocationCOO(*A, (PetscCount)rows.size(), rows.data(), columns.data()));
  PetscCall(MatSetValuesCOO(*A, e.value.data(), ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
