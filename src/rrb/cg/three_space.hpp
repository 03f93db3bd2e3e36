// The iteration of KSP rrb on the black nodes of a grid of three dimensions.
#pragma once
#include "rrb/cg/cg.hpp"
#include "rrb/pcrrb_three.hpp"

namespace tessera {

// Tolerances and norms are those of SchurSpace: the first one is of the residual of x0, before the red nodes are
// eliminated; then the residual at these is zero.
class ThreeSpace : public Watched {
public:
  ThreeSpace(KSP ksp, PC_RRB &pc) :
    ksp_(ksp), null_(pc.null), three_(*pc.three), reduced_(*pc.three->solver->reduced()),
    at_once_(reduced_.at_once() &&
             (ksp->normtype == KSP_NORM_UNPRECONDITIONED || ksp->normtype == KSP_NORM_NONE))
  {
  }
  PetscErrorCode Start(double *first);
  PetscErrorCode Finish();
  PetscErrorCode Solution(Vec v) override;
  PetscErrorCode Precondition(double *rz, double *zz)
  {
    PetscFunctionBegin;
    if (!begun_) PetscCall(Begin());
    PetscCall(PetscLogEventBegin(event_rrb_sweep, ksp_->pc, 0, 0, 0));
    {
      const GpuTime time(three_.exec.space);
      if (at_once_) it_ = reduced_.iterate(Ahead());
      *rz = at_once_ ? it_.rz : reduced_.precondition();
      if (zz) *zz = reduced_.norm2();
    }
    PetscCall(LogFlops(three_.exec.space, three_.solver->flops()));
    PetscCall(PetscLogEventEnd(event_rrb_sweep, ksp_->pc, 0, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Direction(double beta)
  {
    PetscFunctionBegin;
    if (!at_once_) reduced_.direction(beta);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Multiply(double *pq)
  {
    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(event_rrb_multiply, ksp_, 0, 0, 0));
    {
      const GpuTime time(three_.exec.space);
      *pq = at_once_ ? it_.pq : reduced_.multiply();
    }
    // 27 a black node, and CG's vectors
    PetscCall(LogFlops(three_.exec.space, 18.0 * (double)three_.solver->finest().own.size()));
    PetscCall(PetscLogEventEnd(event_rrb_multiply, ksp_, 0, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Step(double alpha, double *rr)
  {
    PetscFunctionBegin;
    *rr = at_once_ ? it_.rr : reduced_.step(alpha);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode DotQZ(double *) // the preconditioner is linear
  {
    return PETSC_SUCCESS;
  }
  PetscErrorCode Correct(double, double, bool *another) // there is one choice
  {
    *another = false;
    return PETSC_SUCCESS;
  }

private:
  Vec            Source() const { return ksp_->guess_zero ? right_ : ksp_->work[0]; } // the residual of x0
  // Does nobody but PETSc's own test look at iterates and residuals?
  bool           Unwatched() const;
  int            Ahead() const; // iterations that are made before the host looks
  PetscErrorCode Begin();
  PetscErrorCode Update(Vec dx); // dx = what the iteration has added to x0
  template <class F> PetscErrorCode Read(Vec v, const F &f);
  KSP                  ksp_;
  NullSpace           &null_;
  RRBThree            &three_;
  rrb::three::Reduced &reduced_;
  const bool           at_once_; // what follows Precondition() has been done there
  rrb::three::Reduced::Iteration it_;
  bool                 begun_ = false;
  Vec                  right_ = nullptr; // the right-hand side without what it has of the null space
};

} // namespace tessera
