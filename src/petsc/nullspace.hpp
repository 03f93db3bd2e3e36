// Null spaces of singular symmetric matrices. Rounding leaves parts of them in residuals, which a preconditioner makes
// large where coefficients jump: (r, B r) becomes negative, and CG gives up. P B P with the orthogonal projection P
// knows nothing of them.
#pragma once
#include "petsc/compat.h"
#include <petsc/private/pcimpl.h>

namespace tessera {

class NullSpace {
public:
  ~NullSpace() { (void)Reset(); }
  PetscErrorCode Reset();
  // The one that is attached to pc's matrix, or constants on all rows with off-diagonal entries, where the matrix and
  // its transpose make nothing but rounding of them. None where the operator is another matrix, or none in rows.
  // Collective.
  PetscErrorCode Find(PC pc);
  // *clean: r, or a copy without what r has of the null space
  PetscErrorCode Clean(Vec r, Vec *clean);
  PetscErrorCode Clean(Mat R, Mat *clean);
  // KSP does so by itself where the null space is attached.
  PetscErrorCode Remove(Vec z) const;
  PetscErrorCode Remove(Mat Z) const;

private:
  PetscErrorCode FindConstants(Mat A);
  MatNullSpace   space_    = nullptr;
  bool           attached_ = false;
  bool           regular_  = false; // the last matrix was; on a device this stays so as long as its pattern does
  Vec            copy_     = nullptr;
  Mat            copies_   = nullptr;
};

} // namespace tessera
