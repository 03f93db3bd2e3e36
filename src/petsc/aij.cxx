#include "petsc/aij.hpp"
#include "core/expected.hpp"

namespace tessera {

PetscErrorCode LocalRows::Reset()
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&converted_));
  own_   = Block();
  other_ = Block();
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Does this PETSc refuse to give the rows of a MATSEQAIJCUSPARSE on the device? The host has them in any case.
static PetscErrorCode HidesRows(Mat A, bool *hides)
{
  PetscBool cusparse = PETSC_FALSE;

  PetscFunctionBegin;
  if (COMPAT_CUSPARSE_HIDES_ROWS) PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJCUSPARSE, &cusparse));
  *hides = cusparse;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LocalRows::OnDevice(Mat A, bool *device)
{
  PetscBool    seq, mpi;
  PetscMemType where = PETSC_MEMTYPE_HOST;
  bool         hides;

  PetscFunctionBegin;
  *device = false;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &seq));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  if (!seq && !mpi) PetscFunctionReturn(PETSC_SUCCESS);
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(A, &A, nullptr, nullptr));
  PetscCall(HidesRows(A, &hides));
  if (!hides) PetscCall(MatSeqAIJGetCSRAndMemType(A, nullptr, nullptr, nullptr, &where));
  *device = PetscMemTypeDevice(where);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if !COMPAT_CUSPARSE_ROWS
