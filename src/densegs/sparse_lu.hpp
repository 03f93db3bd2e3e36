// LU factorisations on one process of sparse matrices that share a pattern, by PETSc's own solver, which takes
// a tenth of the time of others with a plain BLAS, or by one that PETSc was configured with.
#pragma once
#include <petscmat.h>
#include <vector>

namespace tessera::densegs {

class SparseLU {
public:
  // Rows in order, with the columns of each one; every row has its diagonal. Values are zero.
  SparseLU(std::vector<PetscInt> start, std::vector<PetscInt> column);
  ~SparseLU();
  SparseLU(const SparseLU &)            = delete;
  SparseLU &operator=(const SparseLU &) = delete;

  double                      *values() { return value_.data(); } // in the order of the columns
  const std::vector<PetscInt> &start() const { return start_; }
  const std::vector<PetscInt> &column() const { return column_; }
  bool                         factor();         // false: singular
  void                         solve(double *b); // b := A^-1 b
  const char                  *solver() const { return solver_; }

private:
  PetscErrorCode Create();
  PetscErrorCode Symbolic(bool *fine);
  PetscErrorCode Numeric(bool *fine);
  PetscErrorCode Solve(double *b);

  std::vector<PetscInt> start_, column_;
  std::vector<double>   value_;
  Mat                   matrix_ = nullptr, factor_ = nullptr;
  Vec                   right_ = nullptr, solution_ = nullptr;
  MatSolverType         solver_  = nullptr;
  bool                  ordered_ = false; // the symbolic factorisation is there
};

} // namespace tessera::densegs
