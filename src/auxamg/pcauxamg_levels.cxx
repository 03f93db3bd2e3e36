#include "auxamg/pcauxamg_levels.hpp"
#include "auxamg/entries.hpp"
#include "auxamg/pcauxamg.hpp"

using tessera::PC_AuxAMG;
using tessera::auxamg::Entries;

// The list, as a matrix of the kind that pc has; the list is used up.
static PetscErrorCode MakeMatrix(PC pc, Entries &e, Mat *A)
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
  PetscCall(MatSetBlockSize(*A, ((PC_AuxAMG *)pc->data)->bs));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetPreallocationCOO(*A, (PetscCount)rows.size(), rows.data(), columns.data()));
  PetscCall(MatSetValuesCOO(*A, e.value.data(), ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// From the last grid on, as PCMG counts.
static PetscErrorCode GetMatrices(PC pc, bool operators, PetscInt *number, Mat *matrices[])
{
  PC_AuxAMG *a = (PC_AuxAMG *)pc->data;
  size_t     grids = 0;

  PetscFunctionBegin;
  PetscCheck(a->current && a->ready && !a->failed, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_WRONGSTATE, "PC auxamg has no grids yet, or its setup has failed: call PCSetUp() first");
  PetscCall(tessera::UseCurrentStream(a->exec.space));
  tessera::WithHierarchy(a, [&](auto &h) { grids = h.levels().size(); });
  PetscCall(PetscMalloc1(grids, matrices)); // one more than there are, as PCMG does
  for (size_t k = 0; k + 1 < grids; ++k) {
    Entries e;
    TesseraCallCXX(tessera::WithHierarchy(a, [&](auto &h) { e = operators ? grid_operator(h, a->comm, (int)a->bs, grids - 1 - k) : interpolation(h, a->comm, (int)a->bs, grids - 2 - k); }));
    PetscCall(MakeMatrix(pc, e, &(*matrices)[k]));
  }
  *number = (PetscInt)grids;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::GetInterpolationsAuxAMG(PC pc, PetscInt *number, Mat *matrices[])
{
  PetscFunctionBegin;
  PetscCall(GetMatrices(pc, false, number, matrices));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::GetCoarseOperatorsAuxAMG(PC pc, PetscInt *number, Mat *matrices[])
{
  PetscFunctionBegin;
  PetscCall(GetMatrices(pc, true, number, matrices));
  PetscFunctionReturn(PETSC_SUCCESS);
}
