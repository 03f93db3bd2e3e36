// The iteration of KSP rrb on the whole system.
#pragma once
#include "rrb/cg/cg.hpp"

namespace tessera {

// All nodes, for 9-point operators: PETSc's vectors r, z, p, q.
class WholeSpace {
public:
  WholeSpace(KSP ksp, NullSpace &null) :
    ksp_(ksp), null_(null), r(ksp->work[0]), z(ksp->work[1]), p(ksp->work[2]), q(ksp->work[3])
  {
  }
  PetscErrorCode Start(double *first)
  {
    Mat A;
    Vec right; // the right-hand side without what it has of the null space
    PetscFunctionBegin;
    PetscCall(PCGetOperators(ksp_->pc, &A, nullptr));
    PetscCall(null_.Clean(ksp_->pc, ksp_->vec_rhs, &right));
    if (ksp_->guess_zero) {
      PetscCall(VecSet(ksp_->vec_sol, 0));
      PetscCall(VecCopy(right, r));
    } else {
      PetscCall(KSP_MatMult(ksp_, A, ksp_->vec_sol, r));
      PetscCall(VecAYPX(r, -1.0, right));
    }
    PetscCall(VecSet(p, 0));
    PetscCall(FirstNorm(ksp_, r, z, first));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Finish() { return PETSC_SUCCESS; }
  PetscErrorCode Precondition(double *rz, double *zz)
  {
    PetscFunctionBegin;
    PetscCall(KSP_PCApply(ksp_, r, z));
    PetscCall(VecDot(z, r, rz));
    if (zz) PetscCall(VecDot(z, z, zz));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Direction(double beta)
  {
    PetscFunctionBegin;
    PetscCall(VecAYPX(p, beta, z));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Multiply(double *pq)
  {
    Mat A;
    PetscFunctionBegin;
    PetscCall(PCGetOperators(ksp_->pc, &A, nullptr));
    PetscCall(KSP_MatMult(ksp_, A, p, q));
    PetscCall(VecDot(p, q, pq));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Step(double alpha, double *rr)
  {
    PetscFunctionBegin;
    PetscCall(VecAXPY(ksp_->vec_sol, alpha, p));
    PetscCall(VecAXPY(r, -alpha, q));
    PetscCall(VecDot(r, r, rr));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode DotQZ(double *qz)
  {
    PetscFunctionBegin;
    PetscCall(VecDot(q, z, qz));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode Correct(double, double, bool *another) // the trial is for S1
  {
    *another = false;
    return PETSC_SUCCESS;
  }

private:
  KSP        ksp_;
  NullSpace &null_;
  Vec        r, z, p, q;
};

} // namespace tessera
