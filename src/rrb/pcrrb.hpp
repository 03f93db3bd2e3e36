// What PC rrb and KSP rrb share.
#pragma once
#include "petsc/columns.hpp"
#include "petsc/dmda.hpp"
#include "petsc/nullspace.hpp"
#include "petsc/options.hpp"
#include "rrb/pcrrb_three.hpp"
#include "rrb/rrb.hpp"
#include "tessera.h"
#include <petsc/private/pcimpl.h>

namespace tessera {

struct RRBOptions {
  PetscInt           levels = 0, quarters = -1, every = 2, inner = 2, redundant = 0, sweeps = 0;
  PetscInt           grid[3] = {0, 0, 0};
  PetscReal          omega         = 1;
  PCRRBCoarsening    coarsening    = PC_RRB_COARSENING_GALERKIN;
  PCRRBSmoother      smoother      = PC_RRB_SMOOTHER_AUTO;
  PCRRBInterpolation interpolation = PC_RRB_INTERPOLATION_AUTO;
  PetscBool          trial         = PETSC_TRUE;
  PCRRBLump          lump          = PC_RRB_LUMP_RED;
  PCRRBCycle         cycle         = PC_RRB_CYCLE_AUTO;
  TesseraPrecision   precision     = TESSERA_PRECISION_AUTO;
  TesseraBackend     backend       = TESSERA_BACKEND_AUTO;
  PetscBool          peers         = PETSC_TRUE; // devices write into each other's memory

  using Object = PC;
  static RRBOptions       &Of(PC pc);
  static PetscErrorCode    Changed(PC pc); // the next setup makes all anew
  static const OptionTable table;
};

struct PC_RRB {
  RRBOptions      options;
  TesseraBackend  solver     = TESSERA_BACKEND_AUTO; // the backend that KSP rrb asks for
  PetscBool       schur      = PETSC_FALSE; // KSP rrb asks for S1
  PetscBool       current    = PETSC_FALSE; // the plan belongs to these options
  // setup
  GridMatrix         matrix;
  Columns            columns;
  rrb::Plan          plan;
  std::unique_ptr<RRBThree> three; // in place of matrix and plan, in three dimensions
  DirichletCouplings dirichlet;
  NullSpace          null;
  OperatorReport     report;
  PetscBool          raised       = PETSC_FALSE; // negative row sums came off the diagonal
  PetscBool          ready        = PETSC_FALSE; // the last setup ended: applying makes sense, or `failed` is set
  PetscBool          failed       = PETSC_FALSE;
  PetscObjectId      matrix_id    = 0;           // which matrix was factorised,
  PetscObjectState   matrix_state = 0;           // with which values
  // solves, and what they have shown of the choices of the Galerkin form
  struct {
    PetscInt  its    = 0;           // iterations of the first one after the choices,
    PetscReal rtol   = 0;           // and its tolerance
    PetscReal needed = 0;           // for 1e-6, where the trial was wrong: choose again before the next solve
    PetscBool rechoose = PETSC_FALSE; // choose at the next setup
    PetscObjectId guess_of = 0; // the KSP whose guess of zero PC rrb has replaced for the solve under way
  } solves;
  PetscBool corrected = PETSC_FALSE; // such a choice, in the solve under way
  // a solver takes it for a linear map, which single precision is to 1e-7 only
  PetscBool          linear       = PETSC_FALSE;
  PetscBool          unfit        = PETSC_FALSE; // for single precision, as its trial has shown
  PetscBool          warned       = PETSC_FALSE; // of a solver that needs a linear preconditioner
  PetscBool          warned_asymmetric = PETSC_FALSE; // of one that needs a symmetric matrix
  char               failure[208] = "";
  std::vector<PetscInt> sizes_x, sizes_y; // of the grids, as PCRRBGetGridSizes() gives them
};

// The register of events and classes; see register.cxx.
extern PetscLogEvent event_rrb_read, event_rrb_factor, event_rrb_sweep, event_rrb_multiply;
PetscErrorCode       PCCreate_RRB(PC);
PetscErrorCode       KSPCreate_RRB(KSP);
PetscErrorCode       CiteRRB();
PetscErrorCode       SetUpRRB(PC); // pcrrb_setup.cxx
PetscErrorCode       PlaceRRB(PC, Space *); // where to run
PetscErrorCode       FailRRB(PC, PCFailedReason); // the setup has failed, as `failure` says
PetscErrorCode       RecordMatrix(PC);      // whose values the setup has read
PetscErrorCode       HasRecordedMatrix(PC, bool *); // are these its values still?
// b_I - A_ID z_D in the plan's right-hand side, at the rows beside Dirichlet rows.
PetscErrorCode SubtractDirichlet(PC_RRB *);
PetscErrorCode ViewRRB(PC, PetscViewer);
PetscErrorCode BeforeSolveRRB(PC, KSP, Vec, Vec);
PetscErrorCode AfterSolveRRB(PC, KSP, Vec, Vec);
// The choice in use needs so many iterations for 1e-6, not those that the trial has foretold: tries the others.
// `another`: M is another one now, of the same matrix. Collective.
PetscErrorCode CorrectChoiceRRB(PC, PetscReal needed, bool *another);
// Iterations at which the trial is proved wrong where the residual has come down by `reduction`; 0: there was none.
PetscReal      DoubtfulIterations(const PC_RRB *, PetscReal reduction);
const char    *NameOf(rrb::Remedy); // what the measures for rough coefficients are called
// Composes the setters and getters of PC rrb, or takes them away.
PetscErrorCode ComposeRRB(PC, PetscBool);
PetscErrorCode ComposeInfo(PC, PetscBool); // pcrrb_info.cxx
PetscErrorCode CheckSetUpRRB(PC);          // an error where there are no grids
// pcrrb_grids.cxx
// The interpolations between the grids, or the operators of the coarse ones, from the last grid on, as PCMG counts.
template <bool operators> PetscErrorCode GetMatricesRRB(PC, PetscInt *, Mat *[]);

} // namespace tessera
