// PETSc's sparse matrices, and products H M^-1 H' of them, as entries, all of them on every process.
#include "densegs/solvers.hpp"
#include "densegs/sparse_lu.hpp"
#include "petsc/aij.hpp"
#include <algorithm>
#include <memory>
#include <utility>

PetscErrorCode tessera::IsSparse(Mat A, bool *sparse)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &is, MATSEQAIJ, MATMPIAIJ, ""));
  *sparse = is == PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The rows of a MATSEQAIJ as columns, their rows ascending.
static PetscErrorCode ByColumns(Mat A, tessera::lcp::Entries *e)
{
  PetscInt           n;
  const PetscInt    *start, *column;
  const PetscScalar *values;
  PetscBool          done;
  PetscInt           columns;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, nullptr, &columns));
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &start, &column, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "SNES vipgs cannot read the rows of this matrix");
  PetscCall(MatSeqAIJGetArrayRead(A, &values));
  const size_t entries = (size_t)start[n];
  TesseraCallCXX(e->start.assign((size_t)columns + 1, 0), e->row.resize(entries), e->value.resize(entries));
  for (size_t k = 0; k < entries; ++k) ++e->start[(size_t)column[k] + 1];
  for (size_t j = 0; j < (size_t)columns; ++j) e->start[j + 1] += e->start[j];
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

