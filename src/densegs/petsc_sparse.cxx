// PETSc's sparse matrices as entries, all of them on every process.
#include "densegs/solvers.hpp"
#include "petsc/aij.hpp"

PetscErrorCode tessera::IsSparse(Mat A, bool *sparse)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &is, MATSEQAIJ, MATMPIAIJ, ""));
  *sparse = is == PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The rows of a MATSEQAIJ as columns.
static PetscErrorCode ByColumns(Mat A, tessera::lcp::Entries *e)
{
  PetscInt           n;
  const PetscInt    *start, *column;
  const PetscScalar *values;
  PetscBool          done;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &start, &column, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "SNES vipgs cannot read the rows of this matrix");
  PetscCall(MatSeqAIJGetArrayRead(A, &values));
  const size_t entries = (size_t)start[n];
  TesseraCallCXX(e->start.assign((size_t)n + 1, 0), e->row.resize(entries), e->value.resize(entries));
  for (size_t k = 0; k < entries; ++k) ++e->start[(size_t)column[k] + 1];
  for (size_t j = 0; j < (size_t)n; ++j) e->start[j + 1] += e->start[j];
  std::vector<size_t> next;
  TesseraCallCXX(next.assign(e->start.begin(), e->start.end() - 1));
  for (PetscInt i = 0; i < n; ++i)
    for (PetscInt k = start[i]; k < start[i + 1]; ++k) {
      const size_t to = next[(size_t)column[k]]++;
      e->row[to]      = (int)i;
      e->value[to]    = values[k];
    }
  PetscCall(MatSeqAIJRestoreArrayRead(A, &values));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &start, &column, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::SparseGet(PetscObject solver, Mat A, lcp::Entries *e)
{
  PetscInt m, n;
  int      size;
  IS       all;
  Mat     *whole;

  PetscFunctionBegin;
  PetscCall(CheckMatrix(solver, "SNES vipgs", A));
  PetscCall(MatGetSize(A, &m, &n));
  PetscCheck(m == n, PetscObjectComm(solver), PETSC_ERR_ARG_SIZ,
             "SNES vipgs needs a square matrix, this one is %" PetscInt_FMT " x %" PetscInt_FMT, m, n);
  PetscCheck(m < (1 << 30), PetscObjectComm(solver), PETSC_ERR_SUP,
             "SNES vipgs: %" PetscInt_FMT " unknowns with friction are too many", m);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  if (size == 1) {
    PetscCall(ByColumns(A, e));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(ISCreateStride(PETSC_COMM_SELF, n, 0, 1, &all));
  PetscCall(MatCreateSubMatrices(A, 1, &all, &all, MAT_INITIAL_MATRIX, &whole));
  PetscCall(ByColumns(whole[0], e));
  PetscCall(MatDestroySubMatrices(1, &whole));
  PetscCall(ISDestroy(&all));
  PetscFunctionReturn(PETSC_SUCCESS);
}
