// The iteration of KSP rrb: conjugate gradients on the black nodes (SchurSpace) or on the whole system (WholeSpace).
#pragma once
#include "box/tuning.hpp"
#include "rrb/pcrrb.hpp"
#include "rrb/cg/schur_solver.hpp"
#include "rrb/pcrrb_three.hpp"
#include <memory>
#include <petsc/private/kspimpl.h>

namespace tessera {

// CG's vectors on the black nodes, kept between solves. Two of them live in the four quarters of the preconditioner's
// right-hand side, which CG on the black nodes leaves free; where it does not (a small grid, solved whole) all are
// separate.
struct Vectors {
  rrb::BlackField r, z, p, q, x;
  bool            flexible;
  // z is used up before q is made, but for the inner product q'z of flexible CG
  Vectors(rrb::Plan &plan, bool f) :
    r(plan), z(), p(plan, Spare(plan, 0)), q(plan, Spare(plan, 2)), x(plan), flexible(f)
  {
    z = rrb::BlackField(plan, f ? nullptr : q.data);
  }
  static double *Spare(rrb::Plan &plan, int quarter)
  {
    rrb::Level &l = plan.levels[0];
    return l.step == rrb::Step::coarsen && !l.layout.natural ? l.b.data.data() + quarter * l.layout.plane : nullptr;
  }
  bool Fits(rrb::Plan &plan, bool f) const
  {
    return f == flexible && !(r.layout != plan.levels[0].layout) && (p.own.size() || p.data == Spare(plan, 0));
  }
};

// An iteration whose solution is not in vec_sol.
class Watched {
public:
  virtual ~Watched() = default;
  virtual PetscErrorCode Solution(Vec v) = 0; // v = the current iterate, for monitors
};

struct KSPRRBOptions {
  TesseraBackend backend = TESSERA_BACKEND_AUTO;

  using Object = KSP;
  static KSPRRBOptions    &Of(KSP ksp);
  static PetscErrorCode    Changed(KSP) { return PETSC_SUCCESS; } // every solve looks
  static const OptionTable table;
};

struct KSP_RRB {
  KSPRRBOptions            options;
  std::unique_ptr<Vectors> vectors;
  std::unique_ptr<rrb::SchurSolver> solver; // on the device
  Watched                 *active   = nullptr; // during the iteration
  Vec                      solution = nullptr; // for KSPBuildSolution() without a vector of the caller's
  std::vector<double>      diagonal, off; // Lanczos matrix, for singular values
  PetscInt                 before[2] = {0, 0}; // iterations of the last two solves in space
};

// Does CG run on the first Schur complement? It is that of the mean of A and its transpose.
inline bool OnSchur(const PC_RRB &r) { return r.plan.have_schur && r.report.asymmetry <= tuning::symmetric; }

// The same in three dimensions.
inline bool OnBlack(const PC_RRB &r)
{
  return r.three && r.three->solver && r.three->solver->reduced() && r.report.asymmetry <= tuning::symmetric;
}

inline PetscErrorCode Sum(MPI_Comm comm, int n, double *v)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, v, n, MPI_DOUBLE, MPI_SUM, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The elimination of red nodes and Dirichlet rows has left nothing to iterate on: it is an iteration of its own, x is
// no longer x0.
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

// The reason to stop where no iterations are left.
inline KSPConvergedReason Exhausted(KSP ksp)
{
  return ksp->normtype == KSP_NORM_NONE ? KSP_CONVERGED_ITS : KSP_DIVERGED_ITS;
}

// Sets the reason to stop, if there is one before the step whose residual and preconditioned residual have the inner
// product rz.
inline PetscErrorCode CheckBeforeStep(KSP ksp, double rz)
{
  PetscFunctionBegin;
  if (!(rz == rz) || PetscIsInfReal(rz)) KSPCheckDot(ksp, rz);
  else if (rz == 0) { // the residual is zero, whatever norm is watched
    if (!ksp->its) PetscCall(Eliminated(ksp));
    ksp->reason = KSP_CONVERGED_ATOL;
  } else if (rz < 0) {
    PetscCall(PetscInfo(ksp, "The preconditioner is not positive definite: r'z = %.6g\n", rz));
    ksp->reason = KSP_DIVERGED_INDEFINITE_PC;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Conjugate gradients ([2] algorithm 1), flexible where the preconditioner is not linear.
template <class Space> PetscErrorCode Iterate(KSP ksp, Space &s, bool flexible, double first)
{
  KSP_RRB  *k = (KSP_RRB *)ksp->data;
  double    rz = 0, zz = 0, rr = 0, pq = 0, beta = 0, alpha = 0, norm = first;
  const bool need_z = ksp->normtype == KSP_NORM_PRECONDITIONED;

  PetscFunctionBegin;
  ksp->its   = 0;
  ksp->rnorm = norm;
  PetscCall(KSPLogResidualHistory(ksp, norm));
  PetscCall(KSPMonitor(ksp, 0, norm));
  PetscCall((*ksp->converged)(ksp, 0, norm, &ksp->reason, ksp->cnvP));
  if (!ksp->reason && ksp->max_it <= 0) ksp->reason = Exhausted(ksp);
  if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(s.Precondition(&rz, need_z ? &zz : nullptr));
  while (true) {
    PetscCall(CheckBeforeStep(ksp, rz));
    if (ksp->reason) break;
    PetscCall(s.Direction(beta));
    PetscCall(s.Multiply(&pq));
    KSPCheckDot(ksp, pq);
    if (pq <= 0) {
      PetscCall(PetscInfo(ksp, "The matrix is not positive definite: p'Ap = %.6g\n", pq));
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
    norm = ksp->normtype == KSP_NORM_PRECONDITIONED   ? PetscSqrtReal(zz)
         : ksp->normtype == KSP_NORM_NATURAL          ? PetscSqrtReal(PetscAbsReal(rz))
         : ksp->normtype == KSP_NORM_UNPRECONDITIONED ? PetscSqrtReal(rr)
                                                      : 0;
    KSPCheckNorm(ksp, norm);
    ksp->rnorm = norm;
    PetscCall(KSPLogResidualHistory(ksp, norm));
    PetscCall(KSPMonitor(ksp, ksp->its, norm));
    PetscCall((*ksp->converged)(ksp, ksp->its, norm, &ksp->reason, ksp->cnvP));
    if (ksp->reason) break;
    bool another;
    PetscCall(s.Correct(first, norm, &another));
    if (ksp->its >= ksp->max_it) {
      ksp->reason = Exhausted(ksp);
      break;
    }
    if (another || !apply_first) PetscCall(next());
    if (another) beta = 0; // CG begins anew
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
