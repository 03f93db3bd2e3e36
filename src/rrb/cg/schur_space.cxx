// The beginning and the end of an iteration on the black nodes; the whole of it on a device.
#include "rrb/cg/schur_space.hpp"

namespace tessera {

// residual := b - A solution
PetscErrorCode SchurSpace::Residual(Vec solution, Vec residual)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp_->pc, &A, nullptr));
  PetscCall(KSP_MatMult(ksp_, A, solution, residual));
  PetscCall(VecAYPX(residual, -1.0, right_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// f(r, x): an update of the solution from the residual, both in the grid's distribution.
template <class F> PetscErrorCode SchurSpace::Update(Vec residual, Vec solution, const F &f)
{
  const double *r;
  double       *x;

  PetscFunctionBegin;
  PetscCall(pc_.matrix.GetRead(residual, plan_.exec.space, &r));
  if (!pc_.matrix.moved()) {
    PetscCall(pc_.matrix.GetWrite(solution, plan_.exec.space, &x, true));
    f(r, x);
    PetscCall(pc_.matrix.RestoreWrite(solution));
    PetscCall(pc_.matrix.RestoreRead());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  Buffer<double> kept; // vectors move through one work vector, so one after the other
  kept.resize({(size_t)pc_.matrix.grid().owned().size(), plan_.exec.space});
  copy(r, plan_.exec.space, kept.data(), kept.space(), kept.size());
  PetscCall(pc_.matrix.RestoreRead());
  PetscCall(pc_.matrix.GetWrite(solution, plan_.exec.space, &x, true));
  f(kept.data(), x);
  PetscCall(pc_.matrix.RestoreWrite(solution));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// x_r += D_r^-1 r_r, which makes the residual at the red nodes zero
PetscErrorCode SchurSpace::SolveRed(Vec residual, Vec solution)
{
  PetscFunctionBegin;
  PetscCall(Update(residual, solution, [&](const double *res, double *sol) { rrb::red_solve(plan_, res, sol); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SchurSpace::Load(Vec v)
{
  const double *values;

  PetscFunctionBegin;
  PetscCall(pc_.matrix.GetRead(v, plan_.exec.space, &values));
  rrb::load(plan_, values);
  PetscCall(pc_.matrix.RestoreRead());
  PetscCall(SubtractDirichlet(&pc_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SchurSpace::Start(double *first)
{
  PetscFunctionBegin;
  if (!ksp_->guess_zero) PetscCall(Residual(ksp_->vec_sol, Source()));
  PetscCall(FirstNorm(ksp_, Source(), ksp_->work && ksp_->nwork > 1 ? ksp_->work[1] : nullptr, first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SchurSpace::Begin()
{
  Vec           s = ksp_->vec_sol, w = Source();
  const double *res;

  PetscFunctionBegin;
  begun_ = true;
  rrb::black_set(plan_, 0, x);
  if (Exact()) {
    rrb::Level &finest = plan_.levels[0];
    PetscCall(Load(w));
    rrb::black_rhs(plan_, finest, finest.b.v, r.view);
    dirichlet_solve_black(plan_.exec, finest.grid.owned(), pc_.dirichlet, r.view, x.view);
    PetscCall(NullSpace());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (ksp_->guess_zero) {
    PetscCall(VecSet(s, 0));
    PetscCall(VecCopy(right_, ksp_->work[0]));
    w = ksp_->work[0];
  }
  if (pc_.report.dirichlet) {
    PetscCall(
      Update(w, s, [&](const double *from, double *sol) { dirichlet_solve(plan_.exec, pc_.dirichlet, from, sol); }));
    PetscCall(Residual(s, w));
  }
  PetscCall(SolveRed(w, s));
  PetscCall(Residual(s, w));
  PetscCall(pc_.matrix.GetRead(w, plan_.exec.space, &res));
  rrb::black_load(plan_, res, r);
  PetscCall(pc_.matrix.RestoreRead());
  PetscCall(NullSpace());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The null space of S1: A's at the black nodes, orthonormal. Where none is attached it is that of constants, if they
// are one.
PetscErrorCode SchurSpace::NullSpace()
{
  PetscFunctionBegin;
  PetscCall(pc_.null.ForVectors(ksp_->pc, [&](Vec from) {
    rrb::BlackField v(plan_);
    const double   *values;

    PetscFunctionBegin;
    if (!from) rrb::black_set(plan_, 1, v);
    else {
      PetscCall(pc_.matrix.GetRead(from, plan_.exec.space, &values));
      rrb::black_load(plan_, values, v);
      PetscCall(pc_.matrix.RestoreRead());
    }
    PetscCall(Project(v));
    double c = rrb::black_dot(plan_, v, v);
    PetscCall(Sum(comm(), 1, &c));
    if (!(c > 0)) PetscFunctionReturn(PETSC_SUCCESS);
    rrb::black_combine(plan_, 0, v, 1 / PetscSqrtReal(c), v);
    null_.push_back(std::move(v));
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SchurSpace::SolveOnDevice(rrb::SchurSolver &solver)
{
  const double       *values;
  rrb::Outcome        outcome = rrb::Outcome::not_finite;
  std::vector<double> norms;

  PetscFunctionBegin;
  const bool begun = pc_.report.dirichlet > 0; // Dirichlet nodes are solved first
  double    *solution = nullptr;
  if (plan_.levels[0].grid.processes() > 1) r.own.zero(); // at ghost nodes it must be
  if (begun) PetscCall(Begin());
  else PetscCall(NullSpace());
  const int       max_its  = (int)PetscMin(ksp_->max_it, 1000000);
  const PetscReal doubtful = PetscCeilReal(PetscMax(DoubtfulIterations(&pc_, ksp_->rtol), 4));
  bool limited = doubtful > 4 && doubtful < max_its, goes_on = false; // a trial that proves wrong is corrected
  do {
    std::vector<double> more;
    PetscCall(pc_.matrix.GetRead(right_, plan_.exec.space, &values));
    PetscCall(PetscLogEventBegin(event_rrb_sweep, ksp_->pc, 0, 0, 0));
    if (!begun) PetscCall(pc_.matrix.GetWrite(ksp_->vec_sol, plan_.exec.space, &solution));
    {
      const GpuTime     time(plan_.exec.space);
      const rrb::Limits limits{ksp_->rtol, ksp_->abstol, ksp_->divtol,
                               limited ? (int)doubtful : max_its - (goes_on ? (int)norms.size() - 1 : 0), limited};
      TesseraCallCXX(outcome = solver.solve(plan_, limits, values, begun || goes_on, null_, r, x, solution, more));
    }
    norms.insert(norms.end(), more.begin() + goes_on, more.end()); // the first one is the right-hand side's
    goes_on = limited && outcome == rrb::Outcome::too_many;
    limited = false;
    if (!goes_on) break;
    if (!begun) PetscCall(pc_.matrix.RestoreWrite(ksp_->vec_sol));
    PetscCall(pc_.matrix.RestoreRead());
    PetscCall(PetscLogEventEnd(event_rrb_sweep, ksp_->pc, 0, 0, 0));
    bool another = false;
    ksp_->its = (PetscInt)norms.size() - 1;
    if (norms.back() > 10 * PetscMax(ksp_->rtol * norms[0], ksp_->abstol))
      PetscCall(CorrectChoice(norms.back() / norms[0], &another));
  } while (true);
  PetscCall(pc_.matrix.RestoreRead());
  if (begun) PetscCall(Finish(!pc_.corrected));
  else {
    PetscCall(pc_.matrix.RestoreWrite(ksp_->vec_sol));
    PetscCall(pc_.null.RemoveAttached(ksp_->pc, ksp_->vec_sol));
  }
  PetscCall(
    LogFlops(plan_.exec.space, (double)(norms.size() - 1) *
                                 (2 * plan_.multiplications() + 20.0 * (double)plan_.levels[0].grid.owned().size())));
  PetscCall(PetscLogEventEnd(event_rrb_sweep, ksp_->pc, 0, 0, 0));
  ksp_->reason = KSP_CONVERGED_ITERATING;
  for (size_t i = 0; i < norms.size() && !ksp_->reason; ++i) { // what PETSc would have seen
    ksp_->its   = (PetscInt)i;
    ksp_->rnorm = norms[i];
    KSPCheckNorm(ksp_, norms[i]);
    PetscCall(KSPLogResidualHistory(ksp_, norms[i]));
    PetscCall((*ksp_->converged)(ksp_, (PetscInt)i, norms[i], &ksp_->reason, ksp_->cnvP));
  }
  // that norm is of x0, and not of x0 with its red rows solved
  if (ksp_->reason && !ksp_->its) PetscCall(VecSet(ksp_->vec_sol, 0));
  if (!ksp_->reason) switch (outcome) {
    case rrb::Outcome::zero_residual:
      if (!ksp_->its) PetscCall(Eliminated(ksp_));
      ksp_->reason = KSP_CONVERGED_ATOL;
      break;
    case rrb::Outcome::indefinite_preconditioner:
      PetscCall(PetscInfo(ksp_, "The preconditioner is not positive definite\n"));
      ksp_->reason = KSP_DIVERGED_INDEFINITE_PC;
      break;
    case rrb::Outcome::indefinite_matrix:
      PetscCall(PetscInfo(ksp_, "The matrix is not positive definite\n"));
      ksp_->reason = KSP_DIVERGED_INDEFINITE_MAT;
      break;
    case rrb::Outcome::not_finite:
      ksp_->reason = KSP_DIVERGED_NANORINF;
      break;
    default:
      ksp_->reason = KSP_DIVERGED_ITS;
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SchurSpace::Finish(bool loaded)
{
  PetscFunctionBegin;
  if (!begun_) {
    if (ksp_->guess_zero) PetscCall(VecSet(ksp_->vec_sol, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (Exact()) {
    rrb::Level &finest = plan_.levels[0];
    const Box   own    = finest.grid.owned();
    Vec         dx     = ksp_->guess_zero ? ksp_->vec_sol : ksp_->work[1];
    double     *values;
    if (!loaded) PetscCall(Load(Source()));
    PetscCall(pc_.matrix.GetWrite(dx, plan_.exec.space, &values));
    rrb::black_store(plan_, x, values);
    rrb::red_solution(plan_, finest, finest.b.v, x.view, natural_view(values, own.x0, own.y0, own.x1 - own.x0));
    PetscCall(pc_.matrix.RestoreWrite(dx));
    PetscCall(pc_.null.RemoveAttached(ksp_->pc, dx));
    if (!ksp_->guess_zero) PetscCall(VecAXPY(ksp_->vec_sol, 1.0, dx));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Update(ksp_->work[0], ksp_->vec_sol, [&](const double *, double *sol) { rrb::black_add(plan_, x, sol); }));
  PetscCall(Residual(ksp_->vec_sol, ksp_->work[0]));
  PetscCall(SolveRed(ksp_->work[0], ksp_->vec_sol));
  if (ksp_->guess_zero) PetscCall(pc_.null.RemoveAttached(ksp_->pc, ksp_->vec_sol));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SchurSpace::Solution(Vec v)
{
  Vec w;

  PetscFunctionBegin;
  if (!begun_) {
    if (ksp_->guess_zero) PetscCall(VecSet(v, 0));
    else PetscCall(VecCopy(ksp_->vec_sol, v));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecDuplicate(v, &w));
  PetscCall(VecCopy(ksp_->vec_sol, v));
  PetscCall(VecCopy(v, w));
  PetscCall(Update(w, v, [&](const double *, double *sol) { rrb::black_add(plan_, x, sol); }));
  PetscCall(Residual(v, w));
  PetscCall(SolveRed(w, v));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
