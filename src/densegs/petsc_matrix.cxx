// PETSc's dense matrices as arrays, and vectors on one process.
#include "densegs/solvers.hpp"
#include "petsc/aij.hpp"

PetscErrorCode tessera::DenseCheckType(PetscObject solver, const char *name, Mat A, bool aij)
{
  PetscBool dense;
  PetscInt  m, n;
  MatType   type;

  PetscFunctionBegin;
  PetscCall(CheckMatrix(solver, name, A));
  PetscCall(RequireEntries(A, name));
  PetscCall(MatGetSize(A, &m, &n));
  PetscCheck(m == n, PetscObjectComm(solver), PETSC_ERR_ARG_SIZ,
             "%s needs a square matrix, this one is %" PetscInt_FMT " x %" PetscInt_FMT, name, m, n);
  PetscCall(
    PetscObjectTypeCompareAny((PetscObject)A, &dense, MATSEQDENSE, MATMPIDENSE, "seqdensecuda", "mpidensecuda", ""));
  PetscCall(MatGetType(A, &type));
  PetscCheck(dense, PetscObjectComm(solver), PETSC_ERR_SUP,
             "%s works on dense matrices%s, this one is of type %s. Convert it with MatConvert(A, %s, ...), ask "
             "the DM for one with -dm_mat_type %s%s",
             name, aij ? " and MATAIJ" : "", type, aij ? "MATAIJ" : "MATDENSE", aij ? "aij" : "dense",
             aij ? "" : ", or use a method for sparse matrices");
  PetscCheck(m < (1 << 30), PetscObjectComm(solver), PETSC_ERR_SUP,
             "%s: %" PetscInt_FMT " unknowns are too many for a dense matrix", name, m);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::DenseOnDevice(Mat A, bool *device)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, "seqdensecuda", &is));
  *device = is == PETSC_TRUE;
#if PetscDefined(HAVE_CUDA)
  if (*device) {
    PetscBool bound;
    PetscCall(MatBoundToCPU(A, &bound));
    *device = !bound;
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::DenseGet(Mat A, Space wanted, DenseView *v)
{
  PetscBool distributed;
  bool      device;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &distributed, MATMPIDENSE, "mpidensecuda", ""));
  v->mat = A;
  if (distributed) PetscCall(MatDenseGetLocalMatrix(A, &v->mat));
  PetscCall(MatGetSize(v->mat, &v->rows, nullptr));
  PetscCall(MatDenseGetLDA(v->mat, &v->lda));
  PetscCall(DenseOnDevice(v->mat, &device));
  v->space = Space::host;
  (void)wanted;
#if PetscDefined(HAVE_CUDA)
  if (device && wanted == Space::cuda) {
    PetscCall(MatDenseCUDAGetArrayRead(v->mat, &v->values));
    v->space = Space::cuda;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(MatDenseGetArrayRead(v->mat, &v->values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::DenseRestore(DenseView *v)
{
  PetscFunctionBegin;
  if (!v->mat) PetscFunctionReturn(PETSC_SUCCESS); // a sparse matrix in its place
#if PetscDefined(HAVE_CUDA)
  if (v->space == Space::cuda) {
    PetscCall(MatDenseCUDARestoreArrayRead(v->mat, &v->values));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  PetscCall(MatDenseRestoreArrayRead(v->mat, &v->values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::GatherVector(Vec v, std::vector<double> &all)
{
  MPI_Comm           comm = PetscObjectComm((PetscObject)v);
  const PetscScalar *values;
  PetscInt           n, N;
  int                size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetSize(v, &N));
  all.resize((size_t)N);
  PetscCall(VecGetArrayRead(v, &values));
  if (size == 1) std::copy(values, values + n, all.begin());
  else {
    int              count = (int)n;
    std::vector<int> counts((size_t)size), first((size_t)size);
    PetscCallMPI(MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, comm));
    for (size_t r = 1; r < (size_t)size; ++r) first[r] = first[r - 1] + counts[r - 1];
    PetscCallMPI(MPI_Allgatherv(values, count, MPI_DOUBLE, all.data(), counts.data(), first.data(), MPI_DOUBLE, comm));
  }
  PetscCall(VecRestoreArrayRead(v, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::ScatterVector(const std::vector<double> &all, Vec v)
{
  PetscScalar *values;
  PetscInt     first, last;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(v, &first, &last));
  PetscCall(VecGetArray(v, &values));
  std::copy(all.begin() + first, all.begin() + last, values);
  PetscCall(VecRestoreArray(v, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}
