// A start for a SNES whose Newton's method comes no nearer to the solution: that of the program's problem on a coarser
// DMDA.
#include "vipmg/nested.hpp"
#include "petsc/bounds.hpp"
#include "vipmg/snesvipmg.hpp"
#include <petscdmda.h>

namespace tessera::vipmg {

namespace {

constexpr PetscInt  fewest    = 8;    // nodes of a coarse grid in a direction with more than one node
constexpr PetscReal reduction = 1e-4; // of a coarse grid's norm: the error of discretisation is larger in any case

// What belongs to the coarse grid.
struct Coarse {
  DM   dm   = nullptr;
  SNES snes = nullptr;
  Mat  down = nullptr, up = nullptr; // values at the common nodes, transposed; interpolation
  Vec  x = nullptr, lower = nullptr, upper = nullptr;
  PetscErrorCode Destroy()
  {
    PetscFunctionBegin;
    for (Vec *v : {&x, &lower, &upper}) PetscCall(VecDestroy(v));
    for (Mat *m : {&down, &up}) PetscCall(MatDestroy(m));
    PetscCall(SNESDestroy(&snes));
    PetscCall(DMDestroy(&dm));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

// Nodes of the next grid lie on those of this one, as DMCoarsen() and linear interpolation ask for.
bool Halves(PetscInt n, bool periodic)
{
  return n == 1 || (n % 2 == (periodic ? 0 : 1) && (n + 1) / 2 >= fewest);
}

PetscErrorCode Restrict(const Coarse &c, Vec fine, Vec coarse)
{
  PetscFunctionBegin;
  PetscCall(MatRestrict(c.down, fine, coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Create(SNES fine, Vec start, Coarse &c)
{
  const SNES_VIPMG *v    = (const SNES_VIPMG *)fine->data;
  const MPI_Comm    comm = PetscObjectComm((PetscObject)fine);
  const char       *prefix;
  DM                before;

  PetscFunctionBegin;
  PetscCall(DMGetCoarseDM(fine->dm, &before));
  PetscCall(DMCoarsen(fine->dm, comm, &c.dm));
  if (!before) PetscCall(DMSetCoarseDM(fine->dm, nullptr)); // the program's DM stays as it was
  PetscCall(DMCopyDMSNES(fine->dm, c.dm));
  PetscCall(DMCreateInjection(c.dm, fine->dm, &c.down));
  PetscCall(DMCreateInterpolation(c.dm, fine->dm, &c.up, nullptr));
  for (Vec *x : {&c.x, &c.lower, &c.upper}) PetscCall(DMCreateGlobalVector(c.dm, x));
  PetscCall(Restrict(c, start, c.x));
  PetscCall(Restrict(c, fine->xl, c.lower));
  PetscCall(Restrict(c, fine->xu, c.upper));
  PetscCall(SNESCreate(comm, &c.snes));
  PetscCall(SNESGetOptionsPrefix(fine, &prefix));
  PetscCall(SNESSetOptionsPrefix(c.snes, prefix)); // for the KSP of the inactive nodes
  PetscCall(SNESSetDM(c.snes, c.dm));
  PetscCall(SNESSetApplicationContext(c.snes, fine->user));
  PetscCall(SNESSetType(c.snes, SNESVIPMG));
  PetscCall(SNESVISetVariableBounds(c.snes, c.lower, c.upper));
  PetscCall(SNESSetTolerances(c.snes, fine->abstol, PetscMax(fine->rtol, reduction), 0, fine->max_its,
                              fine->max_funcs));
  SNES_VIPMG *w      = (SNES_VIPMG *)c.snes->data;
  w->options         = v->options;
  w->options.monitor = PETSC_FALSE;
  w->options.Give(w->newton.options);
  c.snes->vizerotolerance = fine->vizerotolerance;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SolveCoarse(SNES fine, Vec start, Vec X, Coarse &c, bool *found)
{
  SNESConvergedReason reason;
  PetscInt            size, iterations;

  PetscFunctionBegin;
  PetscCall(Create(fine, start, c));
  PetscCall(SNESSolve(c.snes, nullptr, c.x));
  PetscCall(SNESGetConvergedReason(c.snes, &reason));
  PetscCall(SNESGetIterationNumber(c.snes, &iterations));
  if (reason < 0) { // from nothing, as far as bounds allow it
    PetscCall(VecSet(c.x, 0));
    PetscCall(SNESSolve(c.snes, nullptr, c.x));
    PetscCall(SNESGetConvergedReason(c.snes, &reason));
    PetscCall(SNESGetIterationNumber(c.snes, &iterations));
  }
  *found = reason > 0;
  PetscCall(VecGetSize(c.x, &size));
  PetscCall(PetscInfo(fine, "A start from %" PetscInt_FMT " unknowns of a coarser DMDA: %s after %" PetscInt_FMT
                      " iterations\n", size, SNESConvergedReasons[reason], iterations));
  if (*found) PetscCall(MatInterpolate(c.up, c.x, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode HasNested(SNES snes, bool *has)
{
  PetscBool      is = PETSC_FALSE;
  PetscInt       n[3], dimension;
  DMBoundaryType b[3];
  DMSNES         sdm;

  PetscFunctionBegin;
  *has = false;
  if (snes->dm) PetscCall(PetscObjectTypeCompare((PetscObject)snes->dm, DMDA, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMGetDMSNES(snes->dm, &sdm));
  if (!sdm->data) PetscFunctionReturn(PETSC_SUCCESS); // functions that may know this grid alone
  PetscCall(DMDAGetInfo(snes->dm, &dimension, &n[0], &n[1], &n[2], nullptr, nullptr, nullptr, nullptr, nullptr, &b[0],
                        &b[1], &b[2], nullptr));
  *has = true;
  for (PetscInt d = 0; d < dimension; ++d) *has = *has && Halves(n[d], b[d] == DM_BOUNDARY_PERIODIC);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FindNested(SNES snes, Vec start, Vec X, bool *found)
{
  Coarse coarse;
  int    error, any;

  PetscFunctionBegin;
  *found = false;
  // A program whose functions are for one grid alone is not to end here
  PetscCall(PetscPushErrorHandler(PetscIgnoreErrorHandler, nullptr));
  error = (int)SolveCoarse(snes, start, X, coarse, found);
  PetscCall(PetscPopErrorHandler());
  PetscCallMPI(MPI_Allreduce(&error, &any, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)snes)));
  if (any) {
    *found = false;
    PetscCall(PetscInfo(snes, "The program's functions do not work on a coarser DMDA (error %d)\n", any));
  }
  PetscCall(coarse.Destroy());
  if (*found) PetscCall(ProjectToBounds(snes->xl, snes->xu, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera::vipmg
