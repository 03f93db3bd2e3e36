#include "petsc/aij.hpp"
#include "exec/reservation.hpp"
#include <petsc/private/petscimpl.h>
#include <cstring>

namespace tessera {

PetscErrorCode CheckMatrix(PetscObject solver, const char *who, Mat A)
{
  const MPI_Comm comm = PetscObjectComm(solver);
  MatType        type = nullptr;
  PetscBool      assembled;
  PetscLayout    rows, columns;
  int            size;

  PetscFunctionBegin;
  if (A) PetscCall(MatGetType(A, &type));
  PetscCheck(type, comm, PETSC_ERR_ARG_WRONGSTATE,
             "%s has no matrix: none was set (KSPSetOperators(), SNESSetJacobian(), TaoSetHessian()), or one that has "
             "no type yet",
             who);
  PetscCall(MatAssembled(A, &assembled));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  int mine = assembled, all = mine; // MatSetValues() is a process's own call
  if (size > 1) PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm));
  PetscCheck(all, comm, PETSC_ERR_ARG_WRONGSTATE,
             "%s: the matrix is not assembled. Call MatAssemblyBegin() and MatAssemblyEnd() on all processes after the "
             "last MatSetValues()",
             who);
  PetscCall(MatGetLayouts(A, &rows, &columns)); // MatConvert() to MATMPISELL leaves them unfinished
  PetscCall(PetscLayoutSetUp(rows));
  PetscCall(PetscLayoutSetUp(columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsAIJ(Mat A, PetscBool *aij)
{
  PetscBool mpi;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, aij));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  if (mpi) *aij = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// What a transpose or a product with itself stands for, which A knows by another one; nullptr: A is no such matrix.
static PetscErrorCode Inner(Mat A, Mat *inner)
{
  PetscBool is;

  PetscFunctionBegin;
  *inner = nullptr;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATTRANSPOSEVIRTUAL, &is));
  if (is) PetscCall(MatTransposeGetMat(A, inner));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATHERMITIANTRANSPOSEVIRTUAL, &is));
  if (is) PetscCall(MatHermitianTransposeGetMat(A, inner));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATNORMAL, &is));
  if (is) PetscCall(MatNormalGetMat(A, inner));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATNORMALHERMITIAN, &is));
  if (is) PetscCall(MatNormalHermitianGetMat(A, inner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// *without: nullptr, or the type of what there is in A that has neither its own conversion to AIJ nor rows to be
// read: MatConvert() would multiply with every unit vector.
static PetscErrorCode FindWithoutEntries(Mat A, MatType *without)
{
  MatType   type;
  char      name[256];
  void      (*convert)(void) = nullptr;
  PetscBool is, has;
  Mat       inner, **blocks;
  PetscInt  m, n;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  *without = nullptr;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATNEST, &is));
  if (is) {
    PetscCall(MatNestGetSubMats(A, &m, &n, &blocks));
    for (PetscInt k = 0; k < m * n && !*without; ++k)
      if (blocks[k / n][k % n]) PetscCall(FindWithoutEntries(blocks[k / n][k % n], without));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Inner(A, &inner));
  if (inner) {
    PetscCall(IsAIJ(inner, &has));
    if (!has) PetscCall(MatGetType(inner, without));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatHasOperation(A, MATOP_GET_ROW, &has));
  for (const char *to : {MATSEQAIJ, MATMPIAIJ, MATAIJ}) {
    if (has) break;
    PetscCall(PetscSNPrintf(name, sizeof(name), "MatConvert_%s_%s_C", type, to));
    PetscCall(PetscObjectQueryFunction((PetscObject)A, name, &convert));
    if (convert) has = PETSC_TRUE;
  }
  if (!has) *without = type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// PETSc converts a MATNEST of MATAIJ.
static PetscErrorCode ConvertNest(Mat A, const char *who, Mat *converted)
{
  PetscInt          m, n;
  Mat             **blocks, nest;
  std::vector<IS>   rows, columns;
  std::vector<Mat>  made, parts;

  PetscFunctionBegin;
  PetscCall(MatNestGetSubMats(A, &m, &n, &blocks));
  TesseraCallCXX(rows.resize((size_t)m), columns.resize((size_t)n), made.resize((size_t)(m * n)),
                 parts.resize((size_t)(m * n)));
  PetscCall(MatNestGetISs(A, rows.data(), columns.data()));
  for (PetscInt k = 0; k < m * n; ++k)
    if (blocks[k / n][k % n]) PetscCall(AsAIJ(blocks[k / n][k % n], who, &made[(size_t)k], &parts[(size_t)k]));
  PetscCall(MatCreateNest(PetscObjectComm((PetscObject)A), m, rows.data(), n, columns.data(), parts.data(), &nest));
  PetscCall(MatConvert(nest, MATAIJ, MAT_INITIAL_MATRIX, converted));
  PetscCall(MatDestroy(&nest));
  for (Mat &block : made) PetscCall(MatDestroy(&block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RequireEntries(Mat A, const char *who)
{
  MatType type, without;

  PetscFunctionBegin;
  PetscCall(FindWithoutEntries(A, &without));
  PetscCall(MatGetType(A, &type));
  const bool part = without && std::strcmp(type, without);
  PetscCheck(
    !without, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
    "%s needs the entries of the matrix, and one of type %s has none to read%s%s. Give an assembled matrix as Pmat: by "
    "KSPSetOperators(), by SNESSetJacobian() (-snes_mf_operator uses it), or by differences with -snes_fd_color",
    who, type, part ? " where it has a part of type " : "", part ? without : "");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AsAIJ(Mat A, const char *who, Mat *converted, Mat *aij)
{
  PetscBool        is, nest;
  PetscObjectState state;

  PetscFunctionBegin;
  *aij = A;
  PetscCall(IsAIJ(A, &is));
  if (is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(RequireEntries(A, who));
  PetscCall(MatDestroy(converted));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATNEST, &nest));
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (nest) PetscCall(ConvertNest(A, who, converted));
  else PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, converted));
  // MATMPIBAIJ counts its conversion as a change of its values, and PCSetUp() would set up again each time
  PetscCall(PetscObjectStateSet((PetscObject)A, state));
  *aij = *converted;
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
// Are there empty rows? On the device an older MATAIJCUSPARSE may leave them out. The host has the beginnings of rows
// in any case.
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

PetscErrorCode LocalRows::GetOnHost(Block &block)
{
  PetscInt  rows;
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(block.A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &block.i, &block.j, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "The rows of this kind of AIJ matrix are not to be had");
  PetscCall(MatSeqAIJGetArrayRead(block.A, &block.a));
  block.host = true;
  block.got  = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The matrix's own arrays where they lie there, else copies.
PetscErrorCode LocalRows::GetOnDevice(Block &block)
{
  bool         gaps = false, hides;
  PetscMemType where;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(HidesRows(block.A, &hides));
  if (!hides) {
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
  PetscCall(GetOnHost(block));
  const PetscInt                   entries = block.i[n];
  const device::OutsideReservation apart; // until Restore()
  TesseraCallCXX(block.rows.resize_unset(Extent{(size_t)n + 1, Space::cuda}),
                 block.columns.resize_unset(Extent{(size_t)entries, Space::cuda}),
                 block.values.resize_unset(Extent{(size_t)entries, Space::cuda}));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)(block.rows.bytes() + block.columns.bytes() + block.values.bytes())));
  TesseraCallCXX(device::copy_from_host(block.rows.data(), block.i, block.rows.bytes()));
  if (entries)
    TesseraCallCXX(device::copy_from_host(block.columns.data(), block.j, block.columns.bytes()),
                   device::copy_from_host(block.values.data(), block.a, block.values.bytes()));
  TesseraCallCXX(device::synchronize());
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
  PetscBool seq;

  PetscFunctionBegin;
  PetscCall(AsAIJ(A, who, &converted_, &A));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &seq));
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
    if (space == Space::host) PetscCall(GetOnHost(*block));
    else PetscCall(GetOnDevice(*block));
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

} // namespace tessera