// Are there empty rows? On the device an older MATAIJCUSPARSE may leave them out. The host has the beginnings of rows in any case.
static PetscErrorCode HasGaps(Mat A, bool *gaps)
{
  const PetscInt *i, *j;
  PetscInt        rows;
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &i, &j, &done));
  *gaps = !done;
  for (PetscInt p = 0; done && p < rows; ++p) *gaps = *gaps || i[p] == i[p + 1];
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &i, &j, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode LocalRows::Get(Block &block, Space space)
{
  PetscInt     rows;
  PetscBool    done = PETSC_FALSE;
  bool         gaps = false, hides;
  PetscMemType where;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(HidesRows(block.A, &hides));
  if (space == Space::cuda && !hides) {
    PetscCall(MatSeqAIJGetCSRAndMemType(block.A, &block.i, &block.j, &a, &where));
#if !COMPAT_CUSPARSE_ROWS
    if (!PetscMemTypeHost(where)) PetscCall(HasGaps(block.A, &gaps)); // then rows and values come from the host
#endif
    if (!PetscMemTypeHost(where) && !gaps) {
#if COMPAT_CUSPARSE_ROWS
      PetscBool cusparse; // rows that are empty are not among the others
      PetscCall(PetscObjectTypeCompare((PetscObject)block.A, MATSEQAIJCUSPARSE, &cusparse));
      if (cusparse) PetscCall(MatSeqAIJCUSPARSEGetIJ(block.A, PETSC_FALSE, &block.i, &block.j));
#endif
      block.host = false;
      block.got  = true;
      block.a    = a;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall(MatGetRowIJ(block.A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &block.i, &block.j, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "The rows of this kind of AIJ matrix are not to be had");
  PetscCall(MatSeqAIJGetArrayRead(block.A, &block.a));
  block.host = true;
  block.got  = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LocalRows::Restore(Block &block)
{
  PetscInt  rows;
  PetscBool done;

  PetscFunctionBegin;
  if (block.got && block.host) {
    PetscCall(MatSeqAIJRestoreArrayRead(block.A, &block.a));
    PetscCall(MatRestoreRowIJ(block.A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &block.i, &block.j, &done));
  }
  block.got     = false;
  block.rows    = Buffer<PetscInt>();
  block.columns = Buffer<PetscInt>();
  block.values  = Buffer<double>();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LocalRows::Get(Mat A, Space space, const char *who)
{
  PetscBool seq, mpi, shell;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &seq));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  if (!seq && !mpi) {
    PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSHELL, &shell));
    PetscCheck(!shell, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "%s needs the entries of the matrix, and a MATSHELL has none. Give an assembled matrix as Pmat", who);
    PetscCall(MatDestroy(&converted_));
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &converted_));
    A = converted_;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &seq));
  }
  columns  = nullptr;
  others   = 0;
  own_.A   = A;
  other_.A = nullptr;
  if (!seq) {
    PetscCall(MatMPIAIJGetSeqAIJ(A, &own_.A, &other_.A, &columns));
    PetscCall(MatGetSize(other_.A, nullptr, &others));
  }
  PetscCall(MatGetLocalSize(A, &n, nullptr));
  for (Block *block : {&own_, &other_}) {
    if (!block->A) continue;
    PetscCall(Get(*block, space));
    if (space == Space::cuda && block->host) {
      const PetscInt      entries = block->i[n];
      const device::Apart apart; // until Restore()
      TesseraCallCXX(block->rows.resize_unset(Extent{(size_t)n + 1, space}), block->columns.resize_unset(Extent{(size_t)entries, space}), block->values.resize_unset(Extent{(size_t)entries, space}));
      PetscCall(PetscLogCpuToGpu((PetscLogDouble)(block->rows.bytes() + block->columns.bytes() + block->values.bytes())));
      TesseraCallCXX(device::copy_from_host(block->rows.data(), block->i, block->rows.bytes()));
      if (entries) TesseraCallCXX(device::copy_from_host(block->columns.data(), block->j, block->columns.bytes()), device::copy_from_host(block->values.data(), block->a, block->values.bytes()));
      TesseraCallCXX(device::synchronize());
    }
  }
  const auto rows = [](const Block &b) { return (const Index *)(b.rows.size() ? b.rows.data() : b.i); };
  const auto cols = [](const Block &b) { return (const Index *)(b.rows.size() ? b.columns.data() : b.j); };
  const auto vals = [](const Block &b) { return b.rows.size() ? b.values.data() : b.a; };
  i  = rows(own_);
  j  = cols(own_);
  a  = vals(own_);
  oi = other_.A ? rows(other_) : nullptr;
  oj = other_.A ? cols(other_) : nullptr;
  o  = other_.A ? vals(other_) : nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LocalRows::Restore()
{
  PetscFunctionBegin;
  PetscCall(Restore(own_));
  PetscCall(Restore(other_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VectorRead::Get(Vec x, Space space, const double **values)
{
  PetscMemType where;
  PetscInt     n;

  PetscFunctionBegin;
  typed_ = space == Space::cuda;
  if (!typed_) {
    PetscCall(VecGetArrayRead(x, &array_));
    *values = array_;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayReadAndMemType(x, &array_, &where));
  *values = array_;
  if (PetscMemTypeHost(where) && n) {
    if (copy_.size() != (size_t)n) TesseraCallCXX(copy_.resize({(size_t)n, Space::cuda}));
    TesseraCallCXX(device::copy_from_host(copy_.data(), array_, copy_.bytes()));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)copy_.bytes()));
    TesseraCallCXX(device::synchronize()); // the caller may change x
    *values = copy_.data();
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VectorRead::Restore(Vec x)
{
  PetscFunctionBegin;
  if (typed_) PetscCall(VecRestoreArrayReadAndMemType(x, &array_));
  else PetscCall(VecRestoreArrayRead(x, &array_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VectorWrite::Get(Vec y, Space space, double **values)
{
  PetscMemType where;
  PetscInt     n;

  PetscFunctionBegin;
  typed_  = space == Space::cuda;
  copied_ = false;
  if (!typed_) {
    PetscCall(VecGetArrayWrite(y, &array_));
    *values = array_;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecGetLocalSize(y, &n));
  PetscCall(VecGetArrayWriteAndMemType(y, &array_, &where));
  *values = array_;
  if (PetscMemTypeHost(where) && n) {
    if (copy_.size() != (size_t)n) TesseraCallCXX(copy_.resize({(size_t)n, Space::cuda}));
    copied_ = true;
    *values = copy_.data();
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VectorWrite::Restore(Vec y)
{
  PetscFunctionBegin;
  if (!typed_) {
    PetscCall(VecRestoreArrayWrite(y, &array_));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (copied_) {
    TesseraCallCXX(device::copy_to_host(array_, copy_.data(), copy_.bytes()));
    PetscCall(PetscLogGpuToCpu((PetscLogDouble)copy_.bytes()));
  }
  PetscCall(VecRestoreArrayWriteAndMemType(y, &array_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
