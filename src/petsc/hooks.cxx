#include "petsc/hooks.hpp"
#include "petsc/bounds.hpp"
#include "petsc/compat_snes.h"
#include "petsc/device.hpp"

namespace tessera {

static PetscErrorCode AnyProcess(SNES snes, PetscBool flag, bool *any)
{
  int mine = flag == PETSC_TRUE, all;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)snes)));
  *any = all != 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FunctionDomainError(SNES snes, Vec f, bool *error)
{
  PetscFunctionBegin;
  PetscCall(AnyProcess(snes, (PetscBool)snes->CompatDomainError, error));
  if (*error) { // another point may do
    PetscCall(VecSet(f, PETSC_INFINITY));
    snes->CompatDomainError = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode NameNotFinite(Vec v, const char *what, char *text, size_t size)
{
  const PetscScalar *x;
  PetscInt           first, n, p = 0;
  char               mine[256] = "", all[256];
  int                who, processes;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(v, &first, nullptr));
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArrayRead(v, &x));
  while (p < n && !PetscIsInfOrNanScalar(x[p])) ++p;
  PetscCall(VecRestoreArrayRead(v, &x));
  if (p < n) PetscCall(PetscSNPrintf(mine, sizeof(mine), "%s is not finite in row %" PetscInt_FMT, what, first + p));
  PetscCall(FirstText(PetscObjectComm((PetscObject)v), mine, all, &who));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)v), &processes));
  if (who < processes) PetscCall(PetscStrncpy(text, all, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode JacobianDomainError(SNES snes, bool *error)
{
  PetscFunctionBegin;
  PetscCall(AnyProcess(snes, (PetscBool)(snes->checkjacdomainerror && snes->jacobiandomainerror), error));
  if (*error) snes->jacobiandomainerror = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool Has(SNES snes, StepCheck when)
{
  PetscErrorCode (*before)(SNESLineSearch, Vec, Vec, PetscBool *, void *)                  = nullptr;
  PetscErrorCode (*after)(SNESLineSearch, Vec, Vec, Vec, PetscBool *, PetscBool *, void *) = nullptr;
  if (!snes->linesearch) return false;
  if (when == StepCheck::before) (void)SNESLineSearchGetPreCheck(snes->linesearch, &before, nullptr);
  else (void)SNESLineSearchGetPostCheck(snes->linesearch, &after, nullptr);
  return before || after;
}

bool HasStepChecks(SNES snes) { return Has(snes, StepCheck::before) || Has(snes, StepCheck::after); }

PetscErrorCode CheckStep(SNES snes, StepCheck when, Vec X0, Vec step, Vec X, bool *changed)
{
  PetscBool changed_step = PETSC_FALSE, changed_x = PETSC_FALSE;

  PetscFunctionBegin;
  *changed = false;
  if (!Has(snes, when)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecWAXPY(step, -1, X, X0));
  if (when == StepCheck::before) PetscCall(SNESLineSearchPreCheck(snes->linesearch, X0, step, &changed_step));
  else PetscCall(SNESLineSearchPostCheck(snes->linesearch, X0, step, X, &changed_step, &changed_x));
  *changed = changed_step || changed_x;
  if (changed_step) PetscCall(VecWAXPY(X, -1, step, X0));
  if (!*changed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ProjectToBounds(snes, X));
  PetscCall(VecWAXPY(step, -1, X, X0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
