// Null spaces of singular symmetric matrices. Rounding leaves parts of them in residuals, which a preconditioner makes
// large where coefficients jump: (r, B r) becomes negative, and CG gives up. P B P with the orthogonal projection P
// knows nothing of them.
#pragma once
#include "exec/exec.hpp"
#include "petsc/compat.h"
#include <petsc/private/pcimpl.h>

namespace tessera {

class NullSpace {
public:
  ~NullSpace() { (void)Reset(); }
  PetscErrorCode Reset();
  // pc has been set up. Who needs the null space first looks for it, and again where the matrix has changed since, as
  // preconditioners may be reused.
  void           Expect()
  {
    expected_ = true;
    matrix_   = 0;
  }
  // *clean: r, or a copy without what r has of the null space. Collective.
  PetscErrorCode Clean(PC pc, Vec r, Vec *clean);
  PetscErrorCode Clean(PC pc, Mat R, Mat *clean);
  PetscErrorCode Get(PC pc, MatNullSpace *space); // nullptr: there is none. Collective.
  // f(v) for each of its vectors; nullptr: constants. Collective.
  template <class F> PetscErrorCode ForVectors(PC pc, const F &f)
  {
    MatNullSpace space;
    PetscBool    constant = PETSC_FALSE;
    PetscInt     n        = 0;
    const Vec   *vectors;

    PetscFunctionBegin;
    PetscCall(Get(pc, &space));
    if (space) PetscCall(MatNullSpaceGetVecs(space, &constant, &n, &vectors));
    for (PetscInt i = constant ? -1 : 0; i < n; ++i) PetscCall(f(i < 0 ? (Vec) nullptr : vectors[i]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  // Takes from z what it has of the null space, if the program has attached it to the matrix. Collective.
  PetscErrorCode RemoveAttached(PC pc, Vec z);
  PetscErrorCode Remove(Vec z) const;
  PetscErrorCode Remove(Mat Z) const;

private:
  // The one that is attached to pc's matrix, or constants on all rows with off-diagonal entries, where the matrix and
  // its transpose make nothing but rounding of them. None where the operator is another matrix, or none in rows.
  // Collective.
  PetscErrorCode Find(PC pc);
  PetscErrorCode FindConstants(const Exec &exec, Mat A);
  PetscErrorCode Update(PC pc);
  MatNullSpace     space_  = nullptr;
  Vec              copy_   = nullptr;
  Mat              copies_ = nullptr;
  PetscObjectId    matrix_ = 0, attached_ = 0; // what has been looked at, and its null space
  PetscObjectState state_  = 0;
  bool             expected_ = false;
  bool             regular_  = false; // the last matrix was; on a device this stays so as long as its pattern does
};

} // namespace tessera
