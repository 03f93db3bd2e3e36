// What PC rrb looks at before and after a solve.
#include "box/tuning.hpp"
#include "petsc/aij.hpp"
#include "petsc/krylov.hpp"
#include "petsc/shell.hpp"
#include "rrb/cg/cg.hpp"
#include "rrb/multigrid/choice.hpp"
#include "rrb/pcrrb.hpp"
#include "rrb/pcrrb_three.hpp"
#include <petsc/private/kspimpl.h>

using tessera::PC_RRB;

// Beyond half as many iterations again, and two more, the trial was wrong; that matters where another choice may do
// better.
PetscReal tessera::DoubtfulIterations(const PC_RRB *r, PetscReal reduction)
{
  const double expected = r->plan.choice.expects();
  if (!(expected > 0)) return 0;
  const double rival = rrb::rival_iterations(r->plan);
  if (rival >= rrb::choice_never) return 0;
  return rrb::choice_wrong * PetscMax(expected, rival) *
           (reduction < 1 ? PetscLogReal(PetscMax(reduction, 1e-300)) / PetscLogReal(1e-6) : 0) +
         2;
}

// Methods for symmetric matrices are wrong for others. The K-cycle is another operator in every application: plain CG
// loses its orthogonality.
static PetscErrorCode CheckKSP(PC pc, KSP ksp)
{
  PC_RRB          *r = (PC_RRB *)pc->data;
  PetscBool        flexible, symmetric;
  KSPType          type;
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(CompatUserPreSolve(pc, ksp)); // first: it may change the matrix
  if (r->current)
    PetscCall(tessera::RestorePeers((PetscObject)pc, r->three ? r->three->solver->peers() : r->plan.peers.get()));
  PetscCall(KSPGetType(ksp, &type));
  if (!r->linear && !tessera::StandsRounding(type)) {
    r->linear = PETSC_TRUE;
    if (r->current && r->options.precision == TESSERA_PRECISION_AUTO && r->plan.params.single)
      PetscCall(tessera::RequestDouble(pc, type, "-pc_rrb_precision", &r->current));
  }
  if (pc->setupcalled && r->current && !r->failed && r->solves.needed > 0) {
    bool                 another;
    const PetscErrorCode ierr = tessera::CorrectChoiceRRB(pc, r->solves.needed, &another);
    if (ierr) --pc->presolvedone; // which PETSc has counted, and refuses at three
    PetscCall(ierr);
  }
  if (pc->setupcalled && r->warned && r->warned_asymmetric) PetscFunctionReturn(PETSC_SUCCESS);
  const PetscErrorCode ierr = PCSetUp(pc); // values may have changed without KSPSetOperators()
  if (ierr) --pc->presolvedone;
  PetscCall(ierr);
  if (!r->current) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectStateGet((PetscObject)pc->pmat, &state));
  if (!r->warned_asymmetric && r->report.asymmetry > tessera::tuning::asymmetric && pc->mat == pc->pmat &&
      r->matrix_state == state) {
    PetscCall(tessera::NeedsSymmetry(ksp, &symmetric));
    if (symmetric) {
      r->warned_asymmetric = PETSC_TRUE;
      PetscCall(PetscInfo(pc,
                          "Warning: the matrix is not symmetric (largest |a_ij - a_ji| is %.6g of the largest diagonal "
                          "entry) and KSP %s needs a symmetric one. Use -ksp_type gmres or bcgs\n",
                          (double)r->report.asymmetry, type));
    }
  }
  if (r->warned || r->plan.cycle != tessera::rrb::Cycle::k) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &flexible, KSPFCG, KSPPIPEFCG, KSPFGMRES, KSPPIPEFGMRES, KSPGCR,
                                      KSPPIPEGCR, KSPRRB, KSPRICHARDSON, KSPPREONLY, ""));
  if (flexible) PetscFunctionReturn(PETSC_SUCCESS);
  r->warned = PETSC_TRUE;
  PetscCall(PetscInfo(pc,
                      "Warning: -pc_rrb_cycle k is not linear and KSP %s needs a linear preconditioner. Use -ksp_type "
                      "fcg or rrb, or -pc_rrb_cycle amli\n",
                      type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// PETSc keeps what a preconditioner says of x for later solves, which are to begin as the program wants.
static PetscErrorCode RestoreGuess(PC pc, KSP ksp)
{
  PC_RRB       *r = (PC_RRB *)pc->data;
  PetscObjectId id;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)ksp, &id));
  if (r->solves.guess_of == id) ksp->guess_zero = PETSC_TRUE;
  r->solves.guess_of = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// x_D = b_D / d
