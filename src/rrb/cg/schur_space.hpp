// The iteration of KSP rrb on the black nodes.
#pragma once
#include "rrb/cg/cg.hpp"

namespace tessera {

// The black nodes: vectors in the layout of the finest grid, half as long as the system's.
class SchurSpace : public Watched {
public:
  SchurSpace(KSP ksp, PC_RRB &pc, Vectors &v) :
    ksp_(ksp), pc_(pc), plan_(pc.plan), r(v.r), z(v.z), p(v.p), q(v.q), x(v.x)
  {
  }
  PetscErrorCode Clean() // the right-hand side, before all else
  {
    PetscFunctionBegin;
    PetscCall(pc_.null.Clean(ksp_->pc, ksp_->vec_rhs, &right_));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Start(double *first); // the residual of x0 and its norm, if that is watched
  // loaded: the right-hand side is still in the preconditioner's
  PetscErrorCode Finish(bool loaded = false);
  // The whole iteration on the device, where nobody watches it.
  PetscErrorCode SolveOnDevice(rrb::SchurSolver &solver);
  bool           OnDevice() const
  {
    return rrb::SchurSolver::serves(plan_) && Exact() && ksp_->guess_zero && ksp_->converged == KSPConvergedDefault &&
           !ksp_->numbermonitors && !ksp_->calc_sings && ksp_->normtype == KSP_NORM_UNPRECONDITIONED &&
           !CompatKSPMinIt(ksp_) && ksp_->max_it > 0;
  }
  PetscErrorCode Solution(Vec v) override;
  PetscErrorCode Precondition(double *rz, double *zz)
  {
    PetscFunctionBegin;
    if (!begun_) PetscCall(Begin());
    PetscCall(PetscLogEventBegin(event_rrb_sweep, ksp_->pc, 0, 0, 0));
    PetscCall(Project(r)); // rounding leaves parts of it that the preconditioner would make large
    {
      const GpuTime time(plan_.exec.space);
      rrb::schur_apply(plan_, r.view, z.view);
    }
    PetscCall(LogFlops(plan_.exec.space, 2 * plan_.multiplications()));
    PetscCall(PetscLogEventEnd(event_rrb_sweep, ksp_->pc, 0, 0, 0));
    PetscCall(Project(z));
    double sums[2] = {rrb::black_dot(plan_, r, z), zz ? rrb::schur_norm2(plan_, z) : 0};
    PetscCall(Sum(comm(), zz ? 2 : 1, sums));
    *rz = sums[0];
    if (zz) *zz = sums[1];
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Direction(double beta)
  {
    PetscFunctionBegin;
    rrb::black_combine(plan_, 1, z, beta, p);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Multiply(double *pq)
  {
    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(event_rrb_multiply, ksp_, 0, 0, 0));
    plan_.levels[0].halo.exchange(p.view, mask_o | mask_c);
    {
      const GpuTime time(plan_.exec.space);
      *pq = rrb::schur_multiply(plan_, p.view, q.view);
    }
    // 18 a black node, and CG's vectors
    PetscCall(LogFlops(plan_.exec.space, 14.0 * (double)plan_.levels[0].grid.owned().size()));
    PetscCall(PetscLogEventEnd(event_rrb_multiply, ksp_, 0, 0, 0));
    PetscCall(Sum(comm(), 1, pq));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode Step(double alpha, double *rr)
  {
    PetscFunctionBegin;
    *rr = rrb::black_step(plan_, alpha, p, q, x, r);
    PetscCall(Sum(comm(), 1, rr));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  // Has the trial foretold fewer iterations than these? Then another choice is made, where there is one; x and r stay
  // as they are.
  PetscErrorCode Correct(double first, double norm, bool *another)
  {
    PetscReal rtol, atol;
    PetscFunctionBegin;
    *another = false;
    PetscCall(KSPGetTolerances(ksp_, &rtol, &atol, nullptr, nullptr));
    const double goal = PetscMax(rtol * first, atol), doubtful = DoubtfulIterations(&pc_, norm / first);
    if (!(doubtful > 0) || !(first > 0) || !(norm > 0) || pc_.corrected || ksp_->its < 4 || ksp_->its <= doubtful ||
        norm < 10 * goal || ksp_->calc_sings)
      PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(CorrectChoice(norm / first, another));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode DotQZ(double *qz)
  {
    PetscFunctionBegin;
    *qz = rrb::black_dot(plan_, q, z);
    PetscCall(Sum(comm(), 1, qz));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  // The factors eliminate the red nodes exactly. In single precision, or where a small grid is solved whole, products
  // with A do.
  bool           Exact() const { return !plan_.single_factors() && plan_.levels[0].step == rrb::Step::coarsen; }
  PetscErrorCode CorrectChoice(double reduction, bool *another)
  {
    PetscFunctionBegin;
    PetscCall(CorrectChoiceRRB(
      ksp_->pc, ksp_->its * PetscLogReal(1e-6) / PetscLogReal(PetscClipInterval(reduction, 1e-300, 0.5)), another));
    pc_.corrected = PETSC_TRUE;
    if (*another) plan_.levels[0].b.data.zero(); // p and q live there
    PetscCheck(!pc_.failed, comm(), PETSC_ERR_PLIB, "PC rrb: %s", pc_.failure);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  Vec            Source() const { return ksp_->guess_zero ? right_ : ksp_->work[0]; } // the residual of x0
  PetscErrorCode NullSpace();
  // x := x0 with Dirichlet rows and red rows solved; the residual of S1. Before, the iterate is x0.
  PetscErrorCode Begin();
  PetscErrorCode Project(rrb::BlackField &v) // onto what is orthogonal to the null space of S1
  {
    PetscFunctionBegin;
    for (rrb::BlackField &n : null_) {
      double c = rrb::black_dot(plan_, n, v);
      PetscCall(Sum(comm(), 1, &c));
      rrb::black_combine(plan_, -c, n, 1, v);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  MPI_Comm       comm() const { return plan_.levels[0].grid.comm; }
  PetscErrorCode Load(Vec v); // into the preconditioner's right-hand side, Dirichlet rows eliminated
  template <class F> PetscErrorCode Update(Vec residual, Vec solution, const F &f);
  PetscErrorCode Residual(Vec solution, Vec residual);
  PetscErrorCode SolveRed(Vec residual, Vec solution);
  KSP                          ksp_;
  PC_RRB                      &pc_;
  rrb::Plan                   &plan_;
  rrb::BlackField             &r, &z, &p, &q, &x;
  std::vector<rrb::BlackField> null_;
  bool                         begun_ = false;
  Vec                          right_ = nullptr; // the right-hand side without what it has of the null space
};

} // namespace tessera
