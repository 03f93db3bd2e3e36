#include "densegs/sparse_lu.hpp"
#include "petsc/compat.h"
#include <petsc/private/petscimpl.h>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace tessera::densegs {

// What the numerics know of errors are exceptions; the type files make error codes of them again.
static void check(PetscErrorCode ierr)
{
  if (ierr) throw std::runtime_error("a sparse factorisation has failed; the error above says why");
}

SparseLU::SparseLU(std::vector<PetscInt> start, std::vector<PetscInt> column) :
  start_(std::move(start)), column_(std::move(column)), value_(column_.size(), 0)
{
  check(Create());
}

SparseLU::~SparseLU()
{
  (void)VecDestroy(&right_);
  (void)VecDestroy(&solution_);
  (void)MatDestroy(&factor_);
  (void)MatDestroy(&matrix_);
}

PetscErrorCode SparseLU::Create()
{
  const PetscInt n = (PetscInt)start_.size() - 1;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, n, n, start_.data(), column_.data(), value_.data(), &matrix_));
  PetscCall(MatCreateVecs(matrix_, &solution_, &right_));
  for (MatSolverType type : {MATSOLVERPETSC, MATSOLVERMUMPS, MATSOLVERUMFPACK, MATSOLVERSUPERLU}) {
    PetscBool available;
    PetscCall(MatGetFactorAvailable(matrix_, type, MAT_FACTOR_LU, &available));
    if (!available) continue;
    solver_ = type;
    break;
  }
  PetscCheck(solver_, PETSC_COMM_SELF, PETSC_ERR_SUP, "PETSc has no LU factorization of sparse matrices");
  PetscCall(MatGetFactor(matrix_, solver_, MAT_FACTOR_LU, &factor_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SparseLU::Symbolic(bool *fine)
{
  MatFactorInfo  info;
  MatFactorError error;
  IS             rows = nullptr, columns = nullptr;
  void (*minimum_degree)(void);

  PetscFunctionBegin;
  PetscCall(PetscFunctionListFind(MatOrderingList, "amd", &minimum_degree)); // there with SuiteSparse
  PetscCall(MatFactorInfoInitialize(&info));
  info.fill = 10;
  // others than PETSc's own have their own orders
  PetscCall(MatGetOrdering(matrix_, minimum_degree ? "amd" : MATORDERINGND, &rows, &columns));
  PetscCall(MatLUFactorSymbolic(factor_, matrix_, rows, columns, &info));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscCall(MatFactorGetError(factor_, &error));
  *fine = ordered_ = !error;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SparseLU::Numeric(bool *fine)
{
  MatFactorInfo  info;
  MatFactorError error;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateIncrease((PetscObject)matrix_)); // the values are new
  *fine = true;
  if (!ordered_) PetscCall(Symbolic(fine));
  if (!*fine) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatFactorClearError(factor_));
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(MatLUFactorNumeric(factor_, matrix_, &info));
  PetscCall(MatFactorGetError(factor_, &error));
  *fine = !error;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SparseLU::Solve(double *b)
{
  const PetscScalar *x;
  const PetscInt     n = (PetscInt)start_.size() - 1;

  PetscFunctionBegin;
  PetscCall(VecPlaceArray(right_, b));
  PetscCall(MatSolve(factor_, right_, solution_));
  PetscCall(VecResetArray(right_));
  PetscCall(VecGetArrayRead(solution_, &x));
  std::copy(x, x + n, b);
  PetscCall(VecRestoreArrayRead(solution_, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool SparseLU::factor()
{
  bool fine = false;
  if (!std::all_of(value_.begin(), value_.end(), [](double v) { return std::isfinite(v); })) return false;
  check(Numeric(&fine));
  return fine;
}

void SparseLU::solve(double *b) { check(Solve(b)); }

} // namespace tessera::densegs