// All of a MATAIJ on every process.
static PetscErrorCode Gather(Mat A, Mat *all)
{
  PetscInt m, n;
  int      size;
  IS       rows, columns;
  Mat     *whole;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  if (size == 1) {
    *all = A;
    PetscCall(PetscObjectReference((PetscObject)A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, m, 0, 1, &rows));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, n, 0, 1, &columns));
  PetscCall(MatCreateSubMatrices(A, 1, &rows, &columns, MAT_INITIAL_MATRIX, &whole));
  *all = whole[0];
  PetscCall(PetscObjectReference((PetscObject)*all));
  PetscCall(MatDestroySubMatrices(1, &whole));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::SparseGet(PetscObject solver, Mat A, lcp::Entries *e)
{
  PetscInt m, n;
  Mat      all;

  PetscFunctionBegin;
  PetscCall(CheckMatrix(solver, "SNES vipgs", A));
  PetscCall(MatGetSize(A, &m, &n));
  PetscCheck(m == n, PetscObjectComm(solver), PETSC_ERR_ARG_SIZ,
             "SNES vipgs needs a square matrix, this one is %" PetscInt_FMT " x %" PetscInt_FMT, m, n);
  PetscCheck(m < (1 << 30), PetscObjectComm(solver), PETSC_ERR_SUP,
             "SNES vipgs: %" PetscInt_FMT " unknowns are too many", m);
  PetscCall(Gather(A, &all));
  PetscCall(ByColumns(all, e));
  PetscCall(MatDestroy(&all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Pair(Mat A, Mat pair[2])
{
  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)A, "SNESVIPGS_H", (PetscObject *)&pair[0]));
  PetscCall(PetscObjectQuery((PetscObject)A, "SNESVIPGS_M", (PetscObject *)&pair[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::IsFactored(Mat A, bool *factored)
{
  Mat pair[2];

  PetscFunctionBegin;
  PetscCall(Pair(A, pair));
  PetscCheck(!pair[0] == !pair[1], PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "SNES vipgs: the matrix has %s of H M^-1 H' and not %s. Compose both with it, as SNESVIPGS_H and "
             "SNESVIPGS_M, or none", pair[0] ? "the factor H" : "the factor M", pair[0] ? "M" : "H");
  *factored = pair[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Both of them MATAIJ that fit each other and A.
static PetscErrorCode CheckPair(PetscObject solver, Mat A, Mat pair[2])
{
  PetscInt n, rows[2], columns[2];

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, nullptr));
  for (int k = 0; k < 2; ++k) {
    bool    sparse = false;
    MatType type;
    PetscCall(tessera::CheckMatrix(solver, "SNES vipgs", pair[k]));
    PetscCall(tessera::IsSparse(pair[k], &sparse));
    PetscCall(MatGetType(pair[k], &type));
    PetscCheck(sparse, PetscObjectComm(solver), PETSC_ERR_SUP,
               "SNES vipgs: %s of H M^-1 H' is of type %s. Convert it with MatConvert(.., MATAIJ, ...)", k ? "M" : "H",
               type);
    PetscCall(MatGetSize(pair[k], &rows[k], &columns[k]));
  }
  PetscCheck(rows[0] == n && rows[1] == columns[1] && columns[0] == rows[1], PetscObjectComm(solver),
             PETSC_ERR_ARG_SIZ,
             "SNES vipgs: H of H M^-1 H' is %" PetscInt_FMT " x %" PetscInt_FMT ", M %" PetscInt_FMT
             " x %" PetscInt_FMT ", for %" PetscInt_FMT " unknowns",
             rows[0], columns[0], rows[1], columns[1], n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The factorisation of M; *lu: nullptr where it is singular.
static PetscErrorCode FactorOf(Mat M, std::unique_ptr<tessera::densegs::SparseLU> *lu)
{
  PetscInt           n;
  const PetscInt    *start, *column;
  const PetscScalar *values;
  PetscBool          done;
  bool               fine = false;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(M, 0, PETSC_FALSE, PETSC_FALSE, &n, &start, &column, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "SNES vipgs cannot read the rows of M of H M^-1 H'");
  PetscCall(MatSeqAIJGetArrayRead(M, &values));
  const auto factorise = [&] {
    std::vector<PetscInt> s(start, start + n + 1), c(column, column + start[n]);
    lu->reset(new tessera::densegs::SparseLU(std::move(s), std::move(c)));
    std::copy(values, values + start[n], (*lu)->values());
    fine = (*lu)->factor();
  };
  TesseraCallCXX(factorise());
  PetscCall(MatSeqAIJRestoreArrayRead(M, &values));
  PetscCall(MatRestoreRowIJ(M, 0, PETSC_FALSE, PETSC_FALSE, &n, &start, &column, &done));
  if (!fine) lu->reset();
  PetscFunctionReturn(PETSC_SUCCESS);
}

// W's columns H M^-1 h_j' without their zeros. transposed: the columns of H', the rows of H.
static void Columns(const tessera::lcp::Entries &H, const tessera::lcp::Entries &transposed,
                    tessera::densegs::SparseLU &lu, tessera::lcp::Entries *e)
{
  const size_t        n = transposed.start.size() - 1, m = H.start.size() - 1;
  std::vector<double> y(m), w(n, 0);
  std::vector<int>    rows; // where w is not zero
  e->start.assign(1, 0);
  for (size_t j = 0; j < n; ++j) {
    std::fill(y.begin(), y.end(), 0);
    for (size_t k = transposed.start[j]; k < transposed.start[j + 1]; ++k)
      y[(size_t)transposed.row[k]] = transposed.value[k];
    lu.solve(y.data());
    rows.assign(1, (int)j); // the diagonal is there
    for (size_t i = 0; i < m; ++i)
      for (size_t k = H.start[i]; y[i] != 0 && k < H.start[i + 1]; ++k) {
        double &at = w[(size_t)H.row[k]];
        if (at == 0 && H.row[k] != (int)j) rows.push_back(H.row[k]);
        at += H.value[k] * y[i];
      }
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    for (int i : rows) {
      e->row.push_back(i);
      e->value.push_back(std::exchange(w[(size_t)i], 0.));
    }
    e->start.push_back(e->row.size());
  }
}

PetscErrorCode tessera::FactoredGet(PetscObject solver, Mat A, lcp::Entries *e)
{
  Mat                                pair[2], H, M, T;
  lcp::Entries                       columns, rows;
  std::unique_ptr<densegs::SparseLU> lu;

  PetscFunctionBegin;
  PetscCall(Pair(A, pair));
  PetscCall(CheckPair(solver, A, pair));
  PetscCall(Gather(pair[0], &H));
  PetscCall(Gather(pair[1], &M));
  PetscCall(ByColumns(H, &columns));
  PetscCall(MatTranspose(H, MAT_INITIAL_MATRIX, &T));
  PetscCall(ByColumns(T, &rows));
  PetscCall(FactorOf(M, &lu));
  PetscCall(MatDestroy(&T));
  PetscCall(MatDestroy(&H));
  PetscCall(MatDestroy(&M));
  PetscCheck(lu, PetscObjectComm(solver), PETSC_ERR_MAT_LU_ZRPVT,
             "SNES vipgs: M of H M^-1 H' cannot be factorized: it is singular, has entries that are no numbers or a "
             "row without a diagonal entry");
  TesseraCallCXX(Columns(columns, rows, *lu, e));
  PetscFunctionReturn(PETSC_SUCCESS);
}
