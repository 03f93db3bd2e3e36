// KSP rrb: conjugate gradients on the first Schur complement of a 5- or 7-point operator, preconditioned by PC rrb; for
// 9- and 27-point operators the same iteration on the whole system.
#include "petsc/aij.hpp"
#include "petsc/shell.hpp"
#include "box/tuning.hpp"
#include "rrb/cg/schur_space.hpp"
#include "rrb/cg/three_space.hpp"
#include "rrb/cg/whole_space.hpp"
#include <algorithm>
#include <petscblaslapack.h>

using namespace tessera;

static const Option rows[] = {
  Option::Enum<&KSPRRBOptions::backend>("-ksp_rrb_backend", "KSPRRBSetBackend", "Where the solver runs",
                                        TesseraBackends),
};
const OptionTable KSPRRBOptions::table(rows);
KSPRRBOptions    &KSPRRBOptions::Of(KSP ksp) { return ((KSP_RRB *)ksp->data)->options; }

namespace {

// Is the preconditioner's type PETSc's default? PETSc does not mark it as such. A type that was set before options were
// read and before a setup is the program's, and so is one that is never PETSc's default.
PetscErrorCode IsDefault(PC pc, bool *is)
{
  PetscBool   given, any, none, ilu = PETSC_TRUE, icc = PETSC_FALSE, block = PETSC_FALSE;
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(PetscOptionsHasName(((PetscObject)pc)->options, prefix, "-pc_type", &given));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc, &any, PCILU, PCICC, PCBJACOBI, ""));
  // for matrices that have neither factors nor blocks
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCNONE, &none));
  if (none && pc->pmat && ((PetscObject)pc->pmat)->type_name) {
    PetscCall(MatGetFactorAvailable(pc->pmat, MATSOLVERPETSC, MAT_FACTOR_ILU, &ilu));
    PetscCall(MatGetFactorAvailable(pc->pmat, MATSOLVERPETSC, MAT_FACTOR_ICC, &icc));
    PetscCall(MatHasOperation(pc->pmat, MATOP_GET_DIAGONAL_BLOCK, &block));
  }
  *is = !given && (pc->setfromoptionscalled || pc->setupcalled) && (any || (none && !ilu && !icc && !block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A preconditioner without a type, or with PETSc's default, becomes rrb; what the program or -pc_type has chosen
// stays, and is refused below.
PetscErrorCode DefaultPC(KSP ksp, bool options)
{
  PC   pc;
  bool is = true;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  if (((PetscObject)pc)->type_name) PetscCall(IsDefault(pc, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSetType(pc, PCRRB));
  if (options) PetscCall(PCSetFromOptions(pc)); // PETSc has done that for the type before
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Refuses what this solver cannot work with. Called before every solve, as the program may replace preconditioner and
// matrices at any time.
PetscErrorCode Check(KSP ksp)
{
  PC        pc;
  PetscBool rrb;
  Mat       A, P;
  PCType    type;
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCRRB, &rrb));
  PetscCall(PCGetType(pc, &type));
  PetscCheck(rrb, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_INCOMP,
             "KSP rrb works with PC rrb alone, which factorizes the system that it iterates on: the preconditioner is "
             "%s. Use -%spc_type rrb (PCSetType(pc, PCRRB)), or -%sksp_type cg with this preconditioner",
             type, prefix ? prefix : "", prefix ? prefix : "");
  PetscCall(PCGetOperators(pc, &A, &P));
  PetscCall(CheckMatrix((PetscObject)ksp, "KSP rrb", P));
  PetscCheck(A == P, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_INCOMP,
             "KSP rrb solves with the matrix that the preconditioner is made of: Amat and Pmat differ. Use -ksp_type "
             "cg -pc_type rrb");
  PC_RRB *r = (PC_RRB *)pc->data;
  KSP_RRB *k = (KSP_RRB *)ksp->data;
  if (!r->schur || r->solver != k->options.backend) {
    PetscCall(CheckBackend((PetscObject)ksp, "ksp_rrb_backend", k->options.backend));
    r->schur        = PETSC_TRUE;
    r->solver       = k->options.backend;
    r->current      = PETSC_FALSE;
    pc->setupcalled = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPSetUp_RRB(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(DefaultPC(ksp, ksp->setfromoptionscalled));
  PetscCall(Check(ksp));
  PetscCall(PCSetErrorIfFailure(ksp->pc, ksp->errorifnotconverged));
  PetscCall(PCSetUp(ksp->pc));
  const PC_RRB *r = (PC_RRB *)ksp->pc->data;
  // PC rrb names the entry; differences of such are not finite either
  if (r->report.kind == tessera::WrongRow::not_finite) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(r->report.asymmetry <= tuning::asymmetric, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_INCOMP,
             "KSP rrb is a method of conjugate gradients and the matrix is not symmetric (largest |a_ij - a_ji| is "
             "%.6g of the largest diagonal entry, and %.6g would do). Use -ksp_type gmres -pc_type rrb; if the "
             "matrix should be symmetric and its error does not matter, -ksp_type cg -pc_type rrb",
             (double)r->report.asymmetry, tuning::asymmetric);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// However a solve ends: KSPBuildSolution() takes vec_sol again, and no NaN stays in the preconditioner's memory.
struct Iterating {
  KSP_RRB   *k;
  rrb::Plan &plan;
  bool       finished = false;
  ~Iterating()
  {
    k->active = nullptr;
    try {
      if (!finished && !plan.levels.empty()) plan.levels[0].b.data.zero();
    } catch (const DeviceError &) { // a device that has failed; the error is on its way already
    }
  }
};

// Without unknowns, or where the setup has failed, the solve has its reason before the first iteration.
PetscErrorCode EndsAtOnce(KSP ksp, bool *ended)
{
  const PC_RRB *r = (PC_RRB *)ksp->pc->data;
  bool          nothing;

  PetscFunctionBegin;
  PetscCall(NothingToSolve(ksp->pc, &nothing));
  if (nothing) ksp->reason = KSP_CONVERGED_ATOL;
  else if (r->failed) ksp->reason = KSP_DIVERGED_PC_FAILED;
  else if (r->report.asymmetry > tuning::asymmetric) { // since the setup, which raises an error
    PetscCall(PetscInfo(ksp, "The matrix is not symmetric any more (%.6g). Use -ksp_type gmres -pc_type rrb\n",
                        (double)r->report.asymmetry));
    ksp->reason = KSP_DIVERGED_NONSYMMETRIC;
  }
  *ended = ksp->reason != KSP_CONVERGED_ITERATING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Solve(KSP ksp)
{
  KSP_RRB         *k = (KSP_RRB *)ksp->data;
  double           first;
  bool             same, ended = false;

  PetscFunctionBegin;
  ksp->reason = KSP_CONVERGED_ITERATING;
  ksp->its    = 0; // where none is made
  PetscCall(Check(ksp));
  PetscCall(PCSetUp(ksp->pc)); // values may have changed without KSPSetOperators(); other solvers notice in PCApply()
  PetscCall(EndsAtOnce(ksp, &ended));
  if (ended) PetscFunctionReturn(PETSC_SUCCESS);
  PC_RRB *r = (PC_RRB *)ksp->pc->data;
  PetscCall(UseCurrentStream(r->plan.exec.space));
  if (!r->plan.strategy->whole_solve) k->solver.reset();
  const bool one_sided = r->three ? r->three->one_sided : r->dirichlet.any;
  PetscCheck(!ksp->transpose_solve || !one_sided, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
             "KSP rrb solves with the transpose of symmetric matrices: this one has Dirichlet rows whose columns are "
             "not empty. MatZeroRowsColumns() empties them%s", r->three ? "" : "; or use -ksp_type gmres -pc_type rrb");
  // A preconditioner that is kept while the matrix changes (KSPSetReusePreconditioner()) has the old matrix's S1.
  PetscCall(HasRecordedMatrix(ksp->pc, &same));
  const bool schur = OnSchur(*r) && same, black = OnBlack(*r) && same;
  k->diagonal.clear();
  k->off.clear();
  const bool flexible     = r->plan.cycle == rrb::Cycle::k,
             with_z       = ksp->normtype == KSP_NORM_PRECONDITIONED || ksp->normtype == KSP_NORM_NATURAL;
  const bool     in_plane = !r->three && !r->plan.single_factors() && r->plan.levels[0].step == rrb::Step::coarsen,
                 exact    = black || in_plane;
  const PetscInt vectors  = !schur && !black ? 4 : with_z || !ksp->guess_zero ? 2 : exact ? 0 : 1;
  if (vectors && (!ksp->work || ksp->nwork < vectors)) PetscCall(KSPSetWorkVecs(ksp, vectors));
  if (schur) {
    if (!k->vectors || !k->vectors->Fits(r->plan, flexible)) k->vectors.reset(new Vectors(r->plan, flexible));
    SchurSpace s(ksp, *r, *k->vectors);
    Iterating  guard{k, r->plan};
    PetscCall(s.Clean());
    if (s.OnDevice()) {
      if (!k->solver) TesseraCallCXX(k->solver.reset(new rrb::SchurSolver()));
      PetscCall(s.SolveOnDevice(*k->solver));
      guard.finished = ksp->reason >= 0;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(s.Start(&first));
    k->active = &s;
    PetscCall(Iterate(ksp, s, flexible, first));
    k->active = nullptr;
    PetscCall(s.Finish());
    guard.finished = ksp->reason >= 0;
  } else if (black) {
    ThreeSpace s(ksp, *r);
    Iterating  guard{k, r->plan};
    PetscCall(s.Start(&first));
    k->active = &s;
    PetscCall(Iterate(ksp, s, false, first));
    k->active = nullptr;
    PetscCall(s.Finish());
  } else {
    PetscCall(PetscInfo(ksp, "CG on the whole system: %s\n",
                        r->raised            ? "the factors leave out negative row sums"
                        : OnSchur(*r) || OnBlack(*r) ? "the preconditioner is of an older matrix"
                        : r->three           ? "red nodes are not eliminated"
                        : r->plan.have_schur ? "the matrix is not symmetric to rounding"
                                             : "the operator is a 9-point one"));
    WholeSpace s(ksp, r->null);
    PetscCall(s.Start(&first));
    PetscCall(Iterate(ksp, s, flexible, first));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// After an error the program may go on, with less memory or on the host: memory of the solve is given back, and
// the preconditioner no longer counts this solve as under way.
PetscErrorCode KSPSolve_RRB(KSP ksp)
{
  KSP_RRB *k = (KSP_RRB *)ksp->data;

  PetscFunctionBegin;
  CollectiveErrors       together(PetscObjectComm((PetscObject)ksp));
  PetscErrorCode ierr = NoThrow<Solve, KSP>(ksp);
  PetscBool      rrb;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCRRB, &rrb));
  PC_RRB *r = rrb ? (PC_RRB *)ksp->pc->data : nullptr;
  ierr      = together.End(ierr, r ? r->plan.exec.space : Space::host);
  if (ierr) {
    k->vectors.reset();
    k->solver.reset();
    if (r) r->matrix.ForgetCopies();
    if (ksp->pc->presolvedone > 0) --ksp->pc->presolvedone;
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The eigenvalues of the Lanczos matrix of the last solve in ascending order; none where there was no iteration.
PetscErrorCode Eigenvalues(const KSP_RRB *k, std::vector<double> &values)
{
  std::vector<double> off(k->off);
  const PetscBLASInt  n = (PetscBLASInt)k->diagonal.size(), one = 1;
  PetscBLASInt        info = 0;

  PetscFunctionBegin;
  values = k->diagonal;
  if (n) LAPACKREALsteqr_("N", &n, values.data(), off.data(), nullptr, &one, nullptr, &info);
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "KSP rrb: LAPACK finds no eigenvalues of the Lanczos matrix (info %d)", (int)info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPComputeEigenvalues_RRB(KSP ksp, PetscInt room, PetscReal *re, PetscReal *im, PetscInt *n)
{
  std::vector<double> values;

  PetscFunctionBegin;
  PetscCall(Eigenvalues((KSP_RRB *)ksp->data, values));
  PetscCheck(room >= (PetscInt)values.size(), PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_SIZ,
             "KSP rrb: there are %d eigenvalues, and room for %" PetscInt_FMT, (int)values.size(), room);
  std::copy(values.begin(), values.end(), re);
  std::fill(im, im + room, 0);
  *n = (PetscInt)values.size();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPComputeExtremeSingularValues_RRB(KSP ksp, PetscReal *emax, PetscReal *emin)
{
  std::vector<double> values;

  PetscFunctionBegin;
  PetscCall(Eigenvalues((KSP_RRB *)ksp->data, values));
  *emax = values.empty() ? 1 : values.back(); // as KSPCG
  *emin = values.empty() ? 1 : values.front();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPSetFromOptions_RRB(KSP ksp, CompatOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "KSP RRB options");
  PetscCall(ParseOptions<KSPRRBOptions>(PetscOptionsObject, ksp));
  PetscOptionsHeadEnd();
  PC        pc;
  PetscBool help, rrb;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCRRB, &rrb));
  PetscCall(DefaultPC(ksp, true));
  // PETSc prints the help of a preconditioner once, that of the type before
  PetscCall(PetscOptionsHasHelp(((PetscObject)ksp)->options, &help));
  if (!rrb && help) {
    PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCRRB, &rrb));
    if (rrb) PetscCall((*pc->ops->setfromoptions)(pc, PetscOptionsObject));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPView_RRB(KSP ksp, PetscViewer viewer)
{
  PetscBool  ascii, rrb;
  KSPRRBInfo info;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCRRB, &rrb));
  if (!ascii || !rrb || !ksp->setupstage) PetscFunctionReturn(PETSC_SUCCESS);
  PC_RRB *r = (PC_RRB *)ksp->pc->data;
  if (!r->current || r->failed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPRRBGetInfo(ksp, &info));
  const char *const whole = r->three           ? "the whole system (red nodes are not eliminated)"
                          : r->raised          ? "the whole system (the factors leave out negative row sums)"
                          : r->plan.have_schur ? "the whole system (the matrix is not symmetric to rounding)"
                                               : "the whole system (9-point operator)";
  PetscCall(
    PetscViewerASCIIPrintf(viewer, "  %s CG on %s\n", info.flexible ? "flexible" : "plain",
                           info.schur ? "the Schur complement of the red nodes (half of the unknowns)" : whole));
  if (info.moved > 0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  an iteration moves %.4g bytes per unknown\n", (double)info.moved));
  if (info.vectors > 0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  vectors of CG %.3g bytes per unknown, and 8 while it solves\n",
                                     (double)info.vectors));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPBuildSolution_RRB(KSP ksp, Vec v, Vec *V)
{
  KSP_RRB *k = (KSP_RRB *)ksp->data;

  PetscFunctionBegin;
  if (!k->active) {
    PetscCall(KSPBuildSolutionDefault(ksp, v, V));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!v && !k->solution) PetscCall(VecDuplicate(ksp->vec_sol, &k->solution));
  if (!v) v = k->solution;
  PetscCall(k->active->Solution(v));
  if (V) *V = v;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPReset_RRB(KSP ksp)
{
  KSP_RRB *k = (KSP_RRB *)ksp->data;

  PetscFunctionBegin;
  PetscCall(UseCurrentStream(Space::host)); // memory is given back in its order
  PetscCall(VecDestroy(&k->solution));
  k->vectors.reset();
  k->solver.reset();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPDestroy_RRB(KSP ksp)
{
  PetscFunctionBegin;
  PetscBool rrb = PETSC_FALSE;
  PetscCall(KSPReset_RRB(ksp));
  if (ksp->pc) PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCRRB, &rrb));
  if (rrb && ((PC_RRB *)ksp->pc->data)->schur) { // another solver does not need S1
    ((PC_RRB *)ksp->pc->data)->schur   = PETSC_FALSE;
    ((PC_RRB *)ksp->pc->data)->solver  = TESSERA_BACKEND_AUTO;
    ((PC_RRB *)ksp->pc->data)->current = PETSC_FALSE;
    ksp->pc->setupcalled               = PETSC_FALSE;
  }
  PetscCall(ComposeOptions((PetscObject)ksp, KSPRRBOptions::table, false));
  delete (KSP_RRB *)ksp->data;
  ksp->data = nullptr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*MC
   KSPRRB - the RRB-solver: conjugate gradients on the Schur complement of 5- or 7-point operators, with `PCRRB`

   Options Database Key:
.  -ksp_rrb_backend <auto,host,cuda> - where it runs, see `KSPRRBSetBackend()`

   Level: intermediate

   Notes:
   The red nodes of a 5-point operator, or of a 7-point one in three dimensions, are eliminated exactly, which halves
   the vectors of CG; Dirichlet rows are solved before the iteration. Tolerances, monitors and the residual history
   refer to the whole system; the default norm is the unpreconditioned one. With the cycle `k` CG is flexible. On 9- and
   27-point operators, and on periodic grids of three dimensions with an odd number of nodes around, it is plain CG with
   `PCRRB`.

   Its preconditioner is `PCRRB`, which `KSPSetType()` sets where there is none yet or PETSc's default. Another one
   that the program or `-pc_type` has chosen is never replaced: the solve ends with an error.

   The matrix must be symmetric apart from couplings with Dirichlet rows. Differences of a_ij and a_ji up to 1e-6 of
   the largest diagonal entry, as Jacobians by differences have them, are accepted; CG then runs on the whole system.
   `KSPSolveTranspose()` needs Dirichlet rows that nothing is coupled to.

   `KSPComputeEigenvalues()` and `KSPComputeExtremeSingularValues()` give those of the Lanczos matrix of CG: of the
   preconditioned first Schur complement, or of the preconditioned operator where CG runs on the whole system.

   References:
.  * - M. de Jong, A. van der Ploeg, A. Ditzel, K. Vuik, Fine-grain parallel RRB-solver for 5-/9-point stencil
   problems suitable for GPU-type processors, Electronic Transactions on Numerical Analysis 48, 2018

.seealso: `PCRRB`, `KSPCG`, `KSPFCG`, `KSPRRBSetBackend()`
M*/
PetscErrorCode tessera::KSPCreate_RRB(KSP ksp)
{
  KSP_RRB *k = nullptr;

  PetscFunctionBegin;
  TesseraCallCXX(k = new KSP_RRB());
  ksp->data = (void *)k;
  PC pc; // rrb at once where it has no type yet: whatever it is later, somebody has chosen it
  PetscCall(KSPGetPC(ksp, &pc));
  if (!((PetscObject)pc)->type_name) PetscCall(PCSetType(pc, PCRRB));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 3));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_PRECONDITIONED, PC_LEFT, 2));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NATURAL, PC_LEFT, 2));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_LEFT, 1));
  ksp->ops->setup                        = NoThrow<KSPSetUp_RRB, KSP>;
  ksp->ops->solve                        = KSPSolve_RRB;
  ksp->ops->reset                        = KSPReset_RRB;
  ksp->ops->destroy                      = KSPDestroy_RRB;
  ksp->ops->view                         = KSPView_RRB;
  ksp->ops->setfromoptions               = KSPSetFromOptions_RRB;
  ksp->ops->buildsolution                = KSPBuildSolution_RRB;
  ksp->ops->buildresidual                = KSPBuildResidualDefault;
  ksp->ops->computeeigenvalues =
    NoThrow<KSPComputeEigenvalues_RRB, KSP, PetscInt, PetscReal *, PetscReal *, PetscInt *>;
  ksp->ops->computeextremesingularvalues = NoThrow<KSPComputeExtremeSingularValues_RRB, KSP, PetscReal *, PetscReal *>;
  PetscCall(ComposeOptions((PetscObject)ksp, KSPRRBOptions::table, true));
  PetscFunctionReturn(PETSC_SUCCESS);
}
