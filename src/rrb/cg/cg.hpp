// The iteration of KSP rrb: conjugate gradients on the black nodes (SchurSpace) or on the whole system (WholeSpace).
#pragma once
#include "box/tuning.hpp"
#include "rrb/pcrrb.hpp"
#include "rrb/cg/schur_solver.hpp"
#include <memory>
#include <petsc/private/kspimpl.h>

namespace tessera {

// CG's vectors on the black nodes, kept between solves. Two of them live in the four quarters of the preconditioner's
// right-hand side, which CG on the black nodes leaves free; where it does not (a small grid, solved whole) all are separate.
struct Vectors {
  rrb::BlackField r, z, p, q, x;
  bool            flexible;
  // z is used up before q is made, but for the inner product q'z of flexible CG
  Vectors(rrb::Plan &plan, bool f) : r(plan), z(), p(plan, Spare(plan, 0)), q(plan, Spare(plan, 2)), x(plan), flexible(f) { z = rrb::BlackField(plan, f ? nullptr : q.data); }
  static double *Spare(rrb::Plan &plan, int quarter)
  {
    rrb::Level &l = plan.levels[0];
    return l.step == rrb::Step::coarsen && !l.layout.natural ? l.b.data.data() + quarter * l.layout.plane : nullptr;
  }
  bool Fits(rrb::Plan &plan, bool f) const { return f == flexible && !(r.layout != plan.levels[0].layout) && (p.own.size() || p.data == Spare(plan, 0)); }
};

class SchurSpace;

struct KSP_RRB {
  TesseraBackend           backend = TESSERA_BACKEND_AUTO;
  std::unique_ptr<Vectors> vectors;
  std::unique_ptr<rrb::SchurSolver> solver; // on the device
  SchurSpace              *active   = nullptr; // during the iteration: its solution is not in vec_sol
  Vec                      solution = nullptr; // for KSPBuildSolution() without a vector of the caller's
  std::vector<double>      diagonal, off; // Lanczos matrix, for singular values
};

inline PetscErrorCode Sum(MPI_Comm comm, int n, double *v)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, v, n, MPI_DOUBLE, MPI_SUM, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The elimination of red nodes and Dirichlet rows has left nothing to iterate on: it is an iteration of its own, x is no longer x0.
inline PetscErrorCode Eliminated(KSP ksp)
{
  PetscFunctionBegin;
  ksp->its   = 1;
  ksp->rnorm = 0;
  PetscCall(KSPLogResidualHistory(ksp, 0));
  PetscCall(KSPMonitor(ksp, 1, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The norm of the residual of x0 in the norm that the tolerances are for.
inline PetscErrorCode FirstNorm(KSP ksp, Vec r, Vec z, double *norm)
{
  PetscReal v;

  PetscFunctionBegin;
  *norm = 0;
  if (ksp->normtype == KSP_NORM_UNPRECONDITIONED) {
    PetscCall(VecNorm(r, NORM_2, &v));
    *norm = v;
  }
  if (ksp->normtype == KSP_NORM_PRECONDITIONED || ksp->normtype == KSP_NORM_NATURAL) {
    PetscCall(KSP_PCApply(ksp, r, z));
    if (ksp->normtype == KSP_NORM_PRECONDITIONED) PetscCall(VecNorm(z, NORM_2, &v));
    else {
      PetscScalar d;
      PetscCall(VecDot(r, z, &d));
      v = PetscSqrtReal(PetscAbsScalar(d));
    }
    *norm = v;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The black nodes: vectors in the layout of the finest grid, half as long as the system's.
class SchurSpace {
public:
  SchurSpace(KSP ksp, PC_RRB &pc, Vectors &v) : ksp_(ksp), pc_(pc), plan_(pc.plan), r(v.r), z(v.z), p(v.p), q(v.q), x(v.x) { }
  PetscErrorCode Start(double *first); // the residual of x0 and its norm, if that is watched
  // loaded: the right-hand side is still in the preconditioner's
  PetscErrorCode Finish(bool loaded = false);
  // The whole iteration on the device, where nobody watches it.
  PetscErrorCode SolveOnDevice(rrb::SchurSolver &solver);
  bool           OnDevice() const { return rrb::SchurSolver::serves(plan_) && Exact() && ksp_->guess_zero && ksp_->converged == KSPConvergedDefault && !ksp_->numbermonitors && !ksp_->calc_sings && ksp_->normtype == KSP_NORM_UNPRECONDITIONED && !CompatKSPMinIt(ksp_) && ksp_->max_it > 0; }
  PetscErrorCode Solution(Vec v); // v = the current iterate, for monitors
  PetscErrorCode Precondition(double *rz, double *zz)
  {
    PetscFunctionBegin;
    if (!begun_) PetscCall(Begin());
    PetscCall(PetscLogEventBegin(event_rrb_sweep, ksp_->pc, 0, 0, 0));
    {
      const GpuTime time(plan_.exec.space);
      rrb::schur_apply(plan_, r.view, z.view);
    }
    PetscCall(LogFlops(plan_.exec.space, 2 * plan_.multiplications()));
    PetscCall(PetscLogEventEnd(event_rrb_sweep, ksp_->pc, 0, 0, 0));
    for (rrb::BlackField &n : null_) { // the null space of S1 is A's on the black nodes
      double c = rrb::black_dot(plan_, n, z);
      PetscCall(Sum(comm(), 1, &c));
      rrb::black_combine(plan_, -c, n, 1, z);
    }
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
    PetscCall(LogFlops(plan_.exec.space, 14.0 * (double)plan_.levels[0].grid.owned().size())); // 18 a black node, and CG's vectors
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
  // Has the trial foretold fewer iterations than these? Then another choice is made, where there is one; x and r stay as they are.
  PetscErrorCode Correct(double first, double norm, bool *another)
  {
    PetscReal rtol, atol;
    PetscFunctionBegin;
    *another = false;
    PetscCall(KSPGetTolerances(ksp_, &rtol, &atol, nullptr, nullptr));
    const double goal = PetscMax(rtol * first, atol), doubtful = DoubtfulIterations(&pc_, norm / first);
    if (!(doubtful > 0) || !(first > 0) || !(norm > 0) || pc_.corrected || ksp_->its < 4 || ksp_->its <= doubtful || norm < 10 * goal || ksp_->calc_sings) PetscFunctionReturn(PETSC_SUCCESS);
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
  // The factors eliminate the red nodes exactly. In single precision, or where a small grid is solved whole, products with A do.
  bool           Exact() const { return !plan_.single_factors() && plan_.levels[0].step == rrb::Step::coarsen; }
  PetscErrorCode CorrectChoice(double reduction, bool *another)
  {
    PetscFunctionBegin;
    PetscCall(CorrectChoiceRRB(ksp_->pc, ksp_->its * PetscLogReal(1e-6) / PetscLogReal(PetscClipInterval(reduction, 1e-300, 0.5)), another));
    pc_.corrected = PETSC_TRUE;
    if (*another) plan_.levels[0].b.data.zero(); // p and q live there
    PetscCheck(!pc_.failed, comm(), PETSC_ERR_PLIB, "PC rrb: %s", pc_.failure);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  Vec            Source() const { return ksp_->guess_zero ? ksp_->vec_rhs : ksp_->work[0]; } // the residual of x0
  PetscErrorCode NullSpace();
  PetscErrorCode RemoveNullSpace(Vec x) // as KSPCG, whose directions have none of it
  {
    Mat          A;
    MatNullSpace nullspace;
    PetscFunctionBegin;
    PetscCall(PCGetOperators(ksp_->pc, &A, nullptr));
    PetscCall(MatGetNullSpace(A, &nullspace));
    if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  // x := x0 with Dirichlet rows and red rows solved; the residual of S1. Before, the iterate is x0.
  PetscErrorCode Begin();
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
};

// residual := b - A solution
inline PetscErrorCode SchurSpace::Residual(Vec solution, Vec residual)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp_->pc, &A, nullptr));
  PetscCall(KSP_MatMult(ksp_, A, solution, residual));
  PetscCall(VecAYPX(residual, -1.0, ksp_->vec_rhs));
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
    PetscCall(pc_.matrix.RestoreWrite(solution, &x));
    PetscCall(pc_.matrix.RestoreRead(residual, &r));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  Buffer<double> kept; // vectors move through one work vector, so one after the other
  kept.resize({(size_t)pc_.matrix.grid().owned().size(), plan_.exec.space});
  rrb::copy_values(plan_.exec, r, kept);
  PetscCall(pc_.matrix.RestoreRead(residual, &r));
  PetscCall(pc_.matrix.GetWrite(solution, plan_.exec.space, &x, true));
  f(kept.data(), x);
  PetscCall(pc_.matrix.RestoreWrite(solution, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// x_r += D_r^-1 r_r, which makes the residual at the red nodes zero
inline PetscErrorCode SchurSpace::SolveRed(Vec residual, Vec solution)
{
  PetscFunctionBegin;
  PetscCall(Update(residual, solution, [&](const double *res, double *sol) { rrb::red_solve(plan_, res, sol); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

inline PetscErrorCode SchurSpace::Load(Vec v)
{
  const double *values;

  PetscFunctionBegin;
  PetscCall(pc_.matrix.GetRead(v, plan_.exec.space, &values));
  rrb::load(plan_, values);
  PetscCall(pc_.matrix.RestoreRead(v, &values));
  PetscCall(SubtractDirichlet(&pc_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

inline PetscErrorCode SchurSpace::Start(double *first)
{
  PetscFunctionBegin;
  if (!ksp_->guess_zero) PetscCall(Residual(ksp_->vec_sol, Source()));
  PetscCall(FirstNorm(ksp_, Source(), ksp_->work && ksp_->nwork > 1 ? ksp_->work[1] : nullptr, first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

inline PetscErrorCode SchurSpace::Begin()
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
    PetscCall(VecCopy(ksp_->vec_rhs, ksp_->work[0]));
    w = ksp_->work[0];
  }
  if (pc_.report.dirichlet) {
    PetscCall(Update(w, s, [&](const double *from, double *sol) { dirichlet_solve(plan_.exec, pc_.dirichlet, from, sol); }));
    PetscCall(Residual(s, w));
  }
  PetscCall(SolveRed(w, s));
  PetscCall(Residual(s, w));
  PetscCall(pc_.matrix.GetRead(w, plan_.exec.space, &res));
  rrb::black_load(plan_, res, r);
  PetscCall(pc_.matrix.RestoreRead(w, &res));
  PetscCall(NullSpace());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The null space of S1: A's at the black nodes, orthonormal.
inline PetscErrorCode SchurSpace::NullSpace()
{
  const double *res;
  MatNullSpace  nullspace;
  Mat           A;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp_->pc, &A, nullptr));
  PetscCall(MatGetNullSpace(A, &nullspace));
  if (nullspace) {
    PetscBool  constant;
    PetscInt   n;
    const Vec *vectors;
    PetscCall(MatNullSpaceGetVecs(nullspace, &constant, &n, &vectors));
    for (PetscInt i = constant ? -1 : 0; i < n; ++i) {
      rrb::BlackField v(plan_);
      if (i < 0) rrb::black_set(plan_, 1, v);
      else {
        PetscCall(pc_.matrix.GetRead(vectors[i], plan_.exec.space, &res));
        rrb::black_load(plan_, res, v);
        PetscCall(pc_.matrix.RestoreRead(vectors[i], &res));
      }
      for (rrb::BlackField &u : null_) {
        double c = rrb::black_dot(plan_, u, v);
        PetscCall(Sum(comm(), 1, &c));
        rrb::black_combine(plan_, -c, u, 1, v);
      }
      double c = rrb::black_dot(plan_, v, v);
      PetscCall(Sum(comm(), 1, &c));
      if (!(c > 0)) continue;
      rrb::black_combine(plan_, 0, v, 1 / PetscSqrtReal(c), v);
      null_.push_back(std::move(v));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

inline PetscErrorCode SchurSpace::SolveOnDevice(rrb::SchurSolver &solver)
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
  const int       most = (int)PetscMin(ksp_->max_it, 1000000);
  const PetscReal doubtful = PetscCeilReal(PetscMax(DoubtfulIterations(&pc_, ksp_->rtol), 4));
  bool            limited = doubtful > 4 && doubtful < most, goes_on = false; // a trial that proves wrong is corrected
  do {
    std::vector<double> more;
    PetscCall(pc_.matrix.GetRead(ksp_->vec_rhs, plan_.exec.space, &values));
    PetscCall(PetscLogEventBegin(event_rrb_sweep, ksp_->pc, 0, 0, 0));
    if (!begun) PetscCall(pc_.matrix.GetWrite(ksp_->vec_sol, plan_.exec.space, &solution));
    {
      const GpuTime     time(plan_.exec.space);
      const rrb::Limits limits{ksp_->rtol, ksp_->abstol, ksp_->divtol, limited ? (int)doubtful : most - (goes_on ? (int)norms.size() - 1 : 0), limited};
      TesseraCallCXX(outcome = solver.solve(plan_, limits, values, begun || goes_on, null_, r, x, solution, more));
    }
    norms.insert(norms.end(), more.begin() + goes_on, more.end()); // the first one is the right-hand side's
    goes_on = limited && outcome == rrb::Outcome::too_many;
    limited = false;
    if (!goes_on) break;
    if (!begun) PetscCall(pc_.matrix.RestoreWrite(ksp_->vec_sol, &solution));
    PetscCall(pc_.matrix.RestoreRead(ksp_->vec_rhs, &values));
    PetscCall(PetscLogEventEnd(event_rrb_sweep, ksp_->pc, 0, 0, 0));
    bool another = false;
    ksp_->its = (PetscInt)norms.size() - 1;
    if (norms.back() > 10 * PetscMax(ksp_->rtol * norms[0], ksp_->abstol)) PetscCall(CorrectChoice(norms.back() / norms[0], &another));
  } while (true);
  if (begun) PetscCall(Finish(!pc_.corrected)); // which overwrites the right-hand side
  else {
    PetscCall(pc_.matrix.RestoreWrite(ksp_->vec_sol, &solution));
    PetscCall(RemoveNullSpace(ksp_->vec_sol));
  }
  PetscCall(LogFlops(plan_.exec.space, (double)(norms.size() - 1) * (2 * plan_.multiplications() + 20.0 * (double)plan_.levels[0].grid.owned().size())));
  PetscCall(PetscLogEventEnd(event_rrb_sweep, ksp_->pc, 0, 0, 0));
  PetscCall(pc_.matrix.RestoreRead(ksp_->vec_rhs, &values));
  ksp_->reason = KSP_CONVERGED_ITERATING;
  for (size_t i = 0; i < norms.size() && !ksp_->reason; ++i) { // what PETSc would have seen
    ksp_->its   = (PetscInt)i;
    ksp_->rnorm = norms[i];
    KSPCheckNorm(ksp_, norms[i]);
    PetscCall(KSPLogResidualHistory(ksp_, norms[i]));
    PetscCall((*ksp_->converged)(ksp_, (PetscInt)i, norms[i], &ksp_->reason, ksp_->cnvP));
  }
  if (ksp_->reason && !ksp_->its) PetscCall(VecSet(ksp_->vec_sol, 0)); // that norm is of x0, and not of x0 with its red rows solved
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

inline PetscErrorCode SchurSpace::Finish(bool loaded)
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
    PetscCall(pc_.matrix.RestoreWrite(dx, &values));
    PetscCall(RemoveNullSpace(dx));
    if (!ksp_->guess_zero) PetscCall(VecAXPY(ksp_->vec_sol, 1.0, dx));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Update(ksp_->work[0], ksp_->vec_sol, [&](const double *, double *sol) { rrb::black_add(plan_, x, sol); }));
  PetscCall(Residual(ksp_->vec_sol, ksp_->work[0]));
  PetscCall(SolveRed(ksp_->work[0], ksp_->vec_sol));
  if (ksp_->guess_zero) PetscCall(RemoveNullSpace(ksp_->vec_sol));
  PetscFunctionReturn(PETSC_SUCCESS);
}

inline PetscErrorCode SchurSpace::Solution(Vec v)
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

// All nodes, for 9-point operators: PETSc's vectors r, z, p, q.
class WholeSpace {
public:
  WholeSpace(KSP ksp) : ksp_(ksp), r(ksp->work[0]), z(ksp->work[1]), p(ksp->work[2]), q(ksp->work[3]) { }
  PetscErrorCode Start(double *first)
  {
    Mat A;
    PetscFunctionBegin;
    PetscCall(PCGetOperators(ksp_->pc, &A, nullptr));
    if (ksp_->guess_zero) {
      PetscCall(VecSet(ksp_->vec_sol, 0));
      PetscCall(VecCopy(ksp_->vec_rhs, r));
    } else {
      PetscCall(KSP_MatMult(ksp_, A, ksp_->vec_sol, r));
      PetscCall(VecAYPX(r, -1.0, ksp_->vec_rhs));
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
  KSP ksp_;
  Vec r, z, p, q;
};

// Conjugate gradients ([2] algorithm 1), flexible where the preconditioner is not linear.
template <class Space> PetscErrorCode Iterate(KSP ksp, Space &s, bool flexible, double first)
{
  KSP_RRB  *k = (KSP_RRB *)ksp->data;
  double    rz = 0, zz = 0, rr = 0, pq, beta = 0, alpha = 0, norm = first;
  const bool need_z = ksp->normtype == KSP_NORM_PRECONDITIONED;

  PetscFunctionBegin;
  ksp->its   = 0;
  ksp->rnorm = norm;
  PetscCall(KSPLogResidualHistory(ksp, norm));
  PetscCall(KSPMonitor(ksp, 0, norm));
  PetscCall((*ksp->converged)(ksp, 0, norm, &ksp->reason, ksp->cnvP));
  const KSPConvergedReason exhausted = ksp->normtype == KSP_NORM_NONE ? KSP_CONVERGED_ITS : KSP_DIVERGED_ITS;
  if (!ksp->reason && ksp->max_it <= 0) ksp->reason = exhausted;
  if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(s.Precondition(&rz, need_z ? &zz : nullptr));
  while (true) {
    if (ksp->its >= ksp->max_it) {
      ksp->reason = exhausted;
      break;
    }
    if (!(rz == rz) || PetscIsInfReal(rz)) {
      KSPCheckDot(ksp, rz);
      break;
    }
    if (rz == 0) { // the residual is zero, whatever norm is watched
      if (!ksp->its) PetscCall(Eliminated(ksp));
      ksp->reason = KSP_CONVERGED_ATOL;
      break;
    }
    if (rz < 0) {
      PetscCall(PetscInfo(ksp, "The preconditioner is not positive definite: r'z = %g\n", rz));
      ksp->reason = KSP_DIVERGED_INDEFINITE_PC;
      break;
    }
    PetscCall(s.Direction(beta));
    PetscCall(s.Multiply(&pq));
    KSPCheckDot(ksp, pq);
    if (pq <= 0) {
      PetscCall(PetscInfo(ksp, "The matrix is not positive definite: p'Ap = %g\n", pq));
      ksp->reason = KSP_DIVERGED_INDEFINITE_MAT;
      break;
    }
    const double previous = alpha;
    alpha                 = rz / pq;
    if (ksp->calc_sings) {
      if (ksp->its) k->off.push_back(PetscSqrtReal(PetscAbsReal(beta)) / previous);
      k->diagonal.push_back(1 / alpha + (ksp->its ? beta / previous : 0));
    }
    PetscCall(s.Step(alpha, &rr));
    ++ksp->its;
    const bool apply_first = need_z || ksp->normtype == KSP_NORM_NATURAL;
    const double old = rz;
    double       qz  = 0;
    auto         next = [&]() -> PetscErrorCode {
      PetscFunctionBegin;
      PetscCall(s.Precondition(&rz, need_z ? &zz : nullptr));
      if (flexible) PetscCall(s.DotQZ(&qz));
      beta = flexible ? -alpha * qz / old : rz / old;
      PetscFunctionReturn(PETSC_SUCCESS);
    };
    if (apply_first) PetscCall(next());
    norm = ksp->normtype == KSP_NORM_PRECONDITIONED ? PetscSqrtReal(zz) : ksp->normtype == KSP_NORM_NATURAL ? PetscSqrtReal(PetscAbsReal(rz)) : ksp->normtype == KSP_NORM_UNPRECONDITIONED ? PetscSqrtReal(rr) : 0;
    KSPCheckNorm(ksp, norm);
    ksp->rnorm = norm;
    PetscCall(KSPLogResidualHistory(ksp, norm));
    PetscCall(KSPMonitor(ksp, ksp->its, norm));
    PetscCall((*ksp->converged)(ksp, ksp->its, norm, &ksp->reason, ksp->cnvP));
    if (ksp->reason) break;
    bool another;
    PetscCall(s.Correct(first, norm, &another));
    if (another || !apply_first) PetscCall(next());
    if (another) beta = 0; // CG begins anew
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
