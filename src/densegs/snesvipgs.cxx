// SNES vipgs: PETSc's face of the solver for dense linear complementarity problems and frictional contact.
#include "densegs/solvers.hpp"
#include "petsc/bounds.hpp"
#include "petsc/compat_snes.h"

using tessera::SNES_VIPGS;

const char *const SNESVIPGSAccelerations[] = {
  "auto", "none", "nesterov", "nncg", "mprgp", "SNESVIPGSAcceleration", "SNES_VIPGS_ACCELERATION_", nullptr};
const char *const SNESVIPGSFrictions[]     = {"cone", "pyramid", "SNESVIPGSFriction", "SNES_VIPGS_FRICTION_", nullptr};
const char *const SNESVIPGSReasons[]       = {"converged", "maximum",         "stalled",     "cycling", "infeasible",
                                              "diverged",  "SNESVIPGSReason", "SNES_VIPGS_", nullptr};

static PetscErrorCode SNESSolve_VIPGS(SNES snes)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(tessera::event_vipgs_solve, snes, 0, 0, 0));
  PetscCall((tessera::NoThrow<tessera::SolveVIPGS, SNES>(snes)));
  PetscCall(PetscLogEventEnd(tessera::event_vipgs_solve, snes, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SNESSetUp_VIPGS(SNES snes)
{
  PetscFunctionBegin;
  PetscCall(SNESSetWorkVecs(snes, 1)); // where a step begins
  PetscCall(SNESSetUpMatrices(snes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SNESReset_VIPGS(SNES snes)
{
  PetscFunctionBegin;
  tessera::ForgetBounds(snes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The bounds stay: another type may want them.
static PetscErrorCode SNESDestroy_VIPGS(SNES snes)
{
  PetscFunctionBegin;
  PetscCall(tessera::ComposeVIPGS(snes, PETSC_FALSE));
  PetscCall(VecDestroy(&((SNES_VIPGS *)snes->data)->coefficients));
  delete (SNES_VIPGS *)snes->data;
  snes->data       = nullptr;
  snes->ops->reset = nullptr; // older versions of PETSc leave it to a type that has none
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SNESSetFromOptions_VIPGS(SNES snes, CompatOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Dense projected Gauss-Seidel options");
  PetscCall(tessera::ParseOptions<tessera::VIPGSOptions>(PetscOptionsObject, (PetscObject)snes));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void SetTolerances(SNES snes)
{
  CompatSNESDefault(snes, max_its, 50, 100000);
  CompatSNESDefault(snes, stol, 1e-8, 0); // sweeps that are slow make small steps
  // the natural residual of a good method may rise before it falls
  CompatSNESDefault(snes, divtol, 1e4, CompatUnlimited);
}

/*MC
   SNESVIPGS - linear complementarity problems, and others with bounds, whose Jacobian is dense, or sparse and can be
   factorized; and contact with Coulomb friction

   Options Database Keys:
+  -snes_vipgs_newton <bool>             - finish with active sets and dense factorizations, see `SNESVIPGSSetNewton()`
.  -snes_vipgs_sweeps <n>                - sweeps before that, see `SNESVIPGSSetSweeps()`
.  -snes_vipgs_acceleration <auto,none,nesterov,nncg,mprgp> - of the sweeps, see `SNESVIPGSSetAcceleration()`
.  -snes_vipgs_strategy <sequential,row,column,block,graph,graph2,relaxed> - see `SNESVIPGSSetStrategy()`
.  -snes_vipgs_order <forward,backward,symmetric,random> - order of a sweep, see `SNESVIPGSSetOrder()`
.  -snes_vipgs_omega <w>                 - relaxation factor, see `SNESVIPGSSetOmega()`
.  -snes_vipgs_precision <auto,double,single> - storage of the sweeps' matrix, see `SNESVIPGSSetPrecision()`
.  -snes_vipgs_backend <auto,host,cuda>  - where the matrix is worked with, see `SNESVIPGSSetBackend()`
.  -snes_vipgs_check <n>                 - sweeps between two residuals, see `SNESVIPGSSetCheck()`
.  -snes_vipgs_max_factorizations <n>    - see `SNESVIPGSSetMaxFactorizations()`
.  -snes_vipgs_block <d>                 - unknowns of a contact with friction, see `SNESVIPGSSetBlock()`
.  -snes_vipgs_mu <mu> - coefficient of friction, see `SNESVIPGSSetFrictionCoefficient()`, `SNESVIPGSSetFriction()`
-  -snes_vipgs_friction <cone,pyramid>   - see `SNESVIPGSSetFrictionLaw()`

   Level: intermediate

   Notes:
   Finds lower <= x <= upper with F_i(x) >= 0 where x_i is at its lower bound, F_i(x) <= 0 at its upper one and F_i(x)
   = 0 between, for F(x) = A x + q with the Jacobian A (`MATDENSE`, `MATAIJ`), whose diagonal is not negative. Bounds
   come as for PETSc's VI solvers: `SNESVISetVariableBounds()`, `SNESVISetComputeVariableBounds()`, or by the `DM`.
   Another F is linearized again and again. Where steps raise the norm for long, or by far, the solver goes back and on
   with a part of one; it ends with `SNES_DIVERGED_LINE_SEARCH` where no part reduces the norm.

   The norm that monitors and tests see is that of the natural residual x - P(x - F(x)), P being the projection onto
   the bounds (or the friction cones); where the size d of the Jacobian's diagonal is below 1e-6 or above 1e6, that of
   d (x - P(x - F(x) / d)). Where F is linear an iteration is `-snes_vipgs_check` sweeps, or one factorization; else it
   is a linearization, as it always is for programs with `SNESSetUpdate()` or checks of steps, whose functions are
   called once for each Jacobian. `-snes_stol` is 0 by default. `-snes_view` prints a certificate of the answer,
   `SNESVIPGSGetCertificate()` returns it.

   PETSc's tolerances may ask for more than the rounding of F allows, as where F has entries of 1e20 beside bounds of
   1: a linear problem whose conditions hold but for that rounding ends with `SNES_CONVERGED_SNORM_RELATIVE` (Tao:
   `TAO_CONVERGED_STEPTOL`).

   The linear problems are those of the matrix that preconditioners are made of (`Pmat`), so `-snes_mf_operator` and
   other approximations of the Jacobian work, with more linearizations. A step to where F is not finite, or outside of
   its domain (`SNESSetFunctionDomainError()`), is halved until it is not. Of a `SNESLineSearch` only the functions of
   `SNESLineSearchSetPreCheck()` and `SNESLineSearchSetPostCheck()` are called; what they change is brought back
   between the bounds. `SNESGetSolutionUpdate()` gives the point before minus the present one.

   On several processes each keeps its rows of the Jacobian: sweeps take their turns in the order of the rows, products
   are made side by side, and convergence tests and monitors are asked by all. For a factorization the first process
   gathers the rows and columns of the free unknowns.

   With friction contacts are swept over one after the other in double precision: strategy, precision, acceleration and
   the number of sweeps before factorizations have no effect. Neither have strategy and precision with a `MATAIJ`, of
   which every process works with all entries, on the host; factorizations are sparse. With the `MATAIJ` H and M
   composed with a matrix as "SNESVIPGS_H" and "SNESVIPGS_M", that is W = H M^-1 H', made without its zeros.

   References:
+  * - H. Courtecuisse, J. Allard, Parallel dense Gauss-Seidel algorithm on many-core processors, HPCC 2009
.  * - M. Hintermueller, K. Ito, K. Kunisch, The primal-dual active set strategy as a semismooth Newton method, SIAM
   J. Optim. 13, 2003
-  * - F. Jourdan, P. Alart, M. Jean, A Gauss-Seidel like algorithm to solve frictional contact
   problems, CMAME 155, 1998

.seealso: `SNESSetType()`, `SNESVINEWTONRSLS`, `PCDENSEGS`, `SNESVIPGSCreateLCP()`, `SNESVISetVariableBounds()`
M*/
PetscErrorCode tessera::SNESCreate_VIPGS(SNES snes)
{
  PetscFunctionBegin;
  TesseraCallCXX(snes->data = (void *)new SNES_VIPGS());
  snes->ops->setup          = SNESSetUp_VIPGS;
  snes->ops->setfromoptions = SNESSetFromOptions_VIPGS;
  snes->ops->view           = tessera::ViewVIPGS;
  snes->ops->solve          = SNESSolve_VIPGS;
  snes->ops->reset          = SNESReset_VIPGS;
  snes->ops->destroy        = SNESDestroy_VIPGS;
  snes->usesksp             = PETSC_FALSE;
  snes->usesnpc             = PETSC_FALSE;
  SetTolerances(snes);
  PetscCall(ComposeVIPGS(snes, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