static PetscErrorCode SolveOwnDirichletRows(Mat A, Vec b, Vec x)
{
  tessera::LocalRows rows;
  const PetscScalar *from;
  PetscScalar       *to;

  PetscFunctionBegin;
  PetscCall(rows.Get(A, tessera::Space::host, "PC rrb"));
  PetscCall(VecGetArrayRead(b, &from));
  PetscCall(VecGetArray(x, &to));
  for (PetscInt r = 0; r < rows.n; ++r) {
    double diagonal = 0;
    bool   coupled  = false;
    for (tessera::Index k = rows.i[r]; k < rows.i[r + 1]; ++k)
      if (rows.j[k] == r) diagonal = rows.a[k];
      else coupled = coupled || rows.a[k] != 0;
    if (rows.oi)
      for (tessera::Index k = rows.oi[r]; k < rows.oi[r + 1]; ++k) coupled = coupled || rows.o[k] != 0;
    if (!coupled && diagonal != 0) to[r] = from[r] / diagonal;
  }
  PetscCall(VecRestoreArray(x, &to));
  PetscCall(VecRestoreArrayRead(b, &from));
  PetscCall(rows.Restore());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Conjugate gradients take a matrix for symmetric. Where rows are coupled with Dirichlet rows one way, that of the
// others is, and they work on it alone if the residual of Dirichlet rows is zero from the beginning, as it is after
// x += M (b - A x), or once these rows are solved, where M is made from another matrix. In the plane Gauss-Seidel
// leaves next to nothing of it in the rows beside them anyway.
static PetscErrorCode SolveDirichletRows(PC pc, KSP ksp, Vec b, Vec x)
{
  PC_RRB       *data = (PC_RRB *)pc->data;
  const int     max_steps = 8;
  PetscBool     conjugate, rrb, aij;
  bool          same;
  PetscReal     norm, limit;
  Vec           r, z;

  PetscFunctionBegin;
  if (!data->current || data->failed || !data->three || !data->three->one_sided || ksp->transpose_solve)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &conjugate, KSPCG, KSPFCG, KSPPIPECG, KSPPIPEFCG, KSPGROPPCG,
                                      KSPPIPECGRR, KSPPIPELCG, KSPPIPEPRCG, KSPPIPECG2, KSPMINRES, KSPSYMMLQ, KSPCR,
                                      KSPPIPECR, KSPRRB, ""));
  if (!conjugate) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(tessera::HasRecordedMatrix(pc, &same));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPRRB, &rrb));
  if (rrb && same && tessera::OnBlack(*data)) PetscFunctionReturn(PETSC_SUCCESS); // it begins with them itself
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)pc->mat, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  same = same && pc->mat == pc->pmat;
  if (!same && !aij) PetscFunctionReturn(PETSC_SUCCESS); // nobody knows its rows
  if (ksp->guess_zero) {
    PetscCall(VecSet(x, 0));
    PetscCall(PetscObjectGetId((PetscObject)ksp, &data->solves.guess_of));
    ksp->guess_zero = PETSC_FALSE; // until AfterSolveRRB()
  }
  if (!same) {
    PetscCall(SolveOwnDirichletRows(pc->mat, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecDuplicate(b, &z));
  PetscCall(VecNorm(b, NORM_2, &limit));
  for (int k = 0; k < max_steps; ++k) { // where couplings are large one step leaves large residuals beside
    PetscCall(MatMult(pc->mat, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &norm));
    if (k && norm <= limit) break;
    PetscCall(PCApply(pc, r, z));
    PetscCall(VecAXPY(x, 1, z));
  }
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tessera::BeforeSolveRRB(PC pc, KSP ksp, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(RestoreGuess(pc, ksp)); // of a solve that has ended with an error
  PetscCall(CheckKSP(pc, ksp));
  PetscCall(SolveDirichletRows(pc, ksp, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Values drift away from those that the choices of the Galerkin form were made for: half as many iterations again,
// and the next setup chooses anew.
PetscErrorCode tessera::AfterSolveRRB(PC pc, KSP ksp, Vec, Vec)
{
  PC_RRB            *r = (PC_RRB *)pc->data;
  PetscInt           its;
  PetscReal          rtol;
  PetscBool          guess;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(RestoreGuess(pc, ksp));
  const PetscBool corrected = r->corrected; // its iterations are those of two choices
  r->corrected = PETSC_FALSE;
  if (!r->current || !r->plan.choice.settled || corrected) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetTolerances(ksp, &rtol, nullptr, nullptr, nullptr));
  if (reason <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscBool alike; // methods that take as many iterations as CG
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &alike, KSPRRB, KSPCG, KSPFCG, KSPPIPECG, KSPPIPEFCG,
                                      KSPGROPPCG, KSPMINRES, KSPCR, KSPGCR, KSPGMRES, KSPFGMRES, ""));
  const PetscReal doubtful = alike && reason == KSP_CONVERGED_RTOL && rtol < 0.1 ? DoubtfulIterations(r, rtol) : 0;
  if (doubtful > 0 && its > doubtful) r->solves.needed = its * PetscLogReal(1e-6) / PetscLogReal(rtol);
  if (!r->solves.its || r->solves.rtol != rtol) { // not a solve that had nothing to do
    PetscCall(KSPGetInitialGuessNonzero(ksp, &guess));
    if (guess || its < 2 || reason == KSP_CONVERGED_ATOL) PetscFunctionReturn(PETSC_SUCCESS);
    r->solves.its  = PetscMax(its, 4);
    r->solves.rtol = rtol;
  } else if (!r->solves.rechoose && 2 * its > 3 * r->solves.its + 4) { // M stays as it is until then
    PetscCall(PetscInfo(pc,
                        "%" PetscInt_FMT " iterations, %" PetscInt_FMT
                        " at first: the next setup chooses smoothers and interpolation again\n",
                        its, r->solves.its));
    r->solves.rechoose = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
